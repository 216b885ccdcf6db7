"""Deliveries on a clock that is moved by hand: who takes a row, what becomes of it, and what never happens twice."""

import pytest
from msgspec.structs import replace

from keisei.engine.deliver import BATCH, LEASE, Failed, Place, conclude, deliver
from keisei.engine.follow import WAIT
from keisei.engine.intake import Defaults
from keisei.engine.office import Office as Rooms
from keisei.engine.post import drop, redeliver, redeliver_dead
from keisei.records.adapter import ScriptAdapter
from keisei.records.answer import ApprovalQuery
from keisei.records.error import AuthorError, OperatorError, Refused, WorldFault
from keisei.records.move import EventQuery
from keisei.records.profile import ContextPolicy, ResultPolicy, SubagentProfile
from keisei.records.task_type import TaskTypeSpec
from keisei.rules.delivery import MOST as MESSAGES
from keisei.rules.delivery import TRIES
from keisei.rules.follow_up import DEEPEST, MOST
from keisei.testing.queue import new_item
from tests.store.desk import sqlite_desk

RATE = 60
NO = Failed(reason="no")
PROGRAM = ScriptAdapter(adapter_id="program", command="sh", timeout_ms=1000)


class Files:
    """Authored files in which every name is known, but for those that are missing."""

    def __init__(self, *missing):
        self.missing = missing

    def task_type(self, name):
        if name in self.missing:
            raise OperatorError(f"no task-type is called `{name}`")
        return TaskTypeSpec(task_type=name, payload_schema_id="any", default_profile_id="profile")

    def profile(self, name):
        return SubagentProfile(
            profile_id=name,
            style="claude-like",
            role={"profile": "role", "program": "role"}.get(name, name),
            default_adapter_id="program" if "program" in name else "adapter",
            default_model="usual",
            prompt_parts=(),
            skill_ids=("own",),
            context_policy=ContextPolicy(max_prompt_chars=1000, include_recent_memory=False),
            result_policy=ResultPolicy(allow_follow_up_tasks=True, allow_external_messages=True),
        )

    def adapter(self, name):
        return PROGRAM if name == "program" else name

    def has_skill(self, _name):
        return True

    def has_agent(self, _name):
        return True

    def fitted(self, intent):
        return intent

    def handoff(self, role):
        return ("heir", "heir-program") if role == "role" else ()

    def payload_complaints(self, _spec, _payload):
        return []


class Posts:
    """Channels that keep what is handed to them until a test says what became of it."""

    def __init__(self, full=()):
        self.full = full
        self.sent = []

    def room(self, channel):
        return 0 if channel in self.full else 4

    def send(self, item, at, done):
        self.sent.append((item, at, done))

    def answer(self, failed=None):
        """The oldest that has no answer yet."""
        item, _, done = self.sent.pop(0)
        done(failed)
        return item


class Office:
    """A store with an outbox, and somebody who delivers."""

    def __init__(self, desk):
        self.desk, self.store, self.clock = desk, desk.store, desk.clock
        self.posts = Posts()
        self.files = Files()
        self.place = Place()

    def new_id(self):
        return self.desk.name("id")

    def ask(self, *payloads, kind="external_message", parent=None):
        """A completed task that asks for these; the keys of the rows."""
        claimed = self.desk.running(**(parent or {}))
        now = self.store.now()
        items = [replace(new_item(claimed, now, kind, number), payload=each) for number, each in enumerate(payloads)]
        assert self.desk.settle(claimed, "completed", outbox=tuple(items)) == "settled"
        return [each.key for each in items]

    def follow(self, *wishes, **parent):
        return self.ask(
            *({"task_type": "note", "source": "a", "payload": {}} | each for each in wishes),
            kind="follow_up_task",
            parent=parent,
        )

    def rooms(self, store=None):
        return Rooms(store or self.store, lambda: self.files, Defaults(), self.new_id)

    def deliver(self, store=None, rate=RATE):
        return deliver(self.rooms(store), self.posts, rate, self.place)

    def row(self, key):
        found = self.store.outbox_item(key)
        assert found is not None
        return found

    def standing(self, *keys):
        return [self.row(key).status for key in keys]

    def children(self, key):
        return [
            each
            for each in self.desk.store.events(EventQuery(event_type="delivery_made", limit=1000))
            if each.detail["key"] == key
        ]

    def life(self):
        return [each.event_type for each in self.store.events(EventQuery(limit=1000))]

    def needs(self):
        return [(each.kind, each.key, each.reason) for each in self.store.approvals(ApprovalQuery(limit=100))]


