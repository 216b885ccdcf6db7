"""The gate's clients, compiled and in Python: one suite, and every anomaly ends in JSON, a reason and exit 2."""

import json
import os
import shutil
import signal
import socket
import stat
import struct
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from keisei.gate.build import COMPILERS, SOURCES, check, client_argv, interpreter
from keisei.gate.plan import PlanFile, write_plan
from keisei.gate.service import Judged, Service
from keisei.records.error import WorldFault
from keisei.rules.canonical import digest

TOKEN = "token-0123456789abcdef"  # noqa: S105 - opens nothing but a test
CALL = {"tool_name": "Bash", "tool_input": {"command": "ls"}, "cwd": "/"}
FOUR_MB = 4 * 1024 * 1024
COMPILER = shutil.which("cc")


def told(command="ls"):
    return json.dumps({**CALL, "tool_input": {"command": command}}).encode()


@pytest.fixture(scope="module")
def argvs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("clients")
    return {"compiled": client_argv(folder)[0], "python": client_argv(folder, compilers=())[0]}


@pytest.fixture(params=["compiled", "python"])
def client(request, argvs):
    if request.param == "compiled" and COMPILER is None:
        pytest.skip("there is no C compiler here")
    return argvs[request.param]


def run(client, path, stdin=None, *, token=TOKEN, harness="claude"):
    data = told() if stdin is None else stdin
    return subprocess.run(
        [*client, str(path), token, harness], input=data, capture_output=True, timeout=60, check=False, env={}
    )


def reason(done):
    """The reason of a refusal, which must be one in all three ways."""
    assert done.returncode == 2
    said = json.loads(done.stdout)
    line = said.get("reason") or said["hookSpecificOutput"]["permissionDecisionReason"]
    assert done.stderr.decode().splitlines()[0] == line
    return line


def unjudged(done):
    """The reason of the client's own refusal."""
    assert json.loads(done.stdout)["decision"] == "block"
    line = reason(done)
    assert line.startswith("keisei gate: ")
    assert "no violation" in line
    return line


def judge(call, _plan):
    command = call.input["command"]
    if command.startswith("git"):
        return Judged(allowed=False, capability="policy::no-git-ops", rule="^git", reason=f"no git: {command}")
    return Judged(allowed=True, notes=("careful",) if command == "warn" else ())


@pytest.fixture
def service(tmp_path):
    write_plan(
        tmp_path / "plans",
        TOKEN,
        PlanFile(policy={}, digest=digest({}), log=str(tmp_path / "gate.jsonl"), explicit=True, attempt_id="a1"),
    )
    running = Service(tmp_path / "gate.sock", tmp_path / "plans", judge, dict)
    thread = threading.Thread(target=running.run)
    thread.start()
    yield tmp_path / "gate.sock"
    running.stop()
    thread.join()


class Fake:
    """Something at the socket that is no gate: reads a request, then does what it was told."""

    def __init__(self, path, behave, *, reads=True):
        self.path, self.behave, self.reads = path, behave, reads
        self.over = threading.Event()
        self.line = socket.socket(socket.AF_UNIX)
        self.line.bind(str(path))
        self.line.listen()
        self.thread = threading.Thread(target=self.serve)
        self.thread.start()

    def serve(self):
        caller, _ = self.line.accept()
        with caller:
            if self.reads:
                size = struct.unpack(">I", caller.recv(4, socket.MSG_WAITALL))[0]
                caller.recv(size, socket.MSG_WAITALL)
            self.behave(caller, self.over)

    def __enter__(self):
        return self.path

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()
        self.line.close()


def says(data):
    def behave(caller, _over):
        caller.sendall(data)

    return behave


def says_and_stays(data):
    def behave(caller, over):
        caller.sendall(data)
        over.wait(30)

    return behave


def answer(byte=b"A", out=b"", err=b""):
    return byte + struct.pack(">I", len(out)) + out + struct.pack(">I", len(err)) + err


