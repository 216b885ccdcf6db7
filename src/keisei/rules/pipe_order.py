"""The order of a pipe: what a step needs, what its effects make it wait for, and what may run beside it."""

from collections.abc import Iterator, Mapping, Sequence
from heapq import heapify, heappop, heappush
from typing import NamedTuple

from keisei.records.atom import AtomManifest
from keisei.rules.atom_effect import EXCLUSIVE, domain_root

Edges = Sequence[set[int]]
"""For each step the steps it waits for."""


class Wait(NamedTuple):
    """A step that waits for another only because of their effects."""

    later: int
    earlier: int
    domain: str
    """Where they meet; `other` where one of them says nothing of its effect."""


def ordered(needs: Edges) -> list[int]:
    """Positions, so that what a step needs stands before it; ties as in the file. Steps of a circle are left out."""
    left = [len(each) for each in needs]
    waiting: list[list[int]] = [[] for _ in needs]
    for position, each in enumerate(needs):
        for need in each:
            waiting[need].append(position)
    free = [position for position, count in enumerate(left) if not count]
    heapify(free)
    order: list[int] = []
    while free:
        position = heappop(free)
        order.append(position)
        for other in waiting[position]:
            left[other] -= 1
            if not left[other]:
                heappush(free, other)
    return order


def circles(needs: Edges) -> Iterator[list[int]]:
    """Circles, each a way from a step back to itself along its needs. Every step on one is told at most once."""
    stuck = set(range(len(needs))) - set(ordered(needs))
    told: set[int] = set()
    for start in sorted(stuck):
        way: list[int] = []
        place: dict[int, int] = {}
        here = start
        while here not in place and here not in told:
            place[here] = len(way)
            way.append(here)
            here = min(need for need in needs[here] if need in stuck)
        if here not in told:
            yield way[place[here] :]
        told.update(way)


def waits(order: Sequence[int], manifests: Mapping[int, AtomManifest]) -> Iterator[Wait]:
    """Who waits for whom because of effects. Who comes first in `order` goes first, so nobody waits in a circle.

    Only neighbours are told: a third writer waits for the second, which waits for the first.
    """
    domains: dict[str, _Domain] = {}
    barrier: int | None = None
    since: list[int] = []
    for position in order:
        effects = manifests[position].side_effects
        if barrier is not None:
            yield Wait(position, barrier, EXCLUSIVE)
        if any(effect.op == EXCLUSIVE for effect in effects):
            yield from (Wait(position, earlier, EXCLUSIVE) for earlier in since)
            barrier, since, domains = position, [], {}
            continue
        since.append(position)
        changes: dict[str, bool] = {}
        for effect in effects:
            root = domain_root(effect)
            changes[root] = changes.get(root, False) or effect.op != "read"
        for domain, is_change in changes.items():
            for earlier in domains.setdefault(domain, _Domain()).meet(position, is_change=is_change):
                yield Wait(position, earlier, domain)


class _Domain:
    """Who touched one domain last."""

    def __init__(self) -> None:
        self._writer: int | None = None
        self._readers: list[int] = []

    def meet(self, position: int, *, is_change: bool) -> list[int]:
        """Whom this step waits for here."""
        writer = [] if self._writer is None else [self._writer]
        if not is_change:
            self._readers.append(position)
            return writer
        found = self._readers or writer
        self._writer, self._readers = position, []
        return found


def before(order: Sequence[int], edges: Edges) -> list[int]:
    """For each step everything that ends before it starts, as the bits of a number."""
    found = [0] * len(edges)
    for position in order:
        for earlier in edges[position]:
            found[position] |= found[earlier] | (1 << earlier)
    return found


def behind(order: Sequence[int], edges: Edges) -> list[int]:
    """For each step everything that starts after it ended, as the bits of a number."""
    found = [0] * len(edges)
    for position in reversed(order):
        for earlier in edges[position]:
            found[earlier] |= found[position] | (1 << position)
    return found


def bits(number: int, most: int) -> list[int]:
    """The lowest bits that are set, at most so many."""
    found: list[int] = []
    while number and len(found) < most:
        lowest = number & -number
        found.append(lowest.bit_length() - 1)
        number ^= lowest
    return found


def leads_elsewhere(consumer: int, stream: int, edges: Edges) -> bool:
    """Whether the consumer also waits for something that waits for the stream: then they cannot run side by side."""
    pending = [each for each in edges[consumer] if each != stream]
    seen = set(pending)
    while pending:
        here = pending.pop()
        if stream in edges[here]:
            return True
        pending += edges[here] - seen
        seen |= edges[here]
    return False
