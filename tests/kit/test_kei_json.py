"""kei-json: what its pages promise, called in process, and the tables of the RFCs."""

import json
import shlex
import sys
from importlib import import_module
from pathlib import Path

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema_rs import Draft7Validator

from keisei.cli.primitive_page import bullets, example
from keisei.rules.canonical import canonical
from tests.kit.desk import PRIMITIVES, Context, Declared, output_of, spec_of

sys.path.append(str(PRIMITIVES / "kei-json" / "src"))
VERBS = ("canonicalize", "diff", "merge", "parse", "patch", "query", "validate")
KEYS = st.text(st.sampled_from("ab/~é𝄞\ufb33"), max_size=3)
NUMBERS = st.integers(-3, 3) | st.floats(allow_nan=False, allow_infinity=False)


def values(numbers):
    return st.recursive(
        st.none() | st.booleans() | numbers | KEYS,
        lambda inner: st.lists(inner, max_size=5) | st.dictionaries(KEYS, inner, max_size=4),
        max_leaves=12,
    )


VALUES = values(NUMBERS)


def run(verb, given):
    return import_module(f"kei_json.atoms.{verb}").run(given, Context(None, f"kei-json::{verb}", "i"))


def call(verb, **given):
    Draft7Validator(spec_of(f"kei-json::{verb}").input_schema).validate(given)
    output = run(verb, given)
    output_of(f"kei-json::{verb}").validate(output)
    return output


def refused(verb, **given):
    with pytest.raises(Declared) as error:
        run(verb, given)
    return error.value.code, str(error.value)


def nested(depth):
    value = 0
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize("verb", VERBS)
def test_the_example_of_a_page_gives_what_the_page_says(verb):
    page = Path(spec_of(f"kei-json::{verb}").page).read_text()
    (line,) = example(page)
    returns = next(line for line in page.splitlines() if line.startswith("Returns JSON: "))

    *command, value = shlex.split(line)
    assert command == ["keisei", "atom", "invoke", f"kei-json::{verb}", "--input"]
    assert call(verb, **json.loads(value)) == json.loads(returns.removeprefix("Returns JSON: ").strip("`"))
    assert bullets(page, "Gotchas")


@pytest.mark.parametrize("verb", VERBS)
def test_examples_of_the_two_schemas_belong_together(verb):
    spec = spec_of(f"kei-json::{verb}")

    assert [call(verb, **each) for each in spec.input_schema["examples"]] == spec.output_schema["examples"]
    assert (spec.manifest.kind, spec.manifest.side_effects, spec.manifest.idempotent) == ("transform", (), True)


@pytest.mark.parametrize("verb", [verb for verb in VERBS if verb != "parse"])
@pytest.mark.parametrize(
    ("value", "code"),
    [
        (float("nan"), "NotJson"),
        ([float("-inf")], "NotJson"),
        ({"a": 2**53}, "NotJson"),
        ("\ud800", "NotJson"),
        ({"\udfff": 1}, "NotJson"),
        ({1: 2}, "NotJson"),
        (nested(129), "TooDeep"),
        (nested(100_000), "TooDeep"),
        ("x" * 2_000_001, "TooLarge"),
    ],
    ids=["nan", "infinity", "integer", "surrogate", "surrogate-key", "key", "deep", "very-deep", "large"],
)
def test_what_json_cannot_carry_is_a_declared_error(verb, value, code):
    given = dict.fromkeys(("value", "document", "before"), value) | {"after": 1, "patch": [], "query": "$"}

    assert refused(verb, schema=True, **given)[0] == code


# --- query -----------------------------------------------------------------------------------------------------------

SHOP = {"o": {"j": 1, "k": 2}, "a": [5, 3, [{"j": 4}, {"k": 6}]]}
MIXED = {"obj": {"x": "y"}, "arr": [2, 3]}


