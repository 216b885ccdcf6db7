"""`keisei task-type`."""

from keisei.cli.noun import noun_group

group = noun_group(
    "task-type",
    "Task types: what kinds of task there are.",
    ("payload", "profile"),
    lambda spec: (spec.payload_schema_id, spec.default_profile_id or "-"),
)
