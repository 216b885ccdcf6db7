"""Verification: only what is really there, new and as claimed lets a task complete; doubt never does."""

import hashlib
import os
import socket
from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace

from keisei.contracts.check import build, data_of
from keisei.engine.verify import Case, verify
from keisei.records.error import WorldFault
from keisei.records.intent import EvidenceRequirements
from keisei.records.outcome import TaskOutcome
from keisei.records.task import TaskRecord
from keisei.records.task_type import SuccessPolicy, TaskTypeSpec
from keisei.rules.artifact import claimed_change
from keisei.rules.claim import Claim
from keisei.rules.outcome import judge
from keisei.workspace.file import look
from keisei.workspace.snapshot import take

NOW = datetime(2026, 11, 15, 12, 0, tzinfo=UTC)
TASK = TaskRecord(
    task_id="t1",
    task_type="docs.write",
    source="test",
    subject=None,
    description=None,
    priority=0,
    payload={},
    requested_profile_id="p",
    requested_adapter_id=None,
    requested_model=None,
    status="running",
    max_attempts=3,
    attempt_count=1,
    available_at=NOW,
    created_at=NOW,
    updated_at=NOW,
    started_at=NOW,
    finished_at=None,
    outcome=None,
    last_error=None,
)


class Scene:
    """One attempt on real folders: what was there, what the agent did, what it says."""

    def __init__(self, root):
        self.artifacts = root / "state/artifacts/t1"
        self.work = root / "the tree"
        self.artifacts.mkdir(parents=True)
        self.work.mkdir()
        (self.work / "kept.py").write_text("kept")
        (self.work / "old.py").write_text("old")
        self.ids = 0
        self.clock = NOW
        self.hidden = frozenset()
        self.begin()

    def begin(self):
        """The moment before the harness is started."""
        self.before = take(self.artifacts), take(self.work)

    def look(self, relative):
        return look(self.artifacts, relative)

    def ignored(self, paths):
        return frozenset(paths) & self.hidden

    def new_id(self):
        self.ids += 1
        return f"id-{self.ids}"

    def now(self):
        self.clock += timedelta(milliseconds=5)
        return self.clock

    def write(self, path, content="new"):
        target = self.artifacts / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(content)
        return target

    def case(self, *, artifacts=(), changes=(), needs=None, kind=None, payload=None, signal=None, **more):
        outcome = TaskOutcome(
            status="completed",
            machine_status="ok",
            operator_summary="done",
            artifact_paths=artifacts,
            workflow_signal=signal,
        )
        claimed = tuple(map(claimed_change, changes))
        before = {"artifacts_before": self.before[0], "work_before": self.before[1]}
        after = {"artifacts_after": take(self.artifacts), "work_after": take(self.work)}
        return Case(
            **{
                "task": replace(TASK, evidence_requirements=needs, payload=payload or {}),
                "attempt_id": "a1",
                "task_type": kind,
                "claim": Claim(kind="claims", outcome=outcome, exit_status="ok", changes=claimed),
                "artifact_folders": (str(self.artifacts),),
                "working_folders": (str(self.work),),
                **before,
                **after,
                **more,
            }
        )

    def verify(self, **claims):
        self.findings, self.records = verify(self.case(**claims), self)
        for each in (*self.findings, *self.records):
            name = "finding.record" if each in self.findings else "artifact.record"
            assert build(name, data_of(each)) == each
        return {each.capability.removeprefix("engine::"): each.status for each in self.findings}

    def told(self):
        return "\n".join(f"{each.reason}\n{each.detail}" for each in self.findings)


@pytest.fixture
def scene(tmp_path):
    return Scene(tmp_path)


def required(*paths):
    return EvidenceRequirements(required_artifacts=paths)


def kind(*roles, **policy):
    return TaskTypeSpec(
        task_type="docs.write", payload_schema_id="x", artifact_roles=roles, success_policy=SuccessPolicy(**policy)
    )


