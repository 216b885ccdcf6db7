"""Profiles: how a kind of work is run."""

from typing import Annotated, Literal

from msgspec import Meta

from keisei.records.form import Record, Text
from keisei.records.id import AdapterId, ProfileId, SkillId


class ContextPolicy(Record, frozen=True, kw_only=True):
    """What the prompt may contain."""

    max_prompt_chars: Annotated[int, Meta(ge=1000, le=10_000_000)]
    """Longer prompts are cut by declared priorities; the rules, the task and the answer contract never are."""
    include_recent_memory: bool
    """Whether the last 5 outcomes of the same agent and profile are shown."""


class ResultPolicy(Record, frozen=True, kw_only=True):
    """Which side effects an outcome may ask for."""

    allow_follow_up_tasks: bool
    """Whether follow-up tasks are put into the outbox."""
    allow_external_messages: bool
    """Whether messages are put into the outbox."""


class SubagentProfile(Record, frozen=True, kw_only=True):
    """The static shape of an (agent, skill) pair. It has no identity of its own; the agent's is inherited."""

    profile_id: Annotated[ProfileId, Meta(max_length=64, pattern="^[A-Za-z0-9][A-Za-z0-9_.-]*$")]
    """Its name; equals the file's."""
    style: Literal["claude-like", "codex-like", "hermes-like"]
    """Must match the harness of the default adapter."""
    role: Text
    """The role manifest that gates and verifies the work. Operational, never identity."""
    default_adapter_id: AdapterId
    """Used unless the task names another."""
    default_model: str | None = None
    """Used unless the task names another. Priority never chooses a model."""
    fallback_adapter_ids: tuple[AdapterId, ...] = ()
    """Tried in this order when the default adapter cannot be reached."""
    prompt_parts: tuple[str, ...]
    """Operational framing, not the contents of SOUL.md."""
    skill_ids: tuple[SkillId, ...]
    """Skills that are resolved, hashed and put into the bundle."""
    context_policy: ContextPolicy
    """What the prompt may contain."""
    result_policy: ResultPolicy
    """Which side effects an outcome may ask for."""
    integration_policy: dict[str, str] | None = None
    """Allow-list of outbox channels: channel to `allow` or `none`."""
