"""Sensors at work: recorded once, with what they start, in processes that hang, lie and die alone."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from datetime import timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace

from keisei.engine import sensor as sensors
from keisei.engine import workflow as workflows
from keisei.records.answer import ApprovalQuery
from keisei.records.error import ContractViolation, KeiseiError, OperatorError, Refused
from keisei.records.observation import Observation, Observed, SeenQuery
from keisei.records.progression import WorkflowMove
from keisei.rules.sensor import PATIENCE
from keisei.wiring import sense
from keisei.wiring.sense import OUTPUT_CAP
from tests.wiring.observatory import TASK, Observatory, event, is_alive, saying

PATIENCE_S = 60
TABLE = "[sensors.eye]\nevery-s = 60.0\ndeadline-s = 20.0\n"


@pytest.fixture
def sky(tmp_path):
    made = Observatory(tmp_path, TABLE)
    yield made
    made.close()


def eventually(holds):
    until = time.monotonic() + PATIENCE_S
    while not (found := holds()):
        assert time.monotonic() < until
        time.sleep(0.01)
    return found


def seen(sky, name="eye"):
    """Oldest first."""
    return list(reversed(sky.store.seen(SeenQuery(sensor_id=name, limit=1000))))


def approvals(sky):
    return sky.store.approvals(ApprovalQuery())


# --- the door ---------------------------------------------------------------------------------------------------------


def test_an_event_and_its_task_are_one(sky):
    done = sky.observe(event_id="e1", proposed_task=TASK)

    (task,) = sky.tasks()
    assert done == Observed(status="recorded", task_id=task.task_id)
    assert (task.sensor_event_id, task.source) == ("e1", "sensor:eye")
    assert seen(sky)[0].task_id == task.task_id
    names = {"sensor_id": "eye", "event_id": "e1"}
    assert sky.events("sensor_event_recorded") == [{**names, "dedupe_key": "k", "actor": "operator:test"}]
    assert sky.events("sensor_task_created") == [{**names, "sensor_event_id": "e1"}]


def test_the_original_leaves_out_the_time_and_we_the_id(sky):
    task = {"kind": "script", "payload": {"args": ["-c", "true"]}}

    sky.observe(observed_at=None, proposed_task=task)

    (known,) = seen(sky)
    assert known.event.observed_at == sky.clock.now()
    assert known.event.event_id == "k"
    assert sky.notes == ["sensor.event: `kind` is now `task_type`"]


@pytest.mark.parametrize("change", [{"event_id": "e2"}, {"dedupe_key": "k2"}], ids=["key", "id"])
def test_a_known_event_starts_nothing_and_says_by_which_key(sky, change):
    first = sky.observe(event_id="e1", proposed_task=TASK)

    again = sky.observe(**{"event_id": "e1", "proposed_task": TASK} | change)

    assert again.status == "deduped"
    assert again.reason == ("dedupe_key" if "event_id" in change else "event_id")
    assert again.task_id == first.task_id
    assert len(sky.tasks()) == 1
    assert [each.repeats for each in seen(sky)] == [1]
    assert len(sky.events("sensor_event_deduped")) == 1


def test_the_same_key_of_another_sensor_is_another_event(sky):
    sky.observe(proposed_task=TASK)

    assert sky.observe(sensor_id="ear", proposed_task=TASK).status == "recorded"
    assert len(sky.tasks()) == 2


def test_a_second_mail_of_a_thread_is_another_event(sky):
    """The key belongs to the sensor: what it calls new is new, whatever sender and subject are."""
    mail = {"source_ref": "mail", "payload": {"from": "mira", "subject": "Re: invoice"}, "proposed_task": TASK}

    for number in range(3):
        sky.observe(dedupe_key=f"mail:<{number}@example.com>", **mail)

    assert len(sky.tasks()) == 3


def test_a_stale_event_is_kept_and_starts_nothing(sky):
    done = sky.observe(freshness_deadline="2025-12-31T23:59:59Z", proposed_task=TASK)

    assert (done.status, done.task_id) == ("recorded", None)
    assert "freshness" in done.reason
    assert sky.tasks() == []
    assert [each.status for each in seen(sky)] == ["stale"]
    assert sky.events("sensor_event_stale")[0]["freshness_deadline"] == "2025-12-31T23:59:59+00:00"


def test_an_event_is_fresh_until_its_deadline(sky):
    assert sky.observe(freshness_deadline=sky.clock.now().isoformat(), proposed_task=TASK).task_id is not None


INVALID = [
    {"source_ref": None},
    {"payload": None},
    {"payload": []},
    {"dedupe_key": ""},
    {"dedupe_key": "a\nb"},
    {"dedupe_key": "x" * 600},
    {"sensor_id": 7},
    {"observed_at": "yesterday"},
    {"observed_at": "2026-01-01 00:00:00"},
    {"observed_at": "2026-01-01T00:00:00"},
    {"observed_at": "0001-01-01T00:00:00+14:00"},
    {"freshness_deadline": "2026-01-01T00:00:00"},
    {"unknown": 1},
    {"proposed_task": {}},
    {"proposed_task": TASK | {"task_type": "nope"}},
    {"proposed_task": TASK | {"requested_profile_id": "nope"}},
    {"proposed_task": TASK | {"payload": {"args": 7}}},
    {"proposed_workflow": {}},
    {"proposed_workflow": {"template": "nope", "instance_key": "i"}},
    {"proposed_workflow": {"template": "goal-loop", "instance_key": "i", "state": "nope"}},
]


@pytest.mark.parametrize("change", INVALID, ids=str)
def test_an_invalid_event_is_refused_whole_and_its_corrected_form_is_taken(sky, change):
    """The original recorded it first and took the corrected retry for a duplicate; or hid it by INSERT OR IGNORE."""
    with pytest.raises(KeiseiError):
        sky.observe(**{"proposed_task": TASK} | change)

    assert seen(sky) == []
    assert sky.tasks() == []
    assert len(sky.events("sensor_event_refused")) == 1
    assert sky.observe(proposed_task=TASK).status == "recorded"


@pytest.mark.parametrize("data", [None, [], "x", 7, {}])
def test_what_is_no_event_at_all_is_refused_in_words(sky, data):
    with pytest.raises(ContractViolation):
        sensors.observe(sky.office, data, "a")


def test_a_bad_key_is_named_although_the_id_was_left_out(sky):
    with pytest.raises(OperatorError, match="`dedupe_key` must be one line"):
        sky.observe(dedupe_key="a\x1b[2J")


def test_moments_of_other_zones_are_kept_as_moments(sky):
    sky.observe(observed_at="2026-01-01T02:00:00+02:00", freshness_deadline="2026-01-01T02:00:01+02:00")

    assert seen(sky)[0].event.observed_at.isoformat() == "2026-01-01T00:00:00+00:00"
    assert seen(sky)[0].status == "accepted"


def test_a_known_event_is_known_even_if_its_proposal_cannot_run_any_more(sky):
    sky.observe(proposed_task=TASK)

    assert sky.observe(proposed_task=TASK | {"task_type": "gone"}).status == "deduped"


def test_an_event_that_races_is_tried_again_and_then_refused(sky):
    class Racing:
        def __init__(self, times):
            self.times = times

        def __getattr__(self, name):
            return getattr(sky.store, name)

        def observe(self, observation: Observation):
            self.times -= 1
            return Observed(status="raced") if self.times >= 0 else sky.store.observe(observation)

    data = {"sensor_id": "eye", **event("k")}

    with pytest.raises(Refused, match="meanwhile"):
        sensors.observe(sky.office._replace(store=Racing(99)), data, "a")
    assert seen(sky) == []
    assert sensors.observe(sky.office._replace(store=Racing(4)), data, "a").status == "recorded"


# --- workflows --------------------------------------------------------------------------------------------------------

LOOP = """
workflow_type = "watch"
initial_state = "look"

