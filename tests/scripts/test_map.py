"""The map: for every record, command and file kind it names one file, and the definition is there."""

import ast
import importlib.util
import inspect
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest

from keisei.cli.agent import runtime
from keisei.cli.app import app
from keisei.cli.capability import seed
from keisei.cli.forge import program as kei_forge
from keisei.cli.migrate import group as kei_migrate
from keisei.cli.primitive import kei_milestone, kei_task
from keisei.cli.runtime import program as kei_runtime
from keisei.cli.sage import program as kei_sage
from keisei.cli.schema_lint import command as kei_schema_lint
from keisei.contracts.registry import FORMS, NAMES, RECORDS
from keisei.records.problem import CODES
from keisei.settings import SETTINGS

DOORS = {
    "keisei": app,
    "kei-agent-runtime": runtime,
    "kei-capability": seed,
    "kei-forge": kei_forge,
    "kei-migrate": kei_migrate,
    "kei-milestone": kei_milestone,
    "kei-runtime": kei_runtime,
    "kei-sage": kei_sage,
    "kei-schema-lint": kei_schema_lint,
    "kei-task": kei_task,
}
ROOT = Path(__file__).resolve().parents[2]
MAP = (ROOT / "docs/map.md").read_text(encoding="utf-8")


def rows(table):
    """The cells of one generated table of the map, backticks removed."""
    text = MAP.partition(f"<!-- generated: {table} -->\n")[2].partition(f"<!-- end: {table} -->")[0]
    return [[cell.strip().strip("`") for cell in line.strip("|").split(" | ")] for line in text.splitlines()[2:]]


def definitions(file):
    """Names defined at the top of a module."""
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    found = set()
    for node in tree.body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            found.add(node.name)
        if isinstance(node, ast.Assign):
            found |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return found


def generator():
    """scripts/docs.py as a module."""
    spec = importlib.util.spec_from_file_location("docs", ROOT / "scripts/docs.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("table", ["records", "forms", "files", "commands"])
def test_each_thing_has_one_row(table):
    names = [row[0] for row in rows(table)]

    assert names
    assert len(names) == len(set(names))


def test_every_record_and_form_is_on_the_map():
    assert [row[0] for row in rows("records")] == list(RECORDS)
    assert [row[0] for row in rows("forms")] == list(FORMS)


@pytest.mark.parametrize("row", rows("records") + rows("forms"), ids=lambda row: row[0])
def test_a_record_is_defined_where_the_map_says(row):
    _, title, file = row

    assert title in definitions(file)


@pytest.mark.parametrize("row", rows("files"), ids=lambda row: row[0])
def test_an_authored_file_is_read_where_the_map_says(row):
    _, form, function, file = row

    assert form in NAMES or form == "-"
    assert function in definitions(file)


@pytest.mark.parametrize("row", rows("commands"), ids=lambda row: row[0])
def test_a_command_is_defined_where_the_map_says(row):
    name, file = row
    first, *words = name.split()
    command = DOORS[first]
    for word in words:
        command = command.get_command(click.Context(command), word)

    assert Path(inspect.getsourcefile(inspect.unwrap(command.callback))) == ROOT / file


def test_every_command_of_keisei_is_on_the_map():
    context = click.Context(app)
    groups = {name: app.get_command(context, name) for name in app.list_commands(context)}
    expected = {
        f"keisei {name} {verb}" if isinstance(command, click.Group) else f"keisei {name}"
        for name, command in groups.items()
        for verb in (command.commands if isinstance(command, click.Group) else [""])
    }

    assert expected <= {row[0] for row in rows("commands")}


def test_every_file_the_map_names_exists():
    named = set(re.findall(r"`((?:src|scripts)/[^`]+)`", MAP))

    assert named
    assert [file for file in named if not (ROOT / file).exists()] == []


def test_every_room_is_on_the_map():
    rooms = [path for path in (ROOT / "src/keisei").iterdir() if path.is_dir() and path.name != "__pycache__"]

    assert [room.name for room in rooms if f"`src/keisei/{room.name}`" not in MAP] == []


def test_generated_pages_are_up_to_date():
    result = subprocess.run(
        [sys.executable, str(ROOT / "scripts/docs.py"), "--check"], capture_output=True, text=True, check=False
    )

    assert (result.returncode, result.stdout) == (0, "")


def test_every_problem_code_is_explained_and_used():
    source = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "src/keisei").rglob("*.py"))
    page = (ROOT / "docs/reference/errors.md").read_text(encoding="utf-8")

    unused = [code for code in CODES if source.count(f'"{code}"') < 2]

    assert unused == []
    assert [code for code in CODES if f"## {code}\n" not in page] == []


def test_every_setting_is_documented():
    page = (ROOT / "docs/reference/settings.md").read_text(encoding="utf-8")

    assert [setting.variable for setting in SETTINGS if f"`{setting.variable}`" not in page] == []


def test_the_generator_knows_every_form():
    forms = {form for form, _, _ in generator().FILE_KINDS.values() if form}

    assert set(FORMS) <= forms
