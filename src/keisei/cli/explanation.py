"""Explanations: what a call would do and what each rule says of it, for people and for machines."""

from typing import Any

import msgspec

from keisei.records.effect import BELOW, UNKNOWN, Effects, ToolCall
from keisei.records.problem import printable
from keisei.rules.policy import Policy
from keisei.wiring.alone import judge_here


def explained(call: ToolCall, policy: Policy) -> dict[str, Any]:
    """Effects, decision, rule and next step as data."""
    judge = judge_here()
    effects = judge.effects(call, policy)
    judgement = judge.judge(call, policy)
    return {
        "tool": call.tool,
        "decision": judgement.decision,
        "cause": judgement.cause,
        "capability": judgement.capability,
        "rule": judgement.rule,
        "reason": judgement.reason,
        "instead": judgement.instead or None,
        "notes": list(judgement.notes),
        "effects": _told(effects),
    }


def _told(effects: Effects) -> dict[str, Any]:
    data: dict[str, Any] = msgspec.to_builtins(effects)
    told: dict[str, Any] = {
        "commands": [
            {"command": _plain(each.text), "inside": each.via or None, "must_be_listed": each.listed}
            for each in effects.commands
        ],
        **{
            kind: [
                {"path": _plain(each.path), "from": _plain(each.cwd), "by": each.how} for each in getattr(effects, kind)
            ]
            for kind in ("writes", "deletes", "reads")
        },
    }
    return {**told, **{key: data.get(key) for key in ("network", "agents", "unresolved", "unknown")}}


def _plain(text: str) -> str:
    return printable(text.replace(UNKNOWN, "…").replace(BELOW, "…"))


def shown(found: dict[str, Any]) -> str:
    """The explanation as people read it."""
    effects = found["effects"]
    lines = [f"{found['decision']}: {found['reason'] or 'no rule is against it'}"]
    if found["rule"]:
        lines.append(f"  rule: {found['rule']}")
    if found["instead"]:
        lines.append(f"  instead: {found['instead']}")
    lines.extend(f"  note: {note}" for note in found["notes"])
    lines.extend(
        f"  runs {each['command']}" + (f"   (inside {each['inside']})" if each["inside"] else "")
        for each in effects["commands"]
    )
    for kind in ("writes", "deletes", "reads"):
        lines.extend(f"  {kind} {each['path']}   (by {each['by']}, from {each['from']})" for each in effects[kind])
    for kind in ("network", "agents", "unresolved"):
        lines.extend(f"  {kind}: {each}" for each in effects[kind])
    if effects["unknown"]:
        lines.append(f"  unknown: {effects['unknown']}")
    return "\n".join(map(printable, lines))
