"""Verification: what a verify is asked, what it looks at, and what it replies. Internal: no schema."""

from typing import Any, Literal

from msgspec import Struct

from keisei.records.capability import Severity
from keisei.records.finding import FindingStatus
from keisei.records.worktree import Change

RunFrom = Literal["merged", "worktree"]


class Planned(Struct, frozen=True, kw_only=True):
    """One capability's verify, with this task's parameters."""

    capability: str
    """Its current name."""
    kind: Literal["command", "diff", "report", "script"]
    """What is asked."""
    rule: str | None = None
    """Which built-in predicate of that kind."""
    command: str | None = None
    """For kind command without a rule: what to run."""
    script: str | None = None
    """For kind script: its absolute path."""
    run_from: tuple[RunFrom, ...] = ("merged",)
    """Where it is asked, in turn."""
    timeout_s: float = 600.0
    """Longer is an error, never held."""
    severity: Severity = "block"
    """Whether it rejects the candidate."""
    parameters: dict[str, Any] = {}
    """Defaults, then what the task brings, then what it sets."""
    lists: dict[str, tuple[str, ...]] = {}
    """The capability's lists: `paths`, `tool-patterns`, and every parameter that is a list."""


class Reply(Struct, frozen=True, kw_only=True):
    """What one predicate says."""

    status: FindingStatus
    """Held, violated, or why it cannot be said."""
    told: tuple[str, ...] = ()
    """Sentences, the most telling one first; there unless it held."""
    severity: Severity | None = None
    """Another severity than the capability's: what was red before and is no worse only warns."""


class Difference(Struct, frozen=True, kw_only=True):
    """A candidate, seen from where it was made and from where it lands. Renames are deletions and additions."""

    candidate: tuple[Change, ...]
    """From the base to the candidate: what the attempt did."""
    merged: tuple[Change, ...] = ()
    """From main's tip to the merged tree: what would land."""
    base_files: int = 0
    """Files the base has."""
    tampered: tuple[str, ...] = ()
    """What changed of the repository that no agent may change, one sentence each."""


class CommandRun(Struct, frozen=True, kw_only=True):
    """One command, run to its end on a clean checkout of one tree."""

    command: str
    """What was run, by `/bin/sh -c`."""
    tree: str
    """On which tree."""
    code: int | None
    """Its exit status; None where a signal or the time ended it."""
    timed_out: bool = False
    """The time ended it."""
    output: str = ""
    """What it wrote on both streams, as far as it is kept: the beginning and the end."""
    changed: tuple[str, ...] = ()
    """Files of the tree that it changed or removed while it checked them."""
    duration_ms: float = 0.0
    """How long it took."""


class Function(Struct, frozen=True, kw_only=True):
    """One function of a source file."""

    name: str
    """With what it is inside of: `Cart.total`."""
    start: int
    """Its first line, decorators and attributes not counted; from 1."""
    end: int
    """Its last line."""
    test: bool = False
    """It is a test, by the customs of its language."""
    empty: bool = False
    """A test that asserts nothing and calls nothing."""
    skipped: bool = False
    """A test that is marked to be skipped, ignored or expected to fail."""


class Outline(Struct, frozen=True, kw_only=True):
    """What a parser sees in a source file."""

    language: str | None
    """`python`, `rust` and so on; None where nobody here knows it."""
    lines: int
    """How many lines the file has."""
    functions: tuple[Function, ...] = ()
    """Every function, inner ones too, in order."""
    fault: str | None = None
    """Why it could not be read: a syntax error, too large, no text."""


class Said(Struct, frozen=True, kw_only=True):
    """What an agent said at its end."""

    text: str | None
    """Its last message."""
    file: str | None = None
    """What it wrote into the file AGENT_REPORT_PATH names; None where it wrote none."""


class Fork(Struct, frozen=True, kw_only=True):
    """Another attempt's candidate."""

    commit: str
    """The candidate."""
    files: tuple[str, ...]
    """Every path it changes."""
