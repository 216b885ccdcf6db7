"""Pipe: what runs when, what is written first, and that whoever resumes does exactly what is left."""

import itertools
import json
import threading
import time

import pytest
from msgspec.structs import replace

from keisei.engine import pipe_journal
from keisei.engine.pipe import Pipe
from keisei.engine.pipe_order import PipeOrder, taken_run
from keisei.engine.pipe_report import report
from keisei.engine.pipe_secret import holds_secret
from keisei.records.error import IllegalMove, OperatorError, WorldFault
from keisei.records.pipe_run import PipeMove
from tests.engine.pipe_shop import ATOMS, Killed, fails, open_shop
from tests.rules.pipe_world import planned

TWO = """
[[steps]]
capture_as = "a"
atom = "kei-x::ask"
input = { n = 1 }
[[steps]]
capture_as = "b"
atom = "kei-x::add"
input = { from = "$a.n", text = "n=${a.n}" }
"""


def fan(atom, more="", head=""):
    """A fan-out over what is given."""
    return f"""
{head}
[[steps]]
capture_as = "f"
atom = "{atom}"
for_each = "$input"
input = {{ n = "$item" }}
{more}
"""


@pytest.fixture
def shop(tmp_path):
    with open_shop(tmp_path) as found:
        yield found


# --- forward ----------------------------------------------------------------------------------------------------------


def test_a_call_that_nothing_can_run_beside_is_not_handed_over(shop):
    shop.crew.does["ask"] = shop.crew.does["add"] = lambda *_: {"n": threading.get_ident()}

    _, run = shop.run(TWO)

    assert shop.outputs(run, "a") == shop.outputs(run, "b") == [{"n": threading.get_ident()}]


def test_a_large_fan_out_does_not_hold_up_another_step(shop):
    text = fan("kei-x::pure", head="[pipe]\nmax_parallel = 2") + '[[steps]]\natom = "kei-x::ask"\ninput = {}\n'

    end, _ = shop.run(text, list(range(40)))

    assert (end.status, len(shop.crew.calls)) == ("completed", 41)
    assert shop.crew.verbs().index("ask") < 5


def test_values_flow_and_every_call_has_its_row(shop):
    end, run = shop.run(TWO)

    assert (end.status, end.exit_code, end.error) == ("completed", 0, None)
    assert shop.outputs(run, "b") == [{"from": 1, "text": "n=1"}]
    assert shop.ledger() == ["pipe_begun", "atom_invoked", "atom_invoked", "pipe_finished"]
    assert shop.store.pipe_run(run.run_id).status == "completed"
    (row,) = shop.rows(run, "b")
    assert row.invocation_id == shop.crew.ids("add")[0]
    assert (row.step_sha, row.input_sha is not None) == (planned(TWO, ATOMS).steps[1].step_sha, True)


def test_what_a_step_needs_is_written_before_it_is_called(shop):
    seen = []
    shop.crew.does["add"] = lambda given, _: seen.append(shop.store.member_counts(run.run_id)) or given
    pipe, run = shop.begin(TWO)

    pipe.run()

    assert seen == [{("a", "done"): 1, ("b", "running"): 1}]


def test_independent_steps_run_side_by_side_and_no_more_than_allowed(shop):
    met = threading.Barrier(3, timeout=10)
    shop.crew.does["pure"] = lambda given, _: met.wait() >= 0 and given
    text = "[pipe]\nmax_parallel = 3\n" + "".join(
        f'[[steps]]\natom = "kei-x::pure"\ninput = {{ n = {number} }}\n' for number in range(6)
    )

    end, _ = shop.run(text)

    assert end.status == "completed"
    assert shop.crew.most == 3


def test_members_that_conflict_run_one_at_a_time_in_order(shop):
    end, _ = shop.run(fan("kei-x::add"), [3, 1, 2])

    assert end.status == "completed"
    assert shop.crew.most == 1
    assert shop.crew.inputs("add") == [{"n": 3}, {"n": 1}, {"n": 2}]


def test_a_fan_out_gives_its_outputs_in_the_order_of_the_items(shop):
    first = threading.Event()

    def ask(given, _):
        if given["n"] == 0:
            assert first.wait(10)
        first.set()
        return given

    shop.crew.does["ask"] = ask
    after = '[[steps]]\natom = "kei-x::pure"\ncapture_as = "g"\ninput = { all = "$f" }\n'

    end, run = shop.run(fan("kei-x::ask") + after, list(range(4)))

    assert end.status == "completed"
    assert shop.outputs(run, "g") == [{"all": [{"n": number} for number in range(4)]}]


def test_an_empty_list_is_an_empty_list(shop):
    after = '[[steps]]\natom = "kei-x::pure"\ncapture_as = "g"\ninput = { all = "$f" }\n'

    end, run = shop.run(fan("kei-x::add") + after, [])

    assert end.status == "completed"
    assert shop.outputs(run, "g") == [{"all": []}]


def test_members_whose_condition_does_not_hold_are_left_out(shop):
    after = '[[steps]]\natom = "kei-x::pure"\ncapture_as = "g"\ninput = { all = "$f" }\n'

    end, run = shop.run(fan("kei-x::ask", more='if = "$item > 1"') + after, [0, 1, 2, 3])

    assert end.status == "completed"
    assert shop.states(run, "f") == ["skipped", "skipped", "done", "done"]
    assert shop.outputs(run, "g") == [{"all": [{"n": 2}, {"n": 3}]}]


def test_a_step_whose_condition_does_not_hold_is_skipped_with_what_needs_it(shop):
    text = TWO.replace('atom = "kei-x::ask"', 'atom = "kei-x::ask"\nif = "$input.go"')

    end, run = shop.run(text, {"go": False})

    assert (end.status, end.exit_code) == ("completed", 0)
    assert shop.crew.calls == []
    assert [end.steps[name].state for name in "ab"] == ["skipped", "skipped"]
    assert "which was skipped" in end.steps["b"].note
    assert shop.states(run, "b") == ["skipped"]


def test_a_reference_that_leads_nowhere_fails_the_step_and_calls_nothing(shop):
    end, run = shop.run(TWO.replace("$a.n", "$a.other"))

    assert (end.status, end.exit_code) == ("failed", 2)
    assert shop.crew.verbs() == ["ask"]
    assert "there is no" in end.error
    assert shop.rows(run, "b")[0].error.kind == "schema-in"


def test_for_each_over_something_that_is_no_list_fails_the_step(shop):
    end, _ = shop.run(fan("kei-x::ask"), {"no": "list"})

    assert end.exit_code == 2
    assert "is no list" in end.error


