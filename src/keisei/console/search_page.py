"""Pages of the console that somebody may look for by a word. Pure."""

from typing import Final, NamedTuple

MOST: Final = 6
"""Pages that are told for one text."""


class Place(NamedTuple):
    """A page without parameters."""

    path: str
    title: str
    words: str
    """What people may call it, and what it tells."""


PLACES: Final = (
    Place("/", "Home", "overview start budget spend running isolation"),
    Place("/tasks", "Tasks", "queue jobs work list"),
    Place("/tasks/new", "New task", "create queue add run"),
    Place("/attempts", "Attempts", "runs output evidence"),
    Place("/approvals", "Needs you", "approvals approve questions waiting decisions"),
    Place("/landings", "Landings", "merge main queue branch"),
    Place("/events", "Events", "log history happened"),
    Place("/workflows", "Workflows", "states"),
    Place("/schedules", "Schedules", "cron slots missed timer"),
    Place("/sensors", "Sensors", "webhooks triggers"),
    Place("/atoms", "Atoms", "functions tools commands"),
    Place("/graph", "Graph", "links related rank map"),
    Place("/pipes", "Pipes", "plan compose runs"),
    Place("/forge", "Forge", "make create new atom wizard"),
    Place("/roles", "Roles", "matrix permissions rights"),
    Place("/capabilities", "Capabilities", "rules gate verify policy"),
    Place("/agents", "Agents", "identity constitution soul"),
    Place("/ledger", "Ledger", "audit chain verify seal"),
    Place("/adapters", "Adapters", "harness models probe"),
    Place("/runners", "Runners", "heartbeat pause resume drain"),
    Place("/settings", "Settings", "configuration keisei.toml options"),
)


def places(text: str) -> list[Place]:
    """Pages that know every word of the text, by its beginning; the better ones, by title, first."""
    words = text.casefold().split()
    if not words:
        return []
    found = [each for each in PLACES if _knows(f"{each.title} {each.words}", words)]
    return sorted(found, key=lambda each: not _knows(each.title, words))[:MOST]


def _knows(text: str, words: list[str]) -> bool:
    there = text.casefold().split()
    return all(any(each.startswith(word) for each in there) for word in words)
