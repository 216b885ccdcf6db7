-- Schedules, sensors, workflows, approvals, budgets; messages that no attempt asks for.

-- A task that no budget covers may be blocked before it is tried.
DROP TRIGGER tasks_moves;

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

ALTER TABLE outbox RENAME TO outbox_before;
DROP INDEX outbox_status;

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

INSERT INTO outbox (seq, key, kind, task_id, attempt_id, payload, status, reason, tries, created_at, delivered_at)
SELECT seq, key, kind, task_id, attempt_id, payload, status, reason, tries, created_at, delivered_at FROM outbox_before;
DROP TABLE outbox_before;

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

ALTER TABLE attempts ADD COLUMN tokens INTEGER;
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
