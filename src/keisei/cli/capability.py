"""`keisei capability` and `kei-capability`."""

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from keisei import __version__
from keisei.cli.noun import noun_group
from keisei.cli.output import emit_json, json_option
from keisei.cli.surroundings import kit_root_option, open_catalog, settings
from keisei.library.catalog import Catalog
from keisei.library.scaffold import fork_capability, new_capability
from keisei.library.source import shown_path
from keisei.records.capability import CapabilityManifest
from keisei.records.error import KeiseiError, OperatorError
from keisei.records.form import Lineage
from keisei.records.problem import printable

if TYPE_CHECKING:
    from keisei.records.finding import FindingRecord


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


@group.command("test")
@click.argument("names", nargs=-1)
@json_option
@kit_root_option
def test(names: tuple[str, ...], as_json: bool, kit_root: Path | None) -> int:
    """Run the vectors inside capabilities: all of them, or those of the capabilities NAMED. Exit 2 where one fails."""
    from keisei.wiring.vector import try_vectors

    catalog = open_catalog(kit_root)
    wanted = [catalog.canonical(name) for name in names] or [
        name for name in catalog.names("capability") if catalog.capability(name).tests
    ]
    tried = [each for name in dict.fromkeys(wanted) for each in try_vectors(catalog, name)]
    failed = [each for each in tried if not each.passed]
    if as_json:
        emit_json([{**each._asdict(), "passed": each.passed} for each in tried])
    else:
        for each in failed:
            said = f": {each.reason}" if each.reason else ""
            got = each.decision if each.cause == "rule" else f"{each.decision} from a gate that broke"
            click.echo(f"{each.capability}: {each.name}: expected {each.expected}, got {got}{said}")
        counts = ", ".join(f"{name} {sum(each.capability == name for each in tried)}" for name in dict.fromkeys(wanted))
        vectors = "1 vector" if len(tried) == 1 else f"{len(tried)} vectors"
        click.echo(f"{vectors}, {len(failed)} failed ({counts or 'no capability has any'})")
    return 2 if failed else 0


@click.command("check")
@click.argument("names", nargs=-1)
def check(names: tuple[str, ...]) -> int:
    """Judge one call (the harness's hook JSON on stdin) by capabilities alone; by default KEI_CAPABILITY_NAME's."""
    from keisei.cli.check import main

    return main(list(names))


@click.command("verify")
@click.argument("name")
@kit_root_option
def verify(name: str, kit_root: Path | None) -> int:
    """Ask the predicate of one capability, as its environment says: TASK_TOML, WORKTREE_PATH, MAIN_REPO, RUN_MODE.

    Exit 0 where it holds, else 2, with `FAIL NAME: reason` on standard error.
    """
    from keisei.cli.verdict import verdict

    try:
        said = verdict(_asked(name, kit_root))
        failed, warned = ([each["reason"] for each in said[part]] for part in ("failed", "warned"))
    except KeiseiError as error:
        failed, warned = [error.message.splitlines()[0]], []
    except Exception as error:  # noqa: BLE001 - a verify that breaks has not held, and says so in its own way
        failed, warned = [f"it could not be asked: {type(error).__name__}: {error}"], []
    for word, reasons in (("FAIL", failed), ("WARN", warned)):
        for reason in reasons:
            click.echo(printable(f"{word} {name}: {reason}"), err=True)
    return 2 if failed else 0


def _asked(name: str, kit_root: Path | None) -> "list[FindingRecord]":
    """What the capability's predicate says. Raises OperatorError for a variable that is missing or means nothing."""
    from keisei.cli.agent import MODES, verified
    from keisei.wiring.verification import MERGE

    own = settings()
    if own.task_toml is None or own.worktree_path is None:
        missing = "TASK_TOML" if own.task_toml is None else "WORKTREE_PATH"
        raise OperatorError(f"the variable {missing} is not set")
    mode = os.environ.get("RUN_MODE") or "merged"
    if mode not in MODES:
        raise OperatorError(f"RUN_MODE is `{mode}`, which is none of {', '.join(MODES)}")
    said = os.environ.get("AGENT_REPORT_PATH")
    found = verified(
        own.task_toml,
        own.worktree_path,
        own.main_repo,
        MODES[mode],
        report=Path(said) if said else None,
        names=(name,),
        kit_root=kit_root,
    )
    if all(each.capability == MERGE for each in found):
        raise OperatorError("it has no predicate that is asked on return")
    return found


seed = click.Group(
    "kei-capability",
    help="Check calls by capabilities, verify work by them, and fork them (the originals' command).",
    context_settings={"help_option_names": ["-h", "--help"]},
)
click.version_option(__version__, "-V", "--version", message="%(prog)s %(version)s")(seed)
seed.add_command(fork)
seed.add_command(check)
seed.add_command(verify)
