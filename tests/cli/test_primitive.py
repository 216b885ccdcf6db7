"""The program of a package: options from schemas, help from pages, and calls like all calls."""

import json
import os
import sqlite3
import subprocess
import sys
from types import SimpleNamespace

import click
import pytest

from keisei.cli.primitive_call import ended
from keisei.cli.primitive_field import fields_of, given_of, parameters
from keisei.records.invocation import InvocationError


class Person:
    """Somebody with a folder, and nothing of the developer's own."""

    def __init__(self, shell):
        self.shell = shell
        for name in [name for name in os.environ if name.startswith(("KEI_", "KEISEI_"))]:
            shell._monkeypatch.delenv(name)
        shell.setenv("XDG_STATE_HOME", shell.home / "state")
        shell.setenv("XDG_RUNTIME_DIR", shell.folder_of("runtime"))

    def run(self, *words, command="kei-task"):
        return self.shell.run(*words, command=command)

    def json(self, *words, command="kei-task"):
        done = self.run(*words, command=command)
        assert (done.code, done.err) == (0, "")
        return json.loads(done.out)

    def rows(self):
        listed = self.shell.run("ledger", "list", "--kind", "atom_invoked", "--json")
        return [(row["subject"], row["body"]["exit_code"]) for row in json.loads(listed.out)]


@pytest.fixture
def person(shell):
    return Person(shell)


def test_the_originals_command_lines_run(person):
    first = person.json("create", "Fix auth bug", "--description", "Token rotation", "--priority", "high")
    person.json("create", "--title", "Rotate keys")

    assert set(first) == {"id", "created_at"}
    assert person.json("add-dependency", "1", "2", "--dep-type", "blocks")["added"] is True
    assert [task["id"] for task in person.json("dependency-chain", "1")["tasks"]] == [2]
    assert person.json("milestone", "v1")["id"] == 1
    assert person.json("link-milestone", "1", "1")["milestone_id"] == 1
    assert [task["id"] for task in person.json("search", "auth", "--limit", "5")["tasks"]] == [1]
    assert person.run("graph").out == "1 Fix auth bug -> 2 Rotate keys\n"
    assert person.json("progress", "1", command="kei-milestone")["total"] == 1
    assert [atom for atom, _ in person.rows()].count("kei-task::create") == 2
    assert all(code == 0 for _, code in person.rows())


def test_a_declared_error_is_one_sentence_and_2(person):
    person.json("create", "A")

    taken = person.run("create", "A")
    unknown = person.run("add-dependency", "1", "9")
    loud = person.run("create", "B", "--priority", "High")

    assert (taken.code, taken.out) == (2, "")
    assert taken.err.startswith("error: DuplicateTitle: ")
    assert unknown.err == "error: TaskNotFound: task 9 does not exist\n"
    assert (loud.code, loud.err) == (
        2,
        "error: InvalidPriority: Priority must be one of: low, medium, high, critical\n",
    )
    assert [code for _, code in person.rows()].count(2) == 3


def test_a_declared_error_is_told_for_its_own_field_alone():
    word = {"type": "string", "enum": ["a", "b"]}
    schema = {"type": "object", "properties": {"text": {"type": "string"}, "count": {"type": "integer"}, "mode": word}}
    errors = [SimpleNamespace(code=f"Invalid{name}", description="it is bad") for name in ("Text", "Mode")]
    spec = SimpleNamespace(input_schema=schema, manifest=SimpleNamespace(errors=errors))
    failed = SimpleNamespace(exit_code=2, error=InvocationError(kind="schema-in", message="count: must be an integer"))

    def told(given):
        return ended(SimpleNamespace(input=given, spec=spec), failed).complaint

    assert told({"text": "fine", "count": "x"}) == "count: must be an integer"
    assert told({"text": "fine", "count": "x", "mode": "a"}) == "count: must be an integer"
    assert told({"text": "fine", "mode": "c"}) == "InvalidMode: it is bad"


def test_a_python_package_answers_as_programs_do(person):
    def ask(verb, text):
        done = person.run("run-atom", verb, "--input", text)
        return done.code, done.out, done.err

    words = [sys.executable, "-c", "import sys; from keisei.cli import kei_task; sys.exit(kei_task())"]
    words += ["run-atom", "create"]
    done = subprocess.run(words, input='{"title": "A"}', capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr, json.loads(done.stdout)["id"]) == (0, "", 1)
    assert ask("create", '{"title": "A"}') == (
        2,
        "",
        "DuplicateTitle: task 1 without a milestone already has the title 'A'\n",
    )
    assert ask("create", '{"title": "A", "priority": "High"}')[2].startswith("InvalidPriority: ")
    assert ask("creat", "{}")[0] == 2
    assert ask("create", "{")[0] == 1


