"""The console answers before anybody waits, beside 100,000 tasks and a million events, and fifty people may watch.

    .venv/bin/python bench/console.py [--tasks 100000] [--events 1000000] [--times 60] [--viewers 50] [--folder /disk]

Bars: home under 30 ms and the list of tasks under 50 ms of the server's time; 50 live viewers of one attempt on one
core; the first page under 200 kB with everything it loads. The real `keisei console` is asked over a socket, and
kept on one core. Beside each page stands `/healthz`, which answers a constant through the same server and guard: the
floor, in the same run. A slow machine fails nothing here, a wrong answer does.
"""

import argparse
import gzip
import http.client
import json
import os
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).resolve().parent
sys.path = [place for place in sys.path if Path(place).resolve() != HERE]  # queue.py is there

from keisei.testing.plenty import RARE_TYPE, fill  # noqa: E402 - see above

KEISEI = Path(sys.executable).parent / "keisei"
PAGES = {
    "floor: /healthz": "/healthz",
    "home": "/",
    "home, JSON": "/api/v1/home",
    "tasks": "/tasks",
    "tasks, JSON": "/api/v1/tasks",
    "tasks, a rare type": f"/tasks?task_type={RARE_TYPE}",
    "tasks, blocked": "/tasks?status=blocked",
    "tasks, a text that is nowhere": "/tasks?text=nowhere+to+be+found",
    "events": "/events",
    "ledger": "/ledger",
}
BARS_MS = {"home": 30.0, "tasks": 50.0}
LINES, PAUSE_S = 200, 0.05
"""What the attempt prints while it is watched: ten seconds of twenty lines a second."""


class Server(NamedTuple):
    """A console that answers."""

    port: int
    token: str
    pid: int


@contextmanager
def served(folder: Path) -> Iterator[Server]:
    """The real console, on one core."""
    environment = {**os.environ, "KEISEI_HOME": str(folder / "state"), "HOME": str(folder)}
    words = [str(KEISEI), "console", "--port", "0", "--json"]
    process = subprocess.Popen(words, cwd=folder / "project", env=environment, stdout=subprocess.PIPE, text=True)
    try:
        os.sched_setaffinity(process.pid, {0})
        assert process.stdout is not None
        ready = json.loads(process.stdout.readline())
        asked = [str(KEISEI), "console", "token"]
        token = subprocess.run(
            asked, cwd=folder / "project", env=environment, capture_output=True, text=True, check=True
        )
        yield Server(int(re.findall(r":(\d+)/", ready["url"])[0]), token.stdout.strip(), process.pid)
    finally:
        process.terminate()
        process.wait()


