"""Asking the gate costs about a process: a whole role is judged in 2.5 times the time of `true`, a tenth of a jq hook.

The service is the one of `keisei gate start`, for an edit-local task. Everything that is a process is started alike, by
`posix_spawn` with three pipes, in rounds of a mixed order, so that whatever else the machine does hits all of them. The
bars stand beside the numbers; a slow or busy machine fails nothing here, a wrong or lost answer does.
"""

import json
import os
import random
import shlex
import shutil
import signal
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from keisei.adapters.hook_command import shell_form
from keisei.gate.build import client_argv
from keisei.gate.judge import Judge
from keisei.records.effect import ToolCall
from keisei.rules.chain import broken_at
from keisei.rules.gate import judge
from keisei.rules.policy import Policy
from keisei.rules.shell.token import plain
from keisei.settings import read_settings
from keisei.wiring import catalog
from keisei.wiring.gate import judge_here
from keisei.wiring.policy import HELPERS, Setting, task_policy

ROUNDS, LONGEST_S = 300, 30.0
CALLERS, PATIENCE_S = 1000, 10.0
REPEATS = 200
FLOOR_GOAL, JQ_GOAL, P99_GOAL_MS, RSS_GOAL_MB, TOKEN_GOAL_US = 2.5, 10.0, 25.0, 60.0, 50.0
BIN = Path(sys.executable).parent
PATH = "/usr/local/bin:/usr/bin:/bin"
LENGTH = struct.Struct(">I")
ALLOWED, DENIED = 0, 2

TASK = """[task]
role = "edit-local"
[scope]
files-whitelist = ["src/**", "tests/**"]
files-denylist = ["src/settings.rs"]
[verification]
check = "cargo check"
test = "cargo test"
[body]
text = "Measure the gate."
"""
SEED_PATTERNS = "^git( |$)\n^gh (repo|api /repos)\n"
SEED_HOOK = """#!/usr/bin/env bash
set -eu
CMD=$({extract} 2>/dev/null || true)
[ -z "$CMD" ] && exit 0
[ "${{ORCHESTRATOR_META:-0}}" = "1" ] && exit 0
PATTERNS=$(capability_patterns policy::no-git-ops tool-patterns)
IFS='
'
for pat in $PATTERNS; do
  if echo "$CMD" | grep -qE "$pat"; then
    echo '{{"hookSpecificOutput":{{"hookEventName":"PreToolUse","permissionDecision":"deny"}}}}'
    exit 2
  fi
done
exit 0
"""
"""The hook of the originals' schema, with its two patterns; `capability_patterns` is the helper we ship for it.

IFS is ours: without it their loop tears patterns apart at blanks, and refuses everything.
"""
JQ = "jq -r '.tool_input.command // empty'"
GREP = """grep -o '"command":[ ]*"[^"]*"'"""
NAMES = (
    *("policy::no-git-ops", "scope::files-whitelist", "scope::files-denylist", "quality::constructor-pattern"),
    *("quality::check-green", "quality::tests-green", "safety::no-dep-bump", "output::report-format"),
)
"""What edit-local requires."""
EVERYDAY = (
    "cargo test -p core --quiet",
    "ls -la src tests",
    'rg -n "fn main" src | head -20',
    "cargo check && cargo test 2>&1 | tail -40",
    "git -C sub push origin main --force-with-lease; echo 'done with it' > /dev/null",
)


class Done(NamedTuple):
    """A process that has ended."""

    ms: float
    code: int
    stdout: bytes
    stderr: bytes


class Row(NamedTuple):
    """Something to measure once a round, or once in so many rounds."""

    name: str
    every: int
    code: int
    run: Callable[[int], list[Done]]
    """What one measurement does in a given round; the times of several processes add up."""


def spawned(argv: list[str], env: dict[str, str], told: bytes) -> Done:
    """Start a program with its input ready in a pipe; timed from the start to the end, not the pipes."""
    pipes = [os.pipe() for _ in range(3)]
    (in_read, in_write), (out_read, out_write), (err_read, err_write) = pipes
    os.write(in_write, told)
    os.close(in_write)
    actions = [(os.POSIX_SPAWN_DUP2, fd, to) for to, fd in enumerate((in_read, out_write, err_write))]
    started = time.perf_counter()
    pid = os.posix_spawn(argv[0], argv, env, file_actions=actions, setsigdef=[signal.SIGPIPE])
    _, status = os.waitpid(pid, 0)
    ms = (time.perf_counter() - started) * 1000
    for fd in (in_read, out_write, err_write):
        os.close(fd)
    with open(out_read, "rb") as out, open(err_read, "rb") as err:  # noqa: PTH123 - descriptors
        return Done(ms, os.waitstatus_to_exitcode(status), out.read(), err.read())


