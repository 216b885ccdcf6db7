"""`keisei gate` and `keisei capability test`: services started and stopped, logs judged again, calls explained."""

import json
import os
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

import pytest

from keisei.contracts.check import build
from keisei.rules.chain import broken_at, sealed
from tests.cli.shell import BIN

TASK = """
[task]
role = "{role}"
[scope]
files-whitelist = ["src/**"]
{more}
[body]
text = "Do it."
"""
ROLE = """
[role]
name = "{name}"
[capabilities]
required = ["policy::no-git-ops", "scope::files-whitelist"{more}]
[tools]
allowed = [{tools}]
bash-patterns-allowed = ['^(ls|touch|git)( |$)']
"""
CAPABILITY = """
[capability]
name = "policy::{name}"
category = "policy"
version = "1.0"
description = "A rule."
rationale = "Because."
[text]
path = "text.md"
{parts}
"""


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


class Yard:
    """A project, a short folder for sockets, and the services that were started in it."""

    def __init__(self, shell, runtime):
        self.shell = shell
        self.runtime = runtime
        self.project = shell.folder_of("shop")
        self.pids = []
        for name in [name for name in os.environ if name.startswith(("KEI_", "KEISEI_"))]:
            shell._monkeypatch.delenv(name)
        shell.setenv("XDG_RUNTIME_DIR", runtime)
        shell.setenv("XDG_STATE_HOME", shell.home / "state")
        shell.cd(self.project)
        self.write("keisei.toml", '[project]\nname = "shop"\n')
        self.write("src/a", "a")
        self.role("worker", "Read", "Write", "Bash", "Task")
        self.role("reader", "Read")
        self.task = self.write("task.toml", TASK.format(role="worker", more=""))

    def write(self, name, text):
        path = self.project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def role(self, name, *tools, more=""):
        listed = ", ".join(f'"{each}"' for each in tools)
        self.write(f".keisei/roles/{name}.toml", ROLE.format(name=name, tools=listed, more=more))

    def capability(self, name, parts, **files):
        folder = f".keisei/capabilities/policy/{name}"
        self.write(f"{folder}/capability.toml", CAPABILITY.format(name=name, parts=parts))
        self.write(f"{folder}/text.md", "Do not.\n")
        for file, text in files.items():
            self.write(f"{folder}/{file}.sh", f"#!/bin/sh\n{text}\n").chmod(0o755)

    def start(self, *words, task=None):
        done = self.shell.run("gate", "start", "--task", task or self.task, "--worktree", self.project, *words)
        assert done.code == 0, done.err
        told = json.loads(done.out)
        self.pids.append(told["pid"])
        return told

    def listed(self):
        return json.loads(self.shell.run("gate", "list", "--json").out)

    def explain(self, *words, **options):
        return self.shell.run("gate", "explain", "--task", self.task, "--worktree", self.project, *words, **options)

    def replay(self, log, *words, task=None):
        return self.shell.run("gate", "replay", log, "--task", task or self.task, "--worktree", self.project, *words)


@pytest.fixture
def yard(shell):
    runtime = Path(tempfile.mkdtemp(prefix="kg-", dir="/tmp"))
    found = Yard(shell, runtime)
    yield found
    for pid in found.pids:
        if alive(pid):
            os.kill(pid, signal.SIGKILL)
    shutil.rmtree(runtime)


def call(tool, **given):
    return {"tool_name": tool, "tool_input": given}


def bash(command, **more):
    return {**call("Bash", command=command), **more}


def hooked(told, said):
    """What the hook of a started service answers."""
    return subprocess.run(
        told["hook"], input=json.dumps(said).encode(), capture_output=True, env={}, cwd="/", timeout=30, check=False
    )


def lines(told):
    """The log, without the calls that proved the gate when it was started."""
    found = [json.loads(line) for line in Path(told["log"]).read_bytes().splitlines()]
    return [line for line in found if (line["tool_use_id"] or "").startswith(("t-", "post:t-"))]


# --- start, list, stop ------------------------------------------------------------------------------------------------


def test_starting_prints_one_json_line_that_says_how_to_reach_it(yard):
    done = yard.shell.run("gate", "start", "--task", yard.task, "--worktree", yard.project)
    told = json.loads(done.out)
    yard.pids.append(told["pid"])

    assert (done.code, done.out.count("\n")) == (0, 1)
    assert {"pid", "socket", "hook", "policy_digest"} <= set(told)
    assert alive(told["pid"])
    assert Path(told["socket"]).is_socket()
    assert len(told["policy_digest"]) == 64
    assert all(isinstance(word, str) for word in told["hook"])


