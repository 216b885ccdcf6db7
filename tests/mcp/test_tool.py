"""Tools as clients list them: every shipped atom fits every client, and what is said of it is what its page says."""

import json
import re
from functools import cache
from pathlib import Path

import jsonschema_rs
import msgspec
import pytest

import keisei.kit
from keisei.library.atom_spec import read_spec
from keisei.library.package import read_package
from keisei.mcp.tool import LONGEST, Offer, atom_offer, framed, framed_items, full_offers, lean_offers
from keisei.records.atom import AtomInput, AtomManifest, AtomOutput, PackageFile, SideEffect
from keisei.records.atom_spec import AtomPackage, AtomSpec
from keisei.rules.atom_tool import LEAN, PREFIX, RUN

PRIMITIVES = Path(keisei.kit.__file__).parent / "primitives"
PAGES = sorted(PRIMITIVES.glob("*/src/*/atoms/*.md"))
IDS = [f"{page.parents[3].name}::{page.stem}" for page in PAGES]
TAKEN = re.compile(r"[a-zA-Z0-9_-]{1,64}")
PROPERTY = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
CHOICES = {"allOf", "anyOf", "oneOf", "not", "if", "then", "else", "enum", "const", "$ref", "$schema", "$id"}
"""What some client does not take at the root of an input."""


@cache
def shipped(atom):
    package, _, verb = atom.partition("::")
    return read_spec(read_package(PRIMITIVES / package), verb)


def spec(inputs=None, outputs=None, *, effects=(), summary="Does it.", atom="kei-x::do", **facts):
    manifest = AtomManifest(
        atom=atom,
        kind=facts.pop("kind", "command"),
        version="0.1.0",
        input=AtomInput(schema="in.json"),
        output=AtomOutput(schema="out.json"),
        side_effects=tuple(SideEffect(op=op, domain=domain) for op, domain in effects),
        idempotent=facts.pop("idempotent", False),
        stability="beta",
        **facts,
    )
    package = AtomPackage(
        name="kei-x",
        version="0.1.0",
        folder="/x",
        atoms="/x/atoms",
        metadata=PackageFile(backend="memory"),
        language="python",
        import_root=None,
        import_name=None,
    )
    return AtomSpec(
        manifest=manifest,
        summary=summary,
        page="/x/atoms/do.md",
        package=package,
        input_schema=inputs or {"type": "object"},
        output_schema=outputs or {"type": "object"},
        spec_sha="0" * 64,
        function=None,
    )


def wire(offer):
    return msgspec.to_builtins(offer)


def new(schema):
    return jsonschema_rs.Draft202012Validator(schema, validate_formats=True, offline=True)


# What ships.


def test_every_shipped_name_is_taken_by_every_client_and_is_its_own():
    names = [offer.name for offer in full_offers(map(shipped, IDS), {})]

    assert len(names) == len(IDS) > len(LEAN)
    assert all(TAKEN.fullmatch(PREFIX + name) for name in [*names, *LEAN])
    assert len({*names, *LEAN}) == len(names) + len(LEAN)


@pytest.mark.parametrize("atom", IDS)
def test_every_shipped_atom_is_a_tool_that_every_client_takes(atom):
    told = wire(atom_offer(shipped(atom), ["A point."]))

    assert told["title"] == atom
    assert 0 < len(told["description"]) <= LONGEST
    assert told["inputSchema"]["type"] == told["outputSchema"]["type"] == "object"
    assert not CHOICES & told["inputSchema"].keys()
    assert all(PROPERTY.fullmatch(name) for name in told["inputSchema"]["properties"])
    assert "$schema" not in told["outputSchema"]
    assert all(each.startswith("#/$defs/") for each in re.findall(r'"\$ref": "([^"]*)"', json.dumps(told)))


@pytest.mark.parametrize("atom", IDS)
def test_the_examples_of_every_shipped_atom_fit_what_is_offered(atom):
    each = shipped(atom)
    offer = atom_offer(each)
    inputs, outputs = new(offer.input_schema), new(offer.output_schema)

    assert all(inputs.is_valid(example) for example in each.input_schema["examples"])
    for example in each.output_schema["examples"]:
        structured = framed_items([example]) if each.manifest.kind == "stream" else framed(each, example)
        assert outputs.is_valid(structured)


def test_the_order_is_by_id_whoever_asks():
    one = full_offers(map(shipped, IDS), {})

    assert one == full_offers(map(shipped, reversed(IDS)), {})
    assert [offer.title for offer in one] == sorted(IDS)
    assert msgspec.json.encode(one) == msgspec.json.encode(full_offers(map(shipped, IDS), {}))


