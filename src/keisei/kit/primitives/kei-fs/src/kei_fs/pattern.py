"""Patterns: matched name by name along the way, so that every path is looked at once."""

import re
from fnmatch import translate
from typing import Final

ANY: Final = None
"""The part `**`: any number of folders, none included."""


class Pattern:
    """A pattern, and how far into it a path has come: a set of the parts that may come next."""

    def __init__(self, text: str, *, hidden: bool) -> None:
        """Raises ValueError with one sentence for a pattern that leads out of its folder or names nothing."""
        names = [name for name in text.split("/") if name not in ("", ".")]
        if text.startswith("/") or ".." in names or not names:
            raise ValueError("a pattern names something below its folder, without `..`")
        self.only_folders = text.endswith("/")
        self._hidden = hidden
        if names[-1] == "**":
            names.append("*")
        self._parts = [ANY if name == "**" else (re.compile(translate(name)), name[0] == ".") for name in names]
        self.start = self._with_skipped({0})

    def step(self, states: frozenset[int], name: str) -> frozenset[int]:
        """Where a path stands after one more name; empty: nothing below it can match."""
        return self._with_skipped({after for state in states for after in self._after(state, name)})

    def is_whole(self, states: frozenset[int]) -> bool:
        """Whether the path up to here matches."""
        return len(self._parts) in states

    def has_more(self, states: frozenset[int]) -> bool:
        """Whether something below it can match."""
        return any(state < len(self._parts) for state in states)

    def _after(self, state: int, name: str) -> tuple[int, ...]:
        if state == len(self._parts):
            return ()
        part, shown = self._parts[state], self._hidden or not name.startswith(".")
        if part is ANY:
            return (state,) if shown else ()
        expression, dotted = part
        return (state + 1,) if (shown or dotted) and expression.match(name) else ()

    def _with_skipped(self, states: set[int]) -> frozenset[int]:
        """The states, and those behind a `**` that stands for no folder at all."""
        for state in sorted(states):
            while state < len(self._parts) and self._parts[state] is ANY:
                state += 1  # noqa: PLW2901 - it walks on from there
                states.add(state)
        return frozenset(states)
