"""A house for tests: a real project with a real store, and the application without its guard, asked as somebody."""

from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from starlette.testclient import TestClient

from keisei.console.app import application
from keisei.console.premises import Premises
from keisei.console.visitor import Visitor
from keisei.settings import read_settings

PROJECT = '[project]\nname = "house"\n'
OPERATOR = Visitor(role="operator", actor="operator:tester", csrf="form-token", session="s1")
VIEWER = Visitor(role="viewer", actor="viewer:tester", csrf="form-token", session="s2")


class House(NamedTuple):
    """A project, opened."""

    premises: Premises
    client: TestClient
    root: Path
    app: object

    @property
    def store(self):
        return self.premises.store

    def api(self, path, **query):
        """What a page's twin tells; fails for anything but success."""
        answer = self.client.get(f"/api/v1{path}", params=query)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def page(self, path):
        """The page for people; fails for anything but success."""
        answer = self.client.get(path)
        assert answer.status_code == 200, answer.text
        return answer.text

    def order(self, path, **body):
        """Order it as a program."""
        return self.client.post(f"/api/v1{path}", json=body)

    def form(self, path, **words):
        """Order it as a browser's form."""
        return self.client.post(path, data={"csrf": "form-token", **words}, follow_redirects=False)


@contextmanager
def open_house(tmp_path, *, project=PROJECT, files=(), visitor=OPERATOR, read_only=False):
    """A project in a folder; `files` are (path, text) below its root."""
    root = tmp_path / "the project"
    root.mkdir()
    (root / "keisei.toml").write_text(project)
    for name, text in files:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    surroundings = {
        "HOME": str(tmp_path / "home"),
        "KEISEI_HOME": str(tmp_path / "state"),
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
        "XDG_RUNTIME_DIR": str(tmp_path / "run"),
    }
    premises = Premises(read_settings(surroundings), root, read_only=read_only)
    app = application(premises)

    async def seen(scope, receive, send):
        if scope["type"] == "http":
            scope.setdefault("state", {})["visitor"] = visitor
        await app(scope, receive, send)

    try:
        with TestClient(seen, base_url="http://127.0.0.1:4314", raise_server_exceptions=False) as client:
            yield House(premises, client, root, app)
    finally:
        premises.close()
