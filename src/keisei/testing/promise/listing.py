"""Listing: everything there is, newest first, narrowed in any way, page by page, none twice and none left out."""

# ruff: noqa: PLR2004 - expected values are plain numbers

from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from typing import Any, Literal, TypeVar

import msgspec
from msgspec.structs import replace

from keisei.records.answer import ApprovalQuery, Decision
from keisei.records.id import ApprovalId, AttemptId, LandingId, ScheduleId, TaskId, WorkflowId
from keisei.records.landing import LandingStatus
from keisei.records.move import AttemptQuery, EntryQuery, EventQuery, LandingQuery, NewEntry, NewEvent, TaskQuery
from keisei.records.observation import Observation, SeenQuery
from keisei.records.pipe_run import PipeRun
from keisei.records.progression import WorkflowMove, WorkflowQuery
from keisei.records.slot import Slot, SlotQuery
from keisei.testing.promise import pipe, schedule, sensor, workflow
from keisei.testing.promise.approval import asked, decided
from keisei.testing.promise.book import promise
from keisei.testing.promise.landing import offered, waiting
from keisei.testing.promise.text import DOUBTFUL, LONG, STORED
from keisei.testing.queue import Desk

T = TypeVar("T")
ENOUGH = 100
"""More than any of these lists holds."""


def pages(listed: Callable[[Any], Sequence[T]], key: Callable[[T], Any]) -> Iterator[T]:
    """Everything, a page after the other; each begins behind the last of the one before."""
    before, seen = None, 0
    while page := listed(before):
        yield from page
        before, seen = key(page[-1]), seen + len(page)
        assert seen < ENOUGH, "the pages do not end"


def found(desk: Desk, **query: Any) -> list[TaskId]:  # noqa: ANN401 - fields of TaskQuery
    """The ids of all tasks that fit, page by page, by the cursors that are told."""
    ids, page = list[TaskId](), desk.store.find_tasks(TaskQuery(**query))
    ids += [task.task_id for task in page.tasks]
    while page.next is not None:
        page = desk.store.find_tasks(TaskQuery(**{**query, "before": page.next}))
        ids += [task.task_id for task in page.tasks]
    return ids


@promise
def a_page_of_tasks_tells_where_the_next_one_begins(desk: Desk) -> None:
    """Exactly while there is one; the tasks are the same as without the cursor."""
    ids = desk.queue(4)

    page = desk.store.find_tasks(TaskQuery(limit=3))

    assert (list(page.tasks), page.next, page.stopped) == (desk.store.tasks(TaskQuery(limit=3)), ids[1], False)
    assert desk.store.find_tasks(TaskQuery(limit=4)).next is None
    assert desk.store.find_tasks(TaskQuery(limit=1, before=ids[1])).next is None
    assert desk.store.find_tasks(TaskQuery(limit=0)).next is None
    assert desk.store.find_tasks(TaskQuery(before=TaskId("nobody"))).tasks == ()
    assert found(desk, limit=1) == ids[::-1]


@promise
def tasks_are_listed_by_profile_agent_adapter_and_moment(desk: Desk) -> None:
    """All conditions at once, with statuses and without."""
    runner, began = desk.runner(lease_s=1000), desk.clock.now()
    plain = desk.queue(2)
    desk.clock.advance(10)
    (mine,) = desk.queue(
        requested_profile_id="p", agent="ann", requested_adapter_id="codex", created_at=desk.clock.now()
    )
    desk.clock.advance(10)
    (later,) = desk.queue(requested_profile_id="p", agent="bob", created_at=desk.clock.now())
    desk.settle(desk.claim(runner, 1)[0], "completed")
    ten = began + timedelta(seconds=10)

    assert found(desk, profile="p") == [later, mine]
    assert found(desk, agent="ann") == found(desk, adapter="codex") == [mine]
    assert found(desk, profile="p", agent="nobody") == found(desk, profile="p", statuses=("completed",)) == []
    assert found(desk, created_from=ten) == [later, mine]
    assert found(desk, created_until=ten) == plain[::-1]
    assert found(desk, created_from=ten, created_until=ten + timedelta(microseconds=1)) == [mine]
    assert found(desk, profile="profile", statuses=("completed", "running")) == plain[:1]
    assert found(desk, profile="profile", statuses=("pending", "completed"), limit=1) == plain[::-1]


