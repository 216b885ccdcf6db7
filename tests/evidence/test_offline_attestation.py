"""The offline verifier: every claim about an attempt is recomputed from rows, evidence and the repository."""

import base64
import hashlib
import json
import os
import shutil
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keisei.records.move import NewEntry
from keisei.rules.attestation import statements
from keisei.rules.attestation_fact import Source
from keisei.rules.attestation_row import row_of
from keisei.rules.bundle_hash import bundle_hash
from keisei.rules.canonical import canonical
from keisei.rules.note import vkey
from keisei.wiring.attestation import signed
from keisei.wiring.attestation_note import add_lines
from keisei.wiring.checkpoint import checkpoint
from keisei.wiring.ledger_proof import inclusion
from tests.evidence.auditor import ask, offline, opened, run, said

ATTEMPT, TASK, LANDING = "attempt-0017-1", "task-0017", "landing-0017"
OTHER = vkey("keisei/acme", bytes(32))
AT = "2026-11-16T10:00:00.000000Z"


def sha(data):
    return hashlib.sha256(data).hexdigest()


def git(folder, *words):
    env = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1"}
    env |= {f"GIT_{who}_{what}": "a@b" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    return subprocess.run(
        ["git", *words], cwd=folder, env=env, check=True, capture_output=True, text=True
    ).stdout.strip()


def committed(repo, message="x", **files):
    for name, text in files.items():
        (repo / name).write_text(text)
    git(repo, "add", "-A")
    git(repo, "commit", "-q", "-m", message)
    return git(repo, "rev-parse", "HEAD")


class Repo:
    """Main goes on while a candidate is made; then the candidate lands."""

    def __init__(self, path):
        self.path = path
        path.mkdir(parents=True)
        git(path, "init", "-q", "-b", "main")
        self.base = committed(path, a="one\n" * 9)
        git(path, "checkout", "-q", "-b", "work")
        self.candidate = committed(path, a="zero\n" + "one\n" * 8, b="two\n")
        git(path, "checkout", "-q", "main")
        self.before = committed(path, a="one\n" * 9 + "more\n")
        trailer = f"Land it\n\nKeisei-Task: {TASK}\nKeisei-Attempt: {ATTEMPT}\nKeisei-Landing: {LANDING}"
        self.after = committed(path, trailer, a="zero\n" + "one\n" * 8 + "more\n", b="two\n")
        self.tree = git(path, "rev-parse", "HEAD^{tree}")


def finding(capability, status="held", severity="block", run_from="merged", tree=None):
    told = {"capability": capability, "status": status, "severity": severity, "run_from": run_from, "tree": tree}
    return told | {"created_at": AT, "reason": "r"}


class Made:
    """An export as keisei makes one, of a real ledger and a real repository."""

    def __init__(self, folder, repo, *, landed=True, status="completed", signs=True, stranger=None, lie=None):
        self.folder, self.repo = folder, repo
        self.store, self.signer = opened(folder.parent / "state of things")
        self.key = self.signer.vkey
        findings = [
            finding("engine::scope", run_from="worktree"),
            finding("tests::pass", "not-held", tree="0" * 40),
            finding("tests::pass", tree=repo.tree),
            finding("lint::clean", "not-held", "warn", tree=repo.tree),
            finding("docs::same", "not-applicable", tree=repo.tree),
            finding("engine::merge", tree=repo.tree),
            finding("policy::late", run_from="worktree") | {"created_at": "2026-11-16T11:00:00.000000Z"},
        ]
        files = {
            "prompt.md": b"do it\n",
            "findings.json": self.data(findings),
            "result.json": self.data({"report": {"model": "m-1"}}),
            "task.json": self.data({"goal": "x"}),
            "stdout.log": bytes(range(256)),
            "returned.json": self.data(
                {"staged": {"commit": repo.candidate, "base": repo.base, "changes": [1]}, "isolation": ["landlock"]}
            ),
        }
        bundle = self.bundle(sha(files["prompt.md"]), repo.base)
        if lie == "bundle":
            bundle["attempt_id"] = "attempt-another"
        if lie == "prompt":
            bundle["prompt"]["sha256"] = sha(b"another")
        files["bundle.json"] = self.data(bundle)
        self.artifacts = {"out/report.txt": b"report\n", "x.bin": b"\0\1"}
        later = {f"landing-{LANDING}-1.json": self.data({"findings": [finding("tests::pass", tree=repo.tree)]})}
        told = {name: sha(data) for name, data in files.items()}
        forked = {
            "attempt_id": ATTEMPT,
            "bundle_hash": bundle_hash(bundle),
            "inputs_hash": sha(b"i"),
            "base": repo.base,
            "spec_sha256": told["task.json"],
        }
        if lie in forked:
            forked[lie] = sha(b"another")
        self.add("agent_forked", "agent-1", **forked, keisei="0.1.0")
        self.add("bypass_used", ATTEMPT, elevated=["x::y"], because="so", isolation=None, sandbox="danger-full-access")
        self.add("attempt_settled", "attempt-another", status="completed", evidence={}, findings=[])
        settled = {
            "status": status,
            "task_id": TASK,
            "evidence": told,
            "findings": [{"capability": each["capability"], "status": each["status"]} for each in findings],
            "artifacts": {name: sha(data) for name, data in self.artifacts.items()} | {"gone": sha(b"gone")},
        }
        if lie == "findings":
            settled["findings"][1]["status"] = "held"
        self.add("attempt_settled", ATTEMPT, **settled)
        facts = {"attempt_id": ATTEMPT, "before": repo.before, "candidate": repo.candidate, "tree": repo.tree}
        facts |= {"branch": "main", "plan": sha(b"plan")}
        if landed:
            self.add("landing_queued", LANDING, **facts, evidence={})
            digests = {name: sha(data) for name, data in later.items()}
            self.add("landing_made", LANDING, **facts, after=repo.after, evidence=digests)
        if stranger:
            self.add("key_introduced", "x", vkey=stranger)
        if signs:
            checkpoint(self.store, self.signer, self.signer.name, None, folder.parent / "state of things")
        self.write(files | (later if landed else {}))

    @staticmethod
    def data(value):
        return json.dumps(value, indent=1).encode()

    @staticmethod
    def bundle(prompt, base="0" * 40):
        return {
            "bundle_id": "random",
            "attempt_id": ATTEMPT,
            "created_at": AT,
            "numbers": [0.1, 1e21, 1.5e-7, 100, -0.0, 123456.789, 5e-324, 1e16],
            "\ufb33": "\u2028\x7f\x01",
            "\U0001f600": None,
            "model": "m-1",
            "replay_grade": "best_effort",
            "task": {"task_type": "code"},
            "role": {
                "name": "edit-local",
                "policy_digest": sha(b"policy"),
                "capabilities": [{"name": "tests::pass", "files_sha256": sha(b"c")}],
            },
            "profile": {"profile_id": "p"},
            "agent": {"agent_id": "arc", "constitution": {"soul_hash": sha(b"s"), "purpose_hash": sha(b"p")}},
            "adapter": {"adapter_id": "a", "kind": "script"},
            "workspace": {"commit": base, "dirty": False},
            "prompt": {"sha256": prompt},
            "skills": [{"skill_id": "s1", "hash": sha(b"s1")}],
        }

    def add(self, kind, subject, **body):
        return self.store.append(NewEntry(kind=kind, actor="engine", subject=subject, body=body))

    def write(self, files):
        rows = tuple(row_of(each.seq, each.content) for each in self.store.rows())
        source = Source(attempt_id=ATTEMPT, rows=rows, files=files, artifacts=tuple(self.artifacts))
        self.lines = signed(statements(source), self.signer)
        own = [row for row in rows if ATTEMPT in (row.subject, row.body.get("attempt_id"))]
        own += [row for row in rows if row.kind == "key_introduced"]
        size = self.store.size()
        proofs = [inclusion(self.store, self.signer.name, row.seq, size) for row in own]
        self.folder.mkdir(parents=True)
        self.put("attestation.intoto.jsonl", b"".join(each + b"\n" for each in self.lines))
        self.put("proofs.jsonl", b"".join(json.dumps(each).encode() + b"\n" for each in proofs))
        self.put("key.txt", f"{self.key}\n".encode())
        for name, data in files.items():
            self.put(f"evidence/{name}", data)
        for name, data in self.artifacts.items():
            self.put(f"artifacts/{name}", data)

    def put(self, name, data):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)

    def copy(self, to):
        return shutil.copytree(self.folder, to / "copy", symlinks=True)


