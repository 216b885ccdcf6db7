"""`keisei run`: one task through the engine in the foreground, told as it happens, ended by Ctrl-C and nothing lost."""

import json
import os
import pty
import select
import signal
import subprocess
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec
import pytest

import keisei.cli.progress
import keisei.wiring.foreground
import keisei.wiring.yard
from keisei.records.confinement import Machine
from keisei.records.error import WorldFault
from keisei.records.relay import RelayCall
from tests.cli.foreground import NEVER, Held, Workplace, decision
from tests.cli.shell import BIN
from tests.cli.shop import PATIENCE_S, bare, eventually, lines_until
from tests.cli.test_runner import hear_signals


@pytest.fixture
def place(shell):
    made = Workplace(shell)
    yield made
    made.close()


@pytest.fixture
def held(shell):
    made = Held(shell)
    yield made
    made.close()


def is_alive(pid):
    """Whether a process is there and no corpse."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


# --- the way and the end ----------------------------------------------------------------------------------------------


def test_the_phases_are_told_on_the_way_and_the_outcome_at_the_end(place):
    place.agent("echo working")

    done = place.run(*place.words())

    assert bare(done.err) == ["queued task <1>", "preparing attempt <2>", "running fake", "verifying"]
    lines = bare(done.out)
    assert lines[0] == "completed: did it"
    assert lines[1] == "verdict: 1 of 1 held"
    assert lines[2].startswith("task: <1> (ag-program-")
    assert lines[3].startswith("ran: fake, ")
    assert lines[-1] == "evidence: keisei attempt show <2>"
    assert done.code == 0


def test_everything_is_told_as_data_with_stable_keys(place):
    place.agent("echo working")

    told, code = place.events()

    assert [each["phase"] for each in told if each["event"] == "phase"] == [
        "queued",
        "preparing",
        "running",
        "verifying",
    ]
    assert next(each["text"] for each in told if each["event"] == "output") == "working"
    assert {frozenset(each) for each in told if each["event"] == "output"} == {
        frozenset({"event", "attempt_id", "stream", "text"})
    }
    last = told[-1]
    assert code == last["exit_code"] == 0
    assert set(last) == {
        "event",
        "status",
        "exit_code",
        "summary",
        "task_id",
        "agent_id",
        "attempts",
        "adapter_id",
        "model",
        "elapsed_s",
        "isolation",
        "gate",
        "changes",
        "ref",
        "findings",
        "verdict",
        "landing",
        "usage",
        "evidence",
        "approvals",
    }
    assert (last["event"], last["status"], last["summary"]) == ("done", "completed", "did it")
    assert place.task(last["task_id"])["status"] == "completed"


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        pytest.param({"status": "permanent_failure", "machine_status": "failed"}, 2, id="failed"),
        pytest.param({"status": "blocked", "machine_status": "blocked"}, 3, id="needs a person"),
    ],
)
def test_the_exit_code_tells_how_it_ended(place, answer, code):
    place.agent(operator_summary="it was so", **answer)

    done = place.run(*place.words())

    assert done.code == code
    assert bare(done.out)[0].startswith(f"{answer['status']}: ")
    asked = [f"needs you: keisei approval show {each['approval_id']}" for each in place.json("approval", "list")]
    assert [line for line in done.out.splitlines() if line.startswith("needs you: ")] == asked
    assert bool(asked) is (code == 3)


def test_a_task_that_fails_is_tried_again_in_the_foreground_too(place):
    place.program.write_text(f"echo x >> '{place.folder}/tries'; exit 3\n")

    told, code = place.events()

    assert code == 3
    assert (place.folder / "tries").read_text() == "x\n" * 3
    phases = [each["phase"] for each in told if each["event"] == "phase"]
    assert phases.count("waiting") == 2
    assert phases.count("running") == 3
    waiting = next(each for each in told if each.get("phase") == "waiting")
    assert (waiting["reason"], bool(waiting["until"])) == ("it ended with exit 3", True)


def test_a_task_that_no_budget_covers_says_so(place):
    place.agent()
    with (place.folder / "keisei.toml").open("a") as file:
        file.write('[budget]\nwhen-exhausted = "ask"\n[budget.day]\nmax-tokens = 99\n')

    told, code = place.events("--max-tokens", 100)

    assert (code, told[-1]["status"], told[-1]["attempts"]) == (4, "blocked", [])
    assert place.only_task()["budget"] == {"max_tokens": 100}
    for verb in ("wait", "watch"):
        assert place.run("task", verb, told[-1]["task_id"]).code == 4


def test_nothing_else_is_run(place):
    other = place.add("touch ran", priority=1000)
    place.agent()

    assert place.run(*place.words()).code == 0

    assert place.task(other)["status"] == "pending"
    assert not (place.folder / "ran").exists()


def test_what_is_asked_for_becomes_the_task(place):
    place.agent()

    done = place.run(
        *place.words(
            *("--write", "src/**", "-w", "tests/*", "--deny", "src/x", "--check", "true", "--test", "make test"),
            *("--model", "m1", "--budget-usd", "1.5"),
            instruction="Mend it.\nAll of it.",
        )
    )

    assert done.code == 0
    task = place.only_task()
    agent_id = task["payload"]["task"].pop("agent-id")
    assert agent_id.startswith("ag-program-")
    assert task["payload"] == {
        "task": {"role": "program", "adapter": "fake", "model": "m1"},
        "scope": {"files-whitelist": ["src/**", "tests/*"], "files-denylist": ["src/x"]},
        "verification": {"check": "true", "test": "make test", "test-count-min": 0},
        "output": {},
        "body": {"text": "Mend it.\nAll of it."},
    }
    assert (task["task_type"], task["subject"]) == ("agent-task", "Mend it.")
    assert (task["requested_adapter_id"], task["requested_model"]) == ("fake", "m1")
    assert task["budget"] == {"max_cost_usd": 1.5}
    assert task["source"].startswith("operator:")


def test_the_instruction_may_come_from_standard_input(place):
    place.agent()
    read, write = os.pipe()
    os.write(write, "Prüfe alles.\n".encode())
    os.close(write)

    done = place.shell.spawn(*place.words(instruction="-"), stdin=read)
    os.close(read)

    assert done.code == 0
    assert place.only_task()["payload"]["body"]["text"] == "Prüfe alles.\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        pytest.param([], "role `edit-local` edits files, and files-whitelist is empty", id="nothing to write"),
        pytest.param(["--role", "edit-locl"], "role `edit-locl` does not exist", id="an unknown role"),
        pytest.param(["--role", "git-ops"], "role `git-ops` cannot be spawned", id="a role that is not spawned"),
        pytest.param(["--role", "Not A Role"], "task.role", id="no role at all"),
        pytest.param(["--role", "program", "--budget-usd", "nan"], "nan is no amount", id="no number"),
        pytest.param(["--write", ""], "'--write' / '-w': it is empty", id="an empty glob"),
        pytest.param(["--write", "a", "--adapter", ""], "'--adapter': it is empty", id="an empty adapter"),
        pytest.param(["--write", "a", "--check", " "], "'--check': it is empty", id="an empty check"),
        pytest.param(["--role", "program", "--budget-usd", "inf"], "inf", id="no amount"),
        pytest.param(["--write", b"\xff".decode("utf-8", "surrogateescape")], "not text", id="no text"),
        pytest.param(["--write", "src/["], "src/[", id="a broken glob"),
        pytest.param(["--write", "a", "--adapter", "nobody"], "adapter `nobody`", id="an unknown adapter"),
        pytest.param(["--write", "a", "--profile", "nobody"], "profile `nobody`", id="an unknown profile"),
    ],
)
def test_what_could_not_run_is_refused_before_anything_is_queued(place, words, said):
    done = place.run("run", "Do it.", *words)

    assert (done.code, done.out) == (1, "")
    assert "error: " in done.err.lower()
    assert said in done.err
    assert "Traceback" not in done.err
    assert place.json("task", "list") == []


ABSENT = """
[adapters.absent]
kind = "claude-code"
command = "no-such-harness"
timeout_ms = 60000
"""


def test_a_harness_without_a_key_is_told_at_once(place):
    file = place.folder / "keisei.toml"
    file.write_text(file.read_text() + ABSENT.replace("no-such-harness", "sh"))

    done = place.run("run", "Do it.", "--write", "a", "--adapter", "absent")

    assert done.code == 1
    assert "adapter `absent` names neither a key nor an address of its model's server" in done.err
    assert "ANTHROPIC_API_KEY=" in done.err


def test_an_adapter_that_is_not_there_is_told_at_once(place):
    file = place.folder / "keisei.toml"
    file.write_text(file.read_text() + ABSENT)

    done = place.run("run", "Do it.", "--write", "a", "--adapter", "absent")

    said = "no adapter can be reached: absent: the program `no-such-harness` is not on the PATH"
    assert (done.code, done.out, done.err.splitlines()[0]) == (1, "", f"error: {said}")
    assert "keisei doctor" in done.err
    assert place.json("task", "list") == []


def test_a_project_that_is_no_repository_is_told_at_once(held):
    done = held.run(*held.words())

    assert (done.code, done.out) == (1, "")
    assert "is not in a git repository\n  hint: `git init`" in done.err
    assert held.json("task", "list") == []


def test_a_machine_that_holds_too_little_is_told_at_once_and_accepted_by_the_option(held, monkeypatch):
    weak = Machine(bwrap=None, landlock=0, seccomp=False, faults=("there is no bwrap",))
    monkeypatch.setattr(keisei.wiring.yard, "probe", lambda: weak)
    held.agent()

    done = held.run(*(each for each in held.words() if each != "--accept-weaker"))

    assert (done.code, done.out) == (1, "")
    assert "requires isolation `full` and this machine has `none`" in done.err
    assert "or run it with --accept-weaker" in done.err
    assert held.json("task", "list") == []


@pytest.mark.parametrize(
    ("given", "said"),
    [
        pytest.param(b"", "standard input is empty", id="nothing"),
        pytest.param(b"a\0b", "standard input has a zero byte", id="a zero byte"),
        pytest.param(b"a\xffb", "standard input is not UTF-8", id="no text"),
    ],
)
def test_standard_input_that_is_no_instruction_is_refused(place, given, said):
    file = place.mark("given")
    file.write_bytes(given)

    with file.open() as stdin:
        done = place.shell.spawn(*place.words(instruction="-"), stdin=stdin)

    assert (done.code, done.out) == (1, "")
    assert done.err.splitlines()[0].startswith(f"error: {said}")
    assert "instruction" in done.err.splitlines()[1]
    assert place.json("task", "list") == []


def test_an_empty_instruction_is_refused(place):
    done = place.run(*place.words(instruction=" \n"))

    assert (done.code, place.json("task", "list")) == (1, [])
    assert "the instruction is empty" in done.err


def test_a_run_that_breaks_off_ends_its_task(place, monkeypatch):
    def broken(_self):
        raise WorldFault("the store is away")
        yield

    monkeypatch.setattr(keisei.cli.progress.Follower, "look", broken)
    place.agent(NEVER)

    done = place.run(*place.words())

    assert (done.code, done.err) == (1, "error: the store is away\n")
    assert place.only_task()["status"] == "operator_canceled"


def test_a_forgotten_scope_is_answered_with_the_option(place):
    assert "hint: name what it may write, as in --write 'src/**'" in place.run("run", "Do it.").err


def test_whoever_carries_it_it_is_followed_to_its_end(place, monkeypatch):
    class Slow:
        """A runner that never comes to claim anything."""

        def __init__(self, *_args, **_more):
            self.stopped = False

        def run(self):
            eventually(lambda: self.stopped)

        def stop(self):
            self.stopped = True

    monkeypatch.setattr(keisei.wiring.foreground, "shop_runner", Slow)
    place.agent("echo working")

    with place.runner():
        told, code = place.events()

    assert (code, told[-1]["status"]) == (0, "completed")
    assert "running" in [each.get("phase") for each in told]


# --- the timeline -----------------------------------------------------------------------------------------------------


@contextmanager
def started(place, **streams):
    """`keisei run` with streams of its own; it is ended with the block."""
    words = [BIN / "keisei", *map(str, place.words(*streams.pop("more", ())))]
    process = subprocess.Popen(words, stdin=subprocess.DEVNULL, **streams)
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


def run_folder(place):
    """The folder of the attempt that runs."""

    def found():
        folders = [each for each in (place.state / "run").glob("*-*") if (each / "stdout.log").exists()]
        return folders[0] if folders else None

    return eventually(found)


def relayed(**more):
    return RelayCall(at="2026-01-01T00:00:00Z", method="POST", path="/v1/messages", status=200, ms=1.0, **more)


def write_lines(path, *records):
    with path.open("ab") as file:
        file.writelines(msgspec.json.encode(each) + b"\n" for each in records)


def test_tool_calls_and_spend_are_told_as_they_come(place):
    go = place.mark("go")
    place.agent(f"until test -e '{go}'; do sleep 0.05; done")

    with place.start(*place.words("--json")) as process:
        lines_until(process, '"running"')
        folder = run_folder(place)
        write_lines(
            folder / "gate.jsonl",
            decision("keisei-canary", {}, denied=("role::tools", "no such tool"), tool_use_id="canary-refused"),
            decision("Bash", {"command": "make test"}),
            decision(
                "Write", {"file_path": "/etc/passwd"}, denied=("scope::files-whitelist", "outside"), tool_use_id="t2"
            ),
        )
        write_lines(
            folder / "relay.jsonl",
            relayed(input_tokens=10, output_tokens=5, cost_usd=0.25),
            relayed(input_tokens=1, cache_read_tokens=4),
        )
        spend = json.loads(lines_until(process, '"spend"')[-1])
        go.touch()
        lines = process.stdout.read().splitlines()
        assert process.wait() == 0

    assert (spend["tokens"], spend["cost_usd"]) in ((15, 0.25), (20, 0.25))
    told = [json.loads(line) for line in lines]
    assert told[-1]["event"] == "done"


def test_the_timeline_shows_what_was_denied_and_why(place):
    go = place.mark("go")
    place.agent(f"until test -e '{go}'; do sleep 0.05; done")

    with place.start(*place.words()) as process:
        lines_until(process, "running")
        write_lines(
            run_folder(place) / "gate.jsonl",
            decision("keisei-canary", {}, denied=("role::tools", "no such tool"), tool_use_id="canary-refused"),
            decision("Bash", {"command": "make \x1b[31m\n test"}),
            decision(
                "Write", {"file_path": "/etc/passwd"}, denied=("scope::files-whitelist", "outside"), tool_use_id="t2"
            ),
        )
        lines = lines_until(process, "denied")
        go.touch()
        assert process.wait() == 0

    assert lines[-2:] == [
        "allowed    Bash make \\x1b[31m test",
        "denied     Write /etc/passwd (scope::files-whitelist: outside)",
    ]


def test_a_broken_line_of_the_gate_is_passed_over(place):
    go = place.mark("go")
    place.agent(f"until test -e '{go}'; do sleep 0.05; done")

    with place.start(*place.words()) as process:
        lines_until(process, "running")
        path = run_folder(place) / "gate.jsonl"
        path.write_bytes(b'\xff\xfe nonsense\n{"tool": 5}\n' + b"[" * 3000 + b"\n")
        write_lines(path, decision("Read", {"file_path": "a"}))
        assert lines_until(process, "allowed")[-1] == "allowed    Read a"
        go.touch()
        assert process.wait() == 0


# --- ending it --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name)
def test_one_signal_ends_the_whole_tree_and_the_task(place, number):
    pids = place.mark("pids")
    place.agent(f"setsid sleep 600 & echo $! $$ > '{pids}.new'; mv '{pids}.new' '{pids}'; wait")

    with place.start(*place.words(), preexec_fn=hear_signals) as process:
        lines_until(process, "running")
        eventually(pids.exists)
        process.send_signal(number)
        lines = lines_until(process, "evidence:")
        assert process.wait() == 130

    assert not any(is_alive(pid) for pid in pids.read_text().split())
    assert "note       stopping: the agent is ended and its work kept; once more leaves at once" in lines
    assert "operator_canceled: interrupted at the terminal" in lines
    assert place.only_task()["status"] == "operator_canceled"
    assert [each["state"] for each in place.json("runner", "list", "--all")["runners"]] == ["stopped"]


def test_a_second_signal_leaves_at_once_and_the_next_runner_settles_the_task(place):
    pids = place.mark("pids")
    place.agent(f"trap '' TERM INT; sleep 600 & echo $! $$ > '{pids}.new'; mv '{pids}.new' '{pids}'; wait; wait")

    with place.start(*place.words(), preexec_fn=hear_signals) as process:
        lines_until(process, "running")
        eventually(pids.exists)
        process.send_signal(signal.SIGINT)
        lines_until(process, "stopping")
        process.send_signal(signal.SIGINT)
        assert "left at once" in process.stdout.read()
        assert process.wait() == 130

    assert eventually(lambda: not any(is_alive(pid) for pid in pids.read_text().split()))
    place.work()
    assert place.only_task()["status"] == "operator_canceled"


def test_a_signal_that_whoever_started_it_ignores_is_ignored(place):
    go = place.mark("go")
    place.agent(f"until test -e '{go}'; do sleep 0.05; done")

    with place.start(*place.words(), preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)) as process:
        lines_until(process, "running")
        process.send_signal(signal.SIGHUP)
        go.touch()
        assert process.wait() == 0


def test_a_run_that_takes_too_long_is_ended_and_exits_5(place):
    place.agent(NEVER)

    done = place.run(*place.words("--timeout", "0.2"))

    assert done.code == 5
    assert bare(done.out)[0] == "operator_canceled: it took longer than 0.2 seconds"
    assert place.only_task()["status"] == "operator_canceled"


def test_a_reader_that_goes_away_does_not_end_the_agent(place):
    go, done = place.mark("go"), place.mark("done")
    failed = {"status": "permanent_failure", "machine_status": "failed"}
    place.agent(f"until test -e '{go}'; do sleep 0.05; done; echo much; touch '{done}'", **failed)

    with started(place, more=["--json"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        process.stdout.readline()
        process.stdout.close()
        go.touch()
        assert process.wait(PATIENCE_S) == 2

    assert done.exists()
    assert place.only_task()["status"] == "permanent_failure"


def test_output_that_a_full_disk_does_not_take_is_told_and_the_exit_code_is_the_tasks(place):
    place.agent(status="permanent_failure", machine_status="failed")

    with Path("/dev/full").open("wb") as full:
        done = place.shell.spawn(*place.words("--json"), stdout=full)

    assert done.code == 2
    assert done.err == "warning: standard output takes no more, and what is told is lost: no space left on device\n"


# --- the work ---------------------------------------------------------------------------------------------------------

CHANGE = "echo new > src/new.txt; printf 'one\\n2\\n' > src/old.txt"


def test_the_summary_says_what_held_it_what_changed_and_where_the_work_is(held):
    held.agent(CHANGE, file_changes=["src/new.txt", "src/old.txt"])

    done = held.run(*held.words())

    lines = done.out.splitlines()
    assert (done.code, lines[0]) == (0, "completed: did it"), done
    changed = lines.index("changed: 2 files, +2 -1")
    assert lines[changed + 1 : changed + 3] == ["  src/new.txt +1 -0", "  src/old.txt +1 -1"]
    assert any(line.startswith("isolation: ") and "seccomp" in line for line in lines)
    ref = lines[-1].removeprefix("work: git show ")
    assert ref.startswith("refs/keisei/candidate/")
    assert held.git("show", f"{ref}:src/new.txt") == "new\n"
    assert held.git("status", "--porcelain") == ""


def test_work_that_was_interrupted_is_kept_and_the_last_line_names_it(held):
    held.agent(f"{CHANGE}; echo half; {NEVER}")

    with held.start(*held.words("--json"), preexec_fn=hear_signals) as process:
        lines_until(process, '"half"')
        process.send_signal(signal.SIGINT)
        last = json.loads(lines_until(process, '"done"')[-1])
        assert process.wait() == last["exit_code"] == 130

    assert last["status"] == "operator_canceled"
    assert last["ref"] == f"refs/keisei/salvage/{last['attempts'][0]}"
    assert held.git("show", f"{last['ref']}:src/new.txt") == "new\n"
    assert held.git("status", "--porcelain") == ""


def test_verified_work_waits_for_a_person_and_that_is_a_good_end(held):
    held.agent(CHANGE, file_changes=["src/new.txt", "src/old.txt"])

    done = held.run(*held.words())

    (landing,) = held.json("land", "list")
    assert done.code == 0
    assert landing["status"] == "held"
    assert any(
        line.startswith("landing: held: ") and line.endswith(f"; keisei land approve {landing['landing_id']}")
        for line in done.out.splitlines()
    )
    assert held.git("ls-tree", "--name-only", "main", "src/") == "src/old.txt\n"


def test_where_the_project_merges_by_itself_verified_work_lands_before_the_run_ends(held):
    with (held.folder / "keisei.toml").open("a") as file:
        file.write("\n[landing]\nauto = true\n")
    held.agent(CHANGE, file_changes=["src/new.txt", "src/old.txt"])
    before = held.git("rev-parse", "main").strip()

    done = held.run(*held.words())

    after = held.git("rev-parse", "main").strip()
    assert done.code == 0
    assert f"landing: landed {before[:7]} -> {after[:7]} on main" in done.out.splitlines()
    assert held.git("show", "main:src/new.txt") == "new\n"
    assert (held.folder / "src/new.txt").read_text() == "new\n"
    assert held.git("status", "--porcelain") == ""


def test_what_stands_in_the_way_of_landing_needs_a_person(held):
    with (held.folder / "keisei.toml").open("a") as file:
        file.write("\n[landing]\nauto = true\n")
    held.agent(CHANGE, file_changes=["src/new.txt", "src/old.txt"])
    (held.folder / "src/old.txt").write_text("a change of mine\n")

    done = held.run(*held.words("--json"))

    last = json.loads(done.out.splitlines()[-1])
    assert done.code == last["exit_code"] == 3
    assert (last["status"], last["landing"]["status"]) == ("completed", "held")
    assert "src/old.txt" in last["landing"]["reason"]
    assert (held.folder / "src/old.txt").read_text() == "a change of mine\n"


def test_work_out_of_scope_is_told_with_its_reason_and_never_waits_to_land(held):
    held.agent("echo x > src/x", file_changes=["src/x"])
    words = [each if each != "src/**" else "src/*.txt" for each in held.words()]

    done = held.run(*words)

    why = "`src/x` is outside files-whitelist"
    assert done.code == 2
    assert f"violated   scope::files-whitelist: {why}" in done.err.splitlines()
    assert f"  scope::files-whitelist: violated, {why}" in done.out.splitlines()
    assert held.json("land", "list") == []
    assert held.git("ls-tree", "--name-only", "main", "src/") == "src/old.txt\n"


# --- a terminal -------------------------------------------------------------------------------------------------------


def test_on_a_terminal_one_line_stays_below_and_is_gone_at_the_end(place):
    go = place.mark("go")
    place.agent(f"echo halfway there; until test -e '{go}'; do sleep 0.05; done")
    ours, theirs = pty.openpty()
    env = os.environ | {"COLUMNS": "100", "TERM": "xterm"}

    with started(place, stdout=subprocess.PIPE, stderr=theirs, env=env) as process:
        os.close(theirs)
        seen = read_until(ours, b"halfway there")
        write_lines(
            run_folder(place) / "gate.jsonl",
            decision("Bash", {"command": "ls"}),
            decision("Write", {"file_path": "/x" * 99}, denied=("scope::files-whitelist", "no"), tool_use_id="t2"),
        )
        seen += read_until(ours, b"1 allowed, 1 denied")
        go.touch()
        seen += read_rest(ours)
        out = process.stdout.read()
        assert process.wait() == 0
    os.close(ours)

    assert b"\r\x1b[2Krunning " in seen
    assert b"\x1b[31mdenied" in seen
    assert seen.endswith(b"\r\x1b[2K")
    lines = seen.decode().replace("\r\x1b[2K", "\n").replace("\x1b[31m", "").replace("\x1b[0m", "").splitlines()
    assert max(map(len, lines)) == 99
    assert out.startswith(b"completed: did it\n")


def read_until(handle, word):
    """What a terminal shows, up to that word."""
    seen, until = b"", time.monotonic() + PATIENCE_S
    while word not in seen:
        assert time.monotonic() < until, seen
        if select.select([handle], [], [], 0.1)[0]:
            seen += os.read(handle, 65536)
    return seen


def read_rest(handle):
    """What a terminal shows until nobody writes to it any more; then the system says that it is broken."""
    seen, until = b"", time.monotonic() + PATIENCE_S
    with suppress(OSError):
        while piece := os.read(handle, 65536):
            assert time.monotonic() < until, seen
            seen += piece
    return seen
