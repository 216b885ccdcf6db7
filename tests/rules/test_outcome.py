"""Outcomes: every way of lying that was ever seen ends as anything but completed; honest answers are read whole."""

import json
from datetime import UTC, datetime
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from keisei.contracts.check import data_of, violations
from keisei.records.finding import FindingRecord, FindingStatus
from keisei.records.launch import Exit
from keisei.records.report import AgentReport, ErrorKind, HarnessError
from keisei.rules.claim import MOST
from keisei.rules.outcome import LINE, RAW_HEAD, RAW_TAIL, decode, judge
from keisei.testing.strategies import json_values

NOW = datetime(2026, 11, 15, 12, 0, tzinfo=UTC)
ENDED = Exit(
    code=0,
    signal=None,
    stdout=b"",
    stderr=b"",
    stdout_truncated=False,
    stderr_truncated=False,
    timed_out=False,
    canceled=False,
    survivors_killed=0,
    survivors_left=0,
    level="mark",
    started_at=NOW,
    duration_s=1.0,
)
DONE = {"status": "completed", "operator_summary": "All tests pass."}


def said(text, end=ENDED, *, by_exit_code=False, **report):
    """The claim of a program that said this."""
    words = text if text is None or isinstance(text, str) else json.dumps(text)
    return decode(AgentReport(text=words, **report), end, complete_by_exit_code=by_exit_code)


def finding(status="held", severity="block", capability="engine::artifacts", reason="reports/x.md is missing"):
    return FindingRecord(
        finding_id="f1",
        attempt_id="a1",
        capability=capability,
        status=status,
        severity=severity,
        reason=None if status == "held" else reason,
        run_from="worktree",
        duration_ms=1.0,
        created_at=NOW,
    )


def is_valid(outcome):
    return violations("task.outcome", data_of(outcome)) == []


LIES = {
    "nothing": "",
    "no text at all": None,
    "narration": "I could not do it. Everything failed.",
    "narrated success": "All done! status: completed, machine_status: ok",
    "status failed": {"status": "failed"},
    "status in_progress": {"status": "in_progress"},
    "status operator_canceled": {"status": "operator_canceled"},
    "status ok": {"status": "ok"},
    "status success": {"status": "success", "operator_summary": "done"},
    "status in capitals": {"status": "COMPLETED"},
    "status with a blank": {"status": "completed "},
    "status missing": {"operator_summary": "done", "machine_status": "ok"},
    "status null": {"status": None},
    "status true": {"status": True},
    "status number": {"status": 0},
    "status list": {"status": ["completed"]},
    "status object": {"status": {"completed": True}},
    "needs_retry": {"status": "needs_retry", "machine_status": "needs_retry"},
    "prose, then blocked": 'I tried hard.\n{"status": "blocked", "operator_summary": "no key"}',
    "completed, then blocked": '{"status": "completed"}\n\nOn second thought:\n{"status": "blocked"}',
    "completed inside blocked": {"status": "blocked", "operator_summary": "x", "detail": {"status": "completed"}},
    "completed inside a cut answer": '{"status": "blocked", "detail": {"status": "completed"}',
    "completed, then a cut answer": '{"status": "completed"}\n{"status": "blocked", "operator_s',
    "array": [{"status": "completed"}],
    "array of words": ["completed"],
    "null": "null",
    "number": "42",
    "word": '"completed"',
    "twice": '{"status": "blocked", "status": "completed"}',
    "python": "{'status': 'completed'}",
    "unquoted": "{status: 'completed'}",
    "comment": '{"status": "completed" /* really */}',
    "escaped": '"{\\"status\\": \\"completed\\"}"',
    "not a number": '{"status": "completed", "cost": NaN}',
    "machine needs_retry": {"status": "completed", "machine_status": "needs_retry"},
    "machine blocked": {"status": "completed", "machine_status": "blocked"},
    "machine failed": {"status": "completed", "machine_status": "failed"},
    "machine canceled": {"status": "completed", "machine_status": "canceled"},
    "machine unknown": {"status": "completed", "machine_status": "fine"},
    "machine wrong type": {"status": "completed", "machine_status": ["ok"]},
    "file_changes text": {"status": "completed", "file_changes": "src/a.py"},
    "file_changes number": {"status": "completed", "file_changes": [1]},
    "file_changes empty": {"status": "completed", "file_changes": [" "]},
    "file_changes without path": {"status": "completed", "file_changes": [{"name": "a"}]},
    "artifact_paths object": {"status": "completed", "artifact_paths": {}},
    "artifact_paths nested": {"status": "completed", "artifact_paths": [["a"]]},
    "artifact_paths null": {"status": "completed", "artifact_paths": [None]},
    "artifact_paths endless": {"status": "completed", "artifact_paths": ["x" * 5000]},
    "artifact_paths many": {"status": "completed", "artifact_paths": ["x"] * (MOST["artifact_paths"] + 1)},
    "follow_up_tasks object": {"status": "completed", "follow_up_tasks": {"task_type": "x"}},
    "follow_up_tasks words": {"status": "completed", "follow_up_tasks": ["do more"]},
    "follow_up_tasks bad": {"status": "completed", "follow_up_tasks": [{"task_type": "x"}]},
    "external_messages text": {"status": "completed", "external_messages": "hello"},
    "external_messages words": {"status": "completed", "external_messages": ["hello"]},
    "operator_summary list": {"status": "completed", "operator_summary": ["done"]},
    "workflow_signal list": {"status": "completed", "workflow_signal": ["complete"]},
    "retry_after text": {"status": "completed", "retry_after_seconds": "300"},
    "retry_after endless": {"status": "completed", "retry_after_seconds": 99_999_999_999},
    "retry_after negative": {"status": "completed", "retry_after_seconds": -1},
    "retry_after true": {"status": "completed", "retry_after_seconds": True},
}


