"""Attempts: one run of a task, while it runs and after, with all its evidence."""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Final

import msgspec
from msgspec import Struct
from starlette.routing import BaseRoute, Route

from keisei.console import attempt_evidence, attempt_stream
from keisei.console.asking import Cursor, Key, Limit
from keisei.console.attempt_evidence import EvidenceFile, content, hand_out, listed
from keisei.console.attempt_frame import Stage, stage_of
from keisei.console.attempt_output import AttemptOutput, AttemptTools, told_so_far
from keisei.console.attempt_stream import follow, known_attempt
from keisei.console.cursor import lost
from keisei.console.diff import BRIEF, LARGEST, WHOLE, Diff, DiffBounds, diff_of
from keisei.console.page import API, Page, page
from keisei.console.premises import Premises
from keisei.console.templating import lines
from keisei.records.answer import ApprovalQuery
from keisei.records.approval import ApprovalRecord
from keisei.records.attempt import TaskAttempt, Usage
from keisei.records.bundle import BundleRecord
from keisei.records.finding import FindingRecord
from keisei.records.id import AttemptId
from keisei.records.landing import LandingRecord
from keisei.records.move import AttemptQuery, LandingQuery
from keisei.records.relay import RelayCall
from keisei.records.task import TaskRecord
from keisei.wiring.shop import RELAY_LOG, Result

PROMPT: Final = 65_536
"""Bytes of the prompt on the page."""
RESULT: Final = 16 * 1024 * 1024
RELAY: Final = 4 * 1024 * 1024
"""Bytes of the relay's log that are added up while an attempt runs."""
MOST: Final = 50
"""Rows of each kind on the page."""


class AttemptAsk(Struct, frozen=True, kw_only=True):
    """Which attempt."""

    attempt_id: Key
    """Its id."""


class AttemptEnd(Struct, frozen=True, kw_only=True):
    """How the harness ended, out of result.json."""

    code: int | None
    """Its exit code; null where a signal ended it, or nobody can tell."""
    signal: int | None
    """The signal that ended it."""
    timed_out: bool
    """Its time was up."""
    silent: bool
    """It wrote nothing for too long."""
    canceled: bool
    """Somebody ended it."""
    http_status: int | None
    """The status of the answer, where a server was asked."""
    fault: str | None
    """What went wrong, in the adapter's words."""
    turns: int | None
    """How many turns it took."""
    last_message: str | None
    """The agent's last words: a quotation, no verdict."""
    stdout_bytes: int
    """Bytes it wrote on standard output."""
    stderr_bytes: int
    """Bytes it wrote on standard error."""
    cut: bool
    """Not all of its output was kept."""


class AttemptSpend(Struct, frozen=True, kw_only=True):
    """What requests to the model's server have used so far, as the relay counts them."""

    calls: int
    """How many requests."""
    usage: Usage
    """Tokens and money; unknown is null."""


class AttemptPrompt(Struct, frozen=True, kw_only=True):
    """What the harness was told."""

    text: str
    """The prompt, with control characters shown."""
    size: int
    """Bytes of the whole prompt."""
    whole: bool
    """All of it stands here."""


class AttemptPage(Struct, frozen=True, kw_only=True):
    """One attempt with all its evidence."""

    attempt: TaskAttempt
    """The attempt."""
    task: TaskRecord | None
    """The task it runs."""
    stage: Stage
    """How far it has come."""
    duration_s: float
    """How long it took, or has taken."""
    reason: str | None
    """Why it ended so."""
    end: AttemptEnd | None
    """How the harness ended; null while it runs, and where nothing is known."""
    output: AttemptOutput
    """What it has written."""
    tools: AttemptTools
    """What it was allowed and refused."""
    diff: Diff | None
    """What it changed; null where there is no such evidence yet."""
    findings: tuple[FindingRecord, ...]
    """What verification said."""
    bundle: BundleRecord | None
    """Everything it was allowed to see."""
    prompt: AttemptPrompt | None
    """What it was told."""
    files: tuple[EvidenceFile, ...]
    """Its evidence files."""
    spend: AttemptSpend | None
    """What the relay has counted; null where no request went through it."""
    landings: tuple[LandingRecord, ...]
    """Its candidates on their way to main."""
    approvals: tuple[ApprovalRecord, ...]
    """What people were asked about its task and have not decided."""
    others: tuple[TaskAttempt, ...]
    """All attempts of the task, newest first."""


class AttemptDiffPage(Struct, frozen=True, kw_only=True):
    """What an attempt changed."""

    attempt: TaskAttempt
    """The attempt."""
    diff: Diff | None
    """Its changes; null where there is no such evidence."""


class AttemptsAsk(Struct, frozen=True, kw_only=True):
    """Which attempts."""

    open: bool = False
    """Only those that run."""
    after: Cursor | None = None
    """Where the list goes on."""
    limit: Limit = 50
    """How many."""


class AttemptLine(Struct, frozen=True, kw_only=True):
    """One attempt in a list."""

    attempt: TaskAttempt
    """The attempt."""
    subject: str | None
    """What its task is about."""


class AttemptsPage(Struct, frozen=True, kw_only=True):
    """Attempts, newest first."""

    items: tuple[AttemptLine, ...]
    """The attempts."""
    next: str | None
    """Where the list goes on."""


def show_attempts(premises: Premises, asks: AttemptsAsk) -> AttemptsPage:
    """Runs of all tasks, newest first."""
    before = None if asks.after is None else AttemptId(asks.after)
    query = AttemptQuery(open=asks.open, before=before, limit=asks.limit + 1)
    found = premises.store.find_attempts(query)
    if before is not None and not found and premises.store.attempt(before) is None:
        raise lost()
    shown = found[: asks.limit]
    tasks = {each: premises.store.task(each) for each in {each.task_id for each in shown}}
    subjects = {task_id: None if task is None else task.subject for task_id, task in tasks.items()}
    return AttemptsPage(
        items=tuple(AttemptLine(attempt=each, subject=subjects[each.task_id]) for each in shown),
        next=shown[-1].attempt_id if len(found) > asks.limit else None,
    )


