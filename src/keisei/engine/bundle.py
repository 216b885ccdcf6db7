"""Bundle: everything an attempt may see becomes a prompt, a document and their hashes. Ids and time are arguments."""

import hashlib
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from keisei.contracts.check import data_of
from keisei.engine.gather import BundleOrder, Gathered, Material, gather
from keisei.records.adapter import OllamaGenerateAdapter, ScriptAdapter
from keisei.records.bundle import BundleConstitution, BundleRecord, BundleSkill
from keisei.records.error import Refused
from keisei.records.material import SkillMaterial
from keisei.records.task_spec import TaskSpec
from keisei.rules.answer_contract import AcceptedSignal, Ending, answer_section, signal_section
from keisei.rules.bundle_hash import adapter_data, bundle_hash, portable_digest, role_data, text_hash
from keisei.rules.canonical import canonical, digest
from keisei.rules.prompt import Prompt, Section, lay_out
from keisei.rules.role import ResolvedRole
from keisei.rules.section import (
    Files,
    answers_section,
    constitution_section,
    history_section,
    limits_section,
    memory_section,
    payload_text,
    policy_section,
    profile_section,
    rules_section,
    skills_section,
    task_section,
)
from keisei.rules.variant import replay_grade, variant_id

SEEN = ("task_type", "subject", "description", "payload", "skill_ids", "evidence_requirements", "budget", "agent")
"""What an attempt can tell of its task; the rest is who asked, when, and how often."""
UNHASHABLE = (ValueError, OverflowError, RecursionError)
"""What JSON without a canonical form raises: endless nesting, integers beyond 2^53, half surrogates."""


class Compiled(Struct, frozen=True, kw_only=True):
    """One bundle, ready to be stored and launched."""

    record: BundleRecord
    """The row."""
    prompt: bytes
    """prompt.md: what the agent reads, UTF-8."""
    document: bytes
    """bundle.json: everything, by value or by hash, canonical."""
    payload: bytes
    """The payload as JSON, for the file the prompt names."""
    role: ResolvedRole
    """The role with everything it inherits."""
    spec: TaskSpec | None
    """The task file, where the payload is one."""
    signals: tuple[AcceptedSignal, ...]
    """The signals an answer may carry."""
    settings_files: Mapping[str, str]
    """Settings files as they were hashed, for the launch."""


def compile_bundle(library: Material, order: BundleOrder) -> Compiled:
    """The bundle. Equal orders over equal files give equal bytes.

    Raises Refused, AuthorError, ContractViolation or OperatorError where a person has to change something: an unknown
    or forbidden skill, a payload that does not fit, a role that cannot be spawned, a prompt that cannot be made short
    enough. Raises WorldFault, which may pass, where a file changed while it was read.
    """
    source = gather(library, order)
    try:
        return _compiled(source)
    except UNHASHABLE as error:
        reason = str(error) or type(error).__name__
        raise Refused(f"task {order.task.task_id} has no canonical form: {reason}", "correct its payload") from error


def _compiled(source: Gathered) -> Compiled:
    order = source.order
    limit = order.profile.context_policy.max_prompt_chars
    setting = f"`context_policy.max_prompt_chars` of profile `{order.profile.profile_id}`"
    canonical(order.task.payload)  # raises before anything is made of it
    prompt = lay_out(_sections(source, order.files), limit, setting)
    raw = prompt.text.encode("utf-8")
    common = _common(source)
    document = common | _document(source, prompt, raw)
    return Compiled(
        record=_record(source, document, _inputs_hash(source, common)),
        prompt=raw,
        document=canonical(document),
        payload=payload_text(order.task).encode("utf-8"),
        role=source.role,
        spec=source.spec,
        signals=source.signals,
        settings_files=source.settings,
    )


def _sections(source: Gathered, files: Files) -> list[Section]:
    order = source.order
    remembers = order.profile.context_policy.include_recent_memory
    return [
        *policy_section(order.runtime_policy),
        *constitution_section(source.constitution),
        *profile_section(order.profile),
        *rules_section(source.role.name, source.rules, with_task=source.spec is not None),
        *skills_section(source.skills),
        *memory_section(order.memory if remembers else ()),
        *history_section(order.earlier),
        task_section(order.task, order.task_type, files, in_rules=source.spec is not None),
        *answers_section(order.answers),
        *signal_section(source.signals),
        limits_section(order.adapter, order.budget),
        answer_section(order.profile, _ending(order), source.signals),
    ]


