"""Answer contracts: the JSON object an attempt must end with, and what each word in it means. Never cut."""

import json
from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct

from keisei.records.error import Refused
from keisei.records.profile import SubagentProfile
from keisei.records.workflow import WorkflowState
from keisei.rules.prompt import Piece, Section, inline

Ending = Literal["message", "reply", "output", "exit-code"]
"""Where the object stands: at the end of the last message, as the whole reply, at the end of the output, or nowhere."""
OPENINGS: Mapping[Ending, str] = {
    "message": "End your last message with one JSON object of this form, in a fence of its own, and write nothing "
    "after it. Where your rules ask for a `report` block, that block stands before it.",
    "reply": "Reply with one JSON object of this form and with nothing else.",
    "output": "Print one JSON object of this form as the last thing on standard output.",
    "exit-code": "This is a program: exit code 0 completes the task, any other fails it. To say more, it prints one "
    "JSON object of this form as the last thing on standard output.",
}
STATUSES = """\
- `status` and `machine_status` go together, in one of four pairs. Any other word is no result, and that is a failure.
  - `completed` with `ok`: everything the task asks for is done, and you have seen that it is.
  - `retryable_failure` with `needs_retry`: it did not work this time, and the same task tried again could.
  - `blocked` with `blocked`: a person has to do or decide something first; the summary says what.
  - `permanent_failure` with `failed`: it cannot be done, now or later; the summary says why.
- `operator_summary`: what a person has to know, in at most three sentences.
- `file_changes`: every file of the repository that you created, changed or deleted, relative to its root; `[]` for \
none. The list is compared with the real difference.
- `artifact_paths`: every file you left in the artifact folder, relative to it; `[]` for none. Each must be there.
- `retry_after_seconds`: only where somebody asks you to wait, such as a rate limit; otherwise leave it out.
- `questions`: only with `blocked`: a list of what a person has to tell you; the next attempt is given the answers."""
FOLLOW_UPS = """\
- `follow_up_tasks`: work that should be done next, each an object with `task_type`, `source` and `payload`, and with \
`subject` and `description` where they help; `[]` for none. They are queued after verification, not by you."""


class AcceptedSignal(Struct, frozen=True, kw_only=True):
    """One word that moves the workflow."""

    signal: str
    """The word."""
    next_state: str | None = None
    """Where it leads; None where nobody told, or where it completes the workflow."""
    completes: bool = False
    """Whether it completes the workflow."""


def accepted_signals(payload: Mapping[str, Any], state: WorkflowState | None) -> tuple[AcceptedSignal, ...]:
    """The signals an answer may carry: those of the workflow's state, narrowed by the payload's `accepted_signals`.

    Raises Refused where the payload accepts only what the state does not know: no answer could move the workflow on.
    """
    asked = payload.get("accepted_signals")
    wanted = [each for each in asked if isinstance(each, str)] if isinstance(asked, list) else []
    if state is None:
        return tuple(AcceptedSignal(signal=each) for each in dict.fromkeys(wanted))
    known = [AcceptedSignal(signal=each.signal, next_state=each.next_state) for each in state.transitions]
    known += [AcceptedSignal(signal=each, completes=True) for each in state.completion_signals]
    found = tuple(each for each in known if not wanted or each.signal in wanted)
    if known and not found:
        raise Refused(
            f"state `{state.state_id}` knows none of the signals the payload accepts: "
            f"{', '.join(map(inline, wanted[:20]))}",
            f"it knows {', '.join(inline(each.signal) for each in known)}",
        )
    return found


def signal_section(signals: tuple[AcceptedSignal, ...]) -> list[Section]:
    """Which signals there are and where they lead; nothing where none is asked for."""
    if not signals:
        return []
    words = (
        "This task is a step of a workflow. Your answer carries exactly one of these as `workflow_signal`; "
        "without one, or with another, the task is not complete."
    )
    return [
        Section(
            title="Signals",
            pieces=(Piece(name="signals", words=words, text=as_json([*map(_arrow, signals)]), form="json"),),
        )
    ]


def _arrow(signal: AcceptedSignal) -> dict[str, str]:
    if signal.completes:
        return {"signal": signal.signal, "completes": "the workflow"}
    return {"signal": signal.signal} | ({"next_state": signal.next_state} if signal.next_state else {})


def answer_section(profile: SubagentProfile, ending: Ending, signals: tuple[AcceptedSignal, ...]) -> Section:
    """The contract: the object, then what every key means. Keys the profile does not allow are not offered."""
    form: dict[str, object] = {
        "status": "completed | retryable_failure | blocked | permanent_failure",
        "machine_status": "ok | needs_retry | blocked | failed",
        "operator_summary": "...",
        "file_changes": ["..."],
        "artifact_paths": ["..."],
    }
    meaning = [STATUSES]
    if signals:
        form["workflow_signal"] = " | ".join(each.signal for each in signals)
        meaning.append("- `workflow_signal`: exactly one of the signals under Signals.")
    if profile.result_policy.allow_follow_up_tasks:
        form["follow_up_tasks"] = [{"task_type": "...", "source": "...", "payload": {}}]
        meaning.append(FOLLOW_UPS)
    if profile.result_policy.allow_external_messages:
        form["external_messages"] = [{"channel": "...", "text": "..."}]
        meaning.append(_messages(profile.integration_policy))
    return Section(
        title="Answer",
        pieces=(
            Piece(name="answer", words=OPENINGS[ending], text=as_json(form), form="json"),
            Piece(name="meaning", words="\n".join(meaning)),
        ),
    )


def _messages(channels: Mapping[str, str] | None) -> str:
    allowed = [channel for channel, policy in sorted((channels or {}).items()) if policy == "allow"]
    which = "" if channels is None else f" Channels: {', '.join(map(inline, allowed)) or 'none'}."
    return (
        "- `external_messages`: messages to send, each an object with `channel` and `text`; `[]` for none. "
        f"They are sent after verification, not by you.{which}"
    )


def as_json(value: object) -> str:
    """JSON for readers: indented, keys in the order they have."""
    return json.dumps(value, indent=2, ensure_ascii=False)
