"""Replay: an attempt once more, from what the ledger and its evidence say. Nothing runs that an agent would see.

Three questions, each with its own answer. Is the evidence what the ledger says, and the bundle what it was? Would
today's files make the same bundle, and if not, what has drifted? Would today's rules judge the same calls and the same
candidate as they were judged then?
"""

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any, Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from keisei.records.attempt import TaskAttempt
from keisei.records.bundle import BundleRecord
from keisei.records.error import KeiseiError, OperatorError, Refused
from keisei.records.ledger import LedgerEntry
from keisei.records.move import EntryQuery
from keisei.rules.bundle_hash import bundle_hash
from keisei.rules.evidence import Keys, keys_of
from keisei.rules.policy import Policy, policy_digest
from keisei.wiring.briefing import brief_of
from keisei.wiring.past import PastJudge, Tree
from keisei.wiring.replay_bundle import Case, place_of, policy_then, recompiled
from keisei.wiring.replay_drift import Drift, differences
from keisei.wiring.replay_finding import Rejudged, asked_again, asked_then
from keisei.wiring.replay_gate import Past, judged_again
from keisei.wiring.returned import returned_of
from keisei.wiring.shop import GATE_LOG, Shop
from keisei.wiring.spawn import called
from keisei.workspace.contents import BlobReader
from keisei.workspace.ref import find_ref

SETTLED: Final = "attempt_settled"
FORKED: Final = "agent_forked"
MANY: Final = 1000
NOT_ASKED: Final = "nobody asked any then: the attempt did not come so far, or its task has no role's rules to hold"


class Replay(Struct, frozen=True, kw_only=True):
    """What a replay came to."""

    attempt_id: str
    """Which attempt."""
    rows: tuple[int, ...]
    """Ledger rows it was read from."""
    complaints: tuple[str, ...]
    """Where evidence, ledger and store disagree about the past; nothing else counts then."""
    drift: tuple[Drift, ...] = ()
    """What today's files would put into the bundle instead."""
    inputs: tuple[str, str | None] = ("", None)
    """The hash of the inputs, then and today; null where none could be made."""
    bundle_fault: str | None = None
    """Why no bundle could be made today."""
    gate: dict[str, Any] | None = None
    """Every recorded call, judged again; null where no gate was asked."""
    gate_fault: str | None = None
    """Why they could not be judged."""
    findings: tuple[Rejudged, ...] = ()
    """Every predicate that was asked then and whose candidate is still there, asked again."""
    findings_note: str | None = None
    """Why there was nothing to ask again."""
    findings_fault: str | None = None
    """Why they could not be asked."""

    @property
    def is_same(self) -> bool:
        """Whether nothing has drifted and nobody would judge otherwise, as far as anybody can tell."""
        judged = self.gate is None or (
            self.gate["chain"] == "whole" and not any(each["changed"] for each in self.gate["calls"])
        )
        faults = (self.bundle_fault, self.gate_fault, self.findings_fault)
        made = not self.complaints and not self.drift and self.inputs[0] == self.inputs[1]
        return made and judged and not any(faults) and all(each.was == each.now for each in self.findings)


def replay(shop: Shop, attempt: TaskAttempt, *, asks: bool = True) -> Replay:
    """Replay an attempt; `asks` says whether its verifies are run again.

    Raises Refused of one that is not over, OperatorError where there is nothing to replay it from.
    """
    keys = keys_of(attempt.attempt_id, attempt.started_at)
    raw, bundle = _kept(shop, attempt, keys)
    rows = _rows(shop, attempt)
    complaints = tuple(_complaints(shop, keys, rows, raw, bundle))
    found = Replay(attempt_id=attempt.attempt_id, rows=tuple(row.seq for row in rows), complaints=complaints)
    if complaints:
        return found
    case = Case(shop, shop.registry(), attempt, bundle, msgspec.json.decode(raw))
    found = _compiled_again(case, found)
    try:
        found = replace(found, gate=_gate(case, keys))
    except KeiseiError as error:
        found = replace(found, gate_fault=error.message)
    return _asked_again(case, found) if asks else found


# --- the past ---------------------------------------------------------------------------------------------------------


def _kept(shop: Shop, attempt: TaskAttempt, keys: Keys) -> tuple[bytes, BundleRecord]:
    """The bundle as evidence and as a row. Raises Refused, OperatorError."""
    name = f"attempt {attempt.attempt_id}"
    if attempt.ended_at is None:
        raise Refused(f"{name} is not over yet", "replay it when it is")
    bundle = shop.store.bundle(attempt.attempt_id)
    if bundle is None:
        raise OperatorError(
            f"{name} ended before it had a bundle, so there is nothing to replay",
            f"`keisei attempt show {attempt.attempt_id}` says why it ended",
        )
    raw = shop.evidence.get(keys.bundle)
    if raw is None:
        ran = next((each.host for each in shop.store.runners(gone=True) if each.runner_id == attempt.runner_id), None)
        where = f"it ran on `{ran.partition('/')[0]}`; replay it there" if ran else "its evidence is kept where it ran"
        raise OperatorError(f"the evidence of {name} is not on this machine", f"{where}, unless it was removed")
    return raw, bundle


