"""Files in the original's shapes: backlogs, profiles, configurations, events, and its database as it makes it."""

GOAL = {
    "summary": "Lantern activation loop",
    "objective": "Plan, execute and verify what is needed to light the lantern.",
    "scope": ["runtime/src/", "docs/lantern.md", "deploy/lantern/state/artifacts/"],
    "requested_profile": "proving-codex",
    "plan_phase_skills": ["planning", "artifact-reporting"],
    "verify_plan_phase_skills": ["review", "planning"],
    "execute_phase_skills": ["repo-edit", "verification"],
    "verify_execute_phase_skills": ["review", "verification"],
}


def task(name, **payload):
    """A task as the original's backlogs list them."""
    return {
        "kind": "campaign-observe",
        "source": f"operator:lantern-seed:{name}",
        "subject": f"Produce {name}",
        "description": f"Write {name} down, with its evidence.",
        "priority": 6,
        "requested_profile": "lumen",
        "payload": {"operator_goal": f"Have {name}.", "acceptance_criteria": ["It is there."], **payload},
    }


LOOP = {"workflows": [{"template": "goal-loop", "instance_key": "lantern-loop", "context": GOAL}]}
"""One goal, as for an activation loop."""

SHARED = {
    "workflows": [
        {"template": "goal-loop", "instance_key": name, "context": GOAL | {"plan_artifact": "plans/one-plan.md"}}
        for name in ("lantern-stage-1", "lantern-stage-2")
    ],
    "tasks": [
        task("outline", output_path="wiki/outline.md"),
        task("outline", output_path="wiki/outline.md"),
        task("checklist", checklist_path="state/artifacts/wiki/checklist.md"),
    ],
}
"""Two workflows that name the same files, and a task that stands there twice."""

SEED = {
    "tasks": [
        task("charter", phase="charter", required_artifacts=["campaigns/charter.md", "campaigns/gates.md"]),
        task("audit", phase="observe-and-propose", proposal_artifact="plans/audit.md"),
        task("plan", phase="plan", proposal_artifact="plans/plan.md"),
        {
            **task("step", phase="execute", proposal_artifact="plans/plan.md", implementation_artifact="r/step.md"),
            "priority": 5,
        },
    ]
}
"""Tasks alone, one of which reads what another writes."""


def proof(path):
    """The proof of an adapter, as the original's seeds begin: a file outside of every folder, and what it says."""
    made = task("proof", goal="Prove that this adapter can work.", proof_path=str(path), proof_contents="ok")
    return {"tasks": [made | {"kind": "adapter-proof", "max_attempts": 1}]}


STYLES = ("codex-like", "claude-like", "hermes-like")


def profile(name, style):
    """A profile, as the original ships them."""
    return {
        "profile_id": name,
        "style": style,
        "role": "Proving operator",
        "system_prompt_parts": [f"You are {name}.", "Prefer evidence over claims."],
        "skills": ["github-storytelling", "repo-edit"],
        "default_adapter": "not-on-this-host",
        "tool_policy": {"allow_repo_changes": False, "allow_external_post": False},
        "context_policy": {"include_recent_task_memory": True, "max_prompt_chars": 16000},
        "result_schema": {
            "primary_output": "operator_summary",
            "allow_follow_up_tasks": True,
            "allow_external_messages": True,
        },
        "integration_policies": {"github": "bridge-only", "discord": "bridge-only"},
    }


GITHUB = {
    "event": "pull_request.closed",
    "repository": "lantern/runtime",
    "title": "Extract the skeleton",
    "number": 7,
    "author": "somebody",
    "url": "https://git.example/lantern/runtime/pull/7",
    "merged": True,
    "summary": "A skeleton that profiles share.",
    "operator_question": "What does it mean for operators?",
}
DISCORD = {
    "event": "discord.mention",
    "channel": "updates",
    "author": "somebody",
    "message": "What changed?",
    "reply_style": "short",
    "operator_goal": "Reply in one line.",
}
SCHEDULE = {
    "name": "heartbeat",
    "interval_seconds": 3600,
    "enabled": True,
    "task": {
        "kind": "heartbeat",
        "source": "schedule:heartbeat",
        "subject": "Check in",
        "priority": 9,
        "max_attempts": 1,
        "requested_adapter": "",
        "payload": {},
    },
}
EVENT = {
    "sensor_id": "inbox",
    "event_id": "e-1",
    "source_ref": "mail:1",
    "dedupe_key": "inbox:1",
    "payload": {"from": "somebody"},
    "proposed_task": {"kind": "triage", "source": "sensor:inbox", "payload": {"mail": 1}},
}

