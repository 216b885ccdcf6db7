"""`kei-ledger fork`, `done` and their like: the originals' verbs and columns, and what may follow what."""

import json
import shutil
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from keisei.records.move import NewEntry
from keisei.settings import read_settings
from keisei.wiring.ledger_agents import Speaker, end, every_agent, fork
from keisei.wiring.store import open_home_store, project_home
from keisei.wiring.verb_error import VerbError
from tests.cli.test_ledger import Book

FILES = ("spec.md", "plan.md", "progress.json", "chatlog.md", "handoffs.md", "review.md")
HOSTILE = ["a\nb", "a\x1b[31m", "a\u202eb", "x" * 100_000, "../../etc", "-", "a b", "NUL", "\udcff", ""]


@pytest.fixture
def book(shell):
    runtime = Path(tempfile.mkdtemp(prefix="kl-", dir="/tmp"))  # a socket's path must be short
    yield Book(shell, runtime)
    shutil.rmtree(runtime)


def opened(book):
    settings = read_settings({"HOME": str(book.shell.home), "XDG_STATE_HOME": str(book.shell.home / "state")})
    return open_home_store(settings, project_home(settings, book.folder))


def engine_row(book, agent_id, **body):
    store = opened(book)
    store.append(NewEntry(kind="agent_forked", actor="runner", subject=agent_id, body=body))
    store.close()


def refused(done, why, code=1):
    assert (done.code, done.out) == (code, "")
    assert why in done.err
    assert len(done.err.splitlines()) <= 2


def test_an_agent_goes_from_fork_to_merge_and_each_step_is_a_row(book):
    steps = [
        (["fork", "a1", "feat/x"], "forked a1 -> feat/x: row 1"),
        (["done", "a1", "--summary", "Wrote it"], "done a1: row 2"),
        (["merged", "a1"], "merged a1: row 3"),
    ]
    for words, told in steps:
        assert (book.run(*words).out, book.run("show", "a1").code) == (told + "\n", 0)

    told = book.json("show", "a1")
    assert (told["status"], told["branch"], told["summary"], told["source"]) == (
        "merged",
        "feat/x",
        "Wrote it",
        "manual",
    )
    assert [(row["kind"], row["source"], row["subject"]) for row in told["rows"]] == [
        (kind, "manual", "a1") for kind in ("agent_forked", "agent_done", "agent_merged")
    ]


@pytest.mark.parametrize(
    ("before", "words", "now"),
    [
        ([], ["fail", "a", "--reason", "r"], "failed"),
        ([["fail", "a", "--reason", "r"]], ["merged", "a"], "merged"),
        ([], ["rejected", "a"], "rejected"),
        ([["done", "a", "--summary", "s"]], ["rejected", "a", "--reason", "no"], "rejected"),
        ([["fail", "a", "--reason", "r"]], ["rejected", "a"], "rejected"),
    ],
    ids=["fail", "merge-failed", "reject-running", "reject-done", "reject-failed"],
)
def test_what_may_follow_does(book, before, words, now):
    for each in [["fork", "a"], *before, words]:
        assert book.run(*each).code == 0

    assert book.json("agents")[0]["status"] == now


@pytest.mark.parametrize(
    ("before", "words", "why"),
    [
        ([], ["merged", "a"], "is running; only one that is done or failed is merged"),
        ([["done", "a", "--summary", "s"]], ["done", "a", "--summary", "s"], "is done; only one that is running"),
        ([["done", "a", "--summary", "s"]], ["fail", "a", "--reason", "r"], "is done"),
        ([["rejected", "a"]], ["merged", "a"], "is rejected"),
        ([["rejected", "a"]], ["rejected", "a"], "is rejected"),
        ([["done", "a", "--summary", "s"], ["merged", "a"]], ["rejected", "a"], "is merged"),
        ([], ["done", "b", "--summary", "s"], "no agent has the id `b`"),
        ([], ["record-cost", "b", "--cents", 1], "no agent has the id `b`"),
        ([], ["fork", "a"], "agent `a` is known already"),
        ([], ["tree", "b"], "no agent has the id `b`"),
        ([], ["show", "b"], "no agent has the id `b`"),
    ],
    ids=lambda each: each[0] if isinstance(each, list) and each and isinstance(each[0], str) else None,
)
def test_what_may_not_follow_is_one_clear_error(book, before, words, why):
    for each in [["fork", "a"], *before]:
        assert book.run(*each).code == 0
    count = len(book.json("rows"))

    refused(book.run(*words), why)

    assert len(book.json("rows")) == count


