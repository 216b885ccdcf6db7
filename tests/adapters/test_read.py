"""What an end means, where no recording shows it: lies, cuts, limits, and everything that came to somebody's mind."""

import json
from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from keisei.adapters import ADAPTERS, adapter_of, claude_code, codex, hermes, ollama, script
from keisei.records.attempt import Usage
from keisei.records.report import AgentReport, ToolUse
from keisei.rules.chain import input_digest
from tests.adapters.making import NOW, an_exit, json_lines

NOTHING = input_digest({})
WELL = {"type": "result", "subtype": "success", "is_error": False, "result": "done", "session_id": "s-1"}
BADLY = {"type": "result", "subtype": "success", "is_error": True, "session_id": "s-1"}
DONE = {"type": "turn.completed", "usage": {"input_tokens": 10, "output_tokens": 5}}
USED = {"completed": True, "failed": False, "model": "m"}
ANSWER = {"model": "llama", "response": "hello", "done": True, "done_reason": "stop"}
SUCCESSES = {
    "claude-code": (json_lines(WELL), {}, {}),
    "codex": (json_lines(DONE), {}, {"last-message.txt": b"done"}),
    "hermes-agent": (b"done\n", {}, {"usage.json": json.dumps(USED).encode()}),
    "ollama-generate": (json.dumps(ANSWER).encode(), {"http_status": 200}, {}),
    "script": (b'{"status": "completed"}', {}, {}),
}


def said(kind, stdout=None, files=None, **changes):
    """The report of an end that is a success but for the changes."""
    good, more, left = SUCCESSES[kind]
    ended = an_exit(good if stdout is None else stdout, **more | changes)
    return adapter_of(kind).read(ended, left if files is None else files)


def kind_of(report):
    return report.error.kind if report.error else None


def assistant(*blocks, **more):
    return {"type": "assistant", "message": {"content": list(blocks)}, **more}


def tool_use(call_id, tool="Bash"):
    return {"type": "tool_use", "id": call_id, "name": tool, "input": {}}


# --- every kind -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ADAPTERS)
def test_a_good_end_is_no_error(kind):
    assert kind_of(said(kind)) is None
    assert said(kind).text


@pytest.mark.parametrize("kind", ADAPTERS)
@pytest.mark.parametrize(
    ("changes", "error", "says"),
    [
        ({"timed_out": True, "duration_s": 61.0}, "timeout", "its time was up, after 61 s"),
        ({"timed_out": True, "silent": True}, "timeout", "it wrote nothing for too long"),
        ({"canceled": True}, "crash", "somebody canceled it"),
        ({"lease_lost": True}, "crash", "its lease was lost"),
    ],
    ids=["timed-out", "silent", "canceled", "lease-lost"],
)
def test_who_was_ended_did_not_succeed_whatever_it_had_said(kind, changes, error, says):
    report = said(kind, **changes)

    assert kind_of(report) == error
    assert says in report.error.message
    assert report.envelope is None


@pytest.mark.parametrize("kind", ["claude-code", "codex", "hermes-agent", "script"])
@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"code": 1}, "exit 1"),
        ({"code": None, "signal": 11}, "signal 11 (SIGSEGV)"),
        ({"code": None, "signal": 250}, "signal 250 ended it"),
        ({"code": None}, "nobody can tell how"),
    ],
    ids=["exit-1", "signal", "unknown-signal", "nobody-knows"],
)
def test_a_bad_exit_is_a_crash_although_its_words_are_good(kind, changes, says):
    report = said(kind, stderr=b"line one\nlast words", **changes)

    assert kind_of(report) == "crash"
    assert says in report.error.message
    assert "last words" in report.error.message


@pytest.mark.parametrize("kind", ["claude-code", "codex", "hermes-agent"])
def test_exit_0_with_nothing_said_is_a_crash(kind):
    report = said(kind, stdout=b"", files={})

    assert kind_of(report) == "crash"
    assert "exit 0 and no" in report.error.message


@pytest.mark.parametrize("kind", ADAPTERS)
def test_output_that_was_cut_is_invalid(kind):
    report = said(kind, stdout_truncated=True)

    assert kind_of(report) == "invalid"
    assert "was cut after" in report.error.message


@pytest.mark.parametrize(
    ("kind", "stdout"),
    [("claude-code", json_lines(WELL)[:20]), ("codex", json_lines(DONE)[:20]), ("ollama-generate", b'{"response": "a')],
)
def test_half_an_output_that_was_cut_is_invalid(kind, stdout):
    assert kind_of(said(kind, stdout, stdout_truncated=True)) == "invalid"


