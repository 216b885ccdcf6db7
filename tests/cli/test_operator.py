"""Inside an attempt nobody gives an operator's order, and rows name the attempt, whatever account it has."""

import json

import pytest

SEGWIT = "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4"
AGENT = '[identity]\nagent_id = "indra"\ninternal_name = "indra"\ndisplay_name = "Indra"\n'


@pytest.fixture
def project(shell):
    root = shell.folder_of("a shop")
    shell.setenv("KEISEI_HOME", shell.folder / "state")
    (root / "keisei.toml").write_text('[project]\nname = "shop"\n')
    (shell.folder_of("a shop/.keisei/agents/indra") / "agent.toml").write_text(AGENT)
    (root / "order.json").write_text('{"type": "object"}')
    shell.cd(root)
    assert shell.run("schema", "lock", "order.json", "--until", "2126-01-01").code == 0
    return root


def rows(shell):
    return json.loads(shell.run("ledger", "list", "--json").out)


@pytest.mark.parametrize(
    "words",
    [
        ("schema", "revoke", "order.json", "--reason", "r"),
        ("wallet", "add", "indra", "--chain", "bitcoin", "--address", SEGWIT),
    ],
    ids=["revoke", "wallet"],
)
def test_what_only_operators_order_is_refused_and_nothing_changes(shell, project, words):
    before = (project / ".keisei/agents/indra/agent.toml").read_text(), rows(shell)
    shell.setenv("KEISEI_ATTEMPT_ID", "a1")

    done = shell.run(*words)

    assert (done.code, done.out) == (2, "")
    assert "inside an attempt" in done.err
    assert ((project / ".keisei/agents/indra/agent.toml").read_text(), rows(shell)) == before


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize("more", [(), ("--actor", "operator:root")], ids=["", "actor"])
def test_a_row_of_an_attempt_names_the_attempt(shell, more):
    shell.setenv("KEISEI_ATTEMPT_ID", "a1")

    assert shell.run("ledger", "append", "--kind", "noted", "--subject", "s", "--body", "{}", *more).code == 0

    assert [row["actor"] for row in rows(shell) if row["kind"] == "noted"] == ["attempt:a1"]
