"""Selection: JSONPath as RFC 9535 says it, and nothing a library adds to it.

The library's strict mode reads the RFC's grammar. Four things are ours: filters compare as JSON does, where Python
says that 1 is true; a text is no list of letters; a query in a filter always finds nodes, so that `@` exists whatever
it is, and `$` in it is the document; and expressions (RFC 9485) are matched by the validator's engine, in time that
grows with the text. A query sees the document, and there is no filter context.
"""

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import jsonpath
import jsonschema_rs
from jsonpath.filter import BaseExpression, RelativeFilterQuery
from jsonpath.function_extensions import ExpressionType, FilterFunction
from jsonpath.match import NodeList
from jsonpath.selectors import FilterContext
from jsonpath.stream import TokenStream

from kei_json.value import DEEPEST, Json, same

PATTERN_BYTES = 1024 * 1024
"""What one compiled pattern may take."""


def nodes(path: jsonpath.JSONPath, start: Json, root: Json) -> Iterable[jsonpath.JSONPathMatch]:
    """What a path finds from a value of a document. The library's own way would read a text as JSON."""
    found: Iterable[jsonpath.JSONPathMatch] = [
        jsonpath.JSONPathMatch(filter_context={}, obj=start, parent=None, path="$", parts=(), root=root)
    ]
    for segment in path.segments:
        found = segment.resolve(found)
    return found


class Relative(RelativeFilterQuery):
    """A query in a filter that begins with `@`."""

    def evaluate(self, context: FilterContext) -> object:
        """The nodes it finds."""
        return NodeList(nodes(self.path, context.current, context.root))


class Parser(jsonpath.Parser):
    """The library's, with our queries in filters."""

    def parse_relative_query(self, stream: TokenStream) -> BaseExpression:
        """The query behind `@`."""
        read = super().parse_relative_query(stream)
        return Relative(read.path) if isinstance(read, RelativeFilterQuery) else read


@lru_cache(maxsize=64)
def _matcher(pattern: str, *, whole: bool) -> jsonschema_rs.Validator | None:
    """What says whether a text matches; None for a pattern that is none, which by the RFC matches nothing."""
    text = f"^(?:{dotted(pattern)})$" if whole else dotted(pattern)
    options = jsonschema_rs.RegexOptions(size_limit=PATTERN_BYTES)
    try:
        return jsonschema_rs.Draft202012Validator({"pattern": text}, pattern_options=options, offline=True)
    except ValueError:
        return None


def dotted(pattern: str) -> str:
    """The pattern with a dot as RFC 9485 has it: anything but the two characters that end lines."""
    made, escaped, inside = list[str](), False, False
    for letter in pattern:
        plain = not escaped and not inside
        made.append(r"[^\n\r]" if letter == "." and plain else letter)
        inside = letter == "[" if plain else inside and (escaped or letter != "]")
        escaped = letter == "\\" and not escaped
    return "".join(made)


class Matches(FilterFunction):
    """`match` and `search`: whether a text fits an expression, whole or in part."""

    arg_types = [ExpressionType.VALUE, ExpressionType.VALUE]  # noqa: RUF012 - as the library declares it
    return_type = ExpressionType.LOGICAL

    def __init__(self, *, whole: bool) -> None:
        self._whole = whole

    def __call__(self, value: object, pattern: object) -> bool:
        """False also for what is no text and no expression."""
        if not isinstance(value, str) or not isinstance(pattern, str):
            return False
        matcher = _matcher(pattern, whole=self._whole)
        return matcher is not None and matcher.is_valid(value)


class Strict(jsonpath.JSONPathEnvironment):
    """The RFC's own language."""

    max_recursion_depth = DEEPEST + 1
    parser_class = Parser

    def setup_function_extensions(self) -> None:
        """The five functions of the RFC."""
        super().setup_function_extensions()
        self.function_extensions["match"] = Matches(whole=True)
        self.function_extensions["search"] = Matches(whole=False)

    def getitem(self, obj: Any, key: Any) -> Any:  # noqa: ANN401 - as the library declares it
        """What a selector takes out of a value: of a text nothing, which to the library is a list of letters."""
        return [] if isinstance(obj, str) else super().getitem(obj, key)

    def _eq(self, left: object, right: object) -> bool:
        return same(_single(left), _single(right))


def _single(value: object) -> object:
    """What a query found; a comparison takes only queries that find one value, or nothing, which equals nothing."""
    return jsonpath.UNDEFINED if isinstance(value, NodeList) else value


STRICT = Strict(strict=True)
