"""Profiles of atoms: what one may touch is what its own page declares, and the kernel holds it to that.

| declared                      | opened                                                |
|-------------------------------|-------------------------------------------------------|
| `read` of `fs` or `git`       | the working folder, to read                           |
| `write` of `fs`               | the working folder, to write                          |
| `network`                     | the network                                           |
| `subprocess`                  | programs of the system, and whatever it may read      |
| `other`                       | all of these                                          |
| a database of its package     | the folder of that database                           |
| `engine` of its package       | keisei's state, keisei's code, the project to read    |

Any other domain opens nothing. Whatever it declares, it reads its own code and writes a private folder.
"""

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from msgspec.structs import replace

from keisei.records.atom import AtomManifest
from keisei.records.atom_spec import AtomPackage, AtomSpec
from keisei.records.confinement import Confinement, Limits
from keisei.records.error import OperatorError
from keisei.rules.atom_effect import EXCLUSIVE, domain_root
from keisei.sandbox.reach import interpreter_reads, program_reads
from keisei.wiring.package_database import check_own
from keisei.wiring.surroundings import passed_on

FILES: Final = frozenset({"fs", "git"})
"""Domains that are paths of the working folder."""
PROCESSES: Final = 256
"""Processes and threads of one atom."""
KEISEI: Final = Path(__file__).resolve().parent.parent
HOST: Final = KEISEI / "workers"


class ProfilePlace(NamedTuple):
    """Where an atom is run. Every path is absolute; folders that may be written are there."""

    working: str
    """Where it works: what relative paths of its input are relative to."""
    private: str
    """A folder of its own; `private_environment` makes its home and its place for temporary files there."""
    find_program: Callable[[AtomPackage], str | None]
    """The program that answers for a package that is no Python."""
    database: str | None = None
    """The database of its package; None where it has none."""
    packages: str | None = None
    """`packages/` of the state folder: inside an attempt no database is opened that lies elsewhere."""
    state: str | None = None
    """keisei's state folder, which a package that asks keisei itself may write: one for packages of the kit, or a fresh
    one. None where there is none for them."""
    out: tuple[str, ...] = ()
    """Private paths that are none of the system's although they may lie in one of its folders."""


class Touch(NamedTuple):
    """What an atom touches, as its page declares."""

    reads: bool
    """Paths of the working folder."""
    writes: bool
    """Paths of the working folder, which then are read as well."""
    network: bool
    starts: bool
    """Programs."""


def touched(manifest: AtomManifest) -> Touch:
    """What an atom's effects open. Falls closed: a domain nobody knows opens nothing."""
    effects = manifest.side_effects
    ops = {each.op for each in effects}
    on_files = {(each.op, domain_root(each)) for each in effects if domain_root(each) in FILES}
    anything = EXCLUSIVE in ops
    return Touch(
        reads=anything or any(op in ("read", "write") for op, _ in on_files),
        writes=anything or ("write", "fs") in on_files,
        network=anything or "network" in ops,
        starts=anything or "subprocess" in ops,
    )


def private_environment(private: str) -> dict[str, str]:
    """HOME and TMPDIR in a private folder, both made where they are not there. Raises OSError."""
    own = {"HOME": Path(private, "home"), "TMPDIR": Path(private, "tmp")}
    for each in own.values():
        each.mkdir(mode=0o700, exist_ok=True)
    return {name: str(each) for name, each in own.items()}


def declared_profile(spec: AtomSpec, place: ProfilePlace) -> Confinement:
    """What an atom may touch by its own effects and nothing else.

    Raises OperatorError for a package that asks keisei itself where the place has no state for it.
    """
    touch = touched(spec.manifest)
    working = (place.working,)
    return Confinement(
        write=_real((*_own(spec, place), *(working if touch.writes else ()))),
        read=_real((*_code(spec, place), *(working if _reads(spec, touch) and not touch.writes else ()))),
        out=_real(place.out),
        network="open" if touch.network else "none",
        execute=None if touch.starts else (),
        limits=Limits(processes=PROCESSES),
    )


