"""Processes: real programs are run, hostile ones too, and nothing of them is left."""

import errno
import hashlib
import os
import re
import secrets
import select
import shlex
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from keisei.records.error import WorldFault
from keisei.records.launch import Exit, Launch
from keisei.sandbox import tree as trees
from keisei.sandbox.fault import start_fault
from keisei.sandbox.process import open_process, run
from keisei.sandbox.tree import MARK, Seen, end_marked
from tests.sandbox.program import LEVELS, NEVER_S, eventually, everyone, launch, tagged

# What it gives back


@LEVELS
def test_the_exit_code_and_both_streams_come_back(keeper):
    ended = run(launch("sh", "-c", "echo out; echo err >&2; exit 3"), keeper=keeper)

    assert (ended.code, ended.signal, ended.stdout, ended.stderr) == (3, None, b"out\n", b"err\n")
    assert (ended.timed_out, ended.canceled) == (False, False)
    assert (ended.stdout_truncated, ended.stderr_truncated) == (False, False)
    assert (ended.survivors_killed, ended.survivors_left) == (0, 0)
    assert ended.started_at.tzinfo is not None
    assert ended.level == ("keeper" if keeper else "mark")


@LEVELS
def test_a_signal_is_told_apart_from_an_exit_code(keeper):
    ended = run(launch("sh", "-c", "kill -SEGV $$"), keeper=keeper)

    assert (ended.code, ended.signal) == (None, signal.SIGSEGV)


@LEVELS
def test_the_environment_is_what_was_given_and_the_mark(keeper, monkeypatch):
    monkeypatch.setenv("SECRET", "inherited")

    ended = run(launch("env", env={"PATH": "/usr/bin:/bin", "A": "b c\nd", "E": "ä\udc80"}), keeper=keeper)

    marked = re.sub(rb"KEISEI_TREE=[0-9a-f]{32}\n", b"", ended.stdout)
    assert sorted(marked.split(b"\n")) == sorted(b"PATH=/usr/bin:/bin\nA=b c\nd\nE=\xc3\xa4\x80\n".split(b"\n"))
    assert marked != ended.stdout


def test_a_tree_inside_a_tree_keeps_the_outer_mark(monkeypatch):
    monkeypatch.setenv(MARK, "outer")

    ended = run(launch("sh", "-c", f"echo ${MARK}"))

    assert re.fullmatch(rb"outer [0-9a-f]{32}\n", ended.stdout)


@LEVELS
def test_it_starts_in_its_folder_with_no_descriptor_but_the_three(keeper, tmp_path):
    left_open, other = os.pipe()
    os.set_inheritable(left_open, True)  # noqa: FBT003 - it takes no keyword
    try:
        ended = run(launch("sh", "-c", "pwd; ls /proc/$$/fd", cwd=str(tmp_path)), keeper=keeper)
    finally:
        os.close(left_open)
        os.close(other)

    folder, *descriptors = ended.stdout.decode().split()
    assert folder == str(tmp_path)
    assert descriptors == ["0", "1", "2"]


@LEVELS
def test_fifty_megabytes_go_in_whole(keeper):
    data = os.urandom(1_000_000) * 50

    ended = run(launch("sha256sum", stdin=data), keeper=keeper)

    assert ended.stdout.decode().split() == [hashlib.sha256(data).hexdigest(), "-"]


FLOOD = """
import sys
from pathlib import Path
from keisei.records.launch import Launch
from keisei.sandbox.process import open_process, run
from keisei.sandbox.spool import Spool
def peak():
    return int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0])
def flood(size, **more):
    return Launch(argv=("head", "-c", str(size), "/dev/zero"), cwd="/", env={"PATH": "/usr/bin:/bin"}, timeout_s=120,
        output_cap=1000)
run(flood(1_000_000))
before = peak()
with Spool(Path(sys.argv[1]), cap=1000, secrets=["hunter2-hunter2"]) as spool:
    with open_process(flood(200_000_000), on_output=spool.write) as process:
        ended = process.wait()
print(len(ended.stdout), ended.stdout_truncated, spool.summary().stdout.bytes_seen, (peak() - before) // 1024)
"""


