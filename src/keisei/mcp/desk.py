"""Desk: tool calls of one client, made into calls of atoms. Knows no protocol: every server stands in front of one.

Any thread may call. Every call of an atom leaves exactly one row in the ledger. One that is refused, means nothing or
breaks has a row too, but some a minute: others are counted.
"""

import traceback
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from keisei.engine.call import Call, failed
from keisei.engine.invoke import InvokeOrder, Tools, entry, follow, invoke
from keisei.engine.ports import Workers
from keisei.mcp.arguments import Meant, Misfit, Named, Piped, Query, converted
from keisei.mcp.book import Book
from keisei.mcp.catalog import Catalog
from keisei.mcp.flight import Flight, Flights
from keisei.mcp.grant import Grant
from keisei.mcp.reply import Items, Reply, failure, reply, reply_of
from keisei.records.error import KeiseiError, Refused
from keisei.records.id import AttemptId, InvocationId
from keisei.rules.atom_effect import only_reads
from keisei.rules.atom_tool import DESCRIBE, PIPE, PLAN, READ, RUN, SEARCH

if TYPE_CHECKING:
    from keisei.records.atom_spec import AtomSpec
    from keisei.wiring.atom_runtime import AtomRuntime

__all__ = ["Desk", "Grant", "OnItem", "Reply"]

OnItem = Callable[[Any], None]
"""Told every item of a stream, and every happening of a pipe, in the thread that calls. Should not raise."""


class _Asked(Struct, frozen=True, kw_only=True):
    """One tool call."""

    tool: str
    arguments: Any
    invocation_id: InvocationId
    flight: Flight
    on_item: OnItem | None


