"""A project whose runner, keeper, gate and harness are killed at a known point, and what must hold afterwards.

The runner is the installed program in a surrounding of its own. It is brought to a point by what is around it: the
model that thinks, a command that sleeps, a gate that is stopped; inside the runner by `halt/sitecustomize.py`. So
nothing goes on while the victim is chosen and killed, and the work on the disk by then is known.
"""

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple

from keisei.records.attempt import TaskAttempt
from keisei.rules.chain import broken_at
from keisei.rules.ledger import first_broken
from keisei.sandbox.group import ROOT as CGROUPS
from keisei.sandbox.tree import look
from keisei.testing.model import Request, Turn
from keisei.wiring.gc import leftovers
from keisei.wiring.leftover import premises
from tests.system.agency import Agency, answer, git
from tests.system.harness import program

PATIENCE_S = 60.0
GOING_S = 10.0
"""How long something that is killed may take to be gone."""
FILES = ("src/one.txt", "src/two.txt", "src/three.txt")
"""What the agent writes, one with each call."""
HALT = Path(__file__).with_name("halt")
STANDIN = Path(__file__).with_name("standin.py")


class Plot:
    """The model's script: a file with each call, then an answer. Until the kill it stops where the case says."""

    def __init__(self, *, hold: int | None = None, amid: int | None = None, linger: bool = False) -> None:
        """`hold`: think before this turn. `amid`: this call does not end. `linger`: the harness does not."""
        self._hold, self._amid, self._linger = hold, amid, linger
        self.reached = threading.Event()
        self._go = threading.Event()
        self._free = False

    def __call__(self, request: Request) -> Turn:
        turn = len(request.results)
        if not self._free and turn == self._hold and not self.reached.is_set():
            self.reached.set()
            self._go.wait(PATIENCE_S)
        if turn >= len(FILES):
            summary = "linger" if self._linger and not self._free else "done"
            return answer(*FILES, operator_summary=summary)
        path = FILES[turn]
        more = " && sleep 600" if turn == self._amid and not self._free else ""
        return {"tool": "Bash", "input": {"command": f"echo {path} > {path}{more}"}}

    def go_on(self) -> None:
        """Think no longer, and stop nowhere else: this call may end."""
        self._go.set()

    def free(self) -> None:
        """From now on nothing stops."""
        self._free = True
        self._go.set()


