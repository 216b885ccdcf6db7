"""`keisei task`: work is queued whole or not at all, shown as it is, steered by orders that hold or are refused."""

import json
import os
import sys

import apsw
import pytest

from tests.cli.shop import Shop, bare, eventually, lines_until
from tests.cli.test_startup import imported

SCRIPT = {"task_type": "script", "source": "test", "payload": {"args": ["-c", "true"]}}


@pytest.fixture
def shop(shell):
    made = Shop(shell)
    yield made
    made.close()


def intent(**more):
    return json.dumps(SCRIPT | more)


# --- add ---


def test_a_task_is_queued_from_words_and_named(shop):
    words = ["task", "add", "--type", "script", "--payload", '{"args": ["-c", "true"]}', "--subject", "s"]

    assert bare(shop.out(*words, "--priority", 7, "--key", "k")) == ["<1> queued"]
    assert bare(shop.out(*words, "--key", "k")) == ["<1> known already"]

    (task,) = shop.json("task", "list")
    assert (task["task_type"], task["subject"], task["priority"], task["idempotency_key"]) == ("script", "s", 7, "k")
    assert task["source"].startswith("operator:")
    assert task["payload"] == {"args": ["-c", "true"]}


def test_what_was_queued_is_told_as_data_too(shop):
    told = shop.json("task", "add", "--intent", intent(idempotency_key="k"))

    assert [sorted(each) for each in told] == [["queued", "task_id"]]
    assert shop.json("task", "add", "--intent", intent(idempotency_key="k")) == [told[0] | {"queued": False}]


@pytest.mark.parametrize(
    ("text", "subjects"),
    [
        (intent(subject="a"), ["a"]),
        (f"[{intent(subject='a')}, {intent(subject='b')}]", ["a", "b"]),
        (f"{intent(subject='a')}\n\n{intent(subject='b')}\n", ["a", "b"]),
        (f"{intent(subject='a'[:1])}\r\n{intent(subject='x')}".replace('"x"', '"\u2028"'), ["a", "\u2028"]),
        ("[]", []),
    ],
    ids=["one", "list", "lines", "line-separator", "none"],
)
@pytest.mark.parametrize("way", ["file", "stdin", "argument"])
def test_intents_come_one_as_a_list_or_one_a_line(shop, monkeypatch, text, subjects, way):
    path = shop.folder / "intents"
    path.write_text(text, encoding="utf-8", newline="")

    with path.open(encoding="utf-8") as file:
        monkeypatch.setattr("sys.stdin", file)
        words = {"file": ["intents"], "stdin": ["-"], "argument": ["--intent", text]}[way]
        shop.out("task", "add", *words)

    assert [each["subject"] for each in reversed(shop.json("task", "list"))] == subjects


def test_the_older_spelling_gives_the_same_task_with_one_warning(shop):
    done = shop.run(
        "task", "add", "--intent", json.dumps({"kind": "script", "source": "test", "payload": {"args": [""]}})
    )

    assert done.code == 0
    assert done.err == "warning: task.intent: `kind` is now `task_type`\n"


def test_several_are_queued_whole_or_not_at_all(shop):
    done = shop.run("task", "add", "--intent", f"[{intent()}, {intent(task_type='scirpt')}]")

    assert done.code == 1
    assert done.err == "error: intent 2 of 2: no task-type is called `scirpt`\n  hint: did you mean `script`?\n"
    assert shop.json("task", "list") == []


