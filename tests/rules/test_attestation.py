"""Statements about an attempt: what rows and files say and nothing else; every claim that is false is found."""

import copy
import hashlib
import json

import pytest
from google.protobuf.json_format import ParseDict
from in_toto_attestation.predicates.provenance.v1.provenance_pb2 import Provenance
from in_toto_attestation.predicates.test_result.v0.test_result_pb2 import TestResult as TheirResult
from in_toto_attestation.v1.statement import Statement
from in_toto_attestation.v1.statement_pb2 import Statement as StatementForm

from keisei.rules.attestation import PROVENANCE, SVR, TEST_RESULT, statements
from keisei.rules.attestation_check import unheld
from keisei.rules.attestation_fact import Source
from keisei.rules.attestation_row import row_of, wanted
from keisei.rules.canonical import canonical, digest

TRIED, TIP, OTHER = "1" * 40, "2" * 40, "3" * 40
COMMIT, BASE, BEFORE, AFTER = "c" * 40, "b" * 40, "e" * 40, "a" * 40
ATTEMPT, TASK, LANDING = "attempt-1", "task-1", "landing-1"


def finding(capability, status="held", run_from="merged", *, tree=TRIED, severity="block", at=1):
    """What one predicate said."""
    told = {"capability": capability, "status": status, "severity": severity, "run_from": run_from, "detail": "d"}
    return told | ({"tree": tree} if tree else {}) | {"created_at": f"2026-01-01T00:00:0{at}Z"}


FINDINGS = [finding("engine::merge"), finding("quality::check", at=2), finding("policy::git", run_from="worktree")]


class Case:
    """Rows and files of one attempt, to be changed."""

    def __init__(self, findings=FINDINGS, *, status="completed", staged=True, **settled):
        self.bundle = {
            "bundle_id": "bundle-1",
            "attempt_id": ATTEMPT,
            "created_at": "2026-01-01T00:00:00Z",
            "task": {"task_type": "agent-task"},
            "role": {
                "name": "writer",
                "policy_digest": "d" * 64,
                "capabilities": [{"name": "quality::check", "files_sha256": "f" * 64, "text_sha256": "0" * 64}],
            },
            "profile": {"profile_id": "p"},
            "agent": {"agent_id": "bob", "constitution": {"soul_hash": "5" * 64, "purpose_hash": "6" * 64}},
            "adapter": {"adapter_id": "plain", "kind": "script"},
            "model": "m-1",
            "prompt": {"sha256": hashlib.sha256(b"do it").hexdigest()},
            "replay_grade": "inputs_frozen",
            "skills": [{"skill_id": "s", "hash": "7" * 64}],
            "workspace": {"commit": BASE, "dirty": False},
        }
        candidate = {"commit": COMMIT, "base": BASE, "changes": [{"path": "x"}]} if staged else None
        self.files = {
            "bundle.json": self.bundle,
            "findings.json": findings,
            "result.json": {"report": {"model": "m-2"}},
            "returned.json": {"staged": candidate, "isolation": ["landlock:7"]},
        }
        self.settled = {"task_id": TASK, "status": status, "fence": 1, **settled}
        told = [{"capability": each["capability"], "status": each["status"]} for each in findings]
        self.settled.setdefault("findings", told)
        self.later, self.artifacts, self.spec = [], (), "4" * 64

    def lands(self, kind, tree=TRIED, after=None, evidence=None, **more):
        body = {"attempt_id": ATTEMPT, "branch": "main", "candidate": COMMIT, "tree": tree, "before": BEFORE}
        body |= {"after": after, "plan": "9" * 64, "evidence": evidence or {}, **more}
        self.later.append({"kind": kind, "subject": LANDING, "body": body})
        return self

    def says_on_tip(self, number, findings):
        """What was said of it on the branch as it then was, and the digest of that."""
        name = f"landing-{LANDING}-{number}.json"
        self.files[name] = {"findings": findings, "runs": []}
        return {name: hashlib.sha256(self.raw(name)).hexdigest()}

    def raw(self, name):
        found = self.files[name]
        return found if isinstance(found, bytes) else canonical(found)

    def source(self):
        own = [name for name in self.files if not name.startswith("landing-")]
        named = {name: hashlib.sha256(self.raw(name)).hexdigest() for name in own}
        named |= {"task.json": "4" * 64, "prompt.md": hashlib.sha256(b"do it").hexdigest()}
        forked = {"attempt_id": ATTEMPT, "bundle_hash": self.hash(), "inputs_hash": "8" * 64, "base": BASE}
        forked["spec_sha256"] = self.spec
        rows = [
            {"kind": "agent_forked", "subject": "ag-1", "body": forked},
            {"kind": "attempt_settled", "subject": ATTEMPT, "body": {"evidence": named, **self.settled}},
            *self.later,
        ]
        common = {"source": "engine", "actor": "r", "recorded_at": "2026-01-01T00:00:09.000000Z"}
        made = tuple(row_of(number, canonical({**common, **each})) for number, each in enumerate(rows, start=1))
        files = {name: self.raw(name) for name in self.files}
        return Source(attempt_id=ATTEMPT, rows=made, files=files, artifacts=self.artifacts)

    def hash(self):
        return digest({name: value for name, value in self.bundle.items() if name != "bundle_id"})

    def told(self):
        return {each["predicateType"]: each["predicate"] for each in statements(self.source())}


