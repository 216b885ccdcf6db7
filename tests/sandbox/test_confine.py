"""Confinement: what a program could do is looked for outside, and again with the layer that refuses it taken away."""

import contextlib
import os
import resource
import signal
import socket
import subprocess
import tempfile
import threading
from pathlib import Path

import pytest
from msgspec import structs

from keisei.records.confinement import Confinement, Forward, Limits, Machine
from keisei.records.error import OperatorError, Refused, WorldFault
from keisei.records.launch import Launch
from keisei.sandbox.confine import confine, level_of
from keisei.sandbox.process import open_process
from tests.sandbox.cell import ALONE, FULL, LANDLOCK, LEVELS, MACHINE, NOTHING, Cell, full, landlock
from tests.sandbox.program import eventually, tagged


@pytest.fixture
def cell(tmp_path):
    return Cell(tmp_path)


def only(**layers) -> Machine:
    """The machine with these layers and no other."""
    return structs.replace(NOTHING, **layers)


NAMESPACE_ALONE = only(bwrap=MACHINE.bwrap)
LANDLOCK_ALONE = only(landlock=MACHINE.landlock)
EACH_WALL = pytest.mark.parametrize(
    "machine",
    [
        FULL,
        LANDLOCK,
        pytest.param(NAMESPACE_ALONE, id="namespace alone", marks=full),
        pytest.param(LANDLOCK_ALONE, id="landlock alone", marks=landlock),
    ],
)


# Variables


@pytest.mark.parametrize("machine", [FULL, LANDLOCK])
def test_what_steers_the_loader_is_seen_by_the_program_and_by_nobody_outside(cell, machine):
    env = {"PATH": "/usr/bin:/bin", "LD_PRELOAD": "/nowhere/evil.so", "GCONV_PATH": "/nowhere", "OWN": "1"}
    launch = Launch(argv=("env",), cwd=str(cell.root), env=env, timeout_s=20.0)

    held = confine(launch, Confinement(read=(str(cell.root),)), machine, "none")
    try:
        with open_process(held.launch) as process:
            done = process.wait()
    finally:
        held.close()

    assert held.launch.env == {"PATH": "/usr/bin:/bin", "OWN": "1"}
    seen = dict(line.split("=", 1) for line in done.stdout.decode().splitlines())
    assert {name: seen.get(name) for name in env} == env


# Files


@EACH_WALL
def test_it_writes_where_it_may_and_nowhere_else(cell, machine):
    script = 'echo in >src/new; echo out >new; echo out >"$1"/new; rm "$1"/secret; mv src gone; ln src/new hard'

    cell.shell(machine, script, str(cell.outside))

    assert (cell.src / "new").read_text() == "in\n"
    assert sorted(each.name for each in cell.root.iterdir()) == ["src"]
    assert [each.name for each in cell.outside.iterdir()] == ["secret"]


def test_unconfined_it_writes_all_of_that(cell):
    cell.shell(NOTHING, 'echo out >new; echo out >"$1"/new; rm "$1"/secret; mv src gone', str(cell.outside))

    assert sorted(each.name for each in cell.root.iterdir()) == ["gone", "new"]
    assert [each.name for each in cell.outside.iterdir()] == ["new"]


@EACH_WALL
def test_it_reads_nothing_it_was_not_given(cell, machine):
    cell.shell(machine, 'cat "$1"/secret >src/loot; ls "$1" >>src/loot', str(cell.outside))

    assert (cell.src / "loot").read_text() == ""


def test_unconfined_it_reads_it(cell):
    cell.shell(NOTHING, 'cat "$1"/secret >src/loot', str(cell.outside))

    assert (cell.src / "loot").read_text() == "SECRET"


@LEVELS
def test_secrets_of_the_machine_are_not_readable(cell, machine):
    for path in ("/etc/shadow", "/etc/gshadow", f"/proc/{os.getpid()}/environ"):
        ended = cell.shell(machine, 'cat "$1" >src/loot', path)

        assert ended.code != 0
        assert (cell.src / "loot").read_text() == ""


@full
def test_mode_and_times_cannot_be_changed_in_a_namespace(cell):
    cell.secret.chmod(0o600)
    script = 'chmod 777 . "$1"/secret; touch -d 2001-01-01 .; :'
    before = cell.root.stat()

    cell.shell(MACHINE, script, str(cell.outside))

    after = cell.root.stat()
    assert (after.st_mode, after.st_mtime_ns) == (before.st_mode, before.st_mtime_ns)
    assert cell.secret.stat().st_mode & 0o777 == 0o600


