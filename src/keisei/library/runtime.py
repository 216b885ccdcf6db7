"""runtime.json of the original: `extends` followed, paths anchored to their file, adapters merged by id."""

import os
from pathlib import Path
from typing import Any, NamedTuple

from msgspec.structs import replace

from keisei.contracts.words import nearest
from keisei.library.document import parse
from keisei.library.load import Loaded, load
from keisei.library.project import check_adapter
from keisei.library.source import is_file, read_source, shown_path
from keisei.records.adapter import STYLES, AdapterConfig
from keisei.records.error import AuthorError
from keisei.records.id import AdapterId
from keisei.records.problem import Problem
from keisei.records.profile import SubagentProfile
from keisei.records.runtime import RuntimeFile

PATHS = ("stateDir", "logDir", "artifactDir", "dbPath", "lockPath")
ADAPTER_PATHS = ("workingDir", "working_dir", "envFile", "env_file", "settingsFile")
DEEPEST = 16
MOST_FALLBACKS = 3


class RuntimeConfig(NamedTuple):
    """The original's configuration, merged and translated."""

    file: RuntimeFile
    adapters: dict[str, AdapterConfig]
    profiles: dict[str, SubagentProfile]
    warnings: tuple[Problem, ...]


def load_runtime(path: Path) -> RuntimeConfig:
    """The configuration with everything it extends. Raises AuthorError with the problems of every file it reads."""
    chain = _chain(path)
    merged = _merged(chain)
    problems: list[Problem] = []
    warnings: list[Problem] = []
    dialects: list[Problem] = []
    adapters: dict[str, AdapterConfig] = {}
    for adapter_id, (loaded, table) in _adapter_tables(chain).items():
        try:
            data = {"adapter_id": adapter_id} | table
            adapter = load(loaded.document, "adapter.config", data=data, prefix=("adapters", adapter_id))
            problems.extend(check_adapter(adapter, ("adapters", adapter_id), adapter_id))
            dialects.extend(adapter.warnings)
            adapters[adapter_id] = adapter.record
        except AuthorError as error:
            problems.extend(error.problems)
    profiles = _with_fallbacks(_profiles(chain, problems, warnings), _adapter_tables(chain), merged.default_adapter)
    warnings[:0] = _once_per_file(dialects)
    problems.extend(_dangling(chain[-1], merged))
    if problems:
        raise AuthorError(problems)
    if merged.substrate is not None:
        message = "`substrate` has no effect: many runners share one PostgreSQL instead"
        warnings.append(chain[-1].document.problem("unused", ("substrate",), message, severity="warning"))
    return RuntimeConfig(merged, adapters, profiles, tuple(warnings))


def _once_per_file(found: list[Problem]) -> list[Problem]:
    """One warning tells that a file is written in an older dialect, with what is old in any of its entries."""
    files: dict[str, list[Problem]] = {}
    for each in found:
        files.setdefault(each.path, []).append(each)
    told = []
    for problems in files.values():
        first = problems[0]
        head, _, _ = first.message.partition(": ")
        notes = dict.fromkeys(note for each in problems for note in each.message.partition(": ")[2].split(", "))
        told.append(replace(first, message=f"{head}: {', '.join(notes)}"))
    return told


def _with_fallbacks(
    profiles: dict[str, SubagentProfile], tables: dict[str, tuple[Loaded, dict[str, Any]]], default: str | None
) -> dict[str, SubagentProfile]:
    """The original names a fallback in the adapter, or in the default one where that adapter is not configured."""
    found = {}
    for name, profile in profiles.items():
        own = profile.default_adapter_id
        fallbacks = profile.fallback_adapter_ids or tuple(_fallbacks(own if own in tables else default or own, tables))
        found[name] = replace(profile, fallback_adapter_ids=fallbacks)
    return found


def _fallbacks(adapter_id: str, tables: dict[str, tuple[Loaded, dict[str, Any]]]) -> list[AdapterId]:
    found: list[AdapterId] = []
    while len(found) < MOST_FALLBACKS and adapter_id in tables:
        following = tables[adapter_id][1].get("fallback_adapter")
        if not isinstance(following, str) or following in found or following not in tables:
            break
        found.append(AdapterId(following))
        adapter_id = following
    return found


def _chain(path: Path) -> list[Loaded]:
    """The file and everything it extends, the lowest first."""
    chain: list[Loaded] = []
    seen: list[Path] = []
    target: Path | None = path
    while target is not None:
        real = _real(target)
        if real in seen:
            circle = " -> ".join(shown_path(each) for each in [*seen[seen.index(real) :], real])
            message = f"`extends` goes round in a circle: {circle}"
            raise AuthorError([chain[0].document.problem("cycle", ("extends",), message)])
        if len(seen) > DEEPEST:
            message = f"`extends` leads through more than {DEEPEST} files"
            raise AuthorError([chain[0].document.problem("too-long-chain", ("extends",), message)])
        seen.append(real)
        try:
            loaded = load(parse(read_source(target)), "runtime.file")
        except AuthorError as error:
            if chain and any(problem.code == "unreadable" for problem in error.problems):
                message = f"`extends` names `{chain[0].record.extends}`, which cannot be read"
                raise AuthorError([chain[0].document.problem("missing-file", ("extends",), message)]) from error
            raise
        chain.insert(0, loaded)
        target = target.parent / loaded.record.extends if loaded.record.extends else None
    return chain


