"""The gate service: right answers, written down first; and a refusal for everything else, whatever it is."""

import json
import os
import resource
import signal
import socket
import stat
import struct
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest

from keisei.contracts.check import build
from keisei.gate import socket as gate_socket
from keisei.gate.plan import Part, PlanFile, Plans, new_token, write_plan
from keisei.gate.service import Judged, Service
from keisei.records.error import OperatorError, WorldFault
from keisei.rules.atom_tool import PREFIX, AtomReach
from keisei.rules.canonical import digest
from keisei.rules.chain import broken_at, input_digest
from keisei.rules.policy import Policy
from keisei.rules.redact import Redactor

TOKEN = "token-0123456789abcdef"  # noqa: S105 - opens nothing but a test


def judge(call, _plan):
    """A stand-in for the policy, steered by the command."""
    command = call.input.get("command", "")
    if command == "crash":
        raise RuntimeError(command)
    if command == "exit":
        raise SystemExit(0)
    if command == "nonsense":
        return command
    if command == "slow":
        HOLD.wait(20)
    if command.startswith("git"):
        return Judged(
            allowed=False, capability="policy::no-git-ops", rule="^git", reason=f"no git: {command}", notes=("a note",)
        )
    return Judged(allowed=True, notes=("careful",) if command == "warn" else ())


HOLD = threading.Event()


class Gate:
    """A running service, its folders and a way to ask."""

    def __init__(self, folder, **options):
        self.path, self.plans, self.log = folder / "run" / "gate.sock", folder / "plans", folder / "gate.jsonl"
        self.write()
        options = {"workers": 4, "prepare": lambda policy: policy, "judge": judge, **options}
        self.service = Service(self.path, self.plans, options.pop("judge"), options.pop("prepare"), **options)
        self.thread = threading.Thread(target=self.service.run)
        self.thread.start()

    def write(self, token=TOKEN, policy=None, **changes):
        policy = policy or {"rules": [1]}
        told = {"digest": digest(policy), "log": str(self.log), "explicit": True, "attempt_id": "a1", **changes}
        return write_plan(self.plans, token, PlanFile(policy=policy, **told))

    def ask(self, command="ls", token=TOKEN, harness="claude", **changes):
        return self.raw(request(command, token, harness, **changes))

    def raw(self, data):
        with socket.socket(socket.AF_UNIX) as line:
            line.settimeout(20)
            line.connect(str(self.path))
            with suppress(BrokenPipeError):  # refused before all was sent
                line.sendall(data)
            return heard(line)

    def lines(self):
        return [json.loads(line) for line in self.log.read_bytes().splitlines()]

    def stop(self):
        self.service.stop()
        self.thread.join(20)
        assert not self.thread.is_alive()


def request(command="ls", token=TOKEN, harness="claude", **changes):
    told = {"tool_name": "Bash", "tool_input": {"command": command}, "tool_use_id": "t1", "cwd": "/", **changes}
    return framed(f"{token}\n{harness}\n".encode() + json.dumps(told).encode())


def framed(body):
    return struct.pack(">I", len(body)) + body


def heard(line):
    """The answer in parts: the byte, stdout, stderr."""
    data = b""
    with suppress(ConnectionResetError):  # it hung up before it had read everything
        while chunk := line.recv(65536):
            data += chunk
    size = struct.unpack_from(">I", data, 1)[0]
    assert struct.unpack_from(">I", data, 5 + size)[0] == len(data) - 9 - size
    return data[:1], data[5 : 5 + size], data[9 + size :].decode()


@pytest.fixture
def gate(tmp_path):
    HOLD.clear()
    running = Gate(tmp_path)
    yield running
    HOLD.set()
    running.stop()


def refused(answer, why):
    byte, out, err = answer
    assert byte == b"D"
    assert why in err
    assert json.loads(out)
    return err


