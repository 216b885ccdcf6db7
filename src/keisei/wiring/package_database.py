"""The databases of packages: which file, whose migrations, and that it is up to date before an atom is called."""

import os
import threading
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from keisei.records.atom_spec import AtomPackage
from keisei.records.error import AuthorError, MissingAtom, OperatorError
from keisei.settings import Settings
from keisei.store.migrate import Migration
from keisei.store.package_database import DatabaseState, Tables, bring_up, database_state
from keisei.store.package_migration import read_steps
from keisei.store.place import prepared

FOLDER = "packages"
"""Where in the state folder databases stand whose default is relative."""
SETTLED_S = 2.0
"""A folder that changed more recently may change again without a newer date."""


class _Seen(NamedTuple):
    """A database that was found up to date."""

    package: AtomPackage
    """The package as it was."""
    named: str | None
    """What its variable said."""
    path: str
    """The database."""
    folder: str | None
    """The migrations."""
    stamps: tuple[int, int] | None
    """The database's inode, and when the folder last changed."""


class PackageDatabases:
    """Implements the port `Databases`. Any thread may ask; a database is looked at once per process."""

    def __init__(
        self,
        settings: Settings,
        package: Callable[[str], AtomPackage],
        environment: Mapping[str, str] | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        *,
        is_held: bool = False,
    ) -> None:
        """`package` finds the one whose tables another works on. Raises nothing, opens nothing.

        `is_held` is for calls inside an attempt: a database is opened only where `check_own` has nothing against it.
        """
        self._settings, self._package, self._now = settings, package, now
        self._is_held = is_held
        self._environment = os.environ if environment is None else environment
        self._seen: dict[str, _Seen] = {}
        self._lock = threading.Lock()

    def database(self, package: AtomPackage) -> str | None:
        """Its database, made and brought up to date; None where it has none. Raises OperatorError, WorldFault.

        A program that brings no migrations, or others than its metadata count, makes its own tables: its database is
        named and left alone.
        """
        named = self._environment.get(package.metadata.db_env or "")
        seen = self._seen.get(package.name)
        if seen is not None and (seen.package, seen.named) == (package, named) and seen.stamps == _stamps(seen):
            return seen.path
        path = self.path(package)
        if path is None:
            return None
        if self._is_held:
            home = self._settings.state_home
            check_own(package, str(path), None if home is None else str(home / FOLDER))
        owner, folder = self._migrations(package, path)
        if _makes_its_own(package, owner, folder):
            return str(prepared(path))
        with self._lock:
            bring_up(path, _tables(package, owner, folder), self._now)
        found = str(path.parent.resolve() / path.name)
        self._remember(_Seen(package, named, found, None if folder is None else str(folder), None))
        return found

    def path(self, package: AtomPackage) -> Path | None:
        """Where its database is, or would be; None where it has none. Raises OperatorError. Makes nothing."""
        data = package.metadata
        if data.backend != "sqlite" or data.db_env is None or data.db_default is None:
            return None
        if named := self._environment.get(data.db_env):
            return Path.cwd() / self._at_home(named)
        default = self._at_home(data.db_default)
        if default.is_absolute():
            return default
        if self._settings.state_home is None:
            raise OperatorError("there is no state folder for the databases of packages", "set XDG_STATE_HOME or HOME")
        if ".." in default.parts or not default.name:
            message = f"db_default `{data.db_default}` of `{package.name}` leads out of the state folder"
            raise OperatorError(message, f"fix its metadata, or set {data.db_env}")
        return self._settings.state_home / FOLDER / default

    def state(self, package: AtomPackage) -> DatabaseState | None:
        """How far its database has come; None where keisei keeps none for it. Raises OperatorError, WorldFault."""
        path = self.path(package)
        if path is None:
            return None
        owner, folder = self._migrations(package, path)
        if _makes_its_own(package, owner, folder):
            return None
        return database_state(path, _tables(package, owner, folder))

    def bring_up(self, package: AtomPackage) -> tuple[Migration, ...]:
        """Bring its database up to date, and tell what ran. Raises OperatorError, WorldFault."""
        path = self.path(package)
        if path is None:
            return ()
        owner, folder = self._migrations(package, path)
        if _makes_its_own(package, owner, folder):
            return ()
        return bring_up(path, _tables(package, owner, folder), self._now)

    def _remember(self, seen: _Seen) -> None:
        """Until something changes; not where a name is relative to a folder this process may leave."""
        stamps = _stamps(seen)
        if stamps and stamps[1] < (time.time() - SETTLED_S) * 1e9 and (not seen.named or seen.named.startswith("/")):
            self._seen[seen.package.name] = seen._replace(stamps=stamps)

    def _migrations(self, package: AtomPackage, path: Path) -> tuple[AtomPackage, Path | None]:
        """Whose migrations make its tables, and where they are; None where there are none."""
        owner = self._owner(package, path)
        named = owner.metadata.migrations_dir
        if named is None:
            return owner, None
        homes = [Path(owner.folder)]
        if owner.import_root is not None and owner.import_name is not None:
            homes.append(Path(owner.import_root, *owner.import_name.split(".")))
        for home in homes:
            if (home / named).is_dir():
                return owner, _inside(home, named, owner.name)
        if owner.language == "program":
            return owner, None
        raise OperatorError(f"`{owner.name}` has no folder `{named}` with its migrations", "reinstall the package")

    def _owner(self, package: AtomPackage, path: Path) -> AtomPackage:
        name = package.metadata.tables_of
        if name is None or name == package.name:
            return package
        try:
            owner = self._package(name)
        except (MissingAtom, AuthorError) as error:
            message = f"`{package.name}` works on the tables of `{name}`, which cannot be used: {error.message}"
            raise OperatorError(message, f"install `{name}` beside it") from error
        if owner.metadata.tables_of not in (None, owner.name):
            raise OperatorError(f"`{package.name}` works on the tables of `{name}`, which has none of its own")
        if self.path(owner) != path:
            message = f"`{package.name}` works on the tables of `{name}`, but names another database"
            raise OperatorError(message, "give both the same db_env and db_default")
        return owner

    def _at_home(self, text: str) -> Path:
        """A path with `~` read as the user's home. Raises OperatorError where there is none."""
        if "\0" in text or (not text.isascii() and text.encode("utf-8", "replace").decode() != text):
            raise OperatorError("the name of a database is not plain text")
        if text != "~" and not text.startswith("~/"):
            return Path(text)
        if self._settings.home is None:
            raise OperatorError(f"`{text}` cannot be read: there is no home folder", "set HOME")
        return self._settings.home / text[2:]