def test_the_hook_allows_and_refuses_and_every_decision_is_written_down(yard):
    told = yard.start()

    allowed = hooked(told, bash("touch src/x", tool_use_id="t-1"))
    refused = hooked(told, bash("git push", tool_use_id="t-2"))

    assert (allowed.returncode, allowed.stdout, allowed.stderr) == (0, b"", b"")
    assert refused.returncode == 2
    answer = json.loads(refused.stdout)["hookSpecificOutput"]
    assert answer["permissionDecision"] == "deny"
    assert refused.stderr.decode() == answer["permissionDecisionReason"] + "\n"
    assert [(each["tool_use_id"], each["decision"], each["cause"]) for each in lines(told)] == [
        ("t-1", "allow", "rule"),
        ("t-2", "deny", "rule"),
    ]
    assert {each["policy_digest"] for each in lines(told)} == {told["policy_digest"]}
    assert broken_at(Path(told["log"]).read_bytes().splitlines()) is None


def test_the_reason_in_the_log_is_the_one_the_agent_reads(yard):
    yard.task.write_text(
        TASK.format(role="worker", more="").replace('"src/**"', ", ".join(f'"src/{n:03}/**"' for n in range(40)))
    )
    told = yard.start()

    refused = hooked(told, call("Write", file_path="docs/x") | {"tool_use_id": "t-1"})

    assert lines(told)[0]["reason"] == refused.stderr.decode().strip()


def test_inside_an_attempt_an_allowance_is_said_aloud(yard):
    told = yard.start("--attempt", "attempt-1")

    allowed = hooked(told, bash("touch src/x", tool_use_id="t-1"))

    assert json.loads(allowed.stdout)["hookSpecificOutput"]["permissionDecision"] == "allow"
    assert lines(told)[0]["attempt_id"] == "attempt-1"


def test_the_hook_of_another_harness_speaks_its_words(yard):
    told = yard.start("--harness", "codex")

    refused = hooked(told, bash("git push"))

    assert (refused.returncode, json.loads(refused.stdout)["decision"]) == (2, "block")


def test_a_stopped_service_is_gone_with_its_socket_and_its_plan(yard):
    told = yard.start()

    done = yard.shell.run("gate", "stop")

    assert (done.code, done.out) == (0, f"stopped {told['pid']}\n")
    assert not alive(told["pid"])
    assert not Path(told["socket"]).parent.exists()
    assert yard.listed() == []


def test_the_hook_of_a_stopped_service_refuses(yard):
    told = yard.start()
    yard.shell.run("gate", "stop")

    refused = hooked(told, bash("touch src/x"))

    assert refused.returncode == 2
    assert refused.stdout
    assert refused.stderr


def test_two_services_run_side_by_side_and_each_is_stopped_by_name(yard):
    reader = yard.write("reader.toml", TASK.format(role="reader", more=""))
    one, two = yard.start(), yard.start(task=reader)

    assert sorted(each["pid"] for each in yard.listed()) == sorted([one["pid"], two["pid"]])
    assert one["policy_digest"] != two["policy_digest"]
    assert hooked(one, bash("touch src/x")).returncode == 0
    assert hooked(two, bash("touch src/x")).returncode == 2

    assert yard.shell.run("gate", "stop").code == 1
    assert yard.shell.run("gate", "stop", two["socket"]).code == 0
    assert hooked(one, bash("touch src/x")).returncode == 0
    assert yard.shell.run("gate", "stop", one["pid"]).code == 0
    assert yard.listed() == []


def test_every_service_may_be_stopped_at_once(yard):
    told = [yard.start(), yard.start()]

    assert yard.shell.run("gate", "stop", "--all").code == 0
    assert [each["pid"] for each in told if alive(each["pid"])] == []


def test_one_token_does_not_open_another_service(yard):
    one, two = yard.start(), yard.start()
    mixed = {**one, "hook": [*one["hook"][:-2], two["hook"][-2], one["hook"][-1]]}

    assert hooked(mixed, bash("touch src/x")).returncode == 2


