"""How well texts fit what is looked for: a few that may, found by the index, then weighed word by word."""

import math
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, cast

import apsw

from keisei.graph.search_word import FEW, SAID, Phrase, Sought, all_phrases
from keisei.graph.vault_node import packed

POOL: Final = 40
"""Texts that are weighed first, at least."""
WIDER: Final = 4
"""How many times more are weighed together with those that follow, and so on."""
TIED: Final = 40
"""How many more may fit as well as the last of them."""
CHEAP: Final = FEW
"""Places in texts that the index is asked to weigh, whatever there is."""
CHEAP_SHARE, SHARE = 0.06, 0.6
"""And as a share of the texts: for a word that is looked for everywhere, and where a text says what it is."""
CALLED, KEYED = "{name} : ", "{name keywords} : "
"""What a text is called, and the words to find it by as well."""
NAME, KEYWORDS, TITLE, BODY, FIELDS = range(5)
WEIGHTS: Final = (6.0, 5.0, 3.0, 1.0, 0.5)
"""What a word is worth by its column: name, keywords, title, body, fields."""
VERB: Final = 8.0
"""And in the part of a name behind `::`."""
LENGTH: Final = (0.2, 0.1, 0.3, 0.75, 0.75)
"""How much it counts against a column that it is longer than others."""
OFTEN: Final = 0.8
"""How soon it makes no more difference how often a word stands in a column."""
ENOUGH: Final = 5.0
"""How soon it makes no more difference in how many columns."""
FAIR: Final = 0.4
"""From how much on a text knows a word wholly, between 0 and 1."""
OLD: Final = 0.5
"""What is left of a deprecated thing's worth."""
ANY: Final = "TRUE"
FUNCTION: Final = "sage_fit"
SOON: Final = 0.13
"""With weights of this size the index's own measure sees as little difference as `worth` between much and more."""
BM25: Final = f"bm25(texts, {', '.join(f'{each * SOON:.3f}' for each in WEIGHTS)})"
JOINED: Final = "CROSS JOIN nodes ON nodes.key = texts.rowid"
BEST: Final = f"""
SELECT texts.rowid, {BM25} AS fit FROM texts {{join}} WHERE texts MATCH ? AND {{where}} ORDER BY fit{{turn}} LIMIT ?
"""  # noqa: S608 - constants
WEIGHED: Final = f"""
SELECT {FUNCTION}(texts, ?) FROM texts WHERE texts MATCH ? AND +rowid IN (SELECT value FROM json_each(?))
"""  # noqa: S608 - constants
_ready: "weakref.WeakSet[apsw.Connection]" = weakref.WeakSet()


class Filter(NamedTuple):
    """Which nodes may be found."""

    where: str
    """As SQL over `nodes`; ANY where all may."""
    values: tuple[str, ...]
    """Its arguments."""


class Row(NamedTuple):
    """Where the phrases stand in one text."""

    key: int
    places: tuple[dict[int, list[int]], ...]
    """Of each phrase, the places in each column that knows it."""
    sizes: dict[int, float]
    """How long each column that knows one is, as a share of what is usual."""


