"""Patches: what `apply_patch` writes and deletes."""

import pytest

from keisei.records.effect import UNKNOWN
from keisei.rules.patch import patched, unified


def patch(*lines):
    return "\n".join(["*** Begin Patch", *lines, "*** End Patch"])


def test_added_and_updated_files_are_written_and_deleted_ones_deleted():
    text = patch("*** Add File: a", "+x", "*** Update File: b", "@@", "-x", "+y", "*** Delete File: c")

    assert patched(text) == (("a", "b"), ("c",))


def test_a_moved_file_is_written_where_it_goes_and_gone_where_it_was():
    writes, deletes = patched(patch("*** Update File: old", "*** Move to: new", "@@", "-x", "+y"))

    assert "new" in writes
    assert deletes == ("old",)


def test_each_path_counts_once():
    assert patched(patch("*** Update File: a", "*** Update File: a")) == (("a",), ())


@pytest.mark.parametrize(
    "line",
    [
        "  *** Add File: a",
        "***  Add  File:  a  ",
        "*** add file: a",
        "*** ADD FILE:a",
        "*** Add File: a\r",
        '*** Add File: "a"',
    ],
)
def test_a_header_counts_however_it_is_spelled(line):
    assert patched(line) == (("a",), ())


def test_paths_may_hold_blanks_and_letters_of_any_kind():
    assert patched(patch("*** Add File: a b/é.txt"))[0] == ("a b/é.txt",)


def test_content_that_is_added_is_no_header():
    assert patched(patch("*** Add File: a", "+*** Delete File: b")) == (("a",), ())


@pytest.mark.parametrize("text", ["", "hello", "*** Begin Patch\n*** End Patch", "*** Frob File: a"])
def test_text_without_a_header_touches_what_cannot_be_told(text):
    assert patched(text) == ((UNKNOWN,), ())


@pytest.mark.parametrize("char", ["\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029"])
def test_only_a_newline_ends_a_line(char):
    """The program that applies the patch knows `\\n` only: the rest of the path leads somewhere else."""
    writes, _ = patched(patch(f"*** Add File: src/{char}/../../../etc/passwd", "+x"))

    assert writes != ("src/",)
    assert any("passwd" in each or UNKNOWN in each for each in writes)


def test_a_header_behind_a_strange_line_end_is_no_reason_to_miss_the_real_one():
    writes, deletes = patched("*** Begin Patch\r\n*** Add File: a\r\n+x\r\n*** Delete File: b\r\n*** End Patch\r\n")

    assert (writes, deletes) == (("a",), ("b",))


# --- unified diffs ----------------------------------------------------------------------------------------------------

DIFF = "--- a/src/old.py\t2024-01-01\n+++ b/src/new.py\n@@ -1 +1 @@\n-x\n+y\n"


@pytest.mark.parametrize(
    ("strip", "paths"),
    [
        (0, ("a/src/old.py", "b/src/new.py")),
        (1, ("src/old.py", "src/new.py")),
        (2, ("old.py", "new.py")),
        (9, ("a/src/old.py", "b/src/new.py")),
    ],
)
def test_a_unified_diff_names_both_sides_without_its_first_components(strip, paths):
    assert unified(DIFF, strip) == paths


def test_the_null_device_is_no_file():
    assert unified("--- /dev/null\n+++ b/new\n", 1) == ("new",)


def test_a_diff_that_names_nothing_is_empty():
    assert unified("hello", 1) == ()


def test_a_patch_tool_that_is_handed_a_unified_diff_writes_its_files():
    assert patched(DIFF) == (("src/old.py", "src/new.py"), ())
