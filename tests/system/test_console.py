"""The console as people use it: a browser, a project that is up, an agent that works, everything real.

One house is up for all of them. Each test is a visitor with a fresh browser of its own, at whose end nothing may have
been complained of: no error of a script, no failed request, nothing that the page's own policy stopped.
"""

import re
from typing import NamedTuple

import pytest
from playwright.sync_api import expect

from keisei.console.table import PAGES
from tests.system.console_house import (
    COLOURS,
    PATIENCE_MS,
    REFUSED,
    SAID,
    Faults,
    Script,
    axe,
    open_browser,
    open_house,
)
from tests.system.console_walk import Walk

expect.set_options(timeout=PATIENCE_MS)
CAPABILITY = "policy::no-git-ops"
ORDERED = """async ([landing, csrf]) => {
  const form = {method: "POST", body: new URLSearchParams({csrf})};
  const headers = {"Content-Type": "application/json", "X-CSRF-Token": csrf};
  const answers = [await fetch(`${landing}/approve`, form),
    await fetch(`/api/v1${landing}/approve`, {method: "POST", body: "{}", headers})];
  return answers.map((answer) => answer.status);
}"""
"""An order as a page gives it, and as a program does."""
NARROW = {"width": 400, "height": 800}


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    """Up, and one task is on its way already: its work will wait to be approved."""
    with open_house(tmp_path_factory.mktemp("a house"), Script()) as house:
        house.queue("A list for src", "Write a list into src. Be early.", "test -s src/early.txt")
        yield house


@pytest.fixture(scope="module")
def browser():
    with open_browser() as browser:
        yield browser


@pytest.fixture(scope="module")
def sessions(house, browser):
    """What the browsers of an operator and of a viewer remember after they came in, each by a link of their own."""

    def come_in(link):
        context = browser.new_context()
        page = context.new_page()
        page.goto(link)
        page.wait_for_url(f"{house.url}/", timeout=PATIENCE_MS)
        state = context.storage_state()
        context.close()
        return state

    return {"operator": come_in(house.link), "viewer": come_in(house.new_link("--viewer"))}


@pytest.fixture
def faults():
    """What browsers complained of; nothing is left of it at the end."""
    faults = Faults([])
    yield faults
    assert faults.told == []


@pytest.fixture
def visit(house, browser, sessions, faults):
    """Makes visitors: `operator`, `viewer`, or nobody known. Each is a page of a fresh browser."""
    contexts = []

    def make(who="operator", **options):
        context = browser.new_context(base_url=house.url, storage_state=sessions.get(who), **options)
        context.set_default_timeout(PATIENCE_MS)
        faults.watch(context)
        contexts.append(context)
        return context.new_page()

    yield make
    for each in contexts:
        each.close()


class Early(NamedTuple):
    """Where the work stands that was on its way before anybody came."""

    task: str
    attempt: str
    landing: str


@pytest.fixture(scope="module")
def early(house, browser, sessions):
    """Waits until that work is done; its landing waits for a person."""
    context = browser.new_context(base_url=house.url, storage_state=sessions["operator"])
    page = context.new_page()
    page.goto("/landings?status=held")
    page.get_by_role("link", name="A list for src").first.click()
    page.wait_for_url("**/landings/*")
    places = [page.locator(f"dl.facts a[href^='/{noun}/']").get_attribute("href") for noun in ("tasks", "attempts")]
    landing = page.url.removeprefix(house.url)
    context.close()
    return Early(*places, landing)


# --- coming in --------------------------------------------------------------------------------------------------------


def test_a_link_lets_one_browser_in_once_and_whoever_has_none_is_told_how(house, visit, faults):
    page, late = visit(None), visit(None)

    assert page.goto("/tasks").status == 401
    expect(page.locator("body")).to_contain_text("keisei console link")
    link = house.new_link()
    page.goto(link)
    expect(page.get_by_role("heading", name="Home", exact=True)).to_be_visible()
    assert "key=" not in page.url
    assert late.goto(link).status == 410
    expect(late.locator("body")).to_contain_text("keisei console link")
    assert late.goto("/").status == 401
    faults.forgive(401, 410)


