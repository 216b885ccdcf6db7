"""Evidence: one place for every name, and no name that leads elsewhere."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from keisei.records.error import Refused
from keisei.records.evidence import Stored
from keisei.rules.evidence import checked, keys_of, manifest

NOON = datetime(2026, 11, 15, 12, 0, tzinfo=UTC)


def test_the_keys_of_an_attempt_stand_under_its_month_and_id():
    keys = keys_of("attempt-1", NOON)

    assert keys.folder == "attempts/2026-11/attempt-1/"
    assert keys.stdout == "attempts/2026-11/attempt-1/stdout.log"
    assert keys.of("extra.json") == "attempts/2026-11/attempt-1/extra.json"


def test_the_month_is_that_of_utc():
    late = datetime(2026, 12, 1, 1, 0, tzinfo=timezone(timedelta(hours=3)))

    assert keys_of("a", late).folder == "attempts/2026-11/a/"


@pytest.mark.parametrize("attempt_id", ["../x", "a/b", ".hidden", "a b", "ü", "a\0", "x" * 200, "\ud800"])
def test_an_id_that_is_no_name_stands_there_as_its_digest(attempt_id):
    folder = keys_of(attempt_id, NOON).folder

    assert checked(folder[:-1]).startswith("attempts/2026-11/sha256-")
    assert folder != keys_of(attempt_id + "2", NOON).folder


@pytest.mark.parametrize(
    "key", ["", "/", "/a", "a/", "a//b", "..", "a/../b", "./a", ".a", "a b", "a\\b", "a\0", "a\n", "ü", "a/" * 8 + "a"]
)
def test_what_is_no_key_is_refused(key):
    with pytest.raises(Refused):
        checked(key)


def test_a_key_has_at_most_eight_parts():
    assert checked("a/b/c/d/e/f/g/h") == "a/b/c/d/e/f/g/h"
    with pytest.raises(Refused):
        checked("a/b/c/d/e/f/g/h/i")


def test_a_manifest_names_every_file_with_digest_and_size():
    keys = keys_of("attempt-1", NOON)

    assert manifest(
        [Stored(key=keys.stdout, sha256="b" * 64, size=2), Stored(key=keys.bundle, sha256="a" * 64, size=1)]
    ) == {"bundle.json": {"sha256": "a" * 64, "size": 1}, "stdout.log": {"sha256": "b" * 64, "size": 2}}
