"""One call of a package's program: the bare result on stdout, one sentence for what went wrong."""

import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from keisei.cli.desk import actor
from keisei.cli.invoke import line, order_of, say, stopping
from keisei.cli.primitive_field import fields_of
from keisei.cli.surroundings import settings

if TYPE_CHECKING:
    from keisei.engine.invoke import InvokeOrder
    from keisei.records.invocation import InvocationRecord
    from keisei.wiring.atom_runtime import AtomRuntime

_NOTHING = object()
WIDE = 100
"""A result that is longer than this is spread over lines on a terminal."""


class Ended(NamedTuple):
    """How a call ended."""

    exit_code: int
    complaint: str | None
    """`Code: message`, or a message alone; None where there is nothing to complain of."""


def runtime_of(ctx: click.Context) -> "AtomRuntime":
    """The runtime of the program, opened when it is first needed and closed with it. Raises OperatorError."""
    from keisei.wiring.atom_runtime import open_runtime

    root = ctx.find_root()
    if root.obj is None:
        roots: tuple[Path, ...] = root.params.get("roots") or ()
        opened = open_runtime(settings(), actor=actor(), roots=roots, kit_root=root.params.get("kit_root"))
        root.obj = root.with_resource(opened)
    runtime: AtomRuntime = root.obj
    return runtime


def called(runtime: "AtomRuntime", atom_id: str, value: Any) -> Ended:  # noqa: ANN401 - any JSON
    """Call it and print what comes out. Exits 2 for an atom that nobody has."""
    from keisei.engine.invoke import invoke

    order = order_of(runtime, atom_id, value, None)
    with stopping(runtime):
        if order.spec.manifest.kind == "stream":
            return _followed(runtime, order)
        invoked = invoke(runtime.tools, runtime.store, order)
        say(invoked.said)
        if invoked.output is not None or invoked.record.error is None:
            _show(invoked.output)
    return ended(order, invoked.record)


def _followed(runtime: "AtomRuntime", order: "InvokeOrder") -> Ended:
    """Print items as they come. A reader that goes away ends the stream; its row is written all the same."""
    from keisei.engine.invoke import follow

    with follow(runtime.tools, order, runtime.store) as followed:
        try:
            for item in followed:
                line(item)
        except KeyboardInterrupt:
            followed.close()
    say(followed.invoked.said)
    return ended(order, followed.invoked.record)


def _show(output: object) -> None:
    text = json.dumps(output, ensure_ascii=False)
    if sys.stdout.isatty() and len(text) > WIDE:
        text = json.dumps(output, ensure_ascii=False, indent=2)
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def ended(order: "InvokeOrder", record: "InvocationRecord") -> Ended:
    """The exit code and what is told."""
    error = record.error
    if error is None:
        return Ended(0, None)
    if error.kind == "schema-in" and (named := _declared(order)) is not None:
        return Ended(record.exit_code, named)
    return Ended(record.exit_code, f"{error.code}: {error.message}" if error.code else error.message)


def _declared(order: "InvokeOrder") -> str | None:
    """The page's own error for a value that is none of a few words: `InvalidPriority` for `priority`."""
    if not isinstance(order.input, Mapping):
        return None
    known = {error.code: error.description for error in order.spec.manifest.errors}
    for field in fields_of(order.spec.input_schema):
        code = "Invalid" + "".join(part.capitalize() for part in re.split("[_-]", field.name))
        is_other = bool(field.choices) and order.input.get(field.name, _NOTHING) not in (*field.choices, _NOTHING)
        if is_other and code in known:
            return f"{code}: {known[code]}"
    return None
