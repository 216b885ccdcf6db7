"""What can be proved of an agent's work: from a real attempt that lands to an auditor who has nothing of ours.

One attempt of Claude Code, with a model that plays a script, makes an allowed edit and a refused call under an agent
whose constitution was accepted; everything else is asked of what it leaves.
"""

import hashlib
import json
import signal

import pytest
from securesystemslib.dsse import Envelope
from securesystemslib.signer import SSlibKey

from keisei.records.move import LandingQuery
from keisei.rules.note import parse_vkey
from keisei.testing.model import ScriptedModel
from keisei.wiring.signing import signer
from tests.system.agency import Agency, answer, git
from tests.system.audit import SPOILED, STATEMENTS, Copy, done, keisei
from tests.system.killing import FILES, House, Plot, kill, until

ROLE = """
[role]
name = "lander"
description = "Edits src; its work is verified and lands."
[capabilities]
required = ["policy::no-git-ops", "scope::files-whitelist", "quality::check-green"]
[tools]
allowed = ["Bash"]
bash-patterns-allowed = ['^(echo|git|sleep)( |$)']
[isolation]
require = "full"
network = "none"
"""
AGENT = """
[identity]
agent_id = "indra"
internal_name = "indra"
display_name = "Indra"
[constitution]
version = "1.0.0"
revised_at = 2026-11-01T09:00:00Z
"""
SOUL, PURPOSE = "I say what I saw.\n", "Keep the shop correct.\n"
OWN = ".keisei/agents/indra"
PROJECT = '[landing]\nauto = true\nrespawn = 0\n\n[commands]\ncheck = "test -s src/old.txt"\n'
CALLS = ("echo 3 > src/three.txt", "git commit --allow-empty -m x")
"""The allowed one and the refused one."""
AGAIN = "Nothing is to be done this time."


def plays(request):
    """The model: two calls and an answer; where nothing is to be done, the answer."""
    if AGAIN in request.prompt:
        return answer()
    turn = len(request.results)
    return {"tool": "Bash", "input": {"command": CALLS[turn]}} if turn < len(CALLS) else answer("src/three.txt")


class Landed(Agency):
    """A project in which one attempt has landed."""

    def hand_out(self, text):
        payload = {
            "task": {"role": "lander"},
            "scope": {"files-whitelist": ["src/**"]},
            "body": {"text": text},
        }
        task_id = self.add(payload=payload, subject="Count on", agent="indra")
        self.run(jobs=1)
        return task_id

    def rows(self, kind):
        return [each for each in self.store.entries(0, 1000) if each.kind == kind]

    @property
    def note(self):
        """The lines on the landed commit."""
        return git(self.root, "notes", "--ref=keisei", "show", "main").splitlines()


@pytest.fixture(scope="module")
def landed(tmp_path_factory):
    papers = {f"{OWN}/agent.toml": AGENT, f"{OWN}/SOUL.md": SOUL, f"{OWN}/PURPOSE.md": PURPOSE}
    with ScriptedModel(plays) as model:
        folder = tmp_path_factory.mktemp("an audit")
        made = Landed(folder, model, project=PROJECT, files={".keisei/roles/lander.toml": ROLE, **papers})
        made.base = git(made.root, "rev-parse", "main")
        done(made, "constitution", "accept", "indra")
        task_id = made.hand_out("Count on.")
        assert made.task(task_id).status == "completed", made.task(task_id).last_error
        made.work = made.attempt(task_id)
        (made.landing,) = made.store.landings(LandingQuery())
        assert made.landing.status == "landed", made.landing.reason
        yield made
        made.close()


@pytest.fixture(scope="module")
def sent(landed, tmp_path_factory):
    """What an auditor gets: the export, a mirror of the repository, the verifier; and by other means, the key."""
    folder = tmp_path_factory.mktemp("an auditor")
    done(landed, "evidence", "export", landed.work.attempt_id, str(folder / "export"))
    done(landed, "evidence", "verifier", "--out", str(folder / "verifier.py"))
    git(folder, "clone", "-q", "--mirror", str(landed.root), "clone.git")
    return Copy(folder, signer(landed.home.folder, landed.home.name))


@pytest.fixture
def files(landed):
    """The project, whose files of ours are put back afterwards."""
    house = landed.root / ".keisei"
    before = {path: path.read_bytes() for path in house.rglob("*") if path.is_file()}
    yield house
    for path in [each for each in house.rglob("*") if each.is_file() and each not in before]:
        path.unlink()
    for path, raw in before.items():
        path.write_bytes(raw)


def sha256(raw):
    return hashlib.sha256(raw).hexdigest()


# --- the ledger -------------------------------------------------------------------------------------------------------


