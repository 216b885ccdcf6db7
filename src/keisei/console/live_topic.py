"""Topics: what pages follow, and which of them an event is about."""

from collections.abc import Iterable
from typing import Final
from urllib.parse import quote

from keisei.records.event import RuntimeEvent

EVERYTHING: Final = "*"
"""The topic that every page follows."""
LIBRARY: Final = "library"
"""Authored files."""
SILENT: Final = ("attempts", "ledger", "runners", LIBRARY)
"""What moves without an event too: nothing kept tells whoever comes again that it did."""
PREFIXES: Final = {
    "approval_": ("approvals",),
    "budget_": ("approvals",),
    "delivery_": ("outbox",),
    "dispatch_": ("runners",),
    "boot_sweep_": ("runners",),
    "landing_": ("landings", "approvals"),
    "library_": (LIBRARY,),
    "loop_": ("approvals", "runners"),
    "schedule_": ("schedules",),
    "sensor_": ("sensors",),
    "workflow_": ("workflows",),
    "operator_": ("runners", "ledger", "approvals"),
}
"""Topics beside those of its task and attempt that an event is about, by how its name begins."""
NOUNS: Final = tuple(sorted({"tasks", "events", *SILENT, *(topic for topics in PREFIXES.values() for topic in topics)}))
ALL: Final = frozenset({EVERYTHING, *NOUNS})
"""What is told to whoever has to look at everything."""


def topic(noun: str, key: str) -> str:
    """The topic of one thing, as pages name it: spaces part topics there."""
    return f"{noun}:{quote(key, safe='/', errors='replace')}"


def topics_of(events: Iterable[RuntimeEvent]) -> set[str]:
    """What has something new by these events."""
    found: set[str] = set()
    for event in events:
        found.add("events")
        found.update(
            topic for begins, topics in PREFIXES.items() if event.event_type.startswith(begins) for topic in topics
        )
        if event.task_id is not None:
            found |= {"tasks", topic("task", event.task_id)}
        if event.attempt_id is not None:
            found |= {"attempts", topic("attempt", event.attempt_id)}
    return found
