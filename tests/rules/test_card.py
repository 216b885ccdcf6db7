"""Cards, read and verified by the published SDK."""

import base64
import json

import pytest
from a2a.types import AgentCard
from a2a.utils.proto_utils import validate_proto_required_fields
from a2a.utils.signing import InvalidSignaturesError, create_signature_verifier
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from google.protobuf.json_format import Parse
from jwt import PyJWK

from keisei.rules.card import CardFacts, CardSkill, card, distinct, signed
from keisei.rules.did import key_url

KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
PUBLIC = KEY.public_key().public_bytes_raw()
FACTS = CardFacts(
    name="Indra é 形 😀",
    description="Keeps the shop correct.\n\u2028",
    version="1.2.0",
    url="https://indra.example/a2a",
    skills=(
        CardSkill(id="kei-task::create", name="x", description="y", tags=("to-do",), modes=("application/json",)),
        CardSkill(id="review", name="Review", description="Reads <b>code</b>", tags=("code", "review")),
    ),
)


def verify(text):
    """What another's program does: read the card, look at who signed, check with that key."""
    seen = []

    def provider(kid, _jku):
        seen.append(kid)
        encoded = base64.urlsafe_b64encode(PUBLIC).rstrip(b"=").decode()
        return PyJWK({"kty": "OKP", "crv": "Ed25519", "x": encoded}, algorithm="EdDSA")

    found = Parse(text, AgentCard())
    validate_proto_required_fields(found)
    create_signature_verifier(provider, ["EdDSA"])(found)
    return found, seen


def test_a_card_is_read_and_its_signature_verified_by_the_published_sdk():
    made = signed(card(FACTS), key_url(PUBLIC), KEY.sign)

    found, seen = verify(json.dumps(made))

    assert seen == [key_url(PUBLIC)]
    assert (found.name, found.version) == (FACTS.name, "1.2.0")
    (interface,) = found.supported_interfaces
    assert (interface.url, interface.protocol_binding, interface.protocol_version) == (FACTS.url, "JSONRPC", "1.0")
    assert [each.id for each in found.skills] == ["kei-task::create", "review"]


@pytest.mark.parametrize("field", ["name", "description", "version"])
def test_a_card_that_somebody_changed_has_no_signature(field):
    made = signed(card(FACTS), key_url(PUBLIC), KEY.sign)

    with pytest.raises(InvalidSignaturesError):
        verify(json.dumps(made | {field: "Other"}))


def test_an_id_is_offered_once():
    first, other = FACTS.skills
    again = CardSkill(id=first.id, name="again", description="z", tags=("t",))

    assert distinct((first, other, again)) == (first, other)