@pytest.fixture(scope="module")
def repo(tmp_path_factory):
    return Repo(tmp_path_factory.mktemp("git") / 'a "repo": here')


@pytest.fixture(scope="module")
def made(tmp_path_factory, repo):
    found = Made(tmp_path_factory.mktemp("export") / "dir", repo)
    add_lines(str(repo.path / ".git"), repo.after, [b"somebody else's", *found.lines])
    yield found
    found.store.close()


def other(tmp_path, repo, **how):
    found = Made(tmp_path / "dir", repo, **how)
    found.store.close()
    return found


def states(out):
    return {each["claim"]: each["state"] for each in json.loads(out)["claims"]}


# What holds ---------------------------------------------------------------------------------------------------------


def test_every_claim_of_an_export_is_recomputed(made, repo):
    words = ("attestation", made.folder, "--key", made.key, "--repository", repo.path)
    code, out, err = run(*words, "--json")

    found = states(out)
    assert (code, err) == (0, "")
    unchecked = {name for name, state in found.items() if state != "held"}
    assert unchecked == {"no other row is about the attempt"}
    assert {"verdict: predicate.timeCreated", "test result: predicate.result"} <= found.keys()
    assert {"evidence/stdout.log", "artifacts/out/report.txt", "row 4"} <= found.keys()
    assert "provenance: predicate.buildDefinition.internalParameters.bypasses[0].sandbox" in found
    assert "verdict: predicate.properties[1]" in found
    assert "verdict: predicate.properties[2]" not in found
    parts = ("commit", "tree", "parent", "branch main", "merge", "note")
    assert {f"repository: {each}" for each in parts} <= found.keys()
    assert "everything that matters holds" in run(*words)[1]


