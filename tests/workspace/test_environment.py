"""Environments: set up once, whole or not at all, and at home in every worktree they are given to."""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from keisei.records.error import OperatorError, WorldFault
from keisei.workspace.environment import Environments, this_platform
from keisei.workspace.lock import BusyError, KeyLocks
from keisei.workspace.relocation import holds, mover, spellings

KEY = "a" * 64
OTHER = "b" * 64
OLD = 1_600_000_000_000_000_000


@pytest.fixture
def environments(tmp_path):
    return Environments(tmp_path / "environments", patience_s=20)


@pytest.fixture
def slots(tmp_path):
    """Two worktrees of a pool, in a folder whose name is spelled differently in an URL, a make file and JSON."""
    made = [tmp_path / "work trees ü" / name for name in ("a000", "a001")]
    for each in made:
        (each / "src").mkdir(parents=True)
        (each / "src/main.py").write_text(f"print('{each.name}')\n")
    return made


def writing(worktree, **files):
    """A setup that makes files of `.env/`."""

    def run():
        for name, content in files.items():
            path = worktree / ".env" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else content.encode())

    return run


def names(folder):
    return sorted(each.name for each in folder.iterdir()) if folder.exists() else []


# --- building ---------------------------------------------------------------------------------------------------------


def test_an_environment_is_set_up_once_and_found_afterwards(environments, slots):
    assert environments.find(KEY) is None
    runs = []

    for _ in range(2):
        environments.build(KEY, slots[0], [".env"], lambda: (runs.append(1), writing(slots[0], tool="x")()))

    assert runs == [1]
    assert environments.find(KEY).made.keep == (".env",)
    assert environments.find(OTHER) is None


def test_a_setup_that_fails_leaves_nothing_that_counts(environments, slots, tmp_path):
    def fails():
        writing(slots[0], tool="half")()
        raise OperatorError("setup exited 1")

    with pytest.raises(OperatorError, match="setup exited 1"):
        environments.build(KEY, slots[0], [".env"], fails)

    assert environments.find(KEY) is None
    assert names(tmp_path / "environments") == []
    assert environments.build(KEY, slots[0], [".env"], writing(slots[0], tool="whole")).made.files == 1


def test_every_kept_path_that_setup_did_not_make_is_named(environments, slots, tmp_path):
    with pytest.raises(OperatorError, match="setup did not make `absent`, `gone/deps`"):
        environments.build(KEY, slots[0], ["absent", ".env", "gone/deps"], writing(slots[0], tool="x"))

    assert names(tmp_path / "environments") == []


@pytest.mark.parametrize("linked", ["deps", "deps/inner"])
def test_a_kept_path_that_is_a_link_or_behind_one_is_refused(environments, slots, tmp_path, linked):
    outside = tmp_path / "outside"
    (outside / "inner").mkdir(parents=True)

    def run():
        (slots[0] / linked).parent.mkdir(exist_ok=True)
        (slots[0] / linked).symlink_to(outside if linked == "deps" else outside / "inner")

    with pytest.raises(OperatorError, match=f"`{linked}` is a link"):
        environments.build(KEY, slots[0], ["deps/inner"], run)

    assert environments.find(KEY) is None


KILLED = """
import sys, time
from pathlib import Path
from keisei.workspace import environment, made
def copied(*_):
    print("copying", flush=True)
    time.sleep(60)
made.ages = copied
def run():
    (Path(sys.argv[2]) / ".env").mkdir()
    (Path(sys.argv[2]) / ".env/tool").write_text("half")
environment.Environments(Path(sys.argv[1])).build("a" * 64, Path(sys.argv[2]), [".env"], run)
"""


