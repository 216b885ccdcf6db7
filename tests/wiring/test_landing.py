"""Landings in a real repository: what may not land does not, what has landed is told so, and nothing is lost."""

import json
import os
import shutil
import subprocess
import threading
from contextlib import suppress
from datetime import timedelta

import msgspec
import pytest

from keisei.engine import attempt as attempts
from keisei.engine.control import pause, resume
from keisei.engine.intake import Origin, accept, read_intent
from keisei.engine.land import approve, known, reject
from keisei.records.error import Refused, WorldFault
from keisei.records.id import TaskId
from keisei.records.move import LandingQuery, TaskQuery
from keisei.settings import read_settings
from keisei.wiring import hall, landing_revert, workshop
from keisei.wiring import landing as landings
from keisei.wiring.fresh import new_id
from keisei.wiring.gc import leftovers
from keisei.wiring.hall import project_shop, shop_runner
from keisei.wiring.landing import FOREVER_S, hold_of, land_now, land_queued
from keisei.wiring.landing_proof import Desk
from keisei.wiring.landing_revert import respawn, revert
from keisei.wiring.leftover import premises
from keisei.wiring.proving import Proving
from keisei.wiring.registry import defaults_of
from keisei.wiring.runner import Options
from keisei.wiring.shop import evidence_files, read_evidence
from keisei.wiring.store import open_home_store, project_home

ROLE = """[role]
name = "lander"
description = "Writes files."
[capabilities]
required = ["policy::no-git-ops", "scope::files-whitelist", "quality::check-green"]
[tools]
allowed = []
[isolation]
require = "full"
network = "none"
"""
PROFILE = """profile_id = "lander"
style = "claude-like"
role = "lander"
default_adapter_id = "plain"
fallback_adapter_ids = []
prompt_parts = []
skill_ids = []
[context_policy]
max_prompt_chars = 200000
include_recent_memory = false
[result_policy]
allow_follow_up_tasks = false
allow_external_messages = false
"""
PROJECT = """[project]
name = "yard"

[commands]
check = "{check}"

[landing]
auto = {auto}
respawn = {respawn}
to = "{to}"

[adapters.plain]
kind = "script"
command = {agent}
timeout_ms = 60000
"""
AGENT = """#!/bin/sh
cat > /dev/null
{deed}
printf '{{"status": "completed", "operator_summary": "done", "file_changes": ["%s"]}}\\n' "$file"
"""
NEW = "file=src/new.txt; echo new > $file"
OWN = "file=src/$AGENT_RUNTIME_TASK_ID.txt; echo new > $file"
"""A file that no other task writes."""


OWN_RULE = """[capability]
name = "quality::own"
category = "quality"
version = "1.0"
description = "Own."
rationale = "Own."
[text]
path = "text.md"
[verify]
kind = "script"
path = "verify.sh"
run-from = "merged"
"""


