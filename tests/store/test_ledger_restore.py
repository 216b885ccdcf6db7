"""A ledger as a file and back, on both stores: the same bytes, proved first, all of them or nothing."""

import base64
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import apsw
import psycopg
import pytest

from keisei.records.error import KeiseiError, OperatorError
from keisei.records.move import LedgerRestoration
from keisei.rules.ledger import GENESIS
from keisei.rules.tree import Frontier
from keisei.store import open_store
from keisei.store.foreign import read_agents
from keisei.wiring.ledger_agents import every_agent
from keisei.wiring.ledger_export import export_lines
from keisei.wiring.ledger_import import LONGEST, import_ledger
from keisei.wiring.ledger_import_agents import take_over_agents
from tests.wiring.ledgers import ORIGIN, Book, new


@pytest.fixture(scope="module")
def lines(tmp_path_factory):
    """An export of 300 rows with checkpoints of 261 and of all."""
    book = Book(tmp_path_factory.mktemp("a book"))
    book.fill(260)
    book.sign()
    book.store.append(new(subject="形成 \U0001f600", body={"a": "\x01\n\u2028", "b": 1e30, "c": [None, True, -0.5]}))
    book.fill(38)
    book.sign()
    found = list(export_lines(book.store, ORIGIN))
    book.store.close()
    return found


@pytest.fixture(params=["sqlite", "postgres"])
def book(request, tmp_path):
    url = request.getfixturevalue("postgres_url") if request.param == "postgres" else None
    made = Book(tmp_path / "here", url)
    yield made
    made.store.close()


def given(tmp_path, lines):
    path = tmp_path / "an export.jsonl"
    path.write_bytes(b"".join(lines))
    return path


def test_an_export_tells_everything(lines):
    head, rows, notes = json.loads(lines[0]), lines[1:301], lines[301:]

    assert (head["format"], head["origin"], head["size"], len(head["keys"])) == ("keisei-ledger/v1", ORIGIN, 300, 1)
    assert [json.loads(row)["seq"] for row in rows] == list(range(1, 301))
    assert json.loads(rows[-1])["chain_hash"] == head["head"]
    assert [list(json.loads(note)) for note in notes] == [["checkpoint"], ["checkpoint"]]


def test_what_is_imported_has_its_bytes_and_holds(book, lines, tmp_path):
    done = import_ledger(book.store, ORIGIN, given(tmp_path, lines))

    assert (done.rows, done.known, done.checkpoints) == (300, 0, 2)
    assert list(export_lines(book.store, ORIGIN)) == lines
    found = book.verify(state=None)
    assert (found.ok, found.rows, found.tree_nodes, found.checkpoints.checked) == (True, 300, 1, 2)
    again = import_ledger(book.store, ORIGIN, given(tmp_path, lines))
    assert (again.rows, again.known) == (0, 300)
    assert list(export_lines(book.store, ORIGIN)) == lines


def test_an_imported_ledger_goes_on(book, lines, tmp_path):
    import_ledger(book.store, ORIGIN, given(tmp_path, lines))
    book.store.append(new(subject="after"))
    book.sign()

    found = book.verify()
    assert (found.ok, found.rows, found.checkpoints.checked) == (True, 302, 3)
    assert import_ledger(book.store, ORIGIN, given(tmp_path, lines)).rows == 0


def cut_to(lines, size):
    """An export of the same ledger when it was smaller."""
    last = json.loads(lines[size])
    tree = Frontier()
    for line in lines[1 : size + 1]:
        tree.push(bytes.fromhex(json.loads(line)["leaf_hash"]))
    head = {**json.loads(lines[0]), "size": size, "head": last["chain_hash"], "root": tree.root().hex()}
    return [json.dumps(head).encode() + b"\n", *lines[1 : size + 1]]


def test_a_ledger_that_is_a_beginning_is_gone_on_with(book, lines, tmp_path):
    assert import_ledger(book.store, ORIGIN, given(tmp_path, cut_to(lines, 100))).rows == 100

    done = import_ledger(book.store, ORIGIN, given(tmp_path, lines))

    assert (done.rows, done.known) == (200, 100)
    assert list(export_lines(book.store, ORIGIN)) == lines
    assert book.verify(state=None).ok


def test_a_ledger_of_something_else_is_not_gone_on_with(book, lines, tmp_path):
    book.store.append(new())

    with pytest.raises(OperatorError, match="row 1 of this ledger is another"):
        import_ledger(book.store, ORIGIN, given(tmp_path, lines))

    assert (book.store.size(), book.verify(state=None).ok) == (1, True)


def changed(line, **fields):
    return json.dumps({**json.loads(line), **fields}).encode() + b"\n"


