"""AppleScript: what it starts."""

import re

from keisei.records.effect import UNKNOWN
from keisei.rules.shell.code.dialect import Dialect, Token
from keisei.rules.shell.code.lexer import Lexer
from keisei.rules.shell.code.result import Code, Found

_REACH = 128
"""Longer expressions are cut; what is cut off is unknown."""


def applescript(text: str) -> Code:
    """What AppleScript starts: `do shell script`, and `do script` of a terminal."""
    found = Found()
    row = Lexer(text, Dialect(comments=("--", "#"), blocks=(("(*", "*)"),), plain="")).read()
    for at in range(len(row) - 2):
        words = [one.text for one in row[at : at + 3]]
        shell = words == ["do", "shell", "script"]
        if shell or (words[:2] == ["do", "script"] and row[at + 2].kind != "nl"):
            found.script(_amped(row, at + 3 if shell else at + 2))
        elif words[:2] in (["run", "script"], ["load", "script"]):
            found.opaque("It evaluates code that cannot be read.")
    if re.search(r"doShellScript|NSTask|ObjC\.import", text):
        found.opaque("It starts a program in a way that cannot be read.")
    return found.code()


def _amped(row: list[Token], at: int) -> str:
    made: list[str] = []
    last = min(len(row), at + _REACH)
    while at < last and row[at].kind != "nl" and row[at].text not in {"with", "without", "in", "as"}:
        if row[at].kind == "str":
            made.append(row[at].text)
        elif row[at].text not in {"&", "(", ")"}:
            made.append(UNKNOWN)
        at += 1
    return "".join([*made, UNKNOWN] if at == last < len(row) else made) or UNKNOWN