def cpu_s(pid: int) -> float:
    """What a process has used of its core."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measured(server: Server, times: int) -> list[dict[str, Any]]:
    """Every page time and again, in turn, over one connection."""
    line = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    headers = {"Authorization": f"Bearer {server.token}"}
    took: dict[str, list[float]] = {name: [] for name in PAGES}
    sizes = {}
    for number in range(times + 3):
        for name, path in PAGES.items():
            began = time.perf_counter()
            line.request("GET", path, headers=headers)
            answer = line.getresponse()
            body = answer.read()
            assert answer.status == 200, (name, answer.status, body[:300])
            sizes[name] = len(body)
            if number >= 3:  # the first rounds open and compile
                took[name].append((time.perf_counter() - began) * 1000)
    floor = statistics.median(took["floor: /healthz"])
    return [
        {
            "page": name,
            "p50_ms": round(statistics.median(found), 2),
            "p99_ms": round(statistics.quantiles(found, n=100)[98], 2),
            "times_floor": round(statistics.median(found) / floor, 1),
            "bytes": sizes[name],
            "bar_ms": BARS_MS.get(name),
        }
        for name, found in took.items()
    ]


def weight(server: Server) -> tuple[int, int]:
    """Bytes of the first page with everything it loads, plain and as they would be compressed."""
    line = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    waiting, seen, plain, small = ["/"], set(), 0, 0
    while waiting:
        path = waiting.pop()
        if path in seen:
            continue
        seen.add(path)
        line.request("GET", path, headers={"Authorization": f"Bearer {server.token}"})
        body = line.getresponse().read()
        plain, small = plain + len(body), small + len(gzip.compress(body))
        if path == "/":
            waiting += re.findall(r'(?:src|href)="(/static/[^"]+)"', body.decode())
    return plain, small


class Viewer(threading.Thread):
    """Somebody who watches: counts lines and how late each came."""

    def __init__(self, server: Server, attempt_id: str) -> None:
        super().__init__(daemon=True)
        self._server, self._path = server, f"/api/v1/attempts/{attempt_id}/stream"
        self.late: list[float] = []
        self.lines = self.size = 0
        self.begun = threading.Event()

    def run(self) -> None:
        """Read until everything has come."""
        with socket.create_connection(("127.0.0.1", self._server.port), timeout=60) as line:
            head = f"GET {self._path} HTTP/1.1\r\nHost: 127.0.0.1:{self._server.port}\r\n"
            line.sendall(f"{head}Authorization: Bearer {self._server.token}\r\n\r\n".encode())
            kept = b""
            while self.lines < LINES:
                piece = line.recv(65536)
                if not piece:
                    return
                self.begun.set()
                self.size += len(piece)
                found = re.findall(rb"line \d+ (\d+\.\d+)", kept + piece)
                kept = (kept + piece)[-40:] if not found else b""
                now = time.time()
                self.late += [now - float(each) for each in found]
                self.lines += len(found)


def watched(server: Server, folder: Path, attempt_id: str, viewers: int) -> dict[str, Any]:
    """An attempt that prints for ten seconds, watched by many."""
    room = folder / "state" / "bench" / "run" / attempt_id
    room.mkdir(parents=True, exist_ok=True)
    output = (room / "stdout.log").open("wb", buffering=0)
    audience = [Viewer(server, attempt_id) for _ in range(viewers)]
    for each in audience:
        each.start()
    for each in audience:
        each.begun.wait(30)
    before, began = cpu_s(server.pid), time.perf_counter()
    for number in range(LINES):
        output.write(f"line {number} {time.time():.6f} {'x' * 80}\n".encode())
        time.sleep(PAUSE_S)
    for each in audience:
        each.join(30)
    took = time.perf_counter() - began
    late = sorted(value * 1000 for each in audience for value in each.late)
    assert all(each.lines >= LINES for each in audience), [each.lines for each in audience]
    return {
        "viewers": viewers,
        "core": round((cpu_s(server.pid) - before) / took, 3),
        "late_p50_ms": round(late[len(late) // 2], 1),
        "late_p99_ms": round(late[int(len(late) * 0.99)], 1),
        "bytes_each": audience[0].size,
    }


def main() -> int:
    """Measure and tell."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--tasks", type=int, default=100_000)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--times", type=int, default=60)
    parser.add_argument("--viewers", type=int, default=50)
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        (folder / "project").mkdir()
        (folder / "project" / "keisei.toml").write_text('[project]\nname = "bench"\n')
        (folder / "state" / "bench").mkdir(parents=True, mode=0o700)
        fill(folder / "state" / "bench" / "state.db", tasks=options.tasks, events=options.events)
        with served(folder) as server:
            rows = measured(server, options.times)
            plain, small = weight(server)
            attempt_id = _open_attempt(server)
            alone = watched(server, folder, attempt_id, 1)
        with served(folder) as server:
            many = watched(server, folder, attempt_id, options.viewers)
    print(f"{'page':32} {'p50 ms':>8} {'p99 ms':>8} {'x floor':>8} {'bytes':>9} {'bar':>6}")
    for row in rows:
        bar = "" if row["bar_ms"] is None else f"{row['bar_ms']:.0f}"
        told = f"{row['p50_ms']:8.2f} {row['p99_ms']:8.2f} {row['times_floor']:8.1f} {row['bytes']:9,} {bar:>6}"
        print(f"{row['page']:32} {told}")
    print(f"first page with all it loads: {plain:,} bytes, {small:,} compressed (bar 200,000)")
    for each in (alone, many):
        late = f"lines come {each['late_p50_ms']} ms late, p99 {each['late_p99_ms']}"
        print(f"{each['viewers']:3} viewers of one attempt: {each['core'] * 100:.0f} % of one core, {late}")
    told = {"pages": rows, "first_page_bytes": plain, "first_page_compressed": small, "viewers": [alone, many]}
    print(json.dumps({"bench": "console", "tasks": options.tasks, "events": options.events, **told}))
    return 0


def _open_attempt(server: Server) -> str:
    line = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    line.request("GET", "/api/v1/home", headers={"Authorization": f"Bearer {server.token}"})
    home = json.loads(line.getresponse().read())
    running = home.get("running") or home["overview"]["running"]
    return str(running[0]["attempt_id"])


if __name__ == "__main__":
    sys.exit(main())
