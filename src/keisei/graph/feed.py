"""Feeding: whose output can be handed to whom as input, by their schemas alone.

A shape is a schema without what is only said to people. One that is given feeds one that is taken where each field that
the taker requires is always given, they share a field that not everybody has, and every document of the one is one of
the other. So the pairs follow from the set of shapes, in whatever order they came and went.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice, product
from typing import TYPE_CHECKING, Any, Final, Literal

import msgspec

from keisei.contracts.containment import fits, refusing
from keisei.contracts.witness import ordinary
from keisei.graph.shape import Shape, shape
from keisei.graph.vault_table import CROWD

if TYPE_CHECKING:
    import apsw

Side = Literal["gives", "takes"]
SAMPLES: Final = 3
"""Documents of a shape that are held against others before anything is proved, which takes a hundred times longer."""

NOW: Final[dict[Side, str]] = {
    "gives": "SELECT 1 FROM nodes WHERE gives = ? LIMIT 1",
    "takes": "SELECT 1 FROM nodes WHERE takes = ? LIMIT 1",
}
BEFORE: Final = "SELECT 1 FROM fields WHERE +side = ? AND sha = ? LIMIT 1"
HOLDERS: Final = "SELECT sha FROM fields WHERE side = ? AND field = ?"
MANY: Final = f"SELECT 1 FROM fields WHERE side = ? AND field = ? LIMIT 1 OFFSET {CROWD}"  # noqa: S608 - our number
SHAPE: Final = "SELECT schema FROM shapes WHERE sha = ?"
SHARING: Final = """
SELECT feeds.gives, feeds.takes FROM fields AS given
CROSS JOIN feeds ON feeds.gives = given.sha
CROSS JOIN fields AS taken ON taken.side = 'takes' AND taken.field = given.field AND taken.sha = feeds.takes
WHERE given.side = 'gives' AND given.field = ?
"""
"""In this order: few of those that have a field feed anybody."""
UNUSED: Final = "DELETE FROM shapes WHERE sha = ?1 AND NOT EXISTS (SELECT 1 FROM fields WHERE sha = ?1)"


def settle(db: "apsw.Connection", touched: Iterable[tuple[Side, str]], shapes: Mapping[str, Shape]) -> None:
    """Bring `shapes`, `fields` and `feeds` up to date after `nodes` changed.

    `touched` are the shapes that something began or ceased to have, on which side; `shapes` has those that may be new.
    """
    come, left = [], []
    for side, sha in sorted(set(touched)):
        is_now, was = db.execute(NOW[side], (sha,)).fetchall(), db.execute(BEFORE, (side, sha)).fetchall()
        if is_now and not was:
            come.append((side, sha))
        elif was and not is_now:
            left.append((side, sha))
    if come or left:
        _Feeding(db, shapes).change(come, left)


class _Feeding:
    """One change of the set of shapes."""

    def __init__(self, db: "apsw.Connection", shapes: Mapping[str, Shape]) -> None:
        self.db = db
        self.shapes = dict(shapes)
        self.crowded: dict[str, bool] = {}
        self.holders: dict[tuple[Side, str], list[str]] = {}
        self.schemas: dict[str, Any] = {}
        self.samples: dict[str, list[Any]] = {}
        self.refusals: dict[str, Callable[[object], str | None]] = {}

    def change(self, come: list[tuple[Side, str]], left: list[tuple[Side, str]]) -> None:
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
        found = [pair for pair in self.candidates(come, freed) if self.feeds(*pair)]
        self.db.executemany("INSERT OR IGNORE INTO feeds (gives, takes) VALUES (?, ?)", found)

    def remove(self, left: list[tuple[Side, str]]) -> None:
        """Take shapes from their sides, and away where they have none."""
        self.db.executemany("DELETE FROM fields WHERE +side = ? AND sha = ?", left)
        self.db.executemany("DELETE FROM feeds WHERE gives = ?", [(sha,) for side, sha in left if side == "gives"])
        self.db.executemany("DELETE FROM feeds WHERE takes = ?", [(sha,) for side, sha in left if side == "takes"])
        self.db.executemany(UNUSED, [(sha,) for _, sha in left])

    def add(self, come: list[tuple[Side, str]]) -> None:
        """Put shapes on their sides."""
        shapes = [self.shape(sha) for _, sha in come]
        self.db.executemany("INSERT OR IGNORE INTO shapes (sha, schema) VALUES (?, ?)", [each[:2] for each in shapes])
        rows = [
            (side, field, sha, field in self.shape(sha).always)
            for side, sha in come
            for field in self.shape(sha).fields
        ]
        self.db.executemany("INSERT INTO fields (side, field, sha, always) VALUES (?, ?, ?, ?)", sorted(rows))

    def part(self, field: str) -> None:
        """Those that shared no other field feed each other no longer: this one is crowded now."""
        sharing: list[tuple[Any, ...]] = self.db.execute(SHARING, (field,)).fetchall()
        parted = [pair for pair in sharing if not self.have_open_field(*pair)]
        self.db.executemany("DELETE FROM feeds WHERE gives = ? AND takes = ?", parted)

    def candidates(self, come: list[tuple[Side, str]], freed: list[str]) -> Iterator[tuple[str, str]]:
        """Pairs that may be new: those of a new shape, and all that share a field which is no longer crowded."""
        takers = {sha for side, sha in come if side == "takes"}
        for takes in takers:
            yield from ((gives, takes) for gives in self.givers(self.shape(takes)))
        for gives in (sha for side, sha in come if side == "gives"):
            fields = self.opened(self.shape(gives).fields)
            yield from (
                (gives, takes) for takes in {sha for field in fields for sha in self.who("takes", field)} - takers
            )
        for field in freed:
            yield from product(self.who("gives", field), self.who("takes", field))

    def givers(self, taker: Shape) -> Iterable[str]:
        """Who may feed a shape: all that give the rarest field it requires; else all that give one of its fields."""
        needed = [self.who("gives", field) for field in self.opened(taker.always)]
        if needed:
            return min(needed, key=len)
        return {sha for field in self.opened(taker.fields) for sha in self.who("gives", field)}

    def opened(self, fields: Iterable[str]) -> list[str]:
        """Those that are not crowded."""
        return [field for field in fields if not self.is_crowded(field)]

    def feeds(self, gives: str, takes: str) -> bool:
        """Whether the one feeds the other, of which is known that they share a field. The longest work comes last."""
        one, other = self.shape(gives), self.shape(takes)
        if not other.always <= one.always:
            return False
        if other.only is not None and (one.is_open or not one.always <= other.only):
            return False
        refusal = self.refusal(takes)
        if any(refusal(document) is not None for document in self.sample(gives)):
            return False
        return fits(self.schema(gives), self.schema(takes)).answer == "yes"

    def shape(self, sha: str) -> Shape:
        """One that is new, or was there before."""
        if sha not in self.shapes:
            [found] = [shape(msgspec.json.decode(str(text))) for (text,) in self.db.execute(SHAPE, (sha,))]
            if found is None:
                raise msgspec.DecodeError("a shape that is none")
            self.shapes[sha] = found
        return self.shapes[sha]

    def schema(self, sha: str) -> Any:  # noqa: ANN401 - any JSON
        """What a shape says."""
        if sha not in self.schemas:
            self.schemas[sha] = msgspec.json.decode(self.shape(sha).text)
        return self.schemas[sha]

    def who(self, side: Side, field: str) -> list[str]:
        """Shapes of a side that have a field."""
        if (side, field) not in self.holders:
            self.holders[side, field] = [str(sha) for (sha,) in self.db.execute(HOLDERS, (side, field))]
        return self.holders[side, field]

    def is_crowded(self, field: str) -> bool:
        """Whether too many give it, or too many take it."""
        if field not in self.crowded:
            many = (self.db.execute(MANY, (side, field)).fetchall() for side in ("gives", "takes"))
            self.crowded[field] = any(many)
        return self.crowded[field]

    def have_open_field(self, gives: str, takes: str) -> bool:
        """Whether two shapes share a field that is not crowded."""
        return bool(self.opened(self.shape(gives).fields & self.shape(takes).fields))

    def sample(self, sha: str) -> list[Any]:
        """A few documents of a shape."""
        if sha not in self.samples:
            refusal, drawn = self.refusal(sha), islice(ordinary(self.schema(sha)), SAMPLES)
            self.samples[sha] = [each for each in drawn if refusal(each) is None]
        return self.samples[sha]

    def refusal(self, sha: str) -> Callable[[object], str | None]:
        """Says whether a document is not of a shape."""
        if sha not in self.refusals:
            self.refusals[sha] = refusing(self.schema(sha))
        return self.refusals[sha]
