"""Whether a ledger holds: its chain, its tree, and every checkpoint that is kept of it, in one pass over the rows."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

from keisei.engine.ports import Ledger
from keisei.records.move import TreeNode
from keisei.rules.ledger_walk import LEVELS, Tell, Walk, first_unfit
from keisei.rules.note import CheckpointBody, VerifierKey, parse_checkpoint, signers_of, split_note
from keisei.wiring.ledger_kept import FOLDER, GIVEN, REPOSITORY, TABLE, Kept, kept_outside, size_of

CUT: Final = "rows were cut off the end"


class BrokenPlace(Struct, frozen=True, kw_only=True):
    """Where a ledger does not hold."""

    row: int | None
    """The first row that does not; None where a checkpoint or a node of the tree does not."""
    why: str
    """What is wrong, in a sentence."""


class CheckpointCount(Struct, frozen=True, kw_only=True):
    """What checkpoints were looked at."""

    checked: int = 0
    """That are the root of the rows they are of."""
    signed: int = 0
    """Of these, with the signature of a key that is known."""
    newest: int | None = None
    """How many rows the newest is of."""


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
    checkpoints: CheckpointCount
    """Checkpoints, in the table, the state folder and the repository."""
    tree_nodes: int
    """Kept subtrees that were checked."""


class Asked(Struct, frozen=True, kw_only=True):
    """What a ledger is held against, besides itself."""

    origin: str
    """What it is called in its checkpoints."""
    state: Path | None = None
    """The state folder, where the newest checkpoint is kept too."""
    repository: Path | None = None
    """A folder in the repository whose reference tells all of them."""
    head: str | None = None
    """A chain hash that was kept elsewhere."""
    keys: tuple[VerifierKey, ...] = ()
    """Keys that may sign, besides those that the ledger introduces; one of them must have."""
    checkpoints: tuple[str, ...] = ()
    """Checkpoints that were kept elsewhere."""


def verify(ledger: Ledger, asked: Asked, tell: Tell | None = None) -> Verification:
    """Walk along all rows, and hold every checkpoint against them. Raises what the places raise that cannot be read.

    What others may add to while this goes on is read first: rows are only ever added behind it.
    """
    kept = kept_outside(asked.state, asked.repository)  # what is published is in the table already
    kept += [Kept(GIVEN, None, note) for note in asked.checkpoints]
    checkpoints, nodes = ledger.kept()
    kept += [Kept(TABLE, each.size, each.note) for each in checkpoints]
    walk = Walk((size for each in kept if (size := size_of(each.note)) is not None), asked.head)
    broken = walk.along(ledger.rows(), tell)
    found = BrokenPlace(row=broken[0], why=broken[1]) if broken is not None else None
    trial = _Trial(walk, asked, kept)
    if found is None:
        found = trial.judged() or _unfit_node(nodes, walk, trial.newest_in_table)
    return Verification(
        ok=found is None and walk.met is not False,
        rows=walk.rows,
        head=walk.head,
        root=walk.tree.root().hex(),
        unsealed=ledger.unsealed(),
        broken=found,
        kept_head_found=walk.met,
        checkpoints=CheckpointCount(checked=trial.checked, signed=trial.signed, newest=trial.newest),
        tree_nodes=len(nodes),
    )


class _Trial:
    """Checkpoints, held against the rows that were walked."""

    def __init__(self, walk: Walk, asked: Asked, kept: Sequence[Kept]) -> None:
        self._walk, self._asked = walk, asked
        self._kept = sorted(kept, key=lambda each: (each.rows or 0, each.where != TABLE))
        self._sizes = {each.size for each in kept if each.where == TABLE}
        self.newest_in_table = max((size for size in self._sizes if size is not None), default=0)
        self.checked = self.signed = 0
        self._good: dict[str, int] = {}
        self.newest: int | None = None
        self._given_signed = False
        self._known: dict[str, bool] = {}

    def judged(self) -> BrokenPlace | None:
        """The first that does not fit."""
        for each in self._kept:
            fault = self._fault(each)
            if fault is not None:
                row = self._walk.rows + 1 if fault.startswith(CUT) else None
                return BrokenPlace(row=row, why=f"{each.name}: {fault}")
        if self._asked.keys and not self._given_signed:
            return BrokenPlace(row=None, why="no checkpoint is signed with a key that was given")
        return None

    def _fault(self, kept: Kept) -> str | None:
        try:
            text, signatures = split_note(kept.note)
            body = parse_checkpoint(text)
        except ValueError as error:
            return None if kept.where == REPOSITORY else f"it was changed: {error}"
        if body.origin != self._asked.origin:
            return None if kept.where == REPOSITORY else f"it is of another ledger, `{body.origin}`"
        return self._misfit(kept, body) or self._unsigned(kept, body, len(signatures))

    def _misfit(self, kept: Kept, body: CheckpointBody) -> str | None:
        if kept.size not in (None, body.size):
            return f"its note is of {body.size} rows"
        if body.size > self._walk.rows:
            return f"{CUT}: the ledger has only {self._walk.rows}"
        if self._walk.roots[body.size] != body.root:
            first = self._good.get(kept.where, 0) + 1  # where rows were signed anew, another place may say otherwise
            return f"the rows are not those that were signed: one from {first} to {body.size} is another"
        if kept.where in (FOLDER, REPOSITORY) and body.size not in self._sizes:
            return "the table does not have it any more"
        self._good[kept.where] = body.size
        return None

    def _unsigned(self, kept: Kept, body: CheckpointBody, signatures: int) -> str | None:
        if kept.note not in self._known:
            keys = [*self._asked.keys, *(each.key for each in self._walk.keys if each.seq <= body.size)]
            try:
                signers = signers_of(kept.note, keys)
            except ValueError as error:
                return f"it was changed: {error}"
            # what we keep has signatures of ours alone; others may have signed what somebody kept elsewhere
            if len(signers) < (1 if kept.where == GIVEN else signatures):
                return "it is not signed by a key that the ledger introduced before it, nor by one that was given"
            self._given_signed = self._given_signed or not set(signers).isdisjoint(self._asked.keys)
            self._known[kept.note] = True
            self.checked, self.signed = self.checked + 1, self.signed + 1
            self.newest = max(self.newest or 0, body.size)
        return None


def _unfit_node(nodes: Iterable[TreeNode], walk: Walk, size: int) -> BrokenPlace | None:
    found = first_unfit(nodes, walk, size)
    if found is None:
        return None
    node, why = found
    over = ""
    if node.level in LEVELS:  # another one may be too large for any row
        over = f", over rows {(node.index << node.level) + 1} to {(node.index + 1) << node.level},"
    return BrokenPlace(row=None, why=f"node {node.index} of level {node.level} of the tree{over} does not fit: {why}")
