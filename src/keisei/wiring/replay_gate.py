"""Calls judged again: a recorded gate.jsonl under another policy."""

from pathlib import Path
from typing import Any

import msgspec

from keisei.contracts.check import build
from keisei.records.decision import GateDecision
from keisei.records.effect import ToolCall
from keisei.records.error import ContractViolation, OperatorError
from keisei.rules.chain import broken_at
from keisei.rules.policy import Policy
from keisei.wiring.alone import judge_here

LARGEST = 256 * 1024 * 1024


def replayed(file: Path, policy: Policy) -> dict[str, Any]:
    """Every recorded call with what was and what would be decided. Raises OperatorError for what is no such log."""
    return judged_again(_lines(file), policy, str(file))


def judged_again(lines: list[bytes], policy: Policy, name: str) -> dict[str, Any]:
    """Likewise, of lines that were read."""
    broken = broken_at(lines)
    judge = judge_here()
    calls = []
    for number, line in enumerate(lines, start=1):
        if broken is not None and 1 < number == len(lines) and not line.endswith(b"}"):
            break  # a line that was being written when the service was killed; the chain says so
        decision = _decision(name, number, line)
        if (decision.tool_use_id or "").startswith("post:") or decision.tool == "(unreadable)":
            continue
        now = judge.judge(ToolCall(tool=decision.tool, input=decision.input, cwd=decision.cwd), policy)
        calls.append(
            {
                "line": number,
                "tool": decision.tool,
                "was": decision.decision,
                "now": now.decision,
                "changed": now.decision != decision.decision,
                "capability": now.capability,
                "reason": now.reason,
            }
        )
    chain = "whole" if broken is None else f"broken at line {broken[0] + 1}: {broken[1]}"
    return {"calls": calls, "chain": chain}


def _lines(file: Path) -> list[bytes]:
    try:
        if file.stat().st_size > LARGEST:
            raise OperatorError(f"`{file}` is larger than {LARGEST} bytes", "cut it into pieces")
        return file.read_bytes().splitlines()
    except OSError as error:
        message = f"`{file}` cannot be read: {(error.strerror or str(error)).lower()}"
        raise OperatorError(message, "name a gate.jsonl") from error


def _decision(name: str, number: int, line: bytes) -> GateDecision:
    try:
        decision: GateDecision = build("gate.decision", msgspec.json.decode(line))
    except (msgspec.DecodeError, ContractViolation) as error:
        first = str(error).split("; ")[0]
        raise OperatorError(f"`{name}` line {number} is no gate decision: {first}", "name a gate.jsonl") from error
    return decision
