"""The five kinds of adapter, run for real through the engine: what goes wrong with a model, a harness or a machine.

Claude Code, Codex and Hermes are the real programs with a scripted model. Where a harness has to misbehave, a stand-in
takes its place in the same worktree, sandbox, gate and relay.
"""

import json
import os
import shutil
import subprocess
import sys
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import pytest

from keisei.records.answer import ApprovalQuery
from keisei.records.confinement import Machine
from keisei.testing.model import Fault, Raw, ScriptedModel, Sent
from tests.system.agency import KEY, Agency, answer, git
from tests.system.test_agent import TOOLS

AGENTS = pytest.mark.parametrize("kind", TOOLS)
SLOW = pytest.param("hermes-agent", marks=pytest.mark.soak)
"""Hermes Agent takes some seconds to start."""
QUICK = pytest.mark.parametrize("kind", ["claude-code", "codex", SLOW])
STANDIN = Path(__file__).with_name("standin.py")
MB = 1024 * 1024


@pytest.fixture
def hire(tmp_path):
    """Makes agencies that are closed at the end, whatever happens."""
    hired = []

    def make(*arguments, **named):
        hired.append(Agency(tmp_path, *arguments, **named))
        return hired[-1]

    yield make
    for each in hired:
        each.close()


@pytest.fixture
def nobody():
    """A model that must not be asked."""
    with ScriptedModel(_asked) as model:
        yield model


@pytest.fixture
def model():
    """A model whose agent is done at once."""
    with ScriptedModel(lambda _: answer()) as model:
        yield model


def _asked(_request):
    raise AssertionError("nobody may ask this model")


def sh(line):
    """The table of a script adapter that runs a line."""
    return f'command = "/bin/sh"\nextra_args = ["-c", {json.dumps(line)}]\ntimeout_ms = 60000\n'


def said(*files):
    """The line of a shell that says what an agent says at its end."""
    return f"echo '{answer(*files)}'"


def claude(folder, deeds=""):
    """A program in Claude Code's place that does these deeds, asks no model and says that it is done."""
    return _installed(folder, HARNESS.replace("DEEDS", deeds).replace("ANSWER", repr(answer())))


def standin(folder, old, new):
    """The stand-in for Claude Code with another piece of text in it."""
    text = STANDIN.read_text()
    assert old in text
    return _installed(folder, text.replace(old, new))


def _installed(folder, text):
    path = folder / "bin" / "claude"
    path.parent.mkdir()
    path.write_text(text)
    path.chmod(0o755)
    return str(path)


HARNESS = """#!/usr/bin/python3 -IS
import json, os, subprocess, sys

def say(**line):
    print(json.dumps({**line, "session_id": "stand-in"}), flush=True)

def use(**call):
    say(type="assistant", message={"role": "assistant", "content": [{"type": "tool_use", **call}]})

def ask_gate(id, name, input):
    settings = json.loads(sys.argv[sys.argv.index("--settings") + 1])
    told = {"session_id": "stand-in", "transcript_path": "", "cwd": os.getcwd(), "permission_mode": "dontAsk"}
    told |= {"hook_event_name": "PreToolUse", "tool_name": name, "tool_input": input, "tool_use_id": id}
    command = settings["hooks"]["PreToolUse"][0]["hooks"][0]["command"]
    subprocess.run(["/bin/sh", "-c", command], input=json.dumps(told), text=True, check=True, stdout=subprocess.DEVNULL)

say(type="system", subtype="init", model="scripted")
DEEDS
say(type="result", subtype="success", is_error=False, result=ANSWER, num_turns=1, usage={"output_tokens": 1})
"""


def reason(agency, task_id):
    return agency.task(task_id).last_error or ""


# --- the model's server ----------------------------------------------------------------------------------------------


@QUICK
def test_a_rate_limit_is_waited_for_outside_and_uses_up_no_attempt(kind, hire):
    with ScriptedModel(lambda _: Fault(429, "slow down", {"retry-after": "300"})) as model:
        agency = hire(model, kind)
        task_id = agency.add()
        agency.run()

    task, attempt = agency.task(task_id), agency.attempt(task_id)
    assert (task.status, task.attempt_count) == ("pending", 0), task.last_error
    assert task.available_at - attempt.ended_at == timedelta(seconds=300)
    assert attempt.diagnostics["error_kind"] == "rate_limit"
    assert agency.store.breakers()[0].open_until == task.available_at


