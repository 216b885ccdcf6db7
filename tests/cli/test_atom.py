"""`keisei atom`: make an atom, see it, try it."""

import json
import os
import re
import signal
import socket
import stat
import threading
import time

import pytest

from keisei.cli.invoke import hearing
from keisei.records.confinement import Machine
from keisei.sandbox import machine
from keisei.sandbox.confine import level_of
from keisei.sandbox.machine import probe
from keisei.settings import read_settings
from keisei.wiring import atom_test
from keisei.wiring.atom_runtime import open_runtime
from keisei.wiring.atom_test import try_atoms

HELD = level_of(probe()) != "none"
confined = pytest.mark.skipif(not HELD, reason="this machine cannot confine a process")


@pytest.fixture
def project(shell):
    (shell.folder / "keisei.toml").write_text('[project]\nname = "shop"\n')
    shell.setenv("XDG_STATE_HOME", shell.folder / "state")
    shell.packages = shell.folder / ".keisei/primitives"
    return shell


def new(shell, atom="shop-price::round", *more):
    done = shell.run("atom", "new", atom, *more)
    assert (done.code, done.err) == (0, ""), done.err
    return done


def function(shell, text, package="shop-price", verb="round"):
    (shell.packages / package / "atoms" / f"{verb}.py").write_text(text)


def tried(shell, *words):
    done = shell.run("atom", "test", *words, "--json")
    return done.code, [
        (each["outcome"], (each.get("error") or {}).get("kind")) for each in json.loads(done.out)["tests"]
    ]


# --- new --------------------------------------------------------------------------------------------------------------


def test_a_new_atom_is_green_at_once_and_seen_by_everybody(project):
    done = new(project, "shop-price::round", "--kind", "transform", "--input-example", '{"amount": 1.005}')
    new(project, "shop-note::keep", "--backend", "sqlite")
    new(project, "shop-note::words", "--kind", "stream")

    assert "made .keisei/primitives/shop-price/atoms/round.md" in done.out
    assert "keisei atom test shop-price::round" in done.out
    assert project.run("lint", "atoms").out == "checked 2 packages: no errors, no warnings\n"
    assert "shop-price::round\ttransform\texperimental\t" in project.run("atom", "list").out
    assert tried(project) == (0, [("ok", None)] * 3)


def test_a_dry_run_shows_every_file_and_writes_none(project):
    new(project, "shop-price::round", "--lang", "rust")
    before = sorted(map(str, project.packages.rglob("*")))

    done = new(project, "shop-price::floor", "--dry-run")

    assert sorted(map(str, project.packages.rglob("*"))) == before
    assert "--- a/shop-price/src/atoms/mod.rs\n+++ b/shop-price/src/atoms/mod.rs\n" in done.out
    assert "+pub mod floor;\n" in done.out
    assert "--- /dev/null\n+++ b/shop-price/atoms/floor.md\n" in done.out


def test_new_tells_a_program_what_it_wrote(project):
    told = json.loads(new(project, "shop-price::round", "--json").out)
    shown = json.loads(new(project, "shop-price::floor", "--json", "--dry-run").out)

    assert (told["atom"], told["written"], shown["written"]) == ("shop-price::round", True, False)
    for each in told["files"]:
        with open(each["path"], encoding="utf-8") as file:  # noqa: PTH123 - as it was told
            assert (file.read(), each["new"]) == (each["content"], True)
    assert not any(os.path.lexists(each["path"]) for each in shown["files"])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["x::--help"], "is not an atom's id"),
        (["a::b", "--input-example", "{"], "is not JSON"),
        (["a::b", "--input-example", "[1]"], "is not an object"),
        (["a::b", "--input-example", '{"a":1,"a":2}'], "twice"),
        (["a::b", "--output-example", "NaN"], "is not JSON"),
        (["a::b", "--error", "nope"], "is not an error"),
        (["a::b", "--effect", "nope"], "is not an effect"),
        (["a::b", "--kind", "query", "--effect", "write:fs"], "a query only reads"),
        (["kei-task::undo"], "would hide all of its atoms"),
        ([f"a::{'b' * 70}"], "lint would not be green"),
    ],
    ids=["id", "json", "object", "twice", "nan", "error", "effect", "query", "hides", "long"],
)
def test_what_cannot_be_is_one_clear_error(project, words, said):
    done = project.run("atom", "new", *words)

    assert done.code == 1
    assert said in done.err
    assert "Traceback" not in done.err
    assert not project.packages.exists()


