"""Tasks: found by what is known of them, asked for by form or JSON, explained, steered; files of their folder alone."""

import os
import re
from datetime import timedelta

import pytest
from msgspec.structs import replace

from keisei.records.approval import ApprovalRecord
from keisei.records.artifact import ArtifactRecord
from keisei.records.move import NewTask
from keisei.testing.queue import ending, new_outcome, new_task
from keisei.wiring.fresh import new_id
from tests.console.house import VIEWER, open_house
from tests.console.landings import HOSTILE, claimed_task, offer

SHOWN = "&lt;script&gt;alert(1)&lt;/script&gt; \\x1b[31m \\u202eturned"
"""How hostile text stands on a page, on one line."""
STRANGE = ["nobody", "%00", "a%2Fb", "%F0%9F%98%80", "..%2F..%2Fetc", "x" * 150, "%ED%A0%80", "%3Cscript%3E"]
SCRIPT = {"args": ["-c", "true"]}


@pytest.fixture
def house(tmp_path):
    with open_house(tmp_path) as opened:
        yield opened


@pytest.fixture(scope="module")
def full(tmp_path_factory):
    """Seven tasks of two types, one of them cancelled."""
    with open_house(tmp_path_factory.mktemp("tasks")) as opened:
        now = opened.store.now()
        made = [
            new_task(
                f"task-{number}",
                now + timedelta(seconds=number),
                subject=f"Mend {number}",
                task_type="fix" if number % 2 else "docs",
                source="cli" if number < 3 else "sensor:mail",
                agent="ann" if number == 4 else None,
            )
            for number in range(7)
        ]
        opened.store.enqueue([NewTask(task=each) for each in made])
        opened.order("/tasks/task-6/cancel")
        yield opened


def settled(house, status, subject="Mend it.", **beside):
    """A task that ended so."""
    claimed = claimed_task(house, subject)
    assert house.store.settle(ending(claimed, status, house.store.now(), **beside)) == "settled"
    return claimed


# --- the list ---------------------------------------------------------------------------------------------------------


def ids(told):
    return [each["task_id"].removeprefix("task-") for each in told["items"]]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({}, "6543210"),
        ({"status": "pending"}, "543210"),
        ({"status": ["pending", "operator_canceled"]}, "6543210"),
        ({"task_type": "fix"}, "531"),
        ({"source": "cli"}, "210"),
        ({"agent": "ann"}, "4"),
        ({"profile": "profile", "status": "operator_canceled"}, "6"),
        ({"text": "mEnD 3"}, "3"),
        ({"text": "sensor:mail", "task_type": "docs"}, "64"),
        ({"task_type": "nothing\0"}, ""),
    ],
    ids=["all", "status", "statuses", "type", "source", "agent", "profile", "text", "text-and-type", "nothing"],
)
def test_tasks_are_found_by_what_is_known_of_them(full, query, found):
    assert "".join(ids(full.api("/tasks", **query))) == found


def test_every_task_stands_on_exactly_one_page(full):
    seen, after = [], {}
    while True:
        told = full.api("/tasks", limit=3, **after)
        seen += ids(told)
        if told["next"] is None:
            break
        after = {"after": told["next"]}

    assert "".join(seen) == "6543210"


def test_the_chips_count_every_status_and_filter_by_it(full):
    shown = full.page("/tasks?text=Mend&limit=3")

    assert full.api("/tasks", text="nothing")["counts"]["pending"] == 6
    assert 'href="/tasks?status=operator_canceled&amp;text=Mend&amp;limit=3"' in shown
    assert 'href="/tasks?after=task-4&amp;text=Mend&amp;limit=3"' in shown


@pytest.mark.parametrize("query", ["status=gone", "limit=0", "limit=201", "limit=x", "colour=blue"])
def test_a_filter_that_nobody_understands_is_told(full, query):
    assert full.client.get(f"/api/v1/tasks?{query}").status_code == 422


def test_an_empty_house_says_how_a_task_is_made(house):
    assert "keisei run" in house.page("/tasks")
    assert "No task fits" in house.page("/tasks?text=x")


# --- asking -----------------------------------------------------------------------------------------------------------


def test_the_form_begins_with_an_example_that_fits(house):
    chosen = house.api("/tasks/new", task_type="script")["chosen"]

    assert house.order("/tasks", task_type="script", payload=chosen["example"]).status_code == 201
    assert "&#34;args&#34;" in house.page("/tasks/new?task_type=script")
    assert 'name="instruction"' in house.page("/tasks/new")


