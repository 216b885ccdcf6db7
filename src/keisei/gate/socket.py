"""The socket of the gate: who may listen and who may call, requests in, answers out, and a time limit on all of it."""

import errno
import fcntl
import os
import queue
import resource
import selectors
import socket
import stat
import struct
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from itertools import islice
from pathlib import Path
from threading import Lock, Thread
from typing import Protocol

from keisei.records.error import OperatorError, WorldFault

LONGEST_PATH = 107
"""Bytes of a socket's path; the kernel has room for one more, which ends it."""
LARGEST = 4 * 1024 * 1024 + 256
"""Bytes of a request: what a hook may be told, and the token and the harness before it."""
HELD = 64 * 1024 * 1024
"""Bytes of all requests at once."""
BACKLOG = 4096
CALLERS = 8192
"""Connections that have not yet sent their whole request."""
READ_S = 2.0
"""How long a caller may take to send it."""
SPARE = 256
"""Files that stay free for everything else than callers."""
HEARD = 65_536
"""Bytes that are read at once of what the parent says."""
CHUNK, LARGE_CHUNK = 64 * 1024, 1024 * 1024
SWEEP_S = 5.0
LENGTH = struct.Struct(">I")
PEER = struct.Struct("3i")

Identity = tuple[int, int]


class Desk(Protocol):
    """What judges a request. Nothing it does may raise."""

    def answer(self, request: bytes, claim: Callable[[], bool]) -> bytes | None:
        """The answer; None where `claim`, asked before anything is written down, says that it comes too late."""

    def late(self, request: bytes, waited_ms: float) -> bytes:
        """The refusal of a request that took too long."""

    def refusal(self, sentence: str) -> bytes:
        """The refusal of something that is no request."""

    def sweep(self) -> None:
        """Let go of what is no longer used; called now and then."""


def listen(path: Path) -> tuple[socket.socket, Identity]:
    """A listening socket at the path, 0600 in a folder 0700, and which file it is.

    What a dead service left behind is replaced. Raises OperatorError where the path is too long, the folder is open to
    others, something else stands there or a service answers, and WorldFault where the system refuses.
    """
    if len(os.fsencode(path)) > LONGEST_PATH:
        raise OperatorError(
            f"the socket's path `{path}` is longer than {LONGEST_PATH} bytes, which is all a Unix socket takes",
            "choose a shorter runtime folder",
        )
    try:
        with _alone(path.parent):
            _make_way(path)
            return _bound(path)
    except OSError as error:
        raise WorldFault(f"the gate cannot listen at `{path}`: {error.strerror or error}") from error


def unlink(path: Path, identity: Identity) -> None:
    """Remove the socket, unless another one stands there by now."""
    with suppress(OSError, OperatorError), _alone(path.parent):
        if _identity(path) == identity:
            path.unlink()


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """One service at a time may make way in the folder, or two would replace each other's sockets."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        status = os.fstat(handle)
        if status.st_uid != os.geteuid() or status.st_mode & 0o077:
            raise OperatorError(f"the folder `{folder}` of the gate's socket is open to others", "chmod 700 it")
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _make_way(path: Path) -> None:
    """Remove a socket that nobody listens at; refuse to remove anything else."""
    try:
        status = path.lstat()
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(status.st_mode):
        raise OperatorError(f"`{path}` is there already, and it is not a socket", "choose another path or remove it")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(0)
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            path.unlink()
            return
        except BlockingIOError:  # its queue is full, so somebody has one
            pass
    raise OperatorError(f"a gate service answers at `{path}` already", "stop it first: `keisei gate stop`")


def _bound(path: Path) -> tuple[socket.socket, Identity]:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listener.settimeout(0)
        listener.bind(str(path))
        path.chmod(0o600)
        listener.listen(BACKLOG)
    except OSError:
        listener.close()
        raise
    return listener, _identity(path)


def _identity(path: Path) -> Identity:
    status = path.lstat()
    return status.st_dev, status.st_ino


def _may_call(caller: socket.socket) -> bool:
    """Whether the other end runs as us or as root. Where the kernel does not say, the folder's mode has to do."""
    option = getattr(socket, "SO_PEERCRED", None)
    if option is None:
        return True
    _, uid, _ = PEER.unpack(caller.getsockopt(socket.SOL_SOCKET, option, PEER.size))
    return uid in (0, os.geteuid())


