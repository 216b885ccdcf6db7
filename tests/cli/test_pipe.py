"""`keisei pipe` and `kei-runtime pipe`: what is printed where, and which exit code means what."""

import json
import os
import signal
import subprocess
import time
from contextlib import closing

import pytest

import keisei.cli.door
import keisei.workers.crew
from keisei.cli import kei_runtime, kei_task
from keisei.cli.pipe_progress import BarTeller, LineTeller
from keisei.store import open_store
from tests.cli.pipes import fan, make_package
from tests.cli.shell import BIN, Shell

TWO = """
[[steps]]
capture_as = "low"
atom = "kei-pipe-test::upper"
input = { text = "a${input.more}" }
[[steps]]
atom = "kei-pipe-test::upper"
input = { text = "${low.text}!" }
"""


@pytest.fixture
def shell(tmp_path, monkeypatch, capsysbinary):
    found = Shell(tmp_path, monkeypatch, capsysbinary)
    found.setenv("KEISEI_HOME", tmp_path / "state")
    found.root = make_package(tmp_path / "root")
    return found


def write(shell, text, name="dag.toml"):
    (shell.folder / name).write_text(text, encoding="utf-8")
    return name


def pipe(shell, *words, command="keisei"):
    return shell.run("pipe", *words, "--root", shell.root, command=command)


def events(done):
    return [json.loads(line) for line in done.err.splitlines() if line.startswith("{")]


def test_a_bare_file_is_run_and_one_line_tells_what_came_of_it(shell):
    write(shell, TWO)

    done = pipe(shell, "dag.toml", "--input", '{"more": "b"}', command="kei-runtime")

    assert done.code == 0
    assert done.out.count("\n") == 1
    report = json.loads(done.out)
    assert (report["status"], report["final_result"]) == ("completed", {"text": "AB!"})
    assert [(step["id"], step["ok"], step["result"], step["source"]) for step in report["steps"]] == [
        ("low", True, {"text": "AB"}, "ran"),
        ("step-2", True, {"text": "AB!"}, "ran"),
    ]
    assert {(event["event"], event.get("status")) for event in events(done)} >= {
        ("run", "running"),
        ("run", "completed"),
    }


def test_what_is_kept_comes_from_the_cache_and_says_so(shell):
    write(shell, TWO)
    pipe(shell, "run", "dag.toml", "--input", '{"more": 1}')

    again = json.loads(pipe(shell, "run", "dag.toml", "--input", '{"more": 1}').out)
    without = json.loads(pipe(shell, "run", "dag.toml", "--input", '{"more": 1}', "--no-cache").out)

    assert [step["source"] for step in again["steps"]] == ["cache", "cache"]
    assert again["steps"][0]["note"].startswith("kept from ")
    assert [step["source"] for step in without["steps"]] == ["ran", "ran"]


def test_a_failure_exits_2_and_resume_goes_on(shell):
    text = TWO + '[[steps]]\ncapture_as = "no"\natom = "kei-pipe-test::refuse"\nneeds = ["low"]\n'
    write(shell, text)

    done = pipe(shell, "run", "dag.toml", "--input", '{"more": "b"}')

    report = json.loads(done.out)
    assert (done.code, report["status"]) == (2, "failed")
    assert report["steps"][2]["error"]["code"] == "Refused"
    assert "\x1b" not in done.err
    assert f"keisei pipe resume {report['run_id']}" in done.err
    write(shell, text.replace('::refuse"', '::upper"\ninput = { text = "ok" }'), "mended.toml")
    again = pipe(shell, "resume", report["run_id"][:-3], "--file", "mended.toml")
    assert again.code == 0
    assert json.loads(again.out)["steps"][2]["result"] == {"text": "OK"}
    assert [event["step"] for event in events(again) if event["event"] == "member"] == ["no"]


def test_a_timeout_exits_5_and_what_may_have_been_done_needs_a_person(shell):
    write(shell, '[[steps]]\ncapture_as = "z"\natom = "kei-pipe-test::sleep"\n')

    done = pipe(shell, "dag.toml")

    run_id = json.loads(done.out)["run_id"]
    assert (done.code, json.loads(done.out)["steps"][0]["state"]) == (5, "unknown")
    again = pipe(shell, "resume", run_id)
    assert (again.code, json.loads(again.out)["status"]) == (3, "blocked")
    assert "--force" in again.err
    shown = shell.run("pipe", "show", run_id)
    assert "status: blocked" in shown.out
    assert "unknown" in shown.out


def test_a_stream_flows_into_a_fan_out(shell):
    path = shell.folder / "done.txt"
    write(
        shell,
        '[[steps]]\ncapture_as = "s"\natom = "kei-pipe-test::count"\ninput = { n = 7 }\n'
        f'[[steps]]\natom = "kei-pipe-test::add"\nfor_each = "$s"\ninput = {{ n = "$item.n", path = "{path}" }}\n',
    )

    done = pipe(shell, "dag.toml")

    assert done.code == 0
    assert json.loads(done.out)["final_result"] == [{"n": number} for number in range(7)]
    assert json.loads(done.out)["steps"][1]["members"] == {"done": 7}
    assert len(path.read_text(encoding="utf-8").splitlines()) == 7


