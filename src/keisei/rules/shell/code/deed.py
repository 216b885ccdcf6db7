"""What known functions of script languages do with their arguments."""

import shlex
from collections.abc import Callable
from typing import Protocol

from keisei.records.effect import BELOW, UNKNOWN
from keisei.rules.shell.code.language import Language
from keisei.rules.shell.code.result import Found

Value = str | list[str] | None
"""What an expression is: text with UNKNOWN in it, a list of such texts, or nothing that is known."""


class Either(list[str]):
    """Not a list, but one of these texts: what a name stands for while a loop goes through them."""


class Scanner(Protocol):
    """What deeds need of the one who reads the code."""

    language: Language
    found: Found

    def recurse(self, text: str) -> None:
        """Code inside the code does something as well."""


def flat(value: Value) -> str:
    """A value as one text."""
    return value if isinstance(value, str) else UNKNOWN


def _script(scan: Scanner, values: list[Value], rest: str) -> None:
    """One text goes to a shell, several are words: perl, ruby. `only`: the first goes to a shell."""
    first = values[0] if values else None
    if isinstance(first, list):
        scan.found.argv(first)
    elif len(values) > 1 and rest != "only":
        scan.found.argv([flat(one) for value in values for one in (value if isinstance(value, list) else [value])])
    elif first is None:
        if values:
            scan.found.opaque("It hands a shell text that is computed.")
    else:
        scan.found.script(first)


def _program(scan: Scanner, values: list[Value], _rest: str) -> None:
    """A program, then a list of its arguments."""
    if not values or not isinstance(values[0], str):
        scan.found.opaque("It starts a program whose name is computed.")
        return
    more = values[1] if len(values) > 1 else []
    words = more if isinstance(more, list) else [UNKNOWN] if more is None else _words(more)
    scan.found.argv([*_words(values[0]), *words] if " " in values[0] else [values[0], *words])


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        return text.split()


def _rows(scan: Scanner, values: list[Value], rest: str) -> None:
    """Words of a command line, after some arguments that are not."""
    skip = int(rest or 0)
    words = [flat(one) for value in values[skip:] for one in (value if isinstance(value, list) else [value])]
    if len(words) == 1:
        _script(scan, values[skip:], "")
    elif words:
        scan.found.argv(words)
    else:
        scan.found.opaque("It starts a program whose name is computed.")


def _evaluate(scan: Scanner, values: list[Value], _rest: str) -> None:
    first = values[-1] if values and scan.language.name == "js" else values[0] if values else ""
    if not isinstance(first, str) or UNKNOWN in first or BELOW in first:
        scan.found.opaque("It evaluates code that is computed.")
    else:
        scan.recurse(first)


def _touch(scan: Scanner, values: list[Value], rest: str) -> None:
    """Paths by their places: `w0 d1`, `w*` for all, `w*+` for all but the first; `k0` only where it is known."""
    for part in rest.split():
        note = scan.found.delete if part[0] == "d" else scan.found.write
        chosen = values[1 if part.endswith("+") else 0 :] if part[1] == "*" else values[int(part[1]) : int(part[1]) + 1]
        for value in chosen:
            for path in value if isinstance(value, list) else [value]:
                if part[0] != "k" or (path is not None and UNKNOWN not in path):
                    note(flat(path))


def _mode(scan: Scanner, values: list[Value], _rest: str) -> None:
    """A path and a mode. A mode that is computed may write."""
    first = values[0] if values else ""
    if isinstance(first, str) and first.startswith("|"):
        scan.found.script(first[1:])
        return
    mode = values[1] if len(values) > 1 else "r"
    if not isinstance(mode, str) or UNKNOWN in mode or set(mode) & set("wax+cW"):
        scan.found.write(flat(first))


def _link(scan: Scanner, values: list[Value], rest: str) -> None:
    """What a link leads to, and its name."""
    if len(values) > 1:
        scan.found.link(flat(values[0]), flat(values[1]), symbolic=rest == "symbolic")


def _popen(scan: Scanner, values: list[Value], _rest: str) -> None:
    """A command and a mode: it may be written to where the mode says so."""
    last = values[-1] if len(values) > 1 else None
    mode = last if isinstance(last, str) and last and set(last) <= set("rwabt+:") else ""
    given = values[:-1] if mode else values
    first = given[0] if given else None
    words = first if isinstance(first, list) else _words(flat(first))
    scan.found.piped(words, given=bool(set(mode) & set("wa+")))
    _script(scan, given, "")


def _opaque(scan: Scanner, _values: list[Value], _rest: str) -> None:
    scan.found.opaque("It starts or evaluates something that cannot be read.")


def _runs_file(scan: Scanner, values: list[Value], rest: str) -> None:
    """A file of the same language is run."""
    if values and isinstance(values[0], str) and UNKNOWN not in values[0]:
        scan.found.argv((*rest.split(), values[0]))
    elif not values or not isinstance(values[0], str):
        scan.found.opaque("It runs a file whose name is computed.")


DEEDS: dict[str, Callable[[Scanner, list[Value], str], None]] = {
    "shell": _script,
    "program": _program,
    "words": _rows,
    "eval": _evaluate,
    "touch": _touch,
    "open": _mode,
    "link": _link,
    "popen": _popen,
    "opaque": _opaque,
    "file": _runs_file,
}
"""What a function of a kind does; the rest of the kind says where its arguments stand."""
