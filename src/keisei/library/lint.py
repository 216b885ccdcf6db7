"""Lint: every authored file of the layers, all problems at once."""

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from keisei.contracts.words import nearest
from keisei.library.agent import check_agent, check_claims
from keisei.library.atom import atom_ids, judged, twice
from keisei.library.capability import check_capability
from keisei.library.catalog import Catalog
from keisei.library.load import Loaded
from keisei.library.package import Package, packages_of
from keisei.library.profile import check_profile
from keisei.library.project import check_project, project_file
from keisei.library.role import check_role
from keisei.library.runtime import load_runtime
from keisei.library.shelf import FOLDERS, Found, Layer, entries, listed
from keisei.library.skill import check_skill
from keisei.library.source import is_file, is_folder, shown_path
from keisei.library.task_spec import check_task, load_task
from keisei.library.task_type import check_task_type
from keisei.library.telling import bounded, rest_of
from keisei.library.workflow import check_workflow
from keisei.records.error import AuthorError, KeiseiError
from keisei.records.problem import Problem

Check = Callable[[Catalog, Found, Loaded], Iterable[Problem]]

CHECKS: dict[str, Check] = {
    "capability": check_capability,
    "role": check_role,
    "profile": check_profile,
    "skill": lambda _catalog, found, loaded: check_skill(loaded, found.name),
    "workflow": check_workflow,
    "task-type": check_task_type,
    "agent": lambda catalog, found, loaded: (*check_agent(found, loaded), *check_claims(catalog, found, loaded)),
}

PLURALS = {
    "atoms": "atom",
    "capabilities": "capability",
    "roles": "role",
    "tasks": "task",
    "skills": "skill",
    "workflows": "workflow",
    "profiles": "profile",
    "task-types": "task-type",
    "agents": "agent",
    "project": "project",
}


READ = (*FOLDERS.values(), "tasks", "examples", "locks")
"""Folders of a project's or user's layer that something is kept in."""


class Report:
    """Problems as they are found, and how many files were looked at."""

    def __init__(self) -> None:
        """Start empty."""
        self.problems: list[Problem] = []
        self.files: dict[str, int] = {}

    def add(self, kind: str, problems: Iterable[Problem]) -> None:
        """One file was looked at; of a flood of problems the first are kept."""
        self.files[kind] = self.files.get(kind, 0) + 1
        self.problems.extend(bounded(problems))

    @property
    def ordered(self) -> list[Problem]:
        """Each problem once, in the order of files and lines."""
        unique = list(dict.fromkeys(self.problems))
        return sorted(unique, key=lambda each: (each.path, each.line or 0, each.column or 0, each.message))

    @property
    def failed(self) -> bool:
        """Whether any problem is an error."""
        return any(problem.severity == "error" for problem in self.problems)


def lint(catalog: Catalog, kinds: Iterable[str], layers: Iterable[Layer], known: Iterable[str] = ()) -> Report:
    """Every file of these kinds (singular names) in these layers. `known` are ids of atoms that stand elsewhere."""
    report, wanted = Report(), tuple(layers)
    for kind in kinds:
        if kind == "atom":
            others = [package for layer in catalog.layers if layer not in wanted for package in packages_of(layer)]
            shelves = [list(packages_of(layer)) for layer in wanted]
            lint_atoms(shelves, [*known, *atom_ids(others)], catalog.rules, report)
        elif kind == "task":
            for path in task_files(wanted):
                lint_task(catalog, path, report)
        elif kind == "project":
            for layer in wanted:
                file = project_file(layer)
                report.problems.extend(_strays(layer))
                if file is not None:
                    report.add("project", check_project(file, catalog, root=layer.name == "project"))
        else:
            for layer in wanted:
                files = list(listed(kind, layer))
                for found in files:
                    report.add(kind, _problems(catalog, kind, found))
                report.problems.extend(_twice(files))
    return report


def _strays(layer: Layer) -> Iterator[Problem]:
    """Folders nobody reads because their names are misspelt, and folders without the file that makes them a thing."""
    if layer.seed or layer.name not in ("project", "user") or layer.folder.name not in (".keisei", "keisei"):
        return
    for path in entries(layer.folder):
        if is_folder(path) and path.name not in READ:
            message = f"no kind of file is kept in `{path.name}`"
            yield Problem(code="bad-name", path=shown_path(path), message=message, hint=nearest(path.name, READ))
    things = {
        "capability.toml": [slug for category in entries(layer.place("capability")) for slug in entries(category)],
        "SKILL.md": entries(layer.place("skill")),
        "agent.toml": entries(layer.place("agent")),
    }
    for file, folders in things.items():
        for path in folders:
            if is_folder(path) and not os.path.lexists(path / file):
                yield Problem(code="missing-file", path=shown_path(path), message=f"has no {file}")


def _twice(files: list[Found]) -> Iterator[Problem]:
    """Two files of one layer that define one name, such as `x.toml` and `x.json`."""
    seen: dict[str, Found] = {}
    for found in files:
        first = seen.setdefault(found.name, found)
        if first is not found:
            message = f"`{found.name}` is defined by {first.path.name} too"
            yield Problem(code="duplicate-name", path=shown_path(found.path), message=message)


def _problems(catalog: Catalog, kind: str, found: Found) -> Iterator[Problem]:
    try:
        loaded = catalog.loaded_from(kind, found)
    except AuthorError as error:
        yield from rest_of(error, lambda rest: CHECKS[kind](catalog, found, rest))
        return
    try:
        yield from loaded.warnings
        yield from CHECKS[kind](catalog, found, loaded)
    except AuthorError as error:  # also of a file this one leans on, so that this one is not called clean
        yield from error.problems
    except KeiseiError as error:  # a file it leans on went away meanwhile
        yield Problem(code="unreadable", path=shown_path(found.path), message=error.message, hint=error.hint)


def lint_atoms(shelves: Iterable[list[Package]], known: Iterable[str], rules: Iterable[str], report: Report) -> None:
    """Every package, one list a layer. `known` are atoms that links may name beside these, `rules` the rules."""
    found = list(shelves)
    ids = frozenset([*known, *(name for packages in found for name in atom_ids(packages))])
    told = frozenset(rules)
    for packages in found:
        for package in packages:
            report.add("atom", ())
            for each in judged(package, ids, told):
                report.problems.extend(bounded(each.problems))
        report.problems.extend(twice(packages))


def task_files(layers: Iterable[Layer]) -> Iterator[Path]:
    """Task files a layer keeps: `tasks/<id>/task.toml` of a root or project, and the kit's examples."""
    for layer in layers:
        beside = [layer.folder.parent] if layer.folder.name == ".keisei" else []
        for folder in (*beside, layer.folder):
            yield from (path for each in entries(folder / "tasks") if is_file(path := each / "task.toml"))
        yield from (each for each in entries(layer.folder / "examples" / "tasks") if each.suffix == ".toml")


def lint_task(catalog: Catalog, path: Path, report: Report) -> None:
    """One task file."""
    try:
        loaded = load_task(path)
    except AuthorError as error:
        report.add("task", rest_of(error, lambda rest: check_task(catalog, rest)))
        return
    try:
        report.add("task", list(check_task(catalog, loaded)))
    except AuthorError as error:  # a file it leans on, such as keisei.toml
        report.add("task", error.problems)


def lint_runtime(path: Path, report: Report) -> None:
    """One runtime.json."""
    try:
        report.add("runtime", load_runtime(path).warnings)
    except AuthorError as error:
        report.add("runtime", error.problems)
