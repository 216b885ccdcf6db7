"""Metrics: what Prometheus scrapes, read from the store when it asks; and whether the console is there."""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Route

from keisei import __version__
from keisei.console.answer import failed, wrong
from keisei.console.premises import Premises
from keisei.records.error import KeiseiError

if TYPE_CHECKING:
    from prometheus_client import Metric
    from prometheus_client.registry import Collector


async def scrape(request: Request) -> Response:
    """Tell everything that is counted, in the format that is asked for."""
    try:
        body, kind = await run_in_threadpool(_scraped, request.app.state.premises, request.headers.get("accept", ""))
    except KeiseiError as error:
        return await run_in_threadpool(failed, request, wrong(error))
    return Response(body, headers={"content-type": kind})


async def is_there(_request: Request) -> Response:
    """Say that the console answers, and nothing else: anybody may ask."""
    return PlainTextResponse("ok\n")


def _scraped(premises: Premises, accept: str) -> tuple[bytes, str]:
    from prometheus_client import CollectorRegistry  # noqa: PLC0415 - most consoles are never scraped
    from prometheus_client.exposition import choose_encoder  # noqa: PLC0415 - as above

    registry = CollectorRegistry(auto_describe=False)
    registry.register(_collector(list(_metrics(premises))))
    write, kind = choose_encoder(accept)
    return write(registry), kind


def _collector(found: "list[Metric]") -> "Collector":
    from prometheus_client.registry import Collector  # noqa: PLC0415 - as above

    class Found(Collector):
        """What was read a moment ago."""

        def collect(self) -> "Iterable[Metric]":
            return found

    return Found()


def _metrics(premises: Premises) -> "Iterator[Metric]":
    from prometheus_client.core import GaugeMetricFamily, InfoMetricFamily  # noqa: PLC0415 - as above

    store, now = premises.store, premises.now()
    day = datetime(now.year, now.month, now.day, tzinfo=UTC)
    seen = store.overview(day)
    yield InfoMetricFamily("keisei", "The console", {"version": __version__, "project": premises.home.name})
    tasks = GaugeMetricFamily("keisei_tasks", "Tasks by status", labels=["status"])
    for status, count in seen.counts.items():
        tasks.add_metric([status], count)
    yield tasks
    yield GaugeMetricFamily("keisei_tasks_claimable", "Tasks that could be claimed now", seen.claimable)
    waiting = 0.0 if seen.waiting_since is None else max(0.0, (now - seen.waiting_since).total_seconds())
    yield GaugeMetricFamily("keisei_oldest_waiting_seconds", "How long the oldest claimable task has waited", waiting)
    yield GaugeMetricFamily("keisei_approvals_open", "What waits for a person", seen.approvals)
    yield GaugeMetricFamily("keisei_landings_held", "Verified candidates that wait for a person", seen.held)
    yield GaugeMetricFamily("keisei_spend_today_usd", "Money that attempts of today have used", seen.spend.cost_usd)
    yield GaugeMetricFamily("keisei_tokens_today", "Tokens that attempts of today have used", seen.spend.tokens)
    unpriced = "Attempts of today that ended and do not say what they cost"
    yield GaugeMetricFamily("keisei_unpriced_today", unpriced, seen.spend.unpriced)
    yield GaugeMetricFamily("keisei_gate_refusals_today", "Calls that gates refused today", seen.refusals.calls)
    beat = GaugeMetricFamily("keisei_runner_heartbeat_age_seconds", "Since a runner was heard", labels=["runner"])
    for runner in seen.runners:
        beat.add_metric([runner.runner_id], max(0.0, (now - runner.heartbeat_at).total_seconds()))
    yield beat
    yield GaugeMetricFamily("keisei_paused", "Places where claiming is stopped", len(store.pauses()))
    breakers = GaugeMetricFamily("keisei_adapter_failures", "Failures in a row of an adapter", labels=["adapter"])
    for breaker in store.breakers():
        breakers.add_metric([breaker.adapter_id], breaker.failures)
    yield breakers


ROUTES: Final[tuple[BaseRoute, ...]] = (
    Route("/metrics", scrape, methods=["GET"]),
    Route("/healthz", is_there, methods=["GET"]),
)
