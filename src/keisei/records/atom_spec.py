"""Atoms ready to be called: page, schemas and where the function stands. Internal: no published schema is here."""

from typing import Any, Literal

from msgspec import Struct

from keisei.records.atom import AtomManifest, PackageFile

Language = Literal["python", "program"]


class AtomPackage(Struct, frozen=True, kw_only=True):
    """A package, found."""

    name: str
    """`kei-task`."""
    version: str
    """As its metadata say."""
    folder: str
    """Where its metadata file stands, absolute, every symlink followed."""
    atoms: str
    """The folder of its pages, absolute."""
    metadata: PackageFile
    """Its own table."""
    language: Language
    """`python` where its metadata stand in pyproject.toml, `program` where they stand in Cargo.toml."""
    import_root: str | None
    """Python: the folder that stands on `sys.path`, absolute."""
    import_name: str | None
    """Python: the import package that holds `atoms`; None where `atoms` stands beside pyproject.toml."""


class AtomSpec(Struct, frozen=True, kw_only=True):
    """One atom, as it is now: everything a call needs, read once."""

    manifest: AtomManifest
    """Its frontmatter."""
    summary: str
    """The first paragraph of its page."""
    page: str
    """Its page, absolute."""
    package: AtomPackage
    """Where it belongs."""
    input_schema: dict[str, Any]
    """What goes in. Every reference leads inside the schema itself: it compiles with nothing beside it."""
    output_schema: dict[str, Any]
    """What comes out, of a stream each item; likewise."""
    spec_sha: str
    """sha256 over page and schemas, references included."""
    function: str | None
    """Python: the file with `run`, absolute; None for a program."""

    @property
    def id(self) -> str:
        """`kei-task::create`."""
        return self.manifest.atom

    @property
    def verb(self) -> str:
        """`create`."""
        return self.manifest.atom.partition("::")[2]


class AtomRow(Struct, frozen=True, kw_only=True):
    """One atom in a list: what its page says, without its schemas."""

    atom: str
    """Its id."""
    kind: str
    """Command, query, stream or transform."""
    version: str
    """Its version."""
    stability: str
    """How much its shape may still change."""
    summary: str
    """The first paragraph of its page."""
    path: str
    """Its page, absolute."""
    layer: str
    """Where it was found: root, kit, installed, user or project."""
    deprecated: str | None = None
    """What to use instead."""
    keywords: tuple[str, ...] = ()
    """Words to find it by."""
