"""Checks at the doors: every difference in words, pointed at its place."""

import json
import re

import jsonschema_rs
import msgspec
import pytest
from hypothesis import given, settings

from keisei.contracts.check import Violation, build, data_of, invariant, pointer, violations
from keisei.contracts.generate import generated_schema
from keisei.contracts.registry import FORMS, NAMES, RECORDS, known, record_type, schema_id
from keisei.contracts.schema import schema, validator
from keisei.contracts.words import FORMATS, PATTERNS, TYPES, kind_of, listed, nearest, shown
from keisei.records.error import ContractViolation, OperatorError
from keisei.testing.strategies import json_values

QUICK = settings(max_examples=20, deadline=None, database=None)
INTENT = {"task_type": "t", "source": "s", "payload": {}}


def said(name, data):
    """(place, message, hint) of each violation."""
    return [(pointer(each.path), each.message, each.hint) for each in violations(name, data)]


def test_data_that_fits_has_no_violations():
    assert violations("task.intent", INTENT) == []


def test_a_misspelt_key_is_told_with_the_right_one():
    assert violations("task.intent", INTENT | {"subjekt": "x"}) == [
        Violation(("subjekt",), "key", "unknown-key", "unknown key `subjekt`", "did you mean `subject`?")
    ]


def test_a_key_like_no_other_is_told_with_all_there_are():
    (violation,) = violations("agent.file", {"identity": IDENTITY, "zzz": 1})

    assert violation.message == "unknown key `zzz`"
    assert violation.hint == "known keys: identity, constitution, wallets"


IDENTITY = {"agent_id": "a", "internal_name": "a", "display_name": "A"}


def test_a_missing_key_is_told_at_the_object_that_lacks_it():
    assert violations("agent.file", {"identity": {"agent_id": "a", "internal_name": "a"}}) == [
        Violation(("identity",), "value", "missing-key", "missing key `display_name`")
    ]


@pytest.mark.parametrize(
    ("change", "message", "hint"),
    [
        pytest.param({"task_type": 5}, "`task_type` must be a string, not an integer", None, id="a-number-for-text"),
        pytest.param({"payload": []}, "`payload` must be an object, not a list", None, id="a-list-for-an-object"),
        pytest.param({"payload": None}, "`payload` must be an object, not null", None, id="null-for-an-object"),
        pytest.param({"skill_ids": "a"}, "`skill_ids` must be a list, not a string", None, id="text-for-a-list"),
        pytest.param({"skill_ids": [5]}, "skill_ids[0] must be a string, not an integer", None, id="inside-a-list"),
        pytest.param({"priority": 1.5}, "`priority` must be an integer, not a number", None, id="a-fraction"),
        pytest.param({"priority": True}, "`priority` must be an integer, not true or false", None, id="a-boolean"),
        pytest.param({"priority": 1001}, "`priority` must be at most 1000, not `1001`", None, id="too-large"),
        pytest.param({"priority": -1001}, "`priority` must be at least -1000, not `-1001`", None, id="too-small"),
        pytest.param(
            {"available_at": "yesterday"},
            "`available_at` must be a time such as `2026-04-22T15:30:00Z`, not `yesterday`",
            None,
            id="not-a-time",
        ),
        pytest.param(
            {"idempotency_key": "x" * 257},
            f"`idempotency_key` must be at most 256 characters long, not `{'x' * 60}…`",
            None,
            id="too-long-and-cut",
        ),
        pytest.param(
            {"budget": {"max_cost_usd": -1}}, "`max_cost_usd` must be at least 0, not `-1`", None, id="inside-an-object"
        ),
    ],
)
def test_a_wrong_value_is_told_with_what_was_expected_and_what_was_there(change, message, hint):
    (violation,) = violations("task.intent", INTENT | change)

    assert (violation.message, violation.hint) == (message, hint)


def test_a_value_outside_a_list_is_told_with_the_list_and_the_nearest():
    data = {"capability": {"name": "policy::x"}, "gate": {"kind": "patern"}}

    assert said("capability.manifest", data) == [
        (
            "gate.kind",
            "`kind` must be one of `paths`, `pattern`, `script`, `tools`, not `patern`",
            "did you mean `pattern`?",
        )
    ]


def test_a_pattern_is_told_in_words():
    assert said("capability.manifest", {"capability": {"name": "NoGit"}}) == [
        (
            "capability.name",
            "`name` must be `category::slug` in lower-case letters, digits and dashes, not `NoGit`",
            None,
        )
    ]