@pytest.mark.parametrize(
    ("payload", "why"),
    [
        ("", "expecting value"),
        ("{", "line 1, column 2"),
        ("[]", "must be an object"),
        ("null", "missing key `payload`"),
        ('{"args": ["x"], "args": ["y"]}', "the key `args` stands twice"),
        ('{"args": ["x"], "data": {"a": NaN}}', "NaN is no number"),
        ('{"args": ["x"], "data": {"a": 1e999}}', "no canonical form"),
        ('{"args": ["x"], "data": {"a": ' + "9" * 5000 + "}}", "5000 digits"),
        ('{"args": ["x"], "data": {"a": "\\ud800"}}', "half a surrogate"),
        ('{"args": ["x"], "data": ' + '{"a":' * 80 + "1" + "}" * 81, "more than 64 levels"),
        ('{"args": ["x"], "data": ' + '{"a":' * 400 + "1" + "}" * 401, "more than 100 levels"),
        ("[" * 100_000, "more than 100 levels"),
        ("\udcff", "expecting value"),
        ('{"args": "x"}', "args"),
        ("{}", '"args" is a required property'),
        ("@nowhere", "`nowhere` cannot be read"),
        ("@.", "`.` is not a file"),
        ("@/dev/zero", "`/dev/zero` is not a file"),
        ("@a\0b", "zero byte"),
        ("@", "cannot be read"),
    ],
    ids=[
        *(
            "empty",
            "cut",
            "list",
            "null",
            "twice",
            "nan",
            "infinite",
            "digits",
            "surrogate",
            "deep",
            "deeper",
            "deepest",
        ),
        *("no-text", "wrong-type", "missing", "no-file", "folder", "device", "zero-byte", "no-name"),
    ],
)
def test_a_payload_that_cannot_be_is_one_clear_error(shop, payload, why):
    done = shop.run("task", "add", "--type", "script", "--payload", payload)

    assert (done.code, done.out) == (1, "")
    assert why in done.err
    assert [line.split(":")[0] for line in done.err.splitlines()] == ["error", "  hint"]
    assert shop.json("task", "list") == []


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("folder", None, "`folder` is not a file"),
        ("pipe", None, "`pipe` is not a file"),
        ("nowhere", None, "`nowhere` cannot be read: no such file or directory"),
        ("", None, "`` cannot be read: no such file or directory"),
        ("x" * 5000, None, "cannot be read: file name too long"),
        ("empty", b" \n", "`empty` is empty"),
        ("bytes", b'{"a": "\xff"}', "`bytes` is not UTF-8: byte 7"),
        ("words", b"run the tests", "this is not JSON: expecting value (line 1, column 1)"),
        ("lines", b'{}\n{"a": ', "line 2 is not JSON"),
    ],
    ids=["folder", "pipe", "missing", "no-name", "long-name", "empty", "bytes", "words", "lines"],
)
def test_a_file_that_cannot_be_is_one_clear_error(shop, name, content, why):
    (shop.folder / "folder").mkdir()
    os.mkfifo(shop.folder / "pipe")
    if content is not None:
        (shop.folder / name).write_bytes(content)

    done = shop.run("task", "add", name)

    assert (done.code, done.out) == (1, "")
    assert why in done.err
    assert len(done.err.splitlines()) == 2


@pytest.mark.parametrize(
    ("more", "why", "hint"),
    [
        ({"task_type": "nope"}, "no task-type is called `nope`", "keisei task-type list"),
        ({"requested_profile_id": "nope"}, "no profile is called `nope`", "keisei profile list"),
        ({"requested_adapter_id": "nope"}, "adapter `nope` does not exist", "known adapters: "),
        ({"skill_ids": ["nope"]}, "no skill is called `nope`", "keisei skill list"),
        ({"agent": "nope"}, "no agent is called `nope`", "keisei agent list"),
        ({"priority": "high"}, "`priority` must be an integer", "keisei schema show task.intent"),
        ({"nope": 1}, "unknown key `nope`", "keisei schema show task.intent"),
        ({"source": ""}, "`source` must be not empty", "keisei schema show task.intent"),
        ({"available_at": "9999-12-31T23:59:59-14:00"}, "beyond the years 1 to 9999", "a moment that can come"),
        ({"available_at": "0001-01-01T00:00:00+14:00"}, "beyond the years 1 to 9999", "a moment that can come"),
    ],
    ids=["type", "profile", "adapter", "skill", "agent", "value", "key", "empty", "too-late", "too-early"],
)
def test_what_nobody_knows_is_refused_at_the_door(shop, more, why, hint):
    done = shop.run("task", "add", "--intent", intent(**more))

    assert (done.code, done.out) == (1, "")
    assert why in done.err
    assert hint in done.err
    assert shop.json("task", "list") == []


@pytest.mark.parametrize(
    "words",
    [[], ["file", "--type", "script"], ["--intent", "{}", "--type", "script"], ["file", "--subject", "s"]],
    ids=["none", "both", "both-arguments", "lost"],
)
def test_words_that_say_too_little_or_too_much_are_refused(shop, words):
    done = shop.run("task", "add", *words)

    assert done.code == 1
    assert done.err.startswith("error: ")


def test_a_payload_of_ten_megabytes_is_queued_and_comes_back_whole(shop):
    big = "x" * 10_000_000
    (shop.folder / "big.json").write_text(json.dumps({"args": ["-c", "true"], "data": {"big": big}}))

    shop.out("task", "add", "--type", "script", "--payload", "@big.json")

    (task,) = shop.json("task", "list")
    assert task["payload"]["data"]["big"] == big
    shown = shop.out("task", "show", task["task_id"])
    assert len(shown) < 4000
    assert "--json shows all" in shown


# --- list and show ---


