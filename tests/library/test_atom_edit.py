"""Atoms edited: what a draft does not change stays byte for byte, whoever wrote it and however."""

import json

import pytest
import ryaml
from msgspec.structs import replace

from keisei.library.atom_edit import plan_edit, read_edited
from keisei.library.atom_request import AtomRequest
from keisei.library.line_end import with_its_ends
from keisei.library.package import read_package
from keisei.library.schema_row_draft import schema_in, side_of
from keisei.records.atom import AtomError
from keisei.records.draft import ErrorDraft, SchemaDraft, SchemaRow
from keisei.records.error import AuthorError
from tests.library.primitives import DRAFT, OBJECT, package, write

FULL = ErrorDraft(code="Full", description="no room")


@pytest.fixture
def folder(tmp_path):
    """A package written by hand, its schemas on one line."""
    return package(tmp_path, "kei-note", "find")


def edited(folder):
    return read_edited(read_package(folder), "find")


def plan(folder, **change):
    """What changes by the path in the package, of a draft with this change."""
    found = edited(folder)
    draft = replace(found.draft, **change)
    request = AtomRequest(
        atom="kei-note::find",
        folder=folder.parent,
        kind=draft.kind,
        errors=tuple(AtomError(code=each.code, description=each.description) for each in draft.errors),
        input_schema=schema_in(draft.input, side_of("kei-note::find", "input"))[0],
        output_schema=schema_in(draft.output, side_of("kei-note::find", "output"))[0],
        idempotent=draft.idempotent,
        timeout_ms=draft.timeout_ms,
        stability=draft.stability,
        keywords=draft.keywords,
        code=draft.code,
    )
    return {each.path.partition("/")[2]: each for each in plan_edit(found, draft, request)}


def front(file):
    return ryaml.loads(file.content.split("---\n")[1])


def test_a_draft_that_changes_nothing_plans_nothing_whatever_the_files_look_like(folder):
    assert plan(folder) == {}


def test_only_the_page_changes_where_only_the_page_says_it(folder):
    before = (folder / "atoms/find.md").read_text()

    (file,) = plan(folder, errors=(FULL,), keywords=("a", "b: c")).values()

    assert file.path == "kei-note/atoms/find.md"
    assert front(file) == ryaml.loads(before.split("---\n")[1]) | {
        "errors": [{"code": "Full", "description": "no room"}],
        "keywords": ["a", "b: c"],
    }
    assert file.content.split("---\n", 2)[2] == before.split("---\n", 2)[2]


ODD = {
    "a quoted key": ("stability: beta", '"stability": beta'),
    "a list at the margin": ("keywords: [note, find]", "keywords:\n- note\n- find"),
    "over some lines": ("keywords: [note, find]", "keywords: [note,\n  find]"),
    "comments": ("keywords: [note, find]", "keywords: # words\n  - note # one\n\n  # two\n  - find"),
    "ends of lines": ("\n", "\r\n"),
}


@pytest.mark.parametrize(("was", "now"), ODD.values(), ids=ODD)
def test_frontmatter_that_is_written_otherwise_says_what_is_wanted(folder, was, now):
    page = folder / "atoms/find.md"
    page.write_bytes(page.read_text().replace(was, now).encode())

    (file,) = plan(folder, stability="stable", keywords=("x",), errors=(FULL,)).values()

    (folder / "atoms/find.md").write_bytes(file.content.encode())
    manifest = edited(folder).manifest
    assert (manifest.stability, manifest.keywords, manifest.errors[0].code) == ("stable", ("x",), "Full")
    assert manifest.version == "1.2.0"


def test_a_changed_schema_and_a_changed_function_are_written(folder):
    raw = {"$schema": DRAFT, "type": "object", "maxProperties": 2, "examples": [{}]}

    files = plan(folder, input=SchemaDraft(raw=raw), code="def run(input, context):\n    return {'a': 1}\n")

    assert list(files) == ["atoms/find.py", "atoms/schemas/find-input.json"]
    assert all(each.was == (folder / path).read_text() for path, each in files.items())


