"""Claims: an answer object read strictly, field by field. What is wrong is told, never dropped."""

from collections.abc import Mapping
from typing import Any, Final, Literal

from msgspec import Struct

from keisei.contracts.check import build
from keisei.contracts.dialect import translate
from keisei.contracts.words import kind_of, shown
from keisei.records.attempt import ExitStatus
from keisei.records.error import ContractViolation
from keisei.records.form import JsonObject
from keisei.records.intent import TaskIntent
from keisei.records.outcome import MachineStatus, OutcomeStatus, TaskOutcome
from keisei.records.report import HarnessError
from keisei.rules import question as asking
from keisei.rules.artifact import WORDS, ClaimedChange, claimed_change

STATUSES: Final[Mapping[str, OutcomeStatus]] = {
    "completed": "completed",
    "retryable_failure": "retryable_failure",
    "needs_retry": "retryable_failure",
    "permanent_failure": "permanent_failure",
    "blocked": "blocked",
}
"""Words an answer may use. `operator_canceled` is not among them: it comes from operators."""
MACHINE: Final[Mapping[OutcomeStatus, MachineStatus]] = {
    "completed": "ok",
    "retryable_failure": "needs_retry",
    "permanent_failure": "failed",
    "blocked": "blocked",
}
MACHINE_WORDS: Final[frozenset[MachineStatus]] = frozenset({"ok", "needs_retry", "blocked", "failed"})

SUMMARY: Final = 4000
"""Characters of a summary."""
LONGEST_WAIT_S: Final = 604_800.0
"""Nobody is believed to need more than a week."""
LONGEST_TEXT: Final = 4096
"""Characters of a path or a signal."""
MOST: Final = {
    "file_changes": 20_000,
    "artifact_paths": 1000,
    "follow_up_tasks": 100,
    "external_messages": 100,
    "questions": asking.MOST,
}
"""Items of each list; an answer with more is refused as a whole."""


class Claim(Struct, frozen=True, kw_only=True):
    """What an attempt says of itself. Nothing in it is verified."""

    kind: Literal["claims", "no_result", "harness_error"]
    """Whether there is a usable answer, none, or a harness that failed."""
    outcome: TaskOutcome
    """What the task would become if all of it were true; for no result and a harness error a retryable failure."""
    exit_status: ExitStatus
    """How the program ended."""
    changes: tuple[ClaimedChange, ...] = ()
    """File changes it claims, read."""
    reason: str | None = None
    """Why it does not complete, in one line that begins with what it is; None for a usable answer."""
    error: HarnessError | None = None
    """What the harness failed by."""
    retry_after_s: float | None = None
    """A wait that the answer asks for."""
    questions: tuple[str, ...] = ()
    """What it wants to know of a person."""


class Unread(Exception):
    """The answer has another shape than it must have; the sentence says where."""


def read(answer: Mapping[str, Any]) -> Claim:
    """The answer as a claim. Raises Unread where any part has another shape: what is wrong is told, never dropped."""
    status, machine = _status(answer)
    changes = tuple(map(_change, _list(answer, "file_changes")))
    outcome = TaskOutcome(
        status=status,
        machine_status=machine,
        operator_summary=_summary(answer, status),
        file_changes=tuple(each.path for each in changes),
        artifact_paths=tuple(_text("artifact_paths", each) for each in _list(answer, "artifact_paths")),
        workflow_signal=_optional_text(answer, "workflow_signal"),
        follow_up_tasks=tuple(_intent(number, each) for number, each in enumerate(_list(answer, "follow_up_tasks"))),
        external_messages=tuple(map(_message, _list(answer, "external_messages"))),
    )
    return Claim(
        kind="claims",
        outcome=outcome,
        exit_status="ok",
        changes=changes,
        retry_after_s=_wait(answer),
        questions=_questions(answer),
    )


