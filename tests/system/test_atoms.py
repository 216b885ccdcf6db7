"""Atoms, as people call them: the seed's own examples letter by letter, a crate of the originals, wrong input."""

import json
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import NamedTuple

import pytest

BIN = Path(sys.executable).parent
DAG = """\
[[steps]]
atom = "kei-task::create"
input = { title = "X" }
capture_as = "task"

[[steps]]
atom = "kei-task::add-dependency"
input = { parent = "$task.id", child = 17 }
"""
"""The seed's dag.toml."""


class Done(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def data(self):
        return json.loads(self.out)


class Desk:
    """A person at a shell of their own: nothing of the developer's shows."""

    def __init__(self, folder):
        self.folder = folder / "a desk"
        self.folder.mkdir()
        self.env = {
            "PATH": f"{BIN}:/usr/local/bin:/usr/bin:/bin",
            "HOME": str(folder),
            "XDG_STATE_HOME": str(folder / "state"),
            "LANG": "C.UTF-8",
        }

    def run(self, line, stdin=""):
        """One line of a shell, as it would be typed."""
        done = subprocess.run(
            ["/bin/sh", "-c", line],
            cwd=self.folder,
            env=self.env,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        return Done(done.returncode, done.stdout, done.stderr)

    def rows(self):
        """The ledger's rows of calls."""
        return [row["body"] for row in self.run("keisei ledger list --kind atom_invoked --json --limit 1000").data]

    def write(self, path, text):
        place = self.folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(textwrap.dedent(text))
        return place


@pytest.fixture
def desk(tmp_path):
    return Desk(tmp_path)


def test_the_seeds_call_runs_letter_by_letter(desk):
    done = desk.run("""kei-runtime invoke kei-task::create --input '{"title":"Fix bug"}'""")

    assert done.code == 0, done.err
    assert done.data["result"]["id"] == 1
    assert done.data["metadata"]["atom"] == "kei-task::create"
    assert done.data["metadata"]["duration_ms"] > 0
    (row,) = desk.rows()
    assert row["invocation_id"] == done.data["metadata"]["invocation_id"]
    assert (row["exit_code"], row["error"]) == (0, None)
    assert "Fix bug" not in json.dumps(row)


def test_the_seeds_command_line_runs_letter_by_letter(desk):
    done = desk.run("""kei-task create \\
      --title "Fix auth bug" \\
      --priority high \\
      --description "Token rotation fails on leap second"
    """)

    assert done.code == 0, done.err
    assert set(done.data) >= {"id", "created_at"}
    assert len(desk.rows()) == 1


def test_the_seeds_list_runs_letter_by_letter(desk):
    everything = desk.run("kei-runtime list-atoms").out.splitlines()
    commands = desk.run("kei-runtime list-atoms --crate kei-task --kind command").out.splitlines()

    assert any(line.startswith("kei-task::create\t") for line in everything)
    assert [line.split("\t")[0] for line in everything] == sorted(line.split("\t")[0] for line in everything)
    assert any(line.startswith("kei-task::add-dependency\t") for line in commands)
    assert all(line.split("\t")[:2][1] == "command" for line in commands)


def test_the_seeds_pipe_with_its_child_runs_letter_by_letter(desk):
    for number in range(17):
        assert desk.run(f"kei-task create --title 'to-do {number}'").code == 0
    desk.write("dag.toml", DAG)

    done = desk.run("kei-runtime pipe dag.toml")

    assert done.code == 0, done.err
    assert [step["id"] for step in done.data["steps"]] == ["task", "step-2"]
    assert all(step["ok"] for step in done.data["steps"])
    assert done.data["steps"][0]["result"]["id"] == 18


def test_the_seeds_pipe_without_its_child_ends_with_a_declared_error(desk):
    desk.write("dag.toml", DAG)

    done = desk.run("kei-runtime pipe dag.toml")

    assert done.code == 2
    failed = done.data["steps"][1]
    assert (failed["ok"], failed["error"]["kind"], failed["error"]["code"]) == (False, "atom", "TaskNotFound")
    assert [row["exit_code"] for row in desk.rows()] == [0, 2]


FRAGMENT = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "$id": "keisei/fragments/titled.json",
    "type": "object",
    "required": ["title"],
    "properties": {"title": {"type": "string", "minLength": 1}},
}
ANSWERS = """\
#!/bin/sh
# A program in any language: JSON in, JSON out.
[ "$1" = run-atom ] || exit 64
case $2 in
keep) input=$(cat); case $input in *forbidden*) echo "NotAllowed: this title is not kept" >&2; exit 2 ;; esac
  echo "{\\"kept\\": $input, \\"invocation\\": \\"$KEISEI_INVOCATION_ID\\"}" ;;
*) echo "unknown verb $2" >&2; exit 2 ;;
esac
"""


def crate(desk):
    """A package in the originals' layout, with a schema that refers to a shared fragment."""
    home = "_primitives/_rust/kei-note"
    desk.write(
        f"{home}/Cargo.toml",
        """\
        [package]
        name = "kei-note"
        version = "0.22.3"
        edition = "2021"

        [package.metadata.keisei]
        backend = "filesystem"
        """,
    )
    page = """\
        ---
        atom: kei-note::keep
        kind: command
        version: "0.22.3"
        input:
          schema: schemas/keep-input.json
          example: { title: "Fix auth bug" }
        output:
          schema: schemas/keep-output.json
        errors:
          - code: NotAllowed
            http_analog: 403
            description: "The title may not be kept"
        side_effects:
          - { op: write, domain: fs }
        idempotent: false
        timeout_ms: 5000
        deprecated: null
        stability: stable
        keywords: [note]
        related: []
        ---

        # kei-note::keep

        Keeps a note.
        """
    desk.write(f"{home}/atoms/keep.md", page)
    draft = FRAGMENT["$schema"]
    desk.write("_schemas/fragments/titled.json", json.dumps(FRAGMENT | {"examples": [{"title": "A"}]}))
    inside = {
        "$schema": draft,
        "$id": "kei-note/atoms/schemas/keep-input.json",
        "allOf": [{"$ref": "../../../../../_schemas/fragments/titled.json"}],
        "examples": [{"title": "Fix auth bug"}],
    }
    outside = {
        "$schema": draft,
        "type": "object",
        "required": ["kept"],
        "properties": {"kept": {"type": "object"}, "invocation": {"type": "string"}},
        "examples": [{"kept": {"title": "Fix auth bug"}}],
    }
    desk.write(f"{home}/atoms/schemas/keep-input.json", json.dumps(inside))
    desk.write(f"{home}/atoms/schemas/keep-output.json", json.dumps(outside))


def test_a_crate_of_the_originals_is_listed_linted_and_called(desk):
    crate(desk)
    program = desk.write("bin/kei-note", ANSWERS)
    program.chmod(0o755)
    desk.env["KEI_RUNTIME_BIN_DIR"] = str(program.parent)

    listed = desk.run("kei-runtime list-atoms --root _primitives/_rust")
    linted = desk.run("kei-schema-lint --root _primitives/_rust")
    called = desk.run("""kei-runtime invoke kei-note::keep --input '{"title":"A"}'""")
    refused = desk.run("""kei-runtime invoke kei-note::keep --input '{"title":"forbidden"}'""")
    wrong = desk.run("""kei-runtime invoke kei-note::keep --input '{"title":""}'""")

    assert [line.split("\t")[0] for line in listed.out.splitlines()] == ["kei-note::keep"]
    assert (linted.code, linted.out.split("\t")[0]) == (0, "PASS"), linted.out
    assert called.code == 0, called.err
    assert called.data["result"] == {"kept": {"title": "A"}, "invocation": called.data["metadata"]["invocation_id"]}
    assert (refused.code, refused.data["error"]["code"]) == (2, "NotAllowed")
    assert (wrong.code, wrong.data["error"]["kind"]) == (2, "schema-in")


def test_a_missing_program_is_127_with_a_hint(desk):
    crate(desk)

    done = desk.run("""kei-runtime invoke kei-note::keep --input '{"title":"A"}'""")

    assert done.code == 127
    assert done.data["error"]["kind"] == "io"
    assert "kei-note" in done.err
    assert "KEI_RUNTIME_BIN_DIR" in done.err


def test_an_unknown_atom_is_2_with_the_nearest_name(desk):
    done = desk.run("kei-runtime invoke kei-task::creat --input '{}'")

    assert (done.code, done.data["error"]["kind"]) == (2, "usage")
    assert "kei-task::create" in done.err


@pytest.mark.parametrize("given", ["{", "@nowhere", '{"title": "a", "title": "b"}', '{"title": NaN}'])
def test_input_that_is_not_json_is_usage(desk, given):
    done = desk.run(f"kei-runtime invoke kei-task::create --input '{given}'")

    assert (done.code, done.data["error"]["kind"]) == (1, "usage")
    assert done.err.startswith("error: ")
    assert "Traceback" not in done.err
    assert desk.rows() == []


def test_an_unknown_atom_in_a_pipe_is_2_and_nothing_runs(desk):
    desk.write("dag.toml", DAG.replace("add-dependency", "add-dependancy"))

    done = desk.run("kei-runtime pipe dag.toml")

    assert done.code == 2
    assert "dag.toml:7" in done.err
    assert desk.rows() == []


def test_a_wrong_reference_is_told_before_anything_runs(desk):
    desk.write("dag.toml", DAG.replace("$task.id", "$task.uid"))

    done = desk.run("kei-runtime pipe dag.toml")

    assert done.code == 1
    assert "dag.toml:8" in done.err
    assert "id" in done.err
    assert "created_at" in done.err
    assert desk.rows() == []


def test_the_origins_dialect_runs(desk):
    desk.write(
        "dag.toml",
        """\
        [pipe]
        cache = { enabled = true, ttl_sec = 60 }

        [[steps]]
        id = "first"
        atom = "kei-task::create"
        kind = "command"
        input = { title = "one" }

        [[steps]]
        id = "second"
        atom = "kei-task::create"
        depends-on = ["first"]
        input = { title = "after ${first.result.id}" }

        [[steps]]
        id = "third"
        atom = "kei-task::add-dependency"
        input = { parent = "$first.result.id", child = "$second.result.id" }
        """,
    )

    done = desk.run("kei-runtime pipe dag.toml")

    assert done.code == 0, done.err
    assert [step["id"] for step in done.data["steps"]] == ["first", "second", "third"]
    assert desk.run("kei-task get 2").data["title"] == "after 1"
