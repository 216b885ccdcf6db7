"""What files of requirements and constraints say: every line but comments counts, options too."""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

from keisei.rules.predicate.dependency_text import Fact, Unreadable, at, entries, lines_of, place_of, table_at, written

NAME: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")
AROUND: Final = re.compile(r"\s*([<>=!~,;()\[\]]+)\s*")
CODING: Final = re.compile(r"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
COMMENT: Final = re.compile(r"(?:^|\s)#.*$")


def requirements(data: bytes) -> Iterator[Fact]:
    """Every requirement and every option of pip, which may name another file or another index."""
    options: Counter[str] = Counter()
    lines = lines_of(data)
    check_coding(lines)
    for line in _joined(lines):
        if not line.startswith("-"):
            yield requirement("", line)
            continue
        word = re.split(r"[\s=]", line, maxsplit=1)[0]
        options[word] += 1
        yield Fact(word if options[word] == 1 else f"{word} ({options[word]})", " ".join(line.split()))


def check_coding(lines: list[str]) -> None:
    """Raise Unreadable where a comment says that the text is not UTF-8: tools believe it, and read something else."""
    for line in lines[:2]:
        found = CODING.match(line)
        if found and found[1].lower().replace("_", "-") not in ("utf-8", "utf8"):
            raise Unreadable("says that it is not written in UTF-8")


def _joined(lines: list[str]) -> Iterator[str]:
    """Lines without comments, those that go on in the next one made one."""
    begun = ""
    for line in lines:
        plain = COMMENT.sub("", line)
        if line.endswith("\\") and plain.strip():
            if plain != line:
                raise Unreadable("has a comment that ends in a backslash, which tools read differently")
            begun += line.rstrip("\\")
        elif begun and plain != line and not plain.strip():
            raise Unreadable("has a comment inside a line that goes on, which tools read differently")
        else:
            whole, begun = f"{begun}{plain}".strip(), ""
            if whole:
                yield whole
    if begun.strip():
        yield begun.strip()


def requirement(place: str, text: str) -> Fact:
    """One requirement, whatever its spaces and the spelling of its name."""
    text = " ".join(text.split())
    if "@" not in text and "/" not in text:
        text = AROUND.sub(r"\1", text)
    found = NAME.match(text)
    name = normal(found[0]) if found else text
    value = f"{name}{text[found.end() :]}" if found else text
    return Fact(f"{place}: {name}" if place else name, value)


def normal(name: str) -> str:
    """A package's name in the one way an index knows it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def required(data: object, *keys: str) -> Iterator[Fact]:
    """The requirements of the list at a place; whatever else is there counts as it is."""
    found = at(data, *keys)
    if not isinstance(found, list):
        yield from entries(data, *keys)
        return
    for each in found:
        if isinstance(each, str):
            yield requirement(place_of(*keys), each)
        else:
            yield Fact(place_of(*keys), written(each))


def required_by_name(data: object, *keys: str) -> Iterator[Fact]:
    """The requirements of the lists in the table at a place."""
    if not isinstance(at(data, *keys), dict):
        yield from entries(data, *keys)
        return
    for name in table_at(data, *keys):
        yield from required(data, *keys, name)


def specified(data: Any, *keys: str) -> Iterator[Fact]:  # noqa: ANN401 - any data
    """The packages of the table at a place, each with how it is wanted; `x = "1"` is `x = { version = "1" }`."""
    if not isinstance(at(data, *keys), dict):
        yield from required(data, *keys)
        return
    for name, how in table_at(data, *keys).items():
        value = written({"version": how} if isinstance(how, str) else how)
        is_python = name.lower() == "python" and isinstance(how, str)
        yield Fact(f"{place_of(*keys)}: {normal(name)}", value, aside=is_python)