def test_an_error_that_was_told_before_the_cut_is_told():
    failure = json_lines({"type": "turn.failed", "error": {"message": "status 500"}})

    assert (
        kind_of(said("claude-code", json_lines(BADLY | {"api_error_status": 500}), stdout_truncated=True))
        == "overloaded"
    )
    assert kind_of(said("codex", failure, stdout_truncated=True)) == "overloaded"


@pytest.mark.parametrize("kind", ADAPTERS)
def test_a_message_is_one_printable_line_of_bounded_length(kind):
    files = {"usage.json": json.dumps({"failed": True}).encode()} if kind == "hermes-agent" else {}
    loud = "\x1b[31m\n" + "x" * 100_000
    stdout = {
        "claude-code": json_lines(BADLY | {"result": loud}),
        "codex": json_lines({"type": "turn.failed", "error": {"message": loud}}),
        "ollama-generate": json.dumps({"error": loud}).encode(),
    }.get(kind, loud.encode())

    message = said(kind, stdout, files, code=1, stderr=loud.encode()).error.message

    assert message.isprintable()
    assert len(message) <= 400


HOSTILE = {
    "deep": b'{"type":"result","x":' + b"[" * 100_000,
    "nan": b'{"type":"result","is_error":NaN}\n',
    "twice": b'{"type":"result","type":"turn.completed","is_error":false,"is_error":true}\n',
    "half": b'{"type":"result","is_err',
    "latin-1": b'{"type":"result","result":"\xe9"}\n',
    "surrogate": b'{"type":"result","result":"\\ud800","is_error":false,"done":true,"response":"\\ud800"}\n',
    "nul": b"\0" * 1000,
    "huge-number": b'{"usage":{"input_tokens":' + b"9" * 400 + b'},"type":"turn.completed","total_cost_usd":1e999}\n',
    "other-types": b'{"type":["result"],"is_error":{},"session_id":7,"modelUsage":[1],"usage":"x","error":[]}\n',
    "array": b"[1,2,3]",
    "bom": b"\xef\xbb\xbf{}",
    "crlf": b'{"type":"result"}\r\n',
}


FINE = {
    *(("script", name) for name in HOSTILE),
    *(("claude-code", "surrogate"), ("ollama-generate", "surrogate"), ("codex", "twice"), ("codex", "huge-number")),
}
"""What is odd and says all the same, in that harness's words, that it ended well."""


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("kind", ADAPTERS)
def test_hostile_bytes_are_a_report_that_can_be_written_down(kind, name):
    data = HOSTILE[name]
    files = {"usage.json": data, "last-message.txt": data, "codex/sessions/1/rollout-1.jsonl": data}

    report = said(kind, data, files)

    assert msgspec.json.decode(msgspec.json.encode(report), type=AgentReport) == report
    assert (kind_of(report) is None) == ((kind, name) in FINE)


