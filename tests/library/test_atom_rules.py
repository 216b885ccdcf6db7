"""Rules of lint that warn, or need more than one file to be broken."""

import pytest

from keisei.library.atom import atom_ids, judged, misplaced
from keisei.library.atom_spec import read_spec
from keisei.library.package import read_package
from keisei.records.error import AuthorError
from tests.library.note_package import CODE, PAGE, PYPROJECT, input_schema, write_note


def told(package, *more):
    """What is said of a package: code, file, line and severity each. `more` are atoms that exist elsewhere."""
    files = judged(package, frozenset([*atom_ids([package]), *more]), ("RULE 0.12",))
    found = [problem for each in files for problem in each.problems]
    return [(each.code, each.path.rpartition("/")[2], each.line, each.severity) for each in found]


def test_a_good_package_has_no_problems(tmp_path):
    assert told(write_note(tmp_path)) == []


@pytest.mark.parametrize("effects", ["  - {op: read, domain: kei-note-db}\n", ""], ids=["reads", "nothing"])
def test_a_command_that_changes_nothing_is_warned_of(tmp_path, effects):
    page = PAGE.replace(
        "side_effects:\n  - {op: write, domain: kei-note-db}\n",
        f"side_effects:{effects and chr(10)}{effects or ' []' + chr(10)}",
    )

    ((code, file, _, severity),) = told(write_note(tmp_path, page=page))

    assert (code, file, severity) == ("idle-command", "add.md", "warning")


def test_a_successor_that_is_no_atom_is_warned_of_and_one_that_exists_is_not(tmp_path):
    page = PAGE.replace("stability: stable", "deprecated: use {0}\nstability: deprecated")

    assert told(write_note(tmp_path, page=page.replace("{0}", "something else"))) == [
        ("no-successor", "add.md", 17, "warning")
    ]
    assert told(write_note(tmp_path, page=page.replace("{0}", "kei-other::add-v2")), "kei-other::add-v2") == []


@pytest.mark.parametrize(
    ("length", "problems"),
    [
        (51, []),
        (52, [("long-tool-name", "add.md", 2, "warning")]),
        (64, [("long-tool-name", "add.md", 2, "warning")]),
        (65, [("long-name", "add.md", 2, "error")]),
    ],
)
def test_a_name_too_long_for_a_tool_is_told(tmp_path, length, problems):
    name = "kei-" + "n" * (length - len("kei-__add"))

    assert told(write_note(tmp_path, name=name)) == problems


QUERY = PAGE.replace("kind: command", "kind: query").replace("keyed: true\n", "")
EFFECT = "{op: write, domain: kei-note-db}"


@pytest.mark.parametrize("domain", ["fs:{text}", "fs:{text}/**", "git:{text}", "kei-note-db", "db:users"])
def test_an_effect_may_name_a_field_of_the_input(tmp_path, domain):
    page = PAGE.replace(EFFECT, f'{{op: write, domain: "{domain}"}}')

    assert told(write_note(tmp_path, page=page)) == []


@pytest.mark.parametrize(
    "domain",
    [
        "fs:{path}",
        "fs:{te-xt}/**",
        "fs:{text",
        "fs:text}",
        "fs:{}",
        "{text}",
        "fs:/{text}",
        "fs:{text}/x",
        "fs:{text}:{text}",
        "fs:{{text}}",
        "FS:{text}",
    ],
)
def test_an_effect_that_names_no_field_is_told(tmp_path, domain):
    page = PAGE.replace(EFFECT, f'{{op: write, domain: "{domain}"}}')

    assert told(write_note(tmp_path, page=page)) == [("effect-field", "add.md", 14, "error")]


@pytest.mark.parametrize("given", [{"properties": []}, {"properties": None}, {"properties": {}, "examples": [{}]}])
def test_fields_are_looked_for_in_any_schema(tmp_path, given):
    page = PAGE.replace(EFFECT, '{op: write, domain: "fs:{text}"}')

    codes = [code for code, *_ in told(write_note(tmp_path, page=page, given=input_schema(**given)))]

    assert ("effect-field" in codes) == (given["properties"] == {})


@pytest.mark.parametrize("given", [[], "not json"])
def test_a_schema_that_is_none_is_told_once(tmp_path, given):
    package = write_note(tmp_path, page=PAGE.replace(EFFECT, '{op: write, domain: "fs:{text}"}'))
    (package.atoms / "schemas" / "add-input.json").write_text(str(given))

    assert [file for _, file, *_ in told(package)] == ["add-input.json"]


@pytest.mark.parametrize(("op", "codes"), [("subprocess", []), ("network", ["effects"]), ("write", ["effects"])])
def test_a_query_may_start_a_program_to_read(tmp_path, op, codes):
    page = QUERY.replace(EFFECT, f"{{op: {op}, domain: git}}")

    assert [code for code, *_ in told(write_note(tmp_path, page=page))] == codes