def test_secrets_come_through_the_pipe_of_its_parent_and_never_reach_the_log(tmp_path):
    heard, say = os.pipe()
    gate = Gate(tmp_path, parent_fd=heard)
    os.write(say, b'"correct horse"\n"battery')
    os.write(say, b' staple"\n')
    gate.ask("ls")  # what came before a call is known when the call after it is judged

    gate.ask("echo correct horse battery staple")

    assert gate.lines()[-1]["input"] == {"command": "echo [redacted] [redacted]"}
    assert gate.lines()[-1]["input_digest"] == input_digest({"command": "echo correct horse battery staple"})
    os.write(say, b"no json\n")
    gate.ask("ls")
    assert gate.ask("ls")[0] == b"D"
    os.close(say)
    gate.thread.join(20)
    assert not gate.thread.is_alive()
    os.close(heard)


def test_an_allowed_call_is_written_down_and_said(gate):
    byte, out, err = gate.ask("ls", agent_id="sub")

    (line,) = gate.lines()
    assert (byte, err) == (b"A", "")
    assert json.loads(out)["hookSpecificOutput"]["permissionDecision"] == "allow"
    assert (line["decision"], line["cause"], line["tool_use_id"], line["attempt_id"]) == ("allow", "rule", "t1", "a1")
    assert (line["agent_id"], line["tool"], line["input"]) == ("sub", "Bash", {"command": "ls"})
    assert (line["cwd"], line.get("notes"), line.get("reason")) == ("/", None, None)
    assert build("gate.decision", line)
    assert line["input_digest"] == input_digest({"command": "ls"})
    assert line["policy_digest"] == digest({"rules": [1]})
    assert broken_at(gate.log.read_bytes().splitlines()) is None


def test_a_refused_call_names_its_rule_in_the_log_and_its_reason_to_the_agent(gate):
    byte, out, err = gate.ask("git push")

    (line,) = gate.lines()
    assert (byte, err) == (b"D", "no git: git push\na note\n")
    assert json.loads(out)["hookSpecificOutput"]["permissionDecisionReason"] == "no git: git push"
    assert (line["decision"], line["capability"], line["rule"]) == ("deny", "policy::no-git-ops", "^git")
    assert (line["reason"], line["notes"]) == ("no git: git push", ["a note"])


def test_a_warning_reaches_stderr_beside_an_allowance(gate):
    assert gate.ask("warn")[0::2] == (b"A", "careful\n")


def test_an_allowance_is_silent_in_a_users_own_session(gate):
    own = new_token()
    gate.write(own, explicit=False, attempt_id=None)

    assert gate.ask(token=own) == (b"A", b"", "")


def test_a_call_after_the_tool_never_stands_for_one_before(gate):
    gate.ask(hook_event_name="PostToolUse")

    assert gate.lines()[0]["tool_use_id"] == "post:t1"


def test_secrets_are_not_written_down(tmp_path):
    gate = Gate(tmp_path, redactor=Redactor(["hunter2-hunter2"]))
    try:
        gate.ask("git push hunter2-hunter2", tool_name="mcp__hunter2-hunter2")
    finally:
        gate.stop()

    (line,) = gate.lines()
    assert "hunter2" not in gate.log.read_text()
    assert line["input_digest"] == input_digest({"command": "git push hunter2-hunter2"})


@pytest.mark.parametrize("broken", [False, True])
def test_what_an_atom_marks_as_secret_is_not_written_down(tmp_path, broken):
    secret = json.dumps({"properties": {"key": {"writeOnly": True}}})
    policy = Policy(role="r", rules=(), worktree="/w", atoms={f"{PREFIX}mine__sign": AtomReach(secret=secret)})

    def judge(call, _plan):
        if broken:
            raise RuntimeError
        return Judged(allowed=False, reason=f"no: {call.input}")

    gate = Gate(tmp_path, prepare=lambda _: policy, judge=judge)
    given = {"atom": "mine::sign", "input": {"key": "abc-4", "text": "plain"}}
    try:
        gate.ask(tool_name=f"{PREFIX}atoms_run", tool_input=given)
    finally:
        gate.stop()

    (line,) = gate.lines()
    assert "abc-4" not in gate.log.read_text()
    assert line["input"]["input"]["text"] == "plain"
    assert line["input_digest"] == input_digest(given)


