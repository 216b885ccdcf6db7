"""What a harness leaves is read in a folder that its agent's programs write to as well."""

import os
from datetime import UTC, datetime

import pytest

from keisei.adapters import codex, hermes
from keisei.records.launch import Exit
from keisei.wiring import leavings
from keisei.wiring.leavings import BROKEN, left_behind

DAY = "codex/sessions/2026/01/02"
LINE = b'{"type":"response_item","payload":{"type":"function_call","name":"exec_command","call_id":"c1"}}\n'


@pytest.fixture
def room(tmp_path):
    folder = tmp_path / "run" / "room"
    (folder / DAY).mkdir(parents=True)
    (folder / "hermes/sessions").mkdir(parents=True)
    return folder


def ended(stdout):
    """A harness that has ended well."""
    flags = dict.fromkeys(("stdout_truncated", "stderr_truncated", "timed_out", "canceled"), False)
    return Exit(
        code=0,
        signal=None,
        stdout=stdout,
        stderr=b"",
        survivors_killed=0,
        survivors_left=0,
        level="namespace",
        started_at=datetime.now(UTC),
        duration_s=0.0,
        **flags,
    )


def seen(room):
    return left_behind(room, codex.leaves)


def test_plain_files_are_read_by_their_patterns(room):
    (room / "last-message.txt").write_bytes(b"done")
    (room / DAY / "rollout-1.jsonl").write_bytes(LINE)
    (room / DAY / "other.jsonl").write_bytes(b"no")
    (room / "hermes/sessions/session_1.json").write_bytes(b"{}")

    assert seen(room) == {"last-message.txt": b"done", f"{DAY}/rollout-1.jsonl": LINE}
    assert left_behind(room, hermes.leaves) == {"hermes/sessions/session_1.json": b"{}"}


def test_a_harness_that_left_nothing_left_nothing(tmp_path):
    (tmp_path / "room").mkdir()

    assert left_behind(tmp_path / "room", (*codex.leaves, *hermes.leaves)) == {}


def linked(room):
    (room.parent / "secret").write_text("secret")
    (room / "last-message.txt").symlink_to(room.parent / "secret")


def piped(room):
    os.mkfifo(room / "last-message.txt")


def vast(room):
    with (room / "last-message.txt").open("wb") as file:
        file.truncate(1 << 40)


@pytest.mark.parametrize("deed", [linked, piped, vast])
def test_a_plain_name_that_is_no_plain_file_counts_as_not_left(deed, room):
    deed(room)

    assert seen(room) == {}


def moved_behind_a_link(room):
    (room / "codex").rename(room.parent / "elsewhere")
    (room / "codex").symlink_to(room.parent / "elsewhere")


def day_behind_a_link(room):
    (room / DAY).rename(room / "elsewhere")
    (room / DAY).symlink_to(room / "elsewhere")


def linked_rollout(room):
    (room / DAY / "rollout-1.jsonl").rename(room / "tmp")
    (room / DAY / "rollout-1.jsonl").symlink_to(room / "tmp")


def vast_rollout(room):
    with (room / DAY / "rollout-1.jsonl").open("r+b") as file:
        file.truncate(1 << 40)


def piped_rollout(room):
    os.mkfifo(room / DAY / "rollout-0.jsonl")


def no_folder(room):
    (room / "codex").rename(room / "elsewhere")
    (room / "codex").write_text("")


def deep(room):
    place = room / "codex/sessions"
    for _ in range(40):
        place /= "d"
        place.mkdir()


@pytest.mark.parametrize(
    "deed", [moved_behind_a_link, day_behind_a_link, linked_rollout, vast_rollout, piped_rollout, no_folder, deep]
)
def test_a_transcript_that_cannot_be_read_whole_is_not_taken_for_none(deed, room):
    (room / DAY / "rollout-1.jsonl").write_bytes(LINE)
    deed(room)
    found = seen(room)

    assert found[codex.ROLLOUTS] == BROKEN
    report = codex.read(ended(b'{"type":"turn.completed"}\n'), found)
    assert report.error is not None
    assert "cannot be read" in report.error.message


def test_a_session_of_hermes_that_cannot_be_read_is_a_call_that_nobody_judged(room):
    (room / "hermes/sessions/session_1.json").symlink_to("/dev/zero")
    report = hermes.read(ended(b""), left_behind(room, hermes.leaves))

    assert [each.id for each in report.tool_calls] == ["?"]


def test_transcripts_are_not_pushed_out_by_many_others(room, monkeypatch):
    monkeypatch.setattr(leavings, "MOST", 3)
    for number in range(5):
        (room / DAY / f"rollout-{number}.jsonl").write_bytes(LINE)

    found = seen(room)
    assert len(found) == 4
    assert found[codex.ROLLOUTS] == BROKEN


def test_names_are_counted_and_not_gathered_without_end(room, monkeypatch):
    monkeypatch.setattr(leavings, "NAMES", 4)
    for number in range(5):
        (room / DAY / f"x{number}").write_bytes(b"")

    assert seen(room) == {codex.ROLLOUTS: BROKEN}


def test_the_bytes_of_all_files_together_are_bounded(room, monkeypatch):
    monkeypatch.setattr(leavings, "ALTOGETHER", 2 * len(LINE))
    for number in range(3):
        (room / DAY / f"rollout-{number}.jsonl").write_bytes(LINE)

    assert seen(room)[codex.ROLLOUTS] == BROKEN


def test_folders_that_were_closed_are_opened_up(room):
    (room / DAY / "rollout-1.jsonl").write_bytes(LINE)
    for folder in (room / DAY, room / "codex", room):
        folder.chmod(0)

    assert seen(room)[f"{DAY}/rollout-1.jsonl"] == LINE
