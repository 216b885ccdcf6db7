"""Skills: SKILL.md in the public format, and skill.toml beside it for the rest."""

import os
from collections.abc import Iterator
from pathlib import Path

from keisei.contracts.registry import RECORDS, schema_id
from keisei.contracts.words import nearest
from keisei.library.document import parse, parse_frontmatter
from keisei.library.json_schema import schema_problems
from keisei.library.load import Loaded, load
from keisei.library.source import inside, is_file, read_source
from keisei.records.error import AuthorError
from keisei.records.id import SkillId
from keisei.records.problem import Problem
from keisei.records.skill import SkillFile, SkillFrontmatter, SkillManifest


def load_skill(path: Path) -> Loaded:
    """The manifest of a skill, from both files. Raises AuthorError with the problems of both."""
    problems: list[Problem] = []
    extras = SkillFile()
    beside = path.parent / "skill.toml"
    try:
        if os.path.lexists(beside):
            extras = load(parse(read_source(beside)), "skill.file").record
    except AuthorError as error:
        problems.extend(error.problems)
    try:
        document, body = parse_frontmatter(read_source(path))
        front = load(document, "skill.frontmatter")
    except AuthorError as error:
        raise AuthorError([*error.problems, *problems]) from error
    if not body.strip():
        problems.append(document.problem("empty-text", (), "has no instructions below the frontmatter"))
    if problems:
        raise AuthorError(problems)
    return Loaded(_manifest(front.record, extras), document, front.warnings)


def _manifest(front: SkillFrontmatter, extras: SkillFile) -> SkillManifest:
    return SkillManifest(
        skill_id=SkillId(front.name),
        description=front.description,
        tags=extras.tags,
        instruction_path="SKILL.md",
        subagent_path=extras.subagent_path,
        cli_commands=extras.cli_commands,
        sensor_path=extras.sensor_path,
        input_schema_id=extras.input_schema_id,
        output_schema_id=extras.output_schema_id,
    )


def check_skill(loaded: Loaded, folder_name: str) -> Iterator[Problem]:
    """What the schema cannot say of a skill."""
    skill: SkillManifest = loaded.record
    if skill.skill_id != folder_name:
        message = f"name `{skill.skill_id}` differs from the folder `{folder_name}`"
        yield loaded.document.problem("bad-name", ("name",), message)
    yield from _schema_ids(skill, loaded)
    for key in ("subagent_path", "sensor_path"):
        relative = getattr(skill, key)
        if relative is not None:
            target = inside(loaded.document.source.path.parent, relative)
            if target is None or not is_file(target):
                beside = parse(read_source(loaded.document.source.path.parent / "skill.toml"))
                code = "outside" if target is None else "missing-file"
                message = f"`{relative}` is {'outside the skill' if target is None else 'missing'}"
                yield beside.problem(code, (key,), message)


def _schema_ids(skill: SkillManifest, loaded: Loaded) -> Iterator[Problem]:
    """A schema is a published record, or a file beside the skill."""
    folder = loaded.document.source.path.parent
    known = [schema_id(name) for name in RECORDS]
    for key in ("input_schema_id", "output_schema_id"):
        named = getattr(skill, key)
        if named is None or named in known:
            continue
        beside = parse(read_source(folder / "skill.toml"))
        if named.startswith("agent-runtime/") or not named.endswith(".json"):
            hint = nearest(named, known) or "write `agent-runtime/<record>/v1`, or a .json file beside the skill"
            yield beside.problem("dangling", (key,), f"no published schema is called `{named}`", hint)
        else:
            yield from schema_problems(beside, (key,), folder, named)
