"""What is kept when a harness returns: the candidate, the diff, and whether transcript and gate agree."""

import re
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Final, TypeVar

import msgspec
from msgspec import Struct

from keisei.records.attempt import GateSummary, Usage
from keisei.records.decision import GateDecision
from keisei.records.error import WorldFault
from keisei.records.move import Claimed
from keisei.records.report import AgentReport
from keisei.records.snapshot import Entry, EntryKind, Snapshot
from keisei.records.worktree import Staged, Worktree
from keisei.rules.chain import broken_at
from keisei.rules.evidence import Keys
from keisei.rules.reconcile import complaints, reconcile
from keisei.rules.redact import MARK, SHORTEST, Redactor
from keisei.rules.refusal import Refusals, is_before_a_call, refusals
from keisei.wiring.execute import Cell
from keisei.wiring.shop import GATE_LOG, Shop
from keisei.wiring.site import Site
from keisei.workspace.fingerprint import fingerprint, tampered
from keisei.workspace.git import asked, checked
from keisei.workspace.name import spelled
from keisei.workspace.stage import patch, stage

T = TypeVar("T")
RETURNED: Final = "returned.json"
LARGEST: Final = 256 * 1024 * 1024
"""Bytes of a gate's log that are read; its attempt may ask whatever it likes, as often as it likes."""
SENTENCES: Final = 20
CHANGES: Final = 100_000
"""Changed paths of one attempt; empty files cost an agent nothing, and each costs whoever judges."""
NAMED: Final = 500
"""Paths that one command takes."""
TELLING: Final = 12
"""Bytes from which on a value of an env_file is hardly a word that anybody may write."""
ADDRESS: Final = re.compile(rb"https?://[^@?\s]*")
NO_CALLS: Final = "the gate judged calls, and the transcript tells of none"


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
    refused: Refusals | None = None
    """What the gate refused."""


def returned_of(shop: Shop, keys: Keys) -> Returned | None:
    """What a confined attempt has left beside its result; None of any other. Raises WorldFault."""
    raw = shop.evidence.get(keys.of(RETURNED))
    return None if raw is None else decoded(raw, keys.of(RETURNED), Returned)


def decoded(raw: bytes, key: str, kind: type[T]) -> T:
    """An evidence file as data. Raises WorldFault where it cannot be read."""
    try:
        return msgspec.json.decode(raw, type=kind)
    except msgspec.DecodeError as error:
        message = f"evidence `{key}` cannot be read: {error}"
        raise WorldFault(message, "`keisei task retry` runs the task again") from error


def leavings_of(  # noqa: PLR0913, PLR0917 - what was left, by whom, and what explains it
    site: Site,
    claimed: Claimed,
    report: AgentReport,
    cell: Cell,
    secrets: Collection[str] = (),
    landed: Collection[str] = (),
) -> tuple[Returned, bytes, GateSummary | None]:
    """What an attempt leaves beside its result: returned.json, the diff, and the gate's decisions, counted.

    A candidate holds what the attempt wrote, byte for byte. Where that is one of its secrets, it is told as a fault of
    the attempt, and the diff is without it.
    """
    decisions, broken = decisions_of(site.folder)
    safe = cell.level != "none"
    staged, found, diff = kept_candidate(site, claimed.attempt.attempt_id, protected=safe, landed=landed)
    known = [each.encode() for each in secrets if len(each) >= SHORTEST and "\n" not in each]
    if staged is not None and site.leased is not None:
        staged, found = bounded(staged, found)
        found = (*found, *strayed(staged, site.protect), *holding(staged, site.leased.worktree, known))
    for each in known:
        diff = diff.replace(each, MARK.encode())
    gated = cell.admitted is not None
    audit = audit_of(report, decisions, broken) if gated else None
    refused = refusals(decisions, Redactor((*secrets, *cell.secrets))) if gated else None
    returned = Returned(staged=staged, tampered=found, audit=audit, isolation=cell.layers, refused=refused)
    return returned, diff, summary_of(decisions) if gated else None


def kept_candidate(
    site: Site, attempt_id: str, *, protected: bool, landed: Collection[str] = ()
) -> tuple[Staged | None, tuple[str, ...], bytes]:
    """The candidate of an attempt that works on a repository, what was tampered with, and the diff.

    A branch that stands on a commit which has `landed` was moved by keisei itself.
    """
    if site.leased is None:
        return None, (), b""
    after = fingerprint(site.leased.worktree)
    staged = stage(site.leased.worktree, attempt_id, "candidate")
    found = tampered(site.before, after, protected=protected, landed=landed) if site.before is not None else ()
    return staged, found, patch(staged, site.leased.worktree)


