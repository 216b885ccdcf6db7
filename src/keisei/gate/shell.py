"""shfmt: shell text to its syntax tree, with limits of time and size, remembered by text."""

import shutil
import subprocess
import sys
import threading
from collections import OrderedDict
from pathlib import Path
from typing import Any, Final

import msgspec

from keisei.rules.shell.ground import Unreadable

TIME_LIMIT_S: Final = 0.6
SIZE_LIMIT: Final = 65536
TREE_LIMIT: Final = 32 * 1024 * 1024
REMEMBERED: Final = 512
SHORT: Final = 4096
"""Longer texts are parsed anew each time: their trees are large."""
QUICK: Final = {"GOMAXPROCS": "1", "GOGC": "off"}
"""One text needs neither threads nor a collector."""
PLACES: Final = ("Pos", "End")


class Parser:
    """The full bash grammar. Falls closed: an error, a timeout or a missing program is Unreadable."""

    def __init__(self, program: str | None = None) -> None:
        """`program` is shfmt; by default the one installed beside this interpreter, else the one on PATH."""
        self._program = program or find_shfmt()
        self._known: OrderedDict[str, dict[str, Any] | str] = OrderedDict()
        self._lock = threading.Lock()

    def parse(self, text: str) -> dict[str, Any]:
        """The syntax tree. Raises Unreadable."""
        with self._lock:
            known = self._known.get(text)
            if known is not None:
                self._known.move_to_end(text)
        if known is None:
            known = self._ask(text)
            if len(text) <= SHORT:
                self._remember(text, known)
        if isinstance(known, str):
            raise Unreadable(known)
        return known

    def _remember(self, text: str, known: dict[str, Any] | str) -> None:
        with self._lock:
            self._known[text] = known
            while len(self._known) > REMEMBERED:
                self._known.popitem(last=False)

    def _ask(self, text: str) -> dict[str, Any] | str:
        if self._program is None:
            message = "shfmt is missing"
            raise Unreadable(message)
        data = text.encode("utf-8", "surrogatepass")
        if len(data) > SIZE_LIMIT:
            return f"it is larger than {SIZE_LIMIT} bytes"
        argv = [self._program, "--to-json", "-ln", "bash", "--filename", "call.bash"]
        try:
            done = subprocess.run(  # noqa: S603 - our own parser; the text is its input
                argv, input=data, capture_output=True, timeout=TIME_LIMIT_S, check=False, env=QUICK
            )
        except subprocess.TimeoutExpired:
            message = "the parser takes too long"
            raise Unreadable(message) from None
        except OSError as error:
            message = f"the parser does not start: {error.strerror}"
            raise Unreadable(message) from error
        if done.returncode < 0:
            message = "the parser was killed"
            raise Unreadable(message)
        if done.returncode != 0:
            return f"the shell syntax is wrong: {_complaint(done.stderr)}"
        if len(done.stdout) > TREE_LIMIT:
            return "its syntax tree is too large"
        return _decoded(done.stdout)


def _complaint(stderr: bytes) -> str:
    line = stderr.decode("utf-8", "replace").strip().split("\n")[0].removeprefix("call.bash:")
    return line[:120] or "no reason was given"


def _decoded(stdout: bytes) -> dict[str, Any] | str:
    try:
        tree = msgspec.json.decode(stdout)
    except (msgspec.DecodeError, RecursionError):
        return "its syntax tree is nested too deeply"
    if not isinstance(tree, dict):
        return "the parser gives no tree"
    _without_places(tree)
    return tree


def _without_places(tree: dict[str, Any]) -> None:
    """Take out where everything stands, which nobody asks and which is more than half of a tree."""
    todo: list[Any] = [tree]
    while todo:
        node = todo.pop()
        if isinstance(node, dict):
            for key in [key for key in node if key.endswith(PLACES)]:
                del node[key]
            todo.extend(value for value in node.values() if isinstance(value, dict | list))
        else:
            todo.extend(value for value in node if isinstance(value, dict | list))


def find_shfmt() -> str | None:
    """The shfmt of this installation, else the one on PATH."""
    beside = Path(sys.executable).with_name("shfmt")
    return str(beside) if beside.is_file() else shutil.which("shfmt")
