"""Settings: every value keisei takes from its surroundings, with its default and its help. Read once."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple


class Setting(NamedTuple):
    """One setting."""

    name: str
    variable: str
    default: str
    help: str


SETTINGS = (
    Setting("kit_root", "KEI_KIT_ROOT", "", "A kit root that overlays the shipped kit; `--kit-root` wins over it."),
    Setting("config_home", "XDG_CONFIG_HOME", "~/.config", "The folder whose `keisei/` is the user's layer."),
    Setting("home", "HOME", "~", "The folder whose `.claude/agents/_primitives/_rust` is read where no root is given."),
    Setting("creator", "KEI_CREATOR_ID", "unknown", "Who stands as creator in the lineage of new and forked files."),
    Setting("no_color", "NO_COLOR", "", "Any value switches colours off."),
)


class Settings(NamedTuple):
    """The values of one process."""

    kit_root: Path | None
    config_home: Path | None
    home: Path | None
    creator: str
    no_color: bool


def read_settings(environment: Mapping[str, str] | None = None) -> Settings:
    """The values, from the environment or the defaults. Never raises: what is not usable counts as not set."""
    env = os.environ if environment is None else environment
    values = {setting.name: env.get(setting.variable) or setting.default for setting in SETTINGS}
    return Settings(
        kit_root=Path(values["kit_root"]) if values["kit_root"] else None,
        config_home=_expanded(values["config_home"]),
        home=_expanded(values["home"]),
        creator=values["creator"],
        no_color=bool(values["no_color"]),
    )


def _expanded(text: str) -> Path | None:
    try:
        path = Path(text).expanduser()
    except RuntimeError:
        return None
    return path if path.is_absolute() else None
