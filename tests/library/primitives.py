"""Packages of atoms, written to disk in the layouts that exist."""

import json
from pathlib import Path

DRAFT = "http://json-schema.org/draft-07/schema#"
OBJECT = {"$schema": DRAFT, "type": "object", "examples": [{}]}
PAGE = """\
---
atom: {atom}
kind: {kind}
version: 1.2.0
input:
  schema: schemas/{verb}-input.json
output:
  schema: schemas/{verb}-output.json
side_effects: []
idempotent: true
stability: {stability}
keywords: [note, {verb}]
---
# {verb}

{summary}
over two lines.

More.
"""
PYPROJECT = '[project]\nname = "{0}"\nversion = "1.2.0"\n\n[tool.keisei]\nbackend = "memory"\n'
CARGO = '[package]\nname = "{0}"\nversion = "1.2.0"\n\n[package.metadata.keisei]\nbackend = "memory"\n'


def write(path: Path, content: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    return path


def atom(atoms: Path, package: str, verb: str, *, kind="query", stability="beta", summary="Does it", **schemas) -> Path:
    """One verb with everything it needs."""
    for side in ("input", "output"):
        write(atoms / "schemas" / f"{verb}-{side}.json", json.dumps(schemas.get(side, OBJECT)))
    write(atoms / f"{verb.replace('-', '_')}.py", "def run(input, context):\n    return {}\n")
    text = PAGE.format(atom=f"{package}::{verb}", kind=kind, verb=verb, stability=stability, summary=summary)
    return write(atoms / f"{verb}.md", text)


def package(parent: Path, name: str, *verbs: str, layout: str = "flat", metadata: str | None = None, **more) -> Path:
    """A package with its verbs. Layouts: flat, src, plain, crate."""
    folder = parent / name
    snake = name.replace("-", "_")
    atoms = {"src": folder / "src" / snake / "atoms", "plain": folder / snake / "atoms"}.get(layout, folder / "atoms")
    file, text = ("Cargo.toml", CARGO) if layout == "crate" else ("pyproject.toml", PYPROJECT)
    write(folder / file, metadata or text.format(name))
    atoms.mkdir(parents=True)
    for verb in verbs:
        atom(atoms, name, verb, **more)
    return folder