def test_a_sub_agent_with_its_own_policy_is_judged_by_it(tmp_path):
    seen = []
    gate = Gate(tmp_path, judge=lambda call, plan: seen.append((call.agent_id, plan.compiled)) or Judged(allowed=True))
    own, kind = {"own": 1}, {"kind": 1}
    gate.write(agents={"sub": Part(own, digest(own)), "Explore": Part(kind, digest(kind))})
    try:
        for changes in ({}, {"agent_id": "sub"}, {"agent_id": "x", "agent_type": "Explore"}, {"agent_id": "y"}):
            gate.ask(**changes)
    finally:
        gate.stop()

    main = {"rules": [1]}
    assert seen == [(None, main), ("sub", own), ("x", kind), ("y", main)]
    assert [line["policy_digest"] for line in gate.lines()] == [digest(each) for each in (main, own, kind, main)]


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("crash", "the judge broke: RuntimeError"),
        ("exit", "the judge broke: SystemExit"),
        ("nonsense", "the judge gave no judgement"),
    ],
)
def test_a_judge_that_breaks_refuses_is_written_down_and_goes_on(gate, command, why):
    err = refused(gate.ask(command), why)

    assert "no violation" in err
    assert (gate.lines()[0]["decision"], gate.lines()[0]["cause"]) == ("deny", "error")
    assert gate.ask("ls")[0] == b"A"


@pytest.mark.parametrize("allowed", [1, "yes", None, 0], ids=["one", "text", "none", "zero"])
def test_only_true_allows(tmp_path, allowed):
    gate = Gate(tmp_path, judge=lambda _call, _plan: Judged(allowed=allowed))
    try:
        refused(gate.ask(), "the policy refuses this call")
    finally:
        gate.stop()

    assert gate.lines()[0]["decision"] == "deny"


def test_a_judge_that_takes_too_long_is_refused_once_and_its_late_word_is_not_heard(tmp_path):
    HOLD.clear()
    gate = Gate(tmp_path, answer_s=0.2)
    try:
        refused(gate.ask("slow"), "took too long")
        HOLD.set()
        gate.ask("ls")
    finally:
        HOLD.set()
        gate.stop()

    assert [(line["decision"], line["cause"]) for line in gate.lines()] == [("deny", "error"), ("allow", "rule")]


def test_calls_that_wait_for_a_free_judge_too_long_are_refused(tmp_path):
    HOLD.clear()
    gate = Gate(tmp_path, answer_s=0.3, workers=1)
    try:
        with ThreadPoolExecutor(4) as pool:
            answers = list(pool.map(gate.ask, ["slow", "ls", "ls", "ls"]))
    finally:
        HOLD.set()
        gate.stop()

    for answer in answers[:1]:
        refused(answer, "took too long")
    assert {answer[0] for answer in answers[1:]} <= {b"A", b"D"}
    assert len(gate.lines()) == 4


@pytest.mark.parametrize(
    ("body", "why"),
    [
        pytest.param(b"", "malformed", id="empty"),
        pytest.param(TOKEN.encode(), "malformed", id="token-only"),
        pytest.param(TOKEN.encode() + b"\nclaude", "malformed", id="no-second-newline"),
        pytest.param(b"../../etc/passwd0\nclaude\n{}", "malformed", id="path-as-token"),
        pytest.param(TOKEN.encode() + b"\nCLAUDE CODE\n{}", "malformed", id="odd-harness"),
        pytest.param(b"another-token-0123456\nclaude\n{}", "no plan for this token", id="unknown-token"),
        pytest.param(TOKEN.encode() + b"\nclaude\n", "it is not JSON", id="no-input"),
        pytest.param(TOKEN.encode() + b"\nclaude\n\xff\xfe", "it is not UTF-8", id="no-text"),
        pytest.param(TOKEN.encode() + b'\nclaude\n{"tool_name":"a"}', "`tool_input`", id="half-a-call"),
    ],
)
def test_a_request_that_is_none_is_refused(gate, body, why):
    refused(gate.raw(framed(body)), why)

    assert gate.ask("ls")[0] == b"A"


