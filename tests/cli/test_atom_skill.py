"""`keisei atom skills`: written, checked, printed."""

import json

import pytest

from keisei.library.package_skill import BEGIN, END
from tests.library.note_package import PAGE, write_note


@pytest.fixture
def desk(shell):
    """A folder with one package of atoms and nothing else to find."""
    shell.root = shell.folder / "packages"
    write_note(shell.root, page=PAGE.replace("# Add a note\n", "Add a note.\n"))
    return shell


def skills(desk, *words):
    return desk.run("atom", "skills", "--root", "packages", *words)


def test_skills_are_written_and_then_there_is_nothing_to_do(desk):
    (desk.folder / "AGENTS.md").write_bytes(b"# Mine\r\n\r\nKeep this.\r\n")
    both = ("--out", "skills", "--agents-md", "AGENTS.md")

    before = skills(desk, *both, "--check")
    done = skills(desk, *both)
    after = skills(desk, *both, "--check")
    again = skills(desk, *both, "--json")

    assert (before.code, before.out) == (1, "missing: skills/kei-note/SKILL.md\ndiffers: AGENTS.md\n")
    assert (done.code, done.out) == (0, "written: skills/kei-note/SKILL.md\nwritten: AGENTS.md\n")
    assert (after.code, after.out, after.err) == (0, "", "")
    assert {each["state"] for each in json.loads(again.out)} == {"same"}
    assert (desk.folder / "AGENTS.md").read_bytes().startswith(b"# Mine\r\n\r\nKeep this.\r\n\r\n<!-- keisei")
    assert (desk.folder / "skills" / "kei-note" / "SKILL.md").read_text().startswith("---\nname: kei-note\n")


def test_a_check_writes_nothing_and_names_what_differs(desk):
    skills(desk, "--out", "skills")
    page = desk.folder / "skills" / "kei-note" / "SKILL.md"
    page.write_bytes(b"\xff mine")

    done = skills(desk, "--out", "skills", "--check", "--json")

    assert (done.code, json.loads(done.out)) == (1, [{"path": "skills/kei-note/SKILL.md", "state": "differs"}])
    assert page.read_bytes() == b"\xff mine"
    assert skills(desk, "--check").code != 0


def test_a_file_is_made_where_there_is_none_and_a_symlink_is_refused(desk):
    assert skills(desk, "--agents-md", "new/AGENTS.md").code == 0
    made = desk.folder / "new" / "AGENTS.md"
    assert made.read_text().startswith(BEGIN)
    assert made.read_text().endswith(f"{END}\n")
    (desk.folder / "CLAUDE.md").symlink_to("new/AGENTS.md")
    (desk.folder / "linked").symlink_to("new")

    refused = skills(desk, "--agents-md", "CLAUDE.md")

    assert refused.code == 1
    assert "symlink" in refused.err
    assert skills(desk, "--agents-md", "linked/AGENTS.md", "--check").code == 0
    assert (desk.folder / "CLAUDE.md").is_symlink()


def test_markers_that_do_not_fit_stop_everything(desk):
    (desk.folder / "AGENTS.md").write_text(f"# Mine\n{BEGIN}\n")

    done = skills(desk, "--out", "skills", "--agents-md", "AGENTS.md")

    assert done.code == 1
    assert "AGENTS.md:2:1: error[marked-block]" in done.err
    assert not (desk.folder / "skills").exists()
    assert (desk.folder / "AGENTS.md").read_text() == f"# Mine\n{BEGIN}\n"


def test_skills_are_printed_by_name(desk):
    write_note(desk.root, name="kei-other")

    text = skills(desk, "kei-other").out
    rows = json.loads(skills(desk, "--json").out)

    assert text.startswith("---\nname: kei-other\n")
    assert [row["package"] for row in rows] == ["kei-note", "kei-other"]
    unknown = skills(desk, "kei-othr")
    assert (unknown.code, "did you mean `kei-other`?" in unknown.err) == (1, True)


def test_what_cannot_be_used_is_left_out_with_a_warning(desk):
    write_note(desk.root, name="kei-broken")
    (desk.root / "kei-broken" / "atoms" / "schemas" / "add-input.json").write_text("{")
    long = f"kei-{'n' * 61}"
    write_note(desk.root, name=long)

    done = skills(desk, "--out", "skills")

    assert done.code == 0
    assert "kei-broken" in done.err
    assert f"`{long}` is left out" in done.err
    assert [each.name for each in (desk.folder / "skills").iterdir()] == ["kei-note"]
