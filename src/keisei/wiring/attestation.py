"""Attestations of an attempt: its rows and files are gathered, said as statements, and signed with this machine's key.

Nothing is signed that could not be said again, and `attested` is the one way to have something signed. Evidence that
is gone or is not what the ledger says is refused, and so are a row that does not stand in the ledger as it reads, and
rows and files that contradict each other.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from keisei.engine.ports import Store
from keisei.evidence.file import FileEvidence
from keisei.records.attempt import TaskAttempt
from keisei.records.error import Refused
from keisei.records.ledger import LedgerEntry
from keisei.records.move import EntryQuery, LandingQuery
from keisei.rules.attestation import Json, statements
from keisei.rules.attestation_check import contradictions
from keisei.rules.attestation_fact import Facts, Source
from keisei.rules.attestation_row import FORKED, SETTLED, Row, about, evidence_of, row_of, wanted
from keisei.rules.canonical import canonical
from keisei.rules.dsse import IN_TOTO, enveloped, keyid, pae
from keisei.rules.evidence import Keys, keys_of
from keisei.rules.note import key_id
from keisei.wiring.attestation_row import unproved
from keisei.wiring.checkpoint import ledger_signer
from keisei.wiring.shop import shared_folder
from keisei.wiring.signing import Signer
from keisei.wiring.store import Home
from keisei.workspace.file import look

PAGE: Final = 200
TOLD: Final = 5
"""Faults that are named in one sentence; the rest is counted."""


class Archive(NamedTuple):
    """Where everything about the attempts of a project is kept."""

    home: Home
    store: Store

    @property
    def evidence(self) -> FileEvidence:
        """The files."""
        return FileEvidence(self.home.evidence)


class Gathered(NamedTuple):
    """What is known of one attempt."""

    attempt: TaskAttempt
    source: Source
    """What statements are made of."""
    faults: tuple[str, ...]
    """Rows that the ledger does not bear out, and evidence that is gone or is not what it says, a line each."""
    lost: tuple[str, ...]
    """Artifacts that are gone or have changed since, a line each; no statement speaks of them."""

    @property
    def rows(self) -> tuple[Row, ...]:
        """The rows about it."""
        return about(self.source.rows, self.source.attempt_id)


def gather(archive: Archive, attempt: TaskAttempt) -> Gathered:
    """The rows, files and artifacts of an attempt. Raises Refused where the rows contradict."""
    rows = tuple(_rows(archive.store, attempt))
    own = about(rows, attempt.attempt_id)
    try:
        named, read = evidence_of(own), wanted(own)
        kept, lost = _artifacts(archive, attempt, own)
    except ValueError as error:
        raise Refused(f"attempt {attempt.attempt_id} cannot be attested: {error}", "`keisei ledger verify`") from error
    keys, evidence = keys_of(attempt.attempt_id, attempt.started_at), archive.evidence
    files = {name: found for name in read if (found := evidence.get(keys.of(name))) is not None}
    source = Source(attempt_id=attempt.attempt_id, rows=rows, files=files, artifacts=kept)
    return Gathered(attempt, source, (*unproved(archive.store, own), *_faults(evidence, keys, named)), lost)


def attested(archive: Archive, gathered: Gathered) -> list[bytes]:
    """The statements, signed with this machine's key: a line each, without its end. Raises Refused as `said` does."""
    home = archive.home
    return signed(said(gathered), ledger_signer(archive.store, home.folder, home.name))


def said(gathered: Gathered) -> list[Json]:
    """The statements. Raises Refused where the attempt has not ended, and where rows or evidence do not hold."""
    attempt_id = gathered.attempt.attempt_id
    _refuse(attempt_id, gathered.faults)
    try:
        told = statements(gathered.source)
    except ValueError as error:
        hint = "`keisei attempt show` tells how it stands"
        raise Refused(f"attempt {attempt_id} cannot be attested: {error}", hint) from error
    _refuse(attempt_id, tuple(contradictions(Facts(gathered.source))))
    return told