OLD_TABLES = """
CREATE TABLE tasks (
  task_id TEXT PRIMARY KEY, kind TEXT NOT NULL, source TEXT NOT NULL, priority INTEGER NOT NULL,
  payload_json TEXT NOT NULL, requested_profile TEXT NOT NULL, requested_adapter TEXT NOT NULL, status TEXT NOT NULL,
  created_at TEXT NOT NULL, updated_at TEXT NOT NULL, attempt_count INTEGER NOT NULL DEFAULT 0,
  max_attempts INTEGER NOT NULL, available_at TEXT NOT NULL, started_at TEXT, finished_at TEXT, outcome_json TEXT,
  last_error TEXT
);
CREATE TABLE run_events (
  id INTEGER PRIMARY KEY AUTOINCREMENT, event_type TEXT NOT NULL, task_id TEXT, detail_json TEXT NOT NULL,
  created_at TEXT NOT NULL
);
CREATE TABLE workflows (
  id INTEGER PRIMARY KEY AUTOINCREMENT, template TEXT NOT NULL, instance_key TEXT NOT NULL UNIQUE,
  current_state TEXT NOT NULL, context_json TEXT, created_at TEXT NOT NULL, updated_at TEXT NOT NULL, completed_at TEXT
);
"""
"""As it was before tasks had a subject, and events an attempt."""

TABLES = (
    OLD_TABLES.replace(
        "source TEXT NOT NULL, priority", "source TEXT NOT NULL, subject TEXT, description TEXT, priority"
    ).replace("task_id TEXT, detail_json", "task_id TEXT, attempt_id TEXT, detail_json")
    + """
CREATE TABLE task_attempts (
  attempt_id TEXT PRIMARY KEY, task_id TEXT NOT NULL, adapter_id TEXT NOT NULL, adapter_kind TEXT NOT NULL, model TEXT,
  runner_id TEXT NOT NULL, bundle_id TEXT, status TEXT NOT NULL CHECK (status IN ('running', 'finished')),
  started_at TEXT NOT NULL, ended_at TEXT, exit_status TEXT, retry_class TEXT, prompt_path TEXT, stdout_path TEXT,
  stderr_path TEXT, result_path TEXT, diagnostics_json TEXT
);
CREATE TABLE bundles (
  bundle_id TEXT PRIMARY KEY, task_id TEXT NOT NULL, attempt_id TEXT NOT NULL, bundle_hash TEXT NOT NULL, agent_id TEXT,
  profile_id TEXT NOT NULL, adapter_id TEXT NOT NULL, model TEXT, variant_id TEXT, evaluator_version TEXT,
  replay_grade TEXT NOT NULL CHECK (replay_grade IN ('inputs_frozen', 'best_effort', 'non_replayable_model')),
  relative_path TEXT NOT NULL, prompt_relative_path TEXT NOT NULL, created_at TEXT NOT NULL,
  FOREIGN KEY (attempt_id) REFERENCES task_attempts(attempt_id)
);
CREATE INDEX idx_tasks_claim_queue ON tasks (status, available_at, priority DESC, created_at ASC);
CREATE INDEX idx_task_attempts_task_id_started_at ON task_attempts (task_id, started_at DESC);
CREATE INDEX idx_task_attempts_runner_id_status ON task_attempts (runner_id, status);
CREATE INDEX idx_run_events_task_attempt ON run_events (task_id, attempt_id, id);
CREATE TABLE schema_migrations (id TEXT PRIMARY KEY, description TEXT NOT NULL, applied_at TEXT NOT NULL);
CREATE TABLE schedules (
  schedule_id TEXT PRIMARY KEY, name TEXT NOT NULL UNIQUE, enabled INTEGER NOT NULL, interval_seconds INTEGER NOT NULL,
  next_run_at TEXT NOT NULL, last_run_at TEXT, task_json TEXT NOT NULL, created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL
);
CREATE TABLE sensor_events (
  sensor_event_id TEXT PRIMARY KEY, sensor_id TEXT NOT NULL, event_id TEXT NOT NULL, observed_at TEXT NOT NULL,
  source_ref TEXT NOT NULL, dedupe_key TEXT NOT NULL UNIQUE, payload_json TEXT NOT NULL, task_id TEXT,
  workflow_id INTEGER, created_at TEXT NOT NULL
);
CREATE INDEX idx_schedules_due ON schedules (enabled, next_run_at);
CREATE UNIQUE INDEX idx_sensor_events_sensor_event ON sensor_events (sensor_id, event_id);
INSERT INTO schema_migrations VALUES ('0001_runtime_core', 'x', '2026-05-01T00:00:00.000Z');
INSERT INTO schema_migrations VALUES ('0002_schedules_and_sensor_events', 'x', '2026-05-01T00:00:00.000Z');
"""
)
"""As it is now."""
