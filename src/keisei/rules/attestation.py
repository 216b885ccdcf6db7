"""Attestations: what the ledger and the evidence say of one attempt, as in-toto statements. Pure.

Every statement is made of ledger rows and evidence files alone: no clock, no host, no version of whoever asks. So the
same rows and files give the same bytes, and whoever has them can say each statement again and compare.
"""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, Final

from keisei.rules.attestation_fact import BUNDLE, FINE, MERGED, RESULT, Facts, Finding, Source
from keisei.rules.attestation_row import BYPASS, Row
from keisei.rules.bundle_hash import bundle_hash
from keisei.rules.ledger import leaf_hash

STATEMENT: Final = "https://in-toto.io/Statement/v1"
SVR: Final = "https://in-toto.io/attestation/svr/v0.2"
TEST_RESULT: Final = "https://in-toto.io/attestation/test-result/v0.1"
PROVENANCE: Final = "https://slsa.dev/provenance/v1"
VERIFIER: Final = "urn:keisei:verifier:merged-tree:v1"
"""Predicates are asked on a clean checkout of main merged with the candidate; the agent has no part in it.

So a property stands only for what was asked there. What was asked in the agent's own worktree is in the test result,
which says of everything where it was asked.
"""
BUILD_TYPE: Final = "urn:keisei:buildtype:attempt:v1"
BUILDER: Final = "urn:keisei:builder:runner:v1"
HELD: Final = "keisei:held:"
BYPASSED: Final = ("elevated", "isolation", "sandbox")
"""What may not have held, as a row tells it: rules, the isolation that a role requires, the harness's own sandbox."""

Json = dict[str, Any]


def statements(source: Source) -> list[Json]:
    """The statements about an attempt: what was verified, if anything was; what every predicate said; how it ran.

    Raises ValueError, in a sentence, where the rows and files tell of no attempt that is over, or contradict.
    """
    facts = Facts(source)
    try:
        about = subjects(facts)
        predicates = ((SVR, svr(facts)), (TEST_RESULT, tested(facts)), (PROVENANCE, provenance(facts)))
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"`{BUNDLE}` is not that of an attempt: {error!r}") from error
    return [_statement(about, kind, predicate) for kind, predicate in predicates if predicate]


def _statement(subject: Sequence[Json], kind: str, predicate: Json) -> Json:
    return {"_type": STATEMENT, "subject": list(subject), "predicateType": kind, "predicate": predicate}


def subjects(facts: Facts) -> list[Json]:
    """What the statements are about: the landed commit and its tree, else the candidate and the tree that was tested.

    Then the artifacts. An attempt that left neither is spoken of by its result.
    """
    commit = facts.made.text("after") if facts.made is not None else facts.candidate
    found = [described("git:commit", "gitCommit", commit)] if commit else []
    if commit and facts.tree:
        found.append(described("git:tree", "gitTree", facts.tree))
    found += [described(path, "sha256", digest) for path, digest in facts.artifacts]
    return found or [_evidence(facts, RESULT if RESULT in facts.evidence else BUNDLE)]


def described(name: str, algorithm: str, digest: str) -> Json:
    """A ResourceDescriptor. Raises TypeError for a digest that is none."""
    if not isinstance(digest, str):
        raise TypeError(f"`{name}` has no digest")
    return {"name": name, "digest": {algorithm: digest}}


def _evidence(facts: Facts, name: str) -> Json:
    return described(f"evidence/{name}", "sha256", facts.evidence[name])


def _policies(facts: Facts) -> list[Json]:
    """The compiled policy, and what was asked of the tree."""
    plan = facts.landing.text("plan") if facts.landing is not None else None
    policy = described("keisei:policy", "sha256", facts.bundle["role"]["policy_digest"])
    return [policy, *([described("keisei:plan", "sha256", plan)] if plan else [])]


# --- what was verified, and what was not ------------------------------------------------------------------------------


def svr(facts: Facts) -> Json | None:
    """The verdict, for what landed or may land: only what held on the merged tree. None where nothing did.

    What was asked in the worktree too has to have held there as well.
    """
    merged = {each.capability for each in facts.spoken if each.run_from == MERGED}
    held = sorted(merged - {each.capability for each in facts.spoken if not _held(each)})
    if not facts.stands or facts.rejecting or not held:
        return None
    capabilities = facts.bundle["role"]["capabilities"]
    own = [described(each["name"], "sha256", each["files_sha256"]) for each in capabilities]
    return {
        "verifier": {"id": VERIFIER, "policies": [*_policies(facts), *own]},
        "timeCreated": facts.heard_at,
        "properties": [f"{HELD}{each}" for each in held],
    }


