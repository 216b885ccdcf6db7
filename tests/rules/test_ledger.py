"""The ledger's rules: one sequence of bytes a row, and a chain in which nothing can be changed unseen."""

import hashlib
import json
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from keisei.records.move import LedgerRow, NewEntry
from keisei.rules.canonical import canonical
from keisei.rules.ledger import GENESIS, StoredRow, chain_hash, content_of, entry_of, first_broken, leaf_hash
from keisei.testing.strategies import json_objects

QUICK = settings(max_examples=100, deadline=None, database=None)
SHORT = st.integers(-(10**9), 10**9).map(lambda number: number / 1000)
NOW = datetime(2026, 4, 22, 15, 30, tzinfo=UTC)


def new(**fields):
    return NewEntry(**{"kind": "task_moved", "actor": "runner", "subject": "t1", "body": {"a": 1}} | fields)


def sealed(contents, previous=GENESIS):
    rows = []
    for seq, content in enumerate(contents, start=1):
        leaf = leaf_hash(content)
        previous = chain_hash(previous, seq, leaf)
        told = json.loads(content)
        rows.append(
            StoredRow(
                seq=seq,
                content=content,
                leaf_hash=leaf.hex(),
                chain_hash=previous.hex(),
                kind=told["kind"],
                subject=told["subject"],
            )
        )
    return rows


ROWS = sealed(content_of(new(subject=f"t{n}", body={"n": n, "text": "é"}), NOW) for n in range(5))


def test_content_is_canonical_json_of_the_six_fields():
    content = content_of(new(body={"b": 1.0, "a": "é"}), NOW + timedelta(microseconds=7))

    assert (
        content
        == (
            '{"actor":"runner","body":{"a":"é","b":1},"kind":"task_moved","recorded_at":"2026-04-22T15:30:00.000007Z",'
            '"source":"engine","subject":"t1"}'
        ).encode()
    )


def test_a_time_is_stored_in_utc():
    elsewhere = NOW.astimezone(timezone(timedelta(hours=5, minutes=45)))

    assert content_of(new(), elsewhere) == content_of(new(), NOW)


def test_the_hashes_are_the_documented_ones():
    content = content_of(new(), NOW)
    leaf = hashlib.sha256(b"\0" + content).digest()

    assert leaf_hash(content) == leaf
    assert chain_hash(GENESIS, 1, leaf) == hashlib.sha256(b"\2" + bytes(32) + bytes(7) + b"\1" + leaf).digest()


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        pytest.param({"body": {"a": float("nan")}}, "canonical form", id="nan"),
        pytest.param({"body": {"a": float("inf")}}, "canonical form", id="infinite"),
        pytest.param({"body": {"a": 2**53}}, "canonical form", id="large"),
        pytest.param({"body": {"a": "\ud800"}}, "canonical form", id="surrogate"),
        pytest.param({"body": {"\udfff": 1}}, "canonical form", id="surrogate-key"),
        pytest.param({"body": {1: 1}}, "canonical form", id="key"),
        pytest.param({"body": {"a": NOW}}, "canonical form", id="time"),
        pytest.param({"subject": "\ud800"}, "canonical form", id="surrogate-subject"),
        pytest.param({"kind": ""}, "kind is empty", id="no-kind"),
        pytest.param({"actor": ""}, "actor is empty", id="no-actor"),
        pytest.param({"subject": ""}, "subject is empty", id="no-subject"),
        pytest.param({"kind": "a\0b"}, "kind has a zero byte", id="zero"),
        pytest.param({"subject": "s" * 1025}, "subject has 1025 characters", id="long-subject"),
        pytest.param({"body": {"a": "x" * 1024 * 1024}}, "more than 1048576", id="long-body"),
    ],
)
def test_what_cannot_be_a_row_is_refused(fields, why):
    with pytest.raises(ValueError, match=why):
        content_of(new(**fields), NOW)


def test_a_body_nested_without_end_is_refused():
    body = {}
    for _ in range(100_000):
        body = {"a": body}

    with pytest.raises(ValueError, match="nested too deeply"):
        content_of(new(body=body), NOW)


