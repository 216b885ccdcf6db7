"""Conditions: the small language of `if`. References, literals, comparisons, `in`, `and`, `or`, `not`; no code."""

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import lru_cache
from typing import Any, Literal, NamedTuple

from keisei.contracts.words import kind_of, shown
from keisei.records.error import KeiseiError
from keisei.rules.reference import BARE, BadReference, Reference, Unresolved, looked_up, template

LONGEST = 4096
DEEPEST = 32
"""Parentheses and `not`s inside each other."""
COMPARISONS = ("==", "!=", "<=", ">=", "<", ">", "in")
ORDERINGS = ("<", "<=", ">", ">=")
TOKEN = re.compile(
    r"\s*+(?:(?P<number>-?(?:0|[1-9][0-9]{0,30}+)(?:\.[0-9]{1,30}+)?(?:[eE][+-]?[0-9]{1,3}+)?(?![\w.]))"
    r"|(?P<text>'[^'\\]*+(?:\\.[^'\\]*+)*'|\"[^\"\\]*+(?:\\.[^\"\\]*+)*\")|(?P<sign>==|!=|<=|>=|<|>|\(|\))|(?P<word>[A-Za-z_]\w*+)"
    rf"|(?P<reference>\$\{{{BARE.pattern}\}}|\${BARE.pattern}))"
)
ESCAPE = re.compile(r"\\(.)", re.DOTALL)
WORDS: dict[str, Any] = {"true": True, "false": False, "null": None}
SLIPS = {"=": "write `==`", "&": "write `and`", "|": "write `or`", "!": "write `not` or `!=`"}


class BadCondition(KeiseiError):
    """Text that is no condition; `column` is the character it stops at, from 1."""

    def __init__(self, message: str, column: int, hint: str | None = None) -> None:
        """Keep the place."""
        super().__init__(message, hint)
        self.column = column


class Literally(NamedTuple):
    """A value as it is written."""

    value: Any


class Not(NamedTuple):
    """The opposite."""

    inner: "Node"


class Joined(NamedTuple):
    """`and`, `or`."""

    word: Literal["and", "or"]
    parts: "tuple[Node, ...]"


class Compared(NamedTuple):
    """Two values beside each other."""

    sign: str
    left: "Node"
    right: "Node"


Node = Reference | Literally | Not | Joined | Compared


class Condition(NamedTuple):
    """A condition, read."""

    text: str
    """As it was written."""
    node: Node
    """What it says."""
    references: tuple[Reference, ...]
    """Every reference, in order."""

    def holds(self, scope: Mapping[str, Any], envelopes: Collection[str] | None = None) -> bool:
        """Whether it holds. Raises Unresolved for a reference that leads nowhere and for what cannot be compared.

        `and` and `or` stop as soon as they know: `'x' in $a and $a.x > 1` never asks for an absent x.
        """
        try:
            return _is_true(_value(self.node, scope, envelopes))
        except RecursionError as error:
            raise Unresolved("the values that are compared nest too deeply") from error


def walked(node: Node) -> Iterator[Node]:
    """A node and everything in it, from left to right."""
    yield node
    if isinstance(node, Not):
        yield from walked(node.inner)
    elif isinstance(node, Joined):
        for part in node.parts:
            yield from walked(part)
    elif isinstance(node, Compared):
        yield from walked(node.left)
        yield from walked(node.right)


@lru_cache(maxsize=1024)
def condition(text: str) -> Condition:
    """The condition. Raises BadCondition."""
    if len(text) > LONGEST:
        raise BadCondition(f"longer than {LONGEST} characters", LONGEST)
    node = _Reading(_tokens(text)).all()
    return Condition(text, node, tuple(each for each in walked(node) if isinstance(each, Reference)))


class _Token(NamedTuple):
    kind: str
    text: str
    column: int


def _tokens(text: str) -> list[_Token]:
    tokens: list[_Token] = []
    start, end = 0, len(text.rstrip())
    while start < end:
        found = TOKEN.match(text, start)
        if found is None or found.lastgroup is None:
            stop = start + len(text[start:]) - len(text[start:].lstrip())
            raise BadCondition(f"cannot read {shown(text[stop:])}", stop + 1, _slip(text[stop:]))
        kind = "reference" if found["reference"] else found.lastgroup
        tokens.append(_Token(kind, found[kind], found.start(kind) + 1))
        start = found.end()
    return [*tokens, _Token("end", "", end + 1)]


def _slip(text: str) -> str | None:
    if text[0] in "'\"":
        return "the text has no closing quote"
    return SLIPS.get(text[0])


