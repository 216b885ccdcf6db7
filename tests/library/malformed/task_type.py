"""task-types/*.toml, and the payload schemas they name."""

# ruff: noqa: E501 - a message stands on one line here, as it is compared

from tests.library.malformed.case import Kind, case, kit

MAIN = "task-types/script.toml"
SCHEMA = "task-types/schemas/script-payload.json"

KIND = Kind("task-type", MAIN, {MAIN: kit(MAIN), SCHEMA: kit(SCHEMA)}, by="task-type")

ID = 'task_type = "script"'
PAYLOAD = 'payload_schema_id = "schemas/script-payload.json"'
DRAFT = '"http://json-schema.org/draft-07/schema#"'
EXAMPLE = '{\n      "args": [\n        "scripts/nightly.sh"\n      ]\n    }'
TYPE = '"type": "object",\n  "required"'
HEAD = f'{{\n  "$schema": {DRAFT},\n'

CASES = [
    case("empty-file", "missing-key", write={MAIN: ""}),
    case("no-type", "missing-key", write={MAIN: "‸" + PAYLOAD + "\n"}, says="missing key `task_type`"),
    case("no-payload", "missing-key", write={MAIN: "‸" + ID + "\n"}, says="missing key `payload_schema_id`"),
    case(
        "key-misspelt",
        "unknown-key",
        ("default_adapter_id", "‸default_adapter_di"),
        says="unknown key `default_adapter_di`",
        hint="did you mean `default_adapter_id`?",
    ),
    case(
        "key-unlike-any",
        "unknown-key",
        ("description =", "‸zzz ="),
        says="unknown key `zzz`",
        hint="known keys: task_type, description, payload_schema_id, default_profile_id, default_adapter_id, default_model, allowed_skill_ids, artifact_roles, success_policy",
    ),
    case(
        "policy-key-misspelt",
        "unknown-key",
        ("complete_by_exit_code", "‸complete_by_exit"),
        says="unknown key `complete_by_exit`",
        hint="did you mean `complete_by_exit_code`?",
    ),
    case(
        "policy-table-misspelt",
        "unknown-key",
        ("[success_policy]", "[‸succes_policy]"),
        says="unknown key `succes_policy`",
        hint="did you mean `success_policy`?",
    ),
    case(
        "type-of-another-file",
        "bad-name",
        (ID, 'task_type = ‸"scripts"'),
        says="task_type `scripts` differs from the file `script.toml`",
    ),
    case(
        "type-in-capitals",
        "wrong-value",
        (ID, 'task_type = ‸"Script"'),
        says="`task_type` must be lower-case letters, digits, `_`, `.` and `-`, starting with a letter, not `Script`",
    ),
    case("type-is-a-number", "wrong-type", (ID, "task_type = ‸1"), says="`task_type` must be a string, not an integer"),
    case("type-empty", "wrong-value", (ID, 'task_type = ‸""')),
    case(
        "profile-leads-nowhere",
        "dangling",
        ('default_profile_id = "script"', 'default_profile_id = ‸"validater"'),
        says="profile `validater` does not exist",
        hint="did you mean `validator`?",
    ),
    case(
        "adapter-leads-nowhere",
        "dangling",
        ('default_adapter_id = "script"', 'default_adapter_id = ‸"scripts"'),
        says="adapter `scripts` does not exist",
        hint="did you mean `script`?",
    ),
    case(
        "adapter-leads-nowhere-near",
        "dangling",
        ('default_adapter_id = "script"', 'default_adapter_id = ‸"zzz"'),
        says="adapter `zzz` does not exist",
        hint="known adapters: claude-code, codex, hermes-agent, ollama, script",
    ),
    case(
        "skill-leads-nowhere",
        "dangling",
        (ID, ID + '\nallowed_skill_ids = [‸"code-revue"]'),
        says="skill `code-revue` does not exist",
        hint="did you mean `code-review`?",
    ),
    case(
        "skills-are-a-switch",
        "wrong-type",
        (ID, ID + "\nallowed_skill_ids = ‸true"),
        says="`allowed_skill_ids` must be a list, not true or false",
    ),
    case(
        "artifact-role-is-text",
        "wrong-type",
        (ID, ID + '\nartifact_roles = ‸"report"'),
        says="`artifact_roles` must be a list, not a string",
    ),
    case(
        "policy-is-text",
        "wrong-type",
        write={MAIN: f'{ID}\n{PAYLOAD}\nsuccess_policy = ‸"strict"\n'},
        says="`success_policy` must be an object, not a string",
    ),
    case(
        "exit-code-is-a-number",
        "wrong-type",
        ("complete_by_exit_code = true", "complete_by_exit_code = ‸0"),
        says="`complete_by_exit_code` must be true or false, not an integer",
    ),
    case("key-twice", "duplicate-key", (ID, ID + '\n‸task_type = "script"'), says="this key or table is already there"),
    case(
        "table-not-closed",
        "syntax",
        ("[success_policy]", "[success_policy‸"),
        says="expected ']' at the end of a table declaration",
    ),
    case(
        "value-without-quotes",
        "syntax",
        (ID, "task_type = ‸script"),
        says="invalid value",
        hint='put text in quotes: `task_type = "script"`',
    ),
    case(
        "payload-missing",
        "missing-file",
        ('"schemas/script-payload.json"', '‸"schemas/scripts-payload.json"'),
        says="schema `schemas/scripts-payload.json` is missing",
    ),
    case(
        "payload-climbs-out",
        "outside",
        ('"schemas/script-payload.json"', '‸"../../schema.json"'),
        says="`../../schema.json` leads out of its folder",
    ),
    case(
        "payload-absolute",
        "outside",
        ('"schemas/script-payload.json"', '‸"/etc/hostname"'),
        says="`/etc/hostname` leads out of its folder",
    ),
    case(
        "payload-is-a-folder",
        "missing-file",
        ('"schemas/script-payload.json"', '‸"schemas"'),
        says="schema `schemas` is missing",
    ),
    case(
        "payload-not-published",
        "dangling",
        ('"schemas/script-payload.json"', '‸"agent-runtime/task.specs/v1"'),
        says="no published schema is called `agent-runtime/task.specs/v1`",
        hint="did you mean `agent-runtime/task.spec/v1`?",
    ),
    case(
        "payload-of-a-later-version",
        "dangling",
        ('"schemas/script-payload.json"', '‸"agent-runtime/task.spec/v2"'),
        says="no published schema is called `agent-runtime/task.spec/v2`",
        hint="did you mean `agent-runtime/task.spec/v1`?",
    ),
    case("payload-empty", "wrong-value", ('"schemas/script-payload.json"', '‸""')),
    case("payload-with-a-nul", "outside", ('"schemas/script-payload.json"', '‸"schemas/\\u0000.json"')),
    case("schema-empty", "syntax", write={SCHEMA: "‸"}, says="expecting value"),
    case("schema-is-a-list", "bad-schema", write={SCHEMA: "‸[]"}, says="a schema is an object"),
    case("schema-is-true", "bad-schema", write={SCHEMA: "‸true"}, says="a schema is an object"),
    case("schema-syntax", "syntax", (SCHEMA, '"minItems": 1,', '"minItems": ‸one,'), says="expecting value"),
    case(
        "schema-key-twice",
        "duplicate-key",
        (SCHEMA, '"minItems": 1,', '"minItems": 1,\n      ‸"minItems": 2,'),
        says="the key `minItems` is written twice",
    ),
    case(
        "schema-without-draft",
        "bad-schema",
        (SCHEMA, f'  "$schema": {DRAFT},\n', ""),
        (SCHEMA, '{\n  "title"', '‸{\n  "title"'),
    ),
    case(
        "schema-of-another-draft",
        "bad-schema",
        (SCHEMA, DRAFT, '‸"https://json-schema.org/draft/2020-12/schema"'),
        says="`$schema` must be `http://json-schema.org/draft-07/schema#`, not `https://json-schema.org/draft/2020-12/schema`",
    ),
    case("schema-type-misspelt", "bad-schema", (SCHEMA, TYPE, '"type": ‸"objekt",\n  "required"')),
    case("schema-required-is-text", "bad-schema", (SCHEMA, '"required": [\n    "args"\n  ]', '"required": "args"')),
    case(
        "schema-with-a-bad-pattern", "bad-schema", (SCHEMA, '"type": "string"\n', '"type": "string", "pattern": "("\n')
    ),
    case("schema-with-a-negative-length", "bad-schema", (SCHEMA, '"minItems": 1,', '"minItems": ‸-1,')),
    case(
        "schema-refers-to-http", "bad-schema", (SCHEMA, '"type": "string"\n', '"$ref": "http://127.0.0.1:9/s.json"\n')
    ),
    case(
        "schema-refers-to-a-file-address",
        "bad-schema",
        (SCHEMA, '"type": "string"\n', '"$ref": "file:///etc/hostname"\n'),
    ),
    case(
        "schema-refers-outside",
        "bad-schema",
        (SCHEMA, '"type": "string"\n', '"$ref": "../../secret.json"\n'),
        write={"secret.json": "{}"},
    ),
    case("schema-refers-to-nothing", "bad-schema", (SCHEMA, '"type": "string"\n', '"$ref": "nothing.json"\n')),
    case(
        "schema-refers-to-no-definition",
        "bad-schema",
        (SCHEMA, '"type": "string"\n', '"$ref": "#/definitions/nothing"\n'),
    ),
    case(
        "schema-refers-to-what-is-no-schema",
        "bad-schema",
        (SCHEMA, '"type": "string"\n', '"$ref": "list.json"\n'),
        write={"task-types/schemas/list.json": "[]"},
    ),
    case(
        "schema-without-examples",
        "no-examples",
        write={SCHEMA: "‸" + HEAD + '  "type": "object"\n}\n'},
        says="a schema has at least one example",
        hint='add `"examples": [...]`',
    ),
    case(
        "schema-with-empty-examples",
        "no-examples",
        write={SCHEMA: HEAD + '  "examples": ‸[]\n}\n'},
        says="a schema has at least one example",
        hint='add `"examples": [...]`',
    ),
    case("schema-with-one-example-and-no-list", "bad-schema", write={SCHEMA: HEAD + '  "examples": {}\n}\n'}),
    case(
        "example-of-another-type",
        "bad-schema",
        (SCHEMA, EXAMPLE, '‸"scripts/nightly.sh"'),
        says='the example does not fit: "scripts/nightly.sh" is not of type "object"',
    ),
    case(
        "example-lacks-a-key",
        "bad-schema",
        (SCHEMA, EXAMPLE, "‸{}"),
        says='the example does not fit: "args" is a required property',
    ),
    case(
        "example-with-a-wrong-item",
        "bad-schema",
        (SCHEMA, '        "-c",\n', "        ‸7,\n"),
        says='the example does not fit: 7 is not of type "string"',
    ),
    case(
        "example-with-another-key",
        "bad-schema",
        (SCHEMA, '"recipients": 2\n      }', '"recipients": 2\n      },\n      "extra": 1'),
        (SCHEMA, '{\n      "args": [\n        "-c"', '‸{\n      "args": [\n        "-c"'),
        says="the example does not fit: Additional properties are not allowed ('extra' was unexpected)",
    ),
    case(
        "example-with-an-empty-list",
        "bad-schema",
        (SCHEMA, EXAMPLE, '{ "args": ‸[] }'),
        says="the example does not fit: [] has less than 1 item",
    ),
    case("payload-of-300-letters", "missing-file", ('"schemas/script-payload.json"', f'‸"{"p" * 300}"')),
]
