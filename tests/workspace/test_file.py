"""One named file: whatever stands there, the look ends, stays in the folder, and says what it saw."""

import hashlib
import os
import socket
import stat
from pathlib import Path

import pytest

from keisei.workspace.file import look


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "artifacts"
    (folder / "reports").mkdir(parents=True)
    (folder / "reports/x.md").write_text("# x")
    return folder


def test_a_plain_file_is_hashed_with_its_facts(folder):
    looked = look(folder, "reports/x.md")

    assert looked.fault is None
    assert looked.sha256 == hashlib.sha256(b"# x").hexdigest()
    assert (looked.entry.kind, looked.entry.size) == ("file", 3)
    assert looked.entry.inode == (folder / "reports/x.md").stat().st_ino


def test_an_empty_file_is_a_file(folder):
    (folder / "empty").touch()

    assert look(folder, "empty").sha256 == hashlib.sha256(b"").hexdigest()


@pytest.mark.parametrize("path", ["gone", "gone/x", "reports/gone", ""])
def test_what_is_not_there_is_missing(folder, path):
    assert look(folder, path).fault == "is missing"


def test_a_folder_that_is_not_there_has_nothing(tmp_path):
    assert look(tmp_path / "gone", "x").fault == "is missing"


@pytest.mark.parametrize("path", ["a\0b", "\0/x"])
def test_a_name_that_no_file_can_have_is_said(folder, path):
    assert look(folder, path).fault == "has a name that no file can have"


def test_a_name_too_long_is_said(folder):
    assert "cannot be read" in look(folder, "a" * 300).fault


def test_links_lead_nowhere(folder, tmp_path):
    (tmp_path / "secret").write_text("s")
    (folder / "inside").symlink_to("reports/x.md")
    (folder / "outside").symlink_to(tmp_path / "secret")
    (folder / "dangling").symlink_to("gone")
    (folder / "way").symlink_to(tmp_path)
    (folder / "round").symlink_to("round")

    assert {look(folder, name).fault for name in ("inside", "outside", "dangling", "round")} == {"is a link"}
    assert look(folder, "way/secret").fault == "lies behind a link or a file, not in a folder"
    assert look(folder, "reports/x.md/y").fault == "lies behind a link or a file, not in a folder"


def test_a_folder_that_is_a_link_itself_is_not_entered(folder, tmp_path):
    (tmp_path / "other").symlink_to(folder)

    assert look(tmp_path / "other", "reports/x.md").fault == "lies behind a link or a file, not in a folder"


@pytest.mark.parametrize("path", ["../secret", "..", "reports/../../secret", "reports/..", "way/../secret"])
def test_parents_are_not_climbed(folder, tmp_path, path):
    (tmp_path / "far/deep").mkdir(parents=True)
    (tmp_path / "far/secret").write_text("s")
    (tmp_path / "secret").write_text("s")
    (folder / "way").symlink_to(tmp_path / "far/deep")

    assert look(folder, path).fault == "leads out of the folder"


def test_an_absolute_path_is_not_followed(folder, tmp_path):
    (tmp_path / "secret").write_text("s")

    assert look(folder, f"{tmp_path}/secret").fault == "is missing"


def test_a_pipe_a_socket_and_a_folder_are_said_and_nobody_waits(folder, monkeypatch):
    os.mkfifo(folder / "pipe")
    monkeypatch.chdir(folder)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("socket")

        assert look(folder, "pipe").fault == "is a pipe"
        assert look(folder, "socket").fault == "is a socket"
        assert look(folder, "reports").fault == "is a folder"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes devices")
def test_a_device_is_said_and_not_opened(folder):
    try:
        os.mknod(folder / "zero", stat.S_IFCHR | 0o600, os.makedev(1, 5))
    except PermissionError:
        pytest.skip("devices cannot be made here")

    assert look(folder, "zero").fault == "is a device"


