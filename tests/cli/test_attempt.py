"""`keisei attempt`: runs and their evidence, byte for byte elsewhere and harmless on a terminal."""

import json
import sys

import pytest

from tests.cli.shop import Shop, bare, eventually, lines_until


@pytest.fixture
def shop(shell):
    made = Shop(shell)
    yield made
    made.close()


def test_attempts_are_listed_of_one_task_or_of_all(shop):
    first, second = shop.add("exit 1", max_attempts=2), shop.add("true")
    shop.work()

    assert bare(shop.out("attempt", "list", first)) == [
        "attempt task status started adapter model cost",
        "<1> <2> error <time> script - -",
        "<3> <2> error <time> script - -",
    ]
    everything = shop.json("attempt", "list")
    assert sorted(each["task_id"] for each in everything) == sorted([first, first, second])
    assert len(shop.json("attempt", "list", "--limit", 1)) == 1


def test_an_attempt_is_shown_with_its_bundle_and_its_files(shop):
    task_id = shop.add("true")
    shop.work()
    attempt_id = shop.attempt(task_id)

    lines = bare(shop.out("attempt", "show", attempt_id))

    assert lines[:3] == ["attempt_id: <1>", "task_id: <2>", "adapter_id: script"]
    assert "exit_status: ok" in lines
    assert any(line.startswith("bundle_hash: ") for line in lines)
    assert {"evidence prompt.md", "evidence stdout.log", "evidence result.json"} <= set(lines)
    told = shop.json("attempt", "show", attempt_id)
    assert sorted(told) == ["attempt", "bundle", "evidence", "findings"]
    assert told["bundle"]["bundle_hash"] in shop.out("attempt", "show", attempt_id)


def test_a_log_is_what_the_attempt_printed_byte_for_byte(shop):
    task_id = shop.add("printf 'a\\n\\033[31m\\377\\0z'; printf err >&2")
    shop.work()
    attempt_id = shop.attempt(task_id)

    assert shop.run("attempt", "log", attempt_id).raw == b"a\n\x1b[31m\xff\0z"
    assert shop.run("attempt", "log", attempt_id, "--name", "stderr.log").raw == b"err"
    assert json.loads(shop.out("attempt", "log", attempt_id, "--name", "result.json"))["ended"]["code"] == 0


def test_a_log_commands_no_terminal_unless_it_is_asked_for_raw(shop, monkeypatch):
    task_id = shop.add("printf 'a\\tb\\n\\033[31m\\302\\233'")
    shop.work()
    attempt_id = shop.attempt(task_id)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)

    assert shop.run("attempt", "log", attempt_id).raw == b"a\tb\n\\x1b[31m\\x9b"
    assert shop.run("attempt", "log", attempt_id, "--raw").raw == b"a\tb\n\x1b[31m\xc2\x9b"


def test_a_log_is_followed_while_it_grows(shop):
    go = shop.folder / "go"
    task_id = shop.add(f"echo one; until test -e '{go}'; do sleep 0.05; done; echo two")

    with shop.runner():
        attempt_id = eventually(lambda: (shop.task(task_id).get("lease") or {}).get("attempt_id"))
        with shop.start("attempt", "log", attempt_id, "--follow") as log:
            assert lines_until(log, "one") == ["one"]
            go.touch()
            assert [line.rstrip("\n") for line in log.stdout] == ["two"]
            assert log.wait() == 0


def test_following_what_is_stopped_from_outside_ends(shop):
    task_id = shop.add("echo one; sleep 60")

    with shop.runner():
        attempt_id = eventually(lambda: (shop.task(task_id).get("lease") or {}).get("attempt_id"))
        with shop.start("attempt", "log", attempt_id, "--follow") as log:
            lines_until(log, "one")
            shop.out("task", "cancel", task_id)
            assert log.wait() == 0

    assert shop.out("attempt", "log", attempt_id) == "one\n"


@pytest.mark.parametrize("name", ["nope", "", "../../../state.db", "/etc/passwd", "a\0b", "\udcff"])
def test_evidence_that_is_not_there_is_one_clear_error(shop, name):
    task_id = shop.add("true")
    shop.work()
    attempt_id = shop.attempt(task_id)

    done = shop.run("attempt", "log", attempt_id, "--name", name)

    assert (done.code, done.raw) == (1, b"")
    assert done.err.startswith(f"error: attempt {attempt_id} has no evidence `")
    assert done.err.endswith(f"hint: `keisei attempt show {attempt_id}` lists all\n")


@pytest.mark.parametrize("given", ["", "x", "\0", "\udcff", "../.."])
@pytest.mark.parametrize("verb", ["show", "log"])
def test_an_id_that_nobody_has_is_one_clear_error(shop, verb, given):
    done = shop.run("attempt", verb, given)

    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("error: no attempt has the id `")


def test_attempts_of_a_task_that_nobody_has_are_an_error_and_not_an_empty_list(shop):
    done = shop.run("attempt", "list", "x")

    assert done.code == 1
    assert "no task has the id `x`" in done.err
