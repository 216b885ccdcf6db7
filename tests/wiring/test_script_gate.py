"""Scripts of capabilities, run for real: the contract of seed 000, which falls closed."""

import json
import stat
from pathlib import Path

import pytest

import keisei.wiring.script
from keisei.contracts.check import build
from keisei.gate.plan import Plan
from keisei.records.effect import ToolCall
from keisei.rules.policy import as_data, policy_digest
from keisei.settings import read_settings
from keisei.wiring import catalog
from keisei.wiring.alone import judge_here, stand_alone
from keisei.wiring.gate import Bench
from keisei.wiring.policy import Setting, task_policy

CAPABILITY = """
[capability]
name = "policy::{name}"
category = "policy"
version = "1.0"
description = "A rule."
rationale = "Because."
[text]
path = "text.md"
[restricts]
tool-patterns = ['^git push( |$)', '^a b  c$']
[parameterized]
accepts = ["files-whitelist", "limit"]
[parameterized.defaults]
limit = 3
{parts}
"""
GATE = '[gate]\nkind = "script"\npath = "gate.sh"\n{more}'
VERIFY = '[verify]\nkind = "script"\npath = "verify.sh"\nwhen = "per-tool-call"\n{more}'
TASK = """
[task]
role = "worker"
agent-id = "ag-7"
[scope]
files-whitelist = ["src/**", "docs/*.md"]
[verification]
test = "make test"
[body]
text = "Do it."
"""
CALL = ToolCall(
    tool="Bash", input={"command": "ls"}, cwd="/", tool_use_id="toolu_1", agent_id="sub", agent_type="critic"
)
AFTER = ToolCall(tool="Bash", input={"command": "ls"}, tool_use_id="toolu_1", event="PostToolUse")


class Project:
    """A project whose capabilities are scripts."""

    def __init__(self, folder):
        self.folder = folder
        self.main = folder.parent / "main"
        self.main.mkdir()
        self.names = []
        self.write("keisei.toml", '[project]\nname = "shop"\n')
        self.task = self.write("task.toml", TASK)

    def write(self, name, text, mode=0o644):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(mode)
        return path

    def gate(self, body, name="mine", more="", shebang="#!/bin/sh", mode=0o755):
        return self._capability(name, GATE.format(more=more), "gate.sh", f"{shebang}\n{body}\n", mode)

    def verify(self, body, name="mine", more="", mode=0o755):
        return self._capability(name, VERIFY.format(more=more), "verify.sh", f"#!/bin/sh\n{body}\n", mode)

    def command(self, command, name="mine", more=""):
        parts = f'[verify]\nkind = "command"\ncommand = {json.dumps(command)}\nwhen = "per-tool-call"\n{more}'
        return self._capability(name, parts, None, "", 0)

    def _capability(self, name, parts, script, text, mode):
        folder = f".keisei/capabilities/policy/{name}"
        self.write(f"{folder}/capability.toml", CAPABILITY.format(name=name, parts=parts))
        self.write(f"{folder}/text.md", "Do not.\n")
        self.names.append(f"policy::{name}")
        return self.write(f"{folder}/{script}", text, mode) if script else None

    @property
    def policy(self):
        names = ", ".join(f'"{each}"' for each in self.names)
        self.write(
            ".keisei/roles/worker.toml",
            f'[role]\nname = "worker"\n[capabilities]\nrequired = [{names}]\n'
            '[tools]\nallowed = ["Bash", "Read"]\nbash-patterns-allowed = ["^ls( |$)"]\n',
        )
        library = catalog(read_settings({}), start=self.folder)
        return task_policy(library, self.task, Setting(self.folder, self.main, None))[0]

    def judge(self, call=CALL):
        return judge_here().judge(call, self.policy)


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path.resolve() / "shop")


@pytest.fixture
def hurried(monkeypatch):
    """A short limit, for scripts that never end."""
    monkeypatch.setattr(keisei.wiring.script, "SCRIPT_LIMIT_S", 0.3)


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


# --- what an exit means -----------------------------------------------------------------------------------------------


def test_exit_0_allows(project):
    project.gate("exit 0")

    found = project.judge()

    assert (found.decision, found.cause, found.notes) == ("allow", "rule", ())


def test_exit_2_with_the_harnesses_json_refuses_for_its_reason(project):
    answer = {
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": "deny",
            "permissionDecisionReason": "not on a Sunday",
        }
    }
    project.gate(f"echo '{json.dumps(answer)}'; echo other >&2; exit 2")

    found = project.judge()

    assert (found.decision, found.cause, found.capability) == ("deny", "rule", "policy::mine")
    assert found.reason == "policy::mine: not on a Sunday"