def dos(folder):
    """Every line of the package ends as on the other system."""
    for path in folder.rglob("*.*"):
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))


def test_line_ends_stay_as_the_files_have_them(folder):
    write(folder / "atoms/schemas/find-input.json", json.dumps(OBJECT, indent=2) + "\n")
    dos(folder)
    found = edited(folder).draft
    as_a_browser_sends_it = {"body": found.body.replace("\r\n", "\n"), "code": found.code.replace("\r\n", "\n")}
    raw = {"$schema": DRAFT, "type": "object", "maxProperties": 2, "examples": [{}]}

    assert plan(folder) == plan(folder, **as_a_browser_sends_it) == {}
    (page,) = plan(folder, timeout_ms=5, description="Other words.", **as_a_browser_sends_it).values()
    assert "timeout_ms: 5\r\n" in page.content
    assert "Other words.\r\n" in page.content
    files = plan(folder, input=SchemaDraft(raw=raw), code=f"# more\n{as_a_browser_sends_it['code']}")
    for each in (page, *files.values()):
        assert each.content.count("\n") == each.content.count("\r\n") > 1
        assert each.was == (folder.parent / each.path).read_bytes().decode()


def test_of_mixed_line_ends_only_the_changed_lines_are_written():
    before = "a\r\nb\nc\r\nd\ne\r\n"

    assert with_its_ends("a\nb\nX\nd\ne\n", before) == "a\r\nb\nX\r\nd\ne\r\n"
    assert with_its_ends("a\nb\nd\ne\n", before) == "a\r\nb\nd\ne\r\n"
    assert with_its_ends("a\nb\nc\nd\ne\n", before) == before
    assert with_its_ends("a\na\n", "a\r\n") == "a\r\na\r\n"
    assert with_its_ends("", "a\r\n") == ""
    assert with_its_ends("a\n", "a") == "a"


def test_a_comment_behind_a_value_stays(folder):
    page = folder / "atoms/find.md"
    page.write_text(page.read_text().replace("stability: beta", "stability: beta   # since May"))

    (file,) = plan(folder, stability="stable").values()

    assert "stability: stable   # since May\n" in file.content


@pytest.mark.parametrize("first", ["```sh\nx\n\ny\n```", "- one\n- two", "| a |\n|---|", "<!-- x -->", "1. one", "> x"])
def test_what_is_no_prose_stays_below_another_description(folder, first):
    page = folder / "atoms/find.md"
    page.write_text(page.read_text().partition("# find")[0] + f"# find\n\n{first}\n")

    (file,) = plan(folder, description="Finds it.").values()

    assert file.content.endswith(f"# find\n\nFinds it.\n\n{first}\n")


def test_a_schema_of_rows_is_written_in_the_order_it_has_and_gets_no_title(folder):
    a = {"description": "b first", "type": "string"}
    was = {"type": "object", "$schema": DRAFT, "examples": [{"a": "x"}], "properties": {"a": a}}
    write(folder / "atoms/schemas/find-output.json", json.dumps(was))
    rows = edited(folder).draft.output.rows

    files = plan(folder, output=SchemaDraft(rows=(*rows, SchemaRow(name="b", required=False))))

    now = json.loads(files["atoms/schemas/find-output.json"].content)
    assert now == {**was, "properties": {"a": a, "b": {"type": "string"}}}
    assert json.dumps(now).startswith(json.dumps(was)[: json.dumps(was).index("}}") + 1])


@pytest.mark.parametrize("name", ["find.md", "find.py", "schemas/find-input.json"])
def test_what_is_a_symlink_is_not_edited(folder, name):
    path = folder / "atoms" / name
    real = write(folder / "atoms" / "real", path.read_text())
    path.unlink()
    path.symlink_to(real)

    with pytest.raises(AuthorError):
        edited(folder)
