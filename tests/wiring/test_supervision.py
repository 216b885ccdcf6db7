"""Supervision: parts are kept running, told about, and ended together, whatever they or their supervisor do."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from keisei.wiring.runner import born
from keisei.wiring.supervision import Supervisor
from keisei.wiring.supervision_child import Part
from keisei.wiring.supervision_patience import Death, Past, Patience, after
from keisei.wiring.supervision_voice import MOST, Voice

QUICK = Patience(first_s=0.001, cap_s=0.01)
WAITING = "while :; do sleep 0.02; done"
PATIENCE_S = 30


def sh(name, script, **how):
    return Part(name, ("/bin/sh", "-c", script), **how)


def eventually(holds):
    until = time.monotonic() + PATIENCE_S
    while not (found := holds()):
        assert time.monotonic() < until
        time.sleep(0.01)
    return found


class Play:
    """A supervisor, what it told, and what happens when it tells something."""

    def __init__(self, *parts, patience=QUICK):
        self.notes = []
        self.cues = {}
        self.supervisor = Supervisor(parts, self._tell, patience)

    def _tell(self, note):
        self.notes.append(note)
        cue = self.cues.get(note.detail.get("text", note.event))
        if cue is not None:
            cue(note)

    def on(self, word, cue):
        """When a line, or an event without one, is told."""
        self.cues[word] = cue
        return self

    def stop_on(self, word):
        return self.on(word, lambda _note: self.supervisor.stop())

    def run(self):
        return self.supervisor.run()

    def lines(self, part):
        return [each.detail["text"] for each in self.notes if each.part == part]

    def events(self, name=None):
        return [each.event for each in self.notes if each.part == "up" and name in (None, each.detail.get("name"))]


# --- patience ---------------------------------------------------------------------------------------------------------


def waits(*deaths, patience=None):
    past, found = Past(), []
    for death in deaths:
        following = after(past, death, patience or Patience())
        past = following.past
        found.append(following.wait_s)
    return found


def test_the_wait_doubles_up_to_a_minute():
    deaths = [Death(100.0 * number, 30.0, 70, ()) for number in range(9)]

    assert waits(*deaths) == [1, 2, 4, 8, 16, 32, 60, 60, 60]


def test_the_fifth_death_within_a_minute_is_the_last():
    assert waits(*(Death(at, 0.5, -9, ()) for at in (0, 1, 3, 7, 60))) == [1, 2, 4, 8, None]
    assert waits(*(Death(at, 0.5, -9, ()) for at in (0, 1, 3, 7, 61))) == [1, 2, 4, 8, 16]


def test_health_makes_everything_before_forgotten():
    assert waits(*(Death(at, lasted, 70, ()) for at, lasted in ((0, 1), (1, 1), (2, 1), (3, 1), (63, 60)))) == [
        1,
        2,
        4,
        8,
        1,
    ]


@pytest.mark.parametrize(
    "words",
    [("error: the port 4314 is taken",), ("Usage: keisei", "Error: No such command"), ("keisei.toml:1: error[x]: y",)],
    ids=["operator", "usage", "file"],
)
def test_one_that_says_what_to_mend_is_asked_again_every_minute_and_never_left_alone(words):
    assert waits(*(Death(at, 0.5, 1, words) for at in range(9))) == [60] * 9


@pytest.mark.parametrize(
    "death",
    [
        Death(0, 0.5, 70, ("error: this is a bug in keisei",)),
        Death(0, 0.5, 1, ("Traceback",)),
        Death(0, 99, 1, ("error: x",)),
    ],
    ids=["bug", "no word", "later"],
)
def test_other_deaths_are_no_matter_of_settings(death):
    assert waits(death) == [1]


# --- parts ------------------------------------------------------------------------------------------------------------


def test_a_part_that_dies_is_started_again(tmp_path):
    count = tmp_path / "a file"
    script = f"echo run >> '{count}'; test $(wc -l < '{count}') = 3 || kill -9 $$; echo well; exec sleep 600"
    play = Play(sh("runner", script, finishes=True)).stop_on("well")

    assert play.run() == 0

    assert play.events("runner") == ["started", "died", "started", "died", "started", "ended"]
    died = next(each for each in play.notes if each.event == "died")
    assert died.detail == {"name": "runner", "how": "signal 9", "words": [], "wait_s": 0.001}
    pids = [each.detail["pid"] for each in play.notes if each.event == "started"]
    assert not any(Path(f"/proc/{pid}").exists() for pid in pids)  # not even as a zombie


def test_one_that_dies_again_and_again_is_left_alone_and_the_others_go_on(tmp_path):
    poor = 'until test -e "$0"; do sleep 0.01; done; echo poor me >&2; exit 70'
    console = sh("console", f"trap 'echo bye; exit' TERM; touch '{tmp_path}/open'; {WAITING}")
    play = Play(Part("runner", ("/bin/sh", "-c", poor, f"{tmp_path}/open")), console).stop_on("left alone")

    assert play.run() == 1

    assert play.events("runner") == ["started", "died"] * 4 + ["started", "left alone"]
    left = next(each for each in play.notes if each.event == "left alone")
    assert left.detail == {"name": "runner", "how": "exit code 70", "words": ["poor me"]}
    assert play.lines("console") == ["bye"]


def test_without_anything_essential_it_ends_and_takes_the_rest_along():
    play = Play(sh("runner", "exit 70"), sh("watch", "exec sleep 600", essential=False))

    assert play.run() == 1

    assert play.events()[-3:] == ["ending", "stopping", "ended"]


def test_what_cannot_start_is_told_once_and_heard_again_when_it_can(tmp_path):
    tries, mended = tmp_path / "tries", tmp_path / "mended"
    script = (
        f"echo x >> '{tries}'; test $(wc -l < '{tries}') -gt 3 && touch '{mended}'; "
        f"if test -e '{mended}'; then echo hm >&2; echo ready; exec sleep 600; fi; "
        "echo error: the port is taken >&2; exit 1"
    )
    play = Play(sh("console", script)).stop_on("ready")

    assert play.run() == 0

    assert sorted(play.lines("console")) == ["error: the port is taken", "hm", "ready"]
    assert play.events("console").count("waits") == 1
    assert len(tries.read_text().split()) == 4


def test_one_that_still_cannot_start_at_the_end_is_a_failure():
    play = Play(sh("console", "echo error: no >&2; exit 1"), patience=Patience()).stop_on("waits")

    assert play.run() == 1


def test_a_program_that_is_missing_is_told(tmp_path):
    play = Play(Part("console", (str(tmp_path / "none"),)), patience=Patience()).stop_on("waits")

    assert play.run() == 1

    assert play.lines("console") == [f"error: `{tmp_path / 'none'}` cannot be started: No such file or directory"]


def test_a_runner_that_was_told_to_leave_is_not_started_again():
    play = Play(sh("runner", "echo drained", finishes=True))

    assert play.run() == 0

    assert play.events() == ["started", "left", "ending", "stopping"]


def test_what_a_part_leaves_in_its_group_is_ended_and_not_waited_for():
    play = Play(sh("runner", "sleep 600 & echo $!; printf 'no end'", finishes=True))

    assert play.run() == 0

    pid, rest = play.lines("runner")
    assert rest == "no end"
    eventually(lambda: not born(int(pid)))


def test_whatever_a_part_writes_is_heard():
    script = "head -c 300000 /dev/zero | tr '\\0' a; echo; printf 'b\\377\\033[1m\\r\\n'; echo c >&2"
    play = Play(sh("runner", script, finishes=True))

    play.run()

    *pieces, last = [each.detail["text"] for each in play.notes if each.event == "out"]
    assert "".join(pieces) == "a" * 300_000
    assert last == "b�\x1b[1m"
    assert [each.detail["text"] for each in play.notes if each.event == "err"] == ["c"]


STANDARD = (1 << 31) - 1
"""Signals 1 to 31; those above belong to the C library, and programs that start tests do as they like with them."""


def test_a_part_ignores_no_signal_and_holds_none_back():
    play = Play(Part("runner", ("/bin/grep", "-E", "Sig(Blk|Ign)", "/proc/self/status"), finishes=True))
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])

    play.run()
    signal.signal(signal.SIGHUP, before)
    signal.pthread_sigmask(signal.SIG_SETMASK, blocked)

    found = [int(line.rpartition("\t")[2], 16) & STANDARD for line in play.lines("runner")]
    assert found == [0, 0]


# --- the end ----------------------------------------------------------------------------------------------------------


def test_the_runner_stops_first_and_the_others_when_it_has_finished():
    runner = sh("runner", f"trap 'sleep 0.1; echo finished; exit 0' TERM; echo ready; {WAITING}", finishes=True)
    console = sh("console", f"trap 'echo closed; exit 0' TERM; echo open; {WAITING}")
    play = Play(runner, console)
    ready = set()

    def hear(note):
        ready.add(note.part)
        if len(ready) == 2:
            os.kill(os.getpid(), signal.SIGTERM)

    play.on("ready", hear).on("open", hear)
    before = signal.getsignal(signal.SIGTERM)

    assert play.run() == 0

    order = [each.detail.get("text") or each.detail.get("name") for each in play.notes][-4:]
    assert order == ["finished", "runner", "closed", "console"]
    assert signal.getsignal(signal.SIGTERM) == before


def test_a_second_signal_is_handed_on_and_a_third_one_kills():
    stubborn = f"trap 'trap \"echo no\" TERM; echo again' TERM; echo ready; {WAITING}"
    play = Play(sh("runner", stubborn, finishes=True), sh("console", "trap '' TERM; exec sleep 600"))
    play.stop_on("ready").stop_on("again").stop_on("no")

    assert play.run() == 1

    assert play.lines("runner") == ["ready", "again", "no"]
    assert sorted(each.detail["name"] for each in play.notes if each.event == "killing") == ["console", "runner"]


def test_signals_that_come_at_once_count_one_by_one():
    play = Play(sh("runner", "trap '' TERM; echo ready; exec sleep 600", finishes=True))
    play.on("ready", lambda _note: [play.supervisor.stop() for _ in range(3)])

    assert play.run() == 1

    assert play.events("runner") == ["started", "killing", "ended"]


def test_one_with_nothing_to_finish_is_killed_when_it_takes_too_long():
    part = sh("console", "trap '' TERM; echo ready; exec sleep 600")
    play = Play(part, patience=Patience(grace_s=0.05)).stop_on("ready")

    assert play.run() == 1

    assert play.events("console") == ["started", "killing", "ended"]


SUPERVISE = """
import signal, sys
from keisei.wiring.supervision import Supervisor
from keisei.wiring.supervision_child import Part
from tests.wiring.test_supervision import sh
def tell(note):
    print(note.detail.get("text") or note.event, note.detail.get("pid", ""), flush=True)
