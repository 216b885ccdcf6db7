"""The original's stream: how things stand, once, then events; one look for all who follow it."""

import pytest

from keisei.console import live, original_stream
from keisei.console.live import watch_of
from keisei.console.original_stream import PAGE, Reader, feed_of
from keisei.records.error import WorldFault
from keisei.records.move import NewEvent, NewTask
from keisei.testing.queue import new_task
from keisei.wiring.fresh import new_id
from tests.cli.shop import eventually
from tests.console.attempts import Listener, served
from tests.console.house import PROJECT, open_house


@pytest.fixture
def house(tmp_path, monkeypatch):
    monkeypatch.setattr(live, "LOOK_S", 0.02)
    with open_house(tmp_path, project=PROJECT + '[runner]\npolicy = "Be kind."\n') as opened:
        yield opened


def queue(house):
    task = new_task(new_id(), house.store.now())
    house.store.enqueue([NewTask(task=task)])
    return task.task_id


def test_it_tells_how_things_stand_and_then_what_happens(house):
    queue(house)
    with served(house) as port, Listener(port, "/api/stream") as listener:
        assert listener.response.headers["content-type"].startswith("text/event-stream")
        event, told = listener.next()
        assert event == "dashboard"
        assert set(told) == {
            "runtime_name", "runtime_state", "counts", "dispatch_paused", "last_event", "runtime_policy",
        }  # fmt: skip
        assert (told["runtime_policy"], told["counts"]["queued"]) == ("Be kind.", 1)

        task_id = queue(house)

        event, told = listener.next()
        assert event == "events"
        assert set(told) == {"events", "status", "state"}
        assert [each["task_id"] for each in told["events"]] == [task_id]
        assert set(told["status"]) == {"runtime_state", "counts", "last_event", "recent"}
        assert told["status"]["recent"][0]["task_id"] == task_id
        assert told["state"]["counts"]["queued"] == 2


def test_many_viewers_are_told_by_one_look(house, monkeypatch):
    made = []
    real = original_stream.news
    monkeypatch.setattr(original_stream, "news", lambda *given: made.append(1) or real(*given))
    with served(house) as port:
        listeners = [Listener(port, "/api/stream") for _ in range(8)]
        for listener in listeners:
            assert listener.next()[0] == "dashboard"
        task_id = queue(house)
        for listener in listeners:
            _event, told = listener.next()
            assert [each["task_id"] for each in told["events"]] == [task_id]
        assert len(made) == 1
        for listener in listeners:
            listener.close()
        feed, watch = feed_of(house.app), watch_of(house.app)
        eventually(lambda: len(feed.audience) == 0 and len(watch.audience) == 0)

        with Listener(port, "/api/stream") as again:
            assert again.next()[0] == "dashboard"
            other = queue(house)
            assert [each["task_id"] for each in again.next()[1]["events"]] == [other]


def test_a_quiet_connection_is_kept_alive(house, monkeypatch):
    monkeypatch.setattr(original_stream, "KEEP_ALIVE_S", 0.05)
    with served(house) as port, Listener(port, "/api/stream") as listener:
        listener.next()
        assert listener.response.readline() == b": still here\n"


def test_after_a_store_that_was_away_it_is_told_anew_how_things_stand(house, monkeypatch, caplog):
    monkeypatch.setattr(original_stream, "AWAY_S", 0.05)
    real, asked = original_stream.news, []

    def news(*given):
        asked.append(1)
        if len(asked) == 1:
            raise WorldFault("the store is away")
        return real(*given)

    monkeypatch.setattr(original_stream, "news", news)
    with served(house) as port, Listener(port, "/api/stream") as listener:
        assert listener.next()[0] == "dashboard"
        queue(house)
        event, told = listener.next()
        assert (event, told["counts"]["queued"]) == ("dashboard", 1)
        later = queue(house)
        assert [each["task_id"] for each in listener.next()[1]["events"]] == [later]
    assert "cannot look for events" in caplog.text


def test_every_event_is_read_once_and_few_at_a_time(house):
    house.store.note([NewEvent(event_type="library_indexed")] * 3)
    reader = Reader(house.store)
    assert reader.more() == []

    house.store.note([NewEvent(event_type="library_indexed")] * (PAGE + 100))

    found = []
    while more := reader.more():
        assert len(more) <= PAGE
        found += [each.id for each in more]
    assert found == list(range(4, PAGE + 104))


def test_an_event_that_shows_late_is_told_too(house, monkeypatch):
    house.store.note([NewEvent(event_type="library_indexed")] * 4)
    events = type(house.store).events
    monkeypatch.setattr(
        type(house.store), "events", lambda self, query: [each for each in events(self, query) if each.id != 2]
    )
    reader = Reader(house.store)
    monkeypatch.undo()
    assert [each.id for each in reader.more()] == [2]
    assert reader.more() == []
    assert reader.last == 4
