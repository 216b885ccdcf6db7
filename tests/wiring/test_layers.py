"""Which project a folder belongs to."""

from keisei.wiring import project_layer, seed_root


def test_a_folder_that_is_only_passed_through_on_the_way_up_is_not_around(tmp_path):
    (tmp_path / "keisei.toml").write_text('[project]\nname = "mine"\n')
    worktree = tmp_path / "worktree"
    (worktree / ".keisei").mkdir(parents=True)
    (worktree / "_roles").mkdir()

    assert project_layer(worktree / "..").folder == tmp_path / ".keisei"
    assert seed_root(worktree / "..") != worktree
    assert project_layer(worktree).folder == worktree / ".keisei"