def test_two_hundred_megabytes_of_output_take_no_memory(tmp_path):
    told = subprocess.run(
        [sys.executable, "-c", FLOOD, tmp_path], capture_output=True, check=True, text=True, timeout=NEVER_S
    )

    *facts, grown_mb = told.stdout.split()
    assert facts == ["1000", "True", "200000000"]
    assert int(grown_mb) < 40


@LEVELS
def test_a_megabyte_goes_in_and_out_without_a_jam(keeper):
    data = os.urandom(1_000_000)

    ended = run(launch("sh", "-c", "tee /dev/stderr", stdin=data, output_cap=2_000_000), keeper=keeper)

    assert ended.stdout == ended.stderr == data


def test_input_nobody_reads_is_dropped():
    ended = run(launch("true", stdin=b"x" * 1_000_000))

    assert ended.code == 0


def test_without_input_it_reads_an_empty_one():
    assert run(launch("cat")).stdout == b""


@LEVELS
def test_output_beyond_the_cap_is_read_and_dropped(keeper):
    script = "head -c 3000000 /dev/zero; head -c 10 /dev/zero >&2; echo $? >/dev/stderr; exit 7"

    ended = run(launch("sh", "-c", script, output_cap=1000), keeper=keeper)

    assert (ended.code, ended.stdout, ended.stderr) == (7, b"\0" * 1000, b"\0" * 10 + b"0\n")
    assert ended.stdout_truncated
    assert not ended.stderr_truncated


def test_output_as_long_as_the_cap_is_not_called_truncated():
    ended = run(launch("printf", "abc", output_cap=3))

    assert (ended.stdout, ended.stdout_truncated) == (b"abc", False)


# Deadlines


def out_of_time(program: Launch, *, keeper: bool) -> Exit:
    """Run a program until it says something; then its time is up."""
    with open_process(program, keeper=keeper) as process:
        while not process._kept["stdout"].data and process.pump(1):
            pass
        process._deadline = 0
        return process.wait()


def test_the_deadline_is_kept(tag):
    ended = run(launch("sleep", "1000", tag=tag, timeout_s=0.1))

    assert (ended.timed_out, ended.signal) == (True, signal.SIGTERM)
    assert tagged(tag) == []


@LEVELS
def test_a_program_out_of_time_is_asked_and_heard_before_it_is_killed(keeper, tag):
    script = "trap 'echo bye; exit 9' TERM; echo hello; while :; do sleep 0.01; done"

    ended = out_of_time(launch("sh", "-c", script, tag=tag, grace_s=NEVER_S), keeper=keeper)

    assert ended.timed_out
    assert (ended.code, ended.stdout) == (9, b"hello\nbye\n")
    assert tagged(tag) == []


@LEVELS
def test_a_program_that_ignores_being_asked_is_killed(keeper, tag):
    script = "trap '' TERM; sh -c 'echo up; sleep 1000; :' & while :; do sleep 1000; done"

    ended = out_of_time(launch("sh", "-c", script, tag=tag, grace_s=0.1), keeper=keeper)

    assert (ended.timed_out, ended.code, ended.signal) == (True, None, signal.SIGKILL)
    assert ended.survivors_killed >= 2
    assert tagged(tag) == []


def test_a_stopped_program_is_killed_too(tag):
    ended = run(launch("sh", "-c", "kill -STOP $$", tag=tag, timeout_s=0.2, grace_s=0.1))

    assert (ended.timed_out, ended.signal) == (True, signal.SIGKILL)


def test_a_program_that_never_stops_writing_is_ended(tag):
    ended = run(launch("yes", tag=tag, timeout_s=0.3, grace_s=0, output_cap=10))

    assert (ended.timed_out, ended.stdout) == (True, b"y\ny\ny\ny\ny\n")
    assert tagged(tag) == []


# Silence


@LEVELS
def test_a_program_that_says_nothing_for_too_long_is_ended(keeper, tag):
    ended = run(launch("sh", "-c", "setsid sleep 1000 & sleep 1000", tag=tag, silence_s=0.1), keeper=keeper)

    assert (ended.silent, ended.timed_out, ended.canceled, ended.lease_lost) == (True, True, False, False)
    assert tagged(tag) == []


