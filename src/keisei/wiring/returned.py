"""What is kept when a harness returns: the candidate, the diff, and whether transcript and gate agree."""

from collections.abc import Iterable
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from keisei.records.attempt import GateSummary
from keisei.records.decision import GateDecision
from keisei.records.move import Claimed
from keisei.records.report import AgentReport
from keisei.records.snapshot import Entry, EntryKind, Snapshot
from keisei.records.worktree import Staged
from keisei.rules.chain import broken_at
from keisei.rules.reconcile import complaints, reconcile
from keisei.wiring.execute import Cell
from keisei.wiring.shop import GATE_LOG
from keisei.wiring.site import Site
from keisei.workspace.fingerprint import fingerprint, tampered
from keisei.workspace.stage import patch, stage

RETURNED: Final = "returned.json"
CANARY: Final = "canary-"
AFTER: Final = "post:"


class Returned(Struct, frozen=True, kw_only=True):
    """returned.json: what judging needs of an attempt that was confined, besides its result."""

    staged: Staged | None = None
    """Everything it did to its worktree."""
    tampered: tuple[str, ...] = ()
    """What changed of the repository that no agent may change."""
    audit: tuple[str, ...] | None = None
    """Where transcript and gate disagree; None for a harness that asks no gate."""
    isolation: tuple[str, ...] = ()
    """The layers that held it."""


def leavings_of(
    site: Site, claimed: Claimed, report: AgentReport, cell: Cell
) -> tuple[Returned, bytes, GateSummary | None]:
    """What an attempt leaves beside its result: returned.json, the diff, and the gate's decisions, counted."""
    decisions, broken = decisions_of(site.folder)
    staged, found, diff = kept_candidate(site, claimed.attempt.attempt_id, protected=cell.level != "none")
    gated = cell.admitted is not None
    audit = audit_of(report, decisions, broken) if gated else None
    returned = Returned(staged=staged, tampered=found, audit=audit, isolation=cell.layers)
    return returned, diff, summary_of(decisions) if gated else None


def kept_candidate(site: Site, attempt_id: str, *, protected: bool) -> tuple[Staged | None, tuple[str, ...], bytes]:
    """The candidate of an attempt that works on a repository, what was tampered with, and the diff."""
    if site.leased is None:
        return None, (), b""
    after = fingerprint(site.leased.worktree)
    staged = stage(site.leased.worktree, attempt_id, "candidate")
    found = tampered(site.before, after, protected=protected) if site.before is not None else ()
    return staged, found, patch(staged, site.leased.worktree)


def decisions_of(folder: Path) -> tuple[list[GateDecision], str | None]:
    """The gate's decisions of an attempt, and why its log is not whole; None where it is."""
    path = folder / GATE_LOG
    if not path.is_file():
        return [], None
    lines = path.read_bytes().splitlines(keepends=True)
    broken = broken_at(lines)
    whole = lines if broken is None else lines[: broken[0]]
    found = [msgspec.json.decode(line, type=GateDecision) for line in whole]
    return found, None if broken is None else f"line {broken[0] + 1} of gate.jsonl: {broken[1]}"


def audit_of(report: AgentReport, decisions: Iterable[GateDecision], broken: str | None) -> tuple[str, ...]:
    """Every way in which the transcript, the gate's log and the rules disagree. Empty: the audit holds."""
    known = [each for each in decisions if is_before_a_call(each)]
    freed = [each for each in known if each.decision == "allow" and each.cause == "error"]
    told = [f"{each.tool} ran although its gate broke: {'; '.join(each.notes) or 'no reason'}" for each in freed]
    return (*complaints(reconcile(report.tool_calls, known)), *told, *([broken] if broken else []))


def is_before_a_call(decision: GateDecision) -> bool:
    """Whether this is about a call of the agent, and not the canary's or about what a call has left."""
    return not (decision.tool_use_id or "").startswith((CANARY, AFTER))


def summary_of(decisions: Iterable[GateDecision]) -> GateSummary:
    """The decisions, counted."""
    known = [each for each in decisions if is_before_a_call(each)]
    denied = [each for each in known if each.decision == "deny"]
    allowed = [each for each in known if each.decision == "allow"]
    return GateSummary(
        allowed=len(allowed),
        denied=sum(each.cause == "rule" for each in denied),
        errors=sum(each.cause == "error" for each in denied),
        allowed_by_error=sum(each.cause == "error" for each in allowed),
    )


def snapshots(staged: Staged) -> tuple[Snapshot, Snapshot]:
    """The changed paths before and after, as verification compares folders: what could land, and nothing else."""
    before = {each.path: _entry(each.old_mode, 0) for each in staged.changes if each.status != "added"}
    after = {each.path: _entry(each.mode, 1) for each in staged.changes if each.status != "deleted"}
    return Snapshot(entries=before), Snapshot(entries=after)


KINDS: Final[dict[str, EntryKind]] = {"12": "link", "16": "folder"}


def _entry(mode: str, time: int) -> Entry:
    kind = KINDS.get(mode[:2], "file")
    return Entry(kind=kind, size=0, mtime_ns=time, ctime_ns=time, inode=time, mode=int(mode[-3:], 8))
