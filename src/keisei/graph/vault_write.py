"""Writing the vault: what changed of the things that were read, and everything that follows from it."""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from itertools import count
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from keisei.graph import feed
from keisei.graph.shape import Shape, shape
from keisei.graph.vault_table import NODES
from keisei.records.problem import Problem
from keisei.records.sage import FOLDERS, Leaf, NodeKind

if TYPE_CHECKING:
    import apsw

    from keisei.graph.vault import Batch, Entry, Key

PROBLEM: Final = msgspec.json.Decoder(Problem)
TURNS: Final = {node: turn for turn, node in enumerate(NODES)}
HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
"""Where a word begins inside of another, as in `editLocal` and `HTTPServer`."""

FILES: Final = msgspec.json.Decoder(list[tuple[str, ...]])

Row = tuple[Any, ...]
COLUMNS: Final = "id, kind, title, path, layer, stability, deprecated, creator, created, takes, gives"
TEXTS: Final = "name, keywords, title, body, fields"
FIND: Final = f"SELECT key, {COLUMNS} FROM nodes WHERE node = ? AND name = ?"  # noqa: S608 - our names
ADD: Final = f"INSERT INTO nodes ({COLUMNS}, key, node, name) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"  # noqa: S608 - our names
CHANGE: Final = f"UPDATE nodes SET ({COLUMNS}) = (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) WHERE key = ?"  # noqa: S608 - our names
TEXT: Final = f"SELECT {TEXTS} FROM texts WHERE rowid = ?"  # noqa: S608 - our names
ADD_TEXT: Final = f"INSERT INTO texts ({TEXTS}, rowid) VALUES (?, ?, ?, ?, ?, ?)"  # noqa: S608 - our names
MANY: Final = 1000
"""Where so many texts are new, and more than were there before, the index of words is merged once, at the end, into
one piece: that is less work, and every search is faster by a tenth or more."""
MERGE: Final = "INSERT INTO texts (texts, rank) VALUES (?, ?)"
LATER, USUAL = (("automerge", 0), ("crisismerge", 1999)), (("automerge", 4), ("crisismerge", 16))
"""When pieces are merged: never as far as can be said, and as FTS5 does unless told."""
COUNT: Final = "SELECT count(*) FROM nodes"
KEEP_SOURCE: Final = """
INSERT OR REPLACE INTO sources (node, name, path, layer, stamp, files, problem) VALUES (?, ?, ?, ?, ?, ?, ?)
"""
HOLDER: Final = """
SELECT names.key FROM names JOIN nodes ON nodes.key = names.key WHERE names.name = ?
ORDER BY names.turn, nodes.name LIMIT 1
"""
"""Who has a name. Keys tell who came first, which is nobody's business."""


NOTHING: Final = (None,) * len(COLUMNS.split(", "))
SIDES: Final[tuple[tuple[int, feed.Side], ...]] = ((-2, "takes"), (-1, "gives"))
"""Where in a row of `nodes` the shapes stand."""


class Part(NamedTuple):
    """A table with any number of rows for each thing."""

    table: str
    """What it is called."""
    columns: str
    """What it has beside the key."""
    rows: Callable[[Leaf], Iterable[Row]]
    """Those of a leaf."""


NAMES: Final = Part("names", "name, turn", lambda leaf: ((text(name), TURNS[leaf.node]) for name in leaf.names))
LINKS: Final = Part("links", "kind, target", lambda leaf: ((kind, text(target)) for kind, target in leaf.links))
FACETS: Final = Part(
    "facets",
    "facet, value",
    lambda leaf: ((text(each), text(one)) for each, all_ in leaf.facets.items() for one in all_),
)
TOUCHES: Final = Part("touches", "domain", lambda leaf: ((text(domain),) for domain in leaf.domains))


class Thing(NamedTuple):
    """One thing that is to be written."""

    key: int
    leaf: Leaf
    row: Row
    """Its columns of `nodes`."""
    old: Row | None
    """What they were; None: it is new."""
    shapes: tuple[Shape | None, Shape | None]


def apply(db: "apsw.Connection", batch: "Batch") -> None:
    """Write a batch, inside of a transaction of the caller's. Only what is another than before is written."""
    old = _old(db, [*batch.entries, *batch.gone])
    stay = {_clean(key): entry for key, entry in batch.entries.items()}
    lost = [row for key, row in old.items() if key not in stay or stay[key].leaf is None]
    things = _things(db, stay, old)
    shifted = _forgotten(db, lost)
    _write_nodes(db, things)
    removed, added = _write_part(db, NAMES, things)
    shifted.update(name for name, *_ in (*removed, *added))
    _write_links(db, things, shifted)
    _write_part(db, FACETS, things)
    _write_part(db, TOUCHES, things)
    _write_texts(db, things)
    _write_sources(db, stay, {_clean(key) for key in batch.gone} - stay.keys())
    _write_feeds(db, things, lost)
    if batch.pairs is not None:
        _write_pairs(db, batch.pairs)