def test_one_that_closed_its_streams_is_silent_too(tag):
    ended = run(launch("sh", "-c", "exec >&- 2>&-; exec sleep 1000", tag=tag, silence_s=0.1))

    assert (ended.silent, ended.timed_out) == (True, True)


@pytest.mark.parametrize("stream", ["1", "2"])
def test_what_it_wrote_while_nobody_listened_counts(stream, tag):
    program = launch("sh", "-c", f"echo up >&{stream}; read line; exit 3", tag=tag, silence_s=NEVER_S)

    with open_process(program, keep_stdin=True) as process:
        pipes = [process._child.popen.stdout, process._child.popen.stderr]
        assert select.select(pipes, [], [], NEVER_S)[0]
        process._heard = -NEVER_S * 1000
        going_on = process.pump(1)
        process.write(b"go\n")
        ended = process.wait()

    assert going_on
    assert (ended.code, ended.silent, ended.timed_out) == (3, False, False)


def test_one_out_of_time_was_not_silent(tag):
    ended = run(launch("sleep", "1000", tag=tag, timeout_s=0.1, silence_s=NEVER_S))

    assert (ended.silent, ended.timed_out) == (False, True)


def test_one_that_ended_while_nobody_listened_was_neither_late_nor_silent():
    with open_process(launch("true", silence_s=NEVER_S)) as process:
        assert select.select([process._child.ended], [], [], NEVER_S)[0]
        process._deadline = process._heard = -NEVER_S * 1000
        ended = process.wait()

    assert (ended.code, ended.timed_out, ended.silent) == (0, False, False)


# Hostile trees

DAEMON = """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        open("READY", "w").close()
        time.sleep(1000)
    os._exit(0)
"""
HEADLESS = """
import ctypes, os, threading, time
def work():
    while open(f"/proc/{os.getpid()}/stat").read().rpartition(")")[2].split()[0] != "Z":
        time.sleep(0.001)
    open("READY", "w").close()
    time.sleep(1000)
if os.fork() == 0:
    os.setsid()
    threading.Thread(target=work).start()
    ctypes.CDLL(None).syscall({"x86_64": 60}.get(os.uname().machine, 93), 0)  # ends this thread only
"""
COMET = """
import os
if os.fork() == 0:
    os.setsid()
    open("READY", "w").close()
    for _ in range(100000):
        if os.fork():
            os._exit(0)
"""
BOMB = """
import os, signal, time
if os.fork() == 0:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    for _ in range(6):
        os.fork()
        os.setsid() if os.getsid(0) != os.getpid() else None
    open("READY", "w").close()
    time.sleep(1000)
"""
HOSTILE = {
    "a child in the same group": "sh -c ': >READY; sleep 1000; :' &",
    "a child in another session": "setsid sh -c ': >READY; sleep 1000; :' &",
    "a child that ignores TERM and HUP": "sh -c 'trap \"\" TERM HUP; : >READY; sleep 1000; :' &",
    "a daemon that forked twice": DAEMON,
    "an orphan with no environment": "env -i sh -c '(: >READY; exec sleep 1000 0.TAG) & ' &",
    "a chain that forks and ends, again and again": COMET,
    "sixty-four processes, each in its session, that ignore TERM": BOMB,
    "a process without its first thread": HEADLESS,
    "a writer that never stops": "setsid sh -c ': >READY; exec yes' &",
}
SCRUBBED = "env -i setsid sh -c ': >READY; exec sleep 1000 0.TAG' &"


def hostile(text: str, tag: str, folder: Path, then: str) -> Launch:
    """A program that starts the hostile thing, waits until it is up, and then ends or stays."""
    ready = folder / "ready"
    program = text.replace("TAG", tag).replace("READY", str(ready))
    if text.startswith("\nimport"):
        (folder / "program.py").write_text(program)
        program = shlex.join([sys.executable, "-I", "-S", f"{folder}/program.py"])
    script = f"{program}\nwhile [ ! -e {ready} ]; do sleep 0.01; done; {then}"
    return launch("sh", "-c", script, tag=tag, grace_s=0.1)


