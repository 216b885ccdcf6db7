"""Supervision: parts that are kept running, each a process of its own, and ended together.

One thread drives everything: it waits for lines, ends and signals at once, and never for one part alone. A part that
dies is started again, later each time; one that dies again and again is left alone, and the others go on.
"""

import os
import selectors
import signal
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any, Final, NamedTuple

from keisei.wiring.supervision_child import Child, Part, Stream
from keisei.wiring.supervision_patience import Death, Next, Past, Patience, after, ending

OWN: Final = "up"
"""Who speaks where it is no part."""
STOPS: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
GENTLE: Final = 2
"""So many times it is asked to stop; the next time kills."""
WITHHELD: Final = 20


class Note(NamedTuple):
    """One thing that is told: a line of a part (`out` and `err`), or what became of one."""

    part: str
    event: str
    detail: dict[str, Any]


class _Post:
    """A part and how it fares."""

    def __init__(self, part: Part) -> None:
        self.part = part
        self.child: Child | None = None
        self.born = 0.0
        self.due_at: float | None = 0.0
        """When it is started; None while it runs, and for one that is not started any more."""
        self.past = Past()
        self.complaint: tuple[str, ...] | None = None
        """What it said when it could not start the last time."""
        self.withheld: deque[tuple[Stream, str]] | None = None
        """What is not told before it is known that it is something new."""
        self.lost = False
        self.asked = False
        self.kill_at: float | None = None

    @property
    def is_there(self) -> bool:
        return self.child is not None or self.due_at is not None


