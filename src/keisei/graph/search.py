"""Search: any text, held against names, keywords, titles and texts of what is authored."""

import re
from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from keisei.graph.search_fit import (
    ANY,
    BODY,
    FIELDS,
    OLD,
    POOL,
    SPARE,
    TITLE,
    Filter,
    Row,
    either,
    pooled,
    weighed,
    worth,
)
from keisei.graph.search_snippet import Snippet, lined, snippets
from keisei.graph.search_term import Vocabulary
from keisei.graph.search_word import Phrase, Sought, all_phrases, sought
from keisei.graph.vault_node import by_keys, packed
from keisei.graph.vault_table import NODES
from keisei.records.sage import Findings, Hit, Node, NodeKind
from keisei.rules.query import Query, query_of

if TYPE_CHECKING:
    import apsw

_WORD: Final = re.compile(r"[^\W_]+")
NAMED: Final = 1e6
"""What is added for being called exactly so."""
EXACT: Final = """
SELECT names.key FROM names JOIN nodes ON nodes.key = names.key
WHERE names.name IN (?, ?, ?) AND {where} ORDER BY nodes.id = ? DESC, names.turn, nodes.id, nodes.node LIMIT ?
"""
ALL: Final = "SELECT nodes.key FROM nodes WHERE {where} ORDER BY nodes.id, nodes.node LIMIT ?"
PLACES: Final = "SELECT key, id, node, deprecated FROM nodes WHERE key IN (SELECT value FROM json_each(?))"
DOCUMENTS: Final = "SELECT count(*) FROM nodes"
WRITTEN: Final = """
SELECT snippet(texts, -1, char(2), char(3), '', 1) FROM texts WHERE texts MATCH ? AND rowid = ?
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
    id: str
    turn: int
    """The place of its kind among the kinds."""
    key: int
    row: Row | None = None
    """What it knows; None where it only has the name."""

    def knows(self, phrase: int) -> bool:
        """Whether it knows the phrase of this number."""
        return self.row is not None and bool(self.row.places[phrase])

    def shown(self) -> int | None:
        """The column that its snippet is taken from; None where only the name or keywords fit."""
        columns = {column for places in self.row.places for column in places} if self.row else ()
        return next((column for column in SHOWN_OF if column in columns), None)


def search(  # noqa: PLR0913 - each says one thing
    db: "apsw.Connection",
    text: str,
    *,
    nodes: Collection[NodeKind] = (),
    kinds: Collection[str] = (),
    limit: int = 20,
    among: Collection[str] | None = None,
) -> Findings:
    """What fits a text best, the best first, at most `limit`. Any text is a query; without a word in it: all, by id.

    What is called exactly so stands first. Then: who knows more of the words stands before who knows fewer, by where
    they stand and by how rare they are; what is deprecated stands behind its like. Beginnings of words are understood,
    and words that nobody wrote are taken for those they resemble. `nodes` and `kinds` choose what may be found, `among`
    which atoms. The order depends on nothing but the texts and the arguments.
    """
    query, allowed = query_of(text), _filter(nodes, kinds, among)
    documents = sum(row[0] for row in db.execute(DOCUMENTS))
    limit = max(min(limit, documents), 0)
    if not limit:
        return Findings(hits=(), repaired={})
    exact = _called(db, query, allowed, limit)
    if not query.words and not exact:
        return Findings(hits=_hits(db, "", _everything(db, allowed, limit)), repaired={})
    words = sought(query.words, Vocabulary(db), documents)
    asked = _Asked(words, all_phrases(words), allowed, documents)
    found = _ranked(db, asked, exact, limit)
    return Findings(hits=_hits(db, either(asked.phrases), found[:limit]), repaired=_repaired(db, asked, found))


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
    """Who is called exactly what was typed, the one with this id first."""
    said = query.said
    values = (said, said.lower(), said.upper(), *allowed.values, said, limit)
    return list(dict.fromkeys(row[0] for row in db.execute(EXACT.format(where=allowed.where), values)))


def _everything(db: "apsw.Connection", allowed: Filter, limit: int) -> list[_Found]:
    """All there is, by id."""
    keys = [row[0] for row in db.execute(ALL.format(where=allowed.where), (*allowed.values, limit))]
    return [_Found(0.0, "", 0, key) for key in keys]


def _ranked(db: "apsw.Connection", asked: _Asked, exact: Sequence[int], limit: int) -> list[_Found]:
    """Everything that was found, the best first."""
    words, phrases, documents = asked.words, asked.phrases, asked.documents
    keys = pooled(db, words, max(POOL, limit + SPARE), asked.allowed, documents) if words else []
    rows = {row.key: row for row in weighed(db, phrases, {*exact, *keys})} if words else {}
    rarity = [word.rarity(documents) for word in words]
    served = [[(phrases.index(phrase), value) for phrase, value in word.phrases.items()] for word in words]
    first = {key: NAMED * (len(exact) - at) for at, key in enumerate(exact)}
    found = []
    for key, name, node, old in db.execute(PLACES, (packed({*exact, *keys}),)):
        row = rows.get(key)
        fit = worth(row, served, rarity, _verb(name)) * (OLD if old else 1.0) if row else 0.0
        found.append(_Found(-round(fit + first.get(key, 0.0), 9), name, NODES.index(node), key, row))
    return sorted(found)


def _verb(name: str) -> int:
    """How many words stand before the verb in a name."""
    package, mark, _ = name.partition("::")
    return len(_WORD.findall(package)) if mark else 0


def _hits(db: "apsw.Connection", expression: str, found: Sequence[_Found]) -> tuple[Hit, ...]:
    columns = {each.key: column for each in found if (column := each.shown()) is not None}
    shown, nodes = snippets(db, expression, columns), by_keys(db, [each.key for each in found])
    return tuple(_hit(each, nodes[each.key], shown.get(each.key)) for each in found if each.key in nodes)


def _hit(found: _Found, node: Node, snippet: Snippet | None) -> Hit:
    shown = snippet or lined(node.title)
    return Hit(node=node, score=0.0 - found.misfit, snippet=shown.text, marks=shown.marks)


def _repaired(db: "apsw.Connection", asked: _Asked, found: Sequence[_Found]) -> dict[str, tuple[str, ...]]:
    """The words that were taken for others, with those as somebody wrote them."""
    told = {}
    for word in asked.words:
        if word.meant:
            written = (_written(db, phrase, asked.phrases.index(phrase), found) for phrase in word.meant)
            told[word.word] = tuple(dict.fromkeys(written))
    return told


def _written(db: "apsw.Connection", phrase: Phrase, number: int, found: Sequence[_Found]) -> str:
    """The word that a phrase stands for, as the best of the texts that know it has it."""
    key = next((each.key for each in found if each.knows(number)), None)
    for (text,) in db.execute(WRITTEN, (phrase.expression, key)):
        line = lined(str(text))
        if line.marks:
            return line.text[slice(*line.marks[0])].lower()
    return phrase.expression.strip('"')
