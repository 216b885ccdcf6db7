"""Atoms cost little beside what they do, and a pipe costs a fraction of what a workflow engine does.

Bars, each beside its floor or its peer in the same run: a warm call of a Python atom at most 1.5 ms with both
validations and its ledger row (floor: the row alone); a program at most 2.5 ms over a bare spawn; a list of 150 atoms
under 80 ms as a process (floor: an empty interpreter) and 3 ms in process; one lookup among 10,000 under 1 ms; a plan
of 200 steps under 15 ms; under 0.3 ms of scheduling a step (floor: the same calls without a pipe); a fan-out of 10,000
in bounded memory; and the same 200 steps that do nothing in Dagster: at least 20 times the overhead. A slow machine
fails nothing here, a wrong answer does.
"""

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

sys.path = [
    place for place in sys.path if Path(place).resolve() != Path(__file__).resolve().parent
]  # queue.py is there

from keisei.engine.invoke import InvokeOrder, entry, invoke  # noqa: E402 - see above
from keisei.engine.pipe import Pipe  # noqa: E402 - see above
from keisei.engine.pipe_order import PipeEnd, PipeOrder, PipeTools, new_run  # noqa: E402 - see above
from keisei.library.pipe import load_pipe  # noqa: E402 - see above
from keisei.records.pipe_plan import PipePlan  # noqa: E402 - see above
from keisei.rules.pipe_plan import plan  # noqa: E402 - see above
from keisei.settings import read_settings  # noqa: E402 - see above
from keisei.wiring.atom_runtime import AtomRuntime, open_runtime  # noqa: E402 - see above

DRAFT = "http://json-schema.org/draft-07/schema#"
BIN = Path(sys.executable).parent
PEER = Path(__file__).resolve().parent.parent / ".tools" / "bench" / "bin" / "python"
STEPS, FAN = 200, 10_000
FUNCTION = "def run(input, context):\n    return input\n"


def write(path: Path, text: str) -> Path:
    """One file, with the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def schema(**properties: object) -> str:
    """A closed object."""
    body = {"$schema": DRAFT, "type": "object", "properties": properties, "required": sorted(properties)}
    return json.dumps(body | {"additionalProperties": False, "examples": [dict.fromkeys(properties, 1)]})


def atom(folder: Path, verb: str, kind: str = "query") -> None:
    """One atom that answers what it was asked."""
    page = f"""---
atom: {folder.name}::{verb}
kind: {kind}
version: "0.1.0"
input: {{ schema: schemas/{verb}-input.json }}
output: {{ schema: schemas/{verb}-output.json }}
side_effects: []
idempotent: true
stability: stable
keywords: [bench]
---

# {folder.name}::{verb}

