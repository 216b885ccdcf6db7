"""Sweeps: they cost nothing while all is well, and share the work when it is not."""

import psycopg

from keisei.records.move import Sweep
from keisei.testing.promise.book import at_once
from tests.store.desk import postgres_desk, sqlite_desk


def test_a_sweep_that_finds_nothing_takes_no_turn(tmp_path):
    with sqlite_desk(tmp_path) as desk:
        claimed = desk.running()
        with desk.another()._reader.write():  # somebody writes, for as long as it likes
            assert desk.sweep(desk.store.runners()[0].runner_id) == []
            assert desk.store.wake_due() == 0

        assert desk.settle(claimed, "completed") == "settled"


def test_sweeps_at_once_share_what_is_there(postgres_url):
    with postgres_desk(postgres_url) as desk:
        gone = desk.runner()
        desk.queue(40)
        claimed = desk.claim(gone, 40)
        stores = [desk.another() for _ in range(4)]
        sweepers = [desk.runner(lease_s=900) for _ in stores]
        desk.clock.advance(60)

        def sweep(store, sweeper):
            return [(each.attempt.attempt_id, each.attempt.fence) for each in store.sweep(Sweep(runner_id=sweeper))]

        found = [pair for pairs in at_once(sweep, stores, sweepers) for pair in pairs]

        assert len(found) == len(set(found))
        assert {attempt for attempt, _ in found} == {each.attempt.attempt_id for each in claimed}


def test_a_row_that_another_sweep_holds_is_left_to_it(postgres_url):
    with postgres_desk(postgres_url) as desk:
        gone, sweeper = desk.runner(), desk.runner(lease_s=900)
        desk.queue(2)
        held, free = desk.claim(gone, 2)
        desk.clock.advance(60)

        with psycopg.connect(postgres_url) as other:
            other.execute("SELECT 1 FROM tasks WHERE task_id = %s FOR UPDATE", [held.task.task_id])
            found = desk.sweep(sweeper)

        assert [each.task.task_id for each in found] == [free.task.task_id]
        assert {each.task.task_id for each in desk.sweep(sweeper)} == {held.task.task_id, free.task.task_id}
