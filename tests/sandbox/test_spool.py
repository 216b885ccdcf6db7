"""Spools: files hold what a program wrote, byte for byte, without the secrets, however it was cut into pieces."""

import base64
import hashlib
import json
import os
import re
import stat
import subprocess
import sys
from itertools import pairwise
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from keisei.records.error import WorldFault
from keisei.rules.redact import MARK, byte_forms
from keisei.sandbox.process import open_process
from keisei.sandbox.sieve import Sieve
from keisei.sandbox.spool import Spool
from tests.sandbox.program import NEVER_S, eventually, launch

MARKED = MARK.encode()
SECRETS = ("hunter2-hunter2", "abcabcabc", 's3cr/t "ß+&\\key', "abcabc-hunter2")
PROPERTY = settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])


def whole(data: bytes, secrets) -> bytes:
    """The same in one piece, and in the plainest way: every byte of every form is blacked out."""
    black = bytearray(len(data))
    for form in byte_forms(secrets):
        for found in re.finditer(b"(?=%s)" % re.escape(form), data):
            black[found.start() : found.start() + len(form)] = b"\1" * len(form)
    parts = []
    for at, byte in enumerate(data):
        if not black[at]:
            parts.append(bytes([byte]))
        elif at == 0 or not black[at - 1]:
            parts.append(MARKED)
    return b"".join(parts)


def pieces(data: bytes, cuts) -> list[bytes]:
    edges = sorted({0, len(data), *(cut % (len(data) + 1) for cut in cuts)})
    return [data[start:stop] for start, stop in pairwise(edges)]


def streams(secrets=SECRETS) -> st.SearchStrategy[bytes]:
    """Bytes in which secrets, halves of secrets and anything else follow each other."""
    forms = st.sampled_from(byte_forms(secrets))
    halves = st.builds(lambda form, start, stop: form[start:stop], forms, st.integers(0, 12), st.integers(0, 12))
    return st.lists(st.binary(max_size=4) | forms | halves, max_size=10).map(b"".join)


CUTS = st.lists(st.integers(0, 10_000), max_size=12)


@PROPERTY
@given(streams(), CUTS)
def test_any_cut_of_any_stream_gives_the_same(data, cuts):
    sieve = Sieve(SECRETS)
    longest = len(byte_forms(SECRETS)[-1])

    out = b""
    for piece in pieces(data, cuts):
        out += sieve.feed(piece)
        assert len(sieve._held) < longest
    out += sieve.finish()

    assert out == whole(data, SECRETS)


@PROPERTY
@given(data=streams(), cuts=CUTS, cap=st.integers(0, 60))
def test_any_cut_of_any_stream_gives_the_same_file(data, cuts, cap, tmp_path_factory):
    folder = tmp_path_factory.mktemp("spool")

    with Spool(folder, cap=cap, secrets=SECRETS) as spool:
        for piece in pieces(data, cuts):
            spool.write("stderr", piece)

    expected = whole(data, SECRETS)
    told = spool.summary().stderr
    assert (folder / "stderr.log").read_bytes() == expected[:cap]
    assert (told.bytes_seen, told.bytes_kept) == (len(data), len(expected[:cap]))
    assert told.truncated == (len(expected) > cap)
    assert told.sha256 == hashlib.sha256(expected[:cap]).hexdigest()
    assert spool.summary().stdout.bytes_seen == 0


