"""The form every record shares: one class to inherit, the types that recur, the default that is written out."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, ClassVar, TypeVar

from msgspec import Meta, Struct, field

T = TypeVar("T")


class Record(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One published type.

    A field with the default None is optional and left out of the JSON when it is None; a field typed `X | None` with
    no default is always present and may be null. What the type system cannot say is said twice: in `__post_init__`,
    which refuses to build a record that breaks it, and in `INVARIANTS`, which puts the same rule into the schema.
    """

    INVARIANTS: ClassVar[tuple[Mapping[str, Any], ...]] = ()


def default(value: T) -> T:
    """A default that stays visible: unlike a plain default it is written out even when nobody changed it."""
    return field(default_factory=lambda: value)


def when(conditions: Mapping[str, Any], then: Mapping[str, Any]) -> dict[str, Any]:
    """JSON Schema for: where every property named in `conditions` fits its schema, `then` must hold too."""
    return {"if": {"properties": dict(conditions), "required": list(conditions)}, "then": dict(then)}


Timestamp = Annotated[datetime, Meta(tz=True)]
JsonObject = dict[str, Any]
Text = Annotated[str, Meta(min_length=1)]
Line = Annotated[str, Meta(min_length=1, max_length=200, pattern=r"^[^\r\n]*$")]
Sha256 = Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
GitObject = Annotated[str, Meta(pattern="^([0-9a-f]{40}|[0-9a-f]{64})$")]
RelativePath = Annotated[
    str, Meta(min_length=1, pattern=r"^(?!/)(?!(?:.*/)?\.\.(?:/|$))[^\x00-\x1f\x7f\u2028\u2029]+$")
]
Slug = Annotated[str, Meta(pattern="^[a-z][a-z0-9-]{0,63}$")]
CapabilityName = Annotated[str, Meta(pattern="^[a-z][a-z0-9-]{0,63}::[a-z][a-z0-9-]{0,63}$")]
AtomId = Annotated[str, Meta(pattern="^[a-z][a-z0-9]*(-[a-z0-9]+)*::[a-z][a-z0-9]*(-[a-z0-9]+)*$", max_length=128)]
EnvName = Annotated[str, Meta(pattern="^[A-Za-z_][A-Za-z0-9_]*$")]
Natural = Annotated[int, Meta(ge=0, le=9007199254740991)]
Positive = Annotated[int, Meta(ge=1, le=9007199254740991)]
Facets = dict[str, str | tuple[str, ...]]


class Lineage(Record, frozen=True, kw_only=True):
    """Where an authored file comes from."""

    parents: tuple[str, ...] = ()
    """Names this one was made from."""
    creator: str | None = None
    """Who made it."""
    created: str | None = None
    """When, as a date or an ISO 8601 time."""
    fork_from: str | None = None
    """The name it was forked from by `keisei capability fork`."""
