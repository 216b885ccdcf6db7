"""Material: authored files as bundles take them up, so that a hash is always of the text that is shown."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import jsonschema_rs

from keisei.contracts.check import pointer, tried
from keisei.library.agent import check_agent, check_claims, constitution_of, read_papers
from keisei.library.catalog import Catalog, load_found
from keisei.library.folder import folder_files, moved
from keisei.library.json_schema import compiled, read_schema
from keisei.library.load import Loaded
from keisei.library.parser import DEPTH
from keisei.library.shelf import Found
from keisei.library.skill import check_skill
from keisei.library.source import inside, is_file, read_source
from keisei.records.adapter import AdapterConfig
from keisei.records.error import AuthorError, Refused
from keisei.records.id import AgentId, SkillId
from keisei.records.material import ConstitutionMaterial, FileHash, SkillMaterial
from keisei.records.problem import Problem
from keisei.records.skill import SkillManifest
from keisei.records.task_type import TaskTypeSpec
from keisei.rules.bundle_hash import files_hash
from keisei.rules.canonical import canonical
from keisei.rules.prompt import visible
from keisei.rules.role import ResolvedRole
from keisei.rules.variant import SHORT

MOST_COMPLAINTS = 20


class AuthoredMaterial:
    """What bundles need of the authored files. Skills and constitutions are read anew every time, never from memory."""

    def __init__(self, catalog: Catalog) -> None:
        """Over the layers of a catalog."""
        self.catalog = catalog
        self._validators: dict[Path, jsonschema_rs.Draft7Validator] = {}

    def resolved_role(self, name: str) -> ResolvedRole:
        """A role with everything it inherits. Raises where anything it names is missing."""
        return self.catalog.resolved_role(name)

    def canonical(self, name: str) -> str:
        """The current name of a capability, aliases followed."""
        return self.catalog.canonical(name)

    def fragment(self, name: str) -> bytes:
        """The text of a capability, byte for byte. Raises where it is missing."""
        return self.catalog.fragment(name)

    def capability_files(self, name: str) -> tuple[FileHash, ...]:
        """Every file of a capability's folder, sorted by path."""
        return folder_files(self.catalog.loaded("capability", name).document.source.path.parent)

    def skill(self, skill_id: SkillId) -> SkillMaterial:
        """A skill with every file of its folder. Raises Refused for an id nobody defines, AuthorError for a bad one."""
        found = self._found("skill", skill_id)
        folder = found.path.parent
        files = folder_files(folder)
        loaded = load_found("skill", found)
        _raise_errors(check_skill(loaded, found.name))
        manifest: SkillManifest = loaded.record
        subagent = manifest.subagent_path
        text = read_source(_beside(loaded, subagent)).text if subagent is not None else None
        if folder_files(folder) != files:
            raise moved(folder)
        found_hash = files_hash(files)
        return SkillMaterial(
            skill_id=skill_id,
            version=(loaded.document.data.get("metadata") or {}).get("version") or found_hash[:SHORT],
            hash=found_hash,
            files=files,
            instructions=loaded.document.source.text,
            subagent=text,
            commands=manifest.cli_commands,
        )

    def constitution(self, agent: AgentId) -> ConstitutionMaterial | None:
        """An agent's two documents; None where it has none. Raises Refused for an agent nobody defines.

        Raises AuthorError for one whose records disagree, or whose name, wallet or token another agent claims too: who
        works under it would be two.
        """
        papers, found = self.carried(agent), self._found("agent", agent)
        others = Catalog(self.catalog.layers)  # read anew, as the agent itself: what was corrected holds at once
        _raise_errors(check_claims(others, found, load_found("agent", found)))
        return papers

    def carried(self, agent: AgentId) -> ConstitutionMaterial | None:
        """As `constitution`, whatever others claim: what the agent's own files say."""
        found = self._found("agent", agent)
        loaded = load_found("agent", found)
        _raise_errors(check_agent(found, loaded))
        papers = read_papers(loaded)
        record = constitution_of(loaded, papers)
        if record is None or papers is None:
            return None
        for was, now in zip(papers, read_papers(loaded) or papers, strict=True):
            if was.raw != now.raw:  # one of two is being replaced: together they are no constitution
                raise moved(was.path)
        return ConstitutionMaterial(record=record, soul=papers.soul.text, purpose=papers.purpose.text)

    def settings_files(self, adapter: AdapterConfig) -> dict[str, str]:
        """The text of every settings file that the adapter's autonomy requires, by the path the adapter names.

        A relative path begins at the file that declares the adapter. Raises AuthorError for one that cannot be read.
        """
        named = getattr(getattr(adapter, "autonomy", None), "required_settings_files", ())
        return {each: read_source(self._anchored(adapter, each)).text for each in named}

    def _anchored(self, adapter: AdapterConfig, path: str) -> Path:
        declared = self.catalog.adapters.get(adapter.adapter_id)
        if declared is None and not os.path.isabs(path):  # noqa: PTH117 - a text, not a file yet
            message = f"nobody knows where `{path}` of adapter `{adapter.adapter_id}` begins"
            raise Refused(message, "write an absolute path")
        return Path(path) if declared is None else declared.document.source.path.parent / path

    def payload_complaints(
        self, task_type: TaskTypeSpec, payload: Mapping[str, Any], skill_ids: Sequence[SkillId] = ()
    ) -> list[str]:
        """Every way in which a payload differs from the schemas of its type and of these skills, in words.

        Raises AuthorError for a schema that cannot be used: a payload nobody can check is not let in.
        """
        if _is_deep(payload):
            return [f"document: nested more than {DEPTH} levels"]
        try:
            canonical(payload)
        except ValueError as error:
            return [f"document: {error}"]
        found = [
            each for named, beside in self._schemas(task_type, skill_ids) for each in self._fits(named, beside, payload)
        ]
        told = list(dict.fromkeys(found))
        more = len(told) - MOST_COMPLAINTS
        return [*told[:MOST_COMPLAINTS], *([f"and {more} more"] if more > 0 else [])]

    def _schemas(self, task_type: TaskTypeSpec, skill_ids: Iterable[SkillId]) -> Iterator[tuple[str, Loaded]]:
        self._found("task-type", task_type.task_type)
        yield task_type.payload_schema_id, self.catalog.loaded("task-type", task_type.task_type)
        for skill_id in skill_ids:
            self._found("skill", skill_id)
            loaded = self.catalog.loaded("skill", skill_id)
            if loaded.record.input_schema_id is not None:
                yield loaded.record.input_schema_id, loaded

    def _fits(self, named: str, beside: Loaded, payload: Mapping[str, Any]) -> Iterator[str]:
        if named.startswith("agent-runtime/"):
            _, found = tried(named, payload)
            yield from (f"{pointer(each.path)}: {_line(each.message)}" for each in found)
            return
        try:
            for error in self._validator(named, beside).iter_errors(payload):
                yield f"{pointer(tuple(error.instance_path))}: {_line(error.message)}"
        except ValueError as error:  # nested deeper than the validator goes
            yield f"document: {_line(str(error))}"

    def _validator(self, named: str, beside: Loaded) -> jsonschema_rs.Draft7Validator:
        path = _beside(beside, named)
        if path not in self._validators:
            try:
                self._validators[path] = compiled(read_schema(path), path)
            except (ValueError, jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError) as error:
                message = f"schema `{named}` cannot be used: {_line(str(error))}"
                raise AuthorError([beside.document.problem("bad-schema", (), message)]) from error
        return self._validators[path]

    def _found(self, kind: str, name: str) -> Found:
        found = self.catalog.found(kind, name)
        if found is None:
            missing = self.catalog.missing(kind, name)
            raise Refused(missing.message, missing.hint)
        return found


