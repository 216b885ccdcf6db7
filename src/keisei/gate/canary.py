"""The canary: before work is given, the hook command itself must refuse one call and allow another."""

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from keisei.records.effect import ToolCall
from keisei.records.error import WorldFault
from keisei.rules.gate import Judgement

REFUSED: Final = ToolCall(tool="keisei-canary", input={"must": "be refused"}, tool_use_id="canary-refused")
"""A tool that no harness has and no role lists."""
HARMLESS: Final[tuple[tuple[str, dict[str, Any]], ...]] = (
    ("Read", {"file_path": "README.md"}),
    ("Glob", {"pattern": "*"}),
    ("Grep", {"pattern": "x"}),
    ("Bash", {"command": "true"}),
    ("TodoWrite", {"todos": []}),
)
"""Calls that do nothing; the first that the policy allows is the one that must come back allowed."""


class Said(NamedTuple):
    """What a hook command left."""

    code: int | None
    stdout: bytes
    stderr: bytes


def prove(
    hook: Sequence[str], run: Callable[[Sequence[str], bytes], Said], judge: Callable[[ToolCall], Judgement], cwd: str
) -> int:
    """Fire the canary through the hook command; the number of calls made. Raises WorldFault where it does not sing.

    A policy that allows none of the harmless calls is proved by its refusal alone.
    """
    asked = questions(judge, cwd)
    answered([run(hook, each) for each in asked])
    return len(asked)


def questions(judge: Callable[[ToolCall], Judgement], cwd: str) -> list[bytes]:
    """What the hook is asked: one call that must be refused, and one that must be allowed where the policy has any."""
    allowed = next(_allowed(judge), None)
    return [_asked(REFUSED, cwd), *([] if allowed is None else [_asked(allowed, cwd)])]


def answered(answers: Sequence[Said]) -> None:
    """Raise WorldFault unless the first answer is a refusal and the second, where there is one, an allowance."""
    said = answers[0]
    if said.code != 2 or not said.stderr.strip() or not _is_json(said.stdout):  # noqa: PLR2004 - a refusal's exit code
        raise WorldFault(f"the gate does not refuse: the hook ended with {said.code}", "no work is given without it")
    for allowance in answers[1:]:
        if allowance.code != 0:
            reason = allowance.stderr.decode("utf-8", "replace").strip()
            raise WorldFault(f"the gate refuses everything: {reason or f'the hook ended with {allowance.code}'}")


def _allowed(judge: Callable[[ToolCall], Judgement]) -> Iterator[ToolCall]:
    for tool, data in HARMLESS:
        call = ToolCall(tool=tool, input=dict(data), tool_use_id="canary-allowed")
        if judge(call).decision == "allow":
            yield call


def _asked(call: ToolCall, cwd: str) -> bytes:
    told: dict[str, Any] = {
        "hook_event_name": "PreToolUse",
        "tool_name": call.tool,
        "tool_input": call.input,
        "tool_use_id": call.tool_use_id,
        "cwd": cwd,
    }
    return json.dumps(told).encode()


def _is_json(text: bytes) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False
