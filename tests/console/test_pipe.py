import threading

import pytest

from keisei.console import pipe_session
from keisei.console.pipe_session import Sessions, alone, interrupted
from keisei.records.error import Refused
from keisei.workspace.lock import KeyLocks
from tests.cli.pipes import fan, make_package
from tests.console.house import VIEWER, open_house

READS = """[pipe]
name = "<script>alert(1)</script>"
[[steps]]
capture_as = "count"
atom = "kei-text::count"
input = { text = "$input.text" }
[[steps]]
capture_as = "digest"
atom = "kei-hash::digest"
input = { content = "words: ${count.words}" }
"""
WRITES = """[[steps]]
capture_as = "first"
atom = "kei-text::count"
input = { text = "a" }
[[steps]]
capture_as = "note"
atom = "kei-pipe-test::refuse"
input = { n = "$first.words" }
[[steps]]
capture_as = "last"
atom = "kei-pipe-test::add"
needs = ["note"]
"""


@pytest.fixture
def house(tmp_path):
    with open_house(tmp_path) as opened:
        make_package(opened.root / ".keisei/primitives")
        yield opened


def ended(house):
    """Wait until nothing runs in the background any more."""
    for thread in list(house.premises.keep(Sessions)._threads):
        thread.join()


def run(house, pipe, **more):
    answer = house.order("/pipes/run", pipe=pipe, **more)
    assert answer.status_code == 202, answer.text
    ended(house)
    return house.api(f"/pipes/{answer.json()['run_id']}")


def test_a_house_without_runs_says_what_to_do(house):
    assert house.api("/pipes") == {"items": [], "next": None}
    assert "keisei pipe run" in house.page("/pipes")


def test_a_plan_tells_every_decision_and_runs_nothing(house):
    told = house.order("/pipes/plan", pipe=WRITES).json()

    assert told["ok"] is True
    assert [each["name"] for each in told["steps"]] == ["first", "note", "last"]
    assert told["steps"][1]["touches"] == ["changes refusal"]
    assert "needs `first`" in told["steps"][1]["why"]
    assert (told["only_reads"], len(told["drawing"]["lines"])) == (False, 2)
    assert house.api("/pipes")["items"] == []


def test_what_is_wrong_with_a_pipe_is_told_with_its_line(house):
    wrong = READS.replace("count.words", "count.wrds")
    told = house.order("/pipes/plan", pipe=wrong).json()

    assert told["ok"] is False
    assert [(each["line"], each["code"]) for each in told["problems"]] == [(10, "bad-reference")]
    assert "line 10:" in house.page(f"/pipes/new?plan={told['plan_id']}")
    assert house.order("/pipes/run", pipe=wrong).status_code == 422
    assert house.form("/pipes/run", pipe=wrong).headers["location"].startswith("/pipes/new?plan=")


def test_what_is_no_pipe_is_told(house):
    for pipe in ("", "no = [toml", "\x00", "[[" * 5000, "a = " + "[" * 5000, "x" * 300_000, "steps = 3"):
        answer = house.order("/pipes/plan", pipe=pipe)
        assert answer.status_code == 422 or answer.json()["ok"] is False, pipe[:20]


def test_a_run_goes_on_in_the_background_and_is_drawn_with_what_became_of_it(house):
    told = run(house, READS, input={"text": "one two"})

    assert told["run"]["status"] == "completed"
    assert told["run"]["actor"] == "operator:tester"
    assert [each["state"] for each in told["steps"]] == ["done", "done"]
    assert {each["state"] for each in told["drawing"]["boxes"]} == {"done"}
    assert told["steps"][0]["duration_ms"] > 0
    assert '"words":2' in told["calls"][0]["output"]
    page = house.page(f"/pipes/{told['run']['run_id']}")
    assert 'class="box done"' in page
    assert "style=" not in page
    assert "<script>alert" not in page + house.page("/pipes")
    again = run(house, READS, input={"text": "one two"})
    assert [each["cached"] for each in again["steps"]] == [True, True]


def test_a_pipe_that_does_not_only_read_asks_first(house):
    assert house.order("/pipes/run", pipe=WRITES).status_code == 409

    asked = house.form("/pipes/run", pipe=WRITES.replace("\n", "\r\n"), input_text="").headers["location"]
    page = house.page(asked)

    assert "Yes, run it" in page
    assert "changes refusal" in page
    assert house.api("/pipes")["items"] == []
    done = house.form("/pipes/run", pipe=WRITES, confirm="true")
    ended(house)
    assert house.api(done.headers["location"])["run"]["status"] == "failed"


def test_a_failed_run_tells_why_and_is_resumed(house):
    told = run(house, WRITES, confirm=True)
    run_id = told["run"]["run_id"]
    assert [each["state"] for each in told["steps"]] == ["done", "failed", "skipped"]
    assert told["resumable"] is True
    assert "\x1b" not in house.page(f"/pipes/{run_id}")

    answer = house.order(f"/pipes/{run_id}/resume", start="note")
    ended(house)

    assert answer.status_code == 202
    kinds = [each["kind"] for each in house.api("/ledger", subject=run_id)["items"]]
    assert kinds == ["pipe_finished", "pipe_resumed", "pipe_finished", "pipe_begun"]
    assert house.order(f"/pipes/{run_id}/resume", start="nothing").status_code == 422
    assert house.order("/pipes/nobody/resume").status_code == 404