def test_an_unreadable_call_is_written_down_as_such(gate):
    gate.raw(framed(f"{TOKEN}\nclaude\nnonsense".encode()))

    line = gate.lines()[0]
    assert (line["tool"], line["decision"], line["cause"], line["input"]) == ("(unreadable)", "deny", "error", {})


@pytest.mark.parametrize(
    ("data", "why"),
    [
        pytest.param(struct.pack(">I", 2**32 - 1) + b"x", "larger than 4 MB", id="huge"),
        pytest.param(struct.pack(">I", 4 * 1024 * 1024 + 300), "larger than 4 MB", id="too-large"),
        pytest.param(request() + b"more", "longer than it says", id="more"),
    ],
)
def test_a_request_with_an_odd_length_is_refused(gate, data, why):
    refused(gate.raw(data), why)


def test_a_request_that_is_cut_short_is_refused(gate):
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(str(gate.path))
        line.sendall(request()[:-5])
        line.shutdown(socket.SHUT_WR)

        refused(heard(line), "cut short")


def test_a_request_that_comes_in_pieces_is_read(gate):
    data = request("git push")
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(str(gate.path))
        for place in range(0, len(data), 7):
            line.sendall(data[place : place + 7])

        assert heard(line)[0] == b"D"


def test_a_request_of_four_megabytes_is_judged(gate):
    body = request("")
    padding = 4 * 1024 * 1024 - (len(body) - 4 - len(f"{TOKEN}\nclaude\n"))

    byte, _, _ = gate.ask("x" * padding)

    assert byte == b"A"
    assert len(gate.log.read_bytes()) < 6000


def test_silent_callers_are_hung_up_on_and_keep_nobody_waiting(gate, monkeypatch):
    monkeypatch.setattr(gate_socket, "READ_S", 0.5)
    lines = []
    for _ in range(300):
        line = socket.socket(socket.AF_UNIX)
        line.connect(str(gate.path))
        line.sendall(b"\0")
        lines.append(line)

    assert gate.ask("ls")[0] == b"A"
    for line in lines:
        line.settimeout(20)
        refused(heard(line), "did not come in time")
        line.close()


def test_more_silent_callers_than_there_is_room_for_make_room(tmp_path, monkeypatch):
    monkeypatch.setattr(gate_socket, "CALLERS", 20)
    gate = Gate(tmp_path)
    lines = []
    try:
        for _ in range(100):
            line = socket.socket(socket.AF_UNIX)
            line.connect(str(gate.path))
            lines.append(line)

        assert gate.ask("ls")[0] == b"A"
        refused(heard(lines[0]), "too many callers")
    finally:
        for line in lines:
            line.close()
        gate.stop()


def test_more_is_not_held_than_there_is_memory_for(gate, monkeypatch):
    monkeypatch.setattr(gate_socket, "HELD", 1_000_000)
    monkeypatch.setattr(gate_socket, "LARGE_CHUNK", 1000)
    with socket.socket(socket.AF_UNIX) as line:
        line.settimeout(20)
        line.connect(str(gate.path))
        with suppress(OSError):  # it hangs up before all is sent
            line.sendall(struct.pack(">I", 4_000_000) + b"x" * 3_900_000)
        assert line.recv(1) == b"D"

    monkeypatch.undo()
    assert gate.ask("ls")[0] == b"A"


def test_callers_of_other_users_are_refused(gate, monkeypatch):
    monkeypatch.setattr(gate_socket, "PEER", Peer)

    refused(gate.ask("ls"), "somebody else")


