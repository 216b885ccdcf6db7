"""Messages: published signatures, signatures of libraries that are not ours, and what strangers may send instead."""

import base64

import bip322 as judge
import coincurve
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keisei.rules.wallet import bip137, bip322, stacks
from keisei.rules.wallet.address import chain_of, parse_address
from keisei.rules.wallet.curve import HALF, N
from keisei.rules.wallet.message import SCHEMES, scheme_of, verify_message
from keisei.rules.wallet.ripemd import hash160, sha256d
from keisei.rules.wallet.signature import length_prefix
from tests.rules.wallet.ethereum import Account, encode_defunct
from tests.rules.wallet.world import Signer, stack, vectors

FEW = settings(max_examples=20, database=None)
NUMBERS = st.integers(1, N - 1)
KINDS = st.sampled_from(["p2wpkh", "p2sh", "p2tr"])
ETHEREUM = vectors("ethereum")["eip191"]
STACKS = vectors("stacks")
CASES = [
    *(("bip137", each["address"], each["message"], each["signature"]) for each in vectors("bip137")["valid"]),
    *(("bip322", each["address"], each["message"], each["signature"]) for each in vectors("bip322")["valid"]),
    ("stacks", STACKS["address"], STACKS["message"], STACKS["signature"]),
    ("eip191", ETHEREUM["address"], ETHEREUM["message"], ETHEREUM["signature"]),
]
WRONG = [
    (scheme, each["why"], each["address"], each["message"], each["signature"])
    for scheme in ("bip137", "bip322")
    for each in vectors(scheme)["invalid"]
]


@pytest.mark.parametrize(("scheme", "address", "message", "signature"), CASES)
def test_a_published_signature_holds_and_no_other_message_does(scheme, address, message, signature):
    verdict = verify_message(scheme, address, message.encode(), signature)

    assert verdict.valid, verdict.reason
    assert verdict.public_key is not None
    assert not verify_message(scheme, address, message.encode() + b" ", signature).valid
    parsed = parse_address(chain_of(address), None, address)
    assert scheme_of(parsed, signature) == scheme
    for other in SCHEMES:
        if other != scheme:
            assert not verify_message(other, address, message.encode(), signature).valid


@pytest.mark.parametrize(("scheme", "why", "address", "message", "signature"), WRONG)
def test_a_published_wrong_signature_is_refused_and_says_why(scheme, why, address, message, signature):
    verdict = verify_message(scheme, address, message.encode(), signature)

    assert not verdict.valid
    assert why in verdict.reason


@pytest.mark.parametrize("each", vectors("bip137")["digests"], ids=lambda each: each["message"])
def test_the_published_digest_is_made(each):
    assert bip137.digest(each["message"].encode()).hex() == each["digest"]


@pytest.mark.parametrize("message", STACKS["digests"])
def test_the_published_stacks_digest_is_made(message):
    assert stacks.digest(message.encode()).hex() == STACKS["digests"][message]


@pytest.mark.parametrize("each", vectors("bip322")["hashes"], ids=lambda each: each["message"])
def test_the_published_transactions_are_made(each):
    address, message = parse_address("bitcoin", None, each["address"]), each["message"].encode()

    assert bip322.message_hash(message).hex() == each["message_hash"]
    assert bip322.coin(address, message)[::-1].hex() == each["to_spend"]
    assert sha256d(bip322.spending(address, message))[::-1].hex() == each["to_sign"]


@pytest.mark.parametrize("each", vectors("bip322")["valid"], ids=lambda each: each["signature"][:12])
def test_the_other_judge_of_bip322_agrees_on_the_published_ones(each):
    assert agrees(each["address"], each["message"], each["signature"].removeprefix("smp"))


def agrees(address, message, signature):
    """What both judges say. Fails where they differ."""
    try:
        judge.verify_simple_encoded(address, message, signature)
        expected = True
    except judge.VerificationError:
        expected = False
    ours = verify_message("bip322", address, message.encode(), signature)
    assert ours.valid is expected, ours.reason
    return expected


@FEW
@given(NUMBERS, KINDS, st.text(max_size=300), st.integers(0, 10**6), st.integers(1, 255))
def test_two_judges_of_bip322_agree_on_every_signature(number, kind, message, place, change):
    signer = Signer(number)
    address, signature = signer.address(kind), signer.bip322(message.encode(), kind)
    assert agrees(address, message, signature)

    broken = bytearray(base64.b64decode(signature))
    broken[place % len(broken)] ^= change

    agrees(address, message, base64.b64encode(broken).decode())
    agrees(Signer(number % 1000 + 1).address(kind), message, signature)


