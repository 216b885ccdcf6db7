"""A project that is up, and browsers that come to it: `keisei up` as an operator starts it, Debian's Chromium.

The agent is the real Claude Code; its model is a script on loopback. Nothing waits for a clock: the model goes on when
it is let go on.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from keisei.testing.model import Request, ScriptedModel
from tests.system.agency import Agency, answer, git

ROOT = Path(__file__).parents[2]
AXE = ROOT / ".tools" / "web" / "node_modules" / "axe-core" / "axe.min.js"
PATIENCE_MS = 90_000
"""A busy machine is no fault."""
SAID = "console: looking around"
"""What the agent prints while somebody watches."""
REFUSED = "git push origin main"
ROLE = """
[role]
name = "lander"
description = "Edits src and runs programs; its work is verified and waits for a person."
[capabilities]
required = ["policy::no-git-ops", "scope::files-whitelist", "scope::files-denylist", "quality::check-green"]
[tools]
allowed = ["Read", "Write", "Edit", "Bash"]
bash-patterns-allowed = ['^(touch|ls|echo|cat|printf|mkdir)( |$)']
[isolation]
require = "full"
network = "none"
"""
PROJECT = "[landing]\nauto = false\nrespawn = 0\n\n[budget.day]\nmax-cost-usd = 25.0\n"
TAGS = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa")
COLOURS = ("color-contrast", "link-in-text-block")
"""The rules of axe that light and dark answer differently."""
VIOLATIONS = """
document.addEventListener("securitypolicyviolation", (event) =>
  console.error(`policy: ${event.violatedDirective} against ${event.blockedURI} ${event.sample}`));
