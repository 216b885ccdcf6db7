"""kei-json::merge."""

from kei_json.context import Context, Data
from kei_json.value import merged, sized


def run(given: Data, context: Context) -> Data:
    """The document with a merge patch over it. Raises NotJson, TooDeep, TooLarge."""
    sized(context, given["document"])
    sized(context, given["patch"])
    document = merged(given["document"], given["patch"])
    sized(context, document)
    return {"document": document}
