"""Agents folded from rows: what follows from what, whose word holds, and trees of any shape."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keisei.records.ledger import LedgerEntry
from keisei.rules.ledger_agent import MOVES, AgentCost, folded, tree

BEGIN = datetime(2026, 4, 22, 15, 30, tzinfo=UTC)
STATUSES = ("running", "done", "failed", "merged", "rejected")
REACH = {
    "running": [],
    "done": ["agent_done"],
    "failed": ["agent_failed"],
    "merged": ["agent_done", "agent_merged"],
    "rejected": ["agent_rejected"],
}


def rows(*told):
    """Rows in order: kind, subject, and perhaps a body and a source."""
    return [
        LedgerEntry(
            seq=seq,
            kind=kind,
            source=(*more, {}, "manual")[1] if len(more) > 1 else "manual",
            actor="ann",
            subject=subject,
            body=more[0] if more else {},
            recorded_at=BEGIN + timedelta(seconds=seq),
            leaf_hash="0" * 64,
        )
        for seq, (kind, subject, *more) in enumerate(told, start=1)
    ]


def forks(*told):
    return folded(rows(*(("agent_forked", name, body) for name, body in told)))


def drawn(agents, root=None):
    return [(each.depth, each.agent.agent_id) for each in tree(agents, root)]


@pytest.mark.parametrize("status", STATUSES)
@pytest.mark.parametrize("kind", MOVES)
def test_a_row_that_does_not_follow_is_passed_over(status, kind):
    legal = {
        "agent_done": {"running"},
        "agent_failed": {"running"},
        "agent_merged": {"done", "failed"},
        "agent_rejected": {"running", "done", "failed"},
    }
    before = [("agent_forked", "a"), *((each, "a") for each in REACH[status])]

    found = folded(rows(*before, (kind, "a", {"summary": "s"})))["a"]

    assert folded(rows(*before))["a"].status == status
    assert found.status == (MOVES[kind][0] if status in legal[kind] else status)


def test_a_fork_tells_everything_and_a_second_one_nothing():
    told = {"branch": "b", "parent": "p", "spec_sha256": "5" * 64, "base": "c", "role": "r", "dna": "d"}

    found = folded(rows(("agent_forked", "a", told), ("agent_forked", "a", {"branch": "other"})))["a"]

    assert (found.branch, found.parent, found.spec_sha256, found.base, found.role, found.dna) == tuple(told.values())
    assert (found.status, found.source, found.row, found.started_at) == (
        "running",
        "manual",
        1,
        BEGIN + timedelta(seconds=1),
    )


def test_costs_add_up_and_what_is_no_number_counts_as_nothing():
    found = folded(
        rows(
            ("cost_recorded", "a", {"cost_micro_cents": 9}),
            ("agent_forked", "a"),
            ("cost_recorded", "a", {"cost_micro_cents": 5, "tokens_in": 7, "provider": "p", "model": "m"}),
            ("cost_recorded", "a", {"cost_micro_cents": 6, "tokens_out": 1, "model": "n"}),
            ("cost_recorded", "a", {"cost_micro_cents": -1, "tokens_in": True, "tokens_out": "9", "provider": 3}),
            ("cost_recorded", "a", {"cost_micro_cents": 1.5, "model": ["x"]}),
        )
    )["a"]

    assert found.cost == AgentCost(micro_cents=11, tokens_in=7, tokens_out=1, provider="p", model="n", rows=4)


def engine(kind, subject, **body):
    return kind, subject, body, "engine"


def test_the_engine_says_how_its_own_agents_stand_and_nobody_else():
    spawn = engine("agent_forked", "a", task_id="t", attempt_id="t1", parent="p")
    by_hand = [(kind, "a", {"summary": "mine"}) for kind in MOVES]

    def status(*told):
        return folded(rows(spawn, *by_hand, *told))["a"].status

    assert status() == "running"
    assert status(engine("attempt_settled", "t1", status="completed")) == "done"
    assert status(engine("attempt_settled", "t1", status="retryable_failure")) == "failed"
    assert status(engine("attempt_settled", "t1", status="operator_canceled")) == "rejected"
    assert status(("attempt_settled", "t1", {"status": "completed"})) == "running"
    settled = engine("attempt_settled", "t1", status="completed")
    assert status(settled, engine("landing_made", "l", attempt_id="t1")) == "merged"
    assert status(settled, engine("landing_rejected", "l", attempt_id="t1")) == "rejected"
    assert status(settled, ("landing_made", "l", {"attempt_id": "t1"})) == "done"
    assert status(settled, engine("landing_made", "l", attempt_id="other")) == "done"


def test_an_agent_that_is_tried_again_runs_again():
    first = engine("agent_forked", "a", attempt_id="t1")
    again = engine("agent_forked", "a", attempt_id="t2")
    late = engine("attempt_settled", "t1", status="permanent_failure")

    found = folded(rows(first, late, again, late))["a"]

    assert (found.status, found.attempt_id, found.row) == ("running", "t2", 3)


def test_an_id_that_somebody_took_before_is_the_engines_once_it_spawns():
    mine = [
        ("agent_forked", "a", {"branch": "mine"}),
        ("cost_recorded", "a", {"cost_micro_cents": 3}),
        ("agent_done", "a"),
    ]

    found = folded(rows(*mine, engine("agent_forked", "a", attempt_id="t1"), ("agent_failed", "a")))["a"]

    assert (found.source, found.status, found.branch, found.cost.micro_cents) == ("engine", "running", None, 0)


def test_a_tree_nests_to_any_depth_by_id_branch_or_dna():
    agents = forks(
        ("top", {"branch": "main-1", "dna": "DNA"}),
        ("by-id", {"parent": "top", "branch": "b"}),
        ("by-branch", {"parent": "b"}),
        ("by-dna", {"fork_parent": "DNA"}),
        ("alone", {"parent": "nobody"}),
    )

    assert drawn(agents) == [(0, "top"), (1, "by-id"), (2, "by-branch"), (1, "by-dna"), (0, "alone")]
    assert drawn(agents, "by-id") == [(0, "by-id"), (1, "by-branch")]


def test_a_chain_of_many_is_no_deeper_than_memory():
    agents = forks(*((str(n), {"parent": str(n - 1)}) for n in range(20_000)))

    assert drawn(agents)[-1] == (19_999, "19999")


def test_circles_and_agents_of_their_own_branch_end():
    agents = forks(
        ("a", {"parent": "b"}), ("b", {"parent": "c"}), ("c", {"parent": "a"}), ("d", {"parent": "d", "branch": "d"})
    )

    assert drawn(agents) == [(0, "d"), (0, "a"), (1, "c"), (2, "b")]


@given(st.lists(st.tuples(st.integers(0, 9), st.none() | st.integers(0, 12), st.none() | st.integers(0, 4))))
def test_every_agent_stands_in_the_tree_once(told):
    agents = forks(
        *(
            (str(name), {"parent": None if parent is None else str(parent), "branch": branch and f"b{branch}"})
            for name, parent, branch in told
        )
    )

    found = drawn(agents)

    assert sorted(name for _, name in found) == sorted(agents)
    assert all(depth <= before + 1 for (before, _), (depth, _) in pairwise(found))


WORDS = st.sampled_from(["agent_forked", "cost_recorded", "attempt_settled", "landing_made", *MOVES])
JUNK = st.dictionaries(
    st.sampled_from(["status", "attempt_id", "parent", "branch", "cost_micro_cents", "summary", "reason"]),
    st.none() | st.booleans() | st.integers() | st.text(max_size=3) | st.lists(st.integers(), max_size=2),
)


@given(st.lists(st.tuples(WORDS, st.sampled_from("ab"), JUNK, st.sampled_from(["engine", "manual"]))))
def test_no_body_stops_the_fold(told):
    tree(folded(rows(*told)))


def test_what_an_agent_of_the_engine_has_cost_stays_when_it_is_tried_again():
    first = engine("agent_forked", "a", attempt_id="t1")
    cost = ("cost_recorded", "a", {"cost_micro_cents": 3})

    assert folded(rows(first, cost, engine("agent_forked", "a", attempt_id="t2")))["a"].cost.micro_cents == 3


def test_times_of_the_original_are_told_where_they_can_be_times():
    began, over = {"original": {"started_ts": 1_700_000_000}}, {"original": {"finished_ts": 1_700_000_060}}
    found = folded(rows(("agent_forked", "a", began), ("agent_done", "a", over), ("agent_merged", "a", over)))["a"]

    assert (found.started_at.timestamp(), found.finished_at.timestamp()) == (1_700_000_000, 1_700_000_060)
    for bad in (-1, 0, 2**53, 1.5, "1", None, True, [1]):
        told = {"original": {"started_ts": bad, "finished_ts": bad}}
        found = folded(rows(("agent_forked", "a", told), ("agent_done", "a", told)))["a"]
        assert (found.started_at, found.finished_at) == (BEGIN + timedelta(seconds=1), BEGIN + timedelta(seconds=2))
    assert folded(rows(("agent_forked", "a", {"original": 7})))["a"].started_at == BEGIN + timedelta(seconds=1)
    assert folded(rows(engine("agent_forked", "a", **began)))["a"].started_at == BEGIN + timedelta(seconds=1)