def test_the_ledger_tells_who_was_spawned_what_was_refused_and_what_became_of_it(landed):
    (forked,) = [each for each in landed.rows("agent_forked") if each.body["attempt_id"] == landed.work.attempt_id]
    task, bundle = (landed.evidence(landed.work, each) for each in ("task.json", "bundle.json"))
    own = {name: value for name, value in json.loads(bundle).items() if name != "bundle_id"}

    assert forked.body["spec_sha256"] == sha256(task)
    assert forked.body["base"] == landed.base
    assert forked.body["bundle_hash"] == sha256(
        json.dumps(own, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    )
    assert (forked.body["identity"], forked.body["role"]) == ("indra", "lander")
    assert forked.body["constitution"]["soul_hash"] == sha256(SOUL.encode())
    assert forked.body["constitution"]["purpose_hash"] == sha256(PURPOSE.encode())
    (refused,) = landed.rows("gate_refused")
    assert (refused.subject, refused.body["total"]) == (landed.work.attempt_id, 1)
    assert [each["capability"] for each in refused.body["refusals"]] == ["policy::no-git-ops"]
    settled = next(each for each in landed.rows("attempt_settled") if each.subject == landed.work.attempt_id)
    assert settled.body["status"] == "completed"
    assert settled.body["evidence"]["task.json"] == sha256(task)
    (made,) = landed.rows("landing_made")
    assert (made.body["before"], made.body["after"]) == (landed.base, git(landed.root, "rev-parse", "main"))
    (introduced,) = landed.rows("key_introduced")
    assert introduced.body["vkey"] == signer(landed.home.folder, landed.home.name).vkey


def test_the_end_of_a_runner_signs_all_of_the_ledger_in_three_places_and_it_holds(landed):
    newest = landed.store.newest_checkpoint()
    told = json.loads(done(landed, "ledger", "verify", "--json"))

    assert (landed.home.folder / "checkpoint").read_text() == newest.note
    assert git(landed.root, "show", "refs/keisei/checkpoints:checkpoint") == newest.note.strip()
    assert newest.size >= max(each.seq for each in landed.rows("landing_made"))
    assert told["checkpoints"]["newest"] == newest.size
    assert told["checkpoints"]["checked"] >= 1


# --- the statements ---------------------------------------------------------------------------------------------------


def test_the_note_on_the_landed_commit_is_signed_for_everybody_who_has_the_public_key(landed):
    own = signer(landed.home.folder, landed.home.name)
    named = f"{own.name}+{parse_vkey(own.vkey).key_id.hex()}"
    key = SSlibKey(named, "ed25519", "ed25519", {"public": own.public.hex()})

    told = []
    for line in landed.note:
        envelope = Envelope.from_dict(json.loads(line))
        envelope.verify([key], 1)
        told.append(json.loads(envelope.payload))

    assert len(told) == 3
    assert {json.dumps(each["subject"][:2]) for each in told} == {
        json.dumps(
            [
                {"digest": {"gitCommit": git(landed.root, "rev-parse", "main")}, "name": "git:commit"},
                {"digest": {"gitTree": git(landed.root, "rev-parse", "main^{tree}")}, "name": "git:tree"},
            ]
        )
    }
    assert "keisei:held:quality::check-green" in told[0]["predicate"]["properties"]


def test_an_auditor_who_has_nothing_of_ours_finds_that_everything_holds(landed, sent):
    told = sent.verified()

    assert (told.code, told.faults, told.err) == (0, "", "")
    for claim in ("commit", "tree", "parent", "note", "merge", f"Keisei-Attempt: {landed.work.attempt_id}"):
        assert f"held           repository: {claim}" in told.out, told.out
    assert "held           signature" in told.out
    assert [json.dumps(each) for each in sent.lines(STATEMENTS)] == [
        json.dumps(json.loads(each)) for each in landed.note
    ]
    assert done(landed, "evidence", "verify", landed.work.attempt_id)


@pytest.mark.parametrize("spoil", SPOILED, ids=lambda each: each.__name__)
def test_whatever_is_spoiled_is_named(spoil, sent, tmp_path):
    copy = sent.copied(tmp_path)
    spoil(copy)

    told = copy.verified()

    assert (told.code, told.err) == (2, ""), told
    assert [each for each in SPOILED[spoil] if each not in told.faults] == [], told.faults


# --- replay -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def no_worktree(landed):
    """Takes the worktree of the attempt away, as collecting garbage does, until the end of the test."""
    place = landed.home.folder / "worktrees" / "a000"
    away = place.with_name("away")
    yield lambda: place.rename(away)
    if away.exists():
        away.rename(place)


def test_an_attempt_replays_the_same_and_what_has_drifted_is_named(landed, files, no_worktree):
    attempt_id = landed.work.attempt_id

    same = done(landed, "replay", attempt_id)

    assert "evidence: every file is what the ledger says" in same
    assert "bundle: today's files make the same one" in same
    lines = [json.loads(line) for line in landed.evidence(landed.work, "gate.jsonl").splitlines()]
    calls = [each for each in lines if not each["tool_use_id"].startswith("post:")]
    assert {each["decision"] for each in calls} == {"allow", "deny"}
    assert f"gate: {len(calls)} calls, 0 judged otherwise; chain whole" in same
    assert "findings: 3 asked again, 0 otherwise" in same

    no_worktree()
    kit = landed.shop.registry().catalog.found("capability", "policy::no-git-ops").path.parent
    own = files / "capabilities" / "policy" / "no-git-ops"
    own.mkdir(parents=True)
    for each in kit.iterdir():
        (own / each.name).write_bytes(each.read_bytes())
    (own / "text.md").write_text("Never touch git.\n")
    text = keisei(landed, "replay", "--no-findings", attempt_id)
    assert text.code == 2, text
    assert "bundle: role.capabilities[policy::no-git-ops]" in text.out
    assert "0 judged otherwise" in text.out

    role = files / "roles" / "lander.toml"
    role.write_text(role.read_text().replace("(echo|", "("))
    rule = keisei(landed, "replay", "--no-findings", attempt_id)
    assert rule.code == 2, rule
    assert "Bash was allow, is deny" in rule.out
    assert "bundle: role.tools.bash-patterns-allowed" in rule.out


# --- the constitution -------------------------------------------------------------------------------------------------


def test_an_agent_whose_constitution_was_changed_does_not_run_until_that_is_accepted(landed, files):
    asked = len(landed.model.requests)
    (files / "agents" / "indra" / "SOUL.md").write_text("I say what I like.\n")

    task_id = landed.hand_out(AGAIN)
    refused = landed.task(task_id)

    assert refused.status == "blocked"
    assert "SOUL.md has changed" in refused.last_error
    assert "`keisei constitution accept indra`" in refused.last_error
    assert len(landed.model.requests) == asked
    assert landed.rows("attempt_settled")[-1].subject == landed.attempt(task_id).attempt_id
    assert [each for each in landed.rows("agent_forked") if each.body["task_id"] == task_id] == []

    done(landed, "constitution", "accept", "indra", "--reason", "so be it")
    done(landed, "task", "retry", task_id)
    landed.run(jobs=1)

    assert landed.task(task_id).status == "completed", landed.task(task_id).last_error
    assert len(landed.model.requests) > asked
    (forked,) = [each for each in landed.rows("agent_forked") if each.body["task_id"] == task_id]
    assert forked.body["attempt_id"] == landed.attempt(task_id).attempt_id
    assert forked.body["constitution"]["soul_hash"] == sha256(b"I say what I like.\n")
    done(landed, "ledger", "verify")


# --- killed -----------------------------------------------------------------------------------------------------------


def test_what_a_killed_runner_could_not_sign_is_signed_by_the_next_and_its_note_is_attached(tmp_path):
    with ScriptedModel(Plot()) as model:
        house = House(tmp_path, model, real=False, project=PROJECT)
        try:
            _killed_after_landing(house)
        finally:
            house.end()


def _killed_after_landing(house):
    (house.root / ".keisei/roles/lander.toml").write_text(ROLE)
    git(house.root, "add", "-A")
    git(house.root, "commit", "-q", "-m", "a role")
    payload = {"task": {"role": "lander"}, "scope": {"files-whitelist": ["src/**"]}, "body": {"text": "Work."}}
    task_id = house.add(payload=payload)
    runner = house.start("keisei.wiring.landing:_noted:before:1")
    until(lambda: (house.flags / "halted").exists() or runner.poll() is not None)
    assert runner.poll() is None, house.log()
    kill(runner.pid)
    assert runner.wait(60) == -signal.SIGKILL
    (house.flags / "go").touch()
    (landing,) = house.store.landings(LandingQuery())
    assert (landing.status, landing.after_commit) == ("landed", git(house.root, "rev-parse", "main"))
    assert house.store.newest_checkpoint() is None
    assert "refs/notes/keisei" not in git(house.root, "for-each-ref")

    assert house.start().wait(60) == 0, house.log()

    newest = house.store.newest_checkpoint()
    assert newest.size == house.store.size()
    assert (house.home.folder / "checkpoint").read_text() == newest.note
    assert git(house.root, "show", "refs/keisei/checkpoints:checkpoint") == newest.note.strip()
    attempt_id = house.attempt(task_id).attempt_id
    done(house, "evidence", "attach", attempt_id)
    assert len(git(house.root, "notes", "--ref=keisei", "show", landing.after_commit).splitlines()) == 3
    done(house, "evidence", "verify", attempt_id)
    assert json.loads(done(house, "ledger", "verify", "--json"))["checkpoints"]["newest"] == newest.size
    assert git(house.root, "diff", "--name-only", "main~1", "main").split() == sorted(FILES)
