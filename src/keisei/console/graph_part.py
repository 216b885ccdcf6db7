"""What of a picture is in sight: not what only hubs lead to, only some kinds, and never too many. Pure."""

from collections.abc import Collection, Iterable, Mapping
from typing import Final, NamedTuple

from msgspec.structs import replace

from keisei.records.sage import Drawn, NodeKind, Picture, Tie

HUB: Final = 12
"""What has more neighbours in a picture is a hub: everything is two steps from everything by it."""


class Part(NamedTuple):
    """A part of a picture."""

    picture: Picture
    """What is in sight; `left_out` tells how many were too many."""
    hubs: frozenset[str]
    """Hubs in sight, the start aside."""
    behind: int
    """How many are near enough by hubs only, and so are not in sight."""


def in_sight(picture: Picture, depth: int, *, kinds: Collection[NodeKind], through_hubs: bool, most: int) -> Part:
    """The part that is seen. The start always is."""
    near = _near(picture.ties)
    hubs = {name for name, others in near.items() if len(others) > HUB} - {picture.start}
    depths = _walked(picture.start, near, frozenset() if through_hubs else hubs, depth)
    reached = [replace(each, depth=depths[each.node.id]) for each in picture.nodes if each.node.id in depths]
    wanted = [each for each in reached if not kinds or each.node.node in kinds or each.node.id == picture.start]
    seen = sorted(wanted, key=_order)[:most]
    names = {each.node.id for each in seen}
    part = Picture(
        start=picture.start,
        nodes=tuple(seen),
        ties=tuple(each for each in picture.ties if each.source in names and each.target in names),
        left_out=picture.left_out + len(wanted) - len(seen),
    )
    return Part(part, frozenset(hubs & names), len(picture.nodes) - len(reached))


def _order(drawn: Drawn) -> tuple[int, str]:
    return drawn.depth, drawn.node.id


def _near(ties: Iterable[Tie]) -> dict[str, set[str]]:
    near: dict[str, set[str]] = {}
    for tie in ties:
        if tie.source != tie.target:
            near.setdefault(tie.source, set()).add(tie.target)
            near.setdefault(tie.target, set()).add(tie.source)
    return near


def _walked(start: str, near: Mapping[str, set[str]], ends: Collection[str], depth: int) -> dict[str, int]:
    """How many steps away everything is that so many steps reach, where nobody walks on from the ends."""
    depths, ring = {start: 0}, [start]
    for step in range(1, depth + 1):
        following = {other for name in ring if name not in ends for other in near.get(name, ())} - depths.keys()
        depths.update(dict.fromkeys(following, step))
        ring = list(following)
    return depths
