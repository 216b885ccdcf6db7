"""`keisei wallet`: addresses are written and signatures judged; a key is neither written nor said."""

import base64
import hashlib
import json
import os
import shutil
import tempfile
import threading
from pathlib import Path

import pytest

from keisei.records.agent import AgentWallet
from keisei.records.error import OperatorError
from keisei.rules.wallet.message import verify_message
from keisei.settings import read_settings
from keisei.wiring import catalog, wallet
from tests.rules.wallet.world import Signer, vectors

FILE = """# Arc, who keeps the books.
[identity]
agent_id = "arc"   # for life
internal_name = "arc"
display_name = "Arc"

[identity.onchain_identity]
contract = "SP2J6ZY48GV1EZ5V2V5RB9MP66SW86PYKKNRV9EJ7.identity-registry"  # theirs
"""
SEGWIT = "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4"
KEY = "0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798"
BIP137 = next(each for each in vectors("bip137")["valid"] if each["address"] == SEGWIT)
STACKS = vectors("stacks")
ETHEREUM = vectors("ethereum")["eip191"]


class Desk:
    """A project with an agent, and the command."""

    def __init__(self, shell, runtime):
        self.shell = shell
        for name in [name for name in os.environ if name.startswith(("KEI_", "KEISEI_"))]:
            shell._monkeypatch.delenv(name)
        shell.setenv("XDG_RUNTIME_DIR", runtime)
        shell.setenv("XDG_STATE_HOME", shell.home / "state")
        self.folder = shell.folder_of("my shop")
        (self.folder / "keisei.toml").write_text('[project]\nname = "shop"\n')
        self.path = self.agent("arc")
        shell.cd(self.folder)

    def agent(self, name, text=FILE):
        path = self.folder / ".keisei/agents" / name / "agent.toml"
        path.parent.mkdir(parents=True)
        path.write_bytes(text.replace('"arc"', f'"{name}"').encode())
        return path

    def add(self, *words, agent="arc"):
        return self.shell.run("wallet", "add", agent, *words)

    def verify(self, case, *words):
        told = ("--address", case["address"], "--message", case["message"], "--signature", case["signature"])
        return self.shell.run("wallet", "verify", *told, *words)

    def list(self, *words):
        return json.loads(self.shell.run("wallet", "list", *words, "--json").out)


@pytest.fixture
def desk(shell):
    runtime = Path(tempfile.mkdtemp(prefix="kw-", dir="/tmp"))  # a socket's path must be short
    yield Desk(shell, runtime)
    shutil.rmtree(runtime)


def test_a_wallet_is_written_and_everything_else_stays(desk):
    desk.path.chmod(0o640)

    done = desk.add(
        *("--chain", "bitcoin", "--address", SEGWIT.upper(), "--public-key", KEY.upper()),
        *("--name", "arc.btc", "--capability", "sign", "--capability", "heartbeat"),
    )

    assert (done.code, done.err) == (0, "")
    assert done.out == f"arc watches bitcoin mainnet {SEGWIT}: .keisei/agents/arc/agent.toml\n"
    wallet_table = f"""
[[wallets]]
chain = "bitcoin"
network = "mainnet"
address = "{SEGWIT}"
public_key = "{KEY}"
name = "arc.btc"
capabilities = ["sign", "heartbeat"]
"""
    assert desk.path.read_text() == FILE + wallet_table
    assert desk.path.stat().st_mode & 0o777 == 0o640
    assert [path.name for path in desk.path.parent.iterdir()] == ["agent.toml"]
    assert desk.shell.run("lint", "agents").code == 0


def test_wallets_are_listed_with_what_they_are_called_elsewhere(desk):
    desk.add("--chain", "stacks", "--address", STACKS["address"])
    desk.add("--chain", "ethereum", "--address", ETHEREUM["address"].lower(), "--network", "base")

    found = desk.list("arc")

    assert [(each["address"], each["kind"]) for each in found] == [
        (STACKS["address"], "p2pkh"),
        (ETHEREUM["address"], "account"),
    ]
    assert [each["did"] for each in found] == [
        f"did:pkh:stacks:2147483648:{STACKS['address']}",
        f"did:pkh:eip155:8453:{ETHEREUM['address']}",
    ]
    assert desk.shell.run("wallet", "list").out.splitlines()[1].split()[:4] == ["arc", "stacks", "testnet", "p2pkh"]


