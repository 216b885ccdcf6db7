"""Leaves: authored files as Sage keeps them, each with the files it was read from. Pure reading; no index.

Only what makes a thing what it is has to be right: its page, its manifest. What stands beside that and is broken or
missing (a schema, a capability's text, a skill's `skill.toml`) is left out, and is told by lint.
"""

import os
import re
from collections.abc import Iterator
from itertools import chain

from keisei.library.atom_spec import Atom, placed, summary
from keisei.library.leaf_kind import READERS
from keisei.library.leaf_schema import Side, read_side
from keisei.library.leaf_text import (
    MOST_WORDS,
    WORD,
    ancestors_of,
    clean,
    created_of,
    creator_of,
    facets_of,
    fields_of,
    line,
    links_of,
    names_of,
    spelt,
    whole,
    words_of,
)
from keisei.library.package import Package
from keisei.library.shelf import Found
from keisei.library.source import read_source, shown_path
from keisei.records.atom import AtomManifest
from keisei.records.error import AuthorError
from keisei.records.problem import Problem
from keisei.records.sage import Leaf, NodeKind
from keisei.rules.atom_effect import EXCLUSIVE, domain_root
from keisei.rules.link import body_links, link_target

SUCCESSOR = re.compile(r"(?<![a-z0-9-])[a-z][a-z0-9-]*+::[a-z][a-z0-9-]*+")
Reading = tuple[Leaf, tuple[str, ...]]
"""A leaf, and every file it was read from, absolute."""


def read_atom_leaf(package: Package, verb: str) -> Reading:
    """One atom: its page, and what its schemas say. Raises AuthorError exactly where a list of atoms has no row for it.

    A schema that cannot be used is None; its file is told all the same, so that it is noticed when it can.
    """
    package.found()
    atom = placed(package, verb, read_source)
    manifest = atom.manifest
    sides = [read_side(package.atoms, each.schema) for each in (manifest.input, manifest.output)]
    files = (f"{package.atoms}/{verb}.md", *sides[0].files, *sides[1].files)
    return _atom(atom, *sides), tuple(dict.fromkeys(files))


def _atom(atom: Atom, takes: Side, gives: Side) -> Leaf:
    manifest, body = atom.manifest, clean(atom.body)
    domains = sorted({domain_root(effect) for effect in manifest.side_effects if effect.op != EXCLUSIVE} - {""})
    successors = (name for name in SUCCESSOR.findall(manifest.deprecated or "") if name != manifest.atom)
    return Leaf(
        node="atom",
        name=manifest.atom,
        names=names_of("atom", manifest.atom),
        kind=manifest.kind,
        title=line(summary(body)),
        keywords=words_of(manifest.keywords),
        body=whole(body),
        fields=fields_of(chain(takes.words, gives.words, _told(manifest))),
        stability=manifest.stability,
        deprecated=line(manifest.deprecated) or None,
        facets=facets_of(manifest.taxonomy),
        creator=creator_of(manifest.lineage),
        created=created_of(manifest.lineage),
        links=links_of(
            {
                "related": chain((link_target(link[2:-2]) for link in manifest.related), successors),
                "body": body_links(body, beside=f"{atom.package.name}::"),
                "lineage": ancestors_of(manifest.lineage),
            }
        ),
        domains=tuple(domains[:MOST_WORDS]),
        takes=takes.schema,
        gives=gives.schema,
    )


def _told(manifest: AtomManifest) -> Iterator[str]:
    """Words of a page's frontmatter: how it fails, and what it touches."""
    for error in manifest.errors:
        yield f"{spelt(error.code)} {error.description}"
    for effect in manifest.side_effects:
        yield effect.domain


def read_found_leaf(kind: NodeKind, found: Found) -> Reading:
    """One authored thing that is no atom. Raises AuthorError for a broken file, and for a name that is not plain."""
    if line(found.name, WORD) != found.name or not found.name:
        message = "cannot be found by this name: it is long, or has characters that nobody sees"
        raise AuthorError([Problem(code="bad-name", path=shown_path(found.path), message=message)])
    leaf, *others = READERS[kind](found)
    return leaf, tuple(os.path.abspath(path) for path in (found.path, *others))  # noqa: PTH100 - as it is linked to