@pytest.fixture
def office(tmp_path):
    with sqlite_desk(tmp_path) as desk:
        yield Office(desk)


# --- messages ---------------------------------------------------------------------------------------------------------


def test_a_message_is_taken_then_sent_then_delivered(office):
    (key,) = office.ask({"text": "hello"})

    assert office.deliver() == 1
    assert (office.row(key).status, office.row(key).tries) == ("pending", 1)
    office.posts.answer()

    row = office.row(key)
    assert (row.status, row.tries, row.reason, row.next_try_at) == ("delivered", 1, None, None)
    assert row.delivered_at == office.store.now()
    assert office.life()[-1] == "delivery_made"
    assert office.deliver() == 0


def test_a_message_on_its_way_is_not_sent_again(office):
    office.ask({"text": "hello"})

    office.deliver()
    office.deliver()
    office.clock.advance(LEASE.total_seconds() - 1)
    office.deliver()

    assert len(office.posts.sent) == 1


def test_two_who_deliver_at_once_send_it_once(office):
    (key,) = office.ask({"text": "hello"})
    item, other = office.row(key), office.desk.another()

    assert [store.take(key, item.tries, store.now() + LEASE) for store in (office.store, other)] == [True, False]
    assert office.deliver() == office.deliver(other) == 0


def test_a_runner_that_died_after_taking_it_is_followed_by_another_under_the_same_key(office):
    (key,) = office.ask({"text": "hello"})
    office.deliver()
    lost, _, late = office.posts.sent.pop()

    office.clock.advance(LEASE.total_seconds())
    office.deliver()
    again = office.posts.sent[0][0]
    late(NO)

    assert (again.key, again.tries, lost.key) == (key, 2, key)
    assert office.row(key).reason is None
    office.posts.answer()
    assert office.standing(key) == ["delivered"]


def test_what_fails_is_tried_again_later_and_later_and_then_a_person_is_told(office):
    (key,) = office.ask({"text": "hello"})
    waits = []

    while office.row(key).status == "pending":
        assert office.deliver() == 1
        office.posts.answer(Failed(reason="the receiver answered 500", channel="ops"))
        row = office.row(key)
        if row.status == "pending":
            waits.append((row.next_try_at - office.store.now()).total_seconds())
            assert office.deliver() == 0
            office.clock.advance(waits[-1])

    row = office.row(key)
    assert waits == [10, 20, 40, 80, 160, 320, 640]
    assert (row.status, row.tries, row.reason) == ("dead", TRIES, "the receiver answered 500")
    assert office.life()[-2:] == ["delivery_failed", "approval_asked"]
    ((kind, about, reason),) = office.needs()
    assert (kind, about) == ("message", f"message:{key}")
    assert reason == "a message on the channel `ops` could not be delivered: the receiver answered 500"


def test_a_receiver_is_left_alone_as_long_as_it_asks(office):
    (key,) = office.ask({"text": "hello"})

    office.deliver()
    office.posts.answer(Failed(reason="429", retry_after_s=1000.0))

    assert (office.row(key).next_try_at - office.store.now()).total_seconds() == 1000