def test_exit_2_with_words_on_stderr_refuses_with_the_first_of_them(project):
    project.gate("echo 'not today' >&2; echo more >&2; exit 2")

    assert project.judge().reason == "policy::mine: not today"


def test_exit_2_without_a_word_refuses(project):
    project.gate("exit 2")

    found = project.judge()

    assert (found.decision, found.cause) == ("deny", "rule")
    assert found.reason.startswith("policy::mine: ")


def test_exit_0_with_a_refusal_on_stdout_refuses(project):
    project.gate("""echo '{"decision": "block", "reason": "no"}'""")

    assert (project.judge().decision, project.judge().reason) == ("deny", "policy::mine: no")


@pytest.mark.parametrize("body", ["exit 1", "exit 3", "exit 127", "kill -9 $$", "no-such-program-anywhere"])
def test_anything_else_is_a_broken_gate_that_refuses(project, body):
    project.gate(body)

    found = project.judge()

    assert (found.decision, found.cause, found.capability) == ("deny", "error", "policy::mine")


def test_the_reason_of_a_broken_gate_says_that_it_broke_and_how(project):
    project.gate("echo 'jq: not found' >&2; exit 1")

    reason = project.judge().reason

    assert "exit code 1" in reason
    assert "jq: not found" in reason
    assert "broken gate" in reason


def test_a_missing_interpreter_is_a_broken_gate(project):
    project.gate("exit 0", shebang="#!/no/such/interpreter")

    assert (project.judge().decision, project.judge().cause) == ("deny", "error")


@pytest.mark.parametrize(("body", "decision"), [("exit 0", "allow"), ("exit 2", "deny")])
def test_a_script_whose_mode_bits_were_lost_is_run_by_its_interpreter(project, body, decision):
    project.gate(body, mode=0o644)

    found = project.judge()

    assert (found.decision, found.cause) == (decision, "rule")


@pytest.mark.parametrize("shebang", ["#!/no/such/interpreter", "#!", "#!   "], ids=["missing", "none", "blank"])
def test_a_script_that_cannot_be_run_at_all_is_a_broken_gate(project, shebang):
    project.gate("exit 0", mode=0o644, shebang=shebang)

    found = project.judge()

    assert (found.decision, found.cause) == ("deny", "error")


def test_a_script_that_vanished_is_a_broken_gate(project):
    script = project.gate("exit 0")
    policy = project.policy
    script.unlink()

    found = judge_here().judge(CALL, policy)

    assert (found.decision, found.cause) == ("deny", "error")


def test_a_broken_gate_whose_author_says_so_lets_through_and_leaves_its_mark(project):
    project.gate("exit 1", more='on-error = "allow"')

    found = project.judge()

    assert (found.decision, found.cause) == ("allow", "error")
    assert len(found.notes) == 1
    assert "policy::mine" in found.notes[0]


def test_a_gate_that_is_not_started_falls_the_same_way(project):
    project.gate("exit 0", shebang="#!/no/such/interpreter", more='on-error = "allow"')

    assert (project.judge().decision, project.judge().cause) == ("allow", "error")


def test_a_refusal_is_a_refusal_also_where_errors_let_through(project):
    project.gate("exit 2", more='on-error = "allow"')

    assert (project.judge().decision, project.judge().cause) == ("deny", "rule")


@pytest.mark.parametrize("severity", ["warn", "advisory"])
def test_a_script_whose_severity_is_lower_does_not_refuse(project, severity):
    project.gate("echo no >&2; exit 2", more=f'severity = "{severity}"')

    found = project.judge()

    assert found.decision == "allow"
    assert found.notes == (f"{severity}: policy::mine: no",)


def test_a_long_reason_is_cut_to_one_line(project):
    project.gate("printf '%05000d\\n' 7 >&2; exit 2")

    assert len(project.judge().reason) <= 200


# --- limits -----------------------------------------------------------------------------------------------------------


def test_a_script_has_a_second_and_a_half():
    assert keisei.wiring.script.SCRIPT_LIMIT_S == 1.5


@pytest.mark.usefixtures("hurried")
def test_a_script_that_does_not_end_is_a_broken_gate(project):
    project.gate("exec sleep 60")

    found = project.judge()

    assert (found.decision, found.cause) == ("deny", "error")
    assert "in time" in found.reason


