"""Python atoms: what a call is given, what comes back, and what becomes of one that misbehaves."""

import os
import signal
import threading
import time
from pathlib import Path

import apsw
import pytest

from keisei.workers.worker import Ended, Worker
from tests.workers.atom import crew, is_alive, order, package, python_atom, spec

SWITCH = """
import ctypes, gc, json, os, resource, signal, subprocess, sys, threading, time

class Hostile(Exception):
    code = property(lambda self: 1 / 0)
    def __str__(self):
        raise KeyboardInterrupt

class Coded(Exception):
    def __init__(self, code, message):
        super().__init__(message)
        self.code = code

def raises(error):
    raise error

def daemon(path):
    if os.fork() == 0:
        os.setsid()
        if child := os.fork():
            open(path, "w").write(str(child))
        else:
            time.sleep(600)
        os._exit(0)
    os.wait()
    return {}

def forge():
    for number in range(3, 64):
        try:
            os.write(number, b'{"kind":"done","id":"x","output":{}}\\n')
        except OSError:
            pass
    return {}

def nested(depth):
    value = []
    for _ in range(depth):
        value = [value]
    return value

def spoil():
    json.dumps = json.loads = json.JSONEncoder.encode = json.JSONDecoder.decode = None
    json.encoder.c_make_encoder = json.decoder.scanstring = None
    os.write = os._exit = os.waitpid = time.monotonic = signal.getsignal = None
    return {}

def shape():
    os.chdir("/tmp"); os.umask(0); os.environ.clear(); os.environ["X"] = "1"
    sys.path.append("/nowhere")
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.alarm(1)
    return {}

def nothing():
    sys.stdout.close(); sys.stderr.close(); os.closerange(0, 3)
    return {}

held = []

def hold(**what):
    held.append(what)
    return {}

DEEDS = {
    "pid": lambda i, c: {"pid": os.getpid(), "cwd": os.getcwd(), "umask": os.umask(0o22), "x": os.environ.get("X")},
    "print": lambda i, c: (print("said on stdout"), os.write(1, b"raw\\n"), sys.stderr.write("err\\n"), {})[-1],
    "close": lambda i, c: nothing(),
    "_exit": lambda i, c: os._exit(0),
    "exit": lambda i, c: sys.exit("over"),
    "interrupt": lambda i, c: raises(KeyboardInterrupt()),
    "hostile": lambda i, c: raises(Hostile()),
    "lower": lambda i, c: raises(Coded("e3q8", "not ours")),
    "coded": lambda i, c: raises(Coded("NotFound", "no such thing")),
    "error": lambda i, c: raises(c.error("NotFound", "nothing here")),
    "value": lambda i, c: raises(ValueError("bad value")),
    "surrogates": lambda i, c: raises(ValueError("half \\ud800 pair")),
    "none": lambda i, c: None,
    "set": lambda i, c: {1, 2},
    "key": lambda i, c: [{"a": ({"1": 1, 1: 2},)}],
    "nan": lambda i, c: {"x": float("nan")},
    "surrogate": lambda i, c: {"x": "\\ud800"},
    "big": lambda i, c: {"x": 10 ** 40, "echo": i.get("n")},
    "huge": lambda i, c: {"x": 10 ** 5000},
    "nested": lambda i, c: nested(i["depth"]),
    "free": lambda i, c: (sys.setrecursionlimit(100000), nested(5000))[-1],
    "spoil": lambda i, c: spoil(),
    "shape": lambda i, c: shape(),
    "thread": lambda i, c: (threading.Thread(target=time.sleep, args=(600,), daemon=True).start(), {})[-1],
    "joined": lambda i, c: ((t := threading.Thread(target=int)).start(), t.join(), {"pid": os.getpid()})[-1],
    "ran": lambda i, c: {"out": subprocess.check_output(["/bin/echo", "yes"], text=True), "pid": os.getpid()},
    "fork": lambda i, c: {"pid": os.getpid()} if os.fork() else time.sleep(600),
    "twice": lambda i, c: (os.fork(), {"pid": os.getpid()})[-1],
    "daemon": lambda i, c: daemon(i.get("path", os.devnull)),
    "stdin": lambda i, c: {"read": sys.stdin.read()},
    "forge": lambda i, c: forge(),
    "flood": lambda i, c: {"x": "a" * (17 << 20)},
    "shout": lambda i, c: ([os.write(1, b"x" * 65536) for _ in range(1100)], {})[-1],
    "leak": lambda i, c: hold(memory=bytearray(b"x") * (300 << 20)),
    "files": lambda i, c: hold(files=[os.open("/", 0) for _ in range(40)]),
    "memory": lambda i, c: {"x": len(bytearray(6 << 30))},
    "sleep": lambda i, c: time.sleep(600),
    "ignore": lambda i, c: [signal.signal(signal.SIGTERM, signal.SIG_IGN), time.sleep(600)],
    "segv": lambda i, c: os.kill(os.getpid(), signal.SIGSEGV),
    "generator": lambda i, c: (n for n in range(3)),
    "echo": lambda i, c: i,
}

def run(input, context):
    return DEEDS[input.get("do", "pid")](input, context)
"""


