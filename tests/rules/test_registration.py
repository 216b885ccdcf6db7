import base64
import json

import pytest

from keisei.records.agent import OnchainIdentity
from keisei.rules.registration import RegistrationFacts, Service, data_uri, picture, registered, registration

CONTRACT = "SP2J6ZY48GV1EZ5V2V5RB9MP66SW86PYKKNRV9EJ7.identity-registry"
FACTS = RegistrationFacts(
    name="Trustless Indra",
    description="Keeps the shop correct.",
    image="https://indra.example/i.png",
    services=(Service(name="A2A", endpoint="https://indra.example/.well-known/agent-card.json", version="1.0"),),
    x402=False,
    active=True,
    onchain=OnchainIdentity(contract=CONTRACT, token_id="41"),  # noqa: S106 - no secret
    trust=("reputation",),
)


def test_the_file_has_the_fields_of_the_standard_and_no_others():
    file = registration(FACTS)

    assert list(file) == [
        "type",
        "name",
        "description",
        "image",
        "services",
        "x402Support",
        "active",
        "registrations",
        "supportedTrust",
    ]
    assert file["type"] == "https://eips.ethereum.org/EIPS/eip-8004#registration-v1"
    assert file["registrations"] == [{"agentId": 41, "agentRegistry": f"stacks:1:{CONTRACT}"}]
    assert file["services"][0]["version"] == "1.0"


def test_the_address_holds_the_whole_file():
    head, _, body = data_uri(registration(FACTS)).partition(",")

    assert head == "data:application/json;base64"
    assert json.loads(base64.b64decode(body)) == registration(FACTS)


@pytest.mark.parametrize(
    ("contract", "token", "known"),
    [
        (CONTRACT, None, None),
        (CONTRACT, "seven", None),
        (CONTRACT, "\u0667", None),
        ("XX000.registry", "7", None),
        ("ST000.registry", "7", {"agentId": 7, "agentRegistry": "stacks:2147483648:ST000.registry"}),
        (CONTRACT, str(2**60), {"agentId": str(2**60), "agentRegistry": f"stacks:1:{CONTRACT}"}),
    ],
)
def test_half_an_entry_is_none(contract, token, known):
    assert registered(OnchainIdentity(contract=contract, token_id=token)) == known


def test_an_agent_without_a_picture_gets_a_letter():
    drawn = base64.b64decode(picture("I", "93d730").partition(",")[2]).decode()

    assert (drawn.startswith("<svg "), ">I</text>" in drawn) == (True, True)
