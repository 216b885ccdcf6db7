"""The real runner on real scripts: what becomes of tasks, and what they leave."""

import json
import secrets
import threading
import time
from pathlib import Path

import pytest

from keisei.engine import control
from keisei.records.error import ContractViolation, WorldFault
from tests.wiring.house import House

DONE = '{"status": "completed", "operator_summary": "did it"}'


def test_a_script_that_answers_is_completed_and_leaves_its_evidence(house):
    task = house.script(f"echo thinking; echo '{DONE}'")

    house.run()

    assert house.task(task).status == "completed"
    assert house.task(task).outcome.operator_summary == "did it"
    (attempt,) = house.attempts(task)
    assert house.evidence(attempt, "stdout.log").decode() == f"thinking\n{DONE}\n"
    for name in (
        "task.json",
        "bundle.json",
        "prompt.md",
        "invocation.json",
        "stderr.log",
        "last-message.txt",
        "result.json",
    ):
        house.evidence(attempt, name)
    assert house.events(task) == [
        "task_enqueued",
        "task_claimed",
        "bundle_compiled",
        "task_started",
        "task_attempt_finished",
        "task_finished",
    ]


LIES = {
    "nothing": "true",
    "prose": "echo 'I could not do it. Everything failed.'",
    "prose that claims success": "echo 'All tests pass. The task is completed.'",
    "unknown status": """echo '{"status": "failed"}'""",
    "in progress": """echo '{"status": "in_progress"}'""",
    "operator's word": """echo '{"status": "operator_canceled"}'""",
    "array": """echo '["completed"]'""",
    "null": "echo null",
    "number": "echo 1",
    "completed but the machine says no": """echo '{"status": "completed", "machine_status": "failed"}'""",
    "completed with exit 1": f"echo '{DONE}'; exit 1",
    "completed and killed": f"echo '{DONE}'; kill -9 $$",
    "an artifact that is not there": """echo '{"status": "completed", "artifact_paths": ["report.md"]}'""",
    "a file change that was not made": """echo '{"status": "completed", "file_changes": ["src/cli.py"]}'""",
    "a deletion of what never was": """echo '{"status": "completed", "file_changes": ["deleted: gone.txt"]}'""",
    "an artifact outside": """echo '{"status": "completed", "artifact_paths": ["../../../etc/passwd"]}'""",
    "half an object": """printf '{"status": "completed"'""",
    "a status in the prompt's words": """cat <<'END'
Respond with {"status": "completed"} I was told, but here is my answer: {"status": "blocked", "operator_summary": "no"}
END""",
    "wrong types": """echo '{"status": "completed", "file_changes": "everything"}'""",
    "harness error": """echo '{"type":"result","is_error":true,"result":"API Error: 401"}'""",
}


@pytest.mark.parametrize("script", LIES.values(), ids=LIES.keys())
def test_a_lie_is_never_completed(house, script):
    task = house.script(script, max_attempts=1)

    house.run()

    found = house.task(task)
    assert found.status in ("blocked", "permanent_failure", "retryable_failure")
    assert found.last_error
    assert all(each.exit_status is not None for each in house.attempts(task))


def test_a_task_that_keeps_failing_is_tried_as_often_as_it_may_and_comes_to_a_person(house):
    task = house.script("echo trying; exit 7", max_attempts=3)

    house.run()

    found = house.task(task)
    assert (found.status, found.attempt_count) == ("blocked", 3)
    assert found.last_error.startswith("attempts used up (3 of 3)")
    assert len(house.attempts(task)) == 3


def test_the_next_attempt_is_told_why_the_one_before_failed(house):
    task = house.script("""case "$(cat "$AGENT_RUNTIME_STATE_DIR/prompt.md")" in
*'ended with exit '7*) echo '{"status": "completed"}';; *) exit 7;; esac""")

    house.run()

    assert house.task(task).status == "completed"
    assert house.task(task).attempt_count == 2


def test_an_artifact_that_was_asked_for_and_is_there_completes(house):
    needs = {"required_artifacts": ["report.md"]}
    task = house.script(
        """echo report > "$AGENT_RUNTIME_ARTIFACT_DIR/report.md"; echo '{"status": "completed"}'""",
        evidence_requirements=needs,
    )

    house.run()

    assert house.task(task).status == "completed"
    (artifact,) = house.store.artifacts(task)
    assert artifact.relative_path == "report.md"
    assert (house.home.artifacts / task / "report.md").read_text() == "report\n"


def test_a_stale_artifact_does_not_count(house):
    needs = {"required_artifacts": ["report.md"]}
    task = house.script("""echo '{"status": "completed"}'""", evidence_requirements=needs, max_attempts=1)
    folder = house.home.artifacts / task
    folder.mkdir(parents=True)
    (folder / "report.md").write_text("from an earlier run")

    house.run()

    assert house.task(task).status == "blocked"
    assert "report.md" in house.task(task).last_error


def test_real_file_changes_are_believed(house):
    task = house.script("""echo x > made.txt; echo '{"status": "completed", "file_changes": ["created: made.txt"]}'""")

    house.run()

    assert house.task(task).status == "completed"


