"""Wallets of agents: read from every agent.toml, checked, and written into a project's own; never a key."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import tomlkit

from keisei.contracts.check import data_of
from keisei.library.agent import check_agent, check_folder
from keisei.library.agent_edit import check_place
from keisei.library.agent_wallet import account_key
from keisei.library.catalog import Catalog
from keisei.library.document import parse
from keisei.library.load import Loaded, load
from keisei.library.placement import NewFile
from keisei.library.placing import held as alone
from keisei.library.placing import place_files
from keisei.library.shelf import Found
from keisei.library.source import Source, shown_path
from keisei.records.agent import AgentFile, AgentWallet
from keisei.records.error import AuthorError, OperatorError, WorldFault
from keisei.records.problem import Problem
from keisei.rules.identity import same_address
from keisei.rules.wallet.address import Address, parse_address, public_key_of
from keisei.rules.wallet.caip import ETHEREUM, is_network, network_of
from keisei.rules.wallet.secret import looks_secret


class Held(NamedTuple):
    """A wallet, and whose it is."""

    agent: str
    layer: str
    wallet: AgentWallet

    @property
    def address(self) -> Address | None:
        """The address, understood; None where it is of another chain or wrong, as files written by hand may have it."""
        try:
            return parse_address(self.wallet.chain, self.wallet.network, self.wallet.address)
        except ValueError:
            return None


def held(catalog: Catalog, agent: str | None = None) -> Iterator[Held]:
    """The wallets of one agent, or of all, by the files that win. Raises AuthorError for the first broken one."""
    names = catalog.names("agent") if agent is None else [agent]
    for name in names:
        found = catalog.found("agent", name)
        file: AgentFile = catalog.loaded("agent", name).record
        for wallet in file.wallets:
            yield Held(name, found.layer.name if found is not None else "", wallet)


def checked(told: Mapping[str, Any]) -> AgentWallet:
    """A new wallet as it will be written. Raises OperatorError, which repeats nothing that may be a secret."""
    for name, value in told.items():
        if name != "public_key" and any(map(looks_secret, (value,) if isinstance(value, str) else value or ())):
            raise secret(name)
    try:
        address = parse_address(told["chain"], told["network"], told["address"].strip())
    except ValueError as error:
        message = f"the {told['chain']} address cannot be used: {error}"  # not repeated: it may be half of a secret
        raise OperatorError(message, "copy it again from the wallet") from error
    network = told["network"] or network_of(address)
    if network is None:
        message = f"`{address.text}` can be an address of {' or '.join(address.networks)}"
        raise OperatorError(message, "say which with --network")
    if not is_network(address, network):
        message = f"{address.chain} has no network `{network}`"
        raise OperatorError(message, f"say the number of its chain, or one of {', '.join(ETHEREUM)}")
    key = told["public_key"]
    return AgentWallet(
        chain=address.chain,
        network=network,
        address=address.text,
        public_key=None if key is None else _fitting(key, address),
        name=told["name"],
        capabilities=tuple(told["capabilities"]),
        onchain_identity_contract=told["contract"],
    )


def secret(name: str) -> OperatorError:
    """What is said of a secret: where it was given, and nothing of it."""
    message = f"what was given as {name.replace('_', ' ')} looks like a private key or a mnemonic; nothing was written"
    return OperatorError(message, "keisei only watches wallets: give the address, and take the key out of your history")


def _fitting(given: str, address: Address) -> str:
    """The public key in small letters. Raises OperatorError; what gives the address is no secret, whatever its form."""
    raw = public_key_of(address, given)
    if raw is not None:
        return raw.hex()
    if looks_secret(given):
        raise secret("public_key")
    message = f"the public key does not give the address `{address.text}`"
    hint = "give the key of this very address, or none: 33 or 65 bytes in hexadecimal, of a p2tr address also 32"
    raise OperatorError(message, hint)


def add(fresh: Callable[[], Catalog], agent: str, wallet: AgentWallet) -> Path:
    """Write the wallet into the project's agent.toml, whole or not at all, and return the file's path.

    `fresh` opens the catalog: it is read when nobody else writes any more. Raises OperatorError for a wallet that some
    agent has already, AuthorError for what would not fit the rest of the file, WorldFault where it cannot be written.
    """
    folder = _own(fresh(), agent).path.parent.parent
    try:
        with alone(folder):  # all agents' wallets are written one after another: an address belongs to one of them
            catalog = fresh()
            found = _own(catalog, agent)
            _new(catalog, agent, wallet)
            before = catalog.loaded("agent", agent)
            if strange := list(check_folder(found, before)):
                raise AuthorError(strange)
            text = _checked_text(found, before, wallet)
            file = NewFile(path=f"{agent}/{found.path.name}", content=text, was=before.document.source.text)
            place_files(folder, (file,), lambda _made: None)  # it was checked as a whole already
    except OSError as error:
        message = f"cannot write below {shown_path(folder)}: {(error.strerror or str(error)).lower()}"
        raise WorldFault(message, "check the folder and its free space") from error
    return found.path


def _own(catalog: Catalog, agent: str) -> Found:
    found = catalog.found("agent", agent)
    if found is None:
        raise catalog.missing("agent", agent)
    if found.layer.name != "project":
        message = f"agent `{agent}` is not the project's: {shown_path(found.path)}"
        raise OperatorError(message, "write the wallet there by hand, or describe the agent in the project")
    if found.path.is_symlink():
        raise OperatorError(f"{shown_path(found.path)} is a symlink", "put the file itself there")
    check_place(found.layer)
    return found


def _new(catalog: Catalog, agent: str, wallet: AgentWallet) -> None:
    for each in held(catalog):
        same = same_address(each.wallet.address) == same_address(wallet.address)
        if same and (each.agent != agent or account_key(each.wallet) == account_key(wallet)):
            raise OperatorError(
                f"agent `{each.agent}` has the {wallet.chain} wallet `{wallet.address}` already",
                "an address belongs to one agent, and stands there once for each network",
            )


def _checked_text(found: Found, before: Loaded, wallet: AgentWallet) -> str:
    """The file with the wallet in it. What was there stays as it is; problems it had before are not the wallet's."""
    source = before.document.source
    text = _with(source.text, data_of(wallet))
    after = load(parse(Source(source.path, source.shown, text.encode("utf-8"), text)), "agent.file")
    if after.record.wallets != (*before.record.wallets, wallet):
        message = f"a wallet cannot be added to {source.shown} by itself"
        raise OperatorError(message, "write `wallets` as [[wallets]] tables, or add it by hand")
    known = {(each.code, each.message) for each in check_agent(found, before)}
    now = (each for each in check_agent(found, after) if each.severity == "error")
    worse = [each for each in now if (each.code, each.message) not in known]
    if worse:
        raise AuthorError(_without_place(each) for each in worse)
    return text


def _without_place(problem: Problem) -> Problem:
    """The problem without line and column: they are those of a file that was not written."""
    return Problem(code=problem.code, path=problem.path, message=f"not written: {problem.message}", hint=problem.hint)


def _with(text: str, data: Any) -> str:  # noqa: ANN401 - a record as data
    table = {name: value for name, value in data.items() if value not in (None, [], ())}
    document: Any = tomlkit.parse(text)
    if isinstance(document.get("wallets"), tomlkit.items.Array):  # written as a value, where no table can follow it
        inline = tomlkit.inline_table()
        inline.update(table)
        document["wallets"].append(inline)
        return tomlkit.dumps(document)
    newline = "\r\n" if "\r\n" in text else "\n"
    ended = text if not text or text.endswith("\n") else text + newline
    return ended + newline + tomlkit.dumps({"wallets": [table]}).replace("\n", newline)