def test_a_rule_that_holds_under_a_condition_names_it():
    assert said("package.file", {"backend": "sqlite", "db_env": "X"}) == [
        ("document", "missing key `db_default`, because `backend` is `sqlite`", None)
    ]
    assert said("package.file", {"backend": "memory"}) == []


def test_a_condition_inside_an_object_is_named_too():
    data = {"capability": {"name": "policy::x"}, "verify": {"kind": "script"}}

    assert said("capability.manifest", data) == [("verify", "missing key `path`, because `kind` is `script`", None)]


def test_a_value_under_a_condition_names_it():
    outcome = {"status": "completed", "machine_status": "failed", "operator_summary": ""}

    assert said("task.outcome", outcome) == [
        ("machine_status", "`machine_status` must be `ok`, not `failed`, because `status` is `completed`", None)
    ]


def test_a_key_of_a_free_table_is_told_as_a_key():
    data = {"task": {"role": "edit-local"}, "parameters": {"NoGit": {}}}

    assert violations("task.spec", data) == [
        Violation(
            ("parameters", "NoGit"),
            "key",
            "wrong-value",
            "the key `NoGit` must be `category::slug` in lower-case letters, digits and dashes",
        )
    ]


# Unions.

SCRIPT = {"kind": "script", "adapter_id": "a", "command": "sh", "timeout_ms": 1000}


def test_a_union_speaks_of_the_kind_that_was_meant():
    assert said("adapter.config", {"kind": "script", "adapter_id": "a", "comand": "sh", "timeout_ms": 10}) == [
        ("document", "missing key `command`", None),
        ("timeout_ms", "`timeout_ms` must be at least 1000, not `10`", None),
        ("comand", "unknown key `comand`", "did you mean `command`?"),
    ]


def test_a_key_of_another_kind_is_unknown_here():
    assert [message for _, message, _ in said("adapter.config", SCRIPT | {"endpoint": "http://x"})] == [
        "unknown key `endpoint`"
    ]


def test_a_kind_nobody_knows_is_told_once():
    assert said("adapter.config", SCRIPT | {"kind": "scritp"}) == [
        (
            "kind",
            "`kind` must be one of `claude-code`, `codex`, `hermes-agent`, `ollama-generate`, `script`, not `scritp`",
            "did you mean `script`?",
        )
    ]


def test_a_missing_kind_is_told_as_a_missing_key():
    assert said("adapter.config", {"adapter_id": "a"}) == [("document", "missing key `kind`", None)]


@pytest.mark.parametrize("kind", ["claude-code", "codex", "hermes-agent", "ollama-generate", "script"])
def test_every_kind_refuses_an_unknown_key(kind):
    data = SCRIPT | {"kind": kind, "endpoint": "http://x", "model": "m", "surely_not": 1}

    assert ("surely_not", "unknown key `surely_not`") in [
        (place, message) for place, message, _ in said("adapter.config", data)
    ]


def test_a_choice_of_types_names_them_all():
    data = {"capability": {"name": "policy::x"}, "taxonomy": {"stage": 5}}

    assert said("capability.manifest", data) == [
        ("taxonomy.stage", "`stage` must be a string or a list, not an integer", None)
    ]


def test_a_choice_whose_type_fits_is_told_by_what_is_wrong_inside():
    data = {"capability": {"name": "policy::x"}, "taxonomy": {"stage": ["a", 5]}}

    assert said("capability.manifest", data) == [
        ("taxonomy.stage[1]", "taxonomy.stage[1] must be a string, not an integer", None)
    ]


# Null.

ATTEMPT = next(each for each in schema("task.attempt")["examples"] if each["exit_status"] is not None)


def test_a_field_that_may_be_null_is_there_all_the_same():
    data = {key: value for key, value in ATTEMPT.items() if key != "model"}

    assert said("task.attempt", ATTEMPT | {"model": None}) == []
    assert said("task.attempt", data) == [("document", "missing key `model`", None)]


def test_null_is_called_null_where_a_word_was_expected():
    data = {"capability": {"name": "policy::x"}, "gate": {"kind": None}}

    assert [message for _, message, _ in said("capability.manifest", data)] == [
        "`kind` must be one of `paths`, `pattern`, `script`, `tools`, not `null`"
    ]


def test_a_field_that_may_be_null_says_so_when_it_is_wrong():
    assert said("task.attempt", ATTEMPT | {"model": 5}) == [
        ("model", "`model` must be a string or null, not an integer", None)
    ]


def test_a_null_that_may_not_be_is_told_as_one():
    assert said("task.intent", INTENT | {"subject": None}) == [
        ("subject", "`subject` must be a string, not null", None)
    ]


