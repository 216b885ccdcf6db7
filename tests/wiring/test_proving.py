"""The proving ground and its memory: what is kept of an output, which answers count, which programs are found."""

import os

import msgspec
import pytest

from keisei.records.error import WorldFault
from keisei.records.verification import CommandRun
from keisei.rules.predicate.gap import gap, has_gap
from keisei.wiring import proving
from keisei.wiring.execute import Hold
from keisei.wiring.proving import Proving, Work, shell
from keisei.wiring.runs import LARGEST, MOST, Runs
from keisei.wiring.surroundings import passed_on
from keisei.wiring.switch import Switch
from tests.wiring.ground import Ground


def run(**more):
    return CommandRun(**{"command": "make", "tree": "t", "code": 0, "output": "fine\n", **more})


@pytest.fixture
def place(tmp_path):
    """A proving ground, and the project it is of."""
    made = Ground(tmp_path)
    facts = made.yard.facts(looks=False)
    hold = Hold(Switch(), lambda: 86_400.0, "0" * 32)
    yield Proving(made.shop, made.yard, facts, "test", tmp_path / "proving", hold), facts, hold
    made.close()


# --- what is kept of an output ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pieces", "kept"),
    [
        ([], ""),
        ([b"abc"], "abc"),
        ([b"abcdefgh"], "abcdefgh"),
        ([b"a", b"b", b"cdef", b"gh"], "abcdefgh"),
        ([b"abcdefghi"], f"abc\n{gap(1)}\nefghi"),
        ([b"abcdefghij" * 3], f"abc\n{gap(22)}\nfghij"),
        ([bytes([each]) for each in b"abcdefghij" * 3], f"abc\n{gap(22)}\nfghij"),
        ([b"\xff\x00a"], "\ufffd\x00a"),
    ],
)
def test_the_beginning_and_the_end_of_an_output_are_kept(monkeypatch, pieces, kept):
    monkeypatch.setattr(proving, "HEAD", 3)
    monkeypatch.setattr(proving, "TAIL", 5)
    heard = proving._Kept()
    for each in pieces:
        heard.add("stdout", each)

    assert heard.text() == kept
    assert has_gap(kept) == ("left out" in kept)


def test_a_line_that_only_mentions_a_gap_is_none():
    assert has_gap(f"a\n{gap(7)}\nb")
    assert not has_gap(f"see {gap(7)}")
    assert not has_gap("")


# --- programs ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "found"),
    [("/usr/bin:/bin", "/usr/bin:/bin"), ("bin:/bin::.", "/bin"), ("./a:..", os.defpath), ("", os.defpath)],
)
def test_relative_parts_of_the_path_are_left_out(monkeypatch, path, found):
    monkeypatch.setenv("PATH", path)
    monkeypatch.setenv("SECRET", "canary")

    assert passed_on()["PATH"] == found
    assert "SECRET" not in passed_on()


# --- runs -------------------------------------------------------------------------------------------------------------


def test_an_answer_is_found_by_everything_it_is_about(tmp_path):
    runs = Runs(tmp_path / "runs")
    assert runs.find("tree", "make", "") is None

    runs.keep(run(), "tree", "make", "")

    assert runs.find("tree", "make", "") == run()
    assert runs.find("tree", "make") is None
    assert runs.find("tree", "make ", "") is None


@pytest.mark.parametrize("more", [{"timed_out": True, "code": None}, {"changed": ("a",)}, {"code": None}])
def test_what_is_no_answer_is_not_remembered(tmp_path, more):
    runs = Runs(tmp_path / "runs")

    runs.keep(run(**more), "tree")

    assert runs.find("tree") is None


@pytest.mark.parametrize("broken", [b"", b"{", b"[]", b'{"command": 1}', b"\xff", b" " * (LARGEST + 1)])
def test_a_broken_answer_is_asked_again(tmp_path, broken):
    runs = Runs(tmp_path / "runs")
    runs.keep(run(), "tree")
    (file,) = (tmp_path / "runs").iterdir()
    file.write_bytes(broken)
    assert runs.find("tree") is None

    runs.keep(run(code=1), "tree")

    assert runs.find("tree") == run(code=1)


def test_the_oldest_answers_go_and_a_folder_that_is_a_file_is_no_matter(tmp_path):
    runs = Runs(tmp_path / "runs")
    for number in range(MOST + 3):
        runs.keep(run(code=number), str(number))
        file = runs._path((str(number),))
        os.utime(file, (number, number))
    assert runs.find("0") is None
    assert runs.find(str(MOST + 2)) == run(code=MOST + 2)
    (tmp_path / "file").write_text("")

    Runs(tmp_path / "file").keep(run(), "tree")

    assert Runs(tmp_path / "file").find("tree") is None


# --- what is run ------------------------------------------------------------------------------------------------------


def test_new_files_are_changes_only_where_a_script_checks(place):
    ground, facts, _ = place
    for strict, changed in ((False, ()), (True, ("new.txt",))):
        with ground.checkout(facts.head, facts.head) as worktree:
            work = Work(("/bin/sh", "-c", "echo > new.txt; echo > new.local"), "it", 20.0, strict=strict)
            assert ground.run_in(work, worktree, "t").changed == changed


def test_of_many_changed_files_some_are_named_and_the_rest_is_counted(place):
    ground, facts, _ = place
    work = Work(
        ("/bin/sh", "-c", 'i=0; while [ $i -lt 30 ]; do echo > "f$i"; i=$((i+1)); done'), "it", 20.0, strict=True
    )
    with ground.checkout(facts.head, facts.head) as worktree:
        changed = ground.run_in(work, worktree, "t").changed

    assert (len(changed), changed[-1]) == (21, "and 10 more")


def test_what_is_ended_from_outside_is_no_answer(place):
    ground, facts, hold = place
    hold.switch.pull()

    with pytest.raises(WorldFault, match="ended from outside"):
        ground.run(shell("sleep 60", 60.0), facts.head, "t", facts.head)
    with pytest.raises(WorldFault, match="ended from outside"):
        ground.child(("/bin/sh", "-c", "sleep 60"), b"", 60.0)


def test_a_child_is_given_its_words_and_nothing_else(place):
    ground, _, _ = place
    assert ground.child(("/bin/cat",), b"words", 20.0) == b"words"
    env = msgspec.json.decode(
        ground.child(("/bin/sh", "-c", 'printf \'["%s", "%s"]\' "$HOME" "$(touch x && echo wrote)"'), b"", 20.0)
    )
    assert env[0] == "/nonexistent"

    with pytest.raises(WorldFault, match="failed: no"):
        ground.child(("/bin/sh", "-c", "echo no >&2; exit 1"), b"", 20.0)
    with pytest.raises(WorldFault, match="out of time"):
        ground.child(("/bin/sh", "-c", "sleep 60"), b"", 0.5)