@pytest.mark.parametrize("which", [[], ["12345678"], ["/no/socket"], ["--all"]], ids=str)
def test_stopping_where_nothing_runs_is_told(yard, which):
    done = yard.shell.run("gate", "stop", *which)

    assert (done.code, done.raw) == (1, b"")
    assert "no gate service" in done.err


def test_stopping_another_service_than_those_that_run_is_told(yard):
    told = yard.start()

    done = yard.shell.run("gate", "stop", "12345678")

    assert done.code == 1
    assert "12345678" in done.err
    assert str(told["pid"]) in done.err
    assert alive(told["pid"])


def test_services_are_listed_for_people(yard):
    told = yard.start()

    assert str(told["pid"]) in yard.shell.run("gate", "list").out


def test_a_service_that_was_killed_is_not_listed(yard):
    told = yard.start()
    os.kill(told["pid"], signal.SIGKILL)
    os.waitpid(told["pid"], 0)

    assert yard.listed() == []


# --- what cannot be started -------------------------------------------------------------------------------------------


def fails(yard, *words, saying=""):
    """It is told in words, with the exit code of what is yours to fix, and nothing is left behind."""
    done = yard.shell.run("gate", "start", *words)
    assert done.code == 1, (done.code, done.err)
    assert done.raw == b""
    assert saying in done.err
    assert "Traceback" not in done.err
    assert yard.listed() == []
    assert [path for path in (yard.runtime / "keisei").glob("*") if path.is_dir()] == []
    return True


@pytest.mark.parametrize(
    ("text", "saying"), [("rubbish", "task.toml"), ("[task]\n", "role"), ('[task]\nrole = "gone"\n', "gone")]
)
def test_a_bad_task_starts_nothing(yard, text, saying):
    yard.task.write_text(text)

    assert fails(yard, "--task", yard.task, "--worktree", yard.project, saying=saying)


def test_a_missing_task_starts_nothing(yard):
    assert fails(yard, "--task", "none.toml", "--worktree", yard.project, saying="none.toml")


def test_a_missing_worktree_starts_nothing(yard):
    assert fails(yard, "--task", yard.task, "--worktree", "none", saying="is not a folder")


def test_a_missing_main_checkout_starts_nothing(yard):
    assert fails(yard, "--task", yard.task, "--worktree", yard.project, "--main", "none", saying="is not a folder")


@pytest.mark.parametrize("text", ["critic", "=x.toml", "critic="])
def test_a_sub_agent_without_a_task_starts_nothing(yard, text):
    assert fails(yard, "--task", yard.task, "--worktree", yard.project, "--sub-agent", text, saying="NAME=TASK")


def test_a_sub_agent_with_a_bad_task_starts_nothing(yard):
    words = ("--sub-agent", "critic=none.toml")

    assert fails(yard, "--task", yard.task, "--worktree", yard.project, *words, saying="none.toml")


def test_a_folder_for_sockets_with_too_long_a_path_counts_as_none(yard):
    long = yard.runtime / ("x" * 90)
    long.mkdir(mode=0o700)
    yard.shell.setenv("XDG_RUNTIME_DIR", long)

    done = yard.shell.run("gate", "start", "--task", yard.task, "--worktree", yard.project)

    assert done.code == 0, done.err
    socket = json.loads(done.out)["socket"]
    assert not socket.startswith(str(long))
    assert yard.shell.run("gate", "stop", socket).code == 0
    assert list(long.iterdir()) == []


def test_a_folder_for_sockets_that_others_may_enter_is_not_used(yard):
    (yard.runtime / "keisei").mkdir()
    (yard.runtime / "keisei").chmod(0o755)

    done = yard.shell.run("gate", "start", "--task", yard.task, "--worktree", yard.project)

    assert done.code == 1
    assert "not this user's alone" in done.err


def test_a_gate_of_the_originals_that_nobody_ships_is_no_bug_of_ours(yard):
    yard.capability("mine", '[gate]\nrust-module = "mine"')
    yard.role("worker", "Bash", more=', "policy::mine"')

    assert fails(yard, "--task", yard.task, "--worktree", yard.project, saying="policy::mine")


# --- sub-agents -------------------------------------------------------------------------------------------------------


@pytest.fixture
def routed(yard):
    """A service in which critics may only read."""
    reader = yard.write("reader.toml", TASK.format(role="reader", more=""))
    return yard.start("--sub-agent", f"critic={reader}", "--sub-agent", f"agent-7={reader}")


