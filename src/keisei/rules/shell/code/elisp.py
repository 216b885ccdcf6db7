"""Emacs Lisp: what it starts and touches."""

from keisei.records.effect import UNKNOWN
from keisei.rules.shell.code.dialect import Dialect, Token
from keisei.rules.shell.code.lexer import Lexer
from keisei.rules.shell.code.result import Code, Found, names

_LISP_SHELL = frozenset(
    names(
        "shell-command shell-command-to-string async-shell-command compile start-process-shell-command "
        "call-process-shell-command eshell-command"
    )
)
_LISP_PROGRAM = {
    "call-process": 0,
    "process-file": 0,
    "process-lines": 0,
    "start-process": 2,
    "start-file-process": 2,
    "call-process-region": 2,
}
_LISP_WRITES = {
    "write-region": 2,
    "write-file": 0,
    "append-to-file": 2,
    "copy-file": 1,
    "make-directory": 0,
}
_LISP_LINKS = {"make-symbolic-link": True, "add-name-to-file": False}
_LISP_DELETES = frozenset({"delete-file", "delete-directory"})

_LISP_OPAQUE = frozenset({"eval", "make-process", "funcall-interactively", "module-load"})
_LISP_KNOWN = (
    _LISP_SHELL | set(_LISP_PROGRAM) | set(_LISP_WRITES) | _LISP_DELETES | _LISP_OPAQUE | {"rename-file", *_LISP_LINKS}
)
_LISP_REACH = 128


def elisp(text: str) -> Code:
    """What Emacs Lisp starts and touches."""
    found = Found()
    row = Lexer(text, Dialect(comments=(";",), plain="", word=r"[A-Za-z*+/<>=!?$%&~^_][\w\-*+/<>=!?$%&~^]*")).read()
    row = [one for one in row if one.kind != "nl"]
    for at in range(len(row) - 1):
        if row[at].text == "(" and row[at].kind == "op" and row[at + 1].text in _LISP_KNOWN:
            _lisp_call(found, row[at + 1].text, _lisp_values(row[at : at + _LISP_REACH], 2))
    return found.code()


def _lisp_values(row: list[Token], at: int) -> list[str]:
    """The arguments of a form: its strings, `(concat ...)` of strings, and UNKNOWN."""
    values: list[str] = []
    while at < len(row) and row[at].text != ")" and len(values) < len(row):
        if row[at].kind == "str":
            values.append(row[at].text)
            at += 1
        elif row[at].text == "(":
            end = _lisp_end(row, at)
            joined = row[at + 1].text == "concat" if at + 1 < len(row) else False
            values.append("".join(_lisp_values(row[:end], at + 2)) if joined else UNKNOWN)
            at = end + 1
        else:
            values.append("" if row[at].text in {"nil", "t"} else UNKNOWN)
            at += 1
    return values


def _lisp_end(row: list[Token], at: int) -> int:
    depth = 0
    for place in range(at, len(row)):
        if row[place].kind == "op":
            depth += (row[place].text == "(") - (row[place].text == ")")
            if depth == 0:
                return place
    return len(row)


def _lisp_call(found: Found, name: str, values: list[str]) -> None:
    if name in _LISP_SHELL:
        place = 2 if name == "start-process-shell-command" else 0
        found.script(values[place] if len(values) > place else UNKNOWN)
    elif name in _LISP_PROGRAM:
        words = values[_LISP_PROGRAM[name] :]
        found.argv([words[0], *words[4:]] if name in {"call-process", "process-file"} and words else words or [UNKNOWN])
    elif name in _LISP_WRITES and len(values) > _LISP_WRITES[name]:
        found.write(values[_LISP_WRITES[name]])
    elif name in _LISP_LINKS and len(values) > 1:
        found.link(values[0], values[1], symbolic=_LISP_LINKS[name])
    elif name in _LISP_DELETES and values:
        found.delete(values[0])
    elif name == "rename-file" and len(values) > 1:
        found.delete(values[0])
        found.write(values[1])
    elif name in _LISP_OPAQUE:
        found.opaque("It starts or evaluates something that cannot be read.")
