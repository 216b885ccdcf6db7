"""Copies: the same tree again, whatever is in it, and nothing of it reached through a link."""

import os
import resource
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from keisei.records.error import WorldFault
from keisei.workspace.copy import DEEPEST, Edit, copy_paths
from keisei.workspace.removal import remove

MOMENT = 1_600_000_000_123_456_789


@pytest.fixture
def source(tmp_path):
    folder = tmp_path / "source"
    (folder / "kept").mkdir(parents=True)
    return folder


@pytest.fixture
def target(tmp_path):
    folder = tmp_path / "target"
    folder.mkdir()
    return folder


def seen(root):
    """Everything below a folder: kind, mode, time, content."""
    found = {}
    for folder, folders, names in os.walk(os.fsencode(root)):
        for name in (*folders, *names):
            path = Path(os.fsdecode(folder), os.fsdecode(name))
            status = path.lstat()
            content = path.readlink() if path.is_symlink() else path.read_bytes() if path.is_file() else None
            found[os.fsencode(path.relative_to(root))] = (stat.filemode(status.st_mode), status.st_mtime_ns, content)
    return found


def names(folder):
    return sorted(each.name for each in folder.iterdir())


def test_files_links_modes_and_times_come_out_the_same(source, target):
    (source / "kept/bin").mkdir()
    (source / "kept/bin/run").write_bytes(b"#!/bin/sh\n")
    (source / "kept/bin/run").chmod(0o755)
    (source / "kept/private").write_bytes(b"x" * 100_000)
    (source / "kept/private").chmod(0o600)
    (source / "kept/empty").touch()
    (source / "kept/current").symlink_to("bin/run")
    (source / "kept/dangling").symlink_to("/nowhere/at/all")
    (source / os.fsdecode(b"kept/na\xefve\n")).write_text("odd name")
    (source / "not kept").write_text("stays")
    for path in sorted(source.rglob("*"), reverse=True):
        os.utime(path, ns=(MOMENT, MOMENT), follow_symlinks=False)

    copied = copy_paths(source, target, ["kept"])

    assert seen(target) == {path: facts for path, facts in seen(source).items() if path.startswith(b"kept")}
    assert {facts[1] for facts in seen(target).values()} == {MOMENT}
    assert (copied.files, copied.skipped) == (6, ())


def test_a_link_that_leads_out_is_copied_as_a_link_and_not_followed(source, target, tmp_path):
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "key").write_text("secret")
    (source / "kept/out").symlink_to(secret)
    (source / "kept/up").symlink_to("../../secret")

    copy_paths(source, target, ["kept"])

    assert (target / "kept/out").readlink() == secret
    assert (target / "kept/up").readlink() == Path("../../secret")
    assert (secret / "key").read_text() == "secret"


@pytest.mark.parametrize("side", ["source", "target"])
def test_a_path_behind_a_linked_folder_is_refused(source, target, tmp_path, side):
    outside = tmp_path / "outside"
    (outside / "inner").mkdir(parents=True)
    (outside / "inner/file").write_text("outside")
    (source / "packages/inner").mkdir(parents=True)
    (source / "packages/inner/file").write_text("mine")
    if side == "source":
        shutil.rmtree(source / "packages")
        (source / "packages").symlink_to(outside)
    else:
        (target / "packages").symlink_to(outside)

    with pytest.raises(WorldFault, match=r"`packages/inner` cannot be copied .* link"):
        copy_paths(source, target, ["packages/inner"])

    assert (outside / "inner/file").read_text() == "outside"
    assert not (target / "packages/inner").exists() or side == "target"


