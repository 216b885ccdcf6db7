"""Skills: instructions plus commands, resolved to files and never just a word in a prompt."""

from typing import Annotated

from msgspec import Meta, field

from keisei.records.form import Record, RelativePath, Text
from keisei.records.id import SkillId

SkillName = Annotated[str, Meta(min_length=1, max_length=64, pattern="^[a-z0-9]+(-[a-z0-9]+)*$")]


class CliCommand(Record, frozen=True, kw_only=True):
    """A command a skill brings: an allow pattern of the policy and a row of the bundle's table."""

    name: Text
    """What it is called."""
    command: Text
    """The command line, as the agent types it."""
    description: str | None = None
    """What it does, in a sentence."""


class SkillManifest(Record, frozen=True, kw_only=True):
    """A skill with every file found."""

    skill_id: Annotated[SkillId, Meta(max_length=64)]
    """Its name; equals the folder's."""
    description: Text
    """When to use it."""
    tags: tuple[str, ...] = ()
    """Words to find it by."""
    instruction_path: RelativePath
    """SKILL.md."""
    subagent_path: RelativePath | None = None
    """AGENT.md, where the skill delegates."""
    cli_commands: tuple[CliCommand, ...] = ()
    """Commands it brings."""
    sensor_path: RelativePath | None = None
    """A sensor it brings."""
    input_schema_id: str | None = None
    """Validates the task's payload."""
    output_schema_id: str | None = None
    """Validates the result."""


class SkillFrontmatter(Record, frozen=True, kw_only=True):
    """The frontmatter of SKILL.md, in the public format and nothing more."""

    name: SkillName
    """Equals the folder's name."""
    description: Annotated[str, Meta(min_length=1, max_length=1024)]
    """What it does and when to use it."""
    license: str | None = None
    """The licence of the skill."""
    compatibility: Annotated[str, Meta(max_length=500)] | None = None
    """What it needs of its surroundings."""
    metadata: dict[str, str] | None = None
    """Free keys."""
    allowed_tools: str | None = field(default=None, name="allowed-tools")
    """Tools the author suggests, separated by spaces; a role's list is what is judged."""


class SkillFile(Record, frozen=True, kw_only=True):
    """`skill.toml` beside SKILL.md: what the public format has no room for."""

    tags: tuple[str, ...] = ()
    """Words to find it by."""
    subagent_path: RelativePath | None = None
    """AGENT.md, where the skill delegates."""
    cli_commands: tuple[CliCommand, ...] = ()
    """Commands it brings."""
    sensor_path: RelativePath | None = None
    """A sensor it brings."""
    input_schema_id: str | None = None
    """Validates the task's payload."""
    output_schema_id: str | None = None
    """Validates the result."""
