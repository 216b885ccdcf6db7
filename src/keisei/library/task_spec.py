"""task.toml: read strictly, and checked against the role it names before anything is spawned."""

from collections.abc import Iterator
from pathlib import Path

from keisei.contracts.words import nearest
from keisei.library.capability import glob_problem
from keisei.library.catalog import Catalog
from keisei.library.document import Document, parse
from keisei.library.load import Loaded, load
from keisei.library.project import unknown_adapter
from keisei.library.source import read_source
from keisei.records.error import AuthorError, OperatorError
from keisei.records.problem import Problem
from keisei.records.task_spec import TaskSpec
from keisei.rules.agent_id import fault
from keisei.rules.reach import is_git
from keisei.rules.role import Tangled


def load_task(path: Path) -> Loaded:
    """task.toml as a record. Raises AuthorError; the shapes people get wrong are answered with the right line."""
    document = parse(read_source(path))
    try:
        return load(document, "task.spec")
    except AuthorError as error:
        advised = AuthorError(_advised(problem, document) for problem in error.problems)
        advised.salvaged = error.salvaged
        raise advised from error


def _advised(problem: Problem, document: Document) -> Problem:
    hint = _habit(problem, document.data if isinstance(document.data, dict) else {})
    return problem if hint is None else _with_hint(problem, hint)


def _with_hint(problem: Problem, hint: str) -> Problem:
    return Problem(
        code=problem.code,
        path=problem.path,
        line=problem.line,
        column=problem.column,
        message=problem.message,
        hint=hint,
        severity=problem.severity,
    )


def _habit(problem: Problem, data: dict[str, object]) -> str | None:
    if "`task` must be" in problem.message:
        return 'write `[task]` with `role = "..."`, and the words under `[body]` as `text = """..."""`'
    for key in ("role", "agent-id", "agent_id"):
        if problem.message == f"unknown key `{key}`" and key in data:
            return f"it belongs under `[task]`: `[task]`, then `{key.replace('_', '-')} = ...`"
    for key, right in (("whitelist", "files-whitelist"), ("denylist", "files-denylist")):
        if problem.message == f"unknown key `{key}`":
            return f"write `{right} = [...]`"
    return None


def check_task(catalog: Catalog, loaded: Loaded) -> Iterator[Problem]:
    """Everything that would refuse this spawn."""
    spec: TaskSpec = loaded.record
    document = loaded.document
    yield from loaded.warnings
    for key, agent_id in (("agent-id", spec.task.agent_id), ("parent-agent", spec.task.parent_agent)):
        if agent_id and (reason := fault(agent_id)):
            hint = "1 to 64 ASCII characters: letters, digits, `_`, `.`, `-`; or leave it out"
            yield document.problem("bad-agent-id", ("task", key), f"{key} `{agent_id}` {reason}", hint)
    for key, globs in (("files-whitelist", spec.scope.files_whitelist), ("files-denylist", spec.scope.files_denylist)):
        for index, glob in enumerate(globs):
            yield from glob_problem(document, ("scope", key, index), glob)
            if key == "files-whitelist" and is_git(glob):
                message = f"`{glob}` is of the repository itself; the orchestrator holds git"
                yield document.problem("bad-glob", ("scope", key, index), message, "leave it out")
    yield from _role(catalog, spec, document)
    yield from _names(catalog, spec, document)


def _role(catalog: Catalog, spec: TaskSpec, document: Document) -> Iterator[Problem]:
    name = spec.task.role
    if catalog.found("role", name) is None:
        hint = nearest(name, list(catalog.names("role"))) or f"known roles: {', '.join(catalog.names('role'))}"
        yield document.problem("dangling", ("task", "role"), f"role `{name}` does not exist", hint)
        return
    try:
        role = catalog.resolved_role(name)
    except AuthorError as error:
        yield from error.problems
        return
    except (OperatorError, Tangled) as error:
        yield document.problem(
            "dangling", ("task", "role"), f"role `{name}` cannot be used: {error.message}", error.hint
        )
        return
    if not role.spawnable:
        message = f"role `{name}` cannot be spawned; by RULE 0.13 the orchestrator holds git"
        yield document.problem("not-spawnable", ("task", "role"), message, "use `edit-local`")
        return
    if "scope::files-whitelist" in role.capabilities and not spec.scope.files_whitelist:
        message = f"role `{name}` edits files, and files-whitelist is empty"
        hint = 'name what it may write: `[scope]`, then `files-whitelist = ["src/**"]`'
        yield document.problem("empty-whitelist", ("scope", "files-whitelist"), message, hint)
    yield from _parameters(catalog, spec, role.capabilities, document)
    for index, each in enumerate(spec.elevate.capabilities if spec.elevate else ()):
        if each.startswith(("policy::", "scope::")) and each in role.capabilities:
            message = f"`{each}` cannot be elevated: policy and scope hold for every task"
            place = ("elevate", "capabilities", index)
            yield document.problem("contradiction", place, message, "change the scope or the role instead")
        elif _current(catalog, each) not in role.capabilities:
            message = f"elevates `{each}`, which role `{name}` does not require"
            near = nearest(each, role.capabilities)
            yield document.problem("dangling", ("elevate", "capabilities", index), message, near)


def _current(catalog: Catalog, name: str) -> str:
    """The capability's current name; the name itself where nobody defines it."""
    try:
        return catalog.canonical(name)
    except (OperatorError, AuthorError):
        return name


def _parameters(
    catalog: Catalog, spec: TaskSpec, capabilities: tuple[str, ...], document: Document
) -> Iterator[Problem]:
    for name, values in spec.parameters.items():
        place = ("parameters", name)
        if catalog.found("capability", name) is None:
            hint = nearest(name, list(catalog.names("capability")))
            yield document.problem("dangling", place, f"capability `{name}` does not exist", hint, at="key")
            continue
        try:
            current = catalog.canonical(name)
        except OperatorError as error:
            yield document.problem("dangling", place, f"`{name}` cannot be used: {error.message}", error.hint, at="key")
            continue
        parameterized = catalog.capability(current).parameterized
        accepts = parameterized.accepts if parameterized else ()
        for key in values:
            if key not in accepts:
                hint = nearest(key, accepts) or f"it accepts: {', '.join(accepts) or 'nothing'}"
                message = f"capability `{name}` does not accept `{key}`"
                yield document.problem("unknown-parameter", (*place, key), message, hint, at="key")
        if current not in capabilities:
            message = f"parameters of `{name}` have no effect: the role does not require it"
            yield document.problem("unused", place, message, severity="warning", at="key")


def _names(catalog: Catalog, spec: TaskSpec, document: Document) -> Iterator[Problem]:
    for kind in ("profile", "agent"):
        name = getattr(spec.task, kind)
        if name and catalog.found(kind, name) is None:
            hint = nearest(name, list(catalog.names(kind)))
            yield document.problem("dangling", ("task", kind), f"{kind} `{name}` does not exist", hint)
    if spec.task.adapter and spec.task.adapter not in catalog.adapters:
        message, hint = unknown_adapter(spec.task.adapter, catalog.adapters)
        yield document.problem("dangling", ("task", "adapter"), message, hint)
