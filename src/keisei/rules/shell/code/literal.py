"""Strings of script languages, with the variables and the code inside them."""

import re

from keisei.records.effect import UNKNOWN
from keisei.rules.shell.code.dialect import Dialect, Token
from keisei.rules.shell.code.result import names

VAR_OPEN, VAR_CLOSE = "\x01", "\x02"
"""Around the name of a variable inside a string."""
PAIRS = {"(": ")", "[": "]", "{": "}", "<": ">"}
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "e": "\x1b", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_HEX = re.compile(r"x\{?([0-9A-Fa-f]{1,6})\}?|u\{([0-9A-Fa-f]{1,6})\}|u([0-9A-Fa-f]{4})|([0-7]{2,3})")
_NAME = re.compile(r"\{?\^?([A-Za-z_]\w*(?:::\w+)*|\d+|[&!@_0,;.])\}?((?:->)?[\[{][^\]}]*[\]}])*")
_BRACED = re.compile(r"\$\{\w+\}")
_PLAIN = re.compile(r"\s*([A-Za-z_$][\w$]*)\s*\}")
_BEFORE_PATTERN = frozenset(
    names(
        "if unless while until and or not split grep map return x when in of typeof case do else elsif push print "
        "match puts then"
    )
)


class Literals:
    """Reads strings of one text. Code inside them is collected in `inner`, to be read as code by itself."""

    def __init__(self, text: str, dialect: Dialect) -> None:
        self._text = text
        self._dialect = dialect
        self._at = 0
        self.inner: list[str] = []
        self.tokens: list[Token] = []

    def _add(self, kind: str, text: str, *, spaced: bool) -> None:
        self.tokens.append(Token(kind, text, spaced))

    def _after_value(self, *, spaced: bool) -> bool:
        last = self.tokens[-1] if self.tokens else None
        if last is None or last.kind == "nl":
            return False
        if last.kind == "word":
            tight = self._text[self._at + 1 : self._at + 2] not in {" ", "="}
            return last.text not in _BEFORE_PATTERN and not (self._dialect.quoters == "ruby" and spaced and tight)
        return last.kind in {"str", "num", "cmd", "re"} or last.text in {")", "]", "}"}

    def _holes(self, pattern: str) -> None:
        """Code inside a pattern is code."""
        if self._dialect.holes == "#{":
            for piece in re.findall(r"#\{([^}]*)\}", pattern):
                self.inner.append(piece)
        if "(?{" in pattern or "(??{" in pattern:
            self.inner.extend(re.findall(r"\(\?\??\{(.*?)\}\)", pattern))

    def _quoted(self, quote: str, *, rich: bool, template: bool = False) -> str:
        self._at += 1
        return self._body(quote, "", rich=rich, template=template)

    def _body(self, closing: str, opening: str, *, rich: bool, template: bool = False) -> str:
        """The content of a string up to its end, which is passed over."""
        text, made, depth = self._text, [], 0
        while self._at < len(text):
            sign = text[self._at]
            if sign == "\\" and self._at + 1 < len(text):
                made.append(self._escape(closing, rich=rich))
                continue
            if sign == closing and depth == 0:
                self._at += 1
                break
            depth += (sign == opening) - (sign == closing)
            hole = self._hole(template=template) if rich else None
            if hole is None:
                made.append(sign)
                self._at += 1
            else:
                made.append(hole)
        return "".join(made)

    def _escape(self, closing: str, *, rich: bool) -> str:
        after = self._text[self._at + 1]
        if not rich and self._dialect.quoters != "js":
            self._at += 2
            return after if after in {closing, "\\"} else f"\\{after}"
        match = _HEX.match(self._text, self._at + 1)
        if match:
            self._at = match.end()
            digits = match[1] or match[2] or match[3]
            code = int(digits, 16) if digits else int(match[4], 8)
            return chr(code) if 0 < code < 0xD800 else UNKNOWN  # noqa: PLR2004 - the first surrogate
        self._at += 2
        return "" if after == "\n" else _ESCAPES.get(after, after)

    def _hole(self, *, template: bool) -> str | None:
        """A variable or code inside a string; None where there is plain text."""
        text, at, holes = self._text, self._at, self._dialect.holes
        if text[at] == UNKNOWN:
            self._at += 1
            return UNKNOWN
        if (template and text.startswith("${", at)) or (holes == "#{" and text.startswith("#{", at)):
            name = _PLAIN.match(text, at + 2) if template else None
            if name:
                self._at = name.end()
                return f"{VAR_OPEN}{name[1]}{VAR_CLOSE}"
            return self._code(at + 2)
        if holes == "$":
            return self._variable()
        return None

    def _variable(self) -> str | None:
        text, at = self._text, self._at
        if text.startswith(("@{", "${", "{$"), at) and not _BRACED.match(text, at):
            return self._code(at + 2)
        if text[at] == "$" or (text[at] == "@" and self._dialect.quoters == "perl"):
            match = _NAME.match(text, at + 1)
            if match and (text[at] == "$" or match[1][0].isalpha()):
                self._at = match.end()
                whole = match[0].strip("{}")
                return f"{VAR_OPEN}{text[at]}{whole}{VAR_CLOSE}" if whole == match[1] else UNKNOWN
        return None

    def _code(self, start: int) -> str:
        """Code in braces inside a string: read later by itself, its value unknown."""
        depth, at, text = 1, start, self._text
        while at < len(text) and depth:
            depth += (text[at] == "{") - (text[at] == "}")
            at += 1
        self._at = at
        self.inner.append(text[start : at - 1])
        return UNKNOWN

    def _delimited(self, delimiter: str, *, rich: bool) -> str:
        self._at += 1
        closing = PAIRS.get(delimiter, delimiter)
        return self._body(closing, delimiter if closing != delimiter else "", rich=rich)
