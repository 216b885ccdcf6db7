"""`keisei adapter`: how harnesses are reached, and whether they can be."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from keisei.cli.desk import WORDS, actor, desk, fields, first_line, grid, stamp
from keisei.cli.output import emit_json, json_option
from keisei.cli.surroundings import kit_root_option, open_catalog
from keisei.records.error import OperatorError
from keisei.records.problem import printable

if TYPE_CHECKING:
    from datetime import datetime

    from keisei.records.breaker import Breaker


@click.group("adapter", context_settings={"help_option_names": ["-h", "--help"]})
def group() -> None:
    """Adapters: how harnesses are reached, and whether they can be."""


@group.command("list")
@kit_root_option
@json_option
def list_adapters(kit_root: Path | None, as_json: bool) -> int:
    """Every adapter with its kind, and its breaker where it has failed."""
    from keisei.contracts.check import data_of

    catalog = open_catalog(kit_root)
    with desk() as opened:
        known = {str(each.adapter_id): each for each in opened.store.breakers()}
        now = opened.store.now()
    rows: list[dict[str, Any]] = []
    for adapter_id, loaded in sorted(catalog.adapters.items()):
        data = data_of(loaded.record)
        breaker = _breaker(known.get(adapter_id), now)
        rows.append({"adapter_id": adapter_id, "kind": data["kind"], "breaker": breaker, "record": data})
    if as_json:
        emit_json(rows)
    else:
        grid(("adapter", "kind", "breaker"), [(each["adapter_id"], each["kind"], each["breaker"]) for each in rows])
    return 0


def _breaker(breaker: "Breaker | None", now: "datetime") -> str:
    from keisei.rules.breaker import is_open

    if breaker is None or not breaker.failures:
        return "closed"
    why = first_line(breaker.reason)
    if breaker.needs_person:
        return f"open until reset: {why}"
    if is_open(breaker, now):
        return f"open until {stamp(breaker.open_until)}: {why}"
    return f"closed, after {breaker.failures} {'failure' if breaker.failures == 1 else 'failures'}: {why}"


@group.command("show")
@click.argument("adapter_id")
@kit_root_option
@json_option
def show(adapter_id: str, kit_root: Path | None, as_json: bool) -> int:
    """One adapter as it is configured."""
    from keisei.contracts.check import data_of
    from keisei.wiring.registry import CatalogRegistry

    data = data_of(CatalogRegistry(open_catalog(kit_root)).adapter(adapter_id))
    if as_json:
        emit_json(data)
    else:
        fields(data)
    return 0


@group.command("probe")
@click.argument("adapter_ids", nargs=-1)
@kit_root_option
@json_option
def probe(adapter_ids: tuple[str, ...], kit_root: Path | None, as_json: bool) -> int:
    """Ask whether adapters can be reached: the program found, the address answering. Exit 2 where one cannot."""
    from keisei.wiring.probe import probed
    from keisei.wiring.registry import CatalogRegistry

    catalog = open_catalog(kit_root)
    registry = CatalogRegistry(catalog)
    answers = [probed(each) for each in map(registry.adapter, adapter_ids or sorted(catalog.adapters))]
    if as_json:
        emit_json([{"adapter_id": each.adapter_id, "ok": each.ok, "reason": each.reason} for each in answers])
    else:
        rows = [(each.adapter_id, "yes" if each.ok else "no", each.reason) for each in answers]
        grid(("adapter", "ok", "reason"), rows)
    return 0 if all(each.ok for each in answers) else 2


@group.command("reset")
@click.argument("adapter_id", type=WORDS)
@json_option
def reset(adapter_id: str, as_json: bool) -> int:
    """Forget an adapter's failures, so that it is used again."""
    from keisei.records.id import AdapterId

    with desk() as opened:
        if not opened.store.reset_breaker(AdapterId(adapter_id), actor()):
            raise OperatorError(f"adapter `{adapter_id}` has no failures to forget", "`keisei adapter list` shows all")
        opened.store.ring()
    if as_json:
        emit_json({"adapter_id": adapter_id, "breaker": "closed"})
    else:
        click.echo(f"{printable(adapter_id)} closed")
    return 0
