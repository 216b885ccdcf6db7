"""What outcomes ask for: follow-up tasks and messages, as rows first, by policy, once."""

import json
from contextlib import closing

import pytest

from keisei.engine.deliver import BATCH, deliver
from keisei.engine.office import Office
from keisei.records.beside import Beside
from keisei.records.outbox import OutboxItem
from keisei.rules.follow_up import DEEPEST
from keisei.testing.model import ScriptedModel
from keisei.wiring.channel import AT_ONCE, ProjectChannels
from keisei.wiring.fresh import new_id
from keisei.wiring.registry import defaults_of
from tests.wiring.house import House
from tests.wiring.receiver import Receiver

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"  # noqa: S105 - the specification's example
OPS = """
[channels.ops]
kind = "webhook"
url-env = "OPS_URL"
secret-env = "OPS_SECRET"
"""
MODEL = """
[adapters.model]
kind = "ollama-generate"
endpoint = "{url}"
model = "scripted"
timeout_ms = 10000
"""

PROFILE = """profile_id = "{name}"
style = "claude-like"
role = "{role}"
default_adapter_id = "script"
prompt_parts = ["Work."]
skill_ids = []

[context_policy]
max_prompt_chars = 100000
include_recent_memory = false

[result_policy]
allow_follow_up_tasks = {follow}
allow_external_messages = {messages}
{channels}
"""


def asking(**wishes):
    answer = json.dumps({"status": "completed"} | wishes)
    return f"cat <<'END'\n{answer}\nEND"


def follow_up(script, **more):
    return {"task_type": "answering", "source": "follow", "payload": {"args": ["-c", script]}} | more


def leave(house):
    """What the house can deliver leaves it."""
    channels = ProjectChannels(house.home.file, {}, lambda _item, _words: None)
    while deliver(Office(house.store, house.shop.registry, defaults_of(house.home), new_id), channels, 60):
        pass


@pytest.fixture
def house(tmp_path):
    made = House(tmp_path)
    profiles = made.root / ".keisei" / "profiles"
    profiles.mkdir()
    channels = '\n[integration_policy]\nconsole = "allow"\n'
    for name, role, allowed in (("open", "program", "true"), ("closed", "program", "false")):
        text = PROFILE.format(name=name, role=role, follow=allowed, messages=allowed, channels=channels)
        (profiles / f"{name}.toml").write_text(text)
    yield made
    made.close()


def test_a_follow_up_is_queued_once_with_its_parent(house):
    wish = follow_up("""echo '{"status": "completed"}'""", requested_profile_id="closed", requested_adapter_id="script")
    parent = house.script(asking(follow_up_tasks=[wish]), requested_profile_id="open", requested_adapter_id="script")

    house.run()
    house.run()

    children = [each for each in house.tasks() if each.parent_task_id == parent]
    assert [each.status for each in children] == ["completed"]
    assert [each.status for each in house.store.outbox(None, 10)] == ["delivered"]


def test_what_the_profile_forbids_is_a_row_that_says_so(house):
    wish = follow_up("true")
    script = asking(follow_up_tasks=[wish], external_messages=[{"channel": "console", "text": "hi"}])
    task = house.script(script, requested_profile_id="closed", requested_adapter_id="script")

    house.run()
    leave(house)

    assert house.task(task).status == "completed"
    rows = house.store.outbox(None, 10)
    assert {(each.kind, each.status) for each in rows} == {
        ("follow_up_task", "refused"),
        ("external_message", "refused"),
    }
    assert len(house.tasks()) == 1


def test_a_channel_that_is_not_allowed_is_refused_and_an_allowed_one_is_used(house):
    messages = [{"channel": "console", "text": "a"}, {"channel": "webhook", "text": "b"}]
    house.script(asking(external_messages=messages), requested_profile_id="open", requested_adapter_id="script")

    house.run()
    leave(house)

    assert {(each.payload["channel"], each.status) for each in house.store.outbox(None, 10)} == {
        ("console", "delivered"),
        ("webhook", "refused"),
    }


def test_a_runner_sends_what_an_agent_asks_for_and_tells_what_is_for_the_console(tmp_path, monkeypatch):
    receiver = Receiver()
    monkeypatch.setenv("OPS_URL", receiver.url)
    monkeypatch.setenv("OPS_SECRET", SECRET)
    house = House(tmp_path, adapters=OPS)
    profiles = house.root / ".keisei" / "profiles"
    profiles.mkdir()
    allowed = '\n[integration_policy]\nconsole = "allow"\nops = "allow"\n'
    text = PROFILE.format(name="open", role="program", follow="true", messages="true", channels=allowed)
    (profiles / "open.toml").write_text(text)
    messages = [{"channel": "ops", "text": "a"}, {"text": "b"}, {"channel": "ops", "text": f"c {SECRET}"}]
    task = house.script(asking(external_messages=messages), requested_profile_id="open", requested_adapter_id="script")

    house.run()

    assert [each.status for each in house.store.outbox(None, 10)] == ["delivered"] * 3
    assert sorted(each.json["data"]["message"]["text"] for each in receiver.received) == ["a", "c [redacted]"]
    assert all(each.is_signed_with(SECRET) for each in receiver.received)
    assert [(each.task_id, each.detail) for each in house.lines if each.event == "message"] == [(task, "b")]
    house.close()
    receiver.close()


