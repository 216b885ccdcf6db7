"""Salvage: what an attempt leaves in its run folder is kept or removed, also where its runner is dead."""

import hashlib
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from keisei.records.attempt import TaskAttempt
from keisei.records.error import KeiseiError
from keisei.records.move import Claimed
from keisei.rules.evidence import keys_of
from keisei.rules.redact import Redactor
from keisei.rules.refusal import Refusals, refusals
from keisei.sandbox.group import clear_groups
from keisei.sandbox.tree import end_marked
from keisei.wiring.returned import RETURNED, decisions_of
from keisei.wiring.shop import GROWING, Shop
from keisei.wiring.site import find_leased, give_back, remove_folder, run_folder


def mark_of(attempt: TaskAttempt) -> str:
    """The word in the environment of an attempt's tree, by which anybody finds it."""
    return hashlib.sha256(f"keisei attempt {attempt.attempt_id}".encode()).hexdigest()[:32]


def clear(shop: Shop, claimed: Claimed) -> None:
    """Give back an attempt's worktree, its content kept, and remove its run folder. Never raises.

    What another process has left is not trusted to be clean: that worktree is made anew.
    """
    leased = find_leased(shop, claimed)
    if leased is not None:
        give_back(leased, claimed, kept=has_candidate(shop, claimed), reusable=False)
    remove_folder(run_folder(shop, claimed))


def has_candidate(shop: Shop, claimed: Claimed) -> bool:
    """Whether everything the attempt did is kept as its candidate."""
    keys = keys_of(claimed.attempt.attempt_id, claimed.attempt.started_at)
    return shop.evidence.get(keys.of(RETURNED)) is not None


def salvage(shop: Shop, claimed: Claimed) -> Refusals | None:
    """End what is left of an attempt whose runner is gone, and keep what it had written. Never raises.

    What its gate had refused, as far as its log is whole; None where it had refused nothing.
    """
    folder = run_folder(shop, claimed)
    end_marked(mark_of(claimed.attempt))
    clear_groups()
    keys = keys_of(claimed.attempt.attempt_id, claimed.attempt.started_at)
    for name in GROWING:
        if (folder / name).is_file():
            with suppress(KeiseiError):
                shop.evidence.put_file(keys.of(name), folder / name)
    refused = refused_in(folder)
    clear(shop, claimed)
    return refused


def refused_in(folder: Path, secrets: Iterable[str] = ()) -> Refusals | None:
    """What the gate refused by the log in an attempt's folder, without secrets; None where nothing was. Never raises.

    The gate has taken the secrets of the attempt's environment out of it already; `secrets` are those it did not know.
    """
    try:
        return refusals(decisions_of(folder)[0], Redactor(secrets))
    except (OSError, ValueError):  # the folder is gone, or a line is no decision
        return None
