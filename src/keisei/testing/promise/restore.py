"""Restore: tasks that were made elsewhere enter as they were, once, and only as they can be."""

from datetime import timedelta
from typing import Any

from msgspec.structs import replace

from keisei.records.beside import Beside
from keisei.records.error import KeiseiError
from keisei.records.id import AdapterId, TaskId
from keisei.records.intent import Budget
from keisei.records.move import NewEntry, NewEvent
from keisei.records.outcome import OutcomeStatus
from keisei.records.task import TERMINAL, TaskRecord, TaskStatus
from keisei.testing.promise.book import PARTIES, at_once, promise
from keisei.testing.promise.order import freeing
from keisei.testing.promise.text import DOUBTFUL, LONG, STORED
from keisei.testing.queue import Desk, new_outcome, new_task, refused

TOLD = Beside(
    events=(NewEvent(event_type="operator_ordered"),),
    ledger=(NewEntry(kind="tasks_imported", actor="ann", subject="runtime.db", body={}),),
)
ALL: tuple[TaskStatus, ...] = (
    "pending",
    "completed",
    "retryable_failure",
    "permanent_failure",
    "blocked",
    "operator_canceled",
)
OUTCOMES: dict[TaskStatus, OutcomeStatus] = {
    "completed": "completed",
    "retryable_failure": "retryable_failure",
    "permanent_failure": "permanent_failure",
    "blocked": "blocked",
    "operator_canceled": "operator_canceled",
}


def made_elsewhere(desk: Desk, status: TaskStatus, **changes: Any) -> TaskRecord:  # noqa: ANN401 - of TaskRecord
    """A task with a past."""
    then = desk.clock.now() - timedelta(days=30)
    fields: dict[str, Any] = {
        "status": status,
        "attempt_count": 1,
        "started_at": then,
        "finished_at": then + timedelta(hours=1) if status in TERMINAL else None,
        "outcome": new_outcome(OUTCOMES[status]) if status in OUTCOMES else None,
        "last_error": "no",
        "subject": "from before",
        "payload": {"n": 1},
    }
    return new_task(TaskId(desk.name("old")), then, **(fields | changes))


@promise
def a_task_from_elsewhere_is_kept_as_it_was(desk: Desk) -> None:
    """In every status but running, with its own times and outcome, without an event of its own."""
    tasks = [made_elsewhere(desk, status) for status in ALL]
    rich = made_elsewhere(
        desk,
        "blocked",
        requested_adapter_id=AdapterId("codex"),
        idempotency_key="key",
        budget=Budget(max_cost_usd=1.5),
        parent_task_id=tasks[0].task_id,
        priority=7,
    )

    assert desk.store.restore([*tasks, rich], TOLD) == [True] * (len(ALL) + 1)

    for task in (*tasks, rich):
        assert desk.read(task.task_id) == task
        assert desk.life(task.task_id) == []
    assert desk.life(None) == ["operator_ordered"]
    assert [kind for kind, _ in desk.ledger()] == ["tasks_imported"]


@promise
def a_restored_task_goes_on_like_any_other(desk: Desk) -> None:
    """What was due is claimed, what is blocked can be freed, what is over stays over."""
    tomorrow = desk.clock.now() + timedelta(days=1)
    due, failed = made_elsewhere(desk, "pending"), made_elsewhere(desk, "retryable_failure")
    later, blocked = made_elsewhere(desk, "pending", available_at=tomorrow), made_elsewhere(desk, "blocked")
    over = made_elsewhere(desk, "completed")
    desk.store.restore([due, failed, later, blocked, over], Beside())

    assert {one.task.task_id for one in desk.claim(desk.runner(), 9)} == {due.task_id, failed.task_id}
    assert desk.store.move(freeing(desk, desk.read(blocked.task_id)))
    assert [one.task.task_id for one in desk.claim(desk.runner(), 9)] == [blocked.task_id]
    desk.clock.advance(100_000)
    desk.store.wake_due()
    assert [one.task.task_id for one in desk.claim(desk.runner(), 9)] == [later.task_id]


@promise
def a_task_is_restored_once(desk: Desk) -> None:
    """A known id or key writes nothing, in the same batch or later; what stands beside is written all the same."""
    task = made_elsewhere(desk, "completed", idempotency_key="key")
    again = replace(task, subject="another")
    same_key = made_elsewhere(desk, "pending", idempotency_key="key")

    assert desk.store.restore([task, again, same_key], Beside()) == [True, False, False]
    with desk.unchanged():
        assert desk.store.restore([again, same_key], Beside()) == [False, False]
        assert desk.store.restore([], Beside()) == []

    assert desk.read(task.task_id) == task
    assert desk.store.restore([again], TOLD) == [False]
    assert desk.life(None) == ["operator_ordered"]


@promise
def of_many_who_restore_the_same_one_does(desk: Desk) -> None:
    """However many import at once."""
    tasks = [made_elsewhere(desk, status) for status in ALL]
    stores = [desk.another() for _ in range(PARTIES)]

    answers = at_once(lambda store: store.restore(tasks, Beside()), stores)

    assert [sum(new) for new in zip(*answers, strict=True)] == [1] * len(tasks)


@promise
def a_task_that_could_not_be_there_is_refused(desk: Desk) -> None:
    """By its name, with nothing of its batch written."""
    good = made_elsewhere(desk, "pending")
    now = desk.clock.now()
    wrong = [
        made_elsewhere(desk, "running"),
        made_elsewhere(desk, "pending", attempt_count=3),
        made_elsewhere(desk, "retryable_failure", attempt_count=3),
        made_elsewhere(desk, "blocked", attempt_count=4),
        made_elsewhere(desk, "completed", attempt_count=4),
        made_elsewhere(desk, "pending", finished_at=now),
        made_elsewhere(desk, "blocked", finished_at=now),
        made_elsewhere(desk, "blocked", attempt_count=-1),
        made_elsewhere(desk, "pending", attempt_count=2**70, max_attempts=2**71),
        made_elsewhere(desk, "pending", priority=2000),
    ]
    for task in wrong:
        said = ""
        with desk.unchanged():
            try:
                desk.store.restore([good, task], TOLD)
            except KeiseiError as error:
                said = str(error)
        assert task.task_id in said, task


@promise
def what_comes_from_elsewhere_may_hold_any_text(desk: Desk) -> None:
    """It is kept, or mended; an id that no store can keep is refused."""
    for text in (*STORED.values(), *DOUBTFUL.values(), LONG):
        outcome = replace(new_outcome("blocked"), operator_summary=text)
        task = made_elsewhere(desk, "blocked", subject=text, last_error=text, payload={text: text}, outcome=outcome)
        assert desk.store.restore([task], Beside()) == [True]
        assert desk.read(task.task_id) == task or text in DOUBTFUL.values()
    for text in (*DOUBTFUL.values(), LONG):
        with desk.unchanged(), refused():
            desk.store.restore([made_elsewhere(desk, "pending", task_type=text)], TOLD)
