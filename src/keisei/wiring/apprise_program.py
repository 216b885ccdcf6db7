"""The program that hands one message to apprise. It runs by itself: nothing of keisei is imported in its process.

An object with `url`, `title`, `body` and `timeout_s` comes in by standard input. The exit code says what became of it,
and where the service answered with a status, that number is printed. Nothing else is, since it could hold the address.
"""

import json
import logging
import re
import signal
import sys
from importlib import import_module
from typing import Any

SENT = 0
FAILED = 20
UNKNOWN = 21
MISSING = 22
STATUS = re.compile(r"error=(\d{3})\b")


class Listener(logging.Handler):
    """Hears which status a service answered with."""

    status = ""

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the last one."""
        found = STATUS.search(record.getMessage())
        self.status = found[1] if found else self.status


def main() -> int:
    """Send it; the exit code."""
    order: dict[str, Any] = json.load(sys.stdin)
    signal.alarm(int(order["timeout_s"]) + 1)  # should whoever started it be gone
    try:
        apprise = import_module("apprise")
    except ImportError:
        return MISSING
    listener = Listener(logging.WARNING)
    logger = logging.getLogger("apprise")
    logger.handlers, logger.propagate = [listener], False
    service = apprise.Apprise(asset=apprise.AppriseAsset(storage_mode="memory"))
    if not service.add([order["url"]]):  # as a list: in a string commas and blanks would part several
        return UNKNOWN
    sent = service.notify(body=order["body"], title=order["title"], body_format="text", interpret_escapes=False)
    sys.stdout.write("" if sent else listener.status)
    return SENT if sent else FAILED


if __name__ == "__main__":
    sys.exit(main())
