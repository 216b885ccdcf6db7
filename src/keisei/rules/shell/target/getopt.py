"""Words to calls, the way GNU getopt reads them.

Options stand anywhere, `--` ends them, short ones cluster, long ones may be shortened. No words confuse it, and time is
linear in their length.
"""

import re
from collections.abc import Sequence

from keisei.records.effect import UNKNOWN
from keisei.rules.shell.target.call import Call
from keisei.rules.shell.target.grammar import Grammar
from keisei.rules.shell.target.option import Option, options_of, shortened

_DIGITS = re.compile(r"x?[0-9a-fA-F]*|", re.ASCII)
_ALONE = re.compile(f"-{{0,2}}{UNKNOWN}+")


def parsed(key: str, grammar: Grammar, words: tuple[str, ...]) -> Call:
    """The words read by the grammar; the key is the program, or the program and its verb."""
    reader = _Reader(grammar, _unbundled(grammar, words))
    reader.read()
    found: dict[str, list[str]] = {}
    for name, value in reader.items:
        if name:
            found.setdefault(name, []).extend([] if value is None else [value])
    operands = tuple(value for name, value in reader.items if not name and value is not None)
    return Call(key, grammar, words, tuple(reader.items), operands, found, reader.loose)


class _Reader:
    """Reads words into items, one after the other."""

    def __init__(self, grammar: Grammar, words: Sequence[str]) -> None:
        self.grammar = grammar
        self.options = options_of(grammar.options)
        self.words = words
        self.at = 0
        self.items: list[tuple[str, str | None]] = []
        self.loose = False

    def read(self) -> None:
        while self.at < len(self.words):
            word = self.words[self.at]
            self.at += 1
            self.loose = self.loose or _ALONE.fullmatch(word) is not None
            if word == "--":
                self.rest(self.at)
            elif word == "-" or not word.startswith("-"):
                self.items.append(("", word))
                if self.grammar.posix:
                    self.rest(self.at)
            elif self.grammar.single:
                self.single(word)
            elif word.startswith("--"):
                self.long(word[2:])
            else:
                self.cluster(word)

    def rest(self, start: int) -> None:
        self.items += [("", word) for word in self.words[start:]]
        self.loose = self.loose or any(_ALONE.fullmatch(word) for word in self.words[start:])
        self.at = len(self.words)

    def take(self, option: Option, attached: str | None) -> None:
        value = attached
        if option.kind in ("1", "=") and value is None:
            value = self.following()
        self.items.append((option.name, value))
        if option.kind == "=":
            self.following()

    def following(self) -> str | None:
        if self.at >= len(self.words):
            return None
        self.at += 1
        return self.words[self.at - 1]

    def long(self, text: str) -> None:
        name, equals, value = text.partition("=")
        option = self.options.long.get(name) or shortened(self.grammar.options, name) or Option(name, "", "")
        self.take(option, value if equals else None)

    def single(self, word: str) -> None:
        name, equals, value = word.lstrip("-").partition("=")
        option = self.options.long.get(name) or self.options.short.get(name) or self.options.long.get(name.lower())
        letter = self.options.short.get(word[1]) if word[1] != "-" else None
        if option is None and letter is not None and letter.kind:
            self.take(letter, word[2:])
        else:
            self.take(option or Option(name, "", ""), value if equals else None)

    def cluster(self, word: str) -> None:
        at = 1
        while at < len(word):
            option = self.options.short.get(word[at]) or Option(word[at], "", "")
            at += 1
            if option.kind == "#":
                digits = _DIGITS.match(word, at)
                at = digits.end() if digits else at
                self.items.append((option.name, None))
            elif option.kind:
                return self.take(option, word[at:] or None)
            else:
                self.items.append((option.name, None))
                self.loose = self.loose or option.name == UNKNOWN
        return None


def _unbundled(grammar: Grammar, words: tuple[str, ...]) -> Sequence[str]:
    """The words with tar's old-style first word (`xzfC a.tgz dir`) as options with their values."""
    if grammar.shape != "tar" or not words or words[0].startswith("-") or UNKNOWN in words[0]:
        return words
    known, rest, plain = options_of(grammar.options).short, list(words[1:][::-1]), []
    for letter in words[0]:
        plain.append(f"-{letter}")
        if letter in known and known[letter].kind and rest:
            plain[-1] += rest.pop()
    return plain + rest[::-1]
