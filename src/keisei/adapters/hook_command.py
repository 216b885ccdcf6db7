"""Commands: the line of shell that a harness runs as a hook. Whatever goes wrong in it ends as a refusal."""

import re
import shlex
from collections.abc import Sequence
from typing import NamedTuple

from keisei.records.error import OperatorError

MARK = "# keisei-hook"
"""The end of every command of ours, in any version: how it is known again."""
_FALL = (
    ' || { r=$?; [ $r = 2 ] || echo "keisei gate: the hook failed (exit $r), so the call is refused" >&2; exit 2; } '
    + MARK
)
_GUARD = re.compile(r'\[ -z "\$\{([A-Z_]+)-\}" \] \|\| ')


_LIMIT = ("-k", "1", "8")
"""For `timeout`: over in less than the harness's 10 s, after which it would let the call run."""


class Parts(NamedTuple):
    """What a command of ours is made of."""

    limit: str | None
    """The `timeout` program that bounds the hook, if one does."""
    argv: tuple[str, ...]
    only_with: str | None
    """The variable without which the hook passes everything through."""


def shell_form(argv: Sequence[str], *, only_with: str | None = None) -> str:
    """The program as one line for `sh -c`. Falls closed: any end but 0 becomes exit 2 with a reason on stderr.

    With `only_with`, a session in which that variable is unset or empty starts no program at all.
    Raises OperatorError for words that no settings file can hold.
    """
    for word in argv:
        _writable(word)
    guard = f'[ -z "${{{only_with}-}}" ] || ' if only_with else ""
    return guard + shlex.join(argv) + _FALL


def limited(argv: Sequence[str], timeout: str | None) -> tuple[str, ...]:
    """The program under a time limit that falls closed; `timeout` is where coreutils' program is, if anywhere."""
    return (timeout, *_LIMIT, *argv) if timeout else tuple(argv)


def is_ours(command: object) -> bool:
    """Whether keisei wrote this command, in this version or another."""
    return isinstance(command, str) and command.endswith(MARK)


def parts_of(command: str) -> Parts | None:
    """The parts of a command, or None where it is not word for word what this version writes."""
    guard = _GUARD.match(command)
    rest = command[guard.end() :] if guard else command
    try:
        argv = tuple(shlex.split(rest.removesuffix(_FALL)))
    except ValueError:
        return None
    only_with = guard[1] if guard else None
    if not argv or shell_form(argv, only_with=only_with) != command:
        return None
    if argv[1:4] == _LIMIT:
        return Parts(argv[0], argv[4:], only_with) if argv[4:] else None
    return Parts(None, argv, only_with)


def _writable(word: str) -> None:
    try:
        word.encode("utf-8")
    except UnicodeEncodeError as error:
        message = f"the path `{word}` is not UTF-8 and cannot stand in a settings file"
        raise OperatorError(message, "move it to a folder with a plain name") from error
    if "\0" in word:
        raise OperatorError("a path contains a NUL", "name the file by its real path")
