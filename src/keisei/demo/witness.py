"""The witness: what came of a task, read back from the store, the evidence, the gate's log and git."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from keisei.demo.project import tip
from keisei.demo.script import STOLEN
from keisei.demo.stage import Stage
from keisei.records.attempt import TaskAttempt
from keisei.records.decision import GateDecision
from keisei.records.error import WorldFault
from keisei.records.finding import FindingRecord
from keisei.records.id import TaskId
from keisei.records.landing import LandingRecord
from keisei.records.move import LandingQuery
from keisei.records.task import TaskRecord
from keisei.rules.reconcile import OURS
from keisei.wiring.foreground import growing, work_ref

PROBED: Final = re.compile(r"probe (write|read): ([A-Za-z][A-Za-z -]*)")
"""What mallory's program prints, in whatever transcript."""
DONE: Final = "done"


class Seen(NamedTuple):
    """What came of a task."""

    task: TaskRecord
    attempt: TaskAttempt
    decisions: list[GateDecision]
    """What the gate said to the agent's own calls, in their order."""
    said: str
    """The first line of the agent's last message."""
    probed: dict[str, str]
    """What mallory's program came to: `done`, or the kernel's word; nothing where it did not run."""
    left_in_main: bool
    """Whether the file is there that it wanted to leave."""
    findings: list[FindingRecord]
    landing: LandingRecord | None
    ref: str | None
    """Where the work is kept."""
    main: str
    """The commit main is at now."""


def look(stage: Stage, task_id: TaskId) -> Seen:
    """What came of a task. Raises WorldFault where it was never tried: then there is nothing to look at."""
    store = stage.store
    task, attempts = store.task(task_id), store.attempts(task_id)
    if task is None or not attempts:
        why = "; ".join([*stage.troubles, *([task.last_error] if task is not None and task.last_error else [])])
        raise WorldFault(
            f"a task of the demo was not run: {why or 'nobody can tell why'}", "`keisei doctor` tells more"
        )
    attempt = attempts[-1]
    landings = store.landings(LandingQuery(attempt_id=attempt.attempt_id))
    return Seen(
        task=task,
        attempt=attempt,
        decisions=list(_decisions(stage, attempt)),
        said=next(iter(_text(stage, attempt, "last-message.txt").strip().splitlines()), ""),
        probed=dict(PROBED.findall(_text(stage, attempt, "stdout.log"))),
        left_in_main=(stage.place.main / STOLEN).exists(),
        findings=store.findings(attempt.attempt_id),
        landing=landings[0] if landings else None,
        ref=work_ref(stage.home, attempt),
        main=tip(stage.place),
    )


def _decisions(stage: Stage, attempt: TaskAttempt) -> Iterator[GateDecision]:
    for line in _text(stage, attempt, "gate.jsonl").splitlines():
        decision = msgspec.json.decode(line, type=GateDecision)
        if not (decision.tool_use_id or "").startswith(OURS):
            yield decision


def _text(stage: Stage, attempt: TaskAttempt, name: str) -> str:
    pieces, start = [], 0
    while piece := growing(stage.home, attempt, name, start):
        pieces.append(piece)
        start += len(piece)
    return b"".join(pieces).decode("utf-8", "replace")


def target_of(stage: Stage, decision: GateDecision) -> str:
    """What a call was about, as people write it: its command, or its path below the worktree or the demo's folder."""
    given = decision.input
    text = next((str(given[name]) for name in ("command", "cmd", "file_path", "path") if name in given), decision.tool)
    text = next(iter(text.splitlines()), "")
    if not text.startswith("/"):
        return text
    for folder, mark in ((decision.cwd or "", ""), (str(stage.place.folder), "../")):
        if folder and Path(text).is_relative_to(folder):
            return f"{mark}{Path(text).relative_to(folder)}"
    return text