@LEVELS
def test_what_is_protected_below_a_writable_folder_stays_as_it_is(cell, machine):
    (cell.src / "settings").mkdir()
    (cell.src / "settings" / "hooks.json").write_text("mine")
    (cell.src / "free").mkdir()
    script = (
        "echo x >src/settings/hooks.json; rm -f src/settings/hooks.json; mv src/settings src/moved; "
        "rm -rf src/settings; mkdir src/settings; echo x >src/settings/hooks.json; echo in >src/free/new"
    )

    cell.shell(machine, script, protect=(str(cell.src / "settings" / "hooks.json"),))

    assert (cell.src / "settings" / "hooks.json").read_text() == "mine"
    assert (cell.src / "free" / "new").read_text() == "in\n"


def test_unprotected_its_folder_is_renamed_and_made_anew(cell):
    (cell.src / "settings").mkdir()
    (cell.src / "settings" / "hooks.json").write_text("mine")

    cell.shell(MACHINE, "mv src/settings src/moved; mkdir src/settings; echo x >src/settings/hooks.json")

    assert (cell.src / "settings" / "hooks.json").read_text() == "x\n"


@LEVELS
def test_what_is_hidden_cannot_be_read(cell, machine):
    (cell.root / "private").mkdir()
    for path in (cell.root / ".env", cell.root / "private" / "key", cell.src / "kept"):
        path.write_text("SECRET")
    hidden = (str(cell.root / ".env"), str(cell.root / "private"), str(cell.src / "kept"))
    (cell.src / "loot").touch()

    cell.shell(machine, "cat .env private/key src/kept >src/loot; echo x >src/kept", hide=hidden)

    assert (cell.src / "loot").read_text() == ""
    assert (cell.src / "kept").read_text() == "SECRET"


@full
def test_what_is_hidden_shows_empty_in_a_namespace(cell):
    (cell.root / "private").mkdir()
    (cell.root / "private" / "key").write_text("SECRET")
    (cell.root / ".env").write_text("SECRET")
    hidden = (str(cell.root / ".env"), str(cell.root / "private"))

    ended = cell.shell(MACHINE, "cat .env && ls -A private && echo fine", hide=hidden)

    assert (ended.code, ended.stdout) == (0, b"fine\n")


@full
def test_what_is_replaced_shows_the_other_content(cell):
    (cell.root / "config").write_text("SECRET")
    content = cell.outside / "harmless"
    content.write_text("harmless")

    ended = cell.shell(MACHINE, "cat config", replace={str(cell.root / "config"): str(content)})

    assert ended.stdout == b"harmless"


@landlock
def test_what_is_replaced_cannot_be_read_at_all_where_it_cannot_be_replaced(cell):
    (cell.root / "config").write_text("SECRET")
    content = cell.outside / "harmless"
    content.write_text("harmless")

    ended = cell.shell(ALONE, "cat config", replace={str(cell.root / "config"): str(content)})

    assert (ended.code, ended.stdout) == (1, b"")


@LEVELS
def test_a_single_file_can_be_writable(cell, machine):
    file = cell.root / "one.txt"
    file.touch()

    cell.shell(machine, "echo in >one.txt; echo out >two.txt", write=(str(file),))

    assert file.read_text() == "in\n"
    assert not (cell.root / "two.txt").exists()


@full
def test_its_tmp_is_its_own_and_bounded(cell):
    ended = cell.shell(
        MACHINE,
        "head -c 5000000 /dev/zero >/tmp/big; wc -c </tmp/big",
        limits=Limits(tmp_bytes=1_000_000),
    )

    assert int(ended.stdout) <= 1_003_520
    assert not Path("/tmp/big").exists()  # noqa: S108 - it is what the test is about


@full
def test_three_hundred_folders_are_bound(cell):
    folders = [cell.src / f"part {number}" for number in range(300)]
    for folder in folders:
        folder.mkdir()

    ended = cell.shell(MACHINE, 'echo in >"src/part 299/new"', write=tuple(map(str, folders)))

    assert ended.code == 0
    assert (folders[-1] / "new").exists()


# The kernel's own files


