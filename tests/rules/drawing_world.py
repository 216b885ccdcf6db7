"""Pictures to draw: some like the kit, some that nobody would author."""

import random

from hypothesis import strategies as st

from keisei.records.sage import Drawn, Node, Picture, Tie

NODES = ["atom", "capability", "role", "skill", "workflow", "task-type", "rule"]
EDGES = ["related", "body", "uses", "lineage", "domain", "feeds", "supplies", "together"]
HOSTILE = [
    'x" as n9\n    n9 --> n0',
    "a\nclick n0 href javascript:alert(1)",
    "%%{init: {'securityLevel': 'loose'}}%%",
    '<img src=x onerror="alert(1)">',
    "</text></svg><script>alert(1)</script>",
    "a & b &lt; &#60; &amp;",
    "]]> --> <!--",
    "**bold** _it_ `code` ~~x~~ [a](javascript:x)",
    "1. first",
    "- item",
    "# head",
    "\\N \\G \\",
    'ends with a backslash\\"',
    "{a|b} <c> ];",
    "\x00\x01\x1b[2J\x7f\x85\u2028",
    "\ud800 alone \udfff",
    "\ufffe\uffff",
    "right \u202eto left\u2066 שלום مرحبا",
    "👩‍👩‍👧 🦀 emoji",
    "漢字かな交じり文",
    "e\u0301\u0302\u0303" * 30,
    "\ufdfd\u12031\U0001242b",
    "\u2a0c\u27ff\u2e3b" * 10,
    "tab\tand\r\nlines",
    "   ",
    "x" * 10_000,
    "end",
]


def node(name, kind="atom", title="", what=None):
    return Node(
        id=name,
        node=kind,
        kind=what,
        title=title,
        path="/somewhere/else.md",
        layer="kit",
        stability=None,
        deprecated=None,
    )


def picture(names, ties, left_out=0, **more):
    """Names with their depth; the first is the start."""
    return Picture(
        start=next(iter(names), ""),
        nodes=tuple(Drawn(node=node(name, **more), depth=depth, rank=1 / len(names)) for name, depth in names.items()),
        ties=tuple(Tie(source=source, target=target, kind=kind) for source, target, kind in ties),
        left_out=left_out,
    )


def hostile():
    """Every hostile text as an id and as a title."""
    names = {text: min(number, 2) for number, text in enumerate(HOSTILE)}
    start, *rest = HOSTILE
    made = picture(names, [(start, other, "related") for other in rest])
    nodes = [
        Drawn(node=node(each.node.id, title=each.node.id), depth=each.depth, rank=each.rank) for each in made.nodes
    ]
    return Picture(start=start, nodes=tuple(nodes), ties=made.ties, left_out=12)


def like_the_kit(size, seed=1):
    """A picture of that many things, tied as those of the kit are: most of them to few."""
    choice = random.Random(seed)
    packages = [f"kei-{word}" for word in ("task", "fs", "git-read", "hash", "http", "json", "text", "time", "runtime")]
    verbs = ["create", "read", "search", "list-all", "update-status", "digest", "encode", "parse-lines", "tail", "move"]
    names = ["kei-task::create"]
    kinds = {"kei-task::create": "atom"}
    while len(names) < size:
        kind = choice.choices(NODES, [60, 14, 8, 5, 4, 5, 4])[0]
        name = {
            "atom": f"{choice.choice(packages)}::{choice.choice(verbs)}",
            "capability": f"policy::no-{choice.choice(verbs)}",
        }.get(kind, f"{kind}s/{choice.choice(verbs)}-{choice.choice(['agent', 'goal', 'local', 'review'])}")
        name = f"{name}-{len(names)}" if name in kinds else name
        names.append(name)
        kinds[name] = kind
    ties, depth = {}, {names[0]: 0}
    for number, name in enumerate(names[1:], 1):
        near = names[int(number * choice.random() ** 5)]
        depth[name] = depth[near] + 1
        ties[near, name, choice.choices(EDGES, [40, 20, 20, 4, 6, 3, 3, 4])[0]] = None
        if choice.random() < 0.3:
            ties[name, choice.choice(names), choice.choice(EDGES)] = None
        if choice.random() < 0.15:
            ties[name, near, "related"] = None
    order = sorted(names, key=lambda name: (depth[name], name))
    shares = {name: 1 + sum(name in tie[:2] for tie in ties) for name in names}
    total = sum(shares.values())
    drawn = [
        Drawn(
            node=node(name, kinds[name], f"What {name} is for", "command" if kinds[name] == "atom" else None),
            depth=depth[name],
            rank=shares[name] / total,
        )
        for name in order
    ]
    tied = tuple(Tie(source=one, target=other, kind=kind) for one, other, kind in sorted(ties))
    return Picture(start=names[0], nodes=tuple(drawn), ties=tied, left_out=12 if size > 100 else 0)


TEXTS = st.one_of(
    st.sampled_from(HOSTILE), st.text(st.characters(), max_size=12), st.from_regex(r"[a-z]{1,3}::[a-z]{1,3}")
)


@st.composite
def pictures(draw):
    """Any picture at all."""
    names = draw(st.lists(TEXTS, min_size=0, max_size=8, unique=True))
    ends = st.sampled_from(names) if names else st.nothing()
    ties = draw(st.lists(st.tuples(ends, ends, st.sampled_from(EDGES)), max_size=12, unique=True)) if names else []
    nodes = tuple(
        Drawn(
            node=node(name, draw(st.sampled_from(NODES)), draw(TEXTS), draw(st.none() | TEXTS)),
            depth=min(number, 2),
            rank=draw(st.floats(0, 1)),
        )
        for number, name in enumerate(names)
    )
    return Picture(
        start=names[0] if names else "",
        nodes=nodes,
        ties=tuple(Tie(source=one, target=other, kind=kind) for one, other, kind in sorted(ties)),
        left_out=draw(st.integers(0, 99)),
    )
