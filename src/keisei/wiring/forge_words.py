"""Effects in plain words: what the runtime will do with an atom because of its kind and what it declares."""

from collections.abc import Iterable, Sequence
from typing import Final

from keisei.records.atom import AtomManifest
from keisei.rules.atom_effect import EXCLUSIVE, conflict, may_cache, may_retry, may_retry_code, only_reads
from keisei.wiring.atom_profile import touched
from keisei.wiring.forge_result import Sentence

NAMED: Final = 4
"""Atoms that a sentence names."""


def neighbours(manifest: AtomManifest, others: Iterable[AtomManifest]) -> list[str]:
    """The atoms it never runs beside, by id, itself left out."""
    return sorted(each.atom for each in others if each.atom != manifest.atom and conflict(manifest, each))


def in_words(manifest: AtomManifest, apart: Sequence[str]) -> tuple[Sentence, ...]:
    """A sentence for each thing that follows. `apart` are its neighbours."""
    return (
        Sentence(topic="parallel", text=_parallel(manifest, apart)),
        Sentence(topic="retry", text=_retry(manifest)),
        Sentence(topic="cache", text=_cache(manifest)),
        Sentence(topic="reach", text=_reach(manifest)),
    )


def _parallel(manifest: AtomManifest, apart: Sequence[str]) -> str:
    shared = conflict(manifest, manifest)
    if EXCLUSIVE in shared:
        return "never runs beside anything: an effect of the sort `other` says nothing of itself"
    itself = f"two calls of it never overlap: both change `{', '.join(shared)}`" if shared else "may run beside itself"
    if not apart:
        return f"may run beside every other atom there is; {itself}"
    more = f" and {len(apart) - NAMED} more" if len(apart) > NAMED else ""
    return f"never runs beside {', '.join(apart[:NAMED])}{more}; {itself}"


def _retry(manifest: AtomManifest) -> str:
    if not may_retry(manifest):
        return f"is never retried: it is a {manifest.kind} that is not idempotent"
    why = "it changes nothing" if only_reads(manifest) else "it says that doing it twice is doing it once"
    final = [each.code for each in manifest.errors if not may_retry_code(manifest, each.code)]
    but = f", but not after {', '.join(final)}" if final else ""
    return f"is retried by itself after a failure: {why}{but}"


def _cache(manifest: AtomManifest) -> str:
    if may_cache(manifest):
        return "its result is cached: the same input is not computed again"
    return "its result is not cached: only that of a transform without effects is"


def _reach(manifest: AtomManifest) -> str:
    touch = touched(manifest)
    opened = [
        *(["write the working folder"] if touch.writes else ["read the working folder"] if touch.reads else []),
        *(["use the network"] if touch.network else []),
        *(["start programs"] if touch.starts else []),
    ]
    if not opened:
        return "in the sandbox it may touch nothing but its own code, its package's database and a private folder"
    return f"in the sandbox it may {', '.join(opened)}, and nothing else beyond its package"
