"""Trees: everything a program started, found in /proc and ended.

A process belongs to the tree when it carries the tree's mark in its environment, has a parent in the tree, shares a
session with it, or was seen in it before. Children in other groups and sessions, orphans, daemons that forked twice
and processes that ignore TERM are found that way. What scrubs its environment and leaves the session and loses its
parent before anybody looks is found only where a keeper adopts it. What changes its user (sudo) may be found and not
be killed; it is counted as left.

A process is signalled through a descriptor that was opened before its start time was read again, so that a number
that now belongs to somebody else is never hit. Its group is killed with it, in the same moment it is seen: a group
lies inside a session, and a session that began in the tree holds nobody else.
"""

import os
import re
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import NamedTuple

MARK = "KEISEI_TREE"
"""The variable that carries the mark, behind those of the trees around it, with blanks between them."""

_NAME = f"{MARK}=".encode()
_WORD = re.compile(r"[A-Za-z0-9_.:-]{16,128}")
_KERNEL_THREAD = 0x00200000
_ROUNDS = 50
_PAUSE_S = (0.0005, 0.02)


class Seen(NamedTuple):
    """One process, as /proc tells it."""

    pid: int
    parent: int
    group: int
    session: int
    start: int
    """Clock ticks since boot; with the pid it names a process for good."""
    dead: bool
    """Nothing is left of it but its number. A process whose first thread ended and whose others run is not dead."""


class Swept(NamedTuple):
    """What ending a tree took."""

    killed: int
    left: int


def end_marked(mark: str, limit_s: float = 5.0) -> Swept:
    """End every process that carries the mark, with its children and its session, whoever started it.

    For the tree of an owner that is known to be dead: a living one would lose its tree. Gives up after the limit and
    says how many are left. Raises ValueError where the mark is none.
    """
    word = checked(mark).encode()
    seen = [each for batch in everyone() for each in batch if not each.dead and each.pid != os.getpid()]
    since = min((each.start for each in seen if _carries(each.pid, word)), default=None)
    return Swept(0, 0) if since is None else Tree(mark, 0, since=since).end(limit_s)


def checked(mark: str) -> str:
    """The mark. Raises ValueError where it is not one word that is long enough to be nobody else's."""
    if not _WORD.fullmatch(mark):
        message = f"a mark is one word of 16 to 128 letters, digits and `_.:-`, not {mark!r}"
        raise ValueError(message)
    return mark


def look(pid: int) -> Seen | None:
    """The process with this number, or None where there is none."""
    text = _read(f"/proc/{pid}/stat", whole=False)
    if not text:
        return None
    words = text[text.rindex(b")") + 2 :].split()
    if int(words[6]) & _KERNEL_THREAD:
        return None
    dead = words[0] in b"ZXx" and int(words[17]) <= 1
    return Seen(pid, int(words[1]), int(words[2]), int(words[3]), int(words[19]), dead)


def everyone() -> Iterator[list[Seen]]:
    """All processes: first those there are, then, one by one, those born meanwhile.

    The newborn are told the moment they are seen, so that one that forks and ends, again and again, cannot keep ahead.
    """
    asked = set(_pids())
    yield [seen for pid in sorted(asked) if (seen := look(pid))]
    for _ in range(_ROUNDS):
        born = [pid for pid in _pids() if pid not in asked]
        if not born:
            return
        asked.update(born)
        for pid in born:
            if seen := look(pid):
                yield [seen]


