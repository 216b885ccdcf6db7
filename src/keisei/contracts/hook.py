"""Hooks: what a harness tells before and after a tool call, and the answer it understands."""

import json
from collections.abc import Iterable
from itertools import islice
from typing import Any, Literal, NamedTuple

from keisei.records.effect import ToolCall
from keisei.records.error import ContractViolation
from keisei.records.problem import printable

DEEPEST = 64
"""Levels of nesting; a tool's input needs a handful."""
MOST = 20_000
"""Values in one input; each is walked several times before the answer."""
LONGEST = 2000
"""Characters of a reason."""
WIDEST = 300
"""Digits of an integer that every double can hold."""
NOTES = 5
"""Warnings beside one answer."""
REFUSED = 2
CLAUDE = frozenset({"claude", "claude-code", "claude_code"})
EVENTS: dict[str, Literal["PreToolUse", "PostToolUse"]] = {
    "PreToolUse": "PreToolUse",
    "PostToolUse": "PostToolUse",
    "pre_tool_call": "PreToolUse",
    "post_tool_call": "PostToolUse",
}
"""Claude Code and Codex say the first two, Hermes the others."""


class Answer(NamedTuple):
    """What a hook program writes, and how it exits."""

    stdout: bytes
    """The harness's JSON, or nothing."""
    stderr: bytes
    """The reason on one line, warnings, or nothing."""
    code: int
    """0, or 2 for a refusal."""


def read_call(data: bytes, harness: str) -> ToolCall:
    """The call a hook was told of. Raises ContractViolation, and nothing else, where it cannot be read in one way only.

    A key written twice, a number that no double holds and half a surrogate pair are refused: two readers would take
    them for two different calls. Keys that are not known are fine. A call that names no event is one before the tool.
    """
    try:
        return _call(read_json(data), harness)
    except ValueError as error:
        violation = ContractViolation("hook call", [str(error)])
        violation.hint = "the harness and the gate disagree about hooks; `keisei hooks status` tells more"
        raise violation from error


def read_json(data: bytes) -> Any:  # noqa: ANN401 - JSON
    """The value, read strictly. Raises ValueError with one sentence, and nothing else."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError("it is not UTF-8") from error
    try:
        value = DECODER.decode(text)
        if "\\u" in text:
            json.dumps(value, ensure_ascii=False).encode("utf-8")
    except json.JSONDecodeError as error:
        raise ValueError(f"it is not JSON: {error.msg} at character {error.pos}") from error
    except UnicodeEncodeError as error:
        raise ValueError("it holds half a surrogate pair") from error
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    _bounded(value, text)
    return value


def answer(  # noqa: PLR0913, PLR0917 - a decision has this many sides
    call: ToolCall | None,
    allowed: bool,  # noqa: FBT001 - the decision itself
    reason: str | None,
    harness: str,
    explicit: bool,  # noqa: FBT001 - as above
    notes: Iterable[str] = (),
) -> Answer:
    """The answer. A refusal is JSON, one line on stderr and exit 2, always; None stands for a call nobody could read.

    An allowance is silence, unless it is `explicit` and the harness is Claude Code: Codex knows `allow` only together
    with a new input and Hermes not at all. After the tool a refusal is Claude's and everybody's `block`.
    """
    warnings = "".join(f"{one_line(note)}\n" for note in islice(notes, NOTES))
    before = call is None or call.event == "PreToolUse"
    told = {"hookEventName": "PreToolUse"}
    if allowed is True:
        loud = explicit and before and harness in CLAUDE
        out = _json({"hookSpecificOutput": told | {"permissionDecision": "allow"}}) if loud else b""
        return Answer(out, warnings.encode(), 0)
    line = one_line(reason or "") or "refused, and no reason was given"
    if before and harness in CLAUDE:
        out = _json({"hookSpecificOutput": told | {"permissionDecision": "deny", "permissionDecisionReason": line}})
    else:
        out = _json({"decision": "block", "reason": line})
    return Answer(out, f"{line}\n{warnings}".encode(), REFUSED)


def one_line(text: str, longest: int = LONGEST) -> str:
    """The text on one line that cannot command a terminal, cut where it is too long."""
    line = printable(" ".join(text[: longest * 2].split()))
    return line if len(line) <= longest else line[: longest - 1] + "…"


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def _call(told: object, harness: str) -> ToolCall:
    if not isinstance(told, dict):
        raise ValueError("it is not an object")  # noqa: TRY004 - one kind of error, one way out
    event = told.get("hook_event_name", "PreToolUse")
    if not isinstance(event, str) or event not in EVENTS:
        raise ValueError("`hook_event_name` is not one that is judged: PreToolUse or PostToolUse")
    tool, given = told.get("tool_name"), told.get("tool_input")
    if not isinstance(tool, str) or not tool:
        raise ValueError("`tool_name` must be a string that is not empty")
    if not isinstance(given, dict):
        raise ValueError("`tool_input` must be an object")  # noqa: TRY004 - one kind of error, one way out
    cwd = _text(told, "cwd") or None
    if cwd is not None and (not cwd.startswith("/") or "\0" in cwd):
        raise ValueError("`cwd` must be an absolute path")
    return ToolCall(
        tool=tool,
        input=given,
        cwd=cwd,
        tool_use_id=_text(told, "tool_use_id") or _hermes_id(told),
        agent_id=_filled(told, "agent_id"),
        agent_type=_filled(told, "agent_type"),
        event=EVENTS[event],
        told=told,
        harness=harness,
    )


def _hermes_id(told: dict[str, Any]) -> str | None:
    extra = told.get("extra")
    return (_text(extra, "tool_call_id") or None) if isinstance(extra, dict) else None


def _text(told: dict[str, Any], key: str) -> str | None:
    value = told.get(key)
    if value is None or isinstance(value, str):
        return value
    raise ValueError(f"`{key}` must be a string")


def _filled(told: dict[str, Any], key: str) -> str | None:
    """Who asks decides which policy counts, so an empty name is nobody's."""
    value = _text(told, key)
    if value == "":
        raise ValueError(f"`{key}` must not be empty")
    return value


def _bounded(value: object, text: str) -> None:
    """Refuse what is nested or strewn beyond measure. Nearly every input has too few brackets and commas to look."""
    brackets = text.count("{") + text.count("[")
    if brackets <= DEEPEST and text.count(",") <= MOST:
        return
    level, depth, count = [value], 0, 1
    while level:
        depth += 1
        inner = [child for each in level for child in _children(each)]
        count += len(inner)
        if depth > DEEPEST + 1:
            raise ValueError(f"it is nested too deeply, more than {DEEPEST} levels")
        if count > MOST:
            raise ValueError(f"it holds more than {MOST} values")
        level = inner


def _children(value: object) -> Iterable[object]:
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("it holds a key twice")
    return found


def _integer(text: str) -> int:
    if len(text) > WIDEST:
        raise ValueError("it holds a number that is too large")
    return int(text)


def _float(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise ValueError("it holds a number that is too large")
    return value


def _constant(text: str) -> float:
    raise ValueError(f"it holds {text}, which is not JSON")


DECODER = json.JSONDecoder(
    object_pairs_hook=_pairs, parse_int=_integer, parse_float=_float, parse_constant=_constant, strict=True
)
