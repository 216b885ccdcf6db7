"""Verify: what an attempt claims is compared with what is there. A predicate gives a finding; doubt is never held."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from hashlib import sha256
from typing import Final, Protocol

from msgspec import Struct

from keisei.contracts.words import listed, shown
from keisei.records.artifact import ArtifactRecord, ArtifactRole
from keisei.records.error import KeiseiError, Refused
from keisei.records.finding import FindingRecord
from keisei.records.id import ArtifactId, AttemptId, FindingId
from keisei.records.problem import printable
from keisei.records.snapshot import Entry, Looked, Snapshot
from keisei.records.task import TaskRecord
from keisei.records.task_type import SuccessPolicy, TaskTypeSpec
from keisei.records.verification import Reply
from keisei.rules.artifact import Change, artifact_path, content_type, inside, role_of
from keisei.rules.change import Matched, Spot, deeds, matched, unclaimed
from keisei.rules.claim import Claim, cut
from keisei.rules.snapshot import changes, is_changed

MOST_BYTES: Final = 4_294_967_296
"""Bytes of artifacts that one verification reads; a file of holes costs an agent nothing, and its digest costs us."""
LINE: Final = 200
LINES: Final = 50
"""Lines of a detail; the rest is counted."""


class Case(Struct, frozen=True, kw_only=True):
    """An attempt whose harness has returned, and its two folders before and after it ran."""

    task: TaskRecord
    """The task, with what it requires."""
    attempt_id: AttemptId
    """The attempt that is judged."""
    task_type: TaskTypeSpec | None
    """The task's type, with what success needs; None where nothing is registered."""
    claim: Claim
    """What the attempt says of itself."""
    artifact_folders: tuple[str, ...]
    """The absolute names of the task's artifact folder: as it stands, and as the agent sees it."""
    artifacts_before: Snapshot
    """The artifact folder before the harness was started."""
    artifacts_after: Snapshot
    """The artifact folder when it had returned."""
    working_folders: tuple[str, ...] = ()
    """The absolute names of the folder the agent works in."""
    work_before: Snapshot | None = None
    """The working folder before the harness was started; None where it was not looked at."""
    work_after: Snapshot | None = None
    """The working folder when it had returned."""
    signals: tuple[str, ...] | None = None
    """Signals of the workflow's state that waits for this task; None where no workflow does."""
    proofs: Mapping[str, str | None] = {}
    """Files that the task asks for by absolute paths, wherever they are, each with the text it must hold, if any."""
    proofs_before: Mapping[str, Entry] = {}
    """Those of them that were there before the harness was started."""
    tampered: tuple[str, ...] = ()
    """What changed of the repository that no agent may change: its refs, hooks, configuration, its own metadata."""
    audit: tuple[str, ...] | None = None
    """Where the transcript and the gate's log disagree; None where the adapter asks no gate."""
    drift: tuple[str, ...] | None = None
    """How the agent's constitution differs from what the bundle has pinned; None where no agent is named."""

    @property
    def policy(self) -> SuccessPolicy:
        """What the task type asks for."""
        found = self.task_type.success_policy if self.task_type is not None else None
        return found or SuccessPolicy()


class World(Protocol):
    """What verification asks of the world."""

    def look(self, relative: str) -> Looked:
        """One file of the artifact folder, opened safely and hashed."""

    def look_at(self, path: str) -> Looked:
        """One file under an absolute path, opened safely and hashed."""

    def ignored(self, paths: Sequence[str]) -> frozenset[str]:
        """Which of these paths of the working folder nobody has to claim, such as what git ignores."""

    def new_id(self) -> str:
        """An id nobody has had."""

    def now(self) -> datetime:
        """The time, aware UTC."""


def verify(case: Case, world: World) -> tuple[list[FindingRecord], list[ArtifactRecord]]:
    """The findings, and the artifacts that are there, new and whole. Only a claim to be completed is verified.

    What nobody asked for and nobody claims gives no finding. A predicate that cannot be carried out is an error.
    """
    findings: list[FindingRecord] = []
    artifacts: list[ArtifactRecord] = []
    if case.claim.outcome.status != "completed":
        return findings, artifacts
    for capability, predicate in PREDICATES.items():
        began = world.now()
        try:
            reply = predicate(case, world, artifacts)
        except KeiseiError as error:
            reply = Reply(status="error", told=(error.message,))
        if reply is not None:
            findings.append(finding_of(capability, reply, case.attempt_id, world.new_id(), began, world.now()))
    return findings, artifacts