@pytest.mark.parametrize(
    ("query", "document", "paths"),
    [
        ("$", SHOP, ["$"]),
        ("$..j", SHOP, ["$['o']['j']", "$['a'][2][0]['j']"]),
        ("$.a[-1][0]", SHOP, ["$['a'][2][0]"]),
        ("$.a[::-1]", SHOP, ["$['a'][2]", "$['a'][1]", "$['a'][0]"]),
        ("$.a[0, 0]", SHOP, ["$['a'][0]", "$['a'][0]"]),
        ("$['é\\u0062\\'']", {"éb'": 1}, ["$['éb\\'']"]),
        ("$[?@]", [0, False, "", None], ["$[0]", "$[1]", "$[2]", "$[3]"]),
        ("$[?@ == 1]", [1, True, 1.0, "1"], ["$[0]", "$[2]"]),
        ("$[?@.a == @.b]", [{"a": [1], "b": [True]}, {"a": [1], "b": [1.0]}, {}], ["$[1]", "$[2]"]),
        ("$[?@.a == @.b]", [{"a": None}], []),
        ("$[?count(@) == 1]", [1, [2]], ["$[0]", "$[1]"]),
        ("$[?length(@) == 1]", ["𝄞", [1], {"a": 1}, 1], ["$[0]", "$[1]", "$[2]"]),
        ("$.l[?@[?@ == $.y]]", {"y": 1, "l": [[1], [2]]}, ["$['l'][0]"]),
        ("$[?value(@.a) < 'b']", [{"a": "a"}, {"a": "c"}, {"a": 1}], ["$[0]"]),
        ("$[?@.a]", ['{"a": 1}'], []),
        ("$.a", '{"a": 1}', []),
        ("$", "{", ["$"]),
        ("$[0, :, *]", "ab", []),
        ("$[*][::-1]", ["ab", [1]], ["$[1][0]"]),
        ("$.obj[?@ == 'y' || !@]", MIXED, ["$['obj']['x']"]),
        ("$[?match(@, 'a.c')]", ["abc", "a\rc", "xabc"], ["$[0]"]),
        ("$[?search(@, '^[.]\\\\p{Lu}')]", [".É", "xÉ"], ["$[0]"]),
        ("$[?match(@, '(')]", ["("], []),
        ("$[?match(@, '(a*)*b')]", ["a" * 5000], []),
    ],
    ids=range(24),
)
def test_a_query_selects_what_the_rfc_says(query, document, paths):
    found = call("query", document=document, query=query)

    assert [node["path"] for node in found["nodes"]] == paths


@pytest.mark.parametrize(
    "query",
    [
        "",
        "a",
        " $",
        "$ ",
        "$.a | $.b",
        "$.a~",
        "^.a",
        "$[?_.a == 1]",
        "$[?@ =~ /a/]",
        "$[?@ in [1]]",
        "$[?#]",
        "$[01]",
        "$[?@.* == 1]",
        "$[?is(@, 'x')]",
        "$[9007199254740992]",
        "$['\\uD800']",
        "$[?@ == 1e999]",
        "$[?count(1) == 1]",
        "$[?" + "(" * 2000,
        "$" + ".a" * 2000,
    ],
    ids=range(20),
)
def test_what_is_not_in_the_rfc_is_refused(query):
    assert refused("query", document={"a": 1}, query=query)[0] == "BadQuery"


def test_a_query_is_bounded():
    many = call("query", document=[0] * 50, query="$[*]", limit=3)
    large = call("query", document=["x" * 900_000, 1, 2], query="$[0, 0, 0]")

    assert (many["count"], many["truncated"]) == (3, True)
    assert (large["count"], large["truncated"]) == (2, True)
    assert not call("query", document=[0] * 3, query="$[*]", limit=3)["truncated"]
    assert call("query", document=nested(128), query="$..*", limit=10_000)["count"] == 128


