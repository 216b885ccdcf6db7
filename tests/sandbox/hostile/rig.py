"""A place like that of a real attempt: a user's home, a main checkout, a state folder, and the attempt's own folders.

Everything is below one short folder, because the paths of Unix sockets must be. Whatever a program needs outside is
started by the method its `needs` name, and ended by `close`.
"""

import errno
import fcntl
import os
import pty
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from keisei.sandbox import group
from tests.sandbox.hostile import outside
from tests.sandbox.program import carriers

HOSTILE = "hostile-was-here"
"""What a hostile program writes wherever it can."""
_MPTCP = 262
_STAND_IN = """
import ctypes, sys
buffer = ctypes.create_string_buffer(sys.argv[1].encode(), 128)
handle = open(sys.argv[2], "a")
sys.argv.clear()
print(ctypes.addressof(buffer), handle.fileno(), flush=True)
for line in sys.stdin:
    print(buffer.value.decode(), flush=True)
"""
_FILES = {
    "main": "README.md .claude/settings.json src/app.py",
    "home": ".ssh/id_ed25519 .bashrc .gitconfig .claude/settings.json",
    "state": "state.db agent.env worktrees/a000.lock worktrees/a000.json worktrees/a001/src/app.py "
    "environments/key/lib/site.py run/one/stdout.log run/one/gate.jsonl run/two/room/prompt.md",
    "work": "README.md src/app.py src/locked/policy.toml docs/guide.md .claude/settings.json private/notes.md",
    "room": "prompt.md home/.profile tmp/here",
    "runtime": "other-token/here",
    "tools": "bin/tool",
}