def test_a_runner_that_leaves_when_it_is_idle_lets_everything_go_first(tmp_path, monkeypatch):
    with closing(Receiver()) as receiver:
        monkeypatch.setenv("OPS_URL", receiver.url)
        monkeypatch.setenv("OPS_SECRET", SECRET)
        house = House(tmp_path, adapters=OPS)
        now = house.store.now()
        rows = [
            OutboxItem(
                key=f"a/{channel}/{number}",
                kind="external_message",
                task_id=None,
                attempt_id=None,
                payload={"channel": channel, "text": "hello"},
                created_at=now,
            )
            for channel in ("console", "ops")
            for number in range(3 * AT_ONCE if channel == "ops" else 3 * BATCH)
        ]
        house.store.ask(Beside(outbox=tuple(rows)))

        house.run()

        assert house.store.outbox("pending", 10) == []
        assert len(receiver.received) == 3 * AT_ONCE
        house.close()


def test_a_model_without_tools_cannot_have_a_program_run(tmp_path):
    wish = {"task_type": "script", "source": "follow", "payload": {"args": ["-c", "touch ran"]}}
    answer = json.dumps({"status": "completed", "operator_summary": "planned", "follow_up_tasks": [wish]})
    with ScriptedModel(lambda _request: answer) as model:
        house = House(tmp_path, adapters=MODEL.format(url=model.url))
        (house.root / ".keisei" / "profiles").mkdir()
        profile = PROFILE.format(name="planner", role="program", follow="true", messages="false", channels="")
        (house.root / ".keisei" / "profiles" / "planner.toml").write_text(profile.replace('"script"', '"model"'))
        house.add({"task_type": "answering", "requested_profile_id": "planner", "requested_adapter_id": "model"})

        house.run()

        (dead,) = house.store.outbox("dead", 10)
        assert "a task that is no program cannot ask for one" in dead.reason
        assert [each.task_type for each in house.tasks()] == ["answering"]
        house.close()


def test_a_follow_up_that_cannot_be_queued_is_a_dead_letter(house):
    wish = follow_up("true", requested_profile_id="nobody")
    task = house.script(asking(follow_up_tasks=[wish]), requested_profile_id="open", requested_adapter_id="script")

    house.run()

    assert house.task(task).status == "completed"
    (row,) = house.store.outbox(None, 10)
    assert row.status == "dead"
    assert "nobody" in row.reason


def test_nothing_leaves_for_an_attempt_that_failed(house):
    script = asking(follow_up_tasks=[follow_up("true")], artifact_paths=["missing.md"])
    house.script(script, requested_profile_id="open", requested_adapter_id="script", max_attempts=1)

    house.run()

    assert [each for each in house.store.outbox(None, 10) if each.kind == "follow_up_task"] == []


def test_follow_ups_do_not_breed_for_ever(house):
    program = """import json, os
payload = json.load(open(os.environ["AGENT_RUNTIME_TASK_PAYLOAD_FILE"]))
again = {"task_type": "answering", "source": "breed", "payload": payload,
         "requested_profile_id": "open", "requested_adapter_id": "script"}
print(json.dumps({"status": "completed", "follow_up_tasks": [again]}))"""
    payload = {"args": ["-c", 'python3 -c "$1"', "sh", program]}
    house.add(
        {"task_type": "answering", "payload": payload, "requested_profile_id": "open", "requested_adapter_id": "script"}
    )

    for _ in range(DEEPEST + 3):
        house.run()

    assert len(house.tasks()) == DEEPEST + 1
    assert sorted({each.status for each in house.store.outbox(None, 100)}) == ["dead", "delivered"]


def test_a_role_that_notifies_says_what_became_of_a_task(tmp_path):
    house = House(tmp_path)
    roles, profiles = house.root / ".keisei" / "roles", house.root / ".keisei" / "profiles"
    roles.mkdir()
    profiles.mkdir()
    (roles / "telling.toml").write_text('[role]\nname = "telling"\n\n[escalation]\npolicy = "orchestrator-notify"\n')
    text = PROFILE.format(name="telling", role="telling", follow="false", messages="false", channels="")
    (profiles / "telling.toml").write_text(text)
    task = house.script("exit 1", requested_profile_id="telling", requested_adapter_id="script", max_attempts=2)

    house.run()

    leave(house)

    row = house.store.outbox(None, 10)[-1]
    assert (row.status, row.payload["task_id"], row.payload["status"]) == ("delivered", task, "blocked")
    house.close()


def test_a_role_that_fails_fast_ends_at_the_first_violation(tmp_path):
    house = House(tmp_path)
    roles, profiles = house.root / ".keisei" / "roles", house.root / ".keisei" / "profiles"
    roles.mkdir()
    profiles.mkdir()
    (roles / "strict.toml").write_text('[role]\nname = "strict"\n\n[escalation]\npolicy = "fail-fast"\n')
    text = PROFILE.format(name="strict", role="strict", follow="false", messages="false", channels="")
    (profiles / "strict.toml").write_text(text)
    script = asking(artifact_paths=["missing.md"])
    task = house.script(script, requested_profile_id="strict", requested_adapter_id="script", max_attempts=5)

    house.run()

    assert (house.task(task).status, house.task(task).attempt_count) == ("permanent_failure", 1)
    house.close()