def test_an_offer_is_what_the_protocol_calls_a_tool():
    told = wire(atom_offer(spec(effects=[("network", "http:{url}")])))

    assert told == {
        "name": "kei-x__do",
        "title": "kei-x::do",
        "description": "Does it.",
        "inputSchema": {"type": "object", "properties": {}},
        "outputSchema": {"type": "object"},
        "annotations": {
            "readOnlyHint": False,
            "destructiveHint": False,
            "idempotentHint": False,
            "openWorldHint": True,
        },
        "_meta": {
            "dev.keisei/kind": "command",
            "dev.keisei/effects": ["network http:{url}"],
            "dev.keisei/stability": "beta",
            "dev.keisei/spec_sha": "0" * 64,
        },
    }
    assert msgspec.convert(told, Offer) == atom_offer(spec(effects=[("network", "http:{url}")]))


# Hints.

READ, WRITE, NETWORK = ("read", "fs:{path}"), ("write", "fs:{path}"), ("network", "http:{url}")
HINTS = {
    "query": ({"kind": "query", "effects": [READ]}, (True, False, True, False)),
    "stream": ({"kind": "stream", "effects": [READ]}, (True, False, True, False)),
    "pure": ({"kind": "transform", "idempotent": True}, (True, False, True, False)),
    "transform-with-effects": ({"kind": "transform", "effects": [WRITE]}, (False, False, False, False)),
    "query-that-writes": ({"kind": "query", "effects": [WRITE]}, (False, False, False, False)),
    "command": ({"effects": [WRITE]}, (False, False, False, False)),
    "command-without-effects": ({}, (False, False, False, False)),
    "idempotent": ({"effects": [WRITE], "idempotent": True}, (False, False, True, False)),
    "destructive": ({"effects": [WRITE], "destructive": True}, (False, True, False, False)),
    "destructive-reader": ({"kind": "query", "effects": [READ], "destructive": True}, (True, False, True, False)),
    "network": ({"effects": [NETWORK], "idempotent": True}, (False, False, True, True)),
    "reader-with-network": ({"kind": "query", "effects": [READ, NETWORK]}, (False, False, False, True)),
    "keyed": ({"effects": [WRITE], "keyed": True}, (False, False, False, False)),
}


@pytest.mark.parametrize(("facts", "expected"), HINTS.values(), ids=HINTS)
def test_hints_follow_from_kind_and_effects(facts, expected):
    assert msgspec.structs.astuple(atom_offer(spec(**facts)).annotations) == expected


# Descriptions.


def test_a_description_is_the_first_paragraph_and_the_gotchas():
    told = atom_offer(spec(summary="Does\n  it."), ["One\n thing.", "Another."]).description

    assert told == "Does it.\n- One thing.\n- Another."


def test_a_deprecated_atom_says_so_first():
    assert atom_offer(spec(deprecated="use kei-x::make")).description == "deprecated: use kei-x::make. Does it."


@pytest.mark.parametrize("length", [LONGEST - 1, LONGEST, LONGEST + 1, 50_000])
def test_no_description_is_longer_than_a_client_takes(length):
    told = atom_offer(spec(summary="x" * length), ["y"] * 3).description

    assert len(told) <= LONGEST
    assert told.endswith("…") == (length > LONGEST)


def test_gotchas_are_told_whole_or_not_at_all():
    told = atom_offer(spec(), ["a" * 500, "b" * 600, "c"]).description

    assert told == f"Does it.\n- {'a' * 500}"


def test_a_page_cannot_command_a_terminal():
    told = atom_offer(spec(summary="a\x1b[2Jb\u202ec"), ["d\x07"]).description

    assert told == "a\\x1b[2Jb\\u202ec\n- d\\x07"


# Schemas.