def forms():
    """Witnesses that are nearly right, by what is wrong with them."""
    signer, message = Signer(77), b"nearly"
    wpkh, tr = (parse_address("bitcoin", None, signer.address(kind)) for kind in ("p2wpkh", "p2tr"))
    digest = bip322.hashed_v0(wpkh, message, hash160(signer.short))
    der = signer.key.sign(digest, hasher=None)
    odd = signer.key.sign(bip322.hashed_v0(wpkh, message, hash160(signer.long)), hasher=None)
    r, s = der[4 : 4 + der[3]], int.from_bytes(der[6 + der[3] :])
    high = (N - s).to_bytes(33)
    turned = b"\x02" + bytes([len(r)]) + r + b"\x02\x21" + high
    schnorr = signer.taproot().sign_schnorr(bip322.hashed_v1(tr, message, 0))
    whole = signer.taproot().sign_schnorr(bip322.hashed_v1(tr, message, 1))
    none = signer.taproot().sign_schnorr(bip322.hashed_v1(tr, message, 2))
    return {
        "p2tr for the whole, said": (tr, [whole + b"\x01"], True),
        "p2tr for the whole, signed as default": (tr, [schnorr + b"\x01"], False),
        "p2tr for nothing": (tr, [none + b"\x02"], False),
        "p2tr short": (tr, [schnorr[:-1]], False),
        "p2tr empty": (tr, [b""], False),
        "high s": (wpkh, [b"\x30" + bytes([len(turned)]) + turned + b"\x01", signer.short], False),
        "for none": (wpkh, [der + b"\x02", signer.short], False),
        "without its last byte": (wpkh, [der, signer.short], False),
        "uncompressed key": (wpkh, [der + b"\x01", signer.long], False),
        "uncompressed key, signed for": (wpkh, [odd + b"\x01", signer.long], False),
        "turned round": (wpkh, [signer.short, der + b"\x01"], False),
        "one item": (wpkh, [der + b"\x01"], False),
        "three items": (wpkh, [der + b"\x01", signer.short, b""], False),
        "no signature": (wpkh, [b"", signer.short], False),
        "a key off the curve": (wpkh, [der + b"\x01", b"\x02" + bytes(31) + b"\x05"], False),
    }


@pytest.mark.parametrize("form", forms())
def test_a_witness_that_is_nearly_right_is_judged_alike_by_both(form):
    address, items, expected = forms()[form]

    assert agrees(address.text, "nearly", base64.b64encode(stack(items)).decode()) is expected


def test_what_bip341_forbids_is_refused_though_the_other_judge_overlooks_it():
    signer = Signer(77)
    address = parse_address("bitcoin", None, signer.address("p2tr"))
    signed = signer.taproot().sign_schnorr(bip322.hashed_v1(address, b"nearly", 0))
    for items, why in (([signed + b"\x00"], "SIGHASH_ALL"), ([signed, b"\x50"], "annex")):
        signature = base64.b64encode(stack(items)).decode()

        verdict = verify_message("bip322", address.text, b"nearly", signature)

        assert not verdict.valid
        assert why in verdict.reason
        judge.verify_simple_encoded(address.text, "nearly", signature)  # should it raise one day, they agree again


def test_nothing_may_stand_behind_a_witness_though_the_other_judge_overlooks_it():
    signature = base64.b64encode(base64.b64decode(Signer(5).bip322(b"m", "p2wpkh")) + b"\x00").decode()

    verdict = verify_message("bip322", Signer(5).address("p2wpkh"), b"m", signature)

    assert not verdict.valid
    assert "behind the witness" in verdict.reason
    judge.verify_simple_encoded(Signer(5).address("p2wpkh"), "m", signature)


def test_a_signature_is_written_in_one_way_only():
    each = vectors("bip322")["valid"][2]
    assert each["signature"].endswith("HI=")

    verdict = verify_message("bip322", each["address"], each["message"].encode(), each["signature"][:-2] + "J=")

    assert not verdict.valid
    assert "bits are set that do not count" in verdict.reason


