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
-- Tasks that another task asked for, by who asked.
CREATE INDEX tasks_asked ON tasks (source, created_at) WHERE depth > 0;

-- The moves of rules/task.py once more.
CREATE TRIGGER tasks_moves BEFORE UPDATE OF status ON tasks
WHEN NEW.status <> OLD.status AND NOT CASE OLD.status
    WHEN 'pending' THEN NEW.status = 'running' OR NEW.status = 'blocked' OR NEW.status = 'operator_canceled'
    WHEN 'running' THEN NEW.status = 'completed' OR NEW.status = 'retryable_failure' OR NEW.status = 'pending'
        OR NEW.status = 'permanent_failure' OR NEW.status = 'blocked' OR NEW.status = 'operator_canceled'
    WHEN 'retryable_failure' THEN NEW.status = 'running' OR NEW.status = 'pending' OR NEW.status = 'blocked'
        OR NEW.status = 'operator_canceled'
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
    record TEXT NOT NULL DEFAULT '{}', tokens INTEGER,
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
    task_id TEXT,
    attempt_id TEXT REFERENCES attempts (attempt_id),
    payload TEXT NOT NULL,
    status TEXT NOT NULL,
    reason TEXT,
    tries INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    next_try_at INTEGER,
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

CREATE TABLE schedules (
    schedule_id TEXT NOT NULL PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    enabled INTEGER NOT NULL,
    next_run_at INTEGER NOT NULL,
    last_run_at INTEGER,
    task_id TEXT,
    version INTEGER NOT NULL,
    record TEXT NOT NULL
) STRICT;

CREATE INDEX schedules_due ON schedules (next_run_at) WHERE enabled = 1;

-- What became of due moments; they stay when their schedule goes.
CREATE TABLE slots (
    seq INTEGER PRIMARY KEY,
    schedule_id TEXT NOT NULL,
    status TEXT NOT NULL,
    first_due_at INTEGER NOT NULL,
    due_at INTEGER NOT NULL,
    count INTEGER NOT NULL,
    reason TEXT,
    task_id TEXT,
    recorded_at INTEGER NOT NULL,
    CONSTRAINT slots_status CHECK (status IN ('enqueued', 'coalesced', 'skipped')),
    CONSTRAINT slots_count CHECK (count > 0 AND (status <> 'enqueued' OR (count = 1 AND task_id IS NOT NULL)))
) STRICT;

CREATE INDEX slots_schedule ON slots (schedule_id, seq);

CREATE TABLE sensor_events (
    seq INTEGER PRIMARY KEY,
    sensor_id TEXT NOT NULL,
    event_id TEXT NOT NULL,
    dedupe_key TEXT NOT NULL,
    status TEXT NOT NULL,
    reason TEXT,
    task_id TEXT,
    workflow_id TEXT,
    repeats INTEGER NOT NULL DEFAULT 0,
    repeated_at INTEGER,
    recorded_at INTEGER NOT NULL,
    record TEXT NOT NULL,
    CONSTRAINT sensor_events_status CHECK (status IN ('accepted', 'stale'))
) STRICT;

CREATE UNIQUE INDEX sensor_events_key ON sensor_events (sensor_id, dedupe_key);
CREATE UNIQUE INDEX sensor_events_event ON sensor_events (sensor_id, event_id);

CREATE TABLE sensors (
    sensor_id TEXT NOT NULL PRIMARY KEY,
    cursor TEXT,
    next_run_at INTEGER NOT NULL,
    last_run_at INTEGER,
    failures INTEGER NOT NULL,
    reason TEXT,
    paused INTEGER NOT NULL,
    version INTEGER NOT NULL
) STRICT;

-- Versions of workflow definitions; an instance follows the one it began with.
CREATE TABLE definitions (
    definition_hash TEXT NOT NULL PRIMARY KEY,
    workflow_type TEXT NOT NULL,
    record TEXT NOT NULL
) STRICT;

CREATE TABLE workflows (
    seq INTEGER PRIMARY KEY,
    workflow_id TEXT NOT NULL UNIQUE,
    workflow_type TEXT NOT NULL,
    instance_key TEXT NOT NULL UNIQUE,
    status TEXT NOT NULL,
    awaits TEXT NOT NULL,
    task_id TEXT,
    asks INTEGER NOT NULL,
    definition_hash TEXT NOT NULL REFERENCES definitions (definition_hash),
    version INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    record TEXT NOT NULL,
    CONSTRAINT workflows_status CHECK (
        CASE status
            WHEN 'active' THEN awaits IN ('entry', 'task', 'signal')
            WHEN 'blocked' THEN awaits = 'person'
            WHEN 'completed' THEN awaits = 'nothing'
            ELSE FALSE
        END
    ),
    CONSTRAINT workflows_task CHECK (awaits <> 'task' OR task_id IS NOT NULL)
) STRICT;

CREATE INDEX workflows_open ON workflows (updated_at) WHERE awaits <> 'nothing';

CREATE TABLE visits (
    seq INTEGER PRIMARY KEY,
    workflow_id TEXT NOT NULL REFERENCES workflows (workflow_id),
    state TEXT NOT NULL,
    visit INTEGER NOT NULL,
    task_id TEXT,
    entered_at INTEGER NOT NULL,
    left_at INTEGER,
    signal TEXT,
    actor TEXT
) STRICT;

