"""Values in JavaScript: paths that are put together, and names that stand for something else each time."""

import itertools
import posixpath

from keisei.records.effect import BELOW, UNKNOWN
from keisei.rules.shell.code.deed import Either, Value
from keisei.rules.shell.code.dialect import Token
from keisei.rules.shell.code.result import SCRATCH, names
from keisei.rules.shell.code.scan import Scan, closing, split

_LISTING = frozenset(names("readdirSync readdir"))
_KEEPING = frozenset(names("filter sort slice reverse toSorted toReversed"))
_WALKING = frozenset(names("forEach map filter some every flatMap find"))
_CHANGING = frozenset(names("push unshift splice fill copyWithin pop shift"))
_REWRITING = frozenset(names("* / % | & ^ || && ? ?? << >> > **"))
_BLOCKS = frozenset(names("if while switch for with"))
_REACH = 64
_MANY = 32
_LONG = 4096
"""In code of more tokens lists are not looked up by their names."""


def value(scan: Scan, part: list[Token]) -> Value:
    """What a call of path and os, or the name of an entry of a folder, is; None where it is not known."""
    if len(part) == len("a.b") and part[2].text == "name" and scan.constants.get(part[0].text) == BELOW:
        return BELOW
    at = next((place for place, one in enumerate(part) if one.text == "(" and one.kind == "op"), len(part))
    if part[0].text == "require" and closing(part, at) + 3 < len(part):
        at = closing(part, at) + 3
    if at < 1 or at >= len(part) or closing(part, at) != len(part) - 1 or part[at - 1].kind != "word":
        return None
    name = part[at - 1].text
    if name in {"join", "resolve", "normalize"} and _of_path(part[: at - 1]):
        return _joined(scan, name, split(part[at + 1 : -1], (",",)))
    if name == "tmpdir":
        return SCRATCH
    if name in {"mkdtempSync", "mkdtemp"}:
        return _made(scan.fold(split(part[at + 1 : -1], (",",))[0])) if part[at + 1 : -1] else None
    return None


def _of_path(owner: list[Token]) -> bool:
    """Whether `join` is that of paths and not that of a list."""
    texts = [one.text for one in owner]
    return texts in ([], ["path", "."], ["path", ".", "posix", "."], ["p", "."], ["Path", "."]) or (
        texts[:2] == ["require", "("] and texts[2] in {"path", "node:path"}
    )


def _joined(scan: Scan, name: str, parts: list[list[Token]]) -> Value:
    folded = [scan.fold(one) for one in parts]
    if any(isinstance(one, list) and not isinstance(one, Either) for one in folded):
        return None
    choices = [one if isinstance(one, list) else [UNKNOWN if one is None else one] for one in folded]
    made = [_path(name, list(some)) for some in itertools.islice(itertools.product(*choices), _MANY + 1)]
    if len(made) == 1:
        return made[0]
    return Either(made) if 1 < len(made) <= _MANY else None


def _path(name: str, parts: list[str]) -> str:
    whole = posixpath.join("", *parts) if name == "resolve" else "/".join(part for part in parts if part)
    if UNKNOWN in whole or BELOW in whole:
        return whole
    return UNKNOWN if whole.startswith(SCRATCH) and ".." in whole.split("/") else posixpath.normpath(whole or ".")


def _made(prefix: Value) -> Value:
    """A new folder: scratch where such folders are, and otherwise something beside it."""
    if not isinstance(prefix, str) or ".." in prefix.split("/"):
        return None
    if prefix.startswith((SCRATCH, "/tmp/")):  # noqa: S108 - the path is told, not used
        return SCRATCH
    folder = prefix.rpartition("/")[0]
    return None if prefix.startswith(UNKNOWN) else posixpath.join(folder, BELOW)


def bind(scan: Scan) -> None:
    """Tell a scan the names that are bound by loops and functions, with what they stand for where it is known."""
    for name, bound in _bindings(scan):
        known = name not in scan.constants or scan.constants[name] == bound
        scan.constants[name] = bound if known else None


def _bindings(scan: Scan) -> list[tuple[str, Value]]:
    row = scan.tokens
    found: list[tuple[str, Value]] = []
    for at, token in enumerate(row):
        after = row[at + 1].text if at + 1 < len(row) else ""
        if token.text == "for" and token.kind == "word":
            found.extend(_looped(scan, at))
        elif token.text == "=>" and token.kind == "op":
            found.extend(_arrow(scan, at))
        elif token.text in {"]", "}"} and token.kind == "op" and after == "=":
            found.extend((one.text, None) for one in row[_back(row, at) - 1 : at] if one.kind == "word")
        elif token.text == ")" and token.kind == "op" and after == "{":
            start = _back(row, at)
            if start and row[start - 1].text not in _BLOCKS:
                found.extend((one.text, None) for one in row[start:at] if one.kind == "word")
        elif token.kind == "word" and (_counted(row, at) or _refilled(row, at)):
            found.append((token.text, None))
    return found


