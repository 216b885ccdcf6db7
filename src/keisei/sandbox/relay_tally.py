"""Tally: what the calls of one relay cost together, told while they last, and the line each of them leaves."""

import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from keisei.records.attempt import Usage
from keisei.records.budget import Amount
from keisei.records.relay import Allowance, Charge, RelayCall, Tokens
from keisei.rules.metering import Meter
from keisei.rules.metering_charge import charged, cost, filled, spent
from keisei.sandbox.relay_till import TILL, Till

T = TypeVar("T", int, float)
KEPT = 20_000
"""Calls that are remembered and written down; a harness that makes more of them is counted all the same."""
PATH = 200
"""Letters of a path that are written down."""
FRESH_S = 0.5
"""How old the answer may be to what may be spent by now, while an answer of the model comes in."""


class Entry:
    """One call, as far as it came. Belongs to one thread."""

    def __init__(self, method: str, target: str) -> None:
        self.at = datetime.now(UTC)
        self.method, self.path = method[:PATH], target.partition("?")[0][:PATH]
        self.status: int | None = None
        self.fault: str | None = None
        self.meter: Meter | None = None
        self.asked = 0
        """Bytes of the request's body that were sent on."""
        self.counts = False
        """The server has worked on it, so it costs something, told or not."""
        self._began = time.monotonic()
        self.is_settled = False
        """It was counted."""
        self._first: float | None = None

    def answer(self, status: int) -> None:
        """The head of the answer is there."""
        self.status = status
        self._first = self._since()

    def refuse(self, status: int, why: str) -> None:
        """It goes no further; a status that the harness was given already stays."""
        self.status = self.status or status
        self.fault = self.fault or why.removeprefix("keisei: ")

    def told(self) -> Tokens:
        """What the server told of it."""
        return self.meter.told if self.meter else Tokens()

    def charge(self, allowance: Allowance, *, over: bool) -> Charge:
        """What it counts; input that is not told is estimated when it is over, for most servers tell it at the end."""
        if not self.counts:
            return Charge()
        return charged(self._filled(asked=self.asked if over else 0), self._model(), allowance)

    def line(self, allowance: Allowance) -> RelayCall:
        """What is written down of it."""
        told, charge = self.told(), self.charge(allowance, over=True)
        return RelayCall(
            at=self.at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            method=self.method,
            path=self.path,
            status=self.status,
            model=self._model(),
            input_tokens=told.input,
            output_tokens=told.output,
            cache_read_tokens=told.cache_read,
            cache_write_tokens=told.cache_write,
            cost_usd=cost(told, self._model(), allowance.prices),
            charged_tokens=charge.tokens,
            charged_usd=charge.cost_usd,
            estimated=self.counts and (told.input is None or self.meter is None or not self.meter.final),
            first_ms=self._first,
            ms=self._since(),
            fault=self.fault,
        )

    def _filled(self, *, asked: int) -> Tokens:
        if self.meter is None:
            return filled(Tokens(), asked=asked, said=0, final=False)
        return filled(self.meter.told, asked=asked, said=self.meter.said, final=self.meter.final)

    def _model(self) -> str | None:
        return self.meter.model if self.meter else None

    def _since(self) -> float:
        return round((time.monotonic() - self._began) * 1000, 3)


