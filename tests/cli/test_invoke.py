"""`kei-runtime invoke` and `keisei atom invoke`: the envelope, the exit codes, streams, signals, secrets, the row."""

import io
import json
import os
import signal
import subprocess
import sys
import threading
import time
from types import SimpleNamespace

import pytest

from keisei.cli.invoke import Interrupt, hearing
from keisei.cli.primitive_call import called
from keisei.records.error import WorldFault
from keisei.settings import read_settings
from keisei.store.sqlite_store import SqliteStore
from keisei.wiring.atom_runtime import open_runtime
from tests.cli.shell import BIN
from tests.workers.atom import is_alive, python_program

PAGE = """---
atom: {package}::{verb}
kind: {kind}
version: 0.1.0
input: {{schema: schemas/in.json}}
output: {{schema: schemas/out.json}}
errors: [{{code: Full, description: It is full.}}]
side_effects: []
idempotent: false
stability: experimental
timeout_ms: 20000
---
# {package}::{verb}

Does it.
"""
DRAFT = "http://json-schema.org/draft-07/schema#"
INPUT = {
    "$schema": DRAFT,
    "type": "object",
    "properties": {"password": {"type": "string", "writeOnly": True, "minLength": 12}},
    "examples": [{}],
}
OUTPUT = {"$schema": DRAFT, "type": "object", "examples": [{}]}
SECRET, TOKEN = "correct-horse-battery", "tok-0123456789"
VERBS = {
    "echo": "return input",
    "full": "raise context.error('Full', 'no room')",
    "slip": "raise ValueError('boo')",
    "lie": "return [1]",
    "crash": "import os; os._exit(7)",
    "wait": "import time; time.sleep(60)",
    "tell": "import os\n    print(input['password'])\n    raise OSError(input['password'] + os.environ['POT_TOKEN'])",
    "work": "import os, pathlib\n    pathlib.Path(input['mark']).write_text('done')\n    return {}",
}
STREAMS = {
    "few": "for number in range(3):\n        yield {'n': number}",
    "slow": (
        "import os, pathlib, time\n    mark = pathlib.Path(input['mark'])\n    try:\n"
        "        yield {'pid': os.getpid()}\n        mark.with_suffix('.begun').touch()\n        time.sleep(60)\n"
        "    finally:\n        mark.touch()"
    ),
    "endless": (
        "import itertools, pathlib\n    try:\n        for n in itertools.count():\n            yield {'n': n}\n"
        "    finally:\n        pathlib.Path(input['mark']).touch()"
    ),
}
PROGRAM = """
import json, os, pathlib, sys, time
given = json.load(sys.stdin)
if "mark" in given:
    pathlib.Path(given["mark"]).write_text(str(os.getpid()))
    time.sleep(60)
sys.stderr.write("Full: no room for " + given.get("password", "it") + os.linesep)
sys.exit(2)
"""


class Pot:
    """A root with one package of Python and one of a program, and the command."""

    def __init__(self, shell):
        self.shell = shell
        for name in [name for name in os.environ if name.startswith(("KEI_", "KEISEI_"))]:
            shell._monkeypatch.delenv(name)
        shell.setenv("XDG_STATE_HOME", shell.home / "state")
        shell.setenv("POT_TOKEN", TOKEN)
        self.root = shell.folder_of("root")
        self.mark = shell.folder / "mark"
        kinds = dict.fromkeys(VERBS, "transform") | dict.fromkeys(STREAMS, "stream")
        self._package("pot", "pyproject.toml", "[project]\nversion = '0.1.0'\n[tool.keisei]\n", kinds)
        self._package("jug", "Cargo.toml", "[package]\nversion='0.1.0'\n[package.metadata.keisei]\n", {"do": "command"})
        for verb, body in (VERBS | STREAMS).items():
            code = f"def run(input, context):\n    {body}\n"
            (self.root / "pot" / "atoms" / f"{verb}.py").write_text(code)
        self.bin = shell.folder_of("bin")
        (self.bin / "jug").write_text(python_program(PROGRAM))
        (self.bin / "jug").chmod(0o755)
        shell.setenv("KEI_RUNTIME_BIN_DIR", self.bin)

    def _package(self, name, metadata, head, kinds):
        atoms = self.root / name / "atoms"
        (atoms / "schemas").mkdir(parents=True)
        text = head.replace("version", f'name = "{name}"\nversion', 1) + 'backend = "memory"\nenv = ["POT_TOKEN"]\n'
        (self.root / name / metadata).write_text(text)
        (atoms / "schemas" / "in.json").write_text(json.dumps(INPUT))
        (atoms / "schemas" / "out.json").write_text(json.dumps(OUTPUT))
        for verb, kind in kinds.items():
            (atoms / f"{verb}.md").write_text(PAGE.format(package=name, verb=verb, kind=kind))

    def run(self, verb, *words, given=None):
        """The exit code, the JSON lines of stdout and what stands on stderr."""
        words = (*words, "--input", json.dumps(given)) if given is not None else words
        done = self.shell.run("invoke", verb, *words, "--root", self.root, command="kei-runtime")
        return done.code, [json.loads(line) for line in done.out.splitlines()], done.err

    def start(self, verb, given):
        """The real program, without waiting for it."""
        words = [BIN / "kei-runtime", "invoke", verb, "--input", json.dumps(given), "--root", self.root]
        # a shell that starts something in the background has it ignore Ctrl-C
        heard = {"preexec_fn": lambda: signal.signal(signal.SIGINT, signal.default_int_handler)}
        return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **heard)

    def rows(self):
        """What the ledger says of calls, the first one first."""
        done = self.shell.run("ledger", "list", "--kind", "atom_invoked", "--json")
        return [row["body"] for row in json.loads(done.out)]


