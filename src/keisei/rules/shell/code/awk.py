"""awk programs: system(), pipes to and from commands, files that print writes."""

from collections.abc import Iterator

from keisei.records.effect import UNKNOWN
from keisei.rules.shell.code.dialect import Dialect, Token
from keisei.rules.shell.code.language import Language
from keisei.rules.shell.code.result import Code, Found, names
from keisei.rules.shell.code.scan import Scan

_DIALECT = Dialect(plain="", patterns=True, word=r"\$?[A-Za-z_]\w*|\$(?=[\d(])|@[a-z]\w*", holes="")
_AWK = Language(name="awk", dialect=_DIALECT, glue=(), table={})
_REACH = 256
"""Longer expressions are cut: what is left of them is unknown anyhow."""
_STOPS = frozenset({"=", ";", "{", "}", "|", "|&", ">", ">>", "&&", "||", "?", ":", ","})
_WORDS = frozenset(names("print printf getline if while for do else return in"))


def awk(text: str) -> Code:
    """What an awk program starts and writes."""
    found = Found()
    scan = Scan(_AWK, text, found)
    _learn(scan)
    for at, token in enumerate(scan.tokens):
        if token.kind == "word":
            _word(scan, at)
        elif token.kind == "op" and token.text in {"|", "|&"}:
            _pipe(scan, at)
    return found.code()


_RESETS = frozenset({"function", "func", "ARGV", "ARGC", "SYMTAB"})
"""Words by which any variable may change in another way than with a plain assignment."""


def _learn(scan: Scan) -> None:
    """Variables that are set once, to a constant. One that is set on the command line is unknown."""
    row = scan.tokens
    for at in range(1, len(row) - 1):
        if row[at].kind == "op" and row[at].text in {"=", "+="} and row[at - 1].kind == "word":
            name, end = row[at - 1].text, _forward(row, at + 1)
            value = _text(scan, row[at + 1 : end])
            same = name not in scan.constants or scan.constants[name] == value
            scan.constants[name] = value if same else None
    for name in _changed(row):
        scan.constants[name] = None
    if any(token.kind == "word" and token.text in _RESETS for token in row):
        scan.constants.update(dict.fromkeys(scan.constants))


def _changed(row: list[Token]) -> Iterator[str]:
    """Variables that are changed in place, or read from the input."""
    for at, token in enumerate(row):
        if token.kind != "word":
            continue
        if token.text == "getline" and at + 1 < len(row) and row[at + 1].kind == "word":
            yield row[at + 1].text
        elif token.text == "in" and at and row[at - 1].kind == "word":
            yield row[at - 1].text
        elif token.text in ("sub", "gsub"):
            reach = row[at + 1 : at + 1 + _REACH]
            end = next((number for number, each in enumerate(reach) if each.text == ")"), len(reach))
            yield from (each.text for each in reach[:end] if each.kind == "word")


def _forward(row: list[Token], at: int) -> int:
    """Where an expression that starts here ends."""
    depth, last = 0, min(len(row), at + _REACH)
    while at < last:
        token = row[at]
        if token.kind == "op":
            if depth == 0 and (token.text in _STOPS or token.text == ")"):
                return at
            depth += (token.text in "([") - (token.text in ")]")
        elif (token.kind == "nl" or (token.kind == "word" and token.text in _WORDS)) and depth == 0:
            return at
        at += 1
    return at


def _backward(row: list[Token], at: int) -> int:
    """Where an expression that ends here starts."""
    depth, first = 0, max(0, at - _REACH)
    while at > first:
        token = row[at - 1]
        if token.kind == "op":
            if depth == 0 and (token.text in _STOPS or token.text in {"(", "=", "!"}):
                return at
            depth += (token.text in ")]") - (token.text in "([")
        elif depth == 0 and (token.kind == "nl" or (token.kind == "word" and token.text in _WORDS)):
            return at
        at -= 1
    return at


def _text(scan: Scan, row: list[Token]) -> str:
    """Strings side by side are one string; everything else is unknown."""
    made: list[str] = []
    for token in row:
        if token.kind == "str":
            made.append(token.text)
        elif token.kind == "word" and isinstance(scan.constants.get(token.text), str):
            made.append(str(scan.constants[token.text]))
        elif token.text not in {"(", ")"} and not (made and made[-1] == UNKNOWN):
            made.append(UNKNOWN)
    return "".join(made)


def _run(scan: Scan, text: str) -> None:
    if text.strip(UNKNOWN + " "):
        scan.found.script(text)
    elif text:
        scan.found.opaque("It hands a shell text that is computed.")


def _word(scan: Scan, at: int) -> None:
    row = scan.tokens
    name = row[at].text
    if name == "system" and at + 1 < len(row) and row[at + 1].text == "(":
        _run(scan, _text(scan, row[at + 2 : _closed(row, at + 1)]))
    elif name in {"print", "printf"}:
        _printed(scan, at)
    elif name == "@load" or (name == "@" and at + 1 < len(row) and row[at + 1].text == "load"):
        scan.found.opaque("It loads an extension that cannot be read.")
    elif name.startswith("@") and at + 1 < len(row) and row[at + 1].text == "(":
        scan.found.opaque("It calls a function by a computed name.")


def _closed(row: list[Token], at: int) -> int:
    depth = 0
    last = min(len(row), at + _REACH)
    for place in range(at, last):
        if row[place].kind == "op":
            depth += (row[place].text == "(") - (row[place].text == ")")
            if depth == 0:
                return place
    return last


def _printed(scan: Scan, at: int) -> None:
    """`print ... > "file"`, outside of parentheses."""
    row, depth = scan.tokens, 0
    for place in range(at + 1, min(len(row), at + _REACH)):
        token = row[place]
        if token.kind == "nl" or (token.kind == "op" and token.text in {";", "}"}):
            return
        if token.kind == "op":
            depth += (token.text in "([") - (token.text in ")]")
            if depth == 0 and token.text in {">", ">>"}:
                scan.found.write(_text(scan, row[place + 1 : _forward(row, place + 1)]))
                return


def _pipe(scan: Scan, at: int) -> None:
    """`"cmd" | getline` and `print | "cmd"`."""
    row = scan.tokens
    if at + 1 < len(row) and row[at + 1].text == "getline":
        _run(scan, _text(scan, row[_backward(row, at) : at]))
    elif row[at].text in {"|", "|&"}:
        command = _text(scan, row[at + 1 : _forward(row, at + 1)])
        if command.strip(UNKNOWN + " "):
            scan.found.fed(command)
        else:
            _run(scan, command)
