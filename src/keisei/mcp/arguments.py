"""Arguments of the lean tools, as they come from outside."""

from typing import Annotated, Any, Final, TypeVar, get_args

import msgspec
from msgspec import Meta, Struct

from keisei.records.form import AtomId

LONGEST: Final[int] = get_args(AtomId)[1].max_length
"""Characters of an atom's id."""
AtomName = Annotated[str, Meta(max_length=LONGEST)]
F = TypeVar("F", bound=Struct)


class Query(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What `atoms_search` is asked."""

    query: Annotated[str, Meta(max_length=512)]
    """Words."""
    limit: Annotated[int, Meta(ge=1, le=50)] = 10
    """How many at most."""


class Named(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What `atoms_describe` is asked."""

    atom: AtomName
    """Which atom."""


class Meant(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What `atoms_read` and `atoms_run` are asked."""

    atom: AtomName
    """Which atom."""
    input: Any = msgspec.field(default_factory=dict)
    """Its input; nobody has looked at it."""


class Piped(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What `pipe_plan` and `pipe_run` are asked."""

    pipe: str | dict[str, Any]
    """The pipe, as TOML text or as data."""
    input: Any = None
    """What `$input` is."""


class Misfit(Exception):
    """A call that means nothing: its arguments do not fit, or what it names is not there."""

    def __init__(self, why: str, kind: str = "schema-in") -> None:
        """Why, in one sentence, and the kind of error."""
        super().__init__(why)
        self.kind = kind


def converted(arguments: Any, form: type[F]) -> F:  # noqa: ANN401 - any JSON
    """Arguments in their form. Raises Misfit in one sentence."""
    try:
        return msgspec.convert(arguments, form)
    except (msgspec.ValidationError, RecursionError) as error:
        raise Misfit(f"the arguments do not fit: {error}") from None