@pytest.mark.parametrize("v", [2, 3, 26, 29, 35, 37, 255])
def test_a_v_of_transactions_is_no_v_of_messages(v):
    raw = bytes.fromhex(ETHEREUM["signature"][2:])

    verdict = verify_message("eip191", ETHEREUM["address"], ETHEREUM["message"].encode(), (raw[:64] + bytes([v])).hex())

    assert not verdict.valid
    assert f"v of the signature is {v}" in verdict.reason


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_signature_without_end_is_not_read(scheme):
    address = next(address for each, address, *_ in CASES if each == scheme)

    assert "more than 4096 characters" in verify_message(scheme, address, b"m", "ab" * 10**6).reason


@FEW
@given(
    NUMBERS,
    st.sampled_from(["p2pkh", "p2sh", "p2wpkh"]),
    st.binary(max_size=600),
    st.integers(0, 64),
    st.integers(1, 255),
)
def test_bip137_judges_as_recovery_by_coincurve_does(number, kind, message, place, change):
    signer = Signer(number)
    signature = signer.bip137(message, kind)
    assert verify_message("bip137", signer.address(kind), message, signature).valid

    raw = bytearray(base64.b64decode(signature))
    raw[place] ^= change
    base = {"p2pkh": 31, "p2sh": 35, "p2wpkh": 39}[kind]
    expected = base <= raw[0] < base + 4 and _recovers(raw[1:], raw[0] - base, bip137.digest(message), signer)

    broken = verify_message("bip137", signer.address(kind), message, base64.b64encode(raw).decode())
    assert broken.valid is bool(expected)


def _recovers(numbers, recovery, digest, signer):
    try:
        found = coincurve.PublicKey.from_signature_and_message(bytes([*numbers, recovery]), digest, hasher=None)
    except Exception:  # noqa: BLE001 - the library raises Exception itself
        return False
    return found.format() == signer.short


@pytest.mark.parametrize(("kind", "header"), [("p2wpkh", 31), ("p2wpkh", 35), ("p2pkh", 39), ("p2sh", 31)])
def test_a_header_of_another_kind_is_refused_though_the_key_is_right(kind, header):
    signed = Signer(9).recoverable(bip137.digest(b"m"))
    signature = base64.b64encode(bytes([header + signed[64]]) + signed[:64]).decode()

    verdict = verify_message("bip137", Signer(9).address(kind), b"m", signature)

    assert not verdict.valid
    assert f"and the address is {kind}" in verdict.reason


@FEW
@given(NUMBERS, st.text(max_size=300), st.integers(0, 64), st.integers(1, 255))
def test_two_judges_of_eip191_agree_on_every_signature(number, message, place, change):
    account = Account.from_key(number.to_bytes(32))
    signed = account.sign_message(encode_defunct(text=message)).signature
    text = message.encode()
    assert verify_message("eip191", account.address, text, signed.hex()).valid
    assert verify_message("eip191", account.address, text, (signed[:64] + bytes([signed[64] - 27])).hex()).valid

    broken = bytearray(signed)
    broken[place] ^= change
    s = int.from_bytes(broken[32:64])
    try:
        found = Account.recover_message(encode_defunct(text=message), signature=bytes(broken))
    except Exception:  # noqa: BLE001 - many kinds, all of them refusals
        found = None
    # v that carries a chain id belongs to transactions; a high s is refused by decision
    expected = found == account.address and broken[64] in (0, 1, 27, 28) and s <= HALF

    assert verify_message("eip191", account.address, text, broken.hex()).valid is expected


@FEW
@given(NUMBERS, st.binary(max_size=600), st.integers(0, 64), st.integers(1, 255))
def test_stacks_judges_as_recovery_by_coincurve_does(number, message, place, change):
    signer = Signer(number)
    signature = signer.stacks(message)
    assert verify_message("stacks", signer.address("stacks"), message, signature).valid
    assert verify_message("stacks", signer.address("stacks"), message, "0x" + signature.upper()).valid

    raw = bytearray.fromhex(signature)
    raw[place] ^= change
    low = int.from_bytes(raw[32:64]) <= HALF
    expected = low and raw[64] < 4 and _recovers(raw[:64], raw[64], stacks.digest(message), signer)

    assert verify_message("stacks", signer.address("stacks"), message, raw.hex()).valid is bool(expected)


def turned(signed, last):
    """The same signature with the other s."""
    s = N - int.from_bytes(signed[32:64])
    return signed[:32] + s.to_bytes(32) + bytes([last])


