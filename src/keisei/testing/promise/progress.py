"""Progress: how far an attempt has come, written while its fence holds, and never backwards."""

from msgspec.structs import replace

from keisei.records.attempt import Usage
from keisei.records.bundle import BundleRecord
from keisei.records.id import AdapterId, AttemptId, BundleId
from keisei.records.ledger import LedgerEntry
from keisei.records.move import Claimed, NewEntry, NewEvent, Progress
from keisei.testing.promise.book import promise
from keisei.testing.queue import Desk


def bundle(claimed: Claimed, name: str) -> BundleRecord:
    """A bundle for this attempt."""
    digest = "0" * 64
    return BundleRecord(
        bundle_id=BundleId(name),
        task_id=claimed.task.task_id,
        attempt_id=claimed.attempt.attempt_id,
        bundle_hash=digest,
        inputs_hash=digest,
        agent_id=None,
        constitution=None,
        profile_id=claimed.task.requested_profile_id,
        role="role",
        adapter_id=AdapterId("codex"),
        model=None,
        policy_digest=digest,
        prompt_hash=digest,
        replay_grade="best_effort",
        relative_path="bundle.json",
        prompt_relative_path="prompt.md",
        created_at=claimed.attempt.started_at,
    )


def started(claimed: Claimed, name: str) -> Progress:
    """The attempt is about to start."""
    told = NewEvent(event_type="task_started", task_id=claimed.task.task_id, attempt_id=claimed.attempt.attempt_id)
    attempt = replace(
        claimed.attempt,
        adapter_id=AdapterId("codex"),
        adapter_kind="codex",
        model="m",
        pid=77,
        bundle_id=BundleId(name),
    )
    entry = NewEntry(kind="agent_forked", actor="runner", subject=f"ag-{name}", body={"task_id": claimed.task.task_id})
    return Progress(stage="started", attempt=attempt, bundle=bundle(claimed, name), events=(told,), ledger=(entry,))


def returned(claimed: Claimed) -> Progress:
    """The harness has returned."""
    usage = Usage(input_tokens=1, output_tokens=2, cache_read_tokens=None, cache_write_tokens=0, cost_usd=0.25)
    return Progress(stage="returned", attempt=replace(claimed.attempt, usage=usage, stdout_path="out.log"))


def forked(desk: Desk, name: str) -> list[LedgerEntry]:
    """The ledger rows of such a start."""
    desk.store.unsealed()
    return [each for each in desk.store.entries(limit=1000, kind="agent_forked") if each.subject == f"ag-{name}"]


@promise
def progress_is_written_with_everything_that_belongs_to_it(desk: Desk) -> None:
    """Started with its bundle, its events and its ledger rows; returned with what is known of the run."""
    claimed = desk.running()
    begin = started(claimed, "bundle")

    assert desk.store.progress(begin)
    assert desk.attempt(claimed.attempt.attempt_id) == begin.attempt
    assert desk.store.bundle(claimed.attempt.attempt_id) == begin.bundle
    assert desk.life(claimed.task.task_id)[-1] == "task_started"
    (row,) = forked(desk, "bundle")
    assert (row.actor, row.source, row.body) == ("runner", "engine", {"task_id": claimed.task.task_id})

    end = returned(replace(claimed, attempt=begin.attempt))
    assert desk.store.progress(end)
    assert desk.attempt(claimed.attempt.attempt_id) == end.attempt
    assert desk.read(claimed.task.task_id).status == "running"


@promise
def progress_without_the_fence_is_not_written(desk: Desk) -> None:
    """An older fence, a closed attempt, an unknown one: False, and nothing is written."""
    runner, other = desk.runner(), desk.runner()
    claimed = desk.running(runner)
    desk.sweep(other, dead=(runner,))
    ended = desk.running(other)
    desk.settle(ended, "completed")
    stranger = replace(ended, attempt=replace(ended.attempt, attempt_id=AttemptId("nobody"), bundle_id=None))

    with desk.unchanged():
        for one in (claimed, ended, stranger):
            assert not desk.store.progress(started(one, desk.name("bundle")))
            assert not desk.store.progress(returned(one))
    assert desk.store.bundle(claimed.attempt.attempt_id) is None


@promise
def progress_said_twice_is_said_once(desk: Desk) -> None:
    """Whoever did not hear the answer may ask again."""
    claimed = desk.running()
    assert desk.store.progress(started(claimed, "bundle"))

    with desk.unchanged():
        assert desk.store.progress(started(claimed, "bundle"))
    assert len(forked(desk, "bundle")) == 1


@promise
def an_attempt_that_has_returned_stays_so(desk: Desk) -> None:
    """Whatever is said later."""
    runner = desk.runner()
    claimed = desk.running(runner)
    desk.store.progress(returned(claimed))
    desk.store.progress(started(claimed, "bundle"))

    (swept,) = desk.sweep(dead=(runner,))

    assert swept.returned
