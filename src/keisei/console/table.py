"""The table: every page, order and other route there is, noun by noun."""

from typing import Any, Final

from starlette.routing import BaseRoute

from keisei.console import (
    adapter,
    agent,
    approval,
    atom,
    attempt,
    capability,
    event,
    forge,
    graph,
    home,
    hook,
    landing,
    ledger,
    live,
    metric,
    original,
    pipe,
    role,
    runner,
    schedule,
    search,
    sensor,
    setting,
    task,
    workflow,
)
from keisei.console.page import Order, Page

PAGES: Final[tuple[Page, ...]] = (
    *home.PAGES,
    *graph.PAGES,
    *search.PAGES,
    *atom.PAGES,
    *pipe.PAGES,
    *forge.PAGES,
    *ledger.PAGES,
    *task.PAGES,
    *attempt.PAGES,
    *event.PAGES,
    *runner.PAGES,
    *approval.PAGES,
    *landing.PAGES,
    *workflow.PAGES,
    *schedule.PAGES,
    *sensor.PAGES,
    *role.PAGES,
    *capability.PAGES,
    *agent.PAGES,
    *adapter.PAGES,
    *setting.PAGES,
)
ORDERS: Final[tuple[Order, ...]] = (
    *home.ORDERS,
    *atom.ORDERS,
    *pipe.ORDERS,
    *forge.ORDERS,
    *ledger.ORDERS,
    *task.ORDERS,
    *runner.ORDERS,
    *approval.ORDERS,
    *landing.ORDERS,
    *workflow.ORDERS,
    *schedule.ORDERS,
    *sensor.ORDERS,
    *role.ORDERS,
    *capability.ORDERS,
    *agent.ORDERS,
    *adapter.ORDERS,
    *setting.ORDERS,
)
ROUTES: Final[tuple[BaseRoute, ...]] = (
    *attempt.ROUTES,
    *live.ROUTES,
    *task.ROUTES,
    *hook.ROUTES,
    *metric.ROUTES,
    *original.ROUTES,
)
EXTRA_PATHS: Final[dict[str, Any]] = {
    **task.EXTRA_PATHS,
    **attempt.EXTRA_PATHS,
    **live.EXTRA_PATHS,
}
"""What the OpenAPI document tells of routes that are no page and no order."""
