"""Smoke tests of atoms: every example is called in the sandbox, on a database of its own, and leaves nothing behind.

The sandbox opens what the page declares: an effect that is not declared fails its example.
"""

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from threading import Event
from typing import Any, Final, Literal, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from keisei.contracts.validator import complaints
from keisei.engine.invoke import InvokeOrder, Tools, call, follow
from keisei.engine.ports import Workers
from keisei.records.atom_spec import AtomPackage, AtomSpec
from keisei.records.confinement import Confinement, Level, Machine
from keisei.records.invocation import InvocationError, Invoked
from keisei.rules.invocation import CANCELED, MISSING_PROGRAM
from keisei.sandbox.confine import level_for
from keisei.settings import read_settings, told
from keisei.wiring.atom_crew import ConfinedCrew
from keisei.wiring.atom_profile import ProfilePlace, declared_profile, private_environment, touched
from keisei.wiring.atom_runtime import AtomRuntime
from keisei.wiring.fresh import new_id
from keisei.wiring.package_database import PackageDatabases
from keisei.wiring.surroundings import passed_on

MOST_AT_ONCE: Final = 8
ITEMS: Final = 100
"""How many items of a stream are looked at."""
ACTOR: Final = "operator:smoke-test"
Outcome = Literal["ok", "declared", "failed", "missing"]
"""An output that fits; an error that the page declares; anything else; no program to call."""
Example = tuple[str, Any]
"""Where an input stands, and the input."""
Furnish = Callable[[AtomSpec, Path], None]
"""Called with a fresh folder before an example is. Any thread may call it."""


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
    level, fault = level_for(machine, "open" if touched(spec.manifest).network else "none")
    layers = (
        *(("namespace",) if machine.bwrap is not None else ()),
        *((f"landlock:{machine.landlock}",) if machine.landlock else ()),
        *(("seccomp",) if machine.seccomp else ()),
    )
    return Isolation(level, layers, machine.faults if fault is None else (*machine.faults, fault))


def examples(spec: AtomSpec) -> list[Example]:
    """Every example of the input schema and the page's own, each once, with where it stands."""
    given = spec.input_schema.get("examples")
    found = [(f"input schema, example {index}", each) for index, each in enumerate(_list(given), start=1)]
    own = spec.manifest.input.example
    if own is not None and all(each != own for _, each in found):
        found.append(("page", own))
    return found


def _groups(spec: AtomSpec, *, shared: bool) -> list[list[Example]]:
    """Examples that share a place: all of an atom that can change nothing in it, or if told so; else each its own."""
    found, package = examples(spec), spec.package.metadata
    keeps = touched(spec.manifest).writes or package.backend == "sqlite" or package.engine
    return [[each] for each in found] if (keeps and not shared) or not found else [found]


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _leave_empty(_spec: AtomSpec, _folder: Path) -> None:
    """Nothing is put there."""


def try_atoms(
    runtime: AtomRuntime,
    specs: Sequence[AtomSpec],
    machine: Machine,
    furnish: Furnish = _leave_empty,
    *,
    shared: bool = False,
) -> Iterator[Tried]:
    """Call every example in a fresh folder with fresh processes; told in order. No ledger row is written.

    Examples of an atom that its profile lets change nothing share both, as calls do that a worker answers; with
    `shared` those of every atom do, and one may meet what another left. A few are called at once: each is a sandbox
    built and taken down, and one does not know of the other. The atom is given none of the package's own variables: no
    example reaches somebody's account. `furnish` puts what an example speaks of into the folder it works in. Raises
    OperatorError and WorldFault where it cannot be confined or its folder not be made, KeyboardInterrupt where somebody
    ends it.
    """
    at_once = min(MOST_AT_ONCE, len(os.sched_getaffinity(0)))
    bench = _Bench(runtime, machine, furnish)
    with ThreadPoolExecutor(at_once, thread_name_prefix="atom-test") as threads:
        groups = [(spec, _groups(spec, shared=shared)) for spec in specs]
        try:
            asked = [(spec, [threads.submit(bench.attempt, spec, each) for each in found]) for spec, found in groups]
            bench.begin()
            for spec, attempts in asked:
                for attempt in attempts:
                    yield from attempt.result()
                yield from output_examples(spec)
        except BaseException:
            threads.shutdown(wait=False, cancel_futures=True)
            bench.cancel()
            raise


def answered(
    runtime: AtomRuntime, spec: AtomSpec, machine: Machine, name: str, value: object
) -> tuple[Tried, list[Any]]:
    """One input called as an example is, and what came out: of a stream its first items. Raises as `try_atoms` does."""
    with _place(runtime, spec, machine) as tools:
        order = InvokeOrder(spec=spec, input=value, actor=ACTOR)
        if spec.manifest.kind != "stream":
            invoked = call(tools, order)
            return _tried(spec, name, invoked), [] if invoked.output is None else [invoked.output]
        with follow(tools, order) as followed:
            items = list(islice(followed, ITEMS))
        return _tried(spec, name, _left(followed.invoked, len(items))), items


