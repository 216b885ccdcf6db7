"""Replay: an attempt from its ledger rows and evidence, held against today's files and rules."""

import json

import msgspec
import pytest

from keisei.records.error import OperatorError
from keisei.records.finding import FindingRecord
from keisei.records.move import LandingQuery
from keisei.rules.evidence import keys_of
from keisei.wiring.replay import Rejudged, _compared, _differences, replay
from tests.wiring.test_landing import Yard


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """A project with one attempt that has landed."""
    made = Yard(tmp_path_factory.mktemp("a yard"))
    landing = made.land(made.work())
    assert landing.status == "landed"
    made.attempt = made.store.attempt(landing.attempt_id)
    yield made
    made.close()


@pytest.fixture
def yard(world):
    """The same, with its files put back afterwards."""
    before = {path: path.read_bytes() for path in (world.root / ".keisei").rglob("*") if path.is_file()}
    evidence = {path: path.read_bytes() for path in world.home.evidence.rglob("*") if path.is_file()}
    yield world
    for path in [each for each in (world.root / ".keisei").rglob("*") if each.is_file() and each not in before]:
        path.unlink()
    for path, raw in (before | evidence).items():
        path.write_bytes(raw)


def again(yard, **options):
    return replay(yard.shop, yard.attempt, **options)


def places(found):
    return {each.what for each in found.drift}


def test_an_attempt_whose_files_are_as_they_were_replays_the_same(yard):
    found = again(yard)

    assert found.is_same, msgspec.json.encode(found)
    assert found.inputs[0]
    assert {each.capability for each in found.findings} >= {"quality::check-green", "scope::files-whitelist"}
    assert all(each.was == each.now == "held" for each in found.findings)
    assert len(found.rows) == 2


def test_every_changed_input_is_named(yard):
    role = yard.root / ".keisei/roles/lander.toml"
    role.write_text(role.read_text().replace("allowed = []", 'allowed = ["Read"]'))
    profile = yard.root / ".keisei/profiles/lander.toml"
    profile.write_text(profile.read_text().replace("200000", "100000"))

    found = again(yard, asks=False)

    assert not found.is_same
    assert {"role.tools.allowed", "profile.context_policy.max_prompt_chars"} <= places(found)
    assert found.inputs[0] != found.inputs[1]


def test_a_rule_that_says_something_else_today_is_named_by_its_capability(yard):
    own = yard.root / ".keisei/capabilities/policy/no-git-ops"
    own.mkdir(parents=True)
    kit = yard.shop.registry().catalog.found("capability", "policy::no-git-ops").path.parent
    for each in kit.iterdir():
        if each.is_file():
            (own / each.name).write_bytes(each.read_bytes())
    (own / "text.md").write_text("Never touch git.\n")

    found = again(yard, asks=False)

    assert "role.capabilities[policy::no-git-ops].text_sha256" in places(found)


def test_a_role_that_is_gone_is_told(yard):
    (yard.root / ".keisei/roles/lander.toml").unlink()

    found = again(yard, asks=False)

    assert "lander" in found.bundle_fault
    assert not found.is_same


def test_a_verify_that_fails_today_is_told_beside_what_it_said(yard):
    yard.says(check="false")
    try:
        found = again(yard)
    finally:
        yard.says(check="true")

    (other,) = [each for each in found.findings if each.was != each.now]
    assert (other.capability, other.was, other.now) == ("quality::check-green", "held", "violated")


def test_evidence_that_was_changed_ends_the_replay(yard):
    keys = keys_of(yard.attempt.attempt_id, yard.attempt.started_at)
    path = yard.home.evidence / keys.bundle
    document = json.loads(path.read_bytes())
    document["profile"]["style"] = "codex-like"
    path.write_text(json.dumps(document))

    found = again(yard)

    assert not found.is_same
    assert any("bundle.json has the hash" in each for each in found.complaints)
    assert any("is not what row" in each for each in found.complaints)
    assert found.findings == ()
    path.write_bytes(b"no json")
    assert again(yard).complaints[0] == "bundle.json is no bundle any more"


def test_evidence_that_is_gone_is_told(yard):
    keys = keys_of(yard.attempt.attempt_id, yard.attempt.started_at)
    (yard.home.evidence / keys.prompt).unlink()
    assert any("`prompt.md` is missing" in each for each in again(yard).complaints)
    (yard.home.evidence / keys.bundle).unlink()
    with pytest.raises(OperatorError, match="is not on this machine"):
        again(yard)


def test_a_candidate_that_is_gone_is_told_and_the_rest_is_replayed(yard):
    name = f"refs/keisei/candidate/{yard.attempt.attempt_id}"
    (landing,) = yard.store.landings(LandingQuery(task_id=yard.attempt.task_id))
    # the landed commit still holds it, so that what is asked again can be asked
    if yard.git("for-each-ref", name):
        yard.git("update-ref", "-d", name)
    found = again(yard)
    assert found.complaints == ()
    assert landing.after_commit is not None


def _finding(capability, status, run_from="merged"):
    return FindingRecord(
        finding_id="f",
        attempt_id="a",
        capability=capability,
        status=status,
        severity="block",
        reason=None if status == "held" else "because",
        run_from=run_from,
        duration_ms=1.0,
        created_at="2026-01-01T00:00:00Z",
    )


def test_what_nobody_asks_any_more_and_what_is_new_are_told():
    found = list(_compared([_finding("a::b", "held")], [_finding("c::d", "violated")]))

    assert found == [
        Rejudged(capability="a::b", run_from="merged", was="held", now=None, reason=None),
        Rejudged(capability="c::d", run_from="merged", was=None, now="violated", reason="because"),
    ]


@pytest.mark.parametrize(
    ("was", "now", "told"),
    [
        ({"a": 1}, {"a": 1}, []),
        ({"a": 1}, {"b": 2}, [("a", 1, None), ("b", None, 2)]),
        ({"a": {"b": [1, 2]}}, {"a": {"b": [2, 1]}}, [("a.b", [1, 2], [2, 1])]),
        ([{"name": "x", "v": 1}], [{"name": "x", "v": 2}], [("[x].v", 1, 2)]),
        ([{"name": "x"}, {"name": "y"}], [{"name": "y"}, {"name": "x"}], [(", in this order", ["x", "y"], ["y", "x"])]),
        ([], [{"name": "x"}], [("[x]", None, {"name": "x"})]),
        ([{"name": "x"}, {"name": "x"}], [], [("", [{"name": "x"}, {"name": "x"}], [])]),
    ],
)
def test_differences_are_told_where_they_are(was, now, told):
    assert [(each.what, each.was, each.now) for each in _differences(was, now, "")] == told
