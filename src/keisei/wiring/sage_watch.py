"""Following changes: the index is brought up to date when a file of the corpus changes, and told what changed."""

import threading
from collections.abc import Iterator
from typing import Final

from keisei.wiring.sage import Sage
from keisei.wiring.sage_refresh import Refreshed

SETTLED_MS: Final = 60
"""Changes that come closer than this are one; also how long a file counts as young, which is then over."""
STEP_MS: Final = 30
LOOK_MS: Final = 5000
"""How often everything is looked at, whatever the system tells: it may watch less than it is asked to."""
SLOW_S: Final = 1.0
"""How often, where it watches nothing at all."""
PASSING: Final = (".pyc", "~", ".swp", ".swx", ".tmp")
"""Endings of files that editors and interpreters make beside authored ones."""
MANY: Final = 200
"""Paths of one moment that are looked at one by one; with more, everything is."""


def followed(sage: Sage, stop: threading.Event) -> Iterator[Refreshed]:
    """First the index brought up to date, then every change of it, until `stop` is set. Raises WorldFault."""
    yield sage.refresh()
    while not stop.is_set():
        folders = sage.watched()
        for paths in _changes(folders, stop):
            done = sage.refresh(sorted(paths) if 0 < len(paths) <= MANY else None)
            if done.changed or done.gone:
                yield done
            if sage.watched() != folders:
                break


def _changes(folders: list[str], stop: threading.Event) -> Iterator[set[str]]:
    """Paths that changed, moment by moment; none where nothing did for a while, or where nothing can be watched."""
    from watchfiles import watch  # noqa: PLC0415 - only who watches pays for it

    if not folders:
        stop.wait(SLOW_S)
        yield set()
        return
    try:
        for found in watch(
            *folders,
            watch_filter=lambda _change, path: not (path.endswith(PASSING) or "/__pycache__/" in path),
            debounce=2 * SETTLED_MS,
            step=STEP_MS,
            stop_event=stop,
            rust_timeout=LOOK_MS,
            yield_on_timeout=True,
            raise_interrupt=True,
            ignore_permission_denied=True,
        ):
            stop.wait(SETTLED_MS / 1000)
            yield {path for _, path in found}
    except (OSError, RuntimeError, UnicodeError):  # a folder that went, no watches left, a name that is no text
        stop.wait(SLOW_S)
        yield set()
