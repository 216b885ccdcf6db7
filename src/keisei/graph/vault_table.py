"""The tables of graph.db. What follows from them is a view, so that nothing that is derived can be out of date."""

from typing import Final

from keisei.records.sage import EdgeKind, NodeKind

OURS: Final = 0x6B656933
"""The file's application id: who wrote it, and in which layout. Another layout is another number."""
CROWD: Final = 64
"""A domain, a field or a shape that more than this many share relates nobody."""
NODES: Final[tuple[NodeKind, ...]] = ("atom", "capability", "role", "skill", "workflow", "task-type", "rule")
"""In this order a name that two things share is given away; `names.turn` is the place in it."""
EDGES: Final[tuple[EdgeKind, ...]] = ("related", "body", "uses", "lineage", "domain", "feeds", "supplies", "together")

TABLES: Final = f"""
CREATE TABLE nodes (
    key INTEGER PRIMARY KEY, node TEXT NOT NULL, name TEXT NOT NULL, id TEXT NOT NULL, kind TEXT, title TEXT NOT NULL,
    path TEXT NOT NULL, layer TEXT NOT NULL, stability TEXT, deprecated TEXT, creator TEXT, created TEXT,
    takes TEXT, gives TEXT, UNIQUE (node, name)
) STRICT;
CREATE INDEX nodes_takes ON nodes (takes) WHERE takes IS NOT NULL;
CREATE INDEX nodes_gives ON nodes (gives) WHERE gives IS NOT NULL;
CREATE INDEX nodes_name ON nodes (name);

-- what was read of which files, under which stamp; `problem` is why there is no node
CREATE TABLE sources (
    node TEXT NOT NULL, name TEXT NOT NULL, path TEXT NOT NULL, layer TEXT NOT NULL, stamp TEXT, files TEXT NOT NULL,
    problem TEXT, PRIMARY KEY (node, name)
) WITHOUT ROWID, STRICT;

CREATE TABLE names (
    name TEXT NOT NULL, turn INTEGER NOT NULL, key INTEGER NOT NULL, PRIMARY KEY (name, turn, key)
) WITHOUT ROWID, STRICT;
CREATE INDEX names_key ON names (key);

-- `goal` is who has the name now: the first of `names`, NULL where nobody has it
CREATE TABLE links (
    key INTEGER NOT NULL, kind TEXT NOT NULL, target TEXT NOT NULL, goal INTEGER, PRIMARY KEY (key, kind, target)
) WITHOUT ROWID, STRICT;
CREATE INDEX links_target ON links (target);
CREATE INDEX links_goal ON links (goal) WHERE goal IS NOT NULL;

CREATE TABLE facets (
    facet TEXT NOT NULL, value TEXT NOT NULL, key INTEGER NOT NULL, PRIMARY KEY (facet, value, key)
) WITHOUT ROWID, STRICT;
CREATE INDEX facets_key ON facets (key);

CREATE TABLE touches (domain TEXT NOT NULL, key INTEGER NOT NULL, PRIMARY KEY (domain, key)) WITHOUT ROWID, STRICT;
CREATE INDEX touches_key ON touches (key);

-- schemas by digest, without their annotations; fields of an object schema, and whether each is always there
CREATE TABLE shapes (sha TEXT PRIMARY KEY, schema TEXT NOT NULL) WITHOUT ROWID, STRICT;
CREATE TABLE fields (
    side TEXT NOT NULL, field TEXT NOT NULL, sha TEXT NOT NULL, always INTEGER NOT NULL, PRIMARY KEY (side, field, sha)
) WITHOUT ROWID, STRICT;
CREATE INDEX fields_sha ON fields (sha);

-- which shape that is given serves which that is taken; `kind` is that of the edge
CREATE TABLE flows (
    gives TEXT NOT NULL, takes TEXT NOT NULL, kind TEXT NOT NULL, PRIMARY KEY (gives, takes, kind)
) WITHOUT ROWID, STRICT;
CREATE INDEX flows_takes ON flows (takes);

-- atoms of one pipe run: in how many runs; each pair stands here both ways round
CREATE TABLE pairs (
    first TEXT NOT NULL, second TEXT NOT NULL, runs INTEGER NOT NULL, PRIMARY KEY (first, second)
) WITHOUT ROWID, STRICT;
CREATE INDEX pairs_second ON pairs (second);

CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID, STRICT;

-- every edge, by the keys of nodes; `domain` and `together` lead both ways, a link to itself is an edge
CREATE VIEW edges (source, target, kind) AS
SELECT key, goal, kind FROM links WHERE goal IS NOT NULL
UNION ALL
SELECT one.key, other.key, 'domain' FROM touches AS one
JOIN touches AS other ON other.domain = one.domain AND other.key <> one.key
WHERE NOT EXISTS (SELECT 1 FROM touches AS all_ WHERE all_.domain = one.domain LIMIT 1 OFFSET {CROWD})
UNION ALL
SELECT giver.key, taker.key, flows.kind FROM nodes AS giver
JOIN flows ON flows.gives = giver.gives
JOIN nodes AS taker ON taker.takes = flows.takes AND taker.key <> giver.key
WHERE NOT EXISTS (SELECT 1 FROM nodes AS all_ WHERE all_.gives = flows.gives LIMIT 1 OFFSET {CROWD})
AND NOT EXISTS (SELECT 1 FROM nodes AS all_ WHERE all_.takes = flows.takes LIMIT 1 OFFSET {CROWD})
UNION ALL
SELECT one.key, other.key, 'together' FROM pairs
JOIN nodes AS one ON one.name = pairs.first AND +one.node = 'atom'
JOIN nodes AS other ON other.name = pairs.second AND +other.node = 'atom';

CREATE VIRTUAL TABLE texts USING fts5(
    name, keywords, title, body, fields, tokenize = "porter unicode61 remove_diacritics 2"
);
CREATE VIRTUAL TABLE terms USING fts5vocab(texts, 'row');
PRAGMA application_id = {OURS};
"""  # noqa: S608 - constants