def _rows(shop: Shop, attempt: TaskAttempt) -> list[LedgerEntry]:
    """The engine's rows about an attempt, oldest first."""
    settled = shop.store.find_entries(EntryQuery(subject=attempt.attempt_id, kind=SETTLED, source="engine"))
    task = shop.store.task(attempt.task_id)
    own = called(shop, shop.registry(), task).own if task is not None else attempt.attempt_id
    forks = shop.store.find_entries(EntryQuery(subject=own, kind=FORKED, source="engine", limit=MANY))
    mine = [row for row in forks if row.body.get("attempt_id") == attempt.attempt_id]
    return sorted((*settled, *mine), key=lambda row: row.seq)


def _complaints(shop: Shop, keys: Keys, rows: list[LedgerEntry], raw: bytes, bundle: BundleRecord) -> Iterator[str]:
    try:
        found = bundle_hash(msgspec.json.decode(raw))
    except (msgspec.DecodeError, ValueError, AttributeError):
        yield "bundle.json is no bundle any more"
        return
    if found != bundle.bundle_hash:
        yield f"bundle.json has the hash {found}, and the store says {bundle.bundle_hash}"
    if not any(row.kind == SETTLED for row in rows):
        yield "the ledger has no row that the attempt was settled: it is open, or was lost"
    for row in rows:
        told = row.body.get("bundle_hash")
        if told not in (None, found):
            yield f"row {row.seq} says that the bundle has the hash {told}"
        for name, digest in (row.body.get("evidence") or {}).items():
            stored = shop.evidence.stored(keys.of(name))
            if stored is None:
                yield f"evidence `{name}` is missing; row {row.seq} tells of it"
            elif stored.sha256 != digest:
                yield f"evidence `{name}` is not what row {row.seq} tells of"


# --- today ------------------------------------------------------------------------------------------------------------


def _compiled_again(case: Case, found: Replay) -> Replay:
    then = case.bundle.inputs_hash
    try:
        compiled = recompiled(case)
    except KeiseiError as error:
        return replace(found, bundle_fault=error.message, inputs=(then, None))
    drift = tuple(differences(case.document, msgspec.json.decode(compiled.document)))
    return replace(found, drift=drift, inputs=(then, compiled.record.inputs_hash))


def _gate(case: Case, keys: Keys) -> dict[str, Any] | None:
    """Every call the gate judged, judged by today's rules, the worktree as it was. Raises KeiseiError."""
    raw = case.shop.evidence.get(keys.of(GATE_LOG))
    if raw is None:
        return None
    policy = policy_then(case, brief_of(case.registry, case.task))
    if policy is None:
        raise OperatorError("today no gate stands around this attempt: its role or its adapter is another")
    with ExitStack() as stack:
        own = (policy.worktree, str(place_of(case).room), *policy.scratch)
        judges = tuple(PastJudge(tree, own) for tree in _trees(case, keys, policy, stack)) or (PastJudge(None, own),)
        return judged_again(raw.splitlines(), policy, GATE_LOG, Past(judges, policy_digest(policy)))


def _trees(case: Case, keys: Keys, policy: Policy, stack: ExitStack) -> Iterator[Tree]:
    """The worktree as the attempt left it, and as it began, as far as the repository still has them."""
    returned = returned_of(case.shop, keys)
    staged = returned.staged if returned is not None else None
    base = case.bundle.workspace.commit if case.bundle.workspace is not None else None
    if case.shop.yard is None or (staged is None and (base is None or policy.worktree == policy.main)):
        return
    try:
        common = case.shop.yard.facts(looks=False).common_dir
    except KeiseiError:
        return
    blobs = stack.enter_context(BlobReader(common))
    left = staged or find_ref(common, "salvage", case.attempt.attempt_id)  # what a dead runner's attempt had written
    for commit in dict.fromkeys(filter(None, (left.commit if left is not None else None, base))):
        try:
            yield Tree(policy.worktree, common, commit, blobs)
        except KeiseiError:
            continue  # collected as garbage; what it held is then unknown


def _asked_again(case: Case, found: Replay) -> Replay:
    if not asked_then(case):
        return replace(found, findings_note=NOT_ASKED)
    try:
        return replace(found, findings=asked_again(case))
    except KeiseiError as error:
        return replace(found, findings_fault=error.message)
