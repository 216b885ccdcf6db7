"""One atom, read whole: its schemas need no other file, and nothing leads out of the package."""

import json
import os
import socket
from pathlib import Path

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import settings as how
from hypothesis import strategies as st

from keisei.library.atom_spec import read_row, read_spec, summary
from keisei.library.package import read_package
from keisei.library.schema_bundle import MOST_FILES, bundled
from keisei.records.error import AuthorError
from tests.library.primitives import DRAFT, OBJECT, atom, package, write


def schema(path, **keys):
    return write(path, json.dumps({"$schema": DRAFT, **keys}))


def fits(bundle, value):
    """Whether a value fits a schema that has nothing beside it."""

    def nothing(uri):
        raise AssertionError(uri)

    return jsonschema_rs.Draft7Validator(bundle, retriever=nothing).is_valid(value)


def told(call, *arguments):
    with pytest.raises(AuthorError) as caught:
        call(*arguments)
    return [(problem.code, problem.message) for problem in caught.value.problems]


def test_an_atom_is_read_with_everything_a_call_needs(tmp_path):
    folder = package(tmp_path, "kei-note", "add-line", layout="src")
    atoms = folder / "src" / "kei_note" / "atoms"

    spec = read_spec(read_package(folder), "add-line")

    assert (spec.id, spec.verb, spec.summary) == ("kei-note::add-line", "add-line", "Does it over two lines.")
    assert (spec.page, spec.function) == (str(atoms / "add-line.md"), str(atoms / "add_line.py"))
    assert spec.input_schema == OBJECT
    assert spec.package.import_name == "kei_note"
    assert len(spec.spec_sha) == 64


def test_an_atom_of_a_program_has_no_function(tmp_path):
    folder = package(tmp_path, "kei-crate", "find", layout="crate")

    assert read_spec(read_package(folder), "find").function is None


def test_the_digest_follows_page_schemas_and_what_they_refer_to_and_not_the_place(tmp_path):
    def made(name, *, summary="Does it", fragment="string", output=OBJECT):
        parts = {"input": {"$schema": DRAFT, "$ref": "part.json"}, "output": output}
        folder = package(tmp_path / name, "kei-note", "add", summary=summary, **parts)
        schema(folder / "atoms" / "schemas" / "part.json", type=fragment)
        return read_spec(read_package(folder), "add").spec_sha

    first = made("one")

    assert made("two") == first
    others = {made("three", summary="Else"), made("four", fragment="number"), made("five", output={"$schema": DRAFT})}
    assert len(others | {first}) == 4


@pytest.mark.parametrize(
    ("break_it", "code"),
    [
        (lambda atoms: (atoms / "add.py").unlink(), "missing-function"),
        (lambda atoms: (atoms / "schemas" / "add-input.json").unlink(), "missing-file"),
        (lambda atoms: schema(atoms / "schemas" / "add-input.json", type=5), "bad-schema"),
        (lambda atoms: write(atoms / "schemas" / "add-output.json", "[]"), "bad-schema"),
        (lambda atoms: write(atoms / "schemas" / "add-output.json", "{"), "syntax"),
        (lambda atoms: atom(atoms, "kei-other", "add"), "bad-name"),
        (lambda atoms: write(atoms / "add.md", "no page"), "no-frontmatter"),
        (lambda atoms: write(atoms / "add.md", "x" * 2_000_000), "too-large"),
    ],
    ids=["no-function", "no-schema", "bad-schema", "list", "syntax", "other-id", "no-page", "huge"],
)
def test_a_broken_atom_is_told_in_one_error(tmp_path, break_it, code):
    folder = package(tmp_path, "kei-note", "add")

    break_it(folder / "atoms")

    assert told(read_spec, read_package(folder), "add")[0][0] == code


@pytest.mark.parametrize("file", ["add.md", "add.py", "schemas/add-input.json", "schemas"])
def test_what_leads_out_of_the_package_is_refused(tmp_path, file):
    folder = package(tmp_path, "kei-note", "add")
    path = folder / "atoms" / file
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")

    assert told(read_spec, read_package(folder), "add")[0][0] == "outside"


def test_a_symlink_that_stays_inside_is_followed(tmp_path):
    folder = package(tmp_path, "kei-note", "add")
    for name in ("add.md", "add.py", "schemas/add-input.json"):
        path = folder / "atoms" / name
        path.rename(
            path.with_name(f"real-{path.name}.bak") if name != "schemas/add-input.json" else path.parent / "r.json"
        )
        real = path.with_name(f"real-{path.name}.bak") if name != "schemas/add-input.json" else path.parent / "r.json"
        path.symlink_to(real)

    assert read_spec(read_package(folder), "add").id == "kei-note::add"


