"""Sage: what is authored, as things that are found, ranked, related and drawn. Internal: `--json` prints these."""

from typing import Any, Literal, NamedTuple

from msgspec import Struct

NodeKind = Literal["atom", "capability", "role", "skill", "workflow", "task-type", "rule"]
"""What is indexed. The order is the order in which a name that two things share is given away."""
FOLDERS: dict[NodeKind, str] = {
    "atom": "atoms",
    "capability": "capabilities",
    "role": "roles",
    "skill": "skills",
    "workflow": "workflows",
    "task-type": "task-types",
    "rule": "rules",
}
"""The folder that a link may write before a name, and that tells two apart which share one."""
LinkKind = Literal["related", "body", "uses", "lineage"]
"""Edges that somebody wrote down: `related` in the frontmatter, a link in the text, a name in a field of its own (a
role's capabilities), the things it was made from."""
EdgeKind = Literal["related", "body", "uses", "lineage", "domain", "feeds", "supplies", "together"]
"""And those that follow: a shared effect domain, an output that fits an input, one that has all that an input requires,
use in one pipe."""
Direction = Literal["out", "in", "both"]
PictureForm = Literal["graphml", "dot", "mermaid", "json", "svg"]


class Link(NamedTuple):
    """A name that something leads to. Whether anything is called so is another question."""

    kind: LinkKind
    target: str
    """A name as it may stand among a leaf's `names`."""


class Leaf(Struct, frozen=True, kw_only=True):
    """One authored thing, as it was read."""

    node: NodeKind
    """What it is."""
    name: str
    """What it is called: `kei-task::create`, `edit-local`, `RULE-0.12-agent-git-model`."""
    names: tuple[str, ...]
    """Everything that links and people may call it, `name` and the name with its folder included."""
    kind: str | None = None
    """Of an atom: command, query, stream or transform."""
    title: str = ""
    """One line that says what it is for."""
    keywords: tuple[str, ...] = ()
    """Words to find it by."""
    body: str = ""
    """Its text."""
    fields: str = ""
    """What its schemas and tables name and describe, as text."""
    stability: str | None = None
    """How much its shape may still change."""
    deprecated: str | None = None
    """What to use instead."""
    facets: dict[str, tuple[str, ...]] = {}
    """Its taxonomy."""
    creator: str | None = None
    """Who made it."""
    created: str | None = None
    """When, as it is written there."""
    links: tuple[Link, ...] = ()
    """What it leads to."""
    domains: tuple[str, ...] = ()
    """Effect domains it touches, without their parts: `fs`, not `fs:{path}`."""
    takes: dict[str, Any] | None = None
    """Of an atom: its bundled input schema; None where it cannot be read."""
    gives: dict[str, Any] | None = None
    """Of an atom: its bundled output schema."""


class Node(Struct, frozen=True, kw_only=True, gc=False):
    """One authored thing, as it is told."""

    id: str
    """`kei-task::create`, `policy::no-git-ops`, `roles/edit-local`, `rules/RULE-0.12-agent-git-model`."""
    node: NodeKind
    """What it is."""
    kind: str | None
    """Of an atom: command, query, stream or transform."""
    title: str
    """One line that says what it is for."""
    path: str
    """Its file."""
    layer: str
    """Where that stands: kit, root, user, project or installed."""
    stability: str | None
    """How much its shape may still change."""
    deprecated: str | None
    """What to use instead."""


class Hit(Struct, frozen=True, kw_only=True):
    """One answer of a search."""

    node: Node
    """What was found."""
    score: float
    """How well it fits; only its order means something."""
    snippet: str
    """A part of its text around the words."""
    marks: tuple[tuple[int, int], ...]
    """Where in the snippet the words stand: start and end, in characters."""


class Findings(Struct, frozen=True, kw_only=True):
    """What a search found."""

    hits: tuple[Hit, ...]
    """The best first."""
    repaired: dict[str, tuple[str, ...]]
    """Words that nobody wrote, and those that were looked for instead."""
    unknown: tuple[str, ...] = ()
    """Words that nobody wrote and that resemble none, so that they were not looked for."""


class Ranked(Struct, frozen=True, kw_only=True, gc=False):
    """One place of a ranking."""

    node: Node
    """What stands there."""
    rank: float
    """Its share; all shares are 1 together."""


class Kin(Struct, frozen=True, kw_only=True):
    """Something that is related to something else."""

    node: Node
    """What."""
    depth: int
    """How many steps away, at the least."""
    by: tuple[EdgeKind, ...]
    """By which edges the last step leads, in the order of EdgeKind."""
    direction: Direction
    """Whether the last step leads away from the start, towards it, or both."""
    rank: float | None = None
    """Its share of a walk that always returns to the start, where that was asked for."""


class Tie(Struct, frozen=True, kw_only=True):
    """An edge of a picture."""

    source: str
    """The id of a node."""
    target: str
    """The id of another, or the same."""
    kind: EdgeKind
    """Why."""


class Drawn(Struct, frozen=True, kw_only=True):
    """A node of a picture."""

    node: Node
    """What."""
    depth: int
    """How many steps from the start."""
    rank: float
    """Its share in the picture."""


class Picture(Struct, frozen=True, kw_only=True):
    """A part of the graph, to be drawn."""

    start: str
    """The id it begins with."""
    nodes: tuple[Drawn, ...]
    """By depth, then by id; ids are unique."""
    ties: tuple[Tie, ...]
    """By source, target and kind; both ends are among the nodes."""
    left_out: int = 0
    """Nodes that are near enough and were too many."""


class Ancestor(Struct, frozen=True, kw_only=True):
    """One member of a family."""

    name: str
    """As the lineage names it."""
    node: Node | None
    """What is called so; None where nothing is, any more."""
    generation: int
    """1 for parents, 2 for theirs; -1 for children."""


class FacetCount(Struct, frozen=True, kw_only=True):
    """How many things have one value of one facet."""

    facet: str
    """For example `kingdom`."""
    value: str
    """For example `capability`."""
    count: int
    """How many."""
