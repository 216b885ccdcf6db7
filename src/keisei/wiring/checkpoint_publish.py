"""Where checkpoints are told besides the table: commits in the repository, and a file in the state folder."""

import os
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from keisei.engine.ports import Store
from keisei.records.error import KeiseiError, OperatorError, WorldFault
from keisei.records.move import LedgerCheckpoint
from keisei.rules.checkpoint import Unfit, body_of, told_by
from keisei.rules.note import CheckpointBody, VerifierKey, parse_vkey
from keisei.wiring.ledger_kept import kept_file
from keisei.wiring.signing import Signer
from keisei.workspace.checkpoint import (
    FILE,
    MOST,
    REF,
    Published,
    common_dir_of,
    damage_of,
    history,
    put,
    tip_of,
    unlink,
)

TRIES: Final = 5
FEW: Final = 64
"""Commits of the reference that are looked at first: one of ours is nearly always among them."""
WRITE: Final = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC


class Place(NamedTuple):
    """What a checkpoint is made of, and where it goes."""

    store: Store
    signer: Signer
    origin: str
    known: tuple[VerifierKey, ...]
    """The keys that the ledger has introduced."""
    repository: Path | None
    """A folder of the repository that gets it too."""
    state: Path
    """The folder that gets it."""

    @property
    def own(self) -> VerifierKey:
        """The key that signs."""
        return parse_vkey(self.signer.vkey)

    def told(self, note: str) -> CheckpointBody | None:
        """What a note says of this ledger; None for what nobody signed who is known."""
        return told_by(note, self.origin, (*self.known, self.own))


class Chain(NamedTuple):
    """What the repository's reference stands on."""

    common_dir: str
    tip: str | None
    """The object's name."""
    parent: str | None = None
    """The newest commit with a checkpoint, of this ledger or of another one: the next one follows it."""
    told: CheckpointBody | None = None
    """The newest of this ledger."""
    others: bool = False
    """Behind that, somebody else has signed in this ledger's name."""


def chain_of(place: Place, troubles: list[str]) -> Chain | None:
    """The repository's chain, the reference being a name of its own; None where there is none. Never raises."""
    if place.repository is None:
        return None
    try:
        common_dir = common_dir_of(place.repository)
        if common_dir is None:
            if (why := damage_of(place.repository)) is not None:
                troubles.append(f"the repository cannot be read, and was not told: {why}")
            return None
        other = unlink(common_dir)
        if other is not None:
            troubles.append(f"`{REF}` was only another name of `{other}`: it begins anew")
        chain = _chain(place, common_dir)
    except OperatorError:  # there is no git
        return None
    except WorldFault as fault:
        troubles.append(fault.message)
        return None
    if chain.others:
        named = f"under the name `{place.origin}`, signed with keys that this ledger does not know"
        troubles.append(f"`{REF}` has checkpoints {named}: another database uses this repository and name")
    return chain


def _chain(place: Place, common_dir: str) -> Chain:
    """What is there now. Raises WorldFault."""
    tip = tip_of(common_dir)
    if tip is None:
        return Chain(common_dir, tip)
    found = _seen(place, common_dir, tip, history(common_dir, tip, FEW).commits)
    return found if found.told is not None else _seen(place, common_dir, tip, history(common_dir, tip, MOST).commits)


def _seen(place: Place, common_dir: str, tip: str, commits: list[Published]) -> Chain:
    """The same, of commits that were read: what is no checkpoint is walked past."""
    chain = Chain(common_dir, tip)
    for each in commits:
        try:
            body = body_of(each.note or "")
        except Unfit:
            continue
        chain = chain if chain.parent is not None else chain._replace(parent=each.commit)
        if place.told(each.note or "") is not None:
            return chain._replace(told=body)
        chain = chain._replace(others=chain.others or body.origin == place.origin)
    return chain


def publish(place: Place, newest: LedgerCheckpoint, chain: Chain | None, troubles: list[str]) -> None:
    """Have the state folder and the repository tell it. Never raises: what did not work is added to the troubles."""
    try:
        strange = None if chain is None else _to_repository(place, newest, chain)
    except KeiseiError as error:
        hint = f"; {error.hint}" if error.hint else ""
        strange = f"`{REF}` does not tell the newest checkpoint: {error.message}{hint}"
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


def _to_repository(place: Place, newest: LedgerCheckpoint, chain: Chain) -> str | None:
    """Have the repository tell it. What stood on the chain, or in its place, if anything did. Raises KeiseiError."""
    for _ in range(TRIES):
        if chain.told is not None and chain.told.size >= newest.size:
            return None
        if put(chain.common_dir, newest.note, place.store.now(), chain.tip, chain.parent):
            if chain.parent == chain.tip:
                return None
            end = "it begins anew" if chain.parent is None else f"it goes on behind {chain.parent}"
            return f"`{REF}` stood on {chain.tip}, which is no checkpoint that can be read: {end}"
        chain = _chain(place, chain.common_dir)
    raise WorldFault("others move it all the time", retryable=True)
