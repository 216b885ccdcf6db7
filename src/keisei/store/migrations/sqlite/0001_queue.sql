-- Times are whole microseconds since 1970 UTC. JSON is text. What a record never changes stands in `body`.

CREATE TABLE schema_migrations (
    version INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    checksum TEXT NOT NULL,
    applied_at INTEGER NOT NULL
) STRICT;

CREATE TABLE tasks (
    seq INTEGER PRIMARY KEY,
    task_id TEXT NOT NULL UNIQUE,
    status TEXT NOT NULL,
    ready INTEGER NOT NULL,
    rank INTEGER NOT NULL,
    priority INTEGER NOT NULL,
    task_type TEXT NOT NULL,
    source TEXT NOT NULL,
    profile_id TEXT NOT NULL,
    adapter_id TEXT,
    breaker_id TEXT,
    agent TEXT,
    idempotency_key TEXT,
    attempt_count INTEGER NOT NULL,
    max_attempts INTEGER NOT NULL,
    fence INTEGER NOT NULL DEFAULT 0,
    postponed INTEGER NOT NULL DEFAULT 0,
    depth INTEGER NOT NULL,
    available_at INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    started_at INTEGER,
    finished_at INTEGER,
    outcome TEXT,
    last_error TEXT,
    cancel_at INTEGER,
    cancel_reason TEXT,
    body TEXT NOT NULL,
    CONSTRAINT tasks_place CHECK (
        CASE status
            WHEN 'pending' THEN ready IN (0, 1)
            WHEN 'retryable_failure' THEN ready IN (0, 1)
            WHEN 'running' THEN ready = 2
            WHEN 'completed' THEN ready = 3 AND outcome IS NOT NULL
            WHEN 'permanent_failure' THEN ready = 3
            WHEN 'operator_canceled' THEN ready = 3
            WHEN 'blocked' THEN ready = 4
            ELSE FALSE
        END
    ),
    CONSTRAINT tasks_over CHECK ((ready = 3) = (finished_at IS NOT NULL)),
    CONSTRAINT tasks_tries CHECK (attempt_count >= 0 AND attempt_count < max_attempts + (ready > 1)),
    CONSTRAINT tasks_cancel CHECK (cancel_at IS NULL OR ready = 2)
) STRICT;

CREATE UNIQUE INDEX tasks_key ON tasks (idempotency_key) WHERE idempotency_key IS NOT NULL;
-- The claim's index: a million delayed, finished or parked tasks are not in it. The last two columns save a look at
-- the row: one is counted, the other passed over.
CREATE INDEX tasks_ready ON tasks (rank, seq, status, breaker_id) WHERE ready = 1;
CREATE INDEX tasks_delayed ON tasks (available_at, status) WHERE ready = 0;
CREATE INDEX tasks_running ON tasks (seq) WHERE ready = 2;
CREATE INDEX tasks_finished ON tasks (status, seq) WHERE ready = 3;
CREATE INDEX tasks_memory ON tasks (agent, profile_id, finished_at) WHERE ready = 3;
CREATE INDEX tasks_parked ON tasks (seq) WHERE ready = 4;

-- The moves of rules/task.py once more.
CREATE TRIGGER tasks_moves BEFORE UPDATE OF status ON tasks
WHEN NEW.status <> OLD.status AND NOT CASE OLD.status
    WHEN 'pending' THEN NEW.status = 'running' OR NEW.status = 'operator_canceled'
    WHEN 'running' THEN NEW.status = 'completed' OR NEW.status = 'retryable_failure' OR NEW.status = 'pending'
        OR NEW.status = 'permanent_failure' OR NEW.status = 'blocked' OR NEW.status = 'operator_canceled'
    WHEN 'retryable_failure' THEN NEW.status = 'running' OR NEW.status = 'pending' OR NEW.status = 'operator_canceled'
    WHEN 'blocked' THEN NEW.status = 'pending' OR NEW.status = 'permanent_failure' OR NEW.status = 'operator_canceled'
    ELSE FALSE
END
BEGIN
    SELECT RAISE(ABORT, 'this move is not allowed');
END;

CREATE TRIGGER tasks_terminal BEFORE UPDATE ON tasks WHEN OLD.ready = 3
BEGIN
    SELECT RAISE(ABORT, 'a finished task never changes');
END;

CREATE TABLE attempts (
    seq INTEGER PRIMARY KEY,
    attempt_id TEXT NOT NULL UNIQUE,
    task_id TEXT NOT NULL REFERENCES tasks (task_id),
    runner_id TEXT NOT NULL,
    fence INTEGER NOT NULL,
    stage INTEGER NOT NULL DEFAULT 0,
    started_at INTEGER NOT NULL,
    returned_at INTEGER,
    ended_at INTEGER,
    exit_status TEXT,
    retry_class TEXT NOT NULL DEFAULT 'none',
    adapter_id TEXT NOT NULL,
    adapter_kind TEXT NOT NULL DEFAULT 'unresolved',
    model TEXT,
    bundle_id TEXT,
    cost_usd REAL,
    record TEXT NOT NULL DEFAULT '{}',
    CONSTRAINT attempts_closed CHECK ((ended_at IS NULL) = (exit_status IS NULL))
) STRICT;

