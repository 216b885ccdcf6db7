"""Reading a row of tokens: constants, calls with their arguments, and what known functions do with them."""

import itertools
import re
from typing import Any

from keisei.records.effect import UNKNOWN
from keisei.rules.shell.code.deed import DEEDS, Either, Value, flat
from keisei.rules.shell.code.dialect import Token
from keisei.rules.shell.code.language import Language
from keisei.rules.shell.code.lexer import Lexer
from keisei.rules.shell.code.literal import VAR_CLOSE, VAR_OPEN
from keisei.rules.shell.code.result import Code, Found, names

_OPEN, _CLOSE = {"(": ")", "[": "]", "{": "}"}, frozenset(")]}")
_HELD = re.compile(f"{VAR_OPEN}(.*?){VAR_CLOSE}")
_ENDS = frozenset(names("if unless or and while until do end then rescue for"))
_TRIVIAL = re.compile(r"[\w\s.$@:]*")
_STANDARD = frozenset(names("stdout stderr STDOUT STDERR $stdout $stderr fd"))
_DEEPEST = 4
_INSIDES = 512
_BUDGET = 200_000
"""So many tokens are looked at as arguments; then the rest is opaque."""
_EACH = 64
_REACH = 1024
"""Expressions of more tokens are not constants."""


class Scan:
    """The tokens of one piece of code, with its constants."""

    def __init__(self, language: Language, text: str, found: Found, depth: int = 0) -> None:
        self.language = language
        self.found = found
        self._depth = depth
        self._budget = _BUDGET
        lexer = Lexer(text, language.dialect)
        self.tokens = lexer.read()
        self.constants: dict[str, Value] = {}
        self.aliases: dict[str, str] = {}
        self.memory: Any = None
        """What a language keeps about the code while it is read."""
        self._insides([inner for inner in lexer.inner if not _TRIVIAL.fullmatch(inner)])
        if lexer.computed:
            found.opaque("It evaluates text that it computes.")

    def _insides(self, texts: list[str]) -> None:
        for inner in texts[:_INSIDES]:
            self.recurse(inner)
        if len(texts) > _INSIDES:
            self.found.opaque("It has more code inside its strings than can be read.")

    def run(self) -> None:
        """Find everything the code starts and touches."""
        if self.language.prepare:
            self.language.prepare(self)
        self._learn()
        for at, token in enumerate(self.tokens):
            if token.kind == "cmd":
                self.found.script(self.content(token))
            elif token.kind == "word":
                self._word(at)
            if self.language.besides:
                self.language.besides(self, at)

    def recurse(self, text: str) -> None:
        """Code inside the code."""
        if self._depth >= _DEEPEST:
            self.found.opaque("It evaluates code inside code too deeply to be read.")
            return
        Scan(self.language, text, self.found, self._depth + 1).run()

    # --- constants

    def _learn(self) -> None:
        spent = 0
        for at in range(1, len(self.tokens) - 1):
            token = self.tokens[at]
            if token.kind != "op" or token.text not in {"=", "+=", ".=", "<-"} or self.tokens[at - 1].kind != "word":
                continue
            name, end = self.tokens[at - 1].text, self.statement_end(at + 1)
            spent += end - at
            plain = token.text in {"=", "<-"} and spent < _BUDGET // 4
            value = self.fold(self.tokens[at + 1 : end]) if plain else None
            if name in self.constants and self.constants[name] != value:
                value = None
            self.constants[name] = value
            self._alias(name, at + 1, end)

    def _alias(self, name: str, start: int, end: int) -> None:
        """`f = os.execute` makes f a starter as well."""
        if start < end and self.tokens[end - 1].kind == "word":
            kind = self.kind(end - 1)
            if kind:
                self.aliases[name] = kind

    def statement_end(self, at: int) -> int:
        """Where the statement that starts at a token ends."""
        depth, last = 0, min(len(self.tokens), at + _REACH // 8)
        while at < last:
            token = self.tokens[at]
            if token.kind == "op":
                depth += (token.text in _OPEN) - (token.text in _CLOSE)
                if depth < 0 or (depth == 0 and token.text in {";", ",", "="}):
                    return at
            elif (token.kind == "nl" and depth == 0) or (
                token.kind == "word" and depth == 0 and token.text in _ENDS and self.language.bare
            ):
                return at
            at += 1
        return at

    def content(self, token: Token) -> str:
        """The text of a string token, its variables filled in where they are constant."""
        return _HELD.sub(self._filled, token.text)

    def _filled(self, match: re.Match[str]) -> str:
        value = self.constants.get(match[1])
        return value if isinstance(value, str) else UNKNOWN

    def fold(self, tokens: list[Token]) -> Value:
        """The constant that an expression is: text with UNKNOWN in it, a list of texts, or None."""
        row = [one for one in tokens if one.kind != "nl"]
        if row and row[0] == Token("op", "(", row[0].spaced) and closing(row, 0) == len(row) - 1:
            row = row[1:-1]
        if row and row[0].text in {"[", "("} and row[0].kind == "op" and closing(row, 0) == len(row) - 1:
            return [flat(self.fold(part)) for part in split(row[1:-1])]
        if len(split(row)) > 1:
            return [flat(self.fold(part)) for part in split(row)]
        if len(row) > 1 and row[0].text in {"c", "list", "array"} and row[1].text == "(":
            return self.fold(row[1:]) if len(split(row[2:-1])) > 1 else [flat(self.fold(row[2:-1]))]
        return self._sum(row)

    def _sum(self, row: list[Token]) -> Value:
        made: list[str] = []
        for part in split(row, self.language.glue):
            value = self._term(part)
            if isinstance(value, list):
                return value if part == row else None
            made.append(UNKNOWN if value is None else value)
        whole = "".join(made)
        return None if not row or (whole.strip(UNKNOWN) == "" and UNKNOWN in whole) else whole

    def _term(self, part: list[Token]) -> Value:
        if len(part) == 1 and part[0].kind == "str":
            return self.content(part[0])
        if len(part) == 1 and part[0].kind == "num":
            return part[0].text
        if len(part) == 1 and part[0].kind == "word":
            return self.constants.get(part[0].text)
        if part and part[0].text == "(" and closing(part, 0) == len(part) - 1:
            return self.fold(part[1:-1])
        if part and all(one.kind == "str" for one in part):
            return "".join(self.content(one) for one in part)
        return self.language.value(self, part) if part and self.language.value else None

    # --- calls

    def arguments(self, at: int) -> list[list[Token]] | None:
        """The arguments of the function whose name is at a token; None where it is not called."""
        start = at + 1
        if start >= len(self.tokens) or not self._affordable():
            return None
        first = self.tokens[start]
        if first.text == "?." and first.kind == "op":
            start += 1
            first = self.tokens[start] if start < len(self.tokens) else first
        if first.kind == "op" and first.text == "(" and not (self.language.bare and first.spaced):
            return self._paid(self.tokens[start + 1 : closing(self.tokens, start)])
        if first.kind == "str" and self.language.name in {"lua", "js"}:
            return [[first]]
        if not self.language.bare or first.kind == "nl" or not _begins(first):
            return None
        return self._paid(_unwrapped(self.tokens[start : self._end(start)]))

    def _affordable(self) -> bool:
        if self._budget <= 0:
            self.found.opaque("It is more code than can be read.")
        return self._budget > 0

    def _paid(self, row: list[Token]) -> list[list[Token]]:
        self._budget -= len(row) * 4 + 1
        return split(row, (",",)) if self.language.name == "js" else split(row)

    def _end(self, at: int) -> int:
        depth, last = 0, min(len(self.tokens), at + _REACH)
        while at < last:
            token = self.tokens[at]
            if token.kind == "op":
                depth += (token.text in _OPEN) - (token.text in _CLOSE)
                if depth < 0 or (depth == 0 and token.text in {";", "||", "&&"}):
                    return at
            elif depth == 0 and (token.kind == "nl" or (token.kind == "word" and token.text in _ENDS)):
                return at
            at += 1
        return at

    def receiver(self, at: int) -> str:
        """What a function is called on: a name, `?` where it is more than a name, nothing where nothing."""
        if at < 1 or self.tokens[at - 1].kind != "op" or self.tokens[at - 1].text not in (*self.language.dots, "?."):
            return ""
        if at > 1 and self.tokens[at - 2].kind == "word":
            return self.tokens[at - 2].text
        return "?"

    def kind(self, at: int) -> str | None:
        """What the function at a token does; None where it is not known."""
        name, owner = self.tokens[at].text, self.receiver(at)
        table = self.language.table
        if not owner:
            return self.aliases.get(name) or table.get(name)
        return table.get(f"{owner}.{name}") or table.get(f".{name}")

    def _word(self, at: int) -> None:
        kind = self.kind(at)
        if kind is None or self._mentioned(at):
            return
        arguments = self.arguments(at)
        if arguments is not None:
            self.act(kind, arguments)

    def _mentioned(self, at: int) -> bool:
        """Whether a word is only a key or the name of a definition."""
        before = self.tokens[at - 1] if at else None
        after = self.tokens[at + 1] if at + 1 < len(self.tokens) else None
        if after and after.kind == "op" and after.text in {"=>", ":", "="}:
            return True
        return before is not None and before.kind == "word" and before.text in self.language.defines

    def act(self, kind: str, arguments: list[list[Token]]) -> None:
        """Note what a function of a kind does with its arguments."""
        name, _, rest = kind.partition(" ")
        given = [one for one in arguments if one]
        if name == "open":
            given = [one for one in map(_option, given) if one]
        read = self._target if name in {"open", "touch", "link"} else self.fold
        for values in _each([read(one) for one in given]):
            DEEDS[name](self, values, rest)

    def _target(self, row: list[Token]) -> Value:
        """A path; a number and a standard stream are handles of files that are open already."""
        handle = len(row) == 1 and row[0].kind == "num"
        if handle or any(one.kind == "word" and one.text in _STANDARD for one in row):
            return "/dev/stdout"
        return self.fold(row)


def _each(values: list[Value]) -> list[list[Value]]:
    """The arguments, once for every text that one of them may be; unknown where that is too often."""
    choices = [value if isinstance(value, Either) else [value] for value in values]
    made = [list(some) for some in itertools.islice(itertools.product(*choices), _EACH + 1)]
    return made if len(made) <= _EACH else [[None if isinstance(one, Either) else one for one in values]]


def _option(row: list[Token]) -> list[Token]:
    """An argument of a function that opens; of a named one only what `mode:` gives, of a function nothing."""
    if len(row) > 1 and row[0].kind == "word" and row[1].text == ":":
        return row[2:] if row[0].text == "mode" else []
    return [] if any(one.text in {"=>", "function", "RDONLY", "O_RDONLY"} for one in row) else row


def _begins(token: Token) -> bool:
    return (
        token.kind in {"str", "cmd", "num"}
        or (token.kind == "word" and token.text not in _ENDS)
        or (token.kind == "op" and token.text in {"(", "[", "{", "\\", "<"})
    )


def _unwrapped(row: list[Token]) -> list[Token]:
    return row[1:-1] if row and row[0].text == "(" and closing(row, 0) == len(row) - 1 else row


def closing(row: list[Token], at: int) -> int:
    """Where the bracket that opens at a token is closed."""
    depth = 0
    last = min(len(row), at + _REACH)
    for place in range(at, last):
        if row[place].kind == "op":
            depth += (row[place].text in _OPEN) - (row[place].text in _CLOSE)
            if depth == 0:
                return place
    return last


def split(row: list[Token], signs: tuple[str, ...] = (",", "=>")) -> list[list[Token]]:
    """The parts between some signs, those inside brackets left alone."""
    parts: list[list[Token]] = [[]]
    depth = 0
    for token in row:
        if token.kind == "op":
            depth += (token.text in _OPEN) - (token.text in _CLOSE)
            if depth == 0 and token.text in signs:
                parts.append([])
                continue
        if token.kind != "nl":
            parts[-1].append(token)
    return [part for part in parts if part]


def scanned(language: Language, text: str) -> Code:
    """What code of a language starts and touches."""
    found = Found()
    Scan(language, text, found).run()
    return found.code()
