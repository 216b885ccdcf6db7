"""Words: what a word of shell text can become, as far as constants carry. Unknown parts are UNKNOWN.

A word has alternatives (a variable may hold one of several values), and each alternative is a row of fields (one word
may become several, or none). Falls closed: too many alternatives become one unknown field.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from keisei.records.effect import UNKNOWN
from keisei.rules.shell.atom import LONGEST, MOST, Atom, Fields, Node
from keisei.rules.shell.brace import braces
from keisei.rules.shell.escape import unescaped
from keisei.rules.shell.parameter import constant, recased, sliced, some, stripped, substituted
from keisei.rules.shell.variables import Variables

PLAIN: Final = re.compile(r"[A-Za-z0-9_./:@%+,=-]+")
"""A literal that nothing is expanded in."""
LARGEST: Final = 65536
"""Characters of a text that is followed as a whole: a document, a payload."""
NESTED: Final = 24
"""Braces in one word. More are nobody's handwriting."""
SPECIAL: Final = frozenset("?$!#-_")


class Expander:
    """Expands words with what is known of variables; `substitute` says what a command substitution can print."""

    def __init__(self, variables: Variables, substitute: Callable[[Node], Iterable[str]]) -> None:
        """Both are asked while a word is expanded."""
        self.variables = variables
        self.substitute = substitute

    def fields(self, word: Node) -> list[Fields]:
        """The alternatives of a word in a command line."""
        parts: list[Node] = word.get("Parts") or []
        if len(parts) == 1 and parts[0].get("Type") == "Lit" and PLAIN.fullmatch(parts[0].get("Value", "")):
            return [(parts[0]["Value"],)]
        atoms = list(self._atoms(word.get("Parts") or (), quoted=False))
        if sum(atom == ("{", False) for atom in atoms) > NESTED:
            return [(UNKNOWN,)]
        found: list[Fields] = [()]
        for row in braces(atoms):
            choices = list(self._split(self._tilde(row)))
            found = list(dict.fromkeys(before + after for before in found for after in choices))
            if len(found) > MOST:
                return [(UNKNOWN,)]
        return found

    def text(self, word: Node | None, *, assignment: bool = False) -> list[str]:
        """The alternatives of a word that stays one: an assigned value, a redirection's target, a document."""
        if word is None:
            return [""]
        atoms = list(self._atoms(word.get("Parts") or (), quoted=False))
        return self._joined(self._tilde(atoms, assignment=assignment))

    def document(self, word: Node | None) -> list[str]:
        """The alternatives of a here-document's body; quoting inside it follows the rules of double quotes."""
        if word is None:
            return [""]
        return self._joined(list(self._atoms(word.get("Parts") or (), quoted=True, document=True)))

    def _joined(self, atoms: list[Atom]) -> list[str]:
        found: list[list[str]] = [[]]
        for value, _ in atoms:
            if isinstance(value, str):
                for each in found:
                    each.append(value)
                continue
            texts = [" ".join(item) if isinstance(item, tuple) else item for item in value]
            if len(found) * len(texts) > MOST or any(len(text) > LARGEST for text in texts):
                return [UNKNOWN]
            found = [[*each, text] for each in found for text in texts]
        joined = dict.fromkeys(map("".join, found))
        return [text if len(text) <= LARGEST else UNKNOWN for text in joined]

    def _tilde(self, atoms: list[Atom], *, assignment: bool = False) -> list[Atom]:
        if not atoms or atoms[0] != ("~", False):
            return atoms
        end = next((i for i, atom in enumerate(atoms) if atom[0] == "/" or (assignment and atom[0] == ":")), len(atoms))
        prefix = atoms[1:end]
        if not prefix:
            home: Atom = (self.variables.scalar("HOME"), True)
        elif prefix == [("+", False)]:
            home = (self.variables.scalar("PWD"), True)
        else:
            home = ((UNKNOWN,), True)
        return [home, *atoms[end:]]

    def _split(self, atoms: list[Atom]) -> Iterator[Fields]:
        rows: list[tuple[Fields, str | None]] = [((), None)]
        separators = self.variables.separators()
        for value, quoted in atoms:
            if isinstance(value, str):
                rows = [(done, (open_ or "") + value) for done, open_ in rows]
                continue
            if len(rows) * len(value) > MOST * 4:
                yield (UNKNOWN,)
                return
            if quoted:
                rows = [row for done, open_ in rows for row in _quoted(done, open_, value)]
            else:
                rows = [row for done, open_ in rows for row in _unquoted(done, open_, value, separators)]
            if len(rows) > MOST:
                rows = list(dict.fromkeys(rows))
            if len(rows) > MOST or any(len(open_ or "") > LONGEST for _, open_ in rows):
                yield (UNKNOWN,)
                return
        for done, open_ in rows:
            yield done if open_ is None else (*done, open_)

    def _atoms(self, parts: Iterable[Node], *, quoted: bool, document: bool = False) -> Iterator[Atom]:
        for part in parts:
            kind = part.get("Type")
            if kind == "Lit":
                yield from _literal(part.get("Value", ""), quoted=quoted, document=document)
            elif kind == "SglQuoted":
                value = part.get("Value", "")
                text = unescaped(value) if part.get("Dollar") else value
                yield ((text,), True)
            elif kind == "DblQuoted":
                if not _is_row(part.get("Parts") or ()):
                    yield (("",), True)
                yield from self._atoms(part.get("Parts") or (), quoted=True)
            elif kind == "ParamExp":
                yield (tuple(self._parameter(part, quoted=quoted)), quoted)
            elif kind == "CmdSubst":
                yield (tuple(self.substitute(part)), quoted)
            elif kind == "ArithmExp":
                yield (("0",), True)  # some number
            elif kind == "ExtGlob":
                yield ((f"{part.get('Op', '?(')}{(part.get('Pattern') or {}).get('Value', '')})",), True)
            else:
                yield ((UNKNOWN,), True)

    def _parameter(self, node: Node, *, quoted: bool) -> Iterable[str | Fields]:
        name = (node.get("Param") or {}).get("Value", "")
        if node.get("Length") or node.get("Width") or node.get("Names") or name in SPECIAL:
            return [UNKNOWN]
        if node.get("Excl"):
            return [UNKNOWN] if node.get("Index") else self._indirect(name)
        index = constant(node.get("Index"))
        if name in "@*" or index in ("@", "*"):
            rows = some(self.variables.rows(name), node.get("Slice"), first=1 if name in "@*" else 0)
            if quoted and "*" in (name, index):
                return list(dict.fromkeys(ifs[:1].join(row) for row in rows for ifs in self.variables.separators()))
            return list(rows)
        values = self._elements(name) if node.get("Index") else self.variables.scalar(name)
        return self._changed(node, values)

    def _indirect(self, name: str) -> list[str]:
        targets = self.variables.scalar(name)
        return [value for target in targets for value in (self.variables.scalar(target) if target else ("",))]

    def _elements(self, name: str) -> tuple[str, ...]:
        """Any element: which one an index means is not followed."""
        elements = dict.fromkeys(each for row in self.variables.arrays.get(name, ()) for each in row)
        return tuple(elements) or self.variables.scalar(name)

    def _changed(self, node: Node, values: tuple[str, ...]) -> list[str]:
        if node.get("Slice"):
            return [sliced(node["Slice"], value) for value in values]
        if node.get("Repl"):
            return self._replaced(node["Repl"], values)
        expansion = node.get("Exp")
        if not expansion:
            return list(values)
        op = expansion.get("Op", "")
        words = self.text(expansion.get("Word"))
        if op in ("-", ":-", "=", ":="):
            return self._default(node, op, values, words)
        if op in ("+", ":+"):
            return list(dict.fromkeys(("", *words)))
        if op in ("?", ":?"):
            return list(values)
        if op in ("#", "##", "%", "%%"):
            return [stripped(op, value, pattern) for value in values for pattern in words]
        if op in ("^^", ",,", "^", ","):
            return [recased(op, value) for value in values]
        return [UNKNOWN]

    def _default(self, node: Node, op: str, values: tuple[str, ...], words: list[str]) -> list[str]:
        """`${x:-word}` and `${x:=word}`; the second also sets the variable."""
        name = (node.get("Param") or {}).get("Value", "")
        foreign = values == (UNKNOWN,) and name not in self.variables.values and not name.isdigit()
        for word in words if "=" in op else ():
            self.variables.assign(name, word)
        # nobody in sight sets it: what the surroundings hold is not the call's doing
        return words if foreign else list(dict.fromkeys((*values, *words)))

    def _replaced(self, node: Node, values: tuple[str, ...]) -> list[str]:
        found = [
            substituted(value, pattern, new, everywhere=bool(node.get("All")))
            for value in values
            for pattern in self.text(node.get("Orig"))
            for new in self.text(node.get("With"))
        ]
        return found[:MOST] or [UNKNOWN]


