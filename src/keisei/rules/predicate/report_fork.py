"""Fork audit: the report names the fork, the commit that was read, and every file of its diff."""

from collections.abc import Iterator
from typing import Final

from keisei.contracts.words import shown
from keisei.records.verification import Difference, Fork, Planned, Reply, Said
from keisei.rules.output import short
from keisei.rules.predicate.port import Forks
from keisei.rules.predicate.report import differing, reply, unreported
from keisei.rules.report import Listed, Report, listed, spoken

TARGET: Final = "fork-audit-target"
FIELDS: Final = ("fork", "fork-commit", "files-reviewed")


def fork_audit(planned: Planned, said: Said, _difference: Difference, forks: Forks) -> Reply:
    """The three fields name the task's fork, its candidate, and every file that it changes; more files do no harm.

    A fork that is not there leaves the audit unknown: what was reviewed cannot be compared with anything.
    """
    target = planned.parameters.get(TARGET)
    if not isinstance(target, str) or not target.strip():
        return Reply(status="error", told=(f"{TARGET} is {shown(target)}; the task must name the fork to audit",))
    report = spoken(said)
    if report is None:
        return unreported()
    faults = [fault for name in FIELDS if (fault := report.fault(name)) is not None]
    faults += _named(report, target.strip())
    fork = forks.find(target.strip())
    if fork is None and not faults:
        return Reply(
            status="unknown", told=(f"no candidate of {shown(target)} is there to be compared with the audit",)
        )
    return reply([*faults, *(_covered(report, fork) if fork is not None else ())])


def _named(report: Report, target: str) -> list[str]:
    fork = report.value("fork")
    return [] if fork in {None, target} else [f"fork is `{short(fork or '', 60)}`, the task names {shown(target)}"]


def _covered(report: Report, fork: Fork) -> Iterator[str]:
    commit, files = report.value("fork-commit"), report.value("files-reviewed")
    if commit is not None and commit != fork.commit:
        yield f"fork-commit is `{short(commit, 70)}`, the fork's candidate is {fork.commit}"
    if files is not None:
        left = Listed(missing=listed(files, fork.files).missing, invented=())
        yield from differing(left, "files-reviewed", "the fork changes", "")
