"""How a role comes by its rules: its own, its parents', and those that were relaxed on the way. And which file won."""

from typing import Literal

from msgspec import Struct

from keisei.library.catalog import Catalog
from keisei.library.source import shown_path
from keisei.rules.role import GIT_HOLDER, ResolvedRole

How = Literal["required", "inherited", "relaxed"]


class RoleRule(Struct, frozen=True, kw_only=True):
    """One capability as one role has it."""

    how: How
    """`required` by itself, `inherited` from a parent, or `relaxed`: it does not hold."""
    by: str
    """The role of the chain that says so."""
    named: str
    """The name it is written by; an old one where that is an alias."""


class Origin(Struct, frozen=True, kw_only=True):
    """One file that defines a name."""

    layer: str
    """kit, root, user or project."""
    path: str
    """The file."""
    wins: bool
    """Whether this is the one that holds; the others are hidden by it."""


def rules_of(catalog: Catalog, role: ResolvedRole) -> dict[str, RoleRule]:
    """Every capability that the role or a parent names, by its current name, in the order of the prompt.

    Raises AuthorError, OperatorError.
    """
    found: dict[str, RoleRule] = {}
    for name in reversed(role.chain):
        told = catalog.role(name).capabilities
        for each in told.required:
            current, how = catalog.canonical(each), "required" if name == role.name else "inherited"
            if current not in found or found[current].how == "relaxed" or name == role.name:
                found[current] = RoleRule(how=how, by=name, named=each)  # type: ignore[arg-type]
        for each in told.relaxes:
            current = catalog.canonical(each)
            if current in found:
                found[current] = RoleRule(how="relaxed", by=name, named=each)
    held = {name: found[name] for name in role.capabilities}
    return held | {name: rule for name, rule in found.items() if name not in held}


def why_not_spawnable(catalog: Catalog, role: ResolvedRole) -> str | None:
    """Why no agent may have it, in a sentence; None where one may. Raises AuthorError, OperatorError."""
    if role.spawnable:
        return None
    holder = next(
        (name for name in role.chain if name == GIT_HOLDER or not catalog.role(name).role.spawnable), role.name
    )
    if holder == GIT_HOLDER:
        why = "RULE 0.13: only the orchestrator holds git"
    else:
        why = "its file says `spawnable = false`" if holder == role.name else f"the file of `{holder}` forbids it"
    return f"{why}{'' if holder == role.name or holder != GIT_HOLDER else f', and it extends `{holder}`'}"


def origins(catalog: Catalog, kind: str, name: str) -> tuple[Origin, ...]:
    """The files that define a name, the winning one first."""
    found = list(reversed(catalog.names(kind).get(name, [])))
    return tuple(
        Origin(layer=each.layer.name, path=shown_path(each.path), wins=index == 0) for index, each in enumerate(found)
    )