def identity(node: NodeKind, name: str) -> str:
    """What a thing is called among all: `kei-task::create`, `roles/edit-local`."""
    return name if node in ("atom", "capability") else f"{FOLDERS[node]}/{name}"


def text(value: str) -> str:
    """As it can be kept: names of files may be any bytes."""
    return value if value.isascii() else value.encode("utf-8", "backslashreplace").decode("utf-8")


def packed(path: str, files: Iterable[str]) -> str:
    """Paths as text that gives them back, whatever they are made of."""
    return json.dumps((path, *files))


def unpacked(rows: Iterable[str]) -> list[tuple[str, ...]]:
    """The paths of many rows."""
    joined = f"[{','.join(rows)}]"
    try:
        return FILES.decode(joined)
    except msgspec.DecodeError:
        return [tuple(each) for each in json.loads(joined)]  # half a surrogate, which only this one reads


def _clean(key: "Key") -> "Key":
    return key[0], text(key[1])


def _old(db: "apsw.Connection", keys: Iterable["Key"]) -> dict["Key", Row]:
    """The rows of `nodes` that are there for some things, the key first."""
    if not db.execute("SELECT 1 FROM nodes LIMIT 1").fetchall():
        return {}
    found = ((key, db.execute(FIND, key).fetchall()) for key in map(_clean, keys))
    return {key: rows[0] for key, rows in found if rows}


def _things(db: "apsw.Connection", stay: Mapping["Key", "Entry"], old: Mapping["Key", Row]) -> list[Thing]:
    fresh = count(1 + max((int(key) for (key,) in db.execute("SELECT max(key) FROM nodes") if key), default=0))
    things = []
    for key, (known, leaf) in stay.items():
        if leaf is not None:
            shapes = shape(leaf.takes), shape(leaf.gives)
            row = _row(key, leaf, text(known.path), known.layer, shapes)
            was = old.get(key)
            things.append(Thing(next(fresh) if was is None else was[0], leaf, row, was and was[1:], shapes))
    return things


def _row(key: "Key", leaf: Leaf, path: str, layer: str, shapes: Iterable[Shape | None]) -> Row:
    optional = (leaf.stability, leaf.deprecated, leaf.creator, leaf.created)
    return (
        identity(*key),
        leaf.kind,
        text(leaf.title),
        path,
        layer,
        *(each and text(each) for each in optional),
        *(each and each.sha for each in shapes),
    )


def _forgotten(db: "apsw.Connection", lost: Iterable[Row]) -> set[str]:
    """Take things out of every table. Returns the names they had."""
    keys = [row[:1] for row in lost]
    names = {name for key in keys for (name,) in db.execute("SELECT name FROM names WHERE key = ?", key)}
    for table in ("names", "links", "facets", "touches", "nodes"):
        db.executemany(f"DELETE FROM {table} WHERE key = ?", keys)  # noqa: S608 - our names
    db.executemany("DELETE FROM texts WHERE rowid = ?", keys)
    return names


def _write_nodes(db: "apsw.Connection", things: Iterable[Thing]) -> None:
    added = [(*each.row, each.key, each.leaf.node, text(each.leaf.name)) for each in things if each.old is None]
    changed = [(*each.row, each.key) for each in things if each.old not in (None, each.row)]
    db.executemany(ADD, added)
    db.executemany(CHANGE, changed)


def _write_part(db: "apsw.Connection", part: Part, things: Iterable[Thing]) -> tuple[list[Row], list[Row]]:
    """Write what differs. Returns the rows that went and that came, each with its key at the end."""
    removed, added = _differing(db, part, things)
    _remove(db, part, removed)
    added.sort()
    marks = ", ".join("?" for _ in (added[0] if added else ()))
    db.executemany(f"INSERT INTO {part.table} ({part.columns}, key) VALUES ({marks})", added)  # noqa: S608 - our names
    return removed, added


def _differing(db: "apsw.Connection", part: Part, things: Iterable[Thing]) -> tuple[list[Row], list[Row]]:
    select = f"SELECT {part.columns} FROM {part.table} WHERE key = ?"  # noqa: S608 - our names
    removed: list[Row] = []
    added: list[Row] = []
    for each in things:
        new = set(part.rows(each.leaf))
        if each.old is None:
            added.extend((*row, each.key) for row in new)
            continue
        old = set(db.execute(select, (each.key,)))
        removed.extend((*row, each.key) for row in old - new)
        added.extend((*row, each.key) for row in new - old)
    return removed, added


