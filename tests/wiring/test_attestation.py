"""Attestations of real attempts: signed, noted on the commit, exported, and found out where anything was changed."""

import base64
import io
import json
import shutil
from contextlib import redirect_stderr, redirect_stdout
from datetime import UTC, datetime
from types import SimpleNamespace

import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from securesystemslib.dsse import Envelope
from securesystemslib.signer import SSlibKey

from keisei.engine.settle import _artifacts
from keisei.evidence import offline as alone
from keisei.records.artifact import ArtifactRecord
from keisei.records.error import Refused, WorldFault
from keisei.rules.attestation import PROVENANCE, SVR, TEST_RESULT
from keisei.rules.attestation_fact import Facts
from keisei.rules.attestation_row import row_of
from keisei.rules.canonical import canonical
from keisei.rules.dsse import IN_TOTO, enveloped, keyid, pae
from keisei.rules.ledger import leaf_hash
from keisei.rules.note import parse_vkey
from keisei.wiring import attestation_note
from keisei.wiring.attestation import gather, said, signed
from keisei.wiring.attestation_export import export
from keisei.wiring.attestation_exported import verify_export
from keisei.wiring.attestation_git import look
from keisei.wiring.attestation_note import add_lines, attach, note_lines
from keisei.wiring.landing_revert import revert
from keisei.wiring.signing import Signer
from keisei.workspace.fingerprint import _refs
from keisei.workspace.ref import NOTES
from tests.wiring.attested import Bench


@pytest.fixture(scope="module")
def landed(tmp_path_factory):
    """One attempt that has landed; nobody changes it for good."""
    made = Bench(tmp_path_factory.mktemp("a landed one"))
    try:
        made.works()
        made.lands()
        yield made
    finally:
        made.yard.close()


@pytest.fixture(scope="module")
def exported(landed):
    """What is exported of it."""
    return export(landed.archive, landed.gathered(), landed.folder / "an export").folder


@pytest.fixture
def copied(exported, tmp_path):
    """A copy that a test may spoil."""
    shutil.copytree(exported, tmp_path / "export")
    return tmp_path / "export"


def told_by(folder):
    """The statements of an export, unsigned."""
    lines = (folder / "attestation.intoto.jsonl").read_bytes().splitlines()
    return [json.loads(base64.b64decode(json.loads(each)["payload"])) for each in lines]


def write(folder, told, key):
    (folder / "attestation.intoto.jsonl").write_bytes(b"".join(each + b"\n" for each in signed(told, key)))


def offline(folder, bench):
    """The exit status of the verifier that shares no code with this program."""
    words = ["attestation", str(folder), "--key", bench.key.vkey, "--repository", str(bench.yard.root)]
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        return alone.main(words)


def faults_of(folder, bench, key=None):
    """What does not hold of an export; the other verifier must see it too."""
    found = verify_export(folder, [parse_vkey(key or bench.key.vkey)], bench.common_dir).faults
    assert offline(folder, bench) == (2 if found else 0)
    return "\n".join(found)


# --- what has landed --------------------------------------------------------------------------------------------------


def test_a_landed_commit_carries_its_attestations_and_securesystemslib_verifies_them(landed):
    lines = landed.yard.git("notes", "--ref=keisei", "show", landed.landing.after_commit).splitlines()
    named = keyid(landed.key.name, parse_vkey(landed.key.vkey).key_id)
    key = SSlibKey(named, "ed25519", "ed25519", {"public": landed.key.public.hex()})

    told = []
    for line in lines:
        envelope = Envelope.from_dict(json.loads(line))
        envelope.verify([key], 1)
        told.append(json.loads(envelope.payload))

    assert [each["predicateType"] for each in told] == [SVR, TEST_RESULT, PROVENANCE]
    subject = {each["name"]: each["digest"] for each in told[0]["subject"]}
    commit = landed.yard.git("rev-parse", "main")
    assert subject["git:commit"] == {"gitCommit": commit}
    assert subject["git:tree"] == {"gitTree": landed.yard.git("rev-parse", "main^{tree}")}
    assert subject["told.txt"]["sha256"]
    assert "keisei:held:quality::check-green" in told[0]["predicate"]["properties"]
    assert told[1]["predicate"]["result"] == "PASSED"


