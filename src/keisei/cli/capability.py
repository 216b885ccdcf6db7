"""`keisei capability` and `kei-capability`."""

from datetime import UTC, datetime
from pathlib import Path

import click

from keisei import __version__
from keisei.cli.noun import noun_group
from keisei.cli.surroundings import kit_root_option, open_catalog, settings
from keisei.library.catalog import Catalog
from keisei.library.scaffold import fork_capability, new_capability
from keisei.library.source import shown_path
from keisei.records.capability import CapabilityManifest
from keisei.records.error import OperatorError
from keisei.records.form import Lineage


def _describe(manifest: CapabilityManifest) -> tuple[object, ...]:
    head = manifest.capability
    if head.alias:
        return ("alias", "-", "-", f"old name of {head.alias}")
    gate = (manifest.gate.kind or "built in") if manifest.gate else "-"
    verify = (manifest.verify.kind or "built in") if manifest.verify else "-"
    return ("text", gate, verify, head.description or "-")


group = noun_group(
    "capability",
    "Capabilities: one rule in three artefacts.",
    ("text", "gate", "verify", "description"),
    _describe,
)


def _target(catalog: Catalog, folder: Path | None, kit_root: Path | None) -> Path:
    """Where new capabilities go: the folder or kit root that was named, else the project, else a seed root here."""
    if folder is not None:
        return folder
    wanted = ("root",) if kit_root is not None else ("project", "root")
    for layer in sorted(catalog.layers, key=lambda each: each.name != "project"):
        if layer.name in wanted and (layer.name == "project" or layer.seed or kit_root is not None):
            return layer.place("capability")
    message = "there is no project here to put a capability into"
    raise OperatorError(message, "run it where keisei.toml stands, or name a folder with --into")


def _lineage() -> Lineage:
    return Lineage(creator=settings().creator, created=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"))


INTO = click.option("--into", type=click.Path(path_type=Path), help="The capabilities folder to write into.")


@group.command("new")
@click.argument("name")
@click.option("--description", default="What the rule forbids, in a sentence.", help="The rule in a sentence.")
@INTO
@kit_root_option
def new(name: str, description: str, into: Path | None, kit_root: Path | None) -> int:
    """Make a capability NAME (category::slug), ready to be filled in."""
    catalog = open_catalog(kit_root)
    folder = new_capability(_target(catalog, into, kit_root), name, description, _lineage())
    click.echo(f"made {shown_path(folder)}: edit capability.toml and text.md, then run `keisei lint capabilities`")
    return 0


@click.command("fork")
@click.argument("source")
@click.option("--as", "name", required=True, help="The new name, category::slug.")
@INTO
@kit_root_option
def fork(source: str, name: str, into: Path | None, kit_root: Path | None) -> int:
    """Copy the capability SOURCE under another name; its lineage says where it comes from."""
    catalog = open_catalog(kit_root)
    target = _target(catalog, into, kit_root)
    folder = fork_capability(catalog, source, name, target, _lineage())
    click.echo(f"forked {source} as {name}: {shown_path(folder)}")
    return 0


group.add_command(fork)

seed = click.Group(
    "kei-capability",
    help="Fork capabilities (the originals' command).",
    context_settings={"help_option_names": ["-h", "--help"]},
)
click.version_option(__version__, "-V", "--version", message="%(prog)s %(version)s")(seed)
seed.add_command(fork)
