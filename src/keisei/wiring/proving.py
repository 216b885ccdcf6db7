"""The proving ground: a command runs on a clean checkout of one tree, confined, without secrets, to its end.

What ran before it leaves nothing behind: every command begins with the tree, the project's environment and nothing
else. The slots of the pool are nobody's work; one whose process was killed is simply free again.
"""

import hashlib
import os
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from keisei.records.confinement import Confinement, Level, Limits
from keisei.records.error import WorldFault
from keisei.records.launch import Exit, Launch
from keisei.records.project import ProjectVerification
from keisei.records.verification import CommandRun
from keisei.records.worktree import RepositoryFacts, Worktree
from keisei.rules.predicate.gap import gap
from keisei.sandbox.confine import confine
from keisei.sandbox.process import open_process
from keisei.sandbox.reach import program_reads
from keisei.sandbox.stream import OnOutput
from keisei.wiring.confinement import MB, hidden, history, toolchains
from keisei.wiring.environments import check_ignored, environment_key, equip
from keisei.wiring.execute import Hold
from keisei.wiring.shop import Shop
from keisei.wiring.store import make_folder
from keisei.wiring.surroundings import passed_on
from keisei.wiring.yard import Yard
from keisei.workspace.checkout import DIFFERENT
from keisei.workspace.environment import Environments
from keisei.workspace.git import Private
from keisei.workspace.name import spelled
from keisei.workspace.removal import remove

CACHES: Final = "caches"
"""The folder of the state in which they are kept."""
HEAD: Final = 65_536
TAIL: Final = 1_048_576
"""Bytes of an output that are kept: its beginning, and its end, where results stand."""
CHANGED: Final = 20
"""Changed files that are named."""


class Work(NamedTuple):
    """What is run, and what it may read beside the tree."""

    argv: tuple[str, ...]
    command: str
    """As people know it."""
    timeout_s: float
    env: Mapping[str, str] = {}
    reads: tuple[str, ...] = ()
    stdin: bytes | None = None
    strict: bool = False
    """New files count as changes too."""


def shell(command: str, timeout_s: float) -> Work:
    """A command as `/bin/sh` runs it, both streams in one. It finds what an agent finds, and no other programs."""
    return Work(("/bin/sh", "-c", f"exec 2>&1\n{command}"), command, timeout_s)


