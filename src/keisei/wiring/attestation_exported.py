"""Whether an export of attestations holds: a folder that anybody may have written, read as it is."""

from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Final

import msgspec

from keisei.records.error import OperatorError
from keisei.rules.attestation import Json
from keisei.rules.attestation_check import attempt_of, named_subjects, opened, unheld
from keisei.rules.attestation_fact import Facts, Source
from keisei.rules.attestation_row import SETTLED, Row, about, evidence_of, row_of, wanted
from keisei.rules.ledger import leaf_hash
from keisei.rules.note import VerifierKey, parse_checkpoint, parse_vkey, signers_of, split_note, vkey
from keisei.rules.tree import verify_inclusion
from keisei.wiring import attestation_git as git
from keisei.wiring.attestation_export import ARTIFACTS, EVIDENCE, INTRODUCED, KEY, PROOFS, STATEMENTS
from keisei.wiring.attestation_verify import Verified
from keisei.workspace.checkpoint import common_dir_of
from keisei.workspace.file import look

LARGEST: Final = 64 * 1024 * 1024
"""Bytes of a file of an export that is read whole."""
MOST_ROWS: Final = 10_000


def verify_export(folder: Path, keys: Sequence[VerifierKey], common_dir: str | None) -> Verified:
    """Hold an export against itself, and against a repository where one is named. Raises OperatorError.

    Without a key the one in the export counts, which says nothing of who made it.
    """
    told: list[str] = []
    own = _own_key(folder)
    if not keys:
        keys = [own]
        told.append(
            f"not checked: whose key {own.name}+{own.key_id.hex()} is; it stands in the export: name it by --key"
        )
    read = opened(_read(folder, STATEMENTS).splitlines(), keys)
    attempt_id = attempt_of(read.statements)
    if attempt_id is None:
        return Verified("", (*read.faults, "provenance: the statement is missing"), tuple(told), ())
    rows, unproved, uncovered = _proved(folder, keys, own)
    told += uncovered
    faults = [*read.faults, *unproved]
    try:
        named, need = evidence_of(about(rows, attempt_id)), wanted(about(rows, attempt_id))
        artifacts = _artifacts(about(rows, attempt_id), read.statements)
    except ValueError as error:
        return Verified(attempt_id, (*faults, str(error)), tuple(told), ())
    faults += _changed(folder / EVIDENCE, named, "evidence")
    files = {name: _read(folder, f"{EVIDENCE}/{name}") for name in need if look(folder / EVIDENCE, name).sha256}
    faults += _changed(folder / ARTIFACTS, artifacts, "artifact")
    source = Source(attempt_id=attempt_id, rows=rows, files=files, artifacts=tuple(artifacts))
    try:
        faults += unheld(read.statements, source)
        looked = git.look(common_dir, Facts(source)) if common_dir is not None else None
    except ValueError as error:
        return Verified(attempt_id, (*faults, str(error)), tuple(told), ())
    if looked is None:
        told.append("not checked: what git says; name the repository by --repository")
    else:
        faults, told = [*faults, *looked.faults], [*told, *looked.told]
    kinds = tuple(str(each.get("predicateType")) for each in read.statements)
    return Verified(attempt_id, tuple(dict.fromkeys(faults)), tuple(told), kinds)


def _own_key(folder: Path) -> VerifierKey:
    try:
        return parse_vkey(_read(folder, KEY).decode("utf-8"))
    except ValueError as error:
        raise OperatorError(
            f"`{folder / KEY}` has no verifier key: {error}", "it is no export, or was changed"
        ) from error


def _read(folder: Path, name: str) -> bytes:
    """A file of an export, whole. Raises OperatorError for a link, a folder, and what is too large."""
    found = look(folder, name, largest=LARGEST)
    if found.sha256 is None:
        raise OperatorError(f"`{folder / name}` {found.fault}", "name a folder that `keisei evidence export` made")
    raw = (folder / name).read_bytes()
    if sha256(raw).hexdigest() != found.sha256:
        raise OperatorError(f"`{folder / name}` was changed while it was read", "try again")
    return raw


def _changed(folder: Path, named: dict[str, str], what: str) -> Iterator[str]:
    for name, digest in sorted(named.items()):
        found = look(folder, name)
        if found.sha256 is None:
            yield f"the {what} `{name}` {found.fault}"
        elif found.sha256 != digest:
            yield f"the {what} `{name}` was changed: it has another digest than the ledger says"


def _artifacts(rows: Sequence[Row], told: Iterable[Json]) -> dict[str, str]:
    """The artifacts that statements speak of, as far as the ledger knows them."""
    settled = [each for each in rows if each.kind == SETTLED]
    digests, subjects = settled[-1].digests(ARTIFACTS) if settled else {}, named_subjects(told)
    return {path: digest for path, digest in digests.items() if path in subjects}


def _proved(
    folder: Path, keys: Sequence[VerifierKey], own: VerifierKey
) -> tuple[tuple[Row, ...], list[str], list[str]]:
    """The rows of an export, what does not hold of their proofs, and what no checkpoint covers."""
    rows, faults, uncovered = [], [], []
    for number, line in enumerate(_read(folder, PROOFS).splitlines()[:MOST_ROWS], start=1):
        try:
            row, is_covered = _row(line, keys)
        except ValueError as error:
            faults.append(f"{PROOFS}, line {number}: {error}")
            continue
        if not is_covered:
            uncovered.append(f"not checked: whether row {row.seq} is in the ledger; no checkpoint covers it")
        if row.kind != INTRODUCED:
            rows.append(row)
        elif row.source != "engine" or row.body.get("vkey") != vkey(own.name, own.public):
            faults.append(f"ledger/{row.seq}: it introduces another key than {KEY}")
    return tuple(rows), faults, uncovered


class _Proof(msgspec.Struct, frozen=True, kw_only=True):
    seq: int
    content: str | None = None
    leaf_hash: str
    index: int
    size: int
    root: str
    path: tuple[str, ...]
    checkpoint: str | None


def _row(line: bytes, keys: Sequence[VerifierKey]) -> tuple[Row, bool]:
    """The row of a proof, and whether the proof leads to a checkpoint. Raises ValueError where it does not hold."""
    try:
        proof = msgspec.json.decode(line, type=_Proof)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError("it is no proof of a row") from error
    row = row_of(proof.seq, (proof.content or "").encode("utf-8", "surrogatepass"))
    leaf, root = leaf_hash(row.content), bytes.fromhex(proof.root)
    path = [bytes.fromhex(each) for each in proof.path]
    if proof.index != proof.seq - 1 or leaf.hex() != proof.leaf_hash:
        raise ValueError(f"row {proof.seq} was changed: it does not have its leaf hash")
    if not verify_inclusion(leaf, proof.index, proof.size, path, root):
        raise ValueError(f"row {proof.seq} is not in the tree that the proof leads to")
    if proof.checkpoint is None:
        return row, False
    body = parse_checkpoint(split_note(proof.checkpoint)[0])
    if (body.size, body.root) != (proof.size, root):
        raise ValueError(f"the proof of row {proof.seq} leads to another tree than its checkpoint")
    if not signers_of(proof.checkpoint, keys):
        raise ValueError(f"the checkpoint over row {proof.seq} is not signed by the key")
    return row, True


def repository_at(path: Path) -> str:
    """The git folder of a repository that somebody named. Raises OperatorError where there is none."""
    found = common_dir_of(path) if path.is_dir() else None
    if found is None:
        raise OperatorError(f"there is no repository at `{path}`", "name a checkout or a bare repository")
    return found
