"""The pages of shipped primitives: one version, words that agree with the tables, examples that run."""

import shlex
import tomllib
from importlib import import_module
from pathlib import Path

import apsw
import pytest

from keisei import __version__
from keisei.cli.primitive import Verb, value_of
from keisei.cli.primitive_field import given_of
from keisei.cli.primitive_page import bullets, example
from tests.kit.desk import PACKAGES, PRIMITIVES, spec_of

ATOMS = sorted(f"{p}::{path.stem}" for p in PACKAGES for path in PRIMITIVES.glob(f"{p}/src/*/atoms/*.md"))


def page(atom):
    return Path(spec_of(atom).page).read_text()


def test_the_verbs_are_those_that_were_promised():
    assert [atom.split("::")[1] for atom in ATOMS if atom.startswith("kei-task::")] == sorted(
        ["create", "get", "list", "update", "complete", "add-dependency", "remove-dependency", "chain", "search"]
    )
    assert [atom for atom in ATOMS if atom.startswith("kei-milestone::")] == [
        f"kei-milestone::{verb}" for verb in ("create", "link", "list", "progress")
    ]


@pytest.mark.parametrize("package", PACKAGES)
def test_a_primitive_has_the_version_it_ships_with(package):
    data = tomllib.loads((PRIMITIVES / package / "pyproject.toml").read_text())

    assert data["project"]["version"] == __version__
    assert data["project"]["entry-points"]["keisei.atoms"] == {package: package.replace("-", "_")}


def test_an_installed_copy_has_its_metadata_and_migrations_inside():
    data = tomllib.loads((PRIMITIVES / "kei-task" / "pyproject.toml").read_text())

    included = data["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    assert included[data["tool"]["keisei"]["migrations_dir"]] == "kei_task/migrations"
    assert included["pyproject.toml"] == "kei_task/pyproject.toml"
    numbers = [int(path.name[:4]) for path in sorted((PRIMITIVES / "kei-task" / "migrations").iterdir())]
    assert numbers == list(range(1, data["tool"]["keisei"]["schema_version"] + 1))


@pytest.mark.parametrize("atom", ATOMS)
def test_a_command_is_keyed_and_a_query_is_not(atom):
    manifest = spec_of(atom).manifest

    assert bool(manifest.keyed) == (manifest.kind == "command")
    assert {effect.domain for effect in manifest.side_effects} == {"kei-task-db"}
    assert manifest.idempotent == (not atom.endswith("::create"))
    assert bullets(page(atom), "Gotchas")
    assert manifest.keywords
    assert manifest.related


def test_schemas_functions_and_tables_know_the_same_words(desk):
    task = import_module("kei_task.task")
    words = spec_of("kei-task::update").input_schema["definitions"]
    desk.tasks("A")

    assert tuple(words["status"]["enum"]) == task.STATUSES
    assert tuple(words["priority"]["enum"]) == task.PRIORITIES
    for priority in task.PRIORITIES:
        desk.call("kei-task::update", id=1, priority=priority)
    for status in task.STATUSES:
        desk.call("kei-task::update", id=1, status=status)
    for kind in spec_of("kei-task::add-dependency").input_schema["definitions"]["dep-type"]["enum"]:
        (child,) = desk.tasks(kind)
        desk.call("kei-task::add-dependency", parent=1, child=child, dep_type=kind)
    with pytest.raises(apsw.ConstraintError):
        desk.sql("UPDATE tasks SET priority = 'High'")


@pytest.mark.parametrize("atom", ATOMS)
def test_the_example_of_a_page_runs(desk, atom):
    desk.call("kei-milestone::create", name="one")
    desk.tasks("A", "B", "C", milestone_id=1)
    lines = "\n".join(example(page(atom))).replace("\\\n", " ").splitlines()

    assert lines
    for line in lines:
        program, verb, *words = shlex.split(line)
        command = Verb(verb, spec_of(f"{program}::{verb}"))
        with command.make_context(verb, words) as context:
            options = dict(context.params)
        whole, places = options.pop("whole"), options.pop("words", ())
        given = value_of(command.fields, whole, given_of(command.fields, places, options))
        assert f"{program}::{verb}" == atom
        assert desk.call(atom, **given)
