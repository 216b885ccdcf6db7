"""Mending: what has one right answer is put right, the rest of the file stays, and twice is once."""

import pytest

from keisei.library.atom_fix import fixes
from tests.library.note_package import DRAFT, PAGE, input_schema, write_note


def mended(package):
    """The fixes, written; what was said of each file."""
    found = list(fixes(package))
    for fix in found:
        fix.path.write_bytes(fix.content)
    return {fix.path.name: fix.told for fix in found}


def test_a_good_package_is_left_alone(tmp_path):
    assert mended(write_note(tmp_path)) == {}


@pytest.mark.parametrize("written", ["1.1.0", '"1.1.0"', "'1.1.0'", "1.1", "1.1.0 beta"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_the_version_is_the_package_s_and_everything_else_stays(tmp_path, written, end):
    page = PAGE.replace('version: "1.2.0"', f"version: {written}  # ours").replace("\n", end)
    package = write_note(tmp_path)
    path = package.atoms / "add.md"
    path.write_bytes(page.encode())

    assert list(mended(package)) == ["add.md"]
    assert path.read_bytes().decode() == page.replace(f"version: {written}", 'version: "1.2.0"')
    assert mended(package) == {}


@pytest.mark.parametrize(
    ("required", "listed"),
    [(["text", "to"], "[text, to]"), ([], "[]"), (["text", "no"], '[text, "no"]'), (["a b"], '["a b"]')],
)
def test_what_the_page_requires_is_what_the_schema_requires(tmp_path, required, listed):
    package = write_note(tmp_path, given=input_schema(required=required))

    assert mended(package) == {"add.md": (f"input.required is {listed} now, as the schema's",)}
    assert (package.atoms / "add.md").read_text() == PAGE.replace("required: [text]", f"required: {listed}")
    assert mended(package) == {}


@pytest.mark.parametrize(
    "spelling",
    ["https://json-schema.org/draft-07/schema#", "https://json-schema.org/draft-07/schema", "draft-07", "Draft7"],
)
def test_a_spelling_of_draft_07_is_respelt(tmp_path, spelling):
    package = write_note(tmp_path)
    path = package.atoms / "schemas" / "add-input.json"
    good = path.read_text()
    path.write_text(good.replace(DRAFT, spelling))

    assert mended(package) == {"add-input.json": (f"`$schema` is `{DRAFT}` now",)}
    assert path.read_text() == good
    assert mended(package) == {}


def test_a_missing_draft_is_put_first_in_the_author_s_indentation(tmp_path):
    package = write_note(tmp_path)
    path = package.atoms / "schemas" / "add-input.json"
    good = path.read_text()
    path.write_text(good.replace(f'  "$schema": "{DRAFT}",\n', ""))

    assert list(mended(package)) == ["add-input.json"]
    assert path.read_text() == good


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("schemas/add-input.json", '{"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object"}'),
        ("schemas/add-input.json", '{"$schema": "draft-07"'),
        ("schemas/add-input.json", '{"$schema": 7}'),
        ("schemas/add-input.json", '{"$schema": "draft\\u002d07", "required": ["text"]}'),
        ("schemas/add-input.json", "[]"),
        ("schemas/add-input.json", "{}"),
        ("add.md", PAGE.replace('version: "1.2.0"', "version: [1.1.0]")),
        ("add.md", PAGE.replace('version: "1.2.0"', "version: >\n  1.1.0")),
        ("add.md", PAGE.replace('version: "1.2.0"', 'version: "1.1.0').replace("required: [text]", "required: [to]")),
        ("add.md", "no page"),
        ("add.md", "---\nversion: 1.1.0\nversion: 1.0.0\n---\n"),
    ],
)
def test_what_has_another_meaning_or_does_not_parse_is_not_touched(tmp_path, file, text):
    package = write_note(tmp_path)
    (package.atoms / file).write_text(text)

    mended(package)

    assert (package.atoms / file).read_text() == text


def test_a_symlink_is_not_followed(tmp_path):
    package = write_note(tmp_path)
    for path in (package.atoms / "add.md", package.atoms / "schemas" / "add-input.json"):
        other = tmp_path / path.name
        other.write_text(path.read_text().replace("1.2.0", "1.1.0").replace(DRAFT, "draft-07"))
        path.unlink()
        path.symlink_to(other)

    assert mended(package) == {}
