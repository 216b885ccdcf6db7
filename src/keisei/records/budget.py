"""Budgets: what may be spent, what is spoken for, what was spent. Internal: no published schema.

Unknown stays unknown: a harness that does not say what it used is charged with all that was reserved for it.
"""

from datetime import datetime
from typing import Literal

from msgspec import Struct

from keisei.records.id import AdapterId, AgentId, TaskId

Exhausted = Literal["wait", "ask"]
"""What happens to a task that no budget covers: it waits for the next day or for what others give back, or a person is
asked."""


class Amount(Struct, frozen=True, kw_only=True):
    """Money and tokens; None means no limit, or that nobody knows."""

    usd: float | None = None
    """US dollars."""
    tokens: int | None = None
    """Tokens of all four kinds together."""


class BudgetPolicy(Struct, frozen=True, kw_only=True):
    """The limits of a project. All but `task` hold for one UTC day."""

    task: Amount = Amount()
    """Of a task that names none, over all its attempts."""
    day: Amount = Amount()
    """Of everything together."""
    agents: dict[AgentId, Amount] = {}
    """By durable identity."""
    adapters: dict[AdapterId, Amount] = {}
    """By adapter."""
    free: frozenset[AdapterId] = frozenset()
    """Adapters that call no model: a task that names no budget needs none there."""
    exhausted: Exhausted = "wait"
    """What happens to a task that is not covered."""


class Tally(Struct, frozen=True, kw_only=True):
    """What attempts of one day, one agent and one adapter have cost."""

    agent: AgentId | None
    """The durable identity."""
    adapter_id: AdapterId
    """The adapter."""
    spent: Amount
    """What is known to be spent, of attempts that ended."""
    reserved: Amount
    """What open attempts have reserved."""
    unknown: Amount
    """What ended attempts had reserved and did not account for; it is charged."""
    attempts: int
    """How many."""
    unpriced: int = 0
    """How many of them ended without saying what they cost in money."""
    uncounted: int = 0
    """How many of them ended without saying how many tokens they used."""


class Grant(Struct, frozen=True, kw_only=True):
    """An operator allows more, for one UTC day or for one task."""

    grant_id: str
    """Its id."""
    scope: str
    """`day`, `agent:<id>`, `adapter:<id>` or `task:<id>`."""
    day: str | None
    """Which UTC day, as 2026-01-31; None for a task."""
    amount: Amount
    """How much more."""
    reason: str
    """Why."""
    actor: str
    """Who."""
    created_at: datetime
    """When."""


class Hold(Struct, frozen=True, kw_only=True):
    """A task that was passed over by the claim because no budget covers it."""

    task_id: TaskId
    """Which."""
    scope: str
    """Which limit."""
    reason: str
    """In a sentence."""
    until: datetime | None
    """When it is looked at again; None where a person is asked."""
