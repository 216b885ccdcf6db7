"""Workflows: each begins once, moves by who has seen its newest version, and follows the definition it began with."""

from datetime import timedelta
from typing import Any

from msgspec import to_builtins
from msgspec.structs import replace

from keisei.records.beside import Beside
from keisei.records.id import TaskId, WorkflowId
from keisei.records.move import NewEntry, NewEvent
from keisei.records.progression import Visit, Workflow, WorkflowMove, WorkflowQuery, WorkflowStart
from keisei.records.task import TaskStatus
from keisei.records.workflow import Transition, WorkflowDefinition, WorkflowRecord, WorkflowState
from keisei.rules.canonical import digest
from keisei.testing.promise.book import PARTIES, at_once, promise
from keisei.testing.promise.depth import deep
from keisei.testing.promise.order import freeing
from keisei.testing.promise.text import DOUBTFUL, LONG, STORED, mended
from keisei.testing.queue import Desk, refused

SECOND = timedelta(seconds=1)


def new_definition(workflow_type: str = "review", **changes: Any) -> WorkflowDefinition:  # noqa: ANN401 - its fields
    """Write, then check."""
    states = (
        WorkflowState(state_id="write", transitions=(Transition(signal="done", next_state="check"),)),
        WorkflowState(state_id="check", completion_signals=("good",)),
    )
    fields = {"initial_state": "write", "states": states} | changes
    return WorkflowDefinition(workflow_type=workflow_type, **fields)


def new_workflow(desk: Desk, definition: WorkflowDefinition | None = None, **changes: Any) -> Workflow:  # noqa: ANN401
    """A workflow that awaits entry; `awaits`, `task_id` and `asks` go beside the fields of its record."""
    definition = definition or new_definition()
    beside: dict[str, Any] = {"awaits": "entry"}
    beside |= {key: changes.pop(key) for key in ("awaits", "task_id", "asks") if key in changes}
    now = desk.clock.now()
    fields: dict[str, Any] = {
        "workflow_id": WorkflowId(desk.name("workflow")),
        "workflow_type": definition.workflow_type,
        "instance_key": desk.name("instance"),
        "current_state": "write",
        "context": {"page": 1},
        "status": "active",
        "created_at": now,
        "updated_at": now,
        "completed_at": None,
        "visits": {"write": 1},
        "definition_hash": digest(to_builtins(definition)),
    }
    return Workflow(record=WorkflowRecord(**(fields | changes)), definition=definition, **beside)


def begun(desk: Desk, definition: WorkflowDefinition | None = None, **changes: Any) -> Workflow:  # noqa: ANN401
    """Such a workflow, stored."""
    workflow = new_workflow(desk, definition, **changes)
    assert desk.store.start_workflow(WorkflowStart(workflow=workflow))
    return workflow


def found(desk: Desk, workflow: Workflow) -> Workflow:
    """The workflow as it is by now."""
    read = desk.store.workflow(workflow.record.workflow_id)
    assert read is not None, workflow
    return read


def moved(workflow: Workflow, **changes: Any) -> Workflow:  # noqa: ANN401 - fields of its record and of itself
    """The workflow after a move."""
    beside = {key: changes.pop(key) for key in ("awaits", "task_id", "asks", "definition") if key in changes}
    return replace(workflow, record=replace(workflow.record, **changes), **beside)


def completed(desk: Desk, workflow: Workflow) -> Workflow:
    """The workflow at its end."""
    now = desk.clock.now()
    return moved(
        workflow, current_state="check", status="completed", updated_at=now, completed_at=now, awaits="nothing"
    )


def told(workflow: Workflow) -> Beside:
    """An event and a ledger row."""
    return Beside(
        events=(NewEvent(event_type="workflow_transitioned"),),
        ledger=(NewEntry(kind="workflow_transitioned", actor="ann", subject=workflow.record.workflow_id, body={}),),
    )


