"""kei-json::canonicalize."""

from kei_json.canonical import canonical
from kei_json.context import Context, Data
from kei_json.value import sized


def run(given: Data, context: Context) -> Data:
    """The one text of a value. Raises NotJson, TooDeep, TooLarge."""
    sized(context, given["value"])
    text = canonical(given["value"])
    return {"text": text, "bytes": len(text.encode("utf-8"))}
