"""Atoms: what can be done, one of them in full, and a form that calls it. What changes something asks first."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta, Struct

from keisei.console.asking import Cursor, Key, Limit
from keisei.console.atom_call import Calls
from keisei.console.atom_effect import effect_words
from keisei.console.atom_field import AtomField, fields_of
from keisei.console.atom_invoke import found_atom, invoke_atom, invoke_form, show_call
from keisei.console.atom_near import AtomNeighbours, AtomRows, neighbours
from keisei.console.atom_schema import AtomSchemaRow, schema_rows
from keisei.console.page import Order, Page, order, page
from keisei.console.premises import Premises
from keisei.contracts.secret_place import secret_values
from keisei.library.document import parse_frontmatter
from keisei.library.source import read_source
from keisei.records.atom import AtomError, AtomKind, Stability
from keisei.records.atom_spec import AtomRow, AtomSpec
from keisei.rules.atom_effect import only_reads
from keisei.rules.atom_telling import decisions

LEFT_OUT: Final = 20
Phrase = Annotated[str, Meta(max_length=200)]


class AtomListAsk(Struct, frozen=True, kw_only=True):
    """Which atoms."""

    q: Phrase | None = None
    """Only those whose id, first paragraph or keywords hold this."""
    kind: AtomKind | None = None
    """Only of this kind."""
    package: Phrase | None = None
    """Only of this package."""
    stability: Stability | None = None
    """Only so stable ones."""
    after: Cursor | None = None
    """Behind this id."""
    limit: Limit = 50
    """At most so many."""


class AtomListPage(Struct, frozen=True, kw_only=True):
    """Atoms by id."""

    items: tuple[AtomRow, ...]
    """Those that were asked for."""
    next: str | None
    """Where the list goes on."""
    total: int
    """How many were asked for in all."""
    packages: dict[str, int]
    """Every package, and how many atoms it has."""
    left_out: tuple[str, ...]
    """Pages that cannot be used, in words."""


def list_atoms(premises: Premises, asks: AtomListAsk) -> AtomListPage:
    """What can be done, package by package."""
    rows, problems = premises.keep(AtomRows).listed()
    packages = Counter(row.atom.partition("::")[0] for row in rows)
    found = [row for row in rows if _fits(row, asks)]
    behind = [row for row in found if asks.after is None or row.atom > asks.after]
    items = tuple(behind[: asks.limit])
    return AtomListPage(
        items=items,
        next=items[-1].atom if len(behind) > len(items) else None,
        total=len(found),
        packages=dict(sorted(packages.items())),
        left_out=tuple(each.render() for each in problems[:LEFT_OUT]),
    )


def _fits(row: AtomRow, asks: AtomListAsk) -> bool:
    if asks.kind not in (None, row.kind) or asks.stability not in (None, row.stability):
        return False
    if asks.package not in (None, row.atom.partition("::")[0]):
        return False
    return asks.q is None or asks.q.casefold() in f"{row.atom}\n{row.summary}\n{' '.join(row.keywords)}".casefold()


class AtomAsk(Struct, frozen=True, kw_only=True):
    """One atom."""

    atom_id: Key
    """Its id."""
    call: Key | None = None
    """A call whose input stands in the form."""


class AtomPage(Struct, frozen=True, kw_only=True):
    """One atom in full."""

    atom: str
    """Its id."""
    summary: str
    """What it does, in a paragraph."""
    kind: AtomKind
    """Command, query, stream or transform."""
    version: str
    """Its version."""
    stability: Stability
    """How much its shape may still change."""
    deprecated: str | None
    """What to use instead."""
    package: str
    """Where it belongs."""
    layer: str | None
    """Where it was found: root, kit, installed, user or project."""
    path: str
    """Its page, a file."""
    runs: str
    """What answers for it."""
    timeout_s: float
    """How long it may take."""
    body: str
    """Its page, as Markdown."""
    input_schema: dict[str, Any]
    """What goes in."""
    input_rows: tuple[AtomSchemaRow, ...]
    """The same in words."""
    output_schema: dict[str, Any]
    """What comes out; of a stream each item."""
    output_rows: tuple[AtomSchemaRow, ...]
    """The same in words."""
    errors: tuple[AtomError, ...]
    """How it fails."""
    effects: tuple[str, ...]
    """What it touches, by its own word; nothing for one that is pure."""
    decisions: dict[str, str]
    """What follows from that, in sentences."""
    examples: tuple[Any, ...]
    """Inputs, as people write them."""
    output_example: Any
    """One output."""
    neighbours: AtomNeighbours
    """What is near to it."""
    asks_first: bool
    """Whether a call must be confirmed: it does not only read."""
    fields: tuple[AtomField, ...] | None
    """The form that calls it; None where the input is written as JSON."""
    raw: str
    """The input that stands in the form, as JSON."""


def show_atom(premises: Premises, asks: AtomAsk) -> AtomPage:
    """One atom: what it promises, what it touches, what is near to it, and how it is called."""
    spec = found_atom(premises, asks.atom_id)
    manifest, package = spec.manifest, spec.package
    examples = _examples(spec)
    given = _before(premises, asks, spec, examples)
    return AtomPage(
        atom=spec.id,
        summary=spec.summary,
        kind=manifest.kind,
        version=manifest.version,
        stability=manifest.stability,
        deprecated=manifest.deprecated,
        package=package.name,
        layer=_layer(premises, spec),
        path=spec.page,
        runs=spec.function or f"the program `{package.name}`",
        timeout_s=manifest.timeout_ms / 1000,
        body=parse_frontmatter(read_source(Path(spec.page)))[1].strip("\n"),
        input_schema=spec.input_schema,
        input_rows=schema_rows(spec.input_schema),
        output_schema=spec.output_schema,
        output_rows=schema_rows(spec.output_schema),
        errors=manifest.errors,
        effects=effect_words(manifest),
        decisions=decisions(manifest),
        examples=examples,
        output_example=manifest.output.example,
        neighbours=neighbours(premises, spec.id),
        asks_first=not only_reads(manifest),
        fields=fields_of(spec.input_schema, given),
        raw=msgspec.json.format(msgspec.json.encode(given), indent=2).decode(),
    )


def _examples(spec: AtomSpec) -> tuple[Any, ...]:
    """Inputs that the page or the schema shows; every one once."""
    listed = spec.input_schema.get("examples")
    every = [spec.manifest.input.example, *(listed if isinstance(listed, list) else ())]
    found: list[Any] = []
    for each in every:
        if each is not None and each not in found:
            found.append(each)
    return tuple(found)


def _before(premises: Premises, asks: AtomAsk, spec: AtomSpec, examples: Sequence[Any]) -> Any:  # noqa: ANN401 - JSON
    """What stands in the form: the input of an earlier call, else the first example. Never a secret."""
    asked = None if asks.call is None else premises.keep(Calls).memory.find(asks.call)
    if asked is not None and asked.atom == spec.id and not secret_values(spec.input_schema, asked.input):
        return asked.input
    return examples[0] if examples else {}


def _layer(premises: Premises, spec: AtomSpec) -> str | None:
    rows, _ = premises.runtime.shelf.rows(package=spec.package.name)
    return next((row.layer for row in rows if row.atom == spec.id), None)


PAGES: Final[tuple[Page, ...]] = (
    page("/atoms", "atom_list.html", list_atoms),
    page("/atoms/{atom_id}", "atom.html", show_atom),
    page("/atoms/{atom_id}/calls/{call_id}", "atom_call.html", show_call),
)
ORDERS: Final[tuple[Order, ...]] = (
    order("/atoms/{atom_id}/invoke", invoke_atom, lambda called: called.page, form=invoke_form),
)
