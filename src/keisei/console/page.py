"""Pages and orders: one function each, told as a page for people and as JSON for programs."""

from collections.abc import Callable
from typing import Any, Final, Literal, NamedTuple, TypeVar, get_type_hints

from msgspec import Struct

from keisei.console.premises import Premises
from keisei.console.visitor import Visitor
from keisei.records.error import OperatorError

API: Final = "/api/v1"
A = TypeVar("A", bound=Struct)
S = TypeVar("S", bound=Struct)
Role = Literal["operator", "viewer"]


class Missing(OperatorError):
    """What was asked for is not there."""


class Page(NamedTuple):
    """A page and its JSON twin: one view, two forms."""

    path: str
    """Where it is; `{name}` is a field of what is asked."""
    template: str
    """The page for people."""
    view: Callable[[Premises, Any], Struct]
    """What there is to tell. Runs in a thread of its own; raises KeiseiError."""
    asks: type[Struct]
    """What may be asked: path and query parameters by name."""
    shows: type[Struct]
    """What is told."""
    summary: str
    """What it answers, in a line."""
    room: str
    """The entry of the navigation it belongs to."""
    leads: Callable[[Any], str | None] | None = None
    """Where a browser is sent instead, by what there is to tell; nowhere for None."""

    @property
    def twin(self) -> str:
        """Where the same is told as JSON."""
        return API + ("/home" if self.path == "/" else self.path)


class Order(NamedTuple):
    """Something that is done when somebody asks for it."""

    path: str
    """Where it is asked for, by POST; `{name}` is a field of the body."""
    act: Callable[[Premises, Any, Visitor], Struct]
    """Does it and tells what came of it. Runs in a thread of its own; raises KeiseiError."""
    then: Callable[[Any], str]
    """Where a browser goes on, by what came of it."""
    asks: type[Struct]
    """What is asked: path parameters and the body by name."""
    shows: type[Struct]
    """What came of it."""
    summary: str
    """What it does, in a line."""
    status: int
    """How success is told."""
    needs: Role
    """Who may ask."""
    form: Callable[[list[tuple[str, str]]], dict[str, Any]] | None = None
    """What the words of a form say, where their names are not those of the body."""

    @property
    def twin(self) -> str:
        """Where programs ask for it."""
        return API + self.path


def page(
    path: str,
    template: str,
    view: Callable[[Premises, A], S],
    *,
    room: str = "",
    leads: Callable[[S], str | None] | None = None,
) -> Page:
    """A page; what it asks and tells is read off its view."""
    asks, shows = _types(view)
    place = room or path.strip("/").partition("/")[0] or "home"
    return Page(path, template, view, asks, shows, _summary(view), place, leads)


def order(  # noqa: PLR0913 - each says one thing
    path: str,
    act: Callable[[Premises, A, Visitor], S],
    then: Callable[[S], str],
    *,
    status: int = 200,
    needs: Role = "operator",
    form: Callable[[list[tuple[str, str]]], dict[str, Any]] | None = None,
) -> Order:
    """An order; what it asks and tells is read off its function."""
    asks, shows = _types(act)
    return Order(path, act, then, asks, shows, _summary(act), status, needs, form)


def _types(function: Callable[..., object]) -> tuple[type[Struct], type[Struct]]:
    """The second parameter's type and what is returned."""
    hints = get_type_hints(function)
    return list(hints.values())[1], hints["return"]


def _summary(function: Callable[..., object]) -> str:
    return (function.__doc__ or "").strip().partition("\n")[0].rstrip(".")