def test_what_cannot_ever_arrive_is_dead_at_once(office):
    (key,) = office.ask({"channel": "nowhere"})

    office.deliver()
    office.posts.answer(Failed(reason="add `[channels.nowhere]`", gone=True))

    assert (office.row(key).status, office.row(key).tries) == ("dead", 1)
    assert len(office.needs()) == 1


def test_a_dead_letter_can_be_delivered_again_and_nobody_has_to_decide_any_more(office):
    (key,) = office.ask({"text": "hello"})
    office.deliver()
    office.posts.answer(Failed(reason="410", gone=True))

    redeliver(office.store, key, "it is back", "operator:me")
    assert (office.standing(key), office.row(key).tries, office.needs()) == (["pending"], 0, [])
    assert office.deliver() == 1
    office.posts.answer()

    assert office.standing(key) == ["delivered"]
    assert ("delivery_retried", key) in office.desk.ledger()
    assert "delivery_retried" in office.life()


def test_all_that_is_dead_is_put_back_however_much_it_is_and_nobody_is_asked_about_it_any_more(office, monkeypatch):
    monkeypatch.setattr("keisei.engine.post.MOST", 3)
    keys = office.ask(*({"channel": "gone", "text": str(number)} for number in range(8)))
    while office.deliver():
        while office.posts.sent:
            office.posts.answer(replace(NO, gone=True))
    assert office.standing(*keys) == ["dead"] * 8
    assert all(each.deadline is not None for each in office.store.approvals(ApprovalQuery()))

    found = redeliver_dead(office.store, "try again", "operator:me")

    assert sorted(each.key for each in found) == sorted(keys)
    assert office.standing(*keys) == ["pending"] * 8
    assert office.needs() == []


def test_what_has_left_is_never_delivered_again(office):
    first, second = office.ask({"text": "a"}, {"text": "b"})
    office.deliver()
    office.posts.answer()
    office.posts.answer(Failed(reason="gone", gone=True))

    with pytest.raises(Refused, match="delivered"):
        redeliver(office.store, first, "", "operator:me")
    assert [each.key for each in redeliver_dead(office.store, "", "operator:me")] == [second]
    office.deliver()
    assert [item.key for item, _, _ in office.posts.sent] == [second]
    with pytest.raises(OperatorError, match="no row"):
        redeliver(office.store, "nobody's", "", "operator:me")


def test_a_task_that_is_settled_twice_sends_one_message(office):
    claimed = office.desk.running()
    item = new_item(claimed, office.store.now())
    ending = office.desk.ending(claimed, "completed", outbox=(item,))
    office.store.settle(ending)
    office.deliver()
    office.posts.answer()

    office.store.settle(ending)

    assert office.deliver() == 0
    assert len(office.store.outbox(None, 10)) == 1


def test_what_is_dropped_never_leaves_and_says_who_and_why(office):
    (key,) = office.ask({"text": "hello"})

    drop(office.store, key, "not wanted", "operator:me")

    assert office.deliver() == 0
    assert (office.row(key).status, office.row(key).reason) == ("dead", "dropped by operator:me: not wanted")
    assert ("delivery_dropped", key) in office.desk.ledger()
    with pytest.raises(Refused, match="dead"):
        drop(office.store, key, "not wanted", "operator:me")


def test_an_answer_that_comes_after_the_row_was_dropped_changes_nothing(office):
    (key,) = office.ask({"text": "hello"})
    office.deliver()
    drop(office.store, key, "not wanted", "operator:me")

    office.posts.answer()
    assert not conclude(office.store, office.new_id, office.row(key), NO)

    assert office.standing(key) == ["dead"]


def test_a_channel_that_is_busy_holds_up_no_other(office):
    office.ask(*({"channel": "slow", "text": str(number)} for number in range(3 * BATCH)))
    (quick,) = office.ask({"channel": "quick", "text": "hello"})
    (follow,) = office.follow({})
    office.posts.full = ("slow",)

    office.deliver()

    assert [item.key for item, _, _ in office.posts.sent] == [quick]
    assert office.standing(follow) == ["delivered"]


