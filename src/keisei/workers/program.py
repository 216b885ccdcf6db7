"""Programs: an atom of any language, answering `<program> run-atom <verb>`. A process a call."""

import json
import re
import time
from contextlib import suppress
from typing import Any, Final

import msgspec

from keisei.records.atom_spec import AtomSpec
from keisei.records.invocation import Answer, CallOrder
from keisei.records.launch import Exit, Launch
from keisei.rules.invocation import EXIT
from keisei.workers import answer
from keisei.workers.frame import Inbox
from keisei.workers.held import Held
from keisei.workers.process import Process, Starter, kill

_TURN_S: Final = 60.0
_CODED: Final = re.compile(r"^([A-Z][A-Za-z0-9]{0,63}): (.*)$", re.MULTILINE)
_LINE: Final = 16_384
_JSON: Final = msgspec.json.Decoder()


class Program(Held):
    """One program at one call. Used by one thread."""

    def __init__(self, order: CallOrder, cap: int) -> None:
        """Nothing is started yet."""
        super().__init__(Inbox(cap))
        self._order, self._spec = order, order.spec

    def start(self, program: str, data: bytes, open_process: Starter, grace_s: float) -> Process:
        """Start it with its input. Raises WorldFault."""
        order = self._order
        deadline = repr(time.time() + order.timeout_s)
        launch = Launch(
            argv=(program, "run-atom", order.spec.verb),
            cwd=order.cwd,
            env={**order.env, "KEISEI_INVOCATION_ID": order.invocation_id, "KEISEI_DEADLINE": deadline},
            stdin=data,
            timeout_s=order.timeout_s,
            output_cap=0,
            grace_s=grace_s,
        )
        self._process = open_process(launch, on_output=self._inbox.hear)
        return self._process

    def run(self) -> Answer:
        """Drive it to its end, its deadline or its cap, and read its answer."""
        while not self._inbox.flooded and self.process.pump(_TURN_S):
            pass
        end = self._finish()
        return self._failed(end) or self._output()

    def take(self) -> tuple[Any] | None:
        """The next item of a stream, in a tuple; None where there is no further one: then `told`.

        Raises MsgspecError, UnicodeDecodeError or RecursionError where a line is no JSON: then `unfit`.
        """
        line = self._line()
        while line is not None and not line.strip():
            line = self._line()
        return None if line is None else (_JSON.decode(line),)

    def told(self, count: int) -> Answer:
        """How a stream ended that came to its end."""
        return self._failed(self._finish()) or Answer(output=count, said=self._inbox.said)

    def unfit(self) -> Answer:
        """A line of a stream is no JSON: it is ended."""
        self.end()
        return answer.unfit(self._spec, "an item is no JSON", self._inbox.said)

    def _line(self) -> bytes | None:
        """The next line, the last one with or without its end. None at the end, also where it was ended."""
        line = self._inbox.take()
        while line is None:
            if self._inbox.flooded or not self.process.pump(_TURN_S):
                end = self._finish()
                if self._inbox.flooded or end.timed_out or end.canceled:
                    return None
                line = self._inbox.take()
                return (self._inbox.take_rest() or None) if line is None else line
            line = self._inbox.take()
        return line

    def _finish(self) -> Exit:
        if self._end is None:
            self._end = kill(self.process) if self._inbox.flooded else self.process.wait()
        return self._end

    def _failed(self, end: Exit) -> Answer | None:
        said = self._inbox.said
        if self._inbox.flooded:
            return answer.flooded(self._spec, self._inbox.flooded, said)
        if end.timed_out:
            return answer.late(self._spec, self._order.timeout_s, said)
        if end.canceled:
            return answer.canceled(self._spec, said)
        if end.code is None:
            return answer.gone(self._spec, end, said)
        return None if end.code == 0 else _exited(self._spec, end.code, said, self._inbox.take_rest())

    def _output(self) -> Answer:
        text, said = self._inbox.take_rest(), self._inbox.said
        if not text.strip():
            return answer.unfit(self._spec, "it wrote nothing on standard output", said)
        try:
            return Answer(output=_JSON.decode(text), said=said)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            return answer.unfit(self._spec, f"what it wrote on standard output is no JSON: {error}", said)
        except RecursionError:
            return answer.unfit(self._spec, "what it wrote on standard output is nested too deeply", said)


def _exited(spec: AtomSpec, code: int, said: str, text: bytes) -> Answer:
    """What an exit code other than 0 says."""
    if code == EXIT["atom"]:
        own, message = _own_error(said, text)
        return answer.own_error(own, message, said)
    line = _first_line(said)
    if code == EXIT["io"]:
        return answer.failure("io", f"{spec.id}: {line or 'its program failed and did not say why'}", said)
    return answer.failure(
        "io", f"the program of {spec.id} ended with exit code {code}" + (f": {line}" if line else ""), said
    )


def _own_error(said: str, text: bytes) -> tuple[str | None, str]:
    """The code and the message of an atom error: as JSON on either stream, or as a line `Code: message`."""
    for candidate in (said.strip(), text.strip()):
        if candidate[:1] in {"{", b"{"}:
            with suppress(msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
                return _json_error(_JSON.decode(candidate))
    if found := _CODED.search(said):
        return found[1], answer.cut(found[2].strip(), _LINE)
    return None, _first_line(said)


def _json_error(told: Any) -> tuple[str | None, str]:  # noqa: ANN401 - any JSON
    error = told.get("error") if isinstance(told, dict) else None
    if not isinstance(error, dict):
        raise msgspec.DecodeError("no error in it")
    code, message = error.get("code"), error.get("message")
    known = isinstance(code, str) and _CODED.match(f"{code}: ") is not None
    return (str(code) if known else None), message if isinstance(message, str) else answer.cut(json.dumps(error), _LINE)


def _first_line(said: str) -> str:
    return next((answer.cut(line.strip(), _LINE) for line in said.splitlines() if line.strip()), "")
