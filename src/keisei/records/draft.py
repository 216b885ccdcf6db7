"""Drafts of atoms: what a form holds before anything is written, half-filled or not. Internal: no published schema."""

from typing import Any, Literal

from msgspec import Struct

from keisei.records.atom import AtomKind, Stability

RowType = Literal["string", "integer", "number", "boolean", "object", "array", "any"]
Severity = Literal["error", "warning"]


class SchemaRow(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One property of an object, as a line of a form."""

    name: str = ""
    """What it is called."""
    type: RowType = "string"
    """What it holds."""
    required: bool = True
    """Whether it must be there."""
    nullable: bool = False
    """Whether it may be null."""
    description: str = ""
    """What it means."""
    example: Any = None
    """One value; None for none. A text where no text is due is read as JSON, as a form sends it."""
    choices: tuple[str, ...] = ()
    """Of a text: the only values it may have."""
    minimum: int | float | None = None
    """Of a number: the least."""
    maximum: int | float | None = None
    """Of a number: the most."""
    min_length: int | None = None
    """Of a text: the fewest characters."""
    max_length: int | None = None
    """Of a text: the most characters."""
    items: RowType | None = None
    """Of a list: what its items are; None for anything."""
    fields: tuple["SchemaRow", ...] | None = None
    """Of an object, or of a list of objects: their properties; None for any."""


class SchemaDraft(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What goes in or comes out: raw JSON Schema, else rows, else an example to infer it from, else a default."""

    raw: Any = None
    """A JSON Schema as an object, or as its text; None where it is not said so."""
    rows: tuple[SchemaRow, ...] | None = None
    """The properties in their order; None where it is not said so."""
    example: Any = None
    """An object, or its text, that the schema is inferred from; None where it is not said so."""
    examples: tuple[Any, ...] = ()
    """With rows: whole examples, after the one that the rows' own make up where one of them has any."""
    title: str = ""
    """With rows: the schema's title; empty for the usual one."""
    description: str = ""
    """With rows: what the whole is."""
    closed: bool | None = None
    """With rows: whether other properties are refused; None for the usual: of an input they are."""


class ErrorDraft(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One way it fails."""

    code: str = ""
    """PascalCase."""
    http_analog: int | str | None = None
    """The HTTP status it resembles."""
    description: str = ""
    """What happened and what to do."""


class EffectDraft(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One thing it touches."""

    op: str = ""
    """What is done: read, write, network, subprocess, other."""
    domain: str = ""
    """To what."""


class AtomDraft(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """An atom that is being written. Everything may be missing or wrong."""

    package: str = ""
    """The package it goes to, which may be there or not."""
    verb: str = ""
    """What it is called there."""
    kind: AtomKind = "command"
    """What it does to the world."""
    description: str = ""
    """What it does, in a sentence."""
    language: Literal["", "python", "rust"] = ""
    """Empty: that of the package, else Python."""
    backend: Literal["", "sqlite", "filesystem", "memory", "remote"] = ""
    """Where the package's state lives; empty: as the package has it, else `memory`."""
    input: SchemaDraft = SchemaDraft()
    """What goes in."""
    output: SchemaDraft = SchemaDraft()
    """What comes out, of a stream each item."""
    errors: tuple[ErrorDraft, ...] = ()
    """How it fails."""
    effects: tuple[EffectDraft, ...] | None = None
    """What it touches; None for what its kind and backend suggest."""
    idempotent: bool | None = None
    """Whether doing it twice is doing it once; None for what its effects suggest."""
    timeout_ms: int = 30_000
    """Enforced by the runtime."""
    stability: Stability = "experimental"
    """How much its shape may still change."""
    keywords: tuple[str, ...] = ()
    """Words to find it by."""
    code: str | None = None
    """The function's whole file; None for one that is made, and of an atom that is edited for the one it has."""
    body: str | None = None
    """The page below its frontmatter; None likewise."""
    edits: str | None = None
    """The id of the atom that is edited; None for a new one."""


class FieldProblem(Struct, frozen=True, kw_only=True):
    """What is wrong with one field of a draft."""

    field: str
    """Which one: `verb`, `errors[0].code`, `input.rows[2].name`."""
    message: str
    """What is wrong."""
    hint: str | None = None
    """What to do."""
    severity: Severity = "error"
    """A warning does not keep it from being written."""
