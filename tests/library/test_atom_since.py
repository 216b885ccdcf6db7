"""Breaking changes: every promise an atom made and does not keep is told, with an example; additions are not."""

import pytest

from keisei.library.atom_since import Past, check_since
from tests.library.note_package import DRAFT, PAGE, input_schema, output_schema, write_note

TEXT = {"type": "string", "maxLength": 200}
INTEGER = {"type": "integer"}


def past(root):
    """The folder as it is now, remembered."""
    files = {path: path.read_bytes() for path in root.resolve().rglob("*") if path.is_file()}
    return Past("v1", tuple(sorted(path for path in files if path.suffix == ".md")), files.get)


def told(root, before, after):
    """What is said of a package that was `before` and is `after`: code, file, severity and message each."""
    write_note(root, **before)
    then = past(root)
    package = write_note(root, **after)
    return [
        (each.code, each.path.rpartition("/")[2], each.severity, each.message) for each in check_since([package], then)
    ]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({}, {}),
        ({}, {"given": input_schema(title="Said otherwise", examples=[{"text": "x"}])}),
        ({}, {"given": input_schema(properties={"text": {"type": "string"}})}),
        ({}, {"given": input_schema(properties={"text": TEXT, "more": {"type": "string"}})}),
        ({}, {"given": input_schema(required=[])}),
        ({}, {"gives": output_schema(properties={"id": {"type": "integer", "minimum": 1}})}),
        ({}, {"gives": output_schema(properties={"id": INTEGER, "at": {"type": "string"}})}),
        ({}, {"page": PAGE.replace("StoreFull", "StoreFull, http_analog: 507")}),
        ({"page": PAGE.replace("idempotent: true", "idempotent: false")}, {}),
    ],
    ids=["same", "words", "longer", "optional", "less", "narrower-output", "more-output", "status", "idempotent-now"],
)
def test_what_breaks_nobody_is_not_told(tmp_path, before, after):
    assert told(tmp_path, before, after) == []


INPUT, OUTPUT = "add-input.json", "add-output.json"
REFUSED = "an input that was valid is refused now (since `v1`): "
UNEXPECTED = "an output comes out now that was not valid (since `v1`): "


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        (
            {"given": input_schema(properties={"text": {"type": "string", "maxLength": 80}})},
            ("breaking-input", INPUT, "error", REFUSED + '"text" of 81 to 200 characters'),
        ),
        (
            {"given": input_schema(properties={"text": TEXT, "to": TEXT}, required=["text", "to"])},
            ("breaking-input", INPUT, "error", REFUSED + 'a document without "to"'),
        ),
        (
            {"given": input_schema(properties={"note": TEXT}, required=[])},
            ("breaking-input", INPUT, "error", REFUSED + 'a document with "text"'),
        ),
        (
            {"gives": output_schema(properties={"id": {"type": "number"}})},
            ("breaking-output", OUTPUT, "error", UNEXPECTED + '"id": 0.5'),
        ),
        (
            {"gives": output_schema(required=[])},
            ("breaking-output", OUTPUT, "error", UNEXPECTED + 'a document without "id"'),
        ),
        (
            {"page": PAGE.replace("kind: command", "kind: query")},
            ("changed-kind", "add.md", "error", "kind is `query`; at `v1` it was `command`"),
        ),
        (
            {"page": PAGE.replace("idempotent: true", "idempotent: false")},
            ("lost-idempotence", "add.md", "error", "`idempotent` is no longer true; at `v1` it was"),
        ),
        (
            {"page": PAGE.replace("keyed: true\n", "")},
            ("lost-idempotence", "add.md", "error", "`keyed` is no longer true; at `v1` it was"),
        ),
        (
            {"page": PAGE.replace("StoreFull", "StoreGone")},
            ("removed-error", "add.md", "error", "error `StoreFull` is gone; at `v1` it was declared"),
        ),
    ],
    ids=["shorter", "required", "gone", "wider", "optional", "kind", "idempotent", "keyed", "error"],
)
def test_what_breaks_somebody_is_told_with_an_example(tmp_path, after, expected):
    assert told(tmp_path, {}, after) == [expected]


