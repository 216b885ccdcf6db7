"""Every published name has examples that fit its schema, build its record and come back as they were written."""

import json
from functools import cache
from pathlib import Path

import jsonschema_rs
import msgspec
import pytest

from keisei.contracts.generate import generated_schema
from keisei.contracts.registry import NAMES, record_type

FOLDER = Path(__file__).parents[2] / "src" / "keisei" / "contracts" / "examples"
CASES = [
    (path.stem, number) for path in sorted(FOLDER.glob("*.json")) for number in range(len(json.loads(path.read_text())))
]


@cache
def examples(name):
    return json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))


@cache
def schema(name):
    return generated_schema(name, examples(name))


@cache
def validator(name):
    return jsonschema_rs.Draft7Validator(schema(name), validate_formats=True)


def used(data, part, definitions):
    """Which properties of which shapes a document uses, as (title, property)."""
    if "$ref" in part:
        part = definitions[part["$ref"].rpartition("/")[2]]
    if isinstance(data, list):
        for item in data:
            yield from used(item, part.get("items", {}), definitions)
    elif isinstance(data, dict):
        for key, value in data.items():
            if key in part.get("properties", {}):
                yield part.get("title"), key
                yield from used(value, part["properties"][key], definitions)
            elif isinstance(part.get("additionalProperties"), dict):
                yield from used(value, part["additionalProperties"], definitions)
    for option in (*part.get("anyOf", ()), *(rule.get("then", {}) for rule in part.get("allOf", ()))):
        yield from used(data, option, definitions)


def test_every_name_has_examples_and_every_file_a_name():
    assert sorted(path.stem for path in FOLDER.iterdir()) == sorted(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_name_has_one_to_five_examples(name):
    assert 1 <= len(examples(name)) <= 5


@pytest.mark.parametrize("name", NAMES)
def test_the_examples_stand_in_the_schema(name):
    assert schema(name)["examples"] == examples(name)


@pytest.mark.parametrize(("name", "number"), CASES)
def test_an_example_fits_its_schema(name, number):
    errors = validator(name).iter_errors(examples(name)[number])

    complaints = [f"{error.instance_path}: {error.message}" for error in errors]

    assert complaints == []


@pytest.mark.parametrize(("name", "number"), CASES)
def test_an_example_builds_a_record_and_comes_back_as_written(name, number):
    example = examples(name)[number]

    built = msgspec.convert(example, record_type(name))

    # As text, because Python takes 1 and True and 1.0 for equal and a reader of JSON does not.
    assert json.dumps(json.loads(msgspec.json.encode(built))) == json.dumps(example)


def shapes(name):
    """The shapes of a schema by title: the record and everything it is made of."""
    whole = schema(name)
    return {part["title"]: part for part in (whole, *whole.get("definitions", {}).values())}


def shown(name):
    """Every (title, property) that some example of a name uses."""
    return {
        pair for example in examples(name) for pair in used(example, schema(name), schema(name).get("definitions", {}))
    }


@pytest.mark.parametrize("name", NAMES)
def test_the_examples_of_a_name_show_every_field_of_it(name):
    fields = {(schema(name)["title"], key) for key in schema(name)["properties"]}

    assert sorted(fields - shown(name)) == []


def test_the_examples_together_show_every_field_of_every_shape():
    fields = {(title, key) for name in NAMES for title, part in shapes(name).items() for key in part["properties"]}

    assert sorted(fields - {pair for name in NAMES for pair in shown(name)}) == []
