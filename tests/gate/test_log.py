"""The gate's log: every line is a published decision, the chain goes on after any end, and doubt is a refusal."""

import errno
import json
import os
import stat
import threading

import pytest

from keisei.contracts.check import build
from keisei.gate.log import GateLog
from keisei.records.error import WorldFault
from keisei.rules.chain import broken_at

DECISION = {
    "attempt_id": "a1",
    "tool_use_id": "toolu_1",
    "tool": "Bash",
    "input": {"command": "ls"},
    "input_digest": "0" * 64,
    "decision": "allow",
    "cause": "rule",
    "latency_ms": 0.125,
    "policy_digest": "1" * 64,
    "decided_at": "2026-11-02T10:00:00.000001Z",
}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "gate.jsonl"


def written(path, count=3):
    log = GateLog(path)
    for number in range(count):
        log.append({**DECISION, "tool_use_id": f"toolu_{number}"})
    log.close()
    return path.read_bytes()


def ids(path):
    return [json.loads(line)["tool_use_id"] for line in path.read_bytes().splitlines()]


def test_every_line_is_a_published_decision_and_the_chain_holds(path):
    raw = written(path)

    assert broken_at(raw.splitlines(keepends=True)) is None
    assert [build("gate.decision", json.loads(line)).tool for line in raw.splitlines()] == ["Bash"] * 3


def test_nobody_else_may_read_it(path):
    path.touch(0o644)

    written(path)

    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_the_hash_that_comes_back_is_the_lines(path):
    found = GateLog(path).append(DECISION)

    assert json.loads(path.read_bytes())["hash"] == found


def test_another_log_goes_on_where_the_first_one_ended(path):
    written(path)
    written(path)

    assert broken_at(path.read_bytes().splitlines(keepends=True)) is None
    assert len(ids(path)) == 6


def test_a_closed_log_goes_on(path):
    log = GateLog(path)
    for _ in range(3):
        log.append(DECISION)
        log.close()

    assert not log.is_open
    assert broken_at(path.read_bytes().splitlines(keepends=True)) is None


@pytest.mark.parametrize("cut", [1, 2, 50, 400])
def test_a_torn_last_line_is_put_aside_and_told(path, cut):
    raw = written(path)
    torn = raw.splitlines()[-1]
    path.write_bytes(raw[:-cut])

    log = GateLog(path)
    log.append({**DECISION, "tool_use_id": "toolu_next"})

    assert ids(path) == ["toolu_0", "toolu_1", "toolu_next"]
    assert broken_at(path.read_bytes().splitlines(keepends=True)) is None
    assert log.torn.size == len(torn) + 1 - cut
    assert log.torn.kept.read_bytes() == torn[: len(torn) + 1 - cut] + b"\n"
    assert stat.S_IMODE(log.torn.kept.stat().st_mode) == 0o600


def test_a_file_that_is_nothing_but_a_torn_line_begins_anew(path):
    path.write_bytes(b'{"attempt_id":')

    log = GateLog(path)
    log.append(DECISION)

    assert (len(ids(path)), log.torn.size) == (1, 14)


def test_a_line_longer_than_a_read_is_found_again(path):
    log = GateLog(path)
    log.append(DECISION)
    log.append({**DECISION, "input": {"command": "x" * 300_000}})
    log.close()

    GateLog(path).append(DECISION)

    assert broken_at(path.read_bytes().splitlines(keepends=True)) is None


@pytest.mark.parametrize(
    "last",
    [b'{"a":1}\n', b"\n", b"no json\n", b'{"hash":"x","previous_hash":null}\n'],
    ids=["other", "empty", "text", "forged"],
)
def test_a_log_whose_last_line_is_not_ours_is_not_continued(path, last):
    raw = written(path)
    path.write_bytes(raw + last)

    with pytest.raises(WorldFault, match="cannot be continued"):
        GateLog(path).append(DECISION)

    assert path.read_bytes() == raw + last


