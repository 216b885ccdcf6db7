"""Intents as people hand them over: a file, standard input, or an argument; JSON, a list, or one a line."""

import json
import os
import stat
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from keisei.cli.surroundings import open_catalog, say
from keisei.records.error import KeiseiError, OperatorError

if TYPE_CHECKING:
    from keisei.cli.desk import Desk
    from keisei.records.move import NewTask

LARGEST = 64 * 1024 * 1024
"""Bytes that are read at once."""
DEEPEST = 100
"""Levels of lists and objects. A payload may have fewer; this keeps whoever walks through it from falling over."""
MOST_DIGITS = 1000
"""Of one number; Python refuses to read much longer ones."""


def read_text(file: str) -> str:
    """A file, or standard input where it is called `-`. Raises OperatorError for what is not UTF-8, or too large."""
    raw = sys.stdin.buffer.read(LARGEST + 1) if file == "-" else _read_file(file)
    name = "standard input" if file == "-" else f"`{file}`"
    if len(raw) > LARGEST:
        raise OperatorError(f"{name} is larger than {LARGEST} bytes", "queue it in parts")
    if not raw.strip():
        raise OperatorError(f"{name} is empty", "give an intent, a list, or one intent a line")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise OperatorError(f"{name} is not UTF-8: byte {error.start} cannot be read", "save it as UTF-8") from error


def _read_file(file: str) -> bytes:
    """A regular file: a pipe nobody writes to, or a device, would be read for ever."""
    try:
        handle = os.open(file, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
    except (OSError, ValueError) as error:
        why = (error.strerror or "").lower() if isinstance(error, OSError) else "it has a zero byte"
        raise OperatorError(f"`{file}` cannot be read: {why}", "name a file that is there, or - for stdin") from error
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OperatorError(f"`{file}` is not a file", "name a file that is there, or - for stdin")
    with os.fdopen(handle, "rb") as opened:
        return opened.read(LARGEST + 1)


def parsed_intents(text: str) -> list[object]:
    """One object, a list, or one object a line. Raises OperatorError for what is not JSON."""
    try:
        data = _parsed(text)
    except ValueError as whole:
        lines = [line for line in text.split("\n") if line.strip()]
        if len(lines) < 2:  # noqa: PLR2004 - one line is not lines
            raise OperatorError(f"this is not JSON: {whole}", "give an intent, a list, or one intent a line") from whole
        return [_line(number, line, whole) for number, line in enumerate(lines, start=1)]
    return data if isinstance(data, list) else [data]


def _line(number: int, line: str, whole: ValueError) -> object:
    """One intent. Where the first line is none, it was never meant to be one a line, and the whole is told of."""
    try:
        return _parsed(line)
    except ValueError as error:
        if number == 1:
            raise OperatorError(f"this is not JSON: {whole}", "give an intent, a list, or one intent a line") from error
        raise OperatorError(f"line {number} is not JSON: {error}", "give one intent a line") from error


def _parsed(text: str) -> Any:  # noqa: ANN401 - JSON
    try:
        data = json.loads(text, object_pairs_hook=_once, parse_constant=_no_constant, parse_int=_whole)
    except json.JSONDecodeError as error:
        raise ValueError(f"{error.msg.lower()} (line {error.lineno}, column {error.colno})") from error
    except RecursionError as error:
        raise ValueError(f"it is nested more than {DEEPEST} levels") from error
    if _is_deep(data):
        raise ValueError(f"it is nested more than {DEEPEST} levels")
    return data


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found: dict[str, object] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"the key `{key}` stands twice in one object")
        found[key] = value
    return found


def _no_constant(name: str) -> object:
    raise ValueError(f"{name} is no number of JSON")


def _whole(digits: str) -> int:
    if len(digits) > MOST_DIGITS:
        raise ValueError(f"a number has {len(digits)} digits")
    return int(digits)


def _is_deep(value: object) -> bool:
    """Whether it is nested too deeply; walks level by level, so that depth costs no stack."""
    level = [value]
    for _ in range(DEEPEST + 1):
        inner = (each.values() if isinstance(each, dict) else each for each in level if isinstance(each, dict | list))
        level = [item for items in inner for item in items]
    return bool(level)


def payload_of(text: str | None) -> object:
    """A payload as JSON, or from a file after `@`. Raises OperatorError."""
    if text is None:
        return {}
    try:
        return _parsed(read_text(text[1:]) if text.startswith("@") else text)
    except ValueError as error:
        hint = 'give an object, as in --payload \'{"args": ["-c", "true"]}\', or @FILE'
        raise OperatorError(f"the payload is not JSON: {error}", hint) from error


def accepted(opened: "Desk", intents: list[object], kit_root: Path | None) -> "list[NewTask]":
    """Every task, or the first sentence that says why not, with its number where there are several."""
    from keisei.engine.intake import Origin, accept, read_intent
    from keisei.records.id import TaskId
    from keisei.wiring.account import actor
    from keisei.wiring.fresh import new_id
    from keisei.wiring.registry import CatalogRegistry, defaults_of

    registry, defaults, now = CatalogRegistry(open_catalog(kit_root)), defaults_of(opened.home), opened.store.now()
    tasks, origin = [], Origin(ordered_by=actor())
    for number, data in enumerate(intents, start=1):
        try:
            intent = read_intent(data, say)
            task_id = TaskId(new_id())
            tasks.append(accept(intent, registry, defaults, origin=origin, task_id=task_id, now=now))
        except KeiseiError as error:
            if len(intents) > 1:
                raise OperatorError(f"intent {number} of {len(intents)}: {error.message}", error.hint) from error
            raise
    return tasks
