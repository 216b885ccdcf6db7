"""Schemas as data: the generated files, read once each."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema_rs

from keisei.contracts.registry import known

FOLDER = Path(__file__).parent / "schemas"


@cache
def schema(name: str) -> dict[str, Any]:
    """The published schema of a record or form. Raises OperatorError for a name nobody knows."""
    loaded: dict[str, Any] = json.loads((FOLDER / f"{known(name)}.v1.json").read_text(encoding="utf-8"))
    return loaded


@cache
def validator(name: str) -> jsonschema_rs.Draft7Validator:
    """The compiled schema."""
    return jsonschema_rs.Draft7Validator(schema(name), validate_formats=True)
