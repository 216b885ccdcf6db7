"""Schemas at the door: listed, shown, exported, checked against, compared."""

import json

import jsonschema_rs
import pytest

from keisei.contracts.registry import FORMS, NAMES, RECORDS
from keisei.contracts.schema import schema

INTENT = {"task_type": "t", "source": "s", "payload": {}}


# List, show, export.


def test_the_list_names_every_record_and_form(shell):
    rows = json.loads(shell.run("schema", "list", "--json").out)

    assert [row["name"] for row in rows] == list(NAMES)
    assert {row["name"] for row in rows if row["kind"] == "form"} == set(FORMS)
    assert all(row["description"] for row in rows)
    assert {row["id"] for row in rows} == {f"agent-runtime/{name}/v1" for name in NAMES}


def test_a_schema_is_shown_by_name_and_by_id(shell):
    by_name = shell.run("schema", "show", "task.intent").out

    assert json.loads(by_name) == schema("task.intent")
    assert shell.run("schema", "show", "agent-runtime/task.intent/v1").out == by_name


def test_a_schema_nobody_knows_is_told_with_the_nearest(shell):
    done = shell.run("schema", "show", "task.intnet")

    assert done.code == 1
    assert done.err == "error: no schema is called `task.intnet`\n  hint: did you mean `task.intent`?\n"


@pytest.fixture
def exported(shell):
    assert shell.run("schema", "export", "out/deep").code == 0
    return shell.folder / "out/deep"


def test_an_export_holds_every_schema_and_the_types(shell, exported):
    assert sorted(path.name for path in exported.iterdir()) == sorted(
        [*(f"{name}.v1.json" for name in NAMES), "records.ts"]
    )
    again = shell.run("schema", "export", "out/deep")
    assert again.out == f"wrote {len(NAMES)} schemas and records.ts to out/deep\n"


def test_every_exported_schema_is_whole(exported):
    for name in NAMES:
        text = (exported / f"{name}.v1.json").read_text(encoding="utf-8")
        found = json.loads(text)
        assert text.endswith("}\n")
        assert found["$id"] == f"agent-runtime/{name}/v1"
        assert found["$schema"] == "http://json-schema.org/draft-07/schema#"
        assert found["examples"]
        checker = jsonschema_rs.Draft7Validator(found, validate_formats=True)
        assert all(checker.is_valid(example) for example in found["examples"]), name
        assert not any(checker.is_valid(example | {"zzz": 1}) for example in found["examples"]), name


@pytest.mark.parametrize("name", [name for name in NAMES if name != "adapter.config"])
def test_every_exported_schema_is_closed_at_the_top(name):
    assert schema(name)["additionalProperties"] is False


def test_the_members_of_the_one_union_are_closed():
    members = [part["then"]["$ref"].rpartition("/")[2] for part in schema("adapter.config")["allOf"]]

    assert len(members) == 5
    assert all(schema("adapter.config")["definitions"][each]["additionalProperties"] is False for each in members)


def test_the_types_name_every_record(exported):
    types = (exported / "records.ts").read_text(encoding="utf-8")

    for name in RECORDS:
        assert f"export interface {schema(name)['title']}" in types or f"export type {schema(name)['title']}" in types


def test_the_types_can_be_left_out(shell):
    done = shell.run("schema", "export", "out", "--no-typescript")

    assert done.out == f"wrote {len(NAMES)} schemas to out\n"
    assert not (shell.folder / "out/records.ts").exists()


def test_an_export_over_a_file_is_one_clear_error(shell):
    (shell.folder / "taken").write_text("mine")

    done = shell.run("schema", "export", "taken")

    assert done.code == 1
    assert done.err == "error: cannot write into taken: file exists\n  hint: name a folder that can be written\n"
    assert (shell.folder / "taken").read_text() == "mine"


# Check.

