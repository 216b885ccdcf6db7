"""Differences: the operations of RFC 6902 that lead from one value to another."""

from collections.abc import Iterator

from kei_json.canonical import canonical
from kei_json.context import Data
from kei_json.pointer import pointer
from kei_json.value import Json, same

Keys = tuple[str | int, ...]
MOST_PAIRS = 250_000
"""Values of one list times values of the other: above that they are compared place by place."""


def operations(one: Json, two: Json, at: Keys = ()) -> Iterator[Data]:
    """Removals, changes and additions, in an order in which they can be applied."""
    if isinstance(one, dict) and isinstance(two, dict):
        yield from _of_objects(one, two, at)
    elif isinstance(one, list) and isinstance(two, list):
        yield from _of_lists(one, two, at)
    elif not same(one, two):
        yield {"op": "replace", "path": pointer([*at]), "value": two}


def _of_objects(one: dict[str, Json], two: dict[str, Json], at: Keys) -> Iterator[Data]:
    for key in sorted(one.keys() - two.keys()):
        yield {"op": "remove", "path": pointer([*at, key])}
    for key in sorted(one.keys() & two.keys()):
        yield from operations(one[key], two[key], (*at, key))
    for key in sorted(two.keys() - one.keys()):
        yield {"op": "add", "path": pointer([*at, key]), "value": two[key]}


def _of_lists(one: list[Json], two: list[Json], at: Keys) -> Iterator[Data]:
    """Between values that both have, in order: paired ones are compared, what is left over goes or comes."""
    here, there, shift = 0, 0, 0
    for kept, also in [*_common(one, two), (len(one), len(two))]:
        paired = min(kept - here, also - there)
        for step in range(paired):
            yield from operations(one[here + step], two[there + step], (*at, here + step + shift))
        place = here + paired + shift
        for _ in range(kept - here - paired):
            yield {"op": "remove", "path": pointer([*at, place])}
        for step, value in enumerate(two[there + paired : also]):
            yield {"op": "add", "path": pointer([*at, place + step]), "value": value}
        here, there, shift = kept + 1, also + 1, also - kept


def _common(one: list[Json], two: list[Json]) -> list[tuple[int, int]]:
    """Places of values that both lists have, in order: as many as can be."""
    a, b = [canonical(value) for value in one], [canonical(value) for value in two]
    head = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
    rest = zip(reversed(a[head:]), reversed(b[head:]), strict=False)
    tail = next((i for i, (x, y) in enumerate(rest) if x != y), min(len(a), len(b)) - head)
    middle = _longest(a[head : len(a) - tail], b[head : len(b) - tail])
    return [
        *((i, i) for i in range(head)),
        *((i + head, j + head) for i, j in middle),
        *((len(a) - i, len(b) - i) for i in range(tail, 0, -1)),
    ]


def _longest(a: list[str], b: list[str]) -> list[tuple[int, int]]:
    """The longest common part of two lists, by the table every textbook has."""
    if len(a) * len(b) > MOST_PAIRS:
        return []
    table = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i in range(len(a) - 1, -1, -1):
        for j in range(len(b) - 1, -1, -1):
            table[i][j] = table[i + 1][j + 1] + 1 if a[i] == b[j] else max(table[i + 1][j], table[i][j + 1])
    found, i, j = list[tuple[int, int]](), 0, 0
    while i < len(a) and j < len(b):
        if a[i] == b[j]:
            found.append((i, j))
            i, j = i + 1, j + 1
        elif table[i + 1][j] >= table[i][j + 1]:
            i += 1
        else:
            j += 1
    return found
