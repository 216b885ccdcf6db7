"""YAML texts, as JSON: one document, the core schema of YAML 1.2, no tags, nothing constructed.

It is built from the parser's events and not by a loader: `no` is a text and `12:30` no number of seconds, a key that
stands twice is told, and what anchors multiply is counted before it is there.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

import yaml

from kei_json.context import Context
from kei_json.notation import LONGEST_NUMBER, malformed
from kei_json.value import VALUE, Json, Size, check_size, shown

LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
NULLS, TRUES, FALSES = ("", "~", "null", "Null", "NULL"), ("true", "True", "TRUE"), ("false", "False", "FALSE")
WORDS = dict.fromkeys(NULLS) | dict.fromkeys(TRUES, True) | dict.fromkeys(FALSES, False)
INTEGER = re.compile(r"[-+]?[0-9]+", re.ASCII)
OTHER_BASE = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+", re.ASCII)
FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", re.ASCII)
NO_NUMBER = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)", re.ASCII)


class Known(NamedTuple):
    """A value with a name."""

    value: Json
    """Finished."""
    size: Size
    """How large it is; as often as it is named, it counts."""


class Open:
    """A list or an object that is not finished yet."""

    def __init__(self, holder: Json, anchor: str | None) -> None:
        self.holder, self.anchor = holder, anchor
        self.key: str | None = None
        self.weight, self.depth = VALUE, 1


class Builder:
    """One document, event by event."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._known: dict[str, Known] = {}
        self._open: list[Open] = []
        self._documents = 0
        self.value: Json = None

    def take(self, event: yaml.Event) -> None:
        """One event. Raises Malformed, NotJson, TooDeep, TooLarge."""
        line = event.start_mark.line + 1 if event.start_mark else 1
        if isinstance(event, yaml.DocumentStartEvent):
            self._documents += 1
            if self._documents > 1:
                raise malformed(self._context, line, "there is a second document, and one is read")
        elif isinstance(event, yaml.AliasEvent):
            self._alias(event.anchor or "", line)
        elif isinstance(event, yaml.ScalarEvent):
            self._scalar(event, line)
        elif isinstance(event, yaml.CollectionStartEvent):
            self._begin(event, line)
        elif isinstance(event, yaml.CollectionEndEvent):
            done = self._open.pop()
            self._put(done.holder, Size(done.weight, done.depth), done.anchor)

    def _begin(self, event: yaml.CollectionStartEvent, line: int) -> None:
        self._check_tag(event, line)
        if self._wants_key():
            raise malformed(self._context, line, "a key is a list or an object, and JSON has texts")
        self._open.append(Open([] if isinstance(event, yaml.SequenceStartEvent) else {}, event.anchor))
        check_size(self._context, Size(0, len(self._open)))

    def _scalar(self, event: yaml.ScalarEvent, line: int) -> None:
        self._check_tag(event, line)
        if self._wants_key():
            self._set_key(event, line)
            return
        value = event.value if event.style else _plain(self._context, event.value, line)
        self._put(value, Size(VALUE + len(event.value), 0), event.anchor)

    def _wants_key(self) -> bool:
        return bool(self._open) and isinstance(self._open[-1].holder, dict) and self._open[-1].key is None

    def _set_key(self, event: yaml.ScalarEvent, line: int) -> None:
        """A key is a text as it is written, whatever else it could mean."""
        if not event.style and event.value == "<<":
            raise malformed(self._context, line, "merge keys (`<<`) are not YAML 1.2: write the members out")
        if event.value in self._open[-1].holder:
            raise malformed(self._context, line, f"the key {shown(event.value)} stands twice in one object")
        self._open[-1].key = event.value
        self._open[-1].weight += len(event.value)

    def _alias(self, name: str, line: int) -> None:
        if name not in self._known:
            raise malformed(self._context, line, f"`*{name}` names nothing that is finished before it")
        if self._wants_key():
            raise malformed(self._context, line, "a key is written out: it is no alias")
        self._put(*self._known[name], None)

    def _put(self, value: Json, size: Size, anchor: str | None) -> None:
        if anchor is not None:
            self._known[anchor] = Known(value, size)
        if not self._open:
            self.value = value
            return
        inside = self._open[-1]
        inside.weight, inside.depth = inside.weight + size.weight, max(inside.depth, size.depth + 1)
        check_size(self._context, Size(inside.weight, inside.depth))
        if isinstance(inside.holder, list):
            inside.holder.append(value)
        else:
            inside.holder[inside.key] = value
            inside.key = None

    def _check_tag(self, event: yaml.ScalarEvent | yaml.CollectionStartEvent, line: int) -> None:
        if event.tag is not None:
            raise malformed(self._context, line, f"tags are not read: {shown(event.tag)}")


def _plain(context: Context, text: str, line: int) -> Json:
    """What a text without quotes means."""
    if text in WORDS:
        return WORDS[text]
    if NO_NUMBER.fullmatch(text):
        raise context.error("NotJson", f"line {line}: {text} is no number of JSON")
    if not (INTEGER.fullmatch(text) or OTHER_BASE.fullmatch(text) or FLOAT.fullmatch(text)):
        return text
    if len(text) > LONGEST_NUMBER:
        raise malformed(context, line, f"a number has more than {LONGEST_NUMBER} characters")
    if OTHER_BASE.fullmatch(text):
        return int(text, 0)
    return int(text) if INTEGER.fullmatch(text) else float(text)


def yaml_value(context: Context, text: str) -> Json:
    """The value of one document; null for none. Raises Malformed, NotJson, TooDeep, TooLarge."""
    builder = Builder(context)
    for event in _events(context, text):
        builder.take(event)
    return builder.value


def _events(context: Context, text: str) -> Iterator[yaml.Event]:
    try:
        yield from yaml.parse(text, Loader=LOADER)
    except yaml.MarkedYAMLError as error:
        # the end of the text has a line of its own in one parser and none in the other
        lines = text.count("\n") + 1
        line = min(error.problem_mark.line + 1, lines) if error.problem_mark else None
        raise malformed(context, line, error.problem or "it cannot be read") from error
    except yaml.YAMLError as error:
        at = getattr(error, "position", 0)
        message = "a character that YAML does not allow"
        raise malformed(context, text.count("\n", 0, at) + 1, message) from error
