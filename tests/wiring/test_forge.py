"""The forge: half-filled drafts are judged, sound ones tried and written whole, edited ones told what they break."""

import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as within
from hypothesis import strategies as st
from msgspec.structs import replace

from keisei.library import placing
from keisei.records.draft import AtomDraft, EffectDraft, ErrorDraft, SchemaDraft, SchemaRow
from keisei.records.error import KeiseiError, OperatorError, WorldFault
from keisei.sandbox.confine import level_of
from keisei.sandbox.machine import probe
from keisei.settings import read_settings
from keisei.wiring import forge_cargo, forge_try
from keisei.wiring.forge import Forge
from keisei.wiring.forge_journal import Journal
from keisei.wiring.forge_result import Postcondition
from tests.wiring.forge_ground import COUNT, SAVE, Ground

HOSTILE = '%%atom%% {{ x }} """ \\ ``` [[a::b]] \u202e\u2028\n# "\'--- <script>'
LINE = HOSTILE.replace("\n", " ")
held = pytest.mark.skipif(level_of(probe()) == "none", reason="this machine cannot confine a process")


@pytest.fixture
def ground(tmp_path):
    return Ground(tmp_path)


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """A forge that is only looked through."""
    return Ground(tmp_path_factory.mktemp("forge")).forge()


def fields(look):
    return {each.field for each in look.problems if each.severity == "error"}


def words(look):
    return {each.topic: each.text for each in look.words}


# --- looking ----------------------------------------------------------------------------------------------------------


def test_a_sound_draft_shows_its_files_and_what_follows(ground):
    look = ground.forge().look(COUNT)

    assert (look.ready, look.atom, look.lint, fields(look)) == (True, "kei-note::count", (), set())
    assert [each.path for each in look.files] == [
        f"kei-note/{each}"
        for each in (
            "pyproject.toml",
            "atoms/count.py",
            "tests/test_kei_note_count.py",
            "atoms/schemas/count-input.json",
            "atoms/schemas/count-output.json",
            "atoms/count.md",
        )
    ]
    assert all(each.was is None and each.diff.startswith("--- /dev/null") for each in look.files)
    assert look.files[1].content == COUNT.code
    assert "cached" in words(look)["cache"]
    assert ground.tree().keys() == {"keisei.toml"}


def test_effects_are_told_in_words(shared):
    look = shared.look(SAVE)

    assert "kei-task::create" in look.neighbours
    assert words(look)["parallel"].startswith("never runs beside kei-")
    assert words(look)["retry"].startswith("is never retried")
    assert words(look)["cache"].startswith("its result is not cached")
    alone = shared.look(replace(SAVE, effects=(EffectDraft(op="other", domain="x"),)))
    assert "never runs beside anything" in words(alone)["parallel"]
    opened = shared.look(replace(SAVE, effects=(EffectDraft(op="write", domain="fs"),), idempotent=True))
    assert "write the working folder" in words(opened)["reach"]
    assert words(opened)["retry"].startswith("is retried by itself")


BAD = {
    "package": (AtomDraft(verb="x"), "package"),
    "verb": (AtomDraft(package="kei-x"), "verb"),
    "a path": (AtomDraft(package="../etc", verb="x"), "package"),
    "a NUL": (AtomDraft(package="a\0b", verb="x"), "package"),
    "too long": (AtomDraft(package="a" * 100, verb="b" * 100), "verb"),
    "shipped": (AtomDraft(package="kei-task", verb="x"), "package"),
    "code of an error": (replace(COUNT, errors=(ErrorDraft(code="no", description="x"),)), "errors[0].code"),
    "twice": (replace(COUNT, errors=(ErrorDraft(code="A", description="x"),) * 2), "errors[1].code"),
    "no text": (replace(COUNT, errors=(ErrorDraft(code="A"),)), "errors[0].description"),
    "status": (
        replace(COUNT, errors=(ErrorDraft(code="A", description="x", http_analog="9"),)),
        "errors[0].http_analog",
    ),
    "op": (replace(SAVE, effects=(EffectDraft(op="eat", domain="x"),)), "effects[0].op"),
    "domain": (replace(SAVE, effects=(EffectDraft(op="read", domain="a b"),)), "effects[0].domain"),
    "transform": (replace(COUNT, effects=(EffectDraft(op="read", domain="x"),)), "effects"),
    "query": (replace(SAVE, kind="query"), "effects[0].op"),
    "row": (replace(COUNT, input=SchemaDraft(rows=(SchemaRow(),))), "input.rows[0].name"),
    "raw": (replace(COUNT, output=SchemaDraft(raw="{")), "output.raw"),
    "time": (replace(COUNT, timeout_ms=0), "timeout_ms"),
    "half a character": (replace(COUNT, code="\ud800"), "code"),
    "huge": (replace(COUNT, body="x" * 400_000), "body"),
    "nobody's": (replace(COUNT, edits="kei-note::count"), "edits"),
    "renamed": (replace(COUNT, edits="kei-note::other"), "verb"),
    "not ours": (AtomDraft(package="kei-task", verb="create", edits="kei-task::create"), "edits"),
    "keyword": (replace(COUNT, keywords=("\n",)), "keywords[0]"),
    "rust": (AtomDraft(package="std", verb="x", language="rust"), "package"),
}