def test_every_claim_holds_here_and_in_the_export_for_both_verifiers(landed, exported):
    here = landed.verified()

    assert (here.faults, here.told) == ((), ())
    assert len(here.statements) == 3
    assert faults_of(exported, landed) == ""
    assert {path.name for path in exported.iterdir()} == {
        "attestation.intoto.jsonl",
        "artifacts",
        "evidence",
        "key.txt",
        "proofs.jsonl",
    }
    proofs = [json.loads(line) for line in (exported / "proofs.jsonl").read_text().splitlines()]
    assert len({(each["size"], each["checkpoint"]) for each in proofs}) == 1
    assert all(each["checkpoint"] for each in proofs)


def test_attached_again_nothing_is_added(landed):
    before = landed.yard.git("rev-parse", NOTES)

    assert attach(landed.archive, landed.gathered()) == (landed.landing.after_commit, 0)
    assert landed.yard.git("rev-parse", NOTES) == before


def test_whose_key_it_is_is_not_known_from_the_export(exported):
    found = verify_export(exported, [], None)

    assert found.faults == ()
    assert [each.split(":")[0] for each in found.told] == ["not checked", "not checked"]


# --- what was changed -------------------------------------------------------------------------------------------------


def test_another_key_is_found(landed, copied):
    private = Ed25519PrivateKey.generate()
    write(copied, told_by(copied), Signer(landed.key.name, private))

    assert "verification: it is not signed by keisei/yard" in faults_of(copied, landed)


def test_a_key_that_is_not_the_named_one_is_found(exported):
    other = Signer("keisei/yard", Ed25519PrivateKey.generate())

    found = verify_export(exported, [parse_vkey(other.vkey)], None).faults

    assert "verification: it is not signed by keisei/yard" in found
    assert any("the checkpoint over row 1 is not signed by the key" in each for each in found)


def test_a_changed_payload_is_found(landed, copied):
    path = copied / "attestation.intoto.jsonl"
    lines = path.read_bytes().splitlines()
    data = json.loads(lines[1])
    told = json.loads(base64.b64decode(data["payload"]))
    told["predicate"]["result"] = "WARNED"
    data["payload"] = base64.b64encode(canonical(told)).decode()
    path.write_bytes(b"\n".join([lines[0], json.dumps(data).encode(), lines[2], b""]))

    found = faults_of(copied, landed)

    assert "test result: it is not signed" in found
    assert "test result: predicate.result: it says WARNED, the ledger and the evidence give PASSED" in found


def test_a_swapped_subject_is_found_even_where_the_right_key_has_signed_it(landed, copied):
    told = told_by(copied)
    for each in told:
        each["subject"][0]["digest"]["gitCommit"] = landed.yard.git("rev-parse", "main~1")
    write(copied, told, landed.key)

    assert "verification: subject[0].digest.gitCommit: it says" in faults_of(copied, landed)


def test_a_payload_that_reads_in_two_ways_is_found(landed, copied):
    told = told_by(copied)
    raw = canonical(told[0]).replace(b'{"_type"', b'{"predicateType":"x","_type"', 1)
    named = keyid(landed.key.name, parse_vkey(landed.key.vkey).key_id)
    line = enveloped(raw, IN_TOTO, named, landed.key.sign(pae(IN_TOTO, raw)))
    rest = signed(told[1:], landed.key)
    (copied / "attestation.intoto.jsonl").write_bytes(b"".join(each + b"\n" for each in (line, *rest)))

    assert "line 1: the payload is not canonical JSON" in faults_of(copied, landed)


@pytest.mark.parametrize("name", ["evidence/stdout.log", "evidence/findings.json", "artifacts/told.txt"])
@pytest.mark.parametrize("deed", ["changed", "missing", "link"])
def test_a_file_that_was_changed_or_is_missing_is_found(landed, copied, name, deed):
    path = copied / name
    if deed == "changed":
        path.write_bytes(path.read_bytes() + b" ")
    else:
        path.rename(copied / "aside")
        if deed == "link":
            path.symlink_to(copied / "aside")

    assert f"`{name.partition('/')[2]}`" in faults_of(copied, landed)


