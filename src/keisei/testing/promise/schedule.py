"""Schedules: they are made, changed and fired by whoever has seen their newest version, and by nobody else."""

# ruff: noqa: PLR2004 - expected values are plain numbers

from datetime import timedelta
from typing import Any

from msgspec.structs import replace

from keisei.engine.ports import Store
from keisei.records.beside import NOTHING, Beside
from keisei.records.id import ScheduleId, TaskId
from keisei.records.intent import TaskIntent
from keisei.records.move import NewEntry, NewEvent
from keisei.records.schedule import RecurringScheduleRecord
from keisei.records.slot import Firing, Schedule, ScheduleOrder, Slot
from keisei.testing.promise.book import PARTIES, at_once, promise
from keisei.testing.promise.depth import deep
from keisei.testing.promise.text import DOUBTFUL, LONG, STORED, mended
from keisei.testing.queue import Desk, refused

HOUR = timedelta(hours=1)


def new_schedule(desk: Desk, **changes: Any) -> RecurringScheduleRecord:  # noqa: ANN401 - fields of the record
    """A schedule that is due now, unless the changes say otherwise."""
    now = desk.clock.now()
    fields: dict[str, Any] = {
        "schedule_id": ScheduleId(desk.name("schedule")),
        "name": desk.name("name"),
        "enabled": True,
        "interval_seconds": 3600,
        "next_run_at": now,
        "last_run_at": None,
        "task": TaskIntent(task_type="note", source="test", payload={}),
        "created_at": now,
        "updated_at": now,
    }
    return RecurringScheduleRecord(**(fields | changes))


def made(desk: Desk, **changes: Any) -> Schedule:  # noqa: ANN401 - fields of the record
    """Such a schedule, stored."""
    record = new_schedule(desk, **changes)
    assert desk.store.put_schedule(ScheduleOrder(record=record, was=None))
    return found(desk, record.schedule_id)


def found(desk: Desk, name: str) -> Schedule:
    """A schedule that is there."""
    schedule = desk.store.schedule(name)
    assert schedule is not None, name
    return schedule


def record_of(schedule: Schedule) -> RecurringScheduleRecord:
    """What a schedule that can be read says."""
    assert schedule.record is not None, schedule.fault
    return schedule.record


def firing(desk: Desk, schedule: Schedule, **changes: Any) -> Firing:  # noqa: ANN401 - fields of a task
    """The schedule queues a task now and is due in an hour."""
    now, task = desk.clock.now(), desk.task(**changes)
    slot = Slot(
        schedule_id=schedule.schedule_id,
        status="enqueued",
        first_due_at=now,
        due_at=now,
        task_id=task.task.task_id,
        recorded_at=now,
    )
    return Firing(
        schedule_id=schedule.schedule_id,
        was=schedule.version,
        record=replace(record_of(schedule), last_run_at=now, next_run_at=now + HOUR),
        slots=(slot,),
        task_id=task.task.task_id,
        beside=Beside(tasks=(task,), events=(NewEvent(event_type="schedule_task_created"),)),
    )


def told(subject: str) -> Beside:
    """An event and a ledger row."""
    return Beside(
        events=(NewEvent(event_type="schedule_upserted", detail={"subject": subject}),),
        ledger=(NewEntry(kind="schedule_upserted", actor="ann", subject=subject, body={}),),
    )


@promise
def a_schedule_is_kept_as_it_is(desk: Desk) -> None:
    """With what is written beside it; found by its id, else by its name."""
    at = desk.clock.now() + timedelta(microseconds=1)
    record = new_schedule(desk, next_run_at=at, last_run_at=at, overlap="queue", once=True, disabled_reason="no")

    assert desk.store.put_schedule(ScheduleOrder(record=record, was=None, beside=told("made")))

    wanted = Schedule(schedule_id=record.schedule_id, name=record.name, record=record, version=1)
    assert found(desk, record.schedule_id) == found(desk, record.name) == wanted
    assert (desk.life(None), desk.ledger()) == (["schedule_upserted"], [("schedule_upserted", "made")])
    other = made(desk, name=record.schedule_id)
    assert found(desk, record.schedule_id) == wanted
    assert found(desk, other.schedule_id) == other


