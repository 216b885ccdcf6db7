"""Capabilities: one rule with its text, its gate, its verify, its vectors, and a call to try."""

import re
import time
from collections.abc import Iterator
from typing import Any, Final, Literal

from msgspec import Struct

from keisei.console.asking import Key
from keisei.console.capability_try import MARK, Trial, TryAsk, tried
from keisei.console.page import Missing, Order, Page, page
from keisei.console.premises import Premises
from keisei.console.role import told_problems
from keisei.console.role_rule import Origin, RoleRule, origins, rules_of
from keisei.console.slow import slowly
from keisei.library.catalog import Catalog
from keisei.records.capability import CapabilityManifest
from keisei.records.error import KeiseiError
from keisei.rules.policy import Policy
from keisei.wiring.policy import Setting, vector_policy
from keisei.wiring.vector import Tried, trying_vectors

LONGEST_S: Final = 20.0
"""How long the vectors of one capability may take; the rest is not run."""
FOLDER: Final = re.compile(r"/\S*keisei-vector-\w+")
"""Where a vector was judged."""
SCOPES: Final = "files-"
"""How the names of parameters begin that take a scope's globs."""


class CapabilitiesAsk(Struct, frozen=True, kw_only=True):
    """Nothing is asked."""


class CapabilityLine(Struct, frozen=True, kw_only=True):
    """One capability in the list."""

    name: str
    """Its name, `category::slug`."""
    description: str
    """The rule in a sentence."""
    alias: str | None
    """What it stands for, where this is an old name."""
    gate: str | None
    """What its gate judges; None where it has none."""
    verify: str | None
    """What its verify checks; None where it has none."""
    vectors: int
    """Test vectors inside it."""
    roles: tuple[str, ...]
    """Roles in which it holds."""
    layer: str
    """The layer whose file holds."""


class CapabilitiesPage(Struct, frozen=True, kw_only=True):
    """Every capability."""

    items: tuple[CapabilityLine, ...]
    """By name."""
    problems: tuple[str, ...]
    """Files that cannot be read."""


class CapabilityAsk(TryAsk, frozen=True, kw_only=True):
    """Which capability, a call to try, and whether to run its vectors."""

    name: Key
    """Its name."""
    test: bool = False
    """Run the vectors."""


class CapabilityRole(Struct, frozen=True, kw_only=True):
    """A role that names it."""

    role: str
    """Which."""
    rule: RoleRule
    """How it comes by it."""


class CapabilityVector(Struct, frozen=True, kw_only=True):
    """One call and the decision it must get."""

    name: str
    """What it shows."""
    tool: str
    """The tool."""
    input: dict[str, Any]
    """Its input."""
    parameters: dict[str, Any]
    """The task's parameters in this case."""
    expected: Literal["allow", "deny"]
    """What must be answered."""
    decision: str | None = None
    """What was answered; None where it was not run."""
    passed: bool | None = None
    """Whether a rule decides as the author wants; None where it was not run."""
    reason: str | None = None
    """What the gate said."""


class CapabilityPage(Struct, frozen=True, kw_only=True):
    """One rule in three artefacts."""

    name: str
    """Its name."""
    means: str
    """Its current name; another one where this is an alias."""
    manifest: CapabilityManifest
    """Its file, without the vectors."""
    text: str | None
    """What agents read; None where it is an alias, or the text is missing."""
    roles: tuple[CapabilityRole, ...]
    """Roles that name it."""
    origins: tuple[Origin, ...]
    """Files that define it, the winning one first."""
    vectors: tuple[CapabilityVector, ...]
    """Test vectors; with what came of them where they were run."""
    ran: int
    """How many were run."""
    failed: int
    """How many of those failed."""
    trial: Trial | None
    """What its gate alone would answer to the call that was asked about."""
    problems: tuple[str, ...]
    """What is wrong with it."""


def show_capabilities(premises: Premises, _asks: CapabilitiesAsk) -> CapabilitiesPage:
    """Every capability: what it judges, what it checks, and who has it."""
    catalog, problems, items = premises.catalog(), [], []
    holders = _holders(catalog)
    for name, files in catalog.names("capability").items():
        try:
            items.append(_line(catalog.capability(name), holders.get(name, ()), files[-1].layer.name))
        except KeiseiError as error:
            problems += told_problems(f"capability `{name}`", error)
    return CapabilitiesPage(items=tuple(items), problems=tuple(problems))