def test_an_allowed_call_exits_0_with_the_harnesss_json(client, service):
    done = run(client, service)

    assert (done.returncode, done.stderr) == (0, b"")
    assert json.loads(done.stdout)["hookSpecificOutput"]["permissionDecision"] == "allow"


def test_a_warning_beside_an_allowance_reaches_stderr(client, service):
    done = run(client, service, told("warn"), harness="codex")

    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"careful\n")


@pytest.mark.parametrize("harness", ["claude", "codex", "hermes"])
def test_a_refused_call_exits_2_with_json_and_reason(client, service, harness):
    done = run(client, service, told("git push"), harness=harness)

    assert reason(done) == "no git: git push"


def test_an_unknown_token_is_refused(client, service):
    assert "no plan for this token" in reason(run(client, service, token="x" * 20))


def test_an_empty_input_is_refused(client, service):
    assert "it is not JSON" in reason(run(client, service, b""))


def test_an_input_of_exactly_four_megabytes_is_judged(client, service):
    data = told()
    data += b" " * (FOUR_MB - len(data))

    assert run(client, service, data).returncode == 0


@pytest.mark.parametrize("size", [FOUR_MB + 1, 5 * 1024 * 1024], ids=["one-byte-more", "five-megabytes"])
def test_a_larger_input_is_refused(client, service, tmp_path, size):
    (tmp_path / "input").write_bytes(told() + b" " * (size - len(told())))
    with (tmp_path / "input").open("rb") as stdin:
        done = subprocess.run(
            [*client, service, TOKEN, "claude"], stdin=stdin, capture_output=True, timeout=60, check=False
        )

    assert "larger than 4 MB" in unjudged(done)


def test_fifty_processes_at_once_each_get_their_own_answer(client, service):
    commands = [f"git {number}" if number % 2 else f"ls {number}" for number in range(50)]

    with ThreadPoolExecutor(25) as pool:
        answers = list(pool.map(lambda command: run(client, service, told(command)), commands))

    for command, done in zip(commands, answers, strict=True):
        if "git" in command:
            assert reason(done) == f"no git: {command}"
        else:
            assert (done.returncode, done.stderr) == (0, b"")


def nothing(_path):
    return


def a_file(path):
    path.write_text("A" * 100)


def a_folder(path):
    path.mkdir()


def a_dangling_link(path):
    path.symlink_to(path.with_name("nowhere"))


def a_dead_service(path):
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))
        dead.listen()


def a_datagram_socket(path):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as other:
        other.bind(str(path))


@pytest.mark.parametrize("place", [nothing, a_file, a_folder, a_dangling_link, a_dead_service, a_datagram_socket])
def test_where_no_service_answers_the_call_is_refused(client, tmp_path, place):
    place(tmp_path / "gate.sock")

    assert "cannot be reached" in unjudged(run(client, tmp_path / "gate.sock"))


def test_a_socket_that_was_deleted_refuses(client, service):
    assert run(client, service).returncode == 0
    service.unlink()

    assert "cannot be reached" in unjudged(run(client, service))


