"""kei-json::validate."""

from itertools import islice

import jsonschema_rs

from kei_json.context import Context, Data
from kei_json.pointer import pointer
from kei_json.value import sized

VALIDATORS = {
    "draft-04": jsonschema_rs.Draft4Validator,
    "draft-06": jsonschema_rs.Draft6Validator,
    "draft-07": jsonschema_rs.Draft7Validator,
    "2019-09": jsonschema_rs.Draft201909Validator,
    "2020-12": jsonschema_rs.Draft202012Validator,
}
FETCHED = "retrieving it failed"
"""What the library says where a reference leads out of the schema; it is told to fetch nothing."""
PATTERN_BYTES = 10 * 1024 * 1024
MOST = 10_000
"""Complaints that are looked at before the first are told in order."""
LONGEST = 300
"""Characters of one complaint."""


def run(given: Data, context: Context) -> Data:
    """Every complaint about a value. Raises BadSchema, RemoteReference, NotJson, TooDeep, TooLarge."""
    sized(context, given["value"])
    sized(context, given["schema"])
    validator = _validator(context, given)
    if validator.is_valid(given["value"]):
        return {"valid": True, "complaints": [], "truncated": False}
    found = sorted(
        map(_complaint, islice(validator.iter_errors(given["value"]), MOST)), key=lambda each: [*each.values()]
    )
    limit = given.get("limit", 100)
    return {"valid": False, "complaints": found[:limit], "truncated": len(found) > limit}


def _validator(context: Context, given: Data) -> jsonschema_rs.Validator:
    """The schema, ready; patterns are matched in time that grows with the text."""
    make = VALIDATORS[given["draft"]] if "draft" in given else jsonschema_rs.validator_for
    options = jsonschema_rs.RegexOptions(size_limit=PATTERN_BYTES)
    try:
        return make(given["schema"], validate_formats=given.get("formats", True), offline=True, pattern_options=options)
    except (ValueError, jsonschema_rs.ReferencingError) as error:
        message = str(getattr(error, "message", error))[:LONGEST]
        if FETCHED in message:
            raise context.error("RemoteReference", f"nothing is ever fetched: {message}") from error
        place = pointer(list(getattr(error, "instance_path", ())))
        raise context.error("BadSchema", f"at {place or 'the top'} of the schema: {message}") from error


def _complaint(error: jsonschema_rs.ValidationError) -> Data:
    return {
        "path": pointer(list(error.instance_path)),
        "schema_path": pointer(list(error.schema_path)),
        "message": error.message if len(error.message) <= LONGEST else f"{error.message[:LONGEST]}…",
    }