def test_a_file_with_a_second_name_does_not_count(folder, tmp_path):
    os.link(folder / "reports/x.md", tmp_path / "second")

    assert look(folder, "reports/x.md").fault == ("has 2 names (hard links), so it could be changed from elsewhere")


def test_a_huge_file_is_not_read(folder):
    with (folder / "huge").open("wb") as file:
        file.truncate(1 << 42)

    assert look(folder, "huge").fault == "is larger than 1073741824 bytes"


def test_a_file_of_exactly_the_largest_size_counts(folder):
    (folder / "full").write_bytes(b"x" * 100)

    assert look(folder, "full", largest=100).fault is None
    assert look(folder, "full", largest=99).fault == "is larger than 99 bytes"


def test_a_sparse_file_is_hashed_as_what_it_reads_like(folder):
    with (folder / "sparse").open("wb") as file:
        file.truncate(3_000_000)

    assert look(folder, "sparse").sha256 == hashlib.sha256(bytes(3_000_000)).hexdigest()


def test_a_file_that_may_not_be_read_is_said(folder, monkeypatch):
    """As an ordinary user meets it; root can read everything."""
    real = os.open

    def guarded(path, flags, *args, **kwargs):
        if path == "x.md":
            raise PermissionError(13, "Permission denied")
        return real(path, flags, *args, **kwargs)

    monkeypatch.setattr(os, "open", guarded)

    assert look(folder, "reports/x.md").fault == "cannot be read: Permission denied"


def swapped(monkeypatch, name, deed):
    """Do something at the last moment before a name is opened."""
    real = os.open

    def opening(path, flags, *args, **kwargs):
        if path == name:
            deed()
        return real(path, flags, *args, **kwargs)

    monkeypatch.setattr(os, "open", opening)


def test_a_file_that_becomes_a_link_at_the_last_moment_is_not_followed(folder, tmp_path, monkeypatch):
    (tmp_path / "secret").write_text("s")
    path = folder / "reports/x.md"

    def deed():
        path.unlink()
        path.symlink_to(tmp_path / "secret")

    swapped(monkeypatch, "x.md", deed)

    assert look(folder, "reports/x.md").fault == "is a link"


def test_a_file_that_becomes_a_pipe_at_the_last_moment_is_said_and_nobody_waits(folder, monkeypatch):
    path = folder / "reports/x.md"

    def deed():
        path.unlink()
        os.mkfifo(path)

    swapped(monkeypatch, "x.md", deed)

    assert look(folder, "reports/x.md").fault == "is a pipe"


def test_a_folder_that_becomes_a_link_at_the_last_moment_is_not_entered(folder, tmp_path, monkeypatch):
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/x.md").write_text("s")

    def deed():
        (folder / "reports").rename(tmp_path / "moved")
        (folder / "reports").symlink_to(tmp_path / "outside")

    swapped(monkeypatch, "reports", deed)

    assert look(folder, "reports/x.md").sha256 is None


@pytest.mark.parametrize("change", ["grow", "shrink", "rewrite"])
def test_a_file_that_changes_while_it_is_read_does_not_count(folder, monkeypatch, change):
    path = folder / "reports/x.md"
    path.write_bytes(b"x" * 10)
    os.utime(path, (1_600_000_000, 1_600_000_000))
    real = os.read
    content = {"grow": b"x" * 11, "shrink": b"x", "rewrite": b"y" * 10}[change]

    def reading(descriptor, size):
        path.write_bytes(content)
        return real(descriptor, size)

    monkeypatch.setattr(os, "read", reading)

    assert look(folder, "reports/x.md").fault == "was changed while it was read"


def test_no_descriptor_is_left_open(folder, tmp_path):
    (folder / "way").symlink_to(tmp_path)
    os.mkfifo(folder / "pipe")
    before = len(list(Path("/proc/self/fd").iterdir()))

    for name in ("reports/x.md", "gone/x", "way/x", "pipe", "reports", "reports/x.md/y", "\0/x"):
        look(folder, name)

    assert len(list(Path("/proc/self/fd").iterdir())) == before