@pytest.mark.usefixtures("hurried")
def test_nothing_that_a_late_script_started_lives_on(project, tmp_path):
    pids = tmp_path / "pids"
    project.gate(
        f"sleep 1000 & echo $! >> {pids}\n"
        f"setsid sh -c 'echo $$ >> {pids}; trap \"\" TERM; while :; do sleep 1000; done' &\n"
        f"( (sleep 1000 & echo $! >> {pids}) )\n"
        f"echo $$ >> {pids}\nwait"
    )

    assert project.judge().cause == "error"

    found = [int(line) for line in pids.read_text().split()]
    assert len(found) == 4
    assert [pid for pid in found if alive(pid)] == []


def test_nothing_that_a_quick_script_left_behind_lives_on(project, tmp_path):
    pids = tmp_path / "pids"
    project.gate(f"setsid sleep 1000 & echo $! > {pids}; exit 0")

    assert project.judge().decision == "allow"
    assert not alive(int(pids.read_text()))


@pytest.mark.usefixtures("hurried")
def test_a_late_script_whose_author_says_so_lets_through(project):
    project.gate("exec sleep 60", more='on-error = "allow"')

    assert (project.judge().decision, project.judge().cause) == ("allow", "error")


@pytest.mark.parametrize("stream", [1, 2])
def test_a_flood_of_output_neither_blocks_nor_counts_as_a_plain_yes(project, stream):
    project.gate(f"head -c 3000000 /dev/zero >&{stream}; exit 0")

    found = project.judge()

    assert (found.decision, found.cause) == (("deny", "error") if stream == 1 else ("allow", "rule"))


def test_a_flood_before_exit_2_still_refuses(project):
    project.gate("head -c 3000000 /dev/zero; echo no >&2; exit 2")

    assert (project.judge().decision, project.judge().cause) == ("deny", "rule")


def test_a_script_that_does_not_read_its_input_is_not_waited_for(project):
    project.gate("exec 0<&-; exit 0")
    large = ToolCall(tool="Bash", input={"command": "ls " + "x" * 60_000})

    assert project.judge(large).decision == "allow"


def test_scripts_run_side_by_side(project, tmp_path):
    """Each waits until the others are there: one after the other they would all be late."""
    for name in "abc":
        project.gate(
            f"touch {tmp_path}/{name}; until [ -e {tmp_path}/a ] && [ -e {tmp_path}/b ] && [ -e {tmp_path}/c ]; "
            "do sleep 0.01; done",
            name=name,
        )

    assert project.judge().decision == "allow"


def test_every_one_of_several_scripts_is_heard(project):
    project.gate("exit 0", name="a")
    project.gate("echo no >&2; exit 2", name="b")
    project.gate("exit 1", name="c", more='on-error = "allow"')

    found = project.judge()

    assert (found.decision, found.capability, found.reason) == ("deny", "policy::b", "policy::b: no")
    assert len(found.notes) == 1


# --- what it is handed ------------------------------------------------------------------------------------------------


def test_a_script_reads_the_call_and_the_task(project, tmp_path):
    project.gate(f"cat > {tmp_path}/stdin")
    project.judge()

    told = json.loads((tmp_path / "stdin").read_text())

    assert told["hook_event_name"] == "PreToolUse"
    assert (told["tool_name"], told["tool_input"], told["tool_use_id"]) == ("Bash", {"command": "ls"}, "toolu_1")
    assert (told["agent_id"], told["agent_type"], told["cwd"]) == ("sub", "critic", "/")
    assert sorted(told["task"]) == ["agent_id", "parameters", "role", "scope", "verification", "worktree_path"]
    assert (told["task"]["agent_id"], told["task"]["role"]) == ("ag-7", "worker")
    assert told["task"]["scope"]["files-whitelist"] == ["src/**", "docs/*.md"]
    assert told["task"]["verification"]["test"] == "make test"
    assert told["task"]["worktree_path"] == str(project.folder)


def test_a_script_finds_its_environment_and_nothing_of_ours(project, tmp_path, monkeypatch):
    monkeypatch.setenv("SECRET_TOKEN", "x")
    project.gate(f"env -0 > {tmp_path}/env; pwd > {tmp_path}/pwd")
    project.judge()

    pairs = (tmp_path / "env").read_text().split("\0")
    found = dict(pair.split("=", 1) for pair in pairs if "=" in pair)

    assert found["AGENT_ID"] == "ag-7"
    assert found["TASK_TOML"] == str(project.task)
    assert found["WORKTREE_PATH"] == str(project.folder)
    assert found["MAIN_REPO"] == str(project.main)
    assert found["RUN_MODE"] == "worktree"
    assert found["FILES_WHITELIST"] == "src/**\ndocs/*.md"
    assert found["LIMIT"] == "3"
    assert "SECRET_TOKEN" not in found
    assert (tmp_path / "pwd").read_text().strip() == str(project.folder)


