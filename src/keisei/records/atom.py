"""Atoms: one verb, one page of documentation, two JSON Schemas, one function."""

from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta

from keisei.records.form import (
    AtomId,
    EnvName,
    Facets,
    Lineage,
    Positive,
    Record,
    RelativePath,
    Text,
    default,
    when,
)

AtomKind = Literal["command", "query", "stream", "transform"]
Stability = Literal["experimental", "beta", "stable", "deprecated"]
Backend = Literal["sqlite", "filesystem", "memory", "remote"]
EffectOp = Literal["read", "write", "network", "subprocess", "other"]


OwnVariable = Annotated[str, Meta(pattern="^(?!LD_|PYTHON|KEISEI_|(PATH|HOME|TMPDIR|IFS)$)[A-Z][A-Z0-9_]*$")]
"""A variable that neither the system's loader, nor Python, nor keisei itself listens to."""


class AtomInput(Record, frozen=True, kw_only=True):
    """What goes in."""

    schema: RelativePath
    """The JSON Schema, relative to the `atoms` folder."""
    required: tuple[str, ...] = ()
    """A copy of the schema's `required`, for help texts; lint keeps them equal."""
    example: Any = None
    """One input, as people write it."""


class AtomOutput(Record, frozen=True, kw_only=True):
    """What comes out."""

    schema: RelativePath
    """The JSON Schema, relative to the `atoms` folder."""
    example: Any = None
    """One output."""


class AtomError(Record, frozen=True, kw_only=True):
    """One way it fails, known in advance."""

    code: Annotated[str, Meta(pattern="^[A-Z][A-Za-z0-9]*$")]
    """PascalCase."""
    http_analog: Annotated[int, Meta(ge=400, le=599)] | None = None
    """The HTTP status it resembles; decides about retry."""
    description: Text
    """What happened and what to do."""


class SideEffect(Record, frozen=True, kw_only=True):
    """One effect: parallel, retry and cache all follow from the set of these."""

    op: EffectOp
    """What is done."""
    domain: Annotated[str, Meta(min_length=1, max_length=128, pattern="^[!-~]+$")]
    """To what, for example `kei-task-db` or `fs`. `fs:{path}` names the input field that holds the path,
    `fs:{path}/**` the path and everything below it, `http:{url}` an address."""


class AtomManifest(Record, frozen=True, kw_only=True):
    """The frontmatter of `atoms/<verb>.md`."""

    atom: AtomId
    """`<package>::<verb>`; equals folder and file."""
    kind: AtomKind
    """Command mutates, query reads, stream emits over time, transform is pure."""
    version: Text
    """Equals the package's."""
    input: AtomInput
    """What goes in."""
    output: AtomOutput
    """What comes out."""
    errors: tuple[AtomError, ...] = ()
    """How it fails."""
    side_effects: tuple[SideEffect, ...]
    """Empty means pure."""
    idempotent: bool
    """Whether doing it twice is doing it once."""
    keyed: bool | None = None
    """Whether doing it twice under one invocation id is doing it once: it keeps the id with what it writes."""
    destructive: bool | None = None
    """Whether it removes or overwrites what cannot be made again."""
    timeout_ms: Annotated[int, Meta(ge=1, le=86_400_000)] = default(30_000)
    """Enforced by the runtime."""
    deprecated: str | None = None
    """What to use instead."""
    stability: Stability
    """How much its shape may still change."""
    keywords: tuple[str, ...] = ()
    """Words to find it by."""
    related: tuple[Annotated[str, Meta(pattern=r"^\[\[[^\[\]]+\]\]$")], ...] = ()
    """Links: `[[kei-task::create]]` or `[[rules/RULE 0.12]]`."""
    taxonomy: Facets | None = None
    """Facets, kept and searchable."""
    lineage: Lineage | None = None
    """Where it comes from."""


class PackageFile(Record, frozen=True, kw_only=True):
    """A package's metadata: `[tool.keisei]` in pyproject.toml or `[package.metadata.keisei]` in Cargo.toml."""

    INVARIANTS: ClassVar[tuple[dict[str, Any], ...]] = (
        when({"backend": {"const": "sqlite"}}, {"required": ["db_env", "db_default"]}),
    )

    backend: Backend
    """Where its state lives."""
    db_env: OwnVariable | None = None
    """The variable that names its database."""
    db_default: str | None = None
    """Its database unless that variable is set; a relative path stands in `packages/` of keisei's state folder."""
    migrations_dir: RelativePath | None = None
    """Its migrations."""
    schema_version: Positive | None = None
    """The newest migration."""
    tables_of: Annotated[str, Meta(pattern="^[a-z][a-z0-9]*(-[a-z0-9]+)*$", max_length=64)] | None = None
    """Another package, whose migrations make the tables this one works on. Both name one database."""
    env: tuple[EnvName, ...] = ()
    """Variables its atoms are given beside the usual few. Their values count as secrets."""
    engine: bool | None = None
    """Whether its atoms ask keisei itself: they are given the variables that say where keisei's state is."""

    def __post_init__(self) -> None:
        """Refuse a database package that does not say where its database is."""
        if self.backend == "sqlite" and (self.db_env is None or self.db_default is None):
            message = "backend `sqlite` needs db_env and db_default"
            raise ValueError(message)
