"""Tcl and expect: what they start and touch."""

import re

from keisei.records.effect import UNKNOWN
from keisei.rules.shell.code.result import Code, Found


def tcl(text: str, depth: int = 0) -> Code:
    """What Tcl and expect start and touch."""
    found = Found()
    rows = _tcl_commands(text)
    if len(rows) > _TCL_MANY or depth > len("deep"):
        found.opaque("It is more code than can be read.")
        return found.code()
    for words in rows:
        _tcl_command(found, words, depth)
    if _TCL_COMPUTED.search(re.sub(r"(?m)(^|;)[ \t]*#[^\n]*", r"\1", text)):
        found.opaque("It calls a command whose name is computed.")
    return found.code()


_TCL_COMPUTED = re.compile(
    r"(?:^|[\n;\[])[ \t]*(?:\$|\{\*\}|\[)|\{\s*\{\*\}|(?:\bthen|\{)\s*(?:\$\{?[\w:]+\}?|\[[^\]\n]*\])[ \t]+"
    r"(?!(?:eq|ne|in|ni|lt|gt|le|ge)\b)[A-Za-z/.$-][^=<>]"
    r"|\bexec\s+(?:-\w+\s+)*(?:\[|\{\*\})"
)
"""A variable, a command or a list where the name of a command or of a program stands."""


_TCL_MANY = 200
_TCL_REACH = 2000


_TCL_WORD = re.compile(r'"((?:[^"\\]|\\.)*)"|\{([^{}\n]*)\}|([^\s;\[\]{}"]+)')
_TCL_HOLE = re.compile(r"\$\{?\w+\}?(?:\([^)]*\))?|\[[^\]]*\]")


def _tcl_commands(text: str) -> list[list[str]]:
    """Words of everything that may be a command: after a line end, a semicolon, a bracket or a brace."""
    rows: list[list[str]] = []
    bare = re.sub(r"(?m)(^|;)[ \t]*#[^\n]*", r"\1", text.replace("\\\n", " "))
    for match in re.finditer(
        r"(?:^|[\n;\[{])[ \t]*(?=(exec|spawn|system|open|file|eval|send_shell|source|load)\b)", bare
    ):
        if len(rows) > _TCL_MANY:
            break
        end = _tcl_end(bare, match.end())
        row: list[str] = []
        for word in _TCL_WORD.finditer(bare, match.end(), end):
            text_of = next((part for part in word.groups() if part is not None), "")
            row.append(text_of if word[2] is not None else _TCL_HOLE.sub(UNKNOWN, text_of))
        rows.append(row)
    return rows


def _tcl_end(text: str, at: int) -> int:
    depth, quoted = 0, False
    last = min(len(text), at + _TCL_REACH)
    for place in range(at, last):
        sign = text[place]
        if sign == '"' and text[place - 1] != "\\":
            quoted = not quoted
        elif not quoted:
            depth += (sign in "[{") - (sign in "]}")
            if depth < 0 or (depth == 0 and sign in "\n;"):
                return place
    return last


def _tcl_command(found: Found, words: list[str], depth: int) -> None:
    name, rest = words[0] if words else "", [word for word in words[1:] if word != "--"]
    while rest and rest[0].startswith("-") and name in {"exec", "spawn"}:
        rest = rest[1:]
    if name in {"exec", "spawn"} and rest:
        _tcl_pipeline(found, rest)
    elif name == "system" and rest:
        found.script(" ".join(rest))
    elif name == "open" and rest:
        _tcl_open(found, rest)
    elif name == "file" and len(rest) > 1:
        _tcl_file(found, rest)
    elif name == "eval" and rest:
        if any(UNKNOWN in word for word in rest):
            found.opaque("It evaluates code that is computed.")
        else:
            found.add(tcl(" ".join(rest), depth + 1))


def _tcl_pipeline(found: Found, words: list[str]) -> None:
    row: list[str] = []
    for word in [*words, "|"]:
        if word in {"|", "|&"}:
            found.argv(row)
            row = []
        elif not re.match(r"[0-9]?[<>&]", word):
            row.append(word)


def _tcl_open(found: Found, rest: list[str]) -> None:
    if rest[0].startswith("|"):
        found.script(rest[0][1:])
    elif len(rest) > 1 and set(rest[1]) & set("wa+W"):
        found.write(rest[0])


def _tcl_file(found: Found, rest: list[str]) -> None:
    paths = [word for word in rest[1:] if not word.startswith("-")]
    if rest[0] == "delete":
        for path in paths:
            found.delete(path)
    elif rest[0] == "link" and len(paths) > 1:
        found.link(paths[-1], paths[0], symbolic="-hard" not in rest)
    elif rest[0] in {"mkdir", "copy"} and paths:
        found.write(paths[-1])
    elif rest[0] == "rename" and len(paths) > 1:
        found.delete(paths[0])
        found.write(paths[-1])