def test_what_nobody_gave_is_told_and_is_not_success(made, repo):
    code, out, _ = said("attestation", made.folder)

    assert code == 3
    assert "not checked    who signed: no --key was given: keisei/acme+" in out
    assert "not checked    repository: no --repository was given" in out
    assert said("attestation", made.folder, "--key", made.key)[0] == 3
    assert said("attestation", made.folder, "--repository", repo.path)[0] == 3


def test_an_attempt_that_did_not_land_is_checked_too(tmp_path, repo):
    for name, how in (("1", {"landed": False}), ("2", {"landed": False, "status": "retryable_failure"})):
        found = other(tmp_path / name, repo, **how)

        code, faults = ask("attestation", found.folder, "--key", found.key, "--repository", repo.path)

        assert (code, faults) == (0, [])
        assert len(found.lines) == 4 - int(name)


def test_rows_that_no_checkpoint_covers_are_told(tmp_path, repo):
    found = other(tmp_path, repo, signs=False)

    code, out, _ = said("attestation", found.folder, "--key", found.key, "--repository", repo.path)

    assert code == 0
    assert "not checked    root: no checkpoint covers the rows yet" in out


def test_a_clone_without_notes_and_candidates_is_enough(made, repo, tmp_path):
    git(tmp_path, "clone", "-q", "--bare", "--no-local", "--single-branch", str(repo.path), "clone")

    code, out, _ = said("attestation", made.folder, "--key", made.key, "--repository", tmp_path / "clone", "--json")

    assert code == 0
    assert states(out)["repository: note"] == states(out)["repository: merge"] == "not checked"


