"""An atom's declared effects, held against its kind and against the input fields they name."""

import re
from collections.abc import Iterator

from keisei.contracts.words import nearest
from keisei.library.atom_spec import Atom
from keisei.library.document import Document, parse
from keisei.library.source import inside, is_file, read_source
from keisei.records.atom import AtomManifest
from keisei.records.error import AuthorError
from keisei.records.problem import Problem
from keisei.rules.atom_effect import reads

EFFECT = re.compile(r"\s*(read|write|network|subprocess|other):\s*(\S*)\s*")
OPERATIONS = ("read", "write", "network", "subprocess", "other")
TEMPLATE = re.compile(r"[a-z][a-z0-9-]*:\{([A-Za-z_][A-Za-z0-9_-]*)\}(?:/\*\*)?")
"""A domain that names an input field: `fs:{path}`, or `fs:{path}/**` for everything below it too."""


def check_effects(atom: Atom) -> Iterator[Problem]:
    """Every complaint about the effects of one page."""
    manifest, document = atom.manifest, atom.loaded.document
    if manifest.kind == "transform" and manifest.side_effects:
        yield document.problem("effects", ("side_effects",), "a transform has no side effects")
    yield from _idle(manifest, document)
    for index, effect in enumerate(manifest.side_effects):
        if manifest.kind == "query" and not reads(manifest, effect):
            message = f"a query only reads; this effect is `{effect.op}`"
            yield document.problem("effects", ("side_effects", index, "op"), message)
        if effect.domain.split(":")[0] in OPERATIONS:
            message = f"domain `{effect.domain}` repeats the operation; write the two apart"
            hint = structured(effect.domain)
            yield document.problem("effect-spelling", ("side_effects", index, "domain"), message, hint)
    yield from _fields(atom)


def _idle(manifest: AtomManifest, document: Document) -> Iterator[Problem]:
    if manifest.kind == "command" and all(effect.op == "read" for effect in manifest.side_effects):
        declares = "only reads" if manifest.side_effects else "no side effects"
        hint = "declare what it changes, or make it a query or a transform"
        message = f"a command changes something; this one declares {declares}"
        yield document.problem("idle-command", ("side_effects",), message, hint, severity="warning")


def _fields(atom: Atom) -> Iterator[Problem]:
    """Domains whose field nobody gives: what such an effect touches would never be known before the call."""
    document, fields = atom.loaded.document, None
    for index, effect in enumerate(atom.manifest.side_effects):
        if not {"{", "}"} & set(effect.domain):
            continue
        place, found = ("side_effects", index, "domain"), TEMPLATE.fullmatch(effect.domain)
        if found is None:
            message = f"domain `{effect.domain}` is no template"
            hint = "write `fs:{path}`, or `fs:{path}/**` for everything below it"
            yield document.problem("effect-field", place, message, hint)
            continue
        fields = _given(atom) if fields is None else fields
        if fields is not None and found[1] not in fields:
            message = f"domain `{effect.domain}` names no property of the input"
            yield document.problem("effect-field", place, message, nearest(found[1], fields))


def _given(atom: Atom) -> frozenset[str] | None:
    """The properties of the input; None where its schema cannot be read, which is told elsewhere."""
    path = inside(atom.loaded.document.source.path.parent, atom.manifest.input.schema)
    if path is None or not is_file(path):
        return None
    try:
        schema = parse(read_source(path)).data
    except AuthorError:
        return None
    properties = schema.get("properties", {}) if isinstance(schema, dict) else None
    return frozenset(properties) if isinstance(properties, dict) else None


def structured(text: str) -> str:
    """How an effect is written that was written in one text."""
    found = EFFECT.fullmatch(text)
    op, domain = (found[1], found[2] or "fs") if found else ("write", text.strip() or "fs")
    return f"write `{{ op: {op}, domain: {domain} }}`"
