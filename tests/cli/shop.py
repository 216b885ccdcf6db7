"""A project with a store, as an operator has it at a terminal: commands, a runner, and what they say without ids."""

import json
import os
import re
import shutil
import subprocess
import tempfile
import threading
import time
from contextlib import contextmanager
from pathlib import Path

from keisei.settings import read_settings
from keisei.wiring.hall import project_shop, runner_options, shop_runner
from keisei.wiring.store import open_home_store, project_home
from keisei.wiring.warm import warm
from tests.cli.shell import BIN

ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}")
TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?Z")
PROJECT = '[project]\nname = "shop"\n\n[runner]\nretry-first-s = 0.0\nretry-cap-s = 0.0\n'
ANSWERING = """\
task_type = "answering"
description = "Completes by an answer."
payload_schema_id = "schemas/any.json"
default_profile_id = "script"
default_adapter_id = "script"
"""
PATIENCE_S = 60


class Shop:
    """The project `shop`."""

    def __init__(self, shell):
        self.shell = shell
        self._sockets = Path(tempfile.mkdtemp(prefix="ks-", dir="/tmp"))  # a socket's path must be short
        for name in [name for name in os.environ if name.startswith(("KEI_", "KEISEI_"))]:
            shell._monkeypatch.delenv(name)
        shell.setenv("XDG_RUNTIME_DIR", self._sockets)
        shell.setenv("XDG_STATE_HOME", shell.home / "state")
        self.state = shell.home / "state/keisei/shop"
        self.folder = shell.folder_of("shop")
        (self.folder / "keisei.toml").write_text(PROJECT)
        shell.cd(self.folder)

    def run(self, *words):
        """A command, in this process."""
        return self.shell.run(*words)

    def out(self, *words):
        """What a command says that does as it is told."""
        done = self.run(*words)
        assert (done.code, done.err) == (0, ""), done
        return done.out

    def json(self, *words):
        return json.loads(self.out(*words, "--json"))

    def add(self, script, **intent):
        """Queue a shell script; its id."""
        data = {"task_type": "script", "source": "test", "payload": {"args": ["-c", script]}} | intent
        return self.out("task", "add", "--intent", json.dumps(data)).split()[0]

    def work(self):
        """Run until nothing can be claimed."""
        return self.out("runner", "--until-idle")

    def task(self, task_id):
        return self.json("task", "show", task_id)["task"]

    def attempt(self, task_id):
        """The id of the newest attempt."""
        return self.json("attempt", "list", task_id)[-1]["attempt_id"]

    def answering(self):
        """A task type that completes by an answer and takes any payload."""
        types = self.folder / ".keisei/task-types"
        (types / "schemas").mkdir(parents=True)
        (types / "answering.toml").write_text(ANSWERING)
        (types / "schemas/any.json").write_text('{"type": "object"}')

    @contextmanager
    def start(self, *words, **options):
        """A command in a process of its own; it is ended with the block."""
        process = subprocess.Popen(
            [BIN / "keisei", *map(str, words)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            bufsize=1,
            env=os.environ | {"PYTHONUNBUFFERED": "1"},
            **options,
        )
        try:
            yield process
        finally:
            process.kill()
            process.wait()
            process.stdout.close()

    @contextmanager
    def runner(self):
        """A runner in a thread of this process."""
        settings = read_settings()
        home = project_home(settings, self.folder)
        store = open_home_store(settings, home)
        warm()
        shop = project_shop(settings, home, store)
        runner = shop_runner(
            shop, runner_options(shop.runner, jobs=2, once=False, until_idle=False), lambda _line: None
        )
        thread = threading.Thread(target=runner.run)
        thread.start()
        try:
            yield runner
        finally:
            runner.stop()
            runner.stop()
            thread.join()
            store.close()

    def close(self):
        shutil.rmtree(self._sockets)


def lines_until(process, word):
    """What a process says, up to the first line with that word."""
    lines = []
    for line in process.stdout:
        lines.append(line.rstrip("\n"))
        if word in line:
            return lines
    raise AssertionError(f"`{word}` never came, but {lines}")


def eventually(holds):
    """Wait until it holds."""
    until = time.monotonic() + PATIENCE_S
    while not (found := holds()):
        assert time.monotonic() < until
        time.sleep(0.02)
    return found


def bare(text):
    """The text with ids numbered as they come, times left out, and blanks as one."""
    ids = {each: f"<{number}>" for number, each in enumerate(dict.fromkeys(ID.findall(text)), start=1)}
    text = ID.sub(lambda match: ids[match[0]], TIME.sub("<time>", text))
    return [" ".join(line.split()) for line in text.splitlines()]
