"""Executing: a launch or a call is made, its output kept while it comes, its lease renewed while it runs."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from keisei.records.confinement import Level
from keisei.records.error import WorldFault
from keisei.records.launch import Call, Exit, Launch, SpoolSummary
from keisei.sandbox.http import call
from keisei.sandbox.process import open_process
from keisei.sandbox.spool import Spool
from keisei.wiring.switch import Switch

if TYPE_CHECKING:
    from keisei.sandbox.relay import Relay
    from keisei.wiring.gatehouse import Admitted
    from keisei.wiring.watchman import Watchman


class Ground(NamedTuple):
    """Where and how an attempt runs."""

    folder: Path
    """Its private folder: `stdout.log` and `stderr.log` grow there."""
    output_cap: int
    secrets: tuple[str, ...]
    """Values that must not reach those files."""
    switch: Switch
    left_s: Callable[[], float]
    """How long a tree may live if no lease is renewed."""
    mark: str
    """The word by which the tree is found, whoever looks for it."""
    watch: "Watchman | None" = None
    """Who looks after it while it runs."""


class Cell(NamedTuple):
    """What is around a harness while it runs."""

    launch: Launch | Call
    """What to run: the harness with everything around it."""
    told: Launch | Call
    """The harness alone, as evidence tells it."""
    layers: tuple[str, ...] = ()
    """What holds it."""
    level: Level = "none"
    """How surely."""
    admitted: "Admitted | None" = None
    """The gate's token."""
    relay: "Relay | None" = None
    """The road to its model."""
    watch: "Watchman | None" = None
    """Looks after it while it runs."""
    secrets: tuple[str, ...] = ()
    """Values that are this attempt's alone and stand in no evidence: tokens."""


class Executed(NamedTuple):
    """How it ended, and what was kept of it."""

    ended: Exit
    kept: SpoolSummary


class Hold(NamedTuple):
    """By what a program is held that an attempt needs before its harness: it ends like the attempt itself."""

    switch: Switch
    left_s: Callable[[], float]
    mark: str


def run_held(launch: Launch, hold: Hold) -> Exit:
    """Run it to its end. Raises WorldFault, which may pass, where the attempt was ended meanwhile."""
    with open_process(launch, lease_s=hold.left_s(), mark=hold.mark) as process:
        hold.switch.attach(process)
        try:
            done = process.wait()
        finally:
            hold.switch.attach(None)
    if done.canceled or done.lease_lost:
        raise WorldFault(f"`{launch.argv[0]}` was ended with its attempt", retryable=True)
    return done


def execute(what: Launch | Call, ground: Ground) -> Executed:
    """Run it to its end. Raises WorldFault where it cannot start.

    The tree is ended with this process, with the lease, or by the switch, whichever comes first.
    """
    with Spool(ground.folder, cap=ground.output_cap, secrets=ground.secrets) as spool:
        if isinstance(what, Call):
            ended = call(what, on_output=spool.write, cancel=ground.switch.pulled)
        else:
            ended = _run(what, spool, ground)
    return Executed(ended, spool.summary())


def _run(launch: Launch, spool: Spool, ground: Ground) -> Exit:
    with open_process(launch, lease_s=ground.left_s(), mark=ground.mark, on_output=spool.write) as process:
        ground.switch.attach(process)
        if ground.watch is not None:
            ground.watch.watch(process)
        try:
            return process.wait()
        finally:
            ground.switch.attach(None)
            if ground.watch is not None:
                ground.watch.rest()
