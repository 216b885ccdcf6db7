"""What the forge answers: what a draft would become, how it was tried, what was written and how to take it back."""

from typing import Any, Literal

from msgspec import Struct

from keisei.records.draft import FieldProblem, Severity

Topic = Literal["parallel", "retry", "cache", "reach"]
Held = Literal["held", "violated", "not-checked"]


class PlannedFile(Struct, frozen=True, kw_only=True):
    """One file that would be written."""

    path: str
    """Relative to the folder of packages; its first part is the package."""
    content: str
    """What it would hold."""
    was: str | None
    """What it holds now; None for a file that is not there."""
    diff: str
    """A unified diff of the two."""


class LintProblem(Struct, frozen=True, kw_only=True):
    """What lint says of a planned file."""

    path: str
    """Which one, as `PlannedFile.path`."""
    line: int | None
    """Where, from 1."""
    column: int | None
    """Likewise."""
    code: str
    """The rule; `keisei check --explain` tells more."""
    severity: Severity
    """A warning does not keep it from being written."""
    message: str
    """What is wrong."""
    hint: str | None
    """What to do."""


class Sentence(Struct, frozen=True, kw_only=True):
    """What follows from kind and effects, in plain words."""

    topic: Topic
    """Beside what it runs, whether it is tried again, whether results are kept, what the sandbox opens."""
    text: str
    """The sentence."""


class Breakage(Struct, frozen=True, kw_only=True):
    """What a changed atom no longer promises."""

    answer: Literal["compatible", "undecided", "breaking"]
    """Whether somebody who uses it as it is saved could notice."""
    changes: tuple[LintProblem, ...] = ()
    """What breaks, with a document that shows it where one is found."""


class Look(Struct, frozen=True, kw_only=True):
    """A draft, judged."""

    atom: str
    """Its id, as far as it has one."""
    ready: bool
    """Nothing keeps it from being written."""
    digest: str
    """Of the planned files; handed to `write`, nothing else is written than what was looked at."""
    problems: tuple[FieldProblem, ...]
    """What is wrong with its fields."""
    lint: tuple[LintProblem, ...]
    """What is wrong with the files."""
    files: tuple[PlannedFile, ...]
    """What would be written."""
    words: tuple[Sentence, ...]
    """Its effects in plain words."""
    neighbours: tuple[str, ...]
    """Ids of the atoms it never runs beside."""
    breakage: Breakage | None
    """Of an atom that is edited."""


class TriedExample(Struct, frozen=True, kw_only=True):
    """One input, called."""

    example: str
    """Where it stands."""
    input: Any
    """What went in."""
    outcome: Literal["ok", "declared", "failed", "missing"]
    """An output that fits; an error that the page declares; anything else; no program to call."""
    output: Any
    """What came out, of a stream its first items; None where nothing did."""
    code: str | None
    """Of the error: its code, or its kind."""
    message: str | None
    """Of the error: what it says."""
    said: str
    """What the atom wrote for people."""
    duration_ms: float
    """How long it took, the start of a process included."""


class TriedOut(Struct, frozen=True, kw_only=True):
    """A draft, tried in the sandbox."""

    ok: bool
    """Every example that was called gave what it should."""
    isolation: str
    """How surely it was held: full, landlock, none."""
    examples: tuple[TriedExample, ...]
    """Each example."""
    problems: tuple[FieldProblem, ...] = ()
    """Why nothing was tried, or not all of it."""
    lint: tuple[LintProblem, ...] = ()
    """Likewise."""


class Postcondition(Struct, frozen=True, kw_only=True):
    """Something that holds of what was written, or does not."""

    name: Literal["lint", "smoke-test", "visible", "cargo-check"]
    """What was looked at."""
    status: Held
    """What was found."""
    detail: str
    """In a sentence."""


class Written(Struct, frozen=True, kw_only=True):
    """What became of a draft that was written."""

    atom: str
    """Its id."""
    status: Literal["written", "kept", "undone"]
    """Everything holds; something does not and the files stay, as was asked for; or they were taken back."""
    receipt_id: str | None
    """What `undo` takes; None where it was undone already."""
    files: tuple[str, ...]
    """What was written, relative to the folder of packages."""
    postconditions: tuple[Postcondition, ...]
    """What was looked at afterwards."""


class Receipt(Struct, frozen=True, kw_only=True):
    """Something that was written and can be taken back."""

    receipt_id: str
    """What `undo` takes."""
    atom: str
    """The atom's id."""
    at: str
    """When it was written, ISO 8601 in UTC."""
    folder: str
    """The folder of packages, absolute."""
    files: tuple[str, ...]
    """What was written, relative to it."""


class Undone(Struct, frozen=True, kw_only=True):
    """What was taken back."""

    atom: str
    """The atom's id."""
    removed: tuple[str, ...]
    """Files and folders that are gone."""
    restored: tuple[str, ...]
    """Files that are as they were before."""


class PackageChoice(Struct, frozen=True, kw_only=True):
    """A package that an atom can go to."""

    name: str
    """Its name."""
    folder: str
    """Where it stands, absolute."""
    language: Literal["python", "rust"]
    """What it is written in."""
    backend: str
    """Where its state lives; empty where its metadata cannot be read."""
    verbs: tuple[str, ...]
    """The atoms it has."""
    problem: str | None
    """Why it can take none; None where it can."""


class Packages(Struct, frozen=True, kw_only=True):
    """Where atoms can go."""

    folder: str
    """Where a new package would stand, absolute."""
    packages: tuple[PackageChoice, ...]
    """Those that are there."""