class Job:
    """A whole request that waits for its answer. It is answered once."""

    __slots__ = ("_caller", "_claimed", "answered", "due", "request")

    def __init__(self, caller: socket.socket, request: bytes, due: float) -> None:
        self.request = request
        self.due = due
        self.answered = False
        self._caller = caller
        self._claimed = Lock()

    def claim(self) -> bool:
        """True for the first who asks."""
        return self._claimed.acquire(blocking=False)

    @property
    def claimed(self) -> bool:
        """Whether somebody has."""
        return self._claimed.locked()

    def reply(self, answer: bytes) -> None:
        """Send the answer, small enough for the kernel to keep, and hang up."""
        _reply(self._caller, answer)
        self.request = b""
        self.answered = True


def _reply(caller: socket.socket, answer: bytes) -> None:
    with suppress(OSError), caller:
        caller.sendall(answer)


def _odd(have: int, size: int, held: int) -> str | None:
    """Why the rest of a request is not waited for; None where it is."""
    if size > LARGEST + LENGTH.size:
        return "the request is larger than 4 MB"
    if have > size:
        return "the request is longer than it says"
    return "too much is asked at once" if held > HELD else None


class Caller:
    """A connection that has not yet sent its whole request."""

    __slots__ = ("buffer", "read_by", "socket", "watched")

    def __init__(self, connection: socket.socket, read_by: float) -> None:
        self.socket = connection
        self.buffer = bytearray()
        self.read_by = read_by
        self.watched = False


