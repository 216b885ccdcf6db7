"""Crowds: other processes that use a store, begun as a program of their own so that a fork there is the real thing."""

import subprocess
import sys
import textwrap
from contextlib import contextmanager

PREFACE = """
import os, signal, sys
from pathlib import Path
from keisei.records.error import KeiseiError
from keisei.store import open_store
from keisei.store.clock import SystemClock
from keisei.testing.clock import VirtualClock
from keisei.testing.queue import Desk

def at_once(number, action):
    '''Fork so many, let them begin at one moment, and end with the number of those that failed.'''
    gate, opener = os.pipe()
    children = []
    for index in range(number):
        child = os.fork()
        if not child:
            os.close(opener)
            os.read(gate, 1)
            try:
                action(index)
            except BaseException as error:
                print(f"{type(error).__name__}: {error}", flush=True)
                os._exit(1)
            os._exit(0)
        children.append(child)
    os.close(opener)
    return sum(os.waitpid(child, 0)[1] != 0 for child in children)

"""


def program(code):
    """The command line of a program in which everything of a store is at hand."""
    return [sys.executable, "-c", PREFACE + textwrap.dedent(code)]


def told(code, *arguments):
    """Run it to its end, which must be a good one; what it printed."""
    done = subprocess.run([*program(code), *map(str, arguments)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@contextmanager
def running(code, *arguments):
    """Run it while the block lasts. It is killed after that."""
    with subprocess.Popen(
        [*program(code), *map(str, arguments)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()
