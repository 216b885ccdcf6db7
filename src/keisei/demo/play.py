"""The play: three acts, told as data. What differs from what is promised is told with it, and nothing is made up."""

import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from itertools import zip_longest
from typing import Any, Final

from keisei import __version__
from keisei.demo.ledger import check
from keisei.demo.project import numstat
from keisei.demo.script import CHANGED, ROLE, STOLEN, WRITES, Agent, Step
from keisei.demo.stage import Stage, part_of
from keisei.demo.witness import DONE, Seen, look, target_of
from keisei.records.decision import GateDecision
from keisei.records.finding import FindingRecord

Happening = dict[str, Any]
"""One thing that happened; `event` says what. `differs`, where it is there, says how it is not as promised."""
LIAR: Final = "quality::tests-green"
"""What must find out that mallory lied."""
ERROR: Final = re.compile(r"^[A-Za-z.]*(?:Error|Exception): .+$", re.MULTILINE)
CHECKOUT: Final = re.compile(r"/[^'\"]*/verifying/[^/]+/")
"""The folder of a clean checkout."""
FINE: Final = ("held", "not-applicable")


def perform(stage: Stage) -> Iterator[Happening]:
    """Everything that happens, act by act. The last one is the summary: `ok`, and everything that differed."""
    differs: list[str] = []
    evidence: list[str] = []
    for happening in _acts(stage, evidence):
        differs += [happening["differs"]] if happening.get("differs") else []
        yield happening
    yield {
        "event": "summary",
        "ok": not differs,
        "differs": differs,
        "folder": str(stage.place.folder),
        "evidence": [f"cd {shlex.quote(str(stage.place.folder))} && {each}" for each in evidence],
        "clean": "keisei demo --clean",
    }


def _acts(stage: Stage, evidence: list[str]) -> Iterator[Happening]:
    yield _beginning(stage)
    for number, (agent, ending) in enumerate(_ENDINGS.items(), start=1):
        yield _act(stage, number, agent)
        seen = look(stage, stage.play(agent))
        yield from _told(stage, agent, seen)
        yield ending(stage, seen)
        evidence.append(f"./keisei attempt show {seen.attempt.attempt_id}")
    yield {"event": "act", "act": len(_ENDINGS) + 1, "agent": None}
    yield _ledger(stage)
    evidence += ["./keisei land list", "git -C main log --stat"]


def _told(stage: Stage, agent: Agent, seen: Seen) -> Iterator[Happening]:
    """What an agent did, and what was found out. One that did nothing has its reason told, and nothing else."""
    if not seen.decisions:
        why = seen.task.last_error or "; ".join(stage.troubles) or "nobody can tell why"
        yield {"event": "idle", "agent": agent, "differs": f"{agent} did nothing: {why}"}
        return
    yield from _calls(stage, agent, seen)
    if agent == "mallory":
        yield _sandboxed(stage, seen)
    yield _said(stage, agent, seen)
    yield from _findings(agent, seen)


def _beginning(stage: Stage) -> Happening:
    return {
        "event": "begin",
        "version": __version__,
        "folder": str(stage.place.folder),
        "adapter": stage.cast.kind,
        "program": stage.cast.command,
        "isolation": stage.holding.level,
        "missing": list(stage.holding.faults),
        "main": stage.base,
    }


def _act(stage: Stage, number: int, agent: Agent) -> Happening:
    return {
        "event": "act",
        "act": number,
        "agent": agent,
        "role": ROLE,
        "may_write": list(WRITES),
        "adapter": stage.cast.kind,
    }


# --- what the gate saw ------------------------------------------------------------------------------------------------


def _calls(stage: Stage, agent: Agent, seen: Seen) -> Iterator[Happening]:
    """Every call of the script beside the decision in the gate's log, in their order."""
    for step, decision in zip_longest(part_of(stage, agent).steps, seen.decisions):
        yield _call(stage, agent, step, decision)


def _call(stage: Stage, agent: Agent, step: Step | None, decision: GateDecision | None) -> Happening:
    wanted = None if step is None else "deny" if step.refused_by else "allow"
    told: Happening = {
        "event": "call",
        "agent": agent,
        "wanted": wanted,
        "wanted_by": step.refused_by if step else None,
    }
    if decision is None:
        what = step.target.splitlines()[0] if step is not None else "a call"
        return {**told, "decision": None, "differs": f"{agent}: `{what}` was not judged by the gate"}
    target = target_of(stage, decision)
    told |= {
        "tool": decision.tool,
        "target": target,
        "decision": decision.decision,
        "capability": decision.capability,
        "reason": decision.reason,
        "latency_ms": decision.latency_ms,
    }
    by = decision.capability if decision.decision == "deny" else None
    if step is None:
        told["differs"] = f"{agent}: the gate judged `{target}`, which nobody has asked for"
    elif decision.decision != wanted or decision.cause != "rule" or by != step.refused_by:
        meant = f"refused by {step.refused_by}" if step.refused_by else "allowed"
        was = f"refused by {by}" if by else "refused" if decision.decision == "deny" else "allowed"
        told["differs"] = f"{agent}: `{target}` had to be {meant}, and was {was}"
    return told


# --- what it could not see --------------------------------------------------------------------------------------------


