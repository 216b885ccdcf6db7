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
from typing import Final, NamedTuple

from msgspec.structs import replace

from keisei.engine.gather import task_file
from keisei.engine.land import Office, known, move, respawned, respawns
from keisei.records.error import KeiseiError, OperatorError, WorldFault
from keisei.records.finding import FindingRecord
from keisei.records.id import LandingId, TaskId
from keisei.records.landing import LandingRecord
from keisei.records.move import Claimed, LandingQuery
from keisei.records.project import ProjectApprovals, ProjectLanding
from keisei.records.verification import RunFrom
from keisei.records.worktree import RepositoryFacts
from keisei.rules.landing import Grounds, Ruling, decide
from keisei.wiring.examination import Inquest, examine, plan_of, put_aside, waits
from keisei.wiring.execute import Hold
from keisei.wiring.returned import returned_of
from keisei.wiring.runner import Line
from keisei.wiring.shop import Shop
from keisei.wiring.store import make_folder
from keisei.wiring.switch import Switch
from keisei.wiring.verification import MERGE
from keisei.workspace.branch import tip_of as branch_tip
from keisei.workspace.land import Advanced, advance, commit, create_branch, drop, keep
from keisei.workspace.merge import is_ancestor, tree_of

LOCK: Final = "landing.lock"
LOOK_S: Final = 0.1
TRIES: Final = 20
"""How often a candidate is merged anew because main has moved meanwhile."""
SUBJECT: Final = 72
FOREVER_S: Final = 86_400.0

Tell = Callable[[Line], None]


class Desk(NamedTuple):
    """Who lands, and by what it is held."""

    shop: Shop
    hold: Hold
    actor: str
    tell: Tell

    @property
    def office(self) -> Office:
        """With what rows are moved."""
        policy = self.shop.home.file.approvals or ProjectApprovals()
        return Office(store=self.shop.store, policy=policy, new_id=self.shop.new_id, actor=self.actor)

    @property
    def policy(self) -> ProjectLanding:
        """What the project says of landings."""
        return self.shop.home.file.landing or ProjectLanding()


class Proof(NamedTuple):
    """Everything the decision about a tree is made from."""

    facts: RepositoryFacts
    grounds: Grounds
    fresh: tuple[FindingRecord, ...]
    """Findings that are not in the store yet."""


def hold_of(name: str, left_s: Callable[[], float], switch: Switch | None = None) -> Hold:
    """By what the programs of a landing are held."""
    return Hold(switch or Switch(), left_s, hashlib.sha256(f"keisei landing {name}".encode()).hexdigest()[:32])


# --- the queue --------------------------------------------------------------------------------------------------------


def land_queued(desk: Desk, only: tuple[TaskId, ...] | None = None) -> int:
    """Land what is queued, oldest first, until nothing is or somebody pulls the switch. How many were dealt with.

    Nothing happens where another process lands. A landing that the machine or the repository fails is held, and says
    why; the others go on.
    """
    done = 0
    with locked(desk.shop) as mine:
        while mine and not desk.hold.switch.pulled.is_set():
            landing = _next(desk, only)
            if landing is None:
                break
            land_one(desk, landing)
            done += 1
    return done


def _open(shop: Shop) -> list[LandingRecord]:
    return shop.store.landings(LandingQuery(statuses=("landing", "queued"), oldest=True, limit=500))


def _next(desk: Desk, only: tuple[TaskId, ...] | None) -> LandingRecord | None:
    """What was begun comes first: it may be done already."""
    found = [each for each in _open(desk.shop) if only is None or each.task_id in only]
    return next(iter(sorted(found, key=lambda each: each.status != "landing")), None)