def test_a_run_can_be_stopped_and_ends_with_the_console(house, tmp_path):
    notes = tmp_path / "notes"
    hold = tmp_path / "notes.hold"
    hold.touch()
    pipe, _ = fan("put", notes, 3, hold=0)
    started = house.order("/pipes/run", pipe=pipe, input=[0, 1, 2], confirm=True).json()["run_id"]

    assert house.api(f"/pipes/{started}")["runs_here"] is True
    assert house.order(f"/pipes/{started}/resume").status_code == 409  # somebody runs it
    assert house.order(f"/pipes/{started}/stop").status_code == 202
    ended(house)

    told = house.api(f"/pipes/{started}")
    assert (told["run"]["status"], told["resumable"], told["runs_here"]) == ("canceled", True, False)
    assert house.order(f"/pipes/{started}/stop").status_code == 409
    hold.unlink()
    house.order(f"/pipes/{started}/resume")
    ended(house)
    assert house.api(f"/pipes/{started}")["run"]["status"] == "completed"


def test_a_run_whose_runner_was_killed_is_told_as_interrupted(house):
    folder = house.premises.home.run
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "pipe-r1.lock").touch()

    assert interrupted(house.premises, "r1", "running") is True
    assert interrupted(house.premises, "r1", "completed") is False
    with KeyLocks(folder).own("pipe-r1"):
        assert interrupted(house.premises, "r1", "running") is False
        with pytest.raises(Refused), alone(house.premises.runtime, "r1"):
            pass


def test_runs_are_told_page_by_page(house):
    for _ in range(3):
        run(house, READS, input={"text": "x"})

    first = house.api("/pipes", limit=2)
    second = house.api("/pipes", limit=2, after=first["next"])

    assert (len(first["items"]), len(second["items"]), second["next"]) == (2, 1, None)
    assert house.client.get("/api/v1/pipes?after=x").status_code == 422
    run(house, READS, input={"text": "x"})
    again = house.api("/pipes", limit=2, after=first["next"])
    assert [each["run_id"] for each in again["items"]] == [each["run_id"] for each in second["items"]]


def test_calls_of_a_step_are_told_page_by_page(house, tmp_path):
    pipe, _ = fan("put", tmp_path / "notes", 25)
    told = run(house, pipe, input=list(range(25)), confirm=True)
    path = f"/pipes/{told['run']['run_id']}"

    first = house.api(path, step="f")
    second = house.api(path, step="f", after=first["next"])

    assert told["steps"][0]["counts"] == {"done": 25}
    assert [each["index"] for each in (*first["calls"], *second["calls"])] == list(range(25))
    assert second["next"] is None
    assert "Next calls" in house.page(f"{path}?step=f")


def test_an_unknown_run_is_not_found(house):
    for name in ("nobody", "%00", "%ff", "a" * 300, "%F0%9F%8D%9E"):
        assert house.client.get(f"/pipes/{name}").status_code in (404, 422), name
        assert house.client.get(f"/api/v1/pipes/{name}?step=%00&after=3").status_code in (404, 422), name
        assert house.client.get(f"/api/v1/pipes/new?plan={name}").status_code in (404, 422), name


@pytest.mark.parametrize("more", [{"visitor": VIEWER}, {"read_only": True}])
def test_who_only_looks_may_plan_and_runs_nothing(tmp_path, more):
    with open_house(tmp_path, **more) as house:
        assert house.order("/pipes/plan", pipe=READS).json()["ok"] is True
        assert house.form("/pipes/plan", pipe=READS).status_code == 303
        assert house.order("/pipes/run", pipe=READS, input={"text": "x"}).status_code == 403
        assert house.order("/pipes/r1/resume").status_code == 403
        assert house.order("/pipes/r1/stop").status_code == 403
        assert 'formaction="/pipes/run"' not in house.page("/pipes/new")
        assert house.api("/pipes")["items"] == []


def test_a_run_of_which_was_said_that_it_did_not_begin_does_not_begin_later(house, monkeypatch):
    opens, open_runtime = threading.Event(), pipe_session.open_runtime

    def late(*words, **more):
        opens.wait(60)
        return open_runtime(*words, **more)

    monkeypatch.setattr(pipe_session, "open_runtime", late)
    monkeypatch.setattr(pipe_session, "BEGIN_S", 0.0)
    told = house.order("/pipes/run", pipe=READS, input={"text": "a b"})
    opens.set()
    ended(house)

    assert (told.status_code, told.json()["detail"]) == (503, "the run could not begin in time, and will not")
    assert house.api("/pipes")["items"] == []


def test_a_run_that_is_being_written_down_is_waited_for(house, monkeypatch):
    writes = threading.Event()

    class Begins(pipe_session.Future):
        """Time is up in the moment in which the run is written down."""

        def set_running_or_notify_cancel(self):
            begins = super().set_running_or_notify_cancel()
            writes.set()
            return begins

        def result(self, timeout=None):
            if timeout is not None:
                writes.wait(60)
                raise TimeoutError
            return super().result()

    monkeypatch.setattr(pipe_session, "Future", Begins)

    assert run(house, READS, input={"text": "a b"})["run"]["status"] == "completed"
