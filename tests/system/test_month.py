"""A month that runs itself, on both stores, and that its two countings would not agree if something were lost."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from keisei.engine import fire, schedule
from tests.store.conftest import postgres, postgres_url  # noqa: F401 - fixtures
from tests.store.desk import postgres_desk, sqlite_desk
from tests.system.month import Month, complaints, told


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.soak)])
def desk(request, tmp_path):
    opened = (
        sqlite_desk(tmp_path) if request.param == "sqlite" else postgres_desk(request.getfixturevalue("postgres_url"))
    )
    with opened as found:
        yield found


@pytest.mark.parametrize("seed", [7])
def test_a_month_loses_nothing_and_does_nothing_twice(desk, tmp_path, seed):
    month = Month(desk, tmp_path, seed, step_s=5400)

    month.run()

    assert complaints(month) == []
    numbers = told(month)
    assert numbers["slot_rows"].keys() == {"enqueued", "coalesced", "skipped"}
    assert numbers["quests"] == len(month.scripts)
    assert min(numbers[name] for name in ("tasks", "slots", "events", "repeats", "messages", "deaths", "set_back")) > 0


def without_coalesced(firing):
    return firing and replace(firing, slots=tuple(each for each in firing.slots if each.status != "coalesced"))


def break_slots(_month, monkeypatch):
    """Missed moments leave no row."""
    real = schedule.firing_of
    monkeypatch.setattr(schedule, "firing_of", lambda *values: without_coalesced(real(*values)))


def break_tail(_month, monkeypatch):
    """One schedule falls asleep, without a word."""
    real = schedule.firing_of

    def firing_of(known, desk):
        found = real(known, desk)
        if found is None or known.name != "odd":
            return found
        return replace(found, record=replace(found.record, next_run_at=desk.now + timedelta(days=99)))

    monkeypatch.setattr(schedule, "firing_of", firing_of)


def break_step(month, monkeypatch):
    """After a clock was set back, one schedule comes too early ever after."""
    month.set_back.append((month.store.now() - timedelta(hours=2), 0))
    real = schedule.firing_of

    def firing_of(known, desk):
        found = real(known, desk)
        if found is None or known.name != "hourly":
            return found
        return replace(found, record=replace(found.record, next_run_at=desk.now + timedelta(minutes=40)))

    monkeypatch.setattr(schedule, "firing_of", firing_of)


def break_overlap(_month, monkeypatch):
    """Nobody asks whether the task of an earlier slot is finished."""
    monkeypatch.setattr(fire, "_busy", lambda *_values: None)


def break_skip(_month, monkeypatch):
    """A slot is skipped although nothing stands in its way."""
    real = fire._busy

    def busy(store, known, record):
        return real(store, known, record) or (record.name == "hourly" and f"task {known.task_id} is in the way") or None

    monkeypatch.setattr(fire, "_busy", busy)


def break_return(month, monkeypatch):
    """What an agent has done is forgotten when its process dies, so that the next one does it again."""
    for process in month.processes:
        real = process.bare.progress

        def progress(step, real=real):
            return True if step.stage == "returned" else real(step)

        monkeypatch.setattr(process.bare, "progress", progress)


def break_dedupe(month, monkeypatch):
    """An event that comes again counts as a new one."""
    real = month.store.observe

    def observe(observation):
        event = observation.event
        return real(replace(observation, event=replace(event, dedupe_key=event.event_id)))

    for process in month.processes:
        monkeypatch.setattr(process.bare, "observe", observe)


def break_delivery(month, monkeypatch):
    """Nobody writes down that a message has arrived."""
    for process in month.processes:
        monkeypatch.setattr(process.bare, "deliver", lambda _delivery: True)


def break_budget(month, monkeypatch):
    """Claims do not look at the limits."""
    month.budget = None
    monkeypatch.setattr("tests.system.month.DAY_TOKENS", 10_000)


BREAKS = [
    break_slots,
    break_tail,
    break_step,
    break_overlap,
    break_skip,
    break_return,
    break_dedupe,
    break_delivery,
    break_budget,
]


@pytest.mark.parametrize(
    "breaking",
    [pytest.param(each, marks=pytest.mark.soak) if each in (break_delivery, break_return) else each for each in BREAKS],
)
def test_the_two_countings_see(breaking, tmp_path, monkeypatch):
    with sqlite_desk(tmp_path) as desk:
        month = Month(desk, tmp_path, seed=3, days=6, step_s=2700)
        month.patience = 20
        breaking(month, monkeypatch)

        month.run()

        assert complaints(month)
