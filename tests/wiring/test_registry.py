"""The registry: which keys a payload may have, by the schema of its type."""

import json

import pytest

from keisei.records.error import AuthorError
from keisei.records.task_type import TaskTypeSpec
from tests.wiring.house import ANSWERING

SCHEMAS = {
    "closed": ({"properties": {"a": {}, "b": {}}, "additionalProperties": False}, {"a", "b"}),
    "nothing": ({"additionalProperties": False}, set()),
    "open": ({"properties": {"a": {}}}, None),
    "typed": ({"properties": {"a": {}}, "additionalProperties": {"type": "string"}}, None),
    "patterns": ({"patternProperties": {"^x": {}}, "additionalProperties": False}, None),
}


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_closed_schema_names_every_key_and_an_open_one_none(house, name):
    schema, keys = SCHEMAS[name]
    types = house.root / ".keisei/task-types"
    (types / f"{name}.toml").write_text(ANSWERING.replace("answering", name).replace("any.json", f"{name}.json"))
    (types / f"schemas/{name}.json").write_text(json.dumps(schema))
    registry = house.shop.registry()

    found = registry.payload_keys(registry.task_type(name))

    assert found == keys


def test_a_published_schema_names_its_keys(house):
    registry = house.shop.registry()

    assert {"task", "scope"} <= registry.payload_keys(registry.task_type("agent-task"))


def test_a_shipped_type_names_its_keys(house):
    registry = house.shop.registry()

    assert "accepted_signals" in registry.payload_keys(registry.task_type("goal-verify"))
    assert "feedback" not in registry.payload_keys(registry.task_type("goal-verify"))


def test_a_schema_that_is_missing_is_told(house):
    registry = house.shop.registry()
    spec = TaskTypeSpec(task_type="answering", payload_schema_id="schemas/gone.json")

    with pytest.raises(AuthorError, match="is missing"):
        registry.payload_keys(spec)