def test_a_time_without_a_zone_is_refused():
    with pytest.raises(ValueError, match="time zone"):
        content_of(new(), NOW.replace(tzinfo=None))


@QUICK
@given(json_objects(), st.datetimes(timezones=st.just(UTC)), st.sampled_from(["engine", "manual"]))
def test_an_entry_comes_back_from_its_bytes(body, moment, source):
    entry = new(body=body, source=source)

    content = content_of(entry, moment)
    found = entry_of(7, content, leaf_hash(content).hex())

    assert canonical(found.body) == canonical(body)
    assert (found.seq, found.kind, found.actor, found.subject, found.source, found.recorded_at) == (
        *(7, entry.kind, entry.actor, entry.subject, source),
        moment,
    )
    assert first_broken(sealed([content])) is None


@QUICK
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_any_number_keeps_its_row_whole(value):
    assert first_broken(sealed([content_of(new(body={"a": value}), NOW)])) is None


@QUICK
@given(json_objects() | st.dictionaries(st.text(max_size=3), st.floats(-1e12, 1e12) | SHORT, max_size=4))
def test_content_is_canonical_by_either_way(body):
    content = content_of(new(body=body), NOW)

    told = {"kind": "task_moved", "actor": "runner", "subject": "t1", "source": "engine", "body": body}
    assert content == canonical(told | {"recorded_at": "2026-04-22T15:30:00.000000Z"})


@pytest.mark.parametrize(
    "text",
    ['\x00\x1f\x7f\\"/', "é", "\ud7ff", "\ue000", "\uffff", "\U00010000", "\U0010ffff", "\u2028"],
    ids=["control", "latin", "last-before", "first-after", "last-of-16", "first-beyond", "last", "separator"],
)
def test_keys_are_sorted_as_canonical_json_sorts_them(text):
    body = {text: 1, "z": 2, "\U0001f600": 3, "\ufb33": 4, text * 2: 5}

    assert json.dumps(body, ensure_ascii=False)
    assert canonical(body) in content_of(new(body=body), NOW)


@pytest.mark.parametrize("value", [1.0, -0.0, 0.1 + 0.2, 1e21, 1e-7, 1e-6, 100.5, 123456789.123456, 1e15, -5.5])
def test_numbers_are_written_as_canonical_json_writes_them(value):
    assert b'"body":' + canonical({"a": value}) in content_of(new(body={"a": value}), NOW)
    assert first_broken(sealed([content_of(new(body={"a": value}), NOW)])) is None


@pytest.mark.parametrize(
    "content",
    [b"", b"\xff", b"[1]", b"{}", b"[" * 100_000, b'{"a":' + b"9" * 5000 + b"}"],
    ids=["empty", "no-text", "list", "no-fields", "deep", "digits-without-end"],
)
def test_bytes_that_are_no_row_are_refused(content):
    with pytest.raises(ValueError, match=r"JSON|truncated|Expecting|codec|delimiter|fields|deeply|digits"):
        entry_of(1, content, "0" * 64)


def test_no_rows_are_whole():
    assert first_broken([]) is None
    assert first_broken(ROWS) is None


def exchanged(first, second):
    """Two rows in each other's place, their seals left where they were."""
    rows = list(ROWS)
    for to, of in ((first, second), (second, first)):
        rows[to] = replace(
            ROWS[to],
            content=ROWS[of].content,
            leaf_hash=ROWS[of].leaf_hash,
            kind=ROWS[of].kind,
            subject=ROWS[of].subject,
        )
    return rows


def with_row(index, **fields):
    return [*ROWS[:index], replace(ROWS[index], **fields), *ROWS[index + 1 :]]


OTHER = content_of(new(subject="t2", body={"n": 9}), NOW)
TIGHT = content_of(new(), NOW)
LOOSE = TIGHT.replace(b":", b": ", 1)
EARLY = canonical(json.loads(TIGHT) | {"recorded_at": "2026-04-22T15:30:00Z"})
STRANGE = canonical(json.loads(TIGHT) | {"source": "nobody"})
MORE = canonical(json.loads(TIGHT) | {"seq": 1})


