"""kei-fs: files and folders as they are found, hostile ones included."""

import base64
import errno
import hashlib
import inspect
import os
import resource
import socket
import sys
import threading
from fnmatch import fnmatchcase
from importlib import import_module
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema_rs import Draft7Validator

from tests.kit.desk import Declared, output_of, spec_of

VERBS = ("copy", "glob", "list", "make-folder", "move", "read", "remove", "stat", "watch", "write")
MIB = 1 << 20


class Context:
    def __init__(self, atom, seconds=60.0):
        self.codes, self.seconds = {error.code for error in spec_of(atom).manifest.errors}, seconds

    def error(self, code, message):
        assert code in self.codes
        message.encode("utf-8", "replace")
        return Declared(code, message)

    def remaining_s(self):
        return self.seconds


def started(verb, **given):
    atom = f"kei-fs::{verb}"
    if not any("\ud800" <= letter <= "\udfff" for letter in "".join(map(str, given.values()))):  # no JSON carries it
        Draft7Validator(spec_of(atom).input_schema).validate(given)
    return import_module(f"kei_fs.atoms.{verb.replace('-', '_')}").run(given, Context(atom))


def call(verb, **given):
    output = started(verb, **given)
    output_of(f"kei-fs::{verb}").validate(output)
    return output


def code(verb, **given):
    with pytest.raises(Declared) as caught:
        call(verb, **given)
    return caught.value.code


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    (tmp_path / "a work").mkdir()
    monkeypatch.chdir(tmp_path / "a work")


def put(path, data=b"hello", mode=None):
    place = Path(path)
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(data)
    if mode is not None:
        place.chmod(mode)
    return place


def tree(*paths):
    for path in paths:
        put(path)


def names(folder="."):
    return sorted(entry.name for entry in Path(folder).iterdir())


def special(kind):
    if kind == "pipe":
        os.mkfifo("odd")
    else:
        with socket.socket(socket.AF_UNIX) as one:
            one.bind("odd")
    return "odd"


# --- the pages --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("verb", VERBS)
def test_every_effect_names_a_field_and_only_what_destroys_says_so(verb):
    manifest = spec_of(f"kei-fs::{verb}").manifest
    fields = {effect.domain.partition("{")[2].partition("}")[0] for effect in manifest.side_effects}

    assert fields
    assert bool(manifest.destructive) == (verb in {"move", "remove", "write"})  # a move takes away where it stood
    assert (manifest.kind == "command") == any(effect.op == "write" for effect in manifest.side_effects)


# --- read -------------------------------------------------------------------------------------------------------------


def test_a_file_is_read_with_its_digest():
    put("notes.txt", "\ufeffsalut é\r\nzwei".encode())

    told = call("read", path="notes.txt")

    assert told["content"] == "\ufeffsalut é\r\nzwei"
    assert told["sha256"] == hashlib.sha256(Path("notes.txt").read_bytes()).hexdigest()
    assert (told["size"], told["truncated"], told["next"]) == (17, False, None)


@settings(max_examples=60, deadline=None)
@given(
    text=st.text(st.sampled_from("a\n\ré𝄞"), max_size=30),
    way=st.sampled_from([{}, {"unit": "bytes"}, {"encoding": "base64"}]),
    limit=st.integers(1, 6),
)
def test_reading_on_from_where_it_stopped_gives_the_whole_file(text, way, limit):
    put("notes.txt", text.encode())
    parts, offset = [], 0
    while offset is not None:
        told = call("read", path="notes.txt", offset=offset, limit=limit, **way)
        assert told["truncated"] == (told["next"] is not None)
        parts.append(base64.b64decode(told["content"]) if "encoding" in way else told["content"].encode())
        offset = told["next"]

    assert b"".join(parts) == text.encode()


