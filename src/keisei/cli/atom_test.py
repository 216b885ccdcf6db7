"""`keisei atom test`."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from keisei.cli.atom_show import found_atom
from keisei.cli.output import emit_json, json_option
from keisei.cli.surroundings import kit_root_option, root_option, settings, warn
from keisei.contracts.check import data_of
from keisei.records.problem import printable

if TYPE_CHECKING:
    from keisei.records.atom_spec import AtomSpec
    from keisei.wiring.atom_runtime import AtomRuntime
    from keisei.wiring.atom_test import Isolation, Tried

FAILED, MISSING = 2, 127
"""Exit codes: an example failed, or an atom is unknown or broken; a program is not there."""
OTHERS = ("kit", "installed")
"""Layers whose atoms are somebody else's to test."""
SHOWN = {"ok": "ok", "declared": "declared error", "failed": "FAILED", "missing": "NO PROGRAM"}


@click.command("test")
@click.argument("atom_ids", metavar="[ID]...", nargs=-1)
@root_option
@kit_root_option
@json_option
def command(atom_ids: tuple[str, ...], roots: tuple[Path, ...], kit_root: Path | None, as_json: bool) -> int:
    """Call every example of every schema in the sandbox: all atoms of the project's own, or those that are named.

    An example may touch what the page declares and nothing else: files of a fresh folder, a fresh database, the
    network, programs. An error that the page declares passes. Exit 0, 2 where one fails, 127 where a program is
    missing.
    """
    from keisei.cli.desk import actor, refusing
    from keisei.cli.invoke import Interrupt, hearing
    from keisei.sandbox.machine import probe
    from keisei.wiring.atom_runtime import open_runtime
    from keisei.wiring.atom_test import isolation_of, try_atoms

    tried: list[Tried] = []
    opened = open_runtime(settings(), actor=actor(), roots=roots, kit_root=kit_root)
    with refusing(), hearing(Interrupt()), opened as runtime:
        specs, broken = _specs(runtime, atom_ids)
        held = [isolation_of(probe(), spec) for spec in specs]
        _warn_of(held)
        for each in try_atoms(runtime, specs, probe()):
            tried.append(each)
            if not as_json:
                _say(each)
    if as_json:
        emit_json(_data(tried, held, broken))
    else:
        _sum_up(tried, held, len(specs), broken)
    return _exit_code(tried, broken)


def _specs(runtime: "AtomRuntime", atom_ids: Sequence[str]) -> "tuple[list[AtomSpec], int]":
    """The atoms to test, and how many cannot be read. One that is named and that nobody has exits 2."""
    from keisei.cli.door import say_error
    from keisei.records.error import AuthorError

    rows, problems = runtime.shelf.rows() if not atom_ids else ([], [])
    wanted = atom_ids or [row.atom for row in rows if row.layer not in OTHERS]
    broken = 0
    specs: list[AtomSpec] = []
    for problem in problems:
        warn(problem)
    for each in dict.fromkeys(wanted):
        try:
            specs.append(found_atom(runtime.shelf, each))
        except AuthorError as error:
            say_error(error)
            broken += 1
    return specs, broken + len(problems)


def _say(tried: "Tried") -> None:
    told = "" if tried.error is None else f": {tried.error.code or tried.error.kind}: {tried.error.message}"
    click.echo(printable(f"{SHOWN[tried.outcome]}  {tried.atom}, {tried.example}{told}"))
    if tried.outcome == "failed":
        for line in tried.said.splitlines():
            click.echo(printable(f"    {line}"))


def _warn_of(held: "list[Isolation]") -> None:
    """Say, before anything runs, that nothing will hold it."""
    if held and (weakest := _weakest(held)).level == "none":
        faults = printable("; ".join(weakest.faults))
        click.echo(f"NOT CONFINED: this machine cannot hold a process ({faults})", err=True)


def _weakest(held: "list[Isolation]") -> "Isolation":
    return min(held, key=lambda each: ("none", "landlock", "full").index(each.level))


def _sum_up(tried: "list[Tried]", held: "list[Isolation]", atoms: int, broken: int) -> None:
    failed = sum(each.outcome in ("failed", "missing") for each in tried)
    if broken:
        click.echo(f"{broken} page{' cannot' if broken == 1 else 's cannot'} be read", err=True)
    if not atoms:
        if not broken:
            click.echo("there is no atom of this project's own; name one, or a folder of packages with --root DIR")
        return
    counted = f"{len(tried)} example{'' if len(tried) == 1 else 's'} of {atoms} atom{'' if atoms == 1 else 's'}"
    click.echo(f"{counted}: {failed or 'none'} failed")
    if (weakest := _weakest(held)).level != "none":
        click.echo(f"isolation: {weakest.level} ({' + '.join(weakest.layers)})")


def _data(tried: "list[Tried]", held: "list[Isolation]", broken: int) -> dict[str, Any]:
    return {
        "ok": _exit_code(tried, broken) == 0,
        "unreadable": broken,
        "isolation": sorted({each.level for each in held}),
        "tests": [data_of(each) for each in tried],
    }


def _exit_code(tried: "list[Tried]", broken: int) -> int:
    if broken or any(each.outcome == "failed" for each in tried):
        return FAILED
    return MISSING if any(each.outcome == "missing" for each in tried) else 0