@promise
def tasks_are_found_by_a_text(desk: Desk) -> None:
    """In id, subject, source and type, in any case, within the other conditions; not in what they say at length."""
    named = desk.task(subject='Mend the "Login" page\\', description="rarely")
    desk.store.enqueue([named])
    (typed,) = desk.queue(task_type="login-check")
    (sourced,) = desk.queue(source="sensor:login", subject="é")
    desk.queue(2, subject=None)
    desk.queue(subject="x" * 5000)
    ids = [sourced, typed, named.task.task_id]

    assert found(desk, text="LOGIN") == found(desk, text="login", limit=1) == ids
    assert found(desk, text="login", statuses=("pending",), source="test") == ids[1:]
    assert found(desk, text='the "login" page\\') == found(desk, text=named.task.task_id) == ids[2:]
    assert found(desk, text="É") == [sourced]
    assert found(desk, text="rarely") == found(desk, text="login", statuses=("running",)) == []
    assert len(found(desk, text="")) == 6
    assert len(found(desk, text="xxxx")) == 1


@promise
def a_search_ends_and_says_that_it_did(desk: Desk) -> None:
    """After some thousands of tasks; its cursor leads on to the rest."""
    (old,) = desk.queue(subject="needle")
    desk.queue(5000)
    desk.queue(subject="needle")

    page = desk.store.find_tasks(TaskQuery(text="needle"))

    assert (len(page.tasks), page.stopped) == (1, True)
    rest = desk.store.find_tasks(TaskQuery(text="needle", before=page.next))
    assert ([task.task_id for task in rest.tasks], rest.next, rest.stopped) == ([old], None, False)
    assert len(desk.store.tasks(TaskQuery(text="needle"))) == 1


@promise
def attempts_are_listed_newest_first_page_by_page(desk: Desk) -> None:
    """Of all, of a task, only open ones; the next page of each."""
    runner = desk.runner(lease_s=1000)
    again = desk.running(runner)
    mine = [again.attempt.attempt_id]
    for _ in range(2):
        desk.settle(again, "retryable_failure", at=desk.clock.now())
        desk.clock.advance(1)
        desk.store.wake_due()
        (again,) = desk.claim(runner)
        mine.insert(0, again.attempt.attempt_id)
    other = desk.running(runner).attempt.attempt_id
    task_id = again.task.task_id

    def listed(**query: Any) -> list[AttemptId]:  # noqa: ANN401 - fields of AttemptQuery
        asked_for = AttemptQuery(limit=1, **query)
        every = pages(
            lambda before: desk.store.find_attempts(replace(asked_for, before=before)), lambda a: a.attempt_id
        )
        return [attempt.attempt_id for attempt in every]

    assert listed() == [other, *mine]
    assert listed(task_id=task_id) == mine
    assert listed(open=True) == [other, mine[0]]
    assert listed(task_id=task_id, open=True) == mine[:1]
    assert desk.store.find_attempts(AttemptQuery())[-1] == desk.attempt(mine[-1])
    assert desk.store.find_attempts(AttemptQuery(before=AttemptId("nobody"))) == []