def test_a_property_nobody_declared_is_only_warned_of(tmp_path):
    open_input = input_schema(additionalProperties=True)
    typed = input_schema(additionalProperties=True, properties={"text": TEXT, "to": INTEGER})
    (found,) = told(tmp_path / "in", {"given": open_input}, {"given": typed})

    assert found[:3] == ("breaking-input", INPUT, "warning")

    closed = output_schema(additionalProperties=False)
    more = output_schema(additionalProperties=False, properties={"id": INTEGER, "at": TEXT})
    (found,) = told(tmp_path / "out", {"gives": closed}, {"gives": more})

    assert found == ("breaking-output", OUTPUT, "warning", UNEXPECTED + 'a document with "at"')


def test_what_cannot_be_decided_needs_a_person(tmp_path):
    (found,) = told(
        tmp_path,
        {"given": input_schema(properties={"text": {"type": "string", "pattern": "^a+$"}}, examples=[{"text": "a"}])},
        {
            "given": input_schema(
                properties={"text": {"type": "string", "pattern": "^[a-z]+$"}}, examples=[{"text": "a"}]
            )
        },
    )

    assert found[:3] == ("undecided-change", INPUT, "warning")


def test_a_schema_that_was_not_there_needs_a_person(tmp_path):
    write_note(tmp_path)
    files = past(tmp_path)
    then = files._replace(read=lambda path: None if path.name == INPUT else files.read(path))

    (found,) = check_since([write_note(tmp_path)], then)

    assert (found.code, found.severity) == ("undecided-change", "warning")


def test_schemas_are_compared_with_what_they_refer_to(tmp_path):
    given = input_schema(properties={"text": {"$ref": "text.json"}})
    package = write_note(tmp_path, given=given)
    shared = package.atoms / "schemas" / "text.json"
    shared.write_text('{"type": "string", "maxLength": 200}')
    then = past(tmp_path)
    shared.write_text('{"type": "string", "maxLength": 80}')

    (found,) = check_since([package], then)

    assert (found.code, found.message) == ("breaking-input", REFUSED + '"text" of 81 to 200 characters')
    assert found.line == 6  # where the fragment is referred to: the schema's own file did not change


def test_an_atom_that_is_gone_is_told_unless_it_was_deprecated(tmp_path):
    write_note(tmp_path)
    then = past(tmp_path)
    page = tmp_path / "kei-note" / "atoms" / "add.md"

    page.unlink()
    (found,) = check_since([], then)

    assert (found.code, found.severity, found.line) == ("removed-atom", "error", 1)
    assert found.hint == "bring it back with `deprecated: use what replaces it`"

    write_note(tmp_path, page=PAGE.replace("stability: stable", "stability: deprecated"))
    then = past(tmp_path)
    page.unlink()

    assert list(check_since([], then)) == []


def test_a_renamed_folder_is_a_removed_atom_and_its_new_name_is_shown(tmp_path):
    write_note(tmp_path)
    then = past(tmp_path)
    (tmp_path / "kei-note").rename(tmp_path / "kei-memo")
    package = write_note(tmp_path, name="kei-memo")

    (found,) = check_since([package], then)

    assert found.code == "removed-atom"
    assert found.hint.startswith("it looks as if it were `kei-memo::add` now")
    assert list(check_since([package], then, only="kei-memo")) == []


def test_a_moved_package_is_the_same_atom(tmp_path):
    write_note(tmp_path)
    then = past(tmp_path)
    (tmp_path / "_rust").mkdir()
    (tmp_path / "kei-note").rename(tmp_path / "_rust" / "kei-note")

    assert list(check_since([write_note(tmp_path / "_rust")], then)) == []


@pytest.mark.parametrize("rubbish", [b"", b"\xff", b"---\nx: [\n---\n", b"---\n---\n", DRAFT.encode()])
def test_a_page_that_could_not_be_read_promised_nothing_and_one_that_cannot_is_told_elsewhere(tmp_path, rubbish):
    package = write_note(tmp_path)
    page = tmp_path / "kei-note" / "atoms" / "add.md"
    good = past(tmp_path)
    page.write_bytes(rubbish)
    bad = past(tmp_path)

    assert list(check_since([package], good)) == []
    assert list(check_since([write_note(tmp_path)], bad)) == []
