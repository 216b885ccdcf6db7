"""Pipes of a client: atoms in order, planned and run with what the client may call and nothing else."""

import json
from collections.abc import Callable
from contextlib import closing
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from keisei.engine.invoke import Tools
from keisei.engine.pipe import Pipe
from keisei.engine.pipe_order import PipeEnd, PipeOrder, PipeTools, new_run
from keisei.engine.pipe_report import report
from keisei.library.pipe import LoadedPipe, pipe_in, pipe_of
from keisei.mcp.arguments import Misfit, Piped
from keisei.mcp.flight import Flight
from keisei.records.atom_spec import AtomSpec
from keisei.records.error import KeiseiError
from keisei.records.pipe_plan import PipePlan
from keisei.wiring import runtime_verb
from keisei.wiring.store import open_home_store
from keisei.workspace.lock import KeyLocks

if TYPE_CHECKING:
    from keisei.records.id import AttemptId
    from keisei.wiring.atom_runtime import AtomRuntime

SHOWN = "pipe"
"""What a pipe that came in a call is called in its problems."""
MOST = 16
"""Calls side by side in one pipe, whatever it says."""
LONGEST = 1024 * 1024
"""Bytes of a pipe and its input: both are kept with its run."""
KEPT = 4 * 1024 * 1024
"""Characters of a report that are told; the rest stands in the store."""
PATIENCE_S = 0.1


def planned(runtime: "AtomRuntime", piped: Piped) -> PipePlan:
    """The plan of a pipe. Raises Misfit with every problem of it."""
    try:
        if len(json.dumps((piped.pipe, piped.input), ensure_ascii=False).encode()) > LONGEST:
            raise Misfit(f"a pipe and its input have more than {LONGEST} bytes")
        found = runtime_verb.planned(runtime.shelf, _loaded(piped.pipe))
    except KeiseiError as error:
        raise Misfit(error.message) from None
    except (RecursionError, ValueError, TypeError) as error:  # too deep, or half a character
        raise Misfit(f"the pipe cannot be read: {type(error).__name__}") from None
    return replace(found, max_parallel=min(found.max_parallel, MOST))


def _loaded(given: str | dict[str, Any]) -> LoadedPipe:
    return pipe_in(given, SHOWN) if isinstance(given, str) else pipe_of(given, SHOWN)


def specs_of(found: PipePlan) -> list[AtomSpec]:
    """Every atom a run may call, undo included, in the order of the file."""
    return [spec for step in found.steps for spec in (step.spec, step.undo) if spec is not None]


class Way(Struct, frozen=True, kw_only=True):
    """Who runs a pipe, and on which way it is ended."""

    tools: Tools
    """What its atoms are called with: the flight is the workers."""
    flight: Flight
    """Whom its atoms are called by."""
    actor: str
    """Who stands in the rows."""
    attempt_id: "AttemptId | None"
    """The attempt it runs in, where there is one."""
    tell: Callable[[dict[str, Any]], None] | None
    """Whoever looks on. Never raises."""


def run(runtime: "AtomRuntime", found: PipePlan, given: Any, way: Way) -> tuple[dict[str, Any], bool]:  # noqa: ANN401
    """Run it to its end: the report, and whether it failed. Raises KeiseiError where its rows cannot be written."""
    tools = way.tools
    with closing(open_home_store(runtime.settings, runtime.home)) as store:  # a store is one thread's
        begun = new_run(found, SHOWN, given, way.actor, tools)
        locks, key = KeyLocks(runtime.home.run), f"pipe-{begun.run_id}"
        with locks.own(key, PATIENCE_S):
            store.begin_run(begun)
            order = PipeOrder(plan=found, run=begun, input=given, actor=way.actor, attempt_id=way.attempt_id)
            tell = way.tell or (lambda _: None)
            cache = runtime.cache if tools.judge is None else None  # where calls are judged, each is made
            end = _ended(Pipe(PipeTools(store, tools, cache, runtime.code_sha, tell=tell), order), way.flight)
            locks.forget(key)
        kept = store.pipe_run(begun.run_id) or begun
        return _told("".join(report(store, kept, end)), begun.run_id), end.exit_code > 0


def _ended(pipe: Pipe, flight: Flight) -> PipeEnd:
    flight.also = pipe.cancel
    if flight.is_canceled:
        pipe.cancel()
    return pipe.run()


def _told(text: str, run_id: str) -> dict[str, Any]:
    """The report; where it is too long for a reply, without what came out."""
    told: dict[str, Any] = json.loads(text)
    if len(text) <= KEPT:
        return told
    for step in told["steps"]:
        step["result"] = None
    hint = f"the results are left out, they have {len(text)} characters: `keisei pipe show {run_id} --json`"
    return {**told, "final_result": None, "truncated": hint}