@pytest.mark.parametrize(("draft", "field"), BAD.values(), ids=BAD)
def test_what_is_wrong_with_a_field_is_told_with_the_field(shared, draft, field):
    look = shared.look(draft)

    assert field in fields(look)
    assert not look.ready
    with pytest.raises(OperatorError):
        shared.write(draft)
    assert not shared.folder.exists()


def test_what_is_sound_of_a_bad_draft_is_shown_nevertheless(shared):
    draft = replace(COUNT, output=SchemaDraft(raw="{"), errors=(ErrorDraft(code="Bad", description="x"), ErrorDraft()))

    files = {each.path: each.content for each in shared.look(draft).files}

    assert '"text"' in files["kei-note/atoms/schemas/count-input.json"]
    assert "Bad" in files["kei-note/atoms/count.md"]


def test_lint_tells_the_line(shared):
    def first(**more):
        look = shared.look(replace(COUNT, **more))
        assert not look.ready
        return next((each.path, each.code, each.line) for each in look.lint if each.severity == "error")

    assert first(code="def run(input, context):\n  return (\n")[:2] == ("kei-note/atoms/count.py", "syntax")
    assert first(code="\n\ndef run(x):\n    return {}\n") == ("kei-note/atoms/count.py", "bad-function", 3)
    page = first(body="# x\n\nSee [[kei-none::such]].\n")
    assert page[:2] == ("kei-note/atoms/count.md", "dangling")
    assert first(input=SchemaDraft(raw={"type": "object"}))[:2] == (
        "kei-note/atoms/schemas/count-input.json",
        "no-examples",
    )
    fits = replace(COUNT, body="# x\n\nSee [[kei-task::create]].\n")
    assert shared.look(fits).ready


TEXTS = st.sampled_from([HOSTILE, "", "kei-note", "\0", "\ud800", "x" * 5000, "[1]", "{}"]) | st.text(max_size=5)
ROW = st.builds(SchemaRow, name=TEXTS, type=st.sampled_from(["string", "integer", "array", "object"]), example=TEXTS)
SIDE = st.builds(
    SchemaDraft, raw=st.none() | TEXTS, rows=st.none() | st.lists(ROW, max_size=2).map(tuple), example=TEXTS
)
DRAFTS = st.builds(
    AtomDraft,
    package=st.just("kei-note") | TEXTS,
    verb=st.just("do-it") | TEXTS,
    kind=st.sampled_from(["command", "query", "stream", "transform"]),
    description=TEXTS,
    language=st.sampled_from(["", "python", "rust"]),
    input=SIDE,
    output=SIDE,
    errors=st.lists(st.builds(ErrorDraft, code=TEXTS, http_analog=TEXTS, description=TEXTS), max_size=2).map(tuple),
    effects=st.none() | st.lists(st.builds(EffectDraft, op=TEXTS, domain=TEXTS), max_size=2).map(tuple),
    code=st.none() | TEXTS,
    body=st.none() | TEXTS,
    edits=st.none() | TEXTS,
    keywords=st.lists(TEXTS, max_size=2).map(tuple),
)


