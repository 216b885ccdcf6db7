"""Effects: what a tool call would do, before it does it. Capabilities judge effects, never strings."""

from typing import Any, Literal

from msgspec import Struct

UNKNOWN = "\0"
"""Stands inside a word for text that only the running shell knows. No shell word can hold a real NUL."""

BELOW = "\x01"
"""Stands as the last component of a path for something below it, as `find` and `grep -rl` name files."""


class ToolCall(Struct, frozen=True, kw_only=True):
    """One call of a harness's tool, as its hook tells it."""

    tool: str
    """The tool's name, as the harness sends it."""
    input: dict[str, Any]
    """The tool's input, as it came."""
    cwd: str | None = None
    """The directory the call starts in, absolute; None where the harness does not say."""
    tool_use_id: str | None = None
    """The harness's id of the call."""
    agent_id: str | None = None
    """The harness's sub-agent; None for the agent itself."""
    agent_type: str | None = None
    """What kind of sub-agent that is."""
    event: Literal["PreToolUse", "PostToolUse"] = "PreToolUse"
    """Before the call, or after it."""
    told: dict[str, Any] = {}
    """Everything the harness said, for scripts; what is understood stands in the fields above."""
    harness: str = "claude"
    """Which harness asks: claude, codex, hermes; decides the form of the answer."""


class Command(Struct, frozen=True):
    """One command line that would run."""

    argv: tuple[str, ...]
    """Its words; UNKNOWN inside a word where the shell will put something."""
    text: str
    """The words joined by blanks, the program without its folder: what patterns that forbid are tried on."""
    exact: str
    """The same with the program as it was called, unless that is a system folder: for patterns that allow."""
    via: str = ""
    """What it was found in, outermost first: `sh -c`, `$(...)`, `xargs`; empty where it stands there plainly."""
    listed: bool = True
    """Whether an allow-list must know it. A launcher that is looked through, or code inside a program, need not."""


class Target(Struct, frozen=True):
    """One path that would be touched."""

    path: str
    """As written, tilde and variables expanded where they are known; UNKNOWN inside where not."""
    cwd: str
    """The directory it is relative to, absolute; UNKNOWN where it is not known."""
    how: str
    """What touches it: the tool or the program."""
    entry: bool = False
    """The directory entry itself is meant (rm, mv, ln): a symbolic link at its end is not followed."""
    names: tuple[str, ...] = ()
    """Where the path is a folder, these names inside it are meant (`cp a b folder`)."""
    tree: bool = False
    """Everything below it is meant too."""
    folder: bool = False
    """Only a folder is made."""


class Effects(Struct, frozen=True, kw_only=True):
    """Everything a call would do, as far as it can be read."""

    commands: tuple[Command, ...] = ()
    """Command lines it would run."""
    writes: tuple[Target, ...] = ()
    """Paths it would write or create."""
    deletes: tuple[Target, ...] = ()
    """Paths it would remove or move away."""
    reads: tuple[Target, ...] = ()
    """Paths it would read."""
    network: tuple[str, ...] = ()
    """Addresses or programs it would reach out with."""
    agents: tuple[str, ...] = ()
    """Agents it would start."""
    unresolved: tuple[str, ...] = ()
    """Code it would run that nobody can read beforehand, one sentence each."""
    unknown: str | None = None
    """Why the call as a whole cannot be read; None where it can."""
