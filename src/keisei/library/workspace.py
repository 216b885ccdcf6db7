"""The tables of keisei.toml that say with what and in what attempts work: environment, sandbox, workspace."""

from collections.abc import Iterator

from keisei.library.load import Loaded
from keisei.records.problem import Problem
from keisei.records.project import ProjectFile
from keisei.rules.environment import is_inside

ALL = frozenset({"/", "~", "~/", "/home", "/home/", "/root", "/root/"})
"""Folders that hold what an agent must never read."""


def check_workspace(project: Loaded) -> Iterator[Problem]:
    """What the schema cannot say of these tables."""
    file: ProjectFile = project.record
    yield from _environment(project)
    for index, path in enumerate(file.sandbox.read if file.sandbox is not None else ()):
        place = ("sandbox", "read", index)
        if path in ALL:
            message = f"`{path}` holds what an agent must not read"
            yield project.document.problem("contradiction", place, message, "name the folder of the toolchain itself")
        elif not path.startswith(("/", "~/")):
            message = f"`{path}` is not an absolute path"
            yield project.document.problem("wrong-value", place, message, "begin it with `/` or `~/`")
    jobs = file.runner.jobs if file.runner is not None else None
    if file.workspace is not None and jobs is not None and file.workspace.pool < jobs:
        message = f"{jobs} attempts at once need {jobs} worktrees, and the pool keeps {file.workspace.pool}"
        hint = f"say `pool = {jobs}`; worktrees beyond it are made and removed for every attempt"
        yield project.document.problem("contradiction", ("workspace", "pool"), message, hint, severity="warning")


def _environment(project: Loaded) -> Iterator[Problem]:
    environment = project.record.environment
    if environment is None:
        return
    for index, path in enumerate(environment.keep):
        if not is_inside(path):
            message = f"`{path}` cannot be kept as part of the environment"
            hint = "name paths inside the project, and none of git's"
            yield project.document.problem("outside", ("environment", "keep", index), message, hint)
    if not environment.keep:
        message = "what setup installs is lost, because nothing of it is kept"
        hint = "name it under `keep`, for example `.venv` or `node_modules`"
        yield project.document.problem("missing-key", ("environment",), message, hint)
    if not environment.key:
        message = "this environment is never set up again, because nothing it depends on is named"
        hint = "name the lock files under `key`"
        yield project.document.problem("missing-key", ("environment",), message, hint, severity="warning")
