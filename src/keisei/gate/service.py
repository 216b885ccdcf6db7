"""The gate service: a token, a harness and a tool call come in over a socket; a decision is written and answered."""

import gc
import hashlib
import os
import re
import resource
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock
from typing import Any, Literal, NamedTuple, Protocol

import msgspec

from keisei.contracts.hook import answer, one_line, read_call
from keisei.gate.log import GateLog
from keisei.gate.plan import TOKEN, Plan, Plans, Prepare
from keisei.gate.socket import LENGTH, Switchboard, listen, unlink
from keisei.records.effect import ToolCall
from keisei.records.error import ContractViolation, KeiseiError, WorldFault
from keisei.rules.atom_call import call_secrets
from keisei.rules.chain import input_digest
from keisei.rules.policy import Policy
from keisei.rules.redact import Redactor

ANSWER_S = 1.8
"""A judgement may take this long; the client waits 2 s, so the refusal still arrives with its reason."""
OPEN_LOGS = 64
"""Logs held open; an older one is opened again."""
REASON = 200
"""Characters of a reason in the log."""
HARNESS = re.compile(r"[a-z][a-z0-9_-]{0,31}", re.ASCII)
BROKEN = "the call is refused because it could not be judged, which is no violation"
UNREADABLE = "(unreadable)"
"""The tool of a call that nobody could read."""
AFTER = "post:"
"""Before the id of a call whose tool has run already: such a line never stands for a decision before the call."""


class Judged(NamedTuple):
    """What the judge found."""

    allowed: bool
    """True allows; everything else refuses."""
    cause: Literal["rule", "error"] = "rule"
    """A rule decided, or a gate broke."""
    capability: str | None = None
    """The capability that refused."""
    rule: str | None = None
    """The pattern or list entry that matched."""
    reason: str | None = None
    """The one line the agent reads; a refusal has one."""
    notes: tuple[str, ...] = ()
    """Warnings, for stderr and for the log."""
    silent: tuple[str, ...] = ()
    """What only the log is told."""


class Judge(Protocol):
    """Judges one call by one plan. It may raise: that refuses the call."""

    def __call__(self, call: ToolCall, plan: Plan, /) -> Judged:
        """The judgement; `plan` is the sub-agent's own where the plan has one for it."""


class Case(NamedTuple):
    """A request on its way to an answer."""

    harness: str
    body: bytes
    call: ToolCall | None
    plan: Plan | None
    judged: Judged


