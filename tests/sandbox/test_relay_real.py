"""Real harnesses through the relay: they do their work, and the key is seen by the model's server alone."""

import json
from pathlib import Path

import pytest

from keisei.adapters.upstream import inside, upstream_of
from keisei.records.adapter import ClaudeCodeAdapter
from keisei.records.relay import Allowance
from keisei.sandbox.relay import Relay
from keisei.testing.model import ScriptedModel
from tests.system.harness import claude_hook, run_claude, run_codex

KEY = "sk-ant-canary-4711"
TOKEN = "attempt-0815"  # noqa: S105 - a made-up one
CLAUDE = ClaudeCodeAdapter(adapter_id="claude", command="claude", timeout_ms=60_000)
ALLOW = {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow"}}


def seen(folder: Path, word: str) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and word.encode() in path.read_bytes()]


def test_claude_works_through_the_relay_and_cannot_find_the_key(tmp_path):
    work = tmp_path / "work"
    work.mkdir()
    look = {"command": "env; cat /proc/$PPID/environ; echo end-of-$((40+2))"}
    with ScriptedModel([{"tool": "Bash", "input": look}, "All done."]) as model:
        upstream = upstream_of(CLAUDE, {"ANTHROPIC_BASE_URL": model.url, "ANTHROPIC_API_KEY": KEY})
        with Relay(upstream, TOKEN, log=tmp_path / "relay.jsonl") as relay:
            allow = claude_hook(f"echo '{json.dumps(ALLOW)}'")
            ended = run_claude(model, "Look around.", work, allow, env=inside(CLAUDE, relay.address, TOKEN))
            usage, calls = relay.usage(), relay.calls

    assert ended.of_type("result")[-1]["result"] == "All done."
    assert "end-of-42" in model.results[0]
    assert TOKEN in model.results[0]
    assert KEY not in model.results[0]
    assert {request.headers.get("x-api-key") for request in model.requests} == {KEY}
    assert not any(TOKEN in json.dumps(dict(request.headers)) for request in model.requests)
    assert (usage.input_tokens, usage.output_tokens) == (10 * len(model.requests), 5 * len(model.requests))
    assert {call.status for call in calls} == {200}
    assert seen(tmp_path, KEY) == []


@pytest.mark.parametrize("harness", ["claude", "codex"])
def test_a_harness_gives_up_when_the_allowance_is_used_up(tmp_path, harness):
    work = tmp_path / "work"
    work.mkdir()
    spent: list[str] = []
    script = [{"tool": "Bash", "input": {"command": "true"}}] * 50
    if harness == "codex":
        script = [{"tool": "exec_command", "input": {"cmd": "true"}}] * 50
    with ScriptedModel(script) as model:
        url = model.url if harness == "claude" else f"{model.url}/v1"
        upstream = upstream_of(CLAUDE, {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": KEY})
        with Relay(_spoken(upstream, harness), TOKEN, Allowance(max_tokens=40), on_spent=spent.append) as relay:
            if harness == "claude":
                allow = claude_hook(f"echo '{json.dumps(ALLOW)}'")
                ended = run_claude(model, "Go on.", work, allow, env=inside(CLAUDE, relay.address, TOKEN))
                said = ended.of_type("result")[-1]["result"]
            else:
                ended = run_codex(
                    _At(relay, model.name), "Go on.", work, tmp_path / "codex", env={"SCRIPTED_KEY": TOKEN}
                )
                said = json.dumps(ended.of_type("turn.failed"))
            calls = relay.calls

    assert ended.rc == 1
    assert "the budget of this task is used up" in said
    assert len(spent) == 1
    assert len(model.requests) == 3
    assert [call.status for call in calls if call.method == "POST"].count(400) <= 3


class _At:
    """What `run_codex` asks of a model: its name, and the relay's address in place of its own."""

    def __init__(self, relay: Relay, name: str) -> None:
        self.url, self.name = relay.address, name


def _spoken(upstream, harness: str):
    changes = {} if harness == "claude" else {"protocol": "openai", "auth": "bearer"}
    fields = {each: getattr(upstream, each) for each in upstream.__struct_fields__}
    return type(upstream)(**fields | changes)
