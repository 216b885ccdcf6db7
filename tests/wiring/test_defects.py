"""The twenty defects that were proven in the original runtime, each shown absent here, by their numbers."""

import json
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime
from pathlib import Path

import apsw
import pytest
from msgspec.structs import replace

from keisei.adapters import adapter_of
from keisei.contracts.check import violations
from keisei.engine.settle import Chance, lost
from keisei.records.launch import Exit
from keisei.records.move import ClaimOrder, Progress
from keisei.records.runner import RunnerRecord
from keisei.rules.outcome import decode
from keisei.rules.retry import Backoff
from keisei.wiring.fresh import new_id
from tests.wiring.house import House

DONE = '{"status": "completed"}'


def ends_as(house, script, **intent):
    task = house.script(script, **({"max_attempts": 1} | intent))
    house.run()
    return house.task(task)


# B1 to B3: what counts as success


@pytest.mark.parametrize("script", ["echo 'I could not do it. Everything failed.'", "true"], ids=["prose", "nothing"])
def test_b1_narration_is_not_success(house, script):
    assert ends_as(house, script).status == "blocked"


@pytest.mark.parametrize(
    "answer",
    [
        '{"status":"failed"}',
        '{"status":"in_progress"}',
        '{"status":"operator_canceled"}',
        'The end. {"status":"blocked","operator_summary":"no"}',
        '["completed"]',
        "null",
        "7",
    ],
)
def test_b2_an_unknown_status_is_not_completed(house, answer):
    assert ends_as(house, f"echo '{answer}'").status == "blocked"


def test_b2_a_wish_to_be_tried_again_is_granted(house, tmp_path):
    flag = tmp_path / "second"
    wish = '{"status":"needs_retry","machine_status":"needs_retry"}'
    task = house.script(f"test -e {flag} && echo '{DONE}' || {{ touch {flag}; echo '{wish}'; }}", max_attempts=2)

    house.run()

    assert (house.task(task).status, house.task(task).attempt_count) == ("completed", 2)


@pytest.mark.parametrize(
    "line",
    [
        {"type": "result", "subtype": "success", "is_error": True, "result": "API Error: 401 ..."},
        {"type": "result", "subtype": "error_max_turns", "is_error": True, "result": DONE},
    ],
    ids=["api error", "max turns"],
)
def test_b3_an_error_of_the_harness_is_not_completed(line):
    ended = _exit(json.dumps(line).encode() + b"\n")

    claim = decode(adapter_of("claude-code").read(ended, {}), ended, complete_by_exit_code=True)

    assert claim.outcome.status != "completed"


def _exit(stdout):
    return Exit(
        code=0,
        signal=None,
        stdout=stdout,
        stderr=b"",
        stdout_truncated=False,
        stderr_truncated=False,
        timed_out=False,
        canceled=False,
        survivors_killed=0,
        survivors_left=0,
        level="keeper",
        started_at=datetime(2026, 1, 1, tzinfo=UTC),
        duration_s=1.0,
    )


# B4 and B5: loops


def test_b4_a_second_round_of_a_state_is_work_of_its_own(house):
    first = house.script(f"echo '{DONE}'", source="goal:1:execute")
    house.run()
    second = house.script(f"echo '{DONE}'", source="goal:1:execute")
    house.run()

    assert first != second
    assert [len(house.attempts(each)) for each in (first, second)] == [1, 1]


def test_b5_a_verify_without_an_accepted_signal_ends(house):
    answer = '{"status": "completed", "workflow_signal": "whatever"}'
    payload = {"args": ["-c", f"echo '{answer}'"], "accepted_signals": ["continue", "complete"]}
    task = house.add({"task_type": "answering", "payload": payload, "max_attempts": 3})

    house.run()

    assert (house.task(task).status, house.task(task).attempt_count) == ("blocked", 3)
    assert "signal" in house.task(task).last_error


# B6: no task is a zombie


def test_b6_a_model_that_always_wants_to_be_tried_again_comes_to_a_person(house):
    found = ends_as(house, """echo '{"status":"retryable_failure"}'""", max_attempts=2)

    assert (found.status, found.attempt_count) == ("blocked", 2)


def test_b6_a_sweep_at_the_last_try_comes_to_a_person(house):
    task = house.script("true", max_attempts=1)
    now = house.store.now()
    house.store.register(
        RunnerRecord(
            runner_id="r",
            host="h",
            boot_id="b",
            pid=1,
            born="0",
            version="0",
            slots=1,
            lease_s=30,
            started_at=now,
            heartbeat_at=now,
        )
    )
    (claimed,) = house.store.claim(ClaimOrder(runner_id="r", attempt_ids=("a",)))
    begun = replace(claimed.attempt, bundle_id="bundle")
    house.store.progress(Progress(stage="started", attempt=begun))

    chance = Chance(backoff=Backoff(), jitter=0, now=house.store.now(), new_id=new_id)
    assert house.store.settle(lost(replace(claimed, attempt=begun), "sweeper", chance)) == "settled"

    assert house.task(task).status == "blocked"
    assert "attempts used up" in house.task(task).last_error