def _ending(order: BundleOrder) -> Ending:
    if isinstance(order.adapter, OllamaGenerateAdapter):
        return "reply"
    if not isinstance(order.adapter, ScriptAdapter):
        return "message"
    policy = order.task_type.success_policy
    return "exit-code" if policy is not None and policy.complete_by_exit_code else "output"


def _document(source: Gathered, prompt: Prompt, raw: bytes) -> dict[str, Any]:
    """What tells this bundle from others with equal inputs."""
    order = source.order
    task = data_of(order.task)
    task.pop("lease", None)
    return {
        "bundle_id": order.bundle_id,
        "attempt_id": order.attempt_id,
        "created_at": data_of(order.now),
        "task": task,
        "role": _role(source, source.policy_digest),
        "files": data_of(order.files),
        "prompt": {"sha256": hashlib.sha256(raw).hexdigest(), "chars": len(prompt.text)},
        "cuts": [data_of(each) for each in prompt.cuts],
    }


def _inputs_hash(source: Gathered, common: Mapping[str, Any]) -> str:
    """The hash without who, when and where: over the sections before anything is cut, the places in them left out."""
    order = source.order
    task = data_of(order.task)
    rules = source.policy_digest if order.policy is None else portable_digest(order.policy)
    placeless = Files(artifact_folder="", payload_file="-" if order.files.payload_file else None)
    return digest(
        {
            **common,
            "task": {key: task[key] for key in SEEN if key in task},
            "role": _role(source, rules),
            "sections": [data_of(each) for each in _sections(source, placeless)],
        }
    )


def _common(source: Gathered) -> dict[str, Any]:
    """What both hashes are over."""
    order, papers = source.order, source.constitution
    budget = order.budget
    return {
        "task_type": data_of(order.task_type),
        "agent": {"agent_id": order.task.agent, "constitution": data_of(papers.record) if papers else None},
        "profile": data_of(order.profile),
        "skills": [_skill(each) for each in source.skills],
        "adapter": _adapter(source),
        "model": source.model,
        "workspace": data_of(order.workspace) if order.workspace else None,
        "limits": {"timeout_ms": order.adapter.timeout_ms, "budget": data_of(budget) if budget else None},
        "signals": [each.signal for each in source.signals],
        "variant_id": variant_id(source.skills, papers.record if papers else None, order.profile),
        "replay_grade": replay_grade(order.adapter, order.workspace),
    }


def _adapter(source: Gathered) -> dict[str, Any]:
    return adapter_data(source.order.adapter) | {
        "settings_sha256": {path: text_hash(text) for path, text in source.settings.items()},
        "env_file_names": sorted(source.order.secret_names),
    }


def _role(source: Gathered, rules: str) -> dict[str, Any]:
    capabilities = [
        {"name": name, "text_sha256": hashlib.sha256(text).hexdigest(), "files_sha256": source.capabilities[name]}
        for name, text in source.fragments.items()
    ]
    return role_data(source.role) | {"capabilities": capabilities, "policy_digest": rules}


def _skill(skill: SkillMaterial) -> dict[str, Any]:
    return {
        "skill_id": skill.skill_id,
        "version": skill.version,
        "hash": skill.hash,
        "files": [data_of(each) for each in skill.files],
    }


def _record(source: Gathered, document: Mapping[str, Any], inputs_hash: str) -> BundleRecord:
    order, papers = source.order, source.constitution
    pinned = papers and BundleConstitution(soul_hash=papers.record.soul_hash, purpose_hash=papers.record.purpose_hash)
    return BundleRecord(
        bundle_id=order.bundle_id,
        task_id=order.task.task_id,
        attempt_id=order.attempt_id,
        bundle_hash=bundle_hash(document),
        inputs_hash=inputs_hash,
        agent_id=order.task.agent,
        constitution=pinned or None,
        profile_id=order.profile.profile_id,
        role=source.role.name,
        adapter_id=order.adapter.adapter_id,
        model=source.model,
        policy_digest=source.policy_digest,
        prompt_hash=document["prompt"]["sha256"],
        skills=tuple(BundleSkill(skill_id=each.skill_id, hash=each.hash) for each in source.skills),
        workspace=order.workspace,
        variant_id=document["variant_id"],
        replay_grade=document["replay_grade"],
        relative_path=order.keys.bundle,
        prompt_relative_path=order.keys.prompt,
        created_at=order.now,
    )
