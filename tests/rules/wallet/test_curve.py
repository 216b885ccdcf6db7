"""The curve and the hashes, against published vectors and against libraries that are not ours."""

import hashlib

import coincurve
import pytest
from Crypto.Hash import RIPEMD160, keccak
from hypothesis import given, settings
from hypothesis import strategies as st

from keisei.rules.wallet.curve import (
    HALF,
    N,
    P,
    compressed,
    ecdsa_verify,
    lift,
    parse_public,
    recover,
    schnorr_verify,
    uncompressed,
)
from keisei.rules.wallet.der import parse_der
from keisei.rules.wallet.keccak import keccak256
from keisei.rules.wallet.ripemd import ripemd160
from tests.rules.wallet.world import Signer, vectors

FEW = settings(max_examples=25, database=None)
NUMBERS = st.integers(1, N - 1)
DIGESTS = st.binary(min_size=32, max_size=32)


@pytest.mark.parametrize(
    "each", vectors("bip340")["vectors"], ids=lambda each: each["comment"] or each["public_key"][:8]
)
def test_a_schnorr_vector_is_judged_as_published(each):
    key, message, signature = (bytes.fromhex(each[name]) for name in ("public_key", "message", "signature"))

    assert schnorr_verify(key, message, signature) is each["valid"]


@pytest.mark.parametrize(("key", "signature"), [(b"", b""), (bytes(31), bytes(64)), (bytes(32), bytes(65))])
def test_what_is_no_schnorr_signature_does_not_hold(key, signature):
    assert not schnorr_verify(key, bytes(32), signature)


@FEW
@given(NUMBERS, DIGESTS)
def test_a_signature_of_coincurve_holds_and_gives_back_its_key(number, digest):
    signer = Signer(number)
    signed = signer.recoverable(digest)
    r, s = int.from_bytes(signed[:32]), int.from_bytes(signed[32:64])

    key = recover(digest, r, s, signed[64])

    assert key is not None
    assert (compressed(key), uncompressed(key)) == (signer.short, signer.long)
    assert parse_public(signer.short) == parse_public(signer.long) == key
    assert ecdsa_verify(key, digest, r, s)
    assert ecdsa_verify(key, digest, r, N - s)  # the caller decides what a high s means
    assert not ecdsa_verify(key, digest, r, s ^ 1)
    assert schnorr_verify(signer.short[1:], digest, signer.key.sign_schnorr(digest))


@FEW
@given(st.integers(0, 2**256 - 1), st.integers(0, 2**256 - 1), st.integers(0, 3), DIGESTS)
def test_whatever_is_recovered_is_what_coincurve_recovers(r, s, recovery, digest):
    raw = r.to_bytes(32) + s.to_bytes(32) + bytes([recovery])
    try:
        expected = coincurve.PublicKey.from_signature_and_message(raw, digest, hasher=None).format()
    except Exception as error:  # noqa: BLE001 - the library raises Exception itself
        assert "recover" in str(error) or "parse" in str(error)  # noqa: PT017 - either it cannot, or it will not read it
        expected = None

    key = recover(digest, r, s, recovery)

    assert (None if key is None else compressed(key)) == expected


@FEW
@given(st.binary(min_size=33, max_size=33) | st.binary(min_size=32, max_size=32).map(lambda x: b"\x02" + x))
def test_a_public_key_is_read_where_coincurve_reads_it(raw):
    try:
        expected = coincurve.PublicKey(raw).format()
    except ValueError:
        expected = None

    key = parse_public(raw)

    assert (None if key is None else compressed(key)) == expected


@pytest.mark.parametrize("number", [1, N - 1, 2, HALF, HALF + 1])
def test_keys_at_the_edges_verify(number):
    digest = hashlib.sha256(b"edge").digest()
    signed = Signer(number).recoverable(digest)

    key = recover(digest, int.from_bytes(signed[:32]), int.from_bytes(signed[32:64]), signed[64])

    assert key == parse_public(Signer(number).short)


def test_a_point_off_the_curve_is_no_key():
    assert parse_public(b"\x04" + bytes(63) + b"\x01") is None
    assert parse_public(b"\x06" + Signer(1).long[1:]) is None
    assert parse_public(b"\x02" + P.to_bytes(32)) is None
    assert lift(5, odd=False) is None


@pytest.mark.parametrize("r", [0, N, N + 1, P])
def test_numbers_out_of_range_never_hold(r):
    key = parse_public(Signer(7).short)

    assert not ecdsa_verify(key, bytes(32), r, 1)
    assert not ecdsa_verify(key, bytes(32), 1, r)
    assert recover(bytes(32), r, 1, 0) is recover(bytes(32), 1, r, 0) is recover(bytes(32), 1, 1, 4) is None


def test_the_sum_that_is_infinite_is_no_key():
    digest = (3).to_bytes(32)
    x = parse_public(Signer(1).short)[0]  # R = G, so s = 3 makes -3G + 3G

    assert recover(digest, x, 3, 0) is None


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", "c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470"),
        (b"abc", "4e03657aea45a94fc7d47ba826c8d667c0d1e6e33a64a036ec44f58fa12d6c45"),
    ],
)
def test_keccak_is_the_one_before_sha3(data, expected):
    assert keccak256(data).hex() == expected


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", "9c1185a5c5e9fc54612808977ee8f548b2258d31"),
        (b"abc", "8eb208f7e05d987a9b044a8e98c6b087f15a0bfc"),
        (b"message digest", "5d0689ef49d2fae572b881b123a85ffa21595f36"),
        (b"a" * 1000, "aa69deee9a8922e92f8105e007f76110f381e9cf"),
    ],
)
def test_ripemd_is_as_its_authors_published(data, expected):
    assert ripemd160(data).hex() == expected


@pytest.mark.parametrize("size", [0, 1, 55, 56, 63, 64, 65, 119, 135, 136, 137, 271, 272, 273, 1000])
def test_hashes_are_right_at_every_edge_of_a_block(size):
    data = bytes(range(256)) * 4

    assert keccak256(data[:size]) == keccak.new(digest_bits=256, data=data[:size]).digest()
    assert ripemd160(data[:size]) == RIPEMD160.new(data[:size]).digest()


@FEW
@given(NUMBERS, DIGESTS, st.integers(0, 10**6), st.integers(1, 255))
def test_der_is_read_as_it_is_written_and_in_no_other_way(number, digest, place, change):
    signed = Signer(number).key.sign(digest, hasher=None)
    assert parse_der(signed)[1] <= HALF

    broken = bytearray(signed)
    broken[place % len(broken)] ^= change
    try:
        r, s = parse_der(bytes(broken))
    except ValueError:
        return

    assert _written(r, s) == broken


@pytest.mark.parametrize(
    "raw",
    [
        "3006020101020101",
        "3007020101020101",
        "300702010102010100",
        "30070201010202 0001",
        "3006020181020101",
        "3006020100020101",
        "3006020101020100",
        "3006020102020101ff",
        "3106020101020101",
        "3006030101020101",
        "30060200020201010",
        "",
        "30",
    ],
)
def test_only_the_first_of_these_is_der(raw):
    data = bytes.fromhex(raw if len(raw.replace(" ", "")) % 2 == 0 else raw + "0")
    if raw == "3006020101020101":
        assert parse_der(data) == (1, 1)
        return

    with pytest.raises(ValueError, match="signature"):
        parse_der(data)


def _written(r, s):
    parts = [number.to_bytes(number.bit_length() // 8 + 1) for number in (r, s)]
    inner = b"".join(b"\x02" + bytes([len(part)]) + part for part in parts)
    return b"\x30" + bytes([len(inner)]) + inner