def test_fifty_megabytes_are_read():
    line = json_lines(assistant(tool_use("call"), {"type": "text", "text": "x" * 1000}))
    stdout = line * (50_000_000 // len(line)) + json_lines(WELL)

    assert said("claude-code", stdout).text == "done"


# --- Claude Code ------------------------------------------------------------------------------------------------------


def test_the_last_result_counts():
    assert kind_of(said("claude-code", json_lines(WELL, BADLY | {"result": "API Error: 500"}))) == "overloaded"
    assert said("claude-code", json_lines(BADLY, WELL | {"result": "second"})).text == "second"


def test_a_forged_result_of_a_killed_harness_is_no_success():
    report = said("claude-code", json_lines(WELL), code=None, signal=9)

    assert kind_of(report) == "crash"
    assert "although its result says success" in report.error.message


@pytest.mark.parametrize("value", [None, "false", 0, 1])
def test_a_result_that_does_not_say_whether_it_is_an_error_is_invalid(value):
    assert kind_of(said("claude-code", json_lines(WELL | {"is_error": value}))) == "invalid"


@pytest.mark.parametrize(
    ("result", "error"),
    [
        ({"subtype": "error_max_turns"}, "limit"),
        ({"subtype": "error_max_budget_usd"}, "limit"),
        ({"subtype": "error_during_execution"}, "crash"),
        ({"subtype": "error_of_a_later_version"}, "crash"),
        ({"api_error_status": 403, "result": "no"}, "auth"),
        ({"api_error_status": 404, "result": "model not found"}, "refused"),
        ({"api_error_status": 400, "result": "Prompt is too long"}, "limit"),
        ({"api_error_status": 400, "result": "Your credit balance is too low"}, "auth"),
        ({"api_error_status": 503, "result": ""}, "overloaded"),
        ({"result": "Invalid API key · Please run /login"}, "auth"),
        ({"result": "Claude AI usage limit reached|1794747600"}, "rate_limit"),
        ({"result": "You've hit your session limit · resets 3pm (UTC)"}, "rate_limit"),
        ({"result": "API Error: Unable to connect to API (ECONNRESET)"}, "network"),
        ({"result": "something else"}, "crash"),
        ({}, "crash"),
    ],
)
def test_an_error_of_claude_has_the_kind_that_its_words_say(result, error):
    assert kind_of(said("claude-code", json_lines(BADLY | result), code=1)) == error


@pytest.mark.parametrize(("marked", "error"), claude_code.ERRORS.items())
def test_an_error_that_only_its_mark_names_has_that_kind(marked, error):
    message = assistant({"type": "text", "text": "?"}, error=marked)

    assert kind_of(said("claude-code", json_lines(message, BADLY | {"result": "?"}), code=1)) == error


def limit_event(status, resets_at=1794747600):
    return {"type": "rate_limit_event", "rate_limit_info": {"status": status, "resetsAt": resets_at}}


def test_a_rejected_limit_says_when_it_ends():
    result = BADLY | {"api_error_status": 429, "result": "You've hit your session limit"}

    error = said("claude-code", json_lines(limit_event("rejected"), result), code=1).error

    assert (error.kind, error.resets_at) == ("rate_limit", datetime(2026, 11, 15, 13, 0, tzinfo=UTC))


@pytest.mark.parametrize(
    "events",
    [
        [limit_event("allowed")],
        [limit_event("allowed_warning")],
        [limit_event("rejected"), limit_event("allowed")],
        [limit_event("rejected", 99999999999999)],
        [limit_event("rejected", "soon")],
        [{"type": "rate_limit_event", "rate_limit_info": 3}],
    ],
)
def test_a_limit_that_is_not_reached_or_nonsense_says_nothing(events):
    assert kind_of(said("claude-code", json_lines(*events, WELL))) is None
    assert said("claude-code", json_lines(*events, BADLY | {"api_error_status": 429}), code=1).error.resets_at is None


def test_claude_tells_every_call_once_those_of_sub_agents_and_refused_ones_too():
    stdout = json_lines(
        assistant(tool_use("a"), tool_use("b", "Agent")),
        assistant(tool_use("c", "Write"), parent_tool_use_id="b"),
        assistant(tool_use("c", "Write"), parent_tool_use_id="b"),
        assistant({"type": "server_tool_use", "id": "d", "name": "web_search"}),
        WELL | {"permission_denials": [{"tool_use_id": "c"}, {"tool_use_id": "e", "tool_name": "Edit"}, 7]},
    )

    assert said("claude-code", stdout).tool_calls == (
        ToolUse(id="a", tool="Bash", input_digest=NOTHING),
        ToolUse(id="b", tool="Agent", input_digest=NOTHING),
        ToolUse(id="c", tool="Write", input_digest=NOTHING, unasked="it was refused"),
        ToolUse(id="d", tool="web_search", input_digest=NOTHING),
        ToolUse(id="e", tool="Edit", unasked="it was refused"),
        ToolUse(id="?", tool="?"),
    )


@pytest.mark.parametrize(
    ("tool", "given", "known"),
    [
        ("Bash", {"command": "true"}, True),
        ("Bash", {"command": "true", "timeout": "5000"}, False),
        ("Bash", {"command": "true", "timeout": 5000}, True),
        ("Read", {"file_path": "/srv/a.txt"}, True),
        ("Read", {"file_path": "a.txt"}, False),
        ("Read", {"file_path": "~/a.txt"}, False),
        ("Read", {"file_path": "/srv/../a.txt"}, False),
        ("Read", {"file_path": "/srv/a.txt", "limit": "3"}, False),
        ("mcp__notes__append", {"path": "a.txt", "count": "3"}, True),
    ],
)
def test_the_digest_is_known_where_claude_tells_its_hook_the_same(tool, given, known):
    stdout = json_lines(assistant(tool_use("a", tool) | {"input": given}), WELL)

    assert said("claude-code", stdout).tool_calls[0].input_digest == (input_digest(given) if known else None)


@pytest.mark.parametrize(
    ("result", "away"),
    [
        ({"is_error": True, "content": "<tool_use_error>No such tool</tool_use_error>"}, True),
        ({"is_error": True, "content": "Exit code 1\n<tool_use_error>"}, False),
        ({"is_error": False, "content": "<tool_use_error>"}, False),
        ({"content": "<tool_use_error>"}, False),
        ({"is_error": True, "content": ["<tool_use_error>"]}, False),
    ],
)
def test_a_call_is_turned_away_where_claude_says_so_and_not_where_a_command_does(result, away):
    told = {"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": "b", **result}]}}

    calls = said("claude-code", json_lines(assistant(tool_use("a"), tool_use("b")), told, WELL)).tool_calls

    assert [call.unasked is not None for call in calls] == [False, away]


