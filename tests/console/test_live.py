"""Live: pages learn what has something new, by one look for all."""

import asyncio
from datetime import UTC, datetime

import pytest

from keisei.console import live
from keisei.console.live import Look, Watch, watch_of
from keisei.console.live_audience import Audience, Box
from keisei.console.live_library import library_mark
from keisei.console.live_topic import ALL, SILENT, topics_of
from keisei.records.error import WorldFault
from keisei.records.event import RuntimeEvent
from keisei.records.move import EventQuery, NewEntry, NewEvent, NewTask
from keisei.records.pipe_run import PipeMove, PipeRun
from keisei.testing.queue import new_task
from keisei.wiring.fresh import new_id
from tests.cli.shop import eventually
from tests.console.attempts import SHA, Listener, Run, served
from tests.console.house import open_house


@pytest.fixture
def house(tmp_path, monkeypatch):
    monkeypatch.setattr(live, "LOOK_S", 0.05)
    with open_house(tmp_path) as opened:
        yield opened


def queue(house):
    task = new_task(new_id(), house.store.now())
    house.store.enqueue([NewTask(task=task)])
    return task.task_id


def begun(house):
    """A look that takes everything as it is for known."""
    look = Look(house.premises)
    assert look.more() == set()
    return look


def away(*_args, **_more):
    raise WorldFault("the store is away")


def event(kind, **more):
    return RuntimeEvent(id=1, event_type=kind, detail={}, created_at=datetime(2026, 1, 1, tzinfo=UTC), **more)


@pytest.mark.parametrize(
    ("kind", "topics"),
    [
        ("task_claimed", {"tasks", "task:t%201", "attempts", "attempt:a", "events"}),
        ("landing_held", {"landings", "approvals", "tasks", "task:t%201", "attempts", "attempt:a", "events"}),
    ],
)
def test_an_event_is_about_its_task_its_attempt_and_its_noun(kind, topics):
    assert topics_of([event(kind, task_id="t 1", attempt_id="a")]) == topics


@pytest.mark.parametrize(
    ("kind", "noun"),
    [
        ("schedule_paused", "schedules"),
        ("sensor_failed", "sensors"),
        ("workflow_blocked", "workflows"),
        ("delivery_made", "outbox"),
        ("dispatch_pause_enabled", "runners"),
        ("approval_asked", "approvals"),
    ],
)
def test_an_event_of_no_task_is_about_its_noun(kind, noun):
    assert topics_of([event(kind)]) == {"events", noun}


def test_a_viewer_learns_what_has_changed(house):
    with served(house) as port, Listener(port, "/api/v1/stream") as listener:
        assert listener.response.headers["content-type"].startswith("text/event-stream")
        listener.next()
        eventually(lambda: watch_of(house.app).looks)

        task_id = queue(house)

        found = listener.until(lambda _event, told: "tasks" in told["topics"])
        assert f"task:{task_id}" in found[-1][1]["topics"]
        assert listener.mark == str(found[-1][1]["event"])


def test_what_happened_just_before_somebody_came_is_told(house):
    task_id = queue(house)

    with served(house) as port, Listener(port, "/api/v1/stream") as listener:
        assert f"task:{task_id}" in listener.next()[1]["topics"]


def test_who_comes_again_is_told_what_was_missed(house):
    first, second = queue(house), queue(house)
    marks = [each.id for each in house.store.events(EventQuery())]

    with served(house) as port:
        with Listener(port, "/api/v1/stream", mark=str(marks[0])) as listener:
            topics = listener.next()[1]["topics"]
            assert f"task:{second}" in topics
            assert f"task:{first}" not in topics
        with Listener(port, f"/api/v1/stream?after={marks[0]}") as listener:
            assert f"task:{first}" not in listener.next()[1]["topics"]
        with Listener(port, "/api/v1/stream", mark=str(marks[-1])) as listener:
            assert listener.next()[1] == {"topics": sorted(SILENT), "event": marks[-1]}
        with Listener(port, "/api/v1/stream", mark="999999999") as listener:
            assert "*" in listener.next()[1]["topics"]
        with Listener(port, "/api/v1/stream", mark="no mark") as listener:
            assert f"task:{first}" in listener.next()[1]["topics"]


def test_many_viewers_share_one_look_and_nobody_looks_for_nobody(house):
    with served(house) as port:
        listeners = [Listener(port, "/api/v1/stream") for _ in range(20)]
        watch = watch_of(house.app)
        eventually(lambda: len(watch.audience) == 20)
        before = watch.looks
        eventually(lambda: watch.looks >= before + 2)
        task_id = queue(house)
        for listener in listeners:
            listener.until(lambda _event, told: f"task:{task_id}" in told["topics"])
        assert watch.looks - before < 20
        for listener in listeners:
            listener.close()
        eventually(lambda: len(watch.audience) == 0)
        assert watch.audience._task is None


