"""Pipe runs: one writer at a time, members and ledger rows at once, and everything comes back as it was."""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from msgspec.structs import replace

from keisei.records.error import IllegalMove
from keisei.records.id import InvocationId
from keisei.records.invocation import InvocationError
from keisei.records.move import NewEntry
from keisei.records.pipe_run import MemberState, PipeMember, PipeMove, PipeRun, RunStatus
from keisei.testing.promise.book import PARTIES, at_once, promise
from keisei.testing.promise.text import DOUBTFUL, LONG, NUMBERS, STORED
from keisei.testing.queue import Desk, refused

SHA = "5" * 64
MARKED = "a \u2028 strange 'step' %s :now $1 \x00 \\u0000"
STATUSES: tuple[RunStatus, ...] = ("running", "undoing", "completed", "failed", "canceled", "blocked")
STATES: tuple[MemberState, ...] = ("running", "done", "failed", "skipped", "unknown", "undone", "undo_failed")
LARGE = 3 * 1024 * 1024


def new_run(desk: Desk, **changes: Any) -> PipeRun:  # noqa: ANN401 - fields of PipeRun
    """A run that begins now."""
    now = desk.clock.now()
    fields: dict[str, Any] = {
        "run_id": desk.name("run"),
        "name": "nightly",
        "source": "/there/dag.toml",
        "definition": {"steps": [{"atom": "kei-x::y"}]},
        "definition_sha": SHA,
        "input": {"a": [1, None]},
        "input_kept": True,
        "status": "running",
        "fence": 1,
        "actor": "operator:ann",
        "created_at": now,
        "updated_at": now,
    }
    return PipeRun(**(fields | changes))


def begun(desk: Desk, **changes: Any) -> PipeRun:  # noqa: ANN401 - fields of PipeRun
    """Such a run, stored."""
    run = new_run(desk, **changes)
    desk.store.begin_run(run)
    return run


def member(index: int = 0, state: MemberState = "done", **changes: Any) -> PipeMember:  # noqa: ANN401 - of PipeMember
    """One call."""
    fields: dict[str, Any] = {"step": "fetch", "index": index, "state": state, "step_sha": SHA, "input_sha": SHA}
    return PipeMember(**(fields | changes))


def moving(run: PipeRun, *members: PipeMember, **changes: Any) -> PipeMove:  # noqa: ANN401 - fields of PipeMove
    """A move of its writer."""
    return PipeMove(run_id=run.run_id, fence=run.fence, members=members, **changes)


def told(subject: str, body: Any = None) -> NewEntry:  # noqa: ANN401 - any JSON
    """A ledger row."""
    return NewEntry(kind="atom_invoked", actor="operator:ann", subject=subject, body={"said": body})


def every(desk: Desk, run: PipeRun, step: str = "fetch", limit: int = 500) -> Iterator[PipeMember]:
    """All members of a step, page by page."""
    after = -1
    while page := desk.store.members(run.run_id, step, after, limit):
        yield from page
        after = page[-1].index


def state_of(desk: Desk, run: PipeRun) -> tuple[Any, ...]:
    """Everything a run can be asked for, and the ledger."""
    store = desk.store
    return store.pipe_run(run.run_id), list(every(desk, run)), store.member_counts(run.run_id), desk.ledger()


@promise
def a_pipe_run_begins_once(desk: Desk) -> None:
    """With its ledger row, and as it was given; a known id changes nothing."""
    run = begun(desk, name=MARKED, source=MARKED, input=MARKED, definition={MARKED: [MARKED]}, error=None)

    before = state_of(desk, run)
    for wrong in (run, new_run(desk, fence=2), new_run(desk, status="failed"), new_run(desk, run_id="a\x00")):
        with refused():
            desk.store.begin_run(wrong)

    assert state_of(desk, run) == before
    assert desk.store.pipe_run(run.run_id) == run
    assert desk.ledger() == [("pipe_begun", run.run_id)]
    assert desk.store.pipe_runs() == [run]


@promise
def pipe_runs_are_listed_newest_first(desk: Desk) -> None:
    """Never more than asked for; whoever nobody knows is not there."""
    runs = [begun(desk) for _ in range(3)]

    assert desk.store.pipe_runs() == runs[::-1]
    assert desk.store.pipe_runs(limit=2) == runs[:0:-1]
    assert desk.store.pipe_runs(limit=-1) == []
    assert desk.store.pipe_runs(begins=runs[1].run_id) == [runs[1]]
    assert desk.store.pipe_runs(begins=runs[1].run_id[:1]) == runs[::-1]
    for text in (*DOUBTFUL.values(), LONG, "nobody"):
        assert desk.store.pipe_run(text) is None
        assert desk.store.pipe_runs(begins=text) == ([] if text else runs[::-1])
        assert desk.store.members(text) == desk.store.members(runs[0].run_id, text) == []
        assert desk.store.member_counts(text) == {}
        assert not desk.store.move_run(PipeMove(run_id=text, fence=1))