def test_without_a_project_it_says_what_to_do(shell):
    done = shell.run("atom", "new", "shop-price::round")
    named = shell.run("atom", "new", "shop-price::round", "--in", "mine")

    assert (done.code, named.code) == (1, 0)
    assert "--in DIR" in done.err
    assert "keisei atom test shop-price::round --root mine" in named.out
    assert (shell.folder / "mine/shop-price/atoms/round.md").is_file()


def test_a_folder_of_packages_that_is_a_symlink_is_not_written_into(project):
    project.folder_of("outside")
    project.folder_of(".keisei")
    project.packages.symlink_to(project.folder / "outside")

    done = project.run("atom", "new", "shop-price::round")

    assert (done.code, "is a symlink" in done.err) == (1, True)
    assert list((project.folder / "outside").iterdir()) == []


# --- show -------------------------------------------------------------------------------------------------------------


def test_show_tells_what_the_effects_mean(project):
    new(project, "shop-note::keep", "--backend", "sqlite", "--error", "TooLong:422:the text is too long")

    text = project.run("atom", "show", "shop-note::keep").out
    data = json.loads(project.run("atom", "show", "shop-note::keep", "--json").out)

    for line in (
        "effects: write shop-note-db",
        "parallel: two calls of it never overlap: `shop-note-db` is changed",
        "retry: `shop-note::keep` is never tried again by itself",
        "cache: results of `shop-note::keep` are not kept",
        "fails: TooLong (422): the text is too long",
        "page: .keisei/primitives/shop-note/atoms/keep.md",
    ):
        assert line in text
    assert data["package"]["metadata"]["backend"] == "sqlite"
    assert data["input_schema"]["required"] == ["text"]
    assert data["decisions"].keys() == {"parallel", "again", "retry", "cache"}


def test_show_hands_no_control_character_to_a_terminal(project):
    new(project)
    page = project.packages / "shop-price/atoms/round.md"
    page.write_text(page.read_text() + "\n\x1b[2Jgone\n")

    done = project.run("atom", "show", "shop-price::round")

    assert (done.code, "\x1b" in done.out, "[2Jgone" in done.out) == (0, False, True)


@pytest.mark.parametrize("verb", ["show", "test"])
def test_an_atom_nobody_has_is_2_with_the_nearest_name(project, verb):
    new(project)

    done = project.run("atom", verb, "shop-price::rond")

    assert done.code == 2
    assert "did you mean `shop-price::round`?" in done.err


# --- test -------------------------------------------------------------------------------------------------------------

OUTCOMES = {
    "wrong": ('return {"text": 1}', ("failed", "schema-out")),
    "declared": ('raise context.error("Gone", "it is gone")', ("declared", "atom")),
    "undeclared": ('raise context.error("Other", "it is other")', ("failed", "atom")),
    "raises": ("raise ValueError(1)", ("failed", "atom")),
    "crash": ("import os; os.abort()", ("failed", "killed")),
    "broken": ("return ]", ("failed", "io")),
    "late": ("import time; time.sleep(60)", ("failed", "timeout")),
}


def test_each_end_of_an_example_is_told_apart(project):
    for verb, (body, _) in OUTCOMES.items():
        new(project, f"shop-price::{verb}", "--error", "Gone:410:it is gone")
        function(project, f"def run(input, context):\n    {body}\n", verb=verb)
    page = project.packages / "shop-price/atoms/late.md"
    page.write_text(page.read_text().replace("timeout_ms: 30000", "timeout_ms: 300"))

    code, found = tried(project, *(f"shop-price::{verb}" for verb in OUTCOMES))

    assert found == [expected for _, expected in OUTCOMES.values()]
    assert code == 2
    shown = project.run("atom", "test", "shop-price::declared")
    assert (shown.code, "declared error  shop-price::declared" in shown.out) == (0, True)