"""


class Script:
    """What the agent does, by a word of its instruction: `watched` waits to be let go on, the others run through."""

    def __init__(self) -> None:
        self.let_go = threading.Event()
        """Set: whoever is watched goes on."""

    def __call__(self, request: Request) -> str | dict[str, Any]:
        """The next turn."""
        name = "watched" if "watched" in request.prompt else "early"
        done = len(request.results)
        commands = (f"echo '{SAID}'", REFUSED, f"printf 'a\\nb\\n' > src/{name}.txt")
        if name == "watched" and done == 1 and not self.let_go.wait(PATIENCE_MS / 1000):
            raise TimeoutError("nobody let the agent go on")
        if done < len(commands):
            return {"tool": "Bash", "input": {"command": commands[done]}}
        return answer(f"src/{name}.txt", operator_summary=f"Wrote src/{name}.txt; pushing is not mine to do.")


class House:
    """A project that is up. `url` is where, `project` its folder."""

    def __init__(self, folder: Path, model: ScriptedModel, script: Script) -> None:
        """Not up yet."""
        self.script = script
        self.agency = Agency(folder, model, project=PROJECT, files={".keisei/roles/lander.toml": ROLE})
        self.project = self.agency.root
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder / "home"),
            "KEISEI_HOME": str(folder / "state"),
            "XDG_RUNTIME_DIR": str(folder / "run"),
            "LANG": "C.UTF-8",
        }
        (folder / "home").mkdir(exist_ok=True)
        self.url = self.link = ""

    def keisei(self, *words: str) -> str:
        """Run a command in the project; what it printed."""
        argv = [sys.executable, "-I", "-m", "keisei", *words]
        done = subprocess.run(argv, cwd=self.project, env=self.env, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def queue(self, subject: str, text: str, check: str, **intent: Any) -> None:
        """Some work for an agent, queued beside the console; `check` must succeed afterwards."""
        payload = {
            "task": {"role": "lander"},
            "scope": {"files-whitelist": ["src/**"]},
            "verification": {"check": check},
            "body": {"text": text},
        }
        self.agency.add(payload=payload, subject=subject, budget={"max_cost_usd": 2.0}, **intent)

    def new_link(self, *words: str) -> str:
        """What `keisei console link` prints."""
        return self.keisei("console", "link", *words).strip()

    @contextmanager
    def up(self) -> Iterator[None]:
        """`keisei up` around it; ended as `keisei down` ends it."""
        log = self.project.parent / "up.log"
        argv = [sys.executable, "-I", "-m", "keisei", "up", "--port", "0", "--json"]
        with log.open("wb") as errors:
            process = subprocess.Popen(
                argv, cwd=self.project, env=self.env, stdout=subprocess.PIPE, stderr=errors, text=True
            )
        assert process.stdout is not None
        lines: list[str] = []
        ready = threading.Event()
        reader = threading.Thread(target=self._listen, args=(process.stdout, lines, ready))
        reader.start()
        try:
            assert ready.wait(PATIENCE_MS / 1000), f"it is not up: {''.join(lines)} {log.read_text()}"
            assert self.link, f"it ended: {''.join(lines)} {log.read_text()}"
            yield
        finally:
            self.script.let_go.set()
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(PATIENCE_MS / 1000)
            finally:
                process.kill()
                process.wait()
                reader.join()
                process.stdout.close()
        assert process.returncode == 0, "".join(lines[-20:]) + log.read_text()

    def _listen(self, stream: Any, lines: list[str], ready: threading.Event) -> None:
        for line in stream:
            lines.append(line)
            told = json.loads(line)
            if told.get("part") == "console" and told.get("event") == "ready":
                self.url, self.link = told["url"].rstrip("/"), told["link"]
                ready.set()
        ready.set()

    def head(self, path: str) -> str:
        """A file of main."""
        return git(self.project, "show", f"main:{path}")


class Faults(NamedTuple):
    """What browsers complained of."""

    told: list[str]

    def watch(self, context: BrowserContext) -> None:
        """Everything that goes wrong in any page of a context."""
        context.add_init_script(VIOLATIONS)
        context.on("console", lambda message: self._hear(message.type, message.text, message.location["url"]))
        context.on("weberror", lambda error: self.told.append(f"error {error.error}"))
        context.on("requestfailed", lambda request: self._failed(request.url, request.resource_type, request.failure))
        context.on("response", lambda response: response.status < 400 or self._answered(response))
        context.on("dialog", lambda dialog: self.told.append(f"dialog {dialog.message}") or dialog.dismiss())

    def _hear(self, kind: str, text: str, url: str) -> None:
        if kind in ("error", "warning"):
            self.told.append(f"{kind} {text} at {url}")

    def _failed(self, url: str, kind: str, why: str | None) -> None:
        # Whoever leaves a page ends its streams and what it was just asking for.
        if why != "net::ERR_ABORTED" or kind == "document":
            self.told.append(f"failed {kind} {url}: {why}")

    def _answered(self, response: Any) -> None:
        self.told.append(f"answer {response.status} {response.request.method} {response.url}")

    def forgive(self, *statuses: int) -> None:
        """These answers were wanted; the browser tells of each twice."""
        words = [f"answer {each} " for each in statuses] + [f"a status of {each} " for each in statuses]
        self.told[:] = [told for told in self.told if not any(word in told for word in words)]


@contextmanager
def open_browser() -> Iterator[Browser]:
    """Debian's Chromium. Its own sandbox is off: it cannot work as root, nor inside ours."""
    chromium = shutil.which("chromium")
    assert chromium, "Chromium is missing; `make setup-test` installs it"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def open_house(folder: Path, script: Script) -> Iterator[House]:
    """A project that is up, whose agents play a script."""
    with ScriptedModel(script) as model:
        house = House(folder, model, script)
        try:
            with house.up():
                yield house
        finally:
            house.agency.close()


def axe(page: Page, *only: str) -> list[str]:
    """What axe finds wrong with a page as it is now, by every rule of WCAG A and AA or by these only."""
    if not page.evaluate("'axe' in window"):
        assert AXE.exists(), f"{AXE} is missing: run make setup-test"
        page.evaluate(AXE.read_text(encoding="utf-8"))  # as text: the page's policy lets no script of ours in
    asked = {"type": "rule", "values": only} if only else {"type": "tag", "values": TAGS}
    found = page.evaluate("asked => axe.run(document, {runOnly: asked, resultTypes: ['violations']})", asked)
    return [
        f"{each['id']}: {each['help']}; {[node['target'] for node in each['nodes']][:4]}"
        f" {each['nodes'][0]['failureSummary']}"
        for each in found["violations"]
    ]
