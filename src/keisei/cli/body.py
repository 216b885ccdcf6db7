"""What a person hands over for a ledger row: a JSON object, a file's hash. Everything else is one clear error."""

import hashlib
import re
from pathlib import Path
from typing import Any, NoReturn

from keisei.cli.json_input import NotJson, check_file, json_of
from keisei.records.error import OperatorError

LARGE = "a row holds facts; keep files elsewhere and their sha256 here"


def body_of(given: str) -> dict[str, Any]:
    """The object that was given. Raises OperatorError for anything else."""
    from keisei.rules.ledger import LARGEST_CONTENT

    try:
        found = json_of(given, LARGEST_CONTENT)
    except NotJson as error:
        _refuse(error.message, LARGE if "bytes" in error.message else None)
    if not isinstance(found, dict):
        _refuse("it is not an object", "begin it with { and end it with }")
    return found


def digest_of(path: Path) -> str:
    """The sha256 of a file. Raises OperatorError for what is not one."""
    check_file(path)
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def checked_digest(digest: str) -> str:
    """The same text. Raises OperatorError for what is not a sha256."""
    if re.fullmatch("[0-9a-f]{64}", digest) is None:
        raise OperatorError(f"`{digest}` is not a sha256", "give 64 hexadecimal digits, in small letters")
    return digest


def _refuse(why: str, hint: str | None = None) -> NoReturn:
    raise OperatorError(f"the body cannot be used: {why}", hint or "give a JSON object, as in --body '{\"a\": 1}'")
