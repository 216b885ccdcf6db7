"""The child: a real process that answers whatever it is given."""

import json
import subprocess
import sys
from base64 import b64encode

import msgspec
import pytest

from keisei.records.verification import Function, Outline

COMMAND = [sys.executable, "-I", "-X", "utf8", "-m", "keisei.grammar"]


def asked(*files):
    """What the child says of files."""
    sent = json.dumps([{"path": path, "data": b64encode(data).decode()} for path, data in files])
    done = subprocess.run(COMMAND, input=sent.encode(), capture_output=True, check=True, timeout=120)
    assert done.stderr == b""
    return msgspec.json.decode(done.stdout, type=list[Outline])


def test_one_outline_each_in_order():
    told = asked(("a.py", b"def f(): pass\n"), ("a.kt", b"x\n"), ("b.rs", b"fn g() {\n}\n"), ("c.py", b"def (\n"))

    assert told == [
        Outline(language="python", lines=1, functions=(Function(name="f", start=1, end=1),)),
        Outline(language=None, lines=1),
        Outline(language="rust", lines=2, functions=(Function(name="g", start=1, end=2),)),
        Outline(language="python", lines=1, fault="a syntax error at line 1"),
    ]


def test_nothing_asked_is_nothing_told():
    assert asked() == []


@pytest.mark.parametrize(
    "sent",
    [b"", b"{}", b"[1]", b'[{"path": "a.py"}]', b'[{"path": "a", "data": "?"}]', b"\xff", b"[" * 100_000],
)
def test_what_is_no_list_of_files_is_one_sentence(sent):
    done = subprocess.run(COMMAND, input=sent, capture_output=True, check=False, timeout=60)

    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr.startswith(b"keisei.grammar: stdin is no list of files: ")
    assert done.stderr.count(b"\n") == 1


def test_a_file_that_takes_too_long_costs_nobody_else_the_answer():
    slow = b"def a; " * 200_000

    first, stuck, last = asked(("a.py", b"def f(): pass\n"), ("b.py", slow), ("c.py", b"def g(): pass\n"))

    assert [each.name for each in first.functions + last.functions] == ["f", "g"]
    assert stuck == Outline(language="python", lines=1, fault="parsing takes longer than 2 s")


def test_a_file_that_eats_memory_costs_nobody_else_the_answer():
    greedy, last = asked(("a.cpp", b"a<" * 700_000), ("c.py", b"def g(): pass\n"))

    assert greedy.fault in {"the parser broke down on it", "parsing takes longer than 2 s"}
    assert last.fault is None


@pytest.mark.parametrize("path", ["a.py", "a.js", "a.cpp", "a.rb"])
def test_a_hundred_thousand_parentheses_end_no_child(path):
    nested, last = asked((path, b"(" * 100_000 + b")" * 100_000), ("c.py", b"def g(): pass\n"))

    assert nested.lines == 1
    assert last.fault is None


def test_a_machine_that_starts_no_worker_is_one_sentence():
    code = """
import os, runpy
def fork():
    raise BlockingIOError(11, "Resource temporarily unavailable")
os.fork = fork
runpy.run_module("keisei.grammar", run_name="__main__")
"""

    done = subprocess.run(
        [*COMMAND[:-2], "-c", code],
        input=b'[{"path": "a.py", "data": ""}]',
        capture_output=True,
        check=False,
        timeout=60,
    )

    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr.startswith(b"keisei.grammar: no worker can be started: ")
    assert done.stderr.count(b"\n") == 1