def test_a_limit_that_tells_the_moment_of_its_end_is_waited_for_until_then_and_the_work_so_far_is_kept(hire):
    agency = None

    def script(request):
        if not request.results:
            return TOOLS["claude-code"]("touch src/begun")
        resets = int((agency.store.now() + timedelta(hours=2)).timestamp())
        told.append(resets)
        return Fault(429, "used up", {"anthropic-ratelimit-unified-reset": str(resets)})

    told = []
    with ScriptedModel(script) as model:
        agency = hire(model)
        task_id = agency.add()
        agency.run()

    task = agency.task(task_id)
    assert task.attempt_count == 0
    assert abs(task.available_at.timestamp() - told[0]) < 1
    assert agency.candidate(agency.attempt(task_id), "src/begun") == ""


@pytest.mark.parametrize("kind", ["claude-code", "codex"])
def test_a_key_that_is_not_taken_stops_the_adapter_soon_and_a_person_is_told(kind, hire):
    with ScriptedModel(lambda _: Fault(401, "invalid x-api-key")) as model:
        agency = hire(model, kind)
        first, second = agency.add(), agency.add()
        agency.run(jobs=1)
        asked = len(model.requests)

    assert asked == 2  # Claude alone would go on for minutes
    assert agency.task(first).attempt_count == 0
    assert agency.store.attempts(second) == []
    breaker = agency.store.breakers()[0]
    assert breaker.needs_person
    assert breaker.kind == "auth"
    assert [each.kind for each in agency.store.approvals(ApprovalQuery())] == ["adapter"]


@pytest.mark.parametrize("kind", ["claude-code", "codex"])
def test_a_server_that_fails_three_times_and_recovers_costs_nothing_but_time(kind, hire):
    turns = [Fault(529, "overloaded"), Fault(500, "broken"), Sent("x" * 500, cut_at=150), answer()]
    with ScriptedModel(turns) as model:
        agency = hire(model, kind)
        task_id = agency.add()
        agency.run()

    assert agency.task(task_id).status == "completed", reason(agency, task_id)
    lines = agency.evidence(agency.attempt(task_id), "relay.jsonl").splitlines()
    calls = [each for each in map(json.loads, lines) if each["path"] != "/v1/models"]
    assert [each["status"] for each in calls if each.get("fault") or each["status"] != 200] == [529, 500, 200]


def test_an_answer_that_is_cut_again_and_again_is_a_fault_of_the_network_and_what_it_cost_is_known(hire):
    with ScriptedModel(lambda _: Sent("x" * 2000, cut_at=400)) as model:
        agency = hire(model)
        task_id = agency.add(max_attempts=1)
        agency.run()
        asked = len(model.requests)

    attempt = agency.attempt(task_id)
    assert attempt.diagnostics["error_kind"] == "network", attempt.diagnostics
    assert asked > 1
    assert attempt.usage.input_tokens >= 10  # the harness itself says 0
    assert agency.task(task_id).status == "blocked"


ENDINGS = {
    "an answer of no bytes": (Raw(b""), "invalid", "empty or malformed"),
    "bytes that are no UTF-8": (Raw(b'event: x\ndata: {"type":"\xff\xfe'), "invalid", ""),
    "an error envelope": (Fault(400, "messages: text is flagged"), "refused", "flagged"),
    "a prompt that is too long": (Fault(400, "prompt is too long: 200001 tokens"), "limit", "too long"),
}


@pytest.mark.parametrize("name", ENDINGS)
def test_whatever_the_server_says_instead_of_an_answer_has_a_name(name, hire):
    turn, kind, words = ENDINGS[name]
    with ScriptedModel(lambda _: turn) as model:
        agency = hire(model)
        task_id = agency.add(max_attempts=1)
        agency.run()

    attempt = agency.attempt(task_id)
    assert (attempt.exit_status, attempt.diagnostics["error_kind"]) == ("error", kind), attempt.diagnostics
    assert words in reason(agency, task_id)
    assert agency.task(task_id).status == "blocked"


