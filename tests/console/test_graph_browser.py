"""The graph in a real browser, under the console's own policy: drawn, walked, searched, in light and dark."""

import shutil
from pathlib import Path

import pytest
from playwright.sync_api import expect, sync_playwright

from keisei.console.guard_header import CSP
from tests.console.attempts import served
from tests.console.house import open_house

AXE = Path(__file__).parents[2] / ".tools" / "web" / "node_modules" / "axe-core" / "axe.min.js"
CY = "document.querySelector('.cy')._cyreg.cy"
START = "roles/edit-local"
PATIENCE_MS = 15_000


def guarded(app):
    """The application with the policy that its guard adds."""

    async def answered(scope, receive, send):
        async def sent(message):
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], (b"content-security-policy", CSP.encode())]
            await send(message)

        await app(scope, receive, sent)

    return answered


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    with open_house(tmp_path_factory.mktemp("graph")) as house, served(house._replace(app=guarded(house.app))) as port:
        yield f"http://127.0.0.1:{port}"


@pytest.fixture(scope="module")
def opened(base):
    """A page of a browser, and all that went wrong in it. One for all: opening it is most of what a test takes."""
    chromium = shutil.which("chromium")
    assert chromium, "Chromium is missing; `make setup-test` installs it"
    wrong = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(base_url=base, reduced_motion="reduce", viewport={"width": 1280, "height": 900})
        page.set_default_timeout(PATIENCE_MS)
        page.on("console", lambda said: wrong.append(said.text) if said.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        yield page, wrong
        browser.close()


@pytest.fixture
def page(opened):
    """The page, in which nothing may go wrong."""
    page, wrong = opened
    yield page
    assert wrong == []


def click(page, name):
    """Click on what is called so, where it is drawn."""
    at = page.evaluate(f"name => {CY}.getElementById('n:' + name).renderedPosition()", name)
    box = page.locator(".cy").bounding_box()
    page.mouse.click(box["x"] + at["x"], box["y"] + at["y"])


def started(page, name):
    """Wait until the graph is that around something."""
    page.wait_for_function(f"name => {CY}.nodes('[?start]').data('name') === name", arg=name)
    expect(page.locator(".focus h2")).to_have_text(name)


def test_one_walks_and_comes_back(page):
    page.goto(f"/graph?id={START}")
    expect(page.locator(".cy canvas").first).to_be_visible()
    started(page, START)
    told = page.request.get(f"/api/v1/graph?id={START}").json()
    assert page.evaluate(f"{CY}.nodes().length") == len(told["nodes"])
    assert page.evaluate(f"{CY}.edges().length") == len(told["edges"])
    drawn = page.evaluate(f"{CY}.nodes().map(n => [n.data('name'), n.position('x'), n.position('y')])")
    assert sorted(drawn) == sorted([node["id"], node["x"], node["y"]] for node in told["nodes"])

    click(page, "policy::no-git-ops")
    page.wait_for_url("**/graph?id=policy%3A%3Ano-git-ops")
    started(page, "policy::no-git-ops")
    assert "policy::no-git-ops" in page.title()

    page.locator(".near a", has_text=START).first.click()
    started(page, START)
    page.go_back()
    started(page, "policy::no-git-ops")
    page.go_back()
    page.wait_for_url(f"**/graph?id={START}")
    started(page, START)


def test_what_is_chosen_stands_in_the_address(page):
    page.goto(f"/graph?id={START}&kinds=atom&kinds=role")
    started(page, START)
    expect(page.get_by_role("checkbox", name="capability")).not_to_be_checked()
    assert page.evaluate(f"{CY}.nodes('[kind=\"capability\"]').empty()")

    page.get_by_role("checkbox", name="capability").check()
    page.wait_for_url("**kinds=atom&kinds=capability&kinds=role")
    page.wait_for_function(f"{CY}.nodes('[kind=\"capability\"]').nonempty()")
    before = page.evaluate(f"{CY}.nodes().length")
    page.locator("[name=depth]").fill("3")
    page.wait_for_url("**depth=3*")
    page.wait_for_function(f"before => {CY}.nodes().length > before", arg=before)

    page.locator("[data-graph-find]").press_sequentially("kei-fs::re")
    assert page.evaluate(f"{CY}.nodes('.fit').length") == 0
    assert page.evaluate(f"{CY}.nodes('.unfit').length") == page.evaluate(f"{CY}.nodes().length")
    assert "q=kei-fs" in page.url
    page.locator(".finds a", has_text="kei-fs::read").first.click()
    started(page, "kei-fs::read")


def test_it_is_dark_where_that_is_wanted_and_everybody_can_use_it(page):
    page.goto(f"/graph?id={START}&depth=1")
    started(page, START)
    ink = page.evaluate(f"{CY}.nodes().first().style('color')")
    page.locator("[data-theme-switch]").click()
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    assert page.evaluate(f"{CY}.nodes().first().style('color')") != ink
    if AXE.is_file():  # where the set-up of the tests has run
        page.evaluate(AXE.read_text())
        passed, found = page.evaluate("axe.run().then(told => [told.passes.length, told.violations.map(({id}) => id)])")
        assert passed > 20
        assert found == []

    page.locator("[data-graph-fit]").focus()
    page.keyboard.press("Tab")
    expect(page.locator(".cy")).to_be_focused()
    assert page.evaluate(f"{CY}.nodes('.cursor').data('name')") == START
    page.keyboard.press("ArrowRight")
    there = page.evaluate(f"{CY}.nodes('.cursor').data()")
    assert there["name"] != START
    expect(page.locator("[data-graph-word]")).to_contain_text(there["name"])
    page.keyboard.press("Enter")
    page.wait_for_url(f"**{there['page']}")
