"""Projects: keisei.toml."""

from typing import Annotated, Any, Literal

from msgspec import Meta

from keisei.records.form import EnvName, JsonObject, Positive, Record, RelativePath, Text, default


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
    respawn: Annotated[int, Meta(ge=0, le=100)] = default(1)
    """How often in a row a new task takes over what conflicts with main, or is red on it, by the time it lands."""


class ProjectLedger(Record, frozen=True, kw_only=True, rename="kebab"):
    """How the ledger is proved."""

    checkpoint_rows: Annotated[int, Meta(ge=1, le=1_000_000)] = default(100)
    """A runner signs a checkpoint of the ledger whenever so many rows are new, and when it ends."""


class ProjectVerification(Record, frozen=True, kw_only=True, rename="kebab"):
    """How candidates are verified."""

    caches: tuple[RelativePath, ...] = ()
    """Ignored paths that checks fill and the next checks may begin with, for example `target`. Only what a run on main
    has left is ever kept."""
    network: Literal["none", "open"] = default("none")
    """What checks may reach."""


class ProjectSandbox(Record, frozen=True, kw_only=True, rename="kebab"):
    """What confinement lets in."""

    read: tuple[str, ...] = ()
    """Toolchain folders an agent may read beside the system's."""
    processes: Annotated[int, Meta(ge=16, le=1_000_000)] = default(1024)
    """Processes and threads of one attempt at once."""
    memory_mb: Annotated[int, Meta(ge=16, le=1_073_741_824)] | None = None
    """Megabytes of memory of one attempt, all its processes together; None for as much as the machine has."""


class ProjectWorkspace(Record, frozen=True, kw_only=True, rename="kebab"):
    """How much room worktrees, environments and what came of attempts may take."""

    pool: Annotated[int, Meta(ge=1, le=1000)] = default(8)
    """Worktrees that are kept for the next attempts; `keisei gc` removes free ones beyond it."""
    keep_days: Annotated[int, Meta(ge=1, le=3650)] = default(30)
    """How long the work of attempts is kept in refs/keisei/ once its task is over."""
    environments: Annotated[int, Meta(ge=1, le=1000)] = default(3)
    """Environments that are kept; the ones used last stay."""
    min_free_mb: Annotated[int, Meta(ge=0, le=1_073_741_824)] = default(512)
    """Megabytes that stay free on the disk: below it runners claim nothing and end what they run; 0 for never."""
    evidence_days: Annotated[int, Meta(ge=1, le=36_500)] | None = None
    """How long evidence of tasks that are over is kept; None for ever. The ledger is never pruned."""


class ProjectPrice(Record, frozen=True, kw_only=True, rename="kebab"):
    """What a model costs, in US dollars per million tokens."""

    input: Annotated[float, Meta(ge=0)]
    """Tokens it is told."""
    output: Annotated[float, Meta(ge=0)]
    """Tokens it says."""
    cache_read: Annotated[float, Meta(ge=0)] | None = None
    """Tokens it is told out of the provider's cache; what fresh ones cost, unless said."""
    cache_write: Annotated[float, Meta(ge=0)] | None = None
    """Tokens that are put into that cache; what fresh ones cost, unless said."""


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
    """How long events, and slots of schedules, are kept. The ledger is never pruned."""
    policy: str | None = None
    """Words at the head of every prompt."""
    follow_ups_per_hour: Annotated[int, Meta(ge=0, le=100_000)] = default(60)
    """Follow-up tasks that tasks of one type may ask for in an hour; the others wait."""
    loop_after: Annotated[int, Meta(ge=0, le=1000)] = default(10)
    """So many identical outcomes in a row (two at least) pause their work, and a person is asked; 0 for never."""
    sensor_backlog: Annotated[int, Meta(ge=1, le=10_000_000)] = default(1000)
    """While so many tasks wait, sensors are not run and webhooks are told to come again."""


class ProjectAmount(Record, frozen=True, kw_only=True, rename="kebab"):
    """A limit; what is not named has none."""

    max_cost_usd: Annotated[float, Meta(ge=0)] | None = None
    """Money, in US dollars."""
    max_tokens: Positive | None = None
    """Tokens of all four kinds together."""


class ProjectBudget(Record, frozen=True, kw_only=True, rename="kebab"):
    """What may be spent. Reserved when a task is claimed, settled with what its harness says it used."""

    task: ProjectAmount | None = None
    """`[budget.task]`: of a task that names no budget, over all its attempts."""
    day: ProjectAmount | None = None
    """`[budget.day]`: of everything together, in one UTC day."""
    agents: dict[str, ProjectAmount] = {}
    """`[budget.agents.<id>]`: of one durable identity, in one UTC day."""
    adapters: dict[str, ProjectAmount] = {}
    """`[budget.adapters.<id>]`: of one adapter, in one UTC day."""
    when_exhausted: Literal["wait", "ask"] = default("wait")
    """A task that is not covered waits, or a person is asked."""


