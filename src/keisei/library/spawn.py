"""Before a spawn: a task file with everything it leans on, or every reason why not."""

from collections.abc import Iterable
from pathlib import Path

from keisei.library.capability import check_capability
from keisei.library.catalog import Catalog
from keisei.library.shelf import Found
from keisei.library.task_spec import check_task, load_task
from keisei.library.telling import rest_of
from keisei.records.error import AuthorError
from keisei.records.problem import Problem
from keisei.records.task_spec import TaskSpec

HARD = frozenset(
    {
        "missing-file",
        "outside",
        "dangling",
        "no-gate-kind",
        "unknown-parameter",
        "bad-pattern",
        "bad-glob",
        "cycle",
        "unreadable",
    }
)
"""Problems that leave a rule without an artefact it declares; style is lint's business."""


def ready_task(catalog: Catalog, path: Path) -> tuple[TaskSpec, list[Problem]]:
    """The spec and its warnings. Raises AuthorError: a rule that cannot be judged is no rule. Falls closed."""
    try:
        loaded = load_task(path)
    except AuthorError as error:
        found = rest_of(error, lambda rest: check_task(catalog, rest))
        raise AuthorError(each for each in found if each.severity == "error") from error
    found = list(check_task(catalog, loaded))
    errors = [problem for problem in found if problem.severity == "error"]
    spec: TaskSpec = loaded.record
    if not errors:
        errors = [problem for problem in _role_faults(catalog, spec.task.role) if problem.code in HARD]
    if errors:
        raise AuthorError(dict.fromkeys(errors))
    return spec, [problem for problem in found if problem.severity == "warning"]


def ready_capabilities(catalog: Catalog, names: Iterable[str]) -> list[str]:
    """The current names of capabilities that can be judged. Raises AuthorError where one lacks what it declares."""
    current = [catalog.canonical(name) for name in names]
    errors = [problem for problem in _faults(catalog, current) if problem.code in HARD]
    if errors:
        raise AuthorError(dict.fromkeys(errors))
    return current


def _role_faults(catalog: Catalog, role: str) -> list[Problem]:
    return _faults(catalog, catalog.resolved_role(role).capabilities)


def _faults(catalog: Catalog, names: Iterable[str]) -> list[Problem]:
    faults: list[Problem] = []
    for name in names:
        found = catalog.found("capability", name)
        if isinstance(found, Found):
            problems = check_capability(catalog, found, catalog.loaded("capability", name))
            faults.extend(problem for problem in problems if problem.severity == "error")
    return faults
