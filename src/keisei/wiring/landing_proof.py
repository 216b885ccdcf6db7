"""The verdict on the tip: what is said of a candidate on its branch as it is now: the grounds of the decision."""

from collections.abc import Callable
from typing import Final, NamedTuple

import msgspec
from msgspec.structs import replace

from keisei.engine.gather import task_file
from keisei.engine.land import Office, respawns
from keisei.records.error import OperatorError
from keisei.records.finding import FindingRecord
from keisei.records.landing import LandingRecord
from keisei.records.move import Claimed
from keisei.records.project import ProjectApprovals, ProjectLanding
from keisei.records.role import EscalationPolicy
from keisei.records.task_spec import TaskSpec
from keisei.records.verification import RunFrom
from keisei.records.worktree import RepositoryFacts
from keisei.rules.landing import FINE, Grounds, spoken
from keisei.rules.policy import Policy
from keisei.wiring.examination import OWN, Examined, Inquest, examine, plan_digest, plan_of, waits
from keisei.wiring.execute import Hold
from keisei.wiring.returned import returned_of
from keisei.wiring.runner import Line
from keisei.wiring.shop import Shop
from keisei.wiring.verification import MERGE
from keisei.workspace.merge import is_ancestor

ANSWERS: Final = ("held", "violated", "not-applicable")
"""What a predicate says that could be asked."""

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
    plan: str
    """What was asked, as a digest."""


def prove(desk: Desk, landing: LandingRecord) -> Proof:
    """What verification says of the candidate on main as it is now. Raises KeiseiError.

    What was said before of the very tree that would land still holds; anything else is asked anew.
    """
    inquest = inquest_of(desk, landing)
    facts, spec = facts_of(desk.shop, inquest.branch), spec_of(inquest)
    returned = returned_of(desk.shop, inquest.keys)
    if returned is None or returned.staged is None:
        raise OperatorError(f"the evidence of attempt {landing.attempt_id} is not on this machine")
    if returned.staged.commit != landing.candidate_commit:
        raise OperatorError(f"the evidence of attempt {landing.attempt_id} tells of another candidate")
    before = tuple(desk.shop.store.findings(landing.attempt_id))
    policy = plan_of(inquest, spec)
    plan = plan_digest(inquest, spec, policy)
    escalation = inquest.registry.escalation(spec.task.role)
    tries = respawns(desk.shop.store, landing.task_id)
    base = Grounds(
        tree=landing.tree,
        asked=_asked(policy),
        findings=before,
        auto=desk.policy.auto,
        accepted=_seen(before, landing),
        again=escalation != "fail-fast" and tries < desk.policy.respawn,
    )
    if (landing.before_commit, landing.plan) == (facts.head, plan) and landing.tree is not None and _is_answered(base):
        return Proof(facts, _asking(base, escalation, landing, facts, returned.staged.base), (), plan)
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
    _keep(inquest, landing, examined)
    asking = _asking(grounds, escalation, landing, examined.facts, returned.staged.base)
    return Proof(examined.facts, asking, examined.findings, plan)


def _keep(inquest: Inquest, landing: LandingRecord, examined: Examined) -> None:
    """What was said on the tip, as evidence: the findings, and every command with its output."""
    runs = examined.verified.runs if examined.verified is not None else ()
    data = msgspec.json.format(msgspec.json.encode({"findings": examined.findings, "runs": runs}))
    number = len(inquest.shop.evidence.keys(inquest.keys.of(_prefix(landing))))
    inquest.shop.evidence.put(inquest.keys.of(f"{_prefix(landing)}{number + 1}.json"), data)


def _prefix(landing: LandingRecord) -> str:
    return f"landing-{landing.landing_id}-"


def evidence_of(desk: Desk, landing: LandingRecord) -> dict[str, str]:
    """What was kept of this landing, each file with its digest."""
    keys, evidence = inquest_of(desk, landing).keys, desk.shop.evidence
    stored = [evidence.stored(key) for key in evidence.keys(keys.of(_prefix(landing)))]
    return {each.key.removeprefix(keys.folder): each.sha256 for each in stored if each is not None}


def _seen(findings: tuple[FindingRecord, ...], landing: LandingRecord) -> tuple[tuple[str, RunFrom], ...]:
    """Predicates whose doubt the person who approved it could see."""
    told = [each for each in findings if each.tree in (None, landing.approved_tree) or each.run_from == "worktree"]
    return tuple((each.capability, each.run_from) for each in told if each.status not in FINE)


def _asking(
    grounds: Grounds, escalation: EscalationPolicy, landing: LandingRecord, facts: RepositoryFacts, base: str
) -> Grounds:
    """The same, with whether a person has to look, and has: nobody has approved of a main that was rewritten since."""
    told = waits(facts, base, (), escalation)
    seen = landing.before_commit
    is_stale = told is not None and (seen is None or not is_ancestor(facts.common_dir, seen, facts.head))
    return replace(grounds, waits=told, approved=landing.approved and not is_stale)


def spec_of(inquest: Inquest) -> TaskSpec:
    """The task file of what is to land. Raises OperatorError where there is none."""
    spec = task_file(inquest.task_type, inquest.claimed.task)
    if spec is None:
        raise OperatorError(f"task {inquest.claimed.task.task_id} is no task file: nothing says what holds for it")
    return spec


def _asked(policy: Policy) -> tuple[tuple[str, RunFrom], ...]:
    merged: tuple[str, RunFrom] = (MERGE, "merged")
    return (merged, *((each.capability, place) for each in policy.verifies for place in each.run_from))


def _is_answered(grounds: Grounds) -> bool:
    """Whether every predicate has said something about the tree; that it could not be asked is no answer."""
    said = {(each.capability, each.run_from) for each in spoken(grounds) if each.status in ANSWERS}
    return said.issuperset(grounds.asked)


def inquest_of(desk: Desk, landing: LandingRecord) -> Inquest:
    """The attempt that made the candidate, to be examined. Raises OperatorError."""
    shop = desk.shop
    task, attempt = shop.store.task(landing.task_id), shop.store.attempt(landing.attempt_id)
    if task is None or attempt is None:
        raise OperatorError(f"the task of landing {landing.landing_id} is gone", "somebody has emptied the store")
    registry = shop.registry()
    claimed = Claimed(task=task, attempt=attempt, returned=True)
    branch = None if landing.branch.startswith(OWN) else landing.branch
    return Inquest(shop, registry, registry.task_type(task.task_type), claimed, desk.hold, branch=branch)


def facts_of(shop: Shop, branch: str | None = None) -> RepositoryFacts:
    """The repository as it is now, and where a branch of it stands; by default the project's main. OperatorError."""
    if shop.yard is None:
        raise OperatorError("nothing lands here: this runtime has no repository")
    return shop.yard.facts(looks=False, main=branch)
