"""Validators of authored schemas: compiled once, kept a while, told in short sentences.

A schema comes with everything it refers to inside it; nothing is ever fetched. Schemas and values are hostile: a
pattern is matched in time that grows with the text, and where it looks around, backtracking and text are bounded; a
schema that unfolds without end is refused. What stands at a place marked `writeOnly` is never quoted.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from keisei.contracts.check import EXPECTED, Path, pointer
from keisei.contracts.secret_place import UNFOLDED, hides, secret_values, unfolded
from keisei.contracts.words import kind_of, shown
from keisei.records.problem import printable

if TYPE_CHECKING:
    import jsonschema_rs

__all__ = ["complaints", "secret_values", "unusable"]

KEPT: Final = 512
"""Compiled schemas that are kept; the one asked for longest ago goes first."""
MOST: Final = 5
"""Complaints about one value."""
LONGEST: Final = 200
"""Characters of one complaint."""
MANY: Final = 200_000
"""Parts of the schema times parts of the value: above that only the first difference is looked for."""
BACKTRACKS: Final = 10_000
TEXT: Final = 65_536
"""Characters a value may hold where a pattern looks around."""
PATTERN_BYTES: Final = 10 * 1024 * 1024
"""What one compiled pattern may take, as much as the library allows by itself."""
MASK: Final = "the value"
"""What stands in the library's own sentences instead of a value."""


class Compiled(NamedTuple):
    """A schema, ready."""

    validator: "jsonschema_rs.Draft7Validator"
    """Compiled."""
    looks_around: bool
    """A pattern in it may backtrack."""
    parts: int
    """How many parts it has, its references followed; very many where it refers to itself."""


def complaints(
    key: str,
    schema: dict[str, Any],
    value: Any,  # noqa: ANN401 - any JSON
    clean: Callable[[str], str] = str,
) -> list[str]:
    """How a value differs from a schema, at most five sentences, each with its JSON path; empty means it fits.

    `key` names the schema: it is compiled once for each. `clean` takes secrets out of what is quoted of the value,
    before it is cut. Never raises; a schema that cannot be used is a complaint.
    """
    try:
        return _complaints(_ready(key, schema), schema, value, clean)
    except (ValueError, RecursionError) as error:  # an unusable schema, a key that is not text, half a surrogate pair
        return [_line(f"document: cannot be checked: {clean(str(error))}")]


def _complaints(compiled: Compiled, schema: dict[str, Any], value: object, clean: Callable[[str], str]) -> list[str]:
    if compiled.looks_around and _measured(value).text > TEXT:
        return [f"document: more than {TEXT} characters cannot be checked against a pattern that looks around"]
    if compiled.validator.is_valid(value):
        return []
    is_small = compiled.parts * _measured(value).parts <= MANY
    told: dict[str, None] = {}
    for error in compiled.validator.iter_errors(value) if is_small else _first(compiled.validator, value):
        told.update(dict.fromkeys(map(_line, _sentences(error, schema, value, clean))))
        if len(told) >= MOST:
            break
    return list(told)[:MOST] or ["document: does not fit its schema"]


def _first(validator: "jsonschema_rs.Draft7Validator", value: object) -> Iterator["jsonschema_rs.ValidationError"]:
    import jsonschema_rs  # noqa: PLC0415 - as below

    try:
        validator.validate(value)
    except jsonschema_rs.ValidationError as error:
        yield error


# --- compiling -------------------------------------------------------------------------------------------------------

_kept: OrderedDict[str, Compiled] = OrderedDict()
_lock = threading.Lock()


def _ready(key: str, schema: dict[str, Any]) -> Compiled:
    with _lock:
        if key in _kept:
            _kept.move_to_end(key)
            return _kept[key]
    found = _compiled(schema)
    with _lock:
        _kept[key] = found
        while len(_kept) > KEPT:
            _kept.popitem(last=False)
    return found


def unusable(schema: dict[str, Any]) -> str | None:
    """Why nothing could ever be checked with a schema, in one sentence; None where it can. Never raises."""
    try:
        _compiled(schema)
    except (ValueError, RecursionError) as error:
        return " ".join(str(getattr(error, "message", error)).split())[:LONGEST] or "it is nested too deeply"
    return None


def _compiled(schema: dict[str, Any]) -> Compiled:
    """Raises ValueError for a schema that cannot be used."""
    size = unfolded(schema)
    if size.parts > UNFOLDED:
        message = f"the schema unfolds to more than {UNFOLDED} parts"
        raise ValueError(message)
    found, looks_around = _validator(schema)
    return Compiled(validator=found, looks_around=looks_around, parts=UNFOLDED if size.is_endless else size.parts)


