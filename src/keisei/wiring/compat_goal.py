"""The original's goal-loop: its payload keys and its signals, on ours, with artifacts that no two workflows share."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from msgspec.structs import replace

from keisei.records.intent import TaskIntent
from keisei.records.workflow import Transition, WorkflowDefinition, WorkflowState

TEMPLATE: Final = "goal-loop"
TYPES: Final = frozenset({"goal-plan", "goal-execute", "goal-verify"})
PHASES: Final = {
    "plan": "proposal_artifact",
    "execute": "implementation_artifact",
    "verify": "verification_artifact",
}
"""Payload keys of artifacts, by the phase that writes them: what an earlier phase wrote is an input."""
ASKED: Final = {
    "plan": (Transition(signal="plan_ready", next_state="execute"),),
    "execute": (Transition(signal="execute_ready", next_state="verify"),),
    "verify": (),
}
"""Signals that agents of the original are asked for, beside ours."""
CONTRACTS: Final = {"plan": "plan_ready", "execute": "execute_ready", "verify": "continue|complete|revise_plan"}
SKILLS: Final = {
    "plan": "plan_phase_skills",
    "execute": "execute_phase_skills",
    "verify": "verify_execute_phase_skills",
}
OWN: Final = frozenset(
    {
        *SKILLS.values(),
        *("verify_plan_phase_skills", "requested_profile", "base_name", "plan_artifact", "execution_iteration"),
        *("last_completed_task_id", "last_completed_task_kind", "last_completed_task_at", "last_workflow_signal"),
    }
)
"""What the original keeps in a workflow's context for itself; no task is given it."""
SUBJECTS: Final = {
    "plan": "Plan goal: {summary}",
    "execute": "Execute goal iteration {visit}: {summary}",
    "verify": "Verify execution iteration {visit}: {summary}",
}
UNNAMED: Final = "workflow goal"


def hears_original(definition: WorkflowDefinition) -> WorkflowDefinition:
    """The loop, in which a state also hears the signal that the original's agents answer with."""
    return replace(definition, states=tuple(map(_hearing, definition.states)))


def _hearing(state: WorkflowState) -> WorkflowState:
    known = {each.signal for each in state.transitions}
    more = tuple(each for each in ASKED.get(state.state_id, ()) if each.signal not in known)
    return replace(state, transitions=(*state.transitions, *more))


def is_goal(intent: TaskIntent) -> bool:
    """Whether a phase of the loop asks."""
    ref = intent.workflow_ref
    return ref is not None and ref.state_id in PHASES and intent.task_type in TYPES


def goal_intent(intent: TaskIntent, visits: Mapping[str, int], artifacts: Path) -> TaskIntent:
    """The intent of a phase with the original's payload keys. Artifacts are named after the phase and its visit."""
    ref = intent.workflow_ref
    if ref is None:
        return intent
    phase, given, visit = ref.state_id, intent.payload, visit_of(intent)
    summary = _text(given, "summary") or _text(given, "objective") or UNNAMED
    own = own_artifact(phase, visit)
    payload = {name: value for name, value in given.items() if name not in OWN} | {
        "objective": _text(given, "objective") or summary,
        "summary": summary,
        "scope": given.get("scope") or [],
        "phase": phase,
        "iteration": visit,
        "phase_skills": given.get(SKILLS[phase]) or [],
        **_inputs(phase, given, visits, artifacts),
        PHASES[phase]: own,
        "required_artifacts": [own],
        "response_contract": {"required_workflow_signal": CONTRACTS[phase]},
        "workflow_id": ref.workflow_id,
        "workflow_template": TEMPLATE,
        "workflow_state": phase,
        "workflow_instance_key": ref.instance_key,
    }
    return replace(
        intent,
        payload=payload,
        subject=SUBJECTS[phase].format(summary=summary.splitlines()[0], visit=visit),
        requested_profile_id=_text(given, "requested_profile") or intent.requested_profile_id,
    )


def own_artifact(phase: str, visit: int) -> str:
    """The file that a visit to a phase writes, inside the workflow's own folder."""
    return f"{phase}-{visit}.md"


def visit_of(intent: TaskIntent) -> int:
    """The how-manieth visit asks: its key ends with the visit and the ask; else the payload says it."""
    parts = (intent.idempotency_key or "").rsplit(":", 2)
    if len(parts) == 3 and parts[1].isdecimal():  # noqa: PLR2004 - what stands before, the visit, the ask
        return int(parts[1])
    told = intent.payload.get("iteration")
    return told if isinstance(told, int) and told > 0 else 1


def _inputs(phase: str, given: Mapping[str, Any], visits: Mapping[str, int], artifacts: Path) -> dict[str, str]:
    """What earlier phases wrote last. A plan that was made elsewhere is named by where it stands.

    A verification that follows a plan at once, because nothing is left to do, has no step to look at.
    """
    found = {}
    if phase != "plan":
        named = _text(given, "plan_artifact")
        elsewhere = artifacts / named if named and not visits.get("plan") else None
        own = own_artifact("plan", visits.get("plan") or 1)
        found["proposal_artifact"] = str(elsewhere) if elsewhere is not None else own
    if phase == "verify" and (visits.get("execute") or not visits.get("plan")):
        found["implementation_artifact"] = own_artifact("execute", visits.get("execute") or 1)
    return found


def _text(given: Mapping[str, Any], name: str) -> str | None:
    found = given.get(name)
    return found if isinstance(found, str) and found.strip() else None