def written(secret: str) -> dict[str, bytes]:
    """A secret in the forms in which programs write it, made here without the help of what is tested."""
    raw = secret.encode()
    return {
        "raw": raw,
        "json": json.dumps(secret)[1:-1].encode(),
        "json, not ASCII": json.dumps(secret, ensure_ascii=False)[1:-1].encode(),
        "json in json": json.dumps(json.dumps(secret))[3:-3].encode(),
        "percent": quote(secret, safe="").encode(),
        "percent, path": quote(secret).encode(),
        "percent, form": quote_plus(secret).encode(),
        "percent, small": re.sub("%..", lambda match: match[0].lower(), quote(secret, safe="")).encode(),
        "base64": base64.b64encode(raw).rstrip(b"=")[: len(raw) * 8 // 6],
        "base64, address": base64.urlsafe_b64encode(raw).rstrip(b"=")[: len(raw) * 8 // 6],
        "base64, one before": base64.b64encode(b"x" + raw)[2 : (len(raw) + 1) * 8 // 6],
        "base64, two before": base64.b64encode(b"xy" + raw)[3 : (len(raw) + 2) * 8 // 6],
        "base64, wrapped": base64.encodebytes(raw).rstrip(b"=\n")[: len(raw) * 8 // 6 + len(raw) // 57],
        "hex": raw.hex().encode(),
        "HEX": raw.hex().upper().encode(),
    }


@PROPERTY
@given(
    st.text(st.characters(codec="utf-8"), min_size=6, max_size=100), st.binary(max_size=8), st.binary(max_size=8), CUTS
)
def test_no_secret_comes_out_in_any_form(secret, before, after, cuts):
    assume(len(secret.strip()) >= 6)
    for form in written(secret).values():
        sieve = Sieve([secret])

        out = b"".join(map(sieve.feed, pieces(before + form + after, cuts))) + sieve.finish()

        assert MARKED in out
        assert not any(part.count(form) for part in out.split(MARKED))


@PROPERTY
@given(st.binary(max_size=200), CUTS)
def test_what_holds_no_secret_is_exactly_what_was_written(data, cuts):
    sieve = Sieve(["a secret that is nowhere to be found"])

    out = b"".join(map(sieve.feed, pieces(data, cuts))) + sieve.finish()

    assert out == data


@pytest.mark.parametrize("secret", ["", "short", "     \n"])
def test_what_is_too_short_to_be_a_secret_is_none(secret):
    assert byte_forms([secret]) == ()
    assert Sieve([secret]).feed(b"a short word") == b"a short word"


def test_a_secret_that_is_no_text_is_known_by_its_bytes():
    raw = b"\xff\xfe-secret-\x80"
    sieve = Sieve([os.fsdecode(raw)])

    assert sieve.feed(b"<" + raw + b"|" + raw.hex().encode() + b">") == b"<%s|%s>" % (MARKED, MARKED)


def test_only_what_may_be_the_beginning_of_a_secret_is_held_back():
    sieve = Sieve(["hunter2-hunter2"])

    assert sieve.feed(b"plain text\n") == b"plain text\n"
    assert sieve.feed(b"say hunter2") == b"say "
    assert sieve.feed(b" again") == b"hunter2 again"


def test_two_streams_go_to_two_files_for_our_eyes_only(tmp_path):
    with Spool(tmp_path, cap=1000) as spool:
        spool.write("stdout", b"out \xff\x00")
        spool.write("stderr", b"err")

    assert (tmp_path / "stdout.log").read_bytes() == b"out \xff\x00"
    assert (tmp_path / "stderr.log").read_bytes() == b"err"
    assert {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()} == {0o600}
    assert spool.summary().stderr.sha256 == hashlib.sha256(b"err").hexdigest()


def test_a_reader_can_follow_a_program_that_goes_on(tmp_path):
    with Spool(tmp_path, cap=1000, secrets=["hunter2-hunter2"]) as spool:
        program = launch("sh", "-c", "echo first hunter2-hunter2; read line; echo last")
        with open_process(program, keep_stdin=True, on_output=spool.write) as process:
            while not (tmp_path / "stdout.log").read_bytes().endswith(b"\n") and process.pump(1):
                pass
            early = (tmp_path / "stdout.log").read_bytes()
            process.write(b"\n")
            process.wait()

    assert early == b"first %s\n" % MARKED
    assert (tmp_path / "stdout.log").read_bytes() == b"first %s\nlast\n" % MARKED


@pytest.mark.parametrize("name", ["stdout.log", "stderr.log"])
@pytest.mark.parametrize("shape", ["file", "dangling link", "folder"])
def test_what_is_there_already_is_never_written(shape, name, tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    if shape == "file":
        (folder / name).write_bytes(b"old")
    elif shape == "folder":
        (folder / name).mkdir()
    else:
        (folder / name).symlink_to(tmp_path / "elsewhere")

    with pytest.raises(WorldFault, match=f"the output cannot be kept in `{folder}/{name}`: File exists"):
        Spool(folder, cap=10)

    assert not (tmp_path / "elsewhere").exists()
    assert shape != "file" or (folder / name).read_bytes() == b"old"


def test_a_folder_that_is_a_link_or_is_not_there_is_refused(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")

    with pytest.raises(WorldFault, match=r"link/stdout\.log"):
        Spool(tmp_path / "link", cap=10)
    with pytest.raises(WorldFault, match=r"nowhere/stdout\.log`: No such file or directory"):
        Spool(tmp_path / "nowhere", cap=10)

    assert list((tmp_path / "real").iterdir()) == []


def test_a_full_disk_ends_the_writing_and_not_the_program(tmp_path):
    full = os.open("/dev/full", os.O_WRONLY)
    with Spool(tmp_path, cap=10**9) as spool:
        program = launch("sh", "-c", "echo first; read line; head -c 1000000 /dev/zero; echo err >&2; exit 3")
        with open_process(program, keep_stdin=True, on_output=spool.write) as process:
            assert eventually(lambda: not process.pump(0.1) or spool.summary().stdout.bytes_kept == 6)
            os.dup2(full, spool._streams["stdout"]._handle)
            process.write(b"\n")
            ended = process.wait()
    os.close(full)

    told = spool.summary()
    assert ended.code == 3
    assert (told.stdout.bytes_seen, told.stdout.bytes_kept, told.stdout.truncated) == (1_000_006, 6, True)
    assert (told.stdout.disk_full, told.stdout.sha256) == (True, hashlib.sha256(b"first\n").hexdigest())
    assert told.stdout.fault == "the output could not be written: No space left on device"
    assert (told.stderr.disk_full, told.stderr.bytes_kept, told.stderr.fault) == (False, 4, None)


LIMITED = """
import resource, sys
from pathlib import Path
from keisei.sandbox.spool import Spool
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
with Spool(Path(sys.argv[1]), cap=10**6) as spool:
    spool.write("stdout", b"x" * 1500)
    spool.write("stdout", b"y")
told = spool.summary().stdout
print(told.bytes_seen, told.bytes_kept, told.disk_full, told.truncated, told.sha256)
"""


def test_what_a_limit_still_took_is_kept_and_told(tmp_path):
    told = subprocess.run(
        [sys.executable, "-c", LIMITED, tmp_path], capture_output=True, check=True, text=True, timeout=NEVER_S
    )

    digest = hashlib.sha256(b"x" * 1000).hexdigest()
    assert told.stdout.split() == ["1501", "1000", "True", "True", digest]
    assert (tmp_path / "stdout.log").read_bytes() == b"x" * 1000


def test_what_comes_after_the_end_is_counted_and_not_written(tmp_path):
    spool = Spool(tmp_path, cap=100)
    spool.close()
    spool.close()

    spool.write("stdout", b"late")

    assert (tmp_path / "stdout.log").read_bytes() == b""
    assert (spool.summary().stdout.bytes_seen, spool.summary().stdout.truncated) == (4, True)
