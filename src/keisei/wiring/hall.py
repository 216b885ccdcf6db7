"""The hall: a runner with everything it works with, for one project."""

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

import msgspec

from keisei.engine.budget import policy_of
from keisei.engine.loop import paused_by_loop
from keisei.engine.office import Office
from keisei.engine.ports import Store
from keisei.evidence.file import FileEvidence
from keisei.records.id import RunnerId, TaskId
from keisei.records.landing import LandingRecord
from keisei.records.move import LandingQuery
from keisei.records.project import ProjectApprovals, ProjectLedger, ProjectRunner
from keisei.rules.evidence import keys_of
from keisei.rules.retry import Backoff
from keisei.settings import Settings
from keisei.wiring import catalog
from keisei.wiring.channel import ProjectChannels
from keisei.wiring.chores import Chores, Trade
from keisei.wiring.execute import Hold
from keisei.wiring.fresh import new_id
from keisei.wiring.probe import Prober
from keisei.wiring.registry import CatalogRegistry, defaults_of
from keisei.wiring.runner import Hall, Line, Options, Runner, Signed, host
from keisei.wiring.salvage import salvage
from keisei.wiring.sensor import Sensing
from keisei.wiring.shop import Shop, shared_folder
from keisei.wiring.store import Home
from keisei.wiring.warm import warm
from keisei.wiring.workshop import AttemptWorkshop
from keisei.wiring.yard import Rehearsal, Yard
from keisei.workspace.space import free_bytes

MB = 1024 * 1024
MOST_LANDINGS = 500


def project_shop(  # noqa: PLR0913 - most calls say the first three
    settings: Settings,
    home: Home,
    store: Store,
    kit_root: Path | None = None,
    *,
    accept_weaker: bool = False,
    rehearsal: Rehearsal | None = None,
) -> Shop:
    """What attempts of this project share. With a `rehearsal` harnesses are proved before their first work."""
    start = home.root or Path.cwd()
    return Shop(
        home=home,
        store=store,
        registry=lambda: CatalogRegistry(catalog(settings, kit_root=kit_root, start=start)),
        evidence=FileEvidence(home.evidence),
        probe=Prober(),
        new_id=new_id,
        runner=home.file.runner or ProjectRunner(),
        artifact_folder=lambda task: shared_folder(home.artifacts, task) or home.artifacts / task.task_id,
        name=home.name,
        yard=Yard(settings, home, accept_weaker=accept_weaker, rehearsal=rehearsal),
    )


def shop_runner(shop: Shop, options: Options, tell: Callable[[Line], None], *, senses: bool = False) -> Runner:
    """A runner of a shop. One that senses runs the project's sensors too, unless it leaves when it is idle."""
    warm()
    file, defaults = shop.home.file, defaults_of(shop.home)
    budget = policy_of(file.budget)
    if budget is not None:
        budget = msgspec.structs.replace(budget, free=shop.registry().free_adapters())
    rows = (file.ledger or ProjectLedger()).checkpoint_rows
    options = options._replace(approvals=file.approvals or ProjectApprovals(), budget=budget, checkpoint_rows=rows)
    sensing = None
    if senses and not options.until_idle:
        sensing = Sensing(shop.home, shop.store, shop.registry, defaults, tell)
    trade = Trade(
        office=Office(shop.store, shop.registry, defaults, new_id),
        runner=shop.runner,
        approvals=options.approvals,
        channels=ProjectChannels(file, os.environ, lambda item, text: tell(Line("message", item.task_id, None, text))),
        sensing=sensing,
    )
    hall = Hall(
        store=shop.store,
        workshop=lambda switch, left_s: AttemptWorkshop(shop, switch, left_s),
        salvage=lambda claimed: salvage(shop, claimed),
        held=lambda claimed: paused_by_loop(shop.store, claimed.task),
        chores=Chores(trade),
        tell=tell,
        land=None if shop.yard is None else partial(_land, shop, tell),
        to_land=lambda only: shop.yard is not None and waiting(shop, only),
        full=lambda: disk_is_full(shop.yard),
        close=shop.yard.close if shop.yard is not None else _nothing,
        sign=partial(_sign, shop),
    )
    return Runner(hall, options)


def _land(  # noqa: PLR0913, PLR0917 - who lands, what, and for how long
    shop: Shop,
    tell: Callable[[Line], None],
    hold: Hold,
    runner_id: str,
    only: tuple[TaskId, ...] | None,
    goes_on: Callable[[], bool],
) -> int:
    from keisei.wiring.landing import land_queued  # noqa: PLC0415 - most runners land nothing for hours
    from keisei.wiring.landing_proof import Desk  # noqa: PLC0415 - as above

    return land_queued(Desk(shop, hold, runner_id, tell), only, goes_on)


def _sign(shop: Shop, at_least: int) -> Signed:
    from keisei.wiring.checkpoint import sign_home  # noqa: PLC0415 - signing takes a library that few need

    made = sign_home(shop.home, shop.store, at_least)
    if made is not None:
        return Signed(made.size, "; ".join(made.troubles) or None)
    newest = shop.store.newest_checkpoint()
    return Signed(0 if newest is None else newest.size)


def waiting(shop: Shop, only: tuple[TaskId, ...] | None = None) -> bool:
    """Whether something is queued to land here, or was being landed by somebody who is gone."""
    return bool(open_landings(shop, only))


def open_landings(shop: Shop, only: tuple[TaskId, ...] | None = None) -> list[LandingRecord]:
    """What is queued or being landed, oldest first, of these tasks or of all.

    What another machine's runner has made is not ours: its repository, its evidence and its lock are there.
    """
    open_ones = LandingQuery(statuses=("landing", "queued"), oldest=True, limit=MOST_LANDINGS)
    found = [each for each in shop.store.landings(open_ones) if only is None or each.task_id in only]
    if not found:
        return []
    here = host().partition("/")[0]
    away = {each.runner_id for each in shop.store.runners(gone=True) if each.host.partition("/")[0] != here}
    return [each for each in found if not away or not _is_away(shop, each, away)]


def _is_away(shop: Shop, landing: LandingRecord, away: set[RunnerId]) -> bool:
    attempt = shop.store.attempt(landing.attempt_id)
    if attempt is None or attempt.runner_id not in away:
        return False
    return not shop.evidence.keys(keys_of(attempt.attempt_id, attempt.started_at).folder)


def disk_is_full(yard: Yard | None) -> str | None:
    """Why there is no room for another attempt; None where there is."""
    if yard is None:
        return None
    free, least = free_bytes(yard.home.folder), yard.workspace.min_free_mb
    if free is None or free >= least * MB:
        return None
    asked = f"`[workspace] min-free-mb` asks for {least}; `keisei gc` tells what may go"
    return f"{free // MB} MB are free for `{yard.home.folder}`, and {asked}"


def _nothing() -> None:
    """There is nothing to end."""


def runner_options(runner: ProjectRunner, *, jobs: int | None, once: bool, until_idle: bool) -> Options:
    """How a runner works, from keisei.toml and the command line."""
    return Options(
        jobs=1 if once else jobs or runner.jobs,
        lease_s=runner.lease_s,
        backoff=Backoff(first_s=runner.retry_first_s, cap_s=runner.retry_cap_s),
        event_days=runner.event_days,
        at_most=1 if once else None,
        until_idle=until_idle or once,
    )