def test_lines_stop_at_a_mebibyte_and_a_longer_one_is_read_in_bytes():
    put("long.txt", b"a" * (MIB - 1) + b"\n" + b"b" * (MIB + 1))

    first = call("read", path="long.txt")

    assert (len(first["content"]), first["next"], first["truncated"]) == (MIB, 1, True)
    assert code("read", path="long.txt", offset=1) == "TooLarge"
    assert call("read", path="long.txt", unit="bytes", offset=MIB)["content"] == "b" * MIB
    assert call("read", path="long.txt", offset=7)["content"] == ""


def test_a_huge_file_is_read_in_part_and_has_no_digest():
    with Path("huge").open("wb") as file:
        file.truncate(10 << 30)

    told = call("read", path="huge", encoding="base64", offset=9 << 30, limit=3)

    assert (told["content"], told["size"], told["sha256"], told["truncated"]) == ("AAAA", 10 << 30, None, True)
    assert code("read", path="huge") == "TooLarge"


def test_a_link_is_read_through():
    put("notes.txt")
    Path("link").symlink_to("notes.txt")

    assert call("read", path="link")["content"] == "hello"


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("missing", "NotFound"),
        ("file/x", "NotFolder"),
        ("folder", "IsFolder"),
        ("circle", "BadPath"),
        ("x" * 300, "BadPath"),
        ("binary", "NotText"),
        ("latin", "NotText"),
        ("/dev/zero", "NotRegular"),
    ],
)
def test_what_cannot_be_read_is_told_by_its_code(path, expected):
    put("file")
    put("binary", b"a\0b")
    put("latin", b"caf\xe9")
    Path("folder").mkdir()
    Path("circle").symlink_to("circle")

    assert code("read", path=path) == expected


@pytest.mark.parametrize("kind", ["pipe", "socket"])
@pytest.mark.parametrize(
    ("verb", "rest"), [("read", {}), ("write", {"content": "x", "replace": True})], ids=["read", "write"]
)
def test_nothing_waits_at_a_pipe_or_a_socket(kind, verb, rest):
    assert code(verb, path=special(kind), **rest) == "NotRegular"
    assert names() == ["odd"]


def test_a_file_that_becomes_a_pipe_after_it_was_looked_at_is_not_waited_for(monkeypatch):
    put("file")
    look = os.stat

    def swapped(*args, **named):
        told = look(*args, **named)
        Path("file").unlink()
        os.mkfifo("file")
        monkeypatch.setattr(os, "stat", look)
        return told

    monkeypatch.setattr(os, "stat", swapped)
    assert code("read", path="file") == "NotRegular"


@pytest.mark.parametrize(
    ("number", "expected"),
    [(errno.EACCES, "NotReadable"), (errno.ENOENT, "NotFound"), (errno.EIO, "Failed"), (errno.EMFILE, "Failed")],
)
def test_what_the_system_refuses_between_looking_and_opening_is_declared(monkeypatch, number, expected):
    put("file")

    def refused(*_, **__):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "open", refused)
    assert code("read", path="file") == expected


@pytest.mark.parametrize("path", ["a\0b", "a\ud800b"], ids=["nul", "half a pair"])
@pytest.mark.parametrize("verb", ["read", "list", "stat", "remove", "make-folder"])
def test_a_path_that_no_system_takes_is_refused(verb, path):
    module = import_module(f"kei_fs.atoms.{verb.replace('-', '_')}")
    with pytest.raises(Declared) as caught:
        module.run({"path": path}, Context(f"kei-fs::{verb}"))

    assert caught.value.code == "BadPath"


def test_a_working_folder_that_is_gone_is_told(tmp_path, monkeypatch):
    put("../keep")
    monkeypatch.chdir(tmp_path / "a work")
    (tmp_path / "a work").rmdir()

    assert code("write", path="x", content="y") == "NotFound"
    assert code("remove", path="x") == "NotFound"
    assert code("make-folder", path="x") == "NotFound"
    assert code("move", **{"from": "x", "to": "y"}) == "NotFound"
    assert code("copy", **{"from": str(tmp_path / "keep"), "to": "y"}) == "NotFound"
    assert call("list", path=".")["entries"] == []


# --- write ------------------------------------------------------------------------------------------------------------


