"""Replay: an attempt from its ledger rows and evidence, held against today's files and rules."""

import json
import os
import shutil

import msgspec
import pytest

from keisei.engine.approval import answer
from keisei.engine.land import reject
from keisei.gate.log import GateLog
from keisei.records.answer import ApprovalQuery
from keisei.records.error import OperatorError, Refused
from keisei.records.finding import FindingRecord
from keisei.records.move import AttemptQuery, ClaimOrder
from keisei.records.runner import RunnerRecord
from keisei.rules.chain import input_digest
from keisei.rules.evidence import keys_of
from keisei.rules.policy import policy_digest
from keisei.wiring.briefing import brief_of
from keisei.wiring.landing_revert import respawn
from keisei.wiring.replay import replay
from keisei.wiring.replay_bundle import Case, policy_then
from keisei.wiring.replay_drift import differences
from keisei.wiring.replay_finding import Rejudged, compared
from tests.wiring.goal import Goal
from tests.wiring.house import House
from tests.wiring.test_landing import ROLE, Yard


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
    assert found.inputs[0] == found.inputs[1]
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


def test_another_file_of_secrets_is_told_by_its_names(yard):
    secret = yard.folder / "keys.env"
    secret.write_text("KEY=abc\n")
    secret.chmod(0o600)
    text = (yard.root / "keisei.toml").read_text()
    (yard.root / "keisei.toml").write_text(f"{text}env_file = {json.dumps(str(secret))}\n")
    try:
        found = again(yard, asks=False)
    finally:
        (yard.root / "keisei.toml").write_text(text)

    (names,) = [each for each in found.drift if each.what == "adapter.env_file_names"]
    assert (names.came, names.went) == (("KEY",), ())
    assert "abc" not in msgspec.json.encode(found).decode()


def test_a_role_that_is_gone_is_told_by_bundle_and_gate_alike(yard):
    (yard.root / ".keisei/roles/lander.toml").unlink()
    keys = keys_of(yard.attempt.attempt_id, yard.attempt.started_at)
    log = yard.home.evidence / keys.of("gate.jsonl")
    write(log, (("Read", {"file_path": "x"}, "deny", {}),))

    found = again(yard, asks=False)
    log.unlink()

    assert "lander" in found.bundle_fault
    assert "lander" in found.gate_fault
    assert found.gate is None
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
    with pytest.raises(OperatorError, match="is not on this machine") as told:
        again(yard)
    assert f"it ran on `{os.uname().nodename}" in told.value.hint


# --- attempts of every kind -------------------------------------------------------------------------------------------


def test_one_that_took_over_from_a_rejected_one_replays_the_same(world):
    world.agent("file=src/other.txt; echo new > $file")
    landing = world.work()
    reject(world.store, landing, "the total is rounded twice", "me")
    task_id = respawn(world.shop, landing, "operator:me")
    world.run()
    (heir,) = world.store.attempts(task_id)

    for attempt in (world.store.attempt(world.row(landing).attempt_id), heir):
        found = replay(world.shop, attempt)
        assert found.is_same, msgspec.json.encode(found)
        assert found.findings


def test_one_whose_main_has_moved_is_asked_on_the_tree_that_was_judged(world):
    world.agent("file=src/moved.txt; echo new > $file")
    landing = world.work()
    world.commit(moved="by somebody else\n")  # it would conflict today
    attempt = world.store.attempt(world.row(landing).attempt_id)
    tree = next(each.tree for each in world.store.findings(attempt.attempt_id) if each.capability == "engine::merge")

    found = replay(world.shop, attempt)

    assert found.is_same, msgspec.json.encode(found)
    assert tree != world.git("rev-parse", "HEAD^{tree}")
    commit = world.git("rev-parse", f"refs/keisei/candidate/{attempt.attempt_id}")
    path = world.root / ".git/objects" / commit[:2] / commit[2:]
    path.rename(path.with_suffix(".gone"))
    assert replay(world.shop, attempt).findings_fault == (
        f"the commit {commit[:12]} of its candidate is not in the repository any more"
    )
    path.with_suffix(".gone").rename(path)


def test_one_that_failed_before_it_was_judged_is_asked_nothing(world):
    world.agent("echo nope; exit 3")
    with pytest.raises(ValueError, match="unpack"):  # no landing
        world.work()
    (attempt,) = world.store.find_attempts(AttemptQuery(limit=1))

    found = replay(world.shop, attempt)

    assert attempt.exit_status != "ok"
    assert found.is_same, msgspec.json.encode(found)
    assert found.findings == ()
    assert found.findings_note.startswith("nobody asked any then")


@pytest.fixture
def house(tmp_path):
    made = House(tmp_path)
    yield made
    made.close()


def all_the_same(house):
    found = [replay(house.shop, each) for task in house.tasks() for each in house.attempts(task.task_id)]
    assert all(each.is_same for each in found), msgspec.json.encode(found)
    return found


