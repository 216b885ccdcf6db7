"""The child: reads `[{"path": ..., "data": base64}]` on stdin, writes one outline each on stdout, in order, as JSON.

Exit status 0 whatever the files hold: a file that cannot be read has an outline with a fault. 1 where stdin is no such
list, or no worker can be started.
"""

import sys

import msgspec
from msgspec import Struct

from keisei.grammar.worker import outlines


class Asked(Struct, frozen=True, kw_only=True):
    """One file."""

    path: str
    """For its language, and for the customs of test files."""
    data: bytes
    """What it holds."""


def main() -> int:
    """Answer once. Never raises for what stdin holds."""
    try:
        asked = msgspec.json.decode(sys.stdin.buffer.read(), type=list[Asked])
        told = outlines([(each.path, each.data) for each in asked])
    except (msgspec.MsgspecError, RecursionError) as error:
        return _failed(f"stdin is no list of files: {error}")
    except OSError as error:
        return _failed(f"no worker can be started: {error}")
    sys.stdout.buffer.write(msgspec.json.encode(told))
    sys.stdout.buffer.flush()
    return 0


def _failed(why: str) -> int:
    sys.stderr.write(f"keisei.grammar: {why}\n")
    return 1


if __name__ == "__main__":
    sys.exit(main())