class Rig:
    """One such place. `at` is what a program is told: absolute paths and numbers, by name."""

    def __init__(self, repository: Path) -> None:
        self.root = Path(tempfile.mkdtemp(prefix="ks")).resolve()
        self.secret, self.word = f"secret{secrets.token_hex(8)}", f"word{secrets.token_hex(8)}"
        self.folders = _folders(self.root)
        for name, files in _FILES.items():
            for each in files.split():
                self.put(self.folders[name] / each)
        _lay_repository(repository, self.folders)
        self.path("acted").mkdir()
        self.untouched = True
        self._begin()

    def _begin(self) -> None:
        self.at: dict[str, str | int] = {name: str(path) for name, path in self.folders.items()}
        self.at |= {"hostile": HOSTILE, "uid": os.getuid(), "gid": os.getgid()}
        self.runner: subprocess.Popen[str] | None = None
        self.observed = False
        self.inherited: tuple[int, ...] = ()
        self.stdin: int | None = None
        self._before: dict[str, bytes] = {}
        self._threads: list[threading.Thread] = []
        self._closing: list[Callable[[], object]] = []
        self._sockets: dict[str, socket.socket] = {}

    def put(self, path: Path) -> None:
        """A file with the secret in it, for its owner alone."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"# {self.secret}\n")
        path.chmod(0o600)

    def path(self, name: str) -> Path:
        """`folder/rest` with one of the rig's folders; `own/loot` is where programs put what they took."""
        first, _, rest = name.partition("/")
        return self.folders.get(first, self.root / first) / rest

    def bytes_of(self, name: str) -> bytes:
        """What a file holds; nothing where there is none."""
        try:
            return self.path(name).read_bytes()
        except OSError:
            return b""

    # What stands outside; each is named in the `needs` of a program.

    def gate(self) -> None:
        """The gate's socket, with somebody behind it."""
        self._serve("gate", outside.Gate, self.folders["runtime"] / "token" / "gate.sock")
        self.at["gate_inode"] = Path(str(self.at["gate"])).stat().st_ino

    def tmux(self) -> None:
        """A terminal multiplexer that runs what it is told."""
        self._serve("tmux", outside.Multiplexer)

    def bus(self) -> None:
        """A message bus with a service manager on it."""
        self._serve("bus", outside.Bus)

    def docker(self) -> None:
        """A container engine with an HTTP interface."""
        self._serve("docker", outside.Engine)

    def agent(self) -> None:
        """An agent that signs with the user's key."""
        self._serve("agent", outside.KeyAgent)

    def broker(self) -> None:
        """Somebody who hands out open descriptors."""
        self._serve("broker", outside.Broker)

    def abstract(self) -> None:
        """A multiplexer that listens on a name without a file."""
        self._serve("abstract", outside.Multiplexer, f"\0{self.word}")
        self.at["abstract"] = self.word

    def journal(self) -> None:
        """A socket for datagrams, as system loggers and service managers have one."""
        self._hear("journal", socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM), str(self.root / "journal.sock"))

    def tcp(self) -> None:
        """A listener on loopback."""
        self._hear("tcp", socket.socket(socket.AF_INET, socket.SOCK_STREAM), ("127.0.0.1", 0)).listen(8)

    def tcp6(self) -> None:
        """A listener on the loopback of IPv6."""
        self._hear("tcp6", socket.socket(socket.AF_INET6, socket.SOCK_STREAM), ("::1", 0)).listen(8)

    def mptcp(self) -> None:
        """A listener on loopback, on a machine that knows the other protocol."""
        socket.socket(socket.AF_INET, socket.SOCK_STREAM, _MPTCP).close()
        self.tcp()

    def udp(self) -> None:
        """A receiver of datagrams on loopback."""
        self._hear("udp", socket.socket(socket.AF_INET, socket.SOCK_DGRAM), ("127.0.0.1", 0))

    def ring(self) -> None:
        """A receiver of datagrams, on a machine whose kernel works off rings of requests."""
        if Path("/proc/sys/kernel/io_uring_disabled").read_text() != "0\n":
            raise OSError(errno.EPERM, "io_uring is switched off")
        self.udp()

    def raw(self) -> None:
        """A receiver of raw ICMP on loopback; takes root."""
        self._hear("raw", socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP), None)

    def stand_in(self) -> None:
        """A process in the place of the runner: secrets in its memory and environment, a descriptor on main."""
        argv = [sys.executable, "-I", "-S", "-c", _STAND_IN, self.secret, str(self.path("main/README.md")), self.word]
        env = {"RUNNER_KEY": self.secret}
        self.runner = subprocess.Popen(
            argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env, start_new_session=True
        )
        assert self.runner.stdout is not None
        address, descriptor = self.runner.stdout.readline().split()
        self.at |= {"runner": self.runner.pid, "address": int(address), "descriptor": int(descriptor)}

    def caller(self) -> None:
        """Somebody outside who connects to the port the program is told, once it is ready."""
        with socket.create_server(("127.0.0.1", 0)) as probe:
            self.at["port"] = probe.getsockname()[1]
        self._meet(self._call)

    def writer(self) -> None:
        """Somebody outside who works in the state folder, once the program is ready."""
        self._meet(lambda: self.put(self.path(f"state/{self.secret}")))

    def talker(self) -> None:
        """Somebody outside who says the secret on loopback, once the program is ready."""
        self.udp()
        self._meet(lambda: self._sockets["udp"].sendto(self.secret.encode(), self._sockets["udp"].getsockname()))

    def segment(self) -> None:
        """A System V shared memory segment with the secret in it."""
        number, remove = outside.shared_segment(self.secret.encode())
        self.at["segment"] = number
        self._closing.append(remove)

    def shared_file(self) -> None:
        """A file in the machine's /dev/shm, where programs keep what they share."""
        path = Path("/dev/shm") / self.word  # noqa: S108 - the shared folder is the point
        self.put(path)
        self.at["shared_file"] = str(path)
        self._closing.append(lambda: path.unlink(missing_ok=True))

    def dropped(self) -> None:
        """A name in the machine's /tmp that a program of the user is about to trust."""
        path = Path("/tmp") / self.word  # noqa: S108 - the shared folder is the point
        self.at["dropped"] = str(path)
        self._closing.append(lambda: path.unlink(missing_ok=True))
        self.folders["dropped"] = path

    def handle(self) -> None:
        """The handle of a file of main, which somebody who may guess inodes finds out."""
        self.at["handle"], self.at["handle_type"] = outside.file_handle(str(self.path("main/README.md")))

    def remember(self) -> None:
        """What the repository holds, so that a change can be seen."""
        names = [each.relative_to(self.folders["git"]) for each in self.folders["git"].rglob("*") if each.is_file()]
        self._before = {f"git/{name}": self.bytes_of(f"git/{name}") for name in names}

    def remote(self) -> None:
        """A password in the address of main's remote."""
        with self.path("git/config").open("a") as config:
            config.write(f'[remote "origin"]\n\turl = https://user:{self.secret}@localhost/repository\n')

    def tell_word(self) -> None:
        """A word by which a process that outlives its attempt is found, and then ended."""
        self.at["word"] = self.word
        self._closing.append(lambda: [os.kill(each, signal.SIGKILL) for each in carriers(f"daemon-{self.word}")])

    def kernel_log(self) -> None:
        """A word to look for in the kernel's log."""
        self.at["word"] = self.word

    def setting(self) -> None:
        """A setting of the kernel that may be moved for a moment; one test at a time does."""
        path = Path("/proc/sys/kernel/printk_ratelimit_burst")
        lock = Path(__file__).open()  # noqa: SIM115 - it is closed with the rig
        fcntl.flock(lock, fcntl.LOCK_EX)
        self.setting_before = path.read_text()
        self.at["setting"] = str(path)
        self._closing += [lambda: path.write_text(self.setting_before), lock.close]

    def keyring(self) -> None:
        """A name for a key; taken out of the user's keyring afterwards."""
        self.at["word"] = self.word
        self._closing.append(lambda: outside.drop_key(self.word))

    def terminal(self) -> None:
        """A terminal as standard input, as a person who starts a runner has one."""
        master, slave = pty.openpty()
        self.stdin = slave
        self._closing += [lambda: os.close(master), lambda: os.close(slave)]

    def forgotten(self) -> None:
        """A descriptor on main that whoever starts the program leaves open."""
        handle = self.path("main/README.md").open("a")
        self.inherited = (handle.fileno(),)
        self._closing.append(handle.close)

    def labels(self) -> None:
        """A file system that keeps extended attributes."""
        os.setxattr(self.path("work/README.md"), "user.before", b"1")

    def two_kinds_of_calls(self) -> None:
        """A processor whose kernel is called in two ways."""
        if os.uname().machine != "x86_64":
            raise OSError(errno.ENOSYS, "there is one way only")

    def counted(self) -> None:
        """A group that counts, which root cannot be held without."""
        if os.geteuid() == 0:
            self.group()

    def group(self) -> None:
        """The way out of the group that counts the processes of a tree: the file of the one around it."""
        parent = next(iter(group.parents(Path("/proc/self/cgroup").read_text())), None)
        if parent is None or not os.access(parent, os.W_OK):
            raise OSError(errno.EPERM, "no group can be made")
        self.at["group"] = str(parent / "cgroup.procs")

    # What has become of it.

    def relay_port(self) -> int:
        """The port of the model relay, which is the only one a tree without a network of its own may reach."""
        if "relay" not in self._sockets:
            self._hear("relay", socket.socket(socket.AF_INET, socket.SOCK_STREAM), ("127.0.0.1", 0)).listen(8)
        return int(self.at["relay"])

    def before(self, name: str) -> bytes:
        """What a file of the repository held; nothing where there was none."""
        return self._before.get(name, b"")

    def logged(self) -> bool:
        """Whether the kernel's log has the word of this rig."""
        log = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)
        try:
            while self.word.encode() not in os.read(log, 65_536):
                pass
        except BlockingIOError:
            return False
        finally:
            os.close(log)
        return True

    def has_key(self) -> bool:
        """Whether the user's keyring has a key of that name."""
        return outside.find_key(self.word) is not None

    def typed(self) -> bool:
        """Whether the terminal holds input that nobody typed."""
        assert self.stdin is not None
        os.set_blocking(self.stdin, False)
        try:
            return HOSTILE.encode() in os.read(self.stdin, 4096)
        except BlockingIOError:
            return False

    def heard(self, kind: str) -> bool:
        """Whether anybody spoke to this listener and said the mark."""
        listener = self._sockets[kind]
        listener.setblocking(False)  # noqa: FBT003 - it takes no keyword
        with suppress(BlockingIOError):
            while True:
                if HOSTILE.encode() in _next(listener):
                    return True
        return False

    def ask_runner(self) -> str | None:
        """What the stand-in finds in its memory; None where it is dead."""
        assert self.runner is not None
        assert self.runner.stdin is not None
        assert self.runner.stdout is not None
        try:
            self.runner.stdin.write("?\n")
            self.runner.stdin.flush()
        except BrokenPipeError:
            return None
        return self.runner.stdout.readline() or None

    def close(self) -> None:
        """End everything that was started, and leave nothing on disk."""
        self._end()
        shutil.rmtree(self.root)

    def renew(self) -> None:
        """End everything that was started, and make the folders the program may write what they were."""
        self._end()
        for name in ("own", "src"):
            shutil.rmtree(self.folders[name])
        for name in ("work", "room"):
            for each in _FILES[name].split():
                self.put(self.folders[name] / each)
        self._begin()

    def _end(self) -> None:
        for thread in self._threads:
            thread.join()
        for each in self._closing:
            each()
        if self.runner is not None:
            with suppress(ProcessLookupError):
                os.kill(self.runner.pid, signal.SIGKILL)
            self.runner.communicate()
        (self.root / "journal.sock").unlink(missing_ok=True)

    def _serve(self, name: str, kind: type[outside.Server], path: Path | str | None = None) -> None:
        where = str(path if path is not None else self.root / f"{name}.sock")
        server = kind(where, self)
        self.at[name] = where
        self._closing += [server.stop, lambda: Path(where).unlink(missing_ok=True) if where[0] == "/" else None]

    def _hear(self, name: str, listener: socket.socket, address: object) -> socket.socket:
        if address is not None:
            listener.bind(address)
            told = listener.getsockname()
            self.at[name] = told if isinstance(told, str) else told[1]
        self._sockets[name] = listener
        self._closing.append(listener.close)
        return listener

    def _meet(self, do: Callable[[], object]) -> None:
        """Once the program says that it is ready, do something and say so; give up when the rig is closed."""
        done = threading.Event()
        ready, go = self.path("own/ready"), self.path("own/go")

        def wait() -> None:
            while not ready.exists() and not done.is_set():
                time.sleep(0.005)
            if ready.exists():
                do()
                go.touch()

        thread = threading.Thread(target=wait)
        thread.start()
        self._threads.append(thread)
        self.give_up = done.set

    def give_up(self) -> None:
        """The program has ended: nobody waits for it any more."""

    def _call(self) -> None:
        port = int(self.bytes_of("own/port") or self.at["port"])
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=5) as caller:
            self.observed = HOSTILE.encode() in caller.recv(100)


