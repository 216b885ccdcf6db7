"""What is kept when a harness returns, of a worktree and a log that its agent had its hands in."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from keisei.records.decision import GateDecision
from keisei.records.report import AgentReport, HarnessError, ToolUse
from keisei.wiring import returned
from keisei.wiring.returned import (
    NO_CALLS,
    audit_of,
    bounded,
    decisions_of,
    holding,
    kept_candidate,
    leavings_of,
    strayed,
)
from keisei.wiring.site import Site
from keisei.workspace.stage import stage
from tests.workspace.conftest import Ground

WORD = "hunter2-Zq81-plain"


@pytest.fixture
def ground(tmp_path):
    made = Ground(tmp_path / "project")
    made.commit(src__old="old\n", src__open="stage=long-known-word\n")
    return made


@pytest.fixture
def leased(ground):
    made = ground.take()
    yield made
    made.leave()


@pytest.fixture
def write(leased):
    """Writes files of the worktree, by their paths."""

    def put(files):
        for name, text in files.items():
            path = Path(leased.worktree.path, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    return put


def site_of(leased, tmp_path, **more):
    return Site(folder=tmp_path, room=tmp_path, cwd=tmp_path, workspace=None, leased=leased, **more)


# --- secrets ----------------------------------------------------------------------------------------------------------


def test_a_candidate_that_holds_a_secret_says_so_and_the_diff_is_without_it(leased, write, tmp_path):
    write({"src/new": f"word={WORD}\n", "src/fine": "fine\n"})
    claimed = SimpleNamespace(attempt=SimpleNamespace(attempt_id="at-1"))
    cell = SimpleNamespace(level="full", admitted=None, layers=())
    found, diff, _ = leavings_of(
        site_of(leased, tmp_path), claimed, AgentReport(text=None), cell, (WORD, "short", "", "a\nb")
    )

    assert found.tampered == ("`src/new` holds a secret of the attempt's environment",)
    assert WORD.encode() not in diff
    assert b"word=[redacted]" in diff


@pytest.mark.parametrize(
    ("files", "secret"),
    [
        ({"src/new": "stage=long-known-word"}, "long-known-word"),
        ({"src/old": "see https://api.example.org/v1"}, "https://api.example.org/v1"),
        ({"src/new": "production"}, "production"),
        ({"src/new": "nothing"}, WORD),
        ({}, WORD),
    ],
)
def test_what_the_base_holds_an_address_and_a_word_are_no_secrets(files, secret, leased, write):
    write(files)

    assert holding(stage(leased.worktree, "at-1", "candidate"), leased.worktree, [secret.encode()]) == ()


def test_a_secret_is_found_under_any_name_and_only_where_it_was_written(leased, write):
    write({":(top)x": WORD, "src/*": WORD, "-l": WORD, "a\nb": WORD, "back\\slash": WORD, "none": "x"})
    staged = stage(leased.worktree, "at-1", "candidate")

    told = holding(staged, leased.worktree, [WORD.encode()])
    assert len(told) == 5
    assert not any("none" in each for each in told)


def test_a_secret_is_found_in_bytes_and_in_many_files(leased, write, monkeypatch):
    monkeypatch.setattr(returned, "NAMED", 2)
    write({f"src/{number}": f"a\0{WORD}\0" for number in range(4)})
    staged = stage(leased.worktree, "at-1", "candidate")

    assert len(holding(staged, leased.worktree, [WORD.encode()])) == 4


# --- what no task may change ------------------------------------------------------------------------------------------


def test_a_protected_path_that_was_made_is_told(leased, write, tmp_path):
    write({"AGENTS.md": "obey", ".claude/settings.json": "{}", "Claude.MD": "obey", "src/AGENTS.md": "fine"})
    staged, _, _ = kept_candidate(site_of(leased, tmp_path), "at-1", protected=True)

    assert strayed(staged, ("AGENTS.md", ".claude", "CLAUDE.md")) == (
        "`.claude/settings.json` was added, and the task does not name it",
        "`AGENTS.md` was added, and the task does not name it",
        "`Claude.MD` was added, and the task does not name it",
    )


def test_what_only_begins_like_a_protected_path_is_free(leased, write, tmp_path):
    write({"AGENTS.md.txt": "x", ".claude-notes/x": "x"})
    staged, _, _ = kept_candidate(site_of(leased, tmp_path), "at-1", protected=True)

    assert strayed(staged, ("AGENTS.md", ".claude")) == ()


def test_more_changes_than_anybody_judges_are_a_fault_and_the_candidate_is_whole(leased, write, monkeypatch):
    monkeypatch.setattr(returned, "CHANGES", 3)
    write({f"src/{number}": "x" for number in range(5)})
    staged, found = bounded(stage(leased.worktree, "at-1", "candidate"), ("before",))

    assert found == ("before", "5 paths were changed, more than 3")
    assert len(staged.changes) == 3
    assert bounded(staged, ()) == (staged, ())


# --- the audit --------------------------------------------------------------------------------------------------------


def decision(call_id):
    return GateDecision(
        attempt_id="at-1",
        tool_use_id=call_id,
        tool="Bash",
        input={},
        input_digest="d",
        decision="allow",
        cause="rule",
        latency_ms=1.0,
        policy_digest="p",
        decided_at="2026-01-01T00:00:00Z",
        previous_hash=None,
        hash="h",
    )


def test_a_transcript_without_calls_is_not_believed_where_the_gate_judged_some():
    assert audit_of(AgentReport(text=None), [decision("c1")], None) == (NO_CALLS,)


@pytest.mark.parametrize(
    ("report", "decisions"),
    [
        (AgentReport(text=None), []),
        (AgentReport(text=None), [decision("canary-1"), decision("post:c1"), decision(None)]),
        (AgentReport(text=None, error=HarnessError(kind="crash", message="killed")), [decision("c1")]),
        (AgentReport(text=None, tool_calls=(ToolUse(id="c1", tool="Bash", input_digest="d"),)), [decision("c1")]),
    ],
)
def test_a_transcript_that_fits_is_believed(report, decisions):
    assert audit_of(report, decisions, None) == ()


def test_a_log_that_was_flooded_is_not_read_into_memory(tmp_path):
    with (tmp_path / "gate.jsonl").open("wb") as file:
        file.truncate(1 << 40)

    decisions, broken = decisions_of(tmp_path)
    assert decisions == []
    assert "larger" in broken
