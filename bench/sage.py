"""Sage answers at once, however much is authored, and beside networkx and plain SQL nothing is lost by asking it.

Bars at 10,000 atoms: an index from nothing in 6 s, one changed file in 20 ms, a search in 3 ms (p50) and 15 ms (p99), a
rank in 60 ms, a neighbourhood of depth 2 in 2 ms; at 100,000 (`--large`) nothing grows more than the atoms do. Beside
it stand, in the same run and on the same graph, networkx (its graph built, PageRank, breadth-first search, ego graph)
and the SQL that somebody writes without us (LIKE over the same texts, PageRank by statements, a recursive query). A
slow machine fails nothing here, a wrong answer does: ranks, neighbourhoods and searches are compared.
"""

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).resolve().parent
sys.path = [place for place in sys.path if Path(place).resolve() != HERE]  # queue.py is there

import apsw  # noqa: E402 - see above

from keisei.settings import read_settings  # noqa: E402 - see above
from keisei.wiring.sage import Sage, open_sage  # noqa: E402 - see above

DRAFT = "http://json-schema.org/draft-07/schema#"
PEERS = (HERE.parent / ".tools" / "bench" / "bin" / "python", Path(sys.executable))
"""Interpreters that may know networkx: the benches' own, then this one, whose tests use it."""
SMALL, LARGE = 10_000, 100_000
VERBS = 25
"""Atoms of a package."""
LINKS = 5
QUERIES, STARTS, CHANGES = 500, 100, 30
ROUNDS = 30
"""Iterations of PageRank in SQL; what is left of the beginning after so many is 0.85 to the power of that."""
NOISE = 1.1
"""What two runs of the same may differ by."""
SETTLED_S = 0.2
"""A file that is younger is read twice."""
KINDS = ("command", "query", "query", "stream", "transform")
SYLLABLE = (
    ("b", "c", "ch", "d", "f", "g", "h", "j", "k", "l", "m", "n", "p", "qu", "r", "s", "st", "t", "tr", "v", "w", "z"),
    ("a", "e", "i", "o", "u", "ea", "ou"),
    ("", "", "n", "r", "s", "t", "l", "nd", "st"),
)
COMMON = {"id": "integer", "path": "string", "name": "string", "limit": "integer", "text": "string"}


# --- a world ----------------------------------------------------------------------------------------------------------


class Page(NamedTuple):
    """One atom, as it is written down."""

    atom: str
    links: tuple[str, ...]
    text: str


class World(NamedTuple):
    """Packages on disk, and what they say."""

    root: Path
    pages: dict[str, Page]
    words: list[str]
    """The vocabulary, the most common first."""


def vocabulary(chance: random.Random, size: int = 6000) -> list[str]:
    """Words that can be pronounced, so that prefixes and misspellings are like those of people."""
    found: dict[str, None] = {}
    while len(found) < size:
        parts = chance.choices((1, 2, 3), (2, 6, 1))[0]
        word = "".join("".join(map(chance.choice, SYLLABLE)) for _ in range(parts))
        if len(word) > 2:
            found[word] = None
    return sorted(found, key=lambda word: len(word) + 4 * chance.random())  # what is said often is short


