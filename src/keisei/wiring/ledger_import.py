"""A ledger that was exported, taken in: proved first, then written at once, or not at all.

Whatever stands in the file is somebody else's: it is read in bounded lines, typed, twice. The first time everything is
proved and nothing written; the second time the rows go into one transaction, and the chain must end as it did before.
"""

import base64
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple

import msgspec
from msgspec import Struct

from keisei.engine.ports import Ledger
from keisei.records.error import OperatorError, WorldFault
from keisei.records.move import LedgerCheckpoint, LedgerRestoration, LedgerRow, TreeNode
from keisei.records.problem import printable
from keisei.rules.checkpoint import Unfit, body_of, read_checkpoint
from keisei.rules.ledger import LARGEST_CONTENT, Chain
from keisei.rules.ledger_walk import Misfit, Walk, due
from keisei.rules.note import CheckpointBody
from keisei.wiring.ledger_export import FORMAT
from keisei.wiring.ledger_kept import introduced, origin_of

LONGEST: Final = 8 * LARGEST_CONTENT
"""Bytes of a line: the largest row there can be, every character of it escaped."""
MOST_NOTES: Final = 67_108_864
"""Characters of all checkpoints of a file."""
OWN: Final = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
HINT: Final = "nothing was imported; give a file that `keisei ledger export` wrote"


class Imported(NamedTuple):
    """What became of a file."""

    rows: int
    """That were written."""
    known: int
    """That were here already, to the byte."""
    checkpoints: int
    """Checkpoints in the file, all of which fit."""


class Head(Struct, frozen=True, forbid_unknown_fields=True):
    """The first line."""

    format: str
    origin: str
    size: int
    root: str
    head: str
    keys: list[str]


class Line(Struct, frozen=True, forbid_unknown_fields=True):
    """Every other line: a row, or a checkpoint."""

    seq: int | None = None
    content: str | None = None
    content_base64: str | None = None
    leaf_hash: str | None = None
    chain_hash: str | None = None
    checkpoint: str | None = None


_head = msgspec.json.Decoder(Head).decode
_line = msgspec.json.Decoder(Line).decode


class Bad(Exception):
    """What is wrong with a file, in a few words."""


class _Proved(NamedTuple):
    head: Head
    checkpoints: tuple[LedgerCheckpoint, ...]
    nodes: tuple[TreeNode, ...]


def import_ledger(ledger: Ledger, origin: str, path: Path) -> Imported:
    """Take a file in. Raises OperatorError, with nothing written, for one that does not hold or does not go on here.

    The origin is the project's; a ledger that was signed has kept the one it had then.
    """
    origin = origin_of(introduced(ledger), origin)
    with _opened(path) as file:
        try:
            proved = _proved(file, origin)
            after, head = _known(ledger, file, proved.head.size)
            if after < proved.head.size:
                _restore(ledger, file, proved, after, head)
        except Bad as error:
            raise OperatorError(f"`{path}` cannot be imported: {error}", HINT) from error
        except OSError as error:
            message = f"`{path}` cannot be read: {(error.strerror or str(error)).lower()}"
            raise OperatorError(message, HINT) from error
    return Imported(proved.head.size - after, after, len(proved.checkpoints))


def _restore(ledger: Ledger, file: BinaryIO, proved: _Proved, after: int, head: str) -> None:
    order = LedgerRestoration(
        after=after,
        head=head,
        rows=lambda: _again(file, after, proved.head),
        checkpoints=proved.checkpoints,
        nodes=proved.nodes,
    )
    if not ledger.restore_rows(order):
        message = "somebody else wrote into this ledger meanwhile"
        raise WorldFault(message, "nothing was imported; try again", retryable=True)


def _proved(file: BinaryIO, origin: str) -> _Proved:
    """The whole file, held against itself."""
    head, notes = _first(file, origin), list[str]()
    for _ in _rows(file, notes):
        pass
    bodies = [_body(note, head) for note in notes]
    sizes = [each.size for each in bodies]
    if sizes != sorted(set(sizes)):
        raise Bad("its checkpoints are not in the order of their sizes, or one is there twice")
    walk = Walk(sizes)
    try:
        for _ in walk.over(_rows(file)):
            pass
    except Misfit as error:
        raise Bad(f"at row {error.broken[0]}: {error.broken[1]}") from error
    if walk.rows != head.size:
        raise Bad(f"it has {walk.rows} rows, and its first line tells of {head.size}: it was cut off, or added to")
    if (walk.head, walk.tree.root().hex()) != (head.head, head.root):
        raise Bad("its rows are not those that its first line tells of")
    for note, body in zip(notes, bodies, strict=True):
        _check_signed(note, body, walk)
    places = due(max(sizes, default=0))
    return _Proved(
        head,
        tuple(LedgerCheckpoint(size=size, note=note) for size, note in zip(sizes, notes, strict=True)),
        tuple(TreeNode(level=level, index=index, hash=walk.nodes[level, index]) for level, index in places),
    )


