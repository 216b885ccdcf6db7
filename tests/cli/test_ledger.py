"""`keisei ledger` and `kei-ledger`: rows by hand, rows read, and a chain that is proved or named broken."""

import hashlib
import json
import os
import shutil
import tempfile
from contextlib import closing
from pathlib import Path

import apsw
import pytest

HEAD = "0" * 64
LOOKS = "AKIAIOSFODNN7EXAMPLE"


class Book:
    """A project with a ledger, and both doors to it."""

    def __init__(self, shell, runtime):
        self.shell = shell
        for name in [name for name in os.environ if name.startswith(("KEI_", "KEISEI_"))]:
            shell._monkeypatch.delenv(name)
        shell.setenv("XDG_RUNTIME_DIR", runtime)
        shell.setenv("XDG_STATE_HOME", shell.home / "state")
        self.folder = shell.folder_of("shop")
        (self.folder / "keisei.toml").write_text('[project]\nname = "shop"\n')
        shell.cd(self.folder)

    def run(self, *words):
        return self.shell.run(*words, command="kei-ledger")

    def json(self, *words):
        done = self.run(*words, "--json")
        assert done.err == ""
        return json.loads(done.out)

    def append(self, *words):
        return self.run("append", "--kind", "review_held", "--subject", "t1", *words)

    def change(self, *statements):
        with closing(apsw.Connection(str(self.shell.home / "state/keisei/shop/state.db"))) as connection:
            for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger'").fetchall():
                connection.execute(f"DROP TRIGGER {name}")
            for statement in statements:
                connection.execute(statement)


@pytest.fixture
def book(shell):
    runtime = Path(tempfile.mkdtemp(prefix="kl-", dir="/tmp"))  # a socket's path must be short
    yield Book(shell, runtime)
    shutil.rmtree(runtime)


def test_a_row_by_hand_is_manual_and_yours(book):
    done = book.append("--body", '{"by": "ann", "n": 1}')

    assert (done.code, done.out, done.err) == (0, "written: row 1\n", "")
    row = book.json("show", 1)
    assert (row["seq"], row["kind"], row["source"], row["subject"]) == (1, "review_held", "manual", "t1")
    assert row["body"] == {"by": "ann", "n": 1}
    assert row["actor"].startswith("operator:")


def test_an_actor_can_be_named_and_the_row_told_as_json(book):
    row = book.json("append", "--kind", "k", "--subject", "s", "--actor", "ann")

    assert (row["actor"], row["body"]) == ("ann", {})
    assert book.json("show", 1) == row


def test_a_body_comes_from_a_file_or_stdin(book, monkeypatch):
    (book.folder / "body.json").write_text('{"text": "形成 \U0001f600"}', encoding="utf-8")

    assert book.append("--body", "@body.json").code == 0
    with (book.folder / "body.json").open() as file:
        monkeypatch.setattr("sys.stdin", file)
        assert book.append("--body", "-").code == 0

    assert [row["body"] for row in book.json("rows")] == [{"text": "形成 \U0001f600"}] * 2


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("{", "not JSON"),
        ("", "not JSON"),
        ("[1]", "not an object"),
        ("null", "not an object"),
        ('{"a": NaN}', "no number of JSON"),
        ('{"a": Infinity}', "no number of JSON"),
        ('{"a": 9007199254740993}', "canonical form"),
        ('{"a": ' + "9" * 5000 + "}", "not JSON"),
        ('{"a": "\\ud800"}', "canonical form"),
        ('{"\\ud800": 1}', "canonical form"),
        ('{"a": 1, "a": 2}', "twice"),
        ("[" * 100_000, "nested too deeply"),
        ("\udcff", "not UTF-8"),
        ("@nowhere", "there is no file `nowhere`"),
        ("@.", "there is no file"),
        ("@/dev/zero", "there is no file `/dev/zero`"),
        ("@" + "x" * 5000, "there is no file"),
    ],
    ids=[
        *("cut", "empty", "list", "null", "nan", "infinity", "large", "digits", "surrogate", "surrogate-key", "twice"),
        *("deep", "no-text", "no-file", "folder", "device", "long-name"),
    ],
)
def test_a_body_that_cannot_be_is_one_clear_error(book, body, why):
    done = book.append("--body", body)

    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("error: ")
    assert why in done.err
    assert len(done.err.splitlines()) == 2
    assert book.json("rows") == []


