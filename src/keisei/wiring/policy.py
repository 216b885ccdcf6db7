"""Policies from the library: what a task, its role and the project's files come to."""

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from keisei.gate.machine import Machine, command_lines
from keisei.gate.shell import Parser
from keisei.library.catalog import Catalog
from keisei.library.project import load_project, project_file
from keisei.library.spawn import ready_capabilities, ready_task
from keisei.records.error import OperatorError
from keisei.records.problem import Problem
from keisei.records.project import ProjectFile, ToolFields
from keisei.records.task_spec import SpecTask, TaskSpec
from keisei.rules.atom_tool import AtomReach
from keisei.rules.policy import (
    SHARED,
    Ground,
    Policy,
    Sources,
    capability_policy,
    role_policy,
)
from keisei.rules.role import ResolvedRole
from keisei.wiring.atom_grant import Granted

HELPERS: Final = Path(__file__).parent.parent / "sandbox" / "helper"
PROGRAMS: Final = "/usr/local/bin:/usr/bin:/bin"


class Setting:
    """Where a task is judged: its worktree, the main checkout, the home folder."""

    def __init__(
        self, worktree: Path, main: Path | None, home: Path | None, scratch: Iterable[str] = (), *, past: bool = False
    ) -> None:
        """Paths are resolved here, once. Raises OperatorError for a worktree that is no folder, unless it is past."""
        self.worktree = os.path.realpath(worktree) if past else _folder(worktree, "worktree")
        self.main = _folder(main, "main checkout") if main is not None else None
        self.home = str(home) if home is not None else "/nonexistent"
        own = [os.path.realpath(each) for each in scratch]
        self.scratch = tuple(dict.fromkeys((*own, *SHARED)))

    def ground(self, task_path: Path | None, tools: dict[str, ToolFields], atoms: dict[str, AtomReach]) -> Ground:
        """As policies want it."""
        return Ground(
            worktree=self.worktree,
            main=self.main,
            home=self.home,
            scratch=self.scratch,
            task_path=str(task_path.absolute()) if task_path is not None else "",
            tools=tools,
            atoms=atoms,
        )


def _folder(path: Path, what: str) -> str:
    real = os.path.realpath(path)
    if not Path(real).is_dir():
        raise OperatorError(f"the {what} `{path}` is not a folder", "name a folder that exists")
    return real


def task_policy(catalog: Catalog, task: Path, setting: Setting) -> tuple[Policy, list[Problem]]:
    """The policy of a task's role, and the warnings about its file. Raises AuthorError, OperatorError."""
    spec, warnings = ready_task(catalog, task)
    return spec_policy(catalog, spec, setting, task), warnings


def spec_policy(
    catalog: Catalog, spec: TaskSpec, setting: Setting, task: Path | None = None, atoms: Granted | None = None
) -> Policy:
    """The policy of a task that was read already. `atoms` are those an attempt is offered; nobody else has any."""
    compiler = _Compiler(catalog, spec, setting, task)
    reach = {} if atoms is None else {tool: each.reach for tool, each in atoms.items()}
    return role_policy(catalog.resolved_role(spec.task.role), spec, compiler.sources(), compiler.ground(reach))


def capabilities_policy(catalog: Catalog, names: Iterable[str], task: Path | None, setting: Setting) -> Policy:
    """The policy of single capabilities, with the parameters of a task where there is one."""
    role: ResolvedRole | None = None
    spec = TaskSpec(task=SpecTask(role="none"))
    names = ready_capabilities(catalog, names)
    if task is not None:
        spec, _ = ready_task(catalog, task)
        role = catalog.resolved_role(spec.task.role)
    compiler = _Compiler(catalog, spec, setting, task)
    return capability_policy(names, role, spec, compiler.sources(), compiler.ground())


def vector_policy(catalog: Catalog, name: str, parameters: Mapping[str, Any], setting: Setting) -> Policy:
    """The policy of one capability with a test vector's parameters."""
    spec = TaskSpec(task=SpecTask(role="none"), parameters={name: dict(parameters)} if parameters else {})
    compiler = _Compiler(catalog, spec, setting, None)
    return capability_policy([name], None, spec, compiler.sources(), compiler.ground())


class _Compiler:
    """What a policy is compiled from."""

    def __init__(self, catalog: Catalog, spec: TaskSpec, setting: Setting, task: Path | None) -> None:
        self.catalog = catalog
        self.spec = spec
        self.setting = setting
        self.task = task
        self.project = _project(catalog)

    def ground(self, atoms: dict[str, AtomReach] | None = None) -> Ground:
        tools = dict(self.project.gate.tools) if self.project.gate is not None else {}
        return self.setting.ground(self.task, tools, atoms or {})

    def sources(self) -> Sources:
        return Sources(
            manifest=self.catalog.capability,
            shipped=lambda name: self.catalog.shipped("capability", name),
            canonical=self.catalog.canonical,
            folder=lambda name: str(self.catalog.loaded("capability", name).document.source.path.parent.resolve()),
            allowed_commands=self._allowed_commands(),
        )

    def _allowed_commands(self) -> tuple[str, ...]:
        """Patterns of the commands that the checks of a task run, so that its agent may run them too."""
        verification, commands = self.spec.verification, self.project.commands
        texts = [verification.check, verification.test]
        texts += [f"cargo check -p {crate}" for crate in verification.cargo_check_crates]
        texts += [f"cargo test -p {crate}" for crate in verification.cargo_test_crates]
        texts += [commands.check, commands.test] if commands is not None and self.task is not None else []
        texts += _skill_commands(self.catalog, self.spec)
        machine = Machine(Parser(), self.setting.home)
        found = [line for text in texts if text for line in command_lines(text, machine, self.setting.worktree)]
        return tuple(dict.fromkeys(rf"\A{re.escape(line)}\Z" for line in found))


def _project(catalog: Catalog) -> ProjectFile:
    """keisei.toml of the project; an empty one where there is none."""
    for layer in reversed(catalog.layers):
        path = project_file(layer) if layer.name == "project" else None
        if path is not None:
            file: ProjectFile = load_project(path).record
            return file
    return ProjectFile()


def _skill_commands(catalog: Catalog, spec: TaskSpec) -> list[str]:
    if not spec.task.profile:
        return []
    profile = catalog.loaded("profile", spec.task.profile).record
    skills = [catalog.loaded("skill", skill).record for skill in profile.skill_ids]
    return [command.command for skill in skills for command in skill.cli_commands]