class Proving:
    """Where one candidate is proved. One thread uses it; everything it started has ended when a call returns."""

    def __init__(self, shop: Shop, yard: Yard, facts: RepositoryFacts, owner: str, folder: Path, hold: Hold) -> None:  # noqa: PLR0913, PLR0917 - where, for whom, held by what
        """`folder` is made for this and is gone afterwards."""
        self._shop, self._yard, self._facts = shop, yard, facts
        self._owner, self._folder, self._hold = owner, folder, hold
        own = shop.home.file.verification or ProjectVerification()
        self.network, self._cached = own.network, own.caches
        self._caches = Environments(shop.home.folder / CACHES)

    @property
    def level(self) -> Level:
        """How surely commands are confined here."""
        return self._yard.level_now(self.network)

    def environment(self, commit: str, tip: str) -> str:
        """What the project's environment of a commit is called; empty where the project has none."""
        key = environment_key(self._shop, self._yard, self._facts, commit)
        if key is None:
            return ""
        return key if key == environment_key(self._shop, self._yard, self._facts, tip) else f"{key}:{commit}"

    def has_own_environment(self, commit: str, tip: str) -> bool:
        """Whether an environment would have to be made of what the commit itself brings, which takes the network."""
        return self.environment(commit, tip) != self.environment(tip, tip)

    def run(self, work: Work, commit: str, tree: str, tip: str) -> CommandRun:
        """Run it on a clean checkout of a commit. Raises WorldFault where it cannot be run at all.

        Where the project names caches, main fills them first, and every run begins with what main has left there.
        """
        key = self._cache_key(work, tip)
        if key is not None and commit != tip and self._caches.find(key) is None:
            self.run(work, tip, tree, tip)
        with self.checkout(commit, tip) as worktree:
            found = self._caches.find(key) if key is not None else None
            if found is not None:
                check_ignored(worktree, self._cached, "[verification] caches")
                self._caches.give(found, Path(worktree.path))
            done = self.run_in(work, worktree, tree)
            if key is not None and found is None and commit == tip and done.code == 0:
                self._keep_caches(key, worktree)
            return done

    def _cache_key(self, work: Work, tip: str) -> str | None:
        """What the caches of a command are called, anew every week; None where the project names none."""
        if not self._cached:
            return None
        now = self._shop.store.now().isocalendar()
        parts = ("caches", f"{now.year} {now.week}", work.command, self.environment(tip, tip), *self._cached)
        return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()

    def _keep_caches(self, key: str, worktree: Worktree) -> None:
        check_ignored(worktree, self._cached, "[verification] caches")
        there = [each for each in self._cached if Path(worktree.path, each).is_dir()]
        if there:
            self._caches.build(key, Path(worktree.path), there, lambda: None)

    @contextmanager
    def checkout(self, commit: str, tip: str, part: str = "") -> Iterator[Worktree]:
        """A clean checkout of a commit, with the project's environment, as long as the block runs.

        An environment that main has is only ever made on main; a candidate that changes what it is made from gets one
        of its own, which nobody else is given.
        """
        scope = ""
        if self._shop.home.file.environment is not None:
            here, main = (environment_key(self._shop, self._yard, self._facts, each) for each in (commit, tip))
            scope = "" if here == main else f"candidate {commit}"
            if commit != tip and not scope and self._yard.environments.find(main or "") is None:
                with self.checkout(tip, tip, "-main"):
                    pass
        leased = self._yard.proving(self._facts).take(f"{self._owner}{part}", commit)
        try:
            equip(self._shop, self._yard, self._facts, leased.worktree, self._folder / "setup", self._hold, scope)
            yield leased.worktree
        finally:
            leased.release(reusable=self.level == "full")

    def run_in(self, work: Work, worktree: Worktree, tree: str) -> CommandRun:
        """Run it in a checkout that somebody has. Raises WorldFault."""
        scratch = self._folder / "scratch"
        for each in (self._folder, scratch, scratch / "home", scratch / "tmp", scratch / "pycache"):
            make_folder(each)
        own = {
            "HOME": str(scratch / "home"),
            "TMPDIR": str(scratch / "tmp"),
            "PYTHONPYCACHEPREFIX": str(scratch / "pycache"),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_OPTIONAL_LOCKS": "0",
        }
        env = passed_on() | own | dict(work.env)
        launch = Launch(argv=work.argv, cwd=worktree.path, env=env, stdin=work.stdin, timeout_s=work.timeout_s)
        kept = _Kept()
        began = time.monotonic()
        try:
            done = self._held(launch, self._bounds(work, worktree, scratch), kept.add)
        finally:
            remove(scratch)
        return CommandRun(
            command=work.command,
            tree=tree,
            code=None if done.timed_out else done.code,
            timed_out=done.timed_out,
            output=kept.text(),
            changed=changed(worktree, strict=work.strict),
            duration_ms=(time.monotonic() - began) * 1000,
        )

    def _held(self, launch: Launch, bounds: Confinement, on_output: OnOutput | None = None) -> Exit:
        """How it ended. Raises WorldFault where somebody else ended it."""
        confined = confine(launch, bounds, self._yard.machine, "none")
        hold = self._hold
        try:
            with open_process(confined.launch, lease_s=hold.left_s(), mark=hold.mark, on_output=on_output) as process:
                hold.switch.attach(process)
                try:
                    done = process.wait()
                finally:
                    hold.switch.attach(None)
        finally:
            confined.close()
        if done.canceled or done.lease_lost:
            raise WorldFault("the verification was ended from outside", retryable=True)
        return done

    def _bounds(self, work: Work, worktree: Worktree, scratch: Path) -> Confinement:
        """It may write its checkout and its own folder, and read those, the system and the project's toolchains.

        Landlock closes a file only by closing its folder to new ones, and checks make new ones. Nobody reads the
        checkout's `.git` after them, and a checkout that was not fully confined is not used again.
        """
        reads = [worktree.path, *work.reads, *toolchains(self._yard.sandbox, self._yard.private())]
        swaps = history(worktree, self._folder, reads)
        memory = self._yard.sandbox.memory_mb
        return Confinement(
            write=(worktree.path, os.path.realpath(scratch)),
            protect=(f"{worktree.path}/.git",) if self.level == "full" else (),
            read=tuple(dict.fromkeys(os.path.realpath(each) for each in reads if os.path.lexists(each))),
            out=tuple(dict.fromkeys(os.path.realpath(each) for each in self._yard.private())),
            hide=hidden(self._yard.private(), worktree),
            replace=swaps,
            network=self.network,
            limits=Limits(processes=self._yard.sandbox.processes, memory_bytes=None if memory is None else memory * MB),
        )

    def child(self, argv: tuple[str, ...], given: bytes, timeout_s: float) -> bytes:
        """What a program of ours says of what it is given, confined: it writes nothing and reads its own code.

        Raises WorldFault where it says nothing.
        """
        make_folder(self._folder)
        package = str(Path(__file__).resolve().parents[1])
        reads = (*program_reads(sys.executable, ""), *program_reads(sys.executable, passed_on().get("PATH", "")))
        bounds = Confinement(
            read=tuple(dict.fromkeys(os.path.realpath(each) for each in (*reads, package, *_site_folders()))),
            limits=Limits(processes=64, memory_bytes=None if self._yard.machine.cgroup is None else 1024 * MB),
        )
        env = {"PATH": os.defpath, "LANG": "C.UTF-8", "HOME": "/nonexistent"}
        launch = Launch(argv=argv, cwd="/", env=env, stdin=given, timeout_s=timeout_s, output_cap=64 * MB)
        done = self._held(launch, bounds)
        if done.code != 0 or done.stdout_truncated:
            said = done.stderr.decode("utf-8", "replace").strip().splitlines()
            how = "it ran out of time" if done.timed_out else said[-1] if said else f"exit {done.code}"
            raise WorldFault(f"`{argv[-1]}` failed: {how}", retryable=True)
        return done.stdout


