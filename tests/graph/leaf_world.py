"""Small worlds of authored things, without files."""

from keisei.graph.vault import Batch, Entry, Known, Vault
from keisei.records.sage import Leaf, Link

FOLDERS = {"role": "roles", "skill": "skills", "workflow": "workflows", "task-type": "task-types", "rule": "rules"}


def leaf(name, node="atom", **fields):
    """A leaf of that name. `links` may be pairs of kind and target; `names` are those that every leaf has."""
    folder = FOLDERS.get(node, {"atom": "atoms", "capability": "capabilities"}.get(node))
    fields.setdefault("names", (name, f"{folder}/{name}", f"{node}/{name}"))
    fields["links"] = tuple(Link(*each) for each in fields.get("links", ()))
    return Leaf(node=node, name=name, **fields)


def entry(made, stamp="1", layer="project"):
    """What is known of a leaf's file, and the leaf."""
    path = f"/world/{made.node}/{made.name}.md"
    return Entry(Known(path, layer, stamp, (path,), None), made)


def batch(*leaves, gone=(), pairs=None):
    """A batch of these leaves; `gone` are pairs of node and name."""
    return Batch({(each.node, each.name): entry(each) for each in leaves}, frozenset(gone), pairs)


def filled(*leaves, pairs=None):
    """A vault in memory with these leaves."""
    vault = Vault(None)
    vault.apply(batch(*leaves, pairs=pairs))
    return vault