def test_tasks_are_listed_newest_first_with_ids_that_can_be_copied(shop):
    shop.add("true", subject="first")
    shop.add("exit 3", subject="second", max_attempts=1)
    shop.work()
    shop.add("true")

    assert bare(shop.out("task", "list")) == [
        "task status tries type created subject error",
        "<1> pending 0/3 script <time> - -",
        "<2> blocked 1/1 script <time> second attempts used up (1 of 1): it ended with exit 3",
        "<3> completed 1/3 script <time> first -",
    ]
    assert bare(shop.out("task", "list", "--status", "blocked", "--status", "completed", "--limit", 1))[1:] == [
        "<1> blocked 1/1 script <time> second attempts used up (1 of 1): it ended with exit 3"
    ]
    blocked = shop.json("task", "list", "--status", "blocked")[0]["task_id"]
    assert [each["subject"] for each in shop.json("task", "list", "--before", blocked)] == ["first"]
    assert shop.json("task", "list", "--type", "nope") == shop.json("task", "list", "--source", "\0") == []


def test_a_line_ends_where_the_terminal_does_and_the_id_is_whole(shop, monkeypatch):
    task_id = shop.add("true", subject="a subject that is far too long for so small a terminal")
    shop.shell.setenv("COLUMNS", 60)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)

    lines = shop.out("task", "list").splitlines()

    assert [len(line) for line in lines] == [60, 60]
    assert lines[1].startswith(task_id)
    assert lines[1].endswith("…")


def test_what_others_write_commands_no_terminal(shop):
    shop.answering()
    task_id = shop.add(
        "printf '\\033[2J\\302\\233\\342\\200\\256' >&2; exit 1",
        task_type="answering",
        subject="a\x1b[31m\u202eb\nc",
        source="\x1b[2J",
        max_attempts=1,
    )
    work = shop.work()

    for text in (work, shop.out("task", "list"), shop.out("task", "show", task_id), shop.out("event", "list")):
        assert not {"\x1b", "\u202e", "\x9b"} & set(text)
    assert "a\\x1b[31m\\u202eb" in shop.out("task", "list")


def test_a_task_is_shown_with_what_became_of_it(shop):
    shop.answering()
    task_id = shop.add(
        'echo \'{"status": "completed", "machine_status": "ok", "operator_summary": "x"}\'',
        task_type="answering",
        max_attempts=1,
        evidence_requirements={"required_artifacts": ["a.md"]},
    )
    shop.work()

    lines = bare(shop.out("task", "show", task_id))

    assert lines[:3] == ["task_id: <1>", "task_type: answering", "source: test"]
    assert "status: blocked" in lines
    assert not any(line.startswith("finished_at") for line in lines)
    assert lines[-2].startswith("attempt <2> <time> script ok")
    assert lines[-1] == "engine::artifacts: violated, a.md is missing"
    told = shop.json("task", "show", task_id)
    assert sorted(told) == ["artifacts", "attempts", "task"]
    assert told["attempts"][0]["findings"][0]["capability"] == "engine::artifacts"


@pytest.mark.parametrize("given", ["", "x", "\0", "\udcff", "../..", "é" * 5000, "-x"])
@pytest.mark.parametrize("verb", ["show", "cancel", "unblock", "retry", "wait", "watch"])
def test_an_id_that_nobody_has_is_one_clear_error(shop, verb, given):
    done = shop.run("task", verb, "--", given)

    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("error: no task has the id `")
    assert done.err.endswith("hint: `keisei task list` shows all\n")


def test_an_id_of_something_else_is_told_what_it_is(shop):
    task_id = shop.add("true")
    shop.work()
    attempt_id = shop.attempt(task_id)
    runner_id = shop.json("runner", "list", "--all")["runners"][0]["runner_id"]

    hints = [shop.run("task", "show", each).err.splitlines()[1] for each in (attempt_id, runner_id)]

    assert hints == [
        f"  hint: that is an attempt of task {task_id}",
        "  hint: that is a runner: `keisei runner list --all` shows all",
    ]
    assert f"`keisei attempt list {task_id}`" in shop.run("attempt", "show", task_id).err


# --- orders ---


def test_a_task_that_waits_is_cancelled_at_once_and_for_good(shop):
    task_id = shop.add("true")

    assert bare(shop.out("task", "cancel", task_id, "--reason", "not now")) == ["<1> operator_canceled"]

    assert shop.task(task_id)["last_error"] == "not now"
    for verb in ("cancel", "unblock"):
        done = shop.run("task", verb, task_id)
        assert (done.code, done.out) == (2, "")
        assert "is operator_canceled" in done.err
    assert shop.work().endswith("0 attempts taken\n")