# --- patch, diff, merge ----------------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(before=VALUES, after=VALUES)
def test_a_diff_applied_gives_the_second_value(before, after):
    patch = call("diff", before=before, after=after)["patch"]

    assert canonical(call("patch", document=before, patch=patch)["document"]) == canonical(after)
    assert (patch == []) == (canonical(before) == canonical(after))


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 2) | st.booleans(), st.booleans()), max_size=10))
def test_lists_are_aligned_by_what_they_share(marked):
    after, before = [value for value, _ in marked], [value for value, is_new in marked if not is_new]

    added = call("diff", before=before, after=after)["patch"]
    removed = call("diff", before=after, after=before)["patch"]
    assert [each["op"] for each in added] == ["add"] * (len(after) - len(before))
    assert [each["op"] for each in removed] == ["remove"] * (len(after) - len(before))
    assert canonical(call("patch", document=before, patch=added)["document"]) == canonical(after)
    assert canonical(call("patch", document=after, patch=removed)["document"]) == canonical(before)


def test_one_value_more_in_a_list_is_one_operation():
    many = list(range(1000))

    assert call("diff", before=many, after=[*many[:500], "new", *many[500:]])["patch"] == [
        {"op": "add", "path": "/500", "value": "new"}
    ]
    assert call("diff", before=many, after=many[1:])["patch"] == [{"op": "remove", "path": "/0"}]
    assert call("diff", before=[0] * 20_000, after=[1] * 20_000)["patch"] == [
        {"op": "replace", "path": "", "value": [1] * 20_000}
    ]


@pytest.mark.parametrize(
    ("document", "operation", "made"),
    [
        ({"foo": ["bar", "baz"]}, {"op": "add", "path": "/foo/1", "value": "qux"}, {"foo": ["bar", "qux", "baz"]}),
        ({"foo": ["bar"]}, {"op": "add", "path": "/foo/-", "value": [1]}, {"foo": ["bar", [1]]}),
        ({"foo": 1}, {"op": "add", "path": "/foo", "value": None}, {"foo": None}),
        ({"foo": 1}, {"op": "add", "path": "", "value": 2}, 2),
        ({"a": 1, "b": 2}, {"op": "remove", "path": "/b"}, {"a": 1}),
        ({"": {"~1": 1}}, {"op": "replace", "path": "//~01", "value": 2}, {"": {"~1": 2}}),
        ([1, 2, 3], {"op": "move", "from": "/0", "path": "/2"}, [2, 3, 1]),
        ({"a": {"b": 1}}, {"op": "move", "from": "/a/b", "path": ""}, 1),
        ({"a": 1}, {"op": "move", "from": "/a", "path": "/a"}, {"a": 1}),
        ({"a": [1]}, {"op": "copy", "from": "/a", "path": "/b"}, {"a": [1], "b": [1]}),
        ({"a": 1}, {"op": "test", "path": "/a", "value": 1.0, "xyz": 1}, {"a": 1}),
        ({"/": 9, "~1": 10}, {"op": "test", "path": "/~01", "value": 10}, {"/": 9, "~1": 10}),
    ],
    ids=range(12),
)
def test_an_operation_does_what_the_rfc_says(document, operation, made):
    before = json.dumps(document)

    assert call("patch", document=document, patch=[operation])["document"] == made
    assert json.dumps(document) == before


