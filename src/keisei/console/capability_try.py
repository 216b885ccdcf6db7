"""Trying a call: what the gate would answer, and what it reads out of the call. Nothing of it is carried out.

The judge is the one that agents meet, in an empty worktree, as `keisei capability test` has it; but it sees nothing
of this machine, since whoever may look at a page must not read files by way of it.
"""

import re
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta, Struct

from keisei.console.asking import Fault, Unfit
from keisei.console.capability_blind import ELSEWHERE, BlindJudge
from keisei.console.premises import Premises
from keisei.records.effect import BELOW, UNKNOWN, Effects, Target, ToolCall
from keisei.records.error import WorldFault
from keisei.rules.policy import Policy
from keisei.wiring.policy import Setting

Words = Annotated[str, Meta(max_length=8000)]
"""What a call says; it stands in an address, so that it can be shared."""
Globs = Annotated[str, Meta(max_length=2000)]
MARK: Final = "{worktree}"
"""Stands for the worktree, in what is asked and in what is told."""
MOST: Final = 200
"""Commands and paths of each kind that are told."""
PATIENCE_S: Final = 10.0
PLACES: Final = {
    "Bash": "command",
    "Read": "file_path",
    "Write": "file_path",
    "Edit": "file_path",
    "MultiEdit": "file_path",
    "NotebookEdit": "notebook_path",
    "Glob": "pattern",
    "Grep": "pattern",
    "WebFetch": "url",
}
"""The field of each tool that says what is touched."""
TURNS: Final = threading.BoundedSemaphore(2)
"""Judging takes a processor's time; two at once leave something for others."""
QUEUE: Final = threading.BoundedSemaphore(6)
"""Who judges or waits for it: each holds a thread that pages need."""


class TryAsk(Struct, frozen=True, kw_only=True):
    """A call to try."""

    command: Words = ""
    """The shell command; for other tools the path, pattern or address."""
    tool: Annotated[str, Meta(max_length=200)] = "Bash"
    """The tool, as the harness names it."""
    input: Words = ""
    """The tool's whole input as a JSON object, instead of `command`."""
    scope: Globs = ""
    """Globs a task may write to, apart by blanks or line ends."""


class TryCommand(Struct, frozen=True, kw_only=True):
    """A command line that the call would run."""

    command: str
    """Its words; … where only the running shell knows."""
    inside: str | None
    """What it was found in, for example `sh -c`."""
    listed: bool
    """Whether an allow-list must know it."""


class TryPath(Struct, frozen=True, kw_only=True):
    """A path that the call would touch."""

    path: str
    """As written; `{worktree}` is where the agent works."""
    by: str
    """What touches it."""


class TryEffects(Struct, frozen=True, kw_only=True):
    """What the call would do, as far as it can be read."""

    commands: tuple[TryCommand, ...]
    """Command lines it would run."""
    writes: tuple[TryPath, ...]
    """Paths it would write."""
    deletes: tuple[TryPath, ...]
    """Paths it would remove."""
    reads: tuple[TryPath, ...]
    """Paths it would read."""
    network: tuple[str, ...]
    """What it would reach out to."""
    agents: tuple[str, ...]
    """Agents it would start."""
    unresolved: tuple[str, ...]
    """Code that nobody can read beforehand."""
    unknown: str | None
    """Why the call as a whole cannot be read."""
    more: int
    """What else there is and is not told."""


class Trial(Struct, frozen=True, kw_only=True):
    """What the gate would answer."""

    tool: str
    """The tool."""
    input: dict[str, Any]
    """Its input."""
    decision: Literal["allow", "deny"]
    """What is answered."""
    cause: Literal["rule", "error"]
    """A rule decides, or a gate broke."""
    capability: str | None
    """The rule that refuses."""
    rule: str | None
    """The pattern or list entry that matched."""
    reason: str | None
    """Why, in a line."""
    instead: str | None
    """What to do instead."""
    notes: tuple[str, ...]
    """What rules that only warn had to say."""
    rules: int
    """How many gates were asked."""
    effects: TryEffects
    """What it would do."""