def test_a_high_s_is_taken_by_bip137_alone():
    signer = Signer(21)
    signed = signer.recoverable(bip137.digest(b"m"))
    other = turned(signed, signed[64] ^ 1)
    old = base64.b64encode(bytes([39 + other[64]]) + other[:64]).decode()
    assert verify_message("bip137", signer.address("p2wpkh"), b"m", old).valid

    signed = signer.recoverable(stacks.digest(b"m"))
    verdict = verify_message("stacks", signer.address("stacks"), b"m", turned(signed, signed[64] ^ 1).hex())
    assert (verdict.valid, "high" in verdict.reason) == (False, True)

    signed = bytes.fromhex(ETHEREUM["signature"][2:])
    high = turned(signed, 27 + 28 - signed[64])
    assert Account.recover_message(encode_defunct(text=ETHEREUM["message"]), signature=high) == ETHEREUM["address"]
    verdict = verify_message("eip191", ETHEREUM["address"], ETHEREUM["message"].encode(), high.hex())
    assert (verdict.valid, "high" in verdict.reason) == (False, True)


def test_the_other_order_of_a_stacks_signature_is_named():
    raw = bytes.fromhex(STACKS["signature"])

    verdict = verify_message("stacks", STACKS["address"], STACKS["message"].encode(), (raw[64:] + raw[:64]).hex())

    assert not verdict.valid
    assert "stands before r and s" in verdict.reason


def test_the_older_prefix_of_stacks_is_not_taken():
    assert not verify_message("stacks", STACKS["address"], STACKS["message"].encode(), STACKS["older_prefix"]).valid


def test_an_address_of_a_script_signs_no_stacks_message():
    verdict = verify_message("stacks", "SM2J6ZY48GV1EZ5V2V5RB9MP66SW86PYKKQVX8X0G", b"m", Signer(1).stacks(b"m"))

    assert "a script's" in verdict.reason


HOSTILE = {
    "a megabyte": "A" * 10**6,
    "a megabyte of hex": "ab" * 10**6,
    "nothing": "",
    "spaces": "   ",
    "no ASCII": "é" * 88,
    "digits of elsewhere": "٣" * 130,
    "half a surrogate": "\udcff" * 88,
    "a zero byte": "\0" * 88,
    "base64 with bits that do not count": "AR==",
    "65 zeros": base64.b64encode(bytes(65)).decode(),
    "65 zeros in hex": "00" * 65,
    "65 ones": base64.b64encode(b"\xff" * 65).decode(),
    "r over n": (N.to_bytes(32) + bytes(31) + b"\x01\x1b").hex(),
    "s zero": (bytes(31) + b"\x01" + bytes(32) + b"\x1b").hex(),
    "a thousand items": base64.b64encode(b"\xfd\xe8\x03" + bytes(1000)).decode(),
    "items that never come": base64.b64encode(b"\x02\x47").decode(),
    "a length of 2**64": base64.b64encode(b"\x01\xff" + b"\xff" * 8).decode(),
    "a count of 2**64": base64.b64encode(b"\xff" * 9).decode(),
    "a prefix and nothing": "smp",
    "a proof of funds": "pofAAAA",
}


@pytest.mark.parametrize("scheme", [*SCHEMES, "auto", ""])
@pytest.mark.parametrize("signature", HOSTILE.values(), ids=HOSTILE)
def test_whatever_is_sent_as_a_signature_is_refused_in_one_sentence(scheme, signature):
    addresses = [Signer(2).address(kind) for kind in ("p2pkh", "p2sh", "p2wpkh", "p2tr", "stacks")]
    for address in [*addresses, ETHEREUM["address"], "", "\0", "x" * 10**6]:
        verdict = verify_message(scheme, address, b"message", signature)

        assert not verdict.valid
        assert len(verdict.reason) < 250


@settings(max_examples=60, database=None)
@given(st.sampled_from(list(SCHEMES)), st.binary(max_size=200), st.sampled_from(["p2wpkh", "p2tr", "p2pkh", "stacks"]))
def test_any_bytes_are_refused_and_nothing_is_raised(scheme, raw, kind):
    for signature in (base64.b64encode(raw).decode(), raw.hex(), raw.decode("latin-1")):
        assert not verify_message(scheme, Signer(4).address(kind), raw, signature).valid


def test_a_message_that_is_too_long_is_refused():
    assert "more than" in verify_message("eip191", ETHEREUM["address"], bytes(70_000), ETHEREUM["signature"]).reason


@pytest.mark.parametrize(
    ("length", "expected"), [(252, "fc"), (253, "fdfd00"), (65535, "fdffff"), (65536, "fe00000100")]
)
def test_a_length_is_written_as_bitcoin_writes_it(length, expected):
    assert length_prefix(length).hex() == expected
