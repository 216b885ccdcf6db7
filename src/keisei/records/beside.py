"""What is written beside a move, in its transaction. Internal: no published schema."""

from msgspec import Struct

from keisei.records.approval import ApprovalRecord
from keisei.records.move import NewEntry, NewEvent, NewTask
from keisei.records.outbox import OutboxItem


class Beside(Struct, frozen=True, kw_only=True):
    """Rows of other kinds that hold exactly if the move does."""

    tasks: tuple[NewTask, ...] = ()
    """Tasks to queue; a known key or id writes nothing."""
    events: tuple[NewEvent, ...] = ()
    """What happened."""
    ledger: tuple[NewEntry, ...] = ()
    """What must be provable."""
    outbox: tuple[OutboxItem, ...] = ()
    """What leaves the house; a known key writes nothing."""
    approvals: tuple[ApprovalRecord, ...] = ()
    """What needs a person; a known key that is still open writes nothing."""


NOTHING = Beside()
