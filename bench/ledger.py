"""The ledger is cheap to write and quick to prove: an append is 60 µs over a plain insert, 100,000 rows verify in 5 s.

    .venv/bin/python bench/ledger.py [--rows 100000] [--times 2000] [--folder /some/disk]

By turns and in the same run: a row through the ledger's door, and the same bytes through the same driver, the same lock
and the same commit into a table without hashes, seals and indexes. Beside verification: the same rows read and hashed
once, and nothing else. Beside a proof: the whole tree made anew from leaf hashes, as a ledger without kept nodes must.
The median of the differences decides; the processor's time, which neighbours do not lengthen as much, is told too.
"""

import argparse
import hashlib
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from keisei.records.move import NewEntry
from keisei.rules.ledger import content_of
from keisei.rules.tree import Frontier, inclusion_path, root_of, verify_inclusion
from keisei.store.clock import SystemClock
from keisei.store.ledger import SqliteLedger, insert
from keisei.store.sqlite import Sqlite
from keisei.store.sqlite_store import SqliteStore
from keisei.wiring.checkpoint import checkpoint
from keisei.wiring.ledger_tree import subtree
from keisei.wiring.ledger_verify import Asked, verify
from keisei.wiring.signing import origin, signer

APPEND_US, VERIFY_S, BAR_ROWS = 60.0, 5.0, 100_000
NAME = "bench"
BATCH = 1000


def entry(number: int) -> NewEntry:
    """A row as a settlement writes it."""
    findings = [{"rule": rule, "holds": True, "capability": f"quality::{rule}"} for rule in ("scope", "check", "test")]
    body = {"task_id": f"task-{number}", "outcome": "completed", "findings": findings, "seconds": number / 8}
    return NewEntry(kind="attempt_settled", actor="runner-1", subject=f"attempt-{number:08}", body=body)


def timed(action: Callable[[], object]) -> tuple[float, float]:
    """Seconds on the wall and of the processor."""
    wall, processor = time.perf_counter(), time.process_time()
    action()
    return time.perf_counter() - wall, time.process_time() - processor


def appends(folder: Path, times: int) -> dict[str, list[tuple[float, float]]]:
    """Both ways by turns, each in a database of its own, so that neither grows the other's pages."""
    took: dict[str, list[tuple[float, float]]] = {"append": [], "plain insert": []}
    with (
        closing(Sqlite(folder / "ledger.db", SystemClock())) as chained,
        closing(Sqlite(folder / "plain.db", SystemClock())) as bare,
    ):
        ledger = SqliteLedger(chained)
        with bare.write() as cursor:
            cursor.execute("CREATE TABLE plain (id INTEGER PRIMARY KEY, content BLOB NOT NULL) STRICT")
        for number in range(times + 50):
            new = entry(number)
            content = content_of(new, chained.clock.now())

            def plainly(content: bytes = content) -> None:
                with bare.write() as cursor:
                    cursor.execute("INSERT INTO plain (content) VALUES (?)", (content,))

            ways = {"append": lambda new=new: ledger.append(new), "plain insert": plainly}  # type: ignore[misc,arg-type]
            for name in sorted(ways, reverse=bool(number % 2)):
                measured = timed(ways[name])
                if number >= 50:
                    took[name].append(measured)
    return took


def fill(store: SqliteStore, rows: int) -> None:
    """Many rows, a thousand a commit."""
    driver = store._reader  # noqa: SLF001 - a thousand rows a commit
    for first in range(0, rows, BATCH):
        with driver.write() as cursor:
            insert(cursor, [entry(number) for number in range(first, min(rows, first + BATCH))], driver.now_us())


def hashed_once(store: SqliteStore) -> None:
    """What verification cannot do without: every row read and hashed."""
    for row in store.rows():
        hashlib.sha256(row.content).digest()


def median_ms(action: Callable[[], object], times: int) -> float:
    """Of so many."""
    return statistics.median(timed(action)[0] for _ in range(times)) * 1000