def test_a_wrong_text_in_a_nullable_field_is_told_by_its_text():
    assert said("task.attempt", ATTEMPT | {"ended_at": "soon"}) == [
        ("ended_at", "`ended_at` must be a time such as `2026-04-22T15:30:00Z`, not `soon`", None)
    ]


# Whole documents.


@pytest.mark.parametrize(
    ("data", "words"),
    [(None, "null"), ([], "a list"), ("x", "a string"), (5, "an integer"), (1.5, "a number"), (True, "true or false")],
    ids=["null", "list", "string", "integer", "number", "boolean"],
)
def test_a_document_of_another_type_is_told_as_the_document(data, words):
    assert said("task.intent", data) == [("document", f"document must be an object, not {words}", None)]


@pytest.mark.parametrize(
    "data", [{1: 2}, {"payload": {(): 1}}, {"payload": object()}], ids=["number", "tuple", "object"]
)
def test_data_that_is_not_json_is_a_violation_and_not_a_crash(data):
    (violation,) = violations("task.intent", data)

    assert violation.code == "wrong-type"


@pytest.mark.parametrize("name", NAMES)
def test_any_json_gets_an_answer_in_words(name):
    @QUICK
    @given(json_values())
    def check(value):
        example = schema(name)["examples"][0]
        for data in (value, *(example | {key: value} for key in [*example, "other"])):
            assert [each for each in violations(name, data) if "something else" in each.message] == []

    check()


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(INTENT | {"a\nb": 1}, id="a-key-of-two-lines"),
        pytest.param(INTENT | {"\x1b[2J": 1}, id="a-key-that-clears-the-screen"),
        pytest.param(INTENT | {"priority": 5000, "subject": 5, "idempotency_key": ""}, id="ordinary"),
        pytest.param(INTENT | {"available_at": "a\nb"}, id="a-value-of-two-lines"),
        pytest.param(INTENT | {"available_at": "\x1b[31mred"}, id="a-value-that-colours-the-screen"),
        pytest.param(INTENT | {"available_at": "\u202etxt"}, id="a-value-that-turns-the-text-round"),
    ],
)
def test_a_message_is_one_printable_line_whatever_the_data_holds(data):
    messages = [each.message for each in violations("task.intent", data)]

    assert messages
    assert [message for message in messages if not message.isprintable()] == []


# Building.


def test_building_returns_the_record():
    built = build("task.intent", INTENT)

    assert type(built) is record_type("task.intent")
    assert data_of(built) == INTENT


def test_a_violation_of_a_contract_names_the_record_and_every_place():
    with pytest.raises(ContractViolation) as caught:
        build("task.intent", {"task_type": "t", "payload": [], "workflow_ref": {"workflow_id": 5}})

    error = caught.value
    assert error.name == "task.intent"
    assert sorted(error.complaints) == [
        "document: missing key `source`",
        "payload: `payload` must be an object, not a list",
        "workflow_ref.workflow_id: `workflow_id` must be a string, not an integer",
        "workflow_ref: missing key `instance_key`",
        "workflow_ref: missing key `state_id`",
    ]
    assert str(error) == "not a valid task.intent: " + "; ".join(error.complaints)
    assert error.hint == "`keisei schema show task.intent` prints the schema with examples"


def test_a_violation_names_the_short_name_whatever_it_was_asked_by():
    with pytest.raises(ContractViolation, match=re.escape("not a valid task.intent: document: missing key")) as caught:
        build("agent-runtime/task.intent/v1", {"source": "s", "payload": {}})

    assert caught.value.name == "task.intent"


def test_what_only_the_record_knows_is_refused_too():
    data = {"agent_id": "a", "internal_name": "b", "display_name": "A"}

    with pytest.raises(ContractViolation, match="agent_id `a` must equal internal_name `b`"):
        build("agent.identity", data)


def test_an_invariant_of_an_inner_record_is_pointed_at():
    with pytest.raises(msgspec.ValidationError) as caught:
        msgspec.convert({"identity": IDENTITY | {"internal_name": "b"}}, record_type("agent.file"))

    violation = invariant(caught.value)

    assert violation.path == ("identity",)
    assert violation.message == "agent_id `a` must equal internal_name `b`"


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ((), "document"),
        (("a",), "a"),
        (("states", 2, "task_type"), "states[2].task_type"),
        ((0, 1), "[0][1]"),
    ],
    ids=["root", "key", "nested", "lists"],
)
def test_a_place_is_written_as_people_write_it(path, text):
    assert pointer(path) == text


# Schemas.


