"""The SDK, imported without what a server on standard input never uses: most of the time of a start."""

import importlib.util
import sys
from typing import Final

FRONTS: Final = ("mcp", "mcp.server", "mcp.server.lowlevel")
"""Packages of which only modules are used here."""


def skip_fronts() -> None:
    """Have modules of the SDK imported without the front pages of their packages: a sixth of the time of a start.

    Only for a program that serves and does nothing else: `from mcp import ...` finds nothing after this. Where the SDK
    is imported already, nothing happens.
    """
    for name in FRONTS:
        spec = None if name in sys.modules else importlib.util.find_spec(name)
        if spec is None:
            return
        sys.modules[name] = importlib.util.module_from_spec(spec)


def build_late() -> None:
    """Have the SDK's hundreds of message types made ready when a message of theirs comes: a sixth of a start.

    Of both protocol generations one is spoken at a time, and few of its messages. As above, and before the SDK is
    imported.
    """
    from pydantic import BaseModel  # noqa: PLC0415 - a tenth of a start itself

    BaseModel.model_config["defer_build"] = True