def _quoted(done: Fields, open_: str | None, values: tuple[str | Fields, ...]) -> Iterator[tuple[Fields, str | None]]:
    for value in values:
        if isinstance(value, str):
            yield done, (open_ or "") + value
        elif not value:
            yield done, open_
        else:
            first, *rest = value
            fields = [(open_ or "") + first, *rest]
            yield (*done, *fields[:-1]), fields[-1]


def _unquoted(
    done: Fields, open_: str | None, values: tuple[str | Fields, ...], separators: tuple[str, ...]
) -> Iterator[tuple[Fields, str | None]]:
    for value in values:
        texts = value if isinstance(value, tuple) else (value,)
        for characters in separators:
            row, current = list(done), open_
            for number, text in enumerate(texts):
                if number and current is not None:
                    row.append(current)
                    current = None
                row, current = _poured(row, current, text, characters)
            yield tuple(row), current


def _poured(row: list[str], current: str | None, text: str, characters: str) -> tuple[list[str], str | None]:
    for char in text:
        if char in characters:
            if current is not None:
                row.append(current)
                current = None
        else:
            current = (current or "") + char
    return row, current


def _literal(value: str, *, quoted: bool, document: bool) -> Iterator[Atom]:
    escapable = '$`\\\n"' if not document else "$`\\\n"
    position = 0
    while position < len(value):
        char = value[position]
        if char == "\\" and position + 1 < len(value):
            following = value[position + 1]
            if not quoted or following in escapable:
                if following != "\n":
                    yield following, True
                position += 2
                continue
        yield char, quoted
        position += 1


def _is_row(parts: Iterable[Node]) -> bool:
    """Whether quotes hold nothing but `$@` or a whole array, which become no field at all where they are empty."""
    only = list(parts)
    if len(only) != 1 or only[0].get("Type") != "ParamExp":
        return False
    return (only[0].get("Param") or {}).get("Value") == "@" or constant(only[0].get("Index")) == "@"