def test_numbers_are_written_as_rfc_8785_has_it():
    assert all(
        offline.canonical(value).encode() == canonical(value)
        for value in (
            Made.bundle("x"),
            [1 / 3, 1e-6, 1e-7, 1e20, 2.5e22, -1.25, 0, 2**53 - 1],
            {"é": 1, "z": "\U0001f600"},
        )
    )


@settings(max_examples=200, database=None)
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_any_number_is(value):
    assert offline.canonical(value).encode() == canonical(value)


# What does not ------------------------------------------------------------------------------------------------------


def broken(folder, made, repo=None):
    words = ["--repository", repo.path] if repo is not None else []
    code, faults = ask("attestation", folder, "--key", made.key, *words)
    assert code in (1, 2)
    return faults


def test_another_key_is_found(made, tmp_path, repo):
    forger = other(tmp_path, repo)

    assert ask("attestation", forger.folder)[0] == 3
    assert "signature of statement 1: not by keisei/acme+" in broken(forger.folder, made)[1]
    assert "key.txt: it names keisei/acme+" in broken(forger.folder, made)[0]


def test_a_changed_missing_or_linked_file_is_found(made, tmp_path):
    copy = made.copy(tmp_path)
    names = ["evidence/stdout.log", "evidence/bundle.json", "artifacts/x.bin", "artifacts/out/report.txt"]
    for name in names:
        path, was = copy / name, (copy / name).read_bytes()
        path.write_bytes(was + b" ")
        assert f"{name}: its SHA-256 is {sha(was + b' ')}" in "".join(broken(copy, made))
        path.unlink()
        assert f"{name}: it is missing" in "".join(broken(copy, made))
        path.symlink_to(made.folder / name)
        assert f"{name}: it cannot be read, or is a link" in "".join(broken(copy, made))
        path.unlink()
        os.mkfifo(path)
        assert f"{name}: it is not a regular file" in "".join(broken(copy, made))
        path.unlink()
        path.write_bytes(was)
    shutil.rmtree(copy / "evidence")
    (copy / "evidence").symlink_to(made.folder / "evidence")
    assert "is a link" in broken(copy, made)[0]


def test_a_file_without_end_is_told_and_not_hashed(made, tmp_path):
    copy = made.copy(tmp_path)
    for name in ("evidence/stdout.log", "proofs.jsonl"):
        path, was = copy / name, (copy / name).read_bytes()
        with path.open("r+b") as file:
            file.truncate(1 << 43)
        faults = broken(copy, made)
        assert any(each.startswith(name) and "it is larger than" in each for each in faults), faults
        path.write_bytes(was)


def test_a_file_that_grows_while_it_is_hashed_ends(made, tmp_path, monkeypatch):
    copy = made.copy(tmp_path)
    monkeypatch.setattr(offline, "LARGEST_HASHED", 100)
    monkeypatch.setattr(offline, "PIECE", 64)
    monkeypatch.setattr(offline.os, "fstat", lambda _: os.stat_result((0o100644, *[0] * 9)))

    with offline.Folder(str(copy)) as folder, pytest.raises(ValueError, match="it is larger than 100 bytes"):
        folder.digest("evidence", "stdout.log")


def test_a_signature_that_is_none_is_found_though_every_claim_follows(made, tmp_path):
    copy = made.copy(tmp_path)
    for place in range(3):
        lines = [json.loads(line) for line in made.lines]
        raw = bytearray(base64.b64decode(lines[place]["signatures"][0]["sig"]))
        raw[0] ^= 1
        lines[place]["signatures"][0]["sig"] = base64.b64encode(raw).decode()
        (copy / NAMES[0]).write_text("".join(f"{json.dumps(each)}\n" for each in lines))
        assert f"signature of statement {place + 1}: the signature of keisei/acme+" in broken(copy, made)[0]
        lines[place]["signatures"] = []
        (copy / NAMES[0]).write_text("".join(f"{json.dumps(each)}\n" for each in lines))
        assert f"signature of statement {place + 1}: not by keisei/acme+" in broken(copy, made)[0]