class _Sheet:
    """What the index tells of the texts that are weighed."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self._usual: tuple[float, ...] = ()

    def take(self, api: "apsw.FTS5ExtensionApi") -> None:
        if not self._usual:
            self._usual = tuple(max(api.column_total_size(at) / api.row_count, 1.0) for at in range(len(WEIGHTS)))
        places = tuple(_places(api, at) for at in range(api.phrase_count))
        sizes = {at: api.column_size(at) / self._usual[at] for at in set().union(*places)}
        self.rows.append(Row(api.rowid, places, sizes))


def tiers(db: apsw.Connection, words: Sequence[Sought], allowed: Filter, documents: int) -> Iterator[list[int]]:
    """The keys of all texts that know something of the words: the best by the index's own measure, then ever more.

    How many are wanted changes nothing in who stands in which tier, so that it changes nothing in the order.
    """
    told = pooled(db, words, allowed, documents)
    yield told
    everywhere, most, seen = _within(all_phrases(words), {}), POOL * WIDER, set(told)
    while True:
        keys = _best(db, everywhere, most, allowed)
        yield [key for key in keys if key not in seen]
        if len(keys) < most:
            return
        seen.update(keys)
        most *= WIDER


def pooled(db: apsw.Connection, words: Sequence[Sought], allowed: Filter, documents: int) -> list[int]:
    """The keys of those texts that fit best by the index's own measure, at least POOL where there are.

    That measure counts against a long text what it is called, so that those with a word for name or keyword are asked
    for once more by themselves. A word that many texts know is looked for only where they say what they are, and in
    those that know every word. Where that finds too few, it is looked for everywhere.
    """
    phrases = all_phrases(words)
    dear = _dear(phrases, documents)
    keys = _best(db, _within(phrases, dear), POOL, allowed)
    if dear and len(keys) < POOL:
        keys = _best(db, _within(phrases, {}), POOL, allowed)
    elif dear and len(words) > 1 and _guess(words, documents) <= CHEAP:
        every = " AND ".join(f"({either(word.phrases)})" for word in words)
        keys += _best(db, every, POOL // 3, allowed)
    if len(keys) >= POOL:
        keys += _best(db, f"{KEYED}({either(phrases)})", POOL // 5, allowed)
    return keys


def _guess(words: Sequence[Sought], documents: int) -> float:
    """How many texts know every word, if words had nothing to do with each other."""
    return documents * math.prod(min(sum(phrase.known for phrase in word.phrases) / documents, 1.0) for word in words)


def either(phrases: Iterable[Phrase]) -> str:
    """An expression that finds whatever knows one of the phrases. They are numbered in this order."""
    return " OR ".join(phrase.expression for phrase in phrases)


def weighed(db: apsw.Connection, phrases: Sequence[Phrase], keys: Iterable[int]) -> list[Row]:
    """Where the phrases stand in the texts with these keys. A text that knows none is left out."""
    if db not in _ready:
        db.register_fts5_function(FUNCTION, _take)
        _ready.add(db)
    sheet = _Sheet()
    db.execute(WEIGHED, (apsw.pyobject(sheet), either(phrases), packed(keys))).fetchall()
    return sheet.rows


def worth(row: Row, served: Sequence[Sequence[tuple[int, float]]], rarity: Sequence[float], verb: int) -> float:
    """How well a text fits: what it knows, by where that stands, times the share of the query that it knows.

    To know a word a little, somewhere in a long text, is not to know it wholly: so a long text about everything stands
    behind a page that was made for the question.
    """
    fit = share = 0.0
    for each, weight in zip(served, rarity, strict=True):
        known = 0.0
        for number, value in each:
            if row.places[number]:
                known = max(known, value * _strength(row.places[number], row.sizes, verb))
        fit += known * weight
        share += min(known / FAIR, 1.0) * weight
    return fit * share / sum(rarity)


def _strength(places: Mapping[int, Sequence[int]], sizes: Mapping[int, float], verb: int) -> float:
    """How much a text knows of one phrase, between 0 and 1."""
    total = 0.0
    for column, at in places.items():
        weight = VERB if column == NAME and at[-1] >= verb else WEIGHTS[column]
        often = len(at) / (1.0 - LENGTH[column] + LENGTH[column] * sizes[column])
        total += weight * often / (often + OFTEN)
    return total / (total + ENOUGH)


def _dear(phrases: Sequence[Phrase], documents: int) -> dict[Phrase, str]:
    """The phrases that many texts know, and the columns that they are looked for in."""
    columns: dict[Phrase, str] = {}
    spent = 0
    for phrase in sorted(phrases, key=lambda each: each.known):
        spent += phrase.known
        if spent > max(CHEAP, CHEAP_SHARE * documents):
            is_called = columns and spent > max(CHEAP, SHARE * documents)
            columns[phrase] = CALLED if is_called else SAID
    return columns


def _within(phrases: Iterable[Phrase], columns: Mapping[Phrase, str]) -> str:
    """An expression that finds whatever knows one of the phrases in its columns."""
    return " OR ".join(f"{columns.get(phrase, '')}({phrase.expression})" for phrase in phrases)


def _best(db: apsw.Connection, expression: str, most: int, allowed: Filter) -> list[int]:
    """The best by the index's own measure, and those that fit exactly as well as the last of them.

    Where too many do, those among them that come first by id.
    """
    join = "" if allowed.where == ANY else JOINED
    statement = BEST.format(join=join, where=allowed.where, turn="")
    rows = cast("list[tuple[int, float]]", db.execute(statement, (expression, *allowed.values, most + TIED)).fetchall())
    if len(rows) <= most:
        return [row[0] for row in rows]
    last = rows[most - 1][1]
    if len(rows) < most + TIED or rows[-1][1] != last:
        return [key for key, fit in rows if fit <= last]
    statement = BEST.format(join=JOINED, where=allowed.where, turn=", nodes.id, nodes.node")
    return [cast("int", row[0]) for row in db.execute(statement, (expression, *allowed.values, most))]


def _places(api: "apsw.FTS5ExtensionApi", phrase: int) -> dict[int, list[int]]:
    return {column: api.phrase_column_offsets(phrase, column) for column in api.phrase_columns(phrase)}


def _take(api: "apsw.FTS5ExtensionApi", /, *given: Any) -> None:  # noqa: ANN401 - the sheet, through SQL
    given[0].take(api)
