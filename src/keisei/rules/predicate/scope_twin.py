"""Names that are two here and one on a machine whose file system ignores case or forms of Unicode."""

import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from keisei.contracts.words import shown
from keisei.records.worktree import Change
from keisei.rules.predicate.port import Contents


def twins(changes: Sequence[Change], contents: Contents) -> Iterator[str]:
    """One sentence for every new name that has a twin among the new ones or at the base. Raises WorldFault."""
    gone = {change.path for change in changes if change.status == "deleted"}
    by_fold: defaultdict[str, dict[str, None]] = defaultdict(dict)
    for name in _names(change.path for change in changes if change.status == "added"):
        by_fold[_folded(name)][name] = None
    for names in by_fold.values():
        if len(names) > 1:
            yield _told(*names)
        for name in names:
            if not contents.is_at_base(name):
                yield from (_told(name, other) for other in _spellings(name) - gone if contents.is_at_base(other))


def _told(one: str, other: str, *_more: str) -> str:
    return f"{shown(one)} and {shown(other)} are one name where case or forms of Unicode do not count"


def _names(paths: Iterable[str]) -> Iterator[str]:
    """The paths and the folders they are in."""
    for path in paths:
        parts = path.split("/")
        yield from ("/".join(parts[:count]) for count in range(1, len(parts) + 1))


def _folded(name: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


def _spellings(name: str) -> set[str]:
    """Other ways to write a name that people use; the base is asked for names, not listed."""
    head, slash, last = name.rpartition("/")
    cases = {name, name.lower(), name.upper(), *(f"{head}{slash}{each}" for each in _cases(last))}
    forms = {unicodedata.normalize(form, each) for form in ("NFC", "NFD") for each in cases}
    return (cases | forms) - {name}


def _cases(last: str) -> tuple[str, ...]:
    stem, dot, suffix = last.rpartition(".")
    return (last.lower(), last.upper(), last.capitalize(), f"{stem.upper()}{dot}{suffix.lower()}")
