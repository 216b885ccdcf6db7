"""Feeding: whose output can be handed to whom as input, by their schemas alone.

A shape is a schema without what is only said to people. One that is given feeds one that is taken where each field that
the taker requires is always given, they share a field that not everybody has, and every document of the one is one of
the other. It supplies it where the taker requires fields, of which not everybody has one at least, and each of them is
always given and always fits: then a pipe can pick them. Who feeds a shape that requires such a field supplies it too,
as long as it says no more than what single fields are like. So the pairs follow from the set of shapes, in whatever
order they came and went. What nobody can prove is no pair.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from typing import TYPE_CHECKING, Any, Final, Literal

from keisei.graph.shape import Shape, kept
from keisei.graph.shape_fit import is_enough, is_whole
from keisei.graph.vault_table import CROWD

if TYPE_CHECKING:
    import apsw

Side = Literal["gives", "takes"]
Place = tuple[Side, str]
"""A shape on a side, by its digest."""
Flow = tuple[str, str, Literal["feeds", "supplies"]]
"""What is given, what is taken, by their digests, and how the one serves the other."""

NOW: Final[dict[Side, str]] = {
    "gives": "SELECT 1 FROM nodes WHERE gives = ? LIMIT 1",
    "takes": "SELECT 1 FROM nodes WHERE takes = ? LIMIT 1",
}
BEFORE: Final = "SELECT 1 FROM fields WHERE +side = ? AND sha = ? LIMIT 1"
HOLDERS: Final = "SELECT sha, always FROM fields WHERE side = ? AND field = ?"
MANY: Final = f"SELECT 1 FROM fields WHERE side = ? AND field = ? LIMIT 1 OFFSET {CROWD}"  # noqa: S608 - our number
SHAPE: Final = "SELECT schema FROM shapes WHERE sha = ?"
SHARING: Final = """
SELECT flows.gives, flows.takes, flows.kind FROM fields AS given
CROSS JOIN flows ON flows.gives = given.sha
CROSS JOIN fields AS taken ON taken.side = 'takes' AND taken.field = given.field AND taken.sha = flows.takes
WHERE given.side = 'gives' AND given.field = ?
"""
"""In this order: few of those that have a field feed anybody."""
ADD: Final = "INSERT OR IGNORE INTO flows (gives, takes, kind) VALUES (?, ?, ?)"
UNUSED: Final = "DELETE FROM shapes WHERE sha = ?1 AND NOT EXISTS (SELECT 1 FROM fields WHERE sha = ?1)"


def settle(db: "apsw.Connection", begun: Iterable[Place], ceased: Iterable[Place], shapes: Mapping[str, Shape]) -> None:
    """Bring `shapes`, `fields` and `flows` up to date after `nodes` changed.

    Given are the shapes that something began and ceased to have, on which side; `shapes` has those that may be new.
    """
    begun = set(begun)
    is_empty = not db.execute("SELECT 1 FROM fields LIMIT 1").fetchall()
    come = [each for each in sorted(begun) if is_empty or not db.execute(BEFORE, each).fetchall()]
    left = [(side, sha) for side, sha in sorted(set(ceased) - begun) if not db.execute(NOW[side], (sha,)).fetchall()]
    if come or left:
        _Feeding(db, shapes).change(come, left)


class _Feeding:
    """One change of the set of shapes."""

    def __init__(self, db: "apsw.Connection", shapes: Mapping[str, Shape]) -> None:
        self.db = db
        self.shapes = dict(shapes)
        self.crowded: dict[str, bool] = {}
        self.holders: dict[Place, dict[str, bool]] = {}
        self.new_takers: set[str] = set()
        self.old_takers: dict[str, list[tuple[str, bool]]] = {}

    def change(self, come: list[Place], left: list[Place]) -> None:
        """Some shapes are new on a side, some have left one."""
        fields = sorted({field for _, sha in (*come, *left) for field in self.shape(sha).fields})
        before = {field for field in fields if self.is_crowded(field)}
        self.remove(left)
        self.add(come)
        self.crowded = {}
        for field in fields:
            if field not in before and self.is_crowded(field):
                self.part(field)
        freed = [field for field in before if not self.is_crowded(field)]
        self.db.executemany(ADD, self.found(come, freed))

    def remove(self, left: list[Place]) -> None:
        """Take shapes from their sides, and away where they have none."""
        self.db.executemany("DELETE FROM fields WHERE +side = ? AND sha = ?", left)
        self.db.executemany("DELETE FROM flows WHERE gives = ?", [(sha,) for side, sha in left if side == "gives"])
        self.db.executemany("DELETE FROM flows WHERE takes = ?", [(sha,) for side, sha in left if side == "takes"])
        self.db.executemany(UNUSED, [(sha,) for _, sha in left])

    def add(self, come: list[Place]) -> None:
        """Put shapes on their sides."""
        shapes = sorted({self.shape(sha)[:2] for _, sha in come})
        self.db.executemany("INSERT OR IGNORE INTO shapes (sha, schema) VALUES (?, ?)", shapes)
        rows = [
            (side, field, sha, field in self.shape(sha).always)
            for side, sha in come
            for field in self.shape(sha).fields
        ]
        self.db.executemany("INSERT INTO fields (side, field, sha, always) VALUES (?, ?, ?, ?)", sorted(rows))

    def part(self, field: str) -> None:
        """Those that shared no other field serve each other no longer: this one is crowded now."""
        sharing: list[tuple[Any, ...]] = self.db.execute(SHARING, (field,)).fetchall()
        parted = [
            (gives, takes, kind)
            for gives, takes, kind in sharing
            if not (self.opened(self.shape(takes).always) if kind == "supplies" else self.shared(gives, takes))
        ]
        self.db.executemany("DELETE FROM flows WHERE gives = ? AND takes = ? AND kind = ?", parted)

    def found(self, come: list[Place], freed: list[str]) -> list[Flow]:
        """Everything that may be new and holds, in the order of the table."""
        return sorted({flow for pair in self.candidates(come, freed) for flow in self.flows(*pair)})

    def candidates(self, come: list[Place], freed: list[str]) -> Iterator[tuple[str, str]]:
        """Pairs that may be new: those of a new shape, and all that share a field which is no longer crowded."""
        self.new_takers = {sha for side, sha in come if side == "takes"}
        for takes in self.new_takers:
            yield from ((gives, takes) for gives in self.givers(self.shape(takes)))
        for gives in (sha for side, sha in come if side == "gives"):
            yield from ((gives, takes) for takes in self.takers(self.shape(gives)))
        for field in freed:
            yield from product(self.who("gives", field), self.who("takes", field))

    def givers(self, taker: Shape) -> Iterable[str]:
        """Who may serve a shape: all that always give the rarest field it requires; else all that give any it has."""
        needed = self.opened(taker.always)
        if not needed:
            return {sha for field in self.opened(taker.fields) for sha in self.who("gives", field)}
        rarest = min((self.who("gives", field) for field in needed), key=len)
        return [sha for sha, is_always in rarest.items() if is_always]

    def takers(self, giver: Shape) -> set[str]:
        """Whom a shape may serve, of those that were there before, as far as the fields they share tell."""
        may: set[str] = set()
        may_not: set[str] = set()
        for field in self.opened(giver.fields):
            for sha, is_always in self.older(field):
                (may_not if is_always and field not in giver.always else may).add(sha)
        return may - may_not

    def older(self, field: str) -> list[tuple[str, bool]]:
        """Shapes that take a field, and whether always, without those that are new."""
        if field not in self.old_takers:
            found = self.who("takes", field).items()
            self.old_takers[field] = [each for each in found if each[0] not in self.new_takers]
        return self.old_takers[field]

    def flows(self, gives: str, takes: str) -> Iterator[Flow]:
        """How the one serves the other."""
        one, other = self.shape(gives), self.shape(takes)
        if other.always <= one.always:
            if self.opened(other.always) and is_enough(one, other):
                yield gives, takes, "supplies"
            if self.shared(gives, takes) and is_whole(one, other):
                yield gives, takes, "feeds"

    def shared(self, gives: str, takes: str) -> list[str]:
        """The fields that two shapes share, without those that are crowded."""
        return self.opened(self.shape(gives).fields & self.shape(takes).fields)

    def opened(self, fields: Iterable[str]) -> list[str]:
        """Those that are not crowded."""
        return [field for field in fields if not self.is_crowded(field)]

    def shape(self, sha: str) -> Shape:
        """One that is new, or was there before."""
        if sha not in self.shapes:
            [self.shapes[sha]] = [kept(sha, text) for (text,) in self.db.execute(SHAPE, (sha,))]
        return self.shapes[sha]

    def who(self, side: Side, field: str) -> dict[str, bool]:
        """Shapes of a side that have a field, and whether always."""
        if (side, field) not in self.holders:
            self.holders[side, field] = {sha: bool(always) for sha, always in self.db.execute(HOLDERS, (side, field))}
        return self.holders[side, field]

    def is_crowded(self, field: str) -> bool:
        """Whether too many give it, or too many take it."""
        if field not in self.crowded:
            self.crowded[field] = any(self.db.execute(MANY, (side, field)).fetchall() for side in ("gives", "takes"))
        return self.crowded[field]