def nested(depth):
    value = []
    for _ in range(depth):
        value = [value]
    return value


@pytest.fixture(scope="module")
def atom(tmp_path_factory):
    return python_atom(tmp_path_factory.mktemp("switch"), SWITCH, errors=("NotFound",))


@pytest.fixture
def do(staff, atom):
    """One deed; afterwards the next call works."""

    def done(deed, **more):
        timeout_s = more.pop("timeout_s", 10.0)
        return staff.call(order(atom, {"do": deed, **more}, timeout_s=timeout_s))

    yield done
    assert staff.call(order(atom, {"do": "echo"})).output == {"do": "echo"}


def test_a_warm_worker_answers_one_call_after_the_other(do):
    first, second = do("pid"), do("pid")

    assert first.output == second.output
    assert (first.error, first.exit_code, first.said) == (None, 0, "")


@pytest.mark.parametrize(
    ("deed", "code", "message"),
    [
        ("exit", None, "SystemExit: over"),
        ("interrupt", None, "KeyboardInterrupt"),
        ("hostile", None, "Hostile"),
        ("lower", None, "Coded: not ours"),
        ("coded", "NotFound", "no such thing"),
        ("error", "NotFound", "nothing here"),
        ("value", None, "ValueError: bad value"),
        ("surrogates", None, "ValueError: half ? pair"),
    ],
)
def test_an_exception_is_an_atom_error(do, deed, code, message):
    pid = do("pid").output["pid"]

    told = do(deed)

    assert (told.error.kind, told.error.code, told.error.message) == ("atom", code, message)
    assert told.exit_code == 2
    assert told.output is None
    assert do("pid").output["pid"] == pid


def test_the_traceback_is_said_and_not_told(do):
    told = do("value")

    assert "Traceback" in told.said
    assert "bad value" in told.said
    assert "Traceback" not in told.error.message


@pytest.mark.parametrize(
    ("deed", "words"),
    [
        ("set", "a value of type set is no JSON"),
        ("key", "a key of type int is no text"),
        ("nan", "Out of range float values"),
        ("surrogate", "half a surrogate pair"),
        ("huge", "4300"),
        ("generator", "a value of type generator is no JSON"),
        ("free", "nested too deeply"),
    ],
)
def test_an_output_that_is_no_json_is_told_as_that(do, deed, words):
    told = do(deed)

    assert told.error.kind == "schema-out"
    assert words in told.error.message
    assert told.exit_code == 2


def test_an_output_that_is_nested_too_deeply_is_told_as_that(do):
    assert do("nested", depth=200).output is not None
    assert "nested too deeply" in do("nested", depth=20_000).error.message


