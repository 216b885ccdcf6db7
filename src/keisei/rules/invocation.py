"""Invocations, thought through: how long a call may take, what a failure is called, which digest stands in its row."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Final, Literal

from keisei.records.atom import AtomManifest
from keisei.records.invocation import InvocationError
from keisei.records.problem import printable
from keisei.rules.canonical import digest

Kind = Literal["usage", "schema-in", "schema-out", "atom", "timeout", "killed", "io", "refused"]
EXIT: Final[Mapping[str, int]] = {
    "usage": 1,
    "schema-in": 2,
    "schema-out": 2,
    "atom": 2,
    "timeout": 5,
    "killed": 1,
    "io": 1,
    "refused": 2,
}
"""The exit code of each kind, where nothing more is known."""
MISSING_PROGRAM: Final = 127
CANCELED: Final = 130
CODE: Final = 64
"""Characters of an error code that are kept."""
LONGEST: Final = 2000
"""Characters of a message that are kept: a row is no place for a book."""


def timeout_ms(manifest: AtomManifest, asked: int | None) -> int:
    """How long a call may take: the page's own limit, or a shorter one that was asked for. At least a millisecond."""
    return max(1, manifest.timeout_ms if asked is None else min(manifest.timeout_ms, asked))


def exit_code(error: InvocationError, told: int) -> int:
    """The exit code of a failure: the one that was told, where it fits into a row and is not success."""
    return told if 0 < told <= 255 else EXIT[error.kind]  # noqa: PLR2004 - what a process can return


def declared(manifest: AtomManifest, error: InvocationError) -> InvocationError:
    """The error, with a word about it where the atom's page does not know its code."""
    code = None if error.code is None else printable(error.code[:CODE]) or "Unknown"
    if error.kind != "atom" or code is None or code in {each.code for each in manifest.errors}:
        return InvocationError(kind=error.kind, code=code, message=error.message)
    message = f"{error.message} (the page of `{manifest.atom}` does not declare `{code}`)"
    return InvocationError(kind="atom", code=code, message=message)


def shortened(text: str) -> str:
    """A message as it is kept: never empty, not without end, and unable to command a terminal."""
    bare = "\n".join(printable(line) for line in text[: LONGEST * 2].strip().splitlines()) or "no reason was given"
    return bare if len(bare) <= LONGEST else f"{bare[:LONGEST]}…"


def value_digest(value: Any) -> tuple[str, str | None]:  # noqa: ANN401 - any JSON
    """sha256 of the canonical value, and no complaint; or sha256 of its plain JSON text, and why there is none."""
    try:
        return digest(value), None
    except ValueError as error:
        return hashlib.sha256(_plain(value)).hexdigest(), str(error)


def _plain(value: Any) -> bytes:  # noqa: ANN401 - as above
    """Text that stands for a value without a canonical form."""
    try:
        return json.dumps(value, sort_keys=True, default=repr).encode()
    except (TypeError, ValueError, RecursionError):
        return b""


class ItemDigest:
    """The digest of a list of digests, taken as they come: nothing of the items is kept."""

    def __init__(self) -> None:
        """Nothing was taken yet: `count` items, `size` bytes."""
        self.count, self.size = 0, 0
        self._hash = hashlib.sha256(b"[")

    def add(self, data: bytes) -> None:
        """One more item, in canonical form."""
        self._hash.update(b'%s"%s"' % (b"," if self.count else b"", hashlib.sha256(data).hexdigest().encode()))
        self.count, self.size = self.count + 1, self.size + len(data)

    def digest(self) -> str:
        """sha256 of the canonical list so far."""
        whole = self._hash.copy()
        whole.update(b"]")
        return whole.hexdigest()
