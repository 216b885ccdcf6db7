"""atoms/<verb>.md with its two schemas."""

# ruff: noqa: E501 - a message stands on one line here, as it is compared

from tests.library.malformed.case import Kind, case

HERE = "primitives/kei-note"
MAIN = f"{HERE}/atoms/add.md"
FIND = f"{HERE}/atoms/find.md"
INPUT = f"{HERE}/atoms/schemas/add-input.json"
OUTPUT = f"{HERE}/atoms/schemas/add-output.json"
PYPROJECT = f"{HERE}/pyproject.toml"
RUN = f"{HERE}/atoms/add.py"
CODE = "def run(input, context):\n    return {}\n"

KIND = Kind(
    "atom",
    MAIN,
    {
        PYPROJECT: '[project]\nname = "kei-note"\nversion = "1.2.0"\n\n[tool.keisei]\nbackend = "memory"\n',
        MAIN: """\
---
atom: kei-note::add
kind: command
version: 1.2.0
input:
  schema: schemas/add-input.json
  required: [text]
  example: {text: Buy milk}
output:
  schema: schemas/add-output.json
errors:
  - code: TextEmpty
    http_analog: 422
    description: The text is empty.
  - code: StoreFull
    http_analog: 507
    description: There is no room.
side_effects:
  - op: write
    domain: kei-note-db
idempotent: false
timeout_ms: 5000
stability: stable
keywords: [note]
related:
  - "[[kei-note::find]]"
  - "[[rules/RULE 0.13]]"
lineage:
  creator: keisei
---

# Add a note

See [[kei-note::find]] and [[rules/RULE 0.12]]; [[a free note]] is nobody's business.
""",
        INPUT: """\
{
  "$schema": "http://json-schema.org/draft-07/schema#",
  "type": "object",
  "required": ["text"],
  "properties": {
    "text": {"type": "string"}
  },
  "examples": [
    {"text": "Buy milk"}
  ]
}
""",
        OUTPUT: """\
{
  "$schema": "http://json-schema.org/draft-07/schema#",
  "type": "object",
  "properties": {
    "id": {"$ref": "id.json"}
  },
  "examples": [
    {"id": 7}
  ]
}
""",
        f"{HERE}/atoms/schemas/id.json": '{"$schema": "http://json-schema.org/draft-07/schema#", "type": "integer"}\n',
        RUN: CODE,
        f"{HERE}/atoms/find.py": CODE,
        FIND: """\
---
atom: kei-note::find
kind: query
version: 1.2.0
input:
  schema: schemas/find.json
output:
  schema: schemas/find.json
side_effects:
  - op: read
    domain: kei-note-db
idempotent: true
stability: beta
---

# Find notes
""",
        f"{HERE}/atoms/schemas/find.json": """\
{"$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "examples": [{}]}
""",
    },
    by="atom",
)

WRITES = "side_effects:\n  - op: write\n    domain: kei-note-db\n"
READS = "side_effects:\n  - op: read\n    domain: kei-note-db\n"
TEXT = '"text": {"type": "string"}'
DRAFT = '"http://json-schema.org/draft-07/schema#"'

