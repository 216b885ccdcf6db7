"""Progress: what happens to one task while somebody looks on, as data, as lines, or on one line that stays."""

import errno
import json
import os
import re
import shutil
import sys
import time
from bisect import bisect_right
from collections.abc import Iterator
from contextlib import suppress
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Protocol, TextIO
from unicodedata import combining, east_asian_width

import click
import msgspec

from keisei.cli.desk import first_line
from keisei.records.decision import GateDecision
from keisei.records.problem import printable
from keisei.records.relay import RelayCall
from keisei.rules.landing import FINE
from keisei.rules.reconcile import OURS

if TYPE_CHECKING:
    from keisei.cli.desk import Desk
    from keisei.records.attempt import TaskAttempt
    from keisei.records.event import RuntimeEvent
    from keisei.records.id import AttemptId, TaskId

Happening = dict[str, Any]
"""One thing that happened; `event` says what: phase, tool, spend, output, finding, landing, notice, done."""
PHASES = {
    "task_claimed": "preparing",
    "task_started": "running",
    "task_retry_scheduled": "waiting",
    "rate_limit_rescheduled": "waiting",
    "budget_exhausted": "waiting",
}
"""The phase that an event begins. `queued` stands before them; `verifying` begins when the harness has returned."""
LANDINGS = {
    "landing_held": "held",
    "landing_queued": "queued",
    "landing_made": "landed",
    "landing_rejected": "rejected",
    "landing_reverted": "reverted",
}
"""Where a landing has come to, by its event."""
STREAMS = {"stdout.log": "stdout", "stderr.log": "stderr"}
GATE, RELAY = "gate.jsonl", "relay.jsonl"
LONGEST_LINE = 1_048_576
"""Bytes that are kept back until a line ends."""
SHOWN = 160
"""Characters of a call's input that people are shown."""
TELLING = ("command", "file_path", "notebook_path", "path", "pattern", "url", "query", "prompt")
"""Fields of a call's input that say what it is about, the best first."""


class Tail:
    """One file of an attempt, line by line, while it grows and after."""

    def __init__(self, opened: "Desk", attempt: "TaskAttempt", name: str) -> None:
        self.name = name
        self._opened, self._attempt, self._place, self._rest = opened, attempt, 0, b""

    def lines(self, *, ended: bool = False) -> Iterator[str]:
        """Every line that is whole by now; the last one too where nothing follows."""
        from keisei.wiring.foreground import growing

        while piece := growing(self._opened.home, self._attempt, self.name, self._place):
            self._place += len(piece)
            *whole, self._rest = (self._rest + piece).split(b"\n")
            if len(self._rest) > LONGEST_LINE:
                whole, self._rest = [*whole, self._rest], b""
            yield from (line.decode("utf-8", "replace").rstrip("\r") for line in whole)
        if ended and self._rest:
            rest, self._rest = self._rest, b""
            yield rest.decode("utf-8", "replace")


class Spend:
    """Tokens and money of all calls so far. Unknown is None and never 0."""

    def __init__(self) -> None:
        self.calls = 0
        self.tokens: int | None = None
        self.cost_usd: float | None = None

    def add(self, call: RelayCall) -> None:
        """One more call."""
        self.calls += 1
        counted = (call.input_tokens, call.output_tokens, call.cache_read_tokens, call.cache_write_tokens)
        known = [each for each in counted if each is not None]
        if known:
            self.tokens = (self.tokens or 0) + sum(known)
        if call.cost_usd is not None:
            self.cost_usd = (self.cost_usd or 0.0) + call.cost_usd