class ProjectApprovals(Record, frozen=True, kw_only=True, rename="kebab"):
    """What needs a person."""

    deadline_h: Annotated[float, Meta(gt=0, le=8760)] = default(24.0)
    """Hours until somebody should have looked."""
    on_deadline: Literal["remind", "reject"] = default("remind")
    """What happens then: somebody is told again, or it is rejected."""
    notify: tuple[Text, ...] = default(("console",))
    """Channels on which it is told."""


class ProjectSensor(Record, frozen=True, kw_only=True, rename="kebab"):
    """A sensor of a skill that this project runs; without this table it is only listed."""

    every_s: Annotated[float, Meta(ge=1, le=31_536_000)] = default(60.0)
    """Seconds between two runs."""
    deadline_s: Annotated[float, Meta(ge=0.1, le=3600)] = default(30.0)
    """A run that takes longer is ended, with everything it started."""
    env: tuple[EnvName, ...] = ()
    """Variables it is given beside the usual few."""
    enabled: bool = default(True)
    """Whether runners run it."""


class ProjectWebhook(Record, frozen=True, kw_only=True, rename="kebab"):
    """A signed webhook that becomes sensor events."""

    kind: Literal["github", "standard"]
    """Who signs: GitHub, or anybody by Standard Webhooks."""
    secret_env: EnvName
    """The variable that holds the secret; it never stands in a file of the project."""
    events: tuple[Text, ...] = ()
    """Only these kinds of event; empty means all."""
    dedupe: str | None = None
    """A JSON pointer into the body: the same value is the same event. By default the sender's delivery id."""
    freshness_s: Annotated[float, Meta(gt=0)] | None = None
    """An event that is older starts nothing."""
    task: JsonObject | None = None
    """The task it proposes: an intent; its payload gets the body as `event`."""
    workflow: JsonObject | None = None
    """The workflow it creates or wakes: `template` and `instance_key`, which may be a JSON pointer into the body."""


class ProjectChannel(Record, frozen=True, kw_only=True, rename="kebab"):
    """Where messages go."""

    kind: Literal["console", "webhook", "apprise"]
    """Rows for the terminal and the console; Standard Webhooks; whatever apprise knows."""
    url: str | None = None
    """The address, where it is no secret."""
    url_env: EnvName | None = None
    """The variable that holds the address."""
    secret_env: EnvName | None = None
    """The variable that holds the secret a webhook is signed with."""


class IdentityLookup(Record, frozen=True, kw_only=True, rename="kebab"):
    """Where the registered name of an address is asked for."""

    url: Annotated[str, Meta(pattern="^https?://")]
    """The address that is asked; `{address}` in it is the wallet's. Plain http only on this machine."""
    name: Text = default("/name")
    """A JSON pointer into the answer: the name."""
    registered_at: str | None = None
    """A JSON pointer into the answer: when it was registered."""
    ttl_h: Annotated[float, Meta(gt=0, le=8760)] = default(24.0)
    """Hours for which an answer is kept and not asked for again."""


class ProjectIdentity(Record, frozen=True, kw_only=True, rename="kebab"):
    """What is asked of others about agents."""

    lookup: IdentityLookup | None = None
    """`[identity.lookup]`: who knows registered names. What it says never stands above agent.toml."""


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
    ledger: ProjectLedger | None = None
    """How the ledger is proved."""
    verification: ProjectVerification | None = None
    """How candidates are verified."""
    sandbox: ProjectSandbox | None = None
    """What confinement lets in."""
    workspace: ProjectWorkspace | None = None
    """Room for worktrees, environments and what came of attempts."""
    gate: ProjectGate | None = None
    """What the gate is told."""
    runner: ProjectRunner | None = None
    """How tasks are run."""
    budget: ProjectBudget | None = None
    """What may be spent."""
    prices: dict[str, ProjectPrice] = {}
    """`[prices."<model>"]`: what models cost."""
    approvals: ProjectApprovals | None = None
    """What needs a person."""
    sensors: dict[str, ProjectSensor] = {}
    """`[sensors.<skill>]`: sensors that are run."""
    webhooks: dict[str, ProjectWebhook] = {}
    """`[webhooks.<name>]`: signed webhooks that are listened to."""
    channels: dict[str, ProjectChannel] = {}
    """`[channels.<name>]`: where messages go; `console` is always there."""
    identity: ProjectIdentity | None = None
    """What is asked of others about agents."""
    adapters: dict[str, dict[str, Any]] = {}
    """`[adapters.<id>]`: adapter.config without its id."""