def test_every_example_and_the_page_s_own_is_called_on_a_database_of_its_own(project):
    new(project, "shop-note::keep", "--backend", "sqlite")
    schema = project.packages / "shop-note/atoms/schemas/keep-input.json"
    data = json.loads(schema.read_text())
    data["examples"] = [{"text": "one"}, {"text": "two"}]
    schema.write_text(json.dumps(data))
    body = """def run(input, context):
    text = input["text"]
    found = context.database().execute("INSERT INTO notes (text) VALUES (?) RETURNING id", (text,)).fetchone()
    assert found[0] == 1, found
    print(context.database_path)
    return {"id": found[0], "text": text}
"""
    function(project, body, "shop-note", "keep")
    project.setenv("SHOP_NOTE_DB", project.folder / "mine.db")
    metadata = project.packages / "shop-note/pyproject.toml"
    default = f'db_default = "{project.folder / "default.db"}"'
    metadata.write_text(re.sub("db_default = .*", default, metadata.read_text()))
    assert default in metadata.read_text()

    done = project.run("atom", "test", "--json")

    names = [each["example"] for each in json.loads(done.out)["tests"]]
    assert (done.code, names) == (0, ["input schema, example 1", "input schema, example 2", "page"]), done.out
    assert not (project.folder / "mine.db").exists()
    assert not (project.folder / "default.db").exists()
    assert json.loads(project.run("ledger", "list", "--json").out) == []


def test_who_goes_away_ends_what_is_under_way(project):
    new(project)
    new(project, "shop-price::late")
    function(project, "import time\ndef run(input, context):\n    time.sleep(600)\n", verb="late")
    page = project.packages / "shop-price/atoms/late.md"
    page.write_text(page.read_text().replace("timeout_ms: 30000", "timeout_ms: 600000"))

    with open_runtime(read_settings(), actor="operator:somebody", start=project.folder) as runtime:
        specs = [runtime.shelf.atom(f"shop-price::{verb}") for verb in ("round", "late", "late")]
        attempts = try_atoms(runtime, specs, probe())
        first = next(attempts)
        with pytest.raises(KeyboardInterrupt):
            attempts.throw(KeyboardInterrupt)

    assert first.outcome == "ok"
    assert not [each for each in threading.enumerate() if each.name.startswith("atom-test")]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_who_is_told_to_end_leaves_no_folder(project, number):
    new(project)
    function(project, "import time\ndef run(input, context):\n    time.sleep(600)\n")
    page = project.packages / "shop-price/atoms/round.md"
    page.write_text(page.read_text().replace("timeout_ms: 30000", "timeout_ms: 5000"))
    place, strays = project.folder_of("tmp"), []

    def ask():
        while not list(place.glob("keisei-atom-test-*")):
            time.sleep(0.01)
        os.kill(os.getpid(), number)

    asking = threading.Thread(target=ask)
    with hearing(lambda *_: strays.append("unheard")):
        asking.start()
        done = project.run("atom", "test")
        asking.join()

    assert (done.code, strays) == (130, [])
    assert list(place.glob("keisei-atom-test-*")) == []


def test_of_a_stream_without_an_end_the_first_items_are_looked_at(project):
    new(project, "shop-price::words", "--kind", "stream")
    function(project, "def run(input, context):\n    while True:\n        yield {'word': 'x'}\n", verb="words")
    new(project, "shop-price::wrong", "--kind", "stream")
    function(project, "def run(input, context):\n    yield {'word': 'x'}\n    yield {'word': 1}\n", verb="wrong")

    assert tried(project) == (2, [("ok", None), ("failed", "schema-out")])


