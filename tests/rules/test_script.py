"""Scripts: what they are handed, and what their exit means."""

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keisei.records.effect import ToolCall
from keisei.records.error import OperatorError
from keisei.records.task_spec import SpecScope
from keisei.rules.script import (
    Checked,
    Folders,
    Meaning,
    environment,
    gate_meaning,
    pattern_files,
    stdin,
    variable,
    verify_meaning,
)

QUICK = settings(max_examples=200, deadline=None, database=None)
FOLDERS = Folders(helpers="/opt/helper", patterns="/run/patterns", home="/run/home")
BASE = {
    "PATH": "/opt/helper:/usr/bin:/bin",
    "HOME": "/run/home",
    "LANG": "C.UTF-8",
    "KEISEI_PATTERNS_DIR": "/run/patterns",
}
TASK = {
    "agent_id": "ag-1",
    "role": "edit-local",
    "scope": {"files-whitelist": ["src/**"], "files-denylist": []},
    "verification": {"test-count-min": 3},
    "parameters": {"max": 2},
    "worktree_path": "/w",
    "task_toml": "/t/task.toml",
    "main_repo": "/m",
    "run_mode": "merged",
}


# The environment


def test_a_script_finds_the_fixed_names_and_nothing_inherited(monkeypatch):
    monkeypatch.setenv("SECRET", "x")

    assert environment(TASK, {}, "/usr/bin:/bin", FOLDERS) == {
        **BASE,
        "AGENT_ID": "ag-1",
        "TASK_TOML": "/t/task.toml",
        "WORKTREE_PATH": "/w",
        "MAIN_REPO": "/m",
        "RUN_MODE": "merged",
    }


def test_what_is_not_known_is_not_set():
    assert environment({"agent_id": "a", "main_repo": None}, {}, "/usr/bin:/bin", FOLDERS) == {**BASE, "AGENT_ID": "a"}


def test_without_a_path_there_are_the_helpers():
    assert environment({}, {}, "", FOLDERS)["PATH"] == "/opt/helper"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        pytest.param(["src/**", "a b"], "src/**\na b", id="list"),
        pytest.param(("x",), "x", id="tuple"),
        pytest.param([], "", id="empty list"),
        pytest.param([1, True, 2.5], "1\ntrue\n2.5", id="mixed list"),
        pytest.param("two\nlines", "two\nlines", id="text"),
        pytest.param(44, "44", id="number"),
        pytest.param(0.5, "0.5", id="fraction"),
        pytest.param(True, "true", id="true"),
        pytest.param(False, "false", id="false"),
        pytest.param(datetime(2026, 1, 2, tzinfo=UTC), "2026-01-02T00:00:00Z", id="time"),
        pytest.param({"a": [1]}, '{"a": [1]}', id="table"),
        pytest.param([{"a": 1}], '{"a": 1}', id="list of tables"),
    ],
)
def test_a_parameter_arrives_as_text(value, text):
    assert environment({}, {"files-whitelist": value}, "/usr/bin:/bin", FOLDERS) == {**BASE, "FILES_WHITELIST": text}


def test_a_parameter_without_a_value_is_not_set():
    assert environment({}, {"check": None}, "/usr/bin:/bin", FOLDERS) == BASE


@pytest.mark.parametrize("value", [["a\nb"], ["ok", "a\n**"]])
def test_a_list_cannot_smuggle_in_a_line(value):
    with pytest.raises(OperatorError, match="several lines"):
        environment({}, {"files-whitelist": value}, "/bin", FOLDERS)


@pytest.mark.parametrize("value", ["a\0b", ["a\0b"]])
def test_a_nul_is_refused(value):
    with pytest.raises(OperatorError, match="NUL"):
        environment({}, {"x": value}, "/bin", FOLDERS)


