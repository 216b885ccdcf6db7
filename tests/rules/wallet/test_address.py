"""Addresses: every published one is read or refused as published, and only one way of writing is taken."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from keisei.records.wallet import Wallet
from keisei.rules.wallet import base58, bech32, c32
from keisei.rules.wallet.address import CHAINS, parse_address, pays_to
from keisei.rules.wallet.bip322 import script_of
from keisei.rules.wallet.caip import account_id, chain_id, did_pkh
from keisei.rules.wallet.curve import parse_public
from keisei.rules.wallet.secret import looks_secret
from tests.rules.wallet.ethereum import WORDS, to_checksum_address
from tests.rules.wallet.world import Signer, vectors

SEGWIT, C32, EIP55 = vectors("bip350"), vectors("c32check"), vectors("ethereum")["eip55"]["addresses"]


@pytest.mark.parametrize("text", SEGWIT["valid"])
def test_a_published_segwit_address_gives_its_script(text):
    address = parse_address("bitcoin", None, text)

    assert script_of(address).hex() == SEGWIT["valid"][text]
    assert address.text == text.lower()
    assert bech32.encode(text[:2].lower(), address.version, address.program) == text.lower()


@pytest.mark.parametrize("text", SEGWIT["invalid"])
def test_a_published_wrong_segwit_address_is_refused(text):
    with pytest.raises(ValueError, match=r"."):
        parse_address("bitcoin", None, text)
    if not text.startswith("tc1"):
        with pytest.raises(ValueError, match=r"."):
            bech32.decode(text)


@pytest.mark.parametrize("version", C32["addresses"])
def test_a_published_stacks_address_is_read_and_written(version):
    for text, hashed in zip(C32["addresses"][version], C32["hashes"], strict=True):
        assert c32.decode(text) == (int(version), bytes.fromhex(hashed))
        assert c32.encode(int(version), bytes.fromhex(hashed)) == text


@pytest.mark.parametrize(
    "text", [*C32["invalid"], "sp2j6zy48gv1ez5v2v5rb9mp66sw86pykknrv9ej7", "SP0000000000000000000002Q6VF78"]
)
def test_a_wrong_stacks_address_is_refused(text):
    with pytest.raises(ValueError, match=r"."):
        parse_address("stacks", None, text)


def test_a_version_of_nobody_is_no_stacks_address():
    with pytest.raises(ValueError, match="SP, SM, ST and SN"):
        parse_address("stacks", None, C32["addresses"]["31"][0])


@pytest.mark.parametrize("text", EIP55)
def test_an_ethereum_address_is_written_as_eip55_says(text):
    assert parse_address("ethereum", None, text).text == text
    assert parse_address("ethereum", None, text.lower()).text == text
    assert parse_address("ethereum", None, "0x" + text[2:].upper()).text == text


def test_a_capital_letter_in_the_wrong_place_is_a_wrong_checksum():
    with pytest.raises(ValueError, match="EIP-55"):
        parse_address("ethereum", None, "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAeD")


@pytest.mark.parametrize(
    ("chain", "network", "text"),
    [
        ("bitcoin", "testnet", "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4"),
        ("bitcoin", "mainnet", "mpLQjfK79b7CCV4VMJWEWAj5Mpx8Up5zxB"),
        ("stacks", "mainnet", "STGSJA8EMYDBAJDX6Z4ED8CWW071B6NB97SRAM1E"),
    ],
)
def test_an_address_of_another_network_is_refused(chain, network, text):
    with pytest.raises(ValueError, match="not of the network"):
        parse_address(chain, network, text)


def test_test_networks_that_share_a_notation_are_all_told():
    assert parse_address("bitcoin", None, "mpLQjfK79b7CCV4VMJWEWAj5Mpx8Up5zxB").networks == (
        "testnet",
        "signet",
        "regtest",
    )
    assert parse_address("bitcoin", "signet", "mpLQjfK79b7CCV4VMJWEWAj5Mpx8Up5zxB").networks == ("signet",)


@settings(max_examples=60, database=None)
@example("bitcoin", "bc1" + "q" * 10**6)
@example("bitcoin", "1" * 10**6)
@example("stacks", "S" * 10**6)
@example("ethereum", "0x" + "٣" * 40)
@example("bitcoin", "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3\N{SUBSCRIPT FOUR}")
@given(st.sampled_from((*CHAINS, "solana", "")), st.text())
def test_any_text_is_an_address_or_refused(chain, text):
    try:
        parse_address(chain, None, text)
    except ValueError as error:
        assert len(str(error)) < 200  # noqa: PT017 - one sentence, which does not repeat what was given


@settings(max_examples=40, database=None)
@given(st.sampled_from(["p2pkh", "p2sh", "p2wpkh", "p2tr", "stacks"]), st.integers(0, 200), st.integers(0, 200))
def test_a_mistyped_address_is_refused(kind, place, other):
    text = Signer(11).address(kind)
    alphabet = {"p2pkh": base58, "p2sh": base58, "stacks": c32}.get(kind, bech32).ALPHABET
    place = 2 + place % (len(text) - 2)
    mistyped = text[:place] + alphabet[other % len(alphabet)] + text[place + 1 :]
    if mistyped == text:
        return

    with pytest.raises(ValueError, match=r"."):
        parse_address("stacks" if kind == "stacks" else "bitcoin", None, mistyped)


def test_a_key_belongs_to_its_own_addresses_only():
    key, other = parse_public(Signer(5).short), parse_public(Signer(6).short)
    for kind in ("p2pkh", "p2sh", "p2wpkh", "p2tr"):
        address = parse_address("bitcoin", None, Signer(5).address(kind))
        assert pays_to(address, key)
        assert not pays_to(address, other)
    published = vectors("stacks")
    address = parse_address("stacks", "testnet", published["address"])
    assert pays_to(address, parse_public(bytes.fromhex(published["public_key"])))


def wallet(chain, address, network=None):
    return Wallet(chain=chain, network=network, address=address)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        # ChainAgnostic/namespaces bip122/caip10.md, stacks/caip10.md; w3c-ccg/did-pkh, examples
        (
            wallet("bitcoin", "128Lkh3S7CkDTBZ8W7BbpsN3YYizJMp8p6"),
            "bip122:000000000019d6689c085ae165831e93:128Lkh3S7CkDTBZ8W7BbpsN3YYizJMp8p6",
        ),
        (
            wallet("stacks", "SP2J6ZY48GV1EZ5V2V5RB9MP66SW86PYKKNRV9EJ7"),
            "stacks:1:SP2J6ZY48GV1EZ5V2V5RB9MP66SW86PYKKNRV9EJ7",
        ),
        (
            wallet("stacks", "ST1PQHQKV0RJXZFY1DGX8MNSNYVE3VGZJSRTPGZGM", "testnet"),
            "stacks:2147483648:ST1PQHQKV0RJXZFY1DGX8MNSNYVE3VGZJSRTPGZGM",
        ),
        (
            wallet("ethereum", "0xa0ae58da58dfa46fa55c3b86545e7065f90ff011", "celo"),
            f"eip155:42220:{to_checksum_address('0xa0ae58da58dfa46fa55c3b86545e7065f90ff011')}",
        ),
        (wallet("ethereum", EIP55[4], "100"), f"eip155:100:{EIP55[4]}"),
        (wallet("ethereum", EIP55[4], "somewhere"), None),
        (wallet("bitcoin", "mpLQjfK79b7CCV4VMJWEWAj5Mpx8Up5zxB"), None),
        (wallet("solana", "CKg5d12Jhpej1JqtmxLJgaFqqeYjxgPqToJ4LBdvG9Ev"), None),
        (wallet("stacks", "SP000EXAMPLE"), None),
    ],
)
def test_an_account_id_says_its_chain(given, expected):
    assert account_id(given) == expected
    assert did_pkh(given) == (None if expected is None else f"did:pkh:{expected}")


def test_a_chain_of_nobody_has_no_id():
    assert chain_id("solana", "mainnet") is None
    assert chain_id("ethereum", "9" * 40) is None
    assert chain_id("bitcoin", "devnet") is None


MNEMONIC = " ".join(["abandon"] * 11 + ["about"])
SPLIT_HEX = "4c0883a69102937d6231471b5dbb6204fe5129617082792ae468d01a3f362318"  # eth-account's documentation
WIF = base58.encode(b"\x80" + bytes(range(32)) + b"\x01")


def _grouped(text, length):
    return [text[start : start + length] for start in range(0, len(text), length)]


@pytest.mark.parametrize(
    "text",
    [
        "0x" + "ab" * 32,
        "ab" * 32 + "01",
        f"my key: {'AB' * 32}.",
        "L" + "3" * 51,
        "5" + "K" * 50,
        "x" + "prv" + "9" * 107,
        "6P" + "R" * 56,
        "nsec1" + "q" * 58,
        "-----BEGIN EC PRIVATE KEY-----",
        MNEMONIC,
        f"seed: {MNEMONIC}",
        MNEMONIC.replace(" ", ", "),
        MNEMONIC.upper(),
        " ".join(f"{number}. {word}" for number, word in enumerate(MNEMONIC.split(), 1)),
        "\n".join(f"{number:02}{word}" for number, word in enumerate(MNEMONIC.split(), 1)),
        "-".join(MNEMONIC.title().split()),
        *(joint.join(_grouped(SPLIT_HEX, 8)) for joint in (" ", "-", "\n", " - ", "_")),
        f"add 0x{' '.join(_grouped(SPLIT_HEX, 2))} please",
        *(f"key is {joint.join(_grouped(WIF, 4))} keep it" for joint in (" ", "-", "\n")),
        " ".join(_grouped(base58.encode(b"\x04\x88\xad\xe4" + bytes(range(74))), 6)),
        " ".join(_grouped("nsec1" + "q7" * 29, 9)),
    ],
)
def test_what_looks_like_a_key_is_seen(text):
    assert looks_secret(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "arc.btc",
        "The quick brown fox jumps over a lazy dog",
        *(Signer(3).address(kind) for kind in ("p2pkh", "p2sh", "p2wpkh", "p2tr", "stacks")),
        *EIP55,
        Signer(3).short.hex(),
        SPLIT_HEX[:40],
        ":".join(_grouped(SPLIT_HEX, 2)),
        "550e8400-e29b-41d4-a716-446655440000 6ba7b810-9dad-11d1-80b4-00c04fd430c8",
        " ".join(_grouped("1234567890" * 7, 8)),
        " ".join(_grouped(WIF[:-1] + "2", 4)),
        f"sha256:{SPLIT_HEX}",
        f"https://explorer.example/tx/0x{SPLIT_HEX}",
    ],
)
def test_what_is_public_is_not_taken_for_a_key(text):
    assert not looks_secret(text)


def test_every_word_of_a_mnemonic_is_one():
    """The list is eth-account's copy of BIP-39's."""
    words = WORDS.read_text().split()

    assert len(words) == 2048
    assert [word for word in words if not looks_secret(" ".join([word] * 12))] == []


def test_64_digits_are_a_hash_where_that_is_known():
    assert not looks_secret(f"0x{SPLIT_HEX} {' '.join(_grouped(SPLIT_HEX, 8))}", hashes=True)
    assert looks_secret(MNEMONIC, hashes=True)
    assert looks_secret(WIF, hashes=True)