@pytest.mark.parametrize("name", ["attestation.intoto.jsonl", "proofs.jsonl"])
def test_a_missing_doubled_or_moved_line_is_found(made, tmp_path, name):
    copy = made.copy(tmp_path)
    lines = (copy / name).read_bytes().splitlines(keepends=True)
    changes = [[*lines, lines[0]], lines[::-1], []]
    changes += [lines[:place] + lines[place + 1 :] for place in range(len(lines) - (name == "proofs.jsonl"))]
    for each in changes:
        (copy / name).write_bytes(b"".join(each))
        assert broken(copy, made)


def test_rows_of_more_than_one_root_are_found(made, tmp_path):
    copy = made.copy(tmp_path)
    lines = (copy / "proofs.jsonl").read_text().splitlines()
    lines[0] = json.dumps(inclusion(made.store, made.signer.name, 1, made.store.size() - 1))
    (copy / "proofs.jsonl").write_text("\n".join(lines))

    assert broken(copy, made) == ["proofs: they are of more than one ledger, size or checkpoint"]


def test_a_row_that_introduces_another_key_is_found(repo, tmp_path):
    found = other(tmp_path, repo, stranger=OTHER)

    assert "introduces another key" in broken(found.folder, found)[0]


LIES = {
    "bundle": "bundle.json is this attempt's",
    "prompt": "prompt.md is the bundle's",
    "findings": "findings of row 4",
    "bundle_hash": "bundle_hash of agent_forked",
    "base": "base of agent_forked",
    "spec_sha256": "spec_sha256 of agent_forked",
}


@pytest.mark.parametrize("lie", LIES)
def test_rows_and_evidence_that_contradict_each_other_are_found(repo, tmp_path, lie):
    found = other(tmp_path, repo, lie=lie)

    assert [each.partition(":")[0] for each in broken(found.folder, found)] == [LIES[lie]]


def resigned(made, change):
    """The lines of statements that were changed by somebody who has the key."""
    told = [json.loads(base64.b64decode(json.loads(line)["payload"])) for line in made.lines]
    change(told)
    return b"".join(each + b"\n" for each in signed(told, made.signer))


CLAIMS = {
    "another commit": lambda told: told[0]["subject"][0]["digest"].update(gitCommit="0" * 40),
    "a subject more": lambda told: told[0]["subject"].append(told[0]["subject"][0]),
    "a subject less": lambda told: told[2]["subject"].pop(),
    "another result": lambda told: told[1]["predicate"].update(result="PASSED"),
    "a test more": lambda told: told[1]["predicate"]["passedTests"].append("x::y (merged)"),
    "another property": lambda told: told[0]["predicate"]["properties"].append("keisei:held:lint::clean"),
    "a member more": lambda told: told[0]["predicate"].update(note="fine"),
    "another time": lambda told: told[0]["predicate"].update(timeCreated="2026-01-01T00:00:00Z"),
    "a property of the worktree": lambda told: told[0]["predicate"]["properties"].append("keisei:held:engine::scope"),
    "no bypass": lambda told: told[2]["predicate"]["buildDefinition"]["internalParameters"].pop("bypasses"),
    "another model": lambda told: told[2]["predicate"]["buildDefinition"]["internalParameters"].update(model="m-2"),
    "a row less": lambda told: told[2]["predicate"]["runDetails"]["byproducts"].pop(),
    "another type": lambda told: told[1].update(_type="x"),
    "no provenance": lambda told: told.pop(),
    "no verdict": lambda told: told.pop(0),
    "two results": lambda told: told.append(told[1]),
    "an unknown statement": lambda told: told.append(told[1] | {"predicateType": "x"}),
    "a number": lambda told: told[1].update(predicate=1),
    "a list": lambda told: told[1].update(subject={}),
    "nobody's attempt": lambda told: told[2]["predicate"]["runDetails"]["metadata"].update(invocationId=[1]),
    "another attempt": lambda told: told[2]["predicate"]["runDetails"]["metadata"].update(
        invocationId="attempt-another"
    ),
}


