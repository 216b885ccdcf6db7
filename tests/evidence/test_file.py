"""Evidence in files: written once, whole or not at all, and there after any kind of end."""

import errno
import hashlib
import os
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from keisei.evidence.file import PART, FileEvidence
from keisei.records.error import IllegalMove, Refused, WorldFault
from keisei.records.evidence import Stored

KEY = "attempts/2026-11/a1/stdout.log"


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "state of things" / "evidence"


@pytest.fixture
def evidence(folder):
    return FileEvidence(folder)


def strays(folder):
    return [path for path in folder.rglob("*") if path.name.startswith(PART)]


def test_what_is_put_comes_back_byte_for_byte(evidence):
    data = bytes(range(256)) * 10

    stored = evidence.put(KEY, data)

    assert stored == Stored(key=KEY, sha256=hashlib.sha256(data).hexdigest(), size=2560)
    assert evidence.get(KEY) == data
    assert evidence.stored(KEY) == stored


def test_nothing_is_nothing(evidence):
    assert evidence.get(KEY) is None
    assert evidence.open(KEY) is None
    assert evidence.stored(KEY) is None
    assert evidence.keys() == []
    assert evidence.keys("attempts/") == []
    assert evidence.tidy("attempts/2026-11/a1") == 0


def test_an_empty_file_is_a_file(evidence):
    evidence.put(KEY, b"")

    assert evidence.get(KEY) == b""


def test_nobody_else_may_read_it(evidence, folder):
    evidence.put(KEY, b"x")

    modes = {path.relative_to(folder): stat.S_IMODE(path.stat().st_mode) for path in folder.rglob("*")}
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {mode for path, mode in modes.items() if path.suffix} == {0o600}
    assert {mode for path, mode in modes.items() if not path.suffix} == {0o700}


def test_the_same_again_is_fine_and_other_content_is_not(evidence):
    first = evidence.put(KEY, b"one")

    assert evidence.put(KEY, b"one") == first
    with pytest.raises(IllegalMove, match="stored already, with other content"):
        evidence.put(KEY, b"two")

    assert evidence.get(KEY) == b"one"


def test_ranges_can_be_read(evidence):
    evidence.put(KEY, b"0123456789")

    with evidence.open(KEY) as file:
        file.seek(4)
        assert file.read(3) == b"456"


def test_keys_are_listed_by_prefix(evidence, folder):
    for key in ("attempts/2026-10/a0/x", "attempts/2026-11/a1/x", "attempts/2026-11/a1/y", "attempts/2026-11/a12/x"):
        evidence.put(key, b"x")
    (folder / "attempts/2026-11/a1/.hidden").touch()
    (folder / "attempts/2026-11/a1/link").symlink_to("x")
    os.mkfifo(folder / "attempts/2026-11/a1/pipe")

    assert evidence.keys("attempts/2026-11/a1/") == ["attempts/2026-11/a1/x", "attempts/2026-11/a1/y"]
    assert len(evidence.keys("attempts/2026-11/a1")) == 3
    assert len(evidence.keys()) == 4
    assert evidence.keys("attempts/2027-01/") == []


@pytest.mark.parametrize("key", ["../x", "/etc/passwd", "a/../../x", ".part-1", "a\0b", ""])
def test_what_is_no_key_is_refused_everywhere(evidence, key):
    for verb in (evidence.get, evidence.open, evidence.stored, lambda key: evidence.put(key, b"x")):
        with pytest.raises(Refused):
            verb(key)


def test_a_prefix_leads_nowhere_else(evidence):
    with pytest.raises(Refused):
        evidence.keys("../")


# Files --------------------------------------------------------------------------------------------------------------


def test_a_file_is_copied_and_shares_nothing_with_the_original(evidence, folder, tmp_path):
    source = tmp_path / "spool"
    source.write_bytes(b"x" * 3_000_000)

    stored = evidence.put_file(KEY, source)
    source.write_bytes(b"changed")

    assert (stored.size, evidence.stored(KEY)) == (3_000_000, stored)
    assert (folder / KEY).stat().st_nlink == 1


def test_a_large_file_is_never_in_memory_as_a_whole(folder, tmp_path):
    """The copy is made with less memory than the file has bytes."""
    source = tmp_path / "large"
    with source.open("wb") as file:
        file.truncate(96 << 20)
    code = (
        "import resource, sys; from pathlib import Path; from keisei.evidence.file import FileEvidence\n"
        "used = int(Path('/proc/self/statm').read_text().split()[0]) * resource.getpagesize()\n"
        "resource.setrlimit(resource.RLIMIT_AS, (used + (40 << 20), resource.RLIM_INFINITY))\n"
        "print(FileEvidence(Path(sys.argv[1])).put_file('a/b', Path(sys.argv[2])).size)"
    )

    done = subprocess.run([sys.executable, "-c", code, folder, source], capture_output=True, text=True, check=False)

    assert (done.stdout, done.stderr) == (f"{96 << 20}\n", "")