def narrowed(attempt: Confinement, spec: AtomSpec, place: ProfilePlace) -> Confinement:
    """The same for an atom that an attempt calls: never more of the machine than the attempt itself may touch.

    It has no socket and no way to a model. What closes a path for the attempt closes it here. Raises OperatorError for
    a database that does not stand in its package's own folder below `place.packages`, for a package whose folder holds
    private paths, and as `declared_profile` does.
    """
    touch = touched(spec.manifest)
    private = (*_real(place.out), *attempt.out)
    if place.database is not None:
        check_own(spec.package, place.database, place.packages)
    _check_code(spec.package, private)
    write = (*_real(_own(spec, place)), *(filter(os.path.lexists, attempt.write) if touch.writes else ()))
    seen = (*attempt.read, *filter(os.path.lexists, attempt.write)) if _reads(spec, touch) else ()
    read = tuple(dict.fromkeys((*_real(_code(spec, place)), *seen)))
    opened = (*write, *read)
    return replace(
        attempt,
        write=tuple(dict.fromkeys(write)),
        read=read,
        protect=tuple(path for path in attempt.protect if _meets(path, opened)),
        hide=tuple(path for path in attempt.hide if _meets(path, opened)),
        replace={path: content for path, content in attempt.replace.items() if _meets(path, opened)},
        out=tuple(dict.fromkeys(private)),
        sockets=(),
        network="open" if touch.network and attempt.network == "open" else "none",
        forward=None,
        connect=None,
        execute=attempt.execute if touch.starts else (),
        limits=replace(attempt.limits, processes=min(PROCESSES, attempt.limits.processes or PROCESSES)),
    )


def _reads(spec: AtomSpec, touch: Touch) -> bool:
    """Whether it reads the working folder: it says so, or it asks keisei, which looks for the project there."""
    return touch.reads or bool(spec.package.metadata.engine)


def _own(spec: AtomSpec, place: ProfilePlace) -> Iterator[str]:
    """What it writes whatever it declares."""
    yield place.private
    if place.database is not None:
        yield str(Path(place.database).parent)  # a database has journals beside it
    if spec.package.metadata.engine:
        if place.state is None:
            raise OperatorError(f"`{spec.package.name}` asks keisei itself, which it cannot here")
        yield place.state


def _code(spec: AtomSpec, place: ProfilePlace) -> Iterator[str]:
    """What must be readable so that it starts."""
    package = spec.package
    program = place.find_program(package) if package.language == "program" else sys.executable
    yield from _sources(package)
    yield str(HOST)
    yield from interpreter_reads()
    if program is not None:
        yield program
        yield from program_reads(program, passed_on().get("PATH", os.defpath))
    if package.metadata.engine:
        yield str(KEISEI.parent)  # who imports looks through the folder


def _sources(package: AtomPackage) -> Iterator[str]:
    yield package.folder
    if package.import_root is not None:
        yield package.import_root


def _check_code(package: AtomPackage, private: Iterable[str]) -> None:
    """Its own folder is opened whole; a project's own root, or a home, is not."""
    for source in _real(_sources(package)):
        held = next((path for path in private if _is_below(path, source)), None)
        if held is not None:
            message = f"`{package.name}` is not called inside an attempt: its folder `{source}` holds `{held}`"
            raise OperatorError(message, "give the package a folder of its own")


def _real(paths: Iterable[str]) -> tuple[str, ...]:
    """Every path that is there, without a link in it, each once."""
    return tuple(dict.fromkeys(os.path.realpath(each) for each in paths if os.path.lexists(each)))


def _meets(path: str, opened: Iterable[str]) -> bool:
    """Whether it lies in something that is opened, or holds it. What does not closes nothing here."""
    return any(_is_below(path, each) or _is_below(each, path) for each in opened)


def _is_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder.rstrip('/')}/")
