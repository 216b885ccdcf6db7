"""The offline verifier: a ledger and its proofs are checked by one file that knows nothing of keisei."""

import ast
import base64
import io
import json
import os
import random
import subprocess
import sys

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from hypothesis import given, settings
from hypothesis import strategies as st
from pymerkle import InmemoryTree

from keisei.records.move import NewEntry
from keisei.rules.ledger import chain_hash, leaf_hash
from keisei.rules.note import checkpoint_text, signed_note, vkey
from keisei.rules.tree import Frontier, consistency_path, inclusion_path, root_of
from keisei.wiring.checkpoint import checkpoint
from keisei.wiring.ledger_export import export_lines
from keisei.wiring.ledger_proof import consistency, inclusion
from tests.evidence.auditor import FILE, ask, merkle, offline, opened, run, said

QUICK = settings(max_examples=60, database=None)
OTHER = vkey("keisei/acme", Ed25519PrivateKey.generate().public_key().public_bytes_raw())


class Kept:
    """A real ledger with two checkpoints, and its export."""

    def __init__(self, folder, rows=3):
        self.store, self.signer = opened(folder)
        self.origin, self.folder = self.signer.name, folder
        for n in range(rows):
            self.add(n)
        self.sign()
        self.add("é\u2028\x7f")
        self.sign()
        self.lines = list(export_lines(self.store, self.origin))
        self.path = self.write(b"".join(self.lines))

    def add(self, text, kind="task_moved", source="engine", **body):
        entry = NewEntry(kind=kind, actor="runner", subject="t1", body={"n": text, **body}, source=source)
        return self.store.append(entry)

    def sign(self):
        return checkpoint(self.store, self.signer, self.origin, None, self.folder)

    def write(self, data, name="export.jsonl"):
        path = self.folder / name
        path.write_bytes(data)
        return path

    def parts(self):
        """Header, rows and checkpoints as data."""
        values = [json.loads(line) for line in self.lines]
        return (
            values[0],
            [each for each in values[1:] if "seq" in each],
            [each for each in values if "checkpoint" in each],
        )

    def rewritten(self, header, rows, checkpoints, name="changed.jsonl"):
        return self.write(b"".join(json.dumps(each).encode() + b"\n" for each in (header, *rows, *checkpoints)), name)


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    found = Kept(tmp_path_factory.mktemp("a folder") / "of state")
    yield found
    found.store.close()


# One file, nothing but Python ---------------------------------------------------------------------------------------