@LEVELS
@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_nothing_is_left_when_the_program_ends(text, keeper, tag, tmp_path):
    ended = run(hostile(text, tag, tmp_path, "exit 5"), keeper=keeper)

    assert (ended.code, ended.timed_out, ended.survivors_left) == (5, False, 0)
    assert ended.survivors_killed >= 1 or text is COMET  # nobody can say how many of those there were
    assert tagged(tag) == []


@LEVELS
@pytest.mark.parametrize("text", [*HOSTILE.values(), SCRUBBED], ids=[*HOSTILE, "one that scrubbed its environment"])
def test_nothing_is_left_when_it_is_cancelled(text, keeper, tag, tmp_path):
    program = hostile(text, tag, tmp_path, "echo ready >&2; sleep 1000")
    heard = []

    with open_process(program, keeper=keeper, on_output=lambda name, _: heard.append(name)) as process:
        while "stderr" not in heard and process.pump(1):
            pass
        process.cancel()
        ended = process.wait()

    assert (ended.canceled, ended.survivors_left) == (True, 0)
    assert tagged(tag) == []


@LEVELS
def test_a_grandchild_that_holds_the_output_open_does_not_hold_up_the_end(keeper, tag):
    ended = run(launch("sh", "-c", "echo first; setsid sleep 1000 & echo last", tag=tag), keeper=keeper)

    assert (ended.code, ended.timed_out, ended.stdout) == (0, False, b"first\nlast\n")
    assert tagged(tag) == []


SCRUBBED_ORPHAN = "env -i setsid sh -c '(: >READY; exec sleep 1000 0.TAG) &' & wait"


def test_an_orphan_that_scrubbed_its_environment_and_left_the_session_is_caught_by_a_keeper(tag, tmp_path):
    ended = run(hostile(SCRUBBED_ORPHAN, tag, tmp_path, "exit 5"), keeper=True)

    assert (ended.code, ended.survivors_left) == (5, 0)
    assert ended.survivors_killed >= 1
    assert tagged(tag) == []


def test_the_mark_alone_misses_such_an_orphan_as_the_documentation_says(tag, tmp_path):
    ended = run(hostile(SCRUBBED_ORPHAN, tag, tmp_path, "exit 5"))

    assert ended.code == 5
    assert tagged(tag) != []


def test_a_tree_that_kills_its_keeper_is_ended_by_its_mark_and_its_exit_is_unknown(tag):
    script = "read line; setsid sleep 1000 & kill -9 $PPID; sleep 1000"

    with open_process(launch("sh", "-c", script, tag=tag), keeper=True, keep_stdin=True) as process:
        process.write(b"go\n")
        ended = process.wait()

    assert (ended.code, ended.signal) == (None, None)
    assert tagged(tag) == []


def test_a_tree_that_kills_its_keeper_at_once_is_ended_all_the_same(tag):
    script = "kill -9 $PPID; setsid sleep 1000 & sleep 1000"
    fault = None

    try:  # the keeper may or may not have had the time to say that it started
        ended = run(launch("sh", "-c", script, tag=tag), keeper=True)
    except WorldFault as error:
        fault = error.message

    assert fault == "`sh` could not be started: its keeper did not answer" if fault else ended.code is None
    assert tagged(tag) == []


# The tree of a dead owner

OWNER = """
import sys
from keisei.records.launch import Launch
from keisei.sandbox.process import open_process
mark, tag, script, keeper = sys.argv[1:]
launch = Launch(argv=("sh", "-c", script), cwd="/", timeout_s=600, env={"PATH": "/usr/bin:/bin", "TAG": tag})
def up(name, piece):
    print(process._child.adopter, flush=True)
with open_process(launch, keeper=keeper == "True", mark=mark, on_output=up, keep_stdin=True) as process:
    process.write(b"the keeper has told that it started\\n")
    process.wait()
"""


