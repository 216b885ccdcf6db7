"""Attempts: one claimed task carried from its bundle to its settlement. There is no second way to run an agent."""

from collections.abc import Callable, Iterator, Mapping
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from keisei.engine.budget import overspent
from keisei.engine.fork import Bypass, Spawn, begun
from keisei.engine.land import Proposal
from keisei.engine.settle import Chance, Ended, released, settlement
from keisei.engine.sweep import Books, conclude
from keisei.records.artifact import ArtifactRecord
from keisei.records.attempt import ExitStatus, TaskAttempt
from keisei.records.breaker import Breaker
from keisei.records.budget import BudgetPolicy
from keisei.records.bundle import BundleRecord
from keisei.records.error import ContractViolation, IllegalMove, KeiseiError, WorldFault
from keisei.records.finding import FindingRecord
from keisei.records.move import Claimed, NewEvent, Progress, Settled
from keisei.records.outcome import TaskOutcome
from keisei.records.profile import SubagentProfile
from keisei.records.report import HarnessError
from keisei.records.role import EscalationPolicy
from keisei.rules.refusal import Refusals

JUDGED_AGAIN_S = (1.0, 5.0)
"""How long is waited before a judgement that the machine failed is asked for again."""
REASON = 1_000
"""Characters of the reason why an attempt could not be settled."""


class Prepared(Struct, frozen=True, kw_only=True):
    """An attempt that is ready to run; everything it may see is stored."""

    attempt: TaskAttempt
    """With adapter, model, bundle and the paths of what is stored."""
    bundle: BundleRecord
    """What it may see."""
    spawn: Spawn
    """Who is spawned, for the ledger."""
    bypass: Bypass = Bypass()
    """What does not hold for it, for the ledger."""
    events: tuple[NewEvent, ...] = ()
    """What happened on the way, for example a fallback."""


class Ran(Struct, frozen=True, kw_only=True):
    """An attempt whose harness has returned; its evidence is stored."""

    attempt: TaskAttempt
    """With usage, session and the paths of what is stored."""
    interrupted: bool = False
    """It was ended from outside: an operator, a lease, a runner that stops. What it brought is not judged."""
    evidence: Mapping[str, str] = {}
    """sha256 of every evidence file, by name."""


class Judged(Struct, frozen=True, kw_only=True):
    """What the evidence says."""

    exit_status: ExitStatus
    """How the harness ended."""
    outcome: TaskOutcome
    """What the task becomes, tries aside."""
    error: HarnessError | None = None
    """What the harness said of itself."""
    retry_after_s: float | None = None
    """A wait the answer asked for."""
    findings: tuple[FindingRecord, ...] = ()
    """What verification said."""
    artifacts: tuple[ArtifactRecord, ...] = ()
    """Files that were asked for and are there."""
    evidence: Mapping[str, str] = {}
    """sha256 of every evidence file, by name."""
    profile: SubagentProfile | None = None
    """Which side effects are allowed."""
    escalation: EscalationPolicy = "ask-via-return"
    """What the role says."""
    questions: tuple[str, ...] = ()
    """What the agent wants to know of a person."""
    proposal: Proposal | None = None
    """The verified candidate; None where nothing would land."""
    elevated: tuple[str, ...] = ()
    """Rules that did not hold for this task."""
    elevated_because: str | None = None
    """Why, as its author says."""
    ledger_row: str | None = None
    """The sentence the agent has for the ledger, in its own words."""


class Workshop(Protocol):
    """What one attempt needs of the world. Every verb leaves its evidence before it returns."""

    def prepare(self, claimed: Claimed) -> Prepared:
        """Choose the adapter, compile the bundle, store both. Raises KeiseiError where the task cannot run."""

    def run(self, claimed: Claimed, prepared: Prepared) -> Ran:
        """Run the harness to its end. Raises KeiseiError where it cannot be started."""

    def judge(self, claimed: Claimed) -> Judged:
        """Read what the harness left and verify it. Needs nothing that dies with a runner."""

    def refused(self, claimed: Claimed) -> Refusals | None:
        """What the gate has refused the attempt, without secrets; None where nothing is known. Never raises."""

    def clear(self, claimed: Claimed) -> None:
        """Remove what the attempt needed while it ran. Never raises."""


