"""Agents of the engine, as the ledger tells of them: from the spawn to the landing, on a real repository."""

import pytest

from keisei.wiring.ledger_agents import Speaker, end, every_agent, one_agent
from keisei.wiring.verb_error import VerbError
from tests.wiring.test_landing import Yard


@pytest.fixture
def yard(tmp_path):
    made = Yard(tmp_path)
    yield made
    made.close()


def test_an_agent_of_the_engine_is_done_then_merged_and_its_rows_say_so(yard):
    landing = yard.work(**{"agent-id": "bob"})
    agent, before = one_agent(yard.store, "bob")
    assert (agent.status, agent.source, agent.role) == ("done", "engine", "lander")
    assert len(agent.spec_sha256) == 64
    assert agent.base == yard.git("rev-parse", "HEAD")
    with pytest.raises(VerbError, match="the engine's own"):
        end(yard.store, Speaker("ann"), "bob", "agent_merged", {})

    yard.land(landing)

    agent, rows = one_agent(yard.store, "bob")
    assert (agent.status, every_agent(yard.store)) == ("merged", {"bob": agent})
    assert next(row.kind for row in before) == "agent_forked"
    assert {"agent_forked", "attempt_settled", "landing_made"} <= {row.kind for row in rows}
    assert [row.seq for row in rows] == sorted(row.seq for row in rows)


TALKS = r"""file=src/new.txt; echo new > $file
{
  echo '```report'
  printf 'ledger-row: Wrote AKIAIOSFODNN7EXAMPLE '
  head -c 900000 /dev/zero | tr '\0' '\1'
  printf '\n```\n'
} > "$AGENT_REPORT_PATH"
"""


def test_what_an_agent_says_for_the_ledger_keeps_nothing_out_of_it(yard):
    yard.agent(TALKS)

    yard.work()

    (row,) = yard.store.entries(kind="attempt_settled")
    assert row.body["status"] == "completed"
    assert row.body["agent_said"].startswith("Wrote [redacted] \x01")
    assert len(row.body["agent_said"]) == 200
    assert {"quality::check-green"} <= {each["capability"] for each in row.body["findings"] if each["status"] == "held"}
    assert {"result.json", "findings.json", "report.md"} <= set(row.body["evidence"])
    assert "left_out" not in row.body