def test_what_moves_without_an_event_is_seen(house, monkeypatch):
    monkeypatch.setattr(live, "OPEN_S", 0.0)
    monkeypatch.setattr(live, "BEAT_S", 0.0)
    run, look = Run(house), begun(house)
    assert look.more() == set()

    run.returned()
    assert look.more() == {"attempts", f"attempt:{run.id}"}

    house.store.beat(run.claimed.attempt.runner_id)
    assert look.more() == {"runners"}

    house.store.note([NewEvent(event_type="library_indexed")])
    assert look.more() == {"events", "library"}
    assert look.more() == set()


def test_a_ledger_row_is_news(house):
    look = begun(house)

    house.store.append(NewEntry(kind="noted", actor="operator:tester", subject="s", body={}))

    assert look.more() == {"ledger"}


def test_a_pipe_that_goes_on_is_news_of_the_ledger_which_its_pages_follow(house):
    look, now = begun(house), house.store.now()
    run = PipeRun(
        run_id=new_id(),
        name="nightly",
        source="/there/dag.toml",
        definition={"steps": [{"atom": "kei-text::count"}]},
        definition_sha=SHA,
        input=None,
        input_kept=True,
        status="running",
        fence=1,
        actor="operator:x",
        created_at=now,
        updated_at=now,
    )
    house.store.begin_run(run)
    assert look.more() == {"ledger"}

    called = NewEntry(kind="atom_invoked", actor="operator:x", subject=new_id(), body={})
    assert house.store.move_run(PipeMove(run_id=run.run_id, fence=1, members=(), entries=(called,)))
    assert look.more() == {"ledger"}

    ended = NewEntry(kind="pipe_finished", actor="operator:x", subject=run.run_id, body={})
    assert house.store.move_run(PipeMove(run_id=run.run_id, fence=1, members=(), entries=(ended,), status="completed"))
    assert look.more() == {"ledger"}
    assert 'data-topics="ledger"' in house.page(f"/pipes/{run.run_id}")
    assert 'data-topics="ledger"' in house.page("/pipes")


def test_a_flood_of_topics_is_told_as_everything(house):
    look = begun(house)
    now = house.store.now()
    house.store.enqueue([NewTask(task=new_task(new_id(), now)) for _ in range(live.MOST + 1)])

    assert look.more() == ALL


def test_more_than_is_read_just_before_somebody_came_is_told_as_everything(house):
    now = house.store.now()
    house.store.enqueue([NewTask(task=new_task(new_id(), now)) for _ in range(live.OVERLAP)])

    assert Look(house.premises).since("")[0] == ALL


def test_what_happened_long_before_somebody_came_is_not_told(house, monkeypatch):
    now = house.store.now()
    house.store.enqueue([NewTask(task=new_task(new_id(), now)) for _ in range(live.OVERLAP)])
    monkeypatch.setattr(live, "FRESH_S", -3600.0)

    assert Look(house.premises).since("")[0] == set()


@pytest.mark.parametrize("first", ["since", "more"])
def test_nothing_is_lost_between_the_answer_to_the_first_who_comes_and_the_first_look(house, first):
    """Both begin at the same time, in threads: whichever is first, the other knows where it began."""
    look = Look(house.premises)
    told = look.since("")[0] if first == "since" else look.more()

    task_id = queue(house)

    told |= look.since("")[0] if first == "more" else set()
    assert f"task:{task_id}" in told | look.more()


def test_a_look_for_those_who_have_left_takes_nothing_from_who_comes_next(house):
    watch = Watch(house.premises)
    old = watch.look
    old.more()
    watch._left()
    watch.look.since("")
    task_id = queue(house)
    assert f"task:{task_id}" in old.more()

    assert f"task:{task_id}" in watch.look.more()


def test_what_moved_without_an_event_is_told_to_who_comes_again(house):
    run, look = Run(house), begun(house)
    mark = str(look.last)
    house.store.append(NewEntry(kind="noted", actor="operator:tester", subject="s", body={}))

    assert look.since(mark)[0] == {*SILENT, f"attempt:{run.id}"}


def test_a_ledger_row_just_before_somebody_came_is_told(house, monkeypatch):
    house.store.append(NewEntry(kind="noted", actor="operator:tester", subject="s", body={}))
    assert Look(house.premises).since("")[0] == {"ledger"}

    monkeypatch.setattr(live, "FRESH_S", -3600.0)
    assert Look(house.premises).since("")[0] == set()


def test_what_was_found_before_the_store_went_away_is_told_when_it_is_back(house, monkeypatch):
    look = begun(house)
    task_id = queue(house)
    with monkeypatch.context() as patched:
        patched.setattr(house.store, "find_entries", away)
        with pytest.raises(WorldFault):
            look.more()

    assert f"task:{task_id}" in look.more()


