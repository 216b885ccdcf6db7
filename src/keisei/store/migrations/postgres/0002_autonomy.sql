-- Schedules, sensors, workflows, approvals, budgets; messages that no attempt asks for.

-- A task that no budget covers may be blocked before it is tried.
DROP TRIGGER tasks_moves ON tasks;

-- The moves of rules/task.py once more.
CREATE TRIGGER tasks_moves BEFORE UPDATE OF status ON tasks FOR EACH ROW
WHEN (NEW.status <> OLD.status AND NOT CASE OLD.status
    WHEN 'pending' THEN NEW.status = 'running' OR NEW.status = 'blocked' OR NEW.status = 'operator_canceled'
    WHEN 'running' THEN NEW.status = 'completed' OR NEW.status = 'retryable_failure' OR NEW.status = 'pending'
        OR NEW.status = 'permanent_failure' OR NEW.status = 'blocked' OR NEW.status = 'operator_canceled'
    WHEN 'retryable_failure' THEN NEW.status = 'running' OR NEW.status = 'pending' OR NEW.status = 'blocked'
        OR NEW.status = 'operator_canceled'
    WHEN 'blocked' THEN NEW.status = 'pending' OR NEW.status = 'permanent_failure' OR NEW.status = 'operator_canceled'
    ELSE FALSE
END)
EXECUTE FUNCTION keisei_refuse('this move is not allowed');

ALTER TABLE outbox ALTER COLUMN task_id DROP NOT NULL, ALTER COLUMN attempt_id DROP NOT NULL, ADD COLUMN next_try_at bigint;

CREATE TABLE schedules (
    schedule_id text NOT NULL PRIMARY KEY,
    name text NOT NULL UNIQUE,
    enabled bigint NOT NULL,
    next_run_at bigint NOT NULL,
    last_run_at bigint,
    task_id text,
    version bigint NOT NULL,
    record text NOT NULL
);

CREATE INDEX schedules_due ON schedules (next_run_at) WHERE enabled = 1;

-- What became of due moments; they stay when their schedule goes.
CREATE TABLE slots (
    seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    schedule_id text NOT NULL,
    status text NOT NULL,
    first_due_at bigint NOT NULL,
    due_at bigint NOT NULL,
    count bigint NOT NULL,
    reason text,
    task_id text,
    recorded_at bigint NOT NULL,
    CONSTRAINT slots_status CHECK (status IN ('enqueued', 'coalesced', 'skipped')),
    CONSTRAINT slots_count CHECK (count > 0 AND (status <> 'enqueued' OR (count = 1 AND task_id IS NOT NULL)))
);

CREATE INDEX slots_schedule ON slots (schedule_id, seq);

CREATE TABLE sensor_events (
    seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    sensor_id text NOT NULL,
    event_id text NOT NULL,
    dedupe_key text NOT NULL,
    status text NOT NULL,
    reason text,
    task_id text,
    workflow_id text,
    repeats bigint NOT NULL DEFAULT 0,
    repeated_at bigint,
    recorded_at bigint NOT NULL,
    record text NOT NULL,
    CONSTRAINT sensor_events_status CHECK (status IN ('accepted', 'stale'))
);

CREATE UNIQUE INDEX sensor_events_key ON sensor_events (sensor_id, dedupe_key);
CREATE UNIQUE INDEX sensor_events_event ON sensor_events (sensor_id, event_id);

CREATE TABLE sensors (
    sensor_id text NOT NULL PRIMARY KEY,
    cursor text,
    next_run_at bigint NOT NULL,
    last_run_at bigint,
    failures bigint NOT NULL,
    reason text,
    paused bigint NOT NULL,
    version bigint NOT NULL
);

-- Versions of workflow definitions; an instance follows the one it began with.
CREATE TABLE definitions (
    definition_hash text NOT NULL PRIMARY KEY,
    workflow_type text NOT NULL,
    record text NOT NULL
);

CREATE TABLE workflows (
    seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    workflow_id text NOT NULL UNIQUE,
    workflow_type text NOT NULL,
    instance_key text NOT NULL UNIQUE,
    status text NOT NULL,
    awaits text NOT NULL,
    task_id text,
    asks bigint NOT NULL,
    definition_hash text NOT NULL REFERENCES definitions (definition_hash),
    version bigint NOT NULL,
    updated_at bigint NOT NULL,
    record text NOT NULL,
    CONSTRAINT workflows_status CHECK (
        CASE status
            WHEN 'active' THEN awaits IN ('entry', 'task', 'signal')
            WHEN 'blocked' THEN awaits = 'person'
            WHEN 'completed' THEN awaits = 'nothing'
            ELSE FALSE
        END
    ),
    CONSTRAINT workflows_task CHECK (awaits <> 'task' OR task_id IS NOT NULL)
);

CREATE INDEX workflows_open ON workflows (updated_at) WHERE awaits <> 'nothing';

CREATE TABLE visits (
    seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    workflow_id text NOT NULL REFERENCES workflows (workflow_id),
    state text NOT NULL,
    visit bigint NOT NULL,
    task_id text,
    entered_at bigint NOT NULL,
    left_at bigint,
    signal text,
    actor text
);

CREATE UNIQUE INDEX visits_key ON visits (workflow_id, state, visit);

CREATE TABLE approvals (
    seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    approval_id text NOT NULL UNIQUE,
    key text NOT NULL,
    status text NOT NULL,
    task_id text,
    deadline bigint,
    reminded_at bigint,
    record text NOT NULL,
    CONSTRAINT approvals_status CHECK (
        status IN ('open', 'approved', 'rejected', 'answered', 'resolved', 'expired')
    )
);

CREATE UNIQUE INDEX approvals_open ON approvals (key) WHERE status = 'open';
CREATE INDEX approvals_status ON approvals (status, seq);
CREATE INDEX approvals_task ON approvals (task_id) WHERE task_id IS NOT NULL;

-- What open attempts may spend. What they have spent stands in the attempts themselves.
CREATE TABLE reservations (
    attempt_id text NOT NULL PRIMARY KEY REFERENCES attempts (attempt_id),
    usd double precision,
    tokens bigint
);

ALTER TABLE attempts ADD COLUMN tokens bigint;
CREATE INDEX attempts_started ON attempts (started_at);

CREATE TABLE grants (
    seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    grant_id text NOT NULL UNIQUE,
    scope text NOT NULL,
    day text,
    usd double precision,
    tokens bigint,
    reason text NOT NULL,
    actor text NOT NULL,
    created_at bigint NOT NULL
);

CREATE INDEX grants_day ON grants (day);
CREATE INDEX grants_scope ON grants (scope);

-- Tasks that a claim passed over because no budget covers them.
CREATE TABLE holds (
    task_id text NOT NULL PRIMARY KEY REFERENCES tasks (task_id),
    scope text NOT NULL,
    reason text NOT NULL,
    until bigint
);

CREATE INDEX outbox_delivered ON outbox (delivered_at) WHERE delivered_at IS NOT NULL;
