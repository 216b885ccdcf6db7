"""Tokens: who may speak to a server on a port."""

from pathlib import Path
from typing import Final

from keisei.wiring import token
from keisei.wiring.refusal import Refusals
from keisei.wiring.token import is_bearer, read_token

__all__ = ["FILE", "Refusals", "is_bearer", "made_token", "read_token"]

FILE: Final = "mcp-token"
"""In the state folder."""


def made_token(folder: Path) -> Path:
    """The file with a state folder's token, made for this user alone where it is not there. Raises OperatorError."""
    return token.made_token(folder, FILE)
