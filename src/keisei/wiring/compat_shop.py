"""The shop of a runtime.json, and a runner that takes one of its tasks."""

from collections.abc import Callable

from keisei.engine.ports import Store
from keisei.evidence.file import FileEvidence
from keisei.records.project import ProjectRunner
from keisei.settings import Settings
from keisei.wiring.compat import Runtime
from keisei.wiring.compat_payload import proofs
from keisei.wiring.compat_registry import runtime_registry
from keisei.wiring.fresh import new_id
from keisei.wiring.hall import runner_options, shop_runner
from keisei.wiring.probe import Prober
from keisei.wiring.runner import Line, Runner
from keisei.wiring.shop import Shop, shared_folder


def runtime_shop(settings: Settings, runtime: Runtime, store: Store) -> Shop:
    """What attempts of this configuration share."""
    return Shop(
        home=runtime.home,
        store=store,
        registry=lambda: runtime_registry(settings, runtime, store),
        evidence=FileEvidence(runtime.home.evidence),
        probe=Prober(),
        new_id=new_id,
        runner=runtime.home.file.runner or ProjectRunner(),
        artifact_folder=lambda task: shared_folder(runtime.artifacts, task) or runtime.artifacts,
        name=runtime.home.name,
        state=runtime.state,
        proofs=lambda task: proofs(task.payload),
    )


def runtime_runner(settings: Settings, runtime: Runtime, store: Store, tell: Callable[[Line], None]) -> Runner:
    """A runner that takes one task: due schedules first, then workflows, then the claim."""
    shop = runtime_shop(settings, runtime, store)
    options = runner_options(shop.runner, jobs=1, once=True, until_idle=True)
    return shop_runner(shop, options, tell)
