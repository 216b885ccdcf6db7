"""The service: a project's console on its port, from its first request to its end."""

import logging
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

from starlette.routing import compile_path
from starlette.types import ASGIApp

from keisei.console import table
from keisei.console.address import Address, address, tls_context
from keisei.console.app import application
from keisei.console.guard import Guard, GuardConfig
from keisei.console.guard_closing import Closing
from keisei.console.guard_refusal import Attempt, refusal_entry
from keisei.console.link import make_link
from keisei.console.origin import known_origin, told_origin
from keisei.console.premises import Premises
from keisei.console.server import listen, serve
from keisei.console.visitor import Role
from keisei.settings import Settings
from keisei.wiring.account import actor

ENTER: Final = "/enter?key="
log = logging.getLogger("keisei.console")


class Ready(NamedTuple):
    """A console that answers."""

    url: str
    """Where it is."""
    link: str
    """How an operator gets in, once."""


class Way(NamedTuple):
    """How a console is served."""

    address: Address
    kit_root: Path | None = None
    read_only: bool = False
    role: Role = "operator"
    """As what the first link lets in."""


def serve_console(settings: Settings, start: Path, way: Way, ready: Callable[[Ready], None]) -> None:
    """Serve the project around a folder until somebody asks us to end. Raises KeiseiError where it cannot begin."""
    tls = None if way.address.tls is None else tls_context(way.address.tls)
    with listen(way.address) as line:
        premises = Premises(settings, start, kit_root=way.kit_root, read_only=way.read_only)
        try:
            here = way.address.at(line.getsockname()[1])
            closing = Closing()
            link = here.origin + ENTER + make_link(premises.home.folder, way.role)
            app = guarded(premises, here, closing)
            with told_origin(premises.home.folder, here.origin):
                serve(app, line, closing, tls=tls, ready=lambda: ready(Ready(f"{here.origin}/", link)))
        finally:
            premises.close()


def guarded(premises: Premises, here: Address, closing: Closing) -> ASGIApp:
    """The application behind its guard."""
    orders = _viewer_orders()
    config = GuardConfig(
        home_folder=premises.home.folder,
        address=here,
        account=actor(),
        closing=closing,
        refused=lambda attempt: _written(premises, attempt),
        broken=lambda error: log.error("a page broke", exc_info=error),
        viewer_may=lambda method, path: method == "POST" and any(each.match(path) for each in orders),
    )
    return Guard(application(premises), config)


def _written(premises: Premises, attempt: Attempt) -> None:
    premises.store.append(refusal_entry(attempt))


def _viewer_orders() -> list[re.Pattern[str]]:
    """Where viewers may post: what is asked there changes nothing."""
    free = [each for each in table.ORDERS if each.needs == "viewer"]
    return [compile_path(path)[0] for each in free for path in (each.path, each.twin)]


def new_link(folder: Path, role: Role, minutes: int) -> tuple[str, bool]:
    """A link into the project's console, and whether one is known to run. Raises OperatorError."""
    origin = known_origin(folder)
    key = make_link(folder, role, minutes)
    return f"{origin or address().origin}{ENTER}{key}", origin is not None


def log_to_stderr() -> None:
    """Have our own faults told where the console was started."""
    handler = logging.StreamHandler(os.fdopen(os.dup(2), "w"))
    handler.setFormatter(logging.Formatter("%(levelname)s %(message)s"))
    log.addHandler(handler)
