"""Judgement: what an attempt left is decoded and verified, from evidence and the folders alone."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from msgspec.structs import replace

from keisei.engine.attempt import Judged
from keisei.engine.gather import task_file
from keisei.engine.settle import sentence
from keisei.engine.verify import LINE, Case, verify
from keisei.engine.workflow import state_of
from keisei.records.artifact import ArtifactRecord
from keisei.records.error import IllegalMove, WorldFault
from keisei.records.finding import FindingRecord
from keisei.records.move import Claimed
from keisei.records.snapshot import Looked, Snapshot
from keisei.records.task import TaskRecord
from keisei.records.task_type import TaskTypeSpec
from keisei.records.worktree import Worktree
from keisei.rules.answer_contract import accepted_signals
from keisei.rules.claim import Claim
from keisei.rules.evidence import Keys, keys_of
from keisei.rules.outcome import decode, judge
from keisei.rules.redact import Redactor
from keisei.wiring.execute import Hold
from keisei.wiring.pinning import drift_of
from keisei.wiring.returned import Returned, decoded, returned_of, snapshots
from keisei.wiring.shop import BEFORE, Before, Result, Shop
from keisei.workspace.file import look, look_at
from keisei.workspace.snapshot import take

if TYPE_CHECKING:
    from keisei.wiring.examination import Examination
    from keisei.wiring.registry import CatalogRegistry

T = TypeVar("T")


def judged(
    shop: Shop, claimed: Claimed, hold: Hold, worktree: Worktree | None = None, secrets: Sequence[str] = ()
) -> Judged:
    """What the evidence says, and what verification on the merged tree says. Raises KeiseiError.

    `worktree` is the agent's own, where it is still there. What a claim to be completed is worth is found out by
    asking; any other claim is taken as it is. No finding holds one of the `secrets`.
    """
    keys = keys_of(claimed.attempt.attempt_id, claimed.attempt.started_at)
    result = _read(shop, keys.result, Result)
    registry = shop.registry()
    spec = registry.task_type(claimed.task.task_type)
    by_exit_code = spec.success_policy is not None and bool(spec.success_policy.complete_by_exit_code)
    plain = claimed.attempt.adapter_kind == "script"
    claim = decode(result.report, result.ended, complete_by_exit_code=by_exit_code and plain)
    bundle = shop.store.bundle(claimed.attempt.attempt_id) if claimed.task.agent is not None else None
    findings, artifacts = _verified(shop, claimed, spec, claim, keys, drift_of(registry, bundle))
    profile = registry.profile(claimed.task.requested_profile_id)
    file = task_file(spec, claimed.task)
    escalation = registry.escalation(file.task.role if file is not None else profile.role)
    claims = claim.outcome.status == "completed"
    held = _examined(shop, registry, spec, claimed, hold, worktree) if claims else None
    findings += held.examined.findings if held is not None else ()
    findings = [_without(each, Redactor(secrets)) for each in findings] if secrets else findings
    verdict = judge(claim, findings)
    _keep(shop, claimed, keys, "findings", msgspec.json.format(msgspec.json.encode(findings)))
    if held is not None and held.examined.verified is not None:
        runs = _texts(msgspec.to_builtins(held.examined.verified.runs), Redactor(secrets))
        _keep(shop, claimed, keys, "verification", msgspec.json.format(msgspec.json.encode(runs)))
    accepted = verdict.outcome.status == "completed"
    if held is not None and not accepted:
        held.put_aside()
    return Judged(
        exit_status=verdict.exit_status,
        outcome=verdict.outcome,
        error=verdict.error,
        retry_after_s=verdict.retry_after_s,
        findings=tuple(findings),
        artifacts=tuple(artifacts),
        evidence=evidence_digests(shop, keys),
        profile=profile,
        escalation=escalation,
        questions=claim.questions,
        proposal=held.proposed(findings, claim, escalation) if held is not None and accepted else None,
        elevated=file.elevate.capabilities if file is not None and file.elevate is not None else (),
        elevated_because=sentence(file.elevate.reason, Redactor(secrets)) if file and file.elevate else None,
        ledger_row=held.examined.ledger_row if held is not None else None,
    )


def _examined(  # noqa: PLR0913, PLR0917 - an attempt, and where it is examined
    shop: Shop, registry: "CatalogRegistry", spec: TaskTypeSpec, claimed: Claimed, hold: Hold, worktree: Worktree | None
) -> "Examination | None":
    """What the verifies of its role say; None of a task that is no task file, and so has no role's rules to hold."""
    if task_file(spec, claimed.task) is None:
        return None
    from keisei.wiring.examination import Examination, Inquest  # noqa: PLC0415 - a runner of scripts needs no gate

    return Examination(Inquest(shop, registry, spec, claimed, hold, worktree))


def _verified(  # noqa: PLR0913, PLR0917 - an attempt, what it claims, and what was learnt of it
    shop: Shop, claimed: Claimed, spec: TaskTypeSpec, claim: Claim, keys: Keys, drift: tuple[str, ...] | None
) -> tuple[list[FindingRecord], list[ArtifactRecord]]:
    before = _read(shop, keys.of(BEFORE), Before)
    folder = shop.artifact_folder(claimed.task)
    returned = returned_of(shop, keys)
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
        drift=drift,
        signals=_signals(shop, claimed.task),
        proofs=shop.proofs(claimed.task),
        proofs_before=before.proofs,
    )
    return verify(case, _Eyes(shop, folder))


def _work(before: Before, returned: Returned | None) -> tuple[Snapshot | None, Snapshot | None]:
    """The working folder before and after. Of a worktree only what could land counts: ignored files never do."""
    if returned is not None and returned.staged is not None:
        return snapshots(returned.staged)
    return before.workspace, take(Path(before.cwd))


def _without(finding: FindingRecord, redactor: Redactor) -> FindingRecord:
    """A finding without secrets: a command may print what an agent has written into a file."""
    reason = None if finding.reason is None else redactor.text(finding.reason)[:LINE]
    return replace(finding, reason=reason, detail=finding.detail and redactor.text(finding.detail))


def _texts(value: Any, redactor: Redactor) -> Any:  # noqa: ANN401 - JSON in, JSON out
    """What commands have printed, whole, but without secrets."""
    if isinstance(value, dict):
        return {key: _texts(item, redactor) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_texts(item, redactor) for item in value]
    return redactor.text(value) if isinstance(value, str) else value


def _signals(shop: Shop, task: TaskRecord) -> tuple[str, ...] | None:
    """What the workflow that waits for this task accepts."""
    state = state_of(shop.store, task)
    return None if state is None else tuple(each.signal for each in accepted_signals(task.payload, state))


def _keep(shop: Shop, claimed: Claimed, keys: Keys, name: str, data: bytes) -> None:
    """Store what was found; a second judgement, after a crash between evidence and settlement, beside the first."""
    try:
        shop.evidence.put(keys.of(f"{name}.json"), data)
    except IllegalMove:
        shop.evidence.put(keys.of(f"{name}-{claimed.attempt.fence}.json"), data)


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
    return decoded(raw, key, kind)


def evidence_digests(shop: Shop, keys: Keys) -> dict[str, str]:
    """sha256 of every evidence file of an attempt, by name, read anew from the disk."""
    stored = [shop.evidence.stored(key) for key in shop.evidence.keys(keys.folder)]
    return {each.key.removeprefix(keys.folder): each.sha256 for each in stored if each is not None}
