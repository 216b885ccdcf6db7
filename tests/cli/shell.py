"""A shell for tests: our commands through their own doors, in this process or in one of their own."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import keisei.library.catalog
from keisei.cli import (
    kei_agent_runtime,
    kei_capability,
    kei_forge,
    kei_ledger,
    kei_migrate,
    kei_milestone,
    kei_runtime,
    kei_sage,
    kei_schema_lint,
    kei_task,
    main,
)

BIN = Path(sys.executable).parent
DOORS = {
    "keisei": main,
    "kei-agent-runtime": kei_agent_runtime,
    "kei-capability": kei_capability,
    "kei-forge": kei_forge,
    "kei-ledger": kei_ledger,
    "kei-migrate": kei_migrate,
    "kei-milestone": kei_milestone,
    "kei-runtime": kei_runtime,
    "kei-sage": kei_sage,
    "kei-schema-lint": kei_schema_lint,
    "kei-task": kei_task,
}


class Done(NamedTuple):
    """What a command left: its exit code and what it said."""

    code: int
    raw: bytes
    """stdout, byte for byte."""
    err: str

    @property
    def out(self) -> str:
        return self.raw.decode("utf-8")


class Shell:
    """Runs commands in a folder, with an environment in which nothing of the developer's own shows."""

    def __init__(self, folder, monkeypatch, capsysbinary):
        self.folder = folder
        self.home = folder / "home"
        self.home.mkdir(exist_ok=True)
        self._monkeypatch = monkeypatch
        self._capture = capsysbinary
        for name in ("KEI_KIT_ROOT", "KEI_CREATOR_ID", "NO_COLOR", "FORCE_COLOR", "COLUMNS"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("HOME", str(self.home))
        monkeypatch.setenv("XDG_CONFIG_HOME", str(self.home / ".config"))
        monkeypatch.setenv("TMPDIR", str(self.folder_of("tmp")))
        monkeypatch.setattr(tempfile, "tempdir", None)
        monkeypatch.chdir(folder)

    def folder_of(self, name):
        path = self.folder / name
        path.mkdir(parents=True, exist_ok=True)
        return path

    def cd(self, path):
        self._monkeypatch.chdir(path)

    def setenv(self, name, value):
        self._monkeypatch.setenv(name, str(value))

    def run(self, *words, command="keisei"):
        """Through the door, in this process. What is said once a process is said again."""
        self._monkeypatch.setattr(keisei.library.catalog, "_warned", set())
        self._monkeypatch.setattr(sys, "argv", [command, *map(str, words)])
        self._capture.readouterr()
        try:
            code = DOORS[command]()
        except SystemExit as exit_:
            code = exit_.code
        said = self._capture.readouterr()
        return Done(code or 0, said.out, said.err.decode("utf-8"))

    def spawn(self, *words, command="keisei", **options):
        """The real program, in a process of its own."""
        done = subprocess.run(
            [BIN / command, *map(str, words)],
            stdin=options.pop("stdin", subprocess.DEVNULL),
            stdout=options.pop("stdout", subprocess.PIPE),
            stderr=subprocess.PIPE,
            env=os.environ | options.pop("env", {}),
            timeout=30,
            check=False,
            **options,
        )
        return Done(done.returncode, done.stdout or b"", done.stderr.decode("utf-8"))
