"""The index: whatever happens to its file, the answer is what was kept, or nothing."""

import os
import signal
import sqlite3
import subprocess
import sys
import threading

import apsw
import pytest

from keisei.graph import index as module
from keisei.graph.index import Index

ROW = {"/a/x.md": ("1", "{}")}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "state" / "atoms.db"


def test_what_is_kept_comes_back_and_what_is_gone_does_not(path):
    index = Index(path)

    assert index.keep({"/a/x.md": ("1", "{}"), "/a/y.md": ("2", "[]")})
    assert index.keep({"/a/x.md": ("3", '{"b": 1}')}, gone=["/a/y.md", "/never"])

    assert Index(path).kept([""]) == {"/a/x.md": ("3", '{"b": 1}')}


def test_one_folder_is_asked_for(path):
    Index(path).keep(dict.fromkeys(("/a/x.md", "/a/b/y.md", "/ab/z.md", "/a0", "/A/x.md"), ("1", "{}")))

    assert set(Index(path).kept(["/a"])) == {"/a/x.md", "/a/b/y.md"}


def test_without_a_file_nothing_is_kept_and_none_is_made_by_asking(path):
    assert Index(path).kept([""]) == {}
    assert not path.parent.exists()


@pytest.mark.parametrize("content", [b"notes of somebody", b"SQLite format 3\0" + b"x" * 200, b"SQLite format 3\0"])
def test_a_file_that_is_not_ours_stays_as_it_is(path, content):
    path.parent.mkdir()
    path.write_bytes(content)

    assert Index(path).kept([""]) == {}
    assert not Index(path).keep(ROW)
    assert path.read_bytes() == content


def test_a_database_of_another_program_stays_as_it_is(path):
    path.parent.mkdir()
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE files (path, stamp, body)")
    connection.execute("INSERT INTO files VALUES ('/a/x.md', '1', '{}')")
    connection.commit()
    connection.close()
    before = path.read_bytes()

    assert Index(path).kept([""]) == {}
    assert not Index(path).keep(ROW)
    assert path.read_bytes() == before


def test_an_empty_file_that_somebody_began_is_used(path):
    path.parent.mkdir()
    path.touch()

    assert Index(path).kept([""]) == {}
    assert Index(path).keep(ROW)
    assert Index(path).kept([""]) == ROW


def test_one_of_another_layout_is_begun_again(path, monkeypatch):
    Index(path).keep({"/old.md": ("1", "{}")})
    monkeypatch.setattr(module, "OURS", module.OURS + 1)

    assert Index(path).kept([""]) == {}
    assert Index(path).keep(ROW)
    assert Index(path).kept([""]) == ROW


def test_a_broken_one_of_ours_is_begun_again(path):
    Index(path).keep({f"/{number}.md": ("1", "{}" * 50) for number in range(500)})
    raw = path.read_bytes()
    path.write_bytes(raw[:200] + b"\xff" * 3000 + raw[3200:-4096])

    Index(path).kept([""])

    assert Index(path).keep(ROW)
    assert Index(path).kept([""]) == ROW


@pytest.mark.parametrize("kind", ["folder", "pipe", "symlink", "dangling"])
def test_what_is_no_file_is_left_alone(path, tmp_path, kind):
    path.parent.mkdir()
    target = tmp_path / "target.db"
    if kind == "symlink":
        Index(target).keep(ROW)
    made = {"folder": path.mkdir, "pipe": lambda: os.mkfifo(path)}
    made.get(kind, lambda: path.symlink_to(target))()

    assert Index(path).kept([""]) == {}
    assert not Index(path).keep({"/b.md": ("1", "{}")})
    assert target.exists() == (kind == "symlink")


def test_a_folder_that_cannot_be_made_is_no_error(tmp_path):
    (tmp_path / "file").touch()

    assert not Index(tmp_path / "file" / "atoms.db").keep(ROW)
    assert Index(tmp_path / ("x" * 300)).kept([""]) == {}
    assert not Index(tmp_path / "a\0b").keep(ROW)


def test_a_path_that_is_no_text_is_left_out(path):
    assert Index(path).keep({"/a\udcff.md": ("1", "{}"), **ROW})

    assert Index(path).kept([""]) == ROW


def test_it_does_not_grow_for_ever(path, monkeypatch):
    monkeypatch.setattr(module, "MOST", 3)

    Index(path).keep({f"/{number}.md": ("1", "{}") for number in range(4)})

    assert Index(path).kept([""]) == {}


def test_while_another_process_writes_the_old_rows_or_none_are_read(path, monkeypatch):
    monkeypatch.setattr(module, "WAIT_MS", 1)
    Index(path).keep(ROW)
    other = apsw.Connection(str(path))
    other.execute("BEGIN EXCLUSIVE")

    assert Index(path).kept([""]) == {}
    assert not Index(path).keep({"/b.md": ("1", "{}")})
    other.execute("ROLLBACK")
    other.close()
    assert Index(path).kept([""]) == ROW


KILLED = """
import os, signal, sys
from pathlib import Path
from keisei.graph import index
whole = index._write
def write(connection, read, gone):
    connection.execute("BEGIN IMMEDIATE")
    connection.execute("DELETE FROM files")
    connection.execute("PRAGMA cache_size = 1")
    connection.executemany(index.KEEP, ((f"/{n}.md", "2", "x" * 500) for n in range(2000)))
    os.kill(os.getpid(), signal.SIGKILL)
index._write = write
index.Index(Path(sys.argv[1])).keep({"/b.md": ("1", "{}")})
"""


def test_one_that_is_killed_in_the_middle_leaves_the_rows_as_they_were(path):
    Index(path).keep(ROW)

    done = subprocess.run([sys.executable, "-c", KILLED, path], check=False)

    assert done.returncode == -signal.SIGKILL
    assert Index(path).kept([""]) == ROW
    assert Index(path).keep({"/b.md": ("1", "{}")})
    assert set(Index(path).kept([""])) == {"/a/x.md", "/b.md"}


BESIDE = """
import sys
from pathlib import Path
from keisei.graph.index import Index
index = Index(Path(sys.argv[1]))
for number in range(15):
    path = f"/{sys.argv[2]}-{number}.md"
    if index.keep({path: ("1", "{}")}):
        print(path)
    index.kept([""])
"""


def test_two_processes_at_once_lose_nothing_that_was_kept(path):
    started = [
        subprocess.Popen([sys.executable, "-c", BESIDE, path, name], stdout=subprocess.PIPE, text=True)
        for name in ("one", "two")
    ]
    said = [each.communicate(timeout=30)[0].split() for each in started]

    assert [each.returncode for each in started] == [0, 0]
    assert set(Index(path).kept([""])) == {path for paths in said for path in paths}


def test_threads_take_turns(path):
    def work(number):
        for turn in range(5):
            kept = Index(path).keep({f"/{number}-{turn}.md": ("1", "{}")})
            done.append(kept)
            Index(path).kept([""])

    done = []
    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert done == [True] * 20
    assert len(Index(path).kept([""])) == 20