def test_an_agent_of_the_engine_is_ended_by_nobody_else(book):
    engine_row(book, "own", attempt_id="t1", task_id="t")

    for words in (
        ["done", "own", "--summary", "s"],
        ["fail", "own", "--reason", "r"],
        ["merged", "own"],
        ["rejected", "own"],
    ):
        refused(book.run(*words), "agent `own` is the engine's own")
    refused(book.run("fork", "own"), "known already")
    assert book.run("append", "--kind", "agent_done", "--subject", "own").code == 0

    (told,) = book.json("agents")
    assert (told["status"], told["source"], told["attempt_id"]) == ("running", "engine", "t1")
    assert book.run("record-cost", "own", "--cents", 5).code == 0
    assert book.json("show", "own")["cost"]["micro_cents"] == 5_000_000


@pytest.mark.parametrize("agent_id", HOSTILE)
def test_a_hostile_id_is_refused_and_commands_no_terminal(book, agent_id):
    for words in (
        ["fork"],
        ["done", "--summary", "s"],
        ["show"],
        ["tree"],
        ["record-cost", "--cents", 1],
        ["validate"],
    ):
        done = book.run(words[0], *words[1:], "--", agent_id)
        assert done.code == 1
        assert done.out == ""
        assert not {"\x1b", "\u202e"} & set(done.err)
        assert len(done.err) < 2000
    assert book.json("rows") == []


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["fork", "b", "x" * 257], "branch has 257 characters"),
        (["fork", "b", "a\nb"], "branch is empty, or holds what cannot be printed"),
        (["fork", "b", "--role", ""], "role is empty"),
        (["fork", "b", "--dna", "\u202e"], "dna is empty, or holds"),
        (["done", "a", "--summary", "x" * 10_001], "summary has 10001 characters"),
        (["record-cost", "a", "--provider", "\x1b"], "provider is empty, or holds"),
        (["done", "a", "--summary", "\udcff"], "canonical form"),
        (["done", "a", "--summary", "s", "--actor", ""], "actor is empty"),
    ],
)
def test_a_value_that_cannot_be_kept_is_one_clear_error(book, words, why):
    book.run("fork", "a")

    refused(book.run(*words), why)

    assert len(book.json("rows")) == 1


def test_the_list_has_the_columns_of_the_originals(book):
    assert book.run("list").out == "(no agents)\n"
    book.run("fork", "a", "feat/a", "--spec-sha", "ab" * 32, "--parent", "main")
    book.run("fork", "b")
    book.run("done", "b", "--summary", "s")

    lines = [each.split("\t") for each in book.run("list").out.splitlines()]

    assert [(*each[:3], *each[4:]) for each in lines] == [
        ("a", "running", "feat/a", "parent=main", "spec=" + "ab" * 6),
        ("b", "done", "-", "parent=-", "spec=-"),
    ]
    assert all(each[3].isdecimal() for each in lines)
    assert book.run("list", "--status", "done").out == book.run("agents", "--status", "done").out
    assert [each["agent_id"] for each in book.json("list", "--status", "done")] == ["b"]
    assert [each["seq"] for each in book.json("list", "--kind", "agent_forked")] == [1, 2]
    assert [each["seq"] for each in book.json("list", "--limit", 1)] == [1]
    assert book.run("list", "--status", "done", "--limit", 1).code == 1
    assert book.run("list", "--status", "over").code == 1


def test_what_others_wrote_into_a_branch_is_printed_safely(book):
    body = json.dumps({"branch": "x\u001b[2J\u202e\nrow", "parent": "p\ty", "spec_sha256": "\u001b" * 64})
    book.run("append", "--kind", "agent_forked", "--subject", "a\n\x1b", "--body", body)

    for words in (["agents"], ["tree"], ["show", "a\n\x1b"]):
        done = book.run(*words)
        assert done.code == 0
        assert not {"\x1b", "\u202e"} & set(done.out)
    assert len(book.run("agents").out.splitlines()) == len(book.run("tree").out.splitlines()) == 1


