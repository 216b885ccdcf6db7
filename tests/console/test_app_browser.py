"""What every page has beside its HTML, in a real browser: it follows what happens, sends once, and knows the time."""

import re
import shutil
from datetime import timedelta

import pytest
from playwright.sync_api import expect, sync_playwright

from keisei.console import live
from keisei.console.live import watch_of
from keisei.records.move import NewTask
from keisei.testing.queue import new_task
from keisei.wiring import KIT
from keisei.wiring.fresh import new_id
from tests.cli.shop import eventually
from tests.console.attempts import served
from tests.console.house import open_house
from tests.console.test_graph_browser import CY, PATIENCE_MS, guarded, started

SHOW = """hidden => {
  Object.defineProperty(document, "hidden", { configurable: true, get: () => hidden });
  document.dispatchEvent(new Event("visibilitychange"));
}"""
AGAIN = """new Promise((tell) => {
  addEventListener("submit", (event) => tell(event.defaultPrevented));
  document.querySelector("form.form").requestSubmit();
})"""
"""Send a form that was sent; whether that was held back."""
HIDDEN = "Object.defineProperty(document, 'hidden', { configurable: true, get: () => true });"
ALONE = "window.setInterval = () => 0;"
"""Without what it does now and then in any case."""
OLD = "const young = performance.now.bind(performance); performance.now = () => young() + 60000;"


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patched, open_house(tmp_path_factory.mktemp("app")) as house:
        patched.setattr(live, "LOOK_S", 0.05)
        patched.setattr(live, "BEAT_S", 0.0)
        patched.setattr(live, "REST", 0)
        yield house


@pytest.fixture(scope="module")
def context(house):
    chromium = shutil.which("chromium")
    assert chromium, "Chromium is missing; `make setup-test` installs it"
    with served(house._replace(app=guarded(house.app))) as port, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        context = browser.new_context(base_url=f"http://127.0.0.1:{port}", reduced_motion="reduce")
        context.set_default_timeout(PATIENCE_MS)
        expect.set_options(timeout=PATIENCE_MS)
        yield context
        browser.close()


@pytest.fixture
def page(context, house):
    """A page that nobody has seen yet; the one before is gone."""
    page = context.new_page()
    yield page
    page.close()
    eventually(lambda: len(watch_of(house.app).audience) == 0)


def queue(house):
    """A new task, by the words of its line in the list."""
    task_id = new_id()
    house.store.enqueue([NewTask(task=new_task(task_id, house.store.now(), subject=f"It is {task_id}."))])
    return f"It is {task_id}."


def opened(page, house, address="/tasks"):
    """Look at a page, and wait until it is told of everything that happens from now on."""
    page.goto(address)
    expect(page.locator("[data-live]")).to_have_text("live")
    seen = watch_of(house.app).looks
    eventually(lambda: watch_of(house.app).looks > seen + 1)


def test_what_came_while_somebody_typed_is_shown_when_the_field_is_left(page, house):
    page.add_init_script(ALONE)
    opened(page, house)
    page.locator("main input[name=source]").fill("half a word")

    words = queue(house)

    expect(page.locator("[data-live]")).to_have_text("waits")
    expect(page.get_by_text(words)).to_have_count(0)
    page.keyboard.press("Escape")
    expect(page.get_by_text(words)).to_be_visible()
    expect(page.locator("[data-live]")).to_have_text("live")
    expect(page.locator("main input[name=source]")).to_have_value("half a word")


def test_what_came_while_an_order_was_thought_about_is_shown_when_it_is_closed(page, house):
    page.add_init_script(ALONE)
    task_id = queue(house).removeprefix("It is ").removesuffix(".")
    opened(page, house, f"/tasks/{task_id}")
    page.locator("details.careful summary").first.click()
    house.order(f"/tasks/{task_id}/cancel", reason="nobody wants it")

    expect(page.locator("[data-live]")).to_have_text("waits")
    page.locator("details.careful summary").first.click()

    expect(page.locator("main .status.operator-canceled").first).to_be_visible()


def test_a_tab_that_was_hidden_catches_up(page, house, monkeypatch):
    monkeypatch.setattr(live, "FRESH_S", -3600.0)
    page.add_init_script(ALONE)
    opened(page, house)
    page.evaluate(SHOW, arg=True)
    eventually(lambda: len(watch_of(house.app).audience) == 0)

    words = queue(house)
    page.evaluate(SHOW, arg=False)

    expect(page.get_by_text(words)).to_be_visible()


