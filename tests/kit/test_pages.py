"""The pages of shipped primitives: what each promises, words that agree with functions, examples that run."""

import ast
import re
import shlex
import tomllib
from functools import cache
from importlib import import_module
from itertools import chain
from pathlib import Path

import apsw
import pytest

import keisei
from keisei.cli.primitive import Verb, value_of
from keisei.cli.primitive_field import given_of
from keisei.cli.primitive_page import bullets, example, sections
from keisei.library.package_skill import skill_page
from keisei.rules.atom_effect import may_retry_code
from keisei.rules.invocation import CANCELED, EXIT, MISSING_PROGRAM
from tests.kit.desk import ATOMS, PACKAGES, PRIMITIVES, spec_of

TASKS = [atom for atom in ATOMS if atom.startswith(("kei-task::", "kei-milestone::"))]
LINK = re.compile(r"\[\[([^\[\]]+)\]\]")
FIELD = re.compile(r"\{(\w+)\}")
LONGEST = 200
"""Characters of a first paragraph: it is all that an agent sees of an atom in a list."""
PLACES = {"path", "paths", "repo", "from", "to", "root", "folder", "file", "url"}
"""Input fields that name a file, a folder or an address."""
NO_PLACES = {"kei-git-read": {"path", "paths"}, "kei-time": {"from", "to"}}
"""But for these: places inside the repository that is named, and time zones."""
TWO_MEANINGS = {"TooDeep"}
"""Codes that mean one thing of tasks and another of values."""


def page(atom):
    return Path(spec_of(atom).page).read_text()


# --- what every page promises -----------------------------------------------------------------------------------------


def faults(check):
    """What a check says of each atom, with the atom's name."""
    return [f"{atom}: {fault}" for atom in ATOMS for fault in check(atom)]


