"""The repository around a folder: which commit it stands on, and whether anything in it is uncommitted."""

import os
import subprocess
from pathlib import Path
from typing import Final

from keisei.records.bundle import BundleWorkspace

PATIENCE_S: Final = 20.0
PLAIN: Final = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "core.untrackedCache=false")
"""Nothing that a repository's configuration could have started here."""
HASHES: Final = (40, 64)


def base_of(folder: Path) -> BundleWorkspace | None:
    """The repository around a folder as it is now; None where there is none, no commit, or no git. Never raises."""
    commit = _asked(folder, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
    if commit is None or len(commit.strip()) not in HASHES:
        return None
    changed = _asked(folder, "status", "--porcelain", "--untracked-files=normal", "--ignore-submodules=all")
    return BundleWorkspace(commit=commit.strip(), dirty=changed is None or bool(changed.strip()))


def _asked(folder: Path, *words: str) -> str | None:
    env = {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": "/nonexistent",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "LC_ALL": "C.UTF-8",
    }
    try:
        done = subprocess.run(  # noqa: S603 - git, with words of ours
            ["git", "-C", str(folder), *PLAIN, *words],  # noqa: S607 - the one on the PATH
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PATIENCE_S,
            check=False,
        )
    except (OSError, subprocess.SubprocessError, ValueError):
        return None
    return done.stdout.decode("utf-8", "replace") if done.returncode == 0 else None
