"""All problems of a file at once: a slip in its shape does not hide what else is wrong with it."""

import pytest

from keisei.library.catalog import Catalog
from keisei.library.lint import Report, lint, lint_task
from keisei.library.shelf import Layer
from keisei.wiring import KIT


@pytest.fixture
def layer(tmp_path):
    return Layer("project", tmp_path)


def linted(layer, kind):
    return [(p.code, p.line, p.column) for p in lint(Catalog([Layer("kit", KIT), layer]), [kind], [layer]).ordered]


def tasked(tmp_path, text):
    path = tmp_path / "task.toml"
    path.write_text(text)
    report = Report()
    lint_task(Catalog([Layer("kit", KIT)]), path, report)
    return [(p.code, p.line, p.column) for p in report.ordered]


def test_an_unknown_key_of_a_task_does_not_hide_a_wrong_role_id_or_glob(tmp_path):
    text = '[task]\nrole = "edit-locl"\nagent-id = "a b"\nfoo = 1\n[scope]\nfiles-whitelist = ["src/**", "/abs"]\n'

    assert tasked(tmp_path, text) == [
        ("dangling", 2, 8),
        ("bad-agent-id", 3, 12),
        ("unknown-key", 4, 1),
        ("bad-glob", 6, 30),
    ]


def test_a_misspelt_whitelist_is_one_problem_and_not_two(tmp_path):
    text = '[task]\nrole = "edit-local"\n[scope]\nfiles-whitlist = ["src/**"]\n'

    assert tasked(tmp_path, text) == [("unknown-key", 4, 1)]


def test_what_moves_up_in_a_list_is_told_where_it_was_written(layer):
    (layer.folder / "roles").mkdir()
    (layer.folder / "roles" / "mine.toml").write_text(
        '[role]\nname = "mine"\ndescription = "x"\n[capabilities]\nrequired = [\n  "Bad Name",\n  "policy::nope",\n]\n'
    )

    assert linted(layer, "role") == [("wrong-value", 6, 3), ("dangling", 7, 3)]


def test_two_hundred_warnings_do_not_crowd_out_an_error(layer):
    (layer.folder / "roles").mkdir()
    names = "".join('  "tools::read-only",\n' for _ in range(300))
    (layer.folder / "roles" / "mine.toml").write_text(
        f'[role]\nname = "mine"\ndescription = "x"\n[capabilities]\nrequired = [\n{names}  "policy::nope",\n]\n'
    )

    assert ("dangling", 306, 3) in linted(layer, "role")


def test_many_patterns_against_many_patterns_are_answered(layer):
    (layer.folder / "roles").mkdir()
    folder = layer.folder / "capabilities" / "policy" / "many"
    folder.mkdir(parents=True)
    patterns = ", ".join(f"'^never-{number}$'" for number in range(1500))
    (folder / "text.md").write_text("Do not.\n")
    (folder / "capability.toml").write_text(
        '[capability]\nname = "policy::many"\ncategory = "policy"\nversion = "1"\ndescription = "x"\n'
        f'[restricts]\ntool-patterns = [{patterns}]\n[gate]\nkind = "pattern"\n'
    )
    allowed = ", ".join(f"'^cmd-{number} (a|b|c)$'" for number in range(1500))
    (layer.folder / "roles" / "mine.toml").write_text(
        '[role]\nname = "mine"\ndescription = "x"\n[capabilities]\nrequired = ["policy::many"]\n'
        f'[tools]\nallowed = ["Bash"]\nbash-patterns-allowed = [{allowed}]\n'
    )

    assert linted(layer, "role") == []


@pytest.mark.parametrize("parent", ["x\\nledger: merged", "../../x", "a b"], ids=["two-lines", "a-path", "a-blank"])
def test_a_parent_agent_is_an_agent_id(tmp_path, parent):
    text = f'[task]\nrole = "read-only"\nparent-agent = "{parent}"\n'

    assert tasked(tmp_path, text) == [("bad-agent-id", 3, 16)]


@pytest.mark.parametrize("name", ["policy::no-git-ops", "scope::files-whitelist"])
def test_policy_and_scope_cannot_be_elevated(tmp_path, name):
    text = (
        '[task]\nrole = "edit-local"\n[scope]\nfiles-whitelist = ["src/**"]\n'
        f'[elevate]\nreason = "x"\ncapabilities = ["{name}"]\n'
    )

    assert tasked(tmp_path, text) == [("contradiction", 7, 17)]


def test_an_old_name_can_be_elevated_as_the_new_one(tmp_path):
    text = (
        '[task]\nrole = "edit-local"\n[scope]\nfiles-whitelist = ["src/**"]\n'
        '[elevate]\nreason = "x"\ncapabilities = ["quality::cargo-check-green"]\n'
    )

    assert tasked(tmp_path, text) == []


@pytest.mark.parametrize("slip", ["", "foo = 1\n"], ids=["a-good-task", "a-task-with-a-slip"])
def test_a_task_that_leans_on_a_broken_project_file_is_answered(tmp_path, slip):
    (tmp_path / "keisei.toml").write_text('[adapters.x]\nkind = "script"\ncolour = "red"\n')
    (tmp_path / "task.toml").write_text(f'[task]\nrole = "read-only"\nadapter = "x"\n{slip}')
    report = Report()

    lint_task(Catalog([Layer("kit", KIT), Layer("project", tmp_path)]), tmp_path / "task.toml", report)

    assert report.failed
    assert ("unknown-key", 4, 1) in [(p.code, p.line, p.column) for p in report.ordered] or not slip