def test_numbers_of_any_size_and_text_of_any_script_come_through(do):
    data = {"do": "echo", "n": 10**40, "t": 'é😀\u2028\x00\n"', "f": 1e-300}

    told = do(**{"deed": "echo", **{key: value for key, value in data.items() if key != "do"}})

    assert told.output == data
    assert do("none").output is None


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"x": "\ud800"}, "half a surrogate pair"),
        ({"x": float("inf")}, "Out of range"),
        ({"x": {1, 2}}, "not JSON serializable"),
        (nested(100_000), "nested too deeply"),
    ],
    ids=["surrogate", "infinity", "set", "nested"],
)
def test_an_input_that_is_no_json_is_a_usage_error(staff, atom, data, words):
    told = staff.call(order(atom, data))

    assert told.error.kind == "usage"
    assert words in told.error.message
    assert told.exit_code == 1


def test_what_is_printed_is_said_to_people(do):
    told = do("print")

    assert told.output == {}
    assert told.said == "said on stdout\nraw\nerr\n"
    assert do("pid").said == ""


def test_standard_input_is_empty(do):
    assert do("stdin").output == {"read": ""}


@pytest.mark.parametrize(
    ("deed", "words"),
    [
        ("_exit", "exit code 0 before it answered"),
        ("segv", "SIGSEGV before it answered"),
        ("forge", "wrote into the talk"),
        ("flood", "too long"),
        ("shout", "wrote more than 67108864 bytes"),
        ("memory", "out of memory"),
    ],
)
def test_a_process_that_breaks_down_is_killed_and_only_that_call_fails(do, deed, words):
    told = do(deed)

    assert told.error.kind == "killed"
    assert words in told.error.message
    assert told.exit_code == 1


@pytest.mark.parametrize("deed", ["close", "thread", "fork", "daemon", "leak", "files", "shape"])
def test_a_worker_that_is_not_as_it_was_is_not_used_again(do, deed):
    before = do("pid").output

    assert do(deed).error is None

    after = do("pid").output
    assert after["pid"] != before["pid"]
    assert not is_alive(before["pid"])
    assert {**after, "pid": 0} == {**before, "pid": 0}


@pytest.mark.parametrize("deed", ["spoil", "joined", "ran", "nested"])
def test_a_worker_that_is_as_it_was_goes_on(do, deed):
    before = do("pid").output["pid"]

    do(deed, depth=5)

    assert do("pid").output["pid"] == before


def test_a_forked_child_that_comes_back_does_not_answer(do):
    pid = do("pid").output["pid"]

    assert do("twice").output["pid"] == pid


def test_nothing_of_a_daemon_is_left(do, tmp_path):
    assert do("daemon", path=str(tmp_path / "pid")).error is None

    assert not is_alive((tmp_path / "pid").read_text())


@pytest.mark.parametrize("deed", ["sleep", "ignore"])
def test_a_call_that_takes_too_long_is_ended(do, deed):
    pid = do("pid").output["pid"]

    told = do(deed, timeout_s=0.2)

    assert (told.error.kind, told.exit_code) == ("timeout", 5)
    assert "did not finish within 0.2 s" in told.error.message
    assert not is_alive(pid)


def test_an_atom_that_is_ended_may_clean_up(staff, tmp_path):
    source = """
import time
def run(input, context):
    try:
        time.sleep(600)
    finally:
        open(input["path"], "w").close()
"""
    told = staff.call(order(python_atom(tmp_path, source), {"path": str(tmp_path / "clean")}, timeout_s=0.1))

    assert told.error.kind == "timeout"
    assert (tmp_path / "clean").exists()


def test_a_worker_that_died_while_it_was_idle_is_replaced(do):
    pid = do("pid").output["pid"]
    os.kill(pid, signal.SIGKILL)

    assert do("pid").output["pid"] != pid


def test_a_worker_that_does_not_begin_is_replaced(staff, tmp_path):
    stuck = python_atom(tmp_path, "import os\ndef run(i, c):\n    return os.getpid()\n")
    pid = staff.call(order(stuck)).output
    os.kill(pid, signal.SIGSTOP)
    killer = threading.Timer(0.05, os.kill, (pid, signal.SIGKILL))
    killer.start()

    told = staff.call(order(stuck))

    killer.join()
    assert told.error is None
    assert told.output != pid


