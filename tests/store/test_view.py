"""Reading, on both stores: what the promises do not say, and that no question reads a whole table."""

import json
import re
from contextlib import closing
from datetime import timedelta
from importlib.resources import files
from itertools import product
from typing import get_args

import pytest
from msgspec.structs import replace

from keisei.contracts.check import build
from keisei.records.artifact import ArtifactRecord
from keisei.records.bundle import BundleRecord
from keisei.records.event import OurEvent, SeedEvent
from keisei.records.finding import FindingRecord
from keisei.records.move import AttemptQuery, EntryQuery, EventQuery, NewEvent, Progress, TaskQuery
from keisei.store import task_list
from keisei.store.ask import bounded, known, whole
from keisei.store.event import INDEXED, ROUTINE
from keisei.store.ledger_read import (
    NARROWED,
    NEWEST,
    OF_COMMON_KIND,
    POSTGRES,
    SQLITE,
    find_entries,
    read_entries,
    read_entry,
    read_rows,
)
from keisei.testing.queue import LEASE_S
from tests.store.desk import postgres_desk, sqlite_desk

STRANGE = ["\0", "\ud800", "a\0b", "x" * 100_000, "", "' OR 1=1 --", "%", "{seq}"]
STRANGE_IDS = ["zero", "surrogate", "zero-inside", "long", "empty", "quote", "percent", "braces"]


@pytest.fixture(params=["sqlite", "postgres"])
def desk(request, tmp_path):
    if request.param == "sqlite":
        with sqlite_desk(tmp_path) as found:
            yield found
    else:
        with postgres_desk(request.getfixturevalue("postgres_url")) as found:
            yield found


def examples(name):
    text = files("keisei.contracts").joinpath("examples", f"{name}.json").read_text(encoding="utf-8")
    return [build(name, each) for each in json.loads(text)]


def test_a_running_task_tells_its_lease_and_no_other_does(desk):
    claimed = desk.running()
    began = desk.clock.now()
    (waiting,) = desk.queue()

    lease = desk.read(claimed.task.task_id).lease

    assert (lease.attempt_id, lease.runner_id, lease.fence) == (
        *(claimed.attempt.attempt_id, claimed.attempt.runner_id),
        claimed.attempt.fence,
    )
    assert lease.expires_at == began + timedelta(seconds=LEASE_S)
    assert desk.read(waiting).lease is None
    assert [task.lease for task in desk.store.tasks(TaskQuery())] == [None, lease]

    desk.settle(claimed, "completed")

    assert desk.read(claimed.task.task_id).lease is None


def test_a_lease_moves_with_the_heartbeat(desk):
    claimed = desk.running()
    desk.clock.advance(5)
    desk.store.beat(claimed.attempt.runner_id)

    assert desk.read(claimed.task.task_id).lease.expires_at == desk.clock.now() + timedelta(seconds=LEASE_S)


def test_a_task_that_is_due_and_not_woken_could_be_claimed(desk):
    desk.queue(2)
    desk.queue(3, available_at=desk.clock.now() + timedelta(seconds=10))
    assert desk.store.claimable() == 2

    desk.clock.advance(10)

    assert desk.store.claimable() == 5


def test_a_bundle_comes_back_as_it_was(desk):
    claimed = desk.running()
    bundle: BundleRecord = replace(
        examples("bundle.record")[0], attempt_id=claimed.attempt.attempt_id, task_id=claimed.task.task_id
    )

    attempt = replace(claimed.attempt, bundle_id=bundle.bundle_id)
    desk.store.progress(Progress(stage="started", attempt=attempt, bundle=bundle))

    assert desk.store.bundle(claimed.attempt.attempt_id) == bundle


def test_findings_and_artifacts_come_back_as_they_were_in_their_order(desk):
    claimed = desk.running()
    findings: list[FindingRecord] = [
        replace(each, attempt_id=claimed.attempt.attempt_id) for each in examples("finding.record")
    ]
    artifacts: list[ArtifactRecord] = [
        replace(each, task_id=claimed.task.task_id) for each in examples("artifact.record")
    ]

    desk.settle(claimed, "completed", findings=tuple(findings[::-1]), artifacts=tuple(artifacts[::-1]))

    assert desk.store.findings(claimed.attempt.attempt_id) == findings[::-1]
    assert desk.store.artifacts(claimed.task.task_id) == artifacts[::-1]


def test_depth_is_the_number_of_tasks_above(desk):
    (plain,) = desk.queue()
    (below,) = desk.queue(depth=2)

    assert [desk.store.depth(each) for each in (plain, below, "nobody")] == [0, 2, 0]