signal.signal(signal.SIGTERM, signal.SIG_IGN)
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
Supervisor([
    sh("runner", f"trap 'echo finished > \\"{sys.argv[1]}\\"; exit 0' TERM; echo ready; while :; do sleep 0.02; done",
       finishes=True),
    sh("console", "trap '' TERM; echo ready; exec sleep 600"),
], tell).run()
"""


def test_a_supervisor_that_is_killed_takes_its_parts_along(tmp_path, request):
    done = tmp_path / "done"
    up = subprocess.Popen(
        [sys.executable, "-c", SUPERVISE, str(done)], cwd=request.config.rootpath, stdout=subprocess.PIPE, text=True
    )
    said = [up.stdout.readline().split() for _ in range(4)]
    pids = [int(words[1]) for words in said if words[0] == "started"]
    assert len(pids) == 2
    assert all(map(born, pids))

    up.kill()
    up.wait()
    up.stdout.close()

    eventually(lambda: not any(map(born, pids)))
    assert done.read_text() == "finished\n"


# --- the voice --------------------------------------------------------------------------------------------------------


def test_nobody_waits_for_a_reader_that_does_not_read():
    read, write = os.pipe()
    voice = Voice(write, lambda count: f"{count} left out")
    voice.say("x" * 1_000_000)
    assert os.read(read, 1) == b"x"  # the thread is now in the middle of it

    for number in range(MOST + 7):
        voice.say(str(number))
    pieces = []
    with os.fdopen(read, "rb") as reader:
        while not (pieces and pieces[-1].endswith(b"out\n")):
            pieces.append(reader.readline())
    voice.close()
    os.close(write)

    assert pieces[-2:] == [f"{MOST - 1}\n".encode(), b"7 left out\n"]


def test_a_reader_that_went_away_is_not_missed():
    read, write = os.pipe()
    os.close(read)
    voice = Voice(write, str)

    voice.say("one")
    voice.say("two")
    voice.close()
    os.close(write)

    assert not voice._thread.is_alive()