@pytest.mark.parametrize("lie", LIES.values(), ids=LIES)
def test_a_lie_is_never_completed(lie):
    claim = said(lie)

    assert claim.outcome.status != "completed"
    assert judge(claim, []).outcome.status != "completed"
    assert is_valid(claim.outcome)


NO_RESULT = [name for name in LIES if name not in ("needs_retry", "prose, then blocked", "completed, then blocked")]


@pytest.mark.parametrize(
    "name", [name for name in NO_RESULT if not name.startswith(("machine", "completed inside bl"))]
)
def test_an_answer_that_cannot_be_used_is_no_result_and_says_why(name):
    claim = said(LIES[name])

    assert claim.kind == "no_result"
    assert claim.reason.startswith("no result: ")
    assert claim.reason.isprintable()
    assert len(claim.reason) <= LINE
    assert claim.outcome.status == "retryable_failure"
    assert claim.outcome.operator_summary == claim.reason


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ({"status": "failed"}, "unknown status `failed`"),
        ({"status": 1}, "`status` must be a string, not an integer"),
        ({}, "no JSON object"),
        ({"a": 1}, "the answer has no `status`"),
        ({**DONE, "file_changes": "x"}, "`file_changes` must be a list, not a string"),
        ({**DONE, "file_changes": [1]}, "`file_changes` must be a list of strings, not a list with an integer"),
        ({**DONE, "file_changes": [{"name": "a"}]}, "`file_changes` has an object without a `path`"),
        ({**DONE, "artifact_paths": {}}, "`artifact_paths` must be a list, not an object"),
        ({**DONE, "follow_up_tasks": [{"payload": {}}]}, "follow_up_tasks[0] is not a valid task.intent: "),
        ({**DONE, "external_messages": [1]}, "`external_messages` must be a list of objects"),
        ({**DONE, "operator_summary": 1}, "`operator_summary` must be a string, not an integer"),
        ({**DONE, "workflow_signal": 1}, "`workflow_signal` must be a string, not an integer"),
        ({**DONE, "retry_after_seconds": 1e9}, "`retry_after_seconds` must be a number from 0 to 604800"),
    ],
)
def test_the_reason_names_what_is_wrong(answer, words):
    assert words in said(answer).reason


def test_an_honest_answer_is_read_whole():
    follow_up = {"kind": "docs.update", "source": "task:1", "payload": {"page": "a"}, "priority": 3}
    claim = said(
        {
            **DONE,
            "machine_status": "ok",
            "file_changes": ["created: src/a.py", {"path": "src/b.py", "change": "deleted"}, {"file": "src/c.py"}],
            "artifact_paths": ["reports/x.md"],
            "workflow_signal": " complete ",
            "follow_up_tasks": [follow_up],
            "external_messages": [{"channel": "slack", "text": "done"}],
            "retry_after_seconds": None,
            "confidence": 0.9,
        }
    )

    outcome = claim.outcome
    assert (claim.kind, claim.exit_status, claim.reason, claim.error) == ("claims", "ok", None, None)
    assert (outcome.status, outcome.machine_status) == ("completed", "ok")
    assert outcome.operator_summary == "All tests pass."
    assert outcome.file_changes == ("src/a.py", "src/b.py", "src/c.py")
    assert [each.change for each in claim.changes] == ["added", "deleted", None]
    assert outcome.artifact_paths == ("reports/x.md",)
    assert outcome.workflow_signal == "complete"
    assert outcome.follow_up_tasks[0].task_type == "docs.update"
    assert outcome.external_messages == ({"channel": "slack", "text": "done"},)
    assert is_valid(outcome)


