"""Merging: our hooks into the text of a settings file and out of it again. Pure; every other byte stays."""

import json
from collections.abc import Callable, Collection, Mapping
from typing import Any

from keisei.adapters.hook_command import is_ours
from keisei.hooks.json_text import Node, TooDeep, added, cut, parse, replaced, style_of
from keisei.records.error import AuthorError
from keisei.records.problem import Problem

Entries = Mapping[str, Mapping[str, Any]]
"""The group of hooks each event gets."""
Path = tuple[str, ...]
Defects = Callable[[Mapping[str, Any]], list[str]]


def checked(text: str, shown: str, defects: Defects) -> Node:
    """The settings as nodes. Raises AuthorError for a file that the harness could not read or would ignore."""
    node = read(text, shown)
    twice = [*_twice(node), *(f"hooks.{key}" for key in _twice(node.member("hooks")))]
    problems = [_problem("duplicate-key", shown, f"`{key}` is written twice") for key in twice]
    hint = "the harness would ignore the whole file; correct this first"
    problems += [_problem("wrong-value", shown, each, hint) for each in defects(node.value)]
    if problems:
        raise AuthorError(problems)
    return node


def read(text: str, shown: str) -> Node:
    """The file as nodes. Raises AuthorError for what is not a JSON object."""
    try:
        node = parse(text)
    except json.JSONDecodeError as error:
        hint = "settings are plain JSON: no comments, no trailing commas"
        problem = Problem(
            code="syntax", path=shown, line=error.lineno, column=error.colno, message=error.msg, hint=hint
        )
        raise AuthorError([problem]) from error
    except TooDeep as error:
        raise AuthorError([_problem("too-deep", shown, "nested more than 64 levels")]) from error
    if not isinstance(node.value, dict):
        raise AuthorError([_problem("wrong-type", shown, "the file is not a JSON object")])
    return node


def _problem(code: str, shown: str, message: str, hint: str | None = None) -> Problem:
    return Problem(code=code, path=shown, message=message, hint=hint)


def _twice(node: Node | None) -> list[str]:
    keys = [part.key or "" for part in node.parts if part.key is not None] if node else []
    return sorted({key for key in keys if keys.count(key) > 1})


def merged(text: str | None, entries: Entries) -> str:
    """The text with our hooks in it, whatever of ours was there before. The text has been checked."""
    if text is None or not text.strip():
        return (
            json.dumps({"hooks": {event: [group] for event, group in entries.items()}}, indent=2, ensure_ascii=False)
            + "\n"
        )
    for event, group in entries.items():
        text = _with_group(text, event, group)
    return text


def _with_group(text: str, event: str, group: Mapping[str, Any]) -> str:
    root = parse(text)
    style = style_of(text, root)
    hooks = root.member("hooks")
    if hooks is None:
        return added(text, root, "hooks", {event: [group]}, style)
    groups = hooks.member(event)
    if groups is None:
        return added(text, hooks, event, [group], style)
    ours = [part.node for part in groups.parts if any(map(_is_our_hook, _hooks(part.node.value)))]
    if len(ours) == 1 and len(_hooks(ours[0].value)) == 1:
        return text if ours[0].value == group else replaced(text, ours[0], group, style)
    for _ in ours:
        text = _without_ours(text, event)
    groups = _groups(text, event)
    return added(text, groups, None, group, style) if groups else text


def without(text: str, keep: Collection[Path] = ()) -> str:
    """The text without our hooks and without the tables they leave empty; those in `keep` were there before us."""
    hooks = parse(text).member("hooks")
    touched = []
    for part in hooks.parts if hooks else ():
        event = str(part.key)
        bare = _without_ours(text, event)
        if bare != text:
            touched.append(event)
        text = bare
    for event in touched:
        text = _without_empty(text, ("hooks", event), keep)
    return _without_empty(text, ("hooks",), keep) if touched else text


def containers(text: str | None) -> set[Path]:
    """The tables of a file that hold hooks, be they empty."""
    if text is None or not text.strip():
        return set()
    hooks = parse(text).member("hooks")
    return {("hooks",), *(("hooks", str(part.key)) for part in hooks.parts)} if hooks else set()


def _groups(text: str, event: str) -> Node | None:
    hooks = parse(text).member("hooks")
    return hooks.member(event) if hooks else None


def _hooks(group: object) -> list[Any]:
    hooks = group.get("hooks") if isinstance(group, dict) else None
    return hooks if isinstance(hooks, list) else []


def _is_our_hook(hook: object) -> bool:
    return isinstance(hook, dict) and is_ours(hook.get("command"))


def _without_ours(text: str, event: str) -> str:
    while (shorter := _without_one(text, event)) is not None:
        text = shorter
    return text


def _without_one(text: str, event: str) -> str | None:
    groups = _groups(text, event)
    for number, part in enumerate(groups.parts if groups else ()):
        hooks = part.node.member("hooks")
        for index, hook in enumerate(hooks.parts if hooks else ()):
            if groups and hooks and _is_our_hook(hook.node.value):
                return cut(text, groups, number) if len(hooks.parts) == 1 else cut(text, hooks, index)
    return None


def _without_empty(text: str, path: Path, keep: Collection[Path]) -> str:
    """Cut the table at the path if nothing is left in it."""
    parent: Node | None = parse(text)
    for key in path[:-1]:
        parent = parent.member(key) if parent else None
    node = parent.member(path[-1]) if parent else None
    if parent is None or node is None or node.parts or path in keep:
        return text
    return cut(text, parent, next(index for index, part in enumerate(parent.parts) if part.node is node))