def _status(answer: Mapping[str, Any]) -> tuple[OutcomeStatus, MachineStatus]:
    """Both statuses, agreeing. `completed` with any machine status but `ok` is not completed."""
    if "status" not in answer:
        raise Unread("the answer has no `status`")
    said = answer["status"]
    status = STATUSES.get(said) if isinstance(said, str) else None
    if status is None:
        raise Unread(f"unknown status {shown(said)}" if isinstance(said, str) else _wrong("status", "a string", said))
    machine = answer.get("machine_status")
    if machine is None or (status == "completed" and machine == "ok"):
        return status, MACHINE[status]
    if status == "completed":
        status = "blocked" if machine == "blocked" else "retryable_failure"
    known = machine != "ok" and isinstance(machine, str) and machine in MACHINE_WORDS
    return status, machine if known else MACHINE[status]


def _summary(answer: Mapping[str, Any], status: OutcomeStatus) -> str:
    said = answer.get("operator_summary")
    if said is not None and not isinstance(said, str):
        raise Unread(_wrong("operator_summary", "a string", said))
    return cut((said or "").strip() or f"{status}, without a summary", SUMMARY)


def _list(answer: Mapping[str, Any], key: str) -> list[Any]:
    value = answer.get(key)
    if value is None:
        return []
    if not isinstance(value, list):
        raise Unread(_wrong(key, "a list", value))
    if len(value) > MOST[key]:
        raise Unread(f"`{key}` has {len(value)} items, more than {MOST[key]}")
    return value


def _text(key: str, value: object) -> str:
    if not isinstance(value, str):
        raise Unread(_wrong(key, "a list of strings", [value]))
    if not value.strip() or len(value) > LONGEST_TEXT:
        raise Unread(f"`{key}` has an item that is {'empty' if not value.strip() else 'too long'}")
    return value


def _optional_text(answer: Mapping[str, Any], key: str) -> str | None:
    value = answer.get(key)
    if value is not None and not isinstance(value, str):
        raise Unread(_wrong(key, "a string", value))
    return None if value is None or not value.strip() else _text(key, value).strip()


def _change(value: object) -> ClaimedChange:
    if not isinstance(value, dict):
        return claimed_change(_text("file_changes", value))
    path = value.get("path", value.get("file"))
    if not isinstance(path, str):
        raise Unread("`file_changes` has an object without a `path`")
    words = (value.get(key) for key in ("change", "status", "action"))
    word = next((each for each in words if isinstance(each, str) and each.lower() in WORDS), None)
    return claimed_change(_text("file_changes", path), word)


def _intent(number: int, value: object) -> TaskIntent:
    try:
        intent: TaskIntent = build("task.intent", translate("task.intent", value).data)
    except ContractViolation as error:
        raise Unread(f"follow_up_tasks[{number}] is {error.message}") from error
    return intent


def _message(value: object) -> JsonObject:
    if not isinstance(value, dict):
        raise Unread(_wrong("external_messages", "a list of objects", [value]))
    return value


def _questions(answer: Mapping[str, Any]) -> tuple[str, ...]:
    """One question, or a list of them; `none` asks nothing."""
    value = answer.get("questions")
    for each in (said := [value] if isinstance(value, str) else _list(answer, "questions")):
        if not isinstance(each, str):
            raise Unread(_wrong("questions", "a list of strings", [each]))
    return tuple(cut(each.strip(), asking.LONGEST) for each in said if asking.is_question(each))


def _wait(answer: Mapping[str, Any]) -> float | None:
    value = answer.get("retry_after_seconds")
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= LONGEST_WAIT_S:
        raise Unread(f"`retry_after_seconds` must be a number from 0 to {LONGEST_WAIT_S:.0f}, not {shown(value)}")
    return float(value)


def _wrong(key: str, expected: str, value: object) -> str:
    got = f"a list with {kind_of(value[0])}" if isinstance(value, list) and value else kind_of(value)
    return f"`{key}` must be {expected}, not {got}"


def cut(text: str, most: int) -> str:
    """The text, at most that long, with a mark where something is missing."""
    return text if len(text) <= most else f"{text[: most - 1]}…"
