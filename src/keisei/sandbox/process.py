"""Processes: a Launch is run to its end, and its whole tree ends with it.

`run` returns when the program ends or its time is up, whoever still holds its output open. Then everything it started
is killed. How surely, has three levels, told by `Exit.level`:

mark    catches children in any group or session, orphans, double-forked daemons, processes that ignore TERM, fork
        bombs. Costs one look through /proc. Misses a process that scrubs its environment AND leaves the session AND
        loses its parent before the look. If this process is killed (-9), the tree goes on.
keeper  catches that one too: a small parent adopts every orphan, and kills the tree when this process is gone, or
        when a lease is not renewed in time, even if this process is stopped. Costs the start of an interpreter. A
        hostile tree of the same user can kill its keeper; what is left then is `mark`, and the exit code is unknown.
namespace  catches everything: a confined launch in a pid namespace of its own, which the kernel ends with its first
        process, and that with the keeper. Nobody inside can reach the keeper.

What is left of a tree whose owner and keeper were both killed is ended by `tree.end_marked`, if its mark is known.

Neither stops a tree from asking somebody outside it (docker, systemd, at) to start something: that is confinement.
"""

import math
import os
import secrets
import selectors
import threading
import time
from datetime import UTC, datetime
from types import TracebackType
from typing import Self

from keisei.records.error import WorldFault
from keisei.records.launch import Exit, Launch
from keisei.sandbox.child import Child
from keisei.sandbox.start import start
from keisei.sandbox.stream import Name, OnOutput, Stream
from keisei.sandbox.tree import MARK, Tree, checked

_SWEEP_S = 5.0
_DRAIN_S = 1.0
_TURN_S = 60.0
_PIECE = 65_536


def run(launch: Launch, *, keeper: bool = False) -> Exit:
    """Run a program to its end or its deadline. Raises WorldFault with one sentence where it cannot be started.

    Safe in many threads at once. When it returns or raises, nothing of the tree is running (see `Exit.survivors_left`).
    """
    with open_process(launch, keeper=keeper) as process:
        return process.wait()


def open_process(  # noqa: PLR0913 - each says one thing, and most calls say none
    launch: Launch,
    *,
    keeper: bool = False,
    lease_s: float | None = None,
    mark: str | None = None,
    on_output: OnOutput | None = None,
    keep_stdin: bool = False,
) -> "Process":
    """Start a program and hand it over; use it as a context manager. Raises WorldFault where it cannot be started.

    With `keep_stdin` standard input stays open for `write` until `close_stdin`. With `lease_s`, which brings a keeper,
    the tree is killed that long from now, by the keeper and without us, unless `renew` says otherwise. `mark` is one
    word that no other tree has (ValueError where it is not), by which `tree.end_marked` finds the tree; None makes one.
    """
    mark = secrets.token_hex(16) if mark is None else checked(mark)
    # A keisei inside a tree keeps the outer mark as well, so that the outer sweep finds what the inner one lost.
    marks = " ".join(filter(None, (os.environ.get(MARK), mark)))
    env, stdin = {**launch.env, MARK: marks}, keep_stdin or launch.stdin is not None
    try:
        child = start(launch, env, stdin=stdin, keeper=keeper, lease_s=lease_s)
    except BaseException:
        if keeper or lease_s is not None:
            # The program may be running already, and have killed its keeper before that could say so.
            Tree(mark, 0).end(_SWEEP_S)
        raise
    tree = Tree(mark, child.pid, child.adopter)
    try:
        return Process(launch, child, tree, on_output, keep_stdin=keep_stdin)
    except BaseException as error:
        tree.end(_SWEEP_S)
        child.close()
        if isinstance(error, OSError):
            message = f"`{launch.argv[0]}` could not be watched: {error.strerror}"
            raise WorldFault(message, retryable=True) from error
        raise


