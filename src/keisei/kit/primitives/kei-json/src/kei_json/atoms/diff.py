"""kei-json::diff."""

from itertools import islice

from kei_json.context import Context, Data
from kei_json.difference import operations
from kei_json.value import HEAVIEST, sized

MOST_OPERATIONS = 10_000
"""What kei-json::patch takes."""


def run(given: Data, context: Context) -> Data:
    """A patch that leads from one value to the other. Raises NotJson, TooDeep, TooLarge."""
    before, after = given["before"], given["after"]
    sized(context, before)
    sized(context, after)
    patch = list(islice(operations(before, after), MOST_OPERATIONS + 1))
    # beyond this the shorter patch is the value itself
    if len(patch) > MOST_OPERATIONS or sum(len(each["path"]) for each in patch) > HEAVIEST:
        patch = [{"op": "replace", "path": "", "value": after}]
    return {"patch": patch, "count": len(patch)}
