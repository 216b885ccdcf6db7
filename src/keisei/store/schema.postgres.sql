-- Times are whole microseconds since 1970 UTC. JSON is text. What a record never changes stands in `body`.

CREATE TABLE schema_migrations (
    version bigint PRIMARY KEY,
    name text NOT NULL,
    checksum text NOT NULL,
    applied_at bigint NOT NULL
);

CREATE TABLE tasks (
    seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    task_id text NOT NULL UNIQUE,
    status text NOT NULL,
    ready smallint NOT NULL,
    rank bigint NOT NULL,
    priority integer NOT NULL,
    task_type text NOT NULL,
    source text NOT NULL,
    profile_id text NOT NULL,
    adapter_id text,
    breaker_id text,
    agent text,
    idempotency_key text,
    attempt_count bigint NOT NULL,
    max_attempts bigint NOT NULL,
    fence bigint NOT NULL DEFAULT 0,
    postponed bigint NOT NULL DEFAULT 0,
    depth bigint NOT NULL,
    available_at bigint NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    started_at bigint,
    finished_at bigint,
    outcome text,
    last_error text,
    cancel_at bigint,
    cancel_reason text,
    body text NOT NULL,
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
    CONSTRAINT tasks_tries CHECK (attempt_count >= 0 AND attempt_count < max_attempts + (ready > 1)::integer),
    CONSTRAINT tasks_cancel CHECK (cancel_at IS NULL OR ready = 2)
) WITH (autovacuum_vacuum_scale_factor = 0.02);

CREATE UNIQUE INDEX tasks_key ON tasks (idempotency_key) WHERE idempotency_key IS NOT NULL;
-- The claim's index: a million delayed, finished or parked tasks are not in it. The last two columns save a look at
-- the row: one is counted, the other passed over.
CREATE INDEX tasks_ready ON tasks (rank, seq, status, breaker_id) WHERE ready = 1;
CREATE INDEX tasks_delayed ON tasks (available_at, status) WHERE ready = 0;
CREATE INDEX tasks_running ON tasks (seq) WHERE ready = 2;
CREATE INDEX tasks_finished ON tasks (status, seq) WHERE ready = 3;
CREATE INDEX tasks_memory ON tasks (agent, profile_id, finished_at, seq) WHERE ready = 3;
CREATE INDEX tasks_parked ON tasks (seq) WHERE ready = 4;

CREATE FUNCTION keisei_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION USING ERRCODE = 'integrity_constraint_violation', MESSAGE = TG_ARGV[0];
END
$$;

-- The moves of rules/task.py once more.
CREATE TRIGGER tasks_moves BEFORE UPDATE OF status ON tasks FOR EACH ROW
WHEN (NEW.status <> OLD.status AND NOT CASE OLD.status
    WHEN 'pending' THEN NEW.status = 'running' OR NEW.status = 'operator_canceled'
    WHEN 'running' THEN NEW.status = 'completed' OR NEW.status = 'retryable_failure' OR NEW.status = 'pending'
        OR NEW.status = 'permanent_failure' OR NEW.status = 'blocked' OR NEW.status = 'operator_canceled'
    WHEN 'retryable_failure' THEN NEW.status = 'running' OR NEW.status = 'pending' OR NEW.status = 'operator_canceled'
    WHEN 'blocked' THEN NEW.status = 'pending' OR NEW.status = 'permanent_failure' OR NEW.status = 'operator_canceled'
    ELSE FALSE
END)
EXECUTE FUNCTION keisei_refuse('this move is not allowed');

CREATE TRIGGER tasks_terminal BEFORE UPDATE ON tasks FOR EACH ROW WHEN (OLD.ready = 3)
EXECUTE FUNCTION keisei_refuse('a finished task never changes');

CREATE TABLE attempts (
    seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    attempt_id text NOT NULL UNIQUE,
    task_id text NOT NULL REFERENCES tasks (task_id),
    runner_id text NOT NULL,
    fence bigint NOT NULL,
    stage smallint NOT NULL DEFAULT 0,
    started_at bigint NOT NULL,
    returned_at bigint,
    ended_at bigint,
    exit_status text,
    retry_class text NOT NULL DEFAULT 'none',
    adapter_id text NOT NULL,
    adapter_kind text NOT NULL DEFAULT 'unresolved',
    model text,
    bundle_id text,
    cost_usd double precision,
    record text NOT NULL DEFAULT '{}',
    CONSTRAINT attempts_closed CHECK ((ended_at IS NULL) = (exit_status IS NULL))
) WITH (autovacuum_vacuum_scale_factor = 0.02);

CREATE INDEX attempts_task ON attempts (task_id, seq);
-- Two runners cannot hold one task, even if the code is wrong.
CREATE UNIQUE INDEX attempts_open ON attempts (task_id) WHERE ended_at IS NULL;
-- Open, in other words: a statement that looks for one attempt says `ended_at IS NULL`, and must not read all open ones.
CREATE INDEX attempts_runner ON attempts (runner_id) WHERE exit_status IS NULL;