def visit(desk: Desk, workflow: Workflow, state: str = "write", number: int = 1, **changes: Any) -> Visit:  # noqa: ANN401
    """A stay that begins now."""
    return Visit(
        workflow_id=workflow.record.workflow_id, state=state, visit=number, entered_at=desk.clock.now(), **changes
    )


@promise
def a_workflow_begins_with_everything(desk: Desk) -> None:
    """Its first stay, its task and what is written beside; found by its id and by its key."""
    task = desk.task()
    workflow = new_workflow(desk, awaits="task", task_id=task.task.task_id, asks=1, reason="so")
    stay = visit(desk, workflow, task_id=task.task.task_id)
    beside = Beside(tasks=(task,), events=(NewEvent(event_type="workflow_created"),))

    assert desk.store.start_workflow(WorkflowStart(workflow=workflow, visits=(stay,), beside=beside))

    assert found(desk, workflow) == workflow == desk.store.instance(workflow.record.instance_key)
    assert desk.store.visits(workflow.record.workflow_id) == [stay]
    assert desk.life(None) == ["task_enqueued", "workflow_created"]
    assert desk.read(task.task.task_id) == task.task


@promise
def a_workflow_begins_once(desk: Desk) -> None:
    """Its key or its id is known: nothing is written, whatever it would have brought along."""
    known = begun(desk)
    with desk.unchanged():
        for record in (
            known.record,
            replace(known.record, instance_key="another"),
            replace(known.record, workflow_id=WorkflowId("another")),
        ):
            workflow = replace(known, record=record)
            beside = replace(told(workflow), tasks=(desk.task(),))
            start = WorkflowStart(workflow=workflow, visits=(visit(desk, workflow),), beside=beside)
            assert not desk.store.start_workflow(start)


@promise
def of_many_who_begin_one_instance_at_once_one_holds(desk: Desk) -> None:
    """One workflow, one task; the definition they share is in nobody's way."""
    rivals = [new_workflow(desk, instance_key="one", context={"n": number}) for number in range(PARTIES)]
    others = [new_workflow(desk) for _ in range(PARTIES)]
    starts = [
        WorkflowStart(workflow=one, visits=(visit(desk, one),), beside=replace(told(one), tasks=(desk.task(),)))
        for one in rivals
    ]

    def start(store: Any, start: WorkflowStart, other: Workflow) -> bool:  # noqa: ANN401 - a store
        assert store.start_workflow(WorkflowStart(workflow=other))
        return bool(store.start_workflow(start))

    answers = at_once(start, [desk.another() for _ in rivals], starts, others)

    assert sum(answers) == 1
    winner = rivals[answers.index(True)]
    assert desk.store.instance("one") == winner
    assert [len(desk.store.visits(one.record.workflow_id)) for one in rivals] == list(map(int, answers))
    assert desk.store.counts()["pending"] == 1
    assert desk.ledger() == [("workflow_transitioned", winner.record.workflow_id)]
    assert len(desk.store.workflows(WorkflowQuery())) == PARTIES + 1


@promise
def a_workflow_moves_by_who_has_seen_it(desk: Desk) -> None:
    """Everything of it changes, its version grows by one; another version writes nothing."""
    workflow = begun(desk)
    desk.clock.advance(1)
    now, task = desk.clock.now(), desk.task()
    after = moved(workflow, current_state="check", updated_at=now, visits={"write": 1, "check": 1}, context=None)
    after = replace(after, awaits="task", task_id=task.task.task_id, asks=2)
    beside = replace(told(workflow), tasks=(task,))
    move = WorkflowMove(workflow=after, was=1, visits=(visit(desk, workflow, "check"),), beside=beside)

    assert desk.store.move_workflow(move)

    assert found(desk, workflow) == replace(after, version=2)
    assert desk.store.visits(workflow.record.workflow_id) == list(move.visits)
    assert desk.ledger() == [("workflow_transitioned", workflow.record.workflow_id)]
    with desk.unchanged():
        for was in (0, 1, 3, -1, 2**80):
            assert not desk.store.move_workflow(replace(move, was=was))
        assert not desk.store.move_workflow(WorkflowMove(workflow=new_workflow(desk), was=1))


