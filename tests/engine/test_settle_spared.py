"""What the store refuses of an attempt's end: the ledger still tells what was found, and what it leaves out."""

import pytest

from keisei.engine.attempt import Judged, Stand, finish
from keisei.engine.settle import Chance, sentence
from keisei.records.error import ContractViolation
from keisei.records.finding import FindingRecord
from keisei.records.outcome import TaskOutcome
from keisei.rules.redact import Redactor
from keisei.rules.retry import Backoff
from tests.store.desk import sqlite_desk

KEY = "AKIAIOSFODNN7EXAMPLE"
EVIDENCE = {"result.json": "a" * 64, "findings.json": "b" * 64}


@pytest.fixture
def desk(tmp_path):
    with sqlite_desk(tmp_path) as made:
        yield made


class Shop:
    """A workshop that has judged already."""

    def __init__(self, judged):
        self._judged = judged

    def judge(self, _claimed):
        return self._judged

    def refused(self, _claimed):
        return None

    def clear(self, _claimed):
        pass


class Choosy:
    """A store that refuses rows with one of these."""

    def __init__(self, store, *names):
        self._store, self._names = store, names

    def __getattr__(self, name):
        return getattr(self._store, name)

    def settle(self, found):
        if any(found.ledger[0].body.get(name) for name in self._names):
            raise ContractViolation("ledger.entry", ["the row is too large"])
        return self._store.settle(found)


def row_of(desk, *refused, **judged):
    claimed = desk.running()
    finding = FindingRecord(
        finding_id="f",
        attempt_id=claimed.attempt.attempt_id,
        capability="quality::tests-green",
        status="violated",
        severity="block",
        reason="3 tests failed",
        run_from="merged",
        tree="a" * 40,
        duration_ms=1.0,
        created_at=desk.store.now(),
    )
    outcome = TaskOutcome(status="retryable_failure", machine_status="needs_retry", operator_summary="so")
    found = Judged(exit_status="ok", outcome=outcome, findings=(finding,), evidence=EVIDENCE, **judged)
    stand = Stand(
        store=Choosy(desk.store, *refused),
        workshop=Shop(found),
        chance=lambda: Chance(backoff=Backoff(), jitter=0, now=desk.store.now(), new_id=lambda: "fresh"),
        stopping=lambda: False,
    )
    assert finish(stand, claimed) == "settled"
    (row,) = desk.store.entries(kind="attempt_settled")
    return row.body, desk.store.task(claimed.task.task_id).status


def test_what_was_too_large_is_left_out_and_findings_and_evidence_are_told(desk):
    body, status = row_of(desk, "agent_said", ledger_row="I did it", elevated=("a::b",), elevated_because="asked")

    assert status == body["status"] == "blocked"
    assert [each["status"] for each in body["findings"]] == ["violated"]
    assert (body["evidence"], body["left_out"]) == (EVIDENCE, ["agent_said"])
    assert (body["elevated"], body["because"]) == (["a::b"], "asked")
    assert "agent_said" not in body


@pytest.mark.parametrize(
    ("refused", "kept", "left_out"),
    [
        (["findings"], EVIDENCE, ["findings"]),
        (["findings", "evidence"], {}, ["findings", "evidence"]),
    ],
    ids=["findings", "both"],
)
def test_less_is_told_only_where_the_store_takes_no_more(desk, refused, kept, left_out):
    body, status = row_of(desk, *refused)

    assert status == "blocked"
    assert (body["findings"], body["evidence"], body["left_out"]) == ([], kept, left_out)


def test_what_others_say_is_short_and_without_secrets_in_a_row(desk):
    body, _ = row_of(
        desk, ledger_row=f"é\x01{KEY} " + "x" * 900_000, elevated=("a::b",), elevated_because=f"{KEY} " + "y" * 5000
    )

    assert (len(body["agent_said"]), len(body["because"])) == (200, 200)
    assert KEY not in str(body)
    assert "left_out" not in body


def test_a_secret_across_the_cut_is_no_sentence():
    assert sentence("x" * 195 + KEY, Redactor()) == "x" * 195 + "[reda"
    assert sentence(None, Redactor()) is None