def orphaned(mark: str, tag: str, script: str, *, keeper: bool) -> str:
    """Start a tree and kill its owner when the tree has said something. The keeper's number, where there is one."""
    command = [sys.executable, "-c", OWNER, mark, tag, script, str(keeper)]
    owner = subprocess.Popen(command, stdout=subprocess.PIPE)
    adopter = owner.stdout.readline().decode().strip()
    owner.kill()
    owner.wait()
    owner.stdout.close()
    return adopter


def swept_by_another(mark: str) -> tuple[int, int]:
    """End the tree from a process that is younger than all of it. How many were killed, and how many are left."""
    program = "import sys; from keisei.sandbox.tree import end_marked; print(*end_marked(sys.argv[1]))"
    told = subprocess.run([sys.executable, "-c", program, mark], capture_output=True, check=True, timeout=NEVER_S)
    killed, left = told.stdout.split()
    return int(killed), int(left)


def test_the_tree_of_a_dead_owner_is_ended_by_its_mark(tag):
    mark = secrets.token_hex(8)
    script = "sleep 1000 & setsid sleep 1000 & env -i sleep 1000 0.$TAG & echo up; sleep 1000"
    orphaned(mark, tag, script, keeper=False)
    assert len(set(tagged(tag))) >= 4

    killed, left = swept_by_another(mark)

    assert killed >= 4
    assert left == 0
    assert tagged(tag) == []
    assert end_marked(mark) == (0, 0)


def test_a_keeper_that_was_stopped_is_ended_with_the_tree_and_the_orphans_it_holds(tag):
    mark = secrets.token_hex(8)
    scrubbed = "env -i setsid sh -c '(sleep 1000 0.TAG) &' & wait".replace("TAG", tag)
    adopter = orphaned(mark, tag, f"read line; {scrubbed}; kill -STOP $PPID; echo up; sleep 1000", keeper=True)
    assert len(set(tagged(tag))) >= 2

    killed, left = swept_by_another(mark)

    assert killed >= 3
    assert left == 0
    assert tagged(tag) == []
    assert eventually(lambda: (seen := trees.look(int(adopter))) is None or seen.dead)


def test_who_only_looks_marked_is_left_alone():
    mark = secrets.token_hex(8)
    path = {"PATH": "/usr/bin:/bin"}
    others = [{MARK: f"{mark}0"}, {MARK: f"outer 0{mark} other"}, {"OTHER": mark}, {f"{MARK}_2": mark}]
    bystanders = [subprocess.Popen(["sleep", "1000"], env={**path, **env}) for env in others]
    ours = subprocess.Popen(["sleep", "1000"], env={**path, MARK: f"outer {mark} inner"}, start_new_session=True)
    try:
        swept = end_marked(mark)
        alive = [each.poll() is None for each in bystanders]
        ended = ours.wait(NEVER_S) is not None
    finally:
        for each in (*bystanders, ours):
            each.kill()
            each.wait()

    assert (swept, ended) == ((1, 0), True)
    assert alive == [True] * 4


def test_a_mark_can_be_chosen_and_is_known():
    mark = secrets.token_hex(8)

    with open_process(launch("sh", "-c", f"echo ${MARK}"), mark=mark) as process:
        ended = process.wait()
    with open_process(launch("sh", "-c", f"echo ${MARK}")) as other:
        told = other.wait()

    assert process.mark == mark
    assert ended.stdout.split()[-1].decode() == mark
    assert told.stdout.split()[-1].decode() == other.mark != mark


@pytest.mark.parametrize(
    "mark", ["", "short", "two words are no mark", "x" * 129, "sixteen-letters\n", "KEISEI_TREE=abcdef"]
)
def test_what_is_no_mark_is_refused_before_anything_is_started_or_ended(mark, tmp_path):
    with pytest.raises(ValueError, match="a mark is one word"):
        open_process(launch("touch", f"{tmp_path}/started"), mark=mark)
    with pytest.raises(ValueError, match="a mark is one word"):
        end_marked(mark)

    assert list(tmp_path.iterdir()) == []


# What is not ours