@promise
def events_are_listed_newest_first_page_by_page(desk: Desk) -> None:
    """Of all kinds, of one that is common or rare, of a task."""
    one, other = desk.queue(2)
    desk.store.note([NewEvent(event_type="gate_denied", task_id=one), NewEvent(event_type="dispatch_idle")] * 2)
    everything = desk.store.events(EventQuery())[::-1]

    def listed(**query: Any) -> list[int]:  # noqa: ANN401 - fields of EventQuery
        asked_for = EventQuery(limit=1, **query)
        every = pages(lambda before: desk.store.find_events(replace(asked_for, before=before)), lambda e: e.id)
        return [event.id for event in every]

    ids = [event.id for event in everything]
    assert desk.store.find_events(EventQuery()) == everything
    assert listed() == ids
    assert listed(event_type="gate_denied") == listed(event_type="gate_denied", task_id=one) == [ids[1], ids[3]]
    assert listed(event_type="task_enqueued") == ids[4:]
    assert listed(task_id=one) == [ids[1], ids[3], ids[5]]
    assert listed(event_type="gate_denied", task_id=other) == listed(event_type="loop_detected") == []
    assert desk.store.events(EventQuery(after=ids[4], before=ids[1])) == everything[3:1:-1]
    assert desk.store.find_events(EventQuery(before=10**40)) == everything


@promise
def ledger_rows_are_listed_newest_first_page_by_page(desk: Desk) -> None:
    """Of all kinds or of one."""
    for number in range(5):
        kind = "odd" if number % 2 else "even"
        desk.store.append(NewEntry(kind=kind, actor="ann", subject=str(number), body={}, source="manual"))
    everything = desk.store.entries()[::-1]

    def listed(**query: Any) -> list[str]:  # noqa: ANN401 - fields of EntryQuery
        asked_for = EntryQuery(limit=2, **query)
        every = pages(lambda before: desk.store.find_entries(replace(asked_for, before=before)), lambda e: e.seq)
        return [entry.subject for entry in every]

    assert desk.store.find_entries(EntryQuery()) == everything
    assert listed() == ["4", "3", "2", "1", "0"]
    assert (listed(kind="even"), listed(kind="odd"), listed(kind="nothing")) == (["4", "2", "0"], ["3", "1"], [])


