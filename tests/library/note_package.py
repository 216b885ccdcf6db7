"""A small package of atoms, as files: what the tests of checking, mending and comparing start from."""

import json

from keisei.library.package import read_package

DRAFT = "http://json-schema.org/draft-07/schema#"
PAGE = """\
---
atom: kei-note::add   # the id
kind: command
version: "1.2.0"
input:
  schema: schemas/add-input.json
  required: [text]  # a copy
output:
  schema: schemas/add-output.json
errors:
  - {code: TextEmpty, http_analog: 422, description: The text is empty.}
  - {code: StoreFull, description: There is no room.}
side_effects:
  - {op: write, domain: kei-note-db}
idempotent: true
keyed: true
stability: stable
---
# Add a note
"""
PYPROJECT = """\
[project]
name = "kei-note"
version = "1.2.0"

[tool.keisei]
backend = "sqlite"
db_env = "KEI_NOTE_DB"
db_default = "note.db"
"""
CODE = "def run(input, context):\n    return {}\n"


def input_schema(**changes):
    text = {"type": "string", "maxLength": 200}
    schema = {"$schema": DRAFT, "type": "object", "properties": {"text": text}, "required": ["text"]}
    return schema | {"additionalProperties": False, "examples": [{"text": "Buy milk"}]} | changes


def output_schema(**changes):
    schema = {"$schema": DRAFT, "type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}
    return schema | {"examples": [{"id": 7}]} | changes


def write_note(root, page=PAGE, given=None, gives=None, name="kei-note"):
    """Write the package into a folder; the package as it is read."""
    folder = root / name
    (folder / "atoms" / "schemas").mkdir(parents=True, exist_ok=True)
    (folder / "pyproject.toml").write_text(PYPROJECT)
    (folder / "atoms" / "add.py").write_text(CODE)
    (folder / "atoms" / "add.md").write_text(page.replace("kei-note::", f"{name}::"))
    schemas = {"input": given or input_schema(), "output": gives or output_schema()}
    for side, schema in schemas.items():
        (folder / "atoms" / "schemas" / f"add-{side}.json").write_text(json.dumps(schema, indent=2) + "\n")
    return read_package(folder)
