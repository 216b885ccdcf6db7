"""A manifest that was one text and is another, judged."""

from keisei.records.verification import Difference, Planned
from keisei.records.worktree import Change
from keisei.rules.predicate.dependency import dependencies

PLANNED = Planned(capability="safety::no-dep-bump", kind="diff", lists={"paths": ("**",)})


class Fake:
    """Contents by the name of their object."""

    def __init__(self, before, after):
        self.blobs = {"before": before.encode(), "after": after.encode()}

    def read(self, blob, _most):
        return self.blobs[blob]


def judge(path, before, after):
    """What is said of it."""
    assert before != after
    change = Change(path=path, status="modified", mode="100644", old_mode="100644", blob="after", old_blob="before")
    return dependencies(PLANNED, Difference(candidate=(change,)), Fake(before, after))
