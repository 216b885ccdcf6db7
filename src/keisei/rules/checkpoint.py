"""Whether a text is a checkpoint of a ledger, and whose word it is: the one place where that is decided."""

from collections.abc import Iterable
from typing import Final, NamedTuple

from keisei.rules.ledger_walk import Introduced
from keisei.rules.note import CheckpointBody, VerifierKey, parse_checkpoint, signers_of, split_note

NOBODY: Final = "it is not signed by a key that the ledger introduced before it, nor by one that was given"


class Unfit(ValueError):
    """Why a text is no checkpoint of a ledger, in a sentence about it."""


class Read(NamedTuple):
    """A checkpoint that was found to be one."""

    body: CheckpointBody
    """What it says."""
    signers: tuple[VerifierKey, ...]
    """Whose signatures under it hold."""


def body_of(note: str, origin: str | None = None) -> CheckpointBody:
    """What a note says, whoever signed it; of that ledger, where one is named. Raises Unfit."""
    try:
        body = parse_checkpoint(split_note(note)[0])
    except ValueError as error:
        raise Unfit(f"it was changed: {error}") from error
    if origin is not None and body.origin != origin:
        raise Unfit(f"it is of another ledger, `{body.origin}`")
    return body


def size_of(note: str) -> int | None:
    """How many rows a note is of; None where it is no checkpoint."""
    try:
        return body_of(note).size
    except Unfit:
        return None


def read_checkpoint(
    note: str,
    origin: str,
    introduced: Iterable[Introduced],
    given: Iterable[VerifierKey] = (),
    *,
    alone: bool = True,
) -> Read:
    """A checkpoint of that ledger with the signature of a key it introduced before, or of one that was given.

    Alone: nobody else has signed it, as it is with everything that we keep ourselves. Raises Unfit.
    """
    body = body_of(note, origin)
    keys = [*given, *(each.key for each in introduced if each.seq <= body.size)]
    try:
        signers, signatures = signers_of(note, keys), len(split_note(note)[1])
    except ValueError as error:
        raise Unfit(f"it was changed: {error}") from error
    if len(signers) < (signatures if alone else 1):
        raise Unfit(NOBODY)
    return Read(body, signers)


def told_by(note: str, origin: str, keys: Iterable[VerifierKey]) -> CheckpointBody | None:
    """What a note says of that ledger where one of these keys has signed it; None for everybody else's word."""
    try:
        return body_of(note, origin) if signers_of(note, keys) else None
    except ValueError:
        return None
