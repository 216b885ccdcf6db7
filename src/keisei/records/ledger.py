"""Ledger entries: the record of what must be provable."""

from typing import Literal

from keisei.records.form import JsonObject, Positive, Record, Sha256, Text, Timestamp


class LedgerEntry(Record, frozen=True, kw_only=True):
    """One row, written in the transaction it tells of. Chain and tree positions stand in the seals."""

    seq: Positive
    """Grows by one; no gaps."""
    kind: Text
    """What it tells of, in the past tense."""
    source: Literal["engine", "manual"]
    """Manual rows never feed an outcome."""
    actor: Text
    """Who did it."""
    subject: Text
    """What it was done to, by id."""
    body: JsonObject
    """The facts."""
    recorded_at: Timestamp
    """When."""
    leaf_hash: Sha256
    """RFC 6962 leaf hash over the stored bytes."""