def test_a_part_that_nothing_satisfies_is_warned_of_where_it_stands(tmp_path):
    never = {"type": "integer", "minimum": 5, "maximum": 3}
    package = write_note(tmp_path, given=input_schema(properties={"text": {"type": "string"}, "never": never}))

    assert told(package) == [("empty-schema", "add-input.json", 8, "warning")]


def test_a_reference_that_leads_nowhere_is_told_where_it_stands(tmp_path):
    package = write_note(tmp_path, given=input_schema(properties={"text": {"$ref": "parts/line.json"}}))

    assert told(package) == [("bad-schema", "add-input.json", 6, "error")]


def test_a_package_whose_folder_has_another_name_is_not_passed_over(tmp_path):
    package = write_note(tmp_path)
    inner = package.folder / "src" / "kei_other"
    inner.mkdir(parents=True)
    (package.folder / "atoms").rename(inner / "atoms")

    (found,) = misplaced(tmp_path, [])

    assert [(each.code, each.hint) for each in found.problems] == [
        ("bad-name", "call the folder `kei-other`, or the import package `kei_note`")
    ]
    assert not list(misplaced(tmp_path, [package]))


def test_a_count_of_migrations_without_migrations_is_warned_of(tmp_path):
    package = write_note(tmp_path)
    (package.folder / "pyproject.toml").write_text(PYPROJECT + "schema_version = 2\n")

    assert told(write_again(package)) == [("schema-version", "pyproject.toml", 9, "warning")]


def write_again(package):
    """The package, read again."""
    return read_package(package.folder)


@pytest.mark.parametrize(("line", "codes"), [("", ["not-keyed"]), ("engine = true\n", [])], ids=["none", "engine"])
def test_an_atom_is_keyed_in_a_database_or_in_the_engine(tmp_path, line, codes):
    package = write_note(tmp_path)
    head = PYPROJECT.partition("backend")[0]
    (package.folder / "pyproject.toml").write_text(f'{head}backend = "memory"\n{line}')

    assert [code for code, *_ in told(write_again(package))] == codes


def test_a_program_needs_no_python(tmp_path):
    package = write_note(tmp_path, page=PAGE.replace("keyed: true\n", ""))
    (package.folder / "pyproject.toml").unlink()
    (package.atoms / "add.py").unlink()
    cargo = '[package]\nname = "kei-note"\nversion = "1.2.0"\n[package.metadata.keisei]\nbackend = "memory"\n'
    (package.folder / "Cargo.toml").write_text(cargo)

    assert told(write_again(package)) == []


STREAM = PAGE.replace("kind: command", "kind: stream")


@pytest.mark.parametrize(
    ("page", "code"),
    [
        (PAGE, CODE),
        (PAGE, "from elsewhere import run\n"),
        (PAGE, "import elsewhere as run\n"),
        (PAGE, "run = print\n"),
        (PAGE, "def run(input, /, context, more=None):\n    return {}\n"),
        (PAGE, "def run(*both):\n    return {}\n"),
        (PAGE, "def run(a, b):\n    return [x for x in (lambda: (yield))()]\n"),
        (PAGE, "'\\d'\ndef run(a, b):\n    return {}\n"),
        (PAGE, "def run(a):\n    pass\ndef run(a, b):\n    return {}\n"),
        (STREAM, "def run(a, b):\n    for each in a:\n        yield each\n"),
        (STREAM, "def run(a, b):\n    with b:\n        yield from a\n"),
    ],
)
def test_a_function_that_can_be_called_is_good_and_nothing_of_it_is_run(tmp_path, page, code):
    package = write_note(tmp_path, page=page)
    (package.atoms / "add.py").write_text(f"{code}\nif 1: open('run', 'w')\nraise SystemExit\n")

    assert told(package) == []
    assert not (tmp_path / "run").exists()


def test_a_function_outside_of_the_package_is_told(tmp_path):
    package = write_note(tmp_path)
    (tmp_path / "other.py").write_text(CODE)
    (package.atoms / "add.py").unlink()
    (package.atoms / "add.py").symlink_to(tmp_path / "other.py")

    assert told(package) == [("outside", "add.md", 2, "error")]


def test_one_broken_key_hides_nothing_else(tmp_path):
    page = PAGE.replace("http_analog: 422", "http_analog: 42").replace('"1.2.0"', "1.1.0").replace("keyed: true\n", "")

    assert [code for code, *_ in told(write_note(tmp_path, page=page))] == ["wrong-value", "version-mismatch"]


@pytest.mark.parametrize("pattern", ["^.{1,2000}$", "^.{1,100000}$"])
def test_lint_and_calls_agree_on_what_can_be_compiled(tmp_path, pattern):
    text = {"type": "string", "pattern": pattern}
    package = write_note(tmp_path, given=input_schema(properties={"text": text}))

    linted = [code for code, *_ in told(package)]
    try:
        read_spec(package, "add")
        called = []
    except AuthorError as error:
        called = [problem.code for problem in error.problems]

    assert linted == called == ([] if "2000" in pattern else ["bad-schema"])
