"""Calls of a pipe: what is called next, what becomes of it, and the row it leaves."""

import heapq
from itertools import count
from typing import Any

from msgspec.structs import replace

from keisei.contracts.validator import secret_values
from keisei.engine.invoke import entry
from keisei.engine.pipe_hands import Hands, Stream
from keisei.engine.pipe_journal import PLACES, Journal
from keisei.engine.pipe_member import (
    Caller,
    Performed,
    Unit,
    Wish,
    backoff_s,
    choice,
    digest_of,
    ended,
    failed,
    needs_mark,
    running,
    told,
    tries_again,
)
from keisei.engine.pipe_order import Failure, PipeOrder, PipeTools, StepEnd, check_steps
from keisei.engine.pipe_round import Round
from keisei.engine.pipe_secret import environment_secrets, handed, secret_roots, secretive, secrets_in
from keisei.engine.pipe_value import Values
from keisei.records.error import KeiseiError
from keisei.records.id import InvocationId
from keisei.records.invocation import InvocationError, Invoked
from keisei.records.pipe_plan import PlannedStep
from keisei.rules.invocation import EXIT
from keisei.rules.pipe_plan import envelopes
from keisei.rules.pipe_schedule import Schedule


class Calls:
    """Everything a session knows, and what it does about one call."""

    def __init__(self, tools: PipeTools, order: PipeOrder) -> None:
        """Nothing runs yet. Raises OperatorError for a step nobody knows, and for a secret that stands in the file."""
        self._handed = handed(order.plan)
        secrets = (
            *tools.invoke.secrets,
            *environment_secrets(tools.invoke, order.plan),
            *secrets_in(order.input, self._handed.get("input", ())),
        )
        tools = tools._replace(invoke=tools.invoke._replace(secrets=secrets))
        self._tools, self._order, self._plan = tools, order, order.plan
        check_steps(order.plan, {*order.again, *([order.only] if order.only else [])})
        run_id = order.run.run_id
        own, hidden = secretive(order.plan), secret_roots(order.plan)
        self._caller = Caller(tools.invoke, tools.cache, tools.code_sha, order.actor, order.attempt_id, own, hidden)
        self._hands = Hands(order.plan.max_parallel)
        self._schedule = Schedule(order.plan)
        self._journal = Journal(tools.runs, order.run, order.actor, lambda: not self._is_canceled)
        self._values = Values(tools.runs, run_id, order.plan, order.input, self._journal.write)
        self._envelopes = envelopes(order.plan)
        self._is_fresh = order.run.fence == 1
        self._rounds: dict[int, Round] = {}
        self._replayed: set[int] = set()
        self._ends: dict[str, StepEnd] = {}
        self._outgoing: list[Unit] = []
        self._starting: list[Round] = []
        self._flying = 0
        self._later: list[tuple[float, int, Performed]] = []
        self._places, self._ties = count(order.run.fence * PLACES), count()
        self._is_canceled = self._is_stopped = False
        self._trouble: KeiseiError | None = None
        self._failure: Failure | None = None
        self._blocked: list[str] = []

    def _unit(self, mine: Round, index: int, value: Any, *, is_replayed: bool = True) -> Unit | None:  # noqa: ANN401
        """The call that is to be made, its mark written; None where none is."""
        step, sha, earlier = mine.step, digest_of(value), mine.earlier.at(index)
        if step.spec.id in self._caller.secretive:
            self._learn(secret_values(step.spec.input_schema, value))
        is_asked = self._values.is_asked(step.name) or not is_replayed
        wish = Wish(self._order.force, step.name in self._order.again, is_asked)
        before = earlier if is_replayed or earlier is None else replace(earlier, output_kept=False)
        picked = choice(step, before, sha, wish)
        if picked.what == "call":
            mine.called = True
            invocation_id = picked.invocation_id or InvocationId(self._tools.invoke.new_id())
            unit = Unit(step=step, index=index, input=value, input_sha=sha, invocation_id=invocation_id)
            if needs_mark(step):
                self._journal.add(running(unit))
            return unit
        assert earlier is not None  # noqa: S101 - otherwise it is called
        if picked.what == "take":
            mine.done += 1
            if earlier.state != "done":  # it was left out, and counts again
                self._journal.add(replace(earlier, state="done", note=None))
            self._values.put(step.name, index, earlier.output, kept=earlier.output_kept)
            return None
        mine.blocked += 1
        self._blocked.append(told(step, index))
        if earlier.state == "running":
            error = InvocationError(kind="killed", message=picked.why)
            self._journal.add(replace(earlier, state="unknown", error=error))
        return None

    def _performed(self, done: Performed) -> None:
        if done.invoked is not None:
            self._heard_of(done.unit.step, done.invoked)
            error, code = done.invoked.record.error, done.invoked.record.exit_code
            again = error is not None and tries_again(done.unit.step, error, code, done.unit.tries)
            if again and not self._is_stopped:
                self._try_later(done)
                return
        self._settle(done)

    def _heard_of(self, step: PlannedStep, invoked: Invoked) -> None:
        self._journal.enter(entry(invoked, self._order.actor))
        if invoked.said:
            self._say("said", step=step.name, text=invoked.said)

    def _try_later(self, done: Performed) -> None:
        wait_s = backoff_s(done.unit.step, done.unit.tries, self._tools.chance())
        heapq.heappush(self._later, (self._tools.invoke.monotonic() + wait_s, next(self._ties), done))
        error = done.invoked.record.error if done.invoked else None
        why = error.message if error else ""
        self._say("try", step=done.unit.step.name, index=done.unit.index, error=why, again_in_ms=round(wait_s * 1000))

    def _settle(self, done: Performed) -> None:
        """A member is done, or has failed for good."""
        step, mine = done.unit.step, self._rounds[done.unit.step.position]
        mine.open -= 1
        member = ended(done, next(self._places))
        self._journal.add(member)
        if member.state == "done":
            if paths := self._handed.get(step.name):
                self._learn(secrets_in(done.output, [path[1:] if step.step.for_each else path for path in paths]))
            mine.done += 1
            self._values.put(step.name, member.index, done.output, kept=member.output_kept)
        note = {"note": done.note} if done.note else {}
        far = {"done": mine.done, "total": mine.total}
        self._say("member", step=step.name, index=member.index, state=member.state, **far, **note)
        if done.invoked is not None and done.invoked.record.error is not None:
            self._fail(mine, done.invoked.record.error, done.invoked.record.exit_code)

    def _learn(self, found: tuple[str, ...]) -> None:
        """What goes to a place marked `writeOnly` is a secret for every later call."""
        tools = self._caller.tools
        if new := tuple(each for each in found if each not in tools.secrets):
            self._caller = self._caller._replace(tools=tools._replace(secrets=(*tools.secrets, *new)))

    def _fail_member(self, mine: Round, index: int, message: str) -> None:
        """It could not be called: its references lead nowhere."""
        error = InvocationError(kind="schema-in", message=message)
        self._journal.add(failed(mine.step, index, error, mine.earlier.at(index)))
        self._fail(mine, error, EXIT[error.kind])

    def _fail(self, mine: Round, error: InvocationError, code: int) -> None:
        mine.error = mine.error or error
        if self._failure is None:
            self._failure = Failure(mine.step.name, error, code)
        if self._plan.on_failure == "stop" and not self._is_stopped:
            self._stop()

    def _uncalled(self, unit: Unit) -> None:
        mine = self._rounds[unit.step.position]
        mine.open -= 1
        mine.miss()
        if needs_mark(unit.step):
            error = InvocationError(kind="killed", message="it was stopped before it was called")
            self._journal.add(replace(running(unit), state="failed", error=error))

    def _stop(self) -> None:
        """Nothing new is called. What runs may end; what waits for another try has failed."""
        self._is_stopped = True
        for each in self._rounds.values():
            each.cut()
        later, self._later = self._later, []
        for _, _, done in later:
            self._settle(done)
        for stream in self._streaming():
            stream.stop()

    def _streaming(self) -> list[Stream]:
        """Streams that run."""
        found = (each.stream for each in self._rounds.values() if each.step.streamed and each.is_taken)
        return [stream for stream in found if stream is not None]

    def _say(self, event: str, **more: object) -> None:
        self._tools.tell({"event": event, "run_id": self._order.run.run_id, **more})
