"""Crews: many threads, few places, and an end that leaves nothing running."""

import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from keisei.sandbox.process import open_process
from tests.workers.atom import crew, is_alive, order, program_atom, python_atom

NAP = "import os, time\ndef run(input, context):\n    time.sleep(input.get('s', 0))\n    return os.getpid()\n"
MEET = """
import os, time
def run(input, context):
    open(os.path.join(input["folder"], str(input["n"])), "w").close()
    while len(os.listdir(input["folder"])) < input["all"]:
        time.sleep(0.002)
    return os.getpid()
"""


def is_gone_soon(pid):
    until = time.monotonic() + 10
    while is_alive(pid) and time.monotonic() < until:
        time.sleep(0.005)
    return not is_alive(pid)


def children():
    return {int(pid) for task in Path("/proc/self/task").iterdir() for pid in (task / "children").read_text().split()}


def wait_for(path):
    """What is written there."""
    until = time.monotonic() + 20
    while not (path.exists() and (said := path.read_text())):
        assert time.monotonic() < until
        time.sleep(0.002)
    return said


def test_threads_get_workers_of_their_own_up_to_the_number_of_places(tmp_path):
    atom, folder = python_atom(tmp_path, MEET), tmp_path / "met"
    folder.mkdir()

    with crew(most=3) as made, ThreadPoolExecutor(3) as threads:
        orders = [order(atom, {"folder": str(folder), "n": n, "all": 3}) for n in range(3)]
        pids = [told.output for told in threads.map(made.call, orders)]

    assert len(set(pids)) == 3


def test_who_waits_longest_is_next(tmp_path):
    atom = python_atom(
        tmp_path, "import time\ndef run(input, context):\n    time.sleep(0.03)\n    return time.time()\n"
    )
    told = {}

    with crew(most=1) as made:
        made.call(order(atom))

        def call(n):
            told[n] = made.call(order(atom)).output

        threads = []
        for n in range(5):
            threads.append(threading.Thread(target=call, args=(n,)))
            threads[-1].start()
            while len(made._pool._waiting) < n:
                time.sleep(0.001)
        for thread in threads:
            thread.join()

    assert sorted(told, key=told.get) == [0, 1, 2, 3, 4]


def test_there_are_never_more_processes_than_places(tmp_path):
    atoms = [python_atom(tmp_path, NAP, name=f"kei-{letter}") for letter in "abcde"]

    beside, pids = [], []

    def start(*args, **more):
        beside.append(sum(map(is_alive, pids)))
        process = open_process(*args, **more)
        pids.append(process.pid)
        return process

    with crew(most=2) as made, ThreadPoolExecutor(4) as threads:
        made._open_process = start
        told = list(threads.map(made.call, [order(atom) for atom in atoms * 2]))

    assert [each.error for each in told] == [None] * 10
    assert max(beside) == 1


def test_another_atom_is_not_touched_by_one_that_crashes(tmp_path):
    good = python_atom(tmp_path, NAP, name="kei-good")
    bad = python_atom(tmp_path, "import os\ndef run(i, c):\n    os.kill(os.getpid(), 11)\n", name="kei-bad")

    with crew() as made:
        first = made.call(order(good)).output
        assert made.call(order(bad)).error.kind == "killed"
        assert made.call(order(good)).output == first


def test_a_worker_with_many_calls_behind_it_is_replaced(tmp_path, monkeypatch):
    monkeypatch.setattr("keisei.workers.worker.CALLS", 2)
    atom = python_atom(tmp_path, NAP)

    with crew() as made:
        pids = [made.call(order(atom)).output for _ in range(4)]

    assert pids[0] == pids[1] != pids[2] == pids[3]


def test_an_idle_worker_goes_home(tmp_path):
    atom = python_atom(tmp_path, NAP)

    with crew(idle_s=0.05) as made:
        pid = made.call(order(atom)).output

        assert is_gone_soon(pid)
        assert made.call(order(atom)).error is None


