"""Schemas as data: the generated files, read once each."""

import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from keisei.contracts.registry import known

if TYPE_CHECKING:
    import jsonschema_rs

FOLDER = Path(__file__).parent / "schemas"


@cache
def schema(name: str) -> dict[str, Any]:
    """The published schema of a record or form. Raises OperatorError for a name nobody knows."""
    loaded: dict[str, Any] = json.loads((FOLDER / f"{known(name)}.v1.json").read_text(encoding="utf-8"))
    return loaded


@cache
def validator(name: str) -> "jsonschema_rs.Draft7Validator":
    """The compiled schema."""
    import jsonschema_rs  # noqa: PLC0415 - data that a type takes as it is needs no schema

    return jsonschema_rs.Draft7Validator(schema(name), validate_formats=True)
