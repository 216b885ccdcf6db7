"""`keisei wallet`: the wallets of agents, watched only, and signatures that their holders made."""

import base64
import hashlib
import os
import sys
from pathlib import Path
from stat import S_ISREG
from typing import TYPE_CHECKING, Any

import click

from keisei.cli.desk import REFUSED, WORDS, actor, desk, operator
from keisei.cli.output import emit_json, json_option, table
from keisei.cli.surroundings import kit_root_option, open_catalog
from keisei.records.error import OperatorError
from keisei.rules.wallet.address import CHAINS
from keisei.rules.wallet.message import SCHEMES

if TYPE_CHECKING:
    from keisei.rules.wallet.signature import Verdict
    from keisei.wiring.wallet import Held

LONGEST = 4096
"""Characters of an argument that are looked at."""
SHOWN = 200
"""Characters of a file's name that are repeated."""


class Discreet(click.Command):
    """A command that does not repeat arguments that look like a secret, not even those that it cannot take."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As every command does. Raises OperatorError in place of a usage error that would quote a secret."""
        given = tuple(args)
        try:
            return super().parse_args(ctx, args)
        except click.UsageError:
            _refuse(*given)
            raise


class DiscreetGroup(click.Group):
    """A group whose commands are discreet, and that is so itself about a command it does not have."""

    command_class = Discreet

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As every group does. Raises OperatorError in place of a usage error that would quote a secret."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError:
            _refuse(*args)
            raise


def _refuse(*given: str | Path | None) -> None:
    """Raises OperatorError where the arguments, each or all together, look like a secret."""
    from keisei.rules.wallet.secret import looks_secret
    from keisei.wiring.wallet import secret

    short = [str(each)[:LONGEST] for each in given if each is not None]
    if any(map(looks_secret, short)) or looks_secret(" ".join(short)):
        raise secret("an argument")


group = DiscreetGroup("wallet", help="Wallets of agents, watched only: add, list, verify. keisei holds no key.")


@group.command("add")
@click.argument("agent")
@click.option("--chain", type=click.Choice(CHAINS, case_sensitive=False), required=True, help="Whose address it is.")
@click.option("--address", type=WORDS, required=True, help="The address, in the chain's own notation.")
@click.option("--network", type=WORDS, help="mainnet, testnet, ...; needed only where the address does not tell.")
@click.option("--public-key", type=WORDS, help="Its public key in hexadecimal; it must give the address.")
@click.option("--name", type=WORDS, help="A registered name, such as a BNS name.")
@click.option("--capability", "capabilities", type=WORDS, multiple=True, help="What it is for; may be given again.")
@click.option("--contract", type=WORDS, help="The identity contract it is linked to; the agent's own.")
@kit_root_option
@json_option
def add(agent: str, kit_root: Path | None, as_json: bool, **told: Any) -> int:  # noqa: ANN401 - click's
    """Write an address into AGENT's agent.toml. Keys, mnemonics, wrong checksums and known addresses are refused."""
    from keisei.contracts.check import data_of
    from keisei.library.source import shown_path
    from keisei.wiring.wallet import add as add_wallet
    from keisei.wiring.wallet import checked

    _refuse(kit_root)
    operator()
    wallet = checked({**told, "agent": agent})
    path = add_wallet(lambda: open_catalog(kit_root), agent, wallet)
    if as_json:
        emit_json({"agent": agent, "path": shown_path(path), "wallet": data_of(wallet)})
    else:
        click.echo(f"{agent} watches {wallet.chain} {wallet.network} {wallet.address}: {shown_path(path)}")
    return 0


@group.command("list")
@click.argument("agent", required=False)
@kit_root_option
@json_option
def list_wallets(agent: str | None, kit_root: Path | None, as_json: bool) -> int:
    """Wallets of AGENT, or of all agents."""
    from keisei.records.problem import printable
    from keisei.wiring.wallet import held

    _refuse(agent, kit_root)
    found = list(held(open_catalog(kit_root), agent))
    if as_json:
        emit_json([_told(each) for each in found])
        return 0
    rows = [
        (each.agent, each.wallet.chain, each.wallet.network or "-", _kind(each), each.wallet.address, _uses(each))
        for each in found
    ]
    cells = [[printable(cell) for cell in row] for row in rows]
    table(("agent", "chain", "network", "kind", "address", "capabilities"), cells)
    return 0


@group.command("verify")
@click.argument("agent", required=False)
@click.option("--address", required=True, help="The address that signed.")
@click.option(
    "--message", required=True, help="What was signed: text (@@ for a first @), @FILE byte for byte, - for stdin."
)
@click.option("--signature", required=True, help="The signature: base64 (Bitcoin) or hexadecimal.")
@click.option(
    "--scheme", type=click.Choice(("auto", *SCHEMES)), default="auto", show_default=True, help="How it was signed."
)
@click.option("--record", is_flag=True, help="Keep a valid signature of AGENT's wallet as a ledger row.")
@kit_root_option
@json_option
def verify(agent: str | None, record: bool, kit_root: Path | None, as_json: bool, **told: str) -> int:
    """Check that the holder of an address signed a message. Exit 0 if so, 2 with the reason if not.

    With AGENT the address must be one of its wallets.
    """
    from keisei.wiring.wallet import held

    if record and agent is None:
        raise click.UsageError("--record needs the agent whose wallet it is")
    _refuse(told["address"], agent, kit_root)
    owned = None if agent is None else list(held(open_catalog(kit_root), agent))
    message = _message(told["message"])
    if record:
        _check_public(message)
    wallet, verdict = _judged(owned, told, message)
    row = _recorded(wallet, verdict, message, told["signature"]) if record and verdict.valid and wallet else None
    _say(told["address"], wallet, verdict, row, as_json=as_json)
    return 0 if verdict.valid else REFUSED