def test_a_new_file_is_written_and_an_old_one_only_when_asked():
    first = call("write", path="notes.txt", content="hello")
    again = call("write", path="notes.txt", content="hello")

    assert (first["created"], first["changed"]) == (True, True)
    assert (again["created"], again["changed"]) == (False, False)
    assert code("write", path="notes.txt", content="other") == "Exists"
    assert call("write", path="notes.txt", content="other", replace=True)["changed"]
    assert Path("notes.txt").read_text() == "other"
    assert code("write", path="new/", content="") == code("write", path="notes.txt/", content="") == "IsFolder"
    assert names() == ["notes.txt"]


def test_a_file_is_replaced_only_while_it_is_what_was_read():
    put("notes.txt")
    seen = call("read", path="notes.txt")["sha256"]

    call("write", path="notes.txt", content="mine", if_sha256=seen)
    repeated = call("write", path="notes.txt", content="mine", if_sha256=seen)

    assert repeated["changed"] is False
    assert code("write", path="notes.txt", content="late", if_sha256=seen) == "Changed"
    assert code("write", path="notes.txt", content="late", if_sha256=seen, replace=True) == "Changed"
    assert code("write", path="gone.txt", content="late", if_sha256=seen) == "Changed"
    assert Path("notes.txt").read_text() == "mine"


@pytest.mark.parametrize(
    ("before", "asked", "after"),
    [
        (0o640, {}, 0o640),
        (0o640, {"executable": True}, 0o750),
        (0o755, {"executable": False}, 0o644),
        (0o755, {}, 0o755),
    ],
)
@pytest.mark.parametrize("content", ["hello", "other"])
def test_a_replaced_file_keeps_its_rights(before, asked, after, content):
    put("run", mode=before)

    call("write", path="run", content=content, replace=True, **asked)

    assert Path("run").stat().st_mode & 0o7777 == after


def test_bytes_and_folders_are_made_on_the_way():
    call("write", path="a/b/c.bin", content="AP8=", encoding="base64", parents=True, executable=True)

    assert Path("a/b/c.bin").read_bytes() == b"\x00\xff"
    assert Path("a/b/c.bin").stat().st_mode & 0o111 == 0o111
    assert code("write", path="x", content="A", encoding="base64") == "NotBase64"
    assert code("write", path="no/x", content="A") == "NotFound"
    assert code("write", path="a/b/c.bin/x", content="A") == "NotFolder"
    assert code("write", path="a/b/c.bin/x/y", content="A", parents=True) == "NotFolder"
    assert code("write", path="a", content="A", replace=True) == "IsFolder"
    assert code("write", path="a/..", content="A", replace=True) == "BadPath"


@pytest.mark.parametrize("target", ["notes.txt", "missing", "."])
def test_nothing_is_written_through_a_link(target):
    put("notes.txt")
    Path("link").symlink_to(target)

    assert code("write", path="link", content="x", replace=True) == "IsLink"
    assert code("write", path="link/", content="x", replace=True) == "IsFolder"
    assert (names(), Path("notes.txt").read_text()) == (["link", "notes.txt"], "hello")


def test_a_full_disk_leaves_the_old_file_and_nothing_beside_it():
    put("notes.txt")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    try:
        found = code("write", path="notes.txt", content="x" * 10_000, replace=True)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    assert found == "NoSpace"
    assert (names(), Path("notes.txt").read_text()) == (["notes.txt"], "hello")


@pytest.mark.parametrize(("number", "expected"), [(errno.ENOSPC, "NoSpace"), (errno.EIO, "Failed")])
def test_a_disk_that_fails_when_it_is_synced_leaves_the_old_file(monkeypatch, number, expected):
    put("notes.txt")

    def refused(_):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", refused)
    assert code("write", path="notes.txt", content="x", replace=True) == expected
    assert (names(), Path("notes.txt").read_text()) == (["notes.txt"], "hello")