def test_a_plan_says_why_and_runs_nothing(shell):
    path = shell.folder / "done.txt"
    write(shell, fan("add", path, 0)[0])

    plain = pipe(shell, "plan", "dag.toml")
    dry = pipe(shell, "run", "dag.toml", "--dry-run", "--json")

    assert plain.code == dry.code == 0
    assert "never retried" in plain.out
    (step,) = json.loads(dry.out)["steps"]
    assert (step["serial"], step["cached"], step["retry"]["max"]) == (True, False, 0)
    assert not path.exists()
    assert shell.run("pipe", "list", "--json").out.strip() == "[]"


@pytest.mark.parametrize(("form", "begins"), [("mermaid", "flowchart"), ("dot", "digraph"), ("json", "{")])
def test_a_pipe_is_drawn(shell, form, begins):
    write(shell, TWO)

    assert pipe(shell, "graph", "dag.toml", "--graph", form).out.startswith(begins)
    assert pipe(shell, "dag.toml", "--graph", form).out.startswith(begins)


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        ("[[steps]]\natom = 'kei-pipe-test::nope'\n", 2, "missing-atom"),
        ("[[steps]]\natom = 'kei-pipe-test::upper'\ninput = { text = '$who.x' }\n", 1, "dag.toml:3:"),
        ("[[steps\n", 1, "dag.toml:"),
        ("", 1, "dag.toml"),
    ],
    ids=["unknown atom", "unknown step", "no toml", "empty"],
)
def test_a_bad_file_is_one_clear_error(shell, text, code, said):
    write(shell, text)

    done = pipe(shell, "run", "dag.toml")

    assert (done.code, done.out) == (code, "")
    assert said in done.err
    assert "Traceback" not in done.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("nowhere.toml",), "nowhere.toml"),
        (("run", "dag.toml", "--input", "{"), "not JSON"),
        (("run", "dag.toml", "--input", "@none"), "no file"),
        (("resume", "nope"), "no run has the id `nope`"),
        (("resume", "a\x00b", "--restart"), "no run has the id"),
        (("resume", "x", "--only", "a", "--restart"), "say different things"),
        (("run",), "Missing argument"),
        (("run", "dag.toml", "--max-parallel", "0"), "max-parallel"),
    ],
)
def test_bad_words_are_one_clear_error(shell, words, said):
    write(shell, TWO)

    done = pipe(shell, *words)

    assert done.code == 1
    assert said in done.err
    assert "Traceback" not in done.err


def test_a_secret_input_is_not_kept_and_asked_for_again(shell):
    write(
        shell,
        '[[steps]]\natom = "kei-pipe-test::login"\ninput = { token = "$input.token" }\n'
        '[[steps]]\natom = "kei-pipe-test::refuse"\n',
    )
    done = pipe(shell, "dag.toml", "--input", '{"token": "hunter2-hunter2"}')
    run_id = json.loads(done.out)["run_id"]

    again = pipe(shell, "resume", run_id)

    assert (done.code, again.code) == (2, 1)
    assert "give it again with --input" in again.err
    data = b"".join(path.read_bytes() for path in (shell.folder / "state").rglob("*") if path.is_file())
    assert b"hunter2" not in data
    assert "hunter2" not in done.out + done.err


def test_runs_are_listed_and_shown(shell):
    write(shell, TWO)
    ids = [json.loads(pipe(shell, "dag.toml", "--input", '{"more": 1}').out)["run_id"] for _ in range(2)]

    listed = json.loads(shell.run("pipe", "list", "--json").out)
    shown = json.loads(shell.run("pipe", "show", ids[0], "--json").out)

    assert [each["run_id"] for each in listed] == ids[::-1]
    assert (shown["status"], shown["final_result"]) == ("completed", {"text": "A1!"})
    assert ids[1] in shell.run("pipe", "list").out
    assert "step-2" in shell.run("pipe", "show", ids[0]).out
    folder = shell.folder / "state" / "default"
    with closing(open_store(f"sqlite://{folder / 'state.db'}")) as store:
        store.take_run(store.pipe_run(ids[0]))
    assert "interrupted" not in shell.run("pipe", "list").out
    (folder / "run" / f"pipe-{ids[0]}.lock").touch()
    assert "it was interrupted" in shell.run("pipe", "list").out
    assert "running (it was interrupted" in shell.run("pipe", "show", ids[0]).out
    many = shell.run("pipe", "show", ids[0][:4])
    assert (many.code, "the ids of several runs begin with" in many.err) == (1, True)