@LEVELS
def test_settings_of_the_kernel_cannot_be_written(cell, machine):
    before = Path("/proc/sys/kernel/core_pattern").read_text()

    ended = cell.shell(machine, 'v=$(cat "$1") && printf %s "$v" >"$1"', "/proc/sys/kernel/core_pattern")

    assert ended.code != 0
    assert b"create" in ended.stderr
    assert Path("/proc/sys/kernel/core_pattern").read_text() == before


@full
@pytest.mark.skipif(os.geteuid() != 0, reason="only root may write there at all")
def test_settings_of_the_kernel_are_closed_by_the_namespace_alone_and_open_without_it(cell):
    script = 'v=$(cat "$1") && printf %s "$v" >"$1"'

    held = cell.shell(NAMESPACE_ALONE, script, "/proc/sys/kernel/core_pattern")
    free = cell.shell(NOTHING, script, "/proc/sys/kernel/core_pattern")

    assert (held.code != 0, b"Read-only" in held.stderr) == (True, True)
    # Without any capability root may still write it: that is why it is bound read-only.
    assert (free.code, free.stderr) == (0, b"")


# Processes


@LEVELS
def test_it_has_no_capability_and_gets_none(cell, machine):
    ended = cell.shell(machine, "grep -E '^(Cap(Prm|Eff|Inh|Amb)|NoNewPrivs)' /proc/self/status")

    told = dict(line.split(b":\t") for line in ended.stdout.splitlines())
    assert told.pop(b"NoNewPrivs") == b"1"
    assert set(told.values()) == {b"0" * 16}


@LEVELS
def test_nobody_outside_can_be_signalled(cell, machine, tag):
    with subprocess.Popen(["sleep", f"60.{tag}"]) as neighbour:
        cell.shell(machine, 'kill -9 "$1"', str(neighbour.pid))
        alive = neighbour.poll() is None
        cell.shell(NOTHING, 'kill -9 "$1"', str(neighbour.pid))

        assert alive
        assert neighbour.wait() == -signal.SIGKILL


@full
def test_nobody_outside_is_seen_in_a_namespace(cell):
    ended = cell.shell(MACHINE, "echo /proc/[0-9]*; echo $PPID")

    assert len(ended.stdout.split()) <= 5
    assert ended.stdout.split()[-1] == b"1"


@LEVELS
def test_descriptors_of_who_starts_it_are_closed(cell, machine):
    reading, writing = os.pipe()
    os.set_inheritable(writing, True)  # noqa: FBT003 - it takes no keyword
    held = confine(launch_of(cell, "sh", "-c", f"echo loot >&{writing}"), cell.confinement(), machine, "none")

    subprocess.run(held.launch.argv, env=held.launch.env, pass_fds=(writing,), capture_output=True, check=False)
    os.close(writing)
    held.close()

    with os.fdopen(reading, "rb") as pipe:
        assert pipe.read() == b""


def launch_of(cell, *argv, **changes) -> Launch:
    return structs.replace(
        Launch(argv=argv, cwd=str(cell.root), env={"PATH": "/usr/bin:/bin"}, timeout_s=60), **changes
    )


@pytest.mark.parametrize("keeper", [False, True], ids=["mark", "keeper"])
@LEVELS
def test_being_asked_to_end_reaches_the_program_and_gives_it_time(cell, machine, keeper, tag):
    beside = f"setsid sh -c 'echo up; exec sleep 50.{tag}' &"
    script = f"trap 'echo asked >src/asked; exit 7' TERM; {beside} while :; do sleep 0.02; done"
    held = confine(launch_of(cell, "sh", "-c", script, grace_s=20), cell.confinement(), machine, "none")
    up = threading.Event()

    with open_process(held.launch, keeper=keeper, on_output=lambda _name, _piece: up.set()) as process:
        while not up.is_set():
            process.pump(1)
        process.cancel()
        ended = process.wait()
    held.close()

    assert (ended.code, ended.survivors_left) == (7, 0)
    assert (cell.src / "asked").exists()
    assert not tagged(tag)


@full
def test_everything_in_a_namespace_dies_with_its_keeper(cell, tag):
    script = f"setsid env -i sleep 50.{tag} & echo up; wait"
    held = confine(launch_of(cell, "sh", "-c", script), cell.confinement(), MACHINE)
    up = threading.Event()

    with open_process(held.launch, keeper=True, on_output=lambda _name, _piece: up.set()) as process:
        while not up.is_set():
            process.pump(1)
        before = tagged(tag)
        os.kill(process._child.adopter or 0, signal.SIGKILL)
        gone = eventually(lambda: not tagged(tag))
        ended = process.wait()
    held.close()

    assert before
    assert gone
    assert ended.level == "namespace"


