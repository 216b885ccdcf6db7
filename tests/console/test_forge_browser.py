"""The forge in a real browser: an atom from the empty form to its files and back, by the keyboard."""

import re
import shutil
import socket
import threading

import pytest
import uvicorn
from playwright.sync_api import expect, sync_playwright

from keisei.console.guard_header import CSP
from keisei.sandbox.confine import level_of
from keisei.sandbox.machine import probe
from tests.console.house import OPERATOR, open_house

pytestmark = pytest.mark.skipif(
    shutil.which("chromium") is None or level_of(probe()) == "none", reason="no browser, or nothing can be confined"
)


class _Server(uvicorn.Server):
    """Says when it answers."""

    def __init__(self, app):
        super().__init__(uvicorn.Config(app, log_level="critical", lifespan="off"))
        self.ready = threading.Event()

    async def startup(self, sockets=None):
        await super().startup(sockets)
        self.ready.set()


@pytest.fixture
def forge(tmp_path):
    """A page of the forge as its guard would send it, the project's folder, and what the browser complained of."""
    with open_house(tmp_path) as house, socket.socket() as line:

        async def app(scope, receive, send):
            async def dressed(message):
                if message["type"] == "http.response.start":
                    message = {**message, "headers": [*message["headers"], (b"content-security-policy", CSP.encode())]}
                await send(message)

            scope.setdefault("state", {})["visitor"] = OPERATOR
            await house.app(scope, receive, dressed)

        line.bind(("127.0.0.1", 0))
        server = _Server(app)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [line]})
        thread.start()
        assert server.ready.wait(20)
        told = []
        with sync_playwright() as play:
            browser = play.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
            page = browser.new_page(base_url=f"http://127.0.0.1:{line.getsockname()[1]}")
            page.on("console", lambda message: told.append(message.text))
            page.on("pageerror", lambda error: told.append(str(error)))
            page.goto("/forge")
            yield page, house.root, told
            browser.close()
        server.should_exit = server.force_exit = True
        thread.join()


def test_an_atom_by_the_keyboard_from_the_empty_form_to_its_files_and_back(forge):
    page, root, told = forge
    side, review = page.locator("[data-side=input]"), page.get_by_role("button", name="Review and write")
    names = side.locator("[data-field=name]")
    keys = page.keyboard

    expect(page.locator("#package")).to_be_focused()
    keys.type("kei-note")
    keys.press("Tab")
    keys.type("count words")
    expect(page.locator("[data-fault=verb]")).to_contain_text("cannot be a verb's name")
    expect(page.locator("#verb")).to_be_focused()
    keys.press("Home")
    for _ in range(5):
        keys.press("ArrowRight")
    keys.press("Delete")
    keys.type("-")  # at the caret, which no answer has moved
    expect(page.locator("#verb")).to_have_value("count-words")
    expect(review).to_be_enabled()

    side.get_by_role("button", name="Begin with these").click()
    expect(names).to_have_count(1)
    side.get_by_role("button", name="Add a row").press("Enter")
    keys.type("lang")
    keys.press("Alt+ArrowUp")
    expect(names.nth(0)).to_be_focused()
    expect(page.locator("[data-file]")).to_contain_text('"lang": {')
    names.nth(0).locator("xpath=ancestor::li[1]").locator("[data-grip]").drag_to(
        side.locator("[data-row]").nth(1), target_position={"x": 40, "y": 70}
    )
    expect(names.nth(0)).to_have_value("text")
    side.get_by_label("JSON Schema", exact=True).check()
    expect(side.locator("[data-raw]")).to_have_value(re.compile("lang"))
    side.get_by_label("Rows").check()
    expect(names.nth(1)).to_have_value("lang")
    expect(review).to_be_enabled()

    page.reload()  # nothing is lost
    expect(page.locator("[data-restored]")).to_contain_text("is here again")
    expect(names.nth(1)).to_have_value("lang")
    page.get_by_role("button", name="Try it").click()
    expect(page.locator("[data-tried]")).to_contain_text("confinement held")
    keys.press("Control+Enter")
    expect(page.get_by_role("button", name="Write 6 files")).to_be_focused()
    keys.press("Enter")
    expect(page.locator("main")).to_contain_text("is written and holds")
    assert (root / ".keisei/primitives/kei-note/atoms/count-words.md").is_file()

    page.get_by_role("button", name="Undo", exact=True).click()
    expect(page.locator("main")).to_contain_text("was taken back")
    expect(page.locator("#verb")).to_have_value("count-words")
    assert not (root / ".keisei").exists()
    assert told == []