@pytest.mark.parametrize("newline", ["\n", "\r\n"], ids=["lf", "crlf"])
def test_lines_end_as_they_did(desk, newline):
    desk.agent("bob", FILE.rstrip("\n").replace("\n", newline))

    desk.add("--chain", "bitcoin", "--address", SEGWIT, agent="bob")

    raw = (desk.folder / ".keisei/agents/bob/agent.toml").read_bytes()
    assert raw.count(b"\n") == raw.count(newline.encode())
    assert desk.list("bob")[0]["address"] == SEGWIT


def test_wallets_written_as_a_value_are_added_to(desk):
    one = f'wallets = [{{ chain = "stacks", address = "{STACKS["address"]}" }}] # inline\n'
    desk.agent("bob", one + FILE)

    done = desk.add("--chain", "bitcoin", "--address", SEGWIT, agent="bob")

    assert done.code == 0, done.err
    assert [each["address"] for each in desk.list("bob")] == [STACKS["address"], SEGWIT]
    assert "# inline" in (desk.folder / ".keisei/agents/bob/agent.toml").read_text()


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--chain", "bitcoin", "--address", SEGWIT[:-1] + "5"), "checksum is wrong"),
        (("--chain", "ethereum", "--address", "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAeD"), "EIP-55"),
        (("--chain", "stacks", "--address", "SP000EXAMPLE"), "cannot be used"),
        (("--chain", "bitcoin", "--address", SEGWIT, "--network", "testnet"), "is an address of mainnet"),
        (("--chain", "bitcoin", "--address", "mpLQjfK79b7CCV4VMJWEWAj5Mpx8Up5zxB"), "say which with --network"),
        (
            ("--chain", "bitcoin", "--address", SEGWIT, "--public-key", Signer(2).short.hex()),
            "does not give the address",
        ),
        (("--chain", "bitcoin", "--address", SEGWIT, "--public-key", "02" + "zz"), "33 or 65 bytes in hexadecimal"),
        (("--chain", "ethereum", "--address", ETHEREUM["address"], "--network", "zzz"), "has no network `zzz`"),
        (("--chain", "ethereum", "--address", ETHEREUM["address"], "--network", "007"), "has no network `007`"),
        (("--chain", "bitcoin", "--address", SEGWIT, "--contract", "SP0.other"), "is linked to `SP0.other`"),
        (("--chain", "solana", "--address", SEGWIT), "solana"),
        (("--chain", "bitcoin", "--address", ""), "empty"),
    ],
)
def test_what_does_not_fit_is_refused_and_nothing_is_written(desk, words, why):
    done = desk.add(*words)

    assert (done.code, done.out) == (1, "")
    assert why in done.err
    assert "Traceback" not in done.err
    assert desk.path.read_text() == FILE


SECRETS = {
    "hex": "0x" + "4f" * 32,
    "split": "4c0883a69102937d 6231471b5dbb6204 fe5129617082792a e468d01a3f362318",
    "wif": "L" + "3kT9" * 12 + "abc",
    "mnemonic": " ".join(["legal"] * 11 + ["yellow"]),
    "numbered": " ".join(f"{number} abandon" for number in range(1, 12)) + " 12 about",
}


@pytest.mark.parametrize("secret", SECRETS.values(), ids=SECRETS)
@pytest.mark.parametrize("option", ["--address", "--public-key", "--name", "--capability", "--contract", "--network"])
def test_a_key_in_any_place_is_neither_written_nor_said(desk, secret, option):
    words = {"--chain": "bitcoin", "--address": SEGWIT, option: secret}

    done = desk.add(*(word for pair in words.items() for word in pair))

    assert (done.code, done.out) == (1, "")
    assert "private key or a mnemonic" in done.err
    assert secret[2:20] not in done.err
    assert desk.path.read_text() == FILE


