import threading

import apsw
import pytest

from keisei.console import ledger
from keisei.console.ledger_check import Verifier
from keisei.records.move import NewEntry
from tests.console.house import VIEWER, open_house

HOSTILE = "<script>alert(1)</script>\x1b[31m\u202e"


@pytest.fixture
def house(tmp_path):
    with open_house(tmp_path) as opened:
        yield opened


def write(house, count, kind="review_held", subject="s1", **body):
    for _ in range(count):
        house.store.append(NewEntry(kind=kind, actor=HOSTILE, subject=subject, body=body or {"n": 1}))


def change(house, sql):
    """Change the file as somebody would who is not keisei."""
    house.store.close()
    (path,) = house.premises.home.folder.glob("state.db")
    db = apsw.Connection(str(path))
    for name, kind in list(db.execute("SELECT name, type FROM sqlite_schema WHERE type = 'trigger'")):
        db.execute(f'DROP {kind} "{name}"')
    db.execute(sql)
    db.close()


def test_an_empty_ledger_says_what_will_stand_there(house):
    assert house.api("/ledger")["items"] == []
    assert "The ledger is empty" in house.page("/ledger")


def test_rows_are_told_newest_first_page_by_page(house):
    write(house, 5)

    first = house.api("/ledger", limit=2)
    second = house.api("/ledger", limit=2, after=first["next"])
    third = house.api("/ledger", limit=2, after=second["next"])

    assert [each["seq"] for page in (first, second, third) for each in page["items"]] == [5, 4, 3, 2, 1]
    assert third["next"] is None
    assert house.client.get("/api/v1/ledger?after=-1").status_code == 422


def test_rows_are_told_by_kind_and_subject(house, monkeypatch):
    monkeypatch.setattr(ledger, "AT_ONCE", 2)
    monkeypatch.setattr(ledger, "LOOKED", 4)
    write(house, 1, subject="rare")
    write(house, 6)
    write(house, 1, kind="other_kind")

    assert [each["seq"] for each in house.api("/ledger", kind="other_kind")["items"]] == [8]
    first = house.api("/ledger", subject="rare")
    assert (first["items"], first["stopped"]) == ([], True)
    second = house.api("/ledger", subject="rare", after=first["next"])
    assert ([each["seq"] for each in second["items"]], second["stopped"]) == ([1], False)
    few = house.api("/ledger", subject="s1", kind="review_held", limit=1)
    assert ([each["seq"] for each in few["items"]], few["next"]) == ([7], "7")


def test_a_row_is_told_with_its_bytes_and_its_hash(house):
    write(house, 2, subject=HOSTILE.replace("\x1b", ""), text=HOSTILE, number=1.5)

    told = house.api("/ledger/1")
    page = house.page("/ledger/1")

    assert told["holds"] is True
    assert told["content_hash"] == told["entry"]["leaf_hash"]
    assert told["newer"] is True
    assert "<script>alert" not in page + house.page("/ledger")
    assert "\x1b" not in page
    assert "\u202e" not in page


def test_a_row_that_is_not_there_is_not_found(house):
    for seq in ("0", "-1", "9", "x", "99999999999999999999", "%00"):
        assert house.client.get(f"/ledger/{seq}").status_code in (404, 422), seq
        assert house.client.get(f"/api/v1/ledger/{seq}").status_code in (404, 422), seq
    for name in ("%00", "%ff", "%F0%9F%8D%9E", "x" * 900):
        assert house.client.get(f"/api/v1/ledger?kind={name}&subject={name}").json()["items"] == [], name


def test_a_whole_chain_is_told_with_its_head(house):
    write(house, 3)
    told = house.order("/ledger/verify").json()
    assert (told["ok"], told["rows"], told["running"]) == (True, 3, False)
    assert "whole" in house.page("/ledger")

    write(house, 1)
    kept = house.order("/ledger/verify", head=told["head"].upper()).json()
    assert (kept["ok"], kept["rows"], kept["kept_head_found"]) == (True, 4, True)
    lost = house.order("/ledger/verify", head="ab" * 32).json()
    assert (lost["ok"], lost["kept_head_found"], lost["broken_row"]) == (False, False, None)
    assert "cut off" in house.page("/ledger")
    assert house.order("/ledger/verify", head="no").status_code == 422


def test_a_row_that_was_changed_is_named(house):
    write(house, 3)
    changed = "CAST(replace(CAST(content AS TEXT), 'review_held', 'review_lost') AS BLOB)"
    change(house, f"UPDATE ledger SET content = {changed} WHERE entry_id = 2")  # noqa: S608 - ours

    told = house.order("/ledger/verify").json()

    assert (told["ok"], told["broken_row"]) == (False, 2)
    assert "content" in told["broken_why"]
    assert 'href="/ledger/2"' in house.page("/ledger")


def test_a_row_that_cannot_be_read_any_more_does_not_take_the_page_with_it(house):
    write(house, 3)
    change(house, "UPDATE ledger SET content = x'00' WHERE entry_id = 2")

    assert "row 2 was changed" in house.api("/ledger")["trouble"]
    assert "Verify the chain" in house.page("/ledger")
    assert house.client.get("/ledger/2").status_code == 422


def test_two_who_verify_at_once_share_one_walk(house, monkeypatch):
    write(house, 1)
    verifier = house.premises.keep(Verifier)
    monkeypatch.setattr("keisei.console.ledger_check.PATIENCE_S", 0.0)
    gate, walks = threading.Event(), []
    rows = house.store.rows

    def slowly():
        walks.append(1)
        gate.wait(10)
        return rows()

    monkeypatch.setattr(house.store, "rows", slowly)
    first = house.order("/ledger/verify").json()
    second = house.order("/ledger/verify").json()
    other = house.order("/ledger/verify", head="ab" * 32)
    shown = house.page("/ledger")
    gate.set()
    verifier._walk.thread.join()

    assert (first["running"], second["running"], other.status_code, len(walks)) == (True, True, 409, 1)
    assert "checking" in shown
    assert house.api("/ledger")["verdict"]["ok"] is True


def test_a_viewer_may_verify(tmp_path):
    with open_house(tmp_path, visitor=VIEWER) as house:
        assert house.form("/ledger/verify").headers["location"] == "/ledger#verdict"
        assert house.api("/ledger")["verdict"]["ok"] is True