# --- failure ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (fails(code="Busy"), 2),
        (fails("timeout", exit_code=5), 5),
        (fails("io", exit_code=127), 127),
        (fails("io", exit_code=1), 1),
        (fails("killed", exit_code=1), 1),
    ],
    ids=["atom", "timeout", "missing", "io", "killed"],
)
def test_a_failure_ends_the_run_with_its_own_exit_code(shop, answer, code):
    shop.crew.does["add"] = lambda *_: answer

    end, run = shop.run(TWO)

    assert (end.status, end.exit_code) == ("failed", code)
    assert end.error.startswith("`b` failed: ")
    assert shop.crew.verbs() == ["ask", "add"]
    assert shop.store.pipe_run(run.run_id).error == end.error


def test_an_output_that_violates_its_schema_fails_the_step(shop):
    shop.crew.does["ask"] = lambda *_: "no object"

    end, run = shop.run(TWO)

    assert (end.status, end.exit_code) == ("failed", 2)
    assert shop.rows(run, "a")[0].error.kind == "schema-out"


def test_where_the_pipe_stops_nothing_new_begins(shop):
    shop.crew.does["ask"] = lambda given, _: fails("io", exit_code=1) if given["n"] == 2 else given
    more = 'retry = { max = 0 }\n[[steps]]\natom = "kei-x::put"\nneeds = ["f"]\n'

    end, run = shop.run(fan("kei-x::ask", more=more, head="[pipe]\nmax_parallel = 1"), list(range(50)))

    assert end.status == "failed"
    assert len(shop.crew.calls) <= 4
    assert "put" not in shop.crew.verbs()
    assert shop.states(run, "step-2") == ["skipped"]


def test_where_the_pipe_continues_everything_else_is_done(shop):
    shop.crew.does["ask"] = lambda given, _: fails("io", exit_code=1) if given["n"] == 2 else given
    more = 'retry = { max = 0 }\n[[steps]]\natom = "kei-x::put"\nneeds = ["f"]\n[[steps]]\natom = "kei-x::send"\n'

    end, run = shop.run(fan("kei-x::ask", more=more, head='[pipe]\non_failure = "continue"'), list(range(6)))

    assert (end.status, end.exit_code) == ("failed", 1)
    assert shop.states(run, "f") == ["done", "done", "failed", "done", "done", "done"]
    assert [end.steps[name].state for name in ("f", "step-2", "step-3")] == ["failed", "skipped", "done"]


# --- retry and cache --------------------------------------------------------------------------------------------------


def flaky(times, answer):
    left = itertools.count()
    return lambda given, _: answer if next(left) < times else given


def test_a_query_is_tried_again_under_its_id_and_every_try_has_its_row(shop):
    shop.crew.does["ask"] = flaky(2, fails(code="Busy"))

    end, run = shop.run(TWO.replace("input = { n = 1 }", "input = { n = 1 }\nretry = { max = 2, backoff_ms = 1 }"))

    assert end.status == "completed"
    assert len(set(shop.crew.ids("ask"))) == 1
    assert len(shop.crew.ids("ask")) == 3
    assert shop.rows(run, "a")[0].tries == 3
    assert shop.ledger().count("atom_invoked") == 4
    assert [event["again_in_ms"] for event in shop.told if event["event"] == "try"] == [1, 2]


def test_tries_come_to_an_end(shop):
    shop.crew.does["ask"] = lambda *_: fails(code="Busy")

    end, run = shop.run(TWO.replace("input = { n = 1 }", "input = { n = 1 }\nretry = { max = 2, backoff_ms = 1 }"))

    assert end.exit_code == 2
    assert len(shop.crew.calls) == 3
    assert shop.rows(run, "a")[0].tries == 3


@pytest.mark.parametrize(
    ("verb", "answer"),
    [
        ("ask", fails(code="Gone")),
        ("ask", "no object"),
        ("ask", fails("io", exit_code=127)),
        ("add", fails(code="Busy")),
        ("add", fails("timeout", exit_code=5)),
        ("key", fails("timeout", exit_code=5)),
    ],
    ids=["4xx", "schema", "missing", "command", "command timeout", "keyed"],
)
def test_what_must_not_be_tried_again_is_called_once(shop, verb, answer):
    shop.crew.does[verb] = lambda *_: answer

    end, _ = shop.run(f'[[steps]]\natom = "kei-x::{verb}"\n')

    assert end.status == "failed"
    assert shop.crew.verbs() == [verb]


def test_a_result_of_a_transform_is_taken_from_the_cache_and_no_row_says_it_was_called(shop):
    text = '[[steps]]\natom = "kei-x::pure"\ncapture_as = "p"\ninput = { n = 1 }\n'
    _, first = shop.run(text)
    shop.store.entries()

    end, second = shop.run(text)

    assert end.status == "completed"
    assert shop.crew.verbs() == ["pure"]
    assert [(row.source, row.note, row.output) for row in (*shop.rows(first, "p"), *shop.rows(second, "p"))] == [
        ("ran", "never called", {"n": 1}),
        ("cache", "kept", {"n": 1}),
    ]
    assert shop.ledger().count("atom_invoked") == 1


def test_what_the_cache_holds_is_checked_and_failures_are_never_kept(shop):
    text = '[[steps]]\natom = "kei-x::pure"\ninput = { n = 1 }\nretry = { max = 0 }\n'
    shop.crew.does["pure"] = lambda *_: fails("io", exit_code=1)
    shop.run(text)
    assert shop.cache.kept == {}
    shop.crew.does["pure"] = lambda given, _: given
    shop.cache.kept[shop.cache.asked[0]] = "no object"

    end, run = shop.run(text)

    assert end.status == "completed"
    assert shop.rows(run, "step-1")[0].source == "ran"


def test_commands_and_queries_never_ask_the_cache(shop):
    shop.run(TWO)

    assert shop.cache.asked == []


# --- resume -----------------------------------------------------------------------------------------------------------