def test_a_tab_that_was_hidden_before_it_could_show_something_shows_it(page, house, monkeypatch):
    monkeypatch.setattr(live, "FRESH_S", -3600.0)
    page.clock.install()
    page.add_init_script(ALONE)
    opened(page, house)
    page.locator("main input[name=source]").focus()
    words = queue(house)
    expect(page.locator("[data-live]")).to_have_text("waits")
    page.evaluate(SHOW, arg=True)
    page.evaluate("document.activeElement.blur()")
    page.clock.run_for(3_000)
    expect(page.get_by_text(words)).to_have_count(0)

    page.evaluate(SHOW, arg=False)

    expect(page.get_by_text(words)).to_be_visible()


def test_a_tab_that_was_opened_unseen_catches_up(page, house, monkeypatch):
    monkeypatch.setattr(live, "FRESH_S", -3600.0)
    page.add_init_script(HIDDEN + OLD + ALONE)
    page.goto("/tasks")
    expect(page.locator("[data-theme-switch]")).to_be_visible()

    words = queue(house)
    page.evaluate(SHOW, arg=False)

    expect(page.get_by_text(words)).to_be_visible()


def test_a_page_that_could_not_be_had_is_asked_for_again(page, house):
    page.clock.install()
    opened(page, house)
    busy = [503, 429]
    page.route("**/tasks", lambda route: route.fulfill(status=busy.pop()) if busy else route.fallback())

    words = queue(house)

    for _ in range(2):
        expect(page.locator("[data-live]")).to_have_text("away")
        page.clock.run_for(5_000)
    expect(page.get_by_text(words)).to_be_visible()
    expect(page.locator("[data-live]")).to_have_text("live")
    assert busy == []


def test_a_stream_that_was_refused_is_asked_for_again(page):
    page.clock.install()
    busy = [429]
    page.route("**/api/v1/stream*", lambda route: route.fulfill(status=busy.pop()) if busy else route.fallback())
    page.goto("/tasks")
    expect(page.locator("[data-live]")).to_have_text("away")

    page.clock.run_for(3_000)

    expect(page.locator("[data-live]")).to_have_text("live")


def test_times_go_by_the_clock_of_the_server(page, house, monkeypatch):
    monkeypatch.setattr(live, "FRESH_S", -3600.0)
    queue(house)
    page.clock.install(time=house.store.now() + timedelta(hours=3))
    opened(page, house)

    page.clock.run_for(15_000)

    for each in page.locator("main time").all():
        expect(each).to_have_text(re.compile(r"^(now|\d+ s ago|1 min \d+ s ago)$"))
    assert page.locator("main time").count() > 0


def test_an_order_is_sent_once(page):
    sent = []
    page.route("**/tasks/run", lambda route: sent.append(route.request.post_data) or route.fulfill(status=204))
    page.goto("/tasks/new")
    button = page.get_by_role("button", name="Queue it")
    page.locator("[name=instruction]").fill("Mend it.")

    with page.expect_request(lambda request: request.url.endswith("/tasks/run")):
        button.dblclick(no_wait_after=True)

    expect(button).to_be_disabled()
    assert page.evaluate(AGAIN)
    assert [("csrf=form-token" in each, "instruction=Mend+it." in each) for each in sent] == [(True, True)]
    page.evaluate("dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))")
    expect(button).to_be_enabled()


def test_a_form_that_only_asks_can_be_sent_again(page):
    page.goto("/tasks")
    page.route("**/tasks?*", lambda route: route.fulfill(status=204))
    button = page.locator("main form[method=get] button").first

    for _ in range(2):
        with page.expect_request(lambda request: "/tasks?" in request.url):
            button.click(no_wait_after=True)

    expect(button).to_be_enabled()


def test_pages_follow_authored_files(page, house):
    opened(page, house, "/graph?id=roles/edit-local")
    started(page, "roles/edit-local")
    page.evaluate(f"void {CY}.viewport({{ zoom: 0.5, pan: {{ x: 7, y: 8 }} }})")
    role = house.root / ".keisei" / "roles" / "mine.toml"
    role.parent.mkdir(parents=True)

    role.write_text((KIT / "roles" / "edit-local.toml").read_text().replace('"edit-local"', '"mine"'))

    page.wait_for_function(f"() => {CY}.nodes().some(node => node.data('name') === 'roles/mine')")
    assert page.evaluate(f"[{CY}.zoom(), {CY}.pan('x')]") == [0.5, 7]
    expect(page.locator(".cy canvas").first).to_be_visible()