def test_an_id_that_comes_twice_is_two_calls_and_only_the_last_is_turned_away():
    away = {"tool_use_id": "a", "is_error": True, "content": "<tool_use_error>no"}
    lines = json_lines(
        assistant(tool_use("a")),
        assistant(tool_use("a", "Write")),
        {"type": "user", "message": {"content": [away]}},
        WELL,
    )

    assert [(call.tool, call.unasked) for call in said("claude-code", lines).tool_calls] == [
        ("Bash", None),
        ("Write", "no"),
    ]


@pytest.mark.parametrize("broken", [b'"\\ud83d"', b'"\xff\xfe"', b"NaN", b"1e999"])
def test_broken_text_does_not_hide_the_call_it_stands_in(broken):
    call = json_lines(assistant(tool_use("hidden"))).replace(b'"input": {}', b'"input": {"x": ' + broken + b"}")

    report = said("claude-code", call + json_lines(WELL))

    assert [each.id for each in report.tool_calls] == ["hidden"]


def test_a_line_that_cannot_be_read_is_no_success_because_it_could_hold_a_call():
    hidden = b'{"type":"assistant","x":' + b"[" * 50_000 + b"]" * 50_000 + b"}\n"

    assert kind_of(said("claude-code", hidden + json_lines(WELL))) == "invalid"
    assert kind_of(said("claude-code", b"{ not quite\n" + json_lines(WELL))) == "invalid"
    assert kind_of(said("claude-code", b"a warning of a wrapper\n" + json_lines(WELL))) is None


def test_claude_sums_over_its_models_and_names_the_one_it_announced():
    used = {"inputTokens": 1, "outputTokens": 2, "cacheReadInputTokens": 3, "cacheCreationInputTokens": 4}
    result = WELL | {
        "total_cost_usd": 0.5,
        "usage": {"input_tokens": 99},
        "modelUsage": {"small": used | {"outputTokens": 50}, "big": used},
        "num_turns": 7,
    }
    init = {"type": "system", "subtype": "init", "model": "big"}

    report = said("claude-code", json_lines(init, result))

    assert report.usage == Usage(
        input_tokens=2, output_tokens=52, cache_read_tokens=6, cache_write_tokens=8, cost_usd=0.5
    )
    assert (report.model, report.turns) == ("big", 7)
    assert said("claude-code", json_lines(result)).model == "small"


def test_what_claude_does_not_tell_is_unknown_and_not_0():
    assert said("claude-code", json_lines(WELL)).usage is None
    assert said("claude-code", json_lines(WELL | {"usage": {"input_tokens": -1, "output_tokens": True}})).usage is None
    assert said("claude-code", json_lines(WELL | {"total_cost_usd": 0.25})).usage.input_tokens is None


@pytest.mark.parametrize(
    ("output", "envelope"),
    [
        (b'{"status": "ok"}', {"status": "ok"}),
        (b'{"status": "\\ud800"}', {"status": "?"}),
        (b'{"a": NaN, "b": 1e999}', {"a": None, "b": None}),
        (b'{"a":' * 80 + b"1" + b"}" * 80, None),
        (b"[1]", None),
        (b'"text"', None),
    ],
)
def test_structured_output_is_an_envelope_that_can_be_written_down(output, envelope):
    stdout = json_lines(WELL).replace(b"}\n", b', "structured_output": ' + output + b"}\n")

    report = said("claude-code", stdout)

    assert (report.error, report.envelope) == (None, envelope)
    assert msgspec.json.encode(report)


