"""Landing: verified candidates go to their branch, one after another, each verified on the tip it lands on.

Whoever lands holds the lock of the project; a row says `landing` with the commit that is to be before the branch moves
to it. A process that dies leaves the lock, the row and perhaps the moved branch: whoever takes the lock next sees
whether the branch holds the commit, and goes on from there. So nothing lands twice, and nothing is half there.
"""

import fcntl
import hashlib
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Final

from msgspec.structs import replace

from keisei.engine.land import known, move, respawned
from keisei.records.error import KeiseiError, WorldFault
from keisei.records.id import LandingId, TaskId
from keisei.records.landing import LandingRecord
from keisei.records.worktree import RepositoryFacts
from keisei.rules.claim import cut
from keisei.rules.landing import REASON, Grounds, Ruling, decide, rejecting, spoken
from keisei.wiring.examination import OWN, put_aside
from keisei.wiring.execute import Hold
from keisei.wiring.hall import open_landings
from keisei.wiring.landing_proof import Desk, Proof, Tell, evidence_of, facts_of, inquest_of, prove
from keisei.wiring.runner import Line
from keisei.wiring.shop import Shop
from keisei.wiring.store import make_folder
from keisei.wiring.switch import Switch
from keisei.workspace.branch import tip_of as branch_tip
from keisei.workspace.land import Advanced, advance, commit, create_branch, drop, keep
from keisei.workspace.merge import is_ancestor, tree_of

LOCK: Final = "landing.lock"
LOOK_S: Final = 0.1
TRIES: Final = 20
"""How often a candidate is merged anew because main has moved meanwhile."""
SUBJECT: Final = 72
FOREVER_S: Final = 86_400.0


def hold_of(name: str, left_s: Callable[[], float], switch: Switch | None = None) -> Hold:
    """By what the programs of a landing are held."""
    return Hold(switch or Switch(), left_s, hashlib.sha256(f"keisei landing {name}".encode()).hexdigest()[:32])


# --- the queue --------------------------------------------------------------------------------------------------------


def land_queued(desk: Desk, only: tuple[TaskId, ...] | None = None, goes_on: Callable[[], bool] = lambda: True) -> int:
    """Land what is queued, oldest first, until nothing is, it is not to go on, or the switch is pulled. How many were.

    Nothing happens where another process lands. A landing that the machine or the repository fails is held, and says
    why; the others go on.
    """
    done = 0
    with locked(desk.shop) as mine:
        while mine and goes_on() and not desk.hold.switch.pulled.is_set():
            landing = _next(desk, only)
            if landing is None:
                break
            land_one(desk, landing)
            done += 1
    return done


def _next(desk: Desk, only: tuple[TaskId, ...] | None) -> LandingRecord | None:
    """What was begun comes first: it may be done already."""
    found = open_landings(desk.shop, only)
    return next(iter(sorted(found, key=lambda each: each.status != "landing")), None)


@contextmanager
def locked(shop: Shop, patience: Callable[[], bool] = lambda: False) -> Iterator[bool]:
    """The project's landings are ours; False where another process has them and there is no patience for it.

    Raises WorldFault where there can be no lock.
    """
    make_folder(shop.home.folder)
    path = shop.home.folder / LOCK
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise WorldFault(f"`{path}` cannot be opened: {error.strerror or error}", retryable=True) from error
    try:
        yield _taken(handle, patience)
    finally:
        os.close(handle)


def _taken(handle: int, patience: Callable[[], bool]) -> bool:
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if not patience():
                return False
            time.sleep(LOOK_S)
        else:
            return True


def land_now(shop: Shop, landing_id: LandingId, tell: Tell, actor: str = "operator") -> LandingRecord:
    """Land one that is queued, here and now, and say what became of it; whoever lands just now is waited for."""
    desk = Desk(shop, hold_of(landing_id, lambda: FOREVER_S), actor, tell)
    with locked(shop, lambda: known(shop.store, landing_id).status in ("queued", "landing")) as mine:
        landing = known(shop.store, landing_id)
        if mine and any(each.landing_id == landing_id for each in open_landings(shop, (landing.task_id,))):
            land_one(desk, landing)
    return known(shop.store, landing_id)


# --- one landing ------------------------------------------------------------------------------------------------------


