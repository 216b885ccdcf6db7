"""Folding: operators, methods and functions of constants, computed with limits so that no input costs much."""

import ast
import lzma
import operator
import posixpath
import re
import zlib
from collections.abc import Callable

from keisei.records.effect import UNKNOWN
from keisei.rules.shell.code.python.value import LONG, Blank, PathValue, known, sequence, shown, text
from keisei.rules.shell.code.result import MOST, QUOTED, names

_BIG = 1 << 64
_FAULTS = (TypeError, ValueError, LookupError, ArithmeticError, AttributeError, EOFError, MemoryError, zlib.error)
_FAULTS_TOO = (*_FAULTS, lzma.LZMAError, OSError, RecursionError)
_SIGNS: dict[type[ast.operator], Callable[[object, object], object]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.BitXor: operator.xor,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.RShift: operator.rshift,
}
_TEXT_METHODS = frozenset(
    names(
        "capitalize casefold count decode encode endswith find hex index isalpha isdigit items keys lower lstrip "
        "partition removeprefix removesuffix rfind rindex rpartition rsplit rstrip split splitlines startswith strip "
        "swapcase title upper values copy"
    )
)
_PADDING = re.compile(r"\d{4,}|\*|[{][^}]*[{]")
WIDEST = 1 << 20
"""Nothing longer is made on the way."""


def binary(sign: ast.operator, left: object, right: object) -> object:
    """What an operator makes of two values."""
    if isinstance(left, PathValue) or (isinstance(right, PathValue) and isinstance(sign, ast.Div)):
        return _slash(text(left), text(right)) if isinstance(sign, ast.Div) else Blank.ANY
    if isinstance(sign, ast.Mod) and isinstance(left, str | bytes):
        return _percent(text(left), right)
    if isinstance(sign, ast.Add) and (isinstance(left, str | bytes) or isinstance(right, str | bytes)):
        return _added(left, right)
    if isinstance(sign, ast.Add) and (isinstance(left, list | tuple) or isinstance(right, list | tuple)):
        return [*_parts(left), *_parts(right)][:LONG]
    if not (known(left) and known(right)) or _too_big(sign, left, right):
        return Blank.NUMBER if Blank.NUMBER in (left, right) and not isinstance(left, str) else Blank.ANY
    return safely(_SIGNS.get(type(sign), _unknown), left, right)


def _unknown(_left: object, _right: object) -> object:
    return Blank.ANY


def _added(left: object, right: object) -> object:
    if isinstance(left, bytes) and isinstance(right, bytes):
        return left + right if len(left) + len(right) < MOST else Blank.ANY
    whole = text(left) + text(right)
    return whole if len(whole) < MOST else Blank.ANY


def _parts(value: object) -> list[object]:
    return list(value) if isinstance(value, list | tuple) else [Blank.ANY]


def _too_big(sign: ast.operator, left: object, right: object) -> bool:
    if isinstance(sign, ast.Pow | ast.LShift):
        return True
    if isinstance(sign, ast.Mult) and any(
        isinstance(part, list | dict) for one in (left, right) for part in _inside(one)
    ):
        return True
    sizes = [len(side) if isinstance(side, str | bytes | list | tuple) else side for side in (left, right)]
    if isinstance(sign, ast.Mult) and any(isinstance(side, str | bytes | list | tuple) for side in (left, right)):
        whole = [size for size in sizes if isinstance(size, int)]
        return len(whole) < len(sizes) or abs(whole[0] * whole[1]) > MOST
    return any(isinstance(size, int | float) and abs(size) > _BIG for size in sizes)


def _inside(value: object) -> list[object]:
    return list(value) if isinstance(value, list | tuple) else []


def _slash(left: str, right: str) -> PathValue:
    return PathValue(posixpath.join(left, right))


def _percent(form: str, values: object) -> object:
    parts: object = values
    if isinstance(values, tuple | list):
        parts = tuple(part if isinstance(part, int | float) else shown(part) for part in values)
    elif isinstance(values, dict):
        parts = {str(key): part if isinstance(part, int | float) else shown(part) for key, part in values.items()}
    elif not isinstance(values, int | float):
        parts = (shown(values),)
    folded = Blank.ANY if _PADDING.search(form) or _long(form, parts) else safely(operator.mod, form, parts)
    return folded if isinstance(folded, str) else _loosened(form, r"%[-#0-9. ]*[a-zA-Z]|%\([^)]*\)[a-z]")


