"""Policy: a role's rules for one task, compiled to data. Prompt, gate, sandbox and verify all read this one thing."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, Literal

import msgspec
from msgspec import Struct

from keisei.records.capability import CapabilityManifest, GatePart, Restricts, VerifyPart
from keisei.records.error import OperatorError
from keisei.records.project import ToolFields
from keisei.records.task_spec import TaskSpec
from keisei.records.verification import Planned, RunFrom
from keisei.rules.atom_tool import LEAN, PREFIX, AtomReach
from keisei.rules.canonical import digest
from keisei.rules.role import ResolvedRole

Mode = Literal["deny", "allow-only"]
ALLOW_LIST = "tools::bash-allowlist"
TOOLS = "role::tools"
"""The rule about a role's tools."""
SHARED = ("/tmp", "/var/tmp")  # noqa: S108 - where anybody may write; in an attempt it is private
"""Where temporary files are written unless somebody says otherwise."""


class Patterns(Struct, frozen=True, kw_only=True):
    """Regular expressions over command lines."""

    mode: Mode
    """Refuse what matches, or everything that does not."""
    items: tuple[str, ...]
    """The expressions."""


class Globs(Struct, frozen=True, kw_only=True):
    """Globs over paths that are written or deleted."""

    mode: Mode
    """Refuse what matches, or everything that does not."""
    items: tuple[str, ...]
    """The globs, relative to the worktree."""
    strict: bool = True
    """Whether a path nobody knows beforehand is refused too."""


class Rule(Struct, frozen=True, kw_only=True):
    """One capability's gate, with this task's parameters."""

    capability: str
    """Its name, or `role::tools` and `role::bash`."""
    severity: Literal["block", "warn", "advisory"] = "block"
    """block refuses, warn lets through and says so, advisory only records."""
    on_error: Literal["deny", "allow"] = "deny"
    """Which way it falls when it breaks."""
    instead: str = ""
    """What to do instead, in a sentence."""
    patterns: tuple[Patterns, ...] = ()
    """Judged on every command line."""
    globs: tuple[Globs, ...] = ()
    """Judged on every path written or deleted."""
    tools_denied: tuple[str, ...] = ()
    """Tools refused by name."""
    tools_allowed: tuple[str, ...] | None = None
    """Every other tool is refused; None where this rule does not say."""
    script: str | None = None
    """The gate script, an absolute path."""
    bypass_env: str | None = None
    """A variable that switches it off in a user's own session; dead inside attempts."""
    parameters: dict[str, Any] = {}
    """What the script gets."""
    lists: dict[str, tuple[str, ...]] = {}
    """The capability's lists, for `capability_patterns`."""


class Check(Struct, frozen=True, kw_only=True):
    """A verify that runs after each tool call."""

    capability: str
    """Its name."""
    kind: Literal["command", "script"]
    """What is run."""
    run: str
    """The command, or the script's absolute path."""
    timeout_s: float
    """Longer counts as an error."""
    severity: Literal["block", "warn", "advisory"] = "block"
    """block violates, warn and advisory only tell."""
    parameters: dict[str, Any] = {}
    """What the script gets."""
    lists: dict[str, tuple[str, ...]] = {}
    """The capability's lists, for `capability_patterns`."""


class Policy(Struct, frozen=True, kw_only=True):
    """Everything a judgement needs. Its digest is recorded with every decision."""

    role: str
    """The role, or the capabilities that are judged alone."""
    rules: tuple[Rule, ...]
    """In the order of the role; the role's own two come first."""
    worktree: str
    """Where the agent works, absolute."""
    main: str | None = None
    """The main checkout, absolute."""
    scratch: tuple[str, ...] = SHARED
    """Folders where temporary files may be written."""
    home: str = "/nonexistent"
    """What `~` means."""
    tools: dict[str, ToolFields] = {}
    """Declared fields of tools."""
    atoms: dict[str, AtomReach] = {}
    """What the role's atoms touch, by the full names of their tools."""
    checks: tuple[Check, ...] = ()
    """Verifies that run after each tool call."""
    verifies: tuple[Planned, ...] = ()
    """Verifies that run when the agent has returned."""
    task: dict[str, Any] = {}
    """What scripts are told of the task."""
    task_path: str = ""
    """The task file, for scripts."""
    elevated: tuple[str, ...] = ()
    """Capabilities that do not hold for this task."""


def policy_digest(policy: Policy) -> str:
    """sha256 over the canonical JSON of the policy."""
    return digest(as_data(policy))


