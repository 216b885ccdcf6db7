"""A ground for verification: a project with a repository, and candidates that anybody may have left there."""

import os
import secrets
import subprocess
from pathlib import Path

from keisei.records.id import AttemptId
from keisei.records.task_spec import SpecTask, SpecVerification, TaskSpec
from keisei.records.verification import Planned, Said
from keisei.rules.policy import Policy
from keisei.settings import read_settings
from keisei.wiring.execute import Hold
from keisei.wiring.hall import project_shop
from keisei.wiring.store import open_home_store, project_home
from keisei.wiring.switch import Switch
from keisei.wiring.verification import Stage, Subject, verify_candidate
from keisei.workspace.stage import stage

FILES = {b"src/old.txt": "old\n", b".gitignore": "*.local\n/.venv/\n/target/\n"}


def planned(kind, rule, *, name=None, timeout_s=60.0, **more):
    """One verify."""
    return Planned(capability=name or f"test::{rule}", kind=kind, rule=rule, timeout_s=timeout_s, **more)


CHECK = planned("command", "check")
TEST = planned("command", "test")
SCOPE = planned("diff", "scope", parameters={"files-whitelist": ["src/**"]})


class Nobody:
    """There are no forks."""

    def find(self, _target):
        return None

    def has_commit(self, _commit):
        return False

    def conflicts(self, _commit):
        return None

    def has_row(self):
        return True


class Ground:
    """A project in a folder. `machine` is what confines there, by default what this machine has."""

    def __init__(self, folder: Path, *, project="", machine=None, files=None) -> None:
        self.root = folder / "project"
        self.root.mkdir()
        self.write({**FILES, **(files or {}), b"keisei.toml": f'[project]\nname = "ground"\n{project}'})
        self.git("init", "-q", "-b", "main")
        self.commit()
        (folder / "run").mkdir(mode=0o700)
        self.settings = read_settings(
            {"HOME": str(folder / "home"), "KEISEI_HOME": str(folder / "state"), "XDG_RUNTIME_DIR": str(folder / "run")}
        )
        self.home = project_home(self.settings, self.root)
        self.store = open_home_store(self.settings, self.home)
        self.shop = project_shop(self.settings, self.home, self.store, accept_weaker=True)
        self.yard = self.shop.yard
        if machine is not None:
            self.yard.__dict__["machine"] = machine

    def write(self, files) -> None:
        for name, text in files.items():
            path = Path(os.fsdecode(os.fsencode(self.root) + b"/" + name))
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def git(self, *words) -> str:
        env = {"PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
        who = ("-c", "user.name=t", "-c", "user.email=t@localhost")
        done = subprocess.run(["git", *who, *words], cwd=self.root, env=env, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    def commit(self) -> None:
        """Have main hold what lies in the checkout."""
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "main")

    def candidate(self, deed):
        """What a shell script, or a function, leaves in a worktree."""
        name, facts = f"attempt-{secrets.token_hex(4)}", self.yard.facts(looks=False)
        leased = self.yard.pool(facts).take(name, facts.head)
        try:
            if callable(deed):
                deed(Path(leased.worktree.path))
            else:
                subprocess.run(["/bin/sh", "-c", deed], cwd=leased.worktree.path, check=True)
            return name, stage(leased.worktree, name, "candidate")
        finally:
            leased.release(reusable=True)

    def verify(self, deed, *verifies, check=None, test=None):
        """Every verify asked of a candidate."""
        name, staged = self.candidate(deed)
        spec = TaskSpec(task=SpecTask(role="role"), verification=SpecVerification(check=check, test=test))
        policy = Policy(role="role", rules=(), worktree=str(self.root), verifies=verifies)
        subject = Subject(AttemptId(name), staged, policy, spec, Said(text=None), Nobody())
        hold = Hold(Switch(), lambda: 86_400.0, secrets.token_hex(16))
        return verify_candidate(Stage(self.shop, self.yard, self.yard.facts(looks=False), hold), subject)

    def close(self) -> None:
        self.store.close()