def test_idle_workers_are_seen_off_side_by_side():
    """One after the other, each with a time of its own, would hold up a cancel that waits behind them."""

    class Idle:
        def __init__(self):
            self.told = []

        def part(self):
            self.told.append("part")

        def leave(self, until):
            self.told.append(until)

    idle = [Idle(), Idle()]
    with crew() as made:
        made._dismiss(idle)

    assert idle[0].told == idle[1].told
    assert idle[0].told[0] == "part"


def test_a_cancel_ends_every_call_and_every_later_one(tmp_path):
    source = "import time\ndef run(i, c):\n    open(i['path'], 'w').write('here')\n    time.sleep(600)\n"
    napping = python_atom(tmp_path, source, name="kei-nap")
    program, path = program_atom(tmp_path, f"#!/bin/sh\necho here > '{tmp_path}/b'\nsleep 600\n", name="kei-program")

    with crew(lambda _package: path, most=2) as made, ThreadPoolExecutor(3) as threads:
        calls = [threads.submit(made.call, order(napping, {"path": str(tmp_path / "a")}, timeout_s=60))]
        wait_for(tmp_path / "a")
        calls.append(threads.submit(made.call, order(program, timeout_s=60)))
        wait_for(tmp_path / "b")
        calls.append(threads.submit(made.call, order(napping, timeout_s=60)))  # it waits for a place
        made.cancel()
        told = [call.result() for call in calls]
        told.append(made.call(order(program)))
        stream = made.follow(order(python_atom(tmp_path, NAP, name="kei-stream", kind="stream")))

    assert [(each.error.kind, each.exit_code) for each in (*told, stream.answer)] == [("killed", 130)] * 5


def test_a_cancel_may_be_said_in_a_signal_handler(tmp_path):
    source = "import os, time\ndef run(i, c):\n    os.kill(os.getppid(), 10)\n    time.sleep(600)\n"
    atom = python_atom(tmp_path, source)

    with crew() as made:
        before = signal.signal(signal.SIGUSR1, lambda *_: made.cancel())
        try:
            told = made.call(order(atom, timeout_s=60))
        finally:
            signal.signal(signal.SIGUSR1, before)

    assert told.exit_code == 130


def test_an_interrupt_leaves_nothing_running(tmp_path):
    source = "import os, time\ndef run(i, c):\n    os.kill(os.getppid(), 10)\n    time.sleep(600)\n"
    atom = python_atom(tmp_path, source)

    def interrupt(*_):
        raise KeyboardInterrupt

    with crew() as made:
        before, there = signal.signal(signal.SIGUSR1, interrupt), children()
        try:
            with pytest.raises(KeyboardInterrupt):
                made.call(order(atom, timeout_s=60))
        finally:
            signal.signal(signal.SIGUSR1, before)

        assert children() == there
        assert made.call(order(python_atom(tmp_path, NAP, name="kei-next"))).error is None


def test_closing_leaves_no_process_and_no_thread(tmp_path):
    atom = python_atom(tmp_path, NAP)
    endless = python_atom(tmp_path, "def run(i, c):\n    while True:\n        yield 1\n", name="kei-end", kind="stream")
    before, threads = children(), threading.active_count()
    made = crew()

    made.call(order(atom))
    stream = made.follow(order(endless))
    next(iter(stream))
    assert children() - before
    made.close()
    made.close()

    assert children() <= before
    assert threading.active_count() == threads
    assert stream.answer.exit_code == 130


def test_a_worker_dies_with_who_started_it(tmp_path):
    source = "import os, time\ndef run(i, c):\n    open(i['path'], 'w').write(str(os.getpid()))\n    time.sleep(600)\n"
    script = f"""
from pathlib import Path
from keisei.sandbox.process import open_process
from tests.workers.atom import crew, order, python_atom
atom = python_atom(Path({str(tmp_path)!r}), {source!r})
crew().call(order(atom, {{"path": {str(tmp_path / "pid")!r}}}, timeout_s=60))
"""
    root = str(Path(__file__).parents[2])
    path = os.pathsep.join((root, os.environ.get("PYTHONPATH", "")))
    owner = subprocess.Popen([sys.executable, "-c", script], cwd=root, env={**os.environ, "PYTHONPATH": path})
    pid = wait_for(tmp_path / "pid")

    owner.kill()
    owner.wait()

    assert is_gone_soon(pid)
