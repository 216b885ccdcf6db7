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
-- Tasks that another task asked for, by who asked.
CREATE INDEX tasks_asked ON tasks (source, created_at) WHERE depth > 0;

CREATE FUNCTION keisei_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION USING ERRCODE = 'integrity_constraint_violation', MESSAGE = TG_ARGV[0];
END
$$;

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
    tokens bigint,
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
    task_id text,
    attempt_id text REFERENCES attempts (attempt_id),
    payload text NOT NULL,
    status text NOT NULL,
    reason text,
    tries bigint NOT NULL,
    created_at bigint NOT NULL,
    next_try_at bigint,
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

-- Verified candidates on their way to main.

CREATE TABLE landings (
    seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    landing_id text NOT NULL UNIQUE,
    task_id text NOT NULL REFERENCES tasks (task_id),
    attempt_id text NOT NULL REFERENCES attempts (attempt_id),
    status text NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    record text NOT NULL,
    CONSTRAINT landings_status CHECK (
        status IN ('held', 'queued', 'landing', 'landed', 'rejected', 'reverted')
    )
);

CREATE INDEX landings_open ON landings (seq) WHERE status IN ('queued', 'landing', 'held');
CREATE INDEX landings_task ON landings (task_id);
CREATE INDEX landings_attempt ON landings (attempt_id);

-- The moves of rules/landing.py once more.
CREATE TRIGGER landings_moves BEFORE UPDATE OF status ON landings FOR EACH ROW
WHEN (NOT CASE OLD.status
    WHEN 'held' THEN NEW.status = 'queued' OR NEW.status = 'rejected'
    WHEN 'queued' THEN NEW.status = 'landing' OR NEW.status = 'held' OR NEW.status = 'rejected'
    WHEN 'landing' THEN NEW.status = 'landing' OR NEW.status = 'queued' OR NEW.status = 'held'
        OR NEW.status = 'landed' OR NEW.status = 'rejected'
    WHEN 'landed' THEN NEW.status = 'reverted'
    ELSE FALSE
END)
EXECUTE FUNCTION keisei_refuse('this move is not allowed');

CREATE TRIGGER landings_over BEFORE UPDATE ON landings FOR EACH ROW
WHEN (OLD.status = 'rejected' OR OLD.status = 'reverted')
EXECUTE FUNCTION keisei_refuse('a landing that is over never changes');

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

-- What people ask for: orders that may come twice, and lists of everything.

-- Orders with an `Idempotency-Key`: begun before they are carried out, answered after.
CREATE TABLE requests (
    actor text NOT NULL,
    key text NOT NULL,
    digest text NOT NULL,
    fence bigint NOT NULL,
    began_at bigint NOT NULL,
    status bigint,
    body bytea,
    PRIMARY KEY (actor, key),
    CONSTRAINT requests_fence CHECK (fence >= 1),
    CONSTRAINT requests_body CHECK (body IS NULL OR status IS NOT NULL)
);

CREATE INDEX requests_began ON requests (began_at);

-- No index for lists that are narrowed: here every move of a task would have to write it.
-- Only what went wrong is in it.
CREATE INDEX tasks_ill ON tasks (updated_at, status) WHERE status IN ('permanent_failure', 'blocked');
CREATE INDEX landings_rejected ON landings (updated_at) WHERE status = 'rejected';
-- What every attempt leaves is met soon by walking back, and is not in it: an attempt writes nothing here.
CREATE INDEX events_type ON events (event_type, id) WHERE event_type NOT IN (
    'task_enqueued', 'task_claimed', 'bundle_compiled', 'task_started', 'task_attempt_finished', 'task_finished'
);

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