def test_a_task_type_whose_file_is_broken_does_not_hide_the_others(tmp_path):
    with open_house(tmp_path, files=[(".keisei/task-types/broken.toml", "task_type = 7")]) as house:
        told = {each["name"]: each["description"] for each in house.api("/tasks/new")["types"]}

        assert "needs an edit" in told["broken"]
        assert told["script"] == "A plain program with arguments; exit 0 is success."


def test_a_program_queues_a_task_once_for_each_key(house):
    words = {"task_type": "script", "payload": SCRIPT, "subject": "Nightly", "priority": 7, "key": "k"}

    first, again = house.order("/tasks", **words), house.order("/tasks", **words)

    assert (first.status_code, first.json()["queued"]) == (201, True)
    assert again.json() == {"task_id": first.json()["task_id"], "queued": False}
    task = house.api(f"/tasks/{first.json()['task_id']}")["task"]
    assert (task["subject"], task["priority"], task["payload"]) == ("Nightly", 7, SCRIPT)
    assert task["source"] == "operator:tester"


def test_a_browser_queues_a_task_and_goes_to_its_page(house):
    words = {"task_type": "script", "payload": '{"args": ["-c", "true"]}', "not_before": "2999-01-31T18:00", "key": ""}

    answer = house.form("/tasks", **words)

    assert answer.status_code == 303
    task = house.api(answer.headers["location"])["task"]
    assert (task["payload"], task["available_at"]) == (SCRIPT, "2999-01-31T18:00:00Z")
    assert "waits for its moment" in house.page(answer.headers["location"])


@pytest.mark.parametrize(
    "words",
    [
        {"task_type": "nothing-like-it"},
        {"task_type": "script", "payload": {}},
        {"task_type": "script", "payload": "{}"},
        {"task_type": "script", "payload": [1]},
        {"task_type": "script", "payload": SCRIPT, "not_before": "tomorrow"},
        {"task_type": "script", "payload": SCRIPT, "not_before": "0001-01-01T00:00+23:00"},
        {"task_type": "script", "payload": SCRIPT, "profile": "nobody"},
        {"task_type": "script", "payload": SCRIPT, "adapter": "nobody\0"},
        {"task_type": "script", "payload": SCRIPT, "priority": 5000},
        {"task_type": "script", "payload": SCRIPT, "colour": "blue"},
        {"payload": SCRIPT},
    ],
    ids=[
        "no-type",
        "no-payload",
        "text",
        "list",
        "no-moment",
        "too-early",
        "no-profile",
        "no-adapter",
        "priority",
        "unknown-field",
        "nothing",
    ],
)
def test_what_could_not_run_is_not_queued(full, words):
    told = full.order("/tasks", **words)

    assert (told.status_code, told.headers["content-type"]) == (422, "application/problem+json")
    assert full.api("/tasks")["counts"]["pending"] == 6


@pytest.mark.parametrize(
    "words",
    [
        {"payload": "{"},
        {"payload": "[1]"},
        {"payload": '{"args": ' + "[" * 5000 + "]" * 5000 + "}"},
        {"payload": '{"args": "\ud800"}'.encode("utf-8", "backslashreplace").decode()},
        {"payload": '{"args": ["x"]}', "not_before": "tomorrow"},
        {"payload": '{"args": ["x"]}', "priority": "high"},
        {"payload": '{"args": ["x"]}', "task_type": ""},
    ],
    ids=["half", "list", "deep", "surrogate", "moment", "priority", "no-type"],
)
def test_a_form_that_nobody_understands_queues_nothing(full, words):
    told = full.form("/tasks", **{"task_type": "script", **words})

    assert told.status_code == 422
    assert "<h1>Unprocessable" in told.text
    assert full.api("/tasks")["counts"]["pending"] == 6


def test_a_key_that_only_the_runtime_gives_is_refused(full):
    assert full.order("/tasks", task_type="script", payload=SCRIPT, key="schedule:x").status_code == 409


def once_of(house, path):
    return re.search(r'name="once" value="([^"]+)"', house.page(path)).group(1)


@pytest.mark.parametrize("path", ["/tasks/new", "/tasks/new?task_type=script"])
def test_a_form_that_is_sent_twice_queues_one_task(house, path):
    once, other = once_of(house, path), once_of(house, path)
    if "script" in path:
        action, words, edited = "/tasks", {"task_type": "script", "payload": '{"args": ["-c", "true"]}'}, "subject"
    else:
        action, words, edited = "/tasks/run", {"instruction": "Mend it.", "write": "src/**"}, "instruction"

    first, again = (house.form(action, once=once, **words) for _ in range(2))

    assert (first.status_code, again.headers["location"]) == (303, first.headers["location"])
    assert house.api("/tasks")["counts"]["pending"] == 1
    house.form(action, once=other, **words)
    house.form(action, once=once, **words | {edited: "Something else."})
    assert house.api("/tasks")["counts"]["pending"] == 3, "another form, and an edited one, are other orders"