class Follower:
    """What was told of one task already."""

    def __init__(self, opened: "Desk", task_id: "TaskId") -> None:
        self._opened, self._task_id = opened, task_id
        self._last, self._phase = 0, ""
        self._attempt_id: AttemptId | None = None
        self._tails: list[Tail] = []
        self._spend = Spend()

    def look(self) -> Iterator[Happening]:
        """Everything that is new. What an attempt did stands before its end."""
        from keisei.records.move import EventQuery

        for event in self._opened.store.events(EventQuery(after=self._last, task_id=self._task_id, limit=1000)):
            self._last = event.id
            yield from self._met(event)
        yield from self._read()
        yield from self._returned()

    def _met(self, event: "RuntimeEvent") -> Iterator[Happening]:
        if event.event_type == "task_enqueued":
            yield from self._enter("queued")
        elif event.event_type == "task_claimed" and event.attempt_id is not None:
            self._follow(event.attempt_id)
            yield from self._enter("preparing")
        elif event.event_type == "task_attempt_finished":
            yield from self._read(ended=True)
            yield from self._returned()
            self._tails = []
        elif event.event_type == "adapter_fallback_used":
            chosen = event.detail.get("selected_adapter")
            yield {"event": "notice", "text": f"the adapter {chosen} is used instead of the first choice"}
        elif event.event_type == "capability_checked":
            told = {name: event.detail.get(name) for name in ("capability", "status", "reason")}
            yield {"event": "finding", "attempt_id": event.attempt_id, **told}
        elif event.event_type in LANDINGS:
            told = {name: event.detail.get(name) for name in ("landing_id", "branch", "reason")}
            yield {"event": "landing", "status": LANDINGS[event.event_type], **told}
        elif event.event_type in PHASES:
            yield from self._enter(PHASES[event.event_type], **_detail(event))

    def _follow(self, attempt_id: "AttemptId") -> None:
        attempt = self._opened.store.attempt(attempt_id)
        if attempt is not None:
            self._attempt_id = attempt_id
            self._tails = [Tail(self._opened, attempt, name) for name in (GATE, RELAY, *STREAMS)]

    def _enter(self, phase: str, **more: object) -> Iterator[Happening]:
        self._phase = phase
        yield {"event": "phase", "phase": phase, "task_id": self._task_id, "attempt_id": self._attempt_id, **more}

    def _returned(self) -> Iterator[Happening]:
        """Whether the harness has come back; no event tells of it."""
        if self._phase == "running" and self._attempt_id is not None:
            attempt = self._opened.store.attempt(self._attempt_id)
            if attempt is not None and attempt.result_path is not None:
                yield from self._enter("verifying")

    def _read(self, *, ended: bool = False) -> Iterator[Happening]:
        before = self._spend.calls
        for tail in self._tails:
            for line in tail.lines(ended=ended):
                yield from self._line(tail.name, line)
        if self._spend.calls > before:
            spend = self._spend
            yield {"event": "spend", "calls": spend.calls, "tokens": spend.tokens, "cost_usd": spend.cost_usd}

    def _line(self, name: str, line: str) -> Iterator[Happening]:
        if name in STREAMS:
            yield {"event": "output", "attempt_id": self._attempt_id, "stream": STREAMS[name], "text": line}
            return
        with suppress(msgspec.DecodeError, ValueError):  # a line that is cut off by a full disk says nothing
            if name == RELAY:
                self._spend.add(msgspec.json.decode(line, type=RelayCall))
            else:
                yield from _tool(msgspec.json.decode(line, type=GateDecision))


def _detail(event: "RuntimeEvent") -> Happening:
    """What people want to know of a phase: with what it runs, or until when it waits and why."""
    detail = event.detail
    if event.event_type == "task_started":
        return {"adapter_id": detail.get("adapter_id"), "model": detail.get("model")}
    until = detail.get("available_at", detail.get("until"))
    return {"until": until, "reason": detail.get("error", detail.get("reason"))}


def _tool(decision: GateDecision) -> Iterator[Happening]:
    if (decision.tool_use_id or "").startswith(OURS):
        return
    yield {
        "event": "tool",
        "attempt_id": decision.attempt_id,
        "tool_use_id": decision.tool_use_id,
        "agent_id": decision.agent_id,
        "tool": decision.tool,
        "input": decision.input,
        "decision": decision.decision,
        "cause": decision.cause,
        "capability": decision.capability,
        "reason": decision.reason,
    }


# --- telling ----------------------------------------------------------------------------------------------------------


class Teller(Protocol):
    """Who tells it."""

    def tell(self, happening: Happening) -> None:
        """One thing that happened."""

    def tick(self) -> None:
        """Time has passed."""

    def close(self) -> None:
        """Nothing comes any more but the summary."""


class JsonTeller:
    """One JSON object a line on standard output."""

    def tell(self, happening: Happening) -> None:
        """One line."""
        write(sys.stdout, f"{json.dumps(happening, ensure_ascii=False)}\n")

    def tick(self) -> None:
        """Nothing: whoever reads has a clock."""

    def close(self) -> None:
        """Nothing."""


class PlainTeller:
    """One line a happening on standard error; what the agent prints is left to `keisei task watch`."""

    def tell(self, happening: Happening) -> None:
        """One line, or none."""
        line = line_of(happening)
        if line is not None:
            write(sys.stderr, f"{line}\n")

    def tick(self) -> None:
        """Nothing: a line that was written stays."""

    def close(self) -> None:
        """Nothing."""


class TerminalTeller(PlainTeller):
    """The same lines, and below them one that is written anew: phase, time, calls, spend, the newest output."""

    def __init__(self, *, colour: bool) -> None:
        self._colour, self._since, self._phase = colour, time.monotonic(), "queued"
        self._calls = {"allow": 0, "deny": 0}
        self._spent, self._output = "", ""

    def tell(self, happening: Happening) -> None:
        """A line above, and the one below brought up to date."""
        self._keep(happening)
        line = line_of(happening)
        if line is None:
            return
        cut = fitted(line, _columns())
        denied = self._colour and happening.get("decision") == "deny"
        write(sys.stderr, f"\r\x1b[2K{click.style(cut, fg='red') if denied else cut}\n")
        self.tick()

    def tick(self) -> None:
        """The line below."""
        write(sys.stderr, f"\r\x1b[2K{fitted(self._status(), _columns())}")

    def close(self) -> None:
        """Take the line below away."""
        write(sys.stderr, "\r\x1b[2K")

    def _keep(self, happening: Happening) -> None:
        if happening["event"] == "phase":
            self._phase = happening["phase"]
        elif happening["event"] == "tool":
            self._calls[happening["decision"]] += 1
        elif happening["event"] == "spend":
            self._spent = spent_words(happening["tokens"], happening["cost_usd"])
        elif happening["event"] == "output" and happening["text"].strip():
            self._output = printable(happening["text"].strip()[:SHOWN])

    def _status(self) -> str:
        calls = f"{self._calls['allow']} allowed, {self._calls['deny']} denied" if any(self._calls.values()) else ""
        parts = (f"{self._phase} {elapsed_words(time.monotonic() - self._since)}", calls, self._spent, self._output)
        return "  ".join(part for part in parts if part)