FILES = {
    "intent.json": json.dumps(INTENT),
    "intent.toml": 'task_type = "t"\nsource = "s"\n[payload]\n',
    "intent.yaml": "task_type: t\nsource: s\npayload: {}\n",
    "intent.yml": "task_type: t\nsource: s\npayload: {}\n",
}


@pytest.mark.parametrize("file", FILES)
def test_a_file_that_fits_is_said_to(shell, file):
    (shell.folder / file).write_text(FILES[file])

    done = shell.run("schema", "check", file, "--as", "task.intent")

    assert (done.code, done.out, done.err) == (0, f"{file} is a valid task.intent\n", "")


BAD = {
    "bad.json": '{\n  "task_type": "t",\n  "sorce": "s",\n  "payload": []\n}\n',
    "bad.toml": 'task_type = "t"\n\nsorce = "s"\npayload = []\n',
    "bad.yaml": "task_type: t\n\nsorce: s\npayload: []\n",
}
PLACES = {
    "bad.json": ["1:1", "3:3", "4:14"],
    "bad.toml": ["1:1", "3:1", "4:11"],
    "bad.yaml": ["1:1", "3:1", "4:10"],
}


@pytest.mark.parametrize("file", BAD)
def test_a_file_that_does_not_fit_is_told_place_by_place(shell, file):
    (shell.folder / file).write_text(BAD[file])

    done = shell.run("schema", "check", file, "--as", "task.intent")

    first, second, third = PLACES[file]
    assert done.code == 1
    assert done.out == ""
    assert done.err == (
        f"{file}:{first}: error[missing-key]: missing key `source`\n"
        f"{file}:{second}: error[unknown-key]: unknown key `sorce`\n"
        "  hint: did you mean `source`?\n"
        f"{file}:{third}: error[wrong-type]: `payload` must be an object, not a list\n"
    )


def test_stdin_is_json(shell):
    (shell.folder / "in").write_text(json.dumps(INTENT))

    with (shell.folder / "in").open("rb") as stdin:
        done = shell.spawn("schema", "check", "-", "--as", "task.intent", stdin=stdin)

    assert (done.code, done.out, done.err) == (0, "<stdin> is a valid task.intent\n", "")


@pytest.mark.parametrize(
    ("raw", "error"),
    [
        pytest.param(
            b'{"task_type": 5}', "<stdin>:1:15: error[wrong-type]: `task_type` must be a string", id="a-wrong-type"
        ),
        pytest.param(b"{", "<stdin>:1:2: error[syntax]: ", id="half-an-object"),
        pytest.param(b"", "<stdin>:1:1: error[syntax]: ", id="nothing"),
        pytest.param(
            b'{"a": 1, "a": 2}', "<stdin>:1:10: error[duplicate-key]: the key `a` is written twice", id="twice"
        ),
        pytest.param(b'"\xff"', "error: stdin is not UTF-8", id="not-utf-8"),
        pytest.param(b'{"a": NaN}', "<stdin>:1:7: error[wrong-value]: must be a finite number", id="not-a-number"),
    ],
)
def test_stdin_that_does_not_fit_is_told(shell, raw, error):
    (shell.folder / "in").write_bytes(raw)

    with (shell.folder / "in").open("rb") as stdin:
        done = shell.spawn("schema", "check", "-", "--as", "task.intent", stdin=stdin)

    assert done.code == 1
    assert error in done.err
    assert done.raw == b""


def test_an_older_dialect_is_read_with_one_warning(shell):
    (shell.folder / "old.json").write_text('{"kind": "t", "source": "s", "payload": {}, "requested_profile": "p"}')

    done = shell.run("schema", "check", "old.json", "--as", "task.intent")

    assert (done.code, done.out) == (0, "old.json is a valid task.intent\n")
    assert done.err == (
        "old.json:1:1: warning[dialect]: written in an older dialect: "
        "`kind` is now `task_type`, `requested_profile` is now `requested_profile_id`\n"
    )


