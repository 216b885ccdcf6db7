"""Files in JavaScript: what the functions of node's fs module do, and by which names the code knows them."""

from collections.abc import Iterator

from keisei.records.effect import UNKNOWN
from keisei.rules.shell.code.dialect import Token
from keisei.rules.shell.code.result import names
from keisei.rules.shell.code.scan import Scan, closing

MODULES = frozenset(names("fs node:fs fs/promises node:fs/promises fs-extra graceful-fs"))
_OWNERS = names("fs fsp fsPromises promises fse")
_KINDS = {
    "touch w0": "writeFile appendFile createWriteStream mkdir truncate chmod chown lchown lchmod utimes lutimes "
    "mkdtemp outputFile ensureDir ensureFile writeJson writeJSON outputJson outputJSON mkdirp emptyDir",
    "touch w1": "copyFile cp copy",
    "link symbolic": "symlink",
    "link": "link",
    "touch d0": "rm unlink rmdir remove",
    "touch d0 w1": "rename move",
    "open": "open",
}
KINDS = {
    form: kind for kind, all_names in _KINDS.items() for name in names(all_names) for form in (name, f"{name}Sync")
}
"""What a function of the module does, by its name."""
_LOADING = frozenset(names("require import getBuiltinModule _load"))
_BACK = 64
"""So many tokens are looked back at for the names that a statement gives."""


def file_table() -> dict[str, str]:
    """The functions that are known by their name alone, or by what they are called on."""
    table: dict[str, str] = {}
    for name, kind in KINDS.items():
        table |= {f"{owner}.{name}": kind for owner in (*_OWNERS, "Deno")}
        if name.endswith("Sync") and kind != "open":
            table[f".{name}"] = table[name] = kind
        if name in {"writeFile", "appendFile", "createWriteStream", "copyFile", "unlink"}:
            table[f".{name}"] = table[name] = kind
    return table


class FileNames:
    """The names of the module and of its functions in one piece of code."""

    def __init__(self, scan: Scan) -> None:
        self._scan = scan
        self._row = scan.tokens
        self.owners = set(_OWNERS)
        self.evaluates = any(token.text == "eval" for token in self._row)
        """Whether the code has the word that makes a worker read code."""
        for at, token in enumerate(self._row):
            if token.kind == "str" and scan.content(token) in MODULES:
                self._loaded(at)
        for at, token in enumerate(self._row):
            if token.text == "=" and token.kind == "op":
                self._given(at)

    def holds(self, at: int) -> bool:
        """Whether the value that ends at a token is the module."""
        token = self._row[at]
        if token.kind == "word":
            return token.text in self.owners
        if token.text != ")" or token.kind != "op":
            return False
        start = _opening(self._row, at)
        loading = start > 0 and self._row[start - 1].text in _LOADING
        whole = self._scan.fold(self._row[start + 1 : at]) if loading else None
        group = self._row[start:at]
        return (
            whole in MODULES
            if isinstance(whole, str)
            else any(one.kind == "str" and self._scan.content(one) in MODULES for one in group)
        )

    def kind(self, at: int) -> str | None:
        """What the function of the module at a token does; None where it is not one."""
        dotted = at > 1 and self._row[at - 1].text in {".", "?."} and self._row[at].kind == "word"
        return KINDS.get(self._row[at].text) if dotted and self.holds(at - 2) else None

    def _loaded(self, at: int) -> None:
        """`import {a as b} from 'fs'`, `const {a: b} = require('fs')`, `import('fs').then(({a}) => ...)`."""
        before = self._row[at - 1].text if at else ""
        self.owners.add("default")
        if before == "from":
            start = next(
                (place for place in range(at, max(-1, at - _BACK), -1) if self._row[place].text == "import"), at
            )
            self._imported(self._row[start + 1 : at - 1])
        elif before == "(" and at > 1 and self._row[at - 2].text in _LOADING:
            self._called(closing(self._row, at - 1))

    def _imported(self, row: list[Token]) -> None:
        opening = next((place for place, one in enumerate(row) if one.text == "{"), len(row))
        self._learn(row[opening:])
        self.owners |= {one.text for one in row[:opening] if one.kind == "word" and one.text != "as"}

    def _called(self, end: int) -> None:
        after = [one.text for one in self._row[end + 1 : end + 4]]
        if after[:3] == [".", "then", "("]:
            last = next((n for n in range(end + 4, min(len(self._row), end + _BACK)) if self._row[n].text == "=>"), end)
            group = self._row[end + 4 : last]
            self._learn(group)
            self.owners |= {one.text for one in group if one.kind == "word"} if len(group) < len("({a}") else set()

    def _given(self, at: int) -> None:
        """What stands left of a sign is another name of what stands right of it."""
        end = self._scan.statement_end(at + 1)
        while end > at + 1 and self._row[end - 1].kind == "nl":
            end -= 1
        if end <= at + 1 or at == 0:
            return
        last, left = end - 1, self._row[at - 1]
        if self._row[last].text == ")" and self.kind(last - 1):
            last -= 1
        kind = self.kind(last)
        if kind and left.kind == "word":
            self._scan.aliases[left.text] = kind
        elif left.kind == "word" and any(self._whole(place) for place in range(at + 1, end)):
            self.owners.add(left.text)
        elif self.holds(last) and left.text == "}":
            self._learn(self._row[_opening(self._row, at - 1) : at])

    def _whole(self, at: int) -> bool:
        """Whether the value that ends at a token is the module, and no part of it is taken at once."""
        after = self._row[at + 1].text if at + 1 < len(self._row) else ""
        return after not in {".", "?.", "[", "(", ":"} and self.holds(at)

    def _learn(self, row: list[Token]) -> None:
        """The names in braces, each with its other name if it has one."""
        if any(one.text == "[" for one in row):
            self._scan.found.write(UNKNOWN)
        for place, one in enumerate(row[1:-1], 1):
            if one.text == "." and row[place - 1].text == ".." and row[place + 1].kind == "word":
                self.owners.add(row[place + 1].text)
        words = [one for one in row if one.kind == "word" or one.text in {":", ","}]
        for place, one in enumerate(words):
            after = words[place + 1].text if place + 1 < len(words) else ""
            name = words[place + 2].text if after in {":", "as"} and place + 2 < len(words) else one.text
            if one.text in {"promises", "default"}:
                self.owners.add(name)
            elif one.text in KINDS:
                self._scan.aliases[name] = KINDS[one.text]


def borrowed(scan: Scan, at: int) -> Iterator[tuple[str, list[list[Token]]]]:
    """`fs.rmSync.call(fs, 'x')`, `(0, fs.rmSync)('x')`: what is done, and with which arguments."""
    kind = KINDS.get(scan.tokens[at].text)
    after = [one.text for one in scan.tokens[at + 1 : at + 3]]
    if after == [")", "("] and scan.memory.kind(at):
        yield scan.memory.kind(at), scan.arguments(at + 1) or []
    if kind and len(after) > 1 and after[0] == "." and after[1] in {"call", "apply", "bind"}:
        arguments = scan.arguments(at + 2) or []
        yield (kind, arguments[1:]) if after[1] == "call" else ("touch w0", [[Token("str", UNKNOWN)]])


def _opening(row: list[Token], at: int) -> int:
    """Where the bracket that is closed at a token opens."""
    depth = 0
    for place in range(at, max(-1, at - _BACK), -1):
        if row[place].kind == "op":
            depth += (row[place].text in ")]}") - (row[place].text in "([{")
            if depth == 0:
                return place
    return max(0, at - _BACK)