def _artifacts(case: Case, world: World, into: list[ArtifactRecord]) -> Reply | None:
    """Everything declared or claimed is a plain file of the artifact folder, changed since the attempt began."""
    wanted, faults = _wanted(case)
    unknown: list[str] = []
    seen = 0
    for path, role in wanted.items():
        looked = world.look(path) if seen <= MOST_BYTES else Looked(fault="is not looked at: the others are too large")
        seen += looked.entry.size if looked.entry is not None else 0
        was = case.artifacts_before.entries.get(path)
        if looked.fault is not None or looked.entry is None:
            faults.append(f"{path} {looked.fault or 'is missing'}")
        elif was is not None and not is_changed(was, looked.entry):
            faults.append(f"{path} was there before the attempt and has not changed")
        elif was is None and not case.artifacts_before.is_whole:
            unknown.append(f"{path} may be older than the attempt: not all of its folder was seen before")
        else:
            into.append(_record(case, path, role, looked.entry, looked.sha256, world))
    faults += _missing_roles(case, into)
    if faults or unknown:
        return Reply(status="violated" if faults else "unknown", told=(*faults, *unknown))
    return Reply(status="held", told=tuple(f"{each.relative_path} {each.sha256}" for each in into)) if wanted else None


def _wanted(case: Case) -> tuple[dict[str, ArtifactRole], list[str]]:
    """Paths that must be there, each with its role; and what was named and cannot be a path of the folder."""
    roles = _roles(case)
    required = case.task.evidence_requirements.required_artifacts if case.task.evidence_requirements else ()
    wanted: dict[str, ArtifactRole] = {}
    faults: list[str] = []
    for named in (*required, *case.claim.outcome.artifact_paths):
        try:
            path = artifact_path(named, case.artifact_folders)
        except Refused as refusal:
            faults.append(refusal.message)
        else:
            wanted[path] = role_of(path, roles) or "output"
    difference = changes(case.artifacts_before, case.artifacts_after)
    for path in (*difference.added, *difference.modified):
        role = role_of(path, roles)
        if role is not None and case.artifacts_after.entries[path].kind == "file":
            wanted.setdefault(path, role)
    return wanted, faults


def _roles(case: Case) -> tuple[ArtifactRole, ...]:
    """Roles an agent is asked for; the audit is not among them, because it is not the agent who writes it."""
    declared = case.task_type.artifact_roles if case.task_type is not None else ()
    return tuple(role for role in declared if role != "adapter-audit")


def _missing_roles(case: Case, records: Sequence[ArtifactRecord]) -> list[str]:
    if not case.policy.require_artifacts:
        return []
    there = {role_of(each.relative_path, _roles(case)) for each in records}
    return [f"no new file `{role}.*` is in the artifact folder" for role in _roles(case) if role not in there]


def _record(  # noqa: PLR0913, PLR0917 - the parts of a record
    case: Case, path: str, role: ArtifactRole, entry: Entry, sha256: str | None, world: World
) -> ArtifactRecord:
    return ArtifactRecord(
        artifact_id=ArtifactId(world.new_id()),
        task_id=case.task.task_id,
        role=role,
        relative_path=path,
        content_type=content_type(path),
        created_at=datetime.fromtimestamp(entry.ctime_ns / 1_000_000_000, UTC),
        verified_at=world.now(),
        sha256=sha256,
        size=entry.size,
    )


def _file_changes(case: Case, world: World, artifacts: list[ArtifactRecord]) -> Reply | None:
    """Every claimed change is real; where the task asks for it, every real change is claimed."""
    required = case.task.evidence_requirements
    both_ways = case.policy.verify_claimed_file_changes or (required and required.require_file_change_verification)
    if not case.claim.changes and not both_ways:
        return None
    if case.work_before is None or case.work_after is None:
        return Reply(status="unknown", told=("the working folder was not looked at before and after the attempt",))
    difference = changes(case.work_before, case.work_after)
    if not difference.is_whole:
        return Reply(status="unknown", told=("the working folder is too large, or in part unreadable, to be compared",))
    work = Spot(deeds=deeds(difference), read=partial(inside, folders=case.working_folders))
    made = changes(case.artifacts_before, case.artifacts_after)
    shelf = Spot(deeds=deeds(made), read=partial(artifact_path, folders=case.artifact_folders))
    found = [matched(claim, (work, shelf, _elsewhere(case, world))) for claim in case.claim.changes]
    faults = [each.fault for each in found if each.fault is not None]
    if both_ways:
        known = {each.path for each in found if each.path is not None and each.spot is work} | _own(case, artifacts)
        left = unclaimed(work.deeds, known, case.work_before, case.work_after)
        ignored = world.ignored(left)
        faults += [f"{path} was {work.deeds[path]} and is not claimed" for path in left if path not in ignored]
    return Reply(status="violated" if faults else "held", told=tuple(faults or map(_true, found)))


def _elsewhere(case: Case, world: World) -> Spot:
    """Files that the task asks for by name, wherever they are: a claim of one is judged like any other."""
    looked = {path: world.look_at(path).entry for path in case.proofs}
    made: dict[str, Change] = {}
    for path, entry in looked.items():
        was = case.proofs_before.get(path)
        if entry is not None and (was is None or is_changed(was, entry)):
            made[path] = "added" if was is None else "modified"
    return Spot(deeds=made, read=partial(_named, case.proofs))


def _named(known: Mapping[str, str | None], path: str) -> str:
    if path not in known:
        raise Refused(f"the path `{printable(path)}` is outside the folder")
    return path


