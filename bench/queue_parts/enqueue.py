"""Many at once are cheap: tasks queued in one commit against tasks queued one by one."""

import time
from typing import Any

from place import Ground
from work import fresh


def measure(ground: Ground, kind: str, single: int, bulk: int) -> dict[str, Any]:
    """Tasks a second, one by one and in one commit."""
    with ground.place(kind) as place:
        store = place.open()
        ones, many = [fresh(store) for _ in range(single)], [fresh(store) for _ in range(bulk)]
        started = time.monotonic()
        for each in ones:
            store.enqueue([each])
        between = time.monotonic()
        store.enqueue(many)
        ended = time.monotonic()
        assert store.claimable() == single + bulk
        store.close()
    return {"single": single / (between - started), "bulk": bulk / (ended - between)}
