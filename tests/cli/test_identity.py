"""`keisei identity`: agents are made, shown, judged and described to others, all from their files."""

import base64
import json
import re
import tomllib

import pytest
from a2a.types import AgentCard
from a2a.utils.proto_utils import validate_proto_required_fields
from a2a.utils.signing import create_signature_verifier
from google.protobuf.json_format import Parse
from jwt import PyJWK

from keisei.rules.did import key_url
from keisei.wiring.signing import signer
from tests.wiring.test_identity_lookup import served

SEGWIT = "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4"
STACKS = "SP2J6ZY48GV1EZ5V2V5RB9MP66SW86PYKKNRV9EJ7"
AGENT = f"""[identity]
agent_id = "indra"
internal_name = "indra"
display_name = "Indra"
[identity.external_name]
name = "Trustless Indra"
source = "aibtc-api"
wallet_ref = "{SEGWIT}"
[identity.onchain_identity]
contract = "{STACKS}.identity-registry"
token_id = "41"
reputation_ref = "{STACKS}.reputation::get-summary"
[identity.metadata]
description = "Keeps the shop correct."
url = "https://indra.example/a2a"
[[wallets]]
chain = "bitcoin"
address = "{SEGWIT}"
[[wallets]]
chain = "stacks"
address = "{STACKS}"
onchain_identity_contract = "{STACKS}.identity-registry"
"""


@pytest.fixture
def project(shell):
    root = shell.folder_of("a shop")
    shell.setenv("KEISEI_HOME", shell.folder / "state")
    (root / "keisei.toml").write_text('[project]\nname = "shop"\n')
    shell.cd(root)
    return root


@pytest.fixture
def agent(shell, project):
    folder = shell.folder_of("a shop/.keisei/agents/indra")
    (folder / "agent.toml").write_text(AGENT)
    assert project.is_dir()
    return folder


def told(shell, *words, code=0):
    done = shell.run("identity", *words)
    assert done.code == code
    return json.loads(done.out)


# --- made and shown ---------------------------------------------------------------------------------------------------


def test_a_new_agent_is_three_files_that_fit(shell, project):
    done = shell.run("identity", "init", "loom", "--display-name", 'Loom "the\u2028" \\')

    folder = project / ".keisei/agents/loom"
    assert done.code == 0
    assert sorted(path.name for path in folder.iterdir()) == ["PURPOSE.md", "SOUL.md", "agent.toml"]
    assert tomllib.loads((folder / "agent.toml").read_text())["identity"]["display_name"] == 'Loom "the\u2028" \\'
    assert shell.run("lint", "agents").out == "checked 1 agent: no errors, no warnings\n"
    assert told(shell, "list", "--json") == [
        {
            "internal_name": "loom",
            "display_name": 'Loom "the\u2028" \\',
            "external_name": None,
            "onchain": None,
            "constitution": "new",
        }
    ]


@pytest.mark.parametrize("name", ["", "../up", "A", "a b", "a/b", "-x", "x" * 65, ".hidden"])
def test_no_agent_has_a_name_that_is_none(shell, project, name):
    done = shell.run("identity", "init", "--", name)

    assert done.code == 1
    assert done.err.startswith("error: ")
    assert [path.name for path in project.iterdir()] == ["keisei.toml"]


@pytest.mark.parametrize("there", ["agent.toml", "SOUL.md", "PURPOSE.md"])
def test_nothing_is_written_over_a_file_that_is_there(shell, there):
    shell.setenv("KEISEI_HOME", shell.folder / "state")
    folder = shell.folder_of(".keisei/agents/loom")
    (folder / there).write_text("mine\n")

    done = shell.run("identity", "init", "loom")

    assert (done.code, "already exists" in done.err) == (1, True)
    assert {path.name: path.read_text() for path in folder.iterdir()} == {there: "mine\n"}


def test_outside_of_projects_nothing_is_made(shell):
    done = shell.run("identity", "init", "loom")

    assert (done.code, "there is no project here" in done.err) == (1, True)


