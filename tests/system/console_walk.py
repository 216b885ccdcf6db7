"""A walk along every link, as a reader without a browser takes it: a few of each kind of page."""

import re
from collections import Counter, deque
from html.parser import HTMLParser
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

from playwright.sync_api import APIRequestContext

from keisei.console.table import PAGES

EACH = 3
"""Pages of one kind that are visited, with questions and without."""
KINDS = [(re.compile(re.sub(r"\\{\w+(:path)?\\}", "[^/]+", re.escape(page.path))), page.path) for page in PAGES]


class Links(HTMLParser):
    """Where a page leads, and the places it has."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.places: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note it."""
        told = dict(attrs)
        if told.get("id"):
            self.places.add(told["id"] or "")
        if tag in ("a", "link", "script", "img") and (link := told.get("href") or told.get("src")):
            self.links.append(link)


class Walk:
    """Every kind of page that can be reached."""

    def __init__(self, request: APIRequestContext) -> None:
        """`request` asks as somebody who may look."""
        self._request, self._kinds = request, Counter[str]()
        self._places: dict[str, set[str]] = {}
        self._pointed: list[tuple[str, str, str]] = []
        self.seen: set[str] = set()
        self.wrong: list[str] = []

    def go(self, *paths: str) -> None:
        """Begin here, and go on until nothing is new."""
        todo = deque((path, "the beginning") for path in paths)
        while todo:
            path, origin = todo.popleft()
            if path not in self.seen and self._is_wanted(path):
                self.seen.add(path)
                todo.extend(self._links(path, origin))
        for origin, path, place in self._pointed:
            if path in self._places and place not in self._places[path]:
                self.wrong.append(f"{origin} leads to {path}#{place}, and there is no such place")

    def _is_wanted(self, path: str) -> bool:
        parts = urlsplit(path)
        if parts.path.startswith("/static/vendor"):
            return False
        kind = next((name for pattern, name in KINDS if pattern.fullmatch(parts.path)), parts.path)
        key = "a twin" if parts.path.startswith("/api/v1") else f"{kind}{'?' if parts.query else ''}"
        self._kinds[key] += 1
        return self._kinds[key] <= EACH

    def _links(self, path: str, origin: str) -> list[tuple[str, str]]:
        answer = self._request.get(path)
        if answer.status != 200:
            self.wrong.append(f"{origin} leads to {path}, which answers {answer.status}")
        if not answer.headers.get("content-type", "").startswith("text/html"):
            return []
        page = Links(answer.text())
        self._places[path] = page.places
        found = []
        for link in page.links:
            target, place = urldefrag(urljoin(path, link))
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                self.wrong.append(f"{path} leads away to {link}")
                continue
            found.append((target, path))
            if place:
                self._pointed.append((path, target, unquote(place)))
        return found