def test_b6_a_broken_env_file_is_told_and_the_task_waits_for_a_person(tmp_path):
    house = House(
        tmp_path,
        adapters='[adapters.script]\nkind = "script"\ncommand = "sh"\ntimeout_ms = 60000\nenv_file = "missing.env"\n',
    )
    found = ends_as(house, "true")
    house.close()

    assert found.status == "blocked"
    assert "missing.env" in found.last_error


def test_b6_a_payload_beyond_every_variable_runs(house):
    task = house.add({"task_type": "answering", "payload": {"args": ["-c", f"echo '{DONE}'"], "data": "x" * 500_000}})

    house.run()

    assert house.task(task).status == "completed"


# B7 and B8: artifacts and file changes


def test_b7_what_the_agent_wrote_is_left_as_it_is(house):
    task = house.script(
        f"""printf 'the plan' > "$AGENT_RUNTIME_ARTIFACT_DIR/plan.md"; echo '{DONE}'""",
        evidence_requirements={"required_artifacts": ["plan.md"]},
    )

    house.run()

    assert house.task(task).status == "completed"
    assert (house.home.artifacts / task / "plan.md").read_bytes() == b"the plan"
    assert [each.name for each in (house.home.artifacts / task).iterdir()] == ["plan.md"]


def test_b7_text_makes_no_artifact(house):
    found = ends_as(house, f"echo '# Plan'; echo '{DONE}'", evidence_requirements={"required_artifacts": ["plan.md"]})

    assert found.status == "blocked"


@pytest.mark.parametrize(
    ("script", "claims", "status"),
    [
        ("echo x > src.py", ["src.py"], "completed"),
        ("rm old.py", ["deleted: old.py"], "completed"),
        ("echo x > src.py", ["src.py (note)"], "completed"),
        ("true", ["invented.py"], "blocked"),
    ],
    ids=["real", "deleted", "with a note", "invented"],
)
def test_b8_file_changes_are_compared_with_what_changed(house, script, claims, status):
    (house.root / "old.py").write_text("old")
    answer = json.dumps({"status": "completed", "file_changes": claims})

    assert ends_as(house, f"{script}; echo '{answer}'").status == status


# B9 to B13: order, poison, trees, races


def test_b9_higher_priority_runs_first(house):
    low, high = house.script(f"echo '{DONE}'", priority=1), house.script(f"echo '{DONE}'", priority=9)

    house.run(jobs=1)

    assert house.attempts(high)[0].started_at < house.attempts(low)[0].started_at


def test_b10_a_schedule_without_a_task_is_refused_at_the_door():
    record = {
        "schedule_id": "s",
        "name": "n",
        "enabled": True,
        "interval_seconds": 60,
        "next_run_at": "2026-01-01T00:00:00Z",
        "last_run_at": None,
        "task": {},
        "created_at": "2026-01-01T00:00:00Z",
        "updated_at": "2026-01-01T00:00:00Z",
    }

    assert violations("schedule.record", record)


@pytest.mark.parametrize("trap", ["", "trap '' TERM; "], ids=["B11 grandchild", "B12 ignores TERM"])
def test_b11_b12_a_time_out_ends_the_whole_tree(tmp_path, trap):
    mark = tmp_path / "pid"
    house = House(tmp_path, adapters='[adapters.script]\nkind = "script"\ncommand = "sh"\ntimeout_ms = 1500\n')
    found = ends_as(
        house, f"{trap}setsid sh -c '{trap}echo $$ > {mark}; sleep 600; sleep 600' & {trap}sleep 600; sleep 600"
    )
    house.close()

    assert found.status == "blocked"
    assert not Path(f"/proc/{int(mark.read_text())}").exists()


def test_b13_eight_may_open_a_fresh_database_at_once(tmp_path):
    program = "import sys; from keisei.store import open_store; s = open_store(sys.argv[1]); s.counts(); s.close()"
    url = f"sqlite://{tmp_path / 'fresh' / 'state.db'}"
    (tmp_path / "fresh").mkdir(mode=0o700)

    started = [subprocess.Popen([sys.executable, "-c", program, url], stderr=subprocess.PIPE) for _ in range(8)]

    assert [each.communicate()[1] for each in started] == [b""] * 8
    assert {each.returncode for each in started} == {0}


# B14 to B16: evidence, secrets, false alarms


