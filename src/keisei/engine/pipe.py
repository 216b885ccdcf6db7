"""Pipe: a plan, run. One thread decides and writes; hands call atoms; nothing starts before what it needs is written.

A runner that dies at any moment leaves rows from which a later one goes on: what is written as done is not done again,
and what may have been done without being written is done again only where that does no harm.
"""

from contextlib import suppress
from functools import partial
from typing import Any, Final

from keisei.engine.invoke import InvokeOrder, call, entry
from keisei.engine.pipe_hands import Ended, Wake
from keisei.engine.pipe_member import Performed
from keisei.engine.pipe_order import PipeEnd
from keisei.engine.pipe_step import Steps
from keisei.engine.pipe_undo import Undo, undoable
from keisei.records.atom_spec import AtomSpec
from keisei.records.error import IllegalMove, KeiseiError
from keisei.records.id import InvocationId
from keisei.records.invocation import Invoked
from keisei.records.pipe_run import RunStatus
from keisei.rules.invocation import CANCELED

BLOCKED: Final = 3
"""The exit code where a person must decide."""
FAILED: Final = 2
"""The exit code of a run that failed earlier."""
SHOWN: Final = 8
"""Members that are named."""


class Pipe(Steps):
    """One session. `run` once, in one thread; `cancel` from anywhere."""

    def cancel(self) -> None:
        """End the calls that run, and the session. Safe to say twice, from any thread and any signal handler."""
        self._is_canceled = True
        self._tools.invoke.workers.cancel()  # whoever decides may be making a call, and hears nothing meanwhile
        self._hands.tell(Wake())

    def run(self) -> PipeEnd:
        """Run it to its end.

        Raises IllegalMove where somebody else took the run over, and WorldFault where its rows could not be written:
        then it stopped, and a resume goes on from what is written.
        """
        try:
            return self._session()
        except IllegalMove:
            self._tools.invoke.workers.cancel()
            self._close()
            self._enter_rest()
            raise
        except KeiseiError as error:
            raise self._journal.rescue(error) from error
        except BaseException:
            self._tools.invoke.workers.cancel()
            raise
        finally:
            self._close()

    def _enter_rest(self) -> None:
        """Calls that ended while nobody listened any more took place all the same, whoever has the run now."""
        for event in self._hands.heard(0):
            if isinstance(event, Performed | Ended) and event.invoked is not None:
                self._journal.enter(entry(event.invoked, self._order.actor))
        with suppress(KeiseiError):
            self._journal.write()

    def _session(self) -> PipeEnd:
        self._say("run", status="running", steps=len(self._plan.steps))
        if not self._is_fresh:
            self._journal.tell("pipe_resumed", {"fence": self._order.run.fence})
        if self._order.run.status == "undoing":
            return self._undone("it was being undone; resume it once more to run it again")
        self._go()
        if self._trouble is not None:
            raise self._trouble
        stops = self._plan.on_failure == "stop" and self._order.only is None and not self._is_canceled
        if self._failure is not None and stops:
            return self._undone(self._failure.words)
        return self._finish(*self._verdict())

    def _undone(self, why: str) -> PipeEnd:
        """Take back what can be taken back, and end as failed."""
        code = self._failure.code if self._failure else FAILED
        self._journal.write()  # what was done must be written before it can be told
        found = undoable(self._tools.runs, self._order.run.run_id, self._plan) if self._has_undo() else []
        if found:
            self._journal.write("undoing", why)
        undo = Undo(
            self._tools.runs,
            self._order.run.run_id,
            self._values,
            self._envelopes,
            self._journal,
            self._call_undo,
            self._wait,
        )
        lost: list[str] = []
        for taken in found:
            self._say("undo", step=taken.step.name, index=taken.item)
            became = "canceled" if self._is_canceled else undo.take_back(taken)
            if became == "canceled":
                return self._finish("undoing", CANCELED, f"{why}; its undo was canceled")
            if became == "undo_failed":
                lost.append(taken.told)
        return self._finish("failed", code, f"{why}; not taken back: {_named(lost)}" if lost else why)

    def _has_undo(self) -> bool:
        return any(step.undo is not None for step in self._plan.steps)

    def _call_undo(self, spec: AtomSpec, value: Any, invocation_id: InvocationId) -> Invoked:  # noqa: ANN401 - any JSON
        order = InvokeOrder(
            spec=spec,
            input=value,
            actor=self._order.actor,
            attempt_id=self._order.attempt_id,
            invocation_id=invocation_id,
        )
        self._hands.give(partial(call, self._caller.tools, order))
        while True:
            for event in self._hands.heard(None):
                if isinstance(event, Invoked):
                    self._journal.enter(entry(event, self._order.actor))
                    return event
                if self._is_canceled:
                    self._tools.invoke.workers.cancel()

    def _wait(self, seconds: float) -> None:
        self._hands.heard(seconds)

    def _verdict(self) -> tuple[RunStatus, int, str | None]:
        states = {end.state for end in self._ends.values()}
        if self._is_canceled and (self._failure or "unfinished" in states or not self._schedule.is_over):
            return "canceled", CANCELED, "it was canceled"
        if self._failure is not None:
            return "failed", self._failure.code, self._failure.words
        if self._blocked:
            named = _named(self._blocked)
            return "blocked", BLOCKED, f"{named} may have been done already: only `--force` does it again"
        return self._only_verdict(self._order.only) if self._order.only else ("completed", 0, None)

    def _only_verdict(self, only: str) -> tuple[RunStatus, int, str | None]:
        end = self._ends[only]
        if end.state == "skipped":
            return "failed", 1, f"`{only}` was not run: {end.note}"
        if all(each.note != "it was not asked for" for each in self._ends.values()):
            return "completed", 0, None
        return "canceled", 0, f"only `{only}` was asked for"

    def _finish(self, status: RunStatus, code: int, error: str | None) -> PipeEnd:
        body: dict[str, object] = {"status": status, "exit_code": code, "error": error}
        self._journal.tell("pipe_finished", body)
        self._journal.write(status, error)
        self._say("run", status=status, error=error)
        return PipeEnd(status=status, exit_code=code, error=error, steps=self._ends)


def _named(members: list[str]) -> str:
    more = f" and {len(members) - SHOWN} more" if len(members) > SHOWN else ""
    return f"{', '.join(members[:SHOWN])}{more}"
