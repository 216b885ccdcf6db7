"""Auditor and merger at work on another agent's real candidate: what they report is compared with it."""

import pytest

from keisei.engine.intake import Origin, accept, read_intent
from keisei.engine.land import known
from keisei.records.id import TaskId
from keisei.wiring.fresh import new_id
from keisei.wiring.registry import defaults_of
from tests.wiring.test_landing import Yard

REPORT = """cat > /dev/null
printf '```report\\n{lines}\\n```\\n'
printf '{{"status": "completed", "operator_summary": "done", "file_changes": []}}\\n'
"""


@pytest.fixture
def yard(tmp_path):
    made = Yard(tmp_path)
    yield made
    made.close()


def reviewed(yard, role, parameters=None, **fields):
    """What verification says of a report by an agent of that role, by capability."""
    lines = "\\n".join(f"{name.replace('_', '-')}: {value}" for name, value in fields.items())
    (yard.folder / "agent").write_text("#!/bin/sh\n" + REPORT.format(lines=lines))
    spec = {"task": {"role": role}, "body": {"text": "Look."}, "parameters": parameters or {}}
    intent = {"task_type": "agent-task", "source": "t", "payload": spec, "requested_profile_id": "lander"}
    new = accept(
        read_intent({**intent, "max_attempts": 1}),
        yard.shop.registry(),
        defaults_of(yard.home),
        origin=Origin(),
        task_id=TaskId(new_id()),
        now=yard.store.now(),
    )
    yard.store.enqueue([new])
    yard.run()
    (attempt,) = yard.store.attempts(new.task.task_id)
    return {each.capability: each.status for each in yard.store.findings(attempt.attempt_id)}


def test_an_audit_covers_every_file_of_the_fork_or_fails(yard):
    fork = known(yard.store, yard.work(**{"agent-id": "bob"})).candidate_commit
    target = {"verify::fork-audit": {"fork-audit-target": "bob"}}
    said = {"verdict": "approve", "verdict_reason": "It is right.", "severity": "NONE", "findings": 0}

    whole = reviewed(yard, "auditor", target, fork="bob", fork_commit=fork, files_reviewed="src/new.txt", **said)
    half = reviewed(yard, "auditor", target, fork="bob", fork_commit=fork, files_reviewed="src/a.txt", **said)

    assert whole["verify::fork-audit"] == "held"
    assert whole["output::verdict"] == whole["output::severity-grade"] == "held"
    assert half["verify::fork-audit"] == "violated"


def test_a_merger_that_says_it_merges_is_compared_with_the_merge(yard):
    fork = known(yard.store, yard.work()).candidate_commit
    row = {"ledger_row": "Compared the candidate with main; it merges cleanly."}

    true = reviewed(yard, "merger", merged="yes", conflicts="none", commit=fork, **row)
    yard.commit(new="mine\n")
    lie = reviewed(yard, "merger", merged="yes", conflicts="none", commit=fork, **row)

    assert true["output::merge-result"] == true["output::ledger-row-required"] == "held"
    assert lie["output::merge-result"] == "violated"
