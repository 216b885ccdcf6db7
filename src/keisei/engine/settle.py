"""Settle: the end of an attempt becomes one value that is written whole or not at all."""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from keisei.contracts.check import data_of
from keisei.engine.control import canceled_outcome
from keisei.engine.land import Proposal, announced, facts_of, proposed
from keisei.records.approval import ApprovalKind, ApprovalRecord
from keisei.records.artifact import ArtifactRecord
from keisei.records.attempt import ExitStatus, TaskAttempt
from keisei.records.beside import NOTHING, Beside
from keisei.records.breaker import Breaker
from keisei.records.event import EventType
from keisei.records.finding import FindingRecord
from keisei.records.id import ApprovalId, LandingId
from keisei.records.landing import LandingRecord
from keisei.records.move import Claimed, NewEntry, NewEvent, Settlement
from keisei.records.outbox import OutboxItem, OutboxKind
from keisei.records.outcome import TaskOutcome
from keisei.records.profile import SubagentProfile
from keisei.records.project import ProjectApprovals
from keisei.records.report import HarnessError
from keisei.records.role import EscalationPolicy
from keisei.records.task import TERMINAL, TaskRecord
from keisei.rules import approval as approvals
from keisei.rules import breaker as breakers
from keisei.rules import task as moves
from keisei.rules.redact import Redactor
from keisei.rules.refusal import Refusals, bounded, told
from keisei.rules.retry import MOST_POSTPONED, Backoff, Failed, Step, next_step, pause

LAST_ERROR = 2_000
"""Characters of an error that are kept on the task; the whole of it is evidence."""
NOTICE = -1
"""The number of the runtime's own first message about an attempt; others count down, away from those it asks for."""
ARTIFACT_ROOM, ROW_PART = 262_144, 80
"""Bytes of a row for artifacts, and what one takes beside its path; a byte of a path takes at most six."""
LOOKED_AT = 8192
"""Characters of a text in which a secret is looked for before it is cut for a row."""
MESSAGE_CHANNEL = "console"
"""Where a message that names no channel goes."""
REFUSED = "gate_refused"
"""The row of an attempt whose calls were refused; its subject is the attempt."""


class Ended(Struct, frozen=True, kw_only=True):
    """An attempt that is over, with everything that was learnt."""

    claimed: Claimed
    """The task and the attempt, as they are in the store."""
    exit_status: ExitStatus
    """How it ended."""
    outcome: TaskOutcome
    """What the outcome rule made of it."""
    error: HarnessError | None = None
    """What the harness said of itself."""
    retry_after_s: float | None = None
    """A wait the answer asked for."""
    findings: tuple[FindingRecord, ...] = ()
    """What verification said."""
    artifacts: tuple[ArtifactRecord, ...] = ()
    """Files that were asked for and are there."""
    evidence: Mapping[str, str] = {}
    """sha256 of every evidence file, by name."""
    profile: SubagentProfile | None = None
    """Which side effects are allowed; None allows none."""
    escalation: EscalationPolicy = "ask-via-return"
    """What the role says of violations and of tries used up."""
    breaker: Breaker | None = None
    """What was known of the adapter."""
    questions: tuple[str, ...] = ()
    """What the agent wants to know of a person."""
    overspent: str | None = None
    """Why the task's own budget covers no other try; None where it does."""
    proposal: Proposal | None = None
    """The verified candidate; it lands, or waits for a person, only where the task is completed."""
    elevated: tuple[str, ...] = ()
    """Rules that did not hold for this task: they stand in the ledger."""
    elevated_because: str | None = None
    """Why, as its author says."""
    ledger_row: str | None = None
    """The sentence the agent has for the ledger: it stands there as its own words."""
    refused: Refusals | None = None
    """What the gate refused."""
    left_out: tuple[str, ...] = ()
    """What the row cannot tell, by name: the store would not take it."""
    asks: bool = True
    """Whether a person is asked where the task is blocked; not where somebody is asked already, as of a loop."""


