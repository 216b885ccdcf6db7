"""View: reading what is there, in the order that is promised; events, memory and the ledger."""

# ruff: noqa: PLR2004 - expected values are plain numbers

from datetime import timedelta

from msgspec.structs import replace

from keisei.engine.ports import Store
from keisei.records.id import AgentId, AttemptId, ProfileId, TaskId
from keisei.records.ledger import LedgerEntry
from keisei.records.move import EventQuery, NewEntry, NewEvent, TaskQuery
from keisei.testing.history import every_event
from keisei.testing.promise.book import PARTIES, at_once, promise
from keisei.testing.promise.text import DOUBTFUL
from keisei.testing.queue import Desk


@promise
def what_is_not_there_is_nothing(desk: Desk) -> None:
    """No error, no row."""
    assert desk.store.task(TaskId("nobody")) is None
    assert desk.store.attempt(AttemptId("nobody")) is None
    assert desk.store.attempts(TaskId("nobody")) == []
    assert desk.store.bundle(AttemptId("nobody")) is None
    assert desk.store.findings(AttemptId("nobody")) == []
    assert desk.store.artifacts(TaskId("nobody")) == []
    assert desk.store.entry(1) is None
    assert (desk.store.tasks(TaskQuery()), desk.store.claimable(), desk.store.pauses()) == ([], 0, [])


@promise
def tasks_are_listed_newest_first_page_by_page(desk: Desk) -> None:
    """A page begins where the last one ended; no task twice, none left out."""
    ids = desk.queue(7)

    pages, before = [], None
    while page := desk.store.tasks(TaskQuery(limit=3, before=before)):
        pages.append([task.task_id for task in page])
        before = page[-1].task_id

    assert pages == [ids[:3:-1], ids[3:0:-1], ids[:1]]


@promise
def tasks_are_listed_by_status_type_and_source(desk: Desk) -> None:
    """All conditions at once, and paging goes on within them."""
    done = desk.running(task_type="b").task.task_id
    plain = desk.queue(2)
    (typed,) = desk.queue(task_type="b")
    (sourced,) = desk.queue(task_type="b", source="cron")

    def listed(**query: object) -> list[str]:
        return [task.task_id for task in desk.store.tasks(TaskQuery(**query))]  # type: ignore[arg-type] # its fields

    assert listed(statuses=("running",)) == [done]
    assert listed(statuses=("running", "pending"), task_type="b") == [sourced, typed, done]
    assert listed(source="cron", task_type="b") == [sourced]
    assert listed(source="cron", statuses=("running",)) == []
    assert listed(task_type="note") == plain[::-1]
    assert listed(task_type="b", before=typed) == [done]


@promise
def children_are_the_tasks_that_a_task_asked_for(desk: Desk) -> None:
    """By the source that only the runtime writes; oldest first; neither their own children nor what merely says so."""
    parent, other = desk.queue(2)

    def child(of: TaskId, depth: int) -> TaskId:
        task = desk.task(source=f"task:{of}", parent_task_id=of)
        return desk.store.enqueue([replace(task, depth=depth)])[0].task_id

    first, second = child(parent, 1), child(parent, 1)
    grandchild = child(first, 2)
    child(parent, 0)

    def found(task_id: TaskId, limit: int = 9) -> list[TaskId]:
        return [task.task_id for task in desk.store.children(task_id, limit)]

    assert found(parent) == [first, second]
    assert (found(parent, 1), found(first), found(other), found(TaskId("nobody"))) == ([first], [grandchild], [], [])
    assert desk.store.children(parent)[0] == desk.store.task(first)
    assert all(found(TaskId(text)) == [] for text in DOUBTFUL.values())


@promise
def every_status_is_counted(desk: Desk) -> None:
    """Also those that no task has."""
    runner = desk.runner()
    for status in ("completed", "permanent_failure", "blocked", "operator_canceled", "retryable_failure"):
        desk.settle(desk.running(runner), status)
    desk.running(runner)
    desk.queue(available_at=desk.clock.now() + timedelta(hours=1))
    desk.queue(2)

    counts = desk.store.counts()

    assert counts.pop("pending") == 3
    assert set(counts.values()) == {1}
    assert len(counts) == 6
    assert desk.store.claimable() == 2


