"""The doctor: whether this machine can run agents, found out by doing what an attempt does.

Nothing is left behind but the project's store, which every command makes where it is not there.
"""

import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, TypeVar

from msgspec import Struct

from keisei.adapters import adapter_of
from keisei.library.catalog import Catalog
from keisei.records.adapter import AdapterConfig, ScriptAdapter
from keisei.records.confinement import Machine
from keisei.records.error import AuthorError, KeiseiError
from keisei.records.launch import Launch
from keisei.records.project import ProjectWorkspace
from keisei.records.task_spec import SpecTask, TaskSpec
from keisei.sandbox.confine import level_of
from keisei.sandbox.process import run
from keisei.settings import Settings
from keisei.wiring import catalog
from keisei.wiring.choose import kind_of
from keisei.wiring.key import check_key
from keisei.wiring.policy import Setting, spec_policy
from keisei.wiring.probe import probed
from keisei.wiring.start import Order, start, stop_started
from keisei.wiring.store import Home, open_home_store, project_home
from keisei.workspace.repository import OLDEST, facts
from keisei.workspace.space import free_bytes

T = TypeVar("T")
State = Literal["ok", "note", "missing"]
"""Fine; worth knowing; needed and not there."""
PATIENCE_S: Final = 15.0
"""How long a program may take to say its version."""
MEGABYTE: Final = 1024 * 1024
ROLE: Final = "read-only"
"""The role whose policy the gate is tried with: it refuses what nobody has, and allows reading."""
CLIENT_WORDS: Final = 4
"""Of a hook command whose client is compiled: the program, the socket, the token, the harness."""
NO_NAMESPACES: Final = "bubblewrap cannot"
"""How the fault of a machine begins whose bubblewrap is there and does not work."""
VERSION: Final = re.compile(r"\d+(?:\.\d+)+[\w.+-]*")


class Check(Struct, frozen=True, kw_only=True):
    """One thing that was looked at."""

    name: str
    """What."""
    state: State
    """How it stands."""
    detail: str
    """What was found, in a sentence."""
    hint: str | None = None
    """What to do, where something is to be done."""
    facts: dict[str, Any] = {}
    """The same for machines."""


def examine(settings: Settings, folder: Path, look: Callable[[], Machine]) -> Iterator[Check]:
    """Every check, in the order of an attempt. `look` finds out what the machine can hold. Never raises KeiseiError."""
    yield isolation(look())
    found = _try("project", lambda: _project(settings, folder))
    if isinstance(found, Check):  # everything else leans on these files
        yield found
        return
    home, library = found
    yield _gate(settings, library)
    yield from _harnesses(library, home.root)
    yield _git()
    yield from _repository(home)
    yield _space(home)
    yield _store(settings, home)


def _project(settings: Settings, folder: Path) -> tuple[Home, Catalog]:
    """The project, and its files. Raises AuthorError where its adapters cannot be read."""
    home, library = project_home(settings, folder), catalog(settings, start=folder)
    _ = library.adapters
    return home, library


def isolation(machine: Machine) -> Check:
    """What holds an agent here, layer by layer. Shipped roles for agents require all of it."""
    level = level_of(machine)
    layers = [
        "namespaces" if machine.bwrap else "no namespaces",
        f"Landlock ABI {machine.landlock}" if machine.landlock else "no Landlock",
        "seccomp" if machine.seccomp else "no seccomp",
        "limits by cgroup" if machine.cgroup else "limits by process",
    ]
    who = "root" if os.geteuid() == 0 else "an ordinary user"
    told = {"level": level, "landlock": machine.landlock, "seccomp": machine.seccomp, "root": os.geteuid() == 0}
    return Check(
        name="isolation",
        state="ok" if level == "full" else "missing",
        detail=". ".join([f"level {level}, as {who}: {', '.join(layers)}", *machine.faults]),
        hint=None if level == "full" else _isolation_hint(machine),
        facts={**told, "bwrap": machine.bwrap, "cgroup": machine.cgroup, "faults": list(machine.faults)},
    )


def _isolation_hint(machine: Machine) -> str:
    if machine.bwrap is not None:
        missing = "use a kernel with Landlock"
    elif any(each.startswith(NO_NAMESPACES) for each in machine.faults):
        missing = "let bubblewrap make namespaces: a setting of the system or the container forbids it"
    else:
        missing = "install bubblewrap (the program `bwrap`)"
    return f"{missing}; `--accept-weaker` runs agents with what there is"


def _gate(settings: Settings, library: Catalog) -> Check:
    with tempfile.TemporaryDirectory(prefix="keisei-doctor-") as folder:
        return _try("gate", lambda: _gate_tried(settings, library, Path(folder)))


def _gate_tried(settings: Settings, library: Catalog, folder: Path) -> Check:
    """A service of its own is started, asked two calls through the client a hook starts, and ended."""
    policy = spec_policy(library, TaskSpec(task=SpecTask(role=ROLE)), Setting(folder, None, settings.home))
    started = start(settings, Order(policy=policy, harness="claude"))
    stop_started(started)
    log = Path(started.log)
    log.unlink(missing_ok=True)
    log.parent.rmdir()
    client = "compiled" if len(started.hook) == CLIENT_WORDS else "python"
    words = "compiled" if client == "compiled" else "in Python: slower, because there is no C compiler"
    detail = f"one call refused and one allowed, by a service of its own; the client is {words}"
    return Check(name="gate", state="ok", detail=detail, facts={"client": client})


