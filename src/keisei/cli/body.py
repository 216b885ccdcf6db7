"""What a person hands over for a ledger row: a JSON object, a file's hash. Everything else is one clear error."""

import hashlib
import json
import re
import sys
from pathlib import Path
from typing import Any, NoReturn

from keisei.records.error import OperatorError


def body_of(given: str) -> dict[str, Any]:
    """The object that was given. Raises OperatorError for anything else."""
    try:
        found = json.loads(_text(given), object_pairs_hook=_object)
    except RecursionError:
        _refuse("it is nested too deeply")
    except ValueError as error:
        _refuse(f"it is not JSON: {error}")
    if not isinstance(found, dict):
        _refuse("it is not an object", "begin it with { and end it with }")
    return found


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key is there twice")
    return found


def _text(given: str) -> str:
    """The text itself, the file's or stdin's; never more than a row could hold."""
    from keisei.rules.ledger import LARGEST_CONTENT

    if given == "-":
        raw = sys.stdin.buffer.read(LARGEST_CONTENT + 1)
    elif given.startswith("@"):
        raw = _opened(Path(given[1:]), LARGEST_CONTENT + 1)
    else:
        raw = given.encode("utf-8", "surrogatepass")
    if len(raw) > LARGEST_CONTENT:
        _refuse(
            f"it has more than {LARGEST_CONTENT} bytes", "a row holds facts; keep files elsewhere and their sha256 here"
        )
    return raw.decode("utf-8")


def _opened(path: Path, most: int) -> bytes:
    _check_file(path)
    with path.open("rb") as file:
        return file.read(most)


def digest_of(path: Path) -> str:
    """The sha256 of a file. Raises OperatorError for what is not one."""
    _check_file(path)
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _check_file(path: Path) -> None:
    """Raises OperatorError for what is not a file: reading a pipe or a device could go on for ever."""
    try:
        if path.is_file():
            return
    except (OSError, ValueError):  # a name that is too long, or has a zero byte
        pass
    raise OperatorError(f"there is no file `{path}`", "name a file that is there")


def checked_digest(digest: str) -> str:
    """The same text. Raises OperatorError for what is not a sha256."""
    if re.fullmatch("[0-9a-f]{64}", digest) is None:
        raise OperatorError(f"`{digest}` is not a sha256", "give 64 hexadecimal digits, in small letters")
    return digest


def _refuse(why: str, hint: str | None = None) -> NoReturn:
    raise OperatorError(f"the body cannot be used: {why}", hint or "give a JSON object, as in --body '{\"a\": 1}'")