@pytest.mark.parametrize("package", PACKAGES)
def test_a_primitive_has_the_version_it_ships_with_and_is_found_where_it_is_installed(package):
    data = tomllib.loads((PRIMITIVES / package / "pyproject.toml").read_text())

    assert data["project"]["version"] == keisei.__version__
    included = data["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    assert included["pyproject.toml"] == f"{package.replace('-', '_')}/pyproject.toml"
    assert data["project"]["entry-points"]["keisei.atoms"] == {package: package.replace("-", "_")}


def test_a_page_says_first_what_it_does_then_how_and_what_to_beware_of():
    def check(atom):
        spec, text = spec_of(atom), page(atom)
        related = {link[2:-2] for link in spec.manifest.related}
        if not 0 < len(spec.summary) <= LONGEST or not spec.summary.endswith("."):
            yield f"its first paragraph is {spec.summary!r}"
        yield from (f"nothing under {each}" for each in ("Gotchas", "Related") if not bullets(text, each))
        if not example(text) or atom.partition("::")[0] not in example(text)[0]:
            yield "no example that calls it"
        if (
            not set(LINK.findall("\n".join(sections(text).get("Related", ())))) >= related > set()
            or not spec.manifest.keywords
        ):
            yield "no related atoms, one that is not told of, or no keywords"
        yield from (f"{each} leads nowhere" for each in related if "::" in each and each not in ATOMS)

    assert faults(check) == []


def test_a_schema_describes_every_field_and_takes_no_other():
    def check(atom):
        spec = spec_of(atom)
        for side, schema in (("input", spec.input_schema), ("output", spec.output_schema)):
            top = _followed(schema, schema.get("allOf", [schema])[0])
            if top.get("additionalProperties") is not False:
                yield f"{side} is open"
            for name, field in _fields(schema):
                described = field.get("description") or _followed(schema, field).get("description")
                if not described:
                    yield f"{side} field {name} is not described"

    assert faults(check) == []


def _followed(schema, part):
    return schema["definitions"][part["$ref"].rpartition("/")[2]] if "$ref" in part else part


def _fields(part):
    """Every property anywhere in a schema."""
    if isinstance(part, list):
        yield from chain.from_iterable(map(_fields, part))
    elif isinstance(part, dict):
        named = part.get("properties", {})
        yield from named.items()
        yield from _fields([*named.values()])
        yield from _fields([each for key, each in part.items() if key not in ("properties", "examples", "enum")])


def test_every_place_that_a_field_names_stands_in_an_effect():
    def check(atom):
        spec, package = spec_of(atom), atom.partition("::")[0]
        named = {field for effect in spec.manifest.side_effects for field in FIELD.findall(effect.domain)}
        places = set(spec.input_schema.get("properties", ())) & PLACES - NO_PLACES.get(package, set())
        if places - named or named - set(spec.input_schema.get("required", ())):
            yield f"fields {sorted(places)}, effects name {sorted(named)}, and a field of an effect is required"

    assert faults(check) == []


def test_an_error_is_raised_that_is_declared_and_declared_that_is_raised():
    def check(atom):
        package, _, verb = atom.partition("::")
        declared = {error.code for error in spec_of(atom).manifest.errors}
        of_package.setdefault(package, set()).update(declared)
        said, raised = _codes(_source(f"{package}.atoms.{verb}".replace("-", "_")))
        yield from (f"{each} is declared and nowhere raised" for each in sorted(declared - said))
        yield from (f"{each} is raised and not declared" for each in sorted(raised - declared))

    of_package = {}
    assert faults(check) == []
    for package, declared in of_package.items():
        assert {code for path in PRIMITIVES.glob(f"{package}/src/**/*.py") for code in _codes(path)[1]} <= declared


@cache
def _codes(path):
    """The words of a module and of all that it takes errors from; and the codes that it raises itself."""
    nodes = list(ast.walk(ast.parse(path.read_text())))
    said = {each.value for each in nodes if isinstance(each, ast.Constant) and isinstance(each.value, str)}
    calls = (
        each for each in nodes if isinstance(each, ast.Call) and isinstance(each.func, ast.Attribute) and each.args
    )
    raised = {getattr(each.args[0], "value", None) for each in calls if each.func.attr in {"error", "fail"}}
    for each in nodes:
        names = (f"{each.module}.{one.name}" for one in each.names) if isinstance(each, ast.ImportFrom) else ()
        for source in filter(None, map(_source, (getattr(each, "module", None), *names))):
            said |= _codes(source)[0]
    return said, {code for code in raised if isinstance(code, str)}


def _source(module):
    """The file of a module of a package, or of one in which keisei names the error of a verb; None for others."""
    package, _, rest = (module or "").partition(".")
    name = rest.replace(".", "/") + ".py"
    if package != "keisei":
        path = PRIMITIVES / package.replace("_", "-") / "src" / package / name
        return path if path.is_file() else None
    path = Path(keisei.__file__).parent / name
    return path if rest.startswith("wiring.") and path.is_file() and "VerbError" in path.read_text() else None


def test_a_code_is_like_the_same_status_in_every_package():
    found = {}
    for atom in ATOMS:
        for error in spec_of(atom).manifest.errors:
            found.setdefault(error.code, {}).setdefault(error.http_analog, atom)

    assert {code: likes for code, likes in found.items() if len(likes) > 1 and code not in TWO_MEANINGS} == {}


@pytest.mark.parametrize("verb", ["get", "send", "download"])
def test_a_status_that_was_not_expected_is_not_asked_for_again(verb):
    assert not may_retry_code(spec_of(f"kei-http::{verb}").manifest, "UnexpectedStatus")


def test_a_skill_tells_every_exit_code():
    text = skill_page("kei-runtime", [spec_of("kei-runtime::list")])

    codes = {0, *EXIT.values(), MISSING_PROGRAM, CANCELED}
    assert codes <= set(map(int, re.findall(r"\b(\d+): ", text)))


# --- tasks and milestones ---------------------------------------------------------------------------------------------


def test_the_verbs_are_those_that_were_promised():
    assert [atom.split("::")[1] for atom in ATOMS if atom.startswith("kei-task::")] == sorted(
        ["create", "get", "list", "update", "complete", "add-dependency", "remove-dependency", "chain", "search"]
    )
    assert [atom for atom in ATOMS if atom.startswith("kei-milestone::")] == [
        f"kei-milestone::{verb}" for verb in ("create", "link", "list", "progress")
    ]


def test_an_installed_copy_has_its_metadata_and_migrations_inside():
    data = tomllib.loads((PRIMITIVES / "kei-task" / "pyproject.toml").read_text())

    included = data["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    assert included[data["tool"]["keisei"]["migrations_dir"]] == "kei_task/migrations"
    assert included["pyproject.toml"] == "kei_task/pyproject.toml"
    numbers = [int(path.name[:4]) for path in sorted((PRIMITIVES / "kei-task" / "migrations").iterdir())]
    assert numbers == list(range(1, data["tool"]["keisei"]["schema_version"] + 1))


@pytest.mark.parametrize("atom", TASKS)
def test_a_command_is_keyed_and_a_query_is_not(atom):
    manifest = spec_of(atom).manifest

    assert bool(manifest.keyed) == (manifest.kind == "command")
    assert {effect.domain for effect in manifest.side_effects} == {"kei-task-db"}
    assert manifest.idempotent == (not atom.endswith("::create"))


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


@pytest.mark.parametrize("atom", TASKS)
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