def landed(**more):
    """A case that was said again on the tip, and landed."""
    case = Case(**more)
    again = [finding("engine::merge", tree=TIP, at=5), finding("quality::check", tree=TIP, at=6)]
    named = case.says_on_tip(1, again)
    return case.lands("landing_held").lands("landing_made", tree=TIP, after=AFTER, evidence=named)


def subject_of(case):
    found = {json.dumps(each["subject"]) for each in statements(case.source())}
    assert len(found) == 1
    return json.loads(found.pop())


# --- the form ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", [landed(), Case().lands("landing_held"), Case(status="blocked"), Case(staged=False)])
def test_in_toto_takes_every_statement_and_predicate(case):
    for each in statements(case.source()):
        Statement.copy_from_pb(ParseDict(each, StatementForm())).validate()
        if each["predicateType"] == TEST_RESULT:
            ParseDict(each["predicate"], TheirResult())
        elif each["predicateType"] == PROVENANCE:
            ParseDict(each["predicate"], Provenance())
        else:
            verifier = each["predicate"]["verifier"]
            assert verifier["policies"]
            assert all(len(policy["digest"]["sha256"]) == 64 for policy in verifier["policies"])
            assert each["predicate"].keys() == {"verifier", "timeCreated", "properties"}


def test_said_again_it_is_the_same_bytes():
    assert canonical(statements(landed().source())) == canonical(statements(landed().source()))


# --- what it is about -------------------------------------------------------------------------------------------------


def test_what_landed_is_spoken_of_by_its_commit_and_tree():
    case = landed(artifacts={"b.txt": "1" * 64, "a/c.txt": "2" * 64, "gone": "3" * 64})
    case.artifacts = ("b.txt", "a/c.txt")

    assert subject_of(case) == [
        {"name": "git:commit", "digest": {"gitCommit": AFTER}},
        {"name": "git:tree", "digest": {"gitTree": TIP}},
        {"name": "a/c.txt", "digest": {"sha256": "2" * 64}},
        {"name": "b.txt", "digest": {"sha256": "1" * 64}},
    ]


@pytest.mark.parametrize(
    "case", [Case().lands("landing_held"), Case(), Case([finding("engine::merge", "violated")], status="blocked")]
)
def test_what_has_not_landed_is_spoken_of_by_candidate_and_tested_tree(case):
    assert subject_of(case) == [
        {"name": "git:commit", "digest": {"gitCommit": COMMIT}},
        {"name": "git:tree", "digest": {"gitTree": TRIED}},
    ]


def test_an_attempt_that_left_nothing_is_spoken_of_by_its_result():
    (only,) = subject_of(Case([], status="retryable_failure", staged=False))

    assert only["name"] == "evidence/result.json"


# --- the verdict ------------------------------------------------------------------------------------------------------


def test_only_what_was_said_of_the_tree_that_landed_counts_and_the_last_word_of_it():
    case = Case([*FINDINGS, finding("quality::slow", tree=OTHER), finding("x::y", "violated", tree=OTHER)])
    first = case.says_on_tip(2, [finding("engine::merge", tree=TIP), finding("quality::check", "error", tree=TIP)])
    last = case.says_on_tip(10, [finding("quality::check", tree=TIP, at=9)])
    case.lands("landing_made", tree=TIP, after=AFTER, evidence=first | last)

    told = case.told()

    assert told[SVR]["properties"] == ["keisei:held:engine::merge", "keisei:held:quality::check"]
    assert told[SVR]["timeCreated"] == "2026-01-01T00:00:09Z"
    assert (told[TEST_RESULT]["result"], told[TEST_RESULT]["failedTests"]) == ("PASSED", [])


