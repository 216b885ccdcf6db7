"""Locks: a schema that was promised until a day does not break before it, unless somebody says why."""

import json
import subprocess

import pytest

from tests.library.note_package import PAGE, input_schema, output_schema, write_note

LATER, EVEN_LATER = "2126-01-31", "2126-12-31"
SHORTER = input_schema(properties={"text": {"type": "string", "maxLength": 80}})
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}}


@pytest.fixture
def project(shell):
    (shell.folder / "keisei.toml").write_text('[project]\nname = "shop"\n')
    shell.packages = shell.folder_of(".keisei/primitives")
    write_note(shell.packages)
    return shell


def rows(shell, kind):
    return json.loads(shell.run("ledger", "list", "--kind", kind, "--json").out)


def errors(done):
    return [line for line in done.out.splitlines() if "error[" in line]


def test_a_breaking_change_fails_lint_until_the_lock_is_revoked_with_a_reason(project):
    done = project.run("schema", "lock", "kei-note::add", "--until", LATER)
    assert (done.code, done.out) == (0, f"locked kei-note::add until {LATER}: .keisei/locks/kei-note--add.toml\n")
    assert project.run("lint").code == 0

    write_note(project.packages, given=SHORTER)
    for words in (("lint",), ("lint", "atoms")):
        done = project.run(*words)
        assert done.code == 1
        assert "add-input.json:7:20: error[breaking-input]" in done.out
        assert f"(since `the lock until {LATER}`)" in done.out
        assert "`keisei schema revoke kei-note::add --reason ...` ends the lock" in done.out

    done = project.run("schema", "revoke", "kei-note::add", "--reason", "texts are\nshort now \u00e9")
    assert (done.code, done.err) == (0, "")
    assert project.run("lint").code == 0
    (row,) = rows(project, "schema_revoked")
    assert (row["subject"], row["source"], row["body"]["reason"]) == (
        "kei-note::add",
        "engine",
        "texts are\nshort now \u00e9",
    )
    assert [each["body"]["until"] for each in rows(project, "schema_locked")] == [LATER]
    (listed,) = json.loads(project.run("schema", "locks", "--json").out)
    assert listed["state"] == "revoked: texts are\nshort now \u00e9"


@pytest.mark.parametrize(
    "change",
    [
        {"given": input_schema(properties={"text": {"type": "string"}, "more": {"type": "string"}})},
        {"gives": output_schema(properties={"id": {"type": "integer"}, "at": {"type": "string"}})},
        {"given": input_schema(title="Said otherwise")},
    ],
    ids=["input", "output", "words"],
)
def test_additions_stay_allowed(project, change):
    project.run("schema", "lock", "kei-note", "--until", LATER)
    write_note(project.packages, **change)
    assert project.run("lint").code == 0


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"gives": output_schema(properties={"id": {"type": "string"}})}, "breaking-output"),
        ({"page": PAGE.replace("kind: command", "kind: query")}, "changed-kind"),
        ({"page": PAGE.replace("  - {code: StoreFull, description: There is no room.}\n", "")}, "removed-error"),
    ],
)
def test_every_promise_of_a_page_is_kept_under_a_lock(project, change, code):
    project.run("schema", "lock", "kei-note", "--until", LATER)
    write_note(project.packages, **change)
    assert any(f"error[{code}]" in line for line in errors(project.run("lint", "atoms")))


def test_an_atom_under_a_lock_cannot_go(project):
    project.run("schema", "lock", "kei-note", "--until", LATER)
    (project.packages / "kei-note" / "atoms" / "add.md").unlink()
    assert any("error[removed-atom]" in line for line in errors(project.run("lint", "atoms")))


def test_another_atom_may_change_as_it_likes(project):
    write_note(project.packages, name="kei-other")
    project.run("schema", "lock", "kei-note", "--until", LATER)
    write_note(project.packages, name="kei-other", given=SHORTER)
    assert project.run("lint").code == 0


def test_a_schema_file_is_locked_by_its_path(project):
    path = project.folder_of("schemas") / "order.json"
    path.write_text(json.dumps(SCHEMA))
    assert project.run("schema", "lock", "schemas/order.json", "--until", LATER).code == 0
    assert project.run("lint").code == 0
    path.write_text(json.dumps({**SCHEMA, "required": ["n"]}, indent=1))
    done = project.run("lint")
    assert done.code == 1
    assert "schemas/order.json" in done.out
    assert "error[locked-schema]" in done.out
    path.unlink()
    assert "is locked, and is gone" in project.run("lint").out


