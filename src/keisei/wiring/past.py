"""The past of a worktree: its paths and files as a commit has them, for judging calls that were judged there.

A worktree goes back to its pool when its attempt is over, so that what is there today is another's, or nothing.
"""

import fnmatch
import os
import posixpath
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple

from keisei.gate.judge import Judge
from keisei.gate.machine import Machine
from keisei.gate.path import LARGEST, LONGEST, MANY, MOST, STARS
from keisei.gate.shell import Parser
from keisei.records.effect import UNKNOWN, Target
from keisei.rules.gate import Place
from keisei.rules.policy import Policy
from keisei.wiring.script import run_gate_script
from keisei.workspace.contents import BlobReader
from keisei.workspace.git import shared

LINK: Final = "120000"
FOLDER: Final = "040000"
LONGEST_WAY: Final = 40
"""Links that are followed on the way of one path."""
LARGEST_LIST: Final = 64 * 1024 * 1024


class Entry(NamedTuple):
    """One name of a tree."""

    mode: str
    blob: str


class Tree:
    """A worktree as a commit has it."""

    def __init__(self, folder: str, common_dir: str, commit: str, blobs: BlobReader) -> None:
        """List it, once. Raises WorldFault where the commit is gone or its list is too long."""
        self.folder = folder
        self._blobs = blobs
        words = ("ls-tree", "-r", "-t", "-z", "--full-tree", commit)
        self.entries = dict(_entries(shared(common_dir, *words, most=LARGEST_LIST)))
        self.children: dict[str, list[str]] = {}
        for each in self.entries:
            folder, _, name = each.rpartition("/")
            self.children.setdefault(folder, []).append(name)
        self.entries[""] = Entry(FOLDER, "")

    def inside(self, path: str) -> str | None:
        """The path below the worktree, as names have it; None for one outside."""
        tidy = posixpath.normpath(path)
        if tidy == self.folder:
            return ""
        return tidy.removeprefix(f"{self.folder}/") if tidy.startswith(f"{self.folder}/") else None

    def text(self, name: str, most: int = LARGEST) -> bytes | None:
        """What a file or a link holds; None where there is none, or it holds more."""
        found = self.entries.get(name)
        return None if found is None or found.mode == FOLDER else self._blobs.read(found.blob, most)

    def real(self, path: str) -> str:
        """Where a path leads, links of the tree followed; outside of it, as it is today. UNKNOWN for a circle."""
        done, left = "", [part for part in path.split("/") if part not in ("", ".")]
        ways = LONGEST_WAY
        while left:
            part = left.pop(0)
            if part == "..":
                done = posixpath.dirname(done) if done else ""
                continue
            here = f"{done}/{part}"
            to = self._target(here)
            if to is None:
                done = here
                continue
            ways -= 1
            if not ways:
                return UNKNOWN
            left = [each for each in to.split("/") if each not in ("", ".")] + left
            done = "" if to.startswith("/") else done
        return done or "/"

    def matching(self, at: str, parts: list[str]) -> Iterator[str]:
        """Names below a folder that the parts of a glob stand for; a dot at the head is found by a dot only."""
        if not parts:
            yield at
            return
        first, *rest = parts
        if first == "**":
            yield from self.matching(at, rest)
        for name in self.children.get(at, ()):
            hidden = name.startswith(".") and not first.startswith(".")
            if first == "**" and not hidden:
                yield from self.matching(posixpath.join(at, name), parts)
            elif first != "**" and not hidden and fnmatch.fnmatchcase(name, first):
                yield from self.matching(posixpath.join(at, name), rest)

    def _target(self, path: str) -> str | None:
        """What a link says; None of anything else."""
        name = self.inside(path)
        if name is None:
            try:
                return str(Path(path).readlink())
            except (OSError, ValueError):
                return None
        found = self.entries.get(name)
        if found is None or found.mode != LINK:
            return None
        held = self.text(name, 4096)
        return None if held is None else os.fsdecode(held)


def _entries(listed: bytes) -> Iterator[tuple[str, Entry]]:
    for line in listed.split(b"\0")[:-1]:
        facts, _, path = line.partition(b"\t")
        mode, _, blob = facts.decode("ascii").split(" ")
        yield os.fsdecode(path), Entry(mode, blob)


