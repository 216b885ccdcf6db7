"""What needs you: asked in words, decided by forms and by programs, and what follows from it."""

import pytest

from keisei.engine.approval import ask
from keisei.records.approval import ApprovalRecord
from keisei.records.project import ProjectApprovals
from keisei.testing.queue import ending
from keisei.wiring.fresh import new_id
from tests.console.house import OPERATOR, VIEWER, open_house
from tests.console.landings import HOSTILE, claimed_task, offer


@pytest.fixture
def house(tmp_path):
    with open_house(tmp_path) as opened:
        yield opened


def question(house, *asked, reason="The agent needs to know.", kind="question", **more):
    """A blocked task with what its agent asks; the approval."""
    claimed = claimed_task(house, more.pop("subject", "Mend it."))
    made = ApprovalRecord(
        approval_id=new_id(),
        kind=kind,
        key=f"task:{claimed.task.task_id}",
        reason=reason,
        task_id=claimed.task.task_id,
        attempt_id=claimed.attempt.attempt_id,
        questions=asked,
        created_at=house.store.now(),
        decided_at=None,
        **more,
    )
    assert house.store.settle(ending(claimed, "blocked", house.store.now(), approvals=(made,))) == "settled"
    return made


def test_nothing_needs_you(house):
    assert house.api("/approvals")["open"] == []
    assert "Nothing needs you." in house.page("/approvals")


def test_a_question_is_asked_in_words_with_what_follows(house):
    made = question(house, "Which of the two?", subject="Mend the login")

    (told,) = house.api("/approvals")["open"]

    assert told["title"] == "An agent asks a question"
    assert (told["subject"], told["overdue"]) == ("Mend the login", False)
    assert sorted(told["effects"]) == ["answer", "approve", "reject"]
    assert told["approval"]["deadline"] is not None
    shown = house.page("/approvals")
    for words in ("Which of the two?", "Mend the login", "the task is cancelled", f"/tasks/{made.task_id}"):
        assert words in shown
    assert f'action="/approvals/{made.approval_id}/answer"' in shown


def test_an_answer_lets_the_task_go_on_and_stays_to_be_read(house):
    made = question(house, "Which?")

    answer = house.form(f"/approvals/{made.approval_id}/answer", text="The second.")

    assert (answer.status_code, answer.headers["location"]) == (303, f"/approvals/{made.approval_id}")
    assert house.store.task(made.task_id).status == "pending"
    shown = house.page(f"/approvals/{made.approval_id}")
    assert "The second." in shown
    assert "operator:tester" in shown
    assert house.api(f"/approvals/{made.approval_id}")["task_status"] == "pending"
    assert house.api("/approvals")["items"][0]["approval"]["answer"] == "The second."


def test_a_decision_is_made_once(house):
    made = question(house)

    assert house.order(f"/approvals/{made.approval_id}/reject", reason="no").json()["approval"]["status"] == "rejected"

    assert house.store.task(made.task_id).status == "operator_canceled"
    again = house.order(f"/approvals/{made.approval_id}/approve")
    assert (again.status_code, "that is final" in again.json()["detail"]) == (409, True)


@pytest.mark.parametrize(("text", "status"), [("", 422), ("\0", 409), ("x" * 10_001, 422)], ids=["none", "nul", "long"])
def test_an_answer_that_nobody_could_read_is_refused(house, text, status):
    made = question(house)
    assert house.order(f"/approvals/{made.approval_id}/answer", text=text).status_code == status
    assert house.store.task(made.task_id).status == "blocked"


def test_a_reason_that_no_ledger_could_keep_is_refused(house):
    made = question(house)
    assert house.order(f"/approvals/{made.approval_id}/approve", reason="a\0b").status_code == 422
    assert house.store.task(made.task_id).status == "blocked"


def test_approving_a_candidate_queues_it(house):
    landing_id = offer(house)
    about = ApprovalRecord(
        approval_id=new_id(),
        kind="landing",
        key=f"landing:{landing_id}",
        reason="a verified candidate waits",
        detail={"landing_id": landing_id},
        created_at=house.store.now(),
        decided_at=None,
    )
    assert ask(house.store, about, ProjectApprovals())

    house.form(f"/approvals/{about.approval_id}/approve")

    assert house.api(f"/approvals/{about.approval_id}")["landing_status"] == "queued"
    assert f"/landings/{landing_id}" in house.page(f"/approvals/{about.approval_id}")
    assert house.api(f"/landings/{landing_id}")["approval_id"] == about.approval_id


def test_the_nearest_deadline_stands_first_and_what_is_late_says_so(house):
    late = house.store.now().replace(year=2020)
    question(house, subject="in time")
    question(house, subject="late", deadline=late)

    told = house.api("/approvals")["open"]

    assert [(each["subject"], each["overdue"]) for each in told] == [("late", True), ("in time", False)]
    assert "overdue" in house.page("/approvals")


def test_what_was_decided_is_told_page_by_page(house):
    made = [question(house).approval_id for _ in range(3)]
    for each in made:
        house.order(f"/approvals/{each}/reject")

    first = house.api("/approvals", limit=2)
    rest = house.api("/approvals", limit=2, after=first["next"])

    ids = [each["approval"]["approval_id"] for each in (*first["items"], *rest["items"])]
    assert (ids, rest["next"]) == ([*reversed(made)], None)


def test_what_agents_wrote_is_shown_and_not_obeyed(house):
    detail = {"sensor_id": HOSTILE}
    made = question(house, HOSTILE, "many\nlines", subject=HOSTILE, reason=HOSTILE, detail=detail)

    for path in ("/approvals", f"/approvals/{made.approval_id}"):
        shown = house.page(path)
        assert "<script>alert" not in shown
        assert "\x1b" not in shown
        assert "\u202e" not in shown
        assert "&lt;script&gt;" in shown


@pytest.mark.parametrize("given", ["nothing", "%00", "😀"])
def test_what_nobody_knows_is_not_found(house, given):
    assert house.client.get(f"/approvals/{given}").status_code == 404
    assert house.client.post(f"/api/v1/approvals/{given}/approve", json={}).status_code == 404


@pytest.mark.parametrize(("who", "read_only"), [(VIEWER, False), (OPERATOR, True)], ids=["viewer", "read-only"])
def test_who_may_not_order_sees_what_would_follow_and_changes_nothing(tmp_path, who, read_only):
    with open_house(tmp_path, visitor=who, read_only=read_only) as house:
        made = question(house, "Which?")
        shown = house.page("/approvals")
        assert "<textarea" not in shown
        assert "the task is cancelled" in shown
        for verb in ("approve", "reject", "answer"):
            assert house.form(f"/approvals/{made.approval_id}/{verb}", text="x").status_code == 403
        assert house.store.approval(made.approval_id).status == "open"
