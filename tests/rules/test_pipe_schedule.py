"""Schedules: whatever steps do and however long they take, no two that conflict ever run at once."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from keisei.records.error import IllegalMove
from keisei.records.pipe import PipeDefinition, PipeHead, PipeStep
from keisei.records.problem import Problem
from keisei.rules.pipe_plan import plan
from keisei.rules.pipe_schedule import Schedule
from tests.rules.pipe_world import obj, planned, spec

DOMAINS = ("db", "fs", "net")
OPS = ("read", "write", "network", "subprocess", "other")
EFFECTS = st.lists(st.tuples(st.sampled_from(OPS[:4]), st.sampled_from(DOMAINS)), max_size=2)
RARELY_OTHER = st.integers(0, 9).flatmap(lambda n: st.just([("other", "x")]) if n == 0 else EFFECTS)


@st.composite
def worlds(draw):
    """Steps with effects and needs; some are streams, some go through one."""
    count = draw(st.integers(1, 9))
    atoms, steps, streams = {}, [], []
    for number in range(count):
        effects = [f"{op}:{domain}" for op, domain in draw(RARELY_OTHER)]
        kind = draw(st.sampled_from(["command", "command", "stream"]))
        atom = spec(f"kei-x::a{number}", kind=kind, effects=effects, gives=obj((), closed=False))
        atoms[atom.id] = atom
        needs = [f"s{other}" for other in range(count) if other != number and draw(st.integers(0, 6)) == 0]
        source = streams.pop() if streams and draw(st.booleans()) else None
        each = None if source is None else f"$s{source}"
        steps.append(PipeStep(capture_as=f"s{number}", atom=atom.id, needs=tuple(needs), for_each=each))
        if kind == "stream":
            streams.append(number)
    head = PipeHead(max_parallel=draw(st.integers(1, 4)), on_failure=draw(st.sampled_from(["stop", "continue"])))
    return PipeDefinition(pipe=head, steps=tuple(steps)), atoms


def without_circles(definition):
    """Needs that lead forward in the file could make a circle with references, so only some are kept."""
    keep = []
    for number, step in enumerate(definition.steps):
        back = tuple(name for name in step.needs if int(name[1:]) < number)
        ahead = tuple(name for name in step.needs if int(name[1:]) > number)
        keep.append(replace(step, needs=back if number % 2 else back + ahead))
    return replace(definition, steps=tuple(keep))


def conflicts(one, other):
    """Written again, in other words: never by way of the code under test."""
    if any(effect.op == "other" for each in (one, other) for effect in each.manifest.side_effects):
        return True
    first, second = touched(one), touched(other)
    return any(a[1] == b[1] and (a[0] or b[0]) for a in first for b in second)


def touched(spec):
    """For each effect whether it changes something, and where. A program that a stream starts is started to read."""
    harmless = ("read", "subprocess") if spec.manifest.kind == "stream" else ("read",)
    return {(effect.op not in harmless, effect.domain) for effect in spec.manifest.side_effects}


def needs_of(made, position):
    step = made.steps[position]
    return {*step.needs} | ({step.consumes} if step.consumes is not None else set())


def run(made, draw):
    """A run with any durations and endings; checks the laws at every moment, and tells how everything ended."""
    schedule, running, ended = Schedule(made), [], {}
    skipped, failed = [], False
    while not schedule.is_over:
        ready = schedule.ready()
        assert ready or running, "nothing runs and nothing can start"
        assert not (failed and made.on_failure == "stop" and ready)
        for position in ready:
            for need in needs_of(made, position):
                assert ended.get(need) == "done" or (need == made.steps[position].consumes and need in running)
            schedule.start(position)
            running.append(position)
        for one in running:
            assert not any(conflicts(made.steps[one].spec, made.steps[two].spec) for two in running if two > one)
        pairs = sum(made.steps[each].consumes in running for each in running)
        assert len(running) - pairs <= made.max_parallel
        position = running.pop(draw(st.integers(0, len(running) - 1)))
        ended[position] = draw(st.sampled_from(["done", "done", "done", "failed", "skipped"]))
        failed |= ended[position] == "failed"
        schedule.finish(position, ended[position])
        for skip in schedule.skipped():
            assert skip.position not in ended
            ended[skip.position] = "skipped"
            skipped.append(skip)
    assert not running
    assert sorted(ended) == list(range(len(made.steps)))
    return ended, skipped


@settings(max_examples=100, database=None)
@given(st.data(), worlds())
def test_no_schedule_overlaps_conflicting_effects_and_every_step_ends_once(data, world):
    definition, atoms = without_circles(world[0]), world[1]
    try:
        made = plan(definition, _told, atoms.__getitem__, name="x")
    except ValueError:
        return  # needs in a circle, or a stream with two consumers

    ended, skipped = run(made, data.draw)

    whys = {skip.position: skip.why for skip in skipped}
    for step in made.steps:
        bad = [need for need in needs_of(made, step.position) if ended[need] != "done"]
        if made.on_failure == "continue":
            assert (step.position in whys) <= bool(bad), "continue runs everything independent"
        assert whys.get(step.position) != "stopped" or made.on_failure == "stop"
    assert plan(definition, _told, atoms.__getitem__, name="x") == made


def _told(code, path, message, *_, severity="error", **__):
    """Warnings are made; an error ends the example, because a random pipe need not be a good one."""
    if severity == "error":
        raise ValueError(message)
    return Problem(code=code, path=str(path), message=message, severity=severity)


def chain(*names, head=""):
    return head + "".join(
        f'[[steps]]\ncapture_as = "{name}"\natom = "kei-any::any"\nneeds = {list(needs)}\n' for name, needs in names
    )


def test_a_failure_stops_the_pipe_and_says_what_was_not_started():
    schedule = Schedule(planned(chain(("a", []), ("b", ["a"]), ("c", ["b"]), ("d", []), ("e", ["d"]))))

    for position in schedule.ready():
        schedule.start(position)
    schedule.finish(0, "failed")

    assert schedule.ready() == []
    assert [(skip.position, skip.why, skip.reason) for skip in schedule.skipped()] == [
        (1, "failed", "needs `a`, which failed"),
        (2, "failed", "needs `b`, which was skipped"),
        (4, "stopped", "not started, because `a` failed"),
    ]
    assert schedule.skipped() == []
    assert not schedule.is_over
    schedule.finish(3, "done")
    assert schedule.is_over


def test_a_pipe_that_continues_runs_what_does_not_need_the_failure():
    head = '[pipe]\non_failure = "continue"\n'
    schedule = Schedule(planned(chain(("a", []), ("b", ["a"]), ("c", []), ("d", ["c"]), head=head)))

    for position in schedule.ready():
        schedule.start(position)
    schedule.finish(0, "failed")
    schedule.finish(2, "done")

    assert schedule.ready() == [3]
    assert [skip.position for skip in schedule.skipped()] == [1]


def test_what_is_skipped_by_its_condition_skips_what_needs_it_as_a_success():
    schedule = Schedule(planned(chain(("a", []), ("b", ["a"]))))
    schedule.start(0)
    schedule.finish(0, "skipped")

    assert [(skip.why, skip.reason) for skip in schedule.skipped()] == [("skipped", "needs `a`, which was skipped")]
    assert schedule.is_over


def test_a_skipped_step_still_holds_back_what_conflicts_with_what_it_waited_for():
    """`w1` writes for long; `r`, which waits for it, is skipped early; `w2` must not start beside `w1`."""
    text = """
        [pipe]
        on_failure = "continue"
        [[steps]]
        capture_as = "w1"
        atom = "kei-task::create"
        input = { title = "x" }
        [[steps]]
        capture_as = "bad"
        atom = "kei-any::any"
        [[steps]]
        capture_as = "r"
        atom = "kei-task::search"
        input = { query = "x" }
        needs = ["bad"]
        [[steps]]
        capture_as = "w2"
        atom = "kei-task::create"
        input = { title = "y" }
    """
    schedule = Schedule(planned(text))
    for position in schedule.ready():
        schedule.start(position)

    schedule.finish(1, "failed")

    assert [skip.position for skip in schedule.skipped()] == [2]
    assert schedule.ready() == []
    schedule.finish(0, "done")
    assert schedule.ready() == [3]


STREAM = """
    [pipe]
    max_parallel = 1
    [[steps]]
    capture_as = "tail"
    atom = "kei-log::tail"
    [[steps]]
    capture_as = "first"
    atom = "kei-any::any"
    [[steps]]
    capture_as = "take"
    atom = "kei-text::upper"
    for_each = "$tail"
    input = { text = "$item.line" }
    needs = ["first"]
