"""What a leaf holds, made plain and bounded: no control characters, no half surrogates, nothing without an end."""

import re
from collections.abc import Iterable
from itertools import islice

from keisei.records.form import Facets, Lineage
from keisei.records.sage import FOLDERS, Link, LinkKind, NodeKind

TITLE, WORD = 300, 200
"""Characters of a line, and of a keyword, a name or a facet."""
BODY, FIELDS = 256 * 1024, 64 * 1024
"""Bytes of a text, and of what schemas and tables say."""
MOST_WORDS, MOST_LINKS, MOST_FACETS = 100, 1000, 100
"""Keywords, links of one kind, and facets; a facet has as many values as a thing has keywords."""
UNSEEN = 1000
"""Words that are looked at for those."""
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Characters that control, break lines unseen or turn the direction, and halves of others."""
HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def clean(text: str) -> str:
    """The text without control characters; of those only line ends and tabs stay."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return CONTROL.sub("", text)


def whole(text: str, most: int = BODY) -> str:
    """The beginning of a clean text, in bytes."""
    return text if len(text) <= most // 4 else text.encode()[:most].decode(errors="ignore")


def line(text: str | None, most: int = TITLE) -> str:
    """A text as one line, cut where it is long."""
    text = text or ""
    words = " ".join((text if text.isprintable() else clean(text)).split())
    return words if len(words) <= most else words[: most - 1] + "…"


def words_of(written: Iterable[str]) -> tuple[str, ...]:
    """Words to find something by, each once."""
    found = dict.fromkeys(line(word, WORD) for word in islice(written, UNSEEN))
    found.pop("", None)
    return tuple(islice(found, MOST_WORDS))


def spelt(name: str) -> str:
    """A name as it is searched for: `NotFound` also in its two words."""
    return name if name.islower() or (apart := HUMP.sub(" ", name)) == name else f"{name} {apart}"


def facets_of(taxonomy: Facets | None) -> dict[str, tuple[str, ...]]:
    """A taxonomy, each facet with its values."""
    found: dict[str, tuple[str, ...]] = {}
    for facet, value in islice((taxonomy or {}).items(), MOST_FACETS):
        name, values = line(facet, WORD), words_of((value,) if isinstance(value, str) else value)
        if name and values:
            found[name] = values
    return found


def links_of(targets: dict[LinkKind, Iterable[str | None]]) -> tuple[Link, ...]:
    """What something leads to, by the kind of link, each target once. What is too long to be a name leads nowhere."""
    return tuple([Link(kind, target) for kind, named in targets.items() for target in _named(named)])


def _named(targets: Iterable[str | None]) -> list[str]:
    found = dict.fromkeys([line(target, WORD + 1) for target in islice(targets, UNSEEN) if target])
    return [target for target in found if 0 < len(target) <= WORD][:MOST_LINKS]


def names_of(node: NodeKind, *names: str) -> tuple[str, ...]:
    """Everything a thing may be called: each name, with its folder, and with what it is."""
    return tuple(dict.fromkeys(each for name in names for each in (name, f"{FOLDERS[node]}/{name}", f"{node}/{name}")))


def fields_of(words: Iterable[str]) -> str:
    """What schemas and tables say, one below the other."""
    return whole(clean("\n".join(words)), FIELDS)


def creator_of(lineage: Lineage | None) -> str | None:
    """Who made it."""
    return line(lineage.creator, WORD) or None if lineage else None


def created_of(lineage: Lineage | None) -> str | None:
    """When, as it is written."""
    return line(lineage.created, WORD) or None if lineage else None


def ancestors_of(lineage: Lineage | None) -> tuple[str | None, ...]:
    """What it was made from, as it is written."""
    return (*lineage.parents, lineage.fork_from) if lineage else ()
