"""What predicates ask of the world."""

from collections.abc import Sequence
from typing import Protocol

from keisei.records.verification import CommandRun, Fork, Outline


class Contents(Protocol):
    """Contents of files, by the object that holds them."""

    def read(self, blob: str, most: int) -> bytes | None:
        """The content; None where there is none or it is larger than `most` bytes. Raises WorldFault."""

    def outlines(self, files: Sequence[tuple[str, str]]) -> Sequence[Outline]:
        """What a parser sees in files, each a path (for its language) and a blob; one outline each, in order."""

    def is_at_base(self, path: str) -> bool:
        """Whether the base has a file or folder of this name."""


class Commands(Protocol):
    """Commands, run on clean checkouts. Every answer is remembered: asking twice runs once."""

    def named(self, kind: str) -> tuple[str, ...]:
        """The commands of a kind (`check` or `test`): the task's, else its crates', else the project's; or none."""

    def merged(self, command: str) -> CommandRun:
        """What it says of the merged tree. Raises WorldFault where it cannot be asked."""

    def base(self, command: str) -> CommandRun:
        """What it says of main as it is, without the candidate."""

    def census(self) -> "Census":
        """The tests in files that the candidate touches, before and after."""


class Census(Protocol):
    """Tests of touched files, as parsers see them."""

    @property
    def files(self) -> tuple[str, ...]:
        """Touched files that hold tests, before or after."""

    @property
    def emptied(self) -> tuple[str, ...]:
        """Tests that are there and check nothing, which the base does not have so: `path: name`."""

    @property
    def skipped(self) -> tuple[str, ...]:
        """Tests that are marked to be skipped now and were not."""

    @property
    def removed(self) -> tuple[str, ...]:
        """Tests that are gone, and not found elsewhere in what the candidate touches."""


class Forks(Protocol):
    """Other candidates, and the ledger."""

    def find(self, target: str) -> Fork | None:
        """The candidate of an agent-id, a task id or a commit; None where there is none."""

    def has_commit(self, commit: str) -> bool:
        """Whether the repository has it."""

    def conflicts(self, commit: str) -> tuple[str, ...] | None:
        """Paths in which it conflicts with main as it is; None where the commit is not there."""

    def has_row(self) -> bool:
        """Whether the ledger holds a row of this spawn."""