def test_a_key_is_stronger_than_the_word_of_a_form(house):
    words = {"task_type": "script", "payload": SCRIPT, "key": "mine"}

    first, again = (house.order("/tasks", once=f"some word {number}", **words).json() for number in range(2))

    assert (first["queued"], again["queued"], again["task_id"]) == (True, False, first["task_id"])


def test_an_instruction_becomes_a_task_for_an_agent(house):
    words = {
        "instruction": "Mend the parser.\r\nAnd test it.",
        "write": "src/**\r\n\r\n tests/** ",
        "budget_usd": "2.5",
    }

    answer = house.form("/tasks/run", role="edit-local", check="make lint", **words)

    task = house.api(answer.headers["location"])["task"]
    assert (task["task_type"], task["subject"]) == ("agent-task", "Mend the parser.")
    assert task["payload"]["scope"]["files-whitelist"] == ["src/**", "tests/**"]
    assert task["payload"]["body"]["text"] == "Mend the parser.\nAnd test it."
    assert task["payload"]["verification"]["check"] == "make lint"
    assert task["budget"]["max_cost_usd"] == 2.5


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"instruction": " "}, "empty"),
        ({"instruction": "x", "role": "edit-local"}, "src/**"),
        ({"instruction": "x", "role": "nobody"}, "nobody"),
        ({"instruction": "x", "role": "read-only", "adapter": "nobody"}, "nobody"),
    ],
    ids=["empty", "no-scope", "no-role", "no-adapter"],
)
def test_an_instruction_nobody_could_follow_is_not_queued(full, words, said):
    told = full.order("/tasks/run", **words)

    assert told.status_code == 422
    assert said in told.text
    assert full.api("/tasks")["counts"]["pending"] == 6


# --- one task ---------------------------------------------------------------------------------------------------------


def test_a_failed_task_says_why_and_quotes_its_agent(house):
    claimed = claimed_task(house, HOSTILE, description=HOSTILE, payload={HOSTILE: HOSTILE})
    settlement = ending(claimed, "permanent_failure", house.store.now(), error=HOSTILE)
    house.store.settle(settlement)

    told = house.api(f"/tasks/{claimed.task.task_id}")
    shown = house.page(f"/tasks/{claimed.task.task_id}")

    assert (told["why"]["tone"], told["why"]["quoted"]) == ("bad", HOSTILE)
    assert [each["attempt"]["attempt_id"] for each in told["attempts"]] == [claimed.attempt.attempt_id]
    assert {"task_enqueued", "task_claimed"} <= {each["event_type"] for each in told["events"]}
    assert SHOWN in shown
    assert "<script>alert" not in shown
    assert "\x1b" not in shown
    assert f'href="/attempts/{claimed.attempt.attempt_id}"' in shown


def test_what_the_agent_said_stands_as_a_quotation(house):
    claimed = claimed_task(house)
    settlement = ending(claimed, "completed", house.store.now())
    outcome = new_outcome("completed", "<i>All</i> is well.")
    outcome = replace(outcome, raw_output="I did <b>everything</b>.", file_changes=("a.py",))
    house.store.settle(replace(settlement, task=replace(settlement.task, outcome=outcome)))

    shown = house.page(f"/tasks/{claimed.task.task_id}")

    assert "&lt;i&gt;All&lt;/i&gt; is well." in shown
    quotation = shown[shown.index("What the agent said at last") :]
    assert "I did &lt;b&gt;everything&lt;/b&gt;." in quotation.partition("</blockquote>")[0]


def test_findings_and_the_landing_of_a_task_are_told(house):
    landing_id = offer(house, findings=[{}, {"status": "violated", "reason": "it touched .git"}])
    task_id = house.store.landing(landing_id).task_id

    told = house.api(f"/tasks/{task_id}")
    shown = house.page(f"/tasks/{task_id}")

    assert told["attempts"][0]["findings"] == {"held": 1, "violated": 1}
    assert told["why"]["says"] == "It completed; its candidate is held."
    assert "it touched .git" in shown
    assert f'href="/landings/{landing_id}"' in shown


