"""Scope: a candidate touches only what its task lets it touch. Paths are judged, and where links lead."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Final

from msgspec import Struct

from keisei.contracts.words import shown
from keisei.records.error import WorldFault
from keisei.records.verification import Difference, Planned, Reply
from keisei.records.worktree import Change
from keisei.rules.claim import cut
from keisei.rules.predicate.port import Contents
from keisei.rules.predicate.repository import is_git
from keisei.rules.predicate.scope_link import LINK, Links, is_absolute, lead, read_links, readings
from keisei.rules.predicate.scope_twin import twins
from keisei.rules.scope import could_hold, covers, glob_fault

WHITELIST: Final = "files-whitelist"
DENYLIST: Final = "files-denylist"
SUBMODULE: Final = "160000"
EXECUTABLE: Final = "100755"
LINE: Final = 199


class Bounds(Struct, frozen=True, kw_only=True):
    """What may be touched."""

    allowed: tuple[str, ...] | None = None
    """Globs of which one must cover a path; None allows every path."""
    denied: tuple[str, ...] = ()
    """Globs none of which may, where case does not count either."""
    said: str = DENYLIST
    """What the denied ones are called."""


def scope(planned: Planned, difference: Difference, contents: Contents) -> Reply:
    """Every path is in the whitelist, if there is one, and none is on the denylist. Without either list: an error."""
    lists = {name: value for name, value in planned.parameters.items() if name in (WHITELIST, DENYLIST)}
    fault = _lists_fault(lists) if lists else f"the capability brings neither {WHITELIST} nor {DENYLIST}"
    if fault is not None:
        return Reply(status="error", told=(fault,))
    allowed = tuple(lists[WHITELIST]) if WHITELIST in lists else None
    return _judged(Bounds(allowed=allowed, denied=tuple(lists.get(DENYLIST, ()))), difference, contents)


def rules(planned: Planned, difference: Difference, contents: Contents) -> Reply:
    """No path is one of those that say what agents may do. Without a list of them: an error."""
    paths = planned.lists.get("paths", ())
    fault = _lists_fault({"paths": paths}) if paths else "the capability lists no paths"
    if fault is not None:
        return Reply(status="error", told=(fault,))
    return _judged(Bounds(denied=paths, said="what agents must not change"), difference, contents)


def no_writes(_planned: Planned, difference: Difference, _contents: Contents) -> Reply:
    """Nothing changed, neither in the candidate nor in what would land."""
    changes = {change.path: change.status for change in (*difference.merged, *difference.candidate)}
    told = tuple(f"{shown(path)} was {changes[path]}, and nothing may be" for path in sorted(changes))
    return Reply(status="violated" if told else "held", told=told)


def _lists_fault(lists: Mapping[str, object]) -> str | None:
    """Why lists cannot be judged by: a glob that covers nothing would let everything pass."""
    for name, globs in lists.items():
        if not isinstance(globs, list | tuple) or not all(isinstance(glob, str) for glob in globs):
            return f"{name} is no list of globs"
        faults = ((glob, glob_fault(glob)) for glob in globs)
        wrong = next(((glob, fault) for glob, fault in faults if fault is not None), None)
        if wrong is not None:
            return f"{name}: the glob {shown(wrong[0])} {wrong[1]}"
    return None


def _judged(bounds: Bounds, difference: Difference, contents: Contents) -> Reply:
    lists = (difference.candidate, difference.merged)
    try:
        faults = chain.from_iterable(_faults(bounds, changes, contents) for changes in lists)
        told = tuple(dict.fromkeys(faults))
        notes = tuple(dict.fromkeys(chain.from_iterable(_notes(changes, contents) for changes in lists)))
    except WorldFault as fault:
        return Reply(status="error", told=(fault.message,))
    return Reply(status="violated" if told else "held", told=(*told, *notes))


def _faults(bounds: Bounds, changes: Sequence[Change], contents: Contents) -> Iterator[str]:
    links = read_links(changes, contents)
    for change in changes:
        if is_git(change.path):
            yield f"{shown(change.path)} is inside a repository's own folder"
        elif (fault := _path_fault(bounds, change.path)) is not None:
            yield f"{shown(change.path)} is {fault}"
        if change.mode == SUBMODULE:
            yield f"{shown(change.path)} is a submodule, {change.status}: its files cannot be judged"
        if change.mode == LINK:
            yield from _link_faults(bounds, change.path, links)


def _path_fault(bounds: Bounds, path: str) -> str | None:
    found = next((glob for glob in bounds.denied if covers(glob, path, folded=True)), None)
    if found is not None:
        return f"on {bounds.said}: {shown(found)}"
    if bounds.allowed is not None and not any(covers(glob, path) for glob in bounds.allowed):
        return f"outside {WHITELIST}"
    return None


def _link_faults(bounds: Bounds, path: str, links: Links) -> Iterator[str]:
    target = links[path]
    if target is None:
        yield f"the link {shown(path)} has a target that cannot be read"
        return
    faults = (_target_fault(bounds, path, reading, links) for reading in readings(target))
    fault = next((each for each in faults if each is not None), None)
    if fault is not None:
        yield cut(f"the link {shown(path)} leads to {shown(target)}, {fault}", LINE)


def _target_fault(bounds: Bounds, path: str, target: str, links: Links) -> str | None:
    if is_absolute(target):
        return "which is absolute"
    end = lead(path, target, links)
    if end is None:
        return "which is out of the repository"
    if is_git(target) or is_git(end):
        return "which is a repository's own folder"
    if any(could_hold(glob, end, folded=True) for glob in bounds.denied):
        return f"which holds something on {bounds.said}"
    fault = _path_fault(bounds, end)
    return f"which is {fault}" if fault is not None else None


def _notes(changes: Sequence[Change], contents: Contents) -> Iterator[str]:
    for change in changes:
        if change.mode == EXECUTABLE != change.old_mode:
            yield f"{shown(change.path)} is executable now"
    yield from twins(changes, contents)
