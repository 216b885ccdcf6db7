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
