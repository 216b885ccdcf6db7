"""Which reader reads which language."""

import re
from collections.abc import Callable

from keisei.records.effect import UNKNOWN
from keisei.rules.shell.code.applescript import applescript
from keisei.rules.shell.code.awk import awk
from keisei.rules.shell.code.dc import dc
from keisei.rules.shell.code.ed import ed
from keisei.rules.shell.code.elisp import elisp
from keisei.rules.shell.code.gdb import gdb
from keisei.rules.shell.code.lua import lua
from keisei.rules.shell.code.makefile import recipes
from keisei.rules.shell.code.node import node
from keisei.rules.shell.code.perl import perl
from keisei.rules.shell.code.php import php
from keisei.rules.shell.code.python import python
from keisei.rules.shell.code.r import r_language
from keisei.rules.shell.code.result import MOST, Code, Found
from keisei.rules.shell.code.ruby import ruby
from keisei.rules.shell.code.sed import sed
from keisei.rules.shell.code.sql import mysql, psql, sqlite
from keisei.rules.shell.code.tcl import tcl
from keisei.rules.shell.code.vim import vim

_OTHER_NAMES = {
    "python": "py pypy ipython",
    "javascript": "js node nodejs deno bun typescript ts",
    "awk": "gawk mawk nawk",
    "sed": "gsed",
    "vim": "vi nvim ex view",
    "ed": "red",
    "lua": "luajit texlua",
    "tcl": "tclsh expect",
    "r": "rscript",
    "applescript": "osascript",
    "elisp": "emacs",
    "sqlite": "duckdb sql",
    "mysql": "mariadb",
    "psql": "postgres",
    "gdb": "lldb",
    "make": "makefile gmake",
}
_ALIASES = {other: name for name, others in _OTHER_NAMES.items() for other in others.split()}
_DATA = frozenset({"sqlite", "psql", "mysql"})
"""Languages in which text that only the shell knows is nearly always data."""
_LONGEST = {
    **dict.fromkeys(("perl", "ruby", "php", "lua", "r", "javascript"), MOST // 2),
    **dict.fromkeys(("awk", "applescript", "elisp", "tcl", "vim", "ed", "sed"), MOST // 4),
}
"""Languages that take long to read are read up to less."""
_UNTOLD = "It is {} code that cannot be read."


def started(language: str, text: str) -> Code:
    """What code starts, writes and deletes. Text that is only mentioned is data and gives nothing.

    Falls closed: code of an unknown language, code that is too long, and code that only the shell knows are opaque.
    """
    name = re.sub(r"[\d.]+$", "", language.lower()) or language.lower()
    name = _ALIASES.get(name, name)
    reader = _READERS.get(name)
    if reader is None:
        return Code(opaque=_UNTOLD.format(language))
    if len(text) > _LONGEST.get(name, MOST):
        return Code(opaque=f"It is more {language} code than can be read.")
    if UNKNOWN in text and not text.replace(UNKNOWN, "").strip(" \n\t;") and name not in _DATA:
        return Code(opaque="It is code that only the shell knows.")
    try:
        return reader(text)
    except RecursionError:
        return Code(opaque=f"It is {language} code that is nested too deeply to be read.")


def _vim(text: str) -> Code:
    found = Found()
    code, inner = vim(text)
    found.add(code)
    for language, part in inner:
        found.add(started(language, part))
    return found.code()


def _gdb(text: str) -> Code:
    found = Found()
    code, inner = gdb(text)
    found.add(code)
    if inner.strip():
        found.add(python(inner))
    return found.code()


_READERS: dict[str, Callable[[str], Code]] = {
    "python": python,
    "perl": perl,
    "ruby": ruby,
    "php": php,
    "lua": lua,
    "r": r_language,
    "javascript": node,
    "awk": awk,
    "sed": sed,
    "vim": _vim,
    "ed": ed,
    "sqlite": sqlite,
    "psql": psql,
    "mysql": mysql,
    "gdb": _gdb,
    "dc": dc,
    "applescript": applescript,
    "elisp": elisp,
    "tcl": tcl,
    "make": lambda text: recipes(text, ()),
}