def test_a_payload_of_any_size_arrives_as_a_file(house):
    program = """import json, os
payload = json.load(open(os.environ["AGENT_RUNTIME_TASK_PAYLOAD_FILE"]))
print(json.dumps({"status": "completed", "operator_summary": str(len(payload["data"]))}))"""
    payload = {"args": ["-c", 'python3 -c "$1"', "sh", program], "data": "x" * 3_000_000}
    task = house.add({"task_type": "answering", "payload": payload})

    house.run()

    assert house.task(task).outcome.operator_summary == "3000000"


def test_a_running_task_can_be_cancelled_and_its_whole_tree_dies(house, tmp_path):
    mark = tmp_path / "pid"
    task = house.script(f"setsid sh -c 'echo $$ > {mark}; sleep 600' & sleep 600")
    runner = house.runner(lease_s=3.0)
    thread = threading.Thread(target=runner.run)
    thread.start()
    _until(lambda: mark.exists() and mark.read_text().strip())

    control.cancel(house.store, task, "not needed", "operator:test")
    thread.join(60)

    assert house.task(task).status == "operator_canceled"
    assert house.task(task).last_error == "not needed"
    _until(lambda: not _lives(int(mark.read_text())))


def test_a_silent_script_is_ended(tmp_path):
    house = House(tmp_path, runner="silence-s = 1.0")
    task = house.script("echo here; sleep 600", max_attempts=1)

    house.run()

    assert house.task(task).status == "blocked"
    assert house.attempts(task)[0].exit_status == "timeout"
    house.close()


def test_pause_and_resume(house):
    task = house.script(f"echo '{DONE}'")
    control.pause(house.store, "lunch", "operator:test")

    house.run()
    assert house.task(task).status == "pending"

    control.resume(house.store, "", "operator:test")
    house.run()
    assert house.task(task).status == "completed"


def test_a_blocked_task_is_freed_by_an_order(house, tmp_path):
    gate = tmp_path / "open"
    task = house.script(f"test -e {gate} && echo '{DONE}'", max_attempts=1)
    house.run()
    assert house.task(task).status == "blocked"

    gate.touch()
    control.free(house.store, task, "repaired", "operator:test")
    house.run()

    assert house.task(task).status == "completed"
    assert house.task(task).attempt_count == 2


def test_secrets_of_an_env_file_reach_the_script_and_no_file(tmp_path):
    secret = secrets.token_hex(12)
    house = House(
        tmp_path,
        adapters='[adapters.script]\nkind = "script"\ncommand = "sh"\ntimeout_ms = 60000\nenv_file = "secrets.env"\n',
    )
    env = house.root / "secrets.env"
    env.write_text(f"TOKEN={secret}\n")
    env.chmod(0o600)
    answer = json.dumps({"status": "completed", "operator_summary": "token $TOKEN"}).replace('"', '\\"')
    house.script(f'echo "$TOKEN" | base64; echo "{answer}"')

    house.run()
    house.close()

    assert house.home.folder.is_dir()
    for path in house.home.folder.rglob("*"):
        if path.is_file():
            assert secret.encode() not in path.read_bytes(), path
    assert house.lines[-1].event == "completed"


def _lives(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


def _until(holds, patience_s=60):
    deadline = time.monotonic() + patience_s
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_what_returned_is_judged_again_after_a_crash_and_never_run_again(house, tmp_path, monkeypatch):
    count = tmp_path / "count"
    task = house.script(
        f"""echo run >> {count}; echo x > "$AGENT_RUNTIME_ARTIFACT_DIR/report.md"; echo '{DONE}'""",
        evidence_requirements={"required_artifacts": ["report.md"]},
    )
    real, calls = house.store.settle, []

    def fails_once(settlement):
        calls.append(settlement)
        if len(calls) == 1:
            raise WorldFault("the disk is gone for a moment")
        return real(settlement)

    monkeypatch.setattr(house.store, "settle", fails_once)
    runner = house.runner(until_idle=False)
    thread = threading.Thread(target=runner.run)
    thread.start()
    _until(lambda: house.task(task).status == "completed")
    runner.stop()
    thread.join(60)

    assert count.read_text() == "run\n"
    assert [each.exit_status for each in house.attempts(task)] == ["ok"]


def test_what_the_store_will_never_take_comes_to_a_person(house, monkeypatch):
    real = house.store.settle

    def choosy(settlement):
        if settlement.task.status == "completed":
            raise ContractViolation("ledger.entry", ["body: too large"])
        return real(settlement)

    monkeypatch.setattr(house.store, "settle", choosy)
    task = house.script(f"echo '{DONE}'")

    house.run()

    assert house.task(task).status == "blocked"
    assert "could not be settled" in house.task(task).last_error


def test_an_answer_with_half_a_character_is_stored_and_read(house):
    text = 'printf \'{"status": "completed", "operator_summary": "half \\\\ud800 a character"}\''
    task = house.script(text, max_attempts=1)

    house.run()

    assert house.task(task).status in ("completed", "blocked")
    assert house.attempts(task)[0].exit_status is not None
