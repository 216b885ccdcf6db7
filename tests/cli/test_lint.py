"""Lint at the door: what it looks at, what it says, and how it ends."""

import json

import pytest

KINDS = [
    "atoms",
    "capabilities",
    "roles",
    "tasks",
    "skills",
    "workflows",
    "profiles",
    "task-types",
    "agents",
    "project",
]


def test_the_shipped_kit_has_nothing_wrong_with_it(shell):
    done = shell.run("lint", "--strict")

    assert done.code == 0
    assert done.out.endswith(": no errors, no warnings\n")
    assert len(done.out.splitlines()) == 1


@pytest.mark.parametrize("kind", [*KINDS, "all"])
def test_every_kind_can_be_asked_for_alone(shell, kind):
    done = shell.run("lint", kind, "--json")

    report = json.loads(done.out)
    assert (done.code, report["ok"], report["problems"]) == (0, True, [])
    assert len(report["files"]) <= (1 if kind != "all" else len(KINDS))


def test_a_kind_nobody_knows_is_a_usage_mistake(shell):
    done = shell.run("lint", "rolls")

    assert done.code == 1
    assert "'rolls'" in done.err


ROLE = '[role]\nname = "{name}"\n{rest}'


def test_a_warning_passes_and_fails_when_asked_to(shell):
    (shell.folder_of(".keisei/roles") / "mine.toml").write_text(ROLE.format(name="mine", rest=""))

    loose, strict = shell.run("lint"), shell.run("lint", "--strict")

    assert loose.out == (
        ".keisei/roles/mine.toml:1:1: warning[missing-key]: missing key `description`\n"
        "checked 1 role: no errors, 1 warning\n"
    )
    assert strict.out == loose.out
    assert (loose.code, strict.code) == (0, 1)


def test_every_problem_of_every_file_is_told_in_the_order_of_files_and_lines(shell):
    roles = shell.folder_of(".keisei/roles")
    (roles / "b.toml").write_text('[role]\nname = "x"\ndescription = 5\ncolour = "red"\n')
    (roles / "a.toml").write_text("[role\n")
    (shell.folder_of(".keisei/workflows") / "w.toml").write_text('workflow_type = "w"\n')

    done = shell.run("lint")

    assert [line.split(" ")[0] for line in done.out.splitlines() if "error[" in line] == [
        ".keisei/roles/a.toml:1:6:",
        ".keisei/roles/b.toml:2:8:",
        ".keisei/roles/b.toml:3:15:",
        ".keisei/roles/b.toml:4:1:",
        ".keisei/workflows/w.toml:1:1:",
        ".keisei/workflows/w.toml:1:1:",
    ]
    assert done.out.splitlines()[-1] == "checked 2 roles, 1 workflow: 6 errors, no warnings"
    assert done.code == 1


def test_a_package_is_counted_as_a_package(shell):
    for number in (1, 2):
        folder = shell.folder_of(f".keisei/primitives/kei-p{number}/atoms").parent
        (folder / "pyproject.toml").write_text('[project]\nversion = "1"\n[tool.keisei]\nbackend = "memory"\n')
        counts = ["checked 1 package", "checked 2 packages"]

        assert shell.run("lint", "atoms").out.startswith(f"{counts[number - 1]}:")


def test_a_task_file_is_checked_where_it_stands(shell):
    (shell.folder / "task.toml").write_text('[task]\nrole = "edit-locl"\n')

    done = shell.run("lint", "tasks", "task.toml")

    assert done.code == 1
    assert done.out == (
        "task.toml:2:8: error[dangling]: role `edit-locl` does not exist\n"
        "  hint: did you mean `edit-local`?\n"
        "checked 1 task: 1 error, no warnings\n"
    )


def test_a_file_of_another_kind_is_not_guessed_at(shell):
    (shell.folder / "mine.toml").write_text("")

    done = shell.run("lint", "roles", "mine.toml")

    assert done.code == 1
    assert done.err == (
        "error: cannot check the file mine.toml as roles\n"
        "  hint: name task files after `tasks`; other kinds are found in their layers\n"
    )


def test_a_file_that_is_not_there_is_told(shell):
    done = shell.run("lint", "tasks", "nowhere.toml")

    assert done.code == 1
    assert "nowhere.toml: error[unreadable]" in done.out


def test_a_file_named_twice_is_told_once(shell):
    (shell.folder / "task.toml").write_text('[task]\nrole = "edit-locl"\n')

    done = shell.run("lint", "tasks", "task.toml", "task.toml")

    assert done.out.count("error[dangling]") == 1


def test_a_kit_root_with_nothing_in_it_is_not_called_clean(shell):
    shell.folder_of("empty")

    done = shell.run("lint", "--kit-root", "empty")

    assert (done.code, done.err.splitlines()[0]) == (1, "error: there is nothing to check in the kit root `empty`")