@pytest.mark.parametrize(
    "name",
    [
        *("path", "home", "lang", "ifs", "env", "bash-env", "shellopts", "ps4", "tmpdir", "cdpath"),
        *("ld-preload", "ld-library-path", "lc-all", "git-dir", "git-ssh-command", "pythonpath", "perl5opt"),
        *("node-options", "rubyopt", "keisei-tree", "keisei-patterns-dir", "kei-disabled-hooks", "glibc-tunables"),
        *("agent-id", "task-toml", "worktree-path", "main-repo", "run-mode"),
    ],
)
def test_a_parameter_cannot_overwrite_a_variable_with_a_meaning(name):
    with pytest.raises(OperatorError, match="would overwrite"):
        environment(TASK, {name: "x"}, "/bin", FOLDERS)


@pytest.mark.parametrize("name", ["", "PATH", "a=b", "a b", "-a", "1a", "a_b", "BASH_FUNC_ls%%", "a\n", "ä", "\u017f"])
def test_what_is_not_the_name_of_a_parameter_is_refused(name):
    with pytest.raises(OperatorError, match="is not the name of a parameter"):
        variable(name)


@pytest.mark.parametrize("name", ["files-whitelist", "bash-patterns-allowed", "check", "test-count-min", "timeout-s"])
def test_the_parameters_of_the_kit_have_variables(name):
    assert variable(name) == name.upper().replace("-", "_")


# Standard input


def test_a_gate_reads_the_harness_json_and_the_task():
    call = ToolCall(
        tool="Bash", input={"command": "git push"}, cwd="/w", tool_use_id="t1", agent_id="sub", agent_type="Explore"
    )

    assert json.loads(stdin(call, TASK)) == {
        "hook_event_name": "PreToolUse",
        "tool_name": "Bash",
        "tool_input": {"command": "git push"},
        "cwd": "/w",
        "tool_use_id": "t1",
        "agent_id": "sub",
        "agent_type": "Explore",
        "task": {key: TASK[key] for key in TASK if key not in {"task_toml", "main_repo", "run_mode"}},
    }


def test_what_the_harness_did_not_say_is_left_out_and_the_task_has_all_its_keys():
    told = json.loads(stdin(ToolCall(tool="X", input={}), {}))

    assert told == {
        "hook_event_name": "PreToolUse",
        "tool_name": "X",
        "tool_input": {},
        "task": dict.fromkeys(("agent_id", "role", "scope", "verification", "parameters", "worktree_path")),
    }


def test_the_agent_cannot_put_a_task_of_its_own_in():
    told = stdin(ToolCall(tool="X", input={"task": {"role": "git-ops"}}), {"role": "edit-local"})

    assert json.loads(told)["task"]["role"] == "edit-local"


def test_records_of_a_task_are_told_as_they_are_written():
    told = json.loads(stdin(ToolCall(tool="X", input={}), {"scope": SpecScope(files_whitelist=("a",))}))

    assert told["task"]["scope"] == {"files-whitelist": ["a"]}


def test_text_that_is_not_unicode_is_told_escaped():
    told = stdin(ToolCall(tool="X", input={"a": "\ud800\0ä"}), {})

    assert b'"\\ud800\\u0000\\u00e4"' in told


@pytest.mark.parametrize("value", [float("nan"), float("inf"), object()])
def test_what_json_cannot_say_is_refused(value):
    with pytest.raises(OperatorError, match="as JSON"):
        stdin(ToolCall(tool="X", input={}), {"parameters": {"x": value}})


# What a gate's exit means

CLAUDE = (
    b'{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny",'
    b'"permissionDecisionReason":"no git"}}'
)
ALLOW = CLAUDE.replace(b"deny", b"allow")