def test_lists_that_are_null_or_missing_are_empty():
    assert said({**DONE, "file_changes": None, "artifact_paths": None, "follow_up_tasks": None}).kind == "claims"
    assert said(DONE).outcome.file_changes == ()


@pytest.mark.parametrize(
    ("answer", "status", "machine"),
    [
        ({"status": "completed"}, "completed", "ok"),
        ({"status": "completed", "machine_status": None}, "completed", "ok"),
        ({"status": "completed", "machine_status": "blocked"}, "blocked", "blocked"),
        ({"status": "completed", "machine_status": "needs_retry"}, "retryable_failure", "needs_retry"),
        ({"status": "completed", "machine_status": "failed"}, "retryable_failure", "failed"),
        ({"status": "completed", "machine_status": "fine"}, "retryable_failure", "needs_retry"),
        ({"status": "completed", "machine_status": 1}, "retryable_failure", "needs_retry"),
        ({"status": "retryable_failure"}, "retryable_failure", "needs_retry"),
        ({"status": "needs_retry"}, "retryable_failure", "needs_retry"),
        ({"status": "permanent_failure"}, "permanent_failure", "failed"),
        ({"status": "permanent_failure", "machine_status": "ok"}, "permanent_failure", "failed"),
        ({"status": "blocked", "machine_status": "canceled"}, "blocked", "blocked"),
        ({"status": "blocked", "machine_status": {}}, "blocked", "blocked"),
    ],
)
def test_both_statuses_agree(answer, status, machine):
    outcome = said(answer).outcome

    assert (outcome.status, outcome.machine_status) == (status, machine)
    assert is_valid(outcome)


@pytest.mark.parametrize(
    "summary",
    [
        "Documented the sandbox restrictions.",
        "The page now says what `permission denied` and `blocked by policy` mean.",
        "Task kind: docs. Task payload: none. Respond in JSON with keys: explained in the handbook.",
        "Too many requests are answered with 429 and Retry-After: 300.",
    ],
)
def test_words_in_a_summary_decide_nothing(summary):
    claim = said({"status": "completed", "operator_summary": summary})

    assert (claim.kind, claim.outcome.status, claim.retry_after_s) == ("claims", "completed", None)
    assert said(summary).kind == "no_result"


# The ladder ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", get_args(ErrorKind))
def test_a_harness_error_outweighs_every_answer(kind):
    error = HarnessError(kind=kind, message="API Error: 401\nInvalid key\x1b[2J", retry_after_s=5.0)

    claim = said(DONE, error=error, envelope=DONE, by_exit_code=True)

    assert (claim.kind, claim.error, claim.outcome.status) == ("harness_error", error, "retryable_failure")
    assert claim.reason.startswith(f"harness error ({kind}): API Error: 401 Invalid key")
    assert claim.reason.isprintable()
    assert claim.exit_status == ("timeout" if kind == "timeout" else "error")


def test_the_envelope_outweighs_the_text():
    assert said(DONE, envelope={"status": "blocked"}).outcome.status == "blocked"
    assert said("prose", envelope=DONE).outcome.status == "completed"
    assert said(DONE, envelope={}).kind == "no_result"
    assert said(DONE, envelope={"status": "completed", "cost": float("nan")}).kind == "no_result"


ENDS = {
    "exit code": ({"code": 1}, "error", "exit code 1"),
    "another exit code": ({"code": 137}, "error", "exit code 137"),
    "signal": ({"code": None, "signal": 9}, "error", "ended by signal 9"),
    "unknown": ({"code": None}, "error", "nobody can tell how it ended"),
    "timeout": ({"timed_out": True}, "timeout", "its time was up"),
    "timeout by signal": ({"timed_out": True, "code": None, "signal": 15}, "timeout", "its time was up"),
    "silence": ({"timed_out": True, "silent": True}, "timeout", "it wrote nothing for too long"),
    "canceled": ({"canceled": True}, "canceled", "it was ended before it was done"),
    "lease": ({"lease_lost": True}, "lost", "it was ended before it was done"),
    "call without an answer": ({"code": None, "fault": "the server closed"}, "error", "the server closed"),
}