@promise
def ledger_rows_are_listed_by_subject_and_by_who_told_them(desk: Desk) -> None:
    """Alone and together, page by page; nothing in a body passes for a source."""
    liar = {
        "source": "manual",
        "subject": "a",
        "list": [{"a": "b", "source": "engine", "subject": '","source":"manual","subject":"'}],
    }
    for number in range(6):
        source: Literal["engine", "manual"] = "manual" if number % 3 == 0 else "engine"
        entry = NewEntry(kind=f"k{number % 2}", actor="ann", subject="ab"[number // 3], body=liar, source=source)
        desk.store.append(entry)

    def listed(**query: Any) -> list[int]:  # noqa: ANN401 - fields of EntryQuery
        asked_for = EntryQuery(limit=1, **query)
        every = pages(lambda before: desk.store.find_entries(replace(asked_for, before=before)), lambda e: e.seq)
        seqs = [entry.seq for entry in every]
        assert [entry.seq for entry in desk.store.find_entries(EntryQuery(**query))] == seqs
        return seqs

    assert (listed(subject="a"), listed(subject="b"), listed(subject="c")) == ([3, 2, 1], [6, 5, 4], [])
    assert (listed(source="manual"), listed(source="engine"), listed(source="x")) == ([4, 1], [6, 5, 3, 2], [])
    assert listed(subject="a", source="engine") == [3, 2]
    assert listed(subject="a", kind="k0", source="engine") == [3]
    assert listed(subject="b", source="manual", kind="k0") == []


@promise
def approvals_and_landings_are_listed_page_by_page(desk: Desk) -> None:
    """Newest first, or in the order of their making."""
    approvals = [asked(desk, key=f"key-{number}").approval_id for number in range(3)]
    landings = [offered(desk).landing_id for _ in range(3)]

    def asking(**query: Any) -> list[ApprovalId]:  # noqa: ANN401 - fields of ApprovalQuery
        asked_for = ApprovalQuery(limit=2, **query)
        every = pages(lambda before: desk.store.approvals(replace(asked_for, before=before)), lambda a: a.approval_id)
        return [approval.approval_id for approval in every]

    def landing(*statuses: LandingStatus, oldest: bool = False) -> list[LandingId]:
        asked_for = LandingQuery(limit=2, statuses=statuses, oldest=oldest)
        every = pages(
            lambda before: desk.store.landings(replace(asked_for, before=before)), lambda each: each.landing_id
        )
        return [each.landing_id for each in every]

    assert asking() == asking(statuses=()) == approvals[::-1]
    assert asking(oldest=True) == approvals
    assert landing() == landing("held") == landing("held", "landed") == landings[::-1]
    assert landing(oldest=True) == landing("held", oldest=True) == landings
    assert landing("queued") == []


@promise
def landings_that_nobody_is_asked_about_are_found(desk: Desk) -> None:
    """Whether a question was never asked or is decided; the overview counts the same ones."""
    plain, over, open_one = (offered(desk) for _ in range(3))
    closed = waiting(desk, over)
    waiting(desk, open_one)
    assert desk.store.decide(Decision(approval=decided(desk, closed, "resolved")))

    held = desk.store.landings(LandingQuery(statuses=("held",), unasked=True, oldest=True))

    assert [each.landing_id for each in held] == [plain.landing_id, over.landing_id]
    seen = desk.store.overview(desk.clock.now())
    assert (seen.held, seen.unasked) == (3, 2)


@promise
def workflows_are_listed_newest_first_page_by_page(desk: Desk) -> None:
    """Of all, of a type, of a status; one that begins meanwhile moves nothing."""
    other = workflow.new_definition("other")
    made = [workflow.begun(desk, definition) for definition in (None, other, None, other)]
    assert desk.store.move_workflow(WorkflowMove(workflow=workflow.completed(desk, made[2]), was=1))
    ids = [each.record.workflow_id for each in made]

    def listed(**query: Any) -> list[WorkflowId]:  # noqa: ANN401 - fields of WorkflowQuery
        asked_for = WorkflowQuery(limit=1, **query)
        every = pages(
            lambda before: desk.store.workflows(replace(asked_for, before=before)), lambda w: w.record.workflow_id
        )
        return [each.record.workflow_id for each in every]

    assert listed() == listed(statuses=("active", "completed")) == ids[::-1]
    assert listed(statuses=("active",)) == [ids[3], ids[1], ids[0]]
    assert listed(statuses=("completed",)) == [ids[2]]
    assert listed(workflow_type="other") == [ids[3], ids[1]]
    workflow.begun(desk)
    older = desk.store.workflows(WorkflowQuery(before=ids[2]))
    assert [each.record.workflow_id for each in older] == [ids[1], ids[0]]
    assert desk.store.workflows(WorkflowQuery(before=WorkflowId("nobody"))) == []


@promise
def slots_are_listed_page_by_page(desk: Desk) -> None:
    """Of one schedule or of all; those that come meanwhile move nothing, and a place stays good."""
    one, other = schedule.made(desk), schedule.made(desk)
    written: list[Slot] = []
    for each in (one, other, one, one, other):
        fired = schedule.firing(desk, schedule.found(desk, each.name))
        assert desk.store.fire(fired)
        written.insert(0, fired.slots[0])
    mine = [written[1], written[2], written[4]]

    page = desk.store.find_slots(SlotQuery(schedule_id=one.schedule_id, limit=2))
    assert desk.store.fire(schedule.firing(desk, schedule.found(desk, one.name)))
    rest = desk.store.find_slots(SlotQuery(schedule_id=one.schedule_id, before=page.next, limit=2))

    assert ([*page.slots], [*rest.slots], rest.next) == (mine[:2], mine[2:], None)
    assert desk.store.find_slots(SlotQuery(schedule_id=one.schedule_id, limit=4)).next is None
    page, found_slots = desk.store.find_slots(SlotQuery(limit=1)), list[Slot]()
    while page.next is not None:
        page = desk.store.find_slots(SlotQuery(before=page.next, limit=1))
        found_slots += page.slots
    assert found_slots == written
    assert desk.store.find_slots(SlotQuery(limit=0)).next is None
    assert [*desk.store.find_slots(SlotQuery(before=10**40)).slots] == desk.store.slots(None)
    assert desk.store.find_slots(SlotQuery(before=-(10**40))).slots == ()
    for text in (*DOUBTFUL.values(), LONG):
        assert desk.store.find_slots(SlotQuery(schedule_id=ScheduleId(text))).slots == ()


@promise
def observations_are_listed_page_by_page(desk: Desk) -> None:
    """Of one sensor or of all; those that come meanwhile move nothing."""
    events = [sensor.new_event(desk, sensor_id=name) for name in ("mail", "news", "mail", "mail")]
    for event in events:
        desk.store.observe(Observation(event=event))
    mine = [events[3], events[2], events[0]]

    page = desk.store.find_seen(SeenQuery(sensor_id="mail", limit=2))
    desk.store.observe(Observation(event=sensor.new_event(desk, sensor_id="mail")))
    rest = desk.store.find_seen(SeenQuery(sensor_id="mail", before=page.next, limit=2))

    assert [each.event for each in (*page.events, *rest.events)] == mine
    assert (rest.next, desk.store.find_seen(SeenQuery(sensor_id="mail", limit=4)).next) == (None, None)
    page, found_events = desk.store.find_seen(SeenQuery(limit=1)), []
    while page.next is not None:
        page = desk.store.find_seen(SeenQuery(before=page.next, limit=1))
        found_events += [each.event for each in page.events]
    assert found_events == events[::-1]
    assert desk.store.seen(SeenQuery(before=10**40)) == desk.store.seen(SeenQuery())
    assert desk.store.seen(SeenQuery(before=-(10**40))) == []


@promise
def pipe_runs_are_listed_page_by_page(desk: Desk) -> None:
    """Also those whose id begins so; those that begin meanwhile move nothing."""
    ids = [pipe.begun(desk).run_id for _ in range(4)]

    assert [each.run_id for each in pages(lambda before: desk.store.pipe_runs(2, "", before), _run_id)] == ids[::-1]
    pipe.begun(desk)
    assert [each.run_id for each in desk.store.pipe_runs(before=ids[2])] == [ids[1], ids[0]]
    assert [each.run_id for each in desk.store.pipe_runs(begins=ids[0], before=ids[2])] == [ids[0]]
    for text in (*DOUBTFUL.values(), LONG, "nobody"):
        assert desk.store.pipe_runs(before=text) == []


def _run_id(run: PipeRun) -> str:
    return run.run_id


@promise
def strange_words_find_nothing_and_break_nothing(desk: Desk) -> None:
    """Whatever somebody types into a field."""
    desk.running()
    for text in (*STORED.values(), *DOUBTFUL.values(), LONG, "{seq}", "%", "_"):
        for name in ("profile", "agent", "adapter", "text", "task_type", "source", "before"):
            page = desk.store.find_tasks(msgspec.convert({name: text}, TaskQuery))
            assert (page.tasks, page.next, page.stopped) == ((), None, False), (name, text)
        assert desk.store.find_attempts(AttemptQuery(task_id=TaskId(text))) == []
        assert desk.store.find_attempts(AttemptQuery(before=AttemptId(text))) == []
        assert desk.store.find_entries(EntryQuery(kind=text)) == []
        assert desk.store.find_entries(EntryQuery(subject=text)) == []
        assert desk.store.find_entries(EntryQuery(source=text)) == []
        assert desk.store.landings(LandingQuery(before=LandingId(text))) == []
        assert desk.store.approvals(ApprovalQuery(before=ApprovalId(text))) == []
        assert desk.store.workflows(WorkflowQuery(before=WorkflowId(text))) == []