class GateDesk:
    """From a request to an answer. Falls closed at every step, and never raises."""

    def __init__(self, plans: Plans, judge: Judge, redactor: Redactor) -> None:
        self._plans = plans
        self._judge = judge
        self._redactor = redactor
        self._secrets: set[str] = set()
        self._half = b""
        self._deaf = False
        self._logs: dict[Path, GateLog] = {}
        self._lock = Lock()

    def learn(self, told: bytes) -> None:
        """Know more secrets by value: lines of JSON, each a string, which may come in pieces. Never raises.

        They come through a pipe and stay in memory: what is known here never reaches a disk. A line that is something
        else makes every later call a refusal: there is a secret that nobody here would take out.
        """
        *lines, self._half = (self._half + told).split(b"\n")
        try:
            self._secrets.update(msgspec.json.decode(line, type=str) for line in lines)
        except (ValueError, RecursionError):
            self._deaf = True
        self._redactor = Redactor(self._secrets)

    def _check_hearing(self) -> None:
        if self._deaf:
            raise WorldFault("the gate was told a secret that it cannot read")

    def answer(self, request: bytes, claim: Callable[[], bool]) -> bytes | None:
        """Judge, write down, answer; None where the time is over."""
        started = time.perf_counter()
        case = self._case(request, self._judge)
        line = self._drafted(case, (time.perf_counter() - started) * 1000)
        return self._answered(case, line) if claim() else None

    def late(self, request: bytes, waited_ms: float) -> bytes:
        """The refusal of a call whose judgement took too long."""
        case = self._case(request, _too_late)
        return self._answered(case, self._drafted(case, waited_ms))

    def refusal(self, sentence: str) -> bytes:
        """The refusal of something that is no request; there is no log to write it to."""
        return _told(None, _broken(sentence), "", explicit=False)

    def sweep(self) -> None:
        """Close the logs of attempts that have ended, and the eldest where many are open."""
        for plan in self._plans.gone():
            self._log(plan.log).close()
        with self._lock:
            logs = list(self._logs.values())
        opened = [log for log in logs if log.is_open]
        for log in opened[: max(0, len(opened) - OPEN_LOGS)]:
            log.close()
        for log in logs:  # a removed file in a folder that is still there is no end, and stays a refusal
            if not log.is_open and not os.path.lexists(log.path.parent):
                with self._lock:
                    self._logs.pop(log.path, None)

    def close(self) -> None:
        """Close every log."""
        with self._lock:
            for log in self._logs.values():
                log.close()

    def _case(self, request: bytes, judge: Judge) -> Case:
        """Read the request and have it judged; whatever goes wrong becomes a refusal that says so."""
        token, harness, body, call, plan = "", "", b"", None, None
        try:
            self._check_hearing()
            token, harness, body = _opened(request)
            plan = self._plans.get(token)
            call = read_call(body, harness)
            plan = plan.of(call.agent_id, call.agent_type)
            judged = _sound(judge(call, plan))
        except ContractViolation as error:
            judged = _broken(f"the hook's input cannot be read: {'; '.join(error.complaints)}")
        except KeiseiError as error:
            judged = _broken(error.message)
        except BaseException as error:  # noqa: BLE001 - a judge that crashes refuses, whatever it raised
            judged = _broken(f"the judge broke: {type(error).__name__}")
        return Case(harness, body, call, plan or self._plans.last(token), judged)

    def _drafted(self, case: Case, latency_ms: float) -> dict[str, Any] | str:
        """The line for the log, or why there is none. Redacting a large input takes time, which counts as judging."""
        try:
            return self._line(case, case.plan, latency_ms) if case.plan is not None else "there is no plan"
        except BaseException as error:  # noqa: BLE001 - what cannot be written down is refused, whatever the reason
            return type(error).__name__

    def _answered(self, case: Case, line: dict[str, Any] | str) -> bytes:
        """Write the decision down, then say it. What cannot be written down is refused."""
        judged, why = case.judged, line if isinstance(line, str) else None
        if case.plan is not None and not isinstance(line, str):
            try:
                self._log(case.plan.log).append(line)
            except KeiseiError as error:
                why = error.message
            except BaseException as error:  # noqa: BLE001 - as above
                why = type(error).__name__
        if why is not None and (case.plan is not None or judged.allowed):
            judged = _unrecorded(judged, why)
        explicit = case.plan is not None and case.plan.explicit
        return _told(case.call, judged, case.harness, explicit=explicit)

    def _log(self, path: Path) -> GateLog:
        with self._lock:
            log = self._logs.pop(path, None) or GateLog(path)
            self._logs[path] = log  # the one used last stands last
            return log

    def _redactor_for(self, call: ToolCall | None, plan: Plan) -> Redactor:
        """Who also knows what the input of an atom marks as secret."""
        atoms = plan.compiled.atoms if isinstance(plan.compiled, Policy) else {}
        marked = call_secrets(call, atoms) if call is not None and atoms else ()
        return Redactor(self._secrets, marked) if marked else self._redactor

    def _line(self, case: Case, plan: Plan, latency_ms: float) -> dict[str, Any]:
        call, judged, redactor = case.call, case.judged, self._redactor_for(case.call, plan)
        line: dict[str, Any] = {
            "attempt_id": plan.attempt_id,
            "agent_id": call.agent_id if call else None,
            "tool_use_id": _call_id(call),
            "tool": redactor.redact(call.tool) if call else UNREADABLE,
            "cwd": call.cwd and redactor.redact(call.cwd) if call else None,
            "input": redactor.redact(call.input) if call else {},
            "input_digest": input_digest(call.input) if call else hashlib.sha256(case.body).hexdigest(),
            "decision": "allow" if judged.allowed else "deny",
            "cause": judged.cause,
            "capability": judged.capability,
            "rule": judged.rule and redactor.redact(judged.rule),
            "reason": judged.reason and redactor.text(one_line(judged.reason, REASON))[:REASON],
            "notes": [redactor.text(one_line(note)) for note in (*judged.notes, *judged.silent)] or None,
            "latency_ms": round(latency_ms, 3),
            "policy_digest": plan.digest,
            "decided_at": datetime.now(UTC).isoformat().replace("+00:00", "Z"),
        }
        optional = ("agent_id", "cwd", "capability", "rule", "reason", "notes")
        return {key: value for key, value in line.items() if value is not None or key not in optional}


