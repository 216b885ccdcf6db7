"""Outlines: the functions and tests of one source file, as a real parser sees them.

Trees are walked with a cursor and never by recursion, because hostile files nest as deep as they are long.
"""

import re
from typing import Final

from msgspec import Struct
from tree_sitter import Node, Tree

from keisei.grammar.custom import Custom, custom_of
from keisei.grammar.language import count_lines, language_of, parser_of
from keisei.grammar.met import Met, Place
from keisei.grammar.source import Source
from keisei.grammar.substance import is_empty
from keisei.records.verification import Function, Outline

MOST_BYTES: Final = 2_000_000
"""Of a file that is parsed; lines are counted in larger ones too."""
MOST_FUNCTIONS: Final = 20_000
LONE_RETURN: Final = re.compile(rb"\r(?!\n)")
NAME: Final = 200
"""Characters of a name with everything it is inside of."""
PREAMBLE: Final = frozenset({"decorator", "annotation", "marker_annotation", "attribute_declaration", "attribute_item"})
"""What stands before a function's first line, in grammars that make it a part of the function."""


class Around(Struct, frozen=True):
    """Something met that the walk is inside of."""

    met: Met
    name: str
    end: int
    skipped: bool


def outline(path: str, data: bytes) -> Outline:
    """What a parser sees. Never raises for what a file holds: what cannot be read has a fault.

    After a syntax error the functions are those that could be recognised, and may be too few.
    """
    language, lines = language_of(path, data), count_lines(data)
    if language is None:
        return Outline(language=None, lines=lines, fault="no text" if b"\0" in data else None)
    if len(data) > MOST_BYTES:
        return Outline(language=language, lines=lines, fault=f"larger than {MOST_BYTES} bytes")
    if b"\0" in data:
        return Outline(language=language, lines=lines, fault="no text")
    return _parsed(path, data, language, lines)


def _parsed(path: str, data: bytes, language: str, lines: int) -> Outline:
    # The parser counts rows by line feeds alone; a file with other ends of lines would be one long line.
    source = Source(path=path, data=LONE_RETURN.sub(b"\n", data))
    tree = parser_of(language).parse(source.data)
    if path.lower().endswith(".h") and tree.root_node.has_error:
        other = parser_of("c").parse(source.data)  # C that is no C++ uses words that C++ has taken
        if not other.root_node.has_error:
            tree, language = other, "c"
    functions = _functions(tree, source, custom_of(language))
    fault = f"more than {MOST_FUNCTIONS} functions" if len(functions) > MOST_FUNCTIONS else _error(tree, language)
    shown = "typescript" if language == "tsx" else language
    return Outline(language=shown, lines=lines, functions=tuple(functions[:MOST_FUNCTIONS]), fault=fault)


def _error(tree: Tree, language: str) -> str | None:
    """The first syntax error, with its line.

    In C and C++ a semicolon that is missing is none: macros that stand for themselves have none, and no parser without
    a preprocessor can tell them from calls.
    """
    cursor = tree.walk()
    while (node := cursor.node) is not None:
        if node.is_error or (node.is_missing and not (node.type == ";" and language in {"c", "cpp"})):
            return f"a syntax error at line {node.start_point.row + 1}"
        if node.has_error and cursor.goto_first_child():
            continue
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return None
    return None


class Walk:
    """One way through a tree, from the top, remembering what it is inside of."""

    def __init__(self, source: Source, custom: Custom) -> None:
        """Begin outside of everything."""
        self.source = source
        self.custom = custom
        self.functions: list[Function] = []
        self.around: list[Around] = []
        self.parents: list[Node] = []
        self.marks: list[Node] = []

    def enter(self, node: Node) -> bool:
        """Look at a node; whether to go into it."""
        while self.around and node.start_byte >= self.around[-1].end:
            self.around.pop()
        if self.custom.is_mark(node, self.source):
            self.marks.append(node)
            return False
        if "comment" in node.type:
            return False
        marks, self.marks = self.marks, []
        if node.type in self.custom.kinds:
            self._meet(node, marks)
        return True

    def _meet(self, node: Node, marks: list[Node]) -> None:
        outer = self.around[-1] if self.around else None
        if outer is not None and outer.met.covers == node:
            return
        place = Place(
            source=self.source, parents=self.parents, around=outer.met if outer is not None else None, marks=marks
        )
        met = self.custom.meet(node, place)
        if met is None:
            return
        name = _joined(outer, met)
        skipped = met.skipped or (outer is not None and outer.skipped)
        self.around.append(Around(met, name, node.end_byte, skipped))
        if met.function is not None:
            self.functions.append(self._function(met, met.function, name, skipped=skipped))

    def _function(self, met: Met, node: Node, name: str, *, skipped: bool) -> Function:
        return Function(
            name=name,
            start=_first_row(node) + 1,
            end=_last_row(node) + 1,
            test=met.test,
            empty=met.test and not met.checked and self._is_empty(met),
            skipped=met.test and skipped,
        )

    def _is_empty(self, met: Met) -> bool:
        if met.body is None:
            return met.hollow
        return is_empty(met.body, self.source, bare_calls=self.custom.bare_calls)


def _functions(tree: Tree, source: Source, custom: Custom) -> list[Function]:
    walk, cursor = Walk(source, custom), tree.walk()
    while cursor.node is not None and len(walk.functions) <= MOST_FUNCTIONS:
        node = cursor.node
        if walk.enter(node) and cursor.goto_first_child():
            walk.parents.append(node)
            continue
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return walk.functions
            walk.parents.pop()
    return walk.functions


def _joined(outer: Around | None, met: Met) -> str:
    if outer is None or not outer.name:
        return met.name[:NAME]
    if not met.name:
        return outer.name
    between = " > " if outer.met.titled or met.titled else "."
    whole = f"{outer.name}{between}{met.name}"
    return whole if len(whole) <= NAME else f"…{whole[1 - NAME :]}"


def _first_row(node: Node) -> int:
    """The row of the first word that is neither decorator nor attribute."""
    for child in node.children:
        if child.type == "modifiers":
            words = [each for each in child.children if each.type not in PREAMBLE]
            if words:
                return words[0].start_point.row
        elif child.type not in PREAMBLE and "comment" not in child.type:
            return child.start_point.row
    return node.start_point.row


def _last_row(node: Node) -> int:
    """The row of its last character; a node that ends with a line feed ends on the row before."""
    row, column = node.end_point
    return row - 1 if column == 0 and row > node.start_point.row else row
