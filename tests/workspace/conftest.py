"""A repository as a person has one, made with nobody's configuration."""

import os
import subprocess
from pathlib import Path

import pytest

from keisei.workspace.pool import Pool
from keisei.workspace.repository import facts

CLEAN = {
    "PATH": os.environ.get("PATH", os.defpath),
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "LC_ALL": "C.UTF-8",
}
IDENTITY = ("-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "protocol.file.allow=always")


class Ground:
    """A repository, the state folder beside it, and one worktree of its pool."""

    def __init__(self, root: Path, form: str = "sha1"):
        self.root = root
        self.state = root.parent / "state" / "worktrees"
        root.mkdir(parents=True)
        self.git("init", "-q", "-b", "main", f"--object-format={form}")

    def git(self, *words, cwd=None, check=True):
        done = subprocess.run(
            ["git", "-C", str(cwd or self.root), *IDENTITY, *words], env=CLEAN, check=check, capture_output=True
        )
        return done.stdout

    def commit(self, **files):
        for name, content in files.items():
            path = self.root / name.replace("__", "/").replace("_dot_", ".")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)
        self.git("add", "--all")
        self.git("commit", "-q", "--allow-empty", "-m", "work")
        return self.git("rev-parse", "HEAD").decode().strip()

    def facts(self, main="main"):
        return facts(self.root, main)

    def pool(self, most=8):
        return Pool(self.facts(), self.state, most)

    def take(self, attempt="at-1"):
        pool = self.pool()
        return pool.take(attempt, self.facts().head)

    def show(self, commit, path):
        return self.git("show", f"{commit}:{path}")

    def listed(self, commit):
        """Paths of a commit with their modes."""
        found = {}
        for line in self.git("ls-tree", "-r", "-z", "--full-tree", commit).split(b"\0")[:-1]:
            described, path = line.split(b"\t", 1)
            found[path] = described.split(b" ")[0].decode()
        return found


@pytest.fixture
def ground(tmp_path):
    made = Ground(tmp_path / "my répo")
    made.commit(file="one\n", src__a="a\n", src__b="b\n", _dot_gitignore="*.log\nbuild/\n")
    return made