def _held(finding: Finding) -> bool:
    return finding.status == "held"


def tested(facts: Facts) -> Json:
    """Every finding by name; a run that was not completed has failed, whatever was asked."""
    rejecting = facts.rejecting
    doubted = [each for each in facts.spoken if each.status not in FINE and each not in rejecting]
    result = "WARNED" if doubted else "PASSED"
    return {
        "result": "FAILED" if rejecting or not facts.completed else result,
        "configuration": [_evidence(facts, BUNDLE), *_policies(facts)],
        "passedTests": [f"{each.capability} ({each.run_from})" for each in facts.spoken if _held(each)],
        "warnedTests": [_told(each) for each in doubted],
        "failedTests": [_told(each) for each in rejecting],
    }


def _told(finding: Finding) -> str:
    return f"{finding.capability} ({finding.run_from}): {finding.status}"


# --- how it came about ------------------------------------------------------------------------------------------------


def provenance(facts: Facts) -> Json:
    """How the subject came to be: what was asked, with what it ran, what it was made of and what it left."""
    forked = facts.forked.body if facts.forked is not None else {}
    version = forked.get("keisei")
    return {
        "buildDefinition": {
            "buildType": BUILD_TYPE,
            "externalParameters": _external(facts),
            "internalParameters": _internal(facts, forked),
            "resolvedDependencies": _dependencies(facts),
        },
        "runDetails": {
            "builder": {"id": BUILDER, **({"version": {"keisei": version}} if version else {})},
            "metadata": {
                "invocationId": facts.attempt_id,
                "startedOn": facts.bundle["created_at"],
                "finishedOn": facts.settled.recorded_at,
            },
            "byproducts": [
                *(_evidence(facts, name) for name in sorted(facts.evidence)),
                *(_row(each) for each in facts.rows),
            ],
        },
    }


def _external(facts: Facts) -> Json:
    bundle = facts.bundle
    return _there(
        {
            "task": _evidence(facts, "task.json") if "task.json" in facts.evidence else None,
            "taskId": facts.settled.text("task_id"),
            "taskType": bundle["task"]["task_type"],
            "role": bundle["role"]["name"],
            "profile": bundle["profile"]["profile_id"],
            "agent": bundle["agent"]["agent_id"],
        }
    )


def _internal(facts: Facts, forked: Mapping[str, Any]) -> Json:
    bundle = facts.bundle
    return _there(
        {
            "adapter": bundle["adapter"]["adapter_id"],
            "adapterKind": bundle["adapter"]["kind"],
            "model": bundle["model"],
            "reportedModel": facts.result["report"]["model"] if facts.result else None,
            "isolation": list(facts.returned.isolation) or None,
            "bypasses": [_bypass(each) for each in facts.rows if each.kind == BYPASS] or None,
            "bundleHash": bundle_hash(bundle),
            "inputsHash": forked.get("inputs_hash"),
            "policyDigest": bundle["role"]["policy_digest"],
            "replayGrade": bundle["replay_grade"],
        }
    )


def _bypass(row: Row) -> Json:
    """What did not hold for the attempt because a person said so; why they did is in the row."""
    return {name: value for name in BYPASSED if (value := row.body.get(name))}


def _there(values: Json) -> Json:
    return {name: value for name, value in values.items() if value is not None}


def _dependencies(facts: Facts) -> list[Json]:
    bundle, landing = facts.bundle, facts.landing
    papers = bundle["agent"]["constitution"]
    commits = {
        "base": bundle["workspace"]["commit"] if bundle["workspace"] else None,
        "before": landing.text("before") if landing is not None else None,
        "candidate": landing.text("candidate") if landing is not None else None,
    }
    files = {"evidence/prompt.md": bundle["prompt"]["sha256"]}
    files |= {f"skill/{each['skill_id']}": each["hash"] for each in bundle["skills"]}
    if papers:
        files |= {"SOUL.md": papers["soul_hash"], "PURPOSE.md": papers["purpose_hash"]}
    return [
        *(described(name, "gitCommit", commit) for name, commit in commits.items() if commit),
        *(described(name, "sha256", digest) for name, digest in files.items()),
    ]


def _row(row: Row) -> Json:
    """A ledger row as something that a run has left."""
    told = described(f"ledger/{row.seq}", "sha256", hashlib.sha256(row.content).hexdigest())
    return told | {"annotations": {"kind": row.kind, "leafHash": leaf_hash(row.content).hex()}}