@pytest.mark.parametrize(
    ("operation", "code"),
    [
        ({"op": "test", "path": "/a", "value": True}, "TestFailed"),
        ({"op": "test", "path": "/l", "value": [0, 2]}, "TestFailed"),
        ({"op": "test", "path": "/x", "value": None}, "BadPointer"),
        ({"op": "remove", "path": "/x"}, "BadPointer"),
        ({"op": "replace", "path": "/l/2", "value": 1}, "BadPointer"),
        ({"op": "replace", "path": "/l/-", "value": 1}, "BadPointer"),
        ({"op": "add", "path": "/l/3", "value": 1}, "BadPointer"),
        ({"op": "add", "path": "/l/01", "value": 1}, "BadPointer"),
        ({"op": "add", "path": "/l/1e0", "value": 1}, "BadPointer"),
        ({"op": "add", "path": "/l/" + "9" * 5000, "value": 1}, "BadPointer"),
        ({"op": "add", "path": "/l/٣", "value": 1}, "BadPointer"),
        ({"op": "add", "path": "/a/b", "value": 1}, "BadPointer"),
        ({"op": "add", "path": "a", "value": 1}, "BadPointer"),
        ({"op": "add", "path": "/~2", "value": 1}, "BadPointer"),
        ({"op": "copy", "from": "/x", "path": "/y"}, "BadPointer"),
        ({"op": "remove", "path": ""}, "BadOperation"),
        ({"op": "add", "path": "/x"}, "BadOperation"),
        ({"op": "move", "path": "/x"}, "BadOperation"),
        ({"op": "move", "from": "/l", "path": "/l/0"}, "BadOperation"),
    ],
    ids=range(19),
)
def test_an_operation_that_cannot_be_done_is_named(operation, code):
    patch = [{"op": "add", "path": "/new", "value": 1}, operation]

    found, message = refused("patch", document={"a": 1, "l": [0, 1]}, patch=patch)

    assert (found, message[:13]) == (code, "operation 2: ")


def test_copies_share_nothing_and_cannot_grow_without_end():
    twice = [{"op": "copy", "from": "/a", "path": "/b"}, {"op": "add", "path": "/b/-", "value": 2}]
    doubling = [{"op": "copy", "from": "", "path": "/-"}] * 100

    assert call("patch", document={"a": [1]}, patch=twice)["document"] == {"a": [1], "b": [1, 2]}
    assert refused("patch", document=["x" * 1000], patch=doubling)[0] == "TooLarge"
    deeper = [{"op": "copy", "from": "", "path": "/0" + "/0" * depth} for depth in (0, 1, 3, 7, 15, 31, 63, 127)]
    assert refused("patch", document=[], patch=[{"op": "add", "path": "/0", "value": []}, *deeper])[0] == "TooDeep"


@pytest.mark.parametrize(
    ("document", "patch", "made"),
    [
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        (["a", "b"], ["c", "d"], ["c", "d"]),
        ({"a": "b"}, ["c"], ["c"]),
        ({"a": "foo"}, None, None),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ],
    ids=range(12),
)
def test_a_merge_is_the_rfcs_table(document, patch, made):
    assert call("merge", document=document, patch=patch)["document"] == made


# --- validate --------------------------------------------------------------------------------------------------------


def test_every_complaint_has_its_place():
    schema = {"properties": {"a/b": {"items": {"type": "integer"}}}, "required": ["c"]}

    told = call("validate", value={"a/b": [1, "x", None]}, schema=schema)

    assert not told["valid"]
    assert [each["path"] for each in told["complaints"]] == ["", "/a~1b/1", "/a~1b/2"]
    assert told["complaints"][1]["schema_path"] == "/properties/a~1b/items/type"
    assert call("validate", value={"a/b": ["x"] * 9, "c": 1}, schema=schema, limit=4)["truncated"]


@pytest.mark.parametrize(
    "reference",
    ["http://localhost/x.json", "https://example.org/a#b", "file:///etc/hostname", "other.json", "urn:x:y"],
)
@pytest.mark.parametrize("draft", [None, "draft-07"])
def test_no_reference_is_ever_fetched(reference, draft):
    given = {"value": 1, "schema": {"anyOf": [{"$ref": reference}]}} | ({"draft": draft} if draft else {})

    assert refused("validate", **given)[0] == "RemoteReference"


@pytest.mark.parametrize(
    "schema",
    [{"type": "strin"}, {"pattern": "("}, {"pattern": "(?=a)"}, {"$ref": "#/$defs/x"}, {"$schema": "http://x/y"}],
    ids=["type", "pattern", "look-around", "pointer", "dialect"],
)
def test_a_schema_that_is_none_is_told(schema):
    assert refused("validate", value=1, schema=schema)[0] == "BadSchema"