class _Bench:
    """Where examples are called. Any thread may call one."""

    def __init__(self, runtime: AtomRuntime, machine: Machine, furnish: Furnish) -> None:
        self._runtime, self._machine, self._furnish = runtime, machine, furnish
        self._running: dict[int, Workers] = {}
        self._canceled = Event()
        self._begun = Event()

    def begin(self) -> None:
        """Let the attempts begin: a thread that is interrupted while it is being started is not waited for."""
        self._begun.set()

    def attempt(self, spec: AtomSpec, group: Sequence[Example]) -> list[Tried]:
        """Call examples, one after the other in one place. Raises KeyboardInterrupt where it was canceled before."""
        self._begun.wait()
        if self._canceled.is_set():
            raise KeyboardInterrupt
        with _place(self._runtime, spec, self._machine) as tools:
            self._furnish(spec, Path(tools.cwd))
            self._running[id(tools)] = tools.workers
            if self._canceled.is_set():  # said before this one was known
                tools.workers.cancel()
            tried = [_tried(spec, name, _called(tools, spec, value)) for name, value in group]
            del self._running[id(tools)]
        return tried

    def cancel(self) -> None:
        """End every call there is, and every later one."""
        self._canceled.set()
        self._begun.set()
        for workers in list(self._running.values()):
            workers.cancel()


def output_examples(spec: AtomSpec) -> Iterator[Tried]:
    """The page's output against its schema: a page that promises what its schema refuses misleads."""
    own = spec.manifest.output.example
    if own is None:
        return
    if found := complaints(f"{spec.spec_sha}:out", spec.output_schema, own):
        error = InvocationError(kind="schema-out", message="; ".join(found))
        yield Tried(atom=spec.id, example="page, output", outcome="failed", error=error, said="", duration_ms=0.0)


def _called(tools: Tools, spec: AtomSpec, value: object) -> Invoked:
    """Call one example. Raises KeyboardInterrupt where it was canceled."""
    order = InvokeOrder(spec=spec, input=value, actor=ACTOR)
    invoked = _first_items(tools, order) if spec.manifest.kind == "stream" else call(tools, order)
    if invoked.record.exit_code == CANCELED:
        raise KeyboardInterrupt
    return invoked


def _first_items(tools: Tools, order: InvokeOrder) -> Invoked:
    """A stream to its end, or as far as is looked at: one that was left early has not failed."""
    with follow(tools, order) as followed:
        taken = sum(1 for _ in islice(followed, ITEMS))
    return _left(followed.invoked, taken)


def _left(invoked: Invoked, taken: int) -> Invoked:
    """How a stream ended of which so many items were taken."""
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
    """Fresh folders, a database in one of them, and processes that may touch what the page declares."""
    with tempfile.TemporaryDirectory(prefix="keisei-atom-test-", ignore_cleanup_errors=True) as name:
        folder = Path(os.path.realpath(name))
        for each in ("work", "state", "own", "own/keisei", "own/run"):
            (folder / each).mkdir(mode=0o700)
        databases = _databases(runtime, spec, folder)
        with ConfinedCrew(machine, _profile(runtime, databases, folder), runtime.program, most=1) as crew:
            yield Tools(
                workers=crew,
                databases=databases,
                environment=_environment(folder / "own"),
                new_id=new_id,
                now=lambda: datetime.now(UTC),
                cwd=str(folder / "work"),
            )


def _profile(runtime: AtomRuntime, databases: PackageDatabases, folder: Path) -> Callable[[AtomSpec], Confinement]:
    private = [each for each in (runtime.settings.home, runtime.home.folder) if each is not None]

    def profile(spec: AtomSpec) -> Confinement:
        database = databases.path(spec.package)
        place = ProfilePlace(
            working=str(folder / "work"),
            private=str(folder / "own"),
            find_program=runtime.program,
            database=None if database is None else str(database),
            state=str(folder / "own" / "keisei"),
            out=tuple(map(str, private)),
        )
        return declared_profile(spec, place)

    return profile


def _databases(runtime: AtomRuntime, spec: AtomSpec, folder: Path) -> PackageDatabases:
    """Databases in the folder, whatever the package's own default and this process's variables say."""
    settings = runtime.settings._replace(home=folder / "own", state_home=folder / "state")
    variable = spec.package.metadata.db_env
    own = {} if variable is None else {variable: str(folder / "state" / "test.db")}
    return PackageDatabases(settings, runtime.shelf.package, environment=own)


def _environment(private: Path) -> Callable[[AtomPackage, str | None], dict[str, str]]:
    """The usual few variables and a home of its own; for a package that asks keisei itself, a state nobody has used."""
    own = private_environment(str(private))
    folders = {"KEISEI_HOME": "keisei", "XDG_RUNTIME_DIR": "run", "XDG_CONFIG_HOME": "config"}
    engine = told(read_settings({**own, **{name: str(private / each) for name, each in folders.items()}}))

    def environment(package: AtomPackage, database: str | None) -> dict[str, str]:
        variable = package.metadata.db_env
        stored = {} if database is None or variable is None else {variable: database}
        return {**passed_on(), **(engine if package.metadata.engine else {}), **own, **stored}

    return environment