def test_a_harness_that_stops_after_its_turns_has_reached_a_limit(hire):
    endless = lambda request: TOOLS["claude-code"](f"touch src/{len(request.results)}")  # noqa: E731
    with ScriptedModel(endless) as model:
        agency = hire(model, adapter='extra_args = ["--max-turns", "2"]')
        task_id = agency.add(max_attempts=1)
        agency.run()

    attempt = agency.attempt(task_id)
    assert attempt.diagnostics["error_kind"] == "limit"
    assert "error_max_turns" in reason(agency, task_id)
    assert agency.candidate(attempt, "src/0") == ""


def test_an_agent_that_says_nothing_has_no_result_and_one_that_prints_any_bytes_is_heard(hire):
    turns = [TOOLS["codex"]("printf '\\377\\376\\n'"), answer()]
    with ScriptedModel(lambda request: "" if "Hush" in request.prompt else turns.pop(0)) as model:
        agency = hire(model, "codex")
        silent, loud = agency.add("Hush.", max_attempts=1), agency.add()
        agency.run()

    assert "no result" in reason(agency, silent)
    assert agency.task(loud).status == "completed", reason(agency, loud)


# --- what is used ----------------------------------------------------------------------------------------------------

PRICES = "[prices.scripted]\ninput = 100.0\noutput = 1000.0\n"


@QUICK
def test_a_real_harness_passes_its_rehearsal_and_what_it_uses_is_counted_and_priced(kind, hire):
    with ScriptedModel([TOOLS[kind]("touch src/new"), answer("src/new")]) as model:
        agency = hire(model, kind, project=PRICES, rehearsed=True)
        task_id = agency.add(requested_model="scripted")
        agency.run()
        asked = len(model.requests)

    attempt = agency.attempt(task_id)
    assert agency.task(task_id).status == "completed", reason(agency, task_id)
    assert len(agency.shop.yard.proved) == 1
    assert (attempt.usage.input_tokens, attempt.usage.output_tokens) == (10 * asked, 5 * asked)
    assert attempt.usage.cost_usd == pytest.approx(asked * (10 * 100 + 5 * 1000) / 1_000_000)
    assert attempt.model == "scripted"


def test_money_that_is_spent_ends_the_attempt_in_the_middle(hire):
    endless = lambda request: TOOLS["codex"](f"touch src/{len(request.results)}")  # noqa: E731
    with ScriptedModel(endless) as model:
        agency = hire(model, "codex", project=PRICES)
        task_id = agency.add(budget={"max_cost_usd": 0.015}, max_attempts=3)
        agency.run()
        asked = len(model.requests)

    assert asked == 3
    assert "budget" in reason(agency, task_id)
    assert agency.task(task_id).status == "blocked"
    assert agency.attempt(task_id).usage.cost_usd == pytest.approx(0.018)


OLLAMA = 'endpoint = "{url}"\nmodel = "scripted"\ntimeout_ms = 30000\n'


def ollama(hire, model):
    return hire(model, "ollama-generate", adapter=OLLAMA.format(url=model.url))


def test_a_model_behind_ollama_answers_and_is_counted(hire):
    with ScriptedModel([answer()]) as model:
        agency = ollama(hire, model)
        task_id = agency.add()
        agency.run()
        request = model.requests[0]

    attempt = agency.attempt(task_id)
    assert agency.task(task_id).status == "completed", reason(agency, task_id)
    assert request.path == "/api/generate"
    assert request.body["format"] == "json"
    assert (attempt.usage.input_tokens, attempt.usage.output_tokens, attempt.usage.cost_usd) == (10, 5, None)
    assert attempt.model == "scripted"


