"""Sensors: an event is recorded once with everything it starts, and what is known of a sensor is remembered."""

from datetime import timedelta
from typing import Any

from msgspec.structs import replace

from keisei.records.beside import NOTHING, Beside
from keisei.records.id import SensorEventId
from keisei.records.intent import TaskIntent
from keisei.records.move import EventQuery, NewEntry, NewEvent
from keisei.records.observation import Observation, Observed, Seen, SeenQuery, SensorState
from keisei.records.progression import WorkflowMove, WorkflowQuery, WorkflowStart
from keisei.records.sensor import ProposedWorkflow, SensorEvent
from keisei.testing.promise.book import PARTIES, at_once, promise
from keisei.testing.promise.depth import deep
from keisei.testing.promise.text import DOUBTFUL, LONG, STORED, mended
from keisei.testing.promise.workflow import begun, found, moved, new_workflow
from keisei.testing.queue import Desk, refused


def new_event(desk: Desk, **changes: Any) -> SensorEvent:  # noqa: ANN401 - fields of the event
    """Something that nobody has seen before."""
    fields: dict[str, Any] = {
        "sensor_id": "mail",
        "event_id": SensorEventId(desk.name("event")),
        "observed_at": desk.clock.now(),
        "source_ref": "test",
        "dedupe_key": desk.name("key"),
        "payload": {},
    }
    return SensorEvent(**(fields | changes))


def asking(desk: Desk, event: SensorEvent, **changes: Any) -> Observation:  # noqa: ANN401 - fields of a task
    """The event starts a task."""
    task = desk.task(**changes)
    beside = Beside(tasks=(task,), events=(NewEvent(event_type="sensor_event_recorded"),), ledger=(_entry(event),))
    return Observation(event=event, task_id=task.task.task_id, beside=beside)


def new_state(desk: Desk, **changes: Any) -> SensorState:  # noqa: ANN401 - fields of the state
    """A sensor that is due now."""
    fields: dict[str, Any] = {"sensor_id": desk.name("sensor"), "next_run_at": desk.clock.now()}
    return SensorState(**(fields | changes))


def _entry(event: SensorEvent) -> NewEntry:
    return NewEntry(kind="observed", actor=event.sensor_id, subject=event.event_id, body={})


@promise
def an_observation_is_recorded_with_the_task_it_starts(desk: Desk) -> None:
    """In one transaction; every word of the event is kept."""
    at = desk.clock.now() + timedelta(microseconds=1)
    event = new_event(
        desk,
        observed_at=at,
        freshness_deadline=at,
        payload={"subject": "hello", "numbers": [1, 1.5, None]},
        proposed_task=TaskIntent(task_type="note", source="mail", payload={"x": 1}),
        proposed_workflow=ProposedWorkflow(template="review", instance_key="i", context={"y": 2}),
    )
    observation = asking(desk, event)
    assert observation.task_id is not None

    assert desk.store.observe(observation) == Observed(status="recorded", task_id=observation.task_id)

    seen = Seen(event=event, status="accepted", task_id=observation.task_id, recorded_at=desk.clock.now())
    assert desk.store.seen(SeenQuery()) == [seen]
    assert desk.life(observation.task_id) == ["task_enqueued"]
    assert desk.life(None) == ["task_enqueued", "sensor_event_recorded"]
    assert desk.ledger() == [("observed", event.event_id)]


@promise
def an_observation_that_was_made_before_is_counted(desk: Desk) -> None:
    """By the key or by the id of the event; nothing else of it is written, and the answer is what was started first."""
    event = new_event(desk)
    first = asking(desk, event)
    desk.store.observe(first)
    (before,) = desk.store.seen(SeenQuery())
    for number, (reason, again) in enumerate(
        [
            ("dedupe_key", event),
            ("dedupe_key", new_event(desk, dedupe_key=event.dedupe_key)),
            ("event_id", new_event(desk, event_id=event.event_id)),
        ],
        start=1,
    ):
        desk.clock.advance(1)

        answer = desk.store.observe(asking(desk, again))

        assert answer == Observed(status="deduped", reason=reason, task_id=first.task_id)
        assert desk.store.seen(SeenQuery()) == [replace(before, repeats=number, repeated_at=desk.clock.now())]
        (told,) = desk.store.events(EventQuery(newest=True, limit=1))
        assert (told.event_type, told.task_id) == ("sensor_event_deduped", first.task_id)
        wanted = {key: getattr(again, key) for key in ("sensor_id", "event_id", "dedupe_key")}
        assert told.detail == wanted | {"reason": reason}
    assert len(desk.life(None)) == 2 + 3
    assert (desk.store.counts()["pending"], len(desk.ledger())) == (1, 1)


