"""The bundle of an attempt once more: what today's files make of what was known when it began."""

from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from keisei.adapters import adapter_of
from keisei.contracts.check import build
from keisei.engine.bundle import Compiled, compile_bundle
from keisei.records.attempt import TaskAttempt
from keisei.records.bundle import BundleRecord, BundleWorkspace
from keisei.records.error import OperatorError, Refused
from keisei.records.intent import Budget
from keisei.records.move import Claimed
from keisei.records.task import TaskRecord
from keisei.records.workflow import WorkflowState
from keisei.rules.answer_contract import accepted_signals
from keisei.rules.evidence import keys_of
from keisei.rules.policy import Policy
from keisei.rules.progression import state_named, workflow_behind
from keisei.rules.section import Files
from keisei.wiring.briefing import Brief, Given, Place, brief_of, bundle_order, offered, policy_at
from keisei.wiring.choose import kind_of
from keisei.wiring.registry import CatalogRegistry
from keisei.wiring.returned import decoded
from keisei.wiring.shop import BEFORE, Before, Shop
from keisei.wiring.site import ROOM
from keisei.wiring.surroundings import surroundings
from keisei.wiring.workshop import is_confined


class Case(NamedTuple):
    """An attempt that is replayed."""

    shop: Shop
    registry: CatalogRegistry
    """Today's files, read once."""
    attempt: TaskAttempt
    bundle: BundleRecord
    document: dict[str, Any]
    """bundle.json, as it was stored."""

    @property
    def task(self) -> TaskRecord:
        """The task, as it was when the attempt began."""
        found: TaskRecord = build("task.record", self.document["task"])
        return found


def recompiled(case: Case) -> Compiled:
    """The bundle that today's files make. Raises KeiseiError."""
    shop, document, bundle = case.shop, case.document, case.bundle
    brief, config = brief_of(case.registry, case.task), case.registry.adapter(bundle.adapter_id)
    budget, workspace = document["limits"]["budget"], document["workspace"]
    given = Given(
        bundle_id=bundle.bundle_id,
        now=bundle.created_at,
        adapter=config,
        files=msgspec.convert(document["files"], Files),
        policy=policy_then(case, brief),
        state=_state(case),
        budget=None if budget is None else msgspec.convert(budget, Budget),
        workspace=None if workspace is None else msgspec.convert(workspace, BundleWorkspace),
        secret_names=surroundings(config, {}, shop.home.root).secret_names,
    )
    claimed = Claimed(task=brief.task, attempt=case.attempt, returned=True)
    return compile_bundle(case.registry.material, bundle_order(shop, brief, claimed, given))


def policy_then(case: Case, brief: Brief) -> Policy | None:
    """The policy that today's files make, for where the attempt stood; None of one that no gate stands around."""
    adapter = adapter_of(kind_of(case.registry.adapter(case.bundle.adapter_id)))
    atoms = offered(case.shop, brief.role, adapter)
    if case.shop.yard is None or not is_confined(adapter, brief.role):
        return None
    return policy_at(case.shop, case.registry, brief.told, place_of(case), atoms)


def place_of(case: Case) -> Place:
    """Where an attempt stood, by its evidence. Raises OperatorError where that does not say."""
    shop, attempt = case.shop, case.attempt
    keys = keys_of(attempt.attempt_id, attempt.started_at)
    raw = shop.evidence.get(keys.of(BEFORE))
    if raw is None:
        raise OperatorError(f"evidence `{BEFORE}` is missing, which says where the attempt worked")
    cwd = Path(decoded(raw, keys.of(BEFORE), Before).cwd)
    payload = case.document["files"].get("payload_file")
    room = Path(payload).parent if payload else shop.home.run / attempt.attempt_id / ROOM
    pool = shop.yard.worktrees.resolve() if shop.yard is not None else None
    leased = (each for each in (cwd, *cwd.parents) if each.parent == pool)  # an adapter may start in a folder of it
    return Place(next(leased, cwd), room, past=True)


def _state(case: Case) -> WorkflowState | None:
    """The workflow's state that waited for the task, by the definition it follows today.

    A task that no state waits for may name one all the same; which it was, the recorded signals say.
    """
    workflow_id, ref = workflow_behind(case.task), case.task.workflow_ref
    workflow = case.shop.store.workflow(workflow_id) if workflow_id is not None else None
    state = state_named(workflow.definition, ref.state_id) if workflow is not None and ref is not None else None
    if state is None:
        return None
    try:
        words = [[each.signal for each in accepted_signals(case.task.payload, of)] for of in (state, None)]
    except Refused:
        return state  # told when the bundle is compiled
    return None if words[1] == case.document["signals"] != words[0] else state