def test_words_of_a_sub_agent_are_not_the_last_message():
    stdout = json_lines(
        assistant({"type": "text", "text": "mine"}), assistant({"type": "text", "text": "its"}, parent_tool_use_id="x")
    )

    assert said("claude-code", stdout).text == "mine"


# --- Codex ------------------------------------------------------------------------------------------------------------


def failed(message):
    return json_lines({"type": "turn.failed", "error": {"message": message}})


@pytest.mark.parametrize(
    ("message", "error"),
    [
        ("unexpected status 401 Unauthorized: no, url: http://x", "auth"),
        ("exceeded retry limit, last status: 429 Too Many Requests", "rate_limit"),
        ("You've hit your usage limit. Try again in 3 days 4 hours.", "rate_limit"),
        ("Quota exceeded. Check your plan and billing details.", "auth"),
        ("Selected model is at capacity. Please try a different model.", "overloaded"),
        ("stream disconnected before completion", "network"),
        ("Codex ran out of room in the model's context window.", "limit"),
        ('{"error": {"type": "invalid_request_error", "message": "no"}}', "refused"),
        ("something else", "crash"),
    ],
)
def test_a_failed_turn_has_the_kind_that_its_words_say(message, error):
    assert kind_of(said("codex", failed(message), code=1)) == error


def test_a_usage_limit_of_codex_says_how_long():
    error = said("codex", failed("You've hit your usage limit. Try again in 3 days 4 hours."), code=1).error

    assert error.retry_after_s == timedelta(days=3, hours=4).total_seconds()


def test_the_last_turn_counts():
    assert kind_of(said("codex", json_lines(DONE) + failed("status 500"), code=1)) == "overloaded"


def test_reconnecting_is_no_failure_where_the_turn_completes():
    assert kind_of(said("codex", json_lines({"type": "error", "message": "Reconnecting... 1/5"}, DONE))) is None


def test_the_last_message_is_the_file_or_what_was_said():
    told = json_lines({"type": "item.completed", "item": {"type": "agent_message", "text": "from the stream"}}, DONE)

    assert said("codex", told).text == "done"
    assert said("codex", told, {}).text == "from the stream"
    assert said("codex", told, code=1).text == "from the stream"


def test_cached_input_is_not_fresh_input():
    usage = {"input_tokens": 100, "cached_input_tokens": 60, "cache_write_input_tokens": 30, "output_tokens": 5}

    report = said("codex", json_lines(DONE | {"usage": usage}))

    assert report.usage == Usage(
        input_tokens=10, output_tokens=5, cache_read_tokens=60, cache_write_tokens=30, cost_usd=None
    )


def rollout(*payloads, at=NOW):
    stamp = at.isoformat()
    return json_lines(*({"timestamp": stamp, "type": kind, "payload": payload} for kind, payload in payloads))


def function_call(call_id, name="exec_command", **more):
    return ("response_item", {"type": "function_call", "call_id": call_id, "name": name, **more})


def rolled(*files):
    return said("codex", files={f"codex/sessions/2026/rollout-{n}.jsonl": data for n, data in enumerate(files)})


def test_calls_are_read_from_every_rollout_each_once():
    report = rolled(
        rollout(function_call("a"), function_call("b", "append", namespace="mcp__notes")),
        rollout(
            function_call("a"),
            ("response_item", {"type": "custom_tool_call", "call_id": "c", "name": "apply_patch"}),
            ("response_item", {"type": "web_search_call", "id": "d"}),
            ("response_item", {"type": "function_call_output", "call_id": "a"}),
        ),
    )

    assert [(call.id, call.tool) for call in report.tool_calls] == [
        ("a", "Bash"),
        ("b", "mcp__notes__append"),
        ("c", "apply_patch"),
        ("d", "web_search_call"),
    ]