class Chance(Struct, frozen=True, kw_only=True):
    """What the end depends on beside the attempt."""

    backoff: Backoff
    """How long to wait between tries."""
    jitter: float
    """0 to 1."""
    now: datetime
    """The store's time."""
    new_id: Callable[[], str]
    """Ids nobody has had."""
    approvals: ProjectApprovals = ProjectApprovals()
    """How a person is asked."""


def settlement(ended: Ended, chance: Chance) -> Settlement:
    """The attempt closed and the task moved. Completed only where the outcome says so; otherwise by the retry rule."""
    task, outcome, step = ended.claimed.task, ended.outcome, None
    if outcome.status == "completed":
        after = moves.complete(task, outcome, chance.now)
    elif outcome.status == "operator_canceled":
        after = moves.cancel(task, outcome, outcome.operator_summary, chance.now)
    else:
        step = _step(ended, chance)
        after, outcome = _moved(task, outcome, step, ended, chance.now)
    attempt = _closed(ended, step, chance.now)
    asked = _asked(ended, after, step, chance)
    landing, beside = _landing(ended, after, chance)
    return Settlement(
        task=after,
        attempt=attempt,
        postponed=step is not None and step.verb == "postpone",
        findings=ended.findings,
        artifacts=ended.artifacts,
        outbox=(*_outbox(ended, outcome, chance.now), *_notice(ended, after, chance), *asked.outbox, *beside.outbox),
        events=(*_events(ended, after, attempt, step), *asked.events, *beside.events),
        ledger=(*_entries(ended, after, attempt), *beside.ledger),
        breaker=_breaker(ended, chance.now),
        approvals=(*asked.approvals, *beside.approvals),
        landings=landing,
    )


def _landing(ended: Ended, after: TaskRecord, chance: Chance) -> tuple[tuple[LandingRecord, ...], Beside]:
    """The verified candidate of a task that is completed, held or queued. No other task has one."""
    if ended.proposal is None or after.status != "completed":
        return (), NOTHING
    attempt = ended.claimed.attempt
    landing = proposed(ended.proposal, LandingId(chance.new_id()), after.task_id, attempt.attempt_id, chance.now)
    return (landing,), announced(landing, chance.approvals, chance.new_id, attempt.runner_id)


def sentence(text: str | None, redactor: Redactor) -> str | None:
    """A text that somebody else has chosen, as a row quotes it: without secrets, and not long. None stays None."""
    return None if text is None else bounded(text[:LOOKED_AT], redactor)


def canceled(found: Settlement, claimed: Claimed, reason: str, now: datetime) -> Settlement:
    """The same end after an operator was quicker: whatever the attempt brought, the task is cancelled."""
    outcome = canceled_outcome(reason)
    ended = Ended(claimed=claimed, exit_status="canceled", outcome=outcome)
    after = moves.cancel(claimed.task, outcome, reason, now)
    diagnostics = {**(found.attempt.diagnostics or {}), "reason": _storable(reason)}
    attempt = replace(found.attempt, exit_status="canceled", retry_class="none", diagnostics=diagnostics)
    events = _events(ended, after, attempt, None)
    entry = replace(found.ledger[0], body={**found.ledger[0].body, "status": after.status, "exit_status": "canceled"})
    ledger = (entry, *(each for each in found.ledger if each.kind == REFUSED))
    return Settlement(task=after, attempt=attempt, findings=found.findings, events=events, ledger=ledger)


def lost(claimed: Claimed, by: str, chance: Chance, refused: Refusals | None = None) -> Settlement:
    """The end of an attempt whose runner is gone. One that never began does not count, unless that goes on and on."""
    began = claimed.attempt.bundle_id is not None
    message = f"runner {claimed.attempt.runner_id} was lost" + ("" if began else " before the attempt began")
    outcome = TaskOutcome(status="retryable_failure", machine_status="needs_retry", operator_summary=message)
    ended = Ended(claimed=claimed, exit_status="lost", outcome=outcome, refused=refused)
    if began or claimed.postponed >= MOST_POSTPONED:
        found = settlement(ended, replace(chance, backoff=Backoff(first_s=0.0, cap_s=0.0), jitter=0.0))
    else:
        wait = pause(chance.backoff, claimed.postponed, chance.jitter) if claimed.postponed else timedelta(0)
        found = _released(ended, message, chance.now + wait, chance.now)
    return replace(found, ledger=tuple(replace(each, actor=by) for each in found.ledger))