HOSTILE = {
    "empty": lambda _: [],
    "no-json": lambda _: [b"hello\n"],
    "binary": lambda _: [bytes(range(256)) * 100],
    "nan": lambda told: [told[0], b'{"seq": NaN}\n', *told[2:]],
    "deep": lambda told: [told[0], b'{"seq":' + b"[" * 100_000 + b"\n"],
    "deep-head": lambda _: [b"[" * 1_000_000 + b"\n"],
    "deep-content": lambda told: [told[0], changed(told[1], content="[" * 500_000), *told[2:]],
    "wrong-type": lambda told: [told[0], changed(told[1], seq="1"), *told[2:]],
    "float": lambda told: [told[0], changed(told[1], seq=1.5), *told[2:]],
    "huge-number": lambda told: [told[0], b'{"seq": 1' + b"0" * 5000 + b"}\n", *told[2:]],
    "unknown-field": lambda told: [told[0], changed(told[1], more=1), *told[2:]],
    "no-content": lambda told: [told[0], changed(told[1], content=None), *told[2:]],
    "both-contents": lambda told: [told[0], changed(told[1], content_base64="e30="), *told[2:]],
    "not-base64": lambda told: [told[0], changed(told[1], content=None, content_base64="??"), *told[2:]],
    "surrogate": lambda told: [told[0], told[1].replace(b'"content":"', b'"content":"\\ud800'), *told[2:]],
    "long-line": lambda told: [told[0], b'{"content": "' + b"x" * LONGEST + b'"}\n', *told[2:]],
    "long-content": lambda told: [told[0], changed(told[1], content="x" * 1_048_577), *told[2:]],
    "changed-content": lambda told: [*told[:5], told[5].replace(b"t4", b"t5"), *told[6:]],
    "changed-leaf": lambda told: [*told[:5], changed(told[5], leaf_hash="00" * 32), *told[6:]],
    "changed-chain": lambda told: [*told[:5], changed(told[5], chain_hash="00" * 32), *told[6:]],
    "twice": lambda told: [*told[:5], told[4], *told[5:]],
    "gap": lambda told: [*told[:5], *told[6:]],
    "order": lambda told: [*told[:5], told[6], told[5], *told[7:]],
    "cut-line": lambda told: [*told[:200], told[200][:40]],
    "cut-row": lambda told: told[:200],
    "cut-all": lambda told: told[:1],
    "other-head": lambda told: [changed(told[0], head="00" * 32), *told[1:]],
    "other-root": lambda told: [changed(told[0], root="00" * 32), *told[1:]],
    "other-size": lambda told: [changed(told[0], size=2**62), *told[1:]],
    "less-size": lambda told: [changed(told[0], size=-1), *told[1:]],
    "other-origin": lambda told: [changed(told[0], origin="keisei/\x1b[2Jother"), *told[1:]],
    "other-format": lambda told: [changed(told[0], format="keisei-ledger/v2"), *told[1:]],
    "row-behind": lambda told: [*told, told[300]],
    "checkpoint-twice": lambda told: [*told, told[-1]],
    "checkpoint-order": lambda told: [*told[:-2], told[-1], told[-2]],
    "checkpoint-none": lambda told: [*told, b'{"checkpoint": "x"}\n'],
    "checkpoint-changed": lambda told: [*told[:-1], told[-1].replace(b"\\n300\\n", b"\\n299\\n")],
    "checkpoint-unsigned": lambda told: [*told[:-1], told[-1][:-30] + b"AAAA" + told[-1][-26:]],
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_one_clear_error_and_changes_nothing(tmp_path, lines, name):
    book = Book(tmp_path / "here")
    whole = cut_to(lines, 2)
    import_ledger(book.store, ORIGIN, given(tmp_path, whole))

    with pytest.raises(KeiseiError) as caught:
        import_ledger(book.store, ORIGIN, given(tmp_path, HOSTILE[name](lines)))

    assert len(caught.value.message) < 1000
    assert "\x1b" not in caught.value.message
    assert caught.value.hint
    assert list(export_lines(book.store, ORIGIN))[1:] == whole[1:]
    assert book.verify(state=None).ok


def test_what_is_no_file_is_refused(tmp_path):
    book = Book(tmp_path / "here")
    os.mkfifo(tmp_path / "pipe")

    for path in (tmp_path / "nowhere", tmp_path, tmp_path / "pipe", "/dev/zero", tmp_path / "a\0b"):
        with pytest.raises(OperatorError):
            import_ledger(book.store, ORIGIN, path)


def test_a_row_whose_bytes_are_no_text_goes_in_base64(tmp_path, lines):
    told = json.loads(lines[1])
    as_bytes = {**told, "content_base64": base64.b64encode(told.pop("content").encode()).decode()}
    as_bytes.pop("content")
    book = Book(tmp_path / "here")

    path = given(tmp_path, [lines[0], json.dumps(as_bytes).encode() + b"\n", *lines[2:]])
    assert import_ledger(book.store, ORIGIN, path).rows == 300


def test_a_broken_ledger_is_not_exported_and_not_gone_on_with(tmp_path, lines):
    book = Book(tmp_path / "here")
    import_ledger(book.store, ORIGIN, given(tmp_path, cut_to(lines, 100)))
    book.change("UPDATE ledger SET subject = 'x' WHERE entry_id = 50")

    with pytest.raises(OperatorError, match="broken at row 50"):
        list(export_lines(book.store, ORIGIN))
    with pytest.raises(OperatorError, match="broken at row 50"):
        import_ledger(book.store, ORIGIN, given(tmp_path, lines))


def test_a_file_that_changes_meanwhile_takes_everything_back(book, lines, tmp_path, monkeypatch):
    path = given(tmp_path, lines)
    restore = book.store.restore_rows

    def late(order):
        other = lines[250].replace(rb"\"kind\":\"k\"", rb"\"kind\":\"j\"")  # still JSON, and as long
        assert other != lines[250]
        path.write_bytes(b"".join([*lines[:250], other, *lines[251:]]))
        return restore(order)

    monkeypatch.setattr(book.store, "restore_rows", late)
    with pytest.raises(OperatorError, match="cannot be imported"):
        import_ledger(book.store, ORIGIN, path)

    assert (book.store.size(), book.verify(state=None).ok) == (0, True)
    assert book.store.append(new()).seq == 1


def test_rows_are_not_put_behind_a_head_that_moved(book):
    book.store.append(new())

    assert not book.store.restore_rows(LedgerRestoration(after=0, head=GENESIS.hex(), rows=lambda: iter(())))


KILLED = """
import os, signal, sys
from pathlib import Path
from keisei.rules.tree import Frontier
from keisei.store import open_store
from keisei.wiring import ledger_import
rows = ledger_import._again
def some(*words):
    for number, row in enumerate(rows(*words)):
        if number == 290:
            os.kill(os.getpid(), signal.SIGKILL)
        yield row
ledger_import._again = some
ledger_import.import_ledger(open_store(sys.argv[1]), sys.argv[2], Path(sys.argv[3]))
"""


def test_who_is_killed_in_the_middle_leaves_the_ledger_as_it_was(request, book, lines, tmp_path):
    path = given(tmp_path, lines)
    url = f"sqlite://{book.path}" if book.path.exists() else request.getfixturevalue("postgres_url")

    done = subprocess.run([sys.executable, "-c", KILLED, url, ORIGIN, str(path)], capture_output=True, check=False)

    assert done.returncode == -signal.SIGKILL, done.stderr
    assert (book.store.size(), book.verify(state=None).ok) == (0, True)
    assert import_ledger(book.store, ORIGIN, path).rows == 300
    assert book.verify(state=None).ok


def test_what_was_changed_on_postgres_is_found_too(postgres_url, lines, tmp_path):
    book = Book(tmp_path / "here", postgres_url)
    import_ledger(book.store, ORIGIN, given(tmp_path, lines))
    (tmp_path / "here" / "checkpoint").write_text(json.loads(lines[-1])["checkpoint"])
    assert book.verify().ok

    with psycopg.connect(postgres_url, autocommit=True) as hand:
        for table in TABLES:
            hand.execute(f"ALTER TABLE {table} DISABLE TRIGGER USER")
        hand.execute("ALTER TABLE seals DROP CONSTRAINT seals_entry_id_fkey")
        for statement, row, why in (
            ("UPDATE seals SET entry_id = entry_id + 1000 WHERE seq = 7", 7, "missing"),
            ("UPDATE ledger SET subject = 'x' WHERE subject = 't37'", 38, "column was changed"),
            ("UPDATE checkpoints SET note = replace(note, 'A', 'B')", None, "checkpoint of 261 rows: it was changed"),
            ("UPDATE checkpoints SET size = 262 WHERE size = 261", None, "checkpoint of 262 rows"),
            ("DELETE FROM checkpoints WHERE size = 300", None, "the table does not have it"),
            ("UPDATE tree_nodes SET hash = hash || '\\x00'", None, "node 0 of level 8"),
            ("UPDATE tree_nodes SET level = 9", None, "node 0 of level 9"),
            ("DELETE FROM tree_nodes", None, "is missing"),
            ("DELETE FROM seals WHERE seq > 290; DELETE FROM ledger WHERE entry_id > 290", 291, "cut off the end"),
        ):
            _save(hand)
            hand.execute(statement)
            found = book.verify()
            assert (found.ok, found.broken.row) == (False, row), statement
            assert why in found.broken.why, (statement, found.broken)
            _put_back(hand)
        assert book.verify().ok
    book.store.close()


TABLES = ("ledger", "seals", "checkpoints", "tree_nodes")


def _save(hand):
    for table in TABLES:
        hand.execute(f"DROP TABLE IF EXISTS saved_{table}")
        hand.execute(f"CREATE TABLE saved_{table} AS TABLE {table}")


def _put_back(hand):
    for table in TABLES:
        hand.execute(f"DELETE FROM {table}")  # noqa: S608 - ours
        override = "OVERRIDING SYSTEM VALUE" if table == "ledger" else ""
        hand.execute(f"INSERT INTO {table} {override} SELECT * FROM saved_{table}")  # noqa: S608 - ours


AGENTS = """
CREATE TABLE agents (id TEXT PRIMARY KEY, branch TEXT, parent_branch TEXT, spec_sha TEXT, status TEXT,
started_ts INTEGER, finished_ts INTEGER, summary TEXT, worktree_path TEXT, dna TEXT, creator_id TEXT,
fork_parent_id TEXT, cost_cents INTEGER, provider TEXT, model TEXT, cost_micro_cents INTEGER, tokens_in INTEGER,
tokens_out INTEGER, stubs_count INTEGER, outcome TEXT, escalation_depth INTEGER);
INSERT INTO agents (id, branch, parent_branch, spec_sha, status, started_ts, dna, cost_cents)
VALUES ('a1', 'feat/a', 'main', 'ab', 'running', 1700000000, 'E::NG::A::B-1', 3);
INSERT INTO agents (id, branch, status, started_ts, finished_ts, summary, tokens_in, model, outcome)
VALUES ('a2', 'feat/b', 'merged', 1700000000, 1700000060, 'done AKIAIOSFODNN7EXAMPLE', 70, 'm', 'functional');
UPDATE agents SET summary = summary || ' ' || printf('%.*c', 20000, 'x') WHERE id = 'a2';
UPDATE agents SET cost_cents = 9223372036854775807 WHERE id = 'a2';
UPDATE agents SET summary = 'so far', model = 'm' WHERE id = 'a1';
INSERT INTO agents (id, status, summary, model) VALUES ('a3', 'failed', x'ff00fe', 'm');
INSERT INTO agents (id, status) VALUES ('../etc', 'running'), ('a4', 'queued'), ('a5', 'rejected');
"""


def test_agents_of_the_original_become_rows_by_hand(book, tmp_path):
    path = tmp_path / "ledger.sqlite"
    connection = apsw.Connection(str(path))
    connection.execute(AGENTS)
    connection.close()
    before = path.read_bytes()

    done = take_over_agents(book.store, read_agents(path), "operator:ann")

    assert (done.rows, done.agents) == (10, 4)
    assert done.left_out == [
        ("a1", "summary, for it still runs"),
        ("a2", "summary beyond its first 10000 of 20026 characters"),
        ("a2", "cost_cents, which is 9223372036854775807"),
        ("a2", "what looks like a secret in summary"),
        ("a3", "model, for nothing says what it has cost"),
        ("../etc", "the id contains '..'"),
        ("a4", "its status is `queued`"),
    ]
    agents = every_agent(book.store)
    assert {name: agent.status for name, agent in agents.items()} == {
        "a1": "running",
        "a2": "merged",
        "a3": "failed",
        "a5": "rejected",
    }
    assert (agents["a1"].branch, agents["a1"].parent, agents["a1"].spec_sha256) == ("feat/a", "main", "ab")
    assert (agents["a1"].cost.micro_cents, agents["a2"].cost.tokens_in) == (3_000_000, 70)
    assert all(row.source == "manual" for row in book.store.entries())
    began, over = agents["a2"].started_at.timestamp(), agents["a2"].finished_at.timestamp()
    assert (began, over, agents["a2"].summary[:17]) == (1_700_000_000, 1_700_000_060, "done [redacted] x")
    again = take_over_agents(book.store, read_agents(path), "operator:ann")
    assert (again.rows, book.store.size()) == (0, 10)
    assert path.read_bytes() == before
    assert not Path(f"{path}-wal").exists()


def test_what_is_no_ledger_of_the_original_is_one_clear_error(tmp_path):
    apsw.Connection(str(tmp_path / "other.sqlite")).execute("CREATE TABLE x (y)")
    (tmp_path / "text").write_text("hello")

    for name in ("other.sqlite", "text", "nowhere"):
        with pytest.raises(OperatorError, match=r"ledger of the original|SQLite|not a file"):
            read_agents(tmp_path / name)


def test_an_empty_ledger_goes_out_and_comes_in(tmp_path):
    book = Book(tmp_path / "here")
    lines = list(export_lines(book.store, ORIGIN))

    assert import_ledger(open_store(f"sqlite://{tmp_path / 'x.db'}"), ORIGIN, given(tmp_path, lines)).rows == 0
