"""Follow-ups: what of an agent's wish holds. Nothing in it gives more than its own task had."""

from typing import Final

from msgspec.structs import replace

from keisei.records.error import Refused
from keisei.records.intent import Budget, TaskIntent
from keisei.records.task import TaskRecord

TASK_SOURCE: Final = "task:"
"""How the source begins of a task that another task asked for; the rest is that task's id."""
ASKED: Final = "asked:"
"""How the key begins of a task that an attempt queued while it ran."""
FOLLOWS: Final = "/follow_up_task/"
"""What stands in the key of a task that an outcome asked for, between its attempt and its number."""
DEEPEST: Final = 5
"""Follow-ups of follow-ups: deeper ones are dead letters, so that work does not breed."""
MOST: Final = 20
"""Follow-ups of one outcome; the others are dead letters."""


def check_place(depth: int, number: int | None) -> None:
    """Raises Refused for a follow-up that stands too deep, or behind too many of the same outcome."""
    if depth > DEEPEST:
        raise Refused(f"a follow-up {depth} tasks deep is not queued; {DEEPEST} is the deepest")
    if number is not None and number >= MOST:
        raise Refused(f"follow-up {number + 1} of one outcome is not queued; {MOST} is the most")


def curbed(intent: TaskIntent, parent: TaskRecord, *, key: str, priority: int, max_attempts: int) -> TaskIntent:
    """The wish as it is queued. Raises Refused where it asks for a moment or for an identity that is not its parent's.

    Where it comes from and which key it has is not asked: the source is the task and the key the row's. It speaks for
    no workflow, spends at most what its parent may, and stands neither before its parent nor before an ordinary task.
    `priority` and `max_attempts` are those of a task that names none.
    """
    if intent.available_at is not None:
        raise Refused("a follow-up names no `available_at`", "delay it with `schedule`")
    if intent.agent is not None and intent.agent != parent.agent:
        raise Refused(f"a follow-up runs under its parent's identity, and not as `{intent.agent}`")
    highest, most = max(parent.priority, priority), max(parent.max_attempts, max_attempts)
    return replace(
        intent,
        source=f"{TASK_SOURCE}{parent.task_id}",
        idempotency_key=key,
        workflow_ref=None,
        agent=parent.agent,
        budget=_within(intent.budget, parent.budget),
        priority=None if intent.priority is None else min(intent.priority, highest),
        max_attempts=None if intent.max_attempts is None else min(intent.max_attempts, most),
    )


def _within(asked: Budget | None, limit: Budget | None) -> Budget | None:
    """The parent's budget, lowered by what is asked for; None where that has none: the project's holds."""
    if limit is None or asked is None:
        return limit
    cost, tokens = limit.max_cost_usd, limit.max_tokens
    return Budget(
        max_cost_usd=cost if cost is None or asked.max_cost_usd is None else min(cost, asked.max_cost_usd),
        max_tokens=tokens if tokens is None or asked.max_tokens is None else min(tokens, asked.max_tokens),
    )
