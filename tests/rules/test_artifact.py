"""Paths as agents write them: one file has one path, and nothing leads out of its folder."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keisei.records.error import Refused
from keisei.rules.artifact import (
    LONGEST_NAME,
    LONGEST_PATH,
    artifact_path,
    claimed_change,
    content_type,
    inside,
    role_of,
)

FOLDER = "/var/lib/keisei/shop/artifacts/task-17"
FOLDERS = (FOLDER, "/artifacts")


@pytest.mark.parametrize(
    "claimed",
    [
        "reports/x.md",
        "./reports/x.md",
        "reports//x.md",
        "reports/./x.md",
        "  reports/x.md ",
        "`reports/x.md`",
        "state/artifacts/reports/x.md",
        "deploy/lumen/state/artifacts/reports/x.md",
        "artifacts/task-17/reports/x.md",
        "state/artifacts/task-17/reports/x.md",
        "deploy/lumen/state/artifacts/task-17/reports/x.md",
        f"{FOLDER}/reports/x.md",
        f"{FOLDER}//reports/./x.md",
        "/artifacts/reports/x.md",
    ],
)
def test_every_spelling_of_an_artifact_is_one_path(claimed):
    assert artifact_path(claimed, FOLDERS) == "reports/x.md"


@pytest.mark.parametrize(
    "claimed",
    [
        "",
        "   ",
        ".",
        "/",
        FOLDER,
        "..",
        "../x.md",
        "reports/../x.md",
        "reports/../../x.md",
        "state/artifacts/../../secret",
        "/etc/passwd",
        f"{FOLDER}-evil/x.md",
        f"{FOLDER}/../task-18/x.md",
        "/var/lib/keisei/shop/artifacts/task-18/x.md",
        "~/x.md",
        "~root/x.md",
        "reports\\x.md",
        "..\\..\\x.md",
        "a\0b",
        "a\nb",
        "a\x1b[31mb",
        "a\x7fb",
        "a\x85b",
        "a\u2028b",
        "a\u202eb",
        "a\ud800b",
        "a" * (LONGEST_NAME + 1),
        "é" * 200,
        "a/" * (LONGEST_PATH // 2) + "bc",
    ],
    ids=lambda text: ascii(text)[1:60],
)
def test_what_leads_elsewhere_or_cannot_be_a_path_is_refused(claimed):
    with pytest.raises(Refused) as refusal:
        artifact_path(claimed, FOLDERS)

    assert refusal.value.message.isprintable()


def test_other_folders_called_artifacts_are_ordinary_folders():
    assert artifact_path("artifacts/x.md", FOLDERS) == "artifacts/x.md"
    assert artifact_path("artifacts/task-18/x.md", FOLDERS) == "artifacts/task-18/x.md"
    assert artifact_path("my/state/artifacts/x.md", FOLDERS) == "my/state/artifacts/x.md"
    assert artifact_path("reports/x.md", ("/home/me/reports",)) == "reports/x.md"
    assert artifact_path("artifacts/reports/x.md", ("/home/me/reports",)) == "artifacts/reports/x.md"


def test_a_path_may_be_as_long_as_a_file_system_takes():
    name = "é" * (LONGEST_NAME // 2) + "e"
    path = "a" + "/a" * ((LONGEST_PATH - 1) // 2)

    assert artifact_path(name, FOLDERS) == name
    assert artifact_path(f"{path}b", FOLDERS) == f"{path}b"
    assert len(f"{path}b") == LONGEST_PATH
    with pytest.raises(Refused):
        artifact_path(f"{path}bc", FOLDERS)


def test_the_root_folder_holds_everything():
    assert inside("/etc/passwd", ("/",)) == "etc/passwd"


@given(st.text(max_size=40) | st.text("./\\~ab\0", max_size=20))
def test_no_text_leads_outside(text):
    try:
        path = artifact_path(text, FOLDERS)
    except Refused:
        return

    parts = path.split("/")
    assert path
    assert not path.startswith("/")
    assert not {"", ".", ".."} & set(parts)
    assert "\0" not in path


@given(
    st.lists(st.text("abc.-_ü", min_size=1, max_size=5).filter(lambda part: part.strip(".")), min_size=1, max_size=4)
)
def test_a_normal_path_stays_as_it_is(parts):
    path = "/".join(parts)

    assert inside(path, FOLDERS) == path
    assert inside(f"{FOLDER}/{path}", FOLDERS) == path


@pytest.mark.parametrize(
    ("text", "path", "change"),
    [
        ("src/a.py", "src/a.py", None),
        ("created: src/a.py", "src/a.py", "added"),
        ("Added: src/a.py", "src/a.py", "added"),
        ("new: src/a.py", "src/a.py", "added"),
        ("modified: src/a.py", "src/a.py", "modified"),
        ("UPDATED:   src/a.py", "src/a.py", "modified"),
        ("changed: src/a.py", "src/a.py", "modified"),
        ("deleted: src/a.py", "src/a.py", "deleted"),
        ("removed: src/a.py", "src/a.py", "deleted"),
        ("src/a.py - rounds once", "src/a.py", None),
        ("src/a.py — rounds once", "src/a.py", None),
        ("src/a.py (new)", "src/a.py", None),
        ("src/a.py (new) - rounds once", "src/a.py", None),
        ("created: `src/a.py` - rounds once (half up)", "src/a.py", "added"),
        ("src/a-b.py", "src/a-b.py", None),
        ("src/a b.py", "src/a b.py", None),
        ("renamed: src/a.py", "renamed: src/a.py", None),
        ("created:src/a.py", "created:src/a.py", None),
        ("created: ", "created:", None),
        ("", "", None),
    ],
)
def test_a_claimed_change_is_read_into_a_path_and_a_deed(text, path, change):
    claim = claimed_change(text)

    assert (claim.path, claim.change) == (path, change)


def test_the_note_is_kept_beside_the_path_because_it_may_be_part_of_the_name():
    claim = claimed_change("modified: notes (1).md (typos)")

    assert (claim.path, claim.said) == ("notes (1).md", "notes (1).md (typos)")
    assert claimed_change("notes (1)").said == "notes (1)"


def test_a_lone_backtick_is_kept():
    assert claimed_change("`").path == "`"
    assert claimed_change("``").path == ""


def test_a_word_may_stand_beside_the_path():
    assert claimed_change("a.py", "Created").change == "added"
    assert claimed_change("deleted: a.py", "created").change == "deleted"
    assert claimed_change("a.py", "danced").change is None


@given(st.text(max_size=60))
def test_any_claim_is_read(text):
    claimed_change(text)


def test_a_claim_of_nothing_but_blanks_is_read_in_one_pass():
    assert claimed_change("a" + " " * 200_000 + "b").path.endswith("b")
    assert claimed_change("a" + " (" * 100_000).path.endswith("(")


@pytest.mark.parametrize(
    ("path", "role"),
    [
        ("plan", "plan"),
        ("plan.md", "plan"),
        ("plan.tar.gz", "plan"),
        ("verify-report.md", "verify-report"),
        ("plans.md", None),
        ("planning/plan.md", None),
        ("plan.d/x.md", None),
        ("reports/x.md", None),
    ],
)
def test_a_role_is_known_by_the_name_of_the_file(path, role):
    assert role_of(path) == role


def test_only_roles_that_are_asked_for_count():
    assert role_of("plan.md", ("output",)) is None


def test_common_endings_have_a_media_type():
    assert content_type("a/b.MD") == "text/markdown"
    assert content_type("a/b") is None
    assert content_type("a/b.unknown") is None
