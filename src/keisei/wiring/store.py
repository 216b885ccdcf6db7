"""The store of a project: which folder, which database, which doorbell."""

import hashlib
import os
from pathlib import Path
from typing import NamedTuple

from keisei.engine.ports import Store
from keisei.library.project import load_project, project_file
from keisei.records.error import OperatorError
from keisei.records.project import ProjectFile
from keisei.settings import Settings
from keisei.store import open_store
from keisei.wiring import project_layer
from keisei.wiring.sockets import runtime_folder

LONGEST = 60
"""Bytes of the folder for doorbells; each has a long name of its own."""
DEFAULT = "default"
"""The project of work that stands in no project."""


class Home(NamedTuple):
    """A project and where its state lives. Nothing of it stands in the repository."""

    name: str
    root: Path | None
    """The project's root; None outside of every project."""
    file: ProjectFile
    folder: Path
    """The state folder."""

    @property
    def evidence(self) -> Path:
        """Files of attempts."""
        return self.folder / "evidence"

    @property
    def artifacts(self) -> Path:
        """Files that tasks are asked for, a folder each."""
        return self.folder / "artifacts"

    @property
    def run(self) -> Path:
        """What attempts need while they run, a folder each; emptied after."""
        return self.folder / "run"


def project_home(settings: Settings, start: Path) -> Home:
    """The project around a folder. Raises AuthorError for a broken keisei.toml, OperatorError without a home."""
    layer = project_layer(start)
    path = project_file(layer) if layer is not None else None
    file: ProjectFile = load_project(path).record if path is not None else ProjectFile()
    if settings.state_home is None:
        raise OperatorError("there is no home folder for state", "set HOME, XDG_STATE_HOME or KEISEI_HOME")
    name = file.project.name if file.project is not None else DEFAULT
    root = path.parent if path is not None else None
    return Home(name, root, file, settings.state_home / name)


def open_home_store(settings: Settings, home: Home) -> Store:
    """The store of a project; made where it is not there. Raises OperatorError, WorldFault."""
    make_folder(home.folder)
    url = settings.database_url or f"sqlite://{home.folder / 'state.db'}"
    return open_store(url, bell_folder=bell_folder(settings, home))


def open_project_store(settings: Settings, start: Path) -> Store:
    """The store of the project around a folder."""
    return open_home_store(settings, project_home(settings, start))


def bell_folder(settings: Settings, home: Home) -> Path:
    """A short folder for doorbells, the same for everybody who works on this state folder."""
    mark = hashlib.sha256(os.fsencode(os.path.realpath(home.folder))).hexdigest()[:12]
    folder = runtime_folder(settings, LONGEST) / f"bell-{mark}"
    make_folder(folder)
    return folder


def make_folder(folder: Path) -> None:
    """A folder of this user's alone. Raises OperatorError."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        message = f"the folder `{folder}` cannot be made: {(error.strerror or str(error)).lower()}"
        raise OperatorError(message, "check its permissions, or set KEISEI_HOME") from error