@full
def test_a_signal_shows_as_an_exit_code_in_a_namespace(cell):
    ended = cell.shell(MACHINE, "kill -SEGV $$")

    assert (ended.code, ended.signal, ended.level) == (128 + signal.SIGSEGV, None, "namespace")


@landlock
def test_a_signal_shows_as_one_where_there_is_no_namespace(cell):
    ended = cell.shell(ALONE, "kill -SEGV $$", keeper=True)

    assert (ended.code, ended.signal, ended.level) == (None, signal.SIGSEGV, "keeper")


# Calls

UNSHARE = """
import _ctypes, os
here = _ctypes.dlopen(None, 0)
before = os.readlink("/proc/self/ns/user")
_ctypes.call_function(_ctypes.dlsym(here, "unshare"), (0x10000000,))
print("same" if os.readlink("/proc/self/ns/user") == before else "another")
"""


@pytest.mark.skipif(not MACHINE.seccomp, reason="there is no filter on this machine")
def test_no_namespace_can_be_made_inside(cell):
    held, free = (cell.python(machine, UNSHARE) for machine in (only(seccomp=True), NOTHING))

    assert held.stdout == b"same\n"
    if free.stdout != b"another\n":
        pytest.skip("this machine lets nobody make one")


SOCKETS = """
import _socket
kinds = (1, 1, 0), (2, 1, 0), (2, 1, 6), (2, 2, 0), (2, 1, 262), (16, 3, 0), (16, 3, 15), (17, 3, 0)
for family, kind, protocol in kinds:
    try:
        _socket.socket(family, kind, protocol).close()
    except PermissionError:
        print("no", end=" ")
    except OSError:
        print("other", end=" ")
    else:
        print("yes", end=" ")
"""


@pytest.mark.skipif(not MACHINE.seccomp, reason="there is no filter on this machine")
@pytest.mark.parametrize(
    ("network", "machine", "told"),
    [
        pytest.param("open", only(seccomp=True), "yes yes yes yes - yes no no", id="open"),
        pytest.param("none", MACHINE, "yes yes yes yes - yes no no", id="own network", marks=full),
        pytest.param("none", ALONE, "yes yes yes no no no no no", id="relay", marks=landlock),
        pytest.param("none", only(seccomp=True), "yes no no no no no no no", id="closed"),
    ],
)
def test_sockets_are_made_by_family_type_and_protocol(cell, network, machine, told):
    ended = cell.python(machine, SOCKETS, network=network)

    pairs = zip(told.split(), ended.stdout.decode().split(), strict=True)
    assert all(wanted in ("-", found) for wanted, found in pairs), ended.stdout


# The network

CONNECT = """
import _socket, sys
kind, port, flags = sys.argv[1], int(sys.argv[2]), 0x20000000
try:
    if kind == "udp":
        _socket.socket(_socket.AF_INET, _socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", port))
    elif kind == "fast":
        _socket.socket().sendto(b"x", flags, ("127.0.0.1", port))
    elif kind == "mptcp":
        _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM, 262).connect(("127.0.0.1", port))
    elif kind == "abstract":
        _socket.socket(_socket.AF_UNIX).connect("\\0keisei-%d" % port)
    else:
        _socket.socket().connect(("127.0.0.1", port))
except OSError:
    pass
"""


@contextlib.contextmanager
def server(kind="tcp"):
    """A listener outside, and whether anybody has reached it."""
    made = {
        "udp": lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM),
        "mptcp": lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262),
        "abstract": lambda: socket.socket(socket.AF_UNIX),
    }.get(kind, socket.socket)()
    with made:
        port = os.getpid() if kind == "abstract" else 0
        made.bind(f"\0keisei-{port}" if kind == "abstract" else ("127.0.0.1", 0))
        if kind != "udp":
            made.listen()
        made.setblocking(False)  # noqa: FBT003 - it takes no keyword

        def reached() -> bool:
            with contextlib.suppress(BlockingIOError):
                if kind == "udp":
                    return bool(made.recv(10))
                made.accept()[0].close()
                return True
            return False

        yield port or made.getsockname()[1], reached