@pytest.mark.parametrize(
    ("rows", "seq", "why"),
    [
        pytest.param(ROWS[1:], 1, "is missing", id="first-missing"),
        pytest.param(ROWS[:2] + ROWS[3:], 3, "is missing", id="one-missing"),
        pytest.param([*ROWS[:2], ROWS[3], ROWS[2], ROWS[4]], 3, "is missing", id="another-order"),
        pytest.param([*ROWS[:3], ROWS[2], *ROWS[3:]], 3, "not its own", id="one-twice"),
        pytest.param([replace(ROWS[0], seq=0), *ROWS], 0, "not its own", id="one-before-the-first"),
        pytest.param([replace(ROWS[0], seq=-(2**63)), *ROWS], -(2**63), "not its own", id="far-before-the-first"),
        pytest.param(exchanged(1, 2), 2, "does not follow", id="two-exchanged"),
        pytest.param(with_row(2, content=OTHER), 3, "content was changed", id="content"),
        pytest.param(with_row(2, content=b""), 3, "content is missing", id="no-content"),
        pytest.param(with_row(2, leaf_hash="0" * 64), 3, "leaf hash was changed", id="leaf"),
        pytest.param(with_row(2, leaf_hash=""), 3, "leaf hash was changed", id="no-leaf"),
        pytest.param(with_row(2, chain_hash="0" * 64), 3, "chain hash was changed", id="chain"),
        pytest.param(with_row(2, chain_hash="zz"), 3, "chain hash was changed", id="no-chain"),
        pytest.param(with_row(2, chain_hash=""), 3, "has no seal", id="no-seal"),
        pytest.param(with_row(2, kind="other"), 3, "column was changed", id="kind"),
        pytest.param(with_row(2, subject="other"), 3, "column was changed", id="subject"),
        pytest.param(
            with_row(2, content=OTHER, leaf_hash=leaf_hash(OTHER).hex()), 3, "does not follow", id="content-and-leaf"
        ),
        pytest.param([*ROWS, *sealed([OTHER])], 1, "not its own", id="another-chain-behind"),
        pytest.param(sealed([OTHER], previous=b"\1" * 32), 1, "does not follow", id="another-beginning"),
        pytest.param(sealed([LOOSE]), 1, "not canonical", id="a-blank"),
        pytest.param(sealed([EARLY]), 1, "not canonical", id="another-form-of-time"),
        pytest.param(sealed([STRANGE]), 1, "not that of a ledger row", id="no-row"),
        pytest.param(sealed([MORE]), 1, "not that of a ledger row", id="one-field-more"),
    ],
)
def test_what_was_done_to_a_chain_is_seen_where_it_was_done(rows, seq, why):
    found = first_broken(rows)

    assert found is not None
    assert found[0] == seq
    assert why in found[1]


def test_rows_without_copies_are_judged_by_their_content():
    bare = [
        LedgerRow(seq=row.seq, content=row.content, leaf_hash=row.leaf_hash, chain_hash=row.chain_hash) for row in ROWS
    ]

    assert first_broken(bare) is None
    assert first_broken(bare[1:]) == (1, "the row is missing")


def test_rows_cut_off_the_end_leave_a_whole_chain():
    assert first_broken(ROWS[:3]) is None


@QUICK
@given(st.integers(0, len(ROWS) - 1), st.data())
def test_any_flipped_bit_of_the_content_is_seen_in_its_row(index, data):
    content = bytearray(ROWS[index].content)
    bit = data.draw(st.integers(0, len(content) * 8 - 1))
    content[bit // 8] ^= 1 << bit % 8

    found = first_broken(with_row(index, content=bytes(content)))

    assert found == (index + 1, "the row's content was changed")


@QUICK
@given(
    st.integers(0, len(ROWS) - 1), st.sampled_from(["leaf_hash", "chain_hash"]), st.integers(0, 63), st.integers(1, 15)
)
def test_any_flipped_bit_of_a_hash_is_seen_in_its_row(index, field, place, flip):
    text = getattr(ROWS[index], field)
    changed = f"{text[:place]}{int(text[place], 16) ^ flip:x}{text[place + 1 :]}"

    found = first_broken(with_row(index, **{field: changed}))

    assert found is not None
    assert found[0] == index + 1