def _site_folders() -> tuple[str, ...]:
    return tuple(each for each in sys.path if each and Path(each).is_dir())


def _real(path: str) -> str:
    return os.path.realpath(os.path.expanduser(path))  # noqa: PTH111 - text


def changed(worktree: Worktree, *, strict: bool) -> tuple[str, ...]:
    """Files of a checkout that are not as its commit has them; `strict`: those too that are new and not ignored."""
    private = Private(Path(f"{worktree.path}.git"), worktree.path, worktree.common_dir, worktree.base)
    told = b""
    if private.ask(*DIFFERENT).code != 0:
        private.ask("update-index", "-q", "--refresh")  # what was only touched is no change
        told = private.git("diff-files", "--name-only", "-z", "--ignore-submodules=all")
    if strict:
        told += private.git("ls-files", "--others", "--exclude-standard", "-z")
    names = [spelled(each) for each in told.split(b"\0") if each]
    more = len(names) - CHANGED
    return (*names[:CHANGED], f"and {more} more") if more > 0 else tuple(names)


class _Kept:
    """The beginning and the end of an output."""

    def __init__(self) -> None:
        self._head, self._tail, self._lost = bytearray(), bytearray(), 0

    def add(self, _name: str, piece: bytes) -> None:
        """One more piece."""
        room = HEAD - len(self._head)
        if room > 0:
            self._head += piece[:room]
            piece = piece[room:]
        self._tail += piece
        over = len(self._tail) - TAIL
        if over > TAIL:
            self._cut(over)

    def _cut(self, over: int) -> None:
        del self._tail[:over]
        self._lost += over

    def text(self) -> str:
        """What is kept, with a line where something is missing."""
        over = len(self._tail) - TAIL
        if over > 0:
            self._cut(over)
        between = f"\n{gap(self._lost)}\n".encode() if self._lost else b""
        return (bytes(self._head) + between + bytes(self._tail)).decode("utf-8", "replace")