def _line(manifest: CapabilityManifest, roles: tuple[CapabilityRole, ...], layer: str) -> CapabilityLine:
    head = manifest.capability
    return CapabilityLine(
        name=head.name,
        description=head.description or "",
        alias=head.alias,
        gate=(manifest.gate.kind or "built in") if manifest.gate else None,
        verify=(manifest.verify.kind or "built in") if manifest.verify else None,
        vectors=len(manifest.tests),
        roles=tuple(each.role for each in roles if each.rule.how != "relaxed"),
        layer=layer,
    )


def _holders(catalog: Catalog) -> dict[str, tuple[CapabilityRole, ...]]:
    """Roles by the capabilities they name."""
    found: dict[str, tuple[CapabilityRole, ...]] = {}
    for name in catalog.names("role"):
        try:
            rules = rules_of(catalog, catalog.resolved_role(name))
        except KeiseiError:
            continue  # the page of roles tells of it
        for capability, rule in rules.items():
            found[capability] = (*found.get(capability, ()), CapabilityRole(role=name, rule=rule))
    return found


def show_capability(premises: Premises, asks: CapabilityAsk) -> CapabilityPage:
    """One rule: its text, gate, verify and vectors, who has it, and what it would answer to a call."""
    catalog = premises.catalog()
    if catalog.found("capability", asks.name) is None:
        raise Missing(f"no capability is called `{asks.name}`", "/capabilities lists those there are")
    means, problems = catalog.canonical(asks.name), []
    manifest = catalog.capability(means)
    text = None
    try:
        text = catalog.fragment(means).decode("utf-8", "replace")
    except KeiseiError as error:
        problems += told_problems(f"capability `{means}`", error)
    ran = list(_run(premises, catalog, means)) if asks.test else []
    return CapabilityPage(
        name=asks.name,
        means=means,
        manifest=_without_vectors(manifest),
        text=text,
        roles=_holders(catalog).get(means, ()),
        origins=origins(catalog, "capability", asks.name),
        vectors=_vectors(manifest, ran),
        ran=len(ran),
        failed=sum(not each.passed for each in ran),
        trial=tried(premises, asks, lambda setting, globs: _policy(catalog, manifest, setting, globs)),
        problems=tuple(problems),
    )


def _without_vectors(manifest: CapabilityManifest) -> CapabilityManifest:
    return CapabilityManifest(
        **{name: getattr(manifest, name) for name in CapabilityManifest.__struct_fields__ if name != "tests"}
    )


def _policy(catalog: Catalog, manifest: CapabilityManifest, setting: Setting, globs: tuple[str, ...]) -> Policy:
    """The policy of this rule alone; the globs are given to whatever takes a scope."""
    accepts = manifest.parameterized.accepts if manifest.parameterized else ()
    parameters = {each: list(globs) for each in accepts if each.startswith(SCOPES) and globs}
    return vector_policy(catalog, manifest.capability.name, parameters, setting)


def _run(premises: Premises, catalog: Catalog, name: str) -> Iterator[Tried]:
    """What comes of the vectors, as many as there is time for. Raises WorldFault while others run theirs."""
    with slowly(premises, "a test of a capability's vectors"):
        until = time.monotonic() + LONGEST_S
        for each in trying_vectors(catalog, name):
            yield each
            if time.monotonic() > until:
                return


def _vectors(manifest: CapabilityManifest, ran: list[Tried]) -> tuple[CapabilityVector, ...]:
    return tuple(
        CapabilityVector(
            name=vector.name or f"vector {index + 1}",
            tool=vector.tool,
            input=vector.input,
            parameters=vector.parameters,
            expected=vector.expect,
            decision=ran[index].decision if index < len(ran) else None,
            passed=ran[index].passed if index < len(ran) else None,
            reason=_said(ran[index].reason) if index < len(ran) else None,
        )
        for index, vector in enumerate(manifest.tests)
    )


def _said(reason: str | None) -> str | None:
    """Without the name of a folder that is gone."""
    return None if reason is None else FOLDER.sub(MARK, reason)


PAGES: Final[tuple[Page, ...]] = (
    page("/capabilities", "capabilities.html", show_capabilities, room="roles"),
    page("/capabilities/{name}", "capability.html", show_capability, room="roles"),
)
ORDERS: Final[tuple[Order, ...]] = ()
