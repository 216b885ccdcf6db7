"""Asking: what a request says, as the record that a view asks for."""

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Annotated, Any, NamedTuple, TypeVar, get_origin, get_type_hints

import msgspec
from msgspec import Meta, Struct

from keisei.records.error import KeiseiError

T = TypeVar("T", bound=Struct)
Limit = Annotated[int, Meta(ge=1, le=200)]
"""How many lines a list tells at once."""
Cursor = Annotated[str, Meta(min_length=1, max_length=500)]
"""Where a list goes on: the `next` of the answer before."""
Key = Annotated[str, Meta(min_length=1, max_length=200)]
"""An id or a name in an address."""
Reason = Annotated[str, Meta(max_length=500, pattern=r"^[^\x00]*$")]
"""Why somebody orders something; stands in the ledger."""


class Fault(NamedTuple):
    """One thing that was asked for in a way nobody understands."""

    field: str
    message: str


class Unfit(KeiseiError):
    """A request that says something else than what can be asked."""

    def __init__(self, faults: Iterable[Fault]) -> None:
        """Name every field."""
        self.faults = tuple(faults)
        told = "; ".join(f"{each.field}: {each.message}" if each.field else each.message for each in self.faults)
        super().__init__(told, "the OpenAPI document at /api/v1/openapi.json tells what can be asked")


def from_words(kind: type[T], words: Iterable[tuple[str, str]], path: Mapping[str, str], *, strict: bool) -> T:
    """What a query or a form says. Raises Unfit.

    Where it is strict, as for programs, unknown names and words that are said twice are faults; a form's empty fields
    count as not said.
    """
    many, names = _many(kind), set(kind.__struct_encode_fields__) - set(path)
    told: dict[str, Any] = {}
    faults = []
    for name, word in words:
        if name not in names:
            faults.append(Fault(name[:100], f"nothing of this name can be asked; there is {_listed(names)}"))
        elif not word and not strict:
            continue
        elif name in many:
            told.setdefault(name, []).append(word)
        else:
            if name in told:
                faults.append(Fault(name, "this can be said once"))
            told[name] = word
    if strict and faults:
        raise Unfit(faults)
    made = converted(kind, {**told, **path}, strict=False)
    if nothing := [name for name in told if getattr(made, name) is None]:  # the word `null`
        raise Unfit(Fault(name, "leave it out where nothing is meant") for name in nothing)
    return made


def from_json(kind: type[T], body: bytes, path: Mapping[str, str]) -> T:
    """What a JSON body says. Raises Unfit."""
    try:
        data = msgspec.json.decode(body) if body.strip() else {}
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise Unfit([Fault("", "the body is not JSON")]) from None
    if not isinstance(data, dict):
        raise Unfit([Fault("", "the body is not a JSON object")])
    known = set(kind.__struct_encode_fields__) - set(path)
    if unknown := sorted(set(data) - known):
        raise Unfit(
            Fault(name[:100], f"nothing of this name can be asked; there is {_listed(known)}") for name in unknown
        )
    return converted(kind, {**data, **path}, strict=True)


def converted(kind: type[T], data: dict[str, Any], *, strict: bool) -> T:
    """The record. Raises Unfit."""
    try:
        return msgspec.convert(data, kind, strict=strict)
    except msgspec.ValidationError as error:
        message, _, place = str(error).partition(" - at `$")
        raise Unfit([Fault(place.rstrip("`").lstrip("."), message)]) from None
    except (ValueError, RecursionError) as error:
        raise Unfit([Fault("", str(error))]) from None


@cache
def _many(kind: type[Struct]) -> frozenset[str]:
    """Fields that may be said more than once."""
    return frozenset(name for name, hint in get_type_hints(kind).items() if get_origin(hint) is tuple)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in sorted(names)) or "nothing"
