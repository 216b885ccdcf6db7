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
    Setting(
        "program_dir",
        "KEI_RUNTIME_BIN_DIR",
        "",
        "The folder where programs that answer for atoms are looked for, before PATH.",
    ),
    Setting("no_color", "NO_COLOR", "", "Any value switches colours off."),
    Setting(
        "state_home", "XDG_STATE_HOME", "~/.local/state", "The folder whose `keisei/` holds state; never a repository."
    ),
    Setting("own_state", "KEISEI_HOME", "", "The state folder itself, instead of the one under XDG_STATE_HOME."),
    Setting(
        "database_url",
        "KEISEI_DATABASE_URL",
        "",
        "Where rows live: postgresql://... for many machines; by default `state.db` in the project's state folder.",
    ),
    Setting(
        "runtime_home", "XDG_RUNTIME_DIR", "", "The folder whose `keisei/` holds sockets; by default one under /tmp."
    ),
    Setting("temporary", "TMPDIR", "", "A folder where agents may write temporary files, beside /tmp and /var/tmp."),
    Setting(
        "capability_name",
        "KEI_CAPABILITY_NAME",
        "",
        "Capabilities that `kei-capability check` judges by; unset passes.",
    ),
    Setting("task_toml", "TASK_TOML", "", "The task file whose parameters `kei-capability check` uses."),
    Setting(
        "worktree_path", "WORKTREE_PATH", "", "The worktree calls are judged in; by default where the call is made."
    ),
    Setting("main_repo", "MAIN_REPO", "", "The main checkout, which agents must not touch either."),
    Setting("project_dir", "CLAUDE_PROJECT_DIR", "", "The project a harness started in, as it tells its hooks."),
    Setting("disabled_hooks", "KEI_DISABLED_HOOKS", "", "Hooks to switch off in a user's own session, or `all`."),
    Setting(
        "hook_profile", "KEI_HOOK_PROFILE", "", "`minimal` switches capability checks off in a user's own session."
    ),
    Setting(
        "attempt_id",
        "KEISEI_ATTEMPT_ID",
        "",
        "Set by the runtime inside an attempt, where no variable switches a gate off.",
    ),
)


class Settings(NamedTuple):
    """The values of one process."""

    kit_root: Path | None
    config_home: Path | None
    home: Path | None
    creator: str
    program_dir: Path | None
    no_color: bool
    state_home: Path | None
    database_url: str
    runtime_home: Path | None
    temporary: Path | None
    capability_names: tuple[str, ...]
    task_toml: Path | None
    worktree_path: Path | None
    main_repo: Path | None
    project_dir: Path | None
    disabled_hooks: frozenset[str]
    hook_profile: str
    attempt_id: str | None


def read_settings(environment: Mapping[str, str] | None = None) -> Settings:
    """The values, from the environment or the defaults. Never raises: what is not usable counts as not set."""
    env = os.environ if environment is None else environment
    values = {setting.name: env.get(setting.variable) or setting.default for setting in SETTINGS}
    return Settings(
        kit_root=Path(values["kit_root"]) if values["kit_root"] else None,
        config_home=_expanded(values["config_home"]),
        home=_expanded(values["home"]),
        creator=values["creator"],
        program_dir=Path(values["program_dir"]) if values["program_dir"] else None,
        no_color=bool(values["no_color"]),
        state_home=_expanded(values["own_state"]) or _below(_expanded(values["state_home"]), "keisei"),
        database_url=values["database_url"],
        runtime_home=_below(_expanded(values["runtime_home"]), "keisei"),
        temporary=_expanded(values["temporary"]) if values["temporary"] else None,
        capability_names=tuple(values["capability_name"].replace(",", " ").split()),
        task_toml=Path(values["task_toml"]) if values["task_toml"] else None,
        worktree_path=Path(values["worktree_path"]) if values["worktree_path"] else None,
        main_repo=Path(values["main_repo"]) if values["main_repo"] else None,
        project_dir=_expanded(values["project_dir"]),
        disabled_hooks=frozenset(values["disabled_hooks"].replace(",", " ").split()),
        hook_profile=values["hook_profile"],
        attempt_id=values["attempt_id"] or None,
    )


def told(settings: Settings) -> dict[str, str]:
    """The variables that give another process of ours the same folders, programs and rows."""
    runtime = settings.runtime_home
    values = {
        "HOME": settings.home,
        "KEISEI_HOME": settings.state_home,
        "XDG_CONFIG_HOME": settings.config_home,
        "XDG_RUNTIME_DIR": None if runtime is None else runtime.parent,
        "KEI_KIT_ROOT": settings.kit_root,
        "KEI_RUNTIME_BIN_DIR": settings.program_dir,
        "KEISEI_DATABASE_URL": settings.database_url or None,
    }
    return {name: str(value) for name, value in values.items() if value is not None}


def _below(folder: Path | None, name: str) -> Path | None:
    return folder / name if folder is not None else None


def _expanded(text: str) -> Path | None:
    if not text:
        return None
    try:
        path = Path(text).expanduser()
    except RuntimeError:
        return None
    return path if path.is_absolute() else None
