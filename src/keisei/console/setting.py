"""Settings: every value this console works by, and where it comes from. They are changed in files, not here."""

import os
import platform
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, Literal

from msgspec import Struct

from keisei import __version__
from keisei.console.page import Order, Page, page
from keisei.console.premises import Premises
from keisei.console.role import told_problems
from keisei.console.setting_file import SettingRow, file_rows
from keisei.library.project import project_file
from keisei.records.error import KeiseiError
from keisei.rules.redact import MARK, Redactor
from keisei.settings import SETTINGS, Settings, read_settings
from keisei.wiring import project_layer

KINDS: Final = {"postgres": "PostgreSQL", "postgresql": "PostgreSQL"}
FIELDS: Final = {"capability_name": "capability_names", "own_state": "state_home"}
"""Settings whose value stands under another name."""


ADDRESS: Final = re.compile(
    r"(?P<kind>[a-z]+://)(?:[^@/?#]*@)?(?P<place>(?:[\w.-]+|\[[0-9A-Fa-f:]+\])?(?::\d{1,5})?(?:/[\w.-]*)?)(?:\?[^@]*)?"
)
"""User and password, host, port, database, and what else is said; a password with a strange sign fits nowhere."""


class SettingLine(Struct, frozen=True, kw_only=True):
    """One setting of the surroundings."""

    name: str
    """Its name."""
    variable: str
    """The variable that sets it."""
    value: str
    """What holds; secrets are taken out."""
    default: str
    """What holds where the variable is not set."""
    origin: Literal["environment", "default"]
    """Where the value comes from."""
    help: str
    """What it is for."""


class SettingLayer(Struct, frozen=True, kw_only=True):
    """One folder of authored files."""

    name: str
    """kit, root, user or project."""
    folder: str
    """Where."""
    there: bool
    """Whether the folder exists."""


class SettingFolder(Struct, frozen=True, kw_only=True):
    """One folder of state."""

    name: str
    """What it holds."""
    path: str
    """Where."""
    there: bool
    """Whether it exists; it is made when it is needed."""


class SettingsAsk(Struct, frozen=True, kw_only=True):
    """Nothing is asked."""


class SettingsPage(Struct, frozen=True, kw_only=True):
    """Everything this console works by."""

    version: str
    """keisei's own version."""
    python: str
    """The interpreter's."""
    project: str
    """The project's name."""
    root: str | None
    """Its root; None outside of every project."""
    database: str
    """What keeps the rows."""
    database_place: str
    """Where, without user and password."""
    read_only: bool
    """Whether this console takes no orders."""
    stale: bool
    """keisei.toml cannot be read, or names another project: what it said before holds."""
    settings: tuple[SettingLine, ...]
    """Values of the surroundings."""
    file: str | None
    """The project's keisei.toml."""
    rows: tuple[SettingRow, ...]
    """What it says, and the defaults of what it does not say."""
    layers: tuple[SettingLayer, ...]
    """Where authored files are read from, from the lowest to the highest; the highest wins."""
    folders: tuple[SettingFolder, ...]
    """Where state lives."""
    problems: tuple[str, ...]
    """What cannot be read."""


def show_settings(premises: Premises, _asks: SettingsAsk) -> SettingsPage:
    """Every setting with its value and where that comes from."""
    home, own, problems = premises.home, premises.settings, []
    layer = project_layer(premises.start)
    path = project_file(layer) if layer is not None else None
    rows: tuple[SettingRow, ...] = ()
    try:
        rows = file_rows(path)[0]
    except KeiseiError as error:
        problems += told_problems("keisei.toml", error)
    return SettingsPage(
        version=__version__,
        python=platform.python_version(),
        project=home.name,
        root=None if home.root is None else _path(home.root),
        database=KINDS.get(own.database_url.partition(":")[0], "SQLite"),
        database_place=_database(own.database_url) or _path(home.folder / "state.db"),
        read_only=premises.read_only,
        stale=premises.stale is not None,
        settings=tuple(_lines(own)),
        file=None if path is None else _path(path),
        rows=rows,
        layers=tuple(
            SettingLayer(name=each.name, folder=_path(each.folder), there=each.folder.is_dir())
            for each in premises.catalog().layers
        ),
        folders=tuple(
            SettingFolder(name=name, path=_path(folder), there=folder.is_dir())
            for name, folder in (
                ("state", home.folder),
                ("evidence", home.evidence),
                ("artifacts", home.artifacts),
                ("running attempts", home.run),
                ("worktrees", home.folder / "worktrees"),
                ("accepted constitutions", home.folder / "constitutions"),
            )
        ),
        problems=tuple(problems),
    )


def _lines(own: Settings) -> Iterator[SettingLine]:
    usual = read_settings({})
    for each in SETTINGS:
        field = FIELDS.get(each.name, each.name)
        value = getattr(own, field)
        is_set = bool(os.environ.get(each.variable)) or value != getattr(usual, field)
        if each.name == "state_home":  # it only says where the state folder is looked for
            value = os.environ.get(each.variable) or each.default
            is_set = bool(os.environ.get(each.variable))
        yield SettingLine(
            name=each.name,
            variable=each.variable,
            value=_database(value) if each.name == "database_url" else _told(value),
            default=each.default,
            origin="environment" if is_set else "default",
            help=each.help,
        )


def _told(value: Any) -> str:  # noqa: ANN401 - whatever a setting holds
    if value is None or value == "":
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple | frozenset):
        return Redactor().text(" ".join(sorted(map(str, value))))
    return Redactor().text(_path(value) if isinstance(value, Path) else str(value))


def _path(path: Path) -> str:
    return os.fsencode(path).decode("utf-8", "replace")


def _database(url: str) -> str:
    """Where rows live: of an address nothing but its kind, host and name, and only where these are plain to see."""
    if not url:
        return ""
    found = ADDRESS.fullmatch(url)
    return f"{found['kind']}{found['place']}" if found is not None else MARK


PAGES: Final[tuple[Page, ...]] = (page("/settings", "settings.html", show_settings),)
ORDERS: Final[tuple[Order, ...]] = ()
