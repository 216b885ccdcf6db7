"""A lexer for script languages: tells strings, comments and patterns from code. No grammar, and it never fails."""

import re

from keisei.rules.shell.code.dialect import Dialect, Token
from keisei.rules.shell.code.quotation import Quotations

_FLAGS = re.compile(r"[a-z]*")
_NUMBER = re.compile(r"\d[\w.]*")
_TWO = frozenset(
    {
        "=>",
        "->",
        "::",
        "==",
        "!=",
        "=~",
        "!~",
        "<=",
        ">=",
        "&&",
        "||",
        "..",
        ".=",
        "+=",
        "-=",
        "|=",
        "<<",
        ">>",
        "|&",
        "|>",
        "<-",
        "?.",
    }
)

_STARTS = frozenset(sign[0] for sign in _TWO) | {"$", "@"}


class Lexer(Quotations):
    """Reads one text into tokens."""

    def __init__(self, text: str, dialect: Dialect) -> None:
        super().__init__(text, dialect)
        self._word = re.compile(dialect.word)
        self._simple = frozenset("(){},;" if dialect.long or dialect.quoters == "php" else "()[]{},;")
        self._simple |= {sign for sign in "~^?*+:@$&!|>" if not self._word.match(f"{sign}a") and sign not in _STARTS}
        self._simple -= {mark[0] for mark in (*dialect.comments, *(pair[0] for pair in dialect.blocks))}

    def read(self) -> list[Token]:
        """All tokens of the text."""
        spaced = True
        while self._at < len(self._text):
            start = self._at
            if self._text[start] in self._simple or self._text[start] > "\x7f":
                self._at += 1
                self.tokens.append(Token("op", self._text[start], spaced))
                spaced = False
                continue
            if self._skipped():
                spaced = True
                continue
            count = len(self.tokens)
            self._next(spaced=spaced)
            self._at = max(self._at, start + 1)
            spaced = spaced and len(self.tokens) == count
        return self.tokens

    def _skipped(self) -> bool:
        text, at = self._text, self._at
        if text[at] in " \t\r":
            self._at += 1
            return True
        if text[at] == "\\" and text[at + 1 : at + 2] == "\n":
            self._at += 2
            return True
        for opening, closing in self._dialect.blocks:
            if text.startswith(opening, at) and (opening[0] != "=" or at == 0 or text[at - 1] == "\n"):
                end = text.find(closing, at + len(opening))
                self._at = len(text) if end < 0 else end + len(closing)
                return True
        if text.startswith(self._dialect.comments, at) if self._dialect.comments else False:
            end = text.find("\n", at)
            self._at = len(text) if end < 0 else end
            return True
        return False

    def _next(self, *, spaced: bool) -> None:
        text, at = self._text, self._at
        sign = text[at]
        if sign == "\n":
            self._at = max(at + 1, self._here)
            self._add("nl", "\n", spaced=spaced)
        elif self._special(spaced=spaced):
            return
        elif sign in self._dialect.plain:
            self._add("str", self._quoted(sign, rich=False), spaced=spaced)
        elif sign in self._dialect.rich:
            self._add("str", self._quoted(sign, rich=True), spaced=spaced)
        elif sign == "`" and self._dialect.tick:
            kind = "cmd" if self._dialect.tick == "cmd" else "str"
            self._add(kind, self._quoted("`", rich=True, template=kind == "str"), spaced=spaced)
        elif sign == "/" and self._dialect.patterns and not self._after_value(spaced=spaced):
            self._pattern(spaced=spaced)
        else:
            self._plain(spaced=spaced)

    def _plain(self, *, spaced: bool) -> None:
        match = self._word.match(self._text, self._at)
        if match and match.end() > self._at:
            self._at = match.end()
            self._add("word", match[0], spaced=spaced)
            return
        number = _NUMBER.match(self._text, self._at)
        if number:
            self._at = number.end()
            self._add("num", number[0], spaced=spaced)
            return
        two = self._text[self._at : self._at + 2]
        sign = two if two in _TWO else two[0]
        self._at += len(sign)
        self._add("op", sign, spaced=spaced)

    def _pattern(self, *, spaced: bool) -> None:
        text, at, inside = self._text, self._at + 1, False
        while at < len(text) and text[at] != "\n" and (inside or text[at] != "/"):
            if text[at] == "\\":
                at += 1
            elif text[at] == "[":
                inside = True
            elif text[at] == "]":
                inside = False
            at += 1
        if at >= len(text) or text[at] != "/":
            self._at += 1
            self._add("op", "/", spaced=spaced)
            return
        self._holes(text[self._at + 1 : at])
        self._at = at + 1
        flags = _FLAGS.match(text, self._at)
        self._at = flags.end() if flags else self._at
        self._add("re", text[:0], spaced=spaced)
