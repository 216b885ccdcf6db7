"""Pipes drawn: Mermaid, Graphviz and JSON. Solid lines are needs, dashed ones only order; no name can say more."""

import json
from collections.abc import Iterator
from typing import Literal, NamedTuple

from keisei.records.pipe_plan import PipePlan, PlannedStep
from keisei.rules.graphviz import quoted
from keisei.rules.mermaid import label

GraphForm = Literal["mermaid", "dot", "json"]


class _Edge(NamedTuple):
    earlier: int
    later: int
    kind: Literal["needs", "stream", "after"]


def graph(plan: PipePlan, form: GraphForm) -> str:
    """The plan as a picture in text, ending with a line's end."""
    return {"mermaid": _mermaid, "dot": _dot, "json": _json}[form](plan)


def _edges(plan: PipePlan) -> Iterator[_Edge]:
    for step in plan.steps:
        for need in step.needs:
            yield _Edge(need, step.position, "stream" if need == step.consumes else "needs")
        yield from (_Edge(other, step.position, "after") for other in step.after)


def _title(step: PlannedStep) -> str:
    return f"{step.name} ({step.spec.id}{' for each' if step.step.for_each is not None else ''})"


def _mermaid(plan: PipePlan) -> str:
    arrows = {"needs": "-->", "stream": "==>", "after": "-.->"}
    lines = ["flowchart TD"]
    lines += [f'    s{step.position}["{label(_title(step))}"]' for step in plan.steps]
    lines += [f"    s{edge.earlier} {arrows[edge.kind]} s{edge.later}" for edge in _edges(plan)]
    return "\n".join(lines) + "\n"


def _dot(plan: PipePlan) -> str:
    styles = {"needs": "", "stream": " [style=bold]", "after": " [style=dashed]"}
    lines = [f"digraph {quoted(plan.name)} {{"]
    lines += [f"  s{step.position} [label={quoted(_title(step))}];" for step in plan.steps]
    lines += [f"  s{edge.earlier} -> s{edge.later}{styles[edge.kind]};" for edge in _edges(plan)]
    return "\n".join([*lines, "}"]) + "\n"


def _json(plan: PipePlan) -> str:
    nodes = [
        {"name": step.name, "atom": step.spec.id, "kind": step.spec.manifest.kind, "for_each": step.step.for_each}
        for step in plan.steps
    ]
    edges = [
        {"from": plan.steps[edge.earlier].name, "to": plan.steps[edge.later].name, "kind": edge.kind}
        for edge in _edges(plan)
    ]
    return json.dumps({"name": plan.name, "steps": nodes, "edges": edges}, ensure_ascii=False, indent=2) + "\n"
