"""Orders of the forge: a draft looked at, tried, written whole or not at all, and taken back."""

from collections.abc import Callable
from contextlib import suppress
from typing import Annotated, Any, Final, Literal

from msgspec import Meta, Struct
from msgspec.structs import replace

from keisei.console.asking import Key
from keisei.console.forge_bench import ForgeBench, KeptDraft
from keisei.console.page import Missing
from keisei.console.premises import Premises
from keisei.console.visitor import Visitor
from keisei.records.draft import AtomDraft, SchemaDraft
from keisei.records.error import KeiseiError, OperatorError, Refused
from keisei.wiring.forge_result import Look, TriedOut, Undone, Written

LONGEST_MS: Final = 60_000
"""No trial from here takes longer, whatever the draft allows: a browser waits for it."""
HERE: Final = "/forge"
Side = Literal["input", "output"]
AtomName = Annotated[str, Meta(max_length=300)]


class ForgeLookOrder(Struct, frozen=True, kw_only=True):
    """A draft to look at."""

    draft: AtomDraft
    """It may be half-filled."""
    remember: bool = False
    """Keep it for a page of its own, as a form needs it."""


class ForgeLooked(Struct, frozen=True, kw_only=True):
    """What a draft would become."""

    look: Look
    """Every file, and what is wrong."""
    page: str
    """Where it is shown to people."""


def look_at_draft(premises: Premises, body: ForgeLookOrder, _visitor: Visitor) -> ForgeLooked:
    """What a draft would become and what is wrong with it; nothing is written."""
    bench = premises.keep(ForgeBench)
    look = bench.forge.look(body.draft)
    page = bench.remember(KeptDraft(draft=body.draft, looked=True)) if body.remember else HERE
    return ForgeLooked(look=look, page=page)


class ForgeTurned(Struct, frozen=True, kw_only=True):
    """A schema in another form, or why there is none."""

    draft: SchemaDraft | None
    """The schema; null where it cannot be told so."""
    why: str | None = None
    """Why not, and what to do."""


def _turned(turn: Callable[[], SchemaDraft]) -> ForgeTurned:
    """What came of it. That rows cannot say a schema is an answer: who asked goes on with what they have."""
    try:
        return ForgeTurned(draft=turn())
    except OperatorError as error:
        return ForgeTurned(draft=None, why=f"{error.message}; {error.hint}" if error.hint else error.message)


class ForgeInferOrder(Struct, frozen=True, kw_only=True):
    """An example that suggests a schema."""

    example: Any
    """An object, or its text."""
    side: Side
    """Which schema."""
    atom: AtomName = "package::verb"
    """Whose."""


def infer_schema(premises: Premises, body: ForgeInferOrder, _visitor: Visitor) -> ForgeTurned:
    """The schema that an example suggests, as rows where they can say it."""
    forge = premises.keep(ForgeBench).forge
    return _turned(lambda: forge.infer(body.example, body.side, body.atom))


class ForgeSchemaOrder(Struct, frozen=True, kw_only=True):
    """A schema to be told in its other form."""

    draft: SchemaDraft
    """As it is."""
    side: Side
    """Which schema."""
    form: Literal["rows", "raw"]
    """What it is to become."""
    atom: AtomName = "package::verb"
    """Whose."""


def turn_schema(premises: Premises, body: ForgeSchemaOrder, _visitor: Visitor) -> ForgeTurned:
    """The same schema as rows or as JSON; what rows cannot say is named."""
    forge = premises.keep(ForgeBench).forge
    way = forge.as_rows if body.form == "rows" else forge.as_raw
    return _turned(lambda: way(body.draft, body.side, body.atom))


class ForgeTryOrder(Struct, frozen=True, kw_only=True):
    """A draft to try."""

    draft: AtomDraft
    """What is called."""
    value: Any = None
    """What goes in; null for its examples."""
    remember: bool = False
    """Keep it for a page of its own, as a form needs it."""


class ForgeTried(Struct, frozen=True, kw_only=True):
    """What came of a trial."""

    tried: TriedOut
    """Each example."""
    page: str
    """Where it is shown to people."""


