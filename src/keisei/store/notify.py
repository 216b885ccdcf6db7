"""The doorbell of many machines: LISTEN and NOTIFY, on one connection of their own. Never the truth.

A ring only writes into a pipe; a thread that starts with the first ring sends it. So nobody who rings waits for the
server, and rings that follow each other closely leave as one, the first at once and the last after a breath.
"""

import os
import threading
import time
from collections.abc import Callable
from typing import Any

import psycopg

from keisei.records.error import KeiseiError
from keisei.store.bell import Wake, wait_for

CHANNEL = "keisei_bell"
SPACING_S = 0.02
"""NOTIFY takes a lock of the whole server, so that there is at most one in this time from one process."""
AGAIN_S = 1.0
"""How long a bell without a connection waits before it tries another."""
LAST_S = 2.0
"""How long closing waits for the last ring to leave."""
FOREVER_S = 3600.0

Connection = psycopg.Connection[Any]


class NotifyBell:
    """One thread waits; any thread, and a signal handler, may ring. A child of a fork has a bell of its own.

    While the server cannot be reached it rings inside the process only, and subscribes again when it can.
    """

    def __init__(self, connect: Callable[[], Connection]) -> None:
        """`connect` gives a new connection in autocommit mode, and raises a KeiseiError or psycopg.Error."""
        self._connect = connect
        self._begin()

    def _begin(self) -> None:
        self._pid = os.getpid()
        self._wake, self._asked = Wake(), Wake()
        self._pending = self._closed = self._broken = self._listening = self._polling = False
        self._ended = threading.Event()
        self._one_thread = threading.Lock()
        self._thread: threading.Thread | None = None
        self._turn = threading.Lock()
        self._connection: Connection | None = None
        self._again_at = 0.0

    def ring(self) -> None:
        """Tell every process that waits, and this one. Never raises, never waits, takes no lock that is held."""
        if os.getpid() != self._pid:
            self._begin()
        self._pending = True
        self._wake.ring()
        self._asked.ring()
        if not self._closed and self._thread is None and self._one_thread.acquire(blocking=False):
            self._start()

    def wait(self, timeout_s: float) -> None:
        """Wait for a ring or the time. A call that subscribes returns at once: look again, then wait."""
        if os.getpid() != self._pid:
            self._begin()
        with self._turn:
            heard, subscribed = self._subscribed()
            self._polling = bool(heard)
        if subscribed:
            return
        ready = wait_for([self._wake.heard, *heard], timeout_s if heard else min(timeout_s, AGAIN_S))
        with self._turn:
            self._polling = False
            if ready:
                self._wake.drain()
                self._consume()
            if self._broken or self._closed:
                self._drop()

    def close(self) -> None:
        """Send what was rung, give back the connection and the thread. Safe to say twice."""
        if os.getpid() != self._pid:
            return
        self._closed = True
        self._ended.set()
        self._asked.ring()
        self._wake.ring()
        if self._thread is not None:
            self._thread.join(LAST_S)
        with self._turn:
            self._drop()

    def _start(self) -> None:
        thread = threading.Thread(target=self._send, name="keisei-bell", daemon=True)
        try:
            thread.start()
        except RuntimeError:  # no thread can be had, as when the interpreter ends: this ring is lost
            self._one_thread.release()
        else:
            self._thread = thread

    def _send(self) -> None:
        """The thread: at most one NOTIFY in a breath, none while nobody rings."""
        while True:
            wait_for([self._asked.heard], FOREVER_S)
            self._asked.drain()
            pending, self._pending = self._pending, False
            if pending:
                self._notify()
            if self._closed and not self._pending:
                return
            self._ended.wait(SPACING_S)

    def _notify(self) -> None:
        with self._turn:
            connection = self._opened()
            if connection is not None:
                self._execute(connection, f"NOTIFY {CHANNEL}")

    def _subscribed(self) -> tuple[list[int], bool]:
        """The descriptor to wait for, and whether it was subscribed just now. None where the server is not there."""
        connection = None if self._closed else self._opened()
        if connection is None:
            return [], False
        if self._listening:
            return [connection.fileno()], False
        self._listening = self._execute(connection, f"LISTEN {CHANNEL}")
        return [], self._listening

    def _opened(self) -> Connection | None:
        """The connection, made if need be; None while the server is not there, asked at most once a second."""
        if self._broken:
            self._drop()
        if self._connection is None and time.monotonic() >= self._again_at:
            try:
                self._connection = self._connect()
                # what arrives while the other thread sends would otherwise wake nobody
                self._connection.add_notify_handler(lambda _: self._wake.ring())
                self._execute(self._connection, "SET synchronous_commit = off")  # a ring is worth no fsync
            except (psycopg.Error, KeiseiError, OSError):
                self._again_at = time.monotonic() + AGAIN_S
        return None if self._broken else self._connection

    def _execute(self, connection: Connection, statement: str) -> bool:
        try:
            connection.execute(statement.encode())
        except (psycopg.Error, OSError):
            self._break()
            return False
        return True

    def _consume(self) -> None:
        """Read what has come. A connection that ended is seen here."""
        if self._connection is None:
            return
        try:
            self._connection.pgconn.consume_input()
            while self._connection.pgconn.notifies() is not None:
                continue
        except (psycopg.Error, OSError):
            self._break()

    def _break(self) -> None:
        """The connection is lost. Whoever polls its descriptor closes it: closed by another, it could be reused."""
        self._broken = True
        self._again_at = time.monotonic() + AGAIN_S
        self._wake.ring()

    def _drop(self) -> None:
        if self._polling or self._connection is None:
            return
        connection, self._connection = self._connection, None
        self._broken = self._listening = False
        connection.close()
