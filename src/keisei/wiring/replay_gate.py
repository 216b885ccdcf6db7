"""Calls judged again: a recorded gate.jsonl under another policy."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from keisei.contracts.check import build
from keisei.gate.judge import Judge
from keisei.records.decision import GateDecision
from keisei.records.effect import ToolCall
from keisei.records.error import ContractViolation, OperatorError
from keisei.rules.chain import broken_at, input_digest
from keisei.rules.gate import Judgement
from keisei.rules.policy import Policy
from keisei.wiring.alone import judge_here

if TYPE_CHECKING:
    from keisei.wiring.past import PastJudge

LARGEST = 256 * 1024 * 1024


def replayed(file: Path, policy: Policy) -> dict[str, Any]:
    """Every recorded call with what was and what would be decided. Raises OperatorError for what is no such log."""
    return judged_again(_lines(file), policy, str(file))


class Past(NamedTuple):
    """How calls are judged again as they were judged then."""

    judges: Sequence["PastJudge"]
    """Each sees the worktree as it was at some moment; the last moment first."""
    digest: str
    """Of the policy they judge by."""


def judged_again(lines: list[bytes], policy: Policy, name: str, past: Past | None = None) -> dict[str, Any]:
    """Likewise, of lines that were read; with a past, of calls that were judged in a worktree which is gone.

    A call whose answer depended on something that nobody has any more is `unknown`, with the reason, and not changed.
    """
    broken = broken_at(lines)
    judges: Sequence[Judge] = (judge_here(),) if past is None else past.judges
    calls = []
    for number, line in enumerate(lines, start=1):
        if broken is not None and 1 < number == len(lines) and not line.endswith(b"}"):
            break  # a line that was being written when the service was killed; the chain says so
        decision = _decision(name, number, line)
        if (decision.tool_use_id or "").startswith("post:") or decision.tool == "(unreadable)":
            continue
        call = ToolCall(tool=decision.tool, input=decision.input, cwd=decision.cwd)
        answers = [judges[0].judge(call, policy)]
        for judge in judges[1:]:
            if answers[-1].decision != decision.decision:
                answers.append(judge.judge(call, policy))
        now = answers[-1] if answers[-1].decision == decision.decision else answers[0]
        differs = now.decision != decision.decision
        unknown = _unknown(decision, now, past) if differs and past is not None else None
        calls.append(
            {
                "line": number,
                "tool": decision.tool,
                "was": decision.decision,
                "now": now.decision,
                "changed": differs and unknown is None,
                "capability": now.capability,
                "reason": now.reason,
                **({} if past is None else {"unknown": unknown}),
            }
        )
    chain = "whole" if broken is None else f"broken at line {broken[0] + 1}: {broken[1]}"
    return {"calls": calls, "chain": chain}


def _unknown(decision: GateDecision, now: Judgement, past: Past) -> str | None:
    """Why nobody can say whether a call is judged otherwise; None where it is."""
    if decision.cause == "error":
        return "the gate itself broke then"
    if now.cause == "error":
        return f"the gate cannot be asked today: {now.reason or 'it broke'}"
    if _was_redacted(decision):
        return "its input is not kept whole: a secret was taken out"
    same = decision.policy_digest == past.digest
    if same and any(judge.seen.looked for judge in past.judges):
        return "the rules are the same, and the files it was judged by are not kept"
    if decision.decision == "deny" and any(judge.seen.ran for judge in past.judges):
        return "it would have run a file that is not kept"
    return None


def _was_redacted(decision: GateDecision) -> bool:
    try:
        return input_digest(decision.input) != decision.input_digest
    except ValueError:
        return True


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