def test_a_task_that_runs_is_asked_to_end(shop):
    task_id = shop.add("sleep 60")

    with shop.runner():
        eventually(lambda: shop.task(task_id)["status"] == "running")
        assert bare(shop.out("task", "cancel", task_id)) == ["<1> running (asked to end)"]
        assert shop.run("task", "wait", task_id).code == 2

    assert shop.task(task_id)["status"] == "operator_canceled"


def test_a_blocked_task_is_freed_and_tried_again(shop):
    task_id = shop.add(f"test -e '{shop.folder}/go'", max_attempts=1)
    shop.work()
    assert shop.task(task_id)["status"] == "blocked"
    (shop.folder / "go").touch()

    assert bare(shop.out("task", "unblock", task_id)) == ["<1> pending"]
    shop.work()

    assert shop.task(task_id)["status"] == "completed"
    rows = [each for each in shop.json("ledger", "list") if each["kind"] != "key_introduced"]
    assert [each["kind"] for each in rows] == [
        "task_enqueued",
        "agent_forked",
        "attempt_settled",
        "task_freed",
        "agent_forked",
        "attempt_settled",
    ]
    assert (rows[0]["subject"], rows[0]["actor"]) == (task_id, rows[3]["actor"])


def test_a_task_that_is_over_is_tried_again_as_a_new_one(shop):
    task_id = shop.add("true", subject="again")
    shop.work()

    assert bare(shop.out("task", "retry", task_id, "--reason", "once more")) == ["<1> pending (again, after <2>)"]
    entry = shop.json("ledger", "list")[-1]
    assert (entry["kind"], entry["subject"], entry["body"]["reason"]) == ("task_requeued", task_id, "once more")
    assert f"error: task {entry['body']['heir']} tries {task_id} again" in shop.run("task", "retry", task_id).err

    new, old = shop.json("task", "list")
    assert (new["parent_task_id"], new["subject"], old["status"]) == (task_id, "again", "completed")
    done = shop.run("task", "retry", new["task_id"])
    assert done.code == 2
    assert "is pending: it is tried anyway" in done.err
    shop.out("task", "cancel", new["task_id"])
    assert shop.json("task", "retry", task_id)["status"] == "pending"


# --- wait and watch ---


def test_waiting_ends_as_the_tasks_did(shop):
    good, bad, over = shop.add("true"), shop.add("exit 1", max_attempts=1), shop.add("true")
    shop.out("task", "cancel", over)
    late = shop.run("task", "wait", good, bad, "--timeout", 0)
    shop.work()

    assert (late.code, bare(late.out)) == (5, ["<1> pending", "<2> pending"])
    assert (shop.run("task", "wait", good).code, shop.run("task", "wait", good, over).code) == (0, 2)
    done = shop.run("task", "wait", good, bad, over)
    assert (done.code, bare(done.out)) == (
        3,
        [
            "<1> completed",
            "<2> blocked: attempts used up (1 of 1): it ended with exit 1",
            "<3> operator_canceled: canceled by an operator",
        ],
    )
    assert [each["status"] for each in json.loads(shop.run("task", "wait", good, bad, "--json").out)] == [
        "completed",
        "blocked",
    ]


@pytest.mark.parametrize("seconds", ["nan", "-1", "soon"])
def test_seconds_that_are_none_are_mistakes_of_usage(shop, seconds):
    assert shop.run("task", "wait", "x", "--timeout", seconds).code == 1


def test_a_task_is_watched_while_it_runs(shop):
    go = shop.folder / "go"
    task_id = shop.add(f"echo one; echo two >&2; printf thr; until test -e '{go}'; do sleep 0.05; done; echo ee")

    with shop.runner(), shop.start("task", "watch", task_id) as watch:
        before = lines_until(watch, "! two")
        go.touch()
        after = [line.rstrip("\n") for line in watch.stdout]
        code = watch.wait()

    lines = bare("\n".join([*before, *after]))
    assert code == 0
    assert [line.split()[1] for line in lines if line.startswith("<time>")] == [
        "task_enqueued",
        "task_claimed",
        "bundle_compiled",
        "task_started",
        "task_attempt_finished",
        "task_finished",
    ]
    assert [line for line in lines if not line.startswith("<time>")] == ["| one", "! two", "| three", "<3> completed"]
    assert lines.index("| three") < next(place for place, line in enumerate(lines) if "attempt_finished" in line)


def test_a_task_is_watched_as_data_too(shop):
    task_id = shop.add("true")

    with shop.runner(), shop.start("task", "watch", task_id, "--json") as watch:
        told = [json.loads(line) for line in watch.stdout]

    assert told[0]["event_type"] == "task_enqueued"
    assert told[-1]["task"]["status"] == "completed"