@promise
def an_observation_with_two_earlier_ones_is_known_by_its_key(desk: Desk) -> None:
    """The key is what the sensor calls the same event."""
    one, other = new_event(desk), new_event(desk)
    first = asking(desk, one)
    desk.store.observe(first)
    desk.store.observe(asking(desk, other))

    answer = desk.store.observe(Observation(event=replace(other, dedupe_key=one.dedupe_key)))

    assert answer == Observed(status="deduped", reason="dedupe_key", task_id=first.task_id)
    assert [seen.repeats for seen in desk.store.seen(SeenQuery())] == [0, 1]


@promise
def sensors_have_observations_of_their_own(desk: Desk) -> None:
    """The same key and id of another sensor is another event."""
    event = new_event(desk)
    assert desk.store.observe(Observation(event=event)).status == "recorded"

    assert desk.store.observe(Observation(event=replace(event, sensor_id="news"))).status == "recorded"

    assert desk.store.observe(Observation(event=replace(event, sensor_id="news"))).status == "deduped"
    assert desk.store.observe(Observation(event=new_event(desk, event_id=event.event_id))).status == "deduped"
    assert [(seen.event.sensor_id, seen.repeats) for seen in desk.store.seen(SeenQuery())] == [("news", 1), ("mail", 1)]


@promise
def a_stale_observation_is_recorded_and_known(desk: Desk) -> None:
    """With the reason; the same event later is a repeat."""
    event = new_event(desk)
    stale = Observation(event=event, status="stale", reason="too late")

    assert desk.store.observe(stale) == Observed(status="recorded")

    (seen,) = desk.store.seen(SeenQuery())
    assert (seen.status, seen.reason, seen.task_id) == ("stale", "too late", None)
    assert desk.store.observe(asking(desk, event)).status == "deduped"
    assert desk.store.counts()["pending"] == 0


@promise
def an_observation_whose_task_is_known_names_the_earlier_one(desk: Desk) -> None:
    """The key was queued before: the event stands by that task."""
    (known,) = desk.queue(idempotency_key="key")

    answer = desk.store.observe(asking(desk, new_event(desk), idempotency_key="key"))

    assert answer == Observed(status="recorded", task_id=known)
    assert [seen.task_id for seen in desk.store.seen(SeenQuery())] == [known]
    assert desk.store.counts()["pending"] == 1


@promise
def an_observation_creates_a_workflow(desk: Desk) -> None:
    """In the same transaction; where the instance is known by now nothing is written, and the event comes again."""
    workflow = new_workflow(desk, instance_key="one")
    told = Beside(events=(NewEvent(event_type="workflow_created"),))
    start = WorkflowStart(workflow=workflow, beside=told)
    event, late = new_event(desk), new_event(desk)
    workflow_id = workflow.record.workflow_id

    answer = desk.store.observe(replace(asking(desk, event), start=start))

    assert (answer.status, answer.workflow_id) == ("recorded", workflow_id)
    assert found(desk, workflow) == workflow
    assert desk.store.seen(SeenQuery())[0].workflow_id == workflow_id
    assert desk.life(None) == ["workflow_created", "task_enqueued", "sensor_event_recorded"]
    with desk.unchanged():
        rival = WorkflowStart(workflow=new_workflow(desk, instance_key="one"))
        assert desk.store.observe(replace(asking(desk, late), start=rival)) == Observed(status="raced")
    assert desk.store.observe(Observation(event=event)).workflow_id == workflow_id
    assert desk.store.observe(asking(desk, late)).status == "recorded"