def test_who_comes_while_the_store_is_away_stays_and_is_told_everything_later(house, monkeypatch, caplog):
    events = house.store.events
    monkeypatch.setattr(house.store, "events", away)

    with served(house) as port, Listener(port, "/api/v1/stream") as listener:
        watch = watch_of(house.app)
        eventually(lambda: watch._owed)

        monkeypatch.setattr(house.store, "events", events)

        assert set(listener.next()[1]["topics"]) == ALL
        task_id = queue(house)
        listener.until(lambda _event, told: f"task:{task_id}" in told["topics"])
    said = [each for each in caplog.records if each.name == "keisei.console"]
    assert [each.getMessage() for each in said] == ["the console cannot look for news: the store is away"]
    assert said[0].exc_info is None


AUTHORED = {
    "a role": "roles/mine.toml",
    "a capability": "capabilities/policy/mine/capability.toml",
    "a capability's file": "capabilities/policy/mine/vectors/one.json",
    "a skill": "skills/mine/SKILL.md",
    "an atom": "primitives/kei-mine/atoms/act.md",
    "its schema": "primitives/kei-mine/atoms/schemas/act.input.json",
    "its package": "primitives/kei-mine/pyproject.toml",
    "an atom in an import package": "primitives/kei-mine/src/kei_mine/atoms/act.md",
}


@pytest.mark.parametrize("name", AUTHORED.values(), ids=AUTHORED)
def test_an_authored_file_that_is_another_is_news(house, monkeypatch, name):
    monkeypatch.setattr(live, "BEAT_S", 0.0)
    monkeypatch.setattr(live, "REST", 0)
    file = house.root / ".keisei" / name
    for folder in (file.parent, house.root / ".keisei/primitives/kei-mine/src/kei_mine/atoms"):
        folder.mkdir(parents=True, exist_ok=True)
    look = begun(house)
    assert look.more() == set()

    file.write_text("one")
    assert look.more() == {"library"}
    file.write_text("another")
    assert look.more() == {"library"}
    assert look.more() == set()
    file.unlink()
    assert look.more() == {"library"}


def test_what_is_not_authored_is_no_news(house):
    folder = house.root / ".keisei/primitives/kei-mine/atoms"
    folder.mkdir(parents=True)
    (folder / "act.md").write_text("one")
    before = library_mark(house.premises)
    assert before != 0

    for name in ("__pycache__/act.pyc", ".act.md.swp", "../target/debug/build.log", "../notes.db"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("x")

    assert library_mark(house.premises) == before


@pytest.mark.parametrize("page", ["/graph", "/atoms", "/roles", "/capabilities"])
def test_pages_of_authored_things_follow_them(house, page):
    assert 'data-topics="library"' in house.page(page)


def test_a_slow_reader_holds_nobody_and_is_told_to_look_at_everything(house):
    async def scene():
        watch = Watch(house.premises)
        slow, quick = Box(live.WAITING), Box(live.WAITING)
        watch.audience._boxes |= {slow, quick}
        frames = live.frames(watch, slow, "")
        await anext(frames)
        await anext(frames)
        for number in range(live.WAITING + 1):
            watch.audience.tell([b"%d;" % number])
            assert (await quick.take(1)).items == [b"%d;" % number]
        assert b'"*"' in await anext(frames)
        watch.audience.tell([b"next"])
        assert await anext(frames) == b"next"

    asyncio.run(scene())


def test_a_silent_stream_says_that_it_is_there(house, monkeypatch):
    monkeypatch.setattr(live, "KEEP_ALIVE_S", 0.001)

    async def scene():
        frames = live.frames(Watch(house.premises), Box(1), "")
        return [await anext(frames) for _ in range(3)][-1]

    assert asyncio.run(scene()).startswith(b":")


def test_a_stream_ends_when_the_server_says_that_nobody_listens(house):
    """As the guard says it when the console ends."""

    async def scene():
        sent, gone = [], asyncio.Event()

        async def receive():
            await gone.wait()
            return {"type": "http.disconnect"}

        async def send(message):
            sent.append(message)
            if len(sent) == 3:
                gone.set()

        scope = {"type": "http", "method": "GET", "path": "/api/v1/stream", "headers": [], "query_string": b""}
        scope |= {"state": {}, "root_path": "", "asgi": {"spec_version": "2.3"}, "http_version": "1.1"}
        async with asyncio.timeout(30):
            await house.app(scope, receive, send)
        assert len(watch_of(house.app).audience) == 0

    asyncio.run(scene())


def test_who_asks_only_for_the_head_is_not_kept(house):
    answer = house.client.head("/api/v1/stream")

    assert (answer.status_code, answer.content) == (200, b"")


def test_work_begins_with_the_first_and_ends_with_the_last():
    async def scene():
        told = []

        async def work():
            told.append("begun")
            try:
                await asyncio.Event().wait()
            finally:
                told.append("ended")

        audience = Audience(work, 4, lambda: told.append("left"))
        first, second = audience.join(), audience.join()
        await asyncio.sleep(0)
        audience.leave(first)
        audience.leave(first)
        assert told == ["begun"]
        audience.leave(second)
        await asyncio.sleep(0)
        assert told == ["begun", "left", "ended"]

    asyncio.run(scene())
