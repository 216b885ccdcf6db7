CREATE TABLE milestones (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  name TEXT NOT NULL UNIQUE CHECK (length(name) BETWEEN 1 AND 200),
  description TEXT NOT NULL DEFAULT '',
  target_date TEXT CHECK (target_date IS date(target_date)),
  created_at TEXT NOT NULL
) STRICT;

CREATE TABLE tasks (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  title TEXT NOT NULL CHECK (length(title) BETWEEN 1 AND 200),
  description TEXT NOT NULL DEFAULT '',
  status TEXT NOT NULL DEFAULT 'pending'
    CHECK (status IN ('pending', 'in_progress', 'completed', 'cancelled', 'blocked')),
  priority TEXT NOT NULL DEFAULT 'medium' CHECK (priority IN ('low', 'medium', 'high', 'critical')),
  task_type TEXT,
  assigned_to TEXT,
  due_date TEXT CHECK (due_date IS date(due_date)),
  milestone_id INTEGER REFERENCES milestones (id),
  completed_at TEXT,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  CHECK ((status = 'completed') = (completed_at IS NOT NULL))
) STRICT;

-- A title is taken once in a milestone, and once among the tasks without one.
CREATE UNIQUE INDEX tasks_title ON tasks (coalesce(milestone_id, 0), title);
CREATE INDEX tasks_milestone ON tasks (milestone_id, status);

-- The parent waits for the child.
CREATE TABLE task_deps (
  parent INTEGER NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
  child INTEGER NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
  dep_type TEXT NOT NULL DEFAULT 'depends_on'
    CHECK (dep_type IN ('depends_on', 'blocks', 'subtask_of', 'feeds_into', 'milestone_of', 'assigned_to')),
  created_at TEXT NOT NULL,
  PRIMARY KEY (parent, child),
  CHECK (parent <> child)
) STRICT, WITHOUT ROWID;

CREATE INDEX task_deps_child ON task_deps (child, parent);

-- No writer makes a cycle, whoever it is. The atom asks first, because it can name the way around.
CREATE TRIGGER task_deps_acyclic BEFORE INSERT ON task_deps BEGIN
  SELECT raise(ABORT, 'cycle') WHERE new.parent IN (
    WITH RECURSIVE below (id) AS (
      SELECT new.child
      UNION
      SELECT task_deps.child FROM task_deps JOIN below ON task_deps.parent = below.id
    )
    SELECT id FROM below
  );
END;

CREATE TRIGGER task_deps_stay BEFORE UPDATE OF parent, child ON task_deps BEGIN
  SELECT raise(ABORT, 'a dependency is removed and added, not moved');
END;

-- A task as every verb shows it. (An ordered aggregate would keep SQLite before 3.44 from opening the file.)
CREATE VIEW task_pages AS
SELECT
  tasks.*,
  (
    SELECT json_group_array(child) FROM (SELECT child FROM task_deps WHERE parent = tasks.id ORDER BY child)
  ) AS depends_on,
  (
    SELECT json_group_array(parent) FROM (SELECT parent FROM task_deps WHERE child = tasks.id ORDER BY parent)
  ) AS needed_by,
  (
    SELECT json_group_array(child) FROM (
      SELECT child FROM task_deps JOIN tasks AS needed ON needed.id = task_deps.child
      WHERE parent = tasks.id AND needed.status NOT IN ('completed', 'cancelled')
      ORDER BY child
    )
  ) AS open_dependencies
FROM tasks;

CREATE VIRTUAL TABLE task_words USING fts5 (
  title, description, content = 'tasks', content_rowid = 'id', tokenize = 'unicode61 remove_diacritics 2', prefix = '2 3'
);

CREATE TRIGGER task_words_insert AFTER INSERT ON tasks BEGIN
  INSERT INTO task_words (rowid, title, description) VALUES (new.id, new.title, new.description);
END;

CREATE TRIGGER task_words_delete AFTER DELETE ON tasks BEGIN
  INSERT INTO task_words (task_words, rowid, title, description)
  VALUES ('delete', old.id, old.title, old.description);
END;

CREATE TRIGGER task_words_update AFTER UPDATE OF title, description ON tasks BEGIN
  INSERT INTO task_words (task_words, rowid, title, description)
  VALUES ('delete', old.id, old.title, old.description);
  INSERT INTO task_words (rowid, title, description) VALUES (new.id, new.title, new.description);
END;
