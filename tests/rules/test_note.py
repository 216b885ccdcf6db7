"""Signed notes and checkpoints, with the note that the form's authors published."""

import base64
from contextlib import suppress

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given, settings
from hypothesis import strategies as st

from keisei.rules.note import (
    VerifierKey,
    checkpoint_text,
    key_id,
    parse_checkpoint,
    parse_vkey,
    signed_note,
    signers_of,
    split_note,
    vkey,
)

# golang.org/x/mod/sumdb/note, the example of its documentation.
PUBLISHED_KEY = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
PUBLISHED = (
    "If you think cryptography is the answer to your problem,\n"
    "then you don't know what your problem is.\n\n"
    "\u2014 PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n"
)
PRIVATE = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
PUBLIC = PRIVATE.public_key().public_bytes_raw()
KEY = VerifierKey("keisei/shop", key_id("keisei/shop", PUBLIC), PUBLIC)
TEXT = checkpoint_text("keisei/shop", 3, bytes(range(32)))


def note(text=TEXT, name="keisei/shop"):
    return signed_note(text, name, PUBLIC, PRIVATE.sign(text.encode()))


def test_the_published_note_holds_under_the_published_key():
    key = parse_vkey(PUBLISHED_KEY)
    assert key.name == "PeterNeumann"
    assert signers_of(PUBLISHED, [key]) == (key,)
    assert vkey(key.name, key.public) == PUBLISHED_KEY


def test_a_checkpoint_comes_back_as_it_was_signed():
    text, signatures = split_note(note())
    assert text == TEXT
    assert [(each.name, each.key_id) for each in signatures] == [(KEY.name, KEY.key_id)]
    assert parse_checkpoint(text) == ("keisei/shop", 3, bytes(range(32)))
    assert signers_of(note(), [KEY]) == (KEY,)
    assert parse_vkey(vkey(KEY.name, PUBLIC)) == KEY


def test_every_changed_bit_of_a_checkpoint_is_seen():
    raw = note().encode()
    for place in range(len(raw) * 8):
        changed = bytearray(raw)
        changed[place // 8] ^= 1 << place % 8
        try:
            found = signers_of(changed.decode(), [KEY])
        except (ValueError, UnicodeDecodeError):
            continue
        assert found == (), place  # the name or the id of a key that nobody knows


def test_signatures_of_unknown_keys_are_passed_over_and_a_broken_one_of_a_known_key_spoils_the_note():
    stranger = Ed25519PrivateKey.from_private_bytes(bytes(32))
    public = stranger.public_key().public_bytes_raw()
    both = note() + signed_note(TEXT, "witness", public, stranger.sign(TEXT.encode())).split("\n\n")[1]
    assert signers_of(both, [KEY]) == (KEY,)
    assert signers_of(both, []) == ()
    assert len(signers_of(both, [KEY, VerifierKey("witness", key_id("witness", public), public)])) == 2
    broken = signed_note(TEXT, "keisei/shop", PUBLIC, bytes(64))
    with pytest.raises(ValueError, match="does not hold"):
        signers_of(broken, [KEY])


def test_lines_that_others_add_to_a_checkpoint_are_signed_and_passed_over():
    text = TEXT + "witnessed on a tuesday\n"
    assert signers_of(note(text), [KEY]) == (KEY,)
    assert parse_checkpoint(split_note(note(text))[0]).size == 3


@pytest.mark.parametrize(
    "text",
    [
        "",
        "one line\n",
        "keisei/shop\n3\n",
        "keisei/shop\n03\n" + base64.b64encode(bytes(32)).decode() + "\n",
        "keisei/shop\n-1\n" + base64.b64encode(bytes(32)).decode() + "\n",
        "keisei/shop\n\u0663\n" + base64.b64encode(bytes(32)).decode() + "\n",
        "keisei/shop\n3\n" + base64.b64encode(bytes(31)).decode() + "\n",
        "keisei/shop\n3\n" + base64.b64encode(bytes(32)).decode().rstrip("=") + "\n",
        "keisei/shop\n3\n" + base64.b64encode(bytes(32)).decode(),
        "keisei/shop\n3\n" + base64.b64encode(bytes(32)).decode() + "\n\nmore\n",
        "\n3\n" + base64.b64encode(bytes(32)).decode() + "\n",
        f"keisei/shop\n{'9' * 5000}\n" + base64.b64encode(bytes(32)).decode() + "\n",
    ],
)
def test_what_is_no_checkpoint_is_refused(text):
    with pytest.raises(ValueError, match=r"checkpoint|base64"):
        parse_checkpoint(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a",
        "a+b",
        "a+00000000+AAAA",
        PUBLISHED_KEY[:-4] + "AAAA",
        PUBLISHED_KEY.replace("Peter", "P ter"),
        "a+b+\u00e9",
    ],
)
def test_what_is_no_key_is_refused(text):
    with pytest.raises(ValueError, match=r"key|base64"):
        parse_vkey(text)


@pytest.mark.parametrize("name", ["", "two words", "a+b", "tab\there"])
def test_a_key_cannot_have_every_name(name):
    with pytest.raises(ValueError, match="name of a key"):
        vkey(name, PUBLIC)


@pytest.mark.parametrize("text", ["no newline", "tab\t\n", "half \ud800\n"])
def test_not_every_text_can_be_signed(text):
    with pytest.raises(ValueError, match="text of a note"):
        signed_note(text, "keisei/shop", PUBLIC, bytes(64))


def test_a_note_that_is_endless_is_not_looked_at():
    with pytest.raises(ValueError, match="too long"):
        split_note("x" * 2_000_000)
    many = note() + note().split("\n\n")[1] * 20
    with pytest.raises(ValueError, match="too many"):
        split_note(many)


@settings(database=None, max_examples=200, deadline=None)
@given(st.text(max_size=200))
def test_whatever_is_read_as_a_note_gives_a_note_or_a_sentence(text):
    for read in (split_note, parse_checkpoint, parse_vkey):
        with suppress(ValueError):
            read(text)