def kill_at(shop, text, given, moves):
    """Run until the so-manieth move of the store, and die there; the run as it was left."""
    pipe, run = shop.begin(text, given)
    shop.runs.trouble[moves] = Killed()
    with pytest.raises(Killed):
        pipe.run()
    shop.runs.moves = 0
    shop.runs.trouble.clear()
    return run


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("number", [1, 2, 3, 4, 7])
def test_whoever_resumes_does_exactly_what_is_not_written(shop, moment, number):
    text = fan("kei-x::put", more='[[steps]]\natom = "kei-x::pure"\ncapture_as = "g"\ninput = { all = "$f" }\n')
    run = kill_at(shop, text, list(range(8)), (moment, number))
    done = [row.index for row in shop.rows(run, "f") if row.state == "done"]

    end = shop.resume(run, text)

    assert end.status == "completed"
    assert [given["n"] for given in shop.crew.inputs("put")] == [n for n in range(8) if n not in done]
    assert shop.outputs(run, "g") == [{"all": [{"n": number} for number in range(8)]}]
    assert "pipe_resumed" in shop.ledger()


def test_a_finished_run_has_nothing_to_resume(shop):
    _, run = shop.run(TWO)

    end = shop.resume(run, TWO)

    assert end.status == "completed"
    assert shop.crew.calls == []


def test_an_interrupted_command_is_left_to_a_person_and_everything_else_is_done(shop):
    text = fan("kei-x::add", more='[[steps]]\natom = "kei-x::put"\ncapture_as = "p"\n') + (
        '[[steps]]\natom = "kei-x::put"\ncapture_as = "q"\nneeds = ["f"]\n'
    )
    run = kill_at(shop, text, [0, 1, 2], ("after", 2))  # the first is done, the second was called
    assert shop.states(run, "f") == ["done", "running"]

    end = shop.resume(run, text)

    assert (end.status, end.exit_code) == ("blocked", 3)
    assert "`f` [1]" in end.error
    assert shop.crew.inputs("add") == [{"n": 2}]
    assert shop.states(run, "f") == ["done", "unknown", "done"]
    assert (end.steps["p"].state, end.steps["q"].state) == ("done", "skipped")
    assert end.steps["q"].note == "needs `f`, which may or may not be done"

    again = shop.resume(run, text)

    assert again.status == "blocked"
    assert shop.crew.calls == []

    forced = shop.resume(run, text, force=True)

    assert forced.status == "completed"
    assert shop.crew.inputs("add") == [{"n": 1}]


def test_a_keyed_command_is_called_again_under_the_same_id(shop):
    text = fan("kei-x::key")
    run = kill_at(shop, text, [0, 1, 2], ("after", 2))
    (interrupted,) = [row.invocation_id for row in shop.rows(run, "f") if row.state == "running"]

    end = shop.resume(run, text)

    assert end.status == "completed"
    assert shop.crew.ids("key")[0] == interrupted
    assert shop.crew.inputs("key") == [{"n": 1}, {"n": 2}]


def test_what_is_asked_for_again_is_called_under_a_new_id(shop):
    text = fan("kei-x::key")
    run = kill_at(shop, text, [0, 1], ("after", 2))
    assert shop.states(run, "f") == ["done", "running"]
    before = {row.invocation_id for row in shop.rows(run, "f")}

    end = shop.resume(run, text, again=frozenset({"f"}))

    assert (end.status, len(shop.crew.ids("key"))) == ("completed", 2)
    assert not before & set(shop.crew.ids("key"))


def test_a_wrong_input_makes_nobody_forget_what_was_done(shop):
    text = fan("kei-x::add").replace("$input", "$input.list")
    _, run = shop.run(text, {"list": [1, 2, 3]})
    assert shop.resume(run, text, {"lost": []}).status == "failed"

    end = shop.resume(run, text, {"list": [1, 2, 3]})

    assert (end.status, shop.crew.calls) == ("completed", [])


@pytest.mark.parametrize(("atom", "status"), [("add", "blocked"), ("key", "completed")])
@pytest.mark.parametrize("killed", [False, True])
def test_a_wrong_input_makes_nobody_forget_what_may_have_been_done(shop, atom, status, killed):
    text = f'[[steps]]\ncapture_as = "b"\natom = "kei-x::{atom}"\ninput = {{ n = "$input.n" }}\n'
    if killed:
        run = kill_at(shop, text, {"n": 1}, ("before", 2))
    else:
        shop.crew.does[atom] = lambda *_: fails("timeout", exit_code=5)
        _, run = shop.run(text, {"n": 1})
        shop.crew.does.clear()
    (row,) = shop.rows(run, "b")
    wrong = shop.resume(run, text, {"m": 1})
    assert (wrong.status, shop.crew.calls) == ("failed", [])
    assert shop.rows(run, "b")[0].state in ("unknown", "failed")

    end = shop.resume(run, text, {"n": 1})

    assert end.status == status
    assert shop.crew.ids(atom) == ([row.invocation_id] if atom == "key" else [])


LEFT_OUT = fan("kei-x::add", more='if = "$item < $input.most"').replace(
    'for_each = "$input"', 'for_each = "$input.list"'
)


@pytest.mark.parametrize("less", [{"list": [1], "most": 9}, {"list": [1, 2, 3], "most": 2}], ids=["shorter", "if"])
def test_items_that_were_left_out_and_come_back_are_not_done_twice(shop, less):
    _, run = shop.run(LEFT_OUT, {"list": [1, 2, 3], "most": 9})
    assert shop.resume(run, LEFT_OUT, less).status == "completed"
    assert (shop.crew.calls, shop.states(run, "f")) == ([], ["done", "skipped", "skipped"])

    end = shop.resume(run, LEFT_OUT, {"list": [1, 2, 3], "most": 9})

    assert (end.status, shop.crew.calls) == ("completed", [])
    assert shop.outputs(run, "f") == [{"n": 1}, {"n": 2}, {"n": 3}]
    shop.resume(run, LEFT_OUT, less)
    again = shop.resume(run, LEFT_OUT, {"list": [1, 2, 4], "most": 9})
    assert (again.status, shop.crew.inputs("add")) == ("completed", [{"n": 4}])


def test_an_item_that_may_have_been_done_and_was_left_out_is_still_left_to_a_person(shop):
    shop.crew.does["add"] = lambda *_: fails("timeout", exit_code=5)
    _, run = shop.run(LEFT_OUT, {"list": [1], "most": 9})
    shop.crew.does.clear()
    for less in ({"list": [1], "most": 0}, {"list": [], "most": 9}):
        shop.resume(run, LEFT_OUT, less)
        assert shop.states(run, "f") == ["unknown"]

    end = shop.resume(run, LEFT_OUT, {"list": [1], "most": 9})

    assert (end.status, shop.crew.calls) == ("blocked", [])


