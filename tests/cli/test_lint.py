"""Lint at the door: what it looks at, what it says, and how it ends."""

import json
import shutil
import subprocess
from urllib.parse import quote

import pytest

from tests.library.note_package import PAGE, input_schema, write_note

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


# Atoms.


def git(folder, *words):
    who = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main")
    subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True)


def committed(shell, **parts):
    """A repository with one package in it, committed."""
    package = write_note(shell.folder / "my packages", **parts)
    git(shell.folder, "init", "-q")
    git(shell.folder, "add", "my packages")
    git(shell.folder, "commit", "-qm", "first")
    return package


def test_a_root_is_checked_instead_of_the_layers(shell):
    write_note(shell.folder / "packages", page=PAGE.replace('"1.2.0"', "1.1.0"))

    done = shell.run("lint", "atoms", "--root", "packages")

    assert done.out == (
        "packages/kei-note/atoms/add.md:4:10: error[version-mismatch]: version `1.1.0` differs from the package's "
        "`1.2.0`\nchecked 1 package: 1 error, no warnings\n"
    )
    assert done.code == 1


def test_one_package_is_judged_where_it_is_named(shell):
    write_note(shell.folder / "packages")
    write_note(shell.folder / "packages", name="kei-bad", page="")

    assert shell.run("lint", "atoms", "--root", "packages", "--crate", "kei-note").code == 0
    assert shell.run("lint", "atoms", "--root", "packages").code == 1
    assert shell.run("lint", "atoms", "--root", "packages", "--crate", "kei-x").err == (
        "error: no package is called `kei-x`\n  hint: packages here: `kei-bad`, `kei-note`\n"
    )


def test_an_atom_defined_twice_in_one_layer_is_told_and_an_override_is_not(shell):
    layer = shell.folder_of(".keisei/primitives")
    write_note(layer)
    write_note(shell.folder_of("home/.config/keisei/primitives"))

    assert shell.run("lint", "atoms", "--strict").code == 0

    write_note(layer / "_rust")
    done = shell.run("lint", "atoms")

    assert [line.split(": ")[1] for line in done.out.splitlines()[:-1]] == ["error[duplicate-name]"]


def test_a_broken_promise_is_told_with_its_file_line_and_example(shell):
    committed(shell)
    shorter = {"text": {"type": "string", "maxLength": 80}}
    write_note(shell.folder / "my packages", given=input_schema(properties=shorter))

    done = shell.run("lint", "atoms", "--root", "my packages", "--since", "HEAD")

    assert done.code == 1
    assert done.out.splitlines()[0] == (
        "my packages/kei-note/atoms/schemas/add-input.json:7:20: error[breaking-input]: "
        'an input that was valid is refused now (since `HEAD`): "text" of 81 to 200 characters'
    )


def test_nothing_broken_since_is_clean_and_a_removed_package_is_not(shell):
    package = committed(shell)

    assert shell.run("lint", "atoms", "--root", "my packages", "--since", "main").code == 0

    shutil.rmtree(package.folder)
    done = shell.run("lint", "atoms", "--root", "my packages", "--since", "main")

    assert done.code == 1
    assert "my packages/kei-note/atoms/add.md:1:1: error[removed-atom]" in done.out


@pytest.mark.parametrize("revision", ["nowhere", "--help", "HEAD^{tree}", ""])
def test_a_revision_that_is_not_there_is_told(shell, revision):
    committed(shell)

    done = shell.run("lint", "atoms", "--root", "my packages", f"--since={revision}")

    assert (done.code, done.out) == (1, "")
    assert done.err.startswith(f"error: there is no revision `{revision}`\n")


def test_a_revision_that_a_shallow_clone_does_not_have_says_how_to_get_it(shell):
    committed(shell)
    git(shell.folder, "commit", "-qm", "second", "--allow-empty")
    git(shell.folder, "clone", "-q", "--depth", "1", shell.folder.as_uri(), "clone")

    done = shell.run("lint", "atoms", "--root", "clone/my packages", "--since", "HEAD~1")

    assert (done.code, done.out) == (1, "")
    assert "this clone is shallow: `git fetch --unshallow`" in done.err


