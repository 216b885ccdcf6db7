"""The bench of the queue as a program: what it is asked for, and what it tells."""

import argparse
import json
import os
import platform
import subprocess
import sys
import traceback
from pathlib import Path
from typing import Any

import apsw
import psycopg
from crew import PEER_PYTHON, ROOT
from measure import MEASURES, STORES, Run
from place import TMPFS, Ground, file_system, prepared, sync_us
from report import print_goals, rounded

from keisei.records.error import KeiseiError

FAULTS = (AssertionError, KeiseiError, OSError, ValueError, subprocess.SubprocessError, apsw.Error, psycopg.Error)


def main() -> int:
    """Measure and print. 0, whatever was reached; 1 where something was wrong."""
    options = read_options()
    check(options)
    wrong: list[str] = []
    try:
        with prepared(options.folder, needs_server=options.store != "sqlite") as ground:
            run = Run(ground, options, {"bench": "queue", "machine": machine(ground, options.folder)}, [])
            print("; ".join(f"{name} {value}" for name, value in rounded(run.told["machine"]).items()))
            for name in options.only or MEASURES:
                wrong += wrong_with(name, run)
    except KeiseiError as error:
        sys.exit(f"{error.message}{f' ({error.hint})' if error.hint else ''}")
    tell(run, wrong)
    return 1 if wrong else 0


def read_options() -> argparse.Namespace:
    """What is asked for."""
    parser = argparse.ArgumentParser(prog="bench/queue.py", description="Measure the queue beside its peers.")
    parser.add_argument("--quick", action="store_true", help="small sizes, about a minute: does everything run?")
    parser.add_argument("--only", action="append", choices=MEASURES, help="only this; may be said several times")
    parser.add_argument("--store", choices=STORES, default="both", help="one store only")
    parser.add_argument("--no-peers", action="store_true", help="only keisei and the raw statements")
    parser.add_argument("--folder", type=Path, default=ROOT / ".tools", help="where databases are made: a real disk")
    options = parser.parse_args()
    options.folder = options.folder.resolve()
    return options


def check(options: argparse.Namespace) -> None:
    """End with a sentence where nothing could be measured."""
    if not options.no_peers and not PEER_PYTHON.exists() and "drain" in (options.only or MEASURES):
        sys.exit("the peers are not installed: run `make setup-bench`, or leave them out with --no-peers")
    options.folder.mkdir(parents=True, exist_ok=True)
    if file_system(options.folder) in TMPFS:
        sys.exit(f"{options.folder} is in memory, and the goals are about a disk: name a folder with --folder")


def machine(ground: Ground, folder: Path) -> dict[str, Any]:
    """Where it was measured."""
    found = {
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "sqlite": apsw.sqlite_lib_version(),
        "files": file_system(folder),
        "fsync_us": sync_us(ground.folder),
        "load_before": os.getloadavg()[0],
    }
    if ground.server is not None:
        with psycopg.connect(ground.server.url) as connection:
            found["postgres"] = connection.info.server_version // 10000
    return found


def wrong_with(name: str, run: Run) -> list[str]:
    """One measurement; what is wrong with it comes back, and the others go on."""
    try:
        MEASURES[name](run)
    except FAULTS as error:
        return [f"{name}: {error or traceback.format_exc().splitlines()[-2].strip()}"]
    return []


def tell(run: Run, wrong: list[str]) -> None:
    """The goals, what was wrong, and everything in one line."""
    print_goals(run.goals)
    for each in wrong:
        print(f"wrong: {each}", file=sys.stderr)
    goals = {
        each.name: {"value": each.value, "goal": f"{each.sign} {each.goal:g}", "met": each.is_met} for each in run.goals
    }
    ok = not wrong and all(each.is_met for each in run.goals)
    print(json.dumps(rounded(run.told | {"goals": goals, "wrong": wrong, "ok": ok, "load": os.getloadavg()[0]})))
