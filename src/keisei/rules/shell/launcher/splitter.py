"""Words of `env -S`: split as env does, with what only the run knows marked as unknown."""

from keisei.records.effect import UNKNOWN

ESCAPES = {"n": "\n", "t": "\t", "f": "\f", "r": "\r", "v": "\v", "_": " "}
BLANK = " \t\n\v\f\r"


class _Splitter:
    """Words of `env -S`: blanks, both quotes, backslashes, `${NAME}` (not known) and comments."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.words: list[str] = []
        self._word: list[str] | None = None
        self._mode = ""
        self._at = 0
        while self._at < len(text):
            self._at += 1
            self._step(text[self._at - 1])
        self._end()

    def _step(self, char: str) -> None:
        following = self.text[self._at : self._at + 1]
        if char == "\\" and following and (self._mode != "'" or following in "'\\"):
            self._at += 1
            self._escape(following)
        elif char == self._mode:
            self._mode = ""
        elif char in "'\"" and not self._mode:
            self._mode = char
            self._add("")
        elif char in BLANK and not self._mode:
            self._end()
        elif char == "#" and not self._mode and self._word is None:
            self._at = len(self.text)
        elif char == "$" and following == "{" and self._mode != "'":
            self._add(UNKNOWN)
            end = self.text.find("}", self._at)
            self._at = end + 1 if end >= 0 else len(self.text)
        else:
            self._add(char)

    def _escape(self, char: str) -> None:
        if char == "c":
            self._at = len(self.text)
        elif char == "_" and not self._mode:
            self._end()
        else:
            self._add(ESCAPES.get(char, char))

    def _add(self, text: str) -> None:
        self._word = self._word or []
        self._word.append(text)

    def _end(self) -> None:
        if self._word is not None:
            self.words.append("".join(self._word))
        self._word = None


def split_words(text: str) -> list[str]:
    """The words of a text, as `env -S` splits it."""
    return _Splitter(text).words