@pytest.mark.parametrize(
    ("payload", "tool", "given"),
    [
        ({"name": "exec_command", "arguments": '{"cmd": "ls", "workdir": "/"}'}, "Bash", {"command": "ls"}),
        ({"name": "view_image", "arguments": '{"path": "a"}'}, "view_image", {"path": "a"}),
        ({"name": "spawn_agent", "namespace": "multi_agent_v1", "arguments": "{}"}, "spawn_agent", {}),
        ({"name": "spawn_agent", "namespace": "collaboration", "arguments": "{}"}, "collaborationspawn_agent", {}),
        ({"name": "wait_agent", "namespace": "multi_agent_v1", "arguments": "{}"}, "multi_agent_v1wait_agent", {}),
        ({"name": "append", "namespace": "mcp__notes", "arguments": '{"n": 1.0}'}, "mcp__notes__append", {"n": 1}),
        ({"name": "request_user_input", "namespace": "functions", "arguments": "{}"}, "request_user_input", {}),
        ({"name": "view_image", "arguments": "no object"}, "view_image", None),
        ({"name": "view_image"}, "view_image", None),
    ],
)
def test_codex_tells_a_call_as_its_hook_does(payload, tool, given):
    report = rolled(rollout(("response_item", {"type": "function_call", "call_id": "a", **payload})))

    digest = None if given is None else input_digest(given)
    assert report.tool_calls == (ToolUse(id="a", tool=tool, input_digest=digest),)


def test_a_patch_is_told_as_codex_tells_it_to_its_hook():
    payload = {"type": "custom_tool_call", "call_id": "a", "name": "apply_patch", "input": "*** Begin Patch"}

    report = rolled(rollout(("response_item", payload)))

    digest = input_digest({"command": "*** Begin Patch"})
    assert report.tool_calls == (ToolUse(id="a", tool="apply_patch", input_digest=digest),)


def item(kind, call_id, **more):
    return ("event_msg", {"type": "item_completed", "item": {"type": kind, "id": call_id, **more}})


def test_calls_out_of_a_script_are_told_as_codex_tells_them_to_its_hook():
    report = rolled(
        rollout(
            ("response_item", {"type": "custom_tool_call", "call_id": "a", "name": "exec", "namespace": "functions"}),
            item("CommandExecution", "b", command=["/bin/bash", "-lc", "ls"]),
            item("FileChange", "c", changes={}),
            item("McpToolCall", "d", server="notes", tool="append", arguments={"text": "x"}),
            item("McpToolCall", "e", server="codex", tool="list_mcp_resources", arguments={}),
            item("AgentMessage", "f"),
            item("Telepathy", "g"),
        )
    )

    assert [(call.id, call.tool, call.input_digest) for call in report.tool_calls[1:]] == [
        ("b", "Bash", input_digest({"command": "ls"})),
        ("c", "apply_patch", None),
        ("d", "mcp__notes__append", input_digest({"text": "x"})),
        ("e", "list_mcp_resources", NOTHING),
        ("g", "Telepathy", None),
    ]
    assert [call.unasked is not None for call in report.tool_calls] == [True, False, False, False, False, False]


def test_a_command_of_the_models_own_is_not_told_again_by_its_item():
    report = rolled(
        rollout(
            function_call("a", arguments='{"cmd": "ls"}'), item("CommandExecution", "a", command=["sh", "-c", "ls"])
        )
    )

    assert len(report.tool_calls) == 1


@pytest.mark.parametrize(
    ("output", "away"),
    [
        ("unsupported call: nothing", True),
        ("failed to parse function arguments: missing field", True),
        ("apply_patch verification failed: invalid patch", True),
        ("Command blocked by PreToolUse hook: no. Command: ls", True),
        ("Chunk ID: 1\nWall time: 0 seconds\nOutput:\nunsupported call: nothing", False),
        ([{"type": "input_text", "text": "unsupported call: nothing"}], False),
        (None, False),
    ],
)
def test_a_call_is_turned_away_where_codex_says_so_and_not_where_a_command_does(output, away):
    told = ("response_item", {"type": "function_call_output", "call_id": "a", "output": output})

    assert [call.unasked is not None for call in rolled(rollout(function_call("a"), told)).tool_calls] == [away]


@pytest.mark.parametrize("tool", ["exec", "wait", "write_stdin"])
def test_what_raises_no_hook_in_codex_says_why_that_is_well(tool):
    assert rolled(rollout(function_call("a", tool))).tool_calls[0].unasked


def hermes_session(*messages):
    files = {"usage.json": json.dumps(USED).encode(), "hermes/sessions/session_1.json": b"{}"}
    files["hermes/sessions/session_2.json"] = json.dumps({"messages": messages}, indent=2).encode()
    return hermes.read(an_exit(b"words"), files).tool_calls


