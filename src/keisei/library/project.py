"""keisei.toml: the project, and the adapters of every layer."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from keisei.contracts.words import nearest
from keisei.library.agent_lookup import check_lookup
from keisei.library.autonomy import check_autonomy
from keisei.library.catalog import Catalog
from keisei.library.document import parse
from keisei.library.load import Loaded, load
from keisei.library.shelf import Layer
from keisei.library.source import read_source
from keisei.library.workspace import check_workspace
from keisei.records.adapter import AdapterConfig
from keisei.records.error import AuthorError
from keisei.records.problem import Problem
from keisei.records.project import ProjectFile
from keisei.rules.adapter import bypasses


def project_file(layer: Layer) -> Path | None:
    """keisei.toml of a layer: beside `.keisei/`, or in the folder itself."""
    for folder in (layer.folder.parent, layer.folder) if layer.folder.name == ".keisei" else (layer.folder,):
        if os.path.lexists(folder / "keisei.toml"):
            return folder / "keisei.toml"
    return None


def load_project(path: Path) -> Loaded:
    """keisei.toml as a record. Raises AuthorError."""
    return load(parse(read_source(path)), "project.file")


def load_adapters(layers: Iterable[Layer]) -> dict[str, Loaded]:
    """Every adapter by id; a higher layer's entry replaces a lower one's whole."""
    adapters: dict[str, Loaded] = {}
    for layer in layers:
        path = project_file(layer)
        if path is not None:
            adapters |= adapters_of(load_project(path))
    return adapters


def adapters_of(project: Loaded) -> dict[str, Loaded]:
    """The adapters of one file. Raises AuthorError with the problems of all of them."""
    file: ProjectFile = project.record
    adapters: dict[str, Loaded] = {}
    problems: list[Problem] = []
    for adapter_id, table in file.adapters.items():
        data = table if "adapter_id" in table else {"adapter_id": adapter_id} | table
        try:
            adapters[adapter_id] = load(project.document, "adapter.config", data=data, prefix=("adapters", adapter_id))
        except AuthorError as error:
            problems.extend(error.problems)
    if problems:
        raise AuthorError(problems)
    return adapters


def check_project(path: Path, catalog: Catalog, *, root: bool) -> Iterator[Problem]:
    """Lint of one keisei.toml; `root` says that it stands at a project's root."""
    try:
        project = load_project(path)
        adapters = adapters_of(project)
    except AuthorError as error:
        yield from error.problems
        return
    if root and project.record.project is None:
        yield project.document.problem(
            "missing-key", (), "missing table `[project]`", 'add `[project]` with `name = "..."`'
        )
    agents = list(catalog.names("agent"))
    agent = project.record.project.agent if project.record.project else None
    if agent is not None and agent not in agents:
        hint = nearest(agent, agents) or "make it under `.keisei/agents/<name>/agent.toml`"
        yield project.document.problem("dangling", ("project", "agent"), f"agent `{agent}` does not exist", hint)
    for adapter_id, adapter in adapters.items():
        yield from adapter.warnings
        yield from check_adapter(adapter, ("adapters", adapter_id), adapter_id)
    try:
        known = {*catalog.adapters, *adapters}
    except AuthorError:  # another layer's file is broken, and told there
        known = set(adapters)
    yield from check_autonomy(catalog, project, known)
    yield from check_workspace(project)
    yield from check_lookup(project)


def check_adapter(loaded: Loaded, prefix: tuple[str, ...], adapter_id: str) -> Iterator[Problem]:
    """What the schema cannot say of an adapter."""
    adapter: AdapterConfig = loaded.record
    if adapter.adapter_id != adapter_id:
        message = f"adapter_id `{adapter.adapter_id}` stands under the name `{adapter_id}`"
        yield loaded.document.problem("bad-name", (*prefix, "adapter_id"), message)
    autonomy = getattr(adapter, "autonomy", None)
    lists: dict[tuple[str, ...], tuple[str, ...]] = {("extra_args",): getattr(adapter, "extra_args", ())}
    if autonomy is not None and autonomy.profile != "trusted-vm":
        lists["autonomy", "required_args"] = getattr(autonomy, "required_args", ())
    for place, arguments in lists.items():
        for index, argument in enumerate(arguments):
            if bypasses(argument):
                hint = 'say it openly: `autonomy = { profile = "trusted-vm" }`'
                message = f"`{argument}` gives up a guard and may not stand in {place[-1]}"
                yield loaded.document.problem("bypass-flag", (*prefix, *place, index), message, hint)
    if getattr(adapter, "sandbox", None) == "danger-full-access" and getattr(autonomy, "profile", None) != "trusted-vm":
        message = "sandbox `danger-full-access` needs `autonomy.profile = trusted-vm`"
        yield loaded.document.problem("contradiction", (*prefix, "sandbox"), message)
    provider = getattr(adapter, "provider", None)
    if provider is not None and provider.base_url and not getattr(adapter, "model", None):
        message = "a provider with a base_url needs a `model`"
        yield loaded.document.problem("missing-key", (*prefix, "provider"), message)


def unknown_adapter(name: str, adapters: Iterable[str]) -> tuple[str, str]:
    """Message and hint for an adapter nobody defines."""
    known = sorted(adapters)
    hint = nearest(name, known) or f"known adapters: {', '.join(known) or 'none'}"
    return f"adapter `{name}` does not exist", hint
