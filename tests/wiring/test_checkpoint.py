"""Checkpoints: what is signed is published, what no longer fits is never signed, and no runner is held up by it."""

import os
import signal
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from keisei.records.error import OperatorError, WorldFault
from keisei.records.move import EntryQuery, LedgerCheckpoint, NewEntry
from keisei.records.worktree import Worktree
from keisei.rules.note import checkpoint_text, parse_checkpoint, parse_vkey, signed_note, signers_of, split_note
from keisei.rules.tree import root_of
from keisei.wiring import checkpoint as checkpoints
from keisei.wiring import checkpoint_publish as publishing
from keisei.wiring.checkpoint import checkpoint, sign_home
from keisei.wiring.ledger_tree import subtree
from keisei.wiring.runner import Signed
from keisei.wiring.signing import origin, signer
from keisei.workspace import checkpoint as chain
from keisei.workspace.fingerprint import fingerprint, tampered
from tests.wiring.house import House

REF = "refs/keisei/checkpoints"
DONE = '{"status": "completed", "operator_summary": "did it"}'


class Project(House):
    """A house with a repository, and a hand that signs."""

    def __init__(self, folder, **more):
        super().__init__(folder, **more)
        self.state = self.home.folder
        self.git("init", "-q", "-b", "main")
        self.git("commit", "-q", "--allow-empty", "-m", "first")

    def git(self, *words, check=True, given=None):
        env = {"PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
        words = ("git", "-c", "user.name=t", "-c", "user.email=t@localhost", *words)
        done = subprocess.run(words, cwd=self.root, env=env, capture_output=True, text=True, check=check, input=given)
        return done.stdout.strip()

    def tell(self, number=1):
        for each in range(number):
            self.store.append(NewEntry(kind="told", actor="a", subject=f"s{each}", body={}))

    def sign(self):
        return checkpoint(self.store, signer(self.state, "house"), origin("house"), self.root, self.state)

    def published(self):
        """Sizes in the history of the reference, newest first."""
        commits = self.git("rev-list", REF, check=False).split()
        notes = [self.git("show", f"{commit}:checkpoint") for commit in commits]
        return [int(note.split("\n")[1]) for note in notes]

    def file(self):
        return parse_checkpoint(split_note((self.state / "checkpoint").read_text())[0])

    def sql(self, *statements):
        with closing(apsw.Connection(str(self.state / "state.db"))) as connection:
            for (trigger,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger'").fetchall():
                connection.execute(f"DROP TRIGGER {trigger}")
            for statement in statements:
                connection.execute(statement).fetchall()


@pytest.fixture
def project(tmp_path):
    (tmp_path / "a b").mkdir()
    made = Project(tmp_path / "a b")
    yield made
    made.close()


def test_a_checkpoint_is_signed_kept_and_published(project):
    project.tell(3)

    made = project.sign()

    vkey = signer(project.state, "house").vkey
    (introduced,) = project.store.find_entries(EntryQuery(kind="key_introduced"))
    assert (introduced.seq, introduced.source, introduced.subject) == (4, "engine", vkey)
    assert introduced.body == {"vkey": vkey, "host": os.uname().nodename}
    assert (made.origin, made.size, made.new, made.troubles) == ("keisei/house", 4, True, ())
    assert made.root == root_of(4, subtree(project.store))
    assert signers_of(made.note, [parse_vkey(vkey)])
    assert project.store.checkpoints() == [LedgerCheckpoint(size=4, note=made.note)]
    assert (project.state / "checkpoint").read_text() == made.note
    assert (project.state / "checkpoint").stat().st_mode & 0o777 == 0o600
    assert project.git("show", f"{REF}:checkpoint") + "\n" == made.note
    assert project.git("ls-tree", "-r", "--name-only", REF) == "checkpoint"
    assert project.git("status", "--porcelain", "-uno") == ""


def test_an_empty_ledger_is_not_signed(project):
    assert project.sign() is None
    assert sign_home(project.home, project.store) is None

    assert not (project.state / "checkpoint").exists()
    assert project.store.size() == 0


def test_nothing_new_is_not_signed_again_and_the_chain_grows_with_what_is(project):
    for number in (1, 0, 2):
        project.tell(number)
        made = project.sign()

    assert (made.size, made.new) == (4, True)
    assert project.sign() == made._replace(new=False)
    assert [each.size for each in project.store.checkpoints()] == [2, 4]
    assert project.published() == [4, 2]
    assert len(project.store.find_entries(EntryQuery(kind="key_introduced"))) == 1


def test_so_many_rows_must_be_new(project):
    project.tell(3)

    assert sign_home(project.home, project.store, 4) is None
    assert sign_home(project.home, project.store, 3).size == 4


def test_what_nobody_was_told_of_is_published_although_nothing_is_new(project):
    project.tell(3)
    made = project.sign()
    (project.state / "checkpoint").unlink()
    project.git("update-ref", "-d", REF)

    assert sign_home(project.home, project.store) == made._replace(new=False)
    assert (project.state / "checkpoint").read_text() == made.note
    assert project.published() == [4]
    assert sign_home(project.home, project.store) is None


def test_a_key_that_only_a_person_told_of_is_introduced_by_the_engine(project):
    vkey = signer(project.state, "house").vkey
    project.store.append(NewEntry(kind="key_introduced", actor="a", subject="s", body={"vkey": vkey}, source="manual"))

    assert project.sign().size == 2


CHANGES = {
    "a-row": ["UPDATE seals SET leaf_hash = zeroblob(32) WHERE seq = 2"],
    "cut": ["DELETE FROM seals WHERE seq > 2", "DELETE FROM ledger WHERE entry_id > 2"],
    "cut-with-its-checkpoint": [
        "DELETE FROM seals WHERE seq > 2",
        "DELETE FROM ledger WHERE entry_id > 2",
        "DELETE FROM checkpoints",
    ],
    "other-rows-without-a-checkpoint": [
        "UPDATE seals SET leaf_hash = zeroblob(32) WHERE seq = 2",
        "DELETE FROM checkpoints",
    ],
    "note": ["UPDATE checkpoints SET note = replace(note, 'house', 'louse')"],
    "no-note": ["UPDATE checkpoints SET note = CAST(x'ff0a0a' AS TEXT)"],
    "size": ["UPDATE checkpoints SET size = 3"],
}


@pytest.mark.parametrize(
    ("change", "kept"),
    [
        *((change, "the state folder") for change in CHANGES),
        *((change, "the repository") for change in CHANGES if "checkpoint" in change),
    ],
)
def test_a_ledger_that_no_longer_fits_is_never_signed(project, change, kept):
    project.tell(3)
    before = project.sign()
    (project.state / "checkpoint").unlink() if kept == "the repository" else project.git("update-ref", "-d", REF)
    project.sql(*CHANGES[change])
    project.tell(1)

    why = "cut off" if "cut" in change else "does not fit" if "row" in change else "not signed: the checkpoint of"
    with pytest.raises(OperatorError, match=why) as caught:
        project.sign()

    assert "keisei ledger verify" in caught.value.hint
    newest = project.store.newest_checkpoint()
    assert newest is None or newest.size <= before.size


def test_a_note_of_nobody_that_is_known_is_not_built_upon(project):
    project.tell(3)
    project.sign()
    stranger = signer(project.state / "other", "house")
    text = checkpoint_text("keisei/house", 3, root_of(3, subtree(project.store)))
    note = signed_note(text, stranger.name, stranger.public, stranger.sign(text.encode()))
    project.sql("DELETE FROM checkpoints", f"INSERT INTO checkpoints VALUES (3, '{note}')")  # noqa: S608

    with pytest.raises(OperatorError, match="checkpoint of 3 rows was changed"):
        project.sign()


# --- ended between two steps

STEPS = [(checkpoints, name) for name in ("checkpoint_text", "fill", "publish")]
STEPS += [(publishing, name) for name in ("_to_folder", "_to_repository")]
STEPS += [(os, "fsync"), (chain, "shared"), (chain, "_commit")]


@pytest.mark.parametrize("step", STEPS, ids=lambda step: f"{step[0].__name__.rpartition('.')[2]}-{step[1]}")
def test_whoever_is_killed_at_any_step_leaves_what_the_next_one_mends(project, step):
    project.tell(2)
    project.sign()
    project.tell(2)
    project.store.close()
    child = os.fork()
    if child == 0:
        setattr(*step, lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL))
        project.sign()
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL

    made = project.sign()

    assert (made.size, made.troubles) == (5, ())
    assert [each.size for each in project.store.checkpoints()] == [3, 5]
    assert project.file().size == 5
    assert project.published() == [5, 3]
    assert sorted(each.name for each in project.state.iterdir() if "checkpoint" in each.name) == [
        *("checkpoint", "checkpoint.lock")
    ]


# --- what others make of file and reference


def test_whatever_stands_in_the_files_place_is_replaced_and_not_followed(project, tmp_path):
    project.tell()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("mine")
    (project.state / "checkpoint").symlink_to(elsewhere)

    assert project.sign().size == project.file().size == 2
    assert elsewhere.read_text() == "mine"
    assert not (project.state / "checkpoint").is_symlink()


def test_a_place_that_cannot_be_written_is_told_and_stops_nothing(project):
    (project.state / "checkpoint").mkdir()
    project.tell()

    made = project.sign()

    assert made.size == 2
    assert any("cannot be written" in each for each in made.troubles)
    assert project.published() == [2]


def test_a_reference_that_is_a_name_of_another_is_not_followed(project):
    head = project.git("rev-parse", "main")
    project.git("symbolic-ref", REF, "refs/heads/main")
    project.tell()

    made = project.sign()

    assert "only another name of `refs/heads/main`" in made.troubles[0]
    assert project.git("rev-parse", "main") == head
    assert project.git("symbolic-ref", "-q", REF, check=False) == ""
    assert project.published() == [2]
    assert project.sign().troubles == ()


def test_a_reference_that_names_what_is_not_there_is_mended(project):
    project.git("symbolic-ref", REF, "refs/heads/nowhere")
    project.tell()

    assert project.sign().size == 2
    assert project.published() == [2]
    assert project.git("for-each-ref", "refs/heads/nowhere") == ""


def strange_blob(project):
    return project.git("hash-object", "-w", "--stdin", given="text")


def strange_commit(project):
    return project.git("rev-parse", "main")


def strange_tag(project):
    project.git("tag", "-a", "-m", "x", "v1", "main")
    return project.git("rev-parse", "v1")


def strange_note(project):
    """One file of that name, which is no checkpoint."""
    blob = strange_blob(project)
    return project.git("commit-tree", "-m", "x", project.git("mktree", given=f"100644 blob {blob}\tcheckpoint\n"))


@pytest.mark.parametrize("made", [strange_blob, strange_commit, strange_tag, strange_note])
def test_content_that_is_no_checkpoint_is_told_and_not_built_upon(project, made):
    place = made(project)
    project.git("update-ref", REF, place)
    project.tell()

    first = project.sign()

    assert first.size == 2
    assert f"stood on {place}" in first.troubles[0]
    assert project.published() == [2]
    assert project.sign().troubles == ()


@pytest.mark.parametrize("in_the_way", ["locked", "folder", "garbage"])
def test_a_reference_that_cannot_be_moved_is_told_and_stops_nothing(project, in_the_way):
    folder = project.root / ".git" / "refs" / "keisei"
    folder.mkdir()
    if in_the_way == "locked":
        (folder / "checkpoints.lock").touch()
    elif in_the_way == "folder":
        project.git("update-ref", f"{REF}/deep", "main")
    else:
        (folder / "checkpoints").write_text("garbage\n")
    project.tell()

    made = project.sign()

    assert (made.size, project.file().size) == (2, 2)
    assert [REF in each for each in made.troubles] == [True]


def test_a_name_that_only_looks_like_ours_is_left_alone(project):
    project.git("update-ref", f"refs/heads/{REF}", "main")
    project.tell()

    assert project.sign().troubles == ()
    assert project.git("rev-parse", f"refs/heads/{REF}") == project.git("rev-parse", "main")


def test_projects_of_one_repository_share_the_chain(project):
    other = signer(project.state / "other", "barn")
    for _ in range(2):
        project.tell()
        project.sign()
        state = project.state / "other"
        store = project.store
        text = checkpoint_text("keisei/barn", store.size(), bytes(32))
        note = signed_note(text, other.name, other.public, other.sign(text.encode()))
        tip = project.git("rev-parse", REF)
        assert chain.put(str(project.root / ".git"), note, store.now(), tip, tip)

    assert state.is_dir()
    assert project.sign().troubles == ()
    assert project.published() == [3, 3, 2, 2]


def test_somebody_who_moves_the_reference_meanwhile_is_followed(project, monkeypatch):
    project.tell()
    project.sign()
    project.tell()
    other, put = signer(project.state / "other", "barn"), publishing.put
    text = checkpoint_text("keisei/barn", 9, bytes(32))
    note = signed_note(text, other.name, other.public, other.sign(text.encode()))

    def late(common_dir, ours, when, seen, parent):
        monkeypatch.setattr(publishing, "put", put)
        assert put(common_dir, note, when, seen, parent)
        return put(common_dir, ours, when, seen, parent)

    monkeypatch.setattr(publishing, "put", late)

    assert project.sign().troubles == ()
    assert project.published() == [3, 9, 2]


def test_a_hook_of_the_repository_is_not_run(project, tmp_path):
    hook = project.root / ".git" / "hooks" / "reference-transaction"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch '{tmp_path}/ran'\n")
    hook.chmod(0o755)
    project.tell()

    assert project.sign().troubles == ()
    assert project.published() == [2]
    assert not (tmp_path / "ran").exists()


def test_outside_of_a_repository_the_state_folder_has_it(house):
    house.store.append(NewEntry(kind="told", actor="a", subject="s", body={}))

    made = sign_home(house.home, house.store)

    assert (made.size, made.troubles) == (2, ())
    assert (house.home.folder / "checkpoint").read_text() == made.note


def test_a_checkpoint_while_an_agent_works_is_no_tampering(project):
    project.git("worktree", "add", "-q", "--detach", "../tree")
    worktree = Worktree(
        slot="a001",
        path=str(project.root.parent / "tree"),
        git_dir=str(project.root / ".git" / "worktrees" / "tree"),
        common_dir=str(project.root / ".git"),
        base=project.git("rev-parse", "main"),
    )
    before = fingerprint(worktree)
    project.tell()

    project.sign()

    assert project.published() == [2]
    assert tampered(before, fingerprint(worktree), protected=False) == ()
    project.git("update-ref", "refs/heads/theirs", "main")
    assert tampered(before, fingerprint(worktree), protected=False) != ()


# --- the runner


def test_a_runner_signs_every_so_many_rows_and_at_its_end(tmp_path):
    house = Project(tmp_path, runner="\n[ledger]\ncheckpoint-rows = 1\n")
    house.script(f"echo '{DONE}'")

    assert house.run() == 1

    sizes = [each.size for each in house.store.checkpoints()]
    assert sizes[-1] == house.store.size() == house.file().size
    assert house.published()[0] == sizes[-1]
    assert [line for line in house.lines if line.event == "trouble"] == []
    house.close()


def runner_of(house, sign, rows=100):
    runner = house.runner()
    runner._hall = runner._hall._replace(sign=sign)
    runner._options = runner._options._replace(checkpoint_rows=rows)
    return runner


@pytest.mark.parametrize(
    "failure", [OperatorError("it does not fit"), WorldFault("away", retryable=True), ZeroDivisionError("x")]
)
def test_what_fails_is_told_once_and_stops_nothing(house, failure):
    asked = []

    def sign(at_least):
        asked.append(at_least)
        raise failure

    for _ in range(3):
        house.script(f"echo '{DONE}'")

    assert runner_of(house, sign, rows=1).run() == 3

    assert asked[-1] == 1
    told = [line.detail for line in house.lines if line.event == "trouble"]
    assert len(told) == 1
    assert getattr(failure, "message", "ZeroDivisionError") in told[0]


def test_what_fails_is_tried_again_with_as_many_rows_more_and_not_at_every_look(house):
    asked = []

    def sign(at_least):
        asked.append((at_least, house.store.size()))
        raise OperatorError("no")

    runner = runner_of(house, sign, rows=5)
    for number in range(12):
        house.store.append(NewEntry(kind="told", actor="a", subject=str(number), body={}))
        runner._sign_if_due()
        if runner._signing is not None:
            runner._signing.join()

    assert asked == [(5, 5), (5, 10)]
    assert [line.detail for line in house.lines] == ["no"]


def test_a_checkpoint_that_takes_long_holds_nothing_up(house):
    """Not the next attempt, and there is never a second one beside it."""
    began, go_on = [], threading.Event()

    def sign(at_least):
        began.append(at_least)
        assert go_on.wait(60)
        return Signed(house.store.size())

    house.script(f"echo '{DONE}'")
    runner = runner_of(house, sign, rows=1)
    house.store.append(NewEntry(kind="told", actor="a", subject="s", body={}))
    runner._sign_if_due()
    tell = runner._hall.tell
    runner._hall = runner._hall._replace(tell=lambda line: (tell(line), line.event == "completed" and go_on.set()))

    assert runner.run() == 1
    assert began[0] == 1
    assert [line.event for line in house.lines] == ["started", "completed"]


def test_an_end_that_nobody_could_sign_is_told(house, monkeypatch):
    monkeypatch.setattr("keisei.wiring.runner.SIGN_S", 0.05)
    go_on = threading.Event()

    def sign(_at_least):
        assert go_on.wait(60)
        return Signed(0)

    runner = runner_of(house, sign)
    runner._sign_the_end()
    go_on.set()
    runner._signing.join()

    (told,) = [line.detail for line in house.lines if line.event == "trouble"]
    assert "the last rows are not signed" in told


def test_a_runner_can_be_made_without_it(house):
    house.script(f"echo '{DONE}'")

    assert runner_of(house, None).run() == 1
    assert house.store.checkpoints() == []


# --- the command


def test_by_hand_a_checkpoint_is_made_and_the_key_is_told(project):
    env = {"PATH": os.environ["PATH"], "HOME": str(project.root.parent), "KEISEI_HOME": str(project.state.parent)}
    code = "import sys; from keisei.cli import ledger_checkpoint as them; getattr(them, sys.argv.pop(1))()"

    def run(name, *words):
        done = subprocess.run(
            [sys.executable, "-c", code, name, *words],
            cwd=project.root,
            env=env,
            capture_output=True,
            text=True,
            check=False,
        )
        return done.stdout.strip()

    project.tell()
    newest = project.sign()

    assert run("checkpoint") == f"origin: keisei/house\nsize: 2\nroot: {newest.root.hex()}"
    assert run("key") == signer(project.state, "house").vkey
    assert Path(project.state, "keys").is_dir()
