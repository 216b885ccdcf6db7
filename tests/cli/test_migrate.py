"""`kei-migrate`: where databases are, what ran, what is missing, and what is told where one cannot be used."""

import json
import os
from contextlib import closing

import apsw
import pytest

PAGE = """---
atom: kei-pot::stir
kind: command
version: 0.1.0
input: {schema: schemas/stir-input.json}
output: {schema: schemas/stir-output.json}
side_effects: [{op: write, domain: kei-pot-db}]
idempotent: false
stability: experimental
---
# kei-pot::stir

Stirs.
"""
METADATA = """[project]
name = "kei-pot"
version = "0.1.0"

[tool.keisei]
backend = "sqlite"
db_env = "KEI_POT_DB"
db_default = "kei-pot/pot.sqlite"
migrations_dir = "migrations"
"""
SCHEMA = {"$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "examples": [{}]}


class Kitchen:
    """A root with one package, and the command."""

    def __init__(self, shell):
        self.shell = shell
        for name in [name for name in os.environ if name.startswith(("KEI_", "KEISEI_"))]:
            shell._monkeypatch.delenv(name)
        shell.setenv("XDG_STATE_HOME", shell.home / "state")
        self.root = shell.folder_of("root")
        self.package = self.root / "kei-pot"
        (self.package / "atoms" / "schemas").mkdir(parents=True)
        (self.package / "migrations").mkdir()
        (self.package / "pyproject.toml").write_text(METADATA)
        (self.package / "atoms" / "stir.md").write_text(PAGE)
        (self.package / "atoms" / "stir.py").write_text("def run(input, context):\n    return {}\n")
        for side in ("input", "output"):
            (self.package / "atoms" / "schemas" / f"stir-{side}.json").write_text(json.dumps(SCHEMA))
        self.step("0001_pots", "CREATE TABLE pots (id INTEGER PRIMARY KEY);")
        self.database = shell.home / "state" / "keisei" / "packages" / "kei-pot" / "pot.sqlite"

    def step(self, name, sql):
        (self.package / "migrations" / f"{name}.sql").write_text(sql)

    def run(self, *words):
        return self.shell.run(*words, "--root", self.root, command="kei-migrate")

    def rows(self, *words):
        return json.loads(self.run(*words, "--json").out)


@pytest.fixture
def kitchen(shell):
    return Kitchen(shell)


def test_status_tells_what_is_missing_and_makes_nothing(kitchen):
    assert kitchen.rows("status") == [
        {
            "package": "kei-pot",
            "status": "absent",
            "database": str(kitchen.database),
            "applied": [],
            "missing": ["0001_pots"],
        }
    ]
    assert not kitchen.database.exists()


def test_up_runs_what_is_missing_once(kitchen):
    first = kitchen.run("up", "kei-pot")

    assert (first.code, first.err) == (0, "")
    assert first.out.startswith("ran kei-pot 0001_pots\n")

    kitchen.step("0002_lids", "CREATE TABLE lids (id INTEGER PRIMARY KEY);")
    assert kitchen.rows("status")[0]["status"] == "behind"
    (second,) = kitchen.rows("up")
    assert (second["status"], second["ran"], second["missing"]) == ("current", ["0002_lids"], [])
    assert "ran" not in kitchen.rows("up")[0]


def test_a_dry_run_runs_nothing(kitchen):
    done = kitchen.run("up", "--dry-run")

    assert done.code == 0
    assert "0001_pots" in done.out
    assert not kitchen.database.exists()


def test_the_table_is_for_people(kitchen):
    kitchen.run("up")
    head, line = kitchen.run("status").out.splitlines()

    assert head.split() == ["package", "status", "newest", "missing", "database"]
    assert line.split()[:4] == ["kei-pot", "current", "0001", "-"]
    assert line.endswith(str(kitchen.database))


def test_a_database_that_cannot_be_used_is_told_and_exits_1(kitchen):
    kitchen.database.parent.mkdir(parents=True)
    with closing(apsw.Connection(str(kitchen.database))) as connection:
        connection.execute("CREATE TABLE theirs (a)")
    done = kitchen.run("up")

    assert done.code == 1
    assert "error: kei-pot:" in done.err
    assert "is no database of `kei-pot`" in done.err
    assert "  hint: set KEI_POT_DB" in done.err
    (row,) = json.loads(kitchen.run("status", "--json").out)
    assert (row["status"], row["database"]) == ("error", None)
    assert "`theirs`" in row["error"]


def test_a_package_nobody_knows_is_one_sentence(kitchen):
    done = kitchen.run("status", "kei-pan")

    assert done.code != 0
    assert "kei-pan" in done.err
    assert "Traceback" not in done.err


def test_a_migration_that_fails_keeps_those_before_it(kitchen):
    kitchen.step("0002_bad", "CREATE TABLE lids (a); COMMIT;")
    done = kitchen.run("up")

    assert done.code == 1
    assert "0002_bad of `kei-pot` cannot run: BEGIN, COMMIT or ROLLBACK is not allowed" in done.err
    (row,) = kitchen.rows("status")
    assert (row["status"], row["applied"], row["missing"]) == ("behind", ["0001_pots"], ["0002_bad"])