def pipe(path):
    os.mkfifo(path)


def link(path):
    path.with_name("target").write_text("x")
    path.symlink_to("target")


@pytest.mark.parametrize("make", [pipe, link, Path.mkdir, lambda _: None], ids=["pipe", "link", "folder", "missing"])
def test_only_a_regular_file_is_copied_and_nobody_waits(evidence, tmp_path, make):
    make(tmp_path / "source")

    with pytest.raises(WorldFault, match="cannot be stored"):
        evidence.put_file(KEY, tmp_path / "source")

    assert evidence.keys() == []


# Hostile folders ----------------------------------------------------------------------------------------------------


def test_a_folder_that_is_a_link_is_not_entered(evidence, folder, tmp_path):
    (tmp_path / "elsewhere/2026-11/a1").mkdir(parents=True)
    (tmp_path / "elsewhere/2026-11/a1/stdout.log").write_text("forged")
    folder.mkdir(parents=True)
    (folder / "attempts").symlink_to(tmp_path / "elsewhere")

    for verb in (lambda: evidence.put(KEY, b"x"), lambda: evidence.get(KEY)):
        with pytest.raises(WorldFault):
            verb()
    assert (tmp_path / "elsewhere/2026-11/a1/stdout.log").read_text() == "forged"


@pytest.mark.parametrize("make", [pipe, link, Path.mkdir], ids=["pipe", "link", "folder"])
def test_a_key_that_is_no_regular_file_is_a_fault(evidence, folder, make):
    (folder / KEY).parent.mkdir(parents=True)
    make(folder / KEY)

    for verb in (lambda: evidence.get(KEY), lambda: evidence.stored(KEY), lambda: evidence.put(KEY, b"x")):
        with pytest.raises(WorldFault):
            verb()
    assert strays(folder) == []


def test_evidence_that_was_changed_is_not_taken_for_the_same(evidence, folder):
    evidence.put(KEY, b"one")
    (folder / KEY).write_bytes(b"two")

    with pytest.raises(IllegalMove):
        evidence.put(KEY, b"one")


def test_a_folder_that_was_removed_is_made_again(evidence, folder):
    evidence.put(KEY, b"one")
    (folder / KEY).unlink()
    (folder / KEY).parent.rmdir()

    evidence.put(KEY, b"two")

    assert evidence.get(KEY) == b"two"


# The disk -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("call", ["write", "fsync", "link", "mkdir", "open"])
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS])
def test_a_disk_that_does_not_take_it_is_one_sentence_and_leaves_nothing(evidence, folder, monkeypatch, call, number):
    def failing(*_args, **_kwargs):
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patch:
        patch.setattr(os, call, failing)
        with pytest.raises(WorldFault) as fault:
            evidence.put(KEY, b"x" * 100)

    assert os.strerror(number) in fault.value.message
    assert fault.value.retryable == (number != errno.EROFS)
    assert (fault.value.hint == "make room on the disk") == (number in (errno.ENOSPC, errno.EDQUOT))
    assert evidence.get(KEY) is None or call == "fsync"
    assert strays(folder) == []


