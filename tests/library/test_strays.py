"""What lint says of folders nobody reads, of schemas nobody publishes, of examples that do not fit."""

import json

import pytest

from keisei.contracts.check import violations
from keisei.library.catalog import Catalog
from keisei.library.lint import lint
from keisei.library.shelf import Layer
from keisei.wiring import KIT

DRAFT = "http://json-schema.org/draft-07/schema#"


@pytest.fixture
def layer(tmp_path):
    (tmp_path / ".keisei").mkdir()
    (tmp_path / "keisei.toml").write_text('[project]\nname = "shop"\n')
    return Layer("project", tmp_path / ".keisei")


def linted(layer, kind):
    problems = lint(Catalog([Layer("kit", KIT), layer]), [kind], [layer]).ordered
    return [(problem.code, problem.message, problem.hint) for problem in problems]


def test_a_folder_with_a_misspelt_name_is_told_of(layer):
    (layer.folder / "capabilites").mkdir()

    assert linted(layer, "project") == [
        ("bad-name", "no kind of file is kept in `capabilites`", "did you mean `capabilities`?")
    ]


@pytest.mark.parametrize(
    ("folder", "file"),
    [("capabilities/policy/x", "capability.toml"), ("skills/x", "SKILL.md"), ("agents/x", "agent.toml")],
)
def test_a_folder_without_the_file_that_makes_it_a_thing_is_told_of(layer, folder, file):
    (layer.folder / folder).mkdir(parents=True)

    assert linted(layer, "project") == [("missing-file", f"has no {file}", None)]


def test_a_schema_nobody_publishes_is_dangling_in_a_skill(layer):
    folder = layer.folder / "skills" / "count"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text("---\nname: count\ndescription: Counts.\n---\nCount.\n")
    (folder / "skill.toml").write_text('output_schema_id = "agent-runtime/task.outcom/v1"\n')

    assert linted(layer, "skill") == [
        (
            "dangling",
            "no published schema is called `agent-runtime/task.outcom/v1`",
            "did you mean `agent-runtime/task.outcome/v1`?",
        )
    ]


def test_an_example_in_an_atoms_page_must_fit_its_schema(layer):
    atoms = layer.folder / "primitives" / "kei-note" / "atoms"
    (atoms / "schemas").mkdir(parents=True)
    (atoms.parent / "pyproject.toml").write_text('[project]\nversion = "1"\n[tool.keisei]\nbackend = "memory"\n')
    for side in ("input", "output"):
        schema = {"$schema": DRAFT, "type": "object", "properties": {"n": {"type": "integer"}}, "examples": [{"n": 1}]}
        (atoms / "schemas" / f"add-{side}.json").write_text(json.dumps(schema))
    (atoms / "add.py").write_text("def run(input, context):\n    return input\n")
    (atoms / "add.md").write_text(
        "---\natom: kei-note::add\nkind: transform\nversion: '1'\n"
        "input: {schema: schemas/add-input.json, example: {n: x}}\n"
        "output: {schema: schemas/add-output.json, example: {n: 2}}\nside_effects: []\nidempotent: true\n"
        "stability: stable\n---\n# kei-note::add\n"
    )

    told = "the example does not fit: `n` must be an integer, not a string"
    assert linted(layer, "atom") == [("example-mismatch", told, None)]


@pytest.mark.parametrize(("name", "key"), [("task.attempt", "task_id"), ("sensor.event", "event_id")])
def test_an_id_is_never_empty(name, key):
    assert any(each.path == (key,) for each in violations(name, {key: ""}))