def test_it_imports_nothing_but_the_standard_library():
    tree = ast.parse(FILE.read_text("utf-8"), feature_version=(3, 9))

    named = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    named |= {node.module or "." for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {name.split(".")[0] for name in named} <= sys.stdlib_module_names
    assert not any(isinstance(node, ast.ImportFrom) and node.level for node in ast.walk(tree))
    assert "__import__" not in FILE.read_text("utf-8")


def test_it_runs_from_another_folder_where_nothing_is_installed(kept, tmp_path):
    copy = tmp_path / "offline.py"
    copy.write_bytes(FILE.read_bytes())
    words = [sys.executable, "-I", "-S", copy, "ledger", kept.path, "--key", kept.signer.vkey]

    done = subprocess.run(words, capture_output=True, text=True, check=False, env={}, cwd=tmp_path)

    assert (done.returncode, done.stderr) == (0, "")


# Ledgers ------------------------------------------------------------------------------------------------------------


def test_a_whole_ledger_holds(kept):
    code, out, err = run("ledger", kept.path, "--key", kept.signer.vkey, "--json")

    report = json.loads(out)
    assert (code, err, report["verdict"]) == (0, "", "held")
    assert (report["rows"], report["checkpoints"]) == (5, {"checked": 2, "signed": 2, "newest": 5})
    assert report["head"] == kept.store.row(5).chain_hash


def test_without_a_key_it_says_that_the_keys_are_the_ledgers_own_word(kept):
    code, out, _ = run("ledger", kept.path)

    assert code == 0
    assert "not checked    who signed: no --key was given: the keys are the ledger's own word" in out


def test_a_key_that_signed_nothing_does_not_hold(kept):
    code, out, _ = run("ledger", kept.path, "--key", OTHER)

    assert code == 2
    assert "none is signed by keisei/acme+" in out


def test_an_empty_ledger_holds(tmp_path):
    store, signer = opened(tmp_path / "s")
    path = tmp_path / "x"
    path.write_bytes(b"".join(export_lines(store, signer.name)))
    store.close()

    assert ask("ledger", path) == (0, [])
    assert ask("ledger", path, "--key", signer.vkey)[0] == 2


def test_a_head_and_a_checkpoint_kept_elsewhere_must_be_met(kept, tmp_path):
    note = tmp_path / "note"
    note.write_text(kept.parts()[2][-1]["checkpoint"], "utf-8")
    header, rows, checkpoints = kept.parts()
    root = merkle([bytes.fromhex(each["leaf_hash"]) for each in rows[:4]]).hex()
    cut = kept.rewritten(header | {"size": 4, "head": rows[3]["chain_hash"], "root": root}, rows[:4], checkpoints[:1])

    assert ask("ledger", kept.path, "--head", rows[2]["chain_hash"], "--checkpoint", note) == (0, [])
    assert ask("ledger", cut) == (0, [])
    assert ask("ledger", cut, "--head", rows[4]["chain_hash"])[1] == [
        "head kept elsewhere: no row has this chain hash: rows were changed or cut off"
    ]
    assert "of 5 rows: the ledger has only 4: rows were cut off" in ask("ledger", cut, "--checkpoint", note)[1][0]


def one(place):
    """A bit of a byte, by chance and always the same."""
    return (random.Random(place).randrange(8),)


def each(_):
    """All bits of a byte."""
    return range(8)


FLIPS = pytest.mark.parametrize(
    "bits", [pytest.param(one, id="one of a byte"), pytest.param(each, id="all", marks=pytest.mark.soak)]
)


def missed(monkeypatch, whole, bits, *words):
    """The flipped bits of a file under which everything still holds. The file is in memory: it is opened often."""
    now = [whole]
    monkeypatch.setattr(offline, "opened", lambda _: io.BytesIO(now[0]))
    assert ask(*words) == (0, [])
    found = []
    for place in range(len(whole)):
        for bit in bits(place):
            changed = bytearray(whole)
            changed[place] ^= 1 << bit
            now[0] = bytes(changed)
            if ask(*words)[0] not in (1, 2):
                found.append((place, bit))
    return found


@FLIPS
def test_every_flipped_bit_of_an_export_is_found(kept, monkeypatch, bits):
    """No bit of an export is harmless, its newlines and brackets neither, where a key is known."""
    assert missed(monkeypatch, b"".join(kept.lines), bits, "ledger", "x", "--key", kept.signer.vkey) == []


@FLIPS
def test_every_flipped_bit_of_an_export_is_found_without_a_key_too(kept, monkeypatch, bits):
    assert missed(monkeypatch, b"".join(kept.lines), bits, "ledger", "x") == []


def test_what_only_spells_the_same_bytes_otherwise_is_harmless(kept):
    header, rows, checkpoints = kept.parts()
    reordered = dict(reversed(rows[0].items()))
    coded = {name: each for name, each in rows[1].items() if name != "content"}
    coded["content_base64"] = base64.b64encode(rows[1]["content"].encode()).decode()

    path = kept.rewritten(header, [reordered, coded, *rows[2:]], checkpoints)

    assert ask("ledger", path, "--key", kept.signer.vkey) == (0, [])


@pytest.mark.parametrize("seq", range(1, 6))
def test_the_first_row_that_does_not_hold_is_named(kept, seq):
    header, rows, checkpoints = kept.parts()

    def told(rows):
        code, faults = ask("ledger", kept.rewritten(header, rows, checkpoints))
        return code, faults[0].partition(":")[0]

    changed = [row | {"content": row["content"] + " "} if row["seq"] == seq else row for row in rows]
    leafless = [row | {"leaf_hash": "0" * 64} if row["seq"] == seq else row for row in rows]
    unchained = [row | {"chain_hash": "0" * 64} if row["seq"] == seq else row for row in rows]
    missing = [row for row in rows if row["seq"] != seq]
    twice = [*rows[:seq], *rows[seq - 1 :]]
    for each in (changed, leafless, unchained):
        assert told(each) == (2, f"row {seq}")
    assert told(missing) == (2, f"row {seq}" if seq < 5 else "size")
    assert told(twice) == (2, f"row {seq + 1}")


def test_a_ledger_written_anew_holds_by_itself_and_not_against_the_key(kept, tmp_path):
    """Whoever can rewrite everything still has not the key."""
    forged = Kept(tmp_path / "forger")
    forged.store.close()

    assert forged.origin == kept.origin
    assert ask("ledger", forged.path) == (0, [])
    assert ask("ledger", forged.path, "--key", kept.signer.vkey)[0] == 2


def rechained(header, rows):
    """The same with every hash made anew."""
    chain, leaves, found = bytes(32), [], []
    for row in rows:
        leaves.append(leaf_hash(row["content"].encode()))
        chain = chain_hash(chain, row["seq"], leaves[-1])
        found.append(row | {"leaf_hash": leaves[-1].hex(), "chain_hash": chain.hex()})
    return header | {"head": chain.hex(), "root": merkle(leaves).hex()}, found


def test_rows_that_were_written_anew_do_not_fit_what_was_signed(kept):
    """Every hash is right; only the checkpoints tell, and from which size on."""
    header, rows, checkpoints = kept.parts()
    rows[4] |= {"content": rows[4]["content"].replace('"t1"', '"t2"')}

    path = kept.rewritten(*rechained(header, rows), checkpoints)

    assert ask("ledger", kept.rewritten(*rechained(header, rows), [], "unsigned")) == (0, [])
    for words in ((), ("--key", kept.signer.vkey)):
        assert ask("ledger", path, *words) == (
            2,
            ["checkpoint 2: of 5 rows: the rows have another root: some of the first 5 were changed"],
        )


def test_a_key_signs_nothing_that_is_older_than_its_introduction(kept):
    header, rows, checkpoints = kept.parts()
    leaves = [bytes.fromhex(row["leaf_hash"]) for row in rows]
    assert "key_introduced" in rows[3]["content"]
    text = checkpoint_text(kept.origin, 3, merkle(leaves[:3]))
    early = signed_note(text, kept.origin, kept.signer.public, kept.signer.sign(text.encode()))

    path = kept.rewritten(header, rows, [{"checkpoint": early}, *checkpoints])

    assert ask("ledger", path) == (2, ["checkpoint 1: of 3 rows: no key that was introduced before it signed it"])
    assert ask("ledger", path, "--key", kept.signer.vkey) == (0, [])


def test_two_spellings_of_one_thing_are_not_both_taken(kept):
    header, rows, checkpoints = kept.parts()
    twice = kept.rewritten(header, rows, checkpoints).read_bytes().replace(b'{"seq": 1,', b'{"seq": 1, "seq": 1,')

    assert "a key stands twice" in ask("ledger", kept.write(twice, "twice"))[1][0]
    assert offline.base64_of("QQ==") == b"A"
    for each in ("QR==", "QQ", "QQ==\n", "QQ= =", "_-==", "\u0661", None, 1):
        with pytest.raises(ValueError, match="base64"):
            offline.base64_of(each)


def test_a_key_that_a_person_introduces_is_nobodys(tmp_path):
    kept = Kept(tmp_path / "s")
    key = Ed25519PrivateKey.generate()
    public = key.public_key().public_bytes_raw()
    kept.add("x", "key_introduced", "manual", vkey=vkey(kept.origin, public))
    tip = b"".join(export_lines(kept.store, kept.origin))
    kept.store.close()
    text = checkpoint_text(kept.origin, 6, bytes.fromhex(json.loads(tip.split(b"\n")[0])["root"]))
    note = signed_note(text, kept.origin, public, key.sign(text.encode()))

    code, faults = ask("ledger", kept.write(tip + json.dumps({"checkpoint": note}).encode() + b"\n"))

    assert code == 2
    assert "no key that was introduced before it signed it" in faults[0]


BAD = {
    "nothing": b"",
    "blank": b"\n",
    "no JSON": b"hello\n",
    "no UTF-8": b'{"format":"\xff"}\n',
    "a list": b"[]\n",
    "another format": b'{"format":"x","origin":"o","size":0,"root":"","head":"","keys":[]}\n',
    "NaN": b'{"format":NaN}\n',
    "a huge number": b'{"size":' + b"9" * 5000 + b"}\n",
    "an endless number": b'{"size":1e999}\n',
    "deep nesting": b"[" * 200_000 + b"\n",
    "deep objects": b'{"a":' * 100_000 + b"\n",
    "a key twice": b'{"format":"keisei-ledger/v1","format":"keisei-ledger/v1"}\n',
    "a key missing": b'{"format":"keisei-ledger/v1"}\n',
    "half a character": b'{"format":"\\ud800"}\n',
    "terminal codes": b'{"\\u001b[2Jformat":1}\n',
    "a long line": b" " * ((8 << 20) + 2),
}


@pytest.mark.parametrize("data", BAD.values(), ids=BAD.keys())
@pytest.mark.parametrize("command", ["ledger", "proof"])
def test_bad_input_is_one_line(tmp_path, command, data):
    path = tmp_path / "in\x1bput"
    path.write_bytes(data)

    code, out, err = said(command, path)

    assert (code, out) == (1, "")
    assert err.count("\n") == 1
    assert err.startswith("offline.py: ")
    assert all(" " <= each <= "~" for each in err[:-1])


FIELDS = ["format", "origin", "size", "root", "head", "keys", "seq", "content", "leaf_hash", "chain_hash", "checkpoint"]


@pytest.mark.parametrize("field", FIELDS)
def test_a_value_of_another_type_is_found(kept, field):
    for value in (None, True, -1, 1.5, 2**70, [], {}, "", "\ud800", "x", [[]], [{}], "0" * 64):
        parts = [[dict(each) for each in part] for part in ([kept.parts()[0]], *kept.parts()[1:])]
        for part in parts:
            for each in part[:1]:
                if field in each:
                    each[field] = value
        path = kept.rewritten(parts[0][0], *parts[1:])
        assert ask("ledger", path)[0] in (1, 2)
        assert ask("ledger", path, "--key", kept.signer.vkey)[0] in (1, 2)


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("ledger",),
        ("fly", "x"),
        ("ledger", "/nonexistent/x"),
        ("ledger", "/"),
        ("ledger", "x", "--key", "mistyped"),
        ("ledger", "x", "--key", OTHER.replace("+A", "+B")),
        ("ledger", os.devnull, "--head", "xyz"),
        ("ledger", os.devnull, "--checkpoint", "/nonexistent"),
        ("proof", os.devnull),
        ("attestation", "/nonexistent"),
        ("attestation", os.devnull),
    ],
)
def test_wrong_usage_is_one_line(words):
    code, out, err = said(*words)

    assert (code, out, err.count("\n")) == (1, "", 1)


