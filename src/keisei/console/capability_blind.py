"""A judge that sees nothing of this machine: whoever tries a call must not read files by what the gate says of it."""

import os

from keisei.gate.judge import Judge
from keisei.gate.machine import Machine
from keisei.records.effect import Target, ToolCall
from keisei.rules.gate import Place, Verdict
from keisei.rules.policy import Policy, Rule

ELSEWHERE = "its script is not run here; `keisei gate explain` asks it"


class Blind(Machine):
    """The world of a trial: its own empty worktree. Everything else is taken as it is written."""

    worktree = "/"

    def _place(self, path: str, target: Target) -> Place:
        if self._is_inside(path):
            return super()._place(path, target)
        told = os.path.normpath(path)
        return Place(told, told, told, 1, ())

    def content(self, path: str) -> str | None:
        """Nothing, of anybody's files."""
        return super().content(path) if self._is_inside(path) else None

    def real(self, path: str) -> str | None:
        """Nothing is there."""
        return super().real(path) if self._is_inside(path) else None

    def is_folder(self, path: str) -> bool:
        """No folder is there."""
        return self._is_inside(path) and super().is_folder(path)

    def matches(self, pattern: str) -> tuple[str, ...]:
        """No glob finds anything."""
        return super().matches(pattern) if self._is_inside(pattern) else ()

    def _is_inside(self, path: str) -> bool:
        """Whether a path is below the worktree as it is written; what climbs out of it is not."""
        return "\0" not in path and (os.path.normpath(path) + "/").startswith(f"{self.worktree}/")


class BlindJudge(Judge):
    """Judges by what is written alone."""

    def __init__(self) -> None:
        """Scripts of capabilities are not run."""
        super().__init__(_unasked)

    def machine(self, policy: Policy) -> Machine:
        """The world as a trial sees it."""
        made = Blind(self._parser, policy.home, {"TMPDIR": policy.scratch[0]} if policy.scratch else {})
        made.worktree = os.path.normpath(policy.worktree)
        return made


def _unasked(rule: Rule, _call: ToolCall, _policy: Policy) -> Verdict:
    return Verdict(rule, "allow", "rule", None, ELSEWHERE)