class Peer:
    """What the kernel would say of a stranger."""

    size = 12

    @staticmethod
    def unpack(_data):
        return (1, 1234, 1234)


def test_the_kernels_word_for_the_caller_is_its_user_id(gate):
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(str(gate.path))
        raw = line.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, gate_socket.PEER.size)

    assert gate_socket.PEER.unpack(raw)[1] == os.getuid()


def corrupted(path):
    path.write_text("{")


def changed(path):
    path.write_text(path.read_text().replace('"rules": [1]', '"rules": []'))


def changed_with_its_digest(path):
    told = json.loads(path.read_text())
    path.write_text(json.dumps({**told, "policy": {"rules": []}, "digest": digest({"rules": []})}))


def redirected(path):
    path.write_text(json.dumps({**json.loads(path.read_text()), "log": "/dev/null"}))


def opened_to_all(path):
    path.chmod(0o666)


def made_a_link(path):
    path.rename(path.with_suffix(".x"))
    path.symlink_to(path.with_suffix(".x"))


def made_a_pipe(path):
    path.unlink()
    os.mkfifo(path, 0o600)


def opened_the_folder(path):
    path.parent.chmod(0o777)
    path.touch()


@pytest.mark.parametrize(
    ("harm", "why"),
    [
        (corrupted, "the plan is corrupt"),
        (changed, "the plan was changed: its policy"),
        (changed_with_its_digest, "the plan was changed since"),
        (redirected, "the plan was changed since"),
        (opened_to_all, "can be written by others"),
        (made_a_link, "cannot be read"),
        (made_a_pipe, "is not a file"),
        (opened_the_folder, "can be written by others"),
    ],
)
def test_a_plan_that_is_no_longer_the_one_it_was_refuses_and_the_log_tells(gate, harm, why):
    assert gate.ask("ls")[0] == b"A"

    harm(gate.plans / f"{TOKEN}.json")

    refused(gate.ask("ls"), why)
    assert [line["decision"] for line in gate.lines()] == ["allow", "deny"]


def test_a_plan_written_again_unchanged_goes_on(gate):
    gate.ask("ls")
    gate.write()

    assert gate.ask("ls")[0] == b"A"


def test_a_plan_may_gain_sub_agents_and_not_lose_or_change_them(gate):
    own, other = {"own": 1}, {"own": 2}
    gate.write(agents={"sub": Part(own, digest(own))})
    assert gate.ask()[0] == b"A"
    gate.write(agents={"sub": Part(own, digest(own)), "new": Part(other, digest(other))})
    assert gate.ask()[0] == b"A"

    gate.write(agents={"sub": Part(other, digest(other)), "new": Part(other, digest(other))})
    refused(gate.ask(), "the plan was changed since")
    gate.write()
    refused(gate.ask(), "the plan was changed since")


@pytest.mark.parametrize("whole_folder", [False, True], ids=["plan", "folder"])
def test_an_attempt_that_has_ended_is_refused_and_its_log_left_alone(gate, whole_folder):
    gate.ask("ls")
    (gate.plans / f"{TOKEN}.json").unlink()
    if whole_folder:
        gate.plans.rmdir()

    refused(gate.ask("ls"), "the folder of plans is gone" if whole_folder else "its attempt has ended")
    assert len(gate.lines()) == 1


def test_a_policy_that_cannot_be_used_refuses(tmp_path):
    def prepare(_policy):
        raise ValueError("no such rule")

    gate = Gate(tmp_path, prepare=prepare)
    try:
        refused(gate.ask("ls"), "cannot be used: no such rule")
    finally:
        gate.stop()