@pytest.mark.parametrize("kind", ["tcp", "udp", "fast", "mptcp"])
@LEVELS
def test_without_a_network_nobody_is_reached(cell, machine, kind):
    try:
        listening = server(kind)
        with listening as (port, reached):
            cell.python(machine, CONNECT, kind, str(port))
            held = reached()
            cell.python(NOTHING, CONNECT, kind, str(port))
            free = reached()
    except OSError as error:
        pytest.skip(f"this machine has no {kind}: {error}")

    assert not held
    if kind == "fast" and not free:
        pytest.skip("this kernel opens no connection with the first bytes")
    assert free


@LEVELS
def test_abstract_sockets_of_others_are_not_reached(cell, machine):
    with server("abstract") as (name, reached):
        cell.python(machine, CONNECT, "abstract", str(name), network="open")
        held = reached()
        cell.python(NOTHING, CONNECT, "abstract", str(name))

        assert (held, reached()) == (False, True)


@LEVELS
def test_an_open_network_is_the_machines(cell, machine):
    with server() as (port, reached):
        cell.python(machine, CONNECT, "tcp", str(port), network="open")

        assert reached()


LISTEN = """
import _socket, sys, time
line = _socket.socket()
line.listen(1)
open("src/port", "w").write(str(line.getsockname()[1]))
"""


@landlock
def test_no_port_of_the_machine_is_opened_without_a_network(cell):
    held = cell.python(ALONE, LISTEN)
    found = (cell.src / "port").exists()
    free = cell.python(NOTHING, LISTEN)

    assert (held.code, found, free.code) == (1, False, 0)
    assert (cell.src / "port").exists()


@landlock
def test_the_one_port_it_may_connect_to_is_reached_and_no_other(cell):
    with server() as (port, reached), server() as (other, other_reached):
        for each in (port, other):
            cell.python(ALONE, CONNECT, "tcp", str(each), connect=port)

        assert (reached(), other_reached()) == (True, False)


UNIX = """
import _socket, os, sys
for path in sys.argv[1:]:
    line = _socket.socket(_socket.AF_UNIX)
    try:
        line.connect(path)
        print("reached")
    except OSError:
        print("refused")
    for act in (lambda: os.unlink(path), lambda: os.rename(os.path.dirname(path), "/tmp/elsewhere")):
        try:
            act()
        except OSError:
            continue
        print("replaced")
"""


@pytest.fixture
def short():
    """A folder with a short name, for sockets."""
    with tempfile.TemporaryDirectory(prefix="ks", dir="/tmp") as folder:
        yield Path(os.path.realpath(folder))


@full
def test_a_socket_that_is_given_is_reached_and_not_replaced_and_its_neighbour_is_not_seen(cell, short):
    given, kept = str(short / "given"), str(short / "kept")
    with socket.socket(socket.AF_UNIX) as one, socket.socket(socket.AF_UNIX) as two:
        for line, name in ((one, given), (two, kept)):
            line.bind(name)
            line.listen()

        ended = cell.python(MACHINE, UNIX, given, kept, sockets=(given,))

    assert ended.stdout.split() == [b"reached", b"refused"]
    assert Path(given).is_socket()


ASK = """
import _socket
line = _socket.socket()
line.connect(("127.0.0.1", 4321))
print(line.recv(10).decode())
"""


def _answer(line: socket.socket) -> None:
    line.settimeout(30)
    with contextlib.suppress(TimeoutError), line.accept()[0] as connection:
        connection.sendall(b"answer")


@full
def test_a_port_inside_leads_to_the_socket_outside(cell, short):
    with socket.socket(socket.AF_UNIX) as line:
        line.bind(str(short / "relay"))
        line.listen()
        answering = threading.Thread(target=_answer, args=(line,))
        answering.start()

        ended = cell.python(MACHINE, ASK, forward=Forward(port=4321, socket=str(short / "relay")))
        answering.join(10)

    assert ended.stdout == b"answer\n"


@full
def test_without_the_way_to_the_model_the_program_is_not_run(cell, short):
    with socket.socket(socket.AF_UNIX) as line:
        line.bind(str(short / "relay"))

        ended = cell.shell(MACHINE, "touch src/ran", forward=Forward(port=99_999, socket=str(short / "relay")))

    assert (ended.code, ended.stderr) == (
        126,
        b"keisei: the program is not run: forward: the way to the model cannot be opened\n",
    )
    assert not (cell.src / "ran").exists()


# Limits

