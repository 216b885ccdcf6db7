"""File changes: a claim is true where the difference says so, whatever note it carries."""

from functools import partial

import pytest

from keisei.records.snapshot import Changes, Entry, Snapshot
from keisei.rules.artifact import artifact_path, claimed_change, inside
from keisei.rules.change import Spot, deeds, matched, unclaimed

WORK = Spot(
    deeds=deeds(Changes(added=("new.py", "notes (1).md"), modified=("src/a.py",), deleted=("old.py",))),
    read=partial(inside, folders=("/srv/tree",)),
)
SHELF = Spot(
    deeds=deeds(Changes(added=("reports/x.md",))),
    read=partial(artifact_path, folders=("/state/artifacts/t1",)),
)


def fault(text, word=None):
    return matched(claimed_change(text, word), (WORK, SHELF)).fault


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("src/a.py", "src/a.py"),
        ("./src/a.py", "src/a.py"),
        ("/srv/tree/src/a.py", "src/a.py"),
        ("modified: src/a.py", "src/a.py"),
        ("src/a.py - rounds once", "src/a.py"),
        ("src/a.py (rounding)", "src/a.py"),
        ("created: new.py", "new.py"),
        ("deleted: old.py", "old.py"),
        ("old.py", "old.py"),
        ("notes (1).md", "notes (1).md"),
        ("notes (1).md (added a line)", "notes (1).md"),
    ],
)
def test_a_true_claim_is_found_in_the_working_folder(text, path):
    found = matched(claimed_change(text), (WORK, SHELF))

    assert (found.fault, found.path) == (None, path)
    assert found.spot is WORK


@pytest.mark.parametrize(
    "text",
    ["reports/x.md", "state/artifacts/reports/x.md", "/state/artifacts/t1/reports/x.md", "created: reports/x.md"],
)
def test_an_artifact_may_be_claimed_as_a_change(text):
    found = matched(claimed_change(text), (WORK, SHELF))

    assert (found.fault, found.path) == (None, "reports/x.md")
    assert found.spot is SHELF


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("invented.py", "invented.py was not changed, although it is claimed"),
        ("src/cli.py", "src/cli.py was not changed, although it is claimed"),
        ("created: invented.py (new)", "invented.py was not added, although it is claimed"),
        ("created: src/a.py", "src/a.py was modified, although it is claimed as added"),
        ("modified: new.py", "new.py was added, although it is claimed as modified"),
        ("deleted: src/a.py", "src/a.py was modified, although it is claimed as deleted"),
        ("modified: old.py", "old.py was deleted, although it is claimed as modified"),
        ("../outside.py", "climbs out with `..`"),
        ("/etc/passwd", "is outside the folder"),
        ("src\\a.py", "contains a backslash"),
        ("src/a.py/", None),
        ("src", "src was not changed"),
        ("created:", "created: was not changed"),
    ],
)
def test_a_claim_that_is_not_true_is_told(text, words):
    if words is None:
        assert fault(text) is None
    else:
        assert words in fault(text)


def test_a_word_beside_the_path_counts_as_one_before_it():
    assert fault("old.py", "deleted") is None
    assert "although it is claimed as added" in fault("old.py", "created")


def test_folders_need_no_claim_of_their_own():
    file, folder = Entry("file", 1, 1, 1, 1, 0o644), Entry("folder", 0, 1, 1, 2, 0o755)
    before = Snapshot(entries={"gone": folder, "gone/a": file, "kept": file})
    after = Snapshot(entries={"new": folder, "new/b": file, "kept": file})
    real = {"gone": "deleted", "gone/a": "deleted", "new": "added", "new/b": "added", "kept": "modified"}

    assert unclaimed(real, (), before, after) == ["gone/a", "kept", "new/b"]
    assert unclaimed(real, ("kept", "other"), before, after) == ["gone/a", "new/b"]