def test_a_lock_ends_with_its_day(project):
    project.run("schema", "lock", "kei-note", "--until", LATER)
    marker = project.folder / ".keisei" / "locks" / "kei-note.toml"
    marker.write_text(marker.read_text().replace(f"until = {LATER}", "until = 2020-01-31"))
    write_note(project.packages, given=SHORTER)
    assert project.run("lint").code == 0
    assert "has ended" in project.run("schema", "locks").out
    assert project.run("schema", "lock", "kei-note", "--until", EVEN_LATER).code == 0
    assert "holds" in project.run("schema", "locks").out


def test_a_lock_that_was_edited_is_told_and_ends_nothing(project):
    project.run("schema", "lock", "kei-note", "--until", LATER)
    marker = project.folder / ".keisei" / "locks" / "kei-note.toml"
    marker.write_text(marker.read_text().replace("maxLength", "minLength"))
    done = project.run("lint")
    assert done.code == 1
    assert "error[edited-lock]" in done.out
    marker.write_text("name = 1\nwhat = 2\n")
    done = project.run("lint")
    assert done.code == 1
    assert "locks/kei-note.toml:" in done.out


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            ("lock", "kei-nothing", "--until", LATER),
            "no atom, package or schema of this project is called `kei-nothing`",
        ),
        (("lock", "kei-not", "--until", LATER), "kei-note"),
        (("lock", "../out.json", "--until", LATER), "leads out of the project"),
        (("lock", "gone.json", "--until", LATER), "does not exist"),
        (("lock", "kei-note", "--until", "2020-01-01"), "2020-01-01 has passed"),
        (("lock", "kei-note", "--until", "soon"), "`soon` is not a day"),
        (("lock", "kei-note"), "--until"),
        (("revoke", "kei-note", "--reason", "x"), "`kei-note` is not locked"),
        (("revoke", "kei-note", "--reason", " "), "a reason has 1 to 2000 characters"),
        (("revoke", "kei-note"), "--reason"),
    ],
)
def test_what_cannot_be_locked_or_revoked_is_told_and_leaves_nothing(project, words, told):
    done = project.run("schema", *words)
    assert done.code != 0
    assert told in done.err
    assert "Traceback" not in done.err
    assert not (project.folder / ".keisei" / "locks").exists()
    assert json.loads(project.run("ledger", "list", "--json").out) == []


def test_a_lock_in_force_is_not_replaced_and_a_revoked_one_is_not_revoked_again(project):
    project.run("schema", "lock", "kei-note", "--until", LATER)
    assert f"is locked until {LATER} already" in project.run("schema", "lock", "kei-note", "--until", EVEN_LATER).err
    project.run("schema", "revoke", "kei-note", "--reason", "one")
    assert "was revoked already: one" in project.run("schema", "revoke", "kei-note", "--reason", "two").err
    assert len(rows(project, "schema_revoked")) == 1


def git(folder, *words):
    own = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    subprocess.run(["git", *own, *words], cwd=folder, check=True, capture_output=True)


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("# Locked\n", True),
        (f"LOCKED until {LATER}\n", True),
        ("LOCKED until 2020-01-01\n", False),
        ("# Locked\n\n**REVOKED** 2026-04-24: nobody kept to it\n", False),
        ("# Locked\nBreaking changes need a revocation.\n", True),
    ],
)
def test_markers_of_the_original_are_recognised(project, text, holds):
    (project.folder_of("docs") / "AGENT-SCHEMA-LOCKED.md").write_text(text)
    git(project.folder, "init", "-q", "-b", "main")
    git(project.folder, "add", "-A", "-f", ".keisei", "docs", "keisei.toml")
    git(project.folder, "commit", "-qm", "locked")
    write_note(project.packages, given=SHORTER)
    done = project.run("lint", "atoms")
    assert (done.code == 1) is holds
    assert ("AGENT-SCHEMA-LOCKED.md`)" in done.out) is holds
    (listed,) = json.loads(project.run("schema", "locks", "--json").out)
    assert (listed["state"] == "holds") is holds
