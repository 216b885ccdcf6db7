"""Taking back: bytes and modes as they were, nothing of somebody else's lost, and a kill at any step leaves no half."""

import os
from pathlib import Path
from unittest.mock import patch

import pytest
from msgspec.structs import replace

from keisei.library.placement import ASIDE
from keisei.records.draft import ErrorDraft, SchemaDraft, SchemaRow
from keisei.records.error import OperatorError, WorldFault
from keisei.wiring import forge_undo
from keisei.wiring.forge_journal import Journal
from keisei.wiring.forge_receipt import Receipts
from tests.wiring.forge_ground import COUNT, SAVE, Ground, killed_at_each_step, unchecked


@pytest.fixture
def ground(tmp_path):
    return Ground(tmp_path)


@pytest.fixture(autouse=True)
def _unasked(monkeypatch):
    """Whether it holds is asked elsewhere."""
    monkeypatch.setattr("keisei.wiring.forge.postconditions", unchecked)


def changed(ground):
    """The atom `count`, edited: schema, function and page."""
    draft = ground.forge().edit("kei-note::count")
    rows = (*COUNT.input.rows, SchemaRow(name="n", type="integer", required=False, example=1))
    errors = (ErrorDraft(code="Empty", description="no words"),)
    return replace(draft, input=SchemaDraft(rows=rows), errors=errors, code=f"# more\n{COUNT.code}")


def a_new_package(_):
    return COUNT


def a_new_verb(ground):
    ground.forge().write(COUNT)
    return SAVE


def a_new_verb_of_rust(ground):
    ground.forge().write(replace(COUNT, language="rust", code=None))
    return SAVE


def an_edited_atom(ground):
    ground.forge().write(COUNT)
    (ground.packages / "kei-note/atoms/count.md").chmod(0o640)
    (ground.packages / "kei-note/atoms/count.py").chmod(0o755)
    return changed(ground)


CASES = [a_new_package, a_new_verb, a_new_verb_of_rust, an_edited_atom]
case = pytest.mark.parametrize("prepare", CASES, ids=lambda each: each.__name__)
kill = pytest.mark.parametrize("prepare", [a_new_package, a_new_verb, an_edited_atom], ids=lambda each: each.__name__)


@case
def test_undo_puts_back_bytes_and_modes_also_after_a_restart(ground, prepare):
    draft = prepare(ground)
    before, slips = ground.tree(), ground.slips()

    written = ground.forge().write(draft)
    after = ground.tree()
    (receipt, *_) = ground.forge().receipts()
    undone = ground.forge().undo(receipt.receipt_id)

    assert (after != before, ground.tree()) == (True, before)
    assert receipt.receipt_id == written.receipt_id
    assert set(written.files) == set(receipt.files) <= {*undone.removed, *undone.restored}
    assert ground.slips() == slips
    with pytest.raises(OperatorError, match="no such receipt"):
        ground.forge().undo(receipt.receipt_id)


@kill
def test_a_write_that_is_killed_at_any_step_leaves_all_or_nothing(ground, prepare):
    draft, forge = prepare(ground), ground.forge()
    before, older = ground.tree(), forge.receipts()
    written = forge.write(draft)
    after = ground.tree()
    forge.undo(written.receipt_id)
    ends = set()

    for step in killed_at_each_step(lambda: forge.write(draft)):
        new = [each for each in forge.receipts() if each not in older]
        assert ground.tree() == (after if new else before), step
        ends.add(bool(new))
        for each in new:
            forge.undo(each.receipt_id)
            assert ground.tree() == before, step

    assert ends == {True, False}
    assert step > 2 * len(written.files)


@kill
def test_an_undo_that_is_killed_at_any_step_is_finished_by_the_next_who_comes(ground, prepare):
    draft, forge = prepare(ground), ground.forge()
    before, older = ground.tree(), forge.receipts()
    forge.write(draft)
    after, ends = ground.tree(), set()

    for step in killed_at_each_step(lambda: forge.undo(forge.receipts()[0].receipt_id)):
        new = [each for each in forge.receipts() if each not in older]
        assert ground.tree() == (after if new else before), step
        ends.add(bool(new))
        if not new:
            forge.write(draft)

    assert ends == {True, False}


def test_a_file_that_somebody_changed_is_named_and_nothing_is_taken_back(ground):
    written = ground.forge().write(a_new_verb(ground))
    page = ground.packages / "kei-note/atoms/save-it.md"
    page.write_text(page.read_text() + "mine\n")
    there = ground.tree()

    with pytest.raises(OperatorError, match=r"kei-note/atoms/save-it\.md` was changed since"):
        ground.forge().undo(written.receipt_id)
    assert ground.tree() == there
    page.unlink()
    with pytest.raises(OperatorError, match=r"save-it\.md` is gone"):
        ground.forge().undo(written.receipt_id)
    page.symlink_to("/etc/passwd")
    with pytest.raises(OperatorError, match=r"save-it\.md` was changed since"):
        ground.forge().undo(written.receipt_id)
    assert Path("/etc/passwd").is_file()
    assert written.receipt_id in [each.receipt_id for each in ground.forge().receipts()]


