import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from keisei.rules.did import did_key, key_document, key_url
from keisei.rules.wallet.base58 import text_of

KNOWN = [
    (0, "z6MkiTBz1ymuepAQ4HEHYSF1H8quG5GLVVQR3djdX3mDooWp"),
    (1, "z6MkjchhfUsD6mmvni8mCdXHw216Xrm9bQe2mBH1P5RDjVJG"),
    (2, "z6MknGc3ocHs3zdPiJbnaaqDi58NGb4pk1Sp9WxWufuXSdxf"),
]
"""Private seeds and identifiers from the test vectors of the did:key method (w3c-ccg/did-key-spec)."""


def public_of(seed):
    return Ed25519PrivateKey.from_private_bytes(seed.to_bytes(32, "big")).public_key().public_bytes_raw()


@pytest.mark.parametrize(("seed", "name"), KNOWN)
def test_a_public_key_has_the_identifier_that_others_give_it(seed, name):
    assert did_key(public_of(seed)) == f"did:key:{name}"


def test_zeros_in_front_are_kept():
    assert text_of(b"\0\0a") == "112g"
    assert text_of(b"") == ""


def test_the_document_names_one_key_for_every_use():
    public = public_of(0)

    document = key_document(public)

    assert document["id"] == did_key(public)
    assert [each["id"] for each in document["verificationMethod"]] == [key_url(public)]
    assert {tuple(document[use]) for use in ("authentication", "assertionMethod")} == {(key_url(public),)}
    assert "alsoKnownAs" not in document  # one key, many agents: their accounts are not its names
