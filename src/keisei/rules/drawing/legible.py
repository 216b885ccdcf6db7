"""Text that every form can hold: what XML, Graphviz and UTF-8 have no place for is replaced, once, before drawing."""

import math
import re
from collections.abc import Iterable, Mapping

from msgspec import structs

from keisei.records.sage import Drawn, Picture, Tie

UNWRITABLE = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 cannot hold, half surrogates and NUL among it, and the controls that it may hold and nobody can see."""
TURNS = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""Marks that change the direction of whatever stands around them."""

JOINERS = "\u200c\u200d"
"""They are part of words and emoji."""


def legible(picture: Picture) -> Picture:
    """The same picture with ids and texts that can be written anywhere. Ids stay unique, ties have both ends."""
    names = _names(dict.fromkeys(each.node.id for each in picture.nodes))
    nodes = {names[each.node.id]: _drawn(each, names[each.node.id]) for each in picture.nodes}
    ties = (_tie(each, names) for each in picture.ties if each.source in names and each.target in names)
    start = names.get(picture.start) or next(iter(nodes), "")
    return structs.replace(picture, start=start, nodes=tuple(nodes.values()), ties=tuple(dict.fromkeys(ties)))


def writable(text: str) -> str:
    """The text with a sign in place of every character that some form cannot hold."""
    return UNWRITABLE.sub("\ufffd", text)


def shown(text: str, longest: int) -> str:
    """One line to look at: never empty, at most `longest` characters, read from left to right."""
    line = " ".join(TURNS.sub("", text[: longest * 4]).split()) or "-"
    seen = "".join(each if each.isprintable() or each in JOINERS else "\ufffd" for each in line[: longest + 1])
    return seen if len(seen) <= longest else seen[: longest - 1].rstrip() + "…"


def _names(ids: Iterable[str]) -> dict[str, str]:
    names: dict[str, str] = {}
    taken: set[str] = set()
    # Ids that need no change keep theirs, whatever stands before them.
    for each in sorted(ids, key=lambda each: writable(each) != each):
        names[each] = _free(writable(each) or "-", taken)
        taken.add(names[each])
    return names


def _free(name: str, taken: set[str]) -> str:
    free, number = name, 1
    while free in taken:
        number += 1
        free = f"{name}~{number}"
    return free


def _drawn(drawn: Drawn, name: str) -> Drawn:
    kind = drawn.node.kind
    node = structs.replace(
        drawn.node, id=name, title=writable(drawn.node.title), kind=None if kind is None else writable(kind)
    )
    return structs.replace(drawn, node=node, rank=drawn.rank if math.isfinite(drawn.rank) else 0.0)


def _tie(tie: Tie, names: Mapping[str, str]) -> Tie:
    return structs.replace(tie, source=names[tie.source], target=names[tie.target])