@promise
def of_many_who_move_a_workflow_at_once_one_holds(desk: Desk) -> None:
    """One task, one transition."""
    workflow = begun(desk)
    moves = [
        WorkflowMove(
            workflow=moved(workflow, context={"n": number}),
            was=1,
            visits=(visit(desk, workflow, number=number + 1),),
            beside=replace(told(workflow), tasks=(desk.task(),)),
        )
        for number in range(PARTIES)
    ]

    answers = at_once(lambda store, one: store.move_workflow(one), [desk.another() for _ in moves], moves)

    assert sum(answers) == 1
    winner = moves[answers.index(True)]
    assert found(desk, workflow) == replace(winner.workflow, version=2)
    assert desk.store.visits(workflow.record.workflow_id) == list(winner.visits)
    assert (desk.store.counts()["pending"], len(desk.ledger())) == (1, 1)


@promise
def a_completed_workflow_never_moves_again(desk: Desk) -> None:
    """Whatever version somebody names."""
    workflow = begun(desk)
    end = completed(desk, workflow)
    assert desk.store.move_workflow(WorkflowMove(workflow=end, was=1))
    assert found(desk, workflow) == replace(end, version=2)

    with desk.unchanged():
        for after in (workflow, end, moved(workflow, status="blocked", awaits="person")):
            assert not desk.store.move_workflow(WorkflowMove(workflow=after, was=2, beside=told(workflow)))


@promise
def a_workflow_stays_who_it_is(desk: Desk) -> None:
    """No move gives it another key or another type."""
    workflow = begun(desk)
    other = new_definition("other")
    changed = moved(workflow, workflow_type="other", definition=other, definition_hash=digest(to_builtins(other)))

    with desk.unchanged():
        assert not desk.store.move_workflow(WorkflowMove(workflow=moved(workflow, instance_key="another"), was=1))
        assert not desk.store.move_workflow(WorkflowMove(workflow=changed, was=1))


@promise
def a_workflow_keeps_its_definition_until_it_is_given_another(desk: Desk) -> None:
    """Instances of one type follow each their own version."""
    newer = new_definition(description="better")
    old, new = begun(desk), begun(desk, newer)

    assert desk.store.move_workflow(WorkflowMove(workflow=old, was=1))
    assert (found(desk, old).definition, found(desk, new).definition) == (old.definition, newer)
    newest = new_definition(description="best")
    upgraded = moved(old, definition=newest, definition_hash=digest(to_builtins(newest)))
    assert desk.store.move_workflow(WorkflowMove(workflow=upgraded, was=2))

    assert found(desk, old) == replace(upgraded, version=3)
    assert found(desk, new) == new


@promise
def a_workflow_without_the_hash_of_its_definition_is_refused(desk: Desk) -> None:
    """Otherwise another workflow could follow a definition that is not its own."""
    workflow = begun(desk)
    for wrong in (None, "0" * 64, "short"):
        with desk.unchanged(), refused():
            desk.store.start_workflow(WorkflowStart(workflow=new_workflow(desk, definition_hash=wrong)))
        with desk.unchanged(), refused():
            desk.store.move_workflow(WorkflowMove(workflow=moved(workflow, definition_hash=wrong), was=1))