CREATE UNIQUE INDEX visits_key ON visits (workflow_id, state, visit);

CREATE TABLE approvals (
    seq INTEGER PRIMARY KEY,
    approval_id TEXT NOT NULL UNIQUE,
    key TEXT NOT NULL,
    status TEXT NOT NULL,
    task_id TEXT,
    deadline INTEGER,
    reminded_at INTEGER,
    record TEXT NOT NULL,
    CONSTRAINT approvals_status CHECK (
        status IN ('open', 'approved', 'rejected', 'answered', 'resolved', 'expired')
    )
) STRICT;

CREATE UNIQUE INDEX approvals_open ON approvals (key) WHERE status = 'open';
CREATE INDEX approvals_status ON approvals (status, seq);
CREATE INDEX approvals_task ON approvals (task_id) WHERE task_id IS NOT NULL;

-- What open attempts may spend. What they have spent stands in the attempts themselves.
CREATE TABLE reservations (
    attempt_id TEXT NOT NULL PRIMARY KEY REFERENCES attempts (attempt_id),
    usd REAL,
    tokens INTEGER
) STRICT;

CREATE INDEX attempts_started ON attempts (started_at);

CREATE TABLE grants (
    seq INTEGER PRIMARY KEY,
    grant_id TEXT NOT NULL UNIQUE,
    scope TEXT NOT NULL,
    day TEXT,
    usd REAL,
    tokens INTEGER,
    reason TEXT NOT NULL,
    actor TEXT NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;

CREATE INDEX grants_day ON grants (day);
CREATE INDEX grants_scope ON grants (scope);

-- Tasks that a claim passed over because no budget covers them.
CREATE TABLE holds (
    task_id TEXT NOT NULL PRIMARY KEY REFERENCES tasks (task_id),
    scope TEXT NOT NULL,
    reason TEXT NOT NULL,
    until INTEGER
) STRICT;

CREATE INDEX outbox_delivered ON outbox (delivered_at) WHERE delivered_at IS NOT NULL;

-- Verified candidates on their way to main.

CREATE TABLE landings (
    seq INTEGER PRIMARY KEY,
    landing_id TEXT NOT NULL UNIQUE,
    task_id TEXT NOT NULL REFERENCES tasks (task_id),
    attempt_id TEXT NOT NULL REFERENCES attempts (attempt_id),
    status TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    record TEXT NOT NULL,
    CONSTRAINT landings_status CHECK (
        status IN ('held', 'queued', 'landing', 'landed', 'rejected', 'reverted')
    )
) STRICT;

CREATE INDEX landings_open ON landings (seq) WHERE status IN ('queued', 'landing', 'held');
CREATE INDEX landings_task ON landings (task_id);
CREATE INDEX landings_attempt ON landings (attempt_id);

-- The moves of rules/landing.py once more.
CREATE TRIGGER landings_moves BEFORE UPDATE OF status ON landings
WHEN NOT CASE OLD.status
    WHEN 'held' THEN NEW.status = 'queued' OR NEW.status = 'rejected'
    WHEN 'queued' THEN NEW.status = 'landing' OR NEW.status = 'held' OR NEW.status = 'rejected'
    WHEN 'landing' THEN NEW.status = 'landing' OR NEW.status = 'queued' OR NEW.status = 'held'
        OR NEW.status = 'landed' OR NEW.status = 'rejected'
    WHEN 'landed' THEN NEW.status = 'reverted'
    ELSE FALSE
END
BEGIN
    SELECT RAISE(ABORT, 'this move is not allowed');
END;

CREATE TRIGGER landings_over BEFORE UPDATE ON landings WHEN OLD.status = 'rejected' OR OLD.status = 'reverted'
BEGIN
    SELECT RAISE(ABORT, 'a landing that is over never changes');
END;

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

-- What people ask for: orders that may come twice, and lists of everything.

-- Orders with an `Idempotency-Key`: begun before they are carried out, answered after.
CREATE TABLE requests (
    actor TEXT NOT NULL,
    key TEXT NOT NULL,
    digest TEXT NOT NULL,
    fence INTEGER NOT NULL,
    began_at INTEGER NOT NULL,
    status INTEGER,
    body BLOB,
    PRIMARY KEY (actor, key),
    CONSTRAINT requests_fence CHECK (fence >= 1),
    CONSTRAINT requests_body CHECK (body IS NULL OR status IS NOT NULL)
) STRICT;

CREATE INDEX requests_began ON requests (began_at);

-- Everything a list is narrowed by that never changes: a walk along it reads a tenth of the table, and no move of a
-- task has to write it.
CREATE INDEX tasks_list ON tasks (seq, task_type, source, profile_id, agent, adapter_id, created_at);
-- Only what went wrong is in it.
CREATE INDEX tasks_ill ON tasks (updated_at, status) WHERE status IN ('permanent_failure', 'blocked');
CREATE INDEX landings_rejected ON landings (updated_at) WHERE status = 'rejected';
-- What every attempt leaves is met soon by walking back, and is not in it: an attempt writes nothing here.
CREATE INDEX events_type ON events (event_type) WHERE event_type NOT IN (
    'task_enqueued', 'task_claimed', 'bundle_compiled', 'task_started', 'task_attempt_finished', 'task_finished'
);

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
