"""Roles: which rules each has and how it comes by them, and one role as an agent would meet it."""

from collections.abc import Iterable
from itertools import groupby
from typing import Final

from msgspec import Struct

from keisei.console.asking import Key
from keisei.console.capability_try import Trial, TryAsk, tried
from keisei.console.page import Missing, Order, Page, page
from keisei.console.premises import Premises
from keisei.console.role_rule import Origin, RoleRule, origins, rules_of, why_not_spawnable
from keisei.library.catalog import Catalog
from keisei.records.error import AuthorError, KeiseiError
from keisei.records.role import RoleAtoms, RoleDocs, RoleIsolation, RoleTools
from keisei.records.task_spec import SpecScope, SpecTask, TaskSpec
from keisei.rules.policy import Policy
from keisei.rules.role import ResolvedRole
from keisei.wiring.policy import Setting, spec_policy

ESCALATIONS: Final = {
    "ask-via-return": "questions in its report become something that needs a person",
    "orchestrator-notify": "somebody is told before it settles, and landing waits for approval",
    "fail-fast": "the first violation ends the task",
}
ISOLATIONS: Final = {
    "none": "no confinement is asked for",
    "landlock": "at least the kernel's file rules hold it",
    "full": "namespaces, file rules and system call filters hold it, or it does not run",
}


class RoleLine(Struct, frozen=True, kw_only=True):
    """One role in the matrix."""

    name: str
    """Its name."""
    display_name: str
    """Its name for people."""
    description: str
    """What an agent in it does."""
    extends: str | None
    """Its parent."""
    spawnable: bool
    """Whether an agent may have it."""
    why_not: str | None
    """Why none may."""
    layer: str
    """The layer whose file holds."""
    rules: dict[str, RoleRule]
    """Its capabilities by name, in the order of the prompt; relaxed ones last."""


class RoleColumn(Struct, frozen=True, kw_only=True):
    """One capability in the matrix."""

    name: str
    """Its name, `category::slug`."""
    description: str
    """The rule in a sentence."""


class RoleColumns(Struct, frozen=True, kw_only=True):
    """The capabilities of one category."""

    category: str
    """The first half of their names."""
    capabilities: tuple[RoleColumn, ...]
    """By name."""


class RoleAlias(Struct, frozen=True, kw_only=True):
    """An old name that still works."""

    name: str
    """The old name."""
    means: str
    """What it stands for."""


class RolesAsk(Struct, frozen=True, kw_only=True):
    """Nothing is asked."""


class RolesPage(Struct, frozen=True, kw_only=True):
    """Roles by capabilities."""

    items: tuple[RoleLine, ...]
    """Roles, by name."""
    columns: tuple[RoleColumns, ...]
    """Capabilities that roles name, by category."""
    unused: tuple[str, ...]
    """Capabilities that no role names."""
    aliases: tuple[RoleAlias, ...]
    """Old names of capabilities."""
    problems: tuple[str, ...]
    """Files that cannot be read; `keisei lint all` tells more."""


class RoleAsk(TryAsk, frozen=True, kw_only=True):
    """Which role, and a call to try against all of its rules."""

    name: Key
    """Its name."""


class RoleText(Struct, frozen=True, kw_only=True):
    """One capability of a role, with what an agent reads of it."""

    capability: str
    """Its name."""
    rule: RoleRule
    """How the role comes by it."""
    text: str | None
    """The fragment in the prompt; None where the rule is relaxed, or its text is missing."""


class RolePage(Struct, frozen=True, kw_only=True):
    """One role with everything it inherits."""

    name: str
    """Its name."""
    display_name: str
    """Its name for people."""
    description: str
    """What an agent in it does."""
    spawnable: bool
    """Whether an agent may have it."""
    why_not: str | None
    """Why none may."""
    chain: tuple[str, ...]
    """Itself first, then its parents."""
    capabilities: tuple[RoleText, ...]
    """In the order of the prompt; relaxed ones last."""
    tools: RoleTools
    """Which tools, and which commands."""
    escalation: str
    """What happens when it is stuck."""
    escalation_means: str
    """The same in words."""
    isolation: RoleIsolation
    """What the machine must hold."""
    isolation_means: str
    """The same in words."""
    atoms: RoleAtoms
    """Which atoms it may call."""
    handoff: tuple[str, ...]
    """Roles that take over after it."""
    docs: RoleDocs
    """When to use it."""
    profiles: tuple[str, ...]
    """Profiles that have this role."""
    origins: tuple[Origin, ...]
    """Files that define it, the winning one first."""
    trial: Trial | None
    """What the gate would answer to the call that was asked about."""
    problems: tuple[str, ...]
    """Texts that cannot be read."""


