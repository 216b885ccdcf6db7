"""Requests for new atoms: what is asked for, checked, and the package it goes to."""

import os
from pathlib import Path
from typing import Any, Final, Literal

import msgspec
from msgspec import Struct

from keisei.library.atom_rust import is_fit_for_rust
from keisei.library.package import read_package
from keisei.library.package_place import LONGEST, is_name, is_real_folder
from keisei.library.template import one_line
from keisei.records.atom import AtomError, AtomKind, SideEffect, Stability
from keisei.records.error import OperatorError
from keisei.rules.atom_effect import READING

NewLanguage = Literal["python", "rust"]
Backend = Literal["sqlite", "filesystem", "memory", "remote"]
FIRST_VERSION: Final = "0.1.0"


class AtomRequest(Struct, frozen=True, kw_only=True):
    """What a new atom is to be."""

    atom: str
    """Its id, `<package>::<verb>`."""
    folder: Path
    """Where packages stand; the package may be there already."""
    kind: AtomKind = "command"
    """What it does to the world."""
    description: str = ""
    """What it does, in a sentence."""
    language: NewLanguage | None = None
    """None: that of the package, else Python."""
    input_example: Any = None
    """An input the schema is inferred from; None for a small default."""
    output_example: Any = None
    """An output, of a stream an item; likewise."""
    input_schema: dict[str, Any] | None = None
    """The input's schema where it is not inferred; its first example is the page's."""
    output_schema: dict[str, Any] | None = None
    """The output's; likewise."""
    errors: tuple[AtomError, ...] = ()
    """How it fails."""
    effects: tuple[SideEffect, ...] | None = None
    """What it touches; None for what its kind and backend suggest."""
    backend: Backend | None = None
    """Where the package's state lives; None: as the package has it, else `memory`."""
    idempotent: bool | None = None
    """Whether doing it twice is doing it once; None for what its effects suggest."""
    timeout_ms: int = 30_000
    """How long it may take."""
    stability: Stability = "experimental"
    """How much its shape may still change."""
    keywords: tuple[str, ...] = ()
    """Words to find it by."""
    code: str | None = None
    """The function's whole file; None for one that is made."""
    body: str | None = None
    """The page below its frontmatter; None for one that is made."""


class Home(Struct, frozen=True, kw_only=True):
    """The package the atom goes to, as it is or will be."""

    name: str
    """Its name."""
    verb: str
    """The new verb."""
    language: NewLanguage
    """What it is written in."""
    backend: Backend
    """Where its state lives."""
    version: str
    """Its version."""
    atoms: str
    """The folder of its pages, relative to its own."""
    migrations: str
    """The folder of its migrations, likewise."""
    is_new: bool
    """It is not there yet."""


def checked_id(text: str) -> tuple[str, str]:
    """Package and verb. Raises OperatorError for what cannot be an atom's id."""
    package, _, verb = text.partition("::")
    if len(text) > LONGEST or not (is_name(package) and is_name(verb)):
        message = f"`{one_line(text)[:LONGEST]}` is not an atom's id"
        hint = "write `<package>::<verb>`, lower-case words joined by `-`, as in `kei-thing::do-it`"
        raise OperatorError(message, hint)
    return package, verb


def checked_error(text: str) -> AtomError:
    """`Code:analog:description` as an error; the analog may be empty. Raises OperatorError."""
    code, _, rest = text.partition(":")
    analog, _, description = rest.partition(":")
    if analog and not (analog.isascii() and analog.isdigit()):
        raise _bad_error(text)
    data = {"code": code, "http_analog": int(analog) if analog else None, "description": one_line(description)}
    try:
        return msgspec.convert(data, AtomError)
    except (msgspec.ValidationError, ValueError) as error:
        raise _bad_error(text) from error


def _bad_error(text: str) -> OperatorError:
    hint = "write `Code:analog:description`, as in `NotFound:404:there is no such note`; the analog may be left empty"
    return OperatorError(f"`{one_line(text)[:80]}` is not an error", hint)


def checked_effect(text: str) -> SideEffect:
    """`op:domain` as an effect. Raises OperatorError."""
    op, _, domain = text.partition(":")
    try:
        return msgspec.convert({"op": op, "domain": domain}, SideEffect)
    except msgspec.ValidationError as error:
        hint = "write `op:domain` with an op of read, write, network, subprocess, other, as in `write:fs`"
        raise OperatorError(f"`{one_line(text)[:80]}` is not an effect", hint) from error


def home_of(request: AtomRequest) -> Home:
    """The package the atom goes to. Raises OperatorError where it cannot, AuthorError where the package is broken."""
    name, verb = checked_id(request.atom)
    folder = request.folder / name
    if not os.path.lexists(folder):
        return _new_home(request, name, verb)
    if not is_real_folder(str(folder)):
        raise OperatorError(f"`{folder}` is not a folder", "choose another package name, or remove it first")
    package = read_package(folder)
    found = package.found()
    language: NewLanguage = "python" if package.language == "python" else "rust"
    for what, wanted, has in (
        ("language", request.language, language),
        ("backend", request.backend, found.metadata.backend),
    ):
        if wanted not in (None, has):
            raise OperatorError(f"package `{name}` has the {what} `{has}`, not `{wanted}`", f"leave out the {what}")
    return Home(
        name=name,
        verb=verb,
        language=language,
        backend=found.metadata.backend,
        version=package.version or FIRST_VERSION,
        atoms=os.path.relpath(package.atoms, package.folder),
        migrations=found.metadata.migrations_dir or "migrations",
        is_new=False,
    )


def _new_home(request: AtomRequest, name: str, verb: str) -> Home:
    language = request.language or "python"
    if language == "rust" and not is_fit_for_rust(name):
        raise OperatorError(f"a Rust package cannot be called `{name}`", "choose another name, as in `kei-thing`")
    return Home(
        name=name,
        verb=verb,
        language=language,
        backend=request.backend or "memory",
        version=FIRST_VERSION,
        atoms="atoms",
        migrations="migrations",
        is_new=True,
    )


def effects_of(request: AtomRequest, home: Home) -> tuple[SideEffect, ...]:
    """What the atom touches. Raises OperatorError for effects that its kind cannot have."""
    if request.effects is None:
        return _usual_effects(request.kind, home)
    if request.kind == "transform" and request.effects:
        raise OperatorError("a transform has no effects", "leave out --effect, or choose another kind")
    if request.kind == "query" and any(each.op not in READING for each in request.effects):
        raise OperatorError("a query only reads", "give effects like `read:fs`, or choose the kind `command`")
    return tuple(dict.fromkeys(request.effects))


def _usual_effects(kind: AtomKind, home: Home) -> tuple[SideEffect, ...]:
    if kind == "transform":
        return ()
    domain = {"sqlite": f"{home.name}-db", "filesystem": "fs"}.get(home.backend, home.name)
    if kind == "command":
        return (SideEffect(op="network" if home.backend == "remote" else "write", domain=domain),)
    return (SideEffect(op="read", domain=domain),)
