"""The shell's own words: the text that eval, trap, alias and their kin hand back to the shell."""

from collections.abc import Mapping
from itertools import pairwise

from keisei.records.effect import UNKNOWN
from keisei.rules.shell.launcher.found import Found
from keisei.rules.shell.launcher.launch import Hand, Launch, Words
from keisei.rules.shell.launcher.option import Scan
from keisei.rules.shell.launcher.role import read_roles


def _eval(words: Words) -> Launch | None:
    found = Found()
    found.script(" ".join(words[2:] if words[1:2] == ("--",) else words[1:]))
    return found.launch()


def _trap(words: Words) -> Launch | None:
    scan = Scan(words, "-l:stop -p:stop -P:stop", frozenset())
    rest = scan.rests()[0]
    if scan.has("stop") or not rest:
        return None
    found = Found()
    if len(rest) == 1 and UNKNOWN in rest[0]:
        found.hide("trap runs something that is not known before it runs")
    elif len(rest) > 1 and rest[0] != "-":
        found.script(rest[0])
    return found.launch()


def _source(words: Words) -> Launch | None:
    scan = Scan(words, "-p=", frozenset())
    found = Found(transparent=False)
    for rest in scan.rests():
        if rest:
            found.file(rest[0], words[0])
    return found.launch()


def _alias(words: Words) -> Launch | None:
    found = Found()
    for word in words[1:]:
        name, sign, value = word.partition("=")
        if sign and name and not name.startswith("-"):
            found.script(value)
        elif UNKNOWN in name:
            found.hide("alias names something that is not known before it runs")
    return found.launch()


def _bind(words: Words) -> Launch | None:
    found = Found()
    for option, value in pairwise(words):
        if option.startswith("-") and "x" in option and not value.startswith("-"):
            found.script(
                value.rpartition('":')[2].strip() if '":' in value else value.partition(":")[2].strip() or value
            )
    return found.launch()


def _complete(words: Words) -> Launch | None:
    scan = Scan(words, "-abcdefgjksuvprDEI -o= -A= -G= -F= -P= -S= -X= -C=:sh -W=:list", frozenset({"lenient"}))
    found = Found()
    read_roles(scan, words[0], found)
    for value in scan.values("list"):
        if "$(" in value or "`" in value:
            found.script(f": {value}")
    return found.launch()


def _mapfile(words: Words) -> Launch | None:
    found = Found()
    read_roles(Scan(words, "-t -dnOsuc= -C=:sh", frozenset({"lenient"})), words[0], found)
    return found.launch()


def _enable(words: Words) -> Launch | None:
    if Scan(words, "-adnps -f=:code", frozenset()).has("code"):
        return Launch(opaque="enable -f loads code into the shell")
    return None


def _hash(words: Words) -> Launch | None:
    if Scan(words, "-rdtl -p=:prog", frozenset()).has("prog"):
        return Launch(opaque="hash -p makes a name start another program")
    return None


def _subscript(words: Words) -> Launch | None:
    """Names of variables whose index the shell evaluates: `read 'a[$(x)]'`."""
    found = Found()
    for word in words[1:]:
        name = word.partition("=")[0] if words[0] != "let" else word
        if ("$(" in name or "`" in name) and ("[" in name or words[0] == "let"):
            found.script(f": {name[name.find('[') + 1 :].rstrip(']')}")
    return found.launch()


def _printf(words: Words) -> Launch | None:
    return _subscript(words[:3]) if words[1:2] == ("-v",) else None


def _test(words: Words) -> Launch | None:
    return _subscript((words[0], *(after for word, after in pairwise(words) if word == "-v")))


HANDS: Mapping[str, Hand] = {
    "eval": _eval,
    "trap": _trap,
    "source": _source,
    "alias": _alias,
    "bind": _bind,
    "complete": _complete,
    "mapfile": _mapfile,
    "enable": _enable,
    "hash": _hash,
    "printf": _printf,
    "test": _test,
    "[": _test,
    **dict.fromkeys(("let", "read", "unset", "declare", "typeset", "local", "export", "readonly"), _subscript),
}
