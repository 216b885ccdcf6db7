"""kei-ledger: what its pages promise, on a real store; and that an attempt speaks of its own agents, under its name."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from keisei.records.move import NewEntry
from keisei.wiring.ledger_verb import cost, listed
from tests.kit.desk import Declared, spec_of
from tests.kit.project import Project

WRITES = ("fork", "done", "fail", "merged", "rejected", "record-cost")
READS = ("list", "tree", "show", "verify", "prove")


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path)


def call(project, verb, attempt=None, call_id=None, /, **given):
    return project.call(f"kei-ledger::{verb}", attempt, call_id, **given)


def refused(project, verb, attempt=None, /, **given):
    with pytest.raises(Declared) as error:
        call(project, verb, attempt, **given)
    return error.value.code


def rows(project):
    with project.agency() as agency:
        return agency.store.entries(0, 1000)


def spawned(project, agent_id):
    """An attempt that runs, and the engine's row that tells of its agent."""
    task_id, attempt = project.running()
    with project.agency() as agency:
        body = {"agent_id": agent_id, "task_id": task_id, "attempt_id": attempt}
        agency.store.append(NewEntry(kind="agent_forked", actor="runner", subject=agent_id, body=body))
    return task_id, attempt


def test_the_verbs_are_the_originals_and_commands_are_keyed():
    for verb in (*WRITES, *READS):
        manifest = spec_of(f"kei-ledger::{verb}").manifest
        assert manifest.kind == ("command" if verb in WRITES else "query")
        assert bool(manifest.keyed) == (verb in WRITES)


def test_an_agent_goes_from_fork_to_merge(project):
    made = call(project, "fork", agent_id="a", branch="b", spec_sha256="5f" * 32, base="c0", dna="D")
    call(project, "done", agent_id="a", summary="Wrote it")
    call(project, "record-cost", agent_id="a", cents=1)
    assert call(project, "record-cost", agent_id="a", micro_cents=5, model="m")["total"]["micro_cents"] == 1_000_005
    call(project, "merged", agent_id="a")

    told = call(project, "show", agent_id="a")

    assert (made["agent_id"], made["row"]) == ("a", 1)
    assert (told["agent"]["status"], told["agent"]["branch"], told["agent"]["base"]) == ("merged", "b", "c0")
    assert [row["kind"] for row in told["rows"]][:2] == ["agent_forked", "agent_done"]
    assert {row["source"] for row in told["rows"]} == {"manual"}
    assert all(row["actor"].startswith("operator:") for row in told["rows"])
    assert call(project, "show", seq=2)["rows"][0]["body"]["summary"] == "Wrote it"


def test_what_may_not_follow_has_a_code(project):
    call(project, "fork", agent_id="a")
    call(project, "rejected", agent_id="a")

    assert refused(project, "fork", agent_id="a") == "AgentKnown"
    assert refused(project, "fork", agent_id="NUL") == "BadAgentId"
    assert refused(project, "fork", agent_id="b", branch="a\nb") == "BadRow"
    assert refused(project, "done", agent_id="a", summary="s") == "WrongStatus"
    assert refused(project, "done", agent_id="b", summary="s") == "UnknownAgent"
    assert refused(project, "fail", agent_id="b\ud800", reason="r") == "UnknownAgent"
    assert refused(project, "record-cost", agent_id="a", provider="p\ud800") == "BadRow"
    assert refused(project, "tree", agent_id="b") == "UnknownAgent"
    assert refused(project, "show", agent_id="x" * 1024) == "UnknownAgent"
    assert refused(project, "show", seq=99) == "UnknownRow"
    assert refused(project, "prove", seq=99) == "UnknownRow"
    assert refused(project, "prove", seq=1, size=99) == "UnknownRow"
    assert len(rows(project)) == 2


def test_the_same_call_is_the_same_row(project):
    first = call(project, "fork", None, "one", agent_id="a")

    assert call(project, "fork", None, "one", agent_id="a") == first
    paid = call(project, "record-cost", None, "two", agent_id="a", cents=3)
    assert call(project, "record-cost", None, "two", agent_id="a", cents=3) == paid
    ended = call(project, "done", None, "three", agent_id="a", summary="s")
    assert call(project, "done", None, "three", agent_id="a", summary="s") == ended
    assert len(rows(project)) == 3


