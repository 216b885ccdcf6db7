"""Programs by their name: who reads the words of which program. No program of the tables is passed over."""

from collections.abc import Mapping

from keisei.records.effect import UNKNOWN
from keisei.rules.shell.launcher import (
    awk,
    builtin,
    connection,
    editor,
    env,
    find,
    git,
    job,
    make,
    node,
    npm,
    parallel,
    perl,
    shell,
    tar,
    terminal,
    uv,
    wrapper,
    xargs,
)
from keisei.rules.shell.launcher.interpreter import interpret
from keisei.rules.shell.launcher.language import LANGUAGE_NAMES, LANGUAGES
from keisei.rules.shell.launcher.launch import Hand, Launch, Words
from keisei.rules.shell.launcher.reading import start
from keisei.rules.shell.launcher.table import LAUNCHERS
from keisei.rules.shell.launcher.table.alias import ALIASES

HANDS: Mapping[str, Hand] = {
    **env.HANDS,
    **wrapper.HANDS,
    **job.HANDS,
    **builtin.HANDS,
    **shell.HANDS,
    **find.HANDS,
    **xargs.HANDS,
    **parallel.HANDS,
    **connection.HANDS,
    **tar.HANDS,
    **terminal.HANDS,
    **git.HANDS,
    **perl.HANDS,
    **node.HANDS,
    **awk.HANDS,
    **editor.HANDS,
    **make.HANDS,
    **npm.HANDS,
    **uv.HANDS,
}
"""Programs whose words are read by hand; all others by their form."""


def launched(words: Words) -> Launch | None:
    """What these words start besides the program itself; None where that is nothing. Falls closed: see `opaque`."""
    if not words or UNKNOWN in words[0]:
        return None
    if words[0].startswith("git-") and words[0] not in HANDS:
        return HANDS["git"](("git", words[0].removeprefix("git-"), *words[1:]))
    name = _known(words[0])
    if name is None:
        return None
    words = (name, *words[1:])
    if name in HANDS:
        return HANDS[name](words)
    if name in LANGUAGES:
        return interpret(LANGUAGES[name], words)
    return start(LAUNCHERS[name], words)


def _known(name: str) -> str | None:
    """The name the tables use: without a version, without an alias; None where they do not know it."""
    bare = name.rstrip("0123456789.-")
    for each in (name, bare, name.removeprefix("-")):
        known = LANGUAGE_NAMES.get(each, ALIASES.get(each, each))
        if known in HANDS or known in LANGUAGES or known in LAUNCHERS:
            return known
    if name.startswith(("ld-linux", "ld-musl", "ld.so", "ld64.so", "ld-2.")):
        return "ld.so"
    return "qemu" if name.startswith("qemu-") and "system" not in name and "img" not in name else None
