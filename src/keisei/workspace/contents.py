"""Contents: what objects of a repository hold, told by one process that is asked by whole names of objects only.

A path is looked up in the trees themselves: a name that an agent chose never goes into a line that git reads or echoes.
"""

import os
import re
import select
import signal
import subprocess
import time
from contextlib import suppress
from threading import Lock
from types import TracebackType
from typing import IO, Final, Self

from keisei.records.error import WorldFault
from keisei.workspace.git import QUIET, SWITCHED_OFF, program

OBJECT: Final = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
SWITCHES: Final = tuple(word for key, value in SWITCHED_OFF.items() for word in ("-c", f"{key}={value}"))
PATIENCE_S: Final = 60.0
"""How long one answer may take."""
PIECE: Final = 1_048_576
LONGEST_LINE: Final = 4096
LARGEST_TREE: Final = 268_435_456
ESCAPED: Final = re.compile(rb"\\(?:\\|x([0-9a-f]{2}))")
"""What `name.spelled` writes for a backslash, and for a byte that is not UTF-8."""

Tree = dict[bytes, str]
"""Names of one folder, each with its object."""


class BlobReader:
    """The contents of one repository. Any number of threads may ask; the process is started when first asked."""

    def __init__(self, common_dir: str, patience_s: float = PATIENCE_S) -> None:
        """Name the repository's git folder, and how long one answer may take."""
        self._common_dir = common_dir
        self._patience_s = patience_s
        self._talk: _Talk | None = None
        self._turn = Lock()
        self._trees: dict[str, Tree | None] = {}

    def __enter__(self) -> Self:
        """Give it for a while."""
        return self

    def __exit__(self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None) -> None:
        """Close it."""
        self.close()

    def read(self, blob: str, most: int) -> bytes | None:
        """What a blob holds; None where it is not there, is no blob, or holds more than `most` bytes.

        Raises WorldFault where git fails or does not answer in time; the next question may do better.
        """
        with self._turn:
            return self._content(blob, "blob", most)

    def is_at(self, commit: str, path: str) -> bool:
        """Whether a commit has a file or a folder under exactly this path, spelled as in a Change. Raises WorldFault.

        A commit that is not there has none.
        """
        with self._turn:
            parts = _unspelled(path).split(b"/")
            found: str | None = f"{commit}^{{tree}}" if OBJECT.fullmatch(commit) else None
            for part in parts:
                found = (self._tree(found) or {}).get(part) if found is not None else None
            return found is not None

    def close(self) -> None:
        """End the process. Safe to say twice; whoever asks again starts another."""
        with self._turn:
            self._end()

    def _tree(self, name: str) -> Tree | None:
        if name not in self._trees:
            held = self._content(name, "tree", LARGEST_TREE)
            self._trees[name] = None if held is None else _entries(held, len(name.partition("^")[0]) // 2)
        return self._trees[name]

    def _content(self, name: str, kind: str, most: int) -> bytes | None:
        if OBJECT.fullmatch(name.removesuffix("^{tree}")) is None:
            return None
        try:
            return self._asked(name, kind, most)
        except BaseException:
            self._end()  # what it says next would answer this question
            raise

    def _asked(self, name: str, kind: str, most: int) -> bytes | None:
        if self._talk is None:
            self._talk = _Talk(self._common_dir)
        deadline = time.monotonic() + self._patience_s
        facts = self._talk.line(f"info {name}\n", deadline)
        if len(facts) != 3 or facts[1] != kind or int(facts[2]) > most:  # noqa: PLR2004 - a name, a kind, a size
            return None
        self._talk.line(f"contents {facts[0]}\n", deadline)
        return self._talk.exactly(int(facts[2]) + 1, deadline)[:-1]

    def _end(self) -> None:
        talk, self._talk = self._talk, None
        if talk is not None:
            talk.end()


class _Talk:
    """One `cat-file` process, and what it has said that nobody took yet."""

    def __init__(self, common_dir: str) -> None:
        git, path = program()
        env = {"PATH": path, **QUIET, "GIT_DIR": common_dir}
        try:
            self._program = subprocess.Popen(  # noqa: S603 - words of ours
                [git, *SWITCHES, "cat-file", "--batch-command"],
                env=env,
                cwd=common_dir,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                bufsize=0,
            )
        except OSError as error:
            raise WorldFault(f"`{git}` cannot be started: {error}", retryable=True) from error
        self._heard = bytearray()

    def line(self, question: str, deadline: float) -> list[str]:
        """The words of the line that answers a question, which is shorter than any pipe. Raises WorldFault."""
        try:
            _pipe(self._program.stdin).write(question.encode("ascii"))
        except OSError as error:
            raise _gone() from error
        while (end := self._heard.find(b"\n")) < 0:
            self._hear(deadline)
            if len(self._heard) > LONGEST_LINE and b"\n" not in self._heard:
                raise _gone()
        words = self._heard[:end].decode("ascii", "replace").split(" ")
        del self._heard[: end + 1]
        return words

    def exactly(self, size: int, deadline: float) -> bytes:
        """So many bytes. Raises WorldFault."""
        while len(self._heard) < size:
            self._hear(deadline)
        taken = bytes(self._heard[:size])
        del self._heard[:size]
        return taken

    def end(self) -> None:
        """End the process, where it still runs."""
        with self._program, suppress(ProcessLookupError, PermissionError):
            os.killpg(self._program.pid, signal.SIGKILL)

    def _hear(self, deadline: float) -> None:
        source = _pipe(self._program.stdout).fileno()
        waiting = select.poll()
        waiting.register(source, select.POLLIN)
        if not waiting.poll(max(0.0, deadline - time.monotonic()) * 1000):
            raise WorldFault("git cat-file did not answer in time", "the disk may be slow", retryable=True)
        piece = os.read(source, PIECE)
        if not piece:
            raise _gone()
        self._heard += piece


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    if pipe is None:
        raise _gone()
    return pipe


def _gone() -> WorldFault:
    return WorldFault("git cat-file ended early", "look at the repository with `git fsck`", retryable=True)


def _entries(held: bytes, width: int) -> Tree:
    """The names of a tree. Each is a mode, a space, the name, a NUL, and the object's bytes. Raises WorldFault."""
    found: Tree = {}
    at = 0
    while at < len(held):
        end, space = held.find(b"\0", at), held.find(b" ", at)
        if not at < space < end <= len(held) - width - 1:
            raise WorldFault("a tree of the repository is broken", "look at the repository with `git fsck`")
        name = held[space + 1 : end]
        at = end + 1 + width
        found[name] = held[end + 1 : at].hex()
    return found


def _unspelled(path: str) -> bytes:
    """The bytes of a path that `name.spelled` made text."""
    text = path.encode("utf-8", "surrogatepass")
    return ESCAPED.sub(lambda found: b"\\" if found[1] is None else bytes.fromhex(found[1].decode("ascii")), text)
