"""The summary: what came of a task that was carried in the foreground, and where its work is."""

import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from keisei.cli.desk import first_line
from keisei.cli.progress import elapsed_words, spent_words, write
from keisei.contracts.check import data_of
from keisei.records.problem import printable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from keisei.cli.desk import Desk
    from keisei.records.approval import ApprovalRecord
    from keisei.records.attempt import TaskAttempt, Usage
    from keisei.records.landing import LandingRecord
    from keisei.records.task import TaskRecord

MOST = 1000
"""Attempts that are added up."""
SHOWN = 20
"""Changed files that people are shown one by one."""


class Ending(NamedTuple):
    """A task that was carried, and how."""

    task: "TaskRecord"
    exit_code: int
    agent_id: str


def summary(opened: "Desk", ending: Ending) -> dict[str, Any]:
    """Everything worth knowing, as data; the last thing `--json` prints."""
    from keisei.cli.verdict import verdict
    from keisei.records.answer import ApprovalQuery
    from keisei.wiring.foreground import changed_files, work_ref

    task = ending.task
    waiting = opened.store.approvals(ApprovalQuery(task_id=task.task_id))
    attempts = opened.store.attempts(task.task_id, MOST)
    last = attempts[-1] if attempts else None
    findings = [] if last is None else opened.store.findings(last.attempt_id)
    return {
        "event": "done",
        "status": task.status,
        "exit_code": ending.exit_code,
        "summary": task.outcome.operator_summary if task.outcome is not None else task.last_error,
        "task_id": task.task_id,
        "agent_id": ending.agent_id,
        "attempts": [each.attempt_id for each in attempts],
        "adapter_id": None if last is None else last.adapter_id,
        "model": None if last is None else last.model,
        "elapsed_s": None if last is None else _elapsed_s(attempts),
        "isolation": [] if last is None else list(last.isolation),
        "gate": None if last is None or last.gate_summary is None else data_of(last.gate_summary),
        "changes": [] if last is None else [each._asdict() for each in changed_files(opened.home, last)],
        "ref": None if last is None else work_ref(opened.home, last),
        "findings": [data_of(each) for each in findings],
        "verdict": verdict(findings),
        "landing": _landing(landing_of(opened, task), waiting),
        "usage": _usage([each.usage for each in attempts if each.usage is not None]),
        "evidence": None if last is None else f"keisei attempt show {last.attempt_id}",
        "approvals": [each.approval_id for each in waiting],
    }


def landing_of(opened: "Desk", task: "TaskRecord") -> "LandingRecord | None":
    """The landing of what a task has done; None where nothing would land."""
    from keisei.records.move import LandingQuery

    return next(iter(opened.store.landings(LandingQuery(task_id=task.task_id, limit=1))), None)


def _landing(landing: "LandingRecord | None", waiting: "Sequence[ApprovalRecord]") -> dict[str, Any] | None:
    """A landing, with the id of the approval that waits for it."""
    if landing is None:
        return None
    asked = (each.approval_id for each in waiting if each.key == f"landing:{landing.landing_id}")
    return {**data_of(landing), "approval_id": next(asked, None)}


def _elapsed_s(attempts: "Sequence[TaskAttempt]") -> float:
    return sum((each.ended_at - each.started_at).total_seconds() for each in attempts if each.ended_at is not None)


def _usage(found: "Sequence[Usage]") -> dict[str, Any]:
    """All attempts together; a number that nobody knows stays null."""
    names = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "cost_usd")
    known = {name: [value for each in found if (value := getattr(each, name)) is not None] for name in names}
    return {name: sum(values) if values else None for name, values in known.items()}


def told(found: "Mapping[str, Any]") -> None:
    """The same for people, on standard output: only what there is to say."""
    write(sys.stdout, "".join(f"{line}\n" for line in _lines(found)))


def _lines(found: "Mapping[str, Any]") -> list[str]:
    lines = [f"{found['status']}: {first_line(found['summary'])}" if found["summary"] else found["status"]]
    lines += [*verdict_lines(found), *_landing_lines(found)]
    lines.append(f"task: {found['task_id']} ({printable(found['agent_id'])})")
    if not found["attempts"]:
        return lines
    lines += [_attempt_line(found), *_isolation_lines(found), *change_lines(found)]
    usage = found["usage"]
    tokens = [value for name, value in usage.items() if name != "cost_usd" and value is not None]
    if spent := spent_words(sum(tokens) if tokens else None, usage["cost_usd"]):
        lines.append(f"spent: {spent}")
    return [*lines, f"evidence: {found['evidence']}", *_work_lines(found)]


def verdict_lines(found: "Mapping[str, Any]") -> list[str]:
    """How many predicates hold, and every one that does not, with its reason; nothing where none was asked."""
    said = found["verdict"]
    if not said["asked"]:
        return []
    marks = {"failed": "", "warned": " (a warning)", "unasked": ""}
    return [
        f"verdict: {said['held']} of {said['asked']} held",
        *(
            f"  {printable(each['capability'])}: {each['status']}, {first_line(each['reason'])}{mark}"
            for part, mark in marks.items()
            for each in said[part]
        ),
    ]


def _landing_lines(found: "Mapping[str, Any]") -> list[str]:
    """Where its work stands on the way to main, and what else needs a person."""
    from keisei.cli.land import landing_words

    landing = found["landing"]
    told = [] if landing is None else [printable(f"landing: {landing_words(landing)}")]
    own = None if landing is None else landing["approval_id"]
    return [*told, *(f"needs you: keisei approval show {each}" for each in found["approvals"] if each != own)]


def _attempt_line(found: "Mapping[str, Any]") -> str:
    number = len(found["attempts"])
    tries = "" if number == 1 else f", {number} attempts"
    named = ", ".join(printable(each) for each in (found["adapter_id"], found["model"]) if each)
    return f"ran: {named}, {elapsed_words(found['elapsed_s'])}{tries}"


def _isolation_lines(found: "Mapping[str, Any]") -> list[str]:
    lines = [f"isolation: {' + '.join(map(printable, found['isolation']))}"] if found["isolation"] else []
    if gate := found["gate"]:
        broken = f", {gate['errors']} refused because the gate broke" if gate["errors"] else ""
        lines.append(f"gate: {gate['allowed']} allowed, {gate['denied']} denied{broken}")
    return lines


def change_lines(found: "Mapping[str, Any]") -> list[str]:
    """The files that change, with the lines that come and go."""
    changes = found["changes"]
    if not changes:
        return []
    added, removed = (sum(each[name] or 0 for each in changes) for name in ("added", "removed"))
    lines = [f"changed: {len(changes)} {'file' if len(changes) == 1 else 'files'}, +{added} -{removed}"]
    for each in changes[:SHOWN]:
        size = "binary" if each["added"] is None else f"+{each['added']} -{each['removed']}"
        lines.append(f"  {printable(each['path'])} {size}")
    return lines if len(changes) <= SHOWN else [*lines, f"  and {len(changes) - SHOWN} more"]


def _work_lines(found: "Mapping[str, Any]") -> list[str]:
    """The last line: where the work is."""
    return [f"work: git show {found['ref']}"] if found["ref"] else []
