"""Sage, as people call it: the seed's lines letter by letter, many at once, killed at any moment, followed."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from tests.library.primitives import package, write

BIN = Path(sys.executable).parent


class Desk:
    """A person at a shell of their own."""

    def __init__(self, folder):
        self.folder = folder / "a desk"
        self.folder.mkdir()
        self.root = folder / "a root"
        self.env = {
            "PATH": f"{BIN}:/usr/bin:/bin",
            "HOME": str(folder),
            "LANG": "C.UTF-8",
            "KEISEI_HOME": str(folder / "state"),
        }

    def start(self, *words, **more):
        return subprocess.Popen(
            [BIN / "kei-sage", *words], cwd=self.folder, env=self.env, stdout=-1, stderr=-1, text=True, **more
        )

    def run(self, line):
        done = subprocess.run(
            ["/bin/sh", "-c", line],
            cwd=self.folder,
            env=self.env,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def ids(self, text=""):
        found = self.run(f"kei-sage search '{text}' --root '{self.root}' --limit 10000 --json")
        return [hit["node"]["id"] for hit in json.loads(found)["hits"]]


@pytest.fixture
def desk(tmp_path):
    return Desk(tmp_path)


def test_the_seeds_lines_run_letter_by_letter(desk):
    ranked = desk.run("kei-sage rank-atoms")
    related = desk.run("kei-sage related kei-task::create")
    found = desk.run('kei-sage search "task create"')
    graph = desk.run("kei-sage graph kei-task::create --depth=2")

    assert "kei-task::create" in ranked
    assert "kei-task::add-dependency" in related
    assert found.splitlines()[1].startswith("kei-task::create ")
    assert graph.startswith("<?xml")
    assert "kei-milestone::link" in graph


def test_many_index_at_once_and_each_answer_is_whole(desk):
    for number in range(12):
        package(desk.root, f"kei-n{number}", "create", "find", "list", summary=f"Zebra {number}")
    every = sorted(f"kei-n{number}::{verb}" for number in range(12) for verb in ("create", "find", "list"))

    started = [desk.start("search", "", "--root", str(desk.root), "--limit", "10000", "--json") for _ in range(4)]
    told = [(each.communicate(timeout=120), each.returncode) for each in started]

    for (out, err), code in told:
        assert (code, err) == (0, "")
        assert [hit["node"]["id"] for hit in json.loads(out)["hits"]] == every


def test_one_that_is_killed_while_it_indexes_leaves_an_index_that_works(desk):
    for number in range(15):
        package(desk.root, f"kei-n{number}", "create", "find", "list", "get")
    every = sorted(f"kei-n{number}::{verb}" for number in range(15) for verb in ("create", "find", "list", "get"))

    for wait in (0.12, 0.2, 0.25, 0.3, 0.35, 0.4):
        started = desk.start("index", "--root", str(desk.root))
        time.sleep(wait)
        started.send_signal(signal.SIGKILL)
        started.communicate()
        write(desk.root / "kei-n0/atoms/create.md", (desk.root / "kei-n0/atoms/create.md").read_text() + "\nMore.\n")

    assert desk.ids() == every


def test_watch_follows_files_as_they_come_and_go(desk):
    folder = package(desk.root / "primitives", "kei-note", "create")
    watching = desk.start("watch", "--root", str(desk.root), "--json", start_new_session=True)
    try:
        assert json.loads(watching.stdout.readline()) == {
            "change": "changed",
            "node": "atom",
            "name": "kei-note::create",
        }
        watching.stderr.readline()
        time.sleep(0.5)
        write(desk.root / "rules/zebra.md", "# Zebras\n\nStriped.\n")
        assert json.loads(watching.stdout.readline()) == {"change": "changed", "node": "rule", "name": "zebra"}
        (folder / "atoms/create.md").unlink()
        assert json.loads(watching.stdout.readline()) == {"change": "gone", "node": "atom", "name": "kei-note::create"}
        assert desk.ids("striped") == ["rules/zebra"]
        watching.terminate()
        watching.communicate(timeout=20)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(watching.pid, signal.SIGKILL)
    assert watching.returncode in (-signal.SIGTERM, 128 + signal.SIGTERM)
