"""Secrets in agent.toml: told with their place, never repeated; what is public is let be. And wallets that fit."""

import pytest

from keisei.library.catalog import Catalog
from keisei.library.lint import lint
from keisei.library.shelf import Layer
from tests.rules.wallet.world import Signer

HEAD = '[identity]\nagent_id = "arc"\ninternal_name = "arc"\ndisplay_name = "Arc"\n'
ONE = Signer(1)
ADDRESS = ONE.address("p2wpkh")
ETHER = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"  # EIP-55
WALLET = '[[wallets]]\nchain = "{chain}"\naddress = "{address}"\n'
BITCOIN = WALLET.format(chain="bitcoin", address=ADDRESS)
MNEMONIC = " ".join(["abandon"] * 11 + ["about"])
DIGITS = "4c0883a69102937d6231471b5dbb6204fe5129617082792ae468d01a3f362318"
SENTENCE = (
    "Watches every build, writes short notes, keeps books, asks before each release lands, and tells people why "
    "something was refused when they want to know"
)
CAPABILITIES = ["sign", "message", "claim", "publish", "vote", "trade", "report", "invest", "donate", "repair"]
CAPABILITIES += ["merge", "reward"]
WIF = "L4rK1yDtCWekvXuE6oXD9jCYfFNV2cWRpVuPLBcCU2z8TrisoyY1"


@pytest.fixture
def checked(tmp_path):
    def check(text, **others):
        for name, said in {"arc": text, **others}.items():
            (tmp_path / "agents" / name).mkdir(parents=True, exist_ok=True)
            (tmp_path / "agents" / name / "agent.toml").write_text(
                HEAD.replace("arc", name).replace("Arc", name) + said
            )
        layer = Layer("project", tmp_path)
        found = lint(Catalog([layer]), ["agent"], [layer]).ordered
        assert not any(word in each.render() for each in found for word in ("abandon", DIGITS[:12], WIF[:12]))
        return [(each.line, each.code, each.severity) for each in found if "/arc/" in each.path]

    return check


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (8, BITCOIN + f'metadata = {{mnemonic = "{MNEMONIC}"}}\n'),
        (8, BITCOIN + f'public_key = "{"00" * 31}01"\n'),
        (8, BITCOIN + f'name = "{WIF}"\n'),
        (8, BITCOIN + f'capabilities = ["sign", "{DIGITS}"]\n'),
        (7, WALLET.format(chain="bitcoin", address=WIF)),
        (8, BITCOIN + f'public_key = "{DIGITS}"\nnetwork = 7\n'),
        (6, f'[identity.metadata]\nnote = "{MNEMONIC}"\n'),
        (6, f"[identity.metadata]\nwords = {MNEMONIC.split()}\n"),
        (6, f'[identity.metadata]\nnote = """{chr(10).join(MNEMONIC.split())}"""\n'),
        (6, f'[identity.metadata]\ndeep = [{{a = {{b = "{DIGITS}"}}}}]\n'),
        (5, f'codename = "{DIGITS}"\n'),
        (5, f'[identity.metadata]\n"{MNEMONIC}" = 1\n'),
        (6, f'[identity.metadata]\nsha256 = "{MNEMONIC}"\n'),
    ],
)
def test_a_secret_is_told_by_its_place_and_alone(checked, line, text):
    assert checked(text, loom=BITCOIN) == [(line, "secret-in-file", "error")]


@pytest.mark.parametrize(
    "text",
    [
        f'[identity.metadata]\ncommit = "{DIGITS[:40]}"\nsha256 = "{DIGITS}"\nbundle_hash = "0x{DIGITS}"\n',
        f'[identity.metadata]\ndigests = ["{DIGITS}"]\nfingerprint = "{DIGITS}"\nimage = "sha256:{DIGITS}"\n',
        f'[identity.metadata]\nlink = "https://explorer.example/tx/0x{DIGITS}?a=b"\n',
        f'[identity.metadata]\ndescription = "{SENTENCE}"\n',
        f"{BITCOIN}capabilities = {CAPABILITIES}\n",
        WALLET.format(chain="bitcoin", address=ONE.address("p2tr"))
        + f'public_key = "{ONE.taproot().public_key_xonly.format().hex()}"\n',
        BITCOIN + f'public_key = "{ONE.short.hex()}"\n',
        WALLET.format(chain="ethereum", address=ETHER)
        + WALLET.format(chain="ethereum", address=ETHER)
        + 'network = "base"\n',
        WALLET.format(chain="bitcoin", address="3P14159f73E4gFr7JterCCQh9QjiTjiZrG")
        + f'public_key = "{ONE.short.hex()}"\n',
    ],
)
def test_what_is_public_is_let_be(checked, text):
    assert checked(text) == []


@pytest.mark.parametrize(
    ("found", "text"),
    [
        ((8, "identity-conflict", "error"), BITCOIN + f'public_key = "{Signer(2).short.hex()}"\n'),
        ((8, "identity-conflict", "error"), BITCOIN + 'public_key = "none"\n'),
        ((10, "identity-conflict", "error"), BITCOIN + WALLET.format(chain="bitcoin", address=ADDRESS.upper())),
        ((10, "identity-conflict", "error"), BITCOIN + WALLET.format(chain=" Bitcoin", address=ADDRESS)),
        ((8, "identity-conflict", "error"), WALLET.format(chain="Bitcoin", address=ADDRESS) + 'public_key = "00"\n'),
        ((6, "wrong-value", "warning"), WALLET.format(chain="btc", address=ADDRESS)),
        ((8, "wrong-value", "warning"), WALLET.format(chain="ethereum", address=ETHER) + 'network = "zzz"\n'),
        ((7, "wrong-value", "warning"), WALLET.format(chain="BITCOIN", address=ADDRESS[:-1] + "5")),
    ],
)
def test_what_does_not_fit_is_told(checked, found, text):
    assert checked(text) == [found]


@pytest.mark.parametrize(
    ("chain", "address"), [("Bitcoin", f" {ADDRESS}"), ("BTC", ADDRESS.upper()), ("bitcoin ", ADDRESS)]
)
def test_another_spelling_claims_the_same(checked, chain, address):
    found = checked(BITCOIN, loom=WALLET.format(chain=chain, address=address))

    assert found == [(7, "identity-conflict", "error")]