def tried(premises: Premises, asks: TryAsk, policy: Callable[[Setting, tuple[str, ...]], Policy]) -> Trial | None:
    """The judgement of what is asked by the policy of a worktree and a scope; None where nothing is asked.

    Raises Unfit for an input that is none, WorldFault while too many others ask, and what making the policy raises.
    """
    if not asks.command and not asks.input:
        return None
    given, globs = _input(asks), tuple(re.split(r"[\s,]+", asks.scope.strip())) if asks.scope.strip() else ()
    with turn(), tempfile.TemporaryDirectory(prefix="keisei-try-") as folder:
        setting = Setting(Path(folder), premises.home.root, Path("/home/agent"))
        made, judge = policy(setting, globs), BlindJudge()
        call = ToolCall(tool=asks.tool, input=_filled(given, setting.worktree), cwd=setting.worktree)
        found = judge.judge(call, made)
        effects = judge.effects(call, made)
    said = _Saying(setting.worktree)
    return Trial(
        tool=asks.tool,
        input=given,
        decision=found.decision,
        cause=found.cause,
        capability=found.capability,
        rule=said.maybe(found.rule),
        reason=said.maybe(found.reason),
        instead=said.maybe(found.instead or None),
        notes=(*said.all(found.notes), *_unasked(made)),
        rules=len(made.rules),
        effects=said.effects(effects),
    )


def _unasked(policy: Policy) -> Iterator[str]:
    """Gates that are scripts: a page runs none."""
    return (f"{rule.capability}: {ELSEWHERE}" for rule in policy.rules if rule.script is not None)


@contextmanager
def turn() -> Iterator[None]:
    """A place among those who judge. Raises WorldFault where none comes free, or enough wait for one."""
    with ExitStack() as held:
        for places, patience_s in ((QUEUE, 0.0), (TURNS, PATIENCE_S)):
            if not places.acquire(timeout=patience_s):
                raise WorldFault("others are asking the gate just now", "ask again in a moment", retryable=True)
            held.callback(places.release)
        yield


def _input(asks: TryAsk) -> dict[str, Any]:
    if not asks.input:
        if asks.tool not in PLACES:
            raise Unfit([Fault("input", f"say the whole input of `{asks.tool}` as a JSON object")])
        return {PLACES[asks.tool]: asks.command}
    try:
        data = msgspec.json.decode(asks.input)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        raise Unfit([Fault("input", "this is not JSON")]) from None
    if not isinstance(data, dict):
        raise Unfit([Fault("input", "this is not a JSON object")])
    return data


def _filled(value: Any, worktree: str) -> Any:  # noqa: ANN401 - JSON
    if isinstance(value, str):
        return value.replace(MARK, worktree)
    if isinstance(value, dict):
        return {key: _filled(each, worktree) for key, each in value.items()}
    return [_filled(each, worktree) for each in value] if isinstance(value, list) else value


class _Saying:
    """Tells what was found without the name of a folder that is gone."""

    def __init__(self, worktree: str) -> None:
        self._worktree = worktree

    def one(self, text: str) -> str:
        told = text.replace(UNKNOWN, "…").replace(BELOW, "…").replace(self._worktree, MARK)
        return told.encode("utf-8", "replace").decode()

    def maybe(self, text: str | None) -> str | None:
        return None if text is None else self.one(text)

    def all(self, texts: Iterable[str]) -> tuple[str, ...]:
        return tuple(self.one(each) for each in list(texts)[:MOST])

    def effects(self, found: Effects) -> TryEffects:
        lists: Mapping[str, tuple[Any, ...]] = {
            name: getattr(found, name)
            for name in ("commands", "writes", "deletes", "reads", "network", "agents", "unresolved")
        }
        return TryEffects(
            commands=tuple(
                TryCommand(command=self.one(each.text), inside=self.maybe(each.via or None), listed=each.listed)
                for each in found.commands[:MOST]
            ),
            writes=self.paths(found.writes),
            deletes=self.paths(found.deletes),
            reads=self.paths(found.reads),
            network=self.all(found.network),
            agents=self.all(found.agents),
            unresolved=self.all(found.unresolved),
            unknown=self.maybe(found.unknown),
            more=sum(max(0, len(each) - MOST) for each in lists.values()),
        )

    def paths(self, targets: Iterable[Target]) -> tuple[TryPath, ...]:
        return tuple(TryPath(path=self._path(each), by=self.one(each.how)) for each in list(targets)[:MOST])

    def _path(self, target: Target) -> str:
        """Where it is: below the folder it is relative to, unless that is the worktree itself."""
        elsewhere = not target.path.startswith("/") and target.cwd != self._worktree
        return self.one(f"{target.cwd}/{target.path}" if elsewhere else target.path)
