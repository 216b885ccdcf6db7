"""`keisei gc`: what is left over and may go, and its removal."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from keisei.cli.desk import actor, desk, grid
from keisei.cli.output import emit_json, json_option
from keisei.cli.surroundings import settings
from keisei.records.error import KeiseiError, WorldFault
from keisei.records.problem import printable

if TYPE_CHECKING:
    from keisei.wiring.leftover import Leftover

MEGABYTE = 1024 * 1024
UNITS = ("KB", "MB", "GB", "TB")


class Tried(NamedTuple):
    """What became of one leftover: None where nobody was asked to remove it."""

    what: "Leftover"
    removed: bool | None = None
    fault: str | None = None


@click.command("gc", context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--yes", is_flag=True, help="Remove it; without this it is only shown.")
@json_option
def command(yes: bool, as_json: bool) -> int:
    """Show what is left over and may go: worktrees, environments, folders and references of attempts, runs of pipes.

    Nothing goes that a living runner holds. The work in a worktree becomes a reference first. Evidence goes only where
    `[workspace] evidence-days` says so, a run of a pipe once it did not move for `keep-days`, and the ledger never.
    """
    from keisei.wiring.gc import leftovers
    from keisei.wiring.leftover import premises
    from keisei.workspace.space import free_bytes

    with _room_told(), desk() as opened:
        around = premises(settings(), opened.home, opened.store, actor())
        tried = [_tried(each) if yes else Tried(each) for each in leftovers(around)]
        free, least = free_bytes(opened.home.folder), around.limits.min_free_mb * MEGABYTE
    if around.without is not None and (opened.home.folder / "worktrees").is_dir():
        click.echo(f"warning: worktrees and references are not looked at: {printable(around.without)}", err=True)
    if as_json:
        emit_json({"removed": yes, "free_bytes": free, "min_free_bytes": least, "leftovers": [*map(_data, tried)]})
    else:
        _show(tried, yes=yes)
        _show_free(free, least)
    for each in tried:
        if each.fault is not None:
            click.echo(f"error: {printable(each.fault)}", err=True)
    return 1 if any(each.fault is not None for each in tried) else 0


@contextmanager
def _room_told() -> Iterator[None]:
    """Where the disk is so full that not even the store can be opened: say what may go by hand."""
    from keisei.wiring.store import project_home
    from keisei.workspace.space import free_bytes

    try:
        yield
    except WorldFault as error:
        folder = project_home(settings(), Path.cwd()).folder
        free = free_bytes(folder)
        if free is None or free >= MEGABYTE:
            raise
        hint = f"the disk is full: `{folder / 'environments'}` may be removed by hand, it is made again"
        raise WorldFault(error.message, hint) from error


def _tried(what: "Leftover") -> Tried:
    try:
        return Tried(what, what.remove())
    except KeiseiError as error:
        return Tried(what, removed=False, fault=error.message)


def _data(each: Tried) -> dict[str, object]:
    told: dict[str, object] = {
        "kind": each.what.kind,
        "name": printable(each.what.name),
        "bytes": each.what.size,
        "reason": printable(each.what.reason),
    }
    return told if each.removed is None else told | {"removed": each.removed, "fault": each.fault}


def _show(tried: list[Tried], *, yes: bool) -> None:
    if not tried:
        click.echo("nothing is left over")
        return
    grid(
        ("kind", "name", "size", "reason"),
        [(each.what.kind, each.what.name, size_words(each.what.size), _reason(each)) for each in tried],
    )
    gone = [each.what for each in tried if each.removed is not False]
    things = f"{len(gone)} thing{'' if len(gone) == 1 else 's'}, {size_words(sum(each.size for each in gone))}"
    click.echo(f"removed: {things}" if yes else f"may go: {things}; `keisei gc --yes` removes them")


def _reason(each: Tried) -> str:
    if each.removed is not False:
        return each.what.reason
    return "cannot be removed" if each.fault is not None else "kept: in use by now"


def _show_free(free: int | None, least: int) -> None:
    if free is None:
        return
    short = " (too little: runners claim nothing)" if free < least else ""
    click.echo(f"free: {size_words(free)}, at least {size_words(least)} wanted{short}")


def size_words(size: int) -> str:
    """Bytes for people."""
    amount = float(size)
    if amount < 1024:  # noqa: PLR2004 - a kilobyte
        return f"{size} B"
    for unit in UNITS:
        amount /= 1024
        if amount < 1024 or unit == UNITS[-1]:  # noqa: PLR2004 - as above
            break
    return f"{amount:.1f} {unit}"
