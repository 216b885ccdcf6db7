"""The hall: a runner with everything it works with, for one project."""

from collections.abc import Callable
from pathlib import Path

from keisei.engine.ports import Store
from keisei.evidence.file import FileEvidence
from keisei.records.project import ProjectRunner
from keisei.rules.retry import Backoff
from keisei.settings import Settings
from keisei.wiring import catalog
from keisei.wiring.fresh import new_id
from keisei.wiring.probe import Prober
from keisei.wiring.registry import CatalogRegistry, defaults_of
from keisei.wiring.runner import Hall, Line, Options, Runner
from keisei.wiring.salvage import salvage
from keisei.wiring.shop import Shop
from keisei.wiring.store import Home
from keisei.wiring.warm import warm
from keisei.wiring.workshop import AttemptWorkshop


def project_shop(settings: Settings, home: Home, store: Store, kit_root: Path | None = None) -> Shop:
    """What attempts of this project share."""
    start = home.root or Path.cwd()
    return Shop(
        home=home,
        store=store,
        registry=lambda: CatalogRegistry(catalog(settings, kit_root=kit_root, start=start)),
        evidence=FileEvidence(home.evidence),
        probe=Prober(),
        new_id=new_id,
        runner=home.file.runner or ProjectRunner(),
        artifact_folder=lambda task_id: home.artifacts / task_id,
        name=home.name,
    )


def shop_runner(shop: Shop, options: Options, tell: Callable[[Line], None]) -> Runner:
    """A runner of a shop."""
    warm()
    hall = Hall(
        store=shop.store,
        workshop=lambda switch, left_s: AttemptWorkshop(shop, switch, left_s),
        salvage=lambda claimed: salvage(shop, claimed),
        registry=shop.registry,
        defaults=defaults_of(shop.home),
        tell=tell,
    )
    return Runner(hall, options)


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
