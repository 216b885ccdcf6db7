"""Fairness: many processes write to one file, and every one of them has its turn."""

from contextlib import closing

from keisei.store import open_store
from tests.store.crowd import told
from tests.store.desk import damage, sqlite_desk

WORKERS, ROUNDS = 16, 12

CODE = """
from keisei.testing.queue import new_runner
from keisei.records.move import ClaimOrder

clock = SystemClock()
rounds = int(sys.argv[3])

def work(index):
    store = open_store(sys.argv[1])
    desk = Desk(store, clock, None)
    desk.name = lambda kind, numbers=iter(range(10**6)): f"{kind}-{index}-{next(numbers)}"
    runner = desk.runner(lease_s=600)
    for _ in range(rounds):
        desk.queue()
        for claimed in desk.claim(runner):
            assert desk.settle(claimed, "completed") == "settled"
        assert store.beat(runner).alive
    store.close()

sys.exit(at_once(int(sys.argv[2]), work))
"""


def test_sixteen_writers_all_have_their_turns(tmp_path):
    """Each waits for at most the deadline, or it would have failed."""
    url = f"sqlite://{tmp_path}/state.db"
    told(CODE, url, WORKERS, ROUNDS)

    with closing(open_store(url)) as store:
        assert store.counts()["completed"] == WORKERS * ROUNDS
    with sqlite_desk(tmp_path) as desk:
        rows = desk.sql("SELECT runner_id, count(*) FROM attempts GROUP BY runner_id")
        assert sum(number for _, number in rows) == WORKERS * ROUNDS
        assert desk.sql("SELECT count(*) FROM attempts WHERE exit_status IS NOT 'ok'") == [(0,)]
        assert damage(desk) == []
