"""Approvals: how a person is asked, told again, and answered, as values. Pure."""

import hashlib
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final

from msgspec.structs import replace

from keisei.records.approval import ApprovalKind, ApprovalRecord, ApprovalStatus
from keisei.records.beside import Beside
from keisei.records.event import EventType
from keisei.records.move import NewEntry, NewEvent
from keisei.records.outbox import OutboxItem
from keisei.records.project import ProjectApprovals

OF_TASK: Final[frozenset[ApprovalKind]] = frozenset({"task", "question", "budget"})
"""Kinds whose hold is a blocked task: freeing or cancelling it is the decision."""
LOOKED_AT: Final = ("last-message.txt", "stdout.log", "stderr.log", "findings.json", "result.json", "diff.patch")
"""Evidence files that are worth a look, the most telling first."""
GOES_ON: Final = "the task goes on, with one more try at least"
CANCELED: Final = "the task is cancelled"
EFFECTS: Final[Mapping[ApprovalKind, tuple[str, str]]] = {
    "task": (GOES_ON, CANCELED),
    "question": (f"{GOES_ON}, and without an answer", CANCELED),
    "budget": ("what the task may spend is granted once more, and the task goes on", CANCELED),
    "loop": ("the pause is lifted: what it held goes on, its schedule is switched on", "the work stays paused"),
    "adapter": ("the adapter is used again", "the adapter is left alone until it is reset"),
    "schedule": ("the schedule is switched on", "the schedule stays switched off"),
    "sensor": ("the sensor is switched on", "the sensor stays switched off"),
    "message": ("the message is sent again", "the message is not sent"),
    "landing": ("the candidate lands when its turn comes, if it still holds on main", "the candidate does not land"),
    "workflow": ("the workflow asks again in the state it stands in", "the workflow stays blocked"),
}
"""What follows from approving and from rejecting."""
ANSWERED: Final = "the task goes on, and its next attempt reads the answer"
"""What follows from answering."""
NAME: Final = 100
"""Characters of a channel's name that stand in a key."""
REASON: Final = 2000
"""Characters of a reason."""
ANSWER: Final = 10_000
"""Characters of an answer: it is never cut in a prompt, so it must not fill one."""


def deadline_of(approval: ApprovalRecord, policy: ProjectApprovals) -> datetime:
    """By when somebody should have looked; an approval that does not say is given the project's hours."""
    return approval.deadline or approval.created_at + timedelta(hours=policy.deadline_h)


def asked(approval: ApprovalRecord, policy: ProjectApprovals) -> Beside:
    """The approval with its deadline, its event and a message on every channel: what one transaction writes."""
    approval = replace(approval, deadline=deadline_of(approval, policy))
    return Beside(
        approvals=(approval,),
        outbox=messages(approval, policy, approval.created_at),
        events=(event("approval_asked", approval, reason=approval.reason),),
    )


def messages(
    approval: ApprovalRecord, policy: ProjectApprovals, now: datetime, again: str = ""
) -> tuple[OutboxItem, ...]:
    """One message a channel. The same approval and the same `again` are the same messages.

    That a message could not be delivered is not told by another one, which would fare no better.
    """
    if approval.kind == "message":
        return ()
    told = "still needs you" if again else "needs you"
    text = f"{approval.kind} {told}: {approval.reason} (keisei approval show {approval.approval_id})"
    return tuple(
        OutboxItem(
            key=f"approval:{approval.approval_id}/{_mark(channel)}{again}",
            kind="external_message",
            task_id=approval.task_id,
            attempt_id=None,
            payload={
                "channel": channel,
                "about": "approval",
                "approval_id": approval.approval_id,
                "task_id": approval.task_id,
                "text": text,
            },
            created_at=now,
        )
        for channel in dict.fromkeys(policy.notify)
    )


def _mark(channel: str) -> str:
    """A channel in a key: its name, or a hash of one that no key can hold; its message is written all the same."""
    ordinary = channel.isprintable() and len(channel) <= NAME
    return channel if ordinary else hashlib.sha256(channel.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def decided(
    approval: ApprovalRecord, status: ApprovalStatus, said: str, actor: str, now: datetime
) -> tuple[ApprovalRecord, Beside]:
    """The approval after a decision, with its event and its ledger row."""
    after = replace(
        approval,
        status=status,
        decided_at=max(now, approval.created_at),
        decided_by=actor,
        answer=said or None,
    )
    body = {"kind": after.kind, "key": after.key, "status": status, "said": said, "task_id": after.task_id}
    entry = NewEntry(kind="approval_decided", actor=actor, subject=after.approval_id, body=body)
    return after, Beside(events=(event("approval_decided", after, status=status, actor=actor),), ledger=(entry,))


def event(kind: EventType, approval: ApprovalRecord, **detail: object) -> NewEvent:
    """What happened to an approval."""
    told = {"approval_id": approval.approval_id, "kind": approval.kind, **detail}
    return NewEvent(event_type=kind, task_id=approval.task_id, attempt_id=approval.attempt_id, detail=told)


def dated(approval: ApprovalRecord, policy: ProjectApprovals) -> ApprovalRecord:
    """With the deadline that holds for it, where it names none itself and still waits."""
    return approval if approval.status != "open" else replace(approval, deadline=deadline_of(approval, policy))


def effects(approval: ApprovalRecord) -> dict[str, str]:
    """What each decision does; nothing where it is decided."""
    if approval.status != "open":
        return {}
    approved, rejected = EFFECTS[approval.kind]
    told = {"approve": approved, "reject": rejected}
    return {**told, "answer": ANSWERED} if approval.kind in ("task", "question") else told
