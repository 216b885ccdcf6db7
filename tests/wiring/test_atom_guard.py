"""Atoms inside an attempt: who is asked whether a call may happen, and who runs it."""

import pytest
from msgspec.structs import replace

from keisei.records.atom import PackageFile
from keisei.records.error import MissingProgram
from keisei.records.id import InvocationId
from keisei.records.invocation import Answer, CallOrder
from keisei.settings import read_settings
from keisei.wiring import atom_guard
from keisei.wiring.atom_guard import GuardedWorkers, gate_judge
from keisei.wiring.atom_runtime import is_engine, open_runtime
from keisei.wiring.atoms import open_shelf
from keisei.workers.following import Stream


class Hands:
    """Workers that note what they are given."""

    def __init__(self, name):
        self.name, self.given, self.canceled = name, [], []

    def call(self, order):
        self.given.append(order)
        return Answer(output=self.name)

    follow = call

    def cancel(self, invocation_id=None):
        self.canceled.append(invocation_id)


@pytest.fixture(scope="module")
def spec(tmp_path_factory):
    home = tmp_path_factory.mktemp("home")
    return open_shelf(read_settings({"HOME": str(home)}), start=home).atom("kei-task::create")


@pytest.fixture
def order(spec):
    given = {"title": "a"}
    invocation = InvocationId("1")
    return CallOrder(
        spec=spec, input=given, invocation_id=invocation, timeout_s=1.0, env={}, database=None, cwd="/tree"
    )


def engine_spec(spec, **more):
    package = replace(spec.package, metadata=PackageFile(backend="memory", engine=True), **more)
    return replace(spec, package=package)


def guarded(root="/project"):
    confined, engine = Hands("confined"), Hands("engine")
    return GuardedWorkers(confined, engine, root=root, private={"HOME": "/own"}), confined, engine


def test_a_call_is_run_in_the_attempts_sandbox(order):
    workers, confined, engine = guarded()

    assert workers.call(order).output == "confined"
    assert [each.input for each in confined.given] == [order.input]
    assert engine.given == []


def test_it_is_told_neither_keiseis_variables_nor_its_packages(order):
    workers, confined, _ = guarded()
    env = {"PATH": "/bin", "HOME": "/home/ada", "KEISEI_DATABASE_URL": "postgresql://secret", "SHOP_TOKEN": "secret"}

    workers.call(replace(order, env={**env, "KEI_TASK_DB": "/state/task.sqlite", "KEISEI_ATOM": "kei-task::create"}))

    few = {"PATH": "/bin", "HOME": "/own", "KEI_TASK_DB": "/state/task.sqlite", "KEISEI_ATOM": "kei-task::create"}
    assert confined.given[0].env == few


def test_an_atom_of_keiseis_own_is_answered_outside_in_the_project(order, spec):
    workers, confined, engine = guarded()

    assert workers.call(replace(order, spec=engine_spec(spec))).output == "engine"
    assert engine.given[0].cwd == "/project"
    assert confined.given == []


def test_without_a_project_nobody_answers_for_keisei_itself(order, spec):
    workers, confined, engine = guarded(root=None)
    asking = replace(order, spec=engine_spec(spec))

    for answer in (workers.call(asking), workers.follow(asking).answer):
        assert (answer.error.kind, answer.exit_code) == ("refused", 2)
    assert confined.given == engine.given == []


@pytest.mark.parametrize("folder", ["/project/.keisei/primitives/kei-agent", "/kit/primitives/kei-agent"])
def test_a_package_from_elsewhere_that_says_it_asks_keisei_is_confined(order, spec, folder):
    workers, *_ = guarded()
    foreign = engine_spec(spec, folder=folder)

    assert not is_engine(foreign.package)
    assert workers.call(replace(order, spec=foreign)).output == "confined"


def test_keiseis_variables_are_for_packages_that_ship_with_it(spec, tmp_path):
    settings = read_settings({"HOME": str(tmp_path), "KEISEI_DATABASE_URL": "postgresql://secret"})
    with open_runtime(settings, actor="operator:a", start=tmp_path) as runtime:
        ours = runtime.environment(engine_spec(spec).package, None)
        foreign = runtime.environment(engine_spec(spec, folder="/project/p").package, None)

    assert "KEISEI_DATABASE_URL" in ours
    assert "KEISEI_DATABASE_URL" not in foreign


def test_streams_are_counted_until_they_are_over(order):
    workers, confined, _ = guarded()
    confined.follow = lambda given: Stream(given.spec, Answer(output=0))
    full = [workers.follow(order) for _ in range(atom_guard.STREAMS)]

    assert "run already" in workers.follow(order).answer.error.message
    list(full[0])
    full[0].close()
    one_more = workers.follow(order)
    assert one_more.answer.error is None
    assert workers.follow(order).answer.error is None
    assert workers.call(order).output == "confined"

    confined.follow = raising
    full[1].close()
    for _ in range(2):
        with pytest.raises(MissingProgram):
            workers.follow(order)


def raising(_order):
    raise MissingProgram("none")


def test_a_cancel_reaches_both():
    workers, confined, engine = guarded()

    workers.cancel("1")
    workers.cancel()

    assert confined.canceled == engine.canceled == ["1", None]


def test_the_gate_is_asked_about_the_atoms_own_tool(order, monkeypatch):
    asked = []
    monkeypatch.setattr(atom_guard, "ask", lambda *question: asked.append(question))

    assert gate_judge("/gate.sock", "token")(order) is None

    socket, token, question = asked[0]
    assert (socket, token) == ("/gate.sock", "token")
    assert tuple(question) == ("mcp__keisei__kei-task__create", {"title": "a"}, "/tree", "atom:1", order.spec.spec_sha)


def test_a_missing_program_is_told_as_ever(order):
    workers, confined, _ = guarded()

    def missing(_order):
        raise MissingProgram("no such program")

    confined.call = missing
    with pytest.raises(MissingProgram):
        workers.call(order)