def asked(path: str, request: bytes) -> Done:
    """Ask the service without a process."""
    started = time.perf_counter()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(PATIENCE_S)
        connection.connect(path)
        connection.sendall(LENGTH.pack(len(request)) + request)
        got = b"".join(iter(lambda: connection.recv(65536), b""))
    ms = (time.perf_counter() - started) * 1000
    cut = 5 + LENGTH.unpack_from(got, 1)[0]
    return Done(ms, {b"A": ALLOWED, b"D": DENIED}.get(got[:1], -1), got[5:cut], got[cut + 4 :])


class World(NamedTuple):
    """A project in a temporary folder, with a service for one task."""

    root: Path
    worktree: Path
    env: dict[str, str]
    started: dict[str, Any]

    def call(self, tool: str, data: dict[str, Any]) -> bytes:
        """What Claude Code tells its hook, of an ordinary size."""
        told = {
            "session_id": "5a2e1f30-8f1d-4c56-9d0e-2f8f1c0f7a11",
            "transcript_path": str(self.root / "home/.claude/projects/bench/transcript.jsonl"),
            "cwd": str(self.worktree),
            "permission_mode": "default",
            "hook_event_name": "PreToolUse",
            "tool_name": tool,
            "tool_input": data,
            "tool_use_id": "toolu_01A09q90qw90lq917835lq9",
        }
        return json.dumps(told).encode()

    def shell(self, command: str) -> bytes:
        """A call of the shell."""
        return self.call("Bash", {"command": command, "description": "Look at it"})

    def edit(self, path: str) -> bytes:
        """A call that changes a file."""
        file = str(self.worktree / path)
        return self.call("Edit", {"file_path": file, "old_string": "let x = 1;\n" * 20, "new_string": "let x = 2;\n"})

    def request(self, told: bytes) -> bytes:
        """A call as the client sends it."""
        _, token, harness = self.started["hook"][-3:]
        return f"{token}\n{harness}\n".encode() + told


def environment(root: Path) -> dict[str, str]:
    """A home of its own and nothing of the user's."""
    env = {"PATH": PATH, "HOME": str(root / "home"), "LANG": "C.UTF-8", "XDG_RUNTIME_DIR": str(root / "run")}
    env |= {"XDG_STATE_HOME": str(root / "state"), "XDG_CONFIG_HOME": str(root / "config")}
    for name in ("HOME", "XDG_RUNTIME_DIR", "XDG_STATE_HOME", "XDG_CONFIG_HOME"):
        Path(env[name]).mkdir(mode=0o700)
    return env


@contextmanager
def world() -> Iterator[World]:
    """The project with its service, which is stopped whatever happens."""
    with tempfile.TemporaryDirectory(prefix="kg-") as folder:
        root = Path(folder).resolve()
        worktree, task = root / "work", root / "task.toml"
        (worktree / "src").mkdir(parents=True)
        (worktree / ".git").mkdir()
        (worktree / "src/core.rs").write_text("let x = 1;\n" * 40)
        (worktree / "Cargo.toml").write_text('[package]\nname = "core"\n')
        task.write_text(TASK)
        env = environment(root)
        os.chdir(worktree)
        line = keisei(env, "gate", "start", "--task", str(task), "--worktree", str(worktree))
        started = json.loads(line)
        try:
            yield World(root, worktree, env, started)
        finally:
            os.chdir("/")
            try:
                keisei(env, "gate", "stop", str(started["pid"]))
            except subprocess.SubprocessError:
                with suppress(ProcessLookupError):
                    os.kill(started["pid"], signal.SIGKILL)