def test_pages_of_waiting_tasks_go_on_behind_a_task(desk):
    later = desk.clock.now() + timedelta(hours=1)
    ids = [desk.queue(available_at=later if number % 2 else desk.clock.now())[0] for number in range(6)]
    query = TaskQuery(statuses=("pending", "retryable_failure"), limit=2)

    pages, before = [], None
    while page := desk.store.tasks(replace(query, before=before)):
        pages += [task.task_id for task in page]
        before = page[-1].task_id

    assert pages == ids[::-1]


@pytest.mark.parametrize(("limit", "number"), [(0, 0), (-5, 0), (2, 2), (10**30, 3)])
def test_a_limit_is_made_to_fit(desk, limit, number):
    desk.queue(3)
    desk.claim(desk.runner(), 3)

    assert len(desk.store.tasks(TaskQuery(limit=limit))) == number
    assert len(desk.store.attempts(None, limit)) == number
    assert len(desk.store.events(EventQuery(limit=limit, event_type="task_claimed"))) == number
    assert len(desk.store.events(EventQuery(limit=limit, event_type="task_claimed", newest=True))) == number


def test_no_page_holds_more_than_a_thousand(desk):
    desk.queue(1001)

    assert len(desk.store.tasks(TaskQuery(limit=5000))) == 1000
    assert len(desk.store.events(EventQuery(limit=5000))) == 1000


@pytest.mark.parametrize("text", STRANGE, ids=STRANGE_IDS)
def test_questions_about_strange_names_have_no_answer(desk, text):
    desk.running()
    store = desk.store

    assert (store.task(text), store.attempt(text), store.bundle(text), store.depth(text)) == (None, None, None, 0)
    assert store.attempts(text) == store.findings(text) == store.artifacts(text) == store.memory(text, text, 5) == []
    assert store.tasks(TaskQuery(task_type=text)) == store.tasks(TaskQuery(source=text)) == []
    assert store.tasks(TaskQuery(before=text)) == store.tasks(TaskQuery(before=text, statuses=("running",))) == []
    assert store.events(EventQuery(task_id=text)) == []


@pytest.mark.parametrize("after", [-1, 2**63, -(2**70), 10**40])
def test_events_after_any_number(desk, after):
    desk.queue()

    assert len(desk.store.events(EventQuery(after=after))) == (1 if after < 0 else 0)


def test_questions_are_made_to_fit():
    assert [bounded(limit) for limit in (-1, 0, 7, 1000, 1001)] == [0, 0, 7, 1000, 1000]
    assert [whole(number) for number in (-(2**70), 5, 2**63)] == [-(2**63), 5, 2**63 - 1]
    assert [known(name) for name in ("a", "é", "\ufffd", "\0", "\udc80")] == ["a", "é", "\ufffd", "", ""]


class Asked:
    """A driver that keeps every question."""

    def __init__(self, driver):
        self._driver = driver
        self.questions = []

    def now_us(self):
        return self._driver.now_us()

    def read(self, sql, params):
        self.questions.append((sql, params))
        return self._driver.read(sql, params)


def every_question(store, driver, words):
    store._reader = asked = Asked(driver)
    for name in ("task", "attempt", "attempts", "bundle", "findings", "artifacts", "depth"):
        getattr(store, name)("x")
    store.counts()
    store.claimable()
    store.overview(store.now())
    store.memory(None, "p", 5)
    store.memory("a", "p", 5)
    for status in store.counts():
        store.tasks(TaskQuery(statuses=(status,)))
        store.tasks(TaskQuery(statuses=(status,), before="x", task_type="y", source="z"))
        store.tasks(TaskQuery(statuses=(status,), before="x", text="y"))
    for attempts in (AttemptQuery(open=True), AttemptQuery(task_id="x"), AttemptQuery(before="x")):
        store.find_attempts(attempts)
    for query in (
        EventQuery(),
        EventQuery(newest=True),
        EventQuery(task_id="x"),
        EventQuery(event_type="task_claimed"),
        EventQuery(event_type="gate_denied"),
        EventQuery(newest=True, before=9, event_type="gate_denied"),
    ):
        store.events(query)
    read_entries(asked, 0, 10, None)
    read_entries(asked, 0, 10, "k")
    for fields in ({}, {"kind": "k"}, {"subject": "s"}, {"source": "manual"}, {"subject": "s", "source": "engine"}):
        find_entries(asked, EntryQuery(**fields), words)
    asked.read(NEWEST.format(rest=NARROWED["kind"]), {"before": 9, "limit": 10, "kind": "k"})
    store.size()
    store.leaves(1, 10)
    store.checkpoints()
    store.newest_checkpoint()
    store.tree_nodes(8, 0, 10)
    asked.read(OF_COMMON_KIND, {"after": 0, "limit": 10, "kind": "k"})
    read_entry(asked, 1)
    next(read_rows(asked, words), None)
    store._reader = driver
    return asked.questions


