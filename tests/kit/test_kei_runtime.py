"""kei-runtime: what its pages promise, on the packages that ship."""

import pytest

from keisei.engine.invoke import InvokeOrder, invoke
from keisei.rules.atom_telling import atom_data
from keisei.settings import read_settings
from keisei.wiring.atom_runtime import open_runtime
from keisei.wiring.runtime_verb import DEEPEST, DEPTH
from tests.kit.desk import Declared, spec_of
from tests.kit.project import Project

PIPE = {"steps": [{"capture_as": "all", "atom": "kei-runtime::list", "input": {"package": "kei-task"}}]}
TEXT = '[[steps]]\ncapture_as = "all"\natom = "kei-runtime::list"\ninput = { package = "kei-task" }\n'


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path)


def refused(project, verb, attempt=None, /, **given):
    with pytest.raises(Declared) as error:
        project.call(f"kei-runtime::{verb}", attempt, **given)
    return error.value.code


def test_atoms_are_listed_page_by_page(project):
    seen, after = [], ""
    while after is not None:
        page = project.call("kei-runtime::list", package="kei-task", after=after, limit=4)
        seen += [row["atom"] for row in page["atoms"]]
        after = page["next"]

    assert seen == sorted(seen)
    assert len(seen) == len(set(seen)) == 9
    kinds = project.call("kei-runtime::list", package="kei-agent", kind="stream")["atoms"]
    assert [row["atom"] for row in kinds] == ["kei-agent::wait"]
    assert project.call("kei-runtime::list", package="nobody") == {"atoms": [], "next": None, "left_out": []}


def test_a_page_that_cannot_be_read_is_told(project):
    package = project.root / ".keisei" / "primitives" / "mine"
    (package / "src" / "mine" / "atoms").mkdir(parents=True)
    (package / "pyproject.toml").write_text(
        '[project]\nname = "mine"\nversion = "0.1.0"\n[tool.keisei]\nbackend = "memory"\n'
    )
    (package / "src" / "mine" / "atoms" / "bad.md").write_text("---\natom: [\n---\n")

    found = project.call("kei-runtime::list", package="mine")

    assert found["atoms"] == []
    assert "bad.md" in found["left_out"][0]
    assert refused(project, "describe", atom="mine::bad") == "BrokenFiles"


def test_a_description_is_everything_that_is_known(project):
    found = project.call("kei-runtime::describe", atom="kei-task::create")

    assert found == atom_data(spec_of("kei-task::create"))
    assert set(found["decisions"]) == {"parallel", "again", "retry", "cache"}
    assert refused(project, "describe", atom="kei-task::creat") == "UnknownAtom"
    assert refused(project, "describe", atom="../x") == "UnknownAtom"


def test_a_pipe_is_planned_from_text_and_from_data_alike(project):
    told = project.call("kei-runtime::plan", pipe=TEXT)

    assert told == project.call("kei-runtime::plan", pipe=PIPE)
    assert (told["order"], told["steps"][0]["atom"]) == (["all"], "kei-runtime::list")
    assert told["steps"][0]["why"]


@pytest.mark.parametrize(
    "pipe",
    [
        "[[steps",
        "steps = 3",
        {},
        {"steps": [{"atom": "no::such"}]},
        {"steps": [{"capture_as": "a", "atom": "kei-task::get", "input": {"id": "$b.id"}}]},
        '[[steps]]\natom = "\ud800"',
        "a" * 100_000,
    ],
    ids=["no toml", "other shape", "empty", "unknown atom", "unknown reference", "half a character", "long"],
)
def test_a_pipe_that_cannot_be_planned_is_one_declared_error(project, pipe):
    assert refused(project, "plan", pipe=pipe) == "BadPipe"


def test_an_atom_calls_another_and_both_leave_a_row(project):
    with project.inside(), open_runtime(read_settings(), actor="test") as runtime:
        spec = runtime.shelf.atom("kei-runtime::invoke")
        given = {"atom": "kei-task::create", "input": {"title": "A"}}
        invoked = invoke(runtime.tools, runtime.store, InvokeOrder(spec=spec, input=given, actor="test"))
        rows = [row.subject for row in runtime.store.entries() if row.kind == "atom_invoked"]

    assert invoked.record.error is None
    assert invoked.output["result"]["id"] == 1
    assert invoked.output["metadata"]["atom"] == "kei-task::create"
    assert rows == ["kei-task::create", "kei-runtime::invoke"]


def test_an_atom_that_is_missing_or_fails_is_told(project):
    assert refused(project, "invoke", atom="no::such") == "UnknownAtom"
    with pytest.raises(Declared, match=r"`kei-task::create` failed \(schema-in\): ") as error:
        project.call("kei-runtime::invoke", atom="kei-task::create", input={})
    assert error.value.code == "CallFailed"


@pytest.mark.parametrize("told", ["3", "4", "-1", "many"])
def test_calls_within_calls_are_so_deep_and_no_deeper(project, told):
    project.env[DEPTH] = told

    assert refused(project, "invoke", atom="no::such") == "TooDeep"
    project.env[DEPTH] = str(DEEPEST - 1)
    assert refused(project, "invoke", atom="no::such") == "UnknownAtom"


def test_inside_an_attempt_no_atom_is_called_by_way_of_another(project):
    _, attempt = project.running()

    assert refused(project, "invoke", attempt, atom="kei-task::list") == "NotAllowed"


def test_inside_an_attempt_no_atoms_are_told_but_those_of_its_role(project):
    _, attempt = project.running()
    (project.root / ".keisei" / "primitives" / "mine").mkdir(parents=True)

    for verb, given in (("list", {}), ("describe", {"atom": "no::such"}), ("plan", {"pipe": PIPE})):
        with pytest.raises(Declared, match="atoms_search, atoms_describe and pipe_plan") as error:
            project.call(f"kei-runtime::{verb}", attempt, **given)
        assert error.value.code == "NotAllowed"
        assert str(project.root) not in str(error.value)


def test_what_asks_keisei_itself_is_told_where_its_state_is_and_nothing_else_is(project):
    url = "postgresql://me:sesame%20open@example/db"
    project.env |= {"KEISEI_DATABASE_URL": url, "KEI_TASK_DB": "/else", "OTHER_DB": "x", "KEISEI_ATTEMPT_ID": "a"}
    with project.inside(), open_runtime(read_settings(), actor="test") as runtime:
        own = runtime.environment(spec_of("kei-agent::list").package, None)
        other = runtime.environment(spec_of("kei-task::list").package, None)
        secrets = runtime.tools.secrets

    told = {
        "KEISEI_HOME": str(project.state),
        "KEISEI_DATABASE_URL": url,
        "KEI_TASK_DB": "/else",
        "KEISEI_ATTEMPT_ID": "a",
    }
    assert told.items() <= own.items()
    assert "OTHER_DB" not in own
    assert not told.keys() & other.keys()
    assert {url, "sesame open"} <= set(secrets)
