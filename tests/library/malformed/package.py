"""The metadata of a package of atoms: pyproject.toml, or Cargo.toml."""

# ruff: noqa: E501 - a message stands on one line here, as it is compared

from tests.library.malformed.case import Kind, case

PYTHON = "primitives/kei-note"
RUST = "primitives/kei-crate"
MAIN = f"{PYTHON}/pyproject.toml"
CARGO = f"{RUST}/Cargo.toml"
WORKSPACE = "Cargo.toml"
SCHEMA = '{"$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "examples": [{}]}\n'
CODE = "def run(input, context):\n    return {}\n"
PAGE = """\
---
atom: {0}::find
kind: query
version: {1}
input:
  schema: schemas/find.json
output:
  schema: schemas/find.json
side_effects: []
idempotent: true
stability: beta
---
"""

KIND = Kind(
    "package",
    MAIN,
    {
        MAIN: """\
[project]
name = "kei-note"
version = "1.2.0"

[tool.keisei]
backend = "sqlite"
db_env = "KEI_NOTE_DB"
db_default = "~/.kei/note.db"
migrations_dir = "migrations"
schema_version = 3
""",
        f"{PYTHON}/migrations/0001_first.sql": "select 1;\n",
        f"{PYTHON}/migrations/0002_second.sql": "select 1;\n",
        f"{PYTHON}/migrations/0003_third.sql": "select 1;\n",
        f"{PYTHON}/atoms/find.py": CODE,
        f"{PYTHON}/atoms/find.md": PAGE.format("kei-note", "1.2.0"),
        f"{PYTHON}/atoms/schemas/find.json": SCHEMA,
        CARGO: """\
[package]
name = "kei-crate"
version.workspace = true

[package.metadata.keisei]
backend = "memory"
""",
        f"{RUST}/atoms/find.md": PAGE.format("kei-crate", "0.4.0"),
        f"{RUST}/atoms/schemas/find.json": SCHEMA,
        WORKSPACE: '[workspace]\nmembers = ["primitives/*"]\n\n[workspace.package]\nversion = "0.4.0"\n',
    },
    by="atom",
)

TABLE = '[tool.keisei]\nbackend = "sqlite"\n'
VERSION = 'version = "1.2.0"'
INHERITS = "version.workspace = true"

