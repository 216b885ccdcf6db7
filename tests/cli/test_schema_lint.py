"""kei-schema-lint: the original's lines and exit codes, and everything our lint knows."""

import pytest

from tests.library.note_package import PAGE, write_note


def test_a_good_package_passes_line_by_line(shell):
    write_note(shell.folder / "packages")

    done = shell.run("--root", "packages", command="kei-schema-lint")

    page = (shell.folder / "packages" / "kei-note" / "atoms" / "add.md").resolve()
    assert (done.code, done.out) == (0, f"PASS\t{page}\n")


def test_everything_wrong_with_a_page_stands_on_its_line(shell):
    page = PAGE.replace('version: "1.2.0"', "version: 1.1.0").replace("kei-note::add", "kei-note::ad")
    package = write_note(shell.folder / "packages", page=page)
    (package.atoms / "schemas" / "add-output.json").write_text("[]")

    done = shell.run("--root", "packages", command="kei-schema-lint")

    told = [
        "atom `kei-note::ad` stands where `kei-note::add` belongs",
        "version `1.1.0` differs from the package's `1.2.0`",
        "add-output.json: a schema is an object",
    ]
    assert (done.code, done.out) == (2, f"FAIL\t{package.atoms / 'add.md'}\t{' | '.join(told)}\n")


def test_broken_metadata_fail_by_their_own_line(shell):
    package = write_note(shell.folder / "packages")
    (package.folder / "pyproject.toml").write_text('[project]\nversion = "1.2.0"\n[tool.keisei]\n')

    done = shell.run("--root", "packages", command="kei-schema-lint")

    assert done.code == 2
    assert done.out.splitlines()[0] == f"FAIL\t{package.folder / 'pyproject.toml'}\tmissing key `backend`"
    assert done.out.splitlines()[1].startswith("PASS\t")


def test_only_the_named_package_is_printed_and_judged(shell):
    write_note(shell.folder / "packages")
    write_note(shell.folder / "packages", name="kei-bad", page=PAGE.replace("kind: command", "kind: commando"))

    good = shell.run("--root", "packages", "--crate", "kei-note", command="kei-schema-lint")
    both = shell.run("--root", "packages", command="kei-schema-lint")

    assert (good.code, good.out.count("\n")) == (0, 1)
    assert (both.code, both.out.count("\n")) == (2, 2)


def test_a_warning_is_no_failure(shell):
    page = PAGE.replace("{op: write", "{op: read")
    write_note(shell.folder / "packages", page=page)

    assert shell.run("--root", "packages", command="kei-schema-lint").code == 0


@pytest.mark.parametrize("arguments", [("--root", "nowhere"), ("--crate", "kei-nobody"), ("--what",)])
def test_what_cannot_be_looked_at_is_one_clear_error(shell, arguments):
    done = shell.run(*arguments, command="kei-schema-lint")

    assert done.code != 0
    assert done.out == ""
    assert "Traceback" not in done.err


@pytest.mark.parametrize(("form", "sign"), [("json", '"wrong-value"'), ("sarif", '"2.1.0"'), ("text", "error[")])
def test_every_form_of_our_lint_is_there_with_the_originals_exit_code(shell, form, sign):
    write_note(shell.folder / "packages", page=PAGE.replace("kind: command", "kind: commando"))

    done = shell.run("--root", "packages", "--format", form, command="kei-schema-lint")

    assert done.code == 2
    assert sign in done.out


def test_a_crate_that_makes_its_tables_itself_is_warned_and_not_failed(shell):
    package = write_note(shell.folder / "packages")
    (package.folder / "pyproject.toml").unlink()
    (package.folder / "Cargo.toml").write_text(
        '[package]\nname = "kei-note"\nversion = "1.2.0"\n[package.metadata.keisei]\nbackend = "sqlite"\n'
        'db_env = "KEI_NOTE_DB"\ndb_default = "~/note.sqlite"\nmigrations_dir = "migrations/"\nschema_version = 3\n'
    )
    (package.folder / "migrations").mkdir(exist_ok=True)
    (package.folder / "migrations" / "0001_initial.sql").write_text("CREATE TABLE notes (id INTEGER);\n")

    done = shell.run("--root", "packages", "--format", "text", command="kei-schema-lint")

    assert done.code == 0, done.out
    assert "warning[schema-version]" in done.out