@pytest.mark.parametrize(
    "change",
    [{"extra": 1}, {"log": "relative"}, {"log": 1}, {"explicit": "yes"}, {"attempt_id": ""}, {"agents": {"a": {}}}],
    ids=["unknown-key", "relative-log", "log-a-number", "explicit-a-text", "empty-attempt", "half-an-agent"],
)
def test_a_plan_of_another_shape_is_corrupt(tmp_path, change):
    policy = {"a": 1}
    told = {"policy": policy, "digest": digest(policy), "log": "/x", **change}
    (tmp_path / f"{TOKEN}.json").write_text(json.dumps(told))
    (tmp_path / f"{TOKEN}.json").chmod(0o600)

    with pytest.raises(WorldFault, match="the plan is corrupt"):
        Plans(tmp_path, lambda each: each).get(TOKEN)


def test_plans_beyond_the_cache_are_read_again(tmp_path):
    prepared = []
    plans = Plans(tmp_path, lambda policy: prepared.append(policy["n"]), cached=2)
    tokens = [new_token() for _ in range(3)]
    for number, token in enumerate(tokens):
        policy = {"n": number}
        write_plan(tmp_path, token, PlanFile(policy=policy, digest=digest(policy), log="/x"))

    for token in (*tokens, tokens[2], tokens[0]):
        plans.get(token)

    assert prepared == [0, 1, 2, 0]


def test_plans_whose_files_are_gone_are_let_go(tmp_path):
    plans = Plans(tmp_path, lambda policy: policy)
    path = write_plan(tmp_path, TOKEN, PlanFile(policy={}, digest=digest({}), log="/x"))
    plans.get(TOKEN)
    assert plans.gone() == []

    path.unlink()

    assert [str(plan.log) for plan in plans.gone()] == ["/x"]


def test_a_plan_is_for_its_owner_only(tmp_path):
    path = write_plan(tmp_path / "plans", TOKEN, PlanFile(policy={}, digest=digest({}), log="/x"))

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert [each.name for each in path.parent.iterdir()] == [f"{TOKEN}.json"]


def test_what_cannot_be_written_down_is_refused(gate):
    gate.ask("ls")
    gate.log.unlink()

    refused(gate.ask("ls"), "could not be written down")
    err = refused(gate.ask("git push"), "no git")
    assert "this refusal could not be written down" in err


def test_the_socket_is_for_its_owner_only(gate):
    assert stat.S_IMODE(gate.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(gate.path.parent.stat().st_mode) == 0o700


def test_a_second_service_at_the_same_place_is_refused_and_the_first_goes_on(gate):
    with pytest.raises(OperatorError, match=r"answers at .* already"):
        Service(gate.path, gate.plans, judge, lambda policy: policy)

    assert gate.ask("ls")[0] == b"A"


def test_what_a_dead_service_left_is_replaced(tmp_path):
    (tmp_path / "run").mkdir(mode=0o700)
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(tmp_path / "run" / "gate.sock"))
        dead.listen()

    gate = Gate(tmp_path)
    try:
        assert gate.ask("ls")[0] == b"A"
    finally:
        gate.stop()


def test_a_file_that_is_no_socket_is_not_replaced(tmp_path):
    (tmp_path / "file").write_text("precious")

    with pytest.raises(OperatorError, match="it is not a socket"):
        Service(tmp_path / "file", tmp_path, judge, lambda policy: policy)

    assert (tmp_path / "file").read_text() == "precious"


def test_a_path_too_long_for_a_socket_is_refused_with_the_limit(tmp_path):
    with pytest.raises(OperatorError, match="107 bytes"):
        Service(tmp_path / ("x" * 108), tmp_path, judge, lambda policy: policy)


def test_a_folder_that_is_open_to_others_is_refused(tmp_path):
    tmp_path.chmod(0o755)

    with pytest.raises(OperatorError, match="open to others"):
        Service(tmp_path / "gate.sock", tmp_path, judge, lambda policy: policy)


def test_a_service_removes_its_socket_and_only_its_own(tmp_path):
    first = Gate(tmp_path)
    first.path.unlink()
    second = Gate(tmp_path)
    first.stop()

    assert second.path.exists()
    second.stop()
    assert not second.path.exists()


