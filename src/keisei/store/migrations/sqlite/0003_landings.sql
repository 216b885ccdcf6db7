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