def keisei(env: dict[str, str], *words: str) -> str:
    """The installed program."""
    done = subprocess.run([BIN / "keisei", *words], env=env, capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def seed_hook(here: World) -> tuple[str, list[str], dict[str, str]]:
    """The hook of the originals: its name here, how it is started, its environment."""
    has_jq = shutil.which("jq", path=PATH) is not None
    lists = here.root / "patterns/policy__no-git-ops"
    lists.mkdir(parents=True)
    (lists / "tool-patterns").write_text(SEED_PATTERNS)
    script = here.root / "gate.sh"
    script.write_text(SEED_HOOK.format(extract=JQ if has_jq else GREP))
    script.chmod(0o755)
    env = here.env | {"KEISEI_PATTERNS_DIR": str(lists.parent), "PATH": f"{HELPERS}:{PATH}"}
    if not has_jq:
        print("jq is not installed: a hook of bash and grep stands in for it, which flatters the original")
    return "bash+jq hook" if has_jq else "bash+grep hook", [str(script)], env


def rows(here: World) -> list[Row]:
    """Everything that is measured round by round; the first is the floor."""
    hook, env = here.started["hook"], here.env
    script = [*client_argv(here.root / "client", compilers=())[0], *hook[-3:]]
    told, refused, changed = here.shell(EVERYDAY[0]), here.shell("git push origin main"), here.edit("src/core.rs")
    seed, seed_argv, seed_env = seed_hook(here)
    check_env = env | {"TASK_TOML": str(here.root / "task.toml"), "WORKTREE_PATH": str(here.worktree)}
    checks = [[str(BIN / "kei-capability"), "check", name] for name in NAMES]

    def one(argv: list[str], data: bytes = told, own: dict[str, str] = env) -> Callable[[int], list[Done]]:
        return lambda _: [spawned(argv, own, data)]

    def new(number: int) -> bytes:
        return here.shell(f"if test -f src/{number}.rs; then cat src/{number}.rs; else ls src; fi")

    def through(argv: list[str]) -> list[str]:
        return ["/bin/sh", "-c", shell_form(argv)]

    return [
        Row("true", 1, ALLOWED, one(["/bin/true"])),
        Row("sh -c true, built in", 1, ALLOWED, one(["/bin/sh", "-c", "true"])),
        Row("sh -c /bin/true", 1, ALLOWED, one(["/bin/sh", "-c", "/bin/true; exit $?"])),
        Row("client", 1, ALLOWED, one(hook)),
        Row("client, refused", 1, DENIED, one(hook, refused)),
        Row("client, Edit", 1, ALLOWED, one(hook, changed)),
        Row("client, shfmt", 2, ALLOWED, lambda number: [spawned(hook, env, new(number))]),
        Row("client, sh -c", 1, ALLOWED, one(through(hook))),
        Row("client in Python", 3, ALLOWED, one(script)),
        Row("socket alone", 1, ALLOWED, lambda _: [asked(hook[-3], here.request(told))]),
        Row(seed, 4, ALLOWED, one(seed_argv, told, seed_env)),
        Row(f"{seed}, sh -c", 4, ALLOWED, one(["/bin/sh", "-c", f"{shlex.join(seed_argv)}; exit $?"], told, seed_env)),
        Row("capability, 1 process", 25, ALLOWED, one(checks[0], told, check_env)),
        Row("capability, 8 in turn", 150, ALLOWED, lambda _: [spawned(each, check_env, told) for each in checks]),
    ]


def measured(every: list[Row], wrong: list[str]) -> dict[str, list[float]]:
    """Milliseconds of each row, in rounds of a mixed order; the first run of each does not count."""
    times: dict[str, list[float]] = {row.name: [] for row in every}
    order = random.Random(3)
    for row in every:
        checked(row, -1, wrong)
    last = time.monotonic() + LONGEST_S
    for number in range(ROUNDS):
        due = [row for row in every if number % row.every == row.every // 2]
        for row in order.sample(due, len(due)):
            times[row.name].append(checked(row, number, wrong))
        if time.monotonic() > last and all(times.values()):
            break
    return times


def checked(row: Row, number: int, wrong: list[str]) -> float:
    """The time of one measurement, its answer compared with the right one."""
    done = row.run(number)
    for each in done:
        silent = not each.stdout and not each.stderr
        if each.code != row.code or silent != (row.code == ALLOWED):
            wrong.append(f"{row.name}: exit {each.code}, {each.stdout[:200]!r} {each.stderr[:200]!r}")
    return sum(each.ms for each in done)


def crowd(here: World, wrong: list[str]) -> list[float]:
    """A thousand callers at once, half of them to be refused; every reason must be the answer to its own call."""
    path, gate = here.started["hook"][-3], threading.Barrier(CALLERS + 1)
    log = Path(here.started["log"])
    before = log.read_bytes().count(b"\n")
    found: list[Done | OSError | None] = [None] * CALLERS

    def ask(number: int) -> None:
        request = here.request(crowd_call(here, number))
        gate.wait()
        try:
            found[number] = asked(path, request)
        except (OSError, struct.error) as error:
            found[number] = OSError(str(error))

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(CALLERS)]
    for thread in threads:
        thread.start()
    gate.wait()
    for thread in threads:
        thread.join()
    for number, done in enumerate(found):
        code, word = (ALLOWED, b"") if number % 2 == 0 else (DENIED, f"only-{number}-".encode())
        if not isinstance(done, Done) or done.code != code or word not in done.stderr:
            wrong.append(f"caller {number} of {CALLERS}: {done}")
    lines = log.read_bytes().splitlines(keepends=True)
    if len(lines) - before != CALLERS or broken_at(lines) is not None:
        wrong.append(f"the log has {len(lines) - before} of {CALLERS} decisions, its chain: {broken_at(lines)}")
    return [done.ms for done in found if isinstance(done, Done)]


def crowd_call(here: World, number: int) -> bytes:
    """Four kinds of calls, each with a name of its own: even numbers are allowed, odd ones are not."""
    name = f"only-{number}-x"
    kinds = (
        here.shell(f"cargo test -p {name}"),
        here.shell(f"git push origin {name}"),
        here.edit(f"src/{name}.rs"),
        here.edit(f"docs/{name}.md"),
    )
    return kinds[number % 4]


def microseconds(action: Callable[[], object]) -> float:
    """The median of one run among many."""
    taken = []
    for _ in range(REPEATS):
        started = time.perf_counter_ns()
        action()
        taken.append((time.perf_counter_ns() - started) / 1000)
    return statistics.median(taken)


def inside(here: World) -> tuple[dict[str, float], float]:
    """Microseconds of the parts, in this process; and of the tokenizer at its slowest."""
    place = Setting(here.worktree, None, Path(here.env["HOME"]))
    policy, _ = task_policy(catalog(read_settings(here.env)), here.root / "task.toml", place)
    own = judge_here()
    assert all(plain(text) is not None for text in EVERYDAY)
    tokens = [microseconds(partial(plain, text)) for text in EVERYDAY]
    kinds = {"tokenizer path": here.shell(EVERYDAY[0]), "Edit": here.edit("src/core.rs")}
    kinds["shfmt remembered"] = here.shell("if test -f src/a.rs; then cat src/a.rs; else ls src; fi")
    found = {"tokenizer": statistics.median(tokens)}
    for name, told in kinds.items():
        found |= {f"{kind}, {name}": value for kind, value in judged(own, policy, json.loads(told)).items()}
    return found, max(tokens)


def judged(own: Judge, policy: Policy, told: dict[str, Any]) -> dict[str, float]:
    """Microseconds for the effects of a call, and for the judgement of them."""
    call = ToolCall(tool=told["tool_name"], input=told["tool_input"], cwd=told["cwd"])
    machine = own.machine(policy)
    found = own.effects(call, policy, machine)
    assert own.judge(call, policy).decision == "allow", told
    return {
        "effects": microseconds(lambda: own.effects(call, policy, machine)),
        "judge": microseconds(lambda: judge(policy, call, found, machine.places, {})),
        "effects+judge": microseconds(lambda: own.judge(call, policy)),
    }


def memory(pid: int) -> tuple[float, float]:
    """Megabytes a process holds now, and held at most."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    held = {line.split(":")[0]: int(line.split()[1]) * 1024 / 1e6 for line in lines if line.startswith("Vm")}
    return held["VmRSS"], held["VmHWM"]


def latencies(here: World) -> list[float]:
    """Milliseconds the service itself counted for each call so far, from reading it to its judgement."""
    return [json.loads(line)["latency_ms"] for line in Path(here.started["log"]).read_bytes().splitlines()]


def p99(values: list[float]) -> float:
    """Where ninety-nine of a hundred are below; the largest, of fewer than a hundred."""
    return sorted(values)[int(len(values) * 0.99)]


def bars(times: dict[str, list[float]], rss: float, token: float) -> dict[str, tuple[float, str, float, bool]]:
    """Each bar: the number, its sign, the goal, and whether it is kept."""
    middle = {name: statistics.median(values) for name, values in times.items()}
    seed = next(name for name in times if name.endswith(" hook"))
    worst = max(p99(values) for name, values in times.items() if name.startswith("client") and "Python" not in name)
    most = {
        "client / true": (middle["client"] / middle["true"], FLOOR_GOAL),
        "client, refused / true": (middle["client, refused"] / middle["true"], FLOOR_GOAL),
        "client, Edit / true": (middle["client, Edit"] / middle["true"], FLOOR_GOAL),
        "client, sh -c / sh -c /bin/true": (middle["client, sh -c"] / middle["sh -c /bin/true"], FLOOR_GOAL),
        "p99 of every compiled client row, ms": (worst, P99_GOAL_MS),
        "memory of the service, MB": (rss, RSS_GOAL_MB),
        "tokenizer at its slowest, µs": (token, TOKEN_GOAL_US),
    }
    least = {
        f"{seed} / client": (middle[seed] / middle["client"], JQ_GOAL),
        f"{seed} / client, both sh -c": (middle[f"{seed}, sh -c"] / middle["client, sh -c"], JQ_GOAL),
    }
    found = {name: (value, "<=", goal, value <= goal) for name, (value, goal) in most.items()}
    return found | {name: (value, ">=", goal, value >= goal) for name, (value, goal) in least.items()}


def print_times(times: dict[str, list[float]]) -> None:
    """The table of everything measured in milliseconds."""
    floor, least = statistics.median(times["true"]), min(times["true"])
    print(f"{'':26}{'runs':>6}{'median ms':>12}{'p99 ms':>10}{'min ms':>10}{'x true':>9}{'min x min':>11}")
    for name, values in times.items():
        middle = statistics.median(values)
        ratios = f"{middle / floor:9.2f}{min(values) / least:11.2f}"
        print(f"{name:26}{len(values):6}{middle:12.2f}{p99(values):10.2f}{min(values):10.2f}{ratios}")


def main() -> int:
    """Measure and print; fail where an answer is wrong."""
    wrong: list[str] = []
    with world() as here:
        compiled = "python" not in Path(here.started["hook"][0]).name
        times = measured(rows(here), wrong)
        times["inside the service"] = latencies(here)
        times[f"{CALLERS} callers at once"] = crowd(here, wrong) or [0.0]
        rss, peak = memory(here.started["pid"])
        parts, slowest = inside(here)
    kept = bars(times, rss, slowest)
    print_times(times)
    print(f"in process, median µs: {', '.join(f'{name} {value:.0f}' for name, value in parts.items())}")
    print(f"service {rss:.1f} MB, at most {peak:.1f} MB; client {'compiled' if compiled else 'in Python: no compiler'}")
    for name, (value, sign, goal, ok) in kept.items():
        print(f"{'ok' if ok else 'over':6}{name:40}{value:9.2f}  {sign} {goal:g}")
    for each in wrong[:10]:
        print(f"wrong: {each}", file=sys.stderr)
    report = {
        "bench": "gate",
        "median_ms": {name: round(statistics.median(values), 3) for name, values in times.items()},
        "p99_ms": {name: round(p99(values), 3) for name, values in times.items()},
        "min_ms": {name: round(min(values), 3) for name, values in times.items()},
        "in_process_us": {name: round(value, 1) for name, value in parts.items()},
        "rss_mb": round(rss, 1),
        "peak_mb": round(peak, 1),
        "compiled": compiled,
        "bars": {
            name: {"value": round(value, 2), "goal": f"{sign} {goal:g}", "ok": ok}
            for name, (value, sign, goal, ok) in kept.items()
        },
        "wrong": len(wrong),
        "ok": not wrong and all(ok for *_, ok in kept.values()),
        "load": round(os.getloadavg()[0], 1),
    }
    print(json.dumps(report, ensure_ascii=False))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
