"""Programs that are run to their end, or ended."""

import os
import sys

import pytest

from keisei.records.error import WorldFault
from keisei.workspace.pump import MOST_COMPLAINTS, pumped


def run(program, **options):
    settings = {"patience_s": 60, "most": 10_000_000} | options
    return pumped([sys.executable, "-c", program], {}, "/", **settings)


def test_input_output_complaints_and_status_arrive():
    program = "import sys; sys.stdout.write(sys.stdin.read() * 2); sys.stderr.write('no'); sys.exit(7)"

    assert run(program, given=[b"a", b"", b"b"]) == (7, b"abab", b"no", False)


def test_much_goes_both_ways_at_once():
    program = "import sys, shutil; shutil.copyfileobj(sys.stdin.buffer, sys.stdout.buffer)"

    assert len(run(program, given=[bytes(1000)] * 5000).out) == 5_000_000


def test_a_program_that_says_too_much_is_ended():
    done = run("while True: print('x' * 1000)", most=5000)

    assert (done.cut, len(done.out)) == (True, 5000)


def test_complaints_without_end_are_bounded():
    done = run(f"import sys; sys.stderr.write('x' * {MOST_COMPLAINTS * 3})")

    assert len(done.complaints) == MOST_COMPLAINTS


def test_a_program_that_does_not_end_is_ended(tmp_path):
    program = 'echo $$ > "$0"; exec sleep 600'

    with pytest.raises(WorldFault, match="did not end in time"):
        pumped(["/bin/sh", "-c", program, str(tmp_path / "pid")], {"PATH": os.defpath}, "/", patience_s=2, most=1000)

    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


def test_a_program_that_closes_everything_and_stays_is_ended():
    with pytest.raises(WorldFault, match="did not end in time"):
        run("import os, time; [os.close(each) for each in range(3)]; time.sleep(600)", patience_s=1)


def test_a_program_that_hears_nothing_is_no_fault():
    assert run("import os; os.close(0)", given=[bytes(1_000_000)] * 3).code == 0


def test_what_the_input_raises_is_raised():
    def given():
        yield b"x"
        raise KeyError("input")

    with pytest.raises(KeyError, match="input"):
        run("import sys; sys.stdin.read()", given=given())


def test_a_program_that_is_not_there_is_one_clear_error():
    with pytest.raises(WorldFault, match="cannot be started"):
        pumped(["/nonexistent/program"], {}, "/", patience_s=1, most=1)