class Stand(Struct, frozen=True, kw_only=True):
    """Where attempts are carried."""

    store: Books
    """The rows."""
    workshop: Workshop
    """The world."""
    chance: Callable[[], Chance]
    """Time and chance, asked when they are needed."""
    stopping: Callable[[], bool]
    """Whether this runner ends what it has."""
    held: Callable[[Claimed], str | None] = lambda _claimed: None
    """Why a task is not to run after all; None where it is."""
    budget: BudgetPolicy | None = None
    """What tasks may spend that name no budget."""
    wait: Callable[[float], object] = lambda _seconds: None
    """Waits, unless this runner ends what it has."""


def carry(stand: Stand, claimed: Claimed) -> Settled:
    """Carry a task from its claim to its settlement. Whatever happens on the way, the attempt ends settled or lost."""
    held = stand.held(claimed)
    if held is not None:
        return _held(stand, claimed, held)
    try:
        prepared = stand.workshop.prepare(claimed)
    except KeiseiError as error:
        return _refused(stand, claimed, error)
    except BaseException:
        stand.workshop.clear(claimed)
        raise
    if not stand.store.progress(_started(prepared)):
        stand.workshop.clear(claimed)
        return "lost"
    claimed = replace(claimed, attempt=prepared.attempt)
    try:
        ran = stand.workshop.run(claimed, prepared)
    except KeiseiError as error:
        return _refused(stand, claimed, error)
    except BaseException:
        stand.workshop.clear(claimed)
        raise
    claimed = replace(claimed, attempt=ran.attempt)
    if ran.interrupted:
        return _interrupted(stand, claimed)
    if not stand.store.progress(Progress(stage="returned", attempt=ran.attempt)):
        stand.workshop.clear(claimed)
        return "lost"
    return finish(stand, claimed)


def _held(stand: Stand, claimed: Claimed, reason: str) -> Settled:
    """The task waits for a person who is asked already."""
    outcome = TaskOutcome(status="blocked", machine_status="blocked", operator_summary=reason[:REASON])
    return _settled(stand, claimed, Ended(claimed=claimed, exit_status="error", outcome=outcome, asks=False))


def finish(stand: Stand, claimed: Claimed) -> Settled:
    """Judge and settle an attempt whose harness has returned: here, or in the runner that takes over."""
    try:
        judged = _judged(stand, claimed)
    except KeiseiError as error:
        passes = isinstance(error, WorldFault) and error.retryable
        if (stand.stopping() or passes) and not stand.store.is_canceled(claimed.task.task_id):
            return "lost"  # what the agent returned is kept, and whoever finds it next judges it
        return _refused(stand, claimed, error)
    ended = Ended(
        claimed=claimed,
        exit_status=judged.exit_status,
        outcome=judged.outcome,
        error=judged.error,
        retry_after_s=judged.retry_after_s,
        findings=judged.findings,
        artifacts=judged.artifacts,
        evidence=judged.evidence,
        profile=judged.profile,
        escalation=judged.escalation,
        breaker=_breaker(stand.store, claimed),
        questions=judged.questions,
        proposal=judged.proposal,
        elevated=judged.elevated,
        elevated_because=judged.elevated_because,
        ledger_row=judged.ledger_row,
        overspent=overspent(stand.store, claimed, stand.budget),
    )
    return _settled(stand, claimed, ended)


def _judged(stand: Stand, claimed: Claimed) -> Judged:
    """The judgement, asked for again where the machine or the store fails for a moment: no agent is run for that."""
    for wait_s in JUDGED_AGAIN_S:
        try:
            return stand.workshop.judge(claimed)
        except WorldFault as fault:
            if not fault.retryable or stand.stopping():
                raise
            stand.wait(wait_s)
    return stand.workshop.judge(claimed)


def _breaker(store: Books, claimed: Claimed) -> Breaker | None:
    adapter_id = claimed.attempt.adapter_id
    return next((each for each in store.breakers() if each.adapter_id == adapter_id), None)


