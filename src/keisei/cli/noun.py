"""List and show: the two verbs every authored noun has."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from keisei.cli.output import emit_json, json_option, table
from keisei.cli.surroundings import kit_root_option, open_catalog
from keisei.contracts.check import data_of
from keisei.library.catalog import Catalog
from keisei.library.load import Loaded
from keisei.library.source import shown_path
from keisei.records.error import AuthorError
from keisei.records.problem import Problem

Describe = Callable[[Any], tuple[object, ...]]
More = Callable[[Loaded], dict[str, Any]]
"""What `show --json` tells beside the record."""


def noun_group(
    kind: str, summary: str, headers: tuple[str, ...], describe: Describe, more: More = lambda _loaded: {}
) -> click.Group:
    """`keisei <kind> list` and `keisei <kind> show NAME`; more verbs are added by the noun's own module."""
    group = click.Group(name=kind, help=summary)
    group.add_command(_list(kind, headers, describe))
    group.add_command(_show(kind, more))
    return group


def _list(kind: str, headers: tuple[str, ...], describe: Describe) -> click.Command:
    @click.command("list", help=f"Every {kind} of all layers; the layer that wins is named.")
    @kit_root_option
    @json_option
    def command(kit_root: Path | None, as_json: bool) -> int:
        catalog = open_catalog(kit_root)
        rows: list[tuple[str, str, Any]] = []
        broken: list[Problem] = []
        for name, found in catalog.names(kind).items():
            try:
                record = catalog.loaded(kind, name).record
            except AuthorError as error:
                broken.extend(error.problems)
                continue
            rows.append((name, found[-1].layer.name, record))
        if as_json:
            emit_json([{"name": name, "layer": layer, **_summary(record)} for name, layer, record in rows])
        else:
            table(("name", "layer", *headers), [(name, layer, *describe(record)) for name, layer, record in rows])
        if broken:
            raise AuthorError(broken)
        return 0

    return command


def _summary(record: object) -> dict[str, Any]:
    return {"record": data_of(record)}


def _show(kind: str, more: More) -> click.Command:
    @click.command("show", help=f"One {kind}, as it is written; --origin tells which file won.")
    @click.argument("name")
    @click.option("--origin", is_flag=True, help="Tell which file won, and which it hides.")
    @kit_root_option
    @json_option
    def command(name: str, origin: bool, kit_root: Path | None, as_json: bool) -> int:
        catalog = open_catalog(kit_root)
        loaded = catalog.loaded(kind, name)
        if as_json:
            told = {"name": name, "origin": origins(catalog, kind, name), "record": data_of(loaded.record)}
            emit_json(told | more(loaded))
        elif origin:
            for layer, path, wins in (
                (each["layer"], each["path"], each["wins"]) for each in origins(catalog, kind, name)
            ):
                click.echo(f"{layer}: {path}{'' if wins else ' (hidden)'}")
        else:
            click.echo(loaded.document.source.text.rstrip("\n"))
        return 0

    return command


def origins(catalog: Catalog, kind: str, name: str) -> list[dict[str, Any]]:
    """The files that define a name, the winning one first."""
    found = list(reversed(catalog.names(kind).get(name, [])))
    return [
        {"layer": each.layer.name, "path": shown_path(each.path), "wins": index == 0}
        for index, each in enumerate(found)
    ]
