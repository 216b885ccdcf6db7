"""Dependencies: what manifests and lock files declare is the same before and after. They are compared as data."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from keisei.contracts.words import shown
from keisei.records.error import WorldFault
from keisei.records.problem import printable
from keisei.records.verification import Difference, Planned, Reply
from keisei.records.worktree import Change
from keisei.rules.claim import cut
from keisei.rules.predicate import (
    dependency_cargo,
    dependency_go,
    dependency_npm,
    dependency_npm_lock,
    dependency_python,
    dependency_python_lock,
    dependency_requirements,
    dependency_setup,
)
from keisei.rules.predicate.dependency_text import Fact, Unreadable
from keisei.rules.predicate.port import Contents
from keisei.rules.scope import covers

MANIFEST: Final = 2_000_000
LOCK: Final = 64_000_000
ALTOGETHER: Final = 256_000_000
"""Bytes that one candidate is read; many files could keep us busy as one large one could."""
FILES: Final = ("100644", "100755")
LINE: Final = 199
MOST: Final = 20
"""Sentences of one file; the rest is counted."""
ENOUGH: Final = 60
"""Sentences of one candidate, after which no more files are read."""

Reader = Callable[[bytes], Iterable[Fact]]
Facts = Mapping[tuple[str, bool], tuple[str, ...]]
"""The values at every place; whether it is told aside belongs to the place."""


class Form(NamedTuple):
    """How a file is read."""

    read: Reader | None
    """What finds its facts; None for a file that nobody here can read."""
    most: int = MANIFEST
    """The largest that is compared."""


FORMS: Final[Mapping[str, Form]] = {
    "cargo.toml": Form(dependency_cargo.cargo_manifest),
    "cargo.lock": Form(dependency_cargo.cargo_lock, LOCK),
    "pyproject.toml": Form(dependency_python.pyproject),
    "setup.cfg": Form(dependency_setup.setup_cfg),
    "setup.py": Form(dependency_setup.setup_py),
    "pipfile": Form(dependency_python.pipfile),
    "pipfile.lock": Form(dependency_python_lock.pipfile_lock, LOCK),
    "poetry.lock": Form(dependency_python_lock.python_lock, LOCK),
    "pdm.lock": Form(dependency_python_lock.python_lock, LOCK),
    "pylock.toml": Form(dependency_python_lock.python_lock, LOCK),
    "uv.lock": Form(dependency_python_lock.uv_lock, LOCK),
    "environment.yml": Form(dependency_python.conda_environment),
    "environment.yaml": Form(dependency_python.conda_environment),
    "conda-lock.yml": Form(dependency_python_lock.conda_lock, LOCK),
    "conda-lock.yaml": Form(dependency_python_lock.conda_lock, LOCK),
    "package.json": Form(dependency_npm.npm_manifest),
    "pnpm-workspace.yaml": Form(dependency_npm.pnpm_workspace),
    "package-lock.json": Form(dependency_npm_lock.npm_lock, LOCK),
    "npm-shrinkwrap.json": Form(dependency_npm_lock.npm_lock, LOCK),
    "pnpm-lock.yaml": Form(dependency_npm_lock.pnpm_lock, LOCK),
    "yarn.lock": Form(dependency_npm_lock.yarn_lock, LOCK),
    "bun.lock": Form(dependency_npm_lock.bun_lock, LOCK),
    "go.mod": Form(dependency_go.go_manifest),
    "go.work": Form(dependency_go.go_manifest),
    "go.sum": Form(dependency_go.go_sum, LOCK),
    "go.work.sum": Form(dependency_go.go_sum, LOCK),
}
PATTERNS: Final = (
    (re.compile(r"pylock\..+\.toml"), FORMS["pylock.toml"]),
    (re.compile(r".+\.(?:txt|in)"), Form(dependency_requirements.requirements)),
)
UNKNOWN: Final = Form(None)


def dependencies(planned: Planned, difference: Difference, contents: Contents) -> Reply:
    """No dependency is added, removed or moved, in the candidate or in what would land. Doubt is violated."""
    globs = planned.lists.get("paths", ())
    if not globs:
        return Reply(status="error", told=("the capability lists no manifests",))
    changes = dict.fromkeys((*difference.candidate, *difference.merged))
    listed = [change for change in changes if any(covers(glob, change.path, folded=True) for glob in globs)]
    try:
        return _compared(listed, contents)
    except WorldFault as fault:
        return Reply(status="error", told=(fault.message,))


def _compared(changes: list[Change], contents: Contents) -> Reply:
    faults: dict[str, None] = {}
    notes: dict[str, None] = {}
    shelf = Shelf(contents)
    for number, change in enumerate(changes):
        if len(faults) > ENOUGH:
            faults[f"{len(changes) - number} more manifests and lock files are not looked at"] = None
            break
        found = _differences(change, shelf)
        faults.update(dict.fromkeys(_few(change.path, [each.value for each in found if not each.aside])))
        notes.update(dict.fromkeys(_few(change.path, [each.value for each in found if each.aside])))
    return Reply(status="violated" if faults else "held", told=(*faults, *notes))


def _few(path: str, told: list[str]) -> list[str]:
    more = [f"has {len(told) - MOST} more changes"] if len(told) > MOST else []
    return [cut(printable(f"{shown(path)} {each}"), LINE) for each in (*told[:MOST], *more)]


class Shelf:
    """The contents, as much of them as one candidate is worth."""

    def __init__(self, contents: Contents) -> None:
        """Begin with nothing read."""
        self._contents = contents
        self._left = ALTOGETHER

    def take(self, blob: str, most: int) -> bytes:
        """One content. Raises Unreadable where it is too large or missing, and WorldFault."""
        data = self._contents.read(blob, min(most, self._left))
        if data is None:
            raise Unreadable(f"is too large to compare, or its content is missing (at most {most // 1_000_000} MB)")
        self._left -= len(data)
        return data


def _differences(change: Change, shelf: Shelf) -> list[Fact]:
    """What is different, as ends of sentences that begin with the path."""
    fault = _shape_fault(change)
    if fault is not None:
        return [Fact("", fault)]
    if change.blob == change.old_blob and change.blob:
        return []
    form = _form(change.path)
    if form.read is None:
        return [Fact("", f"was {change.status}, and what it declares cannot be read")]
    try:
        before = _facts(form.read, shelf.take(change.old_blob, form.most)) if change.status != "added" else {}
    except Unreadable as unreadable:
        return [Fact("", f"cannot be compared: before, it {unreadable}")]
    try:
        after = _facts(form.read, shelf.take(change.blob, form.most))
    except Unreadable as unreadable:
        return [Fact("", f"cannot be compared: it {unreadable}")]
    return list(_changes(before, after))


def _shape_fault(change: Change) -> str | None:
    """What cannot be right whatever is in the file."""
    if change.status == "deleted":
        return "was deleted, with what it declares"
    if change.mode not in FILES:
        return "is no file any more: what it declares is elsewhere"
    if change.status == "type-changed" or change.old_mode not in (*FILES, "000000"):
        return "was no file before: what it declared was elsewhere"
    if change.status == "added" and _form(change.path).most == LOCK:
        return "is a new lock file"
    return None


def _form(path: str) -> Form:
    name = path.rpartition("/")[2].casefold()
    return FORMS.get(name) or next((form for pattern, form in PATTERNS if pattern.fullmatch(name)), UNKNOWN)


def _facts(read: Reader, data: bytes) -> Facts:
    """The values at every place, whatever their order. Raises Unreadable."""
    found: dict[tuple[str, bool], list[str]] = {}
    try:
        for fact in read(data):
            found.setdefault((fact.place, fact.aside), []).append(fact.value)
    except (RecursionError, MemoryError) as error:
        raise Unreadable("is nested too deeply") from error
    except (ValueError, OverflowError) as error:
        raise Unreadable("holds a value that cannot be compared") from error
    return {key: tuple(sorted(values)) for key, values in found.items()}


def _changes(before: Facts, after: Facts) -> Iterator[Fact]:
    for key in sorted(before.keys() | after.keys()):
        old, new = before.get(key), after.get(key)
        if old != new:
            place, aside = key
            yield Fact(place, _sentence(place, old, new), aside)


def _sentence(place: str, old: tuple[str, ...] | None, new: tuple[str, ...] | None) -> str:
    if new is None:
        return f"no longer declares {shown(place)}"
    if old is None:
        return f"newly declares {shown(place)}: {_said(new)}"
    return f"declares {shown(place)} as {_said(_only(new, old))}, before {_said(_only(old, new))}"


def _only(these: tuple[str, ...], others: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(each for each in these if each not in others) or these


def _said(values: tuple[str, ...]) -> str:
    return shown(", ".join(values[:MOST]))
