"""Roles: ordered capabilities and a tool allow-list."""

from typing import Annotated, Literal

from msgspec import Meta

from keisei.records.form import CapabilityName, Facets, Lineage, Record, Slug, default


class RoleHead(Record, frozen=True, kw_only=True, rename="kebab"):
    """What it is called."""

    name: Slug
    """Equals the file's name."""
    display_name: str | None = None
    """For people; by default the name."""
    description: str | None = None
    """What an agent in this role does. Lint asks for it."""
    spawnable: bool = default(True)
    """False documents a role that no agent may have."""
    claude_subagent_type: str | None = None
    """The subagent type handed to the harness."""


class RoleCapabilities(Record, frozen=True, kw_only=True, rename="kebab"):
    """Which rules, in which order: the parent's first, then its own, then what is relaxed is dropped."""

    extends: Slug | None = None
    """The parent role."""
    required: tuple[CapabilityName, ...] = ()
    """Its own rules; their fragments are joined in this order."""
    relaxes: tuple[CapabilityName, ...] = ()
    """Rules of the parent that do not hold here."""


class RoleTools(Record, frozen=True, kw_only=True, rename="kebab"):
    """Always judged, whether or not the role lists the tools capabilities."""

    allowed: tuple[Annotated[str, Meta(min_length=1)], ...] = ()
    """Tool names, compared exactly; every other tool is refused."""
    bash_patterns_allowed: tuple[str, ...] = ()
    """Regular expressions; each resolved simple command must match one."""


EscalationPolicy = Literal["ask-via-return", "orchestrator-notify", "fail-fast"]


class Escalation(Record, frozen=True, kw_only=True, rename="kebab"):
    """What happens when the agent is stuck or breaks a rule."""

    policy: EscalationPolicy = default("ask-via-return")
    """Questions in the report; a message and an approval before landing; or the first violation ends the task."""


class RolePipeline(Record, frozen=True, kw_only=True, rename="kebab"):
    """Who goes on."""

    handoff: tuple[Slug, ...] = ()
    """Roles that take over after this one."""


class RoleIsolation(Record, frozen=True, kw_only=True, rename="kebab"):
    """What the machine must hold."""

    require: Literal["none", "landlock", "full"] = default("none")
    """The lowest level of confinement the role runs under."""
    network: Literal["none", "open"] = default("none")
    """`none` means the model relay only."""


class RoleAtoms(Record, frozen=True, kw_only=True, rename="kebab"):
    """Which atoms an agent in this role may call, over keisei's own MCP server. None where the table is absent."""

    allowed: tuple[Annotated[str, Meta(pattern=r"^(\*|[a-z][a-z0-9-]*::(\*|[a-z][a-z0-9-]*))$")], ...] = ()
    """Ids, `package::*`, or `*` for all there are."""
    write: bool = default(False)
    """Whether also those that change something; otherwise only those that read, as their effects say."""
    tools: Literal["lean", "full"] = default("lean")
    """`lean` offers a few tools that search, describe and call; `full` offers each atom as a tool of its own."""


class RoleDocs(Record, frozen=True, kw_only=True, rename="kebab"):
    """What the role page says beside the facts."""

    use_cases: tuple[str, ...] = ()
    """When to use it."""
    notes: str | None = None
    """What else to know."""


class RoleManifest(Record, frozen=True, kw_only=True):
    """`roles/<name>.toml`."""

    role: RoleHead
    """What it is called."""
    capabilities: RoleCapabilities = default(RoleCapabilities())
    """Which rules."""
    tools: RoleTools | None = None
    """Which tools; the parent's where the table is absent."""
    escalation: Escalation | None = None
    """When it is stuck; the parent's where the table is absent, else ask-via-return."""
    pipeline: RolePipeline | None = None
    """Who goes on."""
    isolation: RoleIsolation | None = None
    """What the machine must hold; the parent's where the table is absent."""
    atoms: RoleAtoms | None = None
    """Which atoms; the parent's where the table is absent, and none where no parent has one."""
    docs: RoleDocs | None = None
    """What the role page says."""
    taxonomy: Facets | None = None
    """Facets, kept and searchable."""
    lineage: Lineage | None = None
    """Where it comes from."""
