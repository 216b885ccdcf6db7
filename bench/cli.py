"""Starting is cheap: `keisei --version` takes at most 3 times a bare `python -I -c pass` of the same interpreter.

Both are started in turn, so that whatever else the machine does hits both; medians of 40 pairs.
"""

import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

PAIRS = 40
GOAL = 3.0
PYTHON = sys.executable
KEISEI = str(Path(PYTHON).with_name("keisei"))


def timed(command: list[str]) -> float:
    """Milliseconds from start to exit; the exit code is checked."""
    started = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    return (time.perf_counter() - started) * 1000


def main() -> int:
    """Measure, print, and fail where the promise is broken."""
    ours, bare = [KEISEI, "--version"], [PYTHON, "-I", "-c", "pass"]
    for command in (ours, bare):
        timed(command)  # byte code and page cache are warm afterwards
    pairs = [(timed(ours), timed(bare)) for _ in range(PAIRS)]
    times = {"keisei --version": [one for one, _ in pairs], "python -I -c pass": [two for _, two in pairs]}
    print(f"{'median of ' + str(PAIRS):24}{'median ms':>12}{'min ms':>10}{'max ms':>10}")
    for name, values in times.items():
        print(f"{name:24}{statistics.median(values):12.1f}{min(values):10.1f}{max(values):10.1f}")
    medians = [statistics.median(values) for values in times.values()]
    ratio = medians[0] / medians[1]
    report = {
        "bench": "cli",
        "pairs": PAIRS,
        "keisei_ms": round(medians[0], 2),
        "bare_ms": round(medians[1], 2),
        "ratio": round(ratio, 2),
        "goal": GOAL,
        "ok": ratio <= GOAL,
        "load": round(os.getloadavg()[0], 1),
    }
    print(json.dumps(report))
    return 0 if report["ok"] else 1


if __name__ == "__main__":
    sys.exit(main())