class _Reading:
    """Recursive descent: `or` binds least, then `and`, `not`, comparisons, values."""

    def __init__(self, tokens: list[_Token]) -> None:
        self._tokens = tokens
        self._at = 0
        self._depth = 0

    def all(self) -> Node:
        node = self._either()
        if self._now.kind != "end":
            hint = "comparisons do not chain; join them with `and`" if self._now.text in COMPARISONS else None
            raise self._unexpected("`and`, `or` or the end", hint)
        return node

    @property
    def _now(self) -> _Token:
        return self._tokens[self._at]

    def _unexpected(self, expected: str, hint: str | None = None) -> BadCondition:
        got = shown(self._now.text) if self._now.text else "the end"
        return BadCondition(f"expected {expected}, not {got}", self._now.column, hint)

    def _took(self, *texts: str) -> str | None:
        if self._now.kind in ("sign", "word") and self._now.text in texts:
            self._at += 1
            return self._tokens[self._at - 1].text
        return None

    def _either(self) -> Node:
        return self._joined("or", self._both)

    def _both(self) -> Node:
        return self._joined("and", self._negated)

    def _joined(self, word: Literal["and", "or"], part: Callable[[], Node]) -> Node:
        parts = [part()]
        while self._took(word):
            parts.append(part())
        return parts[0] if len(parts) == 1 else Joined(word, tuple(parts))

    def _negated(self) -> Node:
        return Not(self._inside(self._negated)) if self._took("not") else self._comparison()

    def _inside(self, part: Callable[[], Node]) -> Node:
        self._depth += 1
        if self._depth > DEEPEST:
            raise BadCondition(f"nested more than {DEEPEST} levels", self._now.column)
        node = part()
        self._depth -= 1
        return node

    def _comparison(self) -> Node:
        left = self._operand()
        sign = self._took(*COMPARISONS)
        return left if sign is None else Compared(sign, left, self._operand())

    def _operand(self) -> Node:
        if self._took("("):
            node = self._inside(self._either)
            if not self._took(")"):
                raise self._unexpected("`)`")
            return node
        value = _value_of(self._now)
        if value is None:
            raise self._unexpected("a reference or a value", _word_hint(self._now))
        self._at += 1
        return value


def _word_hint(token: _Token) -> str | None:
    if token.kind != "word" or token.text in ("and", "or", "in", "not"):
        return None
    lower = {"True": "true", "False": "false", "None": "null", "nil": "null"}.get(token.text)
    return f"write `{lower}`" if lower else f"text stands in quotes ('{token.text}'), a reference begins with a dollar"


def _value_of(token: _Token) -> Node | None:
    if token.kind == "number":
        return Literally(float(token.text) if re.search(r"[.eE]", token.text) else int(token.text))
    if token.kind == "text":
        return Literally(ESCAPE.sub(r"\1", token.text[1:-1]))
    if token.kind == "word" and token.text in WORDS:
        return Literally(WORDS[token.text])
    if token.kind == "reference":
        try:
            found = template(token.text)[0]
        except BadReference as error:
            raise BadCondition(error.message, token.column, error.hint) from error
        return found if isinstance(found, Reference) else None
    return None


def _value(node: Node, scope: Mapping[str, Any], envelopes: Collection[str] | None) -> Any:  # noqa: ANN401 - any JSON
    if isinstance(node, Literally):
        return node.value
    if isinstance(node, Reference):
        return looked_up(node, scope, envelopes)
    if isinstance(node, Not):
        return not _is_true(_value(node.inner, scope, envelopes))
    if isinstance(node, Joined):
        truths = (_is_true(_value(part, scope, envelopes)) for part in node.parts)
        return all(truths) if node.word == "and" else any(truths)
    return _compared(node.sign, _value(node.left, scope, envelopes), _value(node.right, scope, envelopes))


def _is_true(value: object) -> bool:
    """Null, false, 0 and what is empty are false."""
    return bool(value)


def _compared(sign: str, left: Any, right: Any) -> bool:  # noqa: ANN401 - any JSON
    if sign in ("==", "!="):
        return _same(left, right) == (sign == "==")
    if sign == "in":
        return _holds_in(left, right)
    if not (_are_numbers(left, right) or (isinstance(left, str) and isinstance(right, str))):
        raise Unresolved(f"`{sign}` cannot order {kind_of(left)} and {kind_of(right)}")
    return bool({"<": left < right, "<=": left <= right, ">": left > right, ">=": left >= right}[sign])


def _are_numbers(*values: object) -> bool:
    return all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)


def _holds_in(left: object, right: object) -> bool:
    if isinstance(right, list):
        return any(_same(left, item) for item in right)
    if isinstance(right, dict | str) and isinstance(left, str):
        return left in right
    raise Unresolved(f"`in` needs a list, an object or a text on its right, not {kind_of(right)}")


def _same(left: object, right: object) -> bool:
    """Equality of JSON: 1 is 1.0, and true is not 1."""
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(_same, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(_same(item, right[key]) for key, item in left.items())
    return isinstance(left, bool) == isinstance(right, bool) and left == right