class Switchboard:
    """Takes calls and has them answered. One thread reads, others judge, so that a silent caller costs no thread."""

    def __init__(  # noqa: PLR0913 - each is a choice of the one who starts it
        self,
        listener: socket.socket,
        desk: Desk,
        *,
        workers: int,
        answer_s: float,
        parent_fd: int | None = None,
        hear: Callable[[bytes], None] | None = None,
    ) -> None:
        """`hear` gets what the parent says through its pipe; without it nothing is expected there but its end."""
        self._hear = hear
        self._listener = listener
        self._desk = desk
        self._workers = workers
        self._answer_s = answer_s
        self._selector = selectors.DefaultSelector()
        self._callers: OrderedDict[Caller, None] = OrderedDict()
        self._most = min(CALLERS, max(16, resource.getrlimit(resource.RLIMIT_NOFILE)[0] - SPARE))
        self._jobs: deque[Job] = deque()
        self._queue: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._errands: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._held = 0
        self._holding = Lock()
        self._stopping = False
        self._swept = time.monotonic()
        self._bell, self._ring = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._selector.register(listener, selectors.EVENT_READ, self._accept)
        self._selector.register(self._bell, selectors.EVENT_READ, lambda: os.read(self._bell, 64))
        if parent_fd is not None:
            self._selector.register(parent_fd, selectors.EVENT_READ, lambda: self._orphaned(parent_fd))

    def stop(self) -> None:
        """Ask it to end; safe from a signal handler and from any thread."""
        self._stopping = True
        with suppress(OSError):
            os.write(self._ring, b"!")

    def run(self) -> None:
        """Answer until it is asked to end, then finish what was begun. Falls closed: the rest is refused."""
        for _ in range(self._workers):
            Thread(target=self._work, daemon=True).start()
        Thread(target=self._run_errands, daemon=True).start()
        while not self._stopping:
            for key, _ in self._selector.select(self._patience()):
                key.data()
            self._expire()
        self._drain()

    def _accept(self) -> None:
        for _ in range(BACKLOG):
            try:
                connection, _ = self._listener.accept()
            except BlockingIOError:
                return
            except OSError as error:
                if error.errno in (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOBUFS):
                    self._make_room()
                    return
                continue
            self._greet(connection)
            if len(self._callers) > self._most:
                self._make_room()

    def _greet(self, connection: socket.socket) -> None:
        """Nearly every caller has sent everything by now, and need not be watched."""
        connection.settimeout(0)
        if not _may_call(connection):
            _reply(connection, self._desk.refusal("the caller runs as somebody else"))
            return
        caller = Caller(connection, time.monotonic() + READ_S)
        self._callers[caller] = None
        if not self._read(caller):
            caller.watched = True
            self._selector.register(connection, selectors.EVENT_READ, lambda: self._read(caller))

    def _make_room(self) -> None:
        """Hang up on the one that has been silent longest; where there is none, wait for an answer to end a call."""
        for caller in self._callers:
            self._refuse(caller, "too many callers at once")
            return
        time.sleep(0.005)

    def _read(self, caller: Caller) -> bool:
        """Take what there is. True where nothing more is to come: the request is whole, or refused."""
        if caller not in self._callers:
            return True
        buffer = caller.buffer
        try:
            while True:
                chunk = caller.socket.recv(LARGE_CHUNK if buffer else CHUNK)
                buffer += chunk
                self._hold(len(chunk))
                if not chunk:
                    return self._refuse(caller, "the request is cut short")
                size = LENGTH.unpack_from(buffer)[0] + LENGTH.size if len(buffer) >= LENGTH.size else LARGEST
                if len(buffer) == size:
                    return self._hand_on(caller)
                odd = _odd(len(buffer), size, self._held)
                if odd is not None:
                    return self._refuse(caller, odd)
        except BlockingIOError:
            return False
        except OSError:
            return self._refuse(caller, "the connection broke")

    def _hand_on(self, caller: Caller) -> bool:
        self._let_go(caller)
        request = bytes(memoryview(caller.buffer)[LENGTH.size :])
        self._hold(len(request))
        job = Job(caller.socket, request, time.monotonic() + self._answer_s)
        self._jobs.append(job)
        self._queue.put(job)
        return True

    def _refuse(self, caller: Caller, sentence: str) -> bool:
        self._let_go(caller)
        _reply(caller.socket, self._desk.refusal(sentence))
        return True

    def _let_go(self, caller: Caller) -> None:
        """Before anybody closes the connection: its number may belong to another file right after."""
        del self._callers[caller]
        self._hold(-len(caller.buffer))
        if caller.watched:
            self._selector.unregister(caller.socket)

    def _hold(self, size: int) -> None:
        with self._holding:
            self._held += size

    def _patience(self) -> float:
        """How long nothing can become overdue."""
        due = [self._swept + SWEEP_S, *(job.due for job in islice(self._jobs, 1))]
        due.extend(caller.read_by for caller in islice(self._callers, 1))
        return max(0.0, min(due) - time.monotonic())

    def _expire(self) -> None:
        """Refuse whoever is too slow, callers and judges. Both stand in the order of their limits."""
        now = time.monotonic()
        while (caller := next(iter(self._callers), None)) is not None and caller.read_by <= now:
            self._refuse(caller, "the request did not come in time")
        while self._jobs and (self._jobs[0].answered or self._jobs[0].due <= now):
            self._errands.put(partial(self._refuse_late, self._jobs.popleft()))
        if now - self._swept >= SWEEP_S:
            self._swept = now
            self._errands.put(self._desk.sweep)

    def _work(self) -> None:
        while (job := self._queue.get()) is not None:
            size = len(job.request)
            if not job.claimed:
                self._judge(job)
            self._hold(-size)

    def _judge(self, job: Job) -> None:
        try:
            answer = self._desk.answer(job.request, job.claim)
        except BaseException as error:  # noqa: BLE001 - nothing may end this thread, and nothing is allowed by accident
            job.claim()
            answer = self._desk.refusal(f"the gate broke: {type(error).__name__}")
        if answer is not None:
            job.reply(answer)

    def _run_errands(self) -> None:
        """What may have to wait for the disk, and must keep neither a caller nor a judge waiting."""
        while (errand := self._errands.get()) is not None:
            with suppress(Exception):
                errand()

    def _refuse_late(self, job: Job) -> None:
        request = job.request
        if not job.claim():
            return
        try:
            answer = self._desk.late(request, self._answer_s * 1000)
        except BaseException:  # noqa: BLE001 - as in _judge
            answer = self._desk.refusal("the judgement took too long")
        job.reply(answer)

    def _orphaned(self, parent_fd: int) -> None:
        """The other end of the pipe is our parent: it tells what it has to tell, and one day it is gone."""
        with suppress(BlockingIOError):
            told = os.read(parent_fd, HEARD)
            if not told:
                self._stopping = True
            elif self._hear is not None:
                self._hear(told)

    def _drain(self) -> None:
        """Answer what came whole, for as long as an answer may take; refuse the rest."""
        self._listener.close()
        for caller in list(self._callers):
            self._refuse(caller, "the gate is being stopped")
        last = time.monotonic() + self._answer_s
        while time.monotonic() < last and not all(job.answered for job in self._jobs):
            time.sleep(0.002)
        for job in self._jobs:
            if job.claim():
                job.reply(self._desk.refusal("the gate is being stopped"))
        for _ in range(self._workers):
            self._queue.put(None)
        self._errands.put(None)
        self._selector.close()
        os.close(self._bell)
        os.close(self._ring)
