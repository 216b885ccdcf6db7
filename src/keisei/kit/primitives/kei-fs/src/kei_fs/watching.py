"""Watching: the changes below a folder, links not followed."""

import os
from collections.abc import Generator, Iterable
from contextlib import suppress
from types import TracebackType
from typing import Final, Self

from watchfiles import Change, watch
from watchfiles._rust_notify import WatchfilesRustInternalError

from kei_fs.folder import folders

MOST_FOLDERS: Final = 20_000
TICK_MS: Final = 200
"""How long it waits for a change before it looks at the clock."""
TOGETHER_MS: Final = 400
"""How long changes are gathered into one moment."""
TRIES: Final = 5
Watch = Generator[set[tuple[Change, str]], None, None]
Told = set[tuple[str, str]]
"""Paths, and what became of them."""


class TooManyFolders(Exception):
    """The tree is too large to be watched."""


class CannotWatch(Exception):
    """The system does not let it be watched."""


class Watching:
    """A watch on each folder, renewed where new ones come.

    The library's own watch on a tree follows every link, out of the tree and around in it; so it is given the folders
    one by one.
    """

    def __init__(self, root: str, *, recursive: bool) -> None:
        """Begins to watch. Raises OSError, TooManyFolders, CannotWatch."""
        if not _is_text(root):
            raise CannotWatch("its path is no UTF-8")
        self._root, self._recursive = root, recursive
        self._folders, self._live, self._first = self._begun()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Watch no more."""
        self._live.close()

    def take(self) -> Told:
        """What changed since it was asked last; it waits a moment where nothing did. Raises as the beginning does."""
        told, self._first = self._first | self._told(self._live), set()
        if self._is_outdated(told):
            with suppress(FileNotFoundError):  # the folder itself is gone, which its watcher sees
                told |= self._renewed()
        return told

    def _is_outdated(self, told: Told) -> bool:
        """Whether the watch broke off, or a folder came that it does not know."""
        lost = (self._root, "more") in told
        return lost or (self._recursive and any(change == "added" and _is_folder(path) for path, change in told))

    def _renewed(self) -> Told:
        """Watch the folders there are now. The old watch is heard to its end, so that nothing falls in between."""
        known, old = set(self._folders), self._live
        self._folders, self._live, told = self._begun()
        told |= self._told(old)
        old.close()
        return told | {(path, "added") for path in _entries(set(self._folders) - known)}

    def _begun(self) -> tuple[list[str], Watch, Told]:
        """The folders, a watch that runs, and what it saw in its first moment."""
        for _ in range(TRIES):
            found = folders(self._root, MOST_FOLDERS) if self._recursive else [self._root]
            if len(found) > MOST_FOLDERS:
                raise TooManyFolders(f"has more than {MOST_FOLDERS} folders")
            live = _watch([path for path in found if _is_text(path)])
            try:
                return found, live, self._told(live)
            except FileNotFoundError:  # a folder went away since it was found
                continue
            except OSError as error:
                raise CannotWatch(str(error)) from None
        raise CannotWatch("its folders come and go too fast")

    def _told(self, live: Watch) -> Told:
        """The next changes. A name that is no text breaks the library's watch off; that something changed is told."""
        try:
            return {(path, change.name) for change, path in next(live)}
        except (StopIteration, WatchfilesRustInternalError):
            return {(self._root, "more")}


def _watch(paths: list[str]) -> Watch:
    return watch(
        *paths,
        watch_filter=None,
        debounce=TOGETHER_MS,
        rust_timeout=TICK_MS,
        yield_on_timeout=True,
        recursive=False,
        ignore_permission_denied=True,
    )


def _entries(paths: Iterable[str]) -> Iterable[str]:
    """What stands in folders that came before their watch did."""
    for path in paths:
        with suppress(OSError):
            yield from (f"{path}/{name}" for name in os.listdir(path))  # noqa: PTH208 - names that may be no UTF-8


def _is_text(path: str) -> bool:
    """Whether the library can be told of it."""
    return not any("\ud800" <= letter <= "\udfff" for letter in path)


def _is_folder(path: str) -> bool:
    return os.path.isdir(path) and not os.path.islink(path)  # noqa: PTH112, PTH114 - as above