@LEVELS
def test_fifty_programs_at_once_each_have_their_own_output(keeper, tag):
    def one(number: int) -> tuple[int | None, bytes, int]:
        ended = run(launch("sh", "-c", "cat; exit $0", str(number), tag=tag, stdin=b"%d" % number), keeper=keeper)
        return ended.code, ended.stdout, ended.survivors_left

    with ThreadPoolExecutor(50) as pool:
        answers = list(pool.map(one, range(50)))

    assert answers == [(number, b"%d" % number, 0) for number in range(50)]
    assert tagged(tag) == []


def test_trees_side_by_side_end_each_on_their_own(tag):
    def one(number: int) -> tuple[int | None, bytes, int]:
        ended = run(launch("sh", "-c", f"setsid sleep 1000 & echo {number}; exit {number}", tag=tag))
        return ended.code, ended.stdout, ended.survivors_killed

    bystander = subprocess.Popen(["sleep", "1000"])
    try:
        with ThreadPoolExecutor(12) as pool:
            answers = list(pool.map(one, range(48)))
        alive = bystander.poll() is None
    finally:
        bystander.kill()
        bystander.wait()

    assert answers == [(number, f"{number}\n".encode(), 1) for number in range(48)]
    assert alive
    assert tagged(tag) == []


def test_a_number_that_belongs_to_somebody_else_now_is_not_signalled():
    bystander = subprocess.Popen(["sleep", "1000"])
    try:
        seen = trees.look(bystander.pid)
        stale = Seen(**{**seen._asdict(), "start": seen.start - 1})

        assert not trees._signal(stale, signal.SIGKILL)
        assert bystander.poll() is None
        assert trees._signal(seen, signal.SIGKILL)
    finally:
        bystander.kill()
        bystander.wait()


def test_a_session_with_older_processes_is_never_taken_for_ours(tag):
    old = subprocess.Popen(["sh", "-c", "read line; sleep 1000 & wait"], stdin=subprocess.PIPE, start_new_session=True)
    time.sleep(0.05)  # start times are told in hundredths of a second
    with open_process(launch("sleep", "1000", tag=tag)) as process:
        old.stdin.write(f"{tag}\n".encode())
        old.stdin.close()
        assert eventually(lambda: any(each.parent == old.pid for each in everyone()))
        process._tree._known.update((each.pid, each.start) for each in everyone() if each.pid == old.pid)
        members = process._tree.living()
    os.killpg(old.pid, signal.SIGKILL)
    old.wait()

    assert [each.pid for each in members] == [process.pid]


# Nothing is kept


@LEVELS
def test_neither_descriptors_nor_dead_children_are_left(keeper, tag):
    def held() -> tuple[set[str], list[int]]:
        dead = [each.pid for each in everyone() if each.dead and each.parent == os.getpid()]
        return set(os.listdir("/proc/self/fd")), dead  # noqa: PTH208 - names are wanted

    run(launch("true"), keeper=keeper)
    before = held()

    run(launch("sh", "-c", "setsid sleep 1000 & exit 1", tag=tag, stdin=b"x"), keeper=keeper)
    run(launch("sleep", "1000", tag=tag, timeout_s=0.1, grace_s=0), keeper=keeper)
    with pytest.raises(WorldFault):
        run(launch("/does/not/exist"), keeper=keeper)

    assert held() == before


def test_a_process_that_adopts_orphans_itself_buries_them(tag):
    inner = f"""
import ctypes, os
from keisei.records.launch import Launch
from keisei.sandbox.process import run
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
run(Launch(argv=("sh", "-c", "sleep 1000 & setsid sleep 1000 & (exit 0) &"), cwd="/", timeout_s=60,
    env={{"PATH": "/usr/bin:/bin", "TAG": "{tag}"}}))
try:
    print(os.waitpid(-1, os.WNOHANG))
except ChildProcessError:
    print("none")
"""
    told = subprocess.run([sys.executable, "-c", inner], capture_output=True, check=True, timeout=NEVER_S)

    assert told.stdout == b"none\n"
    assert tagged(tag) == []