CASES = [
    case(
        "empty-page",
        "no-frontmatter",
        write={MAIN: "‸"},
        says="does not begin with a line `---`",
        hint="begin the file with `---`, the keys, and `---`",
    ),
    case(
        "page-without-frontmatter",
        "no-frontmatter",
        write={MAIN: "‸# Add\n"},
        says="does not begin with a line `---`",
        hint="begin the file with `---`, the keys, and `---`",
    ),
    case(
        "frontmatter-not-closed",
        "no-frontmatter",
        write={MAIN: "‸---\natom: kei-note::add\n"},
        says="has no closing line `---`",
        hint="begin the file with `---`, the keys, and `---`",
    ),
    case(
        "frontmatter-is-a-list",
        "wrong-type",
        write={MAIN: "---\n‸- atom\n---\n"},
        says="document must be an object, not a list",
    ),
    case(
        "frontmatter-syntax",
        "syntax",
        ("idempotent: false", "idempotent: [false"),
    ),
    case("no-id", "missing-key", ("atom: kei-note::add\nkind", "‸kind"), says="missing key `atom`"),
    case(
        "no-kind",
        "missing-key",
        ("---\natom: kei-note::add\nkind: command\n", "---\n‸atom: kei-note::add\n"),
        says="missing key `kind`",
    ),
    case(
        "no-version",
        "missing-key",
        ("atom: kei-note::add\nkind: command\nversion: 1.2.0\n", "‸atom: kei-note::add\nkind: command\n"),
        says="missing key `version`",
    ),
    case(
        "no-input",
        "missing-key",
        ("atom:", "‸atom:"),
        ("input:\n  schema: schemas/add-input.json\n  required: [text]\n  example: {text: Buy milk}\n", ""),
        says="missing key `input`",
    ),
    case(
        "no-output",
        "missing-key",
        ("atom:", "‸atom:"),
        ("output:\n  schema: schemas/add-output.json\n", ""),
        says="missing key `output`",
    ),
    case("no-side-effects", "missing-key", ("atom:", "‸atom:"), (WRITES, ""), says="missing key `side_effects`"),
    case(
        "no-idempotence",
        "missing-key",
        ("atom:", "‸atom:"),
        ("idempotent: false\n", ""),
        says="missing key `idempotent`",
    ),
    case(
        "no-stability", "missing-key", ("atom:", "‸atom:"), ("stability: stable\n", ""), says="missing key `stability`"
    ),
    case(
        "input-without-schema",
        "missing-key",
        ("schema: schemas/add-input.json\n  required", "‸required"),
        says="missing key `schema`",
    ),
    case(
        "key-misspelt",
        "unknown-key",
        ("side_effects:", "‸side-effects:"),
        also=("missing-key",),
        says="unknown key `side-effects`",
        hint="did you mean `side_effects`?",
    ),
    case(
        "key-unlike-any",
        "unknown-key",
        ("keywords: [note]", "‸zzz: 1"),
        says="unknown key `zzz`",
        hint="known keys: atom, kind, version, input, output, errors, side_effects, idempotent, keyed, destructive, timeout_ms, deprecated, stability, keywords, related, taxonomy, lineage",
    ),
    case(
        "input-key-misspelt",
        "unknown-key",
        ("  required: [text]", "  ‸require: [text]"),
        says="unknown key `require`",
        hint="did you mean `required`?",
    ),
    case(
        "key-twice", "duplicate-key", ("kind: command", "kind: command\n‸kind: query"), says="this key is already there"
    ),
    case(
        "key-twice-below",
        "duplicate-key",
        ("  schema: schemas/add-output.json", "  schema: schemas/add-output.json\n  ‸schema: schemas/id.json"),
        says="this key is already there",
    ),
    case(
        "id-of-another-verb",
        "bad-name",
        ("kei-note::add", "‸kei-note::ad"),
        says="atom `kei-note::ad` stands where `kei-note::add` belongs",
        hint="write `kei-note::add`, or move the file",
    ),
    case(
        "id-of-another-package",
        "bad-name",
        ("kei-note::add", "‸kei-notes::add"),
        says="atom `kei-notes::add` stands where `kei-note::add` belongs",
        hint="write `kei-note::add`, or move the file",
    ),
    case(
        "id-in-capitals",
        "wrong-value",
        ("kei-note::add", "‸kei-note::Add"),
        says="`atom` must be `package::verb`, both in kebab-case, not `kei-note::Add`",
    ),
    case(
        "id-without-verb",
        "wrong-value",
        ("kei-note::add", "‸kei-note"),
        says="`atom` must be `package::verb`, both in kebab-case, not `kei-note`",
    ),
    case(
        "id-is-a-list", "wrong-type", ("kei-note::add", "‸[kei-note, add]"), says="`atom` must be a string, not a list"
    ),
    case(
        "kind-misspelt",
        "wrong-value",
        ("kind: command", "kind: ‸comand"),
        says="`kind` must be one of `command`, `query`, `stream`, `transform`, not `comand`",
        hint="did you mean `command`?",
    ),
    case(
        "kind-unknown",
        "wrong-value",
        ("kind: command", "kind: ‸mutation"),
        says="`kind` must be one of `command`, `query`, `stream`, `transform`, not `mutation`",
    ),
    case(
        "stability-unknown",
        "wrong-value",
        ("stability: stable", "stability: ‸stabel"),
        says="`stability` must be one of `beta`, `deprecated`, `experimental`, `stable`, not `stabel`",
        hint="did you mean `stable`?",
    ),
    case(
        "deprecated-without-a-successor",
        "no-successor",
        ("stability: stable", "stability: ‸deprecated"),
        says="stability is `deprecated`, and `deprecated` does not say what to use instead",
    ),
    case(
        "version-is-a-number",
        "wrong-type",
        ("version: 1.2.0", "version: ‸1.2"),
        says="`version` must be a string, not a number",
    ),
    case(
        "version-of-another-package",
        "version-mismatch",
        ("version: 1.2.0", "version: ‸1.1.0"),
        says="version `1.1.0` differs from the package's `1.2.0`",
    ),
    case(
        "idempotent-is-text",
        "wrong-type",
        ("idempotent: false", "idempotent: ‸no way"),
        says="`idempotent` must be true or false, not a string",
    ),
    case(
        "idempotent-by-yes",
        "wrong-type",
        ("idempotent: false", "idempotent: ‸yes"),
        says="`idempotent` must be true or false, not a string",
    ),
    case(
        "timeout-zero",
        "wrong-value",
        ("timeout_ms: 5000", "timeout_ms: ‸0"),
        says="`timeout_ms` must be at least 1, not `0`",
    ),
    case(
        "timeout-is-text",
        "wrong-type",
        ("timeout_ms: 5000", "timeout_ms: ‸5s"),
        says="`timeout_ms` must be an integer, not a string",
    ),
    case(
        "timeout-of-days",
        "wrong-value",
        ("timeout_ms: 5000", "timeout_ms: ‸86400001"),
        says="`timeout_ms` must be at most 86400000, not `86400001`",
    ),
    case(
        "keywords-are-text",
        "wrong-type",
        ("keywords: [note]", "keywords: ‸note"),
        says="`keywords` must be a list, not a string",
    ),
    case(
        "error-in-capitals",
        "wrong-value",
        ("code: TextEmpty", "code: ‸TEXT_EMPTY"),
        says="`code` must be PascalCase, not `TEXT_EMPTY`",
    ),
    case(
        "error-in-kebab-case",
        "wrong-value",
        ("code: TextEmpty", "code: ‸text-empty"),
        says="`code` must be PascalCase, not `text-empty`",
    ),
    case(
        "error-twice",
        "duplicate-error",
        ("code: StoreFull", "code: ‸TextEmpty"),
        says="error `TextEmpty` is listed 2 times",
    ),
    case(
        "error-without-description",
        "missing-key",
        (
            "code: StoreFull\n    http_analog: 507\n    description: There is no room.",
            "‸code: StoreFull\n    http_analog: 507",
        ),
        says="missing key `description`",
    ),
    case(
        "error-of-a-good-status",
        "wrong-value",
        ("http_analog: 507", "http_analog: ‸200"),
        says="`http_analog` must be at least 400, not `200`",
    ),
    case(
        "error-is-text",
        "wrong-type",
        ("  - code: StoreFull\n    http_analog: 507\n    description: There is no room.\n", "  - ‸StoreFull\n"),
        says="errors[1] must be an object, not a string",
    ),
    case(
        "errors-by-name",
        "wrong-type",
        write={
            MAIN: "---\natom: kei-note::add\nkind: transform\nversion: 1.2.0\ninput: {schema: schemas/find.json}\noutput: {schema: schemas/find.json}\nerrors: ‸{TextEmpty: 422}\nside_effects: []\nidempotent: true\nstability: beta\n---\n"
        },
        says="`errors` must be a list, not an object",
    ),
    case(
        "effect-unknown",
        "wrong-value",
        ("op: write", "op: ‸writes"),
        says="`op` must be one of `network`, `other`, `read`, `subprocess`, `write`, not `writes`",
        hint="did you mean `write`?",
    ),
    case(
        "effect-without-domain",
        "missing-key",
        ("op: write\n    domain: kei-note-db", "‸op: write"),
        says="missing key `domain`",
    ),
    case(
        "effect-as-text",
        "effect-spelling",
        ("  - op: write\n    domain: kei-note-db", "  - ‸write:kei-note-db"),
        says="side_effects[0] is the text `write:kei-note-db`; an effect has `op` and `domain`",
        hint="write `{ op: write, domain: kei-note-db }`",
    ),
    case(
        "effect-with-a-space-in-its-domain",
        "wrong-value",
        ("domain: kei-note-db", "domain: ‸kei note db"),
        says="`domain` must be text without white space, not `kei note db`",
    ),
    case(
        "effect-repeats-itself",
        "effect-spelling",
        ("domain: kei-note-db", "domain: ‸write:kei-note-db"),
        says="domain `write:kei-note-db` repeats the operation; write the two apart",
        hint="write `{ op: write, domain: kei-note-db }`",
    ),
    case(
        "query-that-writes",
        "effects",
        (FIND, "op: read", "op: ‸write"),
        says="a query only reads; this effect is `write`",
    ),
    case(
        "query-that-calls-out",
        "effects",
        (FIND, READS, READS + "  - op: ‸network\n    domain: api\n"),
        says="a query only reads; this effect is `network`",
    ),
    case(
        "effect-on-no-field",
        "effect-field",
        ("domain: kei-note-db", "domain: ‸fs:{texts}"),
        says="domain `fs:{texts}` names no property of the input",
        hint="did you mean `text`?",
    ),
    case(
        "effect-that-is-no-template",
        "effect-field",
        ("domain: kei-note-db", "domain: ‸fs:{text}/*"),
        says="domain `fs:{text}/*` is no template",
        hint="write `fs:{path}`, or `fs:{path}/**` for everything below it",
    ),
    case(
        "transform-with-effects",
        "effects",
        (FIND, "kind: query", "kind: transform"),
        (FIND, "side_effects:\n  - op", "side_effects:\n  ‸- op"),
        says="a transform has no side effects",
    ),
    case(
        "link-to-no-atom",
        "dangling",
        ('"[[kei-note::find]]"', '‸"[[kei-note::finds]]"'),
        says="link `[[kei-note::finds]]` leads to no atom",
        hint="did you mean `kei-note::find`?",
    ),
    case(
        "link-to-no-package",
        "dangling",
        ('"[[kei-note::find]]"', '‸"[[zzz::yyy]]"'),
        says="link `[[zzz::yyy]]` leads to no atom",
    ),
    case(
        "link-to-no-rule",
        "dangling",
        ('"[[rules/RULE 0.13]]"', '‸"[[rules/RULE 0.99]]"'),
        says="link `[[rules/RULE 0.99]]` leads to no rule",
        hint="did you mean `RULE 0.13`?",
    ),
    case(
        "link-without-brackets",
        "wrong-value",
        ('"[[kei-note::find]]"', "‸kei-note::find"),
        says="related[0] must be a link such as `[[kei-task::create]]`, not `kei-note::find`",
    ),
    case(
        "link-read-as-lists",
        "wrong-type",
        ('"[[kei-note::find]]"', "‸[[kei-note::find]]"),
        says="related[0] must be a string, not a list",
    ),
    case(
        "link-in-the-body-to-no-atom",
        "dangling",
        ("See [[kei-note::find]]", "See ‸[[kei-note::fund]]"),
        says="link `[[kei-note::fund]]` leads to no atom",
        hint="did you mean `kei-note::find`?",
    ),
    case(
        "link-in-the-body-to-no-rule",
        "dangling",
        ("[[rules/RULE 0.12]]", "‸[[rules/RULE 7]]"),
        says="link `[[rules/RULE 7]]` leads to no rule",
        hint="did you mean `RULE 0.13`?",
    ),
    case(
        "link-in-the-body-behind-a-form-feed",
        "dangling",
        ("# Add a note\n\nSee [[kei-note::find]]", "# Add\x0ca\u2028note\n\nSee ‸[[kei-note::fund]]"),
        says="link `[[kei-note::fund]]` leads to no atom",
        hint="did you mean `kei-note::find`?",
    ),
    case(
        "link-in-the-body-behind-emoji",
        "dangling",
        ("See [[kei-note::find]]", "\U0001f600 ‸[[kei-note::fund]]"),
        says="link `[[kei-note::fund]]` leads to no atom",
        hint="did you mean `kei-note::find`?",
    ),
    case(
        "schema-missing",
        "missing-schema",
        ("schema: schemas/add-input.json", "schema: ‸schemas/add-inputs.json"),
        says="schema `schemas/add-inputs.json` is missing",
    ),
    case(
        "schema-climbs-out",
        "wrong-value",
        ("schema: schemas/add-input.json", "schema: ‸../../add-input.json"),
        says="`schema` must be a relative path without `..`, not `../../add-input.json`",
    ),
    case(
        "schema-is-a-folder",
        "missing-schema",
        ("schema: schemas/add-output.json", "schema: ‸schemas"),
        says="schema `schemas` is missing",
    ),
    case("schema-empty", "syntax", write={INPUT: "‸"}, says="expecting value"),
    case("schema-is-a-list", "bad-schema", write={INPUT: "‸[]"}, says="a schema is an object"),
    case(
        "schema-of-another-draft",
        "schema-draft",
        (INPUT, DRAFT, '‸"https://json-schema.org/draft/2019-09/schema"'),
        says="`$schema` must be `http://json-schema.org/draft-07/schema#`, not `https://json-schema.org/draft/2019-09/schema`",
    ),
    case("schema-that-does-not-compile", "bad-schema", (INPUT, TEXT, '"text": {"type": ‸"strin"}')),
    case("schema-requires-a-number", "bad-schema", (INPUT, '"required": ["text"]', '"required": 5')),
    case("schema-requires-null", "bad-schema", (INPUT, '"required": ["text"]', '"required": null')),
    case(
        "schema-requires-something-else",
        "required-mismatch",
        (INPUT, '"required": ["text"]', '"required": []'),
        ("required: [text]", "required: ‸[text]"),
        says="required ['text'] differs from the schema's []",
    ),
    case(
        "page-requires-something-else",
        "required-mismatch",
        ("required: [text]", "required: ‸[text, title]"),
        says="required ['text', 'title'] differs from the schema's ['text']",
    ),
    case(
        "schema-without-examples",
        "no-examples",
        (INPUT, ',\n  "examples": [\n    {"text": "Buy milk"}\n  ]', ""),
        (INPUT, '{\n  "$schema"', '‸{\n  "$schema"'),
        says="a schema has at least one example",
        hint='add `"examples": [...]`',
    ),
    case(
        "schema-example-does-not-fit",
        "example-mismatch",
        (INPUT, '{"text": "Buy milk"}', '{"text": ‸7}'),
        says="the example does not fit: `text` must be a string, not an integer",
    ),
    case(
        "schema-example-does-not-fit-by-reference",
        "example-mismatch",
        (OUTPUT, '{"id": 7}', '{"id": ‸"seven"}'),
        says="the example does not fit: `id` must be an integer, not a string",
    ),
    case("schema-refers-to-http", "bad-schema", (OUTPUT, '"id.json"', '"https://example.org/id.json"')),
    case(
        "schema-refers-outside",
        "bad-schema",
        (OUTPUT, '"id.json"', '"../../secret.json"'),
        write={f"{HERE}/secret.json": "{}"},
    ),
    case("schema-refers-to-nothing", "bad-schema", (OUTPUT, '"id.json"', '"ids.json"')),
    case(
        "page-is-not-text",
        "not-text",
        write={MAIN: "---\natom: ‸\udcff\n---\n"},
        says="is not UTF-8 here",
        hint="save the file as UTF-8 without a byte order mark",
    ),
    case("schema-of-300-letters", "missing-schema", ("schema: schemas/add-input.json", f"schema: ‸{'s' * 300}")),
    case(
        "function-missing",
        "missing-function",
        ("atom: kei-note::add", "atom: ‸kei-note::add"),
        write={RUN: None},
        says="the function `add.py` is missing",
        hint="write `def run(input, context)` in `add.py` beside the page",
    ),
    case(
        "function-of-another-name",
        "missing-function",
        write={RUN: "‸def main(input, context):\n    return {}\n"},
        says="the module defines no `run`",
        hint="write `def run(input, context)`",
    ),
    case(
        "function-with-one-parameter",
        "bad-function",
        write={RUN: "import os\n\n\n‸def run(input):\n    return {}\n"},
        says="`run` takes two parameters, `input` and `context`; this one takes 1",
    ),
    case(
        "function-with-three-parameters",
        "bad-function",
        write={RUN: "‸def run(input, context, more):\n    return {}\n"},
        says="`run` takes two parameters, `input` and `context`; this one takes 3",
    ),
    case(
        "function-with-a-named-parameter",
        "bad-function",
        write={RUN: "‸def run(input, context, *, more):\n    return {}\n"},
        says="`run` has a parameter that must be named, and is called with two values",
    ),
    case(
        "function-is-a-coroutine",
        "bad-function",
        write={RUN: "‸async def run(input, context):\n    return {}\n"},
        says="`run` is a coroutine; atoms are plain functions",
    ),
    case(
        "function-is-a-generator",
        "bad-function",
        write={RUN: "‸def run(input, context):\n    yield {}\n"},
        says="`run` is a generator, and only a stream's is",
    ),
    case(
        "function-of-a-stream-never-yields",
        "bad-function",
        ("kind: command", "kind: stream"),
        write={RUN: "‸def run(input, context):\n    def inner():\n        yield {}\n    return {}\n"},
        says="a stream's `run` is a generator; this one never yields",
    ),
    case("function-syntax", "syntax", write={RUN: "def ‸(input):\n"}, says="is not Python: invalid syntax"),
    case("function-too-deep", "too-deep", write={RUN: "x = " + "-" * 200_000 + "1\n"}, placed=False),
    case(
        "keyed-without-a-database",
        "not-keyed",
        ("idempotent: false", "idempotent: false\nkeyed: ‸true"),
        says="`keyed` keeps the invocation id in the package's database, and this package has none",
    ),
    case(
        "deprecated-for-nothing",
        "no-successor",
        ("stability: stable", "stability: deprecated\ndeprecated: ‸use kei-note::append"),
        says="`kei-note::append` is to be used instead, and does not exist",
        hint="did you mean `kei-note::find`?",
    ),
    case(
        "deprecated-for-itself",
        "no-successor",
        ("stability: stable", "stability: deprecated\ndeprecated: ‸use kei-note::add"),
        says="`kei-note::add` is to be used instead, and is this atom",
        hint="did you mean `kei-note::find`?",
    ),
    case(
        "schema-that-nothing-satisfies",
        "empty-schema",
        (INPUT, '{\n  "$schema"', '‸{\n  "$schema"'),
        (INPUT, TEXT, '"text": {"type": "string", "minLength": 5, "maxLength": 3}'),
        also=("example-mismatch", "example-mismatch"),
        says="no document satisfies this schema",
    ),
    case(
        "schema-that-refers-to-itself-only",
        "bad-schema",
        (OUTPUT, '"id.json"', '"#/definitions/a"'),
        (OUTPUT, '"type": "object",', '"type": "object", "definitions": {"a": {"$ref": "#/definitions/b"}},'),
    ),
]
