"""A package of small Python atoms for tests of pipes, and dags that use them."""

import json

PAGE = """---
atom: kei-pipe-test::{verb}
kind: {kind}
version: 0.1.0
input: {{schema: schemas/{takes}.json}}
output: {{schema: schemas/any.json}}
errors: [{{code: Refused, http_analog: 409, description: It did not want to.}}]
side_effects: {effects}
idempotent: {idempotent}
keyed: {keyed}
timeout_ms: {timeout_ms}
stability: stable
---
# {verb}

Works for tests.
"""
ANY = {"$schema": "http://json-schema.org/draft-07/schema#", "$id": "any", "type": "object"}
SECRET = ANY | {"$id": "secret", "properties": {"token": {"type": "string", "writeOnly": True}}}
METADATA = """[project]
name = "kei-pipe-test"
version = "0.1.0"
[tool.keisei]
backend = "sqlite"
db_env = "KEI_PIPE_TEST_DB"
db_default = "pipe-test.db"
migrations_dir = "migrations"
schema_version = 1
"""
WORK = """import os, time

def note(input, context):
    with open(input["path"], "a", encoding="utf-8") as file:
        file.write(f"{input['n']} {context.invocation_id}\\n")
    hold = input["path"] + ".hold"
    while input["n"] >= input.get("hold", 10**9) and os.path.exists(hold):
        time.sleep(0.002)
    return {"n": input["n"]}
"""
KEYED = """
def run(input, context):
    def work(db):
        db.execute("INSERT INTO things (n) VALUES (?)", (input["n"],))
        return note(input, context)
    return context.once(work)
"""
FUNCTIONS = {
    "put": ("command", "[]", True, False, WORK + "\nrun = note\n"),
    "add": ("command", "[{op: write, domain: file}]", False, False, WORK + "\nrun = note\n"),
    "key": (
        "command",
        "[{op: write, domain: kei-pipe-test-db}]",
        False,
        True,
        WORK + KEYED,
    ),
    "upper": (
        "transform",
        "[]",
        False,
        False,
        "def run(input, context):\n    return {'text': input['text'].upper()}\n",
    ),
    "refuse": (
        "command",
        "[{op: write, domain: refusal}]",
        False,
        False,
        "def run(input, context):\n    raise context.error('Refused', 'not \\x1b[31mtoday')\n",
    ),
    "sleep": (
        "command",
        "[{op: write, domain: sleep}]",
        False,
        False,
        "import time\ndef run(input, context):\n    time.sleep(30)\n    return {}\n",
    ),
    "count": (
        "stream",
        "[]",
        True,
        False,
        "def run(input, context):\n    for n in range(input['n']):\n        yield {'n': n}\n",
    ),
    "login": ("query", "[]", False, False, "def run(input, context):\n    return {'who': 'ann'}\n"),
}


def make_package(root):
    """The folder to hand to `--root`."""
    folder = root / "kei-pipe-test"
    (folder / "atoms" / "schemas").mkdir(parents=True)
    (folder / "migrations").mkdir()
    (folder / "pyproject.toml").write_text(METADATA, encoding="utf-8")
    (folder / "migrations" / "0001_things.sql").write_text("CREATE TABLE things (n INTEGER NOT NULL);\n")
    for name, schema in (("any", ANY), ("secret", SECRET)):
        (folder / "atoms" / "schemas" / f"{name}.json").write_text(json.dumps(schema))
    for verb, (kind, effects, idempotent, keyed, code) in FUNCTIONS.items():
        page = PAGE.format(
            verb=verb,
            kind=kind,
            effects=effects,
            idempotent=str(idempotent).lower(),
            keyed=str(keyed).lower(),
            takes="secret" if verb == "login" else "any",
            timeout_ms=100 if verb == "sleep" else 20_000,
        )
        (folder / "atoms" / f"{verb}.md").write_text(page, encoding="utf-8")
        (folder / "atoms" / f"{verb}.py").write_text(code, encoding="utf-8")
    return root


def fan(verb, path, count, hold=10**9):
    """A dag that calls an atom for each of so many numbers."""
    return (
        f"""
[[steps]]
capture_as = "f"
atom = "kei-pipe-test::{verb}"
for_each = "$input"
input = {{ n = "$item", path = {json.dumps(str(path))}, hold = {hold} }}
""",
        json.dumps(list(range(count))),
    )
