"""Git, run so that nothing a repository says can start another program, ask a person or reach a network."""

import os
import selectors
import shutil
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, NamedTuple

PATIENCE_S = 25.0
"""How long one command may take; a page's `timeout_ms` is a little more."""
PIECE = 262_144
MOST_COMPLAINTS = 16_384

QUIET = {
    "HOME": "/nonexistent",
    "XDG_CONFIG_HOME": "/nonexistent",
    "LC_ALL": "C",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_GRAFT_FILE": "/nonexistent",
    "GIT_ALLOW_PROTOCOL": "",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_ASKPASS": "false",
    "GIT_PAGER": "cat",
    "GIT_EDITOR": "false",
}
"""Nobody's configuration, no question to a person, no network, objects as they are, paths as they are written."""

SWITCHED_OFF = {
    "core.hooksPath": "/dev/null",
    "core.fsmonitor": "false",
    "core.untrackedCache": "false",
    "core.attributesFile": "/dev/null",
    "core.excludesFile": "/dev/null",
    "core.alternateRefsCommand": "true",
    "core.commitGraph": "false",
    "core.quotePath": "false",
    "core.bigFileThreshold": "16m",
    "diff.external": "",
    "diff.orderFile": "/dev/null",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "protocol.allow": "never",
    "safe.directory": "*",  # what the owner check guards against is switched off here, whoever the owner is
    "submodule.recurse": "false",
}


class Missing(Exception):
    """There is no git."""


class Late(Exception):
    """Git took too long."""


class Ran(NamedTuple):
    """How a command ended."""

    code: int
    """Its exit status."""
    out: bytes
    """What it said."""
    cut: bool
    """It said more than was wanted, and was ended."""
    complaint: str
    """The first line of what it complained, or how it ended."""


def run_git(  # noqa: PLR0913 - each is one thing about a command
    words: Sequence[str | bytes],
    surroundings: Mapping[str, str],
    folder: str,
    *,
    most: int,
    given: Path | None = None,
    patience_s: float = PATIENCE_S,
) -> Ran:
    """One command, run to its end or until it said `most` bytes. `given` is a file that it reads.

    Raises Missing, Late, and OSError or ValueError where it cannot be started.
    """
    git, path = _program()
    env = {"PATH": path, **QUIET, **surroundings, **_settings()}
    with open(given or os.devnull, "rb") as stdin:  # noqa: PTH123 - either is one
        program = subprocess.Popen(  # noqa: S603 - no shell, and words of ours
            [git, *words], env=env, cwd=folder, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
    with program:
        try:
            out, complaints, cut = _heard(program, most, time.monotonic() + patience_s)
            code = 0 if cut else program.wait(patience_s)
        except subprocess.TimeoutExpired as error:
            raise Late from error
        finally:
            with suppress(OSError):
                program.kill()
    return Ran(code, out, cut, _complaint(code, complaints))


def _program() -> tuple[str, str]:
    """Where git is, and the PATH it runs with. Parts that are relative would lead into a repository. Raises Missing."""
    parts = os.environ.get("PATH", os.defpath).split(os.pathsep)
    path = os.pathsep.join(part for part in parts if Path(part).is_absolute())
    found = shutil.which("git", path=path) if path else None
    if found is None:
        raise Missing
    return found, path


def _settings() -> dict[str, str]:
    """Settings by the environment: they outrank every file."""
    named = {"GIT_CONFIG_COUNT": str(len(SWITCHED_OFF))}
    for number, (key, value) in enumerate(SWITCHED_OFF.items()):
        named[f"GIT_CONFIG_KEY_{number}"] = key
        named[f"GIT_CONFIG_VALUE_{number}"] = value
    return named


def _heard(program: "subprocess.Popen[bytes]", most: int, deadline: float) -> tuple[bytes, bytes, bool]:
    """What it says and what it complains, up to their bounds; whether it said more. Raises Late."""
    heard: dict[IO[bytes], bytearray] = {pipe: bytearray() for pipe in (program.stdout, program.stderr) if pipe}
    out, complaints = heard.values()
    with selectors.DefaultSelector() as waiting:
        for pipe, kept in heard.items():
            waiting.register(pipe, selectors.EVENT_READ, kept)
        while waiting.get_map() and len(out) <= most:
            rest = deadline - time.monotonic()
            if rest <= 0:
                raise Late
            for key, _ in waiting.select(rest):
                piece = os.read(key.fd, PIECE)
                key.data.extend(piece)
                del complaints[MOST_COMPLAINTS:]
                if not piece:
                    waiting.unregister(key.fileobj)
    return bytes(out[:most]), bytes(complaints), len(out) > most


def _complaint(code: int, complaints: bytes) -> str:
    lines = complaints.decode("utf-8", "backslashreplace").splitlines()
    told = next((line for line in lines if line.startswith(("fatal:", "error:"))), next(iter(lines), ""))
    return told[:300] or f"exit status {code}"