def land_one(desk: Desk, landing: LandingRecord) -> None:
    """Carry one landing to where it is over or held. Whoever calls has the lock. Raises where the store is away."""
    try:
        _carried(desk, landing)
    except Exception as error:  # noqa: BLE001 - the first in the queue must not stop all others for ever
        if desk.hold.switch.pulled.is_set():
            return  # it stays as it is: whoever takes the lock next goes on
        told = error.message if isinstance(error, KeiseiError) else f"{type(error).__name__}: {error}"
        _failed(desk, landing.landing_id, f"it could not be landed: {told}")


def _failed(desk: Desk, landing_id: LandingId, reason: str) -> None:
    """Hold what a fault has stopped, unless the fault came after the branch had moved: then it has landed.

    Where nobody can tell, the commit stays in the row, and is looked for when somebody approves it again.
    """
    landing = known(desk.shop.store, landing_id)
    try:
        is_there = landing.status == "landing" and _is_there(desk, landing)
    except KeiseiError:
        _held(desk, landing_id, reason, after_commit=landing.after_commit)
        return
    if is_there:
        _landed(desk, landing)
    else:
        _held(desk, landing_id, reason)


def _carried(desk: Desk, landing: LandingRecord) -> None:
    begun = landing if landing.status == "landing" else move(desk.office, landing, "landing")
    if begun is not None and _is_there(desk, begun):
        _landed(desk, begun)
        return
    if not landing.branch.startswith(OWN) and facts_of(desk.shop, landing.branch).branch != landing.branch:
        told = f"there is no branch `{landing.branch}` any more: `git branch {landing.branch} COMMIT` makes it again"
        _held(desk, landing.landing_id, told)
        return
    for _ in range(TRIES):
        if begun is None:
            return
        proof = prove(desk, begun)
        ruling = decide(proof.grounds)
        if ruling.decision != "merge" or proof.grounds.tree is None:
            _ruled(desk, begun, proof, ruling)
            return
        begun = _advanced(desk, begun, proof)
    if begun is not None:
        _held(desk, landing.landing_id, f"{landing.branch} moved {TRIES} times while it was verified")


def _is_there(desk: Desk, landing: LandingRecord) -> bool:
    """Whether the branch holds the commit already: its process died between the branch and the row."""
    if landing.after_commit is None:
        return False
    common_dir = facts_of(desk.shop).common_dir
    tip = branch_tip(common_dir, landing.branch)
    return tip is not None and is_ancestor(common_dir, landing.after_commit, tip)


def _advanced(desk: Desk, landing: LandingRecord, proof: Proof) -> LandingRecord | None:
    """Move the branch. The landing as it is, where main has moved meanwhile; None where it is over."""
    facts, tree = proof.facts, proof.grounds.tree or ""
    if tree == tree_of(facts.common_dir, facts.head):
        move(desk.office, landing, "rejected", reason=f"{facts.branch} has all of it already", after_commit=None)
        forget(desk.shop, landing)
        return None
    made = commit(facts.common_dir, tree, facts.head, message_of(desk, landing), desk.shop.store.now())
    keep(facts.common_dir, landing.landing_id, made)
    known_now = replace(landing, tree=tree, before_commit=facts.head, after_commit=made, plan=proof.plan, reason=None)
    begun = move(desk.office, known_now, "landing", findings=proof.fresh)
    if begun is None:
        return None
    done = _moved(begun, facts, made)
    if done.kind == "moved":
        _landed(desk, begun)
        return None
    if done.kind == "refused":
        _held(desk, landing.landing_id, obstacle(done, landing.branch))
        return None
    if landing.branch != facts.branch:
        told = f"there is a branch `{landing.branch}` already: rename or remove it, and approve again"
        _held(desk, landing.landing_id, told)
        return None
    return begun


def obstacle(done: Advanced, branch: str) -> str:
    """Why a branch was not moved, with the files that are in the way."""
    told = done.reason or f"`{branch}` has moved meanwhile"
    return f"{told}: {', '.join(done.files)}" if done.files else told


def _moved(landing: LandingRecord, facts: RepositoryFacts, made: str) -> Advanced:
    if landing.branch == facts.branch:
        return advance(facts.common_dir, landing.branch, made, facts.head)
    return create_branch(facts.common_dir, landing.branch, made)


