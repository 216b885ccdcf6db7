"""`keisei constitution`: proposals change nothing, an operator's yes changes everything at once, and nobody else's."""

import hashlib
import json
import os
import stat

import pytest

from keisei.records.error import WorldFault

AGENT = """# who it is
[identity]
agent_id = "indra"
internal_name = "indra" # for life
display_name = "Indra"

[constitution]
version = "1.0.0" # ours
revised_at = 2026-01-01T00:00:00Z

[[wallets]] # watched
chain = "bitcoin"
address = "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4"
"""


def sha(text):
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.fixture
def agent(shell):
    root = shell.folder_of("a shop")
    shell.setenv("KEISEI_HOME", shell.folder / "state")
    (root / "keisei.toml").write_text('[project]\nname = "shop"\nagent = "indra"\n')
    folder = shell.folder_of("a shop/.keisei/agents/indra")
    (folder / "agent.toml").write_text(AGENT)
    (folder / "SOUL.md").write_text("calm\n")
    (folder / "PURPOSE.md").write_text("good\n")
    shell.cd(root)
    return folder


def said(folder):
    return {path.name: path.read_text() for path in folder.iterdir()}


def told(shell, *words):
    done = shell.run("constitution", *words, "--json")
    assert (done.code, done.err) == (0, "")
    return json.loads(done.out)


def proposed(shell, text="calmer\n", paper="soul", reason="less noise"):
    (shell.folder / "new.md").write_text(text)
    return told(shell, "propose", "indra", f"--{paper}", shell.folder / "new.md", "--reason", reason)["seq"]


def test_a_proposal_is_shown_compared_and_changes_no_file(shell, agent):
    before = said(agent)
    seq = proposed(shell)

    shown = told(shell, "show", "indra")
    assert (shown["state"], shown["accepted"]) == ("new", None)
    assert [(each["seq"], each["papers"], each["fits"]) for each in shown["proposals"]] == [(seq, ["soul"], True)]
    assert shell.run("constitution", "diff", "indra", "--proposal", seq).out.splitlines()[2:4] == ["-calm", "+calmer"]
    assert said(agent) == before


def test_an_accepted_proposal_is_written_with_its_mark_and_everything_else_stays(shell, agent):
    (agent / "SOUL.md").chmod(0o640)
    seq = proposed(shell)

    done = told(shell, "accept", "indra", "--proposal", seq, "--reason", "yes")

    now = said(agent)
    assert (now["SOUL.md"], now["PURPOSE.md"]) == ("calmer\n", "good\n")
    start, _, rest = now["agent.toml"].partition('version = "1.1.0" # ours\nrevised_at = ')
    assert start == AGENT.partition("version")[0]
    assert rest.partition("\n")[2] == AGENT.partition("00:00:00Z\n")[2]
    assert (done["soul"], done["purpose"], done["version"]) == (sha("calmer\n"), sha("good\n"), "1.1.0")
    assert done["proposal"] == seq
    assert sorted(now) == ["PURPOSE.md", "SOUL.md", "agent.toml"]
    assert stat.S_IMODE((agent / "SOUL.md").stat().st_mode) == 0o640
    assert told(shell, "show", "indra")["state"] == "accepted"
    assert shell.run("constitution", "diff", "indra").out == "nothing differs\n"
    rows = told(shell, "history", "indra")
    assert [row["kind"] for row in rows] == ["constitution_proposed", "constitution_accepted"]
    assert [row["texts"]["soul"] for row in rows] == ["calmer\n", "calmer\n"]
    assert {row["source"] for row in rows} == {"engine"}


def test_a_proposal_is_answered_once(shell, agent):
    first, second = proposed(shell), proposed(shell, "wild\n")
    told(shell, "reject", "indra", "--proposal", second, "--reason", "no")

    again = shell.run("constitution", "accept", "indra", "--proposal", second)
    assert (again.code, again.out) == (2, "")
    assert again.err.startswith(f"error: proposal {second} was rejected by row ")
    told(shell, "accept", "indra", "--proposal", first)
    assert shell.run("constitution", "reject", "indra", "--proposal", first).code == 2
    assert said(agent)["SOUL.md"] == "calmer\n"
    assert told(shell, "show", "indra")["proposals"] == []


def test_papers_that_changed_since_are_not_overwritten_unless_it_is_said(shell, agent):
    seq = proposed(shell)
    (agent / "SOUL.md").write_text("edited by hand\n")
    before = said(agent)

    done = shell.run("constitution", "accept", "indra", "--proposal", seq)

    assert done.code == 2
    assert "has changed since proposal" in done.err
    assert said(agent) == before
    assert told(shell, "show", "indra")["proposals"][0]["fits"] is False
    assert told(shell, "accept", "indra", "--proposal", seq, "--anyway")["soul"] == sha("calmer\n")


