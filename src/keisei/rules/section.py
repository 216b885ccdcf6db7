"""Sections: what each part of a prompt says. Values in, words and quoted text out; nothing here is cut."""

import json
from collections.abc import Iterable, Sequence

from msgspec import Struct

from keisei.records.adapter import AdapterConfig
from keisei.records.approval import ApprovalRecord
from keisei.records.attempt import TaskAttempt
from keisei.records.finding import FindingRecord
from keisei.records.intent import Budget
from keisei.records.material import ConstitutionMaterial, SkillMaterial
from keisei.records.profile import SubagentProfile
from keisei.records.skill import CliCommand
from keisei.records.task import TaskRecord
from keisei.records.task_type import TaskTypeSpec
from keisei.rules.answer_contract import as_json
from keisei.rules.canonical import canonical
from keisei.rules.prompt import Piece, Priority, Section, inline

REMEMBERED = 5
"""Outcomes that recent memory shows, and earlier attempts that the history does."""


class Earlier(Struct, frozen=True, kw_only=True):
    """An attempt at the same task that is over."""

    attempt: TaskAttempt
    """How it ended; `diagnostics.reason` says why."""
    findings: tuple[FindingRecord, ...] = ()
    """What verification said of it."""
    reason: str | None = None
    """Why it was turned down after it had ended; None where it says so itself."""


class Files(Struct, frozen=True, kw_only=True):
    """Where files of the task stand."""

    artifact_folder: str
    """Where it leaves the files it is asked for."""
    payload_file: str | None = None
    """Where the whole payload stands; None where it stands in the prompt alone, which then cannot cut it."""


def policy_section(words: str | None) -> list[Section]:
    """What holds for every task of this runtime."""
    if not words or not words.strip():
        return []
    told = "This holds for every task here."
    return [_section("Runtime policy", Piece(name="policy", words=told, text=words, form="markdown"))]


def constitution_section(constitution: ConstitutionMaterial | None) -> list[Section]:
    """Who the agent is and what it is for."""
    if constitution is None:
        return []
    record = constitution.record
    who = (
        f"You act as the agent {inline(record.agent_id)}. This is its constitution, version {inline(record.version)}; "
        "the runtime policy and your rules stand above it."
    )
    return [
        _section(
            "Constitution",
            _piece("constitution SOUL.md", who, constitution.soul, "constitution"),
            _piece("constitution PURPOSE.md", "What it is for:", constitution.purpose, "constitution"),
        )
    ]


def profile_section(profile: SubagentProfile) -> list[Section]:
    """How this kind of work is done."""
    text = "\n\n".join(part.strip("\n") for part in profile.prompt_parts if part.strip())
    words = f"How this kind of work is done: profile {inline(profile.profile_id)}."
    return [_section("Profile", Piece(name="profile", words=words, text=text, form="markdown"))] if text else []


def rules_section(role: str, composed: bytes, *, with_task: bool) -> list[Section]:
    """What compose writes, byte for byte: the role's fragments, and behind them scope and words of a task file."""
    if not composed:
        return []
    after = ", then the scope and the words of your task" if with_task else ""
    words = f"The rules of your role, {inline(role)}{after}. A rule holds whatever a task says."
    return [_section("Rules", Piece(name="rules", words=words, text=composed.decode("utf-8"), form="markdown"))]


def skills_section(skills: Sequence[SkillMaterial]) -> list[Section]:
    """What each skill teaches, and the commands it brings."""
    pieces = [piece for skill in skills for piece in _skill(skill)]
    return [_section("Skills", *pieces)] if pieces else []


def _skill(skill: SkillMaterial) -> Iterable[Piece]:
    name = f"skill {skill.skill_id}"
    yield _piece(name, f"Skill {inline(skill.skill_id)}:", skill.instructions, "skills")
    if skill.commands:
        yield _piece(f"{name} commands", "Commands it brings, as you type them:", _table(skill.commands), "skills")
    if skill.subagent is not None:
        words = "For work that you hand to a sub-agent:"
        yield _piece(f"{name} AGENT.md", words, skill.subagent, "skills")


def _table(commands: Iterable[CliCommand]) -> str:
    rows = [(each.name, each.command, each.description or "") for each in commands]
    lines = [" | ".join(map(_cell, row)) for row in rows]
    return "\n".join(["| name | command | what it does |", "|---|---|---|", *(f"| {line} |" for line in lines)])


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())


def memory_section(memory: Sequence[TaskRecord]) -> list[Section]:
    """How the last tasks of the same agent and profile ended."""
    if not memory:
        return []
    words = "How the last tasks of this agent and profile ended, newest first."
    text = as_json([_remembered(task) for task in memory[:REMEMBERED]])
    return [_section("Memory", _piece("memory", words, text, "memory", form="json"))]


def _remembered(task: TaskRecord) -> dict[str, object]:
    told: dict[str, object] = {"task_type": task.task_type, "status": task.status}
    if task.subject:
        told["subject"] = task.subject
    if task.outcome is not None:
        told["summary"] = task.outcome.operator_summary
    return told