def serve(service: "Service", ready: Callable[[], None] | None = None) -> None:
    """Answer calls until SIGTERM, SIGINT or the end of the service's pipe to its parent, then finish what was begun.

    Meant for a process of its own: it takes the signals, raises the limit of open files and lets threads take turns
    quickly. `ready` is called once callers are answered.
    """
    _raise_limits()
    gc.collect()
    gc.freeze()  # what is there now stays; a full collection would be the longest pause of all
    with _signals(service.stop):
        if ready is not None:
            ready()
        service.run()


class Service:
    """A gate service that listens already. `run` answers until `stop`; both may be called from any thread."""

    def __init__(  # noqa: PLR0913 - each is a choice of the one who starts it
        self,
        socket_path: Path,
        plans_folder: Path,
        judge: Judge,
        prepare: Prepare,
        *,
        workers: int = 16,
        answer_s: float = ANSWER_S,
        redactor: Redactor | None = None,
        parent_fd: int | None = None,
    ) -> None:
        """Begin to listen. Raises OperatorError or WorldFault where that cannot be."""
        self._desk = GateDesk(Plans(plans_folder, prepare), judge, redactor or Redactor())
        self._path = socket_path
        listener, self._identity = listen(socket_path)
        self._board = Switchboard(
            listener, self._desk, workers=workers, answer_s=answer_s, parent_fd=parent_fd, hear=self._desk.learn
        )

    def run(self) -> None:
        """Answer until asked to stop; then finish what was begun, close the logs and remove the socket."""
        try:
            self._board.run()
        finally:
            unlink(self._path, self._identity)
            self._desk.close()

    def stop(self) -> None:
        """Ask it to end. Safe from a signal handler."""
        self._board.stop()


def _opened(request: bytes) -> tuple[str, str, bytes]:
    """Token, harness and what the hook was told."""
    token, first, rest = request.partition(b"\n")
    harness, second, body = rest.partition(b"\n")
    names = token.decode("ascii", "replace"), harness.decode("ascii", "replace")
    if not first or not second or not TOKEN.fullmatch(names[0]) or not HARNESS.fullmatch(names[1]):
        raise WorldFault("the request is malformed")
    return (*names, body)


def _too_late(_call: ToolCall, _plan: Plan) -> Judged:
    return _broken("the judgement took too long")


def _sound(judged: object) -> Judged:
    """Refuse what is no judgement: a judge's slip must not become an allowance."""
    if not isinstance(judged, Judged):
        return _broken("the judge gave no judgement")
    if judged.allowed is True:
        return judged
    return judged._replace(
        allowed=False, reason=judged.reason or f"{judged.capability or 'the policy'} refuses this call"
    )


def _broken(sentence: str) -> Judged:
    return Judged(allowed=False, cause="error", reason=one_line(f"keisei gate: {sentence}; {BROKEN}"))


def _unrecorded(judged: Judged, why: str) -> Judged:
    """A decision that nobody can look up later is a refusal; a refusal keeps its reason."""
    if judged.allowed:
        return _broken(f"the decision could not be written down: {why}")
    return judged._replace(notes=(*judged.notes, f"keisei gate: this refusal could not be written down: {why}"))


def _call_id(call: ToolCall | None) -> str | None:
    if call is None or call.tool_use_id is None or call.event == "PreToolUse":
        return call.tool_use_id if call else None
    return AFTER + call.tool_use_id


def _told(call: ToolCall | None, judged: Judged, harness: str, *, explicit: bool) -> bytes:
    """The answer as it goes over the socket."""
    said = answer(call, judged.allowed, judged.reason, harness, explicit, judged.notes)
    byte = b"A" if said.code == 0 and judged.allowed is True else b"D"
    return b"".join((byte, LENGTH.pack(len(said.stdout)), said.stdout, LENGTH.pack(len(said.stderr)), said.stderr))


def _raise_limits() -> None:
    """As many open files as we are allowed, and threads that take turns every half millisecond."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(OSError, ValueError):
        resource.setrlimit(
            resource.RLIMIT_NOFILE, (65536 if most == resource.RLIM_INFINITY else min(most, 65536), most)
        )
    sys.setswitchinterval(0.0005)


@contextmanager
def _signals(stop: Callable[[], None]) -> Iterator[None]:
    """SIGTERM and SIGINT stop the service; only the main thread may say so to the system."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {each: signal.signal(each, lambda *_: stop()) for each in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
