"""`kei-runtime invoke` and `keisei atom invoke`: one atom, called once, and what came of it as JSON."""

import json
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from keisei.cli.desk import actor, refusing
from keisei.cli.json_input import NotJson, json_of
from keisei.cli.surroundings import kit_root_option, root_option, settings
from keisei.records.error import MissingAtom, OperatorError

if TYPE_CHECKING:
    from keisei.engine.invoke import InvokeOrder
    from keisei.records.invocation import InvocationRecord, Invoked
    from keisei.wiring.atom_runtime import AtomRuntime

UNKNOWN = 2
"""The exit code for an atom that nobody has."""


@click.command("invoke")
@click.argument("atom_id", metavar="ID")
@click.option(
    "--input", "given", default="{}", metavar="JSON|@FILE|-", help="What goes in; by default an empty object."
)
@click.option("--timeout-ms", type=click.IntRange(1), help="Less time than the atom's own limit.")
@root_option
@kit_root_option
def command(atom_id: str, given: str, timeout_ms: int | None, roots: tuple[Path, ...], kit_root: Path | None) -> int:
    """Call one atom: input and output are checked, and one ledger row is written.

    Prints {"result": ..., "metadata": {...}}, or {"error": ..., "metadata": {...}}; of a stream one {"item": ...} a
    line as they come. Exit 0 done, 2 atom error or schema violation, 1 usage or IO, 5 timeout, 127 program missing.
    """
    from keisei.wiring.atom_runtime import open_runtime

    value = input_of(given)
    with refusing(), open_runtime(settings(), actor=actor(), roots=roots, kit_root=kit_root) as runtime:
        order = order_of(runtime, atom_id, value, timeout_ms)
        if order.spec.manifest.kind == "stream":
            return _follow(runtime, order)
        return _call(runtime, order)


def input_of(given: str) -> Any:  # noqa: ANN401 - any JSON
    """What `--input` names. Raises OperatorError in one sentence."""
    try:
        return json_of(given)
    except NotJson as error:
        message = f"the input cannot be used: {error.message}"
        raise OperatorError(message, 'give JSON, @FILE or -, as in --input \'{"title": "Fix"}\'') from error


def order_of(runtime: "AtomRuntime", atom_id: str, value: Any, timeout_ms: int | None) -> "InvokeOrder":  # noqa: ANN401
    """The call. An atom that nobody has is told, and exits 2."""
    from keisei.cli.door import say_error
    from keisei.engine.invoke import InvokeOrder

    try:
        spec = runtime.shelf.atom(atom_id)
    except MissingAtom as error:
        say_error(error)
        raise click.exceptions.Exit(UNKNOWN) from error
    return InvokeOrder(
        spec=spec, input=value, actor=runtime.actor, attempt_id=runtime.attempt_id, timeout_ms=timeout_ms
    )


def _call(runtime: "AtomRuntime", order: "InvokeOrder") -> int:
    from keisei.engine.invoke import invoke

    invoked = invoke(runtime.tools, runtime.store, order)
    say(invoked.said)
    if invoked.record.error is None:
        line({"result": invoked.output, "metadata": metadata(invoked.record)})
    else:
        line(failure(invoked))
    return invoked.record.exit_code


def _follow(runtime: "AtomRuntime", order: "InvokeOrder") -> int:
    """Items as they come; Ctrl-C and a reader that goes away end the stream, and the row is written all the same."""
    from keisei.engine.invoke import follow

    items = 0
    with follow(runtime.tools, order, runtime.store) as followed, suppress(KeyboardInterrupt):
        for item in followed:
            line({"item": item})
            items += 1
    invoked = followed.invoked
    say(invoked.said)
    told = {**metadata(invoked.record), "items": items}
    line({"metadata": told} if invoked.record.error is None else {**failure(invoked), "metadata": told})
    return invoked.record.exit_code


def metadata(record: "InvocationRecord") -> dict[str, Any]:
    """What is told of a call beside its result."""
    return {"duration_ms": round(record.duration_ms, 3), "atom": record.atom, "invocation_id": record.invocation_id}


def failure(invoked: "Invoked") -> dict[str, Any]:
    """The envelope of a call that failed; an output that could not be recorded is not lost."""
    from keisei.cli.door import complain

    error = invoked.record.error
    assert error is not None  # noqa: S101 - a failure has one
    complain(f"{invoked.record.atom}: {f'{error.code}: ' if error.code else ''}{error.message}")
    told = {"kind": error.kind, "code": error.code, "message": error.message}
    rest = {} if invoked.output is None else {"result": invoked.output}
    return {"error": told, **rest, "metadata": metadata(invoked.record)}


def say(said: str) -> None:
    """What an atom wrote for people, on stderr."""
    from keisei.records.problem import printable

    for each in said.splitlines():
        click.echo(printable(each), err=True)


def line(value: object) -> None:
    """One JSON value on one line, at once."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False) + "\n")
    sys.stdout.flush()