class Tree:
    """The processes of one launch.

    `root` must not be reaped while the tree is in use: its number is also the number of its session and its group, and
    it cannot be given to somebody else as long as the dead process is still there.
    """

    def __init__(self, mark: str, root: int, adopter: int | None = None, *, since: int | None = None) -> None:
        """A tree by its mark, its first process and, where there is one, the keeper that adopts its orphans.

        Where the first process is not known (0), nothing that started before `since` is of the tree.
        """
        self.mark = mark
        self._word = mark.encode()
        self._root = root
        self._adopter = adopter
        # Where somebody else has buried it already, nothing older than ourselves can be of the tree.
        first = look(root) or look(os.getpid())
        self._since = since if since is not None else first.start if first else 0
        self._known = {(root, self._since)}
        self._strangers: set[tuple[int, int]] = set()

    def living(self) -> list[Seen]:
        """Every process of the tree that is alive now, the first one too."""
        return self._walk()

    def ask(self) -> None:
        """Ask every process of the tree to end."""
        for each in self.living():
            _signal(each, signal.SIGTERM)

    def end(self, limit_s: float) -> Swept:
        """Kill the tree until nothing of it is left, new children too. Gives up after the limit and says how many."""
        killed: set[tuple[int, int]] = set()

        def strike(members: list[Seen], groups: set[int]) -> None:
            killed.update((each.pid, each.start) for each in members if _signal(each, signal.SIGKILL))
            # One signal for a whole group, which no fork slips through: a process that has ended meanwhile may have
            # left a child in its place.
            for group in groups:
                _kill_group(group)

        until, (pause, longest) = time.monotonic() + limit_s, _PAUSE_S
        while (alive := self._walk(strike)) and time.monotonic() < until:
            time.sleep(pause)
            pause = min(pause * 2, longest)
        return Swept(len(killed - {(self._root, self._since)}), len(alive))

    def _walk(self, strike: Callable[[list[Seen], set[int]], None] = lambda _members, _groups: None) -> list[Seen]:
        """The living processes of the tree. Each is struck, with its group, the moment it is known to be in it."""
        first = look(self._root)
        held = first is not None and first.start == self._since
        members: dict[int, Seen] = {}
        rest: dict[int, Seen] = {}
        # A session that holds anything older than the tree is somebody else's: a daemon outside (at, tmux) may have
        # been handed our environment, and must not be taken for ours.
        foreign = {os.getsid(0)}
        for batch in everyone():
            foreign |= {each.session for each in batch if each.start < self._since}
            rest |= {each.pid: each for each in batch if self._may_be_ours(each)}
            fresh = {each.pid: each for each in batch if each.pid in rest and self._is_ours(each, held=held)}
            while fresh:
                members |= fresh
                rest = {pid: each for pid, each in rest.items() if pid not in fresh}
                self._known.update((each.pid, each.start) for each in fresh.values())
                alive = [each for each in fresh.values() if not each.dead]
                strike(alive, {each.group for each in alive if each.session not in foreign})
                sessions = {each.session for each in members.values()} - foreign
                fresh = {p: each for p, each in rest.items() if each.parent in members or each.session in sessions}
        self._bury(members.values())
        return [each for each in members.values() if not each.dead]

    def _bury(self, members: Iterable[Seen]) -> None:
        """Where we are init, or a subreaper, orphans are ours to bury."""
        for each in members:
            if each.dead and each.parent == os.getpid() and each.pid != self._root:
                with suppress(ChildProcessError):
                    os.waitpid(each.pid, os.WNOHANG)

    def _may_be_ours(self, seen: Seen) -> bool:
        return seen.start >= self._since and seen.pid not in {os.getpid(), self._adopter}

    def _is_ours(self, seen: Seen, *, held: bool) -> bool:
        name = (seen.pid, seen.start)
        if name in self._known or (self._adopter is not None and seen.parent == self._adopter):
            return True
        if held and seen.session == self._root:
            return True
        if name in self._strangers:
            return False
        ours = _carries(seen.pid, self._word)
        if not ours:
            self._strangers.add(name)
        return ours


def _carries(pid: int, mark: bytes) -> bool:
    """Whether a process has the mark in the environment it was started with."""
    for _ in range(20):
        told = _environment(pid)
        if told is None:
            return False
        if told:
            return _has(told, mark)
        # Empty: it has no environment, or it is in the middle of an exec, where it has no arguments either.
        if _read(f"/proc/{pid}/cmdline") != b"":
            return _has(_environment(pid) or b"", mark)
        time.sleep(_PAUSE_S[0])
    return False


def _has(environment: bytes, mark: bytes) -> bool:
    """Whether the mark is a word of our variable: another that only begins like it is somebody else's."""
    ours = (entry for entry in environment.split(b"\0") if entry.startswith(_NAME)) if mark in environment else ()
    return any(mark in entry.removeprefix(_NAME).split(b" ") for entry in ours)


def _environment(pid: int) -> bytes | None:
    told = _read(f"/proc/{pid}/environ")
    if told:
        return told
    try:
        threads = os.listdir(f"/proc/{pid}/task")  # noqa: PTH208 - names are all that is wanted, quickly
    except OSError:
        return None
    others = (_read(f"/proc/{pid}/task/{thread}/environ") for thread in threads if thread != str(pid))
    return next((text for text in others if text), told)


def _kill_group(group: int) -> None:
    """Kill a group in which a process of the tree was seen a moment ago."""
    if group > 1 and group != os.getpgrp():
        with suppress(OSError):  # nobody is left in it, or it may not be signalled
            os.killpg(group, signal.SIGKILL)


def _signal(seen: Seen, number: signal.Signals) -> bool:
    """Signal this process and no other. False where it is gone, or may not be signalled."""
    try:
        handle = os.pidfd_open(seen.pid)
    except OSError:
        return False
    try:
        now = look(seen.pid)
        if now is None or now.start != seen.start or now.dead:
            return False
        signal.pidfd_send_signal(handle, number)
    except OSError:
        return False
    finally:
        os.close(handle)
    return True


def _pids() -> Iterator[int]:
    return (int(name) for name in os.listdir("/proc") if name.isdecimal())  # noqa: PTH208 - as above


def _read(path: str, *, whole: bool = True) -> bytes | None:
    try:
        handle = os.open(path, os.O_RDONLY)
    except OSError:
        return None
    try:
        text = os.read(handle, 65_536)
        while whole and (more := os.read(handle, 65_536)):
            text += more
    except OSError:
        return None
    finally:
        os.close(handle)
    return text