def proofs(store: SqliteStore, folder: Path, rows: int) -> dict[str, float]:
    """Milliseconds of everything that is done to a ledger of many rows, the peers beside."""
    repository = folder / "repository"
    subprocess.run(["git", "init", "-q", str(repository)], check=True)  # noqa: S607 - whichever there is
    key = signer(folder, NAME)

    def signed(place: Path | None) -> None:
        store.append(entry(rows))
        made = checkpoint(store, key, origin(NAME), place, folder)
        assert made is not None
        assert (made.new, made.troubles) == (True, ())

    found = {"first checkpoint": timed(lambda: signed(None))[0] * 1000}
    found["checkpoint"] = median_ms(lambda: signed(None), 20)
    found["checkpoint, with a repository"] = median_ms(lambda: signed(repository), 10)
    size = store.size()
    leaves = [leaf for first in range(1, size + 1, BATCH) for leaf in store.leaves(first, BATCH)]
    tree = Frontier()

    def whole() -> None:
        for leaf in leaves:
            tree.push(leaf)

    found["the whole tree anew"] = timed(whole)[0] * 1000
    assert root_of(size, subtree(store)) == tree.root()
    index = size // 3
    path = inclusion_path(index, size, subtree(store))
    assert verify_inclusion(leaves[index], index, size, path, tree.root())
    found["prove"] = median_ms(lambda: inclusion_path(index, size, subtree(store)), 20)
    found["hashed once"] = median_ms(lambda: hashed_once(store), 3)
    verdict = verify(store, Asked(origin=origin(NAME), state=folder, repository=repository))
    assert verdict.ok, verdict
    found["verify"] = median_ms(lambda: verify(store, Asked(origin=origin(NAME), state=folder)), 3)
    return found


def main() -> int:
    """Measure, print, judge."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=BAR_ROWS)
    parser.add_argument("--times", type=int, default=2000)
    parser.add_argument("--folder", type=Path, default=None)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.folder) as named:
        folder = Path(named)
        took = appends(folder, given.times)
        with closing(SqliteStore(folder / "state.db", SystemClock())) as store:
            fill(store, given.rows)
            found = proofs(store, folder, given.rows)
    return tell(took, found, given.rows)


def tell(took: dict[str, list[tuple[float, float]]], found: dict[str, float], rows: int) -> int:
    """The table, the line for machines, and whether the promises are kept."""
    wall = {name: statistics.median(each[0] for each in times) * 1e6 for name, times in took.items()}
    processor = {name: statistics.median(each[1] for each in times) * 1e6 for name, times in took.items()}
    print(f"{'way':<32}{'wall, µs':>12}{'processor, µs':>16}   n={len(took['append'])}")
    for name in took:
        print(f"{name:<32}{wall[name]:>12.1f}{processor[name]:>16.1f}")
    print(f"\n{f'{rows:,} rows':<32}{'ms':>12}")
    for name, each in found.items():
        print(f"{name:<32}{each:>12.2f}")
    pairs = list(zip(took["append"], took["plain insert"], strict=True))
    over, of_processor = (statistics.median(ours[n] - theirs[n] for ours, theirs in pairs) * 1e6 for n in (0, 1))
    ratios = {
        "append/plain insert": wall["append"] / wall["plain insert"],
        "verify/hashed once": found["verify"] / found["hashed once"],
        "prove/the whole tree anew": found["prove"] / found["the whole tree anew"],
    }
    rounded = {name: round(each, 4) for name, each in ratios.items()}
    told = {"append_over_us": round(over, 1), "append_over_processor_us": round(of_processor, 1), "ratios": rounded}
    print(json.dumps({**told, "ms": {name: round(each, 3) for name, each in found.items()}}))
    goals = {
        f"an append costs {over:.0f} µs over a plain insert: goal {APPEND_US:.0f} µs": over <= APPEND_US,
        f"{rows:,} rows verify in {found['verify'] / 1000:.2f} s: goal {VERIFY_S:.0f} s for {BAR_ROWS:,}": (
            found["verify"] / 1000 <= VERIFY_S * max(1.0, rows / BAR_ROWS)
        ),
    }
    print()
    for goal, met in goals.items():
        print(f"{goal}, {'met' if met else 'MISSED'}")
    return 0 if all(goals.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
