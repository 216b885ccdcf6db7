"""The forge page: a new atom, or one that is edited, as a form with every file it makes."""

import json
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from typing import Annotated, Final, NamedTuple

from msgspec import Meta, Struct
from msgspec.structs import replace

from keisei.console.asking import Key
from keisei.console.forge_bench import ForgeBench, KeptDraft
from keisei.console.forge_form import draft_form, try_form, undo_form, write_form
from keisei.console.forge_order import (
    HERE,
    infer_schema,
    look_at_draft,
    try_draft,
    turn_schema,
    undo_write,
    write_draft,
)
from keisei.console.page import Missing, order, page
from keisei.console.premises import Premises
from keisei.records.draft import AtomDraft, SchemaDraft
from keisei.records.error import KeiseiError
from keisei.wiring.forge import Forge
from keisei.wiring.forge_result import Look, PackageChoice, Receipt, TriedOut, Undone, Written

RECEIPTS: Final = 20
"""What was written lately, as much of it as is shown."""


class ForgeAsk(Struct, frozen=True, kw_only=True):
    """What the form begins with."""

    edit: Key | None = None
    """The id of an atom that is edited."""
    package: Annotated[str, Meta(max_length=200)] = ""
    """The package of a new one."""
    kept: Key | None = None
    """A draft that the console remembers since an order."""


class ForgeReceipt(Struct, frozen=True, kw_only=True):
    """Something that was written and can be taken back."""

    receipt_id: str
    """What taking it back asks for."""
    atom: str
    """The atom's id."""
    at: datetime
    """When it was written."""
    files: tuple[str, ...]
    """What was written, relative to the folder of packages."""


class ForgePage(Struct, frozen=True, kw_only=True):
    """The form, and what it makes."""

    draft: AtomDraft
    """What the form holds."""
    look: Look | None
    """What it would become; null for a form that is empty."""
    tried: TriedOut | None
    """How it was tried, where that was just asked for."""
    written: Written | None
    """How it was written, likewise."""
    undone: Undone | None
    """What was taken back, likewise."""
    folder: str
    """Where a new package would stand."""
    packages: tuple[PackageChoice, ...]
    """Those there are."""
    receipts: tuple[ForgeReceipt, ...]
    """What was written lately and can be taken back, the newest first."""


class _Shown(NamedTuple):
    """What the page is about."""

    kept: KeptDraft
    looks: bool


def show_forge(premises: Premises, asks: ForgeAsk) -> ForgePage:
    """The forge: a draft of an atom, every file it would make, and what was written lately."""
    bench = premises.keep(ForgeBench)
    receipts, places = bench.forge.receipts(), bench.forge.packages()
    kept, looks = _shown(bench, asks, receipts, places.packages)
    return ForgePage(
        draft=replace(kept.draft, input=_as_text(kept.draft.input), output=_as_text(kept.draft.output)),
        look=bench.forge.look(kept.draft) if looks else None,
        tried=kept.tried,
        written=kept.written,
        undone=kept.undone,
        folder=places.folder,
        packages=places.packages,
        receipts=tuple(_told(receipts[:RECEIPTS])),
    )


def _shown(
    bench: ForgeBench, asks: ForgeAsk, receipts: tuple[Receipt, ...], packages: tuple[PackageChoice, ...]
) -> _Shown:
    if asks.kept is not None:
        kept = bench.memory.find(asks.kept)
        if kept is None:
            raise Missing("the console does not remember this draft any more", "/forge begins a new one")
        return _after(bench.forge, kept)
    if asks.edit is not None:
        return _Shown(KeptDraft(draft=_edited(bench.forge, asks.edit)), looks=True)
    return _Shown(KeptDraft(draft=AtomDraft(package=asks.package or _usual(receipts, packages))), looks=False)


def _after(forge: Forge, kept: KeptDraft) -> _Shown:
    """What follows an order: where an atom was written the form shows it again, or begins anew in the same package."""
    if kept.written is None or kept.written.status == "undone":
        return _Shown(kept, looks=kept.looked or kept.written is not None)
    draft = AtomDraft(package=kept.draft.package)
    if kept.draft.edits is not None:
        with suppress(KeiseiError):  # gone meanwhile
            draft = forge.edit(kept.draft.edits)
    return _Shown(KeptDraft(draft=draft, written=kept.written), looks=draft.edits is not None)


def _edited(forge: Forge, atom: str) -> AtomDraft:
    """The atom as a draft. Raises Missing for what is no id at all, else as the forge does."""
    if not atom.isprintable():
        raise Missing("there is no atom of this name", "/atoms lists those there are")
    return forge.edit(atom)


def _as_text(side: SchemaDraft) -> SchemaDraft:
    """Raw JSON as the form shows it."""
    if side.raw is None or isinstance(side.raw, str):
        return side
    return replace(side, raw=json.dumps(side.raw, ensure_ascii=False, indent=2))


def _told(receipts: Iterable[Receipt]) -> Iterator[ForgeReceipt]:
    for each in receipts:
        at = datetime.min.replace(tzinfo=UTC)
        with suppress(ValueError):  # a receipt is a file, and anybody may have written in it
            at = datetime.fromisoformat(each.at).replace(tzinfo=UTC)
        yield ForgeReceipt(receipt_id=each.receipt_id, atom=each.atom, at=at, files=each.files)


def _usual(receipts: tuple[Receipt, ...], packages: tuple[PackageChoice, ...]) -> str:
    """The package that somebody who writes another atom most likely means; nothing where that is not clear."""
    there = {each.name for each in packages if each.problem is None}
    lately = [name for each in receipts if (name := each.atom.partition("::")[0]) in there]
    return lately[0] if lately else next(iter(there)) if len(there) == 1 else ""


PAGES: Final = (page("/forge", "forge.html", show_forge),)
ORDERS: Final = (
    order("/forge/look", look_at_draft, lambda done: done.page, needs="viewer", form=draft_form),
    order("/forge/infer", infer_schema, lambda _done: HERE, needs="viewer"),
    order("/forge/schema", turn_schema, lambda _done: HERE, needs="viewer"),
    order("/forge/try", try_draft, lambda done: done.page, form=try_form),
    order("/forge/write", write_draft, lambda done: done.page, form=write_form),
    order("/forge/undo", undo_write, lambda done: done.page, form=undo_form),
)
