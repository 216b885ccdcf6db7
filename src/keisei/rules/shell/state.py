"""State: what a shell carries from one command to the next: its folder, its input, the files the call has written."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from keisei.records.effect import UNKNOWN
from keisei.rules.shell.fold import MADE
from keisei.rules.shell.ground import Node, World, joined
from keisei.rules.shell.variables import Variables


class Input(NamedTuple):
    """What stands on a command's standard input."""

    text: str = UNKNOWN
    """The text; UNKNOWN where only the run will tell."""
    path: str | None = None
    """The file it comes from."""


class State:
    """The shell's state. Folders are alternatives: a `cd` that may fail leaves two."""

    def __init__(self, world: World, cwd: str) -> None:
        """A fresh shell in a folder."""
        self.world = world
        self.variables = Variables({**world.variables, "PWD": cwd})
        self.functions: dict[str, list[Node]] = {}
        self.aliases: dict[str, dict[str, None]] = {}
        self.cwds: tuple[str, ...] = (cwd,)
        self.strays: tuple[str, ...] = ()
        """Folders the shell is in where the last `cd` failed."""
        self.before: tuple[str, ...] = (UNKNOWN,)
        self.stdin: Input | None = None
        self.contents: dict[str, str | None] = {}
        """Files this call writes, with their text where it is known."""
        self.copies: dict[str, str] = {}
        """Files this call makes as copies or links of others."""
        self.made: set[str] = set()
        """Folders this call makes."""
        self.links: dict[str, str] = {}
        """Symbolic links this call makes."""
        self.edited: set[str] = set()
        """Files this call changes in part."""
        self.folders: dict[str, None] = {}
        """Folders this call has programs looked up in."""
        self._found: dict[str, bool] = {}

    def change_folder(self, wanted: tuple[str, ...]) -> None:
        """`cd`: every way it can end."""
        ways = [(cwd, path) for cwd in self.cwds for path in wanted]
        new = tuple(dict.fromkeys(joined(cwd, path) for cwd, path in ways))[:8]
        sure = all(self._is_there(path) for path in new) and all(self._passes(cwd, path) for cwd, path in ways)
        self.before, self.strays = self.cwds, () if sure else self.cwds
        self._enter(new)

    def _is_there(self, path: str) -> bool:
        if UNKNOWN in path:
            return False
        return path in self.made or path.startswith(MADE) or self.world.is_folder(path)

    def _passes(self, cwd: str, path: str) -> bool:
        """Whether every folder that a path climbs out of again is there; otherwise `cd` fails and the shell stays."""
        parts = path.split("/")
        climbs = [number for number, part in enumerate(parts) if part == ".." and number]
        return all(self._is_there(joined(cwd, "/".join(parts[:number]) or "/")) for number in climbs)

    def settle(self) -> None:
        """The next command runs whether or not the last one succeeded."""
        if self.strays:
            self._enter(tuple(dict.fromkeys((*self.cwds, *self.strays)))[:8])
            self.strays = ()

    def _enter(self, folders: tuple[str, ...]) -> None:
        self.cwds = folders
        self.variables.known["PWD"] = folders[0] if len(folders) == 1 else UNKNOWN

    @contextmanager
    def apart(self) -> Iterator[None]:
        """A subshell: it may go elsewhere, and the shell stays where it is."""
        kept = (self.cwds, self.strays, self.before, self.stdin)
        try:
            yield
        finally:
            self._enter(kept[0])
            _, self.strays, self.before, self.stdin = kept

    @contextmanager
    def fed(self, stdin: Input | None) -> Iterator[None]:
        """Commands with this standard input."""
        kept, self.stdin = self.stdin, stdin
        try:
            yield
        finally:
            self.stdin = kept

    def either(self, others: tuple[str, ...]) -> None:
        """The shell may also be in these folders: a branch was or was not taken."""
        self._enter(tuple(dict.fromkeys((*self.cwds, *others)))[:8])

    def origin(self, path: str) -> str:
        """The file a path stands for after this call's own copies and links."""
        for _ in range(8):
            if path not in self.copies:
                break
            path = self.copies[path]
        return path

    def through(self, path: str) -> tuple[str, ...]:
        """Where a path leads through the links this call makes; empty where none is on the way."""
        found = path
        for _ in range(8):
            link = next((each for each in self.links if found == each or found.startswith(f"{each}/")), None)
            if link is None:
                break
            found = self.links[link] + found[len(link) :]
        return (found,) if found != path else ()

    def search(self, value: str) -> None:
        """A search path: its folders that are known."""
        for part in value.split(":")[:32]:
            if part and UNKNOWN not in part and len(self.folders) < 32:  # noqa: PLR2004 - a search path has few folders
                self.folders[joined(self.cwds[0], part)] = None
        self._found.clear()

    def found_as(self, name: str) -> str | None:
        """The file a bare name means through a search path of this call."""
        for folder in self.folders:
            path = f"{folder}/{name}"
            if path in self.contents or path in self.copies:
                return path
            if path not in self._found:
                self._found[path] = self.world.real(path) is not None
            if self._found[path]:
                return path
        return None

    def text_of(self, path: str) -> tuple[str | None, bool]:
        """The text of a file that would be run, and whether this call wrote it. (None, True): written, and unknown."""
        path = self.origin(path)
        if path in self.contents:
            return self.contents[path], True
        return (None if UNKNOWN in path else self.world.content(path)), False
