"""Checks of atoms and their packages: seed 003's rules and ours. The scan is tolerant, lint is strict.

Each rule has a code of its own; `records/problem.py` explains them all.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from keisei.contracts.words import nearest
from keisei.library.atom_effect import check_effects, structured
from keisei.library.atom_function import check_function
from keisei.library.atom_package import check_metadata, metadata_file
from keisei.library.atom_schema import check_schema
from keisei.library.atom_spec import LINK, Atom, read_atom
from keisei.library.document import Document, parse_frontmatter
from keisei.library.load import Loaded
from keisei.library.package import Package, atom_files
from keisei.library.shelf import entries
from keisei.library.source import inside, is_file, is_folder, read_source, shown_path
from keisei.library.telling import rest_of
from keisei.records.atom import AtomManifest
from keisei.records.error import AuthorError
from keisei.records.problem import Problem
from keisei.rules.atom_tool import LONGEST

ATOM = re.compile(r"[a-z][a-z0-9-]*::[a-z][a-z0-9-]*")
LONGEST_TOOL = 64
"""Characters of a tool's name, `package__verb`, that every client takes."""


class Judged(NamedTuple):
    """One file of a package, and everything wrong with it and with what it names."""

    path: Path
    problems: list[Problem]


def judged(package: Package, ids: frozenset[str], rules: Iterable[str]) -> Iterator[Judged]:
    """A package's metadata and each of its pages, in order. `ids` and `rules` are what links may name."""
    known = frozenset(rules)
    yield Judged(metadata_file(package), [*package.problems, *check_metadata(package, ids)])
    for path in atom_files(package):
        yield Judged(path, list(dict.fromkeys(_page(path, package, ids, known))))


def _page(path: Path, package: Package, ids: frozenset[str], rules: frozenset[str]) -> Iterator[Problem]:
    if is_file(path) and inside(package.folder, str(path)) is None:
        yield Problem(code="outside", path=shown_path(path), message="leads out of the package")
        return
    try:
        atom = read_atom(path, package)
    except AuthorError as error:
        yield from _respelt(path, rest_of(error, lambda rest: _rest(rest, package, ids, rules)))
        return
    yield from atom.loaded.warnings
    yield from check_atom(atom, ids, rules)


def _rest(loaded: Loaded, package: Package, ids: frozenset[str], rules: frozenset[str]) -> Iterator[Problem]:
    """What is wrong with a page beside what made it unusable."""
    text = loaded.document.source.text
    body = parse_frontmatter(loaded.document.source)[1]
    line = text[: len(text) - len(body)].count("\n") + 1
    return check_atom(Atom(loaded.record, body, line, loaded, package), ids, rules)


def atom_ids(packages: Iterable[Package]) -> Counter[str]:
    """Every id that a file stands for; an id that counts twice is defined twice."""
    return Counter(f"{package.name}::{path.stem}" for package in packages for path in atom_files(package))


def twice(packages: Iterable[Package]) -> Iterator[Problem]:
    """Ids that two packages of one layer define: which of them is called would be chance."""
    first: dict[str, Path] = {}
    for package in packages:
        for path in atom_files(package):
            name = f"{package.name}::{path.stem}"
            if first.setdefault(name, path) is not path:
                message = f"atom `{name}` is defined by {shown_path(first[name])} too"
                yield Problem(code="duplicate-name", path=shown_path(path), line=1, column=1, message=message)


def misplaced(folder: Path, packages: Iterable[Package]) -> Iterator[Judged]:
    """Packages nobody finds: their metadata are ours, and their atoms stand in an import package of another name."""
    found = {package.folder for package in packages}
    for shelf in (folder, folder / "primitives", folder / "_primitives"):
        for place in entries(shelf):
            inner = next(
                (each for each in (*entries(place / "src"), *entries(place)) if is_folder(each / "atoms")), None
            )
            metadata = place / "pyproject.toml"
            if inner is None or place.resolve() in found or not is_file(metadata) or place.is_symlink():
                continue
            if _is_ours(metadata):
                named = inner.name.replace("_", "-")
                message = f"the atoms in `{inner.relative_to(place)}/atoms` are not found: the folder is `{place.name}`"
                hint = f"call the folder `{named}`, or the import package `{place.name.replace('-', '_')}`"
                problem = Problem(
                    code="bad-name", path=shown_path(metadata), line=1, column=1, message=message, hint=hint
                )
                yield Judged(metadata, [problem])


def _is_ours(metadata: Path) -> bool:
    try:
        return "[tool.keisei]" in read_source(metadata).text
    except AuthorError:
        return False


def check_atom(atom: Atom, ids: frozenset[str], rules: Iterable[str]) -> Iterator[Problem]:
    """Everything wrong with one atom: its page, its schemas, its function, its links."""
    yield from _named(atom)
    yield from check_effects(atom)
    yield from _errors(atom.manifest, atom.loaded.document)
    yield from _keyed(atom)
    for side in ("input", "output"):
        yield from check_schema(atom, side)
    yield from check_function(atom)
    yield from _links(atom, ids, frozenset(rules))
    yield from _successor(atom, ids)


