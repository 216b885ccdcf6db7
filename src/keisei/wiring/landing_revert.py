"""Taking a landing back: by a commit of its own, checked like every other, on the branch as it is now."""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from keisei.engine.gather import task_file
from keisei.engine.land import known, move, respawned
from keisei.records.beside import Beside
from keisei.records.error import OperatorError, Refused
from keisei.records.id import LandingId, TaskId
from keisei.records.landing import LandingRecord, LandingStatus
from keisei.records.move import NewEntry
from keisei.records.verification import Planned
from keisei.records.worktree import RepositoryFacts
from keisei.wiring.landing import FOREVER_S, forget, hold_of, locked, obstacle
from keisei.wiring.landing_proof import Desk, facts_of, inquest_of
from keisei.wiring.proving import Proving, shell
from keisei.wiring.shop import Shop
from keisei.wiring.verification import MERGE, commands_of, proving_folder
from keisei.workspace.land import advance, commit, keep
from keisei.workspace.merge import is_ancestor, tree_of, unmerge
from keisei.workspace.ref import find_ref

INSTEAD: Final[Mapping[LandingStatus, str]] = {
    "held": "`keisei land reject` keeps it from landing",
    "queued": "`keisei land reject` keeps it from landing",
    "landing": "try again when it has landed",
    "rejected": "nothing of it is on its branch",
    "reverted": "`keisei land show` names the commit that took it back",
}
"""What can be said to a landing that has not landed."""
LIMIT_S: Final = Planned(capability=MERGE, kind="command").timeout_s
"""How long a check may take where its task does not say: as long as when it landed."""


def revert(
    shop: Shop, landing_id: LandingId, reason: str, actor: str, patience_s: float | None = None
) -> LandingRecord:
    """Take a landing back by a commit of its own, checked like every other. Raises Refused where that cannot be.

    Whoever lands just now is waited for: as long as it takes, or so many seconds.
    """
    check_landed(known(shop.store, landing_id))
    desk = Desk(shop, hold_of(landing_id, lambda: FOREVER_S), actor, lambda _line: None)
    ends = None if patience_s is None else time.monotonic() + patience_s
    with locked(shop, lambda: ends is None or time.monotonic() < ends) as mine:
        if not mine:
            raise Refused("somebody lands just now", "take it back when that is done; /landings shows what lands")
        landing = known(shop.store, landing_id)
        check_landed(landing)
        facts = facts_of(shop, landing.branch)
        if facts.branch != landing.branch:
            hint = f"`git branch {landing.branch} COMMIT` makes it again"
            raise Refused(f"there is no branch `{landing.branch}` any more", hint)
        made = _reverting(desk, landing, facts, reason)
        after = move(desk.office, landing, "reverted", revert_commit=made, reason=_reason(reason), decided_by=actor)
        forget(shop, landing)
        if after is None:
            raise Refused(f"landing {landing_id} moved under the order", "look at it again with `keisei land show`")
        return after


def check_landed(landing: LandingRecord) -> None:
    """Raise Refused, with what can be done instead, unless it has landed."""
    if landing.status != "landed" or landing.after_commit is None or landing.before_commit is None:
        message = f"landing {landing.landing_id} is {landing.status}: only what has landed is taken back"
        raise Refused(message, INSTEAD.get(landing.status))


def _reverting(desk: Desk, landing: LandingRecord, facts: RepositoryFacts, reason: str) -> str:
    """The commit that takes it back, on the branch when this returns."""
    kept = find_ref(facts.common_dir, "landing", landing.landing_id)
    if (
        kept is not None
        and kept.commit != landing.after_commit
        and is_ancestor(facts.common_dir, kept.commit, facts.head)
    ):
        return kept.commit  # a revert that died before its row
    with proving_folder(desk.shop.home.run, f"revert-{landing.landing_id}") as folder:
        undone = unmerge(facts.common_dir, folder, facts.head, landing.before_commit or "", landing.after_commit or "")
        if undone.tree is None:
            told = ", ".join(undone.conflicts[:10]) or "a way git does not tell"
            hint = "take that work back first, or mend it by hand with `git revert`"
            raise Refused(f"it cannot be taken back: later work conflicts in {told}", hint)
        if not undone.changes:
            raise Refused(f"nothing of it is left on {landing.branch}", "there is nothing to take back")
        subject = f"Revert landing {landing.landing_id}\n\n{_reason(reason)}\n\nKeisei-Landing: {landing.landing_id}\n"
        made = commit(
            facts.common_dir, undone.tree, facts.head, subject.encode("utf-8", "replace"), desk.shop.store.now()
        )
        _check_revert(desk, landing, facts, made, undone.tree, folder)
        keep(facts.common_dir, landing.landing_id, made)
        done = advance(facts.common_dir, landing.branch, made, facts.head)
    if done.kind != "moved":
        forget(desk.shop, landing)
        raise Refused(f"it was not taken back: {obstacle(done, landing.branch)}", "put that right and try again")
    return made


def _check_revert(  # noqa: PLR0913, PLR0917 - what is checked, and where
    desk: Desk, landing: LandingRecord, facts: RepositoryFacts, made: str, tree: str, folder: Path
) -> None:
    """Raise Refused where the project's check or tests are red without the landing and green with it."""
    inquest = inquest_of(desk, landing)
    spec = task_file(inquest.task_type, inquest.claimed.task)
    if spec is None or desk.shop.yard is None:
        return
    proving = Proving(desk.shop, desk.shop.yard, facts, f"revert-{landing.landing_id}", folder / "proving", desk.hold)
    for kind in ("check", "test"):
        for command in commands_of(kind, spec.verification, desk.shop.home.file.commands):
            limit_s = spec.verification.timeout_s or LIMIT_S
            without = proving.run(shell(command, limit_s), made, tree, facts.head)
            if without.code == 0:
                continue
            with_it = proving.run(
                shell(command, limit_s), facts.head, tree_of(facts.common_dir, facts.head), facts.head
            )
            if with_it.code == 0:
                hint = "later work needs it: take that back first, or mend it by hand with `git revert`"
                raise Refused(f"without it `{command}` is red on {landing.branch}", hint)


def respawn(shop: Shop, landing_id: LandingId, actor: str) -> TaskId:
    """Queue the task of a rejected landing once more, as a new one that reads what was found. Its id."""
    landing = known(shop.store, landing_id)
    if landing.status != "rejected":
        raise Refused(f"landing {landing_id} is {landing.status}: only what is rejected is tried again")
    task = respawned(shop.store, landing, TaskId(shop.new_id()))
    if task is None:
        raise OperatorError(f"the task of landing {landing_id} is gone", "queue it anew")
    told = {"task_id": landing.task_id, "heir": task.task.task_id}
    entry = NewEntry(kind="landing_respawned", actor=actor, subject=landing_id, body=told)
    queued = shop.store.requeue(task, Beside(ledger=(entry,)))
    shop.store.ring()
    return queued.task_id


def _reason(text: str) -> str:
    return " ".join(text.split())[:200] or "an operator took it back"