def hermes_call(call_id, name="terminal", arguments='{"command": "ls"}'):
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def test_hermes_calls_are_read_from_its_sessions():
    calls = hermes_session(
        {"role": "user", "content": "go"},
        {"role": "assistant", "tool_calls": [hermes_call("a"), hermes_call("b", "todo", "{}")]},
        {"role": "tool", "name": "terminal", "tool_call_id": "a", "content": '{"output": ""}'},
        {"role": "assistant", "tool_calls": [hermes_call("c", arguments="7"), 5, {}]},
    )

    assert calls == (
        ToolUse(id="a", tool="terminal", input_digest=input_digest({"command": "ls"})),
        ToolUse(id="b", tool="todo", input_digest=NOTHING),
        ToolUse(id="c", tool="terminal"),
        ToolUse(id="?", tool="?"),
    )


@pytest.mark.parametrize(
    ("content", "away"),
    [
        ("Tool 'nothing' does not exist. Available tools: terminal", True),
        ("Tool call rejected: the tool name was empty. If", True),
        ("Error: Invalid JSON arguments. Expecting value", True),
        ("Skipped: other tool call in this response had invalid JSON.", True),
        ('{"error": "Invalid tool arguments", "message": "Tool arguments must be a valid JSON object; not', True),
        ('{"error": "keisei gate: the hook failed"}', True),
        ('{"error": "it was not found"}', False),
        ('{"output": "Tool \'nothing\' does not exist. Available tools: "}', False),
        ("Tool 'other' does not exist. Available tools: terminal", False),
        (None, False),
    ],
)
def test_a_call_is_turned_away_where_hermes_says_so_and_not_where_a_command_does(content, away):
    calls = hermes_session(
        {"role": "assistant", "tool_calls": [hermes_call("a", "nothing")]},
        {"role": "tool", "name": "nothing", "tool_call_id": "a", "content": content},
    )

    assert [call.unasked is not None for call in calls] == [away]


def test_a_session_of_hermes_that_cannot_be_read_is_a_call_that_nobody_knows():
    files = {"usage.json": json.dumps(USED).encode(), "hermes/sessions/session_1.json": b'{"messages": ['}

    assert hermes.read(an_exit(b"words"), files).tool_calls == (ToolUse(id="?", tool="?"),)


def test_calls_of_an_earlier_attempt_are_not_this_ones():
    usage = ("token_usage_record", {"response_id": "r", "usage": {"input_tokens": 7}})
    old = rollout(function_call("old"), usage, at=NOW - timedelta(seconds=1))

    report = rolled(old + rollout(function_call("new")))

    assert [each.id for each in report.tool_calls] == ["new"]
    assert report.usage.input_tokens == 10


@pytest.mark.parametrize("stamp", [None, "yesterday", 5, "2020-01-01T00:00:00"])
def test_a_call_does_not_hide_behind_a_time_that_cannot_be_read(stamp):
    line = json.loads(rollout(function_call("x"))) | {"timestamp": stamp}

    assert [each.id for each in rolled(json_lines(line)).tool_calls] == ["x"]


def test_a_rollout_that_cannot_be_read_is_no_success():
    assert kind_of(rolled(b"{ broken\n" + rollout(function_call("x")))) == "invalid"


def test_files_that_are_no_rollouts_are_left_alone():
    data = rollout(function_call("x"))

    assert said("codex", files={"rollout-1.jsonl": data, "codex/log/rollout-1.jsonl": data}).tool_calls == ()


# --- Hermes -----------------------------------------------------------------------------------------------------------


def hermes_said(usage, stdout=b"words\n", **changes):
    return hermes.read(an_exit(stdout, **changes), {"usage.json": json.dumps(usage).encode()})


@pytest.mark.parametrize(
    ("usage", "error"),
    [
        (USED, None),
        (USED | {"failed": True}, "crash"),
        ({"completed": True}, "crash"),
        (USED | {"completed": False}, "limit"),
        (USED | {"completed": None}, "limit"),
        (USED | {"failed": True, "failure": "HTTP 429: slow down, retry after 9 seconds"}, "rate_limit"),
        (USED | {"failed": True, "failure": "Connection error."}, "network"),
        ([], "invalid"),
    ],
)
def test_the_usage_file_decides(usage, error):
    assert kind_of(hermes_said(usage)) == error


def test_an_error_is_not_the_last_message():
    report = hermes_said(USED | {"failed": True}, b"HTTP 401: bad key\n")

    assert (kind_of(report), report.text, report.error.message) == ("auth", None, "HTTP 401: bad key")