@LEVELS
def test_where_ended_children_are_thrown_away_only_a_keeper_knows_the_exit(keeper):
    inner = f"""
import signal
from keisei.records.launch import Launch
from keisei.sandbox.process import run
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
ended = run(Launch(argv=("/bin/false",), cwd="/", env={{}}, timeout_s=60), keeper={keeper})
print(ended.code, ended.signal)
"""
    told = subprocess.run([sys.executable, "-c", inner], capture_output=True, check=True, timeout=NEVER_S)

    assert told.stdout == (b"1 None\n" if keeper else b"None None\n")


def test_a_keeper_ends_its_tree_when_its_owner_is_killed(tag):
    inner = f"""
from keisei.records.launch import Launch
from keisei.sandbox.process import open_process
script = "env -i setsid sh -c 'sleep 1000 0.{tag} & exec sleep 1000 0.{tag}' & echo up; sleep 1000"
launch = Launch(argv=("sh", "-c", script), cwd="/", timeout_s=600, env={{"PATH": "/usr/bin:/bin", "TAG": "{tag}"}})
with open_process(launch, keeper=True, on_output=lambda name, piece: print("up", flush=True)) as process:
    process.wait()
"""
    owner = subprocess.Popen([sys.executable, "-c", inner], stdout=subprocess.PIPE)
    assert owner.stdout.readline() == b"up\n"
    assert len(tagged(tag)) > 1

    owner.kill()
    owner.wait()
    owner.stdout.close()

    assert eventually(lambda: tagged(tag) == [])


# A process in the hand


def test_a_conversation_goes_back_and_forth(tag):
    heard = []
    program = launch("sh", "-c", 'while read line; do echo "<$line>"; done; echo end', tag=tag)

    with open_process(program, keep_stdin=True, on_output=lambda name, piece: heard.append((name, piece))) as process:
        process.write(b"one\n")
        while not heard and process.pump(1):
            pass
        process.write(b"two\n")
        process.close_stdin()
        ended = process.wait()

    assert heard[0] == ("stdout", b"<one>\n")
    assert b"".join(piece for _, piece in heard) == ended.stdout == b"<one>\n<two>\nend\n"
    assert process.wait() is ended


def test_every_piece_of_output_is_passed_on_beyond_the_cap():
    size = []

    with open_process(
        launch("head", "-c", "500000", "/dev/zero", output_cap=5), on_output=lambda _, piece: size.append(len(piece))
    ) as process:
        ended = process.wait()

    assert (sum(size), len(ended.stdout)) == (500_000, 5)


@LEVELS
def test_another_thread_can_cancel(keeper, tag):
    with open_process(launch("sh", "-c", "setsid sleep 1000 & sleep 1000", tag=tag), keeper=keeper) as process:
        threading.Timer(0.1, process.cancel).start()
        ended = process.wait()
    process.cancel()

    assert (ended.canceled, ended.timed_out, ended.signal) == (True, False, signal.SIGTERM)
    assert tagged(tag) == []


@LEVELS
@pytest.mark.parametrize("error", [None, KeyboardInterrupt, ValueError])
def test_leaving_the_block_leaves_nothing(error, keeper, tag):
    script = "trap '' TERM; setsid sleep 1000 & sleep 1000"
    try:
        with open_process(launch("sh", "-c", script, tag=tag, grace_s=0.1), keeper=keeper):
            if error is not None:
                raise error
    except (KeyboardInterrupt, ValueError):
        pass

    assert tagged(tag) == []


def test_a_listener_that_fails_ends_the_tree(tag):
    def listener(_name, _piece):
        raise ArithmeticError

    with (
        pytest.raises(ArithmeticError),
        open_process(launch("sh", "-c", "setsid sleep 1000 & echo x; sleep 1000", tag=tag), on_output=listener) as it,
    ):
        it.wait()

    assert tagged(tag) == []


# What cannot be started


