"""Programs in confinement, for the tests of this room."""

import os
from pathlib import Path

import pytest
from msgspec import structs

from keisei.records.confinement import Confinement, Machine
from keisei.records.launch import Exit, Launch
from keisei.sandbox.confine import confine, level_of
from keisei.sandbox.machine import probe
from keisei.sandbox.process import run
from keisei.sandbox.reach import interpreter, interpreter_reads

MACHINE = probe()
NOTHING = Machine(bwrap=None, landlock=0, seccomp=False)
"""A machine without any layer: the control of every test that something is refused."""
ALONE = structs.replace(MACHINE, bwrap=None)

full = pytest.mark.skipif(level_of(MACHINE) != "full", reason=f"not on this machine: {'; '.join(MACHINE.faults)}")
landlock = pytest.mark.skipif(level_of(ALONE) != "landlock", reason="this kernel's Landlock does not hold a tree alone")
FULL = pytest.param(MACHINE, id="full", marks=full)
LANDLOCK = pytest.param(ALONE, id="landlock", marks=landlock)
LEVELS = pytest.mark.parametrize("machine", [FULL, LANDLOCK])


class Cell:
    """A worktree with one folder that may be written, beside things nobody inside has any business with."""

    def __init__(self, root: Path) -> None:
        self.root = Path(os.path.realpath(root)) / "a wörk tree"
        self.src, self.outside = self.root / "src", self.root.parent / "outside"
        for folder in (self.src, self.outside):
            folder.mkdir(parents=True)
        self.secret = self.outside / "secret"
        self.secret.write_text("SECRET")

    def confinement(self, **changes) -> Confinement:
        return structs.replace(
            Confinement(read=(str(self.root), *interpreter_reads()), write=(str(self.src),)), **changes
        )

    def run(self, machine: Machine, *argv: str, keeper=False, stdin=None, env=None, **changes) -> Exit:
        """Run a program at the worktree's root."""
        env = {"PATH": "/usr/local/bin:/usr/bin:/bin"} if env is None else env
        launch = Launch(argv=argv, cwd=str(self.root), env=env, stdin=stdin, timeout_s=60)
        held = confine(launch, self.confinement(**changes), machine, accept="none")
        try:
            return run(held.launch, keeper=keeper)
        finally:
            held.close()

    def shell(self, machine: Machine, script: str, *words: str, **changes) -> Exit:
        return self.run(machine, "sh", "-c", script, "sh", *words, **changes)

    def python(self, machine: Machine, script: str, *words: str, **changes) -> Exit:
        return self.run(machine, interpreter()[0], "-I", "-S", "-c", script, *words, **changes)