class Author:
    """Writes packages; the same seed writes the same ones."""

    def __init__(self, seed: int = 1) -> None:
        self.chance = random.Random(seed)
        self.words = vocabulary(self.chance)
        self._weights = list(accumulate(1 / (place + 5) for place in range(len(self.words))))

    def said(self, count: int) -> str:
        """Some words, common ones more often."""
        return " ".join(self.chance.choices(self.words, cum_weights=self._weights, k=count))

    def written(self, root: Path, size: int) -> World:
        """So many atoms in packages below a folder."""
        names = [f"kei-{word}-{number}" for number, word in enumerate(self._named(size // VERBS))]
        atoms = {name: [f"{name}::{verb}" for verb in self._named(VERBS)] for name in names}
        everyone = [atom for found in atoms.values() for atom in found]
        known = self.chance.sample(everyone, max(1, len(everyone) // 100))
        pages = {
            page.atom: page for name, own in atoms.items() for page in self._package(root / name, own, everyone, known)
        }
        return World(root, pages, self.words)

    def _named(self, count: int) -> list[str]:
        return self.chance.sample(self.words, count)

    def _package(self, folder: Path, atoms: list[str], everyone: list[str], known: list[str]) -> Iterator[Page]:
        text = f'[project]\nname = "{folder.name}"\nversion = "0.1.0"\n[tool.keisei]\nbackend = "memory"\n'
        write(folder / "pyproject.toml", text)
        about = folder.name.split("-")[1]
        fields = {f"{about}_{word}": self.chance.choice(("string", "integer")) for word in self._named(6)}
        for atom in atoms:
            near = self.chance.sample([each for each in atoms if each != atom], LINKS - 2)
            links = tuple(dict.fromkeys((*near, self.chance.choice(known), self.chance.choice(everyone))))
            verb = atom.partition("::")[2]
            page = Page(atom, links, self._page(atom, links))
            write(folder / "atoms" / f"{verb}.md", page.text)
            for side in ("input", "output"):
                write(folder / "atoms" / "schemas" / f"{verb}-{side}.json", self._schema(fields))
            yield page

    def _page(self, atom: str, links: Sequence[str]) -> str:
        package, _, verb = atom.partition("::")
        related = "\n".join(f'  - "[[{link}]]"' for link in links)
        listed = "\n".join(f"- [[{link}]]: {self.said(2)}" for link in links)
        return f"""---
atom: {atom}
kind: {self.chance.choice(KINDS)}
version: "0.1.0"
input: {{ schema: schemas/{verb}-input.json }}
output: {{ schema: schemas/{verb}-output.json }}
side_effects:
  - {{ op: read, domain: {package}-db }}
  - {{ op: read, domain: fs }}
idempotent: true
stability: stable
keywords: [{", ".join(self._named(4))}]
related:
{related}
---

# {atom}

{self.said(9).capitalize()}.

{self.said(14).capitalize()}.

## Gotchas

- {self.said(8).capitalize()}.

## Related

{listed}
"""

    def _schema(self, fields: dict[str, str]) -> str:
        names = (*self.chance.sample(list(fields), 2), self.chance.choice(list(COMMON)))
        kinds = {name: (fields | COMMON)[name] for name in names}
        properties = {name: {"description": self.said(5), "type": kind} for name, kind in kinds.items()}
        example = {name: "a" if kind == "string" else 1 for name, kind in kinds.items()}
        body = {"$schema": DRAFT, "type": "object", "properties": properties, "required": list(names[:2])}
        return json.dumps(body | {"additionalProperties": False, "examples": [example]})


def write(path: Path, text: str) -> None:
    """One file, with the folders above it."""
    try:
        path.write_text(text, encoding="utf-8")
    except FileNotFoundError:
        path.parent.mkdir(parents=True)
        path.write_text(text, encoding="utf-8")


def asked(world: World, count: int, seed: int = 2) -> list[str]:
    """Questions of one to six words: rare and common ones, beginnings, misspellings, ids."""
    chance = random.Random(seed)
    common, atoms = world.words[:30], list(world.pages)
    found = []
    for _ in range(count):
        words = chance.choices(world.words, k=chance.randint(1, 6))
        turn = chance.random()
        if turn < 0.2:
            words = [*chance.sample(common, min(len(words), 3)), *words[3:]]
        elif turn < 0.35:
            words[-1] = words[-1][:3]
        elif turn < 0.5:
            words[0] = misspelt(chance, words[0])
        elif turn < 0.6:
            words = [chance.choice(atoms)]
        found.append(" ".join(words))
    return found


def misspelt(chance: random.Random, word: str) -> str:
    """One letter is missing, doubled, or another."""
    at = chance.randrange(len(word))
    return chance.choice(
        (word[:at] + word[at + 1 :], word[:at] + word[at] + word[at:], f"{word[:at]}x{word[at + 1 :]}")
    )


# --- time -------------------------------------------------------------------------------------------------------------


def took_ms(work: Callable[[], object]) -> float:
    """The time of one call."""
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1000


def times_ms(work: Callable[[Any], object], given: Iterable[Any]) -> list[float]:
    """The time of a call with each, sorted."""
    return sorted(took_ms(lambda each=each: work(each)) for each in given)  # type: ignore[misc]


def median_ms(work: Callable[[], object], rounds: int) -> float:
    """The median time of so many calls."""
    return statistics.median(took_ms(work) for _ in range(rounds))


# --- ours -------------------------------------------------------------------------------------------------------------


@contextmanager
def sage_of(world: World, state: Path) -> Iterator[Sage]:
    """The index of a world, which looks for changes only when it is told to: looking has a row of its own."""
    settings = read_settings({"HOME": str(state), "KEISEI_HOME": str(state)})
    with open_sage(settings, roots=(world.root,), start=world.root, fresh=False) as sage:
        yield sage


class Ours(NamedTuple):
    """What was measured, and what was answered."""

    measured: dict[str, float]
    top: list[str]
    ranks: dict[str, float]
    near: dict[str, list[str]]
    """Everything within two steps of each start."""


def measure(world: World, state: Path, starts: list[str], rounds: int) -> Ours:
    """Everything of ours at one size."""
    indexed = [index_ms(world, state / f"{number}") for number in range(rounds)]
    with sage_of(world, state / "0") as sage:
        check_searches(world, sage)
        questions = asked(world, QUERIES)
        for question in questions[:20]:
            sage.search(question)
        searches = times_ms(sage.search, questions)
        ranked = sage.ranked()
        near = {start: within(sage, start) for start in starts}
        measured = {
            "index": statistics.median(indexed),
            "nothing changed": median_ms(sage.refresh, 3),
            "one file": statistics.median(change_ms(world, sage)),
            "search p50": searches[len(searches) // 2],
            "search p99": searches[len(searches) * 99 // 100],
            "rank": median_ms(sage.ranked, 7),
            "depth 2": statistics.median(times_ms(lambda start: sage.related(start, depth=2, limit=100), starts)),
            "picture": statistics.median(times_ms(lambda start: sage.picture(start, depth=2), starts)),
            "personal": statistics.median(times_ms(lambda start: sage.related(start, by="rank", depth=8), starts[:7])),
        }
    ranks = {each.node.id: each.rank for each in ranked}
    return Ours(measured, [each.node.id for each in ranked[:10]], ranks, near)


def index_ms(world: World, state: Path) -> float:
    """An index from nothing, in a state folder that nobody used."""
    with sage_of(world, state) as sage:
        began = time.perf_counter()
        problems = sage.refresh().problems
        spent = (time.perf_counter() - began) * 1000
        assert not problems, problems[:3]
        assert len(sage.ranked()) == len(world.pages)
    return spent


def within(sage: Sage, start: str) -> list[str]:
    """Everything within two steps, the start included."""
    return sorted([start, *(each.node.id for each in sage.related(start, depth=2, limit=10**6))])


def change_ms(world: World, sage: Sage) -> list[float]:
    """A page changes, and the index hears of it, as it does from the watcher; then the change is found."""
    spent = []
    for number, atom in enumerate(list(world.pages)[:: max(1, len(world.pages) // CHANGES)]):
        package, _, verb = atom.partition("::")
        path, word = world.root / package / "atoms" / f"{verb}.md", f"zyzzyva{number}"
        write(path, f"{world.pages[atom].text}\nNow it is about {word} as well.\n")
        spent.append(took_ms(lambda path=path: sage.refresh(paths=[str(path)])))  # type: ignore[misc]
        assert [hit.node.id for hit in sage.search(word, limit=1).hits] == [atom]
    return spent


def check_searches(world: World, sage: Sage) -> None:
    """An atom is found by its own name, and what is found has the words."""
    for atom in list(world.pages)[:: len(world.pages) // 20]:
        hits = sage.search(atom).hits
        assert hits, atom
        assert hits[0].node.id == atom, (atom, hits[0].node.id)
    for word in world.words[100:120]:
        found = {hit.node.id for hit in sage.search(word).hits}
        assert found, word


# --- plain SQL --------------------------------------------------------------------------------------------------------

PLAIN = """
CREATE TABLE pages (key INTEGER PRIMARY KEY, atom TEXT UNIQUE, text TEXT);
CREATE TABLE links (source INTEGER, target INTEGER, PRIMARY KEY (source, target)) WITHOUT ROWID;
CREATE INDEX links_target ON links (target);
CREATE TABLE degrees (key INTEGER PRIMARY KEY, degree INTEGER);
CREATE TABLE ranks (key INTEGER PRIMARY KEY, rank REAL);
CREATE TABLE next (key INTEGER PRIMARY KEY, rank REAL);
"""
FIRST = """
DELETE FROM degrees; DELETE FROM ranks; DELETE FROM next;
INSERT INTO degrees SELECT source, count(*) FROM links GROUP BY source;
INSERT INTO ranks SELECT key, 1.0 / (SELECT count(*) FROM pages) FROM pages;
"""
STEP = """
INSERT INTO next SELECT pages.key, (1 - 0.85) / size + 0.85 * (lost / size + coalesce(given, 0))
FROM pages, (SELECT count(*) AS size FROM pages),
(SELECT coalesce(sum(rank), 0) AS lost FROM ranks WHERE key NOT IN (SELECT key FROM degrees))
LEFT JOIN (
    SELECT target, sum(rank / degree) AS given FROM links JOIN ranks ON ranks.key = source
    JOIN degrees ON degrees.key = source GROUP BY target
) ON target = pages.key;
DELETE FROM ranks; INSERT INTO ranks SELECT * FROM next; DELETE FROM next;
"""
NEAR = """
WITH RECURSIVE near (key, depth) AS (
    SELECT key, 0 FROM pages WHERE atom = ?1
    UNION SELECT target, depth + 1 FROM near JOIN links ON source = near.key WHERE depth < 2
    UNION SELECT source, depth + 1 FROM near JOIN links ON target = near.key WHERE depth < 2
)
SELECT DISTINCT atom FROM near JOIN pages USING (key)
"""


def plain_database(world: World) -> apsw.Connection:
    """The same pages and links in tables that somebody makes in a minute."""
    db = apsw.Connection(":memory:")
    db.execute(PLAIN)
    keys = {atom: number for number, atom in enumerate(world.pages)}
    with db:
        db.executemany(
            "INSERT INTO pages VALUES (?, ?, ?)", ((keys[p.atom], p.atom, p.text) for p in world.pages.values())
        )
        pairs = ((keys[page.atom], keys[link]) for page in world.pages.values() for link in page.links)
        db.executemany("INSERT OR IGNORE INTO links VALUES (?, ?)", pairs)
    return db


def measure_plain(world: World, ours: Ours, starts: list[str]) -> dict[str, float]:
    """What plain SQL takes for it. Its answers are ours."""
    db = plain_database(world)

    def like(question: str) -> None:
        words = [f"%{word}%" for word in question.split()]
        where = " AND ".join(["text LIKE ?"] * len(words))
        list(db.execute(f"SELECT atom FROM pages WHERE {where} LIMIT 20", words))  # noqa: S608 - as many marks as words

    def ranks() -> None:
        db.execute(FIRST)
        for _ in range(ROUNDS):
            db.execute(STEP)

    def near(start: str) -> list[str]:
        return sorted(atom for (atom,) in db.execute(NEAR, (start,)))

    searches = times_ms(like, asked(world, 60))
    rank = took_ms(ranks)
    own = dict(db.execute("SELECT atom, rank FROM ranks JOIN pages USING (key)"))
    far = max(abs(own[atom] - rank) for atom, rank in ours.ranks.items())
    assert far < 0.85**ROUNDS, far
    for start, found in ours.near.items():
        assert near(start) == found, start
    return {
        "search p50": searches[len(searches) // 2],
        "search p99": searches[len(searches) * 99 // 100],
        "rank": rank,
        "depth 2": statistics.median(times_ms(near, starts)),
    }


# --- networkx ---------------------------------------------------------------------------------------------------------

NETWORKX = """
import json, sys, time
import networkx as nx
from networkx.algorithms.link_analysis.pagerank_alg import _pagerank_python
try:
    import scipy
    how, pagerank = "scipy", nx.pagerank
except ImportError:
    how, pagerank = "without scipy", _pagerank_python
given = json.load(open(sys.argv[1]))
def median(work, each):
    times = []
    for one in each:
        began = time.perf_counter(); work(one); times.append(time.perf_counter() - began)
    return sorted(times)[len(times) // 2] * 1000
def built(_=None):
    graph = nx.DiGraph()
    graph.add_nodes_from(given["nodes"])
    graph.add_edges_from(given["links"])
    return graph
close = dict(alpha=0.85, tol=1e-9 / len(given["nodes"]), max_iter=500)
graph = built()
pagerank(graph, **close)
ranks = pagerank(graph, **close)
both = graph.to_undirected()
near = {start: sorted(nx.single_source_shortest_path_length(both, start, cutoff=2)) for start in given["starts"]}
print(json.dumps({
    "how": how, "version": nx.__version__, "ranks": ranks, "near": near,
    "rank": median(lambda _: pagerank(built(), **close), range(3)),
    "build": median(built, range(3)),
    "depth 2": median(lambda one: nx.single_source_shortest_path_length(both, one, cutoff=2), given["starts"]),
    "picture": median(lambda one: nx.ego_graph(both, one, radius=2), given["starts"]),
    "personal": median(lambda one: pagerank(both, personalization={one: 1}, **close), given["starts"][:3]),
}))
"""


def measure_networkx(world: World, ours: Ours, starts: list[str], folder: Path) -> dict[str, Any] | None:
    """The same graph in networkx, in a process of its own; None where it is not installed. Its answers are ours."""
    python = next((each for each in PEERS if each.exists() and knows(each, "networkx")), None)
    if python is None:
        return None
    given = {
        "nodes": list(world.pages),
        "links": [(page.atom, link) for page in world.pages.values() for link in page.links],
        "starts": starts,
    }
    path = folder / "graph.json"
    path.write_text(json.dumps(given))
    done = subprocess.run(
        [python, "-W", "ignore", "-c", NETWORKX, path], capture_output=True, text=True, check=False, timeout=900
    )
    assert done.returncode == 0, done.stderr[-2000:]
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    ranks, near = told.pop("ranks"), told.pop("near")
    top = sorted(ranks, key=lambda atom: (-round(ranks[atom], 9), atom))[:10]
    assert top == ours.top, (top, ours.top)
    far = max(abs(ranks[atom] - rank) for atom, rank in ours.ranks.items())
    assert far < 1e-6, far
    assert near == ours.near
    return told


def knows(python: Path, module: str) -> bool:
    """Whether an interpreter can import a module."""
    return subprocess.run([python, "-c", f"import {module}"], capture_output=True, check=False).returncode == 0


# --- telling ----------------------------------------------------------------------------------------------------------

ROWS: tuple[tuple[str, str, float | None], ...] = (
    ("index", "index from nothing", 6000),
    ("nothing changed", "refresh, nothing changed", None),
    ("one file", "refresh, one changed file", 20),
    ("search p50", "search, p50", 3),
    ("search p99", "search, p99", 15),
    ("rank", "rank", 60),
    ("depth 2", "related, depth 2", 2),
    ("picture", "picture, depth 2", None),
    ("personal", "related, by rank", None),
)


def table(size: int, ours: dict[str, float], peer: dict[str, Any] | None, plain: dict[str, float]) -> None:
    """What was measured at one size; a ratio above 1 is how many times slower the other is."""
    how = (
        f"networkx {peer['version']}, {peer['how']}" if peer else "without networkx, which `make setup-bench` installs"
    )
    busy = f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors"
    print(f"{size:,} atoms; {how}; plain SQL is SQLite in memory; {busy}")
    print(f"{'what':26} {'measured':>11} {'bar':>9}        {'networkx':>24} {'plain SQL':>24}")
    for key, name, bar in ROWS:
        shown = f"{bar:,.0f} ms" if bar is not None and size == SMALL else ""
        met = "" if not shown else "met" if ours[key] <= (bar or 0) else "MISSED"
        others = [beside(side, key, ours[key]) for side in (peer or {}, plain)]
        print(f"{name:26} {ours[key]:8.2f} ms {shown:>9} {met:6} {others[0]:>24} {others[1]:>24}")


def beside(side: dict[str, Any], key: str, ours: float) -> str:
    """The time of another, and how many times ours that is."""
    return f"{side[key]:.2f} ms, {side[key] / ours:.2f} times" if key in side else ""


def growth(small: dict[str, Any], large: dict[str, Any]) -> None:
    """What becomes of each when there is more; what becomes of plain SQL tells how even the machine was meanwhile."""
    times = large["atoms"] / small["atoms"]
    print(f"{times:.0f} times the atoms, so at most {times:.0f} times the time")
    for key, name, _ in ROWS:
        grown = large["ours"][key] / small["ours"][key]
        other = f"plain SQL {large['sql'][key] / small['sql'][key]:.1f}" if key in small["sql"] else ""
        print(
            f"{name:26} {grown:8.1f} times {'' if grown <= times * NOISE else 'MORE THAN LINEAR':17} {other}".rstrip()
        )


def measured_at(size: int, rounds: int, place: Path | None, *, with_peer: bool) -> dict[str, Any]:
    """Everything at one size."""
    with tempfile.TemporaryDirectory(dir=place) as name:
        folder = Path(name)
        world = Author().written(folder / "packages", size)
        starts = random.Random(3).sample(list(world.pages), STARTS)
        time.sleep(SETTLED_S)
        ours = measure(world, folder / "state", starts, rounds)
        plain = measure_plain(world, ours, starts)
        peer = measure_networkx(world, ours, starts, folder) if with_peer else None
    table(size, ours.measured, peer, plain)
    return {"atoms": size, "ours": ours.measured, "networkx": peer, "sql": plain}


def main() -> int:
    """Print a table and one line of JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--atoms", type=int, default=SMALL, help="how many atoms there are; the bars are for 10,000")
    parser.add_argument("--large", action="store_true", help="100,000 atoms as well; takes some minutes")
    parser.add_argument(
        "--folder", type=Path, help="where packages and index are written; a temporary folder unless said"
    )
    parser.add_argument("--no-peer", action="store_true", help="leave networkx out")
    given = parser.parse_args()
    os.environ.pop("KEISEI_DATABASE_URL", None)
    told = [measured_at(given.atoms, 3, given.folder, with_peer=not given.no_peer)]
    if given.large:
        told.append(measured_at(LARGE, 1, given.folder, with_peer=not given.no_peer))
        growth(*told)
    print(json.dumps({"bench": "sage", "sizes": told}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
