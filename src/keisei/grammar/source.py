"""Sources: a file's bytes and the way from a node of its tree to its words.

Words are cut out of the bytes and short: a node may span the whole file, and `Node.text` copies it.
"""

import re
from functools import cached_property
from pathlib import PurePosixPath
from typing import Final

from msgspec import Struct
from tree_sitter import Node

WORDS: Final = 400
"""Bytes of a node that are looked at; names and marks are shorter."""
TEST_FOLDERS: Final = frozenset({"test", "tests", "spec", "specs", "testing", "__tests__"})
TEST_NAME: Final = re.compile(r"(test_.*|.*[_.-](test|tests|spec)|tests?|.*Tests?)\.[\w+]+")
TRANSPARENT: Final = frozenset({"statement_list", "body_statement", "block_body"})
"""Nodes that hold nothing but the statements of a body."""


class Source(Struct, frozen=True, kw_only=True, dict=True):
    """One file."""

    path: str
    """Relative to the root, with slashes."""
    data: bytes
    """Its bytes, as the parser saw them."""

    def words(self, node: Node | None) -> str:
        """The node's text, at most its first 400 bytes; nothing for no node."""
        return "" if node is None else self._cut(node.start_byte, node.end_byte)

    def field(self, node: Node, name: str) -> str:
        """The text of a field of the node; nothing where it has none."""
        return self.words(node.child_by_field_name(name))

    def _cut(self, start: int, end: int) -> str:
        return self.data[start : min(end, start + WORDS)].decode("utf-8", "replace")

    @cached_property
    def is_test_file(self) -> bool:
        """Whether its name or one of its folders is what test files have."""
        path = PurePosixPath(self.path)
        return TEST_NAME.fullmatch(path.name) is not None or not TEST_FOLDERS.isdisjoint(path.parts[:-1])


def statements(body: Node | None) -> list[Node]:
    """The statements of a body, in order; comments and the docstring are none."""
    if body is None:
        return []
    inner = body.child_by_field_name("body") if body.type in {"do_block", "block"} else None
    body = inner or body
    found = [each for each in body.named_children if "comment" not in each.type]
    if len(found) == 1 and found[0].type in TRANSPARENT:
        found = [each for each in found[0].named_children if "comment" not in each.type]
    return [each for each in found if not _is_text(each)]


def _is_text(node: Node) -> bool:
    return node.type == "expression_statement" and node.named_child_count == 1 and node.children[0].type == "string"
