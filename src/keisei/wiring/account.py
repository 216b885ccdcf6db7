"""The account this process runs under, and whether an operator or an attempt speaks from it."""

import os
import re
from typing import Final

from keisei.records.error import Refused
from keisei.settings import Settings, read_settings

ID: Final = re.compile(r"[A-Za-z0-9._-]{1,128}")
HINT: Final = "an operator gives it, outside of every attempt"


def actor(settings: Settings | None = None) -> str:
    """Who gives orders from this process, for the ledger: the account, or the attempt that it runs inside of.

    Inside an attempt nobody is an operator, whatever the account. What keeps an agent from leaving the variable out is
    not this but the sandbox, where neither the ledger nor the project's own files can be written.
    """
    own = read_settings() if settings is None else settings
    if own.attempt_id is not None:
        return f"attempt:{own.attempt_id if ID.fullmatch(own.attempt_id) else 'unknown'}"
    import pwd  # noqa: PLC0415 - most commands order nothing

    try:
        return f"operator:{pwd.getpwuid(os.getuid()).pw_name}"
    except KeyError:
        return f"operator:{os.getuid()}"


def operator(settings: Settings | None = None, hint: str = HINT) -> str:
    """The actor of an order that only operators give. Raises Refused inside an attempt."""
    own = read_settings() if settings is None else settings
    if own.attempt_id is not None:
        raise Refused("this is an operator's order, and it is given inside an attempt", hint)
    return actor(own)
