"""The TypeScript of the records compiles, and is neither wider nor narrower than the examples need."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from keisei.contracts.generate import generated_schema
from keisei.contracts.registry import NAMES
from keisei.contracts.typescript import typescript

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "src" / "keisei" / "contracts" / "examples"
TSC = ROOT / ".tools" / "typescript" / "node_modules" / "typescript" / "bin" / "tsc"
OPTIONS = ("--strict", "--noEmit", "--pretty", "false", "--types", "", "--lib", "es2022")


def compile_errors(folder, *programs):
    """The errors of the compiler as (file, line, text)."""
    node = ROOT / ".tools" / "bin" / "node"
    node = str(node) if node.exists() else shutil.which("node")
    if node is None or not TSC.exists():
        pytest.fail("there is no TypeScript compiler here: run `make setup-test`")
    done = subprocess.run(
        [node, TSC, *OPTIONS, *programs], cwd=folder, capture_output=True, text=True, timeout=120, check=False
    )
    errors = re.findall(r"^(\S+)\((\d+),\d+\): error (.*)$", done.stdout, flags=re.MULTILINE)
    assert bool(errors) == bool(done.returncode), done.stdout + done.stderr
    return [(file, int(line), text) for file, line, text in errors]


@pytest.fixture(scope="module")
def schemas():
    return {name: generated_schema(name, []) for name in NAMES}


@pytest.fixture
def folder(tmp_path, schemas):
    """A folder with the exported module."""
    (tmp_path / "keisei.ts").write_text(typescript(schemas))
    return tmp_path


def shape(title="Thing", *, properties=None, required=(), **more):
    return {
        "$id": f"agent-runtime/{title.lower()}/v1",
        "title": title,
        "type": "object",
        "properties": properties or {},
        "required": list(required),
        "additionalProperties": False,
        **more,
    }


def line_of(part):
    """The type that a property with this schema gets."""
    module = typescript({"thing": shape(properties={"field": part}, required=["field"])})
    return re.search(r"^  field: (.*);$", module, flags=re.MULTILINE).group(1)


def test_every_example_is_assignable_to_its_type(folder, schemas):
    literals = [
        f"export const x{number}: RecordTypes[{json.dumps(name)}] = {json.dumps(example)};\n"
        f"export const y{number}: keisei.{schemas[name]['title']} = x{number};\n"
        for number, (name, example) in enumerate(
            (name, example) for name in NAMES for example in json.loads((EXAMPLES / f"{name}.json").read_text())
        )
    ]
    (folder / "examples.ts").write_text(
        "import type * as keisei from './keisei';\nimport type { RecordTypes } from './keisei';\n" + "".join(literals)
    )
    (folder / "uses.ts").write_text(USES)

    assert compile_errors(folder, "keisei.ts", "examples.ts", "uses.ts") == []


USES = """\
import { SCHEMA_IDS, type AdapterConfig, type RecordTypes } from './keisei';

const id: 'agent-runtime/task.intent/v1' = SCHEMA_IDS['task.intent'];
const ids: Record<keyof RecordTypes, string> = SCHEMA_IDS;
const names: Array<keyof RecordTypes> = Object.keys(SCHEMA_IDS) as Array<keyof typeof SCHEMA_IDS>;

export function place(adapter: AdapterConfig): string {
  switch (adapter.kind) {
    case 'claude-code': return adapter.autonomy?.required_settings_files?.join() ?? adapter.command;
    case 'codex': return adapter.provider?.id ?? adapter.command;
    case 'hermes-agent': return adapter.command;
    case 'ollama-generate': return adapter.endpoint;
    case 'script': return adapter.command;
  }
  const nothing: never = adapter;
  return nothing;
}
export default [id, ids, names];
"""

MISUSES = """\
import type { AdapterConfig, RoleManifest, TaskAttempt, TaskIntent, TaskOutcome } from './keisei';

