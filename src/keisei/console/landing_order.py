"""What is said to a landing and needs more than its row: a task that takes over, a commit that takes it back."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from keisei.console.premises import Premises
from keisei.console.slow import slowly
from keisei.engine.land import reject
from keisei.records.id import TaskId
from keisei.records.landing import LandingRecord
from keisei.wiring.shop import Shop

PATIENCE_S: Final = 5.0
"""How long a revert waits for whoever lands just now; who reads pages waits for neither."""


def turn_down(
    premises: Premises, landing: LandingRecord, reason: str, actor: str, *, respawns: bool
) -> tuple[LandingRecord, TaskId | None]:
    """Reject it; the task that takes over where one shall. One that was rejected before is given one too, once."""
    if landing.status != "rejected" or not respawns:
        landing = reject(premises.store, landing.landing_id, reason, actor)
    if not respawns:
        return landing, None
    from keisei.wiring.landing_revert import respawn  # noqa: PLC0415 - brings all that verifies; few orders need it

    with _shop(premises) as shop:
        return landing, respawn(shop, landing.landing_id, actor)


def revert_it(premises: Premises, landing: LandingRecord, reason: str, actor: str) -> LandingRecord:
    """Take back what has landed. Raises Refused where that cannot be; whoever lands just now is waited for a little."""
    from keisei.wiring.landing_revert import check_landed, revert  # noqa: PLC0415 - as above

    check_landed(landing)
    with slowly(premises, f"the revert of landing {landing.landing_id}"), _shop(premises) as shop:
        return revert(shop, landing.landing_id, reason, actor, patience_s=PATIENCE_S)


@contextmanager
def _shop(premises: Premises) -> Iterator[Shop]:
    from keisei.wiring.hall import project_shop  # noqa: PLC0415 - as above

    shop = project_shop(premises.settings, premises.home, premises.store, premises.kit_root)
    try:
        yield shop
    finally:
        if shop.yard is not None:
            shop.yard.close()