@promise
def a_schedule_is_made_once(desk: Desk) -> None:
    """Its id or its name is known: nothing is written."""
    known = record_of(made(desk))

    with desk.unchanged():
        for record in (known, new_schedule(desk, name=known.name), replace(known, name="another")):
            assert not desk.store.put_schedule(ScheduleOrder(record=record, was=None, beside=told("twice")))


@promise
def a_schedule_is_changed_by_who_has_seen_it(desk: Desk) -> None:
    """Its version grows by one; another version writes nothing."""
    schedule = made(desk)
    changed = replace(record_of(schedule), enabled=False, interval_seconds=60, disabled_reason="enough")

    assert desk.store.put_schedule(ScheduleOrder(record=changed, was=1, beside=told("changed")))

    assert found(desk, schedule.name) == replace(schedule, record=changed, version=2)
    assert desk.ledger() == [("schedule_upserted", "changed")]
    with desk.unchanged():
        for was in (0, 1, 3, -1, 2**80):
            assert not desk.store.put_schedule(ScheduleOrder(record=changed, was=was, beside=told("late")))
        assert not desk.store.put_schedule(ScheduleOrder(record=new_schedule(desk), was=1, beside=told("nobody")))


@promise
def a_schedule_gets_another_name_unless_it_is_taken(desk: Desk) -> None:
    """It stays the same schedule, with the task it queued last; its old name is free."""
    schedule, other = made(desk), made(desk)
    assert desk.store.fire(firing(desk, schedule))
    schedule = found(desk, schedule.schedule_id)
    record = record_of(schedule)
    with desk.unchanged():
        taken = replace(record, name=other.name)
        assert not desk.store.put_schedule(ScheduleOrder(record=taken, was=2, beside=told("taken")))
        late = replace(record, name="free")
        assert not desk.store.put_schedule(ScheduleOrder(record=late, was=1, beside=told("late")))

    assert desk.store.put_schedule(ScheduleOrder(record=replace(record, name="free"), was=2))

    assert found(desk, "free") == replace(schedule, name="free", record=replace(record, name="free"), version=3)
    assert desk.store.schedule(schedule.name) is None
    made(desk, name=schedule.name)


@promise
def of_many_who_make_or_change_a_schedule_at_once_one_holds(desk: Desk) -> None:
    """The others hear False and have written nothing."""
    stores = [desk.another() for _ in range(PARTIES)]

    def put(store: Store, record: RecurringScheduleRecord, was: int | None) -> bool:
        return store.put_schedule(ScheduleOrder(record=record, was=was, beside=told(str(record.interval_seconds))))

    new = [new_schedule(desk, name="one", interval_seconds=60 + number) for number in range(PARTIES)]
    assert sum(at_once(put, stores, new, [None] * PARTIES)) == 1
    schedule = found(desk, "one")
    changed = [replace(record_of(schedule), interval_seconds=600 + number) for number in range(PARTIES)]
    assert sum(at_once(put, stores, changed, [1] * PARTIES)) == 1
    subjects = [subject for _, subject in desk.ledger()]
    assert subjects == [str(record_of(one).interval_seconds) for one in (schedule, found(desk, "one"))]


@promise
def of_many_who_want_one_name_at_once_one_gets_it(desk: Desk) -> None:
    """The others are called as before."""
    mine = [made(desk) for _ in range(PARTIES)]
    stores = [desk.another() for _ in mine]

    def rename(store: Store, schedule: Schedule) -> bool:
        record = replace(record_of(schedule), name="wanted")
        return store.put_schedule(ScheduleOrder(record=record, was=1, beside=told(schedule.schedule_id)))

    answers = at_once(rename, stores, mine)

    assert sum(answers) == 1
    winner = mine[answers.index(True)]
    assert found(desk, "wanted").schedule_id == winner.schedule_id
    assert desk.ledger() == [("schedule_upserted", winner.schedule_id)]
    assert [found(desk, one.schedule_id) for one in mine if one != winner] == [one for one in mine if one != winner]