def test_a_call_that_is_made_twice_at_once_is_paid_once(project):
    call(project, "fork", agent_id="a")

    def pay(_):
        with project.agency() as agency:
            return cost(agency, {"agent_id": "a", "cents": 3}, "the call")["row"]

    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(pay, range(4))) == {2}
    assert call(project, "show", agent_id="a")["agent"]["cost"]["micro_cents"] == 3_000_000


def test_agents_come_page_by_page_and_as_a_tree(project):
    for agent_id, parent in (("a", "main"), ("b", "a"), ("c", "b")):
        call(project, "fork", agent_id=agent_id, parent=parent)
    call(project, "done", agent_id="b", summary="s")

    page = call(project, "list", limit=2)

    assert [each["agent_id"] for each in page["agents"]] == ["c", "b"]
    assert [each["agent_id"] for each in call(project, "list", before=page["next"])["agents"]] == ["a"]
    assert [each["agent_id"] for each in call(project, "list", status="done")["agents"]] == ["b"]
    assert [(each["depth"], each["agent_id"]) for each in call(project, "tree")["agents"]] == [
        (0, "a"),
        (1, "b"),
        (2, "c"),
    ]
    assert call(project, "tree", agent_id="b", limit=1)["left_out"] == 1


def test_the_ledger_is_verified_and_a_row_proved(project):
    call(project, "fork", agent_id="a")
    call(project, "done", agent_id="a", summary="s")

    told = call(project, "verify")

    assert (told["ok"], told["rows"], told["broken"]) == (True, 2, None)
    assert call(project, "verify", head="0" * 63 + "1")["ok"] is False
    proof = call(project, "prove", seq=1)
    assert (proof["origin"], proof["index"], proof["size"], proof["root"]) == ("keisei/house", 0, 2, told["root"])


def test_without_a_project_nothing_is_written(project):
    (project.root / "keisei.toml").unlink()

    for verb in (*WRITES, *READS):
        assert refused(project, verb, agent_id="a", seq=1, summary="s") == "NoProject"


# --- inside an attempt


def test_what_an_attempt_forks_stands_below_its_own_agent_and_under_its_name(project):
    _, attempt = spawned(project, "own")

    call(project, "fork", attempt, agent_id="own-child")
    call(project, "fork", attempt, agent_id="own-grandchild", parent="own-child")
    call(project, "done", attempt, agent_id="own-child", summary="s")
    call(project, "record-cost", attempt, agent_id="own", cents=2)

    written = rows(project)[1:]
    assert {(row.source, row.actor) for row in written} == {("manual", f"attempt:{attempt}")}
    told = call(project, "tree", attempt)["agents"]
    assert [(each["depth"], each["agent_id"]) for each in told] == [(0, "own"), (1, "own-child"), (2, "own-grandchild")]
    assert call(project, "show", attempt, agent_id="own")["agent"]["status"] == "running"


def test_an_attempt_speaks_of_no_other_agent_and_sees_none(project):
    call(project, "fork", agent_id="operators")
    _, other = spawned(project, "other")
    call(project, "fork", other, agent_id="other-child")
    _, attempt = spawned(project, "own")
    count = len(rows(project))

    for agent_id in ("operators", "other", "other-child", "nobody"):
        for verb, more in (("done", {"summary": "s"}), ("fail", {"reason": "r"}), ("merged", {}), ("rejected", {})):
            assert refused(project, verb, attempt, agent_id=agent_id, **more) == "NotAllowed"
        assert refused(project, "record-cost", attempt, agent_id=agent_id, cents=1) == "NotAllowed"
        assert refused(project, "fork", attempt, agent_id="own-x", parent=agent_id) == "NotAllowed"
        assert refused(project, "fork", attempt, agent_id="own-x", fork_parent=agent_id) == "NotAllowed"
        assert refused(project, "show", attempt, agent_id=agent_id) == "NotAllowed"
        assert refused(project, "tree", attempt, agent_id=agent_id) == "NotAllowed"
    assert refused(project, "fork", attempt, agent_id="own-x", creator="operator:root") == "NotAllowed"
    assert refused(project, "show", attempt, seq=1) == "NotAllowed"
    assert refused(project, "verify", attempt) == refused(project, "prove", attempt, seq=1) == "NotAllowed"
    assert [each["agent_id"] for each in call(project, "list", attempt)["agents"]] == ["own"]
    assert len(rows(project)) == count


