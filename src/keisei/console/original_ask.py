"""What a request to one of the original's routes says: words of the query, and bodies."""

import re
from typing import Any, Final, TypeVar

import msgspec
from msgspec import Struct
from starlette.datastructures import QueryParams

from keisei.console.asking import converted
from keisei.records.error import OperatorError

T = TypeVar("T", bound=Struct)
WHOLE: Final = re.compile(r"[+-]?[0-9]{1,18}", re.ASCII)
MOST: Final = 200
"""Lines that a list tells at once, as in the original."""


def word(query: QueryParams, name: str) -> str:
    """What the query says under a name: the first of several, and nothing where it is not said."""
    found = query.getlist(name)
    return found[0] if found else ""


def number(query: QueryParams, name: str, default: int) -> int:
    """A whole number of the query. Raises OperatorError."""
    said = word(query, name).strip()
    if not said:
        return default
    if WHOLE.fullmatch(said) is None:
        raise OperatorError(f"{name} must be a whole number, not `{said[:100]}`")
    return int(said)


def limit(query: QueryParams, default: int) -> int:
    """How many lines are asked for; what is out of reach becomes the nearest that is not. Raises OperatorError."""
    return max(1, min(number(query, "limit", default), MOST))


def read_body(data: bytes, *, may_be_empty: bool = False) -> dict[str, Any]:
    """The object of a body, of whatever kind it says it is. Raises OperatorError."""
    if may_be_empty and not data.strip():
        return {}
    try:
        found = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise OperatorError("valid JSON body is required") from None
    if not isinstance(found, dict):
        raise OperatorError("the body must be a JSON object")
    return found


def asked(kind: type[T], body: dict[str, Any]) -> T:
    """The fields of a body that mean something here. Raises Unfit for one of another type; null is not said."""
    known = kind.__struct_encode_fields__
    said = {name: value for name, value in body.items() if name in known and value is not None}
    return converted(kind, said, strict=True)
