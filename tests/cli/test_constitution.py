"""`keisei constitution`: proposals change nothing, an operator's yes changes everything at once, and nobody else's."""

import hashlib
import json
import os
import stat

import pytest

from keisei.library.placement import Placement
from keisei.records.error import WorldFault
from keisei.wiring.constitution import accept

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


MARK = AGENT[AGENT.index("[constitution]") : AGENT.index("[[wallets]]")]
CALM, CALMER, GOOD = "calm\n", "calmer\n", "good\n"


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
    told(shell, "accept", "indra")
    seq = proposed(shell)

    shown = told(shell, "show", "indra")
    assert (shown["state"], shown["accepted"]["seq"]) == ("accepted", 1)
    assert [(each["seq"], each["papers"], each["fits"]) for each in shown["proposals"]] == [(seq, ["soul"], True)]
    lines = shell.run("constitution", "diff", "indra", "--proposal", seq).out.splitlines()
    assert (lines[2:4], lines[-1]) == (["-calm", "+calmer"], f"seen: {sha(CALMER)},{sha(GOOD)}")
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


@pytest.mark.parametrize("anyway", [(), ("--anyway",)], ids=["", "anyway"])
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_proposal_does_not_carry_an_unaccepted_paper_along(shell, agent, when, anyway):
    told(shell, "accept", "indra")
    if when == "after":
        seq = proposed(shell, "better\n", "purpose")
    (agent / "SOUL.md").write_text("slipped in\n")
    if when == "before":
        seq = proposed(shell, "better\n", "purpose")

    done = shell.run("constitution", "accept", "indra", "--proposal", seq, *anyway)

    assert (done.code, said(agent)["PURPOSE.md"]) == (2, "good\n")
    if when == "before" or anyway:
        assert "`SOUL.md` of `indra` is not the accepted text" in done.err
    assert "+slipped in" in told(shell, "diff", "indra", "--proposal", seq)["soul"]


def test_a_proposal_is_compared_with_what_was_accepted_not_with_what_was_slipped_in(shell, agent):
    told(shell, "accept", "indra")
    far = "\n".join(f"line {number}" for number in range(20))
    (agent / "SOUL.md").write_text(f"slipped in\n{far}\n")
    seq = proposed(shell, f"slipped in\n{far}\nand more\n")

    assert {"-calm", "+slipped in", "+and more"} <= set(told(shell, "diff", "indra", "--proposal", seq)["soul"])


@pytest.mark.usefixtures("agent")
def test_before_anything_was_accepted_everything_is_new(shell):
    assert told(shell, "diff", "indra") == {
        "soul": ["@@ -1 +1,2 @@", "+calm", " "],
        "purpose": ["@@ -1 +1,2 @@", "+good", " "],
        "seen": [sha(CALM), sha(GOOD)],
    }


def test_only_what_was_seen_is_accepted(shell, agent):
    seen = ",".join(told(shell, "diff", "indra")["seen"])
    (agent / "PURPOSE.md").write_text("slipped in\n")

    done = shell.run("constitution", "accept", "indra", "--seen", seen)

    assert (done.code, "has changed since you read it" in done.err) == (2, True)
    (agent / "PURPOSE.md").write_text(GOOD)
    assert told(shell, "accept", "indra", "--seen", seen)["seq"] == 1
    seq = proposed(shell)
    assert shell.run("constitution", "accept", "indra", "--proposal", seq, "--seen", seen).code == 2
    wanted = f"{sha(CALMER)},{sha(GOOD)}"
    assert told(shell, "accept", "indra", "--proposal", seq, "--seen", wanted)["soul"] == sha(CALMER)
    assert shell.run("constitution", "accept", "indra", "--seen", sha(CALM)[:12]).code == 1


def test_accepted_papers_that_are_gone_have_changed(shell, agent):
    told(shell, "accept", "indra")
    (agent / "agent.toml").write_text(AGENT.replace(MARK, ""))
    for name in ("SOUL.md", "PURPOSE.md"):
        (agent / name).unlink()

    assert told(shell, "show", "indra")["state"] == "changed"
    assert told(shell, "diff", "indra")["soul"][1] == "-calm"