class PastMachine(Machine):
    """The machine with one worktree as it was. It remembers which of an attempt's own files it was asked for."""

    def __init__(
        self, parser: Parser, home: str, variables: dict[str, str], tree: Tree | None, own: tuple[str, ...]
    ) -> None:
        """Without a tree everything is as it is today. `own` are folders of which nobody knows what was in them."""
        super().__init__(parser, home, variables)
        self._tree, self._own = tree, own
        self.ran = False
        """A file that would be run, of the attempt's own ones, was asked for."""
        self.looked = False
        """Anything of them was."""

    def _named(self, path: str) -> tuple["Tree | None", str]:
        """The tree and the name in it, links followed; no tree for a path that is outside of it."""
        self._note(path)
        real = path if self._tree is None else self._tree.real(path)
        name = None if self._tree is None else self._tree.inside(real)
        return (None, real) if name is None else (self._tree, name)

    def _note(self, path: str) -> None:
        if any(path == each or path.startswith(f"{each}/") for each in self._own):
            self.looked = True

    def content(self, path: str) -> str | None:
        """The text of a file that would be run, as it was."""
        before, self.looked = self.looked, False
        tree, name = self._named(path)
        self.ran, self.looked = self.ran or self.looked, self.looked or before
        if tree is None:
            return super().content(name)
        data = tree.text(name)
        try:
            return None if data is None or b"\0" in data else data.decode("utf-8")
        except UnicodeDecodeError:
            return None

    def real(self, path: str) -> str | None:
        """Where a path led; None where nothing was there."""
        tree, name = self._named(path)
        if tree is None:
            return super().real(name)
        return posixpath.join(tree.folder, name).rstrip("/") if name in tree.entries else None

    def is_folder(self, path: str) -> bool:
        """Whether a folder was there."""
        tree, name = self._named(path)
        if tree is None:
            return super().is_folder(name)
        return name in tree.entries and tree.entries[name].mode == FOLDER

    def matches(self, pattern: str) -> tuple[str, ...]:
        """Paths a glob stood for."""
        self._note(pattern)
        name = None if self._tree is None else self._tree.inside(pattern)
        if self._tree is None or name is None:
            return super().matches(pattern)
        if UNKNOWN in pattern or pattern.count("*") > STARS or len(pattern) > LONGEST:
            return ()
        folder, found = self._tree.folder, self._tree.matching("", name.split("/"))
        return tuple(f"{folder}/{each}" for each in islice(found, MOST // 4))

    def _place(self, path: str, target: Target) -> Place:
        """Where a target led."""
        tree, name = self._named(path)
        if tree is None:
            return super()._place(path, target)
        below: tuple[str, ...] = ()
        if target.tree and name in tree.entries:
            start = f"{name}/" if name else ""
            found = [f"{tree.folder}/{each}" for each in tree.entries if each and each.startswith(start)]
            below = (*found[:MANY], UNKNOWN) if len(found) > MANY else tuple(found)
        entry = self._real(path, entry=True)
        return Place(
            posixpath.normpath(path), entry if target.entry else self._real(path, entry=False), entry, 1, below
        )

    def _real(self, path: str, *, entry: bool) -> str:
        if self._tree is None:
            return super()._real(path, entry=entry)
        folder, name = posixpath.split(path.rstrip("/"))
        if entry and name not in ("", ".", ".."):
            return posixpath.join(self._tree.real(folder), name)
        return self._tree.real(path)


class PastJudge(Judge):
    """A judge who sees one worktree as it was."""

    def __init__(self, tree: Tree | None, own: tuple[str, ...]) -> None:
        """Script gates run as processes of this machine, and see what is there today."""
        super().__init__(run_gate_script)
        self._tree, self._own = tree, own
        self.seen = self.machine_of("/nonexistent", {})
        """What the last call was judged with."""

    def machine_of(self, home: str, variables: Mapping[str, str]) -> PastMachine:
        """A new one for one call."""
        return PastMachine(self._parser, home, dict(variables), self._tree, self._own)

    def machine(self, policy: Policy) -> Machine:
        """The world as this policy saw it."""
        self.seen = self.machine_of(policy.home, {"TMPDIR": policy.scratch[0]} if policy.scratch else {})
        return self.seen
