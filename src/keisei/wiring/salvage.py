"""Salvage: what an attempt leaves in its run folder is kept or removed, also where its runner is dead."""

import hashlib
import shutil
from contextlib import suppress
from typing import Final

from keisei.records.attempt import TaskAttempt
from keisei.records.error import KeiseiError
from keisei.records.move import Claimed
from keisei.rules.evidence import keys_of
from keisei.sandbox.tree import end_marked
from keisei.wiring.shop import Shop

STREAMS: Final = ("stdout.log", "stderr.log")


def mark_of(attempt: TaskAttempt) -> str:
    """The word in the environment of an attempt's tree, by which anybody finds it."""
    return hashlib.sha256(f"keisei attempt {attempt.attempt_id}".encode()).hexdigest()[:32]


def clear(shop: Shop, claimed: Claimed) -> None:
    """Remove an attempt's run folder. Never raises."""
    shutil.rmtree(shop.home.run / claimed.attempt.attempt_id, ignore_errors=True)


def salvage(shop: Shop, claimed: Claimed) -> None:
    """End what is left of an attempt whose runner is gone, and keep what it had written. Never raises."""
    folder = shop.home.run / claimed.attempt.attempt_id
    if not folder.is_dir():
        return
    end_marked(mark_of(claimed.attempt))
    keys = keys_of(claimed.attempt.attempt_id, claimed.attempt.started_at)
    for name in STREAMS:
        if (folder / name).is_file():
            with suppress(KeiseiError):
                shop.evidence.put_file(keys.of(name), folder / name)
    clear(shop, claimed)