def test_however_many_wait_for_a_dead_channel_no_other_row_is_hidden(office, monkeypatch):
    monkeypatch.setattr("keisei.engine.deliver.PAGE", 10)
    monkeypatch.setattr("keisei.engine.deliver.PAGES", 3)
    office.ask(*({"channel": "dead", "text": str(number)} for number in range(45)))
    (quick,) = office.ask({"channel": "quick", "text": "hello"})
    (follow,) = office.follow({})
    office.posts.full = ("dead",)

    rounds = 0
    while office.standing(follow) != ["delivered"]:
        office.deliver()
        rounds += 1

    assert [item.key for item, _, _ in office.posts.sent] == [quick]
    assert rounds == 2
    assert office.deliver() == office.deliver() == office.deliver() == 0
    office.posts.full = ()
    assert office.deliver() == 4


def test_a_channel_gets_no_more_than_it_has_room_for_and_the_next_one_its_share(office):
    office.ask(*({"channel": "much", "text": str(number)} for number in range(3 * BATCH)))
    (other,) = office.ask({"channel": "other", "text": "hello"})

    office.deliver()

    assert len(office.posts.sent) == 5
    assert office.posts.sent[-1][0].key == other


def test_an_outcome_that_talks_without_end_is_heard_fifty_times_and_nobody_is_asked_about_the_rest(office):
    keys = office.ask(*({"channel": str(number), "text": "hello"} for number in range(MESSAGES + 2)))

    while office.deliver():
        while office.posts.sent:
            office.posts.answer()

    assert office.standing(*keys) == ["delivered"] * MESSAGES + ["dead"] * 2
    assert office.needs() == []


def test_without_channels_messages_stay_rows(office):
    (key,) = office.ask({"text": "hello"})
    (follow,) = office.follow({})
    office.posts = None

    assert office.deliver() == 1

    assert office.standing(key, follow) == ["pending", "delivered"]


# --- follow-ups -------------------------------------------------------------------------------------------------------


def test_a_follow_up_is_queued_once_below_its_parent(office):
    (key,) = office.follow({"idempotency_key": "mine", "source": "operator:ui", "subject": "next"})

    assert office.deliver() == 1
    assert office.deliver() == 0

    (event,) = office.children(key)
    child = office.desk.read(event.detail["created_task_id"])
    assert (child.parent_task_id, child.idempotency_key, child.subject) == (event.task_id, key, "next")
    assert child.source == f"task:{event.task_id}"
    assert office.store.depth(child.task_id) == 1


def test_retrospectives_do_not_breed_retrospectives(office):
    depth, parent = 0, {}
    while True:
        claimed = office.desk.running(**parent) if not depth else office.desk.claim(office.desk.runner())[0]
        wish = {"task_type": "note", "source": "a", "payload": {}, "subject": "retrospective"}
        item = replace(new_item(claimed, office.store.now(), "follow_up_task"), payload=wish)
        office.desk.settle(claimed, "completed", outbox=(item,))
        office.deliver()
        if office.row(item.key).status == "dead":
            break
        depth += 1

    assert depth == DEEPEST
    assert "deep" in office.row(item.key).reason
    assert office.life()[-1] == "delivery_failed"
    assert office.store.claimable() == 0


def test_of_one_outcome_twenty_are_queued_and_the_others_say_why_not(office):
    keys = office.follow(*({} for _ in range(MOST + 3)))

    office.deliver()

    assert office.standing(*keys) == ["delivered"] * MOST + ["dead"] * 3
    assert "20 is the most" in office.row(keys[-1]).reason


