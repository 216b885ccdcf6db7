"""Programs: what they are given, what their streams and exit codes mean, and what becomes of those that misbehave."""

import pytest

from keisei.records.error import MissingProgram
from tests.workers.atom import crew, is_alive, order, program_atom, python_program

SHELL = "#!/bin/sh\n"
PYTHON = "import os, sys, time\n"


@pytest.fixture
def call(tmp_path):
    """Write a program and call it."""
    place = {}

    def called(source, data=None, **more):
        settings = {key: more.pop(key) for key in ("errors", "mode") if key in more}
        spec, place["program"] = program_atom(tmp_path, source, **settings)
        return made.call(order(spec, data, **more))

    with crew(lambda _package: place["program"]) as made:
        yield called


def test_it_is_given_its_verb_its_input_and_its_environment(call):
    source = SHELL + 'read line\necho "{\\"in\\":$line,\\"args\\":\\"$*\\",\\"id\\":\\"$KEISEI_INVOCATION_ID\\"}"\n'

    told = call(source, {"a": "é"}, invocation_id="inv_3")

    assert told.output == {"in": {"a": "é"}, "args": "run-atom do", "id": "inv_3"}
    assert (told.error, told.exit_code) == (None, 0)


def test_its_deadline_and_its_folder_are_told(call, tmp_path):
    told = call(SHELL + 'echo "[\\"$PWD\\",$KEISEI_DEADLINE]"', cwd=str(tmp_path))

    assert told.output[0] == str(tmp_path)
    assert told.output[1] > 1_000_000_000


@pytest.mark.parametrize(
    ("source", "kind", "code", "message"),
    [
        ("echo noise >&2; echo 'NotFound: no such thing' >&2; exit 2", "atom", "NotFound", "no such thing"),
        ("""echo '{"error":{"code":"NotFound","message":"none"}}' >&2; exit 2""", "atom", "NotFound", "none"),
        ("""echo '{"error":{"code":"NotFound","message":"none"}}'; exit 2""", "atom", "NotFound", "none"),
        ("""echo '{"error":{"code":"bad code","message":"none"}}' >&2; exit 2""", "atom", None, "none"),
        ("echo 'it broke' >&2; exit 2", "atom", None, "it broke"),
        ("exit 2", "atom", None, "it failed and did not say why"),
        ("echo; echo 'disk full' >&2; exit 1", "io", None, "kei-thing::do: disk full"),
        ("exit 1", "io", None, "kei-thing::do: its program failed and did not say why"),
        ("echo odd >&2; exit 3", "io", None, "the program of kei-thing::do ended with exit code 3: odd"),
        ("kill -9 $$", "killed", None, "kei-thing::do was ended by SIGKILL before it answered"),
        ("true", "schema-out", None, "kei-thing::do: it wrote nothing on standard output"),
    ],
)
def test_what_its_end_means(call, source, kind, code, message):
    told = call(SHELL + source, errors=("NotFound",))

    assert (told.error.kind, told.error.code, told.error.message) == (kind, code, message)
    assert told.exit_code == (2 if kind in {"atom", "schema-out"} else 1)


@pytest.mark.parametrize("text", ["{", "NaN", "1 2", "1e999", '"\\ud800"', "\\377", "[" * 3000 + "]" * 3000])
def test_an_output_that_is_no_json_is_told_as_that(call, text):
    told = call(SHELL + f"printf '{text}'")

    assert (told.error.kind, told.exit_code) == ("schema-out", 2)


def test_a_flood_is_ended_at_once_and_what_it_said_is_kept(call):
    told = call(
        python_program(PYTHON + "sys.stderr.write('said'); sys.stderr.flush()\nwhile True: os.write(1, b'x' * 65536)")
    )

    assert (told.error.kind, told.exit_code) == ("killed", 1)
    assert told.error.message == "kei-thing::do wrote more than 16777216 bytes and was ended"
    assert told.said == "said"


def test_of_what_it_says_the_end_is_kept(call):
    told = call(python_program(PYTHON + "for n in range(100000): print(n, file=sys.stderr)\nprint('{}')"))

    assert told.output == {}
    assert told.said.endswith("\n99998\n99999\n")
    assert told.said.startswith("…")
    assert len(told.said) <= 65_537


def test_one_that_does_not_read_its_input_is_heard_all_the_same(call):
    assert call(SHELL + "echo 1", {"big": "x" * 1_000_000}).output == 1


def test_one_that_closes_its_output_early_is_waited_for(call, tmp_path):
    done = tmp_path / "done"

    assert call(SHELL + f"echo 1; exec >&-; sleep 0.05; touch '{done}'").output == 1
    assert done.exists()


def test_daemons_that_hold_the_pipes_do_not_hold_the_call(call, tmp_path):
    source = f"""{PYTHON}
path = {str(tmp_path / "pid")!r}
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        open(path, "w").write(str(os.getpid()))
        time.sleep(600)
    os._exit(0)
while not os.path.exists(path) or not open(path).read():
    pass
print(1)
"""

    assert call(python_program(source)).output == 1
    assert not is_alive((tmp_path / "pid").read_text())


def test_one_that_takes_too_long_is_ended(call):
    told = call(SHELL + "trap '' TERM; echo 1; sleep 600", timeout_s=0.2)

    assert (told.error.kind, told.exit_code) == ("timeout", 5)


@pytest.mark.parametrize(
    ("source", "mode"), [(SHELL + "echo 1", 0o644), ("\x7fnot a program", 0o755), ("#!/nowhere/at/all\n", 0o755)]
)
def test_one_that_cannot_be_started_is_told_as_that(call, source, mode):
    told = call(source, mode=mode)

    assert (told.error.kind, told.exit_code) == ("io", 1)
    assert "kei-thing::do cannot be started: " in told.error.message


def test_a_folder_in_its_place_is_told_as_that(tmp_path):
    spec, _ = program_atom(tmp_path, "")

    with crew(lambda _package: str(tmp_path)) as made:
        told = made.call(order(spec))

    assert (told.error.kind, told.exit_code) == ("io", 1)


def test_a_program_that_is_not_there_is_raised_with_a_hint(tmp_path):
    spec, _ = program_atom(tmp_path, "")
    stream, _ = program_atom(tmp_path, "", kind="stream")

    with crew() as made:
        with pytest.raises(MissingProgram, match="`kei-thing`") as raised:
            made.call(order(spec))
        with pytest.raises(MissingProgram):
            made.follow(order(stream))

    assert "KEI_RUNTIME_BIN_DIR" in raised.value.hint
