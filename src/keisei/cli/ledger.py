"""`keisei ledger` and `kei-ledger`: the chained record, read, proved and written by hand."""

import json
from typing import TYPE_CHECKING, Any

import click

from keisei import __version__
from keisei.cli import ledger_agent
from keisei.cli.body import body_of
from keisei.cli.desk import desk, limit_option, speaker
from keisei.cli.ledger_agent import line, list_agents, say_redacted, show_agent, status_option
from keisei.cli.ledger_checkpoint import checkpoint, key
from keisei.cli.ledger_export import export, import_file
from keisei.cli.ledger_prove import prove
from keisei.cli.ledger_verify import verify
from keisei.cli.output import emit_json, json_option, table
from keisei.records.error import OperatorError

if TYPE_CHECKING:
    from keisei.records.move import NewEntry

HELP = {"help_option_names": ["-h", "--help"]}

group = click.Group(
    "ledger",
    help="The ledger: what must be provable, in one chain, and the agents that it tells of.",
    context_settings=HELP,
)
MOST = 50
"""Rows that are told unless said otherwise."""
DIGITS = 18
"""Of the longest number that a row can have."""


@group.command("append")
@click.option("--kind", required=True, help="What it tells of, in the past tense: `review_held`.")
@click.option("--subject", required=True, help="What it was done to, by id.")
@click.option("--actor", help="Who did it; by default you.")
@click.option("--body", default="{}", help="The facts, a JSON object: as text, @FILE, or - for stdin.")
@json_option
def append(kind: str, subject: str, actor: str | None, body: str, as_json: bool) -> int:
    """Write a row by hand. It is marked `manual` and never feeds an outcome; what looks like a secret is taken out."""
    _write(_new(kind=kind, subject=subject, actor=actor, body=body_of(body)), "written", as_json=as_json)
    return 0


@group.command("rows")
@click.option("--kind", help="Only rows of this kind.")
@click.option("--after", type=click.IntRange(0), default=0, help="Only rows after this one.")
@limit_option
@json_option
def rows(kind: str | None, after: int, limit: int, as_json: bool) -> int:
    """Rows in their order, from the first or after one."""
    return _list_rows(kind, after, limit, as_json=as_json)


@click.command("list")
@status_option
@click.option("--kind", help="Rows of this kind, instead of agents.")
@click.option("--after", type=click.IntRange(0), help="Rows after this one, instead of agents.")
@click.option("--limit", type=click.IntRange(1, 1000), help="At most so many rows, instead of agents.")
@json_option
def list_either(status: str | None, kind: str | None, after: int | None, limit: int | None, as_json: bool) -> int:
    """Agents, as the originals have it. With --kind, --after or --limit rows: see `rows`."""
    if kind is None and after is None and limit is None:
        return list_agents(status, as_json=as_json)
    if status is not None:
        raise click.UsageError("--status is about agents, --kind, --after and --limit are about rows")
    return _list_rows(kind, after or 0, limit or MOST, as_json=as_json)


@group.command("show")
@click.argument("what", metavar="ROW|AGENT")
@json_option
def show(what: str, as_json: bool) -> int:
    """One row by its number, or one agent with all rows about it."""
    if what.isascii() and what.isdecimal():
        return _show_row(what, as_json=as_json)
    if not show_agent(what, as_json=as_json):
        raise OperatorError(f"no agent has the id `{what}`", "`keisei ledger agents` shows all, `rows` the rows")
    return 0


def _show_row(told: str, *, as_json: bool) -> int:
    from keisei.contracts.check import data_of
    from keisei.records.problem import printable

    if not told.strip("0"):
        raise click.UsageError("rows are numbered from 1")
    with desk() as opened:
        entry = opened.store.entry(int(told)) if len(told) <= DIGITS else None
    if entry is None:
        if show_agent(told, as_json=as_json):
            return 0
        raise OperatorError(f"the ledger has no row {told}", "`keisei ledger list` shows the rows")
    data = data_of(entry)
    if as_json:
        emit_json(data)
        return 0
    body = data.pop("body")
    for name, value in data.items():
        click.echo(f"{name}: {printable(str(value))}")
    click.echo(f"body: {_safe(json.dumps(body, indent=2, ensure_ascii=False))}")
    return 0


def _list_rows(kind: str | None, after: int, limit: int, *, as_json: bool) -> int:
    from keisei.contracts.check import data_of

    with desk() as opened:
        found = opened.store.entries(after, limit, kind)
    if as_json:
        emit_json([data_of(each) for each in found])
    else:
        table(("row", "time", "kind", "source", "actor", "subject"), [line(each) for each in found])
    return 0


def _new(*, kind: str, subject: str, actor: str | None, body: dict[str, Any]) -> "NewEntry":
    from keisei.records.move import NewEntry
    from keisei.rules.ledger_redact import cleaned, is_secret
    from keisei.rules.redact import Redactor

    redactor = Redactor()
    who = speaker(actor)
    for name, value in (("kind", kind), ("subject", subject), ("actor", who)):
        if is_secret(value, redactor):
            raise OperatorError(f"the {name} looks like a secret: nothing was written", "no row can be taken back")
    return NewEntry(kind=kind, subject=subject, actor=who, body=cleaned(body, redactor), source="manual")


def _write(new: "NewEntry", done: str, *, as_json: bool) -> None:
    from keisei.contracts.check import data_of
    from keisei.records.problem import printable

    with desk() as opened:
        entry = opened.store.append(new)
    say_redacted(entry)
    if as_json:
        emit_json(data_of(entry))
    else:
        click.echo(f"{printable(done)}: row {entry.seq}")


def _safe(text: str) -> str:
    from keisei.records.problem import printable

    return "\n".join(map(printable, text.split("\n")))


group.add_command(click.Command("list", callback=rows.callback, params=rows.params, help=rows.help))
# Commands of other modules are named here; both doors have them.
for command in (
    ledger_agent.agents,
    checkpoint,
    ledger_agent.descendants,
    ledger_agent.done,
    export,
    ledger_agent.fail,
    ledger_agent.fork,
    import_file,
    key,
    ledger_agent.merged,
    prove,
    ledger_agent.record_cost,
    ledger_agent.rejected,
    ledger_agent.tree,
    ledger_agent.validate,
    verify,
):
    group.add_command(command)


@click.command("init")
def init() -> int:
    """Do nothing, and say so: the originals make a database first, here a project has its ledger."""
    click.echo("nothing to do: a project has its ledger from its first row on")
    return 0


program = click.Group(
    "kei-ledger",
    help=group.help,
    commands={**group.commands, "list": list_either, "init": init},
    context_settings=HELP,
)
click.version_option(__version__, "-V", "--version", message="%(prog)s %(version)s")(program)
