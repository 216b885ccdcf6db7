"""Scope: which globs can be judged at all, and which paths they cover, component by component."""

import re
import unicodedata
from functools import lru_cache
from itertools import product
from typing import Final

MOST: Final = 64
"""Choices of one glob, `{a,b}` written out."""
PIECE: Final = re.compile(r"\*+|\?|\[[!^]?\]?[^\]]*\]|.", re.DOTALL)


def glob_fault(glob: str) -> str | None:
    """Why a glob is not usable, or None. Globs are relative to the repository and matched component by component."""
    faults = (
        (not glob.strip(), "is empty"),
        (glob.startswith(("/", "~")), "is absolute; globs are relative to the repository"),
        (".." in glob.split("/"), "climbs out with `..`"),
        (any(char in glob for char in "\0\n\r"), "contains a control character"),
        ("\\" in glob, "contains a backslash; separators are `/`"),
        ("//" in glob or "/./" in f"/{glob}/", "contains an empty component"),
        (glob.startswith("!"), "begins with `!`; name what is forbidden in files-denylist"),
        ("[]" in glob or "{}" in glob, "has an empty choice"),
        (
            any("**" in part and part != "**" for part in glob.split("/")),
            "has `**` inside a component; `**` stands alone between slashes",
        ),
    )
    return next((sentence for wrong, sentence in faults if wrong), None) or _unbalanced(glob)


def _unbalanced(glob: str) -> str | None:
    opened = ""
    for char in glob:
        if char in "[{" and opened != "[":
            if opened:
                return f"nests `{char}` inside `{opened}`"
            opened = char
        elif (char == "]" and opened == "[") or (char == "}" and opened == "{"):
            opened = ""
        elif char == "}" and not opened:
            return "closes a `}` that was never opened"
    return f"opens a `{opened}` that is never closed" if opened else None


def covers(glob: str, path: str, *, folded: bool = False) -> bool:
    """Whether the glob covers a relative path. `**` is any number of whole components, none included.

    `folded` also compares the way a file system does that ignores case and forms of Unicode: for lists that forbid.
    """
    if _covers(glob, path):
        return True
    if not folded:
        return False
    low, any_case = _folded(path), _any_case(glob)
    return (low != path or any_case != glob) and _covers(any_case, low)


def is_within(glob: str, other: str) -> bool:
    """Whether every path that the glob covers is surely covered by the other one. Falls closed where that is not plain.

    Plain is the same glob, a path the other covers, and something below a folder that the other gives whole (`a/**`).
    """
    if other in (glob, "**"):
        return True
    if glob_fault(glob) is not None or not glob:
        return False
    if not any(char in glob for char in "*?[{"):
        return covers(other, glob)
    head = other.removesuffix("/**")
    return head != other and not any(char in head for char in "*?[{") and glob.startswith(f"{head}/")


@lru_cache(maxsize=8192)
def _covers(glob: str, path: str) -> bool:
    parts = [part for part in path.split("/") if part]
    return any(_fits(wanted, parts) for wanted in _alternatives(glob))


def could_hold(glob: str, folder: str, *, folded: bool = False) -> bool:
    """Whether something below a folder can be covered by the glob. A glob that begins with `**` is not asked."""
    parts = [part for part in (_folded(folder) if folded else folder).split("/") if part]
    return any(_holds(wanted, parts) for wanted in _alternatives(_any_case(glob) if folded else glob))


def _holds(wanted: tuple[str, ...], parts: list[str]) -> bool:
    for number, part in enumerate(parts):
        if number >= len(wanted):
            return False
        if wanted[number] == "**":
            return number > 0
        if not _matches(wanted[number], part):
            return False
    return len(parts) < len(wanted) and not (wanted[0] == "**" and parts)


def _fits(wanted: tuple[str, ...], parts: list[str]) -> bool:
    """Component by component; `reached` are the numbers of components of the path that can be used up so far."""
    if "**" not in wanted:
        return len(wanted) == len(parts) and all(map(_matches, wanted, parts))
    if wanted.index("**") == 0 and len(wanted) == 2 and wanted[1] != "**":  # noqa: PLR2004 - a name anywhere
        return bool(parts) and _matches(wanted[1], parts[-1])
    reached = {0}
    for component in wanted:
        if component == "**":
            reached = set(range(min(reached), len(parts) + 1))
        else:
            reached = {number + 1 for number in reached if number < len(parts) and _matches(component, parts[number])}
        if not reached:
            return False
    return len(parts) in reached


@lru_cache(maxsize=4096)
def _alternatives(glob: str) -> tuple[tuple[str, ...], ...]:
    """The glob's components, once for every choice of its `{a,b}`."""
    pieces = [piece[1:-1].split(",") if piece[:1] == "{" else [piece] for piece in re.split(r"(\{[^{}]*\})", glob)]
    texts = ["".join(choice) for choice, _ in zip(product(*pieces), range(MOST), strict=False)]
    return tuple(tuple(part for part in text.split("/") if part) for text in texts)


@lru_cache(maxsize=65536)
def _matches(component: str, part: str) -> bool:
    """One component. A star takes as little as it can and more when it must, so no pattern runs away."""
    if component == part:
        return True
    pieces = _pieces(component)
    at, star, kept, taken = 0, -1, 0, 0
    while taken < len(part):
        if at < len(pieces) and pieces[at] == "*":
            star, kept, at = at, taken, at + 1
        elif at < len(pieces) and _is_one(pieces[at], part[taken]):
            at, taken = at + 1, taken + 1
        elif star >= 0:
            at, kept = star + 1, kept + 1
            taken = kept
        else:
            return False
    return all(piece == "*" for piece in pieces[at:])


@lru_cache(maxsize=4096)
def _pieces(component: str) -> tuple[str, ...]:
    return tuple("*" if piece[0] == "*" else piece for piece in PIECE.findall(component))


def _is_one(piece: str, char: str) -> bool:
    if len(piece) == 1:
        return piece in ("?", char)
    body = piece[1:-1]
    negated = body[0] in "!^" and len(body) > 1
    body = body[1:] if negated else body
    ranges = re.findall(r"(.)-(.)|(.)", body, re.DOTALL)
    inside = any((low <= char <= high) if low else char == one for low, high, one in ranges)
    return inside != negated


@lru_cache(maxsize=4096)
def _any_case(glob: str) -> str:
    """The glob for a file system that ignores case: what a class leaves out, it leaves out in one case only."""
    return re.sub(r"\[[!^]\]?[^\]]*\]", "?", _folded(glob))


@lru_cache(maxsize=8192)
def _folded(text: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())
