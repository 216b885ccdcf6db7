"""Whether what is attested of an attempt holds: said again from ledger, evidence, artifacts and repository."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from keisei.records.error import WorldFault
from keisei.rules.attestation import PROVENANCE, Json, statements
from keisei.rules.attestation_check import contradictions, opened, unheld
from keisei.rules.attestation_fact import Facts, Source
from keisei.rules.dsse import keyid, parse_envelope
from keisei.rules.note import VerifierKey
from keisei.wiring import attestation_git as git
from keisei.wiring.attestation import Archive, Gathered
from keisei.wiring.attestation_note import note_lines
from keisei.wiring.ledger_kept import introduced, origin_of
from keisei.wiring.signing import known_key, origin
from keisei.workspace.checkpoint import common_dir_of
from keisei.workspace.ref import NOTES


class Verified(NamedTuple):
    """What came of it."""

    attempt_id: str
    faults: tuple[str, ...]
    """Claims that do not hold, a line each."""
    told: tuple[str, ...]
    """What could not be checked, or a person should know."""
    statements: tuple[str, ...]
    """The predicate types of the statements that were said again."""


def verify_here(archive: Archive, gathered: Gathered) -> Verified:
    """Hold an attempt's evidence, rows, artifacts, commit and note against each other. Raises KeiseiError."""
    source, attempt_id = gathered.source, gathered.attempt.attempt_id
    faults: list[str] = [*gathered.faults, *gathered.lost]
    told: list[str] = []
    try:
        given, facts = statements(source), Facts(source)
    except ValueError as error:
        return Verified(attempt_id, (*faults, str(error)), (), ())
    faults += contradictions(facts)
    common_dir = common_dir_of(archive.home.root) if archive.home.root is not None else None
    if common_dir is not None:
        for looked in (git.look(common_dir, facts), _noted(archive, common_dir, facts, source)):
            faults += looked.faults
            told += looked.told
    elif facts.candidate is not None:
        told.append("not checked: what git says; there is no repository here")
    return Verified(attempt_id, tuple(faults), tuple(told), tuple(each["predicateType"] for each in given))


def _noted(archive: Archive, common_dir: str, facts: Facts, source: Source) -> git.Looked:
    """What does not hold of the note on the landed commit."""
    commit = facts.made.text("after") if facts.made is not None else None
    name = origin_of(introduced(archive.store), origin(archive.home.name))  # it may be called otherwise by now
    own = known_key(archive.home.folder, name)
    if commit is None or own is None:
        return git.Looked((), ())
    mine, others = [], 0
    try:
        lines = note_lines(common_dir, commit)
    except WorldFault as fault:
        return git.Looked((f"{NOTES}: {fault.message}",), ())
    for line in lines:
        if _claims(line, own):
            mine.append(line)
        else:
            others += bool(line.strip())
    told = [f"the note on {commit[:12]} has {others} lines that this machine's key has not signed"] if others else []
    if not mine:
        told.append(f"there is no note of ours on {commit[:12]}: `keisei evidence attach {facts.attempt_id}`")
    read = opened(mine, [own])
    faults = [f"{NOTES}: {each}" for each in read.faults]
    groups = list(_groups(read.statements))
    for group in groups:
        faults += [f"{NOTES}: {each}" for each in unheld(group, _as_of(group, source))]
    newest = _named_rows(groups[-1]) if groups else set()
    if groups and not newest.issuperset(each.seq for each in facts.rows):
        told.append(f"the note is older than the ledger: `keisei evidence attach {facts.attempt_id}`")
    return git.Looked(tuple(faults), tuple(told))


def _claims(line: bytes, own: VerifierKey) -> bool:
    """Whether a line says that it was signed with our key."""
    try:
        return keyid(own.name, own.key_id) in [each for each, _ in parse_envelope(line).signatures]
    except ValueError:
        return False


def _groups(told: Iterable[Json]) -> Iterator[list[Json]]:
    """Statements that belong together: each provenance with the newest others before it.

    What is attached again later adds only those that have changed by then.
    """
    newest: dict[str, Json] = {}
    unproved = False
    for each in told:
        newest[str(each.get("predicateType"))] = each
        unproved = each.get("predicateType") != PROVENANCE
        if not unproved:
            yield [*(one for kind, one in newest.items() if kind != PROVENANCE), each]
    if unproved:
        yield list(newest.values())


def _named_rows(group: Sequence[Json]) -> set[int]:
    """The places of the rows that the provenance of a group names."""
    try:
        own = next(each for each in group if each.get("predicateType") == PROVENANCE)
        named = [str(each["name"]) for each in own["predicate"]["runDetails"]["byproducts"]]
    except (StopIteration, KeyError, TypeError):
        return set()
    return {int(each[7:]) for each in named if each.startswith("ledger/") and each[7:].isdecimal()}


def _as_of(group: Sequence[Json], source: Source) -> Source:
    """The source as it was when these statements were made: rows come later, as of a revert."""
    rows = _named_rows(group)
    return replace(source, rows=tuple(each for each in source.rows if each.seq in rows)) if rows else source
