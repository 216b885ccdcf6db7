"""Desks: what a client may call, what it is told, and the row every call leaves."""

import json
import math
import threading
from concurrent.futures import ThreadPoolExecutor

import msgspec
import pytest
from jsonschema_rs import Draft202012Validator

from keisei.mcp import book, piping
from keisei.mcp import reply as replies
from keisei.mcp.desk import Desk, Grant
from keisei.mcp.flight import Flights
from keisei.records.error import AuthorError, WorldFault
from keisei.records.problem import Problem
from keisei.wiring import refusal
from keisei.workers.crew import Crew
from tests.mcp.world import wait_for
from tests.workers.atom import is_alive

READS = [
    "pot::echo",
    "pot::endless",
    "pot::few",
    "pot::full",
    "pot::hold",
    "pot::long",
    "pot::loud",
    "pot::number",
    "pot::stubborn",
]


def told(reply):
    """The error of a reply: kind and message."""
    assert reply.is_error
    assert json.loads(reply.text) == reply.structured
    return reply.structured["error"]["kind"], reply.structured["error"]["message"]


def failing(error):
    def fail(*_):
        raise error

    return fail


def new_rows(world, before):
    return world.rows()[len(before) :]


def test_the_lean_list_is_short_and_has_nothing_that_changes_without_write(world):
    few, more = world.desk().catalog.offers(), world.desk(write=("*",)).catalog.offers()

    assert [offer.name for offer in few] == ["atoms_search", "atoms_describe", "atoms_read", "pipe_plan", "pipe_run"]
    assert "atoms_run" in [offer.name for offer in more]
    assert len(msgspec.json.encode(more)) < 8192


def test_the_full_list_has_each_atom_that_is_granted(world):
    names = [offer.title for offer in world.desk(profile="full").catalog.offers()]
    written = [offer.title for offer in world.desk(profile="full", write=("pot::note",)).catalog.offers()]

    assert names[:-2] == READS
    assert "pot::note" in written
    assert world.desk(profile="full", packages=("other",)).catalog.offers()[0].name == "pipe_plan"


def test_an_output_stands_as_data_and_as_text_with_its_row(world):
    before, desk = world.rows(), world.desk()

    reply = desk.call("atoms_read", {"atom": "pot::echo", "input": {"n": 3, "text": "é"}})

    assert (reply.structured, reply.is_error) == ({"n": 3, "text": "é"}, False)
    assert json.loads(reply.text) == reply.structured
    assert reply.meta["atom"] == "pot::echo"
    assert new_rows(world, before) == [("atom_invoked", "pot::echo", None)]


def test_what_comes_out_fits_the_schema_that_was_offered(world):
    desk = world.desk(profile="full")
    offers = {offer.name: offer for offer in desk.catalog.offers()}

    for name, given, output in [
        ("pot__number", {"n": 7}, {"result": 7}),
        ("pot__few", {"n": 2}, {"items": [{"n": 0}, {"n": 1}], "count": 2}),
    ]:
        reply = desk.call(name, given)
        assert reply.structured == output
        assert Draft202012Validator(offers[name].output_schema).is_valid(reply.structured)


def test_a_declared_error_says_what_the_page_says_of_it(world):
    reply = world.desk().call("atoms_read", {"atom": "pot::full"})

    assert reply.structured["error"] == {
        "kind": "atom",
        "code": "Full",
        "message": "no room",
        "http_analog": 409,
        "description": "Make room.",
    }
    assert reply.structured["metadata"] == reply.meta


