"""A plan as data, in one shape for every door."""

from typing import Any

from keisei.records.pipe_plan import PipePlan, PlannedStep


def plan_data(plan: PipePlan) -> dict[str, Any]:
    """The plan as JSON: every step with every decision about it, and why."""
    return {
        "name": plan.name,
        "steps": [_step_data(plan, step) for step in plan.steps],
        "order": [plan.steps[position].name for position in plan.order],
        "max_parallel": plan.max_parallel,
        "on_failure": plan.on_failure,
        "definition_sha": plan.definition_sha,
        "warnings": [problem.render() for problem in plan.warnings],
    }


def _step_data(plan: PipePlan, step: PlannedStep) -> dict[str, Any]:
    names = [each.name for each in plan.steps]
    retry = {"max": step.retry.max, "backoff_ms": step.retry.backoff_ms, "on": step.retry.on, "why": step.retry.why}
    return {
        "id": step.name,
        "atom": step.spec.id,
        "needs": [names[each] for each in step.needs],
        "after": [names[each] for each in step.after],
        "serial": step.serial,
        "consumes": None if step.consumes is None else names[step.consumes],
        "streamed": step.streamed,
        "retry": retry,
        "cached": step.cached,
        "undo": None if step.undo is None else step.undo.id,
        "why": list(step.words),
    }