@promise
def two_schedules_never_share_a_name(desk: Desk) -> None:
    """Each wants the name of the other: neither gets it, and nobody waits forever."""
    one, other = made(desk), made(desk)

    def rename(store: Store, schedule: Schedule, name: str) -> bool:
        return store.put_schedule(ScheduleOrder(record=replace(record_of(schedule), name=name), was=1))

    with desk.unchanged():
        answers = at_once(rename, [desk.another(), desk.another()], [one, other], [other.name, one.name])
        assert answers == [False, False]


@promise
def a_schedule_is_deleted_and_its_slots_stay(desk: Desk) -> None:
    """By who has seen its version; then its name is free."""
    schedule = made(desk)
    assert desk.store.fire(firing(desk, schedule))
    slots = desk.store.slots(schedule.schedule_id)
    with desk.unchanged():
        assert not desk.store.drop_schedule(schedule.schedule_id, 1, told("late"))
        assert not desk.store.drop_schedule(ScheduleId("nobody"), 1, told("nobody"))

    assert desk.store.drop_schedule(schedule.schedule_id, 2, told("gone"))

    assert desk.store.schedules() == desk.store.due_schedules() == []
    assert desk.store.slots(schedule.schedule_id) == slots
    assert len(slots) == 1
    assert desk.ledger() == [("schedule_upserted", "gone")]
    with desk.unchanged():
        assert not desk.store.drop_schedule(schedule.schedule_id, 2, told("twice"))
    made(desk, name=schedule.name)


@promise
def schedules_are_listed_by_name(desk: Desk) -> None:
    """In the order of their characters, whatever the database's language."""
    names = ["b", "B", "a-b", "ab", "ä", "_", "10", "9", "\U0001f989", "\ufb01"]
    for name in names:
        made(desk, name=name)

    assert [schedule.name for schedule in desk.store.schedules()] == sorted(names)


@promise
def due_are_those_that_are_enabled_and_whose_moment_has_come(desk: Desk) -> None:
    """Longest due first, at most so many; what last ran in the future is among them, to be put right."""
    now = desk.clock.now()
    just = made(desk, next_run_at=now)
    early = made(desk, next_run_at=now - HOUR)
    made(desk, next_run_at=now + timedelta(microseconds=1), last_run_at=now)
    made(desk, next_run_at=now - HOUR, enabled=False, last_run_at=now + HOUR)
    ahead = made(desk, next_run_at=now + 9 * HOUR, last_run_at=now + 8 * HOUR)

    assert desk.store.due_schedules() == [early, just, ahead]
    assert desk.store.due_schedules(2) == [early, just]
    assert desk.store.due_schedules(0) == desk.store.due_schedules(-1) == []
    assert desk.store.next_slot() == now - HOUR


@promise
def the_next_slot_is_that_of_the_schedules_that_are_on(desk: Desk) -> None:
    """None where there is none; it follows every change."""
    assert desk.store.next_slot() is None
    now = desk.clock.now()
    off, far = made(desk, enabled=False), made(desk, next_run_at=now + 2 * HOUR)
    assert desk.store.next_slot() == now + 2 * HOUR

    assert desk.store.put_schedule(ScheduleOrder(record=replace(record_of(off), enabled=True), was=1))
    assert desk.store.next_slot() == now
    assert desk.store.fire(firing(desk, found(desk, off.name)))
    assert desk.store.next_slot() == now + HOUR
    assert desk.store.drop_schedule(off.schedule_id, 3, NOTHING)
    assert desk.store.put_schedule(ScheduleOrder(record=replace(record_of(far), enabled=False), was=1))
    assert desk.store.next_slot() is None


