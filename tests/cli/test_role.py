"""Roles at the door: shown whole, compared, documented, and the document checked."""

import json

import pytest

from keisei.wiring import KIT

ROLES = sorted(path.stem for path in (KIT / "roles").glob("*.toml"))


def test_a_role_is_shown_with_everything_it_inherits(shell):
    done = shell.run("role", "show", "explorer")

    lines = done.out.splitlines()
    assert lines[0] == "explorer: analyst with a build probe"
    assert "extends: read-only" in lines
    assert lines[lines.index("capabilities:") + 1 :][:4] == [
        "  tools::deny-tools",
        "  output::report-format",
        "  output::severity-grade",
        "  tools::bash-allowlist",
    ]
    assert "tools: Read, Glob, Grep, WebFetch, Bash" in lines


def test_a_role_that_nobody_may_have_says_so(shell):
    assert "spawnable: no (RULE 0.13: the orchestrator holds git)" in shell.run("role", "show", "git-ops").out


def test_the_matrix_is_what_each_role_requires(shell):
    told = json.loads(shell.run("role", "matrix", "--json").out)
    rows = [line.split() for line in shell.run("role", "matrix").out.splitlines()]

    assert list(told) == ROLES
    assert rows[0] == ["capability", *ROLES]
    assert {(row[0], role) for row in rows[1:] for role, mark in zip(ROLES, row[1:], strict=True) if mark == "x"} == {
        (name, role) for role, names in told.items() for name in names
    }


def test_the_page_has_a_section_for_every_role_and_three_matrices(shell):
    page = shell.run("role", "docs").out

    headings = [line for line in page.splitlines() if line.startswith("## ")]
    assert headings == [
        *(f"## {number}. {name}{' (cannot be spawned)' * (name == 'git-ops')}" for number, name in enumerate(ROLES, 1)),
        "## Capabilities by role",
        "## Tools by role",
        "## Escalation by role",
    ]
    assert "**Not spawnable.** RULE 0.13" in page
    assert page.endswith("|\n")


def test_the_originals_command_writes_the_same_page(shell):
    assert shell.run("doc-roles", command="kei-agent-runtime").raw == shell.run("role", "docs").raw


def test_a_page_that_was_just_written_is_up_to_date(shell):
    written = shell.run("role", "docs", "--output", "AGENT-ROLES.md")
    checked = shell.run("role", "docs", "--check", "AGENT-ROLES.md")

    assert (written.code, written.out) == (0, "wrote AGENT-ROLES.md\n")
    assert (checked.code, checked.out) == (0, "AGENT-ROLES.md is up to date\n")
    assert (shell.folder / "AGENT-ROLES.md").read_bytes() == shell.run("role", "docs").raw


@pytest.mark.parametrize(
    "edit",
    [lambda text: text + "\n", lambda text: text.replace("explorer", "explorers", 1), lambda _text: ""],
    ids=["one-newline-more", "one-letter-more", "empty"],
)
def test_a_page_that_differs_fails_and_says_how_to_mend_it(shell, edit):
    shell.run("role", "docs", "--output", "AGENT-ROLES.md")
    page = shell.folder / "AGENT-ROLES.md"
    page.write_text(edit(page.read_text(encoding="utf-8")), encoding="utf-8")

    done = shell.run("role", "docs", "--check", "AGENT-ROLES.md")

    assert done.code == 1
    assert done.out == ""
    assert done.err == (
        "error: AGENT-ROLES.md differs from the roles\n  hint: run `keisei role docs --output AGENT-ROLES.md`\n"
    )


def test_a_page_that_is_not_there_fails(shell):
    done = shell.run("role", "docs", "--check", "nowhere.md")

    assert done.code == 1
    assert done.err == "nowhere.md: error[unreadable]: cannot be read: no such file or directory\n"


def test_a_page_that_cannot_be_written_is_one_clear_error(shell):
    done = shell.run("role", "docs", "--output", "nowhere/roles.md")

    assert done.code == 1
    assert "no such file or directory" in done.err
    assert "Traceback" not in done.err


def test_a_role_of_the_project_stands_on_its_page(shell):
    roles = shell.folder_of(".keisei/roles")
    (roles / "mine.toml").write_text(
        '[role]\nname = "mine"\ndisplay-name = "My role"\ndescription = "Does | things."\n'
        '[capabilities]\nextends = "read-only"\n'
    )

    page = shell.run("role", "docs").out

    assert "My role. Does | things." in page
    assert "- Extends: `read-only`" in page


def test_one_broken_role_fails_the_page_and_is_named(shell):
    (shell.folder_of(".keisei/roles") / "mine.toml").write_text("[role\n")

    done = shell.run("role", "docs")

    assert (done.code, done.out) == (1, "")
    assert done.err.startswith(".keisei/roles/mine.toml:1:6: error[syntax]")


@pytest.mark.parametrize("verb", ["docs", "matrix"])
def test_a_circle_of_roles_is_told_in_words(shell, verb):
    roles = shell.folder_of(".keisei/roles")
    for name, parent in (("one", "two"), ("two", "one")):
        (roles / f"{name}.toml").write_text(f'[role]\nname = "{name}"\n[capabilities]\nextends = "{parent}"\n')

    done = shell.run("role", verb)

    assert done.code == 1
    assert done.err.startswith("error: role `one` extends itself: one -> two -> one\n  hint: ")
