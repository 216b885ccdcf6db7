"""Leaves of everything that is no atom: a reader for each kind. Each raises AuthorError for a broken file."""

from collections.abc import Callable
from pathlib import Path

from keisei.library.atom_spec import summary
from keisei.library.catalog import load_found
from keisei.library.document import parse, parse_frontmatter
from keisei.library.leaf_text import (
    MOST_WORDS,
    WORD,
    ancestors_of,
    clean,
    created_of,
    creator_of,
    facets_of,
    fields_of,
    line,
    links_of,
    names_of,
    whole,
    words_of,
)
from keisei.library.load import load
from keisei.library.rule import rule_names
from keisei.library.shelf import Found
from keisei.library.source import inside, read_source
from keisei.records.capability import CapabilityManifest
from keisei.records.error import AuthorError
from keisei.records.role import RoleManifest
from keisei.records.sage import Leaf, NodeKind
from keisei.records.skill import SkillFile, SkillFrontmatter
from keisei.records.task_type import TaskTypeSpec
from keisei.records.workflow import WorkflowDefinition
from keisei.rules.link import body_links


def _capability(found: Found) -> tuple[Leaf, Path]:
    manifest: CapabilityManifest = load_found("capability", found).record
    head, alias = manifest.capability, manifest.capability.alias
    relative = manifest.text.path if manifest.text else "text.md"
    body = _text(found.path.parent, relative)
    told = [head.rationale or "", *(manifest.parameterized.accepts if manifest.parameterized else ())]
    restricts = manifest.restricts
    leaf = Leaf(
        node="capability",
        name=found.name,
        names=names_of("capability", found.name),
        title=line(head.description),
        body=whole(body),
        fields=fields_of([*told, *((*restricts.tools_denied, *restricts.paths) if restricts else ())]),
        deprecated=line(f"use {alias}" if alias else head.deprecated) or None,
        facets=facets_of(manifest.taxonomy),
        creator=creator_of(manifest.lineage),
        created=created_of(manifest.lineage),
        links=links_of(
            {
                "uses": [f"capabilities/{alias}" if alias else None],
                "body": body_links(body, beside=None),
                "lineage": ancestors_of(manifest.lineage),
            }
        ),
    )
    return leaf, found.path.parent / relative


def _role(found: Found) -> tuple[Leaf]:
    manifest: RoleManifest = load_found("role", found).record
    head, rules, docs, atoms = manifest.role, manifest.capabilities, manifest.docs, manifest.atoms
    body = clean("\n\n".join([*docs.use_cases, docs.notes or ""]) if docs else "")
    roles = [rules.extends, *(manifest.pipeline.handoff if manifest.pipeline else ())]
    leaf = Leaf(
        node="role",
        name=found.name,
        names=names_of("role", found.name),
        title=line(head.description),
        body=whole(body),
        fields=fields_of([head.display_name or "", *(manifest.tools.allowed if manifest.tools else ())]),
        facets=facets_of(manifest.taxonomy),
        creator=creator_of(manifest.lineage),
        created=created_of(manifest.lineage),
        links=links_of(
            {
                "uses": [
                    *(f"roles/{name}" for name in roles if name),
                    *(f"capabilities/{name}" for name in rules.required),
                    *(f"atoms/{name}" for name in (atoms.allowed if atoms else ()) if "*" not in name),
                ],
                "body": body_links(body, beside=None),
                "lineage": ancestors_of(manifest.lineage),
            }
        ),
    )
    return (leaf,)


def _skill(found: Found) -> tuple[Leaf, Path]:
    document, body = parse_frontmatter(read_source(found.path))
    front: SkillFrontmatter = load(document, "skill.frontmatter").record
    body = clean(body)
    if not body.strip():
        raise AuthorError([document.problem("empty-text", (), "has no instructions below the frontmatter")])
    beside = found.path.parent / "skill.toml"
    extras = _extras(beside)
    leaf = Leaf(
        node="skill",
        name=found.name,
        names=names_of("skill", found.name),
        title=line(front.description),
        keywords=words_of(extras.tags),
        body=whole(body),
        fields=fields_of(f"{each.name} {each.command} {each.description or ''}" for each in extras.cli_commands),
        links=links_of({"body": body_links(body, beside=None)}),
    )
    return leaf, beside


def _workflow(found: Found) -> tuple[Leaf]:
    definition: WorkflowDefinition = load_found("workflow", found).record
    states = definition.states
    leaf = Leaf(
        node="workflow",
        name=found.name,
        names=names_of("workflow", found.name),
        title=line(definition.description),
        fields=fields_of(state.state_id for state in states),
        links=links_of(
            {
                "uses": [
                    *(f"task-types/{state.task_type}" for state in states if state.task_type),
                    *(f"skills/{skill}" for state in states for skill in state.default_skill_ids),
                ]
            }
        ),
    )
    return (leaf,)


def _task_type(found: Found) -> tuple[Leaf]:
    spec: TaskTypeSpec = load_found("task-type", found).record
    leaf = Leaf(
        node="task-type",
        name=found.name,
        names=names_of("task-type", found.name),
        title=line(spec.description),
        fields=fields_of(spec.artifact_roles),
        links=links_of({"uses": [f"skills/{skill}" for skill in spec.allowed_skill_ids or ()]}),
    )
    return (leaf,)


def _rule(found: Found) -> tuple[Leaf]:
    body = clean(read_source(found.path).text)
    heading = next((each.lstrip("#") for each in body.splitlines() if each.startswith("#")), "")
    leaf = Leaf(
        node="rule",
        name=found.name,
        names=_rule_names(found),
        title=line(heading) or line(summary(body)),
        body=whole(body),
        links=links_of({"body": body_links(body)}),
    )
    return (leaf,)


def _rule_names(found: Found) -> tuple[str, ...]:
    """Its name, its file, and its number in the spellings that links and people use."""
    others = sorted(name for name in rule_names(found.path) - {found.name} if len(name) <= WORD)[:MOST_WORDS]
    spellings = ("RULE ", "rule ", "RULE-")
    numbers = [name.replace("RULE ", spelling) for name in others for spelling in spellings]
    folder = [f"rules/{name}" for name in (*numbers, f"{found.name}.md")]
    return tuple(dict.fromkeys((*names_of("rule", found.name), *numbers, f"{found.name}.md", *folder)))


READERS: dict[NodeKind, Callable[[Found], tuple[Leaf] | tuple[Leaf, Path]]] = {
    "capability": _capability,
    "role": _role,
    "skill": _skill,
    "workflow": _workflow,
    "task-type": _task_type,
    "rule": _rule,
}


def _text(folder: Path, relative: str) -> str:
    """The text of a file in a folder; empty where it is missing, broken or elsewhere."""
    path = inside(folder, relative)
    try:
        return "" if path is None else clean(read_source(path).text)
    except AuthorError:
        return ""


def _extras(path: Path) -> SkillFile:
    try:
        extras: SkillFile = load(parse(read_source(path)), "skill.file").record
    except AuthorError:
        return SkillFile()
    return extras
