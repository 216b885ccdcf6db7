"""The book of a desk: what is written down of calls that come to no atom, and when no further call may be made.

Everything that is refused is written down, but some rows a minute: the others are counted, and told in the next row.
"""

import sys
import threading
from collections.abc import Callable
from typing import Any, Final, cast

from msgspec.structs import replace

from keisei.engine.invoke import Tools
from keisei.engine.ports import Ledger
from keisei.mcp.reply import Reply, failure
from keisei.mcp.rows import SEARCHED, Brake, SharedLedger, plain, refusal_row, shown
from keisei.records.error import KeiseiError
from keisei.records.id import AttemptId
from keisei.records.move import NewEntry
from keisei.rules.invocation import shortened, value_digest
from keisei.rules.redact import Redactor

CALLS: Final = 10_000
"""Calls that one attempt may make, each step of a pipe among them."""


class Book:
    """Where one desk's rows go. Any thread may write."""

    def __init__(self, opened: Callable[[], Ledger], tools: Tools, *, actor: str, attempt_id: AttemptId | None) -> None:
        """Nothing is opened or written yet. The tools' secrets stand in no row."""
        self._ledger = SharedLedger(opened)
        self._actor, self._attempt_id = actor, attempt_id
        self._redactor, self._brake = Redactor(tools.secrets), Brake(tools.monotonic)
        self._lock = threading.Lock()
        self._calls, self._is_told = 0, False

    @property
    def ledger(self) -> Ledger:
        """The ledger, for calls, which only ever append."""
        return cast("Ledger", self._ledger)

    def hindrance(self) -> Reply | None:
        """What is answered in place of a call that may not be made now, whatever it is; None where it may."""
        try:
            self._ledger.mend(self._lost_row)
        except KeiseiError as error:
            return failure("io", f"no call is made while its row cannot be written: {error.message}")
        return self._limit() if self._attempt_id is not None and self.count(1) else None

    def count(self, calls: int) -> bool:
        """So many more: whether they are more than an attempt may make."""
        with self._lock:
            self._calls += calls
            return self._calls > CALLS

    def refuse(self, tool: str, arguments: Any, key: str, kind: str, why: str) -> str:  # noqa: ANN401 - any JSON
        """Write down a call that named nothing that may be called, or broke on its way. What is told of it."""

        def row(counted: int) -> NewEntry:
            name = plain(self._redactor, tool)
            reason = why.replace(shown(tool), name)[:SEARCHED]  # it is cut there, where a secret may be
            sha = value_digest(arguments)[0]
            more = {"invocation_id": key, "tool": name, "input_sha": sha, "kind": kind, "attempt_id": self._attempt_id}
            return refusal_row(self._actor, name, shortened(self._redactor.text(reason)), counted, **more)

        return self._braked(row, why)

    def refuse_atom(self, entry: NewEntry, why: str) -> str:
        """Write down a call of an atom that may not be called. What is told of it."""

        def row(counted: int) -> NewEntry:
            return replace(entry, body={**entry.body, "only_counted_before": counted}) if counted else entry

        return self._braked(row, why)

    def refuse_token(self, reason: str, counted: int) -> None:
        """Write down somebody without the token; `counted` before have no row. Never raises."""
        try:
            self._ledger.append(refusal_row(self._actor, "token", reason, counted))
        except KeiseiError as error:
            sys.stderr.write(f"keisei: a refusal could not be written down: {error.message}\n")

    def _braked(self, row: Callable[[int], NewEntry], why: str) -> str:
        """Why; and where the row could not be written, that too."""
        counted = self._brake.passed()
        return why if counted is None else self._kept(row(counted), why)

    def _kept(self, row: NewEntry, why: str) -> str:
        try:
            self._ledger.append(row)
        except KeiseiError as error:
            return f"{why}; its row could not be written: {error.message}"
        return why

    def _limit(self) -> Reply:
        """Too many calls in one attempt: the first of them has a row."""
        why = f"an attempt makes at most {CALLS} calls, and this one has made them"
        with self._lock:
            is_first, self._is_told = not self._is_told, True
        if is_first:
            row = refusal_row(self._actor, "calls", why, 0, attempt_id=self._attempt_id)
            why = self._kept(row, why)
        return failure("refused", why)

    def _lost_row(self, lost: int) -> NewEntry:
        return refusal_row(self._actor, "rows", f"{lost} rows before this one could not be written", 0)
