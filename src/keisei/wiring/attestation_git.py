"""What a repository says to an attestation: the commit, its tree, what it follows, and what was merged."""

import tempfile
from pathlib import Path
from typing import Final, NamedTuple

from keisei.records.error import KeiseiError
from keisei.rules.attestation_fact import Facts
from keisei.workspace.branch import tip_of
from keisei.workspace.git import asked
from keisei.workspace.merge import is_ancestor, merge, named

LARGEST: Final = 16 * 1024 * 1024


class Looked(NamedTuple):
    """What came of looking."""

    faults: tuple[str, ...]
    """Claims that the repository does not bear out."""
    told: tuple[str, ...]
    """What could not be checked, or a person should know."""


def look(common_dir: str, facts: Facts) -> Looked:
    """Hold the claims about git against a repository. Raises WorldFault where git fails."""
    commit = facts.made.text("after") if facts.made is not None else facts.candidate
    if commit is None:
        return Looked((), ())
    try:
        found = _commit(common_dir, commit)
    except KeiseiError as error:
        return Looked((f"git:commit: {error.message}",), ())
    if found is None:
        return Looked((f"git:commit: the repository has no commit {commit}",), ())
    faults, told = _landed(facts, *found) if facts.made is not None else [], []
    if facts.made is not None:
        branch = facts.made.text("branch") or ""
        tip = tip_of(common_dir, branch)
        if tip is None or not is_ancestor(common_dir, commit, tip):
            told.append(f"the branch `{branch}` does not hold {commit[:12]} any more")
    again = _merged(common_dir, facts)
    if again is not None and again != facts.tree:
        faults.append(f"git:tree: it says {facts.tree}, candidate and branch merge to {again or 'conflicts'}")
    elif again is None and facts.landing is not None:
        told.append("not checked: what candidate and branch merge to; their commits are not all here")
    return Looked(tuple(faults), tuple(told))


def _commit(common_dir: str, commit: str) -> tuple[dict[str, list[str]], str] | None:
    """The headers and the message of a commit; None where there is none."""
    words = ("cat-file", "commit", named(commit))
    done = asked(words, {"GIT_DIR": common_dir}, common_dir, most=LARGEST)
    if done.code != 0 or done.cut:
        return None
    head, _, message = done.out.decode("utf-8", "replace").partition("\n\n")
    headers: dict[str, list[str]] = {}
    for line in head.splitlines():
        name, _, value = line.partition(" ")
        headers.setdefault(name, []).append(value)
    return headers, message


def _landed(facts: Facts, headers: dict[str, list[str]], message: str) -> list[str]:
    """What does not hold of the commit that landed."""
    made, lines = facts.made, message.splitlines()
    if made is None:
        return []
    faults = []
    if headers.get("tree") != [facts.tree]:
        faults.append(f"git:tree: it says {facts.tree}, the commit has {', '.join(headers.get('tree', []))}")
    if headers.get("parent") != [made.text("before")]:
        faults.append(f"before: it says {made.text('before')}, the commit follows {headers.get('parent', [])}")
    trailers = {"Attempt": facts.attempt_id, "Task": facts.settled.text("task_id"), "Landing": made.subject}
    faults += [
        f"git:commit: its message has no line `Keisei-{name}: {value}`"
        for name, value in trailers.items()
        if f"Keisei-{name}: {value}" not in lines
    ]
    return faults


def _merged(common_dir: str, facts: Facts) -> str | None:
    """The tree that candidate and branch merge to, empty for conflicts; None where that cannot be found out."""
    landing, staged = facts.landing, facts.returned.staged
    before = landing.text("before") if landing is not None else None
    if before is None or staged is None or facts.candidate is None:
        return None
    try:
        with tempfile.TemporaryDirectory(prefix="keisei-") as scratch:
            return merge(common_dir, Path(scratch), before, facts.candidate, staged.base).tree or ""
    except KeiseiError:
        return None
