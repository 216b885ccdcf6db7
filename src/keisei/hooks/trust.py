"""Trust: the digests in Codex's config.toml by which it runs our hooks. Pure; comments and order stay."""

import tomllib
from collections.abc import Collection, Mapping
from typing import Any

import tomlkit

from keisei.records.error import AuthorError
from keisei.records.problem import Problem


def config_of(text: str | None, shown: str) -> dict[str, Any]:
    """The configuration as data. Raises AuthorError for what is not TOML, or has another thing than a table there."""
    try:
        config = tomllib.loads(text or "")
    except tomllib.TOMLDecodeError as error:
        raise AuthorError([Problem(code="syntax", path=shown, message=str(error))]) from error
    except RecursionError as error:
        raise AuthorError([Problem(code="too-deep", path=shown, message="nested too deeply")]) from error
    hooks = config.get("hooks", {})
    state = hooks.get("state", {}) if isinstance(hooks, dict) else None
    if not isinstance(state, dict) or not all(isinstance(each, dict) for each in state.values()):
        message = "`hooks` or `hooks.state` is not a table"
        raise AuthorError([Problem(code="wrong-type", path=shown, message=message)])
    return config


def state_of(config: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """What the configuration says of hooks: key to table."""
    state: dict[str, dict[str, Any]] = config.get("hooks", {}).get("state", {})
    return state


def retold(
    text: str | None, shown: str, *, drop: Collection[str], add: Mapping[str, str], moves: Mapping[str, str]
) -> str:
    """The text with other trust in it: keys dropped, keys of other hooks moved, ours added. Nothing else changes.

    Raises AuthorError where the file is written in a way that cannot be changed without touching something else.
    """
    before = text or ""
    config = config_of(text, shown)
    drop = [key for key in drop if key not in add]
    wanted = _wanted(config, drop, add, moves)
    try:
        after = _changed(before, drop, add, moves)
        done = _pruned(config_of(after, shown)) == _pruned(wanted)
    except (AuthorError, ValueError, KeyError, TypeError) as error:
        raise _by_hand(shown, add) from error
    if not done:
        raise _by_hand(shown, add)
    return after


def _wanted(
    config: dict[str, Any], drop: Collection[str], add: Mapping[str, str], moves: Mapping[str, str]
) -> dict[str, Any]:
    old = state_of(config)
    state = {key: dict(each) for key, each in old.items() if key not in drop and key not in moves}
    state |= {moves[key]: dict(each) for key, each in old.items() if key in moves}
    for key, digest in add.items():
        state[key] = state.get(key, {}) | {"trusted_hash": digest}
    return config | {"hooks": config.get("hooks", {}) | {"state": state}}


def _changed(text: str, drop: Collection[str], add: Mapping[str, str], moves: Mapping[str, str]) -> str:
    state = state_of(tomllib.loads(text))
    fresh = {moves[key]: state[key] for key in moves if key in state}
    fresh |= {key: {"trusted_hash": digest} for key, digest in add.items() if key not in state}
    known = {key: digest for key, digest in add.items() if key in state}
    gone = [key for key in (*drop, *moves) if key in state]
    stale = [key for key, digest in known.items() if state[key].get("trusted_hash") != digest]
    if gone or stale:
        document = tomlkit.parse(text)
        table: Any = document["hooks"]["state"]
        for key in gone:
            del table[key]
        for key in stale:
            table[key]["trusted_hash"] = known[key]
        text = tomlkit.dumps(document)
    return _appended(text, fresh) if fresh else text


def _appended(text: str, fresh: Mapping[str, Mapping[str, Any]]) -> str:
    """Tables at the end of the file, where they disturb nobody; inside `hooks` where that is closed to new tables."""
    newline = "\r\n" if "\r\n" in text else "\n"
    tables = tomlkit.dumps({"hooks": {"state": fresh}}).replace("\n", newline)
    gap = "" if not text else newline if text.endswith("\n") else newline * 2
    try:
        tomllib.loads(text + gap + tables)
    except tomllib.TOMLDecodeError:
        document = tomlkit.parse(text)
        hooks: Any = document["hooks"]
        if "state" not in hooks:
            hooks["state"] = tomlkit.inline_table()
        for key, each in fresh.items():
            hooks["state"][key] = _inline(each)
        return tomlkit.dumps(document)
    return text + gap + tables


def _inline(table: Mapping[str, Any]) -> Any:  # noqa: ANN401 - tomlkit's own
    made = tomlkit.inline_table()
    made.update(table)
    return made


def _pruned(config: dict[str, Any]) -> dict[str, Any]:
    """Without tables that hold nothing, which a file may have or not."""
    hooks = dict(config.get("hooks", {}))
    if not hooks.get("state", True):
        del hooks["state"]
    return {key: each for key, each in config.items() if key != "hooks"} | ({"hooks": hooks} if hooks else {})


def _by_hand(shown: str, add: Mapping[str, str]) -> AuthorError:
    message = "`hooks.state` is written in a way that cannot be changed without touching something else"
    lines = "; ".join(f'[hooks.state."{key}"] trusted_hash = "{digest}"' for key, digest in add.items())
    hint = f"write by hand: {lines}" if add else "remove the tables of our hooks by hand"
    return AuthorError([Problem(code="wrong-value", path=shown, message=message, hint=hint)])
