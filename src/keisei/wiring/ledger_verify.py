"""Whether a ledger holds: its chain, its tree, and every checkpoint that is kept of it, in one pass over the rows."""

from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from msgspec import Struct

from keisei.engine.ports import Ledger
from keisei.records.error import OperatorError
from keisei.records.move import TreeNode, UnsealedRows
from keisei.rules.checkpoint import size_of
from keisei.rules.ledger_walk import LEVELS, Tell, Walk, first_unfit
from keisei.rules.note import VerifierKey
from keisei.wiring.ledger_kept import GIVEN, TABLE, Kept, kept_outside, origin_of
from keisei.wiring.ledger_trial import CheckpointCount, KeyCount, Known, Trial
from keisei.wiring.signing import known_key

LATE: Final = timedelta(seconds=60)
"""How long a row may wait for its seal; a sealer comes every second."""


class BrokenPlace(Struct, frozen=True, kw_only=True):
    """Where a ledger does not hold."""

    row: int | None
    """The first row that does not; None where a checkpoint or a node of the tree does not."""
    why: str
    """What is wrong, in a sentence."""


class Verification(Struct, frozen=True, kw_only=True):
    """What was found."""

    ok: bool
    """Everything holds."""
    rows: int
    """Rows that hold, from the first."""
    head: str
    """The chain's hash at the last of them; whoever keeps it can prove later that nothing was cut off."""
    root: str
    """The root of the tree over them."""
    unsealed: int
    """Rows that are written and not sealed yet."""
    broken: BrokenPlace | None
    """The first place that does not hold."""
    kept_head_found: bool | None
    """Whether a head that was given is in the chain; None where none was."""
    origin: str
    """What it is called: as it was when it was first signed."""
    unsigned: int
    """Rows behind the newest checkpoint."""
    checkpoints: CheckpointCount
    """Checkpoints, in the table, the state folder and the repository."""
    keys: tuple[KeyCount, ...]
    """Keys that the ledger introduces or that were given, and what each has signed."""
    told: tuple[str, ...]
    """What nothing breaks by and somebody should know, a sentence each."""
    tree_nodes: int
    """Kept subtrees that were checked."""


class Asked(Struct, frozen=True, kw_only=True):
    """What a ledger is held against, besides itself."""

    origin: str
    """What its project is called; a ledger that was signed has kept the name it had then."""
    state: Path | None = None
    """The state folder, where the newest checkpoint is kept too."""
    repository: Path | None = None
    """A folder in the repository whose reference tells all of them."""
    head: str | None = None
    """A chain hash that was kept elsewhere."""
    keys: tuple[VerifierKey, ...] = ()
    """Keys that were kept elsewhere: where there are some, each checkpoint must be signed with one of them."""
    checkpoints: tuple[str, ...] = ()
    """Checkpoints that were kept elsewhere."""


def verify(ledger: Ledger, asked: Asked, tell: Tell | None = None) -> Verification:
    """Walk along all rows, and hold every checkpoint against them. Raises what the places raise that cannot be read.

    What others may add to while this goes on is read first: rows are only ever added behind it.
    """
    outside = kept_outside(asked.state, asked.repository)  # what is published is in the table already
    kept = outside.kept + [Kept(GIVEN, None, note) for note in asked.checkpoints]
    checkpoints, nodes = ledger.kept()
    waiting = ledger.unsealed_rows()
    kept += [Kept(TABLE, each.size, each.note) for each in checkpoints]
    walk = Walk((size for each in kept if (size := size_of(each.note)) is not None), asked.head)
    broken = walk.along(ledger.rows(), tell)
    found = BrokenPlace(row=broken[0], why=broken[1]) if broken is not None else None
    origin = origin_of(walk.keys, asked.origin)
    trial = Trial(walk, Known(origin, asked.keys, _own(asked.state, origin)), kept, nodes)
    found = found or _unsealed(waiting)
    if found is None:
        fault = trial.judged()
        found = None if fault is None else BrokenPlace(row=fault[0], why=fault[1])
        found = found or _unfit_node(nodes, walk, trial.newest_in_table)
    return Verification(
        ok=found is None and walk.met is not False,
        rows=walk.rows,
        head=walk.head,
        root=walk.tree.root().hex(),
        unsealed=waiting.rows,
        broken=found,
        kept_head_found=walk.met,
        origin=origin,
        unsigned=max(walk.rows - (trial.newest or 0), 0),
        checkpoints=trial.counted(outside, is_folder=asked.state is not None),
        keys=trial.keys(),
        told=() if found is not None else (*outside.told, *trial.told(outside, is_folder=asked.state is not None)),
        tree_nodes=len(nodes),
    )


def _unsealed(waiting: UnsealedRows) -> BrokenPlace | None:
    """Rows that a sealer would have sealed by now: until then they can be changed without a trace."""
    if waiting.strays:
        return BrokenPlace(row=None, why="there are marks of rows that are sealed or gone: somebody else wrote them")
    since = waiting.since
    if waiting.rows and waiting.hindered is None and since is not None and datetime.now(UTC) - since > LATE:
        return BrokenPlace(row=None, why=f"rows of {since:%Y-%m-%d %H:%M} are not sealed: something stops the sealer")
    return None


def _own(state: Path | None, origin: str) -> tuple[VerifierKey, ...]:
    """This machine's key, whether the ledger has introduced it or that row was cut off."""
    with suppress(OperatorError):  # it cannot be read: then it is only not known
        found = None if state is None else known_key(state, origin)
        return () if found is None else (found,)
    return ()


def _unfit_node(nodes: Iterable[TreeNode], walk: Walk, size: int) -> BrokenPlace | None:
    found = first_unfit(nodes, walk, size)
    if found is None:
        return None
    node, why = found
    over = ""
    if node.level in LEVELS:  # another one may be too large for any row
        over = f", over rows {(node.index << node.level) + 1} to {(node.index + 1) << node.level},"
    return BrokenPlace(row=None, why=f"node {node.index} of level {node.level} of the tree{over} does not fit: {why}")
