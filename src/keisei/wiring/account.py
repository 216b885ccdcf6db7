"""The account this process runs under."""

import os


def actor() -> str:
    """Who gives orders from this process, for the ledger: the account, whatever its environment says."""
    import pwd  # noqa: PLC0415 - most commands order nothing

    try:
        return f"operator:{pwd.getpwuid(os.getuid()).pw_name}"
    except KeyError:
        return f"operator:{os.getuid()}"