# What is verified at all --------------------------------------------------------------------------------------------


def test_nothing_asked_and_nothing_claimed_gives_no_finding(scene):
    scene.write("scratch.txt")
    (scene.work / "scratch.txt").write_text("x")

    assert scene.verify() == {}
    assert scene.records == []


@pytest.mark.parametrize("status", ["blocked", "retryable_failure", "permanent_failure"])
def test_only_a_claim_to_be_completed_is_verified(scene, status):
    case = scene.case(needs=required("reports/x.md"))
    outcome = replace(case.claim.outcome, status=status, machine_status="failed")

    assert verify(replace(case, claim=replace(case.claim, outcome=outcome)), scene) == ([], [])


# Artifacts ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "named", ["reports/x.md", "state/artifacts/reports/x.md", "deploy/lumen/state/artifacts/reports/x.md", "ABSOLUTE"]
)
@pytest.mark.parametrize("by", ["declared", "claimed", "both"])
def test_an_artifact_that_was_written_holds_under_all_its_names(scene, named, by):
    scene.write("reports/x.md", "# x")
    named = named.replace("ABSOLUTE", f"{scene.artifacts}/reports/x.md")

    found = scene.verify(
        needs=required(named) if by != "claimed" else None, artifacts=(named,) if by != "declared" else ()
    )

    assert found == {"artifacts": "held"}
    record = scene.records[0]
    assert len(scene.records) == 1
    assert (record.relative_path, record.role, record.content_type) == ("reports/x.md", "output", "text/markdown")
    assert (record.sha256, record.size) == (hashlib.sha256(b"# x").hexdigest(), 3)
    assert record.verified_at > NOW
    assert record.sha256 in scene.findings[0].detail


def old(scene):
    scene.write("x.md", "stale")
    scene.begin()


def old_and_read(scene):
    old(scene)
    (scene.artifacts / "x.md").read_text()


def elsewhere(scene):
    (scene.work / "x.md").write_text("in the working folder")


def linked(scene):
    (scene.work / "x.md").write_text("x")
    (scene.artifacts / "x.md").symlink_to(scene.work / "x.md")


def linked_inside(scene):
    scene.write("real.md")
    (scene.artifacts / "x.md").symlink_to("real.md")


def hard_linked(scene):
    os.link(scene.work / "kept.py", scene.artifacts / "x.md")


def piped(scene):
    os.mkfifo(scene.artifacts / "x.md")


def huge(scene):
    with scene.write("x.md").open("wb") as file:
        file.truncate(1 << 42)


def foldered(scene):
    (scene.artifacts / "x.md").mkdir()


def removed(scene):
    old(scene)
    (scene.artifacts / "x.md").unlink()


def swapped_folder(scene):
    scene.artifacts.rmdir()
    (scene.work / "x.md").write_text("x")
    scene.artifacts.symlink_to(scene.work)


@pytest.mark.parametrize(
    ("deed", "words"),
    [
        (lambda _: None, "x.md is missing"),
        (old, "x.md was there before the attempt and has not changed"),
        (old_and_read, "x.md was there before the attempt and has not changed"),
        (elsewhere, "x.md is missing"),
        (linked, "x.md is a link"),
        (linked_inside, "x.md is a link"),
        (hard_linked, "x.md has 2 names (hard links)"),
        (piped, "x.md is a pipe"),
        (huge, "x.md is larger than"),
        (foldered, "x.md is a folder"),
        (removed, "x.md is missing"),
        (swapped_folder, "x.md lies behind a link"),
    ],
)
@pytest.mark.parametrize("by", ["declared", "claimed"])
def test_an_artifact_that_is_not_a_new_plain_file_is_a_violation(scene, deed, words, by):
    deed(scene)

    found = scene.verify(**({"needs": required("x.md")} if by == "declared" else {"artifacts": ("x.md",)}))

    assert found == {"artifacts": "violated"}
    assert words in scene.findings[0].reason
    assert scene.records == []
    assert judge(scene.case().claim, scene.findings).outcome.status == "retryable_failure"


