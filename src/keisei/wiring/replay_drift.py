"""Drift: where two documents differ, told as deep as they are alike."""

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

NAMES = ("name", "skill_id", "path")
"""What members of a list are called by."""


class Drift(Struct, frozen=True, kw_only=True):
    """One thing that is not what it was."""

    what: str
    """Its place in the bundle."""
    was: Any
    """Then; null where it was not there."""
    now: Any
    """Today."""
    came: tuple[Any, ...] = ()
    """Of a list: what is in it today and was not."""
    went: tuple[Any, ...] = ()
    """Of a list: what was in it and is not."""


def differences(was: Any, now: Any, place: str = "") -> Iterator[Drift]:  # noqa: ANN401 - any JSON
    """Where two documents differ."""
    if isinstance(was, dict) and isinstance(now, dict):
        for key in sorted({*was, *now}):
            yield from differences(was.get(key), now.get(key), f"{place}.{key}" if place else key)
    elif isinstance(was, list) and isinstance(now, list):
        yield from _listed(was, now, place)
    elif was != now:
        yield Drift(what=place, was=was, now=now)


def _listed(was: list[Any], now: list[Any], place: str) -> Iterator[Drift]:
    """Two lists: by name where their members have one, else by what came and went."""
    old, new = _named(was), _named(now)
    if old is not None and new is not None:
        for name in dict.fromkeys((*old, *new)):
            yield from differences(old.get(name), new.get(name), f"{place}[{name}]")
        if list(old) != list(new) and set(old) == set(new):
            yield Drift(what=f"{place}, in this order", was=list(old), now=list(new))
    elif was != now:
        came, went = _without(now, was), _without(was, now)
        order = "" if came or went else ", in this order"
        yield Drift(what=f"{place}{order}", was=was, now=now, came=came, went=went)


def _without(items: list[Any], others: list[Any]) -> tuple[Any, ...]:
    """What is left of a list when each of the others has taken away one that is equal."""
    left = list(items)
    for each in others:
        if each in left:
            left.remove(each)
    return tuple(left)


def _named(items: list[Any]) -> dict[str, Any] | None:
    for key in NAMES:
        if items and all(isinstance(each, dict) and isinstance(each.get(key), str) for each in items):
            named = {each[key]: each for each in items}
            return named if len(named) == len(items) else None
    return None if items else {}