def test_a_viewer_sees_everything_and_orders_nothing(visit, early, faults):
    page = visit("viewer")

    for path in (early.landing, early.task, "/runners", "/"):
        assert page.goto(path).status == 200
        expect(page.locator("form[method=post]")).to_have_count(0)
    expect(page.get_by_text("viewer", exact=True)).to_be_visible()
    csrf = page.locator("meta[name=csrf]").get_attribute("content")
    answers = page.evaluate(ORDERED, [early.landing, csrf])
    assert answers == [403, 403]
    faults.forgive(403)
    page.goto(early.landing)
    expect(page.locator("h1 .status")).to_have_text("held")


# --- work -------------------------------------------------------------------------------------------------------------


def test_a_task_is_queued_watched_refused_a_call_and_its_work_approved(house, visit):
    task = visit()
    other = task.context.new_page()

    # Nothing is taken while it is looked at.
    other.goto("/runners")
    pause_all(other, "somebody looks")

    task.goto("/tasks/new")
    task.get_by_label("Instruction").fill("Write src/watched.txt while you are watched.")
    task.get_by_label("Role: what the agent may do").select_option("lander")
    task.get_by_label("Files it may write").fill("src/**")
    task.get_by_label("A command that must exit 0 afterwards").fill("test -s src/watched.txt")
    task.get_by_text("Profile, adapter, model, budget").click()
    task.locator("select[name=profile]").select_option("worker")
    task.get_by_label("US dollars it may spend").fill("2")
    task.get_by_role("button", name="Queue it").click()
    status = task.locator("h1 .status")
    expect(status).to_have_text("pending")
    stays(task)

    # The page goes on by itself: queued, running, done.
    other.get_by_role("button", name="Resume").first.click()
    expect(status).to_have_text("running")
    other.goto(task.get_by_role("link", name="Watch the attempt").get_attribute("href"))
    stays(other)
    expect(other.get_by_role("region", name="What the agent does")).to_contain_text(SAID)
    expect(other.locator("h1 .status")).to_have_text("running")
    house.script.let_go.set()
    refused = other.locator("li.call.deny")
    expect(refused).to_contain_text(REFUSED)
    expect(status).to_have_text("completed")
    expect(other.locator("h1 .status")).to_have_text("ok")
    assert still(task)
    assert still(other)

    # Why it was refused, and the rule itself says the same.
    for words in ("refused", "Refused by", CAPABILITY, "The rule that matched", "The agent was told"):
        expect(refused).to_contain_text(words)
    refused.get_by_role("link", name=CAPABILITY).click()
    expect(other.get_by_role("heading", level=1)).to_have_text(CAPABILITY)
    other.get_by_label("Command, path or address").fill(REFUSED)
    other.get_by_role("button", name="Ask the gate").click()
    expect(other.locator("#answer .verdict")).to_have_text(re.compile(rf"refused\s+by {CAPABILITY}"))
    other.get_by_label("Command, path or address").fill("ls src")
    other.get_by_role("button", name="Ask the gate").click()
    expect(other.locator("#answer .verdict")).to_have_text("allowed")

    # A person reads what it is, and says yes.
    task.locator("section", has=task.get_by_role("heading", name="Landings")).get_by_role("link").click()
    expect(task.locator("h1 .status")).to_have_text("held")
    expect(task.get_by_text("predicates held")).to_be_visible()
    expect(task.get_by_role("row", name=re.compile("quality::check-green"))).to_contain_text("held")
    expect(task.locator("details.change", has_text="src/watched.txt")).to_contain_text("+b")
    task.get_by_role("button", name="Approve").click()
    expect(task.locator("h1 .status")).to_have_text("landed")
    expect(task.get_by_text("Landed on main as")).to_be_visible()
    assert house.head("src/watched.txt") == "a\nb"


def pause_all(page, reason):
    """Give the order on the page of runners."""
    careful = page.locator("details.careful", has_text="Pause all")
    careful.locator("summary").click()
    careful.get_by_label("Reason").fill(reason)
    careful.get_by_role("button", name="Pause all").click()
    expect(page.locator(".note", has_text="All runners are paused")).to_contain_text(reason)


def stays(page):
    """Mark the document: another one would not have it."""
    page.evaluate("window.stayed = true")


