"""Malformed files of every kind: the author is told what is wrong, where, and what to do; nothing ever breaks.

The tables stand in `malformed/`, one module a kind; `malformed/case.py` says how to read them.
"""

import json
import random
from collections import Counter
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from keisei.contracts.registry import NAMES
from keisei.library.document import SUFFIXES, parse, parse_frontmatter
from keisei.library.load import load
from keisei.library.source import read_source
from keisei.library.spawn import ready_task
from keisei.records.error import AuthorError, OperatorError
from keisei.records.problem import CODES
from tests.library.malformed import (
    agent,
    atom,
    capability,
    package,
    profile,
    project,
    role,
    runtime,
    skill,
    task,
    task_type,
    workflow,
)
from tests.library.malformed.case import Told, at_once, broken, catalog_of, checked, errors, marked, write
from tests.library.malformed.door import keisei
from tests.library.malformed.mutation import mutated

TABLES = [agent, atom, capability, package, profile, project, role, runtime, skill, task, task_type, workflow]
KINDS = [pytest.param(table.KIND, id=table.KIND.name) for table in TABLES]
CASES = [
    pytest.param(table.KIND, each, id=f"{table.KIND.name}-{each.name}") for table in TABLES for each in table.CASES
]
EXAMPLES = Path(__file__).parents[2] / "src" / "keisei" / "contracts" / "examples"

quick = settings(
    max_examples=40,
    deadline=None,
    database=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)


@pytest.mark.parametrize("kind", KINDS)
def test_the_good_project_of_each_kind_has_no_problems(kind, tmp_path):
    write(tmp_path, kind.good)

    assert checked(kind, tmp_path) == []


def test_the_tables_are_as_large_as_they_promise():
    sizes = Counter({table.KIND.name: len(table.CASES) for table in TABLES})
    exact = [each for table in TABLES for each in table.CASES if each.says is not None]

    assert min(sizes.values()) >= 18
    assert sizes.total() >= 330
    assert len(exact) >= 120


@pytest.mark.parametrize(("kind", "case"), CASES)
def test_a_malformed_file_is_told_of_where_it_is_wrong(kind, case, tmp_path):
    files = broken(kind, case)
    place = marked(files)
    write(tmp_path, files)

    with at_once():
        found = errors(checked(kind, tmp_path), tmp_path)

    told = [each for each in found if each.code == case.code]
    assert told, found
    assert all(each.line and each.column for each in told) or not case.placed, found
    if place is not None:
        assert place in [(each.file, each.line, each.column) for each in told], found
    if case.says is not None:
        assert place is not None, "an exact case marks its place"
        assert Told(case.code, *place, case.says, case.hint) in told, found
        assert sorted(each.code for each in found) == sorted([case.code, *case.also]), found


# Compose falls closed: a task whose rule is broken is never composed without it.

SPAWNED = {
    "roles/forced.toml": '[role]\nname = "forced"\n\n[capabilities]\nrequired = ["policy::no-force"]\n',
    "task.toml": '[task]\nrole = "forced"\n',
}
STYLE = {"bad-name", "text-too-long", "empty-text", "contradiction"}
"""Codes of lint that leave a rule with everything it declares."""
HARD = [
    pytest.param(each, id=each.name)
    for each in capability.CASES
    if each.code not in STYLE and not each.name.startswith(("alias-", "default-of-"))
]


@pytest.mark.parametrize("case", HARD)
def test_a_task_is_not_composed_with_a_broken_capability(case, tmp_path):
    write(tmp_path, broken(capability.KIND, case) | SPAWNED)

    with pytest.raises(AuthorError) as caught:
        ready_task(catalog_of(tmp_path), tmp_path / "task.toml")

    assert case.code in [problem.code for problem in caught.value.problems]


def test_a_task_is_composed_with_the_good_capability(tmp_path):
    write(tmp_path, capability.KIND.good | SPAWNED)

    spec, warnings = ready_task(catalog_of(tmp_path), tmp_path / "task.toml")

    assert spec.task.role == "forced"
    assert warnings == []


# What an author writes comes back in messages: shown safely, and not all of it.

ODD = "a\\nb\\u001b[2Jc\\u0000d\\re\\u202ef"
"""A newline, an escape sequence, a NUL, a return and a change of direction, as TOML and JSON write them."""