class Desk:
    """Where tools are called. Make one for each client; it owns neither the runtime nor the workers."""

    def __init__(  # noqa: PLR0913 - each says one thing, and most say none
        self,
        runtime: "AtomRuntime",
        grant: Grant,
        *,
        workers: Workers | None = None,
        actor: str | None = None,
        attempt_id: AttemptId | None = None,
        tools: Tools | None = None,
    ) -> None:
        """`workers` run the atoms in place of the runtime's own; `actor` and `attempt_id` stand in the rows.

        `tools` are used in place of the runtime's own; their workers are not.
        """
        self._runtime, self.grant = runtime, grant
        self.actor = actor or runtime.actor
        self._attempt_id = attempt_id or runtime.attempt_id
        self._tools = tools or runtime.tools
        self._workers = workers or runtime.crew
        self._book = Book(lambda: runtime.store, self._tools, actor=self.actor, attempt_id=self._attempt_id)
        self.catalog = Catalog(runtime.shelf, grant, lambda: runtime.sage)
        self.refuse_token = self._book.refuse_token
        self._flights = Flights()
        self._deeds: dict[str, Callable[[_Asked], Reply]] = {
            SEARCH: self._search,
            DESCRIBE: self._describe,
            READ: self._read,
            RUN: self._run,
            PLAN: self._plan,
            PIPE: self._pipe,
        }

    def expect(self) -> str:
        """An id for a call that comes soon, or is forgotten: it can be canceled from now on."""
        key = self._tools.new_id()
        self._flights.begin(key, self._workers)
        return key

    def forget(self, invocation_id: str) -> None:
        """The call does not come."""
        self._flights.end(invocation_id)

    def call(
        self,
        name: str,
        arguments: Any,  # noqa: ANN401 - any JSON, nobody has looked at it
        *,
        invocation_id: str | None = None,
        on_item: OnItem | None = None,
    ) -> Reply:
        """Call a tool. Never raises for what a client, an atom or the world does: that is a reply with `is_error`."""
        key = InvocationId(invocation_id or self._tools.new_id())
        flight = self._flights.begin(key, self._workers)
        given = {} if arguments is None else arguments
        asked = _Asked(tool=name, arguments=given, invocation_id=key, flight=flight, on_item=on_item)
        try:
            return self._book.hindrance() or self._done(asked)
        except Exception as error:  # noqa: BLE001 - whatever it is: it is told, it has its row, and the desk goes on
            return self._missed(asked, *_reason(error))
        finally:
            self._flights.end(key)

    def cancel(self, invocation_id: str) -> None:
        """End that call and no other, wherever it is on its way. Nothing where it is over, or nobody expects it."""
        self._flights.cancel(invocation_id)

    def close(self) -> None:
        """End every call that runs and wait for them; later ones are canceled. Safe to say twice."""
        self._flights.close()

    def _done(self, asked: _Asked) -> Reply:
        if asked.tool in self.catalog.tools:
            return self._deeds[asked.tool](asked)
        return self._call(asked, self.catalog.spec(self.catalog.atom_of(asked.tool)), asked.arguments)

    def _search(self, asked: _Asked) -> Reply:
        found = self.catalog.found(converted(asked.arguments, Query))
        return reply({"atoms": found, "count": len(found)})

    def _describe(self, asked: _Asked) -> Reply:
        return reply(self.catalog.description(converted(asked.arguments, Named).atom))

    def _read(self, asked: _Asked) -> Reply:
        meant = converted(asked.arguments, Meant)
        spec = self.catalog.spec(meant.atom)
        if not only_reads(spec.manifest) and self.grant.refusal(spec.manifest) is None:
            return self._refused(asked, spec, meant.input, f"`{spec.id}` may change something: `{RUN}` calls it")
        return self._call(asked, spec, meant.input)

    def _run(self, asked: _Asked) -> Reply:
        meant = converted(asked.arguments, Meant)
        return self._call(asked, self.catalog.spec(meant.atom), meant.input)

    def _plan(self, asked: _Asked) -> Reply:
        from keisei.mcp.piping import planned  # noqa: PLC0415 - most calls are no pipes
        from keisei.rules.pipe_telling import plan_data  # noqa: PLC0415 - as above

        return reply(plan_data(planned(self._runtime, converted(asked.arguments, Piped))))

    def _pipe(self, asked: _Asked) -> Reply:
        from keisei.mcp import piping  # noqa: PLC0415 - as above

        piped = converted(asked.arguments, Piped)
        found = piping.planned(self._runtime, piped)
        refusals = (self.grant.refusal(spec.manifest) for spec in piping.specs_of(found))
        if (why := next(filter(None, refusals), None)) is not None:
            raise Refused(f"the pipe is not run: {why}")
        self._book.count(len(found.steps))
        tools = self._tools._replace(workers=asked.flight)
        way = piping.Way(
            tools=tools, flight=asked.flight, actor=self.actor, attempt_id=self._attempt_id, tell=asked.on_item
        )
        report, has_failed = piping.run(self._runtime, found, piped.input, way)
        return reply(report, is_error=has_failed)

    def _call(self, asked: _Asked, spec: "AtomSpec", given: Any) -> Reply:  # noqa: ANN401 - any JSON
        why = self.grant.refusal(spec.manifest)
        if why is not None:
            return self._refused(asked, spec, given, why)
        tools, order = self._tools._replace(workers=asked.flight), self._order(asked, spec, given)
        if spec.manifest.kind != "stream":
            return reply_of(invoke(tools, self._book.ledger, order), spec)
        items = Items()
        with follow(tools, order, self._book.ledger) as followed:
            for item in followed:
                items.add(item)
                if asked.on_item is not None:
                    asked.on_item(item)
        return reply_of(followed.invoked, spec, items)

    def _order(self, asked: _Asked, spec: "AtomSpec", given: Any) -> InvokeOrder:  # noqa: ANN401 - any JSON
        return InvokeOrder(
            spec=spec,
            input=given,
            actor=self.actor,
            attempt_id=self._attempt_id,
            invocation_id=asked.invocation_id,
        )

    def _refused(self, asked: _Asked, spec: "AtomSpec", given: Any, why: str) -> Reply:  # noqa: ANN401 - any JSON
        """A call that does not happen, with its row."""
        call = Call(self._tools, self._order(asked, spec, given))
        refused = call.ended_stream(failed("refused", why), None)
        told = self._book.refuse_atom(entry(refused, self.actor), why)
        return reply_of(refused if told == why else call.ended_stream(failed("refused", told), None), spec)

    def _missed(self, asked: _Asked, kind: str, why: str) -> Reply:
        """A call that came to nothing, with its row."""
        key = asked.invocation_id
        return failure(kind, self._book.refuse(asked.tool, asked.arguments, key, kind, why), {"invocation_id": key})


def _reason(error: Exception) -> tuple[str, str]:
    """The kind of error that an exception is to a client, and a sentence."""
    if isinstance(error, Misfit):
        return error.kind, str(error)
    if isinstance(error, Refused):
        return "refused", error.message
    if isinstance(error, KeiseiError):
        return "io", f"{error.message} (hint: {error.hint})" if error.hint else error.message
    place = traceback.extract_tb(error.__traceback__)[-1]
    return "io", f"this is a bug in keisei: {type(error).__name__} in {Path(place.filename).name}, line {place.lineno}"
