"""Places: fresh databases on a real disk, SQLite files and those of a PostgreSQL server of our own, both with fsync."""

import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import NamedTuple

from keisei.engine.ports import Store
from keisei.store import open_store
from keisei.testing.postgres import Server

TMPFS = {"tmpfs", "ramfs"}


class Place(NamedTuple):
    """One database."""

    kind: str
    """`sqlite` or `postgres`."""
    url: str
    bells: str
    """The folder of doorbells."""

    @property
    def path(self) -> str:
        """What a client that is not ours is given: a file, or an address."""
        return self.url.removeprefix("sqlite://")

    def open(self) -> Store:
        """The store here."""
        return open_store(self.url, bell_folder=Path(self.bells))


class Ground:
    """Where databases are made."""

    def __init__(self, folder: Path, bells: Path, server: Server | None) -> None:
        self.folder, self._bells, self.server = folder, bells, server
        self._numbers = count(1)

    @contextmanager
    def place(self, kind: str) -> Iterator[Place]:
        """A fresh, empty database, gone after the block."""
        name = f"{next(self._numbers):03}"
        (self._bells / name).mkdir()
        if kind == "postgres":
            assert self.server is not None
            url = self.server.database()
            try:
                yield Place(kind, url, str(self._bells / name))
            finally:
                self.server.drop(url)
        else:
            folder = self.folder / name
            folder.mkdir()
            try:
                yield Place(kind, f"sqlite://{folder / 'state.db'}", str(self._bells / name))
            finally:
                shutil.rmtree(folder)

    def server_pid(self, kind: str) -> int:
        """The process of the server, where this kind of database has one; otherwise 0."""
        return self.server.pid if self.server is not None and kind == "postgres" else 0


@contextmanager
def prepared(folder: Path, *, needs_server: bool) -> Iterator[Ground]:
    """A ground in a folder of its own under this one. The server is stopped and everything removed after the block."""
    folder.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory(prefix="kq-", dir=folder) as own,
        tempfile.TemporaryDirectory(prefix="kq-") as bells,
    ):
        Path(own).chmod(0o755)  # the server may run as another user, who must reach its folder
        server = Server(Path(own) / "pg", fsync=True) if needs_server else None
        try:
            if server is not None:
                server.start()
            yield Ground(Path(own), Path(bells), server)
        finally:
            if server is not None:
                server.stop()


def file_system(folder: Path) -> str:
    """What kind of file system a folder is on."""
    found = ("/", "unknown")
    for line in Path("/proc/self/mounts").read_text().splitlines():
        _, point, kind, *_ = line.split()
        if folder.resolve().is_relative_to(point) and len(point) >= len(found[0]):
            found = (point, kind)
    return found[1]


def sync_us(folder: Path, times: int = 100) -> float:
    """The median of what the disk takes to keep 4 kB."""
    taken = []
    with tempfile.TemporaryFile(dir=folder, buffering=0) as file:
        for _ in range(times):
            file.write(bytes(4096))
            started = time.perf_counter()
            os.fdatasync(file.fileno())
            taken.append((time.perf_counter() - started) * 1e6)
    return statistics.median(taken)