@pytest.mark.parametrize("one_step", [True, False])
def test_a_file_that_comes_while_another_is_written_is_not_overwritten(monkeypatch, one_step):
    sync = os.fsync

    def raced(descriptor):
        put("notes.txt", b"theirs")
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", raced)
    if not one_step:
        monkeypatch.setattr(import_module("kei_fs.file"), "_renameat2", lambda *_: errno.ENOSYS)

    assert code("write", path="notes.txt", content="mine") == "Exists"
    assert (names(), Path("notes.txt").read_text()) == (["notes.txt"], "theirs")


def test_a_file_without_write_permission_is_left_alone(monkeypatch):
    put("notes.txt", mode=0o444)
    monkeypatch.setattr(os, "access", lambda *_, **__: False)  # root may write everywhere

    assert code("write", path="notes.txt", content="x", replace=True) == "NotWritable"


# --- list, glob, stat -------------------------------------------------------------------------------------------------


def test_a_folder_is_listed_by_name_with_types_and_no_more_than_asked():
    tree("b", "B", ".a", "é", "line\nend", "d/inner")
    os.mkfifo("p")
    Path("l").symlink_to("nowhere")

    told = call("list", path=".")

    found = {each["name"]: each["type"] for each in told["entries"]}
    assert list(found) == [".a", "B", "b", "d", "l", "line\nend", "p", "é"]
    assert [found[name] for name in ("b", "d", "l", "p")] == ["file", "folder", "link", "pipe"]
    assert [each["name"] for each in call("list", path=".", limit=2)["entries"]] == [".a", "B"]
    assert (told["truncated"], call("list", path="./", limit=2)["truncated"]) == (False, True)
    assert call("list", path=".", limit=8)["truncated"] is False
    assert [each["path"] for path in (".", "d", "./d/") for each in call("list", path=path, limit=1)["entries"]] == [
        ".a",
        "d/inner",
        "./d/inner",
    ]


def test_a_name_that_is_no_text_is_told_as_such():
    with open(b"caf\xe9", "wb"):  # noqa: PTH123 - a name that is no text
        pass
    put("caf\ufffd")

    entries = call("list", path=".")["entries"]
    matches = call("glob", path=".", pattern="caf*")["matches"]

    assert [(each["name"], each.get("lossy", False)) for each in entries] == [("caf\ufffd", True), ("caf\ufffd", False)]
    assert [(each["path"], each.get("lossy", False)) for each in matches] == [("caf\ufffd", True), ("caf\ufffd", False)]


def test_entries_that_go_away_while_they_are_listed_are_left_out(monkeypatch):
    tree("a", "b")
    look = os.stat

    def swept(path, **named):
        if path == "a":
            Path("a").unlink()
        return look(path, **named)

    monkeypatch.setattr(os, "stat", swept)
    assert [each["name"] for each in call("list", path=".")["entries"]] == ["b"]


FILES = (".h/x.py", "a.py", "a/b.py", "a/b/c.py", "a/b/d.txt", "é/[x].py", "z")


@pytest.mark.parametrize(
    ("pattern", "rest", "expected"),
    [
        ("*.py", {}, ["a.py"]),
        ("**/*.py", {}, ["a/b.py", "a/b/c.py", "a.py", "é/[x].py"]),
        ("**/*.py", {"hidden": True}, [".h/x.py", "a/b.py", "a/b/c.py", "a.py", "é/[x].py"]),
        (".h/**", {}, [".h/x.py"]),
        ("a/**", {}, ["a/b", "a/b/c.py", "a/b/d.txt", "a/b.py"]),
        ("a/**/b/*", {}, ["a/b/c.py", "a/b/d.txt"]),
        ("**/**/c.py", {}, ["a/b/c.py"]),
        ("*/", {}, ["a", "é"]),
        ("**/", {}, ["a", "a/b", "é"]),
        ("./?//[b].py", {}, ["a/b.py"]),
        ("é/[[]x].py", {}, ["é/[x].py"]),
        ("[!a]", {}, ["z", "é"]),
        ("A.py", {}, []),
    ],
)
def test_a_pattern_finds_what_it_says(pattern, rest, expected):
    tree(*(name for name in FILES if name != "a/b.py"), "a/b.py")

    told = call("glob", path=".", pattern=pattern, **rest)

    assert sorted(each["path"] for each in told["matches"]) == sorted(expected)
    assert [each["path"] for each in told["matches"]] == sorted(expected, key=lambda path: path.encode().split(b"/"))