def _refuse(attempt_id: str, faults: Sequence[str]) -> None:
    if faults:
        more = len(faults) - TOLD
        told = "; ".join(faults[:TOLD]) + (f"; and {more} more" if more > 0 else "")
        hint = "nothing is signed that cannot be said again; `keisei ledger verify` checks the whole ledger"
        raise Refused(f"attempt {attempt_id} cannot be attested: {told}", hint)


def signed(told: list[Json], signer: Signer) -> list[bytes]:
    """The statements in envelopes, a line each without its end. Said again they are the same bytes."""
    named = keyid(signer.name, key_id(signer.name, signer.public))
    payloads = [canonical(each) for each in told]
    return [enveloped(each, IN_TOTO, named, signer.sign(pae(IN_TOTO, each))) for each in payloads]


# --- rows -------------------------------------------------------------------------------------------------------------


def _rows(store: Store, attempt: TaskAttempt) -> Iterator[Row]:
    """The rows about an attempt and its landing, from the bytes that are stored."""
    store.size()  # what was written a moment ago is sealed now, where this process may
    found = {each.seq: each for each in _about(store, attempt.attempt_id)}
    for landing in store.landings(LandingQuery(attempt_id=attempt.attempt_id)):
        found |= {each.seq: each for each in _about(store, landing.landing_id)}
    settled = max((each.seq for each in found.values() if each.kind == SETTLED), default=None)
    forked = _forked(store, attempt, settled)
    for seq in sorted({*found, *([forked] if forked is not None else [])}):
        row = store.row(seq)
        if row is not None:
            try:
                yield row_of(seq, row.content)
            except ValueError as error:
                raise Refused(f"row {seq} of the ledger cannot be read", "`keisei ledger verify`") from error


def _about(store: Store, subject: str) -> Iterator[LedgerEntry]:
    before = None
    while True:
        page = store.find_entries(EntryQuery(before=before, subject=subject, source="engine", limit=PAGE))
        yield from page
        if len(page) < PAGE:
            return
        before = page[-1].seq


def _forked(store: Store, attempt: TaskAttempt, before: int | None) -> int | None:
    """The row that tells of the start; it is about the agent, and not older than the attempt."""
    while True:
        page = store.find_entries(EntryQuery(before=before, kind=FORKED, source="engine", limit=PAGE))
        for each in page:
            if each.body.get("attempt_id") == attempt.attempt_id:
                return each.seq
        if len(page) < PAGE or page[-1].recorded_at < attempt.started_at:
            return None
        before = page[-1].seq


# --- files ------------------------------------------------------------------------------------------------------------


def _faults(evidence: FileEvidence, keys: Keys, named: dict[str, str]) -> Iterator[str]:
    """Evidence that is not what the ledger says."""
    for name, digest in sorted(named.items()):
        stored = evidence.stored(keys.of(name))
        if stored is None:
            yield f"the evidence `{name}` is missing"
        elif stored.sha256 != digest:
            yield f"the evidence `{name}` was changed: the ledger has another digest"


def artifact_folder(archive: Archive, attempt: TaskAttempt) -> Path:
    """Where the artifacts of an attempt's task stand."""
    task = archive.store.task(attempt.task_id)
    shared = shared_folder(archive.home.artifacts, task) if task is not None else None
    return shared or archive.home.artifacts / attempt.task_id


def _artifacts(
    archive: Archive, attempt: TaskAttempt, rows: tuple[Row, ...]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Artifacts that are still what verification saw, and lines about those that are not."""
    settled = [each for each in rows if each.kind == SETTLED]
    named = settled[-1].digests("artifacts") if settled else {}
    folder = artifact_folder(archive, attempt)
    kept, lost = [], []
    for path, digest in sorted(named.items()):
        found = look(folder, path)
        if found.sha256 == digest:
            kept.append(path)
        else:
            lost.append(f"the artifact `{path}` {found.fault or 'was changed since it was verified'}")
    return tuple(kept), tuple(lost)
