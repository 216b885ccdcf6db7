"""The gatehouse: one gate service for all attempts of a runner. An attempt comes with a plan and gets a token."""

import json
import os
import select
import subprocess
import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from keisei.gate.build import COMPILERS, check, client_argv
from keisei.gate.plan import PlanFile, new_token, write_plan
from keisei.records.error import OperatorError, WorldFault
from keisei.rules.policy import Policy, as_data, policy_digest
from keisei.settings import Settings
from keisei.wiring.sockets import runtime_folder
from keisei.wiring.start import clear_folder, spawn_service

STOP_S = 5.0
TEACH_S = 5.0
PIECE = 4096
"""Bytes that a pipe takes whole or not at all."""


class Admitted(NamedTuple):
    """What an attempt has at the gate."""

    token: str
    hook: tuple[str, ...]
    """The command that asks the gate, whole."""
    socket: str
    client: str
    """The program or script at the head of `hook` that was checked."""
    service: int
    """The process that answers."""


class Gatehouse:
    """Starts the service with the first attempt that needs it, and again where it has died. Any thread may ask.

    The service ends with this process, however this process ends: it holds the reading end of a pipe of ours.
    """

    def __init__(self, settings: Settings) -> None:
        """Nothing runs yet."""
        self._settings = settings
        self._lock = threading.Lock()
        self._service: subprocess.Popen[bytes] | None = None
        self._folder: Path | None = None
        self._pipe: int | None = None
        self._client: tuple[tuple[str, ...], str] | None = None
        self._taught: frozenset[str] = frozenset()

    def admit(self, policy: Policy, harness: str, attempt_id: str, log: Path, secrets: Iterable[str] = ()) -> Admitted:
        """A token under which calls are judged by this policy. Raises OperatorError, WorldFault.

        Values in `secrets` are taken out of what the gate writes down. It is told them through a pipe, before the first
        call, and keeps them in memory.
        """
        argv, client_digest = self._checked_client()
        with self._lock:
            service, folder = self._running()
            self._teach([each for each in secrets if each])
        token = new_token()
        plan = PlanFile(
            policy=as_data(policy), digest=policy_digest(policy), log=str(log), explicit=True, attempt_id=attempt_id
        )
        write_plan(folder / "plans", token, plan)
        socket = str(folder / "gate.sock")
        check(argv, client_digest)
        return Admitted(token, (*argv, socket, token, harness), socket, argv[-1], service.pid)

    def dismiss(self, admitted: Admitted) -> None:
        """Forget a token: every later call under it is refused. Never raises."""
        plan = Path(admitted.socket).parent / "plans" / f"{admitted.token}.json"
        with suppress(OSError):
            plan.unlink(missing_ok=True)

    def is_alive(self, admitted: Admitted) -> bool:
        """Whether the service that admitted an attempt still runs. One that has died refuses every call."""
        with self._lock:
            service = self._service
            return service is not None and service.pid == admitted.service and service.poll() is None

    def close(self) -> None:
        """End the service. Never raises."""
        with self._lock:
            self._end()

    def _checked_client(self) -> tuple[tuple[str, ...], str]:
        with self._lock:
            if self._client is None:
                if self._settings.state_home is None:
                    raise OperatorError("there is no home folder for state", "set HOME, XDG_STATE_HOME or KEISEI_HOME")
                self._client = client_argv(self._settings.state_home / "client", COMPILERS)
            return self._client

    def _running(self) -> tuple["subprocess.Popen[bytes]", Path]:
        if self._service is not None and self._folder is not None:
            if self._service.poll() is None:
                return self._service, self._folder
            self._end()
        folder = runtime_folder(self._settings) / new_token()[:8]
        folder.mkdir(mode=0o700)
        read_end, write_end = os.pipe()
        try:
            self._service = spawn_service(folder, read_end)
        except BaseException:
            os.close(write_end)
            clear_folder(folder)
            raise
        finally:
            os.close(read_end)
        os.set_blocking(write_end, False)
        self._pipe, self._folder = write_end, folder
        return self._service, folder

    def _teach(self, secrets: Iterable[str]) -> None:
        """Tell the service the secrets it does not know yet. Raises WorldFault where it does not listen.

        It reads them before it reads a call that is made after this.
        """
        new = sorted(set(secrets) - self._taught)
        left = memoryview(b"".join(json.dumps(each).encode() + b"\n" for each in new))
        until = time.monotonic() + TEACH_S
        while left and self._pipe is not None:
            try:
                select.select([], [self._pipe], [], max(0.0, until - time.monotonic()))
                left = left[os.write(self._pipe, left[:PIECE]) :]
            except OSError as error:
                self._end()  # half a word would spoil the next one; another service is told from the beginning
                raise WorldFault("the gate service does not listen", retryable=True) from error
        self._taught |= frozenset(new)

    def _end(self) -> None:
        """Let go of the pipe, upon which the service ends by itself; one that does not is killed."""
        if self._pipe is not None:
            os.close(self._pipe)
        if self._service is not None:
            try:
                self._service.wait(STOP_S)
            except subprocess.TimeoutExpired:
                self._service.kill()
                self._service.wait()
        if self._folder is not None:
            clear_folder(self._folder)
        self._service = self._folder = self._pipe = None
        self._taught = frozenset()
