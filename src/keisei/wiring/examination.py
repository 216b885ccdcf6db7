"""Examination: the candidate of an attempt is verified from its evidence, and proposed for landing or put aside."""

import hashlib
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from keisei.engine.gather import task_file
from keisei.engine.land import Proposal
from keisei.engine.settle import sentence
from keisei.engine.verify import finding_of
from keisei.records.error import KeiseiError
from keisei.records.finding import FindingRecord
from keisei.records.move import Claimed
from keisei.records.project import ProjectLanding
from keisei.records.role import EscalationPolicy
from keisei.records.task_spec import TaskSpec
from keisei.records.task_type import TaskTypeSpec
from keisei.records.verification import Difference, Planned, Reply, Said
from keisei.records.worktree import RepositoryFacts, Worktree
from keisei.rules.canonical import digest
from keisei.rules.claim import Claim
from keisei.rules.evidence import Keys, keys_of
from keisei.rules.landing import Grounds, Ruling, decide
from keisei.rules.policy import Policy
from keisei.rules.predicate.table import REPORT
from keisei.rules.redact import Redactor
from keisei.rules.report import spoken
from keisei.wiring.execute import Hold
from keisei.wiring.forks import RepositoryForks
from keisei.wiring.order import REPORT as REPORT_FILE
from keisei.wiring.policy import Setting, spec_policy
from keisei.wiring.registry import CatalogRegistry
from keisei.wiring.returned import Returned, decoded, returned_of
from keisei.wiring.shop import Result, Shop
from keisei.wiring.verification import VERIFY, Stage, Subject, Verified, commands_of, verify_candidate
from keisei.workspace.merge import is_ancestor
from keisei.workspace.ref import ATTEMPT, find_ref, name_of, set_ref

OWN: Final = "keisei/"
"""How a branch begins that is made for one candidate."""
NO_WORKTREE: Final = "not asked: the attempt worked without a worktree, so there is no candidate"
LARGEST: Final = 1_048_576


class Inquest(NamedTuple):
    """An attempt whose harness has returned, to be examined."""

    shop: Shop
    registry: CatalogRegistry
    task_type: TaskTypeSpec
    claimed: Claimed
    hold: Hold
    worktree: Worktree | None = None
    branch: str | None = None
    """The branch it is to land on; None for the project's main."""
    tip: str | None = None
    """The commit it is merged with; None for that branch as it is now."""

    @property
    def keys(self) -> Keys:
        """Where its evidence is."""
        return keys_of(self.claimed.attempt.attempt_id, self.claimed.attempt.started_at)


class Examined(NamedTuple):
    """What an examination came to."""

    findings: tuple[FindingRecord, ...] = ()
    verified: Verified | None = None
    """None where there is no candidate."""
    returned: Returned | None = None
    facts: RepositoryFacts | None = None
    plan: str = ""
    """What was asked, as a digest."""
    elevated: tuple[str, ...] = ()
    ledger_row: str | None = None
    """What the agent says for the ledger, as a row quotes it."""


def examine(inquest: Inquest) -> Examined:
    """Ask every verify of the task's role, on main as it is now. Raises KeiseiError; nothing then counts.

    A task that is no task file has no role's rules to hold.
    """
    shop, claimed = inquest.shop, inquest.claimed
    spec = task_file(inquest.task_type, claimed.task)
    if spec is None:
        return Examined()
    returned, policy = returned_of(shop, inquest.keys), plan_of(inquest, spec)
    said = said_of(shop, inquest.keys)
    report = spoken(said)
    row = sentence(report.value("ledger-row"), Redactor()) if report is not None else None
    if shop.yard is None or returned is None or returned.staged is None:
        findings = tuple(_unasked(inquest, planned, said) for planned in policy.verifies)
        return Examined(findings, returned=returned, elevated=policy.elevated, ledger_row=row)
    shop.yard.level(inquest.registry.material.resolved_role(spec.task.role).isolation)
    facts = shop.yard.facts(looks=False, main=inquest.branch)
    facts = facts if inquest.tip is None else msgspec.structs.replace(facts, head=inquest.tip)
    subject = Subject(
        attempt_id=claimed.attempt.attempt_id,
        staged=returned.staged,
        policy=policy,
        spec=spec,
        said=said,
        forks=RepositoryForks(shop, facts, shop.home.run / f"{VERIFY}{claimed.attempt.attempt_id}" / "forks"),
        tampered=returned.tampered,
        worktree=inquest.worktree,
    )
    verified = verify_candidate(Stage(shop, shop.yard, facts, inquest.hold), subject)
    plan = plan_digest(inquest, spec, policy)
    return Examined(tuple(verified.findings), verified, returned, facts, plan, policy.elevated, row)


class Examination:
    """One attempt's, done when it is made. Raises KeiseiError as `examine` does."""

    def __init__(self, inquest: Inquest) -> None:
        """Examine it."""
        self._inquest = inquest
        self.examined = examine(inquest)

    def proposed(self, findings: list[FindingRecord], claim: Claim, escalation: EscalationPolicy) -> Proposal | None:
        """What is to land, where every finding has been heard and nothing rejects it."""
        return propose(self._inquest, self.examined, findings, claim, escalation)

    def put_aside(self) -> None:
        """Keep what was rejected."""
        put_aside(self._inquest)


