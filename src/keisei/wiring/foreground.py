"""The foreground: one task carried by a runner of its own, while somebody looks on.

The task goes the way of every task: it is queued, claimed, carried, settled. The runner claims this task and no other.
Where a runner that was there already is quicker, that one carries it, and everything here stays true: what is shown
comes from the rows and the attempt's files, and whoever carries it hears that it is canceled.
"""

import re
import threading
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Final, NamedTuple, Self

from keisei.adapters import adapter_of
from keisei.engine.control import cancel
from keisei.engine.gather import task_file
from keisei.records.adapter import AdapterConfig
from keisei.records.attempt import TaskAttempt
from keisei.records.error import KeiseiError, OperatorError, Refused
from keisei.records.id import TaskId
from keisei.records.move import NewTask
from keisei.records.task import TERMINAL, TaskRecord
from keisei.records.task_spec import SpecTask, TaskSpec
from keisei.wiring.choose import kind_of
from keisei.wiring.hall import runner_options, shop_runner, waiting
from keisei.wiring.key import check_key
from keisei.wiring.registry import CatalogRegistry
from keisei.wiring.runner import Line
from keisei.wiring.shop import Shop, read_evidence
from keisei.wiring.store import Home
from keisei.wiring.workshop import is_confined
from keisei.workspace.name import spelled
from keisei.workspace.ref import find_ref
from keisei.workspace.repository import facts

LARGEST_PATCH: Final = 64 * 1_048_576
"""Bytes of a patch that are counted."""
ESCAPED: Final = re.compile(r"\\([0-7]{3}|.)")
LETTERS: Final = dict(zip("abfnrtv", "\a\b\f\n\r\t\v", strict=True))
"""What git writes after a backslash, and means."""


def check_start(shop: Shop, task: TaskRecord) -> None:
    """Raise OperatorError where the task could not begin on this machine: whoever waits for it hears that at once.

    A queue would wait until an adapter is there, or ask a person; here the person sits at the terminal.
    """
    registry = shop.registry()
    profile = registry.profile(task.requested_profile_id)
    asked = task.requested_adapter_id
    names = [asked] if asked is not None else [profile.default_adapter_id, *profile.fallback_adapter_ids]
    config = _reached(shop, [registry.adapter(each) for each in names])
    spec = task_file(registry.task_type(task.task_type), task) or TaskSpec(task=SpecTask(role=profile.role))
    _check_ground(shop, registry, config, spec)


def _reached(shop: Shop, configs: list[AdapterConfig]) -> AdapterConfig:
    faults = []
    for config in configs:
        found = shop.probe(config)
        if found.ok:
            return config
        faults.append(f"{config.adapter_id}: {found.reason}")
    hint = "install or start it, or choose another with --adapter; `keisei doctor` tells what is there"
    raise OperatorError(f"no adapter can be reached: {'; '.join(faults)}", hint)


def _check_ground(shop: Shop, registry: CatalogRegistry, config: AdapterConfig, spec: TaskSpec) -> None:
    role = registry.material.resolved_role(spec.task.role)
    if shop.yard is None or not is_confined(adapter_of(kind_of(config)), role):
        return
    check_key(config, shop.home.root)
    try:
        shop.yard.level(role.isolation)
    except Refused as refused:
        hint = "install bubblewrap (`keisei doctor` tells more), or run it with --accept-weaker"
        raise OperatorError(refused.message, hint) from refused
    if spec.scope.files_whitelist:
        shop.yard.facts()