def _refilled(row: list[Token], at: int) -> bool:
    """`list.push(x)`."""
    return at + 2 < len(row) and row[at + 1].text == "." and row[at + 2].text in _CHANGING


def _counted(row: list[Token], at: int) -> bool:
    """`i++`, `--i`, `i *= 2`: a name that is given something new out of itself."""
    before = [one.text for one in row[max(0, at - 2) : at]]
    after = [one.text for one in row[at + 1 : at + 4] if one.kind == "op"]
    if before in (["+", "+"], ["-", "-"]) or after[:2] in (["+", "+"], ["-", "-"]) or after[:1] in (["-="], ["|="]):
        return True
    return any(sign in _REWRITING and after[place + 1 : place + 2] == ["="] for place, sign in enumerate(after[:2]))


def _looped(scan: Scan, at: int) -> list[tuple[str, Value]]:
    """`for (const name of things)`."""
    row = scan.tokens
    start = at + 2 if at + 1 < len(row) and row[at + 1].text == "await" else at + 1
    if start >= len(row) or row[start].text != "(":
        return []
    end = closing(row, start)
    inside = row[start + 1 : end]
    place = next((n for n, one in enumerate(inside[:_REACH]) if one.text in {"of", "in"} and one.kind == "word"), None)
    if place is None:
        return []
    bound = [one for one in inside[:place] if one.kind == "word" and one.text not in {"const", "let", "var"}]
    element = _element(scan, inside[place + 1 :]) if len(bound) == 1 and inside[place].text == "of" else None
    return [(one.text, element if place <= len("ab") else None) for one in bound]


def _arrow(scan: Scan, at: int) -> list[tuple[str, Value]]:
    """The parameters of an arrow; of one that walks through a list the first is known where the list is."""
    row = scan.tokens
    start = _back(row, at - 1) if at and row[at - 1].text == ")" else at - 1
    bound = [one.text for one in row[max(0, start) : at] if one.kind == "word"]
    walks = start > len("x.") and row[start - 1].text == "(" and row[start - 2].text in _WALKING
    element: Value = None
    if walks and row[start - 3].text in {".", "?."} and (len(bound) == 1 or row[start + 2].text == ","):
        element = _element(scan, row[_head(row, start - 3) : start - 3])
    return [(name, element if not place else None) for place, name in enumerate(bound)]


def _head(row: list[Token], at: int) -> int:
    """Where the value that ends before a dot starts."""
    while at > 0:
        before = row[at - 1]
        if before.kind == "op" and before.text in {")", "]"}:
            at = _back(row, at - 1)
        elif before.kind in {"word", "str"} and before.text not in {"return", "await", "of", "in"}:
            at -= 1
        else:
            return at
        if at and row[at - 1].kind == "op" and row[at - 1].text in {".", "?."}:
            at -= 1
        elif not (at and row[at].text in {"(", "["} and row[at - 1].kind == "word"):
            return at
    return at


def _element(scan: Scan, row: list[Token], depth: int = 0) -> Value:
    """What one of the things is that an expression lists."""
    if len(row) == 1 and row[0].kind == "word":
        return None if depth else _named(scan, row[0].text)
    at = next((place for place, one in enumerate(row[:_REACH]) if one.text in _LISTING), None)
    if at is None:
        folded = scan.fold(row) if row and row[0].text == "[" else None
        return Either(folded) if isinstance(folded, list) and 0 < len(folded) <= _MANY else None
    end = closing(row, at + 1)
    while end + 2 < len(row):
        if row[end + 1].text == ")" and row[0].text == "(":
            end += 1
        elif row[end + 1].text == "." and row[end + 2].text in _KEEPING:
            end = closing(row, end + 3)
        else:
            return None
    return BELOW


def _named(scan: Scan, name: str) -> Value:
    """A list by its name, where it is given once and never changed."""
    row = scan.tokens
    if len(row) > _LONG:
        return None
    given = [at for at, one in enumerate(row[:-1]) if one.text == name and row[at + 1].text in {"=", "+="}]
    changed = any(one.text == name and row[at + 1].text == "[" for at, one in enumerate(row[:-1]))
    changed |= any(one.text == name and row[at + 2].text in _CHANGING for at, one in enumerate(row[:-2]))
    if len(given) != 1 or changed or row[given[0] + 1].text != "=":
        return None
    return _element(scan, row[given[0] + 2 : scan.statement_end(given[0] + 2)], 1)


def _back(row: list[Token], at: int) -> int:
    """Where the bracket that is closed at a token opens."""
    depth = 0
    for place in range(at, max(-1, at - _REACH), -1):
        if row[place].kind == "op":
            depth += (row[place].text in ")]}") - (row[place].text in "([{")
            if depth == 0:
                return place
    return max(0, at - _REACH)