def test_a_removed_log_refuses_and_does_not_begin_again(path):
    log = GateLog(path)
    log.append(DECISION)
    path.unlink()

    for _ in range(2):
        with pytest.raises(WorldFault, match="cannot be written"):
            log.append(DECISION)

    assert not path.exists()


def test_a_replaced_log_refuses(path):
    log = GateLog(path)
    log.append(DECISION)
    path.rename(path.with_name("moved"))
    path.write_bytes(b"")

    for _ in range(2):
        with pytest.raises(WorldFault, match=r"was (replaced|changed)"):
            log.append(DECISION)


@pytest.mark.parametrize("cut", [True, False], ids=["cut", "added"])
def test_a_log_somebody_else_wrote_to_refuses(path, cut):
    log = GateLog(path)
    log.append(DECISION)
    log.append(DECISION)
    raw = path.read_bytes()
    with path.open("r+b") as file:
        file.truncate(len(raw.splitlines()[0]) + 1) if cut else (
            file.seek(0, 2),
            file.write(raw.splitlines()[0] + b"\n"),
        )

    for _ in range(2):
        with pytest.raises(WorldFault, match="was changed by somebody else"):
            log.append(DECISION)


def test_a_log_of_another_service_refuses(path):
    first = GateLog(path)
    first.append(DECISION)

    with pytest.raises(WorldFault, match="another gate service"):
        GateLog(path).append(DECISION)

    first.append(DECISION)
    assert len(ids(path)) == 2


def test_a_symbolic_link_is_not_followed(path, tmp_path):
    path.symlink_to(tmp_path / "elsewhere")

    with pytest.raises(WorldFault, match="cannot be written"):
        GateLog(path).append(DECISION)

    assert not (tmp_path / "elsewhere").exists()


def test_a_pipe_a_folder_and_a_missing_folder_refuse(path, tmp_path):
    os.mkfifo(path)
    (tmp_path / "folder").mkdir()

    for place in (path, tmp_path / "folder", tmp_path / "missing" / "gate.jsonl"):
        with pytest.raises(WorldFault):
            GateLog(place).append(DECISION)


def test_a_full_disk_refuses_and_leaves_whole_lines(path, monkeypatch):
    log = GateLog(path)
    log.append(DECISION)
    write = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: write(fd, data[:20]))

    with pytest.raises(WorldFault, match="No space left"):
        log.append(DECISION)

    monkeypatch.undo()
    assert len(ids(path)) == 1
    log.append(DECISION)
    assert broken_at(path.read_bytes().splitlines(keepends=True)) is None


def test_a_disk_that_fails_refuses(path, monkeypatch):
    def fail(*_):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "write", fail)

    with pytest.raises(WorldFault, match="Input/output error"):
        GateLog(path).append(DECISION)


@pytest.mark.parametrize(
    "change",
    [{"decision": "deny"}, {"tool": ""}, {"reason": "two\nlines"}, {"other": 1}, {"input": {"a": float("nan")}}],
    ids=["no-reason", "no-tool", "two-lines", "unknown-key", "nan"],
)
def test_what_is_no_decision_is_not_written(path, change):
    with pytest.raises(ValueError, match=r"decision|canonical"):
        GateLog(path).append({**DECISION, **change})

    assert path.read_bytes() == b""


def test_an_input_with_an_integer_beyond_doubles_is_written_as_a_double(path):
    GateLog(path).append({**DECISION, "input": {"id": 2**60}})

    assert broken_at(path.read_bytes().splitlines()) is None
    assert json.loads(path.read_bytes())["input"] == {"id": 1152921504606847000}


def test_threads_write_whole_lines_into_one_chain(path):
    log = GateLog(path)
    threads = [threading.Thread(target=lambda: [log.append(DECISION) for _ in range(50)]) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    lines = path.read_bytes().splitlines(keepends=True)
    assert len(lines) == 400
    assert broken_at(lines) is None