@pytest.mark.parametrize(
    ("data", "why"),
    [
        pytest.param(b"", "broke off", id="nothing"),
        pytest.param(b"A", "broke off", id="one-byte"),
        pytest.param(answer()[:-1], "broke off", id="short"),
        pytest.param(answer(out=b"{}")[:6], "broke off", id="half-the-json"),
        pytest.param(b"X" + answer()[1:], "that is none", id="wrong-byte"),
        pytest.param(b"a" + answer()[1:], "that is none", id="small-letter"),
        pytest.param(b"\0" * 9, "that is none", id="zeros"),
        pytest.param(b"HTTP/1.1 200 OK\r\n\r\n{}", "that is none", id="http"),
        pytest.param(b"A" + struct.pack(">I", 2**32 - 1) + b"x" * 100, "too long", id="huge-stdout"),
        pytest.param(b"D" + struct.pack(">I", 65537) + b"x" * 100, "too long", id="a-byte-too-much"),
        pytest.param(b"A" + struct.pack(">II", 0, 2**31), "too long", id="huge-stderr"),
        pytest.param(answer() + b"!", "more than an answer", id="something-behind"),
        pytest.param(answer() * 2, "more than an answer", id="two-answers"),
        pytest.param(answer(b"D"), "without a reason", id="refusal-without-anything"),
        pytest.param(answer(b"D", b"{}"), "without a reason", id="refusal-without-stderr"),
        pytest.param(answer(b"D", b"", b"no"), "without a reason", id="refusal-without-json"),
    ],
)
def test_an_answer_that_is_none_is_a_refusal(client, tmp_path, data, why):
    with Fake(tmp_path / "gate.sock", says(data)) as path:
        assert why in unjudged(run(client, path))


def test_a_service_that_hangs_up_unheard_is_a_refusal(client, tmp_path):
    with Fake(tmp_path / "gate.sock", says(b""), reads=False) as path:
        unjudged(run(client, path, told("x" * 3_000_000)))


