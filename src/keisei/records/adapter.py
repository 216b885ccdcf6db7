"""Adapters: how a harness is reached. One union, told apart by `kind`; every kind leaves the same evidence."""

from typing import Annotated, Literal

from msgspec import Meta

from keisei.records.form import EnvName, Record, Text
from keisei.records.id import AdapterId

Sandbox = Literal["read-only", "workspace-write", "danger-full-access"]
TimeoutMs = Annotated[int, Meta(ge=1000, le=604_800_000)]
Environment = dict[EnvName, str]


class Provider(Record, frozen=True, kw_only=True):
    """A model provider that Codex is pointed at."""

    id: Text
    """Its name in the harness's configuration."""
    name: str | None = None
    """Its display name."""
    base_url: str | None = None
    """Where it answers."""
    wire_api: Literal["responses"] | None = None
    """The protocol it speaks."""
    requires_openai_auth: bool | None = None
    """Whether the harness must log in."""


class ClaudeAutonomy(Record, frozen=True, kw_only=True):
    """How far Claude Code may act alone, said openly and never hidden in `extra_args`."""

    profile: Literal["restricted", "trusted-vm"]
    """`trusted-vm` gives up the harness's own prompts; the sandbox still holds."""
    required_args: tuple[str, ...] = ()
    """Arguments the launch must contain."""
    required_settings_files: tuple[str, ...] = ()
    """Settings files that must exist and are passed to the harness."""


class HarnessAutonomy(Record, frozen=True, kw_only=True):
    """How far Codex or Hermes may act alone."""

    profile: Literal["restricted", "trusted-vm"]
    """`trusted-vm` gives up the harness's own prompts; the sandbox still holds."""
    required_args: tuple[str, ...] = ()
    """Arguments the launch must contain."""


class ScriptAutonomy(Record, frozen=True, kw_only=True):
    """A script has no autonomy of its own."""

    profile: Literal["runtime-native"]
    """The runtime's confinement is all there is."""


class Program(Record, frozen=True, kw_only=True):
    """What every adapter that starts a program has."""

    adapter_id: AdapterId
    """Its name in profiles and tasks."""
    command: Text
    """The program, by path or looked up on PATH."""
    working_dir: str | None = None
    """Where it runs; by default the attempt's worktree."""
    timeout_ms: TimeoutMs
    """Wall clock limit of one attempt."""
    env_file: str | None = None
    """A 0600 file of KEY=VALUE secrets, known to the redactor by value."""
    env: Environment | None = None
    """Plain variables."""
    extra_args: tuple[str, ...] = ()
    """More arguments; flags that bypass permissions are refused here."""


class Harness(Program, frozen=True, kw_only=True):
    """What every coding agent has."""

    sandbox: Sandbox | None = None
    """Narrows the role's confinement; never widens it."""
    model: str | None = None
    """The model, unless the task or the profile names one."""


class ClaudeCodeAdapter(Harness, frozen=True, kw_only=True, tag="claude-code", tag_field="kind"):
    """Claude Code."""

    autonomy: ClaudeAutonomy | None = None
    """Restricted unless said."""


class CodexAdapter(Harness, frozen=True, kw_only=True, tag="codex", tag_field="kind"):
    """Codex CLI."""

    provider: Provider | None = None
    """Where the model is served; needs `model`."""
    autonomy: HarnessAutonomy | None = None
    """Restricted unless said."""


class HermesAgentAdapter(Harness, frozen=True, kw_only=True, tag="hermes-agent", tag_field="kind"):
    """Hermes Agent: another harness, not a special runtime."""

    autonomy: HarnessAutonomy | None = None
    """Restricted unless said."""


class OllamaGenerateAdapter(Record, frozen=True, kw_only=True, tag="ollama-generate", tag_field="kind"):
    """A model behind Ollama's HTTP interface; no tools, so nothing to gate."""

    adapter_id: AdapterId
    """Its name in profiles and tasks."""
    endpoint: Annotated[str, Meta(pattern="^https?://")]
    """Where Ollama answers."""
    model: Text
    """The model; Ollama has no default."""
    timeout_ms: TimeoutMs
    """Wall clock limit of one attempt."""


class ScriptAdapter(Program, frozen=True, kw_only=True, tag="script", tag_field="kind"):
    """A plain program, for work that needs no model."""

    autonomy: ScriptAutonomy | None = None
    """Nothing to choose."""


AdapterConfig = ClaudeCodeAdapter | CodexAdapter | HermesAgentAdapter | OllamaGenerateAdapter | ScriptAdapter

STYLES = {
    "claude-code": "claude-like",
    "codex": "codex-like",
    "hermes-agent": "hermes-like",
}
"""Which profile style a harness understands; the other kinds accept any."""