def _judged(owned: "list[Held] | None", told: dict[str, str], message: bytes) -> "tuple[Held | None, Verdict]":
    """The verdict, and the wallet it is about; `owned` are the wallets of which it must be one."""
    from keisei.rules.wallet.address import chain_of, parse_address
    from keisei.rules.wallet.message import scheme_of, verify_for
    from keisei.rules.wallet.signature import Verdict

    address, signature, scheme = told["address"], told["signature"], told["scheme"]
    try:
        parsed = parse_address(chain_of(address), None, address)
    except ValueError as error:
        return None, Verdict(valid=False, scheme=scheme, reason=f"the address cannot be used: {error}")
    known = ((each, each.address) for each in owned or ())
    mine = next((each for each, its in known if its is not None and its.text == parsed.text), None)
    if owned is not None and mine is None:
        return None, Verdict(valid=False, scheme=scheme, reason="the address is none of the agent's wallets")
    used = scheme_of(parsed, signature) if scheme == "auto" else scheme
    return mine, verify_for(parsed, used, message, signature)


def _message(given: str) -> bytes:
    """The bytes that were signed. Raises OperatorError for what cannot be read or is too large."""
    from keisei.rules.wallet.message import LONGEST

    if given == "-":
        raw = sys.stdin.buffer.read(LONGEST + 1)
    elif given.startswith("@@"):
        raw = os.fsencode(given[1:])
    elif given.startswith("@"):
        raw = _read(given[1:], LONGEST + 1)
    else:
        raw = os.fsencode(given)
    if len(raw) > LONGEST:
        raise OperatorError(f"the message has more than {LONGEST} bytes", "sign a hash of what is that large")
    return raw


def _read(name: str, most: int) -> bytes:
    """So many bytes of a regular file: of a pipe or a device there may be no end. Raises OperatorError."""
    hint = "name a file behind the @; a message that begins with @ is given as @@"
    _refuse(name)
    shown = name if len(name) <= SHOWN else f"{name[:SHOWN]}..."
    try:
        if name and not S_ISREG(Path(name).stat().st_mode):
            raise OperatorError(f"`{shown}` is a folder, a device or a pipe, and no file", hint)
        with Path(name).open("rb") as file:
            return file.read(most)
    except (OSError, ValueError) as error:  # a zero byte in the name is a ValueError
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        message = (
            f"cannot read the message from `{shown}`: {reason.lower()}" if name else "no file is named behind the @"
        )
        raise OperatorError(message, hint) from error


def _check_public(message: bytes) -> None:
    """Raises OperatorError for a message that is not for the ledger. Digits may be a challenge: many messages have."""
    from keisei.rules.wallet.secret import looks_secret
    from keisei.wiring.wallet import secret

    if looks_secret(message.decode("utf-8", "replace"), hashes=True):
        raise secret("message")


def _recorded(wallet: "Held", verdict: "Verdict", message: bytes, signature: str) -> int:
    from keisei.records.move import NewEntry

    body = {
        "agent_id": wallet.agent,
        "chain": wallet.wallet.chain,
        "network": wallet.wallet.network,
        "address": wallet.wallet.address,
        "scheme": verdict.scheme,
        "public_key": verdict.public_key,
        **_kept(message),
        "message_sha256": hashlib.sha256(message).hexdigest(),
        "signature": signature.strip(),
    }
    new = NewEntry(kind="wallet_verified", subject=wallet.agent, actor=actor(), body=body, source="manual")
    with desk() as opened:
        return opened.store.append(new).seq


def _kept(message: bytes) -> dict[str, str]:
    """The message as a row has it, so that everybody can verify the signature again."""
    try:
        return {"message": message.decode("utf-8")}
    except UnicodeDecodeError:
        return {"message_base64": base64.b64encode(message).decode("ascii")}


def _say(address: str, wallet: "Held | None", verdict: "Verdict", row: int | None, *, as_json: bool) -> None:
    from keisei.records.problem import printable

    if as_json:
        told = {name: getattr(verdict, name) for name in verdict.__struct_fields__}
        emit_json({**told, "address": address, "wallet": None if wallet is None else _told(wallet), "row": row})
        return
    whose = (
        "" if wallet is None else f"; wallet of {wallet.agent}{f' ({name})' if (name := wallet.wallet.name) else ''}"
    )
    kept = "" if row is None else f"; row {row}"
    click.echo(
        printable(f"{'valid' if verdict.valid else 'not valid'} ({verdict.scheme}): {verdict.reason}{whose}{kept}")
    )


def _told(each: "Held") -> dict[str, Any]:
    from keisei.contracts.check import data_of
    from keisei.records.id import AgentId
    from keisei.records.wallet import joined
    from keisei.rules.wallet.caip import account_id, did_pkh

    told: dict[str, Any] = data_of(joined(each.wallet, AgentId(each.agent)))
    return {
        **told,
        "layer": each.layer,
        "kind": None if each.address is None else each.address.kind,
        "account_id": account_id(each.wallet),
        "did": did_pkh(each.wallet),
    }


def _kind(each: "Held") -> str:
    return each.address.kind if each.address is not None else "not checked"


def _uses(each: "Held") -> str:
    return ", ".join(each.wallet.capabilities) or "-"