def test_the_context_tells_an_atom_about_its_call(staff, tmp_path):
    source = """
import os
def run(input, context):
    context.log.info("hello %s", context.atom)
    return {
        "atom": context.atom, "id": context.invocation_id, "path": context.database_path,
        "deadline": context.deadline, "left": context.remaining_s(),
        "env": dict(os.environ), "cwd": os.getcwd(),
    }
"""
    told = staff.call(
        order(python_atom(tmp_path, source), invocation_id="inv_7", timeout_s=5, env={"A": "1"}, cwd=str(tmp_path))
    )

    output = told.output
    assert (output["atom"], output["id"], output["path"]) == ("kei-thing::do", "inv_7", None)
    assert 0 < output["left"] <= 5
    assert abs(output["deadline"] - time.time() - output["left"]) < 5
    assert output["cwd"] == str(tmp_path)
    assert output["env"].pop("KEISEI_TREE")
    assert float(output["env"].pop("KEISEI_DEADLINE")) == output["deadline"]
    assert output["env"] == {"A": "1", "KEISEI_INVOCATION_ID": "inv_7"} | _locale(output["env"])
    assert told.said == "INFO hello kei-thing::do\n"


def _locale(env):
    """What the interpreter itself may add."""
    return {key: env[key] for key in env if key == "LC_CTYPE"}


def test_two_environments_do_not_share_a_worker(staff, tmp_path):
    source = "import os\nKEPT = os.environ['A']\ndef run(i, c):\n    return [KEPT, os.getpid()]\n"
    atom = python_atom(tmp_path, source)

    told = [staff.call(order(atom, env={"A": value})).output for value in ("1", "2", "1")]

    assert [value for value, _ in told] == ["1", "2", "1"]
    assert told[0] == told[2]


ONCE = """
def run(input, context):
    def work(db):
        db.execute("INSERT INTO things VALUES (?)", (input["n"],))
        if input.get("fail"):
            raise context.error("NotFound", "no")
        if input.get("commit"):
            db.execute("COMMIT")
        return {"n": input["n"], "t": "é"}
    if input.get("open"):
        context.database().execute("BEGIN IMMEDIATE")
        return {}
    if input.get("twice"):
        context.once(work)
    return context.once(work)
"""


@pytest.fixture
def database(tmp_path):
    path = str(tmp_path / "state.db")
    with apsw.Connection(path) as db:
        db.execute("CREATE TABLE things (n)")
        db.execute(
            "CREATE TABLE keisei_calls (invocation_id TEXT PRIMARY KEY, output TEXT NOT NULL, called_at TEXT NOT NULL)"
        )
    return path


def rows(path):
    return [n for (n,) in apsw.Connection(path).execute("SELECT n FROM things ORDER BY n")]


def test_under_one_id_the_work_is_done_once(staff, tmp_path, database):
    atom = python_atom(tmp_path, ONCE)

    told = [
        staff.call(order(atom, {"n": n}, invocation_id=identity, database=database)).output
        for n, identity in ((1, "a"), (2, "a"), (3, "b"))
    ]

    assert told == [{"n": 1, "t": "é"}, {"n": 1, "t": "é"}, {"n": 3, "t": "é"}]
    assert rows(database) == [1, 3]


def test_old_answers_are_taken_away_a_few_at_a_time(staff, tmp_path, database):
    with apsw.Connection(database) as db:
        kept = [(f"old-{n}", "1", "2020-01-01T00:00:00Z") for n in range(101)] + [("new", "1", "2999-01-01T00:00:00Z")]
        db.executemany("INSERT INTO keisei_calls VALUES (?, ?, ?)", kept)

    staff.call(order(python_atom(tmp_path, ONCE), {"n": 1}, invocation_id="a", database=database))

    left = [name for (name,) in apsw.Connection(database).execute("SELECT invocation_id FROM keisei_calls")]
    assert len(left) == 3
    assert {"new", "a"} < set(left)


