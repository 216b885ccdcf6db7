"""Stops a program at a named function, for a test that puts this folder on PYTHONPATH. Nothing of the product knows it.

HALT says where, `module:function:before|after:n`: the n-th call of that function in this process waits there.
HALT_FOLDER says how: a file `halted` appears in it, and the call goes on when there is a file `go`.
"""

import functools
import importlib.abc
import importlib.machinery
import os
import sys
import time
from pathlib import Path


class Finder(importlib.abc.MetaPathFinder):
    """Lays the halt on its function right after the module was loaded, before anybody imports the name."""

    def __init__(self, place: str) -> None:
        self._module, self._function, self._when, count = place.split(":")
        self._left = int(count)

    def find_spec(self, name, path=None, target=None):
        if name != self._module:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        load = spec.loader.exec_module

        def loaded(module):
            load(module)
            self._lay(module)

        spec.loader.exec_module = loaded
        return spec

    def _lay(self, module):
        *owners, name = self._function.split(".")
        holder = functools.reduce(getattr, owners, module)
        real = getattr(holder, name)

        @functools.wraps(real)
        def halting(*given, **named):
            self._left -= 1
            here = self._left == 0
            if here and self._when == "before":
                halt()
            done = real(*given, **named)
            if here and self._when == "after":
                halt()
            return done

        setattr(holder, name, halting)


def halt():
    folder = Path(os.environ["HALT_FOLDER"])
    (folder / "halted").touch()
    while not (folder / "go").exists():
        time.sleep(0.01)


if "HALT" in os.environ:
    sys.meta_path.insert(0, Finder(os.environ["HALT"]))
