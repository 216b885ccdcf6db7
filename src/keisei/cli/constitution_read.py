"""What is seen of a constitution: how it stands, what differs, what was said of it."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from keisei.cli.desk import desk, first_line, grid, stamp
from keisei.cli.output import emit_json, json_option
from keisei.cli.surroundings import kit_root_option, open_catalog
from keisei.records.error import OperatorError
from keisei.records.problem import printable

if TYPE_CHECKING:
    from keisei.cli.desk import Desk
    from keisei.library.load import Loaded
    from keisei.records.ledger import LedgerEntry
    from keisei.wiring.constitution import Acceptance, Constitution
    from keisei.wiring.constitution_proposal import Proposal
    from keisei.wiring.identity import Agent

F = TypeVar("F", bound=Callable[..., Any])


def of_agent(command: F) -> F:
    """What every verb takes."""
    return click.argument("agent")(kit_root_option(json_option(command)))


def proposal_option(*, required: bool) -> Callable[[F], F]:
    """`--proposal`, on every verb that is about one."""
    text = "The proposal, by its row in the ledger."
    return click.option("--proposal", "seq", type=click.IntRange(1), required=required, help=text)


def authored_agent(name: str, kit_root: Path | None) -> "Agent":
    """The agent's file and what it says. Raises OperatorError, AuthorError."""
    from keisei.wiring.identity import agent_of

    return agent_of(open_catalog(kit_root), name)


@click.command("show")
@of_agent
def show(agent: str, kit_root: Path | None, as_json: bool) -> int:
    """What it is now, what was accepted, and what is proposed."""
    authored = authored_agent(agent, kit_root)
    with desk() as opened:
        told = told_constitution(opened, authored.loaded)
    if as_json:
        emit_json({"agent_id": agent, **told})
        return 0
    click.echo(f"{printable(agent)}: {told['state']}")
    now, accepted = told["now"], told["accepted"]
    if now is not None:
        click.echo(printable(f"now: version {now['version']}, soul {now['soul'][:12]}, purpose {now['purpose'][:12]}"))
    if accepted is not None:
        hashes = f"soul {accepted['soul'][:12]}, purpose {accepted['purpose'][:12]}"
        click.echo(printable(f"accepted: {hashes}, by {accepted['actor']}, row {accepted['seq']}"))
    for each in told["proposals"]:
        stale = "" if each["fits"] else ", made against an older text"
        line = f"proposal {each['seq']}: {', '.join(each['papers'])}, by {each['actor']}{stale}: "
        click.echo(printable(line) + first_line(each["reason"]))
    return 0


def told_constitution(opened: "Desk", loaded: "Loaded") -> dict[str, Any]:
    """A constitution for machines: hashes now and accepted, and what is proposed. Raises AuthorError."""
    from keisei.wiring.constitution import acceptance, constitution, standing
    from keisei.wiring.constitution_proposal import open_proposals

    agent_id = loaded.record.identity.agent_id
    now, known = constitution(loaded), acceptance(opened.store, agent_id)
    return {
        "state": standing(now, known),
        "now": None
        if now is None
        else {"version": now.version, "soul": now.soul.sha256, "purpose": now.purpose.sha256},
        "accepted": None if known is None else told_acceptance(known),
        "proposals": [told_proposal(each, now) for each in open_proposals(opened.store, agent_id)],
    }


def told_acceptance(known: "Acceptance") -> dict[str, Any]:
    """An acceptance for machines."""
    return {
        "version": known.version,
        "soul": known.soul_sha256,
        "purpose": known.purpose_sha256,
        "actor": known.actor,
        "at": known.accepted_at.isoformat(),
        "seq": known.seq,
        "proposal": known.proposal,
    }


def told_proposal(each: "Proposal", now: "Constitution | None") -> dict[str, Any]:
    """A proposal for machines."""
    wanted = {"soul": each.soul_sha256, "purpose": each.purpose_sha256}
    return {
        "seq": each.seq,
        "papers": [name for name, sha256 in wanted.items() if sha256 is not None],
        **wanted,
        "reason": each.reason,
        "actor": each.actor,
        "at": each.proposed_at.isoformat(),
        "state": each.state,
        "fits": each.fits(now),
    }