"""


def test_a_stream_starts_with_its_consumer_and_both_count_as_one():
    schedule = Schedule(planned(STREAM))

    assert schedule.ready() == [1]
    schedule.start(1)
    schedule.finish(1, "done")
    assert schedule.ready() == [0, 2]
    schedule.start(0)
    schedule.start(2)
    assert not schedule.is_alone(0)
    schedule.finish(0, "done")
    schedule.finish(2, "done")
    assert schedule.is_over


def test_a_stream_whose_consumer_is_skipped_runs_alone():
    schedule = Schedule(planned(STREAM.replace("max_parallel = 1", 'on_failure = "continue"')))
    schedule.start(1)
    schedule.finish(1, "failed")

    assert schedule.ready() == [0]
    assert schedule.is_alone(0)


def test_moves_that_make_no_sense_are_refused():
    schedule = Schedule(planned(chain(("a", []), ("b", ["a"]))))

    with pytest.raises(IllegalMove, match="`b` is not ready"):
        schedule.start(1)
    with pytest.raises(IllegalMove, match="`a` is not running"):
        schedule.finish(0, "done")
    schedule.start(0)
    with pytest.raises(IllegalMove, match="`a` is not ready, it is running"):
        schedule.start(0)
    schedule.finish(0, "done")
    with pytest.raises(IllegalMove, match="`a` is not running, it is done"):
        schedule.finish(0, "done")