@pytest.mark.parametrize("pattern", ["/etc/*", "../*", "a/../b", ".", "//", "./"])
def test_a_pattern_stays_below_its_folder(pattern):
    assert code("glob", path=".", pattern=pattern) == "BadPattern"


def matches(parts, names):
    """As the page says it, without any cleverness."""
    if not parts:
        return not names
    if parts[0] == "**":
        return any(matches(parts[1:], names[skipped:]) for skipped in range(len(names) + 1))
    return bool(names) and fnmatchcase(names[0], parts[0]) and matches(parts[1:], names[1:])


@settings(max_examples=100, deadline=None)
@given(
    parts=st.lists(st.sampled_from(["**", "*", "a", "b", "a*", "?", "[ab]"]), min_size=1, max_size=5),
    names=st.lists(st.sampled_from(["a", "b", "ab"]), min_size=1, max_size=5),
)
def test_a_pattern_walks_as_it_is_written(parts, names):
    pattern = import_module("kei_fs.pattern").Pattern("/".join(parts), hidden=False)
    states = pattern.start
    for name in names:
        states = pattern.step(states, name)

    whole = [*parts, "*"] if parts[-1] == "**" else parts
    assert pattern.is_whole(states) == matches(whole, names)


def test_links_are_found_and_never_entered():
    tree("out/secret.py", "in/a.py")
    Path("in/up").symlink_to("..")
    Path("in/out").symlink_to("../out")
    Path("in/self").symlink_to("self")

    told = call("glob", path="in", pattern="**")

    assert [(each["path"], each["type"]) for each in told["matches"]] == [
        ("in/a.py", "file"),
        ("in/out", "link"),
        ("in/self", "link"),
        ("in/up", "link"),
    ]


def test_a_search_is_bounded_and_says_so(monkeypatch):
    tree("a/1", "a/2", "b/1", "c/1")

    assert call("glob", path=".", pattern="**/1", limit=2)["truncated"] is True
    assert call("glob", path=".", pattern="**/1", limit=3)["truncated"] is False
    monkeypatch.setattr(import_module("kei_fs.atoms.glob"), "MOST_SEEN", 4)
    assert call("glob", path=".", pattern="**/1")["truncated"] is True


def test_folders_that_cannot_be_entered_are_counted(monkeypatch):
    tree("a/1", "b/1")
    real = os.open

    def refused(path, *args, **named):
        if path == "a":
            raise PermissionError(errno.EACCES, "no")
        return real(path, *args, **named)

    monkeypatch.setattr(os, "open", refused)
    told = call("glob", path=".", pattern="*/1")

    assert ([each["path"] for each in told["matches"]], told["unreadable"]) == (["b/1"], 1)


def test_what_stands_at_a_path_is_told_and_a_link_of_itself():
    put("notes.txt", mode=0o600)
    os.utime("notes.txt", ns=(0, 1_500_000_000))
    Path("link").symlink_to("notes.txt")
    Path("dangling").symlink_to("missing")

    told = call("stat", path="notes.txt")

    assert (told["type"], told["size"], told["mode"]) == ("file", 5, "0600")
    assert told["modified_at"] == "1970-01-01T00:00:01.500Z"
    assert {name: call("stat", path="link/")[name] for name in ("type", "target", "leads_to")} == {
        "type": "link",
        "target": "notes.txt",
        "leads_to": "file",
    }
    assert call("stat", path="dangling")["leads_to"] is None
    assert call("stat", path="/")["type"] == "folder"
    assert call("stat", path="/dev/null")["type"] == "device"
    assert code("stat", path="missing") == "NotFound"


