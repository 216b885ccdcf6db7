"""The crew: worker processes of ours and of the peers, started, told to go, and heard."""

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from place import Ground, Place
from tree import tree_cpu_s

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PEER_PYTHON = ROOT / ".tools/bench/bin/python"
LONGEST_S = 900.0


class Worker:
    """One process of ours."""

    def __init__(self, verb: str, order: dict[str, Any]) -> None:
        """Start it and wait until it is ready."""
        command = [sys.executable, str(HERE / "worker.py"), verb, json.dumps(order)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._deadline = threading.Timer(LONGEST_S, self.process.kill)
        self._deadline.daemon = True
        self._deadline.start()
        said = self._line()
        if said != "ready\n":
            self.end()
            raise ChildProcessError(f"the worker said {said!r} where it should be ready")

    def go(self) -> None:
        """Let it work."""
        self._tell("\n")

    def result(self) -> Any:  # noqa: ANN401 - JSON
        """What it reports; its input ends."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        said = self._line()
        assert self.process.wait(LONGEST_S) == 0, "the worker failed"
        return json.loads(said)

    def end(self) -> None:
        """It must not outlive us."""
        self._deadline.cancel()
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def _tell(self, text: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(text)
        self.process.stdin.flush()

    def _line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline()


@contextmanager
def workers(verb: str, orders: list[dict[str, Any]]) -> Iterator[list[Worker]]:
    """Processes that are ready; none is left after the block."""
    found: list[Worker] = []
    try:
        for order in orders:
            found.append(Worker(verb, order))  # noqa: PERF401 - the others are ended where one fails
        yield found
    finally:
        for worker in found:
            worker.end()


def drained_by(ground: Ground, verb: str, orders: list[dict[str, Any]]) -> dict[str, Any]:
    """Let workers drain one database together: tasks, tasks a second, processor microseconds a task, memory."""
    with workers(verb, orders) as crew:
        server = ground.server_pid(orders[0]["place"]["kind"])
        before = tree_cpu_s(server) if server else 0.0
        for worker in crew:
            worker.go()
        told = [worker.result() for worker in crew]
        by_server = tree_cpu_s(server) - before if server else 0.0
    tasks = sum(each["tasks"] for each in told)
    seconds = max(each["last"] for each in told) - min(each["first"] for each in told if each["tasks"])
    cpu_s = sum(each["cpu_s"] for each in told) + by_server
    return {"tasks": tasks, "rate": tasks / seconds, "cpu_us": cpu_s / tasks * 1e6, "memory": told[0]["memory"]}


def peer_drained(ground: Ground, engine: str, place: Place, tasks: int, rows: str) -> dict[str, Any]:
    """Let a peer drain, with `ours` or with its `own` rows only; as `drained_by`."""
    words = (engine, place.kind, place.path, tasks, ground.server_pid(place.kind), rows)
    command = [str(word) for word in (PEER_PYTHON, HERE / "peer.py", *words)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST_S, check=False)
    assert done.returncode == 0, f"{engine} failed: {done.stderr[-2000:]}"
    told = json.loads(done.stdout.splitlines()[-1])
    return {"tasks": tasks, "rate": tasks / told["seconds"], "cpu_us": told["cpu_s"] / tasks * 1e6, "memory": []}
