"""`keisei ledger` and `kei-ledger`: the chained record, read, proved and written by hand."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from keisei import __version__
from keisei.cli.body import body_of, checked_digest, digest_of
from keisei.cli.desk import actor as this_actor
from keisei.cli.desk import desk, limit_option, stamp
from keisei.cli.output import emit_json, json_option, table
from keisei.records.error import OperatorError

if TYPE_CHECKING:
    from keisei.records.ledger import LedgerEntry
    from keisei.records.move import LedgerRow, NewEntry

HELP = {"help_option_names": ["-h", "--help"]}

group = click.Group(
    "ledger",
    help="The ledger: what must be provable, in one chain. Append, fork, list, show, verify.",
    context_settings=HELP,
)


@group.command("append")
@click.option("--kind", required=True, help="What it tells of, in the past tense: `review_held`.")
@click.option("--subject", required=True, help="What it was done to, by id.")
@click.option("--actor", help="Who did it; by default you.")
@click.option("--body", default="{}", help="The facts, a JSON object: as text, @FILE, or - for stdin.")
@json_option
def append(kind: str, subject: str, actor: str | None, body: str, as_json: bool) -> int:
    """Write a row by hand. It is marked `manual` and never feeds an outcome."""
    _write(_new(kind=kind, subject=subject, actor=actor, body=body_of(body)), "written", as_json=as_json)
    return 0


@group.command("fork")
@click.argument("agent_id")
@click.argument("branch", required=False)
@click.option("--spec", type=click.Path(path_type=Path), help="The task file; its sha256 is kept.")
@click.option("--spec-sha", help="The sha256 itself, where the file is elsewhere.")
@click.option("--base", help="The commit it starts from.")
@click.option("--parent", help="The agent, or branch, it was forked from.")
@click.option("--role", help="Its role.")
@click.option("--dna", help="Its DNA, as `prepare` prints it.")
@click.option("--worktree", help="Where it works.")
@click.option("--creator", help="Who asked for it.")
@click.option("--actor", help="Who did it; by default you.")
@json_option
def fork(agent_id: str, actor: str | None, spec: Path | None, spec_sha: str | None, as_json: bool, **told: str) -> int:
    """Write that an agent was forked by hand: a row `agent_forked` about AGENT_ID."""
    if spec is not None and spec_sha is not None:
        raise click.UsageError("--spec and --spec-sha say the same: give one of them")
    digest = digest_of(spec) if spec is not None else None if spec_sha is None else checked_digest(spec_sha)
    body = {"agent_id": agent_id, "spec_sha256": digest, **told}
    body = {name: value for name, value in body.items() if value is not None}
    branch = f" -> {told['branch']}" if told["branch"] else ""
    new = _new(kind="agent_forked", subject=agent_id, actor=actor, body=body)
    _write(new, f"forked {agent_id}{branch}", as_json=as_json)
    return 0


@group.command("list")
@click.option("--kind", help="Only rows of this kind.")
@click.option("--after", type=click.IntRange(0), default=0, help="Only rows after this one.")
@limit_option
@json_option
def list_entries(kind: str | None, after: int, limit: int, as_json: bool) -> int:
    """Rows in their order, from the first or after one."""
    from keisei.contracts.check import data_of

    with desk() as opened:
        found = opened.store.entries(after, limit, kind)
    if as_json:
        emit_json([data_of(each) for each in found])
    else:
        table(("row", "time", "kind", "source", "actor", "subject"), [_line(each) for each in found])
    return 0


@group.command("show")
@click.argument("seq", type=click.IntRange(1))
@json_option
def show(seq: int, as_json: bool) -> int:
    """One row."""
    from keisei.contracts.check import data_of
    from keisei.records.problem import printable

    with desk() as opened:
        entry = opened.store.entry(seq)
    if entry is None:
        raise OperatorError(f"the ledger has no row {seq}", "`keisei ledger list` shows the rows")
    told = data_of(entry)
    if as_json:
        emit_json(told)
        return 0
    body = told.pop("body")
    for name, value in told.items():
        click.echo(f"{name}: {printable(str(value))}")
    click.echo(f"body: {_safe(json.dumps(body, indent=2, ensure_ascii=False))}")
    return 0


@group.command("verify")
@click.option("--head", help="A chain hash that was kept elsewhere: it must still be in the chain.")
@json_option
def verify(head: str | None, as_json: bool) -> int:
    """Check every row of the chain. Exit 0 if it is whole, 2 with the first row that does not hold.

    Rows cut off the end leave a whole chain behind: keep the head that this command prints, and give it later.
    """
    from keisei.rules.ledger import first_broken

    walk = _Walk(None if head is None else checked_digest(head.lower()))
    with desk() as opened:
        broken = first_broken(walk.over(opened.store.rows()))
        waiting = opened.store.unsealed()
    verdict = {
        "ok": broken is None and walk.met is not False,
        "rows": walk.rows,
        "head": walk.head,
        "unsealed": waiting,
        "broken": None if broken is None else {"row": broken[0], "why": broken[1]},
        "kept_head_found": walk.met,
    }
    if as_json:
        emit_json(verdict)
    else:
        click.echo(_sentence(verdict))
    return 0 if verdict["ok"] else 2


class _Walk:
    """What is learnt on the way along a chain: how long it is, how it ends, and whether a kept head was met."""

    def __init__(self, kept: str | None) -> None:
        from keisei.rules.ledger import GENESIS

        self.rows, self.head = 0, GENESIS.hex()
        self._kept = kept
        self.met = None if kept is None else kept == self.head

    def over(self, rows: "Iterator[LedgerRow]") -> "Iterator[LedgerRow]":
        """The same rows."""
        for row in rows:
            self.rows, self.head = self.rows + 1, row.chain_hash
            self.met = True if row.chain_hash == self._kept else self.met
            yield row


def _sentence(verdict: dict[str, Any]) -> str:
    if verdict["broken"] is not None:
        return f"broken at row {verdict['broken']['row']}: {verdict['broken']['why']}"
    rows = f"{_counted(verdict['rows'])}, whole"
    if not verdict["ok"]:
        return f"{rows}, but none has the head that was kept: rows were cut off the end"
    rest = f"; {_counted(verdict['unsealed'])} not sealed yet" if verdict["unsealed"] else ""
    return f"{rows}{rest}; head {verdict['head']}"


def _new(*, kind: str, subject: str, actor: str | None, body: dict[str, Any]) -> "NewEntry":
    from keisei.records.move import NewEntry

    who = this_actor() if actor is None else actor
    return NewEntry(kind=kind, subject=subject, actor=who, body=body, source="manual")


def _write(new: "NewEntry", done: str, *, as_json: bool) -> None:
    from keisei.contracts.check import data_of
    from keisei.records.problem import printable

    with desk() as opened:
        entry = opened.store.append(new)
    if as_json:
        emit_json(data_of(entry))
    else:
        click.echo(f"{printable(done)}: row {entry.seq}")


def _line(entry: "LedgerEntry") -> tuple[object, ...]:
    from keisei.records.problem import printable

    names = (printable(name) for name in (entry.kind, entry.source, entry.actor, entry.subject))
    return entry.seq, stamp(entry.recorded_at), *names


def _safe(text: str) -> str:
    from keisei.records.problem import printable

    return "\n".join(map(printable, text.split("\n")))


def _counted(number: int) -> str:
    return f"{number} row{'' if number == 1 else 's'}"


program = click.Group("kei-ledger", help=group.help, commands=group.commands, context_settings=HELP)
click.version_option(__version__, "-V", "--version", message="%(prog)s %(version)s")(program)