def teller(*, as_json: bool, colour: bool) -> Teller:
    """Whoever fits: data where it was asked for, one line that stays on a terminal, lines elsewhere."""
    if as_json:
        return JsonTeller()
    moves = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"  # a dumb terminal shows the codes themselves
    return TerminalTeller(colour=colour) if moves else PlainTeller()


def write(stream: TextIO, text: str) -> None:
    """Say it at once. A reader that went away ends neither the agent nor the exit code: nothing more is said to it.

    Where the output is a file that takes no more, standard error hears of it, once.
    """
    try:
        stream.write(text)
        stream.flush()
    except (OSError, ValueError) as error:
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC), stream.fileno())
        if isinstance(error, OSError) and error.errno != errno.EPIPE and stream is sys.stdout:
            why = (error.strerror or str(error)).lower()
            write(sys.stderr, f"warning: standard output takes no more, and what is told is lost: {why}\n")


def line_of(happening: Happening) -> str | None:
    """A happening for people, on one line; None for what they are not shown line by line."""
    kind = happening["event"]
    if kind == "notice":
        return f"{'note':<9}  {printable(happening['text'])}"
    if kind == "phase":
        return f"{happening['phase']:<9}  {_phase_words(happening)}".rstrip()
    if kind == "finding":
        return _finding_line(happening)
    if kind == "landing":
        reason = f": {first_line(happening['reason'])}" if happening["reason"] else ""
        return f"{happening['status']:<9}  on {printable(str(happening['branch']))}{reason}"
    if kind != "tool":
        return None
    word = "allowed" if happening["decision"] == "allow" else "denied"
    told = f"{word:<9}  {printable(happening['tool'])} {input_words(happening['input'])}".rstrip()
    if word == "allowed":
        return told
    capability, reason = happening["capability"] or "", happening["reason"] or ""
    named = capability if not reason.startswith(capability) else ""  # what the gate says mostly names it already
    return f"{told} ({': '.join(first_line(each) for each in (named, reason) if each)})"


def _finding_line(happening: Happening) -> str | None:
    """A predicate that does not hold; one that has no object is not shown."""
    if happening["status"] in FINE:
        return None
    named = printable(str(happening["capability"]))
    return f"{happening['status']:<9}  {named}: {first_line(happening['reason'])}"


def _phase_words(happening: Happening) -> str:
    phase = happening["phase"]
    if phase == "queued":
        return f"task {happening['task_id']}"
    if phase == "preparing":
        return f"attempt {happening['attempt_id']}"
    if phase == "running":
        named = (happening["adapter_id"], happening["model"])
        return ", ".join(printable(str(each)) for each in named if each)
    if phase == "waiting":
        until = f"until {happening['until']}: " if happening["until"] else ""
        return f"{until}{first_line(happening['reason'])}"
    return ""


def input_words(data: Any) -> str:  # noqa: ANN401 - a tool's own
    """What a call is about, on one line: the field that says it best, else all of it."""
    told = data if isinstance(data, dict) else {}
    best = next((told[name] for name in TELLING if isinstance(told.get(name), str)), None)
    text = best if best is not None else json.dumps(told, ensure_ascii=False) if told else ""
    return fitted(printable(re.sub(r"\s+", " ", text).strip()), SHOWN)


def fitted(text: str, most: int) -> str:
    """A text that ends where there is no more room, in columns: some characters take two, some none."""
    if len(text) * 2 <= most:
        return text
    ends = list(accumulate(map(_width, text)))
    if not ends or ends[-1] <= most:
        return text
    return f"{text[: bisect_right(ends, most - 1)]}…"


def _width(char: str) -> int:
    return 0 if combining(char) else 2 if east_asian_width(char) in "WF" else 1


def elapsed_words(seconds: float) -> str:
    """A time for people: 7s, 1m07s, 2h03m."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h{minutes:02}m" if hours else f"{minutes}m{rest:02}s" if minutes else f"{rest}s"


def spent_words(tokens: int | None, cost_usd: float | None) -> str:
    """What was spent, as far as anybody knows."""
    known = [] if tokens is None else [f"{tokens:,} tokens"]
    known += [] if cost_usd is None else [f"${cost_usd:.4f}" if cost_usd < 1 else f"${cost_usd:.2f}"]
    return ", ".join(known)


def _columns() -> int:
    """Columns of the terminal, less one: some of them wrap at the last."""
    with suppress(OSError):
        if columns := os.get_terminal_size(2).columns:
            return max(20, columns) - 1
    return max(20, shutil.get_terminal_size().columns) - 1
