"""Variables and functions of makefiles, expanded as far as they are known."""

from keisei.records.effect import UNKNOWN
from keisei.rules.shell.code.result import Found, names

LARGE = 16 * 1024
"""Longer values are not known."""
_DEEP = 12
_BUILTIN = {
    "MAKE": "make",
    "SHELL": "/bin/sh",
    "CURDIR": ".",
    "RM": "rm -f",
    "CC": "cc",
    "CXX": "g++",
    "AR": "ar",
    "AWK": "awk",
    "INSTALL": "install",
    "PYTHON": UNKNOWN,
}


class Variables:
    """Variables of a makefile by name. What `$(shell)` runs while they are expanded is found."""

    def __init__(self, found: Found, overrides: dict[str, str]) -> None:
        self._found = found
        self._size = 0
        self.names: dict[str, str] = {**_BUILTIN, **overrides}

    def expand(self, text: str, local: dict[str, str] | None = None, depth: int = 0) -> str:
        """Text with its variables filled in; UNKNOWN for what is not known."""
        if "$" not in text:
            return text
        made: list[str] = []
        at = 0
        while at < len(text):
            dollar = text.find("$", at)
            if dollar < 0 or dollar + 1 >= len(text):
                made.append(text[at:])
                break
            made.append(text[at:dollar])
            value, at = self._reference(text, dollar + 1, local or {}, depth)
            made.append(value)
        self._size += len(text)
        whole = "".join(made)
        return whole if len(whole) < LARGE else UNKNOWN

    def _reference(self, text: str, at: int, local: dict[str, str], depth: int) -> tuple[str, int]:
        sign = text[at]
        if sign == "$":
            return "$", at + 1
        if sign not in "({":
            return local.get(sign, self.names.get(sign, UNKNOWN)), at + 1
        end = _closing(text, at)
        return self._named(text[at + 1 : end], local, depth), end + 1

    def _named(self, inside: str, local: dict[str, str], depth: int) -> str:
        if depth > _DEEP or self._size > LARGE * 64:
            return UNKNOWN
        function, _, rest = inside.partition(" ")
        if function == "shell":
            self._found.recipe(self.expand(rest.strip(), local, depth + 1))
            return UNKNOWN
        if function in _FUNCTIONS:
            values = self.expand(rest, local, depth + 1)
            return _FUNCTIONS[function](values)
        if function in _LAZY:
            self.expand(rest, local, depth + 1)
            return UNKNOWN
        name, colon, change = inside.partition(":")
        name = self.expand(name, local, depth + 1)
        if name in local:
            return local[name]
        if name not in self.names:
            return UNKNOWN
        value = self.expand(self.names[name], local, depth + 1)
        return _changed(value, change) if colon else value


def _words_of(text: str) -> str:
    return " ".join(text.split())


def _second(text: str) -> str:
    return text.split(",", 1)[-1].strip()


def _substituted(text: str) -> str:
    parts = text.split(",", 2)
    return parts[2].replace(parts[0], parts[1]) if len(parts) == len("abc") and parts[0] else UNKNOWN


def _prefixed(text: str) -> str:
    head, _, rest = text.partition(",")
    return " ".join(head + word for word in rest.split())


def _suffixed(text: str) -> str:
    tail, _, rest = text.partition(",")
    return " ".join(word + tail for word in rest.split())


_FUNCTIONS = {
    "strip": _words_of,
    "subst": _substituted,
    "addprefix": _prefixed,
    "addsuffix": _suffixed,
    "sort": _words_of,
    "filter": _second,
    "filter-out": _second,
    "abspath": _words_of,
    "realpath": _words_of,
}
_LAZY = frozenset(
    names(
        "wildcard foreach call if or and eval error warning info origin value dir notdir basename suffix patsubst word "
        "words wordlist firstword lastword join findstring file guile flavor"
    )
)


def _changed(value: str, change: str) -> str:
    """`$(NAMES:.c=.o)`."""
    old, _, new = change.partition("=")
    if "%" in old:
        return UNKNOWN
    return " ".join(
        word[: len(word) - len(old)] + new if old and word.endswith(old) else word for word in value.split()
    )


def _closing(text: str, at: int) -> int:
    opening, depth = text[at], 0
    closing = ")" if opening == "(" else "}"
    for place in range(at, len(text)):
        depth += (text[place] == opening) - (text[place] == closing)
        if depth == 0:
            return place
    return len(text)
