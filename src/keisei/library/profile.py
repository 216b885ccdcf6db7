"""Profiles checked: role, adapter, style and skills fit together."""

from collections.abc import Iterator

from keisei.contracts.words import nearest
from keisei.library.catalog import Catalog
from keisei.library.document import Document
from keisei.library.load import Loaded
from keisei.library.project import unknown_adapter
from keisei.library.shelf import Found
from keisei.records.adapter import STYLES
from keisei.records.error import AuthorError, KeiseiError
from keisei.records.problem import Problem
from keisei.records.profile import SubagentProfile


def check_profile(catalog: Catalog, found: Found, loaded: Loaded) -> Iterator[Problem]:
    """Everything that would refuse the profile at dispatch."""
    profile: SubagentProfile = loaded.record
    document = loaded.document
    if profile.profile_id != found.name:
        message = f"profile_id `{profile.profile_id}` differs from the file `{found.path.name}`"
        yield document.problem("bad-name", ("profile_id",), message)
    yield from _role(catalog, profile, document)
    yield from _adapter(catalog, profile.default_adapter_id, profile.style, ("default_adapter_id",), document)
    for index, name in enumerate(profile.fallback_adapter_ids):
        yield from _adapter(catalog, name, profile.style, ("fallback_adapter_ids", index), document)
    yield from skill_problems(catalog, profile.skill_ids, ("skill_ids",), document)
    for channel, policy in (profile.integration_policy or {}).items():
        if policy not in ("allow", "none"):
            message = f"policy of channel `{channel}` must be `allow` or `none`, not `{policy}`"
            yield document.problem("wrong-value", ("integration_policy", channel), message)


def _role(catalog: Catalog, profile: SubagentProfile, document: Document) -> Iterator[Problem]:
    if catalog.found("role", profile.role) is None:
        hint = nearest(profile.role, list(catalog.names("role")))
        yield document.problem("dangling", ("role",), f"role `{profile.role}` does not exist", hint)
        return
    try:
        spawnable = catalog.resolved_role(profile.role).spawnable
    except KeiseiError:
        return  # told with the role
    if not spawnable:
        message = f"role `{profile.role}` cannot be spawned; by RULE 0.13 the orchestrator holds git"
        yield document.problem("not-spawnable", ("role",), message, "use `edit-local`")


def _adapter(
    catalog: Catalog, name: str, style: str, place: tuple[str | int, ...], document: Document
) -> Iterator[Problem]:
    try:
        adapters = catalog.adapters
    except AuthorError:
        return  # told with keisei.toml
    if name not in adapters:
        message, hint = unknown_adapter(name, adapters)
        yield document.problem("dangling", place, message, hint)
        return
    kind = type(adapters[name].record).__struct_config__.tag
    wanted = STYLES.get(str(kind))
    if wanted is not None and wanted != style:
        message = f"style `{style}` does not fit adapter `{name}`, whose harness is {kind}"
        fallback = place[0] == "fallback_adapter_ids"
        hint = "name an adapter of the same style" if fallback else f"write `{wanted}`"
        yield document.problem("style-mismatch", place if fallback else ("style",), message, hint)


def skill_problems(
    catalog: Catalog, names: tuple[str, ...], place: tuple[str | int, ...], document: Document
) -> Iterator[Problem]:
    """The complaint about each skill that does not exist."""
    for index, name in enumerate(names):
        if catalog.found("skill", name) is None:
            hint = nearest(name, list(catalog.names("skill")))
            yield document.problem("dangling", (*place, index), f"skill `{name}` does not exist", hint)