def test_every_question_is_answered_by_an_index_of_sqlite(tmp_path):
    with sqlite_desk(tmp_path) as desk, closing(desk.store._reader) as driver:
        for sql, params in every_question(desk.store, driver, SQLITE):
            steps = [row[-1] for row in driver.read(f"EXPLAIN QUERY PLAN {sql}", params)]
            whole_tables = [
                step for step in steps if step in ("SCAN t", "SCAN a", "SCAN r", "SCAN tasks", "SCAN events")
            ]
            assert whole_tables == [], (sql, steps)


def test_every_question_is_answered_by_an_index_of_postgresql(postgres_url):
    with postgres_desk(postgres_url) as desk:
        driver = desk.store._reader
        for sql, params in every_question(desk.store, driver, POSTGRES):
            plan = "\n".join(row[0] for row in driver.read(f"EXPLAIN {sql}", params))
            assert "Seq Scan" not in plan, (sql, plan)


def test_lists_without_a_status_walk_the_key_from_its_newest_end(tmp_path):
    """The walk ends when the page is full; it goes along the narrow index, where a list is narrowed."""
    with sqlite_desk(tmp_path) as desk:
        driver = desk.store._reader
        desk.store._reader = asked = Asked(driver)
        desk.store.tasks(TaskQuery(task_type="x"))
        desk.store.attempts(None)
        desk.store.find_attempts(AttemptQuery())
        desk.store._reader = driver

        for sql, params in asked.questions:
            steps = [row[-1] for row in driver.read(f"EXPLAIN QUERY PLAN {sql}", params)]
            narrow = "SCAN tasks USING COVERING INDEX tasks_list"
            assert [step for step in steps if step.startswith("SCAN")] in ([narrow], ["SCAN a"])
            assert "USE TEMP B-TREE FOR ORDER BY" not in steps


def test_a_type_that_is_rare_is_looked_up_in_the_index_of_events(tmp_path):
    with sqlite_desk(tmp_path) as desk:
        driver = desk.store._reader
        desk.store._reader = asked = Asked(driver)
        desk.store.find_events(EventQuery(event_type="gate_denied"))
        desk.store._reader = driver

        ((sql, params),) = asked.questions
        (step,) = [row[-1] for row in driver.read(f"EXPLAIN QUERY PLAN {sql}", params)]
        assert step.startswith("SEARCH events USING INDEX events_type (event_type=?")


def test_the_index_of_events_leaves_out_what_the_code_leaves_out(desk):
    assert set(re.findall(r"'([a-z_]+)'", INDEXED)) == ROUTINE
    for driver in ("sqlite", "postgres"):
        assert INDEXED in files("keisei.store").joinpath(f"schema.{driver}.sql").read_text(encoding="utf-8")
    kinds = get_args(SeedEvent) + get_args(OurEvent)
    desk.store.note([NewEvent(event_type=kind) for kind in kinds])

    for kind in kinds:
        assert [event.event_type for event in desk.store.find_events(EventQuery(event_type=kind))] == [kind]


def fits(task, wanted, narrow):
    return (not wanted or task.status in wanted) and all(
        value in (task.subject or "") if name == "text" else getattr(task, name) == value
        for name, value in narrow.items()
    )


def every_page(store, query):
    while query is not None:
        page = store.find_tasks(query)
        yield from page.tasks
        query = None if page.next is None else replace(query, before=page.next)


def test_every_way_to_a_list_leads_to_the_same_tasks(desk, monkeypatch):
    """A place with many tasks is looked at from the other side, and a search goes on in parts."""
    runner = desk.runner(lease_s=10_000)
    ends = ("completed", "completed", "permanent_failure", "blocked", "retryable_failure")
    for number in range(15):
        claimed = desk.running(runner, task_type="ab"[number % 2], agent=None if number % 3 else "ann")
        desk.settle(claimed, ends[number % 5], at=desk.clock.now() + timedelta(days=1))
    desk.queue(4, task_type="a", subject="odd", available_at=desk.clock.now() + timedelta(hours=1))
    desk.queue(6, task_type="b", subject="odd")
    desk.claim(runner, 2)
    everything = desk.store.tasks(TaskQuery(limit=1000))
    statuses = [("completed",), ("pending",), ("pending", "completed", "blocked"), tuple(desk.store.counts()), ()]
    narrowed = [{}, {"task_type": "a"}, {"task_type": "b", "agent": "ann"}, {"text": "odd"}]

    for many, chunk in ((10**6, 1000), (1, 1000), (4, 3)):
        for name, value in {"MANY": many, "CHUNK": chunk, "LOOKED_AT": 2 * chunk}.items():
            monkeypatch.setattr(task_list, name, value)
        for wanted, narrow, limit in product(statuses, narrowed, (2, 50)):
            found = list(every_page(desk.store, TaskQuery(statuses=wanted, limit=limit, **narrow)))
            assert found == [task for task in everything if fits(task, wanted, narrow)], (wanted, narrow, limit, many)
