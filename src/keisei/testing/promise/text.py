"""Text: whatever an agent can write is stored as it is, or refused in one sentence with nothing written."""

from collections.abc import Callable
from hashlib import sha256
from typing import Any, TypeVar

from msgspec import to_builtins
from msgspec.structs import replace

from keisei.records.error import KeiseiError
from keisei.records.id import AdapterId, AgentId, AttemptId, ProfileId, RunnerId, TaskId
from keisei.records.move import CancelOrder, EventQuery, NewEntry, NewEvent, TaskQuery
from keisei.testing.promise.book import promise
from keisei.testing.queue import Desk, new_item, new_outcome, refused

T = TypeVar("T")

STORED = {
    "owls": "🦉👩‍👩‍👧 \U0010ffff",
    "right to left": "\u202e\u05e9\u05dc\u05d5\u05dd\u202c",
    "combining": "e\u0301 é \u1100\u1161",
    "controls": "\x01\x1b[31m\x7f\x85",
    "line ends": "a\r\nb\u2028c\u2029d\ve",
    "not characters": "\ufffe\uffff\ufeff",
    "quotes": "'; DROP TABLE tasks; -- \" \\ %s %(x)s $1 ? :x {}",
    "escapes": r"\u0000 \x00 \n \ud800",
    "space": "  \t ",
}
"""Text that both databases keep."""

NUMBERS = [2**53 - 1, -(2**53) + 1, 0, -1, 1.5, 1e-300, 1.7976931348623157e308, -0.0]
"""Numbers that JSON keeps."""

DOUBTFUL = {
    "nul": "a\x00b",
    "half a surrogate": "a\ud800b",
    "another half": "\udfff",
    "a pair of halves": "\ud83e\udd89",
}
"""Text that one database or the other cannot keep; both must do the same with it."""

LONG = "".join(sha256(bytes([number])).hexdigest() for number in range(256))
"""Sixteen thousand characters that do not get much shorter by packing."""

MENDED = "\ufffd"
"""What stands for a character that cannot be kept, where the text is for people."""


@promise
def text_is_kept_as_it_is(desk: Desk) -> None:
    """In every place an agent or an author can write to."""
    for text in STORED.values():
        runner = desk.runner()
        claimed = desk.running(runner, subject=text, description=text, payload={text: [text]}, idempotency_key=text)
        outcome = replace(new_outcome("completed"), operator_summary=text, raw_output=text)
        good = desk.ending(
            claimed, "completed", outbox=(replace(new_item(claimed, desk.clock.now()), payload={text: text}),)
        )
        told = NewEvent(event_type="task_finished", task_id=claimed.task.task_id, detail={text: text})
        settlement = replace(good, task=replace(good.task, outcome=outcome, last_error=text), events=(told,))

        assert desk.store.settle(settlement) == "settled"

        assert desk.store.task(claimed.task.task_id) == settlement.task
        assert desk.store.outbox(None, 1) == list(settlement.outbox)
        assert desk.store.events(EventQuery(newest=True, limit=1))[0].detail == {text: text}
        entry = desk.store.append(NewEntry(kind="noted", actor="ann", subject="s", body={text: text}))
        assert entry.body == {text: text}


@promise
def numbers_are_kept_as_they_are(desk: Desk) -> None:
    """Integers up to 2^53 and every float; true stays true."""
    (task_id,) = desk.queue(payload={"numbers": NUMBERS, "words": [True, False, None]})

    payload = desk.read(task_id).payload
    assert payload == {"numbers": NUMBERS, "words": [True, False, None]}
    assert list(map(type, payload["numbers"])) == list(map(type, NUMBERS))


@promise
def a_megabyte_is_kept(desk: Desk) -> None:
    """And more than one."""
    text = "ä" * 1_000_000
    claimed = desk.running(payload={"text": text}, description=text)
    outcome = replace(new_outcome("completed"), raw_output=text)
    settlement = desk.ending(claimed, "completed")

    assert claimed.task.payload == {"text": text}
    desk.store.settle(replace(settlement, task=replace(settlement.task, outcome=outcome)))
    assert desk.read(claimed.task.task_id).outcome == outcome


@promise
def text_that_a_database_cannot_keep_is_refused_in_a_name(desk: Desk) -> None:
    """An id or a key comes back as it went in, or does not go in: then nothing of the intake does."""
    for text in DOUBTFUL.values():
        for place, changes in places(text).items():
            before = desk.store.counts()
            new = desk.task(**changes)
            if answered(desk.store.enqueue, [desk.task(), new]) != "kept":
                assert desk.store.counts() == before, (place, text)
            else:
                read = desk.read(new.task.task_id)
                assert read == new.task or (place not in NAMES and mended(read, new.task)), (place, text)