@pytest.mark.parametrize("change", CLAIMS.values(), ids=CLAIMS.keys())
def test_a_claim_that_does_not_follow_is_found_whoever_signed_it(made, tmp_path, change):
    copy = made.copy(tmp_path)
    (copy / "attestation.intoto.jsonl").write_bytes(resigned(made, change))

    assert broken(copy, made)


def test_a_claim_is_named_with_what_was_said_and_what_follows(made, tmp_path):
    copy = made.copy(tmp_path)
    (copy / "attestation.intoto.jsonl").write_bytes(resigned(made, CLAIMS["another result"]))

    assert broken(copy, made) == ['test result: predicate.result: says "PASSED", rows and evidence give "WARNED"']


# The repository -----------------------------------------------------------------------------------------------------


def moved(repo, tmp_path, **facts):
    """The same repository, told otherwise."""
    found = object.__new__(Repo)
    found.__dict__.update(repo.__dict__ | facts)
    return other(tmp_path, found)


@pytest.mark.parametrize("fact", ["tree", "before", "candidate", "base"])
def test_what_the_repository_says_otherwise_is_found(repo, tmp_path, fact):
    tree = git(repo.path, "rev-parse", "HEAD~1^{tree}")
    wrong = {"tree": tree, "before": repo.base, "candidate": repo.before, "base": repo.after}[fact]
    found = moved(repo, tmp_path, **{fact: wrong})

    faults = {each.split(": ")[1] for each in broken(found.folder, found, repo)}

    assert (
        faults
        == {
            "tree": {"tree", "merge"},
            "before": {"parent", "merge"},
            "candidate": {"merge"},
            "base": {"merge"},
        }[fact]
    )


def test_a_commit_that_tells_of_another_attempt_is_found(repo, tmp_path):
    after = git(repo.path, "commit-tree", repo.tree, "-p", repo.before, "-m", f"Keisei-Attempt: {ATTEMPT}0")
    found = moved(repo, tmp_path, after=after)

    told = [each.partition(": the commit's message")[0] for each in broken(found.folder, found, repo)]

    names = {"Attempt": ATTEMPT, "Task": TASK, "Landing": LANDING}
    assert told == [f"repository: Keisei-{name}: {value}" for name, value in names.items()]


def test_a_commit_that_is_not_there_is_found(repo, tmp_path):
    found = moved(repo, tmp_path, after="f" * 40)

    assert broken(found.folder, found, repo) == [f"repository: commit: the repository has no commit {'f' * 40}"]


def test_an_object_that_is_not_what_its_name_says_is_found(made, repo, tmp_path):
    copy = shutil.copytree(repo.path, tmp_path / "repo")
    objects = copy / ".git" / "objects"
    forged = objects / repo.before[:2] / repo.before[2:]
    path = objects / repo.after[:2] / repo.after[2:]
    path.chmod(0o600)
    path.write_bytes(forged.read_bytes())

    code, faults = ask("attestation", made.folder, "--key", made.key, "--repository", copy)

    assert code == 2
    assert faults[0].startswith("repository: commit: ")


def test_nothing_that_a_repository_names_is_run(made, repo, tmp_path):
    """Hooks, filters, merge drivers, file system monitors, pagers and aliases of the repository are not asked."""
    copy = shutil.copytree(repo.path, tmp_path / "repo")
    trap, seen = tmp_path / "trap", tmp_path / "seen"
    trap.write_text(f'#!/bin/sh\necho "$0 $@" >> "{seen}"\ncat\n')
    trap.chmod(0o755)
    for key in (
        "core.fsmonitor", "core.pager", "core.sshCommand", "core.editor", "core.askPass", "core.alternateRefsCommand",
        "merge.trap.driver", "diff.external", "diff.trap.textconv", "filter.trap.process", "filter.trap.smudge",
        "alias.rev-parse", "alias.cat-file", "gpg.program", "pager.cat-file", "pager.for-each-ref",
    ):  # fmt: skip
        git(copy, "config", key, f"!{trap}" if key.startswith("alias") else str(trap))
    git(copy, "config", "core.hooksPath", str(tmp_path / "hooks"))
    (tmp_path / "hooks").mkdir()
    for name in ("post-checkout", "reference-transaction", "post-index-change"):
        (tmp_path / "hooks" / name).symlink_to(trap)
    (copy / ".git" / "info").mkdir(exist_ok=True)
    (copy / ".git" / "info" / "attributes").write_text("* merge=trap diff=trap filter=trap\n")

    code, faults = ask("attestation", made.folder, "--key", made.key, "--repository", copy)

    assert (code, faults) == (0, [])
    assert not seen.exists()


