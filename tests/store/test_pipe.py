"""Pipe runs in both stores: rows that cannot be read, writers that die in between, and how they are asked for."""

import apsw
import psycopg
import pytest

from keisei.records.error import OperatorError
from keisei.store.pipe import read_member_counts, read_members, read_run
from keisei.testing.promise.pipe import begun, member, moving, state_of, told
from tests.store.crowd import running
from tests.store.desk import damage, postgres_desk, sqlite_desk

REFUSED = (apsw.ConstraintError, psycopg.IntegrityError)
DYING = """
from keisei.store.pipe import move_run
from keisei.testing.promise.pipe import member, moving, told

store = open_store(sys.argv[1])
run = store.pipe_run(sys.argv[2])
move = moving(run, member(0), member(1), status="completed", entries=(told("kei-x::y"),))

def half(work):
    assert move_run(work, move)
    print("written", flush=True)
    sys.stdin.readline()

store._do(half)
store.close()
"""
"""A process that has written a move and waits with the commit until it is spoken to."""


@pytest.fixture(params=["sqlite", "postgres"])
def url(request, tmp_path):
    return f"sqlite://{tmp_path}/state.db" if request.param == "sqlite" else request.getfixturevalue("postgres_url")


@pytest.fixture
def desk(url, tmp_path):
    with sqlite_desk(tmp_path) if url.startswith("sqlite") else postgres_desk(url) as found:
        yield found


def test_a_process_that_dies_before_the_commit_has_written_nothing(desk, url):
    run = begun(desk)
    before = state_of(desk, run)

    with running(DYING, url, run.run_id) as writer:
        assert writer.stdout.readline() == "written\n"
        writer.kill()
        writer.wait()

    assert state_of(desk, run) == before
    assert damage(desk) == []
    assert desk.store.move_run(moving(run, member(0), entries=(told("kei-x::y"),)))


def test_a_row_that_cannot_be_read_is_named(desk):
    good, bad = begun(desk), begun(desk)
    assert desk.store.move_run(moving(good, member(0)))
    desk.sql("UPDATE pipe_runs SET record = ? WHERE run_id = ?", b"\xff{", bad.run_id)
    desk.sql("UPDATE pipe_members SET record = ?", b"[]")

    assert [run.run_id for run in desk.store.pipe_runs()] == [good.run_id]
    with pytest.raises(OperatorError, match=f"the stored pipe run {bad.run_id} cannot be read"):
        desk.store.pipe_run(bad.run_id)
    with pytest.raises(OperatorError, match=f"the stored member of pipe run {good.run_id} cannot be read"):
        desk.store.members(good.run_id)


@pytest.mark.parametrize(
    "change",
    ["pipe_runs SET status = 'someday'", "pipe_runs SET fence = 0", "pipe_members SET state = 'perhaps'"],
)
def test_what_no_run_can_be_is_refused(desk, change):
    run = begun(desk)
    assert desk.store.move_run(moving(run, member(0)))

    with pytest.raises(REFUSED):
        desk.sql(f"UPDATE {change}")


def test_whatever_is_asked_at_every_turn_is_answered_by_an_index(tmp_path):
    with sqlite_desk(tmp_path) as desk:
        asked = []

        class Asked:
            def read(self, sql, params):
                asked.append((sql, params))
                return [(1,)] if "length" in sql else []

        read_run(Asked(), "r")
        read_members(Asked(), "r", "s", 5, 100)
        read_members(Asked(), "r", None, -1, 100)
        read_member_counts(Asked(), "r")
        for sql, params in asked:
            (*_, plan) = desk.store._reader.read(f"EXPLAIN QUERY PLAN {sql}", params)[0]
            assert "USING" in plan, sql
            assert "SCAN" not in plan, sql
