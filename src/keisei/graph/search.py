"""Search: any text, held against names, keywords, titles and texts of what is authored."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from keisei.graph.search_fit import (
    ANY,
    BODY,
    FIELDS,
    OLD,
    TITLE,
    Filter,
    Row,
    either,
    tiers,
    weighed,
    worth,
)
from keisei.graph.search_snippet import Snippet, lined, snippets
from keisei.graph.search_term import Vocabulary
from keisei.graph.search_word import Phrase, Sought, all_phrases, wanted
from keisei.graph.vault_node import by_keys, packed, place_of
from keisei.records.sage import Findings, Hit, Node, NodeKind
from keisei.rules.query import Query, query_of

if TYPE_CHECKING:
    import apsw

_WORD: Final = re.compile(r"[^\W_]+")
NAMED: Final = 1e6
"""What is added for being called exactly so."""
EXACT: Final = """
SELECT names.key FROM names JOIN nodes ON nodes.key = names.key
WHERE names.name IN (?, ?, ?) AND {where} GROUP BY names.key
ORDER BY nodes.id = ? DESC, max(names.name = ?) DESC, min(names.turn), nodes.id, nodes.node LIMIT ?
"""
ALL: Final = "SELECT nodes.key FROM nodes WHERE {where} ORDER BY nodes.id, nodes.node LIMIT ?"
DOCUMENTS: Final = "SELECT count(*) FROM nodes"
WRITTEN: Final = """
SELECT snippet(texts, -1, char(2), char(3), '', 12) FROM texts WHERE texts MATCH ? AND rowid = ?
"""
KNOWN: Final = """
SELECT 1 FROM texts CROSS JOIN nodes ON nodes.key = texts.rowid WHERE texts MATCH ? AND {where} LIMIT 1
"""
SHOWN_OF: Final = (BODY, TITLE, FIELDS)
"""Where a snippet is taken from: the first of these that knows one of the words."""


class _Asked(NamedTuple):
    """What is looked for, and where."""

    words: list[Sought]
    phrases: list[Phrase]
    """Everything that serves one of the words, by number."""
    allowed: Filter
    documents: int
    """How many there are."""


class _Found(NamedTuple):
    """A text that fits."""

    misfit: float
    """The less, the better it fits."""
    place: tuple[str, int]
    """Its id, and the place of its kind among the kinds."""
    key: int
    node: Node
    row: Row | None = None
    """What it knows; None where it only has the name."""

    def knows(self, phrase: int) -> bool:
        """Whether it knows the phrase of this number."""
        return self.row is not None and bool(self.row.places[phrase])

    def shown(self) -> int | None:
        """The column that its snippet is taken from; None where only the name or keywords fit."""
        return next((column for column in SHOWN_OF if self.row and column in self.row.sizes), None)


def search(  # noqa: PLR0913 - each says one thing
    db: "apsw.Connection",
    text: str,
    *,
    nodes: Collection[NodeKind] = (),
    kinds: Collection[str] = (),
    limit: int = 20,
    among: Collection[str] | None = None,
) -> Findings:
    """What fits a text best, the best first, at most `limit`. Any text is a query; the empty one finds all, by id.

    What is called exactly so stands first. Then: who knows more of the words stands before who knows fewer, by where
    they stand and by how rare they are; what is deprecated stands behind its like. Beginnings of words are understood,
    and words that nobody wrote are taken for those they resemble. `nodes` and `kinds` choose what may be found, `among`
    which atoms. The order depends on nothing but the texts, the words and what may be found; `limit` cuts it.
    """
    query, allowed = query_of(text), _filter(nodes, kinds, among)
    documents = sum(row[0] for row in db.execute(DOCUMENTS))
    limit = max(min(limit, documents), 0)
    if not limit:
        return Findings(hits=(), repaired={})
    if query.is_blank:
        return Findings(hits=_hits(db, "", _everything(db, allowed, limit)), repaired={})
    words, unknown = wanted(query.words, Vocabulary(db), documents)
    asked = _Asked(words, all_phrases(words), allowed, documents)
    found = _ranked(db, asked, _called(db, query, allowed, limit), limit)
    repaired = _repaired(db, asked, found)
    hidden = _hidden(db, asked, found) if allowed.where != ANY else set()
    return Findings(
        hits=_hits(db, either(asked.phrases), found[:limit]),
        repaired=repaired,
        unknown=tuple(sorted(hidden.union(unknown), key=lambda word: (text.lower().find(word), word))),
    )


def _filter(nodes: Iterable[str], kinds: Iterable[str], among: Iterable[str] | None) -> Filter:
    """Which nodes may be found, as SQL."""
    parts = []
    if nodes:
        parts.append(("nodes.node IN (SELECT value FROM json_each(?))", nodes))
    if kinds:
        parts.append(("nodes.kind IN (SELECT value FROM json_each(?))", kinds))
    if among is not None:
        parts.append(("(nodes.node <> 'atom' OR nodes.id IN (SELECT value FROM json_each(?)))", among))
    packs = tuple(packed(each.encode("utf-8", "replace").decode() for each in values) for _, values in parts)
    return Filter(" AND ".join(sql for sql, _ in parts) or ANY, packs)


def _called(db: "apsw.Connection", query: Query, allowed: Filter, limit: int) -> list[int]:
    """Who is called what was typed: first the one with this id, then those who are called exactly so."""
    said = query.said
    values = (said, said.lower(), said.upper(), *allowed.values, said, said, limit)
    return [row[0] for row in db.execute(EXACT.format(where=allowed.where), values)]


def _everything(db: "apsw.Connection", allowed: Filter, limit: int) -> list[_Found]:
    """All there is, by id."""
    keys = [row[0] for row in db.execute(ALL.format(where=allowed.where), (*allowed.values, limit))]
    nodes = by_keys(db, keys)
    return [_Found(0.0, place_of(nodes[key]), key, nodes[key]) for key in keys]


def _ranked(db: "apsw.Connection", asked: _Asked, exact: Sequence[int], limit: int) -> list[_Found]:
    """Everything that was found, the best first: at least so many where there are."""
    first = {key: at - NAMED for at, key in enumerate(exact)}
    found: list[_Found] = []
    for keys in tiers(db, asked.words, asked.allowed, asked.documents) if asked.words else ([],):
        least = found[-1].misfit if found else -NAMED
        tier = sorted(_tier(db, asked, {*keys, *first} if not found else {*keys}.difference(first), first))
        found += [each if each.misfit >= least else each._replace(misfit=least) for each in tier]
        if len(found) >= limit:
            break
    return found


def _tier(db: "apsw.Connection", asked: _Asked, keys: Collection[int], first: Mapping[int, float]) -> list[_Found]:
    """Those with these keys, weighed, but for who is called exactly so."""
    words, phrases = asked.words, asked.phrases
    rows = {row.key: row for row in weighed(db, phrases, keys)} if words and keys else {}
    rarity = [word.rarity(asked.documents) for word in words]
    served = [[(phrases.index(phrase), value) for phrase, value in word.phrases.items()] for word in words]
    found = []
    for key, node in by_keys(db, keys).items():
        row = rows.get(key)
        fit = worth(row, served, rarity, _verb(node.id)) * (OLD if node.deprecated else 1.0) if row else 0.0
        found.append(_Found(first.get(key, -round(fit, 9)), place_of(node), key, node, row))
    return found


def _verb(name: str) -> int:
    """How many words stand before the verb in a name."""
    package, mark, _ = name.partition("::")
    return len(_WORD.findall(package)) if mark else 0


def _hits(db: "apsw.Connection", expression: str, found: Sequence[_Found]) -> tuple[Hit, ...]:
    columns = {each.key: column for each in found if (column := each.shown()) is not None}
    shown = snippets(db, expression, columns)
    return tuple(_hit(each, shown.get(each.key) or lined(each.node.title)) for each in found)


def _hit(found: _Found, shown: Snippet) -> Hit:
    return Hit(node=found.node, score=0.0 - found.misfit, snippet=shown.text, marks=shown.marks)


def _hidden(db: "apsw.Connection", asked: _Asked, found: Sequence[_Found]) -> set[str]:
    """Words that only texts know which may not be found: of those nothing is told, not even that they have it."""
    statement = KNOWN.format(where=asked.allowed.where)
    hidden: set[str] = set()
    for word in asked.words:
        numbers = [asked.phrases.index(phrase) for phrase in word.phrases]
        if not word.is_asking and not any(each.knows(number) for each in found for number in numbers):
            known = db.execute(statement, (either(word.phrases), *asked.allowed.values)).fetchall()
            hidden.update(() if known else (word.word,))
    return hidden


def _repaired(db: "apsw.Connection", asked: _Asked, found: Sequence[_Found]) -> dict[str, tuple[str, ...]]:
    """The words that were taken for others, with those as a text that was found has them."""
    told: dict[str, dict[str, None]] = {}
    for word in asked.words:
        for phrase in word.meant:
            written = _written(db, phrase, asked.phrases.index(phrase), found)
            if written:
                told.setdefault(word.word, {})[written] = None
    return {word: tuple(others) for word, others in told.items()}


def _written(db: "apsw.Connection", phrase: Phrase, number: int, found: Sequence[_Found]) -> str:
    """The word that a phrase stands for, as the best of the texts that know it has it; empty where none does."""
    key = next((each.key for each in found if each.knows(number)), None)
    for (text,) in db.execute(WRITTEN, (phrase.expression, key)) if key is not None else ():
        line = lined(str(text))
        if line.marks:
            return line.text[slice(*line.marks[0])].lower()
        return phrase.expression.strip('"')
    return ""