@pytest.mark.parametrize(
    ("turn", "kind", "status"),
    [
        (Fault(429, "busy", {"retry-after": "120"}), "rate_limit", "pending"),
        (Fault(404, "model `scripted` not found"), "refused", "blocked"),
        (Fault(500, "out of memory"), "overloaded", "blocked"),
        (Raw(b"\xff\xfe", "application/json"), "invalid", "blocked"),
        (Raw(b"", "application/json"), "invalid", "blocked"),
        (Sent(answer(), cut_at=20), "network", "blocked"),
    ],
)
def test_what_goes_wrong_with_ollama_has_a_name(turn, kind, status, hire):
    with ScriptedModel(lambda _: turn) as model:
        agency = ollama(hire, model)
        task_id = agency.add(max_attempts=1)
        agency.run()

    task = agency.task(task_id)
    assert agency.attempt(task_id).diagnostics["error_kind"] == kind, reason(agency, task_id)
    assert (task.status, task.attempt_count) == (status, 0 if kind == "rate_limit" else 1)


# --- output without an end, processes without an end -----------------------------------------------------------------

FLOOD = f"head -c {100 * MB} /dev/zero | tr '\\0' x"
LINES = """
    for _ in range(1600):
        print("x" * 65535)
"""


WEIGHED = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""
"""Runs a program from a small process: what a program had in use before it began counts too, and tests are large."""


@pytest.mark.parametrize("kind", ["script", "claude-code"])
def test_a_hundred_megabytes_of_output_are_cut_and_the_runner_stays_small(kind, tmp_path, hire, model):
    if kind == "script":
        agency = hire(model, kind, adapter=sh(f"{FLOOD}; {said()}"))
    else:
        agency = hire(model, kind, command=standin(tmp_path, "    usage = {", f"{LINES}    usage = {{"))
    task_id = agency.add(max_attempts=1)
    env = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path / "home"),
        "KEISEI_HOME": str(tmp_path / "state"),
        "XDG_RUNTIME_DIR": str(tmp_path / "run"),
    }
    keisei = str(Path(sys.executable).with_name("keisei"))
    words = [sys.executable, "-I", "-S", "-c", WEIGHED, keisei, "runner", "--until-idle"]
    done = subprocess.run(words, cwd=agency.root, env=env, capture_output=True, check=True)
    used = int(done.stdout.splitlines()[-1])

    attempt = agency.attempt(task_id)
    assert attempt.diagnostics["error_kind"] == "invalid", reason(agency, task_id)
    assert "the output was cut" in reason(agency, task_id)
    assert agency.shop.evidence.stored(attempt.stdout_path).size == 16 * MB
    assert used < 400 * 1024, f"{used // 1024} MB"


DAEMON = """
import os, sys, time
if os.fork():
    while not os.path.exists("src/alive"):
        time.sleep(0.01)
    sys.exit()
os.setsid()
if os.fork():
    os._exit(0)
for each in (0, 1, 2):
    os.close(each)
open("src/alive", "w").close()
time.sleep(600)
"""


@pytest.mark.parametrize("kind", ["claude-code", SLOW])
def test_nothing_is_left_of_a_harness_that_was_stopped_whose_tool_has_forked_away(kind, tmp_path, hire):
    agency, mark = None, f"sleeper-of-{tmp_path.name}-{os.getpid()}"

    def script(request):
        if not request.results:
            return TOOLS[kind](f"python3 src/daemon.py {mark}")
        seen.append(living(mark))
        agency.runner.stop()
        agency.runner.stop()
        return Sent("never", after_s=60)

    seen = []
    with ScriptedModel(script) as model:
        agency = hire(model, kind, files={"src/daemon.py": DAEMON})
        task_id = agency.add()
        agency.run()

    assert len(seen[0]) == 1
    assert living(mark) == []
    attempt = agency.attempt(task_id)
    assert attempt.exit_status == "canceled"
    assert agency.task(task_id).status == "pending"
    assert git(agency.root, "ls-tree", "--name-only", f"refs/keisei/salvage/{attempt.attempt_id}", "src/alive")


def living(mark):
    """The processes with this word on their command line."""
    found = []
    for each in Path("/proc").iterdir():
        if each.name.isdigit():
            with suppress(OSError):
                if mark.encode() in (each / "cmdline").read_bytes().split(b"\0"):
                    found.append(int(each.name))
    return found


# --- a harness that goes past its gate -------------------------------------------------------------------------------

