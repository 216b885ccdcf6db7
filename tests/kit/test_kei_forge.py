"""kei-forge: what its pages promise, in a project."""

import pytest

from keisei.records.draft import AtomDraft
from keisei.sandbox.confine import level_of
from keisei.sandbox.machine import probe
from tests.kit.desk import ATOMS, Declared, spec_of
from tests.kit.project import Project

FOLDER = ".keisei/primitives"
DRAFT = {
    "folder": FOLDER,
    "package": "kei-note",
    "verb": "count",
    "kind": "transform",
    "description": "Counts words.",
    "input": {"rows": [{"name": "text", "example": "a b"}]},
    "output": {"rows": [{"name": "words", "type": "integer", "minimum": 0, "example": 2}]},
    "code": 'def run(input, context):\n    return {"words": len(input["text"].split())}\n',
}
held = pytest.mark.skipif(level_of(probe()) == "none", reason="this machine cannot confine a process")


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path)


def refused(project, verb, attempt=None, /, **given):
    with pytest.raises(Declared) as error:
        project.call(f"kei-forge::{verb}", attempt, **given)
    return error.value.code, str(error.value)


def test_the_verbs_are_those_that_were_promised():
    assert [atom.split("::")[1] for atom in ATOMS if atom.startswith("kei-forge::")] == [
        "create-atom",
        "infer-schema",
        "look",
        "undo",
    ]


def test_the_pages_say_which_folder_is_touched():
    effects = {verb: spec_of(f"kei-forge::{verb}").manifest.side_effects for verb in ("create-atom", "look")}

    assert ("write", "fs:{folder}/**") in [(each.op, each.domain) for each in effects["create-atom"]]
    assert [(each.op, each.domain) for each in effects["look"]] == [("read", "fs:{folder}/**")]


@pytest.mark.parametrize("verb", ["create-atom", "look"])
def test_a_draft_of_a_page_is_a_draft_of_the_forge(verb):
    fields = set(spec_of(f"kei-forge::{verb}").input_schema["properties"])

    assert fields - {"folder", "keep"} == set(AtomDraft.__struct_fields__)


@held
def test_an_atom_is_looked_at_written_edited_called_and_taken_back(project):
    look = project.call("kei-forge::look", **DRAFT)
    made = project.call("kei-forge::create-atom", **DRAFT)
    called = project.call("kei-runtime::invoke", atom="kei-note::count", input={"text": "a b c"})
    more = project.call("kei-forge::create-atom", **DRAFT, edits="kei-note::count", keywords=["words"])
    back = [project.call("kei-forge::undo", receipt=each["receipt_id"]) for each in (more, made)]

    assert (look["ready"], [each["path"] for each in look["files"]]) == (True, list(made["files"]))
    assert (made["status"], {each["status"] for each in made["postconditions"]}) == ("written", {"held"})
    assert called["result"] == {"words": 3}
    assert list(more["files"]) == ["kei-note/atoms/count.md"]
    assert back[0]["restored"] == more["files"]
    assert not (project.root / ".keisei").exists()
    assert refused(project, "undo", receipt=made["receipt_id"])[0] == "UnknownReceipt"


def test_a_draft_that_is_not_ready_is_not_written(project):
    half = project.call("kei-forge::look", folder=FOLDER, package="kei-note", verb="Count it")

    assert (half["ready"], half["problems"][0]["field"]) == (False, "verb")
    code, message = refused(project, "create-atom", **DRAFT | {"verb": "Count it"})
    assert (code, "verb" in message) == ("BadDraft", True)
    assert refused(project, "look", **DRAFT | {"kind": "spell"})[0] == "BadDraft"
    assert not (project.root / ".keisei").exists()


def test_what_somebody_changed_is_not_taken_back(project, monkeypatch):
    monkeypatch.setattr("keisei.wiring.forge.postconditions", lambda *_: ())
    made = project.call("kei-forge::create-atom", **DRAFT)
    page = project.root / FOLDER / "kei-note/atoms/count.md"
    page.write_text("mine")

    code, message = refused(project, "undo", receipt=made["receipt_id"])

    assert (code, "kei-note/atoms/count.md" in message) == ("ChangedSince", True)
    assert page.read_text() == "mine"


def test_an_attempt_writes_with_its_own_tools(project):
    for verb, given in (("create-atom", DRAFT), ("look", DRAFT), ("undo", {"receipt": "x"})):
        assert refused(project, verb, "an-attempt", **given)[0] == "NotAllowed"
    assert not (project.root / ".keisei").exists()


def test_an_example_suggests_a_schema(project):
    found = project.call("kei-forge::infer-schema", example={"text": "x", "n": 1}, atom="kei-a::b")
    rich = project.call("kei-forge::infer-schema", example={"mixed": [1, "a"]}, side="output")

    assert [(row["name"], row.get("type", "string")) for row in found["rows"]] == [("text", "string"), ("n", "integer")]
    assert (found["schema"]["title"], found["too_rich"]) == ("kei-a::b input", None)
    assert (rich["rows"], "raw JSON" in rich["too_rich"]) == (None, True)
    assert "additionalProperties" not in rich["schema"]
    assert refused(project, "infer-schema", example={"n": 2**60})[0] == "BadExample"
