"""What lint says of agents that claim the same, and of addresses: each with its place."""

import pytest

from keisei.library.catalog import Catalog
from keisei.library.lint import lint
from keisei.library.shelf import Layer

SEGWIT = "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4"  # BIP-173
LEGACY = "1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN2"
HEAD = '[identity]\nagent_id = "{0}"\ninternal_name = "{0}"\ndisplay_name = "{1}"\n'
WALLET = '[[wallets]]\nchain = "bitcoin"\naddress = "{0}"\n'
NAME = '[identity.external_name]\nname = "{0}"\nsource = "aibtc-api"\nwallet_ref = "{1}"\n'
ENTRY = '[identity.onchain_identity]\ncontract = "SP000.registry"\ntoken_id = "{0}"\n'


@pytest.fixture
def checked(tmp_path):
    def check(*, shown=None, ids=None, **agents):
        for name, text in agents.items():
            folder = tmp_path / "agents" / name
            folder.mkdir(parents=True, exist_ok=True)
            head = HEAD.format((ids or {}).get(name, name), (shown or {}).get(name, name))
            (folder / "agent.toml").write_text(head + text)
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


@pytest.mark.parametrize(
    ("one", "other"),
    [("41", "041"), ("41", " 41"), ("41", "\uff14\uff11"), ("41", "\u0664\u0661"), ("0", "000"), ("x", "X\u200b")],
)
def test_a_token_is_compared_as_the_number_it_is(checked, one, other):
    assert [each[0] for each in checked(arc=ENTRY.format(one), loom=ENTRY.format(other))] == ["arc", "loom"]


@pytest.mark.parametrize("other", [f" {SEGWIT}", f"{SEGWIT}\u200b", SEGWIT.upper()])
def test_a_wallet_is_compared_as_it_is_read(checked, other):
    found = checked(arc=WALLET.format(SEGWIT), loom=WALLET.format(other).replace("bitcoin", "Bitcoin"))

    assert {"arc", "loom"} == {each[0] for each in found if "is claimed by agent" in each[4]}


def test_an_address_of_stacks_means_the_same_in_small_letters(checked):
    stacks = "SP2J6ZY48GV1EZ5V2V5RB9MP66SW86PYKKNRV9EJ7"
    found = checked(arc=WALLET.format(stacks), loom=WALLET.format(stacks.lower().replace("1", "l")))

    assert {"arc", "loom"} == {each[0] for each in found if "is claimed by agent" in each[4]}


LOOM = ["Loom", "LOOM", "lo\u200bom", "\uff4coom", " loom\u00ad", "lo\ufe0fom", "l\U0001d428om"]
"""What people take for `loom`: other case, width and mathematics, and what shows nothing."""


@pytest.mark.parametrize("name", LOOM, ids=ascii)
@pytest.mark.parametrize("face", ["codename", "external", "display"])
def test_no_other_face_is_another_agents_internal_name(checked, face, name):
    text = {
        "codename": f'codename = "{name}"\n',
        "external": NAME.format(name, SEGWIT) + WALLET.format(SEGWIT),
        "display": name,
    }[face]

    (found,) = checked(arc=text, loom="") if face != "display" else checked(shown={"arc": name}, arc="", loom="")

    assert found[0] == "arc"
    assert "is the internal name of another agent" in found[4]


@pytest.mark.parametrize(("one", "other"), [("Rising Leviathan", "rising\u00a0leviathan\u200d"), ("Straße", "STRASSE")])
def test_two_agents_bear_no_name_that_reads_the_same(checked, one, other):
    found = checked(shown={"arc": one}, arc="", loom=f'codename = "{other}"\n')

    assert [(each[0], each[4].partition(" `")[0]) for each in found] == [("arc", "display name"), ("loom", "codename")]


def test_whoever_says_to_be_another_agent_takes_nothing_from_it(checked):
    found = checked(arc=WALLET.format(SEGWIT), evil=WALLET.format(SEGWIT), ids={"evil": "arc"})

    assert {(each[0], each[2]) for each in found} == {("evil", "bad-name"), ("evil", "identity-conflict")}


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
