"""Frames: the talk with a host, a JSON line each, and what a process writes beside it."""

import json
import os
from collections import deque
from typing import Any, Final, Literal

import msgspec
from msgspec import Struct

from keisei.records.atom_spec import AtomSpec
from keisei.records.invocation import CallOrder
from keisei.workers.source import own_folder

SAID: Final = 65_536
"""How many bytes of standard error are kept: the last ones."""
NO_TEXT: Final = "\N{REPLACEMENT CHARACTER}"
SAID_CAP: Final = 67_108_864
"""How many bytes of standard error one call may write before it counts as a flood."""


class Frame(Struct, frozen=True, forbid_unknown_fields=True):
    """One line of a host."""

    kind: Literal["ready", "unready", "begun", "item", "done", "failed"]
    """What it tells."""
    id: str = ""
    """Of which call; empty for those about loading."""
    output: Any = None
    """What came out."""
    error: Literal["atom", "schema-out", "killed", "io"] = "atom"
    """Whose fault it is."""
    code: str | None = None
    """The atom's own."""
    message: str = ""
    """What went wrong."""
    spent: bool = False
    """The host says of itself that it should not be used again."""


_DECODER: Final = msgspec.json.Decoder(Frame)


class Inbox:
    """What a process wrote and nobody took yet. Bounded: past a cap everything is dropped."""

    def __init__(self, cap: int, slack: int = 0) -> None:
        """Nothing was written yet. `slack` bytes beside the cap are for what stands around an output."""
        self.flooded = 0
        """How many bytes it was allowed where it wrote more; 0 where it did not."""
        self._cap, self._slack = cap, slack
        self._lines: deque[bytes] = deque()
        self._rest = bytearray()
        self._size = 0
        self._said = bytearray()
        self._said_size = 0

    def hear(self, name: Literal["stdout", "stderr"], piece: bytes) -> None:
        """Keep a piece."""
        if name == "stderr":
            self._said_size += len(piece)
            self._said += piece
            if len(self._said) > 2 * SAID:
                del self._said[:-SAID]
            if self._said_size > SAID_CAP:
                self.flooded = self.flooded or SAID_CAP
            return
        self._size += len(piece)
        if self._size > self._cap + self._slack:
            self.flooded = self.flooded or self._cap
        if not self.flooded:
            self._split(piece)

    def take(self) -> bytes | None:
        """The next whole line, without its end; None where there is none."""
        if not self._lines:
            return None
        line = self._lines.popleft()
        self._size -= len(line) + 1
        return line

    def take_rest(self) -> bytes:
        """Everything that is left, lines and what stands behind the last of them."""
        left = b"\n".join((*self._lines, bytes(self._rest)))
        self._lines.clear()
        self._rest.clear()
        self._size = 0
        return left

    @property
    def heard(self) -> int:
        """How many bytes it wrote for people in this call."""
        return self._said_size

    @property
    def said(self) -> str:
        """The last part of what it wrote for people; where something stood before it, that is marked."""
        text = self._said[-SAID:].decode("utf-8", "replace")
        return text if self._said_size <= SAID else f"…{text.lstrip(NO_TEXT)}"

    def forget(self) -> None:
        """Begin a new call: what was said before is not said in it."""
        self._said.clear()
        self._said_size = 0

    def _split(self, piece: bytes) -> None:
        first, *more = piece.split(b"\n")
        self._rest += first
        for part in more:
            self._lines.append(bytes(self._rest))
            self._rest = bytearray(part)


def decoded(line: bytes) -> Frame | None:
    """A frame; None for what no host says. Raises RecursionError where it is nested too deeply."""
    try:
        return _DECODER.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None


def json_of(value: object) -> bytes:
    """An input on one line. Raises ValueError with one sentence for what JSON cannot carry."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode("utf-8")
    except UnicodeEncodeError:
        raise ValueError("it holds half a surrogate pair, which no JSON text can carry") from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except (TypeError, ValueError) as error:
        raise ValueError(str(error)) from None


def setup_line(spec: AtomSpec, cap: int) -> bytes:
    """Where the function is, for a host."""
    function, package = spec.function or "", spec.package
    root = package.import_root or package.folder
    inside = os.path.relpath(function, root).removesuffix(".py").replace(os.sep, ".")
    setup = {
        "atom": spec.id,
        "function": function,
        "root": root,
        "own": own_folder(package),
        "module": inside if package.import_name else None,
        "cap": cap,
    }
    return json.dumps(setup).encode() + b"\n"


def call_line(order: CallOrder, identity: str, *, stream: bool) -> bytes:
    """One call, for a host. Raises ValueError with one sentence for an input that JSON cannot carry."""
    data = json_of(order.input)
    head = {
        "id": identity,
        "invocation_id": order.invocation_id,
        "timeout_s": order.timeout_s,
        "cwd": order.cwd,
        "database": order.database,
        "stream": stream,
    }
    # Escaped, so that a folder whose name is no text comes through as well.
    return json.dumps(head).encode()[:-1] + b',"input":' + data + b"}\n"
