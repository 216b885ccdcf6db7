"""Depth: JSON that is nested further than anybody can write or read it."""

from typing import Any

LEVELS = 20_000


def deep() -> dict[str, Any]:
    """An object in an object, and so on."""
    value: dict[str, Any] = {}
    for _ in range(LEVELS):
        value = {"deeper": value}
    return value