@pytest.mark.parametrize(
    ("grant", "tool", "arguments", "row"),
    [
        ({}, "atoms_read", {"atom": "pot::note", "input": {"path": "x"}}, ("atom_invoked", "pot::note", "refused")),
        ({"write": ("*",)}, "atoms_read", {"atom": "pot::note"}, ("atom_invoked", "pot::note", "refused")),
        ({"patterns": ("pot::few",)}, "atoms_read", {"atom": "pot::echo"}, ("atom_invoked", "pot::echo", "refused")),
        ({"packages": ("x",)}, "atoms_read", {"atom": "pot::echo"}, ("atom_invoked", "pot::echo", "refused")),
        ({"patterns": ("pot::few",)}, "atoms_describe", {"atom": "pot::echo"}, ("mcp_refused", "atoms_describe", None)),
        ({}, "atoms_run", {"atom": "pot::echo"}, ("mcp_refused", "atoms_run", None)),
        ({"profile": "full"}, "pot__note", {"path": "x"}, ("atom_invoked", "pot::note", "refused")),
        ({}, "pipe_run", {"pipe": {"steps": [{"atom": "pot::note"}]}}, ("mcp_refused", "pipe_run", None)),
    ],
)
def test_what_is_refused_is_told_and_has_its_row(world, grant, tool, arguments, row):
    before = world.rows()

    assert told(world.desk(**grant).call(tool, arguments))[0] == "refused"
    found = new_rows(world, before)
    assert len(found) == 1
    assert found[0][0] == row[0]
    assert row[1] in ("?", found[0][1])
    assert found[0][2] == row[2]
    assert not (world.folder / "x").exists()


@pytest.mark.parametrize(
    ("grant", "tool", "atom", "hint"),
    [
        ({}, "atoms_read", "pot::ecko", "did you mean `pot::echo`?"),
        ({}, "atoms_reed", "pot::echo", "did you mean `atoms_read`?"),
        ({}, "pot__echo", "", "there is no tool"),
        ({"profile": "full"}, "pot__ecko", "", "did you mean `pot::echo`?"),
        ({"profile": "full"}, "atoms_read", "pot::echo", "there is no tool"),
        ({"profile": "full"}, "\ud800\n" * 999, "", "there is no tool"),
    ],
)
def test_what_is_misspelt_is_no_prohibition_and_has_its_row(world, grant, tool, atom, hint):
    before = world.rows()

    kind, message = told(world.desk(**grant).call(tool, {"atom": atom}))

    assert kind == "usage"
    assert hint in message
    assert [row[0] for row in new_rows(world, before)] == ["mcp_refused"]


def test_an_atom_that_calls_any_other_is_granted_to_nobody(world):
    manifest = msgspec.structs.replace(world.runtime.shelf.atom("pot::note").manifest, atom="kei-runtime::invoke")

    assert "call the atom itself" in Grant(write=("*",)).refusal(manifest)
    assert "call the atom itself" in Grant(packages=("kei-runtime",), write=("kei-runtime::*",)).refusal(manifest)


def test_a_writing_atom_that_is_granted_writes(world):
    path = world.folder / "noted"

    reply = world.desk(write=("pot::*",)).call("atoms_run", {"atom": "pot::note", "input": {"path": str(path)}})

    assert not reply.is_error
    assert path.read_text() == "x"


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("atoms_search", {}),
        ("atoms_search", {"query": "x", "limit": 0}),
        ("atoms_search", {"query": "x", "more": 1}),
        ("atoms_search", []),
        ("atoms_read", {"atom": 7}),
        ("atoms_read", {"atom": "pot::echo", "input": []}),
        ("atoms_read", {"atom": "pot::echo", "input": {"n": math.nan}}),
        ("atoms_read", {"atom": "pot::echo", "input": {"text": "\ud800"}}),
        ("atoms_describe", {"atom": "x" * 999}),
        ("pipe_plan", {"pipe": "steps = ["}),
        ("pipe_plan", {"pipe": {"steps": [{"atom": "pot::nothing"}]}}),
        ("pipe_plan", {"pipe": {"steps": [{"atom": "pot::echo", "input": {"t": "\ud800"}}]}}),
        ("pipe_run", {"pipe": {"steps": []}}),
        ("pipe_run", {"pipe": 1}),
    ],
)
def test_arguments_that_do_not_fit_are_told_as_that_and_have_their_row(world, tool, arguments):
    before = world.rows()

    assert told(world.desk().call(tool, arguments))[0] == "schema-in"
    assert new_rows(world, before) in (
        [("mcp_refused", tool, None)],
        [("atom_invoked", "pot::echo", "schema-in")],
    )


