"""What calls atoms: where they are found, who runs them, where their rows go. One object for CLI, pipes and servers."""

import os
import re
import shutil
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from keisei.engine.invoke import Tools
from keisei.engine.ports import Store
from keisei.graph.index import FILE
from keisei.records.atom_spec import AtomPackage
from keisei.records.error import OperatorError
from keisei.records.id import AttemptId
from keisei.settings import Settings, told
from keisei.wiring import KIT
from keisei.wiring.atoms import Shelf, open_shelf
from keisei.wiring.fresh import new_id
from keisei.wiring.store import Home, open_home_store, project_home
from keisei.wiring.surroundings import passed_on

if TYPE_CHECKING:
    from keisei.graph.cache import SqliteTransformCache
    from keisei.records.atom_spec import AtomSpec
    from keisei.wiring.sage import Sage
    from keisei.workers.crew import Crew

NAMED_DATABASE = re.compile(r"KEI_[A-Z0-9_]+_DB")
"""Variables that name the databases of packages."""
CACHE = "cache.db"
"""A file of the state folder that may be deleted at any time, as the index may."""


class AtomRuntime:
    """Everything a call needs. What is slow to open is opened when it is first asked for."""

    def __init__(  # noqa: PLR0913 - each says one thing
        self,
        settings: Settings,
        shelf: Shelf,
        home: Home,
        actor: str,
        *,
        find_sage: "Callable[[], Sage]",
        most: int = 8,
    ) -> None:
        """`actor` calls, or the attempt this process runs in. `find_sage` opens what searches the same atoms."""
        self._find_sage = find_sage
        self._turn = threading.Lock()
        self.settings, self.shelf, self.home = settings, shelf, home
        self.actor = actor if self.attempt_id is None else f"attempt:{self.attempt_id}"
        self.most = most
        """How many processes run atoms side by side at most; the crew takes it when it is first asked for."""

    @property
    def attempt_id(self) -> AttemptId | None:
        """The attempt this process runs in, as far as its surroundings say."""
        return AttemptId(self.settings.attempt_id) if self.settings.attempt_id else None

    @cached_property
    def store(self) -> Store:
        """The project's store: ledger rows and runs of pipes."""
        return open_home_store(self.settings, self.home)

    @cached_property
    def crew(self) -> "Crew":
        """The processes."""
        from keisei.sandbox.process import open_process  # noqa: PLC0415 - who only lists atoms runs nothing
        from keisei.workers.crew import Crew  # noqa: PLC0415 - as above

        return Crew(open_process=open_process, find_program=self.program, python=sys.executable, most=self.most)

    @cached_property
    def cache(self) -> "SqliteTransformCache":
        """Results of transforms."""
        from keisei.graph.cache import SqliteTransformCache  # noqa: PLC0415 - as above

        return SqliteTransformCache(self.home.folder / CACHE)

    @property
    def sage(self) -> "Sage":
        """What finds atoms by words."""
        with self._turn:
            if "_sage" not in self.__dict__:
                self._sage = self._find_sage()
            return self._sage

    @cached_property
    def tools(self) -> Tools:
        """What the engine calls with."""
        from datetime import UTC, datetime  # noqa: PLC0415 - as above

        from keisei.wiring.package_database import PackageDatabases  # noqa: PLC0415 - as above

        return Tools(
            workers=self.crew,
            databases=PackageDatabases(self.settings, self.shelf.package),
            environment=self.environment,
            new_id=new_id,
            now=lambda: datetime.now(UTC),
            cwd=str(working_directory()),
            secrets=database_secrets(self.settings),
        )

    def environment(self, package: AtomPackage, database: str | None) -> dict[str, str]:
        """What atoms of a package are given; where they ask keisei itself, what tells them where its state is too."""
        own = environment(package, database)
        return {**own, **engine_environment(self.settings)} if is_engine(package) else own

    def program(self, package: AtomPackage) -> str | None:
        """The program that answers for a package: in KEI_RUNTIME_BIN_DIR, then on PATH. None where there is none."""
        own, path = self.settings.program_dir, passed_on().get("PATH", os.defpath)
        first = None if own is None else str(own.absolute())
        found = (first and shutil.which(package.name, path=first)) or shutil.which(package.name, path=path)
        if found is None and first and os.path.isfile(f"{first}/{package.name}"):  # noqa: PTH113 - never raises
            return f"{first}/{package.name}"  # not executable: whoever starts it says so
        return found

    def code_sha(self, spec: "AtomSpec") -> str:
        """A digest of the code that answers for an atom."""
        own = spec.package.language == "program"
        return self.shelf.code_sha(spec, self.program(spec.package) if own else None)

    def close(self) -> None:
        """End the processes and give back the store."""
        opened = self.__dict__
        for name in ("crew", "cache", "_sage", "store"):
            if name in opened:
                opened.pop(name).close()


@contextmanager
def open_runtime(
    settings: Settings,
    *,
    actor: str,
    roots: Sequence[Path] = (),
    kit_root: Path | None = None,
    start: Path | None = None,
) -> Iterator[AtomRuntime]:
    """The runtime of the project around a folder, closed afterwards. Raises OperatorError, AuthorError."""
    here = start or working_directory()
    home = project_home(settings, here)
    shelf = open_shelf(settings, index_path=home.folder / FILE, roots=roots, kit_root=kit_root, start=here)
    find_sage = partial(_find_sage, settings, roots=roots, kit_root=kit_root, start=here)
    runtime = AtomRuntime(settings, shelf, home, actor, find_sage=find_sage)
    try:
        yield runtime
    finally:
        runtime.close()


def _find_sage(settings: Settings, *, roots: Sequence[Path], kit_root: Path | None, start: Path) -> "Sage":
    from keisei.wiring.sage import open_sage  # noqa: PLC0415 - only who searches pays for it

    return open_sage(settings, roots=roots, kit_root=kit_root, start=start)


def working_directory() -> Path:
    """Where this process works. Raises OperatorError where that folder is gone."""
    try:
        return Path.cwd()
    except FileNotFoundError as error:
        message = "the working directory does not exist any more"
        raise OperatorError(message, "change to a folder that exists") from error


def environment(package: AtomPackage, database: str | None) -> dict[str, str]:
    """What an atom is given of this process's environment: a few usual names, its own, and its database."""
    names = ("HOME", *package.metadata.env)
    own = {name: os.environ[name] for name in names if name in os.environ}
    named = {} if database is None or package.metadata.db_env is None else {package.metadata.db_env: database}
    return {**passed_on(), **own, **named}


def is_engine(package: AtomPackage) -> bool:
    """Whether its atoms ask keisei itself and it ships with it. One from elsewhere that says so is no such thing."""
    return package.metadata.engine is True and package.folder.startswith(f"{KIT.resolve()}/")


def engine_environment(settings: Settings) -> dict[str, str]:
    """What a package is given whose atoms ask keisei itself: folders, rows, databases of packages, the attempt.

    Nothing of it is for a package that an agent could write.
    """
    databases = {name: value for name, value in os.environ.items() if NAMED_DATABASE.fullmatch(name)}
    attempt = {"KEISEI_ATTEMPT_ID": settings.attempt_id} if settings.attempt_id else {}
    return {**databases, **told(settings), **attempt}


def database_secrets(settings: Settings) -> tuple[str, ...]:
    """What must not be written down of the setting that says where rows live."""
    if not settings.database_url:
        return ()
    from urllib.parse import unquote, urlsplit  # noqa: PLC0415 - most projects name no database

    try:
        password = urlsplit(settings.database_url).password
    except ValueError:
        password = None
    return (settings.database_url, *((unquote(password), password) if password else ()))