@pytest.fixture
def pot(shell):
    return Pot(shell)


def wait_for(path):
    until = time.monotonic() + 20
    while not path.exists():
        assert time.monotonic() < until, f"{path.name} never came"
        time.sleep(0.01)


def test_a_result_stands_in_one_envelope_and_in_one_row(pot):
    code, (told,), err = pot.run("pot::echo", given={"a": "ü"})

    assert (code, err) == (0, "")
    assert told["result"] == {"a": "ü"}
    assert set(told["metadata"]) == {"duration_ms", "atom", "invocation_id"}
    (row,) = pot.rows()
    assert (row["atom"], row["exit_code"]) == ("pot::echo", 0)
    assert row["invocation_id"] == told["metadata"]["invocation_id"]


def test_keisei_atom_invoke_is_the_same(pot):
    done = pot.shell.run("atom", "invoke", "pot::echo", "--root", pot.root)

    assert json.loads(done.out)["result"] == {}


@pytest.mark.parametrize(
    ("verb", "words", "code", "error"),
    [
        ("pot::full", (), 2, ("atom", "Full")),
        ("pot::slip", (), 2, ("atom", None)),
        ("pot::lie", (), 2, ("schema-out", None)),
        ("pot::echo", ("--input", "[]"), 2, ("schema-in", None)),
        ("pot::crash", (), 1, ("killed", None)),
        ("pot::wait", ("--timeout-ms", "50"), 5, ("timeout", None)),
        ("jug::do", (), 2, ("atom", "Full")),
    ],
)
def test_every_failure_has_its_exit_code_and_its_row(pot, verb, words, code, error):
    ended, (told,), err = pot.run(verb, *words)

    assert ended == code
    assert (told["error"]["kind"], told["error"]["code"]) == error
    assert "result" not in told
    assert err.splitlines()[-1].startswith("error: ")
    assert err.splitlines()[-1].count(verb) == 1
    (row,) = pot.rows()
    assert (row["exit_code"], row["error"]["kind"]) == (code, error[0])


def test_a_traceback_begins_in_the_atom(pot):
    _, _, err = pot.run("pot::slip")

    assert "slip.py" in err
    assert "host.py" not in err


def test_a_missing_program_is_127_and_a_missing_atom_2_without_a_row(pot):
    (pot.bin / "jug").unlink()

    code, (told,), _ = pot.run("jug::do")
    assert (code, told["error"]["kind"]) == (127, "io")
    code, (told,), err = pot.run("pot::ech")
    assert (code, told) == (2, {"error": {"kind": "usage", "code": None, "message": "there is no atom `pot::ech`"}})
    assert "did you mean `pot::echo`?" in err
    assert len(pot.rows()) == 1


@pytest.mark.parametrize("given", ["", "{", "NaN", '{"a": 1, "a": 2}', "@", "@nowhere.json", "[" * 9_000])
def test_what_is_no_json_calls_nothing(pot, given):
    code, (told,), err = pot.run("pot::echo", "--input", given)

    assert (code, told["error"]["kind"]) == (1, "usage")
    assert told["error"]["message"] in err
    assert err.startswith("error: ")
    assert "Traceback" not in err
    assert pot.rows() == []


def test_a_call_in_an_attempt_is_the_attempt_s(pot):
    pot.shell.setenv("KEISEI_ATTEMPT_ID", "att-1")
    pot.run("pot::echo")

    (row,) = json.loads(pot.shell.run("ledger", "list", "--kind", "atom_invoked", "--json").out)
    assert (row["actor"], row["body"]["attempt_id"]) == ("attempt:att-1", "att-1")


def test_a_file_that_is_no_program_hides_none(pot):
    jug = pot.bin / "jug"
    jug.chmod(0o644)
    code, (told,), _ = pot.run("jug::do")
    assert (code, told["error"]["kind"]) == (1, "io")
    assert "may not be executed" in told["error"]["message"]

    other = pot.shell.folder_of("other") / "jug"
    other.write_text(jug.read_text())
    other.chmod(0o755)
    pot.shell.setenv("PATH", f"{other.parent}:{os.environ['PATH']}")
    assert pot.run("jug::do")[1][0]["error"]["code"] == "Full"


