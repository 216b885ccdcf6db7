"""Skills of packages: what is made of pages, and how it gets into its places."""

import os
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keisei.library.atom_spec import read_row, read_spec
from keisei.library.package_skill import BEGIN, END, agents_block, skill_page, with_block
from keisei.library.skill import check_skill, load_skill
from keisei.library.skill_file import current, write_in
from keisei.records.error import AuthorError, OperatorError, WorldFault
from tests.library.note_package import PAGE, input_schema, write_note

QUICK = settings(max_examples=80, deadline=None, database=None)
BODY = """\
Add a note to the book.

## Gotchas

- The text is kept as it is,
  see [[kei-note::add]].
- <!-- keisei atoms: end -->

## Related

- nothing
"""
BLOCK = f"{BEGIN}\nnew\n{END}"
TEXTS = st.lists(st.sampled_from(["a", " ", "é\n", "\n", "\r\n", "\r", "\x0c", "# h\n", "x\r\n"]), max_size=12).map(
    "".join
)


def note(tmp_path, page=PAGE, **given):
    """The package, its page and its only atom."""
    package = write_note(tmp_path, page=page.replace("# Add a note\n", BODY), **given)
    return package, read_spec(package, "add")


def loaded(tmp_path, text, name="kei-note"):
    """The skill, as the house reads it; what lint says of it."""
    folder = tmp_path / "skills" / name
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(text)
    found = load_skill(folder / "SKILL.md")
    return found.record, [*found.warnings, *check_skill(found, name)]


def test_a_skill_tells_verbs_fields_errors_and_gotchas(tmp_path):
    _, spec = note(
        tmp_path, given=input_schema(properties={"text": {"type": "string", "description": "What to note."}})
    )

    text = skill_page("kei-note", [spec])
    skill, problems = loaded(tmp_path, text)

    assert problems == []
    assert skill.skill_id == "kei-note"
    assert skill.description == "How to call the atoms of kei-note: add."
    assert "Add a note to the book.\n" in text
    assert """    keisei atom invoke kei-note::add --input '{"text": "Buy milk"}'\n""" in text
    assert "- command, changes something; effects: write kei-note-db; tool `kei-note__add`\n" in text
    assert "- input `text`, required: What to note.\n" in text
    assert "- fails with `TextEmpty`: The text is empty.\n" in text
    assert "- note: The text is kept as it is, see `kei-note::add`.\n" in text
    assert "nothing\n" not in text
    assert END not in text


def test_a_point_that_every_verb_has_is_told_once(tmp_path):
    package, spec = note(tmp_path)
    for suffix, old in ((".md", PAGE), (".py", "")):
        text = (package.atoms / f"add{suffix}").read_text()
        (package.atoms / f"tell{suffix}").write_text(text.replace("kei-note::add ", "kei-note::tell ") if old else text)
    other = read_spec(package, "tell")

    text = skill_page("kei-note", [other, spec])

    assert text.count("The text is kept as it is") == 1
    assert text.index("The text is kept") < text.index("## add") < text.index("## tell")
    assert text == skill_page("kei-note", [spec, other])


@pytest.mark.parametrize(
    "example",
    ["it's", "a  b", "--> <!--", "\u2028\x1b[31m", "x" * 5000, '"\\`$(x)'],
    ids=["quote", "blanks", "comment", "command", "long", "shell"],
)
def test_any_example_makes_a_skill_that_loads(tmp_path, example):
    given = input_schema(properties={"text": {"type": "string", "description": example}}, examples=[{"text": example}])
    _, spec = note(tmp_path, given=given)

    text = skill_page("kei-note", [spec])
    _, problems = loaded(tmp_path, text)

    assert problems == []
    assert text.count("<!--") == text.count("-->") == 1
    assert "\x1b" not in text


def test_a_description_is_as_long_as_the_format_allows(tmp_path):
    words = ", ".join(f"word{number}-{'x' * 50}" for number in range(40))
    _, spec = note(tmp_path, page=PAGE.replace("stability:", f"keywords: [{words}]\nstability:"))

    skill, problems = loaded(tmp_path, skill_page("kei-note", [spec]))

    assert (problems, len(skill.description)) == ([], 1024)


def test_a_page_that_is_gone_is_told_without_its_gotchas(tmp_path):
    package, spec = note(tmp_path)
    (package.atoms / "add.md").unlink()

    assert "kept as it is" not in skill_page("kei-note", [spec])