MANY = "i=0; while [ $i -lt 40 ]; do sleep 20 & i=$((i+1)); done; echo through"


@full
@pytest.mark.skipif(MACHINE.cgroup is None and os.geteuid() == 0, reason="nothing counts root's processes here")
def test_processes_of_a_tree_are_counted(cell):
    held = cell.shell(MACHINE, MANY, limits=Limits(processes=20))
    free = cell.shell(MACHINE, MANY, limits=Limits(processes=200))

    assert (b"through" in held.stdout, b"through" in free.stdout) == (False, True)


@LEVELS
def test_a_file_a_descriptor_and_a_core_are_bounded(cell, machine):
    script = (
        "import resource as r; "
        "print(*(r.getrlimit(each) for each in (r.RLIMIT_FSIZE, r.RLIMIT_NOFILE, r.RLIMIT_CORE))); "
        "open('src/big', 'wb').write(bytes(5000))"
    )

    ended = cell.python(machine, script, limits=Limits(file_bytes=4096, open_files=64))

    assert ended.stdout == b"(4096, 4096) (64, 64) (0, 0)\n"
    assert (cell.src / "big").stat().st_size == 4096
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] != 4096


@pytest.mark.skipif(MACHINE.cgroup is None, reason="no group can be made here")
def test_groups_are_given_back_and_those_of_the_dead_removed(cell):
    parent = Path(MACHINE.cgroup or "")
    left = parent / "keisei-1-1-00000000"
    left.mkdir()

    held = confine(launch_of(cell, "true"), cell.confinement(), MACHINE, "none")
    made = [Path(each) for each in held.groups]

    assert all(each.is_dir() for each in made)
    assert not left.exists()
    held.close()
    assert not any(each.exists() for each in made)


def test_a_group_that_cannot_be_made_is_one_clear_error(cell, tmp_path):
    machine = structs.replace(NOTHING, cgroup=str(tmp_path / "none"))

    with pytest.raises(WorldFault, match="no group with limits can be made"):
        confine(launch_of(cell, "true"), cell.confinement(), machine, "none")


# What goes in and comes out


@LEVELS
def test_streams_and_exit_code_pass(cell, machine):
    ended = cell.shell(machine, "cat; echo err >&2; exit 3", stdin=b"in\0\xff" * 50_000)

    assert (ended.code, ended.stdout, ended.stderr) == (3, b"in\0\xff" * 50_000, b"err\n")


@pytest.mark.parametrize("pwd", [{}, {"PWD": "/somewhere"}], ids=["no PWD", "a PWD"])
@LEVELS
def test_the_environment_passes_byte_for_byte(cell, machine, pwd):
    env = {"PATH": "/usr/bin:/bin", "a.b-c": "ä\udc80\n", "EMPTY": "", **pwd}

    ended = cell.python(machine, "print(open('/proc/self/environ', 'rb').read())", env=env)

    found = dict(each.split(b"=", 1) for each in eval(ended.stdout).split(b"\0") if each)  # noqa: S307 - our own bytes
    found.pop(b"KEISEI_TREE")
    assert found == {os.fsencode(name): os.fsencode(value) for name, value in env.items()}


@LEVELS
def test_long_arguments_and_the_folder_pass(cell, machine):
    ended = cell.run(machine, "sh", "-c", 'pwd; printf %s "$1" | wc -c', "sh", "ü" * 60_000)

    assert ended.stdout.decode().split("\n") == [str(cell.root), "120000", ""]


@LEVELS
def test_a_folder_whose_name_is_no_text_is_written(tmp_path, machine):
    odd = Cell(tmp_path / 'o\udc80d\n"d')

    odd.shell(machine, "echo in >src/new; echo out >new")

    assert (odd.src / "new").exists()
    assert not (odd.root / "new").exists()


@LEVELS
def test_many_paths_travel_in_pieces(cell, machine):
    protected = tuple(str(cell.root / ("x" * 200 + str(number))) for number in range(1500))
    reads = tuple(map(str, cell.root.parent.glob("o*")))

    ended = cell.shell(machine, "echo fine", read=(str(cell.root), *reads, *protected), protect=protected)

    assert ended.stdout == b"fine\n"


@LEVELS
def test_a_program_that_is_not_there_ends_with_127(cell, machine):
    ended = cell.run(machine, "no-such-program")

    assert (ended.code, ended.stderr) == (127, b"keisei: `no-such-program` is not there to be run\n")


