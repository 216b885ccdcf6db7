"""Census: tests that are gone, emptied or skipped, by the real parsers."""

from keisei.grammar.outline import outline
from keisei.records.verification import Difference
from keisei.records.worktree import Change
from keisei.rules.predicate.census import TestCensus as Counted
from keisei.rules.predicate.census import census
from keisei.rules.predicate.port import Census

CHECKED = "def test_a():\n    assert f() == 1\n\n\ndef test_b():\n    assert f() == 2\n"


class Blobs:
    """Contents that are their own names, read by the real parser."""

    def read(self, blob, most):
        return blob.encode()[:most]

    def outlines(self, files):
        return [outline(path, blob.encode()) for path, blob in files]

    def is_at_base(self, path):
        raise AssertionError(path)


def change(path, before, after, mode="100644"):
    status = "added" if before is None else "deleted" if after is None else "modified"
    return Change(
        path=path,
        status=status,
        mode=mode if after is not None else "000000",
        old_mode=mode if before is not None else "000000",
        blob=after or "0" * 40,
        old_blob=before or "0" * 40,
    )


def counted(*changes):
    return census(Difference(candidate=(), merged=changes), Blobs())


def test_it_is_what_predicates_ask_for():
    told: Census = counted(change("tests/test_a.py", CHECKED, CHECKED + "x = 1\n"))

    assert told == Counted(files=("tests/test_a.py",))


def test_a_test_that_is_gone_is_removed():
    told = counted(change("tests/test_a.py", CHECKED, CHECKED.partition("\n\n\n")[0]))

    assert told == Counted(files=("tests/test_a.py",), removed=("tests/test_a.py: test_b",))


def test_a_file_that_is_gone_removes_its_tests():
    told = counted(change("tests/test_a.py", CHECKED, None))

    assert told.files == ("tests/test_a.py",)
    assert told.removed == ("tests/test_a.py: test_a", "tests/test_a.py: test_b")


def test_a_test_that_moved_to_another_touched_file_is_not_removed():
    first, second = CHECKED.split("\n\n\n")

    told = counted(change("tests/test_a.py", CHECKED, first), change("tests/test_b.py", None, second))

    assert told == Counted(files=("tests/test_a.py", "tests/test_b.py"))


def test_one_test_elsewhere_stands_for_one_that_is_gone():
    told = counted(
        change("tests/test_a.py", CHECKED, None),
        change("tests/test_b.py", CHECKED, None),
        change("tests/test_c.py", None, CHECKED),
    )

    assert told.removed == ("tests/test_b.py: test_a", "tests/test_b.py: test_b")


def test_a_function_that_stops_being_a_test_is_removed():
    told = counted(change("src/lib.rs", "#[test]\nfn a() { f(); }\n", "fn a() { f(); }\n"))

    assert told == Counted(files=("src/lib.rs",), removed=("src/lib.rs: a",))


def test_a_test_that_checks_nothing_any_longer_is_emptied():
    told = counted(change("tests/test_a.py", CHECKED, CHECKED.replace("assert f() == 1", "assert True")))

    assert told == Counted(files=("tests/test_a.py",), emptied=("tests/test_a.py: test_a",))


def test_a_new_test_that_checks_nothing_is_emptied():
    assert counted(change("test_a.py", None, "def test_x():\n    pass\n")).emptied == ("test_a.py: test_x",)


def test_what_was_empty_before_is_not_told_also_where_it_moved():
    empty = "def test_x():\n    pass\n"

    assert counted(change("test_a.py", empty, empty + "y = 1\n")).emptied == ()
    assert counted(change("test_a.py", empty, None), change("test_b.py", None, empty)).emptied == ()


def test_a_test_that_is_skipped_now_is_skipped_and_not_emptied():
    after = "import pytest\n\n\n@pytest.mark.skip\n" + CHECKED.replace("assert f() == 1", "pass")

    told = counted(change("tests/test_a.py", CHECKED, after))

    assert told == Counted(files=("tests/test_a.py",), skipped=("tests/test_a.py: test_a",))


def test_what_was_skipped_before_is_not_told():
    before = 'it.skip("a", () => { f() });\n'

    assert counted(change("a.test.js", before, before + "\n")).skipped == ()


def test_a_whole_file_that_is_skipped_is_told_test_by_test():
    told = counted(change("test_a.py", CHECKED, "pytestmark = pytest.mark.skip\n" + CHECKED))

    assert told.skipped == ("test_a.py: test_a", "test_a.py: test_b")


def test_files_without_tests_links_and_other_languages_say_nothing():
    told = counted(
        change("src/a.py", "x = 1\n", "x = 2\n"),
        change("tests/test_l.py", None, CHECKED, mode="120000"),
        change("README.md", None, "def test_a(): pass\n"),
    )

    assert told == Counted()


def test_where_nothing_was_merged_the_candidate_is_counted():
    told = census(Difference(candidate=(change("test_a.py", CHECKED, None),)), Blobs())

    assert told.removed == ("test_a.py: test_a", "test_a.py: test_b")


def test_a_title_cannot_command_a_terminal():
    told = counted(change("a.test.js", None, 'it("a\x1b[2J", () => {});\n'))

    assert told.emptied[0].isprintable()
