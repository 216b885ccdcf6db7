"""A desk: a project, a home, and the files of both harnesses."""

import pytest

from keisei.adapters.hook_command import shell_form
from keisei.hooks.install import install, uninstall
from keisei.hooks.place import Around, place_of
from keisei.hooks.status import status


class Desk:
    """Somebody who installs hooks, in a project inside a temporary folder."""

    def __init__(self, folder):
        self.folder = folder
        self.home = folder / "home"
        self.project = folder / "a project"
        self.bin = folder / "bin"
        for each in (self.home, self.project / ".git", self.bin):
            each.mkdir(parents=True)
        self.environment = {}
        self.cwd = self.project
        self.program = self.bin / "kei-capability"
        self.program.write_text("#!/bin/sh\n", encoding="utf-8")
        self.program.chmod(0o755)
        self.command = shell_form([str(self.program), "check"])

    @property
    def around(self):
        return Around(self.cwd, self.home, self.environment)

    def place(self, harness="claude", scope="project"):
        return place_of(harness, scope, self.around)

    def install(self, harness="claude", scope="project", command=None):
        return install(self.place(harness, scope), command or self.command)

    def uninstall(self, harness="claude", scope="project"):
        return uninstall(self.place(harness, scope))

    def status(self, harness="claude", scope="project"):
        return status(self.place(harness, scope), self.around, str(self.program))

    def write(self, path, text):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode("utf-8"))
        return path

    def tree(self):
        """Every file with its bytes and permissions, every folder."""
        return {
            str(path.relative_to(self.folder)): (path.read_bytes() if path.is_file() else None, path.stat().st_mode)
            for path in self.folder.rglob("*")
        }


@pytest.fixture
def desk(tmp_path):
    return Desk(tmp_path)


PLACES = [(harness, scope) for harness in ("claude", "codex") for scope in ("project", "user")]


@pytest.fixture(params=PLACES, ids=" ".join)
def where(request):
    return request.param
