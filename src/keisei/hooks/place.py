"""Places: which file of which harness our hooks go into."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from keisei.records.error import OperatorError


class Around(NamedTuple):
    """Where somebody stands who asks for hooks."""

    cwd: Path
    home: Path | None
    environment: Mapping[str, str]


class Place(NamedTuple):
    """One settings file."""

    harness: str
    scope: str
    path: Path
    """The file, spelled as the harness spells it: Codex's trust hangs on the spelling."""
    root: Path
    """The folder that the file may not lead out of."""
    config: Path | None = None
    """Codex's config.toml, where trust is kept, always the user's."""
    config_root: Path | None = None

    @property
    def mode(self) -> int:
        """The permissions of a new file."""
        return 0o644 if self.scope == "project" else 0o600


def place_of(harness: str, scope: str, around: Around) -> Place:
    """The settings file. Raises OperatorError where there is no home folder to look in."""
    if harness == "claude":
        if scope == "project":
            root = project_root(around.cwd)
            return Place(harness, scope, root / ".claude" / "settings.json", root)
        folder, root = claude_home(around)
        return Place(harness, scope, folder / "settings.json", root)
    config_folder, config_root = codex_home(around)
    folder, root = config_folder, config_root
    if scope == "project":
        root = project_root(around.cwd)
        folder = root / ".codex"
    return Place(harness, scope, folder / "hooks.json", root, config_folder / "config.toml", config_root)


def project_root(cwd: Path) -> Path:
    """The nearest folder upward that holds `.git`, else the folder itself."""
    real = cwd.resolve()
    return next((folder for folder in (real, *real.parents) if (folder / ".git").exists()), real)


def main_checkout(root: Path) -> Path:
    """The repository a worktree belongs to, else the folder itself."""
    try:
        text = (root / ".git").read_text(encoding="utf-8").strip() if (root / ".git").is_file() else ""
    except (OSError, UnicodeDecodeError):
        return root
    linked = (root / text.removeprefix("gitdir:").strip()).resolve()
    return linked.parents[2] if text and linked.parent.name == "worktrees" else root


def claude_home(around: Around) -> tuple[Path, Path]:
    """Claude's folder of the user, and the folder it may not lead out of."""
    named = around.environment.get("CLAUDE_CONFIG_DIR")
    if named:
        folder = around.cwd / named
        return folder, _nearest(folder)
    home = _home(around)
    return home / ".claude", home


def codex_home(around: Around) -> tuple[Path, Path]:
    """Codex's folder, and the folder it may not lead out of. Codex follows symlinks only where CODEX_HOME names it."""
    named = around.environment.get("CODEX_HOME")
    if named:
        folder = (around.cwd / named).resolve()
        return folder, _nearest(folder)
    home = _home(around)
    return home / ".codex", home


def _nearest(folder: Path) -> Path:
    """The folder, or what is there of the way to it."""
    return next(each for each in (folder, *folder.parents) if each.exists())


def _home(around: Around) -> Path:
    if around.home is None:
        raise OperatorError("there is no home folder", "set HOME")
    return around.home