def test_the_draft_is_what_is_said():
    four = {"$schema": "http://json-schema.org/draft-04/schema#", "minimum": 1, "exclusiveMinimum": True}
    items = {"items": [{"type": "integer"}]}

    assert not call("validate", value=1, schema=four)["valid"]
    assert not call("validate", value=["x"], schema=items, draft="draft-07")["valid"]
    assert refused("validate", value=["x"], schema=items)[0] == "BadSchema"
    assert not call("validate", value="x", schema={"format": "date"})["valid"]
    assert call("validate", value="x", schema={"format": "date"}, formats=False)["valid"]
    assert call("validate", value=1, schema={"$ref": "#/$defs/a", "$defs": {"a": {"const": 1.0}}})["valid"]


@pytest.mark.parametrize("verb", VERBS)
def test_its_own_schemas_pass_it(verb):
    for side in ("input", "output"):
        schema = json.loads(
            (Path(spec_of(f"kei-json::{verb}").page).parent / f"schemas/{verb}-{side}.json").read_text()
        )
        assert jsonschema_rs.Draft7Validator(schema).is_valid(schema["examples"][0])
        assert call("validate", value=schema["examples"][0], schema=schema)["valid"]


# --- canonicalize ----------------------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(value=VALUES)
def test_the_canonical_text_is_keiseis(value):
    made = call("canonicalize", value=value)

    assert made["text"].encode() == canonical(value)
    assert made["bytes"] == len(canonical(value))


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (1e21, "1e+21"),
        (1e20, "100000000000000000000"),
        (123456789012345680000.0, "123456789012345680000"),
        (5e-324, "5e-324"),
        (1e-6, "0.000001"),
        (1e-7, "1e-7"),
        (1.5e-9, "1.5e-9"),
        (-0.0, "0"),
        (4.50, "4.5"),
        (9007199254740991, "9007199254740991"),
        (1.7976931348623157e308, "1.7976931348623157e+308"),
    ],
)
def test_numbers_are_written_as_ecmascript_does(number, text):
    assert call("canonicalize", value=number)["text"] == text


def test_keys_are_sorted_by_utf16_units():
    assert call("canonicalize", value={"\ufb33": 1, "😀": 2, "a": 3})["text"] == '{"a":3,"😀":2,"\ufb33":1}'


# --- parse -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None),
        ("a: {b: [1, 0o17, 0x1F, -2.5e3, .5]}", {"a": {"b": [1, 15, 31, -2500.0, 0.5]}}),
        ("[yes, no, on, 012:30, 2026-01-01, 1_000, 'true', \"1\", ~, null, True]", None),
        ("a: &x [1]\nb: *x", {"a": [1], "b": [1]}),
        ("1: a\ntrue: b\n~: c", {"1": "a", "true": "b", "~": "c"}),
        ("a: |\n  x\n   y\n", {"a": "x\n y\n"}),
        ('"<<": 1\n', {"<<": 1}),
        ("---\na: 1\n...\n", {"a": 1}),
        ("a:\n", {"a": None}),
    ],
    ids=range(9),
)
def test_yaml_is_its_core_and_nothing_more(text, value):
    words = ["yes", "no", "on", "012:30", "2026-01-01", "1_000", "true", "1", None, None, True]

    assert call("parse", text=text, format="yaml")["value"] == (words if text.startswith("[yes") else value)