class Supervisor:
    """Keeps parts running from `run` until it is asked to stop, or nothing essential is left."""

    def __init__(
        self,
        parts: Sequence[Part],
        tell: Callable[[Note], None],
        patience: Patience | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Nothing runs yet. `tell` must not block: everybody would wait for it."""
        self._posts = [_Post(part) for part in parts]
        self._tell, self._patience, self._clock = tell, patience or Patience(), clock
        self._selector = selectors.DefaultSelector()
        self._asked = 0
        self._failed = False
        self._heard, self._bell = os.pipe()
        for end in (self._heard, self._bell):
            os.set_blocking(end, False)

    def run(self) -> int:
        """Until everything has ended: 0, or 1 where a part was left alone or had to be killed."""
        self._selector.register(self._heard, selectors.EVENT_READ, self._hear_signals)
        try:
            with self._hearing():
                while self._goes_on():
                    self._keep_time()
                    for key, _ in self._selector.select(self._wait_s()):
                        key.data()
        finally:
            self._close()
        return int(self._failed)

    def stop(self) -> None:
        """Asked once: parts finish what they do. Again: they hurry. Once more: they are killed. For any thread."""
        os.write(self._bell, bytes([signal.SIGTERM]))

    # --- the cycle ----------------------------------------------------------------------------------------------------

    def _goes_on(self) -> bool:
        if not self._asked and not any(each.part.essential and each.is_there for each in self._posts):
            self._tell(Note(OWN, "ending", {"reason": "nothing is left that would be of use alone"}))
            self._stop()
        return not self._asked or any(each.child for each in self._posts)

    def _keep_time(self) -> None:
        """Start what is due, and kill what was given time to stop and has not."""
        now = self._clock()
        for post in self._posts:
            if post.due_at is not None and post.due_at <= now and not self._asked:
                self._start(post)
            if post.kill_at is not None and post.kill_at <= now and post.child is not None:
                self._kill(post)

    def _wait_s(self) -> float | None:
        moments = [each for post in self._posts for each in (post.due_at, post.kill_at) if each is not None]
        return max(0.0, min(moments) - self._clock()) if moments else None

    def _start(self, post: _Post) -> None:
        post.due_at, post.born = None, self._clock()
        post.withheld = None if post.complaint is None else deque(maxlen=WITHHELD)
        try:
            post.child = child = Child(post.part, lambda stream, text: self._hear(post, stream, text))
        except OSError as error:
            self._after(post, 1, (f"cannot be started: {error.strerror or error}",))
            return
        self._selector.register(child.ended, selectors.EVENT_READ, lambda: self._ended(post, child))
        for stream, pipe in child.pipes().items():
            self._selector.register(pipe.fileno(), selectors.EVENT_READ, self._reader(child, stream))
        self._tell(Note(OWN, "started", {"name": post.part.name, "pid": child.pid}))

    def _reader(self, child: Child, stream: Stream) -> Callable[[], None]:
        def read() -> None:
            pipe = child.pipes()[stream]
            if not pipe.closed and not child.read(stream):
                self._selector.unregister(pipe.fileno())

        return read

    def _hear(self, post: _Post, stream: Stream, text: str) -> None:
        """A line of a part. One that could not start before is heard again when it says something of use."""
        if post.withheld is not None and stream == "err":
            post.withheld.append((stream, text))
            return
        self._let_out(post)
        self._tell(Note(post.part.name, stream, {"text": text}))

    def _let_out(self, post: _Post) -> None:
        withheld, post.withheld = post.withheld, None
        for stream, text in withheld or ():
            self._tell(Note(post.part.name, stream, {"text": text}))

    # --- ends ---------------------------------------------------------------------------------------------------------

    def _ended(self, post: _Post, child: Child) -> None:
        self._forget(child)
        code = child.bury()
        post.child = post.kill_at = None
        if self._asked:
            self._let_out(post)
            self._tell(Note(OWN, "ended", {"name": post.part.name, "how": ending(code)}))
            self._stop_next()
        elif post.part.finishes and code == 0:
            self._tell(Note(OWN, "left", {"name": post.part.name}))
        else:
            self._after(post, code, tuple(child.words))

    def _after(self, post: _Post, code: int, words: tuple[str, ...]) -> None:
        """Decide and tell what becomes of a part that has ended by itself."""
        now = self._clock()
        following = after(post.past, Death(now, now - post.born, code, words), self._patience)
        post.past = following.past
        known = following.told and words == post.complaint
        if known:
            post.withheld = None
        self._let_out(post)
        post.complaint = words if following.told else None
        post.due_at = None if following.wait_s is None else now + following.wait_s
        post.lost = post.due_at is None
        self._failed |= post.lost
        if not known:
            self._tell(_became(post.part.name, following, code, words))

    def _forget(self, child: Child) -> None:
        for each in (child.ended, *(pipe.fileno() for pipe in child.pipes().values())):
            if each in self._selector.get_map():
                self._selector.unregister(each)

    # --- stopping -----------------------------------------------------------------------------------------------------

    def _hear_signals(self) -> None:
        for number in os.read(self._heard, 64):
            if number in STOPS:
                self._stop()

    def _stop(self) -> None:
        self._asked += 1
        if self._asked == 1:
            self._failed |= any(each.complaint is not None and each.child is None for each in self._posts)
            for post in self._posts:
                post.due_at = None
            self._tell(Note(OWN, "stopping", {}))
            self._stop_next()
            return
        for post in self._posts:
            if self._asked > GENTLE:
                self._kill(post)
            elif post.child is not None and post.asked:
                post.child.signal(signal.SIGTERM)

    def _stop_next(self) -> None:
        """Ask those that finish; when none of them is left, ask the others."""
        there = [each for each in self._posts if each.child is not None]
        first = [each for each in there if each.part.finishes]
        for post in first or there:
            if post.child is not None and not post.asked:
                post.asked = True
                post.kill_at = None if post.part.finishes else self._clock() + self._patience.grace_s
                post.child.signal(signal.SIGTERM)

    def _kill(self, post: _Post) -> None:
        post.kill_at = None
        if post.child is not None:
            self._failed = True
            self._tell(Note(OWN, "killing", {"name": post.part.name}))
            post.child.kill()

    @contextmanager
    def _hearing(self) -> Iterator[None]:
        """Signals ring, each one of them. Those that whoever started this has ignored, as nohup does, stay ignored.

        Nothing is done in a handler: a second signal may come before the first one's was run, and still counts.
        """
        before = {number: signal.getsignal(number) for number in (*STOPS, signal.SIGCHLD)}
        rung = signal.set_wakeup_fd(self._bell, warn_on_full_buffer=False)
        for number in STOPS:
            if before[number] != signal.SIG_IGN:
                signal.signal(number, _nothing)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # where it is ignored, nobody learns how a part has ended
        try:
            yield
        finally:
            signal.set_wakeup_fd(rung)
            for number, handler in before.items():
                signal.signal(number, handler)

    def _close(self) -> None:
        """Leave nothing: only after an error of ours is something still there."""
        for post in self._posts:
            if post.child is not None:
                post.child.bury()
                post.child = None
        self._selector.close()
        os.close(self._heard)
        os.close(self._bell)


def _nothing(_number: int, _frame: FrameType | None) -> None:
    """Python writes the signal's number into the pipe; that is all."""


def _became(name: str, following: Next, code: int, words: tuple[str, ...]) -> Note:
    told = {"name": name, "how": ending(code), "words": list(words)}
    if following.wait_s is None:
        return Note(OWN, "left alone", told)
    return Note(OWN, "waits" if following.told else "died", told | {"wait_s": following.wait_s})