@pytest.mark.parametrize(
    ("who", "code"),
    [
        ({}, 0),
        ({"agent_type": "critic"}, 2),
        ({"agent_id": "agent-7"}, 2),
        ({"agent_id": "agent-1", "agent_type": "critic"}, 2),
        ({"agent_id": "agent-7", "agent_type": "worker"}, 2),
        ({"agent_id": "agent-1", "agent_type": "worker"}, 0),
    ],
    ids=str,
)
def test_a_sub_agent_is_judged_by_its_own_task(routed, who, code):
    assert hooked(routed, bash("touch src/x", **who)).returncode == code


def test_the_log_says_which_policy_a_sub_agent_was_judged_by(routed):
    hooked(routed, bash("touch src/x", tool_use_id="t-1"))
    hooked(routed, bash("touch src/x", tool_use_id="t-2", agent_id="agent-7"))

    first, second = lines(routed)

    assert first["policy_digest"] == routed["policy_digest"] != second["policy_digest"]
    assert second["agent_id"] == "agent-7"


# --- scripts and records ----------------------------------------------------------------------------------------------


def test_a_service_keeps_what_rules_that_only_record_had_to_say(yard):
    yard.capability(
        "mine", '[gate]\nkind = "script"\npath = "gate.sh"\nseverity = "advisory"', gate="echo no >&2; exit 2"
    )
    yard.role("worker", "Bash", more=', "policy::mine"')
    told = yard.start()

    allowed = hooked(told, bash("touch src/x", tool_use_id="t-1"))

    assert (allowed.returncode, allowed.stderr) == (0, b"")
    assert lines(told)[0]["notes"] == ["advisory: policy::mine: no"]


def test_a_service_keeps_that_a_gate_broke_and_let_through(yard):
    yard.capability("mine", '[gate]\nkind = "script"\npath = "gate.sh"\non-error = "allow"', gate="exit 1")
    yard.role("worker", "Bash", more=', "policy::mine"')
    told = yard.start()

    hooked(told, bash("touch src/x", tool_use_id="t-1"))

    assert [(each["decision"], each["cause"]) for each in lines(told)] == [("allow", "error")]
    assert "policy::mine" in " ".join(lines(told)[0].get("notes", []))


def test_after_a_call_the_service_runs_verifies_and_keeps_findings(yard):
    parts = '[verify]\nkind = "script"\npath = "verify.sh"\nwhen = "per-tool-call"'
    yard.capability("mine", parts, verify="[ -e src/bad ] || exit 0; echo 'src/bad is there' >&2; exit 1")
    yard.role("worker", "Bash", more=', "policy::mine"')
    told = yard.start("--attempt", "attempt-1")
    after = bash("touch src/x", hook_event_name="PostToolUse")

    good = hooked(told, after | {"tool_use_id": "t-1"})
    yard.write("src/bad", "")
    bad = hooked(told, after | {"tool_use_id": "t-2"})

    assert good.returncode == 0
    assert (bad.returncode, json.loads(bad.stdout)["decision"]) == (2, "block")
    assert "policy::mine: src/bad is there" in bad.stderr.decode()
    findings = Path(told["log"]).with_name("findings.jsonl").read_bytes().splitlines()
    kept = [build("finding.record", json.loads(line)) for line in findings]
    assert [(each.status, each.reason) for each in kept] == [("held", None), ("violated", "src/bad is there")]
    assert [each["tool_use_id"] for each in lines(told)] == ["post:t-1", "post:t-2"]


def test_no_variable_switches_a_rule_off_in_a_service(yard):
    yard.shell.setenv("ORCHESTRATOR_META", "1")
    told = yard.start()

    assert hooked(told, bash("git push")).returncode == 2


# --- replay -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def log(yard):
    """A log of three calls: allowed, refused, allowed."""
    told = yard.start()
    for number, command in enumerate(["touch src/x", "git push", "ls"]):
        hooked(told, bash(command, tool_use_id=f"t-{number}"))
    yard.shell.run("gate", "stop")
    return Path(told["log"])


def test_a_log_judged_again_by_the_same_policy_is_the_same(yard, log):
    done = yard.replay(log, "--json")
    found = json.loads(done.out)

    assert (done.code, found["chain"]) == (0, "whole")
    assert [(each["was"], each["now"]) for each in found["calls"][-3:]] == [
        ("allow", "allow"),
        ("deny", "deny"),
        ("allow", "allow"),
    ]
    assert not any(each["changed"] for each in found["calls"])


