"""Smoke tests of atoms: every example is called in the sandbox, on a database of its own, and leaves nothing behind."""

import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from keisei.contracts.validator import complaints
from keisei.engine.invoke import InvokeOrder, Tools, call, follow
from keisei.engine.ports import Workers
from keisei.records.atom_spec import AtomPackage, AtomSpec
from keisei.records.confinement import Confinement, Level, Limits, Machine
from keisei.records.invocation import InvocationError, Invoked
from keisei.records.launch import Launch
from keisei.rules.invocation import CANCELED, MISSING_PROGRAM
from keisei.sandbox.confine import Confined, confine, level_for
from keisei.sandbox.process import Process, open_process
from keisei.sandbox.reach import interpreter_reads, program_reads
from keisei.sandbox.stream import OnOutput
from keisei.wiring.atom_runtime import AtomRuntime
from keisei.wiring.fresh import new_id
from keisei.wiring.package_database import PackageDatabases
from keisei.wiring.surroundings import passed_on
from keisei.workers.crew import Crew

MOST_AT_ONCE: Final = 8
ITEMS: Final = 100
"""How many items of a stream are looked at."""
ACTOR: Final = "operator:smoke-test"
HOST: Final = Path(__file__).resolve().parent.parent / "workers"
Outcome = Literal["ok", "declared", "failed", "missing"]
"""An output that fits; an error that the page declares; anything else; no program to call."""


class Tried(Struct, frozen=True, kw_only=True):
    """What became of one example."""

    atom: str
    """Which atom."""
    example: str
    """Where the example stands."""
    outcome: Outcome
    """What became of it."""
    error: InvocationError | None
    """Why there is no output."""
    said: str
    """What the atom wrote for people."""
    duration_ms: float
    """How long it took, the start of a process included."""


class Isolation(NamedTuple):
    """How surely an atom is held while it is tried."""

    level: Level
    layers: tuple[str, ...]
    faults: tuple[str, ...]
    """Why it is not held more surely, a sentence each."""


def isolation_of(machine: Machine, spec: AtomSpec) -> Isolation:
    """What holds the atom on this machine."""
    level, fault = level_for(machine, _network(spec))
    layers = (
        *(("namespace",) if machine.bwrap is not None else ()),
        *((f"landlock:{machine.landlock}",) if machine.landlock else ()),
        *(("seccomp",) if machine.seccomp else ()),
    )
    return Isolation(level, layers, machine.faults if fault is None else (*machine.faults, fault))


def examples(spec: AtomSpec) -> list[tuple[str, Any]]:
    """Every example of the input schema and the page's own, each once, with where it stands."""
    given = spec.input_schema.get("examples")
    found = [(f"input schema, example {index}", each) for index, each in enumerate(_list(given), start=1)]
    own = spec.manifest.input.example
    if own is not None and all(each != own for _, each in found):
        found.append(("page", own))
    return found


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def try_atoms(runtime: AtomRuntime, specs: Sequence[AtomSpec], machine: Machine) -> Iterator[Tried]:
    """Call every example, each in a fresh folder with fresh processes; told in order. No ledger row is written.

    A few are called at once: an example is a sandbox built and taken down, and one does not know of the other. The atom
    is given none of the package's own variables: no example reaches somebody's account. Raises OperatorError and
    WorldFault where it cannot be confined or its folder not be made, KeyboardInterrupt where somebody ends it.
    """
    at_once = min(MOST_AT_ONCE, len(os.sched_getaffinity(0)))
    bench = _Bench(runtime, machine)
    with ThreadPoolExecutor(at_once, thread_name_prefix="atom-test") as threads:
        asked = [(spec, [threads.submit(bench.attempt, spec, *each) for each in examples(spec)]) for spec in specs]
        try:
            for spec, attempts in asked:
                for attempt in attempts:
                    yield attempt.result()
                yield from _output_examples(spec)
        except BaseException:
            threads.shutdown(wait=False, cancel_futures=True)
            bench.cancel()
            raise


class _Bench:
    """Where examples are called. Any thread may call one."""

    def __init__(self, runtime: AtomRuntime, machine: Machine) -> None:
        self._runtime, self._machine = runtime, machine
        self._running: dict[int, Workers] = {}
        self._canceled = False

    def attempt(self, spec: AtomSpec, name: str, value: object) -> Tried:
        """Call one example."""
        with _place(self._runtime, spec, self._machine) as tools:
            self._running[id(tools)] = tools.workers
            if self._canceled:  # said before this one was known
                tools.workers.cancel()
            order = InvokeOrder(spec=spec, input=value, actor=ACTOR)
            invoked = _first_items(tools, order) if spec.manifest.kind == "stream" else call(tools, order)
            del self._running[id(tools)]
        if invoked.record.exit_code == CANCELED:
            raise KeyboardInterrupt
        return _tried(spec, name, invoked)

    def cancel(self) -> None:
        """End every call there is, and every later one."""
        self._canceled = True
        for workers in list(self._running.values()):
            workers.cancel()