def _long(form: str, parts: object) -> bool:
    """Whether filling a form may make something huge."""
    values = parts.values() if isinstance(parts, dict) else parts if isinstance(parts, tuple | list) else ()
    longest = max((len(value) for value in values if isinstance(value, str)), default=0)
    return longest * (form.count("%") + form.count("{")) > WIDEST


def _loosened(form: str, holes: str) -> str:
    return re.sub(holes, UNKNOWN, form)


def safely(function: Callable[..., object], *arguments: object, **named: object) -> object:
    """What a function gives; unknown where it fails or gives too much."""
    try:
        made = function(*arguments, **named)
    except _FAULTS_TOO:
        return Blank.ANY
    if isinstance(made, list | tuple) and len(made) > LONG:
        return Blank.ANY
    return Blank.ANY if isinstance(made, str | bytes) and len(made) > MOST else made


def method(owner: object, name: str, arguments: list[object], named: dict[str, object]) -> object:
    """What a method of a constant gives; `format` and `join` also with unknown parts."""
    if name in {"join", "format", "replace"} and isinstance(owner, str | bytes):
        return {"join": _join, "format": _format, "replace": _replace}[name](owner, arguments, named)
    if isinstance(owner, dict) and name in {"get", "setdefault"} and arguments and known(arguments[0]):
        return owner.get(arguments[0], arguments[1] if len(arguments) > 1 else None)
    whole = known(owner) or (isinstance(owner, str | dict) and name in _PARTIAL)
    if name in _TEXT_METHODS and whole and known(arguments) and known(named):
        made = safely(getattr(owner, name, None) or _unknown, *arguments, **named)
        return list(made) if isinstance(made, type({}.items()) | type({}.keys()) | type({}.values())) else made
    if isinstance(owner, str | bytes) and name in {"encode", "decode"}:
        return owner
    return Blank.ANY


_PARTIAL = frozenset({"split", "strip", "rstrip", "lstrip", "lower", "upper", "splitlines", "items", "values", "keys"})


def _join(owner: object, arguments: list[object], _named: dict[str, object]) -> object:
    parts = sequence(arguments[0]) if arguments else None
    if parts is None:
        return UNKNOWN
    if sum(len(text(part)) for part in parts) + len(parts) * len(text(owner)) > MOST:
        return Blank.ANY
    whole = text(owner).join(text(part) for part in parts)
    return whole.encode() if isinstance(owner, bytes) and UNKNOWN not in whole else whole


def _format(owner: object, arguments: list[object], named: dict[str, object]) -> object:
    form = text(owner)
    plain = [part if isinstance(part, int | float) else shown(part) for part in arguments]
    words = {key: part if isinstance(part, int | float) else shown(part) for key, part in named.items()}
    odd = _PADDING.search(form) or re.search(r"\{[^}]*\.", form) or _long(form, plain) or _long(form, words)
    folded = Blank.ANY if odd else safely(form.format, *plain, **words)
    return folded if isinstance(folded, str) else _loosened(form, r"\{[^{}]*\}")


def _replace(owner: object, arguments: list[object], _named: dict[str, object]) -> object:
    two = 2
    if len(arguments) < two or not known(arguments) or not isinstance(arguments[0], str | bytes):
        return UNKNOWN
    old, new = arguments[0], arguments[1]
    if not isinstance(owner, type(old)) or not isinstance(new, type(old)):
        return UNKNOWN
    count = owner.count(old)  # type: ignore[arg-type]
    return Blank.ANY if count * len(new) > MOST else safely(owner.replace, old, new)


def subscript(owner: object, index: object) -> object:
    """What `owner[index]` is."""
    if isinstance(owner, dict):
        if not known(index) or isinstance(index, list | dict | set | slice):
            return Blank.ANY
        return owner.get(index, Blank.ANY)
    if isinstance(owner, str) and (UNKNOWN in owner or QUOTED in owner):
        return Blank.ANY
    if isinstance(owner, str | bytes | list | tuple) and isinstance(index, int | slice):
        return safely(operator.getitem, owner, index)
    return Blank.ANY
