"""kei-agent: what its pages promise, on a real store; and that an attempt gets no more than its task has."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from msgspec.structs import replace

from keisei.engine.budget import allowance, grant, remaining
from keisei.engine.control import again, cancel
from keisei.engine.follow import followed
from keisei.evidence.file import FileEvidence
from keisei.records.budget import Amount
from keisei.records.intent import Budget
from keisei.records.move import Claimed, Progress, TaskQuery
from keisei.records.relay import Charge
from keisei.rules.evidence import keys_of
from keisei.rules.follow_up import DEEPEST
from keisei.sandbox.relay_till import TILL, Till
from keisei.testing.queue import new_item
from keisei.wiring.agent_enqueue import enqueue
from keisei.wiring.agent_verb import Time, changes
from keisei.wiring.verb_error import VerbError
from tests.kit.desk import Declared, spec_of
from tests.kit.project import Project

ASKED = {"task_type": "script", "payload": {"args": ["-c", "true"]}}
VERBS = ("enqueue", "status", "list", "cancel", "evidence", "wait")


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path)


def refused(project, verb, attempt=None, /, **given):
    with pytest.raises(Declared) as error:
        project.call(f"kei-agent::{verb}", attempt, **given)
    return error.value.code


def counted(project):
    with project.agency() as agency:
        return len(agency.store.tasks(TaskQuery(limit=1000)))


def test_a_queued_task_is_the_one_the_command_line_would_queue(project):
    made = project.call(
        "kei-agent::enqueue", **ASKED, subject="Build", priority=9, delay_minutes=5, budget={"max_tokens": 7}
    )

    task = project.task(made["task_id"])
    assert made == {
        "task_id": task.task_id,
        "created": True,
        "status": "pending",
        "parent": None,
        "budget": {"max_cost_usd": None, "max_tokens": 7},
    }
    assert (task.subject, task.priority, task.requested_profile_id, task.parent_task_id) == ("Build", 9, "script", None)
    assert task.source.startswith("operator:")
    assert (task.available_at - task.created_at).total_seconds() == 300
    assert spec_of("kei-agent::enqueue").manifest.keyed


def test_the_same_call_or_the_same_key_is_the_same_task(project):
    first = project.call("kei-agent::enqueue", None, "call", **ASKED)
    again = project.call("kei-agent::enqueue", None, "call", **ASKED)
    keyed = project.call("kei-agent::enqueue", **ASKED, idempotency_key="mine")

    assert again == first | {"created": False}
    assert project.call("kei-agent::enqueue", **ASKED, idempotency_key="mine") == keyed | {"created": False}
    assert counted(project) == 2


@pytest.mark.parametrize("inside", [False, True], ids=["outside", "in an attempt"])
def test_two_calls_of_one_id_at_once_make_one_task(project, inside):
    parent, attempt = project.running(budget={"max_cost_usd": 1.0}) if inside else (None, None)

    def ask(_):
        with project.agency(attempt) as agency:
            return enqueue(agency, dict(ASKED), "the call")

    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(ask, range(4)))

    assert len({each["task_id"] for each in answers}) == 1
    assert sorted(each["created"] for each in answers) == [False, False, False, True]
    assert {each["parent"] for each in answers} == {parent}


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"task_type": "scripd"}, "UnknownTaskType"),
        ({"profile": "nobody"}, "UnknownProfile"),
        ({"adapter": "nobody"}, "BadIntent"),
        ({"skills": ["nobody"]}, "BadIntent"),
        ({"agent": "nobody"}, "BadIntent"),
        ({"payload": {"args": 3}}, "BadIntent"),
        ({"idempotency_key": "workflow:x"}, "BadIntent"),
        ({"idempotency_key": "asked:x"}, "BadIntent"),
        ({"idempotency_key": "a\0"}, "BadIntent"),
    ],
    ids=[
        "type",
        "profile",
        "adapter",
        "skill",
        "agent",
        "payload",
        "key of a workflow",
        "key of an attempt",
        "bad key",
    ],
)
def test_what_could_not_run_is_not_queued(project, given, code):
    assert refused(project, "enqueue", **(ASKED | given)) == code
    assert counted(project) == 0


def test_outside_of_a_project_and_with_broken_files_nothing_is_queued(project):
    (project.root / "keisei.toml").write_text("[project")
    assert refused(project, "enqueue", **ASKED) == "BrokenFiles"
    (project.root / "keisei.toml").unlink()
    for verb in VERBS:
        assert refused(project, verb, task_id="t", **(ASKED if verb == "enqueue" else {})) == "NoProject"


def test_a_state_folder_that_cannot_be_made_is_a_store_that_is_away(project):
    project.state.write_text("in the way")

    assert refused(project, "list") == "StoreAway"


# --- inside an attempt


def test_a_task_of_an_attempt_stands_below_its_own(project):
    parent, attempt = project.running(priority=3)

    made = project.call("kei-agent::enqueue", attempt, **ASKED, priority=1000, max_attempts=900)

    task = project.task(made["task_id"])
    assert (task.parent_task_id, task.source, task.priority, task.max_attempts) == (parent, f"task:{parent}", 5, 3)
    with project.agency() as agency:
        assert agency.store.depth(task.task_id) == 1


def test_the_keys_of_attempts_are_their_own(project):
    foreign = project.call("kei-agent::enqueue", **ASKED, idempotency_key="k")
    one, other = project.running()[1], project.running()[1]

    first = project.call("kei-agent::enqueue", one, **ASKED, idempotency_key="k")
    second = project.call("kei-agent::enqueue", other, **ASKED, idempotency_key="k")

    assert first["created"]
    assert second["created"]
    assert len({foreign["task_id"], first["task_id"], second["task_id"]}) == 3
    assert project.call("kei-agent::enqueue", one, **ASKED, idempotency_key="k") == first | {"created": False}


def test_an_attempt_that_nobody_knows_or_that_is_over_asks_for_nothing(project):
    task, attempt = project.running()
    project.settle(task, attempt)

    for asking in ("forged", task, attempt):
        for verb in VERBS:
            given = ASKED if verb == "enqueue" else {} if verb == "list" else {"task_id": task}
            assert refused(project, verb, asking, **given) == "NotAllowed"
    assert counted(project) == 1


def test_a_task_that_is_about_to_be_ended_asks_for_nothing(project):
    task, attempt = project.running()
    assert project.call("kei-agent::cancel", task_id=task) == {"task_id": task, "status": "running", "asked": True}

    assert refused(project, "enqueue", attempt, **ASKED) == "NotAllowed"


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"profile": "critic"}, "RoleNotAllowed"),
        ({"adapter": "claude-code"}, "NotAllowed"),
        ({"model": "the best"}, "NotAllowed"),
        ({"agent": "somebody"}, "NotAllowed"),
    ],
    ids=["role", "adapter", "model", "identity"],
)
def test_an_attempt_hands_on_no_more_than_it_has(project, given, code):
    _, attempt = project.running()

    assert refused(project, "enqueue", attempt, **(ASKED | given)) == code
    assert counted(project) == 1


def test_a_task_file_gives_no_more_than_its_parent_has(project):
    def file(role="read-only", profile="critic", **more):
        return {"task": {"role": role, "profile": profile}, "body": {"text": "Look."}, **more}

    asked = {"task_type": "agent-task", "profile": "critic"}
    _, attempt = project.running(task_type="agent-task", payload=file(), requested_profile_id="critic")
    weak = {"payload": file(), "requested_profile_id": "code-implementer"}  # less than its profile's role
    _, weaker = project.running(task_type="agent-task", **weak)

    for payload, code in (
        (file("edit-local"), "RoleNotAllowed"),
        (file(profile="code-implementer"), "NotAllowed"),
        (file(elevate={"capabilities": ["policy::no-git-ops"], "reason": "please"}), "NotAllowed"),
    ):
        assert refused(project, "enqueue", attempt, **asked, payload=payload) == code
    stronger = {"task_type": "agent-task", "profile": "code-implementer"}
    payload = file("edit-local", "code-implementer")
    assert refused(project, "enqueue", weaker, **stronger, payload=payload) == "RoleNotAllowed"
    assert project.call("kei-agent::enqueue", attempt, **asked, payload=file())["created"]


def test_a_budget_must_fit_into_what_the_parent_has_left(project):
    _, attempt = project.running(budget={"max_cost_usd": 5.0, "max_tokens": 100})

    def ask(**budget):
        return project.call("kei-agent::enqueue", attempt, **ASKED, **({"budget": budget} if budget else {}))["budget"]

    assert refused(project, "enqueue", attempt, **ASKED, budget={"max_cost_usd": 5.01}) == "BudgetExceeded"
    assert refused(project, "enqueue", attempt, **ASKED, budget={"max_tokens": 101}) == "BudgetExceeded"
    assert ask(max_cost_usd=3.0, max_tokens=40) == {"max_cost_usd": 3.0, "max_tokens": 40}
    assert refused(project, "enqueue", attempt, **ASKED, budget={"max_cost_usd": 2.01}) == "BudgetExceeded"
    assert ask() == {"max_cost_usd": 1.0, "max_tokens": 30}
    assert ask(max_cost_usd=1.0, max_tokens=29) == {"max_cost_usd": 1.0, "max_tokens": 29}
    assert refused(project, "enqueue", attempt, **ASKED, budget={"max_tokens": 1}) == "BudgetExceeded"
    assert counted(project) == 4


def begun(project, attempt, **counted):
    """The attempt runs a harness with a model, of which its relay has counted so much; nothing where it is not said."""
    with project.agency() as agency:
        found = agency.store.attempt(attempt)
        now = replace(found, bundle_id="b", adapter_id="codex", adapter_kind="codex")
        assert agency.store.progress(Progress(stage="started", attempt=now))
        path = agency.home.run / attempt / TILL
        path.parent.mkdir(parents=True, exist_ok=True)
    if counted:
        till = Till(path)
        till.show(Charge(**counted), priced="cost_usd" in counted)
        till.close()
    return path


def test_what_the_running_attempt_has_spent_is_not_handed_on(project):
    task, attempt = project.running(budget={"max_cost_usd": 5.0, "max_tokens": 100})
    begun(project, attempt, tokens=70, cost_usd=4.0)

    assert refused(project, "enqueue", attempt, **ASKED, budget={"max_tokens": 31}) == "BudgetExceeded"
    assert refused(project, "enqueue", attempt, **ASKED, budget={"max_cost_usd": 1.01}) == "BudgetExceeded"
    made = project.call("kei-agent::enqueue", attempt, **ASKED, budget={"max_tokens": 20})
    assert made["budget"] == {"max_cost_usd": 0.5, "max_tokens": 20}
    with project.agency() as agency:  # what is left for the attempt itself, and for one after it
        assert remaining(agency.store, agency.store.task(task), None) == Amount(usd=4.5, tokens=80)
        assert allowance(agency.store, agency.store.task(task), None) == Budget(max_cost_usd=4.5, max_tokens=80)


@pytest.mark.parametrize("text", [None, b"", b"70 - 00000000\n", b"70 -", b"\xff" * 128, b"7" * 10**6])
def test_where_nobody_knows_what_was_spent_nothing_is_handed_on(project, text):
    _, attempt = project.running(budget={"max_tokens": 100})
    path = begun(project, attempt)
    if text is not None:
        path.write_bytes(text)

    assert refused(project, "enqueue", attempt, **ASKED, budget={"max_tokens": 1}) == "BudgetExceeded"


def test_money_is_handed_on_where_it_is_counted_and_tokens_anyway(project):
    _, attempt = project.running(budget={"max_cost_usd": 5.0})
    begun(project, attempt, tokens=70)
    _, other = project.running(budget={"max_tokens": 100})
    begun(project, other, tokens=70)

    with pytest.raises(Declared, match=r"not known in money.*prices"):
        project.call("kei-agent::enqueue", attempt, **ASKED, budget={"max_cost_usd": 0.01})
    assert project.call("kei-agent::enqueue", other, **ASKED)["budget"]["max_tokens"] == 15


def test_follow_ups_of_a_task_that_was_asked_for_are_paid_by_the_same_budget(project):
    parent, attempt = project.running(budget={"max_tokens": 100})
    child = project.call("kei-agent::enqueue", attempt, **ASKED, budget={"max_tokens": 60})["task_id"]
    below = project.claim(child)
    with project.agency() as agency:
        claimed = Claimed(task=agency.store.task(child), attempt=agency.store.attempt(below))
        made = [new_item(claimed, agency.store.now(), "follow_up_task", number) for number in range(2)]
    wishes = [replace(each, payload=ASKED) for each in made]
    project.settle(child, below, outbox=tuple(wishes))

    with project.agency() as agency:
        store, (mother, own) = agency.store, map(agency.store.task, (parent, child))
        assert remaining(store, mother, None).tokens == 40  # the child is over, and may go on in its follow-ups
        first, second = (followed(each, agency.office, 60) for each in wishes)
        assert first.task.task.budget.max_tokens == 60
        assert store.deliver(first)
        assert (remaining(store, own, None).tokens, remaining(store, mother, None).tokens) == (0, 40)
        second = followed(wishes[1], agency.office, 60)
        assert (second.item.status, second.task) == ("dead", None)
        assert store.deliver(second)
        cancel(store, first.task.task.task_id, "", "test")
        assert remaining(store, mother, None).tokens == 100


def test_what_an_operator_grants_to_a_child_is_not_its_parents(project):
    parent, attempt = project.running(budget={"max_tokens": 100})
    child = project.call("kei-agent::enqueue", attempt, **ASKED, budget={"max_tokens": 60})["task_id"]

    with project.agency() as agency:
        grant(agency.store, f"task:{child}", Amount(tokens=1000), reason="", actor="test", grant_id="one")
        assert remaining(agency.store, agency.store.task(parent), None).tokens == 40
        assert remaining(agency.store, agency.store.task(child), None).tokens == 1060


def test_what_stands_below_a_child_is_covered_by_the_childs_own_budget(project):
    _, attempt = project.running(budget={"max_cost_usd": 5.0})
    child = project.call("kei-agent::enqueue", attempt, **ASKED, budget={"max_cost_usd": 3.0})["task_id"]
    below = project.claim(child)

    grandchild = project.call("kei-agent::enqueue", below, **ASKED, budget={"max_cost_usd": 2.0})
    assert refused(project, "enqueue", below, **ASKED, budget={"max_cost_usd": 1.5}) == "BudgetExceeded"
    assert project.call("kei-agent::enqueue", attempt, **ASKED)["budget"]["max_cost_usd"] == 1.0
    assert grandchild["parent"] == child


def test_what_an_ended_child_did_not_spend_is_free_again(project):
    _, attempt = project.running(budget={"max_cost_usd": 5.0})
    everything = ASKED | {"budget": {"max_cost_usd": 5.0}}
    child = project.call("kei-agent::enqueue", attempt, **everything)["task_id"]
    assert refused(project, "enqueue", attempt, **ASKED) == "BudgetExceeded"

    project.call("kei-agent::cancel", attempt, task_id=child)

    assert project.call("kei-agent::enqueue", attempt, **everything)["budget"]["max_cost_usd"] == 5.0


def test_a_project_limit_and_a_grant_count(tmp_path):
    project = Project(tmp_path, "[budget.task]\nmax-cost-usd = 2.0\n")
    task, attempt = project.running()
    assert refused(project, "enqueue", attempt, **ASKED, budget={"max_cost_usd": 3.0}) == "BudgetExceeded"

    with project.agency() as agency:
        grant(agency.store, f"task:{task}", Amount(usd=1.0), reason="", actor="test", grant_id="one")

    assert project.call("kei-agent::enqueue", attempt, **ASKED)["budget"]["max_cost_usd"] == 1.5


def test_calls_at_once_do_not_share_what_is_left_for_one(project):
    _, attempt = project.running(budget={"max_cost_usd": 1.0})

    def ask(number):
        with project.agency(attempt) as agency:
            try:
                return enqueue(agency, ASKED | {"budget": {"max_cost_usd": 0.6}}, f"call {number}")["created"]
            except Exception as error:  # noqa: BLE001 - told by the assertion
                return type(error).__name__

    with ThreadPoolExecutor(3) as pool:
        assert sorted(map(str, pool.map(ask, range(3)))) == ["OverBudget", "OverBudget", "True"]


def test_tasks_are_so_deep_and_no_deeper(project):
    _, attempt = project.running()
    for _ in range(DEEPEST):
        attempt = project.claim(project.call("kei-agent::enqueue", attempt, **ASKED)["task_id"])

    assert refused(project, "enqueue", attempt, **ASKED) == "TooDeep"


def test_tasks_of_one_type_ask_for_so_many_within_an_hour(tmp_path):
    project = Project(tmp_path, "[runner]\nfollow-ups-per-hour = 2\n")
    (_, one), (_, other) = project.running(), project.running()
    first = project.call("kei-agent::enqueue", one, "a call", **ASKED)
    project.call("kei-agent::enqueue", other, **ASKED)

    assert refused(project, "enqueue", one, **ASKED) == "RateLimited"
    assert project.call("kei-agent::enqueue", one, "a call", **ASKED) == first | {"created": False}
    assert project.call("kei-agent::enqueue", **ASKED)["created"]


# --- seeing and ending


def test_an_attempt_knows_of_its_own_task_and_what_stands_below_it(project):
    own, attempt = project.running()
    foreign, _ = project.running()
    child = project.call("kei-agent::enqueue", attempt, **ASKED)["task_id"]
    below = project.call("kei-agent::enqueue", project.claim(child), **ASKED)["task_id"]

    for task in (foreign, "nobody"):
        assert refused(project, "status", attempt, task_id=task) == "NotAllowed"
        assert refused(project, "cancel", attempt, task_id=task) == "NotAllowed"
        assert refused(project, "evidence", attempt, task_id=task) == "NotAllowed"
        assert refused(project, "wait", attempt, task_id=task) == "NotAllowed"
        assert refused(project, "list", attempt, before=task) == "NotAllowed"
    assert [project.call("kei-agent::status", attempt, task_id=task)["task_id"] for task in (own, child, below)]
    listed = project.call("kei-agent::list", attempt)
    assert [task["task_id"] for task in listed["tasks"]] == [below, child, own]
    assert refused(project, "status", task_id="nobody") == "UnknownTask"


@pytest.mark.parametrize("inside", [False, True], ids=["outside", "in an attempt"])
def test_pages_neither_repeat_nor_lose_a_task(project, inside):
    own, attempt = project.running()
    made = [project.call("kei-agent::enqueue", attempt, **ASKED)["task_id"] for _ in range(4)]
    asking, seen, before = attempt if inside else None, [], {}

    while before is not None:
        page = project.call("kei-agent::list", asking, limit=2, **before)
        seen += [task["task_id"] for task in page["tasks"]]
        before = {"before": page["next"]} if page["next"] else None

    assert seen == [*made[::-1], own]
    found = project.call("kei-agent::list", asking, status=["running"], task_type="script")
    assert [task["task_id"] for task in found["tasks"]] == [own]
    assert project.call("kei-agent::list", asking, source="nobody") == {"tasks": [], "next": None}


def test_a_task_that_waits_is_ended_once(project):
    own, attempt = project.running()
    child = project.call("kei-agent::enqueue", attempt, **ASKED)["task_id"]

    assert refused(project, "cancel", attempt, task_id=own) == "NotAllowed"
    done = project.call("kei-agent::cancel", attempt, task_id=child, reason="enough")

    assert done == {"task_id": child, "status": "operator_canceled", "asked": False}
    assert refused(project, "cancel", attempt, task_id=child) == "Over"
    with project.agency() as agency:
        row = next(each for each in agency.store.entries() if each.kind == "task_canceled")
        assert (row.actor, row.subject, row.body["reason"]) == (f"attempt:{attempt}", child, "enough")


def test_a_status_tells_of_attempts(project):
    task, attempt = project.running(subject="x" * 5000)

    found = project.call("kei-agent::status", task_id=task)

    assert [each["attempt_id"] for each in found["attempts"]] == [attempt]
    assert (found["status"], found["is_over"], len(found["subject"])) == ("running", False, 4001)
    project.settle(task, attempt)
    over = project.call("kei-agent::status", task_id=task)
    assert (over["status"], over["is_over"], over["attempts"][0]["exit_status"]) == ("completed", True, "ok")


def test_evidence_is_listed_and_read_in_pieces(project):
    task, attempt = project.running()
    project.settle(task, attempt)
    with project.agency() as agency:
        kept = FileEvidence(agency.home.evidence)
        keys = keys_of(attempt, agency.store.attempt(attempt).started_at)
        stored = kept.put(keys.stdout, b"one\ntwo\xff\n")
        (agency.home.evidence / keys.folder / "link").symlink_to(project.root / "keisei.toml")

    listed = project.call("kei-agent::evidence", task_id=task)
    whole = project.call("kei-agent::evidence", task_id=task, attempt_id=attempt, key="stdout.log")
    piece = project.call("kei-agent::evidence", task_id=task, key="stdout.log", start=4, limit=3)

    assert listed["files"] == [{"key": "stdout.log", "size": 9, "sha256": stored.sha256}]
    assert whole["file"] == {"key": "stdout.log", "size": 9, "text": "one\ntwo\ufffd\n", "next": None}
    assert piece["file"] == {"key": "stdout.log", "size": 9, "text": "two", "next": 7}
    assert project.call("kei-agent::evidence", task_id=task, key="stdout.log", start=99)["file"]["text"] == ""


@pytest.mark.parametrize("key", ["nothing", "../../../../state.db", "/etc/passwd", "a/../../b", "\0", "link", ".x"])
def test_nothing_but_evidence_is_read(project, key):
    task, attempt = project.running()
    with project.agency() as agency:
        folder = agency.home.evidence / keys_of(attempt, agency.store.attempt(attempt).started_at).folder
        folder.mkdir(parents=True)
        (folder / "link").symlink_to(project.root / "keisei.toml")

    assert refused(project, "evidence", task_id=task, key=key) in ("NoEvidence", "StoreAway")


def test_an_attempt_of_another_task_is_no_evidence(project):
    task, _ = project.running()
    _, foreign = project.running()
    waiting = project.call("kei-agent::enqueue", **ASKED)["task_id"]

    assert refused(project, "evidence", task_id=task, attempt_id=foreign) == "NoEvidence"
    assert refused(project, "evidence", task_id=waiting) == "NoEvidence"


class Clock:
    """Time that passes only in sleep, where things happen in their turn."""

    def __init__(self, *events):
        self.now, self.events = 0.0, list(events)

    def sleep(self, seconds):
        self.now += seconds
        if self.events:
            self.events.pop(0)()


def test_a_wait_tells_every_change_and_ends_with_the_task(project):
    task = project.call("kei-agent::enqueue", **ASKED)["task_id"]
    held = []
    clock = Clock(lambda: None, lambda: held.append(project.claim(task)), lambda: project.settle(task, held[0]))

    with project.agency() as agency:
        found = list(changes(agency, task, 60, Time(lambda: clock.now, clock.sleep)))

    assert [(each["status"], each["attempt"]) for each in found] == [
        ("pending", None),
        ("running", held[0]),
        ("completed", None),
    ]
    assert project.call("kei-agent::wait", task_id=task, timeout_s=60) == found[-1:]


def test_a_wait_ends_when_its_time_is_up_or_its_attempt_is(project):
    own, attempt = project.running()
    child = project.call("kei-agent::enqueue", attempt, **ASKED)["task_id"]

    assert [each["status"] for each in project.call("kei-agent::wait", task_id=child, timeout_s=0)] == ["pending"]
    clock = Clock(lambda: project.settle(own, attempt))
    with project.agency(attempt) as agency, pytest.raises(VerbError, match="is over"):
        list(changes(agency, child, 60, Time(lambda: clock.now, clock.sleep)))


def test_a_task_that_was_queued_again_stands_below_the_one_it_replaces(project):
    _, attempt = project.running()
    child = project.call("kei-agent::enqueue", attempt, **ASKED)["task_id"]
    project.call("kei-agent::cancel", attempt, task_id=child)
    with project.agency() as agency:
        fresh = again(agency.store, agency.store.task(child), "again", "once more", "ann").task_id

    assert project.call("kei-agent::status", attempt, task_id=fresh)["parent"] == child
