"""Ports: what the engine needs of the world. Verbs that take and return values; implemented on the floor above."""

from typing import Protocol

from keisei.rules.role import ResolvedRole


class Library(Protocol):
    """Authored files."""

    def resolved_role(self, name: str) -> ResolvedRole:
        """A role with everything it inherits. Raises where anything it names is missing."""

    def canonical(self, name: str) -> str:
        """The current name of a capability, aliases followed."""

    def fragment(self, name: str) -> bytes:
        """The text of a capability, byte for byte. Raises where it is missing."""
