"""The port of an adapter: an order in, a launch out; an exit in, a report out. A module with these names is one."""

from collections.abc import Mapping, Sequence
from typing import Literal, Protocol

from msgspec import Struct

from keisei.records.adapter import AdapterConfig
from keisei.records.launch import Call, Exit, Launch
from keisei.records.report import AgentReport

PROMPT = "prompt.md"
"""Where whoever runs a launch writes the prompt, in the attempt's run folder, before the launch."""
MODEL_KEY = "KEISEI_MODEL_KEY"
"""The variable in which Codex finds the attempt's token for the model's relay."""


class Place(Struct, frozen=True, kw_only=True):
    """Where an attempt happens, as far as a gate's settings say it. Paths are absolute and real: no links in them."""

    room: str
    """The attempt's private folder, as `Order.run_folder` has it."""
    worktree: str
    """The top of the tree the agent works in; the harness must not trust what stands there."""
    model: str | None = None
    """The model, where the attempt names one."""
    model_address: str | None = None
    """Where the model's relay answers, `http://127.0.0.1:PORT` without a path; None leaves the harness its own way."""
    server: tuple[str, ...] | None = None
    """keisei's own MCP server, as the harness starts it, whole; None where the role has no atoms."""
    server_env: Mapping[str, str] = {}
    """Variables of that server. They hold a secret: no command line may."""


class Guard(Struct, frozen=True, kw_only=True):
    """What hangs the gate into a harness for one attempt. `Adapter.guard` builds it, `Adapter.plan` checks it again."""

    settings: str | None = None
    """Claude Code: the JSON that `--settings` gets, with the hook in it."""
    servers: str | None = None
    """Claude Code: the JSON that `--mcp-config` gets; None for no server at all."""
    files: Mapping[str, str] = {}
    """Codex, Hermes: files of the harness's private home by name, written there before the launch."""
    env: Mapping[str, str] = {}
    """Variables that the gate's client and our server need."""


class Order(Struct, frozen=True, kw_only=True):
    """What one attempt asks of its adapter."""

    config: AdapterConfig
    """How the harness is reached."""
    model: str | None = None
    """The task's model, else the profile's, else the adapter's; None leaves it to the harness."""
    prompt: bytes
    """What the agent is told, UTF-8. It travels on standard input or as a file, never on the command line."""
    cwd: str
    """The folder the harness works in, absolute."""
    env: Mapping[str, str]
    """The whole environment: allow-listed variables, the adapter's, secrets. No value above 96 kB."""
    args: tuple[str, ...] = ()
    """Arguments of the task's payload, for a script."""
    run_folder: str
    """The attempt's private folder, absolute: the prompt, the harness's home and what it leaves are in it."""
    guard: Guard | None = None
    """The gate. A harness with tools is refused without one."""
    settings_files: Mapping[str, str] = {}
    """The text of every settings file that the autonomy requires, by the path the adapter's table names."""
    resume: str | None = None
    """The session to go on with; None begins a new one."""
    confined: bool = False
    """The runtime's own sandbox holds the tree, so that the harness's, which cannot start inside it, stays off."""
    accept_weaker: bool = False
    """Whoever runs this takes less confinement than asked for, said openly; `danger-full-access` needs it."""
    model_address: str | None = None
    """Where the model's relay answers, `http://127.0.0.1:PORT` without a path; None leaves the harness its own way."""
    max_cost_usd: float | None = None
    """What may be spent, for a harness that can stop by itself; None leaves it to the relay."""


class Probe(Struct, frozen=True, kw_only=True):
    """How to find out whether a harness can be reached. Everything named here has to be there."""

    program: str | None = None
    """A program: a path where it has a slash, else looked up on PATH."""
    url: str | None = None
    """An address that is asked with GET."""
    statuses: tuple[int, int] = (200, 299)
    """The first and the last status that count as an answer."""


class Adapter(Protocol):
    """One kind of harness. Pure: every function is one of its arguments alone."""

    kind: str
    """The `kind` of the adapter's table."""
    home: str | None
    """The harness's private home inside the run folder, where the guard's files belong; None where it needs none."""
    gate: Literal["native", "none"]
    """`native`: it asks a hook before every tool call, and is refused without one. `none`: it has no tools to gate."""
    leaves: tuple[str, ...]
    """Patterns, relative to the run folder, of the files `read` wants to see: regular ones, of bounded size."""

    def guard(self, hook: Sequence[str], place: Place) -> Guard | None:
        """What hangs the gate in; `hook` is the client's whole argv. None where there is nothing to gate.

        Raises OperatorError for paths that no settings file can hold, Refused for a server it cannot start.
        """

    def plan(self, order: Order) -> Launch | Call:
        """How to run it. Raises Refused for whatever would free the agent, and for what no command line can hold."""

    def read(self, ended: Exit, files: Mapping[str, bytes]) -> AgentReport:
        """What came out. Never raises: output of any bytes is a report, with an error where it is not what is written.

        `files` holds what `leaves` found, by path relative to the run folder.
        """

    def probe(self, config: AdapterConfig) -> Probe:
        """What has to be there before an attempt is worth starting."""
