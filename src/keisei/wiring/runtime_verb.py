"""Atoms from an atom: what there is, what one promises, what a pipe would do; and one called by another."""

import os
from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import replace

from keisei.records.atom_spec import AtomPackage
from keisei.records.error import AuthorError, MissingAtom, OperatorError
from keisei.rules.atom_telling import atom_data
from keisei.rules.pipe_plan import plan
from keisei.rules.pipe_telling import plan_data
from keisei.settings import Settings
from keisei.wiring.account import actor
from keisei.wiring.atom_runtime import open_runtime, working_directory
from keisei.wiring.atom_walk import find_index
from keisei.wiring.atoms import Shelf, open_shelf
from keisei.wiring.verb_error import VerbError, as_code, outside_attempts

if TYPE_CHECKING:
    from keisei.library.pipe import LoadedPipe
    from keisei.records.invocation import Invoked
    from keisei.records.pipe_plan import PipePlan

DEPTH: Final = "KEISEI_CALL_DEPTH"
"""The variable that counts how many calls stand above one that was made by an atom."""
DEEPEST: Final = 3
LEAST_MS: Final = 100
"""Of its own time an atom keeps this much, to tell how the other one ended."""


def invoke(given: dict[str, Any], left_ms: int, settings: Settings | None = None) -> dict[str, Any]:
    """Call an atom; its processes are gone when this returns. It leaves a ledger row of its own. Raises VerbError.

    Inside an attempt it is refused: only the call itself, made by the agent, is judged.
    """
    own = outside_attempts(settings, "no atom is called by way of another", "call the atom itself")
    depth = _depth() + 1
    if depth > DEEPEST:
        raise VerbError("TooDeep", f"calls within calls are {DEEPEST} deep at most")
    with as_code("StoreAway", OperatorError), as_code("UnknownAtom", MissingAtom):
        return _answer(_called(own, given, left_ms, depth))


def listed(given: dict[str, Any], settings: Settings | None = None) -> dict[str, Any]:
    """A page of atoms by id. Raises VerbError, AuthorError."""
    shelf = _shelf(settings)
    rows, problems = shelf.rows(kind=given.get("kind"), package=given.get("package"), stability=given.get("stability"))
    after, limit = given.get("after", ""), int(given.get("limit", 100))
    behind = sorted((row for row in rows if row.atom > after), key=lambda row: row.atom)
    page = [
        {"atom": row.atom, "kind": row.kind, "stability": row.stability, "summary": row.summary, "layer": row.layer}
        for row in behind[:limit]
    ]
    return {
        "atoms": page,
        "next": page[-1]["atom"] if len(behind) > limit else None,
        "left_out": [problem.render() for problem in problems[:50]],
    }


def described(given: dict[str, Any], settings: Settings | None = None) -> dict[str, Any]:
    """Everything that is known of one atom. Raises VerbError, MissingAtom, AuthorError."""
    return atom_data(_shelf(settings).atom(given["atom"]))


def planned_data(given: dict[str, Any], settings: Settings | None = None) -> dict[str, Any]:
    """What a pipe would do, and why; nothing runs. Raises VerbError with every problem of the pipe."""
    from keisei.library.pipe import pipe_in, pipe_of  # noqa: PLC0415 - a list does not pay for it

    pipe, shelf = given["pipe"], _shelf(settings)
    with as_code("BadPipe", AuthorError):
        try:
            loaded = pipe_in(pipe) if isinstance(pipe, str) else pipe_of(pipe)
        except (UnicodeError, RecursionError, ValueError) as error:
            raise VerbError("BadPipe", "the pipe is not text: too deep, or half a character") from error
        return plan_data(planned(shelf, loaded))


def planned(shelf: Shelf, loaded: "LoadedPipe", name: str | None = None) -> "PipePlan":
    """The plan of a pipe; what a person should know of it stands in its warnings. Raises AuthorError."""
    found = plan(loaded.definition, loaded.complain, shelf.atom, name=name or loaded.name)
    return replace(found, warnings=(*loaded.warnings, *found.warnings))


def _shelf(settings: Settings | None) -> Shelf:
    """Every atom there is around here. Raises VerbError inside an attempt, which knows of those of its role alone."""
    hint = "the tools atoms_search, atoms_describe and pipe_plan tell of them"
    own = outside_attempts(settings, "only the atoms of its role are told of", hint)
    here = working_directory()
    with as_code("StoreAway", OperatorError):
        return open_shelf(own, index_path=find_index(own, here), start=here)


def _called(settings: Settings, given: dict[str, Any], left_ms: int, depth: int) -> "Invoked":
    from keisei.engine.invoke import InvokeOrder, invoke  # noqa: PLC0415 - only a call pays for it

    wanted = min(int(given.get("timeout_ms", left_ms)), left_ms - LEAST_MS)
    with open_runtime(settings, actor=actor()) as runtime:
        spec = runtime.shelf.atom(given["atom"])
        counted = runtime.environment
        tools = runtime.tools._replace(environment=lambda *of: {**counted(*of), **_count(of[0], depth)})
        order = InvokeOrder(spec=spec, input=given.get("input", {}), actor=runtime.actor, timeout_ms=max(1, wanted))
        return invoke(tools, runtime.store, order)


def _answer(invoked: "Invoked") -> dict[str, Any]:
    record = invoked.record
    if record.error is not None:
        code = f" {record.error.code}" if record.error.code else ""
        raise VerbError("CallFailed", f"`{record.atom}` failed ({record.error.kind}{code}): {record.error.message}")
    told = {"duration_ms": record.duration_ms, "atom": record.atom, "invocation_id": record.invocation_id}
    return {"result": invoked.output, "metadata": told}


def _depth() -> int:
    """How many calls stand above this one. What is no number of ours counts as the most there may be. Falls closed."""
    told = os.environ.get(DEPTH, "0")
    return int(told) if told in map(str, range(DEEPEST)) else DEEPEST


def _count(package: AtomPackage, depth: int) -> dict[str, str]:
    return {DEPTH: str(depth)} if package.metadata.engine else {}