@promise
def a_pipe_moves_with_members_and_ledger_rows_at_once(desk: Desk) -> None:
    """One row that cannot be written, and nothing is."""
    run = begun(desk)
    desk.clock.advance(60)
    done, failed = member(0, output={"id": 7}), member(1, "failed", error=InvocationError(kind="io", message="no"))

    assert desk.store.move_run(moving(run, done, failed, entries=(told("kei-x::y"), told("kei-x::z"))))

    assert desk.store.members(run.run_id) == [done, failed]
    assert desk.store.member_counts(run.run_id) == {("fetch", "done"): 1, ("fetch", "failed"): 1}
    assert desk.store.pipe_run(run.run_id) == replace(run, updated_at=desk.clock.now())
    assert desk.ledger()[1:] == [("atom_invoked", "kei-x::y"), ("atom_invoked", "kei-x::z")]
    before = state_of(desk, run)
    manual = replace(told(""), source="manual")
    for wrong in (
        moving(run, member(2), member(-1), status="failed", entries=(told("kei-x::y"),)),
        moving(run, member(2), member(3, step="a\x00b")),
        moving(run, member(2), member(3, output=object())),
        moving(run, member(2), entries=(told("kei-x::y"), manual)),
    ):
        with refused():
            desk.store.move_run(wrong)
        assert state_of(desk, run) == before


@promise
def a_member_is_replaced_by_what_it_came_to(desk: Desk) -> None:
    """Every field of it, in every state."""
    run = begun(desk)
    for state in STATES:
        now = member(
            4,
            state,
            output=[state],
            output_kept=state == "done",
            invocation_id=InvocationId(desk.name("call")),
            source="cache",
            note=MARKED,
            tries=3,
            finished=9,
            error=InvocationError(kind="atom", code="Gone", message=MARKED),
        )
        assert desk.store.move_run(moving(run, member(4, "running"), now))

        assert desk.store.members(run.run_id) == [now]
        assert desk.store.member_counts(run.run_id) == {("fetch", state): 1}


@promise
def a_pipe_run_takes_every_status_with_its_reason(desk: Desk) -> None:
    """And goes back to running when somebody takes it over, unless it was undoing."""
    for status in STATUSES:
        run = begun(desk)
        assert desk.store.move_run(moving(run, status=status, error="because \x00"))

        kept = desk.store.pipe_run(run.run_id)
        assert kept is not None
        assert (kept.status, kept.error) == (status, "because \ufffd")
        desk.clock.advance(1)
        taken = desk.store.take_run(replace(kept, source="/elsewhere", input={"new": True}, definition={"a": 1}))

        expected = "undoing" if status == "undoing" else "running"
        assert (taken.status, taken.fence, taken.error) == (expected, 2, None)
        assert (taken.source, taken.input, taken.definition) == ("/elsewhere", {"new": True}, {"a": 1})
        assert desk.store.pipe_run(run.run_id) == taken


@promise
def whoever_lost_a_pipe_run_only_tells_its_calls(desk: Desk) -> None:
    """It writes neither members nor status, of ledger rows those of calls; nor does it take the run back unseen."""
    run = begun(desk)
    assert desk.store.move_run(moving(run, member(0)))
    taken = desk.another().take_run(run)

    *before, ledger = state_of(desk, run)
    rows = (told("x"), replace(told(run.run_id), kind="pipe_finished"))
    assert not desk.store.move_run(moving(run, member(0, "failed"), member(1), status="failed", entries=rows))
    assert not desk.store.move_run(replace(moving(taken, member(1)), fence=3))
    assert not desk.store.move_run(replace(moving(taken, member(1)), fence=2**70))
    with refused():
        desk.store.take_run(run)
    assert state_of(desk, run) == (*before, [*ledger, ("atom_invoked", "x")])

    assert desk.store.move_run(moving(taken, member(1)))
    assert [found.index for found in every(desk, run)] == [0, 1]


@promise
def of_many_who_take_a_pipe_run_one_does(desk: Desk) -> None:
    """Each with its own store; whoever came too late is told so, and writes nothing."""
    run = begun(desk)
    stores = [desk.another() for _ in range(PARTIES)]

    def take(store: Any, number: int) -> int | None:  # noqa: ANN401 - a store
        try:
            taken = store.take_run(replace(run, input=number))
        except IllegalMove:
            assert not store.move_run(replace(moving(run, member(number)), fence=1))
            return None
        assert store.move_run(moving(taken, member(number), entries=(told("kei-x::y"),)))
        return number

    (winner,) = [found for found in at_once(take, stores, range(PARTIES)) if found is not None]

    kept = desk.store.pipe_run(run.run_id)
    assert kept is not None
    assert (kept.fence, kept.input) == (2, winner)
    assert [found.index for found in every(desk, run)] == [winner]
    assert desk.ledger() == [("pipe_begun", run.run_id), ("atom_invoked", "kei-x::y")]