@pytest.mark.parametrize(
    "make",
    [lambda path: path.mkdir(), lambda path: path.write_text("x"), lambda _: None],
    ids=["a folder", "a file", "nothing"],
)
def test_what_is_no_repository_is_one_line(made, tmp_path, make):
    make(tmp_path / "repo")

    code, out, err = said("attestation", made.folder, "--key", made.key, "--repository", tmp_path / "repo")

    assert (code, out, err.count("\n")) == (1, "", 1)


# Anything at all ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["../x", "/etc/passwd", "a/../../x", "", ".", "a//b", "\0", "x" * 200, "é"])
def test_evidence_of_another_name_is_never_opened(made, name):
    with offline.Folder(str(made.folder)) as folder:
        assert not offline.is_evidence_name(name)
        if name != "x" * 200:
            with pytest.raises(ValueError, match=r"name|missing"):
                folder.open("evidence", *name.split("/"))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=4,
)
NAMES = ["attestation.intoto.jsonl", "proofs.jsonl", "key.txt"]


@pytest.fixture(scope="module")
def mutable(made, tmp_path_factory):
    return made.copy(tmp_path_factory.mktemp("mutable"))


@settings(max_examples=60, database=None)
@given(st.data())
def test_no_mutation_of_an_export_holds(made, mutable, data):
    """A changed byte, a cut, a doubled piece, a changed value anywhere: never do all claims hold."""
    names = sorted(str(path.relative_to(made.folder)) for path in made.folder.rglob("*") if path.is_file())
    name = data.draw(st.sampled_from(NAMES) | st.sampled_from(names))
    was = (made.folder / name).read_bytes()
    how = data.draw(st.sampled_from(["flip", "cut", "double", "insert"]))
    place = data.draw(st.integers(0, len(was) - 1))
    changed = {
        "flip": was[:place] + bytes([was[place] ^ 1 << data.draw(st.integers(0, 7))]) + was[place + 1 :],
        "cut": was[:place] + was[place + data.draw(st.integers(1, 20)) :],
        "double": was[:place] + was[place : place + 9] * 2 + was[place + 9 :],
        "insert": was[:place] + data.draw(st.binary(min_size=1, max_size=5)) + was[place:],
    }[how]
    if changed.split() == was.split():
        return

    (mutable / name).write_bytes(changed)
    try:
        code, faults = ask("attestation", mutable, "--key", made.key)
    finally:
        (mutable / name).write_bytes(was)

    assert code in (1, 2)
    assert faults


def places(value, path=()):
    yield path
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from places(value[key], (*path, key))


@settings(max_examples=60, database=None)
@given(st.data())
def test_a_signed_statement_of_any_shape_is_no_trouble(made, mutable, data):
    """Whoever has the key can sign anything; what does not follow from rows and evidence does not hold."""

    def change(told):
        path = data.draw(st.sampled_from([each for each in places(told) if each]))
        inner = told
        for key in path[:-1]:
            inner = inner[key]
        value = data.draw(JSON)
        same.append(type(value) is type(inner[path[-1]]) and value == inner[path[-1]])
        inner[path[-1]] = value

    same = []
    (mutable / NAMES[0]).write_bytes(resigned(made, change))
    code, faults = ask("attestation", mutable, "--key", made.key)
    (mutable / NAMES[0]).write_bytes((made.folder / NAMES[0]).read_bytes())

    assert same[0] or (code in (1, 2) and faults)