def test_a_report_for_a_program_tells_also_what_cannot_be_read():
    code, out, _ = run("ledger", "/nonexistent", "--json")

    assert code == 1
    assert json.loads(out)["verdict"] == "unreadable"


def test_many_rows_need_little_memory(tmp_path):
    """Rows of 12 MB are checked where no 40 MB may be had beside what Python itself needs."""
    name, key = "keisei/many", Ed25519PrivateKey.generate()
    public = key.public_key().public_bytes_raw()
    lines, chain, tree = [], bytes(32), Frontier()
    for seq in range(1, 6002):
        content = b'{"n":%d,"text":"%s"}' % (seq, b"x" * 2000)
        leaf = leaf_hash(content)
        chain = chain_hash(chain, seq, leaf)
        tree.push(leaf)
        row = {"seq": seq, "content": content.decode(), "leaf_hash": leaf.hex(), "chain_hash": chain.hex()}
        lines.append(json.dumps(row))
        if seq in (1, 255, 256, 257, 511, 512, 4096, 6001):
            text = checkpoint_text(name, seq, tree.root())
            lines.append(json.dumps({"checkpoint": signed_note(text, name, public, key.sign(text.encode()))}))
    header = {
        "format": "keisei-ledger/v1",
        "origin": name,
        "size": 6001,
        "root": tree.root().hex(),
        "head": chain.hex(),
    }
    ordered = [json.dumps(header | {"keys": []}), *sorted(lines, key=lambda each: each.startswith('{"checkpoint'))]
    path = tmp_path / "many"
    path.write_text("\n".join(ordered), "utf-8")
    code = (
        "import resource, runpy, sys\n"
        "used = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize()\n"
        "resource.setrlimit(resource.RLIMIT_AS, (used + (40 << 20), resource.RLIM_INFINITY))\n"
        "sys.argv = sys.argv[1:]\n"
        "runpy.run_path(sys.argv[0], run_name='__main__')"
    )

    words = [sys.executable, "-I", "-c", code, FILE, "ledger", path, "--json", "--key", vkey(name, public)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)

    assert json.loads(done.stdout)["checkpoints"] == {"checked": 8, "signed": 8, "newest": 6001}
    assert path.stat().st_size > 12_000_000


