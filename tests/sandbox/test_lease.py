"""Leases: a tree whose owner does not renew in time is ended by its keeper, whatever has become of the owner."""

import os
import select
import signal
import subprocess
import sys
import threading
import time

import pytest

from keisei.records.error import WorldFault
from keisei.sandbox import keeper, kept, tree
from keisei.sandbox.process import open_process
from tests.sandbox.program import NEVER_S, eventually, launch, tagged

SPREAD = "setsid sleep 1000 & env -i setsid sleep 1000 0.$TAG & echo up; sleep 1000"


def heard(process) -> None:
    """Drive it until it has said something."""
    while not process._kept["stdout"].data and process.pump(1):
        pass


def test_the_end_of_the_lease_ends_the_tree(tag):
    with open_process(launch("sh", "-c", SPREAD, tag=tag), keeper=True, lease_s=NEVER_S) as process:
        heard(process)
        process.renew(0)
        ended = process.wait()

    assert (ended.lease_lost, ended.timed_out, ended.canceled, ended.silent) == (True, False, False, False)
    assert (ended.code, ended.signal, ended.level) == (None, signal.SIGKILL, "keeper")
    assert ended.survivors_left == 0
    assert tagged(tag) == []


def test_the_keeper_needs_nobody_to_end_the_tree(tag):
    with open_process(launch("sh", "-c", SPREAD, tag=tag), keeper=True, lease_s=NEVER_S) as process:
        heard(process)
        process.renew(0.01)

        assert eventually(lambda: tagged(tag) == [])  # and this process has not moved a finger

        ended = process.wait()

    assert (ended.lease_lost, ended.code, ended.signal) == (True, None, signal.SIGKILL)
    assert ended.survivors_killed >= 2


def test_a_lease_brings_its_keeper(tag):
    with open_process(launch("true", tag=tag), lease_s=NEVER_S) as process:
        ended = process.wait()

    assert (ended.level, ended.code, ended.lease_lost) == ("keeper", 0, False)


def test_a_lease_that_is_renewed_goes_on(tag):
    with open_process(launch("sh", "-c", "read line; exit 3", tag=tag), lease_s=NEVER_S, keep_stdin=True) as process:
        process.renew(2)
        over = time.monotonic() + 2
        process.renew(NEVER_S)
        while time.monotonic() < over + 0.1:
            assert process.pump(0.1)
        process.write(b"go\n")
        ended = process.wait()

    assert (ended.code, ended.lease_lost) == (3, False)


def test_a_lease_that_has_ended_does_not_come_back(tag):
    with open_process(launch("sleep", "1000", tag=tag), lease_s=NEVER_S) as process:
        os.kill(process._child.adopter, signal.SIGSTOP)  # it reads both renewals at once
        process.renew(0)
        process.renew(NEVER_S)
        os.kill(process._child.adopter, signal.SIGCONT)
        assert eventually(lambda: tagged(tag) == [])
        ended = process.wait()

    assert ended.lease_lost


def test_a_program_that_ended_before_its_lease_lost_nothing(tag):
    with open_process(launch("sh", "-c", "setsid sleep 1000 & exit 3", tag=tag), lease_s=NEVER_S) as process:
        assert select.select([process._child.ended], [], [], NEVER_S)[0]
        process.renew(0)
        assert eventually(lambda: tagged(tag) == [])
        ended = process.wait()

    assert (ended.code, ended.lease_lost) == (3, False)


def test_a_lease_over_before_the_start_starts_nothing(tmp_path):
    with pytest.raises(WorldFault) as caught:
        open_process(launch("touch", f"{tmp_path}/started"), lease_s=0)

    assert caught.value.message == "the lease for `touch` ended before it could be started"
    assert caught.value.retryable
    assert list(tmp_path.iterdir()) == []


OWNER = f"""
import os, signal, sys
from keisei.records.launch import Launch
from keisei.sandbox.process import open_process
tag, lease_s, number = sys.argv[1], float(sys.argv[2]), int(sys.argv[3])
launch = Launch(argv=("sh", "-c", {SPREAD!r}), cwd="/", timeout_s=600, env={{"PATH": "/usr/bin:/bin", "TAG": tag}})
def up(name, piece):
    process.renew(lease_s)
    print("up", flush=True)
    os.kill(os.getpid(), number)
with open_process(launch, lease_s=600, on_output=up) as process:
    print(process.wait().lease_lost, flush=True)
"""


def owner(tag: str, lease_s: float, number: int) -> subprocess.Popen:
    """A process that owns a tree, leases it for that long when it is up, and sends itself a signal."""
    command = [sys.executable, "-c", OWNER, tag, str(lease_s), str(int(number))]
    return subprocess.Popen(command, stdout=subprocess.PIPE)