class Echo(NamedTuple):
    """A place of a good project whose text comes back in a message."""

    name: str
    table: ModuleType
    file: str
    old: str
    new: str

    def problems(self, text, folder):
        """The errors of the project where that place holds the text."""
        content = self.table.KIND.good[self.file]
        assert content.count(self.old) == 1
        write(folder, self.table.KIND.good | {self.file: content.replace(self.old, self.new.replace("{0}", text))})
        with at_once():
            return [each for each in checked(self.table.KIND, folder) if each.severity == "error"]


ECHOES = [
    Echo("role-name", role, role.CHILD, 'name = "child"', 'name = "{0}"'),
    Echo("role-key", role, role.CHILD, "relaxes =", '"{0}" = 1\nrelaxes ='),
    Echo("role-required", role, role.CHILD, '"output::severity-grade"', '"{0}"'),
    Echo("role-pattern", role, role.MAIN, "'^mkdir( |$)'", '"({0}"'),
    Echo("capability-glob", capability, capability.MAIN, '"deploy/*.toml"', '"/{0}"'),
    Echo("capability-parameter", capability, capability.MAIN, "limit = 3", '"{0}" = 3'),
    Echo("task-agent-id", task, task.MAIN, task.HEAD, task.HEAD + 'agent-id = "{0}"\n'),
    Echo("task-profile", task, task.MAIN, '"code-implementer"', '"{0}"'),
    Echo("task-parameters", task, task.MAIN, task.BODY, '[parameters."{0}"]\na = 1\n\n' + task.BODY),
    Echo("profile-skill", profile, profile.MAIN, '"code-review"', '"{0}"'),
    Echo(
        "profile-channel",
        profile,
        profile.MAIN,
        "[result_policy]",
        '[integration_policy]\n"{0}" = "x"\n\n[result_policy]',
    ),
    Echo("task-type-payload", task_type, task_type.MAIN, '"schemas/script-payload.json"', '"{0}"'),
    Echo("schema-draft", task_type, task_type.SCHEMA, task_type.DRAFT, '"{0}"'),
    Echo("schema-example", task_type, task_type.SCHEMA, task_type.EXAMPLE, '"{0}"'),
    Echo(
        "agent-wallet",
        agent,
        agent.MAIN,
        'wallet_ref = "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4"',
        'wallet_ref = "{0}"',
    ),
    Echo("project-argument", project, project.MAIN, project.ARGS, '["--yolo={0}"]'),
    Echo("runtime-key", runtime, runtime.MAIN, '"stateDir"', '"{0}"'),
    Echo("runtime-key-twice", runtime, runtime.MAIN, '"stateDir": "state"', '"{0}": 1, "{0}": 2'),
    Echo("runtime-extends", runtime, runtime.MAIN, '"../base.json"', '"{0}"'),
    Echo("runtime-default", runtime, runtime.MAIN, '"defaultAdapter": "local"', '"defaultAdapter": "{0}"'),
    Echo("atom-version", atom, atom.MAIN, "version: 1.2.0", 'version: "{0}"'),
    Echo("atom-key", atom, atom.MAIN, "keywords:", '"{0}":'),
]


@pytest.mark.parametrize("echo", ECHOES, ids=[each.name for each in ECHOES])
def test_a_message_is_one_line_without_control_characters(echo, tmp_path):
    told = echo.problems(ODD, tmp_path)

    assert told
    for each in told:
        assert each.message.isprintable(), each
        assert each.hint is None or each.hint.isprintable(), each


@pytest.mark.parametrize("echo", ECHOES, ids=[each.name for each in ECHOES])
def test_a_message_stays_short_whatever_it_quotes(echo, tmp_path):
    told = echo.problems("x" * 100_000, tmp_path)

    assert told
    assert max(len(each.render()) for each in told) < 2_000


BROKEN_WORKSPACES = {
    "a-number": "workspace = 1\n",
    "a-package-of-text": '[workspace]\npackage = "0.4.0"\n',
    "deep": "a = " + "[" * 5000 + "]" * 5000 + "\n",
    "a-huge-integer": "a = " + "1" * 5000 + "\n",
    "not-toml": "{",
    "empty": "",
    "a-version-of-two": "[workspace.package]\nversion = [1, 2]\n",
}