def patterns(part):
    """Every regular expression of a schema."""
    if isinstance(part, dict):
        if isinstance(part.get("pattern"), str):
            yield part["pattern"]
        for key, value in part.items():
            if key not in ("examples", "default"):
                yield from patterns(value)
    elif isinstance(part, list):
        for value in part:
            yield from patterns(value)


def formats(part):
    if isinstance(part, dict):
        if isinstance(part.get("format"), str):
            yield part["format"]
        for key, value in part.items():
            if key not in ("examples", "default"):
                yield from formats(value)
    elif isinstance(part, list):
        for value in part:
            yield from formats(value)


@pytest.mark.parametrize("name", NAMES)
def test_every_pattern_and_format_of_a_schema_has_words(name):
    fresh = generated_schema(name, [])

    assert {each for each in patterns(fresh) if each not in PATTERNS} == set()
    assert {each for each in formats(fresh) if each not in FORMATS} == set()


def test_no_words_are_kept_for_a_pattern_that_is_gone():
    used = {each for name in NAMES for each in patterns(generated_schema(name, []))}

    assert set(PATTERNS) - used == set()


@pytest.mark.parametrize("name", NAMES)
def test_a_published_schema_compiles_and_has_its_id(name):
    published = schema(name)

    jsonschema_rs.Draft7Validator(published, validate_formats=True)
    assert published["$schema"] == "http://json-schema.org/draft-07/schema#"
    assert published["$id"] == f"agent-runtime/{name}/v1" == schema_id(name)


@pytest.mark.parametrize("name", NAMES)
def test_a_published_schema_is_the_generated_one(name):
    published = schema(name)

    assert published == json.loads(json.dumps(generated_schema(name, published["examples"])))


@pytest.mark.parametrize("name", NAMES)
def test_a_schema_rejects_a_key_nobody_knows_beside_a_valid_example(name):
    for example in schema(name)["examples"]:
        assert validator(name).is_valid(example)
        assert not validator(name).is_valid(example | {"surely_not_a_key": 1})


@pytest.mark.parametrize("name", NAMES)
def test_every_object_of_a_schema_is_closed(name):
    published = schema(name)
    is_union = name == "adapter.config"  # its members are closed; closing the union too would name every key twice

    parts = [*published.get("definitions", {}).values(), *([] if is_union else [published])]

    assert [part["title"] for part in parts if part["additionalProperties"] is not False] == []


def test_records_and_forms_are_two_different_things():
    assert set(RECORDS).isdisjoint(FORMS)
    assert len(RECORDS) == 29


@pytest.mark.parametrize("asked", ["task.intent", "agent-runtime/task.intent/v1"])
def test_a_schema_is_known_by_its_name_and_by_its_id(asked):
    assert known(asked) == "task.intent"
    assert schema(asked)["$id"] == "agent-runtime/task.intent/v1"


@pytest.mark.parametrize(
    ("asked", "hint"),
    [
        ("task.intnet", "did you mean `task.intent`?"),
        ("agent-runtime/task.intent/v2", "did you mean `task.intent`?"),
        ("zzz", "`keisei schema list` shows all names"),
        ("../../etc/passwd", "`keisei schema list` shows all names"),
    ],
)
def test_a_name_nobody_knows_is_refused_with_the_nearest(asked, hint):
    with pytest.raises(OperatorError, match=re.escape(f"no schema is called `{asked}`")) as caught:
        schema(asked)

    assert caught.value.hint == hint


# Words.


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("x", "`x`"),
        ("", "`(empty)`"),
        ("a\n  b\tc", "`a b c`"),
        ("x" * 60, f"`{'x' * 60}`"),
        ("x" * 61, f"`{'x' * 60}…`"),
        (True, "`true`"),
        (None, "`null`"),
        (5, "`5`"),
    ],
    ids=["text", "empty", "lines", "sixty", "longer", "boolean", "null", "number"],
)
def test_a_value_is_shown_short_and_on_one_line(value, text):
    assert shown(value) == text


def test_several_values_are_listed():
    assert listed(["a", 1]) == "`a`, `1`"
    assert listed("a") == "`a`"


@pytest.mark.parametrize(
    ("value", "words"),
    [(None, "null"), (True, "boolean"), (1, "integer"), (1.0, "number"), ("", "string"), ([], "array"), ({}, "object")],
    ids=["null", "boolean", "integer", "number", "string", "array", "object"],
)
def test_a_kind_of_value_has_words(value, words):
    assert kind_of(value) == TYPES[words]


def test_the_nearest_word_is_offered_only_when_it_is_near():
    assert nearest("edit-locl", ["edit-local", "read-only"]) == "did you mean `edit-local`?"
    assert nearest("zzz", ["edit-local", "read-only"]) is None
    assert nearest("x", None) is None