class Tally:
    """All calls of one relay. Safe for many threads."""

    def __init__(self, allowance: Allowance, log: Path | None, on_spent: Callable[[str], None] | None) -> None:
        """Writes a line for each call to `log`, and the sum beside it. Raises OSError where they cannot be opened."""
        self.spent_out: str | None = None
        """Which limit was reached; None while none is."""
        self.calls: list[RelayCall] = []
        self._allowance, self._on_spent = allowance, on_spent
        self._lock = Lock()
        self._log = log.open("ab", buffering=0) if log else None
        self._till = Till(log.with_name(TILL)) if log else None
        self._ask: Callable[[], Amount | None] | None = None
        self._asking, self._asked_at = Lock(), 0.0
        self._limits = allowance
        """The allowance, less what was handed on meanwhile."""
        self._live: dict[Entry, Charge] = {}
        self._tokens: list[int | None] = [None, None, None, None]
        self._cost: float | None = None
        self._settled = Charge()
        self.note(None)

    def hold_to(self, ask: Callable[[], Amount | None]) -> None:
        """From now on no more may be spent than `ask` says, nor more than the allowance.

        It is asked before every call and while answers come in, from any thread; None says that nobody knows just now,
        and what it said before holds.
        """
        self._ask = ask

    def is_spent(self) -> bool:
        """Whether another call is refused, by what may be spent at this moment."""
        self._renew(0.0)
        return self.note(None)

    def note(self, entry: Entry | None) -> bool:
        """Count what is known of a call that lasts. Whether the allowance is used up."""
        if entry is not None:
            self._renew(FRESH_S)
        with self._lock:
            if entry is not None:
                self._live[entry] = entry.charge(self._allowance, over=False)
            reason = self._newly_spent()
        if reason and self._on_spent:
            self._on_spent(reason)
        return self.spent_out is not None

    def settle(self, entry: Entry) -> None:
        """Count a call that is over, once, and write it down."""
        if entry.is_settled:
            return
        entry.is_settled = True
        if entry.meter is not None:
            entry.meter.end()
        line = entry.line(self._allowance)
        with self._lock:
            self._live.pop(entry, None)
            self._add(line)
            self._keep(line)
            reason = self._newly_spent()
        if reason and self._on_spent:
            self._on_spent(reason)

    def usage(self) -> Usage | None:
        """What the server told, of the calls that are over; None where it told nothing. Estimates are not in it."""
        with self._lock:
            if all(each is None for each in self._tokens):
                return None
            fresh, output, read, written = self._tokens
            return Usage(
                input_tokens=fresh,
                output_tokens=output,
                cache_read_tokens=read,
                cache_write_tokens=written,
                cost_usd=self._cost,
            )

    def charged(self) -> Charge:
        """What counts against the allowance, of all calls, with estimates where the server does not tell."""
        with self._lock:
            return self._total()

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            if self._log:
                self._log.close()
            self._log = None
            if self._till:
                self._till.close()

    def _renew(self, age_s: float) -> None:
        """Ask what may be spent by now, unless that was asked just now, or somebody else is asking."""
        if self._ask is None or time.monotonic() - self._asked_at < age_s:
            return
        if not self._asking.acquire(blocking=not age_s):
            return
        try:
            self._asked_at = time.monotonic()
            now = self._ask()
        finally:
            self._asking.release()
        if now is not None:
            self._limits = replace(
                self._allowance,
                max_tokens=_least(self._allowance.max_tokens, now.tokens),
                max_cost_usd=_least(self._allowance.max_cost_usd, now.usd),
            )

    def _newly_spent(self) -> str | None:
        charge = self._total()
        if self._till:
            self._till.show(charge, priced=bool(self._allowance.prices))
        if self.spent_out is not None:
            return None
        if (reason := spent(charge, self._limits)) is not None and spent(charge, self._allowance) is None:
            reason += ": the rest was handed to tasks that it asked for"
        self.spent_out = reason
        return self.spent_out

    def _total(self) -> Charge:
        every = [self._settled, *self._live.values()]
        return Charge(tokens=sum(each.tokens for each in every), cost_usd=sum(each.cost_usd for each in every))

    def _add(self, line: RelayCall) -> None:
        told = (line.input_tokens, line.output_tokens, line.cache_read_tokens, line.cache_write_tokens)
        self._tokens = [_sum(*pair) for pair in zip(self._tokens, told, strict=True)]
        if line.cost_usd is not None:
            self._cost = (self._cost or 0.0) + line.cost_usd
        self._settled = Charge(
            tokens=self._settled.tokens + line.charged_tokens, cost_usd=self._settled.cost_usd + line.charged_usd
        )

    def _keep(self, line: RelayCall) -> None:
        if len(self.calls) >= KEPT:
            return
        self.calls.append(line)
        if self._log is not None:
            try:
                self._log.write(msgspec.json.encode(line) + b"\n")
            except OSError:  # a full disk ends the writing, not the counting
                self._log.close()
                self._log = None


def _least(one: T | None, other: T | None) -> T | None:
    return other if one is None else one if other is None else min(one, other)


def _sum(before: int | None, more: int | None) -> int | None:
    return before if more is None else (before or 0) + more
