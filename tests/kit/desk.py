"""A desk for tests of shipped primitives: their functions called one by one, on a database with their own tables."""

import json
import sys
import threading
from functools import cache
from importlib import import_module
from pathlib import Path

import apsw
from jsonschema_rs import Draft7Validator

import keisei.kit
from keisei.library.atom_spec import read_spec
from keisei.library.package import read_package

PRIMITIVES = Path(keisei.kit.__file__).parent / "primitives"
PACKAGES = tuple(sorted(path.parent.name for path in PRIMITIVES.glob("*/pyproject.toml")))
ATOMS = tuple(
    sorted(f"{each}::{page.stem}" for each in PACKAGES for page in PRIMITIVES.glob(f"{each}/src/*/atoms/*.md"))
)
sys.path.extend(str(PRIMITIVES / each / "src") for each in PACKAGES)


@cache
def spec_of(atom):
    """The atom as a call finds it."""
    package, _, verb = atom.partition("::")
    return read_spec(read_package(PRIMITIVES / package), verb)


@cache
def output_of(atom):
    return Draft7Validator(spec_of(atom).output_schema, validate_formats=True)


@cache
def _empty():
    """A database with nothing but its tables, as bytes: made once, in memory."""
    db = apsw.Connection(":memory:")
    db.execute("CREATE TABLE keisei_calls (invocation_id TEXT PRIMARY KEY, output TEXT, called_at TEXT)")
    for migration in sorted((PRIMITIVES / "kei-task" / "migrations").iterdir()):
        db.execute(migration.read_text())
    return db.serialize("main")


class Declared(Exception):
    """An error with a code."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


class Context:
    """What a verb is given: one invocation."""

    def __init__(self, database, atom, invocation_id):
        self.database, self.atom, self.invocation_id = database, atom, invocation_id

    def once(self, work):
        db = self.database()
        db.execute("BEGIN IMMEDIATE")
        try:
            output = self._kept(db) or self._done(db, work)
        except BaseException:
            db.execute("ROLLBACK")
            raise
        db.execute("COMMIT")
        return output

    def _kept(self, db):
        for (output,) in db.execute("SELECT output FROM keisei_calls WHERE invocation_id = ?", (self.invocation_id,)):
            return json.loads(output)
        return None

    def _done(self, db, work):
        output = work(db)
        db.execute("INSERT INTO keisei_calls VALUES (?, ?, '')", (self.invocation_id, json.dumps(output)))
        return output

    def error(self, code, message):
        assert code in {error.code for error in spec_of(self.atom).manifest.errors}
        return Declared(code, message)


class Desk:
    """A database, and every verb on it."""

    def __init__(self, path):
        self.path, self.calls = path, 0
        self._kept = threading.local()
        path.write_bytes(_empty())

    def database(self):
        """The connection of this thread, which stays open between calls as a warm worker's does."""
        if not hasattr(self._kept, "db"):
            self._kept.db = apsw.Connection(str(self.path))
            self._kept.db.set_busy_timeout(5000)
            self._kept.db.execute("PRAGMA foreign_keys = ON; PRAGMA synchronous = OFF")
        return self._kept.db

    def call(self, atom, invocation_id=None, **given):
        """What the verb returns, as its schema says; `invocation_id` names a call that is made again."""
        self.calls += 1
        context = Context(self.database, atom, invocation_id or f"i{self.calls}")
        package, _, verb = atom.replace("-", "_").partition("::")
        output = import_module(f"{package}.atoms.{verb}").run(given, context)
        output_of(atom).validate(output)
        return output

    def tasks(self, *titles, **given):
        """New tasks; their ids."""
        return [self.call("kei-task::create", title=title, **given)["id"] for title in titles]

    def depend(self, *pairs):
        for parent, child in pairs:
            self.call("kei-task::add-dependency", parent=parent, child=child)

    def found(self, query, **given):
        return [task["title"] for task in self.call("kei-task::search", query=query, **given)["tasks"]]

    def sql(self, statement, *given):
        db = apsw.Connection(str(self.path))
        try:
            return list(db.execute(statement, given))
        finally:
            db.close()
