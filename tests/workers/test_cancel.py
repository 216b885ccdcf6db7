"""One call is canceled by its id, wherever it is on its way; nobody else's is touched."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from keisei.workers.errand import Errands
from keisei.workers.worker import Worker
from tests.workers.atom import crew, is_alive, order, program_atom, python_atom
from tests.workers.test_crew import is_gone_soon, wait_for

HOLD = """
import os, time
def run(input, context):
    with open(input["path"], "w") as file:
        file.write(str(os.getpid()))
    while not os.path.exists(input["path"] + ".go"):
        time.sleep(0.002)
    return os.getpid()
"""
SLOW_LOAD = "import pathlib, os, time\npathlib.Path({path!r}).write_text(str(os.getpid()))\ntime.sleep(600)\n"
STREAM = """
import os, time
def run(input, context):
    yield os.getpid()
    time.sleep(600)
"""


def ended(told):
    return told.error.kind, told.exit_code


def held(atom, path, name):
    return order(atom, {"path": str(path)}, timeout_s=60, invocation_id=name)


def test_a_call_that_runs_is_ended_and_its_neighbour_is_not(tmp_path):
    atom = python_atom(tmp_path, HOLD)

    with crew() as made, ThreadPoolExecutor(2) as threads:
        one = threads.submit(made.call, held(atom, tmp_path / "one", "inv_one"))
        other = threads.submit(made.call, held(atom, tmp_path / "other", "inv_other"))
        pid, neighbour = int(wait_for(tmp_path / "one")), int(wait_for(tmp_path / "other"))
        made.cancel("inv_one")

        assert ended(one.result()) == ("killed", 130)
        assert not is_alive(pid)
        (tmp_path / "other.go").touch()
        assert other.result().output == neighbour
        (tmp_path / "third.go").touch()
        assert made.call(held(atom, tmp_path / "third", "inv_third")).output == neighbour


def test_a_program_is_ended(tmp_path):
    atom, path = program_atom(tmp_path, f"#!/bin/sh\necho $$ > '{tmp_path}/pid'\nexec sleep 600\n")

    with crew(lambda _package: path) as made, ThreadPoolExecutor(1) as threads:
        call = threads.submit(made.call, order(atom, timeout_s=60))
        pid = int(wait_for(tmp_path / "pid"))
        made.cancel("inv_1")

        assert ended(call.result()) == ("killed", 130)
        assert not is_alive(pid)


def test_a_call_that_waits_for_a_place_is_let_go_and_takes_none(tmp_path):
    atom = python_atom(tmp_path, HOLD)

    with crew(most=1) as made, ThreadPoolExecutor(3) as threads:
        first = threads.submit(made.call, held(atom, tmp_path / "first", "inv_first"))
        wait_for(tmp_path / "first")
        second = threads.submit(made.call, held(atom, tmp_path / "second", "inv_second"))
        while len(made._pool._waiting) < 1:
            time.sleep(0.001)
        third = threads.submit(made.call, held(atom, tmp_path / "third", "inv_third"))
        while len(made._pool._waiting) < 2:
            time.sleep(0.001)
        made.cancel("inv_second")

        assert ended(second.result()) == ("killed", 130)
        assert not third.done()
        assert made._pool._busy == 1
        for name in ("first", "third"):
            (tmp_path / f"{name}.go").touch()
        assert third.result().error is first.result().error is None
        assert made._pool._busy == 0
    assert not (tmp_path / "second").exists()


def test_a_call_whose_function_is_being_loaded_is_ended(tmp_path):
    atom = python_atom(tmp_path, SLOW_LOAD.format(path=str(tmp_path / "pid")))

    with crew() as made, ThreadPoolExecutor(1) as threads:
        call = threads.submit(made.call, order(atom, timeout_s=60))
        pid = int(wait_for(tmp_path / "pid"))
        made.cancel("inv_1")

        assert ended(call.result()) == ("killed", 130)
        assert is_gone_soon(pid)


@pytest.mark.parametrize("is_taken", [True, False])
def test_a_stream_is_ended_also_where_nobody_takes_its_items(tmp_path, is_taken):
    atom = python_atom(tmp_path, STREAM, kind="stream")

    with crew() as made:
        stream = made.follow(order(atom, timeout_s=60))
        items = iter(stream)
        pid = next(items)
        taker = threading.Thread(target=list, args=(items,))
        if is_taken:
            taker.start()
        made.cancel("inv_1")

        assert is_gone_soon(pid)
        if is_taken:
            taker.join()
        assert ended(stream.answer) == ("killed", 130)
        assert not made._errands._all


def test_a_stream_of_a_program_is_ended(tmp_path):
    atom, path = program_atom(tmp_path, "#!/bin/sh\necho $$\nexec sleep 600\n", kind="stream")

    with crew(lambda _package: path) as made:
        stream = made.follow(order(atom, timeout_s=60))
        pid = next(iter(stream))
        made.cancel("inv_1")

        assert is_gone_soon(pid)
        assert ended(stream.answer) == ("killed", 130)


def test_a_cancel_before_the_beginning_and_after_the_end_touches_nothing(tmp_path):
    atom = python_atom(tmp_path, "import os\ndef run(input, context):\n    return os.getpid()\n")

    with crew() as made:
        made.cancel("inv_1")
        first = made.call(order(atom)).output
        made.cancel("inv_1")
        made.cancel("nobody")

        assert made.call(order(atom)).output == first


def test_a_worker_whose_bell_rang_when_it_was_done_is_not_used_again(tmp_path, monkeypatch):
    atom = python_atom(tmp_path, "import os\ndef run(input, context):\n    return os.getpid()\n")
    finish = Worker.finish

    with crew() as made:

        def ringing(self, *args):
            told = finish(self, *args)
            made.cancel("inv_1")
            return told

        monkeypatch.setattr(Worker, "finish", ringing)
        told = made.call(order(atom))

        assert told.error is None
        assert not is_alive(told.output)


def test_an_errand_passes_a_cancel_on_to_what_comes_later():
    errands, rung = Errands(), []
    one, other = errands.begin("a"), errands.begin("b")

    errands.cancel("a")
    one.at(lambda: rung.append("one"))
    other.at(lambda: rung.append("other"))
    errands.over(one)
    errands.cancel("a")

    assert rung == ["one"]
    assert (one.is_canceled, other.is_canceled) == (True, False)