def test_a_very_deep_input_is_told_as_one_that_does_not_fit(world):
    deep = {}
    for _ in range(5000):
        deep = {"a": deep}

    assert told(world.desk().call("atoms_read", {"atom": "pot::echo", "input": deep}))[0] == "schema-in"
    assert told(world.desk().call("pipe_plan", {"pipe": {"steps": [{"atom": "pot::echo", "input": deep}]}}))
    assert told(world.desk().call("atoms_search", {"query": deep}))[0] == "schema-in"


def test_atoms_are_found_and_described(world):
    desk = world.desk()

    found = desk.call("atoms_search", {"query": "kettle echo", "limit": 3}).structured
    described = desk.call("atoms_describe", {"atom": "pot::full"}).structured

    assert found["atoms"][0]["atom"] == "pot::echo"
    assert found["count"] == len(found["atoms"]) == 3
    assert described["manifest"]["errors"][0]["code"] == "Full"
    assert described["gotchas"] == ["It is hot."]
    assert str(world.folder) not in json.dumps(described)
    assert described["input_schema"]["properties"]["n"] == {"type": "integer"}
    assert "pot::note" not in {
        row["atom"] for row in desk.call("atoms_search", {"query": "pot", "limit": 50}).structured["atoms"]
    }
    assert "may change something" in desk.call("atoms_describe", {"atom": "pot::note"}).structured["refused"]


def test_items_are_told_as_they_come_and_bounded_in_the_reply(world, monkeypatch):
    monkeypatch.setattr(replies, "KEPT_ITEMS", 2)
    heard = []

    reply = world.desk().call("atoms_read", {"atom": "pot::few", "input": {"n": 4}}, on_item=heard.append)

    assert heard == [{"n": n} for n in range(4)]
    assert reply.structured == {"items": heard[:2], "count": 4, "truncated": True}


def test_a_pipe_is_planned_and_run(world):
    toml = """
[[steps]]
capture_as = "first"
atom = "pot::echo"
input = { n = "$input.n" }
[[steps]]
atom = "pot::number"
input = { n = "$first.n" }
"""
    desk, before = world.desk(), world.rows()

    plan = desk.call("pipe_plan", {"pipe": toml})
    reply = desk.call("pipe_run", {"pipe": toml, "input": {"n": 5}})

    assert plan.structured["order"] == ["first", "step-2"]
    assert (reply.structured["status"], reply.structured["final_result"]) == ("completed", 5)
    calls = [row[1] for row in new_rows(world, before) if row[0] == "atom_invoked"]
    assert calls == ["pot::echo", "pot::number"]


def test_a_pipe_that_fails_is_an_error_with_its_report(world):
    reply = world.desk().call("pipe_run", {"pipe": {"steps": [{"atom": "pot::full"}]}})

    assert reply.is_error
    assert reply.structured["status"] == "failed"
    assert reply.structured["steps"][0]["error"]["code"] == "Full"


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("atoms_read", {"atom": "pot::hold"}),
        ("pipe_run", {"pipe": {"steps": [{"atom": "pot::hold", "input": {"path": "$input.path"}}]}}),
    ],
)
def test_a_cancel_ends_one_call_and_no_other(world, tmp_path, tool, arguments):
    desk = world.desk()
    other = desk.expect()

    with ThreadPoolExecutor(2) as threads:
        given = {**arguments, "input": {"path": str(tmp_path / "one")}}
        one = threads.submit(desk.call, tool, given, invocation_id="one")
        beside = {"atom": "pot::hold", "input": {"path": str(tmp_path / "two")}}
        two = threads.submit(desk.call, "atoms_read", beside, invocation_id=other)
        pid = int(wait_for(tmp_path / "one"))
        wait_for(tmp_path / "two")
        desk.cancel("one")
        desk.cancel("nobody")

        assert one.result().is_error
        assert "canceled" in one.result().text
        assert not is_alive(pid)
        (tmp_path / "two.go").touch()
        assert not two.result().is_error


