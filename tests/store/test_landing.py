"""Landings in both stores: rows that cannot be read, moves the tables know, and writers that die in between."""

import random
from contextlib import suppress
from itertools import product
from threading import Thread

import apsw
import msgspec
import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from msgspec.structs import replace

from keisei.records.error import IllegalMove, KeiseiError, OperatorError
from keisei.records.landing import LandingRecord
from keisei.records.move import LandingQuery
from keisei.rules.landing import MOVES
from keisei.store.landing import read_landing, read_landings, read_unreadable
from keisei.testing import strategies
from keisei.testing.promise.approval import read as read_approval
from keisei.testing.promise.landing import led, moving, new_finding, new_landing, offered, waiting
from tests.store.crowd import running
from tests.store.desk import damage, postgres_desk, sqlite_desk

TORN = ["", "nope", "[]", "{", "{}", "\u2028"]
REFUSED = (apsw.ConstraintError, psycopg.IntegrityError)
COLUMNS = "SELECT landing_id, task_id, attempt_id, status, created_at, updated_at, record FROM landings"

DYING = """
from keisei.store.landing import move_landing
from keisei.testing.promise.landing import moving, new_finding

store = open_store(sys.argv[1])
desk = Desk(store, VirtualClock(), None)
desk.name = lambda kind: f"late-{kind}"
landing = store.landing(sys.argv[2])
beside = {"findings": (new_finding(desk, landing),), "tasks": (desk.task(),)}
move = moving(desk, landing, "queued", resolves="approved", **beside)

def half(work):
    assert move_landing(work, move)
    print("written", flush=True)
    sys.stdin.readline()

store._do(half)
store.close()
print("kept", flush=True)
"""
"""A process that has written a move and waits with the commit until it is spoken to."""


@pytest.fixture(params=["sqlite", "postgres"])
def url(request, tmp_path):
    return f"sqlite://{tmp_path}/state.db" if request.param == "sqlite" else request.getfixturevalue("postgres_url")


@pytest.fixture
def desk(url, tmp_path):
    with sqlite_desk(tmp_path) if url.startswith("sqlite") else postgres_desk(url) as found:
        yield found


class Asked:
    """A driver that remembers what it was asked."""

    def __init__(self, driver):
        self.driver, self.questions = driver, []

    def read(self, sql, params):
        self.questions.append((sql, params))
        return self.driver.read(sql, params)


def questions(driver):
    """What is asked at every turn, with the index that answers it."""
    asked = Asked(driver)
    read_landings(asked, LandingQuery(statuses=("queued", "landing"), oldest=True))
    read_landings(asked, LandingQuery(statuses=("held",)))
    read_unreadable(asked, 100)
    read_landings(asked, LandingQuery(task_id="t"))
    read_landings(asked, LandingQuery(attempt_id="a"))
    read_landing(asked, "l")
    indexes = ("landings_open", "landings_open", "landings_open", "landings_task", "landings_attempt", "landing_id")
    return zip(asked.questions, indexes, strict=True)


def test_a_row_that_cannot_be_read_is_left_out_and_named(desk):
    good, bad = offered(desk), offered(desk)
    for text in TORN:
        desk.sql("UPDATE landings SET record = ? WHERE landing_id = ?", text, bad.landing_id)

        for query in (LandingQuery(), LandingQuery(oldest=True), LandingQuery(statuses=("held",))):
            assert desk.store.landings(query) == [good]
        assert desk.store.unreadable() == [f"landing {bad.landing_id}"]
        with pytest.raises(OperatorError, match=f"the stored landing {bad.landing_id} cannot be read"):
            desk.store.landing(bad.landing_id)


def test_an_approval_that_cannot_be_read_keeps_no_landing_from_moving(desk):
    landing = offered(desk)
    approval = waiting(desk, landing)
    desk.sql("UPDATE approvals SET record = 'nope'")

    assert desk.store.move_landing(moving(desk, landing, "queued", resolves="approved"))

    assert desk.store.unreadable() == [f"approval {approval.approval_id}"]


def test_the_columns_say_what_the_record_says(desk):
    landing = offered(desk)
    desk.clock.advance(5)
    assert desk.store.move_landing(moving(desk, landing, "queued"))

    ((*columns, created_at, updated_at, text),) = desk.sql(COLUMNS)

    record = msgspec.json.decode(text)
    assert columns == [record[name] for name in ("landing_id", "task_id", "attempt_id", "status")]
    assert record["status"] == "queued"
    assert updated_at - created_at == 5_000_000
    assert created_at == int(landing.created_at.timestamp() * 1_000_000)


