"""Checkpoints: this machine signs how far the ledger has come, and puts that where whoever cuts the ledger is not.

In this order: does the ledger still begin with what was signed of it before, is the key known to it; then sign, keep in
the table, and publish to a reference of the repository and to the state folder. Whoever is ended in between leaves a
place behind the table, which the next one catches up.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from keisei.engine.ports import Store
from keisei.records.error import KeiseiError, OperatorError, WorldFault
from keisei.records.move import EntryQuery, LedgerCheckpoint, NewEntry
from keisei.rules.note import (
    CheckpointBody,
    VerifierKey,
    checkpoint_text,
    parse_checkpoint,
    parse_vkey,
    signed_note,
    signers_of,
    split_note,
)
from keisei.rules.tree import root_of
from keisei.wiring.ledger_kept import kept_file
from keisei.wiring.ledger_tree import fill, subtree
from keisei.wiring.signing import Signer, origin, signer
from keisei.wiring.store import Home
from keisei.workspace.checkpoint import FILE, REF, common_dir_of, notes, put, tip_of, unlink
from keisei.workspace.lock import KeyLocks

INTRODUCED: Final = "key_introduced"
ACTOR: Final = "engine:checkpoint"
PATIENCE_S: Final = 10.0
"""How long one checkpoint waits for another of this machine."""
TRIES: Final = 5
MOST_KEYS: Final = 1000
WRITE: Final = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
LOOK: Final = "`keisei ledger verify` tells what was changed"


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


class Place(NamedTuple):
    """What a checkpoint is made of, and where it goes."""

    store: Store
    signer: Signer
    origin: str
    repository: Path | None
    """A folder of the repository that gets it too."""
    state: Path
    """The folder that gets it."""


class Chain(NamedTuple):
    """What the repository's reference stands on."""

    common_dir: str
    tip: str | None
    """The object's name."""
    follows: bool = False
    """It is a checkpoint, of this ledger or of another project's in the same repository: the next one follows it."""
    told: CheckpointBody | None = None
    """The newest of this ledger."""


def sign_home(home: Home, store: Store, at_least: int = 1) -> Made | None:
    """A checkpoint of a project's ledger, where so many rows are new or the newest was never published; else None.

    Raises KeiseiError.
    """
    newest = store.newest_checkpoint()
    is_due = store.size() - (0 if newest is None else newest.size) >= at_least
    if not is_due and (newest is None or _is_published(home.folder, newest)):
        return None
    return checkpoint(store, signer(home.folder, home.name), origin(home.name), home.root, home.folder)


def _is_published(state: Path, newest: LedgerCheckpoint) -> bool:
    """Whether nobody was ended before everybody was told: the state folder is told last."""
    try:
        return kept_file(state / FILE) == newest.note
    except OperatorError:
        return False


def checkpoint(store: Store, signer: Signer, origin: str, repository: Path | None, state: Path) -> Made | None:
    """Sign the ledger as it is now, keep that, and publish it; None where the ledger is empty.

    A ledger that does not begin with what was signed of it before is never signed: OperatorError. WorldFault where the
    store is away. What cannot be published is told in what is returned.
    """
    place, troubles = Place(store, signer, origin, repository, state), list[str]()
    with KeyLocks(state).own(FILE, PATIENCE_S):
        keys = _keys(place)
        chain = _repository(place, keys, troubles)
        newest, new = store.newest_checkpoint(), False
        signed = [] if newest is None else [(_signed(newest, keys), "the newest checkpoint")]
        _check(place, [*signed, *_elsewhere(place, keys, chain, troubles)])
        if store.size() > (0 if newest is None else newest.size):
            new = _sign(place, keys)
            newest = store.newest_checkpoint()
        if newest is None:
            return None
        _publish(place, newest, keys, chain, troubles)
    body = parse_checkpoint(split_note(newest.note)[0])
    return Made(body.origin, body.size, body.root, newest.note, new, tuple(dict.fromkeys(troubles)))


def _sign(place: Place, keys: Sequence[VerifierKey]) -> bool:
    """Sign what is there, once the ledger has told of the key. False where another machine was quicker."""
    store, own = place.store, place.signer
    if parse_vkey(own.vkey) not in keys[:-1]:
        told = {"vkey": own.vkey, "host": os.uname().nodename}
        store.append(NewEntry(kind=INTRODUCED, actor=ACTOR, subject=own.vkey, body=told))
    size, hashes = store.size(), subtree(store)
    text = checkpoint_text(place.origin, size, root_of(size, hashes))
    note = signed_note(text, own.name, own.public, own.sign(text.encode()))
    return store.keep_checkpoint(LedgerCheckpoint(size=size, note=note), fill(store, size, hashes))


def _keys(place: Place) -> tuple[VerifierKey, ...]:
    """The keys that the ledger has introduced; last, whether introduced or not, our own."""
    query = EntryQuery(kind=INTRODUCED, source="engine", limit=MOST_KEYS)
    found = []
    for entry in place.store.find_entries(query):
        with suppress(ValueError):
            found.append(parse_vkey(str(entry.body.get("vkey"))))
    return (*found, parse_vkey(place.signer.vkey))