@pytest.mark.parametrize("by_exit_code", [False, True])
@pytest.mark.parametrize("text", [DONE, "", "prose", {"status": "failed"}], ids=["done", "empty", "prose", "failed"])
@pytest.mark.parametrize(("facts", "status", "words"), ENDS.values(), ids=ENDS)
def test_a_program_that_ended_badly_never_completes(facts, status, words, text, by_exit_code):
    claim = said(text, replace(ENDED, **facts), by_exit_code=by_exit_code)

    assert claim.kind != "claims"
    assert claim.outcome.status == "retryable_failure"
    assert claim.exit_status == status
    assert words in claim.reason


@pytest.mark.parametrize("status", ["blocked", "permanent_failure", "retryable_failure"])
def test_a_program_that_exits_with_an_error_may_say_which_one(status):
    claim = said({"status": status, "operator_summary": "why", "retry_after_seconds": 300}, replace(ENDED, code=3))

    assert (claim.kind, claim.outcome.status, claim.retry_after_s) == ("claims", status, 300.0)


def test_a_wait_is_heard_although_the_harness_failed():
    error = HarnessError(kind="rate_limit", message="slow down")

    claim = said({"status": "blocked", "retry_after_seconds": 60}, replace(ENDED, code=1), error=error)

    assert (claim.kind, claim.retry_after_s) == ("harness_error", 60.0)


@pytest.mark.parametrize(
    ("kind", "found"), [("rate_limit", "rate_limit"), ("auth", "auth"), ("crash", "timeout"), ("invalid", "timeout")]
)
def test_a_timeout_is_explained_by_what_the_harness_said_but_not_by_its_ruins(kind, found):
    claim = said("", replace(ENDED, timed_out=True), error=HarnessError(kind=kind, message="x"))

    assert claim.error.kind == found


# By exit code -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "summary"),
    [
        ("", "exit code 0"),
        (None, "exit code 0"),
        ("made 3 reports\n\n", "made 3 reports"),
        ('{"rows": 5}', '{"rows": 5}'),
        ("\x1b[31mred\0\n", "\\x1b[31mred\\x00"),
        ('{"status": "blo', '{"status": "blo'),
    ],
)
def test_a_script_completes_by_its_exit_code_only_where_its_type_says_so(text, summary):
    claim = said(text, by_exit_code=True)

    assert (claim.kind, claim.outcome.status, claim.outcome.operator_summary) == ("claims", "completed", summary)
    assert said(text).kind == "no_result"


def test_an_object_of_another_kind_is_output_like_any_other():
    assert said('{"rows": 5}', envelope={"rows": 5}, by_exit_code=True).outcome.status == "completed"
    assert said('{"rows": 5}', envelope={"rows": 5}).kind == "no_result"


@pytest.mark.parametrize("envelope", [{"status": "failed"}, {"status": "completed", "cost": float("nan")}])
def test_an_envelope_outweighs_the_exit_code(envelope):
    assert said("", envelope=envelope, by_exit_code=True).kind == "no_result"


@pytest.mark.parametrize(
    "text", ['{"status": "failed"}', 'log\n{"status": 200}', '{"status": "blocked"}', '{"status": "needs_retry"}']
)
def test_an_answer_outweighs_the_exit_code(text):
    assert said(text, by_exit_code=True).outcome.status != "completed"


# What is kept -------------------------------------------------------------------------------------------------------


def test_the_raw_output_is_the_text_as_it_came():
    assert said("héllo {}\n").outcome.raw_output == "héllo {}\n"
    assert said(None).outcome.raw_output is None
    assert said(DONE).outcome.raw_output == json.dumps(DONE)


def test_a_long_output_is_cut_in_the_middle_and_says_so():
    text = "é" * 100_000 + json.dumps(DONE)

    outcome = said(text).outcome

    assert outcome.status == "completed"
    assert "bytes are left out here" in outcome.raw_output
    assert outcome.raw_output.startswith("é" * 2000)
    assert outcome.raw_output.endswith(json.dumps(DONE))
    assert len(outcome.raw_output.encode()) <= RAW_HEAD + RAW_TAIL + 100


@pytest.mark.parametrize("more", [0, 1])
def test_an_output_is_cut_only_where_it_is_too_long(more):
    text = "x" * (RAW_HEAD + RAW_TAIL + more)

    raw = said(text).outcome.raw_output

    assert (raw == text) == (more == 0)
    assert ("[... 1 bytes are left out here;" in raw) == (more == 1)


def test_what_no_store_takes_is_replaced():
    assert said("a\0b\ud800c").outcome.raw_output == "a\ufffdb?c"


