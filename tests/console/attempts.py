"""Attempts in a house while they run and after: files as a keeper and a gate leave them, rows as a runner does."""

import http.client
import json
import shutil
import threading
from contextlib import contextmanager

import uvicorn
from msgspec.structs import replace

from keisei.evidence.file import FileEvidence
from keisei.gate.log import GateLog
from keisei.records.move import ClaimOrder, NewTask, Progress
from keisei.records.runner import RunnerRecord
from keisei.rules.evidence import keys_of
from keisei.testing.queue import ending, new_task
from keisei.wiring.fresh import new_id
from keisei.wiring.shop import GROWING
from tests.console.house import OPERATOR

PATIENCE_S = 30
SHA = "a" * 64


class Run:
    """An attempt in somebody's hands."""

    def __init__(self, house, kind="script", subject="Mend it."):
        store, runner_id = house.store, new_id()
        self.house, now = house, store.now()
        store.enqueue([NewTask(task=new_task(new_id(), now, subject=subject))])
        runner = {"host": "h", "boot_id": "b", "pid": 1, "born": "1", "version": "0", "slots": 1, "lease_s": 600.0}
        store.register(RunnerRecord(runner_id=runner_id, started_at=now, heartbeat_at=now, **runner))
        (claimed,) = store.claim(ClaimOrder(runner_id=runner_id, attempt_ids=(new_id(),)))
        self.claimed = claimed.__class__(
            task=claimed.task, attempt=replace(claimed.attempt, adapter_kind=kind, adapter_id=kind)
        )
        assert store.progress(Progress(stage="started", attempt=self.claimed.attempt))
        self.id, self.task_id = claimed.attempt.attempt_id, claimed.task.task_id
        self.keys = keys_of(self.id, claimed.attempt.started_at)
        self.evidence = FileEvidence(house.premises.home.evidence)
        self.folder = house.premises.home.run / self.id
        self.folder.mkdir(parents=True)
        self._log = GateLog(self.folder / "gate.jsonl")

    @property
    def attempt(self):
        return self.house.store.attempt(self.id)

    def write(self, data, name="stdout.log"):
        """More of a file that grows."""
        with (self.folder / name).open("ab") as file:
            file.write(data)

    def call(self, tool="Bash", decision="allow", command="ls", **more):
        """The gate judges a call."""
        told = {
            "attempt_id": self.id,
            "tool_use_id": new_id(),
            "tool": tool,
            "input": {"command": command},
            "input_digest": SHA,
            "decision": decision,
            "cause": "rule",
            "latency_ms": 1.5,
            "policy_digest": SHA,
            "decided_at": "2026-01-01T00:00:00Z",
        }
        self._log.append(told | more)

    def returned(self):
        """The harness has come back; nothing is judged yet."""
        attempt = replace(self.claimed.attempt, result_path=self.keys.result)
        assert self.house.store.progress(Progress(stage="returned", attempt=attempt))

    def put(self, name, data):
        """An evidence file that was written at once."""
        self.evidence.put(self.keys.of(name), data)

    def seal(self):
        """Put away what grew."""
        self._log.close()
        for name in GROWING:
            if (self.folder / name).is_file():
                self.evidence.put_file(self.keys.of(name), self.folder / name)

    def end(self, status="completed", **beside):
        """The end, in its order: evidence, settlement, the folder goes."""
        self.seal()
        done = ending(self.claimed, status, self.house.store.now(), **beside)
        assert self.house.store.settle(done) == "settled"
        shutil.rmtree(self.folder)


@contextmanager
def served(house, visitor=OPERATOR):
    """The house on a port of its own."""

    async def seen(scope, receive, send):
        if scope["type"] == "http":
            scope.setdefault("state", {})["visitor"] = visitor
        await house.app(scope, receive, send)

    config = uvicorn.Config(
        seen, port=0, log_config=None, log_level="critical", lifespan="off", timeout_graceful_shutdown=1
    )
    server = uvicorn.Server(config)
    server.capture_signals = _nothing
    ready = threading.Event()
    startup = server.startup

    async def started(sockets=None):
        await startup(sockets)
        ready.set()

    server.startup = started
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        assert ready.wait(PATIENCE_S)
        yield server.servers[0].sockets[0].getsockname()[1]
    finally:
        server.should_exit = True
        thread.join()


@contextmanager
def _nothing():
    yield


class Listener:
    """Somebody who follows a stream."""

    def __init__(self, port, path, mark=None):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
        self.connection.request("GET", path, headers={} if mark is None else {"Last-Event-ID": mark})
        self.response = self.connection.getresponse()
        self.mark = mark

    def __enter__(self):
        assert self.response.status == 200, self.response.read()
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.response.close()
        self.connection.close()

    def next(self):
        """The next event and its data; None at the end."""
        told = {}
        while line := self.response.readline():
            text = line.decode().rstrip("\n")
            name, _, value = text.partition(": ")
            if text and name:
                told[name] = value
            elif "event" in told:
                self.mark = told.get("id", self.mark)
                return told["event"], json.loads(told["data"])
            else:
                told = {}
        return None

    def until(self, holds):
        """Events up to the first for which it holds."""
        found = []
        while (event := self.next()) is not None:
            found.append(event)
            if holds(*event):
                return found
        raise AssertionError(f"it never came, but {found}")

    def rest(self):
        """Events up to the end."""
        found = []
        while (event := self.next()) is not None:
            found.append(event)
        return found