[[states]]
state_id = "look"
task_type = "script"
completion_signals = ["done"]
"""


@pytest.fixture
def loop(sky):
    folder = sky.root / ".keisei" / "workflows"
    folder.mkdir(parents=True)
    (folder / "watch.toml").write_text(LOOP)
    return sky


def proposing(key="i", **more):
    return {"template": "watch", "instance_key": key, "context": {"args": ["-c", "true"]} | more}


def test_an_unknown_workflow_is_created_with_its_task(loop):
    done = loop.observe(event_id="e1", proposed_workflow=proposing())

    workflow = loop.store.instance("i")
    assert done.workflow_id == workflow.record.workflow_id
    assert len(loop.tasks()) == 1
    assert loop.events("sensor_workflow_created") == [
        {"sensor_event_id": "e1", "workflow_id": done.workflow_id, "instance_key": "i"}
    ]
    assert seen(loop)[0].workflow_id == done.workflow_id


def test_an_active_workflow_is_told_and_asks_for_nothing_more(loop):
    first = loop.observe(proposed_workflow=proposing())

    again = loop.observe(dedupe_key="k2", proposed_workflow=proposing(news="more"))

    assert again.workflow_id == first.workflow_id
    assert loop.store.instance("i").record.context == {"args": ["-c", "true"], "news": "more"}
    assert len(loop.tasks()) == 1
    assert len(loop.events("sensor_workflow_deduped")) == 1


def test_a_blocked_workflow_is_woken_and_asks_again(loop):
    first = loop.observe(event_id="e1", proposed_workflow=proposing())
    loop.finish(loop.tasks()[0].task_id)
    workflows.advance(loop.office)
    assert loop.store.instance("i").record.status == "blocked"

    again = loop.observe(event_id="e2", dedupe_key="k2", proposed_workflow=proposing(news="more"))

    assert again.workflow_id == first.workflow_id
    assert loop.store.instance("i").record.status == "active"
    assert loop.store.instance("i").record.context["news"] == "more"
    assert len(loop.tasks()) == 2
    assert loop.events("sensor_workflow_woken") == [
        {"sensor_event_id": "e2", "workflow_id": first.workflow_id, "instance_key": "i"}
    ]


def test_a_completed_workflow_is_left_alone_and_the_reason_told(loop):
    first = loop.observe(proposed_workflow=proposing())
    known = loop.store.instance("i")
    over = replace(known.record, status="completed", completed_at=loop.clock.now())
    moved = replace(known, record=over, awaits="nothing", task_id=None)
    assert loop.store.move_workflow(WorkflowMove(workflow=moved, was=known.version))

    again = loop.observe(dedupe_key="k2", proposed_workflow=proposing())

    assert again.reason == f"workflow {first.workflow_id} is completed"
    assert seen(loop)[1].reason == again.reason
    assert len(loop.tasks()) == 1


def test_an_instance_of_another_type_is_no_instance(loop):
    loop.observe(proposed_workflow=proposing())
    path = loop.root / ".keisei/workflows/other.toml"
    path.write_text(LOOP.replace("watch", "other"))

    with pytest.raises(OperatorError, match="is a workflow of type `watch`"):
        loop.observe(dedupe_key="k2", proposed_workflow=proposing() | {"template": "other"})
    assert len(seen(loop)) == 1


def test_a_workflow_whose_task_cannot_run_takes_its_event_with_it(loop):
    with pytest.raises(KeiseiError):
        loop.observe(proposed_task=TASK, proposed_workflow=proposing() | {"context": {"args": 7}})

    assert (seen(loop), loop.tasks(), loop.store.instance("i")) == ([], [], None)


# --- one run ----------------------------------------------------------------------------------------------------------


def test_a_script_is_given_its_cursor_and_the_time_and_says_events(sky):
    sky.skill("eye", '#!/bin/sh\ncat > given\necho \'{"cursor": {"n": 1}}\'\n')

    ran = sky.sensing().run("eye", "ann")

    assert ran.fault is None
    given = json.loads((sky.root / "given").read_text())
    assert given == {"sensor_id": "eye", "cursor": None, "now": "2026-01-01T00:00:00Z"}
    sky.sensing().run("eye", "ann")
    assert json.loads((sky.root / "given").read_text())["cursor"] == {"n": 1}


FUNCTION = """
import sys
from datetime import datetime