def _harnesses(library: Catalog, root: Path | None) -> list[Check]:
    """Every adapter that can be tried; without a single one that is there, no agent can run."""
    configs = [each.record for _, each in sorted(library.adapters.items())]
    with ThreadPoolExecutor(max(1, len(configs))) as pool:
        found = list(pool.map(lambda config: _adapter(config, root), configs))
    agents = [check for config, check in zip(configs, found, strict=True) if not isinstance(config, ScriptAdapter)]
    if any(each.state == "ok" for each in agents):
        return found
    hint = "install Claude Code, Codex or Hermes, or start Ollama; `keisei adapter list` shows how each is reached"
    nobody = Check(name="harness", state="missing", detail="no program or server of an agent can be reached", hint=hint)
    return [*found, nobody]


def _adapter(config: AdapterConfig, root: Path | None) -> Check:
    reached = probed(config)
    name, kind = f"adapter {config.adapter_id}", kind_of(config)
    if not reached.ok:
        return Check(name=name, state="note", detail=reached.reason, facts={"kind": kind})
    program = adapter_of(kind).probe(config).program
    path = None if program is None else shutil.which(program)
    if path is None or isinstance(config, ScriptAdapter):
        told = {"kind": kind, "program": path, "version": None}
        return Check(name=name, state="ok", detail=path or reached.reason, facts=told)
    found = program_version(path)
    told = {"kind": kind, "program": path, "version": found.version}
    if found.fault is None:
        try:
            check_key(config, root)
        except KeiseiError as error:
            detail = f"{found.version}, {path}, and no way to its model: {error.message}"
            return Check(name=name, state="note", detail=detail, hint=error.hint, facts=told)
        return Check(name=name, state="ok", detail=f"{found.version}, {path}", facts=told)
    hint = f"`{path} --version` has to work"
    return Check(name=name, state="note", detail=f"{path} does not work: {found.fault}", hint=hint, facts=told)


class Version(NamedTuple):
    """What a program says of itself; one of both is None."""

    version: str | None
    fault: str | None


def program_version(path: str) -> Version:
    """The version a program says it has, asked with a home and an environment of its own, or why it says none."""
    with tempfile.TemporaryDirectory(prefix="keisei-doctor-", ignore_cleanup_errors=True) as home:
        env = {"HOME": home, "TMPDIR": home, "PATH": os.environ.get("PATH", os.defpath)}
        try:
            ended = run(Launch(argv=(path, "--version"), cwd=home, env=env, stdin=b"", timeout_s=PATIENCE_S))
        except KeiseiError as error:
            return Version(None, error.message)
    if ended.timed_out:
        return Version(None, f"it does not say its version in {PATIENCE_S:g} seconds")
    if ended.code != 0:
        how = f"signal {ended.signal}" if ended.code is None else f"exit {ended.code}"
        return Version(None, f"asked for its version it ended with {how}")
    found = VERSION.search(ended.stdout.decode("utf-8", "replace"))
    return Version(found[0], None) if found is not None else Version(None, "it says no version")


def _git() -> Check:
    hint = f"install git {'.'.join(map(str, OLDEST))} or newer"
    path = shutil.which("git")
    if path is None:
        return Check(name="git", state="missing", detail="there is no git", hint=hint)
    found = program_version(path)
    if found.version is None:
        return Check(name="git", state="missing", detail=f"{path} does not work: {found.fault}", hint=hint)
    detail = f"{found.version}, {path}"
    if tuple(int(each) for each in re.findall(r"\d+", found.version)[:2]) < OLDEST:
        return Check(name="git", state="missing", detail=f"{detail}: it is too old", hint=hint)
    return Check(name="git", state="ok", detail=detail)


def _repository(home: Home) -> Iterator[Check]:
    if home.root is None or home.file.project is None:
        hint = "agents work on a project: a repository with a keisei.toml in its root"
        yield Check(name="repository", state="note", detail="there is no project here", hint=hint)
        return
    root, main = home.root, home.file.project.main
    found = _try("repository", lambda: facts(root, main))
    if isinstance(found, Check):
        yield found
        return
    branch = found.branch or "a detached HEAD"
    yield Check(name="repository", state="ok", detail=f"agents begin at {found.head[:12]} of {branch}")
    if found.branch != main:
        detail = f"there is no branch `{main}`, so agents begin at the one that is checked out"
        yield Check(
            name="repository", state="note", detail=detail, hint="`[project] main` in keisei.toml names another"
        )
    for note in found.notes():
        yield Check(name="repository", state="note", detail=note)


def _space(home: Home) -> Check:
    free, wanted = free_bytes(home.folder), (home.file.workspace or ProjectWorkspace()).min_free_mb
    if free is None:
        return Check(name="space", state="note", detail=f"nobody knows how much is free at {home.folder}")
    megabytes = free // MEGABYTE
    detail, told = f"{megabytes:,} MB free at {home.folder}", {"free_bytes": free}
    if megabytes >= wanted:
        return Check(name="space", state="ok", detail=detail, facts=told)
    hint = f"runners need {wanted} MB ([workspace] min-free-mb); `keisei gc` shows what can go"
    return Check(name="space", state="missing", detail=detail, hint=hint, facts=told)


def _store(settings: Settings, home: Home) -> Check:
    found = _try("store", lambda: open_home_store(settings, home))
    if isinstance(found, Check):
        return found
    found.close()
    kind = settings.database_url.partition("://")[0] or "sqlite"
    return Check(name="store", state="ok", detail=f"{kind}, of project {home.name}", facts={"kind": kind})


def _try(name: str, ask: Callable[[], T]) -> T | Check:
    """What was asked for, or the check that says why it cannot be had."""
    try:
        return ask()
    except AuthorError as error:
        return Check(name=name, state="missing", detail=error.problems[0].render(), hint="`keisei lint` shows all")
    except KeiseiError as error:
        return Check(name=name, state="missing", detail=error.message, hint=error.hint)
    except OSError as error:
        return Check(name=name, state="missing", detail=f"{(error.strerror or str(error)).lower()}: {error.filename}")