@pytest.fixture
def shelf(tmp_path):
    files = {
        "plain": ("echo hi\n", 0o644),
        "no-interpreter": ("#!/nope/bash -eu\n", 0o755),
        "windows": ("#!/bin/sh\r\necho hi\r\n", 0o755),
        "no-shebang": ("echo hi\n", 0o755),
        "empty": ("", 0o755),
        "interpreter-not-executable": (f"#!{tmp_path}/plain\n", 0o755),
    }
    for name, (text, mode) in files.items():
        (tmp_path / name).write_bytes(text.encode())
        (tmp_path / name).chmod(mode)
    (tmp_path / "folder").mkdir()
    (tmp_path / "dangling").symlink_to("nowhere")
    return tmp_path


@LEVELS
@pytest.mark.parametrize(
    ("argv", "changes", "sentence"),
    [
        pytest.param([], {}, "there is nothing to run: the command line is empty", id="nothing"),
        pytest.param(["SHELF/nope"], {}, "the program `SHELF/nope` does not exist", id="missing"),
        pytest.param(["nope-nope"], {}, "the program `nope-nope` is not on the PATH", id="not on the PATH"),
        pytest.param(["plain"], {"env": {"PATH": "SHELF"}}, "`plain` may not be executed", id="on the PATH, plain"),
        pytest.param(["SHELF/plain"], {}, "`SHELF/plain` may not be executed", id="plain"),
        pytest.param(["SHELF/folder"], {}, "`SHELF/folder` is a folder and not a program", id="folder"),
        pytest.param(
            ["SHELF/no-interpreter"],
            {},
            "`SHELF/no-interpreter` asks for the interpreter `/nope/bash`, which does not exist",
            id="interpreter missing",
        ),
        pytest.param(
            ["SHELF/windows"],
            {},
            "`SHELF/windows` asks for the interpreter `/bin/sh\\r`, which does not exist",
            id="Windows line ends",
        ),
        pytest.param(
            ["SHELF/interpreter-not-executable"],
            {},
            "`SHELF/interpreter-not-executable` asks for the interpreter `SHELF/plain`, which may not be executed",
            id="interpreter not executable",
        ),
        pytest.param(
            ["SHELF/no-shebang"],
            {},
            "`SHELF/no-shebang` is neither a program of this machine nor a script with a `#!` line",
            id="no shebang",
        ),
        pytest.param(
            ["SHELF/empty"],
            {},
            "`SHELF/empty` is neither a program of this machine nor a script with a `#!` line",
            id="empty file",
        ),
        pytest.param(["true"], {"cwd": "SHELF/x"}, "the folder `SHELF/x` to run `true` in does not exist", id="no cwd"),
        pytest.param(
            ["true"],
            {"cwd": "SHELF/plain"},
            "the folder `SHELF/plain` to run `true` in is not a folder",
            id="cwd is a file",
        ),
        pytest.param(
            ["true", "x" * 300_000],
            {},
            "the command line and environment of `true` are too long for the kernel",
            id="argument too long",
        ),
        pytest.param(
            ["true"],
            {"env": {"PATH": "/bin", "X": "x" * 300_000}},
            "the command line and environment of `true` are too long for the kernel",
            id="environment too long",
        ),
        pytest.param(
            ["true", "a\0b"],
            {},
            "`true` cannot be started: embedded null byte in its command line, folder or environment",
            id="NUL",
        ),
        pytest.param(
            ["true"],
            {"env": {"A=B": "c"}},
            "`true` cannot be started: illegal environment variable name in its command line, folder or environment",
            id="bad name",
        ),
    ],
)
def test_what_cannot_be_started_is_told_in_one_sentence(argv, changes, sentence, keeper, shelf):
    def placed(value):
        if isinstance(value, dict):
            return {key: placed(each) for key, each in value.items()}
        return value.replace("SHELF", str(shelf))

    program = launch(*map(placed, argv), **{key: placed(value) for key, value in changes.items()})

    with pytest.raises(WorldFault) as caught:
        run(program, keeper=keeper)

    assert caught.value.message == placed(sentence)
    assert not caught.value.retryable


@pytest.mark.parametrize("number", [errno.EPIPE, errno.ECONNRESET])
def test_a_keeper_that_is_killed_while_it_starts_is_a_fault_that_passes(number):
    fault = start_fault(launch("true"), {}, OSError(number, os.strerror(number)))

    assert fault.retryable
    assert "keeper" in fault.message