def test_input_comes_from_a_file_and_from_stdin(pot, monkeypatch):
    (pot.shell.folder / "in.json").write_text('{"from": "file"}')
    assert pot.run("pot::echo", "--input", "@in.json")[1][0]["result"] == {"from": "file"}

    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b'{"from": "stdin"}')))
    assert pot.run("pot::echo", "--input", "-")[1][0]["result"] == {"from": "stdin"}


def test_a_stream_is_a_line_an_item_and_one_row(pot):
    code, lines, _ = pot.run("pot::few")

    assert code == 0
    assert lines[:3] == [{"item": {"n": number}} for number in range(3)]
    assert lines[3]["metadata"]["items"] == 3
    (row,) = pot.rows()
    assert row["exit_code"] == 0


@pytest.mark.parametrize("verb", ["pot::tell", "jug::do"])
def test_secrets_stand_nowhere(pot, verb):
    done = pot.shell.run(
        "invoke", verb, "--input", json.dumps({"password": SECRET}), "--root", pot.root, command="kei-runtime"
    )

    assert done.code == 2
    assert "[redacted]" in done.out
    rows = json.dumps(pot.rows())
    for text in (done.out, done.err, rows):
        assert SECRET not in text
        assert TOKEN not in text
    for file in (pot.shell.home / "state").rglob("*"):
        assert file.is_dir() or SECRET.encode() not in file.read_bytes()


def test_a_secret_that_does_not_fit_is_told_in_whole_words(pot):
    _, (told,), err = pot.run("pot::tell", given={"password": "too-short"})

    assert told["error"]["message"] == "password: must be at least 12 characters long"
    assert "too-short" not in err + json.dumps(pot.rows())


def test_a_working_directory_that_is_gone_is_told(pot):
    pot.shell.cd(pot.shell.folder_of("gone"))
    (pot.shell.folder / "gone").rmdir()

    for done in (pot.run("pot::echo"), pot.shell.run("status", "--root", pot.root, command="kei-migrate")):
        assert done[0] == 1
        assert "the working directory does not exist any more" in done[2]


def test_without_a_store_nothing_is_called(pot):
    (pot.shell.home / "state").write_text("no folder")

    code, told, err = pot.run("pot::work", given={"mark": str(pot.mark)})

    assert (code, told) == (1, [])
    assert err.startswith("error: ")
    assert not pot.mark.exists()


def test_a_row_that_cannot_be_written_does_not_lose_the_result(pot, monkeypatch):
    def full(*_):
        raise WorldFault("the disk is full")

    monkeypatch.setattr(SqliteStore, "append", full)
    code, (told,), err = pot.run("pot::work", given={"mark": str(pot.mark)})

    assert (code, told["result"], told["error"]["kind"]) == (1, {}, "io")
    assert "the atom did its work, but its row could not be written: the disk is full" in err
    assert pot.mark.read_text() == "done"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
def test_a_stream_that_is_interrupted_cleans_up_and_has_its_row(pot, number):
    with pot.start("pot::slow", {"mark": str(pot.mark)}) as process:
        pid = json.loads(process.stdout.readline())["item"]["pid"]
        wait_for(pot.mark.with_suffix(".begun"))
        process.send_signal(number)
        out, err = process.communicate(timeout=20)

    assert (process.returncode, json.loads(out)["error"]["kind"]) == (130, "killed")
    assert "canceled" in err
    assert pot.mark.exists()
    assert not is_alive(pid)
    assert [row["exit_code"] for row in pot.rows()] == [130]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_call_that_is_interrupted_leaves_no_program_and_has_its_row(pot, number):
    with pot.start("jug::do", {"mark": str(pot.mark)}) as process:
        wait_for(pot.mark)
        while not (pid := pot.mark.read_text()):
            time.sleep(0.01)
        process.send_signal(number)
        out, _ = process.communicate(timeout=20)

    assert (process.returncode, json.loads(out)["error"]["kind"]) == (130, "killed")
    assert not is_alive(pid)
    assert [row["exit_code"] for row in pot.rows()] == [130]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_package_s_own_program_that_is_told_to_end_has_its_row_too(pot, number, monkeypatch):
    def ask():
        wait_for(pot.mark)
        os.kill(os.getpid(), number)

    monkeypatch.chdir(pot.shell.folder)
    asking = threading.Thread(target=ask)
    with (
        hearing(Interrupt()),  # fails the test where nobody else hears it
        open_runtime(read_settings(), actor="operator:ann", roots=(pot.root,)) as runtime,
    ):
        asking.start()
        told = called(runtime, "jug::do", {"mark": str(pot.mark)})
        asking.join()

    assert (told.exit_code, told.complaint) == (130, "jug::do was canceled")
    assert not is_alive(pot.mark.read_text())
    assert [row["exit_code"] for row in pot.rows()] == [130]


def test_a_reader_that_goes_away_ends_the_stream(pot):
    with pot.start("pot::endless", {"mark": str(pot.mark)}) as process:
        process.stdout.readline()
        process.stdout.close()
        _, err = process.communicate(timeout=20)

    assert "Traceback" not in err
    assert pot.mark.exists()
    assert [row["exit_code"] for row in pot.rows()] == [130]
