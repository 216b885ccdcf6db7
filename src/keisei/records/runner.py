"""Runners: the processes that hold leases, a fresh id per start. Internal: no published schema."""

from datetime import datetime
from typing import Literal

from msgspec import Struct

from keisei.records.id import RunnerId, TaskId

RunnerState = Literal["active", "draining", "stopped", "lost"]
"""Active claims and runs; draining finishes what it has; stopped left by itself; lost missed its lease or died."""


class RunnerRecord(Struct, frozen=True, kw_only=True):
    """One start of one runner."""

    runner_id: RunnerId
    """Fresh at every start, so that nobody inherits a dead runner's lease."""
    host: str
    """The machine."""
    boot_id: str
    """The machine's start; a lease does not outlive it."""
    pid: int
    """The process."""
    born: str
    """The process's start time in the kernel's words, so that a reused pid is not taken for it."""
    version: str
    """The keisei that runs."""
    slots: int
    """How many attempts it runs at once."""
    lease_s: float
    """How long it may be silent before its attempts are taken from it."""
    state: RunnerState = "active"
    """Where it stands."""
    started_at: datetime
    """When it registered."""
    heartbeat_at: datetime
    """When it was last heard."""
    ended_at: datetime | None = None
    """When it stopped or was given up."""


class Beat(Struct, frozen=True, kw_only=True):
    """The answer to a heartbeat."""

    alive: bool
    """False: the lease is gone, whoever asks must end its trees and settle nothing."""
    draining: bool = False
    """It takes nothing new."""
    paused: str | None = None
    """Why nothing is claimed; None where dispatch is not paused."""
    canceled: tuple[TaskId, ...] = ()
    """Tasks it runs that an operator has cancelled."""
