-- The ledger proved: what is about one thing, signed checkpoints, and nodes of the tree so that proofs read little.

-- Its beginning, because an index takes no text of several thousand bytes.
CREATE INDEX ledger_subject ON ledger ("left"(subject, 128), entry_id);

-- A mark is of a row that there is. Not asked of marks that are there already: a step must not fail for one of them.
ALTER TABLE unsealed ADD CONSTRAINT unsealed_entry_id_fkey
FOREIGN KEY (entry_id) REFERENCES ledger (entry_id) NOT VALID;

CREATE TABLE checkpoints (
    size bigint PRIMARY KEY,
    note text NOT NULL
);

-- Perfect subtrees of level 8, 16, 24 and 32, kept with the first checkpoint that covers them.
CREATE TABLE tree_nodes (
    level bigint NOT NULL,
    place bigint NOT NULL,
    hash bytea NOT NULL,
    PRIMARY KEY (level, place)
);

CREATE TRIGGER checkpoints_no_update BEFORE UPDATE ON checkpoints FOR EACH ROW
EXECUTE FUNCTION keisei_refuse('a checkpoint is written once');

CREATE TRIGGER checkpoints_no_delete BEFORE DELETE ON checkpoints FOR EACH ROW
EXECUTE FUNCTION keisei_refuse('a checkpoint is written once');

CREATE TRIGGER checkpoints_no_truncate BEFORE TRUNCATE ON checkpoints FOR EACH STATEMENT
EXECUTE FUNCTION keisei_refuse('a checkpoint is written once');

CREATE TRIGGER tree_nodes_no_update BEFORE UPDATE ON tree_nodes FOR EACH ROW
EXECUTE FUNCTION keisei_refuse('a node of the tree is written once');

CREATE TRIGGER tree_nodes_no_delete BEFORE DELETE ON tree_nodes FOR EACH ROW
EXECUTE FUNCTION keisei_refuse('a node of the tree is written once');

CREATE TRIGGER tree_nodes_no_truncate BEFORE TRUNCATE ON tree_nodes FOR EACH STATEMENT
EXECUTE FUNCTION keisei_refuse('a node of the tree is written once');
