"""kei-agent::propose-constitution: an attempt proposes for its own agent, and changes nothing else."""

import hashlib

import pytest

from keisei.wiring.constitution import FOLDER, kept_text
from keisei.wiring.constitution_proposal import LARGEST, MOST_OPEN, PROPOSED, proposals
from tests.kit.desk import Declared
from tests.kit.project import Project

ATOM = "kei-agent::propose-constitution"
AGENT = """[identity]
agent_id = "{0}"
internal_name = "{0}"
display_name = "{0}"
[constitution]
version = "1.0.0"
revised_at = 2026-01-01T00:00:00Z
"""


@pytest.fixture
def project(tmp_path):
    made = Project(tmp_path)
    for name in ("indra", "other"):
        folder = made.root / ".keisei/agents" / name
        folder.mkdir(parents=True)
        (folder / "agent.toml").write_text(AGENT.format(name))
        (folder / "SOUL.md").write_text("calm\n")
        (folder / "PURPOSE.md").write_text("good\n")
    return made


def attempt_of(project, agent):
    return project.running(**({"agent": agent} if agent else {}))[1]


def files(project):
    return {path.name: path.read_text() for path in (project.root / ".keisei/agents/indra").iterdir()}


def kept(project, agent="indra"):
    with project.agency() as agency:
        return proposals(agency.store, agent), agency.home.folder


def refused(project, attempt, **given):
    with pytest.raises(Declared) as error:
        project.call(ATOM, attempt, **given)
    return error.value.code


def test_an_attempt_proposes_for_the_agent_it_runs_as_and_no_file_changes(project):
    attempt, before = attempt_of(project, "indra"), files(project)

    made = project.call(ATOM, attempt, soul="calmer\n", reason="Less noise")

    (proposal,), state = kept(project)
    assert (made["agent"], made["proposal"], made["purpose_sha256"]) == ("indra", proposal.seq, None)
    assert made["soul_sha256"] == proposal.soul_sha256 == hashlib.sha256(b"calmer\n").hexdigest()
    assert (proposal.actor, proposal.reason, proposal.state) == (f"attempt:{attempt}", "Less noise", "open")
    assert kept_text(state, proposal.soul_sha256) == "calmer\n"
    assert files(project) == before
    assert kept(project, "other")[0] == []


def test_nobody_proposes_without_an_attempt_or_without_an_identity(project):
    assert refused(project, None, soul="x", reason="r") == "NoAgent"
    assert refused(project, attempt_of(project, None), soul="x", reason="r") == "NoAgent"
    assert refused(project, "never-was", soul="x", reason="r") == "NotAllowed"
    assert kept(project)[0] == []


@pytest.mark.parametrize(
    "given",
    [
        {"soul": "calm\n"},
        {"soul": "x" * LARGEST + "y"},
        {"soul": "é" * (LARGEST // 2) + "é"},
        {"purpose": " \n"},
        {"purpose": "a\0b"},
        {"purpose": "\ud800"},
        {},
    ],
    ids=["as it is", "too long", "too many bytes", "empty", "zero", "half a character", "nothing"],
)
def test_what_could_never_be_accepted_is_not_kept(project, given):
    attempt = attempt_of(project, "indra")

    assert refused(project, attempt, **given, reason="r") == "BadProposal"
    found, state = kept(project)
    assert (found, (state / FOLDER).exists()) == ([], False)


def test_only_a_few_wait_and_the_same_again_is_the_same(project):
    attempt = attempt_of(project, "indra")
    for number in range(MOST_OPEN):
        made = project.call(ATOM, attempt, soul=f"{number}\n", reason="r")

    assert project.call(ATOM, attempt, soul=f"{number}\n", reason="again") == made
    assert refused(project, attempt, soul="one more\n", reason="r") == "TooManyProposals"
    with project.agency() as agency:
        assert len(agency.store.entries(kind=PROPOSED)) == MOST_OPEN