@pytest.mark.parametrize(
    ("deed", "told"),
    [
        ("content", "was changed: it does not have its leaf hash"),
        ("forged", "is not in the tree that the proof leads to"),
        ("place", "is not in the tree that the proof leads to"),
        ("root", "leads to another tree than its checkpoint"),
        ("checkpoint", "the signature of `keisei/yard` does not hold"),
        ("missing", "nothing"),
    ],
)
def test_a_row_that_was_changed_or_is_missing_is_found(landed, copied, deed, told):
    path = copied / "proofs.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    settled = next(each for each in lines if '"attempt_settled"' in each["content"])
    if deed in ("content", "forged"):
        settled["content"] = settled["content"].replace('"exit_status":"ok"', '"exit_status":"no"')
        if deed == "forged":
            settled["leaf_hash"] = leaf_hash(settled["content"].encode()).hex()
    elif deed == "missing":
        lines = [each for each in lines if '"landing_held"' not in each["content"]]
    elif deed == "place":
        settled["seq"], settled["index"] = settled["seq"] + 1, settled["index"] + 1
    elif deed == "root":
        settled |= {"path": [], "size": 1, "root": settled["leaf_hash"], "seq": 1, "index": 0}
    else:
        settled["checkpoint"] = settled["checkpoint"].replace("\n\n", "\nmore\n\n", 1)
    path.write_text("".join(json.dumps(each) + "\n" for each in lines))

    assert told in faults_of(copied, landed)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("tree", ", the commit has "),
        ("before", "before: it says"),
        ("after", "git:commit: its message has no line `Keisei-Attempt: "),
        ("nowhere", "git:commit: the repository has no commit"),
        ("words", "git:commit: "),
    ],
)
def test_what_the_repository_does_not_bear_out_is_found(landed, name, told):
    source = landed.gathered().source
    other = {"nowhere": "0" * 40, "words": "--help"}.get(name) or landed.yard.git("rev-parse", "main~2")
    field = name if name in ("tree", "before") else "after"

    def lied(row):
        data = json.loads(row.content)
        data["body"][field] = other if field != "tree" else landed.yard.git("rev-parse", "main~2^{tree}")
        return row_of(row.seq, canonical(data))

    rows = tuple(lied(each) if each.kind == "landing_made" else each for each in source.rows)
    found = look(landed.common_dir, Facts(msgspec.structs.replace(source, rows=rows)))

    assert any(told in each for each in found.faults), found
    assert look(landed.common_dir, Facts(source)).faults == ()


@pytest.mark.parametrize("text", [b"", b"no json\n", b"[]\n", b"\xff\n", b'{"seq":1}\n', b"[" * 100_000])
def test_files_that_are_something_else_are_told_and_nothing_breaks(landed, copied, text):
    for name in ("proofs.jsonl", "attestation.intoto.jsonl"):
        kept = (copied / name).read_bytes()
        (copied / name).write_bytes(text)
        assert verify_export(copied, [parse_vkey(landed.key.vkey)], landed.common_dir).faults
        (copied / name).write_bytes(kept)


# --- the note ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def noted(landed):
    """The note may be changed; afterwards it is as it was."""
    tip = landed.yard.git("rev-parse", NOTES)
    yield landed.landing.after_commit
    landed.yard.git("update-ref", NOTES, tip)


def test_what_somebody_else_has_noted_stays_and_is_told(landed, noted):
    mine = note_lines(landed.common_dir, noted)
    landed.yard.git("notes", "--ref=keisei", "add", "-f", "-m", "Looks good to me\n\n\nReally.", noted)

    assert attach(landed.archive, landed.gathered()) == (noted, 3)

    lines = note_lines(landed.common_dir, noted)
    assert lines == [b"Looks good to me", b"", b"Really.", *mine]
    found = landed.verified()
    assert found.faults == ()
    assert found.told == (f"the note on {noted[:12]} has 2 lines that this machine's key has not signed",)