def _known(ledger: Ledger, file: BinaryIO, size: int) -> tuple[int, str]:
    """How many rows of the file are here already, and the head there. Raises where the ledger here is another one."""
    walk, theirs = Walk(), _rows(file)
    try:
        for mine in walk.over(islice(ledger.rows(), size)):
            other = next(theirs)
            if (mine.content, mine.chain_hash) != (other.content, other.chain_hash):
                raise Bad(f"row {mine.seq} of this ledger is another than the file's: it goes on from another ledger")
    except Misfit as error:
        message = f"this ledger is broken at row {error.broken[0]}: {error.broken[1]}"
        raise OperatorError(message, "nothing was imported; `kei-ledger verify` tells more") from error
    return walk.rows, walk.head


def _again(file: BinaryIO, after: int, head: Head) -> Iterator[LedgerRow]:
    """The rows behind a place, a second time: the file must not have changed."""
    chain = Chain()
    for row in islice(_rows(file), head.size):
        if chain.fault(row) is not None:
            break
        if row.seq > after:
            yield row
    if chain.head.hex() != head.head:
        raise Bad("it changed while it was read")


def _first(file: BinaryIO, origin: str) -> Head:
    try:
        head = _head(next(_lines(file), b""))
    except (ValueError, RecursionError) as error:
        raise Bad("its first line is not that of an exported ledger") from error
    if head.format != FORMAT:
        raise Bad(f"its format is `{printable(head.format[:100])}`, not `{FORMAT}`")
    if head.origin != origin:
        raise Bad(f"it is the ledger of `{printable(head.origin[:100])}`, and this is `{origin}`")
    return head


def _rows(file: BinaryIO, notes: list[str] | None = None) -> Iterator[LedgerRow]:
    """The rows; then the checkpoints are put into the list, where there is one."""
    taken, behind = 0, False
    for number, raw in enumerate(islice(_lines(file), 1, None), start=2):
        try:
            line = _line(raw)
            if line.checkpoint is None and not behind:
                yield _row(line)
                continue
        except (ValueError, TypeError, RecursionError) as error:
            raise Bad(f"line {number} is not that of a row or a checkpoint") from error
        if line.checkpoint is None:
            raise Bad(f"line {number} is a row behind a checkpoint")
        behind, taken = True, taken + len(line.checkpoint)
        if taken > MOST_NOTES:
            raise Bad(f"its checkpoints have more than {MOST_NOTES} characters")
        if notes is not None:
            notes.append(line.checkpoint)


def _row(line: Line) -> LedgerRow:
    """Raises ValueError, TypeError for a line that lacks something, or has both forms of a content."""
    if line.seq is None or line.leaf_hash is None or line.chain_hash is None:
        raise ValueError("a field is missing")
    if line.content is not None and line.content_base64 is None:
        content = line.content.encode("utf-8")
    elif line.content is None and line.content_base64 is not None:
        content = base64.b64decode(line.content_base64, validate=True)
    else:
        raise ValueError("the content is missing, or there twice")
    if len(content) > LARGEST_CONTENT:
        raise ValueError("the content is too large")
    return LedgerRow(seq=line.seq, content=content, leaf_hash=line.leaf_hash, chain_hash=line.chain_hash)


def _body(note: str, head: Head) -> CheckpointBody:
    try:
        body = body_of(note)
    except Unfit as error:
        raise Bad(f"a checkpoint of it is none: {error}") from error
    if body.origin != head.origin or not 0 < body.size <= head.size:
        raise Bad(f"its checkpoint of {body.size} rows of `{printable(body.origin[:100])}` is not of this ledger")
    return body


def _check_signed(note: str, body: CheckpointBody, walk: Walk) -> None:
    if walk.roots[body.size] != body.root:
        raise Bad(f"its checkpoint of {body.size} rows does not fit the rows")
    try:
        read_checkpoint(note, body.origin, walk.keys)
    except Unfit as error:
        raise Bad(f"its checkpoint of {body.size} rows: {error}") from error


def _lines(file: BinaryIO) -> Iterator[bytes]:
    """The lines from the first on, without their ends. Raises Bad for one that is too long, or cut."""
    file.seek(0)
    number = 0
    while raw := file.readline(LONGEST + 1):
        number += 1
        if len(raw) > LONGEST:
            raise Bad(f"line {number} has more than {LONGEST} bytes")
        if not raw.endswith(b"\n"):
            raise Bad(f"line {number} has no end: the file was cut off")
        yield raw[:-1]


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    """A regular file, opened once: a pipe or a device could go on for ever."""
    try:
        file = open(os.open(path, OWN), "rb")  # noqa: PTH123, SIM115 - a descriptor
    except (OSError, ValueError) as error:
        why = (error.strerror or str(error)).lower() if isinstance(error, OSError) else "it has a zero byte"
        raise OperatorError(f"`{path}` cannot be opened: {why}", HINT) from error
    with file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OperatorError(f"`{path}` is not a file", HINT)
        yield file
