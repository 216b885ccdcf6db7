-- The ledger proved: what is about one thing, signed checkpoints, and nodes of the tree so that proofs read little.

CREATE INDEX ledger_subject ON ledger (subject, entry_id);

CREATE TABLE checkpoints (
    size INTEGER PRIMARY KEY,
    note TEXT NOT NULL
) STRICT;

-- Perfect subtrees of level 8, 16, 24 and 32, kept with the first checkpoint that covers them.
CREATE TABLE tree_nodes (
    level INTEGER NOT NULL,
    place INTEGER NOT NULL,
    hash BLOB NOT NULL,
    PRIMARY KEY (level, place)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER checkpoints_no_update BEFORE UPDATE ON checkpoints
BEGIN
    SELECT RAISE(ABORT, 'a checkpoint is written once');
END;

CREATE TRIGGER checkpoints_no_delete BEFORE DELETE ON checkpoints
BEGIN
    SELECT RAISE(ABORT, 'a checkpoint is written once');
END;

CREATE TRIGGER tree_nodes_no_update BEFORE UPDATE ON tree_nodes
BEGIN
    SELECT RAISE(ABORT, 'a node of the tree is written once');
END;

CREATE TRIGGER tree_nodes_no_delete BEFORE DELETE ON tree_nodes
BEGIN
    SELECT RAISE(ABORT, 'a node of the tree is written once');
END;