@pytest.mark.usefixtures("agent")
def test_three_faces_wallets_and_identifiers_are_shown(shell):
    found = told(shell, "show", "indra", "--json")

    assert found["faces"] == {
        "internal_name": "indra",
        "display_name": "Indra",
        "external_name": "Trustless Indra",
        "onchain": f"{STACKS}.identity-registry#41",
    }
    assert [each["account_id"] for each in found["wallets"]] == [
        f"bip122:000000000019d6689c085ae165831e93:{SEGWIT}",
        f"stacks:1:{STACKS}",
    ]
    assert (found["fits"], found["problems"], found["constitution"]["state"]) == (True, [], "none")
    assert found["did"] == [f"did:pkh:{each['account_id']}" for each in found["wallets"]]  # no key is made by looking
    assert not (shell.folder / "state/shop/keys").exists()
    assert shell.run("identity", "show", "indra").out.endswith("constitution: none\neverything fits: yes\n")


def test_records_that_disagree_are_told_and_exit_2(shell, agent):
    (agent / "agent.toml").write_text(
        AGENT.replace(f'contract = "{STACKS}.identity-registry"\ntoken', 'contract = "SP1.x"\ntoken')
    )

    found = told(shell, "show", "indra", "--json", code=2)

    assert found["fits"] is False
    assert "identity-conflict" in found["problems"][0]


def test_a_broken_agent_is_told_beside_the_others(shell, agent):
    other = agent.parent / "other"
    other.mkdir()
    (other / "agent.toml").write_text("[identity]\n")

    done = shell.run("identity", "list")

    assert done.code == 1
    assert "Trustless Indra" in done.out
    assert "other/agent.toml" in done.err


@pytest.mark.parametrize("link", [".keisei", ".keisei/agents"])
def test_nothing_is_made_through_a_symlink_that_leads_elsewhere(shell, project, link):
    elsewhere = shell.folder_of("elsewhere")
    (project / link).parent.mkdir(exist_ok=True)
    (project / link).symlink_to(elsewhere)

    done = shell.run("identity", "init", "loom")

    assert (done.code, "is reached through a symlink" in done.err) == (2, True)
    assert list(elsewhere.iterdir()) == []


@pytest.mark.usefixtures("agent")
def test_a_card_is_not_signed_inside_an_attempt(shell):
    shell.setenv("KEISEI_ATTEMPT_ID", "a1")

    done = shell.run("identity", "card", "indra")

    assert (done.code, done.out, "inside an attempt" in done.err) == (2, "", True)
    assert not (shell.folder / "state/shop/keys").exists()


# --- told to others ---------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("agent")
def test_the_card_is_verified_by_the_published_sdk_with_the_key_that_it_names(shell):
    out = shell.folder / "card.json"
    words = ("--profile", "code-implementer", "--atom", "kei-time::now", "--out", out)
    done = shell.run("identity", "card", "indra", *words)

    assert (done.code, done.out) == (0, "")
    public = signer(shell.folder / "state/shop", "shop").public
    card = Parse(out.read_text(), AgentCard())
    validate_proto_required_fields(card)
    create_signature_verifier(lambda kid, _jku: jwk(public) if kid == key_url(public) else None, ["EdDSA"])(card)
    assert (card.name, card.description) == ("Indra", "Keeps the shop correct.")
    assert card.supported_interfaces[0].url == "https://indra.example/a2a"
    assert [each.id for each in card.skills][:1] == ["code-implementer"]
    assert [each.id for each in card.skills][-1:] == ["kei-time::now"]


def jwk(public):
    text = base64.urlsafe_b64encode(public).rstrip(b"=").decode()
    return PyJWK({"kty": "OKP", "crv": "Ed25519", "x": text}, algorithm="EdDSA")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--url", "ftp://x"), "a card says where `indra` is reached"),
        (("--url", "https://user:pass@x.example/"), "a card says where `indra` is reached"),
        (("--profile", "nobody"), "no profile is called `nobody`"),
        (("--skill", "nothing"), "no skill is called `nothing`"),
        (("--atom", "kei-none::x"), "kei-none"),
    ],
)
@pytest.mark.usefixtures("agent")
def test_a_card_that_cannot_be_made_is_no_file(shell, words, says):
    done = shell.run("identity", "card", "indra", *words, "--out", shell.folder / "card.json")

    assert done.code != 0
    assert says in done.err
    assert not (shell.folder / "card.json").exists()


