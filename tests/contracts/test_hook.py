"""Hooks: what each harness says becomes one call, what could be read in two ways is refused, every answer is obeyed."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keisei.contracts.hook import DEEPEST, LONGEST, MOST, answer, one_line, read_call
from keisei.records.effect import ToolCall
from keisei.records.error import ContractViolation
from keisei.testing.strategies import json_objects, json_values

QUICK = settings(max_examples=150, deadline=None, database=None)
CLAUDE = {
    "session_id": "s",
    "transcript_path": "/t.jsonl",
    "cwd": "/work",
    "permission_mode": "dontAsk",
    "effort": {"level": "high"},
    "hook_event_name": "PreToolUse",
    "tool_name": "Bash",
    "tool_input": {"command": "ls"},
    "tool_use_id": "toolu_1",
}


def told(**changes):
    return json.dumps({**CLAUDE, **changes}).encode()


def without(key):
    return json.dumps({name: value for name, value in CLAUDE.items() if name != key}).encode()


def refused(data, harness="claude"):
    with pytest.raises(ContractViolation) as caught:
        read_call(data, harness)
    return caught.value.complaints[0]


def test_claude_codes_call_is_read():
    data = told(agent_id="a1", agent_type="Explore")

    assert read_call(data, "claude") == ToolCall(
        tool="Bash",
        input={"command": "ls"},
        cwd="/work",
        tool_use_id="toolu_1",
        agent_id="a1",
        agent_type="Explore",
        event="PreToolUse",
        told=json.loads(data),
        harness="claude",
    )


def test_codexs_call_is_read():
    data = told(turn_id="t", model="gpt", tool_name="mcp__x__y", tool_input={"a": [1]}, hook_event_name="PostToolUse")

    call = read_call(data, "codex")

    assert (call.tool, call.input, call.event, call.harness) == ("mcp__x__y", {"a": [1]}, "PostToolUse", "codex")


@pytest.mark.parametrize(("name", "event"), [("pre_tool_call", "PreToolUse"), ("post_tool_call", "PostToolUse")])
def test_hermes_call_is_read(name, event):
    data = {
        "hook_event_name": name,
        "tool_name": "terminal",
        "tool_input": {"command": "ls"},
        "session_id": "s",
        "cwd": "/work",
        "extra": {"tool_call_id": "c1"},
    }

    call = read_call(json.dumps(data).encode(), "hermes")

    assert (call.tool, call.event, call.tool_use_id, call.agent_id) == ("terminal", event, "c1", None)


@pytest.mark.parametrize("key", ["cwd", "tool_use_id", "agent_id", "agent_type", "session_id"])
def test_what_a_harness_does_not_say_is_not_known(key):
    call = read_call(without(key), "claude")

    assert getattr(call, key, None) is None


def test_a_call_without_an_event_is_one_before_the_tool():
    assert read_call(without("hook_event_name"), "claude").event == "PreToolUse"


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        pytest.param(b"", "it is not JSON", id="empty"),
        pytest.param(b"ls -l", "it is not JSON", id="text"),
        pytest.param(told()[:-1], "it is not JSON", id="cut"),
        pytest.param(told() + b"{}", "it is not JSON", id="two-documents"),
        pytest.param(b"\xef\xbb\xbf" + told(), "it is not JSON", id="byte-order-mark"),
        pytest.param(told().decode().encode("utf-16"), "it is not UTF-8", id="utf-16"),
        pytest.param(b'{"tool_name":"\xff"}', "it is not UTF-8", id="broken-utf-8"),
        pytest.param(b'{"tool_name":"a\nb"}', "it is not JSON", id="bare-newline-in-a-string"),
        pytest.param(b"[]", "it is not an object", id="list"),
        pytest.param(b"null", "it is not an object", id="null"),
        pytest.param(without("tool_name"), "`tool_name` must be", id="no-tool"),
        pytest.param(told(tool_name=""), "`tool_name` must be", id="empty-tool"),
        pytest.param(told(tool_name=None), "`tool_name` must be", id="null-tool"),
        pytest.param(told(tool_name=["Bash"]), "`tool_name` must be", id="tool-in-a-list"),
        pytest.param(without("tool_input"), "`tool_input` must be", id="no-input"),
        pytest.param(told(tool_input=None), "`tool_input` must be", id="null-input"),
        pytest.param(told(tool_input="ls"), "`tool_input` must be", id="text-input"),
        pytest.param(told(hook_event_name="Stop"), "`hook_event_name` is not", id="another-event"),
        pytest.param(told(hook_event_name=None), "`hook_event_name` is not", id="null-event"),
        pytest.param(told(hook_event_name={}), "`hook_event_name` is not", id="object-event"),
        pytest.param(told(cwd="work"), "`cwd` must be an absolute path", id="relative-cwd"),
        pytest.param(told(cwd="/a\0b"), "`cwd` must be an absolute path", id="nul-in-cwd"),
        pytest.param(told(cwd=1), "`cwd` must be a string", id="cwd-a-number"),
        pytest.param(told(tool_use_id=7), "`tool_use_id` must be a string", id="id-a-number"),
        pytest.param(told(agent_id=""), "`agent_id` must not be empty", id="empty-agent"),
        pytest.param(told(agent_id=False), "`agent_id` must be a string", id="agent-a-boolean"),
        pytest.param(b'{"tool_name":"Read","tool_name":"Bash","tool_input":{}}', "a key twice", id="tool-twice"),
        pytest.param(
            b'{"tool_name":"Bash","tool_input":{"command":"ls","command":"rm"}}', "a key twice", id="command-twice"
        ),
        pytest.param(
            b'{"tool_name":"B","tool_input":{"a":[{"x":1,"\\u0078":2}]}}', "a key twice", id="twice-by-an-escape"
        ),
        pytest.param(b'{"tool_name":"B","tool_input":{"a":NaN}}', "NaN, which is not JSON", id="nan"),
        pytest.param(b'{"tool_name":"B","tool_input":{"a":-Infinity}}', "which is not JSON", id="infinity"),
        pytest.param(b'{"tool_name":"B","tool_input":{"a":1e999}}', "too large", id="beyond-every-double"),
        pytest.param(
            b'{"tool_name":"B","tool_input":{"a":' + b"9" * 5000 + b"}}", "too large", id="integer-without-end"
        ),
        pytest.param(b'{"tool_name":"B","tool_input":{"a":"\\ud800"}}', "half a surrogate", id="half-surrogate"),
        pytest.param(b'{"tool_name":"B","tool_input":{"\\uDC00":1}}', "half a surrogate", id="half-surrogate-key"),
        pytest.param(
            b'{"tool_name":"B","tool_input":{"a":' + b"[" * 100 + b"]" * 100 + b"}}", "nested too deeply", id="deep"
        ),
        pytest.param(b"[" * 200_000, "nested too deeply", id="deep-without-end"),
        pytest.param(b'{"a":' * 100_000, "nested too deeply", id="deep-objects"),
        pytest.param(told(tool_input={"a": [0] * (MOST + 1)}), "more than", id="strewn"),
    ],
)
def test_what_is_no_call_is_refused_with_one_sentence(data, complaint):
    sentence = refused(data)

    assert complaint in sentence
    assert "\n" not in sentence


def test_nesting_up_to_the_limit_is_read():
    nested = []
    for _ in range(DEEPEST - 3):
        nested = [nested]

    assert read_call(told(tool_input={"a": nested}), "claude").input == {"a": nested}


def test_many_brackets_and_commas_inside_text_are_no_nesting():
    content = "[{" * 1000 + "," * (MOST + 1)

    assert read_call(told(tool_input={"content": content}), "claude").input["content"] == content


def test_a_surrogate_pair_is_a_character():
    data = b'{"tool_name":"B","tool_input":{"a":"\\ud83d\\ude00"}}'

    assert read_call(data, "claude").input == {"a": "\U0001f600"}


@QUICK
@given(st.binary(max_size=200), st.text(max_size=10))
def test_any_bytes_are_a_call_or_a_violation(data, harness):
    try:
        found = read_call(data, harness)
    except ContractViolation as violation:
        found = violation.complaints[0]

    assert isinstance(found, ToolCall) or "\n" not in found


@QUICK
@given(json_values() | st.fixed_dictionaries({}, optional={key: json_values() for key in (*CLAUDE, "agent_id")}))
def test_any_json_is_a_call_or_a_violation(value):
    try:
        call = read_call(json.dumps(value).encode(), "claude")
    except ContractViolation:
        return

    assert (call.tool, call.input) == (value["tool_name"], value["tool_input"])


@QUICK
@given(json_objects(), json_objects())
def test_any_input_comes_back_as_it_was_sent_and_unknown_keys_are_fine(given_input, extra):
    data = json.dumps({**extra, **CLAUDE, "tool_input": given_input}).encode()

    assert read_call(data, "claude").input == given_input


CALL = ToolCall(tool="Bash", input={})
AFTER = ToolCall(tool="Bash", input={}, event="PostToolUse")


def test_a_refusal_for_claude_is_its_json_a_reason_and_exit_2():
    out = answer(CALL, allowed=False, reason="policy::no-git-ops: no git here", harness="claude", explicit=False)

    assert json.loads(out.stdout) == {
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": "deny",
            "permissionDecisionReason": "policy::no-git-ops: no git here",
        }
    }
    assert out.stderr == b"policy::no-git-ops: no git here\n"
    assert out.code == 2


@pytest.mark.parametrize("harness", ["codex", "hermes", "", "something-else"])
@pytest.mark.parametrize("call", [CALL, AFTER, None], ids=["before", "after", "unreadable"])
def test_a_refusal_for_everybody_else_is_a_block_a_reason_and_exit_2(harness, call):
    out = answer(call, allowed=False, reason="no", harness=harness, explicit=True)

    assert (json.loads(out.stdout), out.stderr, out.code) == ({"decision": "block", "reason": "no"}, b"no\n", 2)


def test_a_refusal_after_the_tool_is_a_block_for_claude_too():
    out = answer(AFTER, allowed=False, reason="no", harness="claude", explicit=True)

    assert (json.loads(out.stdout), out.stderr, out.code) == ({"decision": "block", "reason": "no"}, b"no\n", 2)


def test_an_unreadable_call_is_refused_as_one_before_the_tool():
    out = answer(None, allowed=False, reason="no", harness="claude", explicit=False)

    assert json.loads(out.stdout)["hookSpecificOutput"]["permissionDecision"] == "deny"


@pytest.mark.parametrize("harness", ["claude", "codex", "hermes"])
def test_an_allowance_is_silence(harness):
    assert answer(CALL, allowed=True, reason=None, harness=harness, explicit=False) == (b"", b"", 0)


def test_an_explicit_allowance_is_said_to_claude_before_the_tool():
    out = answer(CALL, allowed=True, reason=None, harness="claude", explicit=True)

    assert json.loads(out.stdout)["hookSpecificOutput"] == {
        "hookEventName": "PreToolUse",
        "permissionDecision": "allow",
    }
    assert (out.stderr, out.code) == (b"", 0)


@pytest.mark.parametrize(
    ("call", "harness"), [(AFTER, "claude"), (CALL, "codex"), (CALL, "hermes")], ids=["after", "codex", "hermes"]
)
def test_an_explicit_allowance_is_silence_where_nobody_would_understand_it(call, harness):
    assert answer(call, allowed=True, reason=None, harness=harness, explicit=True) == (b"", b"", 0)


@pytest.mark.parametrize("allowed", [None, 1, "yes", 0], ids=["none", "one", "text", "zero"])
def test_only_true_allows(allowed):
    assert answer(CALL, allowed=allowed, reason=None, harness="claude", explicit=True).code == 2


@pytest.mark.parametrize("reason", [None, "", " \n"], ids=["none", "empty", "blank"])
def test_a_refusal_without_a_reason_still_says_something(reason):
    out = answer(CALL, allowed=False, reason=reason, harness="codex", explicit=False)

    assert json.loads(out.stdout)["reason"] == out.stderr.decode().strip() != ""


def test_warnings_stand_on_stderr_behind_the_reason():
    assert (
        answer(CALL, allowed=True, reason=None, harness="claude", explicit=False, notes=("careful\nnow",)).stderr
        == b"careful now\n"
    )
    assert (
        answer(CALL, allowed=False, reason="no", harness="claude", explicit=False, notes=("careful",)).stderr
        == b"no\ncareful\n"
    )


@QUICK
@given(st.text(st.characters(), max_size=3000), st.sampled_from(["claude", "codex"]))
def test_any_reason_is_one_harmless_line_in_both_places(reason, harness):
    out = answer(CALL, allowed=False, reason=reason, harness=harness, explicit=False)
    line = out.stderr.decode().removesuffix("\n")
    said = json.loads(out.stdout)

    assert line.isprintable()
    assert 0 < len(line) <= LONGEST
    assert line in (said.get("reason"), said.get("hookSpecificOutput", {}).get("permissionDecisionReason"))


def test_a_long_line_is_cut_and_says_so():
    assert one_line("a" * 50, 10) == "a" * 9 + "…"
