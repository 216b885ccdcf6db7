"""Choosing: the adapter an attempt uses, and the fallback where it cannot be reached."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

from keisei.engine.intake import Registry
from keisei.records.adapter import AdapterConfig
from keisei.records.breaker import Breaker
from keisei.records.error import Refused, WorldFault
from keisei.records.id import AdapterId
from keisei.records.move import Claimed, NewEvent
from keisei.records.profile import SubagentProfile
from keisei.rules.breaker import is_open
from keisei.wiring.probe import Prober

PLAIN: Final = ("script", "ollama-generate")
"""Kinds that have no tools to gate: a program the operator chose, and a model that only answers."""


class Choice(NamedTuple):
    """The adapter, and what to tell of the way to it."""

    config: AdapterConfig
    events: tuple[NewEvent, ...]


def kind_of(config: AdapterConfig) -> str:
    """The adapter's kind."""
    return str(config.__struct_config__.tag)


def choose(  # noqa: PLR0913, PLR0917 - a choice has this many grounds
    claimed: Claimed,
    profile: SubagentProfile,
    registry: Registry,
    breakers: Sequence[Breaker],
    probe: Prober,
    now: datetime,
    *,
    confines: bool,
) -> Choice:
    """The first adapter of the declared order that can be reached.

    Raises Refused for a harness with tools where this runner confines none, OperatorError for one nobody defines, and a
    WorldFault that may pass where none can be reached now.
    """
    names = _order(claimed, profile)
    known = {each.adapter_id: each for each in breakers}
    chain: list[dict[str, Any]] = []
    for name in names:
        config = registry.adapter(name)
        if not confines:
            _refuse_harness(config)
        fault = _fault(config, known.get(name), probe, now)
        chain.append({"adapter_id": name, "ok": fault is None, "reason": fault or "reachable"})
        if fault is None:
            return Choice(config, _told(claimed, chain))
    told = "; ".join(f"{each['adapter_id']}: {each['reason']}" for each in chain)
    raise WorldFault(f"no adapter can be reached: {told}", "`keisei adapter probe` asks each of them", retryable=True)


def _order(claimed: Claimed, profile: SubagentProfile) -> list[AdapterId]:
    asked = claimed.task.requested_adapter_id
    return [asked] if asked is not None else [profile.default_adapter_id, *profile.fallback_adapter_ids]


def _refuse_harness(config: AdapterConfig) -> None:
    kind = kind_of(config)
    if kind not in PLAIN:
        raise Refused(
            f"adapter `{config.adapter_id}` is a harness with tools ({kind}), and this runner confines none",
            "use an adapter of kind `script` or `ollama-generate`",
        )


def _fault(config: AdapterConfig, breaker: Breaker | None, probe: Prober, now: datetime) -> str | None:
    if breaker is not None and is_open(breaker, now):
        return f"left alone after {breaker.failures} failures ({breaker.reason})"
    found = probe(config)
    return None if found.ok else found.reason


def _told(claimed: Claimed, chain: list[dict[str, Any]]) -> tuple[NewEvent, ...]:
    if len(chain) == 1:
        return ()
    attempt = claimed.attempt
    detail = {
        "runner_id": attempt.runner_id,
        "requested_adapter": chain[0]["adapter_id"],
        "selected_adapter": chain[-1]["adapter_id"],
        "chain": chain,
    }
    return (
        NewEvent(
            event_type="adapter_fallback_used",
            task_id=attempt.task_id,
            attempt_id=attempt.attempt_id,
            detail=detail,
        ),
    )
