"""Sage: the index brought up to date, and then asked. One object for the command, the atoms and the MCP server."""

import hashlib
import json
import os
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, Self, TypeVar

from keisei.graph.vault import FILE, Batch, Vault
from keisei.records.error import KeiseiError
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
from keisei.wiring.sage_refresh import Refreshed, Refresher, again
from keisei.wiring.sage_scan import Corpus

if TYPE_CHECKING:
    from keisei.records.pipe_run import PipeRun

T = TypeVar("T")

ATOMS: Final[tuple[NodeKind, ...]] = ("atom",)
LINKED: Final[tuple[EdgeKind, ...]] = ("related", "body")
"""The edges that rank: links that somebody wrote into a text or its frontmatter."""
WRITTEN: Final[tuple[EdgeKind, ...]] = ("related", "body", "uses", "lineage")
"""The edges that relate unless others are named: everything that somebody wrote down."""
CORPUS: Final = "corpus"
"""The fact that tells whose index a file is."""
RUNS: Final = "pipe runs"
MOST_RUNS: Final = 2000
"""Pipe runs that are looked at, the newest."""
WIDEST: Final = 64
"""Different atoms of a run; one with more relates nobody."""


class Sage:
    """What is authored, found, ranked, related and drawn. Any thread may ask."""

    def __init__(self, corpus: Corpus, vault: Vault, home: "_Home", *, fresh: bool = True) -> None:
        """`fresh`: every question looks first whether something changed."""
        self.vault = vault
        self._corpus, self._home, self._fresh = corpus, home, fresh
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
        depth: int = 1,
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

    def drawn(self, picture: Picture, form: PictureForm) -> str:
        """A picture as text."""
        from keisei.rules.drawing import drawn  # noqa: PLC0415 - as above

        return drawn(picture, form)

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
        """The answer from one state of the index, up to date where that is wanted."""

        def answered() -> T:
            if self._fresh:
                self.refresh()
            if "together" in edges:
                self._look_at_runs()
            with self.vault.reading() as db:
                return question(db)

        return again(answered)

    def _look_at_runs(self) -> None:
        """Count which atoms were used in one pipe, where that is not known yet. Without a store there are no runs."""
        runs = self._home.runs()
        digest = hashlib.sha256("\n".join(f"{run.run_id} {run.definition_sha}" for run in runs).encode()).hexdigest()
        if self.vault.fact(RUNS) == digest:
            return
        with self.vault.lock():
            self.vault.apply(Batch({}, frozenset(), _pairs(runs)))
            self.vault.set_fact(RUNS, digest)


def _pairs(runs: "Sequence[PipeRun]") -> dict[tuple[str, str], int]:
    """In how many runs two atoms stand together. What a run holds was checked when it began, and may be older."""
    found: Counter[tuple[str, str]] = Counter()
    for run in runs:
        steps: Any = run.definition.get("steps", ())
        atoms = {str(step["atom"]) for step in steps if isinstance(step, dict) and "atom" in step}
        if len(atoms) <= WIDEST:
            found.update(combinations(sorted(atoms), 2))
    return dict(found)


class _Home(NamedTuple):
    """Where pipe runs are looked for."""

    settings: Settings
    start: Path

    def runs(self) -> "list[PipeRun]":
        """The newest pipe runs; none where there is no store."""
        from keisei.wiring.store import open_home_store, project_home  # noqa: PLC0415 - few questions need it

        try:
            home = project_home(self.settings, self.start)
            if not self.settings.database_url and not (home.folder / "state.db").exists():
                return []
            store = open_home_store(self.settings, home)
        except KeiseiError:
            return []
        try:
            return store.pipe_runs(MOST_RUNS)
        finally:
            store.close()


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
    return Sage(corpus, _vault(_state_folder(settings, start), corpus), _Home(settings, start), fresh=fresh)


def _state_folder(settings: Settings, start: Path) -> Path | None:
    from keisei.wiring.atom_walk import find_index  # noqa: PLC0415 - it alone knows how a project is called

    index = find_index(settings, start)
    return None if index is None else index.parent


def _vault(folder: Path | None, corpus: Corpus) -> Vault:
    """The index of this corpus: graph.db, unless that is another's who is still there. Two must not share one."""
    if folder is None:
        return Vault(None)
    own = json.dumps(corpus.folders)
    vault = Vault(folder / FILE)
    if _is_for(vault, own):
        return vault
    vault.close()
    mark = hashlib.sha256(own.encode("utf-8", "surrogateescape")).hexdigest()[:12]
    vault = Vault(folder / f"graph-{mark}.db")
    _is_for(vault, own)
    return vault


def _is_for(vault: Vault, own: str) -> bool:
    """Whether an index is this corpus's; one that is nobody's, or of folders that are gone, is from now on."""
    whose = vault.fact(CORPUS)
    if whose == own:
        return True
    if whose is not None and _is_alive(whose):
        return False
    with vault.lock():
        whose = vault.fact(CORPUS)
        if whose is None or not _is_alive(whose):
            vault.set_fact(CORPUS, own)
            return True
    return whose == own


def _is_alive(whose: str) -> bool:
    try:
        folders = json.loads(whose)
        return all(os.path.isdir(folder) for folder in folders[:1])  # noqa: PTH112 - never raises
    except (ValueError, TypeError, LookupError):
        return False
