"""Which folders of a worktree the kernel opens for a task."""

import pytest

from keisei.rules.reach import PROTECTED, held_in, reach, resolved

FOLDERS = {
    "src/**": "src",
    "src/*.py": "src",
    "src/a/b.py": "src/a",
    "src/{a,b}/**": "src",
    "**": ".",
    "*.md": ".",
    "README.md": ".",
    "./docs/**/x.md": "docs",
    "a//b/?": "a/b",
    "[ab]/c": ".",
}


@pytest.mark.parametrize(("glob", "folder"), FOLDERS.items())
def test_a_glob_is_held_in_the_folder_before_its_first_wild_part(glob, folder):
    assert held_in(glob) == folder


def test_a_folder_inside_another_is_not_named_twice():
    assert reach(["src/**", "src/a/**", "tests/*.py"]).write == ("src", "tests")
    assert reach(["src/**", "*.md"]).write == (".",)


def test_what_says_what_agents_may_do_stays_protected():
    assert reach(["**"]).protect == PROTECTED


def test_a_task_may_name_what_is_protected_but_never_git():
    named = reach([".claude/skills/**", ".git/hooks/*", ".GIT/config"])

    assert ".claude" not in named.protect
    assert named.write == (".claude/skills",)
    assert ".git" in named.protect


def test_a_path_that_is_denied_with_all_below_it_is_protected():
    found = reach(["src/**"], ["src/secret/**", "src/*.lock", "src/one.py", "**/x"])

    assert {"src/secret", "src/one.py"} <= set(found.protect)
    assert not any("*" in path for path in found.protect)


def test_paths_are_told_from_the_root():
    assert resolved((".", "src/a"), "/w") == ("/w", "/w/src/a")