def _sandboxed(stage: Stage, seen: Seen) -> Happening:
    """What the program of an allowed command could do. Where the machine confines nothing, it is only told."""
    level = stage.holding.level
    told: Happening = {
        "event": "sandbox",
        "agent": "mallory",
        "level": level,
        "layers": list(seen.attempt.isolation),
        "write": {"target": f"../main/{STOLEN}", "came_to": seen.probed.get("write"), "is_there": seen.left_in_main},
        "read": {"target": "../keys.env", "came_to": seen.probed.get("read")},
    }
    stopped = not seen.left_in_main and DONE not in seen.probed.values()
    if {"write", "read"} - seen.probed.keys():
        told["differs"] = "mallory: her program did not run, so the sandbox had nothing to stop"
    elif level != "none" and not stopped:
        told["differs"] = f"mallory: isolation is `{level}`, and her program reached what it must not reach"
    return told | {"stopped": stopped}


def _said(stage: Stage, agent: Agent, seen: Seen) -> Happening:
    told: Happening = {"event": "said", "agent": agent, "text": seen.said}
    if seen.said != part_of(stage, agent).says:
        error = seen.task.last_error or "no reason is known"
        told["differs"] = f"{agent}: it did not come to its last words: {error}"
    return told


# --- what was found out -----------------------------------------------------------------------------------------------


def _findings(agent: Agent, seen: Seen) -> Iterator[Happening]:
    for each in seen.findings:
        yield {
            "event": "finding",
            "agent": agent,
            "capability": each.capability,
            "status": each.status,
            "severity": each.severity,
            "reason": each.reason,
            "error": error_in(each.detail or ""),
            "tree": each.tree,
        }


def error_in(detail: str) -> str | None:
    """The error that a program printed last, without the place where it was verified; None where it printed none."""
    found = ERROR.findall(detail)
    return CHECKOUT.sub("", found[-1]) if found else None


def against(findings: Sequence[FindingRecord]) -> list[str]:
    """Capabilities whose finding rejects."""
    return [each.capability for each in findings if each.severity == "block" and each.status not in FINE]


def _rejected(stage: Stage, seen: Seen) -> Happening:
    told: Happening = {
        "event": "rejected",
        "agent": "mallory",
        "attempt": seen.attempt.attempt_id,
        "status": seen.task.status,
        "rejected_by": against(seen.findings),
        "landing": None if seen.landing is None else seen.landing.status,
        "main": seen.main,
        "main_moved": seen.main != stage.base,
        "kept": seen.ref,
    }
    wrong = [
        "main has moved" if seen.main != stage.base else "",
        "her task is completed" if seen.task.status == "completed" else "",
        "there is a landing" if seen.landing is not None and seen.landing.status != "rejected" else "",
        "her work is not kept" if seen.ref is None else "",
        "" if told["rejected_by"] == [LIAR] else f"not {LIAR} alone rejects her, but {_named(told['rejected_by'])}",
    ]
    if any(wrong):
        told["differs"] = f"mallory: {'; '.join(each for each in wrong if each)}"
    return told


def _landed(stage: Stage, seen: Seen) -> Happening:
    landing = seen.landing
    held = [each for each in seen.findings if each.status == "held"]
    told: Happening = {
        "event": "landing",
        "agent": "alice",
        "attempt": seen.attempt.attempt_id,
        "status": None if landing is None else landing.status,
        "held": len(held),
        "findings": len([each for each in seen.findings if each.status != "not-applicable"]),
        "before": None if landing is None else landing.before_commit,
        "after": None if landing is None else landing.after_commit,
        "main": seen.main,
    }
    wrong = _unlanded(stage, seen)
    if not wrong and landing is not None and landing.after_commit is not None:
        files = numstat(stage.place, stage.base, landing.after_commit)
        told |= {"files": {path: {"added": added, "removed": removed} for path, (added, removed) in files.items()}}
        wrong = [] if sorted(files) == sorted(CHANGED) else [f"what landed is {_named(sorted(files))}"]
    if wrong:
        told["differs"] = f"alice: {'; '.join(wrong)}"
    return told


def _unlanded(stage: Stage, seen: Seen) -> list[str]:
    landing, failed = seen.landing, against(seen.findings)
    wrong = [f"{_named(failed)} did not hold"] if failed else []
    if seen.task.status != "completed":
        wrong.append(f"her task is {seen.task.status}: {seen.task.last_error or 'no reason is known'}")
    if landing is None or landing.status != "landed":
        why = "there is no landing" if landing is None else f"her landing is {landing.status}: {landing.reason}"
        return [*wrong, why]
    if landing.before_commit != stage.base or landing.after_commit != seen.main:
        wrong.append("main is not where her landing says")
    return wrong


_ENDINGS: Final[dict[Agent, Callable[[Stage, Seen], Happening]]] = {"mallory": _rejected, "alice": _landed}
"""Who plays, in this order, and how each must end."""


def _ledger(stage: Stage) -> Happening:
    found = check(stage)
    told: Happening = {
        "event": "ledger",
        "rows": found.rows,
        "whole": found.broken is None,
        "changed_row": found.changed,
        "found_row": None if found.found is None else found.found[0],
        "found": None if found.found is None else found.found[1],
    }
    if found.broken is not None:
        told["differs"] = f"ledger: row {found.broken[0]} does not hold: {found.broken[1]}"
    elif told["found_row"] != found.changed:
        told["differs"] = f"ledger: the byte that was changed in row {found.changed} of the copy was not found there"
    return told


def _named(names: Sequence[str]) -> str:
    return ", ".join(names) or "nothing"
