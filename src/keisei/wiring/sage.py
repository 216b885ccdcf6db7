"""Sage: the index brought up to date, and then asked. One object for the command, the atoms and the MCP server."""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, Self, TypeVar

from keisei.graph.vault import FILE, Batch, Begun, Vault
from keisei.graph.vault_file import is_anothers
from keisei.records.sage import (
    Ancestor,
    Direction,
    EdgeKind,
    FacetCount,
    Findings,
    Kin,
    Node,
    NodeKind,
    Picture,
    PictureForm,
    Ranked,
)
from keisei.settings import Settings
from keisei.wiring.atom_walk import find_index
from keisei.wiring.sage_refresh import Refreshed, Refresher
from keisei.wiring.sage_scan import Corpus

if TYPE_CHECKING:
    from keisei.engine.ports import Store
    from keisei.records.pipe_run import PipeRun

T = TypeVar("T")

ATOMS: Final[tuple[NodeKind, ...]] = ("atom",)
LINKED: Final[tuple[EdgeKind, ...]] = ("related", "body")
"""The edges that rank: links that somebody wrote into a text or its frontmatter."""
WRITTEN: Final[tuple[EdgeKind, ...]] = ("related", "body", "uses", "lineage")
"""The edges that relate unless others are named: everything that somebody wrote down."""
TRIES: Final = 4
"""How often a question is asked while somebody deletes the index."""
RUNS: Final = "pipe runs"
MOST_RUNS: Final = 2000
"""Pipe runs that are looked at, the newest."""
WIDEST: Final = 64
"""Different atoms of a run; one with more relates nobody."""


class Sage:
    """What is authored, found, ranked, related and drawn. Any thread may ask."""

    def __init__(
        self, corpus: Corpus, vault: Vault, runs: "_Runs", *, fresh: bool = True, why: str | None = None
    ) -> None:
        """`fresh`: every question looks first whether something changed. `why`: there is no place for an index."""
        self._why = why
        self.vault = vault
        self._corpus, self._runs, self._fresh = corpus, runs, fresh
        self._refresher = Refresher(corpus, vault)

    def refresh(self, paths: Sequence[str] | None = None) -> Refreshed:
        """Bring the index up to date; where `paths` are given, only what stands around them. Raises WorldFault."""
        return self._refresher.refresh(paths)

    def search(
        self,
        text: str,
        *,
        nodes: Collection[NodeKind] = (),
        kinds: Collection[str] = (),
        limit: int = 20,
        among: Collection[str] | None = None,
    ) -> Findings:
        """What fits a text, the best first. Any text is a safe question."""
        from keisei.graph.search import search  # noqa: PLC0415 - one question does not pay for another

        return self._asked(lambda db: search(db, text, nodes=nodes, kinds=kinds, limit=limit, among=among))

    def ranked(
        self,
        *,
        nodes: Collection[NodeKind] = ATOMS,
        edges: Collection[EdgeKind] = LINKED,
        limit: int | None = None,
    ) -> list[Ranked]:
        """Everything of some kinds by PageRank, the most linked to first; at most `limit`."""
        from keisei.graph.rank import ranked  # noqa: PLC0415 - as above

        return self._asked(lambda db: ranked(db, nodes=nodes, edges=edges, limit=limit), edges)

    def related(  # noqa: PLR0913 - every part of the question has a default
        self,
        name: str,
        *,
        depth: int = 2,
        edges: Collection[EdgeKind] = WRITTEN,
        nodes: Collection[NodeKind] = (),
        direction: Direction = "both",
        by: Literal["links", "rank"] = "links",
        limit: int = 100,
    ) -> list[Kin]:
        """What is near to something, the nearest first. Raises OperatorError for what is not there."""
        from keisei.graph.kin import find, related  # noqa: PLC0415 - as above

        question = partial(related, depth=depth, edges=edges, nodes=nodes, direction=direction, by=by, limit=limit)
        return self._asked(lambda db: question(db, find(db, name)), edges)

    def picture(  # noqa: PLR0913 - as above
        self,
        name: str,
        *,
        depth: int = 2,
        edges: Collection[EdgeKind] = WRITTEN,
        nodes: Collection[NodeKind] = (),
        direction: Direction = "both",
        most: int = 500,
    ) -> Picture:
        """The part of the graph around something. Raises OperatorError for what is not there."""
        from keisei.graph.kin import find, picture  # noqa: PLC0415 - as above

        question = partial(picture, depth=depth, edges=edges, nodes=nodes, direction=direction, most=most)
        return self._asked(lambda db: question(db, find(db, name)), edges)

    def drawn(self, picture: Picture, form: PictureForm) -> tuple[str, Picture]:
        """A picture as text, and what of it is there: of a large one, a form may hold a part only."""
        from keisei.rules.drawing import drawn, kept  # noqa: PLC0415 - as above

        part = kept(picture, form)
        return drawn(part, form), part

    def facets(self, wanted: Mapping[str, str], nodes: Collection[NodeKind] = ()) -> list[Node]:
        """Everything whose taxonomy says all that is wanted. Raises OperatorError for an unknown facet."""
        from keisei.graph.facet import facets  # noqa: PLC0415 - as above

        return self._asked(lambda db: facets(db, wanted, nodes))

    def facet_counts(self, nodes: Collection[NodeKind] = ()) -> list[FacetCount]:
        """Which facets there are, with their values."""
        from keisei.graph.facet import facet_counts  # noqa: PLC0415 - as above

        return self._asked(lambda db: facet_counts(db, nodes))

    def lineage(self, name: str) -> list[Ancestor]:
        """What something was made from, and what was made from it. Raises OperatorError for what is not there."""
        from keisei.graph.facet import lineage  # noqa: PLC0415 - as above
        from keisei.graph.kin import find  # noqa: PLC0415 - as above

        return self._asked(lambda db: lineage(db, find(db, name)))

    def authored_by(self, creator: str) -> list[Node]:
        """Everything that somebody made, as its lineage says. Raises OperatorError where nobody is called so."""
        from keisei.graph.facet import authored_by  # noqa: PLC0415 - as above

        return self._asked(lambda db: authored_by(db, creator))

    def creators(self) -> list[tuple[str, int]]:
        """Who made how much."""
        from keisei.graph.facet import creators  # noqa: PLC0415 - as above

        return self._asked(creators)

    def tally(self) -> tuple[dict[str, int], dict[str, int]]:
        """How many things of each kind there are, and how many links of each kind lead somewhere."""
        from keisei.graph.tally import tally  # noqa: PLC0415 - as above

        return self._asked(tally)

    @property
    def file(self) -> Path | None:
        """Where the index is kept; None where it is in memory."""
        return None if self.vault.in_memory else self.vault.path

    @property
    def why(self) -> str | None:
        """Why the index is in memory, in words; None where it is kept."""
        return self.vault.why or self._why

    def watched(self) -> list[str]:
        """The folders in which something may change."""
        return self._corpus.watched()

    def close(self) -> None:
        """Give the index back. Safe to say twice."""
        self.vault.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def _asked(self, question: Callable[[Any], T], edges: Collection[EdgeKind] = ()) -> T:
        """The answer from one state of the index, up to date where that is wanted, whole in any case."""
        looks = self._fresh
        for left in reversed(range(TRIES)):
            if not left:  # somebody deletes it, or writes to it, again and again
                self._forsake()
            with suppress(Begun):
                if looks:
                    self.refresh()
                if "together" in edges:
                    self._look_at_runs()
                with self.vault.reading() as db:
                    if not left or self._refresher.has_seen(db, db.pragma("data_version")):
                        return question(db)
            looks = True
        raise AssertionError("what is in memory is nobody else's")

    def _forsake(self) -> None:
        """Leave the file to others, and have an index in memory from now on."""
        self.close()
        self._why = "others write to it all the time"
        self.vault = Vault(None)
        self._refresher = Refresher(self._corpus, self.vault)

    def _look_at_runs(self) -> None:
        """Count which atoms were used in one pipe, where that is not known yet. Raises what the store raises."""
        mark = self._runs.mark()
        if self.vault.fact(RUNS) == mark:
            return
        with self.vault.lock():
            self.vault.apply(Batch({}, frozenset(), _pairs(self._runs.newest())))
            self.vault.set_fact(RUNS, mark)