@promise
def an_observation_wakes_a_workflow(desk: Desk) -> None:
    """In the same transaction; where it has moved meanwhile nothing is written, and the event comes again."""
    workflow = begun(desk, status="blocked", awaits="person")
    awake = moved(workflow, status="active", awaits="entry", context={"more": 1})
    late = new_event(desk)

    answer = desk.store.observe(Observation(event=new_event(desk), wake=WorkflowMove(workflow=awake, was=1)))

    assert answer == Observed(status="recorded", workflow_id=workflow.record.workflow_id)
    assert found(desk, workflow) == replace(awake, version=2)
    with desk.unchanged():
        wake = WorkflowMove(workflow=workflow, was=1)
        assert desk.store.observe(replace(asking(desk, late), wake=wake)) == Observed(status="raced")
    assert desk.store.observe(asking(desk, late)).status == "recorded"


@promise
def of_many_who_make_one_observation_at_once_one_records_it(desk: Desk) -> None:
    """One task; the others are repeats, and hear of that task."""
    event = new_event(desk)
    same = [event if number % 2 else replace(event, event_id=f"event-{number}") for number in range(PARTIES)]
    observations = [asking(desk, one) for one in same]

    answers = at_once(lambda store, one: store.observe(one), [desk.another() for _ in same], observations)

    statuses = [answer.status for answer in answers]
    assert sorted(statuses) == ["deduped"] * (PARTIES - 1) + ["recorded"]
    winner = observations[statuses.index("recorded")]
    assert {answer.task_id for answer in answers} == {winner.task_id}
    (seen,) = desk.store.seen(SeenQuery())
    assert (seen.event, seen.repeats) == (winner.event, PARTIES - 1)
    assert desk.life(None).count("sensor_event_deduped") == PARTIES - 1
    assert (desk.store.counts()["pending"], len(desk.ledger())) == (1, 1)


@promise
def of_many_observations_that_create_one_workflow_at_once_one_does(desk: Desk) -> None:
    """The others have raced: nothing of theirs is there."""
    observations = [
        replace(asking(desk, new_event(desk)), start=WorkflowStart(workflow=new_workflow(desk, instance_key="one")))
        for _ in range(PARTIES)
    ]

    answers = at_once(lambda store, one: store.observe(one), [desk.another() for _ in observations], observations)

    assert sorted(answer.status for answer in answers) == ["raced"] * (PARTIES - 1) + ["recorded"]
    assert len(desk.store.seen(SeenQuery())) == len(desk.store.workflows(WorkflowQuery())) == 1
    assert (desk.store.counts()["pending"], len(desk.ledger())) == (1, 1)


@promise
def observations_are_listed_newest_first(desk: Desk) -> None:
    """Of one sensor, with one id, at most so many."""
    mail = [new_event(desk) for _ in range(3)]
    news = new_event(desk, sensor_id="news", event_id=mail[0].event_id)
    for event in (*mail, news):
        desk.store.observe(Observation(event=event))

    def listed(**query: Any) -> list[SensorEvent]:  # noqa: ANN401 - fields of the query
        return [seen.event for seen in desk.store.seen(SeenQuery(**query))]

    assert listed() == [news, *mail[::-1]]
    assert listed(limit=2) == [news, mail[2]]
    assert listed(sensor_id="mail") == mail[::-1]
    assert listed(event_id=mail[0].event_id) == [news, mail[0]]
    assert listed(sensor_id="mail", event_id=mail[0].event_id) == [mail[0]]
    assert listed(sensor_id="nobody") == listed(limit=0) == listed(limit=-1) == []


@promise
def an_observation_that_cannot_be_is_refused(desk: Desk) -> None:
    """With everything it would start; corrected, it is new."""
    event = new_event(desk)
    for changes in (
        {"sensor_id": ""},
        {"event_id": ""},
        {"dedupe_key": ""},
        {"observed_at": desk.clock.now().replace(tzinfo=None)},
        {"payload": deep()},
    ):
        with desk.unchanged(), refused():
            desk.store.observe(asking(desk, replace(event, **changes)))
    with desk.unchanged(), refused():
        desk.store.observe(replace(asking(desk, event), status="wrong"))
    with desk.unchanged(), refused():
        desk.store.observe(asking(desk, event, task_type=LONG))

    assert desk.store.observe(asking(desk, event)).status == "recorded"