def test_a_page_that_is_a_pipe_is_not_waited_for(tmp_path):
    folder = package(tmp_path, "kei-note", "add")
    (folder / "atoms" / "add.md").unlink()
    os.mkfifo(folder / "atoms" / "add.md")

    assert told(read_row, read_package(folder), "add", "kit")[0][0] == "unreadable"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("# Title\n\nFirst\nline.\n\nSecond.\n", "First line."),
        ("", ""),
        ("# Only a heading\n", ""),
        ("a" * 400, "a" * 300 + "…"),
    ],
    ids=["paragraph", "empty", "heading", "long"],
)
def test_the_summary_is_the_first_paragraph(body, expected):
    assert summary(body) == expected


# What schemas refer to


def test_files_beside_it_become_definitions(tmp_path):
    schema(
        tmp_path / "sub" / "tag.json", **{"$id": "tag.json", "type": "string", "$ref": "../word.json#/definitions/w"}
    )
    schema(tmp_path / "word.json", definitions={"w": {"minLength": 2}})
    main = schema(tmp_path / "main.json", properties={"tag": {"$ref": "sub/tag.json"}}, definitions={"word": True})

    bundle = bundled(main)

    assert fits(bundle, {"tag": "ab"})
    assert not fits(bundle, {"tag": "a"})
    assert set(bundle["definitions"]) == {"word", "tag", "word-2"}


def test_fragments_of_an_ancestor_are_shared(tmp_path):
    schema(tmp_path / "_schemas" / "fragments" / "id.json", type="integer")
    main = schema(
        tmp_path / "pkg" / "atoms" / "schemas" / "a.json",
        properties={"id": {"$ref": "../../../_schemas/fragments/id.json"}},
    )

    assert not fits(bundled(main), {"id": "x"})


def test_circles_of_references_stay_circles(tmp_path):
    schema(tmp_path / "b.json", type="object", properties={"a": {"$ref": "a.json"}, "self": {"$ref": "#"}})
    main = schema(tmp_path / "a.json", type="object", properties={"b": {"$ref": "b.json"}}, required=["b"])

    bundle = bundled(main)

    assert fits(bundle, {"b": {"self": {"a": {"b": {}}}}})
    assert not fits(bundle, {"b": {"self": {"a": {}}}})


@pytest.mark.parametrize("loop", [{"$ref": "#"}, {"allOf": [{"$ref": "#"}]}, {"anyOf": [{"$ref": "#/anyOf/0"}]}])
def test_a_reference_to_itself_ends(tmp_path, loop):
    assert fits(bundled(schema(tmp_path / "a.json", **loop)), 1)


def test_names_that_a_schema_gives_itself_are_found_in_its_own_file(tmp_path):
    schema(tmp_path / "b.json", definitions={"x": {"$id": "#tag", "type": "integer"}}, items={"$ref": "#tag"})
    definitions = {"y": {"$id": "#tag", "type": "string"}}
    properties = {"a": {"$ref": "#tag"}, "b": {"$ref": "b.json"}, "c": {"$ref": "b.json#tag"}}
    bundle = bundled(schema(tmp_path / "a.json", definitions=definitions, properties=properties))

    assert fits(bundle, {"a": "s", "b": [1], "c": 1})
    assert not any(fits(bundle, value) for value in ({"a": 1}, {"b": ["s"]}, {"c": "s"}))


def test_what_only_looks_like_a_reference_is_left_alone(tmp_path):
    data = {"$ref": "nowhere.json"}
    keys = {
        "const": data,
        "enum": [data],
        "default": data,
        "examples": [data],
        "properties": {"$ref": {"type": "object"}},
    }

    bundle = bundled(schema(tmp_path / "a.json", **keys))

    assert {key: bundle[key] for key in keys} == keys


def test_a_pointer_finds_odd_names_and_places_nobody_expects(tmp_path):
    odd = {"a/b~c %é": {"type": "integer"}, "": {"type": "string"}}
    schema(tmp_path / "b c.json", shelf=[odd])
    properties = {
        "one": {"$ref": "b%20c.json#/shelf/0/a~1b~0c%20%25%C3%A9"},
        "two": {"$ref": "b%20c.json#/shelf/0/"},
    }

    bundle = bundled(schema(tmp_path / "a.json", properties=properties))

    assert fits(bundle, {"one": 1, "two": "s"})
    assert not any(fits(bundle, value) for value in ({"one": "s"}, {"two": 1}))


