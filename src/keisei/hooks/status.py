"""Status: whether our hooks are in a harness's settings, and whether the harness will run them."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from keisei.adapters.hook_codex import trust
from keisei.adapters.hook_command import is_ours, parts_of
from keisei.hooks import claude, codex
from keisei.hooks.edit import read_text, real_path
from keisei.hooks.install import HARNESS
from keisei.hooks.merge import checked, read
from keisei.hooks.place import Around, Place, claude_home, main_checkout, project_root
from keisei.hooks.trust import config_of, state_of
from keisei.library.source import shown_path
from keisei.records.error import AuthorError, KeiseiError

MANAGED = Path("/etc/claude-code/managed-settings.json")
AGAIN = "run `keisei hooks install` again"


class Reason(NamedTuple):
    """Why installed hooks are not what they should be."""

    state: str
    text: str
    hint: str


class Status(NamedTuple):
    """One settings file."""

    place: Place
    state: str
    """absent, installed, stale (another program, or changed), off (the harness does not run it), broken."""
    command: str | None
    reasons: tuple[Reason, ...]


_WORST = ("broken", "off", "stale")


def status(place: Place, around: Around, program: str | None) -> Status:
    """Whether the hooks are there and effective. Never raises for what is wrong with a file: it says it."""
    try:
        text = read_text(real_path(place.path, place.root))
        data = read(text, shown_path(place.path)).value if text is not None and text.strip() else {}
    except KeiseiError as error:
        return Status(place, "broken", None, (_said(error),))
    ours = [
        (event, group, hook)
        for event, groups in _items(data.get("hooks"))
        for group in _list(groups)
        for hook in _list(group.get("hooks") if isinstance(group, Mapping) else None)
        if isinstance(hook, Mapping) and is_ours(hook.get("command"))
    ]
    if not ours:
        return Status(place, "absent", None, ())
    reasons = [*_dropped(place, text or ""), *_switches(place, around, data), *_stale(place, ours, program)]
    state = next((each for each in _WORST if any(reason.state == each for reason in reasons)), "installed")
    return Status(place, state, str(ours[0][2]["command"]), tuple(reasons))


def _items(value: object) -> list[tuple[str, Any]]:
    return list(value.items()) if isinstance(value, Mapping) else []


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _said(error: KeiseiError) -> Reason:
    if isinstance(error, AuthorError):
        first = error.problems[0]
        return Reason("broken", f"{first.place}: {first.message}", first.hint or "correct the file")
    return Reason("broken", error.message, error.hint or "correct the file")


def _dropped(place: Place, text: str) -> Iterator[Reason]:
    try:
        checked(text, shown_path(place.path), HARNESS[place.harness].defects)
    except AuthorError as error:
        for problem in error.problems:
            yield Reason("off", f"{problem.place}: {problem.message}", "the harness ignores the whole file for it")


def _stale(place: Place, ours: list[tuple[str, Any, Any]], program: str | None) -> Iterator[Reason]:
    command = str(ours[0][2]["command"])
    wanted = HARNESS[place.harness].entries(command)
    for event, group in wanted.items():
        found = [each for name, each, _ in ours if name == event]
        if not found:
            yield Reason("stale", f"{event} has no hook of ours", AGAIN)
        elif found != [group]:
            yield Reason("stale", f"the {event} hook was changed by hand or by another version", AGAIN)
    parts = parts_of(command)
    if parts is None:
        yield Reason("stale", "the command was changed by hand or by another version", AGAIN)
        return
    argv = parts.argv
    for path in (parts.limit, argv[0]):
        if path is not None and not os.access(path, os.X_OK):
            yield Reason("stale", f"the program {path} is missing, so every call is refused", AGAIN)
    if program is not None and Path(argv[0]).parent != Path(program).parent:
        yield Reason("stale", f"it runs {argv[0]}, which is not this keisei", AGAIN)
    if "--task" in argv and not Path(argv[argv.index("--task") + 1]).is_file():
        yield Reason("stale", f"the task file {argv[argv.index('--task') + 1]} is missing", AGAIN + " with --task")


def _switches(place: Place, around: Around, data: Mapping[str, Any]) -> Iterator[Reason]:
    if place.harness == "claude":
        yield from _claude_switches(around)
    else:
        yield from _codex_switches(place, around, data)


def _claude_switches(around: Around) -> Iterator[Reason]:
    """In the order Claude reads them: a later file wins."""
    files = [claude_home(around)[0] / "settings.json"] if _has_home(around) else []
    project = project_root(around.cwd) / ".claude"
    files += [project / "settings.json", project / "settings.local.json", MANAGED]
    switched: Path | None = None
    for path in files:
        settings = _settings(path)
        if isinstance(settings.get("disableAllHooks"), bool):
            switched = path if settings["disableAllHooks"] else None
        env = settings.get("env")
        if isinstance(env, Mapping) and env.get("CLAUDE_CODE_SIMPLE"):
            text = f"{shown_path(path)} sets CLAUDE_CODE_SIMPLE, which switches hooks off"
            yield Reason("off", text, "remove it from `env`")
        if path == MANAGED and settings.get("allowManagedHooksOnly") is True:
            yield Reason("off", f"{path} allows only managed hooks", "ask whoever manages this machine")
    if switched is not None:
        yield Reason("off", f"{shown_path(switched)} sets disableAllHooks", "remove it, or set it to false")
    if around.environment.get("CLAUDE_CODE_SIMPLE"):
        yield Reason("off", "CLAUDE_CODE_SIMPLE is set here, which switches hooks off", "unset it")


def _has_home(around: Around) -> bool:
    return around.home is not None or bool(around.environment.get("CLAUDE_CONFIG_DIR"))


def _settings(path: Path) -> dict[str, Any]:
    """A settings file that Claude would obey: one it would ignore says nothing."""
    try:
        text = read_text(path)
        settings: dict[str, Any] = checked(text, str(path), claude.defects).value if text and text.strip() else {}
    except KeiseiError:
        return {}
    return settings


def _codex_switches(place: Place, around: Around, data: Mapping[str, Any]) -> Iterator[Reason]:
    if codex.defects(data):
        return  # the file is dropped, which is said elsewhere, and has no places to look trust up at
    assert place.config is not None  # noqa: S101 - Codex always has one
    try:
        config = _config(place.config)
    except KeiseiError as error:
        yield _said(error)
        return
    yield from _features(config, place.config)
    state = state_of(config)
    for key, wanted in trust(data, str(place.path)).items():
        known = state.get(key, {})
        if known.get("trusted_hash") != wanted:
            yield Reason("off", f"Codex does not trust {key}", AGAIN)
        elif known.get("enabled") is False:
            yield Reason("off", f"{shown_path(place.config)} switches {key} off", "remove `enabled = false` there")
    if place.scope == "project":
        yield from _project_trust(config, project_root(around.cwd))


def _config(path: Path) -> dict[str, Any]:
    return config_of(read_text(path), shown_path(path))


def _features(config: Mapping[str, Any], path: Path) -> Iterator[Reason]:
    features = config.get("features", {})
    for name in ("hooks", "codex_hooks"):
        if isinstance(features, Mapping) and features.get(name) is False:
            text = f"{shown_path(path)} sets `{name} = false` in [features]"
            yield Reason("off", text, "remove the line, or start codex with --enable hooks")


def _project_trust(config: Mapping[str, Any], root: Path) -> Iterator[Reason]:
    projects = config.get("projects", {})
    known = [projects.get(str(each)) for each in (root, main_checkout(root))] if isinstance(projects, Mapping) else []
    levels = [each.get("trust_level") for each in known if isinstance(each, Mapping)]
    if levels[:1] != ["trusted"]:
        hint = "start codex here once and trust the folder, or install with --user"
        yield Reason("off", f"Codex does not trust the project {root}, and reads none of its hooks", hint)
        return
    try:
        yield from _features(_config(root / ".codex" / "config.toml"), root / ".codex" / "config.toml")
    except KeiseiError as error:
        yield _said(error)