def test_a_rejected_attempt_has_no_verdict_and_a_result_that_says_failed():
    told = Case([*FINDINGS, finding("quality::test", "violated")], status="retryable_failure").told()

    assert SVR not in told
    assert told[TEST_RESULT]["result"] == "FAILED"
    assert told[TEST_RESULT]["failedTests"] == ["quality::test (merged): violated"]


def test_what_a_person_rejected_has_no_verdict_and_its_tests_passed_all_the_same():
    told = Case().lands("landing_held").lands("landing_rejected").told()

    assert SVR not in told
    assert told[TEST_RESULT]["result"] == "PASSED"


def test_doubt_is_a_warning_and_no_property():
    doubts = [finding("quality::check", "skipped", "worktree", severity="warn"), finding("n::a", "not-applicable")]
    told = Case([*FINDINGS, *doubts]).lands("landing_held").told()

    assert told[TEST_RESULT]["result"] == "WARNED"
    assert told[TEST_RESULT]["warnedTests"] == ["quality::check (worktree): skipped"]
    assert told[SVR]["properties"] == ["keisei:held:engine::merge"]


def test_what_was_asked_where_the_agent_worked_is_no_property_and_no_verdict():
    late = finding("policy::git", run_from="worktree", tree=None, at=9)
    told = Case([finding("engine::merge"), finding("quality::check", at=3), late]).told()
    alone = Case([late], staged=False).told()

    assert (told[SVR]["properties"], told[SVR]["timeCreated"]) == (
        ["keisei:held:engine::merge", "keisei:held:quality::check"],
        "2026-01-01T00:00:03Z",
    )
    assert SVR not in alone
    assert alone[TEST_RESULT]["passedTests"] == ["policy::git (worktree)"]


def test_an_attempt_that_did_not_complete_has_failed_whatever_held():
    assert Case(status="retryable_failure").told()[TEST_RESULT]["result"] == "FAILED"


def test_what_was_judged_a_second_time_has_the_second_findings():
    case = Case([finding("engine::merge", "error")], fence=3)
    case.files["findings-3.json"] = FINDINGS

    assert case.told()[TEST_RESULT]["passedTests"][0] == "engine::merge (merged)"
    assert "findings-3.json" in wanted(case.source().rows)


def test_rows_that_somebody_wrote_by_hand_count_for_nothing():
    case = Case(status="retryable_failure")
    case.lands("landing_made", after=AFTER)
    case.later[-1]["source"] = "manual"
    case.later.append(
        {"kind": "attempt_settled", "source": "manual", "subject": ATTEMPT, "body": {"status": "completed"}}
    )

    told = case.told()

    assert SVR not in told
    assert told[TEST_RESULT]["result"] == "FAILED"
    assert [each for each in told[PROVENANCE]["runDetails"]["byproducts"] if each["name"] == "ledger/3"] == []


# --- how it came about ------------------------------------------------------------------------------------------------


def test_how_it_ran_is_told_by_hash():
    case = landed()
    told = case.told()[PROVENANCE]
    definition, details = told["buildDefinition"], told["runDetails"]

    assert definition["externalParameters"]["agent"] == "bob"
    assert definition["internalParameters"]["bundleHash"] == case.hash()
    assert definition["internalParameters"]["inputsHash"] == "8" * 64
    assert definition["internalParameters"]["reportedModel"] == "m-2"
    assert [each["name"] for each in definition["resolvedDependencies"]] == [
        "base",
        "before",
        "candidate",
        "evidence/prompt.md",
        "skill/s",
        "SOUL.md",
        "PURPOSE.md",
    ]
    assert details["metadata"]["invocationId"] == ATTEMPT
    names = [each["name"] for each in details["byproducts"]]
    assert [name for name in names if name.startswith("ledger/")] == ["ledger/1", "ledger/2", "ledger/3", "ledger/4"]
    assert f"evidence/landing-{LANDING}-1.json" in names


def test_what_did_not_hold_because_a_person_said_so_is_told():
    case = Case()
    assert "bypasses" not in case.told()[PROVENANCE]["buildDefinition"]["internalParameters"]
    weaker = {"required": "strict", "had": "none"}
    body = {"elevated": ["policy::git"], "because": "in private", "isolation": weaker, "sandbox": "danger-full-access"}
    case.later += [
        {"kind": "bypass_used", "subject": ATTEMPT, "body": body},
        {"kind": "bypass_used", "subject": ATTEMPT, "body": {"elevated": [], "isolation": None, "sandbox": "x"}},
        {"kind": "bypass_used", "subject": "another", "body": body},
        {"kind": "bypass_used", "subject": ATTEMPT, "source": "manual", "body": body},
    ]

    assert case.told()[PROVENANCE]["buildDefinition"]["internalParameters"]["bypasses"] == [
        {"elevated": ["policy::git"], "isolation": weaker, "sandbox": "danger-full-access"},
        {"sandbox": "x"},
    ]