@click.command("diff")
@of_agent
@proposal_option(required=False)
def diff(agent: str, seq: int | None, kit_root: Path | None, as_json: bool) -> int:
    """What would be accepted, beside what was: the files, or with --proposal what they would say after it.

    Where nothing was accepted yet, everything is new. `seen` are the hashes for `accept --seen`.
    """
    from keisei.wiring.constitution import acceptance, constitution
    from keisei.wiring.constitution_proposal import hashes, known_proposal

    authored = authored_agent(agent, kit_root)
    with desk() as opened:
        now, state = constitution(authored.loaded), opened.home.folder
        stands = {} if now is None else {now.soul.sha256: now.soul.text, now.purpose.sha256: now.purpose.text}
        known, then = acceptance(opened.store, agent), list(hashes(now))
        if seq is not None:
            found = known_proposal(opened.store, agent, seq)
            then = [found.soul_sha256 or then[0], found.purpose_sha256 or then[1]]
        was = (None, None) if known is None else (known.soul_sha256, known.purpose_sha256)
        texts = {each: stands[each] if each in stands else _kept(state, each) for each in (*was, *then) if each}
    compared = {
        name: (texts.get(before or "", ""), texts.get(after or "", ""))
        for name, before, after in zip(("soul", "purpose"), was, then, strict=True)
    }
    _tell_diff(compared, then, as_json=as_json)
    return 0


def _tell_diff(compared: dict[str, tuple[str, str]], seen: "list[str | None]", *, as_json: bool) -> None:
    from keisei.wiring.constitution import changes

    found = {name: list(changes(*texts)) for name, texts in compared.items()}
    if as_json:
        emit_json({**found, "seen": None if None in seen else seen})
        return
    for name, lines in found.items():
        if lines:
            click.echo("\n".join([f"{name}:", *map(printable, lines)]))
    if not any(found.values()):
        click.echo("nothing differs")
    elif None not in seen:
        click.echo(f"seen: {','.join(map(str, seen))}")


def _kept(state: Path, sha256: str) -> str:
    from keisei.wiring.constitution import kept_text

    text = kept_text(state, sha256)
    if text is None:
        raise OperatorError(f"the text {sha256[:12]} is not kept on this machine", "look where it was written")
    return text


@click.command("history")
@of_agent
def history(agent: str, kit_root: Path | None, as_json: bool) -> int:
    """Every proposal and every answer, oldest first; as JSON with the texts, where they are kept."""
    from keisei.wiring.constitution_proposal import history as rows_of

    authored_agent(agent, kit_root)
    with desk() as opened:
        rows, state = rows_of(opened.store, agent), opened.home.folder
    if as_json:
        emit_json([_told_row(each, state) for each in rows])
    else:
        lines = [
            (each.seq, stamp(each.recorded_at), each.kind.removeprefix("constitution_"), each.actor, _facts(each))
            for each in rows
        ]
        grid(("row", "time", "what", "who", "facts"), lines)
    return 0


def _facts(row: "LedgerEntry") -> str:
    """The facts of a row in one line: hashes shortened, the reason last."""
    told = row.body
    names = {"proposal": "proposal", "version": "version", "soul_sha256": "soul", "purpose_sha256": "purpose"}
    parts = [f"{names[key]} {str(told[key])[:12]}" for key in names if told.get(key) is not None]
    return ", ".join([*parts, first_line(str(told["reason"]))] if told.get("reason") else parts)


def _told_row(row: "LedgerEntry", state: Path) -> dict[str, Any]:
    from keisei.contracts.check import data_of
    from keisei.wiring.constitution import kept_text

    hashes = {name: row.body.get(f"{name}_sha256") for name in ("soul", "purpose")}
    texts = {name: kept_text(state, each) if isinstance(each, str) else None for name, each in hashes.items()}
    return {**data_of(row), "texts": texts}


VERBS = (show, diff, history)
"""The commands, for their group."""
