"""The pictures of the console that the documents show: `python -m tests.system.console_pictures` takes them anew.

A house with some work in it, photographed at 1280 x 800. Somebody looks at the pictures before they are kept.
"""

import re
import sys
import tempfile
from datetime import timedelta
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, expect

from keisei.testing.model import Request
from tests.system.agency import answer
from tests.system.console_house import PATIENCE_MS, ROOT, House, Script, open_browser, open_house
from tests.system.console_png import with_palette

FOLDER = ROOT / "docs" / "pictures"
SIZE = {"width": 1280, "height": 800}
STOPPED = "Write down the words we greet with"
LANDED = "A list of greetings in other languages"
FAILED = "Make room for a list of exceptions"
RUNNING = "Name the colours of the logo"
LATER = ("Sort the words by length", "Look for words that are there twice")
DEEDS = {
    STOPPED: ("words", "git push origin main", "printf 'hello\\nworld\\n' > src/words.txt", "cat src/words.txt"),
    LANDED: ("others", "printf 'bonjour\\nhej\\n' > src/others.txt"),
    FAILED: ("exceptions", "printf '' > src/exceptions.txt"),
    RUNNING: ("colours", "ls src", "cat src/old.txt"),
}


class Play(Script):
    """What each agent does; the one that names colours is at it until it is let go."""

    def __call__(self, request: Request) -> str | dict[str, Any]:
        """The next turn."""
        subject = next(each for each in DEEDS if each in request.prompt)
        name, *commands = DEEDS[subject]
        done = len(request.results)
        if done < len(commands):
            return {"tool": "Bash", "input": {"command": commands[done]}}
        if subject == RUNNING:
            self.let_go.wait(PATIENCE_MS / 1000)
        return answer(f"src/{name}.txt", operator_summary=f"src/{name}.txt is there. Pushing is not mine to do.")


def take(folder: Path) -> None:
    """All of them, into a folder. They are made small afterwards: the agent at work has only so much time."""
    expect.set_options(timeout=PATIENCE_MS)
    with tempfile.TemporaryDirectory() as made, open_house(Path(made), Play()) as house, open_browser() as browser:
        taken = _taken(house, browser)
    for name, data in taken.items():
        small = with_palette(data)
        (folder / f"{name}.png").write_bytes(small)
        sys.stdout.write(f"{name}.png {len(small):,} bytes\n")


def _taken(house: House, browser: Browser) -> dict[str, bytes]:
    state, taken = _come_in(house, browser), {}
    for scheme in ("light", "dark"):
        context = browser.new_context(
            base_url=house.url, storage_state=state, viewport=SIZE, color_scheme=scheme, reduced_motion="reduce"
        )
        page = context.new_page()
        page.set_default_timeout(PATIENCE_MS)
        if scheme == "light":
            _work(house, page)
        for name, prepare in PICTURES[scheme].items():
            prepare(page)
            page.mouse.move(0, 0)
            taken[name] = page.screenshot(animations="disabled", caret="hide")
        context.close()
    return taken


def _come_in(house: House, browser: Browser) -> Any:
    context = browser.new_context()
    page = context.new_page()
    page.goto(house.link)
    page.wait_for_url(f"{house.url}/", timeout=PATIENCE_MS)
    return context.storage_state()


def _work(house: House, page: Page) -> None:
    """Have something of everything."""
    for subject in (LANDED, STOPPED, FAILED):
        house.queue(subject, subject, f"test -s src/{DEEDS[subject][0]}.txt")
        page.goto("/tasks")
        expect(page.get_by_role("row", name=subject)).to_contain_text(re.compile("completed|failure"))
    page.goto("/landings")
    page.get_by_role("link", name=LANDED).first.click()
    page.get_by_role("button", name="Approve").click()
    expect(page.locator("h1 .status")).to_have_text("landed")
    house.queue(RUNNING, RUNNING, "true")
    for each in LATER:
        house.queue(each, each, "true", available_at=(house.agency.store.now() + timedelta(hours=9)).isoformat())
    page.goto("/")
    page.get_by_role("link", name=RUNNING).first.click()
    expect(page.get_by_role("region", name="What the agent does")).to_contain_text("old.txt")


def _at(path: str) -> Any:
    return lambda page: page.goto(path)


def _attempt(page: Page) -> None:
    page.goto("/tasks")
    page.get_by_role("link", name=STOPPED).click()
    page.locator("a[href^='/attempts/']").first.click()
    page.wait_for_url("**/attempts/*")
    page.evaluate("document.querySelectorAll('.feed').forEach((each) => { each.scrollTop = 0; })")


def _landing(page: Page) -> None:
    page.goto("/landings")
    page.get_by_role("link", name=STOPPED).first.click()
    expect(page.locator("h1 .status")).to_have_text("held")


def _forge(page: Page) -> None:
    page.goto("/forge")
    page.get_by_label("Package", exact=True).fill("kei-words")
    page.get_by_label("Verb", exact=True).fill("count-words")
    page.get_by_label("What it does, in a sentence").fill("Counts the words of a text.")
    page.get_by_role("radio", name=re.compile("transform")).check()
    side = page.locator("#input")
    side.get_by_label("From an example").check()
    side.locator("[data-example]").fill('{"text": "one two two", "least": 1}')
    side.get_by_role("button", name="Make rows of it").click()
    expect(page.locator("[data-verdict]")).to_contain_text("would be written")
    page.get_by_role("tab", name="Page").click()
    page.evaluate("scrollTo(0, 0)")


PICTURES = {
    "light": {
        "home": _at("/"),
        "tasks": _at("/tasks"),
        "attempt": _attempt,
        "landing": _landing,
        "forge": _forge,
        "graph": _at("/graph"),
    },
    "dark": {"home-dark": _at("/"), "attempt-dark": _attempt},
}

if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    take(FOLDER)