@pytest.mark.parametrize("size", [2 * 1024 * 1024, 10 * 1000 * 1000])
def test_a_large_body_is_refused(book, size):
    (book.folder / "large.json").write_text(json.dumps({"a": "x" * size}))

    done = book.append("--body", "@large.json")

    assert done.code == 1
    assert "more than 1048576 bytes" in done.err


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--kind", "", "--subject", "s"], "kind is empty"),
        (["--kind", "k", "--subject", ""], "subject is empty"),
        (["--kind", "k", "--subject", "s", "--actor", ""], "actor is empty"),
        (["--kind", "k" * 2000, "--subject", "s"], "2000 characters"),
        (["--kind", "\udcff", "--subject", "s"], "canonical form"),
    ],
    ids=["kind", "subject", "actor", "long", "no-text"],
)
def test_a_name_that_cannot_be_is_one_clear_error(book, words, why):
    done = book.run("append", *words)

    assert done.code == 1
    assert why in done.err
    assert book.json("rows") == []


def test_a_fork_keeps_the_hash_of_its_spec_and_where_it_comes_from(book):
    (book.folder / "task.toml").write_bytes(b'[task]\nrole = "edit-local"\n')
    words = [
        "--spec",
        "task.toml",
        "--base",
        "a6e7748",
        "--parent",
        "main",
        "--role",
        "edit-local",
        "--dna",
        "E::NG::A::B-1",
    ]

    done = book.run("fork", "agent-7", "feat/x", *words)

    assert (done.code, done.out) == (0, "forked agent-7 -> feat/x: row 1\n")
    row = book.json("show", 1)
    assert (row["kind"], row["source"], row["subject"]) == ("agent_forked", "manual", "agent-7")
    assert row["body"] == {
        "agent_id": "agent-7",
        "branch": "feat/x",
        "spec_sha256": hashlib.sha256(b'[task]\nrole = "edit-local"\n').hexdigest(),
        "base": "a6e7748",
        "parent": "main",
        "role": "edit-local",
        "dna": "E::NG::A::B-1",
    }


def test_a_fork_needs_no_more_than_an_id(book):
    assert book.run("fork", "agent-7").out == "forked agent-7: row 1\n"
    assert book.json("show", 1)["body"] == {"agent_id": "agent-7"}
    assert book.json("fork", "agent-8", "--spec-sha", "ab" * 32)["body"]["spec_sha256"] == "ab" * 32


@pytest.mark.parametrize(
    ("words", "code", "why"),
    [
        (["--spec", "nowhere.toml"], 1, "there is no file `nowhere.toml`"),
        (["--spec", "/dev/zero"], 1, "there is no file"),
        (["--spec-sha", "xyz"], 1, "not a sha256"),
        (["--spec", "keisei.toml", "--spec-sha", "ab" * 32], 1, "say the same"),
    ],
    ids=["no-file", "device", "no-hash", "both"],
)
def test_a_fork_with_a_spec_that_is_none_is_refused(book, words, code, why):
    done = book.run("fork", "agent-7", *words)

    assert done.code == code
    assert why in done.err
    assert book.json("rows") == []


def test_rows_are_listed_in_order_by_kind_and_after_a_row(book):
    for kind in ("a", "b", "a"):
        book.run("append", "--kind", kind, "--subject", f"of-{kind}")

    assert [row["seq"] for row in book.json("rows")] == [1, 2, 3]
    assert [row["seq"] for row in book.json("rows", "--kind", "a")] == [1, 3]
    assert [row["seq"] for row in book.json("rows", "--after", 1, "--limit", 1)] == [2]
    lines = book.run("rows").out.splitlines()
    assert lines[0].split() == ["row", "time", "kind", "source", "actor", "subject"]
    assert [line.split()[-1] for line in lines[1:]] == ["of-a", "of-b", "of-a"]


def test_a_row_is_shown_for_people_and_commands_no_terminal(book):
    book.run("append", "--kind", "k\x1b[31m", "--subject", "s\nt", "--body", '{"a": "x\\u001b[2J\\u202e"}')

    for done in (book.run("rows"), book.run("show", 1)):
        assert done.code == 0
        assert not {"\x1b", "\u202e"} & set(done.out)
    assert "leaf_hash: " in book.run("show", 1).out


@pytest.mark.parametrize("seq", ["7", "9" * 40])
def test_a_row_that_is_not_there_is_one_clear_error(book, seq):
    done = book.run("show", seq)

    assert done.code == 1
    assert done.err.startswith(f"error: the ledger has no row {seq}\n")


@pytest.mark.parametrize("words", [["show", "0"], ["rows", "--limit", "0"], ["rows", "--after", "-1"]])
def test_numbers_that_are_none_are_mistakes_of_usage(book, words):
    assert book.run(*words).code == 1


def test_a_mistake_of_usage_is_not_taken_for_a_ledger_that_does_not_hold(book):
    for words in (["verify", "--nope"], ["done", "x"], ["nope"]):
        assert book.run(*words).code == 1


def test_scripts_that_begin_with_init_go_on(book):
    done = book.run("init")

    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("nothing to do")
    assert not (book.shell.home / "state").exists()