class Process:
    """A running program with its pipes, its deadlines and its tree.

    One thread drives it; any thread may `cancel` and `renew`.
    """

    def __init__(
        self,
        launch: Launch,
        child: Child,
        tree: Tree,
        on_output: OnOutput | None,
        *,
        keep_stdin: bool,
    ) -> None:
        self._launch, self._child, self._tree, self._on_output = launch, child, tree, on_output
        self._began = time.monotonic()
        self._started_at = datetime.now(UTC)
        self._deadline = self._began + launch.timeout_s
        self._heard = self._began
        self._kept = {"stdout": Stream(launch.output_cap), "stderr": Stream(launch.output_cap)}
        self._unsent = bytearray(launch.stdin or b"")
        self._keep_stdin = keep_stdin
        self._ended = self._timed_out = self._silent = self._lease_lost = self._canceled = False
        self._exit: Exit | None = None
        self._bell_lock = threading.Lock()
        self._bell: int | None = os.eventfd(0)
        self._selector = selectors.PollSelector()
        self._selector.register(self._bell, selectors.EVENT_READ, self._note_cancel)
        self._selector.register(child.ended, selectors.EVENT_READ, self._note_end)
        self._listen("stdout")
        self._listen("stderr")
        if child.popen.stdin is not None:
            os.set_blocking(child.popen.stdin.fileno(), False)
            self._offer()

    @property
    def pid(self) -> int:
        """The program's number. It is not given to another process before `wait` returns, or its lease is lost."""
        return self._child.pid

    @property
    def mark(self) -> str:
        """The word by which `tree.end_marked` finds the tree, should this process die."""
        return self._tree.mark

    def write(self, data: bytes) -> None:
        """Queue bytes for standard input; they are sent while the process is driven. Dropped if nobody reads there."""
        stdin = self._child.popen.stdin
        if stdin is not None and not stdin.closed:
            self._unsent += data
            self._offer()

    def close_stdin(self) -> None:
        """End standard input once everything queued is sent."""
        self._keep_stdin = False
        self._offer()

    def pump(self, timeout_s: float) -> bool:
        """Move bytes for at most that long. False once it ended, was cancelled or is out of time: then `wait`."""
        if self._is_over():
            return False
        if (left := self._time_left()) <= 0:
            self._turn(0)  # what it wrote, or its end, while nobody drove it is not held against it
            if self._is_over() or self._note_time():
                return False
        self._turn(min(timeout_s, max(0, left)))
        return not self._is_over()

    def wait(self) -> Exit:
        """Wait for the end, a deadline or a cancel; then end the tree. A second call says the same again."""
        while self.pump(_TURN_S):
            pass
        return self._settle(self._launch.grace_s)

    def renew(self, seconds: float) -> None:
        """Have the lease end that long from now, sooner or later than before. Returns at once, whatever happens.

        Does nothing without a lease, and none that has ended comes back. A keeper that is gone is noticed by `wait`.
        """
        self._child.renew(seconds)

    def cancel(self) -> None:
        """Have the tree ended: TERM, the grace time, KILL. Returns at once; `wait` does it and returns the exit."""
        with self._bell_lock:
            if self._bell is not None:
                os.eventfd_write(self._bell, 1)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Whatever happened, leave nothing behind: with grace after a normal end, at once after an exception."""
        if self._exit is None:
            self._canceled = self._canceled or not (self._ended or self._timed_out or self._lease_lost)
            self._on_output = self._on_output if kind is None else None
            self._settle(self._launch.grace_s if kind is None else 0)

    def _is_over(self) -> bool:
        return self._ended or self._canceled or self._exit is not None

    def _time_left(self) -> float:
        now, silence_s = time.monotonic(), self._launch.silence_s
        quiet_until = math.inf if silence_s is None else self._heard + silence_s
        return min(min(self._deadline, quiet_until) - now, self._child.lease_left())

    def _note_time(self) -> bool:
        """Note which time is up. False where none is."""
        if self._time_left() > 0:
            return False
        self._lease_lost = self._child.lease_left() <= 0
        self._silent = not self._lease_lost and time.monotonic() < self._deadline
        self._timed_out = not self._lease_lost
        return True

    def _settle(self, grace_s: float) -> Exit:
        if self._exit is not None:
            return self._exit
        try:
            if not (self._ended or self._lease_lost):
                self._ask(grace_s)
        finally:
            swept = self._tree.end(_SWEEP_S)
        try:
            self._drain()
        finally:
            code, signal = self._child.ending()
            killed = self._close()
            out, err = self._kept["stdout"], self._kept["stderr"]
            self._exit = Exit(
                code=code,
                signal=signal,
                stdout=bytes(out.data),
                stderr=bytes(err.data),
                stdout_truncated=out.truncated,
                stderr_truncated=err.truncated,
                timed_out=self._timed_out,
                silent=self._silent,
                lease_lost=self._lease_lost or self._child.lost_lease(),
                canceled=self._canceled,
                survivors_killed=swept.killed + killed,
                survivors_left=swept.left,
                level="namespace" if self._launch.namespaced else self._child.level,
                started_at=self._started_at,
                duration_s=time.monotonic() - self._began,
            )
        return self._exit

    def _ask(self, grace_s: float) -> None:
        """Ask the tree to end and listen on until it has, or the grace time is over."""
        if grace_s <= 0:
            return
        self._tree.ask()
        until = time.monotonic() + grace_s
        while (left := until - time.monotonic()) > 0:
            self._turn(min(left, 0.02) if self._ended else left)
            if self._ended and not self._tree.living():
                return

    def _drain(self) -> None:
        """Read what is still in the pipes. Who could write on is dead; what could not be killed gets no more time."""
        until = time.monotonic() + _DRAIN_S
        while self._turn(0) and time.monotonic() < until:
            pass

    def _close(self) -> int:
        with self._bell_lock:
            if self._bell is not None:
                os.close(self._bell)
            self._bell = None
        self._selector.close()
        return self._child.close()

    def _turn(self, timeout_s: float) -> bool:
        """Wait for something to do and do it once. False where there was nothing."""
        ready = self._selector.select(timeout_s)
        for key, _ in ready:
            key.data()
        return bool(ready)

    def _note_end(self) -> None:
        self._ended = True
        self._selector.unregister(self._child.ended)

    def _note_cancel(self) -> None:
        self._canceled = True
        if self._bell is not None:
            self._selector.unregister(self._bell)

    def _listen(self, name: Name) -> None:
        pipe = self._child.popen.stdout if name == "stdout" else self._child.popen.stderr
        if pipe is not None:
            fileno = pipe.fileno()
            os.set_blocking(fileno, False)
            self._selector.register(fileno, selectors.EVENT_READ, lambda: self._hear(name, fileno))

    def _hear(self, name: Name, fileno: int) -> None:
        try:
            piece = os.read(fileno, _PIECE)
        except BlockingIOError:
            return
        if not piece:
            self._selector.unregister(fileno)
            return
        self._heard = time.monotonic()
        self._kept[name].add(piece)
        if self._on_output is not None:
            self._on_output(name, piece)

    def _offer(self) -> None:
        """Watch standard input while there is something to send; close it when there will be nothing more."""
        stdin = self._child.popen.stdin
        if stdin is None or stdin.closed:
            return
        watched = stdin.fileno() in self._selector.get_map()
        if self._unsent and not watched:
            self._selector.register(stdin.fileno(), selectors.EVENT_WRITE, self._send)
        elif not self._unsent:
            if watched:
                self._selector.unregister(stdin.fileno())
            if not self._keep_stdin:
                stdin.close()

    def _send(self) -> None:
        stdin = self._child.popen.stdin
        if stdin is None or stdin.closed:
            return
        try:
            sent = os.write(stdin.fileno(), self._unsent[:_PIECE])
        except BlockingIOError:
            return
        except BrokenPipeError:  # it does not want to read; that is its business
            self._unsent.clear()
            self._keep_stdin = False
        else:
            del self._unsent[:sent]
        self._offer()