def test_an_address_belongs_to_one_agent(desk):
    desk.agent("bob")
    assert desk.add("--chain", "ethereum", "--address", ETHEREUM["address"]).code == 0

    again = desk.add("--chain", "ethereum", "--address", ETHEREUM["address"].lower(), agent="bob")

    assert again.code == 1
    assert "agent `arc` has the ethereum wallet" in again.err


def test_an_agent_nobody_knows_and_one_of_another_layer_are_refused(desk):
    missing = desk.add("--chain", "bitcoin", "--address", SEGWIT, agent="nobody")
    assert (missing.code, "no agent is called `nobody`" in missing.err) == (1, True)

    theirs = desk.shell.home / ".config/keisei/agents/eve/agent.toml"
    theirs.parent.mkdir(parents=True)
    theirs.write_text(FILE.replace('"arc"', '"eve"'))
    done = desk.add("--chain", "bitcoin", "--address", SEGWIT, agent="eve")
    assert (done.code, "is not the project's" in done.err) == (1, True)


def test_a_file_that_is_a_link_is_not_followed(desk):
    elsewhere = desk.folder / "elsewhere.toml"
    desk.path.rename(elsewhere)
    desk.path.symlink_to(elsewhere)

    done = desk.add("--chain", "bitcoin", "--address", SEGWIT)

    assert (done.code, "is a symlink" in done.err) == (1, True)
    assert elsewhere.read_text() == FILE