@full
def test_a_folder_it_cannot_see_ends_it_with_126(cell):
    launch = structs.replace(launch_of(cell, "true"), cwd=str(cell.outside))
    held = confine(launch, cell.confinement(), MACHINE)

    ended = subprocess.run(held.launch.argv, env={}, capture_output=True, check=False)
    held.close()

    assert ended.returncode == 126
    assert ended.stderr == b"keisei: the program is not run: cwd: No such file or directory\n"


# What is refused, and what is told


@pytest.mark.parametrize(
    ("machine", "level"),
    [
        (Machine(bwrap="bwrap", landlock=1, seccomp=True), "full"),
        (Machine(bwrap="bwrap", landlock=7, seccomp=False), "none"),
        (Machine(bwrap="bwrap", landlock=0, seccomp=True), "none"),
        (Machine(bwrap=None, landlock=6, seccomp=True), "landlock"),
        (Machine(bwrap=None, landlock=5, seccomp=True), "none"),
        (Machine(bwrap=None, landlock=0, seccomp=False), "none"),
    ],
)
def test_the_level_goes_by_what_holds(machine, level):
    assert level_of(machine) == level


def test_a_machine_that_holds_too_little_is_refused_with_the_reason(cell):
    machine = Machine(bwrap=None, landlock=3, seccomp=True, faults=("bubblewrap (`bwrap`) is not installed",))

    with pytest.raises(Refused, match="level `none`, and `landlock` is required: bubblewrap") as refusal:
        confine(launch_of(cell, "true"), cell.confinement(), machine, accept="landlock")

    assert "install bubblewrap" in (refusal.value.hint or "")


NEW, OLD = only(landlock=7, seccomp=True), only(landlock=3, seccomp=True)


@pytest.mark.parametrize(
    ("machine", "changes", "layers"),
    [
        pytest.param(structs.replace(NEW, bwrap="bwrap"), {}, "namespace landlock:7 seccomp network:none", id="full"),
        pytest.param(NEW, {}, "landlock:7 seccomp network:none", id="landlock"),
        pytest.param(NEW, {"network": "open"}, "landlock:7 seccomp network:open", id="open"),
        pytest.param(NEW, {"connect": 80}, "landlock:7 seccomp network:none", id="port"),
        pytest.param(OLD, {}, "landlock:3 seccomp network:none", id="old"),
        pytest.param(OLD, {"connect": 80}, "landlock:3 seccomp network:open", id="old, port"),
        pytest.param(only(landlock=3), {}, "landlock:3 network:open", id="landlock alone"),
        pytest.param(only(seccomp=True), {}, "seccomp network:none", id="seccomp alone"),
        pytest.param(NOTHING, {}, "network:open", id="nothing"),
    ],
)
def test_the_layers_tell_what_holds_in_truth(cell, machine, changes, layers):
    held = confine(launch_of(cell, "true"), cell.confinement(**changes), machine, "none")

    counted = "limits:file" if os.geteuid() == 0 else "limits:user"
    assert held.layers == (*layers.split(), counted)


@pytest.mark.parametrize("abi", [1, 2, 3, 4, 5, 6])
@landlock
def test_an_older_landlock_still_holds_what_it_knows(cell, abi):
    cell.shell(only(landlock=abi, seccomp=True), 'echo in >src/new; echo out >"$1"/new', str(cell.outside))

    assert (cell.src / "new").exists()
    assert not (cell.outside / "new").exists()


def bad_paths(cell):
    link = cell.root / "link"
    link.symlink_to(cell.outside)
    return {
        "a link": {"write": (str(link),)},
        "below a link": {"read": (str(link / "secret"),)},
        "relative": {"read": ("src",)},
        "missing": {"write": (str(cell.root / "missing"),)},
        "missing socket": {"sockets": (str(cell.root / "missing"),)},
        "the root": {"write": ("/",)},
        "dots": {"hide": (f"{cell.root}/src/../src",)},
        "nul": {"protect": ("/a\0b",)},
    }


@pytest.mark.parametrize(
    "name", ["a link", "below a link", "relative", "missing", "missing socket", "the root", "dots", "nul"]
)
def test_a_path_that_is_not_real_or_not_there_is_one_clear_error(cell, name):
    with pytest.raises(OperatorError, match=r"cannot be (confined to|opened or closed)"):
        confine(launch_of(cell, "true"), Confinement(**bad_paths(cell)[name]), MACHINE, "none")