def _proofs(case: Case, world: World, _artifacts: list[ArtifactRecord]) -> Reply | None:
    """Every file that the task asks for by an absolute path is there, new, and says what it must."""
    faults = [fault for path, text in case.proofs.items() if (fault := _proof_fault(case, world, path, text))]
    if faults or not case.proofs:
        return Reply(status="violated", told=tuple(faults)) if faults else None
    return Reply(status="held", told=tuple(f"{path} is as asked for" for path in case.proofs))


def _proof_fault(case: Case, world: World, path: str, text: str | None) -> str | None:
    looked = world.look_at(path)
    was = case.proofs_before.get(path)
    if looked.fault is not None or looked.entry is None:
        return f"{path} {looked.fault or 'is missing'}"
    if was is not None and not is_changed(was, looked.entry):
        return f"{path} was there before the attempt and has not changed"
    fits = text is None or looked.sha256 in {_digest(each) for each in (text, f"{text}\n")}
    return None if fits else f"{path} does not hold what was asked for"


def _digest(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _true(found: Matched) -> str:
    return f"{found.path} was {found.spot.deeds[found.path]}" if found.spot and found.path else ""


def _own(case: Case, artifacts: Sequence[ArtifactRecord]) -> set[str]:
    """Artifacts as paths of the working folder, where the artifact folder is inside it."""
    own: set[str] = set()
    for folder in case.artifact_folders:
        for each in artifacts:
            with suppress(Refused):
                own.add(inside(f"{folder}/{each.relative_path}", case.working_folders))
    return own


def _answer(case: Case, _world: World, _artifacts: list[ArtifactRecord]) -> Reply | None:
    """The answer carries one of the signals that its workflow's state accepts, or its payload where none waits."""
    accepted = case.task.payload.get("accepted_signals") if case.signals is None else list(case.signals)
    if accepted is None or case.signals == ():
        return None
    if not isinstance(accepted, list) or not all(isinstance(each, str) for each in accepted):
        return Reply(status="error", told=("`accepted_signals` of the payload is not a list of strings",))
    signal = case.claim.outcome.workflow_signal
    if signal in accepted:
        return Reply(status="held", told=(f"workflow_signal is {shown(signal)}",))
    said = "is missing" if signal is None else f"is {shown(signal)}"
    return Reply(status="violated", told=(f"workflow_signal {said}; accepted are {listed(accepted)}",))


def _integrity(case: Case, _world: World, _artifacts: list[ArtifactRecord]) -> Reply | None:
    """Nothing of the repository changed but the files of the worktree."""
    return Reply(status="violated", told=case.tampered) if case.tampered else None


def _audit(case: Case, _world: World, _artifacts: list[ArtifactRecord]) -> Reply | None:
    """Every tool call of the transcript was judged, as the same call, and none ran because a gate broke."""
    required = case.task.evidence_requirements
    asked = case.policy.require_adapter_audit or (required is not None and required.require_adapter_audit)
    if case.audit is not None:
        return Reply(status="violated" if case.audit else "held", told=case.audit)
    return Reply(status="not-applicable", told=("the adapter has no tool calls to audit",)) if asked else None


def _constitution(case: Case, _world: World, _artifacts: list[ArtifactRecord]) -> Reply | None:
    """The agent's papers are those it began with: nobody is judged by others than it has read."""
    return Reply(status="violated" if case.drift else "held", told=case.drift) if case.drift is not None else None


PREDICATES: Final[dict[str, Callable[[Case, World, list[ArtifactRecord]], Reply | None]]] = {
    "engine::artifacts": _artifacts,
    "engine::file-changes": _file_changes,
    "engine::proofs": _proofs,
    "engine::answer": _answer,
    "engine::integrity": _integrity,
    "engine::adapter-audit": _audit,
    "engine::constitution": _constitution,
}
"""What is asked of every claim to be completed, in this order: file changes need to know the artifacts."""


def finding_of(  # noqa: PLR0913, PLR0917 - the parts of a record
    capability: str, reply: Reply, attempt_id: AttemptId, finding_id: str, began: datetime, now: datetime
) -> FindingRecord:
    """A reply as the record of it: one line of reason, the sentences as detail."""
    lines = [_line(each, LINE) for each in reply.told]
    more = len(lines) - 1
    reason = f"{_line(lines[0], LINE - 24)} (and {more} more)" if more > 0 else lines[0] if lines else None
    left = [f"... and {len(lines) - LINES} more"] if len(lines) > LINES else []
    return FindingRecord(
        finding_id=FindingId(finding_id),
        attempt_id=attempt_id,
        capability=capability,
        status=reply.status,
        severity=reply.severity or "block",
        reason=None if reply.status == "held" else reason or "it does not say why",
        detail="\n".join((*lines[:LINES], *left)) or None,
        run_from="worktree",
        duration_ms=max(0.0, (now - began).total_seconds() * 1000),
        created_at=now,
    )


def _line(text: str, most: int) -> str:
    return cut(printable(" ".join(text.split())), most)