def test_a_script_may_ask_for_the_lists_of_its_capability(project, tmp_path):
    project.gate(f"capability_patterns policy::mine tool-patterns > {tmp_path}/lists || exit 1")

    assert project.judge().decision == "allow"
    assert (tmp_path / "lists").read_text() == "^git push( |$)\n^a b  c$\n"


def test_the_gate_of_the_seed_works_as_it_stands(project):
    """Its canonical shape, with sed for jq."""
    project.gate(
        "set -eu\n"
        """CMD=$(sed -n 's/.*"command": *"\\([^"]*\\)".*/\\1/p')\n"""
        '[ -z "$CMD" ] && exit 0\n'
        "capability_patterns policy::mine tool-patterns | while IFS= read -r pat; do\n"
        '  if echo "$CMD" | grep -qE "$pat"; then\n'
        """    printf '{"hookSpecificOutput":{"permissionDecision":"deny","""
        """"permissionDecisionReason":"it matches"}}\\n'\n"""
        "    exit 2\n"
        "  fi\n"
        "done\n"
    )

    assert project.judge().decision == "allow"
    found = project.judge(ToolCall(tool="Bash", input={"command": "git push origin"}))
    assert (found.decision, found.capability, found.reason) == ("deny", "policy::mine", "policy::mine: it matches")


def test_a_script_does_not_see_files_of_another_run(project, tmp_path):
    project.gate(f'touch "$HOME/mark"; echo "$HOME" >> {tmp_path}/homes; ls -A "$HOME" >> {tmp_path}/seen')
    project.judge()
    project.judge()

    homes = (tmp_path / "homes").read_text().split()
    assert (tmp_path / "seen").read_text() == "mark\nmark\n"
    assert len(set(homes)) == 2
    assert not any(Path(home).exists() for home in homes)


def test_a_script_outside_the_attempt_may_be_switched_off_by_its_variable(project, monkeypatch):
    project.gate("exit 2", more='bypass-env = "ORCHESTRATOR_META"')
    monkeypatch.setenv("ORCHESTRATOR_META", "1")

    assert stand_alone(CALL, project.policy, read_settings({}))[0] is True
    assert stand_alone(CALL, project.policy, read_settings({"KEISEI_ATTEMPT_ID": "attempt-1"}))[0] is False


# --- verifies after each call -----------------------------------------------------------------------------------------


@pytest.fixture
def bench(project, tmp_path):
    """Judges by a plan, as the service does."""

    def after(call=AFTER):
        policy = project.policy
        log = tmp_path / "log" / "gate.jsonl"
        log.parent.mkdir(exist_ok=True)
        plan = Plan(as_data(policy), policy, policy_digest(policy), log, True, "attempt-1", {})  # noqa: FBT003
        return Bench().judge(call, plan)

    return after


@pytest.fixture
def findings(tmp_path):
    def read():
        lines = (tmp_path / "log" / "findings.jsonl").read_bytes().splitlines()
        return [build("finding.record", json.loads(line)) for line in lines]

    return read


def summary(found):
    return [(each.capability, each.status, each.severity, each.reason) for each in found]


def test_a_verify_that_holds_lets_go_on_and_is_kept(project, bench, findings):
    project.verify("exit 0")

    assert bench().allowed is True
    assert summary(findings()) == [("policy::mine", "held", "block", None)]
    assert findings()[0].attempt_id == "attempt-1"
    assert findings()[0].run_from == "worktree"


def test_a_violated_verify_is_answered_and_kept(project, bench, findings):
    project.verify("echo 'a file is too long' >&2; echo 'src/a' >&2; exit 1")

    judged = bench()

    assert (judged.allowed, judged.cause, judged.capability) == (False, "rule", "policy::mine")
    assert judged.reason == "policy::mine: a file is too long"
    assert summary(findings()) == [("policy::mine", "violated", "block", "a file is too long")]
    assert "src/a" in findings()[0].detail


@pytest.mark.parametrize(
    ("command", "status"), [("true", "held"), ("test -d . && exit 4", "violated"), ("kill -9 $$", "error")]
)
def test_a_command_is_a_verify_too(project, bench, findings, command, status):
    project.command(command)

    assert bench().allowed is (status == "held")
    assert [each.status for each in findings()] == [status]


@pytest.mark.usefixtures("hurried")
def test_a_late_verify_is_an_error_and_no_violation(project, bench, findings):
    project.verify("exec sleep 60")

    judged = bench()

    assert (judged.allowed, judged.cause) == (False, "error")
    assert [each.status for each in findings()] == ["error"]


