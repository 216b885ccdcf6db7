"""Pictures in a real browser: nothing runs in them, everything is seen, and Mermaid shows what was written."""

import shutil
from itertools import combinations
from math import hypot
from pathlib import Path
from typing import NamedTuple

import pytest
from playwright.sync_api import sync_playwright

from keisei.rules.drawing import drawn
from keisei.rules.drawing.label import width
from keisei.rules.drawing.legible import legible, shown
from tests.rules.drawing_world import hostile, like_the_kit

MERMAID = Path(__file__).parents[2] / ".tools/mermaid/node_modules/@mermaid-js/tiny/dist/mermaid.tiny.js"
PICTURES = {"five": like_the_kit(5), "thirty": like_the_kit(30), "many": like_the_kit(120), "hostile": hostile()}
LOOK = """() => {
    const rect = each => { const r = each.getBoundingClientRect(); return [r.left, r.top, r.right, r.bottom] }
    const nodes = [...document.querySelectorAll('svg > g.node')]
    return {
        view: rect(document.documentElement),
        circles: nodes.map(each => rect(each.querySelector('circle'))),
        labels: nodes.map(each => each.querySelector('text').textContent),
        beside: nodes.map(each => rect(each.querySelector('text'))),
        lengths: nodes.map(each => each.querySelector('text').getBBox().width),
        texts: [...document.querySelectorAll('text')].map(rect),
        paper: getComputedStyle(document.querySelector('.paper')).fill,
    }
}"""
RENDER = """async text => {
    const made = (await mermaid.render('drawing', text)).svg
    document.body.innerHTML = made
    const labels = [...document.querySelectorAll('.node')].map(each => each.textContent)
    const active = document.body.querySelectorAll('script, img, a, iframe').length
    document.body.innerHTML = ''
    return [labels, active]
}"""


class Seen(NamedTuple):
    """What a browser showed."""

    svgs: dict
    papers: dict
    flowcharts: dict
    told: list
    """Everything it complained of, asked, or fetched from elsewhere."""


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    """All that is asked of a browser, asked of one; it is gone before the first test."""
    chromium = shutil.which("chromium")
    assert chromium, "Chromium is missing; `make setup-test` installs it"
    folder = tmp_path_factory.mktemp("pictures")
    told = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page()
        page.on("console", lambda message: told.append(message.text))
        page.on("pageerror", lambda error: told.append(str(error)))
        page.on("dialog", lambda dialog: told.append(dialog.message) or dialog.dismiss())
        page.on("request", lambda request: None if request.url.startswith("file:") else told.append(request.url))
        svgs = {name: _look(page, folder / f"{name}.svg", each) for name, each in PICTURES.items()}
        papers = {scheme: _paper(page, scheme) for scheme in ("light", "dark")}
        page.goto("about:blank")
        page.add_script_tag(path=MERMAID)
        page.evaluate("mermaid.initialize({startOnLoad: false})")
        few = {name: PICTURES[name] for name in ("thirty", "hostile")}
        flowcharts = {name: page.evaluate(RENDER, drawn(each, "mermaid")) for name, each in few.items()}
        page.evaluate("text => mermaid.parse(text)", drawn(like_the_kit(500), "mermaid"))
        browser.close()
    return Seen(svgs, papers, flowcharts, told)


def _look(page, file, picture):
    file.write_text(drawn(picture, "svg"), encoding="utf-8")
    page.goto(file.as_uri())
    return page.evaluate(LOOK)


def _paper(page, scheme):
    page.emulate_media(color_scheme=scheme)
    return page.evaluate(LOOK)["paper"]


def test_a_browser_finds_nothing_to_complain_of_and_nothing_to_run(seen):
    assert seen.told == []


@pytest.mark.parametrize("name", PICTURES)
def test_every_node_and_every_label_is_in_the_view(seen, name):
    shows = seen.svgs[name]
    left, top, right, bottom = shows["view"]

    assert shows["labels"] == [shown(each.node.id, 32) for each in legible(PICTURES[name]).nodes]
    assert len(shows["texts"]) > len(shows["labels"])
    for box in shows["circles"] + shows["texts"]:
        assert box[0] >= left
        assert box[1] >= top
        assert box[2] <= right
        assert box[3] <= bottom


@pytest.mark.parametrize("name", PICTURES)
def test_no_two_circles_overlap_where_they_are_drawn(seen, name):
    circles = [
        ((left + right) / 2, (top + bottom) / 2, (right - left) / 2)
        for left, top, right, bottom in seen.svgs[name]["circles"]
    ]

    assert all(radius > 4 for *_, radius in circles)
    assert all(hypot(a[0] - b[0], a[1] - b[1]) > a[2] + b[2] for a, b in combinations(circles, 2))


@pytest.mark.parametrize("name", PICTURES)
def test_a_label_takes_no_more_room_than_it_was_given(seen, name):
    shows = seen.svgs[name]

    for text, length in zip(shows["labels"], shows["lengths"], strict=True):
        assert length <= width(text) + 0.5, text


def test_in_a_small_picture_no_label_covers_anything(seen):
    boxes = seen.svgs["five"]["circles"] + seen.svgs["five"]["beside"]

    for (left, top, right, bottom), other in combinations(boxes, 2):
        assert left >= other[2] or other[0] >= right or top >= other[3] or other[1] >= bottom


def test_a_dark_page_has_a_dark_picture(seen):
    assert seen.papers == {"light": "rgb(255, 255, 255)", "dark": "rgb(20, 24, 31)"}


@pytest.mark.parametrize("name", ["thirty", "hostile"])
def test_mermaid_shows_every_label_as_it_was_written(seen, name):
    labels, active = seen.flowcharts[name]

    more = [f"and {PICTURES[name].left_out} more"] if PICTURES[name].left_out else []
    assert sorted(labels) == sorted([*(shown(each.node.id, 50) for each in legible(PICTURES[name]).nodes), *more])
    assert active == 0
