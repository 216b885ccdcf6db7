"""What lint says of agents that claim the same, and of addresses: each with its place."""

import pytest

from keisei.library.catalog import Catalog
from keisei.library.lint import lint
from keisei.library.shelf import Layer

SEGWIT = "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4"  # BIP-173
LEGACY = "1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN2"
HEAD = '[identity]\nagent_id = "{0}"\ninternal_name = "{0}"\ndisplay_name = "{0}"\n'
WALLET = '[[wallets]]\nchain = "bitcoin"\naddress = "{0}"\n'
NAME = '[identity.external_name]\nname = "{0}"\nsource = "aibtc-api"\nwallet_ref = "{1}"\n'
ENTRY = '[identity.onchain_identity]\ncontract = "SP000.registry"\ntoken_id = "{0}"\n'


@pytest.fixture
def checked(tmp_path):
    def check(**agents):
        for name, text in agents.items():
            folder = tmp_path / "agents" / name
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "agent.toml").write_text(HEAD.format(name) + text)
        layer = Layer("project", tmp_path)
        found = lint(Catalog([layer]), ["agent"], [layer]).ordered
        return [(each.path.split("/")[-2], each.line, each.code, each.severity, each.message) for each in found]

    return check


def test_one_wallet_is_not_two_agents(checked):
    found = checked(arc=WALLET.format(SEGWIT), loom=WALLET.format(SEGWIT.upper()))

    assert [each[:4] for each in found] == [
        ("arc", 7, "identity-conflict", "error"),
        ("loom", 7, "identity-conflict", "error"),
    ]
    assert found[0][4] == f"wallet `{SEGWIT}` is claimed by agent `loom` too"


def test_one_registered_name_is_not_two_agents(checked):
    other = "bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqzk5jj0"  # BIP-350
    arc = NAME.format("Trustless  Indra", SEGWIT) + WALLET.format(SEGWIT)
    loom = NAME.format("trustless indra", other) + WALLET.format(other)

    assert [each[:3] for each in checked(arc=arc, loom=loom)] == [
        ("arc", 6, "identity-conflict"),
        ("loom", 6, "identity-conflict"),
    ]


def test_one_token_is_not_two_agents(checked):
    assert [each[:3] for each in checked(arc=ENTRY.format("7"), loom=ENTRY.format("7"))] == [
        ("arc", 7, "identity-conflict"),
        ("loom", 7, "identity-conflict"),
    ]
    assert checked(loom=ENTRY.format("8")) == []


@pytest.mark.parametrize("face", ["codename", "external"])
def test_no_other_face_is_another_agents_internal_name(checked, face):
    text = 'codename = "Loom"\n' if face == "codename" else NAME.format("LOOM", SEGWIT) + WALLET.format(SEGWIT)

    (found,) = checked(arc=text, loom="")

    assert found[0] == "arc"
    assert "is the internal name of another agent" in found[4]


def test_a_broken_agent_hides_no_claim_of_the_others(checked):
    found = checked(arc=WALLET.format(SEGWIT), broken="nonsense", loom=WALLET.format(SEGWIT))

    assert [each[0] for each in found if each[2] == "identity-conflict"] == ["arc", "loom"]


def test_a_registration_is_authored_by_a_segwit_wallet_of_the_agent(checked):
    (alone,) = checked(arc=NAME.format("Indra", SEGWIT))
    assert alone[1:4] == (8, "identity-conflict", "error")

    (legacy,) = checked(arc=NAME.format("Indra", LEGACY) + WALLET.format(LEGACY))
    assert legacy[4] == f"external_name.wallet_ref `{LEGACY}` is no segwit address"
    assert checked(arc=NAME.format("Indra", SEGWIT) + WALLET.format(SEGWIT)) == []


def test_an_address_that_cannot_be_read_is_warned_of(checked):
    mistyped = SEGWIT[:-1] + "5"

    ((_, line, code, severity, message),) = checked(arc=WALLET.format(mistyped))

    assert (line, code, severity) == (7, "wrong-value", "warning")
    assert mistyped not in message
    assert checked(arc='[[wallets]]\nchain = "elsewhere"\naddress = "any"\n') == []