def test_tries_of_one_task_each_know_those_before_them_and_no_later_ones(house):
    task = house.script("echo no; exit 1", max_attempts=3)
    house.run()

    assert len(house.attempts(task)) == 3
    assert len(all_the_same(house)) == 3


def test_an_answer_is_known_to_attempts_that_came_after_it(house):
    asks = {"status": "blocked", "machine_status": "blocked", "operator_summary": "?", "questions": ["Which port?"]}
    task = house.script(f"echo '{json.dumps(asks)}'")
    for text in ("8080", "9090"):
        house.run()
        (approval,) = house.store.approvals(ApprovalQuery(statuses=("open",)))
        answer(house.store, approval.approval_id, text, "operator:me")
    house.run()

    assert len(house.attempts(task)) == 3
    all_the_same(house)


def test_what_was_remembered_then_is_remembered_again(house):
    profile = (house.shop.registry().catalog.found("profile", "script").path).read_text()
    folder = house.root / ".keisei/profiles"
    folder.mkdir()
    (folder / "script.toml").write_text(
        profile.replace("include_recent_memory = false", "include_recent_memory = true")
    )
    for number in range(8):
        house.script(f'echo \'{{"status": "completed", "operator_summary": "{number}"}}\'')
        house.run()

    assert len(all_the_same(house)) == 8
    last = house.attempts(max(house.tasks(), key=lambda each: each.created_at).task_id)[0]
    prompt = house.evidence(last, "prompt.md").decode()
    assert [f'"summary": "{number}"' in prompt for number in range(8)] == [*[False] * 2, *[True] * 5, False]


def test_steps_of_a_workflow_that_has_gone_on_replay_the_same(tmp_path):
    goal = Goal(tmp_path)
    goal.say("g", verify=["continue", "complete"])
    goal.begin("g")
    goal.work()

    assert len(all_the_same(goal)) == 5
    goal.close()


def test_one_that_is_not_over_is_refused(house):
    task, now = house.script("true"), house.store.now()
    who = {"runner_id": "r", "host": "far", "boot_id": "b", "pid": 1, "born": "1", "version": "1", "slots": 1}
    house.store.register(RunnerRecord(**who, lease_s=30.0, started_at=now, heartbeat_at=now))
    house.store.claim(ClaimOrder(runner_id="r", attempt_ids=("a",)))

    with pytest.raises(Refused, match="is not over yet"):
        replay(house.shop, house.attempts(task)[0])


def test_one_that_never_had_a_bundle_is_told_in_a_sentence(house):
    task = house.script("true")
    (house.root / ".keisei/task-types/answering.toml").unlink()
    house.run()

    with pytest.raises(OperatorError, match="ended before it had a bundle"):
        replay(house.shop, house.attempts(task)[0])


# --- calls ------------------------------------------------------------------------------------------------------------

BASH = ROLE.replace("allowed = []", 'allowed = ["Bash", "Write"]\nbash-patterns-allowed = ["^(sh|git|cat)( |$)"]')


def write(path, calls, digest="0" * 64, cwd=None):
    """A log of these calls."""
    log = GateLog(path)
    for tool, given, decision, more in calls:
        line = {
            "attempt_id": "at-1",
            "tool_use_id": "call-1",
            "tool": tool,
            "cwd": cwd,
            "input": given,
            "input_digest": input_digest(given),
            "decision": decision,
            "cause": "rule",
            "reason": "no" if decision == "deny" else None,
            "latency_ms": 1.5,
            "policy_digest": digest,
            "decided_at": "2026-01-01T00:00:00Z",
        } | more
        log.append({key: value for key, value in line.items() if value is not None})
    log.close()


class Gated:
    """An attempt under a role with a shell, whose worktree is gone."""

    def __init__(self, folder):
        self.yard = yard = Yard(folder)
        (yard.root / ".keisei/roles/lander.toml").write_text(BASH)
        (yard.root / "src/out").symlink_to("/etc")
        yard.says(check="uname")
        yard.commit("a role")
        yard.agent("file=src/go.sh; echo 'git push' > $file")
        self.attempt = yard.store.attempt(yard.row(yard.work()).attempt_id)
        shutil.rmtree(yard.shop.yard.worktrees)
        keys = keys_of(self.attempt.attempt_id, self.attempt.started_at)
        self.log = yard.home.evidence / keys.of("gate.jsonl")
        document = json.loads((yard.home.evidence / keys.bundle).read_bytes())
        self.cwd = json.loads((yard.home.evidence / keys.of("before.json")).read_bytes())["cwd"]
        self.digest = document["role"]["policy_digest"]

    def judged(self, *calls):
        """What becomes of these calls."""
        self.log.unlink(missing_ok=True)
        write(self.log, calls, self.digest, self.cwd)
        return replay(self.yard.shop, self.attempt, asks=False)


@pytest.fixture(scope="module")
def gated(tmp_path_factory):
    made = Gated(tmp_path_factory.mktemp("a gate"))
    yield made
    made.yard.close()


def bash(command, decision, **more):
    return "Bash", {"command": command}, decision, more