def as_data(policy: Policy) -> dict[str, Any]:
    """The policy as plain JSON data."""
    data: dict[str, Any] = msgspec.to_builtins(policy)
    return data


def from_data(data: Mapping[str, Any]) -> Policy:
    """The policy back from its data. Raises ValueError where it has another shape."""
    return msgspec.convert(data, Policy)


class Sources(Struct, frozen=True, kw_only=True):
    """What a policy is compiled from, beside the task: questions to the library."""

    manifest: Callable[[str], CapabilityManifest]
    """A capability by its current name."""
    shipped: Callable[[str], CapabilityManifest | None]
    """The kit's own capability of a name."""
    canonical: Callable[[str], str]
    """The current name of a capability."""
    folder: Callable[[str], str]
    """The folder a capability's scripts lie in, absolute."""
    allowed_commands: tuple[str, ...] = ()
    """Patterns of commands the project and the task have checks run with."""


class Ground(Struct, frozen=True, kw_only=True):
    """Where the task runs."""

    worktree: str
    """Absolute."""
    main: str | None = None
    """Absolute."""
    home: str = "/nonexistent"
    """What `~` means."""
    scratch: tuple[str, ...] = SHARED
    """Folders where temporary files may be written."""
    task_path: str = ""
    """The task file."""
    tools: dict[str, ToolFields] = {}
    """Declared fields of tools."""
    atoms: dict[str, AtomReach] = {}
    """What the atoms touch that the role's agents are offered, by the full names of their tools."""


def role_policy(role: ResolvedRole, spec: TaskSpec, sources: Sources, ground: Ground) -> Policy:
    """The policy of a role for a task: its tools and commands first, then every capability that is not elevated."""
    elevated = tuple(map(sources.canonical, spec.elevate.capabilities)) if spec.elevate else ()
    names = [name for name in role.capabilities if name not in elevated]
    commands = _commands(role, names, sources)
    ground = msgspec.structs.replace(ground, atoms=_within_reach(role, ground.atoms))
    role = _with_atoms(role, ground)
    own = (
        Rule(
            capability=TOOLS,
            tools_allowed=role.tools.allowed,
            instead=_tools_instead(role),
        ),
        Rule(
            capability="role::bash",
            patterns=(Patterns(mode="allow-only", items=commands),),
            instead="run one of the commands the role allows, one at a time",
        ),
    )
    return _policy(role.name, own, names, _Task(spec, role, sources, commands, ground, elevated))


def _within_reach(role: ResolvedRole, atoms: Mapping[str, AtomReach]) -> dict[str, AtomReach]:
    """The atoms, those marked that would use a network which the role does not have."""
    if role.isolation.network == "open":
        return dict(atoms)
    no_network = "uses the network, and this role has none"
    return {
        tool: msgspec.structs.replace(reach, unresolved=f"`{tool.removeprefix(PREFIX)}` {no_network}")
        if reach.network or reach.talks
        else reach
        for tool, reach in atoms.items()
    }


def _with_atoms(role: ResolvedRole, ground: Ground) -> ResolvedRole:
    """The role with the tools through which its atoms are called, each atom's own among them."""
    if not ground.atoms:
        return role
    more = (*(PREFIX + each for each in LEAN), *sorted(ground.atoms))
    return role._replace(tools=msgspec.structs.replace(role.tools, allowed=(*role.tools.allowed, *more)))


def _tools_instead(role: ResolvedRole) -> str:
    plain = [each for each in role.tools.allowed if not each.startswith(PREFIX)]
    atoms = ["the atoms of this role"] if len(plain) < len(role.tools.allowed) else []
    return f"use {', '.join((*plain, *atoms))}" if plain or atoms else "this role has no tools"


def capability_policy(
    names: Iterable[str], role: ResolvedRole | None, spec: TaskSpec, sources: Sources, ground: Ground
) -> Policy:
    """The policy of single capabilities, judged alone; the role only gives parameters."""
    current = [sources.canonical(name) for name in names]
    commands = _commands(role, current, sources) if role is not None else None
    return _policy(" ".join(current), (), current, _Task(spec, role, sources, commands, ground, ()))


def _commands(role: ResolvedRole, names: Iterable[str], sources: Sources) -> tuple[str, ...]:
    """The commands a role allows: its own patterns, else those of its allow-list capability; and the checks'."""
    own = role.tools.bash_patterns_allowed
    if not own and ALLOW_LIST in names:
        parameterized = sources.manifest(ALLOW_LIST).parameterized
        own = _strings(parameterized.defaults.get("bash-patterns-allowed")) if parameterized else ()
    return (*own, *sources.allowed_commands)