UNASKED = 'use(id="t1", name="Bash", input={"command": "touch src/x"})'
OTHERWISE = """
use(id="t1", name="Bash", input={"command": "touch src/x"})
ask_gate("t1", "Bash", {"command": "ls"})
"""
ASKED = """
use(id="t1", name="Bash", input={"command": "ls"})
ask_gate("t1", "Bash", {"command": "ls"})
"""


@pytest.mark.parametrize(
    ("deeds", "complaint"),
    [
        (UNASKED, "the gate was not asked about `Bash` (t1)"),
        (OTHERWISE, "the gate was asked about another input instead of `Bash` (t1)"),
        (ASKED, None),
    ],
    ids=["nobody asked", "asked about something else", "asked"],
)
def test_a_call_that_the_gate_did_not_judge_is_found_in_the_transcript(deeds, complaint, tmp_path, hire, nobody):
    agency = hire(nobody, command=claude(tmp_path, deeds))
    task_id = agency.add(max_attempts=1)
    agency.run()

    findings = {each.capability: each for each in agency.store.findings(agency.attempt(task_id).attempt_id)}
    audit = findings["engine::adapter-audit"]
    if complaint is None:
        assert (audit.status, agency.task(task_id).status) == ("held", "completed"), reason(agency, task_id)
    else:
        assert (audit.status, audit.severity) == ("violated", "block")
        assert complaint in audit.reason
        assert agency.task(task_id).status == "blocked"


def heedless(folder):
    """Asks its model and runs what it says, and no hook."""
    return standin(folder, 'hooked("PreToolUse", call, settings, {})', '""')


@pytest.mark.parametrize(
    ("made", "words"),
    [(heedless, "a call that was refused has happened"), (claude, "it asked its model nothing")],
    ids=["it asks no hook", "it asks no model"],
)
def test_a_harness_that_does_not_pass_its_rehearsal_gets_no_work(made, words, tmp_path, hire, nobody):
    agency = hire(nobody, command=made(tmp_path), rehearsed=True)
    task_id = agency.add()
    agency.run()

    assert agency.task(task_id).status == "blocked"
    assert words in reason(agency, task_id)
    assert agency.shop.yard.proved == set()
    assert agency.attempt(task_id).usage is None


# --- autonomy, and the machine ---------------------------------------------------------------------------------------


def test_a_trusted_machine_gives_up_the_harness_s_prompts_and_neither_the_gate_nor_the_sandbox(hire):
    calls = [TOOLS["claude-code"]("touch src/new"), TOOLS["claude-code"]("touch README.md")]
    with ScriptedModel([calls, answer("src/new")]) as model:
        agency = hire(model, adapter='autonomy = { profile = "trusted-vm" }')
        task_id = agency.add()
        agency.run()

    attempt = agency.attempt(task_id)
    argv = json.loads(agency.evidence(attempt, "invocation.json"))["argv"]
    assert "--dangerously-skip-permissions" in argv
    assert sorted(each["decision"] for each in agency.decisions(attempt)) == ["allow", "deny"]
    assert {"namespace", "seccomp"} <= set(attempt.isolation)
    assert agency.task(task_id).status == "completed", reason(agency, task_id)


TRUSTED = 'sandbox = "danger-full-access"\nautonomy = { profile = "trusted-vm" }'


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ('sandbox = "danger-full-access"', "needs `autonomy.profile = trusted-vm`"),
        (TRUSTED, "gives up confinement. Hint: start with `--accept-weaker`"),
    ],
    ids=["by the sandbox alone", "that nobody accepted"],
)
def test_what_gives_up_a_guard_is_refused_unless_it_is_said_openly(table, words, hire, nobody):
    agency = hire(nobody, "codex", adapter=table)
    task_id = agency.add()
    agency.run()

    assert words in reason(agency, task_id)
    assert agency.task(task_id).status == "blocked"


def test_full_access_that_is_accepted_still_runs_in_the_sandbox(hire):
    with ScriptedModel([TOOLS["codex"]("touch src/new"), answer("src/new")]) as model:
        agency = hire(model, "codex", adapter=TRUSTED, accept_weaker=True)
        task_id = agency.add()
        agency.run()

    assert agency.task(task_id).status == "completed", reason(agency, task_id)
    assert "namespace" in agency.attempt(task_id).isolation