@pytest.mark.parametrize(
    "reference",
    [
        "http://json-schema.org/draft-07/schema#",
        "file:///etc/passwd",
        "//host/x.json",
        "../outside.json",
        "/etc/passwd",
        "link.json",
        "missing.json",
        "a.json?x",
        "#/definitions/none",
        "#none",
        "#/title",
        "#/examples/" + "9" * 5000,
        "a%00b.json",
        5,
        "x" * 5000,
    ],
)
def test_a_reference_that_does_not_work_is_told_where_it_stands(tmp_path, reference):
    schema(tmp_path / "outside.json")
    folder = tmp_path / "schemas"
    main = schema(folder / "a.json", title="t", examples=[], properties={"x": {"$ref": reference}})
    (folder / "link.json").symlink_to(tmp_path / "outside.json")

    with pytest.raises(AuthorError) as caught:
        bundled(main)

    problem = caught.value.problems[0]
    assert (problem.code, problem.line, Path(problem.path).name) == ("bad-schema", 1, "a.json")


@pytest.mark.parametrize(
    ("schemas", "code"),
    [
        ({"add-input.json": {"$schema": "{0}"}}, "schema-draft"),
        (
            {"add-input.json": {"$schema": DRAFT, "$ref": "other.json"}, "other.json": {"$schema": "{0}"}},
            "schema-draft",
        ),
        ({"add-input.json": {"$schema": DRAFT, "properties": {"x": {"$schema": "{0}", "$id": "{0}"}}}}, None),
    ],
    ids=["top", "other-file", "below"],
)
def test_a_dialect_is_never_fetched(tmp_path, schemas, code):
    folder = package(tmp_path, "kei-note", "add")
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"http://127.0.0.1:{server.getsockname()[1]}/x"
        for name, data in schemas.items():
            write(folder / "atoms" / "schemas" / name, json.dumps(data).replace("{0}", address))

        if code is None:
            assert "$schema" not in read_spec(read_package(folder), "add").input_schema.get("properties", {}).get(
                "x", {}
            )
        else:
            assert told(read_spec, read_package(folder), "add") == [
                (code, f"`$schema` must be `{DRAFT}`, not `{address}`")
            ]
        server.setblocking(False)  # noqa: FBT003 - the socket's own
        with pytest.raises(BlockingIOError):
            server.accept()


def test_references_that_double_each_time_are_refused_at_once(tmp_path):
    definitions = {f"d{n}": {"allOf": [{"$ref": f"#/definitions/d{n + 1}"}] * 2} for n in range(40)} | {"d40": {}}
    main = schema(tmp_path / "a.json", definitions=definitions, properties={"x": {"$ref": "#/definitions/d0"}})

    assert told(bundled, main)[0][0] == "too-deep"


def test_a_long_row_of_references_is_refused_at_once(tmp_path):
    definitions = {f"d{n}": {"$ref": f"#/definitions/d{n + 1}"} for n in range(5000)} | {"d5000": {}}
    main = schema(tmp_path / "a.json", definitions=definitions)

    assert told(bundled, main)[0][0] == "too-deep"


def test_too_many_files_are_refused(tmp_path):
    for number in range(MOST_FILES + 2):
        schema(tmp_path / f"f{number}.json", items={"$ref": f"f{number + 1}.json"})

    assert "more than" in told(bundled, tmp_path / "f0.json")[0][1]


NAMES = ("a.json", "b.json", "c.json")
LEAVES = st.sampled_from([{"type": "integer"}, {"type": "string"}, True, {"minimum": 3}])
POINTERS = st.sampled_from(["", "#", "#/definitions/d", "#/properties/p"])
REFERENCES = st.builds(lambda name, pointer: {"$ref": name + pointer}, st.sampled_from(["", *NAMES]), POINTERS).filter(
    lambda each: each["$ref"] != ""
)
PARTS = st.recursive(
    LEAVES | REFERENCES,
    lambda inner: st.builds(lambda x: {"items": x}, inner) | st.builds(lambda x, y: {"anyOf": [x, y]}, inner, inner),
    max_leaves=4,
)
FILES = st.fixed_dictionaries({name: st.fixed_dictionaries({"p": PARTS, "q": PARTS, "d": PARTS}) for name in NAMES})
VALUES = st.recursive(
    st.integers(0, 5) | st.just("s"),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("pq"), inner, max_size=2),
    max_leaves=5,
)


@how(max_examples=60)
@given(files=FILES, value=VALUES)
def test_a_bundle_judges_as_the_files_do(files, value, tmp_path_factory):
    folder = tmp_path_factory.mktemp("bundle")
    whole = {
        name: {"$schema": DRAFT, "properties": {"p": each["p"], "q": each["q"]}, "definitions": {"d": each["d"]}}
        for name, each in files.items()
    }
    for name, each in whole.items():
        write(folder / name, json.dumps(each))

    def retrieve(uri):
        return whole[uri.rpartition("/")[2]]

    apart = jsonschema_rs.Draft7Validator(whole["a.json"], base_uri="json-schema:///a.json", retriever=retrieve)

    assert fits(bundled(folder / "a.json"), value) == apart.is_valid(value)
