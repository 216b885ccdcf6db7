"""Registered names, asked for where keisei.toml says and kept in the state folder with the time of the answer.

What is learnt is a quotation: it stands above nothing that agent.toml says, and where the two differ that is told.
"""

import hashlib
import os
import tempfile
import threading
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final, Literal

import msgspec
from msgspec import Struct

from keisei import __version__
from keisei.library.source import read_raw
from keisei.records.agent import AgentFile
from keisei.records.error import AuthorError, OperatorError, WorldFault
from keisei.records.form import Timestamp
from keisei.records.launch import Call, Exit
from keisei.records.project import IdentityLookup
from keisei.rules.identity import same_address
from keisei.rules.identity_lookup import moment_in, name_in, url_fault, url_of
from keisei.rules.sensor import is_deep
from keisei.rules.wallet.address import SEGWIT, parse_address
from keisei.sandbox.http import call
from keisei.sandbox.stream import Name
from keisei.wiring.store import make_folder

FOLDER: Final = "names"
"""Below the state folder: a file for each address, named after its sha256."""
TIMEOUT_S: Final = 10.0
LARGEST: Final = 65_536
"""Bytes of an answer."""
OK: Final = 200
REDIRECTS: Final = range(300, 400)
HINT: Final = "look at [identity.lookup] in keisei.toml"


class Registered(Struct, frozen=True, kw_only=True):
    """What was answered of one address."""

    address: str
    """Whose name it is."""
    name: str
    """The name."""
    registered_at: Timestamp | None
    """When it was registered, where that was told."""
    asked: str
    """The address that was asked, with `{address}` in it."""
    asked_at: Timestamp
    """When."""
    source: Literal["local-cache"] = "local-cache"
    """Where this is read."""


def address_of(file: AgentFile) -> str | None:
    """The address whose name is the agent's: the one its registration names, else its first segwit wallet."""
    if file.identity.external_name is not None:
        return file.identity.external_name.wallet_ref
    for wallet in file.wallets:
        with suppress(ValueError):
            if wallet.chain == "bitcoin" and parse_address("bitcoin", wallet.network, wallet.address).kind in SEGWIT:
                return wallet.address
    return None


def kept(state: Path, file: AgentFile, lookup: IdentityLookup | None) -> Registered | None:
    """What this lookup answered last of the agent's address; None where nothing is kept. Asks nobody."""
    address = address_of(file)
    if address is None or lookup is None:
        return None
    try:
        found = msgspec.json.decode(read_raw(_path(state, address)), type=Registered)
    except (AuthorError, msgspec.DecodeError, UnicodeDecodeError):
        return None
    is_ours = same_address(found.address) == same_address(address) and found.asked == lookup.url
    return found if is_ours else None


def resolve(
    lookup: IdentityLookup | None, file: AgentFile, state: Path, now: datetime, *, refresh: bool = False
) -> Registered:
    """The registered name: as it is kept while that is fresh, else asked for and kept.

    Raises OperatorError where nothing can be asked, WorldFault where there is no answer; what was kept stays then.
    """
    agent_id, address = file.identity.agent_id, address_of(file)
    if lookup is None:
        raise OperatorError("this project asks nobody for names", "add `[identity.lookup]` with a url to keisei.toml")
    if address is None:
        raise OperatorError(f"agent `{agent_id}` has no segwit address to ask for", "write it as `[[wallets]]`")
    if (fault := url_fault(lookup.url)) is not None:
        raise OperatorError(f"the address of the lookup cannot be asked: {fault}", HINT)
    known = kept(state, file, lookup)
    if known is not None and not refresh and _is_fresh(known, lookup, now):
        return known
    return _keep(state, _asked(lookup, address, now))


def _is_fresh(known: Registered, lookup: IdentityLookup, now: datetime) -> bool:
    return timedelta(0) <= now - known.asked_at < timedelta(hours=lookup.ttl_h)


def conflict(file: AgentFile, found: Registered | None) -> str | None:
    """A sentence where agent.toml says another name than was answered; None where they agree."""
    external = file.identity.external_name
    if external is None or found is None or external.name == found.name:
        return None
    return f"agent.toml says `{external.name}`, and `{found.name}` was answered: one of them is wrong"


def _asked(lookup: IdentityLookup, address: str, now: datetime) -> Registered:
    headers = {"Accept": "application/json", "User-Agent": f"keisei/{__version__}"}
    request = Call(
        method="GET",
        url=url_of(lookup, address),
        headers=headers,
        body=b"",
        timeout_s=TIMEOUT_S,
        output_cap=LARGEST,
    )
    answer = _read(_called(request))
    name = name_in(lookup, answer)
    if name is None:
        raise WorldFault(f"the answer has no name at `{lookup.name}`", HINT)
    registered_at = moment_in(lookup, answer)
    return Registered(address=address, name=name, registered_at=registered_at, asked=lookup.url, asked_at=now)


def _called(request: Call) -> Exit:
    """Make the call, and hang up on an answer that goes on and on."""
    enough = _Enough()

    def listen(_name: Name, piece: bytes) -> None:
        enough.heard += len(piece)

    ended = call(request, listen, enough)
    if enough.heard > LARGEST:
        raise WorldFault(f"the answer has more than {LARGEST} bytes", HINT)
    return ended


class _Enough(threading.Event):
    """Set when so much was heard that it cannot be an answer."""

    def __init__(self) -> None:
        super().__init__()
        self.heard = 0

    def is_set(self) -> bool:
        return self.heard > LARGEST


def _read(ended: Exit) -> object:
    status = ended.http_status
    if status is None or ended.fault is not None or ended.timed_out:
        why = ended.fault or f"no answer within {TIMEOUT_S:g} seconds"
        raise WorldFault(f"the name cannot be asked for: {why}", "try again later", retryable=True)
    if status in REDIRECTS:
        raise WorldFault(f"it answered {status}: a redirect is not followed", "say where it leads to in keisei.toml")
    if status != OK:
        raise WorldFault(f"it answered {status}", HINT)
    try:
        answer = msgspec.json.decode(ended.stdout)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise WorldFault("the answer is not JSON", HINT) from error
    if not isinstance(answer, dict) or is_deep(answer):
        raise WorldFault("the answer is not an object, or nested too deeply", HINT)
    return answer


def _path(state: Path, address: str) -> Path:
    return state / FOLDER / f"{hashlib.sha256(same_address(address).encode()).hexdigest()}.json"


def _keep(state: Path, found: Registered) -> Registered:
    """Whole or not at all, for this user alone. Raises OperatorError."""
    path = _path(state, found.address)
    make_folder(path.parent)
    try:
        handle, made = tempfile.mkstemp(prefix=".new-", dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(msgspec.json.encode(found))
            Path(made).replace(path)
        except OSError:
            Path(made).unlink(missing_ok=True)
            raise
    except OSError as error:
        message = f"the answer cannot be kept in `{path.parent}`: {(error.strerror or str(error)).lower()}"
        raise OperatorError(message, "check the disk and the folder's permissions") from error
    return found