def test_b14_output_is_kept_once_byte_for_byte_and_not_in_the_database(house):
    task = house.script(
        f"""python3 -c 'import sys; sys.stdout.buffer.write(bytes([0xe9]) * 5_000_000 + b"\\n")'; echo '{DONE}'"""
    )

    house.run()

    assert house.task(task).status == "completed"
    (attempt,) = house.attempts(task)
    kept = (house.home.evidence / attempt.stdout_path).read_bytes()
    assert kept == b"\xe9" * 5_000_000 + b"\n" + DONE.encode() + b"\n"
    assert (house.home.folder / "state.db").stat().st_size < 2_000_000


def test_b15_prompts_and_secrets_are_not_on_the_command_line(house):
    task = house.script(f"echo '{DONE}'", description="a private letter")

    house.run()

    (attempt,) = house.attempts(task)
    told = json.loads(house.evidence(attempt, "invocation.json"))
    assert "a private letter" not in json.dumps(told["argv"])
    assert (house.home.folder / "state.db").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("words", ["Documented the sandbox restrictions", "Task kind: none of your business"])
def test_b16_words_in_a_summary_block_nothing(house, words):
    answer = json.dumps({"status": "completed", "operator_summary": words})

    assert ends_as(house, f"echo '{answer}'").status == "completed"


# B17 to B20: collisions, hashes, duplicates, bad neighbours


def test_b17_tasks_never_share_an_artifact(house):
    script = f"""echo $$ > "$AGENT_RUNTIME_ARTIFACT_DIR/plan.md"; echo '{DONE}'"""
    tasks = [house.script(script, evidence_requirements={"required_artifacts": ["plan.md"]}) for _ in range(3)]

    house.run()

    assert {house.task(each).status for each in tasks} == {"completed"}
    assert len({(house.home.artifacts / each / "plan.md").read_text() for each in tasks}) == 3


def test_b18_the_bundle_knows_the_adapter_and_needs_no_git(house):
    first = house.script(f"echo '{DONE}'")
    house.run()
    toml = house.root / "keisei.toml"
    toml.write_text(
        toml.read_text()
        + '\n[adapters.script]\nkind = "script"\ncommand = "sh"\ntimeout_ms = 600000\n'
        + 'env = { BASE_URL = "http://other" }\n'
    )
    second = house.script(f"echo '{DONE}'")
    house.run()

    hashes = {house.store.bundle(house.attempts(each)[0].attempt_id).inputs_hash for each in (first, second)}
    assert len(hashes) == 2


def test_b18_a_claim_does_not_look_at_what_is_finished(house):
    plan = _plan_of_the_claim(house)

    assert "USING INDEX tasks_ready" in plan


def _plan_of_the_claim(house):
    connection = apsw.Connection(str(house.home.folder / "state.db"), flags=apsw.SQLITE_OPEN_READONLY)
    rows = connection.execute(
        "EXPLAIN QUERY PLAN SELECT task_id FROM tasks WHERE ready = 1 ORDER BY rank, seq LIMIT 1"
    ).fetchall()
    connection.close()
    return " ".join(str(row) for row in rows)


def test_b19_the_same_key_twice_is_one_task(house):
    first = house.script(f"echo '{DONE}'", idempotency_key="seed-1")
    second = house.script(f"echo '{DONE}'", idempotency_key="seed-1")

    assert first == second
    assert house.run() == 1


def test_b20_one_bad_observation_is_refused_alone():
    good = {
        "sensor_id": "mail",
        "event_id": "1",
        "observed_at": "2026-01-01T00:00:00Z",
        "source_ref": "m",
        "dedupe_key": "message-1",
        "payload": {},
    }

    assert not violations("sensor.event", good)
    assert violations("sensor.event", good | {"observed_at": "yesterday, perhaps"})


def test_the_runner_wakes_at_once(house):
    runner = house.runner(until_idle=False)
    thread = threading.Thread(target=runner.run)
    thread.start()
    deadline = time.monotonic() + 60
    task = house.script(f"echo '{DONE}'")
    house.store.ring()
    while house.task(task).status != "completed":
        assert time.monotonic() < deadline
        time.sleep(0.01)

    runner.stop()
    thread.join(60)

    assert not thread.is_alive()
    assert house.store.runners() == []


def test_a_second_stop_puts_running_work_back_uncounted(house, tmp_path):
    mark = tmp_path / "up"
    task = house.script(f"touch {mark}; sleep 600")
    runner = house.runner(until_idle=False)
    thread = threading.Thread(target=runner.run)
    thread.start()
    deadline = time.monotonic() + 60
    while not mark.exists():
        assert time.monotonic() < deadline
        time.sleep(0.01)

    runner.stop()
    runner.stop()
    thread.join(60)

    assert (house.task(task).status, house.task(task).attempt_count) == ("pending", 0)
    assert [each.exit_status for each in house.attempts(task)] == ["canceled"]