@promise
def attempts_of_a_task_are_listed_oldest_first_and_all_newest_first(desk: Desk) -> None:
    """At most so many."""
    runner = desk.runner(lease_s=1000)
    claimed = desk.running(runner)
    mine = [claimed.attempt.attempt_id]
    for _ in range(2):
        desk.settle(claimed, "retryable_failure", at=desk.clock.now())
        desk.clock.advance(1)
        desk.store.wake_due()
        (claimed,) = desk.claim(runner)
        mine.append(claimed.attempt.attempt_id)
    desk.clock.advance(1)
    other = desk.running(runner).attempt.attempt_id

    assert [one.attempt_id for one in desk.store.attempts(claimed.task.task_id)] == mine
    assert [one.attempt_id for one in desk.store.attempts(None)] == [other, *mine[::-1]]
    assert [one.attempt_id for one in desk.store.attempts(None, 2)] == [other, mine[-1]]


@promise
def memory_is_what_the_same_agent_finished_newest_first(desk: Desk) -> None:
    """Of the same profile; nothing that still waits; nobody's memory is nobody's."""
    runner = desk.runner(lease_s=1000)
    agent, profile = AgentId("ann"), ProfileId("p")
    mine, nobodys = [], []
    for number in range(3):
        claimed = desk.running(runner, agent=agent, requested_profile_id=profile)
        desk.clock.advance(1)
        desk.settle(claimed, "completed" if number else "permanent_failure")
        mine.append(claimed.task.task_id)
    for other in ({"agent": "bob"}, {"agent": agent, "requested_profile_id": "q"}):
        desk.settle(desk.running(runner, **({"requested_profile_id": profile} | other)), "completed")
    nobodys.append(desk.running(runner, requested_profile_id=profile))
    desk.settle(nobodys[0], "completed")
    desk.settle(desk.running(runner, agent=agent, requested_profile_id=profile), "blocked")

    assert [task.task_id for task in desk.store.memory(agent, profile, 9)] == mine[::-1]
    assert [task.task_id for task in desk.store.memory(agent, profile, 2)] == mine[:0:-1]
    assert [task.task_id for task in desk.store.memory(None, profile, 9)] == [nobodys[0].task.task_id]


@promise
def events_are_numbered_and_read_onwards(desk: Desk) -> None:
    """Oldest first; after a place; of a task; of a kind; the newest few."""
    one, other = desk.queue()[0], desk.queue()[0]
    desk.claim(desk.runner())
    desk.store.note([NewEvent(event_type="dispatch_idle", detail={"n": 1})])
    everything = desk.store.events(EventQuery())
    ids = [event.id for event in everything]

    assert [event.event_type for event in everything] == [
        "task_enqueued",
        "task_enqueued",
        "task_claimed",
        "dispatch_idle",
    ]
    assert ids == sorted(set(ids))
    assert desk.store.events(EventQuery(after=ids[1])) == everything[2:]
    assert desk.store.events(EventQuery(limit=2)) == everything[:2]
    assert desk.store.events(EventQuery(newest=True, limit=2)) == everything[2:]
    assert [event.task_id for event in desk.store.events(EventQuery(event_type="task_enqueued"))] == [one, other]
    assert desk.store.events(EventQuery(task_id=one, newest=True, limit=1)) == [everything[2]]
    assert desk.store.events(EventQuery(after=ids[-1])) == []


@promise
def events_are_noted_in_their_order(desk: Desk) -> None:
    """Dated now, as many as there are; nothing to note is no error."""
    desk.clock.advance(1.5)
    told = [
        NewEvent(event_type="dispatch_idle", detail={"n": number}, task_id=TaskId("t"), attempt_id=AttemptId("a"))
        for number in range(5)
    ]
    desk.store.note(told)
    desk.store.note([])

    read = desk.store.events(EventQuery())
    assert [(e.detail, e.task_id, e.attempt_id) for e in read] == [({"n": n}, "t", "a") for n in range(5)]
    assert {event.created_at for event in read} == {desk.clock.now()}


@promise
def whoever_follows_the_events_misses_none(desk: Desk) -> None:
    """A number that was read is never followed by a smaller one that was not there before."""
    stores = [desk.another() for _ in range(PARTIES)]
    read: list[int] = []

    def tell_or_follow(store: Store, number: int) -> None:
        for _ in range(150):
            if number:
                store.note([NewEvent(event_type="dispatch_idle", detail={"n": number})])
            else:
                read.extend(event.id for event in store.events(EventQuery(after=max(read, default=0), limit=1000)))

    at_once(tell_or_follow, stores, range(PARTIES))

    tell_or_follow(desk.store, 0)
    assert read == [event.id for event in every_event(desk.store)]


