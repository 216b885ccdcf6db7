"""`keisei evidence`: what is attested is shown, exported, verified and attached, and what does not hold is named."""

import json
import subprocess
import sys

import pytest

from keisei.rules.attestation import PROVENANCE, SVR, TEST_RESULT
from tests.wiring.attested import Bench


@pytest.fixture(scope="module")
def landed(tmp_path_factory):
    """An attempt that has landed, and a folder to which it was exported."""
    made = Bench(tmp_path_factory.mktemp("a project"))
    try:
        made.works()
        made.lands()
        yield made
    finally:
        made.yard.close()


@pytest.fixture
def at(landed, shell):
    """A shell in that project."""
    shell.setenv("KEISEI_HOME", landed.folder / "state")
    shell.setenv("XDG_RUNTIME_DIR", landed.folder / "run")
    shell.cd(landed.yard.root)
    return shell


def test_what_would_be_attested_is_shown(at, landed):
    done = at.run("evidence", "show", landed.attempt.attempt_id)
    data = json.loads(at.run("evidence", "show", landed.attempt.attempt_id, "--json").out)

    assert done.code == 0
    assert f"subject git:commit gitCommit:{landed.landing.after_commit}" in done.out
    assert "  result: PASSED\n" in done.out
    assert "keisei:held:quality::check-green" in done.out
    assert [each["predicateType"] for each in data] == [SVR, TEST_RESULT, PROVENANCE]


def test_an_export_is_verified_here_and_by_the_verifier_that_is_printed(at, landed, tmp_path):
    done = at.run("evidence", "export", landed.attempt.attempt_id, tmp_path / "an export")
    assert (done.code, done.err) == (0, "")
    key = (tmp_path / "an export/key.txt").read_text().strip()
    at.cd(tmp_path)

    assert at.run("evidence", "verifier", "--out", "check.py").code == 0
    assert at.run("evidence", "verifier").raw == (tmp_path / "check.py").read_bytes()

    def both(code, *words):
        """What both say, and how both end."""
        own = at.run("evidence", "verify", *words)
        argv = [sys.executable, "-I", "check.py", "attestation", *map(str, words)]
        alone = subprocess.run(argv, cwd=tmp_path, capture_output=True, check=False)
        assert (own.code, own.raw) == (alone.returncode, alone.stdout) == (code, alone.stdout)
        return own

    words = ("an export", "--key", key, "--repository", landed.yard.root)
    assert "everything that matters holds" in both(0, *words).out
    assert "NOT WHOLLY CHECKED" in both(3, "an export").out
    both(3, "an export", "--key", key)

    proofs = tmp_path / "an export/proofs.jsonl"
    kept = proofs.read_text()
    for old, new in ((kept.split("\n", 1)[0], ""), ('"origin":"', '"origin":"x'), ('"format":"', '"format":"x')):
        proofs.write_text(kept.replace(old, new))
        both(2 if new else 1, *words)
    proofs.write_text(kept)
    (tmp_path / "an export/evidence/stdout.log").write_text("nothing\n")
    assert "does not hold  evidence/stdout.log: its SHA-256 is" in both(2, *words).out
    told = json.loads(both(2, *words, "--json").out)
    assert (told["verdict"], told["attempt"]) == ("broken", landed.attempt.attempt_id)


def test_an_attempt_is_verified_where_it_happened(at, landed):
    done = at.run("evidence", "verify", landed.attempt.attempt_id)

    assert (done.code, done.err) == (0, "")
    assert done.out == f"attempt {landed.attempt.attempt_id}: every claim of 3 statements holds\n"
    assert "they are there already" in at.run("evidence", "attach", landed.attempt.attempt_id).out

    path = landed.evidence("diff.patch")
    kept = path.read_bytes()
    path.write_bytes(kept + b"x")
    try:
        done = at.run("evidence", "verify", landed.attempt.attempt_id)
        refused = at.run("evidence", "attach", landed.attempt.attempt_id)
    finally:
        path.write_bytes(kept)
    assert (done.code, done.out) == (
        2,
        "does not hold: the evidence `diff.patch` was changed: the ledger has another digest\n",
    )
    assert refused.code == 2
    assert "nothing is signed that cannot be said again" in refused.err


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (("show", "nobody"), 1, "nobody"),
        (("verify", "nobody"), 1, "nobody"),
        (("verify", "nobody", "--key", "x"), 1, "--key and --repository are for an exported folder"),
        (("export", "nobody", "x"), 1, "nobody"),
    ],
)
def test_what_cannot_be_done_is_told_with_a_next_step(at, words, code, told):
    done = at.run("evidence", *words)

    assert done.code == code
    assert told in done.err
    assert "hint" in done.err.lower()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--key", "x"), "--key: a verifier key is NAME+ID+KEY; `keisei ledger key` prints it"),
        ((), "attestation.intoto.jsonl: it is missing; a folder that was exported has it"),
    ],
)
def test_a_folder_that_cannot_be_read_is_told_in_the_words_of_the_verifier(at, words, told):
    done = at.run("evidence", "verify", ".", *words)

    assert (done.code, done.out, done.err) == (1, "", f"offline.py: {told}\n")


def test_an_export_never_writes_over_something(at, landed, tmp_path):
    (tmp_path / "full").mkdir()
    (tmp_path / "full/mine").write_text("mine")

    done = at.run("evidence", "export", landed.attempt.attempt_id, tmp_path / "full")

    assert done.code == 2
    assert "already" in done.err
    assert [each.name for each in (tmp_path / "full").iterdir()] == ["mine"]