@pytest.mark.parametrize("answer", [fails("timeout", exit_code=5), fails("killed", exit_code=1), "no object"])
def test_a_command_that_may_have_been_done_is_unknown(shop, answer):
    shop.crew.does["add"] = lambda *_: answer
    _, run = shop.run(TWO)
    assert shop.states(run, "b") == ["unknown"]

    end = shop.resume(run, TWO)

    assert (end.status, shop.crew.calls) == ("blocked", [])


def test_a_command_that_said_it_failed_is_called_again(shop):
    shop.crew.does["add"] = lambda *_: fails(code="Busy")
    _, run = shop.run(TWO)
    assert shop.states(run, "b") == ["failed"]
    shop.crew.does.clear()

    end = shop.resume(run, TWO)

    assert end.status == "completed"
    assert shop.crew.verbs() == ["add"]


def test_what_changed_in_the_file_is_done_again_and_what_depends_on_it_too(shop):
    _, run = shop.run(TWO)

    same = shop.resume(run, TWO.replace("n=${a.n}", "m=${a.n}"))
    assert same.status == "completed"
    assert shop.crew.verbs() == ["add"]

    shop.resume(run, TWO.replace("{ n = 1 }", "{ n = 2 }"))

    assert shop.crew.verbs() == ["ask", "add"]
    assert shop.outputs(run, "b") == [{"from": 2, "text": "n=2"}]


def test_items_that_are_not_there_any_more_do_not_count(shop):
    text = fan("kei-x::put", more='[[steps]]\natom = "kei-x::pure"\ncapture_as = "g"\ninput = { all = "$f" }\n')
    _, run = shop.run(text, [0, 1, 2, 3])

    end = shop.resume(run, text, [0, 9])

    assert end.status == "completed"
    assert shop.crew.inputs("put") == [{"n": 9}]
    assert shop.outputs(run, "g") == [{"all": [{"n": 0}, {"n": 9}]}]


def test_a_step_can_be_asked_for_again_with_what_follows(shop):
    _, run = shop.run(TWO)

    end = shop.resume(run, TWO, again=frozenset({"b"}))

    assert end.status == "completed"
    assert shop.crew.verbs() == ["add"]
    with pytest.raises(OperatorError, match="there is no step `nope`"):
        shop.resume(run, TWO, again=frozenset({"nope"}))


def test_one_step_can_be_asked_for_alone(shop):
    shop.crew.does["add"] = lambda *_: fails(code="Busy")
    three = TWO + '[[steps]]\natom = "kei-x::put"\ncapture_as = "c"\nneeds = ["b"]\n'
    _, run = shop.run(three)
    shop.crew.does.clear()

    needy = shop.resume(run, three, only="c")
    assert (needy.status, needy.exit_code, shop.crew.calls) == ("failed", 1, [])
    assert "`c` was not run" in needy.error
    end = shop.resume(run, three, only="b")
    assert (end.status, end.exit_code) == ("canceled", 0)
    assert shop.crew.verbs() == ["add"]

    last = shop.resume(run, three, only="c")

    assert (last.status, shop.crew.verbs()) == ("completed", ["put"])