CREATE INDEX attempts_task ON attempts (task_id);
-- Two runners cannot hold one task, even if the code is wrong.
CREATE UNIQUE INDEX attempts_open ON attempts (task_id) WHERE ended_at IS NULL;
-- Open, in other words: a statement that looks for one attempt says `ended_at IS NULL`, and must not read all open ones.
CREATE INDEX attempts_runner ON attempts (runner_id) WHERE exit_status IS NULL;

CREATE TABLE bundles (
    bundle_id TEXT NOT NULL PRIMARY KEY,
    attempt_id TEXT NOT NULL UNIQUE REFERENCES attempts (attempt_id),
    task_id TEXT NOT NULL,
    record TEXT NOT NULL
) STRICT;

CREATE TABLE findings (
    seq INTEGER PRIMARY KEY,
    finding_id TEXT NOT NULL UNIQUE,
    attempt_id TEXT NOT NULL REFERENCES attempts (attempt_id),
    record TEXT NOT NULL
) STRICT;

CREATE INDEX findings_attempt ON findings (attempt_id);

CREATE TABLE artifacts (
    seq INTEGER PRIMARY KEY,
    artifact_id TEXT NOT NULL UNIQUE,
    task_id TEXT NOT NULL REFERENCES tasks (task_id),
    record TEXT NOT NULL
) STRICT;

CREATE INDEX artifacts_task ON artifacts (task_id);

CREATE TABLE outbox (
    seq INTEGER PRIMARY KEY,
    key TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL,
    task_id TEXT NOT NULL,
    attempt_id TEXT NOT NULL REFERENCES attempts (attempt_id),
    payload TEXT NOT NULL,
    status TEXT NOT NULL,
    reason TEXT,
    tries INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    delivered_at INTEGER,
    CONSTRAINT outbox_status CHECK (status IN ('pending', 'delivered', 'refused', 'dead'))
) STRICT;

CREATE INDEX outbox_status ON outbox (status, seq);

CREATE TABLE events (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    event_type TEXT NOT NULL,
    task_id TEXT,
    attempt_id TEXT,
    detail TEXT NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;

CREATE INDEX events_task ON events (task_id) WHERE task_id IS NOT NULL;

CREATE TABLE runners (
    runner_id TEXT NOT NULL PRIMARY KEY,
    host TEXT NOT NULL,
    boot_id TEXT NOT NULL,
    pid INTEGER NOT NULL,
    born TEXT NOT NULL,
    version TEXT NOT NULL,
    slots INTEGER NOT NULL,
    lease_us INTEGER NOT NULL,
    state TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    heartbeat_at INTEGER NOT NULL,
    beat_us INTEGER NOT NULL,
    beat_boot_id TEXT NOT NULL,
    ended_at INTEGER,
    CONSTRAINT runners_state CHECK (state IN ('active', 'draining', 'stopped', 'lost')),
    CONSTRAINT runners_ended CHECK ((ended_at IS NULL) = (state IN ('active', 'draining')))
) STRICT;

CREATE INDEX runners_alive ON runners (runner_id) WHERE ended_at IS NULL;

CREATE TABLE pauses (
    scope TEXT NOT NULL PRIMARY KEY,
    reason TEXT NOT NULL,
    actor TEXT NOT NULL,
    since INTEGER NOT NULL
) STRICT;

CREATE TABLE breakers (
    adapter_id TEXT NOT NULL PRIMARY KEY,
    failures INTEGER NOT NULL,
    kind TEXT,
    reason TEXT,
    open_until INTEGER,
    needs_person INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;

CREATE TABLE ledger (
    entry_id INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL,
    subject TEXT NOT NULL,
    content BLOB NOT NULL,
    leaf_hash BLOB NOT NULL
) STRICT;

CREATE INDEX ledger_kind ON ledger (kind, entry_id);

CREATE TABLE seals (
    seq INTEGER PRIMARY KEY,
    entry_id INTEGER NOT NULL UNIQUE REFERENCES ledger (entry_id),
    leaf_hash BLOB NOT NULL,
    chain_hash BLOB NOT NULL
) STRICT;

CREATE TRIGGER ledger_no_update BEFORE UPDATE ON ledger
BEGIN
    SELECT RAISE(ABORT, 'the ledger is written once');
END;

CREATE TRIGGER ledger_no_delete BEFORE DELETE ON ledger
BEGIN
    SELECT RAISE(ABORT, 'the ledger is written once');
END;

CREATE TRIGGER seals_no_update BEFORE UPDATE ON seals
BEGIN
    SELECT RAISE(ABORT, 'a seal is written once');
END;

CREATE TRIGGER seals_no_delete BEFORE DELETE ON seals
BEGIN
    SELECT RAISE(ABORT, 'a seal is written once');
END;