def _pairs(runs: "Sequence[PipeRun]") -> dict[tuple[str, str], int]:
    """In how many runs two atoms stand together. What a run holds was checked when it began, and may be older."""
    found: Counter[tuple[str, str]] = Counter()
    for run in runs:
        steps: Any = run.definition.get("steps", ())
        atoms = {str(step["atom"]) for step in steps if isinstance(step, dict) and "atom" in step}
        if len(atoms) <= WIDEST:
            found.update(combinations(sorted(atoms), 2))
    return dict(found)


class _Runs(NamedTuple):
    """Where pipe runs are looked for."""

    settings: Settings
    start: Path

    def mark(self) -> str:
        """What is another when there is another run, or one of them is another."""
        with self._store() as store:
            if store is None:
                return ""
            newest = [run.run_id for run in store.pipe_runs(1)]
            return json.dumps([*newest, *store.old_runs(datetime.max.replace(tzinfo=UTC))])

    def newest(self) -> "list[PipeRun]":
        """The newest of them."""
        with self._store() as store:
            return [] if store is None else store.pipe_runs(MOST_RUNS)

    @contextmanager
    def _store(self) -> "Iterator[Store | None]":
        """The project's store; None where nothing was ever kept. Raises OperatorError, WorldFault, AuthorError."""
        from keisei.wiring.store import open_home_store, project_home  # noqa: PLC0415 - few questions need it

        home = project_home(self.settings, self.start)
        if not self.settings.database_url and not (home.folder / "state.db").exists():
            yield None
            return
        with closing(open_home_store(self.settings, home)) as store:
            yield store


def open_sage(
    settings: Settings,
    *,
    roots: Sequence[Path] = (),
    kit_root: Path | None = None,
    start: Path,
    fresh: bool = True,
) -> Sage:
    """What is authored around a folder, or below roots and nowhere else. Raises OperatorError for what is no folder."""
    corpus = Corpus(settings, roots=roots, kit_root=kit_root, start=start)
    index, runs = find_index(settings, start), _Runs(settings, start)
    if index is None:
        why = "there is no home for state, or keisei.toml cannot be read"
        return Sage(corpus, Vault(None), runs, fresh=fresh, why=why)
    return Sage(corpus, _vault(index.parent, corpus, is_usual=not roots and kit_root is None), runs, fresh=fresh)


def _vault(folder: Path, corpus: Corpus, *, is_usual: bool) -> Vault:
    """The index of this corpus and of no other: graph.db where it is the usual one and nobody else has that name."""
    digest = hashlib.sha256("\0".join(corpus.places).encode("utf-8", "surrogateescape")).digest()
    owner = int.from_bytes(digest[:4], "big") >> 1 or 1
    if is_usual and not is_anothers(folder / FILE, owner):
        return Vault(folder / FILE, owner)
    return Vault(folder / f"graph-{digest.hex()[:12]}.db", owner)
