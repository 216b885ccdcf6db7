"""What others are told of an agent, as files: an agent card, identifiers, a registration file."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from keisei.cli.desk import WORDS, operator
from keisei.cli.output import json_option, write_whole
from keisei.cli.surroundings import kit_root_option, open_catalog, settings
from keisei.records.error import OperatorError
from keisei.records.problem import printable

if TYPE_CHECKING:
    from keisei.rules.registration import Service


@click.command("card")
@click.argument("name")
@click.option("--url", type=WORDS, help="Where the agent is reached; by default `url` of its metadata.")
@click.option("--binding", type=click.Choice(("JSONRPC", "GRPC", "HTTP+JSON")), default="JSONRPC", show_default=True)
@click.option("--profile", "profiles", multiple=True, help="A profile it works under, with its skills; again for more.")
@click.option("--skill", "skills", multiple=True, help="A skill it offers; again for more.")
@click.option("--atom", "atoms", multiple=True, help="An atom it offers, by id; again for more.")
@click.option("--description", type=WORDS, help="What others are told; by default `description` of its metadata.")
@click.option("--out", type=click.Path(path_type=Path), help="Write it there, whole or not at all.")
@kit_root_option
def card(name: str, out: Path | None, kit_root: Path | None, **offer: Any) -> int:  # noqa: ANN401 - its options
    """An A2A 1.0 agent card, signed with this machine's key. Others look for it at /.well-known/agent-card.json."""
    from keisei.rules.card import card as unsigned
    from keisei.rules.card import signed
    from keisei.rules.did import key_url
    from keisei.wiring.atoms import open_shelf
    from keisei.wiring.identity import Offer, agent_of, card_facts, fitting
    from keisei.wiring.signing import signer

    operator("an operator publishes an agent, with the runtime's key")
    catalog = open_catalog(kit_root)
    agent = fitting(catalog, agent_of(catalog, name))
    shelf = open_shelf(settings(), roots=(), kit_root=kit_root)
    facts = card_facts(catalog, agent, Offer(**offer), shelf.atom)
    own = signer(*_home())
    _emit(signed(unsigned(facts), key_url(own.public), own.sign), out)
    return 0


@click.command("did")
@click.argument("name")
@click.option("--document", is_flag=True, help="The DID document of the runtime's key, which all its agents share.")
@click.option("--out", type=click.Path(path_type=Path), help="Write it there, whole or not at all.")
@kit_root_option
@json_option
def did(name: str, document: bool, out: Path | None, kit_root: Path | None, as_json: bool) -> int:
    """Identifiers that need no registry: did:key of this machine's key, did:pkh of each wallet."""
    from keisei.rules.did import did_key, key_document
    from keisei.wiring.identity import accounts, agent_of, dids, fitting
    from keisei.wiring.signing import signer

    catalog = open_catalog(kit_root)
    agent = fitting(catalog, agent_of(catalog, name))
    own = signer(*_home())
    if document:
        _emit(key_document(own.public), out)
    elif as_json or out is not None:
        _emit({"key": did_key(own.public), "accounts": [plain(each) for each in accounts(agent.file)]}, out)
    else:
        for each in dids(agent.file, own.public):
            click.echo(printable(each))
    return 0


@click.command("erc8004")
@click.argument("name")
@click.option("--service", "services", multiple=True, metavar="NAME=ENDPOINT", help="A2A, MCP, web and so on.")
@click.option("--description", type=WORDS, help="What others are told; by default `description` of its metadata.")
@click.option("--image", type=WORDS, help="The address of a picture; by default a letter on a colour.")
@click.option("--x402", is_flag=True, help="It takes payments by x402.")
@click.option("--inactive", is_flag=True, help="It is not at work.")
@click.option(
    "--trust", multiple=True, type=WORDS, help="reputation, crypto-economic, tee-attestation; again for more."
)
@click.option("--data-uri", is_flag=True, help="As an address that holds the whole file.")
@click.option("--out", type=click.Path(path_type=Path), help="Write it there, whole or not at all.")
@kit_root_option
def erc8004(  # noqa: PLR0913, PLR0917 - one argument an option
    name: str,
    services: tuple[str, ...],
    inactive: bool,
    data_uri: bool,
    out: Path | None,
    kit_root: Path | None,
    **more: Any,  # noqa: ANN401 - its options
) -> int:
    """The ERC-8004 registration file (registration-v1) of an agent."""
    from keisei.rules.registration import data_uri as as_address
    from keisei.rules.registration import registration
    from keisei.wiring.identity import Listing, agent_of, fitting, registration_facts
    from keisei.wiring.signing import known_key, origin

    catalog = open_catalog(kit_root)
    agent = fitting(catalog, agent_of(catalog, name))
    state, project = _home()
    key = known_key(state, origin(project))
    listing = Listing(services=tuple(map(_service, services)), active=not inactive, **more)
    file = registration(registration_facts(agent, listing, None if key is None else key.public))
    onchain = agent.file.identity.onchain_identity
    if onchain is not None and not file["registrations"]:
        sentence = "onchain_identity has no token of a known network, so the file has no registration"
        click.echo(f"warning: {sentence}", err=True)
    if data_uri:
        _write(f"{as_address(file)}\n", out)
    else:
        _emit(file, out)
    return 0


def _service(text: str) -> "Service":
    from keisei.rules.card import PROTOCOL
    from keisei.rules.registration import Service

    name, separator, endpoint = text.partition("=")
    if not separator or not name.strip() or not endpoint.strip():
        raise OperatorError(f"`{text}` is not a service", "write NAME=ENDPOINT, for example web=https://example.org")
    return Service(name=name.strip(), endpoint=endpoint.strip(), version=PROTOCOL if name.strip() == "A2A" else None)


def _home() -> tuple[Path, str]:
    """State folder and name of the project around the working directory."""
    from keisei.wiring.atom_runtime import working_directory
    from keisei.wiring.store import project_home

    home = project_home(settings(), working_directory())
    return home.folder, home.name


def _emit(value: object, out: Path | None) -> None:
    import json

    _write(f"{json.dumps(value, indent=2, ensure_ascii=False)}\n", out)


def _write(text: str, out: Path | None) -> None:
    """To a file, whole or not at all, or to stdout."""
    if out is None:
        click.echo(text, nl=False)
    else:
        write_whole(out, text.encode("utf-8"))
        click.echo(f"written: {printable(str(out))}", err=True)


def plain(value: object) -> Any:  # noqa: ANN401 - JSON
    """A record as JSON has it."""
    import msgspec

    return msgspec.to_builtins(value)


VERBS = (card, did, erc8004)
"""The commands, for their group."""
