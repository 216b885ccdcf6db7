"""Facts of one attempt: what its ledger rows and its evidence files say, read once, for attestations. Pure."""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

import msgspec
from msgspec import Struct

from keisei.rules.attestation_row import FORKED, LANDING, MADE, REVERTED, SETTLED, Row, about, evidence_of

BUNDLE: Final = "bundle.json"
RESULT: Final = "result.json"
RETURNED: Final = "returned.json"
MERGE: Final = "engine::merge"
MERGED: Final = "merged"
"""Where a predicate is asked that the agent has no part in."""
FINE: Final = ("held", "not-applicable")

T = TypeVar("T")


class Finding(Struct, frozen=True, kw_only=True):
    """What statements need of a finding."""

    capability: str
    """Who was asked."""
    status: str
    """The answer."""
    severity: str
    """Whether a bad one rejects."""
    run_from: str
    """Where it was asked."""
    created_at: str
    """When, as it is written."""
    tree: str | None = None
    """Of which tree."""


class _Landed(Struct, frozen=True, kw_only=True):
    findings: tuple[Finding, ...]


class Staged(Struct, frozen=True, kw_only=True):
    """What statements need of a candidate."""

    commit: str
    """The commit."""
    base: str
    """What it was made from."""
    changes: tuple[Any, ...] = ()
    """What it changes."""


class Returned(Struct, frozen=True, kw_only=True):
    """What statements need of returned.json."""

    staged: Staged | None = None
    """The candidate."""
    isolation: tuple[str, ...] = ()
    """What held."""


class Source(Struct, frozen=True, kw_only=True):
    """Everything the statements about one attempt are made of."""

    attempt_id: str
    """Which attempt."""
    rows: tuple[Row, ...]
    """Ledger rows; what is not about the attempt, or was told by hand, counts for nothing."""
    files: Mapping[str, bytes]
    """Evidence files that are read, by name; `attestation_row.wanted` says which."""
    artifacts: tuple[str, ...] = ()
    """Artifacts whose bytes are there, by path: only these are subjects."""


class Facts:
    """What rows and files say."""

    def __init__(self, source: Source) -> None:
        """Read them. Raises ValueError for what cannot be attested, and says why."""
        self.attempt_id = source.attempt_id
        self.rows = about(source.rows, source.attempt_id)
        self.evidence = evidence_of(self.rows)
        self._files = source.files
        settled = self._last(lambda kind: kind == SETTLED)
        if settled is None or settled.subject != source.attempt_id:
            raise ValueError(f"attempt {source.attempt_id} is not settled: there is nothing to attest yet")
        self.settled = settled
        self.forked = self._last(lambda kind: kind == FORKED)
        self.made = self._last(lambda kind: kind == MADE)
        self.last = self._last(lambda kind: kind.startswith(LANDING) and kind != REVERTED)
        self.landing = self.made or self.last
        self.completed = settled.body.get("status") == "completed"
        if BUNDLE not in self.evidence:
            raise ValueError(f"attempt {source.attempt_id} never began: nothing was prepared, so nothing is attested")
        self.bundle = self.json(BUNDLE)
        self.result = self.json(RESULT) if RESULT in self.evidence else {}
        self.returned = self.read(RETURNED, Returned) if RETURNED in self.evidence else Returned()
        self.artifacts = [each for each in sorted(settled.digests("artifacts").items()) if each[0] in source.artifacts]
        self._hear()

    def _last(self, is_it: Callable[[str], bool]) -> Row | None:
        return next((each for each in reversed(self.rows) if is_it(each.kind)), None)

    def read(self, name: str, kind: type[T]) -> T:
        """An evidence file as data. Raises ValueError where it is not there, or is something else."""
        raw = self._files.get(name)
        if raw is None or name not in self.evidence:
            raise ValueError(f"the evidence `{name}` is missing")
        try:
            return msgspec.json.decode(raw, type=kind)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise ValueError(f"the evidence `{name}` cannot be read: {error}") from error

    def json(self, name: str) -> dict[str, Any]:
        """An evidence file as an object. Raises ValueError likewise."""
        return self.read(name, dict[str, Any])

    @property
    def findings_name(self) -> str:
        """Which file has the findings: an attempt that was judged a second time has a second one."""
        second = f"findings-{self.settled.body.get('fence')}.json"
        return second if second in self.evidence else "findings.json"

    @property
    def rejecting(self) -> list[Finding]:
        """Findings that reject."""
        return [each for each in self.spoken if each.severity == "block" and each.status not in FINE]

    @property
    def candidate(self) -> str | None:
        """The commit that the attempt made; None where it made none."""
        if self.landing is not None:
            return self.landing.text("candidate")
        staged = self.returned.staged
        return staged.commit if staged is not None and staged.changes else None

    @property
    def stands(self) -> bool:
        """Whether it landed, or is verified and may still land."""
        if self.made is not None:
            return True
        return self.completed and (self.last is None or self.last.kind != "landing_rejected")

    def _hear(self) -> None:
        """What was said of the tree that is spoken of; of a predicate that was asked again, the last word."""
        name = self.findings_name
        self.first = self.read(name, tuple[Finding, ...]) if name in self.evidence else ()
        later = [each for name in self._landings() for each in self.read(name, _Landed).findings]
        every = [*self.first, *later]
        self.tree = next((each.tree for each in reversed(every) if each.capability == MERGE), None)
        if self.landing is not None:
            self.tree = self.landing.text("tree")
        said = [each for each in every if each.run_from == "worktree" or each.tree == self.tree]
        self.heard_at = next((each.created_at for each in reversed(said) if each.run_from == MERGED), None)
        self.spoken = list({(each.capability, each.run_from): each for each in said}.values())

    def _landings(self) -> list[str]:
        """What was said on the tip, file by file in order."""
        if self.landing is None:
            return []
        form = re.compile(rf"landing-{re.escape(self.landing.subject)}-([0-9]{{1,9}})\.json")
        found = [(int(match[1]), name) for name in self.evidence if (match := form.fullmatch(name))]
        return [name for _, name in sorted(found)]
