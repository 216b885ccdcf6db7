"""Adapters: how harnesses are reached, whether they can be, and what is known to be wrong with them."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final, Literal

from msgspec import Struct

from keisei.adapters import adapter_of
from keisei.console.asking import Key
from keisei.console.memory import Memory
from keisei.console.page import Missing, Order, Page, order, page
from keisei.console.premises import Premises
from keisei.console.slow import slowly
from keisei.console.visitor import Visitor
from keisei.contracts.check import data_of
from keisei.library.load import Loaded
from keisei.library.project import check_adapter
from keisei.records.breaker import Breaker
from keisei.records.error import AuthorError, KeiseiError, Refused
from keisei.records.id import AdapterId
from keisei.rules.breaker import is_open
from keisei.rules.redact import MARK, Redactor
from keisei.wiring.choose import kind_of
from keisei.wiring.key import check_key
from keisei.wiring.probe import probed

KEPT_S: Final = 86_400.0
"""How long a probe is remembered."""
GATES: Final = {
    "native": "asks the gate before every tool call, and is refused without one",
    "none": "has no tools, so there is nothing to gate",
}


class AdapterProbe(Struct, frozen=True, kw_only=True):
    """What a probe found."""

    adapter_id: str
    """Which adapter."""
    ok: bool
    """Whether it can be reached."""
    reason: str
    """What was found."""
    probed_at: datetime
    """When."""


class AdapterBreaker(Struct, frozen=True, kw_only=True):
    """Whether an adapter is left alone after failures."""

    state: Literal["closed", "open", "needs-person"]
    """It is used; it is left alone for a while; or until somebody resets it."""
    failures: int
    """Failures in a row."""
    reason: str | None
    """What the newest one said."""
    open_until: datetime | None
    """Until when it is left alone."""
    updated_at: datetime | None
    """When this was learnt."""


class AdapterLine(Struct, frozen=True, kw_only=True):
    """One adapter."""

    adapter_id: str
    """Its name in profiles and tasks."""
    kind: str
    """What kind of harness."""
    reached_by: str
    """The program, or the address."""
    model: str | None
    """The model, unless the task or the profile names one."""
    gate: Literal["native", "none"]
    """How its tool calls are judged."""
    gate_means: str
    """The same in words."""
    timeout_s: float
    """How long one attempt may take."""
    autonomy: str | None
    """How far it may act alone."""
    breaker: AdapterBreaker
    """Whether it is left alone."""
    problems: tuple[str, ...]
    """What is known to be wrong, without asking it."""
    probe: AdapterProbe | None
    """What the last probe from here found; None where none was made lately."""
    origin: str
    """The file, and the line of its table."""
    config: dict[str, Any]
    """Its table, without secrets."""


class AdaptersAsk(Struct, frozen=True, kw_only=True):
    """Nothing is asked."""


class AdaptersPage(Struct, frozen=True, kw_only=True):
    """Every adapter."""

    items: tuple[AdapterLine, ...]
    """By name."""
    problems: tuple[str, ...]
    """Files that cannot be read."""
    strays: tuple[str, ...]
    """Adapters that have failed and stand in no file any more."""


class AdapterAsk(Struct, frozen=True, kw_only=True):
    """Which adapter."""

    adapter_id: Key
    """Its name."""


class AdapterReset(Struct, frozen=True, kw_only=True):
    """An adapter that is used again."""

    adapter_id: str
    """Which."""
    breaker: Literal["closed"]
    """Its failures are forgotten."""


class Probes:
    """What probes found, while the console runs."""

    def __init__(self, _premises: Premises) -> None:
        """Nothing was asked yet."""
        self.memory: Memory[AdapterProbe] = Memory()

    def close(self) -> None:
        """Nothing is held."""


def show_adapters(premises: Premises, _asks: AdaptersAsk) -> AdaptersPage:
    """How harnesses are reached, and what is known to be wrong with them."""
    try:
        adapters = premises.catalog().adapters
    except AuthorError as error:
        told = tuple(each.render().partition("\n")[0] for each in error.problems)
        return AdaptersPage(items=(), problems=told, strays=())
    known = {str(each.adapter_id): each for each in premises.store.breakers()}
    items = [_line(premises, name, loaded, known.get(name)) for name, loaded in sorted(adapters.items())]
    strays = sorted(name for name, each in known.items() if name not in adapters and each.failures)
    return AdaptersPage(items=tuple(items), problems=(), strays=tuple(strays))


def _line(premises: Premises, adapter_id: str, loaded: Loaded, breaker: Breaker | None) -> AdapterLine:
    config, redactor = loaded.record, Redactor()
    autonomy = getattr(config, "autonomy", None)
    gate = adapter_of(kind_of(config)).gate
    line, _ = loaded.document.position(("adapters", adapter_id))
    return AdapterLine(
        adapter_id=adapter_id,
        kind=kind_of(config),
        reached_by=redactor.text(str(getattr(config, "command", None) or getattr(config, "endpoint", ""))),
        model=getattr(config, "model", None),
        gate=gate,
        gate_means=GATES[gate],
        timeout_s=config.timeout_ms / 1000,
        autonomy=None if autonomy is None else autonomy.profile,
        breaker=_breaker(breaker, premises.now()),
        problems=tuple(redactor.text(each) for each in _problems(premises, adapter_id, loaded)),
        probe=premises.keep(Probes).memory.find(adapter_id),
        origin=f"{loaded.document.source.shown}:{line}",
        config=_without_secrets(data_of(config), redactor),
    )


def _without_secrets(data: dict[str, Any], redactor: Redactor) -> dict[str, Any]:
    """The table; of its variables only the names, whose values may be anything."""
    told: dict[str, Any] = redactor.redact(data)
    return {**told, "env": dict.fromkeys(data["env"], MARK)} if data.get("env") else told


def _breaker(breaker: Breaker | None, now: datetime) -> AdapterBreaker:
    if breaker is None or not breaker.failures:
        return AdapterBreaker(state="closed", failures=0, reason=None, open_until=None, updated_at=None)
    state: Literal["closed", "open", "needs-person"] = "open" if is_open(breaker, now) else "closed"
    return AdapterBreaker(
        state="needs-person" if breaker.needs_person else state,
        failures=breaker.failures,
        reason=breaker.reason,
        open_until=breaker.open_until,
        updated_at=breaker.updated_at,
    )


def _problems(premises: Premises, adapter_id: str, loaded: Loaded) -> Iterator[str]:
    for each in (*loaded.warnings, *check_adapter(loaded, ("adapters", adapter_id), adapter_id)):
        yield each.message
    try:
        check_key(loaded.record, premises.home.root)
    except KeiseiError as error:
        yield error.message if error.hint is None else f"{error.message}; {error.hint}"


def probe_adapter(premises: Premises, asks: AdapterAsk, _visitor: Visitor) -> AdapterProbe:
    """Ask whether an adapter can be reached: the program found, the address answering."""
    found = premises.catalog().adapters.get(asks.adapter_id)
    if found is None:
        raise Missing(f"no adapter is called `{asks.adapter_id}`", "/adapters lists those there are")
    with slowly(premises, f"the probe of adapter `{asks.adapter_id}`"):
        answer = probed(found.record)
    told = AdapterProbe(
        adapter_id=asks.adapter_id,
        ok=answer.ok,
        reason=Redactor().text(answer.reason),
        probed_at=premises.now(),
    )
    premises.keep(Probes).memory.keep(asks.adapter_id, told, len(told.reason), seconds=KEPT_S)
    return told


def reset_adapter(premises: Premises, asks: AdapterAsk, visitor: Visitor) -> AdapterReset:
    """Forget an adapter's failures, so that it is used again."""
    known = {str(each.adapter_id) for each in premises.store.breakers()}
    if asks.adapter_id not in known and asks.adapter_id not in premises.catalog().adapters:
        raise Missing(f"no adapter is called `{asks.adapter_id}`", "/adapters lists those there are")
    if asks.adapter_id not in known or not premises.store.reset_breaker(AdapterId(asks.adapter_id), visitor.actor):
        raise Refused(f"adapter `{asks.adapter_id}` has no failures to forget", "/adapters shows how each stands")
    premises.store.ring()
    return AdapterReset(adapter_id=asks.adapter_id, breaker="closed")


PAGES: Final[tuple[Page, ...]] = (page("/adapters", "adapters.html", show_adapters),)
ORDERS: Final[tuple[Order, ...]] = (
    order("/adapters/{adapter_id}/probe", probe_adapter, lambda _done: "/adapters"),
    order("/adapters/{adapter_id}/reset", reset_adapter, lambda _done: "/adapters"),
)