Answers what it was asked.
"""
    write(folder / "atoms" / f"{verb}.md", page)
    for side in ("input", "output"):
        write(folder / "atoms" / "schemas" / f"{verb}-{side}.json", schema(n={"type": "integer"}))


def python_package(folder: Path) -> None:
    """A package with one verb in Python."""
    write(
        folder / "pyproject.toml",
        f'[project]\nname = "{folder.name}"\nversion = "0.1.0"\n[tool.keisei]\nbackend = "memory"\n',
    )
    atom(folder, "echo")
    write(folder / "atoms" / "echo.py", FUNCTION)


def program_package(folder: Path, programs: Path) -> Path:
    """A package with one verb that a program answers."""
    write(
        folder / "Cargo.toml",
        f'[package]\nname = "{folder.name}"\nversion = "0.1.0"\n[package.metadata.keisei]\nbackend = "memory"\n',
    )
    atom(folder, "echo")
    program = programs / folder.name
    programs.mkdir(exist_ok=True)
    source = write(programs / "echo.c", PROGRAM)
    compiler = shutil.which("cc")
    if compiler is not None:
        subprocess.run([compiler, "-O1", "-o", program, source], check=True)
    else:
        write(program, "#!/bin/sh\ncat\n").chmod(0o755)
    return program


PROGRAM = r"""
#include <unistd.h>
int main(void) {
    char buffer[65536];
    ssize_t got;
    while ((got = read(0, buffer, sizeof buffer)) > 0)
        if (write(1, buffer, (size_t)got) != got) return 1;
    return 0;
}
"""


def many(root: Path, packages: int, verbs: int) -> None:
    """A tree of atoms."""
    for number in range(packages):
        folder = root / f"kei-many-{number}"
        write(
            folder / "pyproject.toml",
            f'[project]\nname = "{folder.name}"\nversion = "0.1.0"\n[tool.keisei]\nbackend = "memory"\n',
        )
        for verb in range(verbs):
            atom(folder, f"verb-{verb}")
            write(folder / "atoms" / f"verb_{verb}.py", FUNCTION)


def median_ms(work: Callable[[], object], rounds: int, warm: int = 3) -> float:
    """The median time of one round."""
    for _ in range(warm):
        work()
    times = []
    for _ in range(rounds):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return statistics.median(times) * 1000


@contextmanager
def runtime_of(root: Path, start: Path) -> Iterator[AtomRuntime]:
    """A runtime of its own, with a store of its own."""
    with open_runtime(read_settings(), actor="operator:bench", roots=(root,), start=start) as runtime:
        yield runtime


def measure_calls(root: Path, start: Path) -> dict[str, float]:
    """A call, warm: with everything, and its floors."""
    with runtime_of(root, start) as runtime:
        tools, store = runtime.tools, runtime.store

        def one(atom_id: str) -> None:
            order = InvokeOrder(spec=runtime.shelf.atom(atom_id), input={"n": 1}, actor=runtime.actor)
            done = invoke(tools, store, order)
            assert done.output == {"n": 1}, done.record

        warm = median_ms(lambda: one("kei-bench::echo"), 400)
        spec = runtime.shelf.atom("kei-bench::echo")
        row = entry(invoke(tools, store, InvokeOrder(spec=spec, input={"n": 1}, actor="x")), "x")
        alone = median_ms(lambda: store.append(row), 400)
        program = median_ms(lambda: one("kei-bare::echo"), 200)
        path = runtime.program(runtime.shelf.package("kei-bare")) or ""
        bare = median_ms(lambda: subprocess.run([path], input=b'{"n":1}', capture_output=True, check=True), 200)
    return {"warm": warm, "row": alone, "program": program, "bare": bare}


def measure_lists(folder: Path) -> dict[str, float]:
    """Lists and lookups."""
    small, large = folder / "small", folder / "large"
    many(small, 10, 15)
    many(large, 200, 50)
    command = [str(BIN / "kei-runtime"), "list-atoms", "--root", str(small)]

    def as_process() -> None:
        done = subprocess.run(command, capture_output=True, check=True)
        assert len(done.stdout.splitlines()) == 150

    cold = median_ms(as_process, 15)
    empty = median_ms(lambda: subprocess.run([sys.executable, "-I", "-c", "pass"], check=True), 15)
    with runtime_of(small, folder) as runtime:
        inside = median_ms(runtime.shelf.rows, 30)
    with runtime_of(large, folder) as runtime:
        names = iter([f"kei-many-{number % 200}::verb-{number // 200}" for number in range(500)])
        lookup = median_ms(lambda: runtime.shelf.atom(next(names)), 400)
    return {"cold": cold, "empty": empty, "inside": inside, "lookup": lookup}


FAN_TEXT = """\
[[steps]]
atom = "kei-bench::echo"
for_each = "$input"
input = { n = "$item" }
"""


def pipe_text(steps: int) -> str:
    """A chain of steps, each of which takes the number of the one before."""
    lines = ['[pipe]\nmax_parallel = 2\n[[steps]]\ncapture_as = "s0"\natom = "kei-bench::echo"\ninput = { n = 0 }\n']
    lines += [
        f'[[steps]]\ncapture_as = "s{n}"\natom = "kei-bench::echo"\ninput = {{ n = "$s{n - 1}.n" }}\n'
        for n in range(1, steps)
    ]
    return "".join(lines)


def planned(runtime: AtomRuntime, path: Path) -> PipePlan:
    """A pipe, read and thought through."""
    loaded = load_pipe(path)
    return plan(loaded.definition, loaded.complain, runtime.shelf.atom, name=loaded.name)


def run_plan(runtime: AtomRuntime, found: PipePlan, given: object = None) -> PipeEnd:
    """A pipe, run; nothing is taken from the cache."""
    begun = new_run(found, "bench", given, runtime.actor, runtime.tools)
    runtime.store.begin_run(begun)
    order = PipeOrder(plan=found, run=begun, input=given, actor=runtime.actor)
    end = Pipe(PipeTools(runtime.store, runtime.tools, None, runtime.code_sha), order).run()
    assert end.status == "completed", end
    return end


def measure_pipes(root: Path, start: Path) -> dict[str, float]:
    """A plan, a run, and the same calls without a pipe."""
    path = write(start / "chain.toml", pipe_text(STEPS))
    with runtime_of(root, start) as runtime:
        whole_ms = median_ms(lambda: planned(runtime, path), 15)
        loaded = load_pipe(path)
        plan_ms = median_ms(lambda: plan(loaded.definition, loaded.complain, runtime.shelf.atom, name="chain"), 15)
        found = planned(runtime, path)
        run_ms = median_ms(lambda: run_plan(runtime, found), 7)
        spec = runtime.shelf.atom("kei-bench::echo")

        def calls() -> None:
            for number in range(STEPS):
                invoke(runtime.tools, runtime.store, InvokeOrder(spec=spec, input={"n": number}, actor="x"))

        calls_ms = median_ms(calls, 7)
    told = {"plan": plan_ms, "read_and_plan": whole_ms, "run": run_ms, "calls": calls_ms}
    return told | {"overhead": (run_ms - calls_ms) / STEPS}


def fan_out(folder: str, members: int) -> None:
    """In a process of its own: a fan-out, and how much memory that took."""
    start = Path(folder)
    text = (
        '[pipe]\nmax_parallel = 4\n[[steps]]\natom = "kei-bench::echo"\nfor_each = "$input"\ninput = { n = "$item" }\n'
    )
    path = write(start / "fan.toml", text)
    with runtime_of(start / "packages", start) as runtime:
        found = planned(runtime, path)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        began = time.perf_counter()
        report = run_plan(runtime, found, list(range(members)))
        took = time.perf_counter() - began
        assert report.status == "completed", report
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    print(json.dumps({"grown_mb": grown, "per_member_ms": took / members * 1000}))


def measure_fan(folder: Path, members: int) -> dict[str, float]:
    """Memory and time of a fan-out."""
    done = subprocess.run(
        [sys.executable, __file__, "--fan", str(folder), str(members)], capture_output=True, text=True, check=True
    )
    told: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return told


DAGSTER = """
import json, sys, time, tempfile, logging
logging.disable(logging.CRITICAL)
from dagster import DagsterInstance, job, op
@op
def first() -> int: return 0
@op
def echo(n: int) -> int: return n
@job
def chain():
    value = first()
    for number in range(1, int(sys.argv[1])):
        value = echo.alias(f"s{number}")(value)