def test_a_blocked_task_shows_what_is_asked_and_how_it_is_decided(house):
    claimed = claimed_task(house)
    asked = ApprovalRecord(
        approval_id=new_id(),
        kind="question",
        key=f"task:{claimed.task.task_id}",
        reason="its agent asks",
        questions=(HOSTILE,),
        task_id=claimed.task.task_id,
        created_at=house.store.now(),
        decided_at=None,
    )
    house.store.settle(ending(claimed, "blocked", house.store.now(), approvals=(asked,)))

    shown = house.page(f"/tasks/{claimed.task.task_id}")

    for verb in ("approve", "reject", "answer"):
        assert f'action="/approvals/{asked.approval_id}/{verb}"' in shown
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in shown


def test_a_waiting_task_says_what_keeps_it_waiting(house):
    task_id = house.order("/tasks", task_type="script", payload=SCRIPT).json()["task_id"]

    assert "No runner is there" in house.api(f"/tasks/{task_id}")["why"]["next"]
    house.order("/runners/pause", reason="the disk is full")
    assert "the disk is full" in house.api(f"/tasks/{task_id}")["why"]["next"]


def test_a_child_and_its_parent_know_each_other(house):
    parent = settled(house, "completed").task.task_id
    child = new_task("child", house.store.now(), source=f"task:{parent}", parent_task_id=parent)
    house.store.enqueue([NewTask(task=child, depth=1)])

    assert 'href="/tasks/child"' in house.page(f"/tasks/{parent}")
    assert f'href="/tasks/{parent}"' in house.page("/tasks/child")


@pytest.mark.parametrize("task_id", STRANGE, ids=["word", "zero", "slash", "emoji", "dots", "long", "surrogate", "tag"])
@pytest.mark.parametrize("verb", [None, "cancel", "retry", "unblock"])
def test_a_task_nobody_has_is_not_found(full, task_id, verb):
    path = f"/tasks/{task_id}" + (f"/{verb}" if verb else "")

    answer = full.order(path) if verb else full.client.get(f"/api/v1{path}")

    assert answer.status_code == 404
    if verb is None:
        assert full.client.get(path).status_code == 404


# --- orders -----------------------------------------------------------------------------------------------------------


def test_a_task_is_cancelled_with_its_reason_in_the_ledger(house):
    task_id = house.order("/tasks", task_type="script", payload=SCRIPT).json()["task_id"]

    answer = house.form(f"/tasks/{task_id}/cancel", reason="not needed")

    assert (answer.status_code, answer.headers["location"]) == (303, f"/tasks/{task_id}")
    assert house.api(f"/tasks/{task_id}")["task"]["status"] == "operator_canceled"
    (entry,) = [each for each in house.store.entries() if each.kind == "task_canceled"]
    assert (entry.actor, entry.body["reason"]) == ("operator:tester", "not needed")
    assert house.order(f"/tasks/{task_id}/cancel").status_code == 409


def test_a_task_that_is_over_is_tried_again_as_a_new_one(house):
    over = settled(house, "permanent_failure").task.task_id

    fresh = house.order(f"/tasks/{over}/retry").json()

    assert fresh["task_id"] != over
    assert (fresh["status"], fresh["parent_task_id"]) == ("pending", over)


def test_who_tried_a_task_again_and_why_stands_in_the_ledger(house):
    over = settled(house, "permanent_failure").task.task_id

    answer = house.form(f"/tasks/{over}/retry", reason="the disk was full")

    heir = answer.headers["location"].removeprefix("/tasks/")
    (entry,) = [each for each in house.store.entries() if each.kind == "task_requeued"]
    assert (entry.actor, entry.subject) == ("operator:tester", over)
    assert entry.body == {"reason": "the disk was full", "previous_status": "permanent_failure", "heir": heir}
    assert house.api(f"/tasks/{over}")["events"][0]["detail"]["order"] == "retry"


def test_a_task_is_tried_again_once_until_that_is_over(house):
    over = settled(house, "permanent_failure").task.task_id
    heir = house.order(f"/tasks/{over}/retry").json()["task_id"]

    told = house.order(f"/tasks/{over}/retry")

    assert told.status_code == 409
    assert heir in told.json()["detail"]
    assert len([each for each in house.store.entries() if each.kind == "task_requeued"]) == 1
    house.order(f"/tasks/{heir}/cancel")
    assert house.order(f"/tasks/{over}/retry").json()["parent_task_id"] == over


def test_a_task_that_waits_for_its_retry_is_tried_at_once(house):
    task_id = settled(house, "retryable_failure").task.task_id

    assert house.order(f"/tasks/{task_id}/retry", attempts=9).json()["status"] == "pending"
    assert house.order(f"/tasks/{task_id}/retry").status_code == 409
    assert house.order(f"/tasks/{task_id}/retry", attempts=0).status_code == 422