def test_a_tree_shows_who_was_forked_from_whom(book):
    for words in (["top", "t"], ["mid", "--parent", "top"], ["low", "--parent", "mid"], ["lost", "--parent", "gone"]):
        book.run("fork", *words)

    assert book.run("tree").out.splitlines() == [
        "top [running] branch=t",
        "  mid [running] branch=-",
        "    low [running] branch=-",
        "lost [running] branch=-",
    ]
    assert [(each["depth"], each["agent_id"]) for each in book.json("tree", "mid")] == [(0, "mid"), (1, "low")]


def test_costs_add_up(book):
    book.run("fork", "a")
    book.run("record-cost", "a", "--cents", 3, "--provider", "anthropic", "--model", "sonnet")

    done = book.run("record-cost", "a", "--cents", 1, "--micro-cents", 999_999, "--tokens-in", 7, "--tokens-out", 2)

    told = json.loads(done.out)
    assert (told["ok"], told["agent_id"], told["total_cost_cents"], told["row"]) == (True, "a", 4, 3)
    assert told["total"] == {
        "micro_cents": 4_999_999,
        "tokens_in": 7,
        "tokens_out": 2,
        "provider": "anthropic",
        "model": "sonnet",
        "rows": 2,
    }
    assert "cost: " in book.run("show", "a").out
    assert book.run("record-cost", "a", "--cents", -1).code == 1


def test_what_looks_like_a_secret_is_not_written_about_an_agent(book):
    looks = "ghp_0123456789abcdefghijABCDEFGHIJ012345"
    book.run("fork", "a", "--worktree", f"/w/{looks}")

    done = book.run("done", "a", "--summary", f"used {looks} there", "--json")
    paid = book.run("record-cost", "a", "--cents", 1, "--provider", looks)

    assert json.loads(done.out)["body"] == {"summary": "used [redacted] there"}
    assert done.err == "note: what looks like a secret was taken out of row 2: summary\n"
    assert "out of row 3: provider" in paid.err
    assert json.loads(paid.out)["total"]["provider"] == "[redacted]"
    assert looks not in book.run("show", "a", "--json").out
    refused(book.run("fork", looks), "looks like a secret")
    refused(book.run("rejected", "a", "--actor", looks), "looks like a secret")


def test_descendants_are_those_below_a_dna(book):
    for words in (["top", "--dna", "D-1"], ["copy", "--fork-parent", "D-1"], ["fork", "--parent", "copy"], ["other"]):
        book.run("fork", *words)
    book.run("fork", "lost", "--fork-parent", "D-2")

    assert [each.split("\t")[0] for each in book.run("descendants", "D-1").out.splitlines()] == ["copy", "fork"]
    assert [each["agent_id"] for each in book.json("descendants", "D-2")] == ["lost"]
    assert book.run("descendants", "D-3").out == "(no agents)\n"


def test_a_number_shows_a_row_and_an_agent_of_that_name_where_there_is_none(book):
    book.run("fork", "42")

    assert book.json("show", 1)["kind"] == "agent_forked"
    assert book.json("show", 42)["agent_id"] == "42"


def test_six_files_are_asked_for(book):
    folder = book.folder / ".claude/agents/a 1".replace(" ", "-")
    folder.mkdir(parents=True)
    for name in FILES[1:]:
        (folder / name).touch()
    (folder / "spec.md").symlink_to("plan.md")

    done = book.run("validate", "agent/a-1")
    assert (done.code, done.out, done.err) == (2, "", "MISSING for a-1:\n  - spec.md\n")
    (folder / "spec.md").unlink()
    (folder / "spec.md").touch()
    assert book.run("validate", "agent/a-1").out == "OK: all 6 artefacts present for a-1\n"
    assert book.run("validate", "a-1", "--repo-root", book.folder).code == 0
    assert book.run("validate", "a-1", "--repo-root", "/nowhere").err.count("  - ") == 6


def test_of_many_at_once_one_forks_and_one_ends(book):
    store = opened(book)

    def tried(action, *words):
        try:
            return action(store, Speaker("ann"), "a", *words).seq
        except VerbError as error:
            return error.code

    with ThreadPoolExecutor(8) as pool:
        forked = list(pool.map(lambda n: tried(fork, {"branch": f"b{n}"}), range(8)))
        ended = list(pool.map(lambda n: tried(end, ("agent_done", "agent_failed")[n % 2], {}), range(8)))

    assert sorted(map(str, forked)) == ["1"] + ["AgentKnown"] * 7
    assert sorted(map(str, ended)) == ["2"] + ["WrongStatus"] * 7
    assert list(every_agent(store)) == ["a"]
    store.close()
