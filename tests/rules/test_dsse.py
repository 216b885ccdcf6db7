"""DSSE envelopes: as the specification says, and as securesystemslib reads and writes them."""

import base64
import json

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from securesystemslib.dsse import Envelope as Theirs
from securesystemslib.exceptions import VerificationError
from securesystemslib.signer import CryptoSigner, SSlibKey

from keisei.rules.dsse import IN_TOTO, enveloped, keyid, pae, parse_envelope, signers_of
from keisei.rules.note import VerifierKey, key_id

PAYLOAD = b'{"a":1}'


def made(name="keisei/one"):
    """A private key and its public half as we have them."""
    private = Ed25519PrivateKey.generate()
    public = private.public_key().public_bytes_raw()
    return private, VerifierKey(name, key_id(name, public), public)


def line(private, key, payload=PAYLOAD, kind=IN_TOTO):
    return enveloped(payload, kind, keyid(key.name, key.key_id), private.sign(pae(kind, payload)))


def test_what_is_signed_is_the_published_example():
    # https://github.com/secure-systems-lab/dsse/blob/master/protocol.md, "Test Vectors"
    assert pae("http://example.com/HelloWorld", b"hello world") == (
        b"DSSEv1 29 http://example.com/HelloWorld 11 hello world"
    )
    assert pae("", b"") == b"DSSEv1 0  0 "
    assert pae("é", b"x").startswith(b"DSSEv1 2 ")


def test_securesystemslib_verifies_our_envelope():
    private, key = made()
    theirs = Theirs.from_dict(json.loads(line(private, key)))
    named = keyid(key.name, key.key_id)
    known = SSlibKey(named, "ed25519", "ed25519", {"public": key.public.hex()})

    assert theirs.payload == PAYLOAD
    assert list(theirs.verify([known], 1)) == [named]
    theirs.payload = b'{"a":2}'
    with pytest.raises(VerificationError):
        theirs.verify([known], 1)


def test_we_verify_an_envelope_of_securesystemslib():
    signer = CryptoSigner.generate_ed25519()
    theirs = Theirs(PAYLOAD, IN_TOTO, {})
    theirs.sign(signer)
    public = bytes.fromhex(signer.public_key.keyval["public"])
    key = VerifierKey("theirs", key_id("theirs", public), public)

    read = parse_envelope(json.dumps(theirs.to_dict()).encode())

    assert read.payload == PAYLOAD
    assert signers_of(read, [key]) == (key,)


def test_said_again_it_is_the_same_bytes_on_one_line():
    private, key = made()

    assert line(private, key) == line(private, key)
    assert b"\n" not in line(private, key)


@pytest.mark.parametrize("change", ["payload", "payloadType", "sig", "key"])
def test_what_was_changed_or_signed_by_another_is_found(change):
    private, key = made()
    other, _ = made()
    data = json.loads(line(private, key))
    if change == "payload":
        data["payload"] = base64.b64encode(b'{"a":2}').decode()
    elif change == "payloadType":
        data["payloadType"] = "application/json"
    elif change == "sig":
        raw = bytearray(base64.b64decode(data["signatures"][0]["sig"]))
        raw[0] ^= 1
        data["signatures"][0]["sig"] = base64.b64encode(raw).decode()
    else:  # another key that calls itself ours: the id is only a hint
        data = json.loads(line(other, key))

    assert signers_of(parse_envelope(json.dumps(data).encode()), [key]) == ()


def test_a_valid_signature_counts_whatever_id_stands_beside_it():
    private, key = made()
    data = json.loads(line(private, key))
    data["signatures"][0].pop("keyid")

    assert signers_of(parse_envelope(json.dumps(data).encode()), [key]) == (key,)


def test_base64_for_addresses_is_read_too():
    private, key = made()
    payload = b"\xfb\xff\xfe>>>???"
    data = json.loads(line(private, key, payload, "text/plain"))
    data["payload"] = base64.urlsafe_b64encode(payload).decode()

    read = parse_envelope(json.dumps(data).encode())

    assert read.payload == payload
    assert signers_of(read, [key]) == (key,)


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"[]",
        b"no json",
        b"\xff",
        b"{}",
        b'{"payload":"e30=","payloadType":1,"signatures":[]}',
        b'{"payload":"!","payloadType":"t","signatures":[]}',
        b'{"payload":"\xc3\xa9","payloadType":"t","signatures":[]}',
        b'{"payload":"e30=","payloadType":"t","signatures":[{"sig":"?"}]}',
        b'{"payload":"e30=","payloadType":"t","signatures":[' + b",".join([b'{"sig":""}'] * 17) + b"]}",
        b"[" * 100_000,
    ],
)
def test_what_is_no_envelope_is_told(text):
    with pytest.raises(ValueError, match="envelope"):
        parse_envelope(text)