def show_roles(premises: Premises, _asks: RolesAsk) -> RolesPage:
    """Which capabilities each role has: required, inherited or relaxed."""
    catalog, problems = premises.catalog(), []
    lines = []
    for name in catalog.names("role"):
        try:
            lines.append(_line(catalog, catalog.resolved_role(name)))
        except KeiseiError as error:
            problems += told_problems(f"role `{name}`", error)
    used = {each for line in lines for each in line.rules}
    aliases, unused = [], []
    for name in catalog.names("capability"):
        try:
            means = catalog.aliases(name)[-1]
        except KeiseiError as error:
            problems += told_problems(f"capability `{name}`", error)
            continue
        if means != name:
            aliases.append(RoleAlias(name=name, means=means))
        elif name not in used:
            unused.append(name)
    return RolesPage(
        items=tuple(lines),
        columns=_columns(catalog, used),
        unused=tuple(unused),
        aliases=tuple(aliases),
        problems=tuple(dict.fromkeys(problems)),
    )


def told_problems(what: str, error: KeiseiError) -> list[str]:
    """What is wrong with a file, a line each."""
    if isinstance(error, AuthorError):
        return [each.render().partition("\n")[0] for each in error.problems]
    return [f"{what}: {error.message}"]


def _line(catalog: Catalog, role: ResolvedRole) -> RoleLine:
    head = role.manifest.role
    return RoleLine(
        name=role.name,
        display_name=head.display_name or role.name,
        description=head.description or "",
        extends=role.manifest.capabilities.extends,
        spawnable=role.spawnable,
        why_not=why_not_spawnable(catalog, role),
        layer=next(each.layer for each in origins(catalog, "role", role.name)),
        rules=rules_of(catalog, role),
    )


def _columns(catalog: Catalog, used: Iterable[str]) -> tuple[RoleColumns, ...]:
    return tuple(
        RoleColumns(
            category=category,
            capabilities=tuple(
                RoleColumn(name=name, description=catalog.capability(name).capability.description or "")
                for name in names
            ),
        )
        for category, names in groupby(sorted(used), key=lambda name: name.partition("::")[0])
    )


def show_role(premises: Premises, asks: RoleAsk) -> RolePage:
    """One role as an agent would meet it, and what its gate would answer to a call."""
    catalog = premises.catalog()
    if catalog.found("role", asks.name) is None:
        raise Missing(f"no role is called `{asks.name}`", "/roles lists those there are")
    role = catalog.resolved_role(asks.name)
    problems: list[str] = []
    manifest = role.manifest
    return RolePage(
        name=role.name,
        display_name=manifest.role.display_name or role.name,
        description=manifest.role.description or "",
        spawnable=role.spawnable,
        why_not=why_not_spawnable(catalog, role),
        chain=role.chain,
        capabilities=tuple(
            RoleText(capability=name, rule=rule, text=_text(catalog, name, rule, problems))
            for name, rule in rules_of(catalog, role).items()
        ),
        tools=role.tools,
        escalation=role.escalation.policy,
        escalation_means=ESCALATIONS[role.escalation.policy],
        isolation=role.isolation,
        isolation_means=ISOLATIONS[role.isolation.require],
        atoms=role.atoms,
        handoff=manifest.pipeline.handoff if manifest.pipeline else (),
        docs=manifest.docs or RoleDocs(),
        profiles=tuple(_profiles(catalog, role.name)),
        origins=origins(catalog, "role", role.name),
        trial=tried(premises, asks, lambda setting, globs: _policy(catalog, role.name, setting, globs)),
        problems=tuple(problems),
    )


def _policy(catalog: Catalog, role: str, setting: Setting, globs: tuple[str, ...]) -> Policy:
    spec = TaskSpec(task=SpecTask(role=role), scope=SpecScope(files_whitelist=globs))
    return spec_policy(catalog, spec, setting)


def _text(catalog: Catalog, name: str, rule: RoleRule, problems: list[str]) -> str | None:
    if rule.how == "relaxed":
        return None
    try:
        return catalog.fragment(name).decode("utf-8", "replace")
    except KeiseiError as error:
        problems += told_problems(f"capability `{name}`", error)
        return None


def _profiles(catalog: Catalog, role: str) -> Iterable[str]:
    for name in catalog.names("profile"):
        try:
            if catalog.loaded("profile", name).record.role == role:
                yield name
        except KeiseiError:
            continue  # its own page and lint tell what is wrong with it


PAGES: Final[tuple[Page, ...]] = (
    page("/roles", "roles.html", show_roles),
    page("/roles/{name}", "role.html", show_role),
)
ORDERS: Final[tuple[Order, ...]] = ()
