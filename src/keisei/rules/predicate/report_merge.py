"""Merge result: what the report says of a merge is what the merge itself gives."""

import re
from typing import Final

from keisei.records.verification import Difference, Planned, Reply, Said
from keisei.rules.output import short
from keisei.rules.predicate.port import Forks
from keisei.rules.predicate.report import differing, reply, unreported, words
from keisei.rules.report import Report, is_nothing, listed, spoken

COMMIT: Final = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
FIELDS: Final = ("merged", "conflicts", "commit")


def merge_result(planned: Planned, said: Said, _difference: Difference, forks: Forks) -> Reply:
    """The fields agree with each other, the commit is there, and it merges, or conflicts, just as they say."""
    required = words(planned, "fields")
    if required is None:
        return Reply(status="error", told=("fields is no list of field names",))
    report = spoken(said)
    if report is None:
        return unreported()
    faults = [fault for name in dict.fromkeys((*FIELDS, *required)) if (fault := report.fault(name)) is not None]
    return reply(faults or _disagreeing(report) or _untrue(report, forks))


def _disagreeing(report: Report) -> list[str]:
    """What is wrong with the three fields whatever the repository holds."""
    merged, conflicts, commit = (report.value(name) or "" for name in FIELDS)
    if merged not in {"yes", "no"}:
        return [f"merged is `{short(merged, 60)}`, which is neither yes nor no"]
    if not is_nothing(commit) and not COMMIT.fullmatch(commit):
        return [f"commit is `{short(commit, 80)}`, which is no full commit id"]
    if merged == "yes" and not is_nothing(conflicts):
        return [f"merged: yes goes only with conflicts: none, not with {short(conflicts, 100)}"]
    if is_nothing(commit) and (merged == "yes" or not is_nothing(conflicts)):
        return ["without a commit nothing merges and nothing conflicts"]
    return []


def _untrue(report: Report, forks: Forks) -> list[str]:
    """What the merge itself says against the report; a report of no candidate has nothing to be compared."""
    merged, conflicts, commit = (report.value(name) or "" for name in FIELDS)
    if is_nothing(commit):
        return []
    real = forks.conflicts(commit) if forks.has_commit(commit) else None
    if real is None:
        return [f"the repository has no commit {commit}"]
    faults = list(differing(listed(conflicts, real), "conflicts", "conflicts with main", "does not conflict"))
    if (merged == "yes") != (not real):
        truth = f"conflicts with main in {len(real)} files" if real else "merges with main as it is"
        faults.insert(0, f"merged is {merged}, but {commit[:12]} {truth}")
    return faults