@promise
def a_firing_is_one_transaction(desk: Desk) -> None:
    """The task, the slots, the next moment and what is written beside."""
    schedule = made(desk)
    fired = firing(desk, schedule)
    missed = replace(fired.slots[0], status="coalesced", count=7, task_id=None, reason="missed")
    fired = replace(fired, slots=(missed, *fired.slots))

    assert desk.store.fire(fired)

    assert fired.task_id is not None
    wanted = replace(schedule, record=fired.record, task_id=fired.task_id, version=2)
    assert desk.store.schedules() == [wanted]
    assert desk.store.slots(schedule.schedule_id) == list(fired.slots[::-1])
    assert desk.read(fired.task_id).status == "pending"
    assert desk.life(fired.task_id) == ["task_enqueued"]
    assert desk.life(None) == ["task_enqueued", "schedule_task_created"]
    assert desk.store.due_schedules() == []
    desk.clock.jump(-60)
    assert desk.store.due_schedules() == [wanted]


@promise
def a_firing_without_a_task_keeps_the_newest(desk: Desk) -> None:
    """A slot that is skipped does not hide the task that an earlier one has queued."""
    schedule = made(desk)
    first = firing(desk, schedule)
    assert desk.store.fire(first)
    again = firing(desk, found(desk, schedule.name))
    skipped = replace(again.slots[0], status="skipped", task_id=None, reason="busy", count=3)

    assert desk.store.fire(replace(again, slots=(skipped,), task_id=None, beside=NOTHING))

    assert found(desk, schedule.name).task_id == first.task_id
    assert desk.store.slots(None) == [skipped, *first.slots]


@promise
def a_schedule_fires_once_however_many_see_it_due(desk: Desk) -> None:
    """One task, one slot; the others hear False, and so does whoever comes too late."""
    schedule = made(desk)
    fired = [firing(desk, schedule) for _ in range(PARTIES)]

    answers = at_once(lambda store, one: store.fire(one), [desk.another() for _ in fired], fired)

    assert sum(answers) == 1
    winner = fired[answers.index(True)]
    assert found(desk, schedule.name).task_id == winner.task_id
    assert desk.store.slots(None) == list(winner.slots)
    assert desk.store.counts()["pending"] == 1
    with desk.unchanged():
        assert not desk.store.fire(firing(desk, schedule))
        assert not desk.store.fire(replace(fired[0], schedule_id=ScheduleId("nobody"), record=None, slots=()))


@promise
def a_slot_whose_task_is_known_names_the_earlier_one(desk: Desk) -> None:
    """The key was queued before: that task is the one of the schedule."""
    (known,) = desk.queue(idempotency_key="key")
    schedule = made(desk)

    assert desk.store.fire(firing(desk, schedule, idempotency_key="key"))

    assert found(desk, schedule.name).task_id == known
    assert [slot.task_id for slot in desk.store.slots(None)] == [known]
    assert desk.store.counts()["pending"] == 1


@promise
def a_firing_without_a_record_switches_off(desk: Desk) -> None:
    """What the row says is left alone; it is not due any more."""
    schedule = made(desk)
    slot = replace(firing(desk, schedule).slots[0], status="skipped", task_id=None, reason="unreadable")

    assert desk.store.fire(Firing(schedule_id=schedule.schedule_id, was=1, record=None, slots=(slot,)))

    assert desk.store.due_schedules() == []
    assert desk.store.next_slot() is None
    assert desk.store.slots(None) == [slot]
    assert found(desk, schedule.name).version == 2
    with desk.unchanged():
        assert not desk.store.fire(Firing(schedule_id=schedule.schedule_id, was=1, record=None, slots=(slot,)))