# Proofs -------------------------------------------------------------------------------------------------------------


def written(path, value):
    path.write_text(json.dumps(value, indent=1), "utf-8")
    return path


@pytest.mark.parametrize("seq", range(1, 6))
def test_a_proof_of_a_row_holds(kept, tmp_path, seq):
    path = written(tmp_path / "proof", inclusion(kept.store, kept.origin, seq))

    assert ask("proof", path, "--key", kept.signer.vkey) == (0, [])
    assert ask("proof", path, "--key", OTHER)[0] == 2
    assert "the root is the proof's own word" in said("proof", path)[1]


@pytest.mark.parametrize("old", range(6))
def test_a_proof_of_growth_holds(kept, tmp_path, old):
    path = written(tmp_path / "proof", consistency(kept.store, kept.origin, old))

    assert ask("proof", path, "--key", kept.signer.vkey) == (0, [])


def test_a_proof_without_a_checkpoint_is_not_one_against_a_key(kept, tmp_path):
    path = written(tmp_path / "proof", inclusion(kept.store, kept.origin, 1, 3))

    assert ask("proof", path) == (0, [])
    assert ask("proof", path, "--key", kept.signer.vkey)[0] == 2


def proof_of_row(kept):
    return inclusion(kept.store, kept.origin, 4)


