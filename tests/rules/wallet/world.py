"""Published vectors, and signers that are not ours: coincurve and eth-account sign, keisei only verifies."""

import base64
import hashlib
import json
from pathlib import Path

import coincurve

from keisei.rules.wallet import base58, bech32, bip137, bip322, c32, stacks
from keisei.rules.wallet.address import parse_address
from keisei.rules.wallet.ripemd import hash160

HERE = Path(__file__).parent


def vectors(name):
    return json.loads((HERE / f"{name}.json").read_text(encoding="utf-8"))


class Signer:
    """A key that exists only in a test."""

    def __init__(self, number):
        self.key = coincurve.PrivateKey.from_int(number)
        self.short, self.long = self.key.public_key.format(), self.key.public_key.format(compressed=False)

    def address(self, kind):
        hashed = hash160(self.short)
        return {
            "p2pkh": lambda: base58.encode(b"\x00" + hashed),
            "p2sh": lambda: base58.encode(b"\x05" + hash160(b"\x00\x14" + hashed)),
            "p2wpkh": lambda: bech32.encode("bc", 0, hashed),
            "p2tr": lambda: bech32.encode("bc", 1, self.taproot().public_key_xonly.format()),
            "stacks": lambda: c32.encode(22, hashed),
        }[kind]()

    def recoverable(self, digest):
        return self.key.sign_recoverable(digest, hasher=None)

    def bip137(self, message, kind):
        signed = self.recoverable(bip137.digest(message))
        base = {"p2pkh": 31, "p2sh": 35, "p2wpkh": 39}[kind]
        return base64.b64encode(bytes([base + signed[64]]) + signed[:64]).decode()

    def stacks(self, message):
        return self.recoverable(stacks.digest(message)).hex()

    def taproot(self):
        """BIP-86: the key, even, moved by its own hash."""
        secret = self.key if self.short[0] == 2 else coincurve.PrivateKey.from_int(_negated(self.key.to_int()))
        mark = hashlib.sha256(b"TapTweak").digest()
        return secret.add(hashlib.sha256(mark + mark + self.short[1:]).digest())

    def bip322(self, message, kind):
        address = parse_address("bitcoin", None, self.address(kind))
        if kind == "p2tr":
            items = [self.taproot().sign_schnorr(bip322.hashed_v1(address, message, 0))]
        else:
            digest = bip322.hashed_v0(address, message, hash160(self.short))
            items = [self.key.sign(digest, hasher=None) + b"\x01", self.short]
        return base64.b64encode(stack(items)).decode()


def stack(items):
    return bytes([len(items)]) + b"".join(bytes([len(item)]) + item for item in items)


def _negated(number):
    return 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141 - number
