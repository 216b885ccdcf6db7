"""Grants: which atoms one client may call."""

from typing import Final, Literal

from msgspec import Struct

from keisei.records.atom import AtomManifest
from keisei.rules.atom_tool import is_granted, named

INVOKE: Final = "kei-runtime::invoke"
"""Calls any atom, with a runtime of its own that knows no grant."""


class Grant(Struct, frozen=True, kw_only=True):
    """What one client may call."""

    patterns: tuple[str, ...] = ("*",)
    """Atoms it may call where they only read: ids, `package::*`, or `*`."""
    write: tuple[str, ...] = ()
    """Atoms of those it may call although they change something; likewise."""
    packages: tuple[str, ...] | None = None
    """Nothing outside of these packages; None for no such limit."""
    profile: Literal["lean", "full"] = "lean"
    """A few tools that search, describe and call; or each atom as a tool of its own."""

    def names(self, atom_id: str) -> bool:
        """Whether the atom is one of those that may be called, if it only reads."""
        package = atom_id.partition("::")[0]
        return named(atom_id, self.patterns) and (self.packages is None or package in self.packages)

    def refusal(self, manifest: AtomManifest) -> str | None:
        """Why the atom may not be called, in one sentence; None where it may."""
        if not self.names(manifest.atom):
            return f"`{manifest.atom}` is not granted here"
        if manifest.atom == INVOKE:
            return f"`{INVOKE}` is not served: call the atom itself"
        if not is_granted(manifest, self.patterns, write=named(manifest.atom, self.write)):
            return f"`{manifest.atom}` may change something, and only atoms that read are granted here"
        return None