@pytest.mark.usefixtures("agent")
def test_identifiers_stay_the_same_and_the_document_is_the_keys(shell):
    lines = shell.run("identity", "did", "indra").out.splitlines()

    assert re.fullmatch(r"did:key:z6Mk[1-9A-HJ-NP-Za-km-z]{44}", lines[0])
    assert lines[1:] == [f"did:pkh:bip122:000000000019d6689c085ae165831e93:{SEGWIT}", f"did:pkh:stacks:1:{STACKS}"]
    document = told(shell, "did", "indra", "--document")
    assert (document["id"], "alsoKnownAs" in document) == (lines[0], False)
    assert told(shell, "did", "indra", "--json")["key"] == lines[0]


@pytest.mark.usefixtures("agent")
def test_the_registration_file_is_the_agents_own_words(shell):
    words = ("--service", "A2A=https://indra.example/.well-known/agent-card.json", "--trust", "tee-attestation")
    file = told(shell, "erc8004", "indra", *words)

    assert (file["name"], file["description"]) == ("Trustless Indra", "Keeps the shop correct.")
    assert file["registrations"] == [{"agentId": 41, "agentRegistry": f"stacks:1:{STACKS}.identity-registry"}]
    assert file["supportedTrust"] == ["reputation", "tee-attestation"]
    assert [each["name"] for each in file["services"]] == ["A2A", "DID", "DID"]
    address = shell.run("identity", "erc8004", "indra", *words, "--data-uri").out.strip()
    assert json.loads(base64.b64decode(address.partition(";base64,")[2])) == file


def test_half_a_registration_is_left_out_and_told(shell, agent):
    (agent / "agent.toml").write_text(AGENT.replace('token_id = "41"\n', ""))

    done = shell.run("identity", "erc8004", "indra")

    assert json.loads(done.out)["registrations"] == []
    assert done.err.startswith("warning: onchain_identity has no token")
    assert shell.run("identity", "erc8004", "indra", "--service", "web").code == 1


@pytest.mark.usefixtures("agent")
def test_without_a_lookup_nobody_is_asked(shell):
    done = shell.run("identity", "resolve", "indra")

    assert (done.code, "add `[identity.lookup]`" in done.err) == (1, True)


@pytest.mark.usefixtures("agent")
def test_a_name_that_is_answered_is_shown_and_a_conflict_exits_2(shell, project):
    with served() as server:
        server.answer = (200, {}, b'{"name": "Rising Leviathan"}')
        lookup = f'[identity.lookup]\nurl = "http://127.0.0.1:{server.server_port}/{{address}}"\n'
        (project / "keisei.toml").write_text(f'[project]\nname = "shop"\n{lookup}')
        answer = told(shell, "resolve", "indra", "--json", code=2)

    assert (answer["name"], answer["source"], server.asked) == ("Rising Leviathan", "local-cache", [f"/{SEGWIT}"])
    shown = told(shell, "show", "indra", "--json", code=2)
    assert (shown["faces"]["external_name"], shown["fits"]) == ("Trustless Indra", False)
    assert shown["registered"]["answer"]["name"] == "Rising Leviathan"
    assert "one of them is wrong" in shown["registered"]["conflict"]


def test_a_lookup_that_is_not_safe_is_told_by_lint_with_its_place(shell, project):
    lookup = '[identity.lookup]\nurl = "http://names.example/{address}"\nname = "agent"\n'
    (project / "keisei.toml").write_text(f'[project]\nname = "shop"\n{lookup}')

    done = shell.run("lint", "project")

    assert done.code == 1
    assert [line[: len("keisei.toml:4:7: error[wrong-value]")] for line in done.out.splitlines()[:2]] == [
        "keisei.toml:4:7: error[wrong-value]",
        "keisei.toml:5:8: error[wrong-value]",
    ]
