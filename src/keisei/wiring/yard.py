"""The yard: what confined attempts of a runner share: worktrees, environments, the gate, the layers of this machine."""

import os
import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol

from keisei.records.confinement import LEVELS, Level, Machine
from keisei.records.error import OperatorError, Refused
from keisei.records.project import ProjectSandbox, ProjectWorkspace
from keisei.records.role import RoleIsolation
from keisei.records.worktree import RepositoryFacts
from keisei.sandbox.confine import level_for
from keisei.sandbox.machine import probe
from keisei.settings import Settings
from keisei.wiring.store import Home, make_folder
from keisei.workspace.environment import Environments
from keisei.workspace.pool import Pool
from keisei.workspace.repository import facts

if TYPE_CHECKING:
    from keisei.wiring.atoms import Shelf
    from keisei.wiring.gatehouse import Gatehouse

PROVING: Final = "verifying"
"""As long as `worktrees`: an environment can move between paths of one length only."""
OWNER: Final = "repository"
"""The file of the state folder that names the repository it belongs to."""


class Model(Protocol):
    """A model that plays a script, on loopback."""

    @property
    def url(self) -> str:
        """Its address without a path."""

    @property
    def requests(self) -> Sequence[Any]:
        """Every request that took a turn."""


Rehearsal = Callable[[Any], AbstractContextManager[Model]]
"""What starts such a model with a script."""


class Yard:
    """One runner's. Any thread may ask; nothing is looked at or started before it is asked for."""

    def __init__(
        self, settings: Settings, home: Home, *, accept_weaker: bool = False, rehearsal: Rehearsal | None = None
    ) -> None:
        """With a rehearsal, harnesses are proved before their first work."""
        self.settings = settings
        self.home = home
        self.accept_weaker = accept_weaker
        self.rehearsal = rehearsal
        self.workspace = home.file.workspace or ProjectWorkspace()
        self.sandbox = home.file.sandbox or ProjectSandbox()
        self.worktrees = home.folder / "worktrees"
        self.environments = Environments(home.folder / "environments")
        self._gatehouse: Gatehouse | None = None
        self._lock = threading.Lock()
        self.rehearsing = threading.Lock()
        """Held while a harness is proved: two attempts do not prove the same one twice."""
        self.proved: set[str] = set()
        """Digests of harnesses that were proved."""

    @cached_property
    def machine(self) -> Machine:
        """What this machine can hold."""
        return probe()

    @property
    def gatehouse(self) -> "Gatehouse":
        """The gate of this runner's agents."""
        from keisei.wiring.gatehouse import Gatehouse  # noqa: PLC0415 - a runner of scripts needs no gate

        with self._lock:
            if self._gatehouse is None:
                self._gatehouse = Gatehouse(self.settings)
            return self._gatehouse

    @cached_property
    def shelf(self) -> "Shelf":
        """The atoms there are, as the operator sees them: never those of a worktree."""
        from keisei.graph.index import FILE  # noqa: PLC0415 - few roles have atoms
        from keisei.wiring.atoms import open_shelf  # noqa: PLC0415 - as above

        return open_shelf(self.settings, index_path=self.home.folder / FILE, start=self.home.root)

    def facts(self, *, looks: bool = True, main: str | None = None) -> RepositoryFacts:
        """The project's repository as it is now. Raises OperatorError where there is none that will do.

        Without `looks`, what a person has in the checkout is not looked at. `main` names another branch than the
        project's.
        """
        if self.home.root is None:
            raise OperatorError(
                "agents work on a project in a git repository, and there is none here",
                'make one: `git init`, a commit, and a keisei.toml with `[project] name = "..."`',
            )
        project = self.home.file.project
        branch = main or (project.main if project is not None else "main")
        found = facts(self.home.root, branch, looks=looks)
        self._claim_home(found)
        return found

    def _claim_home(self, found: RepositoryFacts) -> None:
        """Have the state folder belong to one repository. Raises OperatorError where it belongs to another.

        Two clones of one project would mix their worktrees and their work. A repository that was moved takes its state
        along: its old place is gone.
        """
        mark = self.home.folder / OWNER
        try:
            owner = mark.read_text(encoding="utf-8", errors="surrogateescape").strip()
        except FileNotFoundError:
            owner = ""
        if owner == found.common_dir:
            return
        if owner and os.path.lexists(owner):
            raise OperatorError(
                f"the state of project `{self.home.name}` belongs to the repository `{owner}`, not to this one",
                "give this project another `[project] name`, or set KEISEI_HOME",
            )
        make_folder(self.home.folder)
        mark.write_text(f"{found.common_dir}\n", encoding="utf-8", errors="surrogateescape")

    def pool(self, found: RepositoryFacts) -> Pool:
        """The worktrees of that repository."""
        return Pool(found, self.worktrees, self.workspace.pool)

    def proving(self, found: RepositoryFacts) -> Pool:
        """The checkouts in which candidates are proved; what is in them is nobody's work."""
        return Pool(found, self.home.folder / PROVING, self.workspace.pool, keeps=False)

    def private(self, *env_files: str | None) -> tuple[str, ...]:
        """What neither an agent nor a check reads, wherever it lies: env files, the home, the project, the state."""
        root = self.home.root
        tables = [each.get("env_file") for each in self.home.file.adapters.values()]
        named = [each for each in (*tables, *env_files) if isinstance(each, str)]
        files = [str((root or Path.cwd()) / Path(each).expanduser()) for each in named]
        return (*files, *(str(each) for each in (root, self.settings.home, self.home.folder) if each is not None))

    def level_now(self, network: Literal["none", "open"]) -> Level:
        """How surely this machine confines."""
        return level_for(self.machine, network)[0]

    def level(self, wanted: RoleIsolation) -> Level:
        """How surely this machine confines. Raises Refused where a role requires more, unless less is accepted."""
        required = wanted.require
        found, fault = level_for(self.machine, wanted.network)
        if LEVELS.index(found) >= LEVELS.index(required) or self.accept_weaker:
            return found
        missing = fault or "; ".join(self.machine.faults) or "a layer is missing"
        raise Refused(
            f"this role requires isolation `{required}` and this machine has `{found}`: {missing}",
            "install bubblewrap (`keisei doctor` tells more), or accept less with --accept-weaker",
        )

    def close(self) -> None:
        """End what was started. Never raises."""
        if self._gatehouse is not None:
            self._gatehouse.close()