@promise
def the_names_of_observations_are_kept_or_refused(desk: Desk) -> None:
    """They come back as they went in; asking for one that no database can hold is no error."""
    for text in STORED.values():
        event = new_event(desk, sensor_id=text, event_id=text, dedupe_key=text)
        assert desk.store.observe(Observation(event=event)).status == "recorded"
        assert [seen.event for seen in desk.store.seen(SeenQuery(sensor_id=text))] == [event]
        assert desk.store.observe(Observation(event=event)).status == "deduped"
    for text in (*DOUBTFUL.values(), LONG, "ä" * 1000):
        for changes in ({"sensor_id": text}, {"event_id": text}, {"dedupe_key": text}):
            with desk.unchanged(), refused():
                desk.store.observe(asking(desk, new_event(desk, **changes)))
        assert desk.store.seen(SeenQuery(sensor_id=text)) == []
        assert desk.store.seen(SeenQuery(event_id=SensorEventId(text))) == []
        assert desk.store.sensor(text) is None


@promise
def the_words_of_an_observation_are_mended(desk: Desk) -> None:
    """What was seen is stored, save for characters that cannot be kept."""
    for text in (*STORED.values(), *DOUBTFUL.values(), LONG):
        event = new_event(desk, source_ref=text, payload={text: [text]})
        assert desk.store.observe(Observation(event=event, status="stale", reason=text)).status == "recorded"
        (seen,) = desk.store.seen(SeenQuery(limit=1))
        assert mended(seen.event, event)
        assert mended(seen.reason, text)


@promise
def a_sensor_is_remembered_by_who_has_seen_its_version(desk: Desk) -> None:
    """Version 0 makes it; each change counts one up; another version writes nothing."""
    at = desk.clock.now() + timedelta(microseconds=1)
    state = new_state(desk, cursor={"page": [1, None]}, next_run_at=at, last_run_at=at, failures=2, reason="no")
    told = Beside(events=(NewEvent(event_type="sensor_ran"),))
    assert desk.store.sensor(state.sensor_id) is None

    assert desk.store.put_sensor(state, told)

    first = replace(state, version=1)
    assert desk.store.sensor(state.sensor_id) == first
    changed = replace(first, cursor=None, last_run_at=None, failures=0, reason=None, paused=True)
    assert desk.store.put_sensor(changed, told)
    assert desk.store.sensor(state.sensor_id) == replace(changed, version=2)
    assert desk.life(None) == ["sensor_ran"] * 2
    with desk.unchanged():
        for version in (0, 1, 3, -1, 2**80):
            assert not desk.store.put_sensor(replace(changed, version=version), told)
        assert not desk.store.put_sensor(new_state(desk, version=1), told)


@promise
def of_many_who_remember_a_sensor_at_once_one_holds(desk: Desk) -> None:
    """When it is made and when it changes."""
    stores = [desk.another() for _ in range(PARTIES)]
    told = Beside(events=(NewEvent(event_type="sensor_ran"),))
    for version in (0, 1):
        states = [new_state(desk, sensor_id="one", cursor={"n": number}, version=version) for number in range(PARTIES)]

        answers = at_once(lambda store, state: store.put_sensor(state, told), stores, states)

        assert sum(answers) == 1
        assert desk.store.sensor("one") == replace(states[answers.index(True)], version=version + 1)
    assert desk.life(None) == ["sensor_ran"] * 2


@promise
def sensors_are_listed_by_id(desk: Desk) -> None:
    """In the order of their characters, whatever the database's language."""
    names = ["b", "B", "a-b", "ab", "ä", "webhook:x", "10", "9"]
    for name in names:
        assert desk.store.put_sensor(new_state(desk, sensor_id=name), NOTHING)

    assert [state.sensor_id for state in desk.store.sensors()] == sorted(names)


@promise
def a_sensor_that_cannot_be_is_refused(desk: Desk) -> None:
    """Its words are mended, its name is not."""
    names = ("", *DOUBTFUL.values(), LONG)
    wrong: list[dict[str, Any]] = [{"failures": -1}, {"failures": 2**63}, {"cursor": deep()}]
    for changes in (*wrong, *({"sensor_id": name} for name in names)):
        with desk.unchanged(), refused():
            desk.store.put_sensor(new_state(desk, **changes), NOTHING)
    for text in (*STORED.values(), *DOUBTFUL.values(), LONG):
        state = new_state(desk, cursor={text: text}, reason=text)
        assert desk.store.put_sensor(state, NOTHING)
        read = desk.store.sensor(state.sensor_id)
        assert read is not None
        assert mended([read.cursor, read.reason], [state.cursor, text])