def test_a_note_that_claims_our_key_and_is_not_ours_is_found(landed, noted):
    other = Signer(landed.key.name, Ed25519PrivateKey.generate())
    lines = note_lines(landed.common_dir, noted)
    data = json.loads(lines[1])
    told = json.loads(base64.b64decode(data["payload"]))
    forged = json.loads(signed([told], other)[0])
    forged["signatures"][0]["keyid"] = data["signatures"][0]["keyid"]
    lines[1] = json.dumps(forged).encode()
    landed.yard.git("notes", "--ref=keisei", "remove", noted)
    add_lines(landed.common_dir, noted, lines)

    assert f"{NOTES}: test result: it is not signed by keisei/yard" in landed.verified().faults


def test_a_note_that_says_something_else_is_found_even_where_our_key_signed_it(landed, noted):
    told = said(landed.gathered())
    told[1]["predicate"]["passedTests"].append("quality::invented (merged)")
    landed.yard.git("notes", "--ref=keisei", "remove", noted)
    add_lines(landed.common_dir, noted, signed(told, landed.key))

    (fault,) = landed.verified().faults

    assert fault.startswith(f"{NOTES}: test result: predicate.passedTests[")
    assert "quality::invented (merged)" in fault


def test_a_note_that_is_gone_is_told_and_attached_again(landed, noted):
    landed.yard.git("notes", "--ref=keisei", "remove", noted)

    assert landed.verified().told[0].startswith("there is no note of ours")
    assert attach(landed.archive, landed.gathered())[1] == 3
    assert landed.verified().told == ()


def test_two_who_note_at_once_lose_nothing(landed, noted, monkeypatch):
    made, real = [], attestation_note._made

    def beaten(common_dir, tip, commit, text):
        found = real(common_dir, tip, commit, text)
        if not made:
            made.append(found)
            landed.yard.git("notes", "--ref=keisei", "append", "-m", "meanwhile", commit)
        return found

    monkeypatch.setattr(attestation_note, "_made", beaten)
    assert add_lines(landed.common_dir, noted, [b"one more"]) == 1

    lines = note_lines(landed.common_dir, noted)
    assert lines[-1] == b"one more"
    assert b"meanwhile" in lines
    assert landed.yard.git("for-each-ref", "--format=%(refname)", "refs/notes") == NOTES


def test_notes_that_are_only_a_name_of_a_branch_are_left_alone(landed, noted):
    main = landed.yard.git("rev-parse", "main")
    landed.yard.git("symbolic-ref", NOTES, "refs/heads/main")
    try:
        with pytest.raises(WorldFault, match="only another name"):
            add_lines(landed.common_dir, noted, [b"line"])
    finally:
        landed.yard.git("symbolic-ref", "--delete", NOTES)
    assert landed.yard.git("rev-parse", "main") == main


def test_a_note_is_no_tampering_of_an_agent_that_works_meanwhile(landed, noted):
    before = _refs(landed.common_dir)

    add_lines(landed.common_dir, noted, [b"line"])

    assert _refs(landed.common_dir) == before
    assert NOTES not in before


# --- other ends -------------------------------------------------------------------------------------------------------


@pytest.fixture
def bench(tmp_path):
    made = Bench(tmp_path)
    yield made
    made.yard.close()


def test_a_landing_that_cannot_be_noted_has_landed_and_says_so(bench, monkeypatch):
    bench.works()

    def fails(*_words):
        raise WorldFault("the disk is full", retryable=True)

    monkeypatch.setattr(attestation_note, "add_lines", fails)
    landing = bench.lands()

    told = bench.yard.lines[-1]
    assert (told.event, landing.status) == ("trouble", "landed")
    assert told.detail.startswith("the landed commit has no note: the disk is full; `keisei evidence attach ")
    monkeypatch.undo()
    assert bench.verified().faults == ()
    assert attach(bench.archive, bench.gathered())[1] == 3