def test_what_a_stream_gives_is_a_list_with_its_length():
    each = spec(kind="stream", outputs={"$ref": "#/definitions/a", "definitions": {"a": {"type": "integer"}}})
    validator = new(atom_offer(each).output_schema)

    assert validator.is_valid(framed_items([1, 2]))
    assert framed_items([1, 2]) == {"items": [1, 2], "count": 2}
    assert not validator.is_valid(framed_items(["x"]))
    assert not validator.is_valid({"items": [1]})


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ({"type": "array", "items": {"type": "integer"}}, [1], ["x"]),
        ({"type": "string"}, "x", 1),
        ({"type": ["object", "null"]}, None, 1),
        ({"type": ["object", "null"]}, {}, 1),
        ({"anyOf": [{"type": "object"}, {"type": "null"}]}, {}, 1),
        ({"type": "array", "items": {"$ref": "#"}}, [[], [[]]], [1]),
        ({"const": {"result": 1}}, {"result": 1}, {"result": 2}),
    ],
    ids=["list", "text", "nothing", "or-nothing", "choice", "circle", "looks-wrapped"],
)
def test_an_output_that_need_not_be_an_object_stands_below_result(schema, good, bad):
    each = spec(outputs=schema)
    offered = atom_offer(each).output_schema

    assert offered["type"] == "object"
    assert framed(each, good) == {"result": good}
    assert new(offered).is_valid(framed(each, good))
    assert not new(offered).is_valid(framed(each, bad))


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "required": ["a"]},
        {"$ref": "#/definitions/a", "definitions": {"a": {"type": "object", "required": ["a"]}}},
    ],
    ids=["plain", "referred"],
)
def test_an_output_that_is_an_object_stands_for_itself(schema):
    each = spec(outputs=schema)

    assert framed(each, {"a": 1}) == {"a": 1}
    assert new(atom_offer(each).output_schema).is_valid({"a": 1})
    assert not new(atom_offer(each).output_schema).is_valid({})


ROOTS = {
    "choice": {"type": "object", "properties": {"a": True, "b": True}, "oneOf": [{"required": ["a"]}]},
    "condition": {"type": "object", "properties": {"a": True}, "if": True, "then": {"required": ["a"]}},
    "all": {"allOf": [{"type": "object", "properties": {"a": True}}]},
    "not": {"type": "object", "not": {"required": ["b"]}},
    "referred": {"$ref": "#/definitions/in", "definitions": {"in": {"type": "object", "properties": {"a": True}}}},
    "circle": {"$ref": "#"},
    "or-null": {"type": ["object", "null"], "properties": {"a": True}},
    "anything": {},
    "list": {"type": "array"},
    "values": {"enum": [{"a": 1}]},
}


@pytest.mark.parametrize("schema", ROOTS.values(), ids=ROOTS)
def test_the_root_of_an_input_is_a_plain_object_that_refuses_no_more_than_its_schema(schema):
    offered = atom_offer(spec(schema)).input_schema

    assert offered["type"] == "object"
    assert not CHOICES & offered.keys()
    assert new(offered).is_valid({"a": 1})


def test_what_a_root_refers_to_is_shown():
    assert atom_offer(spec(ROOTS["referred"])).input_schema["properties"] == {"a": True}


def test_a_property_that_no_model_takes_is_left_out_and_may_still_be_given():
    names = {"good": True, "größe": True, "a b": True, "x" * 65: True}
    schema = {"type": "object", "properties": names, "required": ["good", "a b"], "additionalProperties": False}

    offered = atom_offer(spec(schema)).input_schema

    assert offered == {"type": "object", "properties": {"good": True}, "required": ["good"]}


def test_examples_are_told_once_and_titles_not_at_all():
    part = {"type": "string", "title": "T", "examples": ["e"], "description": "D"}
    schema = {"title": "T", "examples": [{"a": "e"}], "type": "object", "properties": {"a": part}}

    offer = atom_offer(spec(schema, schema))

    plain = {"type": "object", "properties": {"a": {"type": "string", "description": "D"}}}
    assert offer.input_schema == {**plain, "examples": [{"a": "e"}]}
    assert offer.output_schema == plain


# The lean list.


def test_the_lean_list_is_short():
    assert len(msgspec.json.encode({"tools": lean_offers(write=True)})) < 8_000
    assert tuple(offer.name for offer in lean_offers(write=True)) == LEAN


def test_without_write_no_tool_of_the_lean_list_changes_anything():
    offers = lean_offers(write=False)

    assert [offer.name for offer in offers] == [name for name in LEAN if name != RUN]
    assert all(offer.annotations.read_only_hint for offer in offers)


def test_with_write_the_tools_that_change_something_are_told_apart():
    changing = [offer.name for offer in lean_offers(write=True) if not offer.annotations.read_only_hint]

    assert changing == ["atoms_run", "pipe_run"]


@pytest.mark.parametrize("offer", lean_offers(write=True), ids=lambda offer: offer.name)
def test_each_tool_of_the_lean_list_is_well_formed(offer):
    told = wire(offer)

    assert new(told["inputSchema"])
    assert told["inputSchema"]["additionalProperties"] is False
    assert set(told["inputSchema"]["required"]) <= told["inputSchema"]["properties"].keys()
    assert all(each["description"] for each in told["inputSchema"]["properties"].values())
    assert "_meta" not in told
    assert len(told["description"]) <= LONGEST