def test_a_socket_is_no_artifact(scene, monkeypatch):
    monkeypatch.chdir(scene.artifacts)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("x.md")

        assert scene.verify(artifacts=("x.md",)) == {"artifacts": "violated"}
    assert "x.md is a socket" in scene.told()


@pytest.mark.parametrize("path", ["../t2/x.md", "/etc/passwd", "~/x.md", "a\\b", "reports/../../x.md"])
def test_a_path_that_leads_elsewhere_is_a_violation(scene, path):
    assert scene.verify(artifacts=(path,)) == {"artifacts": "violated"}
    assert scene.verify(needs=required(path)) == {"artifacts": "violated"}


def test_a_file_of_an_earlier_attempt_counts_once_it_is_written_again(scene):
    path = scene.write("x.md", "stale")
    os.utime(path, (1_600_000_000, 1_600_000_000))
    scene.begin()
    path.write_text("fresh")

    assert scene.verify(needs=required("x.md")) == {"artifacts": "held"}


def test_of_many_faults_the_first_is_the_reason_and_all_are_told(scene):
    scene.write("good.md")

    scene.verify(artifacts=("good.md", *(f"gone-{number}.md" for number in range(80))))

    finding = scene.findings[0]
    assert finding.reason == "gone-0.md is missing (and 79 more)"
    assert "gone-49.md is missing\n... and 30 more" in finding.detail
    assert [each.relative_path for each in scene.records] == ["good.md"]


def test_a_folder_that_was_not_seen_whole_leaves_doubt(scene):
    scene.write("a.md", "old")
    scene.write("x.md", "old")
    partial = replace(take(scene.artifacts, 0), partial=True)

    assert scene.verify(artifacts=("x.md",), artifacts_before=partial) == {"artifacts": "unknown"}
    assert "may be older than the attempt" in scene.findings[0].reason


def test_only_so_many_bytes_are_read(scene, monkeypatch):
    monkeypatch.setattr("keisei.engine.verify.MOST_BYTES", 5)
    scene.write("0.md", "four")
    scene.begin()
    for number in range(1, 4):
        scene.write(f"{number}.md", "four")

    assert scene.verify(artifacts=("0.md", "1.md", "2.md", "3.md")) == {"artifacts": "violated"}
    assert [each.relative_path for each in scene.records] == ["1.md"]
    assert scene.findings[0].detail.splitlines()[1:] == [
        "2.md is not looked at: the others are too large",
        "3.md is not looked at: the others are too large",
    ]


def test_a_hostile_name_is_told_in_one_printable_line(scene):
    scene.verify(artifacts=("\x1b[2Jx" * 100,))

    assert scene.findings[0].reason.isprintable()
    assert len(scene.findings[0].reason) <= 200


# Roles --------------------------------------------------------------------------------------------------------------


def test_a_type_that_requires_artifacts_wants_a_new_file_of_each_role(scene):
    scene.write("plan.md")
    scene.write("verify-report.json")

    found = scene.verify(kind=kind("plan", "verify-report", require_artifacts=True))

    assert found == {"artifacts": "held"}
    assert {each.role: each.relative_path for each in scene.records} == {
        "plan": "plan.md",
        "verify-report": "verify-report.json",
    }


def nothing(_path):
    pass


def to_old_plan(path):
    path.symlink_to("plan.old")


@pytest.mark.parametrize("deed", [nothing, os.mkfifo, to_old_plan])
def test_a_role_without_a_new_file_is_a_violation(scene, deed):
    scene.write("plan.old")
    scene.begin()
    deed(scene.artifacts / "plan.md")

    assert scene.verify(kind=kind("plan", require_artifacts=True)) == {"artifacts": "violated"}
    assert scene.findings[0].reason == "no new file `plan.*` is in the artifact folder"