class _Task(Struct, frozen=True):
    spec: TaskSpec
    role: ResolvedRole | None
    sources: Sources
    commands: tuple[str, ...] | None
    ground: Ground
    elevated: tuple[str, ...]


def _policy(name: str, own: tuple[Rule, ...], names: Iterable[str], task: _Task) -> Policy:
    ground = task.ground
    manifests = [(each, effective(task.sources.manifest(each), task.sources)) for each in names]
    return Policy(
        role=name,
        rules=(*own, *(_rule(each, manifest, task) for each, manifest in manifests if manifest.gate is not None)),
        worktree=ground.worktree,
        main=ground.main,
        scratch=ground.scratch,
        home=ground.home,
        tools=ground.tools,
        atoms=ground.atoms,
        checks=tuple(
            _check(each, manifest, manifest.verify, task) for each, manifest in manifests if _per_call(manifest.verify)
        ),
        verifies=tuple(
            _planned(each, manifest, manifest.verify, task)
            for each, manifest in manifests
            if manifest.verify is not None and manifest.verify.when == "on-return"
        ),
        task=_told(task),
        task_path=ground.task_path,
        elevated=task.elevated,
    )


def effective(manifest: CapabilityManifest, sources: Sources) -> CapabilityManifest:
    """The manifest whose parts are data: a compiled module of the originals is the kit's capability of that name."""
    gate, verify = manifest.gate, manifest.verify
    if (gate is None or gate.kind is not None) and (verify is None or verify.kind is not None):
        return manifest
    forked = manifest.lineage.fork_from if manifest.lineage else None
    shipped = sources.shipped(manifest.capability.name) or (sources.shipped(forked) if forked else None)
    if gate is not None and gate.kind is None:
        if shipped is None or shipped.gate is None:
            raise _nowhere(manifest, "gate")
        manifest = msgspec.structs.replace(manifest, gate=shipped.gate, restricts=shipped.restricts)
    if verify is not None and verify.kind is None:
        if shipped is None or shipped.verify is None:
            raise _nowhere(manifest, "verify")
        own = {"run_from": verify.run_from, "when": verify.when, "severity": verify.severity}
        part = msgspec.structs.replace(shipped.verify, timeout_s=verify.timeout_s, **own)
        parameterized = manifest.parameterized or shipped.parameterized
        manifest = msgspec.structs.replace(manifest, verify=part, parameterized=parameterized)
    return manifest


def _nowhere(manifest: CapabilityManifest, part: str) -> OperatorError:
    message = f"capability `{manifest.capability.name}` declares a {part} that does not exist here"
    return OperatorError(message, "declare its `kind`, with what that kind needs")


def _rule(name: str, manifest: CapabilityManifest, task: _Task) -> Rule:
    gate = manifest.gate or GatePart()
    restricts = manifest.restricts or Restricts()
    parameters = parameters_of(name, manifest, task)
    given = _strings(parameters.get(gate.patterns_from)) if gate.patterns_from else None
    tools_allowed = parameters.get("tools-allowed") if gate.kind == "tools" else None
    return Rule(
        capability=name,
        severity=gate.severity,
        on_error=gate.on_error,
        instead=_instead(gate, given),
        patterns=_patterns(gate, restricts, given),
        globs=_globs(gate, restricts, given),
        tools_denied=restricts.tools_denied,
        tools_allowed=_strings(tools_allowed) if tools_allowed is not None else None,
        script=f"{task.sources.folder(name)}/{gate.path}" if gate.kind == "script" else None,
        bypass_env=gate.bypass_env,
        parameters=parameters,
        lists=_lists(restricts, parameters),
    )


def _patterns(gate: GatePart, restricts: Restricts, given: tuple[str, ...] | None) -> tuple[Patterns, ...]:
    own = gate.kind == "pattern"
    found = []
    if own:
        found.append(Patterns(mode=gate.mode, items=restricts.tool_patterns if given is None else given))
    if restricts.tool_patterns and (not own or given is not None):
        found.append(Patterns(mode="deny", items=restricts.tool_patterns))
    return tuple(found)


def _globs(gate: GatePart, restricts: Restricts, given: tuple[str, ...] | None) -> tuple[Globs, ...]:
    own = gate.kind == "paths"
    found = []
    if own:
        found.append(Globs(mode=gate.mode, items=restricts.paths if given is None else given))
    if restricts.paths and (not own or given is not None):
        found.append(Globs(mode="deny", items=restricts.paths, strict=False))
    return tuple(found)