def test_a_read_only_adapter_narrows_what_its_task_may_write(hire):
    with ScriptedModel([TOOLS["codex"]("touch src/new"), answer()]) as model:
        agency = hire(model, "codex", adapter='sandbox = "read-only"')
        task_id = agency.add()
        agency.run()
        told = "\n".join(model.results)

    assert [each["decision"] for each in agency.decisions(agency.attempt(task_id))] == ["allow"]
    assert "Read-only file system" in told
    assert agency.task(task_id).status == "completed", reason(agency, task_id)


WEAK = Machine(bwrap=None, landlock=7, seccomp=True, faults=("bubblewrap is not there",))


def test_a_machine_that_confines_less_than_a_role_requires_is_refused_with_what_is_missing(hire, nobody):
    agency = hire(nobody, "script", adapter=sh(said()))
    agency.shop.yard.machine = WEAK
    task_id = agency.add()
    agency.run()

    told = "this role requires isolation `full` and this machine has `landlock`: bubblewrap is not there"
    assert reason(agency, task_id).startswith(told)
    assert "--accept-weaker" in reason(agency, task_id)
    assert agency.task(task_id).status == "blocked"


def test_less_that_is_accepted_holds_as_far_as_it_goes_and_is_told(hire):
    with ScriptedModel([TOOLS["codex"]("touch src/new"), answer("src/new")]) as model:
        agency = hire(model, "codex", accept_weaker=True)
        found = agency.shop.yard.machine
        agency.shop.yard.machine = Machine(bwrap=None, landlock=found.landlock, seccomp=found.seccomp)
        task_id = agency.add()
        agency.run()

    attempt = agency.attempt(task_id)
    assert agency.task(task_id).status == "completed", reason(agency, task_id)
    assert "namespace" not in attempt.isolation
    assert {"hooks", "seccomp", "relay", f"landlock:{found.landlock}"} <= set(attempt.isolation)
    assert agency.candidate(attempt, "src/new") == ""


def test_a_program_whose_role_asks_for_it_is_confined_and_its_work_is_a_candidate(tmp_path, hire, nobody):
    line = f"echo mine > src/mine; touch README.md {tmp_path}/stolen; cat {tmp_path}/keys.env; {said('src/mine')}"
    (tmp_path / "keys.env").write_text(KEY)
    agency = hire(nobody, "script", adapter=sh(line))
    task_id = agency.add()
    agency.run()

    attempt = agency.attempt(task_id)
    assert agency.task(task_id).status == "completed", reason(agency, task_id)
    assert agency.candidate(attempt, "src/mine") == "mine"
    told = agency.evidence(attempt, "stderr.log").decode()
    assert "cannot touch 'README.md': Read-only file system" in told
    assert KEY not in agency.evidence(attempt, "stdout.log").decode()
    assert not (tmp_path / "stolen").exists()
    assert not (agency.root / "src" / "mine").exists()
    assert "hooks" not in attempt.isolation
    assert {"namespace", "seccomp", "network:none"} <= set(attempt.isolation)


# --- the repository --------------------------------------------------------------------------------------------------


def _none(root):
    shutil.rmtree(root / ".git")


def _no_commit(root):
    shutil.rmtree(root / ".git")
    git(root, "init", "-q")


@pytest.mark.parametrize(
    ("change", "words"), [(_none, "git init"), (_no_commit, "commit")], ids=["no repository", "no commit"]
)
def test_a_project_that_an_agent_cannot_work_on_is_told_the_next_step(change, words, hire, nobody):
    agency = hire(nobody, "script", adapter=sh(said()))
    change(agency.root)
    task_id = agency.add()
    agency.run()

    assert agency.task(task_id).status == "blocked"
    assert words in reason(agency, task_id).partition("Hint:")[2], reason(agency, task_id)