def plan_of(inquest: Inquest, spec: TaskSpec) -> Policy:
    """The policy of a task, with its verifies. Raises AuthorError, OperatorError."""
    root = inquest.shop.home.root or Path.cwd()
    return spec_policy(inquest.registry.catalog, spec, Setting(root, root, None))


def plan_digest(inquest: Inquest, spec: TaskSpec, policy: Policy) -> str:
    """What is asked: every predicate with its parameters, the commands they run, and the text of their scripts."""
    project = inquest.shop.home.file
    commands = [commands_of(kind, spec.verification, project.commands) for kind in ("check", "test")]
    scripts = [_text(each.script) for each in policy.verifies if each.script is not None]
    asked = msgspec.to_builtins((policy.verifies, policy.elevated, commands, scripts, project.verification))
    return digest({"asked": asked})


def _text(script: str) -> str:
    with suppress(OSError):
        return hashlib.sha256(Path(script).read_bytes()).hexdigest()
    return ""


def _unasked(inquest: Inquest, planned: Planned, said: Said) -> FindingRecord:
    """A verify where there is no candidate: what is about the report is asked all the same, the rest is told."""
    shop, attempt = inquest.shop, inquest.claimed.attempt
    now = shop.store.now()
    reply = Reply(status="skipped", told=(NO_WORKTREE,), severity="warn")
    rule = planned.rule or ""
    if planned.kind == "report" and rule in REPORT:
        reply = REPORT[rule](planned, said, Difference(candidate=()), _Nowhere())
    found = finding_of(planned.capability, reply, attempt.attempt_id, shop.new_id(), now, shop.store.now())
    severity = reply.severity or planned.severity
    return msgspec.structs.replace(found, severity=severity, run_from="worktree")


class _Nowhere:
    """Where there is no repository there are no forks."""

    def find(self, _target: str) -> None:
        return None

    def has_commit(self, _commit: str) -> bool:
        return False

    def conflicts(self, _commit: str) -> None:
        return None

    def has_row(self) -> bool:
        return True


def said_of(shop: Shop, keys: Keys) -> Said:
    """What the agent said at its end, and what it left as a file. Raises WorldFault."""
    raw = shop.evidence.get(keys.result)
    text = decoded(raw, keys.result, Result).report.text if raw is not None else None
    file = shop.evidence.get(keys.of(REPORT_FILE))
    return Said(text=text, file=None if file is None else file[:LARGEST].decode("utf-8", "replace"))


# --- what is to be done with it ---------------------------------------------------------------------------------------


def propose(
    inquest: Inquest,
    examined: Examined,
    findings: list[FindingRecord],
    claim: Claim,
    escalation: EscalationPolicy,
) -> Proposal | None:
    """What a completed task would land; None where there is nothing to land."""
    verified, returned, facts = examined.verified, examined.returned, examined.facts
    if verified is None or facts is None or returned is None or returned.staged is None or verified.tree is None:
        return None
    if not returned.staged.changes or facts.branch is None:
        return None
    landing = inquest.shop.home.file.landing or ProjectLanding()
    ruling = decide(
        Grounds(
            tree=verified.tree,
            asked=verified.asked,
            findings=tuple(findings),
            conflicts=verified.conflicts,
            auto=landing.auto,
            waits=waits(facts, returned.staged.base, claim.questions, escalation),
        )
    )
    if ruling.decision not in ("merge", "hold"):
        ruling = Ruling(decision="hold", reason=ruling.reason)
    return Proposal(
        branch=facts.branch if landing.to == "main" else _own_branch(inquest),
        commit=returned.staged.commit,
        tree=verified.tree,
        before=verified.tip,
        plan=examined.plan,
        ruling=ruling,
    )


def waits(facts: RepositoryFacts, base: str, questions: tuple[str, ...], escalation: EscalationPolicy) -> str | None:
    """Why a person looks at a candidate first, whatever the project says; None where nobody has to."""
    if not is_ancestor(facts.common_dir, base, facts.head):
        return f"{facts.branch} was rewritten: it does not hold {base[:12]}, from which the candidate was made"
    if questions:
        return f"the agent asks: {questions[0]}"
    if escalation == "orchestrator-notify":
        return "its role asks for a person's approval before anything lands"
    return None


def _own_branch(inquest: Inquest) -> str:
    own = inquest.claimed.task.payload.get("task")
    name = own.get("agent-id") if isinstance(own, dict) else None
    attempt_id = inquest.claimed.attempt.attempt_id
    good = isinstance(name, str) and ATTEMPT.fullmatch(name) is not None
    return f"{OWN}{name}-{attempt_id[-8:]}" if good else f"{OWN}{attempt_id}"


def put_aside(inquest: Inquest) -> None:
    """Keep what a rejected candidate holds under the salvage reference too, where people look for lost work."""
    returned = returned_of(inquest.shop, inquest.keys)
    if returned is None or returned.staged is None or not returned.staged.changes or inquest.shop.yard is None:
        return
    try:
        common, attempt_id = inquest.shop.yard.facts(looks=False).common_dir, inquest.claimed.attempt.attempt_id
        old = find_ref(common, "salvage", attempt_id)
        if old is None or old.commit != returned.staged.commit:
            set_ref(common, name_of("salvage", attempt_id), returned.staged.commit, old)
    except KeiseiError:
        return  # the candidate's own reference holds it
