-- Tasks that another task asked for, by who asked: what it has left is counted with each new one.

CREATE INDEX tasks_asked ON tasks (source, created_at) WHERE depth > 0;