@promise
def text_that_a_database_cannot_keep_is_mended_in_an_outcome(desk: Desk) -> None:
    """No word of an agent keeps its attempt from being settled, or an event from being told."""
    for text in DOUBTFUL.values():
        claimed = desk.running()
        good = desk.ending(
            claimed, "completed", outbox=(replace(new_item(claimed, desk.clock.now()), payload={"t": text}),)
        )
        outcome = replace(new_outcome("completed"), raw_output=text, operator_summary=text)
        told = NewEvent(event_type="task_finished", task_id=claimed.task.task_id, detail={text: text})
        task = replace(good.task, outcome=outcome, last_error=text)

        assert desk.store.settle(replace(good, task=task, events=(told,))) == "settled"

        assert mended(desk.read(claimed.task.task_id), task)
        assert mended(desk.store.outbox(None, 1)[0].payload, {"t": text})
        assert mended(desk.store.events(EventQuery(newest=True, limit=1))[0].detail, {text: text})
        desk.running()
        desk.store.request_cancel(CancelOrder(task_id=None, reason=text, actor="ann"))
        desk.store.note([NewEvent(event_type="dispatch_idle", detail={"text": text})])


@promise
def a_name_of_any_length_is_refused_or_works_to_the_end(desk: Desk) -> None:
    """A task that was let in can be claimed and settled; other text has any length."""
    runner = desk.runner()
    for place, changes in places(LONG).items():
        if answered(desk.store.enqueue, [desk.task(**changes)]) == "kept":
            (claimed,) = desk.claim(runner)
            assert desk.settle(claimed, "completed") == "settled", place
        else:
            assert place in NAMES


@promise
def what_no_database_can_hold_is_not_there(desk: Desk) -> None:
    """Asking for it is no error: nothing has that name."""
    for text in (*DOUBTFUL.values(), LONG):
        with desk.unchanged():
            assert desk.store.task(TaskId(text)) is None
            assert desk.store.attempt(AttemptId(text)) is None
            assert desk.store.attempts(TaskId(text)) == []
            assert desk.store.tasks(TaskQuery(task_type=text, source=text)) == []
            assert desk.store.events(EventQuery(task_id=TaskId(text))) == []
            assert desk.store.memory(AgentId(text), ProfileId(text), 9) == []
            assert not desk.store.beat(RunnerId(text)).alive
            assert not desk.store.drain(RunnerId(text))
            assert not desk.store.reset_breaker(AdapterId(text), "ann")
            assert desk.store.request_cancel(CancelOrder(task_id=TaskId(text), reason="stop", actor="ann")) == ()
            assert desk.sweep(dead=(RunnerId(text),)) == []
            assert desk.claim(RunnerId(text)) == []


@promise
def numbers_that_no_column_holds_are_refused(desk: Desk) -> None:
    """In one sentence, with nothing written."""
    for changes in ({"priority": 2**31}, {"priority": 10**30}, {"max_attempts": 2**63}, {"depth": 2**63}):
        with desk.unchanged(), refused():
            desk.store.enqueue([desk.task(), desk.task(**changes)])


def mended(read: object, written: object) -> bool:
    """Whether a value came back as it went in, save for characters that cannot be kept."""
    return _mended(to_builtins(read), to_builtins(written))


def _mended(read: Any, written: Any) -> bool:  # noqa: ANN401 - JSON
    if isinstance(written, str):
        joined = written.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return read in {joined, joined.replace("\0", MENDED)}
    if isinstance(written, dict):
        return _mended(list(read.items()), list(written.items()))
    if isinstance(written, list | tuple):
        return len(read) == len(written) and all(map(_mended, read, written))
    return bool(read == written)


NAMES = frozenset({"key", "type", "source", "agent", "profile", "breaker"})
"""Places of a task that are names."""


def places(text: str) -> dict[str, dict[str, Any]]:
    """Where a task can carry a text."""
    return {
        "subject": {"subject": text},
        "payload": {"payload": {"deep": [text]}},
        "payload key": {"payload": {text: 1}},
        "key": {"idempotency_key": text},
        "type": {"task_type": text},
        "source": {"source": text},
        "agent": {"agent": text},
        "profile": {"requested_profile_id": text},
        "breaker": {"breaker_id": text},
    }


def answered(action: Callable[[T], object], value: T) -> str:
    """`kept`, or the kind of the KeiseiError it was refused with. Raises any other exception."""
    try:
        action(value)
    except KeiseiError as error:
        return type(error).__name__
    return "kept"
