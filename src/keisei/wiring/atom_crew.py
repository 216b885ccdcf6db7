"""A crew whose atoms are held: each has a sandbox of its own, by its own profile."""

import os
import sys
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Final, NamedTuple, Self

from msgspec.structs import replace

from keisei.records.atom_spec import AtomPackage, AtomSpec
from keisei.records.confinement import Confinement, Machine
from keisei.records.invocation import Answer, CallOrder
from keisei.records.launch import Exit, Launch
from keisei.sandbox.confine import Confined, confine
from keisei.sandbox.process import open_process
from keisei.workers import answer
from keisei.workers.crew import Crew
from keisei.workers.errand import Errand, Errands
from keisei.workers.following import Stream
from keisei.workers.process import OnOutput, Process

IDLE_S: Final = 15.0
"""How long a worker that has nothing to do is kept: there is one for each atom, not one for all."""
CREWS: Final = 8
"""Atoms whose workers are kept. Where another one is called, the one that was called longest ago is sent home."""
ROOT: Final = "/"


class _Kept(NamedTuple):
    """The crew of one atom."""

    spec: AtomSpec
    """The atom as it was."""
    confinement: Confinement
    crew: Crew


class ConfinedCrew:
    """Implements the port `Workers`. Any thread may call; what is over the number of places waits in turn.

    Each atom has processes of its own, which nothing but its profile opens the machine for. One that may not touch the
    folder it is called in works at the root, where there is nothing of its own. How surely the machine holds it is
    asked before, by `level_for`: here every layer is used that the machine has.
    """

    def __init__(
        self,
        machine: Machine,
        confinement_of: Callable[[AtomSpec], Confinement],
        find_program: Callable[[AtomPackage], str | None],
        most: int = 8,
    ) -> None:
        """Nothing is started yet. `confinement_of` is asked once for each atom, and again when it has changed."""
        self._machine, self._confinement_of, self._find_program = machine, confinement_of, find_program
        self._most, self._busy = most, 0
        self._crews: dict[str, _Kept] = {}
        self._calls: Counter[str] = Counter()
        self._turn = threading.Condition()
        self._waiting = Errands()
        self._canceled = False

    def call(self, order: CallOrder) -> Answer:
        """As `Crew.call`. Raises MissingProgram, and what `confinement_of` and `confine` raise."""
        if not self._takes_a_place(order):
            return answer.canceled(order.spec)
        try:
            kept = self._kept(order.spec)
            return kept.crew.call(_placed(order, kept.confinement))
        finally:
            with self._turn:
                self._busy -= 1
                self._calls[order.spec.id] -= 1
                self._turn.notify_all()  # one that was canceled meanwhile has no use for it

    def follow(self, order: CallOrder) -> Stream:
        """As `Crew.follow`: a stream takes no place. Raises as `call` does."""
        kept = self._kept(order.spec)
        return kept.crew.follow(_placed(order, kept.confinement))

    def cancel(self, invocation_id: str | None = None) -> None:
        """End every call there is, and every later one; with an id only that call, waiting or running."""
        with self._turn:
            self._canceled = self._canceled or invocation_id is None
            crews = [kept.crew for kept in self._crews.values()]
            self._turn.notify_all()
        if invocation_id is not None:
            self._waiting.cancel(invocation_id)
        for crew in crews:
            crew.cancel(invocation_id)

    def close(self) -> None:
        """Cancel everything, and wait until nothing runs any more. Safe to say twice."""
        self.cancel()
        for kept in list(self._crews.values()):
            kept.crew.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Leave nothing running."""
        self.close()

    def _takes_a_place(self, order: CallOrder) -> bool:
        """Wait for one. False where it was canceled meanwhile."""
        errand = self._waiting.begin(order.invocation_id)
        errand.at(self._wake)
        try:
            with self._turn:
                self._turn.wait_for(lambda: self._busy < self._most or self._is_canceled(errand))
                if self._is_canceled(errand):
                    return False
                self._busy += 1
                self._calls[order.spec.id] += 1
                return True
        finally:
            self._waiting.over(errand)

    def _is_canceled(self, errand: Errand) -> bool:
        return self._canceled or errand.is_canceled

    def _wake(self) -> None:
        with self._turn:
            self._turn.notify_all()

    def _kept(self, spec: AtomSpec) -> _Kept:
        """Its crew. Where its page or its package is not what it was, a new one; what still ran is ended."""
        with self._turn:
            found = self._crews.pop(spec.id, None)
            if found is not None:
                self._crews[spec.id] = found  # the last one that was called
        if found is not None and (found.spec is spec or _is_same(found.spec, spec)):
            return found
        confinement = self._confinement_of(spec)
        kept = _Kept(spec, confinement, self._crew(confinement))
        with self._turn:
            if self._canceled:
                kept.crew.cancel()
                return kept
            quicker = self._crews.get(spec.id)
            if quicker is not None and quicker is not found:
                return quicker
            self._crews[spec.id] = kept
            ending = [] if found is None else [found]
            ending += self._unused()
        for each in ending:
            each.crew.close()
        return kept

    def _unused(self) -> list[_Kept]:
        """Crews that are let go, out of those that have nothing to do. A stream may run in one that follows."""
        eldest = [each for each, kept in self._crews.items() if not self._calls[each] and not _streams(kept.spec)]
        return [self._crews.pop(each) for each in eldest[: max(0, len(self._crews) - CREWS)]]

    def _crew(self, confinement: Confinement) -> Crew:
        return Crew(
            open_process=_Starter(confinement, self._machine),
            find_program=self._find_program,
            python=sys.executable,
            most=self._most,
            idle_s=IDLE_S,
        )


def _streams(spec: AtomSpec) -> bool:
    return spec.manifest.kind == "stream"


def _is_same(one: AtomSpec, other: AtomSpec) -> bool:
    return (one.spec_sha, one.function, one.package) == (other.spec_sha, other.function, other.package)


def _placed(order: CallOrder, confinement: Confinement) -> CallOrder:
    """The call, at a folder that is there for it."""
    cwd = os.path.realpath(order.cwd)  # a link on the way is not there
    is_there = any(f"{cwd}/".startswith(f"{each}/") for each in (*confinement.write, *confinement.read))
    return replace(order, cwd=cwd if is_there else ROOT)


class _Starter:
    """Starts programs that are held."""

    def __init__(self, confinement: Confinement, machine: Machine) -> None:
        self._confinement, self._machine = confinement, machine

    def __call__(self, launch: Launch, *, on_output: OnOutput | None = None, keep_stdin: bool = False) -> Process:
        held = confine(launch, self._confinement, self._machine, accept="none")
        try:
            return _HeldProcess(open_process(held.launch, on_output=on_output, keep_stdin=keep_stdin), held)
        except BaseException:
            held.close()
            raise


class _HeldProcess:
    """A process that gives back what held it once its tree is gone."""

    def __init__(self, process: Process, held: Confined) -> None:
        self._process, self._held = process, held
        self.write, self.close_stdin, self.pump = process.write, process.close_stdin, process.pump
        self.cancel = process.cancel

    @property
    def pid(self) -> int:
        """The program's own number, so that whoever looks at it sees no wall but the program."""
        return _innermost(self._process.pid) if self._held.launch.namespaced else self._process.pid

    def wait(self) -> Exit:
        ended = self._process.wait()
        self._held.close()
        return ended

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._process.__exit__(kind, error, traceback)
        self._held.close()


def _innermost(pid: int) -> int:
    """The program behind the two processes of bubblewrap, as long as it is alone there.

    Else bubblewrap, which is never without a child: nobody takes it for a program that left nothing behind.
    """
    first = _only_child(pid)
    return (first and _only_child(first)) or pid


def _only_child(pid: int) -> int | None:
    try:
        found = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
    except OSError:
        return None
    return int(found[0]) if len(found) == 1 else None
