"""Quoting operators and here-documents of perl, ruby, php and lua."""

import re

from keisei.rules.shell.code.dialect import Dialect
from keisei.rules.shell.code.literal import PAIRS, Literals

_PERL = re.compile(r"(qq|qw|qx|qr|tr|q|m|s|y)(?![\w])(\s*)(?=[^\s\w,;)=]|=(?![=~>\s]))")
_RUBY = re.compile(r"%([qQwWiIxrs]?)(?=[(\[{<|!/])")
_HERE = re.compile(r"<<<?[~-]?\s?([\"'`]?)([A-Za-z_]\w*)\1")
_LONG = re.compile(r"\[(=*)\[\n?")
_LETTERS = re.compile(r"[a-z]*")
_GAP = re.compile(r"\s*")
_TAGS = 128
"""More here-documents are not looked for."""


class Quotations(Literals):
    """Reads strings that are written with operators of their own."""

    def __init__(self, text: str, dialect: Dialect) -> None:
        super().__init__(text, dialect)
        self._here = 0
        self._tags: set[str] = set()
        self.computed = False
        """Whether the code evaluates text it computes, by a flag of a substitution."""

    def _special(self, *, spaced: bool) -> bool:
        if self._dialect.long and self._text[self._at] == "[":
            return self._long(spaced=spaced)
        kind = self._dialect.quoters
        if kind == "perl" and self._perl(spaced=spaced):
            return True
        if kind == "ruby" and self._ruby(spaced=spaced):
            return True
        return kind in {"perl", "ruby", "php"} and self._heredoc(spaced=spaced)

    def _long(self, *, spaced: bool) -> bool:
        match = _LONG.match(self._text, self._at)
        if not match:
            return False
        end = self._text.find(f"]{match[1]}]", match.end())
        end = len(self._text) if end < 0 else end
        self._add("str", self._text[match.end() : end], spaced=spaced)
        self._at = end + 2 + len(match[1])
        return True

    def _perl(self, *, spaced: bool) -> bool:
        match = _PERL.match(self._text, self._at)
        last = self.tokens[-1].text if self.tokens else ""
        if not match or (self._at and (self._text[self._at - 1].isalnum() or self._text[self._at - 1] in "$@%&_")):
            return False
        delimiter = self._text[match.end()]
        if last in {"->", "sub", "-"} or (last == "{" and delimiter == "}") or delimiter in {"$", "@", "%"}:
            return False
        if (match[2] and delimiter in "#=-+*.") or self._text.startswith("=>", match.end()):
            return False
        self._at = match.end()
        self._perl_quote(match[1], delimiter, spaced=spaced)
        return True

    def _perl_quote(self, operator: str, delimiter: str, *, spaced: bool) -> None:
        rich = operator in {"qq", "qx", "m", "qr", "s"} and delimiter != "'"
        first = self._delimited(delimiter, rich=rich and operator in {"qq", "qx"})
        if operator in {"s", "tr", "y"}:
            self._substitution(operator, delimiter)
        if operator in {"m", "qr", "s"}:
            self._holes(first)
        if operator in {"m", "qr", "s", "tr", "y"}:
            flags = _LETTERS.match(self._text, self._at)
            self._at = flags.end() if flags else self._at
            self._add("re", "", spaced=spaced)
        elif operator == "qw":
            self._words(first, spaced=spaced)
        else:
            self._add("cmd" if operator == "qx" else "str", first, spaced=spaced)

    def _words(self, text: str, *, spaced: bool) -> None:
        self._add("op", "[", spaced=spaced)
        for word in text.split():
            self._add("str", word, spaced=True)
            self._add("op", ",", spaced=False)
        self._add("op", "]", spaced=False)

    def _substitution(self, operator: str, delimiter: str) -> None:
        if delimiter in PAIRS:
            gap = _GAP.match(self._text, self._at)
            self._at = gap.end() if gap else self._at
            delimiter = self._text[self._at : self._at + 1] or "/"
        else:
            self._at -= 1
        second = self._delimited(delimiter, rich=False)
        flags = _LETTERS.match(self._text, self._at)
        letters = flags[0] if flags and operator == "s" else ""
        if "e" in letters:
            self.inner.append(second)
            self.computed = self.computed or letters.count("e") > 1

    def _ruby(self, *, spaced: bool) -> bool:
        match = _RUBY.match(self._text, self._at)
        if not match or (self._after_value(spaced=spaced) and not (match[1] and spaced)):
            return False
        self._at = match.end()
        content = self._delimited(self._text[self._at], rich=match[1] not in {"q", "w", "i", "s"})
        if match[1] in {"w", "W", "i", "I"}:
            self._words(content, spaced=spaced)
        elif match[1] == "r":
            self._add("re", "", spaced=spaced)
        else:
            self._add("cmd" if match[1] == "x" else "str", content, spaced=spaced)
        return True

    def _heredoc(self, *, spaced: bool) -> bool:
        match = _HERE.match(self._text, self._at)
        if not match or (self._text.startswith("<<<", self._at) != (self._dialect.quoters == "php")):
            return False
        if (not match[1] and not match[2][0].isupper()) or match[2] in self._tags or len(self._tags) > _TAGS:
            return False
        line = max(self._text.find("\n", match.end()), self._here - 1)
        end = re.compile(rf"^[ \t]*{re.escape(match[2])}\b", re.MULTILINE).search(self._text, line + 1)
        self._tags.update([match[2]] if line < 0 or not end else [f" {self._at}"])
        if line < 0 or not end:
            return False
        outer, self._text = self._text, self._text[line + 1 : end.start()]
        self._at = 0
        body = self._body("\x03", "", rich=match[1] != "'")
        self._text, self._at = outer, match.end()
        self._here = end.end()
        self._add("cmd" if match[1] == "`" else "str", body, spaced=spaced)
        return True