def test_a_disk_that_fills_up_on_the_way_leaves_no_half_file(evidence, folder, monkeypatch):
    real = os.write

    def filling(descriptor, data):
        if len(data) <= 10:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(descriptor, data[: len(data) // 2])

    monkeypatch.setattr(os, "write", filling)

    with pytest.raises(WorldFault, match="No space left on device"):
        evidence.put(KEY, b"x" * 1000)
    assert evidence.get(KEY) is None
    assert strays(folder) == []


def test_a_limit_on_the_size_of_files_is_a_fault_like_a_full_disk(folder):
    code = (
        "import resource, sys; from pathlib import Path; from keisei.evidence.file import FileEvidence\n"
        "from keisei.records.error import WorldFault\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))\n"
        "try: FileEvidence(Path(sys.argv[1])).put('a/b', b'x' * 200_000)\n"
        "except WorldFault as fault: print(fault)"
    )

    done = subprocess.run([sys.executable, "-c", code, folder], capture_output=True, text=True, check=False)

    assert (done.stdout, done.stderr) == ("evidence `a/b` cannot be stored: File too large\n", "")
    assert FileEvidence(folder).keys() == []


@pytest.fixture
def steps(monkeypatch):
    """What is made and what is flushed, in order."""
    found = []

    def noted(name, path_of):
        real = getattr(os, name)

        def calling(*args, **kwargs):
            path = path_of(*args)
            found.append((name, "part" if path.startswith(PART) else path))
            return real(*args, **kwargs)

        monkeypatch.setattr(os, name, calling)

    noted("fsync", lambda descriptor: Path(os.readlink(f"/proc/self/fd/{descriptor}")).name)  # noqa: PTH115 - not a path
    noted("mkdir", lambda name, *_: Path(name).name)
    noted("link", lambda _, name: name)
    return found


def test_everything_is_on_the_disk_before_anybody_is_told(folder, steps):
    """The content before the name, the name before the return, each folder before what is in it."""
    folder.parent.mkdir()
    steps.clear()

    FileEvidence(folder).put("attempts/a1/x", b"1")

    assert steps == [
        ("mkdir", "evidence"),
        ("fsync", "state of things"),
        ("mkdir", "attempts"),
        ("fsync", "evidence"),
        ("mkdir", "a1"),
        ("fsync", "attempts"),
        ("fsync", "part"),
        ("link", "x"),
        ("fsync", "a1"),
    ]


def test_folders_that_somebody_else_made_are_flushed_once(evidence, folder, steps):
    evidence.put("attempts/a1/x", b"1")
    other = FileEvidence(folder)
    steps.clear()

    other.put("attempts/a1/y", b"1")
    first, steps[:] = [path for name, path in steps if name == "fsync"], []
    other.put("attempts/a1/z", b"1")

    assert first == ["state of things", "evidence", "attempts", "part", "a1"]
    assert [path for name, path in steps if name == "fsync"] == ["part", "a1"]


def test_reading_makes_nothing(evidence, folder):
    evidence.get(KEY)
    evidence.keys("attempts/")
    evidence.tidy("attempts")

    assert not folder.exists()
    evidence.put(KEY, b"x")
    evidence.get("other/x")
    assert not (folder / "other").exists()


# Others at the same time, and sudden ends ---------------------------------------------------------------------------


def test_many_writers_of_one_key_agree_on_one_content(folder):
    results = []

    def write(number):
        try:
            results.append(FileEvidence(folder).put(KEY, b"%d" % (number % 2) * 10_000).sha256)
        except IllegalMove:
            results.append(None)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    winner = FileEvidence(folder).stored(KEY).sha256
    assert set(results) == {winner, None}
    assert results.count(winner) == 8
    assert strays(folder) == []


WRITER = """
import sys
from pathlib import Path
from keisei.evidence.file import FileEvidence

evidence = FileEvidence(Path(sys.argv[1]))
for number in range(100_000):
    key = f"attempts/2026-11/a{number // 8}/f{number}.log"
    stored = evidence.put(key, b"%d " % number * 40_000)
    print(key, stored.sha256, flush=True)
"""


@pytest.mark.parametrize("lines", [1, 5, 23])
def test_a_writer_that_is_killed_leaves_whole_files_and_everything_it_told_of(folder, lines):
    writer = subprocess.Popen([sys.executable, "-c", WRITER, folder], stdout=subprocess.PIPE, text=True)
    with writer:
        told = dict(writer.stdout.readline().split() for _ in range(lines))
        writer.send_signal(signal.SIGKILL)
        told |= dict(line.split() for line in writer.stdout if line.endswith("\n"))

    evidence = FileEvidence(folder)
    found = {key: evidence.stored(key).sha256 for key in evidence.keys()}  # noqa: SIM118 - not a dict
    assert told.items() <= found.items()
    for key, sha256 in found.items():
        number = int(key.rpartition("/f")[2].removesuffix(".log"))
        assert sha256 == hashlib.sha256(b"%d " % number * 40_000).hexdigest()
    assert len(found) - len(told) <= 1


def test_what_a_killed_writer_left_is_no_key_and_can_be_removed(evidence, folder):
    evidence.put(KEY, b"x")
    (folder / KEY).with_name(f"{PART}0123").write_bytes(b"half")

    assert evidence.keys() == [KEY]
    assert evidence.tidy("attempts/2026-11/a1/") == 1
    assert strays(folder) == []
    assert evidence.get(KEY) == b"x"


def test_no_descriptor_is_left_open(evidence, tmp_path):
    (tmp_path / "folder").mkdir()
    before = len(list(Path("/proc/self/fd").iterdir()))

    evidence.put(KEY, b"x")
    evidence.put("attempts/a/b", b"y")
    evidence.get(KEY)
    evidence.stored(KEY)
    evidence.keys()
    (tmp_path / "file").write_text("x")
    evidence.put_file("attempts/a/c", tmp_path / "file")
    with pytest.raises(WorldFault):
        evidence.put_file("a/b", tmp_path / "folder")
    with pytest.raises(IllegalMove):
        evidence.put(KEY, b"z")

    assert len(list(Path("/proc/self/fd").iterdir())) == before