def test_watching_what_is_over_tells_its_story(shop):
    task_id = shop.add("echo hidden; exit 1", max_attempts=1)
    shop.work()

    done = shop.run("task", "watch", task_id)

    assert done.code == 3
    assert bare(done.out)[-1] == "<4> blocked: attempts used up (1 of 1): it ended with exit 1"
    assert "hidden" not in done.out


# --- the world ---


def garbage(path):
    path.write_bytes(os.urandom(4096))


def newer(path):
    connection = apsw.Connection(str(path))
    connection.execute("CREATE TABLE schema_migrations (version INT, name TEXT, checksum TEXT, applied_at INT)")
    connection.execute("INSERT INTO schema_migrations VALUES (99, 'later', 'x', 1)")
    connection.close()


def others(path):
    connection = apsw.Connection(str(path))
    connection.execute("CREATE TABLE notes (text)")
    connection.close()


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (garbage, "is not a whole SQLite database"),
        (lambda path: path.mkdir(), "is not a regular file"),
        (os.mkfifo, "is not a regular file"),
        (lambda path: path.symlink_to("/etc/passwd"), "is a symbolic link"),
        (newer, "is newer than this keisei"),
        (others, "is a database of another program"),
    ],
    ids=["garbage", "folder", "pipe", "link", "newer", "others"],
)
def test_a_database_that_is_none_is_one_clear_error(shop, make, why):
    shop.state.mkdir(parents=True)
    make(shop.state / "state.db")

    for words in (["task", "list"], ["task", "add", "--intent", intent()], ["runner", "--once"]):
        done = shop.run(*words)
        assert done.code == 1
        assert why in done.err
        assert [line.split(":")[0] for line in done.err.splitlines()] == ["error", "  hint"]


def test_a_state_folder_that_cannot_be_is_one_clear_error(shop):
    shop.state.parent.mkdir(parents=True)
    shop.state.write_text("a file")

    done = shop.run("task", "list")

    assert done.code == 1
    assert done.err.startswith(f"error: the folder `{shop.state}` cannot be made")


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("mysql://ann:hunter2@host/db", "no database has an address that begins with `mysql`"),
        ("postgresql://ann:hunter2@127.0.0.1:1/db", "Connection refused"),
        ("postgresql://ann:hunter2@[/db", "not understood"),
        ("sqlite://relative.db", "no absolute path"),
        ("host=h user=ann password=hunter2", "no database has such an address"),
    ],
    ids=["scheme", "unreachable", "broken", "relative", "keywords"],
)
def test_an_address_that_leads_nowhere_is_one_clear_error_without_its_password(shop, url, why):
    shop.shell.setenv("KEISEI_DATABASE_URL", url)

    done = shop.run("task", "list")

    assert (done.code, done.out) == (1, "")
    assert why in done.err
    assert "hunter2" not in done.err


@pytest.mark.parametrize("words", [["task", "list"], ["runner", "--once"], ["adapter", "list"], ["compat", "status"]])
def test_a_folder_that_is_gone_is_one_clear_error(shop, words):
    gone = shop.shell.folder_of("gone")
    shop.shell.cd(gone)
    gone.rmdir()

    done = shop.run(*words)

    assert done.code == 1
    assert len(done.err.splitlines()) <= 2
    assert "the working directory does not exist any more" in done.err


def test_no_home_is_one_clear_error(shop):
    shop.shell.setenv("XDG_STATE_HOME", "relative")
    shop.shell.setenv("HOME", "relative")

    done = shop.run("task", "list")

    assert done.err == "error: there is no home folder for state\n  hint: set HOME, XDG_STATE_HOME or KEISEI_HOME\n"
    assert done.code == 1


def test_a_reader_that_goes_away_is_no_error(shop):
    shop.add("true")

    with shop.start("task", "list", "--json") as process:
        process.stdout.close()
        assert process.wait() == 0


@pytest.mark.parametrize(
    ("words", "unneeded"),
    [
        (["list"], {"psycopg", "rich", "jsonschema_rs", "http", "ssl", "subprocess"}),
        (["add", "--intent", intent()], {"psycopg", "rich", "http", "ssl"}),
    ],
    ids=["list", "add"],
)
def test_a_command_pays_for_nothing_it_does_not_need(shop, words, unneeded):
    modules = {name.partition(".")[0] for name in imported("task", *words)}

    assert "apsw" in modules
    assert shop.state.is_dir()
    assert modules & unneeded == set()
