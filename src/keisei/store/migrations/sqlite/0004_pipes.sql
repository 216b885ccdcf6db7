-- Runs of pipes, and what each call of a run came to.

CREATE TABLE pipe_runs (
    seq INTEGER PRIMARY KEY,
    run_id TEXT NOT NULL UNIQUE,
    status TEXT NOT NULL,
    fence INTEGER NOT NULL,
    error TEXT,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    record BLOB NOT NULL,
    CONSTRAINT pipe_runs_status CHECK (
        status IN ('running', 'undoing', 'completed', 'failed', 'canceled', 'blocked')
    ),
    CONSTRAINT pipe_runs_fence CHECK (fence >= 1)
) STRICT;

CREATE TABLE pipe_members (
    run_id TEXT NOT NULL REFERENCES pipe_runs (run_id),
    step TEXT NOT NULL,
    place INTEGER NOT NULL,
    state TEXT NOT NULL,
    record BLOB NOT NULL,
    PRIMARY KEY (run_id, step, place),
    CONSTRAINT pipe_members_place CHECK (place >= 0),
    CONSTRAINT pipe_members_state CHECK (
        state IN ('running', 'done', 'failed', 'skipped', 'unknown', 'undone', 'undo_failed')
    )
) STRICT;

CREATE INDEX pipe_members_states ON pipe_members (run_id, step, state);