@promise
def slots_are_listed_newest_first(desk: Desk) -> None:
    """Of one schedule, or of all; at most so many."""
    one, other = made(desk), made(desk)
    written: list[Slot] = []
    for schedule in (one, other, one):
        fired = firing(desk, found(desk, schedule.name))
        assert desk.store.fire(fired)
        written.extend(fired.slots)

    assert desk.store.slots(None) == written[::-1]
    assert desk.store.slots(None, 2) == written[:0:-1]
    assert desk.store.slots(one.schedule_id) == [written[2], written[0]]
    assert desk.store.slots(one.schedule_id, 1) == [written[2]]
    assert desk.store.slots(None, 0) == desk.store.slots(ScheduleId("nobody")) == []


@promise
def a_slot_that_cannot_be_is_refused(desk: Desk) -> None:
    """And with it the whole firing."""
    schedule, other = made(desk), made(desk)
    fired = firing(desk, schedule)
    (slot,) = fired.slots
    for wrong in (
        replace(slot, task_id=None),
        replace(slot, count=0),
        replace(slot, count=2),
        replace(slot, status="coalesced", count=-1),
        replace(slot, status="coalesced", count=2**63),
        replace(slot, status="wrong"),
        replace(slot, schedule_id=other.schedule_id),
        replace(slot, task_id=TaskId(LONG)),
    ):
        with desk.unchanged(), refused():
            desk.store.fire(replace(fired, slots=(slot, wrong)))
    with desk.unchanged(), refused():
        desk.store.fire(replace(fired, record=record_of(other)))


@promise
def a_schedule_that_nobody_could_read_is_not_stored(desk: Desk) -> None:
    """A record that breaks its own contract is refused in one sentence."""
    schedule = made(desk)
    intent = record_of(schedule).task
    for changes in (
        {"interval_seconds": 0},
        {"interval_seconds": 2**70},
        {"name": ""},
        {"schedule_id": ""},
        {"next_run_at": desk.clock.now().replace(tzinfo=None)},
        {"last_run_at": desk.clock.now().replace(tzinfo=None)},
        {"overlap": "often"},
        {"task": replace(intent, payload=deep())},
    ):
        with desk.unchanged(), refused():
            desk.store.put_schedule(ScheduleOrder(record=new_schedule(desk, **changes), was=None))
        with desk.unchanged(), refused():
            desk.store.fire(replace(firing(desk, schedule), record=replace(record_of(schedule), **changes)))


@promise
def the_names_of_schedules_are_kept_or_refused(desk: Desk) -> None:
    """They come back as they went in; asking for one that no database can hold is no error."""
    for text in STORED.values():
        assert found(desk, made(desk, name=text).name).name == text
    for text in (*DOUBTFUL.values(), LONG, "ä" * 1000):
        for changes in ({"name": text}, {"schedule_id": text}):
            with desk.unchanged(), refused():
                desk.store.put_schedule(ScheduleOrder(record=new_schedule(desk, **changes), was=None))
        with desk.unchanged():
            assert desk.store.schedule(text) is None
            assert desk.store.slots(ScheduleId(text)) == []
            assert not desk.store.drop_schedule(ScheduleId(text), 1, NOTHING)


@promise
def the_words_of_a_schedule_are_mended(desk: Desk) -> None:
    """Whatever stands in its task or in a reason is stored, save for characters that cannot be kept."""
    for text in (*STORED.values(), *DOUBTFUL.values(), LONG):
        intent = TaskIntent(task_type="note", source="test", description=text, payload={text: [text]})
        schedule = made(desk, task=intent, disabled_reason=text)
        assert mended(record_of(schedule).task, intent)
        assert mended(record_of(schedule).disabled_reason, text)
        fired = firing(desk, schedule)
        slot = replace(fired.slots[0], status="skipped", task_id=None, reason=text)
        assert desk.store.fire(replace(fired, slots=(slot,)))
        assert mended(desk.store.slots(None, 1)[0].reason, text)
