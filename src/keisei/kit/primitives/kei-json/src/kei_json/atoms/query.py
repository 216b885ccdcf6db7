"""kei-json::query."""

from collections.abc import Iterator

from jsonpath import JSONPath, JSONPathError, JSONPathMatch

from kei_json.context import Context, Data
from kei_json.selection import STRICT, nodes
from kei_json.value import HEAVIEST, sized


def run(given: Data, context: Context) -> Data:
    """The values a query selects, in order. Raises BadQuery, NotJson, TooDeep, TooLarge."""
    sized(context, given["document"])
    limit, found, weight, truncated = given.get("limit", 100), list[Data](), 0, False
    for match in _matches(context, given):
        weight += sized(context, match.obj).weight + len(match.path)
        truncated = len(found) == limit or weight > HEAVIEST
        if truncated:
            break
        found.append({"path": match.path, "value": match.obj})
    return {"nodes": found, "count": len(found), "truncated": truncated}


def _matches(context: Context, given: Data) -> Iterator[JSONPathMatch]:
    try:
        path = STRICT.compile(given["query"])
        if isinstance(path, JSONPath):  # always: what joins two paths is not in the RFC's grammar
            yield from nodes(path, given["document"], given["document"])
    except RecursionError as error:
        raise context.error("BadQuery", "the query has too many steps") from error
    except (JSONPathError, ValueError, OverflowError) as error:
        raise context.error("BadQuery", _told(error)) from error


def _told(error: Exception) -> str:
    """The library's sentence, and where in the query it is about."""
    token = getattr(error, "token", None)
    place = "" if token is None else f", at character {token.index + 1}"
    return f"{error.args[0] if error.args else 'it cannot be read'}"[:200] + place