def test_work_that_fails_writes_nothing_and_may_be_done_again(staff, tmp_path, database):
    atom = python_atom(tmp_path, ONCE, errors=("NotFound",))

    failed = staff.call(order(atom, {"n": 1, "fail": True}, invocation_id="a", database=database))
    again = staff.call(order(atom, {"n": 1}, invocation_id="a", database=database))

    assert failed.error.code == "NotFound"
    assert again.output["n"] == 1
    assert rows(database) == [1]


def test_work_may_not_end_its_own_transaction(staff, tmp_path, database):
    told = staff.call(order(python_atom(tmp_path, ONCE), {"n": 1, "commit": True}, database=database))

    assert "must not end the transaction" in told.error.message


def test_a_call_has_one_answer_to_keep(staff, tmp_path, database):
    """A second one would be told the first one's answer, and its work would never be done."""
    told = staff.call(order(python_atom(tmp_path, ONCE), {"n": 1, "twice": True}, database=database))

    assert "context.once is for the whole of a call" in told.error.message


def test_a_transaction_left_open_holds_nobody_up(staff, tmp_path, database):
    atom = python_atom(tmp_path, ONCE)
    assert staff.call(order(atom, {"n": 0, "open": True}, database=database)).output == {}

    with apsw.Connection(database) as db:
        db.execute("INSERT INTO things VALUES (9)")

    assert rows(database) == [9]


def test_a_package_without_a_database_says_so(staff, tmp_path):
    told = staff.call(order(python_atom(tmp_path, ONCE), {"n": 1}))

    assert told.error.message == "RuntimeError: the package of kei-thing::do has no database"


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("import nowhere_at_all", "ModuleNotFoundError: No module named 'nowhere_at_all'"),
        ("def run(", "SyntaxError: '(' was never closed"),
        ("x = 1", "it has no function `run`"),
        ("run = 1", "its `run` is no function"),
        ("raise SystemExit(3)", "SystemExit: 3"),
        ("\x00", "null bytes"),
    ],
)
def test_a_function_that_cannot_be_loaded_is_told_as_that(staff, tmp_path, source, words):
    told = staff.call(order(python_atom(tmp_path, source)))

    assert (told.error.kind, told.exit_code) == ("io", 1)
    assert told.error.message.startswith("the function of kei-thing::do cannot be loaded: ")
    assert words in told.error.message


def test_a_function_that_is_gone_is_told_as_that(staff, tmp_path):
    atom = python_atom(tmp_path, "def run(i, c):\n    return {}\n")
    Path(atom.function).unlink()

    assert "FileNotFoundError" in staff.call(order(atom)).error.message


def test_loading_that_breaks_down_is_killed_and_loading_that_hangs_times_out(tmp_path):
    broken = python_atom(tmp_path, "import os\nos._exit(7)", name="kei-broken")
    hanging = python_atom(tmp_path, "import time\ntime.sleep(600)", name="kei-hanging")

    with crew(load_s=0.3) as made:
        first, second = made.call(order(broken)), made.call(order(hanging))

    assert (first.error.kind, first.exit_code) == ("killed", 1)
    assert "exit code 7" in first.error.message
    assert (second.error.kind, second.exit_code) == ("timeout", 5)
    assert second.error.message == "the function of kei-hanging::do was not loaded within 0.3 s"


def test_loading_takes_no_longer_than_the_call_may(tmp_path, monkeypatch):
    monkeypatch.setattr("keisei.workers.crew.LOADING_S", 0.2)
    hanging = python_atom(tmp_path, "import time\ntime.sleep(600)")

    with crew() as made:
        told = made.call(order(hanging, timeout_s=0.1))

    assert told.error.message == "the function of kei-thing::do was not loaded within 0.2 s"


class Mute:
    """A process that lives and says nothing."""

    pid, write, cancel = 1, print, print

    def pump(self, _timeout_s):
        return True

    def wait(self):
        return None


