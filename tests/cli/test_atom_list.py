"""`kei-runtime list-atoms`: the same list by the short way and by click, for people, programs and pipes."""

import json
import os
import subprocess
import sys

import pytest

from keisei.cli import atom_list
from tests.cli.test_startup import PROGRAM
from tests.library.primitives import package, write

DOOR = "import sys; from keisei.cli import kei_runtime; sys.exit(kei_runtime())"


@pytest.fixture
def root(shell):
    """Three atoms of two packages."""
    shell.setenv("KEISEI_HOME", shell.folder / "state")
    folder = shell.folder_of("root with space")
    package(folder, "kei-note", "find", "add")
    package(folder, "kei-crate", "scan", layout="crate", kind="transform", stability="stable")
    return folder


def listed(shell, *words):
    return shell.run("list-atoms", *words, command="kei-runtime")


def lines(done):
    return [line.split("\t") for line in done.out.splitlines()]


def test_lines_begin_with_the_id_and_come_in_order(shell, root):
    done = listed(shell, "--root", root)

    assert lines(done) == [
        ["kei-crate::scan", "transform", "stable", f"{root}/kei-crate/atoms/scan.md"],
        ["kei-note::add", "query", "beta", f"{root}/kei-note/atoms/add.md"],
        ["kei-note::find", "query", "beta", f"{root}/kei-note/atoms/find.md"],
    ]
    assert (done.code, done.err) == (0, "")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--kind", "transform"], ["kei-crate::scan"]),
        (["--kind=query"], ["kei-note::add", "kei-note::find"]),
        (["--crate", "kei-crate"], ["kei-crate::scan"]),
        (["--crate=none"], []),
        (["--stability", "beta", "--crate", "kei-note"], ["kei-note::add", "kei-note::find"]),
    ],
    ids=" ".join,
)
def test_a_list_is_narrowed_the_same_by_both_ways(shell, root, monkeypatch, words, expected):
    short = listed(shell, "--root", root, *words)
    monkeypatch.setattr(atom_list, "short_list", lambda _words: None)
    whole = listed(shell, "--root", root, *words)

    assert [line[0] for line in lines(short)] == expected
    assert short == whole


def test_json_has_every_field(shell, root):
    rows = json.loads(listed(shell, "--root", root, "--json", "--crate", "kei-note").out)

    assert rows[0] == {
        "atom": "kei-note::add",
        "kind": "query",
        "version": "1.2.0",
        "stability": "beta",
        "summary": "Does it over two lines.",
        "deprecated": None,
        "keywords": ["note", "add"],
        "path": f"{root}/kei-note/atoms/add.md",
        "layer": "root",
    }


def test_an_empty_list_is_an_empty_list(shell, root):
    assert json.loads(listed(shell, "--root", root / "kei-note" / "atoms", "--json").out) == []


def test_what_is_skipped_is_said_on_stderr_and_the_rest_is_listed(shell, root):
    write(root / "kei-note" / "atoms" / "broken.md", "nothing")

    done = listed(shell, "--root", root, "--crate", "kei-note")

    assert [line[0] for line in lines(done)] == ["kei-note::add", "kei-note::find"]
    assert done.code == 0
    assert done.err.startswith("warn: skip root with space/kei-note/atoms/broken.md:1:1: does not begin")


def test_people_get_a_table(shell, root, monkeypatch):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)

    done = listed(shell, "--root", root, "--crate", "kei-crate")

    assert done.out.splitlines() == [
        "id               kind       stability  path",
        f"kei-crate::scan  transform  stable     {root}/kei-crate/atoms/scan.md",
    ]


@pytest.mark.parametrize(
    "words",
    [["--kind", "verb"], ["--kind"], ["--root"], ["--wrong"], ["extra"], ["--stability", ""], ["--json=1"]],
    ids=" ".join,
)
def test_a_wrong_word_is_told(shell, words):
    done = listed(shell, *words)

    assert done.code == 1
    assert "Usage" in done.err or "Error" in done.err
    assert done.out == ""


def test_a_root_that_is_not_there_is_told(shell, root):
    done = listed(shell, "--root", root / "none")

    assert done.code == 1
    assert "is not a folder" in done.err


def test_a_root_without_a_package_is_told(shell, root):
    nothing = shell.folder_of("nothing")

    alone, beside = listed(shell, "--root", nothing), listed(shell, "--root", nothing, "--root", root)

    assert (alone.code, alone.out) == (beside.code, "") == (0, "")
    assert len(lines(beside)) == 3
    assert alone.err == beside.err
    assert f"no package in {nothing}" in alone.err


def test_a_path_cannot_command_the_terminal(shell):
    shell.setenv("KEISEI_HOME", shell.folder / "state")
    folder = shell.folder / "evil\x1b[2J\n"
    package(folder, "kei-note", "add")

    done = listed(shell, "--root", folder)

    assert done.out.count("\n") == 1
    assert "\x1b" not in done.out


def spawned(words, **options):
    program = [sys.executable, "-c", DOOR, "list-atoms", *map(str, words)]
    return subprocess.run(program, capture_output=True, timeout=30, check=False, **options)


def test_a_stream_that_cannot_say_a_character_gets_another_one(shell):
    shell.setenv("KEISEI_HOME", shell.folder / "state")
    folder = shell.folder / "ä"
    package(folder, "kei-note", "add")

    done = spawned(["--root", folder], env=os.environ | {"PYTHONIOENCODING": "ascii"})

    assert (done.returncode, done.stderr) == (0, b"")
    assert b"\\xe4/kei-note" in done.stdout


def test_a_reader_that_went_away_is_no_error(root):
    reading, writing = os.pipe()
    os.close(reading)
    program = [sys.executable, "-c", DOOR, "list-atoms", "--root", root]

    done = subprocess.run(program, stdout=writing, stderr=subprocess.PIPE, timeout=30, check=False)
    os.close(writing)

    assert (done.returncode, done.stderr) == (0, b"")


def test_a_full_disk_is_told_in_one_line(root):
    program = [sys.executable, "-c", DOOR, "list-atoms", "--root", root]

    with open("/dev/full", "w") as full:  # noqa: PTH123 - a device
        done = subprocess.run(program, stdout=full, stderr=subprocess.PIPE, timeout=30, check=False)

    assert done.returncode == 1
    assert done.stderr == b"error: no space left on device: while writing\n"


def test_a_state_folder_that_cannot_be_written_is_no_error(shell, root):
    shell.setenv("KEISEI_HOME", write(shell.folder / "file", ""))

    assert len(lines(listed(shell, "--root", root))) == 3


def test_a_known_list_pays_for_nothing_it_does_not_need(shell, root, monkeypatch):
    monkeypatch.setattr("keisei.wiring.file_stamp.HOT_NS", 0)
    listed(shell, "--root", root)
    door = write(shell.folder / "door.py", DOOR)

    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, door, "list-atoms", "--root", root],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )

    assert done.stdout.count("\n") == 3
    assert not {"click", "msgspec", "jsonschema_rs", "ryaml", "rich", "tomlkit"} & set(done.stderr.splitlines())