def _real(path: Path) -> Path:
    """The file behind every symlink; the path itself where it cannot be a file's."""
    try:
        return Path(os.path.realpath(path))
    except ValueError:
        return path


def _merged(chain: list[Loaded]) -> RuntimeFile:
    """One file: a later value replaces an earlier one, profiles and adapters merge by id, paths become absolute."""
    merged: dict[str, Any] = {}
    for loaded in chain:
        folder = loaded.document.source.path.parent.absolute()
        own = dict(loaded.document.data)
        own |= {key: os.path.normpath(folder / own[key]) for key in PATHS if isinstance(own.get(key), str)}
        own["profiles"] = merged.get("profiles", {}) | {
            name: os.path.normpath(folder / file) for name, file in own.get("profiles", {}).items()
        }
        own["adapters"] = merged.get("adapters", {}) | own.get("adapters", {})
        merged |= own
    merged.pop("extends", None)
    record: RuntimeFile = load(chain[-1].document, "runtime.file", data=merged).record
    return record


def _adapter_tables(chain: list[Loaded]) -> dict[str, tuple[Loaded, dict[str, Any]]]:
    """Each adapter with the file that declares it; an entry replaces the parent's whole entry."""
    tables: dict[str, tuple[Loaded, dict[str, Any]]] = {}
    for loaded in chain:
        folder = loaded.document.source.path.parent.absolute()
        for adapter_id, table in loaded.record.adapters.items():
            anchored = dict(table)
            for key in ADAPTER_PATHS:
                if isinstance(anchored.get(key), str):
                    anchored[key] = os.path.normpath(folder / anchored[key])
            autonomy = anchored.get("autonomy")
            if isinstance(autonomy, dict) and isinstance(autonomy.get("required_settings_files"), list):
                files = [os.path.normpath(folder / str(each)) for each in autonomy["required_settings_files"]]
                anchored["autonomy"] = autonomy | {"required_settings_files": files}
            if isinstance(anchored.get("command"), str) and "/" in anchored["command"]:
                anchored["command"] = os.path.normpath(folder / anchored["command"])
            tables[adapter_id] = (loaded, anchored)
    return tables


def _profiles(chain: list[Loaded], problems: list[Problem], warnings: list[Problem]) -> dict[str, SubagentProfile]:
    """Each profile from the file that declares it last; one that is replaced is not read."""
    declared = {name: (loaded, file) for loaded in chain for name, file in loaded.record.profiles.items()}
    profiles: dict[str, SubagentProfile] = {}
    for name, (loaded, file) in declared.items():
        path = loaded.document.source.path.parent / file
        if not is_file(path):
            message = f"profile file `{file}` is missing"
            problems.append(loaded.document.problem("missing-file", ("profiles", name), message))
            continue
        try:
            profile = _profile(path)
        except AuthorError as error:
            problems.extend(error.problems)
            continue
        warnings.extend(profile.warnings)
        profiles[name] = profile.record
        if profile.record.profile_id != name:
            message = f"profile_id `{profile.record.profile_id}` stands under the name `{name}`"
            problems.append(profile.document.problem("bad-name", ("profile_id",), message))
    return profiles


def _profile(path: Path) -> Loaded:
    """A profile of the original, whose style is any word: one that names no harness is a line of its prompt.

    Raises AuthorError for one that is nearly the name of a harness, which is a slip.
    """
    document = parse(read_source(path))
    style = document.data.get("style") if isinstance(document.data, dict) else None
    known = list(STYLES.values())
    if not isinstance(style, str) or not style.strip() or style in known or nearest(style, known):
        return load(document, "agent.profile")
    loaded = load(document, "agent.profile", data=document.data | {"style": STYLES["claude-code"]})
    record = replace(loaded.record, prompt_parts=(f"Style: {style}", *loaded.record.prompt_parts))
    message = f"style `{style}` names no harness: it is a word of the prompt"
    told = document.problem("dialect", ("style",), message, severity="warning")
    return loaded._replace(record=record, warnings=(*loaded.warnings, told))


def _dangling(top: Loaded, merged: RuntimeFile) -> list[Problem]:
    """Defaults that nobody declares; one that is declared and broken is told where it is broken."""
    found = []
    if merged.default_adapter is not None and merged.default_adapter not in merged.adapters:
        message = f"defaultAdapter `{merged.default_adapter}` is not in `adapters`"
        found.append(top.document.problem("dangling", ("defaultAdapter",), message))
    if merged.default_profile is not None and merged.default_profile not in merged.profiles:
        message = f"defaultProfile `{merged.default_profile}` is not in `profiles`"
        found.append(top.document.problem("dangling", ("defaultProfile",), message))
    return found