with tempfile.TemporaryDirectory() as folder:
    with DagsterInstance.local_temp(folder) as instance:
        times = []
        for _ in range(3):
            began = time.perf_counter()
            done = chain.execute_in_process(instance=instance)
            times.append(time.perf_counter() - began)
            assert done.success
print(json.dumps(sorted(times)[1]))
"""


def measure_peer() -> float | None:
    """The same chain in Dagster, in process, its rows in SQLite; None where it is not installed."""
    if not PEER.exists():
        return None
    done = subprocess.run(
        [PEER, "-W", "ignore", "-c", DAGSTER, str(STEPS)], capture_output=True, text=True, check=False, timeout=900
    )
    return float(json.loads(done.stdout.splitlines()[-1])) * 1000 if done.returncode == 0 else None


def main() -> int:
    """Print a table and one line of JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fan", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--no-peer", action="store_true", help="leave Dagster out")
    asked = parser.parse_args()
    if asked.fan:
        fan_out(asked.fan[0], int(asked.fan[1]))
        return 0
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        os.environ |= {"KEISEI_HOME": str(folder / "state"), "KEI_RUNTIME_BIN_DIR": str(folder / "bin")}
        os.environ.pop("KEISEI_DATABASE_URL", None)
        root = folder / "packages"
        python_package(root / "kei-bench")
        program_package(root / "kei-bare", folder / "bin")
        calls = measure_calls(root, folder)
        lists = measure_lists(folder)
        pipes = measure_pipes(root, folder)
        small, large = measure_fan(folder, 1000), measure_fan(folder, FAN)
    peer = None if asked.no_peer else measure_peer()
    rows = [
        ("warm call, all of it", f"{calls['warm']:.2f} ms", "1.5 ms", f"row alone {calls['row']:.2f} ms"),
        (
            "program, over a bare spawn",
            f"{calls['program'] - calls['bare']:.2f} ms",
            "2.5 ms",
            f"bare {calls['bare']:.2f} ms, {calls['program'] / calls['bare']:.1f} times",
        ),
        ("list of 150, as a process", f"{lists['cold']:.0f} ms", "80 ms", f"empty interpreter {lists['empty']:.0f} ms"),
        ("list of 150, in process", f"{lists['inside']:.2f} ms", "3 ms", ""),
        ("one of 10,000", f"{lists['lookup']:.3f} ms", "1 ms", "first look at each"),
        (
            "plan of 200 steps",
            f"{pipes['plan']:.1f} ms",
            "15 ms",
            f"with reading its file {pipes['read_and_plan']:.1f} ms",
        ),
        (
            "scheduling, a step",
            f"{pipes['overhead']:.3f} ms",
            "0.3 ms",
            f"200 calls {pipes['calls']:.0f} ms, as a pipe {pipes['run']:.0f} ms",
        ),
        (
            "fan-out of 10,000, memory",
            f"{large['grown_mb']:.0f} MB",
            "bounded",
            f"of 1,000: {small['grown_mb']:.0f} MB; {large['per_member_ms']:.2f} ms a member",
        ),
        (
            "Dagster, the same 200 steps",
            "not installed" if peer is None else f"{peer:.0f} ms",
            "20 times",
            "" if peer is None else f"{peer / pipes['run']:.0f} times our run, calls and rows included",
        ),
    ]
    for row in (("what", "measured", "bar", "beside it"), *rows):
        print(f"{row[0]:30} {row[1]:>14} {row[2]:>9}   {row[3]}")
    print(json.dumps({"bench": "atoms", **calls, **lists, **pipes, "fan": large, "fan_small": small, "dagster": peer}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