def bounded(staged: Staged, found: tuple[str, ...]) -> tuple[Staged, tuple[str, ...]]:
    """A candidate whose changes can be judged one by one. More than that is a fault; the commit holds all of them."""
    more = len(staged.changes) - CHANGES
    if more <= 0:
        return staged, found
    told = f"{len(staged.changes)} paths were changed, more than {CHANGES}"
    return msgspec.structs.replace(staged, changes=staged.changes[:CHANGES]), (*found, told)


def strayed(staged: Staged, protect: Iterable[str]) -> tuple[str, ...]:
    """Changes of what the task may not change, one sentence each. The kernel cannot close what is not there yet."""
    closed = [each.casefold() for each in protect]
    return tuple(
        f"`{change.path}` was {change.status}, and the task does not name it"
        for change in staged.changes
        if any(f"{change.path.casefold()}/".startswith(f"{each}/") for each in closed)
    )[:SENTENCES]


def holding(staged: Staged, worktree: Worktree, secrets: Iterable[bytes]) -> tuple[str, ...]:
    """Changed files in which a secret stands as it is, one sentence each. Raises WorldFault.

    What the base holds already is no secret, nor is an address or what is as short as a word.
    """
    changed = {each.path for each in staged.changes if each.status != "deleted"}
    wanted = [each for each in secrets if len(each) >= TELLING and not ADDRESS.fullmatch(each)]
    if not _holders(staged.commit, worktree, wanted, changed):
        return ()
    hidden = [each for each in wanted if not _holders(staged.base, worktree, [each])]
    paths = _holders(staged.commit, worktree, hidden, changed)
    return tuple(f"`{path}` holds a secret of the attempt's environment" for path in sorted(paths)[:SENTENCES])


def _holders(commit: str, worktree: Worktree, words: Sequence[bytes], among: Collection[str] | None = None) -> set[str]:
    """Files of a commit that hold one of these words."""
    if not words or (among is not None and not among):
        return set()
    command = ["grep", "-l", "-z", "-a", "-F", "-f", "-", commit]
    if among is not None and len(among) <= NAMED and not any("\\" in path for path in among):
        command += ["--", *sorted(among)]  # quicker, where every name is as it is
    around = {"GIT_DIR": worktree.common_dir, "GIT_LITERAL_PATHSPECS": "1"}
    done = asked(command, around, worktree.common_dir, given=[b"\n".join(words) + b"\n"])
    told = b"" if done.code == 1 else checked(command, done)  # 1: none
    found = {spelled(each.partition(b":")[2]) for each in told.split(b"\0")[:-1]}
    return found if among is None else found & set(among)


def decisions_of(folder: Path) -> tuple[list[GateDecision], str | None]:
    """The gate's decisions of an attempt, and why its log is not whole; None where it is."""
    path = folder / GATE_LOG
    if not path.is_file():
        return [], None
    if path.stat().st_size > LARGEST:
        return [], f"gate.jsonl is larger than {LARGEST} bytes, so that nobody reads it"
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
    missing = [NO_CALLS] if _is_emptied(report, known) else []
    return (*complaints(reconcile(report.tool_calls, known)), *told, *missing, *([broken] if broken else []))


def _is_emptied(report: AgentReport, known: Iterable[GateDecision]) -> bool:
    """Whether a harness that ended well tells of no call, and the gate was asked: its programs may write there too."""
    return report.error is None and not report.tool_calls and any(each.tool_use_id for each in known)


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


def usage_of(told: Usage | None, counted: Usage | None) -> Usage | None:
    """What an attempt has used: as the model's server told the relay, and for the rest as the harness says.

    A harness whose stream was cut says 0, and an agent may write into what a harness says.
    """
    if told is None or counted is None:
        return counted or told
    known = {name: value for name, value in msgspec.structs.asdict(counted).items() if value is not None}
    return msgspec.structs.replace(told, **known)


def snapshots(staged: Staged) -> tuple[Snapshot, Snapshot]:
    """The changed paths before and after, as verification compares folders: what could land, and nothing else."""
    before = {each.path: _entry(each.old_mode, 0) for each in staged.changes if each.status != "added"}
    after = {each.path: _entry(each.mode, 1) for each in staged.changes if each.status != "deleted"}
    return Snapshot(entries=before), Snapshot(entries=after)


KINDS: Final[dict[str, EntryKind]] = {"12": "link", "16": "folder"}


def _entry(mode: str, time: int) -> Entry:
    kind = KINDS.get(mode[:2], "file")
    return Entry(kind=kind, size=0, mtime_ns=time, ctime_ns=time, inode=time, mode=int(mode[-3:], 8))