def _started(prepared: Prepared) -> Progress:
    """The beginning of an attempt: with its bundle, its events, and the row of the agent that is spawned."""
    attempt, bundle = prepared.attempt, prepared.bundle
    rows = begun(prepared.spawn, attempt, bundle, prepared.bypass)
    return Progress(stage="started", attempt=attempt, bundle=bundle, events=_begun(prepared), ledger=rows)


def _begun(prepared: Prepared) -> tuple[NewEvent, ...]:
    bundle, attempt = prepared.bundle, prepared.attempt
    compiled = {
        "runner_id": attempt.runner_id,
        "bundle_id": bundle.bundle_id,
        "bundle_hash": bundle.bundle_hash,
        "replay_grade": bundle.replay_grade,
    }
    started = {"runner_id": attempt.runner_id, "adapter_id": attempt.adapter_id, "model": attempt.model}
    return (
        *prepared.events,
        NewEvent(event_type="bundle_compiled", task_id=attempt.task_id, attempt_id=attempt.attempt_id, detail=compiled),
        NewEvent(event_type="task_started", task_id=attempt.task_id, attempt_id=attempt.attempt_id, detail=started),
    )


def _refused(stand: Stand, claimed: Claimed, error: KeiseiError) -> Settled:
    """The attempt cannot go on. What could pass is tried again; what needs a person waits for one."""
    if stand.stopping():
        return _interrupted(stand, claimed)
    hint = f" Hint: {error.hint}" if error.hint else ""
    passing = isinstance(error, WorldFault) and error.retryable
    outcome = TaskOutcome(
        status="retryable_failure" if passing else "blocked",
        machine_status="needs_retry" if passing else "blocked",
        operator_summary=f"{error.message}.{hint}" if hint else error.message,
    )
    return _settled(stand, claimed, Ended(claimed=claimed, exit_status="error", outcome=outcome))


def _interrupted(stand: Stand, claimed: Claimed) -> Settled:
    """Ended from outside: back to the queue uncounted; cancelled where an operator asked for it."""
    chance = stand.chance()
    found = released(claimed, "the runner stopped it", chance.now, stand.workshop.refused(claimed))
    settled = conclude(stand.store, found, claimed, chance)
    stand.workshop.clear(claimed)
    return settled


def _settled(stand: Stand, claimed: Claimed, ended: Ended) -> Settled:
    """Settle. What the store will never take, an answer too large for the ledger for example, comes to a person."""
    chance, refused = stand.chance(), stand.workshop.refused(claimed)
    ended = replace(ended, refused=refused)
    try:
        settled = conclude(stand.store, settlement(ended, chance), claimed, chance)
    except (ContractViolation, IllegalMove) as error:
        settled = _spared(stand, ended, chance, error)
    if settled != "lost":
        stand.workshop.clear(claimed)
    return settled


def _spared(stand: Stand, ended: Ended, chance: Chance, error: KeiseiError) -> Settled:
    """Settle what the store refused for a person, with as much of what was learnt as it takes.

    Evidence and findings stay where they can: what an agent writes must not keep the ledger from telling of it.
    """
    for less in _lesser(ended, error):
        try:
            return conclude(stand.store, settlement(less, chance), ended.claimed, chance)
        except (ContractViolation, IllegalMove) as again:
            error = again
    raise error


def _lesser(ended: Ended, error: KeiseiError) -> Iterator[Ended]:
    """The same end with less and less, each saying what it leaves out: words, then findings, then evidence."""
    reason = f"the attempt could not be settled: {error.message}"
    outcome = TaskOutcome(status="blocked", machine_status="blocked", operator_summary=reason[:REASON])
    plain = Ended(claimed=ended.claimed, exit_status="error", outcome=outcome, refused=ended.refused)
    words = tuple(name for name, value in (("agent_said", ended.ledger_row), ("artifacts", ended.artifacts)) if value)
    elevated = {"elevated": ended.elevated, "elevated_because": ended.elevated_because}
    if ended.findings:
        yield replace(plain, findings=ended.findings, evidence=ended.evidence, left_out=words, **elevated)
        words = (*words, "findings")
    if ended.evidence:
        yield replace(plain, evidence=ended.evidence, left_out=words, **elevated)
        words = (*words, "evidence")
    yield replace(plain, left_out=(*words, "elevated") if ended.elevated else words)