def try_draft(premises: Premises, body: ForgeTryOrder, _visitor: Visitor) -> ForgeTried:
    """Call the drafted atom in the sandbox, with a value or with its examples; nothing of the project is changed."""
    bench = premises.keep(ForgeBench)
    with bench.place():
        bounded = replace(body.draft, timeout_ms=min(body.draft.timeout_ms, LONGEST_MS))
        tried = bench.forge.try_out(bounded, body.value)
    page = bench.remember(KeptDraft(draft=body.draft, looked=True, tried=tried)) if body.remember else HERE
    return ForgeTried(tried=tried, page=page)


class ForgeWriteOrder(Struct, frozen=True, kw_only=True):
    """A draft to write."""

    draft: AtomDraft
    """What is written."""
    seen: Annotated[str, Meta(min_length=1, max_length=100)]
    """The digest of what was looked at: nothing else is written."""
    breaks: bool = False
    """Needed where somebody who uses the atom as it is could notice."""
    keep: bool = False
    """Leave the files there even where they do not hold."""
    remember: bool = False
    """Keep it for a page of its own, as a form needs it."""


class ForgeWritten(Struct, frozen=True, kw_only=True):
    """What became of a draft."""

    written: Written
    """Whether it stands, and what was looked at afterwards."""
    page: str
    """Where it is shown to people."""


def write_draft(premises: Premises, body: ForgeWriteOrder, _visitor: Visitor) -> ForgeWritten:
    """Write every file or none, and look whether they hold; where they do not they are taken back."""
    bench = premises.keep(ForgeBench)
    with bench.place():
        _check_breaks(bench, body)
        written = bench.forge.write(body.draft, keep=body.keep, seen=body.seen)
    page = bench.remember(KeptDraft(draft=body.draft, written=written)) if body.remember else HERE
    return ForgeWritten(written=written, page=page)


def _check_breaks(bench: ForgeBench, body: ForgeWriteOrder) -> None:
    """Raises Refused for a change that breaks somebody and was not said to."""
    if body.draft.edits is None or body.breaks:
        return
    broken = bench.forge.look(body.draft).breakage
    if broken is not None and broken.answer == "breaking":
        told = "; ".join(each.message for each in broken.changes[:2])
        message = f"this breaks whoever uses `{body.draft.edits}`: {told}. Nothing was written"
        raise Refused(message, "say `breaks: true` where that is meant")


class ForgeUndoOrder(Struct, frozen=True, kw_only=True):
    """Something to take back."""

    receipt_id: Key
    """As `/forge` lists it."""
    remember: bool = False
    """Keep it for a page of its own, as a form needs it."""


class ForgeUndone(Struct, frozen=True, kw_only=True):
    """What was taken back."""

    undone: Undone
    """Its files."""
    page: str
    """Where it is shown to people."""


def undo_write(premises: Premises, body: ForgeUndoOrder, _visitor: Visitor) -> ForgeUndone:
    """Put back what was before an atom was written, or nothing where somebody else changed a file since."""
    bench = premises.keep(ForgeBench)
    receipt = next((each for each in bench.forge.receipts() if each.receipt_id == body.receipt_id), None)
    if receipt is None:
        raise Missing("there is no such receipt", "/forge lists what can be taken back; each is used up once")
    draft = _draft_of(bench, receipt.atom) if body.remember else AtomDraft()
    undone = bench.forge.undo(body.receipt_id)
    is_gone = any(each.endswith(f"/{draft.verb}.md") for each in undone.removed)
    back = replace(draft, edits=None) if is_gone else draft
    page = bench.remember(KeptDraft(draft=back, undone=undone, looked=bool(draft.verb))) if body.remember else HERE
    return ForgeUndone(undone=undone, page=page)


def _draft_of(bench: ForgeBench, atom: str) -> AtomDraft:
    """What is about to be taken back, as a draft, so that no work is lost with it; an empty one where it cannot be."""
    with suppress(KeiseiError):
        return bench.forge.edit(atom)
    return AtomDraft()
