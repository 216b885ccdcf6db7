"""The gate service as a process: its folders, its start, its end."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import Final, NamedTuple

from keisei.gate.build import COMPILERS, client_argv
from keisei.gate.canary import Said, prove
from keisei.gate.plan import Part as PlanPart
from keisei.gate.plan import PlanFile, new_token, write_plan
from keisei.records.error import KeiseiError, OperatorError, WorldFault
from keisei.records.launch import Launch
from keisei.rules.policy import Policy, as_data, policy_digest
from keisei.sandbox.process import run
from keisei.settings import Settings
from keisei.wiring.alone import judge_here
from keisei.wiring.gate import without_scripts
from keisei.wiring.sockets import runtime_folder

START_S: Final = 10.0
STOP_S: Final = 10.0
MARK: Final = "gate.json"


class Started(NamedTuple):
    """A running service, as `keisei gate start` prints it."""

    pid: int
    socket: str
    hook: tuple[str, ...]
    policy_digest: str
    log: str
    client_digest: str
    """Of the program at the head of `hook`; whoever spawns an agent checks it again with `gate.build.check`."""


class Order(NamedTuple):
    """What a service is started for."""

    policy: Policy
    harness: str
    attempt_id: str | None = None
    """The attempt it serves; allowances are then said aloud."""
    agents: Mapping[str, Policy] = MappingProxyType({})
    """Sub-agents with a policy of their own, by id or by kind."""
    compiled: bool = True
    """Whether the client is compiled where it can be."""


class Running(NamedTuple):
    """A service that was started earlier."""

    folder: Path
    pid: int
    socket: str
    born: str
    """The process's start time, so that another process with the same number is not taken for it."""


def start(settings: Settings, order: Order) -> Started:
    """Start a service for one policy. Raises OperatorError, WorldFault; nothing is left running then."""
    policy = order.policy
    if settings.state_home is None:
        raise OperatorError("there is no home folder for state", "set HOME, XDG_STATE_HOME or KEISEI_HOME")
    token = new_token()
    folder = runtime_folder(settings) / token[:8]
    folder.mkdir(mode=0o700)
    record = settings.state_home / "run" / f"gate-{token[:8]}"
    for each in (settings.state_home, record.parent, record):
        each.mkdir(mode=0o700, parents=True, exist_ok=True)
    client, digest = client_argv(settings.state_home / "client", COMPILERS if order.compiled else ())
    plan = PlanFile(
        policy=as_data(policy),
        digest=policy_digest(policy),
        log=str(record / "gate.jsonl"),
        explicit=order.attempt_id is not None,
        attempt_id=order.attempt_id,
        agents={name: PlanPart(as_data(each), policy_digest(each)) for name, each in order.agents.items()},
    )
    write_plan(folder / "plans", token, plan)
    socket = folder / "gate.sock"
    try:
        pid = spawn_service(folder).pid
    except (KeiseiError, OSError):
        clear_folder(folder)
        raise
    try:
        service = _mark(folder, pid, socket)
    except OSError as error:
        stop(Running(folder, pid, str(socket), _born(pid)))
        raise WorldFault(f"the gate service cannot be written down: {error.strerror}", "free some space") from error
    hook = (*client, str(socket), token, order.harness)
    try:
        prove(hook, run_hook, lambda call: judge_here().judge(call, without_scripts(policy)), policy.worktree)
    except KeiseiError:
        stop(service)
        raise
    return Started(pid, str(socket), hook, plan.digest, plan.log, digest)


def run_hook(argv: Sequence[str], text: bytes) -> Said:
    """Ask a hook command, as a harness does."""
    done = run(Launch(argv=tuple(argv), cwd="/", env={}, stdin=text, timeout_s=START_S))
    return Said(done.code, done.stdout, done.stderr)


def spawn_service(folder: Path, parent: int | None = None) -> "subprocess.Popen[bytes]":
    """A service that listens in this folder. Raises WorldFault where it does not start.

    With `parent`, the reading end of a pipe, it ends when nobody holds the other end any more.
    """
    read_end, write_end = os.pipe()
    argv = [sys.executable, "-I", "-m", "keisei", "gate", "serve", "--folder", str(folder), "--ready", str(write_end)]
    argv += [] if parent is None else ["--parent", str(parent)]
    with (folder / "service.log").open("wb") as log:
        process = subprocess.Popen(  # noqa: S603 - ourselves
            argv,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            pass_fds=(write_end,) if parent is None else (write_end, parent),
            start_new_session=True,
            cwd="/",
            env=_environment(),
        )
    os.close(write_end)
    os.set_blocking(read_end, False)
    ready = _is_ready(read_end)
    os.close(read_end)
    if not ready:
        process.kill()
        process.wait()
        said = (folder / "service.log").read_text(errors="replace").strip().split("\n")[0].removeprefix("error: ")
        raise WorldFault(f"the gate service does not start: {said or 'it gave no reason'}")
    if parent is None:
        process.returncode = 0  # it lives on; nobody waits for it here
    return process


def _environment() -> dict[str, str]:
    """What the service needs of its surroundings: nothing that changes what it judges."""
    kept = ("PATH", "HOME", "LANG", "XDG_STATE_HOME", "XDG_RUNTIME_DIR", "KEISEI_HOME")
    return {name: os.environ[name] for name in kept if name in os.environ}


def _is_ready(read_end: int) -> bool:
    """Whether the child says so in time; the end of the pipe means that it died."""
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline:
        try:
            return bool(os.read(read_end, 1))
        except BlockingIOError:
            time.sleep(0.005)
    return False


def _mark(folder: Path, pid: int, socket: Path) -> Running:
    service = Running(folder, pid, str(socket), _born(pid))
    path = folder / MARK
    path.touch(mode=0o600)
    path.write_text(json.dumps({"pid": pid, "socket": service.socket, "born": service.born}))
    return service


def _born(pid: int) -> str:
    """When a process was started, in the kernel's own words; empty where it is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""


def running(settings: Settings) -> Iterator[Running]:
    """Services of this user that run."""
    for path in sorted(runtime_folder(settings).glob(f"*/{MARK}")):
        try:
            told = json.loads(path.read_text())
            each = Running(path.parent, int(told["pid"]), str(told["socket"]), str(told["born"]))
        except (OSError, ValueError, KeyError, TypeError):
            continue
        if each.born and _born(each.pid) == each.born:
            yield each


def stop(service: Running) -> None:
    """End a service and remove its folder. Raises WorldFault where it does not end."""
    os.kill(service.pid, signal.SIGTERM)
    deadline = time.monotonic() + STOP_S
    while _born(service.pid) == service.born and not _is_zombie(service.pid):
        if time.monotonic() > deadline:
            raise WorldFault(f"the gate service {service.pid} does not end")
        time.sleep(0.005)
    clear_folder(service.folder)


def clear_folder(folder: Path) -> None:
    """Remove what a service leaves in its folder, and the folder."""
    plans = folder / "plans"
    for path in (*plans.glob("*"), folder / "service.log", folder / "gate.sock", folder / MARK):
        path.unlink(missing_ok=True)
    for each in (plans, folder):
        with suppress(OSError):
            each.rmdir()


def stop_started(started: Started) -> None:
    """End a service that this process has started."""
    stop(Running(Path(started.socket).parent, started.pid, started.socket, _born(started.pid)))


def _is_zombie(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (OSError, IndexError):
        return True