def test_input_and_options_make_one_input(person):
    person.shell.folder_of(".").joinpath("task.json").write_text('{"title": "from a file", "priority": "low"}')

    made = person.json("create", "--input", "@task.json", "--title", "by option")

    task = person.json("get", made["id"])
    assert (task["title"], task["priority"]) == ("by option", "low")
    assert person.json("update", "--input", '{"id": 1, "assigned_to": null}')["assigned_to"] is None
    assert person.run("create", "--input", "[1]").code == 2
    assert person.run("create", "--input", "[1]", "--title", "A").code == 1


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["create"], "Missing TITLE"),
        (["create", "A", "B"], "unexpected extra argument (B)"),
        (["create", "A", "--milestone-id", "x"], "'x' is not a whole number"),
        (["add-dependency", "1", "NaN"], "'NaN' is not a whole number"),
        (["add-dependency", "1", "true"], "'true' is not a whole number"),
        (["creat", "A"], "No such command 'creat'. Did you mean `create`?"),
        (["frobnicate"], "No such command 'frobnicate'. The package is at `"),
        (["create", "A", "--colour", "red"], "No such option"),
        (["create", "--input", "{"], "it is not JSON"),
    ],
)
def test_a_wrong_command_line_is_told_and_leaves_no_row(person, words, told):
    done = person.run(*words)

    assert (done.code, done.out) == (1, "")
    assert told in done.err
    assert person.rows() == []


def test_another_database_is_used_for_one_command(person, tmp_path):
    person.json("--db", tmp_path / "another one.sqlite", "create", "A")

    assert person.json("list")["tasks"] == []
    with sqlite3.connect(tmp_path / "another one.sqlite") as db:
        assert db.execute("SELECT title FROM tasks").fetchall() == [("A",)]
    db.close()
    assert "KEI_TASK_DB" not in os.environ


def test_the_help_is_the_page(person):
    group, verb = person.run("--help").out, person.run("create", "--help").out

    for name in ("create", "add-dependency", "search", "graph", "run-atom"):
        assert f"  {name} " in group
    assert "Usage: kei-task create [OPTIONS] [TITLE]" in verb
    for words in ("--milestone-id INTEGER", "low|medium|high|critical", "DuplicateTitle", "case-sensitive"):
        assert words in verb
    assert '    --title "Fix auth bug" \\\n' in verb
    assert person.rows() == []


def test_a_graph_is_drawn_whatever_titles_say(person):
    person.json("create", 'say "hi"] --> x')
    person.json("create", "B")
    person.json("add-dependency", "1", "2")

    mermaid = person.run("graph", "--format", "mermaid").out
    assert mermaid.splitlines()[1] == '  t1["1 say #34;hi#34;#93; --#62; x"]'
    assert mermaid.splitlines()[-1] == "  t1 --> t2"
    assert 't1 [label="1 say \\"hi\\"] --> x"];' in person.run("graph", "--format", "dot").out
    assert person.json("graph", "--format", "json")["dependencies"] == [[1, 2]]


SCHEMA = {
    "allOf": [{"$ref": "#/definitions/titled"}],
    "required": ["shape", "count"],
    "properties": {
        "count": {"type": "integer"},
        "ratio": {"type": ["number", "null"]},
        "is_loud": {"type": "boolean", "description": "Whether\nit shouts."},
        "no_is_loud": {"type": "string"},
        "tags": {"type": "array", "items": {"enum": ["a", "b"]}},
        "shape": {"type": "object"},
        "input": {"type": "string"},
        "with space": {"type": "string"},
        "a_b": {"anyOf": [{"$ref": "#/definitions/word"}, {"type": "null"}]},
        "a-b": {"type": "string"},
        "any": True,
    },
    "definitions": {
        "titled": {"required": ["title"], "properties": {"title": {"$ref": "#/definitions/word"}}},
        "word": {"type": "string", "enum": ["x", "y"], "description": "One of two."},
    },
}


def parsed(*words):
    fields = fields_of(SCHEMA)
    with click.Command("verb", params=parameters(fields)).make_context("verb", list(words)) as context:
        options = dict(context.params)
    return given_of(fields, options.pop("words"), options)


def test_fields_come_from_any_schema():
    fields = {field.name: field for field in fields_of(SCHEMA)}

    assert list(fields) == ["shape", "count", "title", "ratio", "is_loud", "tags", "a_b", "any"]
    assert {name: (field.kind, field.many, field.required) for name, field in fields.items()} == {
        "shape": ("json", False, True),
        "count": ("integer", False, True),
        "title": ("text", False, True),
        "ratio": ("number", False, False),
        "is_loud": ("flag", False, False),
        "tags": ("text", True, False),
        "a_b": ("text", False, False),
        "any": ("json", False, False),
    }
    assert (fields["a_b"].choices, fields["title"].help, fields["is_loud"].help) == (
        ("x", "y"),
        "One of two.",
        "Whether it shouts.",
    )


def test_values_are_what_their_schema_says():
    words = ("3", "x", "--shape", '{"a": [1]}', "--ratio", "1e2", "--no-is-loud", "--tags", "a", "--tags", "b")

    assert parsed(*words) == {
        "count": 3,
        "title": "x",
        "shape": {"a": [1]},
        "ratio": 100.0,
        "is_loud": False,
        "tags": ["a", "b"],
    }
    assert parsed("--count", "4", "x", "--any", "null") == {"count": 4, "title": "x", "any": None}


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"properties": 3, "required": 4},
        {"properties": {"a": {"$ref": "#/nowhere"}, "b": {"$ref": 7}, "c": None, "d": {"anyOf": [{"anyOf": 1}]}}},
        {"allOf": [{"$ref": "#"}]},
        {"properties": {"a": {"$ref": "#/properties/a"}}},
        {"properties": {"a": {"type": "array", "items": [{"type": "string"}]}, "b": {"enum": [1, None]}}},
    ],
)
def test_a_strange_schema_is_no_error(schema):
    assert parameters(fields_of(schema)) is not None