@contextmanager
def locked(shop: Shop, patience: Callable[[], bool] = lambda: False) -> Iterator[bool]:
    """The project's landings are ours; False where another process has them and there is no patience for it."""
    make_folder(shop.home.folder)
    handle = os.open(shop.home.folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
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
        if mine and landing.status in ("queued", "landing"):
            land_one(desk, landing)
    return known(shop.store, landing_id)


# --- one landing ------------------------------------------------------------------------------------------------------


def land_one(desk: Desk, landing: LandingRecord) -> None:
    """Carry one landing to where it is over or held. Whoever calls has the lock. Raises nothing but what ends a run."""
    try:
        _carried(desk, landing)
    except WorldFault as fault:
        if desk.hold.switch.pulled.is_set():
            return  # it stays as it is: whoever takes the lock next goes on
        _held(desk, landing.landing_id, f"it could not be landed: {fault.message}")
    except KeiseiError as error:
        _held(desk, landing.landing_id, f"it could not be landed: {error.message}")


def _carried(desk: Desk, landing: LandingRecord) -> None:
    if landing.status == "landing" and _is_there(desk, landing):
        _landed(desk, landing)
        return
    begun = landing if landing.status == "landing" else move(desk.office, landing, "landing")
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
    tip = tip_of(desk, landing.branch)
    common = facts_of(desk.shop).common_dir
    return tip is not None and landing.after_commit is not None and is_ancestor(common, landing.after_commit, tip)


def tip_of(desk: Desk, branch: str) -> str | None:
    """The commit a branch stands on; None where there is none."""
    facts = facts_of(desk.shop)
    return facts.head if facts.branch == branch else branch_tip(facts.common_dir, branch)


def _advanced(desk: Desk, landing: LandingRecord, proof: Proof) -> LandingRecord | None:
    """Move the branch. The landing as it is, where main has moved meanwhile; None where it is over."""
    facts, tree = proof.facts, proof.grounds.tree or ""
    if tree == tree_of(facts.common_dir, facts.head):
        move(desk.office, landing, "rejected", reason=f"{landing.branch} has all of it already", after_commit=None)
        return None
    made = commit(facts.common_dir, tree, facts.head, message_of(desk, landing), desk.shop.store.now())
    keep(facts.common_dir, landing.landing_id, made)
    known_now = replace(landing, tree=tree, before_commit=facts.head, after_commit=made, reason=None)
    begun = move(desk.office, known_now, "landing", findings=proof.fresh)
    if begun is None:
        return None
    done = _moved(begun, facts, made)
    if done.kind == "moved":
        _landed(desk, begun)
        return None
    if done.kind == "refused" or landing.branch != facts.branch:
        _held(desk, landing.landing_id, obstacle(done, landing.branch))
        return None
    return begun


def obstacle(done: Advanced, branch: str) -> str:
    """Why a branch was not moved, with the files that are in the way."""
    told = done.reason or f"`{branch}` stands elsewhere"
    return f"{told}: {', '.join(done.files)}" if done.files else told


def _moved(landing: LandingRecord, facts: RepositoryFacts, made: str) -> Advanced:
    if landing.branch == facts.branch:
        return advance(facts.common_dir, landing.branch, made, facts.head)
    return create_branch(facts.common_dir, landing.branch, made)


def _landed(desk: Desk, landing: LandingRecord) -> None:
    after = move(desk.office, landing, "landed", reason=None)
    forget(desk.shop, landing)
    if after is not None:
        span = f"{(after.before_commit or '')[:12]} -> {(after.after_commit or '')[:12]}"
        desk.tell(Line("landed", after.task_id, after.attempt_id, f"on {after.branch}: {span}"))


def _held(desk: Desk, landing_id: LandingId, reason: str) -> None:
    landing = known(desk.shop.store, landing_id)
    if landing.status in ("queued", "landing"):
        line = " ".join(reason.split())[:200]
        move(desk.office, landing, "held", reason=line, approved=False, after_commit=None)
        forget(desk.shop, landing)
        desk.tell(Line("held", landing.task_id, landing.attempt_id, line))


def forget(shop: Shop, landing: LandingRecord) -> None:
    """The commit that was to be needs no reference any more: the branch holds it, or nobody wants it. Never raises."""
    with suppress(KeiseiError):
        drop(facts_of(shop).common_dir, landing.landing_id)


def _ruled(desk: Desk, landing: LandingRecord, proof: Proof, ruling: Ruling) -> None:
    known_now = replace(landing, reason=ruling.reason, after_commit=None)
    if ruling.decision in ("hold", "merge"):
        move(desk.office, known_now, "held", findings=proof.fresh, approved=False)
        desk.tell(Line("held", landing.task_id, landing.attempt_id, ruling.reason))
        return
    task = respawned(desk.shop.store, landing, TaskId(desk.shop.new_id())) if ruling.decision == "respawn" else None
    move(desk.office, known_now, "rejected", findings=proof.fresh, tasks=() if task is None else (task,))
    put_aside(inquest_of(desk, landing))
    desk.shop.store.ring()
    desk.tell(Line("rejected", landing.task_id, landing.attempt_id, ruling.reason))


# --- the verdict on the tip -------------------------------------------------------------------------------------------


def prove(desk: Desk, landing: LandingRecord) -> Proof:
    """What verification says of the candidate on main as it is now. Raises KeiseiError.

    What was said before of the very tree that would land still holds; anything else is asked anew.
    """
    inquest, facts = inquest_of(desk, landing), facts_of(desk.shop)
    returned = returned_of(desk.shop, inquest.keys)
    if returned is None or returned.staged is None:
        raise OperatorError(f"the evidence of attempt {landing.attempt_id} is not on this machine")
    before = tuple(desk.shop.store.findings(landing.attempt_id))
    asked = _asked(inquest)
    base = Grounds(
        tree=landing.tree,
        asked=asked,
        findings=before,
        auto=desk.policy.auto,
        approved=landing.approved,
        waits=waits(facts, returned.staged.base, (), inquest.registry.escalation(_role(inquest))),
        again=respawns(desk.shop.store, landing.task_id) < desk.policy.respawn,
    )
    if landing.before_commit == facts.head and landing.tree is not None and _is_answered(base):
        return Proof(facts, base, ())
    examined = examine(inquest)
    if examined.verified is None or examined.facts is None:
        raise OperatorError(f"the candidate of attempt {landing.attempt_id} cannot be verified any more")
    old = tuple(each for each in before if each.run_from == "worktree" and each.tree is None)
    verified = examined.verified
    grounds = replace(
        base,
        tree=verified.tree,
        conflicts=verified.conflicts,
        asked=verified.asked,
        findings=(*old, *examined.findings),
    )
    return Proof(examined.facts, grounds, examined.findings)


def _asked(inquest: Inquest) -> tuple[tuple[str, RunFrom], ...]:
    spec = task_file(inquest.task_type, inquest.claimed.task)
    if spec is None:
        raise OperatorError(f"task {inquest.claimed.task.task_id} is no task file: nothing says what holds for it")
    merged: tuple[str, RunFrom] = (MERGE, "merged")
    planned = plan_of(inquest, spec).verifies
    return (merged, *((each.capability, place) for each in planned for place in each.run_from))


def _is_answered(grounds: Grounds) -> bool:
    said = {
        (each.capability, each.run_from)
        for each in grounds.findings
        if each.run_from == "worktree" or each.tree == grounds.tree
    }
    return said.issuperset(grounds.asked)


def _role(inquest: Inquest) -> str:
    spec = task_file(inquest.task_type, inquest.claimed.task)
    return spec.task.role if spec is not None else ""


def inquest_of(desk: Desk, landing: LandingRecord) -> Inquest:
    """The attempt that made the candidate, to be examined. Raises OperatorError."""
    shop = desk.shop
    task, attempt = shop.store.task(landing.task_id), shop.store.attempt(landing.attempt_id)
    if task is None or attempt is None:
        raise OperatorError(f"the task of landing {landing.landing_id} is gone", "somebody has emptied the store")
    registry = shop.registry()
    claimed = Claimed(task=task, attempt=attempt, returned=True)
    return Inquest(shop, registry, registry.task_type(task.task_type), claimed, desk.hold)


def facts_of(shop: Shop) -> RepositoryFacts:
    """The repository as it is now. Raises OperatorError."""
    if shop.yard is None:
        raise OperatorError("nothing lands here: this runtime has no repository")
    return shop.yard.facts(looks=False)


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
