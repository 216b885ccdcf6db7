"""Locks of schemas: what was promised until a day, kept as it was, and compared with what stands there now."""

import hashlib
import os
import re
from collections.abc import Callable, Iterable, Iterator
from datetime import date
from pathlib import Path
from typing import Final, NamedTuple

import tomlkit
from msgspec.structs import replace

from keisei.contracts.compare import changes
from keisei.contracts.containment import fits
from keisei.contracts.words import nearest
from keisei.library.atom_since import Past, check_since, closed
from keisei.library.atom_spec import read_atom
from keisei.library.document import parse
from keisei.library.load import Loaded, load
from keisei.library.package import Package, atom_files
from keisei.library.schema_bundle import bundled
from keisei.library.shelf import entries
from keisei.library.source import Source, inside, is_file, read_source, shown_path
from keisei.records.error import AuthorError, OperatorError
from keisei.records.problem import Problem
from keisei.records.schema_lock import LockedFile, Revocation, SchemaLock

FOLDER: Final = Path(".keisei") / "locks"
UNSAFE: Final = re.compile(r"[^a-z0-9-]+")
LONGEST: Final = 100
UNTIL: Final = re.compile(r"(?i)\buntil\b[^\n0-9]{0,40}(\d{4}-\d{2}-\d{2})")
REVOKED: Final = re.compile(r"(?im)^[ \t>*_#-]*(status\W{1,10})?(lock\s+)?(was\s+)?(revoked|revocation)\b")
"""How a marker of the original says that it is over: a line that begins so."""


class Lock(NamedTuple):
    """A marker that was read."""

    path: Path
    loaded: Loaded

    @property
    def record(self) -> SchemaLock:
        """What it says."""
        return self.loaded.record  # type: ignore[no-any-return]

    def holds(self, today: date) -> bool:
        """Whether it is in force."""
        return self.record.revoked is None and today <= self.record.until


def marker(root: Path, name: str) -> Path:
    """Where the lock of a name stands. Names that differ have files that differ."""
    plain = name.replace("::", "--")
    if UNSAFE.search(plain) is not None or len(plain) > LONGEST:
        mark = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
        plain = f"{UNSAFE.sub('-', plain)[:LONGEST].strip('-') or 'lock'}-{mark}"
    return root / FOLDER / f"{plain}.toml"


def read_lock(path: Path) -> Lock:
    """One marker. Raises AuthorError where it is broken, or was edited."""
    loaded = load(parse(read_source(path)), "schema.lock")
    record: SchemaLock = loaded.record
    for index, each in enumerate(record.files):
        if hashlib.sha256(each.text.encode("utf-8", "surrogatepass")).hexdigest() != each.sha256:
            hint = "restore the marker from git; `keisei schema revoke` is the way to end a lock"
            message = f"the text of `{each.path}` does not have its sha256: the lock was edited"
            raise AuthorError([loaded.document.problem("edited-lock", ("files", index, "sha256"), message, hint)])
    return Lock(path, loaded)


def lock_files(root: Path) -> list[Path]:
    """Every marker of a project, in order."""
    return [path for path in entries(root / FOLDER) if path.suffix == ".toml"]


def locked_files(root: Path, name: str, packages: Iterable[Package]) -> tuple[LockedFile, ...]:
    """What belongs to an atom, a package or a schema file, as it is now. Raises OperatorError, AuthorError."""
    if name.endswith(".json"):
        path = _schema_path(root, name)
        return _read_all(root, lambda read: bundled(path, read))
    pages = _pages(name, list(packages))
    return _read_all(root, lambda read: _read_atoms(pages, read))


def text_of(lock: SchemaLock) -> str:
    """The marker's text."""
    document = tomlkit.document()
    document.add(tomlkit.comment("Written by `keisei schema lock`. End it with `keisei schema revoke`."))
    for key in ("name", "until", "actor", "locked_at"):
        document.add(key, getattr(lock, key))
    if lock.revoked is not None:
        document.add("revoked", tomlkit.item({key: getattr(lock.revoked, key) for key in Revocation.__struct_fields__}))
    files = tomlkit.aot()
    for each in lock.files:
        files.append(tomlkit.item({"path": each.path, "sha256": each.sha256, "text": each.text}))
    document.add("files", files)
    return tomlkit.dumps(document)


def check_locks(root: Path, packages: Iterable[Package], today: date) -> Iterator[Problem]:
    """Every promise under a lock in force that is not kept. A marker that cannot be read is a problem of its own."""
    shelf = list(packages)
    for path in lock_files(root):
        try:
            lock = read_lock(path)
        except AuthorError as error:
            yield from error.problems
            continue
        yield from lock.loaded.warnings
        if lock.holds(today):
            yield from _kept(root, lock, shelf)


