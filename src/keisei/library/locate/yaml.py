"""YAML positions, read from the marks of PyYAML's events.

Events and not `yaml.compose`: the C composer recurses without a limit and takes the interpreter down with it on deep
text, and a composed alias has forgotten where it stood.
"""

from collections.abc import Callable

import yaml

from keisei.library.locate import Growth, Position, Positions, position_at

LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

# ryaml refuses text deeper than 128, so no accepted text is cut off here. PyYAML's time grows with depth times length.
MAX_DEPTH = 256


def positions(text: str) -> Positions:
    """Return the positions of a text with one document that `ryaml.loads` accepts.

    A key is named as it is written, `0x10` and `~` too. A path through an alias ends where the alias stands, so
    cycles and repeated anchors cost nothing; a key that is a list or a mapping has no path. Never raises: text that
    PyYAML refuses, or that nests deeper than MAX_DEPTH, has no positions.
    """
    try:
        return _grow(text).root.positions(text)
    except (yaml.YAMLError, UnicodeError, _TooDeepError):
        return Positions(keys={}, values={})


def first_duplicate(text: str) -> Position | None:
    """Return where a mapping writes one of its keys for the second time, or None. Never raises."""
    return _noted(text, lambda growth: growth.repeated)


def first_compound_key(text: str) -> Position | None:
    """Return where a key stands that is itself a list or a mapping, or None. Never raises."""
    return _noted(text, lambda growth: growth.compound)


def _noted(text: str, offset_of: Callable[[Growth], int | None]) -> Position | None:
    try:
        offset = offset_of(_grow(text))
    except (yaml.YAMLError, UnicodeError, _TooDeepError):
        return None
    return None if offset is None else position_at(text, offset)


class _TooDeepError(Exception):
    """The text nests deeper than MAX_DEPTH."""


def _grow(text: str) -> Growth:
    growth = Growth()
    names: dict[str, str] = {}
    for event in yaml.parse(text, LOADER):
        _take(growth, names, event)
        if growth.depth > MAX_DEPTH:
            raise _TooDeepError
    return growth


def _take(growth: Growth, names: dict[str, str], event: yaml.Event) -> None:
    if isinstance(event, yaml.CollectionStartEvent):
        growth.open(_offset(event), is_list=isinstance(event, yaml.SequenceStartEvent))
    elif isinstance(event, yaml.CollectionEndEvent):
        growth.close()
    elif isinstance(event, yaml.NodeEvent):
        _take_leaf(growth, _name(names, event), _offset(event))


def _take_leaf(growth: Growth, name: str, offset: int) -> None:
    if growth.expects_key:
        growth.key(name, offset)
    else:
        growth.scalar(offset)


def _offset(event: yaml.Event) -> int:
    return event.start_mark.index if event.start_mark else 0


def _name(names: dict[str, str], event: yaml.NodeEvent) -> str:
    """Return what the scalar is called as a key; an alias is called as what it repeats."""
    if not isinstance(event, yaml.ScalarEvent):
        return names.get(str(event.anchor), f"*{event.anchor}")
    if event.anchor is not None:
        names[event.anchor] = event.value
    return event.value
