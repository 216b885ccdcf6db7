"""Approvals and the outbox in both stores: a row that cannot be read is left out, named, and in nobody's way."""

import pytest

from keisei.records.answer import ApprovalQuery
from keisei.records.error import OperatorError
from keisei.testing.promise.approval import asked
from keisei.testing.promise.posting import message
from tests.store.desk import postgres_desk, sqlite_desk

TORN = ["", "nope", "[]", "{", "\u2028"]


@pytest.fixture(params=["sqlite", "postgres"])
def desk(request, tmp_path):
    if request.param == "sqlite":
        with sqlite_desk(tmp_path) as found:
            yield found
    else:
        with postgres_desk(request.getfixturevalue("postgres_url")) as found:
            yield found


def test_an_approval_that_cannot_be_read_is_left_out_and_named(desk):
    good, bad = asked(desk), asked(desk)
    for text in (*TORN, "{}"):
        desk.sql("UPDATE approvals SET record = ? WHERE approval_id = ?", text, bad.approval_id)

        for query in (
            ApprovalQuery(),
            ApprovalQuery(urgent=True),
            ApprovalQuery(undated=True),
            ApprovalQuery(statuses=()),
        ):
            assert desk.store.approvals(query) == [good]
        assert desk.store.unreadable() == [f"approval {bad.approval_id}"]
        with pytest.raises(OperatorError, match=f"the stored approval {bad.approval_id} cannot be read"):
            desk.store.approval(bad.approval_id)


def test_an_outbox_row_that_cannot_be_read_is_left_out_and_named(desk):
    bad, good = message(desk), message(desk)
    for text in TORN:
        desk.sql("UPDATE outbox SET payload = ? WHERE key = ?", text, bad.key)

        assert desk.store.pending(9) == desk.store.outbox(None, 9) == desk.store.outbox("pending", 9) == [good]
        assert desk.store.unreadable() == [f"outbox row {bad.key}"]
        with pytest.raises(OperatorError, match=f"the stored outbox row {bad.key} cannot be read"):
            desk.store.outbox_item(bad.key)


def test_a_moment_that_no_calendar_has_makes_a_row_unreadable(desk):
    good, bad = message(desk), message(desk)
    desk.sql("UPDATE outbox SET created_at = ? WHERE key = ?", 2**63 - 1, bad.key)

    assert desk.store.pending(9) == [good]
    assert desk.store.unreadable() == [f"outbox row {bad.key}"]


def test_however_many_rows_cannot_be_read_those_behind_them_wait_in_sight(desk):
    for _ in range(5):
        message(desk)
    desk.sql("UPDATE outbox SET payload = 'nope'")
    good = message(desk)

    assert desk.store.pending(2) == [good]
    assert desk.store.pending(2, good.key) == []
