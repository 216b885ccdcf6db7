"""The whole way with the real programs: an order, a launch that runs, a report. The model is on loopback."""

import shlex

import pytest

from keisei.adapters import adapter_of
from keisei.contracts.hook import read_call
from keisei.records.decision import GateDecision
from keisei.records.report import ToolUse
from keisei.rules.chain import input_digest
from keisei.rules.reconcile import complaints, reconcile
from keisei.testing.model import Fault
from tests.adapters.record import (
    ALLOW,
    IN_SCRIPT,
    PATCH,
    Case,
    bash,
    claude_sub_agent,
    codex_sub_agent,
    execute,
    hermes_sub_agent,
    lay_out,
    order_of,
    programs,
    ran,
    record,
    script,
    terminal,
)

CALLS = {
    "claude-code": (bash("touch made"), "Bash"),
    "codex": (execute("touch made"), "Bash"),
    "hermes-agent": (terminal("touch made"), "terminal"),
}


SLOW = pytest.param("hermes-agent", marks=pytest.mark.soak)
"""Hermes Agent takes some seconds to start; its calls are held against its hook below with every run."""
QUICK = pytest.mark.parametrize("kind", ["claude-code", "codex", SLOW])


@QUICK
def test_a_real_harness_does_its_work_and_tells_of_it(kind, tmp_path):
    call, tool = CALLS[kind]

    recorded = record(kind, Case([call, "finished"]), programs()[kind], tmp_path)
    report = adapter_of(kind).read(*recorded)

    assert (report.error, report.text) == (None, "finished")
    digest = input_digest({"command": "touch made"})
    assert report.tool_calls == (ToolUse(id="call_1", tool=tool, input_digest=digest),)
    assert (report.usage.input_tokens, report.usage.output_tokens, report.turns) == (20, 10, 2)
    assert report.session_ref
    assert report.model
    assert (tmp_path / "work" / "made").exists()


@QUICK
def test_a_real_harness_whose_server_refuses_says_so(kind, tmp_path):
    recorded = record(kind, Case([Fault(400, "no such thing")] * 9), programs()[kind], tmp_path)
    report = adapter_of(kind).read(*recorded)

    assert report.error.kind == "refused"
    assert "no such thing" in report.error.message


def call(tool, **given):
    return {"tool": tool, "input": given}


NOT_HERE = [call("nothing", a=1), call("Nothing", a=1)]
WORK = {
    "claude-code": Case(
        [
            bash("touch made"),
            [bash("echo 1"), bash("cd / && echo 2")],
            call("Write", file_path="some/../file", content="x \n"),
            call("Read", file_path="file", limit="1"),
            call("Edit", file_path="file", old_string="x", new_string="y  \n"),
            call("Edit", file_path="file", old_string="not there", new_string="y"),
            *NOT_HERE,
            call("Bash", command=5),
            "finished",
        ]
    ),
    "codex": Case(
        [
            execute("touch made"),
            [execute("echo 1"), execute("echo '\\u00e9 é'")],
            call("view_image", path="nothing.png"),
            call("exec_command", cmd="sleep 1", yield_time_ms=250),
            call("write_stdin", session_id=1, chars="echo typed"),
            *NOT_HERE,
            call("exec_command", wrong=1),
            "finished",
        ]
    ),
    "codex patches": Case(
        [{"tool": "apply_patch", "input": PATCH}, {"tool": "apply_patch", "input": "none"}, "finished"], model="gpt-5.5"
    ),
    "codex scripts": Case([script(IN_SCRIPT), "finished"], model="gpt-6-sol"),
    "hermes-agent": Case(
        [
            terminal("touch made"),
            [terminal("echo 1"), call("write_file", path="file", content="é", more="1")],
            call("execute_code", code="from hermes_tools import terminal; terminal('touch more')"),
            *NOT_HERE,
            {"tool": "terminal", "input": "no object"},
            "finished",
        ]
    ),
    "claude-code sub-agents": Case(claude_sub_agent),
    "codex sub-agents": Case(codex_sub_agent),
    "hermes-agent sub-agents": Case(hermes_sub_agent),
}


@pytest.mark.parametrize(
    "name", [pytest.param(each, marks=pytest.mark.soak) if each.startswith("hermes-agent") else each for each in WORK]
)
def test_every_call_of_a_real_harness_is_one_that_its_hook_was_told_of(name, tmp_path):
    kind = name.split()[0]
    log = tmp_path / "asked.jsonl"
    answer = f"printf %s {shlex.quote(ALLOW)}" if kind == "claude-code" else ""
    hook = ("/bin/sh", "-c", f'asked=$(cat); printf "%s\\n" "$asked" >> "$0"; {answer}', str(log))

    recorded = ran(kind, WORK[name]._replace(hook=hook), programs()[kind], tmp_path)
    report = adapter_of(kind).read(*recorded)
    decisions = told(log, kind)
    audit = reconcile(report.tool_calls, decisions)

    assert report.error is None
    assert (complaints(audit), len(audit.matched) > 0) == ((), True)
    assert {each.tool_use_id for each in audit.unseen} <= {None}
    assert len(complaints(reconcile(report.tool_calls, []))) > 0


def told(log, kind):
    """What the gate would have written down."""
    calls = [read_call(line, kind) for line in log.read_bytes().splitlines()]
    return [
        GateDecision(
            attempt_id=None,
            tool_use_id=each.tool_use_id,
            tool=each.tool,
            input={},
            input_digest=input_digest(each.input),
            decision="allow",
            cause="rule",
            latency_ms=0,
            policy_digest="0" * 64,
            decided_at="2026-11-15T12:00:00Z",
            previous_hash=None,
            hash="0" * 64,
        )
        for each in calls
        if each.event == "PreToolUse"
    ]


def test_a_real_request_is_answered_and_told(tmp_path):
    recorded = record("ollama-generate", Case(["hello"]), "", tmp_path)
    report = adapter_of("ollama-generate").read(*recorded)

    assert (report.error, report.text, report.model, report.usage.output_tokens) == (None, "hello", "llama", 5)


def test_what_is_laid_out_is_what_the_harness_finds(tmp_path):
    for name in ("run", "work"):
        (tmp_path / name).mkdir()
    order = order_of("codex", Case(), "codex", tmp_path, "http://127.0.0.1:1")

    lay_out(order, adapter_of("codex").home)

    assert (tmp_path / "run" / "prompt.md").read_bytes() == b"go"
    assert {path.name for path in (tmp_path / "run" / "codex").iterdir()} == {"hooks.json", "config.toml"}
