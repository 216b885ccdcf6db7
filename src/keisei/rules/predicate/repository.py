"""The repository itself: nobody but the orchestrator changes it, whatever git is called where it lands."""

import re
from typing import Final

from keisei.contracts.words import shown
from keisei.records.verification import Difference, Planned, Reply
from keisei.rules.predicate.port import Contents
from keisei.rules.scope import covers

GIT: Final = re.compile(
    r"(?:\.git|git~1)[ .]*(?::.*)?",  # NTFS drops spaces and dots at the end, and reads a stream after a colon
    re.IGNORECASE | re.DOTALL,
)
IGNORED_BY_HFS: Final = re.compile("[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]")


def git_state(planned: Planned, difference: Difference, _contents: Contents) -> Reply:
    """Refs, index, hooks and configuration are as they were, and no file of the candidate is git's own."""
    globs = planned.lists.get("paths", ())
    paths = dict.fromkeys(change.path for change in (*difference.candidate, *difference.merged))
    touched = [path for path in paths if is_git(path) or any(covers(glob, path, folded=True) for glob in globs)]
    told = (*difference.tampered, *(f"{shown(path)} is inside a repository's own folder" for path in touched))
    return Reply(status="violated" if told else "held", told=told)


def git_scope(planned: Planned, difference: Difference, contents: Contents) -> Reply:
    """Looking leaves no trace, so the same holds as for those who may not even look."""
    return git_state(planned, difference, contents)


def is_git(path: str) -> bool:
    """Whether a part of a path is `.git`, here or on a file system that ignores case, spaces or marks."""
    return any(
        GIT.fullmatch(part) for whole in {path, IGNORED_BY_HFS.sub("", path)} for part in re.split(r"[/\\]", whole)
    )