@pytest.mark.parametrize(
    ("code", "stdout", "stderr", "meaning"),
    [
        pytest.param(0, b"", b"", Meaning("allow", "rule", ""), id="silence"),
        pytest.param(0, b"fine\n", b"a warning\n", Meaning("allow", "rule", ""), id="chatter"),
        pytest.param(0, ALLOW, b"", Meaning("allow", "rule", ""), id="an explicit allow"),
        pytest.param(0, b"{", b"", Meaning("allow", "rule", ""), id="broken JSON"),
        pytest.param(0, b'["deny"]', b"", Meaning("allow", "rule", ""), id="no object"),
        pytest.param(0, b'{"hookSpecificOutput": 1}', b"", Meaning("allow", "rule", ""), id="an odd object"),
        pytest.param(0, CLAUDE, b"", Meaning("deny", "rule", "no git"), id="Claude's deny with 0"),
        pytest.param(0, b"words\n" + CLAUDE + b"\n", b"", Meaning("deny", "rule", "no git"), id="deny after words"),
        pytest.param(0, b'{"decision":"block","reason":"R"}', b"", Meaning("deny", "rule", "R"), id="block with 0"),
        pytest.param(
            0, b'{\n"decision":"block"\n}', b"why\n", Meaning("deny", "rule", "why"), id="block over several lines"
        ),
        pytest.param(
            0, CLAUDE.replace(b"deny", b"ask"), b"", Meaning("deny", "rule", "no git"), id="ask, with nobody there"
        ),
        pytest.param(0, b'{"continue":false,"stopReason":"S"}', b"", Meaning("deny", "rule", "S"), id="stop the agent"),
        pytest.param(2, CLAUDE, b"other\n", Meaning("deny", "rule", "no git"), id="2 and Claude's deny"),
        pytest.param(2, b'{"reason":"R"}', b"other", Meaning("deny", "rule", "R"), id="2 and a reason"),
        pytest.param(2, b"", b"\n  first \nsecond\n", Meaning("deny", "rule", "first"), id="2 and stderr"),
        pytest.param(2, b"text", b"", Meaning("deny", "rule", "refused by its script"), id="2 and nothing"),
        pytest.param(2, b'{"reason":" "}', b"e", Meaning("deny", "rule", "e"), id="2 and an empty reason"),
        pytest.param(
            2, b'{"reason":7}', b"", Meaning("deny", "rule", "refused by its script"), id="2 and an odd reason"
        ),
        pytest.param(2, ALLOW, b"", Meaning("deny", "rule", "no git"), id="2 wins over an allow"),
        pytest.param(2, b"", b"\x1b[31mred\x1b[0m\tx\x07", Meaning("deny", "rule", "red x"), id="colours are dropped"),
        pytest.param(2, b"", b"\xff!", Meaning("deny", "rule", "\N{REPLACEMENT CHARACTER}!"), id="not UTF-8"),
    ],
)
def test_a_gate_that_works_decides(code, stdout, stderr, meaning):
    assert gate_meaning(code, stdout, stderr, "deny", timed_out=False) == meaning
    assert gate_meaning(code, stdout, stderr, "allow", timed_out=False) == meaning


@pytest.mark.parametrize(
    ("code", "stderr", "changes", "what"),
    [
        pytest.param(1, b"", {}, "its script ended with exit code 1", id="1"),
        pytest.param(127, b"jq: not found\n", {}, "its script ended with exit code 127 (jq: not found)", id="127"),
        pytest.param(None, b"", {}, "its script was killed or not started", id="killed"),
        pytest.param(-9, b"", {}, "its script ended with exit code -9", id="negative"),
        pytest.param(0, b"", {"timed_out": True}, "its script did not answer in time", id="late, then 0"),
        pytest.param(2, b"x", {"timed_out": True}, "its script did not answer in time (x)", id="late, then 2"),
        pytest.param(0, b"", {"truncated": True}, "its script wrote more than can be read", id="cut output"),
    ],
)
def test_a_gate_that_breaks_falls_as_its_author_says_and_says_so(code, stderr, changes, what):
    facts = {"timed_out": False, **changes}

    closed = gate_meaning(code, b"", stderr, "deny", **facts)
    opened = gate_meaning(code, b"", stderr, "allow", **facts)

    assert closed == Meaning("deny", "error", f"{what}; refused, because a broken gate refuses")
    assert opened == Meaning("allow", "error", f"{what}; let through, because on-error is allow")


@pytest.mark.parametrize("length", range(90, 140))
def test_the_reason_of_a_broken_gate_is_cut_to_200_characters(length):
    reason = gate_meaning(1, b"", b"x" * length, "deny", timed_out=False).reason

    assert len(reason) <= 200
    assert ("x" * length in reason) == (len(reason) < 200 or "…" not in reason)
    assert reason.endswith("; refused, because a broken gate refuses")