def _instead(gate: GatePart, given: tuple[str, ...] | None) -> str:
    if gate.mode == "allow-only" and gate.kind == "paths":
        return f"write inside {', '.join(given)}" if given else "write nothing: the list of allowed paths is empty"
    if gate.mode == "allow-only":
        return "run one of the commands the role allows, one at a time"
    if gate.kind == "paths":
        return "leave that path as it is, and say in your report what should change there"
    if gate.kind == "tools":
        return "use another tool"
    return "leave it out, and say in your report what you would have needed"


def parameters_of(name: str, manifest: CapabilityManifest, task: _Task) -> dict[str, Any]:
    """Defaults, then what the task and the role bring, then what the task sets for this capability."""
    parameterized = manifest.parameterized
    values: dict[str, Any] = dict(parameterized.defaults) if parameterized else {}
    accepts = parameterized.accepts if parameterized else ()
    spec = task.spec
    brought: dict[str, Any] = {
        "files-whitelist": list(spec.scope.files_whitelist),
        "files-denylist": list(spec.scope.files_denylist),
        "report-fields-required": list(spec.output.report_fields_required),
    }
    if spec.verification.test_count_min:
        brought["test-count-min"] = spec.verification.test_count_min
    if task.role is not None:
        brought["tools-allowed"] = list(task.role.tools.allowed)
        if task.commands:
            brought["bash-patterns-allowed"] = list(task.commands)
    wanted = {*accepts, *((manifest.gate.patterns_from,) if manifest.gate and manifest.gate.patterns_from else ())}
    values.update({key: value for key, value in brought.items() if key in wanted})
    for key, own in spec.parameters.items():
        if task.sources.canonical(key) == name:
            values.update(own)
    return values


def _strings(value: object) -> tuple[str, ...]:
    return tuple(str(each) for each in value) if isinstance(value, list | tuple) else ()


def _lists(restricts: Restricts, parameters: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    lists = {
        "tool-patterns": restricts.tool_patterns,
        "tools-denied": restricts.tools_denied,
        "paths": restricts.paths,
    }
    return {**lists, **{key: _strings(value) for key, value in parameters.items() if isinstance(value, list | tuple)}}


def _per_call(verify: VerifyPart | None) -> bool:
    return verify is not None and verify.when == "per-tool-call" and (verify.kind == "script" or bool(verify.command))


def _check(name: str, manifest: CapabilityManifest, verify: VerifyPart | None, task: _Task) -> Check:
    part = verify or VerifyPart()
    parameters = parameters_of(name, manifest, task)
    scripted = part.kind == "script"
    return Check(
        capability=name,
        kind="script" if scripted else "command",
        run=f"{task.sources.folder(name)}/{part.path}" if scripted else part.command or "",
        timeout_s=part.timeout_s,
        severity=part.severity,
        parameters=parameters,
        lists=_lists(manifest.restricts or Restricts(), parameters),
    )


PLACES: Final[dict[str, tuple[RunFrom, ...]]] = {
    "merged": ("merged",),
    "worktree": ("worktree",),
    "both": ("worktree", "merged"),
}


def _planned(name: str, manifest: CapabilityManifest, verify: VerifyPart | None, task: _Task) -> Planned:
    part = verify or VerifyPart()
    parameters = parameters_of(name, manifest, task)
    wanted = parameters.get("timeout-s", task.spec.verification.timeout_s)
    return Planned(
        capability=name,
        kind=part.kind or "script",
        rule=part.rule,
        command=part.command,
        script=f"{task.sources.folder(name)}/{part.path}" if part.kind == "script" else None,
        run_from=PLACES[part.run_from],
        timeout_s=float(wanted) if isinstance(wanted, int | float) and wanted > 0 else part.timeout_s,
        severity=part.severity,
        parameters=parameters,
        lists=_lists(manifest.restricts or Restricts(), parameters),
    )


def _told(task: _Task) -> dict[str, Any]:
    """What a script learns of the task."""
    spec = task.spec
    data: dict[str, Any] = msgspec.to_builtins(spec)
    return {
        "agent_id": spec.task.agent_id or "",
        "role": spec.task.role,
        "scope": data.get("scope", {}),
        "verification": data.get("verification", {}),
        "parameters": data.get("parameters", {}),
        "worktree_path": task.ground.worktree,
    }
