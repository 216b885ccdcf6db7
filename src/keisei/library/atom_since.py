"""Breaking changes: what an atom promised at an earlier revision and does not keep now.

Input: what was valid stays valid. Output: what comes out now was valid before. What cannot be proved needs a person.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from keisei.contracts.compare import changes
from keisei.contracts.containment import Fit, fits
from keisei.library.atom_spec import Atom, read_atom
from keisei.library.document import Document, parse
from keisei.library.package import Package, atom_files
from keisei.library.schema_addition import differing, without_additions
from keisei.library.schema_bundle import bundled
from keisei.library.source import Source, inside, read_source, shown_path
from keisei.records.atom import AtomManifest
from keisei.records.error import AuthorError
from keisei.records.problem import Problem

MIXED = ("$ref", "allOf", "anyOf", "oneOf", "if", "not", "patternProperties", "propertyNames")
BREAKING = {"input": "breaking-input", "output": "breaking-output"}
AGAIN = "keep the old shape here, and put the new one into an atom of its own such as `{0}-v2`"


class Past(NamedTuple):
    """An earlier revision."""

    name: str
    """As its author calls it."""
    pages: tuple[Path, ...]
    """Every page of an atom there was, absolute, where what is checked stands now."""
    read: Callable[[Path], bytes | None]
    """A file as it was; None where it was not there."""


class _Then(NamedTuple):
    """One atom as it was."""

    page: Path
    manifest: AtomManifest


def check_since(packages: Iterable[Package], past: Past, only: str | None = None) -> Iterator[Problem]:
    """Every promise that is not kept, of one package if it is named.

    Pages that cannot be read now are told elsewhere; those that could not be read then promised nothing.
    """
    now, unread = _current(packages)
    then_all = {each.manifest.atom: each for each in _before(past)}
    before = {name: each for name, each in then_all.items() if only in (None, name.partition("::")[0])}
    for name, then in sorted(before.items()):
        if name in now:
            yield from _compared(then, now[name], past)
        elif then.page not in unread and not then.manifest.deprecated and then.manifest.stability != "deprecated":
            yield _removed(then, now, before, past)


def _current(packages: Iterable[Package]) -> tuple[dict[str, Atom], set[Path]]:
    found: dict[str, Atom] = {}
    unread: set[Path] = set()
    for package in packages:
        for path in atom_files(package):
            try:
                atom = read_atom(path, package)
            except AuthorError:
                unread.add(path)
            else:
                found[atom.manifest.atom] = atom
    return found, unread


def _before(past: Past) -> Iterator[_Then]:
    nowhere = Package("", Path(), None, (), Path())
    for page in past.pages:
        try:
            manifest = read_atom(page, nowhere, lambda path: _source(past, path)).manifest
        except AuthorError:
            continue
        if manifest.atom.endswith(f"::{page.stem}"):
            yield _Then(page, manifest)


def _source(past: Past, path: Path) -> Source:
    """A file as it was. Raises AuthorError where it was not there, or was no text."""
    raw = past.read(Path(os.path.normpath(path)))
    try:
        if raw is not None:
            return Source(path, shown_path(path), raw, raw.decode("utf-8"))
    except UnicodeDecodeError:
        pass
    message = f"cannot be read as it was at `{past.name}`"
    raise AuthorError([Problem(code="unreadable", path=shown_path(path), message=message)])


def _removed(then: _Then, now: dict[str, Atom], before: dict[str, _Then], past: Past) -> Problem:
    """An atom that is gone, and which one it became, if one looks like it."""
    name = then.manifest.atom
    verb = name.partition("::")[2]
    new = [each for each in now if each not in before]
    same_page = (each for each in new if now[each].loaded.document.source.path == then.page)
    same_verb = (each for each in new if each.partition("::")[2] == verb)
    became = next(same_page, None) or next(same_verb, None)
    message = f"atom `{name}` was there at `{past.name}`, was not deprecated, and is gone"
    hint = f"bring it back with `deprecated: use {became or 'what replaces it'}`"
    hint = f"it looks as if it were `{became}` now: {hint}" if became else hint
    return Problem(code="removed-atom", path=shown_path(then.page), line=1, column=1, message=message, hint=hint)


def _compared(then: _Then, atom: Atom, past: Past) -> Iterator[Problem]:
    document, was, now = atom.loaded.document, then.manifest, atom.manifest
    hint = AGAIN.format(now.atom.partition("::")[2])
    if was.kind != now.kind:
        message = f"kind is `{now.kind}`; at `{past.name}` it was `{was.kind}`"
        yield document.problem("changed-kind", ("kind",), message, hint)
    for promise in ("idempotent", "keyed"):
        if getattr(was, promise) and not getattr(now, promise):
            message = f"`{promise}` is no longer true; at `{past.name}` it was"
            yield document.problem("lost-idempotence", (promise,), message, hint)
    kept = {error.code for error in now.errors}
    for error in was.errors:
        if error.code not in kept:
            message = f"error `{error.code}` is gone; at `{past.name}` it was declared"
            yield document.problem("removed-error", ("errors",), message, hint)
    for side in ("input", "output"):
        yield from _schemas(then, atom, side, past)


def _schemas(then: _Then, atom: Atom, side: str, past: Past) -> Iterator[Problem]:
    """One schema, before and now. One that cannot be read now is told by lint itself."""
    path = inside(atom.loaded.document.source.path.parent, getattr(atom.manifest, side).schema)
    try:
        document = parse(read_source(path or Path()))
        now = bundled(document.source.path)
    except AuthorError:
        return
    try:
        file = Path(os.path.normpath(then.page.parent / getattr(then.manifest, side).schema))
        was = bundled(file, lambda each: _source(past, each))
    except AuthorError as error:
        message = f"the {side} schema cannot be compared: {error.problems[0].message}"
        yield document.problem("undecided-change", (), message, "look at it yourself", severity="warning")
        return
    if changes(was, now, proved=False):
        yield from _judged(document, side, was, now, past)


def _judged(document: Document, side: str, was: Any, now: Any, past: Past) -> Iterator[Problem]:  # noqa: ANN401 - any JSON
    goes_in = side == "input"
    fit = _fit(side, *differing(was, now))
    if fit.answer == "yes":
        return
    left = without_additions(was, now, required=not goes_in)
    place = _own_place(document.data, _place(was, left) if goes_in else _place(left, was))
    shown = f": {fit.example}" if fit.example else ""
    is_mild = _is_mild(side, was, left)
    if fit.answer == "unknown" and not is_mild:
        message = f"the {side} schema changed since `{past.name}`, and whether that breaks callers is not known{shown}"
        yield document.problem("undecided-change", place, message, "look at it yourself", severity="warning")
        return
    told = "an input that was valid is refused now" if goes_in else "an output comes out now that was not valid"
    message = f"{told} (since `{past.name}`){shown}"
    hint = AGAIN.format(document.source.path.stem.removesuffix(f"-{side}"))
    if is_mild:  # additions, as far as people are concerned
        hint = "only properties are concerned that were not declared; look whether anybody used them"
        place = _own_place(document.data, _place(was, now) if goes_in else _place(now, was))
        yield document.problem(BREAKING[side], place, message, hint, severity="warning")
    else:
        yield document.problem(BREAKING[side], place, message, hint)


def _fit(side: str, was: Any, now: Any) -> Fit:  # noqa: ANN401 - any JSON
    return fits(was, now) if side == "input" else fits(now, was)


def _is_mild(side: str, was: Any, left: Any) -> bool:  # noqa: ANN401 - any JSON
    """Whether nothing breaks but for properties that nobody had declared; a schema that closes breaks."""
    if not changes(was, left, proved=False):
        return True
    one, other = differing(was, left)
    return _fit(side, one if side == "input" else _opened(one), other).answer == "yes"


def _place(source: object, target: object) -> tuple[str | int, ...]:
    """Where the first difference stands that can break something."""
    found = [each for each in changes(source, target, proved=False) if each.kind != "compatible"]
    worst = next((each for each in found if each.kind == "breaking"), found[0] if found else None)
    steps = worst.path.split("/")[1:] if worst else []
    return tuple(int(step) if step.isdecimal() else step.replace("~1", "/").replace("~0", "~") for step in steps)


def _own_place(data: Any, place: tuple[str | int, ...]) -> tuple[str | int, ...]:  # noqa: ANN401 - any JSON
    """The place in this file; of a change in a fragment the reference to it, where it stands here."""
    own = data.get("definitions") if isinstance(data, dict) else None
    if place[:1] != ("definitions",) or (isinstance(own, dict) and place[1] in own):
        return place
    name = str(place[1])
    return next((path for path, led in _references(data, ()) if Path(led.partition("#")[0]).stem == name), ())


def _references(data: object, path: tuple[str | int, ...]) -> Iterator[tuple[tuple[str | int, ...], str]]:
    pairs = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, item in pairs:
        if key == "$ref" and isinstance(item, str):
            yield (*path, key), item
        elif key not in ("examples", "enum", "const", "default"):
            yield from _references(item, (*path, key))


def _opened(schema: Any) -> Any:  # noqa: ANN401 - any JSON
    """The schema for readers who pass over what they do not know."""
    return _plain_objects(schema, lambda each: {key: value for key, value in each.items() if not _closes(key, value)})


def _closes(key: str, value: object) -> bool:
    return key == "additionalProperties" and value is False


def _plain_objects(schema: Any, change: Callable[[dict[str, Any]], dict[str, Any]]) -> Any:  # noqa: ANN401 - any JSON
    """The schema with its plain objects changed, in lists and in each other; nothing where schemas are combined."""
    if not isinstance(schema, dict) or any(key in schema for key in MIXED):
        return schema
    changed = dict(schema)
    if isinstance(schema.get("properties"), dict):
        changed["properties"] = {name: _plain_objects(each, change) for name, each in schema["properties"].items()}
        changed = change(changed)
    if isinstance(schema.get("items"), dict):
        changed["items"] = _plain_objects(schema["items"], change)
    return changed
