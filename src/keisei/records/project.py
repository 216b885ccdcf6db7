"""Projects: keisei.toml."""

from typing import Annotated, Any, Literal

from msgspec import Meta

from keisei.records.form import Record, RelativePath, Text, default


class ProjectHead(Record, frozen=True, kw_only=True, rename="kebab"):
    """The project."""

    name: Annotated[str, Meta(min_length=1, max_length=64, pattern="^[A-Za-z0-9][A-Za-z0-9_.-]*$")]
    """Its name; the state folder is called after it."""
    agent: str | None = None
    """The durable identity of tasks that name none."""
    main: Text = default("main")
    """The branch candidates are merged with and land on."""


class ProjectCommands(Record, frozen=True, kw_only=True, rename="kebab"):
    """What check-green and tests-green run where the task says nothing."""

    check: str | None = None
    """Must exit 0."""
    test: str | None = None
    """Must exit 0 and run tests."""


class ProjectEnvironment(Record, frozen=True, kw_only=True, rename="kebab"):
    """Dependencies, installed once per key on the base and given as a copy to attempts and verification."""

    setup: Text
    """The command that installs them."""
    key: tuple[RelativePath, ...] = ()
    """Lock files; another content is another environment."""
    keep: tuple[RelativePath, ...] = ()
    """Paths that make up the environment."""


class ProjectLanding(Record, frozen=True, kw_only=True, rename="kebab"):
    """What happens to a verified candidate."""

    auto: bool = default(False)
    """Merge without asking. False holds every landing for a person."""
    to: Literal["main", "branch"] = default("main")
    """Land on main, or on a branch of its own where main is protected."""


class ProjectSandbox(Record, frozen=True, kw_only=True, rename="kebab"):
    """What confinement lets in."""

    read: tuple[str, ...] = ()
    """Toolchain folders an agent may read beside the system's."""


class ToolFields(Record, frozen=True, kw_only=True, rename="kebab"):
    """What the fields of a tool mean, for tools whose fields the gate cannot know by itself."""

    writes: tuple[Text, ...] = ()
    """Fields that hold paths it writes."""
    deletes: tuple[Text, ...] = ()
    """Fields that hold paths it deletes."""
    reads: tuple[Text, ...] = ()
    """Fields that hold paths it reads."""
    commands: tuple[Text, ...] = ()
    """Fields that hold shell text."""
    network: tuple[Text, ...] = ()
    """Fields that hold addresses."""


class ProjectGate(Record, frozen=True, kw_only=True, rename="kebab"):
    """What the gate is told of this project."""

    tools: dict[str, ToolFields] = {}
    """`[gate.tools."mcp__server__tool"]`: the fields of a tool, by its full name."""


class ProjectRunner(Record, frozen=True, kw_only=True, rename="kebab"):
    """How tasks are run."""

    jobs: Annotated[int, Meta(ge=1, le=256)] = default(2)
    """Attempts at once, unless `keisei runner --jobs` says otherwise."""
    max_attempts: Annotated[int, Meta(ge=1, le=1000)] = default(3)
    """How often a task may be tried, unless it says otherwise."""
    retry_first_s: Annotated[float, Meta(ge=0, le=86_400)] = default(30.0)
    """The wait before the first retry; it doubles every time."""
    retry_cap_s: Annotated[float, Meta(ge=0, le=604_800)] = default(3600.0)
    """The longest wait between two tries."""
    lease_s: Annotated[float, Meta(ge=3, le=3600)] = default(30.0)
    """How long a runner may be silent before its attempts are taken from it."""
    silence_s: Annotated[float, Meta(ge=1, le=86_400)] | None = None
    """An attempt that prints nothing for so long is ended."""
    output_cap: Annotated[int, Meta(ge=1024, le=1_073_741_824)] = default(16_777_216)
    """How many bytes of each output stream are kept as evidence."""
    event_days: Annotated[int, Meta(ge=1, le=3650)] = default(30)
    """How long events are kept. The ledger is never pruned."""
    policy: str | None = None
    """Words at the head of every prompt."""


class ProjectFile(Record, frozen=True, kw_only=True):
    """`keisei.toml`, at a project's root; the kit's and the user's have adapters only."""

    project: ProjectHead | None = None
    """The project; needed at a project's root."""
    commands: ProjectCommands | None = None
    """Check and test."""
    environment: ProjectEnvironment | None = None
    """Dependencies."""
    landing: ProjectLanding | None = None
    """What happens to a verified candidate."""
    sandbox: ProjectSandbox | None = None
    """What confinement lets in."""
    gate: ProjectGate | None = None
    """What the gate is told."""
    runner: ProjectRunner | None = None
    """How tasks are run."""
    adapters: dict[str, dict[str, Any]] = {}
    """`[adapters.<id>]`: adapter.config without its id."""