def test_a_cancel_that_comes_before_the_workers_know_the_call_ends_it(world):
    """It is said again until the call is over."""
    desk, asked = world.desk(), []

    class Late:
        """Workers who hear of a cancel only the third time."""

        def call(self, order):
            over.wait(20)
            return Crew.call(world.runtime.crew, order)

        def cancel(self, invocation_id=None):
            asked.append(invocation_id)
            if len(asked) >= 3:
                over.set()

    over = threading.Event()
    desk._workers = Late()
    with ThreadPoolExecutor(1) as threads:
        call = threads.submit(desk.call, "atoms_read", {"atom": "pot::echo"}, invocation_id="late")
        while not desk._flights._all or not next(iter(desk._flights._all.values()))._called:
            pass
        desk.cancel("late")
        call.result()

    assert asked[:3] == ["late"] * 3


def test_a_call_that_is_canceled_before_it_begins_has_its_row_and_no_other_is_touched(world):
    desk, before = world.desk(), world.rows()
    one, two, three = desk.expect(), desk.expect(), desk.expect()

    desk.cancel(one)
    desk.forget(three)

    assert told(desk.call("atoms_read", {"atom": "pot::echo"}, invocation_id=one))[0] == "killed"
    assert not desk.call("atoms_read", {"atom": "pot::echo"}, invocation_id=two).is_error
    assert [row[2] for row in new_rows(world, before)] == ["killed", None]
    desk.close()  # waits for nobody


def test_a_closed_desk_cancels_what_comes_later(world, tmp_path):
    desk = world.desk()

    with ThreadPoolExecutor(1) as threads:
        given = {"atom": "pot::hold", "input": {"path": str(tmp_path / "one")}}
        call = threads.submit(desk.call, "atoms_read", given)
        wait_for(tmp_path / "one")
        desk.close()
        desk.close()

        assert call.result().structured["error"]["kind"] == "killed"
    assert told(desk.call("atoms_read", {"atom": "pot::echo"}))[0] == "killed"


def test_flights_that_are_over_leave_no_bell():
    flights = Flights()
    flight = flights.begin("a", None)

    flights.cancel("a")
    bell = flights._bell
    flights.end("a")
    bell.join(10)

    assert flight.is_canceled
    assert flights._bell is None


def test_while_no_row_can_be_written_no_call_is_made(world, monkeypatch):
    path, desk = world.folder / "unrecorded", world.desk(write=("*",))
    note = {"atom": "pot::note", "input": {"path": str(path)}}

    with monkeypatch.context() as patch:
        patch.setattr(type(world.runtime.store), "append", failing(WorldFault("the disk is full")))
        done = desk.call("atoms_read", {"atom": "pot::echo", "input": {"n": 1}})
        assert done.structured["result"] == {"n": 1}
        assert "could not be written" in told(done)[1]
        assert told(desk.call("atoms_run", note)) == (
            "io",
            "no call is made while its row cannot be written: the disk is full",
        )
        assert not path.exists()
    before = world.rows()

    assert not desk.call("atoms_run", note).is_error
    assert new_rows(world, before) == [("mcp_refused", "rows", None), ("atom_invoked", "pot::note", None)]