@pytest.mark.parametrize(
    ("notation", "text", "line"),
    [
        ("yaml", "a: 1\nb: !!python/object:os.system x", 2),
        ("yaml", "a: !x 1", 1),
        ("yaml", "a: 1\n\na: 2", 3),
        ("yaml", "a: 1\n---\nb: 2", 2),
        ("yaml", "x: 1\n<<: {a: 1}", 2),
        ("yaml", "? [1]\n: 2", 1),
        ("yaml", "a: &x [*x]", 1),
        ("yaml", "a: 1\nb: [", 2),
        ("yaml", "a: 1\nb: \x00", 2),
        ("yaml", "a: 1\n\tb: 2", 2),
        ("yaml", "a: " + "1" * 5000, 1),
        ("toml", "a = 1\nb = ", 2),
        ("toml", "a = 1\na = 2\n", 2),
        ("toml", 'a = 1\nb = """', 2),
        ("csv", "a,b\n1,2\n1,2,3\n", 3),
        ("csv", 'a\n"x', 2),
        ("csv", 'a\n"x"y\n', 2),
        ("csv", "a,a\n1,2\n", 1),
        ("csv", "a,\n1,2\n", 1),
        ("csv", "\na,a\n", 2),
        ("csv", "a\n" + "x" * 200_000, 2),
        ("jsonl", '1\n\n{"a": }', 3),
        ("jsonl", '1\n{"a": 1, "a": 2}', 2),
        ("jsonl", "1\n[NaN]", 2),
        ("json", "[1,\n2,\n]", 3),
        ("json", "1" * 5000, 1),
        ("json", "", 1),
    ],
    ids=range(27),
)
def test_what_cannot_be_read_is_told_with_its_line(notation, text, line):
    code, message = refused("parse", text=text, format=notation)

    assert (code, message.split(":")[0]) == ("Malformed", f"line {line}")


@pytest.mark.parametrize(
    ("notation", "text", "code"),
    [
        ("yaml", "[" * 10_000, "TooDeep"),
        ("yaml", "- " * 129 + "1", "TooDeep"),
        ("yaml", ".inf", "NotJson"),
        ("yaml", "9007199254740992", "NotJson"),
        ("yaml", "1e999", "NotJson"),
        ("toml", "a = nan", "NotJson"),
        ("toml", "a = 9007199254740992", "NotJson"),
        ("toml", "a = " + "[" * 5000, "TooDeep"),
        ("toml", ".".join("a" * 200) + " = 1", "TooDeep"),
        ("toml", "x = {'y'." + " . ".join(['"a"'] * 100_000) + " = 1}", "TooDeep"),
        ("toml", "[[" + ".".join("a" * 100_000) + "]]", "TooDeep"),
        ("json", "[" * 100_000, "TooDeep"),
        ("json", "[" * 129 + "]" * 129, "TooDeep"),
        ("json", '"\\ud800"', "NotJson"),
        ("json", "1e999", "NotJson"),
        ("jsonl", "-9007199254740992", "NotJson"),
        ("csv", "a\n\ud800", "NotJson"),
    ],
    ids=range(17),
)
def test_what_json_cannot_carry_is_refused_in_every_notation(notation, text, code):
    assert refused("parse", text=text, format=notation)[0] == code


def test_anchors_cannot_multiply_without_end():
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 9)]

    assert refused("parse", text="\n".join(lines), format="yaml")[0] == "TooLarge"


@settings(max_examples=50, deadline=None)
@given(value=values(st.integers(-3, 3) | st.floats(-1e15, 1e15)))
def test_json_is_yaml_and_a_line(value):
    text = call("canonicalize", value=value)["text"]

    for notation in ("json", "yaml"):
        assert canonical(call("parse", text=text, format=notation)["value"]) == canonical(value)
    assert canonical(call("parse", text=f"{text}\n\n{text}\n", format="jsonl")["value"]) == canonical([value, value])


def test_dates_of_toml_are_texts():
    text = "a = 2026-05-01T10:00:00Z\nb = 10:30:00\n[c]\nd = [2026-05-01]\n"

    assert call("parse", text=text, format="toml")["value"] == {
        "a": "2026-05-01T10:00:00+00:00",
        "b": "10:30:00",
        "c": {"d": ["2026-05-01"]},
    }


def test_rows_of_csv_are_objects_of_texts():
    text = '\ufeffid,note\r\n1,"a ""b"",\nc"\r\n\r\n2,\u2028\r\n'

    rows = call("parse", text=text, format="csv")["value"]

    assert rows == [{"id": "1", "note": 'a "b",\nc'}, {"id": "2", "note": "\u2028"}]
    assert call("parse", text="", format="csv")["value"] == []
    assert call("parse", text="a\tb\n1\t2", format="csv", delimiter="\t")["value"] == [{"a": "1", "b": "2"}]