@pytest.mark.parametrize("text", BROKEN_WORKSPACES.values(), ids=BROKEN_WORKSPACES)
def test_a_broken_cargo_workspace_above_a_package_breaks_nothing_else(text, tmp_path):
    write(tmp_path, package.KIND.good | {package.WORKSPACE: text})

    found = errors(checked(package.KIND, tmp_path), tmp_path)

    assert [each for each in found if not each.file.endswith("Cargo.toml")] == []


# The same through the real command.


PLURAL = {"capability": "capabilities", "package": "atoms", "project": "project"}
THROUGH_THE_DOOR = [
    pytest.param(table.KIND, table.CASES[number], id=f"{table.KIND.name}-{table.CASES[number].name}")
    for table, number in zip(TABLES, [6, 19, 5, 10, 9, 8, 6, 24, 10, 3, 3, 20], strict=True)
]


@pytest.mark.parametrize(("kind", "case"), THROUGH_THE_DOOR)
def test_lint_prints_the_problems_as_json_and_exits_1(kind, case, tmp_path):
    files = broken(kind, case)
    write(tmp_path, files)
    noun = PLURAL.get(kind.name, f"{kind.name}s")
    named = ["tasks", kind.main] if kind.by == "task" else ["all", kind.main] if kind.by == "runtime" else [noun]

    result = keisei("lint", *named, "--kit-root", str(tmp_path), "--json", cwd=tmp_path)

    answer = json.loads(result.stdout)
    assert result.returncode == 1
    assert answer["ok"] is False
    assert "Traceback" not in result.stderr
    assert (case.code, *marked(files)) in [
        (each["code"], each["path"], each.get("line"), each.get("column")) for each in answer["problems"]
    ]


def test_lint_prints_the_problems_for_people_and_exits_1(tmp_path):
    write(tmp_path, {"task.toml": 'role = "edit-local"\n\n[scope]\nwhitelist = ["src/**"]\n'})

    result = keisei("lint", "tasks", "task.toml", cwd=tmp_path)

    assert result.returncode == 1
    assert result.stderr == ""
    assert result.stdout == (
        "task.toml:1:1: error[missing-key]: missing key `task`\n"
        "task.toml:1:1: error[unknown-key]: unknown key `role`\n"
        "  hint: it belongs under `[task]`: `[task]`, then `role = ...`\n"
        "task.toml:4:1: error[unknown-key]: unknown key `whitelist`\n"
        "  hint: write `files-whitelist = [...]`\n"
        "checked 1 task: 3 errors, no warnings\n"
    )


