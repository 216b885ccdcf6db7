"""The premises: one project, opened, as the pages ask for it."""

import threading
from collections.abc import Callable
from contextlib import ExitStack, closing
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from keisei.console.current_home import CurrentHome
from keisei.engine.office import Office
from keisei.engine.ports import Store
from keisei.library.catalog import Catalog
from keisei.library.project import project_file
from keisei.settings import Settings
from keisei.wiring import catalog, project_layer
from keisei.wiring.account import actor
from keisei.wiring.fresh import new_id
from keisei.wiring.registry import CatalogRegistry, defaults_of
from keisei.wiring.store import Home, open_home_store, project_home

if TYPE_CHECKING:
    from keisei.wiring.atom_runtime import AtomRuntime
    from keisei.wiring.sage import Sage


class Kept(Protocol):
    """Something that ends with the premises."""

    def close(self) -> None:
        """Give everything back."""


K = TypeVar("K", bound=Kept)


class Premises:
    """A project with everything its pages are made from. What is slow to open is opened when it is first asked for.

    Any number of threads may use it.
    """

    def __init__(
        self, settings: Settings, start: Path, *, kit_root: Path | None = None, read_only: bool = False
    ) -> None:
        """The project around a folder. Raises AuthorError, OperatorError, WorldFault."""
        self.settings, self.start, self.kit_root, self.read_only = settings, start, kit_root, read_only
        home, layer = project_home(settings, start), project_layer(start)
        self._current = CurrentHome(home, None if layer is None else project_file(layer))
        self.store: Store = open_home_store(settings, home)
        self._opening = threading.RLock()
        self._opened = ExitStack()
        self._kept: dict[Any, Any] = {}
        self._opened.callback(self.store.close)

    @property
    def home(self) -> Home:
        """The project, with what its keisei.toml says now."""
        return self._current.home

    @property
    def stale(self) -> str | None:
        """Why what holds is not what keisei.toml says; None where it is."""
        return self._current.stale

    def now(self) -> datetime:
        """The store's time."""
        return self.store.now()

    def catalog(self) -> Catalog:
        """The authored files, as they are now."""
        return catalog(self.settings, kit_root=self.kit_root, start=self.start)

    def registry(self) -> CatalogRegistry:
        """The authored files as the engine asks for them."""
        return CatalogRegistry(self.catalog())

    def office(self) -> Office:
        """What makes tasks."""
        return Office(self.store, self.registry, defaults_of(self.home), new_id)

    @property
    def sage(self) -> "Sage":
        """What finds and ranks authored things."""
        return self.runtime.sage

    @property
    def runtime(self) -> "AtomRuntime":
        """What lists and calls atoms."""
        with self._opening:
            return self._runtime

    @cached_property
    def _runtime(self) -> "AtomRuntime":
        from keisei.wiring.atom_runtime import open_runtime  # noqa: PLC0415 - most pages call no atom

        opened = open_runtime(self.settings, actor=actor(), kit_root=self.kit_root, start=self.start)
        return self._opened.enter_context(opened)

    def keep(self, kind: Callable[["Premises"], K]) -> K:
        """What a noun keeps between requests: made when it is first asked for, closed before everything it uses."""
        with self._opening:
            if kind not in self._kept:
                self._kept[kind] = self._opened.enter_context(closing(kind(self)))
            found: K = self._kept[kind]
            return found

    def close(self) -> None:
        """Give everything back. Safe to say twice."""
        self._opened.close()
