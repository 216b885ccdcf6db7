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
