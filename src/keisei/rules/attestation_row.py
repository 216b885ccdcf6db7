"""Ledger rows that attestations are made of: those of the engine that tell of one attempt and its landing. Pure."""

import re
from collections.abc import Iterable
from typing import Any, Final

import msgspec
from msgspec import Struct

from keisei.rules.evidence import MOST_PARTS, NAME

SETTLED: Final = "attempt_settled"
FORKED: Final = "agent_forked"
MADE: Final = "landing_made"
REVERTED: Final = "landing_reverted"
LANDING: Final = "landing_"
BYPASS: Final = "bypass_used"
KINDS: Final = frozenset(
    {FORKED, SETTLED, MADE, REVERTED, BYPASS, "gate_refused", "landing_held", "landing_queued", "landing_rejected"}
)
"""Rows that tell of an attempt and its landing."""
READ: Final = re.compile(
    r"bundle\.json|result\.json|returned\.json|findings(?:-[0-9]+)?\.json|landing-.{1,200}-[0-9]{1,9}\.json"
)
"""Evidence that is read; the rest is only named."""


class _Content(Struct, frozen=True, kw_only=True):
    kind: str
    source: str
    subject: str
    body: dict[str, Any]
    recorded_at: str


class Row(Struct, frozen=True, kw_only=True):
    """One ledger row, as it is stored and as it reads."""

    seq: int
    """Its place."""
    content: bytes
    """The stored bytes."""
    kind: str
    """What it tells of."""
    source: str
    """Who told it: `engine` or `manual`."""
    subject: str
    """What it was done to."""
    body: dict[str, Any]
    """The facts."""
    recorded_at: str
    """When, as it is written."""

    def text(self, name: str) -> str | None:
        """A fact that is text; None where it is not there. Raises ValueError where it is something else."""
        found = self.body.get(name)
        if found is not None and not isinstance(found, str):
            raise ValueError(f"row {self.seq} has a `{name}` that is no text")
        return found

    def digests(self, name: str) -> dict[str, str]:
        """A fact that is an object of texts. Raises ValueError where it is something else."""
        found = self.body.get(name) or {}
        if not isinstance(found, dict) or not all(isinstance(each, str) for each in found.values()):
            raise ValueError(f"row {self.seq} has `{name}` that are not digests by name")
        return found


def row_of(seq: int, content: bytes) -> Row:
    """The row that stored bytes tell of. Raises ValueError."""
    try:
        told = msgspec.json.decode(content, type=_Content)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(f"the content of row {seq} is not that of a ledger row") from error
    return Row(seq=seq, content=content, **msgspec.structs.asdict(told))


def about(rows: Iterable[Row], attempt_id: str) -> tuple[Row, ...]:
    """The rows that tell of an attempt, by their place. What somebody wrote by hand is no word of the engine."""
    found = {each.seq: each for each in rows if each.source == "engine" and each.kind in KINDS}
    own = (each for each in found.values() if attempt_id in (each.subject, each.body.get("attempt_id")))
    return tuple(sorted(own, key=lambda each: each.seq))


def evidence_of(rows: Iterable[Row]) -> dict[str, str]:
    """Every evidence file that the rows name, with its digest. Raises ValueError where two rows disagree."""
    found: dict[str, str] = {}
    for row in rows:
        if row.kind != SETTLED and not row.kind.startswith(LANDING):
            continue
        for name, digest in row.digests("evidence").items():
            if not is_name(name):
                raise ValueError(f"row {row.seq} names evidence that is no name")
            if found.setdefault(name, digest) != digest:
                raise ValueError(f"two rows name the evidence `{name}` with different digests")
    return found


def is_name(name: str) -> bool:
    """Whether a text can name an evidence file."""
    parts = name.split("/")
    return len(parts) <= MOST_PARTS and all(NAME.fullmatch(each) for each in parts)


def wanted(rows: Iterable[Row]) -> list[str]:
    """The names of the evidence files that are read and not only named. Raises ValueError as `evidence_of`."""
    return sorted(name for name in evidence_of(rows) if READ.fullmatch(name))