def test_what_stands_in_the_place_is_replaced_and_a_link_there_is_not_followed(source, target, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_text("outside")
    (source / "kept/file").write_text("new")
    (source / "other").write_text("file")
    (target / "kept").symlink_to(outside)
    (target / "other").mkdir()
    (target / "other/old").write_text("old")

    copy_paths(source, target, ["kept", "other"])

    assert (target / "kept/file").read_text() == "new"
    assert not (target / "kept").is_symlink()
    assert (target / "other").read_text() == "file"
    assert names(outside) == ["file"]
    assert (outside / "file").read_text() == "outside"


def test_names_of_one_file_stay_names_of_one_file_and_share_nothing_with_the_original(source, target, tmp_path):
    (source / "kept/deps").mkdir()
    (source / "kept/deps/program-1f").write_bytes(b"program")
    os.link(source / "kept/deps/program-1f", source / "kept/program")
    os.link(source / "kept/program", tmp_path / "cache")

    copy_paths(source, target, ["kept"])

    program, again = target / "kept/program", target / "kept/deps/program-1f"
    assert program.samefile(again)
    assert program.stat().st_nlink == 2
    assert not program.samefile(source / "kept/program")
    program.write_bytes(b"changed")
    assert (tmp_path / "cache").read_bytes() == b"program"


def test_holes_stay_holes(source, target):
    with (source / "kept/sparse").open("wb") as file:
        file.write(b"head")
        file.seek(40_000_000)
        file.write(b"tail")
        file.truncate(80_000_000)

    copy_paths(source, target, ["kept"])

    status = (target / "kept/sparse").stat()
    assert status.st_size == 80_000_000
    assert status.st_blocks * 512 <= 1_000_000
    assert (target / "kept/sparse").read_bytes() == (source / "kept/sparse").read_bytes()


def test_pipes_and_sockets_are_left_out_and_told(source, target, monkeypatch):
    os.mkfifo(source / "kept/pipe")
    monkeypatch.chdir(source / "kept")  # a socket's path is short
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("door")
        copied = copy_paths(source, target, ["kept"])

    assert names(target / "kept") == []
    assert sorted(copied.skipped) == ["kept/door", "kept/pipe"]


def test_setuid_bits_do_not_travel(source, target):
    (source / "kept/su").write_text("x")
    (source / "kept/su").chmod(0o6755)

    copy_paths(source, target, ["kept"])

    assert stat.S_IMODE((target / "kept/su").stat().st_mode) == 0o755


def test_a_missing_path_is_told_by_its_name(source, target):
    with pytest.raises(WorldFault, match=r"`absent/node_modules` cannot be copied .*: no such file"):
        copy_paths(source, target, ["absent/node_modules"])


def test_a_name_that_is_not_text_is_told_as_text(source, target):
    with pytest.raises(WorldFault, match=r"`na\\xefve` cannot be copied") as told:
        copy_paths(source, target, [os.fsdecode(b"na\xefve")])

    told.value.message.encode()


def test_what_is_changed_on_the_way_is_changed_in_files_and_links_that_are_named(source, target):
    (source / "kept/named").write_bytes(b"from here to here")
    (source / "kept/other").write_bytes(b"from here")
    (source / "kept/link").symlink_to("here/x")

    copy_paths(source, target, ["kept"], Edit(frozenset({"kept/named"}), lambda data: data.replace(b"here", b"away")))

    assert (target / "kept/named").read_bytes() == b"from away to away"
    assert (target / "kept/other").read_bytes() == b"from here"
    assert (target / "kept/link").readlink() == Path("away/x")


def test_a_tree_that_is_too_deep_is_refused_and_can_be_removed(source, target):
    place = os.open(source / "kept", os.O_RDONLY)
    for _ in range(DEEPEST * 8):
        os.mkdir("d", dir_fd=place)
        inner = os.open("d", os.O_RDONLY, dir_fd=place)
        os.close(place)
        place = inner
    os.close(place)

    with pytest.raises(WorldFault, match="folders inside each other"):
        copy_paths(source, target, ["kept"])
    remove(source)
    remove(target)

    assert not source.exists()
    assert not target.exists()


def test_a_full_disk_is_one_sentence(source, target):
    (source / "kept/large").write_bytes(b"x" * 300_000)
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    code = (
        "import resource, sys; from pathlib import Path; from keisei.workspace.copy import copy_paths\n"
        f"resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, {hard}))\n"
        "try: copy_paths(Path(sys.argv[1]), Path(sys.argv[2]), ['kept'])\n"
        "except Exception as error: print(type(error).__name__, error)"
    )

    done = subprocess.run([sys.executable, "-c", code, source, target], capture_output=True, text=True, check=True)

    assert done.stdout.startswith("WorldFault `kept/large` cannot be copied")
    assert "file too large" in done.stdout


READ_ONLY = """
import os, sys
from pathlib import Path
from keisei.workspace.copy import copy_paths
from keisei.workspace.removal import remove
if os.getuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
root = Path(sys.argv[1])
(root / "source/cache/module@v1/inner").mkdir(parents=True)
(root / "source/cache/module@v1/inner/code.go").write_text("package code")
for each in ("cache/module@v1/inner/code.go", "cache/module@v1/inner", "cache/module@v1"):
    path = root / "source" / each
    path.chmod(0o444 if path.is_file() else 0o555)
(root / "target").mkdir()
copy_paths(root / "source", root / "target", ["cache"])
module = root / "target/cache/module@v1"
print((module / "inner/code.go").read_text(), oct(module.stat().st_mode))
copy_paths(root / "source", root / "target", ["cache"])
(root / "source/cache/module@v1").chmod(0)
remove(root / "target")
remove(root / "source")
print(os.listdir(root))
"""


def test_read_only_folders_are_copied_replaced_and_removed_by_an_ordinary_user():
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o777)
    try:
        done = subprocess.run([sys.executable, "-c", READ_ONLY, folder], capture_output=True, text=True, check=False)
    finally:
        remove(folder)

    assert done.stdout.splitlines() == ["package code 0o40555", "[]"], done.stderr


def test_a_folder_that_is_not_there_is_removed_already(tmp_path):
    remove(tmp_path / "absent")
    remove(tmp_path / "absent/inner")


def test_removing_a_link_leaves_what_it_leads_to(tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "there/file").write_text("x")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder/link").symlink_to(tmp_path / "there")
    (tmp_path / "link").symlink_to(tmp_path / "there")

    remove(tmp_path / "link")
    remove(tmp_path / "folder")

    assert names(tmp_path) == ["there"]
    assert names(tmp_path / "there") == ["file"]
