"""Whatever a harness writes, reading it gives a report that can be written down."""

import json

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keisei.adapters import ADAPTERS, adapter_of
from keisei.records.report import AgentReport
from tests.adapters.making import an_exit

WORDS = st.sampled_from(
    [
        *("type", "subtype", "result", "is_error", "api_error_status", "session_id", "usage", "modelUsage"),
        *("total_cost_usd", "message", "content", "id", "name", "tool_use", "text", "assistant", "system"),
        *("init", "permission_denials", "rate_limit_event", "rate_limit_info", "status", "rejected"),
        *("resetsAt", "errors", "num_turns", "structured_output", "thread.started", "thread_id"),
        *("turn.completed", "turn.failed", "error", "item.completed", "item", "agent_message", "payload"),
        *("response_item", "function_call", "call_id", "token_usage_record", "timestamp", "input_tokens"),
        *("completed", "failed", "failure", "model", "response", "thinking", "done", "done_reason", "length"),
        *("prompt_eval_count", "eval_count", "inputTokens", "success", "messages", "tool_calls", "function"),
        *("arguments", "role", "tool", "tool_call_id", "event_msg", "item_completed", "CommandExecution", "command"),
    ]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS | st.text(max_size=3), inner, max_size=6),
    max_leaves=6,
)
LINES = st.dictionaries(WORDS, VALUES, max_size=4).map(lambda line: json.dumps(line).encode() + b"\n")
BYTES = st.lists(LINES | st.binary(max_size=20) | st.just(b"\n"), max_size=4).map(b"".join)
SESSION = "hermes/sessions/session_1.json"
FILES = ("usage.json", "last-message.txt", "codex/sessions/2026/11/15/rollout-1.jsonl", SESSION)
NAMES = st.sampled_from(FILES) | st.text()
EXITS = st.builds(
    an_exit,
    stdout=BYTES,
    stderr=BYTES,
    code=st.none() | st.integers(0, 255),
    signal=st.none() | st.integers(1, 64),
    stdout_truncated=st.booleans(),
    timed_out=st.booleans(),
    canceled=st.booleans(),
    http_status=st.none() | st.integers(100, 599),
    http_headers=st.dictionaries(st.just("retry-after"), st.text(max_size=12)),
    fault=st.none() | st.text(max_size=12),
)


@pytest.mark.parametrize("kind", ADAPTERS)
@settings(max_examples=60)
@given(ended=EXITS, files=st.dictionaries(NAMES, BYTES, max_size=3))
def test_any_end_is_a_report(kind, ended, files):
    report = adapter_of(kind).read(ended, files)

    written = msgspec.json.encode(report)
    assert msgspec.json.decode(written, type=AgentReport) == report
    assert report.error is None or (report.error.message.isprintable() and len(report.error.message) <= 400)
    assert report.error is not None or not (ended.timed_out or ended.canceled)


@pytest.mark.parametrize("kind", ADAPTERS)
@settings(max_examples=100)
@given(data=st.binary(max_size=200))
def test_any_bytes_are_a_report(kind, data):
    files = dict.fromkeys(FILES, data)

    assert isinstance(adapter_of(kind).read(an_exit(data, data), files), AgentReport)
