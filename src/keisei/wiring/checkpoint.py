"""Checkpoints: this machine signs how far the ledger has come, and puts that where whoever cuts the ledger is not.

In this order: does the ledger still begin with what was signed of it before, does every row behind that hold, is the
key known to it; then sign, keep in the table, and publish to a reference of the repository and to the state folder.
Whoever is ended in between leaves a place behind the table, which the next one catches up.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from keisei.engine.ports import Ledger, Store
from keisei.records.error import OperatorError, WorldFault
from keisei.records.move import LedgerCheckpoint, NewEntry
from keisei.rules.checkpoint import Unfit, body_of
from keisei.rules.ledger_walk import INTRODUCED, Introduced
from keisei.rules.note import CheckpointBody, checkpoint_text, parse_vkey, signed_note
from keisei.rules.tree import root_of
from keisei.wiring.checkpoint_check import LOOK, check_rows, check_signed, check_some
from keisei.wiring.checkpoint_publish import Chain, Place, chain_of, publish
from keisei.wiring.ledger_kept import introduced, kept_file, origin_of
from keisei.wiring.ledger_tree import fill, subtree
from keisei.wiring.signing import Signer, origin, signer
from keisei.wiring.store import Home
from keisei.workspace.checkpoint import FILE, REF
from keisei.workspace.lock import BusyError, KeyLocks

ACTOR: Final = "engine:checkpoint"
PATIENCE_S: Final = 10.0
"""How long one checkpoint waits for another of this machine."""
RUNNER_PATIENCE_S: Final = 2.0
"""How long a runner's does: it signs again soon, and nobody wants to wait for its end."""


class Made(NamedTuple):
    """The newest checkpoint, and what became of it."""

    origin: str
    """Whose ledger."""
    size: int
    """How many rows it is of."""
    root: bytes
    """The root of their tree."""
    note: str
    """The signed note."""
    new: bool
    """It was made just now; otherwise there was nothing new to sign."""
    troubles: tuple[str, ...] = ()
    """Why it could not be published, a sentence each."""


def sign_home(home: Home, store: Store, at_least: int = 1) -> Made | None:
    """A checkpoint of a project's ledger, where so many rows are new or the newest was never published; else None.

    Raises KeiseiError.
    """
    newest = store.newest_checkpoint()
    is_due = store.size() - (0 if newest is None else newest.size) >= at_least
    if not is_due and (newest is None or _is_published(home.folder, newest)):
        return None
    own = signer(home.folder, home.name)
    return checkpoint(store, own, origin(home.name), home.root, home.folder, patience_s=RUNNER_PATIENCE_S)


def _is_published(state: Path, newest: LedgerCheckpoint) -> bool:
    """Whether nobody was ended before everybody was told: the state folder is told last."""
    try:
        return kept_file(state / FILE) == newest.note
    except OperatorError:
        return False


def ledger_signer(ledger: Ledger, state: Path, project: str) -> Signer:
    """This machine's key under the name by which the ledger knows it. Raises OperatorError."""
    own = signer(state, project)
    return _named(own, introduced(ledger)) or own


def _named(own: Signer, keys: list[Introduced]) -> Signer | None:
    """The key under the ledger's name, where it may sign for it: None where that is another project's.

    A project that was renamed is known by the key in its state folder.
    """
    named = own.called(origin_of(keys, own.name))
    return named if named.name == own.name or parse_vkey(named.vkey) in {each.key for each in keys} else None


def checkpoint(  # noqa: PLR0913 - a ledger, whose, and each of its places
    store: Store,
    signer: Signer,
    origin: str,
    repository: Path | None,
    state: Path,
    *,
    patience_s: float = PATIENCE_S,
) -> Made | None:
    """Sign the ledger as it is now, keep that, and publish it; None where the ledger is empty.

    A ledger that does not begin with what was signed of it before, has a row behind that which does not hold, or is
    another project's is never signed: OperatorError. So is one where some signed rows, chosen by chance, are others.
    WorldFault where the store is away, or others sign for too long. What cannot be published is told in the troubles.
    """
    try:
        with KeyLocks(state).own(FILE, patience_s):
            return _made(store, signer, origin, repository, state)
    except BusyError as error:
        why = f"nothing was signed: `{state / FILE}.lock` is held by another checkpoint of this ledger"
        raise WorldFault(why, "`keisei ledger checkpoint` signs once it is done", retryable=True) from error


def _made(store: Store, signer: Signer, origin: str, repository: Path | None, state: Path) -> Made | None:
    keys, troubles = introduced(store), list[str]()
    own = _named(signer.called(origin), keys)
    if own is None:
        message = f"the database has the ledger of `{origin_of(keys, origin)}`, and this project's is `{origin}`"
        hint = "one database holds one project: name another; a project that was renamed takes its state folder along"
        raise OperatorError(f"{message}: it is not signed", hint)
    place = Place(store, own, own.name, tuple(each.key for each in keys), repository, state)
    chain = chain_of(place, troubles)
    newest, new = store.newest_checkpoint(), False
    before = 0 if newest is None else newest.size
    signed = [] if newest is None else [(_signed(place, newest), "the newest checkpoint")]
    check_signed(store, [*signed, *_elsewhere(place, chain, troubles)], state)
    if store.size() > before:
        check_some(store, before)
        new = _sign(place, before)
        newest = store.newest_checkpoint()
    if newest is None:
        return None
    publish(place, newest, chain, troubles)
    body = body_of(newest.note)
    return Made(body.origin, body.size, body.root, newest.note, new, tuple(dict.fromkeys(troubles)))


def _sign(place: Place, before: int) -> bool:
    """Sign what is there, once the ledger has told of the key. False where another machine was quicker."""
    store, own, looked = place.store, place.signer, place.store.size()
    check_rows(store, before, looked)
    if place.own not in place.known:
        told = {"vkey": own.vkey, "host": os.uname().nodename}
        store.append(NewEntry(kind=INTRODUCED, actor=ACTOR, subject=own.vkey, body=told))
    size, hashes = store.size(), subtree(store)
    check_rows(store, looked, size)
    text = checkpoint_text(place.origin, size, root_of(size, hashes))
    note = signed_note(text, own.name, own.public, own.sign(text.encode()))
    return store.keep_checkpoint(LedgerCheckpoint(size=size, note=note), fill(store, size, hashes))


def _signed(place: Place, kept: LedgerCheckpoint) -> CheckpointBody:
    """What the newest checkpoint of the table says. Raises OperatorError where it was changed, or is another's."""
    try:
        body_of(kept.note, place.origin)
    except Unfit as error:
        raise OperatorError(f"the ledger is not signed: the checkpoint of {kept.size} rows: {error}", LOOK) from error
    body = place.told(kept.note)
    if body is None or body.size != kept.size:
        raise OperatorError(f"the ledger is not signed: the checkpoint of {kept.size} rows was changed", LOOK)
    return body


def _elsewhere(place: Place, chain: Chain | None, troubles: list[str]) -> Iterator[tuple[CheckpointBody, str]]:
    """What was signed of this ledger and stands where whoever cuts the tables may not have thought of it."""
    try:
        found = place.told(kept_file(place.state / FILE) or "")
    except OperatorError as error:
        troubles.append(error.message)
    else:
        if found is not None:
            yield found, f"the checkpoint in `{place.state / FILE}`"
    if chain is not None and chain.told is not None:
        yield chain.told, f"the checkpoint in `{REF}`"