# --- copy, move, remove, make-folder ----------------------------------------------------------------------------------


def hostile_tree():
    tree("src/a", "src/sub/line\nend", "keep/inner")
    put("src/run", mode=0o4755)
    Path("src/out").symlink_to("../keep")
    Path("src/loop").symlink_to("loop")
    with open(b"src/caf\xe9", "wb"):  # noqa: PTH123 - a name that is no text
        pass


def shape(root):
    found = {}
    for folder, folders, files in os.walk(os.fsencode(root)):
        for name in folders + files:
            path = os.path.join(folder, name)  # noqa: PTH118 - a name that is no text
            link = os.readlink(path) if os.path.islink(path) else None  # noqa: PTH114, PTH115 - as above
            found[os.path.relpath(path, os.fsencode(root))] = (link, link or os.lstat(path).st_mode & 0o777)
    return found


def test_a_tree_is_copied_with_its_links_and_rights():
    hostile_tree()

    told = call("copy", **{"from": "src", "to": "new/dst", "parents": True})

    assert (told["type"], told["entries"], told["bytes"]) == ("folder", 8, 15)
    assert shape("new/dst") == shape("src")
    assert Path("new/dst/run").stat().st_mode & 0o7777 == 0o755
    assert names("new") == ["dst"]


def test_a_file_with_holes_is_copied_with_them():
    with Path("huge").open("wb") as file:
        file.seek(5 << 30)
        file.write(b"end")
        file.truncate(10 << 30)

    told = call("copy", **{"from": "huge", "to": "copy"})

    assert told["bytes"] < MIB
    assert Path("copy").stat().st_size == 10 << 30
    with Path("copy").open("rb") as file:
        file.seek(5 << 30)
        assert file.read(3) == b"end"


def test_a_file_that_does_not_say_how_long_it_is_is_copied_whole():
    call("copy", **{"from": "/proc/version", "to": "version"})

    assert Path("version").read_text() == Path("/proc/version").read_text()


@pytest.mark.parametrize("verb", ["copy", "move"])
def test_nothing_is_put_over_something_or_into_itself(verb):
    tree("a/x", "b")
    Path("way").symlink_to("a")

    assert code(verb, **{"from": "a", "to": "b"}) == "Exists"
    assert code(verb, **{"from": "b", "to": "way"}) == "Exists"
    assert code(verb, **{"from": "b", "to": "b"}) == "Exists"
    assert code(verb, **{"from": "a", "to": "a/deep"}) == "IntoItself"
    assert code(verb, **{"from": "a", "to": "way/deep"}) == "IntoItself"
    assert code(verb, **{"from": "a", "to": "a"}) == "IntoItself"
    assert code(verb, **{"from": "missing", "to": "c"}) == "NotFound"
    assert code(verb, **{"from": "b", "to": "no/c"}) == "NotFound"
    assert code(verb, **{"from": "b", "to": "b/c", "parents": True}) == "NotFolder"
    assert (names(), names("a")) == (["a", "b", "way"], ["x"])


def test_a_pipe_in_a_tree_stops_the_copy_and_leaves_nothing():
    tree("src/a", "src/z")
    os.mkfifo("src/p")

    with pytest.raises(Declared, match="`p` in `src` is a pipe") as caught:
        call("copy", **{"from": "src", "to": "dst"})
    assert caught.value.code == "NotRegular"
    assert names() == ["src"]


def test_a_tree_that_is_too_large_or_too_deep_is_not_copied(monkeypatch):
    tree("src/a/b/c")
    module = import_module("kei_fs.tree")

    monkeypatch.setattr(module, "DEEPEST", 2)
    assert code("copy", **{"from": "src", "to": "dst"}) == "TooLarge"
    monkeypatch.setattr(module, "DEEPEST", 9)
    monkeypatch.setattr(module, "MOST", 3)
    assert code("copy", **{"from": "src", "to": "dst"}) == "TooLarge"
    assert names() == ["src"]