def test_the_tables_know_the_moves_of_the_rules(desk):
    allowed = set()
    for old, new in product(MOVES, repeat=2):
        landing = led(desk, old)
        with suppress(*REFUSED):
            desk.sql("UPDATE landings SET status = ? WHERE landing_id = ?", new, landing.landing_id)
            allowed.add((old, new))

    assert allowed == {(old, new) for old, targets in MOVES.items() for new in targets}


def test_whatever_moves_are_tried_the_store_stands_where_the_rules_say(desk):
    """Two ways into one database, moves at random by those who saw the landing and by those who guess."""
    chance, stores = random.Random(7), [desk.store, desk.another()]
    known = {each.landing_id: each for each in (offered(desk) for _ in range(4))}
    for _ in range(200):
        landing = known[chance.choice(list(known))]
        guess = chance.choice([landing.status, *MOVES])
        seen = replace(landing, status=guess, after_commit="c" * 40)
        move = moving(desk, seen, chance.choice(list(MOVES)))
        try:
            done = chance.choice(stores).move_landing(move)
        except IllegalMove:
            assert move.landing.status not in MOVES[guess]
            continue
        assert done == (guess == landing.status)
        if done:
            known[landing.landing_id] = move.landing
        if not MOVES[known[landing.landing_id].status]:
            fresh = offered(desk)
            known[fresh.landing_id] = fresh

    assert desk.store.landings(LandingQuery(oldest=True, limit=1000)) == list(known.values())


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(drawn=strategies.of_type(LandingRecord))
def test_any_landing_is_kept_as_it_is_or_refused(desk, drawn):
    claimed = desk.running()
    new = new_landing(desk, claimed)
    landing = replace(drawn, **{name: getattr(new, name) for name in ("landing_id", "task_id", "attempt_id", "status")})
    try:
        desk.settle(claimed, "completed", landings=(landing,))
    except KeiseiError:
        assert desk.store.landing(landing.landing_id) is None
        desk.settle(claimed, "blocked")
    else:
        assert desk.store.landing(landing.landing_id) == landing


@pytest.mark.parametrize("status", ["rejected", "reverted"])
def test_a_landing_that_is_over_never_changes(desk, status):
    landing = led(desk, status)

    with pytest.raises(REFUSED):
        desk.sql("UPDATE landings SET updated_at = 1 WHERE landing_id = ?", landing.landing_id)


def test_a_status_that_nobody_knows_is_refused(desk):
    offered(desk)

    with pytest.raises(REFUSED):
        desk.sql("UPDATE landings SET status = 'someday'")


def test_a_process_that_dies_before_the_commit_has_moved_nothing(desk, url):
    landing = offered(desk)
    approval = waiting(desk, landing)

    with desk.unchanged(), running(DYING, url, landing.landing_id) as writer:
        assert writer.stdout.readline() == "written\n"
        writer.kill()
        writer.wait()

    assert desk.store.findings(landing.attempt_id) == []
    assert damage(desk) == []
    with running(DYING, url, landing.landing_id) as writer:
        assert writer.communicate("go\n")[0] == "written\nkept\n"
    assert desk.store.landing(landing.landing_id).status == "queued"
    assert len(desk.store.findings(landing.attempt_id)) == 1
    assert desk.read("late-task").status == "pending"
    assert read_approval(desk, approval).status == "approved"


def test_a_move_that_waits_for_another_sees_what_that_one_did(postgres_url):
    """The row is waited for and looked at again."""
    with postgres_desk(postgres_url) as desk, running(DYING, postgres_url, offered(desk).landing_id) as writer:
        assert writer.stdout.readline() == "written\n"
        (landing,) = desk.store.landings(LandingQuery())
        late = moving(desk, landing, "rejected", findings=(new_finding(desk, landing),))
        done = []
        rival = Thread(target=lambda: done.append(desk.store.move_landing(late)))
        rival.start()
        while not desk.sql("SELECT 1 FROM pg_locks WHERE NOT granted"):
            pass
        writer.communicate("go\n")
        rival.join()

        assert done == [False]
        assert desk.store.landing(landing.landing_id).status == "queued"


def test_open_landings_are_found_by_an_index_of_sqlite(tmp_path):
    with sqlite_desk(tmp_path) as desk:
        driver = desk.store._reader
        for (sql, params), index in questions(driver):
            steps = [row[-1] for row in driver.read(f"EXPLAIN QUERY PLAN {sql}", params)]
            wanted = "sqlite_autoindex_landings_1" if index == "landing_id" else index
            assert f"USING INDEX {wanted}" in steps[0], (sql, steps)


def test_open_landings_are_found_by_an_index_of_postgresql(postgres_url):
    with postgres_desk(postgres_url) as desk:
        driver = desk.store._reader
        for (sql, params), index in questions(driver):
            plan = "\n".join(row[0] for row in driver.read(f"EXPLAIN {sql}", params))
            assert index in plan, (sql, plan)
            assert "Seq Scan" not in plan, (sql, plan)
