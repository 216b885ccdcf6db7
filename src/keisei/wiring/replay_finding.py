"""The findings of an attempt once more: every predicate that was asked of its candidate, asked again."""

import secrets
from collections.abc import Iterable, Iterator
from typing import Final

from msgspec import Struct

from keisei.records.error import KeiseiError, OperatorError
from keisei.records.finding import FindingRecord
from keisei.records.landing import LandingRecord
from keisei.records.move import Claimed, LandingQuery
from keisei.records.worktree import Staged
from keisei.rules.evidence import keys_of
from keisei.wiring.examination import OWN, Inquest, examine
from keisei.wiring.execute import Hold
from keisei.wiring.replay_bundle import Case
from keisei.wiring.returned import returned_of
from keisei.wiring.switch import Switch
from keisei.wiring.verification import MERGE, proving_folder
from keisei.workspace.git import shared
from keisei.workspace.merge import merge, tree_of

FOREVER_S: Final = 86_400.0
ENGINE: Final = "engine::"
MOST_TIPS: Final = 50
"""Commits of main that are tried to find the one a candidate was merged with."""


class Rejudged(Struct, frozen=True, kw_only=True):
    """One predicate, asked again."""

    capability: str
    """Which."""
    run_from: str
    """Where."""
    was: str | None
    """Its answer then; null where it was not asked."""
    now: str | None
    """Its answer today; null where nobody asks any more."""
    reason: str | None
    """Why, today."""


def asked_then(case: Case) -> bool:
    """Whether the engine asked the verifies of the role: it does where an attempt claims to be completed."""
    return any(not each.capability.startswith(ENGINE) for each in case.shop.store.findings(case.attempt.attempt_id))


def asked_again(case: Case) -> tuple[Rejudged, ...]:
    """Every verify of the role on the candidate as it was merged then. Raises KeiseiError."""
    shop, attempt, registry = case.shop, case.attempt, case.registry
    task = shop.store.task(attempt.task_id)
    if task is None:
        raise OperatorError("the task is gone")
    then = shop.store.findings(attempt.attempt_id)
    landings = shop.store.landings(LandingQuery(task_id=task.task_id))
    landing = next((each for each in landings if each.attempt_id == attempt.attempt_id), None)
    branch = None if landing is None or landing.branch.startswith(OWN) else landing.branch
    inquest = Inquest(
        shop,
        registry,
        registry.task_type(task.task_type),
        Claimed(task=task, attempt=attempt, returned=True),
        Hold(Switch(), lambda: FOREVER_S, secrets.token_hex(16)),
        branch=branch,
        tip=_tip(case, landing, branch, then),
    )
    return tuple(compared(then, examine(inquest).findings))


def _tip(case: Case, landing: LandingRecord | None, branch: str | None, then: Iterable[FindingRecord]) -> str | None:
    """The commit of main that the candidate was merged with: the one with which it makes the tree that was judged."""
    base = case.bundle.workspace.commit if case.bundle.workspace is not None else None
    returned = returned_of(case.shop, keys_of(case.attempt.attempt_id, case.attempt.started_at))
    staged = returned.staged if returned is not None else None
    if staged is None or case.shop.yard is None:
        return base
    facts = case.shop.yard.facts(looks=False, main=branch)
    common = facts.common_dir
    for commit in (staged.commit, staged.base):
        _check_there(common, commit)
    trees = {each.tree for each in then if each.capability == MERGE}
    known = (landing.before_commit if landing is not None else None, base)
    with proving_folder(case.shop.home.run, f"{case.attempt.attempt_id}-replay") as folder:
        for tip in dict.fromkeys((*filter(None, known), *_since(common, staged, facts.head))):
            if not trees or merge(common, folder, tip, staged.commit, staged.base).tree in trees:
                return tip
    raise OperatorError("main does not hold the commit any more with which the candidate was merged")


def _check_there(common: str, commit: str) -> None:
    try:
        tree_of(common, commit)
    except KeiseiError as error:
        raise OperatorError(f"the commit {commit[:12]} of its candidate is not in the repository any more") from error


def _since(common: str, staged: Staged, head: str) -> Iterator[str]:
    """Where main has stood since the candidate was begun, oldest first."""
    words = ("rev-list", "--first-parent", "--reverse", f"{staged.base}..{head}")
    yield from shared(common, *words).decode("ascii").split()[:MOST_TIPS]


def compared(then: Iterable[FindingRecord], now: Iterable[FindingRecord]) -> Iterator[Rejudged]:
    """What was said of the last tree, and what is said today. What the engine itself asked is not asked again."""
    new = {(each.capability, each.run_from): each for each in now if not each.capability.startswith(ENGINE)}
    old = {(each.capability, each.run_from): each for each in then if not each.capability.startswith(ENGINE)}
    for capability, run_from in dict.fromkeys((*old, *new)):
        before, after = old.get((capability, run_from)), new.get((capability, run_from))
        yield Rejudged(
            capability=capability,
            run_from=run_from,
            was=None if before is None else before.status,
            now=None if after is None else after.status,
            reason=None if after is None else after.reason,
        )
