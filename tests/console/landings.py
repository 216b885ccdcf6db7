"""Verified candidates in a house's store: rows as a runner leaves them."""

from keisei.evidence.file import FileEvidence
from keisei.records.landing import LandingRecord
from keisei.records.move import ClaimOrder, NewTask
from keisei.records.runner import RunnerRecord
from keisei.rules.evidence import keys_of
from keisei.testing.queue import ending, new_task
from keisei.wiring.fresh import new_id
from tests.cli.landing import COMMIT, PATCH, TREE, finding

HOSTILE = "<script>alert(1)</script> \x1b[31m \u202eturned"
"""What an agent may write wherever it writes."""


def claimed_task(house, subject="Mend it.", **task):
    """A task in the hands of a runner that is gone by now."""
    store, runner_id = house.store, new_id()
    now = store.now()
    store.enqueue([NewTask(task=new_task(new_id(), now, subject=subject, **task))])
    runner = {"host": "host", "boot_id": "boot", "pid": 1, "born": "1", "version": "0", "slots": 1, "lease_s": 600.0}
    store.register(RunnerRecord(runner_id=runner_id, started_at=now, heartbeat_at=now, **runner))
    (claimed,) = store.claim(ClaimOrder(runner_id=runner_id, attempt_ids=(new_id(),)))
    store.leave(runner_id)
    return claimed


def offer(house, findings=(), patch=PATCH, subject="Mend it.", **landing):
    """A task that has completed with changes; its landing."""
    claimed = claimed_task(house, subject)
    attempt, now = claimed.attempt, house.store.now()
    words = [{"capability": "policy::no-git-ops", "attempt_id": attempt.attempt_id, **each} for each in findings]
    told = tuple(finding(**each) for each in words)
    fields = {
        "landing_id": new_id(),
        "task_id": claimed.task.task_id,
        "attempt_id": attempt.attempt_id,
        "branch": "main",
        "candidate_commit": COMMIT,
        "tree": TREE,
        "before_commit": None,
        "after_commit": None,
        "status": "held",
        "reason": "a person decides",
        "created_at": now,
        "updated_at": now,
    }
    made = LandingRecord(**(fields | landing))
    assert house.store.settle(ending(claimed, "completed", now, landings=(made,), findings=told)) == "settled"
    if patch:
        FileEvidence(house.premises.home.evidence).put(keys_of(attempt.attempt_id, attempt.started_at).diff, patch)
    return made.landing_id
