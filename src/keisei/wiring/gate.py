"""The gate, built: the judge with this machine's processes behind it, alone and as the service's."""

import os
import secrets
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import msgspec

from keisei.gate.plan import Plan
from keisei.gate.service import Judged
from keisei.records.effect import ToolCall
from keisei.rules.gate import Judgement
from keisei.rules.policy import (
    Policy,
    from_data,
)
from keisei.wiring.alone import judge_here, told
from keisei.wiring.script import CheckResult, run_checks


class Bench:
    """What the service asks: a plan's policy made ready, and a judgement."""

    def __init__(self) -> None:
        """One judge for all plans."""
        self._judge = judge_here()

    def prepare(self, data: dict[str, Any]) -> Policy:
        """The policy of a plan, with everything a first call would otherwise wait for. Raises ValueError."""
        policy = from_data(data)
        self._judge.judge(ToolCall(tool="Bash", input={"command": "true > /dev/null"}), without_scripts(policy))
        return policy

    def judge(self, call: ToolCall, plan: Plan) -> Judged:
        """One judgement, as the service writes it down. After a call its verifies run, and their findings are kept."""
        policy: Policy = plan.compiled
        if call.event == "PostToolUse":
            return _after(call, policy, plan)
        return as_judged(self._judge.judge(call, policy))


def without_scripts(policy: Policy) -> Policy:
    """The policy without the rules that start a process."""
    return msgspec.structs.replace(policy, rules=tuple(rule for rule in policy.rules if rule.script is None))


def _after(call: ToolCall, policy: Policy, plan: Plan) -> Judged:
    results = run_checks(call, policy)
    if results:
        keep_findings(plan.log.with_name("findings.jsonl"), plan.attempt_id, results)
    bad = next((each for each in results if each.status != "held" and each.severity == "block"), None)
    notes = tuple(f"{each.capability}: {each.reason}" for each in results if each.status != "held" and each is not bad)
    if bad is None:
        return Judged(allowed=True, notes=notes)
    cause: Literal["rule", "error"] = "rule" if bad.status == "violated" else "error"
    reason = f"{bad.capability}: {bad.reason}"
    return Judged(allowed=False, cause=cause, capability=bad.capability, reason=reason, notes=notes)


def keep_findings(path: Path, attempt_id: str | None, results: Iterable[CheckResult]) -> None:
    """Append findings, one JSON line each, for the verdict to join."""
    lines = [
        {
            "finding_id": f"finding-{secrets.token_hex(8)}",
            "attempt_id": attempt_id or "own-session",
            "capability": each.capability,
            "status": each.status,
            "severity": each.severity,
            **({"reason": each.reason} if each.reason else {}),
            **({"detail": each.detail} if each.detail else {}),
            "run_from": "worktree",
            "duration_ms": round(each.duration_ms, 3),
            "created_at": datetime.now(UTC).isoformat().replace("+00:00", "Z"),
        }
        for each in results
    ]
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(path, flags, 0o600)
    try:
        os.write(descriptor, b"".join(msgspec.json.encode(line) + b"\n" for line in lines))
    finally:
        os.close(descriptor)


def as_judged(judgement: Judgement) -> Judged:
    """A judgement as the service answers it: the reason, and what to do instead."""
    allowed = judgement.decision == "allow"
    return Judged(
        allowed=allowed,
        cause=judgement.cause,
        capability=judgement.capability,
        rule=judgement.rule,
        reason=None if allowed else told(judgement),
        notes=judgement.warnings,
        silent=tuple(note for note in judgement.notes if note not in judgement.warnings),
    )