def _landed(desk: Desk, landing: LandingRecord) -> None:
    after = move(desk.office, landing, "landed", reason=None, evidence=evidence_of(desk, landing))
    forget(desk.shop, landing)
    if after is None:
        told = f"{landing.branch} holds it, and its row says something else: `keisei land show {landing.landing_id}`"
        desk.tell(Line("trouble", landing.task_id, landing.attempt_id, told))
    else:
        span = f"{(after.before_commit or '')[:12]} -> {(after.after_commit or '')[:12]}"
        desk.tell(Line("landed", after.task_id, after.attempt_id, f"on {after.branch}: {span}"))
        _noted(desk, after)


def _noted(desk: Desk, landing: LandingRecord) -> None:
    """Have the commit carry its attestations as a note; where that fails it is told, and has landed all the same."""
    from keisei.wiring.attestation import Archive  # noqa: PLC0415 - only where something has landed
    from keisei.wiring.attestation_note import attach_landed  # noqa: PLC0415 - likewise

    fault = attach_landed(Archive(desk.shop.home, desk.shop.store), landing.attempt_id)
    if fault is not None:
        told = f"the landed commit has no note: {fault}; `keisei evidence attach {landing.attempt_id}` tries again"
        desk.tell(Line("trouble", landing.task_id, landing.attempt_id, told))


def _held(desk: Desk, landing_id: LandingId, reason: str, after_commit: str | None = None) -> None:
    landing = known(desk.shop.store, landing_id)
    if landing.status in ("queued", "landing"):
        line = cut(" ".join(reason.split()), REASON)
        move(desk.office, landing, "held", reason=line, approved=False, after_commit=after_commit)
        if after_commit is None:
            forget(desk.shop, landing)
        desk.tell(Line("held", landing.task_id, landing.attempt_id, line))


def forget(shop: Shop, landing: LandingRecord) -> None:
    """The commit that was to be needs no reference any more: the branch holds it, or nobody wants it. Never raises."""
    with suppress(KeiseiError):
        drop(facts_of(shop).common_dir, landing.landing_id)


def _ruled(desk: Desk, landing: LandingRecord, proof: Proof, ruling: Ruling) -> None:
    known_now = replace(landing, reason=ruling.reason, after_commit=None)
    forget(desk.shop, landing)
    kept = evidence_of(desk, landing)
    if ruling.decision in ("hold", "merge") or is_unasked(proof.grounds):
        seen = replace(known_now, tree=proof.grounds.tree, before_commit=proof.facts.head, plan=proof.plan)
        move(desk.office, seen, "held", findings=proof.fresh, evidence=kept, approved=False)
        desk.tell(Line("held", landing.task_id, landing.attempt_id, ruling.reason))
        return
    task = respawned(desk.shop.store, landing, TaskId(desk.shop.new_id())) if ruling.decision == "respawn" else None
    tasks = () if task is None else (task,)
    move(desk.office, known_now, "rejected", findings=proof.fresh, tasks=tasks, evidence=kept)
    put_aside(inquest_of(desk, landing))
    desk.shop.store.ring()
    desk.tell(Line("rejected", landing.task_id, landing.attempt_id, ruling.reason))


def is_unasked(grounds: Grounds) -> bool:
    """Whether nothing speaks against a tree but that something could not be asked: a disk was full, time ran out.

    Then a person may have it asked again; what was rejected would be off for good.
    """
    against = rejecting(spoken(grounds))
    return grounds.tree is not None and bool(against) and all(each.status == "error" for each in against)


def message_of(desk: Desk, landing: LandingRecord) -> bytes:
    """What the commit says: what was asked for, and where its evidence is."""
    task = desk.shop.store.task(landing.task_id)
    asked = " ".join(((task.subject if task is not None else None) or "").split())
    subject = asked if len(asked) <= SUBJECT else f"{asked[: SUBJECT - 1]}…"
    own = task.payload.get("task") if task is not None else None
    agent = own.get("agent-id") if isinstance(own, dict) else None
    lines = [
        subject or f"Candidate of attempt {landing.attempt_id}",
        "",
        *([f"Keisei-Agent: {agent}"] if agent else []),
        f"Keisei-Task: {landing.task_id}",
        f"Keisei-Attempt: {landing.attempt_id}",
        f"Keisei-Landing: {landing.landing_id}",
        "",
    ]
    return "\n".join(lines).encode("utf-8", "replace")
