"""Locks of schemas: what was promised until a day, kept as it was, and compared with what stands there now."""

import hashlib
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

import tomlkit
from msgspec.structs import replace

from keisei.contracts.compare import changes
from keisei.contracts.words import nearest
from keisei.library.atom_since import Past, check_since
from keisei.library.atom_spec import read_atom
from keisei.library.document import parse
from keisei.library.load import Loaded, load
from keisei.library.package import Package, atom_files
from keisei.library.schema_addition import differing, without_additions
from keisei.library.schema_bundle import bundled
from keisei.library.shelf import entries
from keisei.library.source import LIMIT, Source, inside, is_file, read_source, shown_path
from keisei.records.error import AuthorError, OperatorError
from keisei.records.problem import Problem
from keisei.records.schema_lock import LockedFile, Revocation, SchemaLock

FOLDER: Final = Path(".keisei") / "locks"
UNSAFE: Final = re.compile(r"[^a-z0-9-]+")
LONGEST: Final = 100
RESTORE: Final = "restore the marker from git; `keisei schema revoke` is the way to end a lock"


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


def own_name(root: Path, name: str) -> str:
    """The name by which something is locked: of a schema its path from the project's root. Raises OperatorError."""
    if not name.endswith(".json"):
        return name
    path = inside(root, name)
    if path is None:
        hint = "name a file by its path from the project's root"
        raise OperatorError(f"the schema `{name}` leads out of the project", hint)
    return path.relative_to(root.resolve()).as_posix()


def new_lock(name: str, until: date, actor: str, locked_at: datetime, files: tuple[LockedFile, ...]) -> SchemaLock:
    """A lock with the sha256 over what it says."""
    lock = SchemaLock(name=name, until=until, actor=actor, locked_at=locked_at, sha256="0" * 64, files=files)
    return replace(lock, sha256=_digest(lock))


def revoked_lock(lock: SchemaLock, reason: str, actor: str, revoked_at: datetime) -> SchemaLock:
    """The lock, ended, with the sha256 over how."""
    revoked = Revocation(reason=reason, actor=actor, revoked_at=revoked_at, sha256="0" * 64)
    return replace(lock, revoked=replace(revoked, sha256=_revocation_digest(lock, revoked)))


def _digest(lock: SchemaLock) -> str:
    files = [[each.path, each.sha256] for each in lock.files]
    return _hashed([lock.name, lock.until.isoformat(), lock.actor, _moment(lock.locked_at), files])


def _revocation_digest(lock: SchemaLock, revoked: Revocation) -> str:
    return _hashed([_digest(lock), revoked.reason, revoked.actor, _moment(revoked.revoked_at)])


def _moment(when: datetime) -> str:
    return when.astimezone(UTC).isoformat()


def _hashed(said: list[Any]) -> str:
    return hashlib.sha256(json.dumps(said, separators=(",", ":")).encode("ascii")).hexdigest()


def read_lock(path: Path) -> Lock:
    """One marker. Raises AuthorError where it is broken, or was edited."""
    return _read(read_source(path))


def _read(source: Source) -> Lock:
    loaded = load(parse(source), "schema.lock")
    record: SchemaLock = loaded.record
    for place, message in _edits(record):
        raise AuthorError([loaded.document.problem("edited-lock", place, f"{message}: it was edited", RESTORE)])
    return Lock(source.path, loaded)


def _edits(record: SchemaLock) -> Iterator[tuple[tuple[str | int, ...], str]]:
    for index, each in enumerate(record.files):
        if hashlib.sha256(each.text.encode("utf-8", "surrogatepass")).hexdigest() != each.sha256:
            yield ("files", index, "sha256"), f"the text of `{each.path}` does not have its sha256"
    if _digest(record) != record.sha256:
        yield ("sha256",), "the lock does not have its sha256"
    if record.revoked is not None and _revocation_digest(record, record.revoked) != record.revoked.sha256:
        yield ("revoked", "sha256"), "the revocation does not have its sha256"


def marker_bytes(path: Path, lock: SchemaLock) -> bytes:
    """The marker's text, which reads as what it was made of. Raises OperatorError for what no marker can say."""
    text = text_of(lock)
    raw = text.encode("utf-8", "replace")
    if len(raw) > LIMIT:
        message = f"the marker would be larger than {LIMIT // 1024} KiB, the limit of an authored file"
        raise OperatorError(message, "lock the atoms of the package one by one")
    try:
        found = _read(Source(path, shown_path(path), raw, raw.decode()))
    except AuthorError as error:
        message = f"a marker cannot say this of `{lock.name}`: {error.problems[0].message}"
        raise OperatorError(message, "use plain names and words") from error
    if found.record != lock:
        raise OperatorError(f"a marker cannot say this of `{lock.name}`", "use plain names and words")
    return raw


def locks_folder(root: Path) -> Path:
    """Where markers are written. Raises OperatorError where a link leads out of the project."""
    if inside(root, str(FOLDER)) is None:
        raise OperatorError(f"`{FOLDER}` leads out of the project", "put a folder in the place of the link")
    return root / FOLDER


def read_locks(root: Path) -> tuple[list[Lock], list[tuple[Path, AuthorError]]]:
    """Every marker that can be read, in order, and those that cannot."""
    found: list[Lock] = []
    broken: list[tuple[Path, AuthorError]] = []
    for path in lock_files(root):
        try:
            found.append(read_lock(path))
        except AuthorError as error:
            broken.append((path, error))
    return found, broken


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
    for key in ("name", "until", "actor", "locked_at", "sha256"):
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
        yield under_lock(problem, end)


def under_lock(problem: Problem, end: str) -> Problem:
    """The problem as it is told under a lock, with how that is ended: what cannot be decided is not let pass."""
    hint = f"{problem.hint}; {end}" if problem.hint else end
    return replace(problem, hint=hint, severity="error" if problem.code == "undecided-change" else problem.severity)


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
        found = changes(*differing(was, without_additions(was, now)))
    except AuthorError as error:
        yield from error.problems
        return
    for each in found:
        if each.kind != "compatible":
            steps = (step.replace("~1", "/").replace("~0", "~") for step in each.path.split("/")[1:])
            place = tuple(int(step) if step.isdecimal() else step for step in steps)
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