def test_a_builder_that_is_killed_leaves_a_draft_that_the_next_one_clears(environments, slots, tmp_path):
    folder = tmp_path / "environments"
    child = subprocess.Popen([sys.executable, "-c", KILLED, folder, slots[0]], stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "copying\n"
    held = environments.kept()
    child.send_signal(signal.SIGKILL)
    child.communicate()

    [draft] = environments.kept()
    assert held == [], "somebody works on it"
    assert (draft.whole, environments.find(KEY)) == (False, None)
    environments.build(KEY, slots[1], [".env"], writing(slots[1], tool="whole"))
    assert names(folder) == [KEY, f"{KEY}.lock"]


def test_of_two_builders_one_sets_up_and_the_other_waits(environments, slots):
    begun, go, runs, made = threading.Event(), threading.Event(), [], []

    def run():
        runs.append(1)
        begun.set()
        go.wait(20)
        writing(slots[0], tool="x")()

    def build():
        made.append(environments.build(KEY, slots[0], [".env"], run))

    threads = [threading.Thread(target=build) for _ in range(2)]
    threads[0].start()
    begun.wait(20)
    threads[1].start()
    go.set()
    for each in threads:
        each.join(20)

    assert runs == [1]
    assert len(made) == 2
    assert made[0] == made[1]


def test_nobody_waits_for_another_ones_setup_for_ever(slots, tmp_path):
    folder = tmp_path / "environments"
    with KeyLocks(folder).own(KEY), pytest.raises(BusyError, match="in use by another runner") as told:
        Environments(folder, patience_s=0.1).build(KEY, slots[0], [".env"], lambda: None)

    assert told.value.retryable


@pytest.mark.parametrize("text", ["", "{}", "[", '{"version": 0}'])
def test_an_environment_whose_record_is_broken_is_made_anew(environments, slots, tmp_path, text):
    environments.build(KEY, slots[0], [".env"], writing(slots[0], tool="x"))
    (tmp_path / "environments" / KEY / "made.json").write_text(text)

    assert environments.find(KEY) is None
    environments.build(KEY, slots[1], [".env"], writing(slots[1], tool="again"))

    assert (tmp_path / "environments" / KEY / "tree/.env/tool").read_text() == "again"


def test_this_platform_tells_machine_and_python():
    assert os.uname().machine in this_platform()
    assert ".".join(map(str, sys.version_info[:2])) in this_platform()


# --- giving -----------------------------------------------------------------------------------------------------------


def test_a_copy_is_its_owners_alone(environments, slots):
    environment = environments.build(KEY, slots[0], [".env"], writing(slots[0], tool="x"))
    environments.give(environment, slots[1])
    (slots[1] / ".env/tool").write_text("changed by an agent")

    environments.give(environment, slots[0])

    assert (slots[0] / ".env/tool").read_text() == "x"


def test_the_path_is_replaced_in_every_spelling_in_every_kind_of_file(environments, tmp_path):
    slots = [tmp_path / 'odd "name" ü~' / name for name in ("a000", "a001")]
    for each in slots:
        each.mkdir(parents=True)
    old, new = map(str, slots)
    kinds = {f"spelled-{index}": b"\0\xff" + each + b"\0" for index, each in enumerate(spellings(old))}

    def run():
        writing(slots[0], text=f"#!{old}/bin/python\n{old}", plain="nothing", **kinds)()
        (slots[0] / ".env/link").symlink_to(f"{old}/src/main.py")
        (slots[0] / ".env/text").chmod(0o555)

    environments.give(environments.build(KEY, slots[0], [".env"], run), slots[1])

    given = slots[1] / ".env"
    assert (given / "text").read_text() == f"#!{new}/bin/python\n{new}"
    assert (given / "link").readlink() == slots[1] / "src/main.py"
    found = [(given / name).read_bytes() for name in kinds]
    assert found == [b"\0\xff" + each + b"\0" for each in spellings(new)]
    assert len(set(found)) > 3, "this folder's name is spelled in several ways"
    assert (given / "text").stat().st_mode & 0o777 == 0o555


def test_names_that_are_not_text_are_kept_and_relocated(environments, tmp_path):
    old, new = (Path(os.fsdecode(os.fsencode(tmp_path) + b"/tr\xefe/" + name)) for name in (b"a000", b"a001"))
    odd = os.fsdecode(b"na\xefve\n")
    for each in (old, new):
        each.mkdir(parents=True)
        (each / odd).write_text("source")

    def run():
        writing(old, **{odd: os.fsencode(old)})()
        os.mkfifo(old / ".env" / os.fsdecode(b"pi\xefpe"))

    environment = environments.build(KEY, old, [".env"], run)
    environments.give(environment, new)

    assert (new / ".env" / odd).read_bytes() == os.fsencode(new)
    assert environment.made.skipped == (".env/pi\xefpe",)
    with pytest.raises(OperatorError, match="holds that path") as told:
        environments.give(environment, tmp_path)
    told.value.message.encode()


def test_a_path_that_lies_across_two_pieces_is_found(tmp_path, monkeypatch):
    monkeypatch.setattr("keisei.workspace.relocation.PIECE", 7)
    (tmp_path / "file").write_bytes(b"." * 11 + b"/the/path" + b"." * 11)

    assert holds(tmp_path / "file", [b"/the/path"])
    assert not holds(tmp_path / "file", [b"/the/patch"])


def test_a_path_of_another_length_is_rewritten_in_text(environments, slots, tmp_path):
    longer = tmp_path / "a worktree with a longer name"
    longer.mkdir()
    environment = environments.build(KEY, slots[0], [".env"], writing(slots[0], cfg=f"home = {slots[0]}\n"))

    environments.give(environment, longer)

    assert (longer / ".env/cfg").read_text() == f"home = {longer}\n"


def test_a_path_of_another_length_is_refused_in_anything_else(environments, slots, tmp_path):
    longer = tmp_path / "a worktree with a longer name"
    longer.mkdir()
    binary = b"\x7fELF\0" + os.fsencode(slots[0])
    environment = environments.build(KEY, slots[0], [".env"], writing(slots[0], program=binary))

    with pytest.raises(OperatorError, match=r"`\.env/program` holds that path"):
        environments.give(environment, longer)

    assert names(longer) == []


def test_an_environment_that_is_gone_is_not_given(environments, slots):
    environment = environments.build(KEY, slots[0], [".env"], writing(slots[0], tool="x"))
    assert environments.drop(KEY)

    with pytest.raises(WorldFault, match="removed meanwhile") as told:
        environments.give(environment, slots[1])

    assert told.value.retryable


def test_a_worktree_whose_folder_became_a_link_gets_nothing_outside(environments, slots, tmp_path):
    def run():
        (slots[0] / "packages/deps").mkdir(parents=True)

    environment = environments.build(KEY, slots[0], ["packages/deps"], run)
    outside = tmp_path / "outside"
    outside.mkdir()
    (slots[1] / "packages").symlink_to(outside)

    with pytest.raises(WorldFault, match="link"):
        environments.give(environment, slots[1])

    assert names(outside) == []


def test_files_of_the_project_get_the_time_they_were_built_at_only_with_the_same_content(environments, slots):
    first, second = slots
    for name, contents in {"same": "aa", "differs": "ab", "longer": ("a", "bb"), "fresh": ("", "b")}.items():
        (first / name).write_text(contents[0])
        os.utime(first / name, ns=(OLD, OLD))
        (second / name).write_text(contents[1])
        os.utime(second / name, ns=(OLD - 1, OLD - 1))
    (first / "fresh").unlink()
    environment = environments.build(KEY, first, [".env"], writing(first, tool="x"))
    built = (environment.folder / "made.json").stat().st_mtime_ns

    environments.give(environment, second)

    assert (second / "same").stat().st_mtime_ns == OLD
    assert all((second / name).stat().st_mtime_ns >= built for name in ("differs", "longer", "fresh"))
    assert (second / "differs").read_text() == "b"


# --- making room ------------------------------------------------------------------------------------------------------


def test_the_one_used_last_is_listed_first(environments, slots):
    first = environments.build(KEY, slots[0], [".env"], writing(slots[0], tool="x"))
    second = environments.build(OTHER, slots[0], [".env"], writing(slots[0], tool="y"))
    os.utime(first.folder, (1000, 1000))
    os.utime(second.folder, (2000, 2000))
    assert [each.name for each in environments.kept()] == [OTHER, KEY]

    environments.give(first, slots[1])

    assert [each.name for each in environments.kept()] == [KEY, OTHER]


def test_one_that_is_in_use_is_not_removed(environments, slots, tmp_path):
    environments.build(KEY, slots[0], [".env"], writing(slots[0], tool="x"))

    with KeyLocks(tmp_path / "environments").share(KEY):
        assert not environments.drop(KEY)
    assert environments.find(KEY) is not None
    assert environments.drop(KEY)

    assert names(tmp_path / "environments") == []


def test_only_environments_can_be_removed(environments, tmp_path):
    (tmp_path / "precious").mkdir()

    with pytest.raises(WorldFault, match="is no environment"):
        environments.drop("../precious")

    assert (tmp_path / "precious").exists()


# --- real ones --------------------------------------------------------------------------------------------------------

PACKAGE = """
[project]
name = "hello"
version = "1"
[project.scripts]
hello = "hello:main"
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"
[tool.hatch.build]
dev-mode-dirs = ["src"]
"""


def said(*command, cwd, **env):
    plain = {"PATH": os.environ["PATH"], "HOME": str(cwd), **env}
    done = subprocess.run(command, cwd=cwd, env=plain, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def python_project(worktree, word):
    shutil.rmtree(worktree / "src")
    (worktree / "src/hello").mkdir(parents=True)
    (worktree / "src/hello/__init__.py").write_text(f"def main(): print({word!r}, __file__)\n")
    (worktree / "pyproject.toml").write_text(PACKAGE)


def test_an_editable_install_in_a_venv_runs_the_code_of_the_worktree_it_was_given_to(environments, slots):
    for each in slots:
        python_project(each, each.name)
    first, second = slots
    backend = Path(sys.executable).parent.parent
    packages = next(iter(backend.glob("lib/python*/site-packages")))
    if not all((packages / name).exists() for name in ("hatchling", "pip")):
        pytest.skip("hatchling and pip are not installed beside the tests")

    def run():
        said(sys.executable, "-m", "venv", ".venv", "--without-pip", cwd=first)
        said(
            *(str(first / ".venv/bin/python"), "-m", "pip", "install", "--quiet", "--no-build-isolation", "--no-deps"),
            *("--no-index", "--disable-pip-version-check", "--no-cache-dir", "--editable", "."),
            cwd=first,
            PYTHONPATH=str(packages),
        )

    environment = environments.build(KEY, first, [".venv"], run)
    environments.give(environment, second)

    for each in slots:
        assert said(str(each / ".venv/bin/hello"), cwd="/") == f"{each.name} {each / 'src/hello/__init__.py'}"
    prefix = said(str(second / ".venv/bin/python"), "-c", "import sys; print(sys.prefix)", cwd="/")
    assert prefix == str(second / ".venv")
    for path in (second / ".venv").rglob("*"):
        if path.is_file() and not path.is_symlink():
            assert not holds(path, spellings(str(first))), path
    shutil.rmtree(first)
    assert said(str(second / ".venv/bin/hello"), cwd="/").startswith("a001 ")


def test_a_venv_with_a_path_file_by_hand_and_a_script_with_a_shebang(environments, tmp_path):
    slots = [tmp_path / name for name in ("a000", "a001")]
    for each in slots:
        (each / "src").mkdir(parents=True)
        (each / "src/greeting.py").write_text(f"word = {each.name!r}\n")
    first, second = slots

    def run():
        said(sys.executable, "-m", "venv", ".venv", "--without-pip", cwd=first)
        packages = next(iter((first / ".venv").glob("lib/python*/site-packages")))
        (packages / "editable.pth").write_text(f"{first}/src\n")
        script = first / ".venv/bin/greet"
        script.write_text(f"#!{first}/.venv/bin/python\nimport greeting, sys\nprint(greeting.word, sys.executable)\n")
        script.chmod(0o755)

    environments.give(environments.build(KEY, first, [".venv"], run), second)

    if len(os.fsencode(second)) < 200:  # a shebang has a length that the system limits
        assert said(str(second / ".venv/bin/greet"), cwd="/") == f"a001 {second}/.venv/bin/python"
    assert said(str(second / ".venv/bin/python"), str(second / ".venv/bin/greet"), cwd="/").startswith("a001 ")


@pytest.mark.skipif(shutil.which("npm") is None, reason="npm is not installed")
def test_node_modules_with_a_package_of_the_project_run_the_code_of_their_worktree(environments, slots):
    for each in slots:
        (each / "packages/greet").mkdir(parents=True)
        (each / "packages/greet/package.json").write_text(
            json.dumps({"name": "greet", "version": "1.0.0", "main": "greet.js", "bin": {"greet": "greet.js"}})
        )
        program = each / "packages/greet/greet.js"
        program.write_text(f"#!/usr/bin/env node\nconsole.log('{each.name}', __filename)\n")
        program.chmod(0o755)
        (each / "package.json").write_text(json.dumps({"dependencies": {"greet": "file:packages/greet"}}))
    first, second = slots

    def run():
        said("npm", "install", "--offline", "--no-audit", "--no-fund", "--ignore-scripts", cwd=first)

    environments.give(environments.build(KEY, first, ["node_modules"], run), second)

    told = said("node", "-e", "require('greet')", cwd=second)
    assert told == f"a001 {second / 'packages/greet/greet.js'}"
    assert said(str(second / "node_modules/.bin/greet"), cwd="/") == told
    assert (second / "node_modules/greet").is_symlink()


CRATE = """
[package]
name = "hello"
version = "0.1.0"
edition = "2021"
"""


@pytest.mark.skipif(shutil.which("cargo") is None, reason="cargo is not installed")
def test_a_cargo_target_is_built_again_only_where_the_code_differs(environments, tmp_path):
    slots = [tmp_path / "work trees" / name for name in ("a000", "a001", "a002")]
    for each in slots:
        (each / "src").mkdir(parents=True)
        (each / "Cargo.toml").write_text(CRATE)
        (each / "Cargo.lock").write_text('version = 3\n[[package]]\nname = "hello"\nversion = "0.1.0"\n')
        (each / "src/main.rs").write_text('fn main() { println!("{} {}", "base", file!()); }\n')
    built, same, differs = slots
    (differs / "src/main.rs").write_text('fn main() { println!("{} {}", "edit", file!()); }\n')
    os.utime(differs / "src/main.rs", ns=(OLD, OLD))
    home = {name: os.environ[name] for name in ("CARGO_HOME", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN") if name in os.environ}
    user = {"HOME": os.environ.get("HOME", "/"), **home}

    def cargo(worktree):
        plain = {"PATH": os.environ["PATH"], **user}
        command = ["cargo", "build", "--offline", "--message-format", "json", "--quiet"]
        done = subprocess.run(command, cwd=worktree, env=plain, capture_output=True, text=True, check=False)
        if "rustup" in done.stderr:
            pytest.skip("cargo has no toolchain")
        assert done.returncode == 0, done.stderr
        messages = [json.loads(line) for line in done.stdout.splitlines()]
        return [each["fresh"] for each in messages if each["reason"] == "compiler-artifact"]

    environment = environments.build(KEY, built, ["target"], lambda: cargo(built))
    for each in (same, differs):
        environments.give(environment, each)

    assert cargo(same) == [True]
    assert said(str(same / "target/debug/hello"), cwd="/") == "base src/main.rs"
    assert cargo(differs) == [False], "its content is another one, however old its file looks"
    assert said(str(differs / "target/debug/hello"), cwd="/") == "edit src/main.rs"
    assert mover(str(built), str(same))(b"unchanged") == b"unchanged"
    listed = (same / "target/debug/hello.d").read_text()
    assert "a001" in listed
    assert "a000" not in listed


def test_make_builds_nothing_again(environments, slots):
    if shutil.which("make") is None:
        pytest.skip("make is not installed")
    for each in slots:
        (each / "Makefile").write_text("out/x: in\n\tmkdir -p out && cp in out/x\n")
        (each / "in").write_text("input")
    first, second = slots
    environment = environments.build(KEY, first, ["out"], lambda: said("make", cwd=first))
    later = time.time_ns() + 5_000_000_000
    os.utime(second / "in", ns=(later, later))

    environments.give(environment, second)

    assert "up to date" in said("make", cwd=second)
