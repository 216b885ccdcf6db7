"""Judgement: what an attempt left is decoded and verified, from evidence and the folders alone."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from keisei.engine.attempt import Judged
from keisei.engine.gather import task_file
from keisei.engine.verify import Case, verify
from keisei.engine.workflow import state_of
from keisei.records.artifact import ArtifactRecord
from keisei.records.error import IllegalMove, WorldFault
from keisei.records.finding import FindingRecord
from keisei.records.id import FindingId
from keisei.records.move import Claimed
from keisei.records.snapshot import Looked, Snapshot
from keisei.records.task import TaskRecord
from keisei.records.task_type import TaskTypeSpec
from keisei.rules.answer_contract import accepted_signals
from keisei.rules.claim import Claim
from keisei.rules.evidence import Keys, keys_of
from keisei.rules.outcome import decode, judge
from keisei.wiring.registry import CatalogRegistry
from keisei.wiring.returned import RETURNED, Returned, snapshots
from keisei.wiring.shop import BEFORE, Before, Result, Shop
from keisei.workspace.file import look, look_at
from keisei.workspace.snapshot import take

T = TypeVar("T")
UNRUN: Final = "not run: verification on the merged tree comes with a later version; look at the candidate yourself"


def judged(shop: Shop, claimed: Claimed) -> Judged:
    """What the evidence says. Raises WorldFault where the evidence is not on this machine."""
    keys = keys_of(claimed.attempt.attempt_id, claimed.attempt.started_at)
    result = _read(shop, keys.result, Result)
    registry = shop.registry()
    spec = registry.task_type(claimed.task.task_type)
    by_exit_code = spec.success_policy is not None and bool(spec.success_policy.complete_by_exit_code)
    plain = claimed.attempt.adapter_kind == "script"
    claim = decode(result.report, result.ended, complete_by_exit_code=by_exit_code and plain)
    findings, artifacts = _verified(shop, claimed, spec, claim, keys)
    if claim.outcome.status == "completed":
        findings += _unrun(shop, registry, spec, claimed)
    verdict = judge(claim, findings)
    _keep(shop, claimed, keys, msgspec.json.format(msgspec.json.encode(findings)))
    profile = registry.profile(claimed.task.requested_profile_id)
    return Judged(
        exit_status=verdict.exit_status,
        outcome=verdict.outcome,
        error=verdict.error,
        retry_after_s=verdict.retry_after_s,
        findings=tuple(findings),
        artifacts=tuple(artifacts),
        evidence=evidence_digests(shop, keys),
        profile=profile,
        escalation=registry.escalation(profile.role),
        questions=claim.questions,
    )


def _verified(
    shop: Shop, claimed: Claimed, spec: TaskTypeSpec, claim: Claim, keys: Keys
) -> tuple[list[FindingRecord], list[ArtifactRecord]]:
    before = _read(shop, keys.of(BEFORE), Before)
    folder = shop.artifact_folder(claimed.task)
    returned = _returned(shop, keys)
    work_before, work_after = _work(before, returned)
    case = Case(
        task=claimed.task,
        attempt_id=claimed.attempt.attempt_id,
        task_type=spec,
        claim=claim,
        artifact_folders=(str(folder), str(folder.resolve())),
        artifacts_before=before.artifacts,
        artifacts_after=take(folder),
        working_folders=(before.cwd,),
        work_before=work_before,
        work_after=work_after,
        tampered=returned.tampered if returned is not None else (),
        audit=returned.audit if returned is not None else None,
        signals=_signals(shop, claimed.task),
        proofs=shop.proofs(claimed.task),
        proofs_before=before.proofs,
    )
    return verify(case, _Eyes(shop, folder))


def _unrun(shop: Shop, registry: CatalogRegistry, spec: TaskTypeSpec, claimed: Claimed) -> list[FindingRecord]:
    """What the role's capabilities would verify on the merged tree, and nobody has: said, and never silent."""
    file = task_file(spec, claimed.task)
    if file is None:
        return []
    elevated = set(file.elevate.capabilities) if file.elevate is not None else set()
    names = [each for each in registry.material.resolved_role(file.task.role).capabilities if each not in elevated]
    verifies = [(name, registry.catalog.capability(name).verify) for name in names]
    return [
        FindingRecord(
            finding_id=FindingId(shop.new_id()),
            attempt_id=claimed.attempt.attempt_id,
            capability=name,
            status="skipped",
            severity="warn",
            reason=UNRUN,
            run_from="merged",
            duration_ms=0.0,
            created_at=shop.store.now(),
        )
        for name, part in verifies
        if part is not None and part.when == "on-return"
    ]


def _returned(shop: Shop, keys: Keys) -> Returned | None:
    """What a confined attempt has left beside its result; None of any other."""
    there = shop.evidence.get(keys.of(RETURNED)) is not None
    return _read(shop, keys.of(RETURNED), Returned) if there else None


def _work(before: Before, returned: Returned | None) -> tuple[Snapshot | None, Snapshot | None]:
    """The working folder before and after. Of a worktree only what could land counts: ignored files never do."""
    if returned is not None and returned.staged is not None:
        return snapshots(returned.staged)
    return before.workspace, take(Path(before.cwd))


def _signals(shop: Shop, task: TaskRecord) -> tuple[str, ...] | None:
    """What the workflow that waits for this task accepts."""
    state = state_of(shop.store, task)
    return None if state is None else tuple(each.signal for each in accepted_signals(task.payload, state))


def _keep(shop: Shop, claimed: Claimed, keys: Keys, findings: bytes) -> None:
    """Store the findings; a second judgement, after a crash between evidence and settlement, beside the first."""
    try:
        shop.evidence.put(keys.findings, findings)
    except IllegalMove:
        shop.evidence.put(keys.of(f"findings-{claimed.attempt.fence}.json"), findings)


class _Eyes:
    """What verification asks of the world, answered by this machine."""

    def __init__(self, shop: Shop, folder: Path) -> None:
        self._shop, self._folder = shop, folder

    def look(self, relative: str) -> Looked:
        """One file of the artifact folder."""
        return look(self._folder, relative)

    def look_at(self, path: str) -> Looked:
        """One file anywhere."""
        return look_at(path)

    def ignored(self, paths: Sequence[str]) -> frozenset[str]:  # noqa: ARG002 - a port; nothing is ignored here
        """Nothing: what an agent can write can also say what to ignore."""
        return frozenset()

    def new_id(self) -> str:
        """An id nobody has had."""
        return self._shop.new_id()

    def now(self) -> datetime:
        """The store's time."""
        return self._shop.store.now()


def _read(shop: Shop, key: str, kind: type[T]) -> T:
    raw = shop.evidence.get(key)
    if raw is None:
        raise WorldFault(f"evidence `{key}` is not on this machine", "`keisei task retry` runs the task again")
    try:
        return msgspec.json.decode(raw, type=kind)
    except msgspec.DecodeError as error:
        raise WorldFault(
            f"evidence `{key}` cannot be read: {error}", "`keisei task retry` runs the task again"
        ) from error


def evidence_digests(shop: Shop, keys: Keys) -> dict[str, str]:
    """sha256 of every evidence file of an attempt, by name, read anew from the disk."""
    stored = [shop.evidence.stored(key) for key in shop.evidence.keys(keys.folder)]
    return {each.key.removeprefix(keys.folder): each.sha256 for each in stored if each is not None}