@pytest.mark.parametrize(
    ("status", "cost"), [("estimated", 0.5), ("actual", 0.5), ("included", 0.5), ("unknown", None), (None, None)]
)
def test_a_cost_that_hermes_does_not_know_is_unknown(status, cost):
    usage = hermes_said(USED | {"estimated_cost_usd": 0.5, "cost_status": status, "input_tokens": 3}).usage

    assert (usage.cost_usd, usage.input_tokens, usage.output_tokens) == (cost, 3, None)


# --- Ollama -----------------------------------------------------------------------------------------------------------


def ollama_said(answer, status=200, **changes):
    body = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
    return ollama.read(an_exit(body, http_status=status, **changes), {})


@pytest.mark.parametrize(
    ("status", "error"),
    [
        *((400, "refused"), (401, "auth"), (403, "auth"), (404, "refused"), (408, "overloaded"), (429, "rate_limit")),
        *((500, "overloaded"), (503, "overloaded"), (529, "overloaded"), (302, "refused"), (204, "invalid")),
    ],
)
def test_a_status_has_its_kind(status, error):
    report = ollama_said({"error": "so it is"}, status, code=1)

    assert kind_of(report) == error
    assert report.error.message == f"status {status}: so it is"


@pytest.mark.parametrize(
    ("header", "wait_s", "moment"),
    [("30", 30.0, None), ("Sun, 15 Nov 2026 12:05:00 GMT", None, NOW + timedelta(minutes=5)), ("soon", 8.0, None)],
)
def test_the_header_says_how_long_and_the_body_where_it_does_not(header, wait_s, moment):
    report = ollama_said({"error": "try again in 8s"}, 429, code=1, http_headers={"retry-after": header})

    assert (report.error.retry_after_s, report.error.resets_at) == (wait_s, moment)


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (ANSWER, None),
        (ANSWER | {"done": False}, "invalid"),
        ({"response": "hello"}, "invalid"),
        (ANSWER | {"done_reason": "length"}, "limit"),
        (ANSWER | {"response": 7}, "invalid"),
        ({"error": "model requires more system memory"}, "invalid"),
        (json.dumps(ANSWER).encode()[:-5], "invalid"),
        (b"<html>", "invalid"),
        (b"", "invalid"),
    ],
)
def test_only_a_whole_answer_that_is_done_is_one(answer, error):
    assert kind_of(ollama_said(answer)) == error


def test_a_call_without_an_answer_is_the_networks_fault():
    report = ollama_said(b"", None, code=None, fault="the connection was refused")

    assert (kind_of(report), report.error.message) == ("network", "the connection was refused")


def test_ollama_thinks_aloud_where_it_says_nothing():
    assert ollama_said(ANSWER | {"response": "", "thinking": "hm"}).text == "hm"


def test_ollama_counts_what_it_counts_and_nothing_else():
    report = ollama_said(ANSWER | {"eval_count": 5})

    assert report.usage == Usage(
        input_tokens=None, output_tokens=5, cache_read_tokens=None, cache_write_tokens=None, cost_usd=None
    )
    assert report.model == "llama"
    assert ollama_said(ANSWER).usage is None


# --- scripts ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("stdout", "envelope"),
    [
        (b'{"status": "completed"}', {"status": "completed"}),
        (b'\n {"a": 1}\n\n', {"a": 1}),
        (b'log line\n{"status": "completed"}', None),
        (b'{"a": 1}\n{"b": 2}', None),
        (b'[{"a": 1}]', None),
        (b'{"a": 1, "a": 2}', None),
        (b'{"a": NaN}', None),
        (b'{"a": "\xff"}', None),
        (b"", None),
    ],
)
def test_an_envelope_is_all_of_standard_output_or_nothing(stdout, envelope):
    assert script.read(an_exit(stdout), {}).envelope == envelope


def test_the_error_of_a_script_is_on_standard_error_and_its_output_stays_its_message():
    ended = an_exit(b"everything is fine\n", b"warning\n" * 5000 + b"disk full, retry-after: 60\n", code=4)

    report = script.read(ended, {})

    assert report.text == "everything is fine\n"
    assert report.error.message.startswith("it ended with exit 4: ")
    assert report.error.message.endswith("disk full, retry-after: 60")
    assert (report.error.kind, report.error.retry_after_s) == ("crash", 60.0)


def test_codex_and_claude_name_their_session():
    assert said("claude-code").session_ref == "s-1"
    assert codex.read(an_exit(json_lines({"type": "thread.started", "thread_id": "t-1"})), {}).session_ref == "t-1"
