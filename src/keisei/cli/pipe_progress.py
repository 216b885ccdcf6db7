"""Progress of a pipe: a bar on a terminal, JSON lines elsewhere. Both on standard error."""

import json
import os
import shutil
import sys
import threading
import time
from typing import TYPE_CHECKING, Any, Protocol

from keisei.cli.progress import elapsed_words, fitted, write
from keisei.records.problem import printable

if TYPE_CHECKING:
    from keisei.records.pipe_plan import PipePlan

Happening = dict[str, Any]
OFTEN_S, SELDOM_S = 0.05, 1.0
"""How often the bar is drawn anew, and how often a line tells how far a fan-out has come."""
WIDTH = 24
"""Characters of the bar, where the terminal is wide enough."""
MARKS = {"done": "done", "failed": "FAILED", "skipped": "skipped", "unknown": "unknown", "unfinished": "stopped"}


class Teller(Protocol):
    """Who tells it."""

    def begin(self, plan: "PipePlan") -> None:
        """What a person should know of the plan, and every decision where that was asked for."""

    def tell(self, happening: Happening) -> None:
        """One thing that happened."""

    def close(self) -> None:
        """Nothing comes any more."""


class LineTeller:
    """One JSON object a line. Of a fan-out every failure, and now and then how far it has come."""

    def __init__(self, *, explain: bool) -> None:
        """Nothing was told yet."""
        self._explain, self._told_at = explain, 0.0

    def begin(self, plan: "PipePlan") -> None:
        """A line a warning, and a line a step."""
        for problem in plan.warnings:
            self.tell({"event": "warning", "text": problem.render()})
        for step in plan.steps if self._explain else ():
            self.tell({"event": "plan", "step": step.name, "atom": step.spec.id, "why": list(step.words)})

    def tell(self, happening: Happening) -> None:
        """One line, or none."""
        is_asked = self._explain and "note" in happening
        if happening["event"] == "member" and happening["state"] == "done" and not is_asked and not self._is_time():
            return
        write(sys.stderr, f"{json.dumps(happening, ensure_ascii=False)}\n")

    def close(self) -> None:
        """Nothing."""

    def _is_time(self) -> bool:
        now = time.monotonic()
        if now - self._told_at < SELDOM_S:
            return False
        self._told_at = now
        return True


class BarTeller:
    """A line for every step that ended, and below them one that is drawn anew."""

    def __init__(self, *, explain: bool) -> None:
        """Nothing was told yet."""
        self._explain = explain
        self._steps, self._ended = 0, 0
        self._running: dict[str, str] = {}
        self._began, self._drawn_at = time.monotonic(), 0.0
        self._drawing, self._over = threading.Lock(), threading.Event()
        self._clock = threading.Thread(target=self._tick, name="pipe-clock", daemon=True)

    def begin(self, plan: "PipePlan") -> None:
        """Lines above the bar; from now on its clock goes on while nothing happens."""
        told = [problem.render() for problem in plan.warnings]
        for line in (*told, *(plan_lines(plan) if self._explain else ())):
            write(sys.stderr, f"{line}\n")
        self._clock.start()

    def tell(self, happening: Happening) -> None:
        """A line above where something ended, and the bar brought up to date."""
        kind, line = happening["event"], None
        if kind == "run" and happening["status"] == "running":
            self._steps = happening["steps"]
        elif kind == "step":
            line = self._step(happening)
        elif kind == "member":
            line = self._member(happening)
        elif kind == "try":
            error = printable(happening["error"])
            line = f"  again   {happening['step']} [{happening['index']}] in {happening['again_in_ms']} ms: {error}"
        elif kind == "undo":
            line = f"  undo    {happening['step']} [{happening['index']}]"
        elif kind == "said":
            line = "\n".join(f"  {happening['step']}: {printable(each)}" for each in happening["text"].splitlines())
        self._draw(line)

    def close(self) -> None:
        """Take the bar away."""
        self._over.set()
        if self._clock.ident is not None:
            self._clock.join()
        write(sys.stderr, "\r\x1b[2K")

    def _step(self, happening: Happening) -> str | None:
        name, state = happening["step"], happening["state"]
        if state == "running":
            self._running[name] = name
            return None
        self._running.pop(name, None)
        self._ended += 1
        took = happening.get("duration_ms")
        why = happening.get("error") or happening.get("note")
        told = f"  {MARKS.get(state, state):<8}{name}  {happening['atom']}"
        return told + (f"  {took:.0f} ms" if took is not None else "") + (f"  {printable(str(why))}" if why else "")

    def _member(self, happening: Happening) -> str | None:
        name, total = happening["step"], happening["total"]
        if total != 1:
            self._running[name] = f"{name} {happening['done']}/{total if total is not None else '?'}"
        note = happening.get("note")
        if self._explain and note:
            return f"  cache   {name} [{happening['index']}]: {printable(note)}"
        return None

    def _tick(self) -> None:
        while not self._over.wait(SELDOM_S):
            self._draw(None)

    def _draw(self, line: str | None) -> None:
        with self._drawing:
            now = time.monotonic()
            if line is None and now - self._drawn_at < OFTEN_S:
                return
            self._drawn_at = now
            most = max(20, shutil.get_terminal_size().columns) - 1
            above = "".join(f"\r\x1b[2K{each}\n" for each in (line or "").split("\n") if each)
            write(sys.stderr, f"{above}\r\x1b[2K{fitted(self._bar(now, min(WIDTH, most // 4)), most)}")

    def _bar(self, now: float, width: int) -> str:
        filled = width * self._ended // self._steps if self._steps else 0
        running = ", ".join(list(self._running.values()))
        bar = f"[{'#' * filled}{'.' * (width - filled)}]"
        return f"{bar} {self._ended}/{self._steps}  {elapsed_words(now - self._began)}  {printable(running)}"


def teller(*, explain: bool) -> Teller:
    """A bar where somebody looks on, lines elsewhere."""
    moves = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"  # a dumb terminal shows the codes themselves
    return BarTeller(explain=explain) if moves else LineTeller(explain=explain)


def plan_lines(plan: "PipePlan") -> list[str]:
    """Every decision, for people."""
    stops = "stops at the first failure" if plan.on_failure == "stop" else "goes on where a step fails"
    lines = [f"{printable(plan.name)}: {len(plan.steps)} steps, at most {plan.max_parallel} side by side, {stops}"]
    for position in plan.order:
        step = plan.steps[position]
        lines.append(f"{position + 1}. {step.name}  {step.spec.id}")
        lines += [f"   - {printable(sentence)}" for sentence in step.words]
    return lines
