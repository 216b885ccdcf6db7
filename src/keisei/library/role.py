"""Roles checked: everything they name exists, and they do not contradict themselves."""

from collections.abc import Iterator
from itertools import chain

from keisei.contracts.words import nearest
from keisei.library.capability import pattern_problem
from keisei.library.catalog import Catalog
from keisei.library.document import Document
from keisei.library.load import Loaded
from keisei.library.shelf import Found
from keisei.library.telling import bounded
from keisei.records.capability import CapabilityManifest
from keisei.records.error import AuthorError, OperatorError
from keisei.records.problem import Problem
from keisei.records.role import RoleManifest
from keisei.rules.pattern import is_tame, matches, samples
from keisei.rules.role import GIT_HOLDER, ResolvedRole, Tangled

COMPARED, SAMPLED = 100, 16
"""Patterns of a role and of a capability that are compared, and examples of each: bounded against floods."""


def check_role(catalog: Catalog, found: Found, loaded: Loaded) -> Iterator[Problem]:
    """Everything that would refuse the role later, and what a reader would miss."""
    manifest: RoleManifest = loaded.record
    document = loaded.document
    if manifest.role.name != found.name:
        message = f"name `{manifest.role.name}` differs from the file `{found.path.name}`"
        yield document.problem("bad-name", ("role", "name"), message)
    if not manifest.role.description:
        yield document.problem("missing-key", ("role",), "missing key `description`", severity="warning")
    problems = list(bounded(chain(_references(catalog, manifest, document), _patterns(manifest, document))))
    yield from problems
    if any(problem.severity == "error" for problem in problems):
        return
    try:
        resolved = catalog.resolved_role(found.name)
    except Tangled as tangled:
        yield document.problem(tangled.code, ("capabilities", "extends"), tangled.message, tangled.hint)
    except (AuthorError, OperatorError):
        return  # a parent's problem, told with the parent
    else:
        inherited = set(_told_of_parent(catalog, resolved, document))
        yield from (each for each in _contradictions(catalog, resolved, document) if each.message not in inherited)


def _told_of_parent(catalog: Catalog, resolved: ResolvedRole, document: Document) -> Iterator[str]:
    """What is wrong with the parent already, and told there."""
    if resolved.manifest.capabilities.extends is not None:
        parent = catalog.resolved_role(resolved.manifest.capabilities.extends)
        yield from (each.message for each in _contradictions(catalog, parent, document))


def _references(catalog: Catalog, manifest: RoleManifest, document: Document) -> Iterator[Problem]:
    for key in ("required", "relaxes"):
        for index, name in enumerate(getattr(manifest.capabilities, key)):
            yield from _capability(catalog, name, ("capabilities", key, index), document)
    parent = manifest.capabilities.extends
    if parent is not None and catalog.found("role", parent) is None:
        hint = nearest(parent, list(catalog.names("role")))
        yield document.problem("dangling", ("capabilities", "extends"), f"role `{parent}` does not exist", hint)
    for index, name in enumerate(manifest.pipeline.handoff if manifest.pipeline else ()):
        if catalog.found("role", name) is None:
            hint = nearest(name, list(catalog.names("role")))
            yield document.problem("dangling", ("pipeline", "handoff", index), f"role `{name}` does not exist", hint)


def _capability(catalog: Catalog, name: str, place: tuple[str | int, ...], document: Document) -> Iterator[Problem]:
    if catalog.found("capability", name) is None:
        hint = nearest(name, list(catalog.names("capability")))
        yield document.problem("dangling", place, f"capability `{name}` does not exist", hint)
        return
    try:
        alias = catalog.capability(name).capability.alias
    except AuthorError:
        return  # told with the capability
    if alias is not None:
        message = f"`{name}` is an old name of `{alias}`"
        yield document.problem("deprecated", place, message, f"write `{alias}`", severity="warning")


def _patterns(manifest: RoleManifest, document: Document) -> Iterator[Problem]:
    for index, pattern in enumerate(manifest.tools.bash_patterns_allowed if manifest.tools else ()):
        yield from pattern_problem(document, ("tools", "bash-patterns-allowed", index), pattern)


def _contradictions(catalog: Catalog, resolved: ResolvedRole, document: Document) -> Iterator[Problem]:
    if resolved.manifest.role.spawnable and not resolved.spawnable:
        holder = next((name for name in resolved.chain if not catalog.role(name).role.spawnable), GIT_HOLDER)
        message = f"cannot be spawned, because `{holder}` cannot: by RULE 0.13 the orchestrator holds git"
        yield document.problem("contradiction", ("role", "name"), message, "write `spawnable = false`")
    for name in resolved.relaxed_in_vain:
        index = resolved.manifest.capabilities.relaxes.index(name)
        message = f"relaxes `{name}`, which no parent requires"
        yield document.problem("relaxes-nothing", ("capabilities", "relaxes", index), message, severity="warning")
    for index, tool in enumerate(resolved.tools.allowed):
        for name in resolved.capabilities:
            if tool in _denied_tools(catalog, name):
                message = f"allows the tool `{tool}`, which its capability `{name}` refuses"
                yield document.problem("contradiction", ("tools", "allowed", index), message)
    for index, pattern in enumerate(resolved.tools.bash_patterns_allowed[:COMPARED]):
        for name, denied in _denying_patterns(catalog, resolved, pattern):
            message = f"allows the command `{pattern}`, which its capability `{name}` refuses by `{denied}`"
            yield document.problem("contradiction", ("tools", "bash-patterns-allowed", index), message)
    if resolved.tools.bash_patterns_allowed and "Bash" not in resolved.tools.allowed:
        message = "has bash-patterns-allowed, but the tool `Bash` is not in `allowed`"
        yield document.problem("contradiction", ("tools", "bash-patterns-allowed"), message)


def _denied_tools(catalog: Catalog, name: str) -> frozenset[str]:
    restricts = catalog.capability(name).restricts
    return frozenset(restricts.tools_denied) if restricts else frozenset()


def _denying_patterns(catalog: Catalog, resolved: ResolvedRole, pattern: str) -> Iterator[tuple[str, str]]:
    """Capabilities that refuse everything a role's pattern allows, as far as examples of the pattern can show."""
    allowed = samples(pattern)[:SAMPLED]
    for name in resolved.capabilities if allowed else ():
        manifest = catalog.capability(name)
        if manifest.restricts is None or not _refuses(catalog, manifest):
            continue
        patterns = [each for each in manifest.restricts.tool_patterns[:COMPARED] if is_tame(each)]
        denying = [next((each for each in patterns if matches(each, text)), None) for text in allowed]
        if all(denying):
            yield name, denying[0] or ""


def _refuses(catalog: Catalog, manifest: CapabilityManifest) -> bool:
    """Whether the patterns of a capability are what it refuses. A compiled gate has the mode of the built-in one."""
    gate = manifest.gate
    if gate is not None and gate.kind is None:
        shipped = catalog.shipped("capability", manifest.capability.name)
        gate = shipped.gate if shipped is not None else gate
    return gate is None or gate.mode == "deny"
