"""What go.mod, go.work and go.sum say of dependencies."""

import re
from collections.abc import Iterator
from typing import Final

from keisei.rules.predicate.dependency_text import Fact, Unreadable, lines_of

TOKEN: Final = re.compile(
    r'\s*+(?://(?P<comment>.*+)|(?P<word>"(?:[^"\\]|\\.)*+"|`[^`]*+`|[()]|(?:(?!//)[^\s()"`])++))'
)
OWN: Final = frozenset({"module", "retract", "ignore"})
ASIDES: Final = frozenset({"go", "toolchain", "godebug"})


def go_manifest(data: bytes) -> Iterator[Fact]:
    """Requirements, replacements, exclusions, tools and used folders; an unknown directive counts as one of them."""
    block: str | None = None
    for line in lines_of(data):
        words = _words(line)
        if block is not None and words == [")"]:
            block = None
        elif block is not None and words:
            yield from _directive(block, words)
        elif len(words) > 1 and words[1:] == ["("]:
            block = words[0]
        elif words:
            yield from _directive(words[0], words[1:])
    if block is not None:
        raise Unreadable(f"has a block `{block}` that does not end")


def _words(line: str) -> list[str]:
    """The words of a line, comments left out; text in quotes is one word."""
    found, start = [], 0
    line = line.rstrip()
    while start < len(line):
        token = TOKEN.match(line, start)
        if token is None:
            raise Unreadable(f"has a line that cannot be read: {line[:80]}")
        start = token.end()
        if token["word"]:
            found.append(token["word"])
    return found


def _directive(verb: str, words: list[str]) -> Iterator[Fact]:
    plain = [word[1:-1] if word[0] in '"`' and "\\" not in word else word for word in words]
    if verb in OWN:
        return
    if verb in ASIDES:
        yield Fact(verb, " ".join(plain), aside=True)
    elif verb == "require" and len(plain) > 1:
        yield Fact(f"require {plain[0]}", " ".join(plain[1:]))
    elif verb == "replace" and "=>" in plain:
        arrow = plain.index("=>")
        yield Fact(f"replace {' '.join(plain[:arrow])}", " ".join(plain[arrow + 1 :]))
    else:
        yield Fact(f"{verb} {' '.join(plain)}", "")


def go_sum(data: bytes) -> Iterator[Fact]:
    """The checksum of every version of every module."""
    for line in lines_of(data):
        words = line.split()
        if words:
            yield Fact(" ".join(words[:2]), " ".join(words[2:]))
