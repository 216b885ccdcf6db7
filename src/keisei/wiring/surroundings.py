"""The environment of an attempt: an allow-list, the adapter's own variables, and secrets from a file that is 0600."""

import os
import re
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from keisei.records.adapter import AdapterConfig
from keisei.records.error import OperatorError

PASSED_ON: Final = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ")
"""What an attempt is given of the runner's own environment. Nothing else."""
LARGEST: Final = 1_048_576
NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class Surroundings(NamedTuple):
    """What an attempt finds around it."""

    env: dict[str, str]
    secrets: tuple[str, ...]
    """Values that must not reach a disk, a terminal, a prompt or a command line."""
    secret_names: tuple[str, ...]


def surroundings(config: AdapterConfig, own: Mapping[str, str], anchor: Path | None) -> Surroundings:
    """The environment: allow-list, adapter's, secrets, then what the runtime says itself, which nobody overrides.

    Raises OperatorError for an env_file that is not there, not private or not readable. `anchor` is what relative paths
    of the adapter's table are relative to.
    """
    passed = passed_on()
    plain = getattr(config, "env", None) or {}
    file = getattr(config, "env_file", None)
    secret = read_env_file(_anchored(file, anchor)) if file else {}
    values = tuple(value for value in secret.values() if value)
    return Surroundings({**passed, **plain, **secret, **own}, values, tuple(secret))


def passed_on() -> dict[str, str]:
    """What an attempt is given of this process's own environment.

    Parts of the PATH that are relative are left out: they would lead into the worktree.
    """
    given = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    if "PATH" in given:
        given["PATH"] = os.pathsep.join(filter(os.path.isabs, given["PATH"].split(os.pathsep))) or os.defpath
    return given


def _anchored(path: str, anchor: Path | None) -> Path:
    return (anchor or Path.cwd()) / Path(path).expanduser()


def read_env_file(path: Path) -> dict[str, str]:
    """KEY=VALUE lines; `export ` before and one pair of quotes around are taken off; # begins a comment line."""
    text = _private_text(path)
    found: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        bare = line.strip().removeprefix("export ").strip()
        if not bare or bare.startswith("#"):
            continue
        name, equals, value = bare.partition("=")
        if not equals or not NAME.fullmatch(name.strip()):
            raise OperatorError(f"{path}:{number} is not KEY=VALUE", "write one variable a line; # begins a comment")
        found[name.strip()] = _unquoted(value.strip())
    return found


def _unquoted(value: str) -> str:
    quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "'\""
    return value[1:-1] if quoted else value


def _private_text(path: Path) -> str:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        raise OperatorError(f"env_file `{path}` cannot be read: {(error.strerror or str(error)).lower()}") from error
    with os.fdopen(handle, "rb") as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode):
            raise OperatorError(f"env_file `{path}` is not a file")
        if found.st_mode & 0o077:
            raise OperatorError(f"env_file `{path}` can be read by others", f"chmod 600 {path}")
        raw = file.read(LARGEST + 1)
    if len(raw) > LARGEST:
        raise OperatorError(f"env_file `{path}` is larger than {LARGEST} bytes")
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise OperatorError(f"env_file `{path}` is not UTF-8") from error
    if "\0" in text:
        raise OperatorError(f"env_file `{path}` holds a NUL")
    return text