CREATE TABLE bundles (
    bundle_id text NOT NULL PRIMARY KEY,
    attempt_id text NOT NULL UNIQUE REFERENCES attempts (attempt_id),
    task_id text NOT NULL,
    record text NOT NULL
);

CREATE TABLE findings (
    seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    finding_id text NOT NULL UNIQUE,
    attempt_id text NOT NULL REFERENCES attempts (attempt_id),
    record text NOT NULL
);

CREATE INDEX findings_attempt ON findings (attempt_id);

CREATE TABLE artifacts (
    seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    artifact_id text NOT NULL UNIQUE,
    task_id text NOT NULL REFERENCES tasks (task_id),
    record text NOT NULL
);

CREATE INDEX artifacts_task ON artifacts (task_id);

CREATE TABLE outbox (
    seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    key text NOT NULL UNIQUE,
    kind text NOT NULL,
    task_id text NOT NULL,
    attempt_id text NOT NULL REFERENCES attempts (attempt_id),
    payload text NOT NULL,
    status text NOT NULL,
    reason text,
    tries bigint NOT NULL,
    created_at bigint NOT NULL,
    delivered_at bigint,
    CONSTRAINT outbox_status CHECK (status IN ('pending', 'delivered', 'refused', 'dead'))
);

CREATE INDEX outbox_status ON outbox (status, seq);

CREATE TABLE events (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    event_type text NOT NULL,
    task_id text,
    attempt_id text,
    detail text NOT NULL,
    created_at bigint NOT NULL
);

CREATE INDEX events_task ON events (task_id, id) WHERE task_id IS NOT NULL;

CREATE TABLE runners (
    runner_id text NOT NULL PRIMARY KEY,
    host text NOT NULL,
    boot_id text NOT NULL,
    pid bigint NOT NULL,
    born text NOT NULL,
    version text NOT NULL,
    slots bigint NOT NULL,
    lease_us bigint NOT NULL,
    state text NOT NULL,
    started_at bigint NOT NULL,
    heartbeat_at bigint NOT NULL,
    beat_us bigint NOT NULL,
    beat_boot_id text NOT NULL,
    ended_at bigint,
    CONSTRAINT runners_state CHECK (state IN ('active', 'draining', 'stopped', 'lost')),
    CONSTRAINT runners_ended CHECK ((ended_at IS NULL) = (state IN ('active', 'draining')))
);

CREATE INDEX runners_alive ON runners (runner_id) WHERE ended_at IS NULL;

CREATE TABLE pauses (
    scope text NOT NULL PRIMARY KEY,
    reason text NOT NULL,
    actor text NOT NULL,
    since bigint NOT NULL
);

CREATE TABLE breakers (
    adapter_id text NOT NULL PRIMARY KEY,
    failures bigint NOT NULL,
    kind text,
    reason text,
    open_until bigint,
    needs_person boolean NOT NULL,
    updated_at bigint NOT NULL
);

CREATE TABLE ledger (
    entry_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    kind text NOT NULL,
    subject text NOT NULL,
    content bytea NOT NULL,
    leaf_hash bytea NOT NULL
);

CREATE INDEX ledger_kind ON ledger (kind, entry_id);

CREATE TABLE seals (
    seq bigint PRIMARY KEY,
    entry_id bigint NOT NULL UNIQUE REFERENCES ledger (entry_id),
    leaf_hash bytea NOT NULL,
    chain_hash bytea NOT NULL
);

CREATE TABLE unsealed (
    entry_id bigint PRIMARY KEY
);

CREATE TRIGGER ledger_no_update BEFORE UPDATE ON ledger FOR EACH ROW
EXECUTE FUNCTION keisei_refuse('the ledger is written once');

CREATE TRIGGER ledger_no_delete BEFORE DELETE ON ledger FOR EACH ROW
EXECUTE FUNCTION keisei_refuse('the ledger is written once');

CREATE TRIGGER ledger_no_truncate BEFORE TRUNCATE ON ledger FOR EACH STATEMENT
EXECUTE FUNCTION keisei_refuse('the ledger is written once');

CREATE TRIGGER seals_no_update BEFORE UPDATE ON seals FOR EACH ROW
EXECUTE FUNCTION keisei_refuse('a seal is written once');

CREATE TRIGGER seals_no_delete BEFORE DELETE ON seals FOR EACH ROW
EXECUTE FUNCTION keisei_refuse('a seal is written once');

CREATE TRIGGER seals_no_truncate BEFORE TRUNCATE ON seals FOR EACH STATEMENT
EXECUTE FUNCTION keisei_refuse('a seal is written once');