def test_only_a_blocked_task_is_unblocked(house):
    blocked, other = (settled(house, status).task.task_id for status in ("blocked", "retryable_failure"))

    assert house.form(f"/tasks/{blocked}/unblock", reason="it is there now", attempts="2").status_code == 303
    assert house.api(f"/tasks/{blocked}")["task"]["status"] == "pending"
    assert house.order(f"/tasks/{other}/unblock").status_code == 409


@pytest.mark.parametrize("how", ["viewer", "read-only"])
def test_who_may_only_look_orders_nothing(tmp_path, how):
    told = {"visitor": VIEWER} if how == "viewer" else {"read_only": True}
    with open_house(tmp_path, **told) as house:
        house.store.enqueue([NewTask(task=new_task("task-1", house.store.now()))])

        for path in ("/tasks/task-1/cancel", "/tasks/task-1/retry", "/tasks/task-1/unblock"):
            assert house.order(path).status_code == 403
            assert house.form(path).status_code == 403
        assert house.order("/tasks", task_type="script", payload=SCRIPT).status_code == 403
        assert house.order("/tasks/run", instruction="x").status_code == 403
        assert house.api("/tasks")["counts"]["pending"] == 1
        for path in ("/tasks", "/tasks/task-1", "/tasks/new", "/tasks/new?task_type=script"):
            assert 'method="post"' not in house.page(path)


# --- artifacts --------------------------------------------------------------------------------------------------------


def with_artifact(house, relative_path):
    """A task with one artifact on record, and its folder."""
    claimed = claimed_task(house)
    record = ArtifactRecord(
        artifact_id="a1",
        task_id=claimed.task.task_id,
        role="output",
        relative_path=relative_path,
        created_at=house.store.now(),
    )
    house.store.settle(ending(claimed, "completed", house.store.now(), artifacts=(record,)))
    folder = house.premises.home.artifacts / claimed.task.task_id
    folder.mkdir(parents=True)
    return f"/tasks/{claimed.task.task_id}/artifacts/a1", folder


@pytest.mark.parametrize("name", ["report.html", "a b/Ünïcode <b>.txt"], ids=["plain", "strange"])
def test_an_artifact_is_handed_out_to_be_kept(house, name):
    path, folder = with_artifact(house, name)
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_bytes(b"<script>alert(1)</script>" * 100_000)

    for prefix in ("", "/api/v1"):
        answer = house.client.get(prefix + path)

        assert answer.status_code == 200
        assert answer.content == b"<script>alert(1)</script>" * 100_000
        assert answer.headers["content-type"] == "application/octet-stream"
        assert answer.headers["content-disposition"].startswith("attachment;")
    assert f'href="{path}"' in house.page(path.partition("/artifacts")[0])


def _link(folder, secret):
    (folder / "out").symlink_to(secret)


def _linked_folder(folder, secret):
    folder.rmdir()
    folder.symlink_to(secret.parent)
    (secret.parent / "out").write_text("secret")


def _pipe(folder, _secret):
    os.mkfifo(folder / "out")


def _folder(folder, _secret):
    (folder / "out").mkdir()


def _nothing(_folder, _secret):
    pass


@pytest.mark.parametrize("trick", [_link, _linked_folder, _pipe, _folder, _nothing])
def test_nothing_but_a_file_of_the_folder_is_handed_out(house, tmp_path, trick):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "secret").write_text("secret")
    path, folder = with_artifact(house, "out")
    trick(folder, elsewhere / "secret")

    answer = house.client.get(f"/api/v1{path}")

    assert answer.status_code == 404
    assert "no file any more" in answer.text or "not there any more" in answer.text


@pytest.mark.parametrize(
    "name", ["a1/../../secret", "%2e%2e%2fsecret", "%00", "a2"], ids=["path", "dots", "zero", "other"]
)
def test_an_artifact_is_named_by_its_id_alone(house, name):
    path, folder = with_artifact(house, "out")
    (folder.parent / "secret").write_text("secret")

    answer = house.client.get(f"/api/v1{path.removesuffix('a1')}{name}")

    assert answer.status_code in (404, 405)
    assert "secret" not in answer.json()["title"]


@pytest.mark.parametrize("reason", ["x" * 501, "a\x00b"], ids=["long", "nul"])
@pytest.mark.parametrize(
    "path", ["/tasks/t/cancel", "/tasks/t/retry", "/runners/pause", "/runners/estop", "/landings/l/approve"]
)
def test_a_reason_has_the_same_bounds_everywhere(house, path, reason):
    refused = house.order(path, reason=reason)

    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, "reason")
    assert house.store.pauses() == []
