"""Vim commands: what they start and write, and code of other languages among them."""

import re

from keisei.records.effect import UNKNOWN
from keisei.rules.shell.code.result import Code, Found

_PREFIX = re.compile(
    r"[\s:]*(?:(?:sil(?:ent)?!?|verb(?:ose)?|noa(?:utocmd)?|keepj(?:umps)?|keepp(?:atterns)?|au\w*\s+\S+\s+\S+|"
    r"[%.$,0-9'<>a-z+-]*(?:g|global|v)!?/(?:[^/\\]|\\.)*/|bufdo|windo|argdo|tabdo)\s*)*"
)
_RANGE = re.compile(r"(?:[%.$]|\d+|'[a-z<>]|/[^/]*/|,|\+|-)*\s*")
_CALL = re.compile(
    r"\b(?:system|systemlist|job_start|jobstart|term_start|termopen)\s*\("
    r"((?:\"(?:[^\"\\]|\\.)*\"|'(?:[^']|'')*'|\[[^\]]*\]|[^)\"'\[,])*)"
)
_SHELL = r"!|r(?:ead?|e)?\s*!|w(?:rite|rit|ri|r)?\s+(?:\+\+\S+\s+)*!"
"""What hands the rest of the line to a shell. `w!` without a blank before the mark writes a file by force."""
_LANGUAGES = {
    "py": "python",
    "py3": "python",
    "python": "python",
    "python3": "python",
    "pyx": "python",
    "perl": "perl",
    "ruby": "ruby",
    "rub": "ruby",
    "lua": "lua",
    "tcl": "tcl",
}
_WRITERS = re.compile(
    r"(wa?|wr|wri|writ|write|up|update|sav|save|saveas|wq|wqa|x|xit|exi|exit|mks|mksession|mk|mkexrc|mkv|mkview|redir|"
    r"wundo|wv|wviminfo|wn|wnext|wN|wp)(!?)(?:\s+(.*)|(>>.*))?$"
)


def vim(text: str) -> tuple[Code, list[tuple[str, str]]]:
    """What vim commands start and write, and (language, code) of the code inside them."""
    found = Found()
    inner: list[tuple[str, str]] = []
    for line in text.splitlines():
        _line(found, line, inner, 0)
    return found.code(), inner


def _line(found: Found, line: str, inner: list[tuple[str, str]], depth: int) -> None:
    for match in _CALL.finditer(line):
        _called(found, match[1])
    rest = line
    while rest:
        start = _PREFIX.match(rest)
        body = rest[start.end() if start else 0 :]
        body = _RANGE.sub("", body, count=1)
        head, bar, tail = ("", "", "") if _takes_bars(body) else _bar(body)
        _command(found, head if not _takes_bars(body) else body, inner, depth)
        rest = tail if bar else ""


def _takes_bars(body: str) -> bool:
    return bool(re.match(_SHELL + r"|ter(?:m|minal)\b", body)) or body.split(" ", maxsplit=1)[0] in _LANGUAGES


def _bar(body: str) -> tuple[str, str, str]:
    """The command before the next bar that is not in quotes."""
    quote = ""
    for place, sign in enumerate(body):
        if quote:
            quote = "" if sign == quote else quote
        elif sign in "\"'" and place and body[place - 1] in " (=.,":
            quote = sign
        elif sign == "|" and body[place - 1 : place] != "\\":
            return body[:place].strip(), "|", body[place + 1 :]
    return body.strip(), "", ""


_PART = r"\"(?:[^\"\\]|\\.)*\"|'(?:[^']|'')*'"
_JOINED = re.compile(rf"(?:{_PART})(?:\s*\.{{1,2}}\s*(?:{_PART}))*")


def _text(quoted: str) -> str:
    """What a string stands for; a special key or character in it is computed."""
    if quoted[0] == "'":
        return quoted[1:-1].replace("''", "'")
    return re.sub(r"\\(.)", lambda match: match[1] if match[1] in '"\\' else UNKNOWN, quoted[1:-1])


def _called(found: Found, argument: str) -> None:
    plain = argument.strip()
    if _JOINED.fullmatch(plain):
        found.script("".join(_text(part) for part in re.findall(_PART, plain)))
    elif plain.startswith("[") and re.fullmatch(r"\[(?:\s*(?:'[^']*'|\"[^\"]*\")\s*,?)*\]", plain):
        found.argv(re.findall(r"['\"]([^'\"]*)['\"]", plain))
    else:
        found.opaque("It hands a shell text that is computed.")


def _command(found: Found, body: str, inner: list[tuple[str, str]], depth: int) -> None:
    shell = re.match(rf"(?:{_SHELL}|ter(?:m|minal)\s+|grep\w*!?\s+\||mak(?:e)?!?\s*\|)\s*(.*)", body)
    word, _, rest = body.partition(" ")
    if shell:
        found.script(shell[1])
    elif word in _LANGUAGES:
        inner.append((_LANGUAGES[word], rest.strip()))
    elif word in {"exe", "exec", "execute"}:
        _execute(found, rest.strip(), inner, depth)
    elif word in {"so", "source", "ru", "runtime", "luaf", "luafile", "pyf", "pyfile", "py3f", "py3file"}:
        return
    else:
        _written(found, body)


def _execute(found: Found, rest: str, inner: list[tuple[str, str]], depth: int) -> None:
    parts = re.fullmatch(r"(?:\s*\.*\s*(?:\"[^\"]*\"|'[^']*'))+", rest)
    if parts and depth < len("deep"):
        _line(found, "".join(re.findall(r"[\"']([^\"']*)[\"']", rest)), inner, depth + 1)
    elif UNKNOWN in rest or not parts:
        found.opaque("It evaluates code that is computed.")


def _written(found: Found, body: str) -> None:
    """`w FILE`, `w! FILE`, `w >> FILE`, `sav FILE`. The file that is being edited is not told here."""
    match = _WRITERS.match(body)
    if not match:
        return
    path = re.sub(r"^(?:\+\+\w+(?:=\S+)?\s+)*", "", match[3] or match[4] or "").strip()
    if match[1] == "redir":
        path = path.lstrip("!> ") if path.startswith((">", "!")) else ""
    path = path.removeprefix(">>").strip()
    if path != "%":
        found.write(_named(path))


def _named(path: str) -> str:
    """A file name as vim reads it: variables and the names of its own files are computed."""
    path = re.sub(r"^\$HOME\b", "~", path)
    if re.match(r"<\w+>|[%#]|`", path):
        return UNKNOWN
    return re.sub(r"(?<!\\)(?:\$\w+|[%#])", UNKNOWN, path).replace("\\", "")