def _output_examples(spec: AtomSpec) -> Iterator[Tried]:
    """The page's output against its schema: a page that promises what its schema refuses misleads."""
    own = spec.manifest.output.example
    if own is None:
        return
    if found := complaints(f"{spec.spec_sha}:out", spec.output_schema, own):
        error = InvocationError(kind="schema-out", message="; ".join(found))
        yield Tried(atom=spec.id, example="page, output", outcome="failed", error=error, said="", duration_ms=0.0)


def _first_items(tools: Tools, order: InvokeOrder) -> Invoked:
    """A stream to its end, or as far as is looked at: one that was left early has not failed."""
    with follow(tools, order) as followed:
        taken = sum(1 for _ in islice(followed, ITEMS))
    invoked = followed.invoked
    if taken < ITEMS or invoked.record.error is None:
        return invoked
    return Invoked(record=replace(invoked.record, exit_code=0, error=None), said=invoked.said)


def _tried(spec: AtomSpec, name: str, invoked: Invoked) -> Tried:
    record = invoked.record
    return Tried(
        atom=spec.id,
        example=name,
        outcome=_outcome(spec, invoked),
        error=record.error,
        said=invoked.said,
        duration_ms=record.duration_ms,
    )


def _outcome(spec: AtomSpec, invoked: Invoked) -> Outcome:
    error = invoked.record.error
    if error is None:
        return "ok"
    if invoked.record.exit_code == MISSING_PROGRAM:
        return "missing"
    is_declared = error.kind == "atom" and any(each.code == error.code for each in spec.manifest.errors)
    return "declared" if is_declared else "failed"


# --- the place --------------------------------------------------------------------------------------------------------


@contextmanager
def _place(runtime: AtomRuntime, spec: AtomSpec, machine: Machine) -> Iterator[Tools]:
    """A fresh folder, a database in it, and processes that may write nowhere else."""
    with tempfile.TemporaryDirectory(prefix="keisei-atom-test-", ignore_cleanup_errors=True) as name:
        folder = Path(os.path.realpath(name))
        for each in ("home", "tmp", "state", "work"):
            (folder / each).mkdir()
        starter = _Starter(_confinement(runtime, spec, folder), machine)
        crew = Crew(
            open_process=starter,
            find_program=runtime.program,
            python=sys.executable,
            most=1,
        )
        tools = Tools(
            workers=crew,
            databases=_databases(runtime, spec, folder),
            environment=_environment(folder),
            new_id=new_id,
            now=lambda: datetime.now(UTC),
            cwd=str(folder / "work"),
        )
        try:
            yield tools
        finally:
            crew.close()
            starter.close()


def _databases(runtime: AtomRuntime, spec: AtomSpec, folder: Path) -> PackageDatabases:
    """Databases in the folder, whatever the package's own default and this process's variables say."""
    settings = runtime.settings._replace(home=folder / "home", state_home=folder / "state")
    variable = spec.package.metadata.db_env
    own = {} if variable is None else {variable: str(folder / "state" / "test.db")}
    return PackageDatabases(settings, runtime.shelf.package, environment=own)


def _environment(folder: Path) -> Callable[[AtomPackage, str | None], dict[str, str]]:
    own = {"HOME": str(folder / "home"), "TMPDIR": str(folder / "tmp")}

    def environment(package: AtomPackage, database: str | None) -> dict[str, str]:
        variable = package.metadata.db_env
        named = {} if database is None or variable is None else {variable: database}
        return {**passed_on(), **own, **named}

    return environment


class _Starter:
    """Starts programs that are held."""

    def __init__(self, confinement: Confinement, machine: Machine) -> None:
        self._confinement, self._machine = confinement, machine
        self._held: list[Confined] = []

    def __call__(self, launch: Launch, *, on_output: OnOutput | None = None, keep_stdin: bool = False) -> Process:
        held = confine(launch, self._confinement, self._machine, accept="none")
        self._held.append(held)
        return open_process(held.launch, on_output=on_output, keep_stdin=keep_stdin)

    def close(self) -> None:
        """Give back what held them."""
        for each in self._held:
            each.close()


def _confinement(runtime: AtomRuntime, spec: AtomSpec, folder: Path) -> Confinement:
    package = spec.package
    program = runtime.program(package) if package.language == "program" else sys.executable
    path = passed_on().get("PATH", os.defpath)
    reads = [
        package.folder,
        *((package.import_root,) if package.import_root else ()),
        str(HOST),
        *interpreter_reads(),
        *(program_reads(program, path) if program else ()),
        *((program,) if program else ()),
    ]
    private = [each for each in (runtime.settings.home, runtime.home.folder) if each is not None]
    return Confinement(
        write=(str(folder),),
        read=tuple(dict.fromkeys(os.path.realpath(each) for each in reads if os.path.lexists(each))),
        out=tuple(os.path.realpath(each) for each in private),
        network=_network(spec),
        limits=Limits(processes=256),
    )


def _network(spec: AtomSpec) -> Literal["none", "open"]:
    return "open" if any(each.op == "network" for each in spec.manifest.side_effects) else "none"