@within(max_examples=80, deadline=None, database=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(DRAFTS)
def test_no_draft_is_a_crash(shared, draft):
    look = shared.look(draft)

    assert look.ready <= (not fields(look))
    assert bool(look.files) or not look.ready
    assert not shared.folder.exists()


# --- trying -----------------------------------------------------------------------------------------------------------


@held
def test_a_draft_is_tried_and_nothing_of_it_stays(ground):
    forge = ground.forge()

    tried = forge.try_out(COUNT)
    mine = forge.try_out(COUNT, {"text": "a b c d"})
    wrong = forge.try_out(COUNT, {"text": 5})

    assert (tried.ok, tried.examples[0].input, tried.examples[0].output) == (True, {"text": "a b"}, {"words": 2})
    assert mine.examples[0].output == {"words": 4}
    assert (wrong.ok, wrong.examples[0].code) == (False, "schema-in")
    assert ground.tree().keys() == {"keisei.toml"}


@held
def test_a_stream_shows_its_items_and_a_failure_what_was_said(ground):
    forge = ground.forge()
    stream = AtomDraft(package="kei-note", verb="words", kind="stream")
    broken = replace(COUNT, code="def run(input, context):\n    print('hm')\n    raise ValueError('no')\n")

    assert forge.try_out(stream).examples[0].output == [{"word": "hello"}, {"word": "world"}]
    failed = forge.try_out(broken)
    assert (failed.ok, failed.examples[0].outcome) == (False, "failed")
    assert "no" in (failed.examples[0].message or "")


def test_a_draft_that_is_not_sound_is_not_tried(shared):
    assert fields(shared.try_out(AtomDraft())) == {"package", "verb"}
    assert shared.try_out(replace(COUNT, code="(")).lint[0].code == "syntax"


# --- writing ----------------------------------------------------------------------------------------------------------


@held
def test_what_is_written_holds_and_can_be_seen(ground):
    forge = ground.forge()
    look = forge.look(COUNT)

    written = forge.write(COUNT, seen=look.digest)

    assert (written.status, [each.status for each in written.postconditions]) == ("written", ["held"] * 3)
    assert {each.path: each.content for each in look.files} == {
        each: (ground.packages / each).read_text() for each in written.files
    }
    (slip,) = ground.slips()
    assert (stat.S_IMODE(slip.stat().st_mode), slip.stem) == (0o600, written.receipt_id)
    (choice,) = forge.packages().packages
    assert (choice.name, choice.language, choice.backend, choice.verbs) == ("kei-note", "python", "memory", ("count",))
    again = forge.look(COUNT)
    assert fields(again) == {"verb"}


@held
def test_what_does_not_hold_is_taken_back_unless_it_is_to_be_kept(ground):
    before = ground.tree()
    broken = replace(COUNT, code="def run(input, context):\n    return {}\n")

    undone = ground.forge().write(broken)

    assert (undone.status, undone.receipt_id, ground.tree(), ground.slips()) == ("undone", None, before, [])
    (violated,) = [each for each in undone.postconditions if each.status == "violated"]
    assert violated.name == "smoke-test"
    assert "words" in violated.detail

    kept = ground.forge().write(broken, keep=True)
    assert (kept.status, (ground.packages / "kei-note/atoms/count.md").is_file()) == ("kept", True)
    ground.forge().undo(kept.receipt_id)
    assert ground.tree() == before


@held
@pytest.mark.parametrize("kind", ["command", "query", "stream", "transform"])
def test_hostile_words_are_data(ground, kind):
    draft = AtomDraft(
        package="kei-odd",
        verb="do-it",
        kind=kind,
        description=HOSTILE,
        keywords=(HOSTILE,),
        input=SchemaDraft(rows=(SchemaRow(name=HOSTILE, description=HOSTILE, example=HOSTILE),)),
        output=SchemaDraft(rows=(SchemaRow(name=LINE, choices=(LINE,)),), title=LINE),
        errors=(ErrorDraft(code="Odd", description=HOSTILE),),
    )

    written = ground.forge().write(draft)

    assert written.status == "written"
    again = ground.forge().edit("kei-odd::do-it")
    assert again.input.raw["examples"] == [{HOSTILE: HOSTILE}]  # no field of a form holds its line end
    assert again.output.rows[0].name == again.output.rows[0].example == again.output.title == LINE
    look = ground.forge().look(again)
    assert (look.files, look.breakage.answer) == ((), "compatible")


def test_somebody_quicker_is_not_overwritten(ground):
    forge = ground.forge()
    place = forge.folder / "kei-note"
    before = {}

    def meanwhile(*given):
        (place / "atoms").mkdir(parents=True)
        (place / "mine").write_text("mine")
        before.update(ground.tree())
        return real(*given)

    real = placing._rename
    with patch.object(placing, "_rename", meanwhile), pytest.raises(OperatorError, match="already exists"):
        forge.write(COUNT)

    assert {name: each for name, each in ground.tree().items() if ".keisei-new-" not in name} == {
        name: each for name, each in before.items() if ".keisei-new-" not in name
    }
    assert ground.slips() == []


@held
def test_only_one_of_two_writers_wins(ground):
    def attempt(_):
        try:
            return ground.forge().write(COUNT).status
        except KeiseiError as error:
            return error.message

    with ThreadPoolExecutor(3) as threads:
        told = sorted(threads.map(attempt, range(3)))

    assert told.count("written") == 1
    assert len(ground.slips()) == 1


@pytest.mark.parametrize(
    "wrong", [{"code": "("}, {"body": "[[kei-none::such]]"}, {"input": SchemaDraft(raw={})}], ids=str
)
def test_what_lint_refuses_is_not_written(ground, wrong):
    before = ground.tree()

    with pytest.raises(OperatorError, match="lint would not be green"):
        ground.forge().write(replace(COUNT, **wrong))

    assert (ground.tree(), ground.slips()) == (before, [])


def test_what_was_not_looked_at_is_not_written(ground):
    with pytest.raises(OperatorError, match="not what was looked at"):
        ground.forge().write(COUNT, seen=ground.forge().look(SAVE).digest)
    assert ground.slips() == []


@pytest.mark.parametrize("where", [".keisei", ".keisei/primitives", ".keisei/primitives/kei-note"])
def test_nothing_is_written_through_a_symlink(ground, tmp_path, where):
    outside = tmp_path / "outside"
    outside.mkdir()
    link = ground.root / where
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(outside)

    assert not ground.forge().look(COUNT).ready
    with pytest.raises(OperatorError):
        ground.forge().write(COUNT)

    assert list(outside.iterdir()) == []
    assert ground.slips() == []


def test_a_full_disk_leaves_everything_as_it_was(ground):
    before = ground.tree()
    steps = []

    def full(handle):
        steps.append(handle)
        if len(steps) == full.at:
            raise OSError(28, "No space left on device")

    for at in range(1, 8):
        full.at, steps[:] = at, []
        with patch.object(os, "fsync", full), pytest.raises(WorldFault, match="no space left"):
            ground.forge().write(COUNT)
        assert (ground.tree(), ground.slips()) == (before, [])


@held
def test_a_folder_that_is_named_takes_atoms_without_a_project(tmp_path):
    settings = read_settings({"HOME": str(tmp_path), "KEISEI_HOME": str(tmp_path / "s"), "PATH": os.environ["PATH"]})
    with pytest.raises(OperatorError, match="no project"):
        Forge(settings, start=tmp_path)

    forge = Forge(settings, start=tmp_path, folder=Path("shop"))

    assert forge.write(COUNT).status == "written"
    assert (tmp_path / "shop/kei-note/atoms/count.md").is_file()
    assert forge.edit("kei-note::count").code == COUNT.code
    forge.undo(forge.receipts()[0].receipt_id)
    assert not (tmp_path / "shop").exists()


def test_rust_is_told_where_there_is_no_cargo(ground):
    rust = replace(COUNT, language="rust", code=None)
    with patch.object(forge_cargo.shutil, "which", lambda *_, **__: None):
        written = ground.forge().write(rust)

    told = {each.name: (each.status, each.detail) for each in written.postconditions}
    assert (written.status, told["cargo-check"]) == ("written", ("not-checked", "cargo is not installed"))
    assert told["smoke-test"][0] == "not-checked"
    assert "src/atoms/count.rs" in " ".join(written.files)


# --- the time it takes ------------------------------------------------------------------------------------------------

SLOW = replace(
    COUNT,
    timeout_ms=86_400_000,
    code="import time\n\n\ndef run(input, context):\n    time.sleep(20)\n    return {'words': 2}\n",
)


@held
def test_an_atom_that_takes_too_long_is_not_waited_for(ground, monkeypatch):
    monkeypatch.setattr(forge_try, "BUDGET_S", 1.0)
    many = SchemaDraft(rows=COUNT.input.rows, examples=({"text": "a"}, {"text": "b"}))

    tried = ground.forge().try_out(replace(SLOW, input=many))
    written = ground.forge().write(replace(SLOW, input=many))

    assert [(each.outcome, each.code) for each in tried.examples] == [("failed", "timeout")]
    assert "2 examples were not called" in tried.problems[0].message
    (smoke,) = [each for each in written.postconditions if each.name == "smoke-test"]
    assert (written.status, smoke.status) == ("written", "not-checked")
    assert "0 of 3 examples" in smoke.detail


def test_who_is_looked_at_keeps_nobody_from_writing(ground):
    turn, done = Journal.turn, []

    def meanwhile(*_):
        if not done:
            done.append("first")
            done.append(ground.forge().write(replace(SAVE, package="kei-other")).status)
        return ()

    hasty = patch.object(Journal, "turn", lambda journal: turn(journal, 0))
    with patch("keisei.wiring.forge.postconditions", meanwhile), hasty:
        assert ground.forge().write(COUNT).status == "written"

    assert done == ["first", "written"]


VIOLATED = Postcondition(name="smoke-test", status="violated", detail="no")


@pytest.mark.parametrize("what", ["another verb", "taken back", "taken back and written again"])
def test_what_does_not_hold_stays_where_somebody_built_on_it_meanwhile(ground, what):
    done = []

    def meanwhile(*_):
        if done:
            return ()
        done.append(what)
        if what == "another verb":
            ground.forge().write(SAVE)
            return (VIOLATED,)
        ground.forge().undo(ground.forge().receipts()[0].receipt_id)
        if what == "taken back and written again":
            ground.forge().write(COUNT)
        return (VIOLATED,)

    with patch("keisei.wiring.forge.postconditions", meanwhile):
        written = ground.forge().write(COUNT)

    left = [each.atom for each in ground.forge().receipts()]
    there = (ground.packages / "kei-note/atoms/count.md").is_file()
    assert (written.status, there, left) == {
        "another verb": ("kept", True, ["kei-note::save-it", "kei-note::count"]),
        "taken back": ("undone", False, []),
        "taken back and written again": ("undone", True, ["kei-note::count"]),
    }[what]


# --- editing ----------------------------------------------------------------------------------------------------------


def placed(ground, *drafts):
    """Written without asking whether it holds."""
    with patch("keisei.wiring.forge.postconditions", lambda *_: ()):
        return [ground.forge().write(each) for each in drafts]


def test_an_atom_is_a_draft_that_changes_nothing(ground):
    placed(ground, COUNT, SAVE)
    forge = ground.forge()

    for draft in (COUNT, SAVE):
        look = forge.look(forge.edit(f"{draft.package}::{draft.verb}"))
        assert (look.files, look.ready, look.lint, fields(look)) == ((), False, (), set())
    with pytest.raises(OperatorError, match="nothing would change"):
        forge.write(forge.edit("kei-note::count"))


def test_only_what_changes_is_written_and_the_rest_of_the_page_stays(ground):
    placed(ground, COUNT)
    page = ground.packages / "kei-note/atoms/count.md"
    page.write_text(page.read_text().replace("errors: []", "# how it fails\nerrors: []\n# what it touches"))
    page.chmod(0o640)
    forge = ground.forge()
    draft = forge.edit("kei-note::count")

    look = forge.look(replace(draft, errors=(ErrorDraft(code="Empty", description="no words"),), description="Counts."))

    (file,) = look.files
    assert file.path == "kei-note/atoms/count.md"
    added = [line for line in file.diff.splitlines() if line[0] in "+-" and line[:3] not in ("+++", "---")]
    assert added == [
        "-errors: []", "+errors:", '+  - {"code": "Empty", "description": "no words"}', "-Counts words.", "+Counts.",
    ]  # fmt: skip
    assert look.ready


def test_a_changed_schema_changes_what_the_page_copies_of_it(ground):
    placed(ground, COUNT)
    forge = ground.forge()
    draft = forge.edit("kei-note::count")
    rows = (*draft.input.rows, SchemaRow(name="language", example="en"))

    look = forge.look(replace(draft, input=SchemaDraft(rows=rows)))

    assert [each.path.rpartition("/")[2] for each in look.files] == ["count-input.json", "count.md"]
    page = look.files[1].content
    assert 'required: ["text", "language"]' in page
    assert 'example: {"text": "a b", "language": "en"}' in page
    assert page.count('"language": "en"') == 2
    assert look.lint == ()


CHANGES = {
    "a field that must be there": (
        {"input": SchemaDraft(rows=(*COUNT.input.rows, SchemaRow(name="n")))},
        "breaking-input",
    ),
    "less is taken": ({"input": SchemaDraft(rows=(SchemaRow(name="text", max_length=3),))}, "breaking-input"),
    "more comes out": ({"output": SchemaDraft(rows=(SchemaRow(name="words", type="number"),))}, "breaking-output"),
    "another kind": ({"kind": "query"}, "changed-kind"),
}


@pytest.mark.parametrize(("change", "code"), CHANGES.values(), ids=CHANGES)
def test_what_breaks_is_told_with_what_shows_it(ground, change, code):
    placed(ground, COUNT)
    forge = ground.forge()

    look = forge.look(replace(forge.edit("kei-note::count"), **change))

    assert look.breakage.answer == "breaking"
    (found,) = [each for each in look.breakage.changes if each.code == code]
    assert found.path.startswith("kei-note/atoms/")
    assert found.line


def test_what_only_adds_breaks_nothing(ground):
    placed(ground, COUNT)
    forge = ground.forge()
    rows = (*COUNT.input.rows, SchemaRow(name="language", required=False))

    look = forge.look(replace(forge.edit("kei-note::count"), input=SchemaDraft(rows=rows)))

    assert (look.ready, look.breakage.answer) == (True, "compatible")


@held
def test_an_edited_function_is_written_only_where_it_changed(ground):
    placed(ground, COUNT)
    forge = ground.forge()
    draft = forge.edit("kei-note::count")

    written = forge.write(replace(draft, code=f"# better\n{COUNT.code}", keywords=("words",)))

    assert written.status == "written"
    assert written.files == ("kei-note/atoms/count.py", "kei-note/atoms/count.md")
    assert ground.forge().edit("kei-note::count").keywords == ("words",)


def test_a_schema_is_found_among_however_many(ground):
    placed(ground, COUNT)
    schemas = ground.packages / "kei-note/atoms/schemas"
    (schemas / "_shared").mkdir()
    (schemas / "_shared/t.json").write_text('{"$ref": "u.json"}')
    (schemas / "_shared/u.json").write_text('{"type": "integer"}')
    for index in range(600):
        (schemas / f"x{index}.json").write_text("{}")
    raw = {"type": "object", "properties": {"n": {"$ref": "_shared/t.json"}}, "examples": [{"n": 1}]}
    draft = replace(COUNT, verb="other", input=SchemaDraft(raw=raw), code=None)

    assert (ground.forge().look(draft).lint, ground.forge().look(draft).ready) == ((), True)
    placed(ground, draft)
    again = ground.forge().edit("kei-note::other")
    assert ground.forge().look(replace(again, timeout_ms=5)).ready
    wrong = {**raw, "properties": {"n": {"$ref": "../../../../../../etc/passwd"}, "m": {"$ref": "_shared/none.json"}}}
    assert not ground.forge().look(replace(draft, verb="third", input=SchemaDraft(raw=wrong))).ready


def test_what_ships_is_not_edited(shared):
    with pytest.raises(OperatorError, match="not this project's own") as error:
        shared.edit("kei-task::create")
    assert "your own" in error.value.hint
    with pytest.raises(OperatorError, match="there is no atom"):
        shared.edit("../../etc::passwd")


# --- schemas ----------------------------------------------------------------------------------------------------------


def test_a_schema_is_rows_or_raw_as_one_likes(shared):
    rows = shared.infer('{"text": "x", "n": 1}', "input")

    raw = shared.as_raw(rows, "input", "package::verb")

    assert [row.name for row in rows.rows] == ["text", "n"]
    assert raw.raw["properties"] == {"text": {"type": "string"}, "n": {"type": "integer"}}
    assert shared.as_rows(raw, "input", "package::verb") == rows
    with pytest.raises(OperatorError, match="too rich"):
        shared.as_rows(SchemaDraft(raw={"type": "object", "allOf": []}), "input", "a::b")
    with pytest.raises(OperatorError, match="is not an object"):
        shared.infer("5", "input")