def test_a_summary_that_is_missing_or_endless_is_told():
    assert said({"status": "completed"}).outcome.operator_summary == "completed, without a summary"
    assert said({**DONE, "operator_summary": "x" * 4000}).outcome.operator_summary == "x" * 4000
    assert said({**DONE, "operator_summary": "x" * 4001}).outcome.operator_summary == f"{'x' * 3999}…"


@pytest.mark.parametrize(
    ("paths", "words"),
    [(["x" * 4097], "an item that is too long"), (["a", "\t"], "an item that is empty"), (["a"] * 1001, "1001 items")],
)
def test_items_have_a_size_and_lists_a_length(paths, words):
    assert words in said({**DONE, "artifact_paths": paths}).reason


@pytest.mark.parametrize("paths", [["x" * 4096], ["a"] * 1000])
def test_the_largest_item_and_the_longest_list_are_read(paths):
    assert said({**DONE, "artifact_paths": paths}).outcome.artifact_paths == tuple(paths)


def test_a_bad_end_says_so_where_it_contradicts_the_answer():
    end = replace(ENDED, code=1)

    assert said(DONE, end).error.message == "exit code 1, although it says `completed`"
    assert said("prose", end).error.message == "exit code 1"


def test_an_envelope_that_cannot_be_stored_is_told_apart_from_none():
    assert "cannot be stored" in said("", envelope={"status": "completed", "a": "\0"}).reason
    assert "no JSON object" in said("").reason


@pytest.mark.parametrize("seconds", [0, 0.5, 300, 604_800])
def test_a_wait_of_up_to_a_week_is_read(seconds):
    assert said({"status": "blocked", "retry_after_seconds": seconds}).retry_after_s == seconds


# Judging ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", get_args(FindingStatus))
def test_completed_needs_every_rejecting_finding_held(status):
    verdict = judge(said(DONE), [finding("held"), finding(status)])

    assert (verdict.outcome.status == "completed") == (status in ("held", "not-applicable"))
    assert bool(verdict.rejected_by) == (status not in ("held", "not-applicable"))


@pytest.mark.parametrize("severity", ["warn", "advisory"])
def test_a_finding_that_only_tells_rejects_nothing(severity):
    assert judge(said(DONE), [finding("violated", severity)]).outcome.status == "completed"


def test_a_claim_that_is_turned_down_says_why_and_asks_for_nothing():
    answer = {
        **DONE,
        "workflow_signal": "complete",
        "follow_up_tasks": [{"task_type": "a", "source": "b", "payload": {}}],
        "external_messages": [{"text": "it is done"}],
        "artifact_paths": ["reports/x.md"],
    }

    verdict = judge(said(answer), [finding("violated"), finding("unknown", capability="engine::file-changes")])

    outcome = verdict.outcome
    assert (outcome.status, outcome.machine_status) == ("retryable_failure", "needs_retry")
    assert "engine::artifacts is violated: reports/x.md is missing" in outcome.operator_summary
    assert "engine::file-changes is unknown" in outcome.operator_summary
    assert "All tests pass." in outcome.operator_summary
    assert (outcome.workflow_signal, outcome.follow_up_tasks, outcome.external_messages) == (None, (), ())
    assert outcome.artifact_paths == ("reports/x.md",)
    assert verdict.rejected_by == ("engine::artifacts", "engine::file-changes")
    assert is_valid(outcome)


@pytest.mark.parametrize("status", ["blocked", "permanent_failure", "retryable_failure"])
def test_other_claims_stay_what_they_are(status):
    claim = said({"status": status, "operator_summary": "why", "retry_after_seconds": 5})

    verdict = judge(claim, [])

    assert (verdict.outcome, verdict.retry_after_s, verdict.error) == (claim.outcome, 5.0, None)


# Anything -----------------------------------------------------------------------------------------------------------

KEYS = [*MOST, "status", "machine_status", "operator_summary", "workflow_signal", "retry_after_seconds"]


@given(st.dictionaries(st.sampled_from(KEYS), json_values()), st.booleans())
def test_any_answer_gives_an_outcome_that_can_be_stored(answer, by_exit_code):
    claim = decode(AgentReport(text=None, envelope=answer), ENDED, complete_by_exit_code=by_exit_code)

    assert is_valid(claim.outcome)
    by_itself = by_exit_code and "status" not in answer
    assert claim.outcome.status != "completed" or by_itself or answer["status"] == "completed"


@given(st.text(), st.sampled_from([{}, {"code": 1}, {"code": None, "signal": 9}, {"timed_out": True}]))
def test_any_text_gives_an_outcome_that_can_be_stored(text, facts):
    claim = said(text, replace(ENDED, **facts))

    assert is_valid(claim.outcome)
    assert claim.outcome.status != "completed"
