"""The rows of an attempt's beginning and end: each in its move, however the attempt ends."""

from itertools import count

import pytest
from msgspec.structs import replace

from keisei.engine.fork import Bypass, Spawn, begun
from keisei.engine.settle import Chance, Ended, canceled, lost, released, settlement
from keisei.engine.sweep import conclude
from keisei.records.finding import FindingRecord
from keisei.records.move import CancelOrder
from keisei.records.outcome import TaskOutcome
from keisei.rules.refusal import Refusal, Refusals
from keisei.rules.retry import Backoff
from keisei.testing.promise.progress import bundle
from tests.store.desk import sqlite_desk

FIRST = Refusal(tool="Bash", capability="policy::no-git-ops", reason="no git", line="f" * 64)
REFUSED = Refusals(total=7, first=(FIRST,))
TOLD = {
    "total": 7,
    "refusals": [{"tool": "Bash", "capability": "policy::no-git-ops", "reason": "no git", "line": "f" * 64}],
}
BOTH = ["attempt_settled", "gate_refused"]


@pytest.fixture
def desk(tmp_path):
    with sqlite_desk(tmp_path) as made:
        yield made


@pytest.fixture
def chance(desk):
    numbers = count(1)
    return Chance(backoff=Backoff(), jitter=0, now=desk.store.now(), new_id=lambda: f"fresh-{next(numbers)}")


def ended(claimed, status="permanent_failure", **more):
    outcome = TaskOutcome(status=status, machine_status="failed", operator_summary="so")
    return Ended(claimed=claimed, exit_status="error", outcome=outcome, **more)


def test_what_the_gate_refused_is_a_row_of_the_same_settlement(desk, chance):
    claimed = desk.running()

    found = settlement(ended(claimed, refused=REFUSED), chance)
    assert desk.store.settle(found) == "settled"

    kinds = [kind for kind, _ in desk.ledger()]
    (row,) = desk.store.entries(kind="gate_refused")
    assert kinds[-2:] == BOTH
    assert (row.subject, row.actor) == (claimed.attempt.attempt_id, claimed.attempt.runner_id)
    assert row.body == {"task_id": claimed.task.task_id, **TOLD}


def test_an_attempt_without_refusals_has_no_such_row(desk, chance):
    assert [each.kind for each in settlement(ended(desk.running()), chance).ledger] == BOTH[:1]


def test_refusals_are_told_however_the_attempt_ends(desk, chance):
    claimed = desk.running()
    whole = settlement(ended(claimed, refused=REFUSED), chance)

    for found in (
        canceled(whole, claimed, "enough", chance.now),
        lost(claimed, "sweeper", chance, REFUSED),
        lost(replace(claimed, attempt=replace(claimed.attempt, bundle_id="b")), "sweeper", chance, REFUSED),
        released(claimed, "the runner stops", chance.now, REFUSED),
    ):
        assert [each.kind for each in found.ledger] == BOTH
    assert {each.actor for each in lost(claimed, "sweeper", chance, REFUSED).ledger} == {"sweeper"}


def test_a_cancelled_attempt_is_settled_with_what_was_refused(desk, chance):
    claimed = desk.running()
    desk.store.request_cancel(CancelOrder(task_id=claimed.task.task_id, reason="enough", actor="me"))

    assert conclude(desk.store, settlement(ended(claimed, refused=REFUSED), chance), claimed, chance) == "settled"

    assert [kind for kind, _ in desk.ledger()][-2:] == BOTH


def test_a_finding_is_told_with_its_reason_its_severity_and_the_tree_it_was_asked_of(desk, chance):
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
        created_at=chance.now,
    )

    (row,) = settlement(ended(claimed, findings=(finding,)), chance).ledger

    assert row.body["findings"] == [
        {
            "capability": "quality::tests-green",
            "status": "violated",
            "severity": "block",
            "reason": "3 tests failed",
            "tree": "a" * 40,
        }
    ]


def test_a_beginning_has_the_row_of_the_fork_and_one_of_what_did_not_hold(desk):
    claimed = desk.running()
    spawn = Spawn(agent_id="ag-1", parent="ag-0", spec_sha256="5" * 64, dna="r::::A::B-0")
    bypass = Bypass(elevated=("safety::no-dep-bump",), because="it is asked for", required="full", had="landlock")

    usual = begun(spawn, claimed.attempt, bundle(claimed, "b"), Bypass())
    fork, less = begun(spawn, claimed.attempt, bundle(claimed, "b"), bypass)

    assert usual == (fork,)
    assert (fork.kind, fork.subject, fork.body["parent"], fork.body["base"]) == ("agent_forked", "ag-1", "ag-0", None)
    assert (less.kind, less.subject) == ("bypass_used", claimed.attempt.attempt_id)
    assert less.body == {
        "task_id": claimed.task.task_id,
        "agent_id": "ag-1",
        "elevated": ["safety::no-dep-bump"],
        "because": "it is asked for",
        "isolation": {"required": "full", "had": "landlock"},
        "sandbox": None,
    }
