"""Environments: a project's dependencies, set up once and given to worktrees as a copy.

`environments/<key>/tree/` holds the kept paths, `environments/<key>/made.json` what is known of them. One is made in
a draft beside it and renamed whole, under a lock of its key; whoever gives or removes it holds the same lock.
"""

import errno
import os
import platform
import secrets
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from keisei.records.error import KeiseiError, WorldFault
from keisei.records.project import ProjectEnvironment
from keisei.rules.environment import environment_key, kept_paths
from keisei.workspace.age import set_ages
from keisei.workspace.copy import copy_paths
from keisei.workspace.lock import BusyError, KeyLocks
from keisei.workspace.made import MADE, TREE, Made, edit_for, make, read_made
from keisei.workspace.removal import remove

DRAFT: Final = ".draft-"
KEY: Final = frozenset("0123456789abcdef")
KEY_LENGTH: Final = 64
PATIENCE_S: Final = 2400.0


class Environment(NamedTuple):
    """One that can be given."""

    key: str
    folder: Path
    made: Made


class Kept(NamedTuple):
    """One that lies there, for whoever makes room."""

    name: str
    """Its key; of a draft, the name of its folder."""
    folder: Path
    used_s: float
    """When it was made or given last, in seconds of the epoch."""
    whole: bool
    """False for a draft that nobody works on."""


def this_platform() -> str:
    """What an environment depends on beside the project's files."""
    return " ".join((platform.system(), platform.machine(), *platform.libc_ver(), platform.python_version()))


class Environments:
    """The environments of one project. Any number of threads and processes may use the folder at once."""

    def __init__(self, folder: Path, patience_s: float = PATIENCE_S) -> None:
        """Name the folder, and how long anybody waits for another one's setup. It is made by the first build."""
        self._folder = folder
        self._patience_s = patience_s
        self._locks = KeyLocks(folder)

    @staticmethod
    def key(read: Callable[[str], bytes | None], setting: ProjectEnvironment, platform: str, scope: str = "") -> str:
        """The name of the environment that belongs to a tree; see rules/environment."""
        return environment_key(read, setting, platform, scope)

    def find(self, key: str) -> Environment | None:
        """The environment of a key; None where there is none that is whole. Never raises."""
        folder = self._folder / key
        made = read_made(folder)
        return Environment(key, folder, made) if made is not None else None

    def build(self, key: str, worktree: Path, keep: Sequence[str], run: Callable[[], None]) -> Environment:
        """The environment of a key, set up by `run` in a worktree if nobody has done it before.

        Of several at once one sets it up and the others wait. What `run` raises is passed on, and then nothing counts.
        Raises OperatorError for kept paths that setup did not make, that lead out of the worktree or are links, and
        WorldFault where the disk does not take it or another one's setup takes too long.
        """
        with self._locks.own(key, self._patience_s):
            found = self.find(key)
            if found is not None:
                return found
            self._clear(key)
            draft = self._folder / f"{DRAFT}{key}-{secrets.token_hex(4)}"
            try:
                run()
                make(draft, worktree, kept_paths(keep))
                draft.rename(self._folder / key)
                _sync(self._folder)
            except OSError as error:
                raise _fault(key, "made", error) from error
            finally:
                with suppress(KeiseiError):
                    remove(draft)
                if not (self._folder / key).exists():
                    self._locks.forget(key)
            made = self.find(key)
        if made is None:
            raise WorldFault(f"environment {key[:12]} was made and cannot be read", retryable=True)
        return made

    def give(self, environment: Environment, worktree: Path) -> None:
        """Copy an environment into a worktree: what stands in the place of a kept path is replaced.

        Raises WorldFault where it is gone meanwhile or the disk does not take it, OperatorError where it cannot live at
        that path. The worktree may then hold a part of it.
        """
        made, root = environment.made, os.path.realpath(worktree)
        with self._locks.share(environment.key, self._patience_s):
            if self.find(environment.key) is None:
                raise WorldFault(f"environment {environment.key[:12]} was removed meanwhile", retryable=True)
            copy_paths(environment.folder / TREE, Path(root), made.keep, edit_for(made, root))
            with suppress(OSError):
                os.utime(environment.folder)
        set_ages(Path(root), made.keep, made.ages, time.time_ns())

    def kept(self) -> list[Kept]:
        """Environments and drafts, the one used last first; drafts that somebody works on are left out."""
        found = []
        with suppress(OSError), os.scandir(self._folder) as listed:
            for each in listed:
                key = each.name.removeprefix(DRAFT)[:KEY_LENGTH]
                if is_key(key) and each.is_dir(follow_symlinks=False):
                    whole = each.name == key and self.find(key) is not None
                    if whole or not self._locks.is_held(key):
                        with suppress(OSError):
                            used_s = each.stat(follow_symlinks=False).st_mtime
                            found.append(Kept(each.name, self._folder / each.name, used_s, whole))
        return sorted(found, key=lambda each: (each.used_s, each.name), reverse=True)

    def drop(self, name: str) -> bool:
        """Remove an environment or a draft. False where somebody uses it just now. Raises WorldFault."""
        key = name.removeprefix(DRAFT)[:KEY_LENGTH]
        if not is_key(key):
            raise WorldFault(f"`{name}` is no environment")
        try:
            with self._locks.own(key):
                # What is half removed must not look whole.
                (self._folder / name / MADE).unlink(missing_ok=True)
                remove(self._folder / name)
                if not (self._folder / key).exists():
                    self._locks.forget(key)
        except BusyError:
            return False
        except OSError as error:
            raise _fault(key, "removed", error) from error
        return True

    def _clear(self, key: str) -> None:
        """Remove what a builder that was killed has left. The key's lock is ours, so nobody works on it."""
        remove(self._folder / key)
        for draft in self._folder.glob(f"{DRAFT}{key}-*"):
            remove(draft)


def is_key(name: str) -> bool:
    """Whether a name is that of an environment."""
    return len(name) == KEY_LENGTH and KEY.issuperset(name)


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _fault(key: str, verb: str, error: OSError) -> WorldFault:
    full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    hint = "make room on the disk: `keisei gc` shows what can go" if full else None
    why = (error.strerror or str(error)).lower()
    return WorldFault(f"environment {key[:12]} cannot be {verb}: {why}", hint, retryable=full)
