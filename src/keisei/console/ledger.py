"""The ledger: its rows newest first, one with its bytes and hashes, and whether the whole chain holds."""

from typing import Annotated, Final

from msgspec import Meta, Struct

from keisei.console.asking import Cursor, Fault, Limit, Unfit
from keisei.console.ledger_check import LedgerVerdict, Verifier
from keisei.console.page import Missing, Order, Page, order, page
from keisei.console.premises import Premises
from keisei.console.visitor import Visitor
from keisei.records.error import OperatorError
from keisei.records.form import Positive
from keisei.records.ledger import LedgerEntry
from keisei.records.move import EntryQuery, NewEntry
from keisei.rules.ledger import content_of, leaf_hash

LOOKED: Final = 5000
"""Rows that are looked at for a subject before a page ends; the next one goes on."""
AT_ONCE: Final = 500
Name = Annotated[str, Meta(max_length=1024)]
Head = Annotated[str, Meta(pattern="^[0-9a-fA-F]{64}$")]


class LedgerListAsk(Struct, frozen=True, kw_only=True):
    """Which rows."""

    kind: Name | None = None
    """Only of this kind."""
    subject: Name | None = None
    """Only about this."""
    after: Cursor | None = None
    """Behind this row, which is older."""
    limit: Limit = 50
    """At most so many."""


class LedgerListPage(Struct, frozen=True, kw_only=True):
    """Rows of the ledger."""

    items: tuple[LedgerEntry, ...]
    """Newest first."""
    next: str | None
    """Where the list goes on."""
    stopped: bool
    """The search for a subject ended here although older rows may be about it: the next page goes on."""
    trouble: str | None
    """Why rows could not be read."""
    verdict: LedgerVerdict | None
    """What the last verification of this console found."""


def list_ledger(premises: Premises, asks: LedgerListAsk) -> LedgerListPage:
    """What must be provable, newest first."""
    verdict = premises.keep(Verifier).verdict
    try:
        items, following, stopped = _found(premises, asks)
    except OperatorError as error:  # a row was changed: that is what the page is for
        return LedgerListPage(items=(), next=None, stopped=False, trouble=error.message, verdict=verdict)
    return LedgerListPage(items=tuple(items), next=following, stopped=stopped, trouble=None, verdict=verdict)


def _found(premises: Premises, asks: LedgerListAsk) -> tuple[list[LedgerEntry], str | None, bool]:
    """Rows, where the list goes on, and whether that is because it was looked at enough of them."""
    items: list[LedgerEntry] = []
    before, looked = _place(asks.after), 0
    while looked < LOOKED:
        size = asks.limit + 1 - len(items) if asks.subject is None else AT_ONCE
        rows = premises.store.find_entries(EntryQuery(before=before, kind=asks.kind, limit=size))
        looked += len(rows)
        for row in rows:
            if asks.subject in (None, row.subject):
                if len(items) == asks.limit:
                    return items, str(items[-1].seq), False
                items.append(row)
        before = rows[-1].seq if rows else 1
        if len(rows) < size or before == 1:
            return items, None, False
    return items, str(before), True


def _place(after: str | None) -> int | None:
    """The row a list goes on behind. Raises Unfit for what is none of ours."""
    if after is None:
        return None
    if not (after.isascii() and after.isdecimal()) or len(after) > 15:  # noqa: PLR2004 - what JSON can count
        raise Unfit([Fault("after", "no list goes on there; begin with the first page")])
    return int(after)


class LedgerAsk(Struct, frozen=True, kw_only=True):
    """One row."""

    seq: Positive
    """Its place."""


class LedgerPage(Struct, frozen=True, kw_only=True):
    """One row."""

    entry: LedgerEntry
    """What it tells."""
    content: str
    """Its bytes: canonical JSON."""
    content_size: int
    """How many they are."""
    content_hash: str
    """What these bytes hash to, just now."""
    holds: bool
    """That is the leaf hash that is stored; whether the row stands in its place, a verification says."""
    newer: bool
    """There is a row behind it."""


def show_row(premises: Premises, asks: LedgerAsk) -> LedgerPage:
    """One row with its bytes and its hash."""
    entry = premises.store.entry(asks.seq)
    if entry is None:
        raise Missing(f"the ledger has no row {asks.seq}", "/ledger lists the rows")
    content = _content(entry)
    return LedgerPage(
        entry=entry,
        content=content.decode("utf-8", "backslashreplace"),
        content_size=len(content),
        content_hash=leaf_hash(content).hex(),
        holds=leaf_hash(content).hex() == entry.leaf_hash,
        newer=bool(premises.store.entries(entry.seq, 1)),
    )


def _content(entry: LedgerEntry) -> bytes:
    """The bytes of a row. They are made again from what was read: those that are stored are canonical too."""
    told = NewEntry(kind=entry.kind, source=entry.source, actor=entry.actor, subject=entry.subject, body=entry.body)
    try:
        return content_of(told, entry.recorded_at)
    except ValueError as error:
        raise OperatorError(f"row {entry.seq} was changed: {error}", "/ledger verifies the whole chain") from error


class LedgerVerifyOrder(Struct, frozen=True, kw_only=True):
    """A walk along the whole chain."""

    head: Head | None = None
    """A chain hash that was kept elsewhere: it must still be in the chain."""


def verify_ledger(premises: Premises, body: LedgerVerifyOrder, _visitor: Visitor) -> LedgerVerdict:
    """Check every row of the chain; a long one goes on in the background."""
    return premises.keep(Verifier).verify(None if body.head is None else body.head.lower())


PAGES: Final[tuple[Page, ...]] = (
    page("/ledger", "ledger_list.html", list_ledger),
    page("/ledger/{seq}", "ledger.html", show_row),
)
ORDERS: Final[tuple[Order, ...]] = (
    order("/ledger/verify", verify_ledger, lambda _verdict: "/ledger#verdict", needs="viewer"),
)