@promise
def stays_are_listed_in_order_and_replaced_when_they_end(desk: Desk) -> None:
    """The same state and number is the same stay."""
    workflow = begun(desk)
    first = visit(desk, workflow, "write")
    assert desk.store.move_workflow(WorkflowMove(workflow=workflow, was=1, visits=(first,)))
    desk.clock.advance(1)
    left = replace(first, left_at=desk.clock.now(), signal="done", actor="task:1", task_id=TaskId("task"))
    check, again = visit(desk, workflow, "check"), visit(desk, workflow, "write", 2)

    assert desk.store.move_workflow(WorkflowMove(workflow=workflow, was=2, visits=(left, check, again)))

    assert desk.store.visits(workflow.record.workflow_id) == [left, check, again]
    assert desk.store.visits(WorkflowId("nobody")) == []


@promise
def a_workflow_that_cannot_be_is_refused(desk: Desk) -> None:
    """What it awaits fits its status; what awaits a task has one; a stay is its own."""
    workflow, other = begun(desk), begun(desk)
    for changes in (
        {"awaits": "nothing"},
        {"awaits": "person"},
        {"awaits": "wrong"},
        {"awaits": "task"},
        {"awaits": "signal", "asks": -1},
        {"awaits": "signal", "asks": 2**63},
        {"status": "blocked", "awaits": "entry"},
        {"status": "completed", "completed_at": desk.clock.now(), "awaits": "signal"},
        {"status": "wrong"},
        {"updated_at": desk.clock.now().replace(tzinfo=None)},
        {"context": deep()},
    ):
        with desk.unchanged(), refused():
            desk.store.start_workflow(WorkflowStart(workflow=new_workflow(desk, **changes)))
        with desk.unchanged(), refused():
            desk.store.move_workflow(WorkflowMove(workflow=moved(workflow, **changes), was=1))
    for stay in (visit(desk, other), visit(desk, workflow, LONG), visit(desk, workflow, number=2**63)):
        with desk.unchanged(), refused():
            desk.store.move_workflow(WorkflowMove(workflow=workflow, was=1, visits=(stay,)))


@promise
def workflows_are_listed_newest_first(desk: Desk) -> None:
    """Of these statuses, of this type, at most so many."""
    active, blocked = begun(desk), begun(desk, status="blocked", awaits="person")
    done, other = begun(desk), begun(desk, new_definition("other"))
    assert desk.store.move_workflow(WorkflowMove(workflow=completed(desk, done), was=1))
    done = found(desk, done)

    def listed(*statuses: str, **more: Any) -> list[Workflow]:  # noqa: ANN401 - fields of the query
        return desk.store.workflows(WorkflowQuery(statuses=statuses, **more))

    assert listed() == [other, done, blocked, active]
    assert listed(limit=2) == [other, done]
    assert listed("active") == [other, active]
    assert listed("active", limit=1) == [other]
    assert listed("active", "blocked") == [other, blocked, active]
    assert listed("completed", "blocked") == [done, blocked]
    assert listed("active", workflow_type="review") == [active]
    assert listed(workflow_type="other") == [other]
    assert listed("wrong") == listed(limit=0) == listed(limit=-1) == listed(workflow_type="nothing") == []


@promise
def stirred_are_workflows_that_something_has_happened_to(desk: Desk) -> None:
    """They await entry; their task is finished, blocked or gone; the task that had blocked them goes on."""
    runner = desk.runner(lease_s=1000)

    def task(status: TaskStatus) -> TaskId:
        claimed = desk.running(runner)
        assert desk.settle(claimed, status) == "settled"
        return claimed.task.task_id

    def waiting(awaits: str, task_id: TaskId | None, status: str = "active") -> Workflow:
        desk.clock.advance(1)
        return begun(desk, status=status, awaits=awaits, task_id=task_id)

    later = desk.clock.now() + timedelta(days=1)
    blocked = task("blocked")
    entry = waiting("entry", None)
    finished = [waiting("task", task(status)) for status in ("completed", "permanent_failure", "operator_canceled")]
    finished.append(waiting("task", TaskId("nobody")))
    stuck = waiting("task", blocked)
    for status in ("retryable_failure", "pending"):
        waiting("task", task(status))
    waiting("task", desk.running(runner).task.task_id)
    waiting("task", desk.queue(available_at=later)[0])
    waiting("signal", None)
    waiting("person", None, "blocked")
    held = waiting("person", blocked, "blocked")

    assert desk.store.stirred() == [entry, *finished, stuck]
    assert desk.store.stirred(2) == [entry, finished[0]]
    assert desk.store.stirred(0) == desk.store.stirred(-1) == []
    assert desk.store.move(freeing(desk, desk.read(blocked)))
    assert desk.store.stirred() == [entry, *finished, held]
    assert desk.store.move_workflow(WorkflowMove(workflow=completed(desk, entry), was=1))
    assert desk.store.stirred() == [*finished, held]


