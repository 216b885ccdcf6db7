"""`kei-runtime invoke` and `keisei atom invoke`: one atom, called once, and what came of it as JSON."""

import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from keisei.cli.desk import actor, refusing
from keisei.cli.json_input import NotJson, json_of
from keisei.cli.surroundings import kit_root_option, root_option, settings
from keisei.records.error import KeiseiError, MissingAtom, OperatorError

if TYPE_CHECKING:
    from keisei.engine.invoke import InvokeOrder
    from keisei.records.invocation import InvocationRecord, Invoked
    from keisei.wiring.atom_runtime import AtomRuntime

Heard = Callable[..., object]
"""What is called when a signal comes."""
USAGE, UNKNOWN = 1, 2
"""The exit codes for an input that is no JSON, and for an atom that nobody has."""
READER_S = 5.0
"""How long whoever reads our output may take once we were asked to end: longer than an atom has to clean up."""


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

    try:
        value = input_of(given)
    except OperatorError as error:
        return _misused(error, USAGE)
    with refusing(), open_runtime(settings(), actor=actor(), roots=roots, kit_root=kit_root) as runtime:
        try:
            order = _order(runtime, atom_id, value, timeout_ms)
        except MissingAtom as error:
            return _misused(error, UNKNOWN)
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
    """The call. An atom that nobody has is told, and exits 2. Raises AuthorError for one whose files are broken."""
    from keisei.cli.door import say_error

    try:
        return _order(runtime, atom_id, value, timeout_ms)
    except MissingAtom as error:
        say_error(error)
        raise click.exceptions.Exit(UNKNOWN) from error


def _order(runtime: "AtomRuntime", atom_id: str, value: Any, timeout_ms: int | None) -> "InvokeOrder":  # noqa: ANN401
    from keisei.engine.invoke import InvokeOrder

    spec = runtime.shelf.atom(atom_id)
    return InvokeOrder(
        spec=spec, input=value, actor=runtime.actor, attempt_id=runtime.attempt_id, timeout_ms=timeout_ms
    )


def _misused(error: KeiseiError, code: int) -> int:
    """What cannot be called at all, in the envelope of a failure; there is no call, so there is no row. The code."""
    from keisei.cli.door import say_error
    from keisei.rules.invocation import shortened

    say_error(error)
    line({"error": {"kind": "usage", "code": None, "message": shortened(error.message)}})
    return code


def _call(runtime: "AtomRuntime", order: "InvokeOrder") -> int:
    from keisei.engine.invoke import invoke

    with stopping(runtime):
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
    with stopping(runtime):
        with follow(runtime.tools, order, runtime.store) as followed, suppress(KeyboardInterrupt):
            for item in followed:
                line({"item": item})
                items += 1
        invoked = followed.invoked
        say(invoked.said)
        told = {**metadata(invoked.record), "items": items}
        line({"metadata": told} if invoked.record.error is None else {**failure(invoked), "metadata": told})
    return invoked.record.exit_code


class Stop:
    """What Ctrl-C, a closed terminal and an order to end do to a call: the atom is asked to end, and its row written.

    A reader of ours who takes nothing does not hold that up for long. Said again, it is an interrupt like any other.
    """

    def __init__(self, cancel: Callable[[], None]) -> None:
        """Nobody has asked yet."""
        self._cancel, self.asked = cancel, False

    def __call__(self, *_: object) -> None:
        """A signal came."""
        import signal

        again, self.asked = self.asked, True
        self._cancel()
        if again:
            _mute()
            raise KeyboardInterrupt
        signal.setitimer(signal.ITIMER_REAL, READER_S)


def _mute(*_: object) -> None:
    """Whatever is still written to stdout goes nowhere, also what is being written just now."""
    nowhere = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
    os.dup2(nowhere, 1)
    os.close(nowhere)


@contextmanager
def stopping(runtime: "AtomRuntime") -> Iterator[None]:
    """Have signals end the call instead of this process; one that whoever started us has ignored stays ignored."""
    import signal

    stop = Stop(runtime.crew.cancel)
    with hearing(stop, {signal.SIGALRM: _mute}):
        try:
            yield
        finally:
            if stop.asked:
                signal.setitimer(signal.ITIMER_REAL, 0)


class Interrupt:
    """What a signal does to work that is not worth finishing: it ends as after Ctrl-C, and cleans up in peace."""

    def __init__(self) -> None:
        """Nobody has asked yet."""
        self._asked = False

    def __call__(self, *_: object) -> None:
        """A signal came. Raises KeyboardInterrupt, once."""
        again, self._asked = self._asked, True
        if not again:
            raise KeyboardInterrupt


@contextmanager
def hearing(stop: "Heard", others: "Mapping[int, Heard] | None" = None) -> Iterator[None]:
    """Have Ctrl-C, a closed terminal and an order to end call `stop`; `others` hear what is theirs."""
    import signal
    import threading

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    wanted = [number for number in numbers if signal.getsignal(number) != signal.SIG_IGN]  # `nohup` says: go on
    heard: dict[int, Heard] = {**dict.fromkeys(wanted, stop), **(others or {})}
    before = {number: signal.signal(number, handler) for number, handler in heard.items()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def metadata(record: "InvocationRecord") -> dict[str, Any]:
    """What is told of a call beside its result."""
    return {"duration_ms": round(record.duration_ms, 3), "atom": record.atom, "invocation_id": record.invocation_id}


def failure(invoked: "Invoked") -> dict[str, Any]:
    """The envelope of a call that failed; an output that could not be recorded is not lost."""
    from keisei.cli.door import complain

    error = invoked.record.error
    assert error is not None  # noqa: S101 - a failure has one
    who = "" if invoked.record.atom in error.message else f"{invoked.record.atom}: "
    complain(f"{who}{f'{error.code}: ' if error.code else ''}{error.message}")
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