def test_the_policy_is_the_recorded_one(gated):
    shop, attempt = gated.yard.shop, gated.attempt
    keys = keys_of(attempt.attempt_id, attempt.started_at)
    document = json.loads((gated.yard.home.evidence / keys.bundle).read_bytes())
    case = Case(shop, shop.registry(), attempt, shop.store.bundle(attempt.attempt_id), document)

    assert policy_digest(policy_then(case, brief_of(case.registry, case.task))) == gated.digest


def test_another_command_of_the_project_is_another_policy_and_another_judgement(gated):
    gated.yard.says(check="uname -a")
    try:
        found = gated.judged(bash("uname", "allow"))
    finally:
        gated.yard.says(check="uname")

    assert places(found) == {"role.policy_digest"}
    assert found.inputs[0] != found.inputs[1]
    assert [each["changed"] for each in found.gate["calls"]] == [True]


@pytest.mark.parametrize(
    "call",
    [
        bash("uname", "allow"),  # the project's own check
        bash("sh src/go.sh", "deny"),  # as the candidate has it
        bash("sh src/go.sh", "allow"),  # before it was written
        bash("cat src/a.txt > src/o*t", "deny"),
        bash("cat src/a.txt", "allow"),
        bash("git push", "deny"),
        ("Write", {"file_path": "src/x.txt", "content": ""}, "allow", {}),
        ("Write", {"file_path": "src/out/passwd", "content": ""}, "deny", {}),  # a link of the base
        ("Write", {"file_path": "keisei.toml", "content": ""}, "deny", {}),
    ],
    ids=str,
)
def test_a_call_is_judged_in_the_worktree_as_it_was(gated, call):
    found = gated.judged(call)

    assert found.is_same, msgspec.json.encode(found)
    assert [each["unknown"] for each in found.gate["calls"]] == [None]


@pytest.mark.parametrize(
    ("call", "why"),
    [
        (bash("sh src/passing.sh", "deny"), "the files it was judged by are not kept"),
        (bash("sh src/passing.sh", "deny", policy_digest="1" * 64), "it would have run a file that is not kept"),
        (bash("cat [redacted]", "deny", input_digest="1" * 64), "a secret was taken out"),
        (bash("cat src/a.txt", "deny", cause="error"), "the gate itself broke then"),
    ],
    ids=str,
)
def test_a_call_of_which_nobody_can_say_is_unknown_and_not_changed(gated, call, why):
    found = gated.judged(call)

    (judged,) = found.gate["calls"]
    assert (judged["was"], judged["now"], judged["changed"]) == ("deny", "allow", False)
    assert why in judged["unknown"]
    assert found.is_same


@pytest.mark.parametrize(
    "call",
    [
        bash("git push", "allow"),
        ("Read", {"file_path": "src/a.txt"}, "allow", {}),
        ("Write", {"file_path": "src/x.txt", "content": ""}, "deny", {"policy_digest": "1" * 64}),
    ],
    ids=str,
)
def test_a_call_that_is_judged_otherwise_is_told(gated, call):
    found = gated.judged(call)

    assert [each["changed"] for each in found.gate["calls"]] == [True]
    assert not found.is_same


def test_a_log_that_is_no_log_is_a_fault_of_the_gate_alone(gated):
    gated.log.write_text("hello\n")

    found = replay(gated.yard.shop, gated.attempt, asks=False)

    assert "line 1 is no gate decision" in found.gate_fault
    assert found.drift == ()
    assert not found.is_same


# --- what differs -----------------------------------------------------------------------------------------------------


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
    found = list(compared([_finding("a::b", "held")], [_finding("c::d", "violated")]))

    assert found == [
        Rejudged(capability="a::b", run_from="merged", was="held", now=None, reason=None),
        Rejudged(capability="c::d", run_from="merged", was=None, now="violated", reason="because"),
    ]


@pytest.mark.parametrize(
    ("was", "now", "told"),
    [
        ({"a": 1}, {"a": 1}, []),
        ({"a": 1}, {"b": 2}, [("a", 1, None), ("b", None, 2)]),
        ({"a": {"b": [1, 2]}}, {"a": {"b": [2, 1]}}, [("a.b, in this order", [1, 2], [2, 1])]),
        ([{"name": "x", "v": 1}], [{"name": "x", "v": 2}], [("[x].v", 1, 2)]),
        ([{"name": "x"}, {"name": "y"}], [{"name": "y"}, {"name": "x"}], [(", in this order", ["x", "y"], ["y", "x"])]),
        ([], [{"name": "x"}], [("[x]", None, {"name": "x"})]),
        ([{"name": "x"}, {"name": "x"}], [], [("", [{"name": "x"}, {"name": "x"}], [])]),
    ],
)
def test_differences_are_told_where_they_are(was, now, told):
    assert [(each.what, each.was, each.now) for each in differences(was, now)] == told


def test_of_a_list_it_is_told_what_came_and_what_went():
    (found,) = differences({"a": [1, 2, 2]}, {"a": [2, 3]})

    assert (found.what, found.came, found.went) == ("a", (3,), (1, 2))
