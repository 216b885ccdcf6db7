"""Streams: items as they are taken, held up by who does not take them, and ended in order."""

import itertools
import time

import pytest

from keisei.records.error import IllegalMove
from tests.workers.atom import crew, is_alive, order, program_atom, python_atom, python_program

COUNT = """
import os
def run(input, context):
    made = 0
    try:
        for made in range(1, input["n"] + 1):
            yield {"n": made, "pid": os.getpid(), "pad": "x" * 100}
    finally:
        open(input["path"], "w").write(str(made))
"""


@pytest.fixture
def counting(tmp_path):
    return python_atom(tmp_path, COUNT, kind="stream")


@pytest.fixture
def program(tmp_path):
    """A crew whose programs are all this one."""
    place = {}

    def written(source):
        spec, place["program"] = program_atom(tmp_path, source, kind="stream")
        return made, spec

    with crew(lambda _package: place["program"]) as made:
        yield written


def test_items_come_in_order_and_the_answer_is_how_many(staff, counting, tmp_path):
    stream = staff.follow(order(counting, {"n": 2000, "path": str(tmp_path / "made")}))

    items = [item["n"] for item in stream]

    assert items == list(range(1, 2001))
    assert (stream.answer.output, stream.answer.error) == (2000, None)


def test_a_worker_that_came_to_the_end_is_warm_for_the_next(staff, counting, tmp_path):
    data = {"n": 2, "path": str(tmp_path / "made")}

    pids = {item["pid"] for _ in range(3) for item in staff.follow(order(counting, data))}

    assert len(pids) == 1


def test_an_atom_is_held_up_by_who_takes_nothing(staff, counting, tmp_path):
    stream = staff.follow(order(counting, {"n": 10_000_000, "path": str(tmp_path / "made")}))

    taken = [item["n"] for item in itertools.islice(stream, 3)]
    time.sleep(0.05)
    stream.close()

    assert taken == [1, 2, 3]
    assert (stream.answer.error.kind, stream.answer.exit_code) == ("killed", 130)
    # The pipe, what was read of it at once, and the item at hand: 64 KiB each at most.
    assert int((tmp_path / "made").read_text()) * 130 < 200_000


def test_closing_lets_the_generator_clean_up(staff, tmp_path):
    source = """
import time
def run(input, context):
    try:
        yield 1
        time.sleep(600)
    except GeneratorExit:
        open(input["path"], "w").close()
        raise
"""
    atom = python_atom(tmp_path, source, kind="stream")
    stream = staff.follow(order(atom, {"path": str(tmp_path / "clean")}))
    assert next(iter(stream)) == 1

    stream.close()
    stream.close()

    assert (tmp_path / "clean").exists()


def test_one_that_is_never_taken_is_ended_by_its_close(staff, counting, tmp_path):
    stream = staff.follow(order(counting, {"n": 5, "path": str(tmp_path / "made")}))

    assert stream.answer.exit_code == 130
    assert list(stream) == []


def test_a_second_consumer_is_refused(staff, counting, tmp_path):
    stream = staff.follow(order(counting, {"n": 5, "path": str(tmp_path / "made")}))
    first = iter(stream)

    with pytest.raises(IllegalMove, match="has a consumer already"):
        iter(stream)

    assert next(first)["n"] == 1
    stream.close()


def test_the_time_is_for_the_whole_stream(staff, tmp_path):
    source = "import time\ndef run(i, c):\n    yield 1\n    time.sleep(600)\n"

    stream = staff.follow(order(python_atom(tmp_path, source, kind="stream"), timeout_s=0.2))

    assert list(stream) == [1]
    assert (stream.answer.error.kind, stream.answer.exit_code) == ("timeout", 5)


def test_a_stream_that_never_pauses_has_its_time_all_the_same(staff, tmp_path):
    atom = python_atom(tmp_path, "def run(i, c):\n    while True:\n        yield 1\n", kind="stream")
    stream = staff.follow(order(atom, timeout_s=0.2))

    for _ in itertools.islice(stream, 2_000):
        time.sleep(0.001)

    assert stream.answer.error.kind == "timeout"


