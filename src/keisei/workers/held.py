"""Held processes: what a worker and a program have in common to whoever drives them."""

from keisei.records.launch import Exit
from keisei.workers.frame import Inbox
from keisei.workers.process import Process, kill, stop


class Held:
    """A process with what it writes, from before its start to its end. Used by one thread at a time."""

    def __init__(self, inbox: Inbox) -> None:
        """Nothing is started yet."""
        self._inbox = inbox
        self._process: Process | None = None
        self._end: Exit | None = None

    def end(self) -> None:
        """End its whole tree at once. Safe to say twice."""
        if self._process is not None and self._end is None:
            self._end = kill(self._process)

    def stop(self) -> None:
        """End it in order: what runs is interrupted and has the grace time. Safe to say twice."""
        if self._process is not None and self._end is None:
            self._end = stop(self._process)

    @property
    def is_started(self) -> bool:
        """Whether there is a process."""
        return self._process is not None

    @property
    def process(self) -> Process:
        """Its process. Raises RuntimeError where it was not started."""
        if self._process is None:
            raise RuntimeError("it was not started")
        return self._process

    @property
    def said(self) -> str:
        """What it wrote for people."""
        return self._inbox.said