@pytest.mark.parametrize("one", ["file", "link", "folder"])
@pytest.mark.parametrize("far", [False, True], ids=["one file system", "two"])
def test_a_move_leaves_nothing_behind(monkeypatch, one, far):
    tree("folder/a", "file")
    Path("link").symlink_to("folder")
    before = shape(".")
    if far:
        rename, module = import_module("kei_fs.file").rename_new, import_module("kei_fs.atoms.move")

        def crossing(*_, **__):
            raise OSError(errno.EXDEV, "another file system")

        monkeypatch.setattr(module, "rename_new", crossing)
        assert import_module("kei_fs.placing").rename_new is rename

    told = call("move", **{"from": one, "to": "new"})

    assert (told["type"], told["copied"]) == (one, far)
    old = one.encode()
    renamed = {b"new" + path[len(old) :] if path.split(b"/")[0] == old else path: fact for path, fact in before.items()}
    assert shape(".") == renamed


@pytest.mark.parametrize("path", [".", "..", "/", "./", "../a work", "here", "sub/.."])
@pytest.mark.parametrize("verb", ["remove", "move"])
def test_the_folder_one_stands_in_is_neither_removed_nor_moved(verb, path):
    Path("sub").mkdir()
    path = str(Path.cwd()) if path == "here" else path
    given = {"from": path, "to": "../new"} if verb == "move" else {"path": path, "recursive": True}

    assert code(verb, **given) == "Protected"
    assert Path.cwd().is_dir()


def test_removing_takes_links_and_never_what_they_lead_to():
    hostile_tree()
    Path("way").symlink_to("keep")

    assert code("remove", path="src") == "NotEmpty"
    assert call("remove", path="way/", recursive=True)["removed"] == 1
    assert call("remove", path="src", recursive=True)["removed"] == 8
    assert (names(), names("keep")) == (["keep"], ["inner"])


def test_what_is_not_there_is_removed_already():
    Path("empty").mkdir()

    assert call("remove", path="empty")["removed"] == 1
    assert call("remove", path="empty")["removed"] == 0
    assert call("remove", path="no/such/file")["removed"] == 0
    os.mkfifo("pipe")
    assert call("remove", path="pipe")["removed"] == 1
    put("file")
    assert code("remove", path="file/x") == "NotFolder"


def test_a_folder_swapped_for_a_link_while_it_is_removed_is_not_followed(monkeypatch):
    tree("src/sub/a", "keep/inner")
    real = os.open

    def swapped(path, *args, **named):
        if path == "sub":
            Path("src/sub").rename("aside")
            Path("src/sub").symlink_to(Path("keep").absolute())
        return real(path, *args, **named)

    monkeypatch.setattr(os, "open", swapped)
    assert code("remove", path="src", recursive=True) in {"NotFolder", "BadPath"}
    assert names("keep") == ["inner"]


def test_a_folder_of_another_file_system_is_not_emptied(monkeypatch):
    tree("src/mount/a")
    look = os.fstat

    class Elsewhere:
        st_dev = -1

    monkeypatch.setattr(
        os,
        "fstat",
        lambda descriptor: Elsewhere() if Path("src").stat().st_ino == look(descriptor).st_ino else look(descriptor),
    )
    assert code("remove", path="src", recursive=True) == "Protected"
    assert Path("src/mount/a").exists()


def test_a_folder_is_made_with_those_above_it_and_twice_is_once():
    assert call("make-folder", path="a/b/../c")["created"] is True
    assert call("make-folder", path="a/c/")["created"] is False
    assert names("a") == ["b", "c"]
    Path("way").symlink_to("a")
    Path("dangling").symlink_to("missing")
    put("file")
    assert call("make-folder", path="way")["created"] is False
    assert code("make-folder", path="file") == "NotFolder"
    assert code("make-folder", path="file/x") == "NotFolder"
    assert code("make-folder", path="dangling") == "NotFolder"


