"""Errands: calls on their way, so that one alone can be ended, wherever it is: waiting, loading, running."""

import threading
from collections.abc import Callable

End = Callable[[], object]
"""Ends something. Returns at once, and never raises."""


class Errand:
    """One call on its way. Any thread may cancel it; once canceled, it stays so."""

    def __init__(self, invocation_id: str) -> None:
        """Nothing of it is there to be ended yet."""
        self.invocation_id = invocation_id
        self.is_canceled = False
        self._lock = threading.Lock()
        self._end: End | None = None

    def at(self, end: End | None) -> None:
        """From here on this ends it; None: there is nothing of it any more. A cancel said before is passed on here.

        When this returns, what ended it before is not used any more: a worker may be handed to somebody else.
        """
        with self._lock:
            self._end = end
            if end is not None and self.is_canceled:
                end()

    def cancel(self) -> None:
        """End it. Safe to say twice."""
        with self._lock:
            self.is_canceled = True
            if self._end is not None:
                self._end()


class Errands:
    """All that are on their way."""

    def __init__(self) -> None:
        """None is."""
        self._all: dict[int, Errand] = {}

    def begin(self, invocation_id: str) -> Errand:
        """One more."""
        errand = Errand(invocation_id)
        self._all[id(errand)] = errand
        return errand

    def over(self, errand: Errand) -> None:
        """It is on its way no more: nothing of it is ended after this. Safe to say twice."""
        self._all.pop(id(errand), None)
        errand.at(None)

    def cancel(self, invocation_id: str) -> None:
        """End every one with that id; others are not touched."""
        for errand in list(self._all.values()):
            if errand.invocation_id == invocation_id:
                errand.cancel()