const intent: TaskIntent = { task_type: 'fix', source: 'me', payload: {} };
const missing: TaskIntent = { task_type: 'fix', source: 'me' }; // wrong: no payload
const misspelt: TaskIntent = { task_type: 'fix', source: 'me', payload: {}, priorty: 1 }; // wrong: unknown key
const text: TaskIntent = { task_type: 'fix', source: 'me', payload: {}, priority: 'high' }; // wrong: not a number
const nothing: TaskIntent = { task_type: 'fix', source: 'me', payload: {}, subject: null }; // wrong: left out, not null
const word: TaskOutcome = { status: 'done', machine_status: 'ok', operator_summary: '' }; // wrong: no such status
const kind: AdapterConfig = { kind: 'gpt', adapter_id: 'a', command: 'x', timeout_ms: 1000 }; // wrong: no such kind
const other: AdapterConfig = { kind: 'script', adapter_id: 'a', endpoint: 'x', timeout_ms: 1000 }; // wrong: not its key
const role: RoleManifest = { role: { name: 'a', claude_subagent_type: 'b' } }; // wrong: the key is kebab-case
const status: TaskAttempt['exit_status'] = null;
const never: TaskAttempt['task_id'] = null; // wrong: never null
export default [intent, missing, misspelt, text, nothing, word, kind, other, role, status, never];
"""


def test_a_wrong_document_is_refused_on_its_line(folder):
    (folder / "misuses.ts").write_text(MISUSES)
    expected = [number for number, line in enumerate(MISUSES.splitlines(), 1) if "// wrong" in line]

    errors = compile_errors(folder, "misuses.ts")

    assert sorted({line for _, line, _ in errors}) == expected, errors
    assert {file for file, _, _ in errors} == {"misuses.ts"}


def test_text_from_outside_cannot_leave_its_comment_or_its_quotes(tmp_path):
    hostile = "ends */ here\n*/ and here\u2028*/ and *"
    properties = {"a'b\"\n": {"enum": ["x'\"\n\u2028", None, 1, True], "description": hostile}}
    module = typescript({'a"b': shape(properties=properties, description=hostile)})
    (tmp_path / "keisei.ts").write_text(module)

    assert compile_errors(tmp_path, "keisei.ts") == []


def test_the_same_schemas_in_another_order_give_the_same_text(schemas):
    assert typescript(dict(reversed(schemas.items()))) == typescript(schemas)


def test_a_shape_that_several_records_share_is_written_once(schemas):
    module = typescript(schemas)

    assert module.count("export interface TaskIntent {") == 1
    assert module.count("export interface Lineage {") == 1


def test_one_title_for_two_shapes_is_an_error():
    one, other = shape(properties={"a": {"type": "string"}}), shape(properties={"a": {"type": "integer"}})

    with pytest.raises(ValueError, match="`Thing` stands for two shapes; the second is in `b`"):
        typescript({"a": one, "b": other})


def test_a_shape_without_a_name_is_an_error():
    with pytest.raises(ValueError, match="needs a title"):
        typescript({"a": shape("12 things")})


def test_a_keyword_without_a_typescript_is_an_error():
    with pytest.raises(ValueError, match="no TypeScript is known"):
        line_of({"type": "object", "patternProperties": {"^x": {}}})


def test_a_key_that_is_no_name_is_quoted_and_one_that_may_be_missing_is_marked():
    module = typescript({"thing": shape(properties={"on-error": {"type": "string"}, "id": {}}, required=["id"])})

    assert '  "on-error"?: string;\n  id: unknown;\n' in module


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        pytest.param({}, "unknown", id="anything"),
        pytest.param({"description": "Anything."}, "unknown", id="anything described"),
        pytest.param({"type": "string", "pattern": "^a"}, "string", id="text"),
        pytest.param({"type": "integer", "minimum": 0}, "number", id="integer"),
        pytest.param({"type": ["string", "null"]}, "string | null", id="list of types"),
        pytest.param({"anyOf": [{"type": "number"}, {"type": "null"}]}, "number | null", id="nullable"),
        pytest.param({"enum": ["a", "b", None]}, '"a" | "b" | null', id="enum"),
        pytest.param({"const": True}, "true", id="const"),
        pytest.param({"type": "array"}, "Array<unknown>", id="list"),
        pytest.param({"type": "array", "items": {"enum": ["a", "b"]}}, 'Array<"a" | "b">', id="list of words"),
        pytest.param({"type": "object"}, "Record<string, unknown>", id="free object"),
        pytest.param({"type": "object", "additionalProperties": False}, "Record<string, never>", id="empty object"),
        pytest.param(
            {"type": "object", "propertyNames": {"pattern": "^a"}, "additionalProperties": {"type": "string"}},
            "Record<string, string>",
            id="object by key",
        ),
        pytest.param({"$ref": "#/definitions/TaskIntent", "description": "It."}, "TaskIntent", id="reference"),
    ],
)
def test_a_schema_becomes_the_type_that_says_the_same(part, expected):
    assert line_of(part) == expected


def test_an_object_inside_another_is_written_in_place():
    inner = {"type": "object", "properties": {"x": {"type": "number", "description": "Across."}}, "required": ["x"]}

    module = typescript({"thing": shape(properties={"at": inner})})

    assert "  at?: {\n    /** Across. */\n    x: number;\n  };\n" in module