class Yard:
    """A project whose agent is a shell script."""

    def __init__(self, folder):
        self.folder, self.root = folder, folder / "a project"
        self.said = {"check": "true", "auto": "false", "respawn": 0, "to": "main"}
        self.lines, self.shop = [], None
        for path, text in {
            ".keisei/roles/lander.toml": ROLE,
            ".keisei/profiles/lander.toml": PROFILE,
            "src/a.txt": "a\n",
        }.items():
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            (self.root / path).write_text(text)
        (folder / "run").mkdir(mode=0o700)
        self.agent(NEW)
        self.git("init", "-q", "-b", "main")
        self.says()
        self.commit("begin")

    def says(self, **project):
        """Have the project say this, in the checkout, and read it anew."""
        self.close()
        self.said |= project
        words = {**self.said, "agent": json.dumps(str(self.folder / "agent"))}
        (self.root / "keisei.toml").write_text(PROJECT.format(**words))
        places = {"HOME": self.folder, "KEISEI_HOME": self.folder / "state", "XDG_RUNTIME_DIR": self.folder / "run"}
        settings = read_settings({name: str(path) for name, path in places.items()})
        self.home = project_home(settings, self.root)
        self.store = open_home_store(settings, self.home)
        self.shop = project_shop(settings, self.home, self.store)

    def close(self):
        if self.shop is not None:
            self.shop.yard.close()
            self.store.close()

    def agent(self, deed):
        draft = self.folder / "agent.draft"
        draft.write_text(AGENT.format(deed=deed))
        draft.chmod(0o755)
        draft.rename(self.folder / "agent")

    def git(self, *words):
        env = {"PATH": os.environ["PATH"], "HOME": str(self.folder), "GIT_CONFIG_NOSYSTEM": "1"}
        who = ("-c", "user.name=t", "-c", "user.email=t@localhost")
        done = subprocess.run(["git", *who, *words], cwd=self.root, env=env, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    def commit(self, message="more", **files):
        for name, text in files.items():
            (self.root / "src" / f"{name}.txt").write_text(text)
        self.git("add", "-A")
        self.git("commit", "-q", "-m", message)
        return self.git("rev-parse", "HEAD")

    def work(self, **task):
        """A task, carried to its end; its landing."""
        spec = {
            "task": {"role": "lander", **task},
            "scope": {"files-whitelist": ["src/**"]},
            "body": {"text": "Write."},
        }
        intent = {"task_type": "agent-task", "source": "t", "payload": spec, "requested_profile_id": "lander"}
        new = accept(
            read_intent({**intent, "max_attempts": 1, "subject": "Write it"}),
            self.shop.registry(),
            defaults_of(self.home),
            origin=Origin(),
            task_id=TaskId(new_id()),
            now=self.store.now(),
        )
        self.store.enqueue([new])
        self.run()
        return self.of(new.task.task_id)

    def of(self, task_id):
        (found,) = self.store.landings(LandingQuery(task_id=task_id))
        return found.landing_id

    def run(self):
        shop_runner(self.shop, Options(jobs=1, until_idle=True), self.lines.append).run()

    def desk(self):
        return Desk(self.shop, hold_of("test", lambda: FOREVER_S), "test", self.lines.append)

    def queue(self, landing_id):
        approve(self.store, landing_id, "", "me")

    def land(self, landing_id):
        """Approved and landed here; what became of it."""
        self.queue(landing_id)
        return land_now(self.shop, landing_id, self.lines.append)

    def row(self, landing_id):
        return known(self.store, landing_id)

    def is_clean(self):
        kept = self.git("for-each-ref", "refs/keisei/landing")
        return (self.git("status", "--porcelain"), kept) == ("", "")

    def landed(self):
        return self.git("log", "--format=%s", "main").splitlines().count("Write it")


@pytest.fixture
def yard(tmp_path):
    made = Yard(tmp_path)
    yield made
    made.close()


class Died(BaseException):
    """A process that ends here."""


def dies(*_words, **_more):
    raise Died


# --- where it lands ---------------------------------------------------------------------------------------------------


def test_a_main_that_is_gone_is_not_made_anew_from_another_branch(yard):
    landing = yard.work()
    main = yard.git("rev-parse", "main")
    yard.git("checkout", "-q", "-b", "dev")
    yard.commit(dev="dev\n")
    yard.git("branch", "-D", "main")

    held = yard.land(landing)

    assert (held.status, held.after_commit) == ("held", None)
    assert held.reason.startswith("there is no branch `main` any more: `git branch main")
    assert yard.git("for-each-ref", "--format=%(refname)", "refs/heads") == "refs/heads/dev"
    yard.git("branch", "main", main)
    assert yard.land(landing).status == "landed"
    assert yard.git("rev-parse", "main~1") == main


def test_a_branch_of_its_own_whose_name_is_taken_holds_it_and_says_what_to_do(yard):
    yard.says(to="branch")
    landing = yard.work(**{"agent-id": "bob"})
    name = known(yard.store, landing).branch
    assert name.startswith("keisei/bob-")
    yard.git("branch", name)

    held = yard.land(landing)

    assert held.status == "held"
    assert held.reason == f"there is a branch `{name}` already: rename or remove it, and approve again"
    yard.git("branch", "-m", name, "keisei")
    assert "keisei" in yard.land(landing).reason
    yard.git("branch", "-D", "keisei")
    assert yard.land(landing).status == "landed"
    assert yard.git("rev-parse", f"{name}~1") == yard.git("rev-parse", "main")


def test_a_main_that_was_rewritten_since_it_was_approved_is_looked_at_again(yard):
    yard.commit(dropped="d\n")
    landing = yard.work()
    yard.queue(landing)
    yard.git("reset", "-q", "--hard", "HEAD~1")
    yard.commit(other="o\n")

    land_queued(yard.desk())

    assert (yard.row(landing).status, yard.row(landing).approved) == ("held", False)
    assert "main was rewritten" in yard.row(landing).reason
    assert yard.landed() == 0
    assert yard.land(landing).status == "landed"
    assert not (yard.root / "src/dropped.txt").exists()
    assert (yard.root / "src/other.txt").exists()


def test_what_a_person_commits_meanwhile_stays_and_the_landing_is_merged_anew(yard, monkeypatch):
    landing = yard.work()
    theirs = []
    real = landings.advance

    def beaten(*words):
        if len(theirs) < 3:
            theirs.append(yard.commit(**{f"theirs{len(theirs)}": "t\n"}))
        return real(*words)

    monkeypatch.setattr(landings, "advance", beaten)
    done = yard.land(landing)

    assert done.status == "landed"
    history = yard.git("log", "--format=%H %P", "main").splitlines()
    assert [line.split()[0] for line in history[1:4]] == theirs[::-1]
    assert all(len(line.split()) == 2 for line in history[:-1])
    tree = yard.git("rev-parse", "main^{tree}")
    said = {each.capability: each.status for each in yard.store.findings(done.attempt_id) if each.tree == tree}
    assert said["engine::merge"] == said["quality::check-green"] == said["scope::files-whitelist"] == "held"
    assert yard.is_clean()


def test_a_main_that_never_rests_holds_it(yard, monkeypatch):
    landing = yard.work()
    real, count = landings.advance, iter(range(100))
    monkeypatch.setattr(landings, "TRIES", 3)
    monkeypatch.setattr(
        landings, "advance", lambda *words: (yard.commit(**{f"n{next(count)}": "n\n"}), real(*words))[1]
    )

    held = yard.land(landing)

    assert (held.status, held.reason) == ("held", "main moved 3 times while it was verified")
    assert yard.landed() == 0
    assert yard.is_clean()


# --- what was asked ---------------------------------------------------------------------------------------------------


def test_a_check_that_is_another_one_now_is_asked_before_it_lands(yard):
    landing = yard.work()
    yard.says(check="false")

    done = yard.land(landing)

    assert done.status == "rejected"
    assert "`false`" in done.reason
    assert yard.landed() == 0


def test_the_same_check_of_the_same_tree_is_not_asked_twice(yard, monkeypatch):
    landing = yard.work()
    monkeypatch.setattr(Proving, "run", dies)

    assert yard.land(landing).status == "landed"


def test_a_capability_that_was_added_since_is_asked_before_it_lands(yard):
    landing = yard.work()
    role = ROLE.replace('"quality::check-green"', '"quality::check-green", "quality::tests-green"')
    (yard.root / ".keisei/roles/lander.toml").write_text(role)

    done = yard.land(landing)

    assert done.status == "landed"
    asked = [each for each in yard.store.findings(done.attempt_id) if each.capability == "quality::tests-green"]
    assert [each.tree for each in asked] == [done.tree]


def test_a_doubt_that_a_person_could_see_is_theirs_to_accept_and_a_new_one_is_not(yard):
    yard.says(check="echo error: it was red before; false")
    landing = yard.work()
    assert yard.row(landing).reason.startswith("quality::check-green is violated")
    assert yard.land(landing).status == "landed"

    yard.says(check="true")
    yard.agent(OWN)
    landing = yard.work()
    yard.says(check="echo error: it is red now; false")
    held = yard.land(landing)

    assert held.status == "held"
    assert held.reason.startswith("quality::check-green is violated")
    assert yard.land(landing).status == "landed"


def test_evidence_that_is_gone_or_tells_of_something_else_holds_it(yard):
    landing = yard.work()
    (returned,) = yard.home.evidence.rglob("returned.json")
    told = json.loads(returned.read_text())
    told["staged"]["commit"] = yard.git("rev-parse", "main")
    text = returned.read_text()
    returned.chmod(0o600)
    returned.write_text(json.dumps(told))

    assert "another candidate" in yard.land(landing).reason

    returned.write_text(text)
    shutil.move(yard.home.evidence, yard.folder / "elsewhere")
    assert "is not on this machine" in yard.land(landing).reason
    shutil.rmtree(yard.home.evidence, ignore_errors=True)
    shutil.move(yard.folder / "elsewhere", yard.home.evidence)
    assert yard.land(landing).status == "landed"


def test_a_conflict_is_taken_over_as_often_as_the_project_says(yard):
    yard.says(auto="true", respawn=1)
    yard.commit("policy")
    real = landings.prove
    yard.agent("file=src/a.txt; echo $AGENT_RUNTIME_TASK_ID > $file")

    def conflicts(desk, landing):
        yard.commit(a=f"main has {landing.landing_id}\n")
        return real(desk, landing)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(landings, "prove", conflicts)
        first = yard.row(yard.work())

    assert (first.status, "it conflicts with main in src/a.txt" in first.reason) == ("rejected", True)
    found = yard.store.landings(LandingQuery(limit=10))
    assert [each.status for each in found] == ["rejected", "rejected"]
    second = yard.store.task(found[0].task_id)
    assert (second.parent_task_id, second.idempotency_key) == (first.task_id, f"respawn:{first.landing_id}")
    (prompt,) = [each for each in yard.home.evidence.rglob("prompt*") if found[0].attempt_id in str(each)]
    assert "it conflicts with main in src/a.txt" in prompt.read_text()
    assert yard.landed() == 0


# --- faults -----------------------------------------------------------------------------------------------------------


def test_a_store_that_fails_after_the_branch_has_moved_does_not_make_it_held(yard, monkeypatch):
    landing = yard.work()
    real, failed = yard.store.move_landing, []

    def fails(move):
        if move.landing.status == "landed" and not failed:
            failed.append(move)
            raise WorldFault("the store is away")
        return real(move)

    monkeypatch.setattr(yard.store, "move_landing", fails)
    done = yard.land(landing)

    assert (done.status, done.after_commit) == ("landed", yard.git("rev-parse", "main"))
    assert yard.landed() == 1
    assert yard.is_clean()


def test_a_repository_that_is_away_after_a_crash_loses_no_landing(yard, monkeypatch):
    landing = yard.work()
    monkeypatch.setattr(landings, "_landed", dies)
    with pytest.raises(Died):
        yard.land(landing)
    monkeypatch.undo()
    assert (yard.row(landing).status, yard.landed()) == ("landing", 1)

    yard.root.rename(yard.folder / "away")
    land_queued(yard.desk())
    (yard.folder / "away").rename(yard.root)

    assert yard.row(landing).status == "held"
    done = yard.land(landing)
    assert (done.status, done.after_commit) == ("landed", yard.git("rev-parse", "main"))
    assert yard.landed() == 1


@pytest.mark.parametrize("where", ["commit", "keep", "advance", "_landed"])
def test_whoever_dies_on_the_way_leaves_it_to_the_next(yard, monkeypatch, where):
    landing = yard.work()
    monkeypatch.setattr(landings, where, dies)
    with pytest.raises(Died):
        yard.land(landing)
    monkeypatch.undo()
    with pytest.raises(Refused, match="is landing") as refused:
        reject(yard.store, landing, "", "me")
    assert "keisei land revert" in refused.value.hint

    assert land_queued(yard.desk()) == 1

    assert yard.row(landing).status == "landed"
    assert yard.landed() == 1
    assert yard.is_clean()


@pytest.mark.parametrize("fault", [WorldFault("no room"), OSError(28, "no room")])
def test_a_check_that_the_machine_does_not_let_run_holds_it_and_rejects_nothing(yard, monkeypatch, fault):
    yard.says(respawn=1)
    landing = yard.work()
    yard.commit(more="m\n")

    def full(*_words):
        raise fault

    monkeypatch.setattr(Proving, "run", full)
    held = yard.land(landing)
    monkeypatch.undo()

    assert (held.status, "no room" in held.reason) == ("held", True)
    assert len(yard.store.landings(LandingQuery(limit=10))) == 1
    assert yard.land(landing).status == "landed"


def test_a_lock_that_cannot_be_is_one_clear_error(yard):
    landing = yard.work()
    yard.queue(landing)
    (yard.home.folder / landings.LOCK).unlink(missing_ok=True)
    (yard.home.folder / landings.LOCK).mkdir()

    with pytest.raises(WorldFault, match="cannot be opened"):
        land_now(yard.shop, landing, yard.lines.append)

    assert yard.row(landing).status == "queued"


# --- several at once --------------------------------------------------------------------------------------------------


def test_several_who_land_one_queue_land_each_once(yard):
    yard.agent(OWN)
    queue = [yard.work() for _ in range(4)]
    for each in queue:
        yard.queue(each)
    workers = [
        threading.Thread(target=lambda: [land_now(yard.shop, each, yard.lines.append) for each in queue])
        for _ in range(3)
    ]
    for each in workers:
        each.start()
    for each in workers:
        each.join()

    assert [yard.row(each).status for each in queue] == ["landed"] * 4
    assert yard.landed() == 4
    assert all(len(line.split()) == 2 for line in yard.git("log", "--format=%H %P", "main").splitlines()[:-1])
    for each in map(yard.row, queue):
        said = {
            found.capability: found.status for found in yard.store.findings(each.attempt_id) if found.tree == each.tree
        }
        assert each.tree == yard.git("rev-parse", f"{each.after_commit}^{{tree}}")
        assert said["engine::merge"] == said["quality::check-green"] == "held"
    assert yard.is_clean()


def test_what_is_approved_twice_lands_once_and_what_is_rejected_first_does_not(yard):
    yard.agent(OWN)
    first, second = yard.work(), yard.work()
    yard.queue(first)
    yard.queue(first)
    yard.queue(second)
    reject(yard.store, second, "no", "me")

    assert land_queued(yard.desk()) == 1

    assert (yard.row(first).status, yard.row(second).status) == ("landed", "rejected")
    for each, hint in ((first, "keisei land revert"), (second, "--respawn")):
        with pytest.raises(Refused, match="nothing to decide any more") as refused:
            yard.queue(each)
        assert hint in refused.value.hint


def test_a_runner_that_is_to_leave_begins_no_other(yard):
    yard.agent(OWN)
    first, second = yard.work(), yard.work()
    yard.queue(first)
    yard.queue(second)

    assert land_queued(yard.desk(), goes_on=lambda: yard.row(first).status == "queued") == 1

    assert (yard.row(first).status, yard.row(second).status) == ("landed", "queued")


# --- taking back ------------------------------------------------------------------------------------------------------


def test_a_revert_that_died_before_its_row_is_made_once(yard, monkeypatch):
    landing = yard.work()
    yard.land(landing)
    monkeypatch.setattr(landing_revert, "move", dies)
    with pytest.raises(Died):
        revert(yard.shop, landing, "no", "me")
    monkeypatch.undo()
    taken = yard.git("rev-parse", "main")
    yard.commit(later="l\n")

    assert revert(yard.shop, landing, "no", "me").revert_commit == taken

    assert not (yard.root / "src/new.txt").exists()
    assert yard.is_clean()
    with pytest.raises(Refused, match="is reverted: only what has landed") as refused:
        revert(yard.shop, landing, "no", "me")
    assert "keisei land show" in refused.value.hint


def test_what_cannot_be_taken_back_says_why_and_leaves_everything(yard):
    landing = yard.work()
    yard.land(landing)
    yard.commit(new="newer\n")
    with pytest.raises(Refused, match=r"later work conflicts in src/new\.txt"):
        revert(yard.shop, landing, "no", "me")
    yard.commit(new="new\n")
    yard.says(check="test -e src/new.txt")
    yard.commit("needs it")
    with pytest.raises(Refused, match=r"without it `test -e src/new\.txt` is red on main"):
        revert(yard.shop, landing, "no", "me")
    yard.says(check="true")
    yard.commit("needs it no longer")
    (yard.root / "src/new.txt").write_text("mine\n")
    with pytest.raises(Refused, match=r"src/new\.txt"):
        revert(yard.shop, landing, "no", "me")

    assert yard.row(landing).status == "landed"
    assert (yard.root / "src/new.txt").read_text() == "mine\n"
    assert yard.git("for-each-ref", "refs/keisei/landing") == ""


# --- what an operator says, and what others do ------------------------------------------------------------------------


def test_while_dispatch_is_stopped_nothing_lands(yard):
    landing = yard.work()
    yard.queue(landing)
    pause(yard.store, "hands off", "me")

    yard.run()

    assert yard.row(landing).status == "queued"
    resume(yard.store, "go on", "me")
    yard.run()
    assert yard.row(landing).status == "landed"


def test_what_waits_to_land_is_not_collected(yard):
    landing = yard.work()
    around = premises(read_settings({"HOME": str(yard.folder)}), yard.home, yard.store, "test")
    later = around._replace(
        now=around.now + timedelta(days=400), limits=msgspec.structs.replace(around.limits, evidence_days=1)
    )

    kinds = {each.kind for each in leftovers(later)}
    assert not kinds & {"ref", "evidence"}

    reject(yard.store, landing, "no", "me")
    assert {"ref", "evidence"} <= {each.kind for each in leftovers(later)}


def test_another_machines_landing_is_left_to_it(yard, monkeypatch):
    landing = yard.work()
    yard.queue(landing)
    monkeypatch.setattr(hall, "host", lambda: "elsewhere/1")
    evidence = yard.home.evidence.rename(yard.folder / "evidence of another machine")

    yard.run()
    assert land_now(yard.shop, landing, yard.lines.append).status == "queued"

    evidence.rename(yard.home.evidence)
    monkeypatch.undo()
    yard.run()
    assert yard.row(landing).status == "landed"


def test_a_role_that_fails_fast_is_not_respawned(yard):
    (yard.root / ".keisei/roles/lander.toml").write_text(f"{ROLE}[escalation]\npolicy = 'fail-fast'\n")
    yard.says(respawn=3)
    landing = yard.work()
    yard.commit(new="mine\n")

    assert yard.land(landing).status == "rejected"
    assert len(yard.store.tasks(TaskQuery())) == 1


def test_why_a_person_has_rejected_it_stands_in_the_next_prompt(yard):
    landing = yard.work()
    reject(yard.store, landing, "the total is rounded twice", "me")

    task_id = respawn(yard.shop, landing, "operator:me")
    assert respawn(yard.shop, landing, "operator:me") == task_id
    yard.run()

    (row,) = yard.store.entries(kind="landing_respawned")
    assert (row.actor, row.subject, row.body["heir"]) == ("operator:me", landing, task_id)
    (attempt,) = yard.store.attempts(task_id)
    prompt = read_evidence(yard.home, attempt, "prompt.md", 0).decode()
    assert "it did not land: the total is rounded twice" in prompt


def test_what_was_said_on_the_tip_is_evidence_and_its_digest_is_in_the_ledger(yard):
    landing = yard.work()
    yard.commit(b="b\n")

    row = yard.land(landing)

    (name,) = [
        each for each in evidence_files(yard.home, yard.store.attempt(row.attempt_id)) if each.startswith("landing-")
    ]
    kept = json.loads(read_evidence(yard.home, yard.store.attempt(row.attempt_id), name, 0))
    assert {each["tree"] for each in kept["findings"] if each["run_from"] == "merged"} == {row.tree}
    assert [each["command"] for each in kept["runs"]] == ["true"]
    (entry,) = yard.store.entries(kind="landing_made")
    assert list(entry.body["evidence"]) == [name]
    (proof,) = yard.store.entries(kind="landing_verified")
    assert (proof.subject, proof.body["tree"], proof.body["after"]) == (landing, row.tree, row.after_commit)
    assert {each["capability"] for each in proof.body["findings"]} == {each["capability"] for each in kept["findings"]}
    assert proof.seq < entry.seq


def test_a_script_with_another_text_is_another_question(yard):
    folder = yard.root / ".keisei/capabilities/quality/own"
    folder.mkdir(parents=True)
    (folder / "capability.toml").write_text(OWN_RULE)
    (folder / "text.md").write_text("Own.\n")
    script = folder / "verify.sh"
    script.write_text("#!/bin/sh\nexit 0\n")
    script.chmod(0o755)
    (yard.root / ".keisei/roles/lander.toml").write_text(ROLE.replace('"quality::check-green"', '"quality::own"'))
    yard.commit("a rule")
    landing = yard.work()
    script.write_text("#!/bin/sh\necho not any more >&2\nexit 1\n")

    row = yard.land(landing)

    assert (row.status, yard.landed()) == ("rejected", 0)
    assert "not any more" in row.reason


def test_something_nobody_has_foreseen_holds_one_and_not_the_queue(yard, monkeypatch):
    yard.agent(OWN)
    first, second = yard.work(), yard.work()
    for each in (first, second):
        yard.queue(each)
    real = landings.prove
    monkeypatch.setattr(landings, "prove", lambda desk, row: 1 / 0 if row.landing_id == first else real(desk, row))

    land_queued(yard.desk())

    assert (yard.row(first).status, yard.row(second).status) == ("held", "landed")
    assert "ZeroDivisionError" in yard.row(first).reason


@pytest.mark.parametrize("faults", [2, 3])
def test_a_moment_without_the_store_costs_no_try_and_no_agent_is_run_again(yard, monkeypatch, faults):
    left = [WorldFault("the database is away", retryable=True)] * faults
    real = workshop.judged

    def judged(*words):
        if left:
            raise left.pop()
        return real(*words)

    monkeypatch.setattr(workshop, "judged", judged)
    monkeypatch.setattr(attempts, "JUDGED_AGAIN_S", (0.0, 0.0))

    with suppress(ValueError):  # there is no landing yet where the fault lasts: the next runner judges it
        yard.work()
    yard.run()

    (task,) = yard.store.tasks(TaskQuery())
    assert task.status == "completed"
    assert len(yard.store.attempts(task.task_id)) == 1
