"""The cache of transforms: what it keeps, why it misses, and that nothing that is wrong with it is ever told."""

import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import apsw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from keisei.graph import cache as module
from keisei.graph.cache import LARGEST, OVERHEAD, SqliteTransformCache
from keisei.records.pipe_run import CacheKey

KEY = CacheKey(atom="kei-text::upper", version="0.1.0", spec_sha="s", code_sha="c", input_sha="i")
NOON = 1_794_798_600_000_000  # 2026-11-16 03:10 UTC
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab\x00é", max_size=3), inner, max_size=3),
    max_leaves=8,
)


class Hands:
    """A clock that stands until it is moved."""

    def __init__(self):
        self.now = NOON

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Hands()


@pytest.fixture
def cache(tmp_path, clock):
    with closing(SqliteTransformCache(tmp_path / "a folder" / "cache.db", now_us=clock)) as found:
        yield found


def test_what_was_kept_is_found_by_another_process(cache, clock, tmp_path):
    cache.keep(KEY, {"text": "A\x00é"})

    with closing(SqliteTransformCache(tmp_path / "a folder" / "cache.db", now_us=clock)) as other:
        hit = other.find(KEY)

    assert (hit.found, hit.output, hit.why) == (True, {"text": "A\x00é"}, "kept from 2026-11-16 03:10")


@settings(max_examples=60, database=None)
@given(output=json_values)
def test_any_output_comes_back_as_it_was(tmp_path_factory, output):
    with closing(SqliteTransformCache(tmp_path_factory.mktemp("cache") / "cache.db")) as cache:
        cache.keep(KEY, output)

        assert cache.find(KEY).output == output


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"code_sha": "other"}, "the code changed since 2026-11-16 03:10"),
        ({"spec_sha": "other"}, "the schema or page changed since 2026-11-16 03:10"),
        ({"spec_sha": "other", "code_sha": "other"}, "the schema or page changed since 2026-11-16 03:10"),
        ({"version": "0.2.0"}, "another version: it was 0.1.0 on 2026-11-16 03:10"),
        ({"input_sha": "other"}, "never called with this input"),
        ({"atom": "kei-text::lower"}, "never called"),
    ],
    ids=["code", "spec", "spec and code", "version", "input", "atom"],
)
def test_one_part_that_differs_is_a_miss_with_its_reason(cache, change, why):
    cache.keep(KEY, 1)

    hit = cache.find(replace(KEY, **change))

    assert (hit.found, hit.output, hit.why) == (False, None, why)


def test_the_reason_is_told_beside_what_was_kept_last(cache, clock):
    cache.keep(KEY, 1)
    clock.now += 3_600_000_000
    cache.keep(replace(KEY, version="0.2.0"), 2)

    assert cache.find(replace(KEY, version="0.3.0")).why == "another version: it was 0.2.0 on 2026-11-16 04:10"
    assert cache.find(KEY).output == 1


def test_a_later_output_replaces_the_earlier(cache):
    cache.keep(KEY, 1)
    cache.keep(KEY, 2)

    assert cache.find(KEY).output == 2


def test_what_is_too_large_or_no_json_is_not_kept(cache):
    cache.keep(KEY, "a" * LARGEST)
    cache.keep(replace(KEY, input_sha="2"), object())
    cache.keep(replace(KEY, input_sha="3"), "\ud800")
    cache.keep(replace(KEY, input_sha="4"), "a" * (LARGEST - 2))

    assert [cache.find(replace(KEY, input_sha=each)).found for each in "i234"] == [False, False, False, True]


def test_what_was_not_used_for_the_longest_time_goes_first(tmp_path, clock):
    path = tmp_path / "cache.db"
    with closing(SqliteTransformCache(path, most=(OVERHEAD + 1000) * 200, now_us=clock)) as cache:
        keys = [replace(KEY, input_sha=str(number)) for number in range(201)]
        for key in keys[:200]:
            cache.keep(key, "a" * 998)
            clock.now += 1
        clock.now += 61_000_000
        assert cache.find(keys[0]).found

        cache.keep(keys[200], "a" * 998)

        found = [cache.find(key).found for key in keys]
        assert found[0]
        assert found[200]
        assert found == [True, *sorted(found[1:])]
        assert 100 < sum(found) < 190


def test_the_total_is_what_the_rows_say(cache, tmp_path):
    for number in range(5):
        cache.keep(replace(KEY, input_sha=str(number % 3)), "a" * number)

    with closing(apsw.Connection(str(tmp_path / "a folder" / "cache.db"))) as db:
        ((total, rows),) = db.execute("SELECT (SELECT bytes FROM total), (SELECT sum(size) FROM results)").fetchall()
    assert total == rows


def spoiled(path, sql, **more):
    """A cache that holds one result, and then somebody else has been at it."""
    with closing(SqliteTransformCache(path)) as cache:
        cache.keep(KEY, {"x": 1})
    with closing(apsw.Connection(str(path))) as db:
        db.execute(sql).fetchall()
    return closing(SqliteTransformCache(path, **more))


