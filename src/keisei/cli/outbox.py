"""`keisei outbox`: what leaves the house, and what could not."""

import os
from typing import TYPE_CHECKING, Any, get_args

import click

from keisei.cli.desk import WORDS, actor, desk, fields, first_line, grid, limit_option, reason_option, stamp
from keisei.cli.output import emit_json, json_option
from keisei.records.outbox import OutboxKind, OutboxStatus
from keisei.records.problem import printable

if TYPE_CHECKING:
    from keisei.records.outbox import OutboxItem

SCANNED = 10_000
"""Rows that are looked through for those of one kind."""
SEND_S = 45.0
"""How long a message may be on its way."""


@click.group("outbox", context_settings={"help_option_names": ["-h", "--help"]})
def group() -> None:
    """The outbox: follow-up tasks and messages, as rows first and deliveries second."""


@group.command("list")
@click.option("--status", type=click.Choice(get_args(OutboxStatus)), help="Only those that stand so.")
@click.option("--kind", type=click.Choice(get_args(OutboxKind)), help="Only of this kind.")
@limit_option
@json_option
def list_items(status: Any, kind: str | None, limit: int, as_json: bool) -> int:  # noqa: ANN401 - a choice of click's
    """Rows, newest first: what waits, what has left, what was refused, and what is dead and why."""
    import msgspec

    with desk() as opened:
        found = opened.store.outbox(status, limit if kind is None else SCANNED)
    rows = [each for each in found if kind in (None, each.kind)][:limit]
    if as_json:
        emit_json(msgspec.to_builtins(rows))
        return 0
    headers = ("key", "created", "kind", "to", "status", "tries", "next try", "says", "reason")
    grid(headers, [_row(each) for each in rows])
    return 0


def _row(item: "OutboxItem") -> tuple[object, ...]:
    from keisei.rules.delivery import channel_of, words_of

    is_message = item.kind == "external_message"
    to = channel_of(item.payload) if is_message else str(item.payload.get("task_type", "-"))
    says = words_of(item.payload).text if is_message else str(item.payload.get("subject") or "-")
    waits = stamp(item.next_try_at) if item.status == "pending" else "-"
    short = (_short(to), item.status, item.tries, waits, _short(says), first_line(item.reason))
    return item.key, stamp(item.created_at), item.kind, *short


def _short(text: str) -> str:
    line = first_line(text)
    return line if len(line) <= 60 else f"{line[:59]}…"  # noqa: PLR2004 - a column


@group.command("show")
@click.argument("key", type=WORDS)
@json_option
def show(key: str, as_json: bool) -> int:
    """One row, with everything it asks for."""
    import msgspec

    from keisei.engine.post import known

    with desk() as opened:
        data = msgspec.to_builtins(known(opened.store, key))
    if as_json:
        emit_json(data)
    else:
        fields(data)
    return 0


@group.command("retry")
@click.argument("key", type=WORDS, required=False)
@click.option("--all-dead", is_flag=True, help="Every row that is dead, instead of one.")
@reason_option
@json_option
def retry(key: str | None, all_dead: bool, reason: str, as_json: bool) -> int:
    """Deliver again what is dead or was refused. A message keeps its id, so that a receiver knows a repeat."""
    from keisei.engine.post import redeliver, redeliver_dead

    if (key is None) != all_dead:
        raise click.UsageError("name one KEY, or say --all-dead.")
    why = reason or "retried by an operator"
    with desk() as opened:
        if key is not None:
            found = [redeliver(opened.store, key, why, actor())]
        else:
            found = redeliver_dead(opened.store, why, actor())
    keys = [each.key for each in found]
    if as_json:
        emit_json({"retried": keys})
    else:
        click.echo("\n".join(printable(f"{each} waits for delivery") for each in keys) or "nothing is dead")
    return 0


@group.command("drop")
@click.argument("key", type=WORDS)
@click.option("--reason", type=WORDS, required=True, help="Why; stands in the row, in the events and in the ledger.")
@json_option
def drop(key: str, reason: str, as_json: bool) -> int:
    """Let a row that waits never leave. It stays as a dead one, and `retry` puts it back."""
    from keisei.engine.post import drop as drop_row

    with desk() as opened:
        drop_row(opened.store, key, reason, actor())
    if as_json:
        emit_json({"dropped": key})
    else:
        click.echo(printable(f"{key} dropped"))
    return 0


@group.command("send")
@click.option("--channel", default="console", show_default=True, type=WORDS, help="The channel of keisei.toml.")
@click.argument("text", type=WORDS)
@json_option
def send(channel: str, text: str, as_json: bool) -> int:
    """Send a message now, to see whether a channel works. It is a row like others, and is not tried again."""
    from keisei.engine.deliver import Failed
    from keisei.engine.post import begin, end
    from keisei.records.error import WorldFault
    from keisei.wiring.channel import ProjectChannels
    from keisei.wiring.fresh import new_id

    heard: list[Failed | None] = []
    with desk() as opened:
        channels = ProjectChannels(opened.home.file, os.environ, lambda _item, _words: None)
        item = begin(opened.store, new_id, channels.clean({"channel": channel, "text": text}), actor())
        channels.send(item, item.created_at, heard.append)
        channels.close(SEND_S)
        failed = heard[0] if heard else Failed(reason=f"it was on its way for more than {SEND_S:g} seconds")
        end(opened.store, item, failed)
    if as_json:
        emit_json({"key": item.key, "delivered": failed is None, "reason": failed.reason if failed else None})
        return int(failed is not None)
    if failed is not None:
        raise WorldFault(f"not delivered: {failed.reason}", f"`keisei outbox show {item.key}`")
    click.echo(f"{item.key} delivered")
    return 0
