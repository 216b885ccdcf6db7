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
