"""Attestations of real attempts: signed, noted on the commit, exported, and found out where anything was changed."""

import base64
import io
import json
from contextlib import redirect_stderr, redirect_stdout
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import apsw
import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from securesystemslib.dsse import Envelope
from securesystemslib.signer import SSlibKey

from keisei.engine.settle import _artifacts
from keisei.evidence import offline as alone
from keisei.records.artifact import ArtifactRecord
from keisei.records.error import Refused, WorldFault
from keisei.records.move import NewEntry
from keisei.rules.attestation import PROVENANCE, SVR, TEST_RESULT
from keisei.rules.attestation_fact import Facts
from keisei.rules.attestation_row import row_of
from keisei.rules.canonical import canonical
from keisei.rules.dsse import keyid
from keisei.rules.note import parse_vkey
from keisei.wiring import attestation_note
from keisei.wiring.attestation import attested, gather, said, signed
from keisei.wiring.attestation_export import export
from keisei.wiring.attestation_git import look
from keisei.wiring.attestation_note import add_lines, attach, attach_landed, note_lines
from keisei.wiring.attestation_verify import verify_here
from keisei.wiring.landing_revert import revert
from keisei.wiring.signing import Signer
from keisei.workspace.fingerprint import _refs
from keisei.workspace.ref import NOTES
from tests.wiring.attested import Bench
from tests.wiring.ledgers import unlock


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


def told_by(folder):
    """The statements of an export, unsigned."""
    lines = (folder / "attestation.intoto.jsonl").read_bytes().splitlines()
    return [json.loads(base64.b64decode(json.loads(each)["payload"])) for each in lines]


def holds(folder, bench):
    """Whether the verifier that shares no code with this program finds nothing wrong."""
    words = ["attestation", str(folder), "--key", bench.key.vkey, "--repository", str(bench.yard.root)]
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        return alone.main(words) == 0


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


def test_every_claim_holds_here_and_in_the_export(landed, exported):
    here = landed.verified()

    assert (here.faults, here.told) == ((), ())
    assert len(here.statements) == 3
    assert holds(exported, landed)
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


def test_without_a_repository_what_git_says_is_not_checked_and_that_is_told(landed, tmp_path):
    home = landed.archive.home._replace(root=tmp_path)

    found = verify_here(landed.archive._replace(home=home), landed.gathered())

    assert (found.faults, found.told) == ((), ("not checked: what git says; there is no repository here",))


def test_attached_again_nothing_is_added(landed):
    before = landed.yard.git("rev-parse", NOTES)

    assert attach(landed.archive, landed.gathered()) == (landed.landing.after_commit, 0)
    assert landed.yard.git("rev-parse", NOTES) == before


# --- what was changed -------------------------------------------------------------------------------------------------


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


@pytest.mark.usefixtures("noted")
def test_notes_that_are_no_notes_are_told_and_nothing_is_written_over_them(landed):
    blob = landed.yard.git("hash-object", "-w", "--stdin")
    landed.yard.git("update-ref", NOTES, blob)
    with pytest.raises(WorldFault, match="Failed to read notes tree"):
        attach(landed.archive, landed.gathered())
    assert any(each.startswith(f"{NOTES}: git notes failed") for each in landed.verified().faults)
    assert landed.yard.git("rev-parse", NOTES) == blob


def test_a_reference_that_cannot_be_moved_is_told_with_what_git_says(landed, noted):
    lock = Path(landed.common_dir, f"{NOTES}.lock")
    lock.touch()
    try:
        with pytest.raises(WorldFault, match=r"cannot be moved: .*cannot lock ref"):
            add_lines(landed.common_dir, noted, [b"line"])
    finally:
        lock.unlink()


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
    assert holds(export(bench.archive, bench.gathered(), tmp_path / "held").folder, bench)

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
        assert holds(export(bench.archive, bench.gathered(), tmp_path / "out").folder, bench)
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


def signs(bench, folder):
    """Every way to have something signed, each with what came of it."""
    ways = {
        "export": lambda: export(bench.archive, bench.gathered(), folder / "out"),
        "print": lambda: attested(bench.archive, bench.gathered()),
        "attach": lambda: attach(bench.archive, bench.gathered()),
    }
    for name, way in ways.items():
        try:
            way()
        except Refused as error:
            yield name, error.message
        else:
            yield name, "signed"
    yield "landing", attach_landed(bench.archive, bench.attempt.attempt_id) or "signed"


def test_no_way_signs_what_was_changed_in_the_ledger_or_contradicts_the_evidence(bench, tmp_path):
    attempt = bench.works()
    bench.lands()
    settled = next(each for each in bench.gathered().rows if each.kind == "attempt_settled")
    noted = bench.yard.git("rev-parse", NOTES)
    connection = apsw.Connection(str(bench.archive.home.folder / "state.db"))
    unlock(connection)
    changed = settled.content.replace(b'"exit_status":"ok"', b'"exit_status":"no"')
    assert changed != settled.content

    connection.execute("UPDATE ledger SET content = ? WHERE entry_id = ?", (changed, settled.seq))
    told = f"attempt {attempt.attempt_id} cannot be attested: ledger/{settled.seq}: the row's content was changed"
    assert dict(signs(bench, tmp_path)) == dict.fromkeys(("export", "print", "attach", "landing"), told)
    assert f"ledger/{settled.seq}: the row's content was changed" in bench.verified().faults

    connection.execute("UPDATE ledger SET content = ? WHERE entry_id = ?", (settled.content, settled.seq))
    connection.close()
    lie = NewEntry(kind="attempt_settled", actor="x", subject=settled.subject, body=settled.body | {"findings": []})
    seq = bench.yard.store.append(lie).seq
    told = f"attempt {attempt.attempt_id} cannot be attested: row {seq} has other findings than `findings.json`"
    assert dict(signs(bench, tmp_path)) == dict.fromkeys(("export", "print", "attach", "landing"), told)
    assert not (tmp_path / "out").exists()
    assert bench.yard.git("rev-parse", NOTES) == noted


def test_an_artifact_that_is_gone_is_told_and_left_out(bench, tmp_path):
    attempt = bench.works()
    (bench.archive.home.artifacts / attempt.task_id / "told.txt").unlink()

    done = export(bench.archive, bench.gathered(), tmp_path / "out")

    assert done.told == ("the artifact `told.txt` is missing",)
    assert [each["name"] for each in told_by(done.folder)[0]["subject"]] == ["git:commit", "git:tree"]
    assert bench.verified().faults == ("the artifact `told.txt` is missing",)
    assert holds(done.folder, bench)


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