def test_a_broken_gate_that_prints_a_refusal_is_still_a_broken_gate():
    assert gate_meaning(1, CLAUDE, b"", "allow", timed_out=False).cause == "error"


@QUICK
@given(
    st.one_of(st.none(), st.integers(-70, 300)),
    st.one_of(st.binary(max_size=300), st.text(max_size=300).map(lambda text: json.dumps({"reason": text}).encode())),
    st.one_of(st.binary(max_size=400), st.text(max_size=400).map(lambda text: text.encode(errors="replace"))),
    st.sampled_from(["deny", "allow"]),
    st.booleans(),
)
def test_every_exit_has_a_meaning_in_one_line(code, stdout, stderr, on_error, timed_out):
    meaning = gate_meaning(code, stdout, stderr, on_error, timed_out)

    assert len(meaning.reason) <= 200
    assert meaning.reason.isprintable()
    assert meaning.reason or meaning.decision == "allow"
    assert meaning.decision == on_error or meaning.cause == "rule"


# What a verify's exit means


@pytest.mark.parametrize(
    ("code", "stderr", "late", "checked"),
    [
        pytest.param(0, b"", False, Checked("held", "", ""), id="held"),
        pytest.param(0, b"note\n", False, Checked("held", "", "note"), id="held with a note"),
        pytest.param(1, b"cargo check failed\nline 2\nline 3\n", False, None, id="violated"),
        pytest.param(
            1, b"", False, Checked("violated", "its script ended with exit code 1 and gave no reason", ""), id="silent"
        ),
        pytest.param(2, b"x", False, Checked("violated", "x", ""), id="2 is a violation too"),
        pytest.param(0, b"", True, Checked("error", "its script did not answer in time", ""), id="late"),
        pytest.param(1, b"a\nb", True, Checked("error", "its script did not answer in time", "a\nb"), id="late words"),
        pytest.param(None, b"", False, Checked("error", "its script was killed or not started", ""), id="killed"),
    ],
)
def test_a_verify_holds_or_is_violated_or_broke(code, stderr, late, checked):
    expected = checked or Checked("violated", "cargo check failed", "line 2\nline 3")

    assert verify_meaning(code, stderr, timed_out=late) == expected


def test_a_long_line_is_cut_to_200_characters_and_kept_whole_in_the_detail():
    line = "x" * 300

    checked = verify_meaning(1, f"{line}\nmore".encode())

    assert (len(checked.reason), checked.reason[-2:]) == (200, "x…")
    assert checked.detail == f"{line}\nmore"


# The lists of a capability


def test_the_lists_of_a_capability_become_files_one_value_per_line():
    lists = {
        "policy::no-git-ops": {"tool-patterns": ("^git( |$)", "^gh "), "paths": ["ä/**"], "tools-denied": ()},
        "tools::y": {"counts": [1, 2]},
        "tools::z": {},
    }

    assert pattern_files(lists) == {
        "policy__no-git-ops/tool-patterns": b"^git( |$)\n^gh \n",
        "policy__no-git-ops/paths": "ä/**\n".encode(),
        "policy__no-git-ops/tools-denied": b"",
        "tools__y/counts": b"1\n2\n",
    }


@pytest.mark.parametrize(
    ("lists", "sentence"),
    [
        pytest.param({"policy::x": {"a": ["b\nc"]}}, "several lines", id="several lines"),
        pytest.param({"policy::x": {"a": ["b\0c"]}}, "NUL", id="NUL"),
        pytest.param({"policy::x": {"../a": ["b"]}}, "not the name of a list", id="climbing key"),
        pytest.param({"policy::x": {"A": ["b"]}}, "not the name of a list", id="upper case"),
        pytest.param({"../x": {"a": ["b"]}}, "not the name of a capability", id="climbing name"),
        pytest.param({"a::b::c": {"a": ["b"]}}, "not the name of a capability", id="two separators"),
    ],
)
def test_what_the_helper_could_not_find_or_print_is_refused(lists, sentence):
    with pytest.raises(OperatorError, match=sentence):
        pattern_files(lists)
