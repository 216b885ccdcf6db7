"""Briefing: what an attempt is told and held to, made of the rows and of the project's files.

The attempt that runs and the one that is replayed are briefed by the same functions. What differs is handed in: when it
is, where the attempt stands, and what the attempt alone was given.
"""

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from keisei.engine.approval import answers_of
from keisei.engine.gather import BundleOrder, task_file
from keisei.engine.land import RESPAWN
from keisei.records.adapter import AdapterConfig
from keisei.records.bundle import BundleWorkspace
from keisei.records.error import Refused
from keisei.records.id import AttemptId, BundleId, LandingId
from keisei.records.intent import Budget
from keisei.records.move import Claimed
from keisei.records.profile import SubagentProfile
from keisei.records.task import TaskRecord
from keisei.records.task_spec import SpecTask, TaskSpec
from keisei.records.task_type import TaskTypeSpec
from keisei.records.workflow import WorkflowState
from keisei.rules.evidence import keys_of
from keisei.rules.policy import Policy
from keisei.rules.role import ResolvedRole
from keisei.rules.section import Earlier, Files
from keisei.wiring.registry import CatalogRegistry
from keisei.wiring.shop import Shop

if TYPE_CHECKING:
    from keisei.adapters.port import Adapter
    from keisei.wiring.atom_grant import Granted

HISTORY: Final = 1000
MEMORY: Final = 5


class Brief(NamedTuple):
    """A task, with everything of the project's files that says what its attempts are."""

    task: TaskRecord
    spec: TaskTypeSpec
    profile: SubagentProfile
    file: TaskSpec | None
    """The task file; None of a task of another type."""
    told: TaskSpec
    """The same, else one that names the profile's role."""
    role: ResolvedRole


class Place(NamedTuple):
    """Where an attempt stands."""

    worktree: Path
    """The tree it works on; its working directory where it has none of its own."""
    room: Path
    """The part of its folder that it sees itself."""
    past: bool = False
    """It stood there once: nobody knows what is there today."""


class Given(NamedTuple):
    """What one attempt was given, and when."""

    bundle_id: BundleId
    now: datetime
    """When its bundle is made; what came later it cannot know."""
    adapter: AdapterConfig
    files: Files
    policy: Policy | None
    state: WorkflowState | None
    """The workflow's state that waits for its task."""
    budget: Budget | None
    workspace: BundleWorkspace | None
    secret_names: tuple[str, ...]


def brief_of(registry: CatalogRegistry, task: TaskRecord) -> Brief:
    """What today's files say of a task. Raises KeiseiError."""
    spec, profile = registry.task_type(task.task_type), registry.profile(task.requested_profile_id)
    file = task_file(spec, task)
    told = file or TaskSpec(task=SpecTask(role=profile.role))
    return Brief(task, spec, profile, file, told, registry.material.resolved_role(told.task.role))


def offered(shop: Shop, role: ResolvedRole, adapter: "Adapter") -> "Granted":
    """The atoms a role's agents are offered, as it is now. Raises OperatorError for an atom that nobody has.

    Raises Refused for an adapter that cannot offer any: its agents would work without what their role grants.
    """
    if not role.atoms.allowed:
        return {}
    if adapter.gate != "native" or shop.yard is None:
        message = f"adapters of kind `{adapter.kind}` get no atoms, and role `{role.name}` has an `[atoms]` table"
        raise Refused(message, "use claude-code or codex for this role, or take the table out of it")
    from keisei.wiring.atom_grant import granted  # noqa: PLC0415 - few roles have atoms

    return granted(role.name, role.atoms, shop.yard.shelf)


def policy_at(shop: Shop, registry: CatalogRegistry, told: TaskSpec, place: Place, atoms: "Granted") -> Policy:
    """The policy an attempt is held to. Raises AuthorError, OperatorError."""
    from keisei.wiring.policy import Setting, spec_policy  # noqa: PLC0415 - a runner of scripts needs no gate

    room = place.room
    setting = Setting(place.worktree, shop.home.root, room / "home", (str(room / "tmp"),), past=place.past)
    return spec_policy(registry.catalog, told, setting, room.parent / "task.toml", atoms)


def bundle_order(shop: Shop, brief: Brief, claimed: Claimed, given: Given) -> BundleOrder:
    """The order of an attempt's bundle; what the rows know, they knew at its time."""
    store, task, attempt = shop.store, brief.task, claimed.attempt
    remembers = brief.profile.context_policy.include_recent_memory
    memory = store.memory(task.agent, brief.profile.profile_id, MEMORY, given.now) if remembers else ()
    answers = answers_of(store, task.task_id)
    return BundleOrder(
        bundle_id=given.bundle_id,
        attempt_id=attempt.attempt_id,
        now=given.now,
        task=task,
        task_type=brief.spec,
        profile=brief.profile,
        adapter=given.adapter,
        keys=keys_of(attempt.attempt_id, attempt.started_at),
        files=given.files,
        runtime_policy=shop.runner.policy,
        policy=given.policy,
        state=given.state,
        memory=tuple(memory),
        earlier=earlier_of(shop, task, attempt.attempt_id),
        answers=tuple(each for each in answers if each.decided_at is None or each.decided_at <= given.now),
        budget=given.budget,
        workspace=given.workspace,
        secret_names=given.secret_names,
    )


def earlier_of(shop: Shop, task: TaskRecord, attempt_id: AttemptId) -> tuple[Earlier, ...]:
    """What was tried before this attempt, of the task from whose rejected candidate its own takes over too."""
    store = shop.store
    takes_over = (task.idempotency_key or "").startswith(RESPAWN) and task.parent_task_id is not None
    above = store.attempts(task.parent_task_id, HISTORY) if takes_over else []
    own = store.attempts(task.task_id, HISTORY)
    before = own[: next((number for number, each in enumerate(own) if each.attempt_id == attempt_id), len(own))]
    landing = store.landing(LandingId((task.idempotency_key or "").removeprefix(RESPAWN))) if takes_over else None
    why = {landing.attempt_id: f"it did not land: {landing.reason}"} if landing is not None else {}
    return tuple(
        Earlier(attempt=each, findings=tuple(store.findings(each.attempt_id)), reason=why.get(each.attempt_id))
        for each in (*above, *before)
        if each.ended_at is not None
    )
