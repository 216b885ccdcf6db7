-- Runs of pipes, and what each call of a run came to. Records are bytes: text that an atom wrote may hold anything.

CREATE TABLE pipe_runs (
    seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    run_id text NOT NULL UNIQUE,
    status text NOT NULL,
    fence bigint NOT NULL,
    error text,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    record bytea NOT NULL,
    CONSTRAINT pipe_runs_status CHECK (
        status IN ('running', 'undoing', 'completed', 'failed', 'canceled', 'blocked')
    ),
    CONSTRAINT pipe_runs_fence CHECK (fence >= 1)
);

CREATE TABLE pipe_members (
    run_id text NOT NULL REFERENCES pipe_runs (run_id),
    step text COLLATE "C" NOT NULL,
    place bigint NOT NULL,
    state text NOT NULL,
    record bytea NOT NULL,
    PRIMARY KEY (run_id, step, place),
    CONSTRAINT pipe_members_place CHECK (place >= 0),
    CONSTRAINT pipe_members_state CHECK (
        state IN ('running', 'done', 'failed', 'skipped', 'unknown', 'undone', 'undo_failed')
    )
);

CREATE INDEX pipe_members_states ON pipe_members (run_id, step, state);