def test_many_at_once_lose_nothing_and_share_no_address(desk):
    desk.agent("bob")
    said = []

    def add(number, agent):
        new = AgentWallet(chain="bitcoin", network="mainnet", address=Signer(number).address("p2wpkh"))
        try:
            wallet.add(lambda: catalog(read_settings(), start=desk.folder), agent, new)
            said.append(number)
        except OperatorError as error:
            assert "already" in error.message  # noqa: PT017 - the loser of a race is told

    threads = [
        threading.Thread(target=add, args=(number, agent)) for number in (1, 2, 3, 4) for agent in ("arc", "bob")
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(said) == [1, 2, 3, 4]
    assert sorted(each["address"] for each in desk.list()) == sorted(
        Signer(number).address("p2wpkh") for number in (1, 2, 3, 4)
    )


@pytest.mark.parametrize(
    "case", [BIP137, vectors("bip322")["valid"][3], STACKS, ETHEREUM], ids=lambda case: case["address"]
)
def test_a_published_signature_is_valid_and_another_message_is_not(desk, case):
    done = desk.verify(case)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("valid (")

    changed = desk.verify({**case, "message": "x"})
    assert (changed.code, changed.err) == (2, "")
    assert changed.out.startswith("not valid (")


def test_the_verdict_says_whose_wallet_it_is_and_is_kept(desk):
    desk.add("--chain", "bitcoin", "--address", SEGWIT, "--name", "arc.btc")

    done = desk.verify(BIP137, "arc", "--record")

    assert done.out == "valid (bip137): signed by the key of the address (p2wpkh); wallet of arc (arc.btc); row 1\n"
    row = json.loads(desk.shell.run("ledger", "show", "1", "--json").out)
    assert (row["kind"], row["subject"], row["source"]) == ("wallet_verified", "arc", "manual")
    assert row["body"]["signature"] == BIP137["signature"]
    assert row["body"]["public_key"] == KEY
    assert row["body"]["message"] == BIP137["message"]
    told = json.loads(desk.verify(BIP137, "arc", "--json").out)
    assert (told["valid"], told["wallet"]["agent_id"], told["row"]) == (True, "arc", None)


def test_an_address_that_is_not_the_agents_is_not_valid_and_not_kept(desk):
    done = desk.verify(BIP137, "arc", "--record")

    assert (done.code, "none of the agent's wallets" in done.out) == (2, True)
    assert json.loads(desk.shell.run("ledger", "list", "--json").out) == []


def test_a_message_comes_from_a_file_byte_for_byte(desk):
    (desk.folder / "said.txt").write_bytes(BIP137["message"].encode())
    assert desk.verify({**BIP137, "message": "@said.txt"}).code == 0

    (desk.folder / "said.txt").write_bytes(BIP137["message"].encode() + b"\n")
    assert desk.verify({**BIP137, "message": "@said.txt"}).code == 2


@pytest.mark.parametrize(
    ("change", "words", "code"),
    [
        ({"message": "@nowhere"}, (), 1),
        ({"message": "@"}, (), 1),
        ({"message": "@a\0b"}, (), 1),
        ({"message": "@" + "n" * 5000}, (), 1),
        ({"message": "@/dev/zero"}, (), 1),
        ({"message": "@."}, (), 1),
        ({"message": "@\x1b[31m"}, (), 1),
        ({"message": "@\udcff"}, (), 1),
        ({"message": "x" * 70_000}, (), 1),
        ({}, ("--record",), 1),
        ({}, ("--scheme", "magic"), 1),
        ({}, ("nobody",), 1),
        ({"address": SECRETS["hex"]}, (), 1),
        ({"address": "x" * 100_000}, (), 2),
        ({"address": "\x1b[31m" + SEGWIT}, (), 2),
        ({"signature": "A" * 100_000}, (), 2),
        ({"signature": ""}, (), 2),
        ({"signature": "\udcff"}, (), 2),
        ({"message": "\udcff"}, (), 2),
        ({}, ("--scheme", "bip322"), 2),
        ({}, ("--scheme", "stacks"), 2),
    ],
)
def test_what_cannot_be_judged_ends_in_one_sentence(desk, change, words, code):
    done = desk.verify({**BIP137, **change}, *words)

    assert done.code == code
    assert "Traceback" not in done.err + done.out
    assert "\x1b" not in done.err + done.out
    assert SECRETS["hex"] not in done.err + done.out
    assert len(done.err + done.out) < 1000


@pytest.mark.parametrize("secret", SECRETS.values(), ids=SECRETS)
@pytest.mark.parametrize(
    "words",
    [
        ("wallet", "verify", "{}"),
        ("wallet", "verify", "--address", SEGWIT, "--message", "x", "--signature", "x", "{}"),
        ("wallet", "verify", "--address", "{}", "--message", "x", "--signature", "x"),
        ("wallet", "verify", "--address", SEGWIT, "--message", "@{}", "--signature", "x"),
        ("wallet", "verify", "--address", SEGWIT, "--message", "x", "--signature", "{}"),
        ("wallet", "verify", "--address", SEGWIT, "--message", "x", "--signature", "x", "--scheme", "{}"),
        ("wallet", "verify", "arc", "--address", SEGWIT, "--message", "x", "--signature", "x", "{}"),
        ("wallet", "verify", "arc", "--address", SEGWIT, "--message", "x", "--signature", "x", "--kit-root", "{}"),
        ("wallet", "add", "arc", "--chain", "{}", "--address", SEGWIT),
        ("wallet", "add", "{}", "--chain", "bitcoin", "--address", SEGWIT),
        ("wallet", "list", "arc", "{}"),
        ("wallet", "list", "{}"),
        ("wallet", "{}"),
    ],
)
def test_a_secret_given_by_mistake_is_never_repeated(desk, words, secret):
    done = desk.shell.run(*(word.format(secret) for word in words))

    assert done.code in (1, 2)
    assert secret[2:14] not in done.out + done.err


def test_words_of_a_mnemonic_that_nobody_quoted_are_not_repeated(desk):
    words = SECRETS["mnemonic"].split()

    done = desk.shell.run("wallet", "verify", *words, "--address", SEGWIT, "--message", "x", "--signature", "x")

    assert (done.code, "yellow" in done.out + done.err) == (1, False)


def test_a_mistake_that_is_no_secret_is_still_told(desk):
    done = desk.shell.run("wallet", "verify", "arc", "bob", "--address", SEGWIT, "--message", "x", "--signature", "x")

    assert (done.code, "bob" in done.err) == (1, True)


def test_the_key_of_taproot_may_be_its_32_bytes(desk):
    signer = Signer(5)
    short = signer.taproot().public_key_xonly.format().hex()
    for key, number in ((short, 5), (Signer(6).short[1:].hex(), 6), (Signer(7).short.hex(), 7)):
        words = ("--chain", "bitcoin", "--address", Signer(number).address("p2tr"), "--public-key", key)
        assert desk.add(*words).code == 0

    assert desk.list("arc")[0]["public_key"] == short
    wrong = desk.add("--chain", "bitcoin", "--address", Signer(8).address("p2tr"), "--public-key", "11" * 32)
    assert (wrong.code, "private key" in wrong.err, "1111" in wrong.err) == (1, True, False)


def test_an_account_on_another_network_is_another_wallet_of_the_same_agent(desk):
    desk.agent("bob")
    words = ("--chain", "ethereum", "--address", ETHEREUM["address"], "--network")

    assert [desk.add(*words, network).code for network in ("mainnet", "base", "8453", "base")] == [0, 0, 0, 1]
    assert desk.add(*words, "celo", agent="bob").code == 1


def test_a_file_of_another_agent_gets_no_wallet(desk):
    text = desk.path.read_text().replace('"arc"', '"bob"')
    desk.path.write_text(text)

    done = desk.add("--chain", "bitcoin", "--address", SEGWIT)

    assert (done.code, "differs from the folder `arc`" in done.err) == (1, True)
    assert desk.path.read_text() == text


@pytest.mark.parametrize(
    "message", [b"@Hello", b"@", b"", b"\xff\x00", b"line\nline", b"nonce " + b"ab" * 32], ids=repr
)
def test_whatever_was_signed_is_kept_and_can_be_verified_again(desk, message):
    signer = Signer(9)
    address, signature = signer.address("p2wpkh"), signer.bip137(message, "p2wpkh")
    desk.add("--chain", "bitcoin", "--address", address)
    (desk.folder / "said").write_bytes(message)

    done = desk.verify({"address": address, "message": "@said", "signature": signature}, "arc", "--record")

    assert done.code == 0, done.out + done.err
    body = json.loads(desk.shell.run("ledger", "show", "1", "--json").out)["body"]
    kept = body["message"].encode() if "message" in body else base64.b64decode(body["message_base64"])
    assert kept == message
    assert hashlib.sha256(kept).hexdigest() == body["message_sha256"]
    again = verify_message(body["scheme"], body["address"], kept, body["signature"], body["network"])
    assert (again.valid, again.public_key) == (True, body["public_key"])


def test_a_first_at_is_written_twice(desk):
    signer = Signer(9)
    case = {"address": signer.address("p2wpkh"), "signature": signer.bip137(b"@Hello", "p2wpkh")}

    assert desk.verify({**case, "message": "@@Hello"}).code == 0
    assert desk.verify({**case, "message": "@Hello"}).code == 1


def test_a_message_with_a_mnemonic_is_not_kept(desk):
    signer, message = Signer(9), f"my words: {SECRETS['numbered']}"
    case = {"address": signer.address("p2wpkh"), "signature": signer.bip137(message.encode(), "p2wpkh")}
    desk.add("--chain", "bitcoin", "--address", case["address"])

    done = desk.verify({**case, "message": message}, "arc", "--record")

    assert (done.code, "abandon" in done.out + done.err) == (1, False)
    assert json.loads(desk.shell.run("ledger", "list", "--json").out) == []


@pytest.mark.parametrize(
    ("name", "why"),
    [("nowhere", "no such file"), ("/dev/zero", "a device"), (".", "a folder"), ("", "no file is named behind the @")],
)
def test_why_a_message_cannot_be_read_is_true(desk, name, why):
    done = desk.verify({**BIP137, "message": f"@{name}"})

    assert (done.code, why in done.err) == (1, True), done.err


@pytest.mark.parametrize("secret", SECRETS.values(), ids=SECRETS)
@pytest.mark.parametrize(
    "words", [("wallet", "list"), ("wallet", "list", "--json"), ("identity", "show", "arc"), ("agent", "show", "arc")]
)
def test_a_secret_that_stands_in_the_file_is_printed_by_nobody(desk, words, secret):
    desk.path.write_text(
        f'{FILE}[[wallets]]\nchain = "bitcoin"\naddress = "{SEGWIT}"\nmetadata = {{key = "{secret}"}}\n'
    )

    done = desk.shell.run(*words)

    assert (done.code, done.out) == (1, "")
    assert "agent.toml:12:" in done.err
    assert "secret-in-file" in done.err
    assert secret[2:14] not in done.err