# --- what cannot be attested ------------------------------------------------------------------------------------------


def test_an_attempt_that_is_not_settled_is_refused():
    source = Source(attempt_id="another", rows=Case().source().rows, files={})

    with pytest.raises(ValueError, match="not settled"):
        statements(source)


def spoilt(kind):
    case = landed()
    if kind == "no bundle":
        case.settled["evidence"] = {}
    elif kind == "two digests":
        case.lands("landing_made", after=AFTER, evidence={"bundle.json": "0" * 64})
    elif kind == "a name that leads out":
        case.lands("landing_made", after=AFTER, evidence={"../x": "0" * 64})
    elif kind == "digests that are none":
        case.settled["artifacts"] = {"a": 1}
    elif kind == "a tree that is none":
        case.lands("landing_made", tree=["x"], after=AFTER)
    elif kind == "no json":
        case.files["findings.json"] = b"{"
    elif kind == "deep json":
        case.files["findings.json"] = b"[" * 100_000
    elif kind == "another shape":
        case.files["bundle.json"] = {"attempt_id": ATTEMPT}
    elif kind == "a role that is a list":
        case.bundle["role"] = []
    return case


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        ("no bundle", "never began"),
        ("two digests", "different digests"),
        ("a name that leads out", "no name"),
        ("digests that are none", "not digests by name"),
        ("a tree that is none", "`tree` that is no text"),
        ("no json", "`findings.json` cannot be read"),
        ("deep json", "`findings.json` cannot be read"),
        ("another shape", "not that of an attempt"),
        ("a role that is a list", "not that of an attempt"),
    ],
)
def test_rows_and_files_that_make_no_sense_are_refused_in_a_sentence(kind, told):
    with pytest.raises(ValueError, match=told):
        statements(spoilt(kind).source())


# --- whether it holds -------------------------------------------------------------------------------------------------


def leaves(value, path=()):
    """Every place in a value that holds no other."""
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    parts = list(parts)
    for key, item in parts:
        yield from leaves(item, (*path, key))
    if not parts:
        yield path


def put(value, path, new):
    *above, last = path
    for key in above:
        value = value[key]
    value[last] = new


def test_what_is_true_holds():
    source = landed().source()

    assert unheld(statements(source), source) == []


def test_every_single_claim_that_is_changed_is_found_and_named():
    source = landed().source()
    given = statements(source)
    paths = [(number, path) for number, each in enumerate(given) for path in leaves(each)]
    for number, path in paths:
        told = copy.deepcopy(given)
        put(told[number], path, "something else")
        faults = unheld(told, source)
        assert faults, path
        if path != ("predicateType",):
            assert str(path[-1]) in faults[0]
    assert len(paths) > 80


def test_claims_that_nobody_made_are_found_even_where_they_are_empty():
    source = landed().source()
    for new in ("more", None, [], {}):
        told = statements(source)
        told[0]["predicate"]["more"] = new
        assert unheld(told, source)[0].startswith("verification: predicate.more: it says")


def test_a_statement_too_few_or_too_many_is_found():
    source = landed().source()
    given = statements(source)

    assert unheld(given[1:], source) == ["verification: the statement is missing"]
    assert unheld([*given, given[1]], source) == ["test result: it is said 2 times"]
    assert unheld([*given, {"predicateType": "x"}], source) == [
        "a statement of an unknown kind: nothing bears this statement out"
    ]


def test_a_verdict_on_what_was_rejected_is_found():
    case = Case([finding("quality::test", "violated")], status="retryable_failure")
    told = [*statements(case.source()), statements(landed().source())[0]]

    assert unheld(told, case.source()) == ["verification: nothing bears this statement out"]


@pytest.mark.parametrize("what", ["findings", "attempt", "prompt", "bundle", "base", "spec"])
def test_rows_and_files_that_contradict_are_found(what):
    case = landed()
    source = case.source()
    if what == "findings":
        case.settled["findings"] = [{"capability": "quality::check", "status": "held"}]
    elif what == "attempt":
        case.bundle["attempt_id"] = "another"
    elif what == "prompt":
        case.bundle["prompt"]["sha256"] = "0" * 64
    elif what == "spec":
        case.spec = "0" * 64
    elif what == "bundle":
        case.hash = lambda: "0" * 64
    else:
        case.bundle["workspace"]["commit"] = OTHER
    source = case.source()

    assert unheld(statements(source), source)