@pytest.mark.parametrize(("given", "ends"), [([0, 1, 2, 3], ("failed", 1)), ([], ("completed", 0))], ids=["half", "no"])
def test_a_step_that_is_asked_for_alone_is_given_whole_lists_only(shop, given, ends):
    after = '[[steps]]\natom = "kei-x::send"\ncapture_as = "g"\ninput = { all = "$f" }\n'
    text = fan("kei-x::put", more=after, head="[pipe]\nmax_parallel = 1")
    run = kill_at(shop, text, given, ("before", 3)) if given else shop.run(text, given)[1]
    assert [row.state for row in shop.rows(run, "f")] == ["done"] * (len(given) // 2)

    end = shop.resume(run, text, only="g", again=frozenset({"g"}))

    assert (end.status, end.exit_code) == ends
    assert shop.crew.inputs("send") == ([] if given else [{"all": []}])


def test_a_step_that_is_asked_for_alone_is_not_given_what_was_not_kept(shop):
    text = LOGIN.replace("$input.token", "$who.token") + (
        '[[steps]]\natom = "kei-x::put"\ncapture_as = "p"\ninput = { of = "$who" }\nneeds = ["in"]\n'
    )
    shop.crew.does.update(ask=lambda *_: {"token": "hunter2-hunter2", "id": 1}, login=lambda *_: {"session": 1})
    _, run = shop.run(text)

    end = shop.resume(run, text, only="p", again=frozenset({"p"}))

    assert (end.status, end.exit_code, shop.crew.calls) == ("failed", 1, [])


def test_what_an_earlier_session_failed_at_and_this_one_skips_is_told_as_skipped(shop):
    text = TWO.replace('atom = "kei-x::add"', 'atom = "kei-x::add"\nif = "$input.go"')
    shop.crew.does["add"] = lambda *_: fails(code="Busy")
    _, run = shop.run(text, {"go": True})

    end = shop.resume(run, text, {"go": False})

    told = json.loads("".join(report(shop.store, shop.store.pipe_run(run.run_id), end)))["steps"][1]
    assert (told["ok"], told["state"], told["error"]) == (True, "skipped", None)
    assert told["note"] == "its condition does not hold"


# --- undo -------------------------------------------------------------------------------------------------------------

SAGA = """
[[steps]]
capture_as = "one"
atom = "kei-x::add"
input = { id = 1 }
undo = "kei-x::drop"
[[steps]]
capture_as = "many"
atom = "kei-x::add"
for_each = "$input"
input = { id = "$item" }
undo = "kei-x::drop"
needs = ["one"]
[[steps]]
capture_as = "last"
atom = "kei-x::send"
needs = ["many"]
"""


def test_a_failed_run_is_taken_back_in_reverse_order(shop):
    shop.crew.does["send"] = lambda *_: fails(code="Busy")
    shop.crew.does["add"] = lambda given, _: {"other": 1} if given["id"] == 8 else {"id": given["id"] * 10}

    end, run = shop.run(SAGA, [7, 8, 9])

    assert (end.status, end.exit_code) == ("failed", 2)
    assert shop.crew.inputs("drop") == [{"id": 90}, {"id": 8}, {"id": 70}, {"id": 10}]
    assert shop.states(run, "many") == ["undone"] * 3
    assert shop.ledger().count("atom_invoked") == 9

    shop.crew.does.clear()
    before = {row.invocation_id for row in shop.rows(run, "many")}
    again = shop.resume(run, SAGA)

    assert again.status == "completed"
    assert not before & set(shop.crew.ids("add"))
    assert len(shop.crew.ids("add")) == 4


def test_nothing_else_is_taken_back_where_the_output_was_not_kept(shop):
    text = """
[[steps]]
capture_as = "a"
atom = "kei-x::add"
input = { id = "template" }
undo = "kei-x::drop"
[[steps]]
capture_as = "l"
atom = "kei-x::login"
input = { token = "$a.token" }
"""
    shop.crew.does["add"] = lambda *_: {"id": "new", "token": "hunter2-hunter2"}
    shop.crew.does["login"] = lambda *_: fails("usage")

    end, run = shop.run(text)

    assert shop.crew.verbs() == ["add", "login"]
    assert shop.states(run, "a") == ["undo_failed"]
    assert end.error.endswith("; not taken back: `a`")


def test_nothing_is_taken_back_where_the_pipe_continues(shop):
    shop.crew.does["send"] = lambda *_: fails(code="Busy")

    end, _ = shop.run('[pipe]\non_failure = "continue"\n' + SAGA, [7])

    assert end.status == "failed"
    assert "drop" not in shop.crew.verbs()


def test_an_undo_that_fails_is_told_and_the_others_go_on(shop, monkeypatch):
    waits = []
    monkeypatch.setattr(Pipe, "_wait", lambda _, seconds: waits.append(seconds))
    shop.crew.does["send"] = lambda *_: fails(code="Busy")
    shop.crew.does["drop"] = lambda given, _: fails(code="Stuck") if given["id"] == 8 else given

    _, run = shop.run(SAGA.replace("drop", "drop-once"), [7, 8])
    end, run = shop.run(SAGA, [7, 8])

    assert shop.states(run, "many") == ["undone", "undo_failed"]
    assert end.error.endswith("; not taken back: `many` [1]")
    assert waits == [0.2, 0.4]
    assert "undo" in shop.rows(run, "many")[1].note
    again = shop.resume(run, SAGA)
    assert again.status == "blocked"


def test_an_undo_that_was_interrupted_goes_on_and_none_is_done_twice(shop):
    shop.crew.does["send"] = lambda *_: fails(code="Busy")
    text = SAGA.replace("kei-x::drop", "kei-x::drop-once")
    pipe, run = shop.begin(text, [7, 8, 9])

    def drop(given, _):
        if given["id"] == 8:
            shop.runs.trouble["before", shop.runs.moves + 1] = Killed()
        return given

    shop.crew.does["drop-once"] = drop
    with pytest.raises(Killed):
        pipe.run()
    assert shop.store.pipe_run(run.run_id).status == "undoing"
    assert shop.states(run, "many") == ["done", "undo_failed", "undone"]
    shop.crew.does["drop-once"] = lambda given, _: given

    end = shop.resume(run, text)

    assert (end.status, end.exit_code) == ("failed", 2)
    assert shop.crew.inputs("drop-once") == [{"id": 7}, {"id": 1}]
    assert shop.states(run, "many") == ["undone", "undo_failed", "undone"]


# --- streams ----------------------------------------------------------------------------------------------------------

LIVE = """
[pipe]
max_parallel = 2
[[steps]]
capture_as = "s"
atom = "kei-x::tail"
[[steps]]
capture_as = "c"
atom = "kei-x::put"
for_each = "$s"
input = { n = "$item.n" }
[[steps]]
capture_as = "all"
atom = "kei-x::pure"
input = { all = "$c" }
"""


def numbers(count, last=None):
    def items(*_):
        for number in range(count):
            yield {"n": number}
        if last is not None:
            yield last

    return items


def test_items_of_a_stream_are_taken_as_they_come(shop):
    came, taken = [], threading.Event()

    def items(*_):
        for number in range(4):
            came.append(number)
            yield {"n": number}
            if number == 0:
                assert taken.wait(10)  # the first is dealt with while the stream still runs

    shop.crew.does["tail"] = items
    shop.crew.does["put"] = lambda given, _: taken.set() or given

    end, run = shop.run(LIVE)

    assert end.status == "completed"
    assert shop.outputs(run, "all") == [{"all": [{"n": number} for number in range(4)]}]
    assert shop.rows(run, "s")[0].output == 4


def test_a_stream_is_held_up_where_nobody_takes_its_items(shop):
    came, go = [], threading.Event()

    def items(*_):
        for number in range(100):
            came.append(number)
            yield {"n": number}

    def put(given, _):
        assert go.wait(10)
        return given

    shop.crew.does.update(tail=items, put=put)
    pipe, run = shop.begin(LIVE)
    thread = threading.Thread(target=pipe.run)
    thread.start()
    while not shop.crew.running:
        go.wait(0.001)
    for _ in range(50):
        go.wait(0.001)
    seen = len(came)
    go.set()
    thread.join(10)

    assert seen <= 2 + 3
    assert len(shop.outputs(run, "c")) == 100


def test_a_stream_that_fails_fails_the_run_and_its_consumer_is_not_whole(shop):
    shop.crew.does["tail"] = numbers(3, fails("timeout", exit_code=5))

    end, run = shop.run(LIVE)

    assert (end.status, end.exit_code) == ("failed", 5)
    assert [end.steps[name].state for name in ("s", "c", "all")] == ["failed", "unfinished", "skipped"]
    shop.crew.does["tail"] = numbers(5)

    again = shop.resume(run, LIVE)

    assert again.status == "completed"
    assert len(shop.outputs(run, "c")) == 5
    assert [given["n"] for given in shop.crew.inputs("put")][-2:] == [3, 4]


def test_a_consumer_that_fails_ends_the_stream(shop):
    ended = threading.Event()

    def items(*_):
        try:
            for number in itertools.count():
                yield {"n": number}
        finally:
            ended.set()

    shop.crew.does["tail"] = items
    shop.crew.does["put"] = lambda given, _: fails("usage") if given["n"] == 2 else given

    end, _ = shop.run(LIVE)

    assert end.status == "failed"
    assert end.error.startswith("`c` failed")
    assert ended.wait(10)


def test_a_stream_and_its_items_that_are_done_are_not_done_again(shop):
    shop.crew.does["tail"] = numbers(3)
    _, run = shop.run(LIVE)

    end = shop.resume(run, LIVE)

    assert (end.status, shop.crew.calls) == ("completed", [])


def test_a_stream_runs_again_where_an_item_is_missing_and_only_that_one_is_dealt_with(shop):
    shop.crew.does["tail"] = numbers(3)
    run = kill_at(shop, LIVE, None, ("before", 2))
    missing = 3 - len([row for row in shop.rows(run, "c") if row.state == "done"])

    end = shop.resume(run, LIVE)

    assert end.status == "completed"
    assert shop.crew.verbs().count("put") == missing


def test_an_item_that_failed_is_not_made_up_for_by_items_that_are_gone(shop):
    shop.crew.does["tail"] = numbers(4)
    _, run = shop.run(LIVE)

    def put(given, _):
        while given["n"] == 1 and shop.rows(run, "s")[0].output != 2:  # it fails when the stream is over
            time.sleep(0.001)
        return fails("usage") if given["n"] == 1 else given

    shop.crew.does.update(tail=numbers(2), put=put)
    shop.resume(run, LIVE, again=frozenset({"s", "c"}))
    assert shop.states(run, "c") == ["done", "failed", "skipped", "skipped"]
    shop.crew.does["put"] = lambda given, _: given

    end = shop.resume(run, LIVE)

    assert (end.status, shop.crew.inputs("put")) == ("completed", [{"n": 1}])
    assert shop.states(run, "c") == ["done", "done", "skipped", "skipped"]


def test_a_stream_runs_again_where_what_came_of_its_items_was_not_kept(shop):
    text = LIVE.replace('"kei-x::pure"\ninput = { all = "$c" }', '"kei-x::login"\ninput = { token = "$c.0.token" }')
    shop.crew.does.update(tail=numbers(1), put=lambda *_: {"token": "hunter2-hunter2"}, login=lambda *_: fails("usage"))
    _, run = shop.run(text)
    shop.crew.does["login"] = lambda given, _: given

    end = shop.resume(run, text)

    assert (end.status, shop.crew.verbs()) == ("completed", ["tail", "put", "login"])


def test_a_stream_that_must_not_run_twice_is_left_to_a_person(shop):
    text = LIVE.replace("kei-x::tail", "kei-x::feed")
    shop.crew.does["feed"] = numbers(3)
    shop.crew.does["put"] = lambda given, _: fails("usage") if given["n"] == 1 else given
    _, run = shop.run(text)

    end = shop.resume(run, text)

    assert (end.status, end.exit_code) == ("blocked", 3)
    assert "feed" not in shop.crew.verbs()


def test_a_stream_that_is_used_as_a_value_is_collected(shop):
    shop.crew.does["tail"] = numbers(3)
    text = (
        '[[steps]]\ncapture_as = "s"\natom = "kei-x::tail"\n[[steps]]\natom = "kei-x::pure"\ninput = { all = "$s" }\n'
    )

    end, run = shop.run(text)

    assert end.status == "completed"
    assert shop.outputs(run, "s") == [[{"n": 0}, {"n": 1}, {"n": 2}]]


# --- cancel, fences, a store that fails -------------------------------------------------------------------------------


def test_a_canceled_run_is_left_so_that_it_can_go_on(shop):
    pipe, run = shop.begin(fan("kei-x::put"), list(range(5)))

    def put(given, _):
        if given["n"] != 2:
            return given
        pipe.cancel()
        pipe.cancel()
        assert shop.crew.canceled.wait(10)
        return fails("killed", "canceled", exit_code=130)

    shop.crew.does["put"] = put
    end = pipe.run()

    assert (end.status, end.exit_code) == ("canceled", 130)
    assert shop.states(run, "f") == ["done", "done", "failed"]
    assert shop.store.pipe_run(run.run_id).status == "canceled"
    shop.crew.does.clear()
    shop.crew.canceled.clear()
    assert shop.resume(run, fan("kei-x::put")).status == "completed"
    assert shop.crew.inputs("put") == [{"n": 2}, {"n": 3}, {"n": 4}]


def test_a_run_that_is_canceled_before_it_begins_calls_nothing(shop):
    pipe, _ = shop.begin(fan("kei-x::add"), [1])
    pipe.cancel()

    end = pipe.run()

    assert (end.status, shop.crew.calls) == ("canceled", [])


def test_a_run_that_is_canceled_when_a_call_is_due_once_more_is_not_complete(shop):
    shop.crew.does["ask"] = lambda *_: fails(code="Busy")

    class Told:
        def append(self, happening):
            if happening["event"] == "try":
                pipe.cancel()
                time.sleep(0.01)

    shop.told = Told()
    pipe, run = shop.begin(fan("kei-x::ask", "retry = { max = 1, backoff_ms = 1 }"), [1])
    end = pipe.run()

    assert (end.status, end.exit_code, end.steps["f"].state) == ("canceled", 130, "unfinished")
    assert shop.crew.verbs() == ["ask"]
    assert "done" not in shop.states(run, "f")


def test_a_step_that_was_stopped_before_it_was_called_is_not_told_as_done(shop):
    text = """
[[steps]]
capture_as = "a"
atom = "kei-x::pure"
input = { n = 1 }
[[steps]]
atom = "kei-x::put"
input = { n = "$input.nowhere" }
"""

    end, run = shop.run(text, {"x": 1})

    assert (end.status, shop.crew.calls) == ("failed", [])
    assert (end.steps["a"].state, end.steps["step-2"].state) == ("unfinished", "failed")
    assert json.loads("".join(report(shop.store, shop.store.pipe_run(run.run_id), end)))["steps"][0]["ok"] is False


def called(shop):
    """Calls that have a row in the ledger."""
    return {entry.body["invocation_id"] for entry in shop.store.entries(limit=1000, kind="atom_invoked")}


def test_whoever_lost_the_run_stops_at_once_and_says_so(shop):
    pipe, run = shop.begin(fan("kei-x::put"), list(range(50)))

    def put(given, _):
        if given["n"] == 2:
            shop.store.take_run(shop.store.pipe_run(run.run_id))
        return given

    shop.crew.does["put"] = put
    with pytest.raises(IllegalMove, match="somebody else took over the run"):
        pipe.run()

    assert shop.crew.canceled.is_set()
    assert len(shop.crew.calls) < 10
    assert shop.store.pipe_run(run.run_id).fence == 2
    assert {*shop.crew.ids("put")} <= called(shop)


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("atom", ["kei-x::put", "kei-x::add", "kei-x::key"])
def test_a_store_that_fails_in_between_stops_the_run_and_nothing_is_done_twice(shop, moment, atom):
    text = fan(atom)
    pipe, run = shop.begin(text, list(range(6)))
    shop.runs.trouble[moment, 3] = WorldFault("the disk is full")

    with pytest.raises(WorldFault, match="the run stopped, because its rows could not be written: the disk is full"):
        pipe.run()

    first = list(shop.crew.inputs(text.split("::")[1].split('"')[0]))
    assert shop.store.pipe_run(run.run_id).status == "failed"
    assert shop.ledger()[-1] == "pipe_finished"
    end = shop.resume(run, text)
    assert end.status == "completed"
    assert [*first, *shop.crew.inputs(atom.partition("::")[2])] == [{"n": number} for number in range(6)]
    invoked = [entry.body["invocation_id"] for entry in shop.store.entries(limit=1000, kind="atom_invoked")]
    assert len(invoked) == len(set(invoked)) == 6


def test_rows_that_an_earlier_session_wrote_are_not_taken_for_those_of_this_one(shop):
    text = TWO.partition('[[steps]]\ncapture_as = "b"')[0] + fan("kei-x::ask", more='needs = ["a"]\nif = "$item > 5"')
    _, run = shop.run(text, [1])
    shop.runs.moves, shop.runs.trouble = 0, {("before", 2): WorldFault("the disk is full")}

    with pytest.raises(WorldFault):
        shop.resume(run, text, [1], again=frozenset({"a"}))

    assert {*shop.crew.ids("ask")} <= called(shop)


def test_a_run_whose_end_was_written_is_not_told_as_failed(shop):
    pipe, run = shop.begin(TWO)
    shop.runs.trouble["after", 3] = WorldFault("the line is cut")

    with pytest.raises(WorldFault, match="the run ended, and its store failed then: the line is cut"):
        pipe.run()

    assert shop.store.pipe_run(run.run_id).status == "completed"
    assert shop.ledger().count("pipe_finished") == 1


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_store_that_is_away_for_a_moment_is_waited_for(shop, moment, monkeypatch):
    monkeypatch.setattr(pipe_journal, "PAUSE_S", 0.001)
    pipe, run = shop.begin(TWO)
    gone = WorldFault("no server", retryable=True)
    shop.runs.trouble = {(moment, number): gone for number in (1, 3, 5, 7)}

    end = pipe.run()

    assert (end.status, shop.store.pipe_run(run.run_id).status) == ("completed", "completed")
    assert shop.ledger() == ["pipe_begun", "atom_invoked", "atom_invoked", "pipe_finished"]
    assert shop.crew.verbs() == ["ask", "add"]


@pytest.mark.parametrize("is_canceled", [False, True])
def test_a_store_is_not_waited_for_for_ever(shop, is_canceled, monkeypatch):
    monkeypatch.setattr(pipe_journal, "PATIENCE_S", 600.0 if is_canceled else 0.0)
    pipe, run = shop.begin(TWO)
    shop.runs.trouble["before", 2] = WorldFault("no server", retryable=True)
    shop.crew.does["ask"] = lambda given, _: (pipe.cancel() if is_canceled else None) or given

    with pytest.raises(WorldFault, match="its rows could not be written: no server"):
        pipe.run()

    assert shop.resume(run, TWO).status == "completed"


def test_a_store_that_stays_away_leaves_a_run_that_can_be_resumed(shop):
    text = fan("kei-x::put")
    pipe, run = shop.begin(text, list(range(6)))
    for number in range(2, 9):
        shop.runs.trouble["before", number] = WorldFault("gone")

    with pytest.raises(WorldFault):
        pipe.run()

    shop.runs.trouble.clear()
    assert shop.resume(run, text).status == "completed"
    assert shop.states(run, "f") == ["done"] * 6


# --- secrets ----------------------------------------------------------------------------------------------------------

LOGIN = """
[[steps]]
capture_as = "who"
atom = "kei-x::ask"
input = { id = 1 }
[[steps]]
capture_as = "in"
atom = "kei-x::login"
input = { token = "$input.token", user = "user ${who.id}" }
[[steps]]
capture_as = "use"
atom = "kei-x::put"
input = { session = "$in.session" }
"""


def test_an_input_that_is_a_secret_is_not_kept_nor_is_what_holds_it(shop):
    shop.crew.does["login"] = lambda given, _: {"session": f"for {given['token']}"}

    end, run = shop.run(LOGIN, {"token": "hunter2-hunter2"})

    assert end.status == "completed"
    assert shop.crew.inputs("put") == [{"session": "for hunter2-hunter2"}]
    kept = shop.store.pipe_run(run.run_id)
    assert (kept.input, kept.input_kept) == (None, False)
    for step in ("in", "use"):
        (row,) = shop.rows(run, step)
        assert (row.output, row.output_kept) == (None, False)

    again = shop.resume(run, LOGIN, {"token": "hunter2-hunter2"})

    assert again.status == "completed"
    assert shop.crew.verbs() == ["login"]


def test_an_output_that_is_handed_to_a_secret_place_is_not_kept(shop):
    text = LOGIN.replace("$input.token", "$who.token")
    shop.crew.does["ask"] = lambda *_: {"token": "hunter2-hunter2", "id": 1}

    _, run = shop.run(text)

    assert shop.rows(run, "who")[0].output is None
    assert "hunter2" not in str([shop.rows(run, name) for name in ("who", "in")])


TOKEN = {"token": "hunter2-hunter2"}
ECHO = """
[[steps]]
capture_as = "e"
atom = "kei-x::pure"
input = { text = "<%s>" }
[[steps]]
atom = "kei-x::put"
input = { text = "$e.text" }
needs = ["e"]
"""
TOLD = {
    "output": '[[steps]]\ncapture_as = "a"\natom = "kei-x::ask"\ninput = {}\n%s' % (ECHO % "${a.token}")
    + '[[steps]]\natom = "kei-x::login"\ninput = { token = "$a.result.token" }\nneeds = ["e"]\n',
    "input": ECHO % "${input.list.0}"
    + '[[steps]]\natom = "kei-x::login"\nfor_each = "$input.list"\ninput = { token = "$item" }\nneeds = ["e"]\n',
    "fan-out": '[[steps]]\ncapture_as = "a"\natom = "kei-x::ask"\nfor_each = "$input.list"\ninput = {}\n'
    + ECHO % "${a.0.token}"
    + '[[steps]]\natom = "kei-x::login"\ninput = { token = "$a.0.token" }\nneeds = ["e"]\n',
    "stream": '[[steps]]\ncapture_as = "s"\natom = "kei-x::tail"\n[[steps]]\ncapture_as = "l"\natom = "kei-x::login"\n'
    'for_each = "$s"\ninput = { token = "$item.token" }\n' + ECHO % "${l.0.token}",
    "variable": '[[steps]]\ncapture_as = "a"\natom = "kei-y::held"\ninput = {}\n' + ECHO % "${a.token}",
    "transform": '[[steps]]\ncapture_as = "a"\natom = "kei-x::pure"\ninput = {}\n'
    '[[steps]]\ncapture_as = "l"\natom = "kei-x::login"\ninput = { token = "$a.token" }\n' + ECHO % "${a.token}",
}


@pytest.mark.parametrize("way", TOLD)
def test_a_secret_is_kept_nowhere_whichever_way_it_goes(shop, way):
    word = TOKEN["token"]
    shop.env = {"KEI_TOKEN": word} if way == "variable" else {}
    shop.crew.does.update(ask=lambda *_: TOKEN, held=lambda *_: TOKEN, tail=lambda *_: iter([TOKEN]))
    shop.crew.does["pure"] = lambda given, _: given or TOKEN
    shop.crew.does["put"] = lambda given, _: fails("usage", f"no {given['text']}")

    end, run = shop.run(TOLD[way], {"list": [word if way == "input" else 1]})

    assert (end.status, shop.crew.inputs("put")) == ("failed", [{"text": f"<{word}>"}])
    assert end.error.endswith(" failed: no <[redacted]>")
    ledger = [entry.body for entry in shop.store.entries(limit=1000)]
    kept = (shop.store.members(run.run_id), shop.store.pipe_run(run.run_id), shop.cache.kept, ledger)
    assert word not in str(kept)


def test_a_secret_that_the_cache_holds_from_before_is_not_kept_again(shop):
    echo = '[[steps]]\ncapture_as = "e"\natom = "kei-x::pure"\ninput = { text = "<${input.token}>" }\n'
    shop.run(echo, TOKEN)

    _, run = shop.run(echo + '[[steps]]\natom = "kei-x::login"\ninput = { token = "$input.token" }\n', TOKEN)

    (row,) = shop.rows(run, "e")
    assert (row.source, row.output, row.output_kept) == ("cache", None, False)


def test_a_secret_in_the_file_is_refused_before_anything_is_kept(shop):
    with pytest.raises(OperatorError, match="step `in` has a secret in its file"):
        shop.run(LOGIN.replace("$input.token", "hunter2-hunter2"))

    assert shop.store.pipe_runs() == []


def test_a_secret_is_found_wherever_it_stands():
    assert holds_secret({"a": ['x"y\\z-long', 1]}, ['"y\\z-l'])
    assert holds_secret({"key-of-gold": 1}, ["key-of-gold"])
    assert not holds_secret({"a": "abc"}, ["abc", "other-word"])


def test_known_secrets_are_kept_nowhere(shop):
    shop.secrets = ("open-sesame",)
    shop.crew.does["pure"] = lambda *_: {"said": "open-sesame"}

    _, run = shop.run('[[steps]]\natom = "kei-x::pure"\n', {"word": "open-sesame"})

    assert not shop.store.pipe_run(run.run_id).input_kept
    assert (shop.rows(run, "step-1")[0].output, shop.cache.kept) == (None, {})


# --- many -------------------------------------------------------------------------------------------------------------


def test_a_large_fan_out_is_never_in_memory_at_once(shop):
    most = 0

    def ask(given, _):
        nonlocal most
        most = max(most, shop.crew.running)
        return given

    shop.crew.does["ask"] = ask
    end, run = shop.run(fan("kei-x::ask"), list(range(1500)))

    assert end.status == "completed"
    assert shop.store.member_counts(run.run_id) == {("f", "done"): 1500}
    assert most <= 4
    places = [row.finished for row in shop.rows(run, "f")]
    assert len(set(places)) == 1500


def test_two_sessions_never_write_into_each_other(shop):
    _, run = shop.run(TWO)
    kept = shop.store.pipe_run(run.run_id)
    plan = planned(TWO, ATOMS)
    taken = shop.store.take_run(taken_run(kept, plan, "/dag.toml", None, shop.tools))
    late = PipeOrder(plan=plan, run=replace(taken, fence=1), input=None, actor="operator:late")

    with pytest.raises(IllegalMove):
        shop.pipe(late).run()

    assert not shop.store.move_run(PipeMove(run_id=run.run_id, fence=1))
    assert shop.store.pipe_run(run.run_id) == replace(taken, updated_at=shop.store.pipe_run(run.run_id).updated_at)


MIXED = """
[pipe]
max_parallel = 3
[[steps]]
capture_as = "a"
atom = "kei-x::ask"
input = { n = 1 }
[[steps]]
capture_as = "add"
atom = "kei-x::add"
for_each = "$input"
input = { n = "$item", of = "$a.n" }
[[steps]]
capture_as = "key"
atom = "kei-x::key"
for_each = "$input"
input = { n = "$item" }
[[steps]]
capture_as = "s"
atom = "kei-x::tail"
[[steps]]
capture_as = "c"
atom = "kei-x::put"
for_each = "$s"
if = "$item.n != 1"
input = { n = "$item.n" }
[[steps]]
capture_as = "z"
atom = "kei-x::pure"
input = { add = "$add", key = "$key", c = "$c" }
"""


@pytest.mark.parametrize("moment", ["before", "after"])
def test_killed_at_any_move_nothing_is_done_twice_and_nothing_is_left_out(shop, moment):
    done, keyed = [], {}

    def add(given, _):
        done.append((shop.number, given["n"]))
        return given

    def key(given, order):
        return keyed.setdefault(order.invocation_id, given)

    for number in itertools.count(1):
        shop.number = number
        shop.crew.does.update(tail=numbers(3), add=add, key=key)
        shop.cache.kept.clear()
        pipe, run = shop.begin(MIXED, [4, 5])
        shop.runs.moves, shop.runs.trouble = 0, {(moment, number): Killed()}
        try:
            pipe.run()
        except Killed:
            shop.runs.trouble.clear()
        else:
            break
        keys = {row.invocation_id for row in shop.rows(run, "key") if row.state in ("running", "done")}

        end = shop.resume(run, MIXED)
        if end.status == "blocked":
            end = shop.resume(run, MIXED, force=True)
        assert end.status == "completed"
        assert keys <= {row.invocation_id for row in shop.rows(run, "key")}
        assert shop.outputs(run, "z")[0]["c"] == [{"n": 0}, {"n": 2}]
        counts = [done.count((number, n)) for n in (4, 5)]
        assert sum(counts) - 2 <= 1  # the one that a person said to do again
        assert all(counts)
    assert number > 4
