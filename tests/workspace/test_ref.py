"""References of ours."""

from pathlib import Path

import pytest

from keisei.workspace.ref import drop_ref, find_ref, refs, set_ref
from keisei.workspace.stage import stage


@pytest.fixture
def common(ground):
    return ground.facts().common_dir


def test_kept_work_is_listed_by_kind_and_age(ground, common):
    head = ground.facts().head
    for name, when in (("at-1", "2020-01-02T00:00:00Z"), ("at-2", "2020-01-01T00:00:00Z")):
        words = ("-c", "core.logAllRefUpdates=false", "commit", "-q", "--allow-empty", "-m", name, "--date", when)
        ground.git(*words)
        ground.git("update-ref", f"refs/keisei/salvage/{name}", "HEAD")
    ground.git("update-ref", "refs/keisei/candidate/at-3", head)
    ground.git("update-ref", "refs/keisei/salvage/odd", f"{head}^{{tree}}")

    assert [kept.attempt for kept in refs(common, "candidate")] == ["at-3"]
    assert {kept.attempt for kept in refs(common, "salvage")} == {"at-1", "at-2"}
    assert refs(common, "candidate")[0].commit == head


def test_one_is_found_by_its_attempt(ground, common):
    leased = ground.take()
    staged = stage(leased.worktree, "at-1", "candidate")

    assert find_ref(common, "candidate", "at-1").commit == staged.commit
    assert find_ref(common, "candidate", "at") is None
    assert find_ref(common, "salvage", "at-1") is None


def test_one_is_dropped_only_where_it_was_seen(ground, common):
    leased = ground.take()
    stage(leased.worktree, "at-1", "candidate")
    seen = refs(common, "candidate")[0]
    Path(leased.worktree.path, "file").write_text("two\n")
    stage(leased.worktree, "at-1", "candidate")

    assert not drop_ref(common, seen)
    assert drop_ref(common, refs(common, "candidate")[0])
    assert refs(common, "candidate") == []
    assert not drop_ref(common, seen)


def test_no_reflog_is_left(ground, common):
    ground.git("config", "core.logAllRefUpdates", "always")
    set_ref(common, "refs/keisei/salvage/at-1", ground.facts().head, None)

    assert not Path(common, "logs", "refs", "keisei").exists()