def test_one_that_never_begins_with_its_first_call_is_late_and_no_other_is_tried(tmp_path):
    given = order(python_atom(tmp_path, "def run(i, c):\n    return {}\n"), timeout_s=3.0)
    worker = Worker(given, 1000)
    worker.start(given, lambda *_args, **_more: Mute(), "python", 0.0)

    with pytest.raises(Ended) as ended:
        worker.begin(given, b"", "id", 0.0)

    assert ended.value.answer.error.kind == "timeout"


def test_a_folder_that_is_not_there_is_told_as_that(staff, atom, tmp_path):
    other = python_atom(tmp_path, "def run(i, c):\n    return {}\n")
    assert staff.call(order(atom)).error is None

    warm = staff.call(order(atom, cwd=str(tmp_path / "none")))
    cold = staff.call(order(other, cwd=str(tmp_path / "none")))

    assert [(told.error.kind, told.exit_code) for told in (warm, cold)] == [("io", 1), ("io", 1)]
    assert "cannot be entered" in warm.error.message
    assert "cannot be started" in cold.error.message


def imported(folder, source):
    """An atom of an import package."""
    atoms = folder / "kei_deep" / "atoms"
    atoms.mkdir(parents=True)
    (folder / "kei_deep" / "__init__.py").write_text("NAME = 'deep'\n")
    (folder / "kei_deep" / "inner.py").write_text("VALUE = 1\n")
    (atoms / "put_in.py").write_text(source)
    found = package(folder, "kei-deep", "kei_deep")
    return spec(found, "put-in", str(atoms / "put_in.py"))


def test_an_atom_of_an_import_package_is_imported_by_its_name(staff, tmp_path):
    source = (
        "from kei_deep import NAME\nfrom ..inner import VALUE\ndef run(i, c):\n    return [NAME, VALUE, __name__]\n"
    )

    told = staff.call(order(imported(tmp_path, source)))

    assert told.output == ["deep", 1, "kei_deep.atoms.put_in"]
    assert list(tmp_path.rglob("__pycache__")) == []


def test_an_edit_anywhere_in_the_package_is_seen_by_the_next_call(staff, tmp_path):
    atom = imported(tmp_path, "from ..inner import VALUE\ndef run(i, c):\n    return VALUE\n")
    assert staff.call(order(atom)).output == 1

    (tmp_path / "kei_deep" / "inner.py").write_text("VALUE = 2\n")

    assert staff.call(order(atom)).output == 2


def test_other_files_in_the_package_are_no_edit(staff, tmp_path):
    source = "import os\ndef run(i, c):\n    open(__file__ + '.db', 'a').close()\n    return os.getpid()\n"
    atom = python_atom(tmp_path, source)

    assert staff.call(order(atom)).output == staff.call(order(atom)).output
    (Path(atom.function).parent / "new.py").touch()
    assert len({staff.call(order(atom)).output for _ in range(2)}) == 1


def test_another_module_in_the_way_is_told_as_that(staff, tmp_path):
    atoms = tmp_path / "json" / "atoms"
    atoms.mkdir(parents=True)
    (atoms / "do.py").write_text("def run(i, c):\n    return {}\n")

    told = staff.call(order(spec(package(tmp_path, "json", "json"), "do", str(atoms / "do.py"))))

    assert "cannot be loaded" in told.error.message


def test_a_folder_whose_name_is_no_text_will_do(staff, tmp_path):
    folder = os.fsdecode(os.fsencode(tmp_path) + b"/\xff")
    Path(folder).mkdir()
    atom = python_atom(Path(folder), "import os\ndef run(i, c):\n    return os.getcwdb() == os.fsencode(os.getcwd())\n")

    assert staff.call(order(atom, cwd=folder)).output is True
    assert "cannot be entered" in staff.call(order(atom, cwd=f"{folder}/none")).error.message


def test_a_stream_is_not_called(staff, tmp_path):
    atom = python_atom(tmp_path, "def run(i, c):\n    yield 1\n", kind="stream")

    told = staff.call(order(atom))

    assert (told.error.kind, told.exit_code) == ("usage", 1)