def still(page):
    return page.evaluate("window.stayed === true")


# --- authoring --------------------------------------------------------------------------------------------------------


def test_an_atom_is_forged_tried_written_called_and_taken_back(house, visit):
    page = visit()
    package = house.project / ".keisei" / "primitives" / "kei-words"
    page.goto("/forge")
    verdict = page.locator("[data-verdict]")

    # Linted as it is typed.
    page.get_by_label("Package", exact=True).fill("kei-words")
    page.get_by_label("Verb", exact=True).press_sequentially("Count it")
    expect(page.get_by_label("Verb", exact=True)).to_have_attribute("aria-invalid", "true")
    expect(page.locator("[data-fault=verb]")).not_to_be_empty()
    expect(verdict).to_contain_text("not ready")
    page.get_by_label("Verb", exact=True).fill("count")
    page.get_by_label("What it does, in a sentence").fill("Counts the words of a text.")
    page.get_by_role("radio", name=re.compile("transform")).check()
    expect(page.locator("[data-fault=verb]")).to_be_empty()
    expect(verdict).to_contain_text("ready")

    # Rows from an example, and the second before the first, by keys alone.
    side = page.locator("#input")
    side.get_by_label("From an example").check()
    side.locator("[data-example]").fill('{"text": "hello world", "least": 2}')
    side.get_by_role("button", name="Make rows of it").click()
    names = side.locator("[data-field=name]")
    expect(names).to_have_count(2)
    names.nth(1).press("Alt+ArrowUp")
    expect(names.nth(0)).to_have_value("least")
    expect(names.nth(0)).to_be_focused()
    page.get_by_role("tab", name="Input").click()
    expect(page.locator("[data-file]")).to_contain_text(re.compile(r'"properties": \{\s*"least".*"text"', re.DOTALL))

    # Tried, read, written; everything holds.
    expect(verdict).to_contain_text("ready")
    page.get_by_role("button", name="Try it", exact=True).click()
    expect(page.locator("[data-tried]")).to_contain_text("works")
    assert not package.exists()
    page.get_by_role("button", name="Review and write").click()
    review = page.get_by_role("dialog", name="Write these files?")
    expect(review).to_contain_text("atoms/count.md")
    review.get_by_role("button", name=re.compile(r"Write \d files")).click()
    written = page.locator(".note.good", has_text="is written and holds")
    expect(written.locator(".badge.good").first).to_have_text("held")
    expect(written.locator(".badge.bad")).to_have_count(0)
    assert (package / "atoms" / "count.py").is_file()

    # Called from its own page.
    page.get_by_role("link", name="Call it").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("kei-words::count")
    page.locator("[name='f.text']").fill("one two three")
    page.locator("[name='f.least']").fill("1")
    page.get_by_role("button", name="Call", exact=True).click()
    expect(page.locator("h1 .status")).to_have_text("ok")

    # Taken back: nothing is left of it.
    page.goto("/forge")
    page.get_by_role("button", name="Undo kei-words::count").click()
    expect(page.get_by_text("kei-words::count was taken back")).to_be_visible()
    assert [str(each) for each in package.rglob("*") if each.is_file()] == []
    page.goto("/search?q=kei-words")
    expect(page.get_by_role("link", name="kei-words::count")).to_have_count(0)


def test_what_is_searched_is_found_and_the_graph_is_walked_there_and_back(visit):
    page = visit(viewport={"width": 1280, "height": 1000})
    page.goto("/tasks")

    page.keyboard.press("/")
    expect(page.get_by_role("searchbox", name="Search")).to_be_focused()
    page.keyboard.type("describe")
    page.keyboard.press("Enter")
    page.get_by_role("link", name="kei-runtime::describe in the graph").click()
    expect(page).to_have_url(graph_of("describe"))
    around = page.locator("#graph-around")
    expect(around).to_contain_text("kei-runtime::describe")

    page.mouse.click(*node_at(page, "kei-runtime::list"))
    expect(page).to_have_url(graph_of("list"))
    expect(around.get_by_role("heading").first).to_have_text("kei-runtime::list")
    page.go_back()
    expect(page).to_have_url(graph_of("describe"))
    expect(around.get_by_role("heading").first).to_have_text("kei-runtime::describe")
    around.get_by_role("link", name="Open its page").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("kei-runtime::describe")


