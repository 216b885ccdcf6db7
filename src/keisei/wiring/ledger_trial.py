"""Checkpoints of a ledger, held against the rows that were walked: which hold, which do not, and which are missing."""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from msgspec import Struct

from keisei.records.move import TreeNode
from keisei.rules.checkpoint import Unfit, body_of, read_checkpoint, told_by
from keisei.rules.ledger_walk import Walk, changed_block
from keisei.rules.note import CheckpointBody, VerifierKey, signers_of, vkey
from keisei.wiring.ledger_kept import FOLDER, GIVEN, REPOSITORY, TABLE, Kept, Outside

CUT: Final = "rows were cut off the end"
AGAIN: Final = "`keisei ledger checkpoint` puts the newest there again"


class CheckpointCount(Struct, frozen=True, kw_only=True):
    """What checkpoints were looked at, and where they were found."""

    checked: int = 0
    """That are the root of the rows they are of, signed with a key that is known."""
    newest: int | None = None
    """How many rows the newest of them is of."""
    table: int = 0
    """How many of them stand in the table."""
    folder: bool | None = None
    """Whether the state folder has one; None where there is no such folder."""
    repository: int | None = None
    """How many of the table's the repository tells too; None outside of one."""
    others: int = 0
    """In the repository, under this name and signed with other keys: they are not this ledger's word."""


class KeyCount(Struct, frozen=True, kw_only=True):
    """A key, and what it has signed."""

    vkey: str
    """The verifier key."""
    row: int | None
    """The row that introduces it; None where it was only given."""
    checkpoints: int
    """Checkpoints with its signature."""
    newest: int | None
    """How many rows the newest of them is of."""


class Known(NamedTuple):
    """Whose word counts."""

    origin: str
    """What the ledger is called."""
    given: tuple[VerifierKey, ...]
    """Keys that were kept elsewhere: where there are some, only theirs does."""
    own: tuple[VerifierKey, ...]
    """This machine's: what it signed is told of this ledger, introduced or not."""