def test_what_is_held_is_attested_without_a_note_and_what_is_reverted_after_it_landed_still_holds(bench, tmp_path):
    attempt = bench.works()
    told = {each["predicateType"]: each for each in said(bench.gathered())}
    subject = {each["name"]: each["digest"] for each in told[SVR]["subject"]}

    assert subject["git:commit"] == {
        "gitCommit": bench.yard.git("rev-parse", f"refs/keisei/candidate/{attempt.attempt_id}")
    }
    assert "git:tree" in subject
    with pytest.raises(Refused, match="has not landed"):
        attach(bench.archive, bench.gathered())
    assert bench.verified().faults == ()
    assert faults_of(export(bench.archive, bench.gathered(), tmp_path / "held").folder, bench) == ""

    bench.lands()
    revert(bench.yard.shop, bench.landing.landing_id, "not wanted", "me")
    found = bench.verified()
    assert found.faults == ()
    assert found.told == (f"the note is older than the ledger: `keisei evidence attach {attempt.attempt_id}`",)
    assert attach(bench.archive, bench.gathered())[1] >= 1
    assert bench.verified() == found._replace(told=())


def test_a_rejected_attempt_says_failed_and_has_no_verdict(tmp_path):
    bench = Bench(tmp_path, check="false")
    try:
        bench.works()
        told = {each["predicateType"]: each["predicate"] for each in said(bench.gathered())}

        assert told.keys() == {TEST_RESULT, PROVENANCE}
        assert told[TEST_RESULT]["result"] == "FAILED"
        assert told[TEST_RESULT]["failedTests"] == ["quality::check-green (merged): violated"]
        assert faults_of(export(bench.archive, bench.gathered(), tmp_path / "out").folder, bench) == ""
    finally:
        bench.yard.close()


def test_evidence_that_is_not_what_the_ledger_says_is_named_and_nothing_is_signed(bench, tmp_path):
    bench.works()
    path = bench.evidence("stdout.log")
    path.chmod(0o600)
    path.write_bytes(b"something else\n")
    bench.evidence("last-message.txt").unlink()

    found = bench.verified().faults

    assert "the evidence `stdout.log` was changed: the ledger has another digest" in found
    assert "the evidence `last-message.txt` is missing" in found
    with pytest.raises(Refused, match=r"`last-message.txt` is missing; .*`stdout.log` was changed"):
        export(bench.archive, bench.gathered(), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_an_artifact_that_is_gone_is_told_and_left_out(bench, tmp_path):
    attempt = bench.works()
    (bench.archive.home.artifacts / attempt.task_id / "told.txt").unlink()

    done = export(bench.archive, bench.gathered(), tmp_path / "out")

    assert done.told == ("the artifact `told.txt` is missing",)
    assert [each["name"] for each in told_by(done.folder)[0]["subject"]] == ["git:commit", "git:tree"]
    assert bench.verified().faults == ("the artifact `told.txt` is missing",)
    assert faults_of(done.folder, bench) == ""


def test_an_export_writes_over_nothing(landed, tmp_path):
    (tmp_path / "full").mkdir()
    (tmp_path / "full/file").write_text("mine")
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "empty").mkdir()

    for name in ("full", "full/file", "link"):
        with pytest.raises(Refused, match="already"):
            export(landed.archive, landed.gathered(), tmp_path / name)
    assert export(landed.archive, landed.gathered(), tmp_path / "empty").files
    assert sorted(each.name for each in tmp_path.iterdir()) == ["empty", "full", "link"]


def test_an_attempt_that_runs_has_nothing_to_attest(landed):
    attempt = msgspec.structs.replace(landed.attempt, attempt_id="01a1e50e-0000-7000-8000-000000000000")

    with pytest.raises(Refused, match="is not settled"):
        said(gather(landed.archive, attempt))


def test_an_agent_that_leaves_ever_so_many_artifacts_cannot_fill_the_row():
    now = datetime(2026, 1, 1, tzinfo=UTC)

    def left(path, sha256="1" * 64):
        return ArtifactRecord(
            artifact_id=path[:100], task_id="t", role="output", relative_path=path, created_at=now, sha256=sha256
        )

    many = tuple(left(f"{number:04}{'x' * 1500}") for number in range(1000))
    named = _artifacts(SimpleNamespace(artifacts=(left("first"), left("unseen", None), *many)))

    assert next(iter(named)) == "first"
    assert "unseen" not in named
    assert 1 < len(named) < 40
