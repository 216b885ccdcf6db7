"""Test vectors: the calls inside a capability's file, judged by that capability alone in an empty worktree."""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from keisei.library.catalog import Catalog
from keisei.records.capability import CapabilityManifest, TestVector
from keisei.records.effect import ToolCall
from keisei.wiring.alone import judge_here
from keisei.wiring.policy import Setting, vector_policy


class Tried(NamedTuple):
    """One vector and what came of it."""

    capability: str
    name: str
    expected: str
    decision: str
    cause: str
    reason: str | None

    @property
    def passed(self) -> bool:
        """Whether a rule decides as the author wants; a gate that broke has decided nothing."""
        return self.expected == self.decision and self.cause == "rule"


def try_vectors(catalog: Catalog, name: str) -> list[Tried]:
    """Every vector of a capability, judged. Raises AuthorError, OperatorError for a capability that cannot be used."""
    return list(trying_vectors(catalog, name))


def trying_vectors(catalog: Catalog, name: str) -> Iterator[Tried]:
    """The same, one at a time: whoever has no more time stops asking."""
    manifest: CapabilityManifest = catalog.capability(catalog.canonical(name))
    own = manifest.capability.name
    judge = judge_here()
    for number, vector in enumerate(manifest.tests, start=1):
        with tempfile.TemporaryDirectory(prefix="keisei-vector-") as folder:
            setting = Setting(Path(folder), None, Path("/home/agent"))
            policy = vector_policy(catalog, own, vector.parameters, setting)
            judgement = judge.judge(_call(vector, setting.worktree), policy)
        title = vector.name or f"vector {number}"
        said = judgement.reason or next(iter(judgement.notes), None)
        yield Tried(own, title, vector.expect, judgement.decision, judgement.cause, said)


def _call(vector: TestVector, worktree: str) -> ToolCall:
    data: dict[str, Any] = _filled(vector.input, worktree)
    return ToolCall(tool=vector.tool, input=data, cwd=worktree)


def _filled(value: Any, worktree: str) -> Any:  # noqa: ANN401 - JSON
    if isinstance(value, str):
        return value.replace("{worktree}", worktree)
    if isinstance(value, dict):
        return {key: _filled(each, worktree) for key, each in value.items()}
    if isinstance(value, list):
        return [_filled(each, worktree) for each in value]
    return value