def test_a_file_of_a_role_elsewhere_does_not_count(scene):
    scene.write("reports/plan.md")

    assert scene.verify(kind=kind("plan", require_artifacts=True), artifacts=("reports/plan.md",)) == {
        "artifacts": "violated"
    }


def test_the_audit_is_not_asked_of_the_agent(scene):
    assert scene.verify(kind=kind("adapter-audit", require_artifacts=True)) == {}


def test_a_role_that_is_not_required_is_recorded_where_it_is_there(scene):
    assert scene.verify(kind=kind("plan")) == {}
    scene.write("plan.md")

    assert scene.verify(kind=kind("plan")) == {"artifacts": "held"}
    assert scene.records[0].role == "plan"


# File changes -------------------------------------------------------------------------------------------------------


def edit(scene):
    (scene.work / "kept.py").write_text("edited")
    (scene.work / "src").mkdir()
    (scene.work / "src/new.py").write_text("new")
    (scene.work / "old.py").unlink()


TRUE = ("modified: kept.py", "created: src/new.py - the module", "deleted: old.py")


def test_true_claims_hold(scene):
    edit(scene)

    assert scene.verify(changes=TRUE) == {"file-changes": "held"}
    assert "src/new.py was added" in scene.findings[0].detail


@pytest.mark.parametrize(
    "claim",
    [
        "invented.py",
        "kept.py is fine",
        "created: kept.py",
        "deleted: kept.py",
        "modified: src/new.py",
        "created: old.py",
        "src/cli.py",
        "../outside.py",
        "/etc/passwd",
        "summary-of-nothing",
    ],
)
def test_a_claim_that_is_not_true_is_a_violation(scene, claim):
    edit(scene)

    assert scene.verify(changes=(*TRUE, claim)) == {"file-changes": "violated"}
    assert judge(scene.case().claim, scene.findings).outcome.status == "retryable_failure"


def test_a_file_that_is_there_and_was_not_touched_is_not_a_change(scene):
    assert scene.verify(changes=("kept.py",)) == {"file-changes": "violated"}
    assert scene.findings[0].reason == "kept.py was not changed, although it is claimed"


def test_an_artifact_may_be_claimed_as_a_file_change(scene):
    scene.write("reports/x.md")

    assert scene.verify(changes=("created: reports/x.md",)) == {"file-changes": "held"}


STRICT = [
    {"kind": kind(verify_claimed_file_changes=True)},
    {"needs": EvidenceRequirements(require_file_change_verification=True)},
]


def test_where_it_is_not_asked_for_other_changes_need_no_claim(scene):
    edit(scene)

    assert scene.verify(changes=TRUE[:1]) == {"file-changes": "held"}


@pytest.mark.parametrize("strict", STRICT, ids=["by type", "by task"])
def test_where_it_is_asked_for_every_real_change_must_be_claimed(scene, strict):
    assert scene.verify(**strict) == {"file-changes": "held"}
    edit(scene)

    assert scene.verify(changes=TRUE, **strict) == {"file-changes": "held"}
    assert scene.verify(changes=TRUE[1:], **strict) == {"file-changes": "violated"}
    assert scene.findings[0].reason == "kept.py was modified and is not claimed"
    assert scene.verify(**strict) == {"file-changes": "violated"}


def test_what_is_ignored_needs_no_claim(scene):
    edit(scene)
    (scene.work / "cache").write_text("x")
    scene.hidden = frozenset({"cache"})

    assert scene.verify(changes=TRUE, **STRICT[0]) == {"file-changes": "held"}


def test_artifacts_inside_the_working_folder_need_no_second_claim(scene):
    inner = scene.work / "state/artifacts/t1"
    inner.mkdir(parents=True)
    scene.artifacts = inner
    scene.begin()
    scene.write("reports/x.md")

    assert scene.verify(artifacts=("reports/x.md",), **STRICT[0]) == {"artifacts": "held", "file-changes": "held"}