@pytest.mark.parametrize(
    ("source", "kind", "words", "items"),
    [
        ("    yield 1\n    raise ValueError('bad')", "atom", "ValueError: bad", [1]),
        ("    yield 1\n    yield {1}", "schema-out", "type set is no JSON", [1]),
        ("    yield 1\n    yield 'x' * 20000", "killed", "too long", [1]),
        ("    import os\n    yield 1\n    os._exit(3)", "killed", "exit code 3", [1]),
        ("    return {'a': 1}", "schema-out", "yields its items", []),
        ("    return 7", "schema-out", "yields its items", []),
        ("    return [1, 2, 3 + (yield_ := 0)]", None, "", [1, 2, 3]),
    ],
    ids=["raises", "unfit", "flood", "exit", "dict", "number", "list"],
)
def test_how_a_stream_of_python_ends(tmp_path, source, kind, words, items):
    atom = python_atom(tmp_path, f"def run(i, c):\n{source}\n", kind="stream")

    with crew(cap=10_000) as made:
        stream = made.follow(order(atom))
        assert list(stream) == items
        told = stream.answer

    assert (told.error.kind if told.error else None) == kind
    assert words in (told.error.message if told.error else "")
    assert told.output == (None if kind else len(items))


def test_a_function_that_cannot_be_loaded_is_the_answer(staff, tmp_path):
    stream = staff.follow(order(python_atom(tmp_path, "x = 1", kind="stream")))

    assert list(stream) == []
    assert stream.answer.error.kind == "io"


def test_what_is_no_stream_is_not_followed(staff, tmp_path):
    stream = staff.follow(order(python_atom(tmp_path, "def run(i, c):\n    return 1\n")))

    assert list(stream) == []
    assert stream.answer.error.kind == "usage"


def test_lines_of_a_program_are_items_the_last_one_too(program):
    made, spec = program("#!/bin/sh\nprintf '1\\n\\n{\"a\":2}\\n3'\n")

    stream = made.follow(order(spec))

    assert list(stream) == [1, {"a": 2}, 3]
    assert stream.answer.output == 3


@pytest.mark.parametrize(
    ("source", "kind", "items"),
    [
        ("echo 1; echo '{'; echo 2", "schema-out", [1]),
        ("echo 1; echo 'Gone: x' >&2; exit 2", "atom", [1]),
        ("echo 1; kill -9 $$", "killed", [1]),
        ("echo 1; sleep 600", "timeout", [1]),
        ("sleep 0.05; printf '1\\n\\n2\\n3'", None, [1, 2, 3]),
        ("exit 1", "io", []),
        ("true", None, []),
    ],
)
def test_how_a_stream_of_a_program_ends(program, source, kind, items):
    made, spec = program(f"#!/bin/sh\n{source}\n")

    stream = made.follow(order(spec, timeout_s=0.3))

    assert list(stream) == items
    assert (stream.answer.error.kind if stream.answer.error else None) == kind


def test_an_item_of_a_program_that_is_too_long_ends_it(program):
    made, spec = program(python_program("import os\nwhile True: os.write(1, b'7' * 65536)\n"))

    stream = made.follow(order(spec))

    assert list(stream) == []
    assert "wrote more than 16777216 bytes" in stream.answer.error.message


def test_a_program_is_held_up_and_ended_by_its_close(program, tmp_path):
    path = tmp_path / "made"
    source = f"import os\nopen({str(path)!r}, 'w').write(str(os.getpid()))\nn = 0\n"
    made, spec = program(python_program(source + "while True:\n    n += 1\n    os.write(1, b'%d\\n' % n)\n"))

    stream = made.follow(order(spec))
    taken = list(itertools.islice(stream, 3))
    stream.close()

    assert taken == [1, 2, 3]
    assert stream.answer.exit_code == 130
    assert not is_alive(path.read_text())