@pytest.mark.parametrize(
    "words",
    [
        ("--version", "1\x1b[31m\n"),
        ("--version", ""),
        ("--version", "9" * 65),
        ("--reason", "r" * 2001),
        ("--reason", "\x1b]0;title\x07"),
    ],
)
def test_versions_and_reasons_are_short_and_plain(shell, agent, words):
    before = said(agent)

    done = shell.run("constitution", "accept", "indra", *words)

    assert (done.code, done.out, said(agent)) == (2, "", before)
    assert done.err.startswith("error: a ")
    assert told(shell, "history", "indra") == []


def test_a_paper_that_could_not_be_proposed_is_not_accepted_either(shell, agent):
    (agent / "SOUL.md").write_text("x" * 65_537)

    assert "65536 are the most" in shell.run("constitution", "accept", "indra").err
    assert told(shell, "history", "indra") == []


# --- whose it is ------------------------------------------------------------------------------------------------------


@pytest.fixture
def evil(agent):
    folder = agent.parent / "evil"
    folder.mkdir()
    (folder / "agent.toml").write_text(AGENT.partition("[[wallets]]")[0])
    (folder / "SOUL.md").write_text("evil\n")
    (folder / "PURPOSE.md").write_text("evil\n")
    return folder


VERBS = (
    ("constitution", "accept", "evil"),
    ("constitution", "accept", "evil", "--proposal", "1"),
    ("constitution", "reject", "evil", "--proposal", "1"),
    ("constitution", "propose", "evil", "--soul", "keisei.toml", "--reason", "r"),
    ("constitution", "show", "evil"),
    ("constitution", "diff", "evil"),
    ("identity", "show", "evil"),
    ("identity", "card", "evil", "--url", "https://x.example/"),
    ("identity", "did", "evil"),
    ("identity", "erc8004", "evil"),
    ("identity", "resolve", "evil"),
)


@pytest.mark.parametrize("words", VERBS, ids=" ".join)
def test_a_file_that_says_it_is_another_agent_is_nobody(shell, agent, evil, words):
    told(shell, "accept", "indra")
    assert "indra" in (evil / "agent.toml").read_text()

    done = shell.run(*words)

    assert (done.code, done.out) == (1, "")
    assert "error[bad-name]" in done.err
    assert [row["actor"] for row in told(shell, "history", "indra")] == [
        told(shell, "show", "indra")["accepted"]["actor"]
    ]
    assert told(shell, "show", "indra")["state"] == "accepted"
    assert said(agent)["SOUL.md"] == CALM


@pytest.mark.parametrize(
    "words", [each for each in VERBS if each[1] in ("accept", "propose", "card", "did", "erc8004")][2:]
)
def test_nothing_is_proposed_or_told_of_an_agent_that_wears_anothers_face(shell, evil, words):
    fix(evil, 'display_name = "In\u200bdra"')

    done = shell.run(*words)

    assert (done.code, done.out) == (1, "")
    assert "error[identity-conflict]" in done.err


def test_an_agent_that_wears_anothers_face_is_not_accepted(shell, evil):
    fix(evil, 'display_name = "\uff29\uff2e\uff24\uff32\uff21"')

    done = shell.run("constitution", "accept", "evil")

    assert (done.code, "is the internal name of another agent" in done.err) == (1, True)
    assert told(shell, "history", "evil") == []
    assert told(shell, "accept", "indra")["seq"] == 1  # whose name it is is not kept from anything


def fix(folder, display):
    text = (folder / "agent.toml").read_text().replace('"indra"', '"evil"').replace('display_name = "Indra"', display)
    (folder / "agent.toml").write_text(text)


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


@pytest.mark.parametrize(
    ("error", "code"), [(WorldFault("the store is away"), 1), (KeyboardInterrupt(), 130)], ids=["fault", "interrupt"]
)
def test_a_row_that_cannot_be_written_leaves_the_files_as_they_were(shell, agent, monkeypatch, error, code):
    seq = proposed(shell)
    before = said(agent)

    def broken(*_given):
        raise error

    monkeypatch.setattr("keisei.wiring.constitution_order.accept", broken)
    done = shell.run("constitution", "accept", "indra", "--proposal", seq)

    assert done.code == code
    assert said(agent) == before