@confined
def test_an_atom_under_test_reaches_nothing_of_the_machine(project):
    bodies = {
        "write": f"open({str(project.folder / 'evil')!r}, 'w')",
        "read": f"open({str(project.folder / 'keisei.toml')!r}).read()",
        "here": "open('x', 'w').close()",
        "own": "import os; open(os.environ['HOME'] + '/y', 'w').close()",
        "declared": "open('x', 'w').close()",
    }
    for verb, body in bodies.items():
        new(project, f"shop-price::{verb}", *(("--effect", "write:fs") if verb == "declared" else ()))
        function(project, f"def run(input, context):\n    {body}\n    return {{'text': 'x', 'words': 1}}\n", verb=verb)

    code, found = tried(project, *(f"shop-price::{verb}" for verb in bodies))

    assert (code, found) == (2, [("failed", "atom")] * 3 + [("ok", None)] * 2)
    assert not (project.folder / "evil").exists()
    assert list(project.folder_of("tmp").glob("keisei-atom-test-*")) == []


@confined
def test_only_an_atom_that_declares_it_reaches_the_network(project):
    with socket.create_server(("127.0.0.1", 0)) as server:
        reach = f"import socket; socket.create_connection(('127.0.0.1', {server.getsockname()[1]}), 20).close()"
        for verb, more in (("local", ()), ("remote", ("--effect", "network:web"))):
            new(project, f"shop-price::{verb}", *more)
            text = f"def run(input, context):\n    {reach}\n    return {{'text': 'x', 'words': 1}}\n"
            function(project, text, verb=verb)

        assert tried(project) == (2, [("failed", "atom"), ("ok", None)])


def test_an_atom_under_test_is_given_no_secret(project):
    new(project)
    metadata = project.packages / "shop-price/pyproject.toml"
    metadata.write_text(metadata.read_text().replace('backend = "memory"', 'backend = "memory"\nenv = ["SHOP_KEY"]'))
    body = "    import os\n    assert 'SHOP_KEY' not in os.environ\n    return {'text': 'x', 'words': 1}\n"
    function(project, f"def run(input, context):\n{body}")
    project.setenv("SHOP_KEY", "secret")

    assert tried(project) == (0, [("ok", None)])


def test_a_machine_that_cannot_confine_is_told_plainly(project, monkeypatch):
    new(project)
    weak = Machine(bwrap=None, landlock=0, seccomp=False, faults=("there is no Landlock",))
    monkeypatch.setattr(machine, "_probed", lambda *_: weak)

    done = project.run("atom", "test")
    monkeypatch.setattr(atom_test, "try_atoms", lambda *_: pytest.fail("it is told before anything runs"))
    with pytest.raises(pytest.fail.Exception):
        project.run("atom", "test")

    assert done.code == 0
    assert "NOT CONFINED" in done.err
    assert "NOT CONFINED" in project._capture.readouterr().err.decode()
    assert "there is no Landlock" in done.err


def test_a_program_is_called_too_and_one_that_is_missing_is_127(project):
    made = new(project, "shop-tool::do-it", "--lang", "rust")

    missing = project.run("atom", "test")
    program = project.folder_of("bin") / "shop-tool"
    program.write_text('#!/bin/sh\ncat > /dev/null\n[ "$2" = do-it ] && echo \'{"text": "x", "words": 1}\'\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
    project.setenv("KEI_RUNTIME_BIN_DIR", program.parent)

    assert "then: `KEI_RUNTIME_BIN_DIR=.keisei/primitives/shop-tool/target/debug keisei atom test" in made.out
    assert (missing.code, "NO PROGRAM  shop-tool::do-it" in missing.out) == (127, True)
    assert tried(project) == (0, [("ok", None)])


def test_a_page_that_cannot_be_read_fails_the_test(project):
    new(project)
    new(project, "shop-price::floor")
    (project.packages / "shop-price/atoms/floor.md").write_text("nothing")

    done = project.run("atom", "test")

    assert done.code == 2
    assert "floor.md" in done.err
    assert "1 page cannot be read" in done.err
    assert "ok  shop-price::round" in done.out
    (project.packages / "shop-price/atoms/round.md").write_text("nothing")
    none = project.run("atom", "test")
    assert (none.code, none.out) == (2, "")
    assert "2 pages cannot be read" in none.err


def test_without_atoms_of_its_own_a_project_passes_and_is_told_so(project):
    done = project.run("atom", "test")

    assert (done.code, "no atom of this project's own" in done.out) == (0, True)
