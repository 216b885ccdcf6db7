"""`keisei profile`."""

from keisei.cli.noun import noun_group

group = noun_group(
    "profile",
    "Profiles: how a kind of work is run.",
    ("role", "adapter", "skills"),
    lambda profile: (profile.role, profile.default_adapter_id, ", ".join(profile.skill_ids) or "-"),
)