def test_the_tree_of_a_stopped_owner_is_dead_when_its_lease_is(tag):
    stopped = owner(f"{tag}", 0.5, signal.SIGSTOP)
    try:
        assert stopped.stdout.readline() == b"up\n"
        assert eventually(lambda: set(tagged(tag)) <= {stopped.pid})
        assert state(stopped.pid) == "T"
        stopped.send_signal(signal.SIGCONT)
        assert stopped.stdout.readline() == b"True\n"
    finally:
        stopped.kill()
        stopped.wait()
        stopped.stdout.close()


def test_the_tree_of_a_killed_owner_does_not_wait_for_the_end_of_the_lease(tag):
    killed = owner(tag, NEVER_S, signal.SIGKILL)

    killed.wait()
    killed.stdout.close()

    assert eventually(lambda: tagged(tag) == [])


def state(pid: int) -> str:
    with open(f"/proc/{pid}/stat") as file:  # noqa: PTH123 - one word is wanted
        return file.read().rpartition(")")[2].split()[0]


def test_an_owner_that_lives_ends_the_tree_of_a_keeper_that_was_stopped(tag, monkeypatch):
    monkeypatch.setattr(kept, "_PATIENCE_S", 0.1)

    script = f"read line; kill -STOP $PPID; {SPREAD}"
    with open_process(launch("sh", "-c", script, tag=tag), lease_s=NEVER_S, keep_stdin=True) as process:
        process.write(b"the keeper has told that it started\n")
        heard(process)
        assert eventually(lambda: state(process._child.adopter) == "T")
        process.renew(0)
        ended = process.wait()

    assert (ended.lease_lost, ended.code, ended.signal) == (True, None, None)
    assert ended.duration_s < NEVER_S  # it was not the deadline that ended it
    assert tagged(tag) == []


def test_renewing_at_a_keeper_that_was_killed_raises_nothing_and_wait_tells(tag):
    script = f"read line; kill -9 $PPID; {SPREAD}"
    with open_process(launch("sh", "-c", script, tag=tag), lease_s=NEVER_S, keep_stdin=True) as process:
        process.write(b"the keeper has told that it started\n")
        heard(process)
        process.renew(NEVER_S)
        ended = process.wait()

    assert (ended.code, ended.signal, ended.lease_lost) == (None, None, False)
    assert tagged(tag) == []


def test_renewing_at_a_keeper_that_does_not_read_never_waits(tag):
    with open_process(launch("sh", "-c", "read line; exit 3", tag=tag), lease_s=NEVER_S, keep_stdin=True) as process:
        os.kill(process._child.adopter, signal.SIGSTOP)
        for _ in range(20_000):
            process.renew(NEVER_S)
        os.kill(process._child.adopter, signal.SIGCONT)
        process.write(b"go\n")
        ended = process.wait()

    assert (ended.code, ended.lease_lost) == (3, False)


def test_any_thread_may_renew_at_any_time_and_after_the_end(tag):
    over = threading.Event()

    def renewing() -> None:
        while not over.is_set():
            process.renew(NEVER_S)

    with open_process(launch("sh", "-c", "read line; exit 3", tag=tag), lease_s=NEVER_S, keep_stdin=True) as process:
        threads = [threading.Thread(target=renewing) for _ in range(4)]
        for thread in threads:
            thread.start()
        process.write(b"go\n")
        ended = process.wait()
    process.renew(NEVER_S)
    over.set()
    for thread in threads:
        thread.join()

    assert (ended.code, ended.lease_lost) == (3, False)


@pytest.mark.parametrize("with_keeper", [False, True])
def test_without_a_lease_there_is_nothing_to_renew(with_keeper, tag):
    with open_process(launch("sh", "-c", "read line; exit 3", tag=tag), keeper=with_keeper, keep_stdin=True) as process:
        process.renew(0)
        process.write(b"go\n")
        ended = process.wait()

    assert (ended.code, ended.lease_lost) == (3, False)


SWEEP = f"""
import importlib.util, os, time
spec = importlib.util.spec_from_file_location("keeper", {keeper.__file__!r})
keeper = importlib.util.module_from_spec(spec)
spec.loader.exec_module(keeper)
def sleeper():
    pid = os.fork()
    if pid == 0:
        os.setsid()
        time.sleep(1000)
    while os.getpgid(pid) != pid:
        time.sleep(0.001)
    return pid
keeper._adopt()
pids = [sleeper(), sleeper()]
guarded = keeper._children()[0]
other = next(pid for pid in pids if pid != guarded)
real = os.killpg
def killpg(group, number):
    if group == guarded and os.path.exists(f"/proc/{{other}}"):
        raise PermissionError
    real(group, number)
os.killpg = killpg
print(keeper._sweep(0))
"""


def test_a_process_that_may_not_be_signalled_does_not_save_the_others():
    told = subprocess.run([sys.executable, "-c", SWEEP], capture_output=True, timeout=NEVER_S, check=True)

    assert told.stdout == b"(2, 0)\n"


def test_a_keeper_carries_the_mark_so_that_it_is_found(tag):
    with open_process(launch("sleep", "1000", tag=tag), keeper=True) as process:
        carries = tree._carries(process._child.adopter, process.mark.encode())
        process.cancel()

    assert carries