@promise
def ten_thousand_members_are_read_page_by_page(desk: Desk) -> None:
    """In the order of their places, each once, and only those of the step that is asked for."""
    run = begun(desk)
    for step, count in (("fetch", 10_000), ("b-later", 1), ("a_first", 2)):
        members = tuple(member(index, step=step, output=index) for index in range(count))
        assert desk.store.move_run(moving(run, *members))

    assert [found.output for found in every(desk, run, limit=999)] == list(range(10_000))
    assert [found.index for found in desk.store.members(run.run_id, "fetch", after=9_997)] == [9_998, 9_999]
    assert len(desk.store.members(run.run_id, "fetch")) == 500  # noqa: PLR2004 - unless somebody asks for less
    assert [(found.step, found.index) for found in desk.store.members(run.run_id, limit=4)] == [
        ("a_first", 0),
        ("a_first", 1),
        ("b-later", 0),
        ("fetch", 0),
    ]
    assert desk.store.member_counts(run.run_id)["fetch", "done"] == 10_000  # noqa: PLR2004 - as written


@promise
def large_outputs_come_back_some_at_a_time(desk: Desk) -> None:
    """A page of them ends early, and the next goes on behind it."""
    run = begun(desk)
    texts = [chr(97 + index) * LARGE for index in range(5)]
    for index, text in enumerate(texts):
        assert desk.store.move_run(moving(run, member(index, output=text)))

    assert len(desk.store.members(run.run_id, "fetch")) < len(texts)
    assert [found.output for found in every(desk, run)] == texts
    (third,) = desk.store.members(run.run_id, "fetch", after=2, limit=1)
    assert third.output == texts[3]


@promise
def outputs_are_kept_as_they_are(desk: Desk) -> None:
    """NUL, every other text that an atom can answer with, and every number."""
    run = begun(desk)
    outputs: list[Any] = [
        *STORED.values(),
        "a\x00b",
        {"\x00": ["\x00"]},
        *NUMBERS,
        None,
        True,
        [],
        {},
        {"": {"a": [1]}},
    ]

    assert desk.store.move_run(moving(run, *(member(index, output=each) for index, each in enumerate(outputs))))

    assert [found.output for found in every(desk, run)] == outputs


@promise
def runs_that_did_not_move_for_long_are_forgotten(desk: Desk) -> None:
    """With their members, the oldest first, whatever they say of themselves; later ones stay, and the ledger does."""
    runs = {status: begun(desk) for status in STATUSES}
    for status, run in runs.items():
        assert desk.store.move_run(moving(run, member(0), member(1), status=status))
    desk.clock.advance(10)
    before = desk.clock.now()
    late = begun(desk)
    assert desk.store.move_run(moving(late, member(0), status="completed"))
    ledger = desk.ledger()
    count, size = desk.store.old_runs(before)

    assert (count, size > 0) == (len(STATUSES), True)
    assert desk.store.forget_runs(before, limit=5) == 5  # noqa: PLR2004 - as asked
    assert desk.store.member_counts(runs["blocked"].run_id) == {("fetch", "done"): 2}
    assert (desk.store.forget_runs(before), desk.store.forget_runs(before)) == (1, 0)

    assert [run.run_id for run in desk.store.pipe_runs()] == [late.run_id]
    assert desk.store.member_counts(late.run_id) == {("fetch", "done"): 1}
    assert not desk.store.member_counts(runs["completed"].run_id)
    assert desk.ledger() == ledger
    assert desk.store.old_runs(before) == (0, 0)


@promise
def a_run_is_forgotten_or_taken_over_and_never_both(desk: Desk) -> None:
    """Whoever takes it over has all of its members, or is told that it is gone."""
    run = begun(desk)
    assert desk.store.move_run(moving(run, member(0), status="failed"))
    desk.clock.advance(10)
    before = desk.clock.now()

    def move(store: Any, number: int) -> None:  # noqa: ANN401 - a store
        if number % 2:
            store.forget_runs(before)
            return
        with suppress(IllegalMove):
            store.take_run(run)

    at_once(move, [desk.another() for _ in range(PARTIES)], range(PARTIES))

    kept = desk.store.pipe_run(run.run_id)
    assert sum(desk.store.member_counts(run.run_id).values()) == (0 if kept is None else 1)
