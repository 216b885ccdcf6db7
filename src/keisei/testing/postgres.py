"""A PostgreSQL server of one's own, for tests, benches and soaks.

    with server(Path(folder)) as postgres:
        url = postgres.database()  # fresh and empty; any PostgreSQL client takes this address

It shares nothing with a server of the system: its data lives in the folder, it listens on a Unix socket there and on no
port, so that nobody but the folder's owner reaches it and a restart never finds its place taken. PostgreSQL refuses to
run as root; there the server runs as the user `postgres`, whom the system's package brings.

A server ends with the process that started it, however that ends: a small shell starts it, waits at its standard input,
and stops it at the end of that. (A process that its owner forked and that became no other program is the owner too.)
"""

import os
import pwd
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal
from urllib.parse import quote

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.sql import SQL, Identifier

from keisei.records.error import OperatorError, WorldFault
from keisei.records.launch import Exit, Launch
from keisei.sandbox.process import Process, open_process, run

StopMode = Literal["smart", "fast", "immediate"]
"""As in PostgreSQL: wait for clients to leave, send them away, or end as in a crash."""

OLDEST = 14
"""The oldest major version that keisei runs on."""

_ACCOUNT = "postgres"
_PACKAGED = Path("/usr/lib/postgresql")
_PROGRAMS = ("initdb", "pg_ctl", "postgres")
_SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
_PORT = 5432  # only a part of the socket's name
_SOCKET_ROOM = 107 - len(f"/.s.PGSQL.{_PORT}")
_WAIT_S = 120

# SIGPIPE is ignored because the owner may be gone before `ready` is said, and the server must be stopped then too.
_GUARD = """trap '' PIPE
"$0" -D . -l log -w -t "$1" start >&2 || exit 1
echo ready
read -r mode || mode=immediate
"$0" -D . -w -t "$1" -m "$mode" stop >&2
"""

# Without fsync a commit is still handed to the kernel before it is answered, so it survives `kill` but no power cut.
_SETTINGS = """
listen_addresses = ''
unix_socket_directories = '.'
port = {port}
timezone = 'UTC'
fsync = {switch}
full_page_writes = {switch}
"""


@contextmanager
def server(folder: Path, *, fsync: bool = False) -> Iterator["Server"]:
    """A running server whose data lives in the folder, which is made or must be empty; it is left to the caller.

    Without `fsync` it is quick and would not survive a power cut, which suits tests; benches and soaks ask for it.
    Raises OperatorError with a hint where no server is installed or the folder does not suit, WorldFault where the
    server does not start.
    """
    made = Server(folder, fsync=fsync)
    try:
        made.start()
        yield made
    finally:
        made.kill()


