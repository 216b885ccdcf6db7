"""Outcomes: what an attempt claims, read strictly, and what it is worth once the findings are in.

The ladder: a harness error, then the adapter's envelope, then the last balanced JSON object of the last message, else
no result. No result is never `completed`. Words are compared, phrases are not: prose decides nothing.
"""

from collections.abc import Sequence
from typing import Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from keisei.records.attempt import ExitStatus
from keisei.records.finding import FindingRecord
from keisei.records.form import JsonObject
from keisei.records.launch import Exit
from keisei.records.outcome import TaskOutcome
from keisei.records.problem import printable
from keisei.records.report import AgentReport, ErrorKind, HarnessError
from keisei.rules.answer import last_object, reread
from keisei.rules.claim import SUMMARY, Claim, Unread, cut, read
from keisei.rules.landing import rejecting
from keisei.rules.question import reported

RAW_HEAD, RAW_TAIL = 4096, 12_288
"""Bytes of the last message that an outcome quotes: its beginning, and its end, where the answer stands."""
LINE: Final = 400
"""Characters of a reason."""
STRONGER: Final[frozenset[ErrorKind]] = frozenset({"rate_limit", "auth", "overloaded", "network", "limit", "refused"})
"""Errors that explain a timeout; the others are only what a program that was ended leaves behind."""


class Verdict(Struct, frozen=True, kw_only=True):
    """What a claim is worth."""

    outcome: TaskOutcome
    """What the task becomes, tries aside. `completed` only where every finding that rejects held."""
    exit_status: ExitStatus
    """How the program ended."""
    error: HarnessError | None = None
    """What the harness failed by."""
    retry_after_s: float | None = None
    """A wait that the answer asks for."""
    rejected_by: tuple[str, ...] = ()
    """Capabilities whose finding did not hold."""


def decode(report: AgentReport, end: Exit, *, complete_by_exit_code: bool) -> Claim:
    """What an attempt claims. Never raises, whatever it printed.

    A program that was ended, or ended badly, never claims `completed`; one that exits with an error of its own may
    still say `blocked` or the like. Exit code 0 without an answer completes only with `complete_by_exit_code`, which is
    for plain programs whose task type says so; an answer with a `status` outweighs it.
    """
    raw = _quoted(report.text)
    answer = last_object(report.text or "") if report.envelope is None else reread(report.envelope)
    claim = _claim(report, answer, end, by_exit_code=complete_by_exit_code)
    error = _error(report, end, claim)
    if end.canceled or end.lease_lost:
        status: ExitStatus = "canceled" if end.canceled else "lost"
        claim = _failed("no_result", "no result: it was ended before it was done", status)
    elif error is not None:
        status = "timeout" if error.kind == "timeout" else "error"
        reason = f"harness error ({error.kind}): {_line(error.message)}"
        claim = replace(_failed("harness_error", reason, status), error=error, retry_after_s=claim.retry_after_s)
    elif not claim.questions:
        claim = replace(claim, questions=reported(report.text))
    return replace(claim, outcome=replace(claim.outcome, raw_output=raw))


def judge(claim: Claim, findings: Sequence[FindingRecord]) -> Verdict:
    """What a claim is worth. `completed` needs every finding of severity block held; only not applicable is no matter.

    A claim that is turned down becomes a retryable failure which says why, and asks for nothing: its follow-ups,
    messages and signal are left out.
    """
    against = rejecting(findings)
    outcome = claim.outcome
    if outcome.status == "completed" and against:
        why = "; ".join(f"{each.capability} is {each.status}: {each.reason}" for each in against)
        outcome = replace(
            outcome,
            status="retryable_failure",
            machine_status="needs_retry",
            operator_summary=cut(f"not completed: {why}. The agent said: {outcome.operator_summary}", SUMMARY),
            workflow_signal=None,
            follow_up_tasks=(),
            external_messages=(),
        )
    return Verdict(
        outcome=outcome,
        exit_status=claim.exit_status,
        error=claim.error,
        retry_after_s=claim.retry_after_s,
        rejected_by=tuple(dict.fromkeys(each.capability for each in against)),
    )


def _claim(report: AgentReport, answer: JsonObject | None, end: Exit, *, by_exit_code: bool) -> Claim:
    """What the answer says, its end aside."""
    if by_exit_code and end.code == 0 and "status" not in (answer or report.envelope or {}):
        summary = _last_line(report.text) or "exit code 0"
        outcome = TaskOutcome(status="completed", machine_status="ok", operator_summary=summary)
        return Claim(kind="claims", outcome=outcome, exit_status="ok")
    if answer is None:
        where = "the output has no JSON object at its end that can be read"
        reason = where if report.envelope is None else "the answer is too large, too deep or cannot be stored"
        return _failed("no_result", f"no result: {reason}", "ok")
    try:
        return read(answer)
    except Unread as fault:
        return _failed("no_result", _line(f"no result: {fault}"), "ok")


def _failed(kind: Literal["no_result", "harness_error"], reason: str, status: ExitStatus) -> Claim:
    outcome = TaskOutcome(status="retryable_failure", machine_status="needs_retry", operator_summary=reason)
    return Claim(kind=kind, outcome=outcome, exit_status=status, reason=reason)


def _error(report: AgentReport, end: Exit, claim: Claim) -> HarnessError | None:
    """What the harness failed by: what it says, unless that is only the trace of its being ended."""
    if end.timed_out:
        if report.error is not None and report.error.kind in STRONGER:
            return report.error
        return HarnessError(
            kind="timeout", message="it wrote nothing for too long" if end.silent else "its time was up"
        )
    if report.error is not None:
        return report.error
    if end.fault is not None:
        return HarnessError(kind="network", message=_line(end.fault))
    if end.code == 0 or (end.code is not None and claim.kind == "claims" and claim.outcome.status != "completed"):
        return None
    said = ", although it says `completed`" if claim.outcome.status == "completed" else ""
    if end.signal is not None:
        return HarnessError(kind="crash", message=f"ended by signal {end.signal}{said}")
    told = f"exit code {end.code}" if end.code is not None else "nobody can tell how it ended"
    return HarnessError(kind="crash", message=f"{told}{said}")


def _quoted(text: str | None) -> str | None:
    """The last message as far as an outcome quotes it, without what no store takes: NUL and half surrogates."""
    if text is None:
        return None
    data = text.replace("\0", "\ufffd").encode("utf-8", "replace")
    cut = len(data) - RAW_HEAD - RAW_TAIL
    if cut <= 0:
        return data.decode("utf-8")
    head, tail = data[:RAW_HEAD], data[-RAW_TAIL:]
    note = f"\n[... {cut} bytes are left out here; the evidence has them all ...]\n"
    return head.decode("utf-8", "ignore") + note + tail.decode("utf-8", "ignore")


def _last_line(text: str | None) -> str:
    tail = (text or "")[-RAW_TAIL:].splitlines()
    return _line(next((line for line in reversed(tail) if line.strip()), "").strip())


def _line(text: str) -> str:
    """One printable line."""
    return cut(printable(" ".join(text[: LINE * 4].split())), LINE)
