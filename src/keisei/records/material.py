"""Material: authored files as a bundle takes them up, text and hash of one reading. Internal: no published schema."""

from msgspec import Struct

from keisei.records.agent import AgentConstitution
from keisei.records.id import SkillId
from keisei.records.skill import CliCommand


class FileHash(Struct, frozen=True, kw_only=True):
    """One file, by content."""

    path: str
    """Relative to the folder it belongs to; a settings file as its adapter names it."""
    sha256: str
    """sha256 of its bytes; of a symlink, of where it leads."""


class SkillMaterial(Struct, frozen=True, kw_only=True):
    """A skill with everything in its folder."""

    skill_id: SkillId
    """Which."""
    version: str
    """`metadata.version` of its frontmatter, else the first 12 digits of its hash."""
    hash: str
    """sha256 over the canonical list of its files."""
    files: tuple[FileHash, ...]
    """Every file of the folder, sorted by path."""
    instructions: str
    """SKILL.md, whole."""
    subagent: str | None = None
    """AGENT.md, whole, where the skill delegates."""
    commands: tuple[CliCommand, ...] = ()
    """Commands it brings."""


class ConstitutionMaterial(Struct, frozen=True, kw_only=True):
    """The two documents of an agent, with the revision that was accepted."""

    record: AgentConstitution
    """Paths, hashes, version, and when it was accepted."""
    soul: str
    """SOUL.md, whole."""
    purpose: str
    """PURPOSE.md, whole."""