def check_payload(
    catalog: Catalog, task_type: TaskTypeSpec, payload: Mapping[str, Any], skill_ids: Sequence[SkillId] = ()
) -> list[str]:
    """What is wrong with a payload, in words; empty where it fits. Whoever checks many keeps an AuthoredMaterial."""
    return AuthoredMaterial(catalog).payload_complaints(task_type, payload, skill_ids)


def _beside(loaded: Loaded, relative: str) -> Path:
    """A file that a manifest names. Raises AuthorError where it is missing or outside."""
    path = inside(loaded.document.source.path.parent, relative)
    if path is None or not is_file(path):
        code, where = ("outside", "outside its folder") if path is None else ("missing-file", "missing")
        raise AuthorError([loaded.document.problem(code, (), f"`{relative}` is {where}")])
    return path


def _raise_errors(problems: Iterable[Problem]) -> None:
    errors = [each for each in problems if each.severity == "error"]
    if errors:
        raise AuthorError(errors)


def _is_deep(value: object) -> bool:
    """Whether a value is nested deeper than an authored file may be. Walks level by level, so depth costs no stack."""
    level = [value]
    for _ in range(DEPTH + 1):
        items = (each.values() if isinstance(each, dict) else each for each in level if isinstance(each, dict | list))
        level = [item for inner in items for item in inner]
    return bool(level)


def _line(text: str) -> str:
    """One short line; a message may quote a whole payload."""
    return " ".join(visible(text[:1000]).split())[:200]
