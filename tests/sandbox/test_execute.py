"""Programs that are named: nothing else can be started, and what is started in the first place always can."""

import os
import shutil
import sys
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec import structs

from keisei.records.confinement import Confinement
from keisei.records.error import OperatorError
from keisei.records.launch import Launch
from keisei.sandbox.confine import confine
from keisei.sandbox.reach import interpreter, stands_at
from keisei.sandbox.startable import startable, with_loaders
from tests.sandbox.cell import ALONE, LEVELS, MACHINE, NOTHING, Cell, landlock

PATH = "/usr/local/bin:/usr/bin:/bin"
START = """
import os, sys
for each in sys.argv[1:]:
    try:
        pid = os.posix_spawn(each, [each], {}, setpgroup=0)
    except OSError as error:
        print(error.strerror)
    else:
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""
REFUSED = "Permission denied"


@pytest.fixture
def cell(tmp_path):
    return Cell(tmp_path)


def real(name):
    return os.path.realpath(shutil.which(name, path=PATH))


def told(exited):
    assert exited.code == 0, exited.stderr
    return exited.stdout.decode().splitlines()


@LEVELS
def test_only_the_programs_that_are_named_are_started(cell, machine):
    programs = (real("true"), real("false"))

    assert told(cell.python(machine, START, *programs)) == ["0", "1"]
    assert told(cell.python(machine, START, *programs, execute=())) == [REFUSED, REFUSED]
    assert told(cell.python(machine, START, *programs, execute=programs[:1])) == ["0", REFUSED]
    assert told(cell.python(machine, START, *programs, execute=(str(Path(programs[0]).parent),))) == ["0", "1"]


@LEVELS
def test_what_it_may_read_or_write_is_no_program(cell, machine):
    for folder in (cell.root, cell.src):
        shutil.copy(real("true"), folder / "mine")
    copy = f"import shutil; shutil.copy({real('true')!r}, 'src/made'); {START}"
    names = ("./mine", "src/mine", "src/made")

    assert told(cell.python(machine, copy, *names)) == ["0"] * 3
    assert told(cell.python(machine, copy, *names, execute=())) == [REFUSED] * 3


@LEVELS
@pytest.mark.parametrize("first", ["#!/bin/sh", "#! /bin/sh -e", "#!/usr/bin/env sh"])
def test_a_script_is_started_with_its_interpreter(cell, machine, first):
    script = cell.root / "a script"
    script.write_text(f"{first}\necho up; {real('true')} || echo refused\n")
    script.chmod(0o755)

    ended = cell.run(machine, "./a script", execute=())

    assert ended.stdout == b"up\nrefused\n", ended.stderr


@landlock
def test_an_older_landlock_keeps_to_them_as_well(cell):
    machine = structs.replace(ALONE, landlock=1)

    assert told(cell.python(machine, START, real("true"), execute=())) == [REFUSED]


def test_without_landlock_nothing_is_promised(cell):
    assert told(cell.python(NOTHING, START, real("true"), execute=())) == ["0"]


@pytest.mark.parametrize("path", ["bin/true", "/usr/../usr/bin/true", "/proc/self/exe"])
def test_a_program_is_named_by_its_real_path(cell, path):
    launch = Launch(argv=("true",), cwd=str(cell.root), env={}, timeout_s=60)

    with pytest.raises(OperatorError, match="cannot be confined to"):
        confine(launch, Confinement(execute=(path,)), MACHINE, "none")


# What the kernel opens


def test_an_elf_file_is_started_with_its_loader():
    found = startable(sys.executable, PATH, "/")

    mapped = {line.split()[-1] for line in Path("/proc/self/maps").read_text().splitlines() if "/" in line}
    assert found[0] == interpreter()[0]
    assert len(found) == 2
    assert found[1] in mapped


def test_a_name_is_looked_up_as_the_launcher_does(tmp_path):
    (tmp_path / "tool").write_text("#!/usr/bin/env -S sh -x\n")
    (tmp_path / "tool").chmod(0o755)

    assert startable("tool", PATH, str(tmp_path)) == ()
    assert startable("./tool", PATH, "/") == ()
    for name, path in (("./tool", PATH), ("tool", f"{tmp_path}:{PATH}")):
        found = startable(name, path, str(tmp_path))
        assert found[0] == os.path.realpath(tmp_path / "tool")
        assert {real("env"), real("sh")} <= set(found)


def test_scripts_that_name_each_other_come_to_an_end(tmp_path):
    for name, other in (("one", "two"), ("two", "one")):
        (tmp_path / name).write_text(f"#!{tmp_path / other}\n")
        (tmp_path / name).chmod(0o755)

    folder = os.path.realpath(tmp_path)
    assert startable("./one", PATH, str(tmp_path)) == (f"{folder}/one", f"{folder}/two")


@settings(max_examples=60, deadline=None)
@example(rest=b"/bin/\0sh", is_elf=False, kind=0, is_cut=False)
@given(rest=st.binary(max_size=200), is_elf=st.booleans(), kind=st.sampled_from([0, 1, 2, 255]), is_cut=st.booleans())
def test_a_damaged_program_is_only_itself(tmp_path_factory, rest, is_elf, kind, is_cut):
    program = tmp_path_factory.getbasetemp() / "damaged"
    head = b"\x7fELF" + bytes([kind, 1]) if is_elf else b"#!"
    data = (Path(interpreter()[0]).read_bytes()[:64] if is_cut else head) + rest
    program.write_bytes(data)

    found = with_loaders([os.path.realpath(program)])

    assert found[0] == os.path.realpath(program)


def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe", 0o700)

    assert with_loaders([str(tmp_path / "pipe")]) == (os.path.realpath(tmp_path / "pipe"),)


def test_a_folder_of_the_system_that_stands_elsewhere_is_known_by_both_names():
    pairs = [("/opt", "/data/opt"), ("/usr", "/usr"), ("/bin", "usr/bin")]

    assert list(stands_at("/data/opt/tool", pairs)) == ["/opt/tool"]
    assert list(stands_at("/usr/bin/tool", pairs)) == []