@pytest.mark.parametrize("error", [WorldFault("the store is away"), KeyboardInterrupt()], ids=["fault", "interrupt"])
def test_a_first_constitution_whose_row_cannot_be_written_is_none(shell, agent, monkeypatch, error):
    bare(agent)
    seq = first(shell)

    def broken(*_given):
        raise error

    with monkeypatch.context() as patch:
        patch.setattr("keisei.wiring.constitution_order.accept", broken)
        assert shell.run("constitution", "accept", "indra", "--proposal", seq).code != 0

    assert sorted(said(agent)) == ["agent.toml"]
    assert told(shell, "show", "indra")["state"] == "none"
    assert told(shell, "accept", "indra", "--proposal", seq)["version"] == "0.1.0"


def test_who_is_interrupted_behind_the_row_has_accepted(shell, agent, monkeypatch):
    seq = proposed(shell)

    def late(*given):
        accept(*given)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("keisei.wiring.constitution_order.accept", late)
        assert shell.run("constitution", "accept", "indra", "--proposal", seq).code == 130

    assert said(agent)["SOUL.md"] == CALMER
    assert told(shell, "show", "indra")["state"] == "accepted"


def test_where_only_the_row_is_missing_accepting_again_completes_it(shell, agent, monkeypatch):
    told(shell, "accept", "indra")
    seq = proposed(shell)

    def killed(*_given):
        raise WorldFault("gone")

    with monkeypatch.context() as patch:  # as after a crash: the files are written, and nobody puts them back
        patch.setattr("keisei.wiring.constitution_order.accept", killed)
        patch.setattr("keisei.wiring.constitution_order.take_back", lambda *_given: None)
        shell.run("constitution", "accept", "indra", "--proposal", seq)
    written = said(agent)
    assert told(shell, "show", "indra")["state"] == "changed"

    done = told(shell, "accept", "indra", "--proposal", seq)

    assert (done["proposal"], done["version"], said(agent)) == (seq, "1.1.0", written)
    assert told(shell, "show", "indra")["proposals"] == []


def test_what_was_half_written_is_taken_back_before_anything_is_accepted(shell, agent, monkeypatch):
    bare(agent)
    seq = first(shell)

    def killed(*_given):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:  # as after a crash between the files
        patch.setattr("keisei.library.placement.Placement.undo", lambda _self: None)
        patch.setattr("keisei.library.placing.shutil.rmtree", lambda *_given, **_more: None)
        place = Placement.place
        patch.setattr(Placement, "place", lambda self, file: killed() if "toml" in file.path else place(self, file))
        shell.run("constitution", "accept", "indra", "--proposal", seq)
    assert {"SOUL.md", "PURPOSE.md"} < {path.name for path in agent.iterdir()}

    assert told(shell, "accept", "indra", "--proposal", seq)["version"] == "0.1.0"
    assert sorted(path.name for path in agent.iterdir()) == ["PURPOSE.md", "SOUL.md", "agent.toml"]


def bare(agent):
    (agent / "agent.toml").write_text(AGENT.partition("[constitution]")[0])
    for name in ("SOUL.md", "PURPOSE.md"):
        (agent / name).unlink()


def first(shell):
    (shell.folder / "new.md").write_text(CALM)
    both = ("--soul", shell.folder / "new.md", "--purpose", shell.folder / "new.md")
    return told(shell, "propose", "indra", *both, "--reason", "r")["seq"]


def test_a_paper_that_leads_out_of_the_folder_is_not_written(shell, agent):
    seq = proposed(shell)
    os.rename(agent / "SOUL.md", shell.folder / "elsewhere.md")  # noqa: PTH104 - the same file, elsewhere
    (agent / "SOUL.md").symlink_to(shell.folder / "elsewhere.md")

    done = shell.run("constitution", "accept", "indra", "--proposal", seq, "--anyway")

    assert done.code == 1
    assert (shell.folder / "elsewhere.md").read_text() == "calm\n"


def test_a_first_constitution_is_proposed_whole(shell, agent):
    bare(agent)
    (shell.folder / "new.md").write_text("calm\n")

    half = shell.run("constitution", "propose", "indra", "--soul", shell.folder / "new.md", "--reason", "r")
    assert (half.code, "a first one has a soul and a purpose" in half.err) == (2, True)
    assert told(shell, "accept", "indra", "--proposal", first(shell))["version"] == "0.1.0"
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
    seq = proposed(shell, "\x1b[31mred\u202e\n", reason="\u202ewhy\u2066")

    for words in (("diff", "indra", "--proposal", seq), ("show", "indra"), ("history", "indra")):
        out = shell.run("constitution", *words).out
        assert not {"\x1b", "\u202e", "\u2066"} & set(out)
