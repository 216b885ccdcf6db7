"""Snapshots: everything is seen, nothing is followed, and what was not seen is said."""

import os
import socket
from pathlib import Path

import msgspec
import pytest

from keisei.records.snapshot import Changes, Snapshot
from keisei.rules.snapshot import changes
from keisei.workspace.snapshot import DEEPEST, take

BACK = 1_600_000_000
"""A moment long ago, for files that are older than any test."""


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "a folder"
    (folder / "src/inner").mkdir(parents=True)
    (folder / "src/a.py").write_text("a")
    (folder / "src/inner/b.py").write_text("b")
    (folder / "README").write_text("r")
    return folder


def kinds(snapshot):
    return {path: entry.kind for path, entry in snapshot.entries.items()}


def test_files_and_folders_are_seen_by_their_relative_path(folder):
    snapshot = take(folder)

    assert kinds(snapshot) == {
        "README": "file",
        "src": "folder",
        "src/a.py": "file",
        "src/inner": "folder",
        "src/inner/b.py": "file",
    }
    assert snapshot.is_whole
    assert snapshot.entries["src/a.py"].size == 1


def test_everything_called_git_is_left_out(folder):
    (folder / ".git/objects").mkdir(parents=True)
    (folder / ".git/HEAD").write_text("ref")
    (folder / "src/.git").write_text("gitdir: elsewhere")
    (folder / ".gitignore").write_text("x")

    assert [path for path in take(folder).entries if ".git" in path] == [".gitignore"]


def test_links_are_seen_and_not_followed(folder, tmp_path):
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/secret").write_text("s")
    (folder / "out").symlink_to(tmp_path / "outside")
    (folder / "round").symlink_to(folder)
    (folder / "nowhere").symlink_to("gone")

    found = kinds(take(folder))

    assert {found["out"], found["round"], found["nowhere"]} == {"link"}
    assert not [path for path in found if path.startswith(("out/", "round/"))]


def test_pipes_and_sockets_are_seen_and_nobody_waits_for_them(folder, monkeypatch):
    os.mkfifo(folder / "pipe")
    monkeypatch.chdir(folder)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("socket")

        found = kinds(take(folder))

    assert (found["pipe"], found["socket"]) == ("other", "other")


def test_names_that_are_no_utf8_are_kept_apart(folder):
    names = [b"\xff", b"\\xff", b"\xfe\xff", b"a\nb", "ü".encode()]
    for name in names:
        (folder / os.fsdecode(name)).write_bytes(name)

    snapshot = take(folder)

    assert {"\\xff", "\\\\xff", "\\xfe\\xff", "a\nb", "ü"} <= snapshot.entries.keys()
    assert msgspec.json.decode(msgspec.json.encode(snapshot), type=Snapshot) == snapshot


def test_a_snapshot_outlives_its_process(folder):
    snapshot = take(folder)

    assert msgspec.json.decode(msgspec.json.encode(snapshot), type=Snapshot) == snapshot


@pytest.mark.parametrize(("limit", "partial"), [(0, True), (1, True), (4, True), (5, False), (6, False)])
def test_more_than_the_limit_makes_it_partial(folder, limit, partial):
    snapshot = take(folder, limit)

    assert snapshot.partial == partial
    assert snapshot.is_whole != partial
    assert len(snapshot.entries) == min(limit, 5)


def test_a_folder_that_is_not_there_holds_nothing(tmp_path):
    assert take(tmp_path / "gone") == Snapshot(entries={})


def test_what_is_no_folder_is_noted(folder):
    assert take(folder / "README") == Snapshot(entries={}, unreadable=(".",))


def test_a_folder_that_cannot_be_listed_is_noted(folder, monkeypatch):
    """As an ordinary user meets it; root can list everything."""
    real = os.open

    def guarded(path, flags, *args, **kwargs):
        if path == "inner":
            raise PermissionError(13, "Permission denied")
        return real(path, flags, *args, **kwargs)

    monkeypatch.setattr(os, "open", guarded)

    snapshot = take(folder)

    assert (snapshot.unreadable, snapshot.partial, snapshot.is_whole) == (("src/inner",), False, False)
    assert "src/a.py" in snapshot.entries