def proof_of_growth(kept):
    return consistency(kept.store, kept.origin, 3)


@FLIPS
@pytest.mark.parametrize("make", [proof_of_row, proof_of_growth])
def test_every_flipped_bit_of_a_proof_is_found(kept, monkeypatch, make, bits):
    whole = json.dumps(make(kept), separators=(",", ":"), ensure_ascii=False).encode()

    assert missed(monkeypatch, whole, bits, "proof", "x", "--key", kept.signer.vkey) == []


leaves = st.lists(st.binary(max_size=4), min_size=1, max_size=70)


@QUICK
@given(leaves, st.data())
def test_roots_and_paths_are_those_of_two_other_implementations(entries, data):
    hashes = [offline.leaf_hash(each) for each in entries]
    reference = InmemoryTree(algorithm="sha256")
    for each in entries:
        reference.append_entry(each)
    size = data.draw(st.integers(1, len(entries)))
    index = data.draw(st.integers(0, size - 1))

    def subtree(level, place):
        return merkle(hashes[place << level : (place + 1) << level])

    tree = offline.Tree()
    for each in hashes:
        tree.push(each)
    root = reference.get_root(size)
    assert tree.root(size) == merkle(hashes[:size]) == root == root_of(size, subtree)
    for path in (inclusion_path(index, size, subtree), reference.prove_inclusion(index + 1, size).path[1:]):
        assert offline.root_by_inclusion(hashes[index], index, size, path) == root
    path = consistency_path(size, len(entries), subtree)
    assert offline.roots_by_consistency(size, len(entries), root, path) == (root, reference.get_root())


@QUICK
@given(st.integers(1, 2000), st.data())
def test_the_root_of_any_size_is_known_after_any_number_of_rows(count, data):
    tree, hashes = offline.Tree(), [n.to_bytes(32, "big") for n in range(count)]
    for each in hashes:
        tree.push(each)
    size = data.draw(st.integers(0, count))

    assert tree.root(size) == merkle(hashes[:size])


@QUICK
@given(st.integers(1, 300), st.data())
def test_a_path_that_was_changed_leads_elsewhere_or_nowhere(size, data):
    hashes = [offline.leaf_hash(b"%d" % n) for n in range(size)]
    old = data.draw(st.integers(1, size))
    path = consistency_path(old, size, lambda level, place: merkle(hashes[place << level : (place + 1) << level]))
    change = data.draw(st.sampled_from(["longer", "shorter", "other", "reversed", "older"]))
    roots = merkle(hashes[:old]), merkle(hashes)
    changed = {
        "longer": [*path, bytes(32)],
        "shorter": path[:-1],
        "other": [bytes(32), *path[1:]],
        "reversed": path[::-1],
        "older": path,
    }[change]
    if changed == path and change != "older":
        return

    try:
        found = offline.roots_by_consistency(old - (change == "older"), size, roots[0], changed)
    except ValueError:
        return
    assert found != roots


# Ed25519 and notes --------------------------------------------------------------------------------------------------

# RFC 8032, section 7.1: public key, message, signature
VECTORS = [
    (
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        "",
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
    ),
    (
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
        "72",
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
    ),
    (
        "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
        "af82",
        "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a",
    ),
]


@pytest.mark.parametrize("vector", VECTORS, ids=["empty", "one byte", "two bytes"])
def test_the_vectors_of_rfc_8032_hold(vector):
    public, message, signature = (bytes.fromhex(each) for each in vector)

    assert offline.ed25519_holds(public, message, signature)
    assert not offline.ed25519_holds(public, message + b"x", signature)


