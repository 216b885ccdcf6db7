"""The real command, in a process of its own that sees nothing of the tester's own files."""

import os
import resource
import subprocess
import sys
from pathlib import Path


def keisei(*arguments: str | bytes, cwd: Path, memory: int | None = None) -> subprocess.CompletedProcess[str]:
    """Run `keisei`. It has 30 seconds, and as many bytes of memory as are given."""
    return subprocess.run(
        [sys.executable, "-m", "keisei", *arguments],
        cwd=cwd,
        env=surroundings(cwd),
        capture_output=True,
        encoding="utf-8",
        errors="surrogateescape",
        timeout=30,
        check=False,
        preexec_fn=(lambda: resource.setrlimit(resource.RLIMIT_AS, (memory, memory))) if memory else None,
    )


def surroundings(folder: Path) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "XDG_CONFIG_HOME": str(folder / "config"),
        "TMPDIR": str(folder),
    }
