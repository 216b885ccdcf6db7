"""Roles resolved: the parent's rules first, then its own, then what is relaxed is dropped."""

from collections.abc import Callable
from typing import NamedTuple

from keisei.records.error import KeiseiError
from keisei.records.role import Escalation, RoleAtoms, RoleIsolation, RoleManifest, RoleTools

DEEPEST = 16
GIT_HOLDER = "git-ops"
"""The role that documents who holds git. No file can make it, or what extends it, spawnable: RULE 0.13."""


class Tangled(KeiseiError):
    """The chain of parents does not end."""

    def __init__(self, code: str, message: str, hint: str) -> None:
        """Keep the problem code, so that lint can show it where it stands."""
        super().__init__(message, hint)
        self.code = code


class ResolvedRole(NamedTuple):
    """A role with everything it inherits."""

    name: str
    manifest: RoleManifest
    chain: tuple[str, ...]
    """Itself first, then its parents."""
    capabilities: tuple[str, ...]
    """In the order of the prompt, aliases resolved."""
    tools: RoleTools
    escalation: Escalation
    isolation: RoleIsolation
    atoms: RoleAtoms
    spawnable: bool
    """Whether an agent may have it: only if neither it nor a parent is documented only."""
    relaxed_in_vain: tuple[str, ...]
    """Names it relaxes that no parent requires."""


def resolve_role(name: str, role: Callable[[str], RoleManifest], canonical: Callable[[str], str]) -> ResolvedRole:
    """The role with everything it inherits. Raises Tangled for a circle or a chain of more than 16."""
    line = _line(name, role)
    capabilities: list[str] = []
    vain: list[str] = []
    for manifest in reversed(line):
        for each in map(canonical, manifest.capabilities.required):
            if each not in capabilities:
                capabilities.append(each)
        for each in manifest.capabilities.relaxes:
            if canonical(each) in capabilities:
                capabilities.remove(canonical(each))
            elif manifest is line[0]:
                vain.append(each)
    return ResolvedRole(
        name=name,
        manifest=line[0],
        chain=tuple(manifest.role.name for manifest in line),
        capabilities=tuple(capabilities),
        tools=next((each.tools for each in line if each.tools), RoleTools()),
        escalation=next((each.escalation for each in line if each.escalation), Escalation()),
        isolation=next((each.isolation for each in line if each.isolation), RoleIsolation()),
        atoms=next((each.atoms for each in line if each.atoms), RoleAtoms()),
        spawnable=all(each.role.spawnable and each.role.name != GIT_HOLDER for each in line) and name != GIT_HOLDER,
        relaxed_in_vain=tuple(vain),
    )


def _line(name: str, role: Callable[[str], RoleManifest]) -> list[RoleManifest]:
    line, names = [role(name)], [name]
    while parent := line[-1].capabilities.extends:
        if parent in names:
            circle = " -> ".join([*names[names.index(parent) :], parent])
            message = f"role `{name}` extends itself: {circle}"
            raise Tangled("cycle", message, "break the circle by removing one `extends`")
        if len(names) > DEEPEST:
            message = f"role `{name}` has more than {DEEPEST} parents"
            raise Tangled("too-long-chain", message, "flatten the roles")
        names.append(parent)
        line.append(role(parent))
    return line