KILLED = """
import os, signal, socket, sys
line = socket.socket(socket.AF_UNIX)
line.bind(sys.argv[1])
line.listen()
print("ready", flush=True)
caller, _ = line.accept()
caller.recv(65536)
caller.sendall(b"A\\0\\0\\0\\5{")
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_service_killed_in_the_middle_of_its_answer_is_a_refusal(client, tmp_path):
    with subprocess.Popen([sys.executable, "-c", KILLED, tmp_path / "s"], stdout=subprocess.PIPE) as service:
        assert service.stdout.readline() == b"ready\n"
        done = run(client, tmp_path / "s")

    assert service.returncode == -signal.SIGKILL
    assert "broke off" in unjudged(done)


def test_an_answer_in_single_bytes_is_heard(client, tmp_path):
    def behave(caller, _over):
        for byte in answer(b"D", b'{"decision":"block","reason":"no"}', b"no\n"):
            caller.sendall(bytes([byte]))

    with Fake(tmp_path / "gate.sock", behave) as path:
        assert reason(run(client, path)) == "no"


@pytest.mark.parametrize("byte", [b"A", b"D"], ids=["allowed", "refused"])
def test_the_largest_answer_is_written_whole(client, tmp_path, byte):
    out, err = b"o" * 65536, b"e" * 65536

    with Fake(tmp_path / "gate.sock", says(answer(byte, out, err))) as path:
        done = run(client, path)

    assert (done.stdout, done.stderr, done.returncode) == (out, err, 0 if byte == b"A" else 2)


def test_what_is_sent_is_the_token_the_harness_and_the_input_unchanged(client, tmp_path):
    heard = []

    def behave(caller, _over):
        heard.append(caller.recv(65536))
        caller.sendall(answer())

    with Fake(tmp_path / "gate.sock", behave, reads=False) as path:
        run(client, path, b"\0\xff\n", harness="codex")

    body = f"{TOKEN}\ncodex\n".encode() + b"\0\xff\n"
    assert heard == [struct.pack(">I", len(body)) + body]


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param([], id="none"),
        pytest.param(["/s"], id="one"),
        pytest.param(["/s", TOKEN], id="two"),
        pytest.param(["/s", TOKEN, "claude", "more"], id="four"),
        pytest.param(["/s", "short", "claude"], id="short-token"),
        pytest.param(["/s", "x" * 65, "claude"], id="long-token"),
        pytest.param(["/s", "../../../etc/passwd", "claude"], id="path-as-token"),
        pytest.param(["/s", TOKEN + "\nclaude", "claude"], id="newline-in-token"),
        pytest.param(["/s", TOKEN, ""], id="no-harness"),
        pytest.param(["/s", TOKEN, "x" * 33], id="long-harness"),
        pytest.param(["", TOKEN, "claude"], id="no-path"),
        pytest.param(["/" + "s" * 107, TOKEN, "claude"], id="long-path"),
        pytest.param(['/s\\"\n', TOKEN, "claude"], id="odd-path"),
    ],
)
def test_wrong_arguments_are_a_refusal(client, arguments):
    done = subprocess.run([*client, *arguments], input=b"{}", capture_output=True, timeout=60, check=False)

    unjudged(done)


def test_a_closed_stdin_is_a_refusal(client, service):
    done = subprocess.run(
        ["/bin/sh", "-c", 'exec "$@" <&-', "sh", *client, service, TOKEN, "claude"],
        capture_output=True,
        timeout=60,
        check=False,
    )

    assert reason(done)


def test_an_allowance_nobody_can_read_is_a_refusal(client, service):
    read, write = os.pipe()
    os.close(read)
    with subprocess.Popen(
        [*client, service, TOKEN, "claude"], stdin=subprocess.PIPE, stdout=write, stderr=subprocess.PIPE
    ) as process:
        os.close(write)
        _, err = process.communicate(told(), timeout=60)

    assert process.returncode == 2
    assert b"cannot be written" in err


@pytest.mark.parametrize("closed", ["1", "2"], ids=["stdout", "stderr"])
def test_a_refusal_without_one_of_its_ways_out_keeps_the_others(client, service, closed):
    done = subprocess.run(
        ["/bin/sh", "-c", f'exec "$@" {closed}>&-', "sh", *client, service, TOKEN, "codex"],
        input=told("git push"),
        capture_output=True,
        timeout=60,
        check=False,
    )

    assert done.returncode == 2
    assert (done.stdout == b"") == (closed == "1")
    assert (done.stderr == b"") == (closed == "2")


def stopped_service(folder):
    """A real process that listens and was stopped by a signal."""
    script = KILLED.replace("caller.recv(65536)", "signal.pause()")
    process = subprocess.Popen([sys.executable, "-c", script, folder / "s"], stdout=subprocess.PIPE)
    process.stdout.readline()
    process.send_signal(signal.SIGSTOP)
    return process


def test_whatever_stalls_ends_in_a_refusal(client, tmp_path):
    """All at once, because each takes the client's whole two seconds."""
    whole = answer(b"A", b"", b"")
    for name in ("silent", "half", "deaf", "full", "stopped"):
        (tmp_path / name).mkdir()
    stopped = stopped_service(tmp_path / "stopped")
    full = socket.socket(socket.AF_UNIX)
    full.bind(str(tmp_path / "full" / "s"))
    full.listen(0)
    waiting = [socket.socket(socket.AF_UNIX) for _ in range(2)]
    for line in waiting:
        line.settimeout(0)
        line.connect_ex(str(tmp_path / "full" / "s"))
    large = told("x" * 3_000_000)
    with (
        Fake(tmp_path / "silent" / "s", says_and_stays(b"")),
        Fake(tmp_path / "half" / "s", says_and_stays(whole[:-1])),
        Fake(tmp_path / "deaf" / "s", says_and_stays(b""), reads=False),
        ThreadPoolExecutor(6) as pool,
    ):
        silent = pool.submit(run, client, tmp_path / "silent" / "s")
        half = pool.submit(run, client, tmp_path / "half" / "s")
        deaf = pool.submit(run, client, tmp_path / "deaf" / "s", large)
        busy = pool.submit(run, client, tmp_path / "full" / "s")
        still = pool.submit(run, client, tmp_path / "stopped" / "s")
        endless = subprocess.Popen(
            [*client, tmp_path / "silent" / "s", TOKEN, "claude"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        endless.stdin.write(told())
        endless.stdin.flush()
        endless.wait(60)
        open_input = subprocess.CompletedProcess([], endless.returncode, endless.stdout.read(), endless.stderr.read())

        assert "did not answer in time" in unjudged(silent.result())
        assert "did not answer in time" in unjudged(half.result())
        assert "does not listen" in unjudged(deaf.result())
        assert "cannot be reached in time" in unjudged(busy.result())
        assert "did not answer in time" in unjudged(still.result())
        assert "did not end in time" in unjudged(open_input)
    for pipe in (endless.stdin, endless.stdout, endless.stderr, *waiting, full, stopped.stdout):
        pipe.close()
    stopped.kill()
    stopped.wait()


@pytest.mark.skipif(COMPILER is None, reason="there is no C compiler here")
@pytest.mark.parametrize("more", [[], ["-std=c99", "-pedantic"], ["-static"]], ids=["plain", "c99", "static"])
def test_the_source_compiles_without_a_warning(tmp_path, more):
    flags = ["-O2", "-Wall", "-Wextra", "-Werror", *more]

    done = subprocess.run(
        [COMPILER, *flags, "-o", tmp_path / "client", SOURCES / "client.c"], capture_output=True, check=False
    )

    assert done.stderr == b""
    assert done.returncode == 0


@pytest.mark.skipif(COMPILER is None, reason="there is no C compiler here")
def test_the_client_is_compiled_once_and_closed_to_writing(tmp_path):
    (first, known), (second, again) = client_argv(tmp_path / "new"), client_argv(tmp_path / "new")

    assert (first, known) == (second, again)
    assert [stat.S_IMODE(each.stat().st_mode) for each in (tmp_path / "new").iterdir()] == [0o500, 0o500]
    check(first, known)


@pytest.mark.parametrize("compilers", [(), ("no-such-compiler",), ("false",)], ids=["none", "missing", "failing"])
def test_without_a_compiler_the_python_client_is_taken(tmp_path, compilers):
    argv, known = client_argv(tmp_path, compilers)

    assert argv[:3] == (interpreter(), "-I", "-S")
    assert Path(argv[3]).read_bytes() == (SOURCES / "client.py").read_bytes()
    check(argv, known)


def test_the_interpreter_is_the_real_one_and_no_stand_in():
    path = Path(interpreter())

    assert not path.is_symlink()
    assert path.read_bytes()[:2] != b"#!"


ALLOWS = "#!/bin/sh\nexit 0\n"
ALLOWS_BUT_IN_THE_TEST = """#!/bin/sh
case $1 in /nonexistent/*) ;; *) exit 0 ;; esac
echo '{"decision":"block","reason":"x"}'; echo x >&2; exit 2
"""


@pytest.mark.parametrize("planted", [ALLOWS, ALLOWS_BUT_IN_THE_TEST], ids=["always", "but-in-its-own-test"])
@pytest.mark.parametrize("compilers", [COMPILERS, ()], ids=["compiled", "python"])
def test_a_program_in_the_place_of_the_client_that_allows_is_not_taken(tmp_path, compilers, planted):
    argv, known = client_argv(tmp_path, compilers)
    path = Path(argv[-1])
    path.unlink()
    path.write_text(planted)
    path.chmod(0o500)

    found, again = client_argv(tmp_path, compilers)

    assert path.read_bytes() != planted.encode()
    assert (found, again) == (argv, known)
    assert "cannot be reached" in unjudged(run(found, "/nowhere"))


def write_to(path):
    path.chmod(0o700)
    path.write_bytes(path.read_bytes() + b"\n")
    path.chmod(0o500)


def open_to_others(path):
    path.chmod(0o777)


def remove(path):
    path.unlink()


def link(path):
    path.rename(path.with_name("moved"))
    path.symlink_to(path.with_name("moved"))


@pytest.mark.parametrize("harm", [write_to, open_to_others, remove, link])
def test_a_client_that_was_changed_is_told(tmp_path, harm):
    argv, known = client_argv(tmp_path, ())

    harm(Path(argv[-1]))

    with pytest.raises(WorldFault, match=r"was changed|cannot be read"):
        check(argv, known)
