"""Options: which words of a command line are options and values, and where its operands begin.

An option that no spec knows is read both ways, so no operand is lost. Linear in the words.
"""

from bisect import bisect_left
from collections.abc import Mapping
from functools import cache
from itertools import islice, takewhile
from typing import NamedTuple

from keisei.records.effect import UNKNOWN
from keisei.rules.shell.launcher.launch import Words

READINGS = 4
"""How many options nobody knows are read both ways; more of them make the whole line unreadable."""
OPTIONS = 2000
"""How many options are read; a line with more is not read further."""
ATTACHED = -1
DIGITS = -2
"""Arities of a value that counts only when it is attached, and of one that must be digits as well."""


class Options(NamedTuple):
    """A spec, taken apart: how many values each option takes, what it means, and the long names in order."""

    arity: Mapping[str, int]
    role: Mapping[str, str]
    longs: Words


@cache
def parsed(spec: str) -> Options:
    """A spec of the tables, taken apart once."""
    arity: dict[str, int] = {}
    role: dict[str, str] = {}
    for token in spec.split():
        left, _, meaning = token.partition(":")
        bare, count = _counted(left)
        for name in [bare] if bare.startswith("--") else [f"-{letter}" for letter in bare[1:]]:
            arity[name] = count
            if meaning:
                role[name] = meaning
    return Options(arity, role, tuple(sorted(name for name in arity if name.startswith("--"))))


def _counted(left: str) -> tuple[str, int]:
    """A name of a spec and how many values it takes; `-?` is a name."""
    if left.endswith("="):
        bare = left.rstrip("=")
        return bare, len(left) - len(bare)
    if left.endswith(("?", "#")) and left != "-?":
        return left[:-1], ATTACHED if left.endswith("?") else DIGITS
    return left, 0


class Given(NamedTuple):
    """An option as it was given, with what it means and its first value."""

    name: str
    roles: Words
    value: str


class Scan:
    """The options of one command line, as far as the first word that is none of them."""

    def __init__(self, words: Words, spec: str, marks: frozenset[str], start: int = 1) -> None:
        self.words = words
        self.options = parsed(spec)
        self.marks = marks
        self.permute = "permute" in marks
        self.given: list[Given] = []
        self.operands: list[str] = []
        self.dashed = False
        self.unclear: str | None = None
        self._starts: list[int] = []
        self._at = start
        self._stopped = False
        self._count = 0
        self._read()

    def has(self, role: str) -> bool:
        """Whether an option with that meaning was given."""
        return any(role in given.roles for given in self.given)

    def values(self, role: str) -> list[str]:
        """The values of all options with that meaning."""
        return [given.value for given in self.given if role in given.roles]

    def names(self) -> frozenset[str]:
        """The options that were given."""
        return frozenset(given.name for given in self.given)

    def tail(self) -> Words:
        """The words where the reading stopped."""
        return self.words[self._at :]

    def rests(self) -> list[Words]:
        """What follows the options, one tuple for each way to read them."""
        if self._stopped:
            return [self.tail()]
        if self.permute or self.operands:
            return [(*self.operands, *self.tail())]
        return [self.tail(), *(self.words[start:] for start in self._starts)]

    def _read(self) -> None:
        while self._at < len(self.words):
            word = self.words[self._at]
            if word == "--":
                self._at += 1
                self.dashed = True
                return
            if len(word) == 1 or not word.startswith("-"):
                if not self.permute:
                    return
                self.operands.append(word)
                self._at += 1
                continue
            self._at += 1
            self._count += 1
            if self._count > OPTIONS:
                self.unclear = "too many options"
                return
            if self._option(word):
                return

    def _option(self, word: str) -> bool:
        """Takes one option with its values. True where no option follows."""
        if word[1] == UNKNOWN or (word.startswith("--") and UNKNOWN in word.partition("=")[0]):
            self.unclear = "an option that is not known before it runs"
            return False
        if "digits" in self.marks and word.lstrip("-+").isdigit():
            return False
        name, _, value = word.partition("=")
        if word.startswith("--") or "single" in self.marks:
            found = self._long(name)
            if found is not None:
                return self._take(found, value if "=" in word else None)
            if word.startswith("--"):
                if "=" not in word:
                    self._unsure()
                return False
        return self._cluster(word)

    def _long(self, name: str) -> str | None:
        """The option a long name means, abbreviations included."""
        full = "--" + name.lstrip("-")
        if full in self.options.arity:
            return full
        if "exact" in self.marks or len(full) <= (4 if "lenient" in self.marks or "single" in self.marks else 2):
            return None
        longs = self.options.longs
        fitting = takewhile(lambda each: each.startswith(full), islice(longs, bisect_left(longs, full), None))
        return max(fitting, key=lambda each: (each in self.options.role, self.options.arity[each]), default=None)

    def _cluster(self, word: str) -> bool:
        at = 1
        unsure = False
        while at < len(word):
            name = f"-{word[at]}"
            at += 1
            count = self.options.arity.get(name)
            if name[1] == UNKNOWN:
                self.unclear = "an option that is not known before it runs"
                return False
            if count is None:
                unsure = True
            elif count == DIGITS:
                while at < len(word) and word[at].isdigit():
                    at += 1
            elif count:
                done = self._take(name, word[at:] if at < len(word) or count == ATTACHED else None)
                if unsure:
                    self._unsure()
                return done
            elif self._take(name, None):
                return True
        if unsure:
            self._unsure()
        return False

    def _take(self, name: str, value: str | None) -> bool:
        count = self.options.arity[name]
        roles = tuple(self.options.role.get(name, "").split(","))
        if value is None and count > 0:
            value = self.words[self._at] if self._at < len(self.words) else ""
            self._at += 1
        self._at += max(count - 1, 0)
        self.given.append(Given(name, roles, value or ""))
        if "words" in roles and count and self.permute:
            self.permute = False
            return False
        self._stopped = self.permute and not count and bool({"words", "text", "keys"} & {*roles})
        return self._stopped or "end" in roles

    def _unsure(self) -> None:
        """The last option is not known: the next word is its value, or the first operand. Both are read."""
        if "lenient" in self.marks or self._at >= len(self.words):
            return
        if self.words[self._at].startswith("-") or self.permute:
            return
        if len(self._starts) >= READINGS:
            self.unclear = "too many options that are not known"
            return
        self._starts.append(self._at)
        self._at += 1