def test_a_folder_without_history_is_told(shell):
    write_note(shell.folder / "packages")

    done = shell.run("lint", "atoms", "--root", "packages", "--since", "HEAD")

    assert (done.code, "is not in a git repository" in done.err) == (1, True)


def test_mending_says_what_it_changed_and_mends_once(shell):
    package = write_note(shell.folder / "packages", page=PAGE.replace('"1.2.0"', "1.1.0"))
    package.atoms.joinpath("add.md").chmod(0o640)

    first = shell.run("lint", "atoms", "--root", "packages", "--fix")
    again = shell.run("lint", "atoms", "--root", "packages", "--fix")

    assert first.out == (
        "fixed packages/kei-note/atoms/add.md: version `1.1.0` is `1.2.0` now\n"
        "checked 1 package: no errors, no warnings\n"
    )
    assert again.out == "checked 1 package: no errors, no warnings\n"
    assert (first.code, again.code) == (0, 0)
    assert package.atoms.joinpath("add.md").read_text() == PAGE
    assert package.atoms.joinpath("add.md").stat().st_mode & 0o777 == 0o640


def test_the_shipped_kit_is_never_mended(shell):
    done = shell.run("lint", "atoms", "--fix")

    assert "fixed" not in done.out


@pytest.mark.parametrize("option", [("--root", "."), ("--crate", "x"), ("--since", "HEAD"), ("--fix",)])
def test_options_of_atoms_are_refused_for_other_kinds(shell, option):
    done = shell.run("lint", "roles", *option)

    assert done.code == 1
    assert done.err.startswith("error: --root, --crate, --since and --fix are for atoms\n")


# SARIF.


def test_problems_of_every_kind_are_printed_as_sarif(shell):
    (shell.folder_of(".keisei/roles") / "a b#ü.toml").write_text('[role]\nname = "mine"\ncolour = "red"\n')

    done = shell.run("lint", "--format", "sarif")

    log = json.loads(done.out)
    (run,) = log["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert (done.code, log["version"], run["tool"]["driver"]["name"]) == (1, "2.1.0", "keisei")
    assert [rules[each["ruleIndex"]]["id"] for each in run["results"]] == [each["ruleId"] for each in run["results"]]
    assert {each["level"] for each in run["results"]} <= {"error", "warning"}
    assert all(rule["help"]["text"] and rule["shortDescription"]["text"] for rule in rules)
    unknown = next(each for each in run["results"] if each["ruleId"] == "unknown-key")
    assert unknown["message"]["text"].startswith("unknown key `colour`")
    assert unknown["locations"] == [
        {
            "physicalLocation": {
                "artifactLocation": {"uri": ".keisei/roles/a%20b%23%C3%BC.toml", "uriBaseId": "SRCROOT"},
                "region": {"startLine": 3, "startColumn": 1},
            }
        }
    ]


def test_a_file_elsewhere_is_named_by_an_absolute_address(shell, monkeypatch):
    root = write_note(shell.folder / "my packages", page="").folder.parent
    monkeypatch.chdir(shell.folder_of("elsewhere"))

    log = json.loads(shell.run("lint", "atoms", "--root", root, "--format", "sarif").out)

    (result,) = log["runs"][0]["results"]
    address = result["locations"][0]["physicalLocation"]["artifactLocation"]
    assert address == {"uri": f"file://{quote(str(root))}/kei-note/atoms/add.md"}


def test_a_clean_check_is_a_run_without_results(shell):
    log = json.loads(shell.run("lint", "--format", "sarif").out)

    assert log["runs"][0]["results"] == []


def test_json_by_either_name_is_the_same_and_two_forms_are_refused(shell):
    assert shell.run("lint", "--json").out == shell.run("lint", "--format", "json").out
    assert shell.run("lint", "--json", "--format", "sarif").code == 1