@pytest.mark.parametrize("error", [WorldFault("the disk is full"), OSError(28, "No space left")])
def test_a_refusal_whose_row_cannot_be_written_says_so(world, monkeypatch, error):
    monkeypatch.setattr(type(world.runtime.store), "append", failing(error))

    kind, message = told(world.desk().call("atoms_read", {"atom": "pot::note"}))
    assert kind == "refused"
    assert "may change something" in message
    assert "its row could not be written" in message
    assert "its row could not be written" in told(world.desk().call("nothing", {}))[1]


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (AuthorError([Problem(code="unreadable", path="x.md", message="is broken")]), "is broken"),
        (ZeroDivisionError("secret"), "this is a bug in keisei: ZeroDivisionError in test_desk.py"),
    ],
)
def test_what_breaks_a_call_is_one_sentence_and_a_row(world, monkeypatch, error, said):
    before = world.rows()
    monkeypatch.setattr(type(world.runtime.shelf), "atom", failing(error))

    kind, message = told(world.desk().call("atoms_read", {"atom": "pot::echo"}))

    assert kind == "io"
    assert said in message
    assert "secret" not in message
    assert new_rows(world, before) == [("mcp_refused", "atoms_read", None)]


def test_refusals_are_some_rows_a_minute_and_then_counted(world, monkeypatch):
    now = [0.0]
    tools = world.runtime.tools._replace(monotonic=lambda: now[0])
    desk, before = Desk(world.runtime, Grant(), tools=tools), world.rows()

    monkeypatch.setattr(refusal, "MOST", 2)
    for call in [("nothing", {}), ("atoms_read", {"atom": "pot::note"}), ("atoms_read", []), ("pipe_run", {})] * 2:
        assert desk.call(*call).is_error
    assert len(new_rows(world, before)) == 2
    now[0] = 61.0
    desk.call("atoms_read", {"atom": "pot::note"})
    desk.call("nothing", {})

    counted = [row.body.get("only_counted_before") for row in world.runtime.store.entries(limit=1000)][-2:]
    assert counted == [6, 0]


def test_an_attempt_makes_so_many_calls_and_one_row_says_that_it_has(world, monkeypatch):
    monkeypatch.setattr(book, "CALLS", 3)
    desk, before = Desk(world.runtime, Grant(), attempt_id="01ATTEMPT"), world.rows()

    desk.call("atoms_search", {"query": "x"})
    desk.call("pipe_run", {"pipe": {"steps": [{"atom": "pot::echo"}, {"atom": "pot::echo"}]}})
    ends = [told(desk.call("atoms_read", {"atom": "pot::echo"})) for _ in range(3)]

    assert {kind for kind, _ in ends} == {"refused"}
    assert all("at most 3 calls" in message for _, message in ends)
    assert [row[:2] for row in new_rows(world, before) if row[0] == "mcp_refused"] == [("mcp_refused", "calls")]


def test_a_pipe_and_its_input_are_bounded(world, monkeypatch):
    monkeypatch.setattr(piping, "LONGEST", 200)
    pipe = {"steps": [{"atom": "pot::echo"}]}

    assert not world.desk().call("pipe_run", {"pipe": pipe, "input": {"text": "x"}}).is_error
    for tool in ("pipe_plan", "pipe_run"):
        assert "more than 200 bytes" in told(world.desk().call(tool, {"pipe": pipe, "input": {"text": "x" * 200}}))[1]


def test_no_secret_stands_in_a_row_of_what_is_refused(world):
    tools = world.runtime.tools._replace(secrets=("correct-horse-battery",))
    desk = Desk(world.runtime, Grant(), tools=tools)

    desk.call("say correct-horse-battery", {})
    desk.call("x" * 120 + "correct-horse-battery", {})
    desk.call("atoms_read", {"atom": "correct-horse-battery::echo"})

    bodies = [(row.subject, row.body) for row in world.runtime.store.entries(limit=1000)][-3:]
    assert "horse" not in str(bodies)
    assert "correct" not in str(bodies)


def test_many_threads_call_at_once(world):
    desk = world.desk()
    before = world.rows()

    with ThreadPoolExecutor(16) as threads:
        numbers = list(
            threads.map(lambda n: desk.call("atoms_read", {"atom": "pot::number", "input": {"n": n}}), range(60))
        )

    assert [reply.structured["result"] for reply in numbers] == list(range(60))
    assert len(new_rows(world, before)) == 60