def _remove(db: "apsw.Connection", part: Part, rows: list[Row]) -> None:
    where = " AND ".join(f"{column} = ?" for column in (*part.columns.split(", "), "key"))
    db.executemany(f"DELETE FROM {part.table} WHERE {where}", rows)  # noqa: S608 - our names


def _write_links(db: "apsw.Connection", things: Iterable[Thing], shifted: Iterable[str]) -> None:
    """Lead links to whoever has the name now: those that are new, and all to names that were given or taken away."""
    removed, added = _differing(db, LINKS, things)
    _remove(db, LINKS, removed)
    holders = {target: _holder(db, target) for target in {target for _, target, _ in added}}
    if db.execute("SELECT 1 FROM links LIMIT 1").fetchall():
        leading = ((holders.get(name) or _holder(db, name), name) for name in shifted)
        db.executemany("UPDATE links SET goal = ?1 WHERE target = ?2 AND goal IS NOT ?1", leading)
    rows = sorted((key, kind, target, holders[target]) for kind, target, key in added)
    db.executemany("INSERT INTO links (key, kind, target, goal) VALUES (?, ?, ?, ?)", rows)


def _holder(db: "apsw.Connection", name: str) -> int | None:
    rows: list[tuple[Any, ...]] = db.execute(HOLDER, (name,)).fetchall()
    return rows[0][0] if rows else None


def _write_texts(db: "apsw.Connection", things: Iterable[Thing]) -> None:
    added = []
    for each in things:
        row = _text_row(each)
        if each.old is not None:
            if db.execute(TEXT, (each.key,)).fetchall() == [row]:
                continue
            db.execute("DELETE FROM texts WHERE rowid = ?", (each.key,))
        added.append((*row, each.key))
    is_most = len(added) >= MANY and len(added) > sum(int(count) for (count,) in db.execute(COUNT)) // 2
    if is_most:
        db.executemany(MERGE, LATER)
    db.executemany(ADD_TEXT, added)
    if is_most:
        db.execute("INSERT INTO texts (texts) VALUES ('optimize')")
        db.executemany(MERGE, USUAL)


def _text_row(thing: Thing) -> Row:
    leaf = thing.leaf
    name = thing.row[0]
    parts = HUMP.sub(" ", name)
    return (
        name if parts == name else f"{name} {parts}",
        text(" ".join(leaf.keywords)),
        text(leaf.title),
        text(leaf.body),
        text(leaf.fields),
    )


def _write_sources(db: "apsw.Connection", stay: Mapping["Key", "Entry"], gone: Iterable["Key"]) -> None:
    db.executemany("DELETE FROM sources WHERE node = ? AND name = ?", gone)
    db.executemany(KEEP_SOURCE, (_source(key, entry) for key, entry in stay.items()))


def _source(key: "Key", entry: "Entry") -> Row:
    known = entry.known
    problem = known.problem and msgspec.json.encode(known.problem).decode()
    return *key, text(known.path), known.layer, known.stamp, packed(known.path, known.files), problem


def _write_feeds(db: "apsw.Connection", things: Iterable[Thing], lost: Iterable[Row]) -> None:
    """Those that changed what they take or give touch both shapes; those that are gone, theirs."""
    shapes = {each.sha: each for thing in things for each in thing.shapes if each}
    ends = [*((thing.row, thing.old or NOTHING) for thing in things), *((NOTHING, row) for row in lost)]
    changed = [(side, new[at], old[at]) for new, old in ends for at, side in SIDES if new[at] != old[at]]
    begun = ((side, new) for side, new, _ in changed if new is not None)
    ceased = ((side, old) for side, _, old in changed if old is not None)
    feed.settle(db, begun, ceased, shapes)


def _write_pairs(db: "apsw.Connection", pairs: Mapping[tuple[str, str], int]) -> None:
    """Each pair both ways round; one with itself is none."""
    new: Counter[tuple[str, str]] = Counter()
    for (one, other), runs in pairs.items():
        if one != other and runs > 0:
            new[text(one), text(other)] += runs
            new[text(other), text(one)] += runs
    old = {(first, second): runs for first, second, runs in db.execute("SELECT first, second, runs FROM pairs")}
    db.executemany("DELETE FROM pairs WHERE first = ? AND second = ?", old.keys() - new.keys())
    changed = [(*pair, runs) for pair, runs in new.items() if old.get(pair) != runs]
    db.executemany("INSERT OR REPLACE INTO pairs (first, second, runs) VALUES (?, ?, ?)", changed)