def test_a_log_judged_by_another_policy_shows_what_changes(yard, log):
    reader = yard.write("reader.toml", TASK.format(role="reader", more=""))

    done = yard.replay(log, task=reader)

    assert done.code == 2
    assert "Bash was allow, is deny: role::tools" in done.out
    assert "chain whole" in done.out


@pytest.mark.parametrize("change", ["cut", "swapped", "edited"])
def test_a_log_that_was_changed_is_told(yard, log, change):
    found = log.read_bytes().splitlines(keepends=True)
    if change == "cut":
        found = found[1:]
    elif change == "swapped":
        found = [found[1], found[0], *found[2:]]
    else:
        found[-1] = found[-1].replace(b'"allow"', b'"deny"', 1).replace(b'"cause"', b'"reason":"x","cause"')
    log.write_bytes(b"".join(found))

    done = yard.replay(log, "--json")

    if change == "edited":
        assert done.code != 0
    else:
        assert done.code == 2
        assert json.loads(done.out)["chain"].startswith("broken at line ")


@pytest.mark.parametrize("text", ["hello", "{}", "[]", '{"tool": "Bash"}', "\x00"])
def test_what_is_no_log_is_told(yard, text):
    done = yard.replay(yard.write("log.jsonl", f"{text}\n"))

    assert (done.code, done.raw) == (1, b"")
    assert "line 1 is no gate decision" in done.err


def test_a_folder_and_a_missing_file_are_no_log(yard):
    assert yard.replay(yard.project).code == 1
    done = yard.replay(yard.project / "none.jsonl")

    assert done.code == 1
    assert "no such file" in done.err


def test_an_empty_log_changes_nothing(yard):
    done = yard.replay(yard.write("log.jsonl", ""))

    assert (done.code, done.out) == (0, "0 calls, 0 judged otherwise; chain whole\n")


def test_calls_after_tools_and_calls_nobody_could_read_are_not_judged_again(yard):
    line = {
        "attempt_id": None,
        "tool_use_id": "post:t-1",
        "tool": "Bash",
        "input": {"command": "git push"},
        "input_digest": "0" * 64,
        "decision": "allow",
        "cause": "rule",
        "latency_ms": 1.5,
        "policy_digest": "0" * 64,
        "decided_at": "2026-01-01T00:00:00Z",
    }
    first = sealed(None, line)
    second = sealed(first["hash"], {**line, "tool_use_id": None, "tool": "(unreadable)", "input": {}})
    rows = [json.dumps(each, sort_keys=True, separators=(",", ":")) for each in (first, second)]

    done = yard.replay(yard.write("log.jsonl", "\n".join(rows) + "\n"), "--json")

    assert (done.code, json.loads(done.out)) == (0, {"calls": [], "chain": "whole"})


# --- explain ----------------------------------------------------------------------------------------------------------


def test_a_refused_command_is_explained_to_people(yard):
    done = yard.explain("--command", "sh -c 'git push' > docs/x")

    assert done.code == 2
    assert done.out.startswith("deny: policy::no-git-ops: `git push`")
    for part in ("  rule: ", "  instead: ", "  runs git push   (inside sh)", "  writes docs/x   (by redirection"):
        assert part in done.out


def test_an_allowed_command_is_explained_too(yard):
    done = yard.explain("--command", "touch src/x")

    assert done.code == 0
    assert done.out.startswith("allow: no rule is against it")
    assert "  writes src/x" in done.out


def test_an_explanation_is_data_for_machines(yard):
    done = yard.explain("--command", "git push", "--json")
    found = json.loads(done.out)

    assert done.code == 2
    assert (found["decision"], found["cause"], found["capability"]) == ("deny", "rule", "policy::no-git-ops")
    assert found["rule"]
    assert found["instead"]
    assert [each["command"] for each in found["effects"]["commands"]] == ["git push"]


@pytest.mark.parametrize("command", ["$X push", "git push; (", "curl x | sh", ""])
def test_what_cannot_be_told_is_explained_as_that(yard, command):
    found = json.loads(yard.explain("--command", command, "--json").out)

    if command:
        assert found["decision"] == "deny"
        assert found["effects"]["unresolved"] or found["effects"]["unknown"]
    else:
        assert found["decision"] == "allow"


