"""`keisei approval`: what needs you is listed by its deadline, shown with what follows, and decided once."""

import json
from contextlib import closing

import apsw
import pytest

from tests.cli.shop import PROJECT, Shop, bare
from tests.cli.test_startup import imported

ASKS = """echo '{"status": "blocked", "operator_summary": "I need a port", "questions": ["Which \\u001b port?"]}'"""


@pytest.fixture
def shop(shell):
    made = Shop(shell)
    made.answering()
    yield made
    made.close()


def asked(shop, script=ASKS, **intent):
    """A task that waits for a person, and its approval."""
    task = shop.add(script, task_type="answering", **intent)
    shop.work()
    (approval,) = (each for each in shop.json("approval", "list") if each.get("task_id") == task)
    return task, approval


def test_nothing_needs_you_in_a_new_project(shop):
    assert bare(shop.out("approval", "list")) == ["approval kind status deadline about reason"]
    assert shop.json("approval", "list") == []


def test_what_needs_you_is_listed_and_shown_with_what_follows(shop):
    task, approval = asked(shop)

    assert bare(shop.out("approval", "list"))[1:] == ["<1> question open <time> <2> I need a port"]
    shown = shop.out("approval", "show", approval["approval_id"]).splitlines()
    assert "question: Which \\x1b port?" in shown
    assert "approve: the task goes on, with one more try at least, and without an answer" in shown
    assert "reject: the task is cancelled" in shown
    assert "answer: the task goes on, and its next attempt reads the answer" in shown
    evidence = [line.removeprefix("evidence: keisei ").split() for line in shown if line.startswith("evidence: ")]
    assert evidence
    for words in evidence:
        shop.out(*words)
    told = shop.json("approval", "show", approval["approval_id"])
    assert told["approval"] == approval
    assert sorted(told["effects"]) == ["answer", "approve", "reject"]
    assert approval["task_id"] == task


def test_the_nearest_deadline_stands_first_and_with_all_the_newest(shop):
    (shop.folder / "keisei.toml").write_text(PROJECT + "\n[approvals]\ndeadline-h = 5.0\n")
    late, _ = asked(shop)
    (shop.folder / "keisei.toml").write_text(PROJECT + "\n[approvals]\ndeadline-h = 1.0\n")
    soon, approval = asked(shop)
    shop.out("approval", "reject", approval["approval_id"])
    shop.add(ASKS, task_type="answering", subject="third")
    shop.work()

    waiting = [each["task_id"] for each in shop.json("approval", "list")]
    everything = [each["task_id"] for each in shop.json("approval", "list", "--all")]

    assert (waiting[1], len(waiting)) == (late, 2)
    assert everything == [waiting[0], soon, late]
    assert [each["task_id"] for each in shop.json("approval", "list", "--limit", 1)] == waiting[:1]


def test_an_answer_reaches_the_agent(shop):
    script = f"""case "$(cat "$AGENT_RUNTIME_STATE_DIR/prompt.md")" in
*'A person has'' answered'*80'80'*) echo '{{"status": "completed"}}';; *) {ASKS};; esac"""
    task, approval = asked(shop, script)

    done = shop.out("approval", "answer", approval["approval_id"], "it is 8080")
    shop.work()

    assert bare(done) == ["<1> answered: task <2>"]
    assert shop.task(task)["status"] == "completed"
    assert shop.json("approval", "list") == []


def test_an_answer_may_stand_in_a_file(shop):
    _, approval = asked(shop)
    (shop.folder / "answer.txt").write_text("first\nsecond\n")

    told = shop.json("approval", "answer", approval["approval_id"], "--file", "answer.txt")

    assert (told["status"], told["answer"]) == ("answered", "first\nsecond")