def _validator(schema: dict[str, Any]) -> tuple["jsonschema_rs.Draft7Validator", bool]:
    """Patterns are matched in linear time, unless one of them looks around, which is told."""
    import jsonschema_rs  # noqa: PLC0415 - who only lists atoms validates nothing

    linear = jsonschema_rs.RegexOptions(size_limit=PATTERN_BYTES)
    wider = jsonschema_rs.FancyRegexOptions(backtrack_limit=BACKTRACKS, size_limit=PATTERN_BYTES)
    for options in (linear, wider):
        try:
            found = jsonschema_rs.Draft7Validator(
                schema, validate_formats=True, offline=True, mask=MASK, pattern_options=options
            )
        except (ValueError, jsonschema_rs.ReferencingError) as error:
            failure = error
        else:
            return found, options is wider
    place = pointer(tuple(getattr(failure, "instance_path", ())))
    message = f"the schema cannot be used, at {place}: {getattr(failure, 'message', failure)}"
    raise ValueError(message) from failure


class Measured(NamedTuple):
    """How large a value is."""

    parts: int
    """Values in it, itself included."""
    text: int
    """Characters in it, keys included."""


def _measured(value: object) -> Measured:
    parts, text, waiting = 0, 0, [value]
    while waiting:
        each = waiting.pop()
        parts += 1
        if isinstance(each, str):
            text += len(each)
        elif isinstance(each, dict):
            text += sum(len(key) for key in each if isinstance(key, str))
            waiting.extend(each.values())
        elif isinstance(each, list | tuple):
            waiting.extend(each)
    return Measured(parts, text)


# --- words -----------------------------------------------------------------------------------------------------------


def _line(sentence: str) -> str:
    text = printable(" ".join(sentence.split()))
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


def _sentences(
    error: "jsonschema_rs.ValidationError", schema: dict[str, Any], value: object, clean: Callable[[str], str]
) -> Iterator[str]:
    """One difference in words; a choice is told by the one branch whose type fits."""
    kind, path = type(error.kind).__name__, tuple(error.instance_path)
    if kind in {"AnyOf", "OneOfNotValid"} and (meant := _meant(error)):
        for inner in meant:
            yield from _sentences(inner, schema, value, clean)
        return
    secret = hides(schema, value, path)
    place = clean(_place(path, secret=secret))
    for told in _told(error, kind, clean, secret=secret):
        yield f"{place}: {told}"


def _place(path: Path, *, secret: bool) -> str:
    """Where; below a secret even a key may be one."""
    return pointer(path[:1]) + "…" if secret and len(path) > 1 else pointer(path)


def _told(
    error: "jsonschema_rs.ValidationError", kind: str, clean: Callable[[str], str], *, secret: bool
) -> Iterator[str]:
    facts = error.kind.as_dict()
    if kind == "Required":
        yield f"missing key {shown(facts['property'])}"
    elif kind == "AdditionalProperties":
        found = [f"unknown key {shown(clean(key))}" for key in facts["unexpected"][:MOST]]
        yield from ["unknown keys"] if secret else found
    elif kind == "FalseSchema":
        yield "nothing may stand here"
    elif kind == "Type":
        yield f"must be {EXPECTED[kind](facts)}, not {kind_of(error.instance)}"
    elif kind in EXPECTED:
        yield f"must be {EXPECTED[kind](facts)}{'' if secret else _got(error.instance, clean)}"
    else:
        yield "does not fit its schema" if secret else clean(error.message.replace(f"{MASK} ", "", 1))


def _got(value: object, clean: Callable[[str], str]) -> str:
    """What stands there instead; a list or an object, which may hold a secret, is not quoted."""
    if isinstance(value, dict | list):
        return ""
    return f", not {shown(value if value is None or isinstance(value, bool) else clean(str(value)))}"


def _meant(error: "jsonschema_rs.ValidationError") -> list["jsonschema_rs.ValidationError"]:
    """The branch of a choice whose type fits the value; empty where that is not exactly one."""
    here = list(error.instance_path)
    fitting = [branch for branch in error.kind.as_dict()["context"] if branch and not _is_other_type(branch, here)]
    return list(fitting[0]) if len(fitting) == 1 else []


def _is_other_type(branch: Any, here: list[str | int]) -> bool:  # noqa: ANN401 - errors of one branch
    return any(list(inner.instance_path) == here and type(inner.kind).__name__ == "Type" for inner in branch)
