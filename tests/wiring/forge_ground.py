"""A project with a forge, on a path with a space, and its tree as bytes and modes."""

import os
import signal
import stat
from functools import wraps
from itertools import count

from keisei.records.draft import AtomDraft, EffectDraft, ErrorDraft, SchemaDraft, SchemaRow
from keisei.settings import read_settings
from keisei.wiring import forge as forge_module
from keisei.wiring.forge import Forge
from keisei.wiring.forge_receipt import Receipts

STEPS = ("link", "rename", "replace", "fsync", "unlink", "rmdir", "mkdir", "fchmod")
"""Calls between which somebody may be killed."""
COUNT = AtomDraft(
    package="kei-note",
    verb="count",
    kind="transform",
    description="Counts words.",
    input=SchemaDraft(rows=(SchemaRow(name="text", example="a b"),)),
    output=SchemaDraft(rows=(SchemaRow(name="words", type="integer", minimum=0, example=2),)),
    code='def run(input, context):\n    return {"words": len(input["text"].split())}\n',
)
SAVE = AtomDraft(
    package="kei-note",
    verb="save-it",
    kind="command",
    description="Keeps a text.",
    effects=(EffectDraft(op="write", domain="kei-task-db"),),
    errors=(ErrorDraft(code="Full", http_analog=507, description="there is no room"),),
)


class Ground:
    """A project."""

    def __init__(self, folder):
        self.root, self.state = folder / "a project", folder / "the state"
        self.root.mkdir()
        (self.root / "keisei.toml").write_text('[project]\nname = "house"\n')
        self.env = {"HOME": str(folder), "KEISEI_HOME": str(self.state), "PATH": os.environ["PATH"]}
        self.packages = self.root / ".keisei" / "primitives"

    def forge(self, **more):
        return Forge(read_settings(self.env), start=self.root, **more)

    def tree(self):
        """Every file with its bytes and its mode; folders and symlinks too, hidden ones as well."""
        found = {}
        for path in sorted(self.root.rglob("*")):
            if "__pycache__" in path.parts:
                continue
            content = str(path.readlink()) if path.is_symlink() else path.read_bytes() if path.is_file() else None
            found[str(path.relative_to(self.root))] = (content, stat.S_IMODE(path.lstat().st_mode))
        return found

    def slips(self):
        return sorted(self.state.glob("house/forge/*.json"))


def unchecked(*_):
    """No postconditions: who is killed does not get there."""
    return ()


def killed_at_each_step(work):
    """Do it in a child that is killed before its first step, its second, and so on; yields each, until one ends."""
    for step in count():
        pid = os.fork()
        if pid == 0:
            _die_at(step)
            try:
                work()
            finally:
                os._exit(0)
        status = os.waitpid(pid, 0)[1]
        yield step
        if not os.WIFSIGNALED(status):
            return


def _die_at(step):
    """Let this process be killed instead of making the step of that number; what comes before a receipt is none."""
    forge_module.postconditions = unchecked
    seen, save = count(), Receipts.save

    def begun(*given):
        if not hasattr(os.link, "__wrapped__"):
            for name in STEPS:
                setattr(os, name, _counted(getattr(os, name), seen, step))
        return save(*given)

    Receipts.save = begun


def _counted(call, seen, step):
    @wraps(call)
    def counted(*given, **more):
        if next(seen) == step:
            os.kill(os.getpid(), signal.SIGKILL)
        return call(*given, **more)

    return counted