def test_a_path_may_have_more_parts_than_calls_may_be_nested():
    make_folder = import_module("kei_fs.folder").make_folder
    limit, deep = sys.getrecursionlimit(), "/".join("ab" * 150)
    sys.setrecursionlimit(len(inspect.stack(0)) + 100)
    try:
        made = make_folder(deep)
    finally:
        sys.setrecursionlimit(limit)

    assert made
    assert Path(deep).is_dir()


# --- watch ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def busy():
    """Does something over and over until the test is through: when a watch has begun nobody is told."""
    over, threads = threading.Event(), []

    def start(work):
        def again():
            number = 0
            while not over.wait(0.02):
                number += 1
                work(number)

        threads.append(threading.Thread(target=again))
        threads[-1].start()

    yield start
    over.set()
    for thread in threads:
        thread.join()


def test_changes_are_told_as_they_come_and_the_stream_ends_at_its_count(busy):
    Path("src").mkdir()
    busy(lambda number: put(f"src/{number}"))

    items = list(started("watch", path="src", for_s=30, count=2))

    assert [item["change"] for item in items] == ["added", "added"]
    assert all(item["path"].startswith("src/") for item in items)
    for item in items:
        output_of("kei-fs::watch").validate(item)


def test_a_watch_ends_when_its_time_is_up_and_when_it_is_left():
    stream = started("watch", path=".", for_s=0.3)

    assert list(stream) == []
    assert code_of_stream("missing") == "NotFound"
    put("file")
    assert code_of_stream("file") == "NotFolder"


def code_of_stream(path):
    with pytest.raises(Declared) as caught:
        next(started("watch", path=path, for_s=0.3))
    return caught.value.code


def test_new_folders_are_watched_and_links_are_not_followed(busy):
    Path("src").mkdir()
    Path("outside").mkdir()
    Path("src/way").symlink_to("../outside")

    def work(number):
        put(f"outside/{number}")
        put(f"src/new{number % 4}/deep/{number}")

    busy(work)
    seen = {item["path"] for item in started("watch", path="src", for_s=30, count=60)}

    assert any(path.count("/") == 3 for path in seen)
    assert not any(path.startswith(("src/way", "outside")) for path in seen)


def test_a_name_that_is_no_text_does_not_end_a_watch(monkeypatch):
    module = import_module("kei_fs.watching")
    root = os.path.realpath(".")
    begun = []

    def watch(folders):
        begun.append(folders)
        yield set()
        if len(begun) == 1:
            raise module.WatchfilesRustInternalError('Unable to decode path "caf\\xe9" to string')
        yield {(module.Change.added, f"{root}/later")}

    monkeypatch.setattr(module, "_watch", watch)
    stream = started("watch", path=".", for_s=30, count=2)

    assert list(stream) == [{"path": ".", "change": "more"}, {"path": "later", "change": "added"}]
    assert len(begun) == 2


def test_a_folder_whose_name_is_no_text_is_passed_over():
    Path("src/caf\udce9/in").mkdir(parents=True)

    assert list(started("watch", path="src", for_s=0.3)) == []
    assert code_of_stream("src/caf\udce9") == "NotWatchable"


def test_a_flood_of_changes_is_told_in_part():
    items = import_module("kei_fs.atoms.watch")._items({(f"/r/{n:05}", "added") for n in range(1003)}, "/r", ".")

    told = list(items)

    assert told[0] == {"path": "00000", "change": "added"}
    assert told[-1] == {"path": ".", "change": "more", "left_out": 3}


def test_a_watch_ends_with_its_folder(busy):
    Path("src/sub").mkdir(parents=True)
    busy(lambda _: os.utime("src/sub") if Path("src/sub").exists() else None)
    stream = started("watch", path="src", for_s=3600)

    next(stream)
    Path("src").rename("aside")

    assert all(item["path"].startswith("src") for item in stream)


def test_too_many_folders_are_not_watched(monkeypatch):
    tree("a/1", "b/1")
    monkeypatch.setattr(import_module("kei_fs.watching"), "MOST_FOLDERS", 2)

    assert code_of_stream(".") == "TooLarge"