def sense(cursor, now):
    assert isinstance(now, datetime) and now.tzinfo is not None
    assert sys.flags.isolated
    number = (cursor or {"n": 0})["n"]
    print("a sensor may print")
    yield {"source_ref": "sky", "dedupe_key": f"k{number}", "payload": {"at": now}}
    return {"cursor": {"n": number + 1}}
"""


def test_a_function_is_run_in_a_process_of_its_own(sky):
    sky.skill("eye", FUNCTION, file="eye.py", mode=0o644)

    for _ in range(3):
        assert sky.sensing().run("eye", "ann").fault is None

    assert [each.event.dedupe_key for each in seen(sky)] == ["k0", "k1", "k2"]
    assert "eye" not in sys.modules


@pytest.mark.parametrize(
    ("body", "count"),
    [
        ("return []", 0),
        ("return None", 0),
        ("return [{'source_ref': 'x', 'dedupe_key': 'a', 'payload': {}}]", 1),
        ("return {'source_ref': 'x', 'dedupe_key': 'a', 'payload': {}}", 1),
        ("return {'events': [{'source_ref': 'x', 'dedupe_key': 'a', 'payload': {}}], 'cursor': {}}", 1),
    ],
)
def test_a_function_may_return_what_it_has(sky, body, count):
    sky.skill("eye", f"def sense(cursor, now):\n    {body}\n", file="eye.py", mode=0o644)

    ran = sky.sensing().run("eye", "ann")

    assert (ran.fault, ran.recorded) == (None, count)


def test_bad_events_are_refused_one_by_one_and_the_others_taken(sky):
    """One date that cannot be read must not fail the whole poll, on every poll."""
    bad = event("bad", observed_at="Received: soon")
    sky.skill("eye", saying(event("a", proposed_task=TASK), bad, 7, event("b"), {"cursor": {"n": 2}}) + "echo oops\n")

    ran = sky.sensing().run("eye", "ann")

    assert (ran.recorded, ran.deduped, ran.refused) == (2, 0, 3)
    assert [each.event.dedupe_key for each in seen(sky)] == ["a", "b"]
    assert len(sky.events("sensor_event_refused")) == 3
    assert sky.store.sensor("eye").cursor == {"n": 2}
    assert sky.events("sensor_ran") == [{"sensor_id": "eye", "recorded": 2, "deduped": 0, "refused": 3}]
    assert (again := sky.sensing().run("eye", "ann")).deduped == 2, again


def test_a_name_that_only_the_runtime_gives_harms_no_other_event(sky):
    reserved = TASK | {"idempotency_key": "schedule:x"}
    sky.skill("eye", saying(event("a"), event("b", proposed_task=reserved), event("c"), {"cursor": {"n": 1}}))

    ran = sky.sensing().run("eye", "ann")

    assert (ran.recorded, ran.refused, ran.fault) == (2, 1, None)
    assert sky.store.sensor("eye").cursor == {"n": 1}
    (told,) = sky.events("sensor_event_refused")
    assert told["dedupe_key"] == "b"


def test_a_file_of_the_project_that_is_broken_loses_no_event(sky):
    sky.skill("eye", saying(event("k", proposed_task=TASK), event("note"), {"cursor": {"n": 1}}))
    file = sky.root / "keisei.toml"
    text = file.read_text()
    file.write_text(f"{text}[[[")

    ran = sky.sensing().run("eye", "ann")

    assert "keisei.toml" in ran.fault
    assert [each.event.dedupe_key for each in seen(sky)] == ["note"], "what starts nothing needs no file"
    assert sky.store.sensor("eye").cursor is None, "so it says the other one again"
    file.write_text(text)
    assert sky.sensing().run("eye", "ann").recorded == 1
    assert len(sky.tasks()) == 1
    assert sky.store.sensor("eye").cursor == {"n": 1}


def test_a_sensor_cannot_speak_for_another(sky):
    sky.skill("eye", saying(event("a", sensor_id="webhook:bank")))

    sky.sensing().run("eye", "ann")

    assert [each.event.sensor_id for each in sky.store.seen(SeenQuery())] == ["eye"]


def test_an_environment_has_only_what_its_table_names(tmp_path, monkeypatch):
    monkeypatch.setenv("SEEN", "seen-value")
    monkeypatch.setenv("HIDDEN", "hidden-value")
    other = Observatory(tmp_path, '[sensors.eye]\nenv = ["SEEN"]\n')
    other.skill("eye", '#!/bin/sh\nenv > env.txt\nls -A "$HOME" > home.txt\n')

    assert other.sensing().run("eye", "ann").fault is None

    text = (other.root / "env.txt").read_text()
    names = {line.partition("=")[0] for line in text.splitlines()}
    assert "SEEN=seen-value" in text
    assert "hidden-value" not in text
    assert names - {"PWD", "SHLVL", "_", "OLDPWD"} <= {
        "PATH",
        "LANG",
        "LC_ALL",
        "LC_CTYPE",
        "HOME",
        "TMPDIR",
        "SEEN",
        "KEISEI_TREE",
    } | {name for name in names if "MARK" in name or "TREE" in name}
    home = next(line for line in text.splitlines() if line.startswith("HOME=")).removeprefix("HOME=")
    assert not Path(home).exists(), "it is a private one, and gone"
    assert (other.root / "home.txt").read_text() == ""
    other.close()


def test_a_variable_that_nobody_has_set_is_named(tmp_path, monkeypatch):
    monkeypatch.delenv("MISSING_TOKEN", raising=False)
    other = Observatory(tmp_path, '[sensors.eye]\nenv = ["MISSING_TOKEN"]\n')
    other.skill("eye", saying())

    assert "MISSING_TOKEN" in other.sensing().run("eye", "ann").fault
    other.close()


def test_what_goes_wrong_is_told_without_secrets(tmp_path, monkeypatch):
    monkeypatch.setenv("TOKEN", "s3cr3t-value-of-mine")
    sky = Observatory(tmp_path, '[sensors.eye]\nenv = ["TOKEN"]\n')
    sky.skill("eye", '#!/bin/sh\necho "cannot log in with $TOKEN" >&2\nexit 3\n')

    fault = sky.sensing().run("eye", "ann").fault

    assert fault == "it ended with exit 3: cannot log in with [redacted]"
    assert sky.events("sensor_failed") == [{"sensor_id": "eye", "reason": fault, "failures": 1}]
    assert "s3cr3t" not in sky.path.read_bytes().decode("latin-1")
    sky.close()


@pytest.mark.parametrize(
    ("program", "words"),
    [
        ("#!/bin/sh\nexit 1\n", "exit 1"),
        ("#!/bin/sh\nkill -9 $$\n", "signal 9"),
        ("#!/bin/sh\necho hello\n", "not JSON"),
        (f"#!/bin/sh\nhead -c {OUTPUT_CAP + 1} /dev/zero\n", "more than"),
        ("#!/nowhere/at/all\n", "nowhere"),
        (f"#!/bin/sh\ncat <<'END'\n{json.dumps(event('a'))}\nEND\nexit 1\n", "exit 1"),
    ],
    ids=["exit", "signal", "words", "flood", "interpreter", "late"],
)
def test_a_run_that_fails_counts_for_nothing(sky, program, words):
    sky.skill("eye", program)

    ran = sky.sensing().run("eye", "ann")

    assert words in ran.fault
    assert seen(sky) == []
    assert sky.store.sensor("eye").failures == 1


def test_a_sensor_that_kills_its_keeper_has_failed_in_words(sky, monkeypatch):
    sky.skill("eye", saying(event("a")))
    real = sense._run
    unknown = {"code": None, "signal": None}
    monkeypatch.setattr(sense, "_run", lambda *values: replace(real(*values), **unknown))

    assert sky.sensing().run("eye", "ann").fault == "its keeper was killed, so that nobody knows how it ended"
    assert seen(sky) == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x = 1\n", "no function `sense"),
        ("def sense(cursor, now):\n    raise OSError('dead network')\n", "dead network"),
    ],
)
def test_a_function_that_fails_says_why(sky, text, words):
    sky.skill("eye", text, file="eye.py", mode=0o644)

    assert words in sky.sensing().run("eye", "ann").fault


def test_a_skill_without_a_sensor_has_none(sky):
    with pytest.raises(OperatorError, match="brings no sensor"):
        sky.sensing().run("code-review", "ann")
    with pytest.raises(KeiseiError):
        sky.sensing().run("nobody", "ann")


# --- again and again --------------------------------------------------------------------------------------------------


def ticked(sensing):
    """One look, and the end of everything it started."""
    sensing.tick()
    eventually(lambda: not sensing._jobs)


def test_a_sensor_is_run_when_it_is_due_and_not_before(sky):
    sky.skill("eye", "#!/bin/sh\necho run >> runs\n")
    sensing = sky.sensing()

    for _ in range(3):
        ticked(sensing)
    sky.clock.advance(60)
    ticked(sensing)

    assert (sky.root / "runs").read_text() == "run\nrun\n"


def test_of_many_runners_one_runs_it(sky):
    sky.skill("eye", "#!/bin/sh\necho run >> runs\n")
    runners = [sky.sensing() for _ in range(6)]
    start = threading.Barrier(len(runners))

    def look(sensing):
        start.wait()
        sensing.tick()

    threads = [threading.Thread(target=look, args=(each,)) for each in runners]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    eventually(lambda: not any(each._jobs for each in runners))

    assert (sky.root / "runs").read_text() == "run\n"


def test_failures_open_a_breaker_that_asks_a_person_once(sky):
    sky.skill("eye", "#!/bin/sh\necho down >&2\nexit 1\n")
    sensing = sky.sensing()

    for _ in range(PATIENCE + 2):
        ticked(sensing)
        sky.clock.advance(4000)

    state = sky.store.sensor("eye")
    assert (state.paused, state.failures) == (True, PATIENCE)
    assert len(sky.events("sensor_failed")) == PATIENCE
    assert len(sky.events("sensor_paused")) == 1
    assert [(each.kind, each.key) for each in approvals(sky)] == [("sensor", "sensor:eye")]
    assert "down" in approvals(sky)[0].reason

    sensors.resume(sky.store, "eye", "fixed", "operator:test")
    ticked(sensing)
    assert sky.store.sensor("eye").failures == 1


def test_a_failing_sensor_waits_longer_every_time(sky):
    sky.skill("eye", "#!/bin/sh\necho run >> runs\nexit 1\n")
    sensing = sky.sensing()
    for _ in range(4):
        ticked(sensing)
        sky.clock.advance(60)

    assert (sky.root / "runs").read_text() == "run\nrun\n"


def test_a_paused_sensor_and_a_paused_dispatcher_run_nothing(sky):
    sky.skill("eye", "#!/bin/sh\necho run >> runs\n")
    sensing = sky.sensing()
    sensors.pause(sky.store, "eye", "quiet", "operator:test")
    ticked(sensing)
    sensors.resume(sky.store, "eye", "loud", "operator:test")
    sky.pause()
    ticked(sensing)
    assert not (sky.root / "runs").exists()

    sky.pause(paused=False)
    ticked(sensing)
    assert (sky.root / "runs").read_text() == "run\n"
    sky.store.unsealed()
    assert [each.kind for each in sky.store.entries() if each.subject == "eye"] == ["sensor_paused", "sensor_resumed"]


def test_a_deep_queue_holds_sensors_back_and_says_so_once(tmp_path):
    sky = Observatory(tmp_path, f"{TABLE}\n[runner]\nsensor-backlog = 2\n")
    sky.skill("eye", saying(event("a")))
    for number in range(2):
        sky.observe(sensor_id="other", dedupe_key=str(number), proposed_task=TASK)
    sensing = sky.sensing()

    for _ in range(3):
        ticked(sensing)
        sky.clock.advance(60)
    assert seen(sky) == []
    assert len(sky.events("sensor_held_back")) == 1
    with pytest.raises(Refused, match="2 tasks wait"):
        sensing.run("eye", "ann")

    for task in sky.tasks():
        sky.finish(task.task_id)
    ticked(sensing)
    assert len(seen(sky)) == 1
    assert sky.store.sensor("eye").reason is None
    sky.close()


def test_a_clock_that_was_set_back_silences_no_sensor(sky):
    sky.skill("eye", "#!/bin/sh\necho run >> runs\n")
    sensing = sky.sensing()
    sky.clock.jump(365 * 86_400)
    ticked(sensing)
    sky.clock.jump(-365 * 86_400)

    ticked(sensing)

    assert (sky.root / "runs").read_text() == "run\nrun\n"


def test_an_order_during_a_run_outlives_it(sky):
    sky.skill("eye", '#!/bin/sh\ntouch began\nwhile [ ! -e go ]; do sleep 0.01; done\necho \'{"cursor": {"n": 1}}\'\n')
    sensing = sky.sensing()
    sensing.tick()
    eventually((sky.root / "began").exists)

    sensors.pause(sky.store, "eye", "quiet", "operator:test")
    (sky.root / "go").touch()
    eventually(lambda: not sensing._jobs)

    state = sky.store.sensor("eye")
    assert (state.paused, state.reason, state.cursor) == (True, "quiet", {"n": 1})


# --- hanging ----------------------------------------------------------------------------------------------------------

HANGING = """#!/bin/sh
sleep 1000 &
echo $! >> pids
setsid sh -c 'echo $$ >> pids; sleep 1000; :' &
echo $$ >> pids
touch hangs
while :; do sleep 1000; done
"""


def pids(sky):
    path = sky.root / "pids"
    return [int(each) for each in path.read_text().split()] if path.exists() else []


def hanging(sky):
    return (sky.root / "hangs").exists() and len(pids(sky)) == 3


def test_a_sensor_on_a_dead_network_delays_nothing_and_is_ended_at_its_deadline(tmp_path):
    sky = Observatory(tmp_path, "[sensors.dead]\ndeadline-s = 2.0\n[sensors.eye]\n")
    sky.skill("dead", HANGING)
    sky.skill("eye", saying(event("a", proposed_task=TASK)))
    sensing = sky.sensing()

    sensing.tick()
    eventually(lambda: seen(sky))
    eventually(lambda: not sensing._jobs)

    assert len(sky.tasks()) == 1
    assert sky.store.sensor("dead").reason.startswith("it took longer than 2 s and was ended")
    assert not any(map(is_alive, pids(sky)))
    sky.close()


def test_a_runner_that_stops_ends_the_whole_tree_and_leaves_the_sensor_to_others(sky):
    sky.skill("eye", HANGING)
    sensing = sky.sensing()
    sensing.tick()
    eventually(lambda: hanging(sky))

    sensing.stop()
    sensing.stop()

    assert not any(map(is_alive, pids(sky)))
    assert sky.store.sensor("eye").failures == 0
    assert sky.store.sensor("eye").next_run_at == sky.clock.now()
    sensing.tick()
    assert not sensing._jobs


RUNNER = """
import sys
from pathlib import Path
from tests.wiring.observatory import Observatory

sky = Observatory.__new__(Observatory)
sky.reopen(Path(sys.argv[1]))
sensing = sky.sensing()
sensing.tick()
print("looked", flush=True)
sys.stdin.read()
"""


def test_a_runner_that_is_killed_leaves_no_orphan(tmp_path):
    sky = Observatory(tmp_path, "[sensors.eye]\ndeadline-s = 300.0\n")
    sky.skill("eye", HANGING)
    root = Path(__file__).resolve().parents[2]
    runner = subprocess.Popen(
        [sys.executable, "-c", RUNNER, str(tmp_path)],
        cwd=root,
        env=os.environ | {"PYTHONPATH": str(root)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        runner.stdout.readline()
        eventually(lambda: hanging(sky))
    finally:
        runner.send_signal(signal.SIGKILL)
        runner.communicate()

    eventually(lambda: not any(map(is_alive, pids(sky))))
    assert sky.store.sensor("eye").next_run_at >= sky.clock.now() + timedelta(seconds=300), "nobody else runs it yet"
    sky.close()