class Foreground:
    """One task, from its door to its end. Use it as a context: what it started has ended when the block is left."""

    def __init__(self, shop: Shop, task: NewTask, tell: Callable[[Line], None]) -> None:
        """Nothing is queued yet."""
        self._shop, self._task = shop, task
        self.task_id: TaskId = task.task.task_id
        options = runner_options(shop.runner, jobs=1, once=False, until_idle=False)
        self._runner = shop_runner(shop, options._replace(only=(self.task_id,)), tell)
        self._thread = threading.Thread(target=self._run, name="foreground", daemon=True)
        self._fault: BaseException | None = None

    def __enter__(self) -> Self:
        """Queue the task and let the runner begin. Nobody is rung for: the other runners find it soon enough."""
        self._shop.store.enqueue([self._task])
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the runner. A block that breaks off ends the task too: nobody would look on any more."""
        self._runner.stop()
        if kind is not None:
            with suppress(KeiseiError):
                self.cancel("the run broke off", "engine:foreground")
        self._thread.join()

    def look(self) -> TaskRecord:
        """The task as it is now. Raises what has ended the runner, if something has."""
        if self._fault is not None:
            raise self._fault
        task = self._shop.store.task(self.task_id)
        if task is None:
            raise OperatorError(f"task {self.task_id} is gone", "somebody has emptied the store")
        return task

    def goes_on(self, task: TaskRecord) -> bool:
        """Whether something will still happen to it here without a person: the task itself, or its landing."""
        if goes_on(task):
            return True
        return task.status == "completed" and self._thread.is_alive() and waiting(self._shop, (self.task_id,))

    def cancel(self, reason: str, actor: str) -> None:
        """End the task and everything that runs for it. A task that is over already stays as it is."""
        try:
            with suppress(Refused):
                cancel(self._shop.store, self.task_id, reason, actor)
        finally:
            self._runner.stop()
            self._runner.stop()

    def _run(self) -> None:
        try:
            self._runner.run()
        except BaseException as error:  # noqa: BLE001 - it is raised again where somebody looks
            self._fault = error


def goes_on(task: TaskRecord) -> bool:
    """Whether something will still happen to a task without a person."""
    return task.status not in TERMINAL and task.status != "blocked"


def growing(home: Home, attempt: TaskAttempt, name: str, start: int) -> bytes:
    """A piece of a file of an attempt from a place on: while it grows, and later from its evidence. Never raises."""
    with suppress(OSError, KeiseiError):  # it left none, or its folder goes away just now
        return read_evidence(home, attempt, name, start)
    return b""


class Changed(NamedTuple):
    """One file of a patch. The numbers are None for a file that is no text."""

    path: str
    added: int | None
    removed: int | None


def changed_files(home: Home, attempt: TaskAttempt) -> list[Changed]:
    """The files an attempt has changed, as its evidence tells; empty where it has changed none."""
    pieces, start = [], 0
    while start < LARGEST_PATCH and (piece := growing(home, attempt, "diff.patch", start)):
        pieces.append(piece)
        start += len(piece)
    return patched_files(b"".join(pieces).decode("utf-8", "replace"))


def patched_files(patch: str) -> list[Changed]:
    """The files of a patch as git writes it, with the lines that come and go."""
    files: list[Changed] = []
    inside = False
    for line in patch.split("\n"):
        if line.startswith("diff --git "):
            files.append(Changed(_named(line), 0, 0))
            inside = False
        elif not files:
            continue
        elif line.startswith("@@ "):
            inside = True
        elif line == "GIT binary patch" or line.startswith("Binary files "):
            files[-1] = files[-1]._replace(added=None, removed=None)
        elif inside and line.startswith(("+", "-")):
            files[-1] = _counted(files[-1], line[0])
    return files


def _named(line: str) -> str:
    """The path in `diff --git a/PATH b/PATH`; both are the same, because renames are not looked for."""
    both = line.removeprefix("diff --git ")
    half = both[: len(both) // 2]
    return _unquoted(half[1:-1]).removeprefix("a/") if half.startswith('"') else half.removeprefix("a/")


def _unquoted(text: str) -> str:
    """A path that git has written between quotes: bytes that are not ASCII stand there as octal numbers."""
    pieces, start = [], 0
    for found in ESCAPED.finditer(text):
        word = found[1]
        told = bytes([int(word, 8) & 0xFF]) if len(word) > 1 else LETTERS.get(word, word).encode()
        pieces += [text[start : found.start()].encode(), told]
        start = found.end()
    return spelled(b"".join([*pieces, text[start:].encode()]))


def _counted(file: Changed, sign: str) -> Changed:
    if sign == "+":
        return file._replace(added=(file.added or 0) + 1)
    return file._replace(removed=(file.removed or 0) + 1)


def work_ref(home: Home, attempt: TaskAttempt) -> str | None:
    """The ref that holds what an attempt has done: its candidate, else what was salvaged; None where there is none."""
    project = home.file.project
    if home.root is None or project is None:
        return None
    with suppress(KeiseiError):
        folder = facts(home.root, project.main).common_dir
        kept = find_ref(folder, "candidate", attempt.attempt_id) or find_ref(folder, "salvage", attempt.attempt_id)
        return None if kept is None else kept.ref
    return None