def _kept(root: Path, lock: Lock, shelf: list[Package]) -> Iterator[Problem]:
    record = lock.record
    then = {Path(os.path.normpath(root / each.path)): each.text.encode() for each in record.files}
    end = f"`keisei schema revoke {record.name} --reason ...` ends the lock"
    if record.name.endswith(".json"):
        yield from _same_file(root, lock, then, end)
        return
    pages = tuple(path for path in then if path.suffix == ".md")
    past = Past(f"the lock until {record.until}", pages, then.get)
    for problem in check_since(shelf, past):
        hard = problem.code == "undecided-change"  # what cannot be decided is not let pass under a lock
        hint = f"{problem.hint}; {end}" if problem.hint else end
        yield replace(problem, hint=hint, severity="error" if hard else problem.severity)


def _same_file(root: Path, lock: Lock, then: dict[Path, bytes], end: str) -> Iterator[Problem]:
    name = lock.record.name
    path = inside(root, name)
    if path is None or not is_file(path):
        yield Problem(code="locked-schema", path=name, message="is locked, and is gone", hint=end)
        return

    def old(each: Path) -> Source:
        raw = then.get(Path(os.path.normpath(each)))
        if raw is None:
            message = "was not part of the schema when it was locked"
            raise AuthorError([Problem(code="unreadable", path=shown_path(each), message=message)])
        return Source(each, shown_path(each), raw, raw.decode())

    try:
        document, was, now = parse(read_source(path)), bundled(path, old), bundled(path)
        found = changes(was, now)
    except AuthorError as error:
        yield from error.problems
        return
    if fits(closed(was), now).answer == "yes":  # only what nobody had declared: additions
        return
    for each in found:
        if each.kind != "compatible":
            place = tuple(int(step) if step.isdecimal() else step for step in each.path.split("/")[1:])
            message = f"{each.message}: {each.kind} under the lock until {lock.record.until}"
            yield document.problem("locked-schema", place, message, end)


def _schema_path(root: Path, name: str) -> Path:
    path = inside(root, name)
    if path is None or not is_file(path):
        where = "leads out of the project" if path is None else "does not exist"
        raise OperatorError(f"the schema `{name}` {where}", "name a file by its path from the project's root")
    return path


def _pages(name: str, shelf: list[Package]) -> list[tuple[Package, Path]]:
    found = [(package, path) for package in shelf for path in atom_files(package)]
    known = {f"{package.name}::{path.stem}" for package, path in found}
    if name in known:
        return [(package, path) for package, path in found if f"{package.name}::{path.stem}" == name]
    pages = [(package, path) for package, path in found if package.name == name]
    if not pages:
        choice = sorted({*known, *(package.name for package in shelf)})
        hint = nearest(name, choice) or "name an atom `package::verb`, a package, or a schema file ending in .json"
        raise OperatorError(f"no atom, package or schema of this project is called `{name}`", hint)
    return pages


def _read_atoms(pages: list[tuple[Package, Path]], read: Callable[[Path], Source]) -> None:
    for package, page in pages:
        atom = read_atom(page, package, read)
        for side in ("input", "output"):
            schema = inside(page.parent, getattr(atom.manifest, side).schema)
            if schema is None or not is_file(schema):
                message = f"the {side} schema of `{atom.manifest.atom}` is missing"
                raise OperatorError(message, "`keisei lint atoms` tells more")
            bundled(schema, read)


def _read_all(root: Path, walk: Callable[[Callable[[Path], Source]], object]) -> tuple[LockedFile, ...]:
    """Every file that is read on the way, as it is. Raises OperatorError where one stands outside the project."""
    found: dict[str, LockedFile] = {}
    real = root.resolve()

    def read(path: Path) -> Source:
        source = read_source(path)
        place = Path(os.path.normpath(path))
        if not place.is_relative_to(real):
            raise OperatorError(f"`{shown_path(path)}` stands outside the project", "lock it where it is authored")
        name = place.relative_to(real).as_posix()
        found[name] = LockedFile(path=name, sha256=hashlib.sha256(source.raw).hexdigest(), text=source.text)
        return source

    walk(read)
    return tuple(found[name] for name in sorted(found))


class SeedLock(NamedTuple):
    """A marker of the original: `docs/*SCHEMA-LOCKED.md`."""

    path: Path
    name: str
    """Its file's name."""
    until: str | None
    """The day it names."""
    state: str
    """`holds`, `has ended` or `revoked`."""


def seed_locks(root: Path, today: date) -> list[SeedLock]:
    """Markers of the original. One holds until the day it names, or until it says that it is revoked."""
    found = [path for path in entries(root / "docs") if path.name.endswith("SCHEMA-LOCKED.md") and is_file(path)]
    return [_seed_lock(path, today) for path in found]


def _seed_lock(path: Path, today: date) -> SeedLock:
    try:
        text = read_source(path).text
    except AuthorError:
        text = ""
    day = UNTIL.search(text)
    until = day[1] if day is not None else None
    state = "holds"
    if REVOKED.search(text) is not None:
        state = "revoked"
    elif until is not None and until < today.isoformat():
        state = "has ended"
    return SeedLock(path, path.name, until, state)