def released(claimed: Claimed, reason: str, now: datetime, refused: Refusals | None = None) -> Settlement:
    """A task that was claimed and not begun goes back to the queue, uncounted."""
    outcome = TaskOutcome(status="retryable_failure", machine_status="needs_retry", operator_summary=reason)
    ended = Ended(claimed=claimed, exit_status="canceled", outcome=outcome, refused=refused)
    return _released(ended, reason, now, now)


def _released(ended: Ended, reason: str, at: datetime, now: datetime) -> Settlement:
    step = Step(verb="postpone", at=at)
    after = moves.postpone(ended.claimed.task, reason, at, now)
    attempt = _closed(ended, step, now)
    events = _events(ended, after, attempt, step)
    return Settlement(
        task=after, attempt=attempt, postponed=True, events=events, ledger=_entries(ended, after, attempt)
    )


def _step(ended: Ended, chance: Chance) -> Step:
    failed = Failed(
        status=ended.outcome.status,
        error=ended.error,
        retry_after_s=ended.retry_after_s,
        violated=any(each.status == "violated" and each.severity == "block" for each in ended.findings),
        postponed=ended.claimed.postponed,
    )
    step = next_step(
        ended.claimed.task,
        failed,
        policy=ended.escalation,
        backoff=chance.backoff,
        jitter=chance.jitter,
        now=chance.now,
    )
    overspent = ended.overspent if step.verb == "retry" else None
    return step if overspent is None else Step(verb="block", why=overspent)


def _moved(
    task: TaskRecord, outcome: TaskOutcome, step: Step, ended: Ended, now: datetime
) -> tuple[TaskRecord, TaskOutcome]:
    said = ended.error.message if ended.error is not None else outcome.operator_summary
    error = _storable(f"{step.why}: {said}" if step.why and said else step.why or said)
    at = step.at or now
    if step.verb == "retry":
        final = replace(outcome, status="retryable_failure", machine_status="needs_retry")
        return moves.retry(task, final, error, at, now), final
    if step.verb == "postpone":
        return moves.postpone(task, error, at, now), outcome
    if step.verb == "fail":
        final = replace(outcome, status="permanent_failure", machine_status="failed")
        return moves.fail(task, final, error, now), final
    final = replace(outcome, status="blocked", machine_status="blocked")
    return moves.block(task, final, error, now), final


def _storable(text: str) -> str:
    """Text that every database takes: no NUL, no half surrogate, not endless."""
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode("utf-8")[:LAST_ERROR]


def _closed(ended: Ended, step: Step | None, now: datetime) -> TaskAttempt:
    retry_class: Literal["none", "retryable", "permanent"] = "none"
    if step is not None:
        retry_class = "retryable" if step.verb in ("retry", "postpone") else "permanent"
    said = ended.error.message if ended.error is not None else ended.outcome.operator_summary
    diagnostics = dict(ended.claimed.attempt.diagnostics or {})
    if ended.outcome.status != "completed":
        diagnostics["reason"] = _storable(said)
    if ended.error is not None:
        diagnostics["error_kind"] = ended.error.kind
    if ended.evidence:
        diagnostics["evidence"] = dict(ended.evidence)
    return replace(
        ended.claimed.attempt,
        ended_at=max(now, ended.claimed.attempt.started_at),
        exit_status=ended.exit_status,
        retry_class=retry_class,
        diagnostics=diagnostics or None,
    )