@pytest.mark.parametrize("name", NAMES)
def test_every_example_of_every_schema_passes_the_check(shell, name):
    for number, example in enumerate(schema(name)["examples"]):
        (shell.folder / f"{number}.json").write_text(json.dumps(example))

        done = shell.run("schema", "check", f"{number}.json", "--as", name)

        assert (done.code, done.err) == (0, "")


def test_a_file_of_no_known_format_is_told(shell):
    (shell.folder / "intent.txt").write_text("x")

    done = shell.run("schema", "check", "intent.txt", "--as", "task.intent")

    assert done.code == 1
    assert done.err.startswith("intent.txt: error[syntax]: cannot tell its format from the ending `.txt`\n")


# Diff.

OLD = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "type": "object",
    "properties": {"a": {"type": "string"}},
    "required": ["a"],
    "additionalProperties": False,
}
NEW = {
    "the-same": (OLD, 0),
    "another-optional-key": (OLD | {"properties": OLD["properties"] | {"b": {"type": "integer"}}}, 0),
    "nothing-required": (OLD | {"required": []}, 0),
    "a-wider-type": (OLD | {"properties": {"a": {"type": ["string", "null"]}}}, 0),
    "another-required-key": (
        OLD | {"properties": OLD["properties"] | {"b": {"type": "integer"}}, "required": ["a", "b"]},
        2,
    ),
    "a-key-taken-away": (OLD | {"properties": {}, "required": []}, 2),
    "a-narrower-type": (OLD | {"properties": {"a": {"type": "string", "maxLength": 5}}}, 2),
    "another-type": (OLD | {"properties": {"a": {"type": "integer"}}}, 2),
}


@pytest.mark.parametrize("case", NEW)
def test_a_difference_breaks_somebody_or_nobody(shell, case):
    new, code = NEW[case]
    (shell.folder / "old.json").write_text(json.dumps(OLD))
    (shell.folder / "new.json").write_text(json.dumps(new))

    done = shell.run("schema", "diff", "old.json", "new.json")
    told = json.loads(shell.run("schema", "diff", "old.json", "new.json", "--json").out)

    assert done.code == code
    assert told["ok"] is (code == 0)
    assert (done.out == "no changes\n") == (case == "the-same") == (told["changes"] == [])
    assert done.err == ""


def test_a_published_schema_is_compared_by_its_name(shell, exported):
    same = shell.run("schema", "diff", exported / "task.intent.v1.json", "task.intent")
    other = shell.run("schema", "diff", "task.intent", "task.record")

    assert (same.code, same.out) == (0, "no changes\n")
    assert other.code == 2


def test_whole_folders_are_compared(shell, exported):
    before = shell.folder / "before"
    before.mkdir()
    for path in exported.glob("*.json"):
        (before / path.name).write_bytes(path.read_bytes())
    changed = json.loads((exported / "wallet.identity.v1.json").read_text())
    changed["required"].append("network")
    (exported / "wallet.identity.v1.json").write_text(json.dumps(changed))

    done = shell.run("schema", "diff", "before", "out/deep", "--json")

    assert done.code == 2
    assert {each["schema"] for each in json.loads(done.out)["changes"]} == {"wallet.identity.v1.json"}


def test_a_schema_that_was_published_is_never_missed(shell, exported):
    shell.run("schema", "export", "after")
    (shell.folder / "after/task.intent.v1.json").unlink()

    done = shell.run("schema", "diff", exported, "after")

    assert done.code == 1
    assert done.err == (
        "error: after lacks task.intent.v1.json\n  hint: a published schema is never removed; add a /v2 beside it\n"
    )


@pytest.mark.parametrize("words", [["nope", "task.intent"], ["task.intent", "nope"]], ids=["old", "new"])
def test_a_schema_that_is_not_there_is_yours_to_fix(shell, words):
    done = shell.run("schema", "diff", *words)

    assert done.code == 1
    assert "nope" in done.err
    assert done.out == ""
