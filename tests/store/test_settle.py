"""Settling: the whole of it or nothing, whatever an agent wrote, however often it is said."""

import threading

import psycopg
import pytest
from msgspec.structs import replace

from keisei.records.artifact import ArtifactRecord
from keisei.records.breaker import Breaker
from keisei.records.error import IllegalMove
from keisei.records.finding import FindingRecord
from keisei.records.move import CancelOrder, NewEntry, NewEvent
from keisei.testing.queue import new_item
from tests.store.desk import postgres_desk, sqlite_desk

HOSTILE = "half \ud800 of a pair, \0 and {\"'\\} %s :now $1 \u2028"


@pytest.fixture(params=["sqlite", "postgres"])
def desk(request, tmp_path):
    make = (
        sqlite_desk(tmp_path) if request.param == "sqlite" else postgres_desk(request.getfixturevalue("postgres_url"))
    )
    with make as found:
        yield found


def everything(desk, claimed, **changes):
    """A settlement with something for every table."""
    now, attempt_id, task_id = desk.clock.now(), claimed.attempt.attempt_id, claimed.task.task_id
    finding = FindingRecord(
        finding_id="f",
        attempt_id=attempt_id,
        capability="c",
        status="held",
        severity="block",
        run_from="worktree",
        duration_ms=1.5,
        created_at=now,
    )
    artifact = ArtifactRecord(artifact_id="a", task_id=task_id, role="output", relative_path="a.txt", created_at=now)
    parts = {
        "findings": (finding, replace(finding, finding_id="g")),
        "artifacts": (artifact, replace(artifact, relative_path="b.txt")),
        "outbox": (new_item(claimed, now), new_item(claimed, now, number=1)),
        "events": (NewEvent(event_type="task_finished", task_id=task_id, detail={"said": HOSTILE}),),
        "ledger": (NewEntry(kind="task_settled", actor="runner", subject=task_id, body={}),),
        "breaker": Breaker(adapter_id="adapter", failures=2, reason=HOSTILE, updated_at=now),
    }
    return desk.ending(claimed, "permanent_failure", error=HOSTILE, **(parts | changes))


def test_everything_is_written_once_however_often_it_is_said(desk):
    claimed = desk.running()
    settlement = everything(desk, claimed)

    assert [desk.store.settle(settlement) for _ in range(3)] == ["settled"] * 3

    task = desk.read(claimed.task.task_id)
    assert (task.status, task.last_error) == (
        "permanent_failure",
        HOSTILE.replace("\ud800", "\ufffd").replace("\0", "\ufffd"),
    )
    assert [finding.finding_id for finding in desk.store.findings(claimed.attempt.attempt_id)] == ["f", "g"]
    assert [each.relative_path for each in desk.store.artifacts(task.task_id)] == ["b.txt"]
    assert [item.key for item in desk.store.pending(9)] == [item.key for item in settlement.outbox]
    assert desk.life(task.task_id) == ["task_enqueued", "task_claimed", "task_finished"]
    assert desk.ledger() == [("task_settled", task.task_id)]
    assert desk.store.breakers()[0].failures == 2


def test_one_part_that_cannot_be_written_leaves_nothing_of_the_others(desk):
    claimed = desk.running()
    outsider = replace(new_item(claimed, desk.clock.now()), attempt_id="of nobody")

    with pytest.raises(IllegalMove), desk.unchanged():
        desk.store.settle(everything(desk, claimed, outbox=(outsider,)))

    assert desk.read(claimed.task.task_id).status == "running"
    assert desk.store.settle(everything(desk, claimed)) == "settled"


def test_a_settlement_that_ends_nothing_is_refused(desk):
    claimed, other = desk.running(), desk.running()
    right = desk.ending(claimed, "blocked")

    with desk.unchanged():
        for wrong in (
            replace(right, attempt=claimed.attempt),
            replace(right, task=claimed.task),
            replace(right, task=desk.ending(other, "blocked").task),
        ):
            with pytest.raises(IllegalMove):
                desk.store.settle(wrong)


def test_an_attempt_of_another_task_settles_nothing(desk):
    claimed, other = desk.running(), desk.running()
    settlement = desk.ending(claimed, "completed")
    borrowed = replace(settlement.attempt, attempt_id=other.attempt.attempt_id)

    with desk.unchanged():
        assert desk.store.settle(replace(settlement, attempt=borrowed)) == "lost"


def test_what_was_learnt_later_of_an_adapter_stays(desk):
    first, second = desk.running(), desk.running()
    early = Breaker(adapter_id="adapter", failures=1, updated_at=desk.clock.now())
    desk.clock.advance(5)
    late = Breaker(adapter_id="adapter", failures=7, needs_person=True, updated_at=desk.clock.now())

    desk.settle(first, "completed", breaker=late)
    desk.settle(second, "completed", breaker=early)

    assert desk.store.breakers() == [late]


def test_a_cancel_that_comes_while_settling_waits_is_heard(postgres_url):
    """The settlement waits for the row; what it finds then is what counts."""
    with postgres_desk(postgres_url) as desk:
        claimed = desk.running()
        answers = []
        with psycopg.connect(postgres_url) as operator:
            operator.execute("UPDATE tasks SET cancel_at = 1, cancel_reason = 'stop'")
            settling = threading.Thread(target=lambda: answers.append(desk.settle(claimed, "completed")))
            settling.start()
            wait_for_a_lock(desk)
            operator.commit()
            settling.join()

        assert answers == ["canceled"]
        assert desk.settle(claimed, "operator_canceled") == "settled"


def test_a_sweep_that_comes_while_settling_waits_is_heard(postgres_url):
    with postgres_desk(postgres_url) as desk:
        claimed = desk.running()
        answers = []
        with psycopg.connect(postgres_url) as sweeper:
            sweeper.execute("UPDATE tasks SET fence = fence + 1")
            sweeper.execute("UPDATE attempts SET fence = fence + 1")
            settling = threading.Thread(target=lambda: answers.append(desk.settle(claimed, "completed")))
            settling.start()
            wait_for_a_lock(desk)
            sweeper.commit()
            settling.join()

        assert answers == ["lost"]
        assert desk.read(claimed.task.task_id).status == "running"


def wait_for_a_lock(desk):
    """Until somebody waits for a row."""
    while not desk.sql("SELECT 1 FROM pg_locks WHERE NOT granted"):
        pass


def test_a_cancel_is_forgotten_with_the_task_it_ended(desk):
    claimed = desk.running()
    order = CancelOrder(task_id=claimed.task.task_id, reason=HOSTILE, actor="me")

    assert desk.store.request_cancel(order) == (claimed.task.task_id,)
    assert desk.store.request_cancel(order) == ()
    assert desk.settle(claimed, "completed") == "canceled"
    assert desk.settle(claimed, "operator_canceled") == "settled"

    assert desk.sql("SELECT cancel_at, cancel_reason FROM tasks") == [(None, None)]
