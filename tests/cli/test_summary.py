"""What came of a task: verdict and landing in the summary, and the exit codes that follow from them."""

import pytest

from keisei.cli.desk import Desk
from keisei.cli.run import exit_code
from keisei.cli.summary import Ending, summary, told
from keisei.settings import read_settings
from keisei.wiring.store import project_home
from tests.cli.landing import Hands, Harbour, finding
from tests.cli.shop import PROJECT

AUTO = f"{PROJECT}\n[landing]\nauto = true\n"


@pytest.fixture
def harbour(shell):
    made = Harbour(shell)
    yield made
    made.close()


@pytest.fixture
def hands(monkeypatch):
    return Hands(monkeypatch)


def ended(harbour, landing, why=None):
    """The exit code of a run that ended so, and its summary as data."""
    with harbour.store() as store:
        opened = Desk(store, project_home(read_settings(), harbour.folder))
        task = store.task(harbour.landing(landing).task_id)
        code = exit_code(opened, task, why)
        return code, summary(opened, Ending(task, code, "ag-1"))


def lines(found, capsysbinary):
    told(found)
    return capsysbinary.readouterr().out.decode().splitlines()


def test_the_summary_tells_how_many_hold_and_who_does_not(harbour, capsysbinary):
    landing = harbour.offer(
        findings=[
            finding("policy::no-git-ops"),
            finding("quality::tests-green", "violated", reason="2 tests fewer", severity="warn"),
            finding("scope::files-whitelist", "violated", reason="a \x1b[31m out of scope"),
            finding("safety::no-dep-bump", "not-applicable"),
        ]
    )

    _, found = ended(harbour, landing)

    assert (found["verdict"]["held"], found["verdict"]["asked"]) == (1, 3)
    assert len(found["findings"]) == 4
    said = lines(found, capsysbinary)
    place = said.index("verdict: 1 of 3 held")
    assert said[place + 1 : place + 3] == [
        "  scope::files-whitelist: violated, a \\x1b[31m out of scope",
        "  quality::tests-green: violated, 2 tests fewer (a warning)",
    ]


def test_of_a_predicate_that_was_asked_again_the_last_word_counts(harbour):
    twice = [finding(status="violated", tree="1" * 40), finding(), finding(status="violated", run_from="worktree")]

    _, found = ended(harbour, harbour.offer(findings=twice))

    assert (found["verdict"]["held"], found["verdict"]["asked"]) == (1, 2)
    assert [each["run_from"] for each in found["verdict"]["failed"]] == ["worktree"]


def test_where_nothing_was_asked_nothing_is_said_of_it(harbour, capsysbinary):
    _, found = ended(harbour, harbour.offer())

    assert not [line for line in lines(found, capsysbinary) if line.startswith("verdict")]


@pytest.mark.parametrize(
    ("fate", "auto", "code", "line"),
    [
        pytest.param(None, False, 0, "landing: held: a person decides; keisei land approve {}", id="held by policy"),
        pytest.param(
            None, True, 3, "landing: held: a person decides; keisei land approve {}", id="held by an obstacle"
        ),
        pytest.param("landed", True, 0, "landing: landed 3f2a91c -> 8be07d4 on main", id="landed"),
        pytest.param(
            "rejected", True, 2, "landing: rejected: src/cart.txt has changes that nobody has committed", id="rejected"
        ),
    ],
)
def test_the_landing_is_told_and_decides_the_exit_code(harbour, hands, capsysbinary, fate, auto, code, line):  # noqa: PLR0917 - a row of the table
    landing = harbour.offer()
    if fate is not None:
        hands.then[landing] = fate
        harbour.run("land", "approve", landing)
    (harbour.folder / "keisei.toml").write_text(AUTO if auto else PROJECT)

    found_code, found = ended(harbour, landing)

    assert found_code == found["exit_code"] == code
    assert found["landing"]["landing_id"] == landing
    assert line.format(landing) in lines(found, capsysbinary)


def test_what_still_waits_for_its_turn_needs_somebody_unless_it_was_ended_from_here(harbour, capsysbinary):
    landing = harbour.offer(status="queued", reason=None)

    code, found = ended(harbour, landing)

    assert code == 3
    assert f"landing: queued on main; a runner lands it, or keisei land approve {landing}" in lines(found, capsysbinary)
    assert ended(harbour, landing, 130)[0] == 130


def test_the_approval_of_a_landing_is_told_once(harbour, hands, capsysbinary):
    landing = harbour.offer(status="queued", reason=None)
    hands.then[landing] = "held"
    harbour.run("land", "approve", landing)

    _, found = ended(harbour, landing)

    (approval,) = harbour.json("approval", "list")
    assert found["approvals"] == [found["landing"]["approval_id"]] == [approval["approval_id"]]
    said = lines(found, capsysbinary)
    assert not [line for line in said if line.startswith("needs you")]
    assert sum(landing in line for line in said) == 1
