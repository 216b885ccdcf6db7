"""An attempt's attestations as a folder that needs no keisei to be checked: statements, evidence, artifacts, proofs."""

import hashlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple

import msgspec

from keisei.records.error import KeiseiError, OperatorError, Refused, WorldFault
from keisei.rules.attestation_row import SETTLED, evidence_of
from keisei.rules.evidence import keys_of
from keisei.rules.note import parse_vkey
from keisei.wiring.attestation import Archive, Gathered, artifact_folder, attested
from keisei.wiring.checkpoint import checkpoint, ledger_signer
from keisei.wiring.ledger_kept import introduced
from keisei.wiring.ledger_proof import inclusion
from keisei.wiring.signing import Signer, origin
from keisei.workspace.walk import READ, reached

STATEMENTS: Final = "attestation.intoto.jsonl"
EVIDENCE: Final = "evidence"
ARTIFACTS: Final = "artifacts"
PROOFS: Final = "proofs.jsonl"
KEY: Final = "key.txt"
INTRODUCED: Final = "key_introduced"
PIECE: Final = 1_048_576
PAGE: Final = 200


class Exported(NamedTuple):
    """What was written."""

    folder: Path
    files: tuple[str, ...]
    """Every file, relative to the folder."""
    told: tuple[str, ...]
    """What a person should know: artifacts that are gone, rows that no checkpoint covers."""


def export(archive: Archive, gathered: Gathered, folder: Path) -> Exported:
    """Write the folder, whole or not at all; it must not be there, or be empty.

    Raises Refused where nothing can be attested or something stands there already, OperatorError and WorldFault.
    """
    lines = attested(archive, gathered)
    key = ledger_signer(archive.store, archive.home.folder, archive.home.name)
    _check_free(folder)
    told = [*gathered.lost, *_checkpointed(archive, key)]
    proofs = list(_proofs(archive, gathered, key))
    if any(each["checkpoint"] is None for each in proofs):
        told.append("no checkpoint covers the rows yet: `keisei ledger checkpoint` signs one; export again then")
    folder.parent.mkdir(parents=True, exist_ok=True)
    try:
        with tempfile.TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent) as made:
            place = Path(made, "export")
            place.mkdir(0o755)
            (place / STATEMENTS).write_bytes(b"".join(each + b"\n" for each in lines))
            (place / PROOFS).write_bytes(b"".join(msgspec.json.encode(each) + b"\n" for each in proofs))
            (place / KEY).write_text(f"{key.vkey}\n", "utf-8")
            _copy_evidence(archive, gathered, place / EVIDENCE)
            _copy_artifacts(archive, gathered, place / ARTIFACTS)
            place.replace(folder)
    except OSError as error:
        message = f"the export cannot be written to `{folder}`: {(error.strerror or str(error)).lower()}"
        raise WorldFault(message, "check the folder and the room on the disk") from error
    files = sorted(str(each.relative_to(folder)) for each in folder.rglob("*") if each.is_file())
    return Exported(folder, tuple(files), tuple(told))


def _check_free(folder: Path) -> None:
    try:
        taken = os.path.lexists(folder) and (folder.is_symlink() or not folder.is_dir() or any(folder.iterdir()))
    except OSError as error:
        raise OperatorError(f"`{folder}` cannot be looked at: {(error.strerror or str(error)).lower()}") from error
    if taken:
        raise Refused(f"there is something at `{folder}` already", "name a folder that is not there, or is empty")


# --- the ledger -------------------------------------------------------------------------------------------------------


def _checkpointed(archive: Archive, key: Signer) -> Iterator[str]:
    """Have a checkpoint cover every row, so that each proof leads to something signed; a line where that fails."""
    home = archive.home
    try:
        checkpoint(archive.store, key, origin(home.name), home.root, home.folder)
    except KeiseiError as error:
        yield f"no checkpoint could be signed: {error.message}"


def _proofs(archive: Archive, gathered: Gathered, key: Signer) -> Iterator[dict[str, Any]]:
    """A proof of every row about the attempt, and of the one that introduced the key, all of one size."""
    store, name = archive.store, origin(archive.home.name)
    rows = {each.seq for each in gathered.rows}
    rows |= {each for each in [_introduction(archive, key)] if each is not None}
    newest = store.newest_checkpoint()
    size = newest.size if newest is not None and newest.size >= max(rows) else store.size()
    for seq in sorted(rows):
        yield inclusion(store, name, seq, size)


def _introduction(archive: Archive, key: Signer) -> int | None:
    own = parse_vkey(key.vkey)
    return next((each.seq for each in introduced(archive.store) if each.key == own), None)


# --- files ------------------------------------------------------------------------------------------------------------


def _copy_evidence(archive: Archive, gathered: Gathered, folder: Path) -> None:
    keys, evidence = keys_of(gathered.attempt.attempt_id, gathered.attempt.started_at), archive.evidence
    for name, digest in evidence_of(gathered.rows).items():
        file = evidence.open(keys.of(name))
        if file is None:
            raise Refused(f"the evidence `{name}` is missing", "it was there a moment ago: try again")
        with file:
            _copy(file, folder / name, name, digest)


def _copy_artifacts(archive: Archive, gathered: Gathered, folder: Path) -> None:
    settled = [each for each in gathered.rows if each.kind == SETTLED]
    digests, place = settled[-1].digests(ARTIFACTS), artifact_folder(archive, gathered.attempt)
    for path in gathered.source.artifacts:
        root = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            inner, name = reached(root, os.fsencode(path))
            try:
                handle = os.open(name, READ, dir_fd=inner)
            finally:
                os.close(inner)
        finally:
            os.close(root)
        with os.fdopen(handle, "rb") as file:
            _copy(file, folder / path, path, digests[path])


def _copy(file: BinaryIO, to: Path, name: str, digest: str) -> None:
    """A copy that is what the ledger says. Raises Refused where the file was changed meanwhile."""
    to.parent.mkdir(parents=True, exist_ok=True)
    seen = hashlib.sha256()
    with to.open("xb") as copy:
        while piece := file.read(PIECE):
            seen.update(piece)
            copy.write(piece)
    if seen.hexdigest() != digest:
        raise Refused(f"`{name}` was changed while it was copied", "try again")