def graph_of(verb):
    return re.compile(rf"/graph\?id=kei-runtime(::|%3A%3A){verb}$")


def node_at(page, name):
    """Where a node is drawn, in the window."""
    at = page.wait_for_function(
        """(name) => {
          const box = document.querySelector("[data-graph-box]"), corner = box.getBoundingClientRect();
          const at = box._cyreg?.cy.getElementById(`n:${name}`).renderedPosition();
          return at && [corner.x + at.x, corner.y + at.y];
        }""",
        arg=name,
    )
    return at.json_value()


# --- looks ------------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("early")  # there must be a task to go to
def test_light_and_dark_are_chosen_once_and_keys_lead_everywhere(visit):
    page = visit(color_scheme="light")
    page.goto("/")

    page.get_by_role("button", name="Switch between light and dark").click()
    dark = background(page)
    page.reload()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    assert background(page) == dark
    page.keyboard.press("t")
    expect(page.locator("html")).to_have_attribute("data-theme", "light")
    assert background(page) != dark

    page.keyboard.press("g")
    page.keyboard.press("t")
    page.wait_for_url("**/tasks")
    expect(page.get_by_role("heading", level=1)).to_have_text("Tasks")
    page.keyboard.press("?")
    keys = page.get_by_role("dialog", name="Keyboard shortcuts")
    expect(keys).to_contain_text("next, previous row")
    page.keyboard.press("Escape")
    expect(keys).to_be_hidden()
    expect(page.locator("tbody tr a").first).to_be_visible()
    page.keyboard.press("j")
    expect(page.locator("tr.chosen")).to_have_count(1)
    page.keyboard.press("Enter")
    page.wait_for_url("**/tasks/*", timeout=20_000)


def background(page):
    return page.evaluate("getComputedStyle(document.documentElement).backgroundColor")


def test_a_narrow_screen_is_scrolled_one_way_only(visit, early):
    page = visit(viewport=NARROW)

    wide = {}
    for path in ("/", "/tasks", *early, "/forge", "/graph", "/roles"):
        page.goto(path)
        wide[path] = page.evaluate("document.documentElement.scrollWidth")
    assert {path: width for path, width in wide.items() if width > NARROW["width"]} == {}


def test_without_javascript_everything_is_read_and_orders_are_given(visit, early):
    page = visit(java_script_enabled=False)

    page.goto("/")
    expect(page.get_by_role("heading", name="Needs you")).to_be_visible()
    page.goto(early.task)
    expect(page.locator("h1 .status")).to_have_text("completed")
    page.goto(early.attempt)
    expect(page.get_by_role("region", name="What the agent does")).to_contain_text(SAID)
    expect(page.locator("li.call.deny")).to_contain_text(CAPABILITY)
    page.goto("/runners")
    pause_all(page, "without a script")
    with page.expect_navigation():
        page.get_by_role("button", name="Resume").first.click()
    page.goto("/")
    expect(page.get_by_text("without a script")).to_have_count(0)


# --- every page -------------------------------------------------------------------------------------------------------


def test_every_page_opens_without_a_word_of_complaint(visit, early):
    page = visit()

    paths = [each.path for each in PAGES if "{" not in each.path]
    for path in (*paths, *early, f"{early.attempt}/diff", f"/capabilities/{CAPABILITY}", "/roles/lander"):
        assert page.goto(path).status == 200, path
        expect(page.get_by_role("heading", level=1)).to_have_count(1)


def test_every_link_leads_somewhere(visit, early):
    page = visit()

    walk = Walk(page.context.request)
    walk.go("/", *early)

    assert walk.wrong == []
    assert len(walk.seen) > 60


def test_axe_finds_nothing_in_light_nor_in_dark(visit, early):
    page = visit(color_scheme="light")

    found = {}
    for path in ("/", *early, "/forge", "/graph"):
        page.goto(path)
        found[path] = axe(page)
        page.emulate_media(color_scheme="dark")
        found[path] += axe(page, *COLOURS)
        page.emulate_media(color_scheme="light")
    assert {path: wrong for path, wrong in found.items() if wrong} == {}
