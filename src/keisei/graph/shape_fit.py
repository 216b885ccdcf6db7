"""Whether what one shape says is proved to be enough for another, or for what that requires.

Shapes that only speak of single fields are compared field by field: what fields say is alike all over, so that nearly
nothing is left to be proved. Others are compared as a whole.
"""

from collections.abc import Iterable
from functools import lru_cache
from itertools import islice
from typing import Any, Final

import msgspec

from keisei.contracts.containment import fits, refusing
from keisei.contracts.witness import ordinary
from keisei.graph.shape import ANY, Shape

SAMPLES: Final = 3
"""Documents of a schema that are held against another before anything is proved, which takes a hundred times longer."""
REMEMBERED: Final = 4096
ANYTHING: Final = (ANY, "{}")
NOTHING: Final = "false"
NUMBERS: Final = frozenset(("integer", "number"))


def is_whole(one: Shape, other: Shape) -> bool:
    """Whether every document of the one is one of the other."""
    if not other.always <= one.always:
        return False
    if one.parts is None or other.parts is None:
        is_strange = other.others == NOTHING and not one.always <= other.fields
        return not is_strange and _is_within(one.text, other.text)
    fields = one.parts.keys() | other.parts.keys()
    return _is_within(one.others, other.others) and _is_each(one, other, fields)


def is_enough(one: Shape, other: Shape) -> bool:
    """Whether every document of the one has all that the other requires, each as it is required.

    That is not known where the other says more than what single fields are like.
    """
    if other.parts is None or not other.always <= one.always:
        return False
    if one.parts is None:
        return _is_within(one.text, _required(other.text))
    return _is_each(one, other, other.always)


def _is_each(one: Shape, other: Shape, fields: Iterable[str]) -> bool:
    return all(_is_within(one.part(field), other.part(field)) for field in fields)


def _is_within(one: str, other: str) -> bool:
    """Whether every value of a schema is one of another."""
    return one in (other, NOTHING) or other in ANYTHING or _is_proved(one, other)


@lru_cache(maxsize=REMEMBERED)
def _is_proved(one: str, other: str) -> bool:
    first, second = msgspec.json.decode(one), msgspec.json.decode(other)
    if other == NOTHING or _are_apart(_kind(first), _kind(second)):
        return False
    refusal = refusing(second)
    if any(refusal(value) is not None for value in _samples(one)):
        return False
    return fits(first, second).answer == "yes"


def _kind(schema: Any) -> str | None:  # noqa: ANN401 - any JSON
    """The one type of a schema's values; None where it is not said plainly. Beside a reference nothing counts."""
    kind = schema.get("type") if isinstance(schema, dict) and "$ref" not in schema else None
    return kind if isinstance(kind, str) else None


def _are_apart(one: str | None, other: str | None) -> bool:
    """Whether no value is of both types."""
    return one is not None and other is not None and one != other and not NUMBERS.issuperset((one, other))


@lru_cache(maxsize=REMEMBERED)
def _samples(text: str) -> list[Any]:
    """A few values of a schema."""
    schema = msgspec.json.decode(text)
    refusal = refusing(schema)
    return [each for each in islice(ordinary(schema), SAMPLES) if refusal(each) is None]


@lru_cache(maxsize=REMEMBERED)
def _required(text: str) -> str:
    """A schema of single fields, reduced to those that it requires."""
    schema = msgspec.json.decode(text)
    named, others = schema.get("properties", {}), schema.get("additionalProperties", True)
    reduced = {field: named.get(field, others) for field in schema["required"]}
    kept = {word: schema[word] for word in ("type", "required", "definitions") if word in schema}
    return msgspec.json.encode(kept | {"properties": reduced}, order="deterministic").decode()