def test_ctrl_c_twice_ends_the_calls_and_leaves_a_run_that_goes_on(shell):
    path = shell.folder / "done.txt"
    text, given = fan("put", path, 20, hold=5)
    write(shell, text)
    hold = path.with_name("done.txt.hold")
    hold.touch()
    runner = subprocess.Popen(
        # whoever runs these tests in the background ignores the signal, and so would the program
        ["env", "--default-signal=INT", BIN / "keisei", "pipe", "dag.toml", "--input", given, "--root", shell.root],
        env=os.environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 20
    while not path.exists() or len(path.read_text(encoding="utf-8").splitlines()) < 8:
        assert time.monotonic() < deadline
        time.sleep(0.005)
    runner.send_signal(signal.SIGINT)
    runner.send_signal(signal.SIGINT)
    out, _ = runner.communicate(timeout=20)

    report = json.loads(out)
    assert (runner.returncode, report["status"]) == (130, "canceled")
    hold.unlink()
    done = pipe(shell, "resume", report["run_id"])
    assert (done.code, json.loads(done.out)["status"]) == (0, "completed")
    assert json.loads(done.out)["final_result"] == [{"n": number} for number in range(20)]


def test_two_at_once_are_told_apart(shell):
    path = shell.folder / "done.txt"
    text, given = fan("put", path, 5, hold=2)
    write(shell, text)
    hold = path.with_name("done.txt.hold")
    hold.touch()
    runner = subprocess.Popen(
        [BIN / "keisei", "pipe", "dag.toml", "--input", given, "--root", shell.root],
        env=os.environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 20
    while not path.exists():
        assert time.monotonic() < deadline
        time.sleep(0.005)
    (run,) = json.loads(shell.run("pipe", "list", "--json").out)

    second = pipe(shell, "resume", run["run_id"])

    assert second.code == 1
    assert "another process runs" in second.err
    hold.unlink()
    out, _ = runner.communicate(timeout=20)
    assert json.loads(out)["status"] == "completed"
    assert list((shell.folder / "state" / "default").rglob("pipe-*.lock")) == []


def test_a_reader_that_goes_away_does_not_make_a_failed_run_a_good_one(shell):
    write(shell, '[[steps]]\natom = "kei-pipe-test::refuse"\n')
    runner = subprocess.Popen(
        [BIN / "keisei", "pipe", "dag.toml", "--root", shell.root],
        env=os.environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    runner.stdout.close()
    said = runner.stderr.read().decode()

    assert (runner.wait(timeout=20), "the pipe failed" in said) == (2, True)
    assert "Traceback" not in said
    runner.stderr.close()


def test_as_many_processes_as_calls_side_by_side(shell, monkeypatch):
    most, pool = [], keisei.workers.crew.Pool
    monkeypatch.setattr(keisei.workers.crew, "Pool", lambda count: most.append(count) or pool(count))
    write(shell, TWO)

    for words in ((), ("--max-parallel", "16")):
        assert pipe(shell, "dag.toml", "--input", '{"more": 1}', *words).code == 0

    assert most == [8, 16]


@pytest.mark.parametrize("door", [kei_runtime, kei_task])
def test_ctrl_c_before_the_door_is_open_is_no_traceback(door, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(keisei.cli.door, "run", interrupted)
    monkeypatch.setattr("sys.argv", ["x", "list"])

    assert door() == 130


@pytest.mark.parametrize(("explain", "count"), [(True, 3), (False, 1)])
def test_whoever_asks_is_told_of_every_miss(capsys, explain, count):
    lines = LineTeller(explain=explain)
    for number in range(3):
        lines.tell({"event": "member", "step": "f", "index": number, "state": "done", "note": "never called"})

    assert capsys.readouterr().err.count("never called") == count


def test_the_bar_shows_what_runs_and_nothing_an_atom_says_moves_the_cursor(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    bar = BarTeller(explain=True)
    bar.tell({"event": "run", "status": "running", "steps": 2})
    bar.tell({"event": "step", "step": "f", "atom": "a::b", "state": "running"})
    bar.tell({"event": "said", "step": "f", "text": "one\x1b[2Jtwo\nthree"})
    bar.tell(
        {"event": "member", "step": "f", "index": 1, "state": "done", "done": 2, "total": 9, "note": "never called"}
    )
    bar.tell({"event": "try", "step": "f", "index": 3, "error": "b\x07usy", "again_in_ms": 200})
    bar.tell(
        {
            "event": "step",
            "step": "f",
            "atom": "a::b",
            "state": "failed",
            "error": f"{'no' * 40}\r\nway",
            "duration_ms": 3.2,
        }
    )
    bar.close()

    said = capsys.readouterr().err
    assert "f 2/9" in said
    assert "cache   f [1]: never called" in said
    assert "1/2" in said
    assert "no" * 40 in said
    rest = said.replace("\r\x1b[2K", "")
    assert not {"\x1b", "\r", "\x07"} & set(rest)