def test_a_verify_keeps_its_own_limit_where_that_is_shorter(project, bench, findings):
    project.verify("exec sleep 60", more="timeout-s = 0.1")

    assert bench().cause == "error"
    assert [each.status for each in findings()] == ["error"]


def test_a_verify_that_cannot_be_started_is_an_error(project, bench, findings):
    script = project.verify("exit 0")
    script.write_text("#!/no/such/interpreter\n")

    assert (bench().allowed, bench().cause) == (False, "error")
    assert [each.status for each in findings()] == ["error", "error"]


@pytest.mark.parametrize("severity", ["warn", "advisory"])
def test_a_verify_whose_severity_is_lower_only_tells(project, bench, findings, severity):
    project.verify("echo no >&2; exit 1", more=f'severity = "{severity}"')

    assert bench().allowed is True
    assert summary(findings()) == [("policy::mine", "violated", severity, "no")]


def test_a_verify_that_only_warns_is_told_to_the_agent(project, bench):
    project.verify("echo 'too long' >&2; exit 1", more='severity = "warn"')

    assert any("too long" in note for note in bench().notes)


def test_every_verify_runs_and_every_finding_is_kept(project, bench, findings):
    project.verify("echo one >&2; exit 1", name="a")
    project.command("true", name="b")
    project.verify("echo two >&2; exit 1", name="c")

    judged = bench()

    assert judged.reason == "policy::a: one"
    assert [(each.capability, each.status) for each in findings()] == [
        ("policy::a", "violated"),
        ("policy::b", "held"),
        ("policy::c", "violated"),
    ]
    assert len({each.finding_id for each in findings()}) == 3


def test_findings_are_added_to_those_before_and_are_ours_alone(project, bench, findings, tmp_path):
    project.verify("exit 0")
    bench()
    bench()

    assert len(findings()) == 2
    assert stat.S_IMODE((tmp_path / "log" / "findings.jsonl").stat().st_mode) == 0o600


def test_strange_words_of_a_verify_are_a_valid_finding(project, bench, findings):
    project.verify("printf '\\377\\033[31mred\\033[0m %0500d\\r\\nrest\\n' 7 >&2; exit 1")

    assert bench().allowed is False
    assert len(findings()[0].reason) <= 200
    assert findings()[0].reason.isprintable() or "\ufffd" in findings()[0].reason


def test_a_verify_after_a_call_is_handed_the_call_and_its_environment(project, bench, tmp_path):
    project.verify(f'cat > {tmp_path}/stdin; echo "$RUN_MODE $AGENT_ID $FILES_WHITELIST" > {tmp_path}/env')
    bench()

    told = json.loads((tmp_path / "stdin").read_text())
    assert told["hook_event_name"] == "PostToolUse"
    assert told["task"]["agent_id"] == "ag-7"
    assert (tmp_path / "env").read_text() == "worktree ag-7 src/**\ndocs/*.md\n"


def test_before_a_call_no_verify_runs(project, bench, tmp_path):
    project.verify(f"touch {tmp_path}/ran; exit 1")

    assert bench(CALL).allowed is True
    assert not (tmp_path / "ran").exists()


def test_after_a_call_no_gate_is_asked(project, bench, tmp_path):
    project.gate(f"touch {tmp_path}/ran; exit 2")

    assert bench().allowed is True
    assert not (tmp_path / "ran").exists()


def test_what_only_records_is_recorded(project, bench):
    """SPEC: advisory only records. What `notes` of a decision are for."""
    project.gate("echo no >&2; exit 2", more='severity = "advisory"')

    judged = bench(CALL)

    assert judged.notes == ()
    assert judged.silent == ("advisory: policy::mine: no",)


def test_a_gate_that_broke_and_let_through_is_recorded_by_its_name(project, bench):
    project.gate("exit 1", more='on-error = "allow"')

    judged = bench(CALL)

    assert (judged.allowed, judged.cause) == (True, "error")
    assert any("policy::mine" in note for note in (*judged.notes, *judged.silent))


def test_stand_alone_a_violated_verify_is_a_refusal(project):
    project.verify("echo 'too long' >&2; exit 1")

    allowed, reason, notes = stand_alone(AFTER, project.policy, read_settings({}))

    assert (allowed, reason, notes) == (False, "policy::mine: too long", ())


def test_the_folders_of_a_run_are_removed(project, tmp_path, monkeypatch):
    spot = tmp_path / "spot"
    spot.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(spot))
    project.gate("exit 0")
    project.judge()

    assert list(spot.iterdir()) == []
