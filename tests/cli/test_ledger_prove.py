"""`kei-ledger verify | prove | export | import`, as they are typed."""

import json
import os
import shutil
import tempfile
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from keisei.rules.tree import verify_consistency, verify_inclusion
from keisei.wiring.signing import signer


class Book:
    """A project with a ledger of six rows under a checkpoint, and one behind it."""

    def __init__(self, shell, runtime):
        self.shell = shell
        for name in [name for name in os.environ if name.startswith(("KEI_", "KEISEI_"))]:
            shell._monkeypatch.delenv(name)
        shell.setenv("XDG_RUNTIME_DIR", runtime)
        self.move_to("one")
        for number in range(5):
            self.run("append", "--kind", "k", "--subject", f"s{number}")
        self.run("checkpoint")
        self.run("append", "--kind", "k", "--subject", "last")

    def move_to(self, name):
        """The same project on another machine."""
        self.shell.setenv("XDG_STATE_HOME", self.shell.home / name)
        self.state = self.shell.home / name / "keisei" / "shop"
        folder = self.shell.folder_of(f"{name} shop")
        (folder / "keisei.toml").write_text('[project]\nname = "shop"\n')
        self.shell.cd(folder)
        self.folder = folder

    def run(self, *words):
        return self.shell.run(*words, command="kei-ledger")

    def json(self, *words):
        done = self.run(*words)
        assert done.err == ""
        return json.loads(done.out)

    def change(self, *statements):
        with closing(apsw.Connection(str(self.state / "state.db"))) as connection:
            for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger'").fetchall():
                connection.execute(f"DROP TRIGGER {name}")
            for statement in statements:
                connection.execute(statement)


@pytest.fixture
def book(shell):
    runtime = Path(tempfile.mkdtemp(prefix="kl-", dir="/tmp"))  # a socket's path must be short
    yield Book(shell, runtime)
    shutil.rmtree(runtime)


def test_a_whole_ledger_tells_its_root_and_checkpoints(book):
    told = book.json("verify", "--json")

    assert (told["ok"], told["rows"], told["broken"], told["tree_nodes"]) == (True, 7, None, 0)
    count = {"checked": 1, "newest": 6, "table": 1, "folder": True, "repository": None, "others": 0}
    assert told["checkpoints"] == count
    key = {"vkey": signer(book.state, "shop").vkey, "row": 6, "checkpoints": 1, "newest": 6}
    assert (told["origin"], told["unsigned"], told["keys"], told["told"]) == ("keisei/shop", 1, [key], [])
    assert set(told) == {
        *("ok", "rows", "head", "root", "unsealed", "broken", "kept_head_found", "checkpoints", "tree_nodes"),
        *("origin", "unsigned", "keys", "told"),
    }
    assert book.run("verify").out == (
        f"7 rows, whole; 1 checkpoint holds; 1 row not signed yet; head {told['head']}\n"
        "checkpoints: 1 in the table, the newest in the state folder\n"
    )


def test_a_cut_off_end_is_found_by_the_checkpoint_and_by_one_kept_elsewhere(book):
    kept = book.folder / "kept note"
    shutil.copy(book.state / "checkpoint", kept)
    assert book.run("verify", "--checkpoint", kept, "--key", signer(book.state, "shop").vkey).code == 0
    book.change(
        "DELETE FROM seals WHERE seq > 3",
        "DELETE FROM ledger WHERE entry_id > 3",
        "UPDATE sqlite_sequence SET seq = 3 WHERE name = 'ledger'",
    )

    done = book.run("verify")
    assert done.code == 2
    assert done.out == ("broken at row 4: checkpoint of 6 rows: rows were cut off the end: the ledger has only 3\n")
    book.change("DELETE FROM checkpoints")
    (book.state / "checkpoint").unlink()
    assert book.run("verify").code == 0
    assert book.run("verify", "--checkpoint", kept).code == 2


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--key", "x"], "no verifier key"),
        (["--checkpoint", "nowhere"], "there is no file"),
        (["--checkpoint", "/dev/zero"], "not a regular file"),
        (["--head", "x"], "not a sha256"),
    ],
    ids=["key", "no-file", "device", "head"],
)
def test_what_a_ledger_cannot_be_held_against_is_one_clear_error(book, words, why):
    done = book.run("verify", *words)

    assert (done.code, done.out) == (1, "")
    assert why in done.err