class Server:
    """One server, made but not started. Used by one thread at a time; its databases by as many as there are."""

    def __init__(self, folder: Path, *, fsync: bool = False) -> None:
        self.folder = folder.resolve()
        self._programs = _find_programs()
        self._process: Process | None = None
        _check_version(self._programs)
        if len(os.fsencode(self.folder)) > _SOCKET_ROOM:
            raise OperatorError(
                f"the path of the folder {self.folder} is too long for a Unix socket in it",
                f"choose one of at most {_SOCKET_ROOM} bytes",
            )
        self._make(fsync=fsync)

    @property
    def url(self) -> str:
        """The address of the database `postgres`, from which others are made."""
        return self._url("postgres")

    @property
    def running(self) -> bool:
        """Whether it was started and not stopped since."""
        return self._process is not None

    @property
    def pid(self) -> int:
        """The number of its first process. Raises WorldFault where it does not run."""
        try:
            return int((self.folder / "postmaster.pid").read_text(encoding="utf-8").split("\n", 1)[0])
        except FileNotFoundError:
            raise WorldFault(f"the PostgreSQL server in {self.folder} does not run") from None

    def database(self) -> str:
        """Make a fresh, empty database and return its address."""
        name = f"keisei_{secrets.token_hex(8)}"
        self._order(SQL("CREATE DATABASE {} TEMPLATE template0"), name)
        return self._url(name)

    def drop(self, url: str) -> None:
        """Remove a database that `database` made, and send away whoever is connected to it."""
        self._order(SQL("DROP DATABASE {} WITH (FORCE)"), str(conninfo_to_dict(url)["dbname"]))

    def start(self) -> None:
        """Start it, after a crash with recovery, and wait until it answers. One that runs goes on."""
        if self._process is not None:
            return
        said = bytearray()
        launch = self._launch(float("inf"), "sh", "-c", _GUARD, str(self._programs / "pg_ctl"), str(_WAIT_S))
        self._process = open_process(launch, on_output=lambda _, piece: said.extend(piece), keep_stdin=True)
        while b"ready" not in said and self._process.pump(_WAIT_S):
            pass
        if b"ready" not in said:
            process, self._process = self._process, None
            raise WorldFault(f"PostgreSQL did not start in {self.folder}: {_tail(process.wait())}{self._log()}")

    def stop(self, mode: StopMode = "fast") -> None:
        """Stop it and wait until nothing of it runs. One that does not run stays as it is."""
        if self._process is not None:
            process, self._process = self._process, None
            process.write(f"{mode}\n".encode())
            process.wait()

    def kill(self) -> None:
        """End it as a crash would: nothing is written any more, and clients lose their connections in mid-sentence."""
        self.stop("immediate")

    def _make(self, *, fsync: bool) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        if any(self.folder.iterdir()):
            raise OperatorError(f"the folder {self.folder} is not empty", "give the server a folder of its own")
        self.folder.chmod(0o700)
        if os.geteuid() == 0:
            account = _account()
            os.chown(self.folder, account.pw_uid, account.pw_gid)
        self._initialize()
        with (self.folder / "postgresql.conf").open("a", encoding="utf-8") as settings:
            settings.write(_SETTINGS.format(port=_PORT, switch="on" if fsync else "off"))

    def _initialize(self) -> None:
        options = ("-D", ".", "-U", "keisei", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
        told = run(self._launch(_WAIT_S, str(self._programs / "initdb"), *options))
        if told.code != 0:
            hint = f"the server runs as the user `{_ACCOUNT}` here, who must be able to reach the folder"
            message = f"PostgreSQL could not be prepared in {self.folder}: {_tail(told)}"
            raise OperatorError(message, hint if os.geteuid() == 0 else None)

    def _launch(self, timeout_s: float, *argv: str) -> Launch:
        as_account = ("setpriv", f"--reuid={_ACCOUNT}", f"--regid={_ACCOUNT}", "--init-groups", "--")
        return Launch(
            argv=(*as_account, *argv) if os.geteuid() == 0 else argv,
            cwd=str(self.folder),
            env={"PATH": _SYSTEM_PATH, "LC_ALL": "C"},
            timeout_s=timeout_s,
        )

    def _url(self, database: str) -> str:
        # The port is named because a client would otherwise take it from its environment.
        return f"postgresql://keisei@/{database}?host={quote(str(self.folder), safe='')}&port={_PORT}"

    def _order(self, statement: SQL, name: str) -> None:
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(statement.format(Identifier(name)))

    def _log(self) -> str:
        log = self.folder / "log"
        return "\n" + log.read_text(encoding="utf-8", errors="replace")[-2000:] if log.exists() else ""


def _find_programs() -> Path:
    """The folder of the server's programs: the one on the PATH, else the newest of the system's packages."""
    on_path = shutil.which("pg_ctl")
    folders = [Path(on_path).resolve().parent] if on_path else []
    folders += sorted(_PACKAGED.glob("*/bin"), key=_package_version, reverse=True)
    for folder in folders:
        if all((folder / name).is_file() for name in _PROGRAMS):
            return folder
    raise OperatorError(
        "no PostgreSQL server is installed here",
        "run `make setup-test`, or install your system's package (on Debian `postgresql`)",
    )


def _package_version(programs: Path) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", programs.parent.name)]


def _check_version(programs: Path) -> None:
    told = run(Launch(argv=(str(programs / "postgres"), "--version"), cwd="/", env={}, timeout_s=_WAIT_S))
    found = re.search(rb"\) (\d+)", told.stdout)
    if found is None:
        raise OperatorError(f"`{programs / 'postgres'} --version` does not tell its version: {_tail(told)}")
    if int(found[1]) < OLDEST:
        raise OperatorError(f"{programs} holds PostgreSQL {int(found[1])}", f"install version {OLDEST} or newer")


def _account() -> pwd.struct_passwd:
    try:
        return pwd.getpwnam(_ACCOUNT)
    except KeyError:
        message = f"PostgreSQL does not run as root, and there is no user `{_ACCOUNT}`"
        raise OperatorError(message, "install your system's package of PostgreSQL, which makes that user") from None


def _tail(told: Exit) -> str:
    return (told.stderr or told.stdout).decode("utf-8", "replace").strip()[-2000:]