@pytest.mark.parametrize(("failing", "noted"), [(1, "."), (2, "src"), (3, "src/inner")])
def test_a_folder_that_fails_while_it_is_listed_is_noted(folder, monkeypatch, failing, noted):
    real = os.scandir
    calls = []

    def scanning(descriptor):
        calls.append(descriptor)
        if len(calls) == failing:
            raise OSError(5, "Input/output error")
        return real(descriptor)

    monkeypatch.setattr(os, "scandir", scanning)

    assert take(folder).unreadable == (noted,)


def test_folders_without_end_are_noted_and_use_up_no_descriptors(tmp_path):
    deep = tmp_path / "deep"
    deep.mkdir()
    place = os.open(deep, os.O_RDONLY)
    for _ in range(DEEPEST + 50):
        os.mkdir("d", dir_fd=place)
        inner = os.open("d", os.O_RDONLY, dir_fd=place)
        os.close(place)
        place = inner
    os.close(place)
    before = len(list(Path("/proc/self/fd").iterdir()))

    snapshot = take(deep)

    assert snapshot.unreadable == ("/".join(["d"] * (DEEPEST + 1)),)
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_a_folder_that_becomes_a_link_while_it_is_walked_is_not_followed(folder, tmp_path, monkeypatch):
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/secret").write_text("s")
    real = os.open

    def swapping(path, flags, *args, **kwargs):
        if path == "src":
            (folder / "src").rename(tmp_path / "moved")
            (folder / "src").symlink_to(tmp_path / "outside")
        return real(path, flags, *args, **kwargs)

    monkeypatch.setattr(os, "open", swapping)

    snapshot = take(folder)

    assert "src/secret" not in snapshot.entries
    assert snapshot.unreadable == ("src",)


# Differences --------------------------------------------------------------------------------------------------------


def rewrite(path):
    path.write_text("other")


def rewrite_alike(path):
    """The same content, the same size, the same time of writing: only the kernel's time tells."""
    times = path.stat()
    path.write_text(path.read_text())
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def replace(path):
    content = path.read_text()
    path.rename(path.with_name("old"))
    path.write_text(content)
    path.with_name("old").unlink()


def to_link(path):
    path.unlink()
    path.symlink_to("b")


@pytest.mark.parametrize("deed", [rewrite, rewrite_alike, replace, to_link, lambda path: path.chmod(0o755)])
def test_whatever_is_done_to_a_file_shows(folder, deed):
    path = folder / "src/a.py"
    os.utime(path, (BACK, BACK))
    before = take(folder)
    _wait_for_a_later_moment(path, folder)

    deed(path)

    assert changes(before, take(folder)) == Changes(modified=("src/a.py",))


def _wait_for_a_later_moment(path, folder):
    """Until the file system's clock has gone on, which some keep in steps of milliseconds."""
    probe = folder.parent / "probe"
    while True:
        probe.write_text("x")
        if probe.stat().st_ctime_ns > path.stat().st_ctime_ns:
            return


def test_added_and_deleted_are_told_with_their_folders(folder):
    before = take(folder)
    (folder / "new").mkdir()
    (folder / "new/c.py").write_text("c")
    (folder / "src/inner/b.py").unlink()
    (folder / "src/inner").rmdir()

    assert changes(before, take(folder)) == Changes(added=("new", "new/c.py"), deleted=("src/inner", "src/inner/b.py"))


def test_nothing_done_is_no_difference(folder):
    before = take(folder)
    (folder / "src/a.py").read_text()

    assert changes(before, take(folder)) == Changes()


def test_a_folder_that_becomes_a_file_is_modified(folder):
    before = take(folder)
    (folder / "src/inner/b.py").unlink()
    (folder / "src/inner").rmdir()
    (folder / "src/inner").write_text("now a file")

    assert changes(before, take(folder)) == Changes(modified=("src/inner",), deleted=("src/inner/b.py",))


def test_a_difference_of_partial_snapshots_says_so(folder):
    assert not changes(take(folder, 1), take(folder)).is_whole
    assert not changes(take(folder), take(folder, 1)).is_whole
    assert changes(take(folder), take(folder)).is_whole