def _signed(kept: LedgerCheckpoint, keys: Sequence[VerifierKey]) -> CheckpointBody:
    """What the newest checkpoint of the table says. Raises OperatorError where it was changed."""
    body = _read(kept.note, keys)
    if body is None or body.size != kept.size:
        raise OperatorError(f"the checkpoint of {kept.size} rows was changed: the ledger is not signed", LOOK)
    return body


def _read(note: str, keys: Sequence[VerifierKey]) -> CheckpointBody | None:
    """What a note says, where one of the keys has signed it."""
    try:
        return parse_checkpoint(split_note(note)[0]) if signers_of(note, keys) else None
    except ValueError:
        return None


def _elsewhere(
    place: Place, keys: Sequence[VerifierKey], chain: Chain | None, troubles: list[str]
) -> Iterator[tuple[CheckpointBody, str]]:
    """What was signed of this ledger and stands where whoever cuts the tables may not have thought of it."""
    try:
        found = _read(kept_file(place.state / FILE) or "", keys)
    except OperatorError as error:
        troubles.append(error.message)
    else:
        if found is not None and found.origin == place.origin:
            yield found, f"the checkpoint in `{place.state / FILE}`"
    if chain is not None and chain.told is not None:
        yield chain.told, f"the checkpoint in `{REF}`"


def _check(place: Place, signed: Sequence[tuple[CheckpointBody, str]]) -> None:
    """Raise OperatorError where the ledger does not begin with what was signed of it."""
    size, hashes = place.store.size(), subtree(place.store)
    for body, name in signed:
        if body.size > size:
            why = f"{name} is of {body.size} rows and the ledger has {size}: rows were cut off, or it is another ledger"
            raise OperatorError(why, f"{LOOK}; what was signed of another ledger has to be moved away")
        if root_of(body.size, hashes) != body.root:
            why = f"the ledger does not fit {name}, of {body.size} rows: it is not signed"
            raise OperatorError(why, f"{LOOK}; what was signed of another ledger has to be moved away")


def _repository(place: Place, keys: Sequence[VerifierKey], troubles: list[str]) -> Chain | None:
    """The repository's chain, the reference being a name of its own; None where there is none. Never raises."""
    if place.repository is None:
        return None
    try:
        common_dir = common_dir_of(place.repository)
        other = None if common_dir is None else unlink(common_dir)
        if other is not None:
            troubles.append(f"`{REF}` was only another name of `{other}`: it begins anew")
        return None if common_dir is None else _chain(place, keys, common_dir)
    except OperatorError:  # there is no git
        return None
    except WorldFault as fault:
        troubles.append(fault.message)
        return None


def _chain(place: Place, keys: Sequence[VerifierKey], common_dir: str) -> Chain:
    """What is there now. Raises WorldFault."""
    tip, follows = tip_of(common_dir), False
    for note in () if tip is None else notes(common_dir, tip):
        if not _is_checkpoint(note):
            break
        follows, body = True, _read(note, keys)
        if body is not None and body.origin == place.origin:
            return Chain(common_dir, tip, follows=True, told=body)
    return Chain(common_dir, tip, follows)


def _is_checkpoint(note: str) -> bool:
    try:
        parse_checkpoint(split_note(note)[0])
    except ValueError:
        return False
    return True


def _publish(
    place: Place, newest: LedgerCheckpoint, keys: Sequence[VerifierKey], chain: Chain | None, troubles: list[str]
) -> None:
    """Have the state folder and the repository tell it. Never raises: what did not work is added to the troubles."""
    try:
        strange = None if chain is None else _to_repository(place, newest, keys, chain)
    except KeiseiError as error:
        strange = f"`{REF}` does not tell the newest checkpoint: {error.message}"
    if strange is not None:
        troubles.append(strange)
    try:
        _to_folder(place, newest.note)
    except OSError as error:
        troubles.append(f"`{place.state / FILE}` cannot be written: {(error.strerror or str(error)).lower()}")


def _to_folder(place: Place, note: str) -> None:
    """Have the state folder tell it: whole or not at all, whatever stands there. Raises OSError."""
    path = place.state / FILE
    with suppress(OperatorError):  # it cannot be read: it is replaced
        if kept_file(path) == note:
            return
    waiting = path.with_name(f"{FILE}.new")
    with open(os.open(waiting, WRITE, 0o600), "wb") as file:  # noqa: PTH123 - a descriptor
        file.write(note.encode())
        file.flush()
        os.fsync(file.fileno())
    waiting.replace(path)
    folder = os.open(place.state, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _to_repository(place: Place, newest: LedgerCheckpoint, keys: Sequence[VerifierKey], chain: Chain) -> str | None:
    """Have the repository tell it. What stood there instead of a chain, where something did. Raises KeiseiError."""
    for _ in range(TRIES):
        if chain.told is not None and chain.told.size >= newest.size:
            return None
        if put(chain.common_dir, newest.note, place.store.now(), chain.tip, follows=chain.follows):
            anew = chain.tip is not None and not chain.follows
            return f"`{REF}` stood on {chain.tip}, which is no checkpoint: it begins anew" if anew else None
        chain = _chain(place, keys, chain.common_dir)
    raise WorldFault("others move it all the time", retryable=True)
