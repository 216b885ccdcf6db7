"""Sieves: known secrets are taken out of a stream of bytes while it flows, wherever it is cut into pieces."""

from collections.abc import Iterable

from keisei.rules.redact import MARK, byte_forms

_MARK = MARK.encode()
_HEAD = 4


class Sieve:
    """One stream. What comes out is the same however what goes in was cut.

    Holds back what may be the beginning of a secret and nothing else, so that a reader can follow; never more than the
    longest form of one. Where secrets meet or overlap there is one mark.
    """

    def __init__(self, secrets: Iterable[str]) -> None:
        """Know the secrets, in every form of `byte_forms`."""
        self._forms = byte_forms(secrets)
        self._beginnings = {form[:size] for form in self._forms for size in range(1, _HEAD)}
        self._held = b""
        self._covered = -1
        """How many bytes of what is held lie under a mark that is out already; -1 where no mark touches them."""

    def feed(self, piece: bytes) -> bytes:
        """Take a piece in; give back what is certain."""
        if not self._forms:
            return piece
        data = self._held + piece
        return self._sift(data, self._certain(data))

    def finish(self) -> bytes:
        """What was held back. Nothing comes after it."""
        return self._sift(self._held, len(self._held))

    def _sift(self, data: bytes, end: int) -> bytes:
        """The data up to `end`, a mark for each stretch of secrets that begins there. The rest is held."""
        parts: list[bytes] = []
        marked, done = self._covered >= 0, max(0, self._covered)
        for start, stop in sorted(self._found(data, end)):
            if start > done or not marked:
                parts += (data[done:start], _MARK)
            marked, done = True, max(done, stop)
        parts.append(data[done:end])
        self._held = data[end:]
        self._covered = done - end if marked and done >= end else -1
        return b"".join(parts)

    def _found(self, data: bytes, end: int) -> Iterable[tuple[int, int]]:
        """Where secrets stand that begin before `end`."""
        for form in self._forms:
            start = data.find(form)
            while 0 <= start < end:
                yield start, start + len(form)
                start = data.find(form, start + 1)

    def _certain(self, data: bytes) -> int:
        """Where the first secret may begin whose end has not come yet."""
        first = len(data)
        for form in self._forms:
            at = data.find(form[:_HEAD], max(0, len(data) - len(form) + 1))
            while 0 <= at < first:
                if form.startswith(data[at:]):
                    first = at
                at = data.find(form[:_HEAD], at + 1)
        tails = (at for at in range(max(0, len(data) - _HEAD + 1), first) if data[at:] in self._beginnings)
        return next(tails, first)