def test_over_the_rate_they_wait_and_are_not_lost(office):
    keys = office.follow({}, {}, {})
    (other,) = office.follow({}, task_type="other")

    office.deliver(rate=2)
    assert office.standing(*keys, other) == ["delivered", "delivered", "pending", "delivered"]
    assert "follow-ups-per-hour" in office.row(keys[2]).reason
    assert office.deliver(rate=2) == 0
    office.clock.advance(WAIT.total_seconds())
    assert office.deliver(rate=2) == 1
    assert office.standing(keys[2]) == ["pending"]
    office.clock.advance(3600)
    office.deliver(rate=2)

    assert (office.standing(keys[2]), office.row(keys[2]).reason) == (["delivered"], None)


@pytest.mark.parametrize(
    ("wish", "reason"),
    [
        ({"task_type": "unknown"}, "unknown"),
        ({"available_at": "2026-01-01T00:00:00Z"}, "available_at"),
        ({"agent": "boss"}, "boss"),
        ({"schedule_id": "s"}, "schedule_id"),
        ({"payload": "none"}, "payload"),
    ],
)
def test_a_wish_that_cannot_be_granted_is_dead_and_the_next_one_is_queued(office, wish, reason):
    office.files = Files("unknown")
    bad, good = office.follow(wish, {})

    office.deliver()

    assert office.standing(bad, good) == ["dead", "delivered"]
    assert reason in office.row(bad).reason


def test_a_bug_on_the_way_harms_only_its_own_row(office, monkeypatch):
    bad, good = office.follow({"task_type": "bad"}, {})
    known = Files().task_type
    monkeypatch.setattr(office.files, "task_type", lambda name: 1 / 0 if name == "bad" else known(name))

    office.deliver()

    assert office.standing(bad, good) == ["dead", "delivered"]


@pytest.mark.parametrize("error", [AuthorError([]), WorldFault("no disk")], ids=["broken", "unreadable"])
def test_while_somebody_edits_the_files_a_follow_up_waits(office, error):
    (key,) = office.follow({})
    real = office.files

    def broken():
        raise error

    deliver(office.rooms()._replace(registry=broken), office.posts, RATE)
    assert office.standing(key) == ["pending"]
    office.clock.advance(WAIT.total_seconds())
    office.files = real
    office.deliver()

    assert office.standing(key) == ["delivered"]


def test_a_store_that_is_away_is_told_and_nothing_is_lost(office, monkeypatch):
    (key,) = office.follow({})
    monkeypatch.setattr(office.store, "followed_since", lambda *_: (_ for _ in ()).throw(WorldFault("away")))

    with pytest.raises(WorldFault, match="away"):
        office.deliver()
    monkeypatch.undo()
    office.deliver()

    assert office.standing(key) == ["delivered"]


@pytest.mark.parametrize(
    ("wish", "told"),
    [
        ({}, "delivered"),
        ({"requested_profile_id": "heir"}, "delivered"),
        ({"requested_profile_id": "stranger"}, "dead"),
        ({"requested_adapter_id": "adapter"}, "delivered"),
        ({"requested_adapter_id": "shell"}, "dead"),
        ({"requested_model": "usual"}, "delivered"),
        ({"requested_model": "dear"}, "dead"),
        ({"requested_profile_id": "program"}, "dead"),
        ({"requested_profile_id": "heir-program"}, "delivered"),
        ({"skill_ids": ["own"]}, "delivered"),
        ({"skill_ids": ["own", "another"]}, "dead"),
        ({"idempotency_key": "workflow:1:plan:1:1", "source": "workflow:1:plan", "workflow_ref": 7}, "delivered"),
    ],
)
def test_an_agent_hands_work_only_to_those_its_role_hands_over_to(office, wish, told):
    (key,) = office.follow(wish)

    office.deliver()

    assert office.standing(key) == [told]


def test_a_program_may_ask_for_a_program_and_nobody_else_of_its_role(office):
    (key,) = office.follow({"requested_profile_id": "program"}, requested_profile_id="program")
    (other,) = office.follow({"requested_profile_id": "program"})

    office.deliver()

    assert office.standing(key, other) == ["delivered", "dead"]
    assert "a task that is no program cannot ask for one" in office.row(other).reason