@promise
def events_are_pruned_by_age(desk: Desk) -> None:
    """Older than the moment, until there are none; numbers are not used again."""
    desk.store.note([NewEvent(event_type="dispatch_idle")] * 3)
    desk.clock.advance(10)
    desk.store.note([NewEvent(event_type="dispatch_idle")] * 2)
    last = desk.store.events(EventQuery())[-1].id

    assert desk.store.prune(desk.clock.now()) == 3
    assert desk.store.prune(desk.clock.now()) == 0
    assert len(desk.store.events(EventQuery())) == 2
    assert desk.store.prune(desk.clock.now() + timedelta(seconds=1)) == 2
    desk.store.note([NewEvent(event_type="dispatch_idle")])
    assert desk.store.events(EventQuery())[0].id > last


@promise
def runners_that_are_long_gone_are_forgotten(desk: Desk) -> None:
    """Unless an attempt of theirs is still open: whoever holds something is remembered."""
    gone, holding = desk.runner(), desk.runner()
    desk.running(holding)
    desk.store.leave(gone)
    desk.store.leave(holding)
    desk.clock.advance(10)

    desk.store.prune(desk.clock.now())

    assert [one.runner_id for one in desk.store.runners(gone=True)] == [holding]


@promise
def times_are_exact_to_the_microsecond(desk: Desk) -> None:
    """And aware, in UTC; far in the past and far in the future too."""
    for year in (-2000, -100, -50, 0, 100, 5000):
        at = desk.clock.now() + timedelta(days=365 * year, microseconds=1)
        (task_id,) = desk.queue(available_at=at, created_at=at, updated_at=at)
        task = desk.read(task_id)
        assert (task.available_at, task.created_at) == (at, at)
        assert task.available_at.utcoffset() == timedelta(0)


@promise
def ledger_rows_are_numbered_without_a_gap(desk: Desk) -> None:
    """Whoever writes them, and however many at once."""
    stores = [desk.another() for _ in range(PARTIES)]

    def append(store: Store, name: int) -> None:
        for number in range(5):
            entry = NewEntry(kind="noted", actor="ann", subject=f"{name}-{number}", body={"n": number}, source="manual")
            store.append(entry)

    at_once(append, stores, range(PARTIES))

    assert desk.store.unsealed() == 0
    entries = desk.store.entries(limit=1000)
    assert [entry.seq for entry in entries] == list(range(1, PARTIES * 5 + 1))
    assert {entry.subject for entry in entries} == {
        f"{name}-{number}" for name in range(PARTIES) for number in range(5)
    }
    assert [row.seq for row in desk.store.rows()] == [entry.seq for entry in entries]
    assert desk.store.entry(3) == entries[2]
    assert desk.store.entries(after=38, limit=1) == [entries[38]]
    assert desk.store.entries(kind="nothing") == []


@promise
def of_rows_that_follow_one_row_of_a_subject_one_is_written(desk: Desk) -> None:
    """However many come at once, and whatever else is written; another subject is no reason to wait."""
    stores = [desk.another() for _ in range(PARTIES)]
    first = desk.store.append(NewEntry(kind="begun", actor="ann", subject="one", body={}, source="manual"))
    desk.store.append(NewEntry(kind="begun", actor="ann", subject="other", body={}, source="manual"))

    def end(store: Store, name: int) -> LedgerEntry | None:
        entry = NewEntry(kind="ended", actor="ann", subject="one", body={"n": name}, source="manual")
        return store.append_if(entry, first.seq)

    (ended,) = filter(None, at_once(end, stores, range(PARTIES)))

    assert desk.store.unsealed() == 0
    assert desk.store.entries(kind="ended") == [ended]
    assert end(desk.store, 9) is None
    again = NewEntry(kind="ended", actor="ann", subject="one", body={}, source="manual")
    assert desk.store.append_if(again, ended.seq) is not None
    new = NewEntry(kind="begun", actor="ann", subject="new", body={}, source="manual")
    assert desk.store.append_if(new, 0) is not None
    assert desk.store.append_if(new, 0) is None


@promise
def a_bell_is_rung_and_waited_for(desk: Desk) -> None:
    """Never an error, and a wait ends."""
    desk.store.ring()
    desk.store.wait(0)
    desk.store.ring()
    desk.store.wait(0.01)
