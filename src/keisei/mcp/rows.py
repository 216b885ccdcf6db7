"""Rows of calls: the ledger as many threads write it, and what is written of a call that never came to an atom."""

import threading
from collections.abc import Callable
from typing import Any, Final

from keisei.engine.ports import Ledger
from keisei.records.error import KeiseiError, WorldFault
from keisei.records.ledger import LedgerEntry
from keisei.records.move import NewEntry
from keisei.records.problem import printable
from keisei.rules.redact import Redactor
from keisei.wiring.refusal import MOST, Brake

__all__ = ["MOST", "REFUSED", "SEARCHED", "Brake", "SharedLedger", "plain", "refusal_row", "shown"]

REFUSED: Final = "mcp_refused"
"""The kind of row where a call never came to an atom."""
NAME: Final = 128
"""Characters of a name that are kept and told."""
SEARCHED: Final = 4096
"""Characters of a text in which secrets are looked for, before it is cut."""


class SharedLedger:
    """The ledger of a store that one thread may use at a time. The store is opened with the first row."""

    def __init__(self, opened: Callable[[], Ledger]) -> None:
        """Nothing is opened yet."""
        self._opened, self._lock = opened, threading.Lock()
        self._lost = 0

    def append(self, entry: NewEntry) -> LedgerEntry:
        """Write one row and seal it. Raises KeiseiError; that a row is lost is remembered."""
        with self._lock:
            try:
                return self._written(entry)
            except KeiseiError:
                self._lost += 1
                raise

    def mend(self, row: Callable[[int], NewEntry]) -> None:
        """Where rows are lost, write one that tells how many. Raises KeiseiError while that cannot be done either."""
        if not self._lost:  # asked before every call, and almost never so
            return
        with self._lock:
            if self._lost:
                self._written(row(self._lost))
                self._lost = 0

    def _written(self, entry: NewEntry) -> LedgerEntry:
        try:
            return self._opened().append(entry)
        except KeiseiError:
            raise
        except Exception as error:  # a library's own, of which nobody here knows
            raise WorldFault(f"the ledger cannot be written: {type(error).__name__}") from error


def shown(name: str) -> str:
    """A name that came from outside, as it may be told and kept."""
    return printable(name[:NAME].encode("utf-8", "replace").decode()) or "?"


def plain(redactor: Redactor, name: str) -> str:
    """Likewise, for everybody who reads the ledger: without secrets."""
    return shown(redactor.text(name[:SEARCHED].encode("utf-8", "replace").decode()))


def refusal_row(actor: str, subject: str, reason: str, counted: int, **more: Any) -> NewEntry:  # noqa: ANN401 - any JSON
    """A row of what never came to an atom; `counted` before it have none."""
    body = {**more, "reason": reason, "only_counted_before": counted}
    return NewEntry(kind=REFUSED, actor=actor, subject=subject, body=body)
