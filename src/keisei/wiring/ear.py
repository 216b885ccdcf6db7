"""The ear: hears how the model's server answers an attempt, and tells when it is of no use to ask it any longer.

Harnesses retry by themselves. One whose key is not taken asks for minutes, one that is told to wait sleeps inside its
attempt until its time is up. Both are better waited for outside, where the adapter is left alone meanwhile.
"""

import threading
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Final

from keisei.adapters.hint import Hint, hint_of_epoch, hint_of_header
from keisei.records.report import HarnessError
from keisei.rules.retry import told_wait

PATIENCE_S: Final = 30.0
"""A harness may sit out a wait that is not longer."""
FAILED, AUTH, TOO_MANY = 400, 401, 429
REFUSALS: Final = 2
"""So often in a row the key is not taken before that is believed."""
RESET: Final = "anthropic-ratelimit-unified-reset"


class Ear:
    """One attempt's. Any thread may `hear`."""

    def __init__(self, give_up: Callable[[HarnessError], None]) -> None:
        """`give_up` is told why, perhaps more than once."""
        self._give_up = give_up
        self._lock = threading.Lock()
        self._refusals = 0
        self._taken = False
        """The key was taken once: who is refused afterwards has asked for something else."""

    def hear(self, status: int, headers: Mapping[str, str]) -> None:
        """One answer; names of headers are in lower case."""
        with self._lock:
            self._taken = self._taken or status < FAILED
            self._refusals = self._refusals + 1 if status == AUTH else 0
            refused = self._refusals >= REFUSALS and not self._taken
        if refused:
            self._give_up(HarnessError(kind="auth", message=f"the model's server does not take the key ({AUTH})"))
        elif status == TOO_MANY:
            self._limited(headers, datetime.now(UTC))

    def _limited(self, headers: Mapping[str, str], now: datetime) -> None:
        hint = hint_of_header(headers.get("retry-after", ""), now)
        if not any(hint):
            hint = _reset(headers.get(RESET, ""), now)
        error = HarnessError(
            kind="rate_limit",
            message=f"the model's server asks to wait ({TOO_MANY})",
            retry_after_s=hint.retry_after_s,
            resets_at=hint.resets_at,
        )
        wait = told_wait(error, now)
        if wait is not None and wait.total_seconds() > PATIENCE_S:
            self._give_up(error)


def _reset(value: str, now: datetime) -> Hint:
    """Seconds since 1970, as Anthropic's server writes them."""
    return hint_of_epoch(int(value), now) if value.isascii() and value.isdecimal() and len(value) < 14 else Hint()  # noqa: PLR2004
