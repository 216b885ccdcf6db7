"""How script languages write strings and comments, and the pieces their code is made of."""

from typing import NamedTuple


class Token(NamedTuple):
    """One piece of code."""

    kind: str
    """word, str, cmd (text run by a shell), num, op, nl, re."""
    text: str
    """The word or operator; of a string its content, variables as VAR_OPEN name VAR_CLOSE, code as UNKNOWN."""
    spaced: bool = False
    """Whether white space stands before it."""


class Dialect(NamedTuple):
    """How a language writes strings and comments."""

    comments: tuple[str, ...] = ("#",)
    blocks: tuple[tuple[str, str], ...] = ()
    plain: str = "'"
    """Quotes without variables inside."""
    rich: str = '"'
    """Quotes with escapes, and variables if `holes` says so."""
    holes: str = ""
    """What opens code or a variable inside a rich string: `$`, `#{`."""
    tick: str = ""
    """What a backtick is: cmd, template, or nothing."""
    patterns: bool = False
    """Whether `/x/` is a pattern."""
    word: str = r"[A-Za-z_]\w*"
    long: bool = False
    """Whether `[[x]]` is a string, as in Lua."""
    quoters: str = ""
    """perl or ruby: their own quoting operators and here-documents."""