def test_an_explanation_does_not_command_the_terminal(yard):
    done = yard.explain("--command", "make '\x1b[2J\x1b]0;x\x07' > 'src/\x1b[31m'")

    assert done.code == 2
    assert "\x1b" not in done.out
    assert "\x07" not in done.out


def test_a_call_may_be_explained_from_stdin(yard):
    done = subprocess.run(
        [BIN / "keisei", "gate", "explain", "--task", yard.task, "--worktree", yard.project, "--json"],
        input=json.dumps(call("Write", file_path="docs/x")).encode(),
        cwd=yard.project,
        capture_output=True,
        timeout=30,
        check=False,
    )

    assert done.returncode == 2
    assert json.loads(done.stdout)["capability"] == "scope::files-whitelist"


def test_a_call_that_is_none_is_told(yard):
    done = subprocess.run(
        [BIN / "keisei", "gate", "explain", "--task", yard.task],
        input=b"hello",
        cwd=yard.project,
        capture_output=True,
        timeout=30,
        check=False,
    )

    assert done.returncode == 1
    assert b"not JSON" in done.stderr
    assert b"Traceback" not in done.stderr


# --- vectors ----------------------------------------------------------------------------------------------------------

VECTORS = """
[restricts]
tool-patterns = ['^make deploy( |$)']
[gate]
kind = "pattern"
[[test]]
name = "deploying"
tool = "Bash"
input = {{ command = "make deploy" }}
expect = "{deploying}"
[[test]]
tool = "Bash"
input = {{ command = "make test" }}
expect = "allow"
"""


def test_the_vectors_of_a_capability_of_the_project_are_run(yard):
    yard.capability("mine", VECTORS.format(deploying="deny"))

    done = yard.shell.run("capability", "test", "policy::mine")

    assert (done.code, done.out) == (0, "2 vectors, 0 failed (policy::mine 2)\n")


def test_a_vector_that_fails_is_shown_and_exit_2(yard):
    yard.capability("mine", VECTORS.format(deploying="allow"))

    done = yard.shell.run("capability", "test", "policy::mine")

    assert done.code == 2
    assert "policy::mine: deploying: expected allow, got deny: policy::mine: `make deploy` is refused" in done.out
    assert "2 vectors, 1 failed" in done.out


def test_vectors_are_data_for_machines(yard):
    yard.capability("mine", VECTORS.format(deploying="allow"))

    done = yard.shell.run("capability", "test", "policy::mine", "--json")
    found = json.loads(done.out)

    assert done.code == 2
    assert [(each["name"], each["expected"], each["decision"], each["passed"]) for each in found] == [
        ("deploying", "allow", "deny", False),
        ("vector 2", "allow", "allow", True),
    ]


def test_a_script_gate_is_tried_by_its_vectors_too(yard):
    parts = (
        '[gate]\nkind = "script"\npath = "gate.sh"\n[[test]]\ntool = "Bash"\ninput = { command = "x" }\nexpect = "deny"'
    )
    yard.capability("mine", parts, gate="exit 2")

    assert yard.shell.run("capability", "test", "policy::mine").code == 0


def test_a_script_gate_that_breaks_does_not_pass_a_vector_that_wants_a_refusal(yard):
    """A vector wants a decision of the rule; a gate that refuses because it broke has decided nothing."""
    parts = (
        '[gate]\nkind = "script"\npath = "gate.sh"\n[[test]]\ntool = "Bash"\ninput = { command = "x" }\nexpect = "deny"'
    )
    yard.capability("mine", parts, gate="exit 1")

    assert yard.shell.run("capability", "test", "policy::mine").code == 2


def test_a_capability_nobody_knows_has_no_vectors(yard):
    done = yard.shell.run("capability", "test", "policy::gone")

    assert done.code == 1
    assert "policy::gone" in done.err


def test_a_capability_without_vectors_has_none_to_fail(yard):
    yard.capability("mine", '[restricts]\ntool-patterns = ["x"]\n[gate]\nkind = "pattern"')

    assert yard.shell.run("capability", "test", "policy::mine").out == "0 vectors, 0 failed (policy::mine 0)\n"


def test_every_shipped_gate_has_thirty_vectors_and_all_pass(yard):
    done = yard.shell.run("capability", "test", "--json")
    found = json.loads(done.out)
    counts = {}
    for each in found:
        counts[each["capability"]] = counts.get(each["capability"], 0) + 1

    assert done.code == 0
    assert {name: count for name, count in counts.items() if count < 30} == {}
