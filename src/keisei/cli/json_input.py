"""JSON that a person hands over: as text, @FILE, or - for stdin. Everything else is one clear error."""

import json
import sys
from pathlib import Path
from typing import Any, NoReturn

from keisei.records.error import OperatorError

LARGEST = 16 * 1024 * 1024
"""Bytes of an input."""


class NotJson(OperatorError):
    """What was given is not JSON."""


def json_of(given: str, most: int = LARGEST) -> Any:  # noqa: ANN401 - any JSON
    """The value. Raises NotJson for what is none, has a key twice, is NaN or infinite, or is larger than `most`."""
    try:
        return json.loads(_text(given, most), object_pairs_hook=_object, parse_constant=_no_number)
    except RecursionError:
        raise NotJson("it is nested too deeply") from None
    except UnicodeDecodeError as error:
        raise NotJson(f"it is not UTF-8: {error.reason} at byte {error.start}") from error
    except ValueError as error:
        raise NotJson(f"it is not JSON: {error}") from error


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key is there twice")
    return found


def _no_number(word: str) -> NoReturn:
    message = f"`{word}` is no number of JSON"
    raise ValueError(message)


def _text(given: str, most: int) -> str:
    if given == "-":
        raw = sys.stdin.buffer.read(most + 1)
    elif given == "@":
        raise NotJson("there is no name of a file behind the @")
    elif given.startswith("@"):
        raw = _opened(Path(given[1:]), most + 1)
    else:
        raw = given.encode("utf-8", "surrogatepass")
    if len(raw) > most:
        raise NotJson(f"it has more than {most} bytes")
    return raw.decode("utf-8")


def _opened(path: Path, most: int) -> bytes:
    check_file(path)
    with path.open("rb") as file:
        return file.read(most)


def check_file(path: Path) -> None:
    """Raises OperatorError for what is not a file: reading a pipe or a device could go on for ever."""
    try:
        if path.is_file():
            return
    except (OSError, ValueError):  # a name that is too long, or has a zero byte
        pass
    raise OperatorError(f"there is no file `{path}`", "name a file that is there")
