"""Search: one box for everything. Any text is a safe question; what has exactly this id is where a browser goes."""

from typing import Final

from msgspec import Struct

from keisei.console.asking import Limit
from keisei.console.graph_page import graph_of, page_of
from keisei.console.page import Order, Page, page
from keisei.console.premises import Premises
from keisei.console.search_hit import SearchHit
from keisei.console.search_page import places
from keisei.console.search_row import begun_rows, exact_row, found_tasks, is_id
from keisei.records.error import KeiseiError
from keisei.records.sage import Findings, Hit
from keisei.rules.drawing.legible import writable

LONGEST: Final = 2000
"""Characters of a text that are looked for."""
NOTHING: Final = Findings(hits=(), repaired={})


class SearchAsk(Struct, frozen=True, kw_only=True):
    """What is looked for."""

    q: str = ""
    """Any text: words, beginnings of words, an id or how it begins."""
    limit: Limit = 20
    """At most so many of each sort."""


class SearchPage(Struct, frozen=True, kw_only=True):
    """What was found."""

    q: str
    """What was looked for."""
    exact: SearchHit | None = None
    """What has exactly this id; a browser is sent there."""
    tasks: tuple[SearchHit, ...] = ()
    """Tasks whose id, subject, source or type holds the text, newest first."""
    more_tasks: bool = False
    """There may be more of them: the list of tasks goes on."""
    rows: tuple[SearchHit, ...] = ()
    """Attempts, landings and runs of pipes whose ids begin so."""
    authored: tuple[SearchHit, ...] = ()
    """Atoms, capabilities, roles, skills and the like, the best first."""
    repaired: dict[str, tuple[str, ...]] = {}
    """Words that nobody wrote, and those that were looked for instead."""
    unknown: tuple[str, ...] = ()
    """Words that nobody wrote and that resemble none."""
    pages: tuple[SearchHit, ...] = ()
    """Pages of the console."""
    trouble: str | None = None
    """Why nothing is known of what is authored."""


def search_everything(premises: Premises, asks: SearchAsk) -> SearchPage:
    """Everything that a text finds: work, what is authored, pages."""
    text = asks.q.strip()[:LONGEST]
    if not text:
        return SearchPage(q="")
    found, trouble = _authored(premises, text, asks.limit)
    tasks, more = found_tasks(premises.store, text, asks.limit)
    return SearchPage(
        q=writable(text),
        exact=exact_row(premises.store, text) or _exact_authored(found, text),
        tasks=tasks,
        more_tasks=more,
        rows=begun_rows(premises.store, text, asks.limit),
        authored=tuple(map(_authored_hit, found.hits)),
        repaired=found.repaired,
        unknown=tuple(map(writable, found.unknown)),
        pages=tuple(SearchHit(kind="page", id=each.path, title=each.title, page=each.path) for each in places(text)),
        trouble=trouble,
    )


def _authored(premises: Premises, text: str, limit: int) -> tuple[Findings, str | None]:
    """What fits among what is authored. Never raises: work is found where no index can be made."""
    if is_id(text):  # its digits stand in many texts, and mean nothing there
        return NOTHING, None
    try:
        return premises.sage.search(text, limit=limit), None
    except KeiseiError as error:
        return NOTHING, error.message


def _exact_authored(found: Findings, text: str) -> SearchHit | None:
    """The first that has this id in full, with its package, category or folder: a mere word is looked for instead."""
    if "::" not in text and "/" not in text:
        return None
    hits = (_authored_hit(each) for each in found.hits if each.node.id == text)
    return next((each for each in hits if each.page is not None), None)


def _authored_hit(hit: Hit) -> SearchHit:
    node = hit.node
    return SearchHit(
        kind=node.node,
        id=writable(node.id),
        title=writable(node.title),
        page=page_of(node),
        graph=graph_of(node.id),
        snippet=writable(hit.snippet),
        marks=hit.marks,
    )


def _straight(found: SearchPage) -> str | None:
    return None if found.exact is None else found.exact.page


PAGES: Final[tuple[Page, ...]] = (page("/search", "search.html", search_everything, leads=_straight),)
ORDERS: Final[tuple[Order, ...]] = ()