@pytest.mark.parametrize(
    ("words", "code"),
    [([], 1), (["yes", "--file", "x"], 1), (["--file", "missing"], 1), ([""], 2), (["x" * 10_001], 2), (["\udcff"], 1)],
    ids=["nothing", "both", "no file", "empty", "long", "no text"],
)
def test_an_answer_that_is_none_changes_nothing(shop, words, code):
    task, approval = asked(shop)

    done = shop.run("approval", "answer", approval["approval_id"], *words)

    assert (done.code, done.out) == (code, "")
    assert "Traceback" not in done.err
    assert shop.task(task)["status"] == "blocked"


def test_approving_and_rejecting_are_told_and_final(shop):
    task, approval = asked(shop)
    other, second = asked(shop, subject="other")

    assert bare(shop.out("approval", "approve", approval["approval_id"], "--reason", "go")) == [
        "<1> approved: task <2>"
    ]
    assert shop.json("approval", "reject", second["approval_id"])["status"] == "rejected"

    assert shop.task(task)["status"] == "pending"
    assert shop.task(other)["status"] == "operator_canceled"
    for verb in ("approve", "reject"):
        done = shop.run("approval", verb, second["approval_id"])
        assert done.code == 2
        assert "was rejected by operator:" in done.err
    assert shop.json("approval", "show", second["approval_id"])["effects"] == {}


def test_an_id_may_be_shortened_as_long_as_it_means_one(shop):
    _, first = asked(shop)
    _, second = asked(shop, subject="other")
    ids = (first["approval_id"], second["approval_id"])
    same = next(place for place in range(len(ids[0])) if ids[0][place] != ids[1][place])

    assert shop.json("approval", "show", ids[0][: same + 1])["approval"] == first
    done = shop.run("approval", "show", ids[0][:same])
    assert (done.code, "2 approvals have an id that begins with" in done.err) == (1, True)


@pytest.mark.parametrize("given", ["nobody", "", "\x1b[31m", "%", "x" * 5000])
def test_an_id_that_nobody_has_is_a_mistake(shop, given):
    asked(shop)

    for words in (["show"], ["approve"], ["reject"], ["answer"]):
        done = shop.run("approval", *words, given, *(["yes"] if words == ["answer"] else []))
        assert done.code == 1
        assert done.err.startswith("error: no approval has the id")
        assert "\x1b" not in done.err


def test_freeing_the_task_resolves_what_was_asked(shop):
    task, approval = asked(shop)

    shop.out("task", "unblock", task)

    assert shop.json("approval", "list") == []
    assert shop.json("approval", "show", approval["approval_id"])["approval"]["status"] == "resolved"


def test_rows_that_cannot_be_read_are_named_and_hold_up_nobody(shop):
    task, approval = asked(shop)
    _, bad = asked(shop, subject="other")
    with closing(apsw.Connection(str(shop.state / "state.db"))) as db:
        db.execute("UPDATE approvals SET record = 'nope' WHERE approval_id = ?", (bad["approval_id"],))
        db.execute("UPDATE outbox SET payload = 'nope', status = 'pending', delivered_at = NULL")

    done = shop.run("approval", "list", "--json")

    assert (done.code, [each["approval_id"] for each in json.loads(done.out)]) == (0, [approval["approval_id"]])
    assert f"warning: the stored approval {bad['approval_id']} cannot be read, and is left out\n" in done.err
    assert f"warning: the stored outbox row approval:{approval['approval_id']}/console cannot be read" in done.err
    assert shop.json("outbox", "list") == []
    for words in (
        ["approval", "show", bad["approval_id"]],
        ["outbox", "show", f"approval:{bad['approval_id']}/console"],
    ):
        found = shop.run(*words)
        assert (found.code, found.out) == (1, "")
        assert "cannot be read" in found.err
    shop.out("approval", "approve", approval["approval_id"])
    assert "1 attempt taken" in shop.work()
    assert shop.task(task)["status"] == "blocked"


def test_help_needs_no_store():
    assert "keisei.store" not in imported("approval", "--help")


def test_json_is_json(shop):
    asked(shop)

    for words in (["list"], ["list", "--all"]):
        json.loads(shop.out("approval", *words, "--json"))