def test_a_proposal_does_not_carry_an_unaccepted_paper_along(shell, agent):
    told(shell, "accept", "indra")
    (agent / "SOUL.md").write_text("slipped in\n")
    seq = proposed(shell, "better\n", "purpose")

    done = shell.run("constitution", "accept", "indra", "--proposal", seq)

    assert done.code == 2
    assert "`SOUL.md` of `indra` is not the accepted text" in done.err
    assert said(agent)["PURPOSE.md"] == "good\n"


def test_what_stands_in_the_files_is_accepted_without_writing_them(shell, agent):
    before = said(agent)

    assert told(shell, "accept", "indra")["version"] == "1.0.0"

    assert said(agent) == before
    assert told(shell, "accept", "indra")["seq"] == told(shell, "show", "indra")["accepted"]["seq"] == 1
    assert told(shell, "accept", "indra", "--version", "2")["version"] == "2"
    assert 'version = "2" # ours' in said(agent)["agent.toml"]


def test_inside_an_attempt_nobody_accepts_rejects_or_proposes_as_an_operator(shell, agent):
    seq = proposed(shell)
    before = said(agent)
    shell.setenv("KEISEI_ATTEMPT_ID", "a1")

    for words in (("accept", "indra"), ("accept", "indra", "--proposal", seq), ("reject", "indra", "--proposal", seq)):
        done = shell.run("constitution", *words)
        assert (done.code, done.out) == (2, "")
        assert "inside an attempt" in done.err
    done = shell.run("constitution", "propose", "indra", "--soul", shell.folder / "new.md", "--reason", "r")
    assert "kei-agent::propose-constitution" in done.err
    assert said(agent) == before
    assert [row["kind"] for row in told(shell, "history", "indra")] == ["constitution_proposed"]


def test_a_row_that_cannot_be_written_leaves_the_files_as_they_were(shell, agent, monkeypatch):
    seq = proposed(shell)
    before = said(agent)

    def broken(*_given):
        raise WorldFault("the store is away")

    monkeypatch.setattr("keisei.wiring.constitution_order.accept", broken)
    done = shell.run("constitution", "accept", "indra", "--proposal", seq)

    assert done.code != 0
    assert said(agent) == before


def test_a_paper_that_leads_out_of_the_folder_is_not_written(shell, agent):
    seq = proposed(shell)
    os.rename(agent / "SOUL.md", shell.folder / "elsewhere.md")  # noqa: PTH104 - the same file, elsewhere
    (agent / "SOUL.md").symlink_to(shell.folder / "elsewhere.md")

    done = shell.run("constitution", "accept", "indra", "--proposal", seq, "--anyway")

    assert done.code == 1
    assert (shell.folder / "elsewhere.md").read_text() == "calm\n"


def test_a_first_constitution_is_proposed_whole(shell, agent):
    (agent / "agent.toml").write_text(AGENT.partition("[constitution]")[0])
    for name in ("SOUL.md", "PURPOSE.md"):
        (agent / name).unlink()
    (shell.folder / "new.md").write_text("calm\n")

    half = shell.run("constitution", "propose", "indra", "--soul", shell.folder / "new.md", "--reason", "r")
    assert (half.code, "a first one has a soul and a purpose" in half.err) == (2, True)
    both = ("--soul", shell.folder / "new.md", "--purpose", shell.folder / "new.md")
    seq = told(shell, "propose", "indra", *both, "--reason", "r")["seq"]
    assert told(shell, "accept", "indra", "--proposal", seq)["version"] == "0.1.0"
    assert said(agent)["PURPOSE.md"] == "calm\n"
    assert shell.run("lint", "agents").out == "checked 1 agent: no errors, no warnings\n"


def test_an_agent_of_another_layer_is_not_written(shell, agent):
    user = shell.home / ".config/keisei/agents"
    user.mkdir(parents=True)
    agent.rename(user / "indra")
    seq = proposed(shell)

    done = shell.run("constitution", "accept", "indra", "--proposal", seq)

    assert done.code == 2
    assert "stands in the layer `user`" in done.err


@pytest.mark.usefixtures("agent")
def test_rows_of_others_and_rows_by_hand_are_no_proposals(shell):
    body = json.dumps({"soul_sha256": sha("calm\n"), "reason": "r"})
    shell.run("ledger", "append", "--kind", "constitution_proposed", "--subject", "indra", "--body", body)

    assert told(shell, "show", "indra")["proposals"] == []
    assert told(shell, "history", "indra") == []
    done = shell.run("constitution", "accept", "indra", "--proposal", 1)
    assert (done.code, "row 1 of the ledger is no proposal" in done.err) == (2, True)


@pytest.mark.usefixtures("agent")
def test_what_an_agent_wrote_is_shown_and_not_obeyed(shell):
    seq = proposed(shell, "\x1b[31mred\u202e\n", reason="\x1b]0;title\x07why")

    for words in (("diff", "indra", "--proposal", seq), ("show", "indra"), ("history", "indra")):
        out = shell.run("constitution", *words).out
        assert not {"\x1b", "\x07", "\u202e"} & set(out)
