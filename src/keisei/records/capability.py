"""Capabilities: one rule in three artefacts. The text is read, the gate stops a call, the verify checks the result."""

from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta, field

from keisei.records.form import CapabilityName, EnvName, Facets, Lineage, Record, RelativePath, Text, default, when

Category = Literal["policy", "scope", "quality", "safety", "output", "tools", "verify"]
Severity = Literal["block", "warn", "advisory"]
TimeoutS = Annotated[float, Meta(gt=0, le=86_400)]


class CapabilityHead(Record, frozen=True, kw_only=True, rename="kebab"):
    """What it is called and why it exists."""

    name: CapabilityName
    """`<category>::<slug>`; equals the folder."""
    category: Category | None = None
    """policy, scope, quality, safety, output, tools or verify; the first half of the name."""
    version: str | None = None
    """Its own version. Lint asks for it."""
    description: str | None = None
    """The rule in a sentence. Lint asks for it."""
    rationale: str | None = None
    """Why it exists."""
    alias: CapabilityName | None = None
    """This name is old; the other one is meant. Such a stub has nothing but its head."""
    deprecated: str | None = None
    """What to use instead, and until when the name is kept."""


class Restricts(Record, frozen=True, kw_only=True, rename="kebab"):
    """What the rule forbids, as data; the gate reads it from here."""

    tool_patterns: tuple[str, ...] = ()
    """Regular expressions, tried on each parsed simple command."""
    tools_denied: tuple[str, ...] = ()
    """Tools refused by name."""
    paths: tuple[str, ...] = ()
    """Globs, tried on every path a call writes or deletes."""


class Parameterized(Record, frozen=True, kw_only=True, rename="kebab"):
    """What a task may set."""

    accepts: tuple[Annotated[str, Meta(pattern="^[a-z][a-z0-9-]*$")], ...] = ()
    """Names of parameters."""
    defaults: dict[str, Any] = {}
    """Values where the task sets none."""


class TextPart(Record, frozen=True, kw_only=True, rename="kebab"):
    """The fragment the agent reads."""

    path: RelativePath = default("text.md")
    """Relative to the capability's folder."""


class GatePart(Record, frozen=True, kw_only=True, rename="kebab"):
    """The gate: judged before the call."""

    INVARIANTS: ClassVar[tuple[dict[str, Any], ...]] = (when({"kind": {"const": "script"}}, {"required": ["path"]}),)

    kind: Literal["pattern", "paths", "tools", "script"] | None = None
    """What is judged: commands, paths, tool names, or what the script judges. Needed unless `rust-module` is set."""
    mode: Literal["deny", "allow-only"] = default("deny")
    """Refuse what matches, or refuse everything that does not."""
    patterns_from: str | None = None
    """The parameter that brings the patterns, instead of `[restricts]`: a scope list, or `bash-patterns-allowed`."""
    path: RelativePath | None = None
    """The script, relative to the capability's folder."""
    rust_module: str | None = None
    """A compiled gate of the originals; mapped to the built-in capability of the same name."""
    event: str | None = None
    """A hint of the originals, for example `PreToolUse:Bash`. Path rules judge shell writes too."""
    severity: Severity = default("block")
    """block refuses, warn lets through and says so, advisory only records."""
    bypass_env: EnvName | None = None
    """A variable that switches the gate off in a user's own session; dead inside attempts."""
    on_error: Literal["deny", "allow"] = default("deny")
    """Which way it falls when it breaks."""

    def __post_init__(self) -> None:
        """Refuse a script gate without a script."""
        _scripted(self.kind, self.path)


class VerifyPart(Record, frozen=True, kw_only=True, rename="kebab"):
    """The verify: checked after the return, on the merged tree."""

    INVARIANTS: ClassVar[tuple[dict[str, Any], ...]] = (when({"kind": {"const": "script"}}, {"required": ["path"]}),)

    kind: Literal["command", "diff", "report", "script"] | None = None
    """What is checked: a command's exit, the candidate's diff, the agent's report, or the script's say."""
    rule: Annotated[str, Meta(pattern="^[a-z][a-z0-9-]*$")] | None = None
    """Which built-in predicate of that kind, for example `scope` or `fields`."""
    command: str | None = None
    """For kind command: what to run, unless `rule` takes it from the task."""
    path: RelativePath | None = None
    """The script, relative to the capability's folder."""
    rust_module: str | None = None
    """A compiled verify of the originals; mapped to the built-in capability of the same name."""
    run_from: Literal["merged", "worktree", "both"] = default("merged")
    """Where it runs: a clean checkout of the merged tree, the agent's worktree, or both in turn."""
    when: Literal["on-return", "per-tool-call"] = default("on-return")
    """After the agent returns, or after each tool call."""
    timeout_s: TimeoutS = default(600.0)
    """Longer counts as an error, never as held."""
    severity: Severity = default("block")
    """block rejects the candidate, warn and advisory only tell."""

    def __post_init__(self) -> None:
        """Refuse a script verify without a script."""
        _scripted(self.kind, self.path)


def _scripted(kind: str | None, path: str | None) -> None:
    if kind == "script" and path is None:
        message = "kind `script` needs `path`"
        raise ValueError(message)


class TestVector(Record, frozen=True, kw_only=True, rename="kebab"):
    """A tool call and the decision it must get."""

    name: str | None = None
    """What it shows."""
    tool: Text
    """The tool's name, as a harness sends it."""
    input: dict[str, Any]
    """The tool's input."""
    expect: Literal["allow", "deny"]
    """What this capability alone must answer."""
    parameters: dict[str, Any] = {}
    """The task's parameters in this case."""


class CapabilityManifest(Record, frozen=True, kw_only=True):
    """`capability.toml`."""

    capability: CapabilityHead
    """What it is called and why it exists."""
    restricts: Restricts | None = None
    """What it forbids."""
    parameterized: Parameterized | None = None
    """What a task may set."""
    text: TextPart | None = None
    """The fragment."""
    gate: GatePart | None = None
    """The gate, where there is one."""
    verify: VerifyPart | None = None
    """The verify, where there is one."""
    taxonomy: Facets | None = None
    """Facets, kept and searchable."""
    lineage: Lineage | None = None
    """Where it comes from."""
    tests: tuple[TestVector, ...] = field(default=(), name="test")
    """Vectors that `keisei capability test` will run."""
