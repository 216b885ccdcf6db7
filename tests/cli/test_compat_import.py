"""`keisei compat import`: what a runtime.db of the original holds goes on here, once, and what cannot is listed."""

import json
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest

from tests.cli.deployment import Runtime
from tests.cli.originals import EVENT, GOAL, OLD_TABLES, SCHEDULE, TABLES

THEN = "2026-05-01T10:00:00.000Z"
OUTCOME = {
    "status": "completed",
    "operator_summary": "Written.",
    "machine_status": "ok",
    "file_changes": [],
    "artifact_paths": ["reports/a.md"],
    "follow_up_tasks": [],
    "external_messages": [],
    "raw_output": "{}",
    "attempt_id": "a-1",
    "bundle_id": "b-1",
    "bundle_hash": "0" * 64,
}
HOLD = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
connection.execute("BEGIN EXCLUSIVE")
print("held", flush=True)
sys.stdin.read()
"""
PLAIN = {name: value for name, value in GOAL.items() if name != "requested_profile"}


@pytest.fixture
def runtime(shell):
    made = Runtime(shell)
    made.agent()
    (made.home / "state").mkdir()
    yield made
    made.close()


class Database:
    """A runtime.db, written as the original writes it."""

    def __init__(self, runtime, tables=TABLES):
        self.path = runtime.home / "state/runtime.db"
        self._connection = sqlite3.connect(self.path)
        self._connection.executescript(tables)

    def add(self, table, **row):
        names, marks = ", ".join(row), ", ".join("?" for _ in row)
        self._connection.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", list(row.values()))  # noqa: S608 - ours
        self._connection.commit()

    def task(self, task_id, **row):
        self.add(
            "tasks",
            **{
                "task_id": task_id,
                "kind": "observe",
                "source": f"operator:{task_id}",
                "priority": 5,
                "payload_json": "{}",
                "requested_profile": "lumen",
                "requested_adapter": "",
                "status": "pending",
                "created_at": THEN,
                "updated_at": THEN,
                "attempt_count": 0,
                "max_attempts": 3,
                "available_at": THEN,
            }
            | row,
        )

    def workflow(self, number, key, state="plan", **row):
        self.add(
            "workflows",
            **{
                "id": number,
                "template": "goal-loop",
                "instance_key": key,
                "current_state": state,
                "context_json": json.dumps(PLAIN),
                "created_at": THEN,
                "updated_at": THEN,
            }
            | row,
        )

    def schedule(self, name, **row):
        task = json.dumps(SCHEDULE["task"])
        moments = {"next_run_at": "2099-01-01T00:00:00.000Z", "created_at": THEN, "updated_at": THEN}
        self.add(
            "schedules",
            **{"schedule_id": f"s-{name}", "name": name, "enabled": 1, "interval_seconds": 60, "task_json": task}
            | moments
            | row,
        )

    def event(self, number, **row):
        self.add(
            "sensor_events",
            **{
                "sensor_event_id": f"x-{number}",
                "sensor_id": "inbox",
                "event_id": f"e-{number}",
                "observed_at": THEN,
                "source_ref": "mail",
                "dedupe_key": f"inbox:{number}",
                "payload_json": "{}",
                "created_at": THEN,
            }
            | row,
        )

    def close(self):
        self._connection.close()


@pytest.fixture
def database(runtime):
    made = Database(runtime)
    yield made
    made.close()


def taken(runtime):
    return runtime.told("import")


def left_out(told, table):
    return {each["id"]: each["reason"] for each in told["leftOut"] if each["table"] == table}


def notes(told):
    return {each["id"]: each["reason"] for each in told["notes"]}


def by_id(runtime):
    return {each["task_id"]: each for each in runtime.tasks()}


def test_tasks_of_every_status_come_over_once(runtime, database):
    database.task("t-pending", subject="S", description="D", priority=9, payload_json='{"output_path": "a.md"}')
    database.task("t-running", status="running", attempt_count=1, started_at=THEN)
    database.task("t-retry", status="retryable_failure", attempt_count=1, last_error="exit 1")
    database.task("t-done", status="completed", outcome_json=json.dumps(OUTCOME), finished_at=THEN, attempt_count=1)
    database.task("t-failed", status="permanent_failure", finished_at=THEN, last_error="no such adapter")
    database.task("t-blocked", status="blocked", last_error="it asks", finished_at=THEN, attempt_count=3)
    database.task("t-canceled", status="operator_canceled", finished_at=None)

    told = taken(runtime)
    rows = by_id(runtime)
    again = taken(runtime)

    assert told["database"] == str(database.path)
    assert told["imported"] == {"tasks": 7, "workflows": 0, "schedules": 0, "sensor_events": 0}
    assert (told["leftOut"], again["leftOut"]) == ([], [])
    assert again["imported"] == {"tasks": 0, "workflows": 0, "schedules": 0, "sensor_events": 0}
    assert again["known"]["tasks"] == 7
    assert by_id(runtime) == rows
    assert {name: each["status"] for name, each in rows.items()} == {
        "t-pending": "pending",
        "t-running": "pending",
        "t-retry": "retryable_failure",
        "t-done": "completed",
        "t-failed": "permanent_failure",
        "t-blocked": "blocked",
        "t-canceled": "operator_canceled",
    }
    assert notes(told) == {"t-running": "it ran when the database was read; it is pending now"}
    assert notes(again) == {}
    pending = rows["t-pending"]
    assert (pending["subject"], pending["description"], pending["priority"]) == ("S", "D", 9)
    assert (pending["created_at"][:19], pending["requested_adapter_id"]) == (THEN[:19], None)
    assert pending["evidence_requirements"] == {"required_artifacts": ["a.md"]}
    assert rows["t-done"]["outcome"]["operator_summary"] == "Written."
    assert [each["task_id"] for each in runtime.ours("approval", "list")] == ["t-blocked"]


def test_what_is_pending_is_run(runtime, database):
    database.task("t-1", payload_json='{"output_path": "a.md"}')
    database.task("t-2", status="running", attempt_count=2)
    taken(runtime)

    ran = runtime.work_off()

    assert [(each["task_id"], each["status"]) for each in ran] == [("t-1", "completed"), ("t-2", "completed")]
    assert (runtime.artifacts / "a.md").exists()


@pytest.mark.parametrize("status", ["pending", "running", "retryable_failure"])
@pytest.mark.parametrize(("attempts", "most"), [(3, 3), (5, 3), (0, 0)], ids=["used", "more", "none"])
def test_a_zombie_comes_to_a_person(runtime, database, status, attempts, most):
    database.task("t-1", status=status, attempt_count=attempts, max_attempts=most, last_error="credential failed")

    told = taken(runtime)

    reason = f"the original would never have claimed it again: {attempts} of {most} attempts were used"
    assert notes(told) == {"t-1": f"it is blocked: {reason}"}
    (task,) = runtime.tasks()
    assert (task["status"], task["last_error"]) == ("blocked", f"{reason}; its last error: credential failed")
    (approval,) = runtime.ours("approval", "list")
    assert approval["task_id"] == "t-1"
    assert runtime.call("run-once")[0]["status"] == "idle"


def test_a_task_whose_profile_is_gone_comes_to_a_person(runtime, database):
    database.task("t-1", requested_profile="ghost")
    database.task("t-2", requested_adapter="ghost")

    told = taken(runtime)

    assert {each["status"] for each in runtime.tasks()} == {"blocked"}
    assert "no profile is called `ghost`" in notes(told)["t-1"]
    assert "adapter `ghost` does not exist" in notes(told)["t-2"]


def test_a_row_that_cannot_be_is_listed_and_harms_no_other(runtime, database):
    database.task("t-good")
    database.task("t-status", status="sleeping")
    database.task("t-payload", payload_json="[]")
    database.task("t-cut", payload_json="{")
    database.task("t-priority", priority="high")
    database.task("t-time", available_at="soon")
    database.task("t-job", source="substrate:7")
    database.task("t-job-done", source="substrate:8", status="completed", outcome_json=json.dumps(OUTCOME))
    database.task("t-bytes", subject=b"\xff\xfe", last_error=b"\xff")
    database.task("t-outcome", status="completed", outcome_json="{")
    database.task("t-other", status="completed", outcome_json=json.dumps(OUTCOME | {"status": "blocked"}))
    database.task("t-extra", status="completed", outcome_json=json.dumps(OUTCOME | {"surprise": 1}))

    told = taken(runtime)

    reasons = left_out(told, "tasks")
    assert list(reasons) == ["t-status", "t-payload", "t-cut", "t-priority", "t-time", "t-job"]
    assert reasons["t-payload"] == "its payload_json is no object"
    assert reasons["t-cut"] == "its payload_json is not JSON"
    assert "must be an integer" in reasons["t-priority"]
    assert "shared job queue" in reasons["t-job"]
    rows = by_id(runtime)
    assert sorted(rows) == ["t-bytes", "t-extra", "t-good", "t-job-done", "t-other", "t-outcome"]
    assert rows["t-extra"]["outcome"]["operator_summary"] == "Written."
    assert "cannot be read" in rows["t-other"]["outcome"]["operator_summary"]
    assert told["imported"]["tasks"] == 6


def test_a_row_that_the_store_refuses_is_left_out_and_not_known(runtime, database):
    database.task("t-good")
    database.task("t-zero", source="a\x00b")

    told = taken(runtime)

    assert list(left_out(told, "tasks")) == ["t-zero"]
    assert (told["imported"]["tasks"], told["known"]["tasks"]) == (1, 0)


def test_an_id_of_any_kind_is_run_and_never_moves_a_terminal(runtime, database):
    database.task("../x\u202e\x1b[2J", max_attempts=1)
    runtime.instruct(status="blocked")
    taken(runtime)

    done = runtime.verb("run-once")

    assert (done.code, json.loads(done.out)["status"]) == (0, "blocked")
    assert done.err.startswith(r"blocked ../x\u202e\x1b[2J: ")


def test_a_loop_goes_on_at_its_state_with_the_task_it_had(runtime, database):
    (runtime.artifacts / "plans").mkdir(parents=True)
    (runtime.artifacts / "plans/x-plan.md").write_bytes(b"the plan \xff")
    context = PLAIN | {"plan_artifact": "plans/x-plan.md", "execution_iteration": 1, "base_name": "x"}
    database.workflow(19, "lantern", "execute", context_json=json.dumps(context))
    done = {"kind": "goal-plan", "source": "workflow:19:plan", "status": "completed", "finished_at": THEN}
    database.task("t-plan", **done, outcome_json=json.dumps(OUTCOME))
    payload = {"phase": "execute", "proposal_artifact": "plans/x-plan.md", "implementation_artifact": "reports/x-1.md"}
    step = {"kind": "goal-execute", "source": "workflow:19:execute", "status": "running", "attempt_count": 1}
    database.task("t-step", **step, payload_json=json.dumps(payload))

    told = taken(runtime)
    ran = runtime.work_off()

    assert told["imported"] == {"tasks": 2, "workflows": 1, "schedules": 0, "sensor_events": 0}
    assert ran[0]["task_id"] == "t-step"
    assert [each["status"] for each in ran] == ["completed", "completed"]
    shown = runtime.told("workflow-show", "--id", "19")
    assert (shown["instance_key"], shown["status"]) == ("lantern", "completed")
    folder = runtime.artifacts / "workflows/19"
    assert sorted(each.name for each in folder.iterdir()) == ["execute-1.md", "plan-1.md", "verify-1.md"]
    assert (folder / "plan-1.md").read_bytes() == b"the plan \xff"
    asked = runtime.lines("asked.jsonl")
    assert [each["proposal_artifact"] for each in asked] == ["plan-1.md", "plan-1.md"]
    assert asked[1]["implementation_artifact"] == "execute-1.md"


def test_nothing_is_copied_to_where_a_link_leads(runtime, database):
    (runtime.artifacts / "workflows").mkdir(parents=True)
    (runtime.artifacts / "workflows/19").symlink_to(runtime.folder)
    (runtime.artifacts / "secret-plan.md").symlink_to(runtime.home / "runtime.json")
    (runtime.artifacts / "plan.md").write_text("the plan")
    for number, plan in ((19, "plan.md"), (20, "secret-plan.md"), (21, "../../runtime.json")):
        database.workflow(number, f"w-{number}", "execute", context_json=json.dumps({"plan_artifact": plan}))

    told = taken(runtime)

    assert list(left_out(told, "workflows")) == ["w-19"]
    assert not (runtime.folder / "plan-1.md").exists()
    assert list(notes(told)) == ["w-20", "w-21"]
    assert not list((runtime.artifacts / "workflows").glob("2*/plan-1.md"))


def test_a_loop_without_an_open_task_asks_anew(runtime, database):
    database.workflow(1, "spins", "verify", context_json=json.dumps(PLAIN | {"execution_iteration": 6}))
    for number in range(3):
        row = {"kind": "goal-verify", "source": "workflow:1:verify", "status": "completed", "finished_at": THEN}
        database.task(f"t-{number}", **row, outcome_json=json.dumps(OUTCOME))

    told = taken(runtime)
    ran, _ = runtime.call("run-once")

    assert [each["reason"] for each in told["notes"]] == [
        "the artifact of its phase `plan` is not on disk: no task names one",
        "the artifact of its phase `execute` is not on disk: no task names one",
    ]
    assert ran["input_issues"] == [
        "proposal artifact missing from disk: plan-1.md",
        "implementation artifact missing from disk: execute-1.md",
    ]
    assert runtime.told("workflow-list")["workflows"][0]["current_state"] == "verify"


@pytest.mark.parametrize("status", ["blocked", "permanent_failure", "operator_canceled"])
def test_a_loop_that_stood_still_stands_still_and_says_why(runtime, database, status):
    database.workflow(1, "stuck", "plan")
    row = {"kind": "goal-plan", "source": "workflow:1:plan", "status": status, "last_error": "it asks"}
    database.task("t-1", **row, finished_at=THEN)

    taken(runtime)
    runtime.work_off()

    (workflow,) = runtime.told("workflow-list")["workflows"]
    assert workflow["status"] == "blocked"
    assert "task t-1 of state `plan` is" in workflow["reason"]
    (approval,) = runtime.ours("approval", "list")
    assert approval["kind"] == ("task" if status == "blocked" else "workflow")
    assert len(runtime.tasks()) == 1


def test_what_the_original_asks_for_after_its_workflow_came_over_is_left_to_it(runtime, database):
    database.workflow(1, "loop")
    taken(runtime)
    database.task("t-late", kind="goal-plan", source="workflow:1:plan")
    database.task("t-done", kind="goal-plan", source="workflow:1:plan", status="completed")

    told = taken(runtime)

    assert left_out(told, "tasks") == {"t-late": "its workflow `loop` goes on here and asks for its own tasks"}
    assert (told["imported"]["tasks"], told["known"]["tasks"]) == (1, 0)


def test_workflows_that_cannot_go_on_are_listed(runtime, database):
    database.workflow(1, "wiki", "discover-basics", template="community-research")
    database.workflow(2, "lost", "verify-plan")
    database.workflow(3, "cut", context_json="{")
    database.workflow(4, "list", context_json="[]")
    database.workflow(5, "over", "complete", completed_at=THEN)
    database.workflow(6, "good", context_json=None)

    told = taken(runtime)
    again = taken(runtime)

    reasons = left_out(told, "workflows")
    assert list(reasons) == ["wiki", "lost", "cut", "list"]
    assert "no workflow is called `community-research` here (known: goal-loop)" in reasons["wiki"]
    assert reasons["lost"] == "workflow `goal-loop` has no state `verify-plan`"
    assert reasons["cut"] == "its context_json is not JSON"
    assert told["imported"]["workflows"] == 2
    assert (again["imported"]["workflows"], again["known"]["workflows"], again["leftOut"]) == (0, 2, told["leftOut"])
    assert [each["instance_key"] for each in runtime.told("workflow-list")["workflows"]] == ["good"]
    backlog = {"workflows": [{"template": "goal-loop", "instance_key": "over"}]}
    seeded = runtime.told("seed-backlog", "--file", runtime.write("backlog.json", backlog))
    assert seeded["createdWorkflows"][0]["created"] is False


def test_schedules_come_over_and_poison_is_listed(runtime, database):
    database.schedule("good")
    database.schedule("off", enabled=0)
    database.schedule("poison", task_json="{}")
    database.schedule("cut", task_json="{")
    database.schedule("never", interval_seconds=0)

    told = taken(runtime)
    again = taken(runtime)

    assert told["imported"]["schedules"] == 2
    assert list(left_out(told, "schedules")) == ["poison", "cut", "never"]
    assert (again["imported"]["schedules"], again["known"]["schedules"]) == (0, 2)
    schedules = json.dumps(runtime.ours("schedule", "list"))
    assert [name for name in ("good", "off", "poison", "cut", "never") if f'"{name}"' in schedules] == ["good", "off"]
    assert runtime.told("schedule-tick")["schedulesEvaluated"] == 0
    assert runtime.call("run-once")[0]["status"] == "idle"


def test_sensor_events_never_fire_again(runtime, database):
    database.event(1)
    database.event(2, payload_json="[]")
    database.event(3, observed_at="once")

    told = taken(runtime)
    again = taken(runtime)
    replayed = runtime.told("sensor-event", "--json", json.dumps(EVENT))

    assert told["imported"]["sensor_events"] == 1
    assert list(left_out(told, "sensor_events")) == ["e-2", "e-3"]
    assert (again["imported"]["sensor_events"], again["known"]["sensor_events"]) == (0, 1)
    assert (replayed["accepted"], runtime.tasks()) == (False, [])


def test_what_is_only_counted_is_said(runtime, database):
    database.add("run_events", event_type="dispatch_idle", detail_json="{}", created_at=THEN)

    told = taken(runtime)

    counts = {"task_attempts": 0, "bundles": 0, "run_events": 1}
    assert {name: told["notImported"][name] for name in counts} == counts
    assert told["notImported"]["reason"].startswith("attempts, bundles and events stay in the runtime.db")


def test_an_older_database_works_too(runtime):
    with closing(Database(runtime, OLD_TABLES)) as database:
        database.task("t-1", payload_json='{"output_path": "a.md"}')
        database.workflow(1, "w", "plan")

    told = taken(runtime)

    assert told["imported"] == {"tasks": 1, "workflows": 1, "schedules": 0, "sensor_events": 0}
    assert by_id(runtime)["t-1"]["subject"] is None


def test_the_database_is_not_touched(runtime, database):
    database.task("t-1")
    database._connection.execute("PRAGMA journal_mode = WAL")
    database.task("t-2")
    database.close()
    before = database.path.read_bytes()

    told = taken(runtime)

    assert told["imported"]["tasks"] == 2
    assert database.path.read_bytes() == before
    assert sorted(each.name for each in database.path.parent.iterdir()) == ["keisei", "runtime.db"]


def test_another_file_than_the_configured_one(runtime, database):
    database.task("t-1")
    database.close()
    other = runtime.folder / "a copy #1?.db"
    database.path.rename(other)

    assert runtime.told("import", "--db", other)["imported"]["tasks"] == 1
    assert runtime.verb("import").code == 1


# --- what is no such database -----------------------------------------------------------------------------------------


def refused(runtime, *words):
    done = runtime.verb("import", *words)
    assert (done.code, done.out, len(done.err.splitlines())) == (1, "", 2), done
    assert runtime.tasks() == []
    return done.err


@pytest.mark.parametrize(
    ("content", "why"),
    [(None, "is not a file"), (b"", "is no SQLite database"), (b"hello" * 100, "is no SQLite database")],
    ids=["missing", "empty", "text"],
)
def test_a_file_that_is_no_database_is_one_sentence(runtime, content, why):
    if content is not None:
        (runtime.home / "state/runtime.db").write_bytes(content)

    assert why in refused(runtime)
    assert "is not a file" in refused(runtime, "--db", runtime.home)


@pytest.mark.parametrize(
    ("tables", "why"),
    [
        ("CREATE TABLE other (x)", "it has no table `tasks`"),
        ("CREATE TABLE tasks (task_id TEXT, name TEXT)", "its `tasks` have no `attempt_count`"),
        ("CREATE VIEW tasks AS SELECT 1 AS task_id", "it has no table `tasks`"),
    ],
    ids=["other", "columns", "view"],
)
def test_another_database_is_one_sentence(runtime, tables, why):
    Database(runtime, tables).close()

    assert f"is no database of the original: {why}" in refused(runtime)


def test_changes_that_are_not_in_the_database_yet_are_one_sentence(runtime, database):
    database._connection.execute("PRAGMA journal_mode = WAL")
    database.task("t-1")

    assert "runtime.db-wal` beside" in refused(runtime)


def test_a_database_that_somebody_writes_to_is_one_sentence(runtime, database):
    database.task("t-1")
    database.close()
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, database.path], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        holder.stdout.readline()
        said = refused(runtime)
        holder.stdin.close()

    assert "is locked: somebody writes to it" in said


@pytest.mark.parametrize("page", [0, 1, 2], ids=["schema", "rows", "index"])
def test_a_damaged_database_is_one_sentence(runtime, database, page):
    for number in range(50):
        database.task(f"t-{number}")
    database.close()
    raw = bytearray(database.path.read_bytes())
    place = page * 4096 or 100
    raw[place : place + 200] = b"\xa5" * 200
    database.path.write_bytes(raw)

    said = refused(runtime)

    assert "is damaged" in said or "cannot be read whole" in said


def test_a_database_that_is_cut_is_one_sentence(runtime, database):
    for number in range(200):
        database.task(f"t-{number}")
    database.close()
    database.path.write_bytes(database.path.read_bytes()[:9000])

    refused(runtime)


@pytest.mark.parametrize(
    "value",
    [
        '{"a": "\\ud800"}',
        '{"a": NaN}',
        '{"a": 1e999}',
        '{"a": 12345678901234567890}',
        "[" * 5000,
        '{"a": "\\u0000"}',
        "7",
    ],
    ids=["half", "nan", "infinite", "large", "deep", "zero", "number"],
)
def test_json_of_any_kind_harms_only_its_own_row(runtime, database, value):
    database.task("t-good")
    database.task("t-odd", payload_json=value, last_error="x\0y")
    database.task("t-end", status="completed", outcome_json=value)
    database.workflow(1, "w-odd", context_json=value)
    database.schedule("s-odd", task_json=value)
    database.event(1, payload_json=value)

    told = taken(runtime)
    runtime.work_off()

    rows = by_id(runtime)
    assert (rows["t-good"]["status"], rows["t-end"]["status"]) == ("completed", "completed")
    assert "s-odd" in left_out(told, "schedules")
