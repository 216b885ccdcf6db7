"""`keisei workflow`."""

from keisei.cli.noun import noun_group

group = noun_group(
    "workflow",
    "Workflows: many tasks in order, as data.",
    ("begins", "states"),
    lambda definition: (definition.initial_state, " ".join(state.state_id for state in definition.states)),
)
