import hashlib
import stat

import pytest

from keisei.library.document import parse
from keisei.library.load import load
from keisei.library.source import read_source
from keisei.records.error import AuthorError, Refused
from keisei.records.move import NewEntry
from keisei.store import open_store
from keisei.wiring import constitution as room
from keisei.wiring.constitution import accept, acceptance, changes, constitution, keep_text, kept_text

AGENT = """[identity]
agent_id = "indra"
internal_name = "indra"
display_name = "Indra"
[constitution]
version = "1.0"
revised_at = 2026-01-01T00:00:00Z
"""


def sha(text):
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.fixture
def store(tmp_path):
    opened = open_store(f"sqlite://{tmp_path}/state.db", bell_folder=tmp_path / "bell")
    yield opened
    opened.close()


@pytest.fixture
def agent(tmp_path):
    folder = tmp_path / "the agents" / "indra"
    folder.mkdir(parents=True)
    (folder / "agent.toml").write_text(AGENT)
    (folder / "SOUL.md").write_text("calm\n")
    (folder / "PURPOSE.md").write_text("good\n")
    return folder


def loaded(folder):
    return load(parse(read_source(folder / "agent.toml")), "agent.file")


def test_what_was_read_is_accepted_and_its_texts_are_kept_for_their_owner_alone(agent, store, tmp_path):
    done = accept(loaded(agent), (sha("calm\n"), sha("good\n")), store, tmp_path, "operator:me")

    assert (done.agent_id, done.actor, done.version) == ("indra", "operator:me", "1.0")
    assert acceptance(store, "indra") == done
    assert done.covers(constitution(loaded(agent)))
    assert kept_text(tmp_path, done.soul_sha256) == "calm\n"
    assert kept_text(tmp_path, done.purpose_sha256) == "good\n"
    modes = {stat.S_IMODE(each.stat().st_mode) for each in (tmp_path / room.FOLDER).iterdir()}
    assert modes == {0o600}


def test_a_text_that_changed_since_it_was_read_is_not_accepted(agent, store, tmp_path):
    (agent / "SOUL.md").write_text("wild\n")

    with pytest.raises(Refused, match="has changed since you read it"):
        accept(loaded(agent), (sha("calm\n"), sha("good\n")), store, tmp_path, "operator:me")

    assert acceptance(store, "indra") is None
    assert not (tmp_path / room.FOLDER).exists()


def test_accepting_the_same_again_writes_no_second_row(agent, store, tmp_path):
    seen = (sha("calm\n"), sha("good\n"))

    first = accept(loaded(agent), seen, store, tmp_path, "operator:me")

    assert accept(loaded(agent), seen, store, tmp_path, "operator:you") == first


def test_the_newest_row_of_this_agent_counts_and_none_that_was_written_by_hand(agent, store, tmp_path):
    accept(loaded(agent), (sha("calm\n"), sha("good\n")), store, tmp_path, "operator:me")
    (agent / "SOUL.md").write_text("wild\n")
    newest = accept(loaded(agent), (sha("wild\n"), sha("good\n")), store, tmp_path, "operator:me")
    body = {"soul_sha256": sha("evil\n"), "purpose_sha256": sha("good\n")}
    store.append(NewEntry(kind=room.KIND, actor="somebody", subject="indra", body=body, source="manual"))
    for _ in range(5):
        store.append(NewEntry(kind=room.KIND, actor="somebody", subject="other", body=body))

    assert acceptance(store, "indra") == newest
    assert acceptance(store, "nobody") is None


def test_an_agent_without_a_constitution_has_nothing_to_accept(agent, store, tmp_path):
    (agent / "agent.toml").write_text(AGENT.partition("[constitution]")[0])

    assert constitution(loaded(agent)) is None
    with pytest.raises(Refused, match="has no constitution"):
        accept(loaded(agent), ("0" * 64, "0" * 64), store, tmp_path, "operator:me")


def test_a_paper_that_is_missing_or_outside_is_told(agent, tmp_path):
    (agent / "SOUL.md").unlink()
    with pytest.raises(AuthorError):
        constitution(loaded(agent))

    (tmp_path / "elsewhere").write_text("secret")
    (agent / "SOUL.md").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(AuthorError):
        constitution(loaded(agent))


def test_a_kept_text_that_somebody_changed_is_no_text(tmp_path):
    digest = keep_text(tmp_path, b"calm\n")
    (tmp_path / room.FOLDER / digest).write_text("wild\n")

    assert kept_text(tmp_path, digest) is None
    assert keep_text(tmp_path, b"calm\n") == digest  # and is mended when it is kept again
    assert kept_text(tmp_path, digest) == "calm\n"


@pytest.mark.parametrize("name", ["", "../state.db", "a" * 63, "g" * 64 + "/", "\0" * 64])
def test_what_is_no_hash_names_no_text(tmp_path, name):
    assert kept_text(tmp_path, name) is None


def test_changes_name_the_lines_of_the_whole_document():
    was = "".join(f"line {number}\n" for number in range(1, 5001))
    now = was.replace("line 4000\n", "line four thousand\n")

    told = changes(was, now)

    assert told[0] == "@@ -3997,7 +3997,7 @@"
    assert ("-line 4000" in told, "+line four thousand" in told) == (True, True)
    assert len(told) == 9


def test_nothing_differs_where_nothing_does():
    assert changes("same\n", "same\n") == ()
    assert changes("no end", "no end\n") != ()


def test_documents_that_share_nothing_are_told_as_a_whole():
    was, now = "a\n" * 4000, "b\n" * 4000

    told = changes(was, now)

    assert told[0].startswith("@@ -1,")
    assert (told.count("-a"), told.count("+b")) == (4000, 4000)