def test_an_agent_begins_with_the_last_commit_and_what_is_not_committed_is_noted(hire, nobody):
    agency = hire(nobody, "script", adapter=sh(f"cat src/old.txt >&2; {said()}"))
    (agency.root / "src" / "old.txt").write_text("dirty\n")
    task_id = agency.add()
    agency.run()

    attempt = agency.attempt(task_id)
    assert agency.task(task_id).status == "completed", reason(agency, task_id)
    assert agency.evidence(attempt, "stderr.log") == b"old\n"
    assert "uncommitted changes" in attempt.diagnostics["workspace"][0]
    assert (agency.root / "src" / "old.txt").read_text() == "dirty\n"


@pytest.mark.parametrize("place", ["..", "/usr", "nowhere", "link"])
def test_a_working_folder_outside_of_the_worktree_is_refused(place, hire, nobody):
    agency = hire(nobody, "script", adapter=f'working_dir = "{place}"\n{sh(said())}')
    (agency.root / "link").symlink_to("..")
    git(agency.root, "add", "link")
    git(agency.root, "commit", "-q", "-m", "link")
    task_id = agency.add()
    agency.run()

    assert agency.task(task_id).status == "blocked"
    assert f"the working_dir `{place}` of adapter `agent` is not a folder of the repository" in reason(agency, task_id)


def test_a_working_folder_of_the_repository_is_the_one_of_the_worktree(hire, nobody):
    line = f"echo x > here; {said('src/here')}"
    agency = hire(nobody, "script", adapter=f'working_dir = "src"\n{sh(line)}')
    task_id = agency.add()
    agency.run()

    assert agency.candidate(agency.attempt(task_id), "src/here") == "x"


# --- the project's environment ---------------------------------------------------------------------------------------

SETUP = """
[environment]
setup = "sh setup.sh"
keep = [".venv"]
"""
VENV = r"""
python3 -m venv --without-pip .venv
cat > .venv/bin/greet <<END
#!/bin/sh
exec "$PWD/.venv/bin/python" -c 'import greeting; print(greeting.WORD, greeting.__file__.replace(" ", "_"))'
END
chmod +x .venv/bin/greet
cat /proc/sys/kernel/random/uuid > .venv/made
echo "$PWD/src" > "$(ls -d .venv/lib/python3*/site-packages)/greeting.pth"
"""
"""A program that names its interpreter by path, and a package that is read out of the worktree."""


def test_an_environment_is_set_up_once_and_every_attempt_can_use_it(hire, nobody):
    line = f"echo $AGENT_RUNTIME_TASK_ID > src/who; .venv/bin/greet >&2; cat .venv/made >&2; {said('src/who')}"
    agency = hire(
        nobody,
        "script",
        adapter=sh(line),
        project=SETUP,
        files={".gitignore": "/.venv/\n__pycache__/\n", "setup.sh": VENV, "src/greeting.py": 'WORD = "hello"\n'},
    )
    tasks = [agency.add(), agency.add()]
    agency.run()

    for task_id in tasks:
        assert agency.task(task_id).status == "completed", reason(agency, task_id)
    greeted = [agency.evidence(agency.attempt(each), "stderr.log").decode().split() for each in tasks]
    assert [each[0] for each in greeted] == ["hello", "hello"]
    assert greeted[0][1] != greeted[1][1]  # each in the folder of its own worktree
    assert greeted[0][2] == greeted[1][2]  # and both of one making


def test_a_set_up_that_fails_blocks_the_task_with_its_last_words(hire, nobody):
    agency = hire(
        nobody,
        "script",
        adapter=sh(said()),
        project=SETUP,
        files={".gitignore": "/.venv/\n", "setup.sh": "echo begin\necho 'no such wheel' >&2\nexit 3\n"},
    )
    task_id = agency.add()
    agency.run()

    assert agency.task(task_id).status == "blocked"
    assert "ended with exit 3: no such wheel" in reason(agency, task_id)


def test_a_kept_path_that_the_repository_does_not_ignore_is_refused(hire, nobody):
    agency = hire(nobody, "script", adapter=sh(said()), project=SETUP, files={"setup.sh": "mkdir .venv\n"})
    task_id = agency.add()
    agency.run()

    assert agency.task(task_id).status == "blocked"
    assert "`[environment] keep` names `.venv`, which the repository does not ignore" in reason(agency, task_id)