@pytest.mark.parametrize("sql", ["UPDATE total SET bytes = 1000000000000", "DROP TRIGGER results_removed"])
def test_a_total_that_is_wrong_holds_nobody_up(tmp_path, sql):
    with spoiled(tmp_path / "cache.db", sql, most=OVERHEAD) as cache:
        cache.keep(replace(KEY, input_sha="j"), 2)
        cache.keep(replace(KEY, input_sha="k"), 3)

        assert not cache.find(KEY).found


@pytest.mark.parametrize(
    "sql",
    [
        "DELETE FROM total",
        "UPDATE results SET output = x'ff7b'",
        "UPDATE results SET output = CAST(replace(hex(zeroblob(100000)), '00', '[') AS BLOB)",
        "UPDATE results SET kept_at = 9000000000000000000",
    ],
    ids=["no total", "no JSON", "deep", "time"],
)
def test_whatever_stands_in_a_row_is_a_miss(tmp_path, sql):
    with spoiled(tmp_path / "cache.db", sql) as cache:
        assert cache.find(KEY).found is (sql == "DELETE FROM total")
        cache.keep(replace(KEY, code_sha="d"), 2)
        cache.find(replace(KEY, code_sha="e"))


def broken_bytes(path):
    path.write_bytes(b"not a database at all" * 500)


def broken_page(path):
    with closing(SqliteTransformCache(path)) as cache:
        for number in range(200):
            cache.keep(replace(KEY, input_sha=str(number)), "a" * 2000)
    data = bytearray(path.read_bytes())
    data[4096:] = b"\xff" * (len(data) - 4096)
    path.write_bytes(data)


def older_tables(path):
    with closing(apsw.Connection(str(path))) as db:
        db.execute(
            f"PRAGMA application_id = {module.OURS}; PRAGMA user_version = 0; CREATE TABLE results (a)"
        ).fetchall()


@pytest.mark.parametrize("damage", [broken_bytes, broken_page, older_tables])
def test_a_broken_file_is_a_miss_and_made_anew(tmp_path, damage):
    path = tmp_path / "cache.db"
    damage(path)

    with closing(SqliteTransformCache(path)) as cache:
        assert not cache.find(KEY).found
        cache.keep(KEY, 1)
        cache.keep(KEY, 1)

        assert cache.find(KEY).output == 1


def test_a_database_of_another_program_is_left_alone(tmp_path):
    path = tmp_path / "cache.db"
    with closing(apsw.Connection(str(path))) as db:
        db.execute(f"PRAGMA user_version = {module.VERSION}; CREATE TABLE theirs (a)").fetchall()

    with closing(SqliteTransformCache(path)) as cache:
        cache.keep(KEY, 1)
        assert cache.find(KEY).why == "the cache cannot be read"

    with closing(apsw.Connection(str(path))) as db:
        assert db.execute("SELECT name FROM sqlite_schema").fetchall() == [("theirs",)]
        assert db.pragma("journal_mode") == "delete"


def folder_there(path):
    path.mkdir()


def link_there(path):
    path.symlink_to(path.with_name("elsewhere.db"))


def file_above(path):
    path.parent.rmdir()
    path.parent.write_text("", encoding="utf-8")


@pytest.mark.parametrize("obstacle", [folder_there, link_there, file_above])
def test_a_place_that_cannot_hold_it_is_a_miss(tmp_path, obstacle):
    path = tmp_path / "inner" / "cache.db"
    path.parent.mkdir()
    obstacle(path)

    with closing(SqliteTransformCache(path)) as cache:
        cache.keep(KEY, 1)

        assert cache.find(KEY).why == "the cache cannot be read"
    assert not path.with_name("elsewhere.db").exists()


def test_whoever_holds_it_is_not_waited_for_long(tmp_path):
    path = tmp_path / "cache.db"
    with closing(SqliteTransformCache(path)) as cache, closing(apsw.Connection(str(path))) as holder:
        cache.keep(KEY, 1)
        holder.execute("BEGIN IMMEDIATE")

        cache.keep(replace(KEY, input_sha="2"), 2)

        assert cache.find(KEY).output == 1
        assert not cache.find(replace(KEY, input_sha="2")).found


def test_a_file_that_was_deleted_meanwhile_harms_nobody(tmp_path):
    path = tmp_path / "cache.db"
    with closing(SqliteTransformCache(path)) as cache:
        cache.keep(KEY, 1)
        for each in tmp_path.iterdir():
            each.unlink()

        cache.find(KEY)
        cache.keep(KEY, 2)
        cache.close()
        cache.keep(KEY, 3)

        assert cache.find(KEY).output == 3


def test_many_threads_and_two_ways_in_use_it_at_once(tmp_path):
    ways = [SqliteTransformCache(tmp_path / "cache.db") for _ in range(2)]

    def use(number):
        key = replace(KEY, input_sha=str(number % 20))
        ways[number % 2].keep(key, number % 20)
        return ways[number % 2].find(key).output in (number % 20, None)

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(use, range(200)))
    for way in ways:
        way.close()


def test_nobody_else_may_read_the_file(cache, tmp_path):
    cache.keep(KEY, 1)

    assert os.stat(tmp_path / "a folder" / "cache.db").st_mode & 0o777 == 0o600  # noqa: PTH116 - a plain question