def test_an_attempt_takes_no_id_but_those_of_its_own_agent(project):
    call(project, "fork", agent_id="own-taken")
    _, attempt = spawned(project, "own")
    call(project, "fork", attempt, agent_id="own-1")
    count = len(rows(project))

    for agent_id in ("mine", "own", "own-", "owner", "own_1", "own-taken"):
        assert refused(project, "fork", attempt, agent_id=agent_id) == "NotAllowed"
    assert refused(project, "fork", attempt, agent_id="own-1") == "AgentKnown"
    _, nameless = project.running()
    assert refused(project, "fork", nameless, agent_id="own-2") == "NotAllowed"
    assert call(project, "list", nameless)["agents"] == []
    assert len(rows(project)) == count


def test_an_attempt_writes_so_many_rows_and_no_more(project, monkeypatch):
    monkeypatch.setattr("keisei.wiring.ledger_attempt.MOST", 3)
    _, attempt = spawned(project, "own")
    call(project, "fork", attempt, agent_id="own-1")
    call(project, "record-cost", attempt, agent_id="own-1", cents=1)
    last = call(project, "record-cost", attempt, "last", agent_id="own", cents=1)

    assert refused(project, "record-cost", attempt, agent_id="own", cents=1) == "NotAllowed"
    assert refused(project, "done", attempt, agent_id="own-1", summary="s") == "NotAllowed"
    assert call(project, "record-cost", attempt, "last", agent_id="own", cents=1) == last
    _, other = spawned(project, "other")
    call(project, "fork", other, agent_id="other-1")
    call(project, "done", agent_id="own-1", summary="an operator may")


def test_no_row_holds_a_secret_of_the_attempt_nor_what_looks_like_one(tmp_path):
    text = '[adapters.script]\nkind = "script"\ncommand = "sh"\nenv_file = "secrets.env"\ntimeout_ms = 1000\n'
    project = Project(tmp_path, text)
    (project.root / "secrets.env").write_text("KEY=correct-horse\n")
    (project.root / "secrets.env").chmod(0o600)
    _, attempt = spawned(project, "own")

    made = call(project, "fork", attempt, agent_id="own-1", branch="b/correct-horse")
    done = call(project, "done", attempt, agent_id="own-1", summary="with AKIAIOSFODNN7EXAMPLE and correct-horse")
    paid = call(project, "record-cost", attempt, agent_id="own-1", model="m")

    assert (made["redacted"], done["redacted"], "redacted" in paid) == (["branch"], ["summary"], False)
    assert rows(project)[-2].body["summary"] == "with [redacted] and [redacted]"
    assert refused(project, "fork", attempt, agent_id="own-correct-horse") == "BadAgentId"
    assert not any(word in str(rows(project)) for word in ("correct-horse", "AKIA"))


def test_an_attempt_reads_what_came_after_its_own_agent(project, monkeypatch):
    for number in range(3):
        call(project, "fork", agent_id=f"old-{number}")
    _, attempt = spawned(project, "own")
    call(project, "fork", attempt, agent_id="own-1")
    begun, read = rows(project)[3].seq, []

    with project.agency(attempt) as agency:
        real = agency.store.entries
        monkeypatch.setattr(
            agency.store, "entries", lambda *asked: read.append(asked[0]) or real(*asked), raising=False
        )
        told = listed(agency, {})["agents"]

    assert [each["agent_id"] for each in told] == ["own-1", "own"]
    assert min(read) >= begun - 1


def test_an_attempt_does_not_end_its_own_agent(project):
    _, attempt = spawned(project, "own")

    assert refused(project, "done", attempt, agent_id="own", summary="s") == "EngineAgent"
    assert refused(project, "merged", attempt, agent_id="own") == "EngineAgent"


def test_an_attempt_that_is_over_or_unknown_says_nothing(project):
    task_id, attempt = spawned(project, "own")
    project.settle(task_id, attempt)

    for who in (attempt, "nobody"):
        assert refused(project, "fork", who, agent_id="late") == "NotAllowed"
        assert refused(project, "list", who) == "NotAllowed"