def check_own(package: AtomPackage, database: str, packages: str | None) -> None:
    """Raise OperatorError unless a database stands in its package's own folder, or that of the one whose tables it has.

    `packages` is the folder of that name in the state folder. An atom is given the whole folder of its database, and
    beside it lie those of other packages.
    """
    owner = package.metadata.tables_of or package.name
    own = None if packages is None else f"{os.path.realpath(packages)}/{owner}/"
    if own is None or not os.path.realpath(database).startswith(own):
        message = f"the database of `{package.name}` is not opened inside an attempt: `{database}`"
        raise OperatorError(message, f"let it stand in a folder of its own, such as `{packages or FOLDER}/{owner}/`")


def _stamps(seen: _Seen) -> tuple[int, int] | None:
    """What stands there now; None where something is missing."""
    try:
        return os.lstat(seen.path).st_ino, 0 if seen.folder is None else os.stat(seen.folder).st_mtime_ns  # noqa: PTH116
    except (OSError, ValueError):
        return None


def _makes_its_own(package: AtomPackage, owner: AtomPackage, folder: Path | None) -> bool:
    """Whether a program looks after its tables itself, as the originals do. A Python package never does."""
    if package.language != "program":
        return False
    return folder is None or owner.metadata.schema_version != len(read_steps(folder))


def _tables(package: AtomPackage, owner: AtomPackage, folder: Path | None) -> Tables:
    """Raises OperatorError where the migrations are not what the metadata say."""
    steps = () if folder is None else read_steps(folder)
    newest = owner.metadata.schema_version
    if folder is not None and newest is not None and newest != len(steps):
        message = f"schema_version of `{owner.name}` is {newest}, but its newest migration is {len(steps)}"
        raise OperatorError(message, "make them equal")
    return Tables(owner.name, steps, package.metadata.db_env)


def _inside(home: Path, named: str, owner: str) -> Path:
    """The folder, every link followed. Raises OperatorError where it leads out of the package."""
    folder = (home / named).resolve()
    if not folder.is_relative_to(home.resolve()):
        raise OperatorError(f"the migrations of `{owner}` lead out of the package: {home / named}")
    return folder
