"""Schemas from examples, from an atom."""

from typing import Any

import msgspec

from keisei.library.schema_row_draft import inferred_draft, schema_in, side_of, too_rich
from keisei.records.error import OperatorError
from keisei.wiring.verb_error import VerbError, as_code


def inferred(given: dict[str, Any]) -> dict[str, Any]:
    """The schema that an example suggests, and as rows where they can say it. Raises VerbError."""
    side = side_of(given.get("atom", "package::verb"), given.get("side", "input"))
    with as_code("BadExample", OperatorError):
        draft = inferred_draft(given["example"], side)
    schema, problems = schema_in(draft, side)
    if schema is None:
        raise VerbError("BadExample", problems[0].message, problems[0].hint)
    rows = None if draft.rows is None else msgspec.to_builtins(draft.rows)
    return {"schema": schema, "rows": rows, "too_rich": too_rich(schema, side)}