def test_a_block_names_every_package_and_no_old_verb(tmp_path):
    package, _ = note(tmp_path)
    row = read_row(package, "add", "project")
    gone = read_row(
        write_note(
            tmp_path / "old", page=PAGE.replace("stability: stable", "deprecated: use x\nstability: deprecated")
        ),
        "add",
        "project",
    )

    block = agents_block([row])

    assert block.startswith(BEGIN)
    assert block.endswith(END)
    assert "- `kei-note`: add\n" in block
    assert "kei-note" not in agents_block([gone])


@QUICK
@given(TEXTS, TEXTS)
def test_a_block_is_put_in_once_and_everything_else_stays(before, after):
    first = with_block(before, BLOCK)
    end = "\r\n" if re.match(r"[^\n]*\r\n", before) else "\n"
    block = BLOCK.replace("\n", end)

    assert with_block(first, BLOCK) == first
    assert first.startswith(before)
    assert first[len(before) :].strip("\r\n") == block
    inside = f"{before}{end}{BEGIN}{end}old{end}{END}{end}{after}"
    made = with_block(inside, BLOCK)
    assert made == with_block(made, BLOCK)
    assert made.startswith(f"{before}{end}")
    assert made.endswith(f"{END}{end}{after}")
    assert "old" not in made


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        (f"a\n{BEGIN}\nb\n", 2, "never closed"),
        (f"a\n{END}\n", 2, "closes nothing"),
        (f"{END}\n{BEGIN}\n", 1, "closes nothing"),
        (f"{BEGIN}\n{BEGIN}\n{END}\n", 2, "second time"),
        (f"{BEGIN}\n{END}\r\n\x0c\n  {END} \n", 4, "second time"),
        (f"{BEGIN}\n{END}\n{BEGIN}\n{END}\n", 3, "second time"),
    ],
)
def test_a_block_that_is_not_whole_is_told_by_its_line(text, line, says):
    with pytest.raises(AuthorError) as error:
        with_block(text, BLOCK, "my/AGENTS.md")

    (problem,) = error.value.problems
    assert (problem.code, problem.path, problem.line) == ("marked-block", "my/AGENTS.md", line)
    assert says in problem.message


def test_a_marker_in_a_sentence_is_none():
    text = f"Between `{BEGIN}` and `{END}`.\n"

    assert with_block(text, BLOCK) == f"{text}\n{BLOCK}\n"


def names(folder):
    return sorted(each.name for each in folder.iterdir())


def test_a_file_is_put_whole_and_keeps_its_mode(tmp_path):
    write_in(tmp_path / "new" / "deep", "SKILL.md", b"one")
    (tmp_path / "new" / "deep" / "SKILL.md").chmod(0o600)
    write_in(tmp_path / "new" / "deep", "SKILL.md", b"two")

    found = tmp_path / "new" / "deep" / "SKILL.md"
    assert (found.read_bytes(), found.stat().st_mode & 0o777) == (b"two", 0o600)
    assert names(found.parent) == ["SKILL.md"]


def test_nothing_is_written_through_a_symlink(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "target").write_text("mine")
    (tmp_path / "folder").symlink_to("real")
    (tmp_path / "real" / "SKILL.md").symlink_to("target")

    for folder in ("folder", "real"):
        with pytest.raises(OperatorError, match="symlink"):
            write_in(tmp_path / folder, "SKILL.md", b"x")
        with pytest.raises(OperatorError, match="symlink"):
            current(tmp_path / folder / "SKILL.md")
    assert (tmp_path / "real" / "target").read_text() == "mine"
    assert names(tmp_path / "real") == ["SKILL.md", "target"]


def test_what_is_in_the_way_is_told_and_left(tmp_path):
    (tmp_path / "SKILL.md").mkdir()
    (tmp_path / "file").write_text("")
    os.mkfifo(tmp_path / "pipe")

    with pytest.raises(WorldFault):
        write_in(tmp_path, "SKILL.md", b"x")
    with pytest.raises(WorldFault):
        write_in(tmp_path / "file", "SKILL.md", b"x")
    with pytest.raises(WorldFault):
        current(tmp_path / "pipe")
    assert names(tmp_path) == ["SKILL.md", "file", "pipe"]
