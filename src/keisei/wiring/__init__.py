"""Wiring: builds the rooms from settings; the only place that knows them all."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from keisei.library.shelf import Layer, layer_of
from keisei.settings import Settings

if TYPE_CHECKING:
    from keisei.library.catalog import Catalog

KIT = Path(__file__).parent.parent / "kit"


def catalog(
    settings: Settings,
    *,
    kit_root: Path | None = None,
    start: Path | None = None,
    warn: Callable[[str], None] | None = None,
) -> "Catalog":
    """The catalog of a working directory: kit, kit root, user, project, from the lowest layer to the highest."""
    from keisei.library.catalog import Catalog  # noqa: PLC0415 - whoever asks for no authored file does not pay for it

    return Catalog(layers(settings, kit_root=kit_root or settings.kit_root, start=start or _here()), warn)


def _here() -> Path:
    try:
        return Path.cwd()
    except FileNotFoundError as error:
        from keisei.records.error import OperatorError  # noqa: PLC0415 - a listing does not pay for it

        message = "the working directory does not exist any more"
        raise OperatorError(message, "change to a folder that exists") from error


def layers(settings: Settings, *, kit_root: Path | None, start: Path) -> list[Layer]:
    """The layers. Raises OperatorError for a kit root that is not a folder."""
    found = [Layer("kit", KIT)]
    project = project_layer(start)
    root = kit_root or seed_root(start) or _home_packages(settings.home)
    if root is not None:
        if not _is_folder(root):
            from keisei.records.error import OperatorError  # noqa: PLC0415 - a listing does not pay for it

            message = f"kit root `{root}` is not a folder"
            raise OperatorError(
                message, "name the folder that holds `_capabilities/` and `_roles/`, or `capabilities/`"
            )
        found.append(layer_of("root", root))
    if settings.config_home is not None and (settings.config_home / "keisei").is_dir():
        found.append(Layer("user", settings.config_home / "keisei"))
    if project is not None and all(project.folder != layer.folder for layer in found):
        found.append(project)
    return found


def _home_packages(home: Path | None) -> Path | None:
    """Where the originals install atoms; read where nothing else is given."""
    folder = home / ".claude" / "agents" / "_primitives" / "_rust" if home is not None else None
    return folder if folder is not None and _is_folder(folder) else None


def project_layer(start: Path) -> Layer | None:
    """The nearest folder upward with keisei.toml or `.keisei/`."""
    for folder in _upward(start):
        if (folder / "keisei.toml").is_file() or (folder / ".keisei").is_dir():
            return Layer("project", folder / ".keisei")
    return None


def seed_root(start: Path) -> Path | None:
    """The nearest folder upward in the originals' layout."""
    for folder in _upward(start):
        if any(_is_folder(folder / each) for each in ("_capabilities", "_roles", "_primitives")):
            return folder
    return None


def _is_folder(path: Path) -> bool:
    """Whether a folder stands there. Never raises."""
    return os.path.isdir(path)  # noqa: PTH112 - Path.is_dir raises for a name that is too long


def _upward(start: Path) -> Iterator[Path]:
    absolute = start.absolute()
    if ".." in absolute.parts:  # `worktree/../x` is not inside the worktree, and must not be judged by its rules
        absolute = Path(os.path.realpath(absolute))
    yield absolute
    yield from absolute.parents
