"""How a script that somebody wrote is started."""

import os
from pathlib import Path


def program_of(script: str) -> tuple[str, ...]:
    """How a script is started: as a program, or, where its mode bits were lost, by the interpreter it names."""
    if os.access(script, os.X_OK):
        return (script,)
    try:
        with Path(script).open("rb") as file:
            first = file.readline(256).decode("utf-8", "replace")
    except OSError:
        return (script,)
    words = first[2:].split() if first.startswith("#!") else ["/bin/sh"]
    return (*words, script)