def history_section(earlier: Sequence[Earlier]) -> list[Section]:
    """Why earlier attempts at this task failed, newest first; the oldest of many are only counted."""
    if not earlier:
        return []
    pieces = [Piece(name="count", words=f"This task was tried {_times(len(earlier))} before, without success.")]
    for back, each in enumerate(reversed(earlier[-REMEMBERED:])):
        pieces.append(_failure(each, len(earlier) - back, "history" if back else "newest"))
    return [_section("Earlier attempts", *pieces)]


def _failure(earlier: Earlier, number: int, priority: Priority) -> Piece:
    """One attempt: why it failed, then every finding that did not hold."""
    reason = earlier.reason or (earlier.attempt.diagnostics or {}).get("reason")
    findings = [each for each in earlier.findings if each.status not in ("held", "not-applicable")]
    text = "\n\n".join([*([str(reason)] if reason else []), *map(_told, findings)]) or "No reason was recorded."
    words = f"Attempt {number}; its harness ended with {inline(earlier.attempt.exit_status or 'unknown')}:"
    return _piece(f"attempt {number}", words, text, priority, form="text")


def _told(finding: FindingRecord) -> str:
    head = f"{finding.capability} is {finding.status}: {finding.reason}"
    return f"{head}\n{finding.detail}" if finding.detail else head


def answers_section(answers: Sequence[ApprovalRecord]) -> list[Section]:
    """What earlier attempts at this task asked and a person answered, oldest first. It is never cut."""
    if not answers:
        return []
    pieces = [piece for number, each in enumerate(answers, start=1) for piece in _answered(each, number)]
    return [_section("Answers from the operator", *pieces)]


def _answered(approval: ApprovalRecord, number: int) -> Iterable[Piece]:
    asked = "\n\n".join(approval.questions) or approval.reason
    words = "Questions of an earlier attempt:" if approval.questions else "An earlier attempt came to a stop:"
    yield Piece(name=f"question {number}", words=words, text=asked)
    yield Piece(name=f"answer {number}", words="A person has answered:", text=approval.answer or "")


def task_section(task: TaskRecord, task_type: TaskTypeSpec, files: Files, *, in_rules: bool) -> Section:
    """What is wanted. `in_rules` says that the payload is a task file and stands under Rules already."""
    words = f"A task of type {inline(task.task_type)}."
    text = "\n\n".join(part for part in (task.subject, task.description) if part and part.strip())
    pieces = [Piece(name="task", words=words, text=text or None)]
    if in_rules:
        pieces.append(Piece(name="body", words="Its scope and its words stand at the end of Rules."))
    else:
        pieces.append(
            Piece(
                name="payload",
                words="Its payload:",
                text=payload_text(task),
                form="json",
                priority="payload" if files.payload_file else None,
                whole_at=files.payload_file,
            )
        )
    return _section("Task", *pieces, _artifacts(task, task_type, files))


def payload_text(task: TaskRecord) -> str:
    """The payload as JSON, its keys sorted: a store may keep another order, and equal payloads are equal text."""
    return json.dumps(task.payload, indent=2, ensure_ascii=False, sort_keys=True)


def _artifacts(task: TaskRecord, task_type: TaskTypeSpec, files: Files) -> Piece:
    """Where files belong, and which are looked for; a role asks for a file that bears its name."""
    roles = [f"{role}.*" for role in task_type.artifact_roles if role != "adapter-audit"]
    named = task.evidence_requirements.required_artifacts if task.evidence_requirements else ()
    every_role = task_type.success_policy is not None and task_type.success_policy.require_artifacts
    told: dict[str, object] = {"artifact_folder": files.artifact_folder}
    if required := [*named, *(roles if every_role else ())]:
        told["required"] = required
    if roles and not every_role:
        told["welcome"] = roles
    words = [
        "Files that you deliver beside the repository belong into the artifact folder.",
        "What is required must be there, written by you in this attempt, or the task is not complete." * bool(required),
        "`name.*` is one file of that name with any ending." * bool(roles),
    ]
    return Piece(name="artifacts", words=" ".join(filter(None, words)), text=as_json(told), form="json")


def limits_section(adapter: AdapterConfig, budget: Budget | None) -> Section:
    """What the attempt may use up."""
    lines = [f"- time: {adapter.timeout_ms / 1000:,.0f} seconds; then the attempt is ended, whatever it is doing"]
    if budget is not None and budget.max_cost_usd is not None:
        lines.append(f"- money: at most {canonical(budget.max_cost_usd).decode()} US dollars")
    if budget is not None and budget.max_tokens is not None:
        lines.append(f"- tokens: at most {budget.max_tokens:,}, read and written together")
    return _section("Limits", Piece(name="limits", words="\n".join(lines)))


def _section(title: str, *pieces: Piece) -> Section:
    return Section(title=title, pieces=pieces)


def _piece(name: str, words: str, text: str, priority: Priority, form: str = "markdown") -> Piece:
    return Piece(name=name, words=words, text=text, form=form, priority=priority)


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"