def test_a_row_is_proved_and_so_is_that_the_ledger_grew(book):
    told = book.json("prove", 3)
    grown = book.json("prove", "--from", 2, "--to", 7)

    path, root = [bytes.fromhex(each) for each in told["path"]], bytes.fromhex(told["root"])
    assert verify_inclusion(bytes.fromhex(told["leaf_hash"]), told["index"], told["size"], path, root)
    assert (told["size"], json.loads(told["content"])["subject"]) == (6, "s2")
    assert told["checkpoint"] == (book.state / "checkpoint").read_text()
    path = [bytes.fromhex(each) for each in grown["path"]]
    assert verify_consistency(2, bytes.fromhex(grown["old_root"]), 7, bytes.fromhex(grown["new_root"]), path)


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ([], 1),
        (["3", "--from", "1"], 1),
        (["3", "--to", "4"], 1),
        (["--from", "1", "--size", "3"], 1),
        (["x"], 1),
        (["0"], 1),
        (["8"], 1),
        (["9" * 40], 1),
        (["3", "--size", "2"], 1),
        (["3", "--size", "8"], 1),
        (["--from", "8"], 1),
        (["--from", "3", "--to", "2"], 1),
    ],
)
def test_what_cannot_be_proved_is_said(book, words, code):
    done = book.run("prove", *words)

    assert (done.code, done.out) == (code, "")
    assert "Traceback" not in done.err


def test_a_ledger_moves_to_another_machine(book):
    text = book.run("export").raw
    assert book.run("export", "out.jsonl").code == 0
    file = book.folder / "out.jsonl"
    assert file.read_bytes() == text

    book.move_to("two")
    assert book.run("import", file).out == "imported 7 rows; 0 were known; 1 checkpoint holds\n"
    assert book.json("import", file, "--json") == {"rows": 0, "known": 7, "checkpoints": 1}
    assert book.run("export").raw == text
    assert book.run("verify").code == 0


def test_a_broken_ledger_leaves_no_file(book):
    book.change("UPDATE ledger SET subject = 'x' WHERE entry_id = 5")

    done = book.run("export", "out.jsonl")

    assert done.code == 1
    assert "broken at row 5" in done.err
    assert [path.name for path in book.folder.iterdir()] == ["keisei.toml"]
    assert book.run("export", "nowhere/out.jsonl").code == 1


def test_a_file_that_is_none_is_one_clear_error(book):
    (book.folder / "bad").write_text("hello\n")
    for name in ("bad", "nowhere", "."):
        done = book.run("import", name)
        assert (done.code, done.out) == (1, "")
        assert done.err.startswith("error: ")
        assert len(done.err.splitlines()) == 2
    assert book.json("verify", "--json")["rows"] == 7


def test_the_originals_ledger_comes_in_once(book):
    with closing(apsw.Connection("ledger.sqlite")) as connection:
        connection.execute("CREATE TABLE agents (id TEXT PRIMARY KEY, branch TEXT, status TEXT, summary TEXT)")
        connection.execute("INSERT INTO agents VALUES ('a1', 'b', 'done', 'x'), ('../a', 'b', 'done', '')")

    done = book.run("import", "ledger.sqlite")

    assert done.code == 0
    assert done.out.startswith("imported 2 rows of 1 agents\nleft out ../a: ")
    assert book.json("import", "ledger.sqlite", "--json")["rows"] == 0
    assert book.json("verify", "--json")["rows"] == 9
