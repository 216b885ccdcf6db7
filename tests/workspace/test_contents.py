"""What objects hold."""

import os
import signal
import stat
import subprocess
import sys
import time
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from keisei.records.error import WorldFault
from keisei.workspace.contents import BlobReader
from keisei.workspace.name import spelled
from tests.workspace.conftest import CLEAN, Ground

MOST = 1_000_000


@pytest.fixture
def reader(ground):
    with BlobReader(ground.facts().common_dir) as made:
        yield made


def blob_of(ground, content):
    words = ["git", "-C", ground.root, "hash-object", "-w", "--stdin"]
    return subprocess.run(words, input=content, env=CLEAN, check=True, capture_output=True).stdout.decode().strip()


@pytest.mark.parametrize("content", [b"", b"\n", b"x", bytes(range(256)) * 4000, b"a missing\nb blob 3\n"])
def test_a_blob_is_read_byte_for_byte(ground, reader, content):
    blob = blob_of(ground, content)

    assert reader.read(blob, 2 * MOST) == content
    assert reader.read(blob, 2 * MOST) == content


def test_what_is_larger_than_wanted_is_none(ground, reader):
    blob = blob_of(ground, b"12345")

    assert reader.read(blob, 4) is None
    assert reader.read(blob, 5) == b"12345"


def test_what_is_not_there_or_no_blob_is_none(ground, reader):
    head = ground.facts().head
    blob = blob_of(ground, b"x")

    for name in ("1" * 40, "0" * 40, "", "HEAD", head, head[:10], f"{head}:file", f"{blob}\ninfo {blob}", "ü" * 40):
        assert reader.read(name, MOST) is None
    assert reader.read(blob, MOST) == b"x"


def test_thousands_are_read_by_one_process(ground, reader):
    blobs = {blob_of(ground, text): text for text in (b"a", b"b" * 70_000, b"c" * 300)}
    reader.read(next(iter(blobs)), MOST)
    talk = reader._talk

    for _ in range(2000):
        assert all(reader.read(blob, MOST) == text for blob, text in blobs.items())

    assert reader._talk is talk


def test_threads_get_their_own_answers(ground, reader):
    blobs = [(blob_of(ground, text), text) for text in (b"a" * 100_000, b"b", b"c" * 5000, b"d" * 40_000)] * 50

    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda each: reader.read(each[0], MOST) == each[1], blobs))

    assert all(found)


def test_a_process_that_was_ended_is_one_error_and_then_another_one_answers(ground, reader):
    blob = blob_of(ground, b"x")
    reader.read(blob, MOST)
    program = reader._talk._program
    os.kill(program.pid, signal.SIGKILL)
    program.wait()

    with pytest.raises(WorldFault, match="cat-file"):
        reader.read(blob, MOST)

    assert reader.read(blob, MOST) == b"x"


def test_a_process_that_does_not_answer_is_ended(ground):
    blob = blob_of(ground, b"x")
    with BlobReader(ground.facts().common_dir, patience_s=0.2) as reader:
        reader.read(blob, MOST)
        program = reader._talk._program
        os.kill(program.pid, signal.SIGSTOP)

        with pytest.raises(WorldFault, match="in time"):
            reader.read(blob, MOST)

        assert program.poll() is not None


def test_a_broken_object_is_an_error_and_the_next_one_is_read(ground, reader):
    blob, good = blob_of(ground, b"whole" * 1000), blob_of(ground, b"good")
    path = Path(ground.facts().common_dir, "objects", blob[:2], blob[2:])
    path.chmod(stat.S_IRUSR | stat.S_IWUSR)
    path.write_bytes(zlib.compress(b"blob 5000\0" + b"other")[:-2])

    with pytest.raises(WorldFault):
        reader.read(blob, MOST)

    assert reader.read(good, MOST) == b"good"


def test_after_its_end_no_process_is_left(ground):
    with BlobReader(ground.facts().common_dir) as reader:
        reader.read(blob_of(ground, b"x"), MOST)
        program = reader._talk._program

    assert program.returncode is not None
    reader.close()
    reader.close()


def test_one_that_was_never_asked_starts_nothing(tmp_path):
    with BlobReader(str(tmp_path / "nowhere")) as reader:
        assert reader.read("", MOST) is None
        with pytest.raises(WorldFault):
            reader.read("1" * 40, MOST)


def test_whoever_dies_leaves_no_process(ground):
    code = (
        "import os, sys\nfrom keisei.workspace.contents import BlobReader\nreader = BlobReader(sys.argv[1])\n"
        "reader.read('1' * 40, 9)\nprint(reader._talk._program.pid, flush=True)\nos._exit(9)\n"
    )
    words = [sys.executable, "-c", code, ground.facts().common_dir]
    pid = int(subprocess.run(words, check=False, capture_output=True).stdout)

    for _ in range(500):
        state = Path(f"/proc/{pid}/stat")
        if not state.exists() or state.read_text().rsplit(")", 1)[1].split()[0] == "Z":
            break
        time.sleep(0.01)
    else:
        os.kill(pid, signal.SIGKILL)
        pytest.fail("git cat-file outlived whoever asked it")


def test_a_path_is_found_exactly(ground, reader):
    head = ground.facts().head

    for path in ("file", "src", "src/a", ".gitignore"):
        assert reader.is_at(head, path)
    for path in ("", "/", "File", "src/", "src//a", "/src", "src/../file", "./file", "src/c", "file/x", "a\nb"):
        assert not reader.is_at(head, path)
    assert not reader.is_at("1" * 40, "file")
    assert not reader.is_at("HEAD", "file")
    assert reader.is_at(head, "src/b")


def test_odd_names_are_found_as_they_are_spelled(ground, reader):
    names = [
        b"a\nb missing\n",
        b"back\\slash",
        b"\\xff",
        b"\xff\xfe",
        "ünï".encode(),
        b"sp ace",
        b"-dash",
        b":(top)x",
        b"*",
    ]
    for name in names:
        Path(os.fsdecode(os.fsencode(ground.root) + b"/" + name)).write_text("x")
    head = ground.commit()

    for name in names:
        assert reader.is_at(head, spelled(name))
    assert not reader.is_at(head, "\\xfd")
    assert not reader.is_at(head, "\udcff\ud800")
    assert not reader.is_at(head, "?")


def test_a_submodule_is_there_and_nothing_is_in_it(ground, reader):
    head = ground.facts().head
    ground.git("update-index", "--add", "--cacheinfo", f"160000,{head},module")
    ground.git("commit", "-q", "-m", "module")
    head = ground.facts().head

    assert reader.is_at(head, "module")
    assert not reader.is_at(head, "module/file")


def test_a_tree_of_another_object_format(tmp_path):
    ground = Ground(tmp_path / "other", "sha256")
    head = ground.commit(file="one\n", src__a="a\n")
    with BlobReader(ground.facts().common_dir) as reader:
        assert reader.is_at(head, "src/a")
        assert reader.read(ground.git("rev-parse", "HEAD:file").decode().strip(), 10) == b"one\n"


def test_replacements_and_filters_are_not_seen(ground, reader, tmp_path):
    ground.git("config", "core.hooksPath", str(tmp_path))
    one, two = blob_of(ground, b"one"), blob_of(ground, b"two")
    ground.git("replace", one, two)

    assert reader.read(one, MOST) == b"one"