class House(Agency):
    """A project with one agent: the stand-in, or the real Claude Code."""

    def __init__(self, folder: Path, model: Any, *, real: bool, project: str = "") -> None:
        self.program = Path(program("claude")) if real else folder / "bin" / "claude"
        self.flags = folder / "flags"
        self.flags.mkdir()
        self.runners: list[subprocess.Popen[bytes]] = []
        if not real:
            self.program.parent.mkdir()
            shutil.copy(STANDIN, self.program)
            self.program.chmod(0o755)
        files = {".gitignore": "__pycache__/\n/made/\n"}
        super().__init__(folder, model, project=project, files=files)

    def _adapter(self, keys: Path, more: str) -> str:
        del more
        return (
            f'[adapters.agent]\nkind = "claude-code"\ncommand = "{self.program}"\ntimeout_ms = 90000\n'
            f'env_file = "{keys}"\n[adapters.agent.env]\nANTHROPIC_BASE_URL = "{self.model.url}"\n'
        )

    def start(self, halt: str | None = None) -> "subprocess.Popen[bytes]":
        """A runner that stays until nothing is left to do."""
        env = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder / "home"),
            "KEISEI_HOME": str(self.folder / "state"),
            "XDG_RUNTIME_DIR": str(self.folder / "run"),
        }
        if halt is not None:
            env |= {"PYTHONPATH": str(HALT), "HALT": halt, "HALT_FOLDER": str(self.flags)}
        with (self.folder / "runner.log").open("ab") as log:
            argv = [str(Path(sys.executable).with_name("keisei")), "runner", "--until-idle", "--jobs", "1"]
            runner = subprocess.Popen(
                argv, cwd=self.root, env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )
        self.runners.append(runner)
        return runner

    def log(self) -> str:
        return (self.folder / "runner.log").read_text(errors="replace")

    # --- the living -----------------------------------------------------------------------------------------------

    def tree(self) -> list["Seen"]:
        """The runner and everything below it, as far as it lives."""
        found = {self.runners[-1].pid}
        living = list(everyone())
        while more := {each.pid for each in living if each.parent in found} - found:
            found |= more
        return [each for each in living if each.pid in found]

    def keeper(self) -> int | None:
        """The keeper that runs now."""
        return next((each.pid for each in self.tree() if b"keeper.py" in b" ".join(each.argv[:5])), None)

    def gate(self) -> int | None:
        return next((each.pid for each in self.tree() if b"serve" in each.argv), None)

    def harness(self) -> int | None:
        """The harness itself, neither its sandbox nor what it has started."""
        name = os.fsencode(self.program)
        return next((each.pid for each in self.tree() if name in each.argv[:3]), None)

    def asking(self) -> bool:
        """Whether a hook is asking the gate."""
        return any(b"gate.sock" in word for each in self.tree() for word in each.argv[:4] if b"serve" not in each.argv)

    def left(self, marks: list[str]) -> list["Seen"]:
        """Processes of this test, wherever they hide: by folder in argument, environment and place, and by mark."""
        words = [os.fsencode(self.folder), *(each.encode() for each in marks)]
        return [each for each in everyone() if each.pid != os.getpid() and any(word in each.all() for word in words)]

    # --- the disk -------------------------------------------------------------------------------------------------

    def written(self) -> dict[str, str]:
        """What the agent has written so far."""
        found = [each for each in self.shop.yard.worktrees.glob("a*/src/*.txt") if each.name != "old.txt"]
        return {f"src/{each.name}": each.read_text().strip() for each in found}

    def kept(self, attempt: TaskAttempt) -> dict[str, str]:
        """What is kept of an attempt, as a candidate or as salvage."""
        names = [f"refs/keisei/{kind}/{attempt.attempt_id}" for kind in ("salvage", "candidate")]
        found: dict[str, str] = {}
        for ref in (name for name in names if name in self.refs()):
            found |= {path: git(self.root, "show", f"{ref}:{path}") for path in self._changes(ref)}
        return found

    def _changes(self, ref: str) -> list[str]:
        return git(self.root, "diff", "--name-only", f"{ref}~1", ref).splitlines()

    def trouble(self) -> Iterator[str]:
        """Everything that is left and should not be."""
        facts = self.shop.yard.facts()
        slots = [*self.shop.yard.pool(facts).slots(), *self.shop.yard.proving(facts).slots()]
        yield from (f"slot {each.name} is not free" for each in slots if each.locked or each.attempt is not None)
        there = {str(self.root), *(each.path for each in slots if Path(each.path).is_dir())}
        listed = git(self.root, "worktree", "list", "--porcelain").splitlines()
        yield from (line for line in listed if line.startswith("worktree ") and line[9:] not in there)
        yield from (line for line in listed if line.startswith(("prunable", "locked")))
        yield from (f"{each} is left" for each in self.home.run.iterdir())
        ours = tuple(f"keisei-{each.pid}-" for each in self.runners)
        yield from (f"{each} is left" for each in CGROUPS.rglob("keisei-*") if each.name.startswith(ours))
        yield from (f"{ref} keeps nothing" for ref in self.refs() if "/salvage/" in ref and not self._changes(ref))
        yield from self._left_to_collect()
        broken = first_broken(self.store.rows())
        yield from () if broken is None else (f"the ledger is broken: {broken}",)

    def _left_to_collect(self) -> Iterator[str]:
        """What nobody removes, not even `keisei gc` when everything is over for a while."""
        for each in self.settings.runtime_home.iterdir():
            os.utime(each, (0, 0))
        around = premises(self.settings, self.home, self.store, "test")
        for each in leftovers(around._replace(now=around.now + timedelta(minutes=5))):
            if each.kind == "socket":
                each.remove()
            else:
                yield f"{each.kind} {each.name} is left to gc: {each.reason}"
        for each in self.settings.runtime_home.iterdir():
            if not each.name.startswith("bell-") or list(each.iterdir()):  # the project's own, which is empty by now
                yield f"{each} is left"

    def gate_log(self, attempt: TaskAttempt) -> list[dict[str, Any]]:
        """The calls that were decided upon; the chain of the log holds."""
        lines = self.evidence(attempt, "gate.jsonl").splitlines(keepends=True)
        assert broken_at(lines) is None
        return self.decisions(attempt)

    def end(self) -> None:
        """End whatever is still there: where the test has failed, that may be anything, and a gate may be stopped."""
        for runner in self.runners:
            runner.kill()
            runner.wait()
        for each in self.left([]):
            with suppress(ProcessLookupError):
                os.kill(each.pid, signal.SIGKILL)
        self.close()


class Seen(NamedTuple):
    """One process."""

    pid: int
    born: str
    parent: int
    argv: list[bytes]
    environment: bytes
    cwd: bytes

    def all(self) -> bytes:
        return b" ".join((*self.argv, self.environment, self.cwd))


def everyone() -> Iterator[Seen]:
    """All living processes that may be looked at."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError, IndexError):
                words = (entry / "stat").read_text(errors="replace").rpartition(")")[2].split()
                if words[0] not in "ZX":
                    argv = (entry / "cmdline").read_bytes().split(b"\0")[:-1]
                    yield Seen(int(entry.name), words[19], int(words[1]), argv, *_closer(entry))


def _closer(entry: Path) -> tuple[bytes, bytes]:
    """The environment and the folder of a process, as far as they may be seen."""
    environment = cwd = b""
    with suppress(OSError):
        environment = (entry / "environ").read_bytes()
        cwd = os.fsencode((entry / "cwd").readlink())
    return environment, cwd


def kill(pid: int) -> None:
    """Kill a process, and wait until all of its threads are dead."""
    os.kill(pid, signal.SIGKILL)
    until(lambda: (found := look(pid)) is None or found.dead)


def until(holds: Callable[[], Any]) -> None:
    """Wait for something that comes."""
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline, "it did not come in time"
        time.sleep(0.01)


def last(look: Callable[[], list[Any]]) -> list[Any]:
    """What is left when it had time to go."""
    deadline = time.monotonic() + GOING_S
    while (found := look()) and time.monotonic() < deadline:
        time.sleep(0.01)
    return found