def _next(listener: socket.socket) -> bytes:
    if listener.type != socket.SOCK_STREAM:
        return listener.recv(65_536)
    connection, _ = listener.accept()
    with connection, suppress(ConnectionError):
        connection.settimeout(5)
        return connection.recv(65_536)
    return b""


def _folders(root: Path) -> dict[str, Path]:
    state, home = root / "state" / "a project", root / "home"
    work = state / "worktrees" / "a000"
    return {
        "home": home,
        "main": home / "main",
        "git": home / "main" / ".git",
        "state": state,
        "work": work,
        "src": work / "src",
        "room": state / "run" / "one" / "room",
        "own": state / "run" / "one" / "room" / "tmp",
        "runtime": root / "runtime",
        "tools": root / "tools",
    }


def _lay_repository(repository: Path, folders: dict[str, Path]) -> None:
    """A copy of a real repository with the metadata of two worktrees, as `git worktree add` leaves them."""
    shutil.copytree(repository / ".git", folders["git"])
    for name in ("a000", "a001"):
        metadata = folders["git"] / "worktrees" / name
        metadata.mkdir(parents=True)
        (metadata / "HEAD").write_bytes((repository / "head").read_bytes())
        (metadata / "commondir").write_text("../..\n")
        (metadata / "gitdir").write_text(f"{folders['state'] / 'worktrees' / name / '.git'}\n")
        shutil.copy(folders["git"] / "index", metadata / "index")
        (folders["state"] / "worktrees" / name / ".git").write_text(f"gitdir: {metadata}\n")


def make_repository(folder: Path) -> Path:
    """A repository with one commit, made once and copied for every rig."""
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1"}

    def git(*words: str) -> str:
        name = ("-c", "user.name=keisei", "-c", "user.email=keisei@localhost")
        return subprocess.run(
            ["git", *name, *words], cwd=folder, env=env, check=True, capture_output=True, text=True
        ).stdout

    for each in _FILES["work"].split():
        (folder / each).parent.mkdir(parents=True, exist_ok=True)
        (folder / each).write_text("# base\n")
    git("init", "--quiet", "--initial-branch=main", "--template=")
    git("add", "--all")
    git("commit", "--quiet", "--message=base")
    git("repack", "-adq")
    (folder / "head").write_text(git("rev-parse", "HEAD"))
    (folder / ".git" / "hooks").mkdir(exist_ok=True)
    return folder