def _events(ended: Ended, after: TaskRecord, attempt: TaskAttempt, step: Step | None) -> tuple[NewEvent, ...]:
    events = [
        _event(
            "task_attempt_finished",
            attempt,
            exit_status=attempt.exit_status,
            retry_class=attempt.retry_class,
        )
    ]
    if step is not None and after.status in ("pending", "retryable_failure"):
        limited = step.verb == "postpone" and (ended.error is not None or ended.retry_after_s is not None)
        kind: EventType = "rate_limit_rescheduled" if limited else "task_retry_scheduled"
        counted = step.verb == "retry"
        wait = {"available_at": _stamp(after.available_at), "error": after.last_error, "counted": counted}
        events.append(_event(kind, attempt, **wait))
    elif after.status == "operator_canceled":
        detail = {"reason": after.last_error, "previous_status": "running"}
        events.append(_event("task_operator_canceled", attempt, **detail))
    if after.status in TERMINAL or after.status == "blocked":
        machine = after.outcome.machine_status if after.outcome is not None else "blocked"
        events.append(_event("task_finished", attempt, status=after.status, machine_status=machine))
    return (*events, *(_denied(attempt, each) for each in ended.findings if each.status != "held"))


def _denied(attempt: TaskAttempt, finding: FindingRecord) -> NewEvent:
    detail = {"capability": finding.capability, "status": finding.status, "reason": finding.reason}
    return _event("capability_checked", attempt, **detail)


def _event(kind: EventType, attempt: TaskAttempt, **detail: object) -> NewEvent:
    told = {"runner_id": attempt.runner_id, **detail}
    return NewEvent(event_type=kind, task_id=attempt.task_id, attempt_id=attempt.attempt_id, detail=told)


def _stamp(moment: datetime) -> str:
    return moment.isoformat().replace("+00:00", "Z")


def _entries(ended: Ended, after: TaskRecord, attempt: TaskAttempt) -> tuple[NewEntry, ...]:
    """The row of the attempt, first; and that of what the gate refused, where it refused anything."""
    own = _entry(ended, after, attempt)
    if ended.refused is None:
        return (own,)
    body = {"task_id": after.task_id, **told(ended.refused)}
    return own, NewEntry(kind=REFUSED, actor=attempt.runner_id, subject=attempt.attempt_id, body=body)


def _entry(ended: Ended, after: TaskRecord, attempt: TaskAttempt) -> NewEntry:
    plain = Redactor()
    said, because = sentence(ended.ledger_row, plain), sentence(ended.elevated_because, plain)
    body: dict[str, Any] = {
        "task_id": after.task_id,
        "status": after.status,
        "exit_status": attempt.exit_status,
        "fence": attempt.fence,
        "adapter_id": attempt.adapter_id,
        "bundle_id": attempt.bundle_id,
        "findings": facts_of(ended.findings),
        **({"elevated": list(ended.elevated), "because": because} if ended.elevated else {}),
        **({"agent_said": said} if said else {}),
        **({"artifacts": found} if (found := _artifacts(ended)) else {}),
        **({"left_out": list(ended.left_out)} if ended.left_out else {}),
        "evidence": dict(ended.evidence),
    }
    return NewEntry(kind="attempt_settled", actor=attempt.runner_id, subject=attempt.attempt_id, body=body)


def _artifacts(ended: Ended) -> dict[str, str]:
    """The digests of files that were asked for, by path, as far as a row has room: an agent says how many there are."""
    found: dict[str, str] = {}
    room = ARTIFACT_ROOM
    for each in ended.artifacts:
        room -= ROW_PART + 6 * len(each.relative_path)
        if each.sha256 is not None and room >= 0 and _storable(each.relative_path) == each.relative_path:
            found[each.relative_path] = each.sha256
    return found


def _breaker(ended: Ended, now: datetime) -> Breaker | None:
    if ended.exit_status in ("lost", "canceled") or ended.claimed.attempt.bundle_id is None:
        return None
    return breakers.learn(ended.breaker, ended.claimed.attempt.adapter_id, ended.error, now)


