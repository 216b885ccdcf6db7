"""A root with one package of Python atoms, its runtime, and the words both protocol generations are spoken in."""

import json
import os
import time
from contextlib import contextmanager
from pathlib import Path

from keisei.mcp.desk import Desk, Grant
from keisei.settings import read_settings
from keisei.wiring.atom_runtime import open_runtime

PAGE = """---
atom: pot::{verb}
kind: {kind}
version: 0.1.0
input: {{schema: schemas/in.json}}
output: {{schema: schemas/{out}.json}}
errors: [{{code: Full, http_analog: 409, description: Make room.}}]
side_effects: {effects}
idempotent: false
stability: experimental
timeout_ms: 30000
keywords: [kettle]
---
# pot::{verb}

Does {verb}.

## Gotchas

- It is hot.
"""
DRAFT = "http://json-schema.org/draft-07/schema#"
SCHEMAS = {
    "in": {"type": "object", "properties": {"n": {"type": "integer"}, "path": {"type": "string"}}},
    "out": {"type": "object"},
    "number": {"type": "integer"},
}
HOLD = (
    "import os, pathlib, time\n    path = pathlib.Path(input['path'])\n"
    "    path.with_suffix('.new').write_text(str(os.getpid()))\n    path.with_suffix('.new').rename(path)\n"
    "    while not path.with_suffix('.go').exists():\n        time.sleep(0.002)\n    return {}"
)
STUBBORN = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n    {HOLD}"
VERBS = {
    "echo": ("transform", "out", "return input"),
    "long": ("transform", "out", "return {'text': 'x' * 30_000}"),
    "number": ("transform", "number", "return input['n']"),
    "full": ("transform", "out", "raise context.error('Full', 'no room')"),
    "hold": ("query", "out", HOLD),
    "stubborn": ("query", "out", STUBBORN),
    "loud": ("transform", "out", "import os; print('loud'); os.write(1, b'louder\\n'); return {}"),
    "note": ("command", "out", "import pathlib; pathlib.Path(input['path']).write_text('x'); return {}"),
    "few": ("stream", "out", "for n in range(input['n']):\n        yield {'n': n}"),
    "endless": ("stream", "out", "import itertools\n    for n in itertools.count():\n        yield {'n': n}"),
}
ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "tests", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "tests", "version": "1"}}


def make_root(folder: Path) -> Path:
    """The folder of packages."""
    atoms = folder / "root" / "pot" / "atoms"
    (atoms / "schemas").mkdir(parents=True)
    head = '[project]\nname = "pot"\nversion = "0.1.0"\n[tool.keisei]\nbackend = "memory"\n'
    (atoms.parent / "pyproject.toml").write_text(head)
    for name, schema in SCHEMAS.items():
        body = {"$schema": DRAFT, **schema, "examples": [{} if schema["type"] == "object" else 1]}
        (atoms / "schemas" / f"{name}.json").write_text(json.dumps(body))
    for verb, (kind, out, code) in VERBS.items():
        effects = "[{op: write, domain: 'fs:{path}'}]" if verb == "note" else "[]"
        (atoms / f"{verb}.md").write_text(PAGE.format(verb=verb, kind=kind, out=out, effects=effects))
        (atoms / f"{verb}.py").write_text(f"def run(input, context):\n    {code}\n")
    return folder / "root"


def surroundings(folder: Path) -> dict[str, str]:
    """An environment in which nothing of the developer's own shows."""
    own = {name: value for name, value in os.environ.items() if not name.startswith(("KEI", "XDG_", "HOME"))}
    return {**own, "HOME": str(folder), "KEISEI_HOME": str(folder / "state")}


class World:
    """A runtime over the root, and desks in front of it."""

    def __init__(self, folder: Path, runtime) -> None:
        self.folder, self.runtime = folder, runtime

    def desk(self, **grant) -> Desk:
        return Desk(self.runtime, Grant(**grant))

    def more_than(self, before: list) -> None:
        """Wait until there is another row."""
        wait_until(lambda: self.rows() != before)

    def rows(self) -> list:
        """Kind, subject and error kind of every row so far."""
        told = []
        for row in self.runtime.store.entries(limit=1000):
            error = row.body.get("error")
            error = error if isinstance(error, dict) else {}
            told.append((row.kind, row.subject, error.get("kind")))
        return told


@contextmanager
def opened(folder: Path, monkeypatch):
    """A world, closed afterwards."""
    root = make_root(folder)
    for name in [name for name in os.environ if name.startswith(("KEI", "XDG_"))]:
        monkeypatch.delenv(name)
    for name, value in surroundings(folder).items():
        monkeypatch.setenv(name, value)
    with open_runtime(read_settings(), actor="operator:ann", roots=(root,), start=folder) as runtime:
        yield World(folder, runtime)


def wait_until(holds) -> None:
    """Wait for it, but not without end."""
    until = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.002)


def wait_for(path: Path) -> str:
    """What is written there."""
    wait_until(path.exists)
    return path.read_text()