class Trial:
    """The checkpoints of one ledger."""

    def __init__(self, walk: Walk, known: Known, kept: Sequence[Kept], nodes: Sequence[TreeNode]) -> None:
        """Nothing was judged yet."""
        self._walk, self._known, self._nodes = walk, known, nodes
        self._kept = sorted(kept, key=lambda each: (each.rows or 0, each.where != TABLE))
        self._sizes = {each.size for each in kept if each.where == TABLE}
        self.newest_in_table = max((size for size in self._sizes if size is not None), default=0)
        self.newest: int | None = None
        """How many rows the newest that holds is of."""
        self._ours = (*known.given, *known.own, *(each.key for each in walk.keys))
        self._good: dict[str, set[int]] = {}
        """Sizes of those that hold, by where they are kept."""
        self._signers: dict[str, tuple[VerifierKey, ...]] = {}
        """Of those that hold, by their note."""
        self._signed: dict[VerifierKey, list[int]] = {}
        self._others = set[str]()

    def judged(self) -> tuple[int | None, str] | None:
        """The first that does not fit: the row, where it is one, and why."""
        for each in self._kept:
            fault = self._fault(each)
            if fault is not None:
                return self._walk.rows + 1 if fault.startswith(CUT) else None, f"{each.name}: {fault}"
        if self._known.given and not self._signers:
            return None, "no checkpoint is signed with a key that was given"
        return None

    def counted(self, outside: Outside, *, is_folder: bool) -> CheckpointCount:
        """What was found, and where."""
        return CheckpointCount(
            checked=len(self._signers),
            newest=self.newest,
            table=len(self._good.get(TABLE, ())),
            folder=FOLDER in self._good if is_folder else None,
            repository=len(self._good.get(REPOSITORY, ())) if outside.is_repository else None,
            others=len(self._others),
        )

    def keys(self) -> tuple[KeyCount, ...]:
        """Every key that is known, in the order of the rows that introduce them; those that were only given last."""
        rows = {each.key: each.seq for each in reversed(self._walk.keys)}
        known = dict.fromkeys((*(each.key for each in self._walk.keys), *self._known.given))
        return tuple(
            KeyCount(
                vkey=vkey(each.name, each.public),
                row=rows.get(each),
                checkpoints=len(self._signed.get(each, ())),
                newest=max(self._signed.get(each, ()), default=None),
            )
            for each in known
        )

    def told(self, outside: Outside, *, is_folder: bool) -> Iterator[str]:
        """What is missing where something should be, and what is there of others, a sentence each."""
        table = self._good.get(TABLE, set())
        if not self._signers:
            for each in self._walk.keys[:1]:
                yield f"row {each.seq} introduces a key, and there is no checkpoint: it was removed, or never finished"
        if table and is_folder and FOLDER not in self._good:
            yield f"the state folder has no checkpoint; {AGAIN}"
        published = self._good.get(REPOSITORY, set())
        if table and outside.is_repository and max(table) not in published:
            yield f"the repository tells {len(published)} of {len(table)} checkpoints, and not the newest; {AGAIN}"
        if self._others:
            count = f"{len(self._others)} checkpoint{'' if len(self._others) == 1 else 's'}"
            yield f"the repository has {count} of other keys under the name `{self._known.origin}`: not of this ledger"

    def _fault(self, kept: Kept) -> str | None:
        if kept.where == REPOSITORY and told_by(kept.note, self._known.origin, self._ours) is None:
            self._count_stranger(kept.note)
            return None
        try:
            body = body_of(kept.note, self._known.origin)
            fault = self._misfit(kept, body) or self._unsigned(kept)
        except Unfit as error:
            return str(error)
        if fault is None:
            self._good.setdefault(kept.where, set()).add(body.size)
            self.newest = max(self.newest or 0, body.size)
        return fault

    def _count_stranger(self, note: str) -> None:
        """Anybody can write there: what none of our keys signed says nothing of this ledger."""
        try:
            body_of(note, self._known.origin)
        except Unfit:
            return
        self._others.add(note)

    def _misfit(self, kept: Kept, body: CheckpointBody) -> str | None:
        if kept.size not in (None, body.size):
            return f"its note is of {body.size} rows"
        if body.size > self._walk.rows:
            return f"{CUT}: the ledger has only {self._walk.rows}"
        if self._walk.roots[body.size] != body.root:
            self._check_unchanged(kept)
            first, last = self._place(kept.where, body.size)
            return f"the rows are not those that were signed: one from {first} to {last} is another"
        if kept.where in (FOLDER, REPOSITORY) and body.size not in self._sizes:
            return "the table does not have it any more"
        return None

    def _check_unchanged(self, kept: Kept) -> None:
        """Raise Unfit where it is not the rows that are others, but the note."""
        try:
            signers = signers_of(kept.note, self._ours)
        except ValueError as error:
            raise Unfit(f"it was changed: {error}") from error
        if kept.where == TABLE and not signers:
            raise Unfit("it was changed: no key of this ledger has signed it")

    def _place(self, where: str, size: int) -> tuple[int, int]:
        """Where the first row is that was not signed: behind what holds, in the first block that is kept otherwise."""
        first = max(self._good.get(where, {0})) + 1  # where rows were signed anew, another place may say otherwise
        block = changed_block(self._nodes, self._walk)
        if block is not None and first <= block[1] and block[0] <= size:
            return max(first, block[0]), min(size, block[1])
        return first, size

    def _unsigned(self, kept: Kept) -> str | None:
        """Raises Unfit where nobody signed it who is known."""
        if kept.note not in self._signers:
            # what we keep has signatures of ours alone; others may have signed what somebody kept elsewhere
            alone, given = kept.where != GIVEN, self._known.given
            read = read_checkpoint(kept.note, self._known.origin, self._walk.keys, given, alone=alone)
            if given and set(read.signers).isdisjoint(given):
                return "it is not signed with a key that was given"
            self._signers[kept.note] = read.signers
            for each in read.signers:
                self._signed.setdefault(each, []).append(read.body.size)
        return None