def _outbox(ended: Ended, outcome: TaskOutcome, now: datetime) -> tuple[OutboxItem, ...]:
    """What a verified outcome asks for, each a row. What the profile forbids is a row too, and says so."""
    if outcome.status != "completed":
        return ()
    policy = ended.profile.result_policy if ended.profile is not None else None
    follow_ups = policy is not None and policy.allow_follow_up_tasks
    messages = policy is not None and policy.allow_external_messages
    rows = [
        _item(ended, "follow_up_task", number, data_of(each), _unless(follow_ups, "follow-up tasks"), now)
        for number, each in enumerate(outcome.follow_up_tasks)
    ]
    rows += [
        _item(ended, "external_message", number, each, _message_refusal(ended, each, allowed=messages), now)
        for number, each in enumerate(outcome.external_messages)
    ]
    return tuple(rows)


def _notice(ended: Ended, after: TaskRecord, chance: Chance) -> tuple[OutboxItem, ...]:
    """A role that notifies its orchestrator says what became of every task that does not go on by itself.

    It is said where people are asked, and on the console where they are asked nowhere.
    """
    if ended.escalation != "orchestrator-notify" or after.status in ("pending", "retryable_failure"):
        return ()
    said = after.last_error or ended.outcome.operator_summary
    message = {"about": "task", "task_id": after.task_id, "status": after.status, "text": said}
    channels = dict.fromkeys(chance.approvals.notify or (MESSAGE_CHANNEL,))
    return tuple(
        _item(ended, "external_message", NOTICE - number, {"channel": channel, **message}, None, chance.now)
        for number, channel in enumerate(channels)
    )


def _asked(ended: Ended, after: TaskRecord, step: Step | None, chance: Chance) -> Beside:
    """A task that waits for a person needs one: the approval, its messages, its event."""
    if after.status != "blocked" or not ended.asks:
        return NOTHING
    kind = _kind(ended, step)
    approval = ApprovalRecord(
        approval_id=ApprovalId(chance.new_id()),
        kind=kind,
        key=f"{'budget' if kind == 'budget' else 'task'}:{after.task_id}",
        reason=(after.last_error or "")[: approvals.REASON] or "the task is blocked",
        task_id=after.task_id,
        attempt_id=ended.claimed.attempt.attempt_id,
        workflow_id=after.workflow_ref.workflow_id if after.workflow_ref is not None else None,
        schedule_id=after.schedule_id,
        questions=ended.questions,
        evidence=tuple(name for name in approvals.LOOKED_AT if name in ended.evidence),
        created_at=chance.now,
        decided_at=None,
    )
    return approvals.asked(approval, chance.approvals)


def _kind(ended: Ended, step: Step | None) -> ApprovalKind:
    if ended.overspent is not None and step is not None and step.why == ended.overspent:
        return "budget"
    return "question" if ended.questions else "task"


def _unless(allowed: bool, what: str) -> str | None:  # noqa: FBT001 - reads as a sentence where it is used
    return None if allowed else f"the profile allows no {what}"


def _message_refusal(ended: Ended, message: Mapping[str, Any], *, allowed: bool) -> str | None:
    if not allowed or ended.profile is None:
        return _unless(False, "external messages")  # noqa: FBT003 - as above
    channel = str(message.get("channel", MESSAGE_CHANNEL))
    channels = ended.profile.integration_policy
    if channels is not None and channels.get(channel) != "allow":
        return f"the profile does not allow the channel `{channel}`"
    return None


def _item(  # noqa: PLR0913, PLR0917 - the parts of a row
    ended: Ended, kind: OutboxKind, number: int, payload: dict[str, Any], refusal: str | None, now: datetime
) -> OutboxItem:
    attempt = ended.claimed.attempt
    return OutboxItem(
        key=f"{attempt.attempt_id}/{kind}/{number}",
        kind=kind,
        task_id=attempt.task_id,
        attempt_id=attempt.attempt_id,
        payload=payload,
        status="pending" if refusal is None else "refused",
        reason=refusal,
        created_at=now,
    )
