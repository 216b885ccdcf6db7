"""`keisei identity`: who agents are, and what others are told of them."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from keisei.cli.desk import WORDS, desk, fields, refusing, stamp
from keisei.cli.identity_file import VERBS, plain
from keisei.cli.output import emit_json, json_option, table
from keisei.cli.surroundings import kit_root_option, open_catalog
from keisei.records.error import AuthorError, OperatorError
from keisei.records.problem import printable

if TYPE_CHECKING:
    from keisei.cli.desk import Desk
    from keisei.engine.ports import Ledger
    from keisei.records.agent import AgentIdentity
    from keisei.records.problem import Problem
    from keisei.wiring.identity import Agent

CONFLICT = 2
"""The exit code where records disagree."""


@click.group("identity", context_settings={"help_option_names": ["-h", "--help"]})
def group() -> None:
    """Identities: who agents are, in three faces, and what others are told of them."""


@group.command("list")
@kit_root_option
@json_option
def list_agents(kit_root: Path | None, as_json: bool) -> int:
    """Every agent with its three faces, and whether an operator accepted its constitution."""
    from keisei.wiring.identity import agent_of

    catalog = open_catalog(kit_root)
    rows: list[dict[str, Any]] = []
    broken: list[Problem] = []
    with desk() as opened:
        for name in catalog.names("agent"):
            try:
                agent = agent_of(catalog, name)
                rows.append({**_faces(agent.file.identity), "constitution": _standing(opened.store, agent)})
            except AuthorError as error:
                broken.extend(error.problems)
    if as_json:
        emit_json(rows)
    else:
        heads = ("internal", "external", "on-chain", "constitution")
        keys = ("internal_name", "external_name", "onchain", "constitution")
        table(heads, [[printable(str(row[key] or "-")) for key in keys] for row in rows])
    if broken:
        raise AuthorError(broken)
    return 0


def _faces(identity: "AgentIdentity") -> dict[str, Any]:
    external, onchain = identity.external_name, identity.onchain_identity
    token = None if onchain is None else f"{onchain.contract}{f'#{onchain.token_id}' if onchain.token_id else ''}"
    return {
        "internal_name": identity.internal_name,
        "display_name": identity.display_name,
        "external_name": None if external is None else external.name,
        "onchain": token,
    }


def _standing(ledger: "Ledger", agent: "Agent") -> str:
    from keisei.wiring.constitution import acceptance, constitution, standing

    return standing(constitution(agent.loaded), acceptance(ledger, agent.file.identity.agent_id))


@group.command("show")
@click.argument("name")
@kit_root_option
@json_option
def show(name: str, kit_root: Path | None, as_json: bool) -> int:
    """One agent: its faces, wallets and constitution, its identifiers, and whether everything fits. Exit 2 if not."""
    from keisei.wiring.identity import agent_of, misfits

    catalog = open_catalog(kit_root)
    agent = agent_of(catalog, name)
    problems = list(misfits(catalog, agent))
    with desk() as opened:
        told = _told(opened, agent)
    told["problems"] = [each.render() for each in problems]
    told["fits"] = told["registered"]["conflict"] is None and not any(each.severity == "error" for each in problems)
    if as_json:
        emit_json(told)
    else:
        _say(told)
    return 0 if told["fits"] else CONFLICT


def _told(opened: "Desk", agent: "Agent") -> dict[str, Any]:
    from keisei.cli.constitution_read import told_constitution
    from keisei.contracts.check import data_of
    from keisei.wiring.identity import accounts, dids
    from keisei.wiring.identity_lookup import conflict, kept
    from keisei.wiring.signing import known_key, origin

    file, home = agent.file, opened.home
    key = known_key(home.folder, origin(home.name))
    registered = kept(home.folder, file, home.file.identity.lookup if home.file.identity else None)
    return {
        "identity": data_of(file.identity),
        "faces": _faces(file.identity),
        "wallets": [
            {**data_of(wallet), "account_id": each.account_id}
            for wallet, each in zip(file.wallets, accounts(file), strict=True)
        ],
        "constitution": told_constitution(opened, agent.loaded),
        "registered": {
            "answer": None if registered is None else plain(registered),
            "conflict": conflict(file, registered),
        },
        "did": list(dids(file, None if key is None else key.public)),
    }


def _say(told: dict[str, Any]) -> None:
    faces, answer = told["faces"], told["registered"]["answer"]
    constitution = told["constitution"]
    fields(
        {
            "internal name": faces["internal_name"],
            "display name": faces["display_name"],
            "external name": faces["external_name"] or "-",
            "looked up": None if answer is None else f"{answer['name']} (local-cache, {answer['asked_at']})",
            "on-chain": faces["onchain"] or "-",
        }
    )
    for wallet in told["wallets"]:
        click.echo(printable(f"wallet: {wallet['chain']} {wallet['address']}"))
    for each in told["did"]:
        click.echo(f"did: {printable(each)}")
    click.echo(f"constitution: {constitution['state']}")
    if constitution["proposals"]:
        click.echo(f"proposals: {len(constitution['proposals'])} open")
    for sentence in [told["registered"]["conflict"], *told["problems"]]:
        if sentence is not None:
            click.echo(f"problem: {printable(sentence)}")
    click.echo(f"everything fits: {'yes' if told['fits'] else 'no'}")


@group.command("init")
@click.argument("name")
@click.option("--display-name", type=WORDS, help="The label in pages and tables; by default the name, capitalized.")
def init(name: str, display_name: str | None) -> int:
    """Write agent.toml, SOUL.md and PURPOSE.md of a new agent: all three or none, never over a file."""
    from datetime import UTC, datetime

    from keisei.library.agent_edit import check_place
    from keisei.library.agent_new import new_agent
    from keisei.library.source import shown_path
    from keisei.wiring import project_layer
    from keisei.wiring.atom_runtime import working_directory

    layer = project_layer(working_directory())
    if layer is None:
        raise OperatorError("there is no project here", "write a keisei.toml with `[project]` and `name` first")
    with refusing():
        check_place(layer)
    for path in new_agent(layer.place("agent"), name, display_name or name.capitalize(), datetime.now(UTC)):
        click.echo(f"written: {shown_path(path)}")
    click.echo(f'tasks run under it where keisei.toml says `agent = "{name}"` under [project]')
    return 0


@group.command("resolve")
@click.argument("name")
@click.option("--refresh", is_flag=True, help="Ask also where a kept answer is still fresh.")
@kit_root_option
@json_option
def resolve(name: str, refresh: bool, kit_root: Path | None, as_json: bool) -> int:
    """The registered name of an agent, asked for as `[identity.lookup]` says. Exit 2 if agent.toml differs."""
    from keisei.wiring.identity import agent_of
    from keisei.wiring.identity_lookup import conflict
    from keisei.wiring.identity_lookup import resolve as ask

    agent = agent_of(open_catalog(kit_root), name)
    with desk() as opened:
        own = opened.home.file.identity
        found = ask(own.lookup if own else None, agent.file, opened.home.folder, opened.store.now(), refresh=refresh)
    differs = conflict(agent.file, found)
    if as_json:
        emit_json({**plain(found), "conflict": differs})
    else:
        moment = "" if found.registered_at is None else f", registered {stamp(found.registered_at)}"
        click.echo(printable(f"{found.name}: {found.address}{moment}, asked {stamp(found.asked_at)}"))
        if differs is not None:
            click.echo(f"conflict: {printable(differs)}", err=True)
    return 0 if differs is None else CONFLICT


for _verb in VERBS:
    group.add_command(_verb)