def test_a_service_that_is_stopped_finishes_what_was_begun(gate):
    with ThreadPoolExecutor(1) as pool, socket.socket(socket.AF_UNIX) as idle:
        idle.connect(str(gate.path))
        begun = pool.submit(gate.ask, "slow")
        while not gate.service._board._jobs:
            time.sleep(0.001)
        gate.service.stop()
        HOLD.set()

        assert begun.result(20)[0] == b"A"
        refused(heard(idle), "being stopped")


def test_a_thousand_calls_at_once_each_get_their_own_answer(gate):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 8192)), hard))
    commands = [f"git {number}" if number % 2 else f"ls {number}" for number in range(1000)]
    start = threading.Barrier(50)

    def some(mine):
        start.wait()
        lines = [socket.socket(socket.AF_UNIX) for _ in mine]
        for line in lines:
            line.settimeout(30)
            line.connect(str(gate.path))
        for line, command in zip(lines, mine, strict=True):
            line.sendall(request(command, tool_use_id=command))
        answers = [heard(line) for line in lines]
        for line in lines:
            line.close()
        return answers

    with ThreadPoolExecutor(50) as pool:
        groups = list(pool.map(some, [commands[place : place + 20] for place in range(0, 1000, 20)]))

    for command, (byte, _, err) in zip(commands, (answer for group in groups for answer in group), strict=True):
        assert (byte, err.partition("\n")[0]) == ((b"D", f"no git: {command}") if "git" in command else (b"A", ""))
    lines = gate.log.read_bytes().splitlines(keepends=True)
    assert broken_at(lines) is None
    assert sorted(json.loads(line)["tool_use_id"] for line in lines) == sorted(commands)


PROGRAM = """
import sys
from pathlib import Path
from keisei.gate.service import Judged, Service, serve

def ready():
    print("ready", flush=True)

def judge(call, plan):
    return Judged(allowed=True)

parent = int(sys.argv[2]) if len(sys.argv) > 2 else None
folder = Path(sys.argv[1])
serve(Service(folder / "gate.sock", folder / "plans", judge, dict, parent_fd=parent), ready)
print("ended", flush=True)
"""


@pytest.fixture
def started(tmp_path):
    """Start a service as a process of its own; give it a pipe to its parent where asked to."""
    running = []

    def start(*, pipe=False):
        write_plan(tmp_path / "plans", TOKEN, PlanFile(policy={}, digest=digest({}), log=str(tmp_path / "gate.jsonl")))
        read, write = os.pipe()
        process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(tmp_path), *([str(read)] if pipe else [])],
            stdout=subprocess.PIPE,
            pass_fds=[read] if pipe else [],
        )
        os.close(read)
        running.append((process, write))
        assert process.stdout.readline() == b"ready\n"
        return process, write

    yield start
    for process, write in running:
        process.kill()
        process.wait()
        process.stdout.close()
        with suppress(OSError):
            os.close(write)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_process_in_order(started, tmp_path, number):
    process, _ = started()

    process.send_signal(number)

    assert process.wait(20) == 0
    assert process.stdout.read() == b"ended\n"
    assert not (tmp_path / "gate.sock").exists()


def test_the_process_ends_with_its_parent(started, tmp_path):
    process, write = started(pipe=True)

    os.close(write)

    assert process.wait(20) == 0
    assert not (tmp_path / "gate.sock").exists()


def test_after_a_kill_the_next_process_takes_over_place_and_log(started, tmp_path):
    for _ in range(2):
        process, _ = started()
        with socket.socket(socket.AF_UNIX) as line:
            line.connect(str(tmp_path / "gate.sock"))
            line.sendall(request())
            assert heard(line)[0] == b"A"
        process.kill()
        process.wait()

    lines = (tmp_path / "gate.jsonl").read_bytes().splitlines(keepends=True)
    assert len(lines) == 2
    assert broken_at(lines) is None
