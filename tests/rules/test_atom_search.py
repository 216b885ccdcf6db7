"""Search: what is typed is found, a slip of the finger is forgiven, and no text breaks it."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keisei.records.atom_spec import AtomRow
from keisei.rules.atom_search import STOP, ranked
from tests.kit.desk import ATOMS, spec_of

QUICK = settings(max_examples=60, deadline=None, database=None)

WIDE = "".join(chr(ord(letter) + 0xFEE0) for letter in "HISTORY")


def row(atom, summary="", keywords=(), deprecated=None):
    return AtomRow(
        atom=atom,
        kind="query",
        version="0.1.0",
        stability="stable",
        summary=summary,
        path=f"/{atom}.md",
        layer="kit",
        deprecated=deprecated,
        keywords=tuple(keywords),
    )


ROWS = (
    row("kei-fs::read", "Returns the text of a file.", ["file", "cat", "open", "load"]),
    row("kei-fs::write", "Writes a text to a file.", ["file", "save", "create"]),
    row("kei-fs::list", "Lists what is in a folder.", ["directory", "ls", "file"]),
    row("kei-fs::remove", "Removes a file or a folder.", ["delete", "rm", "unlink"]),
    row("kei-json::query", "Picks values out of a document by JSONPath.", ["jsonpath", "select", "filter"]),
    row("kei-json::diff", "Tells how two documents differ, as a patch.", ["compare", "difference", "rfc6902"]),
    row("kei-text::diff", "Tells how two texts differ.", ["compare", "unified", "difference"]),
    row("kei-git-read::log", "Lists the commits that led to a revision.", ["history", "commit"]),
    row("kei-time::now", "Tells what time it is.", ["clock", "date", "today"]),
)


def found(query, limit=10, rows=ROWS):
    return [each.atom for each in ranked(query, rows, limit)]


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("read a file", "kei-fs::read"),
        ("kei-fs::read", "kei-fs::read"),
        ("delete file", "kei-fs::remove"),
        ("compare two texts", "kei-text::diff"),
        ("diff json", "kei-json::diff"),
        ("JSONPath", "kei-json::query"),
        ("commit history", "kei-git-read::log"),
        ("what time is it", "kei-time::now"),
        ("git-read", "kei-git-read::log"),
    ],
)
def test_what_is_asked_for_stands_first(query, first):
    assert found(query)[0] == first


@pytest.mark.parametrize(
    "typo",
    ["histori", "hstory", "hisotry", "historyy", "xistory", "histor", "hist", "his"],
    ids=["changed", "missing", "exchanged", "doubled", "first", "cut", "beginning", "short-beginning"],
)
def test_a_beginning_and_one_wrong_letter_are_understood(typo):
    assert found(typo)[0] == "kei-git-read::log"


@pytest.mark.parametrize("query", ["hisx", "hsotiry", "xyzzy", "lgo", "hi", "h"])
def test_more_than_one_wrong_letter_and_short_words_are_not_guessed(query):
    assert "kei-git-read::log" not in found(query)


def test_a_whole_word_stands_before_a_beginning_of_one():
    rows = (row("a::listing"), row("b::list"), row("c::lists"))

    assert found("list", rows=rows) == ["b::list", "a::listing", "c::lists"]


def test_who_knows_more_of_the_words_stands_first():
    rows = (row("a::open", keywords=["file"]), row("b::x", "Opens nothing."), row("z::open", keywords=["window"]))

    assert found("open window", rows=rows)[0] == "z::open"


def test_a_deprecated_atom_stands_behind_its_like():
    rows = (row("a::read", "Reads.", deprecated="use b::read"), row("b::read", "Reads."))

    assert found("read", rows=rows) == ["b::read", "a::read"]


@pytest.mark.parametrize("query", ["", "   ", "!!! ---", "::", "\x00"])
def test_without_a_word_all_are_told_by_id(query):
    assert found(query, limit=3) == sorted(each.atom for each in ROWS)[:3]


@pytest.mark.parametrize(("limit", "count"), [(0, 0), (-4, 0), (1, 1), (2, 2), (99, 4)])
def test_no_more_than_asked_for_come_back(limit, count):
    assert len(found("file", limit)) == count


def test_the_order_does_not_depend_on_the_order_of_the_rows():
    queries = ["file", "diff", "a text", "commit"]

    assert [found(query, rows=ROWS[::-1]) for query in queries] == [found(query) for query in queries]


def test_without_rows_nothing_is_found():
    assert found("read", rows=()) == []


@QUICK
@given(
    query=st.one_of(
        st.text(max_size=40),
        st.lists(st.sampled_from(["file", "re", "diff", ".*", "(", "\\", "%", WIDE, "ß", "\ud800"])).map(" ".join),
    ),
    limit=st.integers(-1, 12),
)
def test_any_text_is_safe_and_answered_the_same_way_twice(query, limit):
    first = ranked(query, ROWS, limit)

    assert first == ranked(query, ROWS[::-1], limit)
    assert len(first) <= max(limit, 0)
    assert len(set(first)) == len(first)
    assert set(first) <= set(ROWS)


def test_a_very_long_query_is_cut():
    assert found("file " + "x" * 1_000_000) == found("file")


def test_wide_letters_and_capitals_are_the_same_word():
    assert found(WIDE) == found("History") == ["kei-git-read::log"]


def test_small_words_count_only_where_there_is_no_other():
    rows = (row("a::turn", keywords=["into"]), row("b::x", keywords=["list"]))

    assert "into" in STOP
    assert found("into the list", rows=rows) == ["b::x"]
    assert found("into", rows=rows) == ["a::turn"]


# --- what ships -------------------------------------------------------------------------------------------------------

ASKED = [
    ("what changed since the last commit", "kei-git-read::diff"),
    ("wait for a file to change", "kei-fs::watch"),
    ("grep", "kei-text::search kei-git-read::search"),
    ("run several atoms", "kei-runtime::invoke kei-runtime::plan"),
    ("size of a file", "kei-fs::stat"),
    ("fetch a web page", "kei-http::get"),
    ("what time is it in Tokyo", "kei-time::now"),
    ("extract a field from json", "kei-json::query"),
    ("read a file", "kei-fs::read"),
    ("save text to a file", "kei-fs::write"),
    ("delete a folder", "kei-fs::remove"),
    ("rename a file", "kei-fs::move"),
    ("create a directory", "kei-fs::make-folder"),
    ("list files in a directory", "kei-fs::list"),
    ("find all python files", "kei-fs::glob"),
    ("does this file exist", "kei-fs::stat"),
    ("duplicate a folder", "kei-fs::copy"),
    ("sha256 of a file", "kei-hash::file"),
    ("md5 of a string", "kei-hash::digest"),
    ("sign a webhook", "kei-hash::hmac"),
    ("are two folders the same", "kei-hash::tree"),
    ("download a file from a url", "kei-http::download"),
    ("post json to an api", "kei-http::send"),
    ("who wrote this line", "kei-git-read::blame"),
    ("commit history", "kei-git-read::log"),
    ("list branches and tags", "kei-git-read::refs"),
    ("uncommitted changes", "kei-git-read::status kei-git-read::diff"),
    ("search the code for a word", "kei-git-read::search"),
    ("show a file as it was in an old commit", "kei-git-read::show"),
    ("convert yaml to json", "kei-json::parse"),
    ("check json against a schema", "kei-json::validate"),
    ("compare two json documents", "kei-json::diff"),
    ("merge two configs", "kei-json::merge"),
    ("replace text with a regex", "kei-text::replace"),
    ("count words", "kei-text::count"),
    ("split a text into chunks", "kei-text::split"),
    ("compare two texts", "kei-text::diff"),
    ("apply a patch to a text", "kei-text::patch"),
    ("add three days to a date", "kei-time::shift"),
    ("convert between time zones", "kei-time::convert"),
    ("how many days between two dates", "kei-time::between"),
    ("next run of a cron expression", "kei-time::next"),
    ("start another agent", "kei-agent::enqueue"),
    ("stop a running task", "kei-agent::cancel"),
    ("how much did the task cost", "kei-agent::status"),
    ("what did the agent leave behind, its logs", "kei-agent::evidence"),
    ("which atoms are there", "kei-runtime::list"),
    ("add a todo", "kei-task::create"),
    ("mark a task as done", "kei-task::complete"),
    ("what does this task depend on", "kei-task::chain kei-task::get"),
    ("milestone progress in percent", "kei-milestone::progress"),
    ("upgrade the database schema", "kei-migrate::up"),
]
"""What somebody types, and the atom that is meant; several where any of them is right."""


def test_the_atoms_that_ship_are_found_by_what_people_type():
    specs = list(map(spec_of, ATOMS))
    shipped = [row(spec.id, spec.summary, spec.manifest.keywords, spec.manifest.deprecated) for spec in specs]
    answers = [(query, set(meant.split()), found(query, 3, shipped)) for query, meant in ASKED]

    assert [(query, best) for query, meant, best in answers if not meant & set(best)] == []
    assert sum(best[0] in meant for _, meant, best in answers) >= len(ASKED) * 4 / 5
