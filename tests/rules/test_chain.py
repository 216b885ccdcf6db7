"""Chains: a whole one holds, and no line can be changed, taken out, added, moved or cut unseen."""

import hashlib
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keisei.rules.canonical import canonical, digest
from keisei.rules.chain import broken_at, doubles, input_digest, sealed, sealed_line, whole
from keisei.testing.strategies import json_objects, json_values

QUICK = settings(max_examples=100, deadline=None, database=None)


def chain(contents):
    lines, previous = [], None
    for content in contents:
        line, previous = sealed_line(previous, content)
        lines.append(line)
    return lines


LINES = chain({"n": n, "latency_ms": n / 7} for n in range(5))


def test_a_hash_covers_the_content_and_the_hash_before():
    first = sealed(None, {"a": 1})
    second = sealed(first["hash"], {"a": 2})

    assert first == {"a": 1, "previous_hash": None, "hash": digest({"a": 1, "previous_hash": None})}
    assert second["previous_hash"] == first["hash"]
    assert second["hash"] == digest({"a": 2, "previous_hash": first["hash"]})


@pytest.mark.parametrize("key", ["hash", "previous_hash"])
@pytest.mark.parametrize("seal", [sealed, sealed_line])
def test_content_cannot_bring_its_own_hashes(seal, key):
    with pytest.raises(ValueError, match=f"`{key}` already"):
        seal(None, {key: "x"})


@pytest.mark.parametrize("seal", [sealed, sealed_line])
@pytest.mark.parametrize(
    "value", [float("nan"), 2**60, "\ud800", {1: 2}, object()], ids=["nan", "large", "surrogate", "key", "object"]
)
def test_content_without_a_canonical_form_is_refused(seal, value):
    with pytest.raises(ValueError, match="canonical form"):
        seal(None, {"a": value})


@QUICK
@given(json_objects(), st.none() | st.text("0123456789abcdef", min_size=64, max_size=64))
def test_a_line_is_the_canonical_json_of_the_sealed_content(content, previous):
    content = {key: value for key, value in content.items() if key not in ("hash", "previous_hash")}
    line, found = sealed_line(previous, content)

    assert line == canonical(sealed(previous, content))
    assert whole(line) == (previous, found)


@QUICK
@given(st.lists(json_objects(), max_size=5))
def test_a_whole_chain_holds_with_newlines_and_without(contents):
    lines = chain({"content": content} for content in contents)

    assert broken_at(lines) is None
    assert broken_at([line + b"\n" for line in lines]) is None


def test_an_empty_chain_holds():
    assert broken_at([]) is None


@pytest.mark.parametrize(
    ("lines", "index", "why"),
    [
        pytest.param(LINES[1:], 0, "does not follow", id="first-missing"),
        pytest.param(LINES[:2] + LINES[3:], 2, "does not follow", id="one-missing"),
        pytest.param([*LINES[:2], LINES[3], LINES[2], LINES[4]], 2, "does not follow", id="two-exchanged"),
        pytest.param([*LINES[:3], LINES[2], *LINES[3:]], 3, "does not follow", id="one-twice"),
        pytest.param([*LINES[:2], b"", *LINES[2:]], 2, "changed or cut", id="empty-line"),
        pytest.param([*LINES[:2], LINES[2][:-5], *LINES[3:]], 2, "changed or cut", id="one-cut"),
        pytest.param([*LINES, chain([{"n": 9}])[0]], 5, "does not follow", id="one-added"),
        pytest.param([LINES[0].replace(b'"n":0', b'"n":1')], 0, "does not have its hash", id="content"),
        pytest.param([LINES[0].replace(b":", b": ", 1)], 0, "not canonical", id="a-blank"),
        pytest.param([LINES[0].replace(b'"n":0', b'"n":0.0')], 0, "not canonical", id="another-zero"),
        pytest.param([LINES[0].replace(b'"n":0', b'"n":0,"n":0')], 0, "not canonical", id="a-key-twice"),
        pytest.param([b'{"a":1}'], 0, "carries no hash", id="no-hash"),
        pytest.param([canonical({"a": 1, "hash": digest({"a": 1})})], 0, "carries no hash", id="no-previous"),
        pytest.param(
            [canonical({"hash": digest({"previous_hash": 1}), "previous_hash": 1})], 0, "carries no hash", id="number"
        ),
        pytest.param([b"[1]"], 0, "not canonical", id="list"),
        pytest.param([b"\xff"], 0, "not JSON", id="no-text"),
        pytest.param([b"[" * 100_000], 0, "not JSON", id="deep"),
        pytest.param([b'{"a":' + b"9" * 5000 + b"}"], 0, "not JSON", id="digits-without-end"),
        pytest.param([LINES[0] + b"\n", LINES[1]], 1, "newline is missing", id="newline-cut"),
        pytest.param([LINES[0] + b"\n\n"], 0, "not canonical", id="newline-twice"),
    ],
)
def test_what_was_done_to_a_chain_is_seen_where_it_was_done(lines, index, why):
    found = broken_at(lines)

    assert found is not None
    assert found[0] == index
    assert why in found[1]


def test_lines_cut_off_the_end_are_seen_by_who_knows_the_last_hash():
    last = json.loads(LINES[-1])["hash"]

    assert broken_at(LINES, last) is None
    assert broken_at(LINES[:3], last) == (3, "lines are missing at the end")
    assert broken_at([], last) == (0, "lines are missing at the end")


@QUICK
@given(st.integers(0, len(LINES) - 1), st.data())
def test_any_changed_byte_is_seen(index, data):
    place = data.draw(st.integers(0, len(LINES[index]) - 1))
    byte = data.draw(st.integers(0, 255).filter(lambda value: value != LINES[index][place]))
    changed = LINES[index][:place] + bytes([byte]) + LINES[index][place + 1 :]

    assert broken_at([*LINES[:index], changed, *LINES[index + 1 :]]) is not None


@QUICK
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_any_number_keeps_its_line_whole(value):
    assert broken_at(chain([{"a": value}])) is None


@QUICK
@given(json_values())
def test_an_input_digest_is_the_sha256_of_canonical_json(value):
    assert input_digest(value) == hashlib.sha256(canonical(value)).hexdigest()


def test_an_integer_beyond_doubles_counts_as_the_double_a_harness_would_send():
    assert input_digest({"id": 9007199254740993}) == input_digest({"id": 9007199254740992.0})
    assert doubles({"a": [2**60, 1, True, "x"]}) == {"a": [float(2**60), 1, True, "x"]}


def test_a_number_beyond_every_double_has_no_digest():
    with pytest.raises(ValueError, match="beyond every double"):
        input_digest([10**400])