def test_compose_says_why_it_refuses_and_writes_nothing(tmp_path):
    write(tmp_path, {"task.toml": '[task]\nrole = "edit-local"\nparent-agent = null\n'})

    result = keisei("agent", "compose", "task.toml", cwd=tmp_path)

    assert result.returncode == 1
    assert result.stdout == ""
    assert result.stderr == (
        "task.toml:3:16: error[syntax]: invalid value\n"
        '  hint: TOML has no null; leave the line out, or write `parent-agent = ""`\n'
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["task.toml"]


@pytest.mark.parametrize(
    ("file", "name", "text", "place"),
    [
        ("x.toml", "role.manifest", '[role]\nnam = "x"\n', "x.toml:2:1"),
        ("x.json", "task.intent", '{\n "task_typ": "x"}', "x.json:2:2"),
        ("x.yaml", "workflow.definition", "workflow_type: w\nstate: []\n", "x.yaml:2:1"),
    ],
    ids=["toml", "json", "yaml"],
)
def test_schema_check_tells_the_place_and_exits_1(file, name, text, place, tmp_path):
    write(tmp_path, {file: text})

    result = keisei("schema", "check", file, "--as", name, cwd=tmp_path)

    assert result.returncode == 1
    assert result.stdout == ""
    assert f"{place}: error[unknown-key]" in result.stderr
    assert "Traceback" not in result.stderr


def test_schema_check_prints_the_problems_as_json(tmp_path):
    write(tmp_path, {"x.toml": '[role]\nnam = "x"\n'})

    result = keisei("schema", "check", "x.toml", "--as", "role.manifest", "--json", cwd=tmp_path)

    answer = json.loads(result.stdout)
    assert result.returncode == 1
    assert answer["ok"] is False
    assert [each["code"] for each in answer["problems"]] == ["missing-key", "unknown-key"]


# Fuzz: no file, however mangled, gets anything but an answer.


@contextmanager
def told_if_refused():
    """Only AuthorError may leave the block, and never without a problem to mend."""
    refused = None
    try:
        yield
    except AuthorError as error:
        refused = error
    assert refused is None or refused.problems


def sound(kind, folder):
    """The problems, checked to be such. Any exception but the two of the contract fails the test."""
    with at_once(2):
        try:
            found = checked(kind, folder)
        except (AuthorError, OperatorError):
            return []
    for each in found:
        assert each.code in CODES
        assert each.render()
        assert (each.line is None) == (each.column is None)
        assert each.line is None or (each.line >= 1 and each.column >= 1)
    return found


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("kind", KINDS)
def test_a_mangled_file_gets_an_answer(kind, seed, tmp_path):
    dice = random.Random(f"{kind.name}-{seed}")
    write(tmp_path, kind.good)

    for _ in range(10):
        file = dice.choice(sorted(kind.good))
        (tmp_path / file).write_bytes(mutated(kind.good[file].encode(), dice))
        sound(kind, tmp_path)
        write(tmp_path, {file: kind.good[file]})


@pytest.mark.parametrize("kind", KINDS)
def test_any_text_as_a_file_gets_an_answer(kind, tmp_path):
    write(tmp_path, kind.good)

    @quick
    @given(st.one_of(st.text(), st.text("a=[]{}\"'.#:-\n 0é\t"), st.binary()))
    def answered(content):
        raw = content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass")
        (tmp_path / kind.main).write_bytes(raw)
        sound(kind, tmp_path)

    answered()


@pytest.mark.parametrize("kind", [each for each in KINDS if each.values[0].main.endswith(".md")])
def test_any_text_as_frontmatter_gets_an_answer(kind, tmp_path):
    write(tmp_path, kind.good)

    @quick
    @given(st.one_of(st.text(), st.text("ab:-[]{}&*!|>'\"#%@`\n \t~.0")))
    def answered(content):
        raw = content.encode("utf-8", "surrogatepass")
        (tmp_path / kind.main).write_bytes(b"---\n" + raw + b"\n---\n\nText.\n")
        sound(kind, tmp_path)

    answered()


json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(st.characters(), max_size=8)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)),
    max_leaves=6,
)


@pytest.mark.parametrize("ending", SUFFIXES)
def test_any_text_of_a_format_parses_or_is_refused(ending, tmp_path):
    path = tmp_path / f"x{ending}"

    @quick
    @given(st.one_of(st.text(), st.text("a=[]{}\"'.#:-\n 0é\t"), json_values.map(json.dumps)))
    def answered(text):
        path.write_text(text, encoding="utf-8", errors="surrogatepass", newline="")
        with at_once(), told_if_refused():
            json.dumps(parse(read_source(path)).data, allow_nan=False).encode()

    answered()


def places(data, path=()):
    yield path
    for step, value in data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ():
        yield from places(value, (*path, step))


def replaced(data, path, value):
    if not path:
        return value
    copy = dict(data) if isinstance(data, dict) else list(data)
    copy[path[0]] = replaced(data[path[0]], path[1:], value)
    return copy


@pytest.mark.parametrize("name", NAMES)
def test_a_record_with_any_value_anywhere_is_built_or_refused(name, tmp_path):
    good = json.loads((EXAMPLES / f"{name}.json").read_text(encoding="utf-8"))
    path = tmp_path / "x.json"

    @settings(quick, max_examples=25)
    @given(st.data())
    def answered(data):
        example = data.draw(st.sampled_from(good))
        place = data.draw(st.sampled_from(list(places(example))))
        text = json.dumps(replaced(example, place, data.draw(json_values)))
        path.write_text(text, encoding="utf-8", errors="surrogatepass")
        with at_once(), told_if_refused():
            load(parse(read_source(path)), name)

    answered()


@quick
@given(before=st.text(max_size=20), after=st.text(max_size=20))
def test_any_page_has_frontmatter_or_is_told_that_it_has_none(before, after, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / "page.md"
    path.write_text(f"{before}---\nname: x\n---{after}", encoding="utf-8", errors="surrogatepass", newline="")

    with told_if_refused():
        document, body = parse_frontmatter(read_source(path))
        assert document.source.text.endswith(body)