def show_attempt(premises: Premises, asks: AttemptAsk) -> AttemptPage:
    """One attempt: what it does or did, what it was refused, what it changed, and what was found."""
    store, attempt = premises.store, known_attempt(premises, asks.attempt_id)
    output, tools = told_so_far(premises, attempt)
    task = store.task(attempt.task_id)
    return AttemptPage(
        attempt=attempt,
        task=task,
        stage=stage_of(attempt),
        duration_s=((attempt.ended_at or premises.now()) - attempt.started_at).total_seconds(),
        reason=_reason(attempt),
        end=_end(premises, attempt),
        output=output,
        tools=tools,
        diff=_diff(premises, attempt, BRIEF),
        findings=tuple(store.findings(attempt.attempt_id)),
        bundle=store.bundle(attempt.attempt_id),
        prompt=_prompt(premises, attempt),
        files=listed(premises, attempt),
        spend=_spend(premises, attempt),
        landings=tuple(store.landings(LandingQuery(attempt_id=attempt.attempt_id, limit=MOST))),
        approvals=tuple(store.approvals(ApprovalQuery(task_id=attempt.task_id, limit=MOST))),
        others=tuple(store.find_attempts(AttemptQuery(task_id=attempt.task_id, limit=MOST))),
    )


def show_diff(premises: Premises, asks: AttemptAsk) -> AttemptDiffPage:
    """What an attempt changed, as much of it as a page can hold."""
    attempt = known_attempt(premises, asks.attempt_id)
    return AttemptDiffPage(attempt=attempt, diff=_diff(premises, attempt, WHOLE))


def _reason(attempt: TaskAttempt) -> str | None:
    found = (attempt.diagnostics or {}).get("reason")
    return found if isinstance(found, str) else None


def _end(premises: Premises, attempt: TaskAttempt) -> AttemptEnd | None:
    data, size = content(premises, attempt, "result.json", RESULT)
    try:
        told = msgspec.json.decode(data, type=Result) if len(data) == size else None
    except (ValueError, RecursionError):
        return None
    if told is None:
        return None
    ended, kept, report = told.ended, told.kept, told.report
    return AttemptEnd(
        code=ended.code,
        signal=ended.signal,
        timed_out=ended.timed_out,
        silent=ended.silent,
        canceled=ended.canceled,
        http_status=ended.http_status,
        fault=report.error.message if report.error is not None else ended.fault,
        turns=report.turns,
        last_message=None if report.text is None else lines(report.text[:PROMPT]),
        stdout_bytes=kept.stdout.bytes_seen,
        stderr_bytes=kept.stderr.bytes_seen,
        cut=kept.stdout.truncated or kept.stderr.truncated,
    )


def _diff(premises: Premises, attempt: TaskAttempt, bounds: DiffBounds) -> Diff | None:
    patch, size = content(premises, attempt, "diff.patch", LARGEST)
    known = size or any(each.name == "diff.patch" for each in listed(premises, attempt))
    return diff_of(patch, size, bounds) if known else None


def _prompt(premises: Premises, attempt: TaskAttempt) -> AttemptPrompt | None:
    data, size = content(premises, attempt, "prompt.md", PROMPT)
    if not size:
        return None
    return AttemptPrompt(text=lines(data.decode("utf-8", "replace")), size=size, whole=len(data) == size)


def _spend(premises: Premises, attempt: TaskAttempt) -> AttemptSpend | None:
    data, _ = content(premises, attempt, RELAY_LOG, RELAY)
    calls = list(_calls(data))
    if not calls:
        return None
    usage = Usage(
        input_tokens=_sum(each.input_tokens for each in calls),
        output_tokens=_sum(each.output_tokens for each in calls),
        cache_read_tokens=_sum(each.cache_read_tokens for each in calls),
        cache_write_tokens=_sum(each.cache_write_tokens for each in calls),
        cost_usd=_sum(each.cost_usd for each in calls),
    )
    return AttemptSpend(calls=len(calls), usage=usage)


def _calls(data: bytes) -> Iterator[RelayCall]:
    for line in data.split(b"\n"):
        with suppress(ValueError, RecursionError):
            yield msgspec.json.decode(line, type=RelayCall)


def _sum(values: Iterator[Any]) -> Any:  # noqa: ANN401 - counts, or money
    """The sum of what is known; None where nothing is."""
    known = [each for each in values if each is not None]
    return sum(known) if known else None


EVIDENCE: Final = "/attempts/{attempt_id}/evidence/{name:path}"
STREAM: Final = "/attempts/{attempt_id}/stream"
PAGES: Final[tuple[Page, ...]] = (
    page("/attempts", "attempts.html", show_attempts),
    page("/attempts/{attempt_id}/diff", "attempt_diff.html", show_diff),
    page("/attempts/{attempt_id}", "attempt.html", show_attempt),
)
ROUTES: Final[tuple[BaseRoute, ...]] = (
    Route(API + STREAM, follow, methods=["GET"]),
    Route(API + EVIDENCE, hand_out, methods=["GET"]),
    Route(EVIDENCE, hand_out, methods=["GET"]),
)
EXTRA_PATHS: Final[dict[str, Any]] = {
    API + STREAM: {"get": attempt_stream.described()},
    f"{API}/attempts/{{attempt_id}}/evidence/{{name}}": {"get": attempt_evidence.described()},
}
