"""From here to there: copies, moves and links, with the names the sources get in a folder."""

from typing import NamedTuple

from keisei.rules.shell.target.call import Call
from keisei.rules.shell.target.page import Page, Shape
from keisei.rules.shell.target.path import base, slashed, told
from keisei.rules.shell.target.plain import make
from keisei.rules.shell.target.spot import TREE, Spot


class _Way(NamedTuple):
    sources: tuple[str, ...]
    goal: str
    names: tuple[str, ...]
    whole: bool
    """Something of the sources has no name of its own: the goal itself is filled."""

    def link_name(self, source: str, *, into: bool) -> str:
        return told(slashed(self.goal, base(source)) if into else self.goal)


def _way(call: Call, *, parents: bool = False) -> _Way | None:
    """Sources, goal and the names the sources get in it; None where the words do not say a goal."""
    goal = call.value("t")
    sources = call.files if goal is not None else call.files[:-1]
    if goal is None:
        goal = call.files[-1] if len(call.files) > 1 else None
    if not goal or not sources:
        return None
    names = () if call.has("T") else tuple(each.lstrip("/") if parents else base(each) for each in sources)
    return _Way(sources, goal, tuple(filter(None, names)), not all(names))


def _into(call: Call, way: _Way) -> bool:
    """Whether the goal surely is a folder."""
    return call.has("t") or len(way.sources) > 1 or way.goal.endswith("/")


def _copy(call: Call, page: Page) -> None:
    way = _way(call, parents=call.has("parents"))
    if way is None:
        return
    linking = call.has("l", "s")
    page.write(way.goal, Spot("", entry=linking, names=way.names, tree=call.tree))
    if way.whole and way.names:
        page.write(way.goal, TREE)
    for source in way.sources:
        if linking:
            page.links.append((source, way.link_name(source, into=_into(call, way)), call.has("s")))
        else:
            page.read(source, tree=call.tree)


def _move(call: Call, page: Page) -> None:
    way = _way(call)
    if way is None or (call.grammar.still and call.any_of(call.grammar.still)):
        return
    page.write(way.goal, Spot("", names=way.names))
    for source in way.sources:
        page.delete(source, tree=True)


def _link(call: Call, page: Page) -> None:
    way = _way(call)
    if way is None and len(call.files) == 1:
        way = _Way(call.files, base(call.files[0]), (), whole=False)
    if way is None or not way.goal:
        return
    page.write(way.goal, Spot("", entry=True, names=way.names))
    for source in way.sources:
        page.links.append((source, way.link_name(source, into=_into(call, way)), call.has("s")))


def _install(call: Call, page: Page) -> None:
    if call.has("d"):
        make(call, page)
    else:
        _copy(call, page)


SHAPES: dict[str, Shape] = {
    "copy": _copy,
    "move": _move,
    "link": _link,
    "install": _install,
}
"""How sources and goals are read, by the name the tables use."""
