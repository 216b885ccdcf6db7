"""Pinning: an agent runs under the constitution that was accepted, and ends under the one it began with."""

from typing import TYPE_CHECKING

from keisei.engine.ports import Ledger
from keisei.records.bundle import BundleConstitution, BundleRecord
from keisei.records.error import KeiseiError, Refused, WorldFault
from keisei.wiring.constitution import acceptance

if TYPE_CHECKING:
    from keisei.wiring.registry import CatalogRegistry


def check_accepted(ledger: Ledger, bundle: BundleRecord) -> None:
    """Raise Refused where an operator has accepted a constitution of the agent and its files say something else.

    An agent of which nothing was accepted runs as its files are.
    """
    agent = bundle.agent_id
    known = acceptance(ledger, agent) if agent is not None else None
    if agent is None or known is None:
        return
    accepted = BundleConstitution(soul_hash=known.soul_sha256, purpose_hash=known.purpose_sha256)
    changed = _changed(accepted, bundle.constitution)
    if changed:
        message = f"the constitution of agent `{agent}` is not the one that was accepted: {' and '.join(changed)}"
        hint = f"read `keisei constitution diff {agent}`, then `keisei constitution accept {agent}` or put it back"
        raise Refused(message, hint)


def drift_of(registry: "CatalogRegistry", bundle: BundleRecord | None) -> tuple[str, ...] | None:
    """How an agent's constitution differs from what its bundle has pinned, in words; None where nothing is pinned.

    Raises WorldFault, which may pass, where a paper is being written.
    """
    if bundle is None or bundle.agent_id is None:
        return None
    try:
        papers = registry.material.carried(bundle.agent_id)
    except WorldFault:
        raise
    except KeiseiError as error:
        return (f"the constitution of agent `{bundle.agent_id}` cannot be read any more: {error.message}",)
    now = None
    if papers is not None:
        now = BundleConstitution(soul_hash=papers.record.soul_hash, purpose_hash=papers.record.purpose_hash)
    return tuple(f"{each}, while the attempt ran" for each in _changed(bundle.constitution, now))


def _changed(was: BundleConstitution | None, now: BundleConstitution | None) -> tuple[str, ...]:
    if was is None or now is None:
        return () if was is now else ("it was taken away" if now is None else "it was written",)
    names = {"SOUL.md": (was.soul_hash, now.soul_hash), "PURPOSE.md": (was.purpose_hash, now.purpose_hash)}
    return tuple(f"{name} has changed" for name, (before, after) in names.items() if before != after)