CASES = [
    case("no-metadata-file", "missing-file", write={MAIN: None}, placed=False),
    case("empty-file", "missing-key", write={MAIN: "‸"}, says="missing table `[tool.keisei]`"),
    case(
        "no-table",
        "missing-key",
        write={MAIN: '‸[project]\nname = "kei-note"\nversion = "1.2.0"\n'},
        says="missing table `[tool.keisei]`",
    ),
    case(
        "no-table-but-another-tool-s",
        "missing-key",
        write={MAIN: '[project]\nversion = "1.2.0"\n\n‸[tool.ruff]\nline-length = 120\n'},
        says="missing table `[tool.keisei]`",
    ),
    case(
        "table-at-the-top",
        "missing-key",
        ("[tool.keisei]", "[keisei]"),
        ("[project]", "‸[project]"),
        says="missing table `[tool.keisei]`",
    ),
    case("tool-is-a-number", "missing-key", write={MAIN: 'tool = ‸1\n\n[project]\nversion = "1.2.0"\n'}),
    case(
        "table-is-text",
        "wrong-type",
        write={MAIN: '[project]\nversion = "1.2.0"\n\n[tool]\nkeisei = ‸"sqlite"\n'},
        says="`keisei` must be an object, not a string",
    ),
    case(
        "table-is-a-list",
        "wrong-type",
        write={MAIN: '[project]\nversion = "1.2.0"\n\n‸[[tool.keisei]]\nbackend = "memory"\n'},
    ),
    case("table-is-true", "wrong-type", write={MAIN: '[project]\nversion = "1.2.0"\n\n[tool]\nkeisei = ‸true\n'}),
    case("no-backend", "missing-key", (TABLE, "‸[tool.keisei]\n"), says="missing key `backend`"),
    case(
        "backend-misspelt",
        "wrong-value",
        ('"sqlite"', '‸"sqlight"'),
        says="`backend` must be one of `filesystem`, `memory`, `remote`, `sqlite`, not `sqlight`",
        hint="did you mean `sqlite`?",
    ),
    case(
        "backend-unknown",
        "wrong-value",
        ('"sqlite"', '‸"postgres"'),
        says="`backend` must be one of `filesystem`, `memory`, `remote`, `sqlite`, not `postgres`",
    ),
    case("backend-is-a-list", "wrong-value", ('"sqlite"', '‸["sqlite"]')),
    case(
        "key-misspelt",
        "unknown-key",
        ("db_default", "‸db_defualt"),
        also=("missing-key",),
        says="unknown key `db_defualt`",
        hint="did you mean `db_default`?",
    ),
    case(
        "key-with-a-dash",
        "unknown-key",
        ("schema_version", "‸schema-version"),
        says="unknown key `schema-version`",
        hint="did you mean `schema_version`?",
    ),
    case(
        "key-unlike-any",
        "unknown-key",
        ("schema_version = 3", "‸zzz = 3"),
        says="unknown key `zzz`",
        hint="known keys: backend, db_env, db_default, migrations_dir, schema_version, tables_of, env, engine",
    ),
    case(
        "database-without-variable",
        "missing-key",
        ("[tool.keisei]", "‸[tool.keisei]"),
        ('db_env = "KEI_NOTE_DB"\n', ""),
        says="missing key `db_env`, because `backend` is `sqlite`",
    ),
    case(
        "database-without-default",
        "missing-key",
        ("[tool.keisei]", "‸[tool.keisei]"),
        ('db_default = "~/.kei/note.db"\n', ""),
        says="missing key `db_default`, because `backend` is `sqlite`",
    ),
    case(
        "variable-in-small-letters",
        "wrong-value",
        ('"KEI_NOTE_DB"', '‸"kei_note_db"'),
        says="`db_env` must be a variable of your own, in capitals, not `kei_note_db`",
    ),
    case(
        "variable-with-a-dash",
        "wrong-value",
        ('"KEI_NOTE_DB"', '‸"KEI-NOTE-DB"'),
        says="`db_env` must be a variable of your own, in capitals, not `KEI-NOTE-DB`",
    ),
    case(
        "variable-is-a-number", "wrong-type", ('"KEI_NOTE_DB"', "‸1"), says="`db_env` must be a string, not an integer"
    ),
    case(
        "default-is-a-number",
        "wrong-type",
        ('"~/.kei/note.db"', "‸1"),
        says="`db_default` must be a string, not an integer",
    ),
    case("migrations-missing", "missing-file", ('"migrations"', '‸"migration"'), says="folder `migration` is missing"),
    case(
        "migrations-are-a-file",
        "missing-file",
        ('"migrations"', '‸"migrations/0001_first.sql"'),
        says="folder `migrations/0001_first.sql` is missing",
    ),
    case(
        "migrations-climb-out",
        "wrong-value",
        ('"migrations"', '‸"../migrations"'),
        says="`migrations_dir` must be a relative path without `..`, not `../migrations`",
    ),
    case(
        "migrations-absolute",
        "wrong-value",
        ('"migrations"', '‸"/tmp"'),
        says="`migrations_dir` must be a relative path without `..`, not `/tmp`",
    ),
    case(
        "migrations-are-a-list",
        "wrong-type",
        ('"migrations"', '‸["migrations"]'),
        says="`migrations_dir` must be a string, not a list",
    ),
    case(
        "schema-version-zero",
        "wrong-value",
        ("schema_version = 3", "schema_version = ‸0"),
        says="`schema_version` must be at least 1, not `0`",
    ),
    case(
        "schema-version-is-text",
        "wrong-type",
        ("schema_version = 3", 'schema_version = ‸"3"'),
        says="`schema_version` must be an integer, not a string",
    ),
    case(
        "schema-version-is-a-half",
        "wrong-type",
        ("schema_version = 3", "schema_version = ‸3.5"),
        says="`schema_version` must be an integer, not a number",
    ),
    case(
        "version-of-another-release",
        "version-mismatch",
        (f"{PYTHON}/atoms/find.md", "version: 1.2.0", "version: ‸1.2.0"),
        (VERSION, 'version = "1.3.0"'),
        says="version `1.2.0` differs from the package's `1.3.0`",
    ),
    case(
        "key-twice",
        "duplicate-key",
        ("schema_version = 3", "schema_version = 3\n‸schema_version = 4"),
        says="this key or table is already there",
    ),
    case(
        "table-twice",
        "duplicate-key",
        ("schema_version = 3", 'schema_version = 3\n\n‸[project]\nname = "x"'),
        says="this key or table is already there",
    ),
    case("syntax", "syntax", ("schema_version = 3", "schema_version = ‸"), says="invalid value"),
    case(
        "value-without-quotes",
        "syntax",
        ('"KEI_NOTE_DB"', "‸KEI_NOTE_DB"),
        says="invalid value",
        hint='put text in quotes: `db_env = "KEI_NOTE_DB"`',
    ),
    case(
        "not-text",
        "not-text",
        write={MAIN: '[project]\nname = "‸\udcfe"\n'},
        says="is not UTF-8 here",
        hint="save the file as UTF-8 without a byte order mark",
    ),
    case(
        "cargo-without-table",
        "missing-key",
        write={CARGO: '‸[package]\nname = "kei-crate"\nversion = "0.4.0"\n'},
        says="missing table `[package.metadata.keisei]`",
    ),
    case(
        "cargo-metadata-is-text",
        "missing-key",
        write={CARGO: '[package]\nname = "kei-crate"\nversion = "0.4.0"\nmetadata = ‸"x"\n'},
    ),
    case(
        "cargo-backend-misspelt",
        "wrong-value",
        (CARGO, '"memory"', '‸"memori"'),
        says="`backend` must be one of `filesystem`, `memory`, `remote`, `sqlite`, not `memori`",
        hint="did you mean `memory`?",
    ),
    case(
        "cargo-key-misspelt",
        "unknown-key",
        (CARGO, "backend =", "‸backends ="),
        also=("missing-key",),
        says="unknown key `backends`",
        hint="did you mean `backend`?",
    ),
    case("cargo-database-without-either", "missing-key", (CARGO, '"memory"', '"sqlite"')),
    case(
        "cargo-version-of-another-release",
        "version-mismatch",
        (CARGO, INHERITS, 'version = "0.5.0"'),
        (f"{RUST}/atoms/find.md", "version: 0.4.0", "version: ‸0.4.0"),
        says="version `0.4.0` differs from the package's `0.5.0`",
    ),
    case(
        "cargo-workspace-of-another-release",
        "version-mismatch",
        (WORKSPACE, '"0.4.0"', '"0.5.0"'),
        (f"{RUST}/atoms/find.md", "version: 0.4.0", "version: ‸0.4.0"),
        says="version `0.4.0` differs from the package's `0.5.0`",
    ),
    case(
        "cargo-syntax",
        "syntax",
        (CARGO, INHERITS, "version.workspace = ‸yes"),
        says="invalid value",
        hint='put text in quotes: `version.workspace = "yes"`',
    ),
    case(
        "cargo-key-twice",
        "duplicate-key",
        (CARGO, INHERITS, INHERITS + '\n‸version = "0.4.0"'),
        says="this key or table is already there",
    ),
    case(
        "two-packages-of-one-name",
        "duplicate-name",
        write={
            "primitives/_rust/kei-note/pyproject.toml": '[project]\nname = "kei-note"\nversion = "1.2.0"\n\n[tool.keisei]\nbackend = "memory"\n',
            "primitives/_rust/kei-note/atoms/find.md": PAGE.format("kei-note", "1.2.0"),
            "primitives/_rust/kei-note/atoms/schemas/find.json": SCHEMA,
            "primitives/_rust/kei-note/atoms/find.py": CODE,
        },
        placed=False,
    ),
    case("migrations-of-300-letters", "missing-file", ('"migrations"', f'‸"{"m" * 300}"')),
    case(
        "migration-without-a-number",
        "bad-migrations",
        write={f"{PYTHON}/migrations/first.sql": "‸"},
        says="`first.sql` is not called like a migration",
        hint="write `0004_what_it_does.sql`",
    ),
    case(
        "migrations-with-a-gap",
        "bad-migrations",
        ("schema_version = 3", "schema_version = 4"),
        write={f"{PYTHON}/migrations/0005_fifth.sql": "‸"},
        says="the next migration is 0004, not 0005",
        hint="numbers have no gaps",
    ),
    case(
        "migration-number-twice",
        "bad-migrations",
        write={f"{PYTHON}/migrations/0003_xyz.sql": "‸"},
        says="number 0003 is taken by another migration",
    ),
    case(
        "schema-version-behind",
        "schema-version",
        ("schema_version = 3", "schema_version = ‸2"),
        says="`schema_version` is 2, and the newest migration is 3",
        hint="write `schema_version = 3`",
    ),
    case(
        "schema-version-missing",
        "schema-version",
        ("[tool.keisei]", "‸[tool.keisei]"),
        ("schema_version = 3\n", ""),
        says="`schema_version` is missing, and the newest migration is 3",
        hint="write `schema_version = 3`",
    ),
    case(
        "tables-of-nobody",
        "dangling",
        ("schema_version = 3", 'schema_version = 3\ntables_of = ‸"kei-notes"'),
        says="package `kei-notes` does not exist",
        hint="did you mean `kei-note`?",
    ),
    case(
        "pages-in-two-layouts",
        "duplicate-name",
        write={f"{PYTHON}/src/kei_note/atoms/find.md": "‸"},
    ),
]
