"""Reach: what a program needs to start is given, and nothing beside it."""

import os
import sys
from pathlib import Path

import pytest

from keisei.sandbox import reach
from keisei.sandbox.reach import SYSTEM, interpreter, interpreter_reads, program_path, program_reads, system


@pytest.fixture
def home(tmp_path, monkeypatch):
    folder = Path(os.path.realpath(tmp_path)) / "home"
    (folder / "bin").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(folder))
    return folder


def executable(path: Path, text: str = "\x7fELF") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def test_the_system_is_never_all_of_etc_nor_anybodys_home():
    assert not {"/", "/etc", "/root", "/home", "/var", "/run", "/tmp", "/etc/shadow", "/etc/ssh"} & set(SYSTEM)  # noqa: S108 - as text
    assert {"/usr", "/etc/passwd", "/etc/ssl/certs"} <= set(SYSTEM)


def test_every_pair_of_the_system_stands_somewhere():
    pairs = system(())

    assert all(os.path.realpath(found) == found for _, found in pairs if found.startswith("/"))
    assert all(os.path.exists(f"/{found}") for _, found in pairs)  # noqa: PTH110 - it is text
    assert reach.inside(pairs)[:1] == ["/usr"] == reach.outside(pairs)[:1]


def test_a_checkout_in_a_folder_of_the_system_is_kept_out(tmp_path, monkeypatch):
    root = Path(os.path.realpath(tmp_path))
    for name in ("tool", "project/state/work", "project/secret"):
        (root / name).mkdir(parents=True)
    monkeypatch.setattr(reach, "SYSTEM", (str(root),))

    assert system([str(root / "project" / "state" / "work")]) == [(f"{root}/tool", f"{root}/tool")]
    assert system([]) == [(str(root), str(root))]


def test_the_interpreter_is_the_real_one():
    path, prefix = interpreter()

    assert os.path.realpath(path) == path
    assert os.path.realpath(sys.base_prefix) == prefix
    assert interpreter_reads() == ([] if prefix == "/usr" else [prefix])


def test_of_an_interpreter_installed_right_in_a_home_only_its_own_files_are_read(monkeypatch):
    monkeypatch.setattr(reach, "_is_home", lambda folder: folder == interpreter()[1])
    if interpreter()[1] == "/usr":
        pytest.skip("the system's own interpreter")

    reads = interpreter_reads()

    assert interpreter()[1] not in reads
    assert os.path.realpath(os.path.dirname(os.__file__)) in reads  # noqa: PTH120 - it is text


def test_a_native_program_needs_its_folder(home):
    program = executable(home / "tools" / "agent")

    assert program_reads(str(program), "") == (str(home / "tools"),)


def test_a_native_program_right_in_a_home_is_given_alone(home):
    program = executable(home / "agent")

    assert program_reads("agent", str(home)) == (str(program),)


@pytest.mark.parametrize("folder", [".local", ".config"])
def test_a_folder_of_a_home_that_holds_more_than_programs_is_not_given(home, folder):
    program = executable(home / folder / "bin" / "agent")
    (home / folder / "lib").mkdir()

    assert program_reads(str(program), "") == (str(program.parent),)


def test_an_installed_program_needs_the_prefix_it_stands_in(home):
    program = executable(home / "kit" / "bin" / "agent")
    (home / "kit" / "lib").mkdir()

    assert program_reads(str(program), "") == (str(home / "kit"),)


def test_a_node_program_needs_the_outermost_package_folder_and_node(home):
    node = executable(home / "node" / "bin" / "node")
    (home / "node" / "lib").mkdir()
    script = executable(home / "app" / "node_modules" / "a" / "node_modules" / "b" / "cli.js", "#!/usr/bin/env node\n")
    link = home / "app" / "node_modules" / ".bin" / "b"
    link.parent.mkdir()
    link.symlink_to("../a/node_modules/b/cli.js")

    reads = program_reads("b", f"{link.parent}:{node.parent}")

    assert script.exists()
    assert reads == (str(link.parent), str(home / "app" / "node_modules"), str(home / "node"))


def test_a_python_program_needs_its_environment_and_the_interpreter_that_was_made_from(home):
    base = executable(home / "python" / "bin" / "python3")
    (home / "python" / "lib").mkdir()
    environment = home / "project" / "venv"
    (environment / "bin").mkdir(parents=True)
    (environment / "pyvenv.cfg").write_text(f"home = {base.parent}\nversion = 3.11\n")
    (environment / "bin" / "python").symlink_to(base)
    tool = executable(environment / "bin" / "tool", f"#!{environment}/bin/python\n")

    reads = set(program_reads(str(tool), ""))

    assert {str(environment), str(home / "python")} <= reads
    assert not any(str(home / "project") == each or str(home) == each for each in reads)


def test_a_link_right_in_a_home_is_not_given_and_the_program_goes_by_its_real_name(home):
    program = executable(home / "tools" / "agent")
    (home / "agent").symlink_to(program)

    assert program_reads("agent", str(home)) == (str(home / "tools"),)
    assert program_path("agent", str(home)) == str(program)


def test_a_program_is_found_by_a_path_without_links_in_its_folder(home):
    program = executable(home / "tools" / "v2" / "busy")
    (home / "tools" / "v2" / "ls").symlink_to("busy")
    (home / "tools" / "current").symlink_to("v2")

    assert program_path("ls", str(home / "tools" / "current")) == str(program.with_name("ls"))
    assert program_path("no-such-program", "/usr/bin") is None


def test_what_the_system_has_anyhow_is_left_out():
    assert program_reads("sh", "/usr/bin:/bin") == ()


def test_a_program_that_is_not_there_needs_nothing():
    assert program_reads("no-such-program", "/usr/bin") == ()


def test_a_script_that_asks_for_itself_comes_to_an_end(home):
    script = executable(home / "tools" / "loop", f"#!{home}/tools/loop\n")

    assert program_reads(str(script), "") == (str(home / "tools"),)


@pytest.mark.parametrize("line", ["#!", "#! ", "#!/usr/bin/env\n", "#!/usr/bin/env -S A=b\n", "#!\udcff\n"])
def test_an_odd_first_line_is_no_error(home, line):
    script = home / "tools" / "odd"
    script.parent.mkdir()
    script.write_bytes(os.fsencode(line))
    script.chmod(0o755)

    assert program_reads(str(script), "/usr/bin") == (str(script.parent),)