def test_names_that_nobody_can_claim_are_told(scene):
    (scene.work / "a\nb").write_text("x")
    (scene.work / os.fsdecode(b"\xff")).write_text("x")

    assert scene.verify(changes=("a\nb", "\\xff"), **STRICT[0]) == {"file-changes": "violated"}
    assert "a b was added and is not claimed" in scene.findings[0].detail
    assert "\\xff was added and is not claimed" in scene.findings[0].detail


@pytest.mark.parametrize("side", ["work_before", "work_after"])
def test_doubt_about_the_working_folder_is_never_held(scene, side):
    edit(scene)
    partial = replace(getattr(scene.case(), side), partial=True)
    unreadable = replace(partial, partial=False, unreadable=("src",))

    for doubt in (partial, unreadable, None):
        assert scene.verify(changes=TRUE, **{side: doubt}) == {"file-changes": "unknown"}
        assert scene.findings[0].reason
        assert judge(scene.case().claim, scene.findings).outcome.status == "retryable_failure"


# The answer ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("accepted", "signal", "status"),
    [
        (["continue", "complete"], "complete", "held"),
        (["continue"], "complete", "violated"),
        (["continue"], None, "violated"),
        ([], None, "violated"),
        ("continue", "continue", "error"),
        ([1], "continue", "error"),
    ],
)
def test_a_signal_must_be_one_that_is_accepted(scene, accepted, signal, status):
    assert scene.verify(payload={"accepted_signals": accepted}, signal=signal) == {"answer": status}


def test_a_signal_that_is_not_accepted_is_named(scene):
    scene.verify(payload={"accepted_signals": ["continue", "complete"]}, signal="stop")
    assert scene.findings[0].reason == "workflow_signal is `stop`; accepted are `continue`, `complete`"

    scene.verify(payload={"accepted_signals": ["continue"]})
    assert scene.findings[0].reason == "workflow_signal is missing; accepted are `continue`"


@pytest.mark.parametrize(
    ("signals", "signal", "said"),
    [
        (("go", "stop"), "go", {"answer": "held"}),
        (("go", "stop"), "else", {"answer": "violated"}),
        (("go", "stop"), None, {"answer": "violated"}),
        ((), None, {}),
        ((), "go", {}),
    ],
)
def test_the_state_of_a_workflow_says_which_signals_count(scene, signals, signal, said):
    assert scene.verify(payload={"accepted_signals": ["else"]}, signals=signals, signal=signal) == said


def test_without_a_contract_any_signal_goes(scene):
    assert scene.verify(signal="anything") == {}


# Order and faults ---------------------------------------------------------------------------------------------------


def test_every_predicate_gives_its_own_finding(scene):
    edit(scene)

    found = scene.verify(
        artifacts=("gone.md",), changes=TRUE, payload={"accepted_signals": ["complete"]}, signal="complete"
    )

    assert found == {"artifacts": "violated", "file-changes": "held", "answer": "held"}
    assert len({each.finding_id for each in scene.findings}) == 3
    assert all(each.duration_ms > 0 and each.created_at > NOW for each in scene.findings)
    verdict = judge(scene.case().claim, scene.findings)
    assert verdict.rejected_by == ("engine::artifacts",)


def test_a_file_that_changed_while_it_was_read_does_not_count(scene, monkeypatch):
    scene.write("x.md")
    seen = scene.look("x.md")
    monkeypatch.setattr(scene, "look", lambda _: replace(seen, fault="was changed while it was read", sha256=None))

    assert scene.verify(artifacts=("x.md",)) == {"artifacts": "violated"}
    assert scene.findings[0].reason == "x.md was changed while it was read"


def test_a_predicate_that_cannot_be_carried_out_is_an_error(scene, monkeypatch):
    def broken(_relative):
        raise WorldFault("the disk is gone")

    monkeypatch.setattr(scene, "look", broken)

    assert scene.verify(artifacts=("x.md",)) == {"artifacts": "error"}
    assert scene.findings[0].reason == "the disk is gone"
    assert judge(scene.case().claim, scene.findings).outcome.status == "retryable_failure"