def test_what_looks_like_a_secret_is_not_written_and_that_is_told(book):
    body = {"said": f"use {LOOKS}", "deep": [{"password": "hunter2"}], LOOKS: 1, "fine": "x" * 5000, "n": 1}

    done = book.append("--body", json.dumps(body))

    assert (done.code, done.out) == (0, "written: row 1\n")
    assert done.err == "note: what looks like a secret was taken out of row 1: [redacted], deep, said\n"
    assert book.json("show", 1)["body"] == {
        "said": "use [redacted]",
        "deep": [{"password": "[redacted]"}],
        "[redacted]": 1,
        "fine": "x" * 5000,
        "n": 1,
    }


@pytest.mark.parametrize("name", ["kind", "subject", "actor"])
def test_a_name_that_looks_like_a_secret_is_refused(book, name):
    words = {"kind": "k", "subject": "s", "actor": "a"} | {name: LOOKS}

    done = book.run("append", *(part for each, value in words.items() for part in (f"--{each}", value)))

    assert (done.code, done.out) == (1, "")
    assert f"the {name} looks like a secret" in done.err
    assert LOOKS not in done.err
    assert book.json("rows") == []


def test_a_whole_chain_is_proved_with_its_length_and_head(book):
    assert book.run("verify").out == f"0 rows, whole; head {HEAD}\n"
    book.append()
    book.append()

    told = book.json("verify")

    assert (told["ok"], told["rows"], told["unsealed"], told["broken"]) == (True, 2, 0, None)
    assert book.run("verify").out == f"2 rows, whole; head {told['head']}\n"
    assert book.run("verify").code == 0


@pytest.mark.parametrize(
    ("statement", "row", "why"),
    [
        (
            "UPDATE ledger SET content = CAST(replace(content, 't1', 't2') AS BLOB) WHERE entry_id = 2",
            2,
            "content was changed",
        ),
        ("UPDATE ledger SET subject = 'other' WHERE entry_id = 3", 3, "column was changed"),
        ("UPDATE seals SET chain_hash = zeroblob(32) WHERE seq = 1", 1, "chain hash was changed"),
        ("DELETE FROM seals WHERE seq = 2", 2, "is missing"),
        ("DELETE FROM ledger WHERE entry_id = 2", 2, "content is missing"),
        ("DELETE FROM seals WHERE seq = 3", 3, "has no seal"),
    ],
    ids=["content", "column", "chain", "seal", "row", "last-seal"],
)
def test_a_broken_chain_names_its_row(book, statement, row, why):
    for _ in range(3):
        book.append()
    book.change(statement)

    done = book.run("verify")
    told = book.json("verify")

    assert done.code == 2
    assert done.out.startswith(f"broken at row {row}: ")
    assert why in done.out
    assert (told["ok"], told["broken"]["row"]) == (False, row)


def test_a_head_that_was_kept_shows_that_the_end_was_cut_off(book):
    for _ in range(3):
        book.append()
    head = book.json("verify")["head"]
    book.append()
    assert book.run("verify", "--head", head).code == 0
    assert book.json("verify", "--head", head.upper())["kept_head_found"] is True

    book.change("DELETE FROM seals WHERE seq > 2", "DELETE FROM ledger WHERE entry_id > 2")
    assert book.run("verify").out == "broken at row 3: the row is missing\n"  # the table has counted its rows
    book.change("UPDATE sqlite_sequence SET seq = 2 WHERE name = 'ledger'")

    assert book.run("verify").code == 0
    done = book.run("verify", "--head", head)
    assert (done.code, done.out) == (
        2,
        "2 rows, whole, but none has the head that was kept: rows were cut off the end\n",
    )
    assert book.json("verify", "--head", head)["ok"] is False


def test_a_head_that_is_none_is_refused(book):
    done = book.run("verify", "--head", "abc")

    assert done.code == 1
    assert "`abc` is not a sha256" in done.err


def test_a_row_that_cannot_be_read_is_one_clear_error(book):
    book.append()
    book.change("UPDATE ledger SET content = x'ff'")

    for words in (["rows"], ["show", 1]):
        done = book.run(*words)
        assert done.code == 1
        assert done.err.startswith("error: the ledger's row 1 was changed")
        assert "kei-ledger verify" in done.err


def test_both_doors_lead_to_the_same_book(book):
    assert book.shell.run("ledger", "append", "--kind", "k", "--subject", "s").code == 0

    assert book.shell.run("ledger", "list", "--json").out == book.run("rows", "--json").out
    assert book.shell.run("ledger", "rows", "--json").out == book.run("list", "--after", 0, "--json").out
    assert book.run("--version").out.startswith("kei-ledger ")
    assert book.shell.run("ledger", "show", "x").code == 1