def test_a_package_with_somebody_elses_file_stays(ground):
    first = ground.forge().write(COUNT).receipt_id
    second = ground.forge().write(SAVE).receipt_id

    with pytest.raises(OperatorError, match="`kei-note::save-it` was written since") as error:
        ground.forge().undo(first)
    assert "take back `kei-note::save-it`" in error.value.hint
    ground.forge().undo(second)
    link = ground.packages / "kei-note/atoms/link"
    link.symlink_to("/etc")
    with pytest.raises(OperatorError, match=r"kei-note/atoms/link` was put there"):
        ground.forge().undo(first)
    link.unlink()
    cache = ground.packages / "kei-note/atoms/__pycache__"
    cache.mkdir(exist_ok=True)
    (cache / "count.cpython-311.pyc").write_bytes(b"x")
    ground.forge().undo(first)

    assert ground.tree().keys() == {"keisei.toml"}


def test_a_file_that_comes_at_the_last_moment_is_not_lost(ground):
    receipt = ground.forge().write(COUNT).receipt_id
    there = ground.tree()
    real = forge_undo._check_aside

    def late(aside, slip):
        (aside / "late").write_text("mine")
        real(aside, slip)

    with patch.object(forge_undo, "_check_aside", late), pytest.raises(OperatorError, match="late"):
        ground.forge().undo(receipt)

    (ground.packages / "kei-note/late").unlink()
    assert ground.tree() == there
    ground.forge().undo(receipt)
    assert not ground.packages.exists()


def test_a_folder_that_was_made_and_is_used_by_somebody_else_stays(ground):
    receipt = ground.forge().write(COUNT).receipt_id
    (ground.root / ".keisei/notes.md").write_text("mine")

    undone = ground.forge().undo(receipt)

    assert ground.tree().keys() == {"keisei.toml", ".keisei", ".keisei/notes.md"}
    assert not any(each.endswith(".keisei") for each in undone.removed)


@pytest.mark.parametrize("name", ["", "../../keisei", "0" * 36, "x\0", "01920c7e-0000-7000-8000-000000000000"])
def test_what_is_no_receipt_is_none(ground, name):
    ground.forge().write(COUNT)
    with pytest.raises(OperatorError, match="no such receipt"):
        ground.forge().undo(name)


def test_receipts_that_cannot_be_read_are_passed_over(ground):
    kept = ground.forge().write(COUNT).receipt_id
    folder = ground.slips()[0].parent
    (folder / "01920c7e-0000-7000-8000-000000000000.json").write_text("{")
    (folder / "01920c7e-0000-7000-8000-000000000001.json").symlink_to("/etc/passwd")
    os.mkfifo(folder / "01920c7e-0000-7000-8000-000000000002.json")

    assert [each.receipt_id for each in ground.forge().receipts()] == [kept]


def test_who_waits_too_long_is_told(ground):
    held, forge = Receipts(ground.state / "house" / "forge"), ground.forge()
    turn = Journal.turn

    hasty = patch.object(Journal, "turn", lambda journal: turn(journal, 0))
    with held.turn(), hasty, pytest.raises(WorldFault, match="somebody else is writing") as error:
        forge.write(COUNT)

    assert error.value.retryable
    assert ground.tree().keys() == {"keisei.toml"}


def test_what_was_written_into_the_same_files_since_is_named(ground):
    ground.forge().write(COUNT)
    first = ground.forge().write(changed(ground)).receipt_id
    again = replace(ground.forge().edit("kei-note::count"), timeout_ms=5)
    second = ground.forge().write(again).receipt_id

    with pytest.raises(OperatorError, match="`kei-note::count` was written since"):
        ground.forge().undo(first)
    ground.forge().undo(second)
    ground.forge().undo(first)


def test_what_somebody_removed_by_hand_is_forgotten(ground):
    ground.forge().write(COUNT)
    receipt = ground.forge().write(SAVE)
    for each in receipt.files:
        (ground.packages / each).unlink()

    undone = ground.forge().undo(receipt.receipt_id)

    assert (undone.removed, [each.atom for each in ground.forge().receipts()]) == ((), ["kei-note::count"])


def test_without_room_for_more_than_the_first_word_of_it_it_can_be_taken_back(ground):
    before, save = ground.tree(), Receipts.save

    def full(receipts, slip):
        if slip.state != "pending":
            raise WorldFault("no receipt can be kept: no space left on device")
        save(receipts, slip)

    with patch.object(Receipts, "save", full):
        written = ground.forge().write(COUNT)
        assert [each.receipt_id for each in ground.forge().receipts()] == [written.receipt_id]
        ground.forge().undo(written.receipt_id)

    assert (ground.tree(), ground.slips()) == (before, [])


def test_what_a_killed_writer_left_beside_the_receipts_goes(ground):
    ground.forge().write(COUNT)
    left = ground.slips()[0].parent / ".new-x1"
    left.write_text("{")

    assert len(ground.forge().receipts()) == 1
    assert not left.exists()


def test_nothing_hidden_is_left(ground):
    receipt = ground.forge().write(COUNT).receipt_id
    second = ground.forge().write(changed(ground)).receipt_id
    ground.forge().undo(second)
    ground.forge().undo(receipt)

    assert not list(ground.root.rglob(f"{ASIDE}*"))