def library_says(public, message, signature):
    try:
        Ed25519PublicKey.from_public_bytes(public).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True


@QUICK
@given(st.binary(min_size=32, max_size=32), st.binary(max_size=200), st.integers(0, 8 * 64 - 1))
def test_signatures_hold_and_fail_as_in_the_library(seed, message, bit):
    key = Ed25519PrivateKey.from_private_bytes(seed)
    public, signature = key.public_key().public_bytes_raw(), key.sign(message)
    flipped = (int.from_bytes(signature, "little") ^ 1 << bit).to_bytes(64, "little")

    assert offline.ed25519_holds(public, message, signature)
    assert not offline.ed25519_holds(public, message, flipped)
    assert not library_says(public, message, flipped)


@QUICK
@given(st.binary(min_size=32, max_size=32), st.binary(min_size=64, max_size=64))
def test_keys_and_signatures_of_any_bytes_are_no_trouble(public, signature):
    """The library takes keys of small order, so that it may say yes where this says no."""
    assert not offline.ed25519_holds(public, b"x", signature) or library_says(public, b"x", signature)


def test_a_signature_has_one_form_only():
    public, message, signature = (bytes.fromhex(each) for each in VECTORS[1])
    number = int.from_bytes(signature[32:], "little") + offline.ORDER

    assert not offline.ed25519_holds(public, message, signature[:32] + number.to_bytes(32, "little"))
    assert not offline.ed25519_holds(public, message, signature + b"\0")
    assert not offline.ed25519_holds(public, message, signature[:-1])
    assert not offline.ed25519_holds(public[:-1], message, signature)


@pytest.mark.parametrize("y", [*range(offline.PRIME, 2**255)])
def test_a_point_has_one_form_only(y):
    assert offline._point(y.to_bytes(32, "little")) is None


SMALL = [
    "0100000000000000000000000000000000000000000000000000000000000000",
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "0000000000000000000000000000000000000000000000000000000000000000",
    "0000000000000000000000000000000000000000000000000000000000000080",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
    "0100000000000000000000000000000000000000000000000000000000000080",
    "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
]
"""Points of small order and second spellings (Chalkias, Garillot, Nikolaenko: Taming the many EdDSAs, 2020)."""


@pytest.mark.parametrize("public", SMALL)
def test_a_key_under_which_anything_is_signed_signs_nothing(public):
    """With R = A and S = 0 the equation holds under such a key for one message in eight, or for all."""
    key = bytes.fromhex(public)

    for number in range(32):
        for r in (key, bytes.fromhex(SMALL[0])):
            assert not offline.ed25519_holds(key, b"%d" % number, r + bytes(32))


def test_a_published_note_holds():
    """The example of golang.org/x/mod/sumdb/note."""
    key = offline.key_of("PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW")
    text = "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n"
    signature = "x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM="
    line = f"\u2014 PeterNeumann {signature}\n"

    assert offline.signers_of(f"{text}\n{line}", [key]) == [key]
    assert offline.signers_of(f"{text}\n{line}", [offline.key_of(OTHER)]) == []
    with pytest.raises(ValueError, match="does not hold"):
        offline.signers_of(f"{text}x\n\n{line}", [key])


NAMES = st.text(
    st.characters(codec="utf-8", exclude_categories=["Z", "C"], exclude_characters="+"), min_size=1, max_size=20
)


@QUICK
@given(NAMES, st.integers(0, 2**63 - 1), st.binary(min_size=32, max_size=32))
def test_what_is_signed_is_read_as_it_was_meant(name, size, root):
    key = Ed25519PrivateKey.from_private_bytes(root)
    public = key.public_key().public_bytes_raw()
    text = checkpoint_text(name, size, root)
    note = signed_note(text, name, public, key.sign(text.encode()))

    assert offline.checkpoint_of(note) == (name, size, root)
    assert [each.public for each in offline.signers_of(note, [offline.key_of(vkey(name, public))])] == [public]


@pytest.mark.parametrize(
    "text",
    ["", "\n", "a\n1\n\n", "a\n1\nx\n", "a\n01\n", "a\n-1\n", "a\n\u0661\n", "a\n1\n" + "A" * 43 + "=\nx\n\n\n"],
)
def test_what_is_no_checkpoint_is_refused(text):
    line = f"\u2014 a {base64.b64encode(b'x' * 68).decode()}\n"

    with pytest.raises(ValueError, match=r"."):
        offline.checkpoint_of(f"{text}\n{line}")
