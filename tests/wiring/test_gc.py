"""Making room: what is left over is found with its reason and goes, and nothing that anybody still needs."""

import os
import shutil
import socket
import subprocess
import tempfile
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest

from keisei.records.id import AttemptId, RunnerId
from keisei.records.move import ClaimOrder
from keisei.records.pipe_run import PipeMember, PipeMove, PipeRun
from keisei.records.project import ProjectHead, ProjectWorkspace
from keisei.records.runner import RunnerRecord
from keisei.wiring.deserted import deserted
from keisei.wiring.fresh import new_id
from keisei.wiring.gc import leftovers
from keisei.wiring.leftover import premises
from keisei.workspace.environment import Environments
from keisei.workspace.lock import KeyLocks
from keisei.workspace.pool import Pool
from keisei.workspace.ref import refs
from keisei.workspace.repository import facts
from keisei.workspace.stage import stage

DONE = """echo '{"status": "completed", "operator_summary": "done"}'"""
ME = "operator:me"


@pytest.fixture
def project(house):
    """A house in a repository with one commit."""
    git(house, "init", "--quiet", "--initial-branch", "main")
    git(house, "add", ".")
    git(house, "commit", "--quiet", "--message", "first")
    return house


def git(house, *words):
    plain = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1"}
    names = {f"GIT_{who}_{what}": "x@example.com" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    done = subprocess.run(
        ["git", *words], cwd=house.root, env=plain | names, capture_output=True, text=True, check=True
    )
    return done.stdout


def finished(house):
    """An attempt whose task is over."""
    task_id = house.script(DONE)
    house.run()
    [attempt] = house.attempts(task_id)
    return attempt


def running(house):
    """An attempt that some runner has claimed and not ended."""
    house.script(DONE)
    runner = RunnerRecord(
        runner_id=RunnerId(new_id()),
        host="elsewhere",
        boot_id="another",
        pid=1,
        born="0",
        version="0",
        slots=1,
        lease_s=30.0,
        started_at=house.store.now(),
        heartbeat_at=house.store.now(),
    )
    house.store.register(runner)
    [claimed] = house.store.claim(ClaimOrder(runner_id=runner.runner_id, attempt_ids=(AttemptId(new_id()),)))
    return claimed.attempt


def pool_of(house, most=8):
    return Pool(facts(house.root, "main"), house.home.folder / "worktrees", most)


def found(house, days=0.0, **limits):
    """What may go, so many days from now, by kind and name."""
    file = msgspec.structs.replace(
        house.home.file, workspace=ProjectWorkspace(**limits), project=ProjectHead(name="house", main="main")
    )
    around = premises(house.settings, house.home._replace(file=file), house.store, ME)
    later = around._replace(now=around.now + timedelta(days=days, minutes=2), sockets=None)
    return {(each.kind, each.name): each for each in leftovers(later)}


def test_a_project_without_a_repository_has_nothing_left_over(house):
    assert found(house, days=1000) == {}


def test_a_worktree_of_an_attempt_that_is_over_goes_when_its_work_is_a_reference(project):
    attempt = finished(project)
    leased = pool_of(project).take(attempt.attempt_id, facts(project.root, "main").head)
    path = Path(leased.worktree.path)
    (path / "work.txt").write_text("hours of work")
    leased.leave()

    [left] = found(project).values()

    assert (left.kind, left.name) == ("worktree", "a000")
    assert attempt.attempt_id in left.reason
    assert left.size > 0
    assert left.remove()
    assert not path.exists()
    assert git(project, "show", f"refs/keisei/salvage/{attempt.attempt_id}:work.txt") == "hours of work"
    assert found(project) == {}


def test_a_worktree_in_which_nothing_was_done_leaves_no_reference(project):
    attempt = finished(project)
    pool_of(project).take(attempt.attempt_id, facts(project.root, "main").head).leave()

    [left] = found(project).values()

    assert left.remove()
    assert git(project, "for-each-ref", "refs/keisei/salvage", "refs/keisei/candidate") == ""


def test_a_worktree_that_a_living_process_has_or_that_belongs_to_an_open_attempt_stays(project):
    head = facts(project.root, "main").head
    over, open_ = finished(project), running(project)
    held = pool_of(project).take(over.attempt_id, head)
    pool_of(project).take(open_.attempt_id, head).leave()
    stranger = pool_of(project).take("an-attempt-of-another-store", head)
    stranger.leave()

    assert found(project) == {}
    held.leave()
    assert [name for _, name in found(project)] == ["a000"]
    assert ("worktree", "a002") in found(project, days=31, keep_days=30), "nobody has asked for it in a month"


def test_a_worktree_whose_work_cannot_be_kept_is_not_removed(project, monkeypatch):
    attempt = finished(project)
    leased = pool_of(project).take(attempt.attempt_id, facts(project.root, "main").head)
    leased.leave()
    [left] = found(project).values()

    def fails(*_words):
        raise KeyboardInterrupt

    monkeypatch.setattr("keisei.wiring.site.stage", fails)
    with pytest.raises(KeyboardInterrupt):
        left.remove()

    assert Path(leased.worktree.path).is_dir()
    assert pool_of(project).find(attempt.attempt_id) is not None


def test_free_worktrees_beyond_the_pool_go_and_the_ones_used_last_stay(project):
    pool, head = pool_of(project), facts(project.root, "main").head
    leases = [pool.take(f"attempt-{number}", head) for number in range(3)]
    for each in leases:
        each.release(reusable=True)
    for number, slot in enumerate(pool.slots()):
        os.utime(project.home.folder / f"worktrees/{slot.name}.lock", (1000 + number, 1000 + number))

    assert found(project, pool=3) == {}
    [left] = found(project, pool=2).values()
    assert left.remove()

    assert sorted(slot.name for slot in pool.slots()) == ["a001", "a002"]


@pytest.mark.parametrize("kind", ["candidate", "salvage"])
def test_work_is_kept_for_so_many_days_after_its_task_is_over(project, kind):
    attempt, head = finished(project), facts(project.root, "main").head
    leased = pool_of(project).take(attempt.attempt_id, head)
    (Path(leased.worktree.path) / "work.txt").write_text("work")
    staged = stage(leased.worktree, attempt.attempt_id, kind)
    leased.release(reusable=True)

    assert found(project, days=29, keep_days=30) == {}
    left = found(project, days=31, keep_days=30)["ref", staged.ref]
    assert left.remove()

    assert refs(leased.worktree.common_dir, kind) == []
    assert not left.remove(), "it is gone already"
    row = project.store.entries(kind="work_removed")[0]
    assert (row.subject, row.body) == (attempt.attempt_id, {"ref": staged.ref, "commit": staged.commit})


def test_work_of_an_open_task_or_of_a_stranger_is_kept_for_ever(project):
    attempt, head = running(project), facts(project.root, "main").head
    for name in (attempt.attempt_id, "a-stranger"):
        leased = pool_of(project).take(name, head)
        (Path(leased.worktree.path) / "work.txt").write_text("work")
        stage(leased.worktree, name, "salvage")
        leased.release(reusable=True)

    assert not [name for kind, name in found(project, days=1000) if kind == "ref"]


def environment(house, key, used):
    worktree = house.root.parent / "made-in"
    (worktree / ".env").mkdir(parents=True, exist_ok=True)
    environments = Environments(house.home.folder / "environments")
    made = environments.build(key, worktree, [".env"], lambda: None)
    os.utime(made.folder, (used, used))
    return made


def test_environments_beyond_those_used_last_go_but_not_one_in_use(house):
    old, older, newest = (environment(house, letter * 64, used) for letter, used in (("a", 20), ("b", 10), ("c", 30)))

    assert found(house, environments=3) == {}
    left = found(house, environments=1)
    assert set(left) == {("environment", old.key), ("environment", older.key)}
    with KeyLocks(house.home.folder / "environments").share(old.key):
        assert [each.remove() for each in left.values()] == [False, True]

    assert old.folder.exists()
    assert newest.folder.exists()
    assert not older.folder.exists()


def test_a_draft_that_nobody_works_on_goes(house):
    draft = house.home.folder / "environments" / f".draft-{'a' * 64}-0123"
    (draft / "tree").mkdir(parents=True)
    with KeyLocks(draft.parent).own("a" * 64):
        assert found(house) == {}

    [left] = found(house).values()

    assert left.remove()
    assert not draft.exists()


def test_run_folders_of_attempts_that_are_over_go_and_others_stay(house):
    over, open_ = finished(house), running(house)
    odd = os.fsdecode(b"na\xefve")
    for name in (over.attempt_id, open_.attempt_id, "unknown", odd):
        (house.home.run / name).mkdir(parents=True)
        (house.home.run / name / "stdout.log").write_text("x" * 10_000)
    (house.home.run / "link").symlink_to(house.root)

    [left] = found(house).values()
    assert (left.kind, left.name) == ("run", over.attempt_id)
    assert left.size >= 10_000
    assert left.remove()

    assert found(house, days=2) == {}
    assert sorted(name for _, name in found(house, days=31)) == sorted([odd, "unknown"])
    assert (house.home.run / open_.attempt_id).exists()
    assert (house.root / "keisei.toml").exists()


def test_an_attempt_that_ended_just_now_is_left_to_whoever_ended_it(house):
    over = finished(house)
    (house.home.run / over.attempt_id).mkdir(parents=True)
    around = premises(house.settings, house.home, house.store, ME)._replace(sockets=None)

    assert leftovers(around._replace(now=over.ended_at + timedelta(seconds=30))) == []
    assert len(leftovers(around._replace(now=over.ended_at + timedelta(seconds=90)))) == 1


def test_evidence_stays_unless_somebody_says_how_long(house):
    over = finished(house)
    assert found(house, days=100_000) == {}
    assert found(house, days=9, evidence_days=10) == {}

    left = found(house, days=11, evidence_days=10)["evidence", over.attempt_id]
    assert left.remove()

    assert house.shop.evidence.keys(f"attempts/{over.started_at:%Y-%m}/{over.attempt_id}/") == []
    row = house.store.entries(kind="evidence_removed")[0]
    assert (row.subject, row.actor) == (over.attempt_id, ME)
    assert house.store.attempt(AttemptId(over.attempt_id)) is not None


def test_evidence_of_an_open_task_is_never_left_over(house):
    task_id = house.script("exit 1", max_attempts=5)
    house.run(at_most=1)
    assert house.task(task_id).status == "retryable_failure"
    assert house.attempts(task_id)[0].ended_at is not None

    assert found(house, days=1000, evidence_days=1) == {}


@pytest.fixture
def runtime():
    """A folder for sockets; their paths must be short."""
    folder = Path(tempfile.mkdtemp(prefix="kg-", dir="/tmp"))
    yield folder
    shutil.rmtree(folder)


def listening(path):
    door = socket.socket(socket.AF_UNIX)
    door.bind(str(path))
    door.listen()
    return door


def test_sockets_at_which_nobody_listens_are_deserted(runtime):
    for name in ("abcd-_12", "livelive", "empty123", "longempt"):
        (runtime / name).mkdir()
    (runtime / "bell-0123456789ab").mkdir()
    dead, living = listening(runtime / "abcd-_12/gate.sock"), listening(runtime / "livelive/gate.sock")
    relay, alive = listening(runtime / "relay-abcdefgh.sock"), listening(runtime / "relay-livelive.sock")
    os.utime(runtime / "longempt", (1000, 1000))
    os.utime(runtime / "bell-0123456789ab", (1000, 1000))
    dead.close()
    relay.close()

    with living, alive:
        assert [each.name for each in deserted(runtime)] == ["abcd-_12", "longempt", "relay-abcdefgh.sock"]


def test_a_folder_for_sockets_that_is_not_there_holds_none(runtime):
    assert list(deserted(runtime / "absent")) == []


def test_runs_of_pipes_that_did_not_move_for_long_go_with_one_row_that_says_so(house):
    for number, status in enumerate(("completed", "failed", None)):  # the last one was killed
        run = PipeRun(
            run_id=f"run-{number}",
            name="nightly",
            source="/there/dag.toml",
            definition={},
            definition_sha="5" * 64,
            input=None,
            input_kept=True,
            status="running",
            fence=1,
            actor=ME,
            created_at=house.store.now(),
            updated_at=house.store.now(),
        )
        house.store.begin_run(run)
        member = PipeMember(step="a", index=0, state="done", step_sha="5" * 64)
        assert house.store.move_run(PipeMove(run_id=run.run_id, fence=1, members=(member,), status=status))
    assert found(house, days=29) == {}

    [left] = found(house, days=31).values()

    assert (left.kind, left.name) == ("pipe", "3 runs")
    assert left.reason == "they did not move for more than 30 days"
    assert left.size > 0
    assert left.remove()
    assert house.store.pipe_runs() == []
    [said] = house.store.entries(kind="pipe_runs_removed")
    assert (said.actor, said.body["runs"]) == (ME, 3)
    assert found(house, days=31) == {}
    assert not left.remove()