@promise
def stirred_workflows_come_longest_unmoved_first(desk: Desk) -> None:
    """Whoever was looked at and moved stands behind the others."""
    one, other = begun(desk), begun(desk)
    desk.clock.advance(1)

    assert desk.store.move_workflow(WorkflowMove(workflow=moved(one, updated_at=desk.clock.now()), was=1))

    assert [each.record.workflow_id for each in desk.store.stirred()] == [
        other.record.workflow_id,
        one.record.workflow_id,
    ]


@promise
def a_workflow_whose_task_is_known_awaits_the_earlier_one(desk: Desk) -> None:
    """The key was queued before: that is its task, and the task of the stay."""
    (known,) = desk.queue(idempotency_key="key")
    workflow, moving = new_workflow(desk), begun(desk)

    def asking(workflow: Workflow) -> tuple[Workflow, tuple[Visit, ...], Beside]:
        task = desk.task(idempotency_key="key")
        task_id = task.task.task_id
        stays = (visit(desk, workflow, task_id=task_id),)
        return replace(workflow, awaits="task", task_id=task_id, asks=1), stays, Beside(tasks=(task,))

    one, stays, beside = asking(workflow)
    assert desk.store.start_workflow(WorkflowStart(workflow=one, visits=stays, beside=beside))
    other, stays, beside = asking(moving)
    assert desk.store.move_workflow(WorkflowMove(workflow=other, was=1, visits=stays, beside=beside))

    for each in (one, other):
        assert found(desk, each).task_id == known
        assert [stay.task_id for stay in desk.store.visits(each.record.workflow_id)] == [known]
    assert desk.store.counts()["pending"] == 1


@promise
def the_names_of_workflows_are_kept_or_refused(desk: Desk) -> None:
    """They come back as they went in; asking for one that no database can hold is no error."""
    for text in STORED.values():
        workflow = begun(desk, instance_key=text)
        assert desk.store.instance(text) == workflow
    for text in (*DOUBTFUL.values(), LONG, "ä" * 1000):
        wrong: tuple[dict[str, Any], ...]
        wrong = ({"workflow_id": text}, {"instance_key": text}, {"task_id": text, "awaits": "task"})
        for changes in wrong:
            with desk.unchanged(), refused():
                desk.store.start_workflow(WorkflowStart(workflow=new_workflow(desk, **changes)))
        with desk.unchanged():
            assert desk.store.workflow(WorkflowId(text)) is None
            assert desk.store.instance(text) is None
            assert desk.store.visits(WorkflowId(text)) == []
            assert desk.store.workflows(WorkflowQuery(workflow_type=text)) == []


@promise
def the_words_of_a_workflow_are_mended(desk: Desk) -> None:
    """What it knows and why it is blocked is stored, save for characters that cannot be kept."""
    for text in (*STORED.values(), *DOUBTFUL.values(), LONG):
        workflow = new_workflow(desk, context={text: [text]}, reason=text, status="blocked", awaits="person")
        stay = visit(desk, workflow, signal=text, actor=text)
        assert desk.store.start_workflow(WorkflowStart(workflow=workflow, visits=(stay,)))
        assert mended(found(desk, workflow), workflow)
        assert mended(desk.store.visits(workflow.record.workflow_id), [stay])