def _named(atom: Atom) -> Iterator[Problem]:
    manifest, document = atom.manifest, atom.loaded.document
    expected = f"{atom.package.name}::{document.source.path.stem}"
    if manifest.atom != expected:
        message = f"atom `{manifest.atom}` stands where `{expected}` belongs"
        yield document.problem("bad-name", ("atom",), message, f"write `{expected}`, or move the file")
    tool = manifest.atom.replace("::", "__")
    if len(tool) > LONGEST_TOOL:
        message = f"as a tool it is called `{tool}`, which has {len(tool)} characters; {LONGEST_TOOL} are allowed"
        yield document.problem("long-name", ("atom",), message)
    elif len(tool) > LONGEST:
        message = f"as a tool it is called `{tool}`, which has {len(tool)} characters; over {LONGEST} it is cut"
        hint = "shorten the package or the verb, so that the tool keeps its name"
        yield document.problem("long-tool-name", ("atom",), message, hint, severity="warning")
    if atom.package.version is not None and manifest.version != atom.package.version:
        message = f"version `{manifest.version}` differs from the package's `{atom.package.version}`"
        yield document.problem("version-mismatch", ("version",), message)


def _respelt(path: Path, problems: list[Problem]) -> Iterator[Problem]:
    """The problems, with effects that are texts told by their own rule: `write:kei-task-db` was a spelling once."""
    spelt: dict[tuple[int | None, int | None], Problem] = {}
    try:
        document = parse_frontmatter(read_source(path))[0]
    except AuthorError:
        yield from problems
        return
    effects = document.data.get("side_effects") if isinstance(document.data, dict) else None
    for index, effect in enumerate(effects if isinstance(effects, list) else ()):
        if isinstance(effect, str):
            message = f"side_effects[{index}] is the text `{effect}`; an effect has `op` and `domain`"
            told = document.problem("effect-spelling", ("side_effects", index), message, structured(effect))
            spelt[told.line, told.column] = told
    for problem in problems:
        yield spelt.get((problem.line, problem.column), problem) if problem.code == "wrong-type" else problem


def _errors(manifest: AtomManifest, document: Document) -> Iterator[Problem]:
    for code, count in Counter(error.code for error in manifest.errors).items():
        if count > 1:
            index = max(i for i, error in enumerate(manifest.errors) if error.code == code)
            message = f"error `{code}` is listed {count} times"
            yield document.problem("duplicate-error", ("errors", index, "code"), message)


def _keyed(atom: Atom) -> Iterator[Problem]:
    metadata = atom.package.metadata
    if atom.manifest.keyed and metadata is not None and metadata.db_env is None and not metadata.engine:
        message = "`keyed` keeps the invocation id in the package's database, and this package has none"
        yield atom.loaded.document.problem("not-keyed", ("keyed",), message)


def _successor(atom: Atom, ids: frozenset[str]) -> Iterator[Problem]:
    manifest, document = atom.manifest, atom.loaded.document
    if not manifest.deprecated:
        if manifest.stability == "deprecated":
            message = "stability is `deprecated`, and `deprecated` does not say what to use instead"
            yield document.problem("no-successor", ("stability",), message)
        return
    named = ATOM.findall(manifest.deprecated)
    for name in named:
        if name not in ids or name == manifest.atom:
            message = f"`{name}` is to be used instead, and {'is this atom' if name in ids else 'does not exist'}"
            yield document.problem("no-successor", ("deprecated",), message, nearest(name, ids - {manifest.atom}))
    if not named:
        message = "`deprecated` names no atom to use instead"
        hint = "write for example `use kei-task::create-v2`"
        yield document.problem("no-successor", ("deprecated",), message, hint, severity="warning")


def _links(atom: Atom, ids: frozenset[str], rules: frozenset[str]) -> Iterator[Problem]:
    document = atom.loaded.document
    for index, link in enumerate(atom.manifest.related):
        if problem := _dead(link[2:-2].strip(), ids, rules):
            yield document.problem("dangling", ("related", index), *problem)
    for number, line in enumerate(atom.body.split("\n"), start=atom.body_line):
        for match in LINK.finditer(line):
            if problem := _dead(match[1].strip(), ids, rules):
                message, hint = problem
                column = match.start() + 1
                shown = document.source.shown
                yield Problem(code="dangling", path=shown, line=number, column=column, message=message, hint=hint)


@lru_cache(maxsize=1024)
def _dead(target: str, ids: frozenset[str], rules: frozenset[str]) -> tuple[str, str | None] | None:
    """The complaint about a link that leads nowhere. Links that name neither an atom nor a rule are notes."""
    if target.startswith(("rules/", "RULE ", "rule ")):
        name = target.removeprefix("rules/").removesuffix(".md")
        name = name if name in rules else name.replace("rule ", "RULE ", 1)
        return None if name in rules else (f"link `[[{target}]]` leads to no rule", nearest(name, rules))
    if "::" in target:
        return None if target in ids else (f"link `[[{target}]]` leads to no atom", nearest(target, ids))
    return None
