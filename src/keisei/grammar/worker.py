"""Workers: parsers written in C, each in a process that may die of what it reads.

Hostile files of 2 MB were seen to take a parser more than 6 s, others 2.2 GB. The library's own way to stop it
(`progress_callback`) crashes in tree-sitter 0.25.2. So a timer of the kernel ends the process, a limit of the kernel
bounds its memory, and what was read before is kept.
"""

import os
import resource
import signal
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

import msgspec

from keisei.grammar.language import count_lines, language_of
from keisei.grammar.outline import outline
from keisei.records.verification import Outline

CPU_S: Final = 2.0
"""Seconds of processor time for one file; waiting for a busy machine does not count."""
MEMORY: Final = 1 << 30
"""Bytes of address space for one worker."""
SIZE: Final = 4
"""Bytes that say how long an answer is."""


def outlines(files: Sequence[tuple[str, bytes]]) -> list[Outline]:
    """One outline each, in order. A file that ends its worker gets a fault, and the rest a new worker."""
    told: list[Outline] = []
    while len(told) < len(files):
        rest = files[len(told) :]
        answers, status = _ask(rest)
        told += answers
        if len(answers) < len(rest):
            path, data = rest[len(answers)]
            told.append(Outline(language=language_of(path, data), lines=count_lines(data), fault=_why(status)))
    return told


def _why(status: int) -> str:
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGPROF:
        return f"parsing takes longer than {CPU_S:g} s"
    return "the parser broke down on it"


def _ask(files: Sequence[tuple[str, bytes]]) -> tuple[list[Outline], int]:
    """The answers of one worker, as far as it came, and how it ended."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        _work(files, writer)
    os.close(writer)
    with os.fdopen(reader, "rb") as stream:
        said = stream.read()
    _, status = os.waitpid(pid, 0)
    return _answers(said), status


def _answers(said: bytes) -> list[Outline]:
    found, at = [], 0
    while at + SIZE <= len(said):
        end = at + SIZE + int.from_bytes(said[at : at + SIZE], "big")
        if end > len(said):
            break
        found.append(msgspec.msgpack.decode(said[at + SIZE : end], type=Outline))
        at = end
    return found


def _work(files: Sequence[tuple[str, bytes]], writer: int) -> None:
    """Answer file by file; never returns."""
    try:
        _bound()
        with os.fdopen(writer, "wb") as stream:
            for path, data in files:
                signal.setitimer(signal.ITIMER_PROF, CPU_S)
                answer = msgspec.msgpack.encode(outline(path, data))
                stream.write(len(answer).to_bytes(SIZE, "big") + answer)
                stream.flush()
    finally:
        os._exit(0)


def _bound() -> None:
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    for limit, most in ((resource.RLIMIT_AS, MEMORY), (resource.RLIMIT_CORE, 0)):
        _, hard = resource.getrlimit(limit)
        with suppress(OSError, ValueError):  # a system that does not know the limit
            resource.setrlimit(limit, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))
